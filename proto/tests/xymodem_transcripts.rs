//! Real sessions of lrzsz, replayed against one engine: it must say what the program said.

use std::fs;
use std::path::Path;

use wetstring_proto::settings::Settings;
use wetstring_proto::xymodem::{Config, Receiver, Sender};
use wetstring_proto::{
    Blame, Cx, Duration, Engine, Failure, FailureKind, FileInfo, Instant, Left, Outcome, Reply,
    Request, Status, Store,
};
use wetstring_testkit::Edges;

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|k| u8::from_str_radix(&text[k..k + 2], 16).unwrap()).collect()
}

/// (time, who, bytes)
fn transcript(name: &str) -> Vec<(Instant, char, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/xymodem").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let [time, who, bytes] = line.split(' ').collect::<Vec<_>>()[..] else { panic!() };
            let time = Instant(time.replace('.', "").parse::<u64>().unwrap() * 1_000_000);
            (time, who.chars().next().unwrap(), hex(bytes))
        })
        .collect()
}

fn ramp() -> Vec<u8> {
    (0..3072u32).map(|index| index as u8).collect()
}

/// What sb was told to send, and what it said of it.
struct Files {
    files: Vec<(&'static str, Vec<u8>)>,
    at: usize,
}

impl Store for Files {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next => {
                let Some((name, bytes)) = self.files.get(self.at) else {
                    return Reply::NoMoreFiles;
                };
                let rest = &self.files[self.at..];
                self.at += 1;
                Reply::File(FileInfo {
                    name: name.as_bytes(),
                    size: Some(bytes.len() as u64),
                    modified: Some(500_000_000),
                    mode: Some(0o644),
                    left: Some(Left {
                        files: rest.len() as u32,
                        bytes: rest.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
                    }),
                    ..FileInfo::default()
                })
            }
            Request::Read { offset, into } => {
                let rest = &self.files[self.at - 1].1[offset as usize..];
                let len = rest.len().min(into.len());
                into[..len].copy_from_slice(&rest[..len]);
                Reply::Read(len)
            }
            _ => Reply::Done,
        }
    }
}

/// What was received: names and bytes.
#[derive(Default)]
struct Got(Vec<(Vec<u8>, Vec<u8>)>);

impl Store for Got {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { info } => {
                self.0.push((info.name.to_vec(), Vec::new()));
                Reply::Accept { offset: 0 }
            }
            Request::Write { bytes, .. } => {
                self.0.last_mut().unwrap().1.extend_from_slice(bytes);
                Reply::Done
            }
            _ => Reply::Done,
        }
    }
}

/// Turns an engine at one moment; returns what it says.
fn turn(engine: &mut dyn Engine, store: &mut dyn Store, now: Instant) -> Vec<u8> {
    let cx = &mut Cx { now, trace: &mut Edges::new() };
    engine.tick(cx);
    while let Some(request) = engine.request() {
        let reply = store.answer(request);
        engine.reply(cx, reply);
    }
    let said = engine.transmit(cx).to_vec();
    engine.transmitted(cx, said.len());
    said
}

/// Plays one side; `ours` are the lines that the engine has to say.
fn replay(engine: &mut dyn Engine, store: &mut dyn Store, name: &str, ours: &str) {
    let lines = transcript(name);
    let (mut now, mut said) = (lines[0].0, Vec::new());
    for (index, (time, who, bytes)) in lines.iter().enumerate() {
        let label = format!("{name} line {index}");
        if ours.contains(*who) {
            // As soon as it can, but at most half a second after the program did.
            while said.len() < bytes.len() {
                said.extend(turn(engine, store, now));
                if said.len() < bytes.len() {
                    now = engine.deadline().unwrap_or_else(|| panic!("{label}: silent")).max(now);
                    assert!(now <= *time + Duration::from_millis(500), "{label}: late, {now}");
                }
            }
            let rest = said.split_off(bytes.len());
            // lrzsz leaves the last file's record count in the empty block 0.
            let len = if bytes[..].starts_with(&[1, 0, 0xff, 0]) { 125 } else { bytes.len() };
            assert_eq!(said[..len], bytes[..len], "{label}");
            said = rest;
        } else if *who != 'x' {
            assert!(said.is_empty(), "{label}: said too much, {said:?}");
            now = now.max(*time);
            let used = engine.receive(&mut Cx { now, trace: &mut Edges::new() }, bytes);
            assert_eq!(used, bytes.len(), "{label}");
            said.extend(turn(engine, store, now));
        }
    }
    // The captured sb was stopped before the last acknowledgement.
    let last: &[u8] = if name == "ymodem.transcript" && ours == "R" { &[6] } else { &[] };
    assert_eq!(said, last, "{name}: said too much");
}

fn config(settings: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    for (name, value) in settings {
        config.set(&format!("xymodem.{name}"), value).unwrap();
    }
    config
}

/// Transcript, variant, the sender's longest block.
const SESSIONS: [(&str, &str, &str); 5] = [
    ("xmodem.transcript", "xmodem", "128"),
    ("xmodem-crc.transcript", "xmodem-crc", "128"),
    ("xmodem-1k.transcript", "xmodem-1k", "1024"),
    ("ymodem.transcript", "ymodem", "128"),
    ("ymodem-1k.transcript", "ymodem", "1024"),
];

#[test]
fn sender_sends_what_sx_and_sb_sent() {
    for (name, variant, block) in SESSIONS {
        let config = config(&[
            ("variant", variant),
            ("block", block),
            ("records", "on"),
            ("start-pause", "0"),
        ]);
        let hello = ("hello.txt", b"hello, world\n".to_vec());
        let ramp = ("ramp.bin", ramp());
        let files = match name {
            "ymodem.transcript" => vec![hello, ramp],
            "ymodem-1k.transcript" => vec![ramp, hello],
            _ => vec![ramp],
        };
        let mut store = Files { files, at: 0 };
        let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
        replay(&mut sender, &mut store, name, "Sx");
    }
}

#[test]
fn receiver_sends_what_rx_and_rb_sent() {
    for (name, variant, _) in SESSIONS {
        let config =
            config(&[("variant", variant), ("first-eot", "wait"), ("start-wait", "11000")]);
        let mut store = Got::default();
        let mut receiver =
            Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
        replay(&mut receiver, &mut store, name, "R");
        let hello = b"hello, world\n".to_vec();
        let got = &store.0;
        match name {
            "ymodem.transcript" => {
                assert_eq!(got, &[(b"hello.txt".to_vec(), hello), (b"ramp.bin".to_vec(), ramp())]);
            }
            "ymodem-1k.transcript" => {
                assert_eq!(got, &[(b"ramp.bin".to_vec(), ramp()), (b"hello.txt".to_vec(), hello)]);
            }
            // The programs were stopped, or all was in memory when they ended.
            _ => assert!(got.len() == 1 && got[0].0.is_empty()),
        }
    }
}

fn one_file_sender() -> (Sender<Vec<u8>>, Files) {
    let config = config(&[("variant", "xmodem-crc"), ("start-pause", "0")]);
    let sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).unwrap();
    (sender, Files { files: vec![("ramp.bin", ramp())], at: 0 })
}

/// NAK every second: sx sends a block eleven times (captured), and so do we.
#[test]
fn nak_storm_ends_as_with_sx() {
    let (mut sender, mut store) = one_file_sender();
    let mut said = Vec::new();
    for second in 0..20u64 {
        let now = Instant(second * 1_000_000_000);
        turn(&mut sender, &mut store, now);
        sender.receive(
            &mut Cx { now, trace: &mut Edges::new() },
            if second == 0 { b"C" } else { b"\x15" },
        );
        for wait in [0, 100, 500] {
            said.extend(turn(&mut sender, &mut store, now + Duration::from_millis(wait)));
        }
    }
    let blocks = said.windows(3).filter(|bytes| *bytes == [1, 1, 0xfe]).count();
    assert_eq!(blocks, 11);
    assert!(said.windows(2).any(|bytes| bytes == [0x18, 0x18]), "the receiver is told");
    let failure = Failure { blame: Blame::Line, kind: FailureKind::TooManyRetries };
    assert_eq!(sender.status().outcome(), Some(Outcome::Failed(failure)));
}

/// What rx says when it gives up (captured): a NAK, ten CAN, ten BS, and all again.
#[test]
fn rx_cancel_is_understood() {
    let (mut sender, mut store) = one_file_sender();
    let now = Instant(1_000_000_000);
    turn(&mut sender, &mut store, now);
    sender.receive(&mut Cx { now, trace: &mut Edges::new() }, b"C");
    assert_eq!(turn(&mut sender, &mut store, now).len(), 133);
    let now = now + Duration::from_secs(53);
    let cancel = [[0x18; 10], [0x08; 10]].concat();
    let bytes = [&[0x15][..], &cancel, &cancel].concat();
    let used = sender.receive(&mut Cx { now, trace: &mut Edges::new() }, &bytes);
    assert_eq!(used, bytes.len());
    turn(&mut sender, &mut store, now + Duration::from_secs(1));
    turn(&mut sender, &mut store, now + Duration::from_secs(2));
    let failure = Failure { blame: Blame::Peer, kind: FailureKind::Aborted };
    assert_eq!(sender.status(), Status::Over(Outcome::Failed(failure)));
}
