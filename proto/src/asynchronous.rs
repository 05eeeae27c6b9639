//! The loop of [`blocking`](crate::blocking) for `async` programs, in which other things run meanwhile.
//!
//! It needs no runtime: an [`AsyncWire`] brings the waits of whichever there is. `TokioStream` (feature `tokio`) and
//! `FuturesStream` (feature `futures`) make one of anything that is `AsyncRead` and `AsyncWrite` there. The stores are those of `blocking`.

use crate::engine::{Cx, Engine, Event, Outcome};
use crate::file::Store;
use crate::time::{Duration, Instant};
use crate::trace::NoTrace;
use crate::turn::{Step, Turn};

#[cfg(feature = "futures")]
mod futures_stream;
#[cfg(feature = "tokio")]
mod tokio_stream;
#[cfg(feature = "futures")]
pub use futures_stream::FuturesStream;
#[cfg(feature = "tokio")]
pub use tokio_stream::TokioStream;

/// A line of bytes and a clock, whose waits are futures.
// Whether they are `Send` is seen from the wire itself: `run` on one whose futures are can be spawned on any thread.
#[allow(async_fn_in_trait)]
pub trait AsyncWire {
    /// Why it failed.
    type Error;
    /// Reads what there is, and waits for the first byte no longer than `patience`; 0 if none came.
    async fn read(&mut self, into: &mut [u8], patience: Duration) -> Result<usize, Self::Error>;
    /// Writes as much as fits, at least one byte.
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error>;
    /// Lets this time pass.
    async fn rest(&mut self, time: Duration);
    /// The time since some moment. It never goes back.
    fn now(&mut self) -> Instant;
    /// Takes what the engine did not: bytes after its end, such as those of a prompt.
    fn unread(&mut self, bytes: &[u8]) {
        let _ = bytes;
    }
}

/// Runs an engine to its end, as [`blocking::run`](crate::blocking::run). A future that is dropped tells the peer nothing: to cancel, run it
/// to its end after [`Command::Abort`](crate::Command::Abort).
///
/// # Errors
///
/// If the wire fails before the outcome is certain. A failed transfer is an [`Outcome`].
pub async fn run<W: AsyncWire>(
    engine: &mut (impl Engine + ?Sized),
    wire: &mut W,
    store: &mut (impl Store + ?Sized),
) -> Result<Outcome, W::Error> {
    run_watched(engine, wire, store, |_| {}).await
}

/// The same; `watch` is shown each event.
///
/// # Errors
///
/// As [`run`].
pub async fn run_watched<W: AsyncWire>(
    engine: &mut (impl Engine + ?Sized),
    wire: &mut W,
    store: &mut (impl Store + ?Sized),
    mut watch: impl FnMut(&Event<'_>),
) -> Result<Outcome, W::Error> {
    let mut turn = Turn::default();
    loop {
        let now = wire.now();
        match turn.next(engine, store, &mut NoTrace, &mut watch, now) {
            Step::Again => {}
            Step::Reply(reply) => {
                engine.reply(&mut Cx { now: wire.now(), trace: &mut NoTrace }, reply);
            }
            Step::Rest(time) => wire.rest(time).await,
            Step::Write => {
                let bytes = engine.transmit(&mut Cx { now, trace: &mut NoTrace });
                match wire.write(bytes).await {
                    Ok(len) => engine.transmitted(&mut Cx { now, trace: &mut NoTrace }, len),
                    Err(error) => return engine.if_closed().ok_or(error),
                }
            }
            Step::Read(patience) => match wire.read(turn.room(), patience).await {
                Ok(0) => engine.tick(&mut Cx { now: wire.now(), trace: &mut NoTrace }),
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
