//! Any bytes at any moment: no panic, no endless loop, no false success.

use crate::common;

use common::{Dice, File, Pair, Sink, Source};
use wetstring_proto::kermit::Config;
use wetstring_proto::{
    Blame, Cx, Duration, Engine, Failure, FailureKind, Instant, Outcome, Status, Store,
};
use wetstring_testkit::Edges;

common::protocol!(kermit, Config { buffer_len: 2048, ..Config::default() });

/// Turns one engine against bytes that `make` gives, until it is over; returns the time it took.
fn turn_against(
    engine: &mut dyn Engine,
    store: &mut dyn Store,
    mut make: impl FnMut(Duration) -> Vec<u8>,
) -> Duration {
    let mut now = Instant::ZERO;
    let mut input = Vec::new();
    for _ in 0..200_000 {
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        input.extend(make(now - Instant::ZERO));
        let used = engine.receive(cx, &input);
        input.drain(..used);
        while let Some(request) = engine.request() {
            let reply = store.answer(request);
            engine.reply(cx, reply);
        }
        let len = engine.transmit(cx).len();
        engine.transmitted(cx, len);
        while engine.event().is_some() {}
        engine.tick(cx);
        if matches!(engine.status(), Status::Over(_)) {
            return now - Instant::ZERO;
        }
        assert!(input.len() < 100_000, "an engine that is not over takes its input");
        now = now + Duration::from_millis(20);
    }
    panic!("no end after {:?}: {:?}", now - Instant::ZERO, engine.status());
}

/// Bytes with the looks of packets: right lengths, sometimes right checks.
fn packets(dice: &mut Dice, count: usize) -> Vec<u8> {
    use wetstring_proto::kermit::check::Check;
    use wetstring_proto::kermit::packet::{LONG_HEADER, finish};
    let mut bytes = Vec::new();
    for _ in 0..count {
        let mut buf = vec![0; 1200];
        let longest = if dice.roll(10) == 0 { 1000 } else { 60 };
        let len = dice.roll(longest);
        for byte in &mut buf[LONG_HEADER..LONG_HEADER + len] {
            *byte =
                if dice.roll(2) == 0 { b' ' + dice.roll(95) as u8 } else { dice.roll(256) as u8 };
        }
        let kind = b"SYNFADZBEXIRGCTQMq"[dice.roll(18)];
        let check = [Check::Sum6, Check::Sum12, Check::Crc16, Check::Sum12NoBlank][dice.roll(4)];
        let (start, end) = finish(&mut buf, len, dice.roll(4) as u8, kind, check, 1, false);
        if dice.roll(4) == 0 {
            let at = start + dice.roll(end - start);
            buf[at] = dice.roll(256) as u8;
        }
        bytes.extend_from_slice(&buf[start..end]);
        if dice.roll(3) > 0 {
            bytes.push(b'\r');
        }
    }
    bytes
}

#[test]
fn random_bytes_and_random_packets_end_without_success() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let set = config(&[
            ("streaming", ["on", "off"][dice.roll(2)]),
            ("timeout", "2"),
            ("retries", "3"),
            ("interrupts", "0"),
        ]);
        let mut source = Source::new(vec![File::new("f", &[b'x'; 3000])]);
        let mut sink = Sink::new();
        let mut s = sender(&set);
        let mut r = receiver(&set);
        let well_formed = seed % 3 > 0;
        let noise = |dice: &mut Dice| {
            if well_formed {
                packets(dice, 2)
            } else {
                (0..dice.roll(300)).map(|_| dice.roll(256) as u8).collect()
            }
        };
        let mut other = dice.clone();
        turn_against(&mut s, &mut source, |at| {
            if at < Duration::from_secs(20) { noise(&mut dice) } else { Vec::new() }
        });
        turn_against(&mut r, &mut sink, |at| {
            if at < Duration::from_secs(20) { noise(&mut other) } else { Vec::new() }
        });
    }
}

/// A good session in which bytes are changed, lost and doubled; digests are on, so that success
/// must be the truth.
#[test]
fn a_meddled_session_never_lies() {
    let mut finished = 0;
    for seed in 0..400 {
        let mut dice = Dice(seed + 1000);
        let set = config(&[
            ("streaming", ["on", "off", "off"][dice.roll(3)]),
            ("window", ["1", "4", "31"][dice.roll(3)]),
            ("check", ["1", "2", "3"][dice.roll(3)]),
            ("timeout", "3"),
        ]);
        let bytes: Vec<u8> = (0..6000).map(|_| dice.roll(256) as u8).collect();
        let mut source = Source::new(vec![File::new("f", &bytes)]);
        let mut sink = Sink::new();
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let one_in = 200 + dice.roll(20_000);
        let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
        pair.chunk = 300;
        pair.meddle = Box::new(move |_, wire| {
            let mut out = Vec::new();
            for byte in wire.iter() {
                match dice.roll(one_in) {
                    0 => out.push(dice.roll(256) as u8),
                    1 => {}
                    2 => out.extend([*byte, *byte]),
                    3 => out.extend([*byte, 1, b'#', b'"', b'N', 0]),
                    _ => out.push(*byte),
                }
            }
            *wire = out;
        });
        let ends = pair.run();
        for file in &sink.files {
            assert!(!file.complete || file.bytes == bytes, "seed {seed}: a complete file is whole");
        }
        let arrived = sink.files.iter().any(|file| file.complete);
        assert!(ends.sender != Outcome::Done || arrived, "seed {seed}: the sender lies: {ends:?}");
        finished += u32::from(ends.sender == Outcome::Done);
    }
    assert!(finished > 200, "{finished} of 400 transfers came through");
}

fn silence(outcome: Option<Outcome>) -> bool {
    let expected = Failure { blame: Blame::Peer, kind: FailureKind::Silence };
    outcome == Some(Outcome::Failed(expected))
}

#[test]
fn a_silent_peer_ends_within_the_set_time() {
    let set = config(&[("timeout", "2"), ("retries", "4")]);
    let mut s = sender(&set);
    let took = turn_against(&mut s, &mut Source::new(vec![File::new("f", b"x")]), |_| Vec::new());
    assert!(silence(s.status().outcome()), "{:?}", s.status());
    assert!(took < Duration::from_secs(12), "{took:?}");
    let mut r = receiver(&set);
    let took = turn_against(&mut r, &mut Sink::new(), |_| Vec::new());
    assert!(silence(r.status().outcome()), "{:?}", r.status());
    assert!(took < Duration::from_secs(12), "{took:?}");
}

#[test]
fn an_echoing_line_is_no_peer() {
    let set = config(&[("timeout", "2"), ("retries", "3"), ("streaming", "off")]);
    common::assert_no_peer(&mut sender(&set), Duration::from_secs(60));
}

#[test]
fn an_error_packet_ends_either_end_with_its_text() {
    let mut s = sender(&config(&[]));
    let mut texts = Vec::new();
    let cx = &mut Cx { now: Instant::ZERO, trace: &mut Edges::new() };
    let len = s.transmit(cx).len();
    s.transmitted(cx, len);
    // E, number 0, "no way", type 1.
    let mut packet = [0; 100];
    let text = b"no way";
    packet[7..7 + text.len()].copy_from_slice(text);
    let (start, end) = wetstring_proto::kermit::packet::finish(
        &mut packet,
        text.len(),
        0,
        b'E',
        wetstring_proto::kermit::check::Check::Sum6,
        1,
        false,
    );
    s.receive(cx, &packet[start..end]);
    while let Some(event) = s.event() {
        texts.push(format!("{event:?}"));
    }
    assert!(texts[0].starts_with("Message("), "{texts:?}");
    let expected = Failure { blame: Blame::Peer, kind: FailureKind::PeerError };
    turn_against(&mut s, &mut Source::default(), |_| Vec::new());
    assert_eq!(s.status(), Status::Over(Outcome::Failed(expected)));
}

/// What an engine sends now.
fn spoken(engine: &mut dyn Engine, store: &mut dyn Store) -> Vec<u8> {
    let cx = &mut Cx { now: Instant::ZERO, trace: &mut Edges::new() };
    while let Some(request) = engine.request() {
        let reply = store.answer(request);
        engine.reply(cx, reply);
    }
    let bytes = engine.transmit(cx).to_vec();
    engine.transmitted(cx, bytes.len());
    bytes
}

/// `D` is one bit from `E`, and one damaged packet of 64 passes the check of type 1, which some peers
/// use for every E: where packets come damaged, such an error counts when nothing follows it.
#[test]
fn an_error_under_a_weaker_check_counts_on_a_noisy_line_when_silence_follows() {
    use wetstring_proto::kermit::{check::Check, packet::finish};
    for follows in [true, false] {
        let (mut s, mut source) =
            (sender(&config(&[])), Source::new(vec![File::new("name", b"some data")]));
        let (mut r, mut sink) = (receiver(&config(&[])), Sink::new());
        let cx = &mut Cx { now: Instant::ZERO, trace: &mut Edges::new() };
        r.receive(cx, &spoken(&mut s, &mut source));
        s.receive(cx, &spoken(&mut r, &mut sink));
        let file = spoken(&mut s, &mut source);
        let mut damaged = file.clone();
        damaged[4] ^= 1;
        r.receive(cx, &damaged);
        assert_eq!(spoken(&mut r, &mut sink)[3], b'N');
        let mut packet = [0; 100];
        packet[7..13].copy_from_slice(b"no way");
        let (start, end) = finish(&mut packet, 6, 1, b'E', Check::Sum6, 1, false);
        r.receive(cx, &[&packet[start..end], b"\r"].concat());
        assert!(matches!(r.status(), Status::Running), "{:?}", r.status());
        if follows {
            r.receive(cx, &file);
            assert_eq!(spoken(&mut r, &mut sink)[3], b'Y');
        }
        turn_against(&mut r, &mut sink, |_| Vec::new());
        let kind = if follows { FailureKind::Silence } else { FailureKind::PeerError };
        let expected = Failure { blame: Blame::Peer, kind };
        assert_eq!(r.status(), Status::Over(Outcome::Failed(expected)));
    }
}

/// Three raw Ctrl-C from a user at a terminal end a transfer that hangs.
#[test]
fn raw_interrupts_end_a_transfer() {
    let mut r = receiver(&config(&[]));
    turn_against(&mut r, &mut Sink::new(), |_| vec![3]);
    let expected = Failure { blame: Blame::Local, kind: FailureKind::Aborted };
    assert_eq!(r.status(), Status::Over(Outcome::Failed(expected)));
}

#[test]
fn after_the_end_no_byte_is_taken() {
    let set = config(&[("reliable", "on")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("f", b"x")]);
    let mut sink = Sink::new();
    Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    let cx = &mut Cx { now: Instant(99_000_000_000), trace: &mut Edges::new() };
    assert_eq!(s.receive(cx, b"$ "), 0);
    assert_eq!(r.receive(cx, b"$ "), 0);
}

/// On a line that may lose the last acknowledgement the receiver stays, but only for a repeated B.
#[test]
fn a_lingering_receiver_leaves_the_prompt_alone() {
    let set = config(&[("streaming", "off"), ("reliable", "off")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("f", b"x")]);
    let mut sink = Sink::new();
    let mut lost = false;
    let mut outgoing = Vec::new();
    {
        let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
        let (lost, outgoing) = (&mut lost, &mut outgoing);
        pair.meddle = Box::new(move |from_sender, wire| {
            if from_sender {
                outgoing.clone_from(wire);
            } else if !*lost && outgoing.get(3) == Some(&b'B') {
                // The first acknowledgement of B is lost.
                *lost = true;
                wire.clear();
            }
        });
        let ends = pair.run();
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    }
    assert!(lost);
    assert_eq!(s.stats().retransmissions, 1);
    assert_eq!(r.stats().duplicates, 1);
}
