//! The measured RTT.

use crate::time::Duration;

/// RTT estimator: smoothed, variation, and minimum. Only packets sent once are measured, so that
/// an answer is never matched to the wrong copy (Karn's algorithm; RFC 6298 section 3).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rtt {
    smoothed: Option<Duration>,
    variation: Duration,
    shortest: Option<Duration>,
}

impl Rtt {
    /// Adds a sample with weight 1/`weight` (RFC 6298 section 2: 8).
    pub(crate) fn sample(&mut self, rtt: Duration, weight: u32) -> Duration {
        let smoothed = match self.smoothed {
            None => {
                self.variation = rtt / 2;
                rtt
            }
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(rtt)) / 4;
                (smoothed * (weight - 1) + rtt) / weight
            }
        };
        self.smoothed = Some(smoothed);
        self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        smoothed
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Mean deviation from the smoothed round trip.
    pub(crate) fn variation(&self) -> Duration {
        self.variation
    }

    /// The minimum: without queueing.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        self.shortest
    }
}
