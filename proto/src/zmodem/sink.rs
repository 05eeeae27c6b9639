//! The receiver's file data: from the subpackets to the store.

use core::ops::Range;

/// Bytes of the current file that the store has not taken yet. They are in memory that the
/// receiver owns; the incoming subpacket follows them until it is verified.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sink {
    /// Bytes for the store: `from..to`.
    from: usize,
    to: usize,
    /// Length of the last write request.
    lent: usize,
    /// Position in the stored file of `from`.
    offset: u64,
    /// Line ends become LF.
    text: bool,
    /// A CR that may be the first half of a line end.
    cr: bool,
}

impl Sink {
    /// Starts a file at `offset`.
    pub(crate) fn begin(&mut self, offset: u64, text: bool) {
        *self = Self { offset, text, ..Self::default() };
    }

    /// Bytes queued for the store.
    pub(crate) fn pending(&self) -> usize {
        self.to - self.from
    }

    /// The length of the stored file so far, with what waits for the store.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.pending() as u64
    }

    /// The write request: position, and the range of the bytes.
    pub(crate) fn lend(&mut self) -> (u64, Range<usize>) {
        self.lent = self.pending();
        (self.offset, self.from..self.to)
    }

    /// The store has completed the write. `growing` bytes follow the others.
    pub(crate) fn taken(&mut self, memory: &mut [u8], growing: usize) {
        self.from += self.lent;
        self.offset += self.lent as u64;
        self.lent = 0;
        if self.from == self.to {
            // Before them is room for a CR that waits.
            memory.copy_within(self.to..self.to + usize::from(self.cr) + growing, 0);
            self.from = 0;
            self.to = 0;
        }
    }

    /// Room for `want` bytes after the others, if there is; one more is kept for a CR that waits.
    pub(crate) fn room(&mut self, memory: &mut [u8], want: usize) -> bool {
        if memory.len() - self.to < want && self.from > 0 && self.lent == 0 {
            memory.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        memory.len() - self.to > want
    }

    /// Where the next bytes go.
    pub(crate) fn space<'a>(&self, memory: &'a mut [u8]) -> &'a mut [u8] {
        let from = self.to + usize::from(self.cr);
        &mut memory[from..]
    }

    /// The first `len` bytes of the space are good. Returns how many bytes they yield.
    pub(crate) fn commit(&mut self, memory: &mut [u8], len: usize) -> usize {
        let before = self.to;
        if !self.text {
            self.to += len;
            return len;
        }
        if self.cr {
            memory[self.to] = b'\r';
        }
        let end = self.to + usize::from(self.cr) + len;
        let mut to = self.to;
        for at in self.to..end {
            let byte = memory[at];
            // Only the CR of a line end is removed.
            if byte == b'\n' && to > self.to && memory[to - 1] == b'\r' {
                to -= 1;
            }
            memory[to] = byte;
            to += 1;
        }
        self.cr = to > self.to && memory[to - 1] == b'\r';
        self.to = to - usize::from(self.cr);
        self.to - before
    }

    /// End of file: a pending CR is only a CR. Returns how many bytes that adds.
    pub(crate) fn finish(&mut self, memory: &mut [u8]) -> usize {
        let waited = usize::from(core::mem::take(&mut self.cr));
        if waited == 1 {
            memory[self.to] = b'\r';
            self.to += 1;
        }
        waited
    }
}
