//! The timer table: an enum of timers, one array.

use crate::time::Instant;

/// What runs out. A protocol uses those that it has; those that all have come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// Nothing is lent to the port before it.
    Pause,
    /// A session that has ended no longer listens.
    Linger,
    /// The line should have been quiet by then.
    Settle,
    /// The line is never quiet, it seems.
    Noise,
    /// A half duplex peer should have handed over the line.
    Turn,
    /// What was not answered is sent again.
    Repeat,
    /// Something that was left out should have come.
    Overdue,
    /// What comes next should have come.
    Front,
    /// Control messages are sent again.
    Control,
    /// The peer's last word is not waited for any more.
    Farewell,
}

/// Of a timer that does not run.
const NEVER: Instant = Instant(u64::MAX);

const COUNT: usize = Timer::Farewell as usize + 1;

/// When each of the first `N` timers runs out; [`NEVER`] if it does not run, which is half the size of an option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers<const N: usize = COUNT>([Instant; N]);

/// For engines that have to be small.
pub(crate) type FewTimers = Timers<{ Timer::Noise as usize + 1 }>;

impl<const N: usize> Default for Timers<N> {
    fn default() -> Self {
        Self([NEVER; N])
    }
}

impl<const N: usize> Timers<N> {
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.0[timer as usize] = at;
    }

    /// Sets it, or lets it run out sooner than it would have.
    pub(crate) fn set_earlier(&mut self, timer: Timer, at: Instant) {
        self.0[timer as usize] = at.min(self.0[timer as usize]);
    }

    /// Sets it, or stops it.
    pub(crate) fn put(&mut self, timer: Timer, at: Option<Instant>) {
        self.0[timer as usize] = at.unwrap_or(NEVER);
    }

    pub(crate) fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = NEVER;
    }

    pub(crate) fn get(&self, timer: Timer) -> Option<Instant> {
        Some(self.0[timer as usize]).filter(|at| *at != NEVER)
    }

    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        self.get(timer).is_some()
    }

    pub(crate) fn is_due(&self, timer: Timer, now: Instant) -> bool {
        self.get(timer).is_some_and(|at| at <= now)
    }

    /// Stops a timer that has run out; whether it had.
    pub(crate) fn expire(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.is_due(timer, now);
        if due {
            self.stop(timer);
        }
        due
    }

    /// When the first of those that run runs out.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.0.into_iter().min().filter(|at| *at != NEVER)
    }
}
