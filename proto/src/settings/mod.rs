//! The one description of a setting.
//!
//! A setting is one row in a [`settings!`](crate::settings!) block: name, type, values, default, a
//! sentence and a source. From the row come the field with its documentation, its default, how it is
//! parsed and shown, and its row in the table, from which come `wst show`, `--set NAME=VALUE`, the
//! flags, the manual page, SET and SHOW of the Kermit command language, and `docs/reference/settings.md`.
//!
//! ```
//! use wetstring_proto::settings::Settings;
//! use wetstring_proto::{Span, choice, settings};
//!
//! choice! {
//!     /// Who calls.
//!     #[derive(Clone, Copy, PartialEq, Eq, Debug)]
//!     pub enum Role {
//!         /// This end.
//!         Call = "call",
//!         /// The peer.
//!         Answer = "answer",
//!     }
//! }
//!
//! settings! {
//!     /// All settings.
//!     #[derive(Clone, PartialEq, Eq, Debug)]
//!     pub struct Config {
//!         "uucp.role" role: Role[word] = "call",
//!             "Who calls", "[TUUCP] 6.5.1";
//!         "uucp.window" window: u8[1..=7 "packets"] = 7,
//!             "Packets in flight", "[TUUCP] 6.6";
//!         "uucp.timeout" timeout: Span[1..=600 seconds] = 10,
//!             "Longest wait for an answer", "Taylor UUCP 1.07";
//!     }
//! }
//!
//! let mut config = Config::default();
//! assert_eq!(config.timeout, Span::from_secs(10));
//! config.set("uucp.role", "answer").unwrap();
//! assert_eq!(config.role, Role::Answer);
//! assert_eq!(config.set("uucp.window", "8").unwrap_err().to_string(), "uucp.window takes 1..7");
//! assert_eq!(Config::TABLE[2].unit, "seconds");
//! ```

mod rows;
mod value;

use core::fmt;

pub use value::{AsText, Choice, Digits, Switch, number, of_word};

/// The values of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Range {
    /// A whole number in this range, inclusive.
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
    /// Its values.
    pub range: Range,
    /// The default, as it would be set.
    pub default: &'static str,
    /// Unit of a number, or empty.
    pub unit: &'static str,
    /// Its description, in a sentence.
    pub doc: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Whether `send` and `receive` have a flag of this name; `--set` is always there.
    pub has_flag: bool,
    /// Words after SET in the Kermit command language that mean this setting, besides its name.
    pub keywords: &'static [&'static str],
    /// That language's words for values, where they differ: the word, and the value.
    pub spellings: &'static [(&'static str, &'static str)],
}

impl Setting {
    /// This row without a flag of its own.
    #[must_use]
    pub const fn no_flag(mut self) -> Self {
        self.has_flag = false;
        self
    }

    /// This row with keywords of the Kermit command language.
    #[must_use]
    pub const fn keywords(mut self, keywords: &'static [&'static str]) -> Self {
        self.keywords = keywords;
        self
    }

    /// This row with that language's words for its values.
    #[must_use]
    pub const fn spellings(mut self, spellings: &'static [(&'static str, &'static str)]) -> Self {
        self.spellings = spellings;
        self
    }

    /// The row of this name.
    pub fn find(table: &'static [Self], name: &str) -> Option<&'static Self> {
        table.iter().find(|row| row.name == name)
    }
}

/// A setting that cannot be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadSetting {
    /// No such setting.
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
            Self::Unknown => f.write_str("no such setting"),
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
    /// Writes the current value of one, in the notation of [`Settings::set`].
    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result;
}

/// The number of rows in these tables, for [`join`].
pub const fn count(tables: &[&[Setting]]) -> usize {
    let (mut rows, mut index) = (0, 0);
    while index < tables.len() {
        rows += tables[index].len();
        index += 1;
    }
    rows
}

/// One table of many, at compile time.
pub const fn join<const ROWS: usize>(tables: &[&[Setting]]) -> [Setting; ROWS] {
    const NONE: Setting = Setting {
        name: "",
        range: Range::Text,
        default: "",
        unit: "",
        doc: "",
        source: "",
        has_flag: false,
        keywords: &[],
        spellings: &[],
    };
    let mut rows = [NONE; ROWS];
    let (mut row, mut table) = (0, 0);
    while table < tables.len() {
        let mut index = 0;
        while index < tables[table].len() {
            rows[row] = tables[table][index];
            row += 1;
            index += 1;
        }
        table += 1;
    }
    rows
}
