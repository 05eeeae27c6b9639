//! Headers of IPv4 and TCP, as far as compression and queues look at them, and the types of frames.

use crate::checksum::Sum;

/// Fewest bytes of an IPv4 header.
pub const IP_HEADER: usize = 20;
/// Fewest bytes of an IPv4 and a TCP header.
pub const SHORTEST_TCP: usize = 40;
/// Most bytes of an IPv4 and a TCP header, with all options.
pub const LONGEST_HEADER: usize = 120;

/// Protocol numbers of IP.
pub mod protocol {
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
}

/// Flags of TCP.
pub mod flag {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Begins a connection.
    pub const SYN: u8 = 0x02;
    /// Ends one at once.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number counts.
    pub const ACK: u8 = 0x10;
    /// The urgent pointer counts.
    pub const URG: u8 = 0x20;
    /// ECN-echo and CWR (RFC 3168), of which RFC 1144 knows nothing.
    pub const ECN: u8 = 0xC0;
}

/// Whether an IPv4 header is a fragment's: any of the offset and MF is set. DF may be.
pub(crate) fn is_fragment(head: &[u8]) -> bool {
    u16_at(head, 6) << 2 != 0
}

/// The type of a frame, by the upper bits of its first byte (RFC 1144 appendix A).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An unchanged packet: 4 (IPv4), and here also 6 (IPv6), see docs/decisions/060.
    Ip,
    /// 7: an uncompressed TCP packet, with the slot in place of its protocol number.
    Uncompressed,
    /// Bit 7: a TCP packet with a compressed header.
    Compressed,
}

impl Kind {
    /// The kind of a frame with this first byte; `None` if there is no such kind.
    pub const fn of(first: u8) -> Option<Self> {
        match first >> 4 {
            4 | 6 => Some(Self::Ip),
            7 => Some(Self::Uncompressed),
            8.. => Some(Self::Compressed),
            _ => None,
        }
    }
}

/// Whether these bytes may go over a compressed line as an IP packet: by their first byte. For a
/// receiver this is not enough, see [`is_whole_ip`].
pub fn is_ip(packet: &[u8]) -> bool {
    matches!(packet.first(), Some(0x40..=0x4F | 0x60..=0x6F))
}

/// Whether a received frame is an IP packet: IPv4 by its first byte, as ever; IPv6 only if its length is
/// right, as other programs treat these bytes as an error.
pub fn is_whole_ip(frame: &[u8]) -> bool {
    match frame.first() {
        Some(0x40..=0x4F) => true,
        Some(0x60..=0x6F) => frame.len() >= 40 && usize::from(u16_at(frame, 4)) == frame.len() - 40,
        _ => false,
    }
}

/// A 16-bit number in the middle of bytes that are known to be long enough.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// A 32-bit number in the same way.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Writes a 16-bit number.
pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Writes a 32-bit number.
pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// The lengths of the headers of a TCP packet that a compressor may touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    /// Bytes of the IP header: where TCP begins.
    pub(crate) tcp: usize,
    /// Bytes of both headers: where the data begins.
    pub(crate) data: usize,
}

impl Shape {
    /// The lengths, if the packet meets every rule for a packet with a slot: IPv4 and TCP, no
    /// fragment, exact lengths, a header checksum as it would be computed, and of the flags SYN, FIN, RST
    /// and ACK only ACK. (RFC 1144 looks at the protocol, the fragment bits and the flags.)
    pub(crate) fn of(packet: &[u8]) -> Option<Self> {
        let head: &[u8; SHORTEST_TCP] = packet.first_chunk()?;
        let tcp = usize::from(head[0] & 0x0F) * 4;
        let regular = head[0] >> 4 == 4
            && tcp >= IP_HEADER
            && head[9] == protocol::TCP
            && !is_fragment(head)
            && usize::from(u16_at(head, 2)) == packet.len();
        if !regular || packet.len() < tcp + 20 {
            return None;
        }
        let tcp_len = usize::from(packet[tcp + 12] >> 4) * 4;
        let flags = packet[tcp + 13] & (flag::SYN | flag::FIN | flag::RST | flag::ACK);
        if tcp_len < 20 || packet.len() < tcp + tcp_len || flags != flag::ACK {
            return None;
        }
        // FFFF is right by the sum, but a receiver would compute 0000.
        let sound =
            Sum::default().with(&packet[..tcp]).folded() == 0xFFFF && u16_at(head, 10) != 0xFFFF;
        sound.then_some(Self { tcp, data: tcp + tcp_len })
    }
}

/// Whether the TCP checksum is right.
pub(crate) fn is_sound_tcp(packet: &[u8], shape: Shape) -> bool {
    let len = (packet.len() - shape.tcp) as u32;
    let pseudo = Sum::default().with(&packet[12..20]).with(&[0, protocol::TCP]);
    pseudo.with(&len.to_be_bytes()).with(&packet[shape.tcp..]).folded() == 0xFFFF
}
