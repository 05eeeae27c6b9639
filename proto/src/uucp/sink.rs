//! The receiver's file data, between the packets and the store.

use core::ops::Range;

/// Bytes of the current file that the store has not taken yet: `from..to` of the memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sink {
    from: usize,
    to: usize,
    /// Length of the last write request.
    lent: usize,
    /// Position in the file of `from`.
    offset: u64,
}

impl Sink {
    /// Bytes ready for the store.
    pub(super) fn pending(&self) -> usize {
        self.to - self.from
    }

    /// The length of the file so far.
    pub(super) fn end(&self) -> u64 {
        self.offset + self.pending() as u64
    }

    /// Whether this many bytes fit, perhaps after moving what is buffered.
    pub(super) fn has_room(&self, memory_len: usize, want: usize) -> bool {
        let movable = if self.lent == 0 { self.from } else { 0 };
        memory_len - self.to + movable >= want
    }

    /// Appends bytes, for which there is room.
    pub(super) fn push(&mut self, memory: &mut [u8], bytes: &[u8]) {
        if memory.len() - self.to < bytes.len() {
            memory.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        memory[self.to..self.to + bytes.len()].copy_from_slice(bytes);
        self.to += bytes.len();
    }

    /// The write request: position, and the range of the bytes. It is unchanged until
    /// it is answered.
    pub(super) fn lend(&mut self) -> (u64, Range<usize>) {
        if self.lent == 0 {
            self.lent = self.pending();
        }
        (self.offset, self.from..self.from + self.lent)
    }

    /// The store has completed the write.
    pub(super) fn taken(&mut self) {
        self.from += self.lent;
        self.offset += self.lent as u64;
        self.lent = 0;
        if self.from == self.to {
            self.from = 0;
            self.to = 0;
        }
    }
}
