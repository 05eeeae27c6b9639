//! Header compression over lines: over a good one nothing changes, over a bad one nothing wrong is believed.

use crate::common;
use crate::slip_packets;

use common::Dice;
use slip_packets::{Conversation, Ends, Tcp, data, is_taken, twist};
use wetstring_proto::slip::differential::{DifferentialCompressor, DifferentialDecompressor};
use wetstring_proto::slip::frame::{BadFrame, Found, encode, longest};
use wetstring_proto::slip::packet::{Kind, flag};
use wetstring_proto::slip::{Decoder, HEADROOM, Refused};

#[test]
fn any_packets_come_through_a_good_line_unchanged() {
    let mut kinds = [0u32; 3];
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let slots = [3, 4, 16, 256][dice.roll(4)];
        let mut ends = Ends::new(slots, dice.roll(2) == 0);
        let mut conversation = Conversation::new(seed + 1000, 1 + dice.roll(24));
        let twisted = [0, 2, 10][dice.roll(3)];
        for _ in 0..200 {
            let mut tcp = conversation.next();
            let packet =
                if dice.roll(10) < twisted { twist(&mut dice, &mut tcp) } else { tcp.bytes() };
            kinds[ends.pass(&packet) as usize] += 1;
        }
        assert_eq!(ends.decompressor.stats().errors + ends.decompressor.stats().tossed, 0);
    }
    assert!(kinds.iter().all(|count| *count > 5000), "{kinds:?}");
}

/// Nothing but one connection, packet after packet: the header takes at most four bytes on average.
#[test]
fn a_steady_connection_has_short_headers() {
    let mut dice = Dice(7);
    for (name, echo) in [("data", false), ("echo", true)] {
        let mut ends = Ends::new(16, true);
        let mut tcp = Tcp::new();
        ends.pass(&tcp.bytes());
        let first = *ends.compressor.stats();
        for _ in 0..1000 {
            let len = if echo { 1 } else { 256 };
            tcp.id += 1;
            tcp.sequence = tcp.sequence.wrapping_add(tcp.data.len() as u32);
            tcp.ack = tcp.ack.wrapping_add(if echo { tcp.data.len() as u32 } else { 0 });
            tcp.data = data(&mut dice, len);
            assert_eq!(ends.pass(&tcp.bytes()), Kind::Compressed);
        }
        let out = ends.compressor.stats().headers_out - first.headers_out;
        assert_eq!(out, 3 * 1000, "{name}");
    }
}

/// A line that loses frames without a word, loses bytes and changes bits.
struct BadLine {
    dice: Dice,
    /// One frame in N has an error.
    rate: usize,
    /// Frames are lost whole, and nothing else happens.
    only_loses: bool,
}

impl BadLine {
    /// The bytes of a frame as they arrive.
    fn carry(&mut self, wire: &[u8]) -> Vec<u8> {
        let mut bytes = wire.to_vec();
        if self.dice.roll(self.rate) > 0 {
            return bytes;
        }
        let at = self.dice.roll(bytes.len());
        match self.dice.roll(4) {
            _ if self.only_loses => bytes.clear(),
            0 => bytes.clear(),
            1 => bytes[at] ^= 1 << self.dice.roll(8),
            2 => drop(bytes.remove(at)),
            _ => bytes.truncate(at),
        }
        bytes
    }
}

/// What TCP sees of a packet: addresses and the segment. After a loss the IP id may be wrong where the segment
/// is right; it means nothing but to fragments, and no checksum of TCP covers it.
fn segment(packet: &[u8]) -> Vec<u8> {
    if !is_taken(packet) {
        return packet.to_vec();
    }
    [&packet[12..20], &packet[usize::from(packet[0] & 15) * 4..]].concat()
}

/// How a run over a bad line went.
#[derive(Default, Debug)]
struct Tally {
    right: u32,
    /// Wrong, and the checksum of TCP says so.
    caught: u32,
    /// Wrong, with a good checksum: the segment that came, and the one that was meant.
    believed: Vec<(Vec<u8>, Vec<u8>)>,
    refused: u32,
}

/// Packets over a bad line; what comes out is compared with what was sent up to then.
fn over_a_bad_line(mut line: BadLine, mut packets: impl FnMut() -> Tcp) -> Tally {
    let mut ends = Ends::new(16, line.dice.roll(2) == 0);
    let (mut decoder, mut room) = (Decoder::new(), vec![0; 2000]);
    let mut sent = Vec::new();
    let mut tally = Tally::default();
    for _ in 0..400 {
        let packet = packets().bytes();
        let (_, frame) = ends.frame(&packet);
        sent.push(segment(&packet));
        let mut wire = vec![0; longest(frame.len())];
        let len = encode(&frame, false, &mut wire).unwrap();
        let bytes = line.carry(&wire[..len]);
        let mut at = 0;
        while at < bytes.len() {
            let (used, found) = decoder.next(&mut room, &bytes[at..]);
            at += used;
            let came = match found {
                None => continue,
                Some(Found::Bad(BadFrame::TooLong | BadFrame::Line)) => panic!("not here"),
                Some(Found::Bad(_)) => {
                    ends.decompressor.line_error();
                    tally.refused += 1;
                    continue;
                }
                Some(Found::Frame(len)) => ends.packet(&room[..len]),
            };
            match came {
                Err(Refused::Rebuilt) => tally.caught += 1,
                Err(_) => tally.refused += 1,
                Ok(came) if sent.contains(&segment(&came)) => tally.right += 1,
                // A packet that was sent as it is has no slot, and fails at the end of its connection.
                Ok(came) if !is_taken(&came) => tally.caught += 1,
                Ok(came) => tally.believed.push((segment(&came), sent.last().unwrap().clone())),
            }
        }
    }
    tally
}

/// What is believed although it is wrong is wrong in sequence number, acknowledgement, flags and window, by
/// errors that make up for each other, and in nothing else: not in the data, the ports or the options.
fn assert_made_up(came: &[u8], meant: &[u8]) {
    let sum = |segment: &[u8]| -> u64 {
        let words = segment[12..24].chunks(2).map(|w| u16::from_be_bytes([w[0], w[1]]));
        words.map(u64::from).sum::<u64>() % 65_535
    };
    assert_eq!(came.len(), meant.len());
    assert_eq!((&came[..12], &came[24..]), (&meant[..12], &meant[24..]));
    assert_eq!(sum(came), sum(meant));
}

/// Many runs of up to six connections whose windows stand still, so that no number that a lost frame has
/// moved goes down.
fn steady_windows(only_loses: bool) -> Tally {
    let mut all = Tally::default();
    for seed in 0..300 {
        let mut conversation = Conversation::new(seed, 1 + seed as usize % 6);
        let line = BadLine { dice: Dice(seed ^ 0xABCD), rate: 12, only_loses };
        let tally = over_a_bad_line(line, || Tcp { window: 4096, ..conversation.next() });
        all.right += tally.right;
        all.caught += tally.caught;
        all.refused += tally.refused;
        all.believed.extend(tally.believed);
    }
    let Tally { right, caught, refused, believed } = &all;
    println!("{right} right, {caught} caught, {refused} refused, {} believed", believed.len());
    assert!(*right > 50_000 && *caught > 2000 && *refused > 1000);
    all
}

/// Fewer than one frame in a thousand on lines that hit one in twelve, and each of them one of the
/// exceptions below, or two hits in a row that do the same.
#[test]
fn wrong_rebuilds_are_caught_by_the_tcp_checksum() {
    for only_loses in [true, false] {
        let tally = steady_windows(only_loses);
        for (came, meant) in &tally.believed {
            assert_made_up(came, meant);
        }
        let frames = tally.right + tally.caught + tally.refused;
        assert!(tally.believed.len() * 1000 < frames as usize);
    }
}

/// The exception. The checksum is a sum: when what was lost has moved one number up and another down by as
/// much, the sum is right again although both are wrong. A receiver whose window closes by what it
/// acknowledges does that. The right edge of the window (acknowledgement plus window) is then still right,
/// so the sender of the data is told nothing that is not so.
#[test]
fn the_known_exception_is_a_window_that_closes_by_what_was_acknowledged() {
    let mut ends = Ends::new(16, true);
    let mut tcp = Tcp::new();
    ends.pass(&tcp.bytes());
    tcp.id += 1;
    tcp.ack += 512;
    tcp.window -= 512;
    let _lost = ends.frame(&tcp.bytes());
    tcp.id += 1;
    tcp.ack += 100;
    tcp.data = b"x".to_vec();
    let packet = tcp.bytes();
    let (_, frame) = ends.frame(&packet);
    let wrong = ends.packet(&frame).unwrap();
    assert!(wrong != packet && is_taken(&wrong), "the checksum cannot see it");
    assert_eq!(right_edge(&wrong), right_edge(&packet));
    // Whatever else differs is the IP id and the header checksum.
    for at in (0..packet.len()).filter(|at| wrong[*at] != packet[*at]) {
        assert!([4, 5, 10, 11].contains(&at) || (28..32).contains(&at) || (34..36).contains(&at));
    }
}

/// Acknowledgement plus window.
fn right_edge(packet: &[u8]) -> u32 {
    let ack = u32::from_be_bytes(packet[28..32].try_into().unwrap());
    ack.wrapping_add(u32::from(u16::from_be_bytes([packet[34], packet[35]])))
}

/// The same sum is right when data went with a window that closed by its length, and its frame was lost. Then
/// it is the sequence number that is wrong, and the data of the next frame would be taken for the data
/// that was lost. RFC 1144 has no answer to that but lines that say when they lose something; docs/reference/slip-library.md
/// tells who should do what.
#[test]
fn the_dangerous_exception_is_a_window_that_closes_by_what_was_sent() {
    let mut ends = Ends::new(16, true);
    let mut tcp = Tcp { data: vec![b'a'; 100], ..Tcp::new() };
    ends.pass(&tcp.bytes());
    tcp.id += 1;
    tcp.sequence += 100;
    tcp.window -= 100;
    tcp.data.fill(b'b');
    let lost = tcp.bytes();
    let _lost_frame = ends.frame(&lost);
    tcp.id += 1;
    tcp.sequence += 100;
    tcp.data.fill(b'c');
    let packet = tcp.bytes();
    let (_, frame) = ends.frame(&packet);
    let wrong = ends.packet(&frame).unwrap();
    assert!(is_taken(&wrong));
    assert_eq!(wrong[24..28], lost[24..28], "the place of b");
    assert_eq!(wrong[40..], packet[40..], "the data of c");
    // Where the line says that something was lost, the frame is tossed: its slot is not said.
    let mut ends = Ends::new(16, true);
    tcp.data.clear();
    ends.pass(&tcp.bytes());
    ends.decompressor.line_error();
    assert!(ends.packet(&frame).is_err());
}

/// An exception without any window. Special I says no number, but that sequence number and acknowledgement grew
/// by the data of the packet before. If that was lost, they grow by the data of the one before it; and if
/// that was twice as long, the one is as much too low as the other is too high.
#[test]
fn the_third_exception_is_an_echo_behind_a_lost_packet_of_half_the_length() {
    for (before, is_blind) in [(2, true), (3, false)] {
        let mut ends = Ends::new(16, true);
        let mut tcp = Tcp { data: vec![b'a'; before], ..Tcp::new() };
        ends.pass(&tcp.bytes());
        tcp.id += 1;
        tcp.sequence += before as u32;
        tcp.data = b"b".to_vec();
        let _lost = ends.frame(&tcp.bytes());
        tcp.id += 1;
        tcp.sequence += 1;
        tcp.ack += 1;
        tcp.data = b"c".to_vec();
        let packet = tcp.bytes();
        let (_, frame) = ends.frame(&packet);
        assert_eq!((frame.len(), frame[0] & 0x0F), (4, 0x0B), "special I");
        match ends.packet(&frame) {
            Ok(wrong) => {
                assert!(is_blind && wrong != packet);
                assert_made_up(&segment(&wrong), &segment(&packet));
            }
            Err(refused) => assert!(!is_blind && refused == Refused::Rebuilt),
        }
    }
}

/// Windows that close by what came, on a bad line: the exceptions by chance.
#[test]
fn accepted_errors_cancel_out_in_the_checksum() {
    let mut believed = 0;
    for seed in 0..300 {
        let mut conversation = Conversation::new(seed, 1);
        let mut window = 20_000;
        let packets = || {
            let before = conversation.next();
            // A reader who is slow: what comes closes the window, a quarter of the time.
            window = if conversation.dice.roll(4) == 0 { window - 100 } else { window };
            window = if window < 1000 { 20_000 } else { window };
            let ack = if window % 1000 == 0 { 0 } else { 100 };
            Tcp { window, ack: before.ack.wrapping_add(ack), ..before }
        };
        let line = BadLine { dice: Dice(seed ^ 0x1234), rate: 12, only_loses: false };
        for (came, meant) in over_a_bad_line(line, packets).believed {
            assert_made_up(&came, &meant);
            believed += 1;
        }
    }
    println!("{believed} packets were believed although they were wrong");
    assert!(believed > 0, "the windows were to make it happen");
}

/// The simple scheme of the laboratory: unchanged over a good line, caught over one that loses frames, and
/// an acknowledgement takes eleven bytes with its END.
#[test]
fn the_differential_scheme_keeps_packets_and_takes_eleven_bytes_for_an_acknowledgement() {
    let ends = |slots| {
        let memory = || vec![0; usize::from(slots) * wetstring_proto::slip::table::SLOT];
        (
            DifferentialCompressor::new(slots, memory()).unwrap(),
            DifferentialDecompressor::new(slots, memory()).unwrap(),
        )
    };
    let mut compressed = 0;
    let (mut caught, mut lost) = (0, 0);
    for seed in 0..200 {
        let (mut differ, mut undiffer) = ends([3, 16][seed as usize % 2]);
        let (mut dice, mut conversation) =
            (Dice(seed), Conversation::new(seed, 1 + seed as usize % 20));
        let loses = seed >= 100;
        let mut sent = Vec::new();
        for _ in 0..200 {
            let mut tcp = conversation.next();
            tcp.window = if loses { 4096 } else { tcp.window };
            let twisted = !loses && dice.roll(8) == 0;
            let packet = if twisted { twist(&mut dice, &mut tcp) } else { tcp.bytes() };
            let mut bytes = packet.clone();
            let framed = differ.compress(&mut bytes).unwrap();
            compressed += u32::from(framed.kind == Kind::Compressed);
            sent.push(packet);
            if loses && dice.roll(12) == 0 {
                lost += 1;
                continue;
            }
            let mut buffer = vec![0; HEADROOM];
            buffer.extend(&bytes[framed.start..]);
            match undiffer.restore(&mut buffer, HEADROOM) {
                Ok(start) if sent.last().is_some_and(|packet| buffer[start..] == packet[..]) => {}
                // Only the IP id is not that of the packet that was sent.
                Ok(start)
                    if loses && sent.iter().any(|s| segment(s) == segment(&buffer[start..])) => {}
                Ok(start) => {
                    assert!(loses);
                    let came = segment(&buffer[start..]);
                    let meant = segment(sent.last().unwrap());
                    let zeros = |segment: &[u8]| -> Vec<[u8; 2]> {
                        let words = segment[12..24].chunks(2).map(|w| [w[0], w[1]]);
                        words.map(|word| if word == [255; 2] { [0; 2] } else { word }).collect()
                    };
                    // Words are said whole: one that went from FFFF to 0000 without being heard has the
                    // same sum.
                    let is_blind = is_taken(&buffer[start..]);
                    assert!(!is_blind || zeros(&came) == zeros(&meant), "seed {seed}");
                    caught += u32::from(!is_blind);
                }
                Err(bad) => assert!(loses, "seed {seed}: {bad}"),
            }
        }
    }
    assert!(compressed > 10_000 && caught > 50 && lost > 1000, "{compressed} {caught} {lost}");
    let (mut differ, _) = ends(16);
    let mut tcp = Tcp { flags: flag::ACK, ..Tcp::new() };
    differ.compress(&mut tcp.bytes()).unwrap();
    tcp.id += 1;
    tcp.ack += 256;
    let mut bytes = tcp.bytes();
    let framed = differ.compress(&mut bytes).unwrap();
    let mut wire = [0; 100];
    assert_eq!(encode(&bytes[framed.start..], false, &mut wire), Some(11));
}
