//! The output queue: one block that may have to be retransmitted, or a stream of them.

use crate::session::Outbox;

/// The queue in the sender's memory; what has left stays in front of it until it is answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    out: Outbox,
    /// Bytes of the last block that is complete in the queue, to detect a truncated one.
    last: usize,
}

impl Queue {
    pub(super) fn pending(&self) -> usize {
        self.out.pending()
    }

    pub(super) fn lend<'a>(&self, memory: &'a [u8]) -> &'a [u8] {
        self.out.lend(memory)
    }

    /// The port took up to `len` bytes; returns how many.
    pub(super) fn took(&mut self, len: usize) -> usize {
        self.out.take(len)
    }

    /// Clears the queue; the next block goes to the returned position.
    pub(super) fn restart(&mut self) -> usize {
        self.out.clear();
        0
    }

    /// Room after what is queued, perhaps after moving it.
    pub(super) fn room(&self, memory: &[u8]) -> usize {
        memory.len() - self.pending()
    }

    /// Where the next block of a stream goes; moves what is queued to the front if it must.
    pub(super) fn end(&mut self, memory: &mut [u8]) -> usize {
        self.out.reuse();
        if self.out.room_len(memory) < 1029 {
            self.out.move_to_front(memory, 0);
        }
        memory.len() - self.out.room_len(memory)
    }

    /// A block of `len` bytes is at the end.
    pub(super) fn push(&mut self, len: usize) {
        self.out.push(len);
        self.last = len;
    }

    /// Nothing queued has left.
    pub(super) fn untouched(&self) -> bool {
        self.out.is_untouched()
    }

    /// Queues the same again.
    pub(super) fn rewind(&mut self) {
        self.out.rewind();
    }

    pub(super) fn clear(&mut self) {
        self.restart();
    }

    /// Whether the port took some of a block and not all of it.
    pub(super) fn cut(&self) -> bool {
        self.pending() > 0 && !self.pending().is_multiple_of(self.last.max(1))
    }
}
