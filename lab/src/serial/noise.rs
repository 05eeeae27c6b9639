//! Faults of a noisy line.
//!
//! Every fault is a distance to the next one, counted in line bits or in characters, from the direction's own
//! random streams. So the same characters are hit whatever the writes were.

use super::model::{Burst, LineModel, Period, Probability};
use crate::random::Random;

/// Distances with a geometric distribution: how many trials fail before one succeeds.
///
/// The binary digits of such a distance are independent of each other: digit k is a one with
/// probability q^(2^k) / (1 + q^(2^k)), where q is the chance of a failure. So a distance is drawn
/// digit by digit from integer thresholds, and no logarithm decides anything.
#[derive(Clone, Debug)]
pub(crate) struct Distance {
    random: Random,
    thresholds: Vec<u64>,
    /// Index of the trial that succeeds next.
    next: u64,
}

impl Distance {
    pub(crate) fn new(probability: Probability, random: Random) -> Option<Self> {
        let chance = probability.of_2_to_64();
        if chance == 0 {
            return None;
        }
        let mut thresholds = Vec::new();
        let mut q = (1u128 << 64).saturating_sub(chance);
        while q > 0 && thresholds.len() < 62 {
            thresholds.push(((q << 64) / ((1 << 64) + q)) as u64);
            q = (q * q) >> 64;
        }
        let mut distance = Self { random, thresholds, next: 0 };
        distance.next = distance.draw();
        Some(distance)
    }

    fn draw(&mut self) -> u64 {
        let mut distance = 0;
        for (digit, threshold) in self.thresholds.iter().enumerate() {
            if self.random.bits() < *threshold {
                distance |= 1 << digit;
            }
        }
        distance
    }

    /// The next trial that succeeds, if it comes before `end`.
    pub(crate) fn hit(&mut self, end: u64) -> Option<u64> {
        let hit = self.next;
        if hit >= end {
            return None;
        }
        self.next = hit.saturating_add(1).saturating_add(self.draw());
        Some(hit)
    }
}

/// Bursts: this many characters in a row, periodically.
#[derive(Clone, Debug)]
struct Bursts {
    len: u64,
    /// From one to the next, in ns or in characters.
    period: u64,
    /// Where the first one begins, in the same unit.
    phase: u64,
    /// A character is `numerator / denominator` of that unit.
    char_unit: (u64, u64),
    /// How many have begun before the one that is next or under way.
    index: u64,
    random: Random,
}

impl Bursts {
    fn new(model: &LineModel, rate_bps: u64, name: &str, way: &str) -> Option<Self> {
        let Burst { len, every } = model.burst?;
        let (period, char_unit) = match every {
            Period::Time(time) if rate_bps > 0 => (
                u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
                (u64::from(model.bits) * 1_000_000_000, rate_bps),
            ),
            // Without a rate no time passes on the line: there is no noise to meet.
            Period::Time(_) => return None,
            Period::Bytes(count) => (count, (1, 1)),
        };
        if len == 0 || period == 0 {
            return None;
        }
        // One burst ends before the next begins.
        let shortest = (u128::from(len) + 1) * u128::from(char_unit.0) / u128::from(char_unit.1);
        let period = period.max(u64::try_from(shortest).unwrap_or(u64::MAX));
        let phase = Random::stream(model.seed, name, &format!("burst phase {way}")).below(period);
        let random = Random::stream(model.seed, name, &format!("burst {way}"));
        Some(Self { len, period, phase, char_unit, index: 0, random })
    }

    /// The first character of the burst that is next or under way.
    fn start(&self) -> u64 {
        let at = u128::from(self.phase) + u128::from(self.index) * u128::from(self.period);
        let (numerator, denominator) = self.char_unit;
        let start = (at * u128::from(denominator)).div_ceil(u128::from(numerator));
        u64::try_from(start).unwrap_or(u64::MAX)
    }

    /// Damages those of the characters from index `first` on that lie in a burst.
    fn apply(&mut self, first: u64, bytes: &mut [u8], width: u8, mut hit: impl FnMut(u64)) {
        let end = first + bytes.len() as u64;
        loop {
            let start = self.start();
            let stop = start.saturating_add(self.len);
            for index in start.max(first)..stop.min(end) {
                // Never zero: a burst of 8 damages 8.
                let flip = 1 + self.random.below(u64::from(width)) as u8;
                bytes[(index - first) as usize] ^= flip;
                hit(index);
            }
            if stop > end || start == u64::MAX {
                return;
            }
            self.index += 1;
        }
    }
}

/// What happened to a character, for the trace and the statistics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    BitError,
    Burst,
    Drop,
    Duplicate,
}

/// The faults of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Noise {
    bits: Option<Distance>,
    bursts: Option<Bursts>,
    drop: Option<Distance>,
    duplicate: Option<Distance>,
    char_bits: u64,
    data_bits: u64,
    /// The highest value a character can have on the line.
    width: u8,
}

impl Noise {
    /// The faults of the line `name`, direction `way` (`fwd` or `rev`).
    pub(crate) fn new(model: &LineModel, rate_bps: u64, name: &str, way: &str) -> Self {
        let distance = |probability, purpose: &str| {
            let purpose = format!("{purpose} {way}");
            Distance::new(probability, Random::stream(model.seed, name, &purpose))
        };
        Self {
            bits: distance(model.bit_errors, "bit errors"),
            bursts: Bursts::new(model, rate_bps, name, way),
            drop: distance(model.drop, "drop"),
            duplicate: distance(model.duplicate, "duplicate"),
            char_bits: u64::from(model.bits),
            data_bits: u64::from(model.bits).saturating_sub(2).min(8),
            width: if model.shows_bit_8() { 0xff } else { 0x7f },
        }
    }

    /// No faults.
    pub(crate) fn none() -> Self {
        Self {
            bits: None,
            bursts: None,
            drop: None,
            duplicate: None,
            char_bits: 10,
            data_bits: 8,
            width: 0xff,
        }
    }

    /// Whether there is any fault at all.
    pub(crate) fn is_some(&self) -> bool {
        self.bits.is_some()
            || self.bursts.is_some()
            || self.drop.is_some()
            || self.duplicate.is_some()
    }

    /// Applies the faults to the characters from index `first` on; `mark` is told what happened
    /// to which, in the order of their indices for each kind of fault.
    pub(crate) fn apply(&mut self, first: u64, bytes: &mut [u8], mut mark: impl FnMut(u64, Fate)) {
        let end = first + bytes.len() as u64;
        if let Some(bits) = &mut self.bits {
            while let Some(hit) = bits.hit(end.saturating_mul(self.char_bits)) {
                let index = hit / self.char_bits;
                let byte = &mut bytes[(index - first) as usize];
                match hit % self.char_bits {
                    // A start or stop bit: a framing error, which a terminal driver hands over as
                    // a zero [termios(3), without IGNPAR and PARMRK].
                    0 => *byte = 0,
                    bit if bit <= self.data_bits => *byte ^= 1 << (bit - 1),
                    _ => *byte = 0,
                }
                mark(index, Fate::BitError);
            }
        }
        if let Some(bursts) = &mut self.bursts {
            bursts.apply(first, bytes, self.width, |index| mark(index, Fate::Burst));
        }
        if let Some(drop) = &mut self.drop {
            while let Some(index) = drop.hit(end) {
                mark(index, Fate::Drop);
            }
        }
        if let Some(duplicate) = &mut self.duplicate {
            while let Some(index) = duplicate.hit(end) {
                mark(index, Fate::Duplicate);
            }
        }
    }
}
