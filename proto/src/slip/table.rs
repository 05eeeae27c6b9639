//! The slots of both directions: the last header of every connection.

use super::packet::{LONGEST_HEADER, Shape, u16_at};
use crate::{Memory, MemoryTooSmall};
use core::fmt;

/// Bytes of a slot: the longest header, its length, and the next slot in the order of use.
pub const SLOT: usize = 128;
/// Fewest slots. The code of RFC 1144 wants more than two.
pub const FEWEST_SLOTS: u16 = 3;
/// Most slots: a connection number is a byte.
pub const MOST_SLOTS: u16 = 256;

/// Where a slot keeps the length of its header; 0 if it was never filled.
const LEN: usize = LONGEST_HEADER;
/// Where a slot keeps the next in the order of use.
const NEXT: usize = LONGEST_HEADER + 1;
/// Where a slot counts the packets in a row that were rebuilt from it with a wrong checksum.
const DOUBT: usize = LONGEST_HEADER + 2;

/// Packets with a wrong checksum in a row after which a slot is out of step. One may be damaged data.
const MOST_DOUBT: u8 = 2;

/// Why a table of slots cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadTable {
    /// An invalid number of slots.
    Slots(u16),
    /// Memory for fewer slots than were asked for.
    Memory(MemoryTooSmall),
}

impl fmt::Display for BadTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slots(got) => {
                write!(f, "expected {FEWEST_SLOTS} to {MOST_SLOTS} slots, got {got}")
            }
            Self::Memory(small) => small.fmt(f),
        }
    }
}

impl core::error::Error for BadTable {}

/// Headers by slot, and the order in which slots were used.
#[derive(Clone, Debug)]
pub(super) struct Table<M> {
    memory: M,
    /// The slot used last.
    newest: u8,
    count: u16,
}

/// One slot.
pub(super) type Slot = [u8; SLOT];

/// The header in a slot: empty if it was never filled.
pub(super) fn header(slot: &Slot) -> &[u8] {
    &slot[..usize::from(slot[LEN]).min(LONGEST_HEADER)]
}

/// Puts a header into a slot.
pub(super) fn store(slot: &mut Slot, header: &[u8]) {
    slot[..header.len()].copy_from_slice(header);
    slot[LEN] = header.len() as u8;
}

/// Records whether the last stored header gave a packet with a good checksum.
pub(super) fn judge(slot: &mut Slot, sound: bool) {
    slot[DOUBT] = if sound { 0 } else { slot[DOUBT].saturating_add(1) };
}

/// Nothing rebuilt from this slot can be right until an uncompressed packet comes.
pub(super) fn is_out_of_step(slot: &Slot) -> bool {
    slot[DOUBT] >= MOST_DOUBT
}

impl<M: Memory> Table<M> {
    /// An empty table; [`SLOT`] bytes are needed for each slot.
    pub(super) fn new(count: u16, memory: M) -> Result<Self, BadTable> {
        if !(FEWEST_SLOTS..=MOST_SLOTS).contains(&count) {
            return Err(BadTable::Slots(count));
        }
        let (needed, given) = (usize::from(count) * SLOT, memory.as_ref().len());
        if given < needed {
            return Err(BadTable::Memory(MemoryTooSmall { needed, given }));
        }
        let mut table = Self { memory, newest: 0, count };
        table.reset();
        Ok(table)
    }

    /// Forgets all headers; the slots come in the order 0, 1, 2.
    pub(super) fn reset(&mut self) {
        self.newest = (self.count - 1) as u8;
        for (index, slot) in self.slots().iter_mut().enumerate() {
            slot[LEN] = 0;
            slot[DOUBT] = 0;
            slot[NEXT] = index.wrapping_sub(1) as u8;
        }
    }

    fn slots(&mut self) -> &mut [Slot] {
        let count = usize::from(self.count);
        &mut self.memory.as_mut().as_chunks_mut().0[..count]
    }

    /// This slot, if there is one.
    pub(super) fn slot(&mut self, id: u8) -> Option<&mut Slot> {
        self.slots().get_mut(usize::from(id))
    }

    /// The slot of this packet's connection, or the least recently used one; it is then the most
    /// recently used. Also whether it was the connection's.
    pub(super) fn find(&mut self, packet: &[u8], shape: Shape) -> (u8, bool) {
        let newest = self.newest;
        let slots = self.slots();
        let (mut id, mut before) = (newest, newest);
        let mut known = false;
        // Each slot once: the last is the oldest.
        for left in (0..slots.len()).rev() {
            let slot = &slots[usize::from(id)];
            known = is_same(slot, packet, shape);
            if known || left == 0 {
                break;
            }
            before = id;
            id = slot[NEXT];
        }
        if id != newest {
            slots[usize::from(before)][NEXT] = slots[usize::from(id)][NEXT];
            slots[usize::from(id)][NEXT] = newest;
            self.newest = id;
        }
        (id, known)
    }
}

/// Whether the slot is of this packet's connection: both addresses and both ports.
fn is_same(slot: &Slot, packet: &[u8], shape: Shape) -> bool {
    let tcp = usize::from(slot[0] & 0x0F) * 4;
    slot[LEN] != 0
        && slot[12..20] == packet[12..20]
        && slot[tcp..tcp + 4] == packet[shape.tcp..shape.tcp + 4]
}

/// Bytes of data of the packet whose header this is.
pub(super) fn data_len(header: &[u8]) -> u32 {
    u32::from(u16_at(header, 2)).saturating_sub(header.len() as u32)
}
