//! Descriptions as comma-separated parameters: shared by modems and terminal lines.

use crate::serial::BadLine;
use std::fmt;

/// An invalid parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadWord {
    /// The described element, such as `modem`.
    pub what: &'static str,
    /// The key, such as `delay`.
    pub key: String,
    /// What it accepts.
    pub expected: &'static str,
    /// The given text.
    pub got: String,
}

impl fmt::Display for BadWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, key, expected, got } = self;
        write!(f, "{what}: {key}: expected {expected}, got `{got}`")
    }
}

impl std::error::Error for BadWord {}

impl BadWord {
    /// Such an error.
    pub(crate) fn new(what: &'static str, key: &str, expected: &'static str, got: &str) -> Self {
        Self { what, key: key.to_owned(), expected, got: got.to_owned() }
    }
}

/// A parameter: its key, its value (empty without `=`), and the whole text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param<'a> {
    pub(crate) what: &'static str,
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
    pub(crate) all: &'a str,
}

impl<'a> Param<'a> {
    /// The parameters of a description, which may begin with `what:`. Empty ones are skipped, so that `what:`
    /// alone describes the defaults.
    pub(crate) fn split(what: &'static str, text: &'a str) -> Result<Vec<Self>, BadWord> {
        let text = text.trim();
        let text = text.strip_prefix(what).and_then(|rest| rest.strip_prefix(':')).unwrap_or(text);
        let mut words: Vec<Self> = Vec::new();
        for all in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (key, value) = all.split_once('=').unwrap_or((all, ""));
            let word = Self { what, key: key.trim(), value: value.trim(), all };
            if words.iter().any(|other| other.key == word.key) {
                return Err(word.bad("it once"));
            }
            words.push(word);
        }
        Ok(words)
    }

    /// This parameter is invalid.
    pub(crate) fn bad(&self, expected: &'static str) -> BadWord {
        BadWord::new(self.what, self.key, expected, self.all)
    }

    /// A flag.
    pub(crate) fn flag(&self) -> Result<bool, BadWord> {
        if self.all.contains('=') { Err(self.bad("a flag without a value")) } else { Ok(true) }
    }

    /// A value in the serial line's notation.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&str, &str) -> Result<T, BadLine>,
    ) -> Result<T, BadWord> {
        read(self.key, self.value)
            .map_err(|BadLine { key, expected, got }| BadWord::new(self.what, &key, expected, &got))
    }

    /// A whole number.
    pub(crate) fn number(
        &self,
        expected: &'static str,
        low: u64,
        high: u64,
    ) -> Result<u64, BadWord> {
        self.read(|key, value| crate::serial::spec::number(key, value, expected, low, high))
    }

    /// Two integers separated by a slash, or one for both.
    pub(crate) fn pair(
        &self,
        expected: &'static str,
        low: u64,
        high: u64,
    ) -> Result<[u64; 2], BadWord> {
        let (first, second) = self.value.split_once('/').unwrap_or((self.value, self.value));
        let read = |value| Self { value, ..*self }.number(expected, low, high);
        Ok([read(first)?, read(second)?])
    }
}
