//! This process's own stdin and stdout: we are the remote end of somebody else's line.

use super::{OpenError, Port, PortFacts};
use crate::terminal::Restore;
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;
use std::time::Duration;

/// Stdin and stdout.
#[derive(Debug)]
pub(super) struct StdioLine {
    from: OwnedFd,
    to: OwnedFd,
    facts: PortFacts,
    restore: Vec<Restore>,
}

impl StdioLine {
    /// Makes both non-blocking, and raw where they are a terminal.
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
        let facts = PortFacts {
            name: "stdio".into(),
            // "The remote Kermit can not usually tell what kind of connection it has."
            reliable: None,
            clear: false,
            local: false,
            rate_bps: None,
            segment_len: None,
            seven_bit: false,
            xon_xoff: false,
        };
        Ok(Self { from, to, facts, restore })
    }
}

/// A non-blocking descriptor for what `fd` refers to.
///
/// `O_NONBLOCK` belongs to the open file, which stdin, stdout and stderr often share with each
/// other and with the shell; so terminals and pipes are opened again where the system can. Where
/// it cannot, the flag is set on the shared one and taken back at the end.
fn own(
    fd: BorrowedFd<'_>,
    again: &str,
    mode: OFlags,
    restore: &mut Vec<Restore>,
) -> io::Result<OwnedFd> {
    let kind = FileType::from_raw_mode(fstat(fd)?.st_mode);
    // Opening a regular file again would lose its position; it never blocks anyway.
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
        super::read(&self.from, into)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        super::write(&self.to, bytes)
    }

    fn read_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }

    fn write_fd(&self) -> BorrowedFd<'_> {
        self.to.as_fd()
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    /// Sets the terminal back. What was written stays in the terminal or the pipe.
    fn finish(&mut self, _: Duration) -> io::Result<Option<ExitStatus>> {
        // The last change goes first.
        while self.restore.pop().is_some() {}
        Ok(None)
    }
}
