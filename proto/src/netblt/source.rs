//! The sender's file data: what the store gave, in a ring, on its way into packets.
//!
//! Positions are those of the connection's stream: the parts of the file that move, one after the
//! other, and the digest of the whole file after them. What was sent long ago is read again when it
//! must be sent again; a source that gives its bytes only once is kept until it is acknowledged.

use super::ranges::Ranges;
use crate::file::DigestKind;
use crate::session::PendingRequest;

/// Bytes of the digest after the file: its kind, three zeros, and sixteen bytes.
pub(crate) const TRAILER: usize = 20;
/// The kind of a digest that could not be made, and of XXH3.
pub(crate) const NO_DIGEST: u8 = 0;
pub(crate) const XXH3: u8 = 1;
/// Bytes read at a time.
const READ_LEN: u64 = 256 * 1024;

/// The ring. The bytes are in memory that the sender owns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Source {
    pub(crate) ranges: Ranges,
    /// Bytes of the file that move, once known.
    data: Option<u64>,
    /// The digest follows them.
    pub(crate) with_digest: bool,
    /// The digest, once made.
    trailer: Option<[u8; TRAILER]>,
    /// What is in the ring: `low..high`.
    low: u64,
    high: u64,
    /// What was lent to the store.
    lent: usize,
    /// The range to retransmit: position, length, and how much of it is here.
    patch: Option<(u64, usize, usize)>,
    /// The store is filling the patch: it holds nothing else before the store has answered.
    patch_lent: bool,
}

impl Source {
    /// A connection begins that moves these parts.
    pub(crate) fn begin(&mut self, ranges: &Ranges, with_digest: bool) {
        *self = Self { data: ranges.len(), ranges: *ranges, with_digest, ..Self::default() };
    }

    /// Bytes of the stream; `None` as long as that is not known.
    pub(crate) fn total(&self) -> Option<u64> {
        let trailer = if self.with_digest { TRAILER as u64 } else { 0 };
        self.data.map(|data| data + trailer)
    }

    /// Up to here it has been read.
    pub(crate) fn high(&self) -> u64 {
        self.high
    }

    /// Whether a digest of the file goes with it.
    pub(crate) fn has_digest(&self) -> bool {
        self.trailer.is_some_and(|trailer| trailer[0] != NO_DIGEST)
    }

    /// The next request. `keep` is the position from which everything is still needed.
    pub(crate) fn want(&self, memory_len: usize, keep: u64) -> Option<PendingRequest> {
        if self.patch.is_some_and(|(_, len, here)| here < len) {
            return Some(PendingRequest::ReadAgain);
        }
        if self.data == Some(self.high) {
            let pending = PendingRequest::Digest { kind: DigestKind::Xxh3, len: self.file_len() };
            return (self.with_digest && self.trailer.is_none()).then_some(pending);
        }
        if self.data.is_some_and(|data| self.high > data) {
            return None;
        }
        let room = self.room(memory_len, keep);
        // Not for a few bytes.
        let left = self.data.map_or(u64::MAX, |data| data - self.high);
        (room > 0 && room >= left.min(memory_len as u64 / 8)).then_some(PendingRequest::Read)
    }

    fn room(&self, memory_len: usize, keep: u64) -> u64 {
        (memory_len as u64).saturating_sub(self.high - keep.min(self.high))
    }

    /// Position in the file and where the store's next bytes go.
    pub(crate) fn lend<'a>(&mut self, memory: &'a mut [u8], keep: u64) -> (u64, &'a mut [u8]) {
        let (offset, run) = self.ranges.locate(self.high).unwrap_or((0, 0));
        let start = (self.high % memory.len() as u64) as usize;
        let len = (memory.len() - start) as u64;
        let len = len.min(run).min(self.room(memory.len(), keep)).min(READ_LEN) as usize;
        self.lent = len;
        // What is there goes.
        self.low = self.low.max((self.high + len as u64).saturating_sub(memory.len() as u64));
        (offset, &mut memory[start..start + len])
    }

    /// The store put this many bytes there; 0 is the end. False if that is too early.
    pub(crate) fn filled(&mut self, len: usize) -> bool {
        self.high += len.min(self.lent) as u64;
        if len > 0 {
            return true;
        }
        let known = self.data.is_some();
        self.data = Some(self.high);
        !known
    }

    /// Bytes of the file to compute the digest of.
    pub(crate) fn file_len(&self) -> u64 {
        self.ranges.end(self.high)
    }

    /// The digest was made, or could not be.
    pub(crate) fn set_digest(&mut self, memory: &mut [u8], digest: Option<&[u8]>) {
        let mut trailer = [0; TRAILER];
        trailer[0] = if digest.is_some() { XXH3 } else { NO_DIGEST };
        trailer[4..].copy_from_slice(digest.unwrap_or(&[0; 16]));
        self.trailer = Some(trailer);
        for byte in trailer {
            memory[(self.high % memory.len() as u64) as usize] = byte;
            self.high += 1;
        }
        self.low = self.low.max(self.high.saturating_sub(memory.len() as u64));
    }

    /// Puts `into.len()` bytes from this position into a packet; false if they are not here yet.
    /// What was here and is no more is asked for.
    pub(crate) fn take(
        &mut self,
        memory: &[u8],
        patch: &mut [u8],
        at: u64,
        into: &mut [u8],
    ) -> bool {
        let end = at + into.len() as u64;
        if end > self.high {
            return false;
        }
        if at >= self.low {
            let start = (at % memory.len() as u64) as usize;
            let first = into.len().min(memory.len() - start);
            into[..first].copy_from_slice(&memory[start..start + first]);
            let rest = into.len() - first;
            into[first..].copy_from_slice(&memory[..rest]);
            return true;
        }
        match self.patch {
            Some((from, len, here)) if from == at && len == into.len() => {
                let whole = here == len;
                if whole {
                    into.copy_from_slice(&patch[..len]);
                }
                whole
            }
            _ if self.patch_lent => false,
            _ => {
                self.patch = Some((at, into.len(), 0));
                self.patch_trailer(patch);
                false
            }
        }
    }

    /// Of the range to retransmit, the store has only the bytes of the file.
    fn patch_trailer(&mut self, patch: &mut [u8]) {
        let (Some((at, len, here)), Some(data)) = (&mut self.patch, self.data) else { return };
        let Some(trailer) = self.trailer else { return };
        while *here < *len && *at + *here as u64 >= data {
            patch[*here] = trailer[(*at + *here as u64 - data) as usize % TRAILER];
            *here += 1;
        }
    }

    /// Position in the file and where the bytes go that are wanted again.
    pub(crate) fn lend_patch<'a>(&mut self, patch: &'a mut [u8]) -> (u64, &'a mut [u8]) {
        let (at, len, here) = self.patch.unwrap_or_default();
        let (offset, run) = self.ranges.locate(at + here as u64).unwrap_or((0, 0));
        let want = ((len - here) as u64).min(run) as usize;
        self.lent = want;
        self.patch_lent = true;
        (offset, &mut patch[here..here + want])
    }

    /// The store put this many bytes there. False if it no longer has them.
    pub(crate) fn patched(&mut self, patch: &mut [u8], got: usize) -> bool {
        self.patch_lent = false;
        if let Some((_, _, here)) = &mut self.patch {
            *here += got.min(self.lent);
        }
        self.patch_trailer(patch);
        got > 0
    }
}
