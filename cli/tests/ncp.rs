//! Two hosts of the ARPANET on loopback, each a whole program: echoes, files in every form, and what a server does not do.

mod common;

use common::{Ran, Running, noise, run, wst};
use std::fs;
use std::net::UdpSocket;
use std::path::Path;

/// A server of a directory, and where its one partner stands.
struct Server {
    dir: tempfile::TempDir,
    running: Running,
    /// The server's UDP port, and its partner's.
    ports: [u16; 2],
}

/// A UDP port that is free now.
fn free() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    fn new(more: &[&str], password: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("root")).unwrap();
        fs::write(dir.path().join("secret"), b"not for you").unwrap();
        std::os::unix::fs::symlink("../secret", dir.path().join("root/link")).unwrap();
        let ports = [free(), free()];
        let line = format!("ncp://0.1?host=127.0.0.1:{}&port={}", ports[1], ports[0]);
        let root = dir.path().join("root").display().to_string();
        let mut command = wst(["ncp", "serve", &line, "--root", &root]);
        command.args(more);
        command.envs(password.map(|word| ("WETSTRING_PASSWORD", word)));
        let running = Running::start(command);
        running.says("host up at UDP port");
        Self { dir, running, ports }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// The line to the server, for this name there.
    fn line(&self, name: &str) -> String {
        let [there, here] = self.ports;
        format!("ncp://0.2/{name}?imp=127.0.0.1:{there}&port={here}")
    }

    fn send(&self, file: &Path, settings: &[&str]) -> Ran {
        let mut command = wst(["send", file.to_str().unwrap(), &self.line("")]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        run(command)
    }

    fn receive(&self, name: &str, into: &str, settings: &[&str]) -> Ran {
        let into = self.path(into).display().to_string();
        let mut command = wst(["receive", &self.line(name), "-o", &into]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        run(command)
    }

    fn end(self) {
        self.running.signal(rustix::process::Signal::TERM);
        self.running.end();
    }
}

#[test]
fn echoes_come_back() {
    let server = Server::new(&[], None);
    let ran = run(wst(["ncp", "echo", &server.line(""), "--count", "2"]));
    ran.expect(0);
    assert!(ran.stderr.contains("2 of 2 echoes came back"), "{}", ran.stderr);
    server.end();
}

#[test]
fn files_go_to_and_fro_in_bytes_of_any_size() {
    let server = Server::new(&["--write"], None);
    let bytes = noise(7, 20_003);
    for settings in [
        &["ncp.byte=8"][..],
        &["ncp.byte=36"],
        &["ncp.byte=36", "ncp.buffers=small"],
        &["ncp.byte=8", "ncp.mode=block"],
    ] {
        let name = format!("file-{}.bin", settings.join("-").replace(['=', '.'], "-"));
        let file = server.path(&name);
        fs::write(&file, &bytes).unwrap();
        server.send(&file, settings).expect(0);
        let stored = fs::read(server.path("root").join(&name)).unwrap();
        assert!(stored == bytes, "{name}: {} bytes are stored", stored.len());
        let into = format!("in-{name}");
        fs::create_dir(server.path(&into)).unwrap();
        server.receive(&name, &into, settings).expect(0);
        let got = fs::read(server.path(&into).join(&name)).unwrap();
        assert!(got == bytes, "{name}: {} bytes came back", got.len());
    }
    server.end();
}

#[test]
fn lines_stay_lines() {
    let server = Server::new(&["--write"], None);
    let file = server.path("text");
    fs::write(&file, "one\ntwo\n\nfour\n").unwrap();
    server.send(&file, &["ncp.type=ascii"]).expect(0);
    assert_eq!(fs::read(server.path("root/text")).unwrap(), b"one\ntwo\n\nfour\n");
    server.end();
}

#[test]
fn nothing_outside_the_root_is_seen_and_nothing_is_stored_unless_allowed() {
    let server = Server::new(&[], None);
    fs::create_dir(server.path("in")).unwrap();
    for name in ["../secret", "link", "root/../../secret", "nothing"] {
        let ran = server.receive(name, "in", &[]);
        assert_ne!(ran.code(), 0, "{name}: {}", ran.stderr);
        assert!(fs::read_dir(server.path("in")).unwrap().next().is_none(), "{name}");
    }
    let file = server.path("new.bin");
    fs::write(&file, b"new").unwrap();
    let ran = server.send(&file, &[]);
    assert_ne!(ran.code(), 0, "{}", ran.stderr);
    assert!(!server.path("root/new.bin").exists());
    server.end();
}

#[test]
fn only_who_has_the_password_comes_in() {
    let server = Server::new(&["--user", "kanodia"], Some("multics"));
    fs::write(server.path("root/tape"), b"bits").unwrap();
    fs::create_dir(server.path("in")).unwrap();
    let fetch = |password: &str| {
        let into = server.path("in").display().to_string();
        let mut command = wst(["receive", &server.line("tape"), "-o", &into]);
        command.args(["--set", "ncp.user=kanodia"]).env("WETSTRING_PASSWORD", password);
        run(command)
    };
    let ran = fetch("unics");
    assert_ne!(ran.code(), 0, "{}", ran.stderr);
    assert!(!server.path("in/tape").exists());
    fetch("multics").expect(0);
    assert_eq!(fs::read(server.path("in/tape")).unwrap(), b"bits");
    server.end();
}

#[test]
fn garbage_at_the_interface_is_counted_and_hurts_nobody() {
    let server = Server::new(&[], None);
    fs::write(server.path("root/tape"), noise(3, 5000)).unwrap();
    fs::create_dir(server.path("in")).unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    for seed in 0..500 {
        let mut datagram = noise(seed, (seed as usize * 37) % 1400);
        if seed % 2 == 0 && datagram.len() > 12 {
            // Looks like the interface's, but comes from somebody else.
            datagram[..4].copy_from_slice(b"H316");
        }
        stranger.send_to(&datagram, ("127.0.0.1", server.ports[0])).unwrap();
    }
    server.receive("tape", "in", &[]).expect(0);
    assert!(fs::read(server.path("in/tape")).unwrap() == noise(3, 5000));
    server.end();
}

#[test]
fn nobody_there_is_said_in_time() {
    let (there, here) = (free(), free());
    let line = format!("ncp://0.2/?imp=127.0.0.1:{there}&port={here}");
    let ran = run(wst(["ncp", "echo", &line, "--count", "1"]));
    ran.expect(7);
    assert!(ran.stderr.contains("expected a reply, none came"), "{}", ran.stderr);
}

#[test]
fn what_is_no_place_is_a_usage_error() {
    for line in ["ncp://", "ncp://0.99?imp=127.0.0.1:1", "ncp://0.2", "tcp://127.0.0.1:1"] {
        let ran = run(wst(["ncp", "echo", line]));
        assert_eq!(ran.code(), 2, "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("expected"), "{line}: {}", ran.stderr);
    }
}
