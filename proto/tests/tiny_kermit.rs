//! The small Kermit receiver, packet by packet.

use crate::tiny_exchange::Loader;
use std::fs;
use std::path::Path;
use wetstring_proto::kermit::check::Check;
use wetstring_proto::tiny::{Failure, Kermit, Limits};

/// What C-Kermit, G-Kermit and E-Kermit begin with, captured.
const C_KERMIT: &[u8] = b"\x019 S~/ @-#Y3~^>J)0___J\"U1@C\r";
const G_KERMIT: &[u8] = b"\x019 S~' @-#Y3~*!J*0+++J\"U1AP\r";
const E_KERMIT: &[u8] = b"\x010 S~H @-#Y3~.?K+&\r";

fn check(kind: u8, covered: &[u8]) -> Vec<u8> {
    let check = Check::from_char(b'0' + kind).expect("1 to 3");
    check.compute(covered)[..check.len()].to_vec()
}

/// A packet with a check of this type; a long one if it is too long for a short one.
fn packet(seq: u8, kind: u8, data: &[u8], type_: u8) -> Vec<u8> {
    let len = data.len() + usize::from(type_);
    let mut bytes = vec![b' ', 32 + seq, kind];
    if len + 2 > 94 {
        bytes.extend([32 + (len / 95) as u8, 32 + (len % 95) as u8]);
        let own = check(1, &bytes);
        bytes.extend(own);
    } else {
        bytes[0] = 32 + 2 + len as u8;
    }
    bytes.extend_from_slice(data);
    let own = check(type_, &bytes);
    [&[1], &bytes[..], &own, b"\r"].concat()
}

fn ack(seq: u8, type_: u8) -> Vec<u8> {
    packet(seq, b'Y', b"", type_)
}

fn nak(seq: u8, type_: u8) -> Vec<u8> {
    packet(seq, b'N', b"", type_)
}

fn kermit(memory: usize, body: impl FnOnce(&mut Loader<'_>)) {
    let mut memory = vec![0; memory];
    let mut receiver = Kermit::new(&mut memory, Limits::default());
    body(&mut Loader::new(&mut receiver));
}

/// Parameters with these prefixes and check, of a sender that says no more.
fn params(quote: u8, eighth: u8, type_: u8, repeat: u8) -> Vec<u8> {
    packet(0, b'S', &[b'~', b'/', b' ', b'@', b'-', quote, eighth, b'0' + type_, repeat], 1)
}

#[test]
fn the_answers_to_what_programs_begin_with() {
    for first in [C_KERMIT, G_KERMIT, E_KERMIT] {
        kermit(1040, |loader| {
            // 1024 is 10 times 95 and 74.
            let ours = packet(0, b'Y', b"~% @-#Y3~*!*j", 1);
            assert_eq!(loader.give(first), ours);
            assert_eq!(loader.give(&packet(1, b'F', b"BOOT.BIN", 3)), ack(1, 3));
            // The acknowledgement was lost.
            assert_eq!(loader.give(&packet(1, b'F', b"BOOT.BIN", 3)), ack(1, 3));
            let attributes = b".\"U1\"\"B8#120260924 12:32:47!!11$1024,#664-!3@ ";
            assert_eq!(loader.give(&packet(2, b'A', attributes, 3)), ack(2, 3));
            assert_eq!(loader.give(&packet(3, b'D', b"hello", 3)), ack(3, 3));
            assert_eq!(loader.give(&packet(3, b'D', b"hello", 3)), ack(3, 3));
            assert_eq!(loader.give(&packet(4, b'D', &[b'x'; 900], 3)), ack(4, 3));
            assert_eq!(loader.give(&packet(5, b'Z', b"", 3)), ack(5, 3));
            assert_eq!(loader.give(&packet(6, b'F', b"none", 3)), ack(6, 3));
            assert_eq!(loader.give(&packet(7, b'Z', b"D", 3)), ack(7, 3));
            assert_eq!(loader.give(&packet(8, b'B', b"", 3)), ack(8, 3));
            assert_eq!(loader.give(&packet(8, b'B', b"", 3)), ack(8, 3));
            loader.wait(1100);
            assert_eq!(loader.end, Some(Ok(())));
            let [one, two] = &loader.files[..] else { panic!("expected two files") };
            assert_eq!((&one.name[..], one.size), (&b"BOOT.BIN"[..], Some(1024)));
            assert_eq!(one.bytes, [&b"hello"[..], &[b'x'; 900]].concat());
            assert_eq!((one.complete, two.complete), (Some(true), Some(false)));
        });
    }
}

#[test]
fn the_first_acknowledgement_is_sent_again_with_its_parameters() {
    kermit(500, |loader| {
        let answer = loader.give(C_KERMIT);
        assert_eq!(loader.give(C_KERMIT), answer);
        assert_eq!(loader.give(&packet(1, b'B', b"", 3)), ack(1, 3));
    });
    // Behind the parameters of a client, numbers begin again.
    kermit(500, |loader| {
        let init = packet(0, b'I', b"~/ @-#Y3~^>J)", 1);
        assert!(loader.give(&init).starts_with(b"\x010 Y~"));
        assert!(loader.give(C_KERMIT).starts_with(b"\x010 Y~"));
        assert_eq!(loader.give(&packet(1, b'F', b"f", 3)), ack(1, 3));
    });
}

#[test]
fn numbers_turn_over() {
    kermit(500, |loader| {
        loader.give(C_KERMIT);
        loader.give(&packet(1, b'F', b"f", 3));
        for number in 2..200 {
            let seq = number & 63;
            let data = [b'a' + number % 26];
            assert_eq!(loader.give(&packet(seq, b'D', &data, 3)), ack(seq, 3));
            assert_eq!(loader.give(&packet(seq, b'D', b"old", 3)), ack(seq, 3));
            // Neither the next nor the last.
            assert_eq!(loader.give(&packet((number - 1) & 63, b'D', b"older", 3)), b"");
            assert_eq!(loader.give(&packet((number + 5) & 63, b'D', b"new", 3)), b"");
        }
        let bytes: Vec<u8> = (2..200).map(|number| b'a' + number % 26).collect();
        assert_eq!(loader.file().bytes, bytes);
    });
}

#[test]
fn damage_and_silence_get_a_nak() {
    for type_ in 1..=3 {
        kermit(500, |loader| {
            assert_eq!(loader.wait(2900), b"");
            assert_eq!(loader.wait(200), nak(0, 1));
            let mut bad = params(b'#', b'Y', type_, b'~');
            bad[6] ^= 1;
            assert_eq!(loader.give(&bad), nak(0, 1));
            loader.give(&params(b'#', b'Y', type_, b'~'));
            loader.give(&packet(1, b'F', b"f", type_));
            let good = packet(2, b'D', &[b'd'; 200], type_);
            for at in 1..good.len() - 1 {
                let mut bad = good.clone();
                bad[at] ^= 0x10;
                let answer = loader.give(&bad);
                // One whose length was damaged may still be waited for.
                let answer = if answer.is_empty() { loader.wait(3100) } else { answer };
                assert!(answer.starts_with(&nak(2, type_)), "byte {at}: {answer:?}");
            }
            // A packet that begins in another one is what counts.
            let both = [&good[..50], &good].concat();
            assert_eq!(loader.give(&both), ack(2, type_));
            assert_eq!(loader.file().bytes, [b'd'; 200]);
        });
    }
}

#[test]
fn packets_that_do_not_fit_are_damage() {
    kermit(200, |loader| {
        // 184 is 1 times 95 and 89.
        assert_eq!(loader.give(C_KERMIT), packet(0, b'Y', b"~% @-#Y3~*!!y", 1));
        loader.give(&packet(1, b'F', b"f", 3));
        assert_eq!(loader.give(&packet(2, b'D', &[b'd'; 300], 3)), nak(2, 3));
        assert_eq!(loader.give(&packet(2, b'D', &[b'd'; 184 - 3], 3)), ack(2, 3));
    });
    // Too little for long packets, and for the longest short ones.
    kermit(90, |loader| {
        let answer = loader.give(C_KERMIT);
        assert_eq!(answer[4..14], *b"x% @-#Y3~(");
    });
}

/// The rows of a file of vectors, cut at ` | `.
fn rows(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/kermit").join(name);
    let text = fs::read_to_string(&path).expect("the vectors");
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    rows.map(|line| line.split(" | ").map(str::to_owned).collect()).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
    (0..text.len() / 2 * 2).step_by(2).map(digits).collect()
}

#[test]
fn data_of_the_vectors_is_decoded() {
    let mut decoded = 0;
    for row in rows("data.txt") {
        let (options, plain, coded) = (&row[0], hex(&row[1]), hex(&row[2]));
        if options.contains("shift") || options.contains("text") || coded.len() > 400 {
            continue;
        }
        let option = |name: &str, usual: u8| {
            let value = options.split_whitespace().find_map(|option| option.strip_prefix(name));
            value.map_or(usual, |value| value.as_bytes()[0])
        };
        let first = params(option("qctl=", b'#'), option("qbin=", b'Y'), 3, option("rept=", b' '));
        kermit(500, |loader| {
            loader.give(&first);
            loader.give(&packet(1, b'F', b"f", 3));
            assert_eq!(loader.give(&packet(2, b'D', &coded, 3)), ack(2, 3));
            assert_eq!(loader.file().bytes, plain, "{row:?}");
        });
        decoded += 1;
    }
    assert!(decoded > 10, "got {decoded} rows");
}

#[test]
fn runs_are_longer_than_the_memory_and_names_have_them_too() {
    kermit(200, |loader| {
        loader.give(&params(b'#', b'&', 3, b'~'));
        loader.give(&packet(1, b'F', b"~/a~+0.bin", 3));
        assert_eq!(loader.file().name, b"aaaaaaaaaaaaaaa00000000000.bin");
        let coded = b"~~#@".repeat(40);
        assert_eq!(loader.give(&packet(2, b'D', &coded, 3)), ack(2, 3));
        assert_eq!(loader.file().bytes, vec![0; 94 * 40]);
        // Cut short: what there is of it is no byte.
        assert_eq!(loader.give(&packet(3, b'D', b"ab~", 3)), ack(3, 3));
        assert_eq!(loader.give(&packet(4, b'D', b"&", 3)), ack(4, 3));
        assert_eq!(loader.file().bytes[94 * 40..], *b"ab");
    });
}

#[test]
fn a_name_that_fills_the_memory_stays_whole() {
    kermit(110, |loader| {
        loader.give(&params(b'#', b'Y', 3, b'~'));
        let name = [b'n'; 110 - 6 - 3];
        assert_eq!(loader.give(&packet(1, b'F', &name, 3)), ack(1, 3));
        assert_eq!(loader.file().name, name);
    });
}

#[test]
fn errors_end_it() {
    kermit(500, |loader| {
        loader.give(C_KERMIT);
        // Of this type of check, as some send at all times.
        assert_eq!(loader.give(&packet(1, b'E', b"No such file", 1)), b"");
        assert_eq!(loader.end, Some(Err(Failure::Cancelled)));
    });
    kermit(500, |loader| {
        loader.give(C_KERMIT);
        // Data without a file.
        assert_eq!(loader.give(&packet(1, b'D', b"x", 3)), packet(1, b'E', b"Receiver stops", 3));
        assert_eq!(loader.end, Some(Err(Failure::Violation)));
    });
    kermit(500, |loader| {
        loader.room = 3;
        loader.give(C_KERMIT);
        loader.give(&packet(1, b'F', b"f", 3));
        assert_eq!(
            loader.give(&packet(2, b'D', b"more", 3)),
            packet(3, b'E', b"Receiver stops", 3)
        );
        assert_eq!(loader.end, Some(Err(Failure::Aborted)));
    });
    kermit(500, |loader| {
        let sent = loader.wait(60_100);
        assert!(sent.ends_with(&packet(0, b'E', b"Receiver stops", 1)));
        assert_eq!(loader.end, Some(Err(Failure::Silence)));
    });
    // The sender was started again in the middle of a file.
    kermit(500, |loader| {
        loader.give(C_KERMIT);
        loader.give(&packet(1, b'F', b"f", 3));
        loader.give(&packet(2, b'D', b"x", 3));
        loader.give(C_KERMIT);
        assert_eq!(loader.end, Some(Err(Failure::Violation)));
    });
}

#[test]
fn echoes_and_prompts_are_ignored() {
    kermit(500, |loader| {
        assert_eq!(loader.give(b"U-Boot> loadb\r\n## Ready\r\n"), b"");
        loader.give(C_KERMIT);
        assert_eq!(loader.give(&nak(1, 3)), b"");
        assert_eq!(loader.give(&packet(1, b'F', b"f", 3)), ack(1, 3));
        assert_eq!(loader.give(&ack(1, 3)), b"");
        assert_eq!(loader.give(&ack(2, 3)), b"");
    });
}
