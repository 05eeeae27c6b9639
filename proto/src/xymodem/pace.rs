//! When to answer a peer that throws away what comes too soon (docs/decisions/020).

use crate::time::Duration;

/// The first pause that is tried when one turns out to be needed.
const FIRST: Duration = Duration::from_millis(2);
/// The longest pause that is learnt.
const LONGEST: Duration = Duration::from_millis(64);

/// Pauses before what we send.
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

    /// The pause before a block or an answer; zero as long as nothing was lost.
    pub(crate) fn block(&self) -> Duration {
        self.block
    }

    /// The pause before the answer to a start character.
    pub(crate) fn start(&self) -> Duration {
        self.start.max(self.block)
    }

    /// A block or an answer went unheard. The pause becomes longer than what is `set` only within what is learnt:
    /// `block_time` is the time of a short block on the line, zero if unknown. On a slow line the pause is not
    /// what helps, so it stays a small part of that.
    pub(crate) fn lost_block(&mut self, set: Duration, block_time: Duration) {
        let learnt = if block_time.is_zero() { LONGEST } else { LONGEST.min(block_time / 8) };
        self.block = (self.block * 2).max(FIRST).min(learnt.max(set));
    }

    /// The answer to a start character went unheard.
    pub(crate) fn lost_start(&mut self) {
        self.start = (self.start * 2).clamp(FIRST * 10, LONGEST * 4);
    }

    /// An answer to a start character was heard: later files need not wait as long.
    pub(crate) fn start_heard(&mut self, first: Duration) {
        if self.start <= first {
            self.start = first / 4;
        }
    }
}
