//! How long to wait for an answer.
//!
//! The wait follows the measured round trip (RFC 6298's estimator), only from packets that were
//! sent once, so that an answer is never credited to the wrong copy. It starts from what the line
//! rate makes possible.

use crate::time::Duration;

/// The wait for one answer, learnt from the answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    smoothed: Option<Duration>,
    variation: Duration,
    /// Wait used before anything was measured, and after silence.
    wait: Duration,
    ceiling: Duration,
}

/// The shortest wait: schedulers and terminal drivers pause for as long as this.
const FLOOR: Duration = Duration::from_millis(400);

impl RoundTrip {
    pub(crate) fn new(initial: Duration, ceiling: Duration) -> Self {
        let wait = initial.min(ceiling);
        Self { smoothed: None, variation: Duration::ZERO, wait, ceiling }
    }

    /// A packet sent once was answered after `rtt`.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        let smoothed = match self.smoothed {
            None => {
                self.variation = rtt / 2;
                rtt
            }
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(rtt)) / 4;
                (smoothed * 7 + rtt) / 8
            }
        };
        self.smoothed = Some(smoothed);
        self.wait = (smoothed + self.variation * 4).clamp(FLOOR, self.ceiling.max(smoothed * 2));
    }

    /// The wait ran out: the next one is longer, until something is measured again.
    pub(crate) fn timed_out(&mut self) {
        self.wait = (self.wait * 2).min(self.ceiling.max(self.wait));
    }

    /// How long to wait for an answer from the moment the packet has left.
    pub(crate) fn wait(&self) -> Duration {
        self.wait
    }

    /// A round trip that is certainly not longer than the real one: an answer that comes sooner
    /// after a packet cannot be about that packet. Zero while nothing was measured.
    pub(crate) fn soonest(&self) -> Duration {
        self.smoothed.map_or(Duration::ZERO, |smoothed| {
            (smoothed / 4 * 3).min(smoothed.saturating_sub(self.variation))
        })
    }

    /// The measured round trip, if any.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }
}

/// The time `len` bytes take on a line of this rate; zero if the rate is unknown.
pub(crate) fn line_time(rate_bps: u32, len: usize) -> Duration {
    if rate_bps == 0 {
        return Duration::ZERO;
    }
    // A character is ten bits: start, eight, stop.
    Duration::from_nanos((len as u64).saturating_mul(10_000_000_000) / u64::from(rate_bps))
}
