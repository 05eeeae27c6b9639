//! Headers: their types, their forms on the wire, and the flags they carry (xyzmodem.md §4.1, §4.2).
//!
//! ```text
//! hex       ZPAD ZPAD ZDLE B  type d0 d1 d2 d3 crc16        in hex digits, then CR LF|80 [XON]
//! binary    ZPAD ZDLE A       type d0 d1 d2 d3 crc16        escaped
//! binary    ZPAD ZDLE C       type d0 d1 d2 d3 crc32        escaped, also for the data that follows
//! run-coded ZPAD ZDLE D       as C; the data that follows is run-length coded
//! packed    ZPAD ZDLE E       as C, but that crc32 begins with the letter; the data that follows is compressed, between two of ours
//! variable  a b c d e for A B C D E: a byte n before the type, then n data bytes instead of four
//! ```
//!
//! d0..d3 are a position, least significant first, or the flags ZF3 ZF2 ZF1 ZF0.

use super::escape::{Escaper, SLACK, ZDLE};
use crate::crc::{crc16, crc16_update, crc32, crc32_update};

/// Whether compression is built.
pub(super) const PACKS: bool = cfg!(feature = "packing");

/// `*`, which begins every header.
pub const ZPAD: u8 = b'*';

/// Frame types.
pub mod kind {
    #![allow(missing_docs)] // the standard's own names
    pub const ZRQINIT: u8 = 0;
    pub const ZRINIT: u8 = 1;
    pub const ZSINIT: u8 = 2;
    pub const ZACK: u8 = 3;
    pub const ZFILE: u8 = 4;
    pub const ZSKIP: u8 = 5;
    pub const ZNAK: u8 = 6;
    pub const ZABORT: u8 = 7;
    pub const ZFIN: u8 = 8;
    pub const ZRPOS: u8 = 9;
    pub const ZDATA: u8 = 10;
    pub const ZEOF: u8 = 11;
    pub const ZFERR: u8 = 12;
    pub const ZCRC: u8 = 13;
    pub const ZCHALLENGE: u8 = 14;
    pub const ZCOMPL: u8 = 15;
    pub const ZCAN: u8 = 16;
    pub const ZFREECNT: u8 = 17;
    pub const ZCOMMAND: u8 = 18;
    pub const ZSTDERR: u8 = 19;

    /// Their names, by number.
    pub const NAMES: [&str; 20] = [
        "ZRQINIT",
        "ZRINIT",
        "ZSINIT",
        "ZACK",
        "ZFILE",
        "ZSKIP",
        "ZNAK",
        "ZABORT",
        "ZFIN",
        "ZRPOS",
        "ZDATA",
        "ZEOF",
        "ZFERR",
        "ZCRC",
        "ZCHALLENGE",
        "ZCOMPL",
        "ZCAN",
        "ZFREECNT",
        "ZCOMMAND",
        "ZSTDERR",
    ];
}

/// The letter of a frame type in traces.
pub const fn letter(kind: u8) -> char {
    const LETTERS: &[u8; 20] = b"QISAFKNXZPDERCHM!BOT";
    if (kind as usize) < LETTERS.len() { LETTERS[kind as usize] as char } else { '?' }
}

/// Ends of data subpackets.
pub mod end {
    #![allow(missing_docs)] // the standard's own names
    /// The frame ends, a header follows, no answer.
    pub const ZCRCE: u8 = b'h';
    /// More subpackets follow, no answer.
    pub const ZCRCG: u8 = b'i';
    /// More subpackets follow, ZACK is expected.
    pub const ZCRCQ: u8 = b'j';
    /// The frame ends, ZACK is expected.
    pub const ZCRCW: u8 = b'k';
}

/// ZRINIT, ZF0: capabilities of a receiver.
pub mod capability {
    /// Send and receive at once.
    pub const CANFDX: u8 = 0x01;
    /// Receive while it writes to its disk.
    pub const CANOVIO: u8 = 0x02;
    /// Send a break.
    pub const CANBRK: u8 = 0x04;
    /// Run-length coded data (Omen; CANCRY in 1988).
    pub const CANRLE: u8 = 0x08;
    /// LZW compressed files.
    pub const CANLZW: u8 = 0x10;
    /// CRC-32.
    pub const CANFC32: u8 = 0x20;
    /// Requests control characters to be escaped.
    pub const ESCCTL: u8 = 0x40;
    /// Wants the 8th bit escaped; nowhere defined.
    pub const ESC8: u8 = 0x80;
    /// ZF1: variable headers.
    pub const CANVHDR: u8 = 0x01;
    /// ZF1: takes data subpackets of 8192 bytes. Our own; this bit is otherwise unused.
    pub const OWN_LONG: u8 = 0x40;
    /// ZF1: takes compressed data. Our own; this bit is otherwise unused.
    pub const OWN_PACKED: u8 = 0x20;
}

/// ZSINIT, ZF0: the sender wants control characters escaped.
pub const TESCCTL: u8 = 0x40;
/// ZSINIT, ZF0: the sender wants the 8th bit escaped; nowhere defined.
pub const TESC8: u8 = 0x80;

/// The form of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// Hex digits; data that follows has a CRC-16.
    #[default]
    Hex,
    /// Binary with CRC-16.
    Bin16,
    /// Binary with CRC-32.
    Bin32,
    /// Binary with CRC-32, run-length coded data.
    Rle,
    /// Binary with CRC-32, compressed data: between two of ours.
    Packed,
}

impl Form {
    /// The form a letter stands for, and whether its length is variable.
    pub const fn from_letter(letter: u8) -> Option<(Self, bool)> {
        match letter {
            b'A' | b'a' => Some((Self::Bin16, letter == b'a')),
            b'B' | b'b' => Some((Self::Hex, letter == b'b')),
            b'C' | b'c' => Some((Self::Bin32, letter == b'c')),
            b'D' | b'd' => Some((Self::Rle, letter == b'd')),
            b'E' | b'e' if PACKS => Some((Self::Packed, letter == b'e')),
            _ => None,
        }
    }

    /// The letter of this form.
    pub const fn letter(self, variable: bool) -> u8 {
        let letter = match self {
            Self::Bin16 => b'A',
            Self::Hex => b'B',
            Self::Bin32 => b'C',
            Self::Rle => b'D',
            Self::Packed => b'E',
        };
        if variable { letter | 0x20 } else { letter }
    }

    /// The CRC-32 of a header, of its type and data. That of our own form covers the letter, too: noise makes none of another.
    pub(super) fn header_crc32(self, variable: bool, covered: &[u8]) -> u32 {
        match self {
            Self::Packed if PACKS => crc32_update(crc32(&[self.letter(variable)]), covered),
            _ => crc32(covered),
        }
    }

    /// Bytes of the check, of the header (4 only in binary) and of the data that follows.
    pub const fn check_len(self) -> usize {
        match self {
            Self::Hex | Self::Bin16 => 2,
            Self::Bin32 | Self::Rle | Self::Packed => 4,
        }
    }
}

/// Most data bytes of a variable header.
pub const MAX_DATA: usize = 16;
/// Room for any header with four data bytes on the wire, all of it escaped.
pub const MAX_HEADER: usize = 32;

/// A header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Frame type, see [`kind`].
    pub kind: u8,
    /// The first four data bytes as they are on the wire.
    pub data: [u8; 4],
    /// Its form.
    pub form: Form,
    /// It has a length byte.
    pub variable: bool,
}

impl Header {
    /// A hex header with a position, or any number.
    pub const fn hex(kind: u8, number: u32) -> Self {
        Self { kind, data: number.to_le_bytes(), form: Form::Hex, variable: false }
    }

    /// The data as a position, or any number.
    pub const fn number(&self) -> u32 {
        u32::from_le_bytes(self.data)
    }

    /// Flag byte `ZF0` to `ZF3`.
    pub const fn flag(&self, index: usize) -> u8 {
        self.data[3 - index]
    }

    /// Writes it to `out`, which has room for [`MAX_HEADER`] bytes; returns its length.
    pub fn put(&self, escaper: &mut Escaper, out: &mut [u8]) -> usize {
        let mut body = [0u8; 6];
        body[0] = 4;
        body[1] = self.kind;
        body[2..].copy_from_slice(&self.data);
        let covered = &body[1..];
        if self.form == Form::Hex {
            return self.put_hex(&body, crc16(covered), out);
        }
        out[..3].copy_from_slice(&[ZPAD, ZDLE, self.form.letter(self.variable)]);
        escaper.after(out[2]);
        let mut whole = [0u8; 10];
        let from = usize::from(!self.variable);
        whole[..6].copy_from_slice(&body);
        let check = self.form.check_len();
        if check == 2 {
            whole[6..8].copy_from_slice(&crc16(covered).to_be_bytes());
        } else {
            let check = self.form.header_crc32(self.variable, covered);
            whole[6..10].copy_from_slice(&check.to_le_bytes());
        }
        let mut wire = [0u8; 20 + SLACK];
        let len = escaper.put(&whole[from..6 + check], &mut wire);
        out[3..3 + len].copy_from_slice(&wire[..len]);
        3 + len
    }

    fn put_hex(&self, body: &[u8; 6], crc: u16, out: &mut [u8]) -> usize {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        out[..4].copy_from_slice(&[ZPAD, ZPAD, ZDLE, Form::Hex.letter(self.variable)]);
        let mut len = 4;
        let from = usize::from(!self.variable);
        for byte in body[from..].iter().chain(&crc.to_be_bytes()) {
            out[len] = DIGITS[usize::from(byte >> 4)];
            out[len + 1] = DIGITS[usize::from(byte & 15)];
            len += 2;
        }
        out[len..len + 2].copy_from_slice(b"\r\x8a");
        len += 2;
        // A XON, in case noise has made an XOFF; not where nothing may follow.
        if !matches!(self.kind, kind::ZACK | kind::ZFIN) {
            out[len] = 0x11;
            len += 1;
        }
        len
    }
}

/// ZDLE and the letter that end the data of a subpacket.
pub(crate) const SUBPACKET_END: usize = 2;

/// Room a data subpacket of `len` bytes may need on the wire.
pub const fn subpacket_room(len: usize) -> usize {
    2 * len + SUBPACKET_END + 2 * Form::Bin32.check_len() + 1 + SLACK
}

/// Writes a data subpacket to `out`, which has [`subpacket_room`]; returns the length of its escaped
/// data, and of all of it.
pub fn put_subpacket(
    escaper: &mut Escaper,
    form: Form,
    data: &[u8],
    end: u8,
    out: &mut [u8],
) -> (usize, usize) {
    let coded = escaper.put(data, out);
    let mut made = coded;
    out[made..made + SUBPACKET_END].copy_from_slice(&[ZDLE, end]);
    made += SUBPACKET_END;
    escaper.after(end);
    made += if form.check_len() == 2 {
        escaper.put(&crc16_update(crc16(data), &[end]).to_be_bytes(), &mut out[made..])
    } else {
        escaper.put(&crc32_update(crc32(data), &[end]).to_le_bytes(), &mut out[made..])
    };
    if end == end::ZCRCW {
        out[made] = 0x11;
        made += 1;
    }
    (coded, made)
}

/// The cancel of a session: CANs, and backspaces that rub out what they left at a prompt.
pub const CANCEL: &[u8; 18] =
    b"\x18\x18\x18\x18\x18\x18\x18\x18\x08\x08\x08\x08\x08\x08\x08\x08\x08\x08";
