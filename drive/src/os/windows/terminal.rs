//! The console, which must be restored however the program ends.

use super::console::{self, Keyboard};
use super::event::Source;
use super::mode::{ECHO, LINES, MOUSE, ONLY_DOWN, PROCESSED, SEQUENCES, SIZES, UNDERSTANDS};
use super::pump::Inbox;
use super::stream::{Stream, pair};
use crate::saved::{Before, Saved};
use encoding_rs::{Decoder, UTF_8};
use std::io::{self, IsTerminal as _, Read, Write};
use std::sync::{Mutex, OnceLock, PoisonError};
use winapi_util::HandleRef;
use winapi_util::console::{mode, set_mode};

/// A console is known without TERM.
pub const HAVE_NAMES: bool = false;

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
pub struct Restore(Vec<u64>);

impl Restore {
    /// Changes the mode of a console, by removing bits and adding others.
    fn change(of: Of, without: u32, with: u32) -> io::Result<Self> {
        if of == Of::Input {
            // Wine shows keys itself until they are read.
            keyboard()?;
        }
        let was = mode(of.handle())?;
        set_mode(of.handle(), (was & !without) | with)?;
        Ok(Self(vec![SAVED.add(State { of, was })]))
    }

    /// With another change, which is undone first.
    fn and(mut self, mut other: Self) -> Self {
        self.0.append(&mut other.0);
        self
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        while let Some(last) = self.0.pop() {
            SAVED.undo(last);
        }
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
            if out.is_terminal() {
                out.write_all(characters(bytes).as_bytes())?;
            } else {
                out.write_all(bytes)?;
            }
            out.flush()
        }
        Out::Stderr => io::stderr().write_all(bytes),
    }
}

/// What a console can show, which is characters only: those of UTF-8, also if they come in parts. The library would
/// refuse all others.
fn characters(bytes: &[u8]) -> String {
    static DECODER: Mutex<Option<Decoder>> = Mutex::new(None);
    let mut decoder = DECODER.lock().unwrap_or_else(PoisonError::into_inner);
    let decoder = decoder.get_or_insert_with(|| UTF_8.new_decoder_without_bom_handling());
    let most = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len() * 3 + 16);
    let mut text = String::with_capacity(most);
    let _ = decoder.decode_to_string(bytes, &mut text, false);
    text
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

/// New sizes of this process's console, which are told among its keys, while those are raw and read.
#[derive(Debug)]
pub struct Resizes(Stream);

impl Resizes {
    /// From now on they are noticed.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn install() -> io::Result<Self> {
        let (reader, writer) = pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        console::tell_sizes(writer);
        Ok(Self(reader))
    }

    /// Readable after a new size.
    pub fn source(&self) -> Source<'_> {
        Source::bell(&self.0)
    }

    /// Whether there was one since the last call.
    pub fn noticed(&self) -> bool {
        let mut bytes = [0; 64];
        let mut any = false;
        while matches!((&self.0).read(&mut bytes), Ok(1..)) {
            any = true;
        }
        any
    }
}

/// What has been read from stdin, which has one thread as long as this process runs: bytes that it has read
/// ahead go to the next reader. Keys of a console stay with the system while nothing here waits for them.
pub(super) fn keyboard() -> io::Result<&'static Inbox> {
    static KEYBOARD: OnceLock<Inbox> = OnceLock::new();
    if let Some(open) = KEYBOARD.get() {
        return Ok(open);
    }
    let made = if io::stdin().is_terminal() {
        let mut keys = Keyboard::open()?;
        Inbox::of_keys(move |into| keys.read(into))?
    } else {
        Inbox::new(|into| io::stdin().lock().read(into))?
    };
    Ok(KEYBOARD.get_or_init(|| made))
}

/// This process's stdin.
pub mod stdin {
    use super::super::event::Source;
    use super::{ECHO, LINES, MOUSE, ONLY_DOWN, Of, PROCESSED, Restore, SEQUENCES, SIZES};
    use super::{UNDERSTANDS, console, keyboard};
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

    /// Leaves the keys to another reader, until something here waits for them again.
    pub fn let_go() {
        console::let_go();
    }

    /// Makes single keys readable: no echo, no line editing. Ctrl-C keeps its meaning.
    pub fn keys() -> io::Result<Restore> {
        Restore::change(Of::Input, LINES | ECHO, SEQUENCES)
            .or_else(|_| Restore::change(Of::Input, LINES | ECHO, 0))
    }

    /// Disables echo for a line.
    pub fn silent() -> io::Result<Restore> {
        Restore::change(Of::Input, ECHO, 0)
    }

    /// Makes the console raw: keys are bytes, Ctrl-C too, and LF moves down only.
    pub fn raw() -> io::Result<Restore> {
        let single = LINES | ECHO | PROCESSED | MOUSE;
        // Older systems have no sequences.
        let keys = Restore::change(Of::Input, single, SEQUENCES | SIZES)
            .or_else(|_| Restore::change(Of::Input, single, SIZES))?;
        // What the peer draws has sequences. A console that has none, or another stdout, shows what it can.
        Ok(match Restore::change(Of::Output, 0, UNDERSTANDS | ONLY_DOWN) {
            Ok(screen) => keys.and(screen),
            Err(_) => keys,
        })
    }

    /// A line, with its end, of at most this many bytes.
    pub fn line(longest: u64) -> io::Result<Vec<u8>> {
        line_of(|byte| Ok(read(byte)? > 0), has_user(), longest)
    }

    /// A line of bytes that are read one by one. Return ends it at a console also where that makes no lines, or made none
    /// when it was pressed.
    fn line_of(
        mut next: impl FnMut(&mut [u8; 1]) -> io::Result<bool>,
        at_console: bool,
        longest: u64,
    ) -> io::Result<Vec<u8>> {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while (line.len() as u64) < longest && next(&mut byte)? {
            if at_console && byte == [b'\r'] {
                byte = [b'\n'];
            }
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

    #[cfg(test)]
    mod tests {
        use super::line_of;

        #[test]
        fn return_ends_a_line_at_a_console_in_every_mode() {
            let line = |text: &[u8], at_console, longest| {
                let mut bytes = text.iter();
                let next = |to: &mut [u8; 1]| {
                    let byte = bytes.next();
                    to[0] = byte.copied().unwrap_or(0);
                    Ok(byte.is_some())
                };
                line_of(next, at_console, longest).expect("it reads")
            };
            assert_eq!(line(b"yes\rno\n", true, 99), b"yes\n");
            assert_eq!(line(b"yes\nno\n", true, 99), b"yes\n");
            assert_eq!(line(b"yes\r\nno\n", false, 99), b"yes\r\n");
            assert_eq!(line(b"yes", true, 99), b"yes");
            assert_eq!(line(b"yes\n", true, 2), b"ye");
        }
    }
}
