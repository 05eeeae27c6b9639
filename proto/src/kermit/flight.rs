//! The sender's window: packets that are in flight, and which of them need sending again.
//!
//! Numbers here are absolute (they do not wrap); the wire carries them modulo 64. The window is
//! slots in memory, a packet with number n in slot n mod the number of slots (\[KPM\] sliding
//! windows, kermit.md §13).

use crate::time::{Duration, Instant};
use crate::trace::Again;

/// The most window slots there can be: the numbering allows no more than 31 in flight.
pub(crate) const MAX_SLOTS: usize = 31;

/// One packet in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) kind: u8,
    /// Where the packet is in its slot of memory.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) acked: bool,
    /// The receiver of a bundle keeps it until its turn comes.
    pub(crate) held: bool,
    /// It waits to be put into the queue towards the port.
    pub(crate) queue: bool,
    /// Times it was put into the queue.
    pub(crate) copies: u32,
    /// Position in the outgoing stream at which its last copy ends.
    pub(crate) leaves_at: u64,
    /// Bytes of the stream up to there that were unacknowledged when the last copy was queued.
    pub(crate) under_way: u64,
    /// When the port took the last byte of the last copy.
    pub(crate) left: Option<Instant>,
    /// When the first copy was put into the queue.
    pub(crate) since: Instant,
    /// NAKs for it.
    pub(crate) naks: u32,
    /// A NAK requested another copy, which has to wait.
    pub(crate) wanted: bool,
    /// The last copy had to wait so.
    pub(crate) waited: bool,
    /// Length of the data field, and bytes of the file it stands for, if it carries any.
    pub(crate) data: usize,
    pub(crate) file: usize,
    /// Why the copy that waits, or was sent last, is another one.
    pub(crate) why: Option<Again>,
    /// Parity symbols of each code word of the last copy; 0: it had no error correction.
    pub(crate) parity: u8,
    /// Order of sending among all copies of all packets.
    pub(crate) order: u64,
}

impl Slot {
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }
}

/// The packets in flight.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    slots: [Slot; MAX_SLOTS],
    /// Slots there is memory for.
    count: usize,
    /// The oldest number that is not acknowledged.
    pub(crate) low: u64,
    /// The number that comes next.
    pub(crate) next: u64,
    order: u64,
    /// Position in the outgoing stream up to which the peer is known to have it.
    heard: u64,
}

/// What an acknowledgement did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Acked {
    pub(crate) kind: u8,
    pub(crate) len: usize,
    /// Bytes of the file it stands for.
    pub(crate) file: usize,
    /// Round trip and the bytes that were in flight, if the packet was sent only once.
    pub(crate) rtt: Option<(Duration, u64)>,
    /// Times it was sent; each copy may be answered.
    pub(crate) copies: u32,
    /// The last copy had waited for quiet.
    pub(crate) waited: bool,
}

impl Flight {
    pub(crate) fn new(count: usize) -> Self {
        let count = count.clamp(1, MAX_SLOTS);
        Self { slots: [Slot::default(); MAX_SLOTS], count, low: 0, next: 0, order: 0, heard: 0 }
    }

    /// The memory slot of a packet number.
    pub(crate) fn index(&self, number: u64) -> usize {
        (number % self.count as u64) as usize
    }

    pub(crate) fn slot(&self, number: u64) -> &Slot {
        &self.slots[self.index(number)]
    }

    fn slot_mut(&mut self, number: u64) -> &mut Slot {
        let index = self.index(number);
        &mut self.slots[index]
    }

    /// Packets in flight, acknowledged ones after a hole included.
    pub(crate) fn len(&self) -> usize {
        (self.next - self.low) as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.low
    }

    /// The number in flight that a number of the wire means, if any.
    pub(crate) fn locate(&self, seq: u8) -> Option<u64> {
        let ahead = u64::from(seq.wrapping_sub((self.low % 64) as u8) & 63);
        (ahead < self.next - self.low).then_some(self.low + ahead)
    }

    /// Takes the next number for a packet that is at `start..end` of its slot of memory.
    pub(crate) fn push(&mut self, kind: u8, start: usize, end: usize) -> u64 {
        let number = self.next;
        *self.slot_mut(number) = Slot { kind, start, end, queue: true, ..Slot::default() };
        self.next += 1;
        number
    }

    /// A packet in flight was rewritten in its slot of memory.
    pub(crate) fn rewritten(&mut self, number: u64, start: usize, end: usize) {
        let slot = self.slot_mut(number);
        slot.start = start;
        slot.end = end;
    }

    /// A packet in flight has another data length now.
    pub(crate) fn reload(&mut self, number: u64, data: usize) {
        self.slot_mut(number).data = data;
    }

    /// Sets the data length of the packet pushed last, and how much of the file it encodes.
    pub(crate) fn load(&mut self, data: usize, file: usize) {
        let slot = self.slot_mut(self.next - 1);
        slot.data = data;
        slot.file = file;
    }

    /// A number goes by without being kept (streaming).
    pub(crate) fn pass(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        self.low = self.next;
        number
    }

    /// The oldest packet that waits to be queued.
    pub(crate) fn to_queue(&self) -> Option<u64> {
        (self.low..self.next).find(|n| self.slot(*n).queue)
    }

    /// A copy was put into the queue and ends at `leaves_at` of the stream. Returns how many copies
    /// there were before.
    pub(crate) fn queued(&mut self, number: u64, leaves_at: u64, parity: u8, now: Instant) -> u32 {
        self.order += 1;
        let (order, heard) = (self.order, self.heard);
        let slot = self.slot_mut(number);
        slot.queue = false;
        slot.parity = parity;
        slot.waited = slot.wanted;
        slot.wanted = false;
        if slot.copies == 0 {
            slot.since = now;
        }
        slot.under_way = leaves_at.saturating_sub(heard);
        slot.order = order;
        slot.leaves_at = leaves_at;
        slot.left = None;
        slot.copies += 1;
        slot.copies - 1
    }

    /// The port has taken the stream up to `taken`.
    pub(crate) fn left(&mut self, taken: u64, now: Instant) {
        for number in self.low..self.next {
            let slot = self.slot_mut(number);
            if slot.left.is_none() && slot.copies > 0 && slot.leaves_at <= taken {
                slot.left = Some(now);
            }
        }
    }

    /// Bytes of the stream, which ends at `position`, of which nothing was heard.
    pub(crate) fn unheard(&self, position: u64) -> u64 {
        if self.is_empty() { 0 } else { position.saturating_sub(self.heard) }
    }

    /// The packet that was queued last of those of which nothing was heard.
    pub(crate) fn last_unanswered(&self) -> Option<&Slot> {
        let slots = (self.low..self.next).map(|number| self.slot(number));
        slots.filter(|slot| !slot.acked && !slot.held).max_by_key(|slot| (slot.queue, slot.order))
    }

    /// The oldest packet of which the peer has told nothing; the oldest one if it keeps all others.
    pub(crate) fn first_unanswered(&self) -> u64 {
        let unanswered = |number: &u64| !self.slot(*number).acked && !self.slot(*number).held;
        (self.low..self.next).find(unanswered).unwrap_or(self.low)
    }

    /// An acknowledgement of `number`, which is in flight. `None` if it had been acknowledged.
    pub(crate) fn ack(&mut self, number: u64, now: Instant) -> Option<Acked> {
        let slot = self.slot_mut(number);
        if slot.acked || slot.copies == 0 {
            return None;
        }
        slot.acked = true;
        slot.queue = false;
        let rtt = match slot.left {
            Some(left) if slot.copies == 1 && !slot.held => Some((now - left, slot.under_way)),
            _ => None,
        };
        let acked = Acked {
            kind: slot.kind,
            len: slot.len(),
            file: slot.file,
            rtt,
            copies: slot.copies,
            waited: slot.waited,
        };
        let leaves_at = slot.leaves_at;
        self.heard = self.heard.max(leaves_at);
        while self.low < self.next && self.slot(self.low).acked {
            self.low += 1;
        }
        Some(acked)
    }

    /// The receiver keeps `number` until its turn comes: round trip and bytes, if it was sent only once.
    pub(crate) fn hold(&mut self, number: u64, now: Instant) -> Option<(Duration, u64)> {
        let slot = self.slot_mut(number);
        if slot.acked || core::mem::replace(&mut slot.held, true) {
            return None;
        }
        slot.queue = false;
        let left = slot.left.filter(|_| slot.copies == 1);
        let (leaves_at, under_way) = (slot.leaves_at, slot.under_way);
        self.heard = self.heard.max(leaves_at);
        left.map(|left| (now - left, under_way))
    }

    /// Asks for another copy of `number`, unless one is on its way that the peer cannot have
    /// known of: still in the queue, or left less than `soonest` ago.
    pub(crate) fn again(
        &mut self,
        number: u64,
        now: Instant,
        soonest: Duration,
        why: Again,
    ) -> bool {
        let slot = self.slot_mut(number);
        let fresh = slot.left.is_none_or(|left| now - left < soonest);
        if slot.acked || slot.queue || fresh {
            return false;
        }
        slot.queue = true;
        slot.why = Some(why);
        true
    }

    /// A NAK for `number` came: how many came before.
    pub(crate) fn refused(&mut self, number: u64) -> u32 {
        let slot = self.slot_mut(number);
        slot.naks += 1;
        slot.naks - 1
    }

    /// Another copy of `number` is due later.
    pub(crate) fn want(&mut self, number: u64) {
        let slot = self.slot_mut(number);
        slot.wanted = !slot.acked && !slot.queue;
    }

    /// Packets below `number` that left before it: on a line that keeps the order they are lost.
    ///
    /// Only a later packet bears witness, and only by its number too: a peer that acknowledges
    /// in sequence answers a repeated packet first and all that waited after it afterwards.
    ///
    /// Those that the receiver keeps are not, as long as `number` is only kept, too: after that their acknowledgements are.
    pub(crate) fn overtaken(&self, number: u64) -> impl Iterator<Item = u64> + use<> {
        let witness = *self.slot(number);
        let mut lost = 0u64;
        for (bit, n) in (self.low..number.min(self.next)).enumerate() {
            let slot = self.slot(n);
            let there = slot.acked || (slot.held && witness.held && !witness.acked);
            if !there && !slot.queue && slot.left.is_some() && slot.order < witness.order {
                lost |= 1 << bit;
            }
        }
        let low = self.low;
        (0..MAX_SLOTS as u64).filter(move |bit| lost >> bit & 1 != 0).map(move |bit| low + bit)
    }
}
