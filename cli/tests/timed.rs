//! The tests of the program that measure how fast or how soon something is. They wait for lines most of the time, and run
//! together, but not beside the rest (`all`), which keeps the processor busy; those with the narrowest bounds take turns.

mod common;
mod peers;

mod endings;
mod explain;
mod interop_ckermit_ends;
mod interop_line;
mod interop_lrzsz_flags;
mod interop_lrzsz_line;
mod lab_check;
mod ncp_subnet;
mod netblt_network;
mod netblt_pace;
mod personality_peers;
mod progress;
mod quit;
mod slip;
mod wrong_peer;

use std::sync::{Condvar, Mutex, PoisonError};

/// How many of those that take turns run at once.
const AT_ONCE: usize = 2;

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// A test's turn, which lasts as long as this.
pub(crate) struct Turn;

/// Waits until fewer than two of the tests that ask run.
pub(crate) fn turn() -> Turn {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut running = ENDED
        .wait_while(running, |running| *running >= AT_ONCE)
        .unwrap_or_else(PoisonError::into_inner);
    *running += 1;
    Turn
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}
