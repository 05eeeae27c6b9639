//! Texts in 8-bit character sets.

use super::frequent;
use crate::random::Random;

/// Russian in KOI8-R: letters have codes from 192 on, blanks and punctuation are ASCII. Lines end
/// with CR LF, as on a PC. Words are as long as four of five characters being letters needs.
pub(super) fn russian(random: &mut Random, len: usize) -> Vec<u8> {
    // The order of the letters by frequency: o e a i n t s r v l k m d p u ...
    const LETTERS: &[u8] = &[
        0xCF, 0xC5, 0xC1, 0xC9, 0xCE, 0xD4, 0xD3, 0xD2, 0xD7, 0xCC, 0xCB, 0xCD, 0xC4, 0xD0, 0xD5,
        0xD1, 0xD9, 0xD8, 0xC7, 0xDA, 0xC2, 0xDE, 0xCA, 0xC8, 0xD6, 0xDB, 0xC0, 0xC3, 0xDD, 0xDC,
        0xC6, 0xDF,
    ];
    let word = |random: &mut Random, text: &mut Vec<u8>| {
        let letters = random.between(1, 4) + random.between(0, 6);
        for index in 0..letters {
            let letter = LETTERS[frequent(random, LETTERS.len(), 2)];
            // A capital is 32 above its small letter.
            let capital = index == 0 && random.one_in(9);
            text.push(if capital { letter + 32 } else { letter });
        }
        if random.one_in(8) {
            text.push(random.pick(b",.;:-"));
        }
    };
    wrapped(random, len, 68, b" ", word)
}

/// Japanese in EUC: two bytes of 161 and more for each character, a line end after each 36 of
/// them, and no blanks.
pub(super) fn japanese(random: &mut Random, len: usize) -> Vec<u8> {
    let character = |random: &mut Random, text: &mut Vec<u8>| {
        let pair = match random.below(100) {
            // Hiragana, the more frequent ones first.
            0..52 => [0xA4, 0xA4 + frequent(random, 78, 2) as u8],
            52..62 => [0xA5, 0xA1 + frequent(random, 86, 2) as u8],
            62..70 => [0xA1, random.pick(&[0xA2, 0xA3, 0xBC, 0xD6, 0xD7])],
            _ => [0xB0 + frequent(random, 32, 2) as u8, 0xA1 + random.below(94) as u8],
        };
        text.extend_from_slice(&pair);
    };
    wrapped(random, len, 72, b"", character)
}

/// Pieces with something between them, in lines of about this width.
fn wrapped(
    random: &mut Random,
    len: usize,
    width: usize,
    between: &[u8],
    piece: impl Fn(&mut Random, &mut Vec<u8>),
) -> Vec<u8> {
    let mut text = Vec::with_capacity(len + width);
    let mut line_start = 0;
    while text.len() < len {
        piece(random, &mut text);
        if text.len() - line_start >= width {
            text.extend_from_slice(b"\r\n");
            line_start = text.len();
        } else {
            text.extend_from_slice(between);
        }
    }
    text.truncate(len - 2);
    text.extend_from_slice(b"\r\n");
    text
}
