//! Contents of files, the same at every run.

use crate::Dice;

/// Bytes of a seed.
pub fn random(len: usize, seed: u64) -> Vec<u8> {
    Dice(seed).bytes(len)
}

/// Bytes of a seed that look like noise (`xorshift64`).
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// Noise: the same bytes of every length.
pub fn pattern(len: usize) -> Vec<u8> {
    noise(1, len)
}

/// Bytes that tell where they stand, none of them zero, which a hole has.
pub fn counted(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251 + 1) as u8).collect()
}

/// Any digest will do for a test, as long as it depends on every byte.
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0u8; 32];
    let mut state = 0xcbf2_9ce4_8422_2325u64;
    for (index, byte) in bytes.iter().enumerate() {
        state = (state ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3).rotate_left(7);
        out[index % 32] ^= (state >> 32) as u8;
    }
    out[..8].copy_from_slice(&state.to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_every_byte() {
        let bytes = pattern(500);
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(digest(&other), digest(&bytes), "{at}");
        }
        assert_ne!(digest(&bytes[..499]), digest(&bytes));
    }
}
