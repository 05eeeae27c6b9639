//! How many packets may leave at once: from two on, doubled while no more is lost.
//!
//! A burst is what the finest timer needs at the rate: one packet below some ten megabits per second. A queue may be
//! too short even for that: then the bursts that it takes are as long as they can be.

/// Packets that leave at once are those of this time, in nanoseconds.
const TIMER: u64 = 200_000;
/// Longest burst.
const LONGEST: u16 = 64;
/// Decisions until a burst that was too long is tried again.
const LATER: u8 = 250;

/// Packets per burst that the path tolerates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    /// Known to be tolerated, or being tried.
    burst: u16,
    /// Tried since the last decision.
    trying: bool,
    /// Decisions until more is tried.
    wait: u8,
}

impl Tolerance {
    pub(super) const fn new() -> Self {
        Self { burst: 2, trying: false, wait: 0 }
    }

    /// What leaves at once at this rate, in thousandths of packets per second.
    pub(super) fn burst(self, rate: u64) -> u16 {
        self.burst.min(Self::wanted(rate))
    }

    fn wanted(rate: u64) -> u16 {
        let packets = u128::from(rate) * u128::from(TIMER) / 1_000_000_000_000;
        packets.clamp(1, u128::from(LONGEST)) as u16
    }

    /// Packets arrived that were sent at this rate in bursts as they are; `lost` if more of them are
    /// missing than usual. Whether that is what bursts did that are tried.
    pub(super) fn judge(&mut self, rate: u64, lost: bool) -> bool {
        if core::mem::take(&mut self.trying) && lost {
            self.burst = (self.burst / 2).max(2);
            self.wait = LATER;
            return true;
        }
        self.wait = self.wait.saturating_sub(1);
        if !lost && self.wait == 0 && self.burst < Self::wanted(rate) {
            self.burst = (self.burst * 2).min(LONGEST);
            self.trying = true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_grow_from_two_to_what_the_timer_needs() {
        let mut tolerance = Tolerance::new();
        assert_eq!(tolerance.burst(830_000), 1, "10 Mbit/s");
        let grown: [u16; 5] = core::array::from_fn(|_| {
            let burst = tolerance.burst(83_000_000);
            tolerance.judge(83_000_000, false);
            burst
        });
        assert_eq!(grown, [2, 4, 8, 16, 16]);
    }

    #[test]
    fn burst_length_is_halved_on_excess_loss_and_retried_later() {
        let mut tolerance = Tolerance::new();
        tolerance.judge(83_000_000, false);
        tolerance.judge(83_000_000, false);
        assert_eq!(tolerance.burst(83_000_000), 8);
        assert!(tolerance.judge(83_000_000, true));
        for _ in 1..LATER {
            tolerance.judge(83_000_000, false);
            assert_eq!(tolerance.burst(83_000_000), 4);
        }
        tolerance.judge(83_000_000, false);
        assert_eq!(tolerance.burst(83_000_000), 8);
    }
}
