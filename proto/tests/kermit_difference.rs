//! Differences against an older version: every edit, refusals and cancels in each state, and hostile senders.

use crate::common;
use common::{Dice, Ends, File, Pair, Sink, Source, assert_whole, random};
use wetstring_proto::difference::SIGNATURE;
use wetstring_proto::kermit::bundle::radix::alphabet;
use wetstring_proto::kermit::{Config, Switch};
use wetstring_proto::{
    Blame, Command, Cx, Engine, FailureKind, Instant, NoTrace, Outcome, Reply, Request, Status,
    Store, StoreError,
};
use wetstring_testkit::Squeezer;

common::protocol!(
    kermit,
    Config { buffer_len: 8192, bundle: Switch::On, finds_blocks: true, ..Config::default() }
);

const LINE: (&str, &str) = ("streaming", "off");

/// Sends the new version to who has the old one.
fn send(set: &Config, old: &[u8], new: &[u8]) -> (Sink, Source, Ends) {
    let (mut s, mut r) = (sender(set), receiver(set));
    let mut source = Source::new(vec![File::new("image", new)]);
    let mut sink = Sink { older: old.to_vec(), ..Sink::new() };
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    (sink, source, ends)
}

fn assert_sent(sent: &(Sink, Source, Ends), new: &[u8], label: &str) {
    let (sink, source, ends) = sent;
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{label}");
    assert_whole(&sink.files, &[File::new("image", new)], label);
    assert!(sink.files[0].verified, "{label}");
    assert_eq!(source.closed, [(true, true)], "{label}");
}

/// An edit of each kind at a place that the dice choose.
fn edit(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let at = dice.roll(bytes.len());
    let len = 1 + dice.roll(3000);
    let to = (at + len).min(bytes.len());
    let other = random(len, dice.roll(1_000_000) as u64);
    match dice.roll(4) {
        0 => drop(bytes.splice(at..at, other)),
        1 => drop(bytes.drain(at..to)),
        2 => bytes[at..to].copy_from_slice(&other[..to - at]),
        _ => bytes[at] ^= 1,
    }
}

#[test]
fn edits_of_every_kind_cost_what_they_are() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let set = config(&[
            LINE,
            ("window", ["1", "2", "7", "31"][dice.roll(4)]),
            ("receive-length", ["94", "700", "4000"][dice.roll(3)]),
        ]);
        let old = random(100_000 + dice.roll(200_000), seed);
        let mut new = old.clone();
        let edits = dice.roll(6);
        for _ in 0..edits {
            edit(&mut new, &mut dice);
        }
        let sent = send(&set, &old, &new);
        let label = format!("seed {seed}, {edits} edits, {} bytes", new.len());
        assert_sent(&sent, &new, &label);
        // Signatures, the questions, what was under way at first, and at each edit its bytes and a block or two.
        let most = new.len() / 100 + 45_000 + edits * 8500;
        let wire = sent.2.to_receiver.len();
        assert!(wire < most, "{label}: {wire} bytes of at most {most}");
        assert!(sent.0.copied > 0, "{label}");
    }
}

#[test]
fn a_byte_at_the_front_costs_nothing_like_the_whole() {
    let old = random(1_000_000, 7);
    let mut new = old.clone();
    new.insert(0, 0);
    let set = config(&[LINE, ("receive-length", "1000"), ("window", "4")]);
    let sent = send(&set, &old, &new);
    assert_sent(&sent, &new, "a byte at the front");
    let wire = sent.2.to_receiver.len();
    assert!(wire < 25_000, "{wire}");
    assert!(sent.0.copied > 975_000, "{}", sent.0.copied);
}

#[test]
fn nothing_in_common_costs_one_per_cent() {
    let (old, new) = (random(500_000, 1), random(400_000, 2));
    for window in ["1", "31"] {
        let set = config(&[LINE, ("window", window)]);
        let whole = send(&set, &[], &new);
        assert_sent(&whole, &new, "no older version");
        let sent = send(&set, &old, &new);
        assert_sent(&sent, &new, "nothing in common");
        let (wire, before) = (sent.2.to_receiver.len(), whole.2.to_receiver.len());
        assert!(wire > before + new.len() / 200, "{wire} {before}: signatures were sent");
        assert!(wire * 100 < before * 101, "{wire} {before}");
        assert_eq!(sent.0.copied, 0);
    }
}

#[test]
fn each_end_may_refuse_it_alone() {
    let old = random(200_000, 3);
    for mask in 0..64u8 {
        let pick = |bit: u8| if mask >> bit & 1 == 0 { "on" } else { "off" };
        let end = |at: u8| {
            let set = config(&[
                LINE,
                ("difference", pick(at)),
                ("digest", pick(at + 1)),
                ("bundle", pick(at + 2)),
            ]);
            Config { finds_blocks: at == 0 || mask % 7 != 3, ..set }
        };
        let (ours, theirs) = (end(0), end(3));
        let (mut s, mut r) = (sender(&ours), receiver(&theirs));
        let mut source = Source::new(vec![File::new("image", &old)]);
        let mut sink = Sink { older: old.clone(), ..Sink::new() };
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        let label = format!("{mask:06b}");
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{label}");
        assert_whole(&sink.files, &[File::new("image", &old)], &label);
        let both = mask == 0 && theirs.finds_blocks;
        assert_eq!(sink.copied > 0, both, "{label}");
        assert_eq!(s.stats().known_bytes, sink.copied, "{label}");
        assert_eq!(r.stats().known_bytes, sink.copied, "{label}");
        assert_eq!(s.stats().current_acked_bytes, Some(old.len() as u64), "{label}");
    }
}

#[test]
fn what_is_short_or_text_or_resumed_is_sent_as_it_is() {
    let old = random(200_000, 3);
    let set = config(&[LINE]);
    let cases = [
        File::new("short", &old[..65_535]),
        File { text: true, ..File::new("text", &b"line of a text\n".repeat(6000)) },
        File { resume: true, ..File::new("part", &old) },
    ];
    for file in cases {
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let mut source = Source::new(vec![file.clone()]);
        let mut sink =
            Sink { older: file.bytes.clone(), partial: old[..70_000].to_vec(), ..Sink::new() };
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
        assert_whole(&sink.files, &[file], "as it is");
        assert_eq!(sink.copied, 0);
    }
}

#[test]
fn several_files_and_other_sizes() {
    let old = random(300_000, 4);
    let mut longer = old.clone();
    longer.extend(random(90_000, 5));
    let files = vec![
        File::new("same", &old),
        File::new("short", b"short"),
        File::new("longer", &longer),
        File::new("shorter", &old[100_000..]),
        File::new("other", &random(100_000, 9)),
        File::new("zeros", &vec![0; 300_000]),
    ];
    for window in ["1", "31"] {
        let set = config(&[LINE, ("window", window)]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let mut source = Source::new(files.clone());
        let mut sink = Sink { older: old.clone(), ..Sink::new() };
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
        assert_whole(&sink.files, &files, "several");
        assert!(sink.copied > 500_000, "{}", sink.copied);
    }
}

/// All blocks equal: one list, one entry.
#[test]
fn zeros_are_found_in_zeros() {
    let zeros = vec![0; 2_000_000];
    let set = config(&[LINE, ("repeat", "off")]);
    let sent = send(&set, &zeros, &zeros);
    assert_sent(&sent, &zeros, "zeros");
    assert!(sent.2.to_receiver.len() < 120_000, "{}", sent.2.to_receiver.len());
}

/// A frame is open when the sender hears of the older version: it ends before the signatures, and the next file has one again.
#[test]
fn compression_makes_room_for_it() {
    let text = |from: u32| -> Vec<u8> {
        (from..from + 20_000).flat_map(|line| format!("line {line}\n").into_bytes()).collect()
    };
    let old = text(100_000);
    let mut new = old.clone();
    new[150_000] ^= 1;
    new.splice(30_000..30_000, *b"inserted");
    for (window, length) in [("1", "94"), ("2", "700"), ("31", "300"), ("31", "4000")] {
        let set = config(&[LINE, ("window", window), ("receive-length", length)]);
        let set = Config { compressor: true, ..set };
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let files = vec![File::new("image", &new), File::new("text", &text(500_000))];
        let mut source = Source::new(files.clone());
        let mut sink = Sink { older: old.clone(), ..Sink::new() };
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        let label = format!("window {window} length {length}");
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{label}");
        assert_whole(&sink.files, &files, &label);
        assert_eq!(source.squeezer.frames, 2, "{label}");
        assert!(sink.copied > 100_000, "{label}: {}", sink.copied);
    }
}

#[test]
fn cancels_at_any_moment() {
    let old = random(150_000, 6);
    let mut new = old.clone();
    new[60_000] ^= 1;
    new[100_000] ^= 1;
    for by_sender in [true, false] {
        for command in [Command::CancelFile, Command::CancelBatch, Command::Abort] {
            for when in 0..50u32 {
                let set = config(&[LINE, ("receive-length", "300")]);
                let (mut s, mut r) = (sender(&set), receiver(&set));
                let files = vec![File::new("image", &new), File::new("last", b"x")];
                let mut source = Source::new(files.clone());
                let mut sink = Sink { older: old.clone(), ..Sink::new() };
                let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
                pair.chunk = 200;
                let mut turns = 0;
                pair.steer = Box::new(move |is_sender, _| {
                    turns += u32::from(is_sender == by_sender);
                    (is_sender == by_sender && turns == when * 7 + 1).then_some(command)
                });
                let ends = pair.run();
                let (a, b) = (ends.sender, ends.receiver);
                let label = format!("sender={by_sender} {command:?} at {when}: {a:?} {b:?}");
                // A sender that gives up when all has left does not know yet that all has arrived.
                assert!(a != Outcome::Done || b == Outcome::Done, "{label}");
                let has_all = sink.files.len() == 2 && sink.files.iter().all(|file| file.complete);
                assert!(a == Outcome::Done || b != Outcome::Done || has_all, "{label}");
                for (file, want) in sink.files.iter().zip(&files) {
                    assert!(!file.complete || file.bytes == want.bytes, "{label}");
                }
            }
        }
    }
}

#[test]
fn doors_in_any_order_and_any_chunking() {
    for seed in 0..20 {
        let mut dice = Dice(seed);
        let set = config(&[
            ("window", ["1", "3", "31"][dice.roll(3)]),
            LINE,
            ("receive-length", ["60", "700", "4000"][dice.roll(3)]),
            ("buffer", ["4096", "8192"][dice.roll(2)]),
        ]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let files = [File::new("image", &random(100_000, seed))];
        common::any_order(&mut s, &mut r, &files, dice, &format!("seed {seed}"));
    }
}

/// Which requests.
type Which = fn(&Request<'_>) -> bool;

/// A store of which one request fails, from a certain one of its kind on.
struct Failing<'a> {
    store: &'a mut dyn Store,
    what: Which,
    after: u32,
    with: StoreError,
}

impl Store for Failing<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if (self.what)(&request) {
            if self.after == 0 {
                return Reply::Failed(self.with);
            }
            self.after -= 1;
        }
        self.store.answer(request)
    }
}

#[test]
fn stores_that_cannot_are_sent_the_whole() {
    let new = random(300_000, 8);
    let set = config(&[LINE]);
    let cases: [(bool, Which); 4] = [
        (true, |request| matches!(request, Request::Signatures { .. })),
        (false, |request| matches!(request, Request::Older)),
        (false, |request| matches!(request, Request::Learn { .. })),
        (false, |request| matches!(request, Request::Find { .. })),
    ];
    for (index, (at_sender, what)) in cases.into_iter().enumerate() {
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let mut source = Source::new(vec![File::new("image", &new)]);
        let mut sink = Sink { older: new.clone(), ..Sink::new() };
        let none: Which = |_| false;
        let (ours, theirs) = if at_sender { (what, none) } else { (none, what) };
        let with = StoreError::Unsupported;
        let mut source = Failing { store: &mut source, what: ours, after: 0, with };
        let mut sink_store = Failing { store: &mut sink, what: theirs, after: 0, with };
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink_store).run();
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{index}");
        assert_whole(&sink.files, &[File::new("image", &new)], "the whole");
        assert_eq!(sink.copied, 0, "{index}");
    }
}

/// The older version changes or goes after blocks were found in it: nothing is stored, and both ends say why.
#[test]
fn an_older_version_that_goes_fails_clearly() {
    let new = random(300_000, 8);
    let set = config(&[LINE]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("image", &new)]);
    let mut sink = Sink { older: new.clone(), ..Sink::new() };
    let what: Which = |request| matches!(request, Request::Copy { .. });
    let with = StoreError::Changed;
    let mut failing = Failing { store: &mut sink, what, after: 0, with };
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut failing).run();
    let kind = FailureKind::Store(StoreError::Changed);
    assert_eq!(ends.receiver, common::failed(Blame::Store, kind));
    assert_ne!(ends.sender, Outcome::Done);
    assert!(!sink.files[0].complete);
}

/// Bytes of the sender's file change after their signatures: the digest of the whole file tells.
#[test]
fn a_file_that_changes_is_not_stored() {
    struct Changing(Source);
    impl Store for Changing {
        fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
            if matches!(request, Request::Digest { .. }) {
                self.0.files[0].bytes[200_000] ^= 1;
            }
            self.0.answer(request)
        }
    }
    let new = random(300_000, 8);
    let set = config(&[LINE]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Changing(Source::new(vec![File::new("image", &new)]));
    let mut sink = Sink { older: new.clone(), ..Sink::new() };
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    let differs = common::failed(Blame::Line, FailureKind::DigestDiffers);
    assert_eq!((ends.sender, ends.receiver), (differs, differs));
    assert!(sink.copied > 0 && !sink.files[0].complete);
}

/// A packet with a check of one byte.
fn packet(number: u8, kind: u8, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![data.len() as u8 + 3 + 32, number + 32, kind];
    packet.extend_from_slice(data);
    let sum: u32 = packet.iter().map(|byte| u32::from(*byte)).sum();
    packet.push(((sum + ((sum >> 6) & 3)) & 63) as u8 + 32);
    [&[1], &packet[..], b"\r"].concat()
}

fn number(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// Lets a receiver with an older version hear these records after the header of a file of 600,000 bytes: 292 blocks.
fn hear(records: &[u8]) -> (Outcome, Sink) {
    let set = Config { compressor: true, ..config(&[LINE, ("check", "1"), ("window", "1")]) };
    let mut engine = receiver(&set);
    let mut sink = Sink { older: random(300_000, 8), ..Sink::new() };
    let mut head = vec![1];
    head.extend(number(600_000));
    head.extend(b"image");
    let mut stream = vec![b'F'];
    stream.extend(number(head.len() as u64));
    stream.extend(head);
    stream.extend_from_slice(records);
    let mut text = [0; 40];
    let len = set.params(wetstring_proto::FileKind::Binary).emit(&mut text, 40);
    let mut packets = vec![packet(0, b'S', &text[..len])];
    let careful = alphabet(b'C').unwrap();
    for (index, block) in stream.chunks(careful.block_len()).enumerate() {
        let mut data = vec![0; block.len() + 2];
        data[0] = b'C';
        careful.encode(block, &mut data[1..]);
        packets.push(packet(((index + 1) % 64) as u8, b'D', &data));
    }
    let (mut now, mut trace) = (Instant::ZERO, NoTrace);
    let wire: Vec<u8> = packets.concat();
    let mut at = 0;
    for _ in 0..100_000 {
        let mut cx = Cx { now, trace: &mut trace };
        at += engine.receive(&mut cx, &wire[at..]);
        while engine.event().is_some() {}
        while let Some(request) = engine.request() {
            let reply = sink.answer(request);
            engine.reply(&mut cx, reply);
            while engine.event().is_some() {}
        }
        let len = engine.transmit(&mut cx).len();
        engine.transmitted(&mut cx, len);
        if let Status::Over(outcome) = engine.status() {
            return (outcome, sink);
        }
        if at == wire.len() {
            now = engine.deadline().unwrap_or(now).max(now);
            engine.tick(&mut Cx { now, trace: &mut trace });
        }
    }
    panic!("it does not end")
}

fn list(block: u64, count: u64, signatures: usize) -> Vec<u8> {
    let mut record = vec![b'H'];
    record.extend(number(block));
    record.extend(number(count));
    record.extend(vec![0; signatures * SIGNATURE]);
    record
}

fn pair(kind: u8, first: u64, second: u64) -> Vec<u8> {
    [&[kind][..], &number(first), &number(second)].concat()
}

/// The same records in a compressed frame.
fn framed(records: &[u8]) -> Vec<u8> {
    let mut into = vec![0; 2 * records.len() + 100];
    let packed = Squeezer::default().pack(records, &mut into, true, true);
    let Reply::Packed(len) = packed else { panic!("{packed:?}") };
    [b"K", &into[..len]].concat()
}

fn seek(offset: u64) -> Vec<u8> {
    [b"S", &number(offset)[..]].concat()
}

#[test]
fn hostile_lists_are_violations() {
    let good = list(2048, 100, 100);
    let asked = [&good[..], &pair(b'Q', 0, 100)].concat();
    let huge = u64::MAX;
    let mut cases = vec![
        ("block of no length", list(0, 10, 10)),
        ("short block", list(1024, 10, 10)),
        ("long block", list(131_072, 2, 2)),
        ("block beyond numbers", list(huge, 1, 1)),
        ("odd block", list(2049, 10, 10)),
        ("no signatures", list(2048, 0, 0)),
        ("more than one record has", list(2048, 683, 683)),
        ("more than the file has", list(2048, 293, 293)),
        ("count beyond numbers", list(2048, huge, 1)),
        ("another length", [good.clone(), list(4096, 1, 1)].concat()),
        (
            "more in a second record than the file has",
            [good.clone(), list(2048, 193, 193)].concat(),
        ),
        ("bytes between", [&good[..], b"D\x01x", &list(2048, 1, 1)].concat()),
        ("more after a question", [asked.clone(), list(2048, 1, 1)].concat()),
        ("question without a list", pair(b'Q', 0, 1)),
        ("question beyond the end", [good.clone(), pair(b'Q', 1, 100)].concat()),
        ("question beyond numbers", [good.clone(), pair(b'Q', huge, huge)].concat()),
        ("question of nothing", [good.clone(), pair(b'Q', 0, 0)].concat()),
        ("question of too many", [list(2048, 292, 292), pair(b'Q', 0, 241)].concat()),
        ("passes over what is not there", [asked.clone(), seek(2048)].concat()),
        ("passes over a part of a block", [asked.clone(), seek(100)].concat()),
        ("passes beyond the list", [asked.clone(), seek(101 * 2048)].concat()),
        ("passes beyond numbers", [asked.clone(), seek(huge)].concat()),
        ("passes back", [&asked[..], b"D\x02xy", &seek(1)].concat()),
    ];
    cases.push(("list in a frame", framed(&list(2048, 10, 10))));
    cases.push(("question in a frame", [good.clone(), framed(&pair(b'Q', 0, 100))].concat()));
    // Without a question nothing is taken from it, and the bytes are missed.
    cases.push(("passes over before it asks", [&good[..], &seek(2048), b"D\x01x"].concat()));
    for (label, records) in cases {
        let (outcome, sink) = hear(&records);
        assert_eq!(outcome, common::failed(Blame::Peer, FailureKind::Violation), "{label}");
        assert!(sink.files.iter().all(|file| !file.complete), "{label}");
        assert_eq!(sink.copied, 0, "{label}");
    }
    // What is no violation ends with silence.
    for records in [asked, framed(b"D\x01x")] {
        let (outcome, sink) = hear(&records);
        assert_eq!(outcome, common::failed(Blame::Peer, FailureKind::Silence));
        assert_eq!(sink.copied, 0);
    }
}
