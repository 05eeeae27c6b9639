//! Our program by another name, with a peer in the test that says what it likes.
#![allow(dead_code, reason = "each test program uses a part of this")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use super::zmodem::crc16;
use super::{Desk, Ran, Running, WST, accept, tame};

/// A program by another name that talks to a peer over TCP, in the desk's directory.
pub(crate) fn with_peer<T: Send + 'static>(
    desk: &Desk,
    name: &str,
    args: &[&str],
    env: &[(&str, &str)],
    act: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (Ran, T) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("its address").to_string();
    let mut command = Command::new(WST);
    command.arg0(name).args(args).args(["--tcp-client", &at]).current_dir(desk.path("in"));
    tame(&mut command);
    command.env_remove("ZMODEM_RESTRICTED").env("SHELL", "/bin/sh").envs(env.iter().copied());
    let program = Running::start(command);
    let stream = accept(&listener);
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    let act = std::thread::spawn(move || act(stream));
    let ran = program.end();
    (ran, act.join().expect("the peer ends"))
}

/// A block of XMODEM or YMODEM with a CRC.
pub(crate) fn block(number: u8, data: &[u8]) -> Vec<u8> {
    let start = if data.len() == 1024 { 2 } else { 1 };
    let mut block = vec![start, number, !number];
    block.extend_from_slice(data);
    block.extend_from_slice(&crc16(data).to_be_bytes());
    block
}

/// Block 0 of YMODEM.
pub(crate) fn header(name: &[u8], info: &str) -> Vec<u8> {
    let mut data = [name, b"\0", info.as_bytes()].concat();
    data.resize(if data.len() < 128 { 128 } else { 1024 }, 0);
    block(0, &data)
}

/// Reads up to one of these bytes, which it returns.
pub(crate) fn until(stream: &mut impl Read, wanted: &[u8]) -> Option<u8> {
    let mut byte = [0];
    while matches!(stream.read(&mut byte), Ok(1)) {
        if wanted.contains(&byte[0]) {
            return Some(byte[0]);
        }
    }
    None
}

const ACK: u8 = 6;
const NAK: u8 = 0x15;
const CAN: u8 = 0x18;

/// Sends a small file by YMODEM under any name and information: whether it was taken to the end.
pub(crate) fn send_by_ymodem(stream: &mut TcpStream, name: &[u8], info: &str) -> Option<()> {
    until(stream, b"C")?;
    stream.write_all(&header(name, info)).ok()?;
    (until(stream, &[ACK, CAN])? == ACK).then_some(())?;
    until(stream, b"C")?;
    let mut data = b"payload".to_vec();
    data.resize(128, 0x1A);
    stream.write_all(&block(1, &data)).ok()?;
    (until(stream, &[ACK, CAN])? == ACK).then_some(())?;
    loop {
        stream.write_all(&[4]).ok()?;
        match until(stream, &[ACK, NAK, CAN])? {
            ACK => break,
            NAK => {}
            _ => return None,
        }
    }
    until(stream, b"C")?;
    stream.write_all(&header(b"", "")).ok()?;
    until(stream, &[ACK]).map(drop)
}
