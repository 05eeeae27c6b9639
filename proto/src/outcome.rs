//! How a transfer ends: the outcome, and who is to blame for a failure.

use crate::file::StoreError;
use core::fmt;

/// The state of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// In progress.
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
    /// Completed. Single files may have been skipped; see counters and events.
    Done,
    /// Failed.
    Failed(Failure),
}

/// The cause of a failure, and whose side it was on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Who is to blame.
    pub blame: Blame,
    /// The cause.
    pub kind: FailureKind,
}

/// Who is to blame for a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blame {
    /// The peer program.
    Peer,
    /// The line in between.
    Line,
    /// Our store.
    Store,
    /// The local user or configuration.
    Local,
}

/// The cause of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailureKind {
    /// No usable packet within the configured time.
    Silence,
    /// The retry limit of a packet was reached.
    TooManyRetries,
    /// A packet was damaged or lost on a line that was declared reliable.
    NotReliable,
    /// The peer ended with an error message; an [`Event::Message`](crate::Event::Message) has its text.
    PeerError,
    /// Protocol violation by the peer.
    Violation,
    /// The peer lacks a required capability.
    Unsupported,
    /// The peer cannot resume a file, as requested.
    CannotResume,
    /// The peer offers other protocols than ours (UUCP); an [`Event::Message`](crate::Event::Message) names them.
    NoProtocol,
    /// The peer requests a server, which this engine is not.
    NotAServer,
    /// The peer speaks another protocol, or has the same role: both send, or both receive.
    WrongPeer,
    /// The digests of the whole file differ.
    DigestDiffers,
    /// The length received differs from the length announced.
    LengthDiffers,
    /// The store failed.
    Store(StoreError),
    /// A file was refused, and the protocol cannot skip it.
    Refused,
    /// Aborted by the user.
    Aborted,
    /// The port closed.
    Closed,
    /// Internal error: the state table has no edge for the input.
    Internal,
}

impl FailureKind {
    /// A fixed name for programs, in kebab case; all failures of the store have one.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Silence => "silence",
            Self::TooManyRetries => "too-many-retries",
            Self::NotReliable => "not-reliable",
            Self::PeerError => "peer-error",
            Self::Violation => "violation",
            Self::Unsupported => "unsupported",
            Self::CannotResume => "cannot-resume",
            Self::NoProtocol => "no-protocol",
            Self::NotAServer => "not-a-server",
            Self::WrongPeer => "wrong-peer",
            Self::DigestDiffers => "digest-differs",
            Self::LengthDiffers => "length-differs",
            Self::Store(_) => "store",
            Self::Refused => "refused",
            Self::Aborted => "aborted",
            Self::Closed => "closed",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Silence => "expected a packet, nothing usable came",
            Self::TooManyRetries => "retry limit reached for a packet",
            Self::NotReliable => "transmission error on reliable link",
            Self::PeerError => "the peer ended with an error message",
            Self::Violation => "protocol violation by the peer",
            Self::Unsupported => "the peer lacks a required capability",
            Self::CannotResume => "the peer cannot resume files",
            Self::NoProtocol => "expected the peer to offer protocol g, got others",
            Self::NotAServer => "the peer requests a server",
            Self::WrongPeer => "expected a matching peer, got another",
            Self::DigestDiffers => "the digests of the whole file differ",
            Self::LengthDiffers => "the file's length differs from the one announced",
            Self::Store(error) => return error.fmt(f),
            Self::Refused => "a file was refused, and this protocol cannot skip one",
            Self::Aborted => "aborted",
            Self::Closed => "the line closed",
            Self::Internal => "internal error: no transition from this state",
        })
    }
}

impl Blame {
    /// A fixed name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Line => "line",
            Self::Store => "store",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.blame.name(), self.kind)
    }
}

impl core::error::Error for Failure {}
