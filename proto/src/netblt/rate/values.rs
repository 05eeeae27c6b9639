//! Burst values: a rate as whole packets and whole milliseconds.
//!
//! A burst finds room in short queues only if it is short itself, and few packets in a few
//! milliseconds are a coarse measure. So two neighbouring values take turns where one does not come
//! close: each OK brings the one that brings the mean nearer to the rate.

/// Longest interval that is looked at.
const LONGEST_MS: u64 = 100;
/// Longest burst, unless a millisecond has more.
const LONGEST_BURST: u64 = 16;
/// Alternating bursts have at least this many packets, unless the rate is too low.
const LEAST_TURN: u64 = 4;
/// What is made up for at most: 64 packets.
const MOST_OVER: i64 = 64_000_000_000_000;

/// A pair of burst values: (packets, milliseconds).
type Pair = (u64, u64);

/// Burst values that approximate a rate, by one pair or by two alternating ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Values {
    /// The slower pair.
    less: Pair,
    /// The alternating one; or the same.
    more: Pair,
    /// What was sent more than the rate (or less) up to this time: packets, in parts of 10^12.
    over: i64,
    since: u64,
    now_more: bool,
}

fn millipps((burst, interval_ms): Pair) -> u64 {
    burst * 1_000_000 / interval_ms.max(1)
}

impl Values {
    /// Values whose mean is as near to this rate as the clock allows, and not above it.
    pub(crate) fn new(rate: u64, ceiling: u64) -> Self {
        Self::default().then(rate, ceiling)
    }

    /// Later ones: the rounding error is carried over.
    #[must_use]
    pub(crate) fn then(self, rate: u64, ceiling: u64) -> Self {
        // Shorter bursts measure nothing.
        let shortest = 1;
        let close = |pair: Pair| millipps(pair) + rate / 128 >= rate;
        let alone = (1..=LONGEST_MS)
            .map(|interval| ((rate * interval / 1_000_000).min(0xFFFF), interval))
            .take_while(|(burst, interval)| *burst <= LONGEST_BURST || *interval == 1)
            .find(|pair| pair.0 >= shortest && close(*pair));
        let (less, more) = match alone {
            Some(pair) => (pair, pair),
            None if rate * LONGEST_MS < 1_000_000 => {
                let pair = (1, 1_000_000_u64.div_ceil(rate.max(1)).min(0xFFFF));
                (pair, pair)
            }
            None => {
                let (less, more) = neighbours(rate);
                (less, if millipps(more) <= ceiling { more } else { less })
            }
        };
        Self { less, more, now_more: self.now_more && less != more, ..self }
    }

    /// The pair to use at `now`, in nanoseconds, for this rate.
    pub(crate) fn say(&mut self, now: u64, rate: u64) -> (u16, u16) {
        let time = if self.since == 0 { 0 } else { now.saturating_sub(self.since) };
        let pair = |more: bool| if more { self.more } else { self.less };
        let said = millipps(pair(self.now_more));
        let over = (said as i64 - rate as i64).saturating_mul(time.min(1 << 32) as i64);
        self.over = self.over.saturating_add(over).clamp(-MOST_OVER, MOST_OVER);
        self.since = now;
        self.now_more = self.less != self.more && self.over < 0;
        let (burst, interval_ms) = pair(self.now_more);
        (burst as u16, interval_ms as u16)
    }

    /// Milliseconds from burst to burst, of the longer one.
    pub(crate) fn interval_ms(&self) -> u64 {
        self.less.1.max(self.more.1)
    }

    /// Packets of the shorter burst.
    pub(crate) fn burst(&self) -> u64 {
        self.less.0.min(self.more.0)
    }

    /// The mean rate that these values can have for a request of `rate`.
    pub(crate) fn reached(&self, rate: u64) -> u64 {
        rate.clamp(millipps(self.less), millipps(self.more))
    }
}

/// The pairs next to a rate, below and above it, whose bursts are neither short nor long. The nearer they
/// are to each other, the less does it matter when an OK is lost that should have brought the other.
fn neighbours(rate: u64) -> (Pair, Pair) {
    let first = (LEAST_TURN * 1_000_000).div_ceil(rate).clamp(1, LONGEST_MS);
    let below = |interval: u64| ((rate * interval / 1_000_000).clamp(1, 0xFFFE), interval);
    let (mut less, mut more) = (below(first), below(first));
    more.0 += 1;
    for interval in first + 1..=(2 * first).min(LONGEST_MS) {
        let (burst, interval) = below(interval);
        if burst >= LONGEST_BURST {
            break;
        }
        if millipps((burst, interval)) > millipps(less) {
            less = (burst, interval);
        }
        if millipps((burst + 1, interval)) < millipps(more) {
            more = (burst + 1, interval);
        }
    }
    (less, more)
}

/// The rate of burst values, in thousandths of packets per second.
pub(crate) fn rate_of((burst, interval_ms): (u16, u16)) -> u64 {
    millipps((u64::from(burst), u64::from(interval_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [u64; 9] =
        [1, 120, 900, 4_000, 86_800, 868_000, 8_528_000, 86_800_000, 868_000_000];

    #[test]
    fn the_mean_comes_close_from_below() {
        for rate in RATES {
            let mut values = Values::new(rate, u64::MAX);
            let (mut sent, mut now) = (0, 1);
            for _ in 0..1000 {
                sent += rate_of(values.say(now, rate));
                now += 4_000_000;
            }
            let mean = sent / 1000;
            let coarse = if rate < 40_000 { rate / 4 + 16 } else { 0 };
            assert!(mean <= rate + rate / 500 + 15, "{rate}: {mean} {values:?}");
            assert!(mean + rate / 100 + coarse >= rate, "{rate}: {mean} {values:?}");
        }
    }

    #[test]
    fn bursts_are_short_and_a_ceiling_is_not_crossed() {
        for rate in RATES {
            let (mut values, mut turning) = (Values::new(rate, rate), Values::new(rate, u64::MAX));
            for now in 1..100 {
                assert!(rate_of(values.say(now << 22, rate)) <= rate.max(15));
                let (burst, interval) = turning.say(now << 22, rate);
                assert!(burst <= 16 || interval == 1, "{rate}: {burst} {interval}");
            }
        }
    }
}
