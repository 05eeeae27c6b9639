//! Steady state throughput: data received between two times.
//!
//! A transfer's mean rate has its beginning in it (a connection is made, a rate is found) and its end
//! (late repairs). "The steady-state throughput is the rate at which data is transmitted as the
//! transfer size approaches infinity" [RFC 1030 §3]; here: bytes that the far end's store, or its
//! program, was given in order between two moments of a transfer that continues.

use wetstring_proto::{Duration, Instant};

/// Two moments after the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Earlier data does not count.
    pub from: Duration,
    /// Data sent after this does not count.
    pub to: Duration,
}

impl Window {
    /// How long it is.
    pub fn len(&self) -> Duration {
        self.to.saturating_sub(self.from)
    }

    /// Whether nothing can arrive in it.
    pub fn is_empty(&self) -> bool {
        self.len().is_zero()
    }
}

/// Counts data received in a window, while time advances in steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meter {
    window: Window,
    /// The total when the window began, and when it ended.
    totals: [Option<u64>; 2],
}

impl Meter {
    pub(crate) fn new(window: Window) -> Self {
        Self { window, totals: [None; 2] }
    }

    /// The total received so far, and nothing more happens before `next`.
    pub(crate) fn pass(&mut self, next: Instant, total: u64) {
        let moments = [self.window.from, self.window.to];
        for (at, sample) in moments.into_iter().zip(&mut self.totals) {
            if sample.is_none() && next > Instant::ZERO + at {
                *sample = Some(total);
            }
        }
    }

    /// The run is over with this total: bytes that arrived in the window. `None` if it was over
    /// before the window was.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let [from, to] = self.totals;
        Some(to?.saturating_sub(from?))
    }

    /// Whether the window is over.
    pub(crate) fn is_over(&self) -> bool {
        self.totals[1].is_some()
    }
}
