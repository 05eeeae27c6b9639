//! A serial port behind a Telnet server: ser2net, with a PTY as the port and G-Kermit behind it.

use std::path::Path;
use std::process::Command;

use wetstring_testkit::wait_until;

use super::ckermit::listens;
use super::{Running, Scene, free_port, gkermit, missing, peer};

/// A serial line of two PTYs: a Telnet server opens the one, G-Kermit runs in the other.
pub fn wired(scene: &Scene, kermit: &str) -> Option<(Running, String)> {
    let socat = peer("socat", "socat")?;
    gkermit()?;
    let near = scene.path("port").display().to_string();
    let mut command = Command::new(socat);
    command.current_dir(scene.folder("host"));
    command.arg(format!("PTY,link={near},raw,echo=0,wait-slave"));
    // The line stays when the transfer is over, so that it can be looked at.
    let text = format!("{kermit}\nsleep 30\n");
    let script = scene.file("host.sh", text.as_bytes()).display().to_string();
    command.arg(format!("EXEC:sh {script},pty,raw,echo=0"));
    let running = scene.start("socat", &mut command).unwrap();
    wait_until("the PTY", || Path::new(&near).exists());
    Some((running, near))
}

/// Where Debian keeps it, which is where only root looks.
const PROGRAM: &str = "/usr/sbin/ser2net";

/// Whether it is here.
pub fn is_there() -> bool {
    let is = Path::new(PROGRAM).exists();
    if !is {
        missing("ser2net is not installed (Debian package ser2net)");
    }
    is
}

/// ser2net for this port, at a TCP port.
pub fn ser2net(scene: &Scene, device: &str) -> Option<(Running, u16)> {
    if !is_there() {
        return None;
    }
    let port = free_port();
    let text = format!(
        "%YAML 1.1\n---\nconnection: &one\n  accepter: telnet(rfc2217),tcp,127.0.0.1,{port}\n  \
         connector: serialdev,{device},9600n81,local\n"
    );
    let path = scene.file("ser2net.yaml", text.as_bytes());
    let mut command = Command::new(PROGRAM);
    command.args(["-n", "-d", "-c"]).arg(path).args(["-u"]);
    let running = scene.start("ser2net", &mut command).unwrap();
    listens(port).unwrap_or_else(|e| panic!("{e}: {}", running.said()));
    Some((running, port))
}
