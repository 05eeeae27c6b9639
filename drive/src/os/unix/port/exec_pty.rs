//! A command in a terminal and its own session.
//!
//! ```text
//!            +--------------------- PTY ----> stdin, /dev/tty
//!   we ------+  <-- what is written there --
//!            +<-- another PTY --------------- stdout, stderr
//! ```
//!
//! Two PTYs and not one, because lrzsz exits with `TCIOFLUSH` on its stdin, and Linux then discards what the
//! master side of that terminal has not read yet: in half of all cases the ACK for the complete file
//! (docs/decisions/005). Reading does not help, but a terminal that is only stdout is not affected. What a
//! program writes to `/dev/tty` or to its stdin is read too; only the order between the two is lost.

use super::child;
use super::either::Either;
use super::prelude::{self, Prelude};
use crate::event::Source;
use crate::port::{OpenError, PATIENCE, Port, PortFacts};
use rustix::termios::{LocalModes, tcgetattr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long the command may take to end by itself once it has read everything, before we hang up. A peer that
/// has acknowledged the last packet needs a moment to finish.
const GOODBYE: Duration = Duration::from_millis(500);

/// A command that believes it has a terminal.
pub(super) struct ExecPtyLine {
    child: Child,
    /// Our sides of the PTYs; `None` once we have hung up.
    masters: Option<Masters>,
    facts: PortFacts,
    /// The user whom the command may ask first.
    prelude: Option<Prelude>,
    status: Option<ExitStatus>,
    finished: bool,
}

/// Our sides of both PTYs.
struct Masters {
    /// Of the controlling terminal, which is the command's stdin.
    terminal: OwnedFd,
    /// Of its stdout and stderr.
    output: OwnedFd,
    /// Readable when one of them is.
    either: Either,
    /// No process has the other side of the terminal, or of the output, open any more.
    closed: [bool; 2],
}

impl Masters {
    fn new(terminal: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        let either = Either::new()?;
        for fd in [&terminal, &output] {
            super::nonblocking(fd)?;
            either.add(fd)?;
        }
        Ok(Self { terminal, output, either, closed: [false; 2] })
    }

    /// Reads from the output, and from the terminal if there is none; it has ended when both have.
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        for (fd, closed) in [&self.output, &self.terminal].into_iter().zip(&mut self.closed) {
            if *closed {
                continue;
            }
            match super::read(fd, into)? {
                Some(0) => {
                    *closed = true;
                    // It would always be ready.
                    self.either.remove(fd)?;
                }
                Some(len) => return Ok(Some(len)),
                None => {}
            }
        }
        Ok(if self.closed == [true; 2] { Some(0) } else { None })
    }

    /// Drains the output.
    fn drain(&mut self) {
        let mut rest = [0; 4096];
        while matches!(self.read(&mut rest), Ok(Some(1..))) {}
    }

    /// From here on bytes pass unchanged. Settings of the command itself are kept.
    fn make_raw(&self) {
        let cooked = tcgetattr(&self.terminal)
            .is_ok_and(|settings| settings.local_modes.contains(LocalModes::ICANON));
        if cooked {
            // Not needed if the command has exited.
            let _ = crate::terminal::make_raw(&self.terminal);
        }
    }

    /// Bytes written that the command has not read.
    fn unread(&self) -> Option<u64> {
        // Opened only for the check: while it is open, the command's end would not be noticed.
        let slave = super::other_side(&self.terminal).ok()?;
        rustix::io::ioctl_fionread(&slave).ok()
    }
}

impl ExecPtyLine {
    /// Starts the command with a raw PTY as its controlling terminal. If it is `attended` and there is a user,
    /// the command may ask them first.
    pub(super) fn spawn(command: &str, attended: bool) -> Result<Self, OpenError> {
        let attended = attended && prelude::has_user();
        let failed = |error: io::Error| OpenError::io(format!("run {command:?} in a pty"), error);
        let wrapped = |error| match error {
            pty_process::Error::Io(error) => failed(error),
            pty_process::Error::Rustix(error) => failed(error.into()),
        };
        let (terminal, stdin) = pty_process::blocking::open().map_err(wrapped)?;
        let (output, stdout) = pty_process::blocking::open().map_err(wrapped)?;
        crate::terminal::make_raw(&stdout).map_err(failed)?;
        if !attended {
            crate::terminal::make_raw(&stdin).map_err(failed)?;
        }
        let stdout = stdout.as_fd().try_clone_to_owned().map_err(failed)?;
        let stderr = stdout.try_clone().map_err(failed)?;
        let child = pty_process::blocking::Command::new("sh")
            .arg("-c")
            .arg(command)
            .stdout(Stdio::from(stdout))
            .stderr(Stdio::from(stderr))
            .spawn(stdin)
            .map_err(wrapped)?;
        let masters = Masters::new(terminal.into(), output.into()).map_err(failed)?;
        let facts =
            PortFacts { reliable: Some(true), ..PortFacts::named(format!("exec-pty:{command}")) };
        let prelude = attended.then(|| Prelude::new(command));
        if let Some(keyboard) = prelude.as_ref().and_then(Prelude::keyboard) {
            masters.either.add(keyboard).map_err(failed)?;
        }
        Ok(Self { child, masters: Some(masters), facts, prelude, status: None, finished: false })
    }
}

impl Port for ExecPtyLine {
    fn claim(&mut self, rate_bps: u32) -> io::Result<()> {
        let Some(masters) = &self.masters else { return Err(io::ErrorKind::BrokenPipe.into()) };
        crate::terminal::set_speed(&masters.terminal, rate_bps)
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(masters) = &mut self.masters else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let Some(prelude) = &mut self.prelude else { return masters.read(into) };
        let had_keys = prelude.keyboard().is_some();
        prelude.type_to(&masters.terminal);
        let read = masters.read(into)?;
        prelude.says(&into[..read.unwrap_or(0)]);
        if had_keys && prelude.keyboard().is_none() {
            let _ = masters.either.remove(rustix::stdio::stdin());
        }
        if prelude.is_over() {
            masters.make_raw();
            self.prelude = None;
        }
        Ok(read)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let Some(masters) = &self.masters else { return Err(io::ErrorKind::BrokenPipe.into()) };
        if let Some(prelude) = &mut self.prelude {
            if prelude.asks(&masters.terminal) {
                return Ok(None);
            }
            if prelude.release() {
                masters.make_raw();
            }
        }
        super::write(&masters.terminal, bytes)
    }

    fn rest(&self) -> Duration {
        // The descriptor would report that it is writable.
        if self.asks() { Duration::from_millis(100) } else { Duration::ZERO }
    }

    fn asks(&self) -> bool {
        match (&self.prelude, &self.masters) {
            (Some(prelude), Some(masters)) => prelude.asks(&masters.terminal),
            _ => false,
        }
    }

    fn answered(&mut self) {
        let (Some(masters), Some(prelude)) = (&self.masters, self.prelude.take()) else { return };
        if prelude.keyboard().is_some() {
            let _ = masters.either.remove(rustix::stdio::stdin());
        }
        masters.make_raw();
    }

    fn read_source(&self) -> Source<'_> {
        // After `finish` there is nothing to poll; stderr serves as a valid source.
        let masters = self.masters.as_ref();
        masters.map_or(Source::from(rustix::stdio::stderr()), |masters| Source::of(&masters.either))
    }

    fn write_source(&self) -> Source<'_> {
        let masters = self.masters.as_ref();
        masters
            .map_or(Source::from(rustix::stdio::stderr()), |masters| Source::of(&masters.terminal))
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn unsent(&self) -> u64 {
        self.masters.as_ref().and_then(Masters::unread).unwrap_or(0)
    }

    /// Waits until the command has read our output, gives it a moment to end, hangs up.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if self.finished {
            return Ok(self.status);
        }
        self.finished = true;
        self.prelude = None;
        let Some(mut masters) = self.masters.take() else { return Ok(None) };
        let until = Instant::now() + patience;
        while self.status.is_none() && masters.unread().is_some_and(|len| len > 0) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let look = left.min(Duration::from_millis(10));
            self.status = child::wait(&mut self.child, look, || masters.drain());
        }
        if self.status.is_none() {
            let goodbye = GOODBYE.min(patience / 2);
            self.status = child::wait(&mut self.child, goodbye, || masters.drain());
        }
        drop(masters);
        if self.status.is_none() {
            self.status = child::end(&mut self.child, patience, || {});
        }
        Ok(self.status)
    }
}

impl Drop for ExecPtyLine {
    fn drop(&mut self) {
        let _ = self.finish(PATIENCE);
    }
}
