//! Terminals and descriptors that must be restored however the program ends.

use crate::event::{self, Interest, Source};
use crate::saved::{Before, Saved};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::stdio::stdin as keyboard;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcgetwinsize,
    tcsetattr,
};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

/// TERM names the terminal.
pub const HAVE_NAMES: bool = true;

/// What [`restore_all`] restores.
static SAVED: Saved<State> = Saved::new();

/// A descriptor and how it was.
struct State {
    fd: OwnedFd,
    was: Was,
}

enum Was {
    Settings(Termios),
    Flags(OFlags),
}

impl Before for State {
    /// Whether both are settings, or both flags, of one terminal.
    fn is_of(&self, other: &Self) -> bool {
        let device = |state: &Self| rustix::fs::fstat(&state.fd).ok().map(|stat| stat.st_rdev);
        matches!(
            (&self.was, &other.was),
            (Was::Settings(_), Was::Settings(_)) | (Was::Flags(_), Was::Flags(_))
        ) && device(self).is_some_and(|rdev| rdev != 0 && Some(rdev) == device(other))
    }

    fn restore(&self) {
        let _ = match &self.was {
            Was::Settings(settings) => tcsetattr(&self.fd, OptionalActions::Now, settings),
            Was::Flags(flags) => fcntl_setfl(&self.fd, *flags),
        };
    }
}

/// A change that is undone when this is dropped, and when a second signal ends the program hard.
#[derive(Debug)]
#[must_use = "the change is undone at once when this is dropped"]
pub struct Restore(u64);

impl Restore {
    /// Saves the settings of a terminal.
    pub fn settings(fd: impl AsFd) -> io::Result<Self> {
        let settings = tcgetattr(&fd)?;
        Self::remember(fd, Was::Settings(settings))
    }

    /// Makes a terminal raw: bytes pass unchanged, no echo, no special keys.
    pub fn raw(fd: impl AsFd) -> io::Result<Self> {
        let guard = Self::settings(&fd)?;
        make_raw(&fd)?;
        Ok(guard)
    }

    /// Makes single keys readable: no echo, no line editing. Ctrl-C and the like keep their meaning.
    pub fn keys(fd: impl AsFd) -> io::Result<Self> {
        let guard = Self::settings(&fd)?;
        let mut settings = tcgetattr(&fd)?;
        settings.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        settings.special_codes[SpecialCodeIndex::VMIN] = 1;
        settings.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&fd, OptionalActions::Now, &settings)?;
        Ok(guard)
    }

    /// Disables echo for a line.
    pub fn silent(fd: impl AsFd) -> io::Result<Self> {
        let guard = Self::settings(&fd)?;
        let mut settings = tcgetattr(&fd)?;
        settings.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&fd, OptionalActions::Flush, &settings)?;
        Ok(guard)
    }

    /// Makes a descriptor non-blocking. Affects all that share its open file.
    pub fn nonblocking(fd: impl AsFd) -> io::Result<Self> {
        let flags = fcntl_getfl(&fd)?;
        let guard = Self::remember(&fd, Was::Flags(flags))?;
        fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
        Ok(guard)
    }

    fn remember(fd: impl AsFd, was: Was) -> io::Result<Self> {
        let fd = fd.as_fd().try_clone_to_owned()?;
        Ok(Self(SAVED.add(State { fd, was })))
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
pub type Out = BorrowedFd<'static>;

/// This process's stdout.
pub fn stdout() -> Out {
    rustix::stdio::stdout()
}

/// This process's stderr.
pub fn stderr() -> Out {
    rustix::stdio::stderr()
}

/// Writes all of it to a terminal, a pipe or a file, waiting as long as it takes.
///
/// # Errors
///
/// Those of the system, `BrokenPipe` if the reader has gone.
pub fn write_to(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::io::write(fd, rest) {
            Ok(len) => rest = &rest[len..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                let _ = event::wait(&mut [Interest::write(fd.into())], None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The argument with which this program is a [`guard`].
pub const GUARD: &str = "restore-the-terminal";

/// A process that restores the user's terminal if this one is killed, as by signal 9, while it is raw.
///
/// The other process has a session of its own, so that neither the terminal's signals nor its rules for the
/// background concern it; it ends with this one.
#[derive(Debug)]
pub struct Guard(Option<(Child, UnixStream)>);

impl Guard {
    /// Starts it, if stdin is a terminal and this program can be started again. Without it only a kill is worse.
    pub fn start() -> Self {
        Self(isatty(keyboard()).then(|| Self::started().ok()).flatten())
    }

    fn started() -> io::Result<(Child, UnixStream)> {
        let (mut ours, theirs) = UnixStream::pair()?;
        let child = std::process::Command::new(std::env::current_exe()?)
            .arg(GUARD)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(keyboard().try_clone_to_owned()?)
            .stderr(Stdio::null())
            .spawn()?;
        // From here on it knows how the terminal was.
        ours.set_read_timeout(Some(GUARD_READY))?;
        ours.read_exact(&mut [0])?;
        Ok((child, ours))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some((mut child, mut line)) = self.0.take() {
            let _ = line.write_all(&[0]);
            drop(line);
            let _ = child.wait();
        }
    }
}

/// How long a guard may take to start.
const GUARD_READY: std::time::Duration = std::time::Duration::from_secs(2);

/// What the program does with [`GUARD`]: its stdin is the connection to the guarded process, its stdout the
/// terminal.
///
/// # Errors
///
/// Those of the system, if stdout is no terminal.
pub fn guard() -> io::Result<()> {
    rustix::process::setsid()?;
    let before = tcgetattr(stdout())?;
    let mut line = io::stdin().lock();
    rustix::io::write(keyboard(), &[0])?;
    // The guarded process says that all is well, or is killed.
    if line.read(&mut [0])? > 0 {
        return Ok(());
    }
    let mut raw = before.clone();
    set_raw(&mut raw);
    let now = tcgetattr(stdout())?;
    // Another program may have it by now.
    if now.local_modes == raw.local_modes && now.output_modes == raw.output_modes {
        tcsetattr(stdout(), OptionalActions::Now, &before)?;
    }
    Ok(())
}

/// New sizes of this process's terminal.
#[derive(Debug)]
pub struct Resizes(UnixStream);

impl Resizes {
    /// From now on they are noticed.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn install() -> io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGWINCH, writer)?;
        Ok(Self(reader))
    }

    /// Readable after a new size.
    pub fn source(&self) -> Source<'_> {
        Source::of(&self.0)
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

/// Columns and rows of a terminal; 80 and 24 where it does not tell.
pub fn size_of(fd: BorrowedFd<'_>) -> (u16, u16) {
    let told = tcgetwinsize(fd).map(|size| (size.ws_col, size.ws_row));
    told.ok().filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or((80, 24))
}

/// Raw mode without restoring, for our own PTY.
pub(crate) fn make_raw(fd: impl AsFd) -> io::Result<()> {
    let mut settings = tcgetattr(&fd)?;
    set_raw(&mut settings);
    tcsetattr(&fd, OptionalActions::Now, &settings)?;
    Ok(())
}

fn set_raw(settings: &mut Termios) {
    settings.make_raw();
    // A read takes what is available and never reports an empty line as end of file.
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
}

/// The speed of a terminal in bit/s, without restoring.
pub(crate) fn set_speed(fd: impl AsFd, rate_bps: u32) -> io::Result<()> {
    let mut settings = tcgetattr(&fd)?;
    settings.set_speed(rate_bps)?;
    tcsetattr(&fd, OptionalActions::Now, &settings)?;
    Ok(())
}

/// This process's stdin.
pub mod stdin {
    use super::Restore;
    use crate::event::Source;
    use rustix::process::getpgrp;
    use rustix::stdio::stdin;
    use rustix::termios::{isatty, tcgetpgrp};
    use std::io::{self, BufRead, Read};

    /// Readable when there is input.
    pub fn source() -> Source<'static> {
        stdin().into()
    }

    /// Reads what there is, and waits for it.
    pub fn read(into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(stdin(), into)?)
    }

    /// Leaves the keys to another reader. Nothing here has read more than it was asked for.
    pub fn let_go() {}

    /// [`Restore::keys`].
    pub fn keys() -> io::Result<Restore> {
        Restore::keys(stdin())
    }

    /// [`Restore::silent`].
    pub fn silent() -> io::Result<Restore> {
        Restore::silent(stdin())
    }

    /// [`Restore::raw`].
    pub fn raw() -> io::Result<Restore> {
        Restore::raw(stdin())
    }

    /// A line, with its end, of at most this many bytes.
    pub fn line(longest: u64) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        io::stdin().lock().take(longest).read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// Whether a user is at it: it is a terminal, and this process in its foreground.
    pub fn has_user() -> bool {
        isatty(stdin()) && tcgetpgrp(stdin()).is_ok_and(|front| front == getpgrp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_terminal_changes_restore_in_any_order() {
        let (_master, slave) = pty_process::blocking::open().expect("a pty");
        let modes = || tcgetattr(&slave).expect("its settings").local_modes;
        let before = modes();
        for first_ends_first in [true, false] {
            let first = Restore::keys(&slave).expect("a terminal");
            let second = Restore::silent(&slave).expect("a terminal");
            let (one, other) = if first_ends_first { (first, second) } else { (second, first) };
            drop(one);
            assert!(!modes().contains(LocalModes::ECHO), "it is still wanted");
            drop(other);
            assert_eq!(modes(), before);
        }
    }
}
