//! Who waits for keys, and whether they are being read.
//!
//! ```text
//! reader --Waiting--> Wanted --asked_for--> thread: looks at the console, reads
//!                            <--Reading----
//! ```

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A loop that waits again and again does not wait all the time.
const BETWEEN: Duration = Duration::from_millis(100);
/// A read of events that are there takes no longer. One that does has lost them to another program, and ends with the
/// next key.
const READ_WITHIN: Duration = Duration::from_millis(200);

#[derive(Debug)]
struct State {
    waiting: usize,
    until: Option<Instant>,
    reading: bool,
}

/// What the thread that reads keys is asked for. No lock is held while it reads, as that may block.
#[derive(Debug)]
pub(super) struct Wanted {
    state: Mutex<State>,
    changed: Condvar,
}

impl Wanted {
    pub(super) const fn new() -> Self {
        let state = State { waiting: 0, until: None, reading: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Someone waits for keys.
    pub(super) fn begin(&self) {
        self.state().waiting += 1;
        self.changed.notify_all();
    }

    /// And does so no more, but probably will soon.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.waiting -= 1;
        state.until = Some(Instant::now() + BETWEEN);
    }

    /// What was waited for is there: the next key is for the next wait.
    pub(super) fn satisfied(&self) {
        self.state().until = None;
    }

    /// Keys stay with the system from now on, until they are waited for.
    pub(super) fn let_go(&self) {
        let mut state = self.state();
        state.until = None;
        drop(self.changed.wait_timeout_while(state, READ_WITHIN, |state| state.reading));
    }

    /// Blocks until keys are waited for. They may be read as long as the result lives.
    pub(super) fn asked_for(&self) -> Reading<'_> {
        let idle = |state: &mut State| {
            state.waiting == 0 && state.until.is_none_or(|until| Instant::now() >= until)
        };
        let state = self.changed.wait_while(self.state(), idle);
        state.unwrap_or_else(PoisonError::into_inner).reading = true;
        Reading(self)
    }
}

/// Keys are being read.
#[derive(Debug)]
pub(super) struct Reading<'a>(&'a Wanted);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.state().reading = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
    use std::thread::{scope, sleep};

    /// How soon a thread does what it can.
    const SOON: Duration = Duration::from_secs(10);
    const NOT_YET: Duration = Duration::from_millis(50);

    #[track_caller]
    fn comes(what: &Receiver<()>) {
        assert_eq!(what.recv_timeout(SOON), Ok(()));
    }

    #[track_caller]
    fn stays_away(what: &Receiver<()>) {
        assert_eq!(what.recv_timeout(NOT_YET), Err(RecvTimeoutError::Timeout));
    }

    #[test]
    fn keys_are_read_only_while_they_are_waited_for() {
        let wanted = Wanted::new();
        scope(|threads| {
            let (tell, asked) = channel();
            let wanted = &wanted;
            let ask = || {
                let tell = tell.clone();
                threads.spawn(move || {
                    drop(wanted.asked_for());
                    tell.send(()).expect("the test");
                });
            };
            ask();
            stays_away(&asked);
            wanted.begin();
            comes(&asked);
            // Between two waits of a loop, too.
            wanted.end();
            ask();
            comes(&asked);
            sleep(BETWEEN);
            ask();
            stays_away(&asked);
            wanted.begin();
            comes(&asked);
            for stop in [Wanted::satisfied, Wanted::let_go] {
                wanted.end();
                stop(wanted);
                ask();
                stays_away(&asked);
                wanted.begin();
                comes(&asked);
            }
        });
    }

    #[test]
    fn a_read_that_blocks_keeps_no_one_waiting() {
        let wanted = Wanted::new();
        wanted.begin();
        let reading = wanted.asked_for();
        scope(|threads| {
            let (tell, done) = channel();
            let wanted = &wanted;
            threads.spawn(move || {
                wanted.begin();
                wanted.end();
                wanted.end();
                tell.send(()).expect("the test");
                wanted.let_go();
                tell.send(()).expect("the test");
            });
            comes(&done);
            comes(&done);
        });
        // A read that is soon over is waited for.
        scope(|threads| {
            let (tell, done) = channel();
            let wanted = &wanted;
            threads.spawn(move || {
                wanted.let_go();
                tell.send(()).expect("the test");
            });
            stays_away(&done);
            drop(reading);
            comes(&done);
        });
    }
}
