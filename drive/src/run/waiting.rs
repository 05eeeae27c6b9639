//! When nothing moves: what is waited for, and how long.

use super::{SPIN, Turning};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::time::Duration;
use wetstring_proto::time::Instant;

/// A deadline in the past must not make the loop spin.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// This many quick answers in a row enable polling for [`SPIN`].
const QUICK_ANSWERS: u32 = 8;

impl Turning<'_, '_> {
    /// Waits for the port, a deadline, a signal or the user.
    pub(super) fn wait(&mut self) {
        let wants_input =
            self.hears && !self.input_ready && self.fed == self.filled && !self.ended();
        let blocked = self.speaks && (!self.output_ready || self.port.held());
        let rest = if blocked { self.port.rest() } else { Duration::ZERO };
        let wants_output = blocked && rest.is_zero();
        let timeout = self.timeout(rest);
        let mut ready = [PollFlags::empty(); 4];
        {
            let stand_in = self.port.read_fd();
            let sources = [
                wants_input.then(|| (self.port.read_fd(), PollFlags::IN)),
                wants_output.then(|| (self.port.write_fd(), PollFlags::OUT)),
                self.options.signals.map(|signals| (signals.fd(), PollFlags::IN)),
                self.watch.wake().map(|fd| (fd, PollFlags::IN)),
            ];
            let mut fds: [PollFd<'_>; 4] =
                std::array::from_fn(|_| PollFd::from_borrowed_fd(stand_in, PollFlags::empty()));
            let mut used = 0;
            for (fd, events) in sources.iter().flatten() {
                fds[used] = PollFd::from_borrowed_fd(*fd, *events);
                used += 1;
            }
            let began = self.options.clock.now();
            let mut now = began;
            let asks = std::mem::take(&mut self.wrote) && wants_input && !wants_output;
            let mut quiet = true;
            if asks && self.may_spin && self.quick_answers >= QUICK_ANSWERS {
                while quiet && now.since(began) < SPIN {
                    // The peer may need this very processor.
                    std::thread::yield_now();
                    quiet = poll(&mut fds[..used], Some(&Timespec::default())) == Ok(0);
                    now = self.options.clock.now();
                }
            }
            if quiet {
                // An interrupted or failed poll just leads to the next turn, which finds the error.
                let _ = poll(&mut fds[..used], Some(&timeout));
                now = self.options.clock.now();
            }
            let quick = asks && now.since(began) < SPIN;
            self.quick_answers = if quick { self.quick_answers.saturating_add(1) } else { 0 };
            let mut polled = fds[..used].iter();
            for (ready, source) in ready.iter_mut().zip(&sources) {
                if source.is_some() {
                    *ready = polled.next().map_or(PollFlags::empty(), PollFd::revents);
                }
            }
        }
        // An error or a hang-up counts as ready: the read or write will return it.
        self.input_ready |= !ready[0].is_empty();
        self.output_ready |= !ready[1].is_empty() || !rest.is_zero();
        if !ready[3].is_empty() {
            self.now = self.options.clock.now();
            self.ask_person();
        }
    }

    /// When the idle timeout or the time limit expires.
    pub(super) fn expires(&self) -> Option<Instant> {
        let silence = self.options.silence.map(|silence| self.stirred + silence);
        let longest = self.options.longest.map(|longest| self.started + longest);
        let left = self.options.left.and_then(|left| left()).map(|left| self.now + left);
        [silence, longest, left].into_iter().flatten().min()
    }

    /// How long to wait: for the next deadline, and while the port has a `rest`, for that.
    pub(super) fn timeout(&self, rest: Duration) -> Timespec {
        let grace = |since: Option<Instant>| since.map(|since| since + self.options.grace);
        let next = [
            self.engine.deadline(),
            self.abort_by,
            self.expires(),
            grace(self.broken_since),
            grace(self.ending_since),
        ]
        .into_iter()
        .flatten()
        .fold(self.next_progress, Instant::min);
        let wait = next.since(self.now);
        let wait = if rest.is_zero() { wait } else { wait.min(rest) }.max(SHORTEST_WAIT);
        Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
    }
}
