//! A command's stdin and stdout, by pipes.

use super::child;
use crate::event::Source;
use crate::port::{OpenError, PATIENCE, Port, PortFacts};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Pipe size requested: one read of the loop and more. The system's limit for unprivileged users is 1 MiB.
const PIPE_LEN: usize = 1 << 20;

/// How long a command that has sent something is given to read what we wrote last, such as the packet that ends the
/// protocol. A command that has sent nothing may not be one that reads, and is not waited for.
const LAST_READ: Duration = Duration::from_secs(2);
/// Interval of checks whether it has.
const LOOK: Duration = Duration::from_millis(5);

/// A command that we started.
///
/// Pipes and not a socket pair: a socket as stdin breaks programs that open `/dev/stdin`.
#[derive(Debug)]
pub(super) struct ExecLine {
    child: Child,
    /// `None` once nothing more will be written.
    to: Option<OwnedFd>,
    from: OwnedFd,
    facts: PortFacts,
    status: Option<ExitStatus>,
    finished: bool,
    /// The command has sent something.
    has_sent: bool,
}

impl ExecLine {
    /// Starts the command. It stays in our session, so that `ssh` can ask for a password; it ignores Ctrl-C, so
    /// that the peer can still be told when we end.
    pub(super) fn spawn(command: &str) -> Result<Self, OpenError> {
        let failed = |error: io::Error| OpenError::io(format!("run {command:?}"), error);
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!("trap '' INT\n{command}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let to = child.stdin.take().map(OwnedFd::from);
        let from = child.stdout.take().map(OwnedFd::from);
        let (Some(to), Some(from)) = (to, from) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        for fd in [&to, &from] {
            super::nonblocking(fd).map_err(failed)?;
            // Small pipes only cost speed.
            super::lengthen(fd, PIPE_LEN);
        }
        let facts = PortFacts {
            reliable: Some(true),
            clear: true,
            ..PortFacts::named(format!("exec:{command}"))
        };
        Ok(Self {
            child,
            to: Some(to),
            from,
            facts,
            status: None,
            finished: false,
            has_sent: false,
        })
    }
}

impl Port for ExecLine {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let read = super::read(&self.from, into)?;
        self.has_sent |= read.is_some_and(|len| len > 0);
        Ok(read)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match &self.to {
            Some(to) => super::write(to, bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn read_source(&self) -> Source<'_> {
        Source::of(&self.from)
    }

    fn write_source(&self) -> Source<'_> {
        self.to.as_ref().map_or(Source::of(&self.from), Source::of)
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn unsent(&self) -> u64 {
        self.to.as_ref().and_then(|to| rustix::io::ioctl_fionread(to).ok()).unwrap_or(0)
    }

    /// Closes the command's stdin, drains its output, waits until it has read the rest of our output, and for its end.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if self.finished {
            return Ok(self.status);
        }
        self.finished = true;
        let from = &self.from;
        let mut rest = [0; 4096];
        let mut drain = || while matches!(super::read(from, &mut rest), Ok(Some(1..))) {};
        let until = Instant::now() + LAST_READ;
        while let Some(to) = &self.to
            && self.has_sent
            && rustix::io::ioctl_fionread(to).is_ok_and(|unread| unread > 0)
            && matches!(self.child.try_wait(), Ok(None))
            && Instant::now() < until
        {
            drain();
            std::thread::sleep(LOOK);
        }
        self.to = None;
        self.status = child::wait(&mut self.child, patience, &mut drain)
            .or_else(|| child::end(&mut self.child, patience, drain));
        Ok(self.status)
    }
}

impl Drop for ExecLine {
    fn drop(&mut self) {
        let _ = self.finish(PATIENCE);
    }
}
