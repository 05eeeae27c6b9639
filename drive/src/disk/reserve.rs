//! Blocks reserved for a file before its data.
//!
//! They keep a long file contiguous on the disk. An announced length reserves nothing: blocks are reserved a
//! little ahead of the data, never more than has arrived so far, so that a wrong length, or a killed program,
//! leaves little behind.

use crate::os::fd::AsFd;
use crate::os::files;
use crate::os::fs::Stat;
use crate::os::io::Errno;
use std::ops::Range;

/// Minimum bytes ahead of the data.
const FIRST: u64 = 1 << 20;
/// Maximum: some file systems touch every page, which takes 2 ms for this many in memory.
const STEP: u64 = 8 << 20;
/// What a file system may allocate beyond the end by itself.
const ROUND: u64 = 64 << 10;
/// The shortest hole: a block of most file systems.
const BLOCK: u64 = 4096;

/// The state of a file's reservation.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Reservation {
    /// Reserved up to here.
    done: u64,
    /// Wanted up to here.
    goal: u64,
    /// Bytes present so far, including resumed ones.
    came: u64,
    /// Blocks of zeros become holes.
    holes: bool,
}

/// Whether a file has blocks after its end.
pub(super) fn is_beyond(stat: &Stat) -> bool {
    let (size, blocks) = (stat.st_size as u64, stat.st_blocks as u64);
    blocks.saturating_mul(512) > size.saturating_add(ROUND)
}

impl Reservation {
    /// For a file that has `from` bytes, and will have `to`.
    pub(super) fn new(have: u64, goal: u64) -> Self {
        Self { done: have, goal, came: have, holes: false }
    }

    /// The same; blocks of zeros become holes.
    pub(super) fn with_holes(self, holes: bool) -> Self {
        Self { holes, ..self }
    }

    /// Whether blocks of zeros become holes.
    pub(super) fn holes(&self) -> bool {
        self.holes
    }

    /// Writes as many of these bytes as possible, once their blocks are reserved; returns the number.
    ///
    /// # Errors
    ///
    /// No space on the disk, or none for this user, or a file longer than allowed; and errors of writing.
    pub(super) fn write(
        &mut self,
        file: impl AsFd,
        bytes: &[u8],
        offset: u64,
    ) -> Result<usize, Errno> {
        let end = offset.saturating_add(bytes.len() as u64);
        // Data far ahead gets its blocks when it is written.
        if self.done < self.goal && self.done < end && offset <= self.done.max(self.came) {
            let ahead = self.came.clamp(FIRST, STEP);
            self.step(&file, end - self.done + ahead)?;
        }
        let len = crate::os::io::pwrite(&file, bytes, offset)?;
        self.came = self.came.saturating_add(len as u64);
        if self.holes {
            self.punch(file, &bytes[..len], offset);
        }
        Ok(len)
    }

    /// Takes the blocks of zeros out of what was written. They read as before.
    fn punch(&mut self, file: impl AsFd, bytes: &[u8], offset: u64) {
        let first = offset.next_multiple_of(BLOCK) - offset;
        let mut run = 0..0;
        let Some(bytes) = bytes.get(first as usize..) else { return };
        for (index, block) in bytes.chunks(BLOCK as usize).enumerate() {
            let at = offset + first + index as u64 * BLOCK;
            let empty = block.len() as u64 == BLOCK && block.iter().all(|byte| *byte == 0);
            if empty {
                let from = if run.is_empty() { at } else { run.start };
                run = from..at + BLOCK;
                continue;
            }
            self.hole(&file, std::mem::take(&mut run));
        }
        self.hole(&file, run);
    }

    fn hole(&mut self, file: impl AsFd, run: Range<u64>) {
        // A file system that has no holes has the zeros.
        self.holes &= run.is_empty() || files::punch(file, run.start, run.end - run.start).is_ok();
    }

    fn step(&mut self, file: impl AsFd, len: u64) -> Result<(), Errno> {
        let len = len.min(self.goal - self.done);
        match files::reserve(&file, self.done, len) {
            Ok(()) => self.done += len,
            Err(Errno::INTR) => {}
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => return Err(error),
            // The file system cannot reserve; a full disk shows later.
            Err(_) => self.goal = self.done,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::*;
    #[cfg(unix)]
    use std::os::unix::fs::MetadataExt;

    #[cfg(unix)] // Windows reserves nothing.
    #[test]
    fn blocks_are_reserved_a_little_ahead() {
        let file = tempfile::tempfile().unwrap();
        let blocks = || file.metadata().unwrap().blocks() * 512;
        let mut made = Reservation::new(0, 1 << 60);
        assert_eq!(blocks(), 0, "an announced length reserves nothing");
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
    #[cfg(target_os = "linux")]
    #[test]
    fn blocks_of_zeros_become_holes() {
        let file = tempfile::tempfile().unwrap();
        let mut made = Reservation::new(0, 0).with_holes(true);
        let mut content = vec![0; 300_000];
        content[100_000..100_010].fill(7);
        content[299_999] = 1;
        // Pieces of any length, in any order.
        for range in [150_000..300_000, 0..33_000, 33_000..150_000] {
            assert_eq!(
                made.write(&file, &content[range.clone()], range.start as u64),
                Ok(range.len())
            );
        }
        let mut read = vec![9; 300_000];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut read, 0).unwrap();
        assert!(read == content);
        if !made.holes() {
            return; // This file system has none.
        }
        let blocks = file.metadata().unwrap().blocks() * 512;
        assert!(blocks <= 12 * BLOCK, "{blocks}");
    }
}
