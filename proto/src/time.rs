//! Time as the engines see it: nanoseconds since an epoch that the caller picks; and rates.

use core::fmt;
use core::ops::{Add, Sub};

pub use core::time::Duration;

/// A point in time, in nanoseconds since an epoch that the caller picks.
///
/// The engines only compare and subtract instants, so the laboratory may start at zero and a real
/// program at any monotonic origin. 2^64 ns are 584 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(pub u64);

impl Instant {
    /// The epoch.
    pub const ZERO: Self = Self(0);

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    /// Saturates rather than wrapping.
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, rhs: Self) -> Duration {
        self.since(rhs)
    }
}

impl fmt::Display for Instant {
    /// Seconds with nine decimals, so that a text sort is a time sort within a transfer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A configured time: whole milliseconds up to 49 days, in four bytes, since a configuration is part of an
/// engine that may have two kilobytes in all. [`Span::get`] gives the [`Duration`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span(u32);

impl Span {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// This many seconds, saturating.
    pub const fn from_secs(seconds: u64) -> Self {
        Self::from_millis(seconds.saturating_mul(1000))
    }

    /// This many milliseconds, saturating.
    pub const fn from_millis(milliseconds: u64) -> Self {
        if milliseconds > u32::MAX as u64 { Self(u32::MAX) } else { Self(milliseconds as u32) }
    }

    /// As a duration.
    pub const fn get(self) -> Duration {
        Duration::from_millis(self.0 as u64)
    }
}

/// Bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BitRate(u64);

impl BitRate {
    /// No rate: unlimited, or unknown.
    pub const ZERO: Self = Self(0);

    /// This many bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }
}
