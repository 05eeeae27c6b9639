//! Framing: blocks in the byte stream (\[XY88\] figures 1 and 2).
//!
//! A block is found by its first byte and its length; the receiver discards
//! what follows a damaged block. The number is only compared with its complement.

use crate::crc::crc16;
use crate::reason::reasons;

/// Starts a block of 128 bytes.
pub const SOH: u8 = 0x01;
/// Starts a block of 1024 bytes.
pub const STX: u8 = 0x02;
/// No more blocks.
pub const EOT: u8 = 0x04;
/// The block was good.
pub const ACK: u8 = 0x06;
/// Erases a cancel that ended up on a command line.
pub const BS: u8 = 0x08;
/// The block was bad; before the first block: start, with checksums.
pub const NAK: u8 = 0x15;
/// Two in a row end the transfer.
pub const CAN: u8 = 0x18;
/// Fills the last block (CP/M's end of file).
pub const SUB: u8 = 0x1A;
/// Start, with CRCs.
pub const WANT_CRC: u8 = b'C';
/// Start, with CRCs and without acknowledgements.
pub const WANT_STREAM: u8 = b'G';

/// What ends the session: \[XY88\] wants two CAN at least, programs send eight and erase them.
pub const CANCEL: [u8; 16] =
    [CAN, CAN, CAN, CAN, CAN, CAN, CAN, CAN, BS, BS, BS, BS, BS, BS, BS, BS];

/// Data bytes of a short block.
pub const SHORT: usize = 128;
/// Data bytes of a long block.
pub const LONG: usize = 1024;
/// Bytes before the data.
pub const HEADER: usize = 3;

/// The check of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// Sum of the data bytes, modulo 256.
    Sum,
    /// CRC-16/XMODEM of the data bytes.
    Crc,
}

impl Check {
    /// Bytes on the wire.
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(self) -> usize {
        match self {
            Self::Sum => 1,
            Self::Crc => 2,
        }
    }
}

/// The sum of the bytes, modulo 256.
pub fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

/// Completes a block in place: its `len` (128 or 1024) data bytes are after [`HEADER`].
/// Returns its length on the wire.
pub fn finish(block: &mut [u8], number: u8, len: usize, check: Check) -> usize {
    block[0] = if len == LONG { STX } else { SOH };
    block[1] = number;
    block[2] = !number;
    let end = HEADER + len;
    match check {
        Check::Sum => block[end] = sum(&block[HEADER..end]),
        Check::Crc => {
            let crc = crc16(&block[HEADER..end]).to_be_bytes();
            block[end..end + 2].copy_from_slice(&crc);
        }
    }
    end + check.len()
}

reasons! {
    /// Why a block is invalid.
    pub enum BadBlock {
        /// STX, where blocks of 1024 bytes are not expected.
        TooLong = "block longer than the buffer",
        /// The number and its complement.
        Number = "number and complement disagree",
        /// The checksum or CRC is wrong.
        Check = "check",
        /// Bytes followed an EOT, so it was noise.
        BehindEot = "bytes behind EOT",
        /// An invalid first byte of a block.
        NoBlock = "expected a block",
        /// The rest of a block does not come.
        Silence = "silence in a block",
    }
}

/// What the reader found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// A block with a good check. Its data are at the beginning of the room.
    Block {
        /// Its number.
        number: u8,
        /// Its data bytes: 128 or 1024.
        len: usize,
    },
    /// An invalid block.
    Damaged {
        /// What was wrong.
        why: BadBlock,
        /// Bytes discarded.
        len: usize,
    },
    /// A byte between blocks that does not start one.
    Byte(u8),
}

/// Finds blocks. The data goes directly to the receiver's buffer.
#[derive(Clone, Debug)]
pub struct BlockReader {
    /// The check of the blocks.
    pub check: Check,
    /// A block with a wrong checksum may still have a good CRC: the sender chose before we fell back.
    /// If so, `check` is changed.
    pub either: bool,
    /// The longest block there is room for.
    longest: usize,
    head: [u8; HEADER],
    tail: [u8; 2],
    /// Bytes of the block so far.
    have: usize,
    len: usize,
    /// Bytes of the last discarded block.
    lost: usize,
}

impl BlockReader {
    /// A reader of blocks of up to `longest` data bytes.
    pub const fn new(check: Check, longest: usize) -> Self {
        Self { check, either: false, longest, head: [0; 3], tail: [0; 2], have: 0, len: 0, lost: 0 }
    }

    /// The longest block there is room for.
    pub const fn longest(&self) -> usize {
        self.longest
    }

    /// A block has begun and is not complete.
    pub const fn mid_block(&self) -> bool {
        self.have > 0
    }

    /// Takes bytes up to the end of the next item; `room` is the same for all calls
    /// of one block and holds the longest. Returns how many bytes were taken.
    pub fn next(&mut self, room: &mut [u8], bytes: &[u8]) -> (usize, Option<Found>) {
        let mut used = 0;
        while used < bytes.len() && self.have < HEADER {
            let byte = bytes[used];
            used += 1;
            if let Some(found) = self.header(byte) {
                return (used, Some(found));
            }
        }
        let data = self.have.saturating_sub(HEADER);
        if self.have >= HEADER && data < self.len {
            let len = (self.len - data).min(bytes.len() - used);
            room[data..data + len].copy_from_slice(&bytes[used..used + len]);
            self.have += len;
            used += len;
        }
        while used < bytes.len() && self.have >= HEADER + self.len {
            self.tail[self.have - HEADER - self.len] = bytes[used];
            self.have += 1;
            used += 1;
            if let Some(found) = self.verify(&room[..self.len]) {
                return (used, Some(found));
            }
        }
        (used, None)
    }

    fn header(&mut self, byte: u8) -> Option<Found> {
        if self.have == 0 {
            self.len = match byte {
                SOH => SHORT,
                STX => LONG,
                other => return Some(Found::Byte(other)),
            };
            if self.len > self.longest {
                self.have = 1;
                return Some(self.damaged(BadBlock::TooLong));
            }
        }
        self.head[self.have] = byte;
        self.have += 1;
        if self.have == HEADER && self.head[1] != !self.head[2] {
            return Some(self.damaged(BadBlock::Number));
        }
        None
    }

    fn verify(&mut self, data: &[u8]) -> Option<Found> {
        let checks = self.have - HEADER - self.len;
        let good = match (self.check, checks) {
            (Check::Sum, 1) if self.tail[0] == sum(data) => true,
            (Check::Sum, 1) if self.either => return None,
            (Check::Crc, 1) => return None,
            (Check::Sum, 1) => false,
            (check, _) => {
                let good = u16::from_be_bytes(self.tail) == crc16(data);
                if good && check == Check::Sum {
                    self.check = Check::Crc;
                }
                good
            }
        };
        if !good {
            return Some(self.damaged(BadBlock::Check));
        }
        self.have = 0;
        Some(Found::Block { number: self.head[1], len: self.len })
    }

    fn damaged(&mut self, why: BadBlock) -> Found {
        Found::Damaged { why, len: self.abandon() }
    }

    /// Discards the incomplete block; returns its length so far.
    pub fn abandon(&mut self) -> usize {
        self.lost = self.have;
        core::mem::take(&mut self.have)
    }

    /// CANs at the end of the last damaged or discarded block, perhaps with BS after them:
    /// a sender that cancelled in the middle of it. `room` is that of the block.
    pub fn cancels(&self, room: &[u8]) -> usize {
        let data = self.lost.saturating_sub(HEADER).min(self.len);
        let tail = self.lost.saturating_sub(HEADER + data).min(self.tail.len());
        let mut bytes = room[..data].iter().chain(&self.tail[..tail]).rev().peekable();
        while bytes.next_if(|byte| **byte == BS).is_some() {}
        bytes.take_while(|byte| **byte == CAN).count()
    }
}
