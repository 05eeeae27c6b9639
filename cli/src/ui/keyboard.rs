//! The keys of a person who watches a transfer: to cancel a file, the batch, or everything.
//!
//! Only where stdin and stderr are the terminal that this program is in front of, and only once a
//! file moves: before that a program such as `ssh` may ask for a password there.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::stdio::{stderr, stdin};
use rustix::termios::{isatty, tcgetpgrp};
use wetstring_drive::terminal::Restore;
use wetstring_proto::Command;

/// What a person must know.
pub(crate) const HELP: &str =
    "keys: x cancels this file, z this and all that follow, e ends with an error";

/// The same for the help.
pub(crate) const IN_HELP: &str = "Keys while a file moves: x cancels this file, z this and all \
     that follow, e ends with an error; Ctrl-C ends too";

/// The terminal, set so that single keys are read; it comes back when this is dropped.
pub(crate) struct Keys {
    restore: Option<Restore>,
    gone: bool,
}

impl Keys {
    /// Takes the keys, if there is a person to press them.
    pub(crate) fn take() -> Option<Self> {
        if !(isatty(stdin()) && isatty(stderr()) && in_front()) {
            return None;
        }
        let restore = Restore::keys(stdin()).ok()?;
        Some(Self { restore: Some(restore), gone: false })
    }

    /// Readable when a key was pressed. In the background the keys are the shell's.
    pub(crate) fn wake(&self) -> Option<BorrowedFd<'static>> {
        (!self.gone && in_front()).then(stdin)
    }

    /// What the person wants, if a key says so.
    pub(crate) fn command(&mut self) -> Option<Command> {
        let keyboard = self.wake()?;
        let mut fds = [PollFd::from_borrowed_fd(keyboard, PollFlags::IN)];
        if !matches!(poll(&mut fds, Some(&Timespec::default())), Ok(1..)) {
            return None;
        }
        let mut pressed = [0; 64];
        let len = rustix::io::read(keyboard, &mut pressed).unwrap_or(0);
        // Nothing more comes from a terminal that has gone.
        self.gone = len == 0;
        pressed[..len].iter().find_map(|key| meaning(*key))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // The shell has set its terminal back already; to touch it now would stop us.
        if !in_front()
            && let Some(restore) = self.restore.take()
        {
            std::mem::forget(restore);
        }
    }
}

/// Whether this program is the one that the terminal's keys go to.
fn in_front() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|front| front == getpgrp())
}

/// What a key means.
const fn meaning(key: u8) -> Option<Command> {
    Some(match key {
        b'x' | b'X' => Command::CancelFile,
        b'z' | b'Z' => Command::CancelBatch,
        b'e' | b'E' => Command::Abort,
        _ => return None,
    })
}
