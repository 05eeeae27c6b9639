//! Whether a line of unknown rate is slow: slower than a compressor.

use crate::time::{Duration, Instant};

/// A line of more bits per second gains nothing from compression.
pub(crate) const FAST: u32 = 100_000_000;

/// How fast what was queued goes. If it goes as soon as it is queued the line waits for us: for the store, or for the compressor.
#[derive(Clone, Debug)]
pub(crate) struct LineRate {
    /// How long to look before judging, and the bits per second below which the line is slow.
    span: Duration,
    limit: u32,
    /// When the span began, and how many bytes had gone by then.
    since: Instant,
    gone: u64,
    /// Time of it in which more was queued than could go.
    full: Duration,
    /// When something last went, and whether more was queued than could go.
    last: Instant,
    is_full: bool,
    /// What the span before has shown.
    is_slow: bool,
}

impl LineRate {
    /// By what the port takes. The span is longer than the pauses of a busy machine, and short beside a transfer that is worth the
    /// trouble.
    pub(crate) const PORT: Self = Self::new(Duration::from_millis(50), FAST);

    /// By what is acknowledged: the buffers of a connection take a whole window at once. A slow store at the receiver looks the
    /// same, so that the limit is one at which a compressor takes a few hundredths of a processor.
    pub(crate) const ANSWERS: Self = Self::new(Duration::from_millis(250), FAST / 4);

    const fn new(span: Duration, limit: u32) -> Self {
        let (since, full) = (Instant::ZERO, Duration::ZERO);
        Self { span, limit, since, gone: 0, full, last: since, is_full: false, is_slow: false }
    }

    /// A span begins. What was seen before remains true.
    pub(crate) fn begin(&mut self, now: Instant, gone: u64) {
        self.since = now;
        self.gone = gone;
        self.full = Duration::ZERO;
        self.last = now;
        self.is_full = false;
    }

    /// Something went, `gone` bytes since the start; whether there is more than can go now.
    pub(crate) fn went(&mut self, now: Instant, gone: u64, is_full: bool) {
        if self.is_full {
            self.full += now - self.last;
        }
        self.last = now;
        let span = now - self.since;
        if span >= self.span {
            let bits = u128::from(gone - self.gone) * 8;
            let is_below = bits * 1000 <= u128::from(self.limit) * span.as_millis();
            self.is_slow = is_below && self.full * 2 >= span;
            self.begin(now, gone);
        }
        self.is_full = is_full;
    }

    pub(crate) const fn is_slow(&self) -> bool {
        self.is_slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that a port takes each millisecond, full or not: whether the line is slow after 100 ms.
    fn is_slow(each: u64, is_full: bool) -> bool {
        let mut rate = LineRate::PORT;
        let start = Instant::ZERO + Duration::from_secs(7);
        rate.begin(start, 1000);
        for millisecond in 1..=100 {
            let now = start + Duration::from_millis(millisecond);
            rate.went(now, 1000 + each * millisecond, is_full);
        }
        rate.is_slow()
    }

    #[test]
    fn a_full_port_below_100_mbit_is_slow() {
        assert!(is_slow(12_000, true));
        assert!(!is_slow(13_000, true));
        // Whatever it takes at once.
        assert!(!is_slow(10, false));
    }

    #[test]
    fn buffers_that_fill_hide_a_slow_line_for_a_span_only() {
        let mut rate = LineRate::PORT;
        rate.begin(Instant::ZERO, 0);
        let at = |milliseconds| Instant::ZERO + Duration::from_millis(milliseconds);
        rate.went(at(1), 4_000_000, true);
        rate.went(at(60), 4_001_000, true);
        assert!(!rate.is_slow());
        rate.went(at(120), 4_050_000, true);
        assert!(rate.is_slow());
        // The next file begins with what is known.
        rate.begin(at(200), 4_050_000);
        assert!(rate.is_slow());
        rate.went(at(255), 9_000_000, false);
        assert!(!rate.is_slow());
    }
}
