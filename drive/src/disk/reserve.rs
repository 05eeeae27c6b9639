//! Blocks that a file gets before its data.
//!
//! They keep a long file in one piece on the disk. What a sender announces takes nothing: blocks are reserved a
//! little ahead of the data, never more than as many again as have come, so that a length that is a lie, or a
//! program that is killed, leaves little behind.

use rustix::fs::{FallocateFlags, Stat, fallocate};
use rustix::io::Errno;
use std::os::fd::AsFd;

/// So many bytes ahead of the data at least.
const FIRST: u64 = 1 << 20;
/// And at most: some file systems look for every page, 2 ms for so many in memory.
const STEP: u64 = 8 << 20;
/// What a file may have beyond its end by itself.
const ROUND: u64 = 64 << 10;

/// What a file has of the blocks that it is to get.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Reservation {
    /// They are there up to here.
    done: u64,
    /// They are wanted up to here.
    goal: u64,
    /// So many bytes have come, those that were here before included.
    came: u64,
}

/// Whether a file has blocks behind its end.
pub(super) fn is_beyond(stat: &Stat) -> bool {
    let (size, blocks) = (stat.st_size as u64, stat.st_blocks as u64);
    blocks.saturating_mul(512) > size.saturating_add(ROUND)
}

impl Reservation {
    /// For a file that has so many bytes, and is to have so many.
    pub(super) fn new(have: u64, goal: u64) -> Self {
        Self { done: have, goal, came: have }
    }

    /// Writes what it can of these bytes, once their blocks are there; how many that were.
    ///
    /// # Errors
    ///
    /// No room on the disk, or none for this user, or a file longer than allowed; and as of writing.
    pub(super) fn write(
        &mut self,
        file: impl AsFd,
        bytes: &[u8],
        offset: u64,
    ) -> Result<usize, Errno> {
        let end = offset.saturating_add(bytes.len() as u64);
        // What lies far ahead gets its blocks when it is written.
        if self.done < self.goal && self.done < end && offset <= self.done.max(self.came) {
            let ahead = self.came.clamp(FIRST, STEP);
            self.step(&file, end - self.done + ahead)?;
        }
        let len = rustix::io::pwrite(file, bytes, offset)?;
        self.came = self.came.saturating_add(len as u64);
        Ok(len)
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn blocks_are_there_before_what_is_written_and_not_much_more() {
        let file = tempfile::tempfile().unwrap();
        let blocks = || file.metadata().unwrap().blocks() * 512;
        let mut made = Reservation::new(0, 1 << 60);
        assert_eq!(blocks(), 0, "what is announced takes nothing");
        assert_eq!(made.write(&file, b"some", 0), Ok(4));
        if made.goal == made.done {
            return; // This file system cannot reserve.
        }
        assert_eq!((made.done, file.metadata().unwrap().len()), (FIRST + 4, 4));
        assert!((FIRST..FIRST + ROUND).contains(&blocks()), "{}", blocks());
        // Far ahead: a hole.
        made.write(&file, b"more", 1 << 40).unwrap();
        assert_eq!(made.done, FIRST + 4);
        let (mut at, piece) = (4, vec![1; 1 << 20]);
        for _ in 0..40 {
            at += made.write(&file, &piece, at).unwrap() as u64;
            assert!(made.done >= at && made.done <= at + STEP.min(at) + FIRST, "{made:?}");
        }
        assert!(blocks() <= at + STEP + FIRST + ROUND, "{}", blocks());
        made.goal = at + 3;
        made.done = at;
        made.write(&file, b"more", at).unwrap();
        assert_eq!(made.done, at + 3, "no more than wanted");
    }
}
