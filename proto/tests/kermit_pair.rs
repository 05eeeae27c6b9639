//! Sender against receiver over a perfect pipe, under every setting that they may agree on.

use crate::common;

use common::{Dice, Ends, File, Pair, Sink, Source, assert_whole, random};
use wetstring_proto::kermit::frame::Parity;
use wetstring_proto::kermit::{Config, Sender, Switch, Zone};
use wetstring_proto::{Command, Engine, Failure, FailureKind, Outcome, Refusal};

common::protocol!(kermit, Config { buffer_len: 8192, ..Config::default() });

/// Every byte value at every run length that the repeat count treats differently.
fn runs() -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in 0..=255u8 {
        for run in [1, 2, 3, 4, 93, 94, 95, 188, 189] {
            bytes.extend(std::iter::repeat_n(value, run));
            bytes.push(value.wrapping_add(1));
        }
    }
    bytes
}

fn files() -> Vec<File> {
    vec![
        File { modified: Some(1_790_000_000), mode: Some(0o640), ..File::new("runs.bin", &runs()) },
        File::new("empty", b""),
        File::new("one", b"#"),
        File::new("random.bin", &random(40_000, 7)),
        File { text: true, ..File::new("lines.txt", b"one\ntwo\n\nlast line without end") },
    ]
}

fn transfer(ours: &Config, theirs: &Config) -> (Vec<File>, Ends) {
    let (mut s, mut r) = (sender(ours), receiver(theirs));
    let (mut source, mut sink) = (Source::new(files()), Sink::new());
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    (sink.files, ends)
}

#[test]
fn every_setting_alone() {
    let alternatives: &[(&str, &[&str])] = &[
        ("window", &["1", "2", "10", "31"]),
        ("receive-length", &["94", "95", "96", "100", "500", "1000", "9024"]),
        ("send-length", &["40", "94", "1000"]),
        ("check", &["1", "2", "3", "B", "5"]),
        ("prefixing", &["all", "cautious", "minimal", "none"]),
        ("parity", &["none", "even", "odd", "mark", "space"]),
        ("repeat", &["off"]),
        ("attributes", &["off"]),
        ("streaming", &["off", "on"]),
        ("clear-channel", &["on"]),
        ("locking-shift", &["off"]),
        ("digest", &["off"]),
        ("bundle", &["on"]),
        ("by-length", &["off"]),
        ("adapt-length", &["off"]),
        ("padding", &["3"]),
        ("init-length", &["1", "9", "10", "13", "22"]),
        ("handshake", &["17"]),
        ("reliable", &["on", "off"]),
    ];
    for (name, values) in alternatives {
        for value in *values {
            for both in [true, false] {
                if !both && matches!(*name, "parity" | "handshake") {
                    continue;
                }
                for streaming in ["auto", "off"] {
                    let set = config(&[("streaming", streaming), (name, value)]);
                    let label = format!("{name}={value} both={both} streaming={streaming}");
                    let plain = config(&[]);
                    let (got, ends) = transfer(&set, if both { &set } else { &plain });
                    assert_eq!(ends.sender, Outcome::Done, "{label}: {:?}", ends.events);
                    assert_eq!(ends.receiver, Outcome::Done, "{label}");
                    let mut got = got;
                    if *name == "attributes" || *name == "init-length" {
                        // Without attributes the receiver cannot know that the last file is text.
                        if let Some(file) = got.last_mut() {
                            file.bytes.clone_from(&files()[4].bytes);
                        }
                    }
                    assert_whole(&got, &files(), &label);
                }
            }
        }
    }
}

#[test]
fn attributes_arrive() {
    let (got, _) = transfer(&config(&[]), &config(&[]));
    assert_eq!(got[0].modified, Some(1_790_000_000));
    assert_eq!(got[0].mode, Some(0o640));
    assert!(got[0].verified && !got[0].text);
    assert!(got[4].text && !got[4].verified);
}

#[test]
fn dates_travel_as_local_time() {
    // The sender's zone is not told: a date is what its clock on the wall showed.
    let zoned = |zone| Config { zone: Zone(zone), ..config(&[]) };
    let (got, _) = transfer(&zoned(|_| -5 * 3600), &zoned(|_| 2 * 3600));
    assert_eq!(got[0].modified, Some(1_790_000_000 - 7 * 3600));
    // In one zone a date stays, whatever the season: this one has an offset of its own.
    let season = |utc| if utc < 1_780_000_000 { 3600 } else { 7200 };
    let (got, _) = transfer(&zoned(season), &zoned(season));
    assert_eq!(got[0].modified, Some(1_790_000_000));
}

#[test]
fn parity_is_sensed_by_the_receiver() {
    for parity in ["even", "odd", "mark", "space"] {
        let (got, ends) = transfer(&config(&[("parity", parity)]), &config(&[]));
        assert_eq!(ends.receiver, Outcome::Done, "{parity}");
        assert_whole(&got, &files(), parity);
    }
}

#[test]
fn forced_locking_shifts() {
    let set = config(&[("locking-shift", "forced"), ("parity", "even"), ("streaming", "off")]);
    let (got, ends) = transfer(&set, &set);
    assert_eq!(ends.receiver, Outcome::Done);
    assert_whole(&got, &files(), "forced");
}

#[test]
fn streaming_on_a_clear_channel_costs_little() {
    let mut set = config(&[("reliable", "on"), ("clear-channel", "on")]);
    set.buffer_len = 128 * 1024;
    let bytes = random(1 << 20, 11);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("r", &bytes)]);
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    assert!(sink.files[0].bytes == bytes);
    let excess = ends.to_receiver.len() - bytes.len();
    assert!(excess * 1000 <= bytes.len() * 15, "{excess} bytes over the file's size");
}

#[test]
fn doors_in_any_order_and_any_chunking() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let windows = ["1", "3", "31"];
        let set = config(&[
            ("window", windows[dice.roll(3)]),
            ("streaming", ["on", "off"][dice.roll(2)]),
            ("receive-length", ["94", "700", "9024"][dice.roll(3)]),
            ("parity", ["none", "even"][dice.roll(2)]),
        ]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        common::any_order(&mut s, &mut r, &files(), dice, &format!("seed {seed}"));
    }
}

fn resume(partial: &[u8], whole: &[u8], settings: &[(&str, &str)]) -> (Vec<File>, Ends) {
    let set = config(settings);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File { resume: true, ..File::new("big", whole) }]);
    let mut sink = Sink { partial: partial.into(), ..Sink::new() };
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    (sink.files, ends)
}

#[test]
fn resume_continues_where_the_receiver_is() {
    let whole = random(30_000, 3);
    for have in [0, 1, 12_345, 29_999, 30_000] {
        for streaming in ["on", "off"] {
            let (got, ends) = resume(&whole[..have], &whole, &[("streaming", streaming)]);
            assert_eq!(ends.sender, Outcome::Done, "{have} {:?}", ends.events);
            assert!(got[0].bytes == whole && got[0].complete && got[0].verified, "{have}");
        }
    }
}

#[test]
fn resume_finds_that_the_start_was_another_file() {
    let whole = random(30_000, 3);
    let (got, ends) = resume(&random(10_000, 4), &whole, &[]);
    assert!(!got[0].complete);
    let why = |outcome| {
        matches!(outcome, Outcome::Failed(Failure { kind: FailureKind::DigestDiffers, .. }))
    };
    assert!(why(ends.receiver), "{:?}", ends.receiver);
    // Both know what it was, not only that the other complains.
    assert!(why(ends.sender), "{:?}", ends.sender);
}

#[test]
fn resume_with_a_longer_file_at_the_receiver_is_refused() {
    let whole = random(3_000, 3);
    let (got, ends) = resume(&random(4_000, 3), &whole, &[]);
    assert_eq!(ends.sender, Outcome::Done);
    assert!(!got[0].complete);
    assert!(ends.events.iter().any(|e| e == "s refused big Some(Resume) by_peer=false"));
}

#[test]
fn refusals_skip_the_file() {
    for attributes in ["on", "off"] {
        for streaming in ["on", "off"] {
            let set = config(&[("attributes", attributes), ("streaming", streaming)]);
            let (mut s, mut r) = (sender(&set), receiver(&set));
            let mut source = Source::new(files());
            let mut sink = Sink { refuse: Some(Refusal::Exists), ..Sink::new() };
            let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
            assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
            assert!(sink.files.is_empty());
            let refused = ends.events.iter().filter(|e| e.starts_with("r refused")).count();
            assert_eq!(refused, 5, "{:?}", ends.events);
            assert_eq!(r.stats().files_skipped, 5);
            if attributes == "on" {
                assert_eq!(s.stats().files_skipped, 5);
                assert!(source.closed.iter().all(|closed| *closed == (false, false)));
            }
        }
    }
}

#[test]
pub(crate) fn cancel_by_either_side_at_any_moment() {
    for streaming in ["on", "off"] {
        for by_sender in [true, false] {
            for command in [Command::CancelFile, Command::CancelBatch, Command::Abort] {
                for when in 0..40u32 {
                    let set = config(&[("streaming", streaming), ("receive-length", "300")]);
                    let (mut s, mut r) = (sender(&set), receiver(&set));
                    let (mut source, mut sink) = (Source::new(files()), Sink::new());
                    let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
                    pair.chunk = 200;
                    let mut turns = 0;
                    pair.steer = Box::new(move |is_sender, _| {
                        turns += u32::from(is_sender == by_sender);
                        (is_sender == by_sender && turns == when * 3 + 1).then_some(command)
                    });
                    let ends = pair.run();
                    let label =
                        format!("{streaming} sender={by_sender} {command:?} at {when}: {ends:?}");
                    check_cancel(&label, command, by_sender, &ends, &sink.files);
                }
            }
        }
    }
}

fn check_cancel(label: &str, command: Command, by_sender: bool, ends: &Ends, got: &[File]) {
    let label = &label[..label.len().min(600)];
    for file in got.iter().filter(|file| file.complete) {
        let want = files().into_iter().find(|want| want.name == file.name).unwrap();
        assert!(file.bytes == want.bytes, "{label}: a complete file is whole");
    }
    let (own, other) =
        if by_sender { (ends.sender, ends.receiver) } else { (ends.receiver, ends.sender) };
    let failed =
        |outcome, kind| matches!(outcome, Outcome::Failed(f) if Failure { kind, ..f } == f);
    if own == Outcome::Done {
        assert_eq!(other, Outcome::Done, "{label}");
        assert_ne!(command, Command::Abort, "{label}");
    } else {
        assert!(failed(own, FailureKind::Aborted), "{label}");
        assert!(
            failed(other, FailureKind::PeerError) || failed(other, FailureKind::Silence),
            "{label}"
        );
    }
    if command == Command::CancelFile && own == Outcome::Done {
        assert!(got.iter().filter(|f| f.complete).count() >= 4, "{label}: the others arrive");
    }
}

#[test]
fn a_full_store_ends_both_with_a_reason() {
    for streaming in ["on", "off"] {
        let set = config(&[("streaming", streaming)]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let (mut source, mut sink) =
            (Source::new(files()), Sink { room: Some(50_000), ..Sink::new() });
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        assert!(matches!(
            ends.receiver,
            Outcome::Failed(Failure { kind: FailureKind::Store(_), .. })
        ));
        assert!(matches!(
            ends.sender,
            Outcome::Failed(Failure { kind: FailureKind::PeerError, .. })
        ));
        assert!(ends.events.iter().any(|e| e == "s message no space left in the store"));
        assert!(!sink.files[0].complete);
    }
}

#[test]
fn a_store_that_cannot_read_ends_both() {
    let set = config(&[]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source { fail_read_at: Some(20_000), ..Source::new(files()) };
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    assert!(matches!(ends.sender, Outcome::Failed(Failure { kind: FailureKind::Store(_), .. })));
    assert!(matches!(ends.receiver, Outcome::Failed(Failure { kind: FailureKind::PeerError, .. })));
}

#[test]
fn corrupting_store_is_detected() {
    let set = config(&[]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut sink = Sink { corrupt: true, ..Sink::new() };
    let mut source = Source::new(files());
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    let why = |outcome| {
        matches!(outcome, Outcome::Failed(Failure { kind: FailureKind::DigestDiffers, .. }))
    };
    assert!(why(ends.receiver));
    assert_ne!(ends.sender, Outcome::Done);
    assert!(!sink.files[0].complete);
}

#[test]
fn too_little_memory_is_reported() {
    let config = Config::default();
    let needed = config.sender_memory();
    let error = Sender::new(config, vec![0; needed - 1]).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("expected at least {needed} bytes of memory, got {}", needed - 1)
    );
}

#[test]
fn converted_names_are_plain_on_the_wire_and_lower_case_here() {
    let set = config(&[("names", "converted")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("My.Long Name.txt", b"x")]);
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    assert_eq!(sink.files[0].name, b"my_long_name.txt");
    let wire = String::from_utf8_lossy(&ends.to_receiver).into_owned();
    assert!(wire.contains("FMY_LONG_NAME.TXT"), "{wire}");
}

/// A configured parity means a serial line, which has errors; a peer that streams cannot retransmit.
#[test]
fn streaming_is_not_offered_where_a_parity_was_set() {
    for (parity, offered) in [(None, true), (Some(Parity::None), true), (Some(Parity::Even), false)]
    {
        let mut config = Config { parity, ..Config::default() };
        assert_eq!(config.offers_streaming(), offered, "{parity:?}");
        // Where the line is known, that counts; and who asks for it gets it.
        config.line.reliable = Some(true);
        assert!(config.offers_streaming());
        config.line.reliable = Some(false);
        assert!(!config.offers_streaming());
        config.streaming = Switch::On;
        assert!(config.offers_streaming());
    }
}
