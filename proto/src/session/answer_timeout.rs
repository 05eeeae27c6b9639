//! The timeout for an answer, from the measured RTT.

use super::Rtt;
use crate::time::Duration;

/// The timeout for an answer: a first value, then what the protocol makes of the measured RTT. It
/// grows with each timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerTimeout {
    pub(crate) rtt: Rtt,
    pub(crate) ceiling: Duration,
    wait: Duration,
}

impl AnswerTimeout {
    /// `first` is the timeout before the first measurement.
    pub(crate) fn new(first: Duration, ceiling: Duration) -> Self {
        Self { rtt: Rtt::default(), ceiling, wait: first.min(ceiling) }
    }

    pub(crate) fn get(&self) -> Duration {
        self.wait
    }

    pub(crate) fn set(&mut self, wait: Duration) {
        self.wait = wait;
    }

    /// After a timeout: multiplies the next one by `halves / 2`, up to the ceiling.
    pub(crate) fn back_off(&mut self, halves: u32) {
        self.wait = (self.wait * halves / 2).min(self.longest());
    }

    /// The ceiling, unless the timeout is longer already.
    pub(crate) fn longest(&self) -> Duration {
        self.ceiling.max(self.wait)
    }
}
