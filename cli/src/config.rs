//! The configuration file, its profiles, and the settings that follow from everything.
//!
//! Later ones win: defaults of the table, the `[set]` of the file, the `[profile.NAME.set]` of the
//! profile, flags and `--set`.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use crate::words::did_you_mean;
use toml::{Table, Value};
use wetstring_drive::disk::StoreSettings;
use wetstring_drive::in_words;
use wetstring_proto::settings::{BadSetting, Setting, Settings};
use wetstring_proto::{Span, arpanet, kermit, netblt, settings, uucp, xymodem, zmodem};

settings! {
    /// Everything that can be set.
    #[derive(Clone, Debug)]
    pub(crate) struct Everything {}
    parts {
        /// The Kermit engines.
        kermit: kermit::Config,
        /// The XMODEM and YMODEM engines.
        xymodem: xymodem::Config,
        /// The ZMODEM engines.
        zmodem: zmodem::Config,
        /// The NETBLT engines.
        netblt: netblt::Config,
        /// The UUCP engines.
        uucp: uucp::Config,
        /// The ARPANET engines.
        ncp: arpanet::Config,
        /// The store of received files.
        store: StoreSettings,
    }
    also {
        /// A command that ZMODEM sends instead of files, and whether it is answered at once.
        command: Option<(Vec<u8>, bool)> = None,
        /// What was set by name: the facts of a line do not change it.
        chosen: BTreeSet<String> = BTreeSet::new(),
    }
}

impl Everything {
    /// Every row there is.
    pub(crate) fn rows() -> impl Iterator<Item = &'static Setting> {
        Self::TABLE.iter()
    }

    /// Whether a setting was set by name, be it to its default.
    pub(crate) fn is_chosen(&self, name: &str) -> bool {
        self.chosen.contains(name)
    }

    /// Sets one by its full name, and remembers that it was.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        Settings::set(self, name, value)?;
        self.chosen.insert(name.to_owned());
        Ok(())
    }

    /// Writes the present value of one.
    pub(crate) fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        Settings::show(self, name, out)
    }

    /// Sets the longest wait of X/Y/ZMODEM for an answer, in seconds, as far as each allows.
    pub(crate) fn set_timeouts(&mut self, seconds: u64) {
        self.zmodem.timeout = Span::from_secs(seconds.clamp(1, 60));
        self.xymodem.timeout = Span::from_secs(seconds.clamp(1, 600));
        self.xymodem.answer_timeout = self.xymodem.timeout;
    }

    /// Sets many, and says which one was wrong.
    pub(crate) fn set_all(
        &mut self,
        settings: &[(String, String)],
        at: &str,
    ) -> Result<(), String> {
        for (name, value) in settings {
            self.set(name, value).map_err(|bad| match bad {
                BadSetting::Unknown => format!("{at}: {}", no_setting(name)),
                BadSetting::Value(row) => {
                    format!("{at}: expected {} for {name}, got {value}", row.range)
                }
            })?;
        }
        Ok(())
    }
}

/// What is said of a name that no setting has.
pub(crate) fn no_setting(name: &str) -> String {
    let meant = did_you_mean(name, Everything::rows().map(|row| row.name));
    let meant = if meant.is_empty() { "; wst show lists them".to_owned() } else { meant };
    format!("there is no setting called {name}{meant}")
}

/// The configuration file.
#[derive(Debug, Default)]
pub(crate) struct File {
    /// Where it is; also if it does not exist.
    pub(crate) path: PathBuf,
    table: Table,
}

impl File {
    /// Reads it; a file that is not there is an empty one.
    pub(crate) fn load() -> Result<Self, String> {
        let Some(path) = path() else { return Ok(Self::default()) };
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(path, &text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                Ok(Self { path, table: Table::new() })
            }
            Err(e) => Err(format!("{}: {}", path.display(), in_words(&e))),
        }
    }

    fn parse(path: PathBuf, text: &str) -> Result<Self, String> {
        let table: Table =
            text.parse().map_err(|e| format!("{}: {}", path.display(), in_words(&e)))?;
        if let Some(key) = table.keys().find(|key| *key != "set" && *key != "profile") {
            let say = format!("expected [set] or [profile.NAME], got {key}");
            return Err(format!("{}: {say}", path.display()));
        }
        let profiles = match table.get("profile") {
            None => Table::new(),
            Some(Value::Table(profiles)) => profiles.clone(),
            Some(other) => {
                let say = format!("expected [profile.NAME], got profile = {other}");
                return Err(format!("{}: {say}", path.display()));
            }
        };
        for (name, profile) in &profiles {
            check_profile(name, profile).map_err(|say| format!("{}: {say}", path.display()))?;
        }
        Ok(Self { path, table })
    }

    /// The names of the profiles.
    pub(crate) fn profiles(&self) -> Vec<String> {
        let all = self.table.get("profile").and_then(Value::as_table);
        all.into_iter().flat_map(Table::keys).cloned().collect()
    }

    fn profile(&self, name: &str) -> Result<&Table, String> {
        let found = self.table.get("profile").and_then(|p| p.get(name)).and_then(Value::as_table);
        found.ok_or_else(|| {
            let names = self.profiles();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!(
                "there is no profile called {name} in {}; there is: {known}",
                self.path.display()
            )
        })
    }

    /// The settings of the file and of a profile.
    pub(crate) fn apply(&self, to: &mut Everything, profile: Option<&str>) -> Result<(), String> {
        let at = self.path.display().to_string();
        to.set_all(&flat(self.table.get("set")), &at)?;
        if let Some(name) = profile {
            to.set_all(&flat(self.profile(name)?.get("set")), &at)?;
        }
        Ok(())
    }

    /// The line of a profile.
    pub(crate) fn line(&self, profile: &str) -> Result<String, String> {
        let line = self.profile(profile)?.get("line").and_then(Value::as_str);
        line.map(str::to_owned).ok_or_else(|| {
            format!("the profile {profile} in {} has no line = \"...\"", self.path.display())
        })
    }
}

/// What may stand in a profile.
const IN_PROFILE: [&str; 2] = ["line", "set"];

/// Whether a profile has only what counts: what does not would be a setting that is silently not set.
fn check_profile(name: &str, profile: &Value) -> Result<(), String> {
    let Value::Table(profile) = profile else {
        return Err(format!("expected [profile.{name}], got profile.{name} = {profile}"));
    };
    let expected = format!("expected line = \"...\" or [profile.{name}.set] in [profile.{name}]");
    for (key, value) in profile {
        let fits = match key.as_str() {
            "line" => value.is_str(),
            "set" => value.is_table(),
            _ => false,
        };
        if fits {
            continue;
        }
        let is_setting = Everything::rows()
            .any(|row| row.name == key || row.name.split('.').next() == Some(key.as_str()));
        if IN_PROFILE.contains(&key.as_str()) {
            return Err(format!("{expected}, got {key} = {value}"));
        }
        let meant = if is_setting {
            format!("; settings stand under [profile.{name}.set]")
        } else {
            did_you_mean(key, IN_PROFILE.into_iter())
        };
        return Err(format!("{expected}, got {key}{meant}"));
    }
    Ok(())
}

/// The folder of the configuration and of the keys.
pub(crate) fn folder() -> Option<PathBuf> {
    path()?.parent().map(PathBuf::from)
}

/// Where the file is.
fn path() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = from("XDG_CONFIG_HOME").filter(|p| p.is_absolute());
    let home = home.or_else(|| from("HOME").map(|home| home.join(".config")));
    let home = home.or_else(|| from("APPDATA"));
    home.map(|home| home.join("wetstring").join("config.toml"))
}

/// `kermit.window = 31` is a table in a table for TOML, and one name for us.
fn flat(value: Option<&Value>) -> Vec<(String, String)> {
    fn walk(prefix: &str, value: &Value, out: &mut Vec<(String, String)>) {
        match value {
            Value::Table(table) => {
                for (key, value) in table {
                    let dot = if prefix.is_empty() { "" } else { "." };
                    walk(&format!("{prefix}{dot}{key}"), value, out);
                }
            }
            Value::String(text) => out.push((prefix.to_owned(), text.clone())),
            Value::Boolean(on) => {
                out.push((prefix.to_owned(), if *on { "on" } else { "off" }.to_owned()));
            }
            other => out.push((prefix.to_owned(), other.to_string())),
        }
    }
    let mut out = Vec::new();
    if let Some(value) = value {
        walk("", value, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        [set]
        kermit.window = 4
        kermit.attributes = false
        [profile.board]
        line = '/dev/ttyUSB0'
        [profile.board.set]
        kermit.window = 1
        'kermit.prefixing' = 'all'
    ";

    fn shown(profile: Option<&str>, name: &str) -> String {
        let file = File::parse(PathBuf::from("c.toml"), TEXT).unwrap();
        let mut all = Everything::default();
        file.apply(&mut all, profile).unwrap();
        let mut out = String::new();
        all.show(name, &mut out).unwrap();
        out
    }

    #[test]
    fn a_profile_wins_over_the_file() {
        assert_eq!(shown(None, "kermit.window"), "4");
        assert_eq!(shown(None, "kermit.attributes"), "off");
        assert_eq!(shown(Some("board"), "kermit.window"), "1");
        assert_eq!(shown(Some("board"), "kermit.prefixing"), "all");
    }

    #[test]
    fn what_is_wrong_in_the_file_is_named() {
        let file = File::parse(PathBuf::from("c.toml"), TEXT).unwrap();
        assert_eq!(file.line("board").unwrap(), "/dev/ttyUSB0");
        let say = file.line("router").unwrap_err();
        assert_eq!(say, "there is no profile called router in c.toml; there is: board");
        let bad = File::parse(PathBuf::from("c.toml"), "[set]\nkermit.window = 99").unwrap();
        let say = bad.apply(&mut Everything::default(), None).unwrap_err();
        assert_eq!(say, "c.toml: expected 1..31 for kermit.window, got 99");
        let unknown = File::parse(PathBuf::from("c.toml"), "[set]\nkermit.widow = 9").unwrap();
        let say = unknown.apply(&mut Everything::default(), None).unwrap_err();
        assert!(say.contains("no setting called kermit.widow"), "{say}");
        assert_eq!(
            say,
            "c.toml: there is no setting called kermit.widow; did you mean kermit.window?"
        );
        assert!(File::parse(PathBuf::from("c.toml"), "widow = 1").is_err());
    }

    #[test]
    fn what_a_profile_does_not_know_is_an_error() {
        let said = |text: &str| File::parse(PathBuf::from("c.toml"), text).map(|_| ()).unwrap_err();
        let head = "c.toml: expected line = \"...\" or [profile.b.set] in [profile.b], got ";
        for (text, rest) in [
            ("[profile.b]\nlien = '/dev/x'", "lien; did you mean line?"),
            ("[profile.b]\nprotocol = 'zmodem'", "protocol"),
            ("[profile.b]\nkermit.window = 3", "kermit; settings stand under [profile.b.set]"),
            ("[profile.b]\nline = 3", "line = 3"),
        ] {
            assert_eq!(said(text), format!("{head}{rest}"));
        }
        assert_eq!(said("profile = 3"), "c.toml: expected [profile.NAME], got profile = 3");
        assert_eq!(said("[profile]\nb = 3"), "c.toml: expected [profile.b], got profile.b = 3");
    }

    #[test]
    fn every_row_can_be_shown_and_set_to_its_default() {
        let mut all = Everything::default();
        for row in Everything::rows() {
            let mut out = String::new();
            all.show(row.name, &mut out).unwrap();
            assert_eq!(out, row.default, "{}", row.name);
            assert_eq!(all.set(row.name, row.default), Ok(()), "{}", row.name);
        }
    }
}
