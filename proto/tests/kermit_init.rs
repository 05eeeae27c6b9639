//! A damaged agreement damages files without a sign, and a Send-Init and its acknowledgement have only the
//! 6-bit check. So every damage of two bits that this check lets through is tried, and between our own ends
//! every one of three: what both ends call done must be the file.

use crate::common;
use common::{File, Pair, Sink, Source};
use wetstring_proto::Outcome;
use wetstring_proto::kermit::Config;
use wetstring_proto::kermit::check::Check;

common::protocol!(kermit, Config { buffer_len: 8192, ..Config::default() });

/// Which packet is hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hit {
    SendInit,
    Acknowledgement,
}

/// Every character that may be a prefix is before others, and runs do.
fn tempting() -> Vec<u8> {
    let mut bytes = Vec::new();
    for prefix in (33..=62u8).chain(96..=126) {
        bytes.extend([prefix, b'+', b'x', prefix, b'A', b'#', prefix, prefix, b'\n']);
        bytes.extend([prefix; 9]);
        bytes.extend([b' ', 0x80 | prefix, 0x1B, 0xFF]);
    }
    bytes
}

/// Transfers a file whose length says nothing (text, in a set without line ends), with this damage to the
/// first copy of a packet: pairs of positions and masks.
fn transfer(settings: &[(&str, &str)], hit: Hit, damage: &[(usize, u8)]) -> (bool, bool) {
    let set = Config { crlf_files: true, ..config(settings) };
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let bytes = tempting();
    let mut source = Source::new(vec![File { text: true, ..File::new("f", &bytes) }]);
    let mut sink = Sink::new();
    let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
    let mut left = 1;
    pair.meddle = Box::new(move |is_sender, wire| {
        let kind = if hit == Hit::SendInit { b'S' } else { b'Y' };
        if left > 0 && is_sender == (hit == Hit::SendInit) && wire.get(3) == Some(&kind) {
            left -= 1;
            for (at, mask) in damage {
                wire[*at] ^= mask;
            }
        }
    });
    let ends = pair.run();
    let done = (ends.sender, ends.receiver) == (Outcome::Done, Outcome::Done);
    let whole = sink.files.first().is_some_and(|file| file.complete && file.bytes == bytes);
    (done, whole)
}

/// The first Send-Init, or its acknowledgement, of a transfer with these settings.
fn packet(settings: &[(&str, &str)], hit: Hit) -> Vec<u8> {
    let set = Config { crlf_files: true, ..config(settings) };
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let mut source = Source::new(vec![File::new("f", b"x")]);
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    let (log, kind) = match hit {
        Hit::SendInit => (ends.to_receiver, b'S'),
        Hit::Acknowledgement => (ends.to_sender, b'Y'),
    };
    let at = log.windows(4).position(|bytes| bytes[0] == 1 && bytes[3] == kind).unwrap();
    let end = log[at..].iter().position(|byte| *byte == b'\r').unwrap();
    log[at..at + end].to_vec()
}

/// Whether the frame that a reader finds in these bytes is right by the 6-bit check.
fn passes(packet: &[u8]) -> bool {
    let len = usize::from(packet[1].wrapping_sub(32));
    let Some(end) = (3..=94).contains(&len).then_some(2 + len).filter(|end| *end <= packet.len())
    else {
        return false;
    };
    Check::Sum6.verify(&packet[1..end - 1], &packet[end - 1..end])
}

/// Tries every error of N bits that the check lets through: which of them end in a false success.
fn lies(settings: &[(&str, &str)], hit: Hit, flips: usize) -> Vec<String> {
    let sound = packet(settings, hit);
    let bits = (1..sound.len()).flat_map(|at| (0..7).map(move |bit| (at, 1u8 << bit)));
    let bits: Vec<_> = bits.collect();
    let (mut tried, mut lies) = (0, Vec::new());
    let mut chosen: Vec<usize> = (0..flips).collect();
    loop {
        let damage: Vec<_> = chosen.iter().map(|index| bits[*index]).collect();
        let mut packet = sound.clone();
        for (at, mask) in &damage {
            packet[*at] ^= mask;
        }
        if passes(&packet) {
            tried += 1;
            let (done, whole) = transfer(settings, hit, &damage);
            if done && !whole {
                lies.push(packet.escape_ascii().to_string());
            }
        }
        // The next choice, in lexical order.
        let Some(last) = (0..flips).rev().find(|&i| chosen[i] + flips - i < bits.len()) else {
            break;
        };
        chosen[last] += 1;
        for index in last + 1..flips {
            chosen[index] = chosen[index - 1] + 1;
        }
    }
    assert!(tried > 100, "{tried}");
    lies
}

/// A peer of another make, as far as the parameters go: they end before our own fields.
const STRANGER: &[(&str, &str)] = &[("init-length", "22"), ("streaming", "off"), ("digest", "off")];
const OWN: &[(&str, &str)] = &[("streaming", "off"), ("digest", "off")];

#[test]
fn flipped_bits_of_a_send_init_are_no_false_success() {
    for (settings, flips) in [(STRANGER, 2), (OWN, 3)] {
        let lies = lies(settings, Hit::SendInit, flips);
        assert!(lies.is_empty(), "{settings:?}: {} {lies:#?}", lies.len());
    }
}

#[test]
fn flipped_bits_of_its_acknowledgement_are_no_false_success() {
    for (settings, flips) in [(STRANGER, 2), (OWN, 3)] {
        let lies = lies(settings, Hit::Acknowledgement, flips);
        assert!(lies.is_empty(), "{settings:?}: {} {lies:#?}", lies.len());
    }
}

/// A receiver of another make that heard another repeat prefix echoes it, however often it is asked. What
/// it takes for a prefix never stands bare, so the file is whole all the same.
#[test]
fn peer_with_misread_repeat_prefix_gets_the_file() {
    let set = Config { crlf_files: true, ..config(STRANGER) };
    for other in *b"|}{>" {
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let bytes = tempting();
        let mut source = Source::new(vec![File { text: true, ..File::new("f", &bytes) }]);
        let mut sink = Sink::new();
        let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
        // Every copy, which no line does: the receiver takes them for what was meant.
        pair.meddle = Box::new(move |is_sender, wire| {
            let end = wire.len().saturating_sub(2);
            if is_sender && wire.get(3) == Some(&b'S') && wire[12] == b'~' {
                wire[12] = other;
                wire[end] = Check::Sum6.compute(&wire[1..end])[0];
            }
        });
        let ends = pair.run();
        assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done), "{ends:?}");
        assert!(sink.files[0].bytes == bytes, "{}", char::from(other));
        let echo = ends.to_sender.windows(4).filter(|w| w[0] == 1 && w[3] == b'Y').count();
        assert!(echo > 2, "{echo}");
    }
}

/// A peer with an unusual prefix repeats it when asked, and it is accepted.
#[test]
fn genuine_unusual_prefix_is_accepted() {
    for (at, prefix) in [(12, b'}'), (9, b'$')] {
        let set = Config { crlf_files: true, ..config(STRANGER) };
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let mut source = Source::new(vec![File { text: true, ..File::new("f", b"plain") }]);
        let mut sink = Sink::new();
        let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
        let mut copies = 0;
        pair.meddle = Box::new(move |is_sender, wire| {
            let end = wire.len().saturating_sub(2);
            if is_sender && wire.get(3) == Some(&b'S') {
                copies += 1;
                assert!(copies <= 3, "asked again and again");
                wire[at] = prefix;
                wire[end] = Check::Sum6.compute(&wire[1..end])[0];
            }
        });
        let ends = pair.run();
        assert_eq!(ends.sender, Outcome::Done, "{ends:?}");
        assert_eq!(sink.files.len(), 1);
    }
}
