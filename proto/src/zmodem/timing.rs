//! How long to wait for an answer: from the measured round trip, within bounds.

use crate::session::AnswerTimeout;
use crate::time::Duration;

/// The timeout for the answer to a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryTimeout {
    timeout: AnswerTimeout,
    first: Duration,
}

/// The shortest timeout: peers pause to write to disks.
const FLOOR: Duration = Duration::from_secs(1);

impl QueryTimeout {
    /// `first` is the timeout before the first measurement.
    pub(crate) fn new(first: Duration, ceiling: Duration) -> Self {
        let timeout = AnswerTimeout::new(first, ceiling);
        Self { timeout, first: timeout.get() }
    }

    /// A query that was sent once was answered after `rtt`.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.timeout.rtt.sample(rtt, 4);
        self.answered();
    }

    /// An answer: the timeout follows the measurements again.
    pub(crate) fn answered(&mut self) {
        let ceiling = self.timeout.ceiling;
        self.timeout.set(match self.timeout.rtt.smoothed() {
            None => self.first,
            Some(smoothed) => (smoothed * 3).clamp(FLOOR.min(ceiling), ceiling),
        });
    }

    /// A timeout: the next one is longer.
    pub(crate) fn timed_out(&mut self) {
        self.timeout.back_off(3);
    }

    /// The shortest answer so far.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        self.timeout.rtt.shortest()
    }

    /// The timeout for an answer.
    pub(crate) fn wait(&self) -> Duration {
        self.timeout.get()
    }

    /// Shorter than any answer takes: what comes sooner is not about the last packet. By the
    /// minimum, because the first answer of all may have waited for a program to start.
    pub(crate) fn soonest(&self) -> Duration {
        self.timeout.rtt.shortest().map_or(Duration::ZERO, |shortest| shortest / 4 * 3)
    }
}

/// The rate of the slowest lines; an unknown line may be one.
pub(crate) const SLOWEST_BPS: u32 = 300;
