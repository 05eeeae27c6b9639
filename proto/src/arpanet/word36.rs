//! Words of 36 bits, as the machines had them, and the octets that carry them.
//!
//! ```text
//! wire, image    word 0 (36) word 1 (36)                  9 octets, most significant bit first
//! nine           |0 octet |0 octet |0 octet |0 octet |    Multics, four characters of 9 bits
//! eight          | octet | octet | octet | octet | 0000|  four of 8 bits, to the left
//! seven          |char|char|char|char|char|0|             PDP-10, five characters of 7 bits
//! ```
//!
//! A word is the low 36 bits of a `u64`. What an image-mode transfer with bytes of 36 bits carries is the words'
//! bits one after the other; the end of a file of octets is filled with zeros to a whole word.

/// Bits of a word.
pub const BITS: usize = 36;
/// The bits that a word has.
pub const MASK: u64 = (1 << BITS) - 1;

/// Octets that carry N words: two words in nine octets.
pub const fn octets(words: usize) -> usize {
    words / 2 * 9 + words % 2 * 5
}

/// Words that N octets fill, the last perhaps in part.
pub const fn words(octets: usize) -> usize {
    octets / 9 * 2
        + match octets % 9 {
            0 => 0,
            1..=4 => 1,
            _ => 2,
        }
}

/// Puts words one after the other into octets, and says how many octets that were: half an octet at the end is
/// filled with zeros. As many words as there is room for.
pub fn pack(words: &[u64], into: &mut [u8]) -> usize {
    let mut at = 0;
    for (pair, nine) in words.chunks_exact(2).zip(into.chunks_exact_mut(9)) {
        let (first, second) = (pair[0] & MASK, pair[1] & MASK);
        nine[..8].copy_from_slice(&(first << 28 | second >> 8).to_be_bytes());
        nine[8] = second as u8;
        at += 9;
    }
    if words.len() % 2 == 1
        && at == words.len() / 2 * 9
        && let Some(room) = into.get_mut(at..at + 5)
    {
        let last = words[words.len() - 1] & MASK;
        room.copy_from_slice(&(last << 28).to_be_bytes()[..5]);
        at += 5;
    }
    at
}

/// Takes words out of octets, and says how many: what the octets do not fill of the last one is zeros. As many words
/// as there is room for.
pub fn unpack(octets: &[u8], into: &mut [u64]) -> usize {
    let (nines, rest) = octets.as_chunks::<9>();
    let mut count = 0;
    for (nine, room) in nines.iter().zip(into.chunks_exact_mut(2)) {
        room.copy_from_slice(&pair(nine));
        count += 2;
    }
    // Room for one word of a pair, or octets for less than one.
    let rest = nines.get(count / 2).map_or(rest, |nine| &nine[..]);
    let mut nine = [0; 9];
    nine[..rest.len()].copy_from_slice(rest);
    for (word, room) in pair(&nine).iter().take(words(rest.len())).zip(&mut into[count..]) {
        *room = *word;
        count += 1;
    }
    count
}

/// The two words of nine octets.
fn pair(nine: &[u8; 9]) -> [u64; 2] {
    let eight = nine.first_chunk().map_or(0, |eight| u64::from_be_bytes(*eight));
    [eight >> 28, (eight << 8 | u64::from(nine[8])) & MASK]
}

/// How a machine keeps characters in its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// Four characters of 9 bits (Multics).
    Nine,
    /// Four octets, and four bits to spare at the right (TENEX for octets of the net).
    Eight,
    /// Five characters of 7 bits, and one bit to spare at the right (PDP-10).
    Seven,
}

impl Packing {
    /// Characters in a word.
    pub const fn count(self) -> usize {
        match self {
            Self::Nine | Self::Eight => 4,
            Self::Seven => 5,
        }
    }

    const fn width(self) -> usize {
        match self {
            Self::Nine => 9,
            Self::Eight => 8,
            Self::Seven => 7,
        }
    }

    /// A word with these characters, the first to the left; what is missing is zeros. `None` if there are more than
    /// fit, or one has more bits than it may.
    pub fn word(self, characters: &[u8]) -> Option<u64> {
        let fits = |octet: &u8| u32::from(*octet) < 1 << self.width();
        if characters.len() > self.count() || !characters.iter().all(fits) {
            return None;
        }
        let place = |index: usize| BITS - (index + 1) * self.width();
        Some(
            characters
                .iter()
                .enumerate()
                .fold(0, |word, (index, c)| word | u64::from(*c) << place(index)),
        )
    }

    /// The characters of a word, the first [`Packing::count`] of the array; `None` if there are bits in it that a
    /// file of octets has no place for.
    pub fn characters(self, word: u64) -> Option<[u8; 5]> {
        let mut characters = [0; 5];
        for (index, character) in characters.iter_mut().take(self.count()).enumerate() {
            let shift = BITS - (index + 1) * self.width();
            *character = (word >> shift & ((1 << self.width()) - 1)) as u8;
        }
        (self.word(&characters[..self.count()]) == Some(word)).then_some(characters)
    }
}
