//! Sender against receiver over a perfect pipe: every variant, every setting, every awkward length.

use crate::common;

use common::{Dice, Ends, File, Pair, Sink, Source, failed, random};
use wetstring_proto::settings::{Range, Settings};
use wetstring_proto::xymodem::Config;
use wetstring_proto::{
    Blame, Command, Duration, Engine, FailureKind, Instant, Outcome, Refusal, Status, Store,
};
use wetstring_testkit::Edges;

const VARIANTS: [&str; 5] = ["xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g"];

common::protocol!(xymodem, Config { buffer_len: 4096, ..Config::default() });

fn transfer(ours: &Config, theirs: &Config, files: &[File]) -> (Vec<File>, Ends) {
    let (mut s, mut r) = (sender(ours), receiver(theirs));
    let (mut source, mut sink) = (Source::new(files.to_vec()), Sink::new());
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    (sink.files, ends)
}

fn is_batch(variant: &str) -> bool {
    variant.starts_with('y')
}

/// What a receiver without the length ends up with.
fn padded(bytes: &[u8]) -> impl Fn(&[u8]) -> bool {
    move |got| {
        let (file, rest) = got.split_at(bytes.len().min(got.len()));
        file == bytes && rest.iter().all(|byte| *byte == 0x1a) && rest.len() < 1024
    }
}

fn assert_arrived(variant: &str, got: &[File], want: &[File], label: &str) {
    assert_eq!(got.len(), want.len(), "{label}: number of files");
    for (got, want) in got.iter().zip(want) {
        assert!(got.complete && !got.verified, "{label}");
        if is_batch(variant) {
            assert_eq!(got.name, want.name, "{label}");
            assert_eq!((got.modified, got.mode), (want.modified, want.mode), "{label}");
            assert!(got.bytes == want.bytes, "{label}: {} bytes", got.bytes.len());
        } else {
            assert!(got.name.is_empty(), "{label}");
            assert!(padded(&want.bytes)(&got.bytes), "{label}: {} bytes", got.bytes.len());
        }
    }
}

const DONE: (Outcome, Outcome) = (Outcome::Done, Outcome::Done);

#[test]
fn every_variant_and_length() {
    for variant in VARIANTS {
        let config = config(&[("variant", variant)]);
        for len in [0, 1, 127, 128, 129, 896, 897, 1023, 1024, 1025, 2048, 33_000, 300_000] {
            let file = File {
                modified: Some(1_790_000_000),
                mode: Some(0o640),
                ..File::new("a file.bin", &random(len, 3))
            };
            let label = format!("{variant} {len}");
            let (got, ends) = transfer(&config, &config, std::slice::from_ref(&file));
            assert_eq!((ends.sender, ends.receiver), DONE, "{label}");
            assert_arrived(variant, &got, &[file], &label);
            // Nothing waited for a timer but the pauses before the first answers and after EOT.
            assert!(ends.now < Instant(5_000_000_000), "{label}: {}", ends.now);
        }
    }
}

fn batch() -> Vec<File> {
    let long = "n".repeat(500);
    vec![
        File { modified: Some(500_000_000), mode: Some(0o644), ..File::new("one", &random(3, 1)) },
        File::new("empty", b""),
        File { modified: Some(1), ..File::new(&long, &random(5000, 2)) },
        File::new("dir/na\u{ef}ve name", &random(1024, 3)),
        File::new("last", &random(1, 4)),
    ]
}

#[test]
fn every_setting_alone() {
    let mut tried = 0;
    for row in Config::TABLE {
        let values: Vec<String> = match row.range {
            Range::Word(words) => words.iter().map(ToString::to_string).collect(),
            Range::Number(low, high) => {
                [low, high, u64::midpoint(low, high)].iter().map(ToString::to_string).collect()
            }
            Range::Text => Vec::new(),
        };
        let name = row.name.strip_prefix("xymodem.").unwrap();
        for value in values {
            for variant in VARIANTS {
                if name == "variant" {
                    continue;
                }
                let set = config(&[("variant", variant), (name, &value)]);
                let plain = config(&[("variant", variant)]);
                let mut files = batch();
                if !is_batch(variant) {
                    files = files.split_off(2);
                    files.truncate(1);
                }
                for (ours, theirs) in [(&set, &set), (&set, &plain), (&plain, &set)] {
                    let label = format!("{variant} {name}={value}");
                    if name == "pad" && value != "26" {
                        continue;
                    }
                    let (got, ends) = transfer(ours, theirs, &files);
                    assert_eq!((ends.sender, ends.receiver), DONE, "{label}");
                    assert_arrived(variant, &got, &files, &label);
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 500, "{tried}");
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
        assert!(config.set(row.name, "nonsense").is_err(), "{}", row.name);
        let Range::Number(low, high) = row.range else { continue };
        for value in [low, high] {
            config.set(row.name, &value.to_string()).unwrap();
            let mut shown = String::new();
            config.show(row.name, &mut shown).unwrap();
            assert_eq!(shown, value.to_string(), "{}", row.name);
        }
        assert!(config.set(row.name, &(high + 1).to_string()).is_err(), "{}", row.name);
    }
    assert!(Config::default().set("xymodem.nothing", "1").is_err());
}

/// Whatever the sender's variant, it obeys the receiver's request.
#[test]
fn the_receiver_chooses_the_check() {
    for (ours, theirs) in [
        ("xmodem", "xmodem-crc"),
        ("xmodem", "xmodem-1k"),
        ("xmodem-crc", "xmodem"),
        ("xmodem-1k", "xmodem"),
        ("xmodem-1k", "xmodem-crc"),
        ("ymodem-g", "ymodem"),
        ("ymodem", "ymodem-g"),
    ] {
        let file = File::new("f", &random(4000, 9));
        let (ours_set, theirs_set) = (config(&[("variant", ours)]), config(&[("variant", theirs)]));
        let (got, ends) = transfer(&ours_set, &theirs_set, std::slice::from_ref(&file));
        assert_eq!((ends.sender, ends.receiver), DONE, "{ours} {theirs}");
        assert_arrived(ours, &got, &[file], &format!("{ours} {theirs}"));
        // 128 and 1024 bytes of data, three before and one or two behind.
        let first = ends.to_receiver[0];
        let long = ours == "xmodem-1k";
        assert_eq!(first, if long { 2 } else { 1 }, "{ours} {theirs}");
    }
}

/// Blocks of 1024 bytes with a checksum, as lrzsz's `sx -k` sends them to its `rx`: if the user
/// says so, by the variant or by the length.
#[test]
fn long_blocks_with_checksums_are_sent_if_configured() {
    let theirs = config(&[("variant", "xmodem")]);
    let file = File::new("f", &random(4000, 9));
    for (variant, block, longest) in [
        ("xmodem", "auto", 132),
        ("xmodem", "1024", 1028),
        ("xmodem-1k", "auto", 1028),
        ("xmodem-1k", "128", 132),
    ] {
        let ours = config(&[("variant", variant), ("block", block)]);
        let (mut s, mut r) = (sender(&ours), receiver(&theirs));
        let (mut source, mut sink) = (Source::new(vec![file.clone()]), Sink::new());
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        let label = format!("{variant} {block}");
        assert_eq!((ends.sender, ends.receiver), DONE, "{label}");
        assert_arrived(variant, &sink.files, std::slice::from_ref(&file), &label);
        assert_eq!(s.stats().longest_packet_bytes, longest, "{label}");
        assert_eq!(r.stats().noise_bytes, 0, "{label}");
    }
}

/// YMODEM says 1024 by itself, so a receiver that asks for checksums is not taken at its word.
#[test]
fn ymodem_with_checksums_has_short_blocks() {
    for (block, longest) in [("auto", 132), ("1024", 1028)] {
        let ours = config(&[("variant", "ymodem"), ("block", block)]);
        let (mut s, mut source) = (sender(&ours), Source::new(vec![File::new("f", &[7; 2000])]));
        let mut trace = Edges::new();
        let mut cx = wetstring_proto::Cx { now: Instant(0), trace: &mut trace };
        for step in 0..400u64 {
            cx.now = Instant(step * 50_000_000);
            while let Some(request) = s.request() {
                let reply = source.answer(request);
                s.reply(&mut cx, reply);
            }
            s.tick(&mut cx);
            let len = s.transmit(&mut cx).len();
            s.transmitted(&mut cx, len);
            // NAK to begin with and after block 0, ACK to everything else.
            let asks = step == 1 || s.stats().packets_out == 1 && step % 40 == 39;
            s.receive(
                &mut cx,
                if asks {
                    &[0x15]
                } else if len > 0 {
                    &[6]
                } else {
                    &[]
                },
            );
        }
        assert_eq!(s.stats().longest_packet_bytes, longest, "{block}: {:?}", s.stats());
    }
}

#[test]
fn any_order_of_doors_and_any_chunks() {
    for seed in 0..60 {
        for variant in VARIANTS {
            let config = config(&[("variant", variant), ("buffer", "1024")]);
            let mut files = batch();
            if !is_batch(variant) {
                files = files.split_off(2);
                files.truncate(1);
            }
            let (mut s, mut r) = (sender(&config), receiver(&config));
            let mut source = Source { chunk: 1 + seed as usize * 7, ..Source::new(files.clone()) };
            let mut sink = Sink::new();
            let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
            pair.dice = Some(Dice(seed));
            pair.chunk = [1, 5, 200, 5000][seed as usize % 4];
            let ends = pair.run();
            let label = format!("{variant} seed {seed}");
            assert_eq!((ends.sender, ends.receiver), DONE, "{label}");
            assert_arrived(variant, &sink.files, &files, &label);
            assert!(!ends.to_sender.contains(&0x18), "{label}: no cancel was sent");
        }
    }
}

/// All that is sent is the same whatever the order of the doors and the size of the chunks.
#[test]
fn doors_do_not_change_what_is_sent() {
    for variant in VARIANTS {
        let config = config(&[("variant", variant)]);
        let file = File::new("f", &random(10_000, 9));
        let wire = |dice: Option<Dice>, chunk| {
            let (mut s, mut r) = (sender(&config), receiver(&config));
            let (mut source, mut sink) = (Source::new(vec![file.clone()]), Sink::new());
            let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
            pair.dice = dice;
            pair.chunk = chunk;
            let ends = pair.run();
            (ends.to_receiver, ends.to_sender)
        };
        let plain = wire(None, usize::MAX);
        for seed in 0..20 {
            let other = wire(Some(Dice(seed)), 1 + seed as usize * 30);
            assert_eq!(
                other.1.escape_ascii().to_string(),
                plain.1.escape_ascii().to_string(),
                "{variant} {seed}"
            );
            assert!(other == plain, "{variant} {seed}");
        }
    }
}

#[test]
fn padding_is_stripped_if_asked_for() {
    for (variant, len) in [("xmodem", 300), ("xmodem-crc", 256), ("xmodem-1k", 5000)] {
        let mut bytes = random(len, 5);
        *bytes.last_mut().unwrap() = b'x';
        let plain = config(&[("variant", variant)]);
        let strip = config(&[("variant", variant), ("truncate-pad", "on")]);
        let files = [File::new("f", &bytes)];
        let (got, _) = transfer(&plain, &strip, &files);
        assert_eq!(got[0].bytes, bytes, "{variant}");
        let (got, _) = transfer(&plain, &plain, &files);
        assert_eq!(got[0].bytes.len() % 128, 0, "{variant}");
        // A file that ends in what looks like padding loses it: this is why it is never the default.
        let (got, _) = transfer(&plain, &strip, &[File::new("f", &[0x1a; 200])]);
        assert_eq!(got[0].bytes.len(), 128, "only the last block is looked at");
    }
}

#[test]
fn messages_to_the_user() {
    let (_, ends) = transfer(
        &config(&[("variant", "xmodem-crc")]),
        &config(&[("variant", "xmodem-crc")]),
        &[File::new("boot.bin", &[7; 200]), File::new("second", b"x")],
    );
    let told = ends.events.join("\n");
    assert_eq!(
        told.lines().filter(|line| line.starts_with("s ")).collect::<Vec<_>>(),
        [
            "s negotiated XMODEM: CRC-16; one file; name, time and length are lost",
            "s started boot.bin at 0",
            "s done 200 verified=false",
            "s refused second Some(Kind) by_peer=false",
        ]
    );
    assert_eq!(
        told.lines().filter(|line| line.starts_with("r ")).collect::<Vec<_>>(),
        [
            "r started  at 0",
            "r negotiated XMODEM: CRC-16; one file; name, time and length are lost",
            "r done 256 verified=false",
        ]
    );
    assert_eq!((ends.sender, ends.receiver), DONE);
}

/// XMODEM's file that ends by itself is done only when EOT came twice: once may be noise.
#[test]
fn the_first_eot_is_refused_unless_the_length_agrees() {
    for (variant, first_eot, naks) in [
        ("xmodem", "auto", 1),
        ("xmodem-crc", "nak", 1),
        ("xmodem-crc", "wait", 0),
        ("ymodem", "auto", 0),
        ("ymodem", "nak", 1),
        ("ymodem", "wait", 0),
    ] {
        let set = config(&[("variant", variant), ("first-eot", first_eot)]);
        let (_, ends) = transfer(&set, &set, &[File::new("f", &[1; 1000])]);
        assert_eq!((ends.sender, ends.receiver), DONE);
        let start = usize::from(variant == "xmodem");
        let found = ends.to_sender.split(|byte| *byte == 0x15).count() - 1;
        assert_eq!(found, naks + start, "{variant} {first_eot}");
    }
}

/// Either user cancels after any number of bytes: both ends learn it, neither claims a whole file.
#[test]
fn cancel_by_either_side_at_any_moment() {
    for variant in VARIANTS {
        let set = config(&[("variant", variant)]);
        for by_sender in [true, false] {
            for at in (0..9000u64).step_by(97) {
                let (mut s, mut r) = (sender(&set), receiver(&set));
                let mut source = Source::new(vec![File::new("f", &random(6000, 1))]);
                let mut sink = Sink::new();
                let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
                pair.chunk = 64;
                let mut given = false;
                pair.steer = Box::new(|is_sender, engine| {
                    let stats = engine.stats();
                    let moved = stats.wire_out_bytes + stats.wire_in_bytes;
                    let now = !given && is_sender == by_sender && moved >= at;
                    let now = now && engine.status() == Status::Running;
                    given |= now;
                    now.then_some(if at % 2 == 0 { Command::Abort } else { Command::CancelFile })
                });
                let ends = pair.run();
                let label = format!("{variant} by_sender={by_sender} at={at}");
                if !given {
                    assert_eq!((ends.sender, ends.receiver), DONE, "{label}");
                    continue;
                }
                let (us, them) = if by_sender {
                    (ends.sender, ends.receiver)
                } else {
                    (ends.receiver, ends.sender)
                };
                assert_eq!(us, failed(Blame::Local, FailureKind::Aborted), "{label}");
                // At the very end the file was safe, and truly said to be so.
                let complete = sink.files.first().is_some_and(|file| file.complete);
                let claimed = source.closed.iter().any(|(complete, _)| *complete);
                assert!(complete || !claimed, "{label}");
                if !complete || them != Outcome::Done {
                    assert_eq!(them, failed(Blame::Peer, FailureKind::Aborted), "{label}");
                }
                assert!(!complete || ends.to_receiver.len() > 6000, "{label}");
                assert!(ends.now < Instant(6_000_000_000), "{label}: {}", ends.now);
            }
        }
    }
}

#[test]
fn a_refused_file_ends_the_transfer_on_both_sides() {
    for variant in VARIANTS {
        let set = config(&[("variant", variant)]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let mut source = Source::new(batch());
        let mut sink = Sink { refuse: Some(Refusal::Exists), ..Sink::new() };
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        assert_eq!(ends.receiver, failed(Blame::Local, FailureKind::Refused), "{variant}");
        assert_eq!(ends.sender, failed(Blame::Peer, FailureKind::Aborted), "{variant}");
        assert!(ends.events.iter().any(|e| e.starts_with("r refused")), "{:?}", ends.events);
        assert_eq!(r.stats().files_skipped, 1);
    }
}

#[test]
fn stores_that_fail_are_blamed() {
    for variant in VARIANTS {
        let set = config(&[("variant", variant)]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let mut source = Source::new(vec![File::new("f", &random(50_000, 1))]);
        let mut sink = Sink { room: Some(20_000), ..Sink::new() };
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        let no_space = FailureKind::Store(wetstring_proto::StoreError::NoSpace);
        assert_eq!(ends.receiver, failed(Blame::Store, no_space), "{variant}");
        assert_eq!(ends.sender, failed(Blame::Peer, FailureKind::Aborted), "{variant}");

        let (mut s, mut r) = (sender(&set), receiver(&set));
        let mut source = Source::new(vec![File::new("f", &random(50_000, 1))]);
        source.fail_read_at = Some(20_000);
        let mut sink = Sink::new();
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        let io = FailureKind::Store(wetstring_proto::StoreError::Io);
        assert_eq!(ends.sender, failed(Blame::Store, io), "{variant}");
        assert_eq!(ends.receiver, failed(Blame::Peer, FailureKind::Aborted), "{variant}");
        assert!(!sink.files[0].complete);
    }
}

/// A C-only receiver meets a sender that does not answer it: it falls back to checksums.
#[test]
fn fall_back_to_checksums_after_four_c() {
    let set = config(&[("variant", "xmodem-crc")]);
    let mut r = receiver(&set);
    let mut sink = Sink::new();
    let said = common_silence(&mut r, &mut sink, Duration::from_secs(60));
    let expected: Vec<(u64, u8)> =
        vec![(0, b'C'), (3, b'C'), (6, b'C'), (9, b'C'), (12, 0x15), (22, 0x15), (32, 0x15)];
    assert_eq!(said[..expected.len()], expected);
    // Never, if it is not wanted.
    let set = config(&[("variant", "xmodem-crc"), ("starts", "0")]);
    let said = common_silence(&mut receiver(&set), &mut Sink::new(), Duration::from_secs(60));
    assert!(said.iter().all(|(_, byte)| *byte == b'C'), "{said:?}");
}

/// What an engine says into silence: (second, byte).
fn common_silence(
    engine: &mut dyn Engine,
    store: &mut dyn Store,
    until: Duration,
) -> Vec<(u64, u8)> {
    let (mut now, mut said) = (Instant::ZERO, Vec::new());
    while now < Instant::ZERO + until {
        let mut trace = Edges::new();
        let cx = &mut wetstring_proto::Cx { now, trace: &mut trace };
        engine.tick(cx);
        while let Some(request) = engine.request() {
            let reply = store.answer(request);
            engine.reply(cx, reply);
        }
        let bytes = engine.transmit(cx).to_vec();
        said.extend(bytes.iter().map(|byte| (now.0 / 1_000_000_000, *byte)));
        engine.transmitted(cx, bytes.len());
        if matches!(engine.status(), Status::Over(_)) {
            break;
        }
        now = engine.deadline().unwrap_or(now + until).max(now);
    }
    said
}

#[test]
fn no_answer() {
    for variant in VARIANTS {
        let set = config(&[("variant", variant)]);
        let mut r = receiver(&set);
        let said = common_silence(&mut r, &mut Sink::new(), Duration::from_secs(1000));
        assert_eq!(r.status(), Status::Over(failed(Blame::Peer, FailureKind::Silence)));
        assert!(said.last().unwrap().0 <= 130, "{variant}: {said:?}");
        assert_eq!(said[said.len() - 16..][0].1, 0x18, "{variant}: the peer is told");
        let mut s = sender(&set);
        let mut source = Source::new(vec![File::new("f", b"x")]);
        common_silence(&mut s, &mut source, Duration::from_secs(1000));
        assert_eq!(s.status(), Status::Over(failed(Blame::Peer, FailureKind::Silence)));
        assert_eq!(source.closed, [(false, false)], "{variant}");
    }
}
