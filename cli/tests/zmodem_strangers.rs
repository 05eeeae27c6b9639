//! ZMODEM senders of others, strict as those in browsers are: a header that they do not expect is
//! their end.

use crate::common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::scripted_peer::with_peer;
use common::zmodem::{answer, hex, kind, subpacket};
use common::{Desk, Running, names, wst};

const ZSINIT: u8 = 2;
const ZACK: u8 = 3;

/// Says ZSINIT, ZFILE and the data of one file; an answer that was not due is the error.
fn strict(stream: &mut (impl Read + Write), name: &str, data: &[u8]) -> Result<bool, String> {
    let mut ask = |bytes: Vec<u8>, due: &[u8]| {
        stream.write_all(&bytes).map_err(|error| error.to_string())?;
        match answer(stream) {
            Some((kind, _)) if due.contains(&kind) => Ok(kind),
            other => Err(format!("{name}: expected one of {due:?}, got {other:?}")),
        }
    };
    ask([hex(ZSINIT, [0; 4]), subpacket(b"\0", b'k')].concat(), &[ZACK])?;
    let info = format!("{name}\0{} 0 0 0 1\0", data.len());
    let offer = [hex(kind::ZFILE, [0; 4]), subpacket(info.as_bytes(), b'k')].concat();
    if ask(offer, &[kind::ZRPOS, kind::ZSKIP])? == kind::ZSKIP {
        return Ok(false);
    }
    let mut whole = hex(kind::ZDATA, [0; 4]);
    if !data.is_empty() {
        whole.extend(subpacket(data, b'h'));
    }
    // An empty file has no data at all, which not all receivers take.
    whole.extend(hex(kind::ZEOF, (data.len() as u32).to_le_bytes()));
    ask(whole, &[kind::ZRINIT])?;
    Ok(true)
}

fn goodbye(stream: &mut (impl Read + Write)) -> Result<(), String> {
    stream.write_all(&hex(kind::ZFIN, [0; 4])).map_err(|error| error.to_string())?;
    match answer(stream) {
        Some((kind::ZFIN, _)) => stream.write_all(b"OO").map_err(|error| error.to_string()),
        other => Err(format!("expected ZFIN, got {other:?}")),
    }
}

/// Waits for ZRINIT, and passes over what else a receiver says that looks for its sender.
fn ready(stream: &mut impl Read) -> Result<(), String> {
    match answer(stream) {
        Some((kind::ZRINIT, _)) => Ok(()),
        other => Err(format!("expected ZRINIT, got {other:?}")),
    }
}

#[test]
fn files_that_rz_skips_do_not_end_a_strict_sender() {
    let desk = Desk::new(1);
    for here in ["a", "b"] {
        std::fs::write(desk.path(&format!("in/{here}")), b"here already").expect("a file");
    }
    let act = |mut stream: TcpStream| {
        ready(&mut stream)?;
        let mut taken = Vec::new();
        for name in ["a", "b", "c", "empty"] {
            let data: &[u8] = if name == "empty" { b"" } else { b"new content" };
            taken.push(strict(&mut stream, name, data)?);
        }
        goodbye(&mut stream)?;
        Ok::<_, String>(taken)
    };
    let began = Instant::now();
    let (ran, taken) = with_peer(&desk, "rz", &[], &[], act);
    assert_eq!(taken, Ok(vec![false, false, true, true]), "{ran:?}");
    assert!(began.elapsed() < Duration::from_secs(9), "nothing waits: {:?}", began.elapsed());
    let content = |name: &str| std::fs::read(desk.path(&format!("in/{name}"))).expect("the file");
    assert_eq!(content("a"), b"here already");
    assert_eq!((content("c"), content("empty")), (b"new content".to_vec(), vec![]));
}

/// `wst receive` does not know what is coming, and the sender waits for ZRINIT.
#[test]
fn a_receiver_without_a_protocol_says_zrinit_to_a_sender_that_waits() {
    let desk = Desk::new(1);
    let into = desk.path("in");
    let receiver = Running::start(wst(["receive", "tcp-listen://127.0.0.1:0", "-o", &into]));
    let at = receiver.says("listening on ");
    let mut stream = TcpStream::connect(at.trim()).expect("the receiver listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    let done = ready(&mut stream)
        .and_then(|()| strict(&mut stream, "c", b"new content"))
        .and_then(|taken| goodbye(&mut stream).map(|()| taken));
    assert_eq!(done, Ok(true));
    drop(stream);
    receiver.end().expect(0);
    assert_eq!(names(desk.dir.path().join("in").as_path()), ["c"]);
}
