//! Sender against receiver over a perfect pipe: every setting, every awkward length.

use crate::common;

use common::{Dice, Ends, File, Pair, Sink, Source, assert_whole, failed, random};
use wetstring_proto::settings::{Range, Settings};
use wetstring_proto::uucp::Config;
use wetstring_proto::{
    Blame, Command, Engine, FailureKind, Instant, Outcome, Refusal, Reply, Request, Status, Store,
    StoreError,
};

common::protocol!(uucp, Config { buffer_len: 8192, ..Config::default() });

const DONE: (Outcome, Outcome) = (Outcome::Done, Outcome::Done);
const SIZES: [&str; 8] = ["32", "64", "128", "256", "512", "1024", "2048", "4096"];

fn transfer(ours: &Config, theirs: &Config, files: &[File]) -> (Vec<File>, Ends) {
    let (mut s, mut r) = (sender(ours), receiver(theirs));
    let (mut source, mut sink) = (Source::new(files.to_vec()), Sink::new());
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    (sink.files, ends)
}

fn batch() -> Vec<File> {
    let long = "n".repeat(900);
    vec![
        File { mode: Some(0o640), ..File::new("one", &random(3, 1)) },
        File::new("empty", b""),
        File::new(&long, &random(5000, 2)),
        File::new("dir/na\u{ef}ve name\\x", &random(1024, 3)),
        File::new("last", &random(1, 4)),
    ]
}

#[test]
fn every_packet_size_and_length() {
    for size in SIZES {
        let config = config(&[("packet", size)]);
        let len: usize = size.parse().unwrap();
        let below = [129, 128, 127, 2, 1].map(|less| len.saturating_sub(less));
        for len in [0, 1, len, len + 1, 9 * len].into_iter().chain(below) {
            let file = File { mode: Some(0o640), ..File::new("a.bin", &random(len, 3)) };
            let label = format!("{size} {len}");
            let (got, ends) = transfer(&config, &config, std::slice::from_ref(&file));
            assert_eq!((ends.sender, ends.receiver), DONE, "{label}: {:?}", ends.events);
            assert_whole(&got, std::slice::from_ref(&file), &label);
            assert_eq!(got[0].mode, file.mode);
            // Nothing waited for a timer.
            assert!(ends.now < Instant(2_000_000), "{label}: {}", ends.now);
        }
    }
}

#[test]
fn a_large_file_goes_round_the_sequence_numbers() {
    for window in ["1", "2", "3", "7"] {
        let config = config(&[("packet", "64"), ("window", window)]);
        let files = [File::new("a", &random(300_000, 8))];
        let (got, ends) = transfer(&config, &config, &files);
        assert_eq!((ends.sender, ends.receiver), DONE);
        assert_whole(&got, &files, window);
    }
}

#[test]
fn every_setting_alone_in_every_role() {
    let files = batch();
    for row in Config::TABLE {
        let values: Vec<String> = match row.range {
            Range::Word(words) => words.iter().map(ToString::to_string).collect(),
            Range::Number(low, high) => {
                [low, high, u64::midpoint(low, high)].iter().map(ToString::to_string).collect()
            }
            Range::Text => ["a", "a-b.c_d", &"x".repeat(32)].map(str::to_owned).to_vec(),
        };
        let name = row.name.strip_prefix("uucp.").unwrap();
        if name == "role" {
            continue;
        }
        for value in values {
            for (first, second) in [("call", "answer"), ("answer", "call")] {
                let set = |role| config(&[("role", role), (name, &value)]);
                let plain = |role| config(&[("role", role)]);
                for (ours, theirs) in [
                    (set(first), set(second)),
                    (set(first), plain(second)),
                    (plain(first), set(second)),
                ] {
                    let label = format!("{name}={value} sender {first}");
                    let (got, ends) = transfer(&ours, &theirs, &files);
                    assert_eq!((ends.sender, ends.receiver), DONE, "{label}: {:?}", ends.events);
                    assert_whole(&got, &files, &label);
                }
            }
        }
    }
}

#[test]
fn each_direction_follows_the_peers_announcement() {
    let ours = config(&[("packet", "4096"), ("window", "7")]);
    let theirs = config(&[("packet", "128"), ("window", "2")]);
    let file = File::new("a", &random(20_000, 1));
    let (mut s, mut r) = (sender(&ours), receiver(&theirs));
    let (mut source, mut sink) = (Source::new(vec![file.clone()]), Sink::new());
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    assert!(ends.events.iter().any(|event| event.contains("2 packets of 128 bytes")));
    assert_eq!(s.stats().longest_packet_bytes, 128 + 6);
    assert_whole(&sink.files, &[file], "");
}

#[test]
fn table_facts_hold() {
    for row in Config::TABLE {
        let mut config = Config::default();
        let mut shown = String::new();
        config.show(row.name, &mut shown).unwrap();
        assert_eq!(shown, row.default, "{}", row.name);
        config.set(row.name, row.default).unwrap();
        assert_eq!(config, Config::default(), "{}", row.name);
        assert!(config.set(row.name, "not sense").is_err(), "{}", row.name);
        assert!(config.set(row.name, "").is_err(), "{}", row.name);
        let Range::Number(low, high) = row.range else { continue };
        for value in [low, high] {
            config.set(row.name, &value.to_string()).unwrap();
            let mut shown = String::new();
            config.show(row.name, &mut shown).unwrap();
            assert_eq!(shown, value.to_string(), "{}", row.name);
        }
        assert!(config.set(row.name, &(high + 1).to_string()).is_err(), "{}", row.name);
    }
    assert!(Config::default().set("uucp.nothing", "1").is_err());
    let long = "x".repeat(33);
    for name in [&long[..], "a b", "a\u{e9}"] {
        assert!(Config::default().set("uucp.name", name).is_err(), "{name}");
    }
}

#[test]
fn the_doors_may_be_opened_in_any_order() {
    let files = batch();
    for seed in 0..150 {
        let mut dice = Dice(seed);
        let pick = |dice: &mut Dice, of: &[&'static str]| of[dice.roll(of.len())];
        let roles = pick(&mut dice, &["call", "answer"]);
        let other = if roles == "call" { "answer" } else { "call" };
        let mut settings = |role| {
            let window = pick(&mut dice, &["1", "3", "7"]);
            let packet = pick(&mut dice, &SIZES);
            config(&[("role", role), ("window", window), ("packet", packet)])
        };
        let (ours, theirs) = (settings(roles), settings(other));
        let (mut s, mut r) = (sender(&ours), receiver(&theirs));
        common::any_order(&mut s, &mut r, &files, dice, &format!("seed {seed}"));
    }
}

#[test]
pub(crate) fn a_refused_file_does_not_end_the_session() {
    let config = config(&[]);
    for why in [Refusal::Exists, Refusal::NoSpace] {
        let (mut s, mut r) = (sender(&config), receiver(&config));
        let (mut source, mut sink) = (Source::new(batch()), Sink::new());
        sink.refuse = Some(why);
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        assert_eq!((ends.sender, ends.receiver), DONE);
        assert_eq!((s.stats().files_skipped, r.stats().files_skipped), (5, 5));
        assert_eq!(source.closed, [(false, false); 5]);
        let refused = |end| ends.events.iter().filter(|e| e.starts_with(end)).count();
        assert_eq!((refused("s refused"), refused("r refused")), (5, 5), "{:?}", ends.events);
    }
}

#[test]
pub(crate) fn unencodable_name_is_refused_locally() {
    let config = config(&[]);
    let files = [File::new("", b"x"), File::new(&"n".repeat(1025), b"y"), File::new("c", b"z")];
    let (got, ends) = transfer(&config, &config, &files);
    assert_eq!((ends.sender, ends.receiver), DONE);
    assert_whole(&got, &files[2..], "");
    let refused = ends.events.iter().filter(|e| e.contains("Name") && e.ends_with("false"));
    assert_eq!(refused.count(), 2, "{:?}", ends.events);
}

#[test]
fn nothing_to_send_is_a_session_too() {
    for (first, second) in [("call", "answer"), ("answer", "call")] {
        let (ours, theirs) = (config(&[("role", first)]), config(&[("role", second)]));
        let (got, ends) = transfer(&ours, &theirs, &[]);
        assert_eq!((ends.sender, ends.receiver, got.len()), (DONE.0, DONE.1, 0));
    }
}

#[test]
fn failing_store_ends_the_session_at_both_ends() {
    let config = config(&[]);
    let files = [File::new("a", &random(50_000, 1))];
    let (mut s, mut r) = (sender(&config), receiver(&config));
    let (mut source, mut sink) = (Source::new(files.to_vec()), Sink::new());
    sink.room = Some(20_000);
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    assert_eq!(ends.sender, failed(Blame::Peer, FailureKind::Aborted));
    assert_eq!(ends.receiver, failed(Blame::Store, FailureKind::Store(StoreError::NoSpace)));
    assert!(!sink.files[0].complete);

    let (mut s, mut r) = (sender(&config), receiver(&config));
    let (mut source, mut sink) = (Source::new(files.to_vec()), Sink::new());
    source.fail_read_at = Some(10_000);
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    assert_eq!(ends.sender, failed(Blame::Store, FailureKind::Store(StoreError::Io)));
    assert_eq!(ends.receiver, failed(Blame::Peer, FailureKind::Aborted));
    assert!(!sink.files[0].complete && !sink.files[0].bytes.is_empty(), "what came is kept");
}

#[test]
fn user_aborts_at_either_end() {
    for ending in [true, false] {
        for at in [1u64, 10_000, 40_000] {
            let config = config(&[]);
            let (mut s, mut r) = (sender(&config), receiver(&config));
            let (mut source, mut sink) =
                (Source::new(vec![File::new("a", &random(50_000, 1))]), Sink::new());
            let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
            pair.chunk = 100;
            pair.steer = Box::new(move |is_sender, engine| {
                let now = is_sender == ending && engine.stats().file_bytes >= at;
                let running = engine.status() == Status::Running;
                (now && running).then_some(Command::CancelFile)
            });
            let ends = pair.run();
            let (mine, other) = (Blame::Local, Blame::Peer);
            let (sending, receiving) = if ending { (mine, other) } else { (other, mine) };
            assert_eq!(ends.sender, failed(sending, FailureKind::Aborted), "{ending} {at}");
            assert_eq!(ends.receiver, failed(receiving, FailureKind::Aborted), "{ending} {at}");
            assert!(sink.files.iter().all(|file| !file.complete));
        }
    }
}

/// A store of both kinds, for a call that goes both ways.
struct Both {
    source: Source,
    sink: Sink,
    /// The file that is open comes.
    comes: bool,
}

impl Both {
    fn new(files: &[File]) -> Self {
        Self { source: Source::new(files.to_vec()), sink: Sink::new(), comes: false }
    }
}

impl Store for Both {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next | Request::Offer { .. } => {
                self.comes = matches!(request, Request::Offer { .. });
            }
            _ => {}
        }
        if self.comes { self.sink.answer(request) } else { self.source.answer(request) }
    }
}

/// Both have files; all of them arrive, no matter which end calls. With losses too.
#[test]
fn files_go_both_ways_in_one_call() {
    let (here, there) = (batch(), [File::new("theirs", &random(30_000, 9)), File::new("e", b"")]);
    for seed in 0..60u64 {
        let mut dice = Dice(seed);
        let mut end = |role| {
            let window = ["1", "3", "7"][dice.roll(3)];
            let set = [("role", role), ("window", window), ("packet", SIZES[dice.roll(8)])];
            let config = Config { takes: true, ..config(&set) };
            sender(&config)
        };
        let (mut a, mut b) =
            if seed % 2 == 0 { (end("call"), end("answer")) } else { (end("answer"), end("call")) };
        let (mut ours, mut theirs) = (Both::new(&here), Both::new(&there));
        let mut pair = Pair::new(&mut a, &mut b, &mut ours, &mut theirs);
        let lossy = seed % 3 == 0;
        let mut lost = Dice(seed);
        pair.meddle = Box::new(move |_, bytes| {
            if lossy && lost.roll(30) == 0 {
                bytes.clear();
            }
        });
        let ends = pair.run();
        assert_eq!((ends.sender, ends.receiver), DONE, "{seed}: {:?}", ends.events);
        assert_whole(&theirs.sink.files, &here, &format!("{seed}"));
        assert_whole(&ours.sink.files, &there, &format!("{seed}"));
        assert_eq!((a.stats().files_done, b.stats().files_done), (7, 7), "{seed}");
    }
}

/// A sender that takes, and a plain receiver or sender: who has nothing says so.
#[test]
fn bidirectional_sender_meets_each_kind_of_end() {
    let here = batch();
    for (first, second) in [("call", "answer"), ("answer", "call")] {
        let ours = Config { takes: true, ..config(&[("role", first)]) };
        let theirs = config(&[("role", second)]);
        let (mut s, mut r) = (sender(&ours), receiver(&theirs));
        let (mut both, mut sink) = (Both::new(&here), Sink::new());
        let ends = Pair::new(&mut s, &mut r, &mut both, &mut sink).run();
        assert_eq!((ends.sender, ends.receiver), DONE);
        assert_whole(&sink.files, &here, first);
        // One that sends, and takes nothing: ours stay where they are.
        let (mut s, mut t) = (sender(&ours), sender(&theirs));
        let (mut both, mut source) = (Both::new(&here), Source::new(here.clone()));
        let ends = Pair::new(&mut s, &mut t, &mut both, &mut source).run();
        assert_eq!((ends.sender, ends.receiver), DONE);
        assert_whole(&both.sink.files, &here, first);
        assert_eq!(
            both.source.closed,
            [(false, false); 5],
            "none was taken, each is known to be here"
        );
        assert_eq!(s.stats().files_skipped, 5);
    }
}

/// Both ends call, or both wait: both fail in time.
#[test]
fn two_of_a_kind_do_not_meet() {
    for role in ["call", "answer"] {
        let config = config(&[("role", role), ("patience", "30")]);
        let (_, ends) = transfer(&config, &config, &batch());
        assert_eq!(ends.sender, failed(Blame::Peer, FailureKind::Silence), "{role}");
        assert_eq!(ends.receiver, failed(Blame::Peer, FailureKind::Silence), "{role}");
    }
}
