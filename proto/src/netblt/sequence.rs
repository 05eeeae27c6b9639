//! Sequence numbers of control messages: 16 bits, modulo 65536 (docs/decisions/050).

use super::bits;

/// Bytes of the set of numbers that came ahead of their turn.
pub(crate) const SEEN_LEN: usize = 65_536 / 8;

/// Numbers that may be in flight. All others are old: copies of what was acknowledged may come that much
/// later that more than half of the numbers have been used meanwhile.
pub(crate) const AHEAD: u16 = 28_000;

/// How far `a` is ahead of `b`; negative if it is behind.
pub(crate) fn ahead(a: u16, b: u16) -> i16 {
    a.wrapping_sub(b).cast_signed()
}

/// Which control messages have come. Those ahead of their turn are kept in a set of
/// [`SEEN_LEN`] bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceivedNumbers {
    /// All up to here have come.
    pub(crate) high: u16,
}

impl ReceivedNumbers {
    /// A connection begins.
    pub(crate) fn begin(&mut self, set: &mut [u8]) {
        set.fill(0);
        self.high = 0;
    }

    /// This one came; true if for the first time.
    pub(crate) fn came(&mut self, set: &mut [u8], sequence: u16) -> bool {
        let is_ahead = (1..=AHEAD).contains(&sequence.wrapping_sub(self.high));
        if !is_ahead || !bits::put(set, usize::from(sequence)) {
            return false;
        }
        while bits::has(set, usize::from(self.high.wrapping_add(1))) {
            self.high = self.high.wrapping_add(1);
            bits::take(set, usize::from(self.high));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_move_on_without_gaps_and_wrap_around() {
        let mut set = [0; SEEN_LEN];
        let mut seen = ReceivedNumbers { high: 65_533 };
        assert!(seen.came(&mut set, 65_535));
        assert!(seen.came(&mut set, 1));
        assert_eq!(seen.high, 65_533);
        assert!(seen.came(&mut set, 65_534));
        assert_eq!(seen.high, 65_535);
        assert!(seen.came(&mut set, 0));
        assert_eq!(seen.high, 1);
        assert!(!seen.came(&mut set, 1) && !seen.came(&mut set, 65_534));
        // An old copy is none that has yet to come, however late it is.
        assert!(seen.came(&mut set, 1 + AHEAD));
        assert!(!seen.came(&mut set, 2 + AHEAD) && !seen.came(&mut set, 1 + 0x8000));
    }
}
