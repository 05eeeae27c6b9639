//! What is known of the line, for every protocol.

/// What is known of the line before a byte has moved: facts, not wishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineFacts {
    /// The transport delivers everything unchanged and in order (TCP), or surely does not
    /// (serial); `None` if this end cannot know, as at the far end of a terminal session.
    pub reliable: Option<bool>,
    /// All 256 byte values pass.
    pub clear: bool,
    /// Rate in bits per second, 0 if unknown. A character is ten bits.
    pub rate_bps: u32,
    /// Telnet rules apply between the ends.
    pub telnet: bool,
}
