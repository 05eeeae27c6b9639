//! Bytes in a code without certain characters, at a cost of 0.4 to 6 %.
//!
//! A block of n bytes is a number, and n + 1 digits of base B are the same number, if 256^n is at most B^(n+1): B is
//! how many codes may stand on the line. Prefixes would cost as much as those that may not are frequent: 13 codes are
//! 5 % of random bytes by prefixes, and 1 % here.

use crate::kermit::prefix::PrefixTable;

/// The longest block, in bytes.
pub(crate) const LONGEST_BLOCK: usize = 254;

/// What the processor multiplies at once, and the product.
#[cfg(target_pointer_width = "64")]
type Word = u64;
#[cfg(target_pointer_width = "64")]
type Double = u128;
#[cfg(not(target_pointer_width = "64"))]
type Word = u32;
#[cfg(not(target_pointer_width = "64"))]
type Double = u64;

/// Digits that are converted at once: as many as a word has bytes, since a base is less than 256.
const GROUP: usize = size_of::<Word>();
/// Words of the longest block, and one that shows that there is more.
const LIMBS: usize = LONGEST_BLOCK.div_ceil(GROUP) + 1;
/// Divisions of the same number that are under way at once, each of the quotient of the one before: a processor does them side by side.
const LANES: usize = 4;
/// Digits of which all are taken out of 32 bits.
const QUAD: usize = 4;

/// A divisor with its reciprocal: a division takes tens of cycles where two multiplications take eight, and the next
/// needs its remainder (Möller and Granlund, Improved division by invariant integers, 2011).
#[derive(Debug)]
struct Divisor {
    /// With its highest bit set.
    normal: Word,
    shift: u32,
    /// floor((W^2 - 1) / normal) - W, where W is the number of words.
    reciprocal: Word,
}

impl Divisor {
    const fn of(divisor: Word) -> Self {
        let shift = divisor.leading_zeros();
        let normal = divisor << shift;
        // Without its highest bit, which is that of W.
        let reciprocal = (Double::MAX / normal as Double) as Word;
        Self { normal, shift, reciprocal }
    }

    /// Quotient and remainder of a number of two words, the higher of which is less than the divisor.
    fn divide(&self, high: Word, low: Word) -> (Word, Word) {
        let value = (Double::from(high) << Word::BITS | Double::from(low)) << self.shift;
        let (high, low) = ((value >> Word::BITS) as Word, value as Word);
        let guess = Double::from(self.reciprocal) * Double::from(high) + value;
        let mut quotient = ((guess >> Word::BITS) as Word).wrapping_add(1);
        let mut rest = low.wrapping_sub(quotient.wrapping_mul(self.normal));
        if rest > guess as Word {
            quotient = quotient.wrapping_sub(1);
            rest = rest.wrapping_add(self.normal);
        }
        if rest >= self.normal {
            quotient += 1;
            rest -= self.normal;
        }
        (quotient, rest >> self.shift)
    }
}

/// The codes that may stand on the line, as digits.
#[derive(Debug)]
pub struct Alphabet {
    /// The letter by which a packet tells its alphabet.
    pub(crate) letter: u8,
    size: u32,
    /// What a group of digits counts to.
    group: Divisor,
    block: usize,
    codes: [u8; 256],
    values: [u8; 256],
}

impl Alphabet {
    /// Every code but those of the table. `block` is the largest n for which 256^n <= size^(n+1), or the longest.
    const fn without(letter: u8, table: &PrefixTable, block: usize) -> Self {
        Self::of(letter, table, 256, block)
    }

    /// At most this many of them. A prime number of codes are symbols for error correction.
    const fn of(letter: u8, table: &PrefixTable, most: usize, block: usize) -> Self {
        let (mut codes, mut values, mut size) = ([0; 256], [0; 256], 0);
        let mut code = 0;
        while code < 256 && size < most {
            if !table.contains(code as u8) {
                codes[size] = code as u8;
                values[code] = size as u8;
                size += 1;
            }
            code += 1;
        }
        let group = Divisor::of((size as Word).pow(GROUP as u32));
        Self { letter, size: size as u32, group, block, codes, values }
    }

    /// Bytes of a whole block.
    pub const fn block_len(&self) -> usize {
        self.block
    }

    /// How many codes it has.
    pub(crate) const fn size(&self) -> u32 {
        self.size
    }

    /// Codes become the digits that they stand for. What is no code becomes 0.
    pub(crate) fn to_values(&self, codes: &mut [u8]) {
        for code in codes {
            *code = self.values[usize::from(*code)];
        }
    }

    /// Digits become codes.
    pub(crate) fn to_codes(&self, digits: &mut [u8]) {
        for digit in digits {
            *digit = self.codes[usize::from(*digit)];
        }
    }

    /// How many digits this many bytes take.
    pub(crate) const fn digits(&self, bytes: usize) -> usize {
        bytes + bytes.div_ceil(self.block)
    }

    /// How many bytes fit in this many digits.
    pub(crate) const fn room(&self, digits: usize) -> usize {
        let rest = digits % (self.block + 1);
        digits / (self.block + 1) * self.block + rest.saturating_sub(1)
    }

    /// Writes a block, of at most [`block_len`](Self::block_len) bytes, in one more digits than it has bytes.
    pub fn encode(&self, bytes: &[u8], out: &mut [u8]) {
        let mut limbs: [Word; LIMBS] = [0; LIMBS];
        let count = bytes.len().div_ceil(GROUP).min(LIMBS);
        for (limb, part) in limbs[..count].iter_mut().rev().zip(bytes.rchunks(GROUP)) {
            *limb = part.iter().fold(0, |word, byte| word << 8 | Word::from(*byte));
        }
        let quad = Word::from(self.size.pow(QUAD as u32));
        let mut first = 0;
        for digits in out.rchunks_mut(GROUP * LANES) {
            let mut rests = [0; LANES];
            for limb in &mut limbs[first..count] {
                for rest in &mut rests {
                    (*limb, *rest) = self.group.divide(*rest, *limb);
                }
            }
            while first < count && limbs[first] == 0 {
                first += 1;
            }
            for (digits, mut rest) in digits.rchunks_mut(GROUP).zip(rests) {
                for digits in digits.rchunks_mut(QUAD) {
                    let mut part = (rest % quad) as u32;
                    rest /= quad;
                    for digit in digits.iter_mut().rev() {
                        *digit = self.codes[(part % self.size) as usize];
                        part /= self.size;
                    }
                }
            }
        }
    }

    /// Reads a block of digits; there is one byte less than that. What cannot be such a block gives wrong bytes, and
    /// false.
    pub fn decode(&self, digits: &[u8], out: &mut [u8]) -> bool {
        let mut limbs: [Word; LIMBS] = [0; LIMBS];
        let mut used = 0;
        let mut good = true;
        let odd = digits.len() % GROUP;
        let (head, tail) = digits.split_at(odd);
        for group in
            core::iter::once(head).filter(|head| !head.is_empty()).chain(tail.chunks(GROUP))
        {
            let (mut factor, mut carry): (Word, Word) = (1, 0);
            for digit in group {
                let value = self.values[usize::from(*digit)];
                good &= self.codes[usize::from(value)] == *digit;
                carry = carry * Word::from(self.size) + Word::from(value);
                factor *= Word::from(self.size);
            }
            for limb in &mut limbs[..used] {
                let value = Double::from(*limb) * Double::from(factor) + Double::from(carry);
                *limb = value as Word;
                carry = (value >> Word::BITS) as Word;
            }
            if carry > 0 {
                match limbs.get_mut(used) {
                    Some(limb) => *limb = carry,
                    None => return false,
                }
                used += 1;
            }
        }
        let byte = |index: usize| (limbs[index / GROUP] >> (8 * (index % GROUP))) as u8;
        for (index, to) in out.iter_mut().rev().enumerate() {
            *to = byte(index);
        }
        good && (out.len()..used * GROUP).all(|index| byte(index) == 0)
    }
}

/// Every alphabet, the safest first.
static ALPHABETS: [Alphabet; 14] = [
    Alphabet::without(b'A', &PrefixTable::ALL, 17),
    Alphabet::without(b'C', &PrefixTable::CAUTIOUS, 40),
    Alphabet::without(b'M', &PrefixTable::MINIMAL, 84),
    Alphabet::without(b'T', &PrefixTable::TRIED, 105),
    Alphabet::without(b'N', &PrefixTable::NONE_NETWORK, 173),
    Alphabet::without(b'X', &PrefixTable::CLEAR_TELNET, 232),
    Alphabet::without(b'S', &PrefixTable::NONE_SERIAL, LONGEST_BLOCK),
    Alphabet::of(b'a', &PrefixTable::ALL, 181, 14),
    Alphabet::of(b'c', &PrefixTable::CAUTIOUS, 223, 39),
    Alphabet::of(b'm', &PrefixTable::MINIMAL, 239, 79),
    Alphabet::of(b't', &PrefixTable::TRIED, 241, 90),
    Alphabet::of(b'n', &PrefixTable::NONE_NETWORK, 241, 90),
    Alphabet::of(b'x', &PrefixTable::CLEAR_TELNET, 241, 90),
    Alphabet::of(b's', &PrefixTable::NONE_SERIAL, 251, LONGEST_BLOCK),
];

/// The one for headers of packets with error correction.
pub(crate) fn careful_prime() -> &'static Alphabet {
    &ALPHABETS[8]
}

/// The alphabet with this letter.
pub fn alphabet(letter: u8) -> Option<&'static Alphabet> {
    ALPHABETS.iter().find(|alphabet| alphabet.letter == letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether 256^n <= size^(n+1), exactly: the largest block of `n` bytes can be written.
    fn fits(size: u64, n: usize) -> bool {
        let mut power = [0u32; 80];
        power[0] = 1;
        for _ in 0..=n {
            let mut carry = 0;
            for limb in &mut power {
                let value = u64::from(*limb) * size + carry;
                *limb = value as u32;
                carry = value >> 32;
            }
        }
        let bit = n * 8;
        power[bit / 32] >> (bit % 32) > 0 || power[bit / 32 + 1..].iter().any(|limb| *limb > 0)
    }

    #[test]
    fn blocks_are_as_long_as_they_can_be() {
        for alphabet in &ALPHABETS {
            let size = u64::from(alphabet.size);
            assert!(fits(size, alphabet.block), "{size}");
            let longer = fits(size, alphabet.block + 1);
            assert_eq!(longer, alphabet.block == LONGEST_BLOCK, "{}", alphabet.size);
        }
    }

    #[test]
    fn a_division_is_exact() {
        for alphabet in &ALPHABETS {
            let divisor = Word::from(alphabet.size).pow(GROUP as u32);
            let ends = [0, 1, 2, divisor / 2, divisor - 2, divisor - 1];
            let lows =
                [0, 1, divisor - 1, divisor, divisor + 1, Word::MAX / 2, Word::MAX - 1, Word::MAX];
            for high in ends {
                for low in lows {
                    let value = Double::from(high) << Word::BITS | Double::from(low);
                    let exact = (value / Double::from(divisor), value % Double::from(divisor));
                    let (quotient, rest) = alphabet.group.divide(high, low);
                    assert_eq!((quotient.into(), rest.into()), exact, "{high} {low} {divisor}");
                }
            }
        }
    }

    #[test]
    fn every_length_comes_back_and_no_code_is_used_that_must_not_be() {
        for alphabet in &ALPHABETS {
            for len in 0..=alphabet.block {
                for seed in [0u8, 1, 77, 255] {
                    let mut bytes = [0; LONGEST_BLOCK];
                    for (at, byte) in bytes[..len].iter_mut().enumerate() {
                        *byte = match seed {
                            0 | 255 => seed,
                            _ => (at as u8).wrapping_mul(seed).wrapping_add(seed ^ len as u8),
                        };
                    }
                    let (mut digits, mut back) = ([0; LONGEST_BLOCK + 1], [0; LONGEST_BLOCK]);
                    alphabet.encode(&bytes[..len], &mut digits[..=len]);
                    assert!(digits[..=len].iter().all(|digit| {
                        alphabet.codes[usize::from(alphabet.values[usize::from(*digit)])] == *digit
                    }));
                    assert!(alphabet.decode(&digits[..=len], &mut back[..len]));
                    assert_eq!(back[..len], bytes[..len], "{len} {seed}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_block_is_told() {
        let tried = alphabet(b'T').expect("it is in the list");
        let mut back = [0; 4];
        assert!(!tried.decode(&[1, 2, 4, 5, 6], &mut back), "MARK is no digit");
        assert!(!tried.decode(&[254; 5], &mut back), "more than four bytes");
    }
}
