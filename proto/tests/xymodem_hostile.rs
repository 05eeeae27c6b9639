//! Any bytes at any moment: no panic, no endless loop, no false success.

use crate::bench;
use crate::common;

use bench::Bench;
use common::{Dice, File, Pair, Sink, Source, failed};
use wetstring_proto::xymodem::Config;
use wetstring_proto::xymodem::frame::{Check, HEADER, finish};
use wetstring_proto::{Blame, Duration, Engine, FailureKind, Instant, Outcome, Refusal, Status};

const EOT: u8 = 4;
const ACK: u8 = 6;
const NAK: u8 = 0x15;

const VARIANTS: [&str; 5] = ["xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g"];

common::protocol!(xymodem, Config { buffer_len: 2048, ..Config::default() });

fn block(number: u8, data: &[u8], check: Check) -> Vec<u8> {
    let mut block = vec![0; HEADER + data.len() + 2];
    block[HEADER..HEADER + data.len()].copy_from_slice(data);
    let len = finish(&mut block, number, data.len(), check);
    block.truncate(len);
    block
}

fn crc(number: u8, fill: u8) -> Vec<u8> {
    block(number, &[fill; 128], Check::Crc)
}

fn header(text: &[u8]) -> Vec<u8> {
    let mut data = vec![0; if text.len() < 128 { 128 } else { 1024 }];
    data[..text.len()].copy_from_slice(text);
    block(0, &data, Check::Crc)
}

#[test]
fn random_bytes_and_random_blocks_come_to_an_end() {
    for seed in 0..300u64 {
        let mut dice = Dice(seed);
        let variant = VARIANTS[dice.roll(5)];
        let set = config(&[("variant", variant), ("answer-timeout", "5"), ("retries", "3")]);
        let well_formed = seed % 3 > 0;
        for is_sender in [true, false] {
            let mut source = Source::new(vec![File::new("f", &[b'x'; 3000])]);
            let mut sink = Sink::new();
            let (mut s, mut r) = (sender(&set), receiver(&set));
            let mut bench = if is_sender {
                Bench::new(&mut s, &mut source)
            } else {
                Bench::new(&mut r, &mut sink)
            };
            for _ in 0..400 {
                let bytes: Vec<u8> = if !well_formed {
                    (0..dice.roll(300)).map(|_| dice.roll(256) as u8).collect()
                } else if is_sender {
                    vec![b"\x06\x15CG\x18\x04x"[dice.roll(7)]; 1 + dice.roll(2)]
                } else {
                    let data =
                        vec![dice.roll(256) as u8; if dice.roll(3) == 0 { 1024 } else { 128 }];
                    let check = if dice.roll(2) == 0 { Check::Crc } else { Check::Sum };
                    let mut block = block(dice.roll(4) as u8, &data, check);
                    if dice.roll(5) == 0 {
                        let at = dice.roll(block.len());
                        block[at] ^= 1 << dice.roll(8);
                    }
                    block
                };
                bench.give(&bytes);
                bench.wait(Duration::from_millis(dice.roll(900) as u64));
            }
            bench.wait(Duration::from_secs(2000));
            let over = matches!(bench.engine.status(), Status::Over(_));
            assert!(over, "seed {seed} {variant}: {:?}", bench.engine.status());
            assert!(bench.now < Instant::ZERO + Duration::from_secs(3000));
        }
    }
}

/// Bytes changed, lost and doubled in a good session with CRCs: success must be the truth.
#[test]
fn noise_never_makes_a_false_success() {
    let mut through = 0;
    for seed in 0..600u64 {
        let mut dice = Dice(seed);
        let variant = ["xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g"][seed as usize % 4];
        let set = config(&[("variant", variant), ("starts", "0"), ("answer-timeout", "5")]);
        let bytes: Vec<u8> = (0..4000).map(|_| dice.roll(256) as u8).collect();
        let (mut s, mut r) = (sender(&set), receiver(&set));
        let mut source = Source::new(vec![File::new("f", &bytes)]);
        let mut sink = Sink::new();
        let mut pair = Pair::new(&mut s, &mut r, &mut source, &mut sink);
        pair.chunk = 50;
        let one_in = 3000;
        pair.meddle = Box::new(move |_, bytes| {
            let mut at = 0;
            while at < bytes.len() {
                match dice.roll(one_in) {
                    0 => bytes[at] = dice.roll(256) as u8,
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, bytes[at]),
                    _ => {}
                }
                at += 1;
            }
        });
        let ends = pair.run();
        let whole = sink.files.iter().filter(|file| file.complete).count();
        for file in sink.files.iter().filter(|file| file.complete) {
            let same = file.bytes.starts_with(&bytes);
            assert!(same && file.bytes.len() < bytes.len() + 1024, "{variant} seed {seed}");
        }
        if ends.sender == Outcome::Done || ends.receiver == Outcome::Done {
            assert_eq!(whole, 1, "{variant} seed {seed}: {ends:?}");
        }
        through += u32::from(ends.sender == Outcome::Done);
    }
    assert!(through > 300, "{through} came through");
}

/// 0x04 where no EOT belongs: at rest, before the first block, before the rest of a block.
#[test]
fn stray_eot_is_not_end_of_file() {
    let set = config(&[("variant", "xmodem-crc")]);
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    assert_eq!(bench.wait(Duration::from_millis(100)), b"C");
    // Before the first block.
    let said = [bench.give(&[4]), bench.wait(Duration::from_millis(200))].concat();
    assert_eq!(said, [0x15], "refused once");
    assert_eq!(bench.give(&crc(1, b'a')), [6]);
    // While the line is at rest: the sender, asked, sends its block again.
    bench.give(&[4]);
    assert_eq!(bench.wait(Duration::from_millis(200)), [0x15]);
    assert_eq!(bench.give(&crc(1, b'a')), [6]);
    // In front of a block, as a damaged SOH would be.
    let mut bad = crc(2, b'b');
    bad[0] = 4;
    assert_eq!(bench.give(&bad), b"");
    assert_eq!(bench.wait(Duration::from_millis(1500)), [0x15]);
    // An end after a block that is owed is not taken, however often it comes.
    for _ in 0..3 {
        bench.give(&[4]);
        assert_eq!(bench.wait(Duration::from_millis(200)), [0x15]);
    }
    assert_eq!(bench.give(&crc(2, b'b')), [6]);
    // Now it is one.
    bench.give(&[4]);
    assert_eq!(bench.wait(Duration::from_millis(200)), [0x15]);
    let said = [bench.give(&[4]), bench.wait(Duration::from_millis(200))].concat();
    assert_eq!(said, [6]);
    assert_eq!(bench.outcome(), Some(Outcome::Done));
    assert_eq!(sink.files[0].bytes, [[b'a'; 128], [b'b'; 128]].concat());
}

/// An EOT before the announced length is refused, and then fatal.
#[test]
fn ymodem_does_not_end_before_its_length() {
    for eot_rule in ["auto", "nak", "wait"] {
        let set = config(&[("variant", "ymodem"), ("first-eot", eot_rule)]);
        let (mut r, mut sink) = (receiver(&set), Sink::new());
        let mut bench = Bench::new(&mut r, &mut sink);
        assert_eq!(bench.give(&header(b"f\x00200 0 0")), b"C\x06C");
        assert_eq!(bench.give(&crc(1, b'a')), [6]);
        for _ in 0..5 {
            bench.give(&[4]);
            let said = bench.wait(Duration::from_millis(1500));
            assert!(said.first().is_none_or(|byte| *byte != 6), "{eot_rule}: {said:?}");
        }
        assert_eq!(bench.outcome(), Some(failed(Blame::Peer, FailureKind::LengthDiffers)));
        assert!(!sink.files[0].complete);
    }
}

#[test]
fn announced_nonsense() {
    let begin = |text: &[u8], refuse: Option<Refusal>| {
        let set = config(&[("variant", "ymodem")]);
        let (mut r, mut sink) = (receiver(&set), Sink { refuse, ..Sink::new() });
        let mut bench = Bench::new(&mut r, &mut sink);
        bench.give(&header(text));
        (bench.outcome(), sink)
    };
    // 10 GB, a million files: it is for the store to say no.
    let (outcome, sink) = begin(b"f\x0010000000000 0 0 0 1000000 99999999999999", None);
    assert!(outcome.is_none() && sink.files.len() == 1);
    let (outcome, _) = begin(b"f\x0010000000000", Some(Refusal::NoSpace));
    assert_eq!(outcome, Some(failed(Blame::Local, FailureKind::Refused)));
    // A name without an end.
    let (outcome, sink) = begin(&[b'n'; 1024], None);
    assert_eq!(outcome, Some(failed(Blame::Peer, FailureKind::Violation)));
    assert!(sink.files.is_empty());
    // The longest name there can be.
    let mut name = vec![b'n'; 1023];
    name.push(0);
    let (outcome, sink) = begin(&name, None);
    assert!(outcome.is_none());
    assert_eq!(sink.files[0].name.len(), 1023);
}

/// A name of 60 kB cannot be told: the file is refused here, the others go.
#[test]
pub(crate) fn a_name_of_60_kilobytes() {
    let set = config(&[("variant", "ymodem")]);
    let (mut s, mut r) = (sender(&set), receiver(&set));
    let long = "n".repeat(60_000);
    let mut source = Source::new(vec![File::new(&long, b"x"), File::new("short", b"y")]);
    let mut sink = Sink::new();
    let ends = Pair::new(&mut s, &mut r, &mut source, &mut sink).run();
    assert_eq!((ends.sender, ends.receiver), (Outcome::Done, Outcome::Done));
    assert_eq!(sink.files.len(), 1);
    assert_eq!((s.stats().files_done, s.stats().files_skipped), (1, 1));
}

/// A known length cuts the padding, up to a block of it. More is a longer file, which is not whole; the
/// sender is told, so that one that never ends is not heard for long.
#[test]
fn file_longer_than_announced_is_incomplete() {
    let run = |lengths: &[usize]| {
        let set = config(&[("variant", "ymodem")]);
        let (mut r, mut sink) = (receiver(&set), Sink::new());
        let mut bench = Bench::new(&mut r, &mut sink);
        bench.give(&header(b"f\x00100"));
        let mut said = Vec::new();
        for (number, len) in (1u8..).zip(lengths) {
            said = bench.give(&block(number, &vec![7; *len], Check::Crc));
        }
        if bench.outcome().is_none() {
            said = bench.give(&[4]);
            bench.give(&[4]);
            bench.wait(Duration::from_millis(1500));
            bench.give(&header(b""));
            bench.wait(Duration::from_secs(10));
        }
        (bench.outcome(), said, sink)
    };
    // The rest of its last block, and up to a block after it.
    for lengths in [&[128][..], &[1024], &[128, 128], &[128, 128, 128]] {
        let (outcome, _, sink) = run(lengths);
        assert_eq!(outcome, Some(Outcome::Done), "{lengths:?}");
        assert!(sink.files[0].complete && sink.files[0].bytes == [7; 100]);
    }
    for lengths in [&[128, 1024][..], &[1024, 1024], &[1024; 50]] {
        let (outcome, said, sink) = run(lengths);
        assert_eq!(outcome, Some(failed(Blame::Peer, FailureKind::LengthDiffers)), "{lengths:?}");
        assert!(!sink.files[0].complete && sink.files[0].bytes.len() == 100);
        assert!(lengths.len() > 2 || said.starts_with(&[0x18; 5]), "the sender is told: {said:?}");
    }
}

/// Noise without a pause. There is no moment at which to ask, and no block in it.
#[test]
fn noise_that_never_ends() {
    for variant in ["xmodem", "xmodem-crc", "ymodem"] {
        for noise in [&[1][..], &[2, 1, 0xFE], &[0x15], &[0xFF], b"C", &[4, 1, 0x18, 0]] {
            let set = config(&[("variant", variant)]);
            let (mut r, mut sink) = (receiver(&set), Sink::new());
            let mut bench = Bench::new(&mut r, &mut sink);
            let noise = noise.repeat(100);
            let mut ticks = 0;
            while bench.outcome().is_none() {
                bench.give(&noise);
                bench.wait(Duration::from_millis(10));
                ticks += 1;
                assert!(ticks < 20_000, "{variant} {noise:x?}: 200 seconds");
            }
            assert_ne!(bench.outcome(), Some(Outcome::Done), "{variant}");
            assert!(sink.files.iter().all(|file| !file.complete));
        }
    }
}

#[test]
fn a_peer_that_only_repeats_itself() {
    // The same block indefinitely.
    let set = config(&[("variant", "xmodem-crc")]);
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    bench.wait(Duration::from_millis(10));
    let mut acks = 0;
    for _ in 0..50 {
        bench.give(&crc(1, b'a'));
        bench.wait(Duration::from_millis(600));
        acks += 1;
        if bench.outcome().is_some() {
            break;
        }
    }
    assert!(acks < 15, "{acks}");
    assert_eq!(bench.outcome(), Some(failed(Blame::Line, FailureKind::TooManyRetries)));
    // Start characters indefinitely.
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", b"x")]));
    let mut bench = Bench::new(&mut s, &mut source);
    for _ in 0..50 {
        bench.give(b"C");
        bench.wait(Duration::from_secs(3));
    }
    assert_eq!(bench.outcome(), Some(failed(Blame::Line, FailureKind::TooManyRetries)));
    // Garbage indefinitely, without a pause.
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    for _ in 0..20_000 {
        bench.give(&[0xd5; 10]);
        bench.wait(Duration::from_millis(100));
        if bench.outcome().is_some() {
            break;
        }
    }
    assert_eq!(bench.outcome(), Some(failed(Blame::Line, FailureKind::TooManyRetries)));
}

#[test]
fn blocks_out_of_step_end_it() {
    for (number, variant) in [(0, "xmodem-crc"), (3, "xmodem-crc"), (1, "ymodem"), (7, "ymodem")] {
        let set = config(&[("variant", variant)]);
        let (mut r, mut sink) = (receiver(&set), Sink::new());
        let mut bench = Bench::new(&mut r, &mut sink);
        let said = bench.give(&crc(number, b'a'));
        assert!(said.ends_with(&[0x18, 0x08, 8, 8, 8, 8, 8, 8, 8]), "{variant} {number}: {said:?}");
        assert_eq!(bench.outcome(), Some(failed(Blame::Peer, FailureKind::Violation)));
    }
}

/// What follows the end belongs to the shell.
#[test]
fn the_prompt_is_not_eaten() {
    // XMODEM's sender: done with the last ACK.
    let set = config(&[("variant", "xmodem-crc"), ("start-pause", "0")]);
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", b"x")]));
    let mut bench = Bench::new(&mut s, &mut source);
    assert_eq!(bench.give(b"C").len(), 133);
    bench.give(&[6]);
    assert_eq!(bench.wait(Duration::from_millis(100)), [4]);
    bench.give(b"\x06$ ls\r\n");
    assert_eq!(bench.took, 1);
    assert_eq!(bench.engine.status(), Status::Over(Outcome::Done));
    // The receiver lingers to retransmit its last packet, but accepts nothing else.
    for prompt in [&b"$ "[..], b"\r\n# ", b"\x1b[0m"] {
        let (mut r, mut sink) = (receiver(&set), Sink::new());
        let mut bench = Bench::new(&mut r, &mut sink);
        bench.give(&crc(1, b'a'));
        for _ in 0..2 {
            bench.give(&[4]);
            bench.wait(Duration::from_millis(100));
        }
        assert_eq!(bench.engine.status(), Status::Lingering(Outcome::Done));
        assert_eq!((bench.give(&[4]), bench.took), (vec![6], 1), "the last ACK again");
        bench.give(prompt);
        assert_eq!(bench.took, 0);
        assert_eq!(bench.engine.status(), Status::Over(Outcome::Done));
    }
    let set = config(&[("variant", "ymodem")]);
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    let null = header(b"");
    let both = [&null[..], b"$ "].concat();
    assert_eq!((bench.give(&both), bench.took), (b"C\x06".to_vec(), null.len()));
    assert_eq!(bench.engine.status(), Status::Over(Outcome::Done));
}

/// Noise before EOT is no block that has been lost: a file of which all is here is whole, and one of
/// unknown length when the sender says EOT again.
#[test]
fn noise_before_the_end() {
    for (variant, size, eots) in
        [("ymodem", "128", 1), ("ymodem", "", 2), ("xmodem-crc", "", 2), ("xmodem", "", 2)]
    {
        // What may have been a block must come again where nothing tells that all is here.
        for (noise, whole) in [(3, true), (5, true), (60, true), (131, !size.is_empty())] {
            let label = format!("{variant} {size:?} {noise}");
            let set = config(&[("variant", variant)]);
            let (mut r, mut sink) = (receiver(&set), Sink::new());
            let mut bench = Bench::new(&mut r, &mut sink);
            if variant == "ymodem" {
                bench.give(&header(format!("f\0{size}\0").as_bytes()));
            }
            let check = if variant == "xmodem" { Check::Sum } else { Check::Crc };
            bench.give(&block(1, &[b'a'; 128], check));
            bench.give(&vec![0xff; noise]);
            let (mut said, mut given) = (Vec::new(), 0);
            while bench.outcome().is_none() && !said.contains(&ACK) && given < 30 {
                if said.contains(&NAK) {
                    given += 1;
                    said = bench.give(&[EOT]);
                    said.extend(bench.wait(Duration::from_millis(200)));
                } else {
                    said = bench.wait(Duration::from_secs(2));
                }
            }
            assert_eq!(bench.engine.stats().files_done, u64::from(whole), "{label}");
            assert!(!whole || given == eots, "{label}: {given}");
        }
    }
}

/// The words that a program says before it is ready hold letters that would start a transfer.
#[test]
fn prose_before_the_start() {
    let set = config(&[("variant", "xmodem-crc"), ("start-pause", "0")]);
    for (text, starts) in [
        (&b"Give your Cisco XMODEM receive Command now.\r\n"[..], false),
        (b"## Ready for binary (xmodem) download to 0x41000000 at 115200 bps...\r\nC", true),
        (b"CCCCC", true),
        (b"GO AHEAD\r\n\x15", true),
        (b"NO CARRIER\r\n", false),
        // KMD and IMP ask for blocks of 1024 bytes so.
        (b"CK", true),
        (b"ready\r\nCKCKCK", true),
        (b"CKermit 10.0\r\n", false),
        (b"GO BACK\r\n", false),
        (b"GO BACK", false),
    ] {
        let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", b"x")]));
        let mut bench = Bench::new(&mut s, &mut source);
        let said = bench.give(text);
        assert_eq!(!said.is_empty(), starts, "{}", text.escape_ascii());
        assert!(said.len() <= 133, "sent once: {}", text.escape_ascii());
    }
    let set = config(&[("variant", "xmodem-1k"), ("start-pause", "0")]);
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", &[b'x'; 3000])]));
    let said = Bench::new(&mut s, &mut source).give(b"CKCK");
    assert_eq!((said[0], said.len()), (2, 1029), "one long block");
    // A receiver ignores words and continues.
    let (mut r, mut sink) = (receiver(&set), Sink::new());
    let mut bench = Bench::new(&mut r, &mut sink);
    let bytes = [&b"rz waiting for you\r\n"[..], &crc(1, b'a')].concat();
    assert_eq!(bench.give(&bytes), b"C\x06");
    // And over one stray newline between blocks.
    let bytes = [&b"\r\n"[..], &crc(2, b'a')].concat();
    assert_eq!(bench.give(&bytes), [6]);
}

/// A receiver that has asked many times before we came (U-Boot, Tera Term issue 351).
#[test]
fn stale_start_characters_do_not_repeat_block_zero() {
    let set = config(&[("variant", "ymodem"), ("start-pause", "0")]);
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", &[7; 300])]));
    let mut bench = Bench::new(&mut s, &mut source);
    let mut said = bench.give(b"CCC");
    for _ in 0..3 {
        said.extend(bench.wait(Duration::from_millis(50)));
        said.extend(bench.give(b"C"));
    }
    assert_eq!(said.len(), 133, "one block 0");
    assert_eq!(bench.give(b"\x06C").len(), 133, "block 1");
    // The receiver asks again after its time: it is heard.
    bench.wait(Duration::from_secs(2));
    let again = [bench.give(b"C"), bench.wait(Duration::from_secs(1))].concat();
    assert_eq!(again.len(), 133, "block 1 again");
}

/// A block that was sent twice because the receiver asked again before it saw it has two answers, of which the line may
/// hold one back: it must not be taken for that of EOT. So EOT waits until the receiver asks for the next block.
#[test]
fn eot_waits_for_an_answer_that_is_owed() {
    let set = config(&[("variant", "xmodem-crc"), ("start-pause", "0")]);
    for asks_again in [true, false] {
        let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", &[7; 128])]));
        let mut bench = Bench::new(&mut s, &mut source);
        assert_eq!(bench.give(b"C").len(), 133);
        bench.wait(Duration::from_secs(2));
        let again = [bench.give(b"C"), bench.wait(Duration::from_secs(1))].concat();
        assert_eq!(again.len(), 133, "the block again");
        assert_eq!(bench.give(&[ACK]), b"");
        assert_eq!(bench.wait(Duration::from_secs(3)), b"", "the other answer may still come");
        assert_eq!(bench.give(&[ACK]), b"", "and is for no one");
        assert_eq!(bench.wait(Duration::from_secs(5)), b"");
        let mut said = Vec::new();
        if asks_again {
            bench.give(&[NAK]);
            said = bench.wait(Duration::from_secs(1));
            assert_eq!(said, [EOT], "the receiver is in step");
        }
        while said.is_empty() && bench.outcome().is_none() {
            said = bench.wait(Duration::from_secs(1));
        }
        assert_eq!(said, [EOT]);
        bench.give(&[ACK]);
        assert_eq!(bench.engine.stats().files_done, 1);
    }
}

/// lrzsz throws away what comes at once after its answer: the first loss costs a wait, the next
/// blocks are sent a little later.
#[test]
fn pause_is_learned_from_loss() {
    let set = config(&[("variant", "xmodem-crc"), ("start-pause", "0")]);
    let (mut s, mut source) = (sender(&set), Source::new(vec![File::new("f", &[7; 1000])]));
    let mut bench = Bench::new(&mut s, &mut source);
    assert_eq!(bench.give(b"C").len(), 133);
    assert_eq!(bench.give(&[6]).len(), 133, "at once");
    // The block is not heard; after six seconds rx asks for it.
    assert_eq!(bench.wait(Duration::from_secs(6)), b"");
    let said = [bench.give(&[0x15]), bench.wait(Duration::from_millis(3))].concat();
    assert_eq!(said.len(), 133);
    assert_eq!(bench.give(&[6]), b"", "not at once");
    assert_eq!(bench.wait(Duration::from_millis(3)).len(), 133, "but soon");
}

/// Some firmware leaves out the empty block 0. That is an end only if it was announced.
#[test]
fn a_batch_without_its_last_block() {
    for (text, outcome) in [
        (&b"f\x003 0 0 0 1 3"[..], Outcome::Done),
        (b"f\x003 0 0 0 2 9", failed(Blame::Peer, FailureKind::Silence)),
        (b"f\x003", failed(Blame::Peer, FailureKind::Silence)),
    ] {
        let set = config(&[("variant", "ymodem")]);
        let (mut r, mut sink) = (receiver(&set), Sink::new());
        let mut bench = Bench::new(&mut r, &mut sink);
        bench.give(&header(text));
        bench.give(&crc(1, b'a'));
        bench.give(&[4]);
        assert_eq!(bench.wait(Duration::from_millis(100)), b"\x06C");
        bench.wait(Duration::from_secs(300));
        assert_eq!(bench.outcome(), Some(outcome), "{}", text.escape_ascii());
        assert!(sink.files[0].complete && sink.files[0].bytes == b"aaa");
    }
}
