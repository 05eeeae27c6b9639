//! Terminals and descriptors that must come back as they were, however the program ends.

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// What [`restore_all`] sets back: the descriptor and how it was.
static SAVED: Mutex<Vec<Saved>> = Mutex::new(Vec::new());

struct Saved {
    id: u64,
    fd: OwnedFd,
    was: Was,
}

enum Was {
    Settings(Termios),
    Flags(OFlags),
}

impl Saved {
    fn restore(&self) {
        // Nothing can be done about a terminal that has gone away.
        let _ = match &self.was {
            Was::Settings(settings) => tcsetattr(&self.fd, OptionalActions::Now, settings),
            Was::Flags(flags) => fcntl_setfl(&self.fd, *flags),
        };
    }
}

/// Something that was changed and comes back when this is dropped, and when a second signal
/// ends the program hard.
#[derive(Debug)]
#[must_use = "what was changed comes back at once when this is dropped"]
pub struct Restore(u64);

impl Restore {
    /// Remembers the settings of a terminal.
    pub fn settings(fd: impl AsFd) -> io::Result<Self> {
        let settings = tcgetattr(&fd)?;
        Self::remember(fd, Was::Settings(settings))
    }

    /// Makes a terminal raw: bytes pass as they are, nothing echoes, no key is special.
    pub fn raw(fd: impl AsFd) -> io::Result<Self> {
        let guard = Self::settings(&fd)?;
        make_raw(&fd)?;
        Ok(guard)
    }

    /// Lets single keys be read: nothing echoes and no line is awaited. Ctrl-C and its relatives
    /// stay what they are.
    pub fn keys(fd: impl AsFd) -> io::Result<Self> {
        let guard = Self::settings(&fd)?;
        let mut settings = tcgetattr(&fd)?;
        settings.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        settings.special_codes[SpecialCodeIndex::VMIN] = 1;
        settings.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&fd, OptionalActions::Now, &settings)?;
        Ok(guard)
    }

    /// Lets a line be typed that nobody shall see.
    pub fn silent(fd: impl AsFd) -> io::Result<Self> {
        let guard = Self::settings(&fd)?;
        let mut settings = tcgetattr(&fd)?;
        settings.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&fd, OptionalActions::Flush, &settings)?;
        Ok(guard)
    }

    /// Makes a descriptor non-blocking. Everybody who shares its open file sees that.
    pub fn nonblocking(fd: impl AsFd) -> io::Result<Self> {
        let flags = fcntl_getfl(&fd)?;
        let guard = Self::remember(&fd, Was::Flags(flags))?;
        fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
        Ok(guard)
    }

    fn remember(fd: impl AsFd, was: Was) -> io::Result<Self> {
        let fd = fd.as_fd().try_clone_to_owned()?;
        let mut saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner);
        let id = saved.last().map_or(0, |last| last.id + 1);
        saved.push(Saved { id, fd, was });
        Ok(Self(id))
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        let mut saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = saved.iter().position(|saved| saved.id == self.0) {
            saved.remove(index).restore();
        }
    }
}

/// Sets back everything that a [`Restore`] still holds, the last change first.
pub fn restore_all() {
    let mut saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner);
    while let Some(last) = saved.pop() {
        last.restore();
    }
}

/// Raw mode without a way back, for a PTY of our own making.
pub(crate) fn make_raw(fd: impl AsFd) -> io::Result<()> {
    let mut settings = tcgetattr(&fd)?;
    settings.make_raw();
    // A read takes what is there and never reports an empty line as the end.
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(&fd, OptionalActions::Now, &settings)?;
    Ok(())
}
