//! What the loop is given besides the engine, and what it returns.

use crate::clock::Clock;
use crate::event::Source;
use crate::signals::Signals;
use std::io;
use std::time::Duration;
use wetstring_proto::engine::{Command, Event, Outcome};
use wetstring_proto::stats::Stats;
use wetstring_proto::trace::Trace;

/// Bytes per read: at least half the receive window of a fast TCP connection, as the streaming draft advises.
const READ_LEN: usize = 256 * 1024;

/// Observes events, and returns the user's commands.
pub trait Watch {
    /// An event.
    fn event(&mut self, event: &Event<'_>, stats: &Stats) {
        let _ = (event, stats);
    }
    /// Progress; called at most every [`RunOptions::progress_every`].
    fn progress(&mut self, stats: &Stats) {
        let _ = stats;
    }
    /// Bytes that were written and have not left the port, as far as is known, and whether its other side asks
    /// the user something. Called before each [`Watch::progress`].
    fn port(&mut self, unsent_bytes: u64, asks: bool) {
        let _ = (unsent_bytes, asks);
    }
    /// What has happened to the port. Called before [`Watch::progress`].
    fn news(&mut self, text: &str) {
        let _ = text;
    }
    /// The user's command, if any. Called at every progress and whenever [`Watch::wake`] is ready.
    fn command(&mut self) -> Option<Command> {
        None
    }
    /// What becomes readable when [`Watch::command`] has something, such as the keyboard.
    /// [`Watch::command`] must then read it, or it stays ready.
    fn wake(&self) -> Option<Source<'_>> {
        None
    }
}

/// Ignores events, has no commands.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoWatch;

impl Watch for NoWatch {}

/// Options of the loop.
pub struct RunOptions<'a> {
    /// Receives the engine's trace. `NoTrace` costs nothing.
    pub trace: &'a mut dyn Trace,
    /// Ctrl-C and the like: the first aborts the engine cleanly, the second ends at once.
    pub signals: Option<&'a Signals>,
    /// Minimum time between two calls of [`Watch::progress`]. Default 100 ms.
    pub progress_every: Duration,
    /// Time limit for the end: after an abort, to tell the peer; after the line has failed in one direction, to
    /// receive the rest. Default 1 s.
    pub grace: Duration,
    /// The clock; its zero is the trace's zero.
    pub clock: Clock,
    /// Bytes received before the engine was created (protocol detection, the previous engine's
    /// [`Ended::leftover`]); the engine gets them first.
    pub before: &'a [u8],
    /// How long to continue after the outcome is fixed, to retransmit a lost last acknowledgement: `None` lets
    /// the port decide (zero where it is reliable).
    pub linger: Option<bool>,
    /// Timeout after which a silent line is given up. `None` leaves that to the engine.
    pub silence: Option<Duration>,
    /// Time limit of the run.
    pub longest: Option<Duration>,
    /// Remaining time, if limited: it is read repeatedly, and may change. Code that shortens it raises a signal,
    /// so that the loop notices.
    pub left: Option<&'a dyn Fn() -> Option<Duration>>,
    /// Maximum bytes per read. Default 256 KiB.
    pub read_len: usize,
    /// The line is a terminal at which a user may sit: a single Ctrl-C, before the peer has sent anything, is
    /// theirs. It acts like the signal, which a raw terminal does not send.
    pub typed: bool,
}

impl<'a> RunOptions<'a> {
    /// The defaults, with this trace.
    pub fn new(trace: &'a mut dyn Trace) -> Self {
        Self {
            trace,
            signals: None,
            progress_every: Duration::from_millis(100),
            grace: Duration::from_secs(1),
            clock: Clock::start(),
            before: &[],
            linger: None,
            silence: None,
            longest: None,
            left: None,
            read_len: READ_LEN,
            typed: false,
        }
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Ended {
    /// The engine's outcome, or the line's failure if the engine had none.
    pub outcome: Outcome,
    /// The engine's final statistics.
    pub stats: Stats,
    /// Bytes read from the port that the engine did not accept: they belong to the next protocol or to the
    /// shell's prompt.
    pub leftover: Vec<u8>,
    /// Duration.
    pub elapsed: Duration,
    /// The signal that ended it, if any.
    pub interrupted: Option<i32>,
    /// The system error of the port, if it failed.
    pub error: Option<io::Error>,
}
