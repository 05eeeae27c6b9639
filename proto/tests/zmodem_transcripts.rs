//! Recorded sessions of lrzsz 0.12.21, each side replayed against one of our engines.

use crate::common;

use common::{File, Sink, Source};
use std::collections::BTreeMap;
use wetstring_proto::zmodem::escape::Dropping;
use wetstring_proto::zmodem::frame::{Found, FrameReader};
use wetstring_proto::zmodem::packet::kind;
use wetstring_proto::zmodem::{Config, Receiver, Sender};
use wetstring_proto::{
    Cx, Duration, Engine, FileInfo, Instant, Outcome, Refusal, Reply, Request, Status, Store,
};
use wetstring_testkit::Edges;

const SESSIONS: &str = include_str!("../../vectors/zmodem/lrzsz.txt");

#[derive(Default)]
struct Session {
    title: String,
    got: BTreeMap<String, usize>,
    /// True for the sender's bytes.
    log: Vec<(bool, Vec<u8>)>,
}

fn sessions() -> Vec<Session> {
    let mut all: Vec<Session> = Vec::new();
    for line in SESSIONS.lines().filter(|line| !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap();
        if word == "session" {
            all.push(Session { title: rest.into(), ..Session::default() });
            continue;
        }
        let session = all.last_mut().unwrap();
        let (first, second) = rest.split_once(' ').unwrap();
        if word == "got" {
            session.got.insert(first.into(), second.parse().unwrap());
        } else {
            let bytes = (0..second.len()).step_by(2);
            let bytes = bytes.map(|at| u8::from_str_radix(&second[at..at + 2], 16).unwrap());
            session.log.push((word == "s", bytes.collect()));
        }
    }
    assert_eq!(all.len(), 14);
    all
}

fn content(name: &str) -> Vec<u8> {
    match name {
        "hello.txt" => b"hello, world\n".to_vec(),
        "ramp.bin" => (0..3072).map(|k| k as u8).collect(),
        _ => Vec::new(),
    }
}

common::protocol!(zmodem, Config { buffer_len: 8192, ..Config::default() });

/// Gives the engine what it wants until nothing moves; returns what it sent.
fn settle(engine: &mut dyn Engine, store: &mut dyn Store, now: Instant) -> Vec<u8> {
    let mut sent = Vec::new();
    loop {
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        let mut moved = false;
        while let Some(request) = engine.request() {
            let reply = store.answer(request);
            engine.reply(cx, reply);
            moved = true;
        }
        let bytes = engine.transmit(cx).to_vec();
        engine.transmitted(cx, bytes.len());
        sent.extend_from_slice(&bytes);
        if bytes.is_empty() && !moved {
            return sent;
        }
    }
}

/// Plays one side of a session to the engine, in pieces of `chunk`; returns what the engine sent
/// and the messages it had for the user.
fn play(
    engine: &mut dyn Engine,
    store: &mut dyn Store,
    session: &Session,
    sender: bool,
    chunk: usize,
) -> (Vec<u8>, Vec<String>) {
    let mut now = Instant(1_000_000);
    let mut sent = settle(engine, store, now);
    let mut events = Vec::new();
    for (_, bytes) in session.log.iter().filter(|(by, _)| *by == sender) {
        now = now + Duration::from_millis(1);
        let mut rest = &bytes[..];
        let (mut turns, mut offered) = (0, chunk);
        while !rest.is_empty() && !matches!(engine.status(), Status::Over(_)) {
            let cx = &mut Cx { now, trace: &mut Edges::new() };
            let used = engine.receive(cx, &rest[..rest.len().min(offered)]);
            rest = &rest[used..];
            // What was not taken is offered again with what came later.
            offered = if used == 0 { offered + chunk } else { chunk };
            sent.extend(settle(engine, store, now));
            turns += 1;
            assert!(turns < 10_000, "{}: input is taken", session.title);
        }
        while let Some(event) = engine.event() {
            events.push(format!("{event:?}"));
        }
    }
    // What may still come is awaited.
    for _ in 0..10 {
        now = now + Duration::from_secs(1);
        engine.tick(&mut Cx { now, trace: &mut Edges::new() });
        sent.extend(settle(engine, store, now));
    }
    (sent, events)
}

/// The headers in what an engine sent.
fn headers(wire: &[u8]) -> Vec<(u8, u32)> {
    let mut reader = FrameReader::new(Dropping::FlowControl);
    let (mut rest, mut all) = (wire, Vec::new());
    while !rest.is_empty() {
        let (used, found) = reader.next(&mut [], rest);
        rest = &rest[used..];
        if let Some(Found::Header(header)) = found {
            all.push((header.kind, header.number()));
        }
    }
    all
}

/// A store as the recorded receiver's: it has some files already.
struct Recorded {
    sink: Sink,
    skip: bool,
}

impl Store for Recorded {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { info: FileInfo { name: b"hello.txt", .. } } if self.skip => {
                Reply::Refuse(Refusal::Exists)
            }
            // The recorded receiver resumed without asking for a CRC; ours could not compare one.
            request => self.sink.answer(request),
        }
    }
}

#[test]
fn our_receiver_against_the_recorded_sender() {
    for session in sessions() {
        for chunk in [1, 7, 100_000] {
            let title = &session.title;
            let controls = title.contains("controls");
            let config = config(&[("escape", if controls { "controls" } else { "normal" })]);
            let mut receiver =
                Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
            let mut store = Recorded { sink: Sink::new(), skip: title == "skip" };
            let (sent, events) = play(&mut receiver, &mut store, &session, true, chunk);
            if title == "resume" {
                // The recorded sender starts at 1024, where we have nothing.
                assert!(headers(&sent).iter().all(|(kind, _)| *kind != kind::ZACK));
                assert_ne!(receiver.status().outcome(), Some(Outcome::Done), "{title}");
                continue;
            }
            assert_eq!(receiver.status().outcome(), Some(Outcome::Done), "{title} by {chunk}");
            let mut want = session.got.clone();
            if title == "skip" {
                want.remove("hello.txt");
            }
            let complete = store.sink.files.iter().filter(|file| file.complete);
            let got: BTreeMap<String, usize> = complete
                .map(|file| {
                    let name = String::from_utf8(file.name.clone()).unwrap();
                    assert_eq!(file.bytes, content(&name), "{title}: {name}");
                    (name, file.bytes.len())
                })
                .collect();
            assert_eq!(got, want, "{title} by {chunk}");
            if title == "command refused" {
                assert!(headers(&sent).contains(&(kind::ZCOMPL, 1)), "{:?}", headers(&sent));
                assert!(events.iter().any(|event| event.starts_with("Message")), "{events:?}");
            }
            // Every position that the recorded receiver asked for, we ask for.
            let recorded: Vec<u8> =
                session.log.iter().filter(|(by, _)| !by).flat_map(|(_, b)| b.clone()).collect();
            let positions = |wire: &[u8]| -> Vec<u32> {
                let all = headers(wire).into_iter();
                all.filter(|(kind, _)| *kind == kind::ZRPOS).map(|(_, at)| at).collect()
            };
            assert_eq!(positions(&sent), positions(&recorded), "{title} by {chunk}");
        }
    }
}

#[test]
fn our_sender_against_the_recorded_receiver() {
    for session in sessions() {
        let title = session.title.as_str();
        if title == "command refused" {
            continue;
        }
        for chunk in [1, 7, 100_000] {
            let settings: &[(&str, &str)] = match title {
                "16-bit CRC" => &[("crc32", "off"), ("send-length", "1024"), ("window", "100000")],
                "window" => &[("window", "1024"), ("send-length", "512")],
                // The recorded receiver has acknowledged a subpacket of the recorded length.
                "damaged byte" => &[("adapt-length", "off"), ("window", "100000")],
                // The recorded receiver has acknowledged nothing that was not asked for.
                "overwrite" => &[("wish", "overwrite"), ("window", "100000")],
                "newer" => &[("wish", "newer"), ("window", "100000")],
                _ => &[("window", "100000")],
            };
            let config = config(settings);
            let names: &[&str] = match title {
                "two files" | "skip" => &["hello.txt", "ramp.bin"],
                "empty file" => &["empty"],
                _ if session.got.contains_key("ramp.bin") => &["ramp.bin"],
                _ => &["hello.txt"],
            };
            let files = names.iter().map(|name| File {
                resume: title == "resume",
                text: title == "ascii",
                ..File::new(name, &content(name))
            });
            let mut source = Source::new(files.collect());
            let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
            let (sent, _) = play(&mut sender, &mut source, &session, false, chunk);
            assert_eq!(sender.status().outcome(), Some(Outcome::Done), "{title} by {chunk}");
            let skipped = usize::from(title == "skip");
            assert_eq!(sender.stats().files_skipped as usize, skipped, "{title}");
            assert_eq!(sender.stats().files_done as usize, names.len() - skipped, "{title}");
            assert!(sent.ends_with(b"OO"), "{title}: the last word");
            // The end of each file, as the recorded sender told it.
            let recorded: Vec<u8> =
                session.log.iter().filter(|(by, _)| *by).flat_map(|(_, b)| b.clone()).collect();
            let ends = |wire: &[u8]| -> Vec<u32> {
                let all = headers(wire).into_iter();
                all.filter(|(kind, _)| *kind == kind::ZEOF).map(|(_, at)| at).collect()
            };
            assert_eq!(ends(&sent), ends(&recorded), "{title} by {chunk}");
            if title == "damaged byte" {
                assert!(sender.stats().naks_in == 1 && sender.stats().retransmissions == 1);
            }
        }
    }
}
