//! A command in the system's pseudo-terminal (ConPTY), for a person to look at.
//!
//! ConPTY draws what it believes a screen shows, in its own sequences: no transfer survives that, which the facts of
//! the port say ([`PortFacts::redrawn`]).

use super::super::pump::{Inbox, Outbox, by_pumps};
use super::super::terminal::{size_of, stdout};
use crate::port::{OpenError, PATIENCE, Port, PortFacts};
use portable_pty::{ChildKiller, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::ffi::OsString;
use std::io::{self, Write as _};
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
    let mut plain = PlainKeys::default();
    let from = Inbox::new(move |into| plain.read(&mut from, into)).map_err(failed)?;
    let to = Outbox::new(ROOM, move |bytes| to.write(bytes)).map_err(failed)?;
    let facts = PortFacts { reliable: Some(true), redrawn: true, ..PortFacts::named(name) };
    Ok(Box::new(WrapLine { screen, killer, to: Some(to), from, status, known: None, facts }))
}

/// What ConPTY asks the terminal below it for: keys as events of Windows.
const AS_EVENTS: &[u8] = b"\x1b[?9001h";

/// Takes [`AS_EVENTS`] out of what is drawn: keys stay those of a terminal, which ConPTY takes as well, and the escape key
/// of a session remains one.
#[derive(Debug, Default)]
struct PlainKeys {
    /// The end of what was read, which may be the beginning of the request.
    held: Vec<u8>,
}

impl PlainKeys {
    /// Reads what is left of it; 0 at the end.
    fn read(&mut self, from: &mut impl io::Read, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let held = self.held.len();
            into[..held].copy_from_slice(&self.held);
            let len = from.read(&mut into[held..])?;
            self.held.clear();
            if len == 0 {
                return Ok(held);
            }
            let mut left = into[..held + len].to_vec();
            while let Some(at) = left.windows(AS_EVENTS.len()).position(|part| part == AS_EVENTS) {
                left.drain(at..at + AS_EVENTS.len());
            }
            let begins = |count: &usize| left.ends_with(&AS_EVENTS[..*count]);
            let keep = (1..AS_EVENTS.len()).rev().find(begins).unwrap_or(0);
            self.held = left.split_off(left.len() - keep);
            if !left.is_empty() {
                into[..left.len()].copy_from_slice(&left);
                return Ok(left.len());
            }
        }
    }
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

    fn resize(&mut self, columns: u16, rows: u16) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        if let Some(screen) = &*self.screen.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = screen.resize(size);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// What is read, a piece at a time.
    struct Pieces(VecDeque<&'static [u8]>);

    impl io::Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.pop_front().unwrap_or_default();
            into[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn keys_stay_those_of_a_terminal() {
        let drawn = b"\x1b[6n\x1b[?9001h\x1b[?1004h$ \x1b[?9001l\x1b[?9001h\x1b[";
        for piece in [1, 3, drawn.len()] {
            let (mut plain, mut got) = (PlainKeys::default(), Vec::new());
            let mut from = Pieces(drawn.chunks(piece).collect());
            let mut into = [0; 100];
            while let len @ 1.. = plain.read(&mut from, &mut into).unwrap() {
                got.extend_from_slice(&into[..len]);
            }
            let want = b"\x1b[6n\x1b[?1004h$ \x1b[?9001l\x1b[";
            assert_eq!(got.escape_ascii().to_string(), want.escape_ascii().to_string(), "{piece}");
        }
    }
}
