//! Which way files go.

/// Which way the files go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// From here.
    Send,
    /// To here.
    Receive,
}

impl Way {
    /// What has happened to a file that is over.
    pub(crate) const fn done(self) -> &'static str {
        match self {
            Self::Send => "sent",
            Self::Receive => "received",
        }
    }
}
