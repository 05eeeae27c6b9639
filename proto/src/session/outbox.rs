//! Bytes on their way to the port.

use super::trace_lines::OutputTrace;
use crate::engine::Cx;
use crate::time::{Duration, Instant};
use core::ops::Range;

/// A queue of bytes in memory that its owner passes in at each call: `start..end` is lent to the port, and is
/// removed only when the port has taken it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outbox {
    /// No memory of an engine is longer than 4 GiB, and an XMODEM sender has to be small.
    start: u32,
    end: u32,
    /// Bytes that the port has taken since the beginning.
    pub(crate) taken: u64,
}

impl Outbox {
    pub(crate) fn pending(&self) -> usize {
        (self.end - self.start) as usize
    }

    fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Stream position after all queued bytes.
    pub(crate) fn position(&self) -> u64 {
        self.taken + self.pending() as u64
    }

    pub(crate) fn lend<'a>(&self, memory: &'a [u8]) -> &'a [u8] {
        &memory[self.range()]
    }

    /// The port took `len` bytes. Returns how many were really queued.
    pub(crate) fn take(&mut self, len: usize) -> usize {
        let len = len.min(self.pending());
        self.start += len as u32;
        self.taken += len as u64;
        len
    }

    /// The free room after the queued bytes.
    pub(crate) fn room<'a>(&self, memory: &'a mut [u8]) -> &'a mut [u8] {
        &mut memory[self.end as usize..]
    }

    /// Its length.
    pub(crate) fn room_len(&self, memory: &[u8]) -> usize {
        memory.len() - self.end as usize
    }

    /// Moves the queued bytes to the front of the memory, with the first `keep` bytes of the room.
    pub(crate) fn move_to_front(&mut self, memory: &mut [u8], keep: usize) {
        if self.start > 0 {
            let Range { start, end } = self.range();
            memory.copy_within(start..end + keep, 0);
            self.end -= self.start;
            self.start = 0;
        }
    }

    /// Starts at the front again if the queue is empty.
    pub(crate) fn reuse(&mut self) {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// The first `len` bytes of the room are queued now.
    pub(crate) fn push(&mut self, len: usize) {
        self.end += len as u32;
    }

    /// Copies bytes into the room; false, and nothing queued, if they do not fit.
    pub(crate) fn put(&mut self, memory: &mut [u8], bytes: &[u8]) -> bool {
        let room = self.room(memory).get_mut(..bytes.len());
        let fits = room.map(|room| room.copy_from_slice(bytes)).is_some();
        if fits {
            self.push(bytes.len());
        }
        fits
    }

    /// Drops all after the first `keep` bytes of the queue.
    pub(crate) fn truncate(&mut self, keep: usize) {
        self.end = self.start + keep as u32;
    }

    /// Drops everything; returns how much that was.
    pub(crate) fn clear(&mut self) -> usize {
        let dropped = self.pending();
        self.start = 0;
        self.end = 0;
        dropped
    }

    /// Lends all from the front of the memory again.
    pub(crate) fn rewind(&mut self) {
        self.start = 0;
    }

    /// Nothing in the memory has left.
    pub(crate) fn is_untouched(&self) -> bool {
        self.start == 0
    }
}

/// What is known of the port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Port {
    /// When it last took bytes, or first had bytes to take.
    pub(crate) moved: Instant,
    output: OutputTrace,
}

impl Port {
    /// Bytes are about to be queued after `pending`: the stall time of an idle port starts now.
    pub(crate) fn given(&mut self, now: Instant, pending: usize) {
        if pending == 0 {
            self.moved = self.moved.max(now);
        }
    }

    /// When a port that has stalled for `patience` is given up.
    pub(crate) fn stalled_at(&self, pending: usize, patience: Duration) -> Option<Instant> {
        (pending > 0).then(|| self.moved + patience)
    }

    /// The stall timeout for the last packets.
    pub(crate) fn last_packets_until(&self) -> Instant {
        self.moved + Duration::from_secs(1)
    }

    /// The last packets have left, or never will.
    pub(crate) fn last_packets_are_out(&self, now: Instant, pending: usize) -> bool {
        pending == 0 || now >= self.last_packets_until()
    }

    /// The port took bytes, `total` since the start; `pending` more are queued.
    pub(crate) fn took(&mut self, cx: &mut Cx<'_>, total: u64, pending: usize) {
        self.moved = cx.now;
        self.output = self.output.note(cx, total, pending);
    }
}
