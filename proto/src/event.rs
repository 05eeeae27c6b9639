//! What an engine reports to the user, and what the user can order.

use crate::file::{FileInfo, Refusal};

/// A user's wish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Give up the current file, go on with the next.
    CancelFile,
    /// Give up the current file and all that follow; end in good order.
    CancelBatch,
    /// End at once; tell the peer.
    Abort,
}

/// Something to tell the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Both ends have agreed on how to proceed: the agreement in the protocol's own words.
    Negotiated(&'a str),
    /// A file begins, from `offset` on.
    FileStarted {
        /// What is known of it.
        info: FileInfo<'a>,
        /// Bytes that the receiver had already.
        offset: u64,
    },
    /// A file is whole at the receiver.
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
    /// A file was given up by a user at one of the ends.
    FileCancelled {
        /// True if the peer gave it up.
        by_peer: bool,
    },
    /// The peer has run the command that it was sent.
    Completed {
        /// What its system said of it: 0 is success.
        status: u32,
    },
    /// The roles have changed in a call that goes both ways (UUCP): files go the other way from here
    /// on.
    RolesReversed {
        /// They come to this end.
        receives: bool,
    },
    /// The peer has work for this end that is not done in this call (UUCP).
    Declined {
        /// `S` a file, `E` mail or another command to run, whole or a part of it, `R` a request to fetch
        /// a file, `X` to fetch files by a pattern.
        what: u8,
        /// It stays in the peer's queue; else the peer has dropped it.
        kept: bool,
    },
    /// The peer said something in words.
    Message(&'a [u8]),
    /// The server has done what it was asked for, and says this of it (empty: nothing).
    Replied(&'a [u8]),
}
