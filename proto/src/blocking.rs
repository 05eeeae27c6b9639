//! A loop that runs an engine on a wire that blocks: the whole of a program's part, where nothing else has to run.
//!
//! ```text
//! Wire: read, write, the time  <->  run()  <->  Engine
//!                                     |
//!                                   Store: the files
//! ```
//!
//! With the feature `std`, `Stream` makes a [`Wire`] of anything that is `Read` and `Write` and has a timeout of its own.

use crate::engine::{AnyTrace, Cx, Engine, Event, Outcome};
use crate::file::Store;
use crate::time::{Duration, Instant};
use crate::turn::{Step, Turn};

mod stores;
#[cfg(feature = "std")]
mod stream;
#[cfg(feature = "std")]
pub use stream::Stream;

pub use stores::{Incoming, Outgoing, Piece};

/// A line of bytes and a clock.
pub trait Wire {
    /// Why it failed.
    type Error;
    /// Reads what there is, and waits for the first byte no longer than `patience`; 0 if none came.
    fn read(&mut self, into: &mut [u8], patience: Duration) -> Result<usize, Self::Error>;
    /// Writes as much as fits, at least one byte.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error>;
    /// The time since some moment. It never goes back.
    fn now(&mut self) -> Instant;
    /// Lets this time pass, or less of it: the engine has paused and reads nothing. By default no time passes here, and the loop
    /// asks for the time until it has come.
    fn rest(&mut self, time: Duration) {
        let _ = time;
    }
    /// Takes what the engine did not: bytes after its end, such as those of a prompt.
    fn unread(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }
}

/// Runs an engine to its end.
///
/// A receiver lingers for some seconds in case its last acknowledgement was lost, unless its configuration says that
/// the line is reliable.
///
/// # Errors
///
/// If the wire fails before the outcome is certain. A failed transfer is an [`Outcome`].
pub fn run<W: Wire>(
    engine: &mut dyn Engine,
    wire: &mut W,
    store: &mut dyn Store,
    trace: &mut AnyTrace<'_>,
) -> Result<Outcome, W::Error> {
    run_watched(engine, wire, store, trace, &mut |_| {})
}

/// The same; `watch` is shown each event.
///
/// # Errors
///
/// As [`run`].
pub fn run_watched<W: Wire>(
    engine: &mut dyn Engine,
    wire: &mut W,
    store: &mut dyn Store,
    trace: &mut AnyTrace<'_>,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Outcome, W::Error> {
    let mut turn = Turn::default();
    loop {
        let now = wire.now();
        match turn.next(engine, store, trace, watch, now) {
            Step::Again => {}
            Step::Reply(reply) => {
                let now = wire.now();
                engine.reply(&mut Cx { now, trace: &mut *trace }, reply);
            }
            Step::Rest(time) => wire.rest(time),
            Step::Write => match wire.write(engine.transmit(&mut Cx { now, trace: &mut *trace })) {
                Ok(len) => engine.transmitted(&mut Cx { now, trace: &mut *trace }, len),
                Err(error) => return engine.if_closed().ok_or(error),
            },
            Step::Read(patience) => match wire.read(turn.room(), patience) {
                Ok(0) => {
                    let now = wire.now();
                    engine.tick(&mut Cx { now, trace: &mut *trace });
                }
                Ok(len) => turn.filled(len),
                Err(error) => return engine.if_closed().ok_or(error),
            },
            Step::Over(outcome) => {
                wire.unread(turn.rest());
                return Ok(outcome);
            }
        }
    }
}
