//! A simple differential scheme, for the laboratory only.
//!
//! In March 1989 Paul Vixie wrote of his own compression, of which no code and no description was
//! published, that it "averages 11 bytes per ACK (including framing)", where Van Jacobson's took 5 and one
//! or two for framing. This is our reconstruction, not a format in use: the words of the header
//! that differ from the previous packet, and three bytes that say which.
//!
//! ```text
//! 1000 slot   mask(3): 20 words of IP and TCP, the first in the highest bit, then 4 zeros   words   data
//! ```
//!
//! An acknowledgement is slot 1, mask 3, IP id 2, acknowledgement 2, checksum 2, END 1: 11 bytes. Length and
//! header checksum are never sent; headers with options have no slot; what RFC 1144 would send uncompressed is
//! sent uncompressed here too, in the same form.

use super::compress::{CompressorStats, Framed, NotIp};
use super::decompress::{DecompressorStats, HEADROOM, Refused};
use super::packet::{
    Kind, SHORTEST_TCP, Shape, is_ip, is_sound_tcp, is_whole_ip, protocol, put_u16, u16_at, u32_at,
};
use super::table::{BadTable, Table, data_len, header, store};
use crate::Memory;
use crate::checksum::checksum;

/// Most slots: four bits.
pub const MOST_SLOTS: u16 = 16;
/// Words of a header without options.
const WORDS: usize = SHORTEST_TCP / 2;
/// Bytes before the words.
const BEFORE: usize = 4;
/// Words that are never sent: length and header checksum, which follow, and what makes the connection.
const UNSAID: [usize; 8] = [1, 5, 6, 7, 8, 9, 10, 11];

/// The bit of a word.
const fn bit(word: usize) -> u32 {
    1 << (23 - word)
}

/// Whether the packet has a slot here.
fn shape(packet: &[u8]) -> Option<Shape> {
    Shape::of(packet).filter(|shape| shape.data == SHORTEST_TCP)
}

fn checked(slots: u16) -> Result<u16, BadTable> {
    if slots > MOST_SLOTS { Err(BadTable::Slots(slots)) } else { Ok(slots) }
}

/// The sending side, with the interface of a [`Compressor`](super::Compressor).
#[derive(Clone, Debug)]
pub struct DifferentialCompressor<M> {
    table: Table<M>,
    stats: CompressorStats,
}

impl<M: Memory> DifferentialCompressor<M> {
    /// One with 3 to 16 slots, each of [`SLOT`](super::table::SLOT) bytes.
    pub fn new(slots: u16, memory: M) -> Result<Self, BadTable> {
        let table = Table::new(checked(slots)?, memory)?;
        Ok(Self { table, stats: CompressorStats::default() })
    }

    /// Its counters.
    pub fn stats(&self) -> &CompressorStats {
        &self.stats
    }

    /// Forgets all connections.
    pub fn reset(&mut self) {
        self.table.reset();
    }

    /// Makes a frame of a packet, in its place, as [`Compressor::compress`](super::Compressor::compress).
    pub fn compress(&mut self, packet: &mut [u8]) -> Result<Framed, NotIp> {
        if !is_ip(packet) {
            return Err(NotIp);
        }
        let Some(shape) = shape(packet) else {
            self.stats.ip += 1;
            return Ok(Framed::IP);
        };
        let (id, known) = self.table.find(packet, shape);
        let Some(slot) = self.table.slot(id) else { return Ok(Framed::IP) };
        let mut old = [0; SHORTEST_TCP];
        let goes_on = known && goes_on(header(slot), packet);
        if known {
            old.copy_from_slice(header(slot));
        }
        if !goes_on && !is_sound_tcp(packet, shape) {
            self.stats.ip += 1;
            return Ok(Framed::IP);
        }
        store(slot, &packet[..shape.data]);
        self.stats.new_connections += u64::from(!known);
        if !goes_on {
            packet[0] |= 0x70;
            packet[9] = id;
            self.stats.count(Kind::Uncompressed, shape.data, shape.data);
            return Ok(Framed { kind: Kind::Uncompressed, start: 0 });
        }
        let mut new = [0; SHORTEST_TCP];
        new.copy_from_slice(&packet[..SHORTEST_TCP]);
        let (mut mask, mut start) = (0, SHORTEST_TCP);
        for word in (0..WORDS).rev().filter(|word| !UNSAID.contains(word)) {
            let at = 2 * word;
            if old[at..at + 2] != new[at..at + 2] {
                start -= 2;
                packet[start..start + 2].copy_from_slice(&new[at..at + 2]);
                mask |= bit(word);
            }
        }
        start -= BEFORE;
        let [_, m0, m1, m2] = mask.to_be_bytes();
        packet[start..start + BEFORE].copy_from_slice(&[0x80 | id, m0, m1, m2]);
        self.stats.count(Kind::Compressed, SHORTEST_TCP, SHORTEST_TCP - start);
        Ok(Framed { kind: Kind::Compressed, start })
    }
}

/// Whether the packet continues from the header before: neither sequence nor acknowledgement goes back, and
/// it is not a retransmission. A retransmission means a loss, and is sent uncompressed.
fn goes_on(old: &[u8], packet: &[u8]) -> bool {
    let by = |at| u32_at(packet, at).wrapping_sub(u32_at(old, at));
    let (sequence, ack) = (by(24), by(28));
    let moved = sequence != 0 || ack != 0 || u16_at(packet, 34) != u16_at(old, 34);
    let data_after_ack = data_len(old) == 0 && u16_at(packet, 2) != u16_at(old, 2);
    sequence <= 0xFFFF && ack <= 0xFFFF && (moved || data_after_ack)
}

/// The receiving side, with the interface of a [`Decompressor`](super::Decompressor).
#[derive(Clone, Debug)]
pub struct DifferentialDecompressor<M> {
    table: Table<M>,
    stats: DecompressorStats,
}

impl<M: Memory> DifferentialDecompressor<M> {
    /// One with 3 to 16 slots, each of [`SLOT`](super::table::SLOT) bytes.
    pub fn new(slots: u16, memory: M) -> Result<Self, BadTable> {
        let table = Table::new(checked(slots)?, memory)?;
        Ok(Self { table, stats: DecompressorStats::default() })
    }

    /// Its counters.
    pub fn stats(&self) -> &DecompressorStats {
        &self.stats
    }

    /// Forgets all connections.
    pub fn reset(&mut self) {
        self.table.reset();
    }

    /// Makes a packet of the frame `buffer[at..]`, as [`Decompressor::restore`](super::Decompressor::restore).
    /// Every frame has its slot, so nothing is tossed.
    ///
    /// Panics if `at` is less than [`HEADROOM`].
    pub fn restore(&mut self, buffer: &mut [u8], at: usize) -> Result<usize, Refused> {
        assert!(at >= HEADROOM, "expected {HEADROOM} bytes before the frame, got {at}");
        let result = self.restored(buffer, at);
        self.stats.errors += u64::from(result.is_err());
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
        let shape = shape(frame).ok_or(Refused::Header)?;
        if !is_sound_tcp(frame, shape) {
            return Err(Refused::Checksum);
        }
        store(slot, &frame[..shape.data]);
        self.stats.uncompressed += 1;
        self.stats.headers_in += shape.data as u64;
        self.stats.headers_out += shape.data as u64;
        Ok(())
    }

    fn compressed(&mut self, buffer: &mut [u8], at: usize) -> Result<usize, Refused> {
        let frame = &buffer[at..];
        let [first, m0, m1, m2] = *frame.first_chunk().ok_or(Refused::Short)?;
        let id = first & 0x7F;
        let slot = self.table.slot(id).ok_or(Refused::Slot(id))?;
        let mut new = [0; SHORTEST_TCP];
        let old = header(slot);
        if old.len() != SHORTEST_TCP {
            return Err(Refused::Empty(id));
        }
        new.copy_from_slice(old);
        let mask = u32::from_be_bytes([0, m0, m1, m2]);
        let allowed = (0..WORDS).filter(|word| !UNSAID.contains(word)).map(bit).sum::<u32>();
        if mask & !allowed != 0 {
            return Err(Refused::Header);
        }
        let mut used = BEFORE;
        for word in (0..WORDS).filter(|word| mask & bit(*word) != 0) {
            let bytes = frame.get(used..used + 2).ok_or(Refused::Short)?;
            new[2 * word..2 * word + 2].copy_from_slice(bytes);
            used += 2;
        }
        let total = SHORTEST_TCP + frame.len() - used;
        put_u16(&mut new, 2, u16::try_from(total).map_err(|_| Refused::Long)?);
        put_u16(&mut new, 10, 0);
        let sum = checksum(&new[..20]);
        put_u16(&mut new, 10, sum);
        let start = at + used - SHORTEST_TCP;
        buffer[start..start + SHORTEST_TCP].copy_from_slice(&new);
        // A header that a refresh may not have is not kept either.
        shape(&buffer[start..]).ok_or(Refused::Header)?;
        store(slot, &new);
        self.stats.compressed += 1;
        self.stats.headers_in += used as u64;
        self.stats.headers_out += SHORTEST_TCP as u64;
        Ok(start)
    }
}
