//! The form of a packet with error correction.
//!
//! The body's symbols are dealt out to code words in turn, so that a burst of errors hits each of them a little.

use super::reed_solomon::{Code, Field};
use super::{MOST_PARITY, PARITIES};
use crate::crc::{crc32, crc32_update};
use crate::kermit::bundle::radix::{Alphabet, LONGEST_BLOCK, alphabet, careful_prime};
use crate::kermit::reason::BadPacket;

/// Characters of a header.
pub(crate) const HEADER: usize = SYNC.len() + SYMBOLS;
/// Characters that are the same in each header, and where they stand: so far apart that a burst hits one of them. Of a
/// header that can be corrected one is there, and where none is nothing has to be computed.
const SYNC: [(usize, u8); 3] = [(0, 0xB5), (11, 0xDA), (22, 0xCB)];
/// The first of a header.
pub(crate) const FIRST: u8 = SYNC[0].1;
/// The others: those that say something, and parity.
const SYMBOLS: usize = INFO + HEADER_PARITY;
const INFO: usize = 4;
/// With this many, a burst of eight characters is corrected wherever it is, and no noise is taken for a header.
const HEADER_PARITY: usize = 16;
/// Symbols of the check.
const CHECK: usize = 5;
/// The letters of the alphabets, by their number in a header.
const LETTERS: [u8; 7] = *b"acmtnxs";
/// Numbers of parities in a header.
const FORMS: u32 = 16;
/// Symbols of the longest code word.
const WORD: usize = 250;

/// What a header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    /// The letter of the alphabet.
    letter: u8,
    /// Parity symbols of a code word.
    parity: usize,
    /// The packet's number, modulo 64.
    pub(crate) seq: u8,
    /// Symbols of the body before parity.
    len: usize,
}

/// A corrected packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Corrected {
    /// Length of the data field.
    pub(crate) len: usize,
    /// The most wrong symbols in one code word.
    pub(crate) worst: usize,
}

fn header_code() -> (&'static Alphabet, Code) {
    let alphabet = careful_prime();
    (alphabet, Code::new(Field::of(alphabet.size()), HEADER_PARITY))
}

impl Header {
    /// How many code words there are.
    fn words(self) -> usize {
        let Some(alphabet) = alphabet(self.letter) else { return 1 };
        let most = alphabet.size() as usize - 1 - self.parity;
        self.len.div_ceil(most).max(1)
    }

    /// Length of the body.
    pub(crate) fn body_len(self) -> usize {
        self.len + self.words() * self.parity
    }

    /// The symbols that say it. The first is never 0: shifted by one, a header is none.
    fn info(self) -> [u8; INFO] {
        let place = |list: &[u8], of: u8| list.iter().position(|item| *item == of).unwrap_or(0);
        let form =
            1 + place(&LETTERS, self.letter) * FORMS as usize + place(&PARITIES, self.parity as u8);
        let base = careful_prime().size() as usize;
        [form as u8, self.seq, (self.len / base) as u8, (self.len % base) as u8]
    }

    /// Reads characters that may be a header. `None` if they are none.
    pub(crate) fn read(characters: &[u8; HEADER]) -> Option<Self> {
        if SYNC.iter().all(|(at, sync)| characters[*at] != *sync) {
            return None;
        }
        let (alphabet, code) = header_code();
        let mut word = [0; SYMBOLS];
        word[..10].copy_from_slice(&characters[1..11]);
        word[10..].copy_from_slice(&characters[12..22]);
        alphabet.to_values(&mut word);
        code.correct(&mut word)?;
        let form = u32::from(word[0]).checked_sub(1)?;
        let letter = *LETTERS.get((form / FORMS) as usize)?;
        let parity = usize::from(*PARITIES.get((form % FORMS) as usize)?);
        let len = usize::from(word[2]) * alphabet.size() as usize + usize::from(word[3]);
        let is_possible = word[1] < 64 && len > CHECK + 1;
        is_possible.then_some(Self { letter, parity, seq: word[1], len })
    }

    fn write(self, out: &mut [u8]) {
        let (alphabet, code) = header_code();
        let mut parity = [0; HEADER_PARITY];
        let mut word = [0; SYMBOLS];
        word[..INFO].copy_from_slice(&self.info());
        for symbol in &word[..INFO] {
            code.add(&mut parity, *symbol);
        }
        for (symbol, value) in word[INFO..].iter_mut().zip(parity) {
            *symbol = value as u8;
        }
        alphabet.to_codes(&mut word);
        out[1..11].copy_from_slice(&word[..10]);
        out[12..22].copy_from_slice(&word[10..]);
        for (at, sync) in SYNC {
            out[at] = sync;
        }
    }

    /// The check of a body: over what the header says and its digits.
    fn check(self, digits: &[u8], base: u32) -> [u8; CHECK] {
        let mut rest = crc32_update(crc32(&self.info()), digits);
        let mut check = [0; CHECK];
        for symbol in check.iter_mut().rev() {
            *symbol = (rest % base) as u8;
            rest /= base;
        }
        check
    }
}

/// How a packet is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    /// The letter of the alphabet: one of those with a prime number of codes.
    pub(crate) letter: u8,
    /// Parity symbols of a code word.
    pub(crate) parity: usize,
}

impl Form {
    /// Of a packet of this length, the characters that are there to correct it: parity of the header and of the body,
    /// whose code words are as long as they can be.
    pub(crate) fn parity_of(self, len: usize) -> usize {
        let longest = alphabet(self.letter).map_or(1, |alphabet| alphabet.size() as usize - 1);
        HEADER_PARITY + len.saturating_sub(HEADER).div_ceil(longest) * self.parity
    }
}

/// Writes the packet with this data field; returns its length. `None` if it does not fit, or the data field has no
/// alphabet.
pub(crate) fn write(data: &[u8], seq: u8, form: Form, out: &mut [u8]) -> Option<usize> {
    let (from, to) = (alphabet(*data.first()?)?, alphabet(form.letter)?);
    let parity = form.parity;
    let bytes = from.room(data.len() - 1);
    let len = to.digits(bytes) + CHECK;
    let header = Header { letter: to.letter, parity, seq, len };
    let out = out.get_mut(..HEADER + header.body_len())?;
    let (head, body) = out.split_at_mut(HEADER);
    header.write(head);
    recode(from, &data[1..], to, &mut body[..len - CHECK]);
    to.to_values(&mut body[..len - CHECK]);
    let check = header.check(&body[..len - CHECK], to.size());
    body[len - CHECK..len].copy_from_slice(&check);
    let (symbols, rest) = body.split_at_mut(len);
    let (code, words) = (Code::new(Field::of(to.size()), parity), header.words());
    for word in 0..words {
        let mut values = [0; MOST_PARITY];
        for symbol in symbols[word..].iter().step_by(words) {
            code.add(&mut values[..parity], *symbol);
        }
        for (symbol, value) in rest[word..].iter_mut().step_by(words).zip(values) {
            *symbol = value as u8;
        }
    }
    to.to_codes(body);
    Some(out.len())
}

/// Corrects a body, in `memory[1..]`, and makes it the data field that `memory` begins with.
pub(crate) fn read(header: Header, memory: &mut [u8]) -> Result<Corrected, BadPacket> {
    let alphabet = alphabet(header.letter).ok_or(BadPacket::Correction)?;
    let body = memory.get_mut(1..=header.body_len()).ok_or(BadPacket::Buffer)?;
    alphabet.to_values(body);
    let (code, words) = (Code::new(Field::of(alphabet.size()), header.parity), header.words());
    let (symbols, rest) = body.split_at_mut(header.len);
    let mut worst = 0;
    for word in 0..words {
        let mut gathered = [0; WORD];
        let mut len = 0;
        let all = symbols[word..].iter().step_by(words).chain(rest[word..].iter().step_by(words));
        for (to, symbol) in gathered.iter_mut().zip(all) {
            *to = *symbol;
            len += 1;
        }
        let wrong = code.correct(&mut gathered[..len]).ok_or(BadPacket::Correction)?;
        worst = worst.max(wrong);
        for (symbol, from) in symbols[word..].iter_mut().step_by(words).zip(gathered) {
            *symbol = from;
        }
    }
    let (digits, check) = symbols.split_at_mut(header.len - CHECK);
    if header.check(digits, alphabet.size()) != *check {
        return Err(BadPacket::Check);
    }
    alphabet.to_codes(digits);
    memory[0] = header.letter;
    Ok(Corrected { len: 1 + header.len - CHECK, worst })
}

/// Writes digits of one alphabet as those of another.
fn recode(from: &Alphabet, mut digits: &[u8], to: &Alphabet, mut out: &mut [u8]) {
    let mut bytes = [0; 2 * LONGEST_BLOCK];
    let mut held = 0;
    while !digits.is_empty() || held > 0 {
        if held < to.block_len() && !digits.is_empty() {
            let (block, rest) = digits.split_at(digits.len().min(from.block_len() + 1));
            digits = rest;
            let len = block.len() - 1;
            from.decode(block, &mut bytes[held..held + len]);
            held += len;
            continue;
        }
        let len = held.min(to.block_len());
        let (block, rest) = out.split_at_mut(out.len().min(len + 1));
        to.encode(&bytes[..len], block);
        out = rest;
        bytes.copy_within(len..held, 0);
        held -= len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(letter: u8, parity: usize) -> Form {
        Form { letter: letter.to_ascii_lowercase(), parity }
    }

    /// A data field of this alphabet for bytes that look random.
    fn field(letter: u8, len: usize, out: &mut [u8]) -> usize {
        let alphabet = alphabet(letter).expect("a letter of the list");
        out[0] = letter;
        let mut at = 1;
        for block in wetstring_testkit::pattern(len).chunks(alphabet.block_len()) {
            alphabet.encode(block, &mut out[at..=at + block.len()]);
            at += block.len() + 1;
        }
        at
    }

    /// The bytes of a data field.
    fn bytes(data: &[u8], out: &mut [u8]) -> usize {
        let alphabet = alphabet(data[0]).expect("a letter of the list");
        let mut at = 0;
        for block in data[1..].chunks(alphabet.block_len() + 1) {
            assert!(alphabet.decode(block, &mut out[at..at + block.len() - 1]));
            at += block.len() - 1;
        }
        at
    }

    #[test]
    fn a_burst_is_corrected_wherever_it_is() {
        for letter in *b"ACMTNXS" {
            for len in [1, 16, 230, 1000, 5000] {
                let (mut data, mut sent) = ([0; 6000], [0; 8000]);
                let data_len = field(letter, len, &mut data);
                let total =
                    write(&data[..data_len], 63, form(letter, 16), &mut sent).expect("room enough");
                let (mut before, mut after) = ([0; 6000], [0; 6000]);
                let all = bytes(&data[..data_len], &mut before);
                let step = total / 40 + 1;
                for start in (0..total.saturating_sub(8)).step_by(step) {
                    let mut came = sent;
                    for character in &mut came[start..start + 8] {
                        *character = character.wrapping_add(77);
                    }
                    let head: &[u8; HEADER] =
                        came[..HEADER].try_into().expect("the length of a header");
                    let header = Header::read(head).expect("a header");
                    assert_eq!((header.seq, HEADER + header.body_len()), (63, total));
                    let parity = HEADER_PARITY + header.words() * 16;
                    assert_eq!(form(letter, 16).parity_of(total), parity, "{letter} {len}");
                    let mut memory = [0; 8000];
                    memory[1..=total - HEADER].copy_from_slice(&came[HEADER..total]);
                    let corrected = read(header, &mut memory).expect("few enough errors");
                    assert_eq!(bytes(&memory[..corrected.len], &mut after), all);
                    assert_eq!(before, after, "{letter} {len} {start}");
                }
            }
        }
    }

    #[test]
    fn packets_are_those_of_another_program() {
        let mut seen = 0;
        for [letter, data, packet] in wetstring_testkit::vectors("correction") {
            let letter = letter[0];
            let mut sent = [0; 200];
            let parity = if letter == b'a' { 4 } else { 2 };
            let total = write(&data, 7, Form { letter, parity }, &mut sent).expect("room enough");
            assert_eq!(sent[..total], packet[..], "{}", char::from(letter));
            let head: &[u8; HEADER] = packet[..HEADER].try_into().expect("a header's length");
            let header = Header::read(head).expect("a header");
            let wanted = (letter, parity, 7, HEADER + header.body_len());
            assert_eq!((header.letter, header.parity, header.seq, packet.len()), wanted);
            seen += 1;
        }
        assert_eq!(seen, 2);
    }

    #[test]
    fn too_many_errors_are_told() {
        let (mut data, mut sent) = ([0; 2000], [0; 3000]);
        let data_len = field(b'T', 1000, &mut data);
        let total = write(&data[..data_len], 5, form(b'T', 2), &mut sent).expect("room enough");
        let mut refused = 0;
        for errors in 3..200 {
            let mut memory = [0; 3000];
            memory[1..=total - HEADER].copy_from_slice(&sent[HEADER..total]);
            for error in 0..errors {
                memory[1 + (error * 7 + errors) % (total - HEADER)] ^= 0x55;
            }
            let head: &[u8; HEADER] = sent[..HEADER].try_into().expect("the length of a header");
            let header = Header::read(head).expect("a header");
            match read(header, &mut memory) {
                Err(_) => refused += 1,
                Ok(corrected) => {
                    let (mut before, mut after) = ([0; 2000], [0; 2000]);
                    bytes(&data[..data_len], &mut before);
                    bytes(&memory[..corrected.len], &mut after);
                    assert_eq!(before, after);
                }
            }
        }
        assert!(refused > 180, "{refused}");
    }

    #[test]
    fn a_shifted_header_is_none() {
        let (mut data, mut sent) = ([0; 200], [0; 400]);
        for seq in 0..64 {
            let data_len = field(b'T', 60 + usize::from(seq), &mut data);
            let total =
                write(&data[..data_len], seq, form(b'T', 4), &mut sent).expect("room enough");
            for start in 1..total - HEADER {
                let part: &[u8; HEADER] =
                    sent[start..start + HEADER].try_into().expect("the length of a header");
                assert_eq!(Header::read(part), None, "{seq} {start}");
            }
        }
    }
}
