//! Waiting for what another process or thread does.

use std::time::{Duration, Instant};

/// Interval of checks.
const LOOK: Duration = Duration::from_millis(5);

/// Longest wait of [`wait_until`]: a machine that does much else is slow.
const LONGEST: Duration = Duration::from_secs(20);

/// The result of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Within {
    /// It became true.
    Done,
    /// It did not.
    Late,
}

/// Checks until `done`, for at most `limit`.
pub fn within(limit: Duration, mut done: impl FnMut() -> bool) -> Within {
    let end = Instant::now() + limit;
    loop {
        if done() {
            return Within::Done;
        }
        if Instant::now() >= end {
            return Within::Late;
        }
        std::thread::sleep(LOOK);
    }
}

/// Checks until `done`, for at most 20 seconds.
///
/// # Panics
///
/// If it does not become true: expected `what`.
#[track_caller]
pub fn wait_until(what: &str, done: impl FnMut() -> bool) {
    assert_eq!(within(LONGEST, done), Within::Done, "expected {what} within {LONGEST:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_has_an_end() {
        let mut checks = 0;
        let third = within(LONGEST, || {
            checks += 1;
            checks == 3
        });
        assert_eq!((third, checks), (Within::Done, 3));
        assert_eq!(within(Duration::ZERO, || false), Within::Late);
    }
}
