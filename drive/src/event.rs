//! Waiting: for a port, a signal or the keyboard, with a timeout.
//!
//! A [`Source`] is what a system can wait for; what it is stands in `os/`. The loops of this crate wait in
//! [`wait`] alone, with nothing allocated for up to eight sources.
//!
//! ```
//! use wetstring_drive::{Signals, event::{Interest, wait}};
//! use std::time::Duration;
//!
//! let signals = Signals::detached().unwrap();
//! let mut interests = [Interest::read(signals.source())];
//! assert!(!wait(&mut interests, Some(Duration::ZERO)).unwrap());
//! signals.raise(2);
//! assert!(wait(&mut interests, None).unwrap() && interests[0].is_ready());
//! ```

use crate::os;
use std::io;
use std::time::Duration;

pub use os::event::Source;

/// What is waited for at one source, and whether it came.
#[derive(Clone, Copy, Debug)]
pub struct Interest<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) ready: bool,
}

impl<'a> Interest<'a> {
    /// Until the source is readable.
    pub fn read(source: Source<'a>) -> Self {
        Self { source, reads: true, writes: false, ready: false }
    }

    /// Until it is writable.
    pub fn write(source: Source<'a>) -> Self {
        Self { source, reads: false, writes: true, ready: false }
    }

    /// Until it is readable, and if `also`, or writable.
    pub fn read_and_write(source: Source<'a>, also: bool) -> Self {
        Self { writes: also, ..Self::read(source) }
    }

    /// Until it has hung up or failed.
    pub fn end(source: Source<'a>) -> Self {
        Self { reads: false, ..Self::read(source) }
    }

    /// Whether it is ready. A source that has hung up or failed is: the next read or write returns the error.
    pub fn is_ready(&self) -> bool {
        self.ready
    }
}

/// Waits until one of these is ready or the timeout has passed, without one for as long as it takes. Returns
/// whether one is ready; false if a signal has interrupted it.
///
/// # Errors
///
/// The system's, such as too little memory.
pub fn wait(interests: &mut [Interest<'_>], timeout: Option<Duration>) -> io::Result<bool> {
    os::event::wait(interests, timeout)
}

/// Whether this source is readable now.
pub fn is_readable(source: Source<'_>) -> bool {
    let mut interests = [Interest::read(source)];
    matches!(wait(&mut interests, Some(Duration::ZERO)), Ok(true))
}
