//! Traces made from stated parameters: shaped like LTE, 5G and Starlink.
//!
//! They are not measured. A rate goes up and down about its median: its logarithm is redrawn every `step` as
//! `keep` of what it was and the rest chance (an AR(1) process with the standard deviation `spread`), and
//! events take it away. Every millisecond adds what the rate gives; whenever 1504 bytes are there, that is an
//! opportunity. All is whole numbers.
//!
//! | | `lte` | `5g` | `starlink` |
//! |---|---|---|---|
//! | median, down/up, Mbit/s | 20/8 | 150/30 | 100/12 |
//! | spread of log2 | 1 | 1.2 | 0.4 |
//! | `step` | 100 ms | 50 ms | 1 s |
//! | keep | 15/16 | 15/16 | 1/2 |
//! | events | 200 to 600 ms of nothing, every 30 s on average: handover | to an eighth for 100 to 1000 ms, every 8 s: something in the way | 30 to 150 ms of nothing every 15 s and a new median within a factor of 2: another satellite |
//!
//! What they are shaped after: rates that change by the second and outages, Winstein et al., "Stochastic Forecasts",
//! NSDI 2013 §2; blockage of millimetre waves, Narayanan et al., WWW 2020; reconfiguration every 15 s, Tanveer et
//! al., "Making Sense of Constellations", CoNEXT 2023. The numbers of the table are assumptions.

use super::deliveries::{Deliveries, OPPORTUNITY_BYTES};
use crate::random::Random;

/// What a made trace is shaped like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A phone on LTE.
    Lte,
    /// A phone on 5G.
    FiveG,
    /// Starlink with its handovers.
    Starlink,
}

/// How long a made trace is before it is repeated, in ms.
pub const MADE_MS: u32 = 60_000;

/// Something that takes the rate away for a while.
struct Events {
    /// Time from one event to the next in ms, exact or on average.
    every: u64,
    exactly: bool,
    /// How long, in ms.
    low: u64,
    high: u64,
    /// The rate is divided by this; 0: nothing is left.
    by: u64,
}

struct Numbers {
    /// Down and up.
    median_bps: [u64; 2],
    /// In 1024ths of a power of two.
    spread: i64,
    step_ms: u32,
    /// Sixteenths that stay.
    keep: i64,
    events: Events,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Lte, Self::FiveG, Self::Starlink];

    /// Its name in a description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lte => "lte",
            Self::FiveG => "5g",
            Self::Starlink => "starlink",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }

    const fn numbers(self) -> Numbers {
        match self {
            Self::Lte => Numbers {
                median_bps: [20_000_000, 8_000_000],
                spread: 1024,
                step_ms: 100,
                keep: 15,
                events: Events { every: 30_000, exactly: false, low: 200, high: 600, by: 0 },
            },
            Self::FiveG => Numbers {
                median_bps: [150_000_000, 30_000_000],
                spread: 1229,
                step_ms: 50,
                keep: 15,
                events: Events { every: 8_000, exactly: false, low: 100, high: 1000, by: 8 },
            },
            Self::Starlink => Numbers {
                median_bps: [100_000_000, 12_000_000],
                spread: 410,
                step_ms: 1000,
                keep: 8,
                events: Events { every: 15_000, exactly: true, low: 30, high: 150, by: 0 },
            },
        }
    }

    /// A trace of this shape, from the network to the user (`down`) or back.
    pub fn make(self, down: bool, seed: u64) -> Deliveries {
        let way = if down { "down" } else { "up" };
        let stream = |what: &str| Random::stream(seed, self.name(), &format!("{what} {way}"));
        let mut fading = stream("fading");
        // An obstruction affects both directions.
        let mut events = Random::stream(seed, self.name(), "events");
        let numbers = self.numbers();
        let median = numbers.median_bps[usize::from(!down)];
        let mut level = normal(&mut fading) * numbers.spread / 1024;
        let mut offset = 0;
        let (mut begins, mut ends) = (next_event(&numbers.events, 0, &mut events), 0);
        let (mut times, mut bits) = (Vec::new(), 0);
        for ms in 1..=MADE_MS {
            if ms % numbers.step_ms == 0 {
                level = step(level, &numbers, &mut fading);
            }
            if u64::from(ms) >= begins {
                let Events { low, high, exactly, .. } = numbers.events;
                ends = u64::from(ms) + events.between(low, high);
                begins = next_event(&numbers.events, u64::from(ms), &mut events);
                let other = events.between(0, 2048) as i64 - 1024;
                offset = if exactly { other } else { 0 };
            }
            let rate = median.saturating_mul(power(level + offset)) >> 16;
            let rate = if u64::from(ms) < ends {
                rate.checked_div(numbers.events.by).unwrap_or(0)
            } else {
                rate
            };
            // Bits of a thousandth of a second, in thousandths.
            bits += rate;
            while bits >= OPPORTUNITY_BYTES * 8000 {
                bits -= OPPORTUNITY_BYTES * 8000;
                times.push(ms);
            }
        }
        // It is repeated after this long, whatever the last rate was.
        if times.last() != Some(&MADE_MS) {
            times.push(MADE_MS);
        }
        Deliveries::Trace { times, once: false }
    }
}

/// When the next event begins, this one having begun at `ms`.
fn next_event(events: &Events, ms: u64, random: &mut Random) -> u64 {
    if events.exactly {
        return ms + events.every;
    }
    ms + crate::net::chance::exponential(random, events.every).max(1) + events.high
}

/// The next level of the AR(1) process, in 1024ths: its variance stays spread^2.
fn step(level: i64, numbers: &Numbers, random: &mut Random) -> i64 {
    // 1 - keep^2, in 256ths; its root in 4096ths.
    let rest = (256 - numbers.keep * numbers.keep).unsigned_abs();
    let share = (rest << 16).isqrt() as i64;
    level * numbers.keep / 16 + normal(random) * numbers.spread / 1024 * share / 4096
}

/// A random number with the normal distribution of deviation 1, in 1024ths: the sum of twelve even ones.
fn normal(random: &mut Random) -> i64 {
    (0..12).map(|_| random.below(1024) as i64).sum::<i64>() - 6 * 1024 + 6
}

/// Two to the power of this many 1024ths, in 2^-16.
fn power(exponent: i64) -> u64 {
    /// 2^(1/2), 2^(1/4), ... in 2^-32.
    const ROOTS: [u64; 10] = [
        6_074_001_000,
        5_107_605_667,
        4_683_695_048,
        4_485_121_744,
        4_389_014_833,
        4_341_736_423,
        4_318_288_544,
        4_306_612_134,
        4_300_785_774,
        4_297_875_550,
    ];
    let whole = exponent.div_euclid(1024).clamp(-16, 16);
    let part = exponent.rem_euclid(1024);
    let mut value = 1u128 << 32;
    for (bit, root) in ROOTS.iter().enumerate() {
        if (part >> (9 - bit)) & 1 == 1 {
            value = (value * u128::from(*root)) >> 32;
        }
    }
    ((value << (whole + 16)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_right() {
        assert_eq!([0, 1024, -1024].map(power), [65_536, 131_072, 32_768]);
        // 2^0.5 = 1.41421, 2^-0.25 = 0.84090.
        assert_eq!([power(512), power(-256)], [92_681, 55_108]);
    }

    #[test]
    fn a_made_trace_has_the_median_and_the_events_of_its_table() {
        for shape in Shape::ALL {
            for down in [true, false] {
                let median = shape.numbers().median_bps[usize::from(!down)];
                let mut rates: Vec<u64> = Vec::new();
                for seed in 0..12 {
                    let Deliveries::Trace { times, .. } = shape.make(down, seed) else {
                        panic!("a trace")
                    };
                    let mut seconds = vec![0; 60];
                    for ms in &times {
                        seconds[(*ms as usize - 1) / 1000] += 12_032;
                    }
                    rates.extend(&seconds);
                }
                rates.sort_unstable();
                let middle = rates[rates.len() / 2];
                assert!(
                    (median * 6 / 10..median * 16 / 10).contains(&middle),
                    "{shape:?} {middle}"
                );
            }
        }
        // At 15 s another satellite: nothing for 30 ms at least.
        let Deliveries::Trace { times, .. } = Shape::Starlink.make(true, 3) else {
            panic!("a trace")
        };
        assert!(!times.iter().any(|ms| (15_000..15_030).contains(ms)));
        assert_eq!(Shape::Lte.make(true, 1), Shape::Lte.make(true, 1));
        assert_ne!(Shape::Lte.make(true, 1), Shape::Lte.make(true, 2));
    }
}
