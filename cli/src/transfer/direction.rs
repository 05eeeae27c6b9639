//! The direction of a transfer.

/// The direction of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// From here.
    Send,
    /// To here.
    Receive,
}

impl Direction {
    /// The verb for a finished file.
    pub(crate) const fn done(self) -> &'static str {
        match self {
            Self::Send => "sent",
            Self::Receive => "received",
        }
    }
}
