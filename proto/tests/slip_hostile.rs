//! Any bytes at any moment: no panic, no endless loop, nothing longer than was agreed, and no memory.

use crate::common;
use crate::slip_packets;

use common::Dice;
use slip_packets::{Conversation, Ends, data, twist};
use wetstring_proto::slip::differential::DifferentialDecompressor;
use wetstring_proto::slip::packet::LONGEST_HEADER;
use wetstring_proto::slip::table::SLOT;
use wetstring_proto::slip::{Compression, Config, HEADROOM, Link, Rate, Refused};
use wetstring_proto::{Duration, Instant};

/// Frames that look like frames: every type, slots near the edge, real ones with bytes changed.
fn frame(dice: &mut Dice, real: &[u8]) -> Vec<u8> {
    let mut frame = match dice.roll(4) {
        0 => {
            let len = dice.roll(70);
            data(dice, len)
        }
        1 => {
            let len = dice.roll(24);
            let mut frame = vec![0x80 | dice.roll(128) as u8, dice.roll(18) as u8];
            frame.extend(data(dice, len));
            frame
        }
        _ => real.to_vec(),
    };
    for _ in 0..dice.roll(3) {
        if !frame.is_empty() {
            let at = dice.roll(frame.len().min(44));
            frame[at] = dice.roll(256) as u8;
        }
    }
    frame
}

#[test]
fn any_frames_are_rebuilt_within_bounds_or_refused() {
    let (mut rebuilt, mut wrong, mut refused) = (0, 0, 0);
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let slots = [3, 16, 256][dice.roll(3)];
        let mut ends = Ends::new(slots, true);
        let mut undiffer = DifferentialDecompressor::new(16, vec![0xEE; 16 * SLOT]).unwrap();
        let mut conversation = Conversation::new(seed, 3);
        for _ in 0..200 {
            let packet = conversation.next().bytes();
            let (_, real) = ends.frame(&packet);
            let frame = frame(&mut dice, &real);
            match ends.packet(&frame) {
                Ok(packet) => {
                    assert!(packet.len() <= frame.len() + LONGEST_HEADER);
                    assert!(matches!(packet[0] >> 4, 4 | 6));
                    rebuilt += 1;
                }
                Err(Refused::Rebuilt) => wrong += 1,
                Err(_) => refused += 1,
            }
            let mut buffer = [&[0; HEADROOM], &frame[..]].concat();
            let _ = undiffer.restore(&mut buffer, HEADROOM);
        }
    }
    assert!(rebuilt > 1000 && wrong > 1000 && refused > 1000, "{rebuilt} {wrong} {refused}");
}

#[test]
fn frame_expanding_to_oversized_packet_is_refused() {
    let mut ends = Ends::new(16, true);
    let mut conversation = Conversation::new(3, 1);
    ends.pass(&conversation.next().bytes());
    let mut longest = vec![0x80, 1, 2];
    longest.resize(3 + 65_535 - 40, 7);
    let mut frame = longest.clone();
    frame.push(7);
    assert!(ends.packet(&frame).is_err());
    ends.pass(&twist(&mut Dice(1), &mut conversation.next())[..]);
}

fn link(compression: Compression, rate: Option<Rate>) -> Link<Vec<u8>> {
    let config = Config { compression, rate, ..Config::default() };
    Link::new(config, config.parts(|len| vec![0xEE; len])).unwrap()
}

#[test]
fn any_bytes_on_the_line_and_any_packets_to_send() {
    let kinds = [Compression::Off, Compression::On, Compression::Auto, Compression::Differential];
    for seed in 0..120 {
        let mut dice = Dice(seed);
        let rate = [None, Some(Rate::serial(9600)), Some(Rate::serial(0))][dice.roll(3)];
        let mut link = link(kinds[dice.roll(4)], rate);
        let mut now = Instant(dice.roll(1 << 40) as u64);
        for _ in 0..300 {
            let len = dice.roll(400);
            let mut bytes = data(&mut dice, len);
            if dice.roll(2) == 0 {
                bytes.iter_mut().filter(|byte| **byte > 200).for_each(|byte| *byte = 0xC0);
            }
            let mut at = 0;
            while at < bytes.len() {
                let (used, packet) = link.receive(&bytes[at..]);
                assert!(used > 0);
                at += used;
                if let Some(packet) = packet {
                    assert!(packet.len() <= 1500 + LONGEST_HEADER);
                }
            }
            let len = dice.roll(320);
            let _ = link.put(now, &data(&mut dice, len));
            let len = dice.roll(link.transmit(now).len() + 2);
            link.transmitted(now, len);
            match dice.roll(40) {
                0 => link.line_error(),
                1 => link.reopened(),
                2 => link.clear(),
                _ => {}
            }
            now = now + Duration::from_millis(dice.roll(300) as u64);
        }
        let stats = *link.decoder_stats();
        assert!(stats.frames + stats.dropped() > 0);
    }
}

#[test]
fn unterminated_frame_uses_no_memory_and_gives_no_packet() {
    let mut link = link(Compression::On, None);
    for _ in 0..1000 {
        assert_eq!(link.receive(&[0x45; 1000]).0, 1000);
    }
    assert!(link.receive(&[0xC0]).1.is_none());
    assert_eq!(link.decoder_stats().too_long, 1);
    assert_eq!(link.decoder_stats().line_bytes, 1_000_001);
}

/// Packets both ways through two links, noise among them, and not one allocation.
#[test]
fn nothing_is_allocated() {
    let mut conversation = Conversation::new(5, 20);
    let packets: Vec<Vec<u8>> = (0..500).map(|_| conversation.next().bytes()).collect();
    let packets: Vec<&Vec<u8>> = packets.iter().filter(|packet| packet.len() <= 296).collect();
    for compression in [Compression::Off, Compression::On, Compression::Differential] {
        let config = Config { compression, ..Config::default() };
        let mut memory = [vec![0; 64 * 1024], vec![0; 64 * 1024]];
        let [a, b] = &mut memory;
        let (mut a, mut b) = (&mut a[..], &mut b[..]);
        let mut came = 0;
        let counted = allocation_counter::measure(|| {
            let parts = config.parts(|len| a.split_off_mut(..len).unwrap());
            let mut from = Link::new(config, parts).unwrap();
            let parts = config.parts(|len| b.split_off_mut(..len).unwrap());
            let mut to = Link::new(config, parts).unwrap();
            let now = Instant::ZERO;
            for (index, packet) in packets.iter().enumerate() {
                from.put(now, packet).unwrap();
                if index % 50 == 0 {
                    to.receive(&[0xDB, 0x00, 0xC0]);
                }
                if index % 7 > 0 {
                    continue;
                }
                loop {
                    let bytes = from.transmit(now);
                    if bytes.is_empty() {
                        break;
                    }
                    let (used, packet) = to.receive(bytes);
                    came += usize::from(packet.is_some());
                    from.transmitted(now, used);
                }
            }
        });
        assert_eq!(counted.count_total, 0, "{compression:?}");
        assert!(came > packets.len() / 2, "{came} of {}", packets.len());
    }
}
