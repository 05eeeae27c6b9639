//! The sender's file data, between the store and the blocks.

/// Bytes of the current file that are not in a block yet. They are in memory that the sender
/// owns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// Unread bytes: `from..to`.
    from: usize,
    to: usize,
    /// Position in the file of the next byte to ask the store for.
    pub(crate) offset: u64,
    /// Nothing after this position is sent: the length that was announced.
    limit: u64,
    /// End of file reached.
    pub(crate) ended: bool,
}

impl Source {
    /// Starts a file of this announced length.
    pub(crate) fn new(size: Option<u64>) -> Self {
        let limit = size.unwrap_or(u64::MAX);
        Self { from: 0, to: 0, offset: 0, limit, ended: limit == 0 }
    }

    /// Buffered bytes that are in no block.
    pub(crate) fn ready(&self) -> usize {
        self.to - self.from
    }

    /// Room for the store's next bytes, up to the announced length.
    pub(crate) fn lend<'a>(&mut self, memory: &'a mut [u8]) -> &'a mut [u8] {
        if self.from > 0 {
            memory.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        let left = usize::try_from(self.limit - self.offset).unwrap_or(usize::MAX);
        let room = &mut memory[self.to..];
        let len = room.len().min(left);
        &mut room[..len]
    }

    /// The store put `len` bytes into the room; 0 is the end of the file.
    pub(crate) fn filled(&mut self, len: usize, memory_len: usize) {
        let left = usize::try_from(self.limit - self.offset).unwrap_or(usize::MAX);
        let len = len.min(memory_len - self.to).min(left);
        self.to += len;
        self.offset += len as u64;
        self.ended |= len == 0 || self.offset == self.limit;
    }

    /// The file ended before the length that was announced.
    pub(crate) fn fell_short(&self) -> bool {
        self.ended && self.limit != u64::MAX && self.offset < self.limit
    }

    /// Copies up to a block of bytes into it, and fills the rest with `pad`.
    pub(crate) fn take(&mut self, memory: &[u8], block: &mut [u8], pad: u8) -> usize {
        let len = self.ready().min(block.len());
        block[..len].copy_from_slice(&memory[self.from..self.from + len]);
        block[len..].fill(pad);
        self.from += len;
        len
    }
}
