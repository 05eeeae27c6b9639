//! The Kermit codec: golden vectors, round trips, bounds, chunking, hostile bytes.
//!
//! The vectors are text files under `vectors/kermit` in the repository: hex, meaning, source.

use crate::kermit_frames;

use kermit_frames::{Owned, frames};
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use wetstring_proto::kermit::check::{Check, crc16, crc16_update, ctl, tochar, unchar};
use wetstring_proto::kermit::decode::Decoder;
use wetstring_proto::kermit::encode::{Coding, Encoder, Shift, encode_text};
use wetstring_proto::kermit::frame::{FrameSettings, Parity};
use wetstring_proto::kermit::prefix::PrefixTable;

// ---- vectors ----

/// The rows of a vector file, cut at ` | `.
fn rows(name: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/kermit").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows: Vec<Vec<String>> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| line.split(" | ").map(str::to_owned).collect())
        .collect();
    assert!(rows.len() > 5, "{name} has too few rows");
    rows
}

fn hex(text: &str) -> Vec<u8> {
    if text == "-" {
        return Vec::new();
    }
    assert!(text.len().is_multiple_of(2), "odd hex {text}");
    (0..text.len()).step_by(2).map(|k| u8::from_str_radix(&text[k..k + 2], 16).unwrap()).collect()
}

/// Reads `prefix=all rept=~ qbin=& shift=forced text strict`.
fn coding(options: &str) -> Coding {
    let mut coding = Coding { strict_high: false, ..Coding::default() };
    for option in options.split_whitespace().filter(|&option| option != "-") {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let byte = value.bytes().next();
        match (name, value) {
            ("prefix", "all") => coding.prefix = PrefixTable::ALL,
            ("prefix", "cautious") => coding.prefix = PrefixTable::CAUTIOUS,
            ("qctl", _) => coding.qctl = byte.unwrap(),
            ("rept", _) => coding.rept = byte,
            ("qbin", _) => coding.qbin = byte,
            ("shift", "negotiated") => coding.shift = Shift::Negotiated,
            ("shift", "forced") => coding.shift = Shift::Forced,
            ("text", _) => coding.text = true,
            ("strict", _) => coding.strict_high = true,
            _ => panic!("unknown option {option}"),
        }
    }
    coding
}

fn decoder(coding: &Coding) -> Decoder {
    Decoder::new(coding.qctl, coding.qbin, coding.rept, coding.shift, coding.text)
}

fn encode_all(coding: &Coding, src: &[u8]) -> Vec<u8> {
    let mut dst = vec![0; src.len() * 6 + 12];
    let (used, written) = Encoder::new(coding).encode(src, true, &mut dst);
    assert_eq!(used, src.len());
    dst.truncate(written);
    dst
}

fn decode_all(coding: &Coding, encoded: &[u8]) -> Vec<u8> {
    let mut decoder = decoder(coding);
    let mut out = decode_field(&mut decoder, encoded, 188);
    assert_eq!(decoder.truncated(), 0);
    let mut end = [0];
    let n = decoder.finish(&mut end);
    out.extend_from_slice(&end[..n]);
    out
}

fn decode_field(decoder: &mut Decoder, mut field: &[u8], room: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut dst = vec![0; room];
    while !field.is_empty() {
        let (used, written) = decoder.decode(field, &mut dst);
        assert!(used > 0, "no progress with room {room}");
        out.extend_from_slice(&dst[..written]);
        field = &field[used..];
    }
    out
}

#[test]
fn packets_of_the_vectors_verify_and_frame() {
    for row in rows("packets.txt") {
        let [kind, body, meaning, _source] = &row[..] else { panic!("bad row {row:?}") };
        let check = Check::from_char(kind.as_bytes()[0]).unwrap();
        let body = hex(body);
        let (covered, given) = body.split_at(body.len() - check.len());
        assert!(check.verify(covered, given), "{meaning}");
        assert_eq!(&check.compute(covered)[..check.len()], given, "{meaning}");
        let mut spoiled = covered.to_vec();
        spoiled[1] ^= 1;
        assert!(!check.verify(&spoiled, given), "{meaning} spoiled");
        let parity = Some(Parity::None);
        let settings = FrameSettings { max_len: 9030, parity, ..FrameSettings::default() };
        let stream = [&[1], &body[..], &[13]].concat();
        let (found, noise) = frames(settings, &stream, &[]);
        assert_eq!(found, [Owned::Packet(body)], "{meaning}");
        assert_eq!(noise, 0, "{meaning}");
    }
}

#[test]
fn data_of_the_vectors() {
    for row in rows("data.txt") {
        let [options, source, encoded, meaning, _source] = &row[..] else { panic!("{row:?}") };
        let coding = coding(options);
        let (source, encoded) = (hex(source), hex(encoded));
        let ours = encode_all(&coding, &source);
        assert_eq!(
            ours.escape_ascii().to_string(),
            encoded.escape_ascii().to_string(),
            "{meaning}"
        );
        assert_eq!(decode_all(&coding, &encoded), source, "{meaning}");
    }
}

#[test]
fn fields_that_only_others_write() {
    for row in rows("decode.txt") {
        let [options, encoded, decoded, meaning, _source] = &row[..] else { panic!("{row:?}") };
        let coding = coding(options);
        assert_eq!(decode_all(&coding, &hex(encoded)), hex(decoded), "{meaning}");
    }
}

// ---- checks ----

#[test]
fn character_arithmetic() {
    assert_eq!((tochar(0), tochar(94), unchar(b'~')), (b' ', b'~', 94));
    assert_eq!((ctl(1), ctl(b'A'), ctl(0x9F), ctl(127)), (b'A', 1, 0xDF, b'?'));
}

#[test]
fn check_characters() {
    for check in [Check::Sum6, Check::Sum12, Check::Crc16, Check::Sum12NoBlank] {
        assert_eq!(Check::from_char(check.as_char()), Some(check));
    }
    assert_eq!(Check::from_char(b'5'), None);
    assert_eq!(Check::default(), Check::Sum6);
    assert_eq!(crc16(b"123456789"), 0x2189);
}

/// The definitions, bit by bit and byte by byte.
fn slow_check(check: Check, covered: &[u8]) -> Vec<u8> {
    let s = covered.iter().map(|&b| u64::from(b)).sum::<u64>();
    let mut crc = 0u16;
    for &byte in covered {
        crc ^= u16::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x8408 } else { crc >> 1 };
        }
    }
    let t = |n: u64| tochar((n & 63) as u8);
    match check {
        Check::Sum6 => vec![t(s + ((s & 0xC0) >> 6))],
        Check::Sum12 => vec![t(s >> 6), t(s)],
        Check::Sum12NoBlank => vec![t(s >> 6) + 1, t(s) + 1],
        Check::Crc16 => vec![t(u64::from(crc >> 12)), t(u64::from(crc >> 6)), t(u64::from(crc))],
    }
}

/// N cases, and no files of failures beside the tests.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn checks_are_their_definitions(
        bytes in prop::collection::vec(any::<u8>(), 0..9100),
        high in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = if high { vec![0xFF; bytes.len()] } else { bytes };
        for check in [Check::Sum6, Check::Sum12, Check::Crc16, Check::Sum12NoBlank] {
            prop_assert_eq!(&check.compute(&bytes)[..check.len()], slow_check(check, &bytes));
        }
        let (a, b) = bytes.split_at(cut.index(bytes.len() + 1));
        prop_assert_eq!(crc16_update(crc16(a), b), crc16(&bytes));
    }
}

// ---- prefix tables ----

#[test]
fn prefix_tables_hold_what_c_kermit_prefixes() {
    let codes = |table: PrefixTable| (0..=255u8).filter(|&c| table.contains(c)).collect::<Vec<_>>();
    let all = (0..=31).chain(127..=159).chain([255]).collect::<Vec<u8>>();
    assert_eq!(codes(PrefixTable::ALL), all);
    assert_eq!(codes(PrefixTable::CAUTIOUS).len(), 18 + 14);
    assert_eq!(codes(PrefixTable::NONE_SERIAL), [0, 1, 13, 129, 255]);
    assert_eq!(codes(PrefixTable::CLEAR_TELNET), [1, 13, 17, 19, 127, 255]);
    assert_eq!(codes(PrefixTable::CLEAR_OWN), b"");
    assert_eq!(codes(PrefixTable::CLEAR), [1, 13]);
    assert_eq!(codes(PrefixTable::CLEAR_OWN.with(3).with(b'A').with(0xFF).without(3)), [0xFF]);
}

// ---- encoder and decoder ----

/// Cuts a source into packets of `room` bytes each, feeding it in pieces.
fn encode_packets(coding: &Coding, src: &[u8], room: usize, pieces: &[usize]) -> Vec<Vec<u8>> {
    let mut encoder = Encoder::new(coding);
    let mut packets = Vec::new();
    let (mut at, mut have) = (0, 0);
    let mut pieces = pieces.iter().copied().chain(std::iter::repeat(4096));
    while at < src.len() {
        have = src.len().min(have.max(at) + pieces.next().unwrap());
        let mut dst = vec![0xEE; room];
        let (used, written) = encoder.encode(&src[at..have], have == src.len(), &mut dst);
        assert!(used > 0 || have - at <= 200, "no progress over {} bytes", have - at);
        assert!(used > 0 || have < src.len(), "no progress at the end");
        assert!(written == 0 || used > 0, "an element was written without its source");
        assert!(have - at - used <= 200 || room - written < 12, "left room for {}", room - written);
        dst.truncate(written);
        at += used;
        if written > 0 {
            packets.push(dst);
        }
    }
    packets
}

fn round_trip(coding: &Coding, src: &[u8], room: usize, pieces: &[usize]) {
    let mut decoder = decoder(coding);
    let mut out = Vec::new();
    for field in encode_packets(coding, src, room, pieces) {
        let seven_bit = coding.shift == Shift::Forced || coding.qbin.is_some();
        assert!(!seven_bit || field.iter().all(|&b| b < 0x80), "{coding:?} wrote 8 bits");
        for &byte in &field {
            assert!(!coding.prefix.contains(byte), "{coding:?} left {byte} bare");
            let three_in_a_row = byte == 3 && coding.rept.is_none() && !is_clear_own(coding);
            assert!(!three_in_a_row, "{coding:?} left a Ctrl-C bare");
        }
        out.extend(decode_field(&mut decoder, &field, 188));
    }
    let mut end = [0];
    let n = decoder.finish(&mut end);
    out.extend_from_slice(&end[..n]);
    assert_eq!(decoder.truncated(), 0);
    assert!(out == src, "{coding:?}: {} became {}", src.escape_ascii(), out.escape_ascii());
}

fn is_clear_own(coding: &Coding) -> bool {
    coding.prefix == PrefixTable::CLEAR_OWN
}

fn tables() -> impl Strategy<Value = PrefixTable> {
    prop_oneof![
        Just(PrefixTable::ALL),
        Just(PrefixTable::CAUTIOUS),
        Just(PrefixTable::MINIMAL),
        Just(PrefixTable::NONE_NETWORK),
        Just(PrefixTable::NONE_SERIAL),
        Just(PrefixTable::CLEAR_OWN),
        Just(PrefixTable::CLEAR),
        Just(PrefixTable::CLEAR_TELNET),
        prop::collection::vec(any::<u8>(), 0..40)
            .prop_map(|codes| codes.into_iter().fold(PrefixTable::CLEAR_OWN, PrefixTable::with)),
    ]
}

fn codings() -> impl Strategy<Value = Coding> {
    (
        prop_oneof![4 => Just(b'#'), 1 => Just(b'$')],
        prop::option::of(prop_oneof![Just(b'&'), Just(b'!')]),
        prop::option::of(Just(b'~')),
        prop_oneof![3 => Just(Shift::Off), 1 => Just(Shift::Negotiated), 1 => Just(Shift::Forced)],
        any::<bool>(),
        tables(),
        any::<bool>(),
    )
        .prop_map(|(qctl, qbin, rept, shift, text, prefix, strict_high)| Coding {
            qctl,
            qbin,
            rept,
            other_rept: rept.filter(|_| strict_high).map(|_| b'|'),
            shift,
            text,
            prefix,
            strict_high,
        })
}

/// Sources with runs, line ends, prefixes and both sides of bit 7.
fn sources() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => any::<u8>(),
        4 => prop::sample::select(&b"\r\n\r\n#~&$!\x00\x01\x03\x0e\x0f\x10\x8e\x8f\x90\x8d\xa3\xfe"[..]),
        4 => 0x20..0x7Fu8,
    ];
    let run = prop_oneof![12 => 1..2usize, 4 => 2..6usize, 1 => 90..200usize];
    prop::collection::vec((byte, run), 0..200).prop_map(|runs| {
        runs.into_iter().flat_map(|(byte, run)| std::iter::repeat_n(byte, run)).collect()
    })
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn any_coding_any_cut_round_trips(
        coding in codings(),
        src in sources(),
        room in prop_oneof![12..100usize, 100..2000usize],
        pieces in prop::collection::vec(1..300usize, 0..20),
    ) {
        round_trip(&coding, &src, room, &pieces);
    }

    #[test]
    fn random_bytes_round_trip(
        coding in codings(),
        src in prop::collection::vec(any::<u8>(), 0..3000),
        room in 12..9020usize,
    ) {
        round_trip(&coding, &src, room, &[]);
    }

    #[test]
    fn one_call_fills_the_room(coding in codings(), src in sources(), room in 12..600usize) {
        // What fits is the same elements as without a limit, as long as no element was cut.
        let mut dst = vec![0; room];
        let (_, written) = Encoder::new(&coding).encode(&src, true, &mut dst);
        let whole = encode_all(&coding, &src);
        prop_assert_eq!(&dst[..written], &whole[..written]);
        prop_assert!(written == whole.len() || room - written < 12);
    }

    #[test]
    fn expansion_is_bounded(coding in codings(), src in sources()) {
        let len = encode_all(&coding, &src).len();
        let worst = if coding.shift == Shift::Off {
            if coding.text { 4 } else if coding.qbin.is_some() { 3 } else { 2 }
        } else {
            8
        };
        prop_assert!(len <= src.len() * worst);
    }

    #[test]
    fn hostile_fields_never_panic(
        coding in codings(),
        fields in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..5),
        marks in any::<bool>(),
    ) {
        let mut decoder = decoder(&coding);
        for mut field in fields {
            if marks {
                for byte in &mut field {
                    *byte = b"#~&NOPM#J\r\n~A\x8d "[usize::from(*byte) % 15];
                }
            }
            let len = field.len();
            let out = decode_field(&mut decoder, &field, 188);
            prop_assert!(out.len() <= len * 47 + 1);
            prop_assert!(decode_field(&mut decoder, &field, 20_000).len() <= len * 47 + 1);
        }
    }

    #[test]
    fn the_room_does_not_change_what_is_decoded(
        coding in codings(),
        field in prop::collection::vec(prop::sample::select(&b"#~&NOPM#J\r\n~A\x8d (e\x0e"[..]), 0..600),
        room in 188..700usize,
    ) {
        let mut small = decoder(&coding);
        let mut large = decoder(&coding);
        prop_assert_eq!(
            decode_field(&mut small, &field, room),
            decode_field(&mut large, &field, 60_000)
        );
        prop_assert_eq!(small.truncated(), large.truncated());
    }
}

#[test]
fn every_byte_at_every_repeat_boundary() {
    let plain = [None, Some(b'~')];
    for rept in plain {
        for (qbin, shift) in [
            (None, Shift::Off),
            (Some(b'&'), Shift::Off),
            (Some(b'&'), Shift::Negotiated),
            (None, Shift::Forced),
        ] {
            for text in [false, true] {
                let coding = Coding { qbin, rept, shift, text, ..Coding::default() };
                for byte in 0..=255u8 {
                    let mut src = Vec::new();
                    for run in [1, 2, 3, 93, 94, 95] {
                        src.extend(std::iter::repeat_n(byte, run));
                        src.push(b'x');
                    }
                    round_trip(&coding, &src, 89, &[]);
                }
            }
        }
    }
}

#[test]
fn wire_cost_on_random_bytes() {
    let src = wetstring_testkit::pattern(400_000);
    let cost = |prefix, strict_high| {
        let coding = Coding { rept: Some(b'~'), prefix, strict_high, ..Coding::default() };
        encode_all(&coding, &src).len() as f64 / src.len() as f64
    };
    assert!(cost(PrefixTable::CLEAR_OWN, false) < 1.009);
    assert!(cost(PrefixTable::CLEAR, false) < 1.017);
    assert!(cost(PrefixTable::ALL, true) < 1.28);
}

#[test]
fn names_are_neither_text_nor_shifted() {
    let coding = Coding {
        qbin: Some(b'&'),
        shift: Shift::Negotiated,
        text: true,
        rept: Some(b'~'),
        ..Coding::default()
    };
    let mut dst = [0; 40];
    let (used, written) = encode_text(&coding, b"a\n\xe9\xe9\xe9\xe9#", &mut dst);
    assert_eq!((used, &dst[..written]), (7, &b"a#J~$&i##"[..]));
    assert_eq!(encode_text(&coding, b"ab#", &mut dst[..3]), (2, 2));
}

#[test]
fn truncated_elements_are_dropped_and_counted() {
    for field in [&b"a#"[..], b"a~", b"a~%", b"a&", b"a~%&#", b"a#P", b"a#P~"] {
        let mut decoder = Decoder::new(b'#', Some(b'&'), Some(b'~'), Shift::Negotiated, false);
        assert_eq!(decode_field(&mut decoder, field, 188), b"a", "{}", field.escape_ascii());
        assert_eq!(decoder.truncated(), 1);
        assert_eq!(decode_field(&mut decoder, b"b", 188), b"b");
    }
}

#[test]
fn a_cr_waits_for_its_lf_across_packets() {
    let mut decoder = Decoder::new(b'#', None, Some(b'~'), Shift::Off, true);
    assert_eq!(decode_field(&mut decoder, b"a#M", 188), b"a");
    assert_eq!(decode_field(&mut decoder, b"#Jb#M", 188), b"\nb");
    assert_eq!(decode_field(&mut decoder, b"c#M", 188), b"\rc");
    assert_eq!(decoder.finish(&mut []), 0);
    let mut end = [0; 4];
    assert_eq!((decoder.finish(&mut end), end[0]), (1, b'\r'));
    assert_eq!(decoder.finish(&mut end), 0);
}
