//! The end of a child process: waited for, asked, and only then killed.

use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Between two looks at a child.
const LOOK: Duration = Duration::from_millis(5);
/// How long a child may take after each of hang-up and SIGTERM.
const NOTICE: Duration = Duration::from_millis(500);

/// Waits until the child has ended; `None` if it has not by then. `meanwhile` is called between
/// looks, to keep its output moving.
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
            // Somebody else has reaped it.
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

/// Ends a child that has already lost its line: waits a little, then SIGTERM, then SIGKILL, each
/// to its own id. Always reaps it.
pub(super) fn end(child: &mut Child, mut meanwhile: impl FnMut()) -> Option<ExitStatus> {
    if let Some(status) = wait(child, NOTICE, &mut meanwhile) {
        return Some(status);
    }
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    if let Some(status) = wait(child, NOTICE, &mut meanwhile) {
        return Some(status);
    }
    let _ = child.kill();
    child.wait().ok()
}
