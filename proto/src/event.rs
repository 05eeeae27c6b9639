//! What an engine reports to the user, and what the user can order.

use crate::file::{FileInfo, Refusal};

/// A command of the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Cancel the current file and continue with the next.
    CancelFile,
    /// Cancel the current file and all that follow; end in good order.
    CancelBatch,
    /// Abort the session and tell the peer.
    Abort,
}

/// A job of a UUCP peer that is not done in this call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DeclinedJob {
    /// `S`: to send a file.
    Send,
    /// `E`: mail or another command to run, whole or a part of it.
    Execute,
    /// `R`: to fetch a file.
    Fetch,
    /// `X`: to fetch files by a pattern.
    FetchByPattern,
    /// A command with another letter.
    Other(u8),
}

impl DeclinedJob {
    pub(crate) const fn from_letter(letter: u8) -> Self {
        match letter {
            b'S' => Self::Send,
            b'E' => Self::Execute,
            b'R' => Self::Fetch,
            b'X' => Self::FetchByPattern,
            other => Self::Other(other),
        }
    }

    /// The letter of its command.
    pub const fn letter(self) -> u8 {
        match self {
            Self::Send => b'S',
            Self::Execute => b'E',
            Self::Fetch => b'R',
            Self::FetchByPattern => b'X',
            Self::Other(letter) => letter,
        }
    }
}

/// An event for the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Parameters are negotiated: the result in the protocol's terms.
    Negotiated(&'a str),
    /// A file starts at `offset`.
    FileStarted {
        /// What is known of it.
        info: FileInfo<'a>,
        /// Bytes that the receiver had already.
        offset: u64,
    },
    /// A file is complete at the receiver.
    FileDone {
        /// Its length in bytes at this end.
        size: u64,
        /// Both ends compared a digest of the whole file.
        verified: bool,
    },
    /// A file was refused by one of the ends.
    FileRefused {
        /// Name on the wire.
        name: &'a [u8],
        /// Why, where it is known.
        why: Option<Refusal>,
        /// True if the peer refused, false if our own store did.
        by_peer: bool,
    },
    /// A file was cancelled by a user at one of the ends.
    FileCancelled {
        /// True if the peer cancelled it.
        by_peer: bool,
    },
    /// The peer has run the command sent to it.
    Completed {
        /// Its exit status: 0 is success.
        status: u32,
    },
    /// The roles are reversed in a call (UUCP): from now on files go in the other
    /// direction.
    RolesReversed {
        /// This end receives.
        receives: bool,
    },
    /// The peer has a job for this end that is not done in this call (UUCP).
    Declined {
        /// The job.
        what: DeclinedJob,
        /// It stays in the peer's queue; else the peer has dropped it.
        kept: bool,
    },
    /// A text message from the peer.
    Message(&'a [u8]),
    /// The server has executed the command, with this text (may be empty).
    Replied(&'a [u8]),
}
