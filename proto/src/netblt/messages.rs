//! The receiver's control messages that the sender has not acknowledged: the one long-lived CONTROL
//! packet of RFC 1030 section 7, as a ring.

use super::sequence::{AHEAD, ahead};
use crate::time::Instant;

/// Bytes of an entry.
const ENTRY: usize = 24;
/// At most this many in flight: further numbers would be taken for old ones.
const MOST: usize = AHEAD as usize;

/// Bytes of the ring for N buffers.
pub(crate) const fn ring_len(slots: usize) -> usize {
    let entries = 3 * slots + 16;
    ENTRY * if entries > MOST { MOST } else { entries }
}

/// What a message is about; buffers by their index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageKind {
    Go,
    Ok,
    Resend,
}

/// A message that waits for its acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) about: MessageKind,
    pub(crate) sequence: u16,
    /// Index of the buffer.
    pub(crate) index: u64,
    /// When it was sent first.
    pub(crate) first: Instant,
    /// When it was sent last.
    pub(crate) last: Instant,
    /// It was sent.
    pub(crate) sent: bool,
}

/// The ring. The entries are in memory that the receiver owns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Messages {
    /// Slot of the oldest.
    head: usize,
    count: usize,
    /// Of the newest, how many have never been sent.
    pub(crate) unsent: usize,
    /// Number of the oldest.
    sequence: u16,
    /// Indexes are kept from here on, in 32 bits.
    base: u64,
}

impl Messages {
    /// A connection begins.
    pub(crate) fn begin(&mut self) {
        *self = Self { sequence: 1, ..Self::default() };
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// How many more there is room for.
    pub(crate) fn room(&self, ring: &[u8]) -> usize {
        ring.len() / ENTRY - self.count
    }

    /// The number that the next message gets.
    pub(crate) fn next_sequence(&self) -> u16 {
        self.sequence.wrapping_add(self.count as u16)
    }

    /// The number of the message at this position.
    pub(crate) fn sequence_at(&self, position: usize) -> u16 {
        self.sequence.wrapping_add(position as u16)
    }

    /// The position of the message of this number, or where it would be; the oldest, if it is gone.
    pub(crate) fn position_of(&self, sequence: u16) -> usize {
        usize::try_from(ahead(sequence, self.sequence)).unwrap_or(0).min(self.count)
    }

    fn at(&self, ring: &[u8], position: usize) -> usize {
        (self.head + position) % (ring.len() / ENTRY) * ENTRY
    }

    /// Adds one; false if there is no room.
    pub(crate) fn push(&mut self, ring: &mut [u8], about: MessageKind, index: u64) -> bool {
        if self.room(ring) == 0 {
            return false;
        }
        if self.count == 0 {
            self.base = index.saturating_sub(u64::from(u32::MAX) / 2);
        }
        let at = self.at(ring, self.count);
        let entry = &mut ring[at..at + ENTRY];
        entry.fill(0);
        entry[0] = match about {
            MessageKind::Go => 0,
            MessageKind::Ok => 1,
            MessageKind::Resend => 2,
        };
        entry[4..8].copy_from_slice(&(index.saturating_sub(self.base) as u32).to_le_bytes());
        self.count += 1;
        self.unsent += 1;
        true
    }

    /// The one at this position, from the oldest.
    pub(crate) fn entry(&self, ring: &[u8], position: usize) -> Option<Entry> {
        if position >= self.count {
            return None;
        }
        let at = self.at(ring, position);
        let bytes = &ring[at..at + ENTRY];
        let eight = |at: usize| {
            Instant(u64::from_le_bytes(bytes[at..].first_chunk().copied().unwrap_or_default()))
        };
        let index = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        Some(Entry {
            about: match bytes[0] {
                0 => MessageKind::Go,
                1 => MessageKind::Ok,
                _ => MessageKind::Resend,
            },
            sequence: self.sequence.wrapping_add(position as u16),
            index: self.base + u64::from(index),
            first: eight(8),
            last: eight(16),
            sent: position < self.count - self.unsent,
        })
    }

    /// The one at this position leaves now.
    pub(crate) fn mark_sent(&mut self, ring: &mut [u8], position: usize, now: Instant) {
        let fresh = position >= self.count - self.unsent;
        let at = self.at(ring, position);
        let time = now.as_nanos().to_le_bytes();
        if fresh {
            ring[at + 8..at + 16].copy_from_slice(&time);
            // They leave in order.
            self.unsent = self.count - position - 1;
        }
        ring[at + 16..at + 24].copy_from_slice(&time);
    }

    /// Those that were put into a packet at `lent` left with it only now.
    pub(crate) fn left_late(&mut self, ring: &mut [u8], lent: Instant, now: Instant) {
        for position in 0..self.count - self.unsent {
            let at = self.at(ring, position);
            for at in [at + 8, at + 16] {
                if ring[at..at + 8] == lent.as_nanos().to_le_bytes() {
                    ring[at..at + 8].copy_from_slice(&now.as_nanos().to_le_bytes());
                }
            }
        }
    }

    /// How many of the oldest are acknowledged by this number; 0 by one that was never sent.
    pub(crate) fn covered(&self, high: u16) -> usize {
        let behind = ahead(high, self.sequence.wrapping_sub(1));
        let count = usize::try_from(behind).unwrap_or(0);
        if count <= self.count - self.unsent { count } else { 0 }
    }

    /// Takes off the oldest.
    pub(crate) fn pop(&mut self, ring: &[u8]) -> Option<Entry> {
        let entry = self.entry(ring, 0)?;
        self.head = (self.head + 1) % (ring.len() / ENTRY);
        self.count -= 1;
        self.unsent = self.unsent.min(self.count);
        self.sequence = self.sequence.wrapping_add(1);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn messages_leave_when_they_are_acknowledged() {
        let mut ring = vec![0; ring_len(1)];
        let mut messages = Messages::default();
        messages.begin();
        messages.sequence = 65_534;
        for index in 0..5 {
            assert!(messages.push(&mut ring, MessageKind::Go, index));
        }
        assert_eq!(messages.covered(65_534), 0, "it was never sent");
        for position in 0..4 {
            messages.mark_sent(&mut ring, position, Instant(7));
        }
        assert_eq!((messages.covered(0), messages.covered(2), messages.covered(65_533)), (3, 0, 0));
        for index in 0..3 {
            assert_eq!(messages.pop(&ring).map(|entry| entry.index), Some(index));
        }
        assert_eq!(messages.entry(&ring, 0).map(|e| (e.sequence, e.sent)), Some((1, true)));
        assert_eq!(messages.entry(&ring, 1).map(|e| (e.sequence, e.sent)), Some((2, false)));
        assert_eq!(messages.next_sequence(), 3);
    }

    #[test]
    fn the_ring_is_bounded() {
        let mut ring = vec![0; ring_len(1)];
        let mut messages = Messages::default();
        messages.begin();
        let taken =
            (0..100).filter(|index| messages.push(&mut ring, MessageKind::Ok, *index)).count();
        assert_eq!(taken, 19);
        assert_eq!(ring_len(65_535), MOST * ENTRY);
    }
}
