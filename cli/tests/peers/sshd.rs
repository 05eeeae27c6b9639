//! An sshd of its own on this machine, for the user of the test.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use wetstring_testkit::{Within, within};

use super::missing;

/// An sshd with keys of its own, for the user of the test.
pub struct Server {
    child: Child,
    pub port: u16,
}

fn key(dir: &Path, name: &str, phrase: &str) -> String {
    let path = dir.join(name).display().to_string();
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", phrase, "-f", &path]).stdin(Stdio::null());
    assert!(command.status().expect("ssh-keygen runs").success());
    path
}

impl Server {
    /// The user's key, `own` in the directory, has this pass phrase. `more` is for the configuration.
    #[must_use]
    pub fn start(dir: &Path, sshd: PathBuf, phrase: &str, more: &str) -> Self {
        let (host, own) = (key(dir, "host", ""), key(dir, "own", phrase));
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|at| at.local_addr()).expect("a port").port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {host}\nAuthorizedKeysFile {own}.pub\n\
             PasswordAuthentication no\nUsePAM no\nStrictModes no\nPidFile none\nPermitRootLogin yes\n{more}"
        );
        let path = dir.join("sshd_config");
        std::fs::write(&path, config).expect("a file");
        // Debian's sshd wants it, and makes it only when it is a service.
        let _ = std::fs::create_dir_all("/run/sshd");
        let mut command = Command::new(sshd);
        command.args(["-D", "-f"]).arg(path).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("sshd starts");
        let up = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        assert_eq!(within(super::LIMIT, up), Within::Done, "sshd listens");
        Self { child, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// sshd runs by its full path only.
pub fn sshd() -> Option<PathBuf> {
    let found =
        ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].iter().map(PathBuf::from).find(|p| p.is_file());
    if found.is_none() {
        missing("sshd is not installed (Debian package openssh-server)");
    }
    found
}
