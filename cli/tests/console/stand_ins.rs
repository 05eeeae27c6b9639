//! The tables of `stand-ins.toml`: what stands in for devices, hosts and files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

/// All of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StandIns {
    pub(super) replaced: Vec<Replaced>,
    pub(super) device: Device,
    pub(super) devices: BTreeMap<String, String>,
    pub(super) ports: Ports,
    pub(super) files: BTreeMap<String, usize>,
    pub(super) gates: BTreeMap<String, String>,
    pub(super) serves: Serves,
    pub(super) varies: Patterns,
    pub(super) passing: Patterns,
    pub(super) learned: Patterns,
    pub(super) asked: Vec<Asked>,
    pub(super) power: Power,
}

/// A word of the pages, and what is here instead.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replaced {
    /// A regular expression.
    #[serde(deserialize_with = "pattern")]
    pub(super) here: Regex,
    pub(super) by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Device {
    pub(super) path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ports {
    pub(super) numbers: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Serves {
    pub(super) commands: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Patterns {
    #[serde(deserialize_with = "patterns")]
    pub(super) patterns: Vec<Regex>,
}

/// A question to the user of a terminal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    pub(super) ends: String,
    /// Only in commands that have this.
    #[serde(default)]
    pub(super) of: String,
    /// The answer if nothing shows.
    pub(super) hidden: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Power {
    pub(super) line: String,
}

fn pattern<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Regex, D::Error> {
    let text = String::deserialize(from)?;
    Regex::new(&text).map_err(serde::de::Error::custom)
}

fn patterns<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Regex>, D::Error> {
    let all = Vec::<String>::deserialize(from)?;
    all.iter()
        .map(|text| Regex::new(text))
        .collect::<Result<_, _>>()
        .map_err(serde::de::Error::custom)
}

/// The file, read once.
pub(super) static STAND_INS: LazyLock<StandIns> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/console/stand-ins.toml");
    let text = std::fs::read_to_string(path).expect("stand-ins.toml");
    toml::from_str(&text).expect("the tables of stand-ins.toml")
});

impl StandIns {
    /// Whether a command keeps its window until it is interrupted.
    pub(super) fn serves(&self, command: &str) -> bool {
        self.serves.commands.iter().any(|verb| command.starts_with(verb))
    }
}
