//! The contract of every protocol engine: four doors (wire, clock, store, person).
//!
//! The host calls the doors in any order, with any chunking of bytes, at one `now`; the result is
//! the same. A usual turn is: answer [`Engine::request`] until there is none, move
//! [`Engine::transmit`] to the port, read the port into [`Engine::receive`], call
//! [`Engine::tick`] when [`Engine::deadline`] has passed, show every [`Engine::event`].
//!
//! * **Lend and acknowledge.** [`Engine::transmit`] lends bytes; [`Engine::transmitted`] says how
//!   many the port took. What was not taken may be dropped by a cancel or a repositioning.
//! * **Bad input is never an error.** It is counted, traced, and moves the state.
//! * **The end comes once** and says who is to blame. After it the engine takes no byte: what
//!   follows belongs to the shell prompt or to the next protocol.

use crate::file::{FileInfo, Refusal, Reply, Request, StoreError};
use crate::stats::Stats;
use crate::time::Instant;
use crate::trace::Trace;
use core::fmt;

/// What every call is told: the time, and where to leave a trace.
pub struct Cx<'a> {
    /// The time of this call. It never goes back.
    pub now: Instant,
    /// Takes the trace.
    pub trace: &'a mut dyn Trace,
}

impl fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("now", &self.now).finish_non_exhaustive()
    }
}

/// A protocol engine. See the [module](self) for the contract.
pub trait Engine {
    /// Takes bytes that arrived, and says how many it took. The rest is back pressure: offer it
    /// again, followed by what came later, when something else has moved.
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize;
    /// Lends the bytes to send next; empty if there are none. Until [`Engine::transmitted`] the
    /// same bytes, unless a cancel or a repositioning drops them.
    fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8];
    /// The port took the first `len` bytes of what [`Engine::transmit`] lent.
    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize);

    /// When [`Engine::tick`] wants to be called; `None` if no timer runs.
    fn deadline(&self) -> Option<Instant>;
    /// Lets timers run out. Early or late calls are harmless.
    fn tick(&mut self, cx: &mut Cx<'_>);

    /// What the engine wants of the store now; the same until answered. Show the events before the answer:
    /// the next file's name takes the place of that which they tell of.
    fn request(&mut self) -> Option<Request<'_>>;
    /// The store's answer to the request that stands. An answer to nothing is ignored.
    fn reply(&mut self, cx: &mut Cx<'_>, reply: Reply<'_>);

    /// The next thing to tell the person, if any.
    fn event(&mut self) -> Option<Event<'_>>;
    /// The person's wish.
    fn command(&mut self, cx: &mut Cx<'_>, command: Command);

    /// Which doors have something to do now. Cheap.
    fn wants(&self) -> Wants;
    /// Where the transaction stands.
    fn status(&self) -> Status;
    /// What has happened so far.
    fn stats(&self) -> &Stats;
    /// The outcome if the port closes now. Where only the goodbye is missing that is no failure.
    fn if_closed(&self) -> Option<Outcome> {
        self.status().outcome()
    }
}

/// Which doors of an engine have something to do. A set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wants(u8);

impl Wants {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// [`Engine::receive`] will take bytes.
    pub const INPUT: Self = Self(1);
    /// [`Engine::transmit`] has bytes, or can make some.
    pub const OUTPUT: Self = Self(2);
    /// [`Engine::request`] has one.
    pub const STORE: Self = Self(4);
    /// [`Engine::event`] has one.
    pub const PERSON: Self = Self(8);

    /// Whether all of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set with `other` added if `condition` holds.
    pub const fn with(self, other: Self, condition: bool) -> Self {
        if condition { Self(self.0 | other.0) } else { self }
    }
}

/// A person's wish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Give up the current file, go on with the next.
    CancelFile,
    /// Give up the current file and all that follow; end in good order.
    CancelBatch,
    /// End at once; tell the partner.
    Abort,
}

/// Something to tell the person.
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
        /// True if the partner refused, false if our own store did.
        by_peer: bool,
    },
    /// A file was given up by a person at one of the ends.
    FileCancelled {
        /// True if the partner gave it up.
        by_peer: bool,
    },
    /// The partner has run the command that it was sent.
    Completed {
        /// What its system said of it: 0 is success.
        status: u32,
    },
    /// The roles have changed in a call that goes both ways (UUCP): files go the other way from here
    /// on.
    Turned {
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
    /// The partner said something in words.
    Message(&'a [u8]),
    /// The server has done what it was asked for, and says this of it (empty: nothing).
    Replied(&'a [u8]),
}

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
    /// Our person or our configuration.
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
    /// The partner ended with an error message; an [`Event::Message`] has its text.
    PeerError,
    /// The partner sent something that its protocol does not allow here.
    Violation,
    /// The partner cannot do something that was required.
    Unsupported,
    /// The peer cannot go on in the middle of a file, which was asked for.
    CannotResume,
    /// The peer offers other protocols than ours (UUCP); an [`Event::Message`] names them.
    NoProtocol,
    /// The partner asks for a server, which this engine is not.
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
    /// The person ended it.
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
            Self::NotAServer => "the partner asks for a server",
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
