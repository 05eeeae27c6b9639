//! Data received from the connection, and the matches of the last INPUT.

/// Data received from the connection, and the matches of the last INPUT.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    /// The last bytes.
    pub(crate) buffer: Vec<u8>,
    pub(crate) last: Option<u8>,
    pub(crate) matched: Vec<u8>,
    pub(crate) count: u64,
    pub(crate) status: i64,
    pub(crate) time_ms: i64,
    pub(crate) wait_s: i64,
    /// Which of the texts of MINPUT, from 1.
    pub(crate) which: usize,
}

impl Received {
    pub(crate) fn message(&self) -> &'static str {
        match self.status {
            0 => "Found",
            1 => "Timed out",
            2 => "Interrupted",
            4 => "Connection lost",
            6 => "Buffer full",
            _ => "Unknown",
        }
    }
}
