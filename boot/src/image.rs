//! The image in the flash, as it arrives.

use crate::machine;

/// Bytes before the program.
pub const HEADER: usize = 16;

/// What has come of it.
#[derive(Default)]
pub struct Image {
    at: usize,
    word: [u8; 4],
}

impl Image {
    /// Begins again.
    pub fn erase(&mut self) {
        *self = Self::default();
        machine::erase();
    }

    /// Bytes that have come.
    pub fn len(&self) -> usize {
        self.at
    }

    /// The next bytes; whether there is room for them.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| self.put(*byte))
    }

    /// Fills the last word.
    pub fn end(&mut self) -> bool {
        while !self.at.is_multiple_of(4) {
            if !self.put(0xFF) {
                return false;
            }
        }
        true
    }

    /// A byte; the flash takes words.
    fn put(&mut self, byte: u8) -> bool {
        if let Some(room) = self.word.get_mut(self.at % 4) {
            *room = byte;
        }
        self.at += 1;
        !self.at.is_multiple_of(4) || machine::program(self.at - 4, u32::from_le_bytes(self.word))
    }

    /// The length of the program, if it is what its sender had.
    pub fn check(&self) -> Option<usize> {
        let word = |at: usize| machine::word(at).unwrap_or(0);
        let len = word(4) as usize;
        if word(0) != u32::from_le_bytes(*b"WSTB") || len > self.at.saturating_sub(HEADER) {
            return None;
        }
        let mut crc = u32::MAX;
        for at in 0..len {
            let place = HEADER + at;
            crc ^= word(place & !3) >> (place % 4 * 8) & 0xFF;
            for _ in 0..8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
            }
        }
        (!crc == word(8)).then_some(len)
    }
}
