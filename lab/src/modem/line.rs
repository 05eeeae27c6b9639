//! The line between two modems: a bit clock that never drifts, and noise that counts its bits.
//!
//! A modem's line is never silent: with LAPM it carries flags when there is nothing else. So an error has a
//! position, at a line bit since the connection began, and hitting an idle flag does no harm.

use crate::random::Random;
use crate::serial::noise::Distance;
use crate::serial::{Burst, Period, Probability};

const SECOND: u128 = 1_000_000_000;
/// Line bits of a character, for bursts whose length or period is given in characters.
const CHARACTER_BITS: u64 = 10;

/// A clock that ticks `rate_bps` times per second, from time 0 on.
#[derive(Clone, Copy, Debug)]
pub(super) struct BitClock {
    rate_bps: u64,
}

impl BitClock {
    pub(super) fn new(rate_bps: u64) -> Self {
        Self { rate_bps }
    }

    /// Bits completed at `now`.
    pub(super) fn bits_at(self, now: u64) -> u64 {
        // Up to 2^64 / 33600 ns = 6 days in one multiplication.
        match now.checked_mul(self.rate_bps) {
            Some(product) => product / 1_000_000_000,
            None => (u128::from(now) * u128::from(self.rate_bps) / SECOND) as u64,
        }
    }

    /// When this many bits are complete, in ns.
    pub(super) fn time_of(self, bits: u64) -> u64 {
        match bits.checked_mul(1_000_000_000) {
            Some(product) => product.div_ceil(self.rate_bps),
            None => (u128::from(bits) * SECOND).div_ceil(u128::from(self.rate_bps)) as u64,
        }
    }
}

/// Errors by bit of the line.
#[derive(Clone, Debug)]
pub(super) struct BitNoise {
    single: Option<Distance>,
    bursts: Option<Bursts>,
}

#[derive(Clone, Debug)]
struct Bursts {
    len: u64,
    period: u64,
    next: u64,
    random: Random,
}

impl BitNoise {
    /// The noise of direction `way` of the modem pair `name`.
    pub(super) fn new(
        (bit_errors, burst): (Probability, Option<Burst>),
        rate_bps: u64,
        seed: u64,
        (name, way): (&str, &str),
    ) -> Self {
        let stream = |purpose: &str| Random::stream(seed, name, &format!("{purpose} {way}"));
        let bursts = burst.map(|Burst { len, every }| {
            let len = len * CHARACTER_BITS;
            let period = match every {
                Period::Bytes(count) => count * CHARACTER_BITS,
                Period::Time(time) => (time.as_nanos() * u128::from(rate_bps) / SECOND) as u64,
            };
            let period = period.max(len + 1);
            let next = stream("burst phase").below(period);
            Bursts { len, period, next, random: stream("burst") }
        });
        Self { single: Distance::new(bit_errors, stream("bit errors")), bursts }
    }

    /// Whether there is any.
    pub(super) fn is_some(&self) -> bool {
        self.single.is_some() || self.bursts.is_some()
    }

    /// No more errors.
    pub(super) fn calm(&mut self) {
        self.single = None;
        self.bursts = None;
    }

    /// The inverted bits from `begin` to before `end`, counted from `begin`. Calls do not go back.
    pub(super) fn hits(&mut self, begin: u64, end: u64) -> Vec<u64> {
        let mut hits = Vec::new();
        if let Some(single) = &mut self.single {
            while let Some(hit) = single.hit(end) {
                if hit >= begin {
                    hits.push(hit - begin);
                }
            }
        }
        if let Some(Bursts { len, period, next, random }) = &mut self.bursts {
            while *next < end {
                let stop = *next + *len;
                // Within a burst a bit is as often wrong as right.
                hits.extend(
                    (begin.max(*next)..end.min(stop))
                        .filter(|_| random.bits() & 1 == 1)
                        .map(|bit| bit - begin),
                );
                if stop > end {
                    break;
                }
                *next += *period;
            }
            hits.sort_unstable();
            hits.dedup();
        }
        hits
    }
}
