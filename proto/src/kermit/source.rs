//! The sender's file data between the store and the encoder.

use super::encode::{Coding, Encoder};

/// Look-ahead of the encoder in source bytes, for runs and locking shifts.
pub(crate) const LOOK_AHEAD: usize = 256;

/// Bytes of the current file between the store and the packets. They are in memory that the
/// sender owns.
#[derive(Debug)]
pub(crate) struct Source {
    encoder: Encoder,
    /// Unread bytes: `from..to`.
    from: usize,
    to: usize,
    /// Position in the file of the next byte to ask the store for.
    pub(crate) offset: u64,
    /// The store has no more.
    pub(crate) ended: bool,
    /// The length that was announced: a file that grows meanwhile is sent as it was.
    announced: Option<u64>,
}

impl Source {
    pub(crate) fn new(coding: &Coding) -> Self {
        let encoder = Encoder::new(coding);
        Self { encoder, from: 0, to: 0, offset: 0, ended: false, announced: None }
    }

    /// A file begins at `offset`.
    pub(crate) fn begin(&mut self, coding: &Coding, offset: u64, announced: Option<u64>) {
        *self = Self::new(coding);
        self.offset = offset;
        self.announced = announced;
        self.ended = announced == Some(offset);
    }

    /// Buffered bytes that are not yet in a packet.
    pub(crate) fn ready(&self) -> usize {
        self.to - self.from
    }

    /// More must be read before the encoder can continue.
    pub(crate) fn starved(&self) -> bool {
        self.ready() < LOOK_AHEAD && !self.ended
    }

    /// Every byte is in a packet.
    pub(crate) fn exhausted(&self) -> bool {
        self.ended && self.from == self.to
    }

    /// Room for the store's next bytes.
    pub(crate) fn lend<'a>(&mut self, memory: &'a mut [u8]) -> &'a mut [u8] {
        if self.from > 0 {
            memory.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        &mut memory[self.to..]
    }

    /// The store put `len` bytes into the room; 0 is the end of the file.
    pub(crate) fn filled(&mut self, len: usize, memory_len: usize) {
        let len = len.min(memory_len - self.to);
        let left = self.announced.map_or(u64::MAX, |announced| announced - self.offset);
        let used = usize::try_from(left).map_or(len, |left| len.min(left));
        self.to += used;
        self.offset += used as u64;
        self.ended |= len == 0 || self.announced == Some(self.offset);
    }

    /// Bytes that are not in a packet, as they are in the file.
    pub(crate) fn raw<'a>(&self, memory: &'a [u8]) -> &'a [u8] {
        &memory[self.from..self.to]
    }

    /// This number of them is in a packet.
    pub(crate) fn consume(&mut self, len: usize) {
        self.from = (self.from + len).min(self.to);
    }

    /// The position in the file of the next byte that is to go into a packet.
    pub(crate) fn position(&self) -> u64 {
        self.offset - self.ready() as u64
    }

    /// Encodes bytes that are not the file's; returns how many were used and made.
    pub(crate) fn encode_other(&mut self, bytes: &[u8], data: &mut [u8]) -> (usize, usize) {
        self.encoder.encode(bytes, true, data)
    }

    /// Encodes into `data` until it is full or nothing is ready. Returns source bytes used and data
    /// bytes made.
    pub(crate) fn encode(&mut self, memory: &[u8], data: &mut [u8]) -> (usize, usize) {
        let (mut used, mut made) = (0, 0);
        while !self.starved() {
            let source = &memory[self.from..self.to];
            let (u, m) = self.encoder.encode(source, self.ended, &mut data[made..]);
            self.from += u;
            used += u;
            made += m;
            if u == 0 {
                break;
            }
        }
        (used, made)
    }
}
