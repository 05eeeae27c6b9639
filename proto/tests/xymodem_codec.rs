//! Blocks and block 0: golden vectors, round trips, chunking, hostile bytes.
//!
//! The vectors are text files under `vectors/xymodem` in the repository.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use wetstring_proto::xymodem::frame::{
    BlockReader, CAN, Check, EOT, Found, HEADER, LONG, SHORT, finish, sum,
};
use wetstring_proto::xymodem::packet::{Header, emit};
use wetstring_proto::xymodem::states::{RECEIVER, SENDER};
use wetstring_proto::{FileInfo, Left};

fn rows(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/xymodem").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows: Vec<Vec<String>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(" | ").map(str::to_owned).collect())
        .collect();
    assert!(rows.len() > 5, "{name} has too few rows");
    rows
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|k| u8::from_str_radix(&text[k..k + 2], 16).unwrap()).collect()
}

fn check_of(word: &str) -> Check {
    if word == "sum" { Check::Sum } else { Check::Crc }
}

/// All that a reader finds in bytes that come in chunks of this length.
fn read(check: Check, bytes: &[u8], chunk: usize) -> Vec<(String, Vec<u8>)> {
    let mut reader = BlockReader::new(check, LONG);
    let mut room = vec![0; LONG];
    let mut found = Vec::new();
    for chunk in bytes.chunks(chunk.max(1)) {
        let mut at = 0;
        while at < chunk.len() {
            let (used, what) = reader.next(&mut room, &chunk[at..]);
            assert!(used > 0, "the reader goes on");
            at += used;
            match what {
                None => {}
                Some(Found::Block { number, len }) => {
                    found.push((format!("block {number}"), room[..len].to_vec()));
                }
                Some(Found::Damaged { why, len }) => found.push((format!("{why} {len}"), vec![])),
                Some(Found::Byte(byte)) => found.push((format!("byte {byte}"), vec![])),
            }
        }
    }
    found
}

#[test]
fn golden_blocks_both_ways() {
    for row in rows("blocks.txt") {
        let [check, block, number, meaning, _source] = &row[..] else { panic!("{row:?}") };
        let (check, block) = (check_of(check), hex(block));
        let number: u8 = number.parse().unwrap();
        let data = &block[HEADER..block.len() - check.len()];
        let mut made = vec![0; block.len()];
        made[HEADER..HEADER + data.len()].copy_from_slice(data);
        assert_eq!(finish(&mut made, number, data.len(), check), block.len(), "{meaning}");
        assert_eq!(made, block, "{meaning}");
        let want = [(format!("block {number}"), data.to_vec())];
        for chunk in [1, 2, 3, 7, 131, 5000] {
            assert_eq!(read(check, &block, chunk), want, "{meaning}");
        }
        // The other check does not fit, unless all is zero.
        if data.iter().all(|byte| *byte == 0) {
            continue;
        }
        let other = if check == Check::Sum { Check::Crc } else { Check::Sum };
        assert_ne!(read(other, &block, 5000).first(), want.first(), "{meaning}");
    }
}

#[test]
fn every_damaged_bit_is_found_by_the_crc() {
    let data: Vec<u8> = (0..=127).collect();
    let mut block = vec![0; SHORT + 5];
    block[HEADER..HEADER + SHORT].copy_from_slice(&data);
    finish(&mut block, 7, SHORT, Check::Crc);
    for bit in 8..block.len() * 8 {
        let mut bad = block.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let found = read(Check::Crc, &bad, 5000);
        assert!(found.iter().all(|(what, _)| !what.starts_with("block")), "bit {bit}: {found:?}");
    }
    // Two damaged bytes that cancel each other: the sum does not see them, the CRC does.
    let mut bad = block.clone();
    bad[10] = block[10] + 1;
    bad[11] = block[11] - 1;
    assert_eq!(sum(&bad[3..131]), sum(&block[3..131]));
    assert!(read(Check::Crc, &bad, 5000).iter().all(|(what, _)| !what.starts_with("block")));
}

/// A sender that chose the CRC before we fell back to the sum.
#[test]
fn a_reader_that_takes_either_finds_the_crc() {
    let mut block = vec![0; SHORT + 5];
    block[HEADER] = 1;
    finish(&mut block, 1, SHORT, Check::Crc);
    let mut reader = BlockReader::new(Check::Sum, LONG);
    reader.either = true;
    let mut room = vec![0; LONG];
    let (used, found) = reader.next(&mut room, &block);
    assert_eq!((used, found), (133, Some(Found::Block { number: 1, len: SHORT })));
    assert_eq!(reader.check, Check::Crc);
}

#[test]
fn a_cancel_inside_a_block_can_be_seen() {
    for at in [0, 1, 50, 124, 127, 128, 130] {
        let mut bytes = vec![1, 1, 0xfe];
        bytes.extend((0..at).map(|_| b'x'));
        bytes.extend([CAN; 8]);
        let mut reader = BlockReader::new(Check::Crc, LONG);
        let mut room = vec![0; LONG];
        let (used, found) = reader.next(&mut room, &bytes);
        let left = bytes.len() - used;
        if found.is_none() {
            reader.abandon();
        }
        assert_eq!(reader.cancels(&room) + left, 8, "{at}");
    }
}

#[test]
fn a_short_reader_refuses_long_blocks() {
    let mut reader = BlockReader::new(Check::Crc, SHORT);
    let (used, found) = reader.next(&mut [0; SHORT], &[2, 1, 0xfe]);
    assert_eq!(used, 1);
    assert!(matches!(found, Some(Found::Damaged { len: 1, .. })), "{found:?}");
}

// ---- block 0 ----

fn parsed(text: &[u8]) -> Option<Header<'_>> {
    Header::parse(text)
}

#[test]
fn block_zero_as_others_write_it() {
    let figure6 = parsed(b"bbcsched.txt\x006347 3314742513 100644\0\0\0").unwrap();
    assert_eq!(figure6.name, b"bbcsched.txt");
    assert_eq!((figure6.size, figure6.mode), (Some(6347), Some(0o644)));
    assert_eq!(figure6.modified, Some(0o3_314_742_513));
    let lrzsz = parsed(b"hello.txt\x0013 3563262400 100644 0 2 3085\0").unwrap();
    assert_eq!(lrzsz.left, Some(Left { files: 2, bytes: 3085 }));
    assert_eq!(lrzsz.modified, Some(500_000_000));
    // Absent is unknown, 0 is empty.
    assert_eq!(parsed(b"a\0\0").unwrap().size, None);
    assert_eq!(parsed(b"a\x000\0").unwrap().size, Some(0));
    assert_eq!(parsed(b"a\x005").unwrap().size, Some(5));
    // Time and mode 0 are unknown; setuid is not taken over.
    let zeros = parsed(b"a\x005 0 0 0\0").unwrap();
    assert_eq!((zeros.modified, zeros.mode), (None, None));
    assert_eq!(parsed(b"a\x005 0 104755\0").unwrap().mode, Some(0o755));
    assert_eq!(parsed(b"with space\x005\0").unwrap().name, b"with space");
    assert_eq!(parsed(&[0; 128]).unwrap(), Header::default());
}

#[test]
fn block_zero_of_an_enemy() {
    assert_eq!(parsed(&[b'n'; 1024]), None, "no NUL");
    assert_eq!(parsed(&[]), None);
    assert_eq!(parsed(b"a\x0099999999999999999999999 1\0").unwrap().size, None);
    assert_eq!(parsed(b"a\x0010000000000 1\0").unwrap().size, Some(10_000_000_000));
    assert_eq!(parsed(b"a\x00-5 1 1\0").unwrap().size, None);
    assert_eq!(parsed(b"a\x005 999 8\0").unwrap().modified, None, "9 is no octal digit");
    assert_eq!(parsed(b"a\x005 7777777777777777777777\0").unwrap().modified, None);
    let many = parsed(b"a\x005 1 100644 0 1000000 18446744073709551615\0").unwrap();
    assert_eq!(many.left, Some(Left { files: 1_000_000, bytes: u64::MAX }));
    assert_eq!(parsed(b"a\x005 1 1 0 4294967296 1\0").unwrap().left, None);
}

fn emitted(info: &FileInfo<'_>, records: bool) -> Option<Vec<u8>> {
    let mut data = vec![0xaa; LONG];
    emit(info, records, &mut data).map(|len| data[..len].to_vec())
}

#[test]
fn block_zero_as_lrzsz_writes_it() {
    let info = FileInfo {
        name: b"hello.txt",
        size: Some(13),
        modified: Some(500_000_000),
        mode: Some(0o644),
        left: Some(Left { files: 2, bytes: 3085 }),
        ..FileInfo::default()
    };
    let data = emitted(&info, true).unwrap();
    let (text, rest) = data.split_at(40);
    assert_eq!(text, b"hello.txt\x0013 3563262400 100644 0 2 3085\0");
    assert!(rest[..86].iter().all(|byte| *byte == 0));
    assert_eq!(rest[86..], [0, 1], "records for KMD");
    assert_eq!(emitted(&info, false).unwrap()[126..], [0, 0]);
}

#[test]
fn oversized_input_is_refused() {
    let name = [b'n'; 2000];
    let of = |len: usize| {
        let info = FileInfo { name: &name[..len], size: Some(u64::MAX), ..FileInfo::default() };
        emitted(&info, false).map(|data| data.len())
    };
    assert_eq!(of(100), Some(SHORT));
    assert_eq!(of(110), Some(LONG));
    assert_eq!(of(990), Some(LONG));
    assert_eq!((of(0), of(1020), of(1024), of(2000)), (None, None, None, None));
    let nul = FileInfo { name: b"a\0b", ..FileInfo::default() };
    assert_eq!(emitted(&nul, false), None);
}

#[test]
fn no_state_has_two_steps_for_one_thing() {
    for (index, (state, words, _)) in SENDER.iter().enumerate() {
        for (other, more, _) in &SENDER[index + 1..] {
            assert!(state != other || words.iter().all(|w| !more.contains(w)), "{state:?}");
        }
    }
    for (index, (state, place, _)) in RECEIVER.iter().enumerate() {
        assert!(RECEIVER[index + 1..].iter().all(|(s, p, _)| (s, p) != (state, place)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_in_any_chunks_give_the_same(
        bytes in prop::collection::vec(
            prop_oneof![Just(1u8), Just(2), Just(0xfe), Just(EOT), Just(CAN), any::<u8>()], 0..3000),
        chunk in 1usize..300,
        crc in any::<bool>(),
    ) {
        let check = if crc { Check::Crc } else { Check::Sum };
        prop_assert_eq!(read(check, &bytes, chunk), read(check, &bytes, bytes.len()));
    }

    #[test]
    fn block_zero_round_trip(
        name in prop::collection::vec(1u8..=255, 1..900),
        size in any::<Option<u64>>(),
        modified in prop::option::of(1i64..i64::MAX),
        mode in prop::option::of(1u32..0o1000),
        files in any::<u32>(), bytes in any::<u64>(), known in any::<bool>(),
    ) {
        // Without a length nothing after it can be said.
        let left = (known && size.is_some()).then_some(Left { files, bytes });
        let (modified, mode) = if size.is_some() { (modified, mode) } else { (None, None) };
        let info = FileInfo { name: &name, size, modified, mode, left, ..FileInfo::default() };
        let data = emitted(&info, false).unwrap();
        prop_assert_eq!(parsed(&data).unwrap().info(), info);
    }

    #[test]
    fn any_block_zero_is_read(data in prop::collection::vec(any::<u8>(), 0..1024)) {
        if let Some(header) = parsed(&data) {
            prop_assert!(header.name.len() < data.len());
        }
    }
}
