//! Kermit packets in a stream: noise, damage, chunking, parity, hostile bytes.

use proptest::prelude::*;
use wetstring_proto::kermit::check::{Check, tochar};
use wetstring_proto::kermit::frame::{Found, FrameReader, FrameSettings, Parity};
use wetstring_proto::kermit::packet::BadPacket;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Owned {
    Packet(Vec<u8>),
    Damaged(BadPacket, usize),
    Interrupt,
}

/// Runs a stream through a reader, cut where `cuts` say, with its noise count.
pub(crate) fn frames(settings: FrameSettings, stream: &[u8], cuts: &[usize]) -> (Vec<Owned>, u64) {
    let mut reader = FrameReader::new(settings);
    let found = feed(&mut reader, stream, cuts);
    (found, reader.noise_bytes())
}

fn feed(reader: &mut FrameReader, stream: &[u8], cuts: &[usize]) -> Vec<Owned> {
    let mut buf = vec![0; reader.settings.buffer_len()];
    let mut found = Vec::new();
    let mut cuts = cuts.iter().copied().chain(std::iter::repeat(usize::MAX));
    let mut rest = stream;
    while !rest.is_empty() {
        let (mut piece, after) = rest.split_at(rest.len().min(cuts.next().unwrap()));
        rest = after;
        while !piece.is_empty() {
            let (used, what) = reader.next(&mut buf, piece);
            assert!(used > 0 || what.is_some(), "neither progress nor a find");
            piece = &piece[used..];
            found.extend(what.map(|what| match what {
                Found::Packet(body) => Owned::Packet(body.to_vec()),
                Found::Damaged { why, len } => Owned::Damaged(why, len),
                Found::Interrupt => Owned::Interrupt,
                found => panic!("not without error correction: {found:?}"),
            }));
        }
    }
    found
}

fn clean() -> FrameSettings {
    FrameSettings { parity: Some(Parity::None), max_len: 9030, ..FrameSettings::default() }
}

/// The body of a packet with a check of type 1, long where `long`.
fn body(seq: u8, data: &[u8], long: bool) -> Vec<u8> {
    let mut body = vec![0, tochar(seq), b'D'];
    if long {
        let extended = data.len() + 1;
        body[0] = b' ';
        body.extend([tochar((extended / 95) as u8), tochar((extended % 95) as u8)]);
        body.push(Check::Sum6.compute(&body)[0]);
    } else {
        body[0] = tochar((data.len() + 3) as u8);
    }
    body.extend_from_slice(data);
    body.push(Check::Sum6.compute(&body)[0]);
    body
}

#[test]
fn packets_among_noise() {
    let (a, b) = (body(1, b"hello", false), body(2, b"world", true));
    let stream = [b"\r\nlogin: \x01", &a[..], b"\r\n\0\x11\x01", &b[..], b"\rxy\r"].concat();
    let (found, noise) = frames(clean(), &stream, &[]);
    assert_eq!(found, [Owned::Packet(a), Owned::Packet(b)]);
    // "login: " and "xy" with a CR that is part of the data.
    assert_eq!(noise, 7 + 3);
}

fn damaged(found: &[Owned]) -> Vec<usize> {
    found
        .iter()
        .filter_map(|f| if let Owned::Damaged(_, n) = f { Some(*n) } else { None })
        .collect()
}

#[test]
fn damage_is_seen_at_once_and_the_next_packet_found() {
    let good = body(3, b"good", false);
    let long = body(4, &[b'x'; 200], true);
    let mut bad_hcheck = long.clone();
    bad_hcheck[5] ^= 1;
    let mut too_long = vec![b' ', b'!', b'D', b'~', b'~'];
    too_long.push(Check::Sum6.compute(&too_long)[0]);
    let cases: [(&[u8], usize); 9] = [
        (b"!", 2),
        (b"\"", 2),
        (b"\x1f", 2),
        (b"\x80", 2),
        (b"(\x1f", 3),
        (b"(`", 3),
        (&bad_hcheck[..6], 7),
        (b"(!D12\r", 7),
        (b"(!D12", 6),
    ];
    for (bad, len) in cases {
        let stream = [b"\x01", bad, b"\x01", &good[..], b"\r"].concat();
        let (found, noise) = frames(clean(), &stream, &[]);
        assert_eq!(damaged(&found), [len], "{}", bad.escape_ascii());
        assert_eq!(found[1], Owned::Packet(good.clone()), "{}", bad.escape_ascii());
        assert_eq!(noise, 0);
    }
    let small = FrameSettings { max_len: 1000, ..clean() };
    let (found, _) = frames(small, &[b"\x01", &too_long[..], b"\x01", &good].concat(), &[]);
    assert_eq!((damaged(&found), found.len()), (vec![7], 2));
}

#[test]
fn lengths_that_are_tolerated() {
    // C-Kermit 10 beta: a LEN of 95, and long packets a few bytes over the agreed length.
    let overlong = body(5, &[b'y'; 92], false);
    assert_eq!(overlong[0], 127);
    let settings = FrameSettings { max_len: 300, ..clean() };
    let edge = body(6, &[b'z'; 300 + 16 - 7], true);
    let over = body(6, &[b'z'; 300 + 17 - 7], true);
    for cuts in [&[][..], &[5, 9]] {
        let stream = [b"\x01", &overlong[..], b"\r\x01", &edge].concat();
        let (found, _) = frames(settings, &stream, cuts);
        assert_eq!(found, [Owned::Packet(overlong.clone()), Owned::Packet(edge.clone())]);
        let (found, _) = frames(settings, &[b"\x01", &over[..]].concat(), cuts);
        assert_eq!(damaged(&found), [7]);
    }
}

#[test]
fn clear_channel_accepts_mark_and_eol_as_data() {
    let data: Vec<u8> = (0..=255).collect();
    let packet = body(7, &data, true);
    let stream = [b"\x01", &packet[..], b"\r"].concat();
    let settings = FrameSettings { transparent: true, ..clean() };
    for cuts in [&[][..], &[1; 300], &[7], &[8]] {
        assert_eq!(frames(settings, &stream, cuts).0, [Owned::Packet(packet.clone())]);
        assert_eq!(damaged(&frames(clean(), &stream, cuts).0), [8, 2]);
    }
}

#[test]
fn interrupts_between_packets() {
    let packet = body(1, b"\x03\x03\x03", false);
    let stream = [b"\x03\x83\x01", &packet[..], b"\r\x03\x03x\x03\x83\x03\x03"].concat();
    let settings = FrameSettings { interrupt: 3, ..clean() };
    for cuts in [&[][..], &[1; 30]] {
        let (found, noise) = frames(settings, &stream, cuts);
        assert_eq!(found, [Owned::Packet(packet.clone()), Owned::Interrupt]);
        assert_eq!(noise, 2 + 7);
    }
    assert_eq!(frames(clean(), &[3; 1000], &[]), (vec![], 1000));
}

#[test]
fn silence_gives_up_a_packet() {
    let mut reader = FrameReader::new(clean());
    assert_eq!(reader.abandon(), 0);
    assert_eq!(feed(&mut reader, b"\x01(!Dab", &[]), []);
    assert!(reader.mid_packet());
    assert_eq!(reader.abandon(), 6);
    assert!(!reader.mid_packet());
    let good = body(2, b"good", false);
    assert_eq!(feed(&mut reader, &[b"\x01", &good[..]].concat(), &[]), [Owned::Packet(good)]);
}

#[test]
fn parity_is_sensed_from_the_first_packet() {
    let parities = [Parity::None, Parity::Even, Parity::Odd, Parity::Mark];
    for parity in parities {
        for data in [&b"~/ @-#Y3~^>J)0___J\"U1@"[..], b"", b"A"] {
            for kind in [b'S', b'I', b'Y', b'R', b'N'] {
                let mut packet = body(0, data, false);
                packet[2] = kind;
                let len = packet.len() - 1;
                packet[len] = Check::Sum6.compute(&packet[..len])[0];
                let mut stream = [b"\x01", &packet[..], b"\r"].concat();
                parity.apply(&mut stream);
                for cuts in [&[][..], &[1; 40], &[3, 2]] {
                    let mut reader = FrameReader::new(FrameSettings::default());
                    assert_eq!(reader.sensed(), None);
                    let found = feed(&mut reader, &stream, cuts);
                    assert_eq!(found, [Owned::Packet(packet.clone())]);
                    // A short packet may look like two parities; a full parameter string never.
                    if data.len() > 9 {
                        assert_eq!(reader.sensed(), Some(parity), "{}", kind as char);
                        reader.forget_parity();
                        assert_eq!(reader.sensed(), None);
                    }
                }
            }
        }
    }
    // Space parity looks like none, and bytes of no parity at all are no packet.
    let (found, _) = frames(FrameSettings::default(), b"\x01(\xa1D", &[]);
    assert_eq!(damaged(&found), [4]);
}

#[test]
fn parity_bits() {
    for byte in 0..=255u8 {
        assert_eq!(Parity::None.add(byte), byte);
        assert_eq!(Parity::Even.add(byte).count_ones() % 2, 0);
        assert_eq!(Parity::Odd.add(byte).count_ones() % 2, 1);
        assert_eq!(Parity::Mark.add(byte), byte | 0x80);
        assert_eq!(Parity::Space.add(byte), byte & 0x7F);
    }
    assert!(Parity::Space.is_seven_bit() && !Parity::None.is_seven_bit());
}

/// Streams of packets, broken packets and noise.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let data = prop::collection::vec(
        prop_oneof![20 => 0x20..0x7Fu8, 1 => any::<u8>(), 1 => prop::sample::select(&[1u8, 13][..])],
        0..400,
    );
    let part = prop_oneof![
        6 => (0..64u8, data, any::<bool>()).prop_map(|(seq, mut data, long)| {
            if !long { data.truncate(91) }
            [&[1], &body(seq, &data, long)[..], &[13]].concat()
        }),
        2 => prop::collection::vec(prop::sample::select(&[1u8, 3, 3, 3, 13, 10, 0, 17, 32, 40, b'!', b'A', 0x81, 127][..]), 0..12),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(crate::kermit_codec::cases(1500))]

    #[test]
    fn chunking_changes_nothing(
        stream in streams(),
        cuts in prop::collection::vec(1..60usize, 0..60),
        parity in prop_oneof![3 => Just(Some(Parity::None)), 1 => Just(Some(Parity::Even)), 1 => Just(None)],
        line in prop_oneof![3 => Just(Parity::None), 1 => Just(Parity::Even), 1 => Just(Parity::Mark)],
        transparent in any::<bool>(),
        interrupt in 0..4u8,
        max_len in 40..500usize,
    ) {
        let mut stream = stream;
        line.apply(&mut stream);
        let settings =
            FrameSettings { parity, transparent, interrupt, max_len, ..FrameSettings::default() };
        let whole = frames(settings, &stream, &[]);
        prop_assert_eq!(&whole, &frames(settings, &stream, &cuts));
        prop_assert_eq!(&whole, &frames(settings, &stream, &vec![1; stream.len()]));
    }

    #[test]
    fn hostile_streams_never_panic(
        stream in prop::collection::vec(any::<u8>(), 0..2000),
        marks in any::<bool>(),
        mark in prop_oneof![Just(1u8), any::<u8>()],
        eol in prop_oneof![Just(13u8), any::<u8>()],
        room in 0..300usize,
    ) {
        let mut stream = stream;
        if marks {
            for byte in &mut stream {
                *byte = b"\x01 !D#$%\r\x03\x7f~ "[usize::from(*byte) % 12];
            }
        }
        let settings = FrameSettings { mark, eol, interrupt: 255, ..FrameSettings::default() };
        let mut reader = FrameReader::new(settings);
        let mut buf = vec![0; room];
        let mut rest = &stream[..];
        let mut accounted = 0;
        while !rest.is_empty() {
            let (used, found) = reader.next(&mut buf, rest);
            prop_assert!(used > 0 || found.is_some());
            accounted += match found {
                Some(Found::Packet(body)) => body.len() + 1,
                Some(Found::Damaged { len, .. }) => len,
                _ => 0,
            };
            rest = &rest[used..];
        }
        // No byte is counted twice.
        let accounted = accounted as u64 + reader.noise_bytes() + reader.abandon() as u64;
        prop_assert!(accounted <= stream.len() as u64);
    }
}
