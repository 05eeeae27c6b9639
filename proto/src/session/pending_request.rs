//! The open store request.

use crate::file::{DigestKind, Request};

/// The open request. There is at most one at a time, and it is repeated until answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum PendingRequest {
    #[default]
    Nothing,
    /// A sender: the next file, and its bytes.
    Next,
    Read,
    /// Bytes of it that were sent before.
    ReadAgain,
    /// A receiver: an offer, the ranges already stored, and a write.
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
    /// A sender: signatures of blocks.
    Signatures {
        from: u64,
        block: u32,
    },
    /// A receiver: whether an older version is there, signatures for it to look for, what was found, and bytes of it.
    Older,
    Learn,
    Find,
    Copy {
        to: u64,
    },
    /// To run a command of this length.
    Run {
        len: usize,
    },
    /// To execute a client's command, which came in a packet of this type.
    Serve {
        kind: u8,
    },
    Close {
        complete: bool,
        verified: bool,
    },
    /// A sender: the current file is not sent.
    PassOver,
    /// A sender: the next file, before the peer has stored this one; and that it has stored the oldest of those.
    Aside,
    Settle {
        complete: bool,
        verified: bool,
    },
    /// Bytes to be compressed, and to be decompressed.
    Pack {
        begin: bool,
        end: bool,
    },
    Unpack {
        begin: bool,
    },
}

impl PendingRequest {
    /// Close the file, without a comparison of digests.
    pub(crate) const fn close(complete: bool) -> Self {
        Self::Close { complete, verified: false }
    }

    /// The request was answered: returns it, and leaves none open.
    pub(crate) fn take(&mut self) -> Self {
        core::mem::take(self)
    }

    pub(crate) fn is_idle(self) -> bool {
        self == Self::Nothing
    }

    /// The request, if it needs none of the engine's memory.
    pub(crate) fn plain(self) -> Option<Request<'static>> {
        match self {
            Self::Next => Some(Request::Next),
            Self::Held { from } => Some(Request::Held { from }),
            Self::Digest { kind, len } => Some(Request::Digest { kind, len }),
            Self::Close { complete, verified } => Some(Request::Close { complete, verified }),
            Self::Older => Some(Request::Older),
            Self::PassOver => Some(Request::PassOver),
            Self::Aside => Some(Request::Aside),
            Self::Settle { complete, verified } => Some(Request::Settle { complete, verified }),
            _ => None,
        }
    }
}
