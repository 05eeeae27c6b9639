//! How a transfer ends: the outcome, and who is to blame for a failure.

use crate::file::StoreError;
use core::fmt;

/// Where a transaction stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Under way.
    Running,
    /// The outcome is fixed; the engine only stays to repeat a last acknowledgement that may have
    /// been lost. On a reliable port there is nothing to wait for.
    Lingering(Outcome),
    /// Finished.
    Over(Outcome),
}

impl Status {
    /// The outcome, once it is fixed.
    pub const fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Running => None,
            Self::Lingering(outcome) | Self::Over(outcome) => Some(outcome),
        }
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Outcome {
    /// In good order. Single files may have been skipped; the counters and events say which.
    Done,
    /// Not in good order.
    Failed(Failure),
}

/// What went wrong, and on whose side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Who is to blame.
    pub blame: Blame,
    /// What it was.
    pub kind: FailureKind,
}

/// Who is to blame for a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blame {
    /// The program at the other end.
    Peer,
    /// What lies between.
    Line,
    /// Our store.
    Store,
    /// the local user or configuration.
    Local,
}

/// What a failure was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailureKind {
    /// Nothing usable came for as long as the settings allow.
    Silence,
    /// The same packet failed too often.
    TooManyRetries,
    /// A packet was damaged or lost on a line that was declared reliable.
    NotReliable,
    /// The peer ended with an error message; an [`Event::Message`](crate::Event::Message) has its text.
    PeerError,
    /// The peer sent something that its protocol does not allow here.
    Violation,
    /// The peer cannot do something that was required.
    Unsupported,
    /// The peer cannot go on in the middle of a file, which was asked for.
    CannotResume,
    /// The peer offers other protocols than ours (UUCP); an [`Event::Message`](crate::Event::Message) names them.
    NoProtocol,
    /// The peer asks for a server, which this engine is not.
    NotAServer,
    /// The peer speaks another protocol, or wants to do what this end does: both send, or both receive.
    WrongPeer,
    /// The digests of the whole file differ.
    DigestDiffers,
    /// Fewer or more bytes came than were announced.
    LengthDiffers,
    /// The store failed.
    Store(StoreError),
    /// A file is not wanted here, and the protocol cannot leave it out.
    Refused,
    /// The user ended it.
    Aborted,
    /// The port closed.
    Closed,
    /// A fault of ours: the state table has no edge for what happened.
    Internal,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Silence => "expected a packet, nothing usable came",
            Self::TooManyRetries => "the same packet failed too often",
            Self::NotReliable => "transmission error on reliable link",
            Self::PeerError => "the peer ended with an error message",
            Self::Violation => "the peer sent what its protocol does not allow here",
            Self::Unsupported => "the peer cannot do what was required",
            Self::CannotResume => "the peer cannot resume files",
            Self::NoProtocol => "expected the peer to know the protocol g, it offers others",
            Self::NotAServer => "the peer asks for a server",
            Self::WrongPeer => "expected a peer for this, another one answered",
            Self::DigestDiffers => "the digests of the whole file differ",
            Self::LengthDiffers => "the file does not have the length that was announced",
            Self::Store(error) => return error.fmt(f),
            Self::Refused => "a file was refused, and this protocol cannot leave one out",
            Self::Aborted => "aborted",
            Self::Closed => "the line closed",
            Self::Internal => "internal error: a state has no way on",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blame = match self.blame {
            Blame::Peer => "peer",
            Blame::Line => "line",
            Blame::Store => "store",
            Blame::Local => "local",
        };
        write!(f, "{blame}: {}", self.kind)
    }
}

impl core::error::Error for Failure {}
