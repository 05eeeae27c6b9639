//! Signals that the test process inherited as ignored.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::AtomicBool;

/// Children handle the signals of a terminal, even where the tests run in the background or under `nohup`.
///
/// A child inherits that a signal is ignored, but not that it is handled. Here it still ends the tests.
///
/// # Panics
///
/// If the system allows no handler.
pub fn handle_terminal_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [SIGINT, SIGHUP, SIGQUIT] {
            let ends = Arc::new(AtomicBool::new(true));
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, ends)
                .expect("a handler for a signal");
        }
    });
}
