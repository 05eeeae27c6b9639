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
    /// Whether both are of the settings, or both of the flags, of one terminal.
    fn is_of(&self, other: &Self) -> bool {
        let device = |saved: &Self| rustix::fs::fstat(&saved.fd).ok().map(|stat| stat.st_rdev);
        matches!(
            (&self.was, &other.was),
            (Was::Settings(_), Was::Settings(_)) | (Was::Flags(_), Was::Flags(_))
        ) && device(self).is_some_and(|rdev| rdev != 0 && Some(rdev) == device(other))
    }

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
            let gone = saved.remove(index);
            let later = saved[index..].iter_mut().find(|later| later.is_of(&gone));
            match later {
                // It was changed once more, and how it is is still wanted: the other one has to set back to
                // how it was before both.
                Some(later) => later.was = gone.was,
                None => gone.restore(),
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_two_have_changed_comes_back_whoever_ends_first() {
        let (_master, slave) = pty_process::blocking::open().expect("a pty");
        let modes = || tcgetattr(&slave).expect("its settings").local_modes;
        let before = modes();
        for first_ends_first in [true, false] {
            let first = Restore::keys(&slave).expect("a terminal");
            let second = Restore::silent(&slave).expect("a terminal");
            let (one, other) = if first_ends_first { (first, second) } else { (second, first) };
            drop(one);
            assert!(!modes().contains(LocalModes::ECHO), "it is still wanted");
            drop(other);
            assert_eq!(modes(), before);
        }
    }
}
