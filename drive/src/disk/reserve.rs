//! Blocks that a file gets before its data.
//!
//! With all of them reserved at the offer, a disk is full at once or not at all. Most file systems note an
//! extent and are done; some look for every page (half a second for 2 GB in memory), and a partner waits
//! meanwhile. So what cannot be had in [`AT_ONCE`] is reserved by whoever writes, a little ahead of the data.

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long an offer may wait for blocks.
const AT_ONCE: Duration = Duration::from_millis(4);
/// The first step of an offer, in bytes; each is twice as long as the one before.
const FIRST: u64 = 1 << 20;
/// The step of whoever writes: one takes 2 ms in memory.
const STEP: u64 = 8 << 20;

/// What a file has of the blocks that it is to get.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Reservation {
    /// They are there up to here.
    done: u64,
    /// They are wanted up to here.
    goal: u64,
}

impl Reservation {
    /// Begins to reserve the blocks of a file of so many bytes.
    ///
    /// # Errors
    ///
    /// No room on the disk, or none for this user, or a file longer than allowed.
    pub(super) fn begin(file: impl AsFd, goal: u64) -> Result<Self, Errno> {
        let mut made = Self { done: 0, goal };
        let (began, mut step) = (Instant::now(), FIRST);
        while made.done < made.goal && began.elapsed() < AT_ONCE {
            made.step(&file, step)?;
            step = step.saturating_mul(2);
        }
        Ok(made)
    }

    /// Writes what it can of these bytes, once their blocks are there; how many that were.
    ///
    /// # Errors
    ///
    /// As of [`begin`](Self::begin), and of writing.
    pub(super) fn write(
        &mut self,
        file: impl AsFd,
        bytes: &[u8],
        offset: u64,
    ) -> Result<usize, Errno> {
        let end = offset + bytes.len() as u64;
        while self.done < self.goal && self.done < end {
            self.step(&file, STEP)?;
        }
        rustix::io::pwrite(file, bytes, offset)
    }

    fn step(&mut self, file: impl AsFd, len: u64) -> Result<(), Errno> {
        let len = len.min(self.goal - self.done);
        match fallocate(&file, FallocateFlags::KEEP_SIZE, self.done, len) {
            Ok(()) => self.done += len,
            Err(Errno::INTR) => {}
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => return Err(error),
            // The file system cannot reserve; it will tell when it is full.
            Err(_) => self.goal = self.done,
        }
        Ok(())
    }

    /// Up to where the file has them.
    pub(super) fn done(&self) -> u64 {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn blocks_are_there_before_what_is_written() {
        let file = tempfile::tempfile().unwrap();
        let blocks = || file.metadata().unwrap().blocks() * 512;
        let mut made = Reservation { done: 0, goal: 3 * STEP / 2 };
        assert_eq!(made.write(&file, b"some", 0), Ok(4));
        if made.goal == made.done {
            return; // This file system cannot reserve.
        }
        assert_eq!((made.done(), file.metadata().unwrap().len()), (STEP, 4));
        assert!(blocks() >= STEP);
        made.write(&file, b"more", STEP - 4).unwrap();
        assert_eq!(made.done(), STEP, "they are there");
        made.write(&file, b"more", STEP - 3).unwrap();
        assert_eq!(made.done(), 3 * STEP / 2, "no more than wanted");
        assert!(blocks() >= 3 * STEP / 2);
        made.write(&file, b"more", 10 * STEP).unwrap();
        assert_eq!(made.done(), 3 * STEP / 2);
    }

    #[test]
    fn an_offer_gets_all_of_them_where_that_is_quick() {
        let file = tempfile::tempfile().unwrap();
        let made = Reservation::begin(&file, 3 * FIRST / 2).unwrap();
        assert!(made.done() >= FIRST || made.goal == made.done(), "{made:?}");
        assert_eq!(Reservation::begin(&file, 0).unwrap().done(), 0);
    }
}
