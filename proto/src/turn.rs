//! What a loop does next for an engine: the same for a wire that blocks and for one whose waits are futures.

use crate::engine::{AnyTrace, Cx, Engine, Event, Outcome, Status};
use crate::file::{Reply, Store};
use crate::time::{Duration, Instant};

/// Bytes that are read at once.
const READ: usize = 512;
/// The longest wait for the wire where no timer runs.
const LONG: Duration = Duration::from_secs(60);
/// A look at the wire.
const SHORT: Duration = Duration::from_millis(1);

/// The bytes that were read and not yet taken.
pub(crate) struct Turn {
    input: [u8; READ],
    from: usize,
    to: usize,
    /// The wire was looked at since a timer ran out.
    has_looked: bool,
}

/// What is to be done.
pub(crate) enum Step<'s> {
    /// Ask again.
    Again,
    /// Give the engine this, at the time that it is now: the store may have taken some.
    Reply(Reply<'s>),
    /// Write what the engine transmits.
    Write,
    /// Read into [`Turn::room`], and wait no longer than this; if nothing comes, a tick.
    Read(Duration),
    /// Let this time pass: the engine takes the rest of the input after a timer.
    Rest(Duration),
    /// Stop.
    Over(Outcome),
}

impl Default for Turn {
    fn default() -> Self {
        Self { input: [0; READ], from: 0, to: 0, has_looked: false }
    }
}

impl Turn {
    /// Shows the events, answers a request, feeds the engine and its timers, and says what remains.
    pub(crate) fn next<'s, E: Engine + ?Sized, S: Store + ?Sized>(
        &mut self,
        engine: &mut E,
        store: &'s mut S,
        trace: &mut AnyTrace<'_>,
        watch: &mut dyn FnMut(&Event<'_>),
        now: Instant,
    ) -> Step<'s> {
        while let Some(event) = engine.event() {
            watch(&event);
        }
        if let Some(request) = engine.request() {
            return Step::Reply(store.answer(request));
        }
        if !engine.transmit(&mut Cx { now, trace: &mut *trace }).is_empty() {
            return Step::Write;
        }
        if let Status::Over(outcome) = engine.status() {
            return Step::Over(outcome);
        }
        if self.from < self.to {
            let rest = self.input.get(self.from..self.to).unwrap_or_default();
            let taken = engine.receive(&mut Cx { now, trace: &mut *trace }, rest);
            self.from += taken;
            if taken > 0 {
                return Step::Again;
            }
        }
        let patience = engine.deadline().map_or(LONG, |at| at.since(now));
        let waits = self.from < self.to;
        if patience.is_zero() {
            // What came while the store worked stops the timer.
            if !waits && !core::mem::replace(&mut self.has_looked, true) {
                return Step::Read(SHORT);
            }
            self.has_looked = false;
            engine.tick(&mut Cx { now, trace });
            return Step::Again;
        }
        self.has_looked = false;
        if waits { Step::Rest(patience) } else { Step::Read(patience) }
    }

    /// Room for what is read.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.input
    }

    /// `len` bytes were read.
    pub(crate) fn filled(&mut self, len: usize) {
        self.from = 0;
        self.to = len.min(READ);
    }

    /// What the engine did not take.
    pub(crate) fn rest(&self) -> &[u8] {
        self.input.get(self.from..self.to).unwrap_or_default()
    }
}
