//! Checks that the stored file is the received one: the same file, of the same length, with the same bytes.

use super::Incoming;
use crate::disk::error::Failed;
use crate::disk::{Verify, digest, part, place};
use crate::os::fd::OwnedFd;
use crate::os::files;
use crate::os::fs::{Stat, fstat};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wetstring_proto::file::DigestKind;

/// A longer file is not read again unless requested: it may no longer be in memory.
const AUTO_MOST: u64 = 1 << 30;
/// A file of this length is in its place at once.
const SOON: u64 = 1 << 20;
/// Maximum share of the transfer time for reading again.
const SHARE: u32 = 10;

/// How a file is checked.
pub(super) struct Check {
    how: Verify,
    begun: Instant,
    /// Others can change the directory.
    shared: bool,
    /// The file was found at its name after its last bytes.
    stands: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unread,
    Good,
    Bad,
}

impl Check {
    pub(super) fn new(how: Verify, shared: bool) -> Self {
        Self { how, begun: Instant::now(), shared, stands: false, state: State::Unread }
    }

    /// More is received.
    pub(super) fn continues(&mut self) {
        self.stands = false;
    }

    /// The stored data is not the received data.
    pub(super) fn is_bad(&self) -> bool {
        self.state == State::Bad
    }

    /// Whether this many bytes are read again.
    fn reads(&self, len: u64) -> bool {
        match self.how {
            Verify::Stream => false,
            Verify::Stored => true,
            // Data just written is in memory, and is read at a nanosecond per byte or faster.
            Verify::Auto => {
                let cost = Duration::from_nanos(len);
                let cheap = cost * SHARE <= self.begun.elapsed();
                len <= AUTO_MOST && (cheap || self.shared)
            }
        }
    }
}

/// A kept part.
pub(super) struct Left {
    directory: Arc<OwnedFd>,
    part: Vec<u8>,
    file: Stat,
}

impl Left {
    /// Removes it, if it is still the file that was kept.
    pub(super) fn remove(&self) -> bool {
        stands(&self.directory, &self.part, &self.file).unwrap_or(false)
            && place::remove(&*self.directory, &self.part).is_ok()
    }
}

/// Whether this file is at a name, whatever its contents are.
fn stands(directory: &OwnedFd, name: &[u8], file: &Stat) -> io::Result<bool> {
    let there = place::look(directory, name)?;
    Ok(there.is_some_and(|there| (there.st_dev, there.st_ino) == (file.st_dev, file.st_ino)))
}

impl Drop for Incoming {
    fn drop(&mut self) {
        part::unlock(&self.file);
    }
}

impl Incoming {
    /// Whether the file being received is at its name.
    pub(super) fn has_name(&self) -> bool {
        self.check_at(&self.part).is_ok()
    }

    /// Fails unless the file being received is at a name.
    pub(super) fn check_at(&self, name: &[u8]) -> io::Result<()> {
        // FAT has no inodes: what stands for them changes with the first bytes, or with the name.
        if stands(&self.directory, name, &self.identity)?
            || stands(&self.directory, name, &fstat(&self.file)?)?
        {
            return Ok(());
        }
        Err(io::Error::other("expected the file being received, it was moved or replaced"))
    }

    /// The same of the part.
    pub(super) fn check_name(&mut self) -> Result<(), Failed> {
        let found = self.check_at(&self.part);
        found.map_err(|error| self.spoiled(error))
    }

    /// Removes the part, if it is still the file that was received.
    pub(super) fn remove(&self) -> bool {
        self.has_name() && place::remove(&*self.directory, &self.part).is_ok()
    }

    /// Releases the part, which stays.
    pub(super) fn leave(mut self) -> Option<Left> {
        let file = fstat(&self.file).ok()?;
        let (directory, part) = (self.directory.clone(), std::mem::take(&mut self.part));
        Some(Left { directory, part, file })
    }

    /// The digest of the file; its received bytes had the digest `came`.
    pub(super) fn as_stored(
        &mut self,
        kind: DigestKind,
        len: u64,
        came: [u8; 32],
    ) -> Result<[u8; 32], Failed> {
        self.check_name()?;
        self.check.stands = len <= SOON;
        if self.check.state == State::Unread && self.check.reads(len) {
            self.read_again(kind, len, came)?;
        }
        Ok(came)
    }

    /// Checks a complete file before it gets its name: same length and contents as received.
    pub(super) fn check_stored(&mut self) -> Result<(), Failed> {
        if !self.check.stands {
            self.check_name()?;
        }
        let stat = fstat(&self.file).map_err(|error| self.spoiled(error.into()))?;
        self.release_of(&stat);
        let size = stat.st_size as u64;
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
            files::forget(&self.file);
        }
        let stored = digest::over(&self.file, kind, len);
        if stored.map_err(|error| self.spoiled(error))? != came {
            let text = "expected the received bytes, the file has others";
            return Err(self.spoiled(io::Error::other(text)));
        }
        self.check.state = State::Good;
        Ok(())
    }

    /// It is not what was received, and must be neither accepted nor resumed.
    fn spoiled(&mut self, error: io::Error) -> Failed {
        let failed = Failed::new(&self.part_path(), error);
        self.check.state = State::Bad;
        self.failed = Some(failed.clone());
        failed
    }
}
