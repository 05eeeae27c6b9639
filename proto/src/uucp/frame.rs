//! Framing: packets in the byte stream.
//!
//! A packet is found by its first byte, a plausible `k` and the header's own check; data may contain the
//! same bytes, as nothing is escaped. A packet with damaged data is skipped as a whole: file
//! content must not be taken for a packet.

use crate::reason::reasons;

/// Starts every packet, and every message before and after the packets.
pub const DLE: u8 = 0x10;
/// Bytes of a header.
pub const HEADER: usize = 6;
/// The `k` of a control packet.
pub const CONTROL: u8 = 9;
/// The shortest data field.
pub const SHORTEST: usize = 32;
/// The longest data field.
pub const LONGEST: usize = 4096;

/// Checks are subtracted from this.
const BASE: u16 = 0xAAAA;

/// Bytes of the data field for `k`; `None` for a control packet.
pub const fn field_len(k: u8) -> Option<usize> {
    match k {
        1..=8 => Some(1 << (k + 4)),
        _ => None,
    }
}

/// The `k` of a data field of this length, which is a power of two from 32 to 4096.
pub const fn k_of(len: usize) -> u8 {
    (len.trailing_zeros() as u8).saturating_sub(4)
}

/// Chesson's sum over a whole data field.
pub fn sum(field: &[u8]) -> u16 {
    let (mut a, mut s) = (0xFFFF_u16, 0_u16);
    for (left, byte) in (1..=field.len()).rev().zip(field) {
        let (next, carried) = a.rotate_left(1).overflowing_add(u16::from(*byte));
        a = next;
        s = s.wrapping_add(a ^ left as u16);
        if *byte == 0 || carried {
            a ^= s;
        }
    }
    a
}

fn header(k: u8, check: u16, control: u8) -> [u8; HEADER] {
    let [low, high] = check.to_le_bytes();
    [DLE, k, low, high, control, k ^ low ^ high ^ control]
}

/// A control packet with this control byte.
pub fn control(control: u8) -> [u8; HEADER] {
    header(CONTROL, BASE.wrapping_sub(u16::from(control)), control)
}

/// The header of a data packet: `len` is the length of its field, `sum` that of its bytes.
pub fn data_header(len: usize, control: u8, sum: u16) -> [u8; HEADER] {
    header(k_of(len), BASE.wrapping_sub(sum ^ u16::from(control)), control)
}

reasons! {
    /// Why a packet cannot be used.
    pub enum BadPacket {
        /// Of a control packet.
        ControlCheck = "check of a control packet",
        /// Of a data packet.
        Check = "check",
        /// A control packet of a kind that does not exist.
        Control = "an unassigned control byte",
        /// The rest of a packet does not come.
        Silence = "silence inside a packet",
    }
}

/// An item found by the reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// A good control packet: its control byte.
    Control(u8),
    /// A good data packet. Its field is at the beginning of the room.
    Data {
        /// The control byte.
        control: u8,
        /// Bytes of the field.
        len: usize,
    },
    /// A packet with a good header and a wrong check.
    Damaged {
        /// The reason.
        why: BadPacket,
        /// Bytes discarded.
        len: usize,
        /// The control byte, if it was a data packet.
        control: Option<u8>,
    },
    /// A byte that belongs to no packet.
    Byte(u8),
}

/// Finds packets. The data goes directly to the caller's buffer.
#[derive(Clone, Debug)]
pub struct PacketReader {
    /// The longest field there is room for.
    longest: usize,
    head: [u8; HEADER],
    /// Bytes of the packet so far.
    have: usize,
}

impl PacketReader {
    /// A reader of fields of up to `longest` bytes.
    pub const fn new(longest: usize) -> Self {
        Self { longest, head: [0; HEADER], have: 0 }
    }

    /// A packet has begun and is not complete.
    pub const fn mid_packet(&self) -> bool {
        self.have > 0
    }

    /// Discards the incomplete packet; returns its length so far.
    pub fn abandon(&mut self) -> usize {
        core::mem::take(&mut self.have)
    }

    /// Whether the bytes so far may begin a packet.
    fn plausible(&self) -> bool {
        let head = &self.head;
        (self.have < 1 || head[0] == DLE)
            && (self.have < 2
                || head[1] == CONTROL
                || field_len(head[1]).is_some_and(|len| len <= self.longest))
            && (self.have < HEADER || head[1] ^ head[2] ^ head[3] ^ head[4] == head[5])
    }

    /// Takes bytes up to the end of the next item; `room` is the same for all calls
    /// of one packet and holds the longest field. Returns how many bytes were taken. Call it
    /// until nothing is found: a byte that was held back as a possible start may be returned
    /// without one being taken.
    pub fn next(&mut self, room: &mut [u8], bytes: &[u8]) -> (usize, Option<Found>) {
        let mut used = 0;
        loop {
            if !self.plausible() {
                // Of six bytes that are not a header the last five may start one.
                let first = self.head[0];
                let have = self.have.min(HEADER);
                self.head.copy_within(1..have, 0);
                self.have = have - 1;
                return (used, Some(Found::Byte(first)));
            }
            if self.have == HEADER && self.head[1] == CONTROL {
                self.have = 0;
                return (used, Some(self.control()));
            }
            if used == bytes.len() {
                return (used, None);
            }
            if self.have < HEADER {
                self.head[self.have] = bytes[used];
                self.have += 1;
                used += 1;
                continue;
            }
            let len = field_len(self.head[1]).unwrap_or(0);
            let data = self.have - HEADER;
            let count = (len - data).min(bytes.len() - used);
            room[data..data + count].copy_from_slice(&bytes[used..used + count]);
            self.have += count;
            used += count;
            if self.have == HEADER + len {
                self.have = 0;
                return (used, Some(self.data(&room[..len])));
            }
        }
    }

    fn check(&self) -> u16 {
        u16::from_le_bytes([self.head[2], self.head[3]])
    }

    fn control(&self) -> Found {
        let control = self.head[4];
        if self.check() == BASE.wrapping_sub(u16::from(control)) {
            return Found::Control(control);
        }
        Found::Damaged { why: BadPacket::ControlCheck, len: HEADER, control: None }
    }

    fn data(&self, field: &[u8]) -> Found {
        let (control, len) = (self.head[4], field.len());
        if self.check() == BASE.wrapping_sub(sum(field) ^ u16::from(control)) {
            return Found::Data { control, len };
        }
        Found::Damaged { why: BadPacket::Check, len: HEADER + len, control: Some(control) }
    }
}
