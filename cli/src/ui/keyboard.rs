//! Keys during a transfer: cancel a file, the batch, or everything.
//!
//! Active only if stdin and stderr are the terminal, with this program in the foreground, and only once a
//! file is in transfer: before that a program such as `ssh` may ask for a password there.

use std::io::{IsTerminal as _, stderr};
use std::time::{Duration, Instant};

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
    typed: Typed,
}

impl Keys {
    /// Enables the keys, if there is a terminal.
    pub(crate) fn take() -> Option<Self> {
        if !(stderr().is_terminal() && in_front()) {
            return None;
        }
        let restore = terminal::stdin::keys().ok()?;
        Some(Self { restore: Some(restore), gone: false, typed: Typed::default() })
    }

    /// Readable when a key was pressed. In the background the keys are the shell's.
    pub(crate) fn wake(&self) -> Option<Source<'static>> {
        (!self.gone && in_front()).then(terminal::stdin::source)
    }

    /// The command of a pressed key, if any.
    pub(crate) fn command(&mut self) -> Option<Command> {
        let now = Instant::now();
        if is_readable(self.wake()?) {
            let mut pressed = [0; 64];
            let len = terminal::stdin::read(&mut pressed).unwrap_or(0);
            // The terminal is closed.
            self.gone = len == 0;
            pressed[..len].iter().for_each(|key| self.typed.key(now, *key));
        }
        self.typed.command(now)
    }
}

/// Tells a key from text: who types the shell's next command ahead does not mean to cancel.
#[derive(Debug, Default)]
struct Typed {
    /// The first key since the last text, and when the last one was pressed.
    pending: Option<(Command, Instant)>,
    /// Text was typed at this time.
    text: Option<Instant>,
}

/// A key counts when no text has followed for this long.
const ALONE: Duration = Duration::from_millis(250);
/// What follows text within this time is text.
const TEXT: Duration = Duration::from_secs(2);

impl Typed {
    fn key(&mut self, now: Instant, key: u8) {
        if self.text.is_some_and(|typed| now - typed >= TEXT) {
            self.text = None;
        }
        match meaning(key) {
            Some(command) if self.text.is_none() => {
                self.pending = Some((self.pending.map_or(command, |(first, _)| first), now));
            }
            // Many look for help, or press Enter after it.
            None if key == b'?' || matches!(key, b'\r' | b'\n') && self.text.is_none() => {}
            _ => {
                self.pending = None;
                self.text = Some(now);
            }
        }
    }

    fn command(&mut self, now: Instant) -> Option<Command> {
        self.pending.take_if(|(_, pressed)| now - *pressed >= ALONE).map(|(command, _)| command)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands of these keys, each pressed that many milliseconds after the last.
    fn commands(keys: &[(u64, u8)]) -> Vec<Command> {
        let (mut typed, mut now) = (Typed::default(), Instant::now());
        let mut commands = Vec::new();
        for (after, key) in keys {
            now += Duration::from_millis(*after);
            commands.extend(typed.command(now));
            typed.key(now, *key);
            commands.extend(typed.command(now));
        }
        commands.extend(typed.command(now + ALONE));
        commands
    }

    #[test]
    fn a_key_alone_is_a_command() {
        assert_eq!(commands(&[(0, b'x')]), [Command::CancelFile]);
        assert_eq!(commands(&[(0, b'x'), (100, b'\n')]), [Command::CancelFile]);
        assert_eq!(commands(&[(0, b'?'), (0, b'x'), (30, b'x')]), [Command::CancelFile]);
        let both = [Command::CancelFile, Command::Abort];
        assert_eq!(commands(&[(0, b'x'), (900, b'e')]), both);
        assert_eq!(commands(&[(0, b'l'), (0, b's'), (5000, b'z')]), [Command::CancelBatch]);
    }

    #[test]
    fn text_is_not() {
        for text in ["exit\n", "ls -x\n", "make zImage\n", "zz top"] {
            for between in [0, 120] {
                let keys: Vec<_> = text.bytes().map(|key| (between, key)).collect();
                assert_eq!(commands(&keys), [], "{text} {between}");
            }
        }
    }
}
