//! The laboratory's time in the QUIC library's type.
//!
//! The library's functions take `std::time::Instant`, of which no value can be made but by asking the
//! machine's clock. So it is asked once for each connection, and every time that the library ever
//! sees is that moment and as many nanoseconds as the laboratory has counted. It compares and
//! subtracts them and does nothing else, so the first moment cancels out: a run is the same
//! whenever it is made, which `lab/tests/quic.rs` shows by its trace. This is the only file of the
//! laboratory that may name that type (see the tidy test).

use std::time::{Duration, Instant};

/// Makes the laboratory's times into the library's, and back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(Instant);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "one origin, which cancels out; see the module")]
    pub(super) fn new() -> Self {
        Self(Instant::now())
    }

    /// This many nanoseconds after the beginning.
    pub(super) fn at(self, ns: u64) -> Instant {
        self.0 + Duration::from_nanos(ns)
    }

    /// How many nanoseconds after the beginning; rounded up to the next whole one by nature, for
    /// the library adds whole nanoseconds.
    pub(super) fn ns(self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.0).as_nanos()).unwrap_or(u64::MAX)
    }
}
