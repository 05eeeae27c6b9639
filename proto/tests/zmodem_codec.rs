//! ZMODEM's codec: golden vectors, and what must hold for any bytes in any chunking.

use crate::common;

use common::Dice;
use proptest::prelude::*;
use wetstring_proto::zmodem::escape::{Dropping, Escaper, Escaping, Unescaper};
use wetstring_proto::zmodem::frame::{Found, FrameReader};
use wetstring_proto::zmodem::info::{self, Conversion, FileOptions, Transport};
use wetstring_proto::zmodem::packet::{
    Form, Header, MAX_HEADER, end, kind, put_subpacket, subpacket_room,
};
use wetstring_proto::zmodem::{PeerRole, recognise, rle};
use wetstring_proto::{FileInfo, FileKind, Wish};

const VECTORS: &str = include_str!("../../vectors/zmodem/frames.txt");

fn hex(text: &str) -> Vec<u8> {
    let text = if text == "-" { "" } else { text };
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

fn vectors(of: &str) -> impl Iterator<Item = (Vec<&'static str>, Vec<u8>)> {
    VECTORS.lines().filter_map(move |line| {
        let (left, right) = line.strip_prefix(of)?.split_once(" = ")?;
        Some((left.split_whitespace().collect(), hex(right)))
    })
}

fn put_header(header: Header) -> Vec<u8> {
    put_header_with(Escaping::Normal, header)
}

fn put_header_with(escaping: Escaping, header: Header) -> Vec<u8> {
    let mut out = [0; MAX_HEADER];
    let len = header.put(&mut Escaper::new(escaping), &mut out);
    out[..len].to_vec()
}

fn subpacket(escaping: Escaping, form: Form, data: &[u8], end: u8) -> Vec<u8> {
    let mut out = vec![0; subpacket_room(data.len())];
    let (_, len) = put_subpacket(&mut Escaper::new(escaping), form, data, end, &mut out);
    out.truncate(len);
    out
}

/// Reads `wire` in pieces; data is expected after the first header.
fn read(wire: &[u8], dropping: Dropping, chunks: &mut Dice) -> (Vec<Found>, Vec<Vec<u8>>) {
    let mut reader = FrameReader::new(dropping);
    let mut room = vec![0; 8192];
    let (mut all, mut data) = (Vec::new(), Vec::new());
    let mut rest = wire;
    while !rest.is_empty() {
        let len = 1 + chunks.roll(rest.len().min(700));
        let (used, found) = reader.next(&mut room, &rest[..len]);
        rest = &rest[used..];
        match found {
            Some(Found::Header(_)) => reader.expect_data(),
            Some(Found::Data { len, .. }) => data.push(room[..len].to_vec()),
            _ => {}
        }
        all.extend(found);
    }
    (all, data)
}

#[test]
fn golden_headers() {
    let mut count = 0;
    for (words, wire) in vectors("header ") {
        let form = match words[0] {
            "hex" => Form::Hex,
            "bin16" => Form::Bin16,
            _ => Form::Bin32,
        };
        let kind = kind::NAMES.iter().position(|name| *name == words[1]).unwrap() as u8;
        let data = hex(words[2]).try_into().unwrap();
        let header = Header { kind, data, form, variable: false };
        assert_eq!(put_header(header), wire, "{words:?}");
        let (found, _) = read(&wire, Dropping::FlowControl, &mut Dice(count));
        assert_eq!(found[0], Found::Header(header), "{words:?}");
        count += 1;
    }
    assert!(count >= 35, "{count} vectors");
}

#[test]
fn golden_subpackets() {
    let mut count = 0;
    for (words, wire) in vectors("data ") {
        let form = if words[0] == "crc16" { Form::Bin16 } else { Form::Bin32 };
        let (escaping, dropping) = match words[1] {
            "ctl" => (Escaping::Controls, Dropping::Controls),
            "turbo" => (Escaping::Turbo, Dropping::FlowControl),
            "dir" => (Escaping::Zdle, Dropping::Nothing),
            _ => (Escaping::Normal, Dropping::FlowControl),
        };
        let end = match words[2] {
            "ZCRCE" => end::ZCRCE,
            "ZCRCG" => end::ZCRCG,
            "ZCRCQ" => end::ZCRCQ,
            _ => end::ZCRCW,
        };
        let plain = hex(words[3]);
        // The vectors for DirZap have the XON after ZCRCW as the others.
        assert_eq!(subpacket(escaping, form, &plain, end), wire, "{words:?}");
        let header = Header { kind: kind::ZDATA, data: [0; 4], form, variable: false };
        let wire = [put_header_with(escaping, header), wire].concat();
        let (found, data) = read(&wire, dropping, &mut Dice(count));
        assert_eq!(found[1], Found::Data { end, len: plain.len() }, "{words:?}");
        assert_eq!(data[0], plain, "{words:?}");
        count += 1;
    }
    assert!(count >= 50, "{count} vectors");
}

#[test]
fn golden_runs() {
    for (words, coded) in vectors("runs ") {
        let plain = hex(words[0]);
        let mut out = [0; 300];
        let (used, made) = rle::encode(&plain, &mut out);
        assert_eq!(used, plain.len());
        // Two of the vectors spend a code on a run that is as short without one.
        assert!(made <= coded.len(), "{words:?}: {:?}", &out[..made]);
        let mut back = [0; 300];
        let (used, len) = rle::decode(&coded, &mut back).unwrap();
        assert_eq!((used, &back[..len]), (coded.len(), &plain[..]), "{words:?}");
    }
    assert_eq!(rle::decode(&[0x7E], &mut [0; 9]), None);
    assert_eq!(rle::decode(&[0x7E, 0x45], &mut [0; 9]), None);
    assert_eq!(rle::decode(&[0x7E, 0xC0, 1], &mut [0; 9]), None);
}

#[test]
fn variable_headers_are_read_in_every_length() {
    use wetstring_proto::crc::{crc16, crc32};
    for (letter, check) in [(b'a', 2), (b'c', 4), (b'd', 4), (b'b', 2)] {
        for len in 0..=17u8 {
            let mut body = vec![kind::ZRPOS];
            body.extend((0..len).map(|k| k * 0x0B));
            let crc = match check {
                2 => crc16(&body).to_be_bytes().to_vec(),
                _ => crc32(&body).to_le_bytes().to_vec(),
            };
            let whole = [vec![len], body, crc].concat();
            let mut wire = vec![b'*', 0x18, letter];
            if letter == b'b' {
                wire.extend(whole.iter().flat_map(|b| format!("{b:02x}").into_bytes()));
            } else {
                let mut out = vec![0; subpacket_room(whole.len())];
                let made = Escaper::new(Escaping::Normal).put(&whole, &mut out);
                wire.extend_from_slice(&out[..made]);
            }
            let mut reader = FrameReader::new(Dropping::FlowControl);
            let found = reader.next(&mut [], &wire).1;
            match found {
                Some(Found::Header(header)) if (1..=16).contains(&len) => {
                    assert_eq!(header.kind, kind::ZRPOS);
                    let want: Vec<u8> = (0..len.min(4)).map(|k| k * 0x0B).collect();
                    assert_eq!(header.data[..want.len()], want);
                    assert!(header.variable);
                }
                Some(Found::BadHeader { .. }) if len == 0 || len == 17 => {}
                other => panic!("{letter} {len}: {other:?}"),
            }
        }
    }
}

#[test]
fn headers_are_found_in_dirt() {
    let header = Header::hex(kind::ZRPOS, 0x1234_5678);
    let plain = put_header(header);
    let parity: Vec<u8> = plain.iter().map(|b| if *b == 0x18 { *b } else { b | 0x80 }).collect();
    let flow: Vec<u8> = [&plain[..2], &[0x13, 0x91], &plain[2..]].concat();
    for dirty in [
        [b"login: \x18 *", &plain[..]].concat(),
        [b"rz\r****", &plain[..]].concat(),
        [b"*\x18", &plain[..]].concat(),
        [b"**\x18B0900", &plain[..]].concat(),
        [b"\x18\x18\x18\x18", &plain[..]].concat(),
        parity,
        flow,
    ] {
        for seed in 0..20 {
            let (found, _) = read(&dirty, Dropping::FlowControl, &mut Dice(seed));
            assert!(found.contains(&Found::Header(header)), "{dirty:?}: {found:?}");
        }
    }
    let upper = plain.to_ascii_uppercase();
    let upper = [&upper[..], &put_header(Header::hex(kind::ZCRC, 0xABCD))].concat();
    let mut reader = FrameReader::new(Dropping::FlowControl);
    assert!(matches!(reader.next(&mut [], &upper).1, Some(Found::Header(_))), "digits only");
    let bad = b"**\x18B0A0000000046ae";
    assert!(matches!(
        FrameReader::new(Dropping::FlowControl).next(&mut [], bad).1,
        Some(Found::BadHeader { .. })
    ));
}

#[test]
fn no_noise_makes_compressed_data_of_other_data() {
    let read_one = |wire: &[u8]| FrameReader::new(Dropping::FlowControl).next(&mut [], wire).1;
    for variable in [false, true] {
        let of = |form, kind| put_header(Header { form, variable, ..Header::hex(kind, 7) });
        let packed = of(Form::Packed, kind::ZDATA);
        assert!(matches!(read_one(&packed), Some(Found::Header(header)) if header.number() == 7));
        // Another letter on it, and its letter on another.
        let plain = of(Form::Bin32, kind::ZDATA);
        for (wire, letter) in [(packed.clone(), plain[2]), (plain, packed[2])] {
            let mut wire = wire;
            wire[2] = letter;
            assert!(matches!(read_one(&wire), Some(Found::BadHeader { .. })), "{wire:02x?}");
        }
        let eof = of(Form::Packed, kind::ZEOF);
        assert!(matches!(read_one(&eof), Some(Found::BadHeader { .. })));
    }
}

#[test]
fn five_can_cancel_anywhere() {
    for prefix in [&b""[..], b"text", b"*", b"*\x18", b"*\x18C\x0a", b"**\x18B01"] {
        let wire = [prefix, &[0x18; 5]].concat();
        let (found, _) = read(&wire, Dropping::FlowControl, &mut Dice(3));
        assert!(found.contains(&Found::Cancel), "{prefix:?}: {found:?}");
    }
    let header = put_header(Header { form: Form::Bin32, ..Header::hex(kind::ZDATA, 0) });
    let wire = [&header[..], b"some data", &[0x18; 5]].concat();
    let (found, _) = read(&wire, Dropping::FlowControl, &mut Dice(4));
    assert_eq!(found.last(), Some(&Found::Cancel));
}

#[test]
fn file_information_both_ways() {
    let options = FileOptions {
        conversion: Conversion::Resume,
        wish: Wish::Overwrite,
        skip_if_absent: true,
        transport: Transport::Rle,
        sparse: true,
    };
    let header =
        Header { kind: kind::ZFILE, data: options.emit(), form: Form::Bin32, variable: false };
    assert_eq!(FileOptions::parse(&header), options);
    assert_eq!(options.emit(), [0x40, 3, 0x84, 3]);
    // As captured from lrzsz.
    let captured = b"hello.txt\x0013 3563262400 100644 0 1 13\0";
    let info = info::parse(captured, &FileOptions::default()).unwrap();
    assert_eq!((info.name, info.size, info.mode), (&b"hello.txt"[..], Some(13), Some(0o644)));
    assert_eq!(info.modified, Some(0o3_563_262_400));
    assert_eq!(info.left.map(|left| (left.files, left.bytes)), Some((1, 13)));
    let mut out = vec![0; 200];
    out[..9].copy_from_slice(b"hello.txt");
    let len = info::emit(&info, 9, &mut out);
    assert_eq!(&out[..len], captured);
    let bare = FileInfo { name: b"x", ..FileInfo::default() };
    out[0] = b'x';
    let len = info::emit(&bare, 1, &mut out);
    assert_eq!(&out[..len], b"x\0\0");
    for odd in
        [&b"x"[..], b"x\0", b"x\0nonsense", b"x\0-1 9 9\0", b"x\099999999999999999999999 0\0"]
    {
        let info = info::parse(odd, &FileOptions::default()).unwrap();
        assert_eq!(
            (info.name, info.size, info.kind),
            (&b"x"[..], None, FileKind::Binary),
            "{odd:?}"
        );
    }
    assert_eq!(info::parse(b"\x0013 0 0\0", &FileOptions::default()), None);
    // ZCBIN is the sender's word that no receiver may take it for text.
    for (conversion, verbatim) in
        [(Conversion::Binary, true), (Conversion::Unsaid, false), (Conversion::Newlines, false)]
    {
        let options = FileOptions { conversion, ..FileOptions::default() };
        let info = info::parse(b"x\x001\0", &options).unwrap();
        assert_eq!(info.extras.zmodem().verbatim, verbatim, "{conversion:?}");
    }
    // Setuid and the file type stay behind.
    let info = info::parse(b"x\x001 0 104755 0\0", &FileOptions::default()).unwrap();
    assert_eq!((info.mode, info.modified), (Some(0o755), None));
}

#[test]
fn first_bytes_identify_the_peer() {
    let start = [b"\r\nrz\r", &put_header(Header::hex(kind::ZRQINIT, 0))[..]].concat();
    assert_eq!(recognise(&start), Some((5, PeerRole::Sender)));
    let waiting = put_header(Header::hex(kind::ZRINIT, 0x2300_0000));
    assert_eq!(recognise(&waiting), Some((0, PeerRole::Receiver)));
    for cut in 0..waiting.len() - 3 {
        assert_eq!(recognise(&waiting[..cut]), None, "{cut}");
    }
    // A document that shows the trigger.
    assert_eq!(recognise(b"type **\x18B00 and see ****** \x18B01"), None);
    let mut damaged = start.clone();
    damaged[12] = b'1';
    assert_eq!(recognise(&damaged), None);
    assert_eq!(recognise(&put_header(Header::hex(kind::ZFIN, 0))), None);
}

fn escapings() -> impl Strategy<Value = (Escaping, Dropping)> {
    prop_oneof![
        Just((Escaping::Normal, Dropping::FlowControl)),
        Just((Escaping::Controls, Dropping::Controls)),
        Just((Escaping::Turbo, Dropping::FlowControl)),
        Just((Escaping::Zdle, Dropping::Nothing)),
    ]
}

/// Bytes of which many are special.
fn bytes(len: usize) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(vec![
            0x18u8, 0x10, 0x11, 0x13, 0x90, 0x91, 0x93, 0x0D, 0x8D, b'@', 0xC0, 0x7E, b' '
        ]),
    ];
    prop_oneof![prop::collection::vec(byte, 0..len), prop::collection::vec(any::<u8>(), 0..len)]
}

/// The rules of the document, one byte at a time.
fn escape_slowly(escaping: Escaping, bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut previous) = (Vec::new(), 0u8);
    for &byte in bytes {
        let low = byte & 0x7F;
        let escaped = match escaping {
            Escaping::Normal => {
                matches!(low, 0x10 | 0x11 | 0x13) || (low == 0x0D && previous & 0x7F == b'@')
            }
            Escaping::Controls => byte & 0x60 == 0,
            Escaping::Turbo => matches!(low, 0x11 | 0x13),
            Escaping::Zdle => false,
        };
        if escaped || byte == 0x18 {
            out.extend([0x18, byte ^ 0x40]);
        } else {
            out.push(byte);
        }
        previous = *out.last().unwrap();
    }
    out
}

proptest! {
    #[test]
    fn escapes_are_those_of_the_document((escaping, _) in escapings(), data in bytes(700)) {
        let mut out = vec![0xEE; subpacket_room(data.len())];
        let len = Escaper::new(escaping).put(&data, &mut out);
        prop_assert_eq!(&out[..len], &escape_slowly(escaping, &data)[..]);
    }

    #[test]
    fn subpackets_survive_any_chunking(
        (escaping, dropping) in escapings(), data in bytes(1500), more in bytes(300),
        form in prop_oneof![Just(Form::Bin16), Just(Form::Bin32)], seed in any::<u64>(),
    ) {
        let header = Header { kind: kind::ZDATA, data: [0x11; 4], form, variable: seed % 2 == 0 };
        let wire = [
            b"dirt*".to_vec(),
            put_header_with(escaping, header),
            subpacket(escaping, form, &data, end::ZCRCG),
            subpacket(escaping, form, &more, end::ZCRCE),
        ].concat();
        let (found, got) = read(&wire, dropping, &mut Dice(seed));
        prop_assert_eq!(found.len(), 3);
        prop_assert_eq!(got, vec![data, more]);
    }

    #[test]
    fn flow_control_between_bytes_is_ignored(data in bytes(300), seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let mut wire = Vec::new();
        let mut escaped = vec![0; subpacket_room(data.len())];
        let len = Escaper::new(Escaping::Normal).put(&data, &mut escaped);
        for byte in &escaped[..len] {
            if dice.roll(4) == 0 {
                wire.push([0x11, 0x13, 0x91, 0x93][dice.roll(4)]);
            }
            wire.push(*byte);
        }
        let mut out = vec![0; data.len() + 200];
        let took = Unescaper::new(Dropping::FlowControl).take(&wire, &mut out);
        prop_assert_eq!(&out[..took.made], &data[..]);
    }

    #[test]
    fn one_changed_byte_is_found(data in bytes(200), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut wire = subpacket(Escaping::Normal, Form::Bin32, &data, end::ZCRCE);
        let at = at.index(wire.len());
        wire[at] ^= 1 << bit;
        let mut reader = FrameReader::new(Dropping::FlowControl);
        reader.next(&mut [], &put_header(Header { form: Form::Bin32, ..Header::hex(kind::ZDATA, 0) }));
        reader.expect_data();
        let mut room = vec![0; 8192];
        if let (_, Some(Found::Data { len, .. })) = reader.next(&mut room, &wire) {
            prop_assert_eq!(&room[..len], &data[..]);
        }
    }

    #[test]
    fn runs_round_trip(data in bytes(900), room in 3usize..300) {
        let (mut at, mut back) = (0, Vec::new());
        while at < data.len() {
            let mut coded = vec![0; room];
            let (used, made) = rle::encode(&data[at..], &mut coded);
            // A run may need more room than there is; a real subpacket has it.
            prop_assume!(used > 0);
            at += used;
            let mut from = 0;
            while from < made {
                let mut out = [0; 200];
                let (used, len) = rle::decode(&coded[from..made], &mut out).unwrap();
                prop_assert!(used > 0);
                from += used;
                back.extend_from_slice(&out[..len]);
            }
        }
        prop_assert_eq!(back, data);
    }

    #[test]
    fn any_bytes_do_no_harm(data in prop::collection::vec(any::<u8>(), 0..3000), seed in any::<u64>()) {
        let wire = [put_header(Header { form: Form::Bin32, ..Header::hex(kind::ZDATA, 0) }), data].concat();
        read(&wire, Dropping::FlowControl, &mut Dice(seed));
        let _ = recognise(&wire);
        let mut out = [0; 500];
        let _ = rle::decode(&wire, &mut out);
        let _ = info::parse(&wire, &FileOptions::default());
    }
}
