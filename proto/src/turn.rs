//! What a loop does next for an engine: the same for a wire that blocks and for one whose waits are futures.

use crate::engine::{AnyTrace, Cx, Engine, Event, Outcome, Status};
use crate::file::Store;
use crate::time::{Duration, Instant};

/// Bytes that are read at once.
const READ: usize = 512;
/// The longest wait for the wire where no timer runs.
const LONG: Duration = Duration::from_secs(60);

/// The bytes that were read and not yet taken.
pub(crate) struct Turn {
    input: [u8; READ],
    from: usize,
    to: usize,
}

/// What is to be done.
pub(crate) enum Step {
    /// Ask again.
    Again,
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
        Self { input: [0; READ], from: 0, to: 0 }
    }
}

impl Turn {
    /// Shows the events, answers a request, feeds the engine and its timers, and says what remains.
    pub(crate) fn next<E: Engine + ?Sized, S: Store + ?Sized>(
        &mut self,
        engine: &mut E,
        store: &mut S,
        trace: &mut AnyTrace<'_>,
        watch: &mut dyn FnMut(&Event<'_>),
        now: Instant,
    ) -> Step {
        while let Some(event) = engine.event() {
            watch(&event);
        }
        if let Some(request) = engine.request() {
            let reply = store.answer(request);
            engine.reply(&mut Cx { now, trace }, reply);
            return Step::Again;
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
        if patience.is_zero() {
            engine.tick(&mut Cx { now, trace });
            return Step::Again;
        }
        if self.from < self.to { Step::Rest(patience) } else { Step::Read(patience) }
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
