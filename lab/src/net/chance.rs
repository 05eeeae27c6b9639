//! Randomness in networks: lost packets, and cross traffic.
//!
//! All of it is integer arithmetic. Logarithms are computed by squaring.

use super::parse::{Shown, chance, time};
use crate::random::Random;
use crate::serial::Probability;
use std::fmt;
use wetstring_proto::Duration;

/// A chance in units of 2^-64.
fn of_2_to_64(probability: Probability) -> u128 {
    let (digits, scale) = probability.decimal();
    (u128::from(digits) << 64) / 10u128.pow(scale)
}

/// A chance in units of 2^-32.
fn of_2_to_32(probability: Probability) -> u64 {
    (of_2_to_64(probability) >> 32) as u64
}

/// Something that happens to a packet with a fixed chance.
#[derive(Clone, Debug)]
pub(crate) struct Coin {
    random: Random,
    chance: u128,
}

impl Coin {
    pub(crate) fn new(probability: Probability, random: Random) -> Self {
        Self { random, chance: of_2_to_64(probability) }
    }

    /// Whether it happens this time. Draws nothing if it never can.
    pub(crate) fn toss(&mut self) -> bool {
        self.chance != 0 && u128::from(self.random.bits()) < self.chance
    }

    /// A number from 0 to `limit`, from the same stream.
    pub(crate) fn upto(&mut self, limit: u64) -> u64 {
        self.random.below(limit.saturating_add(1))
    }

    pub(crate) fn never(&mut self) {
        self.chance = 0;
    }
}

/// Lost packets: independent, or in runs.
///
/// Runs are those of Gilbert's channel: a good state that loses nothing and a bad state that loses
/// everything. With the chance p and the mean run L, bad ends with 1/L and begins with
/// p / (L (1 - p)), so that p of all packets are lost.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    coin: Coin,
    runs: Option<Runs>,
}

#[derive(Clone, Debug)]
struct Runs {
    mean: u64,
    begin: u128,
    bad: bool,
}

impl Loss {
    pub(super) fn new(probability: Probability, run: u64, random: Random) -> Self {
        let p = of_2_to_64(probability);
        let one = 1u128 << 64;
        let runs = (run > 1 && p > 0 && p < one).then(|| {
            let begin = ((p << 32) / (one - p)) << 32;
            Runs { mean: run, begin: begin / u128::from(run), bad: false }
        });
        Self { coin: Coin::new(probability, random), runs }
    }

    /// Whether this packet is lost.
    pub(super) fn hit(&mut self) -> bool {
        let Some(runs) = &mut self.runs else { return self.coin.toss() };
        if runs.bad {
            runs.bad = !self.coin.random.one_in(runs.mean);
        } else {
            runs.bad = u128::from(self.coin.random.bits()) < runs.begin;
        }
        runs.bad
    }

    pub(super) fn never(&mut self) {
        self.coin.never();
        self.runs = None;
    }
}

/// Times in which nothing is handed over: a host that was busy, or a radio that slept. What has come meanwhile is handed over
/// all at once.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    random: Random,
    /// How long one lasts at most, and from one to the next on average, in nanoseconds.
    longest: u64,
    every: u64,
    /// The current one, or the next.
    from: u64,
    until: u64,
    /// When the last one was handed over.
    last: u64,
}

/// The time from one that was held to the next, in nanoseconds: what it takes a host to read it.
const READ: u64 = 2_000;

impl Stalls {
    pub(super) fn new(longest: Duration, every: Duration, random: Random) -> Self {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self { random, longest: ns(longest), every: ns(every), from: 0, until: 0, last: 0 }
    }

    /// When it is handed over what is due at this time. Times do not go back.
    pub(super) fn after(&mut self, due: u64) -> u64 {
        if self.longest == 0 {
            return due;
        }
        while self.until <= due {
            self.from = self.until.saturating_add(exponential(&mut self.random, self.every));
            self.until = self.from.saturating_add(1 + self.random.below(self.longest));
        }
        let due = if self.from <= due { self.until } else { due };
        self.last = due.max(self.last + READ);
        self.last
    }
}

/// -log2 of a random number between 0 and 1, in units of 2^-32.
fn minus_log2(bits: u64) -> u64 {
    let bits = bits.max(1);
    // The whole part is the number of leading zeros; the rest comes bit by bit: squaring doubles a
    // logarithm, and a carry out of the top is the next bit of it.
    let zeros = bits.leading_zeros();
    let mut mantissa = bits << zeros;
    let mut log: u64 = 0;
    for _ in 0..32 {
        let square = u128::from(mantissa) * u128::from(mantissa);
        log <<= 1;
        if square >> 127 == 1 {
            log |= 1;
            mantissa = (square >> 64) as u64;
        } else {
            mantissa = (square >> 63) as u64;
        }
    }
    (u64::from(zeros + 1) << 32).saturating_sub(log)
}

/// A random time with the exponential distribution of this mean.
pub(crate) fn exponential(random: &mut Random, mean_ns: u64) -> u64 {
    /// ln 2 in units of 2^-32.
    const LN2: u128 = 2_977_044_472;
    let log = u128::from(minus_log2(random.bits())) * LN2;
    u64::try_from((log * u128::from(mean_ns)) >> 64).unwrap_or(u64::MAX)
}

/// The share of a medium taken by cross traffic: constant, or redrawn periodically between two limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// The lowest share.
    pub low: Probability,
    /// The highest share.
    pub high: Probability,
    /// How long a share lasts; `None` if it never changes.
    pub every: Option<Duration>,
}

impl Load {
    pub(super) const EXPECTED: &'static str =
        "a share below 100% such as 30%, or 10%-50%@5s (redrawn every 5 s)";

    pub(super) fn read(text: &str) -> Option<Self> {
        let share = |text: &str| {
            let p = chance(text)?;
            (of_2_to_32(p) < 1 << 32).then_some(p)
        };
        let Some((range, period)) = text.split_once('@') else {
            let share = share(text)?;
            return Some(Self { low: share, high: share, every: None });
        };
        let (low, high) = range.split_once('-')?;
        let (low, high) = (share(low)?, share(high)?);
        let every = time(period).filter(|time| *time >= Duration::from_millis(1))?;
        (of_2_to_32(low) <= of_2_to_32(high)).then_some(Self { low, high, every: Some(every) })
    }

    /// Whether there is any.
    pub fn is_some(&self) -> bool {
        self.high != Probability::NEVER
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.every {
            None => write!(f, "{}", Shown(self.low)),
            Some(every) => {
                write!(f, "{}-{}@{}", Shown(self.low), Shown(self.high), Shown(every))
            }
        }
    }
}

/// Lengths of cross traffic packets and how many of 100 have them: acknowledgements and keystrokes, default
/// segments, full frames. An assumption, of the shape that surveys of local and wide area traffic of the
/// nineties have.
const LENGTHS: [(u64, u64); 3] = [(50, 40), (20, 576), (30, 1500)];

/// Cross traffic: packets at exponential intervals.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    gaps: Random,
    lengths: Random,
    levels: Random,
    load: Load,
    rate_bps: u64,
    /// Line bytes of 100 packets.
    hundred_bytes: u64,
    /// Line bytes of a packet of this length.
    wire: fn(u64) -> u64,
    level_ends: u64,
    mean_gap: Option<u64>,
    /// When the next one is due.
    next: u64,
}

impl Traffic {
    /// Traffic that takes this share of a medium of this rate; `wire` converts an IP length into bytes on the
    /// medium.
    pub(super) fn new(
        load: Load,
        rate_bps: u64,
        wire: fn(u64) -> u64,
        streams: (u64, &str, &str),
    ) -> Self {
        let (seed, name, way) = streams;
        let stream = |what: &str| Random::stream(seed, name, &format!("{what} {way}"));
        let mut traffic = Self {
            gaps: stream("load gaps"),
            lengths: stream("load lengths"),
            levels: stream("load levels"),
            load,
            rate_bps,
            hundred_bytes: LENGTHS.iter().map(|(share, len)| share * wire(*len)).sum(),
            wire,
            level_ends: 0,
            mean_gap: None,
            next: u64::MAX,
        };
        if load.is_some() && rate_bps > 0 {
            traffic.draw_next(0);
        }
        traffic
    }

    /// When the next packet arrives; the end of time if none does.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Takes the next packet: its line bytes.
    pub(super) fn take(&mut self) -> u64 {
        let mut draw = self.lengths.below(100);
        let mut len = LENGTHS[0].1;
        for (share, this) in LENGTHS {
            len = this;
            if draw < share {
                break;
            }
            draw -= share;
        }
        self.draw_next(self.next);
        (self.wire)(len)
    }

    fn draw_next(&mut self, mut from: u64) {
        loop {
            if from >= self.level_ends {
                self.draw_level(from);
            }
            if let Some(mean) = self.mean_gap {
                let at = from.saturating_add(exponential(&mut self.gaps, mean));
                if at < self.level_ends {
                    self.next = at;
                    return;
                }
            }
            if self.level_ends == u64::MAX {
                self.next = u64::MAX;
                return;
            }
            // An exponential interval is memoryless: from the next level on, a new one.
            from = self.level_ends;
        }
    }

    fn draw_level(&mut self, from: u64) {
        let (low, high) = (of_2_to_32(self.load.low), of_2_to_32(self.load.high));
        let level = self.levels.between(low, high);
        self.level_ends = match self.load.every {
            None => u64::MAX,
            Some(every) => {
                let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
                from.saturating_add(every)
            }
        };
        let bits = u128::from(self.hundred_bytes) * 8 * 1_000_000_000;
        let per_second = 100 * u128::from(self.rate_bps) * u128::from(level);
        self.mean_gap = (bits << 32).checked_div(per_second).and_then(|gap| gap.try_into().ok());
    }
}

#[cfg(test)]
mod tests {
    use super::{Load, Loss, Traffic, exponential, minus_log2};
    use crate::random::Random;
    use crate::serial::Probability;

    #[test]
    fn the_logarithm_is_right() {
        assert_eq!(minus_log2(1 << 63), 1 << 32);
        assert_eq!(minus_log2(1 << 62), 2 << 32);
        // 3/4: -log2 is 0.415037499...
        let log = minus_log2(3 << 62);
        assert!(log.abs_diff(1_782_572_486) < 4, "{log}");
    }

    #[test]
    fn exponential_times_have_their_mean_and_median() {
        let mut random = Random::stream(3, "test", "gaps");
        let mut times: Vec<u64> =
            (0..100_000).map(|_| exponential(&mut random, 1_000_000)).collect();
        let mean = times.iter().sum::<u64>() / 100_000;
        times.sort_unstable();
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
        let median = times[50_000];
        assert!((683_000..703_000).contains(&median), "{median}");
    }

    #[test]
    fn losses_have_their_share_and_runs_their_length() {
        for run in [1, 8] {
            let p = Probability::new(5, 2).expect("5 %");
            let mut loss = Loss::new(p, run, Random::stream(1, "test", "loss"));
            let hits: Vec<bool> = (0..400_000).map(|_| loss.hit()).collect();
            let all = hits.iter().filter(|hit| **hit).count();
            assert!((19_000..21_000).contains(&all), "run {run}: {all}");
            let begins = hits.windows(2).filter(|pair| !pair[0] && pair[1]).count();
            // A run of independent losses has 1 / (1 - p) on average.
            let expected = if run == 1 { all * 95 / 100 } else { all / 8 };
            assert!(begins.abs_diff(expected) * 20 < expected, "run {run}: {begins}");
        }
    }

    #[test]
    fn traffic_takes_its_share() {
        for (text, share) in [("30%", 300), ("10%-50%@5s", 300), ("90%", 900)] {
            let load = Load::read(text).expect("a load");
            assert_eq!(load.to_string(), text);
            let mut traffic = Traffic::new(load, 10_000_000, |len| len.max(46) + 38, (1, "t", "x"));
            let mut bytes = 0;
            while traffic.next() < 1_000_000_000_000 {
                bytes += traffic.take();
            }
            // Of 10 Mb/s in 1000 s, in thousandths.
            let got = bytes * 8 * 1000 / 10_000_000_000;
            assert!(got.abs_diff(share) * 33 < share, "{text}: {got}");
        }
        assert_eq!(Load::read("100%"), None);
        assert_eq!(Load::read("50%-10%@5s"), None);
    }
}
