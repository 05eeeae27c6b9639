//! What is on its way to the port: one block that may have to be sent again, or a stream of them.

/// Bytes of the sender's memory: `at..end` is to go; `0..end` stays until it is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    at: usize,
    end: usize,
    /// Bytes of the last block that is complete in the queue, to tell whether one was cut.
    last: usize,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self { at: 0, end: 0, last: 0 }
    }

    pub(super) fn pending(&self) -> usize {
        self.end - self.at
    }

    pub(super) fn lend<'a>(&self, memory: &'a [u8]) -> &'a [u8] {
        &memory[self.at..self.end]
    }

    /// The port took up to `len` bytes; returns how many.
    pub(super) fn took(&mut self, len: usize) -> usize {
        let len = len.min(self.pending());
        self.at += len;
        len
    }

    /// Forgets what is there; the next block goes to the returned position.
    pub(super) fn restart(&mut self) -> usize {
        (self.at, self.end) = (0, 0);
        0
    }

    /// Room behind what is queued, perhaps after moving it.
    pub(super) fn room(&self, memory: &[u8]) -> usize {
        memory.len() - self.pending()
    }

    /// Where the next block of a stream goes; moves what is queued to the front if it must.
    pub(super) fn end(&mut self, memory: &mut [u8]) -> usize {
        if self.at == self.end {
            return self.restart();
        }
        if memory.len() - self.end < 1029 {
            memory.copy_within(self.at..self.end, 0);
            self.end -= self.at;
            self.at = 0;
        }
        self.end
    }

    /// A block of `len` bytes stands at the end.
    pub(super) fn push(&mut self, len: usize) {
        self.end += len;
        self.last = len;
    }

    /// Nothing of what is queued has left.
    pub(super) fn untouched(&self) -> bool {
        self.at == 0
    }

    /// The same again.
    pub(super) fn rewind(&mut self) {
        self.at = 0;
    }

    pub(super) fn clear(&mut self) {
        self.restart();
    }

    /// Whether the port took some of a block and not all of it.
    pub(super) fn cut(&self) -> bool {
        self.pending() > 0 && !self.pending().is_multiple_of(self.last.max(1))
    }
}
