//! How values are written: words, numbers and free text.

use super::{Range, Setting};
use core::fmt;

/// One of a few values, each with a word; made by [`choice!`](crate::choice!).
pub trait Choice: Copy + PartialEq + 'static {
    /// The words, in the order in which they are shown.
    const WORDS: &'static [&'static str];
    /// The values.
    const VALUES: &'static [(&'static str, Self)];

    /// The value of a word.
    fn named(word: &str) -> Option<Self> {
        Self::VALUES.iter().find(|(known, _)| *known == word).map(|(_, value)| *value)
    }

    /// The word of this value; empty if it cannot be set by name.
    fn word(self) -> &'static str {
        Self::VALUES.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| *word)
    }
}

/// A value that is written as free text, in a notation of its own.
pub trait AsText: Sized {
    /// Parses it; `None` if it is invalid.
    fn parse(text: &str) -> Option<Self>;
    /// Writes it, as [`AsText::parse`] reads it.
    fn show(&self, out: &mut dyn fmt::Write) -> fmt::Result;
}

crate::choice! { for bool: "on" => true, "off" => false }

/// The number for a row; `None` if it is invalid.
pub fn number(row: &Setting, text: &str) -> Option<u64> {
    let number = text.parse().ok()?;
    let fits = match row.range {
        Range::Number(low, high) => (low..=high).contains(&number),
        Range::Word(words) => words.contains(&text),
        Range::Text => false,
    };
    fits.then_some(number)
}

/// The value of a row's default, at compile time: a word that does not exist does not compile.
pub const fn of_word<T: Copy>(values: &[(&str, T)], word: &str) -> T {
    let mut index = 0;
    while index < values.len() {
        if is_equal(values[index].0.as_bytes(), word.as_bytes()) {
            return values[index].1;
        }
        index += 1;
    }
    panic!("the default is not one of the words")
}

/// `==` is not yet const.
const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

/// A number in decimal, at compile time.
#[derive(Clone, Copy, Debug)]
pub struct Digits {
    digits: [u8; 20],
    from: usize,
}

impl Digits {
    /// The digits of a row's default; a default out of range does not compile.
    pub const fn within(low: u64, value: u64, high: u64) -> Self {
        assert!(low <= value && value <= high, "the default is outside the range");
        let (mut digits, mut from, mut rest) = ([b'0'; 20], 20, value);
        loop {
            from -= 1;
            digits[from] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                return Self { digits, from };
            }
        }
    }

    /// The digits.
    pub const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.digits.split_at(self.from).1) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

crate::choice! {
    /// ON, OFF, or left to the program (Kermit streaming (1998): SET RELIABLE, SET STREAMING, SET CLEARCHANNEL).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Switch {
        /// Depends on what is known of the line.
        #[default]
        Auto = "auto",
        /// Yes, whatever the line seems to be.
        On = "on",
        /// No.
        Off = "off",
    }
}
