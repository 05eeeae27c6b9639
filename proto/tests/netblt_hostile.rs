//! NETBLT against peers and strangers that do what they must not: it ends clearly, in the memory
//! that it was given, and no false success is reported.

use crate::common;
use crate::netblt_exchange;

use common::{Dice, File, Sink, Source};
use netblt_exchange::{
    ACTIVE, DEATH_S, End, PASSIVE, against, config, data, datagram, pair, passive, receiver,
    sender, terms,
};
use std::collections::VecDeque;
use std::time::Duration;
use wetstring_proto::netblt::checksum::checksum;
use wetstring_proto::netblt::control::{Offer, put_go, put_ok, put_resend};
use wetstring_proto::netblt::packet::{Body, Packet, Ports, Terms};
use wetstring_proto::netblt::{Config, Role};
use wetstring_proto::{Blame, FailureKind, Outcome};

const DEATH: Duration = Duration::from_secs(DEATH_S as u64);
/// From the one that opens, and from the one that waits.
const THERE: Ports = Ports { local: ACTIVE, foreign: PASSIVE };
const BACK: Ports = Ports { local: PASSIVE, foreign: ACTIVE };

fn file(len: usize) -> File {
    let mut dice = Dice(len as u64);
    let bytes: Vec<u8> = (0..len).map(|_| dice.roll(256) as u8).collect();
    File::new("file.bin", &bytes)
}

fn failed(end: &End, blame: Blame) {
    let Outcome::Failed(failure) = end.outcome else { panic!("{end:?}") };
    assert_eq!(failure.blame, blame, "{end:?}");
    assert_eq!(end.allocations, 0, "{end:?}");
}

/// A receiver made by hand: answers OPEN, and says these messages every 50 ms.
fn says(
    messages: &mut dyn FnMut(u64) -> Vec<u8>,
) -> impl FnMut(Duration, Option<&Packet<'_>>, &mut Vec<Vec<u8>>) {
    let (mut open, mut last) = (false, None);
    move |now, heard, out| {
        if let Some(Packet { body: Body::Open(asked), .. }) = heard {
            open = true;
            let answer = Terms { client: b"", ..*asked };
            out.push(datagram(BACK, Body::Response(answer)));
        }
        let turn = now.as_millis() as u64 / 50;
        if open && last != Some(turn) {
            last = Some(turn);
            out.push(datagram(BACK, Body::Control(&messages(turn))));
            out.push(datagram(BACK, Body::KeepAlive));
        }
    }
}

fn go(sequence: u16, buffer: u32) -> Vec<u8> {
    let mut into = vec![0; 8];
    put_go(&mut into, sequence, buffer).expect("it fits");
    into
}

fn ok(sequence: u16, buffer: u32) -> Vec<u8> {
    let mut into = vec![0; 16];
    let offer = Offer { burst_size: 5, burst_interval_ms: 10, control_timer_ms: 500 };
    put_ok(&mut into, sequence, buffer, offer).expect("it fits");
    into
}

fn resend(sequence: u16, buffer: u32, packets: &[u16]) -> Vec<u8> {
    let mut into = vec![0; 12 + 4 * packets.len().max(1)];
    let made = put_resend(&mut into, sequence, buffer, packets.iter().copied());
    into.truncate(made.map_or(0, |(len, _)| len));
    into
}

#[test]
fn a_receiver_that_never_acknowledges() {
    // It grants everything, stays alive, and reports indefinitely that it has nothing.
    let mut sink_hole = |turn: u64| {
        let mut all: Vec<u8> = (1..=4).flat_map(|n| go(n as u16, n)).collect();
        all.extend(resend(5 + turn as u16, 1, &[0, 1, 2]));
        all
    };
    let mut source = Source::new(vec![file(30_000)]);
    let mut engine = sender(&config());
    let end = against(&mut engine, &mut source, &mut says(&mut sink_hole), DEATH * 6);
    failed(&end, Blame::Line);
    // The peer is alive, but nothing continues: four times the death timer.
    assert!(end.after > DEATH * 3 && end.after < DEATH * 5, "{end:?}");
    assert_eq!(source.closed, [(false, false)]);
    // What it asks for again is retransmitted, at the rate and no faster: 5 packets every 10 ms.
    let most = end.after.as_millis() as u64 / 10 * 5 * 1024 + 10_000;
    assert!(end.sent < most, "{end:?}");
}

#[test]
fn silent_receiver() {
    let mut source = Source::new(vec![file(30_000)]);
    let mut engine = sender(&config());
    let mut peer = |_: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
        if let Some(Packet { body: Body::Open(asked), .. }) = heard {
            out.push(datagram(BACK, Body::Response(Terms { client: b"", ..*asked })));
            out.push(datagram(BACK, Body::Control(&go(1, 1))));
        }
    };
    let end = against(&mut engine, &mut source, &mut peer, DEATH * 3);
    failed(&end, Blame::Line);
    assert!(end.after >= DEATH && end.after < DEATH + DEATH / 4, "{end:?}");
}

#[test]
fn messages_about_buffers_that_do_not_exist() {
    let numbers = [4, 5, 8, 1000, 0x7FFF_FFFF, 0x8000_0001, u32::MAX, 0];
    for kind in 0..3 {
        // The first buffer is 1, and there are three. The rest of what is said is of others.
        let mut messages = |turn: u64| {
            let mut all = go(1, 1);
            for (at, number) in numbers.iter().enumerate() {
                let sequence = 2 + (turn as u16 % 500) * 8 + at as u16;
                all.extend(match kind {
                    0 => go(sequence, *number),
                    1 => ok(sequence, *number),
                    _ => resend(sequence, *number, &[0, 9, 65_535]),
                });
            }
            all
        };
        let mut source = Source::new(vec![file(25_000)]);
        let mut engine = sender(&config());
        let end = against(&mut engine, &mut source, &mut says(&mut messages), DEATH * 6);
        failed(&end, Blame::Line);
        assert_eq!(source.closed, [(false, false)], "no success without its buffers");
    }
}

#[test]
fn lists_that_ask_beyond_the_end_are_answered_by_the_end() {
    let mut messages = |turn: u64| {
        let mut all = go(1, 1);
        all.extend(resend(2 + turn as u16, 1, &[1, 700, 65_535]));
        all
    };
    let mut source = Source::new(vec![file(2500)]);
    let mut engine = sender(&config());
    let mut seen: Vec<u16> = Vec::new();
    {
        let mut peer = says(&mut messages);
        let mut listening = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
            if let Some(Packet { body: Body::Data(data), .. }) = heard {
                seen.push(data.packet);
            }
            peer(now, heard, out);
        };
        failed(&against(&mut engine, &mut source, &mut listening, DEATH * 6), Blame::Line);
    }
    // 2520 bytes with the digest are three packets.
    assert_eq!(seen[..3], [0, 1, 2]);
    assert!(seen[3..].iter().all(|packet| [1, 2].contains(packet)), "{seen:?}");
}

#[test]
fn a_sender_that_never_stops() {
    // It says that the file has 1000 bytes, or omits its length, and sends indefinitely.
    for (client, said) in [(&b"wst1 s=1000 name=short"[..], true), (b"wst1 name=endless", false)] {
        let mut sink = Sink { room: Some(200_000), ..Sink::new() };
        let mut engine = receiver(&passive());
        let mut next = 0u32;
        let mut open = false;
        let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
            if now.is_zero() && heard.is_none() {
                out.push(datagram(THERE, Body::Open(terms(5, true, client))));
            }
            open |= matches!(heard, Some(Packet { body: Body::Response(_), .. }));
            if open && heard.is_none() {
                // Whatever was granted, and whatever was not.
                for _ in 0..10 {
                    let (buffer, packet) = (1 + next / 10, (next % 10) as u16);
                    out.push(data(THERE, buffer, packet, (packet == 9, false), &[7; 1000]));
                    next += 1;
                }
            }
        };
        let end = against(&mut engine, &mut sink, &mut peer, DEATH * 6);
        assert_eq!(sink.files.len(), 1);
        assert!(!sink.files[0].complete, "it never became whole");
        if said {
            // It continues where it said that it would end.
            let differs = common::failed(Blame::Peer, FailureKind::LengthDiffers);
            assert_eq!((end.outcome, end.allocations), (differs, 0), "{end:?}");
            assert!(sink.files[0].bytes.len() <= 1000);
        } else {
            failed(&end, Blame::Store);
        }
        assert!(end.sent < 20_000, "it is not answered packet by packet: {end:?}");
    }
}

#[test]
fn a_buffer_that_ends_early_is_not_whole() {
    // Found by the fuzzer: an LDATA in the midst of a buffer made it whole, with whatever stood in memory.
    for client in [&b"wst1 s=30000 name=early"[..], b"wst1 name=early"] {
        let mut sink = Sink::new();
        let mut engine = receiver(&passive());
        let mut open = false;
        let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
            if now.is_zero() && heard.is_none() {
                out.push(datagram(THERE, Body::Open(terms(5, true, client))));
            }
            open |= matches!(heard, Some(Packet { body: Body::Response(_), .. }));
            if open && heard.is_none() {
                for buffer in 1..4 {
                    out.push(data(THERE, buffer, 0, (true, false), &[7; 1000]));
                }
                // The last buffer of a file whose length is known has its end where that says.
                out.push(data(THERE, 3, 1, (true, true), &[7; 1000]));
            }
        };
        let end = against(&mut engine, &mut sink, &mut peer, DEATH * 6);
        // Of a file whose length is known the last buffer is, too.
        let known = client.starts_with(b"wst1 s=");
        failed(&end, if known { Blame::Peer } else { Blame::Line });
        assert!(sink.files.iter().all(|file| !file.complete), "{end:?}");
        assert!(sink.files.iter().all(|file| file.bytes.len() <= 1000), "{end:?}");
    }
}

#[test]
fn failing_store_after_the_end_is_not_retried_indefinitely() {
    // Found by the fuzzer: what was here when the peer gave up was to be kept, and the store could not.
    let mut sink = Sink { room: Some(0), ..Sink::new() };
    let mut engine = receiver(&passive());
    let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
        if now.is_zero() && heard.is_none() {
            out.push(datagram(THERE, Body::Open(terms(5, true, b"wst1 s=30000 name=gone"))));
        }
        if matches!(heard, Some(Packet { body: Body::Control(_), .. })) {
            for packet in 0..10 {
                out.push(data(THERE, 1, packet, (packet == 9, false), &[7; 1000]));
            }
            out.push(datagram(THERE, Body::Abort(b"enough")));
        }
    };
    failed(&against(&mut engine, &mut sink, &mut peer, DEATH * 6), Blame::Peer);
    assert!(!sink.files[0].complete);
}

#[test]
fn unverifiable_resume_is_failure() {
    // The sender takes the last OK for a comparison, so a receiver that cannot compare says none.
    for write in [true, false] {
        let (mut source, mut sink) = (Source::new(vec![file(20_000)]), Sink::new());
        sink.digests = false;
        let (from, to) = if write { (config(), passive()) } else { (passive(), config()) };
        let (mut sending, mut receiving) = (sender(&from), receiver(&to));
        let mut pass = |_: bool, bytes: Vec<u8>, out: &mut VecDeque<Vec<u8>>| out.push_back(bytes);
        let a = (&mut sending as &mut dyn wetstring_proto::Engine, &mut source as _);
        let b = (&mut receiving as &mut dyn wetstring_proto::Engine, &mut sink as _);
        let [sent, received] = pair(a, b, &mut pass, DEATH * 6);
        let blame = |outcome| match outcome {
            Outcome::Failed(failure) => Some(failure.blame),
            Outcome::Done => None,
        };
        assert_eq!((blame(sent), blame(received)), (Some(Blame::Peer), Some(Blame::Store)));
        assert_eq!(source.closed, [(false, false)]);
        assert!(!sink.files[0].complete);
    }
}

#[test]
fn endlessly_repeating_sender() {
    let mut sink = Sink::new();
    let mut engine = receiver(&passive());
    let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
        if heard.is_some() {
            return;
        }
        if now.is_zero() {
            out.push(datagram(THERE, Body::Open(terms(5, true, b"wst1 s=50000 name=again"))));
        } else {
            out.push(data(THERE, 1, 0, (false, false), &[7; 1000]));
        }
    };
    let end = against(&mut engine, &mut sink, &mut peer, DEATH * 6);
    failed(&end, Blame::Line);
    assert!(end.after > DEATH * 3, "{end:?}");
}

#[test]
fn sizes_of_four_gigabytes() {
    let huge = Terms {
        buffer_size: u32::MAX,
        transfer_size: u32::MAX,
        packet_size: u16::MAX,
        burst_size: u16::MAX,
        burst_interval_ms: u16::MAX,
        death_s: u16::MAX,
        outstanding: u16::MAX,
        ..terms(
            5,
            true,
            b"wst1 x s=18446744073709551615 n=4294967295,18446744073709551615 name=huge",
        )
    };
    // To a receiver that waits: it lowers them to what it has memory for.
    let mut sink = Sink::new();
    let mut engine = receiver(&passive());
    let mut answer = None;
    let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
        if now.is_zero() && heard.is_none() {
            out.push(datagram(THERE, Body::Open(huge)));
        }
        if let Some(Packet { body: Body::Response(terms), .. }) = heard {
            answer = Some((terms.buffer_size, terms.packet_size, terms.outstanding));
        }
    };
    failed(&against(&mut engine, &mut sink, &mut peer, DEATH * 6), Blame::Line);
    let (buffer, packet, outstanding) = answer.expect("it answered");
    assert!(buffer <= 10_000 && packet <= 1000 && outstanding <= 4, "{answer:?}");
    // To a sender that waits.
    let mut source = Source::new(vec![file(5000)]);
    let mut engine = sender(&passive());
    let mut answer = None;
    let mut peer = |now: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
        if now == Duration::from_secs(1) && heard.is_none() {
            out.push(datagram(THERE, Body::Open(Terms { write: false, ..huge })));
        }
        if let Some(Packet { body: Body::Response(terms), .. }) = heard {
            answer = Some((terms.buffer_size, terms.packet_size, terms.outstanding));
        }
    };
    failed(&against(&mut engine, &mut source, &mut peer, DEATH * 6), Blame::Line);
    let (buffer, packet, outstanding) = answer.expect("it answered");
    assert!(buffer <= 10_000 && packet <= 1000 && outstanding <= 4, "{answer:?}");
    // As an answer to an OPEN they break the rule.
    for write in [true, false] {
        let reading = Config { role: Role::Active, ..config() };
        let mut peer = |_: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
            if let Some(Packet { body: Body::Open(asked), .. }) = heard {
                out.push(datagram(BACK, Body::Response(Terms { id: asked.id, write, ..huge })));
            }
        };
        let end = if write {
            let mut source = Source::new(vec![file(5000)]);
            against(&mut sender(&config()), &mut source, &mut peer, DEATH)
        } else {
            against(&mut receiver(&reading), &mut Sink::new(), &mut peer, DEATH)
        };
        let Outcome::Failed(failure) = end.outcome else { panic!("{end:?}") };
        assert_eq!((failure.blame, failure.kind), (Blame::Peer, FailureKind::Violation));
    }
}

#[test]
fn sizes_of_nothing() {
    for zeroed in 0..4 {
        let mut none = terms(5, true, b"wst1 s=10 name=none");
        match zeroed {
            0 => none.buffer_size = 0,
            1 => none.packet_size = 0,
            2 => none.burst_size = 0,
            _ => none.outstanding = 0,
        }
        for write in [true, false] {
            let mut peer = |_: Duration, heard: Option<&Packet<'_>>, out: &mut Vec<Vec<u8>>| {
                if let Some(Packet { body: Body::Open(asked), .. }) = heard {
                    out.push(datagram(BACK, Body::Response(Terms { id: asked.id, write, ..none })));
                }
            };
            let end = if write {
                let mut source = Source::new(vec![file(5000)]);
                against(&mut sender(&config()), &mut source, &mut peer, DEATH * 6)
            } else {
                against(&mut receiver(&config()), &mut Sink::new(), &mut peer, DEATH * 6)
            };
            failed(&end, Blame::Peer);
        }
    }
}

/// Changes a byte of a packet and makes its checksum right again.
fn changed(bytes: &[u8], at: usize, to: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] = to;
    let covered = if matches!(bytes[3], 6 | 7) { 24.min(bytes.len()) } else { bytes.len() };
    bytes[..2].fill(0);
    let sum = checksum(&bytes[..covered]);
    bytes[..2].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// What strangers make of a datagram that they saw, besides the datagram itself.
fn strange(
    kind: usize,
    seen: &[Vec<u8>],
    bytes: &[u8],
    dice: &mut Dice,
    out: &mut VecDeque<Vec<u8>>,
) {
    match kind {
        // Cut at any length.
        0 => out.push_back(bytes[..dice.roll(bytes.len())].to_vec()),
        // Another version, its checksum right.
        1 => out.push_back(changed(bytes, 2, 2 + dice.roll(200) as u8)),
        // A type that there is not.
        2 => out.push_back(changed(bytes, 3, 12 + dice.roll(200) as u8)),
        // Other ports.
        3 => out.push_back(changed(bytes, 6 + dice.roll(4), 0x77)),
        // Another unique ID.
        4 if bytes[3] < 2 => out.push_back(changed(bytes, 12 + dice.roll(4), 0x99)),
        // A length that is not so.
        5 => out.push_back(changed(bytes, 4 + dice.roll(2), dice.roll(256) as u8)),
        // Damage.
        6 => {
            let mut bytes = bytes.to_vec();
            let at = dice.roll(bytes.len());
            bytes[at] ^= 1 << dice.roll(8);
            out.push_back(bytes);
        }
        // Said before, of any age.
        7 => out.extend((0..3).map(|_| seen[dice.roll(seen.len())].clone())),
        // Anything.
        _ => out.push_back((0..dice.roll(200)).map(|_| dice.roll(256) as u8).collect()),
    }
}

#[test]
fn strangers_do_not_disturb_a_transfer() {
    for kind in 0..9 {
        for write in [true, false] {
            let what = file(120_000);
            let (mut source, mut sink) = (Source::new(vec![what.clone()]), Sink::new());
            let (from, to) = if write { (config(), passive()) } else { (passive(), config()) };
            let (mut sending, mut receiving) = (sender(&from), receiver(&to));
            let mut dice = Dice(kind as u64);
            let mut seen = [Vec::new(), Vec::new()];
            let mut meddle = |forth: bool, bytes: Vec<u8>, out: &mut VecDeque<Vec<u8>>| {
                let seen = &mut seen[usize::from(forth)];
                seen.push(bytes.clone());
                // Whose OPEN comes first is whom a listener of one session serves.
                if bytes[3] > 0 {
                    strange(kind, seen, &bytes, &mut dice, out);
                }
                out.push_back(bytes.clone());
                strange(kind, seen, &bytes, &mut dice, out);
            };
            let a = (&mut sending as &mut dyn wetstring_proto::Engine, &mut source as _);
            let b = (&mut receiving as &mut dyn wetstring_proto::Engine, &mut sink as _);
            let ends = pair(a, b, &mut meddle, Duration::from_secs(120));
            assert_eq!(ends, [Outcome::Done; 2], "kind {kind}, write {write}");
            assert_eq!(sink.files.len(), 1, "kind {kind}, write {write}");
            assert!(sink.files[0].complete && sink.files[0].bytes == what.bytes, "kind {kind}");
        }
    }
}

#[test]
fn forged_controls_and_data_of_the_connection_itself() {
    // Who can make packets of the connection can end it, on RFC 998's own wire; but the file that is
    // called verified is the file, and both ends come to an end.
    for seed in 0..60 {
        let what = file(60_000);
        let (mut source, mut sink) = (Source::new(vec![what.clone()]), Sink::new());
        let (mut sending, mut receiving) = (sender(&config()), receiver(&passive()));
        let mut dice = Dice(seed);
        let mut meddle = |forth: bool, bytes: Vec<u8>, out: &mut VecDeque<Vec<u8>>| {
            out.push_back(bytes);
            if dice.roll(10) > 0 {
                return;
            }
            let buffer = [0, 1, 2, 3, 6, 7, 100, u32::MAX][dice.roll(8)];
            let sequence = [1, 2, 3, 9, 40, 32_000, 65_535][dice.roll(7)];
            if forth {
                let made = vec![dice.roll(256) as u8; dice.roll(1100)];
                let packet = [0, 1, 9, 10, 65_535][dice.roll(5)];
                let last = (dice.roll(2) == 1, dice.roll(4) == 0);
                out.push_back(data(THERE, buffer, packet, last, &made));
            } else {
                let message = match dice.roll(3) {
                    0 => go(sequence, buffer),
                    1 => ok(sequence, buffer),
                    _ => resend(sequence, buffer, &[0, 3, 65_535]),
                };
                out.push_back(datagram(BACK, Body::Control(&message)));
            }
        };
        let a = (&mut sending as &mut dyn wetstring_proto::Engine, &mut source as _);
        let b = (&mut receiving as &mut dyn wetstring_proto::Engine, &mut sink as _);
        let [_, received] = pair(a, b, &mut meddle, DEATH * 20);
        for came in sink.files.iter().filter(|came| came.verified) {
            assert!(came.bytes == what.bytes, "seed {seed}: {received:?}");
        }
    }
}
