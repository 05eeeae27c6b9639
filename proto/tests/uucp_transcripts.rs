//! Real sessions with uucico, replayed: given what uucico said, an engine must say what it said to
//! uucico, which was content with it, and the file must be the file.
//!
//! Acknowledgements are left out of the comparison, for how many packets one of them covers depends on
//! how the port cut the bytes; so is what data packets acknowledge.

use crate::common;

use std::fs;
use std::path::Path;

use common::{File, Sink, Source, assert_whole};
use wetstring_proto::uucp::Config;
use wetstring_proto::uucp::frame::{Found, PacketReader};
use wetstring_proto::uucp::packet::Kind;
use wetstring_proto::{Cx, Engine, Instant, Outcome, Status, Store};
use wetstring_testkit::Edges;

common::protocol!(uucp, Config::default());

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|k| u8::from_str_radix(&text[k..k + 2], 16).unwrap()).collect()
}

/// (time, uucico said it, bytes)
fn transcript(name: &str) -> Vec<(Instant, bool, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/uucp").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let [time, who, bytes] = line.split(' ').collect::<Vec<_>>()[..] else { panic!() };
            let time = Instant(time.replace('.', "").parse::<u64>().unwrap() * 1_000_000);
            (time, who == "U", hex(bytes))
        })
        .collect()
}

/// The file of the recordings.
fn file() -> File {
    let mut bytes: Vec<u8> = (0..=255).chain(0..=255).collect();
    bytes.extend(b"tail");
    bytes.extend([0x10, 9, 0xA2, 0xAA, 8, 9].repeat(20));
    File::new("f1", &bytes)
}

/// What was said, without acknowledgements.
fn said(bytes: &[u8]) -> Vec<String> {
    let (mut reader, mut room) = (PacketReader::new(4096), [0; 4096]);
    let (mut all, mut text, mut at) = (Vec::new(), Vec::new(), 0);
    while let (used, Some(found)) = reader.next(&mut room, &bytes[at..]) {
        at += used;
        match found {
            Found::Byte(byte) => text.push(byte),
            Found::Control(control) => match Kind::parse(control).unwrap() {
                Kind::Ready(_) => {}
                kind => all.push(format!("{kind:?}")),
            },
            Found::Data { control, len } => {
                let Some(Kind::Data { sequence, short, .. }) = Kind::parse(control) else {
                    panic!()
                };
                all.push(format!("{sequence} {short} {}", room[..len].escape_ascii()));
            }
            Found::Damaged { .. } => panic!("{found:?}"),
        }
        if text.ends_with(&[0]) {
            all.push(text.escape_ascii().to_string());
            text.clear();
        }
    }
    all
}

/// Plays uucico's part; the engine says what it said then.
fn replay(engine: &mut dyn Engine, store: &mut dyn Store, name: &str) {
    let lines = transcript(name);
    let mut ours = Vec::new();
    let mut turn = |engine: &mut dyn Engine, now: Instant| {
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        engine.tick(cx);
        loop {
            while let Some(request) = engine.request() {
                let reply = store.answer(request);
                engine.reply(cx, reply);
            }
            let bytes = engine.transmit(cx).to_vec();
            if bytes.is_empty() {
                break;
            }
            engine.transmitted(cx, bytes.len());
            ours.extend(bytes);
        }
        while engine.event().is_some() {}
    };
    for (time, theirs, bytes) in &lines {
        turn(engine, *time);
        let mut used = 0;
        while *theirs && used < bytes.len() {
            let cx = &mut Cx { now: *time, trace: &mut Edges::new() };
            let taken = engine.receive(cx, &bytes[used..]);
            used += taken;
            turn(engine, *time);
            if taken == 0 {
                break;
            }
        }
    }
    let last = lines.last().unwrap().0;
    turn(engine, last);
    let want: Vec<u8> =
        lines.iter().filter(|(_, theirs, _)| !theirs).flat_map(|(_, _, b)| b.clone()).collect();
    assert_eq!(said(&ours), said(&want), "{name}");
    let status = engine.status();
    assert!(matches!(status, Status::Over(Outcome::Done)), "{name}: {status:?}");
}

fn sends(name: &str, role: &str) {
    let config = config(&[("role", role), ("packet", "64")]);
    let (mut engine, mut source) = (sender(&config), Source::new(vec![file()]));
    replay(&mut engine, &mut source, name);
    assert_eq!((engine.stats().files_done, &source.closed[..]), (1, &[(true, false)][..]));
}

fn receives(name: &str, role: &str, packet: &str, window: &str) {
    let config = config(&[("role", role), ("packet", packet), ("window", window)]);
    let (mut engine, mut sink) = (receiver(&config), Sink::new());
    replay(&mut engine, &mut sink, name);
    assert_whole(&sink.files, &[file()], name);
}

#[test]
fn uucico_is_called_and_receives() {
    sends("call-send.transcript", "call");
}

#[test]
fn uucico_calls_and_receives() {
    sends("answer-send.transcript", "answer");
}

#[test]
fn uucico_calls_and_sends() {
    receives("answer-receive.transcript", "answer", "1024", "7");
}

#[test]
fn uucico_is_called_and_sends() {
    receives("call-receive.transcript", "call", "64", "3");
}
