//! The sender's file data between the store and the subpackets.

/// Bytes of the current file between the store and the subpackets. They are in memory that the
/// sender owns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Source {
    /// Unsent bytes: `from..to`. Those before them were sent and may be needed again: a pipe
    /// gives them only once.
    from: usize,
    to: usize,
    /// Position in the file of the next byte to ask the store for.
    pub(crate) offset: u64,
    /// End of file reached.
    pub(crate) ended: bool,
}

impl Source {
    /// Starts a file at `offset`.
    pub(crate) fn begin(&mut self, offset: u64) {
        *self = Self { offset, ..Self::default() };
    }

    /// Continues at `offset`. What was read from there on is kept.
    pub(crate) fn seek(&mut self, offset: u64) {
        let position = self.position();
        let start = position - self.from as u64;
        if start <= offset && offset <= self.offset {
            self.from = (offset - start) as usize;
        } else {
            self.begin(offset);
        }
    }

    /// Position in the file of the next byte to send.
    pub(crate) fn position(&self) -> u64 {
        self.offset - self.ready() as u64
    }

    /// Buffered bytes that are not yet in a subpacket.
    pub(crate) fn ready(&self) -> usize {
        self.to - self.from
    }

    /// Room for the store's next bytes. Half of the free memory is kept for what was sent last.
    pub(crate) fn lend<'a>(&mut self, memory: &'a mut [u8]) -> &'a mut [u8] {
        let free = memory.len() - self.ready();
        let drop = self.from.saturating_sub(free / 2);
        // Not for a few bytes, or everything would be moved for each of them.
        if drop > 0 && memory.len() - self.to <= free / 4 {
            memory.copy_within(drop..self.to, 0);
            self.to -= drop;
            self.from -= drop;
        }
        &mut memory[self.to..]
    }

    /// The store put `len` bytes into the room; 0 is the end of the file.
    pub(crate) fn filled(&mut self, len: usize, memory_len: usize) {
        let len = len.min(memory_len - self.to);
        self.to += len;
        self.offset += len as u64;
        self.ended |= len == 0;
    }

    /// The next bytes.
    pub(crate) fn bytes<'a>(&self, memory: &'a [u8]) -> &'a [u8] {
        &memory[self.from..self.to]
    }

    /// Bytes of them in a subpacket.
    pub(crate) fn advance(&mut self, len: usize) {
        self.from += len;
    }
}
