//! One end of a line against another: compression on, off and by itself, priority, and the line kept short.

use crate::common;
use crate::slip_packets;

use common::Dice;
use slip_packets::{Conversation, Tcp, from_hex};
use wetstring_proto::slip::frame::END;
use wetstring_proto::slip::{BadConfig, Class, Compression, Config, Link, QueueConfig, Rate};
use wetstring_proto::{Duration, Instant};

fn link(config: Config) -> Link<Vec<u8>> {
    Link::new(config, config.parts(|len| vec![0xEE; len])).unwrap()
}

fn with(compression: Compression) -> Link<Vec<u8>> {
    link(Config { compression, ..Config::default() })
}

/// All bytes that the link has for the line now.
fn bytes(link: &mut Link<Vec<u8>>, now: Instant) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let lent = link.transmit(now);
        if lent.is_empty() {
            return all;
        }
        all.extend_from_slice(lent);
        let len = lent.len();
        link.transmitted(now, len);
    }
}

/// The packets in these bytes.
fn packets(link: &mut Link<Vec<u8>>, bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let (used, packet) = link.receive(&bytes[at..]);
        at += used;
        all.extend(packet.map(|packet| packet.to_vec()));
    }
    all
}

const NOW: Instant = Instant::ZERO;

#[test]
fn every_kind_of_link_carries_packets_in_any_chunks() {
    for compression in
        [Compression::Off, Compression::On, Compression::Auto, Compression::Differential]
    {
        for seed in 0..20 {
            let mut dice = Dice(seed);
            let (mut a, mut b) = (with(compression), with(compression));
            let mut conversation = Conversation::new(seed, 1 + dice.roll(20));
            let (mut wire, mut want, mut came) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..100 {
                let packet = conversation.next().bytes();
                if packet.len() > 296 {
                    assert!(a.put(NOW, &packet).is_err());
                    continue;
                }
                a.put(NOW, &packet).unwrap();
                want.push(packet);
                loop {
                    let lent = a.transmit(NOW);
                    if lent.is_empty() {
                        break;
                    }
                    let len = 1 + dice.roll(lent.len());
                    wire.extend_from_slice(&lent[..len]);
                    a.transmitted(NOW, len);
                }
                let len = dice.roll(wire.len() + 1);
                came.extend(packets(&mut b, &wire[..len]));
                wire.drain(..len);
            }
            came.extend(packets(&mut b, &wire));
            let asked = a.stats().probes;
            assert_eq!(asked, u64::from(compression == Compression::Auto));
            if asked > 0 {
                // What was retransmitted to ask came twice.
                let at =
                    (1..came.len()).find(|at| came[*at] == came[at - 1] && came[*at] != want[*at]);
                came.remove(at.expect("the question"));
            }
            assert!(came == want, "{compression:?} {seed}");
            assert!(a.is_idle() && a.deadline().is_none());
            assert_eq!(
                (a.stats().sent, b.stats().received),
                (want.len() as u64, want.len() as u64 + asked)
            );
            if asked == 0 {
                assert_eq!(a.stats().sent_bytes, b.stats().received_bytes);
            }
            assert_eq!(a.stats().line_bytes, b.decoder_stats().line_bytes);
            assert_eq!(b.stats().refused, 0);
        }
    }
}

#[test]
fn packets_in_a_row_share_their_ends() {
    let mut link = with(Compression::Off);
    for id in 0..3 {
        link.put(NOW, &Tcp { id, ..Tcp::new() }.bytes()).unwrap();
    }
    let ends = |bytes: &[u8]| bytes.split(|byte| *byte == END).count() - 1;
    assert_eq!(ends(&bytes(&mut link, NOW)), 4);
    link.put(NOW, &Tcp::new().bytes()).unwrap();
    assert_eq!(ends(&bytes(&mut link, NOW)), 2, "the line was idle");
}

fn conversation(count: u16) -> Vec<Vec<u8>> {
    let step = |id: u16| Tcp { id, ack: 0x2000 + u32::from(id), ..Tcp::new() }.bytes();
    (0..count).map(step).collect()
}

/// The kinds of the frames in bytes: the first byte after each END.
fn send(link: &mut Link<Vec<u8>>, packet: &[u8]) -> (u8, Vec<u8>) {
    link.put(NOW, packet).unwrap();
    let bytes = bytes(link, NOW);
    let first = *bytes.iter().find(|byte| **byte != END).unwrap();
    (first, bytes)
}

#[test]
fn auto_starts_to_compress_after_the_peer() {
    let mut auto = with(Compression::Auto);
    let conversation = conversation(6);
    for packet in &conversation[..2] {
        assert_eq!(send(&mut auto, packet).0, 0x45);
    }
    assert!(!auto.is_compressing());
    // A compressed frame before a whole one, noise, and a slot that there is not: no proof.
    for hex in ["c08086af61c0", "c0c00086af61c0", "c07500c0", "c04500002800c0"] {
        packets(&mut auto, &from_hex(hex));
        assert!(!auto.is_compressing(), "{hex}");
    }
    let mut on = with(Compression::On);
    assert!(on.is_compressing());
    let (first, wire) = send(&mut on, &conversation[0]);
    assert_eq!(first, 0x75);
    assert_eq!(packets(&mut auto, &wire), [conversation[0].clone()]);
    assert!(auto.is_compressing());
    assert_eq!(send(&mut auto, &conversation[2]).0, 0x75);
    let (first, wire) = send(&mut auto, &conversation[3]);
    assert_eq!(first & 0x80, 0x80);
    assert!(wire.len() <= 8, "{wire:02x?}");
    auto.reopened();
    assert!(!auto.is_compressing(), "the peer may be another now");
    assert_eq!(send(&mut auto, &conversation[4]).0, 0x45);
}

#[test]
fn off_takes_nothing_compressed() {
    let (mut off, mut on) = (with(Compression::Off), with(Compression::On));
    let conversation = conversation(3);
    let mut wire = Vec::new();
    for packet in &conversation {
        wire.extend(send(&mut on, packet).1);
    }
    assert!(packets(&mut off, &wire).is_empty());
    assert_eq!(off.stats().refused, 3);
    assert_eq!(send(&mut off, &conversation[0]).0, 0x45);
    assert!(off.compressor_stats().is_none() && off.decompressor_stats().is_none());
}

#[test]
fn non_ip_is_ignored() {
    let mut link = with(Compression::On);
    link.put(NOW, &[0x90; 50]).unwrap();
    link.put(NOW, &Tcp::new().bytes()).unwrap();
    let wire = bytes(&mut link, NOW);
    assert_eq!((wire[1], packets(&mut with(Compression::On), &wire).len()), (0x75, 1));
    assert_eq!((link.stats().not_ip, link.stats().sent), (1, 1));
    assert!(link.is_idle());
}

#[test]
fn errors_of_the_line_toss_frames_without_a_slot() {
    for damage in ["db00c0", "40c0", &format!("{}c0", "41".repeat(1600))] {
        let (mut a, mut b) = (with(Compression::On), with(Compression::On));
        let conversation = conversation(6);
        for packet in &conversation[..3] {
            let (_, wire) = send(&mut a, packet);
            assert_eq!(packets(&mut b, &wire).len(), 1);
        }
        packets(&mut b, &from_hex(damage));
        let (_, wire) = send(&mut a, &conversation[3]);
        assert!(packets(&mut b, &wire).is_empty());
        assert_eq!(b.decompressor_stats().unwrap().tossed, 1);
        assert_eq!((b.decoder_stats().dropped(), b.stats().refused), (1, 1));
        // Said again, the same packet goes whole.
        let (first, wire) = send(&mut a, &conversation[3]);
        assert_eq!(first, 0x75);
        assert_eq!(packets(&mut b, &wire), [conversation[3].clone()]);
        // And what the port says.
        b.line_error();
        let (_, wire) = send(&mut a, &conversation[4]);
        assert!(packets(&mut b, &wire).is_empty());
        assert_eq!(b.decoder_stats().line_errors, 1);
    }
}

#[test]
fn reopened_ends_understand_each_other_again() {
    let (mut a, mut b) = (with(Compression::On), with(Compression::On));
    let conversation = conversation(5);
    for packet in &conversation[..2] {
        let (_, wire) = send(&mut a, packet);
        assert_eq!(packets(&mut b, &wire).len(), 1);
    }
    // Half a frame is out, half a frame is in, and the line goes.
    a.put(NOW, &conversation[2]).unwrap();
    let half = a.transmit(NOW)[..3].to_vec();
    a.transmitted(NOW, 3);
    packets(&mut b, &half);
    a.put(NOW, &conversation[3]).unwrap();
    a.reopened();
    b.reopened();
    let wire = bytes(&mut a, NOW);
    assert_eq!(packets(&mut b, &wire), [conversation[3].clone()], "what waited is sent");
}

/// With the line's rate told, no packet is chosen while one is in flight: one that comes now and is urgent is
/// next, whatever the port's buffer would take.
#[test]
fn an_urgent_packet_waits_for_one_packet_at_most() {
    let rate = Rate::serial(9600);
    let mut link = link(Config { rate: Some(rate), ..Config::default() });
    let mut now = Instant(5_000_000_000);
    let bulk = |id: u16| Tcp {
        id,
        ports: [9, 20],
        sequence: u32::from(id) * 256,
        data: vec![1; 256],
        ..Tcp::new()
    };
    for id in 0..8 {
        link.put(now, &bulk(id).bytes()).unwrap();
    }
    let first = link.transmit(now).len();
    link.transmitted(now, first);
    assert_eq!(link.busy(now), rate.time(first));
    assert!(link.transmit(now).is_empty(), "the port would take it");
    let next = link.deadline().unwrap();
    assert_eq!(next, now + rate.time(first - 5) + Duration::from_nanos(208_333));
    now = now + Duration::from_millis(100);
    assert!(link.transmit(now).is_empty());
    link.put(now, &Tcp { data: b"x".to_vec(), ..Tcp::new() }.bytes()).unwrap();
    now = next;
    let lent = link.transmit(now).to_vec();
    assert!(lent.len() < 50 && lent.contains(&b'x'), "{lent:02x?}");
    link.transmitted(now, lent.len());
    // The line never falls idle, and carries what it can.
    let mut line_bytes = first + lent.len();
    while let Some(next) = link.deadline() {
        assert!(link.busy(next) <= Duration::from_millis(5) + Duration::from_nanos(1));
        assert!(link.busy(next) > Duration::ZERO);
        now = next;
        let len = link.transmit(now).len();
        assert!(len > 0);
        link.transmitted(now, len);
        line_bytes += len;
    }
    let took = now + link.busy(now) - Instant(5_000_000_000);
    let least = rate.time(line_bytes);
    assert!(took >= least && took < least + Duration::from_micros(1), "{took:?} {least:?}");
    assert_eq!(link.queue_stats()[Class::Interactive as usize].sent, 1);
    assert!(
        link.queue_stats()[Class::Interactive as usize].longest_delay <= rate.time(300),
        "{:?}",
        link.queue_stats()
    );
}

#[test]
fn invalid_settings() {
    let make = |config: Config| Link::new(config, config.parts(|len| vec![0; len])).map(|_| ());
    let good = Config::default();
    assert_eq!(make(good), Ok(()));
    assert_eq!(
        make(Config { mtu: 67, queue: QueueConfig::new(67), ..good }),
        Err(BadConfig::Mtu(67))
    );
    assert_eq!(make(Config { mtu: 500, ..good }), Err(BadConfig::Mtu(500)));
    assert_eq!(make(Config { mru: 1005, ..good }), Err(BadConfig::Mru(1005)));
    assert!(matches!(make(Config { slots: 2, ..good }), Err(BadConfig::Slots(_))));
    assert!(matches!(make(Config { slots: 257, ..good }), Err(BadConfig::Slots(_))));
    let differential = Compression::Differential;
    let config = Config { slots: 17, compression: differential, ..good };
    assert!(matches!(make(config), Err(BadConfig::Slots(_))));
    for part in 0..6 {
        let mut index = 0;
        let parts = good.parts(|len| {
            index += 1;
            vec![0; len - usize::from(index == part + 1)]
        });
        let refused = Link::new(good, parts).is_err();
        // One byte less is no block less.
        let is_queue = part == 2;
        assert_eq!(refused, !is_queue, "part {part}");
    }
}
