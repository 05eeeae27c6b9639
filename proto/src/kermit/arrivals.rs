//! The receiver's window: which packets have arrived, which are missing, and which were requested.
//!
//! Numbers here are absolute; the wire carries them modulo 64 (\[KPM\] sliding windows, kermit.md §13).

use super::flight::MAX_SLOTS;

/// The position of a packet relative to the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// The one that is awaited.
    Next,
    /// In the window, before its turn.
    Ahead(u64),
    /// Received before.
    Behind(u64),
    /// None of these.
    Outside,
}

/// The receiver's side of the window.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    /// Lengths of the data fields that came before their turn; they are in slots of memory.
    stored: [Option<usize>; MAX_SLOTS],
    /// Slots there is memory for.
    count: usize,
    /// Window agreed on.
    window: u64,
    /// The number that is awaited.
    pub(crate) next: u64,
    /// One above the highest number that came.
    high: u64,
    /// Numbers from `next` on that were requested by NAK, as bits.
    asked: u64,
}

impl Arrivals {
    pub(crate) fn new(count: usize) -> Self {
        let count = count.clamp(1, MAX_SLOTS);
        Self { stored: [None; MAX_SLOTS], count, window: 1, next: 0, high: 0, asked: 0 }
    }

    /// The window that was agreed on, which is never more than we offered.
    pub(crate) fn agree(&mut self, window: u8) {
        self.window = u64::from(window).clamp(1, self.count as u64);
    }

    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// The memory slot of a packet number.
    pub(crate) fn index(&self, number: u64) -> usize {
        (number % self.count as u64) as usize
    }

    pub(crate) fn place(&self, seq: u8) -> Place {
        let ahead = u64::from(seq.wrapping_sub((self.next % 64) as u8) & 63);
        let behind = 64 - ahead;
        if ahead == 0 {
            Place::Next
        } else if ahead < self.window {
            Place::Ahead(self.next + ahead)
        } else if behind <= self.window.max(2) && behind <= self.next {
            Place::Behind(self.next - behind)
        } else {
            Place::Outside
        }
    }

    /// Keeps an out-of-order packet. False if it is a duplicate.
    pub(crate) fn store(&mut self, number: u64, len: usize) -> bool {
        let index = self.index(number);
        self.high = self.high.max(number + 1);
        if self.stored[index].is_some() {
            return false;
        }
        self.stored[index] = Some(len);
        true
    }

    /// The packet that was awaited is dealt with.
    pub(crate) fn advance(&mut self) {
        let index = self.index(self.next);
        self.stored[index] = None;
        self.next += 1;
        self.high = self.high.max(self.next);
        self.asked >>= 1;
    }

    /// The length of the data field of the packet that is awaited, if it is here already.
    pub(crate) fn ready(&self) -> Option<usize> {
        self.stored[self.index(self.next)]
    }

    /// The lowest number that is missing below `below` and was not asked for; it counts as asked
    /// for from now on.
    pub(crate) fn ask(&mut self, below: u64) -> Option<u64> {
        let end = below.min(self.next + self.window);
        let number = (self.next..end).find(|n| {
            self.asked >> (n - self.next) & 1 == 0 && self.stored[self.index(*n)].is_none()
        })?;
        self.asked |= 1 << (number - self.next);
        Some(number)
    }

    /// The number of a packet in the window that came damaged, if it is still missing: it counts as asked for.
    pub(crate) fn missing(&mut self, seq: u8) -> Option<u64> {
        let number = match self.place(seq) {
            Place::Next => self.next,
            Place::Ahead(number) => number,
            _ => return None,
        };
        if self.stored[self.index(number)].is_some() {
            return None;
        }
        self.asked |= 1 << (number - self.next);
        self.high = self.high.max(number + 1);
        Some(number)
    }

    /// One above the highest number that came.
    pub(crate) fn high(&self) -> u64 {
        self.high
    }
}
