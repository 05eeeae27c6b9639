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

mod stores;
#[cfg(feature = "std")]
mod stream;
#[cfg(feature = "std")]
pub use stream::Stream;

pub use stores::{Incoming, Outgoing, Piece};

/// Bytes that are read at once.
const READ: usize = 512;
/// The longest wait for the wire where no timer runs.
const LONG: Duration = Duration::from_secs(60);

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
    let (mut input, mut from, mut to) = ([0; READ], 0, 0);
    loop {
        while let Some(event) = engine.event() {
            watch(&event);
        }
        let now = wire.now();
        if let Some(request) = engine.request() {
            let reply = store.answer(request);
            engine.reply(&mut Cx { now, trace: &mut *trace }, reply);
            continue;
        }
        let bytes = engine.transmit(&mut Cx { now, trace: &mut *trace });
        if !bytes.is_empty() {
            match wire.write(bytes) {
                Ok(len) => engine.transmitted(&mut Cx { now, trace: &mut *trace }, len),
                Err(error) => return engine.if_closed().ok_or(error),
            }
            continue;
        }
        if let crate::Status::Over(outcome) = engine.status() {
            wire.unread(input.get(from..to).unwrap_or_default());
            return Ok(outcome);
        }
        if from < to {
            let rest = input.get(from..to).unwrap_or_default();
            let taken = engine.receive(&mut Cx { now, trace: &mut *trace }, rest);
            from += taken;
            if taken > 0 {
                continue;
            }
        }
        let patience = engine.deadline().map_or(LONG, |at| at.since(now));
        // What the engine does not take now it takes after a timer.
        if from == to && !patience.is_zero() {
            match wire.read(&mut input, patience) {
                Ok(len) => (from, to) = (0, len.min(READ)),
                Err(error) => return engine.if_closed().ok_or(error),
            }
        }
        if from == to {
            let now = wire.now();
            engine.tick(&mut Cx { now, trace: &mut *trace });
        } else if patience.is_zero() {
            engine.tick(&mut Cx { now, trace: &mut *trace });
        }
    }
}
