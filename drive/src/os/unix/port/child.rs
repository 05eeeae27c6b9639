//! Ending a child process: wait, ask, and only then kill.

use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Polling interval.
const LOOK: Duration = Duration::from_millis(5);
/// Maximum wait after each of hang-up and SIGTERM.
pub(super) const LONGEST_NOTICE: Duration = Duration::from_millis(500);
/// Minimum wait: a program that ends when asked must not be killed.
const SHORTEST_NOTICE: Duration = Duration::from_millis(20);

/// Waits until the child has ended; `None` if it has not by then. `meanwhile` is called between checks, to keep
/// its output moving.
pub(super) fn wait(
    child: &mut Child,
    patience: Duration,
    mut meanwhile: impl FnMut(),
) -> Option<ExitStatus> {
    let until = Instant::now() + patience;
    loop {
        meanwhile();
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            // It was reaped elsewhere.
            Err(_) => return None,
            Ok(None) => {}
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        std::thread::sleep(LOOK.min(left));
    }
}

/// Ends a child that has already lost its line: waits a little, then SIGTERM, then SIGKILL, each to its own id.
/// Always reaps it. With little `patience` each wait is a quarter of it.
pub(super) fn end(
    child: &mut Child,
    patience: Duration,
    mut meanwhile: impl FnMut(),
) -> Option<ExitStatus> {
    let notice = (patience / 4).clamp(SHORTEST_NOTICE, LONGEST_NOTICE);
    if let Some(status) = wait(child, notice, &mut meanwhile) {
        return Some(status);
    }
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    if let Some(status) = wait(child, notice, &mut meanwhile) {
        return Some(status);
    }
    let _ = child.kill();
    child.wait().ok()
}
