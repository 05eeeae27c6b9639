//! Queue of packets for the line: priority, drops, and no starvation.

use crate::common;
use crate::slip_packets;

use common::Dice;
use slip_packets::Tcp;
use wetstring_proto::slip::class::{Rules, sort};
use wetstring_proto::slip::mtu::{Choice, Rate, choose, packet_time};
use wetstring_proto::slip::packet::flag;
use wetstring_proto::slip::queue::{BLOCK, FLOWS, NotQueued};
use wetstring_proto::slip::{Class, Queue, QueueConfig};
use wetstring_proto::{Duration, Instant};

const MTU: u16 = 296;

fn segment(ports: [u16; 2], len: usize) -> Tcp {
    Tcp { ports, data: vec![7; len], ..Tcp::new() }
}

/// A datagram of another protocol.
fn other(protocol: u8, ports: [u16; 2]) -> Vec<u8> {
    let mut bytes = segment(ports, 8).bytes();
    bytes[9] = protocol;
    bytes
}

fn class(packet: &[u8]) -> Class {
    sort(packet, &Rules::default()).class
}

#[test]
fn where_packets_begin() {
    use Class::{Bulk, Interactive, Normal};
    for (name, packet, want) in [
        ("TELNET", segment([1025, 23], 1).bytes(), Interactive),
        ("its other direction", segment([22, 40_000], 200).bytes(), Interactive),
        ("FTP's data", segment([20, 1025], 200).bytes(), Bulk),
        ("the web", segment([40_000, 80], 200).bytes(), Normal),
        ("an acknowledgement of bulk", segment([1025, 20], 0).bytes(), Interactive),
        ("with options", Tcp { options: vec![1; 12], ..segment([9, 20], 0) }.bytes(), Interactive),
        ("SYN", Tcp { flags: flag::SYN, ..segment([1, 20], 0) }.bytes(), Interactive),
        ("DNS", other(17, [40_000, 53]), Interactive),
        ("TFTP", other(17, [40_000, 69]), Bulk),
        ("UDP", other(17, [40_000, 9]), Normal),
        ("ICMP", other(1, [0x0800, 20]), Interactive),
        ("another protocol", other(47, [1025, 23]), Normal),
        ("a fragment", Tcp { fragment: 0x2000, ..segment([1, 23], 9) }.bytes(), Normal),
        ("low delay", Tcp { tos: 0x10, ..segment([1, 80], 9) }.bytes(), Interactive),
        ("throughput", Tcp { tos: 0x08, ..segment([1, 22], 9) }.bytes(), Bulk),
        ("EF", Tcp { tos: 46 << 2, ..segment([1, 20], 9) }.bytes(), Interactive),
        ("CS1 with ECN", Tcp { tos: 8 << 2 | 3, ..segment([1, 22], 9) }.bytes(), Bulk),
        ("LE", Tcp { tos: 1 << 2, ..segment([1, 22], 9) }.bytes(), Bulk),
        ("no IP", vec![1, 2, 3], Normal),
        ("nothing", vec![], Normal),
        ("half a header", vec![0x45; 19], Normal),
    ] {
        assert_eq!(class(&packet), want, "{name}");
    }
    let rules = Rules { marks: false, ..Rules::default() };
    let marked = Tcp { tos: 0x10, ..segment([1, 20], 9) }.bytes();
    assert_eq!(sort(&marked, &rules).class, Bulk, "marks are not believed");
}

#[test]
fn ipv6_is_looked_at_too() {
    let tcp = &segment([1025, 23], 1).bytes()[20..];
    let mut packet = vec![0x60, 0, 0, 0, 0, tcp.len() as u8, 6, 64];
    packet.extend([9; 32]);
    packet.extend(tcp);
    assert_eq!(class(&packet), Class::Interactive);
    packet[0..2].copy_from_slice(&[0x60 | 8 >> 2, (8 << 6) as u8]);
    assert_eq!(class(&packet), Class::Bulk, "CS1");
    packet[0..2].copy_from_slice(&[0x60, 0]);
    packet[6] = 58;
    assert_eq!(class(&packet), Class::Interactive, "ICMPv6");
}

#[test]
fn flows_are_addresses_protocol_and_ports() {
    let flow = |packet: &[u8]| sort(packet, &Rules::default()).flow;
    let one = segment([1, 2], 9).bytes();
    assert_eq!(flow(&one), flow(&Tcp { sequence: 77, ..segment([1, 2], 50) }.bytes()));
    for another in [
        segment([2, 1], 9).bytes(),
        segment([1, 3], 9).bytes(),
        segment([1, 2], 0).bytes(),
        Tcp { source: [9; 4], ..segment([1, 2], 9) }.bytes(),
        other(17, [1, 2]),
    ] {
        assert_ne!(flow(&one), flow(&another));
    }
}

/// A queue, and what comes out of it as (source port, id).
struct Line {
    queue: Queue<Vec<u8>>,
    now: Instant,
}

impl Line {
    fn new(bytes: usize) -> Self {
        let config = QueueConfig::new(MTU);
        let queue = Queue::new(config, vec![0xEE; config.memory(bytes)]).unwrap();
        Self { queue, now: Instant::ZERO }
    }

    fn put(&mut self, tcp: &Tcp) -> Result<(), NotQueued> {
        self.queue.put(self.now, &tcp.bytes())
    }

    fn take(&mut self) -> Option<(u16, u16, Class)> {
        let mut into = [0; MTU as usize];
        let taken = self.queue.take(self.now, &mut into)?;
        let port = u16::from_be_bytes([into[20], into[21]]);
        assert_eq!(usize::from(u16::from_be_bytes([into[2], into[3]])), taken.len, "whole");
        Some((port, u16::from_be_bytes([into[4], into[5]]), taken.class))
    }
}

#[test]
fn urgent_packets_go_first_and_flows_take_turns() {
    let mut line = Line::new(20_000);
    for id in 0..4 {
        for port in [1, 2] {
            line.put(&Tcp { id, ..segment([port, 20], 256) }).unwrap();
        }
    }
    line.put(&Tcp { id: 9, ..segment([3, 80], 256) }).unwrap();
    line.put(&Tcp { id: 9, ..segment([4, 23], 1) }).unwrap();
    let mut order = Vec::new();
    while let Some((port, id, _)) = line.take() {
        order.push((port, id));
    }
    let turns = (0..4).flat_map(|id| [(1, id), (2, id)]);
    let want: Vec<(u16, u16)> = [(4, 9), (3, 9)].into_iter().chain(turns).collect();
    assert_eq!(order, want);
    assert!(line.queue.is_empty());
}

/// Bytes are shared, not packets: a flow of small packets gets as much as one of long ones.
#[test]
fn turns_are_counted_in_bytes() {
    let mut line = Line::new(100_000);
    for id in 0..60 {
        line.put(&Tcp { id, ..segment([1, 20], 256) }).unwrap();
        for part in 0..4 {
            line.put(&Tcp { id: 4 * id + part, ..segment([2, 20], 34) }).unwrap();
        }
    }
    let (mut long, mut short) = (0, 0);
    for _ in 0..120 {
        let (port, ..) = line.take().unwrap();
        *(if port == 1 { &mut long } else { &mut short }) += if port == 1 { 296 } else { 74 };
    }
    assert!(i32::abs(long - short) <= 2 * 296, "{long} {short}");
}

/// A file over SSH: its flow has too much waiting, and goes down; typing in another session does not.
#[test]
fn flow_with_long_queue_is_demoted_in_order() {
    let mut line = Line::new(20_000);
    for id in 0..10 {
        line.put(&Tcp { id, ..segment([1, 22], 256) }).unwrap();
    }
    assert_eq!(line.queue.stats()[0].demoted, 1);
    assert_eq!(line.queue.stats()[1].demoted, 1, "from normal too");
    assert_eq!(line.queue.stats()[2].waiting, 10);
    line.put(&Tcp { id: 50, ..segment([2, 22], 1) }).unwrap();
    assert_eq!(line.take(), Some((2, 50, Class::Interactive)));
    for id in 0..10 {
        if id == 5 {
            // Still after its own.
            line.put(&Tcp { id: 10, ..segment([1, 22], 1) }).unwrap();
        }
        assert_eq!(line.take(), Some((1, id, Class::Bulk)));
    }
    assert_eq!(line.take(), Some((1, 10, Class::Bulk)));
    // The queue is empty: it starts again in its own class.
    line.put(&Tcp { id: 11, ..segment([1, 22], 1) }).unwrap();
    assert_eq!(line.take(), Some((1, 11, Class::Interactive)));
}

#[test]
fn no_class_starves() {
    let mut line = Line::new(20_000);
    for id in 0..20 {
        line.put(&Tcp { id, ..segment([1, 20], 256) }).unwrap();
    }
    let (mut bulk, mut urgent) = (0u32, 0u32);
    for round in 0..2000 {
        // More urgent packets than the line takes, of many flows.
        let port = 100 + round % 40;
        line.put(&Tcp { id: round, ..segment([port, 23], 200) }).unwrap();
        match line.take().unwrap() {
            (1, ..) => bulk += 1,
            _ => urgent += 1,
        }
    }
    // 15 * 296 bytes of urgent packets of 240 bytes for each of bulk.
    let most = 15 * 296 / 240 + 2;
    assert!(bulk >= 20 && bulk <= urgent / 15 && urgent <= bulk * most.max(100), "{bulk} {urgent}");
    assert_eq!(line.queue.stats()[2].guarded, 20);
}

#[test]
fn bulk_is_dropped_for_what_is_urgent_and_never_the_other_way() {
    let mut line = Line::new(10 * usize::from(MTU));
    for id in 0..12 {
        line.put(&Tcp { id, ..segment([1, 20], 256) }).unwrap();
        line.put(&Tcp { id, ..segment([2, 20], 100) }).unwrap();
    }
    let before = line.queue.stats()[2];
    assert!(before.dropped > 0, "{before:?}");
    assert!(before.waiting_bytes <= 10 * u32::from(MTU));
    let mut urgent = 0;
    for id in 0..100 {
        match line.put(&Tcp { id, ..segment([1000 + id, 23], 200) }) {
            Ok(()) => urgent += 1,
            Err(refused) => assert_eq!(refused, NotQueued::Full, "never: they may push each other"),
        }
    }
    assert_eq!(urgent, 100, "an urgent packet is taken, if need be for one that waited longer");
    let after = line.queue.stats();
    assert_eq!((after[2].waiting, after[1].waiting), (0, 0));
    assert!(after[0].dropped > 0);
    let refused = line.put(&segment([1, 20], 256));
    assert_eq!(refused, Err(NotQueued::Full));
    assert_eq!(line.queue.stats()[2].waiting, 0);
    let dropped = line.queue.stats()[2].dropped;
    line.queue.clear();
    assert!(line.queue.is_empty() && line.take().is_none());
    assert_eq!(line.queue.stats()[2].dropped, dropped);
    line.put(&segment([1, 20], 256)).unwrap();
    assert!(line.take().is_some());
}

#[test]
fn invalid_lengths() {
    let mut line = Line::new(1000);
    let longest = MTU;
    for got in [0, 2, 297, 5000] {
        let refused = line.queue.put(Instant::ZERO, &vec![0x45; got]);
        assert_eq!(refused, Err(NotQueued::Length { longest, got }));
    }
    line.queue.put(Instant::ZERO, &[0x45; 296]).unwrap();
    let config = QueueConfig::new(MTU);
    assert!(Queue::new(config, vec![0; config.memory(1) - 1]).is_err());
    assert!(Queue::new(config, vec![0; config.memory(1)]).is_ok());
    assert_eq!(config.memory(1), 3 * BLOCK);
}

/// Anything in any order: what comes out is what went in, or was dropped and counted, each flow in its order.
#[test]
fn nothing_is_lost_without_a_count() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let mut line = Line::new([1, 3000, 20_000, 200_000][dice.roll(4)]);
        let ports = [1, 5, 50, 2 * FLOWS][dice.roll(4)];
        let mut ids = vec![0u16; ports];
        let mut last = vec![0u16; ports];
        let (mut put, mut taken) = (0u64, 0u64);
        for _ in 0..2000 {
            let put_more = dice.roll(5) < 3;
            if put_more {
                let port = dice.roll(ports);
                ids[port] += 1;
                let to = [23, 80, 20][port % 3];
                let data = 1 + dice.roll(256);
                let tcp = Tcp { id: ids[port], ..segment([port as u16, to], data) };
                put += 1;
                let _ = line.put(&tcp);
            } else if let Some((port, id, _)) = line.take() {
                taken += 1;
                if ports < FLOWS {
                    assert!(id > last[usize::from(port)], "seed {seed}: {port} is out of order");
                    last[usize::from(port)] = id;
                }
            }
            line.now = line.now + Duration::from_millis(3);
        }
        let sums = |of: fn(&wetstring_proto::slip::ClassStats) -> u64| -> u64 {
            line.queue.stats().iter().map(of).sum()
        };
        assert_eq!(sums(|class| class.sent), taken);
        let waiting = sums(|class| u64::from(class.waiting));
        assert_eq!(put, taken + waiting + sums(|class| class.dropped));
        let mut left = 0;
        while line.take().is_some() {
            left += 1;
        }
        assert_eq!(left, waiting);
        assert_eq!(line.queue.stats().map(|class| class.waiting_bytes), [0; 3]);
    }
}

#[test]
fn delays_are_counted() {
    let mut line = Line::new(5000);
    line.put(&segment([1, 23], 1)).unwrap();
    line.now = Instant(7_000_000);
    line.put(&segment([2, 23], 1)).unwrap();
    line.now = Instant(10_000_000);
    line.take();
    line.take();
    let stats = line.queue.stats()[0];
    assert_eq!(stats.longest_delay, Duration::from_millis(10));
    assert_eq!(stats.mean_delay(), Duration::from_micros(6500));
    assert_eq!(line.queue.stats()[2].mean_delay(), Duration::ZERO);
}

#[test]
fn the_mtu_follows_from_rate_and_latency() {
    let at = |bps, ms| choose(Rate::serial(bps), Duration::from_millis(ms));
    assert_eq!(at(9600, 200).mtu, 190);
    assert_eq!(at(9600, 200).packet_time, Duration::from_millis(200));
    assert!(at(9600, 200).keeps_goal);
    assert_eq!(at(19_200, 200).mtu, 382);
    assert_eq!(at(115_200, 200).mtu, 1006);
    assert_eq!(at(115_200, 20).mtu, 228);
    let slow = at(1200, 200);
    assert_eq!((slow.mtu, slow.keeps_goal), (68, false));
    assert_eq!(slow.packet_time, Duration::from_nanos(583_333_334));
    assert_eq!(packet_time(296, Rate::serial(9600)), Duration::from_nanos(310_416_667));
    assert!(Choice::of(296, Rate::serial(9600), Duration::from_millis(311)).keeps_goal);
    for bps in [0, 1, 300, 9600, 3_000_000, u64::MAX] {
        for ms in [0, 1, 200, u64::MAX] {
            let choice = at(bps, ms);
            assert!((68..=1006).contains(&choice.mtu));
            let longer = packet_time(choice.mtu + 1, Rate::serial(bps));
            assert!(choice.mtu == 1006 || longer > Duration::from_millis(ms));
        }
    }
}
