//! How long the receiver is awaited, and what happens when it says nothing.

use super::{Core, Flight};
use crate::engine::{Blame, Cx, FailureKind};
use crate::session::Timer;
use crate::time::{Duration, Instant};
use crate::trace::{Again, TraceEvent};
use crate::xymodem::states::Sending;

/// A receiver of a stream may never acknowledge the end of the batch. One that does is awaited,
/// so that its answer does not reach the next user of the line.
const BEHIND_STREAM: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(1));

impl Core {
    pub(super) fn answer_timeout(&self) -> Duration {
        let long = self.link.config.answer_timeout.get();
        match self.state {
            Sending::Goodbye if self.streaming => {
                let (least, most) = BEHIND_STREAM;
                (self.slowest * 2).clamp(least, most)
            }
            Sending::Eof | Sending::Goodbye if !self.streaming => {
                // Receivers do not linger for long after the end; lrzsz takes a second to answer. One that writes its flash
                // memory only now may take a minute.
                let usual = self.slowest * 2 + Duration::from_millis(1500);
                let silent = self.flight.map_or(0, |flight| flight.silent);
                let usual =
                    usual.max(Duration::from_secs(3)) * (1 << silent.saturating_sub(2).min(2));
                usual.min(long.max(Duration::from_secs(3)))
            }
            Sending::Confirm => long.min(Duration::from_secs(15)),
            _ => long,
        }
    }

    pub(super) fn patience(&self) -> Duration {
        self.link.config.patience.get()
    }

    /// How long the start character for the first block is awaited, if the block follows without one.
    fn go_wait(&self) -> Option<Duration> {
        let wait = Duration::from_millis(self.link.config.go_wait.into());
        (self.state == Sending::Go && !self.streaming && !wait.is_zero()).then_some(wait)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        match (self.state, self.flight) {
            _ if self.link.timers.is_running(Timer::Settle) => self.link.timers.get(Timer::Settle),
            (Sending::Invite | Sending::Go, _) if !self.invited => {
                self.base.map(|base| base + self.go_wait().unwrap_or(self.patience()))
            }
            (Sending::Confirm, _) => self.base.map(|base| base + self.answer_timeout()),
            (_, Some(Flight { left: Some(left), .. })) if self.queue.pending() == 0 => {
                Some(left + self.answer_timeout())
            }
            _ => None,
        }
    }

    pub(super) fn run_timers(&mut self, cx: &mut Cx<'_>) {
        if self.due().is_none_or(|due| due > cx.now) {
            return;
        }
        if self.link.timers.expire(Timer::Settle, cx.now) {
            return;
        }
        if self.go_wait().is_some() {
            return self.start_data(cx);
        }
        self.link.stats.timeouts += 1;
        let number = u64::from(self.number);
        let waiting_for = self.state.name();
        cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for, number });
        match self.state {
            Sending::Invite if self.exhausted => self.done(cx),
            Sending::Invite | Sending::Go => {
                self.fail(cx, Blame::Peer, FailureKind::Silence, true);
            }
            // It was acknowledged, and the peer sends no more.
            Sending::Confirm => self.close(cx),
            // It need not be acknowledged, and a shell may read the line by now.
            Sending::Goodbye if self.streaming => self.done(cx),
            _ => {
                let few = matches!(self.state, Sending::Data | Sending::Goodbye);
                let Some(flight) = &mut self.flight else { return };
                flight.silent += 1;
                if few && flight.silent > 2 {
                    return self.give_up(cx);
                }
                self.repeat(cx, Again::Timeout);
            }
        }
    }
}
