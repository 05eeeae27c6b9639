//! The receiver's file data: from the packets, through the decoder, to the store.

use super::decode::Decoder;
use super::encode::Shift;
use core::ops::Range;

/// Decoded bytes of the current file that the store has not taken yet. They are in memory that
/// the receiver owns.
#[derive(Debug)]
pub(crate) struct Sink {
    decoder: Decoder,
    /// Bytes for the store: `from..to`.
    from: usize,
    to: usize,
    /// How many of them the store was last shown.
    lent: usize,
    /// Position in the file of `from`.
    offset: u64,
}

/// An element decodes to at most this many bytes (94 line ends, and a CR that waited).
const ELEMENT: usize = 190;

impl Sink {
    pub(crate) fn new() -> Self {
        let decoder = Decoder::new(b'#', None, None, Shift::Off, false);
        Self { decoder, from: 0, to: 0, lent: 0, offset: 0 }
    }

    /// A file begins at `offset`, its data decoded by `decoder`.
    pub(crate) fn begin(&mut self, decoder: Decoder, offset: u64) {
        *self = Self { decoder, from: 0, to: 0, lent: 0, offset };
    }

    /// Bytes that wait for the store.
    pub(crate) fn pending(&self) -> usize {
        self.to - self.from
    }

    /// The length of the file so far, including unwritten bytes.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.pending() as u64
    }

    /// The write request: position, and the range of the bytes. The same until they are written,
    /// regardless of what is decoded meanwhile.
    pub(crate) fn lend(&mut self) -> (u64, Range<usize>) {
        if self.lent == 0 {
            self.lent = self.pending();
        }
        (self.offset, self.from..self.from + self.lent)
    }

    /// The store has completed the write.
    pub(crate) fn taken(&mut self) {
        self.from += self.lent;
        self.offset += self.lent as u64;
        self.lent = 0;
        if self.from == self.to {
            self.from = 0;
            self.to = 0;
        }
    }

    /// The file has bytes up to `offset` that did not come: nothing waits for the store.
    pub(crate) fn skip(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Takes bytes that are decoded already: `put` gets them and the room, and returns how many were used and made.
    pub(crate) fn take(
        &mut self,
        memory: &mut [u8],
        data: &[u8],
        put: impl FnOnce(&[u8], &mut [u8]) -> (usize, usize),
    ) -> (usize, usize) {
        self.make_room(memory);
        let (used, made) = put(data, &mut memory[self.to..]);
        self.to += made;
        (used, made)
    }

    /// Room for bytes that are not decoded here.
    pub(crate) fn room<'a>(&mut self, memory: &'a mut [u8]) -> &'a mut [u8] {
        self.make_room(memory);
        &mut memory[self.to..]
    }

    /// This number of bytes was put into the room.
    pub(crate) fn made(&mut self, len: usize) {
        self.to += len;
    }

    fn make_room(&mut self, memory: &mut [u8]) {
        if memory.len() - self.to < ELEMENT && self.from > 0 && self.lent == 0 {
            memory.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
    }

    /// Decodes as much of `data` as there is room for; returns how much was used and how many file
    /// bytes came of it.
    pub(crate) fn decode(&mut self, memory: &mut [u8], data: &[u8]) -> (usize, usize) {
        self.make_room(memory);
        let (used, made) = self.decoder.decode(data, &mut memory[self.to..]);
        self.to += made;
        (used, made)
    }

    /// End of file: writes what the decoder still holds, and returns its length.
    pub(crate) fn finish(&mut self, memory: &mut [u8]) -> usize {
        let made = self.decoder.finish(&mut memory[self.to..]);
        self.to += made;
        made
    }
}
