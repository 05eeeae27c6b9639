//! This process's own stdin and stdout: we are the remote end of another program's line.

use super::tmux;
use crate::event::Source;
use crate::port::{OpenError, Port, PortFacts};
use crate::terminal::Restore;
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// Bytes in a fast pipe: the system's limit for unprivileged users.
const PIPE_LEN: usize = 1 << 20;
/// A pipe is fast if this many bytes go through it within [`FAST_TIME`].
const FAST_LEN: usize = 1 << 20;
/// See [`FAST_LEN`].
const FAST_TIME: Duration = Duration::from_millis(10);

/// Stdin and stdout.
#[derive(Debug)]
pub(super) struct StdioLine {
    from: OwnedFd,
    to: OwnedFd,
    facts: PortFacts,
    restore: Vec<Restore>,
    from_pipe: Growing,
    to_pipe: Growing,
    /// tmux, around which the output goes.
    around: Option<tmux::Client>,
}

/// Enlarges a pipe once it has proved fast.
///
/// Two programs on a pipe of 64 KiB wait for each other; with a longer one they work in parallel. But data in a
/// pipe before a slow line cannot be taken back when the peer asks for something else, so a slow pipe stays as
/// it is.
#[derive(Debug, Default)]
struct Growing {
    /// When counting began; `None` if there is nothing to decide.
    since: Option<Instant>,
    moved: usize,
}

impl Growing {
    fn new(fd: &OwnedFd) -> Self {
        let pipe =
            fstat(fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
        Self { since: pipe.then(Instant::now), moved: 0 }
    }

    /// This many bytes have been moved through it.
    fn moved(&mut self, fd: &OwnedFd, len: Option<usize>) {
        let Some(since) = self.since else { return };
        self.moved += len.unwrap_or(0);
        if self.moved < FAST_LEN {
            return;
        }
        let now = Instant::now();
        if now - since < FAST_TIME {
            // Where the system does not allow it the pipe stays short, which only costs speed.
            super::lengthen(fd, PIPE_LEN);
            self.since = None;
        } else {
            *self = Self { since: Some(now), moved: 0 };
        }
    }
}

impl StdioLine {
    /// Makes both non-blocking, and raw if they are a terminal.
    pub(super) fn open() -> Result<Self, OpenError> {
        let failed = |error: io::Error| OpenError::io("use stdin and stdout", error);
        let mut restore = Vec::new();
        let stdin = rustix::stdio::stdin();
        let stdout = rustix::stdio::stdout();
        let terminal = [stdin, stdout].into_iter().find(|fd| rustix::termios::isatty(fd));
        let from = own(stdin, "/proc/self/fd/0", OFlags::RDONLY, &mut restore).map_err(failed)?;
        let to = own(stdout, "/proc/self/fd/1", OFlags::WRONLY, &mut restore).map_err(failed)?;
        if let Some(terminal) = terminal {
            restore.push(Restore::raw(terminal).map_err(failed)?);
        }
        let (around, to) = match tmux::client() {
            Some((client, terminal)) => (Some(client), terminal),
            None => (None, to),
        };
        let facts = PortFacts {
            // "The remote Kermit can not usually tell what kind of connection it has." Where tmux draws into
            // it, it can.
            reliable: around.is_some().then_some(false),
            local: false,
            seven_bit: around.is_some(),
            ..PortFacts::named(if around.is_some() { "stdio around tmux" } else { "stdio" })
        };
        let (from_pipe, to_pipe) = (Growing::new(&from), Growing::new(&to));
        Ok(Self { from, to, facts, restore, from_pipe, to_pipe, around })
    }
}

/// A non-blocking descriptor for what `fd` refers to.
///
/// `O_NONBLOCK` belongs to the open file, which stdin, stdout and stderr often share with each other and with
/// the shell; so terminals and pipes are reopened where the system can. Where it cannot, the flag is set on the
/// shared one and cleared at the end.
fn own(
    fd: BorrowedFd<'_>,
    again: &str,
    mode: OFlags,
    restore: &mut Vec<Restore>,
) -> io::Result<OwnedFd> {
    let kind = FileType::from_raw_mode(fstat(fd)?.st_mode);
    // Reopening a regular file would lose its position; it never blocks anyway.
    if matches!(kind, FileType::CharacterDevice | FileType::Fifo) {
        let flags = mode | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if let Ok(own) = open(again, flags, Mode::empty()) {
            return Ok(own);
        }
    }
    if kind != FileType::RegularFile {
        restore.push(Restore::nonblocking(fd)?);
    }
    fd.try_clone_to_owned()
}

impl Port for StdioLine {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let read = super::read(&self.from, into)?;
        self.from_pipe.moved(&self.from, read);
        Ok(read)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let written = super::write(&self.to, bytes)?;
        self.to_pipe.moved(&self.to, written);
        Ok(written)
    }

    fn read_source(&self) -> Source<'_> {
        Source::of(&self.from)
    }

    fn write_source(&self) -> Source<'_> {
        Source::of(&self.to)
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    /// Restores the terminal. Written data stays in the terminal or the pipe.
    fn finish(&mut self, _: Duration) -> io::Result<Option<ExitStatus>> {
        // Restore in reverse order.
        while self.restore.pop().is_some() {}
        if let Some(client) = self.around.take() {
            // What was written last comes before what tmux draws.
            let _ = rustix::termios::tcdrain(&self.to);
            drop(client);
        }
        Ok(None)
    }
}
