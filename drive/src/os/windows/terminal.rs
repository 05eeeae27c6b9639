//! The console, which must be restored however the program ends.

use super::event::Source;
use super::pump::Inbox;
use super::stream::{Stream, pair};
use crate::saved::{Before, Saved};
use std::io::{self, Read, Write};
use std::sync::OnceLock;
use winapi_util::HandleRef;
use winapi_util::console::{mode, set_mode};

/// `ENABLE_PROCESSED_INPUT`: Ctrl-C is a signal.
const PROCESSED: u32 = 0x1;
/// `ENABLE_LINE_INPUT`
const LINES: u32 = 0x2;
/// `ENABLE_ECHO_INPUT`
const ECHO: u32 = 0x4;
/// `ENABLE_VIRTUAL_TERMINAL_INPUT`: keys are the sequences that terminals send.
const SEQUENCES: u32 = 0x200;
/// `ENABLE_VIRTUAL_TERMINAL_PROCESSING`: the output understands sequences.
const UNDERSTANDS: u32 = 0x4;

/// What [`restore_all`] restores.
static SAVED: Saved<State> = Saved::new();

/// Which side of the console.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Input,
    Output,
}

impl Of {
    fn handle(self) -> HandleRef {
        match self {
            Self::Input => HandleRef::stdin(),
            Self::Output => HandleRef::stdout(),
        }
    }
}

/// A side and its mode.
struct State {
    of: Of,
    was: u32,
}

impl Before for State {
    fn is_of(&self, other: &Self) -> bool {
        self.of == other.of
    }

    fn restore(&self) {
        let _ = set_mode(self.of.handle(), self.was);
    }
}

/// A change that is undone when this is dropped, and when a second signal ends the program hard.
#[derive(Debug)]
#[must_use = "the change is undone at once when this is dropped"]
pub struct Restore(u64);

impl Restore {
    /// Changes the mode of a console, by removing bits and adding others.
    fn change(of: Of, without: u32, with: u32) -> io::Result<Self> {
        let was = mode(of.handle())?;
        set_mode(of.handle(), (was & !without) | with)?;
        Ok(Self(SAVED.add(State { of, was })))
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        SAVED.undo(self.0);
    }
}

/// Restores everything that a [`Restore`] still holds, the last change first.
pub fn restore_all() {
    SAVED.undo_all();
}

/// Where this process shows something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Out {
    /// Stdout.
    Stdout,
    /// Stderr.
    Stderr,
}

/// This process's stdout.
pub fn stdout() -> Out {
    Out::Stdout
}

/// This process's stderr.
pub fn stderr() -> Out {
    Out::Stderr
}

/// Writes all of it to a console, a pipe or a file, waiting as long as it takes.
///
/// # Errors
///
/// Those of the system, `BrokenPipe` if the reader has gone.
pub fn write_to(out: Out, bytes: &[u8]) -> io::Result<()> {
    match out {
        Out::Stdout => {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()
        }
        Out::Stderr => io::stderr().write_all(bytes),
    }
}

/// Columns and rows of the console; 80 and 24 where it does not tell.
pub fn size_of(out: Out) -> (u16, u16) {
    let handle = match out {
        Out::Stdout => HandleRef::stdout(),
        Out::Stderr => HandleRef::stderr(),
    };
    let told = winapi_util::console::screen_buffer_info(handle).map(|info| {
        let window = info.window_rect();
        (window.right - window.left + 1, window.bottom - window.top + 1)
    });
    let positive = |(columns, rows): (i16, i16)| {
        Some((u16::try_from(columns).ok()?, u16::try_from(rows).ok()?))
    };
    told.ok().and_then(positive).filter(|(c, r)| *c > 0 && *r > 0).unwrap_or((80, 24))
}

/// The argument with which this program would be a guard.
pub const GUARD: &str = "restore-the-terminal";

/// What restores the terminal if this process is killed: here the console does, which is the next program's.
#[derive(Debug)]
pub struct Guard(());

impl Guard {
    /// Nothing to start.
    pub fn start() -> Self {
        Self(())
    }
}

impl Drop for Guard {
    /// Its end is the end of what it guards, here as elsewhere.
    fn drop(&mut self) {}
}

/// Nothing to do.
///
/// # Errors
///
/// None.
#[allow(clippy::unnecessary_wraps)]
pub fn guard() -> io::Result<()> {
    Ok(())
}

/// New sizes of this process's console, which this system does not tell without reading its keys.
#[derive(Debug)]
pub struct Resizes(Stream, #[allow(dead_code)] Stream);

impl Resizes {
    /// They are not noticed.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn install() -> io::Result<Self> {
        let (never, held) = pair()?;
        Ok(Self(never, held))
    }

    /// Never readable.
    pub fn source(&self) -> Source<'_> {
        Source::bell(&self.0)
    }

    /// There was none.
    pub fn noticed(&self) -> bool {
        false
    }
}

/// What has been read from stdin, which has one thread as long as this process runs: bytes that it has read
/// ahead go to the next reader.
pub(super) fn keyboard() -> io::Result<&'static Inbox> {
    static KEYBOARD: OnceLock<Inbox> = OnceLock::new();
    if let Some(open) = KEYBOARD.get() {
        return Ok(open);
    }
    let made = Inbox::new(|into| io::stdin().lock().read(into))?;
    Ok(KEYBOARD.get_or_init(|| made))
}

/// This process's stdin.
pub mod stdin {
    use super::super::event::Source;
    use super::{ECHO, LINES, Of, PROCESSED, Restore, SEQUENCES, UNDERSTANDS, keyboard};
    use std::io::{self, IsTerminal};

    /// Readable when there is input.
    ///
    /// # Panics
    ///
    /// If there is no memory for a thread and a socket.
    pub fn source() -> Source<'static> {
        keyboard().expect("a thread and a socket for stdin").source()
    }

    /// Reads what there is, and waits for it.
    pub fn read(into: &mut [u8]) -> io::Result<usize> {
        keyboard()?.read_blocking(into)
    }

    /// Makes single keys readable: no echo, no line editing. Ctrl-C keeps its meaning.
    pub fn keys() -> io::Result<Restore> {
        Restore::change(Of::Input, LINES | ECHO, SEQUENCES)
    }

    /// Disables echo for a line.
    pub fn silent() -> io::Result<Restore> {
        Restore::change(Of::Input, ECHO, 0)
    }

    /// Makes the console raw: keys are bytes, Ctrl-C too.
    pub fn raw() -> io::Result<Restore> {
        Restore::change(Of::Input, LINES | ECHO | PROCESSED, SEQUENCES)
    }

    /// A line, with its end, of at most this many bytes.
    pub fn line(longest: u64) -> io::Result<Vec<u8>> {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while (line.len() as u64) < longest && read(&mut byte)? > 0 {
            line.push(byte[0]);
            if byte == [b'\n'] {
                break;
            }
        }
        Ok(line)
    }

    /// Whether a user is at it.
    pub fn has_user() -> bool {
        io::stdin().is_terminal()
    }

    /// Makes the output of the console understand sequences.
    pub(in crate::os::windows) fn sequences() -> io::Result<Restore> {
        Restore::change(Of::Output, 0, UNDERSTANDS)
    }
}
