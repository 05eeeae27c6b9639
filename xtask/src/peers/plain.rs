//! What no protocol can beat: the same bytes through plain sockets and a plain PTY.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Instant;

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use wetstring_proto::kermit::check::crc16_update;
use wetstring_testkit::terminal;

const CHUNK: usize = 64 * 1024;

fn words(error: impl std::fmt::Display) -> String {
    format!("plain copy: {error}")
}

/// Bytes per second through a loopback connection, a CRC-16 computed over them at both ends; with
/// `to`, read from the file and written to that one as well.
pub(super) fn sockets(from: &Path, to: Option<&Path>) -> Result<f64, String> {
    let bytes = std::fs::read(from).map_err(words)?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(words)?;
    let address = listener.local_addr().map_err(words)?;
    let mut sink = to.map(File::create).transpose().map_err(words)?;
    let receiver = thread::spawn(move || -> std::io::Result<(u16, usize, Instant)> {
        let (mut stream, _) = listener.accept()?;
        let (mut crc, mut count, mut chunk) = (0, 0, vec![0; CHUNK]);
        loop {
            let len = stream.read(&mut chunk)?;
            if len == 0 {
                return Ok((crc, count, Instant::now()));
            }
            crc = crc16_update(crc, &chunk[..len]);
            count += len;
            if let Some(sink) = &mut sink {
                sink.write_all(&chunk[..len])?;
            }
        }
    });
    let mut stream = TcpStream::connect(address).map_err(words)?;
    let began = Instant::now();
    let mut crc = 0;
    if to.is_some() {
        let (mut file, mut chunk) = (File::open(from).map_err(words)?, vec![0; CHUNK]);
        loop {
            let len = file.read(&mut chunk).map_err(words)?;
            if len == 0 {
                break;
            }
            crc = crc16_update(crc, &chunk[..len]);
            stream.write_all(&chunk[..len]).map_err(words)?;
        }
    } else {
        for chunk in bytes.chunks(CHUNK) {
            crc = crc16_update(crc, chunk);
            stream.write_all(chunk).map_err(words)?;
        }
    }
    drop(stream);
    let (theirs, count, ended) =
        receiver.join().map_err(|_| "plain copy: the receiver panicked")?.map_err(words)?;
    if (theirs, count) != (crc, bytes.len()) {
        return Err("plain copy: the bytes differ".to_owned());
    }
    Ok(count as f64 / (ended - began).as_secs_f64())
}

/// Bytes per second from the master of a raw PTY to its slave, the way of a file to a command,
/// nothing done to them.
pub(super) fn pty(len: usize) -> Result<f64, String> {
    let terminal = terminal().map_err(words)?;
    let mut slave = terminal.open().map_err(words)?;
    let mut modes = tcgetattr(&slave).map_err(words)?;
    modes.make_raw();
    tcsetattr(&slave, OptionalActions::Now, &modes).map_err(words)?;
    let mut master = File::from(terminal.master);
    let began = Instant::now();
    let writer = thread::spawn(move || -> std::io::Result<File> {
        let chunk = vec![b'x'; CHUNK];
        let mut left = len;
        while left > 0 {
            let now = left.min(CHUNK);
            master.write_all(&chunk[..now])?;
            left -= now;
        }
        // Kept open until all is read: closing may throw away what is under way.
        Ok(master)
    });
    let (mut got, mut chunk) = (0, vec![0; CHUNK]);
    while got < len {
        got += slave.read(&mut chunk).map_err(words)?;
    }
    let speed = got as f64 / began.elapsed().as_secs_f64();
    writer.join().map_err(|_| "plain copy: the writer panicked")?.map_err(words)?;
    Ok(speed)
}

/// Carries one connection to `port` and counts the bytes of both directions; returns its own port
/// and what will know the count.
pub(super) fn counter(port: u16) -> Result<(u16, thread::JoinHandle<u64>), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(words)?;
    let own = listener.local_addr().map_err(words)?.port();
    let carry = |mut from: TcpStream, mut to: TcpStream| {
        let (mut count, mut chunk) = (0, vec![0; CHUNK]);
        while let Ok(len @ 1..) = from.read(&mut chunk) {
            count += len as u64;
            if to.write_all(&chunk[..len]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
        count
    };
    let counting = thread::spawn(move || {
        let Ok((near, _)) = listener.accept() else { return 0 };
        let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else { return 0 };
        let (Ok(near2), Ok(far2)) = (near.try_clone(), far.try_clone()) else { return 0 };
        let back = thread::spawn(move || carry(far2, near2));
        carry(near, far) + back.join().unwrap_or(0)
    });
    Ok((own, counting))
}
