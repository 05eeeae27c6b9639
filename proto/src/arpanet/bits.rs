//! Strings of bits that do not begin where octets do: bytes of 36 bits end in the middle of one.

/// The 64 bits at bit `at` of `from`, zeros after its end.
fn look(from: &[u8], at: usize) -> u64 {
    let (first, shift) = (at / 8, at % 8);
    let mut nine = [0; 9];
    let rest = from.get(first..).unwrap_or_default();
    let len = rest.len().min(9);
    nine[..len].copy_from_slice(&rest[..len]);
    let eight = nine.first_chunk().map_or(0, |eight| u64::from_be_bytes(*eight));
    eight << shift | u64::from(nine[8]) >> (8 - shift)
}

/// Copies `len` bits of `from` at bit `at` over those of `into` at bit `to`. What else is in the octets stays.
pub(crate) fn copy(from: &[u8], at: usize, into: &mut [u8], to: usize, len: usize) {
    let (mut done, whole) = (0, |at: usize| at.is_multiple_of(8));
    if whole(at) && whole(to) {
        let count = len / 8;
        into[to / 8..][..count].copy_from_slice(&from[at / 8..][..count]);
        done = count * 8;
    }
    while done < len {
        let (place, shift) = ((to + done) / 8, (to + done) % 8);
        let bits = look(from, at + done);
        if shift == 0 && len - done >= 64 {
            into[place..place + 8].copy_from_slice(&bits.to_be_bytes());
            done += 64;
            continue;
        }
        let count = (8 - shift).min(len - done);
        let mask = (0xFF_u8 << (8 - count)) >> shift;
        into[place] = into[place] & !mask | (bits >> 56 >> shift) as u8 & mask;
        done += count;
    }
}

/// A queue of bits in octets that are lent to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Queue {
    /// Where its first bit stands.
    head: usize,
    /// Where the next one goes.
    tail: usize,
}

impl Queue {
    pub(crate) const EMPTY: Self = Self { head: 0, tail: 0 };

    /// Bits in it.
    pub(crate) fn len(self) -> usize {
        self.tail - self.head
    }

    /// Bits that it takes yet. A few less than are free, so that whole octets stay where octets are.
    pub(crate) fn room(self, memory: &[u8]) -> usize {
        (memory.len() * 8 - self.len()).saturating_sub(7)
    }

    /// Appends bits, as many as there is room for, and says how many.
    pub(crate) fn push(&mut self, memory: &mut [u8], from: &[u8], at: usize, len: usize) -> usize {
        let len = len.min(self.room(memory));
        if self.head == self.tail {
            self.head = 0;
            self.tail = 0;
        }
        if self.tail + len > memory.len() * 8 {
            let first = self.head / 8;
            memory.copy_within(first..self.tail.div_ceil(8), 0);
            self.head -= first * 8;
            self.tail -= first * 8;
        }
        copy(from, at, memory, self.tail, len);
        self.tail += len;
        len
    }

    /// Copies bits from `offset` on into octets, from their first bit on.
    pub(crate) fn peek(self, memory: &[u8], offset: usize, into: &mut [u8], len: usize) {
        copy(memory, self.head + offset, into, 0, len);
    }

    /// The first octets, where they begin as octets do.
    pub(crate) fn front(self, memory: &[u8], len: usize) -> &[u8] {
        &memory[self.head / 8..][..len]
    }

    /// Takes bits off the front.
    pub(crate) fn drop(&mut self, len: usize) {
        self.head += len.min(self.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn bit(octets: &[u8], at: usize) -> u8 {
        octets[at / 8] >> (7 - at % 8) & 1
    }

    #[test]
    fn copies_bits_and_no_others() {
        let from: Vec<u8> = (0..40_u8).map(|n| n.wrapping_mul(73) ^ 0x5A).collect();
        for at in 0..17 {
            for to in 0..17 {
                for len in [0, 1, 7, 8, 9, 36, 63, 64, 65, 72, 100, 200] {
                    for fill in [0, 0xFF] {
                        let mut into = vec![fill; 40];
                        copy(&from, at, &mut into, to, len);
                        for place in 0..320 {
                            let inside = (to..to + len).contains(&place);
                            let want = if inside { bit(&from, at + place - to) } else { fill & 1 };
                            assert_eq!(bit(&into, place), want, "{at} {to} {len} {place}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_queue_gives_what_it_got() {
        let (mut memory, mut queue) = (vec![0; 50], Queue::default());
        let (mut sent, mut got) = (0_usize, 0_usize);
        let value = |index: usize| (index * index / 3 % 2) as u8;
        for turn in 0..2000 {
            let want = turn * 37 % 91;
            let mut octets = [0_u8; 16];
            for index in 0..want {
                octets[(index + 3) / 8] |= value(sent + index) << (7 - (index + 3) % 8);
            }
            let room = queue.room(&memory);
            assert_eq!(queue.push(&mut memory, &octets, 3, want), want.min(room));
            sent += want.min(room);
            let take = (turn * 53 % 97).min(queue.len());
            let mut out = [0; 16];
            queue.peek(&memory, 0, &mut out, take);
            for index in 0..take {
                assert_eq!(bit(&out, index), value(got + index), "turn {turn}");
            }
            queue.drop(take);
            got += take;
            assert_eq!(queue.len(), sent - got);
        }
        assert!(sent > 50_000, "it was full most of the time");
    }
}
