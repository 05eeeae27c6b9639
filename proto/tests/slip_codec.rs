//! SLIP's frames and headers: golden vectors both ways, and the rules one by one.

use crate::slip_packets;

use slip_packets::{Ends, Tcp, from_hex, is_taken};
use wetstring_proto::slip::frame::{BadFrame, Found, encode, encoded_len, longest};
use wetstring_proto::slip::packet::{Kind, flag};
use wetstring_proto::slip::{BadTable, Compressor, Decoder, Decompressor, NotIp, Refused};

const FRAMES: &str = include_str!("../../vectors/slip/frames.txt");
const VJ: &str = include_str!("../../vectors/slip/vj.txt");

/// A change, and its name.
type Step<'a, T> = (&'a str, &'a dyn Fn(&mut T));

/// A golden packet, the kind of its frame, and the frame.
fn vectors() -> Vec<(Vec<u8>, Kind, Vec<u8>)> {
    let lines: Vec<&str> = VJ.lines().filter(|line| !line.starts_with('#')).collect();
    let vector = |lines: &[&str]| {
        let packet = from_hex(lines[1].strip_prefix("packet = ").unwrap());
        let (kind, frame) = lines[2].split_once(" = ").unwrap();
        let kind = match kind {
            "ip" => Kind::Ip,
            "uncompressed" => Kind::Uncompressed,
            "compressed" => Kind::Compressed,
            other => panic!("{other}"),
        };
        (packet, kind, from_hex(frame))
    };
    lines.chunks(3).map(vector).collect()
}

/// Everything in these bytes, in chunks of this length.
fn decoded(bytes: &[u8], room: usize, chunk: usize) -> Vec<Result<Vec<u8>, BadFrame>> {
    let (mut decoder, mut room) = (Decoder::new(), vec![0; room]);
    let mut all = Vec::new();
    for chunk in bytes.chunks(chunk) {
        let mut at = 0;
        while at < chunk.len() {
            let (used, found) = decoder.next(&mut room, &chunk[at..]);
            at += used;
            match found {
                Some(Found::Frame(len)) => all.push(Ok(room[..len].to_vec())),
                Some(Found::Bad(bad)) => all.push(Err(bad)),
                None => assert_eq!(at, chunk.len(), "everything is used"),
            }
        }
    }
    assert_eq!(decoder.stats().line_bytes, bytes.len() as u64);
    let (good, bad) = (decoder.stats().frames, decoder.stats().dropped());
    assert_eq!(good as usize, all.iter().filter(|found| found.is_ok()).count());
    assert_eq!(bad as usize, all.len() - good as usize);
    all
}

#[test]
fn golden_frames() {
    let lines = FRAMES.lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in lines {
        let (packet, wire) = line.split_once(" = ").unwrap();
        let (packet, wire) = (from_hex(packet), from_hex(wire));
        let mut into = vec![0xEE; wire.len()];
        assert_eq!(encode(&packet, true, &mut into), Some(wire.len()));
        assert_eq!(into, wire);
        assert_eq!(encode(&packet, true, &mut into[1..]), None, "it does not fit");
        assert_eq!(encode(&packet, false, &mut into[1..]), Some(wire.len() - 1));
        assert_eq!(into, wire);
        assert_eq!(encoded_len(&packet), wire.len() - 1);
        assert!(wire.len() <= longest(packet.len()));
        let want = if packet.len() < 3 { Err(BadFrame::TooShort) } else { Ok(packet.clone()) };
        let want = [want];
        for chunk in [1, 2, 3, 1000] {
            assert_eq!(decoded(&wire, packet.len(), chunk)[..], want, "{line}");
        }
        count += 1;
    }
    assert_eq!(count, 9);
}

#[test]
fn frames_share_ends_and_ends_alone_are_nothing() {
    let wire = from_hex("c0c0c0414243c0444546c0c0c0c0474849c0c0");
    for chunk in [1, 5, 100] {
        let want = [b"ABC", b"DEF", b"GHI"].map(|frame| Ok(frame.to_vec()));
        assert_eq!(decoded(&wire, 3, chunk), want);
    }
}

#[test]
fn bad_frames_are_dropped_and_the_next_is_good() {
    let good = Ok(b"good".to_vec());
    for (bytes, bad) in [
        ("414243db41444546c0", BadFrame::Escape),
        ("414243dbc0", BadFrame::Escape),
        ("414243dbdbdc44c0", BadFrame::Escape),
        ("dbc0", BadFrame::Escape),
        ("4142c0", BadFrame::TooShort),
        ("4141414141414141c0", BadFrame::TooLong),
        ("4141414141414141dbdc4141c0", BadFrame::TooLong),
        ("41414141dbdcdbdcc0", BadFrame::TooLong),
    ] {
        let wire = [&from_hex(bytes)[..], b"good\xC0"].concat();
        for chunk in [1, 4, 100] {
            assert_eq!(decoded(&wire, 5, chunk), [Err(bad), good.clone()], "{bytes}");
        }
    }
    // A frame that just fits, of escapes.
    assert_eq!(decoded(&from_hex("dbdcdbdcdbddc0"), 3, 1), [Ok(vec![0xC0, 0xC0, 0xDB])]);
}

#[test]
fn port_error_drops_only_its_frame() {
    let (mut decoder, mut room) = (Decoder::new(), [0; 10]);
    assert_eq!(decoder.next(&mut room, b"abc"), (3, None));
    decoder.line_error();
    assert_eq!(decoder.next(&mut room, b"def\xC0"), (4, Some(Found::Bad(BadFrame::Line))));
    assert_eq!(decoder.next(&mut room, b"ghi\xC0"), (4, Some(Found::Frame(3))));
    // Between frames it may have been an END: the next frame is not trusted.
    decoder.line_error();
    assert_eq!(decoder.next(&mut room, b"jkl\xC0"), (4, Some(Found::Bad(BadFrame::Line))));
    assert_eq!(decoder.next(&mut room, b"mno\xC0"), (4, Some(Found::Frame(3))));
    decoder.next(&mut room, b"pq\xDB");
    decoder.reset();
    assert_eq!(decoder.next(&mut room, b"rst\xC0"), (4, Some(Found::Frame(3))));
}

#[test]
fn golden_headers() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 18);
    let mut ends = Ends::new(16, true);
    for (number, (packet, kind, frame)) in (1..).zip(&vectors) {
        assert_eq!(ends.frame(packet), (*kind, frame.clone()), "vector {number} is compressed");
        assert_eq!(ends.packet(frame).as_deref(), Ok(&packet[..]), "vector {number} is rebuilt");
    }
    let (sent, came) = (*ends.compressor.stats(), *ends.decompressor.stats());
    assert_eq!((sent.ip, sent.uncompressed, sent.compressed), (2, 6, 10));
    assert_eq!((came.ip, came.uncompressed, came.compressed), (2, 6, 10));
    assert_eq!(sent.new_connections, 2);
    assert_eq!((sent.headers_in, sent.headers_out), (came.headers_out, came.headers_in));
    assert_eq!(sent.headers_in, 16 * 40);
    let compressed = vectors.iter().filter(|(_, kind, _)| *kind == Kind::Compressed);
    let saved: usize = compressed.map(|(packet, _, frame)| packet.len() - frame.len()).sum();
    assert_eq!(sent.saved_bytes(), saved as u64);
}

/// Without omitting, every compressed frame has its slot.
#[test]
fn every_frame_has_its_slot_if_configured() {
    let mut ends = Ends::new(16, false);
    for (packet, kind, frame) in vectors() {
        let (_, now) = ends.frame(&packet);
        if kind == Kind::Compressed && frame[0] & 0x40 == 0 {
            assert_eq!(now[0], frame[0] | 0x40);
            assert_eq!((now[1], &now[2..]), (0, &frame[1..]));
        } else {
            assert_eq!(now, frame);
        }
        assert_eq!(ends.packet(&now), Ok(packet));
    }
}

/// An end that has seen the first vectors, up to this one.
fn after(count: usize) -> Ends {
    let mut ends = Ends::new(16, true);
    for (packet, _, _) in vectors().iter().take(count) {
        ends.pass(packet);
    }
    ends
}

#[test]
fn nothing_is_rebuilt_before_an_uncompressed_packet() {
    let mut ends = Ends::new(16, true);
    assert_eq!(ends.packet(&from_hex("9086af61")), Err(Refused::Tossed));
    assert_eq!(ends.packet(&from_hex("d00086af61")), Err(Refused::Empty(0)));
    assert_eq!(ends.packet(&from_hex("d01086af61")), Err(Refused::Slot(16)));
    assert_eq!((ends.decompressor.stats().tossed, ends.decompressor.stats().errors), (1, 2));
}

#[test]
fn after_an_error_only_a_frame_with_its_slot_counts() {
    let vectors = vectors();
    let mut ends = after(4);
    assert_eq!(ends.packet(&from_hex("d01086af61")), Err(Refused::Slot(16)));
    assert_eq!(ends.packet(&vectors[4].2), Err(Refused::Tossed));
    // The same with its slot, as a sender would have said it.
    let explicit = [&[vectors[4].2[0] | 0x40, 0], &vectors[4].2[1..]].concat();
    assert_eq!(ends.packet(&explicit), Ok(vectors[4].0.clone()));
    assert_eq!(ends.packet(&vectors[5].2), Ok(vectors[5].0.clone()));
    ends.decompressor.line_error();
    assert_eq!(ends.packet(&vectors[6].2), Err(Refused::Tossed));
    assert_eq!(ends.packet(&vectors[7].2), Ok(vectors[7].0.clone()), "whole");
}

#[test]
fn frames_that_end_too_soon_change_nothing() {
    for frame in ["80", "c000", "8001", "e400010201", "8401020012", "81010200", "c0"] {
        let mut ends = after(3);
        assert!(matches!(ends.packet(&from_hex(frame)), Err(Refused::Short)), "{frame}");
        let next = from_hex("db0085ad62");
        assert_eq!(ends.packet(&next), Ok(vectors()[3].0.clone()), "after {frame}");
    }
    assert_eq!(after(3).packet(&[]), Err(Refused::Short));
}

#[test]
fn uncompressed_packets_are_verified_before_they_fill_a_slot() {
    let whole = Tcp::new().bytes();
    let frame = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = whole.clone();
        change(&mut frame);
        // The checksum covers the protocol number as it was.
        frame[10..12].fill(0);
        let sum = wetstring_proto::checksum::checksum(&frame[..20]);
        frame[10..12].copy_from_slice(&sum.to_be_bytes());
        frame[0] |= 0x70;
        frame[9] = 3;
        frame
    };
    // What is damaged in TCP's own header would be wrong in all that follows.
    let mut tcp = frame(&|_| {});
    tcp[35] ^= 1;
    let mut ends = Ends::new(16, true);
    assert_eq!(ends.packet(&frame(&|_| {})), Ok(whole.clone()));
    let bad: [Step<'_, Vec<u8>>; 12] = [
        ("IHL 4", &|f| f[0] = 0x44),
        ("IHL beyond the frame", &|f| f[0] = 0x4F),
        ("data offset 4", &|f| f[32] = 0x40),
        ("data offset beyond the frame", &|f| f[32] = 0x60),
        ("total length above the frame", &|f| f[3] = 41),
        ("total length below the frame", &|f| f[3] = 39),
        ("MF", &|f| f[6] = 0x20),
        ("fragment offset", &|f| f[7] = 1),
        ("SYN", &|f| f[33] = 0x12),
        ("FIN", &|f| f[33] = 0x11),
        ("RST", &|f| f[33] = 0x14),
        ("no ACK", &|f| f[33] = 0x08),
    ];
    for (name, change) in bad {
        assert_eq!(ends.packet(&frame(change)), Err(Refused::Header), "{name}");
    }
    let mut sum = frame(&|_| {});
    sum[8] ^= 1;
    assert_eq!(ends.packet(&sum), Err(Refused::Header), "header checksum");
    assert_eq!(ends.packet(&tcp), Err(Refused::Checksum));
    let mut slot = frame(&|_| {});
    slot[9] = 16;
    assert_eq!(ends.packet(&slot), Err(Refused::Slot(16)));
    assert_eq!(ends.packet(&slot[..9]), Err(Refused::Short));
    assert_eq!(ends.decompressor.stats().errors, 16);
    assert_eq!(ends.decompressor.stats().uncompressed, 1);
}

#[test]
fn other_types_of_frames_are_errors() {
    let mut ends = after(3);
    for first in (0..0x40).chain(0x50..0x60).chain(0x60..0x70) {
        let mut frame = vec![first; 41];
        frame[4..6].copy_from_slice(&[0, 0]);
        assert_eq!(ends.packet(&frame), Err(Refused::Kind(first)));
    }
    assert_eq!(ends.packet(&vectors()[3].2), Err(Refused::Tossed));
    let mut ends = Ends::new(3, true);
    for first in (0..0x40).chain(0x50..0x60).chain(0x70..=0xFF) {
        assert_eq!(ends.compressor.compress(&mut [first; 40]), Err(NotIp));
    }
    assert_eq!(ends.compressor.compress(&mut []), Err(NotIp));
}

#[test]
fn flipped_bit_is_caught_by_the_tcp_checksum() {
    let vectors = vectors();
    let frame = &vectors[3].2;
    let mut rebuilt = 0;
    for bit in 0..frame.len() * 8 {
        let mut ends = after(3);
        let mut damaged = frame.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let refused = ends.packet(&damaged).unwrap_err();
        rebuilt += u32::from(refused == Refused::Rebuilt);
    }
    assert!(rebuilt > 20, "{rebuilt}");
}

#[test]
fn frames_after_a_loss_are_wrong_until_an_uncompressed_packet() {
    let vectors = vectors();
    let mut ends = after(3);
    let refused = [Refused::Rebuilt, Refused::Rebuilt, Refused::OutOfStep(0)];
    for ((_, _, frame), refused) in vectors[4..7].iter().zip(refused) {
        assert_eq!(ends.packet(frame), Err(refused));
    }
    assert_eq!(ends.packet(&vectors[7].2), Ok(vectors[7].0.clone()));
    assert_eq!(ends.packet(&vectors[8].2), Ok(vectors[8].0.clone()));
    assert_eq!(ends.decompressor.stats().rebuilt_wrong, 2);
    assert_eq!(ends.decompressor.stats().out_of_step, 1);
}

/// Damaged data puts nothing out of step: the next packet is right.
#[test]
fn damaged_data_costs_one_packet() {
    let vectors = vectors();
    let mut ends = after(8);
    let mut damaged = vectors[8].2.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(ends.packet(&damaged), Err(Refused::Rebuilt));
    assert_eq!(ends.packet(&vectors[9].2), Ok(vectors[9].0.clone()));
    let mut damaged = vectors[10].2.clone();
    damaged[1] ^= 1;
    assert_eq!(ends.packet(&damaged), Err(Refused::Rebuilt));
}

#[test]
fn the_oldest_slot_is_taken_for_a_new_connection() {
    let packet = |port, id| Tcp { ports: [port, 23], id, ..Tcp::new() }.bytes();
    let mut ends = Ends::new(16, true);
    for port in 0..17 {
        let (kind, frame) = ends.frame(&packet(port, 1));
        assert_eq!((kind, frame[9]), (Kind::Uncompressed, (port % 16) as u8));
    }
    // 0 has lost its slot to 16; it takes that of 1, which was then the oldest.
    let (kind, frame) = ends.frame(&packet(0, 2));
    assert_eq!((kind, frame[9]), (Kind::Uncompressed, 1));
    assert_eq!(ends.compressor.stats().new_connections, 18);
    // A connection that is used stays.
    let again = Tcp { ports: [2, 23], id: 2, ack: 0x2001, ..Tcp::new() }.bytes();
    assert_eq!(ends.frame(&again).0, Kind::Compressed);
    let (_, frame) = ends.frame(&packet(99, 1));
    assert_eq!(frame[9], 3);
}

#[test]
fn three_to_256_slots() {
    for (slots, good) in [(0, false), (2, false), (3, true), (256, true), (257, false)] {
        let made = Compressor::new(slots, true, vec![0; Compressor::memory(slots)]);
        assert_eq!(made.is_ok(), good, "{slots}");
        let made = Decompressor::new(slots, vec![0; Decompressor::memory(slots)]);
        assert_eq!(made.is_ok(), good, "{slots}");
    }
    let small = Compressor::new(3, true, vec![0; Compressor::memory(3) - 1]);
    assert!(matches!(small, Err(BadTable::Memory(_))));
    let mut ends = Ends::new(256, true);
    for round in 0..3 {
        for port in 0..256 {
            let ack = 0x2000 + round * 7;
            let packet = Tcp { ports: [port, 23], ack, id: round as u16, ..Tcp::new() };
            let kind = ends.pass(&packet.bytes());
            assert_eq!(kind == Kind::Compressed, round > 0);
        }
    }
}

#[test]
fn numbers_at_their_edges() {
    let mut ends = Ends::new(16, true);
    let mut tcp = Tcp { id: 0xFFFF, sequence: 0xFFFF_FFFE, ..Tcp::new() };
    ends.pass(&tcp.bytes());
    let mut steps = |change: &dyn Fn(&mut Tcp), want: &str| {
        change(&mut tcp);
        let packet = tcp.bytes();
        let (kind, mut frame) = ends.frame(&packet);
        assert_eq!(ends.packet(&frame), Ok(packet), "{want}");
        if kind == Kind::Compressed {
            frame.drain(1..3);
            assert_eq!(frame, from_hex(want));
        } else {
            assert_eq!(want, "whole");
        }
    };
    let id = |tcp: &mut Tcp| tcp.id = tcp.id.wrapping_add(1);
    steps(&|t| (id(t), t.window = 0).1, "8200f000");
    steps(&|t| (id(t), t.window = 65535).1, "8200ffff");
    steps(&|t| (id(t), t.window = 0).1, "8201");
    steps(&|t| (id(t), t.window = 255).1, "82ff");
    steps(&|t| (id(t), t.window = 511).1, "82000100");
    steps(&|t| (id(t), t.ack = t.ack.wrapping_add(65535)).1, "8400ffff");
    steps(&|t| (id(t), t.ack = t.ack.wrapping_add(65536)).1, "whole");
    steps(&|t| (id(t), t.sequence = t.sequence.wrapping_add(5)).1, "8805");
    steps(&|t| (id(t), t.sequence = t.sequence.wrapping_sub(1)).1, "whole");
    steps(&|t| t.ack += 1, "a401000000");
    steps(&|t| (t.id = t.id.wrapping_sub(1), t.ack += 1).1, "a40100ffff");
    steps(&|t| (id(t), t.flags |= flag::URG, t.ack += 1).2, "8500000001");
    steps(&|t| (id(t), t.urgent = 256, t.ack += 1).2, "8500010001");
}

#[test]
fn unencodable_changes_are_sent_uncompressed() {
    let changes: [(Step<'_, Tcp>, Kind); 16] = [
        (("type of service", &|t| t.tos = 0x10), Kind::Uncompressed),
        (("time to live", &|t| t.ttl = 63), Kind::Uncompressed),
        (("DF", &|t| t.fragment = 0), Kind::Uncompressed),
        (("IP options", &|t| t.ip_options = vec![1, 1, 1, 0]), Kind::Uncompressed),
        (("no IP options", &|t| t.ip_options.clear()), Kind::Uncompressed),
        (("TCP options", &|t| t.options = vec![1, 1, 1, 0]), Kind::Uncompressed),
        (("longer TCP options", &|t| t.options = vec![1; 8]), Kind::Uncompressed),
        (("ECE", &|t| t.flags |= 0x40), Kind::Uncompressed),
        (("CWR", &|t| t.flags |= 0x80), Kind::Uncompressed),
        (("reserved bits", &|t| t.reserved = 1), Kind::Uncompressed),
        (("urgent pointer without URG", &|t| t.urgent = 9), Kind::Uncompressed),
        (("SYN", &|t| t.flags |= flag::SYN), Kind::Ip),
        (("FIN", &|t| t.flags |= flag::FIN), Kind::Ip),
        (("RST", &|t| t.flags |= flag::RST), Kind::Ip),
        (("no ACK", &|t| t.flags = 0), Kind::Ip),
        (("fragment", &|t| t.fragment = 0x2000), Kind::Ip),
    ];
    for ((name, change), want) in changes {
        let mut ends = Ends::new(16, true);
        let nops = || vec![1, 1, 1, 1];
        let mut tcp = Tcp { ip_options: nops(), options: nops(), ..Tcp::new() };
        assert_eq!(ends.pass(&tcp.bytes()), Kind::Uncompressed);
        tcp.id += 1;
        tcp.ack += 1;
        assert_eq!(ends.pass(&tcp.bytes()), Kind::Compressed, "equal options are no hindrance");
        tcp.id += 1;
        tcp.ack += 1;
        change(&mut tcp);
        assert_eq!(ends.pass(&tcp.bytes()), want, "{name}");
    }
}

#[test]
fn packets_not_exactly_rebuildable_are_sent_unchanged() {
    let good = Tcp { data: b"hello".to_vec(), ..Tcp::new() };
    let bytes = good.bytes();
    let mut padded = bytes.clone();
    padded.push(0);
    let mut sum = bytes.clone();
    sum[10] ^= 1;
    // A checksum of FFFF is right, and 0000 is what is computed.
    let mut zero = (0..=0xFFFF).map(|id| Tcp { id, ..good.clone() }.bytes());
    let mut zero = zero.find(|packet| packet[10..12] == [0, 0]).unwrap();
    assert_eq!(Ends::new(16, true).pass(&zero), Kind::Uncompressed);
    zero[10..12].fill(0xFF);
    let mut six = vec![0x60, 0, 0, 0, 0, 4, 6, 64];
    six.extend([7; 36]);
    let mut tcp_sum = Tcp { ports: [7, 7], ..good.clone() }.bytes();
    tcp_sum[36] ^= 1;
    for packet in
        [padded, sum, tcp_sum, zero, six, bytes[..39].to_vec(), vec![0x45], vec![0x45; 3000]]
    {
        let mut ends = Ends::new(16, true);
        ends.pass(&bytes);
        assert_eq!(ends.pass(&packet), Kind::Ip);
    }
}

/// The code of RFC 1144 keeps URG set when a special follows; ours neither sends that nor believes it.
#[test]
fn urg_does_not_outlive_a_special() {
    let mut ends = after(10);
    let rebuilt = ends.packet(&from_hex("8fe5a9")).unwrap();
    assert_eq!(rebuilt, vectors()[10].0);
    assert!(is_taken(&rebuilt));
}

#[test]
fn errors_say_what_was_expected() {
    assert_eq!(Refused::Slot(16).to_string(), "the slot 16 is beyond the slots there are");
    assert_eq!(Refused::Kind(3).to_string(), "expected the first byte of a packet, got 0x03");
    assert_eq!(BadTable::Slots(2).to_string(), "expected 3 to 256 slots, got 2");
    assert_eq!(BadFrame::Escape.to_string(), "expected DC or DD after DB, got another byte");
    assert_eq!(NotIp.to_string(), "expected an IPv4 or IPv6 packet, got something else");
}
