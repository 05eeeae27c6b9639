//! Signals of this process.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Calls `raise` on a thread of its own for each SIGINT, SIGTERM and SIGHUP, except those that the process was
/// started to ignore. SIGQUIT ends the process with its terminals restored; SIGXFSZ becomes an error of the write.
pub(crate) fn install(raise: impl Fn(i32) + Send + 'static) -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let ignored = ignored_mask();
    let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
        .into_iter()
        .filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut arriving = signal_hook::iterator::Signals::new(wanted)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in arriving.forever() {
            if signal == SIGQUIT {
                super::terminal::restore_all();
                let _ = signal_hook::low_level::emulate_default_handler(SIGQUIT);
            }
            raise(signal);
        }
    })?;
    Ok(())
}

/// The signals that this process was started to ignore, bit 0 for signal 1. Zero where the system does not
/// report them.
fn ignored_mask() -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
