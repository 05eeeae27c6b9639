//! Fragments of IPv4 (RFC 791 3.2, RFC 815): reassembly on receipt, fragmentation of packets longer than the
//! MTU.
//!
//! Memory is bounded: at most [`MOST`] packets at a time and [`MOST_BYTES`] of them, each for at most
//! [`PATIENCE`] after its last fragment. Overlapping fragments must agree in what they share; if not, the whole
//! packet is dropped, because it is not known which of them is right.

use std::net::Ipv4Addr;
use std::time::Duration;
use wetstring_proto::checksum::checksum;

/// Maximum incomplete packets.
const MOST: usize = 16;
/// Maximum bytes of all of them.
const MOST_BYTES: usize = 256 * 1024;
/// Reassembly timeout after the last received fragment (RFC 1122 3.3.2: 60 to 120 s).
const PATIENCE: Duration = Duration::from_secs(60);
/// The shortest header.
const HEADER: usize = 20;
/// The longest packet.
const LONGEST: usize = 65_535;
/// More fragments follow; the rest of the field is the offset, in units of 8 bytes.
const MORE: u16 = 0x2000;

/// Fragment statistics.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FragmentCounts {
    /// Reassembled packets.
    pub whole: u64,
    /// Packets that timed out, or had to make room for others.
    pub incomplete: u64,
    /// Packets whose fragments contradict each other, and impossible fragments.
    pub refused: u64,
}

/// The header fields of a fragment.
struct Fragment<'a> {
    header: &'a [u8],
    data: &'a [u8],
    offset: usize,
    more: bool,
}

/// The header and payload of a valid IPv4 packet.
pub(super) fn parts(packet: &[u8]) -> Option<(&[u8], &[u8])> {
    let first = *packet.first()?;
    let header_len = usize::from(first & 15) * 4;
    let header = packet.get(..header_len).filter(|_| first >> 4 == 4 && header_len >= HEADER)?;
    let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let data = packet.get(header_len..len)?;
    (checksum(header) == 0).then_some((header, data))
}

impl<'a> Fragment<'a> {
    /// `None` for an unfragmented packet or an invalid one: then it is not handled here.
    fn of(packet: &'a [u8]) -> Option<Self> {
        let (header, data) = parts(packet)?;
        let field = u16::from_be_bytes([header[6], header[7]]);
        let (offset, more) = (usize::from(field & 0x1FFF) * 8, field & MORE != 0);
        (offset > 0 || more).then_some(Self { header, data, offset, more })
    }

    /// The packet's key: the two addresses, the protocol and the identification.
    fn key(&self) -> Key {
        let at = |from: usize| -> [u8; 4] { std::array::from_fn(|k| self.header[from + k]) };
        (at(12), at(16), self.header[9], [self.header[4], self.header[5]])
    }

    /// Whether it is possible.
    fn is_possible(&self) -> bool {
        let end = self.offset + self.data.len();
        let fits = end <= LONGEST - HEADER && !self.data.is_empty();
        fits && (!self.more || self.data.len().is_multiple_of(8))
    }
}

type Key = ([u8; 4], [u8; 4], u8, [u8; 2]);

/// An incomplete packet.
#[derive(Debug)]
struct Partial {
    key: Key,
    /// The header of the first fragment, once received.
    header: Vec<u8>,
    data: Vec<u8>,
    /// The received ranges, sorted and not adjacent.
    ranges: Vec<(usize, usize)>,
    /// Its length, once the last fragment is received.
    len: Option<usize>,
    last: Duration,
}

impl Partial {
    /// Adds a fragment. False if it contradicts earlier ones.
    fn take(&mut self, fragment: &Fragment<'_>) -> bool {
        let (begin, end) = (fragment.offset, fragment.offset + fragment.data.len());
        let known = self.ranges.last().map_or(0, |range| range.1);
        let len = if fragment.more { self.len } else { Some(end) };
        let differs = self.len.is_some() && len != self.len;
        if differs || len.is_some_and(|len| known.max(end) > len) {
            return false;
        }
        for &(from, to) in &self.ranges {
            let (from, to) = (from.max(begin), to.min(end));
            if from < to && self.data[from..to] != fragment.data[from - begin..to - begin] {
                return false;
            }
        }
        self.len = len;
        if self.data.len() < end {
            self.data.resize(end, 0);
        }
        self.data[begin..end].copy_from_slice(fragment.data);
        if begin == 0 {
            self.header = fragment.header.to_vec();
        }
        let (mut from, mut to) = (begin, end);
        self.ranges.retain(|range| {
            let apart = range.1 < from || range.0 > to;
            if !apart {
                from = from.min(range.0);
                to = to.max(range.1);
            }
            apart
        });
        let at = self.ranges.partition_point(|range| range.0 < from);
        self.ranges.insert(at, (from, to));
        true
    }

    fn is_whole(&self) -> bool {
        self.len.is_some_and(|len| self.ranges == [(0, len)])
    }

    /// The packet, if it is not too long with its header.
    fn packet(mut self) -> Option<Vec<u8>> {
        let len = u16::try_from(self.header.len() + self.data.len()).ok()?;
        self.header[2..4].copy_from_slice(&len.to_be_bytes());
        self.header[6..8].fill(0);
        seal(&mut self.header);
        self.header.append(&mut self.data);
        Some(self.header)
    }
}

/// Writes the header checksum.
fn seal(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Packets being reassembled.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    /// Ordered by their last received fragment.
    partial: Vec<Partial>,
    pub(super) counts: FragmentCounts,
}

impl Fragments {
    /// Takes a packet from the line: an unfragmented one is returned; for a fragment, the packet that it
    /// completes.
    pub(super) fn came(&mut self, now: Duration, packet: &[u8]) -> Option<Vec<u8>> {
        self.forget(now);
        let Some(fragment) = Fragment::of(packet) else { return Some(packet.to_vec()) };
        if !fragment.is_possible() {
            self.counts.refused += 1;
            return None;
        }
        let key = fragment.key();
        let at = self.partial.iter().position(|partial| partial.key == key);
        let mut partial = match at {
            Some(at) => self.partial.remove(at),
            None => Partial {
                key,
                header: Vec::new(),
                data: Vec::new(),
                ranges: Vec::new(),
                len: None,
                last: now,
            },
        };
        partial.last = now;
        if !partial.take(&fragment) {
            self.counts.refused += 1;
            return None;
        }
        if partial.is_whole() {
            let packet = partial.packet();
            let (whole, refused) = if packet.is_some() { (1, 0) } else { (0, 1) };
            self.counts.whole += whole;
            self.counts.refused += refused;
            return packet;
        }
        self.partial.push(partial);
        while self.partial.len() > MOST || self.held() > MOST_BYTES {
            self.partial.remove(0);
            self.counts.incomplete += 1;
        }
        None
    }

    /// Bytes held.
    fn held(&self) -> usize {
        self.partial.iter().map(|partial| partial.data.len()).sum()
    }

    /// Drops packets that timed out.
    fn forget(&mut self, now: Duration) {
        let before = self.partial.len();
        self.partial.retain(|partial| now.saturating_sub(partial.last) < PATIENCE);
        self.counts.incomplete += (before - self.partial.len()) as u64;
    }
}

/// Splits a packet into packets of at most `mtu` bytes; unchanged if it is not longer.
pub(super) fn cut(packet: Vec<u8>, mtu: usize) -> Vec<Vec<u8>> {
    let Some((header, data)) = parts(&packet).filter(|_| packet.len() > mtu) else {
        return vec![packet];
    };
    let most = (mtu.max(HEADER + 48).saturating_sub(header.len()) / 8 * 8).max(8);
    let count = data.len().div_ceil(most);
    let pieces = data.chunks(most).enumerate().map(|(index, piece)| {
        let mut part = [header, piece].concat();
        let len = part.len() as u16;
        let more = if index + 1 < count { MORE } else { 0 };
        let field = more | (index * most / 8) as u16;
        part[2..4].copy_from_slice(&len.to_be_bytes());
        part[6..8].copy_from_slice(&field.to_be_bytes());
        seal(&mut part[..header.len()]);
        part
    });
    pieces.collect()
}

/// The answer to an echo request to `local`; `None` for anything else.
pub(super) fn echo_reply(packet: &[u8], local: Ipv4Addr, number: u16) -> Option<Vec<u8>> {
    let (header, data) = parts(packet)?;
    let is_echo = header[9] == 1 && data.len() >= 8 && data[0] == 8 && data[1] == 0;
    if !is_echo || header[16..20] != local.octets() || checksum(data) != 0 {
        return None;
    }
    let len = u16::try_from(HEADER + data.len()).ok()?;
    let mut reply = vec![0; HEADER];
    reply[0] = 0x45;
    reply[8] = 64;
    reply[9] = 1;
    reply[2..4].copy_from_slice(&len.to_be_bytes());
    reply[4..6].copy_from_slice(&number.to_be_bytes());
    reply[12..16].copy_from_slice(&header[16..20]);
    reply[16..20].copy_from_slice(&header[12..16]);
    seal(&mut reply);
    reply.extend_from_slice(data);
    let message = &mut reply[HEADER..];
    message[0] = 0;
    message[2..4].fill(0);
    let sum = checksum(message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    Some(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u16, len: usize) -> Vec<u8> {
        let mut packet = vec![0; HEADER];
        packet[0] = 0x45;
        packet[8] = 64;
        packet[9] = 17;
        packet[2..4].copy_from_slice(&((HEADER + len) as u16).to_be_bytes());
        packet[4..6].copy_from_slice(&number.to_be_bytes());
        packet[12..20].copy_from_slice(&[10, 0, 2, 2, 10, 0, 2, 15]);
        seal(&mut packet);
        packet.extend((0..len).map(|k| (k * 7 + k / 251) as u8));
        packet
    }

    /// A fragment with these bytes at this offset.
    fn piece(number: u16, offset: usize, data: &[u8], more: bool) -> Vec<u8> {
        let mut part = packet(number, 0);
        part.extend_from_slice(data);
        let len = part.len() as u16;
        part[2..4].copy_from_slice(&len.to_be_bytes());
        let field = if more { MORE } else { 0 } | (offset / 8) as u16;
        part[6..8].copy_from_slice(&field.to_be_bytes());
        seal(&mut part[..HEADER]);
        part
    }

    #[test]
    fn fragments_reassemble_in_any_order_with_duplicates() {
        for seed in 0..300 {
            let mut dice = wetstring_testkit::Dice(seed);
            let len = 1 + dice.roll(20_000);
            let mtu = 68 + dice.roll(1500);
            let whole = packet(seed as u16, len);
            let mut parts = cut(whole.clone(), mtu);
            assert!(parts.iter().all(|part| part.len() <= mtu), "{seed}");
            for index in (1..parts.len()).rev() {
                parts.swap(index, dice.roll(index + 1));
            }
            let mut fragments = Fragments::default();
            let mut came = Vec::new();
            for (index, part) in parts.iter().enumerate() {
                came.extend(fragments.came(Duration::ZERO, part));
                // Once more, while the packet is not whole.
                if index + 1 < parts.len() && parts.len() > 1 && dice.roll(3) == 0 {
                    came.extend(fragments.came(Duration::ZERO, part));
                }
            }
            assert_eq!(came, [whole], "{seed}");
            assert!(fragments.partial.is_empty());
            assert_eq!(fragments.counts.whole, u64::from(parts.len() > 1));
        }
    }

    #[test]
    fn only_consistent_overlaps_are_accepted() {
        let data: Vec<u8> = (0..64).collect();
        let mut fragments = Fragments::default();
        let now = Duration::ZERO;
        assert_eq!(fragments.came(now, &piece(1, 16, &data[16..48], true)), None);
        assert_eq!(fragments.came(now, &piece(1, 0, &data[..24], true)), None);
        let got = fragments.came(now, &piece(1, 40, &data[40..], false)).expect("all of it");
        assert_eq!(got[HEADER..], data);
        // Other bytes in the overlap: neither is believed.
        assert_eq!(fragments.came(now, &piece(2, 0, &data[..24], true)), None);
        assert_eq!(fragments.came(now, &piece(2, 16, &[0xAA; 16], true)), None);
        assert_eq!(fragments.counts.refused, 1);
        assert!(fragments.partial.is_empty());
        // Two ends, and bytes after the end.
        for wrong in [piece(3, 32, &data[..8], false), piece(3, 64, &data[..8], true)] {
            assert_eq!(fragments.came(now, &piece(3, 48, &data[48..], false)), None);
            assert_eq!(fragments.came(now, &wrong), None);
        }
        assert_eq!(fragments.counts.refused, 3);
        assert!(fragments.partial.is_empty());
    }

    #[test]
    fn impossible_fragments_are_not_kept() {
        let mut fragments = Fragments::default();
        for bad in
            [piece(1, 8, &[1; 9], true), piece(1, 65_528, &[1; 64], false), piece(1, 8, &[], false)]
        {
            assert_eq!(fragments.came(Duration::ZERO, &bad), None);
        }
        assert_eq!((fragments.counts.refused, fragments.partial.len()), (3, 0));
        // Packets with a damaged header or a wrong length are left to the stack.
        let mut bad = piece(1, 8, &[1; 8], true);
        bad[8] ^= 1;
        assert_eq!(fragments.came(Duration::ZERO, &bad), Some(bad));
        let short = packet(1, 100)[..50].to_vec();
        assert_eq!(fragments.came(Duration::ZERO, &short), Some(short));
    }

    #[test]
    fn memory_and_time_are_bounded() {
        let mut fragments = Fragments::default();
        for number in 0..1000 {
            let _ = fragments.came(Duration::ZERO, &piece(number, 60_000, &[1; 8], true));
            assert!(fragments.held() <= MOST_BYTES && fragments.partial.len() <= MOST);
        }
        let kept = fragments.partial.len() as u64;
        assert_eq!(fragments.counts.incomplete, 1000 - kept);
        let _ = fragments.came(PATIENCE, &packet(1, 10));
        assert_eq!((fragments.partial.len(), fragments.counts.incomplete), (0, 1000));
    }

    #[test]
    fn random_fragments_do_no_harm() {
        for seed in 0..200 {
            let (mut dice, mut fragments) = (wetstring_testkit::Dice(seed), Fragments::default());
            for turn in 0..300 {
                let len = dice.roll(80);
                let data: Vec<u8> = (0..len).map(|_| dice.roll(2) as u8).collect();
                let (number, offset) = (dice.roll(3) as u16, dice.roll(20) * 8);
                let part = piece(number, offset, &data, dice.roll(4) > 0);
                let now = Duration::from_secs(turn);
                if let Some(packet) = fragments.came(now, &part) {
                    assert!(parts(&packet).is_some(), "{seed}");
                }
            }
        }
    }
}
