//! A command in a terminal like the user's own: what runs inside `wst -- COMMAND`.
//!
//! ```text
//! user's terminal <--> this process <--> PTY (settings and size of the user's) <--> command
//! ```
//!
//! One PTY, unlike `exec-pty:`: what the command finds out about its terminal is what it would find out about
//! the user's.

use super::child;
use crate::event::Source;
use crate::port::{OpenError, PATIENCE, Port, PortFacts};
use rustix::process::{Pid, Signal, kill_process};
use rustix::stdio::{stdin, stdout};
use rustix::termios::{
    OptionalActions, Winsize, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A command in a terminal like the user's.
struct WrapLine {
    /// `None` once we have hung up.
    master: Option<OwnedFd>,
    pid: Pid,
    /// Readable, and closed by the peer, once the command has ended.
    ended: UnixStream,
    status: Receiver<Option<ExitStatus>>,
    known: Option<ExitStatus>,
    facts: PortFacts,
}

/// Runs a command in a terminal that has the settings and the size of this process's terminal.
///
/// # Errors
///
/// If there is no such command, or no terminal to be had.
pub(super) fn wrap(command: &[OsString]) -> Result<Box<dyn Port>, OpenError> {
    let name = command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let failed = |error: io::Error| OpenError::io(format!("run {name}"), error);
    let wrapped = |error| match error {
        pty_process::Error::Io(error) => failed(error),
        pty_process::Error::Rustix(error) => failed(error.into()),
    };
    let (master, slave) = pty_process::blocking::open().map_err(wrapped)?;
    if isatty(stdin()) {
        let settings = tcgetattr(stdin()).map_err(|error| failed(error.into()))?;
        tcsetattr(&slave, OptionalActions::Now, &settings).map_err(|e| failed(e.into()))?;
    }
    // Before the command can ask.
    if let Some(size) = size() {
        tcsetwinsize(&slave, size).map_err(|error| failed(error.into()))?;
    }
    let first = command.first().cloned().unwrap_or_default();
    let mut child = pty_process::blocking::Command::new(first)
        .args(command.get(1..).unwrap_or_default())
        .spawn(slave)
        .map_err(wrapped)?;
    let pid = Pid::from_child(&child);
    let (ended, mut ends) = UnixStream::pair().map_err(failed)?;
    let (tell, status) = channel();
    let reap = move || {
        let _ = tell.send(child.wait().ok());
        let _ = ends.write_all(&[0]);
    };
    std::thread::Builder::new().name("child".into()).spawn(reap).map_err(failed)?;
    let master: OwnedFd = master.into();
    super::nonblocking(&master).map_err(failed)?;
    let facts = PortFacts { reliable: Some(true), ..PortFacts::named(name) };
    let line = WrapLine { master: Some(master), pid, ended, status, known: None, facts };
    Ok(Box::new(line))
}

/// The size of the user's terminal.
fn size() -> Option<Winsize> {
    [stdin(), stdout()].into_iter().find_map(|fd| tcgetwinsize(fd).ok())
}

impl WrapLine {
    /// Whether the command has ended.
    fn is_over(&mut self) -> bool {
        if self.known.is_none() {
            self.known = self.status.try_recv().ok().flatten();
        }
        self.known.is_some()
    }

    /// The status, if the command ends in this time.
    fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        if self.known.is_none() {
            self.known = self.status.recv_timeout(patience).ok().flatten();
        }
        self.known
    }
}

impl Port for WrapLine {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let over = self.is_over();
        let Some(master) = &self.master else { return Ok(Some(0)) };
        match super::read(master, into)? {
            // What runs on in the background keeps the terminal open.
            None if over => Ok(Some(0)),
            read => Ok(read),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let Some(master) = &self.master else { return Err(io::ErrorKind::BrokenPipe.into()) };
        super::write(master, bytes)
    }

    fn read_source(&self) -> Source<'_> {
        // After the end stderr serves as a valid source.
        self.master.as_ref().map_or(Source::from(rustix::stdio::stderr()), Source::of)
    }

    fn write_source(&self) -> Source<'_> {
        self.read_source()
    }

    fn end_source(&self) -> Option<Source<'_>> {
        Some(Source::of(&self.ended))
    }

    fn follow_size(&mut self) {
        if let (Some(size), Some(master)) = (size(), &self.master) {
            // A terminal that has gone needs no size.
            let _ = tcsetwinsize(master, size);
        }
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        if let Some(master) = &self.master {
            let _ = tcsetwinsize(master, size);
        }
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    /// Hangs up, and gives the command time to end.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        // A command that closed its terminal may still be ending.
        let notice = patience.min(child::LONGEST_NOTICE);
        if self.wait(notice).is_none() {
            self.master = None;
            for signal in [Signal::HUP, Signal::TERM, Signal::KILL] {
                // Not reaped yet, so the id is still its own.
                if !self.is_over() {
                    let _ = kill_process(self.pid, signal);
                }
                if self.wait(notice).is_some() {
                    break;
                }
            }
        }
        self.master = None;
        Ok(self.known)
    }
}

impl Drop for WrapLine {
    fn drop(&mut self) {
        if self.master.is_some() {
            let _ = self.finish(PATIENCE);
        }
    }
}
