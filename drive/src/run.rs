//! The loop that turns an engine.
//!
//! A turn: answer the engine's requests until there is none, move what it lends to the port,
//! read the port into it (keeping what it does not take), let its timers run, show its events;
//! when nothing moves, wait in `poll` for the port, the deadline or a signal.

use crate::port::Port;
use crate::signals::Signals;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use wetstring_proto::engine::{Command, Engine, Event, Outcome};
use wetstring_proto::file::Store;
use wetstring_proto::stats::Stats;
use wetstring_proto::trace::Trace;

/// Sees what happens, and says what the person wants.
pub trait Watch {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>, stats: &Stats) {
        let _ = (event, stats);
    }
    /// Time has passed; called at most every [`RunOptions::progress_every`].
    fn progress(&mut self, stats: &Stats) {
        let _ = stats;
    }
    /// What the person wants now. Asked at every progress and whenever [`Watch::wake`] is ready.
    fn command(&mut self) -> Option<Command> {
        None
    }
    /// A descriptor that becomes readable when [`Watch::command`] has something, such as the
    /// keyboard. [`Watch::command`] must then read it, or it stays ready.
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Sees nothing, wants nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWatch;

impl Watch for NoWatch {}

/// How to run.
pub struct RunOptions<'a> {
    /// Takes the engine's trace. `NoTrace` costs nothing.
    pub trace: &'a mut dyn Trace,
    /// Ctrl-C and its relatives: the first makes the engine abort in good order, the second ends
    /// at once.
    pub signals: Option<&'a Signals>,
    /// The shortest time between two calls of [`Watch::progress`]. 100 ms unless set.
    pub progress_every: Duration,
    /// After an abort, how long the partner may take to be told. 1 s unless set.
    pub abort_grace: Duration,
    /// The clock; its zero is the trace's zero.
    pub clock: crate::clock::Clock,
    /// Bytes that came before the engine was made (recognition of the protocol, the last
    /// engine's [`Ended::leftover`]); the engine gets them first.
    pub before: &'a [u8],
    /// Serve on after the outcome is fixed, to repeat a lost last acknowledgement: `None` lets
    /// the port decide (not where it is reliable).
    pub linger: Option<bool>,
}

impl<'a> RunOptions<'a> {
    /// The defaults, with this trace.
    pub fn new(trace: &'a mut dyn Trace) -> Self {
        Self {
            trace,
            signals: None,
            progress_every: Duration::from_millis(100),
            abort_grace: Duration::from_secs(1),
            clock: crate::clock::Clock::start(),
            before: &[],
            linger: None,
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// The engine's outcome, or the line's failure if the engine had none.
    pub outcome: Outcome,
    /// The engine's counters at the end.
    pub stats: Stats,
    /// Bytes read from the port that the engine did not take: they belong to the next protocol
    /// or to the shell's prompt.
    pub leftover: Vec<u8>,
    /// How long it took.
    pub elapsed: Duration,
    /// The signal that ended it, if one did.
    pub interrupted: Option<i32>,
    /// What the system said when the port failed, if it did.
    pub error: Option<std::io::Error>,
}

/// Turns `engine` until it ends, the port closes, or a second signal comes.
pub fn run(
    engine: &mut dyn Engine,
    port: &mut dyn Port,
    store: &mut dyn Store,
    watch: &mut dyn Watch,
    options: RunOptions<'_>,
) -> Ended {
    let _ = (engine, port, store, watch, options);
    todo!()
}
