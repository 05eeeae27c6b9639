//! Packets in blocks of equal length, so that they can leave in any order without fragmenting the memory.
//!
//! ```text
//!  0            2             4        6      8          16
//! +------------+-------------+--------+------+----------+-------------------+
//! | next block | next packet | length | zero | arrived  | data, 112 bytes   |
//! +------------+-------------+--------+------+----------+-------------------+
//!                \_______ of the first block of a packet _/
//! ```

use super::packet::{put_u16, u16_at};
use crate::{Instant, Memory};

/// Bytes of a block of memory; [`BLOCK_DATA`] of them are a packet's.
pub const BLOCK: usize = 128;
/// Bytes of a packet in a block.
pub const BLOCK_DATA: usize = BLOCK - 16;
/// Bytes of a block before the data.
const HEAD: usize = BLOCK - BLOCK_DATA;
/// No block.
pub(super) const NONE: u16 = u16::MAX;

/// Memory in blocks, and those that are free.
#[derive(Clone, Debug)]
pub(super) struct Blocks<M> {
    memory: M,
    /// The first free block; each links to the next.
    free: u16,
    free_count: u16,
}

impl<M: Memory> Blocks<M> {
    /// All blocks free. Memory beyond 65,535 blocks is not used.
    pub(super) fn new(memory: M) -> Self {
        let mut blocks = Self { memory, free: NONE, free_count: 0 };
        blocks.reset();
        blocks
    }

    /// All are free.
    pub(super) fn reset(&mut self) {
        let count = (self.memory.as_ref().len() / BLOCK).min(usize::from(NONE)) as u16;
        self.free = NONE;
        self.free_count = count;
        for index in (0..count).rev() {
            let next = self.free;
            put_u16(self.block(index), 0, next);
            self.free = index;
        }
    }

    /// The number of free blocks.
    pub(super) fn free_count(&self) -> usize {
        usize::from(self.free_count)
    }

    fn block(&mut self, index: u16) -> &mut [u8; BLOCK] {
        &mut self.memory.as_mut().as_chunks_mut().0[usize::from(index)]
    }

    fn lent(&self, index: u16) -> &[u8; BLOCK] {
        &self.memory.as_ref().as_chunks().0[usize::from(index)]
    }

    /// Length of the packet that begins here.
    pub(super) fn len(&self, first: u16) -> u16 {
        u16_at(self.lent(first), 4)
    }

    /// The packet after this one, or [`NONE`].
    pub(super) fn next_packet(&self, first: u16) -> u16 {
        u16_at(self.lent(first), 2)
    }

    pub(super) fn set_next_packet(&mut self, first: u16, next: u16) {
        put_u16(self.block(first), 2, next);
    }

    /// When the packet that begins here came.
    pub(super) fn arrived(&self, first: u16) -> Instant {
        let bytes: Option<&[u8; 8]> = self.lent(first)[8..].first_chunk();
        Instant(bytes.map_or(0, |bytes| u64::from_be_bytes(*bytes)))
    }

    /// Packets from this one to the last of its flow.
    pub(super) fn count_packets(&self, mut first: u16) -> u32 {
        let mut count = 0;
        while first != NONE {
            count += 1;
            first = self.next_packet(first);
        }
        count
    }

    /// Writes a packet into free blocks, of which there have to be enough; returns the first.
    pub(super) fn write(&mut self, now: Instant, packet: &[u8]) -> u16 {
        let first = self.free;
        let mut last = first;
        for piece in packet.chunks(BLOCK_DATA) {
            last = self.free;
            let block = self.block(last);
            let next = u16_at(block, 0);
            put_u16(block, 2, NONE);
            put_u16(block, 4, packet.len() as u16);
            put_u16(block, 6, 0);
            block[8..HEAD].copy_from_slice(&now.0.to_be_bytes());
            block[HEAD..HEAD + piece.len()].copy_from_slice(piece);
            self.free = next;
            self.free_count -= 1;
        }
        put_u16(self.block(last), 0, NONE);
        first
    }

    /// Frees the blocks of the packet that begins here, and copies it if there is room given.
    pub(super) fn release(&mut self, first: u16, mut into: Option<&mut [u8]>) {
        let mut left = usize::from(self.len(first));
        let mut at = 0;
        let mut index = first;
        while index != NONE {
            let free = self.free;
            let block = self.block(index);
            let len = left.min(BLOCK_DATA);
            if let Some(into) = &mut into {
                into[at..at + len].copy_from_slice(&block[HEAD..HEAD + len]);
            }
            at += len;
            left -= len;
            let next = u16_at(block, 0);
            put_u16(block, 0, free);
            self.free = index;
            self.free_count += 1;
            index = next;
        }
    }
}
