//! The receiver's file data, between the blocks and the store.

use super::frame::SUB;
use core::ops::Range;

/// Bytes of the current file that the store has not taken yet. Blocks are read straight to where
/// they end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sink {
    /// Bytes for the store: `from..to`.
    from: usize,
    to: usize,
    /// The last bytes of them, which may turn out to be padding.
    held: usize,
    /// Length of the last write request.
    lent: usize,
    /// Position in the file of `from`.
    offset: u64,
}

impl Sink {
    /// Bytes ready for the store.
    pub(crate) fn pending(&self) -> usize {
        self.to - self.from - self.held
    }

    /// The length of the file so far.
    pub(crate) fn end(&self) -> u64 {
        self.offset + (self.to - self.from) as u64
    }

    /// Whether a block of this length fits, perhaps after moving what is buffered.
    pub(crate) fn has_room(&self, memory_len: usize, want: usize) -> bool {
        let movable = if self.lent == 0 { self.from } else { 0 };
        memory_len - self.to + movable >= want
    }

    /// Where the next block goes. Not to be called while one is being read.
    pub(crate) fn make_room(&mut self, memory: &mut [u8], want: usize) -> bool {
        if !self.has_room(memory.len(), want) {
            return false;
        }
        if memory.len() - self.to < want {
            memory.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        true
    }

    /// The position of the current or next block.
    pub(crate) fn room<'a>(&self, memory: &'a mut [u8]) -> &'a mut [u8] {
        &mut memory[self.to..]
    }

    /// The first `len` bytes of the room belong to the file. `hold` if they may be padding.
    pub(crate) fn push(&mut self, len: usize, hold: bool) {
        self.to += len;
        self.held = if hold { len } else { 0 };
    }

    /// The end of the file: drops trailing padding of the last block; returns how much.
    pub(crate) fn strip(&mut self, memory: &[u8]) -> usize {
        let tail = &memory[self.to - self.held..self.to];
        let padding = tail.iter().rev().take_while(|byte| **byte == SUB).count();
        self.to -= padding;
        self.held = 0;
        padding
    }

    /// The write request: position, and the range of the bytes.
    pub(crate) fn lend(&mut self) -> (u64, Range<usize>) {
        if self.lent == 0 {
            // A request is unchanged until it is answered.
            self.lent = self.pending();
        }
        (self.offset, self.from..self.from + self.lent)
    }

    /// The store has completed the write. `idle` if no block is being read.
    pub(crate) fn taken(&mut self, idle: bool) {
        self.from += self.lent;
        self.offset += self.lent as u64;
        self.lent = 0;
        if idle && self.from == self.to {
            self.from = 0;
            self.to = 0;
        }
    }
}
