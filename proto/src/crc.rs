//! The two cyclic checks that X, Y and ZMODEM share.
//!
//! | check | polynomial | bits | start | end | `123456789` |
//! |---|---|---|---|---|---|
//! | CRC-16/XMODEM | 0x1021 | most significant first | 0 | as it is | 0x31c3 |
//! | CRC-32 (IEEE 802.3) | 0x04c11db7 | least significant first | all ones | complemented | 0xcbf43926 |
//!
//! Kermit's CRC-16 has the same polynomial as the first, with the bits reflected; it is in
//! `kermit` because nothing else uses it.
//!
//! Both take several bytes per turn from several tables: the remainder of a sum is the sum of the
//! remainders, so each byte is looked up in the table for its distance from the end of the slice.

/// x^16 + x^12 + x^5 + 1, most significant bit first.
const POLYNOMIAL_16: u16 = 0x1021;

/// The polynomial of IEEE 802.3, bits reflected.
const POLYNOMIAL_32: u32 = 0xEDB8_8320;

/// Bytes taken per turn for a CRC-16.
const SLICE_16: usize = 8;

/// Bytes taken per turn for a CRC-32.
const SLICE_32: usize = 16;

/// `TABLES_16[k][b]`: the remainder of byte `b` followed by `k` zero bytes.
static TABLES_16: [[u16; 256]; SLICE_16] = tables_16();

/// `TABLES_32[k][b]`: the remainder of byte `b` followed by `k` zero bytes.
static TABLES_32: [[u32; 256]; SLICE_32] = tables_32();

const fn tables_16() -> [[u16; 256]; SLICE_16] {
    let mut tables = [[0u16; 256]; SLICE_16];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ POLYNOMIAL_16 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut k = 1;
    while k < SLICE_16 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = (before << 8) ^ tables[0][(before >> 8) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

const fn tables_32() -> [[u32; 256]; SLICE_32] {
    let mut tables = [[0u32; 256]; SLICE_32];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 0 { crc >> 1 } else { (crc >> 1) ^ POLYNOMIAL_32 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut k = 1;
    while k < SLICE_32 {
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

/// CRC-16/XMODEM of `bytes`; on the wire high byte first.
///
/// The CRC over data and its own two bytes is 0.
pub fn crc16(bytes: &[u8]) -> u16 {
    crc16_update(0, bytes)
}

/// Continues a CRC-16 over more bytes: `crc16_update(crc16(a), b)` is `crc16` of `a` then `b`.
pub fn crc16_update(crc: u16, bytes: &[u8]) -> u16 {
    let (chunks, rest) = bytes.as_chunks::<FOLD>();
    let Some((first, more)) = chunks.split_first().filter(|(_, more)| !more.is_empty()) else {
        return crc16_by_tables(crc, bytes);
    };
    let mut folded = *first;
    folded[0] ^= (crc >> 8) as u8;
    folded[1] ^= crc as u8;
    crc16_by_tables(crc16_by_tables(0, &fold(folded, more)), rest)
}

fn crc16_by_tables(mut crc: u16, bytes: &[u8]) -> u16 {
    let (slices, rest) = bytes.as_chunks::<SLICE_16>();
    for slice in slices {
        let [high, low] = crc.to_be_bytes();
        let mut next = TABLES_16[SLICE_16 - 1][usize::from(slice[0] ^ high)]
            ^ TABLES_16[SLICE_16 - 2][usize::from(slice[1] ^ low)];
        for k in 2..SLICE_16 {
            next ^= TABLES_16[SLICE_16 - 1 - k][usize::from(slice[k])];
        }
        crc = next;
    }
    for &byte in rest {
        crc = (crc << 8) ^ TABLES_16[0][usize::from((crc >> 8) as u8 ^ byte)];
    }
    crc
}

/// Bytes to which [`fold`] reduces a message.
pub(crate) const FOLD: usize = 16 * 16;

/// Reduces a message to 256 bytes with the same remainder modulo the CCITT polynomial, by XOR alone.
///
/// Squaring a polynomial over GF(2) spreads its exponents, so P^128 = x^2048 + x^1536 + x^640 + 1
/// is a multiple of P. Modulo P, a bit is therefore the same as three bits 512, 1408 and 2048 bits
/// further on: a word of 16 bytes may be taken away and added to the words 4, 11 and 16 later.
/// Distances in whole bytes do not care for the order of bits, so Kermit's check, which has them the
/// other way round, folds by the same steps.
pub(crate) fn fold(first: [u8; FOLD], more: &[[u8; FOLD]]) -> [u8; FOLD] {
    let mut words = load(&first);
    for chunk in more {
        // Within the chunk first: near words are updated before they are folded on.
        for k in 4..11 {
            let near = words[k - 4];
            xor(&mut words[k], near);
        }
        for k in 11..16 {
            let (near, far) = (words[k - 4], words[k - 11]);
            xor(&mut words[k], near);
            xor(&mut words[k], far);
        }
        // Then all of it into the next chunk.
        let mut next = load(chunk);
        for (word, &from) in next.iter_mut().zip(&words) {
            xor(word, from);
        }
        for (word, &from) in next.iter_mut().zip(&words[5..]) {
            xor(word, from);
        }
        for (word, &from) in next.iter_mut().zip(&words[12..]) {
            xor(word, from);
        }
        words = next;
    }
    let mut folded = [0; FOLD];
    for (bytes, word) in folded.as_chunks_mut::<8>().0.iter_mut().zip(words.as_flattened()) {
        *bytes = word.to_ne_bytes();
    }
    folded
}

/// Sixteen words of 16 bytes; XOR does not care for the order of their bytes.
type Words = [[u64; 2]; 16];

fn load(bytes: &[u8; FOLD]) -> Words {
    let mut words = Words::default();
    for (word, bytes) in words.as_flattened_mut().iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    words
}

fn xor(word: &mut [u64; 2], with: [u64; 2]) {
    word[0] ^= with[0];
    word[1] ^= with[1];
}

/// CRC-32 of `bytes`, complemented at the end; on ZMODEM's wire least significant byte first.
///
/// The CRC-32 over data and its own four bytes is 0x2144df1c, whatever the data.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32_update(0, bytes)
}

/// Continues a CRC-32 over more bytes: `crc32_update(crc32(a), b)` is `crc32` of `a` then `b`,
/// and `crc32_update(0, b)` is `crc32` of `b`.
pub fn crc32_update(crc: u32, bytes: &[u8]) -> u32 {
    let crc = !crc;
    if bytes.len() < 2 * FAR_32 {
        return !crc32_by_tables(crc, bytes);
    }
    let mut end = [0; FAR_32 + STEP_32];
    let len = fold_32(crc, bytes, &mut end);
    !crc32_by_tables(0, &end[..len])
}

fn crc32_by_tables(mut crc: u32, bytes: &[u8]) -> u32 {
    let (slices, rest) = bytes.as_chunks::<SLICE_32>();
    for slice in slices {
        let start = crc.to_le_bytes();
        let mut next = 0;
        // First the bytes that do not depend on the previous round, so that their loads overlap it.
        for k in 4..SLICE_32 {
            next ^= TABLES_32[SLICE_32 - 1 - k][usize::from(slice[k])];
        }
        for k in 0..4 {
            next ^= TABLES_32[SLICE_32 - 1 - k][usize::from(slice[k] ^ start[k])];
        }
        crc = next;
    }
    for &byte in rest {
        crc = (crc >> 8) ^ TABLES_32[0][usize::from(crc as u8 ^ byte)];
    }
    crc
}

/// Bytes between a byte that is taken away by [`fold_32`] and those to which it is added.
const NEAR_32: [usize; 3] = [145, 183, 211];
/// The largest of them.
const FAR_32: usize = 300;
/// Bytes taken away at a time: at most the smallest distance, so that they do not overlap.
const STEP_32: usize = 128;
/// Steps between two moves of the history in [`fold_32`].
const STEPS_32: usize = 8;

/// Reduces a message to its last 300 to 427 bytes with the same CRC-32, by XOR alone; returns how
/// many they are in `end`.
///
/// x^300 + x^155 + x^117 + x^89 + 1 is a multiple of the polynomial, and so is its eighth power,
/// whose exponents are eight times those. So a byte may be taken away if it is added to the bytes
/// 145, 183, 211 and 300 further on, whichever way round their bits are. The start value is what
/// the first four bytes would be added to.
fn fold_32(crc: u32, bytes: &[u8], end: &mut [u8; FAR_32 + STEP_32]) -> usize {
    let steps = (bytes.len() - FAR_32) / STEP_32;
    // The history of bytes taken away: the last 300, then those of each step.
    let mut taken = [0u8; FAR_32 + STEPS_32 * STEP_32];
    let mut at = FAR_32;
    let start = crc.to_le_bytes();
    for (k, step) in bytes.as_chunks::<STEP_32>().0[..steps].iter().enumerate() {
        if at == taken.len() {
            taken.copy_within(at - FAR_32.., 0);
            at = FAR_32;
        }
        let mut sum = added(step, &taken, at);
        if k == 0 {
            for (byte, start) in sum.iter_mut().zip(start) {
                *byte ^= start;
            }
        }
        taken[at..at + STEP_32].copy_from_slice(&sum);
        at += STEP_32;
    }
    let rest = &bytes[steps * STEP_32..];
    end[..rest.len()].copy_from_slice(rest);
    for distance in NEAR_32.into_iter().chain([FAR_32]) {
        for (byte, taken) in end.iter_mut().zip(&taken[at - distance..at]) {
            *byte ^= taken;
        }
    }
    rest.len()
}

/// A step of the message with all that was taken away before added to it.
fn added(step: &[u8; STEP_32], taken: &[u8], at: usize) -> [u8; STEP_32] {
    let back = |distance: usize| -> &[u8; STEP_32] {
        taken[at - distance..].first_chunk().expect("a step behind every distance")
    };
    let (a, b, c, d) = (back(NEAR_32[0]), back(NEAR_32[1]), back(NEAR_32[2]), back(FAR_32));
    let mut sum = [0; STEP_32];
    for k in 0..STEP_32 {
        sum[k] = step[k] ^ a[k] ^ b[k] ^ c[k] ^ d[k];
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// One bit at a time, as the documents define it.
    fn crc16_slow(bytes: &[u8]) -> u16 {
        bytes.iter().fold(0, |crc, &byte| {
            (0..8).fold(crc ^ (u16::from(byte) << 8), |crc: u16, _| {
                (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { POLYNOMIAL_16 }
            })
        })
    }

    fn crc32_slow(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc: u32, _| {
                (crc >> 1) ^ if crc & 1 == 0 { 0 } else { POLYNOMIAL_32 }
            })
        })
    }

    fn sample(len: usize) -> Vec<u8> {
        wetstring_testkit::pattern(len)
    }

    #[test]
    fn published_values() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(crc16(b"A"), 0x58E5);
        assert_eq!(crc16(&[0x1A; 128]), 0xF8B0);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn as_the_slow_way_at_every_length_and_cut() {
        let bytes = sample(4000);
        for len in (0..300).chain(500..860).chain([1023, 1024, 1025, 1500, 2500, 4000]) {
            assert_eq!(crc16(&bytes[..len]), crc16_slow(&bytes[..len]), "crc16 of {len}");
            assert_eq!(crc32(&bytes[..len]), crc32_slow(&bytes[..len]), "crc32 of {len}");
        }
        for cut in [0, 1, 15, 16, 17, 700, 1499, 2000, 4000] {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(crc16_update(crc16(a), b), crc16(&bytes));
            assert_eq!(crc32_update(crc32(a), b), crc32(&bytes));
        }
    }

    #[test]
    fn residues() {
        for len in [0, 1, 128, 1024] {
            let mut message = sample(len);
            let crc = crc16(&message);
            message.extend(crc.to_be_bytes());
            assert_eq!(crc16(&message), 0);
            message.truncate(len);
            let crc = crc32(&message);
            message.extend(crc.to_le_bytes());
            assert_eq!(crc32(&message), 0x2144_DF1C);
        }
    }
}
