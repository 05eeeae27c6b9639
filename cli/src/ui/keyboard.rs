//! Keys during a transfer: cancel a file, the batch, or everything.
//!
//! Active only if stdin and stderr are the terminal, with this program in the foreground, and only once a
//! file is in transfer: before that a program such as `ssh` may ask for a password there.

use std::io::{IsTerminal as _, stderr};
use wetstring_drive::event::{Source, is_readable};
use wetstring_drive::terminal::{self, Restore};
use wetstring_proto::Command;

/// The message about the keys.
pub(crate) const HELP: &str =
    "keys: x cancels this file, z this and all that follow, e ends with an error";

/// The same for the help.
pub(crate) const IN_HELP: &str = "Keys while a file moves: x cancels this file, z this and all \
     that follow, e ends with an error; Ctrl-C ends too";

/// The terminal in single-key mode; dropping this restores it.
pub(crate) struct Keys {
    restore: Option<Restore>,
    gone: bool,
}

impl Keys {
    /// Enables the keys, if there is a terminal.
    pub(crate) fn take() -> Option<Self> {
        if !(stderr().is_terminal() && in_front()) {
            return None;
        }
        let restore = terminal::stdin::keys().ok()?;
        Some(Self { restore: Some(restore), gone: false })
    }

    /// Readable when a key was pressed. In the background the keys are the shell's.
    pub(crate) fn wake(&self) -> Option<Source<'static>> {
        (!self.gone && in_front()).then(terminal::stdin::source)
    }

    /// The command of a pressed key, if any.
    pub(crate) fn command(&mut self) -> Option<Command> {
        if !is_readable(self.wake()?) {
            return None;
        }
        let mut pressed = [0; 64];
        let len = terminal::stdin::read(&mut pressed).unwrap_or(0);
        // The terminal is closed.
        self.gone = len == 0;
        pressed[..len].iter().find_map(|key| meaning(*key))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // The shell has restored its terminal already; a background change would stop this process.
        if !in_front()
            && let Some(restore) = self.restore.take()
        {
            std::mem::forget(restore);
        }
    }
}

/// Whether this program is in the foreground of the terminal.
fn in_front() -> bool {
    terminal::stdin::has_user()
}

/// The command of a key.
const fn meaning(key: u8) -> Option<Command> {
    Some(match key {
        b'x' | b'X' => Command::CancelFile,
        b'z' | b'Z' => Command::CancelBatch,
        b'e' | b'E' => Command::Abort,
        _ => return None,
    })
}
