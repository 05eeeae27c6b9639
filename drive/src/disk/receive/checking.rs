//! Whether what stands in the directory is what came: the same file, of the same length, with the same bytes.

use super::Incoming;
use crate::disk::error::Failed;
use crate::disk::{Verify, digest, place};
use rustix::fs::{Stat, fstat};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use wetstring_proto::file::DigestKind;

/// A longer file is not read again unless that is asked for: it may not be in memory any more.
const AUTO_MOST: u64 = 1 << 30;
/// Reading again may take this part of the time that the transfer took.
const SHARE: u32 = 10;

/// How a file is checked.
pub(super) struct Check {
    how: Verify,
    begun: Instant,
    /// Others may change the directory.
    shared: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unread,
    Good,
    Bad,
}

impl Check {
    pub(super) fn new(how: Verify, directory: &OwnedFd) -> Self {
        /// Write for group and others; only the owner of a file may rename it.
        const OTHERS: u32 = 0o022;
        const STICKY: u32 = 0o1000;
        let shared = fstat(directory)
            .is_ok_and(|stat| stat.st_mode & OTHERS != 0 && stat.st_mode & STICKY == 0);
        Self { how, begun: Instant::now(), shared, state: State::Unread }
    }

    /// What is stored is not what came.
    pub(super) fn is_bad(&self) -> bool {
        self.state == State::Bad
    }

    /// Whether so many bytes are read again.
    fn reads(&self, len: u64) -> bool {
        match self.how {
            Verify::Stream => false,
            Verify::Stored => true,
            // What has just been written is in memory, and is read at a nanosecond a byte or faster.
            Verify::Auto => {
                let cost = Duration::from_nanos(len);
                let cheap = cost * SHARE <= self.begun.elapsed();
                len <= AUTO_MOST && (cheap || self.shared)
            }
        }
    }
}

/// A part that was kept.
pub(super) struct Left {
    directory: OwnedFd,
    part: Vec<u8>,
    file: Stat,
}

impl Left {
    /// Removes it, if it still is the file that was kept.
    pub(super) fn remove(&self) -> bool {
        stands(&self.directory, &self.part, &self.file).unwrap_or(false)
            && place::remove(&self.directory, &self.part).is_ok()
    }
}

/// Whether this file stands at a name, whatever became of its contents.
fn stands(directory: &OwnedFd, name: &[u8], file: &Stat) -> io::Result<bool> {
    let there = place::look(directory, name)?;
    Ok(there.is_some_and(|there| (there.st_dev, there.st_ino) == (file.st_dev, file.st_ino)))
}

impl Incoming {
    /// Whether the file that is received stands at its name.
    pub(super) fn has_name(&self) -> bool {
        self.check_at(&self.part).is_ok()
    }

    /// Fails unless the file that is received stands at a name.
    pub(super) fn check_at(&self, name: &[u8]) -> io::Result<()> {
        if stands(&self.directory, name, &fstat(&self.file)?)? {
            return Ok(());
        }
        Err(io::Error::other(
            "expected the file that is received, somebody has moved or replaced it",
        ))
    }

    /// The same of the part.
    pub(super) fn check_name(&mut self) -> Result<(), Failed> {
        let found = self.check_at(&self.part);
        found.map_err(|error| self.spoiled(error))
    }

    /// Removes the part, if it still is the file that was received.
    pub(super) fn remove(&self) -> bool {
        self.has_name() && place::remove(&self.directory, &self.part).is_ok()
    }

    /// Lets go of the part, which stays.
    pub(super) fn leave(self) -> Option<Left> {
        let file = fstat(&self.file).ok()?;
        Some(Left { directory: self.directory, part: self.part, file })
    }

    /// The digest of the file, whose bytes had `came` when they came.
    pub(super) fn as_stored(
        &mut self,
        kind: DigestKind,
        len: u64,
        came: [u8; 32],
    ) -> Result<[u8; 32], Failed> {
        self.check_name()?;
        if self.check.state == State::Unread && self.check.reads(len) {
            self.read_again(kind, len, came)?;
        }
        Ok(came)
    }

    /// A whole file, before it gets its name: it is as long as what came, and holds it.
    pub(super) fn check_stored(&mut self) -> Result<(), Failed> {
        self.check_name()?;
        self.release();
        let size = fstat(&self.file).map(|stat| stat.st_size as u64);
        let size = size.map_err(|error| self.spoiled(error.into()))?;
        if size != self.reached {
            let text = format!("expected a file of {} bytes, it has {size}", self.reached);
            return Err(self.spoiled(io::Error::other(text)));
        }
        if self.check.state == State::Unread
            && self.check.reads(size)
            && let Some((kind, came)) = self.running.whole(size)
        {
            self.read_again(kind, size, came)?;
        }
        Ok(())
    }

    fn read_again(&mut self, kind: DigestKind, len: u64, came: [u8; 32]) -> Result<(), Failed> {
        if self.check.how == Verify::Stored {
            forget(&self.file);
        }
        let stored = digest::over(&self.file, kind, len);
        if stored.map_err(|error| self.spoiled(error))? != came {
            let text = "expected the bytes that came, the file holds others";
            return Err(self.spoiled(io::Error::other(text)));
        }
        self.check.state = State::Good;
        Ok(())
    }

    /// It is not what came, and must neither be taken nor continued.
    fn spoiled(&mut self, error: io::Error) -> Failed {
        let failed = Failed::new(&self.part_path(), error);
        self.check.state = State::Bad;
        self.failed = Some(failed.clone());
        failed
    }
}

/// What is read next comes from the device, where the system can be told so.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn forget(file: &OwnedFd) {
    let _ = rustix::fs::fdatasync(file);
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

/// Here it may come from memory.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn forget(file: &OwnedFd) {
    let _ = rustix::fs::fsync(file);
}
