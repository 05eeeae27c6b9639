//! The one table of settings.
//!
//! A setting has a name, a range, a default, a sentence and a source. From this table come
//! `wst show`, the `--set NAME=VALUE` flag, SET and SHOW of the command language, the manual page
//! and the other languages' bindings. A protocol adds its rows and nothing else.

use core::fmt;

/// What values a setting takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Range {
    /// A whole number between the two, both included.
    Number(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Free text, explained by the sentence.
    Text,
}

/// One row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Full name, `protocol.name`.
    pub name: &'static str,
    /// What it takes.
    pub range: Range,
    /// What it is unless set, in the notation that setting it takes.
    pub default: &'static str,
    /// Unit of a number, or empty.
    pub unit: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// A value that a setting does not take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadSetting {
    /// There is no setting of that name.
    Unknown,
    /// The value is outside the range of this setting.
    Value(&'static Setting),
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(low, high) => write!(f, "{low}..{high}"),
            Self::Word(words) => {
                for (index, word) in words.iter().enumerate() {
                    if index > 0 {
                        f.write_str("|")?;
                    }
                    f.write_str(word)?;
                }
                Ok(())
            }
            Self::Text => f.write_str("text"),
        }
    }
}

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("no setting of that name"),
            Self::Value(setting) => write!(f, "{} takes {}", setting.name, setting.range),
        }
    }
}

impl core::error::Error for BadSetting {}

/// A configuration that can be read and written by the names of its table.
pub trait Settings {
    /// The rows of this configuration.
    fn table() -> &'static [Setting]
    where
        Self: Sized;
    /// Sets one by its name.
    fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting>;
    /// Writes the present value of one, in the notation that [`Settings::set`] takes.
    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result;
}
