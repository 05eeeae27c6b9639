//! Reed-Solomon codes over a prime field, so that parity symbols, like all others, are codes that may stand on the line.
//!
//! A code word has its data first and then `parity` symbols; half as many symbols may be wrong (Reed and Solomon 1960;
//! decoding after Berlekamp and Massey, Chien, and Forney).

use super::MOST_PARITY;

/// Most wrong symbols that can be found, and one.
const ROOM: usize = MOST_PARITY + 1;

/// The integers modulo a prime below 256.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field {
    prime: u32,
    /// Its powers are all symbols but 0.
    root: u32,
}

impl Field {
    /// The field of this size, which is one of the primes of the alphabets.
    pub(super) const fn of(prime: u32) -> Self {
        let root = match prime {
            181 => 2,
            223 => 3,
            251 => 6,
            // 239 and 241
            _ => 7,
        };
        Self { prime, root }
    }

    fn times(self, a: u32, b: u32) -> u32 {
        a * b % self.prime
    }

    fn minus(self, a: u32, b: u32) -> u32 {
        (a + self.prime - b) % self.prime
    }

    fn power(self, mut base: u32, mut exponent: u32) -> u32 {
        let mut product = 1;
        while exponent > 0 {
            if exponent & 1 == 1 {
                product = self.times(product, base);
            }
            base = self.times(base, base);
            exponent >>= 1;
        }
        product
    }

    fn inverse(self, a: u32) -> u32 {
        self.power(a, self.prime - 2)
    }

    /// The value of a polynomial, the lowest coefficient first.
    fn at(self, polynomial: &[u32], x: u32) -> u32 {
        polynomial.iter().rev().fold(0, |value, term| (value * x + term) % self.prime)
    }
}

/// Code words with this number of parity symbols.
#[derive(Clone, Debug)]
pub(super) struct Code {
    field: Field,
    parity: usize,
    /// Its roots are those of every code word. The highest coefficient, which is 1, is left out; the next comes first.
    generator: [u32; MOST_PARITY],
}

impl Code {
    pub(super) fn new(field: Field, parity: usize) -> Self {
        let parity = parity.min(MOST_PARITY);
        let mut generator = [0; MOST_PARITY];
        let mut root = 1;
        for degree in 0..parity {
            root = field.times(root, field.root);
            // Times x - root: term i becomes term i - root * term i-1, counted from the highest.
            for term in (0..=degree).rev() {
                let above = if term == 0 { 1 } else { generator[term - 1] };
                generator[term] = field.minus(generator[term], field.times(root, above));
            }
        }
        Self { field, parity, generator }
    }

    /// Takes another data symbol into the parity symbols, which begin as zeros. After the last one they are those that
    /// follow the data.
    pub(super) fn add(&self, parity: &mut [u32], symbol: u8) {
        let (field, last) = (self.field, self.parity - 1);
        // What the remainder becomes is the negative of these symbols.
        let factor = field.minus(parity[0], u32::from(symbol));
        for term in 0..last {
            parity[term] = field.minus(parity[term + 1], field.times(factor, self.generator[term]));
        }
        parity[last] = field.minus(0, field.times(factor, self.generator[last]));
    }

    /// Corrects a code word in place; how many symbols were wrong. `None` if they are more than can be found: it is
    /// unchanged.
    pub(super) fn correct(&self, word: &mut [u8]) -> Option<usize> {
        let mut syndromes = [0; MOST_PARITY];
        if !self.syndromes(word, &mut syndromes) {
            return Some(0);
        }
        let syndromes = &syndromes[..self.parity];
        let (locator, count) = self.locator(syndromes)?;
        let field = self.field;
        let mut evaluator = [0; ROOM];
        for (term, value) in evaluator[..count].iter_mut().enumerate() {
            *value = (0..=term)
                .fold(0, |sum, at| (sum + syndromes[term - at] * locator[at]) % field.prime);
        }
        let mut slope = [0; ROOM];
        for term in 1..=count {
            slope[term - 1] = field.times(locator[term], term as u32);
        }
        let (mut places, mut found) = ([(0, 0); ROOM], 0);
        let step = field.inverse(field.root);
        // The inverse of the power of the root that belongs to the last symbol, and to each before it.
        let mut x = 1;
        for place in (0..word.len()).rev() {
            if field.at(&locator[..=count], x) == 0 {
                let slope = field.at(&slope[..count], x);
                let value = field.at(&evaluator[..count], x);
                places[found] = (place, field.times(value, field.inverse(slope)));
                found += 1;
            }
            x = field.times(x, step);
        }
        if found != count {
            return None;
        }
        for (place, wrong) in &places[..found] {
            word[*place] = ((u32::from(word[*place]) + wrong) % field.prime) as u8;
        }
        Some(found)
    }

    /// The values of the word at the roots of the generator; whether one is not zero.
    fn syndromes(&self, word: &[u8], syndromes: &mut [u32; MOST_PARITY]) -> bool {
        let prime = self.field.prime;
        let (mut root, mut wrong) = (1, 0);
        for syndrome in &mut syndromes[..self.parity] {
            root = self.field.times(root, self.field.root);
            *syndrome =
                word.iter().fold(0, |sum, symbol| (sum * root + u32::from(*symbol)) % prime);
            wrong |= *syndrome;
        }
        wrong != 0
    }

    /// The polynomial whose roots are the inverses of the places of the wrong symbols, and how many they are
    /// (Berlekamp and Massey).
    fn locator(&self, syndromes: &[u32]) -> Option<([u32; ROOM], usize)> {
        let field = self.field;
        let (mut locator, mut before) = ([0; ROOM], [0; ROOM]);
        locator[0] = 1;
        before[0] = 1;
        let (mut count, mut shift, mut divisor) = (0, 1, 1);
        for at in 0..syndromes.len() {
            let differs = (0..=count.min(at))
                .fold(0, |sum, term| (sum + locator[term] * syndromes[at - term]) % field.prime);
            if differs == 0 {
                shift += 1;
                continue;
            }
            let factor = field.times(differs, field.inverse(divisor));
            let kept = locator;
            for term in shift..ROOM {
                let less = field.times(factor, before[term - shift]);
                locator[term] = field.minus(locator[term], less);
            }
            if 2 * count <= at {
                count = at + 1 - count;
                before = kept;
                divisor = differs;
                shift = 1;
            } else {
                shift += 1;
            }
        }
        (2 * count <= self.parity).then_some((locator, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_testkit::Dice;

    const PRIMES: [u32; 5] = [181, 223, 239, 241, 251];

    #[test]
    fn powers_of_the_root_are_all_symbols() {
        for prime in PRIMES {
            let field = Field::of(prime);
            let mut seen = [false; 256];
            for exponent in 0..prime - 1 {
                seen[field.power(field.root, exponent) as usize] = true;
            }
            assert_eq!(seen.iter().filter(|seen| **seen).count(), prime as usize - 1, "{prime}");
        }
    }

    fn word(code: &Code, len: usize, dice: &mut Dice) -> [u8; 256] {
        let mut word = [0; 256];
        let mut parity = [0; MOST_PARITY];
        for symbol in &mut word[..len - code.parity] {
            *symbol = dice.below(code.field.prime.into()) as u8;
            code.add(&mut parity[..code.parity], *symbol);
        }
        for (symbol, value) in word[len - code.parity..len].iter_mut().zip(parity) {
            *symbol = value as u8;
        }
        word
    }

    #[test]
    fn half_as_many_wrong_symbols_are_corrected_as_there_are_parity_symbols() {
        let mut dice = Dice(1);
        for prime in PRIMES {
            for parity in [2, 6, 16, MOST_PARITY] {
                let code = Code::new(Field::of(prime), parity);
                for len in [parity + 1, 100.max(parity + 1), prime as usize - 1] {
                    for wrong in 0..=(parity / 2).min(len) {
                        let sent = word(&code, len, &mut dice);
                        let mut came = sent;
                        let mut left = wrong;
                        while left > 0 {
                            let place = dice.roll(len);
                            if came[place] == sent[place] {
                                let by = 1 + dice.below(u64::from(prime) - 1) as u32;
                                came[place] = ((u32::from(sent[place]) + by) % prime) as u8;
                                left -= 1;
                            }
                        }
                        assert_eq!(code.correct(&mut came[..len]), Some(wrong));
                        assert_eq!(came, sent, "{prime} {parity} {len} {wrong}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_has_more_of_them_is_hardly_ever_taken_for_something_else() {
        let (mut dice, mut taken) = (Dice(2), 0);
        let code = Code::new(Field::of(223), 16);
        for _ in 0..2000 {
            let mut came = [0; 20];
            came.fill_with(|| dice.below(223) as u8);
            taken += usize::from(code.correct(&mut came).is_some());
        }
        assert_eq!(taken, 0);
    }
}
