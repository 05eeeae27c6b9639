//! Finds special bytes, 64 at a time.
//!
//! Plain loops over arrays, in the form that compilers turn into vector instructions: of random
//! data one byte in 37 is special, of text hardly one, and the others are only copied.

// Each caller has its own test, which must be inlined to become vector instructions.
#![allow(clippy::inline_always)]

/// Bytes looked at together; one bit of a mask each.
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

/// Which bytes of the block are special, given each with the byte before it; bit `k` is byte `k`.
#[inline(always)]
pub(super) fn mask(
    before: &[u8; BLOCK],
    block: &[u8; BLOCK],
    special: impl Fn(u8, u8) -> bool,
) -> u64 {
    let mut marked = [0u8; BLOCK];
    for k in 0..BLOCK {
        marked[k] = if special(before[k], block[k]) { BITS[k] } else { 0 };
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

/// The 64 bytes of `bytes` from `at`.
#[inline(always)]
pub(super) fn block(bytes: &[u8], at: usize) -> &[u8; BLOCK] {
    bytes[at..at + BLOCK].first_chunk().expect("a slice of 64 bytes")
}
