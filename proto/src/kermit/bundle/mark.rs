//! What a receiver says of files, in the data field of an acknowledgement.
//!
//! ```text
//! file letter [argument]     file letter [argument] ...
//! ```
//!
//! `file` is the number of the file in its session, modulo 94, as a printable character. Nothing is said of a file
//! that is accepted from its beginning, and nothing of one that is stored, if it was compared where the sender gave a
//! digest. Nothing is said in answer to a question, either, if no block that it was about is there.

use super::ASKED_ROOM;
use crate::kermit::attributes::format_decimal;
use crate::kermit::check::{tochar, unchar};

/// One mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// Refused, with the tag of the reason.
    Refused(u8),
    /// Accepted, and this much is there already.
    Resumed(u64),
    /// The receiver's user does not want it.
    Cancelled,
    /// Nor any that follows.
    AllCancelled,
    /// It is stored, but could not be compared.
    Unproved,
    /// An older version is there.
    Older,
    /// Which blocks of the packet's question are in it; in each byte the lowest bit is the first.
    Found([u8; ASKED_ROOM]),
}

/// The longest entry.
pub(crate) const LONGEST: usize = 3 + SIXES;
/// Characters of bits.
const SIXES: usize = 40;

/// The only mark for a packet that is kept until its turn comes; it is acknowledged again when it is done.
pub(crate) const KEPT: &[u8] = b"+";

/// The only mark for a packet to be sent again because characters were lost or added, where errors can be corrected.
pub(crate) const MISPLACED: &[u8] = b"-";

/// Before all else that is said: the number after it, of packets before this one of which nothing was said, are
/// acknowledged, too, even if their own acknowledgements are lost.
pub(crate) const ALSO: u8 = b'=';
/// Before what is said of files: the number after it is the most wrong characters that a code word of the packet had
/// (the module `correction`).
pub(crate) const ERRORS: u8 = b'!';
/// The most that either says, so that no mark begins like it: these letters stand for more.
const MOST: u8 = 30;

/// The number after one of these characters, and the rest.
pub(crate) fn count(what: u8, data: &[u8]) -> Option<(u8, &[u8])> {
    let [first, count, rest @ ..] = data else { return None };
    (*first == what && unchar(*count) <= MOST).then(|| (unchar(*count), rest))
}

/// The rest of the mark for a kept packet.
pub(crate) fn kept(data: &[u8]) -> Option<&[u8]> {
    let rest = data.strip_prefix(KEPT)?;
    (rest.is_empty() || count(ERRORS, rest).is_some_and(|(_, rest)| rest.is_empty()))
        .then_some(rest)
}

/// Room for an acknowledgement's data.
pub(crate) const ANSWER: usize = ROOM + 4;

/// Room for the marks about the files of one packet.
pub(crate) const ROOM: usize = if super::IS_BUILT { 86 } else { 1 };

/// The character of a file's number.
pub(crate) fn name_of(number: u64) -> u8 {
    tochar((number % 94) as u8)
}

impl Mark {
    /// Writes it; returns the length, 0 if there is no room.
    pub(crate) fn put(self, number: u64, out: &mut [u8]) -> usize {
        let mut text = [0; LONGEST];
        text[0] = name_of(number);
        let len = match self {
            Self::Refused(tag) => {
                text[1..3].copy_from_slice(&[b'N', tag]);
                3
            }
            Self::Resumed(offset) => {
                let mut digits = [0; 20];
                let digits = format_decimal(offset, &mut digits);
                text[1..3].copy_from_slice(&[b'R', tochar(digits.len() as u8)]);
                text[3..3 + digits.len()].copy_from_slice(digits);
                3 + digits.len()
            }
            Self::Cancelled => {
                text[1] = b'X';
                2
            }
            Self::AllCancelled => {
                text[1] = b'Q';
                2
            }
            Self::Unproved => {
                text[1] = b'U';
                2
            }
            Self::Older => {
                text[1] = b'O';
                2
            }
            Self::Found(bits) => {
                let mut len = 0;
                for (index, text) in text[3..].iter_mut().enumerate() {
                    let six = (0..6).map(|bit| bit_of(&bits, 6 * index + bit) << bit).sum();
                    *text = tochar(six);
                    len = if six > 0 { index + 1 } else { len };
                }
                text[1..3].copy_from_slice(&[b'H', tochar(len as u8)]);
                3 + len
            }
        };
        let Some(out) = out.get_mut(..len) else { return 0 };
        out.copy_from_slice(&text[..len]);
        len
    }

    /// Reads the first of a list: the character of its file, what is said, and the rest. `None` at the end, and where
    /// there is something else.
    pub(crate) fn take(data: &[u8]) -> Option<(u8, Self, &[u8])> {
        let [file, letter, rest @ ..] = data else { return None };
        let (mark, rest) = match (letter, rest) {
            (b'N', [tag, rest @ ..]) => (Self::Refused(*tag), rest),
            (b'R', [len, rest @ ..]) => {
                let len = usize::from(unchar(*len));
                let (digits, rest) = rest.split_at_checked(len)?;
                let offset = digits.iter().try_fold(0u64, |value, digit| {
                    let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
                    value.checked_mul(10)?.checked_add(digit)
                })?;
                (Self::Resumed(offset), rest)
            }
            (b'X', rest) => (Self::Cancelled, rest),
            (b'Q', rest) => (Self::AllCancelled, rest),
            (b'U', rest) => (Self::Unproved, rest),
            (b'O', rest) => (Self::Older, rest),
            (b'H', [len, rest @ ..]) => {
                let (sixes, rest) = rest.split_at_checked(usize::from(unchar(*len)))?;
                let mut bits = [0; ASKED_ROOM];
                for at in
                    (0..6 * sixes.len()).filter(|at| unchar(sixes[at / 6]) >> (at % 6) & 1 != 0)
                {
                    *bits.get_mut(at / 8)? |= 1 << (at % 8);
                }
                (Self::Found(bits), rest)
            }
            _ => return None,
        };
        Some((*file, mark, rest))
    }
}

/// A bit, 0 or 1; beyond the last there are none.
pub(crate) fn bit_of(bits: &[u8], at: usize) -> u8 {
    bits.get(at / 8).map_or(0, |byte| byte >> (at % 8) & 1)
}
