//! Ctrl-C and its relatives, and the terminal that must come back.
//!
//! The first SIGINT, SIGTERM or SIGHUP wakes whoever waits in [`crate::run`] or
//! [`crate::open`], who then ends in good order. The second one ends hard: terminals are set
//! back and the process exits with 128 + the signal's number.

use std::io;
use std::os::fd::BorrowedFd;

/// The signals of this process, as a count and a descriptor to wait on. Cheap to clone; all
/// clones see the same.
#[derive(Clone, Debug)]
pub struct Signals {}

impl Signals {
    /// Takes over SIGINT, SIGTERM and SIGHUP, and ignores SIGPIPE and SIGXFSZ (which then show
    /// as errors of the write). Every call returns the same signals.
    pub fn install() -> io::Result<Self> {
        todo!()
    }

    /// Signals that only [`Signals::raise`] raises: for tests and for hosts with their own
    /// handling.
    pub fn detached() -> io::Result<Self> {
        todo!()
    }

    /// As if this signal had come.
    pub fn raise(&self, signal: i32) {
        let _ = signal;
        todo!()
    }

    /// How many have come.
    pub fn count(&self) -> usize {
        todo!()
    }

    /// The last one that came.
    pub fn last(&self) -> Option<i32> {
        todo!()
    }

    /// Readable once one has come.
    pub fn fd(&self) -> BorrowedFd<'_> {
        todo!()
    }

    /// Forgets what came: the next signal counts as the first again.
    pub fn reset(&self) {
        todo!()
    }
}
