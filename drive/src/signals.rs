//! Ctrl-C and the like.
//!
//! The first SIGINT, SIGTERM or SIGHUP wakes [`run()`](crate::run()) or [`open`](crate::open()), which then
//! ends cleanly. The second one ends hard: after half a second in which the program may still end by itself,
//! terminals are restored and the process exits with 128 + the signal's number. SIGQUIT ends at once, as
//! expected by a user who wants a core dump; but terminals are restored first.

use crate::event::{self, Interest, Source};
use crate::os::process::INT;
use crate::os::signals;
use crate::os::stream::{self, Stream};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The signals of this process, as a count and something to wait for. Cheap to clone; all clones share the
/// state.
#[derive(Clone, Debug)]
pub struct Signals(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    count: AtomicUsize,
    last: AtomicI32,
    first: Mutex<Option<Instant>>,
    reader: Stream,
    writer: Stream,
}

impl Shared {
    fn first(&self) -> MutexGuard<'_, Option<Instant>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The instance made by [`Signals::install`].
static INSTALLED: Mutex<Option<Signals>> = Mutex::new(None);

/// How long a program may take to end cleanly after the first signal.
const END_WITHIN: Duration = Duration::from_secs(1);
/// How long a program may take to end by itself after the second signal.
const HARD_AFTER: Duration = Duration::from_millis(500);

impl Signals {
    /// Handles SIGINT, SIGTERM, SIGHUP and SIGQUIT, except those that the process was started to ignore
    /// (`nohup`, background jobs), and makes SIGXFSZ an error of the write, as SIGPIPE already is in a Rust
    /// program. Every call returns the same signals.
    pub fn install() -> io::Result<Self> {
        let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signals) = installed.as_ref() {
            return Ok(signals.clone());
        }
        let signals = Self::detached()?;
        let told = signals.clone();
        signals::install(move |signal| {
            told.raise(signal);
            if told.count() >= 2 {
                std::thread::sleep(HARD_AFTER);
                if told.count() >= 2 {
                    crate::terminal::restore_all();
                    std::process::exit(128 + signal);
                }
            }
        })?;
        *installed = Some(signals.clone());
        Ok(signals)
    }

    /// Signals raised only by [`Signals::raise`]: for tests and for hosts with their own handling.
    pub fn detached() -> io::Result<Self> {
        let (reader, writer) = stream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self(Arc::new(Shared {
            count: AtomicUsize::new(0),
            last: AtomicI32::new(0),
            first: Mutex::new(None),
            reader,
            writer,
        })))
    }

    /// As if this signal had arrived.
    pub fn raise(&self, signal: i32) {
        self.0.first().get_or_insert_with(Instant::now);
        // After one that ends the program Ctrl-C says no more.
        if signal != INT || self.count() == 0 {
            self.0.last.store(signal, Ordering::SeqCst);
        }
        self.0.count.fetch_add(1, Ordering::SeqCst);
        // A full pipe is as good as one more byte in it: it is readable.
        let _ = (&self.0.writer).write(&[0]);
    }

    /// Number of signals so far.
    pub fn count(&self) -> usize {
        self.0.count.load(Ordering::SeqCst)
    }

    /// The last signal.
    pub fn last(&self) -> Option<i32> {
        (self.count() > 0).then(|| self.0.last.load(Ordering::SeqCst))
    }

    /// Time since the first signal.
    pub fn since_first(&self) -> Option<Duration> {
        self.0.first().map(|first| first.elapsed())
    }

    /// Time limit for [`Port::finish`](crate::Port::finish), which ends within twice its patience: `usual`, or
    /// after a signal the rest of one second since then.
    pub fn patience(&self, usual: Duration) -> Duration {
        self.since_first().map_or(usual, |past| usual.min(END_WITHIN.saturating_sub(past) / 2))
    }

    /// The signals that [`Signals::install`] handles, if it was called.
    pub fn installed() -> Option<Self> {
        INSTALLED.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Readable when an unhandled signal has arrived.
    pub fn source(&self) -> Source<'_> {
        Source::of(&self.0.reader)
    }

    /// Makes [`Signals::source`] wait for the next one. [`Signals::count`] stays.
    pub fn noticed(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.0.reader).read(&mut bytes), Ok(len) if len == bytes.len()) {}
    }

    /// Forgets past signals: the next one counts as the first again.
    pub fn reset(&self) {
        self.noticed();
        *self.0.first() = None;
        self.0.count.store(0, Ordering::SeqCst);
    }

    /// Forgets Ctrl-C, which was for what is over. A signal that ends the program stays.
    pub fn forget_interrupts(&self) {
        let seen = self.count();
        // One that arrives meanwhile is not forgotten with it.
        if self.last() == Some(INT)
            && self.0.count.compare_exchange(seen, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        {
            *self.0.first() = None;
            self.noticed();
        }
    }

    /// Waits until `interest` is ready or `timeout` has passed; returns whether it is. A signal ends it early with
    /// its number.
    pub(crate) fn wait(
        signals: Option<&Self>,
        interest: Interest<'_>,
        timeout: Option<Duration>,
    ) -> Result<io::Result<bool>, i32> {
        if let Some(signal) = signals.and_then(Self::last) {
            return Err(signal);
        }
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let wake = signals.map_or(interest.source, Self::source);
        let used = if signals.is_some() { 2 } else { 1 };
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let mut interests = [interest, Interest::read(wake)];
            let result = event::wait(&mut interests[..used], left);
            if let Some(signal) = signals.and_then(Self::last) {
                return Err(signal);
            }
            // It may have been interrupted.
            let over = left.is_some_and(|left| left.is_zero());
            match result {
                Ok(false) if !over => {}
                result => return Ok(result.map(|_| interests[0].is_ready())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SIGTERM.
    const TERM: i32 = 15;

    #[test]
    fn only_interrupts_are_forgotten() {
        let signals = Signals::detached().expect("a socket");
        for (came, left) in [
            (&[INT][..], None),
            (&[INT, INT], None),
            (&[TERM], Some(TERM)),
            (&[INT, TERM], Some(TERM)),
            (&[TERM, INT], Some(TERM)),
        ] {
            signals.reset();
            for signal in came {
                signals.raise(*signal);
            }
            signals.forget_interrupts();
            assert_eq!(signals.last(), left, "{came:?}");
            // What is forgotten wakes nothing any more.
            let wakes = (&signals.0.reader).read(&mut [0]).is_ok();
            assert_eq!(wakes, left.is_some(), "{came:?}");
        }
    }
}
