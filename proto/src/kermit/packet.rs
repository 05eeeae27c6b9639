//! Frames <-> typed packets and their block checks.
//!
//! A frame is what the stream carries between MARK and the end of CHECK; a packet has a type, a
//! number and a data field that has passed its check (\[KPM\] §4, kermit.md §2–4).

use super::check::{Check, tochar, unchar};
pub use super::reason::BadPacket;

/// Packet types, as they are on the wire.
pub mod kind {
    /// Send-Init: the sender's parameters.
    pub const SEND_INIT: u8 = b'S';
    /// Parameters of a client before a command to a server.
    pub const INFO: u8 = b'I';
    /// Acknowledgement.
    pub const ACK: u8 = b'Y';
    /// Negative acknowledgement.
    pub const NAK: u8 = b'N';
    /// File header: the name.
    pub const FILE: u8 = b'F';
    /// Like a file header, but the text is for the screen.
    pub const TEXT: u8 = b'X';
    /// File attributes.
    pub const ATTRIBUTES: u8 = b'A';
    /// File data.
    pub const DATA: u8 = b'D';
    /// Compressed file data, while streaming between our own ends.
    pub const PACKED: u8 = b'K';
    /// End of file.
    pub const EOF: u8 = b'Z';
    /// End of transaction.
    pub const BREAK: u8 = b'B';
    /// Error message; ends the transaction.
    pub const ERROR: u8 = b'E';

    /// Whether it carries data of a file.
    pub const fn is_data(kind: u8) -> bool {
        matches!(kind, DATA | PACKED)
    }
}

/// Offsets of the fields of a packet, from LEN: MARK belongs to the stream, and no check covers it.
pub mod field {
    /// LEN, or a blank: then the packet is long.
    pub const LEN: usize = 0;
    /// SEQ, the number.
    pub const SEQ: usize = 1;
    /// TYPE.
    pub const TYPE: usize = 2;
    /// Data of a short packet.
    pub const DATA: usize = 3;
    /// LENX1, the high digit of a long packet's length.
    pub const LENX1: usize = 3;
    /// LENX2, the low digit.
    pub const LENX2: usize = 4;
    /// HCHECK, the check of a long packet's header.
    pub const HCHECK: usize = 5;
    /// Data of a long packet.
    pub const LONG_DATA: usize = 6;
}

/// MARK, before the fields.
const MARK: usize = 1;
/// Bytes before the data field in the long form, MARK included.
pub const LONG_HEADER: usize = MARK + field::LONG_DATA;
/// Bytes before the data field in the short form, MARK included.
pub const SHORT_HEADER: usize = MARK + field::DATA;
/// What LEN counts besides data and check: SEQ and TYPE.
const COUNTED: usize = field::DATA - field::SEQ;
/// The longest extended length, of data and check together.
pub const MAX_LONG: usize = 9024;
/// The longest LEN of a short packet: SEQ, TYPE, data and check.
pub const MAX_SHORT: usize = 94;
/// The terminator after a packet.
pub(crate) const EOL: usize = 1;
/// The longest packet in the short form, with MARK and the terminator.
pub(crate) const LONGEST_SHORT_PACKET: usize = MARK + field::SEQ + MAX_SHORT + EOL;
/// Bytes by which a packet may exceed the negotiated length and still be accepted: C-Kermit 10 beta overruns by a few
/// (kermit.md §5.2).
pub const SLACK: usize = 16;

/// A packet whose check was right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// Type letter.
    pub kind: u8,
    /// Number, 0..63.
    pub seq: u8,
    /// Data field, still encoded.
    pub data: &'a [u8],
    /// It was only right by a check that is weaker than the one in force.
    pub weak: bool,
}

/// Reads a frame (LEN to the last CHECK byte) under the block check in force.
///
/// `check` is the agreed type. Packets that carry their own rule are read by it: a NAK says its
/// check's length by its LEN, S and I are on type 1 unless `forced` (type 5 makes every packet
/// CRC-16), an E may be on type 1 at any time (kermit.md §3).
pub fn parse(body: &[u8], check: Check, forced: bool) -> Result<Packet<'_>, BadPacket> {
    if body.len() <= field::DATA {
        return Err(BadPacket::Short);
    }
    let seq = unchar(body[field::SEQ]);
    let kind = body[field::TYPE];
    let header = if body[field::LEN] == b' ' { field::LONG_DATA } else { field::DATA };
    if body.len() <= header {
        return Err(BadPacket::Short);
    }
    let under =
        |check: Check| -> Option<Packet<'_>> {
            let covered = body.len().checked_sub(check.len())?;
            (covered >= header && check.verify(&body[..covered], &body[covered..]))
                .then(|| Packet { kind, seq, data: &body[header..covered], weak: false })
        };
    let first = match kind {
        kind::NAK => match body.len() - header {
            1 => Check::Sum6,
            2 if check == Check::Sum12NoBlank => Check::Sum12NoBlank,
            2 => Check::Sum12,
            3 => Check::Crc16,
            _ => return Err(BadPacket::NakWithData),
        },
        // A Send-Init requests type 5 in a packet that already uses type 3.
        kind::SEND_INIT | kind::INFO if forced || body.get(header + 7) == Some(&b'5') => {
            Check::Crc16
        }
        kind::SEND_INIT | kind::INFO => Check::Sum6,
        _ if forced => Check::Crc16,
        _ => check,
    };
    let packet = under(first).or_else(|| match kind {
        kind::ERROR => under(Check::Sum6).map(|packet| Packet { weak: true, ..packet }),
        kind::SEND_INIT | kind::INFO => under(Check::Sum6),
        kind::NAK if first == Check::Sum12 => under(Check::Sum12NoBlank),
        _ => None,
    });
    packet.ok_or(BadPacket::Check)
}

/// Completes a packet whose data field is at `buf[LONG_HEADER..LONG_HEADER + data_len]`.
///
/// Returns where the packet begins and ends in `buf`; the terminator is not part of it. The short
/// form is used whenever it fits. With `seven_bit` the high bits are cleared before the check is
/// computed, as a line with parity will clear them.
pub fn finish(
    buf: &mut [u8],
    data_len: usize,
    seq: u8,
    kind: u8,
    check: Check,
    mark: u8,
    seven_bit: bool,
) -> (usize, usize) {
    let data_end = LONG_HEADER + data_len;
    if seven_bit {
        for byte in &mut buf[LONG_HEADER..data_end] {
            *byte &= 0x7f;
        }
    }
    let is_short = data_len + check.len() + COUNTED <= MAX_SHORT;
    let start = if is_short { LONG_HEADER - SHORT_HEADER } else { 0 };
    buf[start] = mark;
    let body = &mut buf[start + MARK..];
    body[field::SEQ] = tochar(seq);
    body[field::TYPE] = kind;
    if is_short {
        body[field::LEN] = tochar((data_len + check.len() + COUNTED) as u8);
    } else {
        let extended = data_len + check.len();
        body[field::LEN] = b' ';
        body[field::LENX1] = tochar((extended / 95) as u8);
        body[field::LENX2] = tochar((extended % 95) as u8);
        body[field::HCHECK] = Check::Sum6.compute(&body[..field::HCHECK])[0];
    }
    let value = check.compute(&buf[start + MARK..data_end]);
    let end = data_end + check.len();
    buf[data_end..end].copy_from_slice(&value[..check.len()]);
    (start, end)
}

/// How many bytes of data fit in one packet to a peer.
///
/// `max_short` is the peer's MAXL, `max_long` its MAXLX if long packets were agreed on. MAXLX
/// is taken as a bound on the whole packet, which is safe under both readings (kermit.md §5.2).
pub fn data_room(max_short: usize, max_long: Option<usize>, check: Check) -> usize {
    let short = max_short.min(MAX_SHORT).saturating_sub(COUNTED + check.len());
    let long =
        max_long.map_or(0, |max| max.min(MAX_LONG).saturating_sub(LONG_HEADER + check.len()));
    // A long packet that carries no more than a short one only costs its longer header.
    short.max(long).max(1)
}
