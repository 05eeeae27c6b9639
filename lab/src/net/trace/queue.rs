//! What waits for an opportunity: first in, first out, or with `CoDel` [RFC 8289], or with a queue for each flow
//! and `CoDel` in each [RFC 8290].

use crate::net::parse::Shown;
use crate::net::path::Queue;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use wetstring_proto::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// Management of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Aqm {
    /// What finds no room is lost.
    #[default]
    Tail,
    /// `CoDel` [RFC 8289].
    CoDel(Codel),
    /// Flows with `CoDel` in turn [RFC 8290].
    Fq(Codel),
}

/// The two times of `CoDel`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codel {
    /// What may stand for long.
    pub target: Duration,
    /// How long more may stand.
    pub interval: Duration,
}

impl Default for Codel {
    /// 5 ms and 100 ms [RFC 8289 §4.2, 4.3].
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100) }
    }
}

impl fmt::Display for Aqm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, codel) = match self {
            Self::Tail => return Ok(()),
            Self::CoDel(codel) => ("codel", codel),
            Self::Fq(codel) => ("fq", codel),
        };
        write!(f, ",aqm={name}")?;
        let usual = Codel::default();
        if codel.target != usual.target {
            write!(f, ",target={}", Shown(codel.target))?;
        }
        if codel.interval != usual.interval {
            write!(f, ",interval={}", Shown(codel.interval))?;
        }
        Ok(())
    }
}

/// Bytes that a flow may send in its turn [RFC 8290 §5.2].
const QUANTUM: i64 = 1514;
/// Queues of flows [RFC 8290 §5.1].
const FLOWS: u64 = 1024;
/// Packets of all flows together, unless the description says less [RFC 8290 §5.1].
const MOST_PACKETS: usize = 10_240;
/// A queue of this many bytes is never too long [RFC 8289: one packet].
const MOST_PACKET: usize = 1504;

/// A packet, and since when it waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    pub(super) since: u64,
    pub(super) bytes: Vec<u8>,
}

/// The state of `CoDel`, and its queue.
#[derive(Clone, Debug, Default)]
struct Line {
    packets: VecDeque<Waiting>,
    bytes: usize,
    /// When the delay will have been above the target for an interval; 0 while it is not.
    above: u64,
    dropping: bool,
    drop_next: u64,
    count: u64,
    last_count: u64,
    /// Bytes that the flow may still send in its turn.
    deficit: i64,
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// When the next packet is dropped: the interval by the root of the drops so far [RFC 8289 §5.3].
fn next_drop(at: u64, interval: u64, count: u64) -> u64 {
    let root = (u128::from(count) << 64).isqrt().max(1);
    let wait = (u128::from(interval) << 32) / root;
    at.saturating_add(u64::try_from(wait).unwrap_or(u64::MAX))
}

impl Line {
    fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.bytes.len();
        Some(packet)
    }

    /// The first packet, and whether the delay has been too long for an interval.
    fn look(&mut self, codel: Codel, now: u64) -> (Option<Waiting>, bool) {
        let Some(packet) = self.pop() else {
            self.above = 0;
            return (None, false);
        };
        if now - packet.since < ns(codel.target) || self.bytes <= MOST_PACKET {
            self.above = 0;
            return (Some(packet), false);
        }
        if self.above == 0 {
            self.above = now.saturating_add(ns(codel.interval));
            return (Some(packet), false);
        }
        (Some(packet), now >= self.above)
    }

    /// The next packet by `CoDel`; what it drops goes to `dropped`.
    fn take(&mut self, codel: Codel, now: u64, dropped: &mut Vec<Waiting>) -> Option<Waiting> {
        let interval = ns(codel.interval);
        let (mut packet, mut late) = self.look(codel, now);
        if self.dropping {
            self.dropping = late;
            while self.dropping && now >= self.drop_next {
                dropped.extend(packet.take());
                self.count += 1;
                (packet, late) = self.look(codel, now);
                self.dropping = late;
                if late {
                    self.drop_next = next_drop(self.drop_next, interval, self.count);
                }
            }
        } else if late {
            dropped.extend(packet.take());
            (packet, _) = self.look(codel, now);
            self.dropping = true;
            // Where dropping ended a short time ago, it continues as it was.
            let before = self.count - self.last_count;
            let recent = now.saturating_sub(self.drop_next) < 16 * interval;
            self.count = if before > 1 && recent { before } else { 1 };
            self.drop_next = next_drop(now, interval, self.count);
            self.last_count = self.count;
        }
        packet
    }
}

/// The queue of one direction.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    limit: Queue,
    aqm: Aqm,
    /// By flow; without flows there is one.
    lines: BTreeMap<u64, Line>,
    fresh: VecDeque<u64>,
    old: VecDeque<u64>,
    packets: usize,
    bytes: u64,
    pub(super) dropped: Vec<Waiting>,
    /// Bytes behind each packet that name its flow.
    pub(super) tag: usize,
}

impl Waits {
    pub(super) fn new(limit: Queue, aqm: Aqm) -> Self {
        Self {
            limit,
            aqm,
            lines: BTreeMap::new(),
            fresh: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            dropped: Vec::new(),
            tag: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Queues a packet; without room, it or another packet moves to `dropped`.
    pub(super) fn put(&mut self, packet: Waiting) {
        let len = packet.bytes.len() as u64;
        let full = match self.limit {
            Queue::Unlimited => false,
            Queue::Packets(most) => self.packets as u64 >= most,
            Queue::Bytes(most) => self.bytes + len > most,
        };
        let fq = matches!(self.aqm, Aqm::Fq(_));
        let flow = if fq { flow(&packet.bytes, self.tag) } else { 0 };
        if full && !fq {
            self.dropped.push(packet);
            return;
        }
        let line = self.lines.entry(flow).or_default();
        line.bytes += packet.bytes.len();
        line.packets.push_back(packet);
        self.packets += 1;
        self.bytes += len;
        if fq && !self.fresh.contains(&flow) && !self.old.contains(&flow) {
            line.deficit = QUANTUM;
            self.fresh.push_back(flow);
        }
        if fq && (full || self.packets > MOST_PACKETS) {
            self.drop_of_longest();
        }
    }

    /// The flow with most bytes loses its first packet [RFC 8290 §4.1].
    fn drop_of_longest(&mut self) {
        let longest = self.lines.values_mut().max_by_key(|line| line.bytes);
        if let Some(packet) = longest.and_then(Line::pop) {
            self.gone(&packet);
            self.dropped.push(packet);
        }
    }

    fn gone(&mut self, packet: &Waiting) {
        self.packets -= 1;
        self.bytes -= packet.bytes.len() as u64;
    }

    /// The packet that goes at `now`.
    pub(super) fn take(&mut self, now: u64) -> Option<Waiting> {
        let before = self.dropped.len();
        let packet = match self.aqm {
            Aqm::Tail => self.lines.get_mut(&0).and_then(Line::pop),
            Aqm::CoDel(codel) => {
                self.lines.get_mut(&0).and_then(|line| line.take(codel, now, &mut self.dropped))
            }
            Aqm::Fq(codel) => self.take_in_turn(codel, now),
        };
        let lost = self.dropped[before..].iter().map(|packet| packet.bytes.len() as u64);
        self.bytes -= lost.sum::<u64>();
        self.packets -= self.dropped.len() - before;
        if let Some(packet) = &packet {
            self.gone(packet);
        }
        packet
    }

    /// New flows first, then the others in turn [RFC 8290 §4.2].
    fn take_in_turn(&mut self, codel: Codel, now: u64) -> Option<Waiting> {
        loop {
            let is_fresh = !self.fresh.is_empty();
            let list = if is_fresh { &mut self.fresh } else { &mut self.old };
            let flow = *list.front()?;
            let line = self.lines.entry(flow).or_default();
            if line.deficit <= 0 {
                line.deficit += QUANTUM;
                list.pop_front();
                self.old.push_back(flow);
                continue;
            }
            if let Some(packet) = line.take(codel, now, &mut self.dropped) {
                line.deficit -= (packet.bytes.len() - self.tag) as i64;
                return Some(packet);
            }
            list.pop_front();
            // A new flow gets another turn as an old one, so that it does not stay a new flow.
            if is_fresh {
                self.old.push_back(flow);
            }
        }
    }
}

/// The number of a packet's flow: by the addresses, the protocol and the ports of IPv4; or by its tag.
fn flow(packet: &[u8], tag: usize) -> u64 {
    if tag > 0 {
        return packet.last().map_or(0, |tag| u64::from(*tag));
    }
    let Some(header) = packet.first_chunk::<24>().filter(|header| header[0] == 0x45) else {
        return 0;
    };
    let mut key = [0; 13];
    key[..8].copy_from_slice(&header[12..20]);
    key[8] = header[9];
    // TCP and UDP have ports.
    if matches!(header[9], 6 | 17) {
        key[9..].copy_from_slice(&header[20..24]);
    }
    xxh3_64(&key) % FLOWS
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn packet(since_ms: u64, tag: u8) -> Waiting {
        let mut bytes = vec![0; 1500];
        bytes.push(tag);
        Waiting { since: since_ms * MS, bytes }
    }

    #[test]
    fn drops_come_at_the_interval_by_the_root_of_their_number() {
        let at = |count| next_drop(0, 100 * MS, count);
        assert_eq!(at(1), 100 * MS);
        assert_eq!(at(4), 50 * MS);
        // 100 / 1.41421 ms.
        assert_eq!(at(2) / 1000, 70_710);
    }

    #[test]
    fn codel_drops_after_an_interval_above_the_target_and_then_faster() {
        let mut waits = Waits::new(Queue::Unlimited, Aqm::CoDel(Codel::default()));
        (0..400).for_each(|_| waits.put(packet(0, 0)));
        let mut drops = Vec::new();
        // One leaves each millisecond, and all have come at 0.
        for ms in 0..330 {
            assert!(waits.take(ms * MS).is_some());
            (0..waits.dropped.drain(..).count()).for_each(|_| drops.push(ms));
        }
        // Above 5 ms from 5 on: the first at 105, then after 100, 70.7, 57.7 and 50 ms.
        assert_eq!(drops, [105, 205, 276, 334][..3].to_vec());
        // A short queue is left alone, however long the packet has waited.
        let mut short = Waits::new(Queue::Unlimited, Aqm::CoDel(Codel::default()));
        for ms in (0..1000).step_by(10) {
            short.put(packet(ms, 0));
            assert!(short.take((ms + 9) * MS).is_some());
        }
        assert!(short.dropped.is_empty());
    }

    #[test]
    fn flows_take_turns_and_a_new_one_goes_first() {
        let mut waits = Waits::new(Queue::Unlimited, Aqm::Fq(Codel::default()));
        waits.tag = 1;
        (0..10).for_each(|_| waits.put(packet(0, 1)));
        let mut order = Vec::new();
        let mut take = |waits: &mut Waits, count: usize| {
            for _ in 0..count {
                let packet = waits.take(MS).expect("a packet");
                order.push(packet.bytes[1500]);
            }
        };
        take(&mut waits, 3);
        waits.put(packet(0, 2));
        waits.put(packet(0, 2));
        waits.put(packet(0, 2));
        take(&mut waits, 7);
        assert_eq!(order[..3], [1, 1, 1]);
        // A turn is 1514 bytes: the 14 that are left of the first let another go, and then both have to wait.
        assert_eq!(order[3..], [2, 2, 2, 1, 1, 1, 1], "{order:?}");
    }

    #[test]
    fn the_longest_flow_loses_what_does_not_fit() {
        let mut waits = Waits::new(Queue::Packets(4), Aqm::Fq(Codel::default()));
        waits.tag = 1;
        for tag in [1, 1, 1, 1, 2] {
            waits.put(packet(0, tag));
        }
        assert_eq!(waits.dropped.iter().map(|lost| lost.bytes[1500]).collect::<Vec<_>>(), [1]);
        let mut tail = Waits::new(Queue::Packets(4), Aqm::Tail);
        for tag in [1, 1, 1, 1, 2] {
            tail.put(packet(0, tag));
        }
        assert_eq!(tail.dropped[0].bytes[1500], 2);
    }

    #[test]
    fn flows_are_told_apart_by_addresses_and_ports() {
        let mut first = vec![0; 40];
        first[0] = 0x45;
        first[9] = 6;
        let mut other = first.clone();
        other[21] = 9;
        assert_ne!(flow(&first, 0), flow(&other, 0));
        // An icmp message has no ports.
        first[9] = 1;
        other[9] = 1;
        assert_eq!(flow(&first, 0), flow(&other, 0));
    }
}
