//! The headers of IP and UDP before each datagram of an engine.
//!
//! ```text
//! engine:    [ NETBLT header | data ]
//! udp over:  [ IP 20 | UDP 8 | NETBLT header | data ]
//! ip over:   [ IP 20 | NETBLT header | data ]           protocol number 30, as RFC 998 has it
//! ```
//!
//! What is between takes them along: they cost time on a wire and count against an MTU. The header of IP
//! is a true one, for a SLIP line sends nothing else; that of UDP is zeros.

use crate::element::{Element, End, Unit, Usage};
use wetstring_proto::{Cx, Instant};

/// Bytes of the header of IP without options.
pub const IP_BYTES: usize = 20;
/// Bytes of the headers of UDP and IP.
pub const UDP_BYTES: usize = IP_BYTES + 8;
/// Protocol numbers of UDP, and of NETBLT [RFC 998].
pub(crate) const UDP: u8 = 17;
const NETBLT: u8 = 30;

/// A network of packets, used by engines whose datagrams have this many bytes of headers before them.
pub struct Headers {
    element: Box<dyn Element>,
    len: usize,
    packet: Vec<u8>,
    into: Vec<u8>,
    /// Bytes of datagrams, by the end of offering.
    taken: [u64; 2],
    given: [u64; 2],
}

impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Headers").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Headers {
    /// Headers of this length over an element that carries datagrams.
    ///
    /// # Panics
    ///
    /// If it carries bytes.
    pub fn new(element: Box<dyn Element>, len: usize) -> Self {
        assert!(element.unit() == Unit::Datagrams, "expected a network that carries datagrams");
        let into = vec![0; super::DATAGRAM_MAX];
        Self { element, len, packet: Vec::new(), into, taken: [0; 2], given: [0; 2] }
    }
}

/// Writes the header of IP with this protocol into a packet from this end, whose first bytes are room for it.
pub(crate) fn write_ip(packet: &mut [u8], protocol: u8, end: End) {
    let total = u16::try_from(packet.len()).unwrap_or(u16::MAX);
    let Some(header) = packet.first_chunk_mut::<IP_BYTES>() else { return };
    header[0] = 0x45;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[8] = 64;
    header[9] = protocol;
    let address = |end: End| [192, 0, 2, end.index() as u8 + 1];
    header[12..16].copy_from_slice(&address(end));
    header[16..20].copy_from_slice(&address(end.other()));
    let sum = ip_checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The checksum of a header of IP whose own field is zero [RFC 791].
pub(crate) fn ip_checksum(header: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u32 = header.chunks(2).map(word).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

impl Element for Headers {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.packet.clear();
        self.packet.resize(self.len, 0);
        self.packet.extend_from_slice(bytes);
        let protocol = if self.len == UDP_BYTES { UDP } else { NETBLT };
        write_ip(&mut self.packet, protocol, end);
        if self.element.offer(cx, end, &self.packet) == 0 {
            return 0;
        }
        self.taken[end.index()] += bytes.len() as u64;
        bytes.len()
    }

    fn next(&self, end: End) -> Option<Instant> {
        self.element.next(end)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        loop {
            let len = self.element.emit(cx, end, &mut self.into);
            if len == 0 {
                return 0;
            }
            let datagram = self.into.get(self.len..len).unwrap_or_default();
            // One that is too long for the buffer is lost.
            if let Some(place) = into.get_mut(..datagram.len()).filter(|_| !datagram.is_empty()) {
                place.copy_from_slice(datagram);
                self.given[end.other().index()] += datagram.len() as u64;
                return datagram.len();
            }
        }
    }

    fn room(&self, end: End) -> Option<Instant> {
        self.element.room(end)
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        let (bytes_in, bytes_out) = (self.taken[end.index()], self.given[end.index()]);
        Usage { bytes_in, bytes_out, ..self.element.usage(end) }
    }

    fn calm(&mut self) {
        self.element.calm();
    }
}
