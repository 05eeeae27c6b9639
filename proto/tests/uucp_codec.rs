//! UUCP's packets and commands: golden vectors both ways, what must hold for any bytes, and what the
//! check of 16 bits sees.

use crate::common;

use common::{Dice, random};
use wetstring_proto::uucp::command::{self, Command, Features, local_name};
use wetstring_proto::uucp::frame::{
    Found, HEADER, PacketReader, control, data_header, field_len, k_of, sum,
};
use wetstring_proto::uucp::packet::{Kind, complete, lead, valid};

const VECTORS: &str = include_str!("../../vectors/uucp/packets.txt");

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|k| u8::from_str_radix(&text[k..k + 2], 16).unwrap()).collect()
}

/// The fields of the vectors of one kind.
fn vectors(kind: &str) -> Vec<Vec<&'static str>> {
    let lines = VECTORS.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
    let found: Vec<Vec<&str>> = lines.map(|line| line.split(' ').collect()).collect();
    assert!(!found.is_empty(), "no vectors of {kind}");
    found
}

fn number(text: &str) -> usize {
    text.parse().unwrap()
}

fn fill(what: &str, len: usize) -> Vec<u8> {
    let mut bytes = match what {
        "zeros" => vec![0; len],
        "ff" => vec![0xFF; len],
        "ramp" => (0..len).map(|index| index as u8).collect(),
        text => text.trim_matches('\'').as_bytes().to_vec(),
    };
    bytes.resize(len, 0);
    bytes
}

/// A data packet with these valid bytes.
fn data(sequence: u8, last: u8, bytes: &[u8], len: usize) -> Vec<u8> {
    let mut field = vec![0; len];
    let begin = lead(len, bytes.len());
    field[begin..begin + bytes.len()].copy_from_slice(bytes);
    let short = complete(&mut field, bytes.len());
    let byte = Kind::Data { sequence, last, short }.byte();
    let mut packet = data_header(len, byte, sum(&field)).to_vec();
    packet.extend(field);
    packet
}

/// Everything that a reader finds, and the valid bytes of data.
fn found(bytes: &[u8], chunk: usize) -> Vec<(Found, Vec<u8>)> {
    let mut reader = PacketReader::new(4096);
    let mut room = [0; 4096];
    let mut all = Vec::new();
    for part in bytes.chunks(chunk) {
        let mut used = 0;
        while let (count, Some(found)) = reader.next(&mut room, &part[used..]) {
            used += count;
            let data = match found {
                Found::Data { len, .. } => room[..len].to_vec(),
                _ => Vec::new(),
            };
            all.push((found, data));
        }
    }
    all
}

#[test]
fn golden_packets() {
    for row in vectors("control") {
        let y = number(row[1]) as u8;
        let kind = match row[0] {
            "INITA" => Kind::InitA(y),
            "INITB" => Kind::InitB(y),
            "INITC" => Kind::InitC(y),
            "RR" => Kind::Ready(y),
            "RJ" => Kind::Reject(y),
            "SRJ" => Kind::SelectiveReject(y),
            _ => Kind::Close,
        };
        assert_eq!(control(kind.byte())[..], hex(row[2]), "{row:?}");
        let got = found(&hex(row[2]), 7);
        assert_eq!(got, [(Found::Control(kind.byte()), vec![])], "{row:?}");
        assert_eq!(Kind::parse(kind.byte()), Some(kind));
    }
    for row in vectors("sum") {
        let want = u16::from_str_radix(row[2], 16).unwrap();
        assert_eq!(sum(&fill(row[0], number(row[1]))), want, "{row:?}");
    }
    for row in vectors("data") {
        let (sequence, last) = (number(row[0]) as u8, number(row[1]) as u8);
        let (count, len) = (number(row[3]), number(row[4]));
        let bytes = &fill(row[2], len)[..count];
        assert_eq!(data(sequence, last, bytes, len), hex(row[5]), "{row:?}");
        let [(Found::Data { control, .. }, field)] = &found(&hex(row[5]), 5)[..] else {
            panic!("{row:?}")
        };
        let short = count < len;
        assert_eq!(Kind::parse(*control), Some(Kind::Data { sequence, last, short }));
        let range = if short { valid(field).unwrap() } else { 0..len };
        assert_eq!(&field[range], bytes);
    }
    for row in vectors("field") {
        let (count, len) = (number(row[1]), number(row[2]));
        let want = hex(row[3]);
        let packet = data(0, 0, &fill(row[0], count), len);
        assert_eq!(packet[HEADER..HEADER + want.len()], want, "{row:?}");
    }
}

#[test]
fn every_length_of_every_field() {
    for k in 1..=8 {
        let len = field_len(k).unwrap();
        assert_eq!(k_of(len), k);
        for count in 0..=len {
            let bytes = &random(len, u64::from(k))[..count];
            let mut field = vec![0xEE; len];
            let begin = lead(len, count);
            field[begin..begin + count].copy_from_slice(bytes);
            if complete(&mut field, count) {
                let range = valid(&field).unwrap();
                assert_eq!((&field[range], count < len), (bytes, true));
            } else {
                assert_eq!(count, len);
            }
        }
    }
    assert_eq!([0, 9, 10].map(field_len), [None; 3]);
    // Counts that cannot be.
    assert_eq!(valid(&[0; 32]), None);
    assert_eq!(valid(&[33; 32]), None);
    assert_eq!(valid(&[0x80; 32]), None, "more than the field is missing");
    assert_eq!(valid(&[]), None);
}

#[test]
fn every_control_byte_reads_as_it_is_written() {
    let mut unused = 0;
    for byte in 0..=255u8 {
        match Kind::parse(byte) {
            Some(Kind::Close) => {}
            Some(kind) => assert_eq!(kind.byte(), byte),
            None => unused += 1,
        }
    }
    // The alternate channel, and the control type 0.
    assert_eq!(unused, 64 + 8);
}

#[test]
fn packets_are_found_however_they_are_cut_and_whatever_stands_between() {
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let (mut stream, mut want) = (Vec::new(), Vec::new());
        for _ in 0..20 {
            let noise = dice.roll(5);
            // Bytes that look like the beginning of a packet, but none of them, with what
            // stands behind, is a header by chance.
            let bytes = [0x10, 0x10, 0x10, 9, 2, b'x'];
            stream.extend((0..noise).map(|_| bytes[dice.roll(6)]));
            stream.extend([b'!'; 6]);
            if dice.roll(2) == 0 {
                let byte = Kind::Ready(dice.roll(8) as u8).byte();
                stream.extend(control(byte));
                want.push(Found::Control(byte));
            } else {
                let bytes = random(dice.roll(65), seed);
                let packet = data(3, 4, &bytes, 64);
                want.push(Found::Data { control: packet[4], len: 64 });
                stream.extend(packet);
            }
        }
        let got = found(&stream, 1 + dice.roll(90));
        let good = got.iter().map(|(found, _)| *found);
        let good: Vec<Found> = good.filter(|found| !matches!(found, Found::Byte(_))).collect();
        assert_eq!(good, want, "{seed}");
    }
}

/// The last byte before a pause is not held back: the final exchange is followed by nothing.
#[test]
fn text_is_passed_on_to_its_end() {
    let text = b"\x10OOOOOO\0";
    let got: Vec<Found> = found(text, 3).into_iter().map(|(found, _)| found).collect();
    assert_eq!(got, text.map(Found::Byte));
}

#[test]
fn packet_longer_than_announced_is_rejected() {
    let mut reader = PacketReader::new(64);
    let mut room = [0; 64];
    let packet = data(1, 0, &[7; 128], 128);
    assert_eq!(reader.next(&mut room, &packet), (2, Some(Found::Byte(0x10))));
}

/// How many of N fields with one wrong bit have the same sum, the bit in the first byte and
/// after it.
fn unseen(len: usize, text: bool) -> [u32; 2] {
    let mut dice = Dice(len as u64);
    let mut unseen = [0; 2];
    for _ in 0..2000 {
        let fill = |_| if text { b'a' + dice.roll(26) as u8 } else { dice.roll(256) as u8 };
        let mut field: Vec<u8> = (0..len).map(fill).collect();
        let good = sum(&field);
        for (count, at) in unseen.iter_mut().zip([0, 1 + dice.roll(len - 1)]) {
            let bit = 1 << dice.roll(8);
            field[at] ^= bit;
            *count += u32::from(sum(&field) == good);
            field[at] ^= bit;
        }
    }
    unseen
}

/// What the check does not see is counted, not hoped for: docs/decisions/061 has the figures.
///
/// The first byte falls out of the sum, and is only remembered in a second one, which the first
/// takes up when it overflows or a byte is zero. In a short packet of text it hardly ever does.
#[test]
fn what_sixteen_bits_see() {
    let mut counts = Vec::new();
    for len in [32, 64, 256, 1024, 4096] {
        counts.push((len, unseen(len, false), unseen(len, true)));
    }
    println!("of 2000 wrong bits, not seen in the first byte and behind it: {counts:?}");
    let [_, (64, [first, behind], [text, _]), _, (1024, long, _), _] = counts[..] else { panic!() };
    // Chance would let pass none of 2000.
    assert!((1200..1500).contains(&first) && text > 1700, "{first} {text}");
    assert!(behind < 10, "{behind}");
    assert!(long.iter().all(|count| *count < 20), "{long:?}");
}

fn send_of(text: &[u8], theirs: Features) -> command::Send<'_> {
    match command::parse(text, theirs) {
        Some(Command::Send(send)) => send,
        other => panic!("{}: {other:?}", text.escape_ascii()),
    }
}

fn name_of(text: &[u8]) -> Option<Vec<u8>> {
    let mut name = [0; 64];
    local_name(&send_of(text, Features::default()), &mut name).map(|len| name[..len].to_vec())
}

#[test]
fn the_commands_of_real_systems() {
    let all = Features::parse(b"047");
    let text = br#"S /pub/f1 ~/f1 root -Cd D.0001 0666 "" 0x204"#;
    let send = send_of(text, all);
    assert_eq!((send.from, send.to), (&b"/pub/f1"[..], &b"~/f1"[..]));
    assert_eq!((send.mode, send.size, send.quoted), (Some(0o666), Some(0x204), false));
    // SVR4, with its dummy and a decimal size.
    let svr4 = Features::parse(b"031");
    let send = send_of(b"S a b root -dc D.0 0100644 me dummy 516", svr4);
    assert_eq!((send.mode, send.size), (Some(0o644), Some(516)));
    // The oldest say no size.
    let send = send_of(b"S a b root - D.0 644", Features::default());
    assert_eq!((send.mode, send.size), (Some(0o644), None));
    assert_eq!(Features::parse(b""), Features::parse(b"011"));
    let answer = |about, yes, rest| Some(Command::Answer { about, yes, rest });
    for (text, want) in [
        (&b"SY"[..], answer(b'S', true, &b""[..])),
        (b"SY 0x10", answer(b'S', true, b" 0x10")),
        (b"SN2", answer(b'S', false, b"2")),
        (b"CYM", answer(b'C', true, b"M")),
        (b"CN5", answer(b'C', false, b"5")),
        (b"H", Some(Command::Hangup)),
        (b"HN", answer(b'H', false, b"")),
        (b"R a b root -", Some(Command::Other(b'R'))),
        (b"E x", Some(Command::Other(b'E'))),
        (b"S a b", None),
        (b"", None),
        (b"\xff", None),
    ] {
        assert_eq!(command::parse(text, all), want, "{}", text.escape_ascii());
    }
    assert_eq!([&b""[..], b" 0x10", b" 0xg", b" M 0x2"].map(command::restart), {
        [Some(0), Some(16), None, Some(2)]
    });
    assert_eq!(command::caller(b"Sus -R -N047"), Some((&b"us"[..], Some(all))));
    assert_eq!(command::caller(b"Sus"), Some((&b"us"[..], None)));
    assert_eq!(command::welcome(b"ROKN047"), Ok(Some(all)));
    assert_eq!(command::welcome(b"ROK"), Ok(None));
    assert_eq!(command::welcome(b"RLCK"), Err(&b"LCK"[..]));
}

#[test]
fn names_stay_in_the_public_directory() {
    for (text, want) in [
        (&b"S /pub/me/a.txt ~/b.txt me - D.0 644"[..], Some(&b"b.txt"[..])),
        (b"S a.txt ~/sub/b.txt me - D.0 644", Some(b"sub/b.txt")),
        (b"S /pub/me/a.txt ~/ me - D.0 644", Some(b"a.txt")),
        (b"S /pub/me/a.txt ~ me - D.0 644", Some(b"a.txt")),
        (b"S /pub/me/a.txt /tmp/ me - D.0 644", Some(b"a.txt")),
        (b"S a /etc/passwd me - D.0 644", Some(b"passwd")),
        (b"S a ~you/.profile me - D.0 644", Some(b".profile")),
        (b"S a b me - D.0 644", Some(b"b")),
        // With q: a space and a backslash.
        (b"S a ~/b\\040c\\\\d me -dq D.0 644", Some(b"b c\\d")),
        (b"S a ~/b\\04 me -q D.0 644", None),
        (b"S a ~/b\\000 me -q D.0 644", None),
        (b"S a ~/b\\04 me - D.0 644", Some(b"b\\04")),
        // Mail and commands.
        (b"S D.0001 D.0001 me -C D.0001 666", None),
        (b"S X.0001 X.0001 me -C D.0001 666", None),
        (b"S /usr/me/notes D.0002 me -C D.0002 666", None),
        // A file that only has such a name.
        (b"S /usr/me/D.0001 ~/ me - D.0 644", Some(b"D.0001")),
        (b"S D.0001 ~/D.0001 me - D.0 644", Some(b"D.0001")),
        (b"S a/ ~/ me - D.0 644", None),
    ] {
        assert_eq!(name_of(text).as_deref(), want, "{}", text.escape_ascii());
    }
}

#[test]
fn every_encodable_name_arrives() {
    let mut into = [0; 400];
    let mut name = [0; 100];
    for features in ["041", "071", "001", "0"] {
        let theirs = Features::parse(features.as_bytes());
        for seed in 0..400 {
            let mut dice = Dice(seed);
            let bytes: Vec<u8> = (0..=dice.roll(30)).map(|_| dice.roll(256) as u8).collect();
            let size = Some(seed * 77_777);
            let Some(len) = command::emit(&bytes, "us", Some(0o640), size, theirs, &mut into)
            else {
                let quoted = theirs.contains(Features::QUOTED);
                let sayable = if quoted { 0 } else { b' ' };
                assert!(bytes.iter().any(|byte| *byte <= sayable), "{bytes:?}");
                continue;
            };
            assert_eq!(into[len - 1], 0);
            let send = send_of(&into[..len - 1], theirs);
            assert_eq!(send.mode, Some(0o640));
            let sized = theirs.contains(Features::SIZES);
            assert_eq!(send.size, size.filter(|_| sized));
            let got = local_name(&send, &mut name);
            if !bytes.ends_with(b"/") {
                assert_eq!(got.map(|len| &name[..len]), Some(&bytes[..]), "{features}");
            }
        }
    }
}
