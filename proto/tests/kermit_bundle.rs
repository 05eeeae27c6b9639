//! Files in one window, between our own ends: every combination of capabilities, decisions in stride, and no file that is
//! done before the receiver's store has closed it.

use crate::common;
use common::{Dice, Ends, File, Pair, Sink, Source, assert_whole, random};
use std::cell::RefCell;
use wetstring_proto::file::Left;
use wetstring_proto::kermit::bundle::radix::alphabet;
use wetstring_proto::kermit::params::Params;
use wetstring_proto::kermit::{Config, Switch};
use wetstring_proto::{
    Command, Engine, FileInfo, Outcome, Refusal, Reply, Request, Store, StoreError,
};
use wetstring_testkit::Picky;

common::protocol!(
    kermit,
    Config {
        buffer_len: 8192,
        bundle: Switch::On,
        compressor: true,
        compress: Switch::Off,
        ..Config::default()
    }
);

/// Small files and a long one, of every kind.
fn files() -> Vec<File> {
    let mut files: Vec<File> = (0..40)
        .map(|index| File {
            modified: Some(1_790_000_000 + 60 * index),
            mode: Some(if index % 3 == 0 { 0o600 } else { 0o644 }),
            ..File::new(&format!("file-{index:04}.x"), &random(index as usize * 37, index as u64))
        })
        .collect();
    files.push(File { text: true, ..File::new("lines.txt", b"one\ntwo\r\n\r\rthree\n\nend\r") });
    files.push(File::new("long.bin", &random(60_000, 5)));
    files.push(File { text: true, ..File::new("many.txt", &b"word\n".repeat(4000)) });
    files.push(File::new("zeros", &vec![0; 20_000]));
    let runs: Vec<u8> =
        (1..600usize).flat_map(|len| std::iter::repeat_n((len / 3) as u8, len)).collect();
    files.push(File::new("runs", &runs));
    files.push(File { text: true, ..File::new("blank.txt", b"\r\r\n\n\n    x\n\r\r\r\r\n\n") });
    files.push(File::new("last", b"x"));
    files
}

fn transfer(ours: &Config, theirs: &Config, source: &mut Source) -> (Sink, Ends) {
    let (mut s, mut r) = (sender(ours), receiver(theirs));
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, source, &mut sink).run();
    (sink, ends)
}

fn letters(wire: &[u8]) -> Vec<u8> {
    wire.split(|byte| *byte == 1).filter_map(|packet| packet.get(2).copied()).collect()
}

#[test]
fn every_combination_of_capabilities() {
    let on_off = ["on", "off"];
    for streaming in on_off {
        for mask in 0..=255u8 {
            let pick = |bit: u8| on_off[usize::from(mask >> bit & 1)];
            let end = |at: u8| {
                config(&[
                    ("streaming", streaming),
                    ("digest", pick(at)),
                    ("by-length", pick(at + 1)),
                    ("bundle", pick(at + 2)),
                    ("compress", pick(at / 3 + 6)),
                ])
            };
            let mut source = Source::new(files());
            let (sink, ends) = transfer(&end(0), &end(3), &mut source);
            let label = format!("{streaming} {mask:08b}");
            assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{label}");
            assert_whole(&sink.files, &files(), &label);
            let digests = mask & 0b001_001 == 0;
            let binary = |file: &&File| !file.text;
            assert!(
                sink.files.iter().filter(binary).all(|file| file.verified == digests),
                "{label}"
            );
            assert_eq!(source.closed.len(), files().len(), "{label}");
            let whole = source
                .closed
                .iter()
                .zip(files())
                .all(|(closed, file)| *closed == (true, digests && !file.text));
            assert!(whole, "{label} {:?}", source.closed);
            // Where they are wanted always, also instead of streaming.
            let bundled = mask & 0b100_100 == 0;
            let seen = letters(&ends.to_receiver);
            assert_eq!(seen.contains(&b'F'), !bundled, "{label}");
            let compressed = (bundled || streaming == "on") && mask & 0b1100_0000 == 0;
            assert_eq!(source.squeezer.frames > 0, compressed, "{label}");
        }
    }
}

/// While streaming each file costs some round trips, so that short ones go in bundles by default.
#[test]
fn short_files_are_not_streamed() {
    let short = Left { files: 2, bytes: 2000 };
    let long = Left { files: 2, bytes: 2_000_000 };
    for (batch, streaming, bundle, bundled) in [
        (short, "auto", "auto", true),
        (short, "on", "auto", false),
        (short, "auto", "off", false),
        (long, "auto", "auto", false),
        (long, "auto", "on", true),
    ] {
        let set = [("reliable", "on"), ("streaming", streaming), ("bundle", bundle)];
        let ours = Config { batch, ..config(&set) };
        let theirs = config(&[("reliable", "on"), ("bundle", "auto")]);
        let mut source = Source::new(files());
        let (sink, ends) = transfer(&ours, &theirs, &mut source);
        let label = format!("{batch:?} {streaming} {bundle}");
        assert_whole(&sink.files, &files(), &label);
        assert_eq!(!letters(&ends.to_receiver).contains(&b'F'), bundled, "{label}");
    }
}

#[test]
fn what_a_file_is_arrives() {
    let (sink, _) = transfer(
        &config(&[("streaming", "off")]),
        &config(&[("streaming", "off")]),
        &mut Source::new(files()),
    );
    for (got, sent) in sink.files.iter().zip(files()) {
        assert_eq!((got.modified, got.mode, got.text), (sent.modified, sent.mode, sent.text));
    }
    let sizes: Vec<Option<u64>> = files().iter().map(|f| Some(f.bytes.len() as u64)).collect();
    assert_eq!(sink.sizes, sizes);
}

/// Forty files need no more than a round trip each way beyond what the line takes.
#[test]
fn files_share_packets() {
    let set = config(&[("streaming", "off")]);
    let (_, ends) = transfer(&set, &set, &mut Source::new(files()));
    let runs = |file: &File| file.name == b"zeros" || file.name == b"runs";
    let bytes: usize = files().iter().filter(|file| !runs(file)).map(|f| f.bytes.len()).sum();
    let spent = ends.to_receiver.len() - bytes;
    // Names, sizes, times, digests: 40 bytes each; the line ends of the text; 3 % for the code; runs.
    assert!(
        spent < 45 * files().len() + 4200 + bytes / 25 + 4000,
        "{spent} bytes more than {bytes}"
    );
    println!("{spent} bytes more than {bytes}");
    let packets = String::from_utf8_lossy(&letters(&ends.to_receiver)).matches('D').count();
    assert!(packets < 100, "{packets} packets");
}

/// The two ends of one file system, seen by a sender's store: what it is told is stored must be.
struct Watched<'a> {
    source: Source,
    sink: &'a RefCell<Sink>,
}

impl Store for Watched<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if let Request::Settle { complete: true, .. } | Request::Close { complete: true, .. } =
            request
        {
            let stored = &self.sink.borrow().files[self.source.closed.len()];
            assert!(stored.complete, "a file that is done is closed at the receiver");
        }
        self.source.answer(request)
    }
}

struct Shared<'a>(&'a RefCell<Sink>);

impl Store for Shared<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match self.0.borrow_mut().answer(request) {
            Reply::Accept { offset } => Reply::Accept { offset },
            Reply::Refuse(why) => Reply::Refuse(why),
            Reply::Digest(digest) => Reply::Digest(digest),
            Reply::Done => Reply::Done,
            Reply::Unpacked { used, made, over } => Reply::Unpacked { used, made, over },
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

#[test]
fn nothing_is_done_before_the_receiver_has_closed_it() {
    for (alone, compress) in [(false, "off"), (true, "off"), (false, "on"), (true, "on")] {
        let set =
            config(&[("streaming", "off"), ("receive-length", "700"), ("compress", compress)]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let sink = RefCell::new(Sink::new());
        let source = Source { one_at_a_time: alone, ..Source::new(files()) };
        let mut watched = Watched { source, sink: &sink };
        let ends = Pair::new(&mut s, &mut r, &mut watched, &mut Shared(&sink)).run();
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
        assert!(watched.source.closed.iter().all(|(complete, _)| *complete));
        assert_whole(&sink.borrow().files, &files(), "watched");
        assert_eq!(s.stats().files_done, files().len() as u64);
        assert_eq!(r.stats().files_done, files().len() as u64);
    }
}

#[test]
fn refusals_and_parts_are_taken_in_stride() {
    for (window, digest) in [("1", "on"), ("2", "on"), ("31", "on"), ("31", "off")] {
        for (length, compress) in [
            ("60", "off"),
            ("700", "off"),
            ("9024", "off"),
            ("60", "on"),
            ("700", "on"),
            ("9024", "on"),
        ] {
            let set = config(&[
                ("streaming", "off"),
                ("window", window),
                ("receive-length", length),
                ("digest", digest),
                ("compress", compress),
            ]);
            let (mut s, mut r) = (sender(&set), receiver(&set));
            let all: Vec<File> =
                files().into_iter().map(|file| File { resume: true, ..file }).collect();
            let whole = random(60_000, 5);
            let mut source = Source::new(all.clone());
            // A text that is continued cannot be compared, which digests would demand.
            let texts = digest == "off";
            let choose = |info: &FileInfo<'_>, sink: &mut Sink| {
                sink.partial = match info.name {
                    b"long.bin" => whole[..33_333].to_vec(),
                    b"file-0020.x" => random(20 * 37, 20)[..100].to_vec(),
                    b"many.txt" if texts => b"word\n".repeat(1000),
                    _ => Vec::new(),
                };
                info.name.ends_with(b"7.x").then_some(Refusal::Exists)
            };
            let mut picky = Picky { inner: Sink::new(), choose };
            let ends = Pair::new(&mut s, &mut r, &mut source, &mut picky).run();
            let label = format!("window {window} length {length} {:?}", ends.events);
            assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{label}");
            let wanted: Vec<File> =
                files().into_iter().filter(|file| !file.name.ends_with(b"7.x")).collect();
            assert_whole(&picky.inner.files, &wanted, &label);
            for (closed, file) in source.closed.iter().zip(&all) {
                assert_eq!(closed.0, !file.name.ends_with(b"7.x"), "{label}");
            }
            let told =
                |what: &str| ends.events.iter().filter(|event| event.starts_with(what)).count();
            assert_eq!((told("s refused"), told("r refused")), (4, 4), "{label}");
            assert_eq!(told("s done"), files().len() - 4, "{label}");
            if length == "9024" && window == "31" {
                assert!(ends.to_receiver.len() < 140_000, "{}", ends.to_receiver.len());
            }
        }
    }
}

#[test]
fn doors_in_any_order_and_any_chunking() {
    for seed in 0..80 {
        let mut dice = Dice(seed);
        let set = config(&[
            ("window", ["1", "3", "31"][dice.roll(3)]),
            ("streaming", "off"),
            ("receive-length", ["60", "700", "9024"][dice.roll(3)]),
            ("buffer", ["4096", "8192"][dice.roll(2)]),
            ("prefixing", ["auto", "all", "minimal", "none"][dice.roll(4)]),
            ("compress", ["on", "off"][dice.roll(2)]),
        ]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        common::any_order(&mut s, &mut r, &files(), dice, &format!("seed {seed}"));
    }
}

#[test]
fn cancels_at_any_moment() {
    for by_sender in [true, false] {
        for command in [Command::CancelFile, Command::CancelBatch, Command::Abort] {
            for when in 0..60u32 {
                let compress = if when % 2 == 0 { "on" } else { "off" };
                let set = config(&[
                    ("streaming", "off"),
                    ("receive-length", "300"),
                    ("compress", compress),
                ]);
                let (mut s, mut r) = (sender(&set), receiver(&set));
                let (mut source, mut sink) = (Source::new(files()), Sink::new());
                let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
                pair.chunk = 200;
                let mut turns = 0;
                pair.steer = Box::new(move |is_sender, _| {
                    turns += u32::from(is_sender == by_sender);
                    (is_sender == by_sender && turns == when * 11 + 1).then_some(command)
                });
                let ends = pair.run();
                let (a, b) = (ends.sender, ends.receiver);
                let label = format!("sender={by_sender} {command:?} at {when}: {a:?} {b:?}");
                assert_eq!(a == Outcome::Done, b == Outcome::Done, "{label}");
                let sent = files();
                for (at, file) in sink.files.iter().enumerate() {
                    let want = sent.iter().find(|want| want.name == file.name).unwrap();
                    assert!(!file.complete || file.bytes == want.bytes, "{label}");
                    // What the sender's store believes is so.
                    let closed = source.closed.get(at).is_some_and(|closed| closed.0);
                    assert!(!closed || file.complete, "{label} {at}");
                }
                if command == Command::CancelFile && a == Outcome::Done {
                    let whole = sink.files.iter().filter(|file| file.complete).count();
                    assert!(whole + 1 >= sent.len(), "{label}: the others arrive");
                }
            }
        }
    }
}

/// Each code that an alphabet leaves out, and no other, is absent from what is sent.
#[test]
fn codes_that_are_left_out_never_stand_on_the_line() {
    for (prefixing, letter, absent) in [
        ("all", b'A', (0..32).chain(127..160).chain([255]).collect::<Vec<u8>>()),
        ("minimal", b'M', vec![0, 4, 10, 17, 19, 21, 129, 132, 138, 141, 145, 147, 149, 255]),
        ("none", b'S', vec![0, 129, 255]),
    ] {
        assert!(alphabet(letter).is_some());
        let set = config(&[("streaming", "off"), ("prefixing", prefixing)]);
        let (sink, ends) = transfer(&set, &set, &mut Source::new(files()));
        assert_whole(&sink.files, &files(), prefixing);
        for code in absent {
            let count = ends.to_receiver.split(|byte| *byte == code).count() - 1;
            // MARK and CR frame packets.
            assert!(count == 0 || matches!(code, 1 | 13), "{prefixing}: {code}, {count} times");
        }
    }
}

/// A release without a list of capabilities, or with others, is understood, and understands.
#[test]
fn other_lists_of_capabilities() {
    let ours = config(&[]).params(wetstring_proto::FileKind::Binary);
    let mut out = [0; 40];
    let len = ours.emit(&mut out, 40);
    assert_eq!(Params::parse(&out[..len]), ours);
    let mut old = ours;
    old.capabilities = wetstring_proto::kermit::capability::Capabilities::NONE;
    let len = old.emit(&mut out, 40);
    assert_eq!((len, Params::parse(&out[..len])), (27, old));
    let answer = wetstring_proto::kermit::params::answer(ours, &old, false);
    assert_eq!(answer.capabilities, old.capabilities);
}

/// Of a release that compresses bundles only, nothing that streams is compressed.
#[test]
fn an_older_version_of_compression() {
    use wetstring_proto::kermit::capability::{BUNDLE, COMPRESS};
    let able = Config { compressor: true, ..config(&[("streaming", "on"), ("compress", "auto")]) };
    let ours = able.params(wetstring_proto::FileKind::Binary);
    let mut old = ours;
    old.capabilities = old.capabilities.limit(COMPRESS, 1);
    for (theirs, compresses) in [(ours, true), (old, false)] {
        // A sender that would rather stream lists the first version of bundles.
        let theirs = Params { capabilities: theirs.capabilities.limit(BUNDLE, 1), ..theirs };
        let agreed = wetstring_proto::kermit::params::agree(&ours, &theirs, true, false);
        assert!(agreed.streaming && !agreed.bundle);
        assert_eq!(agreed.compress, compresses);
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// The rows of this kind in the file of vectors.
fn vectors(kind: &str) -> Vec<(u8, Vec<u8>, Vec<u8>)> {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/kermit/bundle.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [found, letter, first, second] = fields[..] else { return None };
        (found == kind).then(|| (letter.as_bytes()[0], unhex(first), unhex(second)))
    });
    rows.collect()
}

#[test]
fn digits_are_those_of_another_program() {
    let rows = vectors("digits");
    assert_eq!(rows.len(), 42);
    for (letter, bytes, digits) in rows {
        let alphabet = alphabet(letter).unwrap();
        let (mut made, mut back) = (Vec::new(), Vec::new());
        for block in bytes.chunks(alphabet.block_len()) {
            let mut out = vec![0; block.len() + 1];
            alphabet.encode(block, &mut out);
            let mut bytes = vec![0; block.len()];
            assert!(alphabet.decode(&out, &mut bytes));
            made.extend(out);
            back.extend(bytes);
        }
        assert_eq!(made, digits, "{}", char::from(letter));
        assert_eq!(back, bytes);
    }
}

/// Acknowledgements may be lost: the next one is one of the packets before it, too.
#[test]
fn lost_acknowledgements_cost_nothing() {
    let set = config(&[("streaming", "off"), ("reliable", "off"), ("receive-length", "94")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("f", &random(8000, 1))]);
    let mut sink = Sink::new();
    let mut lost = 0_u32;
    let ends = {
        let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
        let mut heard = 0;
        let lost = &mut lost;
        pair.meddle = Box::new(move |from_sender, wire| {
            heard += usize::from(from_sender) * wire.len();
            if from_sender || !(1500..6000).contains(&heard) {
                return;
            }
            // Every third.
            let mut count = 0_u32;
            *wire = wire
                .split_inclusive(|byte| *byte == b'\r')
                .filter(|_| {
                    count += 1;
                    count % 3 != 1
                })
                .flatten()
                .copied()
                .collect();
            *lost += count.div_ceil(3);
        });
        pair.run()
    };
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    assert!(lost > 10, "{lost}");
    assert_eq!(s.stats().retransmissions, 0);
    assert_eq!(source.closed, [(true, true)]);
}

/// The end is sent without waiting for answers; those that get lost are repeated after it.
#[test]
fn the_end_waits_for_no_answer() {
    for lost in 0..6 {
        let set = config(&[("streaming", "off"), ("reliable", "off"), ("receive-length", "94")]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let mut source = Source::new(files());
        let mut sink = Sink::new();
        let mut missing = None;
        let ends = {
            let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
            let missing = &mut missing;
            let (mut asked, mut dropped) = (0_i64, 0);
            pair.meddle = Box::new(move |from_sender, wire| {
                for kind in letters(wire) {
                    match (from_sender, kind) {
                        (true, b'B') => *missing = missing.or(Some(asked)),
                        (true, _) => asked += 1,
                        (false, _) => asked -= 1,
                    }
                }
                if !from_sender && missing.is_some() && dropped < lost && !wire.is_empty() {
                    dropped += 1;
                    wire.clear();
                }
            });
            pair.run()
        };
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{lost}");
        assert!(missing > Some(0), "{missing:?}");
        assert!(source.closed.iter().all(|closed| closed.0), "{lost}");
    }
}

/// A receiver that has stored everything leaves, and its answer to B may be lost: the sender repeats B a few times, and not
/// as often as a packet of which something depends.
#[test]
fn a_lost_answer_to_the_end_is_not_awaited_for_long() {
    let set = config(&[("streaming", "off"), ("reliable", "off"), ("receive-length", "94")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(files());
    let mut sink = Sink::new();
    let mut asked = 0;
    let ends = {
        let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
        let asked = &mut asked;
        let mut end = None;
        pair.meddle = Box::new(move |from_sender, wire| {
            let packets = wire.split(|byte| *byte == 1).filter(|packet| packet.len() > 2);
            if from_sender {
                for packet in packets.filter(|packet| packet[2] == b'B') {
                    end = Some(packet[1]);
                    *asked += 1;
                }
            } else if packets.clone().any(|packet| Some(packet[1]) == end) {
                let kept: Vec<u8> = packets
                    .filter(|packet| Some(packet[1]) != end)
                    .flat_map(|packet| [&[1], packet].concat())
                    .collect();
                *wire = kept;
            }
        });
        pair.run()
    };
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    assert!((2..=5).contains(&asked), "{asked}");
    assert!(source.closed.iter().all(|closed| closed.0));
}

/// Refuses every file.
struct Refusing(Sink);

impl Store for Refusing {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { .. } => Reply::Refuse(Refusal::Exists),
            request => self.0.answer(request),
        }
    }
}

/// The number of a file looks like what else an acknowledgement may begin with.
#[test]
fn a_refusal_is_understood_whatever_the_number_of_its_file_is() {
    let set = config(&[("streaming", "off"), ("receive-length", "94")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let all = (0..100).map(|index| File::new(&format!("file-{index}"), &random(70, index)));
    let mut source = Source::new(all.collect());
    let mut refusing = Refusing(Sink::new());
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut refusing).run();
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    assert_eq!(source.closed.len(), 100);
    assert!(source.closed.iter().all(|closed| !closed.0), "{:?}", source.closed);
}

/// What a sender offers by itself: several short files.
#[test]
fn auto_is_for_several_short_files() {
    let cases = [(0, 0, false), (1, 10, false), (2, 2000, true), (3, 900_000, false)];
    for (files, bytes, wanted) in cases {
        let theirs = config(&[("streaming", "off"), ("bundle", "auto")]);
        let ours = Config { batch: Left { files, bytes }, ..theirs.clone() };
        let mut source = Source::new(vec![File::new("a", b"a"), File::new("b", b"b")]);
        let (sink, ends) = transfer(&ours, &theirs, &mut source);
        assert_eq!(sink.files.len(), 2);
        let bundled = !letters(&ends.to_receiver).contains(&b'F');
        assert_eq!(bundled, wanted, "{files} files of {bytes} bytes");
    }
}
