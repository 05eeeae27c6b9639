//! The control byte, and the valid bytes of a data field.
//!
//! ```text
//! tt xxx yyy   0: control of type xxx, value yyy      2: data, sequence xxx, last received yyy
//!                                                     3: the same, and not all of it is valid
//! ```

use core::ops::Range;

/// A parsed control byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Ends the packet protocol.
    Close,
    /// RJ: retransmit everything after this one.
    Reject(u8),
    /// SRJ: retransmit this one. No UUCP sends it.
    SelectiveReject(u8),
    /// RR: received up to this one.
    Ready(u8),
    /// INITA: window: most packets in flight to its sender.
    InitA(u8),
    /// INITB: packets to its sender have up to 32 << code bytes.
    InitB(u8),
    /// INITC: as INITA.
    InitC(u8),
    /// Data.
    Data {
        /// Its sequence number.
        sequence: u8,
        /// The last number received.
        last: u8,
        /// Only a part of the field is valid.
        short: bool,
    },
}

impl Kind {
    /// Reads a control byte. `None` for the alternate channel and the type 0, which are unused.
    pub const fn parse(control: u8) -> Option<Self> {
        let (x, y) = (control >> 3 & 7, control & 7);
        Some(match (control >> 6, x) {
            (0, 1) => Self::Close,
            (0, 2) => Self::Reject(y),
            (0, 3) => Self::SelectiveReject(y),
            (0, 4) => Self::Ready(y),
            (0, 5) => Self::InitC(y),
            (0, 6) => Self::InitB(y),
            (0, 7) => Self::InitA(y),
            (2 | 3, sequence) => Self::Data { sequence, last: y, short: control >> 6 == 3 },
            _ => return None,
        })
    }

    /// The control byte.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Close => 1 << 3,
            Self::Reject(y) => 2 << 3 | y & 7,
            Self::SelectiveReject(y) => 3 << 3 | y & 7,
            Self::Ready(y) => 4 << 3 | y & 7,
            Self::InitC(y) => 5 << 3 | y & 7,
            Self::InitB(y) => 6 << 3 | y & 7,
            Self::InitA(y) => 7 << 3 | y & 7,
            Self::Data { sequence, last, short } => {
                (2 + short as u8) << 6 | (sequence & 7) << 3 | last & 7
            }
        }
    }

    /// The letter in a trace.
    pub const fn letter(self) -> char {
        match self {
            Self::Close => 'X',
            Self::Reject(_) => 'N',
            Self::SelectiveReject(_) => 'L',
            Self::Ready(_) => 'Y',
            Self::InitA(_) => 'A',
            Self::InitB(_) => 'B',
            Self::InitC(_) => 'C',
            Self::Data { .. } => 'D',
        }
    }

    /// Its sequence number, or its value.
    pub const fn number(self) -> u8 {
        match self {
            Self::Close => 0,
            Self::Reject(y) | Self::SelectiveReject(y) | Self::Ready(y) => y,
            Self::InitA(y) | Self::InitB(y) | Self::InitC(y) => y,
            Self::Data { sequence, .. } => sequence,
        }
    }
}

/// The valid bytes of the field of a short packet. `None` if its count is invalid.
pub fn valid(field: &[u8]) -> Option<Range<usize>> {
    let first = usize::from(*field.first()?);
    let (missing, begin) = match first {
        0..0x80 => (first, 1),
        _ => ((first & 0x7F) + (usize::from(*field.get(1)?) << 7), 2),
    };
    let end = begin + field.len().checked_sub(missing)?;
    (end <= field.len()).then_some(begin..end)
}

/// Bytes before the `len` valid ones in a short packet's field of `field` bytes.
pub const fn lead(field: usize, len: usize) -> usize {
    match field - len {
        0 => 0,
        1..0x80 => 1,
        _ => 2,
    }
}

/// Completes a field whose `len` valid bytes are after their [`lead`]: writes the count, and
/// zeros behind. True if it is the field of a short packet.
pub fn complete(field: &mut [u8], len: usize) -> bool {
    let (missing, lead) = (field.len() - len, lead(field.len(), len));
    match lead {
        0 => return false,
        1 => field[0] = missing as u8,
        _ => {
            field[0] = 0x80 | (missing & 0x7F) as u8;
            field[1] = (missing >> 7) as u8;
        }
    }
    field[lead + len..].fill(0);
    true
}
