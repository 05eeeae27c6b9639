//! Segments: IP and TCP with timestamps and SACK blocks [RFC 793, 7323, 2018].
//!
//! ```text
//! IP 20 | TCP 20 | NOP NOP TS 10 | [NOP NOP SACK 2 + 8n] | data
//! ```

use crate::element::End;
use crate::net::headers::write_ip;

/// Bytes of all headers without SACK blocks: 1448 of data in a packet of 1500.
pub(super) const HEADERS: usize = 20 + 20 + 12;
/// Blocks that fit beside timestamps [RFC 2018].
pub(super) const BLOCKS: usize = 3;
const PORT: u16 = 1649;
const TCP: u8 = 6;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// A segment; numbers are those of the connection, from 0, and only their lower 32 bits are sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Segment {
    pub(super) syn: bool,
    pub(super) seq: u64,
    /// None only in the first SYN.
    pub(super) ack: Option<u64>,
    pub(super) window: u64,
    pub(super) blocks: Vec<(u64, u64)>,
    pub(super) data: Vec<u8>,
}

/// How far windows up to this one are shifted [RFC 7323].
pub(super) fn shift(window: u64) -> u32 {
    (0..14).find(|shift| u16::try_from(window >> shift).is_ok()).unwrap_or(14)
}

/// A number with these lower 32 bits, as near as possible to `near`.
fn whole(low: u32, near: u64) -> u64 {
    let ahead = low.wrapping_sub(near as u32) as i32;
    near.wrapping_add_signed(i64::from(ahead))
}

impl Segment {
    /// The packet, from this end; its window is shifted.
    pub(super) fn write(&self, from: End, ms: u32, shift: u32) -> Vec<u8> {
        let ports = if from == End::A { [49_152, PORT] } else { [PORT, 49_152] };
        let options = 12 + if self.blocks.is_empty() { 0 } else { 4 + 8 * self.blocks.len() };
        let window = (self.window >> shift).min(u64::from(u16::MAX)) as u16;
        let flags = if self.syn { SYN } else { 0 } | if self.ack.is_some() { ACK } else { 0 };
        let mut packet = vec![0; 20];
        packet.extend(ports.iter().flat_map(|port: &u16| port.to_be_bytes()));
        packet.extend((self.seq as u32).to_be_bytes());
        packet.extend((self.ack.unwrap_or(0) as u32).to_be_bytes());
        packet.extend([((20 + options) / 4 * 16) as u8, flags]);
        packet.extend(window.to_be_bytes());
        packet.extend([0; 4]);
        packet.extend([1, 1, 8, 10]);
        packet.extend(ms.to_be_bytes());
        packet.extend([0; 4]);
        if !self.blocks.is_empty() {
            packet.extend([1, 1, 5, 2 + 8 * self.blocks.len() as u8]);
            for (left, right) in &self.blocks {
                packet.extend((*left as u32).to_be_bytes());
                packet.extend((*right as u32).to_be_bytes());
            }
        }
        packet.extend_from_slice(&self.data);
        write_ip(&mut packet, TCP, from);
        packet
    }

    /// Reads a packet; `near` are a sequence number and an acknowledgement that are not far away.
    pub(super) fn read(packet: &[u8], near: (u64, u64), shift: u32) -> Option<Self> {
        let word = |at: usize| packet.get(at..)?.first_chunk().copied().map(u32::from_be_bytes);
        let end = 20 + usize::from(*packet.get(32)? >> 4) * 4;
        let flags = *packet.get(33)?;
        let window = u16::from_be_bytes(*packet.get(34..)?.first_chunk()?);
        let (near_seq, near_ack) = near;
        let mut blocks = Vec::new();
        if end > 52 {
            for at in (56..end).step_by(8) {
                blocks.push((whole(word(at)?, near_ack), whole(word(at + 4)?, near_ack)));
            }
        }
        Some(Self {
            syn: flags & SYN != 0,
            seq: whole(word(24)?, near_seq),
            ack: if flags & ACK != 0 { Some(whole(word(28)?, near_ack)) } else { None },
            window: u64::from(window) << shift,
            blocks,
            data: packet.get(end..)?.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_beyond_32_bits_too() {
        let segment = Segment {
            syn: false,
            seq: (1 << 32) + 5,
            ack: Some((1 << 33) - 3),
            window: 1 << 20,
            blocks: vec![((1 << 33) + 1, (1 << 33) + 9), ((1 << 33) + 20, (1 << 33) + 30)],
            data: vec![1, 2, 3],
        };
        let packet = segment.write(End::A, 7, 5);
        assert_eq!(packet.len(), HEADERS + 4 + 16 + 3);
        let near = ((1 << 32) - 100, (1 << 33) + 100);
        assert_eq!(Segment::read(&packet, near, 5).expect("a segment"), segment);
        let syn = Segment { syn: true, ..Segment::default() };
        assert_eq!(Segment::read(&syn.write(End::B, 0, 0), (0, 0), 0).expect("a segment"), syn);
    }
}
