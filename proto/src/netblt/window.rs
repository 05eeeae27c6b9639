//! The outstanding buffers at either end, in rings of fixed size: slot = index modulo ring.
//!
//! An index counts the buffers of a connection from 0, whatever their numbers on the wire are.

use super::bits;

/// How many packets a buffer has, and how many buffers there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Shape {
    /// Packets of a full buffer.
    pub(crate) packets: u32,
    /// Buffers.
    pub(crate) slots: usize,
}

/// Slots of a ring at most, unless more buffers may be outstanding. At 1 Gb/s over 1.8 s with 5 % lost a packet is
/// lost five times in a row twice a minute, which takes ten seconds: what follows it must find room meanwhile.
const MOST_SLOTS: usize = 98_304;

/// Bytes of a receiver's record of a buffer.
const RECORD: usize = 32;

impl Shape {
    fn stride(self) -> usize {
        bits::len_for(self.packets as usize)
    }

    /// Buffers of a ring for N outstanding ones. Those after one with a hole continue while it is
    /// repaired (RFC 1030 section 3 counts what is in transmission or error
    /// recovery), so the ring reaches beyond them.
    pub(crate) fn span(outstanding: u16) -> usize {
        let outstanding = usize::from(outstanding.max(1));
        outstanding.max((4 * outstanding).min(MOST_SLOTS))
    }

    /// Bytes of a sender's ring.
    pub(crate) fn sender_len(self) -> usize {
        self.slots * self.stride() + 3 * bits::len_for(self.slots)
    }

    /// Bytes of a receiver's ring.
    pub(crate) fn receiver_len(self) -> usize {
        self.slots * (self.stride() + RECORD)
    }

    /// As many slots as the memory holds, at most as many as wanted.
    pub(crate) fn fit(packets: u32, wanted: usize, len: usize, need: fn(Self) -> usize) -> Self {
        let mut shape = Self { packets, slots: wanted };
        if need(shape) > len {
            let one = shape.stride().max(1);
            shape.slots = shape.slots.min(len / one);
            while shape.slots > 0 && need(shape) > len {
                shape.slots -= (shape.slots / 64).max(1);
            }
        }
        shape
    }
}

/// A sender's ring: which packets of which buffer are to be sent.
pub(crate) struct SendRing<'a> {
    shape: Shape,
    packets: &'a mut [u8],
    /// Slots with packets to send.
    busy: &'a mut [u8],
    /// Slots whose buffer was asked for.
    granted: &'a mut [u8],
    /// Slots whose buffer is complete.
    done: &'a mut [u8],
}

impl<'a> SendRing<'a> {
    /// The ring in its memory.
    pub(crate) fn new(shape: Shape, memory: &'a mut [u8]) -> Self {
        let (packets, rest) = memory.split_at_mut(shape.slots * shape.stride());
        let one = bits::len_for(shape.slots);
        let (busy, rest) = rest.split_at_mut(one);
        let (granted, rest) = rest.split_at_mut(one);
        Self { shape, packets, busy, granted, done: &mut rest[..one] }
    }

    /// A connection begins.
    pub(crate) fn clear(&mut self) {
        self.busy.fill(0);
        self.granted.fill(0);
        self.done.fill(0);
    }

    fn slot(&self, index: u64) -> usize {
        (index % self.shape.slots as u64) as usize
    }

    fn set(&mut self, slot: usize) -> &mut [u8] {
        let stride = self.shape.stride();
        &mut self.packets[slot * stride..(slot + 1) * stride]
    }

    /// All `count` packets of the buffer are needed; false if they were already.
    pub(crate) fn grant(&mut self, index: u64, count: u32) -> bool {
        let slot = self.slot(index);
        if !bits::put(self.granted, slot) {
            return false;
        }
        bits::fill(self.set(slot), count as usize);
        bits::put(self.busy, slot);
        true
    }

    pub(crate) fn is_granted(&self, index: u64) -> bool {
        bits::has(self.granted, self.slot(index))
    }

    pub(crate) fn is_done(&self, index: u64) -> bool {
        bits::has(self.done, self.slot(index))
    }

    /// This packet is to be sent again.
    pub(crate) fn want(&mut self, index: u64, packet: u32) {
        let slot = self.slot(index);
        bits::put(self.set(slot), packet as usize);
        bits::put(self.busy, slot);
    }

    /// This packet was sent, or does not exist.
    pub(crate) fn sent(&mut self, index: u64, packet: u32) {
        let (slot, count) = (self.slot(index), self.shape.packets as usize);
        let set = self.set(slot);
        bits::take(set, packet as usize);
        if bits::find(set, 0, count, true).is_none() {
            bits::take(self.busy, slot);
        }
    }

    /// The buffer is no longer needed.
    pub(crate) fn finish(&mut self, index: u64) {
        let slot = self.slot(index);
        bits::take(self.busy, slot);
        bits::put(self.done, slot);
    }

    /// The slot is free for another buffer.
    pub(crate) fn release(&mut self, index: u64) {
        let slot = self.slot(index);
        bits::take(self.done, slot);
        bits::take(self.granted, slot);
    }

    /// The first packet to send, lowest buffer first; the ring begins with buffer `low`.
    pub(crate) fn first(&mut self, low: u64, from: u64) -> Option<(u64, u32)> {
        let slots = self.shape.slots;
        let start = self.slot(from.max(low));
        let base = from.max(low) - start as u64;
        let end = low + slots as u64;
        let found = bits::find(self.busy, start, slots, true).map(|slot| base + slot as u64);
        let found = found.filter(|index| *index < end).or_else(|| {
            let slot = bits::find(self.busy, 0, self.slot(low), true)?;
            let index = base + slots as u64 + slot as u64;
            (index < end).then_some(index)
        })?;
        let count = self.shape.packets as usize;
        let slot = self.slot(found);
        let packet = bits::find(self.set(slot), 0, count, true)?;
        Some((found, packet as u32))
    }
}

/// Buffers that were granted beyond a sender's ring, one after the other: a receiver may grant further and further
/// while one low buffer is lost again and again, and acknowledges nothing else before these are acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct GrantedBeyond {
    from: u64,
    to: u64,
}

impl GrantedBeyond {
    /// Keeps a grant; false if it does not adjoin those that are kept, and has to come again.
    pub(crate) fn keep(&mut self, index: u64) -> bool {
        if self.from == self.to {
            self.from = index;
            self.to = index + 1;
        } else if index + 1 == self.from {
            self.from = index;
        } else if index == self.to {
            self.to += 1;
        }
        (self.from..self.to).contains(&index)
    }

    /// The next one below `end`, which the ring has room for now.
    pub(crate) fn next_below(&mut self, end: u64) -> Option<u64> {
        let next = self.from;
        let fits = next < self.to && next < end;
        self.from += u64::from(fits);
        fits.then_some(next)
    }
}

/// What a receiver knows of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Record {
    /// When missing packets are asked for; 0 is not yet. While a RESEND waits: when it was made.
    pub(crate) deadline_ns: u64,
    /// Packets that have come.
    pub(crate) got: u32,
    /// Packets it has, if known.
    pub(crate) count: u32,
    /// One more than the highest packet that has come.
    pub(crate) top: u32,
    /// How often packets were asked for.
    pub(crate) asked: u16,
    /// See the constants.
    pub(crate) flags: u16,
    /// When packets of a later buffer came first; 0 is not yet.
    pub(crate) passed_ns: u64,
}

/// GO was sent.
pub(crate) const GRANTED: u16 = 1;
/// All packets have come.
pub(crate) const WHOLE: u16 = 2;
/// A RESEND waits for its acknowledgement.
pub(crate) const ASKING: u16 = 4;
/// OK was sent.
pub(crate) const SAID_OK: u16 = 8;
/// [`Record::count`] is known for certain.
pub(crate) const COUNTED: u16 = 16;

/// A receiver's ring: which packets of which buffer have come.
pub(crate) struct ReceiveRing<'a> {
    shape: Shape,
    packets: &'a mut [u8],
    records: &'a mut [u8],
}

impl<'a> ReceiveRing<'a> {
    /// The ring in its memory.
    pub(crate) fn new(shape: Shape, memory: &'a mut [u8]) -> Self {
        let (packets, rest) = memory.split_at_mut(shape.slots * shape.stride());
        Self { shape, packets, records: &mut rest[..shape.slots * RECORD] }
    }

    fn slot(&self, index: u64) -> usize {
        (index % self.shape.slots as u64) as usize
    }

    fn set(&mut self, index: u64) -> &mut [u8] {
        let (slot, stride) = (self.slot(index), self.shape.stride());
        &mut self.packets[slot * stride..(slot + 1) * stride]
    }

    pub(crate) fn record(&self, index: u64) -> Record {
        let at = self.slot(index) * RECORD;
        let bytes = &self.records[at..at + RECORD];
        let four = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let asked_flags = four(20);
        Record {
            deadline_ns: u64::from(four(0)) | u64::from(four(4)) << 32,
            got: four(8),
            count: four(12),
            top: four(16),
            asked: asked_flags as u16,
            flags: (asked_flags >> 16) as u16,
            passed_ns: u64::from(four(24)) | u64::from(four(28)) << 32,
        }
    }

    pub(crate) fn keep(&mut self, index: u64, record: &Record) {
        let at = self.slot(index) * RECORD;
        let bytes = &mut self.records[at..at + RECORD];
        bytes[..8].copy_from_slice(&record.deadline_ns.to_le_bytes());
        bytes[8..12].copy_from_slice(&record.got.to_le_bytes());
        bytes[12..16].copy_from_slice(&record.count.to_le_bytes());
        bytes[16..20].copy_from_slice(&record.top.to_le_bytes());
        bytes[20..22].copy_from_slice(&record.asked.to_le_bytes());
        bytes[22..24].copy_from_slice(&record.flags.to_le_bytes());
        bytes[24..].copy_from_slice(&record.passed_ns.to_le_bytes());
    }

    /// A buffer takes its slot.
    pub(crate) fn begin(&mut self, index: u64, count: u32, counted: bool) {
        self.set(index).fill(0);
        let flags = GRANTED | if counted { COUNTED } else { 0 };
        self.keep(index, &Record { count, flags, ..Record::default() });
    }

    /// This packet has come; false if it had before.
    pub(crate) fn put(&mut self, index: u64, packet: u32) -> bool {
        bits::put(self.set(index), packet as usize)
    }

    pub(crate) fn has(&mut self, index: u64, packet: u32) -> bool {
        bits::has(self.set(index), packet as usize)
    }

    /// The first missing packet of a buffer, from this one on, below `count`.
    pub(crate) fn missing(&mut self, index: u64, from: u32, count: u32) -> Option<u32> {
        bits::find(self.set(index), from as usize, count as usize, false)
            .map(|packet| packet as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn the_lowest_packet_goes_first_around_the_ring() {
        let shape = Shape { packets: 3, slots: 5 };
        let mut memory = vec![0; shape.sender_len()];
        let mut sends = SendRing::new(shape, &mut memory);
        for index in 3..8 {
            assert!(sends.grant(index, 3));
            assert!(!sends.grant(index, 3));
        }
        let mut seen = vec![];
        while let Some((index, packet)) = sends.first(3, 3) {
            seen.push((index, packet));
            sends.sent(index, packet);
        }
        assert!(seen.iter().copied().eq((3..8).flat_map(|i| (0..3).map(move |p| (i, p)))));
        sends.want(7, 1);
        sends.want(4, 2);
        assert_eq!(sends.first(3, 3), Some((4, 2)));
        assert_eq!(sends.first(3, 5), Some((7, 1)));
        sends.finish(7);
        assert_eq!(sends.first(3, 5), None);
    }

    #[test]
    fn grants_beyond_the_ring_wait_in_their_order() {
        let mut beyond = GrantedBeyond::default();
        assert_eq!(beyond.next_below(100), None);
        // From either side; what leaves a hole is not kept.
        for (index, kept) in [(41, true), (42, true), (40, true), (44, false), (38, false)] {
            assert_eq!(beyond.keep(index), kept, "{index}");
        }
        assert!(beyond.keep(41), "a copy of what is kept");
        assert_eq!([40, 42, 42].map(|end| beyond.next_below(end)), [None, Some(40), Some(41)]);
        assert_eq!([42, 99, 99].map(|end| beyond.next_below(end)), [None, Some(42), None]);
        assert!(beyond.keep(7), "a new beginning");
    }

    #[test]
    fn records_are_kept() {
        let shape = Shape { packets: 70, slots: 2 };
        let mut memory = vec![0; shape.receiver_len()];
        let mut gets = ReceiveRing::new(shape, &mut memory);
        gets.begin(5, 70, true);
        let record = Record {
            deadline_ns: u64::MAX - 1,
            got: 1,
            count: 2,
            top: 3,
            asked: 4,
            flags: GRANTED | WHOLE,
            passed_ns: 5,
        };
        gets.keep(5, &record);
        assert_eq!(gets.record(5), record);
        assert!(gets.put(5, 69) && !gets.put(5, 69) && gets.has(5, 69));
        assert_eq!(gets.missing(5, 0, 70), Some(0));
        assert_eq!(gets.missing(5, 69, 70), None);
    }

    #[test]
    fn memory_bounds_the_ring() {
        for len in [0, 1, 100, 1000, 100_000] {
            let shape = Shape::fit(100, 65_535, len, Shape::sender_len);
            assert!(shape.slots == 0 || shape.sender_len() <= len);
            assert!(len < 1000 || shape.slots > 10);
        }
    }
}
