//! Keys during a transfer: cancel a file, the batch, or everything.
//!
//! Active only if stdin and stderr are the terminal, with this program in the foreground, and only once a
//! file is in transfer: before that a program such as `ssh` may ask for a password there.

use rustix::process::getpgrp;
use rustix::stdio::{stderr, stdin};
use rustix::termios::{isatty, tcgetpgrp};
use wetstring_drive::event::{Source, is_readable};
use wetstring_drive::terminal::Restore;
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
        if !(isatty(stdin()) && isatty(stderr()) && in_front()) {
            return None;
        }
        let restore = Restore::keys(stdin()).ok()?;
        Some(Self { restore: Some(restore), gone: false })
    }

    /// Readable when a key was pressed. In the background the keys are the shell's.
    pub(crate) fn wake(&self) -> Option<Source<'static>> {
        (!self.gone && in_front()).then(|| stdin().into())
    }

    /// The command of a pressed key, if any.
    pub(crate) fn command(&mut self) -> Option<Command> {
        if !is_readable(self.wake()?) {
            return None;
        }
        let mut pressed = [0; 64];
        let len = rustix::io::read(stdin(), &mut pressed).unwrap_or(0);
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
    tcgetpgrp(stdin()).is_ok_and(|front| front == getpgrp())
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
