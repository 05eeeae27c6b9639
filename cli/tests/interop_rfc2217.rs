//! Serial ports behind Telnet servers: ser2net and pyserial, with a PTY as the port and G-Kermit behind it.

use crate::common::desktop::Desktop;
use crate::peers;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::termios::tcgetattr;
use wetstring_testkit::wait_until;

use peers::ckermit::listens;
use peers::ser2net::{ser2net, wired};
use peers::{LIMIT, Running, Scene, free_port, peer, same, wst};

/// pyserial's server for this port, at a TCP port.
fn pyserial(scene: &Scene, device: &str) -> Option<(Running, u16)> {
    // Debian's package is for Debian's interpreter, which need not be the first on the path.
    let debian = PathBuf::from("/usr/bin/python3");
    let python = if debian.exists() { debian } else { peer("python3", "python3-serial")? };
    let probe = Command::new(&python).args(["-c", "import serial.rfc2217"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        peers::missing("pyserial is not installed (Debian package python3-serial)");
        return None;
    }
    let port = free_port();
    let program = format!(
        r"
import serial, serial.rfc2217, socket, threading, time
port = serial.serial_for_url('{device}', timeout=0.05, baudrate=9600)
# A PTY has no modem lines.
for name in ('cts', 'dsr', 'ri', 'cd'):
    setattr(type(port), name, property(lambda self: True))
type(port)._update_dtr_state = lambda self: None
type(port)._update_rts_state = lambda self: None
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(('127.0.0.1', {port}))
listener.listen(1)
client, _ = listener.accept()
class Out:
    def write(self, data): client.sendall(data)
manager = serial.rfc2217.PortManager(port, Out())
def reads():
    while True:
        data = port.read(max(1, port.in_waiting))
        if data: client.sendall(b''.join(manager.escape(data)))
threading.Thread(target=reads, daemon=True).start()
while True:
    data = client.recv(4096)
    if not data: break
    port.write(b''.join(manager.filter(data)))
print('BAUD', port.baudrate, flush=True)
"
    );
    let running = scene.start("pyserial", Command::new(python).args(["-c", &program])).unwrap();
    listens(port).unwrap_or_else(|e| panic!("{e}: {}", running.said()));
    Some((running, port))
}

fn material() -> Vec<u8> {
    let mut bytes: Vec<u8> =
        (0..20_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    bytes.extend([255; 300]);
    bytes.extend([13; 300]);
    bytes
}

fn send(scene: &Scene, port: u16, query: &str) -> peers::End {
    let up = scene.file("up.dat", &material()).display().to_string();
    let line = format!("rfc2217://127.0.0.1:{port}{query}");
    scene.start("wst", &mut wst(["send", &up, &line])).unwrap().wait(LIMIT).unwrap()
}

fn arrived(scene: &Scene) {
    let names: Vec<_> = fs::read_dir(scene.path("host")).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    same(&scene.path("up.dat"), &names[0].path()).unwrap();
}

#[test]
fn behind_ser2net() {
    let scene = Scene::new();
    let Some((_line, device)) = wired(&scene, "gkermit -r") else { return };
    let Some((_ser2net, port)) = ser2net(&scene, &device) else { return };
    let end = send(&scene, port, "?baud=57600");
    assert_eq!(end.code, 0, "{}", end.said);
    arrived(&scene);
}

#[test]
fn the_rate_is_set() {
    let scene = Scene::new();
    let Some((_line, device)) = wired(&scene, "true") else { return };
    let Some((_ser2net, port)) = ser2net(&scene, &device) else { return };
    let line = format!("rfc2217://127.0.0.1:{port}?baud=57600");
    let mut ours = scene.start("wst", &mut wst(["receive", &line])).unwrap();
    // ser2net sets it back when the call is over.
    let until = Instant::now() + Duration::from_secs(20);
    let mut rate = String::new();
    while rate.trim() != "57600" {
        assert!(Instant::now() < until, "expected 57600, got {rate}: {}", ours.said());
        thread::sleep(Duration::from_millis(20));
        let stty = Command::new("stty").args(["-F", &device, "speed"]).output().unwrap();
        rate = String::from_utf8_lossy(&stty.stdout).into_owned();
    }
    ours.interrupt();
    let end = ours.wait(LIMIT).unwrap();
    assert_eq!(end.code, 130, "{}", end.said);
}

#[test]
fn behind_pyserial() {
    let scene = Scene::new();
    let Some((_line, device)) = wired(&scene, "gkermit -r") else { return };
    let Some((mut server, port)) = pyserial(&scene, &device) else { return };
    let end = send(&scene, port, "?baud=19200&stopbits=2&flow=none");
    assert_eq!(end.code, 0, "{} {}", end.said, server.said());
    arrived(&scene);
    assert_eq!(server.line_after("BAUD ").unwrap(), "19200");
}

#[test]
fn a_telnet_server_without_a_port() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let peer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // DO and WILL for what all ask for, DONT COM-PORT-OPTION.
        stream
            .write_all(&[255, 253, 0, 255, 251, 0, 255, 253, 3, 255, 251, 3, 255, 254, 44])
            .unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let end = send(&scene, port, "?baud=9600");
    assert!(end.code == 3 && end.said.contains("COM-PORT-OPTION"), "{end:?}");
    peer.join().unwrap();
}

/// A terminal on a port behind ser2net: the rate changes there while it is connected.
#[test]
fn a_terminal_changes_the_rate_behind_ser2net() {
    let scene = Scene::new();
    let device = wetstring_testkit::terminal().expect("a terminal");
    let held = device.open().expect("its other side");
    let Some((_server, port)) = ser2net(&scene, &device.path) else { return };
    let mut user = Desktop::start(&["connect", &format!("rfc2217://127.0.0.1:{port}?baud=9600")]);
    user.until("the terminal", |user| user.screen().contains("connected to"));
    let speed = || tcgetattr(&held).expect("its settings").output_speed();
    wait_until("9600 bit/s", || speed() == 9600);
    user.press(b"\x14=19200\r");
    user.until("the new rate", |user| user.screen().contains("19200 bit/s, 8N1"));
    wait_until("19200 bit/s", || speed() == 19_200);
    user.press(b"\x14b");
    user.until("the break", |user| user.screen().contains("(break sent)"));
    user.press(b"\x14q");
    assert_eq!(user.end().code(), Some(0));
}
