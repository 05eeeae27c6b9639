//! The variables of a device profile, and the texts that they are in.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

use md5::{Digest as _, Md5};
use regex::bytes::{Regex, RegexBuilder};
use sha2::Sha256;
use wetstring_proto::crc::crc32_update;

/// A variable that cannot be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadVar {
    /// The profile has none of this name, but these.
    Unknown(String, Vec<String>),
    /// Anything else, in words.
    Wrong(String),
}

impl fmt::Display for BadVar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name, known) => {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                write!(f, "no such variable of the device: {name}; it has {known}")
            }
            Self::Wrong(say) => f.write_str(say),
        }
    }
}

impl std::error::Error for BadVar {}

/// What the variables of a file are made from, as its bytes come.
#[derive(Clone, Debug, Default)]
pub struct Digests {
    len: u64,
    crc: u32,
    md5: Md5,
    sha256: Sha256,
}

impl Digests {
    /// The next bytes of the file.
    pub fn update(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        self.crc = crc32_update(self.crc, bytes);
        self.md5.update(bytes);
        self.sha256.update(bytes);
    }
}

/// What XMODEM fills the last block with, and the length of a block.
const PADDING: (u8, u64) = (0x1A, 128);

/// The depth of variables in values of variables.
const DEEPEST: usize = 4;

fn hex(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Variables by name.
#[derive(Clone, Debug, Default)]
pub struct Vars(BTreeMap<String, String>);

impl Vars {
    /// Those of a profile, with those that the user sets as `NAME=VALUE`.
    ///
    /// # Errors
    ///
    /// A variable that the profile does not have, and a value that cannot be typed.
    pub fn new(known: &BTreeMap<String, String>, sets: &[String]) -> Result<Self, BadVar> {
        let mut all = known.clone();
        for set in sets {
            let wrong = |say: String| BadVar::Wrong(say);
            let (name, value) = set
                .split_once('=')
                .ok_or_else(|| wrong(format!("expected NAME=VALUE, got {set}")))?;
            let Some(slot) = all.get_mut(name) else {
                return Err(BadVar::Unknown(name.to_owned(), known.keys().cloned().collect()));
            };
            if value.contains(|c: char| c.is_ascii_control()) {
                let say = format!("expected no control characters in the variable {name}");
                return Err(wrong(say));
            }
            value.clone_into(slot);
        }
        Ok(Self(all))
    }

    /// Adds those of the file of this name.
    pub fn of_file(&mut self, name: &str, digests: Digests) {
        let Digests { len, crc, md5, sha256 } = digests;
        let mut padded = md5.clone();
        let (padding, block) = PADDING;
        for _ in len..len.next_multiple_of(block) {
            padded.update([padding]);
        }
        // It is typed at a command line.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        let name: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        for (key, value) in [
            ("length", len.to_string()),
            ("length-hex", format!("{len:x}")),
            ("crc32", format!("{crc:08x}")),
            ("md5", hex(&md5.finalize())),
            ("md5-padded", hex(&padded.finalize())),
            ("sha256", hex(&sha256.finalize())),
            ("name", name.trim_start_matches('-').to_owned()),
        ] {
            let slot = self.0.entry(key.to_owned()).or_default();
            if slot.is_empty() {
                *slot = value;
            }
        }
    }

    /// The value of one; empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A text with the values in place of the names, also in the values.
    ///
    /// # Errors
    ///
    /// A name that has no value, and values that have each other in them.
    pub fn fill(&self, text: &str) -> Result<String, String> {
        let mut text = text.to_owned();
        for _ in 0..=DEEPEST {
            if !text.contains("%{") {
                return Ok(text);
            }
            text = self.with(&text, |value| Ok(value.to_owned()))?;
        }
        Err(format!("expected variables that do not have each other in them, got {text}"))
    }

    /// The regular expression of a text, in which values stand for themselves.
    ///
    /// # Errors
    ///
    /// A name that has no value, and a text that is no regular expression.
    pub fn regex(&self, text: &str) -> Result<Regex, String> {
        let pattern =
            self.with(text, |value| self.fill(value).map(|value| regex::escape(&value)))?;
        let built = RegexBuilder::new(&pattern).unicode(false).build();
        built.map_err(|bad| format!("expected a regular expression, got {text}: {bad}"))
    }

    fn with(
        &self,
        text: &str,
        show: impl Fn(&str) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("%{") {
            let (name, after) =
                after.split_once('}').ok_or_else(|| format!("expected }} after %{{ in {text}"))?;
            let value = self.0.get(name);
            let value = value.ok_or_else(|| format!("no such variable: {name}, in {text}"))?;
            out.push_str(before);
            out.push_str(&show(value)?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(sets: &[&str]) -> Result<Vars, BadVar> {
        let known = [("address", "${loadaddr}"), ("baud", "")];
        let known = known.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Vars::new(&known, &sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn names_stand_for_values() {
        let vars = vars(&["baud=9600"]).unwrap();
        assert_eq!(vars.fill("loady %{address} %{baud}").unwrap(), "loady ${loadaddr} 9600");
        assert!(vars.regex("at %{address}$").unwrap().is_match(b"at ${loadaddr}"));
        assert!(vars.fill("%{nothing}").unwrap_err().contains("nothing"));
        assert!(vars.fill("%{address").is_err());
    }

    #[test]
    fn values_may_have_names_in_them() {
        let command = vars(&["address=load %{baud} (all)", "baud=9600"]).unwrap();
        assert_eq!(command.fill("%{address}!").unwrap(), "load 9600 (all)!");
        assert!(command.regex("^%{address}$").unwrap().is_match(b"load 9600 (all)"));
        let endless = vars(&["address=%{baud}", "baud=%{address}"]).unwrap();
        assert!(endless.fill("%{address}").unwrap_err().contains("each other"));
        assert!(endless.regex("%{address}").is_err());
    }

    #[test]
    fn unknown_variables_are_refused() {
        let say = vars(&["adress=4"]).unwrap_err().to_string();
        assert_eq!(say, "no such variable of the device: adress; it has address, baud");
        assert!(vars(&["address"]).is_err());
        assert!(vars(&["address=1\r"]).is_err());
    }

    #[test]
    fn a_file_has_its_digests() {
        let mut digests = Digests::default();
        digests.update(b"1234");
        digests.update(b"56789");
        let mut vars = Vars::default();
        vars.of_file("-a b;c.bin", digests);
        for (name, value) in [
            ("length", "9"),
            ("crc32", "cbf43926"),
            ("md5", "25f9e794323b453885f5181f1b624d0b"),
            ("md5-padded", "b42a83d49df3489b2324811d5ed28d76"),
            ("sha256", "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"),
            ("name", "a_b_c.bin"),
        ] {
            assert_eq!(vars.get(name), value, "{name}");
        }
    }
}
