//! When nothing moves: the events to wait for, and the timeout.

use super::{SPIN, Turning};
use crate::event::{self, Interest};
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
        let mut ready = [false; 4];
        {
            let sources = [
                wants_input.then(|| Interest::read(self.port.read_source())),
                wants_output.then(|| Interest::write(self.port.write_source())),
                self.options.signals.map(|signals| Interest::read(signals.source())),
                self.watch.wake().map(Interest::read),
            ];
            let mut interests = [Interest::read(self.port.read_source()); 4];
            let mut used = 0;
            for interest in sources.into_iter().flatten() {
                interests[used] = interest;
                used += 1;
            }
            let interests = &mut interests[..used];
            let began = self.options.clock.now();
            let mut now = began;
            let asks = std::mem::take(&mut self.wrote) && wants_input && !wants_output;
            let mut quiet = true;
            if asks && self.may_spin && self.quick_answers >= QUICK_ANSWERS {
                while quiet && now.since(began) < SPIN {
                    // The peer may need this very processor.
                    std::thread::yield_now();
                    quiet = matches!(event::wait(interests, Some(Duration::ZERO)), Ok(false));
                    now = self.options.clock.now();
                }
            }
            if quiet {
                // An interrupted or failed wait just leads to the next turn, which finds the error.
                let _ = event::wait(interests, Some(timeout));
                now = self.options.clock.now();
            }
            let quick = asks && now.since(began) < SPIN;
            self.quick_answers = if quick { self.quick_answers.saturating_add(1) } else { 0 };
            let mut waited = interests.iter();
            for (ready, source) in ready.iter_mut().zip(&sources) {
                *ready = source.is_some() && waited.next().is_some_and(Interest::is_ready);
            }
        }
        // An error or a hang-up counts as ready: the read or write will return it.
        self.input_ready |= ready[0];
        self.output_ready |= ready[1] || !rest.is_zero();
        if ready[3] {
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
    pub(super) fn timeout(&self, rest: Duration) -> Duration {
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
        if rest.is_zero() { wait } else { wait.min(rest) }.max(SHORTEST_WAIT)
    }
}
