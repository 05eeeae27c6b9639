//! A command in the system's pseudo-terminal (ConPTY), for a person to look at.
//!
//! ConPTY draws what it believes a screen shows, in its own sequences: no transfer survives that, which the facts of
//! the port say ([`PortFacts::redrawn`]).

use super::super::pump::{Inbox, Outbox, by_pumps};
use super::super::terminal::{size_of, stdout};
use crate::port::{OpenError, PATIENCE, Port, PortFacts};
use portable_pty::{ChildKiller, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::windows::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes on their way to the command.
const ROOM: usize = 4096;
/// A command that is told to end gets this time at each attempt.
const NOTICE: Duration = Duration::from_secs(2);

/// The pseudo-terminal, until its command has ended or we have hung up.
type Screen = Arc<Mutex<Option<Box<dyn MasterPty + Send>>>>;

/// A command in a pseudo-terminal.
struct WrapLine {
    screen: Screen,
    killer: Box<dyn ChildKiller + Send + Sync>,
    to: Option<Outbox>,
    from: Inbox,
    status: Receiver<Option<ExitStatus>>,
    known: Option<ExitStatus>,
    facts: PortFacts,
}

/// Runs a command in a pseudo-terminal of the size of this process's console.
pub(super) fn wrap(command: &[OsString]) -> Result<Box<dyn Port>, OpenError> {
    let name = command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let failed = |error: io::Error| OpenError::io(format!("run {name}"), error);
    let other = |error: Box<dyn std::error::Error + Send + Sync>| failed(io::Error::other(error));
    let pair = native_pty_system().openpty(size()).map_err(|e| other(e.into()))?;
    let mut from = pair.master.try_clone_reader().map_err(|e| other(e.into()))?;
    let mut to = pair.master.take_writer().map_err(|e| other(e.into()))?;
    let mut builder = CommandBuilder::from_argv(command.to_vec());
    if let Ok(here) = std::env::current_dir() {
        builder.cwd(here);
    }
    let mut child = pair.slave.spawn_command(builder).map_err(|e| other(e.into()))?;
    // The terminal is its master and its slave.
    drop(pair.slave);
    let killer = child.clone_killer();
    let screen: Screen = Arc::new(Mutex::new(Some(pair.master)));
    let (tell, status) = channel();
    let shown = screen.clone();
    let reap = move || {
        let status = child.wait().ok().map(|status| ExitStatus::from_raw(status.exit_code()));
        // What was last drawn is written first; then the reader sees the end.
        drop(shown.lock().unwrap_or_else(PoisonError::into_inner).take());
        let _ = tell.send(status);
    };
    std::thread::Builder::new().name("child".into()).spawn(reap).map_err(failed)?;
    let from = Inbox::new(move |into| from.read(into)).map_err(failed)?;
    let to = Outbox::new(ROOM, move |bytes| to.write(bytes)).map_err(failed)?;
    let facts = PortFacts { reliable: Some(true), redrawn: true, ..PortFacts::named(name) };
    Ok(Box::new(WrapLine { screen, killer, to: Some(to), from, status, known: None, facts }))
}

/// The size of the user's console.
fn size() -> PtySize {
    let (cols, rows) = size_of(stdout());
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

impl WrapLine {
    /// The status, if the command ends in this time.
    fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        if self.known.is_none() {
            self.known = self.status.recv_timeout(patience).ok().flatten();
        }
        self.known
    }

    fn hang_up(&mut self) {
        self.to = None;
        drop(self.screen.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Port for WrapLine {
    by_pumps!();

    fn follow_size(&mut self) {
        if let Some(screen) = &*self.screen.lock().unwrap_or_else(PoisonError::into_inner) {
            // A terminal that has gone needs no size.
            let _ = screen.resize(size());
        }
    }

    /// Hangs up, and gives the command time to end.
    fn finish(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let notice = patience.min(NOTICE);
        if self.wait(notice).is_none() {
            self.hang_up();
            if self.wait(notice).is_none() {
                let _ = self.killer.kill();
                self.wait(notice);
            }
        }
        self.to = None;
        Ok(self.known)
    }
}

impl Drop for WrapLine {
    fn drop(&mut self) {
        if self.to.is_some() {
            let _ = self.finish(PATIENCE);
        }
    }
}
