//! The variables of a device profile, and the texts that they are in.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use md5::{Digest as _, Md5};
use regex::bytes::{Regex, RegexBuilder};
use sha2::Sha256;
use wetstring_drive::{hex, in_words};
use wetstring_proto::crc::crc32_update;

use crate::ui::format::did_you_mean;

/// Variables by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vars(BTreeMap<String, String>);

impl Vars {
    /// Those of a profile, with those that the user sets as `NAME=VALUE`.
    pub(crate) fn new(known: &BTreeMap<String, String>, sets: &[String]) -> Result<Self, String> {
        let mut all = known.clone();
        for set in sets {
            let (name, value) =
                set.split_once('=').ok_or_else(|| format!("expected NAME=VALUE, got {set}"))?;
            let Some(slot) = all.get_mut(name) else {
                let meant = did_you_mean(name, known.keys().map(String::as_str));
                let names: Vec<_> = known.keys().map(String::as_str).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(format!(
                    "no such variable of the device: {name}{meant}; it has {names}"
                ));
            };
            if value.contains(|c: char| c.is_ascii_control()) {
                return Err(format!("expected no control characters in the variable {name}"));
            }
            value.clone_into(slot);
        }
        Ok(Self(all))
    }

    /// Adds those of the file, which is read for that.
    pub(crate) fn of_file(&mut self, path: &Path) -> Result<(), String> {
        let failed = |e| format!("{}: {}", path.display(), in_words(&e));
        let mut file = File::open(path).map_err(failed)?;
        let (mut len, mut crc, mut md5, mut sha256) = (0_u64, 0, Md5::new(), Sha256::new());
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = file.read(&mut buffer).map_err(failed)?;
            let bytes = &buffer[..read];
            if read == 0 {
                break;
            }
            len += read as u64;
            crc = crc32_update(crc, bytes);
            md5.update(bytes);
            sha256.update(bytes);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // It is typed at a command line.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        let name: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        for (key, value) in [
            ("length", len.to_string()),
            ("length-hex", format!("{len:x}")),
            ("crc32", format!("{crc:08x}")),
            ("md5", hex(&md5.finalize())),
            ("sha256", hex(&sha256.finalize())),
            ("name", name.trim_start_matches('-').to_owned()),
        ] {
            let slot = self.0.entry(key.to_owned()).or_default();
            if slot.is_empty() {
                *slot = value;
            }
        }
        Ok(())
    }

    /// The value of one; empty if there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A text with the values in place of the names.
    pub(crate) fn fill(&self, text: &str) -> Result<String, String> {
        self.with(text, str::to_owned)
    }

    /// The regular expression of a text, in which values stand for themselves.
    pub(crate) fn regex(&self, text: &str) -> Result<Regex, String> {
        let pattern = self.with(text, regex::escape)?;
        let built = RegexBuilder::new(&pattern).unicode(false).build();
        built.map_err(|bad| format!("expected a regular expression, got {text}: {bad}"))
    }

    fn with(&self, text: &str, show: impl Fn(&str) -> String) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("%{") {
            let (name, after) =
                after.split_once('}').ok_or_else(|| format!("expected }} after %{{ in {text}"))?;
            let value = self.0.get(name);
            let value = value.ok_or_else(|| format!("no such variable: {name}, in {text}"))?;
            out.push_str(before);
            out.push_str(&show(value));
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(sets: &[&str]) -> Result<Vars, String> {
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
    fn unknown_variables_are_refused() {
        let say = vars(&["adress=4"]).unwrap_err();
        assert!(say.contains("did you mean address?"), "{say}");
        assert!(vars(&["address"]).is_err());
        assert!(vars(&["address=1\r"]).is_err());
    }

    #[test]
    fn a_file_has_its_digests() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("-a b;c.bin");
        std::fs::write(&path, b"123456789").unwrap();
        let mut vars = Vars::default();
        vars.of_file(&path).unwrap();
        for (name, value) in [
            ("length", "9"),
            ("crc32", "cbf43926"),
            ("md5", "25f9e794323b453885f5181f1b624d0b"),
            ("sha256", "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"),
            ("name", "a_b_c.bin"),
        ] {
            assert_eq!(vars.get(name), value, "{name}");
        }
    }
}
