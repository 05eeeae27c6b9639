//! The receiver's file data: from packets to the store.
//!
//! Positions are those of the connection's stream (see [`super::source`]). A store that takes writes
//! in any order gets them as they come; for one that does not, the bytes wait in a ring until those
//! before them are here.

use super::ranges::Ranges;
use super::source::TRAILER;

/// Pieces that wait for a store that takes them in any order.
const RUNS: usize = 64;

/// What to do with bytes that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Take them.
    Take,
    /// The store has to take others first: offer them again.
    Later,
    /// There is no room before those before them are here.
    Drop,
}

/// Bytes on their way to the store. They are in memory that the receiver owns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sink {
    pub(crate) ranges: Ranges,
    pub(crate) with_digest: bool,
    pub(crate) in_order: bool,
    /// Bytes of the stream, once known.
    pub(crate) total: Option<u64>,
    /// In order: what the store has, and what is here without a hole.
    written: u64,
    ready: u64,
    /// Else: (position in the file, start, length) of each piece, those before `first` are written.
    runs: [(u64, usize, usize); RUNS],
    first: usize,
    count: usize,
    used: usize,
    lent: usize,
    trailer: [u8; TRAILER],
}

impl Default for Sink {
    fn default() -> Self {
        Self {
            ranges: Ranges::default(),
            with_digest: false,
            in_order: true,
            total: None,
            written: 0,
            ready: 0,
            runs: [(0, 0, 0); RUNS],
            first: 0,
            count: 0,
            used: 0,
            lent: 0,
            trailer: [0; TRAILER],
        }
    }
}

impl Sink {
    /// A connection begins that moves these parts.
    pub(crate) fn begin(&mut self, ranges: &Ranges, with_digest: bool, in_order: bool) {
        let trailer = if with_digest { TRAILER as u64 } else { 0 };
        let total = ranges.len().map(|len| len + trailer);
        // Where a file of unknown length ends and its digest begins is known at the end only.
        let in_order = in_order || (with_digest && total.is_none());
        *self = Self { ranges: *ranges, with_digest, in_order, total, ..Self::default() };
    }

    /// Where the file ends in the stream.
    fn data(&self) -> Option<u64> {
        self.total.map(|total| total.saturating_sub(self.trailer_len()))
    }

    fn trailer_len(&self) -> u64 {
        if self.with_digest { TRAILER as u64 } else { 0 }
    }

    /// Whether bytes at this position can be taken.
    pub(crate) fn verdict(&self, memory_len: usize, at: u64, len: usize) -> Verdict {
        if self.in_order {
            let fits = at + len as u64 <= self.written + memory_len as u64;
            return if fits { Verdict::Take } else { Verdict::Drop };
        }
        // One packet may stand across two parts and the digest.
        let fits = self.used + len <= memory_len && self.count + 3 <= RUNS;
        if fits { Verdict::Take } else { Verdict::Later }
    }

    /// Up to here a sender may send.
    pub(crate) fn limit(&self, memory_len: usize) -> u64 {
        if self.in_order { self.written + memory_len as u64 } else { u64::MAX }
    }

    /// Takes bytes that have not come before.
    pub(crate) fn put(&mut self, memory: &mut [u8], at: u64, bytes: &[u8]) {
        if self.in_order {
            let start = (at % memory.len() as u64) as usize;
            let first = bytes.len().min(memory.len() - start);
            memory[start..start + first].copy_from_slice(&bytes[..first]);
            memory[..bytes.len() - first].copy_from_slice(&bytes[first..]);
            return;
        }
        let (mut at, mut rest) = (at, bytes);
        while !rest.is_empty() {
            let Some((offset, run)) = self.ranges.locate(at) else {
                let from = at.saturating_sub(self.data().unwrap_or(at)) as usize;
                for (place, byte) in self.trailer.iter_mut().skip(from).zip(rest) {
                    *place = *byte;
                }
                return;
            };
            let len = rest.len().min(usize::try_from(run).unwrap_or(usize::MAX));
            memory[self.used..self.used + len].copy_from_slice(&rest[..len]);
            self.piece(offset, len);
            at += len as u64;
            rest = &rest[len..];
        }
    }

    /// A piece is after the others; one that continues where the last ended is part of it.
    fn piece(&mut self, offset: u64, len: usize) {
        let last = self.count.checked_sub(1).filter(|last| *last > self.first || self.lent == 0);
        match last.map(|last| &mut self.runs[last]) {
            Some((from, start, have))
                if *from + *have as u64 == offset && *start + *have == self.used =>
            {
                *have += len;
            }
            _ => {
                self.runs[self.count] = (offset, self.used, len);
                self.count += 1;
            }
        }
        self.used += len;
    }

    /// In order: everything before this position is here.
    pub(crate) fn advance(&mut self, ready: u64) {
        self.ready = self.ready.max(ready);
    }

    /// In order: what may be written now.
    fn writable(&self) -> u64 {
        match self.data() {
            Some(data) => self.ready.min(data).saturating_sub(self.written),
            // The last bytes may be the digest.
            None => (self.ready - self.written).saturating_sub(self.trailer_len()),
        }
    }

    /// Whether the store is to take something.
    pub(crate) fn is_pending(&self) -> bool {
        if self.in_order { self.writable() > 0 } else { self.first < self.count }
    }

    /// Position in the file and bytes for the store.
    pub(crate) fn lend<'a>(&mut self, memory: &'a [u8]) -> (u64, &'a [u8]) {
        if self.in_order {
            let (offset, run) = self.ranges.locate(self.written).unwrap_or((0, 0));
            let start = (self.written % memory.len() as u64) as usize;
            let len = self.writable().min(run).min((memory.len() - start) as u64) as usize;
            self.lent = len;
            return (offset, &memory[start..start + len]);
        }
        let (offset, start, len) = self.runs[self.first];
        self.lent = len;
        (offset, &memory[start..start + len])
    }

    /// The store has taken what it was shown.
    pub(crate) fn taken(&mut self) {
        let lent = core::mem::take(&mut self.lent);
        if self.in_order {
            self.written += lent as u64;
            return;
        }
        self.first += 1;
        if self.first >= self.count {
            self.first = 0;
            self.count = 0;
            self.used = 0;
        }
    }

    /// The store has failed: it is shown nothing more.
    pub(crate) fn give_up(&mut self) {
        self.ready = self.ready.min(self.written);
        self.first = 0;
        self.count = 0;
        self.used = 0;
        self.lent = 0;
    }

    /// The kind and bytes of the digest that followed the file.
    pub(crate) fn trailer(&mut self, memory: &[u8]) -> (u8, [u8; 16]) {
        if let (true, Some(data)) = (self.in_order, self.data()) {
            for (at, place) in self.trailer.iter_mut().enumerate() {
                *place = memory[((data + at as u64) % memory.len() as u64) as usize];
            }
        }
        let mut digest = [0; 16];
        digest.copy_from_slice(&self.trailer[4..]);
        (self.trailer[0], digest)
    }

    /// Length of the whole file, once known.
    pub(crate) fn file_len(&self) -> u64 {
        self.ranges.end(self.data().unwrap_or(0))
    }
}
