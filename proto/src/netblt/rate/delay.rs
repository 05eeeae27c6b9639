//! Round trips, and the least of them: the path without a queue.

/// The minimum round trip expires after this.
const FORGET_NS: u64 = 10_000_000_000;

/// Statistics of RTTs, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    /// The least of this period and of the one before, and when this one began.
    least: [u64; 2],
    since: u64,
    /// Smoothed, and how much it varies.
    pub(super) smooth: u64,
    pub(super) varies: u64,
}

impl Delay {
    pub(super) const fn new() -> Self {
        Self { least: [u64::MAX; 2], since: 0, smooth: 0, varies: 0 }
    }

    /// A round trip was measured; whether another period begins with it.
    pub(super) fn sample(&mut self, now: u64, rtt: u64) -> bool {
        if self.smooth == 0 {
            self.smooth = rtt;
            self.varies = rtt / 2;
        } else {
            self.varies = (self.varies * 3 + self.smooth.abs_diff(rtt)) / 4;
            self.smooth = (self.smooth * 7 + rtt) / 8;
        }
        let another = now.saturating_sub(self.since) > FORGET_NS.max(8 * self.smooth);
        if another {
            self.least = [u64::MAX, self.least[0]];
            self.since = now;
        }
        self.least[0] = self.least[0].min(rtt);
        another
    }

    /// The least round trip of late.
    pub(super) fn least(&self) -> Option<u64> {
        Some(self.least[0].min(self.least[1])).filter(|least| *least < u64::MAX)
    }

    /// What a round trip is longer than the least one.
    pub(super) fn queue(&self, rtt: u64) -> u64 {
        rtt.saturating_sub(self.least().unwrap_or(rtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_round_trip_is_forgotten_after_two_periods() {
        let mut delay = Delay::new();
        assert_eq!(delay.least(), None);
        delay.sample(FORGET_NS + 1, 30);
        delay.sample(FORGET_NS + 2, 50);
        assert_eq!((delay.least(), delay.queue(70)), (Some(30), 40));
        assert!(delay.sample(2 * FORGET_NS + 2, 60));
        assert_eq!(delay.least(), Some(30));
        assert!(delay.sample(3 * FORGET_NS + 3, 60));
        assert_eq!(delay.least(), Some(60));
    }
}
