//! The compressor of RFC 1144.
//!
//! ```text
//! 1CIPSAWU  [slot]  checksum(2)  [urgent] [window] [ack] [sequence] [IP id]  data
//! ```
//!
//! Numbers from 1 to 255 take a byte, others three: 00 hi lo. S+A+W+U (special D) says that the sequence
//! number grew by the data of the last packet, S+W+U (special I) that the acknowledgement grew by as
//! much too; both are without numbers.

use super::options::timestamps;
use super::packet::{Kind, Shape, flag, is_ip, is_sound_tcp, put_u16, u16_at, u32_at};
use super::table::{BadTable, SLOT, Table, data_len, header, store};
use crate::Memory;
use core::fmt;

/// Bits of the first byte of a compressed header.
pub mod mask {
    /// The frame has a compressed header.
    pub const COMPRESSED: u8 = 0x80;
    /// The slot follows.
    pub const SLOT: u8 = 0x40;
    /// The IP id grew by something else than 1.
    pub const ID: u8 = 0x20;
    /// PSH of this packet.
    pub const PUSH: u8 = 0x10;
    /// The sequence number grew.
    pub const SEQUENCE: u8 = 0x08;
    /// The acknowledgement number grew.
    pub const ACK: u8 = 0x04;
    /// The window changed.
    pub const WINDOW: u8 = 0x02;
    /// URG is set, and the urgent pointer follows.
    pub const URGENT: u8 = 0x01;
    /// Special I, echoed interactive traffic: sequence and acknowledgement grew by the last packet's data.
    pub const SPECIAL_I: u8 = SEQUENCE | WINDOW | URGENT;
    /// Special D, data in one direction: the sequence number grew by the last packet's data.
    pub const SPECIAL_D: u8 = SEQUENCE | ACK | WINDOW | URGENT;
}

/// A packet that cannot go over a compressed line: its first byte is neither of IPv4 nor of IPv6, and would
/// be taken for the type of another frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotIp;

impl fmt::Display for NotIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected an IPv4 or IPv6 packet, got something else")
    }
}

impl core::error::Error for NotIp {}

/// The result of compressing a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framed {
    /// What the frame is.
    pub kind: Kind,
    /// Where in the packet's bytes the frame begins; it ends where the packet ended.
    pub start: usize,
}

impl Framed {
    /// The unchanged packet.
    pub(super) const IP: Self = Self { kind: Kind::Ip, start: 0 };
}

/// Counters of a compressor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompressorStats {
    /// Packets sent unchanged.
    pub ip: u64,
    /// TCP packets sent whole, with their slot.
    pub uncompressed: u64,
    /// TCP packets sent with a compressed header.
    pub compressed: u64,
    /// Of the uncompressed, those of connections that had no slot.
    pub new_connections: u64,
    /// Of the uncompressed, those of a known connection with TCP timestamps, which change and keep headers whole.
    pub timestamps_changed: u64,
    /// Bytes of IP and TCP headers of packets with a slot, before.
    pub headers_in: u64,
    /// Bytes of the same headers on the line, before escapes.
    pub headers_out: u64,
}

impl CompressorStats {
    /// Bytes saved.
    pub const fn saved_bytes(&self) -> u64 {
        self.headers_in - self.headers_out
    }

    /// Counts one packet with a slot.
    pub(super) fn count(&mut self, kind: Kind, before: usize, after: usize) {
        match kind {
            Kind::Ip => self.ip += 1,
            Kind::Uncompressed => self.uncompressed += 1,
            Kind::Compressed => self.compressed += 1,
        }
        self.headers_in += before as u64;
        self.headers_out += after as u64;
    }
}

/// Compresses the headers of outgoing packets (RFC 1144), in the order in which they are sent.
///
/// The slots are in memory that is passed in, [`Compressor::memory`] bytes. A compressor must not have
/// more of them than the decompressor at the peer.
#[derive(Clone, Debug)]
pub struct Compressor<M> {
    table: Table<M>,
    /// The slot sent last, if any.
    last: Option<u8>,
    omit_slot: bool,
    stats: CompressorStats,
}

impl Compressor<[u8; 0]> {
    /// Bytes of memory for this many slots.
    pub const fn memory(slots: u16) -> usize {
        slots as usize * SLOT
    }
}

impl<M: Memory> Compressor<M> {
    /// One with 3 to 256 slots. With `omit_slot`, the slot of a packet is omitted if it is that of the
    /// previous packet, which is what RFC 1144 calls connection-id compression: safe where errors of
    /// the line are detected.
    pub fn new(slots: u16, omit_slot: bool, memory: M) -> Result<Self, BadTable> {
        let table = Table::new(slots, memory)?;
        Ok(Self { table, last: None, omit_slot, stats: CompressorStats::default() })
    }

    /// Its counters.
    pub fn stats(&self) -> &CompressorStats {
        &self.stats
    }

    /// Forgets all connections, as after the line was reopened.
    pub fn reset(&mut self) {
        self.table.reset();
        self.last = None;
    }

    /// Turns a packet into a frame, in place: `packet[start..]` is the frame.
    ///
    /// Everything without a slot is sent unchanged: what is not TCP over IPv4, fragments, SYN, FIN and RST,
    /// and whatever a receiver could not rebuild exactly or would refuse (wrong checksums, padding).
    pub fn compress(&mut self, packet: &mut [u8]) -> Result<Framed, NotIp> {
        if !is_ip(packet) {
            return Err(NotIp);
        }
        let Some(shape) = Shape::of(packet).filter(|shape| is_sound_tcp(packet, *shape)) else {
            self.stats.ip += 1;
            return Ok(Framed::IP);
        };
        let (id, known) = self.table.find(packet, shape);
        let Some(slot) = self.table.slot(id) else { return Ok(Framed::IP) };
        let change = if known { Change::between(header(slot), packet, shape) } else { None };
        if known && change.is_none() {
            let changed = timestamps_changed(header(slot), packet, shape);
            self.stats.timestamps_changed += u64::from(changed);
        }
        store(slot, &packet[..shape.data]);
        let said = self.omit_slot && self.last.replace(id) == Some(id);
        self.stats.new_connections += u64::from(!known);
        let Some(change) = change else {
            make_whole(packet, id);
            self.stats.count(Kind::Uncompressed, shape.data, shape.data);
            return Ok(Framed { kind: Kind::Uncompressed, start: 0 });
        };
        let sum = u16_at(packet, shape.tcp + 16);
        let numbers = &change.numbers[..change.len];
        let from = shape.data - numbers.len();
        packet[from..shape.data].copy_from_slice(numbers);
        put_u16(packet, from - 2, sum);
        let start = if said {
            packet[from - 3] = mask::COMPRESSED | change.mask;
            from - 3
        } else {
            packet[from - 3] = id;
            packet[from - 4] = mask::COMPRESSED | mask::SLOT | change.mask;
            from - 4
        };
        self.stats.count(Kind::Compressed, shape.data, shape.data - start);
        Ok(Framed { kind: Kind::Compressed, start })
    }
}

/// Turns an uncompressed TCP packet into a frame with its slot.
pub(super) fn make_whole(packet: &mut [u8], id: u8) {
    packet[0] |= 0x70;
    packet[9] = id;
}

/// Only the sequence and acknowledgement numbers grew.
const BOTH: u8 = mask::SEQUENCE | mask::ACK;

/// How a header differs from the one before it.
struct Change {
    mask: u8,
    numbers: [u8; 15],
    len: usize,
}

impl Change {
    /// The change, or `None` if it cannot be encoded.
    fn between(old: &[u8], packet: &[u8], shape: Shape) -> Option<Self> {
        let new = &packet[..shape.data];
        if !may_differ(old, new, shape.tcp) {
            return None;
        }
        let (was, is) = (&old[shape.tcp..], &new[shape.tcp..]);
        let mut change = Self { mask: 0, numbers: [0; 15], len: 0 };
        if is[13] & flag::URG != 0 {
            change.say(mask::URGENT, u16_at(is, 18));
        } else if u16_at(was, 18) != u16_at(is, 18) {
            return None;
        }
        let window = u16_at(is, 14).wrapping_sub(u16_at(was, 14));
        if window != 0 {
            change.say(mask::WINDOW, window);
        }
        let ack = u32_at(is, 8).wrapping_sub(u32_at(was, 8));
        if ack != 0 {
            change.say(mask::ACK, u16::try_from(ack).ok()?);
        }
        let sequence = u32_at(is, 4).wrapping_sub(u32_at(was, 4));
        if sequence != 0 {
            change.say(mask::SEQUENCE, u16::try_from(sequence).ok()?);
        }
        let before = data_len(old);
        // A receiver built after the code of RFC 1144 would leave URG set with a special.
        let special = was[13] & flag::URG == 0;
        match change.mask {
            // Data after an acknowledgement; all else that looks so is retransmitted, and the peer may
            // have lost it.
            0 if before == 0 && u16_at(new, 2) != u16_at(old, 2) => {}
            0 | mask::SPECIAL_I | mask::SPECIAL_D => return None,
            BOTH if special && sequence == before && ack == before => {
                change.mask = mask::SPECIAL_I;
                change.len = 0;
            }
            mask::SEQUENCE if special && sequence == before => {
                change.mask = mask::SPECIAL_D;
                change.len = 0;
            }
            _ => {}
        }
        let id = u16_at(new, 4).wrapping_sub(u16_at(old, 4));
        if id != 1 {
            change.say(mask::ID, id);
        }
        if is[13] & flag::PSH != 0 {
            change.mask |= mask::PUSH;
        }
        Some(change)
    }

    /// Adds a number.
    fn say(&mut self, bit: u8, number: u16) {
        self.mask |= bit;
        if let Ok(byte @ 1..) = u8::try_from(number) {
            self.numbers[self.len] = byte;
            self.len += 1;
        } else {
            put_u16(&mut self.numbers, self.len + 1, number);
            self.numbers[self.len] = 0;
            self.len += 3;
        }
    }
}

/// Whether TCP's timestamps differ from those in the previous header.
fn timestamps_changed(old: &[u8], packet: &[u8], shape: Shape) -> bool {
    let new = timestamps(&packet[shape.tcp + 20..shape.data]);
    let old = old.get(shape.tcp + 20..).and_then(timestamps);
    new.is_some_and(|new| old.is_some_and(|old| old != new))
}

/// Whether two headers are equal in all fields that a compressed header cannot encode: version, lengths, type
/// of service, fragment bits, time to live, protocol, options, and the flags that RFC 1144 does not know.
fn may_differ(old: &[u8], new: &[u8], tcp: usize) -> bool {
    old.len() == new.len()
        && old[..2] == new[..2]
        && old[6..10] == new[6..10]
        && old[20..tcp] == new[20..tcp]
        && old[tcp + 12] == new[tcp + 12]
        && (old[tcp + 13] ^ new[tcp + 13]) & flag::ECN == 0
        && old[tcp + 20..] == new[tcp + 20..]
}
