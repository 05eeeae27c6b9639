//! A peer that reports success has the whole file: lost replies, refusals, late cancels, wrong lengths, and
//! lines on which nothing but echoes or garbage comes. Each case was once a fault.

use crate::bench;
use crate::common;
use bench::Bench;
use common::{File, Pair, Sink, Source, failed};
use wetstring_proto::kermit::Config;
use wetstring_proto::kermit::attributes::Attributes;
use wetstring_proto::kermit::check::Check;
use wetstring_proto::{
    Blame, Command, Cx, Duration, Engine, FailureKind, Instant, Outcome, Refusal, Reply, Request,
    Status, Store, StoreError,
};
use wetstring_testkit::{Edges, Shrinking};

common::protocol!(kermit, Config { buffer_len: 8192, ..Config::default() });

// drop the n-th chunk going from receiver to sender (each chunk = one packet in lockstep phases)
type Meddle = Box<dyn FnMut(bool, &mut Vec<u8>)>;

fn drop_nth(n: usize) -> Meddle {
    let mut seen = 0;
    Box::new(move |is_sender, bytes| {
        if !is_sender {
            seen += 1;
            if seen == n {
                bytes.clear();
            }
        }
    })
}

#[test]
fn lost_refusal_is_not_success() {
    let set = config(&[("streaming", "off"), ("digest", "off")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("a", b"hello world")]);
    let mut sink = Sink { refuse: Some(Refusal::Exists), ..Sink::new() };
    let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
    pair.meddle = drop_nth(3);
    pair.run();
    assert!(!source.closed.iter().any(|c| c.0), "sender thinks the refused file was stored");
}

#[test]
fn lost_resume_reply_does_not_corrupt() {
    for digest in ["off", "on"] {
        let set = config(&[("streaming", "off"), ("digest", digest)]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let bytes: Vec<u8> = (0..2000u32).map(|i| (i * 7 % 251) as u8).collect();
        let mut source = Source::new(vec![File { resume: true, ..File::new("a", &bytes) }]);
        let mut sink = Sink { partial: bytes[..700].to_vec(), ..Sink::new() };
        let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
        pair.meddle = drop_nth(3);
        pair.run();
        assert!(
            sink.files[0].bytes == bytes || !sink.files[0].complete,
            "digest={digest}: file corrupt, both ends say Done"
        );
    }
}

#[test]
fn cancel_at_receiver_streaming_is_not_success_at_sender() {
    let set = config(&[("streaming", "on"), ("reliable", "on")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new(
        "a",
        &[7u8; 300].iter().enumerate().map(|(i, b)| b.wrapping_mul(i as u8)).collect::<Vec<_>>(),
    )]);
    let mut sink = Sink::new();
    let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
    let mut done = false;
    pair.steer = Box::new(move |is_sender, e| {
        if !is_sender && !done && e.stats().file_bytes > 0 {
            done = true;
            Some(Command::CancelFile)
        } else {
            None
        }
    });
    pair.run();
    assert_eq!(source.closed.iter().any(|c| c.0), sink.files[0].complete);
}

#[test]
fn cancel_at_receiver_windowed_after_last_data() {
    let set = config(&[("streaming", "off"), ("window", "1")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("a", b"short")]);
    let mut sink = Sink::new();
    let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
    let mut done = false;
    pair.steer = Box::new(move |is_sender, e| {
        if !is_sender && !done && e.stats().file_bytes > 0 {
            done = true;
            Some(Command::CancelFile)
        } else {
            None
        }
    });
    pair.run();
    assert_eq!(source.closed.iter().any(|c| c.0), sink.files[0].complete);
}

#[test]
fn verified_is_not_claimed_by_a_repeated_z() {
    let set = config(&[("streaming", "off"), ("digest", "on")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("a", b"short")]);
    let mut sink = Sink { digests: false, ..Sink::new() };
    let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
    let mut z = 0;
    pair.meddle = Box::new(move |is_sender, bytes| {
        if !is_sender {
            z += 1;
            if z == 5 {
                bytes.clear();
            }
        }
    });
    pair.run();
    assert!(!source.closed.iter().any(|c| c.1), "sender says verified, receiver never compared");
}

#[test]
fn echo_ends() {
    // a receiver on a line that echoes everything
    let set = config(&[("timeout", "1"), ("retries", "2")]);
    let mut r = receiver(&set);
    let mut now = Instant(1_000_000);
    let start = now;
    for _ in 0..100_000 {
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        let out = r.transmit(cx).to_vec();
        r.transmitted(cx, out.len());
        r.receive(cx, &out);
        while r.event().is_some() {}
        if matches!(r.status(), Status::Over(_)) {
            return;
        }
        if out.is_empty() {
            now = now.max(r.deadline().unwrap());
            r.tick(&mut Cx { now, trace: &mut Edges::new() });
        }
        assert!(
            now.since(start) < Duration::from_secs(600),
            "ten minutes of its own echo and no end"
        );
    }
}

#[test]
fn garbage_flood_ends() {
    let set = config(&[("timeout", "1"), ("retries", "2")]);
    let mut r = receiver(&set);
    let mut now = Instant(1_000_000);
    let start = now;
    let garbage = b"\x01\xff\x01!\x01zz";
    loop {
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        let out = r.transmit(cx).len();
        r.transmitted(cx, out);
        r.receive(cx, garbage);
        r.tick(cx);
        if matches!(r.status(), Status::Over(_)) {
            return;
        }
        now = now + Duration::from_millis(200);
        assert!(now.since(start) < Duration::from_secs(600), "ten minutes of garbage and no end");
    }
}

#[test]
fn long_name_short_packets() {
    let set = config(&[("streaming", "off"), ("receive-length", "94")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let name = format!("{}.tar.gz", "Firmware-image-".repeat(9));
    let mut source = Source::new(vec![File::new(&name, b"short")]);
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    let arrived = String::from_utf8_lossy(&sink.files[0].name).into_owned();
    assert!(arrived.starts_with("Firmware-image-") && arrived.ends_with("im.gz"), "{arrived}");
    // The user at either end is shown the name that was sent.
    let shown =
        ends.events.iter().filter(|e| e.contains(&format!("started {arrived} at 0"))).count();
    assert_eq!(shown, 2, "{:?}", ends.events);
}

#[test]
fn streaming_loss_of_63_packets_is_seen() {
    // a relay that loses 64 data packets (numbers wrap) with attributes saying the exact length
    let set = config(&[
        ("streaming", "on"),
        ("reliable", "on"),
        ("digest", "off"),
        ("send-length", "94"),
    ]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let bytes: Vec<u8> = (0..40000u32).map(|i| (i * 7 % 251) as u8).collect();
    let mut source = Source::new(vec![File::new("a", &bytes)]);
    let mut sink = Sink::new();
    let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
    let mut dropped = 0;
    let mut all: Vec<u8> = Vec::new();
    pair.meddle = Box::new(move |is_sender, b| {
        if is_sender {
            let mut out = Vec::new();
            all.extend_from_slice(b);
            while let Some(at) = all.iter().position(|c| *c == 13) {
                let pk: Vec<u8> = all.drain(..=at).collect();
                if pk.get(3) == Some(&b'D') && dropped < 64 {
                    dropped += 1;
                    continue;
                }
                out.extend(pk);
            }
            *b = out;
        }
    });
    pair.run();
    assert!(
        !sink.files[0].complete || sink.files[0].bytes == bytes,
        "length {} of {} and complete",
        sink.files[0].bytes.len(),
        bytes.len()
    );
}

#[test]
fn nak_of_next_in_attributes_is_no_reply() {
    // window 1: receiver's reply to A lost, receiver's timer asks for the packet after A
    let set = config(&[("streaming", "off"), ("digest", "off"), ("window", "1")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let bytes: Vec<u8> = (0..2000u32).map(|i| (i * 7 % 251) as u8).collect();
    let mut source = Source::new(vec![File { resume: true, ..File::new("a", &bytes) }]);
    let mut sink = Sink { partial: bytes[..700].to_vec(), ..Sink::new() };
    let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
    let mut n = 0;
    pair.meddle = Box::new(move |is_sender, b| {
        if !is_sender {
            n += 1;
            if n == 3 {
                // # N3 over seq 3, check 3: build as the receiver would by its timer
                let _ = &b;
                *b = b"\x01%#N)A1\r".to_vec();
                let crc = {
                    let mut crc = 0u16;
                    for x in &b[1..4] {
                        crc ^= *x as u16;
                        for _ in 0..8 {
                            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x8408 } else { crc >> 1 }
                        }
                    }
                    crc
                };
                b[4] = 32 + (crc >> 12 & 15) as u8;
                b[5] = 32 + (crc >> 6 & 63) as u8;
                b[6] = 32 + (crc & 63) as u8;
            }
        }
    });
    pair.run();
    assert!(sink.files[0].bytes == bytes || !sink.files[0].complete);
}

#[test]
fn refused_then_data_is_acked_with_x() {
    // receiver refuses; a sender that ignores the reply (old Kermits) sends D all the same
    let set = config(&[("streaming", "off"), ("digest", "off")]);
    let mut r = receiver(&set);
    let mut sink = Sink { refuse: Some(Refusal::Exists), ..Sink::new() };
    let mut out = Vec::new();
    let pk = |seq: u8, kind: u8, data: &[u8]| {
        let mut v = vec![32 + 3 + data.len() as u8, 32 + seq, kind];
        v.extend(data);
        let s: u32 = v.iter().map(|b| *b as u32).sum();
        v.push(32 + ((s + ((s & 0xC0) >> 6)) & 63) as u8);
        v.insert(0, 1);
        v.push(13);
        v
    };
    for p in [
        pk(0, b'S', b"~/ @-#N1 ("),
        pk(1, b'F', b"A"),
        pk(2, b'A', b"\"\"B8@ "),
        pk(3, b'D', b"hello"),
        pk(4, b'Z', b""),
    ] {
        let cx = &mut Cx { now: Instant(1_000_000), trace: &mut Edges::new() };
        r.receive(cx, &p);
        while let Some(q) = r.request() {
            let a = sink.answer(q);
            r.reply(cx, a);
        }
        let b = r.transmit(cx).to_vec();
        r.transmitted(cx, b.len());
        out.push(b);
    }
    assert!(out[3].contains(&b'X'), "D of a refused file is acknowledged as if it was wanted");
}

#[test]
fn a_file_that_grows_is_sent_as_it_was() {
    struct Growing(Source);
    impl Store for Growing {
        fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
            if matches!(request, Request::Read { .. }) {
                self.0.files[0].bytes.extend_from_slice(b"more");
            }
            self.0.answer(request)
        }
    }
    for streaming in ["on", "off"] {
        let set = config(&[("streaming", streaming)]);
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let bytes = vec![b'x'; 20_000];
        let mut source = Growing(Source::new(vec![File::new("log", &bytes)]));
        let mut sink = Sink::new();
        let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
        assert!(sink.files[0].complete && sink.files[0].bytes == bytes);
    }
}

#[test]
fn shrinking_file_is_store_failure() {
    let set = config(&[]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source =
        Shrinking { inner: Source::new(vec![File::new("log", &[b'x'; 20_000])]), left: 9_000 };
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    let changed = FailureKind::Store(StoreError::Changed);
    assert!(matches!(ends.sender, Outcome::Failed(f) if f.kind == changed), "{ends:?}");
    assert!(!sink.files[0].complete);
}

/// A short packet with block check 1.
fn short_packet(seq: u8, kind: u8, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![1, 32 + 3 + data.len() as u8, 32 + seq, kind];
    packet.extend(data);
    packet.push(Check::Sum6.compute(&packet[1..])[0]);
    packet.push(b'\r');
    packet
}

/// Gives a receiver a file with these attributes in packets of this data; the outcome, the last that was
/// said, and the file.
fn announced(attributes: &str, packets: &[&[u8]]) -> (Option<Outcome>, Vec<u8>, File) {
    let set = config(&[("streaming", "off"), ("digest", "off")]);
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    let mut seq = 0;
    let mut packet = |kind: u8, data: &[u8]| {
        let packet = short_packet(seq, kind, data);
        seq = (seq + 1) % 64;
        packet
    };
    bench.give(&packet(b'S', b"~/ @-#N1 ("));
    bench.give(&packet(b'F', b"F"));
    bench.give(&packet(b'A', attributes.as_bytes()));
    let mut said = Vec::new();
    for data in packets {
        said = bench.give(&packet(b'D', data));
        if bench.outcome().is_some() {
            break;
        }
    }
    if !said.windows(2).any(|two| two[1] == b'E') {
        said = bench.give(&packet(b'Z', b""));
        bench.give(&packet(b'B', b""));
    }
    bench.wait(Duration::from_secs(30));
    (bench.outcome(), said, sink.files.remove(0))
}

/// The sender may be gone before our last acknowledgement has left: it has said that this is all.
#[test]
fn line_closing_before_the_last_acknowledgement_is_success() {
    let set = config(&[("streaming", "off"), ("digest", "off")]);
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    bench.give(&short_packet(0, b'S', b"~/ @-#N1 ("));
    bench.give(&short_packet(1, b'F', b"F"));
    bench.give(&short_packet(2, b'D', b"hello"));
    bench.give(&short_packet(3, b'Z', b""));
    assert_eq!(bench.engine.if_closed(), None, "B has not come");
    let mut cx = Cx { now: bench.now, trace: &mut Edges::new() };
    let last = short_packet(4, b'B', b"");
    assert_eq!(bench.engine.receive(&mut cx, &last), last.len());
    assert!(!bench.engine.transmit(&mut cx).is_empty(), "an acknowledgement waits to be sent");
    assert_eq!(bench.engine.if_closed(), Some(Outcome::Done), "it was never sent");
    assert!(sink.files[0].complete);
}

#[test]
fn file_of_wrong_length_is_incomplete() {
    let differs = Some(failed(Blame::Line, FailureKind::LengthDiffers));
    for (size, word) in [("6", "shorter"), ("4", "longer"), ("0", "longer")] {
        let (outcome, said, file) = announced(&format!("\"\"B81!{size}@ "), &[b"hello"]);
        assert_eq!((outcome, file.complete), (differs, false), "{size}");
        assert_eq!(said[3], b'E', "the sender is told: {}", said.escape_ascii());
        assert!(String::from_utf8_lossy(&said).contains(word), "{}", said.escape_ascii());
    }
    let (outcome, _, file) = announced("\"\"B81!5@ ", &[b"hello"]);
    assert_eq!((outcome, file.complete), (Some(Outcome::Done), true));
    // Of a file that never ends no more than the buffer is taken.
    let endless = vec![&[b'x'; 80][..]; 1000];
    let (outcome, said, file) = announced("\"\"B81#100@ ", &endless);
    assert_eq!((outcome, file.complete, said[3]), (differs, false, b'E'));
    assert!(file.bytes.len() < 20_000, "{}", file.bytes.len());
}

/// The length of text differs by its line ends, a length in units of 1024 bytes is rounded, and one that is
/// no number is none.
#[test]
fn approximate_length_is_not_compared() {
    for attributes in ["\"#AMJ1!4@ ", "\"#AMJ1!9@ ", "\"\"B8!!1@ ", "\"\"B81\"-1@ ", "\"\"B8@ "] {
        let (outcome, _, file) = announced(attributes, &[b"hello"]);
        assert_eq!((outcome, file.complete), (Some(Outcome::Done), true), "{attributes}");
    }
}

/// `mail` and `print` are requests that a store cannot fulfil (C-Kermit's MAIL FILE ADDRESS).
#[test]
fn mail_is_refused() {
    let mut list = Attributes::default();
    list.add(b"+*Muser@host@ ");
    assert_eq!(list.disposition, Some(b'M'));
    let set = config(&[]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File { resume: true, ..File::new("letter", b"dear") }]);
    let mut sink = Sink::new();
    let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
    // Our sender does not mail; its request to resume becomes one to mail on the way.
    pair.meddle = Box::new(|is_sender, wire| {
        if let Some(at) = wire.windows(3).position(|w| w == b"+!R").filter(|_| is_sender) {
            wire[at + 2] = b'M';
            let end = wire.len() - 4;
            let check = Check::Crc16.compute(&wire[1..end]);
            wire[end..end + 3].copy_from_slice(&check);
        }
    });
    let ends = pair.run();
    assert!(sink.files.iter().all(|file| !file.complete), "{:?}", ends.events);
    assert!(
        ends.events.iter().any(|e| e.starts_with("s refused letter Some(Resume)")),
        "{:?}",
        ends.events
    );
}
