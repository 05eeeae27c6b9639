//! Sets of small numbers as bits in bytes that the caller owns.

/// Bytes that hold N bits; a multiple of eight, so that they can be read as words.
pub(crate) const fn len_for(bits: usize) -> usize {
    bits.div_ceil(64) * 8
}

/// Whether this one is in the set.
pub(crate) fn has(set: &[u8], bit: usize) -> bool {
    set[bit / 8] & 1 << (bit % 8) != 0
}

/// Inserts it; true if it was absent.
pub(crate) fn put(set: &mut [u8], bit: usize) -> bool {
    let new = !has(set, bit);
    set[bit / 8] |= 1 << (bit % 8);
    new
}

/// Takes it out.
pub(crate) fn take(set: &mut [u8], bit: usize) {
    set[bit / 8] &= !(1 << (bit % 8));
}

/// Inserts all below `count`, and removes all others.
pub(crate) fn fill(set: &mut [u8], count: usize) {
    set.fill(0);
    set[..count / 8].fill(0xFF);
    if !count.is_multiple_of(8) {
        set[count / 8] = (1 << (count % 8)) - 1;
    }
}

fn word(set: &[u8], index: usize) -> u64 {
    let bytes = set[index * 8..].first_chunk().copied().unwrap_or_default();
    u64::from_le_bytes(bytes)
}

/// The lowest one from `from` on and below `end` that is in the set, or with `wanted` false the
/// lowest that is not.
pub(crate) fn find(set: &[u8], from: usize, end: usize, wanted: bool) -> Option<usize> {
    if from >= end {
        return None;
    }
    let flip = if wanted { 0 } else { u64::MAX };
    let mut mask = u64::MAX << (from % 64);
    for index in from / 64..end.div_ceil(64) {
        let found = (word(set, index) ^ flip) & mask;
        if found != 0 {
            let bit = index * 64 + found.trailing_zeros() as usize;
            return (bit < end).then_some(bit);
        }
        mask = u64::MAX;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_is_put_in() {
        let mut set = [0_u8; 16];
        assert!(put(&mut set, 70) && !put(&mut set, 70));
        assert_eq!(find(&set, 0, 128, true), Some(70));
        assert_eq!(find(&set, 0, 70, true), None);
        assert_eq!(find(&set, 70, 128, false), Some(71));
        take(&mut set, 70);
        assert_eq!(find(&set, 0, 128, true), None);
        fill(&mut set, 67);
        assert_eq!(find(&set, 0, 128, false), Some(67));
        assert_eq!(find(&set, 3, 67, false), None);
    }
}
