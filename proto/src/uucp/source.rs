//! The sender's file data, between the store and the packets.

/// Bytes of the current file that are in no packet yet: `from..to` of the memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Source {
    from: usize,
    to: usize,
    /// Position in the file of `to`.
    pub(super) offset: u64,
    /// The length that was announced.
    size: Option<u64>,
    /// End of file reached.
    pub(super) ended: bool,
}

impl Source {
    /// Starts a file of this announced length.
    pub(super) fn new(size: Option<u64>) -> Self {
        Self { size, ended: size == Some(0), ..Self::default() }
    }

    /// Buffered bytes that are in no packet.
    pub(super) fn ready(&self) -> usize {
        self.to - self.from
    }

    fn left(&self) -> usize {
        let left = self.size.unwrap_or(u64::MAX) - self.offset;
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Room for the store's next bytes, up to the announced length.
    pub(super) fn lend<'a>(&mut self, memory: &'a mut [u8]) -> &'a mut [u8] {
        if self.from > 0 {
            memory.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        let room = &mut memory[self.to..];
        let len = room.len().min(self.left());
        &mut room[..len]
    }

    /// The store put `len` bytes into the room; 0 is the end of the file.
    pub(super) fn filled(&mut self, len: usize, memory_len: usize) {
        let len = len.min(memory_len - self.to).min(self.left());
        self.to += len;
        self.offset += len as u64;
        self.ended |= len == 0 || self.left() == 0;
    }

    /// The file ended before the length that was announced.
    pub(super) fn fell_short(&self) -> bool {
        self.ended && self.size.is_some_and(|size| self.offset < size)
    }

    /// Copies the next bytes to `into`, which is at most as long as what is ready.
    pub(super) fn take(&mut self, memory: &[u8], into: &mut [u8]) {
        into.copy_from_slice(&memory[self.from..self.from + into.len()]);
        self.from += into.len();
    }
}
