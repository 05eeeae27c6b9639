//! Seeded randomness: one stream per (seed, element, purpose).
//!
//! A stream's state is derived from the text `element`, a zero byte and `purpose`, hashed with XXH3 under the
//! seed; the generator is xoshiro256**. Both are fixed permanently: a seed that failed once fails again.
//! Because each purpose has its own stream, a new element or a new kind of noise affects none of the others.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256StarStar);

impl Random {
    /// The stream of this seed, element and purpose.
    pub fn stream(seed: u64, element: &str, purpose: &str) -> Self {
        let mut name = Vec::with_capacity(element.len() + 1 + purpose.len());
        name.extend_from_slice(element.as_bytes());
        name.push(0);
        name.extend_from_slice(purpose.as_bytes());
        let state = xxh3_64_with_seed(&name, seed);
        Self(Xoshiro256StarStar::seed_from_u64(state))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `limit` - 1, each equally likely; 0 if `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 {
            return 0;
        }
        // The high half of a product is uniform once the few low halves that would favour some
        // results are drawn again.
        let reject = limit.wrapping_neg() % limit;
        loop {
            let product = u128::from(self.bits()) * u128::from(limit);
            if product as u64 >= reject {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number from `low` to `high`, inclusive.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True in one of `n` cases on average; never if `n` is 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        n != 0 && self.below(n) == 0
    }

    /// One of these. The list is not empty.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    /// Fills a buffer with random bytes.
    pub fn fill(&mut self, into: &mut [u8]) {
        for chunk in into.chunks_mut(8) {
            chunk.copy_from_slice(&self.bits().to_le_bytes()[..chunk.len()]);
        }
    }
}
