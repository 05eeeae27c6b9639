//! The bytes of a TCP connection, as a capture shows them at one place.

use super::{BadRecording, Piece, Side};
use crate::capture::Frame;
use core::net::IpAddr;

/// Link types, and the bytes before the packet of IP.
const LINKS: [(u16, usize); 7] =
    [(0, 4), (1, 14), (101, 0), (113, 16), (228, 0), (229, 0), (276, 20)];
const ETHERNET: u16 = 1;
/// A tag of a VLAN, and its length.
const VLAN: [u8; 2] = [0x81, 0x00];
const VLAN_LEN: usize = 4;
const TCP: u8 = 6;
const SYN: u8 = 2;
const TELNET_PORT: u16 = 23;
const IAC: u8 = 255;

/// An address and a port.
type Place = (IpAddr, u16);

/// A segment with data, or the first of a direction.
struct Segment<'a> {
    at: u64,
    from: Place,
    to: Place,
    sequence: u32,
    syn: bool,
    data: &'a [u8],
}

/// A direction of a connection.
#[derive(Default)]
struct Direction {
    /// The next sequence number in order.
    next: Option<u32>,
    /// Segments that arrived out of order.
    early: Vec<(u32, Vec<u8>)>,
}

/// The end that opened the connection with most bytes.
pub(super) fn side(frames: &[Frame]) -> Result<Side, BadRecording> {
    let segments: Vec<Segment<'_>> = frames.iter().filter_map(segment).collect();
    let mut connections: Vec<([Place; 2], usize)> = Vec::new();
    for segment in &segments {
        let known = connections.iter_mut().find(|(ends, _)| {
            *ends == [segment.from, segment.to] || *ends == [segment.to, segment.from]
        });
        match known {
            Some((_, bytes)) => *bytes += segment.data.len(),
            None => connections.push(([segment.from, segment.to], segment.data.len())),
        }
    }
    let Some((ends, _)) = connections.into_iter().max_by_key(|(_, bytes)| *bytes) else {
        let types: Vec<u16> = frames.iter().map(|frame| frame.link_type).collect();
        let say = match types.first() {
            None => "expected packets, got a capture without any".to_owned(),
            Some(first) => format!(
                "expected serial bytes (link type 250) or TCP, got packets of link type {first} without TCP"
            ),
        };
        return Err(BadRecording::new(say));
    };
    let mut directions = [Direction::default(), Direction::default()];
    let mut pieces = Vec::new();
    for segment in &segments {
        let Some(which) = ends.iter().position(|end| *end == segment.from) else { continue };
        if segment.to != ends[1 - which] {
            continue;
        }
        let bytes = directions[which].take(segment);
        if !bytes.is_empty() {
            let (from, to) = (segment.at, segment.at);
            pieces.push(Piece { from, to, sent: which == 0, bytes });
        }
    }
    if directions.iter().any(|direction| !direction.early.is_empty()) {
        return Err(BadRecording::new(
            "expected every byte of the connection, got a capture with holes: capture whole packets (tcpdump -s 0), and \
             none must be dropped",
        ));
    }
    let is_telnet = ends.iter().any(|(_, port)| *port == TELNET_PORT) || negotiates(&pieces);
    if is_telnet {
        without_telnet(&mut pieces);
    }
    Ok(Side { pieces, reliable: true, ..Side::default() })
}

impl Direction {
    /// The bytes that are in order now.
    fn take(&mut self, segment: &Segment<'_>) -> Vec<u8> {
        let begins = segment.sequence.wrapping_add(u32::from(segment.syn));
        if segment.syn || self.next.is_none() {
            self.next = Some(begins);
        }
        if segment.data.is_empty() {
            return Vec::new();
        }
        self.early.push((begins, segment.data.to_vec()));
        let mut next = self.next.unwrap_or(begins);
        let mut bytes = Vec::new();
        loop {
            let in_turn =
                self.early.iter().position(|(begins, _)| next.wrapping_sub(*begins) < 1 << 31);
            let Some(index) = in_turn else { break };
            let (begins, data) = self.early.swap_remove(index);
            let seen = next.wrapping_sub(begins) as usize;
            let fresh = data.get(seen..).unwrap_or_default();
            next = next.wrapping_add(fresh.len() as u32);
            bytes.extend_from_slice(fresh);
        }
        self.next = Some(next);
        bytes
    }
}

/// The segment of TCP in a frame.
fn segment(frame: &Frame) -> Option<Segment<'_>> {
    let (_, before) = LINKS.iter().find(|(link, _)| *link == frame.link_type)?;
    let mut packet = frame.bytes.get(*before..)?;
    if frame.link_type == ETHERNET && frame.bytes.get(12..14)? == VLAN {
        packet = packet.get(VLAN_LEN..)?;
    }
    let word = |at: usize| Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?));
    let (addresses, begins, ends): ([IpAddr; 2], usize, usize) = match packet.first()? >> 4 {
        4 if packet.get(9) == Some(&TCP) => {
            let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<4>()?));
            let len = usize::from(packet[0] & 15) * 4;
            ([address(12)?, address(16)?], len, usize::from(word(2)?))
        }
        6 if packet.get(6) == Some(&TCP) => {
            let address = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<16>()?));
            ([address(8)?, address(24)?], 40, 40 + usize::from(word(4)?))
        }
        _ => return None,
    };
    // A segment that the network card divides has no length yet.
    let ends = if ends <= begins { packet.len() } else { ends };
    let head = packet.get(begins..)?;
    let offset = usize::from(head.get(12)? >> 4) * 4;
    let data = packet.get(begins + offset..ends)?;
    Some(Segment {
        at: frame.at_ns,
        from: (addresses[0], word(begins)?),
        to: (addresses[1], word(begins + 2)?),
        sequence: u32::from_be_bytes(*head.get(4..)?.first_chunk()?),
        syn: head.get(13)? & SYN != 0,
        data,
    })
}

/// An end begins with a command of Telnet.
fn negotiates(pieces: &[Piece]) -> bool {
    [true, false].into_iter().any(|sent| {
        let first = pieces.iter().find(|piece| piece.sent == sent);
        first.is_some_and(|piece| {
            piece.bytes.len() >= 3 && piece.bytes[0] == IAC && (251..=254).contains(&piece.bytes[1])
        })
    })
}

/// The data inside Telnet: commands are removed, IAC IAC is one IAC, and the NUL after CR is removed.
fn without_telnet(pieces: &mut [Piece]) {
    for sent in [true, false] {
        let mut state = Telnet::Data;
        for piece in pieces.iter_mut().filter(|piece| piece.sent == sent) {
            piece.bytes.retain(|byte| state.keeps(*byte));
        }
    }
}

/// Where in Telnet's commands a stream is.
enum Telnet {
    Data,
    /// A CR came.
    Cr,
    /// An IAC came.
    Iac,
    /// The option of a command follows.
    Option,
    /// In a subnegotiation; an IAC came in it.
    Sub(bool),
}

impl Telnet {
    /// Whether this byte is data.
    fn keeps(&mut self, byte: u8) -> bool {
        let (next, keeps) = match (&self, byte) {
            (Self::Data | Self::Cr, IAC) => (Self::Iac, false),
            (Self::Cr, 0) => (Self::Data, false),
            (Self::Data | Self::Cr, b'\r') => (Self::Cr, true),
            (Self::Data | Self::Cr, _) => (Self::Data, true),
            (Self::Iac, IAC) => (Self::Data, true),
            (Self::Iac, 250) => (Self::Sub(false), false),
            (Self::Iac, 251..=254) => (Self::Option, false),
            (Self::Iac | Self::Option, _) | (Self::Sub(true), 240) => (Self::Data, false),
            (Self::Sub(_), _) => (Self::Sub(byte == IAC), false),
        };
        *self = next;
        keeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_telnet_are_taken_out() {
        let piece = |sent, bytes: &[u8]| Piece { from: 0, to: 0, sent, bytes: bytes.to_vec() };
        let mut pieces = [
            piece(true, b"\xff\xfd\x00\xff"),
            piece(false, b"\xff\xfb\x00a\r\0b\r\nc"),
            piece(true, b"\xfa\x18\x01\xff\xf0x\xff\xffy\xff\xf9z"),
        ];
        assert!(negotiates(&pieces));
        without_telnet(&mut pieces);
        let [first, back, second] = pieces.map(|piece| piece.bytes);
        assert_eq!((&first[..], &back[..]), (&b""[..], &b"a\rb\r\nc"[..]));
        assert_eq!(second, b"x\xffyz");
    }

    #[test]
    fn bytes_are_put_in_order_and_counted_once() {
        let place = |port| (IpAddr::from([127, 0, 0, 1]), port);
        let mut direction = Direction::default();
        let mut take = |sequence: u32, syn, data: &[u8]| {
            direction.take(&Segment { at: 0, from: place(1), to: place(2), sequence, syn, data })
        };
        let first = u32::MAX - 2;
        assert_eq!(take(first, true, b""), b"");
        assert_eq!(take(first.wrapping_add(1), false, b"abc"), b"abc");
        assert_eq!(take(first.wrapping_add(6), false, b"fg"), b"", "early");
        assert_eq!(take(first.wrapping_add(2), false, b"bcd"), b"d", "again, with a new byte");
        assert_eq!(take(first.wrapping_add(5), false, b"e"), b"efg");
    }
}
