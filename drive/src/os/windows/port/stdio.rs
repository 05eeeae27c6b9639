//! This process's own stdin and stdout: we are the remote end of another program's line.

use super::super::pump::{Inbox, Outbox, by_pumps};
use super::super::terminal::{Restore, keyboard, stdin};
use crate::port::{OpenError, Port, PortFacts};
use std::io::{self, IsTerminal, Write};
use std::process::ExitStatus;
use std::time::Duration;

/// Bytes on their way to stdout.
const ROOM: usize = 64 * 1024;

/// Stdin and stdout.
#[derive(Debug)]
pub(super) struct StdioLine {
    from: &'static Inbox,
    to: Option<Outbox>,
    facts: PortFacts,
    restore: Vec<Restore>,
}

impl StdioLine {
    /// Makes them raw if they are a console.
    pub(super) fn open() -> Result<Self, OpenError> {
        let failed = |error: io::Error| OpenError::io("use stdin and stdout", error);
        let mut restore = Vec::new();
        if io::stdin().is_terminal() {
            restore.push(stdin::raw().map_err(failed)?);
        }
        if io::stdout().is_terminal() {
            restore.push(stdin::sequences().map_err(failed)?);
        }
        let write = |bytes: &[u8]| {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            // The library's buffer waits for line ends.
            out.flush()?;
            Ok(bytes.len())
        };
        let to = Some(Outbox::new(ROOM, write).map_err(failed)?);
        let facts = PortFacts {
            // "The remote Kermit can not usually tell what kind of connection it has."
            local: false,
            ..PortFacts::named("stdio")
        };
        Ok(Self { from: keyboard().map_err(failed)?, to, facts, restore })
    }
}

impl Port for StdioLine {
    by_pumps!();

    /// Writes what is left, and restores the console.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if let Some(to) = self.to.take() {
            to.drain(patience);
        }
        // Restore in reverse order.
        while self.restore.pop().is_some() {}
        Ok(None)
    }
}

impl Drop for StdioLine {
    fn drop(&mut self) {
        let _ = self.finish(crate::port::PATIENCE);
    }
}
