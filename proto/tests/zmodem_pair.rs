//! Sender against receiver over a perfect pipe, under every setting that they may agree on.

use crate::common;

use common::{Dice, Ends, File, Pair, Sink, Source, assert_whole, random};
use wetstring_proto::zmodem::{Config, Sender};
use wetstring_proto::{Command, Engine, Failure, FailureKind, Outcome, Refusal};

common::protocol!(zmodem, Config { buffer_len: 8192, ..Config::default() });

/// Every byte value after every other, and runs.
fn all_pairs() -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in 0..=255u8 {
        bytes.extend((0..=255u8).flat_map(|other| [value, other]));
        bytes.extend(std::iter::repeat_n(value, 300));
    }
    bytes
}

fn files() -> Vec<File> {
    vec![
        File {
            modified: Some(1_790_000_000),
            mode: Some(0o640),
            ..File::new("a.bin", &random(700, 3))
        },
        File::new("empty", b""),
        File::new("one", b"\x18"),
        File::new("random.bin", &random(40_000, 7)),
        File::new("pairs.bin", &all_pairs()),
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
        ("escape", &["normal", "controls", "turbo", "zdle"]),
        ("send-length", &["0", "32", "33", "512", "1024", "8192"]),
        ("receive-length", &["1024", "2000"]),
        ("crc32", &["off"]),
        ("window", &["1", "1000", "4096", "100000"]),
        ("receive-buffer", &["1", "700", "1024", "65535"]),
        ("rle", &["on"]),
        ("variable-headers", &["on"]),
        ("conversion", &["unsaid"]),
        ("wish", &["newer", "overwrite", "rename"]),
        ("skip-if-absent", &["on"]),
        ("autostart", &["off"]),
        ("challenge", &["3735928559"]),
        ("adapt-length", &["off"]),
        ("buffer", &["1024", "100000"]),
    ];
    for (name, values) in alternatives {
        for value in *values {
            for ends in ["both", "sender", "receiver"] {
                if ends != "both" && (*name, *value) == ("escape", "zdle") {
                    continue;
                }
                let set = config(&[(name, value)]);
                let label = format!("{name}={value} {ends}");
                let plain = config(&[]);
                let ours = if ends == "receiver" { &plain } else { &set };
                let theirs = if ends == "sender" { &plain } else { &set };
                let (got, ends) = transfer(ours, theirs);
                assert_eq!(ends.sender, Outcome::Done, "{label}: {:?}", ends.events);
                assert_eq!(ends.receiver, Outcome::Done, "{label}: {:?}", ends.events);
                assert_whole(&got, &files(), &label);
            }
        }
    }
}

#[test]
fn facts_and_wishes_arrive() {
    let (got, ends) =
        transfer(&config(&[("wish", "newer"), ("skip-if-absent", "on")]), &config(&[]));
    assert_eq!(got[0].modified, Some(1_790_000_000));
    assert_eq!(got[0].mode, Some(0o640));
    assert!(got[5].text && !got[0].text);
    assert_eq!(ends.events.iter().filter(|e| e.starts_with("r done")).count(), 6);
}

#[test]
fn line_ends_become_the_local_ones() {
    let cases: &[(&[u8], &[u8])] = &[
        (b"a\r\nb\r\n", b"a\nb\n"),
        (b"\r\r\n\n\r", b"\r\n\n\r"),
        (b"\r\n", b"\n"),
        (b"\r", b"\r"),
    ];
    for length in ["32", "1024"] {
        for (sent, want) in cases {
            // Line ends on the borders of subpackets too.
            for before in [0, 31, 32] {
                let bytes = [&vec![b'x'; before][..], sent].concat();
                let want = [&vec![b'x'; before][..], want].concat();
                let set = config(&[("send-length", length)]);
                let (mut s, mut r) = (sender(&set), receiver(&set));
                let file = File { text: true, ..File::new("t", &bytes) };
                let (mut source, mut sink) = (Source::new(vec![file]), Sink::new());
                let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
                assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
                assert_eq!(sink.files[0].bytes, want, "{sent:?} at {before} in {length}");
            }
        }
    }
}

/// What the receiver's user says beats the sender's ZCNL.
#[test]
fn receiver_may_keep_text_unconverted() {
    let bytes = b"one\r\ntwo\n\x1athree\r";
    let (ours, theirs) = (config(&[]), config(&[("receive-binary", "on")]));
    let (mut s, mut r) = (sender(&ours), receiver(&theirs));
    let mut source = Source::new(vec![File { text: true, ..File::new("t", bytes) }]);
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    assert_eq!((&sink.files[0].bytes[..], sink.files[0].text), (&bytes[..], false));
}

#[test]
fn streaming_costs_what_escapes_and_checks_cost() {
    let set = Config { buffer_len: 128 * 1024, ..config(&[]) };
    let bytes = random(1 << 20, 11);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("r", &bytes)]);
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    assert!(sink.files[0].bytes == bytes);
    let excess = ends.to_receiver.len() - bytes.len();
    // Seven codes of 256 are escaped: 2.73 %.
    assert!(excess * 1000 <= bytes.len() * 29, "{excess} bytes over the file's size");
    assert_eq!(s.stats().retransmissions, 0);
}

#[test]
fn doors_in_any_order_and_any_chunking() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let set = config(&[
            ("window", ["0", "0", "3000"][dice.roll(3)]),
            ("send-length", ["0", "100", "1024"][dice.roll(3)]),
            ("receive-buffer", ["0", "0", "900"][dice.roll(3)]),
            ("escape", ["normal", "controls"][dice.roll(2)]),
            ("rle", ["on", "off"][dice.roll(2)]),
            ("buffer", ["1024", "20000"][dice.roll(2)]),
        ]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        common::any_order(&mut s, &mut r, &files(), dice, &format!("seed {seed}"));
    }
}

fn resume(partial: &[u8], whole: &[u8], crc: bool) -> (Vec<File>, Ends) {
    let set = config(&[]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File { resume: true, ..File::new("big", whole) }]);
    let mut sink = Sink { partial: partial.into(), digests: crc, ..Sink::new() };
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    (sink.files, ends)
}

#[test]
pub(crate) fn resume_continues_where_the_receiver_is() {
    let whole = random(30_000, 3);
    for have in [0, 1, 12_345, 29_999, 30_000] {
        let (got, ends) = resume(&whole[..have], &whole, true);
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{have}");
        assert_eq!(got.len(), 1, "{have}");
        assert!(got[0].bytes == whole && got[0].complete, "{have}");
        let sent = ends.to_receiver.len();
        assert!(sent < (30_000 - have) * 104 / 100 + 300, "{have}: {sent} bytes sent");
    }
}

/// Another start, a longer file, or a store that cannot tell: offered again without the request.
#[test]
pub(crate) fn resume_of_another_file_starts_over() {
    let whole = random(30_000, 3);
    for (partial, digests) in
        [(random(10_000, 4), true), (random(40_000, 3), true), (whole[..5000].to_vec(), false)]
    {
        let (got, ends) = resume(&partial, &whole, digests);
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
        assert_eq!(got.len(), 2);
        assert!(!got[0].complete && got[0].bytes == partial, "what was here is left alone");
        assert_eq!(ends.events.iter().filter(|e| e.starts_with("r done")).count(), 1);
        assert!(!ends.events.iter().any(|e| e.contains("refused") || e.contains("cancelled")));
        assert!(got[1].complete && got[1].bytes == whole && !got[1].resume);
    }
}

#[test]
fn refusals_skip_the_file() {
    let set = config(&[]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(files());
    let mut sink = Sink { refuse: Some(Refusal::Exists), ..Sink::new() };
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    assert!(sink.files.is_empty());
    for (who, stats) in [("r refused", r.stats()), ("s refused", s.stats())] {
        assert_eq!(ends.events.iter().filter(|e| e.starts_with(who)).count(), 6);
        assert_eq!(stats.files_skipped, 6);
    }
    assert!(source.closed.iter().all(|closed| *closed == (false, false)));
}

/// A store with one file that is too long.
struct Huge(bool);
impl wetstring_proto::Store for Huge {
    fn answer<'s>(
        &'s mut self,
        request: wetstring_proto::Request<'_>,
    ) -> wetstring_proto::Reply<'s> {
        use wetstring_proto::{FileInfo, Reply, Request};
        match request {
            Request::Next if self.0 => Reply::NoMoreFiles,
            Request::Next => {
                self.0 = true;
                Reply::File(FileInfo { name: b"huge", size: Some(1 << 32), ..FileInfo::default() })
            }
            _ => Reply::Done,
        }
    }
}

#[test]
fn a_file_of_4_gib_is_refused_by_either_end() {
    let set = config(&[]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, &mut Huge(false), &mut sink).run();
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    assert!(ends.events.contains(&"s refused huge Some(TooLong) by_peer=false".into()));
    assert!(sink.files.is_empty());
}

#[test]
pub(crate) fn cancel_by_either_side_at_any_moment() {
    for by_sender in [true, false] {
        for command in [Command::CancelFile, Command::CancelBatch, Command::Abort] {
            for when in 0..60u32 {
                let set = config(&[("send-length", "500"), ("buffer", "1024")]);
                let (mut s, mut r) = (sender(&set), receiver(&set));
                let (mut source, mut sink) = (Source::new(files()), Sink::new());
                let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
                pair.chunk = 900;
                let mut turns = 0;
                pair.steer = Box::new(move |is_sender, _| {
                    turns += u32::from(is_sender == by_sender);
                    (is_sender == by_sender && turns == when * 4 + 1).then_some(command)
                });
                let ends = pair.run();
                let mut events = format!("{:?}", ends.events);
                events.truncate(700);
                let label = format!(
                    "sender={by_sender} {command:?} at {when}: {:?} {:?} {events}",
                    ends.sender, ends.receiver
                );
                check_cancel(&label, command, by_sender, &ends, &sink.files);
            }
        }
    }
}

#[test]
fn a_command_and_its_status() {
    struct Shell;
    impl wetstring_proto::Store for Shell {
        fn answer<'s>(
            &'s mut self,
            request: wetstring_proto::Request<'_>,
        ) -> wetstring_proto::Reply<'s> {
            use wetstring_proto::{Remote, RemoteReply, Reply, Request};
            assert_eq!(request, Request::Remote(Remote::Run { command: b"make it so" }));
            Reply::Remote(RemoteReply::Ran(42))
        }
    }
    for (setting, immediate, status) in
        [("run", false, 42), ("run", true, 0), ("refuse", false, 1), ("announce", false, 0)]
    {
        let mut s = sender(&config(&[])).with_command(b"make it so", immediate).unwrap();
        let mut r = receiver(&config(&[("commands", setting)]));
        let ends = Pair::new(&mut s, &mut r, &mut Source::new(Vec::new()), &mut Shell).run();
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{setting}");
        let completed = format!("s completed {status}");
        assert!(ends.events.contains(&completed), "{setting} {immediate}: {:?}", ends.events);
    }
    for bad in [&b""[..], b"a\0b", &[b'x'; 1024]] {
        let error = sender(&config(&[])).with_command(bad, false).err().unwrap();
        assert_eq!(error.len, bad.len());
    }
}

/// A store that has a file already, and replaces it only if its contents differ.
struct Comparing(Sink, Vec<u8>);
impl wetstring_proto::Store for Comparing {
    fn answer<'s>(
        &'s mut self,
        request: wetstring_proto::Request<'_>,
    ) -> wetstring_proto::Reply<'s> {
        use wetstring_proto::{Reply, Request, Wish};
        match &request {
            Request::Offer { info } if info.wish == Wish::DifferentCheck => {
                let [a, b, c, d, ..] = common::digest(&self.1);
                match info.extras.zmodem().check {
                    None => Reply::TellCheck,
                    Some(check) if check.to_be_bytes() == [a, b, c, d] => {
                        Reply::Refuse(Refusal::Exists)
                    }
                    Some(_) => self.0.answer(request),
                }
            }
            _ => self.0.answer(request),
        }
    }
}

#[test]
fn a_file_is_replaced_only_if_its_check_differs() {
    let bytes = random(5000, 21);
    let mut other = bytes.clone();
    other[4000] ^= 1;
    for (there, replaced) in [(bytes.clone(), false), (other, true)] {
        let mut s = sender(&config(&[("wish", "different-check")]));
        let mut r = receiver(&config(&[]));
        let mut source = Source::new(vec![File::new("f", &bytes)]);
        let mut sink = Comparing(Sink::new(), there);
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
        assert_eq!(sink.0.files.len(), usize::from(replaced), "{:?}", ends.events);
        assert!(!replaced || sink.0.files[0].bytes == bytes);
    }
}

fn check_cancel(label: &str, command: Command, by_sender: bool, ends: &Ends, got: &[File]) {
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
        let all = got.iter().filter(|f| f.complete).count() == 6;
        assert!(command != Command::Abort || all, "{label}");
    } else {
        assert!(failed(own, FailureKind::Aborted), "{label}");
        assert!(
            failed(other, FailureKind::PeerError) || failed(other, FailureKind::Silence),
            "{label}"
        );
    }
    if command == Command::CancelFile {
        assert_eq!(own, Outcome::Done, "{label}");
        assert!(got.iter().filter(|f| f.complete).count() >= 5, "{label}: the others arrive");
    }
}

#[test]
fn a_full_store_ends_both_with_a_reason() {
    let set = config(&[]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let (mut source, mut sink) = (Source::new(files()), Sink { room: Some(20_000), ..Sink::new() });
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    let kind = |outcome| match outcome {
        Outcome::Failed(failure) => failure.kind,
        Outcome::Done => panic!("done"),
    };
    assert!(matches!(kind(ends.receiver), FailureKind::Store(_)));
    assert_eq!(kind(ends.sender), FailureKind::PeerError);
    let words = "s message the receiver cannot read or write the file";
    assert!(ends.events.iter().any(|e| e == words), "{:?}", ends.events);
    assert!(!sink.files[3].complete);
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
fn too_little_memory_is_reported() {
    let config = Config::default();
    let needed = config.sender_memory();
    let error = Sender::new(config, vec![0; needed - 1]).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("expected at least {needed} bytes of memory, got {}", needed - 1)
    );
}
