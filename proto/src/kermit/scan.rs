//! Looks for special bytes 64 at a time.
//!
//! Plain loops over arrays, in the form that compilers turn into vector instructions: most bytes
//! of most files are not special, and the codec must not look at those one by one.

/// Bytes looked at together; one bit of a [`mask`] each.
pub(super) const BLOCK: usize = 64;

/// The bit of each byte within its group of eight.
const BITS: [u8; BLOCK] = {
    let mut bits = [0; BLOCK];
    let mut k = 0;
    while k < BLOCK {
        bits[k] = 1 << (k % 8);
        k += 1;
    }
    bits
};

/// Gathers hits (0xFF where a byte is special, else 0) in a word; bit `k` is byte `k`.
#[inline]
fn gather(hits: &[u8; BLOCK]) -> u64 {
    let mut marked = [0u8; BLOCK];
    for k in 0..BLOCK {
        marked[k] = hits[k] & BITS[k];
    }
    let (groups, _) = marked.as_chunks::<8>();
    let mut mask = 0;
    for (k, group) in groups.iter().enumerate() {
        // The eight bits of a group are different, so their sum, in the top byte, is their union.
        let sum = u64::from_le_bytes(*group).wrapping_mul(0x0101_0101_0101_0101) >> 56;
        mask |= sum << (8 * k);
    }
    mask
}

/// Which bytes of the block are one of `codes`.
#[inline]
pub(super) fn codes<const N: usize>(block: &[u8; BLOCK], codes: &[u8; N]) -> u64 {
    let mut hits = [0u8; BLOCK];
    for &code in codes {
        for k in 0..BLOCK {
            hits[k] |= if block[k] == code { 0xFF } else { 0 };
        }
    }
    if hits.iter().fold(0, |any, &hit| any | hit) == 0 { 0 } else { gather(&hits) }
}

/// Which bytes of the block are controls, with or without bit 7, or one of `codes`.
#[inline]
pub(super) fn controls<const N: usize>(block: &[u8; BLOCK], codes: &[u8; N]) -> u64 {
    let mut hits = [0u8; BLOCK];
    for k in 0..BLOCK {
        // Modulo 128, 127 comes before 0: the controls are the 33 codes from there.
        hits[k] = if (block[k].wrapping_add(1) & 0x7F) < 33 { 0xFF } else { 0 };
    }
    for &code in codes {
        for k in 0..BLOCK {
            hits[k] |= if block[k] == code { 0xFF } else { 0 };
        }
    }
    if hits.iter().fold(0, |any, &hit| any | hit) == 0 { 0 } else { gather(&hits) }
}

/// As [`controls`], and all bytes with bit 7.
#[inline]
pub(super) fn controls_and_high<const N: usize>(block: &[u8; BLOCK], codes: &[u8; N]) -> u64 {
    let mut hits = [0u8; BLOCK];
    for k in 0..BLOCK {
        hits[k] = if block[k].wrapping_sub(32) > 94 { 0xFF } else { 0 };
    }
    for &code in codes {
        for k in 0..BLOCK {
            hits[k] |= if block[k] == code { 0xFF } else { 0 };
        }
    }
    if hits.iter().fold(0, |any, &hit| any | hit) == 0 { 0 } else { gather(&hits) }
}

/// Which bytes of the first 64 are followed by two of the same.
#[inline]
pub(super) fn runs(window: &[u8; BLOCK + 2]) -> u64 {
    let mut hits = [0u8; BLOCK];
    for k in 0..BLOCK {
        let same = (window[k] ^ window[k + 1]) | (window[k + 1] ^ window[k + 2]);
        hits[k] = if same == 0 { 0xFF } else { 0 };
    }
    if hits.iter().fold(0, |any, &hit| any | hit) == 0 { 0 } else { gather(&hits) }
}

/// The index of the first byte that is `a` or `b` in the bits of `strip`.
pub(super) fn find(bytes: &[u8], strip: u8, a: u8, b: u8) -> Option<usize> {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate() {
        let mut hit = 0u8;
        for &byte in block {
            let byte = byte & strip;
            hit |= u8::from(byte == a) | u8::from(byte == b);
        }
        if hit != 0 {
            let at = block.iter().position(|&byte| byte & strip == a || byte & strip == b);
            return at.map(|at| index * BLOCK + at);
        }
    }
    let at = rest.iter().position(|&byte| byte & strip == a || byte & strip == b);
    at.map(|at| blocks.len() * BLOCK + at)
}

/// How often the first byte of `bytes` is repeated at its start, at most `limit`.
#[inline]
pub(super) fn run_length(bytes: &[u8], limit: usize) -> usize {
    let Some(&first) = bytes.first() else { return 0 };
    let bytes = &bytes[..bytes.len().min(limit)];
    let pattern = u64::from_ne_bytes([first; 8]);
    let (words, _) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let differ = u64::from_le_bytes(*word) ^ pattern;
        if differ != 0 {
            return 8 * index + differ.trailing_zeros() as usize / 8;
        }
    }
    let whole = words.len() * 8;
    whole + bytes[whole..].iter().take_while(|&&byte| byte == first).count()
}

/// Copies the first `len` bytes of `from`, 16 at a time and at least once.
///
/// Both sides need 16 bytes more than `len`; what is written after the span is overwritten later.
#[inline]
pub(super) fn copy_span(from: &[u8], len: usize, to: &mut [u8]) {
    let mut at = 0;
    loop {
        to[at..at + 16].copy_from_slice(&from[at..at + 16]);
        at += 16;
        if at >= len {
            return;
        }
    }
}

/// Of a mask of prefixes: the bytes that follow one which is not itself prefixed.
///
/// In a row of prefixes every second one is prefixed by the one before. Adding a row's first bit
/// to the row carries to the bit after it, and whether that is at an even distance tells which
/// of the row are which.
pub(super) fn escaped(prefixes: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let follows = prefixes << 1;
    let odd_starts = prefixes & !EVEN & !follows;
    let carried = odd_starts.wrapping_add(prefixes);
    (EVEN ^ (carried << 1)) & follows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_prefix_of_a_row_is_prefixed() {
        let mut dice = wetstring_testkit::Dice(1);
        for round in 0..20_000u64 {
            let state = dice.next();
            let prefixes = state | if round % 2 == 0 { state.rotate_left(23) } else { 0 };
            let (mut expected, mut inside) = (0u64, false);
            for k in 0..64 {
                if inside {
                    expected |= 1 << k;
                    inside = false;
                } else {
                    inside = prefixes >> k & 1 == 1;
                }
            }
            assert_eq!(escaped(prefixes), expected, "{prefixes:#x}");
        }
    }
}
