//! How a session ends.

use super::{Timer, Timers};
use crate::engine::{Cx, Outcome, Status};
use crate::time::{Duration, Instant};
use crate::trace::TraceEvent;

/// The trace word when an engine starts to end with a failure.
pub(crate) const FAILING: TraceEvent<'static> =
    TraceEvent::State { from: "running", to: "failing", input: "Failed" };

/// The phase of an engine's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Ending {
    /// Not ending.
    #[default]
    No,
    /// The outcome is fixed; the file must be closed and the last packets sent.
    LastPackets(Outcome),
    /// All is sent. Until [`Timer::Linger`] a lost last acknowledgement is repeated, or the peer's
    /// remaining output is discarded.
    Linger { outcome: Outcome },
    /// Finished.
    Over(Outcome),
}

impl Ending {
    /// Fixes the outcome. The first reason counts: false if there was one.
    pub(crate) fn fix(&mut self, outcome: Outcome) -> bool {
        let first = self.is_running();
        if first {
            *self = Self::LastPackets(outcome);
        }
        first
    }

    /// Fixes the outcome, and traces a failure.
    pub(crate) fn begin(&mut self, cx: &mut Cx<'_>, outcome: Outcome) -> bool {
        let first = self.fix(outcome);
        if first && let Outcome::Failed(_) = outcome {
            cx.trace.record(cx.now, &FAILING);
        }
        first
    }

    /// All is sent: lingers for `quiet`.
    pub(crate) fn linger<const N: usize>(
        &mut self,
        timers: &mut Timers<N>,
        now: Instant,
        outcome: Outcome,
        quiet: Duration,
    ) {
        *self = Self::Linger { outcome };
        timers.set(Timer::Linger, now + quiet);
    }

    /// Whether lingering is over at this time; the outcome then.
    pub(crate) fn lingered<const N: usize>(
        self,
        timers: &Timers<N>,
        now: Instant,
    ) -> Option<Outcome> {
        match self {
            Self::Linger { outcome } if timers.is_due(Timer::Linger, now) => Some(outcome),
            _ => None,
        }
    }

    /// Ends with the timer.
    pub(crate) fn tick<const N: usize>(&mut self, timers: &Timers<N>, now: Instant) {
        if let Some(outcome) = self.lingered(timers, now) {
            *self = Self::Over(outcome);
        }
    }

    /// The next deadline: last packets that do not leave are given up at
    /// `stalled`.
    pub(crate) fn deadline<const N: usize>(
        self,
        timers: &Timers<N>,
        stalled: Instant,
    ) -> Option<Instant> {
        match self {
            Self::No | Self::Over(_) => None,
            Self::LastPackets(_) => Some(stalled),
            Self::Linger { .. } => timers.get(Timer::Linger),
        }
    }

    pub(crate) fn is_running(self) -> bool {
        self == Self::No
    }

    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Over(_))
    }

    /// The public status.
    pub(crate) fn status(self) -> Status {
        match self {
            Self::No | Self::LastPackets(_) => Status::Running,
            Self::Linger { outcome } => Status::Lingering(outcome),
            Self::Over(outcome) => Status::Over(outcome),
        }
    }
}
