//! How long to wait for an answer: from the measured round trip, within bounds.

use crate::session::Rtt;
use crate::time::Duration;

/// The timeout for an answer, learned from earlier answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    rtt: Rtt,
    wait: Duration,
    first: Duration,
    ceiling: Duration,
}

/// The shortest timeout: peers pause to write to disks.
const FLOOR: Duration = Duration::from_secs(1);

impl RoundTrip {
    /// `first` is the timeout before the first measurement.
    pub(crate) fn new(first: Duration, ceiling: Duration) -> Self {
        let first = first.min(ceiling);
        Self { rtt: Rtt::default(), wait: first, first, ceiling }
    }

    /// A query that was sent once was answered after `rtt`.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.rtt.sample(rtt, 4);
        self.answered();
    }

    /// An answer: the timeout follows the measurements again.
    pub(crate) fn answered(&mut self) {
        self.wait = match self.rtt.smoothed() {
            None => self.first,
            Some(smoothed) => (smoothed * 3).clamp(FLOOR.min(self.ceiling), self.ceiling),
        };
    }

    /// A timeout: the next one is longer.
    pub(crate) fn timed_out(&mut self) {
        self.wait = (self.wait * 3 / 2).min(self.ceiling);
    }

    /// The shortest answer so far.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        self.rtt.shortest()
    }

    /// The timeout for an answer.
    pub(crate) fn wait(&self) -> Duration {
        self.wait
    }

    /// Shorter than any answer takes: what comes sooner is not about the last packet. By the
    /// minimum, because the first answer of all may have waited for a program to start.
    pub(crate) fn soonest(&self) -> Duration {
        self.rtt.shortest().map_or(Duration::ZERO, |shortest| shortest / 4 * 3)
    }
}

/// The rate of the slowest lines; an unknown line may be one.
pub(crate) const SLOWEST_BPS: u32 = 300;
