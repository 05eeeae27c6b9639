//! The contract of every protocol engine: four doors (wire, clock, store, user).
//!
//! The host calls the doors in any order, with any chunking of bytes, at one `now`; the result is
//! the same. A usual round is: answer [`Engine::request`] until there is none, move
//! [`Engine::transmit`] to the port, read the port into [`Engine::receive`], call
//! [`Engine::tick`] when [`Engine::deadline`] has passed, show every [`Engine::event`].
//!
//! * **Lend and acknowledge.** [`Engine::transmit`] lends bytes; [`Engine::transmitted`] says how
//!   many the port took. The rest may be dropped by a cancel or a change of position.
//! * **Bad input is never an error.** It is counted and traced, and is an input of the state table.
//! * **The end comes once** and says who is to blame. After it the engine takes no byte: what
//!   follows belongs to the shell prompt or to the next protocol.

pub use crate::event::{Command, DeclinedJob, Event};
use crate::file::{Reply, Request};
use crate::learned::Learned;
pub use crate::outcome::{Blame, Failure, FailureKind, Outcome, Status};
use crate::stats::Stats;
use crate::time::Instant;
#[cfg(not(feature = "untraced"))]
use crate::trace::Trace;
use core::fmt;

/// Receives traces. With the feature `untraced` there is none, and what would describe events is not compiled.
#[cfg(not(feature = "untraced"))]
pub type AnyTrace<'t> = dyn Trace + 't;
/// No trace.
#[cfg(feature = "untraced")]
pub type AnyTrace<'t> = crate::trace::NoTrace;

/// The context of every call: the time and the trace.
pub struct Cx<'a> {
    /// The time of this call; monotonic.
    pub now: Instant,
    /// Receives trace events.
    pub trace: &'a mut AnyTrace<'a>,
}

impl fmt::Debug for Cx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("now", &self.now).finish_non_exhaustive()
    }
}

/// A protocol engine. See the [module](self) for the contract.
pub trait Engine {
    /// Takes received bytes and returns how many it took. The rest is backpressure: offer it
    /// again, followed by later bytes, after another door has made progress.
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize;
    /// Lends the bytes to send next; empty if there are none. Until [`Engine::transmitted`] the
    /// same bytes, unless a cancel or a change of position drops them.
    fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8];
    /// The port took the first `len` bytes of what [`Engine::transmit`] lent.
    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize);

    /// When [`Engine::tick`] wants to be called; `None` if no timer runs.
    fn deadline(&self) -> Option<Instant>;
    /// Handles expired timers. Early or late calls are harmless.
    fn tick(&mut self, cx: &mut Cx<'_>);

    /// The engine's current store request; the same until answered. Take the events before the answer:
    /// the next file's name overwrites the one they refer to.
    fn request(&mut self) -> Option<Request<'_>>;
    /// The store's reply to the current request. Without a request it is ignored.
    fn reply(&mut self, cx: &mut Cx<'_>, reply: Reply<'_>);

    /// The next event for the user, if any.
    fn event(&mut self) -> Option<Event<'_>>;
    /// A command of the user.
    fn command(&mut self, cx: &mut Cx<'_>, command: Command);

    /// The doors that have something to do now. Cheap.
    fn wants(&self) -> Wants;
    /// The state of the transfer.
    fn status(&self) -> Status;
    /// The counters so far.
    fn stats(&self) -> &Stats;

    /// What it has found out about the line.
    fn learned(&self) -> Learned {
        Learned::default()
    }
    /// The outcome if the port closes now. If only the farewell is missing that is not a failure.
    fn if_closed(&self) -> Option<Outcome> {
        self.status().outcome()
    }
}

/// The doors of an engine that have something to do. A set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wants(u8);

impl Wants {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// [`Engine::receive`] will take bytes.
    pub const INPUT: Self = Self(1);
    /// [`Engine::transmit`] has bytes, or can produce some.
    pub const OUTPUT: Self = Self(2);
    /// [`Engine::request`] has one.
    pub const STORE: Self = Self(4);
    /// [`Engine::event`] has one.
    pub const USER: Self = Self(8);

    /// Whether all of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// This set with `other` added if `condition` holds.
    pub const fn with(self, other: Self, condition: bool) -> Self {
        if condition { Self(self.0 | other.0) } else { self }
    }
}
