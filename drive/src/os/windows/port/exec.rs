//! A command's stdin and stdout, by pipes.

use super::super::process;
use super::super::pump::{Inbox, Outbox, by_pumps};
use crate::port::{OpenError, PATIENCE, Port, PortFacts};
use std::io::{self, Read, Write};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Bytes on their way to the command.
const ROOM: usize = 64 * 1024;
/// How often an ending command is looked after.
const LOOK: Duration = Duration::from_millis(5);

/// A command that we started.
#[derive(Debug)]
pub(super) struct ExecLine {
    child: Child,
    /// `None` once nothing more will be written.
    to: Option<Outbox>,
    from: Inbox,
    facts: PortFacts,
    status: Option<ExitStatus>,
    finished: bool,
}

impl ExecLine {
    /// Starts the command by the system's shell. It shares our console, so that `ssh` can ask for a password, and
    /// not our Ctrl-C, so that the peer can still be told when we end.
    pub(super) fn spawn(command: &str) -> Result<Self, OpenError> {
        let failed = |error: io::Error| OpenError::io(format!("run {command:?}"), error);
        let mut child = process::shell(command.as_bytes())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(mut to), Some(mut from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let to = Outbox::new(ROOM, move |bytes| to.write(bytes)).map_err(failed)?;
        let from = Inbox::new(move |into| from.read(into)).map_err(failed)?;
        let facts = PortFacts {
            reliable: Some(true),
            clear: true,
            ..PortFacts::named(format!("exec:{command}"))
        };
        Ok(Self { child, to: Some(to), from, facts, status: None, finished: false })
    }
}

impl Port for ExecLine {
    by_pumps!();

    /// Writes what is left, closes the command's stdin, drains its output and waits for its end.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(self.status);
        }
        if let Some(to) = self.to.take()
            && !to.drain(patience)
        {
            to.clear();
        }
        let until = Instant::now() + patience;
        let mut rest = [0; 4096];
        loop {
            while matches!(self.from.read(&mut rest), Ok(Some(1..))) {}
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(Some(status)) => {
                    self.status = Some(status);
                    return Ok(self.status);
                }
                _ => break,
            }
        }
        process::kill_group(&mut self.child);
        self.status = self.child.try_wait().ok().flatten();
        Ok(self.status)
    }
}

impl Drop for ExecLine {
    fn drop(&mut self) {
        let _ = self.finish(PATIENCE);
    }
}
