//! A command in a PTY and a session of its own.

use super::{OpenError, PATIENCE, Port, PortFacts, child};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How long the command may take to end by itself once it has read everything, before it is hung
/// up on. A partner that has acknowledged the last packet needs a moment to say goodbye.
const GOODBYE: Duration = Duration::from_millis(500);

/// A command that believes it has a terminal.
pub(super) struct ExecPtyLine {
    child: Child,
    /// Our side of the PTY; gone once we have hung up.
    master: Option<OwnedFd>,
    facts: PortFacts,
    status: Option<ExitStatus>,
    finished: bool,
}

impl ExecPtyLine {
    /// Starts the command with a raw PTY as its controlling terminal.
    pub(super) fn spawn(command: &str) -> Result<Self, OpenError> {
        let failed = |error: io::Error| OpenError::io(format!("run {command:?} in a pty"), error);
        let wrapped = |error| match error {
            pty_process::Error::Io(error) => failed(error),
            pty_process::Error::Rustix(error) => failed(error.into()),
        };
        let (master, slave) = pty_process::blocking::open().map_err(wrapped)?;
        crate::terminal::make_raw(&slave).map_err(failed)?;
        let child = pty_process::blocking::Command::new("sh")
            .arg("-c")
            .arg(command)
            .spawn(slave)
            .map_err(wrapped)?;
        let master = OwnedFd::from(master);
        super::nonblocking(&master).map_err(failed)?;
        let facts = PortFacts {
            name: format!("exec-pty:{command}"),
            reliable: Some(true),
            clear: false,
            local: true,
            rate_bps: None,
            segment_len: None,
            seven_bit: false,
            xon_xoff: false,
        };
        Ok(Self { child, master: Some(master), facts, status: None, finished: false })
    }

    fn master(&self) -> io::Result<&OwnedFd> {
        self.master.as_ref().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

impl Port for ExecPtyLine {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        super::read(self.master()?, into)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        super::write(self.master()?, bytes)
    }

    fn read_fd(&self) -> BorrowedFd<'_> {
        // After `finish` there is nothing to wait on; stderr keeps the promise of a descriptor.
        match &self.master {
            Some(master) => master.as_fd(),
            None => rustix::stdio::stderr(),
        }
    }

    fn write_fd(&self) -> BorrowedFd<'_> {
        self.read_fd()
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    /// Waits until the command has read what we wrote, gives it a moment to end, hangs up.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if self.finished {
            return Ok(self.status);
        }
        self.finished = true;
        let Some(master) = self.master.take() else { return Ok(None) };
        let mut rest = [0; 4096];
        let mut drain = || while matches!(super::read(&master, &mut rest), Ok(Some(1..))) {};
        let until = Instant::now() + patience;
        // Held only while we look: as long as it is open, the child's end would not show.
        let unread = || {
            let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY).ok()?;
            rustix::io::ioctl_fionread(&slave).ok()
        };
        while self.status.is_none() && unread().is_some_and(|len| len > 0) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let look = left.min(Duration::from_millis(10));
            self.status = child::wait(&mut self.child, look, &mut drain);
        }
        if self.status.is_none() {
            let goodbye = GOODBYE.min(patience / 2);
            self.status = child::wait(&mut self.child, goodbye, &mut drain);
        }
        drop(master);
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
