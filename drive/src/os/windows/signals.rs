//! Ctrl-C, Ctrl-Break, and the end of the console or the session.

use super::process::INT;
use std::io;

/// Calls `raise` on a thread of its own for each of them. The system does not say which it was.
pub(crate) fn install(raise: impl Fn(i32) + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(move || {
        super::console::give_up_line();
        raise(INT);
    })
    .map_err(io::Error::other)
}
