//! Keeps the queue in a port short on a line with errors.
//!
//! What a port has taken cannot be recalled, and after an error it is sent before the retransmission.
//! A serial port buffers 60 ms of line, which an error then costs in addition. After an error
//! the engine therefore gives the port its bytes only as fast as the line carries them.

use crate::line::line_time;
use crate::time::{Duration, Instant};

/// How much of the line's time may be queued in the port.
const AHEAD: Duration = Duration::from_millis(20);
/// Characters that may be queued in any case.
const AT_LEAST: usize = 4;

/// What a port still has to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    rate_bps: u32,
    ahead: Duration,
    /// When the port's queue will be empty, if nothing stalls it.
    empty_at: Instant,
}

impl Pace {
    /// A line of this rate, whose port holds bytes until `empty_at`.
    pub(crate) fn new(rate_bps: u32, empty_at: Instant) -> Self {
        let ahead = AHEAD.max(line_time(rate_bps, AT_LEAST));
        Self { rate_bps, ahead, empty_at }
    }

    /// How many bytes to give to the port now.
    pub(crate) fn room(&self, now: Instant) -> usize {
        let free = self.ahead.saturating_sub(self.empty_at - now).as_nanos();
        let bytes = free * u128::from(self.rate_bps) / 10_000_000_000;
        usize::try_from(bytes).unwrap_or(usize::MAX).max(1)
    }

    /// The port took this many bytes. Returns when it should get more.
    pub(crate) fn took(&mut self, now: Instant, len: usize) -> Option<Instant> {
        self.empty_at = self.empty_at.max(now) + line_time(self.rate_bps, len);
        let surplus = (self.empty_at - now).saturating_sub(self.ahead / 2);
        (!surplus.is_zero()).then(|| now + surplus)
    }
}
