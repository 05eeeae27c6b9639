//! Whether a line of unknown rate is slow: slower than a compressor.

use crate::kermit::config::FAST;
use crate::time::{Duration, Instant};

/// Longer than the pauses of a busy machine, and short beside a transfer that is worth the trouble.
const SPAN: Duration = Duration::from_millis(50);

/// How fast the port takes what is queued while data streams.
#[derive(Debug, Default)]
pub(super) struct LineRate {
    /// When the span began, and what had been taken by then.
    since: Instant,
    taken: u64,
    /// Time of it in which the port had more than it took.
    full: Duration,
    /// The port was last asked then, and had more than it took.
    last: Instant,
    is_full: bool,
    /// What the span before has shown.
    is_slow: bool,
}

impl LineRate {
    /// Data begins to stream. What was seen before remains true.
    pub(super) fn begin(&mut self, now: Instant, taken: u64) {
        let is_slow = self.is_slow;
        *self = Self { since: now, taken, last: now, is_slow, ..Self::default() };
    }

    /// The port has taken bytes, `taken` since the start, and `pending` are left.
    pub(super) fn took(&mut self, now: Instant, taken: u64, pending: usize) {
        if self.is_full {
            self.full += now - self.last;
        }
        self.is_full = pending > 0;
        self.last = now;
        let span = now - self.since;
        if span < SPAN {
            return;
        }
        // If the port is not full the line waits for us: for the store, or for the compressor.
        let bits = u128::from(taken - self.taken) * 8;
        let is_below = bits * 1000 <= u128::from(FAST) * span.as_millis();
        self.is_slow = is_below && self.full * 2 >= span;
        self.begin(now, taken);
        self.is_full = pending > 0;
    }

    pub(super) const fn is_slow(&self) -> bool {
        self.is_slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that a port takes each millisecond, with or without some left: whether the line is slow after 100 ms.
    fn is_slow(each: u64, pending: usize) -> bool {
        let mut rate = LineRate::default();
        let start = Instant::ZERO + Duration::from_secs(7);
        rate.begin(start, 1000);
        for millisecond in 1..=100 {
            let now = start + Duration::from_millis(millisecond);
            rate.took(now, 1000 + each * millisecond, pending);
        }
        rate.is_slow()
    }

    #[test]
    fn a_full_port_below_100_mbit_is_slow() {
        assert!(is_slow(12_000, 1));
        assert!(!is_slow(13_000, 1));
        // Whatever it takes at once.
        assert!(!is_slow(10, 0));
    }

    #[test]
    fn buffers_that_fill_hide_a_slow_line_for_a_span_only() {
        let mut rate = LineRate::default();
        rate.begin(Instant::ZERO, 0);
        let at = |milliseconds| Instant::ZERO + Duration::from_millis(milliseconds);
        rate.took(at(1), 4_000_000, 100);
        rate.took(at(60), 4_001_000, 100);
        assert!(!rate.is_slow());
        rate.took(at(120), 4_050_000, 100);
        assert!(rate.is_slow());
        // The next file begins with what is known.
        rate.begin(at(200), 4_050_000);
        assert!(rate.is_slow());
        rate.took(at(255), 9_000_000, 0);
        assert!(!rate.is_slow());
    }
}
