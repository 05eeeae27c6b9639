//! Several packets in one sealed datagram, and one packet in several.
//!
//! ```text
//! bundle  (2 length | packet) ...
//! piece   4 number of the packet | 1 index of the piece | 1 pieces | bytes
//! ```
//!
//! Bundles save processor time where the path takes long datagrams. Pieces carry a packet whose length was
//! agreed when the connection opened over a path that no longer takes datagrams of that length.

use std::ops::Range;

/// Bytes in front of a packet in a bundle.
const LENGTH: usize = 2;
/// Bytes in front of a piece.
const PIECE_HEADER: usize = 6;
/// Maximum pieces of a packet.
const PIECES: usize = 128;
/// Packets being reassembled at one time; the oldest is dropped.
const OPEN: usize = 8;
/// The longest packet.
const LONGEST: usize = 65_536;

/// Packets waiting to leave together.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    /// A byte for the session, then the packets.
    bytes: Vec<u8>,
    count: usize,
}

impl Bundle {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a packet of this length fits, where a bundle has at most `most` bytes. The first packet fits if
    /// a second one would.
    pub(super) fn fits(&self, len: usize, most: usize) -> bool {
        let twice = if self.is_empty() { 2 } else { 1 };
        u16::try_from(len).is_ok() && self.len() + twice * (LENGTH + len) <= most
    }

    /// Adds one.
    pub(super) fn add(&mut self, packet: &[u8]) {
        if self.is_empty() {
            self.bytes.push(0);
        }
        self.bytes.extend((packet.len() as u16).to_be_bytes());
        self.bytes.extend(packet);
        self.count += 1;
    }

    /// Bytes bundled so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(1)
    }

    /// The packet, if it is the only one.
    pub(super) fn alone(&self) -> Option<&[u8]> {
        (self.count == 1).then(|| &self.bytes[1 + LENGTH..])
    }

    /// The whole bundle, after one free byte.
    pub(super) fn all(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }
}

/// The packet of a bundle in `bytes` that begins at `at`; `None` at the end, or if it is malformed.
pub(super) fn next(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let len: [u8; LENGTH] = bytes.get(at..at + LENGTH)?.try_into().ok()?;
    let from = at + LENGTH;
    let to = from + usize::from(u16::from_be_bytes(len));
    (to <= bytes.len()).then_some(from..to)
}

/// Splits a packet into pieces of at most `most` bytes each. `None` if that is not possible.
pub(super) fn pieces(number: u32, packet: &[u8], most: usize) -> Option<Vec<Vec<u8>>> {
    let room = most.checked_sub(PIECE_HEADER).filter(|room| *room > 0)?;
    let count = packet.len().div_ceil(room);
    if count == 0 || count > PIECES {
        return None;
    }
    // Pieces of nearly equal length.
    let each = packet.len().div_ceil(count);
    let cut = packet.chunks(each).enumerate().map(|(index, bytes)| {
        let mut piece = number.to_be_bytes().to_vec();
        piece.extend([index as u8, count as u8]);
        piece.extend(bytes);
        piece
    });
    Some(cut.collect())
}

/// A packet of which some pieces have arrived.
#[derive(Debug)]
struct Partial {
    number: u32,
    pieces: Vec<Option<Vec<u8>>>,
}

/// Reassembles packets.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    open: Vec<Partial>,
}

impl Pieces {
    /// A piece was received; the packet, if that completed it.
    pub(super) fn take(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        let (header, bytes) = piece.split_at_checked(PIECE_HEADER)?;
        let number = u32::from_be_bytes(header[..4].try_into().ok()?);
        let (index, count) = (usize::from(header[4]), usize::from(header[5]));
        if index >= count || count > PIECES || bytes.len() * count > LONGEST {
            return None;
        }
        let known = |partial: &Partial| partial.number == number && partial.pieces.len() == count;
        let at = self.open.iter().position(known).unwrap_or_else(|| {
            if self.open.len() >= OPEN {
                self.open.remove(0);
            }
            self.open.push(Partial { number, pieces: vec![None; count] });
            self.open.len() - 1
        });
        self.open[at].pieces[index] = Some(bytes.to_vec());
        if self.open[at].pieces.iter().any(Option::is_none) {
            return None;
        }
        Some(self.open.remove(at).pieces.into_iter().flatten().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_round_trip() {
        let mut bundle = Bundle::default();
        assert!(!bundle.fits(500, 1003) && bundle.fits(500, 1004));
        for len in [500, 300, 0, 199] {
            assert!(bundle.fits(len, 1500), "{len}");
            bundle.add(&vec![len as u8; len]);
        }
        assert!(!bundle.fits(600, 1500));
        assert!(bundle.alone().is_none() && bundle.all().len() == bundle.len() + 1);
        let bytes = &bundle.all()[1..];
        let (mut at, mut lens) = (0, Vec::new());
        while let Some(found) = next(bytes, at) {
            assert!(bytes[found.clone()].iter().all(|byte| *byte == found.len() as u8));
            lens.push(found.len());
            at = found.end;
        }
        assert_eq!(at, bytes.len());
        assert_eq!(lens, [500, 300, 0, 199]);
        // A single packet needs no bundle; a truncated bundle yields its whole packets.
        assert_eq!(next(&bytes[..501], 0), None);
        bundle.clear();
        bundle.add(b"alone");
        assert_eq!(bundle.alone(), Some(&b"alone"[..]));
    }

    #[test]
    fn pieces_reassemble_in_any_order_and_once() {
        let packet: Vec<u8> = (0..1168).map(|i| i as u8).collect();
        let cut = pieces(7, &packet, 516).expect("three pieces");
        assert!(cut.len() == 3 && cut.iter().all(|piece| piece.len() <= 516));
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let mut whole = Pieces::default();
            let came: Vec<_> = order.iter().map(|at| whole.take(&cut[*at])).collect();
            assert_eq!(came, [None, None, Some(packet.clone())]);
            assert!(whole.open.is_empty());
        }
        assert_eq!(pieces(7, &packet, PIECE_HEADER), None);
        assert_eq!(pieces(7, &vec![0; 65_000], 100), None);
    }

    #[test]
    fn missing_pieces_take_bounded_memory() {
        let mut whole = Pieces::default();
        for number in 0..1000 {
            let cut = pieces(number, &[9; 1168], 516).unwrap();
            assert_eq!(whole.take(&cut[0]), None);
        }
        assert_eq!(whole.open.len(), OPEN);
        // Malformed pieces are ignored.
        for bad in [&b""[..], &[0; 5], &[0, 0, 0, 1, 0, 0], &[0, 0, 0, 1, 3, 2, 7], &[1; 6]] {
            assert_eq!(whole.take(bad), None, "{bad:?}");
        }
        let long = [&[0, 0, 0, 2, 0, 128][..], &[0; 1000]].concat();
        assert_eq!(whole.take(&long), None);
    }
}
