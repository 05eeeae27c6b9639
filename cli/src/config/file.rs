//! The configuration file and its profiles.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use toml::{Table, Value};
use wetstring_drive::in_words;

use super::settings::Settings;
use crate::ui::format::did_you_mean;

/// The configuration file.
#[derive(Debug, Default)]
pub(crate) struct File {
    /// Its path, even if it does not exist.
    pub(crate) path: PathBuf,
    table: Table,
}

impl File {
    /// Reads it; a missing file counts as empty.
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
            format!("no such profile in {}: {name}; profiles: {known}", self.path.display())
        })
    }

    /// The settings of the file and of a profile.
    pub(crate) fn apply(&self, to: &mut Settings, profile: Option<&str>) -> Result<(), String> {
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

/// Writing.
impl File {
    /// Whether a profile of this name can be added; the reason if not.
    pub(crate) fn may_add(&self, name: &str) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("expected a name of letters, digits, - and _, got {name}"));
        }
        if self.profiles().iter().any(|known| known == name) {
            let at = self.path.display();
            return Err(format!("expected a new name, got {name}, which is a profile in {at}"));
        }
        if self.path.as_os_str().is_empty() {
            return Err("expected HOME or XDG_CONFIG_HOME, where profiles are kept".to_owned());
        }
        Ok(())
    }

    /// Adds a profile at the end of the file; what stands there stays as it is.
    pub(crate) fn add_profile(
        &self,
        name: &str,
        line: &str,
        settings: &[(&str, String)],
    ) -> Result<(), String> {
        self.may_add(name)?;
        let failed = |e| format!("{}: {}", self.path.display(), in_words(&e));
        let mut text = String::new();
        if !self.table.is_empty() {
            text.push('\n');
        }
        let quoted = |text: &str| Value::String(text.to_owned()).to_string();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[profile.{name}]\nline = {}", quoted(line));
        if !settings.is_empty() {
            let _ = writeln!(text, "\n[profile.{name}.set]");
        }
        for (setting, value) in settings {
            let _ = writeln!(text, "{setting} = {}", quoted(value));
        }
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
    }
}

/// The keys of a profile.
const IN_PROFILE: [&str; 2] = ["line", "set"];

/// Refuses unknown keys, which would otherwise be ignored silently.
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
        let is_setting = Settings::rows()
            .any(|row| row.name == key || row.name.split('.').next() == Some(key.as_str()));
        if IN_PROFILE.contains(&key.as_str()) {
            return Err(format!("{expected}, got {key} = {value}"));
        }
        let meant = if is_setting {
            format!("; settings belong under [profile.{name}.set]")
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

/// The path of the file.
fn path() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let home = from("XDG_CONFIG_HOME").filter(|p| p.is_absolute());
    let home = home.or_else(|| from("HOME").map(|home| home.join(".config")));
    let home = home.or_else(|| from("APPDATA"));
    home.map(|home| home.join("wetstring").join("config.toml"))
}

/// Flattens nested tables: `kermit.window = 31` is one name here.
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
        let mut all = Settings::default();
        file.apply(&mut all, profile).unwrap();
        let mut out = String::new();
        all.show(name, &mut out).unwrap();
        out
    }

    #[test]
    fn a_profile_overrides_the_file() {
        assert_eq!(shown(None, "kermit.window"), "4");
        assert_eq!(shown(None, "kermit.attributes"), "off");
        assert_eq!(shown(Some("board"), "kermit.window"), "1");
        assert_eq!(shown(Some("board"), "kermit.prefixing"), "all");
    }

    #[test]
    fn errors_in_the_file_are_reported() {
        let file = File::parse(PathBuf::from("c.toml"), TEXT).unwrap();
        assert_eq!(file.line("board").unwrap(), "/dev/ttyUSB0");
        let say = file.line("router").unwrap_err();
        assert_eq!(say, "no such profile in c.toml: router; profiles: board");
        let bad = File::parse(PathBuf::from("c.toml"), "[set]\nkermit.window = 99").unwrap();
        let say = bad.apply(&mut Settings::default(), None).unwrap_err();
        assert_eq!(say, "c.toml: expected 1..31 for kermit.window, got 99");
        let unknown = File::parse(PathBuf::from("c.toml"), "[set]\nkermit.widow = 9").unwrap();
        let say = unknown.apply(&mut Settings::default(), None).unwrap_err();
        assert!(say.contains("no such setting: kermit.widow"), "{say}");
        assert_eq!(say, "c.toml: no such setting: kermit.widow; did you mean kermit.window?");
        assert!(File::parse(PathBuf::from("c.toml"), "widow = 1").is_err());
    }

    #[test]
    fn unknown_keys_in_a_profile_are_errors() {
        let said = |text: &str| File::parse(PathBuf::from("c.toml"), text).map(|_| ()).unwrap_err();
        let head = "c.toml: expected line = \"...\" or [profile.b.set] in [profile.b], got ";
        for (text, rest) in [
            ("[profile.b]\nlien = '/dev/x'", "lien; did you mean line?"),
            ("[profile.b]\nprotocol = 'zmodem'", "protocol"),
            ("[profile.b]\nkermit.window = 3", "kermit; settings belong under [profile.b.set]"),
            ("[profile.b]\nline = 3", "line = 3"),
        ] {
            assert_eq!(said(text), format!("{head}{rest}"));
        }
        assert_eq!(said("profile = 3"), "c.toml: expected [profile.NAME], got profile = 3");
        assert_eq!(said("[profile]\nb = 3"), "c.toml: expected [profile.b], got profile.b = 3");
    }
}
