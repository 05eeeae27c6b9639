//! Numbers that are the same at every run.

/// `SplitMix64`: the choices of a test.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "dice never end")]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below `sides`.
    pub const fn roll(&mut self, sides: usize) -> usize {
        (self.next() % sides as u64) as usize
    }

    /// From 0 to below `sides`.
    pub const fn below(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }

    /// From `low` to below `high`; `low` if there is nothing between them.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        if high > low { low + self.below(high - low) } else { low }
    }

    /// One of these.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }

    /// One time in `n`.
    pub const fn one_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }

    /// Any byte.
    pub const fn byte(&mut self) -> u8 {
        self.roll(256) as u8
    }

    /// Bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.byte()).collect()
    }

    /// Any order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.roll(at + 1));
        }
    }
}

/// `xorshift64*`: the files of transfer tests and the inputs of fuzz tests, whose bytes depend on it.
#[derive(Clone, Debug)]
pub struct Star(pub u64);

impl Star {
    /// The next number; never with a state of 0.
    #[allow(clippy::should_implement_trait, reason = "numbers never end")]
    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds of tests stand in messages and notes: the numbers of a seed must stay.
    #[test]
    fn the_numbers_of_a_seed_are_those_of_the_published_generators() {
        // The first outputs of SplitMix64 with seed 0, and of xorshift64* with seed 1.
        let mut dice = Dice(0);
        assert_eq!([dice.next(), dice.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        let mut star = Star(1);
        assert_eq!([star.next(), star.next()], [0x47e4_ce4b_896c_dd1d, 0xabcf_a6a8_e079_651d]);
    }

    #[test]
    fn shuffling_keeps_everything() {
        let mut items: Vec<u32> = (0..100).collect();
        Dice(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
