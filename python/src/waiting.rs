//! Waiting for a thread without holding the interpreter, and with an ear for Ctrl-C.

use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long Ctrl-C may stay unnoticed.
const LOOK: Duration = Duration::from_millis(50);

/// A lock whose holder never panics while it holds it, or whose data is good anyway.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next item, within this time; `None` if there was none, or if there will be no more.
///
/// # Errors
///
/// What a handler of a signal raises, such as `KeyboardInterrupt`.
pub(crate) fn next<T: Send>(
    py: Python<'_>,
    from: &Mutex<Receiver<T>>,
    patience: Option<Duration>,
) -> PyResult<Option<T>> {
    let until = patience.map(|patience| Instant::now() + patience);
    loop {
        let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
        match py.detach(|| locked(from).recv_timeout(left.min(LOOK))) {
            Ok(item) => return Ok(Some(item)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
    }
}

/// A time in seconds as Python writes it.
pub(crate) fn seconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time.max(0.0)).unwrap_or(Duration::MAX)
}

/// The number of the signal that Ctrl-C is.
pub(crate) const INTERRUPT: i32 = 2;
