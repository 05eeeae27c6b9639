//! The timer table: an enum of timers, one array.

use crate::time::Instant;

/// The timers. Those common to all protocols come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// Output is paused until then.
    Pause,
    /// End of lingering.
    Linger,
    /// The line should be quiet by then.
    Settle,
    /// Longest wait for a quiet line.
    Noise,
    /// A half duplex peer should have sent its handshake character.
    Turn,
    /// Retransmission of what was not answered.
    Repeat,
    /// A missing packet should have arrived.
    Overdue,
    /// The next packet should have arrived.
    Front,
    /// Retransmission of control messages.
    Control,
    /// Longest wait for the peer's last packet.
    Farewell,
}

/// Value of a stopped timer.
const NEVER: Instant = Instant(u64::MAX);

const COUNT: usize = Timer::Farewell as usize + 1;

/// When each of the first `N` timers expires; [`NEVER`] if it is stopped, which is half the size of an option.
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

    /// Sets it, or moves it earlier.
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

    /// Stops a timer that has expired; whether it had.
    pub(crate) fn expire(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.is_due(timer, now);
        if due {
            self.stop(timer);
        }
        due
    }

    /// When the next timer expires.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.0.into_iter().min().filter(|at| *at != NEVER)
    }
}
