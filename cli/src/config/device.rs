//! Device profiles: how to bring a file into a kind of device.
//!
//! One is a file in TOML: how to recognise the prompt and how to get to it, what to type, the protocol, how to
//! verify, how to leave. `cli/profiles` has those of the program; files of the same form in `profiles` beside the
//! configuration file add others, and replace those of the same name.
//!
//! `%{name}` in texts to type and in patterns is a variable: of `[vars]`, or of the file: `length`, `length-hex`,
//! `crc32`, `md5`, `sha256`, `name` (if `[vars]` has it, the user may choose another).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use wetstring_drive::in_words;

use super::file;
use crate::ui::format::did_you_mean;

/// The profiles of the program, by name.
pub(crate) const BUILT_IN: [(&str, &str); 6] = [
    ("barebox", include_str!("../../profiles/barebox.toml")),
    ("busybox", include_str!("../../profiles/busybox.toml")),
    ("catalyst", include_str!("../../profiles/catalyst.toml")),
    ("rommon", include_str!("../../profiles/rommon.toml")),
    ("stm32-iap", include_str!("../../profiles/stm32-iap.toml")),
    ("uboot", include_str!("../../profiles/uboot.toml")),
];

/// A device profile.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Device {
    /// The device in words.
    pub(crate) title: String,
    /// What it was tested against, in words.
    pub(crate) tested: String,
    /// Where the profile describes the device.
    #[serde(default)]
    pub(crate) sources: Vec<String>,
    /// A regular expression: the end of what was received, if the device waits for a command. Without one, the
    /// device has no prompt: nothing is typed.
    #[serde(default)]
    pub(crate) prompt: String,
    /// Whether the device echoes commands.
    #[serde(default = "yes")]
    pub(crate) echo: bool,
    /// Pause after each typed byte.
    #[serde(default)]
    pub(crate) pause_ms: u64,
    /// Variables and their defaults.
    #[serde(default)]
    pub(crate) vars: BTreeMap<String, String>,
    /// How to get to the prompt.
    #[serde(default)]
    pub(crate) reach: Reach,
    /// Typed before the transfer.
    #[serde(default)]
    pub(crate) prepare: Vec<Step>,
    /// How a file is taken; the first unless the user chooses another by its protocol.
    pub(crate) method: Vec<Method>,
    /// How what arrived is verified.
    #[serde(default)]
    pub(crate) verify: Vec<Step>,
    /// Typed at the end.
    #[serde(default)]
    pub(crate) leave: Vec<Step>,
}

const fn yes() -> bool {
    true
}

/// How to get to the prompt.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Reach {
    /// Typed to see the prompt.
    pub(crate) types: String,
    /// Typed again after this time.
    pub(crate) every_ms: u64,
    /// The length of a break that is sent each time.
    pub(crate) break_ms: u64,
    /// A wire that is pulsed once, which resets the device: `dtr` or `rts`.
    pub(crate) pulse: String,
    /// What to type at what the device says while it starts.
    pub(crate) answer: Vec<Answer>,
    /// What the user is told if there is no prompt.
    pub(crate) hint: String,
    /// The longest wait for the prompt.
    pub(crate) limit_s: u64,
}

impl Default for Reach {
    fn default() -> Self {
        Self {
            types: String::new(),
            every_ms: 1000,
            break_ms: 0,
            pulse: String::new(),
            answer: Vec::new(),
            hint: String::new(),
            limit_s: 60,
        }
    }
}

/// What to type at what the device says.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Answer {
    /// A regular expression.
    pub(crate) sees: String,
    /// What to type.
    pub(crate) types: String,
}

/// A command, and what it answers before the prompt.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Step {
    /// Only if this variable has a value.
    pub(crate) needs: Option<String>,
    /// What to type.
    pub(crate) types: String,
    /// A regular expression that the answer must match.
    pub(crate) sees: Option<String>,
    /// Message for the user then.
    pub(crate) says: Option<String>,
    /// The longest wait for the answer.
    #[serde(default = "a_minute")]
    pub(crate) limit_s: u64,
}

const fn a_minute() -> u64 {
    60
}

/// How a file is taken.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Method {
    /// The protocols that it knows, the best first.
    pub(crate) protocols: Vec<String>,
    /// The command.
    #[serde(default)]
    pub(crate) types: String,
    /// Questions before it is ready.
    #[serde(default)]
    pub(crate) answer: Vec<Answer>,
    /// A regular expression: it is ready.
    #[serde(default)]
    pub(crate) ready: String,
    /// Typed after a transfer that failed: it brings the device out of its receiver.
    #[serde(default)]
    pub(crate) abort: String,
    /// A regular expression that must be received after the transfer.
    pub(crate) loaded: Option<String>,
    /// The longest wait for the prompt after the transfer.
    #[serde(default = "a_minute")]
    pub(crate) limit_s: u64,
    /// The device does not return to its prompt.
    #[serde(default)]
    pub(crate) ends: bool,
    /// Settings of the protocol.
    #[serde(default)]
    pub(crate) set: BTreeMap<String, String>,
    /// With another rate during the transfer.
    pub(crate) fast: Option<Fast>,
}

/// Another rate, of the variable `baud`, during the transfer.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Fast {
    /// The command.
    pub(crate) types: String,
    /// A regular expression: the device changes its rate.
    pub(crate) switch: String,
    /// Typed at the new rate, until it is ready.
    pub(crate) types_after: String,
    /// A regular expression: the device changes it back.
    pub(crate) back: String,
    /// Typed at the old rate then.
    pub(crate) types_back: String,
}

impl Device {
    /// A profile from its text; `at` says where that stands.
    pub(crate) fn parse(at: &str, text: &str) -> Result<Self, String> {
        let device: Self = toml::from_str(text).map_err(|bad| format!("{at}: {bad}"))?;
        if device.method.iter().any(|method| method.protocols.is_empty())
            || device.method.is_empty()
        {
            return Err(format!("{at}: expected a [[method]] with protocols"));
        }
        Ok(device)
    }

    /// The profile of this name.
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let (at, text) = text_of(name)?;
        Self::parse(&at, &text)
    }

    /// The method for a protocol, and the protocol.
    pub(crate) fn method_for(&self, protocol: Option<&str>) -> Result<(&Method, String), String> {
        let Some(name) = protocol else {
            let first = &self.method[0];
            return Ok((first, first.protocols[0].clone()));
        };
        let known = |method: &&Method| method.protocols.iter().any(|known| known == name);
        if let Some(method) = self.method.iter().find(known) {
            return Ok((method, name.to_owned()));
        }
        let all = self.method.iter().flat_map(|method| &method.protocols);
        let all: Vec<&str> = all.map(String::as_str).collect();
        Err(format!("expected one of {} for {}, got {name}", all.join(", "), self.title))
    }
}

/// The directory of the user's profiles.
fn folder() -> Option<PathBuf> {
    file::folder().map(|folder| folder.join("profiles"))
}

/// The names of all profiles, sorted.
pub(crate) fn names() -> Vec<String> {
    let mut all: Vec<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let entries = folder().and_then(|folder| std::fs::read_dir(folder).ok());
    for path in entries.into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_profile = path.extension().is_some_and(|extension| extension == "toml");
        if let (true, Some(name)) = (is_profile, path.file_stem().and_then(|stem| stem.to_str())) {
            all.push(name.to_owned());
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Where a profile stands, and its text.
pub(crate) fn text_of(name: &str) -> Result<(String, String), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if let Some(folder) = folder().filter(|_| name.chars().all(is_name)) {
        let path = folder.join(format!("{name}.toml"));
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok((path.display().to_string(), text)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(format!("{}: {}", path.display(), in_words(&e))),
        }
    }
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Ok((format!("profiles/{name}.toml in the program"), (*text).to_owned()));
    }
    let all = names();
    let meant = did_you_mean(name, all.iter().map(String::as_str));
    Err(format!("no such device profile: {name}{meant}; device profiles: {}", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_of_the_program_is_complete() {
        for (name, text) in BUILT_IN {
            let device = Device::parse(name, text).unwrap();
            assert!(!device.tested.is_empty() && !device.sources.is_empty(), "{name}");
            for protocol in device.method.iter().flat_map(|method| &method.protocols) {
                assert!(crate::config::protocol::Protocol::of(protocol).is_some(), "{protocol}");
            }
        }
    }

    #[test]
    fn unknown_keys_and_names_are_errors() {
        let say = Device::parse("x.toml", "title = 'x'\ntested = 'no'\nwidow = 1").unwrap_err();
        assert!(say.contains("x.toml") && say.contains("widow"), "{say}");
        let none = "title = 'x'\ntested = 'no'\nmethod = []";
        assert!(Device::parse("x.toml", none).unwrap_err().contains("[[method]]"));
        assert!(Device::named("ubot").unwrap_err().contains("did you mean uboot?"));
        let device = Device::named("uboot").unwrap();
        assert_eq!(device.method_for(None).unwrap().1, "ymodem");
        assert!(device.method_for(Some("kermit")).unwrap().0.types.starts_with("loadb"));
        assert!(device.method_for(Some("zmodem")).unwrap_err().contains("kermit"));
    }
}
