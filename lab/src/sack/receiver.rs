//! The receiving half: order, SACK blocks [RFC 2018], delayed acknowledgements [RFC 5681 §4.2].

use super::segment::{BLOCKS, Segment};
use std::collections::{BTreeMap, VecDeque};

/// The received ranges, and the part that is in order.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// The next byte that is missing.
    pub(super) next: u64,
    /// Bytes that the program may read.
    pub(super) ready: VecDeque<u8>,
    /// Segments beyond a gap, and the ranges that they make.
    kept: BTreeMap<u64, Vec<u8>>,
    kept_bytes: u64,
    ranges: BTreeMap<u64, u64>,
    /// The latest ones: a number in each, the last first.
    latest: VecDeque<u64>,
    window: u64,
    /// The window that was told last, as its right edge.
    told: u64,
    /// Segments that are not acknowledged yet, and since when the acknowledgement may not wait any longer.
    owed: u64,
    wait_ns: u64,
    due: Option<u64>,
}

impl Receiver {
    pub(super) fn new(window: u64, wait_ns: u64) -> Self {
        Self {
            next: 0,
            ready: VecDeque::new(),
            kept: BTreeMap::new(),
            kept_bytes: 0,
            ranges: BTreeMap::new(),
            latest: VecDeque::new(),
            window,
            told: window,
            owed: 0,
            wait_ns,
            due: None,
        }
    }

    /// A segment with data was received.
    pub(super) fn come(&mut self, now: u64, seq: u64, data: &[u8]) {
        let end = seq + data.len() as u64;
        let skip = self.next.saturating_sub(seq) as usize;
        if skip >= data.len() || seq > self.next + self.window {
            self.due = Some(now);
            return;
        }
        if seq > self.next {
            self.keep(seq, end, data);
            self.due = Some(now);
            return;
        }
        let had_gap = !self.kept.is_empty();
        self.ready.extend(&data[skip..]);
        self.next = end;
        while let Some(entry) = self.kept.first_entry()
            && *entry.key() <= self.next
        {
            let (at, bytes) = entry.remove_entry();
            self.kept_bytes -= bytes.len() as u64;
            let skip = (self.next - at) as usize;
            if skip < bytes.len() {
                self.ready.extend(&bytes[skip..]);
                self.next = at + bytes.len() as u64;
            }
        }
        self.ranges.retain(|_, end| *end > self.next);
        self.owed += 1;
        // Every second segment, and at once while there is a gap.
        let at_once = had_gap || self.owed >= 2;
        let wait = if at_once { now } else { now.saturating_add(self.wait_ns) };
        self.due = Some(self.due.map_or(wait, |due| due.min(wait)));
    }

    /// A segment beyond a gap.
    fn keep(&mut self, seq: u64, end: u64, data: &[u8]) {
        if let std::collections::btree_map::Entry::Vacant(place) = self.kept.entry(seq) {
            self.kept_bytes += data.len() as u64;
            place.insert(data.to_vec());
        }
        let (mut left, mut right) = (seq, end);
        let touching: Vec<u64> = self
            .ranges
            .range(..=end)
            .rev()
            .take_while(|(_, of)| **of >= seq)
            .map(|(from, _)| *from)
            .collect();
        for from in touching {
            left = left.min(from);
            right = right.max(self.ranges.remove(&from).unwrap_or(right));
        }
        self.ranges.insert(left, right);
        self.latest.push_front(seq);
        self.latest.truncate(4 * BLOCKS);
    }

    /// The ranges beyond the gap, the latest first.
    fn blocks(&self) -> Vec<(u64, u64)> {
        let mut blocks: Vec<(u64, u64)> = Vec::new();
        for seq in &self.latest {
            let range = self.ranges.range(..=*seq).next_back().filter(|(_, end)| *end > seq);
            if let Some((from, end)) = range
                && blocks.len() < BLOCKS
                && !blocks.contains(&(*from, *end))
            {
                blocks.push((*from, *end));
            }
        }
        blocks
    }

    /// The window that is open now, as its right edge, which does not go back.
    fn edge(&self) -> u64 {
        let held = self.ready.len() as u64 + self.kept_bytes;
        self.told.max(self.next + self.window.saturating_sub(held))
    }

    /// The program has read: says so if that has opened the window by a quarter of the buffer, as BSD does.
    pub(super) fn read(&mut self, now: u64) {
        if self.edge() - self.told >= self.window / 4 {
            self.due = Some(now);
        }
    }

    /// When an acknowledgement has to go.
    pub(super) fn due(&self) -> Option<u64> {
        self.due
    }

    /// What an acknowledgement says; none is owed then.
    pub(super) fn acknowledge(&mut self, segment: &mut Segment) {
        self.told = self.edge();
        segment.ack = Some(self.next);
        segment.window = self.told - self.next;
        segment.blocks = self.blocks();
        self.owed = 0;
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_told_the_latest_first_and_closed() {
        let mut receiver = Receiver::new(1 << 20, 40);
        receiver.come(0, 0, &[1; 10]);
        assert_eq!(receiver.due(), Some(40));
        for at in [30, 50, 40, 70] {
            receiver.come(1, at, &[2; 10]);
        }
        let mut told = Segment::default();
        receiver.acknowledge(&mut told);
        assert_eq!((told.ack, told.blocks), (Some(10), vec![(70, 80), (30, 60)]));
        receiver.come(2, 10, &[3; 20]);
        let mut told = Segment::default();
        receiver.acknowledge(&mut told);
        assert_eq!((told.ack, told.blocks), (Some(60), vec![(70, 80)]));
        assert_eq!(receiver.ready.len(), 60);
        assert_eq!(receiver.due(), None);
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut receiver = Receiver::new(1 << 20, 40);
        receiver.come(5, 0, &[1; 10]);
        receiver.come(6, 10, &[1; 10]);
        assert_eq!(receiver.due(), Some(6));
        // An old one, too.
        receiver.acknowledge(&mut Segment::default());
        receiver.come(7, 0, &[1; 10]);
        assert_eq!(receiver.due(), Some(7));
    }
}
