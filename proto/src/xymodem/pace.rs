//! Delays for a peer that discards input that comes too soon (docs/decisions/021).

use crate::time::Duration;

/// The first pause, when one turns out to be needed.
const FIRST: Duration = Duration::from_millis(2);
/// The longest learned pause.
const LONGEST: Duration = Duration::from_millis(64);

/// Pauses before output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Before a block or an answer.
    block: Duration,
    /// Before the first block after a start character.
    start: Duration,
}

impl Pace {
    pub(crate) fn new(block: Duration, start: Duration) -> Self {
        Self { block, start }
    }

    /// The pause before a block or an answer; zero until something is lost.
    pub(crate) fn block(&self) -> Duration {
        self.block
    }

    /// The pause before the answer to a start character.
    pub(crate) fn start(&self) -> Duration {
        self.start.max(self.block)
    }

    /// A block or an answer was lost. The pause exceeds what is `set` only within the learned limit:
    /// `block_time` is the time of a short block on the line, zero if unknown. On a slow line a pause does not
    /// help, so it stays a small part of that.
    pub(crate) fn lost_block(&mut self, set: Duration, block_time: Duration) {
        let learnt = if block_time.is_zero() { LONGEST } else { LONGEST.min(block_time / 8) };
        self.block = (self.block * 2).max(FIRST).min(learnt.max(set));
    }

    /// The answer to a start character was lost.
    pub(crate) fn lost_start(&mut self) {
        self.start = (self.start * 2).clamp(FIRST * 10, LONGEST * 4);
    }

    /// An answer to a start character got through: later files need not wait as long.
    pub(crate) fn start_heard(&mut self, first: Duration) {
        if self.start <= first {
            self.start = first / 4;
        }
    }
}
