//! The Internet checksum: the complement of the ones-complement sum of 16-bit words.

/// The sum so far, of any number of slices of even length and one last of any length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds these bytes as big endian words; an odd last byte is padded with a zero.
    #[must_use]
    pub fn with(mut self, bytes: &[u8]) -> Self {
        // Four bytes at a time: the carries are folded at the end, which ones-complement allows.
        let mut fours = bytes.chunks_exact(4);
        for four in &mut fours {
            self.0 += u64::from(u32::from_be_bytes([four[0], four[1], four[2], four[3]]));
        }
        let mut last = [0; 4];
        last[..fours.remainder().len()].copy_from_slice(fours.remainder());
        self.0 += u64::from(u32::from_be_bytes(last));
        self
    }

    /// The sum folded to 16 bits. Over bytes that contain their own checksum it is FFFF.
    pub fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum as u16
    }

    /// The checksum: the complement.
    pub fn checksum(self) -> u16 {
        !self.folded()
    }
}

/// The checksum of these bytes.
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::default().with(bytes).checksum()
}

/// Whether bytes that contain their own checksum are intact.
pub fn is_sound(bytes: &[u8]) -> bool {
    Sum::default().with(bytes).folded() == 0xFFFF
}
