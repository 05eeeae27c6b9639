//! What a transfer has found out about its line, for the next one.

use crate::time::Duration;

/// What an engine has found out about its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Learned {
    /// The shortest round trip of a packet, which contains its own time on the line.
    pub round_trip: Option<Duration>,
    /// Bytes of packets that were acknowledged.
    pub carried: u64,
    /// Packets that were lost or damaged.
    pub hits: u64,
    /// Whether control characters pass the line bare, where that was tried.
    pub codes: Option<bool>,
}
