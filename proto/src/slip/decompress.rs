//! The decompressor of RFC 1144, with more checks than its code has.

use super::compress::mask;
use super::packet::{
    Kind, Shape, flag, is_sound_tcp, is_whole_ip, protocol, put_u16, put_u32, u16_at, u32_at,
};
use super::table::{BadTable, SLOT, Table, data_len, header, is_out_of_step, judge, store};
use crate::Memory;
use crate::checksum::checksum;
use core::fmt;

/// Bytes that have to be free before a frame: the most by which a rebuilt header is longer.
pub const HEADROOM: usize = 128;

/// Why a frame gave no packet. After each, frames without a slot are tossed until one has it;
/// but after [`Refused::Tossed`], [`Refused::Rebuilt`] and [`Refused::OutOfStep`] nothing changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The frame has no slot, and after an error the slot is unknown.
    Tossed,
    /// An invalid first byte, or an IPv6 packet with a wrong length.
    Kind(u8),
    /// Fewer bytes than the header of the frame implies.
    Short,
    /// A slot that does not exist.
    Slot(u8),
    /// A slot that was never filled.
    Empty(u8),
    /// An uncompressed TCP packet with an invalid header: lengths, checksum, fragment, flags.
    Header,
    /// An uncompressed TCP packet with a wrong checksum.
    Checksum,
    /// The TCP checksum of the rebuilt packet is wrong: something was lost or damaged.
    Rebuilt,
    /// The same for two packets in a row from this slot. What is rebuilt from it is wrong until an uncompressed
    /// packet comes, and might pass the checksum by chance.
    OutOfStep(u8),
    /// The packet would be longer than IP allows.
    Long,
}

impl Refused {
    /// The violated rule, in a word or two.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tossed => "tossed",
            Self::Kind(_) => "type",
            Self::Short => "short",
            Self::Slot(_) => "slot",
            Self::Empty(_) => "empty slot",
            Self::Header => "header",
            Self::Checksum => "checksum",
            Self::Rebuilt => "rebuilt",
            Self::OutOfStep(_) => "out of step",
            Self::Long => "long",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tossed => {
                f.write_str("expected a frame with its slot after an error, got one without")
            }
            Self::Kind(got) => write!(f, "expected the first byte of a packet, got {got:#04x}"),
            Self::Short => f.write_str("the frame has fewer bytes than its header says"),
            Self::Slot(got) => write!(f, "the slot {got} is beyond the slots there are"),
            Self::Empty(got) => write!(f, "the slot {got} was never filled"),
            Self::Header => f.write_str("expected a valid IP and TCP header"),
            Self::Checksum => f.write_str("wrong checksum in an uncompressed TCP packet"),
            Self::Rebuilt => f.write_str("wrong checksum in a rebuilt TCP packet"),
            Self::OutOfStep(got) => {
                write!(f, "the slot {got} is out of step, expected a whole packet, got a change")
            }
            Self::Long => f.write_str("the packet would be longer than IP allows"),
        }
    }
}

impl core::error::Error for Refused {}

/// Counters of a decompressor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DecompressorStats {
    /// Packets received unchanged.
    pub ip: u64,
    /// TCP packets received uncompressed, with their slot.
    pub uncompressed: u64,
    /// TCP packets that were rebuilt.
    pub compressed: u64,
    /// Frames that could not be rebuilt.
    pub errors: u64,
    /// Frames without a slot after an error.
    pub tossed: u64,
    /// Packets that were rebuilt with a wrong checksum, and dropped.
    pub rebuilt_wrong: u64,
    /// Frames dropped because their slot was out of step.
    pub out_of_step: u64,
    /// Bytes of IP and TCP headers of packets with a slot, as delivered.
    pub headers_out: u64,
    /// Bytes of the same headers on the line, without escapes.
    pub headers_in: u64,
}

/// Rebuilds the headers of received packets (RFC 1144).
///
/// The slots are in memory that is passed in, [`Decompressor::memory`] bytes. RFC 1144 leaves the checksum of TCP
/// to the ends of the connection. Here it is verified too: what they would drop is dropped, and a slot
/// that has given two such packets in a row gives no more until an uncompressed packet comes, as the errors of
/// several packets can cancel out.
#[derive(Clone, Debug)]
pub struct Decompressor<M> {
    table: Table<M>,
    /// The last slot received; `None` after an error.
    last: Option<u8>,
    stats: DecompressorStats,
}

impl Decompressor<[u8; 0]> {
    /// Bytes of memory for this many slots.
    pub const fn memory(slots: u16) -> usize {
        slots as usize * SLOT
    }
}

impl<M: Memory> Decompressor<M> {
    /// One with 3 to 256 slots.
    pub fn new(slots: u16, memory: M) -> Result<Self, BadTable> {
        let table = Table::new(slots, memory)?;
        Ok(Self { table, last: None, stats: DecompressorStats::default() })
    }

    /// Its counters.
    pub fn stats(&self) -> &DecompressorStats {
        &self.stats
    }

    /// Forgets all connections, as after the line was reopened.
    pub fn reset(&mut self) {
        self.table.reset();
        self.last = None;
    }

    /// Something was lost on the line: frames without a slot are tossed until one has it.
    pub fn line_error(&mut self) {
        self.last = None;
    }

    /// Turns the frame `buffer[at..]` into a packet; it starts at the returned index and ends where the
    /// frame ended. What precedes the frame is overwritten.
    ///
    /// Panics if `at` is less than [`HEADROOM`].
    pub fn restore(&mut self, buffer: &mut [u8], at: usize) -> Result<usize, Refused> {
        assert!(at >= HEADROOM, "expected {HEADROOM} bytes before the frame, got {at}");
        let result = self.restored(buffer, at);
        match result {
            Ok(_) => {}
            Err(Refused::Tossed) => self.stats.tossed += 1,
            Err(Refused::Rebuilt) => self.stats.rebuilt_wrong += 1,
            Err(Refused::OutOfStep(_)) => self.stats.out_of_step += 1,
            Err(_) => {
                self.stats.errors += 1;
                self.line_error();
            }
        }
        result
    }

    fn restored(&mut self, buffer: &mut [u8], at: usize) -> Result<usize, Refused> {
        let first = *buffer.get(at).ok_or(Refused::Short)?;
        match Kind::of(first).ok_or(Refused::Kind(first))? {
            Kind::Compressed => self.compressed(buffer, at),
            Kind::Uncompressed => self.uncompressed(&mut buffer[at..]).map(|()| at),
            Kind::Ip if is_whole_ip(&buffer[at..]) => {
                self.stats.ip += 1;
                Ok(at)
            }
            Kind::Ip => Err(Refused::Kind(first)),
        }
    }

    fn uncompressed(&mut self, frame: &mut [u8]) -> Result<(), Refused> {
        let id = *frame.get(9).ok_or(Refused::Short)?;
        let slot = self.table.slot(id).ok_or(Refused::Slot(id))?;
        frame[0] &= 0x4F;
        frame[9] = protocol::TCP;
        let shape = Shape::of(frame).ok_or(Refused::Header)?;
        if !is_sound_tcp(frame, shape) {
            return Err(Refused::Checksum);
        }
        store(slot, &frame[..shape.data]);
        judge(slot, true);
        self.last = Some(id);
        self.stats.uncompressed += 1;
        self.stats.headers_in += shape.data as u64;
        self.stats.headers_out += shape.data as u64;
        Ok(())
    }

    fn compressed(&mut self, buffer: &mut [u8], at: usize) -> Result<usize, Refused> {
        let frame = &buffer[at..];
        let mut head = Head { bytes: frame, at: 1 };
        let bits = frame[0];
        let id =
            if bits & mask::SLOT == 0 { self.last.ok_or(Refused::Tossed)? } else { head.byte()? };
        let slot = self.table.slot(id).ok_or(Refused::Slot(id))?;
        let old = header(slot);
        let len = old.len();
        if len == 0 {
            return Err(Refused::Empty(id));
        }
        // A bad frame changes no state.
        let mut room = [0; SLOT];
        let new = &mut room[..len];
        new.copy_from_slice(old);
        let tcp = usize::from(new[0] & 0x0F) * 4;
        change(new, tcp, bits, &mut head)?;
        let used = head.at;
        self.last = Some(id);
        if is_out_of_step(slot) {
            return Err(Refused::OutOfStep(id));
        }
        let total = len + frame.len() - used;
        put_u16(new, 2, u16::try_from(total).map_err(|_| Refused::Long)?);
        put_u16(new, 10, 0);
        let sum = checksum(&new[..tcp]);
        put_u16(new, 10, sum);
        store(slot, new);
        let start = at + used - len;
        buffer[start..start + len].copy_from_slice(new);
        let sound = is_sound_tcp(&buffer[start..], Shape { tcp, data: len });
        judge(slot, sound);
        if !sound {
            return Err(Refused::Rebuilt);
        }
        self.stats.compressed += 1;
        self.stats.headers_in += used as u64;
        self.stats.headers_out += len as u64;
        Ok(start)
    }
}

/// Applies a compressed header to a header; lengths and the header checksum are not updated.
fn change(new: &mut [u8], tcp: usize, bits: u8, head: &mut Head<'_>) -> Result<(), Refused> {
    let before = data_len(new);
    let sum = u16::from_be_bytes([head.byte()?, head.byte()?]);
    put_u16(new, tcp + 16, sum);
    let mut flags = new[tcp + 13] & !(flag::PSH | flag::URG);
    if bits & mask::PUSH != 0 {
        flags |= flag::PSH;
    }
    let special = bits & mask::SPECIAL_D;
    if matches!(special, mask::SPECIAL_I | mask::SPECIAL_D) {
        if special == mask::SPECIAL_I {
            add_u32(new, tcp + 8, before);
        }
        add_u32(new, tcp + 4, before);
    } else {
        if bits & mask::URGENT != 0 {
            flags |= flag::URG;
            put_u16(new, tcp + 18, head.number()?);
        }
        if bits & mask::WINDOW != 0 {
            put_u16(new, tcp + 14, u16_at(new, tcp + 14).wrapping_add(head.number()?));
        }
        if bits & mask::ACK != 0 {
            add_u32(new, tcp + 8, u32::from(head.number()?));
        }
        if bits & mask::SEQUENCE != 0 {
            add_u32(new, tcp + 4, u32::from(head.number()?));
        }
    }
    new[tcp + 13] = flags;
    let id = if bits & mask::ID == 0 { 1 } else { head.number()? };
    put_u16(new, 4, u16_at(new, 4).wrapping_add(id));
    Ok(())
}

fn add_u32(bytes: &mut [u8], at: usize, by: u32) {
    put_u32(bytes, at, u32_at(bytes, at).wrapping_add(by));
}

/// Reads a compressed header.
struct Head<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Head<'_> {
    fn byte(&mut self) -> Result<u8, Refused> {
        let byte = *self.bytes.get(self.at).ok_or(Refused::Short)?;
        self.at += 1;
        Ok(byte)
    }

    /// A number of one or three bytes.
    fn number(&mut self) -> Result<u16, Refused> {
        match self.byte()? {
            0 => Ok(u16::from_be_bytes([self.byte()?, self.byte()?])),
            byte => Ok(u16::from(byte)),
        }
    }
}
