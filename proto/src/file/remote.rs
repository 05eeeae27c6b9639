//! What a peer may ask of a host besides files. Most stores do none of it, and reply
//! [`Reply::Failed`](super::Reply::Failed).

use super::{FileKind, Left};

/// A peer's request for something other than a file.
#[derive(PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Remote<'a> {
    /// ZMODEM's ZCOMMAND: to run a command on this host: [`RemoteReply::Ran`], or
    /// [`Reply::Failed`](super::Reply::Failed) where that is not allowed. Issued only if the configuration allows it.
    Run {
        /// The command, raw and untrusted.
        command: &'a [u8],
    },
    /// A Kermit client's command to its server: [`RemoteReply::Said`], [`RemoteReply::Follow`] or
    /// [`RemoteReply::Denied`], and [`Reply::Failed`](super::Reply::Failed) where it cannot be done at all. Text, if
    /// it fits there, goes into `answer`.
    Serve {
        /// The type of packet that it came in.
        kind: u8,
        /// The command, as the protocol encodes it
        /// ([`ServerCommand::parse`](crate::kermit::command::ServerCommand::parse)).
        words: &'a [u8],
        /// The file type that the client has set by hand, for a command without one.
        files: Option<FileKind>,
        /// Buffer for a reply.
        answer: &'a mut [u8],
    },
}

/// A store's answer to a [`Remote`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RemoteReply {
    /// To `Run`: its exit status; 0 is success.
    Ran(u32),
    /// To `Serve`: done; bytes of text in the buffer.
    Said(usize),
    /// To `Serve`: done; the files to send follow by [`Request::Next`](super::Request::Next).
    Follow {
        /// It is text for the client's screen, no file.
        screen: bool,
        /// What they are, if that is known.
        batch: Left,
    },
    /// To `Serve`: refused; bytes of the reason in the buffer.
    Denied(usize),
}
