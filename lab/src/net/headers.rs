//! The headers of IP and UDP before each datagram of an engine.
//!
//! ```text
//! engine:    [ NETBLT header | data ]
//! udp over:  [ IP 20 | UDP 8 | NETBLT header | data ]
//! ip over:   [ IP 20 | NETBLT header | data ]           protocol number 30, as RFC 998 has it
//! ```
//!
//! What is between takes them along: they cost time on a wire and count against an MTU. Only their
//! length matters there; they are zeros.

use crate::element::{Element, End, Unit, Usage};
use wetstring_proto::{Cx, Instant};

/// Bytes of the header of IP without options.
pub const IP_BYTES: usize = 20;
/// Bytes of the headers of UDP and IP.
pub const UDP_BYTES: usize = IP_BYTES + 8;

/// A network of packets, used by engines whose datagrams have so many bytes of headers before them.
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

impl Element for Headers {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.packet.clear();
        self.packet.resize(self.len, 0);
        self.packet.extend_from_slice(bytes);
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
