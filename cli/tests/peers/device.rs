//! A device whose console follows a script, with `wst receive` as its receiver.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{End, Scene, WST, wst};

const LIMIT: Duration = Duration::from_secs(120);

/// What a console does next.
pub enum Move<'a> {
    /// Waits for this, which is echoed unless the console has no echo.
    Hears(&'a str),
    /// Says this.
    Says(&'a str),
    /// Receives by this protocol.
    Receives(&'a str),
}

/// A console that follows a script, with what it received; nothing if there was no file.
pub fn console(scene: &Scene, echo: bool, moves: Vec<Move<'static>>) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let into = scene.folder("received");
    let console = thread::spawn(move || {
        let (mut line, _) = listener.accept().expect("wst connects");
        line.set_nodelay(true).expect("no delay");
        line.set_read_timeout(Some(LIMIT)).expect("a timeout");
        for one in moves {
            match one {
                Move::Says(text) => line.write_all(text.as_bytes()).expect("wst listens"),
                Move::Hears(text) => hear(&mut line, text, echo),
                Move::Receives(protocol) => receive(&mut line, protocol, &into),
            }
        }
        // Until wst hangs up.
        let _ = line.read_to_end(&mut Vec::new());
        let file = fs::read_dir(&into).expect("a directory").next();
        file.map_or_else(Vec::new, |file| {
            fs::read(file.expect("a file").path()).expect("it is read")
        })
    });
    (port, console)
}

fn hear(line: &mut TcpStream, text: &str, echo: bool) {
    let mut heard = Vec::new();
    while !heard.ends_with(text.as_bytes()) {
        let mut byte = [0];
        line.read_exact(&mut byte).unwrap_or_else(|e| {
            panic!("expected {text:?}, got {:?}: {e}", String::from_utf8_lossy(&heard))
        });
        heard.push(byte[0]);
        if echo {
            let shown: &[u8] = if byte[0] == b'\r' { b"\r\n" } else { &byte };
            line.write_all(shown).expect("wst listens");
        }
    }
}

fn receive(line: &mut TcpStream, protocol: &str, into: &Path) {
    let mut receiver = Command::new(WST);
    receiver.args(["receive", "-q", "-P", protocol, "-", "-o"]).arg(into);
    if protocol.starts_with("xmodem") {
        receiver.args(["--as", "file"]);
    }
    let mut receiver = receiver.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("wst");
    let (mut to, mut from) = (receiver.stdin.take().unwrap(), receiver.stdout.take().unwrap());
    let mut back = line.try_clone().expect("a second handle");
    let down = thread::spawn(move || std::io::copy(&mut from, &mut back));
    line.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    while receiver.try_wait().expect("it can be waited for").is_none() {
        let mut bytes = [0; 2048];
        if let Ok(len @ 1..) = line.read(&mut bytes)
            && to.write_all(&bytes[..len]).is_err()
        {
            break;
        }
    }
    line.set_read_timeout(Some(LIMIT)).expect("a timeout");
    down.join().expect("the carrier ends").expect("the line is open");
    assert!(receiver.wait().expect("it ends").success());
}

/// Runs `wst` to its end.
pub fn send(scene: &Scene, args: &[&str]) -> End {
    let mut wst = scene.start("wst", &mut wst(args)).expect("wst starts");
    wst.wait(LIMIT).expect("wst ends")
}

/// MD5 of "123456789", as RFC 1321's test suite has such.
pub const MD5: &str = "25f9e794323b453885f5181f1b624d0b";

/// Sends nine bytes to a device whose console follows the script.
pub fn sends(
    device: &str,
    echo: bool,
    flags: &[&str],
    moves: Vec<Move<'static>>,
) -> (End, Vec<u8>) {
    let scene = Scene::new();
    let file = scene.file("image.bin", b"123456789").display().to_string();
    let (port, console) = console(&scene, echo, moves);
    let line = format!("@{device}:tcp://127.0.0.1:{port}");
    let end = send(&scene, &[&["send"], flags, &[&file, &line]].concat());
    (end, console.join().expect("the console has followed its script"))
}
