//! The store request that is open.

use crate::file::{DigestKind, Request};

/// What the store is asked for. There is at most one request at a time, and it is repeated until answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Ask {
    #[default]
    Nothing,
    /// A sender: the next file, and its bytes.
    Next,
    Read,
    /// Bytes of it that were sent before.
    ReadAgain,
    /// A receiver: whether a file is wanted, what is here of it, and to keep bytes.
    Offer,
    Held {
        from: u64,
    },
    Write,
    /// A digest of this many leading bytes.
    Digest {
        kind: DigestKind,
        len: u64,
    },
    /// To run a command of this length.
    Run {
        len: usize,
    },
    /// To do what a client wants, which came in a packet of this type.
    Serve {
        kind: u8,
    },
    Close {
        complete: bool,
        verified: bool,
    },
}

impl Ask {
    /// The file is over, without a comparison of digests.
    pub(crate) const fn close(complete: bool) -> Self {
        Self::Close { complete, verified: false }
    }

    /// The request was answered: says what it was, and asks for nothing.
    pub(crate) fn take(&mut self) -> Self {
        core::mem::take(self)
    }

    pub(crate) fn is_idle(self) -> bool {
        self == Self::Nothing
    }

    /// The request, where it needs nothing of the engine's memory.
    pub(crate) fn plain(self) -> Option<Request<'static>> {
        match self {
            Self::Next => Some(Request::Next),
            Self::Held { from } => Some(Request::Held { from }),
            Self::Digest { kind, len } => Some(Request::Digest { kind, len }),
            Self::Close { complete, verified } => Some(Request::Close { complete, verified }),
            _ => None,
        }
    }
}
