//! Character arithmetic and block checks (\[KPM\] §3, §6.4; the blank-free form is C-Kermit's).
//!
//! ```text
//! MARK  LEN SEQ TYPE [LENX1 LENX2 HCHECK] DATA...  CHECK  [EOL]
//!       `------------- covered -----------------'
//! ```
//!
//! A check covers the bytes from LEN to the last one of DATA, parity stripped. MARK, CHECK itself
//! and EOL are not covered. Type 5 ("type 3 on every packet") is a rule about when to use type 3,
//! not another check, so it is not here.

use crate::crc::{FOLD, fold};

/// Makes a number 0 to 94 printable (\[KPM\] §3): 0 is a blank, 94 is `~`.
///
/// Larger numbers wrap as bytes do; callers keep to 94.
pub const fn tochar(n: u8) -> u8 {
    n.wrapping_add(32)
}

/// The number a printable character stands for, inverse of [`tochar`].
///
/// A control character gives a number above 94 (it wraps), which every caller rejects by range.
pub const fn unchar(c: u8) -> u8 {
    c.wrapping_sub(32)
}

/// Turns a control character into a printable one and back (\[KPM\] §3); bit 7 is kept.
pub const fn ctl(c: u8) -> u8 {
    c ^ 64
}

/// The block check types a packet can carry (\[KPM\] §6.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Check {
    /// Type 1: a sum folded to 6 bits, one character. Every conversation starts with it.
    #[default]
    Sum6,
    /// Type 2: the sum's low 12 bits, two characters.
    Sum12,
    /// Type 3: CRC-16, three characters.
    Crc16,
    /// Type B: the 12-bit sum in characters that are never blank (C-Kermit), two characters.
    Sum12NoBlank,
}

impl Check {
    /// The type for a CHKT character of the parameter string; `None` for all others (also `5`).
    pub const fn from_char(c: u8) -> Option<Check> {
        match c {
            b'1' => Some(Check::Sum6),
            b'2' => Some(Check::Sum12),
            b'3' => Some(Check::Crc16),
            b'B' => Some(Check::Sum12NoBlank),
            _ => None,
        }
    }

    /// The CHKT character of the parameter string.
    pub const fn as_char(self) -> u8 {
        match self {
            Check::Sum6 => b'1',
            Check::Sum12 => b'2',
            Check::Crc16 => b'3',
            Check::Sum12NoBlank => b'B',
        }
    }

    /// Characters the check takes at the end of a packet, 1 to 3.
    #[allow(clippy::len_without_is_empty)] // a check is never empty
    pub const fn len(self) -> usize {
        match self {
            Check::Sum6 => 1,
            Check::Sum12 | Check::Sum12NoBlank => 2,
            Check::Crc16 => 3,
        }
    }

    /// The check characters over `covered`; the first [`len`](Check::len) of the three are
    /// meaningful, the others are 0.
    pub fn compute(self, covered: &[u8]) -> [u8; 3] {
        let six = |n: u32| tochar((n & 63) as u8);
        match self {
            Check::Sum6 => {
                let s = sum(covered);
                [six(s.wrapping_add((s & 0xC0) >> 6)), 0, 0]
            }
            Check::Sum12 => {
                let s = sum(covered);
                [six(s >> 6), six(s), 0]
            }
            Check::Sum12NoBlank => {
                let s = sum(covered);
                [six(s >> 6) + 1, six(s) + 1, 0]
            }
            Check::Crc16 => {
                let crc = u32::from(crc16(covered));
                [six(crc >> 12), six(crc >> 6), six(crc)]
            }
        }
    }

    /// Whether `check` (exactly [`len`](Check::len) bytes) is the check over `covered`.
    pub fn verify(self, covered: &[u8], check: &[u8]) -> bool {
        check == &self.compute(covered)[..self.len()]
    }
}

/// The arithmetic sum of the bytes, modulo 2^32.
fn sum(bytes: &[u8]) -> u32 {
    let mut total = 0u32;
    // 256 bytes of 255 still fit in a 16-bit lane, and 16-bit lanes are twice as many per register.
    for block in bytes.chunks(16 * 256) {
        let (rows, rest) = block.as_chunks::<16>();
        let mut lanes = [0u16; 16];
        for row in rows {
            for (lane, &byte) in lanes.iter_mut().zip(row) {
                *lane += u16::from(byte);
            }
        }
        let lanes = lanes.iter().map(|&lane| u32::from(lane)).sum::<u32>();
        let rest = rest.iter().map(|&byte| u32::from(byte)).sum::<u32>();
        total = total.wrapping_add(lanes).wrapping_add(rest);
    }
    total
}

/// x^16 + x^12 + x^5 + 1 with the bits reflected.
const POLYNOMIAL: u16 = 0x8408;

/// Bytes taken per turn of the table loop; one table for each.
const SLICE: usize = 8;

/// `TABLES[k][b]`: the remainder of byte `b` followed by `k` zero bytes.
static TABLES: [[u16; 256]; SLICE] = tables();

const fn tables() -> [[u16; 256]; SLICE] {
    let mut tables = [[0u16; 256]; SLICE];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u16;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut k = 1;
    while k < SLICE {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

/// CRC-16/KERMIT: reflected, initial value 0, no final XOR; `123456789` gives 0x2189.
pub fn crc16(bytes: &[u8]) -> u16 {
    crc16_update(0, bytes)
}

/// Continues a CRC over more bytes: `crc16_update(crc16(a), b)` is `crc16` of `a` then `b`.
pub fn crc16_update(crc: u16, bytes: &[u8]) -> u16 {
    let (chunks, rest) = bytes.as_chunks::<FOLD>();
    let Some((first, more)) = chunks.split_first().filter(|(_, more)| !more.is_empty()) else {
        return by_tables(crc, bytes);
    };
    let mut folded = *first;
    folded[0] ^= crc as u8;
    folded[1] ^= (crc >> 8) as u8;
    by_tables(by_tables(0, &fold(folded, more)), rest)
}

fn by_tables(mut crc: u16, bytes: &[u8]) -> u16 {
    let (slices, rest) = bytes.as_chunks::<SLICE>();
    for slice in slices {
        let [low, high] = crc.to_le_bytes();
        // Each byte is as far from the end of the slice as its table says; the sum of remainders
        // is the remainder of the sum. Only the first two bytes depend on the previous turn.
        let mut next = TABLES[SLICE - 1][usize::from(slice[0] ^ low)]
            ^ TABLES[SLICE - 2][usize::from(slice[1] ^ high)];
        for k in 2..SLICE {
            next ^= TABLES[SLICE - 1 - k][usize::from(slice[k])];
        }
        crc = next;
    }
    for &byte in rest {
        crc = (crc >> 8) ^ TABLES[0][usize::from((crc as u8) ^ byte)];
    }
    crc
}
