//! What is known of the line, for every protocol.

use crate::time::Duration;

/// What is known of the line before the first byte: facts, not preferences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineFacts {
    /// The transport is reliable (TCP), or certainly not (serial); `None` if this end cannot
    /// know, as on a host reached through a terminal session.
    pub reliable: Option<bool>,
    /// All 256 byte values pass.
    pub clear: bool,
    /// Rate in bits per second, 0 if unknown. A character is ten bits.
    pub rate_bps: u32,
    /// Telnet rules apply between the ends.
    pub telnet: bool,
}

impl LineFacts {
    /// The time `len` bytes take on the line; zero if its rate is unknown.
    pub const fn time(&self, len: usize) -> Duration {
        line_time(self.rate_bps, len)
    }
}

/// The time `len` bytes take at this rate; zero if it is unknown.
pub(crate) const fn line_time(rate_bps: u32, len: usize) -> Duration {
    if rate_bps == 0 {
        return Duration::ZERO;
    }
    // A character is ten bits: start, eight, stop.
    Duration::from_nanos((len as u64).saturating_mul(10_000_000_000) / rate_bps as u64)
}
