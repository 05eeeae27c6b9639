//! Peers that do less than the documents ask: streams whose end is not acknowledged, start characters
//! that get lost, receivers that cancel at the second EOT.

use crate::bench;
use crate::common;

use bench::Bench;
use common::{File, Sink, Source, failed};
use wetstring_proto::xymodem::Config;
use wetstring_proto::xymodem::frame::{Check, HEADER, finish};
use wetstring_proto::{Blame, Duration, Engine, FailureKind, Outcome, Status};

const EOT: u8 = 4;
const ACK: u8 = 6;
const NAK: u8 = 0x15;

common::protocol!(xymodem, Config { buffer_len: 4096, ..Config::default() });

fn block(number: u8, data: &[u8]) -> Vec<u8> {
    let mut block = vec![0; HEADER + data.len() + 2];
    block[HEADER..HEADER + data.len()].copy_from_slice(data);
    let len = finish(&mut block, number, data.len(), Check::Crc);
    block.truncate(len);
    block
}

fn header(text: &[u8]) -> Vec<u8> {
    let mut data = vec![0; 128];
    data[..text.len()].copy_from_slice(text);
    block(0, &data)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Two files, up to the null block. `acks`: the ends of files are acknowledged as the document has
/// it; else only `G` comes, for the next file.
fn to_the_null_block(bench: &mut Bench<'_>, acks: bool) -> Vec<u8> {
    let mut said = bench.give(b"G");
    said.extend(bench.wait(ms(400)));
    for _ in 0..2 {
        assert_eq!(said[..3], [1, 0, 0xff], "a header");
        said = bench.give(b"G");
        said.extend(bench.wait(ms(100)));
        assert_eq!(said.last(), Some(&EOT));
        if acks {
            said = bench.give(&[ACK]);
            assert_eq!(said, b"");
            said.extend(bench.give(b"G"));
        } else {
            assert_eq!(bench.wait(ms(1000)), b"");
            // A late one would look the same: EOT comes again, and one more is believed.
            assert_eq!(bench.give(b"G"), [EOT]);
            assert_eq!(bench.wait(ms(1000)), b"");
            said = bench.give(b"G");
        }
        // It may first listen for a second answer to EOT.
        for _ in 0..20 {
            if said.is_empty() {
                said = bench.wait(ms(50));
            }
        }
    }
    said
}

#[test]
fn end_of_a_stream_is_not_awaited() {
    for acks in [true, false] {
        let set = config(&[("variant", "ymodem-g")]);
        let mut engine = sender(&set);
        let files = [("a", &b"hello"[..]), ("b", &[b'x'; 3000])];
        let mut source = Source::new(files.map(|(name, bytes)| File::new(name, bytes)).to_vec());
        let mut bench = Bench::new(&mut engine, &mut source);
        let last = to_the_null_block(&mut bench, acks);
        assert_eq!(last, block(0, &[0; 128]), "acks {acks}");
        // No second one: there may be a shell after the receiver.
        assert_eq!(bench.wait(ms(1100)), b"", "acks {acks}");
        assert!(matches!(bench.engine.status(), Status::Over(Outcome::Done)), "acks {acks}");
        assert_eq!(bench.engine.stats().files_done, 2);
        // What comes then is not ours.
        assert_eq!(bench.give(b"$ "), b"");
        assert_eq!(bench.took, 0);
    }
}

#[test]
fn answer_to_the_end_of_a_stream_is_consumed() {
    let mut engine = sender(&config(&[("variant", "ymodem-g")]));
    let files = [("a", &b"hello"[..]), ("b", &[b'x'; 3000])];
    let mut source = Source::new(files.map(|(name, bytes)| File::new(name, bytes)).to_vec());
    let mut bench = Bench::new(&mut engine, &mut source);
    to_the_null_block(&mut bench, true);
    assert_eq!(bench.give(&[ACK, b'$']), b"");
    assert!(matches!(bench.engine.status(), Status::Over(Outcome::Done)));
    assert_eq!(bench.took, 1, "the prompt is left");
}

/// The `G` before a header, or before its data, is lost.
#[test]
fn lost_g_is_retransmitted() {
    let set = config(&[("variant", "ymodem-g")]);
    let (mut engine, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut engine, &mut sink);
    for (name, lost) in [("a", 11), ("b", 11), ("c", 31)] {
        // It was lost.
        let said = bench.wait(Duration::from_secs(lost));
        assert!(said.ends_with(b"G") && !said.contains(&NAK), "{name}: {said:?}");
        assert!(said.len() as u64 <= 1 + lost / 3, "{name}: {said:?}");
        assert_eq!(bench.give(&header(format!("{name}\0130").as_bytes())), b"G");
        // Nor this one.
        assert!(bench.wait(ms(10_500)).ends_with(b"G"), "{name}");
        assert_eq!(bench.give(&block(1, &[b'x'; 128])), b"");
        assert_eq!(bench.give(&block(2, &[b'y'; 128])), b"");
        bench.give(&[EOT]);
        bench.wait(ms(100));
    }
    bench.give(&block(0, &[0; 128]));
    bench.wait(Duration::from_secs(2));
    assert_eq!(bench.outcome(), Some(Outcome::Done));
    assert_eq!(
        sink.files.iter().filter(|file| file.complete && file.bytes.len() == 130).count(),
        3
    );
}

/// In the middle of the data nothing is asked for, and silence is the end.
#[test]
fn silent_stream_ends() {
    let set = config(&[("variant", "ymodem-g")]);
    let (mut engine, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut engine, &mut sink);
    bench.give(&header(b"a\x00300"));
    bench.give(&block(1, &[b'x'; 128]));
    bench.wait(Duration::from_secs(60));
    assert_eq!(bench.outcome(), Some(failed(Blame::Peer, FailureKind::Silence)));
}

/// It closes the file at the first EOT and cancels the second.
#[test]
fn cancel_at_second_eot_of_empty_file_is_success() {
    for (name, bytes, outcome) in [
        ("empty", &b""[..], Outcome::Done),
        ("not empty", b"hello", failed(Blame::Peer, FailureKind::Aborted)),
    ] {
        let mut engine = sender(&config(&[("variant", "xmodem-crc")]));
        let mut source = Source::new(vec![File::new("f", bytes)]);
        let mut bench = Bench::new(&mut engine, &mut source);
        let mut said = bench.give(b"C");
        said.extend(bench.wait(ms(100)));
        if !bytes.is_empty() {
            assert_eq!(said[0], 1);
            said = bench.give(&[ACK]);
            said.extend(bench.wait(ms(100)));
        }
        assert_eq!(said, [EOT], "{name}");
        said = bench.give(&[NAK]);
        said.extend(bench.wait(ms(100)));
        assert_eq!(said, [EOT], "{name}");
        bench.give(&[0x18, 0x18, 0x18]);
        bench.wait(ms(1000));
        assert_eq!(bench.outcome(), Some(outcome), "{name}");
        assert_eq!(bench.engine.stats().files_done, u64::from(bytes.is_empty()));
    }
    // At the first EOT it is a refusal.
    let mut engine = sender(&config(&[("variant", "xmodem-crc")]));
    let mut source = Source::new(vec![File::new("f", b"")]);
    let mut bench = Bench::new(&mut engine, &mut source);
    bench.give(b"C");
    assert_eq!(bench.wait(ms(100)), [EOT]);
    bench.give(&[0x18, 0x18]);
    bench.wait(ms(1000));
    assert_eq!(bench.outcome(), Some(failed(Blame::Peer, FailureKind::Aborted)));
}

/// The sender of a block that came to its end waits: the receiver does not let it wait for a second.
#[test]
fn nak_of_a_whole_block_comes_at_once() {
    let set = config(&[("variant", "xmodem-crc")]);
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    assert_eq!(bench.wait(ms(100)), b"C");
    assert_eq!(bench.give(&block(1, &[b'a'; 128])), [6]);
    let mut bad = block(2, &[b'b'; 128]);
    bad[50] ^= 1;
    assert_eq!(bench.give(&bad), b"");
    assert_eq!(bench.wait(ms(99)), b"");
    assert_eq!(bench.wait(ms(2)), [NAK]);
    // The STX of a long block was damaged: what seems to be its end is not, and the rest of it is no answer's place.
    let mut long = block(2, &[b'b'; 1024]);
    long[0] = 1;
    assert_eq!(bench.give(&long[..600]), b"");
    assert_eq!(bench.wait(ms(50)), b"");
    assert_eq!(bench.give(&long[600..]), b"");
    assert_eq!(bench.wait(ms(990)), b"");
    assert_eq!(bench.wait(ms(20)), [NAK]);
    assert_eq!(bench.give(&block(2, &[b'b'; 128])), [6]);
}

/// What looked like the ACK of EOT was noise, and then comes the NAK of a receiver that wants EOT twice.
#[test]
pub(crate) fn nak_after_ack_of_eot_repeats_eot() {
    let mut engine = sender(&config(&[]));
    let mut source = Source::new(vec![File::new("f", b"hello")]);
    let mut bench = Bench::new(&mut engine, &mut source);
    let mut answer = |bytes: &[u8]| {
        let mut said = bench.give(bytes);
        said.extend(bench.wait(ms(500)));
        said
    };
    assert_eq!(answer(b"C")[..3], [1, 0, 0xff], "the header");
    assert_eq!(answer(&[ACK]), b"");
    assert_eq!(answer(b"C")[..3], [1, 1, 0xfe], "the data");
    assert_eq!(answer(&[ACK]), [EOT]);
    assert_eq!(answer(&[ACK]), b"");
    assert_eq!(answer(&[NAK]), [EOT]);
    assert_eq!(answer(&[ACK]), b"");
    assert_eq!(answer(b"C")[..3], [1, 0, 0xff], "the empty header");
    answer(&[ACK]);
    assert_eq!(engine.status(), Status::Over(Outcome::Done));
    assert_eq!(source.closed, [(true, false)]);
}

/// U-Boot's `loady` acknowledges the header, says nothing, and takes the block; four seconds later it would ask. A C
/// that crosses the block brings no copy of it; one half a second later does.
#[test]
fn the_first_block_follows_a_silent_acknowledgement() {
    for (wait, waits) in [("0", true), ("300", false)] {
        let mut source = Source::new(vec![File::new("a", &[7; 300])]);
        let set = config(&[("variant", "ymodem"), ("block", "128"), ("go-wait", wait)]);
        let mut engine = sender(&set);
        let mut bench = Bench::new(&mut engine, &mut source);
        let mut said = bench.give(b"C");
        said.extend(bench.wait(ms(100)));
        assert_eq!(said[..3], [1, 0, 0xff], "a header");
        assert_eq!(bench.give(&[ACK]), b"");
        assert_eq!(bench.wait(ms(250)), b"");
        let first = bench.wait(ms(100));
        assert_eq!(first.is_empty(), waits, "{wait}: {first:?}");
        if waits {
            let mut first = bench.give(b"C");
            first.extend(bench.wait(ms(100)));
            assert_eq!(first[..3], [1, 1, 0xfe]);
            continue;
        }
        assert_eq!(first[..3], [1, 1, 0xfe]);
        assert_eq!(bench.give(b"C"), b"", "it crossed the block");
        bench.wait(ms(600));
        let mut copy = bench.give(b"C");
        copy.extend(bench.wait(ms(100)));
        assert_eq!(copy[..3], [1, 1, 0xfe]);
        // Both copies are acknowledged.
        let mut second = bench.give(&[ACK]);
        second.extend(bench.wait(ms(200)));
        second.extend(bench.give(&[ACK]));
        second.extend(bench.wait(ms(600)));
        assert_eq!(second[..3], [1, 2, 0xfd]);
    }
}
