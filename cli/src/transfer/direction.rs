//! Which way files go.

/// Which way the files go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// From here.
    Send,
    /// To here.
    Receive,
}

impl Direction {
    /// What has happened to a file that is over.
    pub(crate) const fn done(self) -> &'static str {
        match self {
            Self::Send => "sent",
            Self::Receive => "received",
        }
    }
}
