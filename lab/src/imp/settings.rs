//! What may be set of an experiment, by name.

use std::fmt;
use wetstring_proto::arpanet::ncp::{Buffers, Config};
use wetstring_proto::settings::{BadSetting, Range, Setting, Settings};

/// A host's NCP, and what its processes do.
#[derive(Clone, Debug)]
pub struct Processes {
    /// The NCP.
    pub ncp: Config,
    /// Files at the same time.
    pub transfers: u8,
    /// The rate is that of one of them, not of all.
    pub each: bool,
}

impl Default for Processes {
    fn default() -> Self {
        Self { ncp: Config::default(), transfers: 1, each: false }
    }
}

const BUFFERS: [(&str, Buffers); 3] =
    [("both", Buffers::Both), ("small", Buffers::Small), ("large", Buffers::Large)];
const RATES: [&str; 2] = ["all", "each"];

macro_rules! row {
    ($name:literal, $range:expr, $default:literal, $unit:literal, $doc:literal, $source:literal) => {
        Setting {
            name: $name,
            range: $range,
            default: $default,
            unit: $unit,
            doc: $doc,
            source: $source,
        }
    };
}

static TABLE: &[Setting] = &[
    row!(
        "ncp.buffers",
        Range::Word(&["both", "small", "large"]),
        "both",
        "",
        "output buffers: small ones for few bits and large ones for many, or one kind for everything",
        "RFC 662"
    ),
    row!("ncp.small", Range::Number(36, 1000), "940", "bit", "text in a small buffer", "RFC 662"),
    row!("ncp.smalls", Range::Number(1, 64), "16", "", "small buffers", ""),
    row!("ncp.larges", Range::Number(1, 64), "8", "", "large buffers", ""),
    row!(
        "ncp.window",
        Range::Number(1, 8),
        "1",
        "messages",
        "messages of one connection under way; 1 is the old rule",
        "RFC 662"
    ),
    row!(
        "ncp.transfers",
        Range::Number(1, 8),
        "1",
        "files",
        "files that are sent at the same time, all of them the same one",
        "RFC 662"
    ),
    row!(
        "ncp.rate",
        Range::Word(&RATES),
        "all",
        "",
        "whether the rate is that of all files together or of each of them",
        ""
    ),
];

impl Settings for Processes {
    fn table() -> &'static [Setting] {
        TABLE
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        let setting = TABLE.iter().find(|row| row.name == name).ok_or(BadSetting::Unknown)?;
        let number = || -> Option<u64> {
            let Range::Number(low, high) = setting.range else { return None };
            value.parse().ok().filter(|number| (low..=high).contains(number))
        };
        let buffers = BUFFERS.iter().find(|(word, _)| *word == value).map(|(_, buffers)| *buffers);
        let done = match name {
            "ncp.buffers" => buffers.map(|v| self.ncp.buffers = v),
            "ncp.small" => number().map(|v| self.ncp.small_bits = v as u16),
            "ncp.smalls" => number().map(|v| self.ncp.small_count = v as u8),
            "ncp.larges" => number().map(|v| self.ncp.large_count = v as u8),
            "ncp.window" => number().map(|v| self.ncp.window = v as u8),
            "ncp.transfers" => number().map(|v| self.transfers = v as u8),
            "ncp.rate" => RATES.contains(&value).then(|| self.each = value == "each"),
            _ => None,
        };
        done.ok_or(BadSetting::Value(setting))
    }

    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        match name {
            "ncp.buffers" => {
                let word = BUFFERS.iter().find(|(_, buffers)| *buffers == self.ncp.buffers);
                out.write_str(word.map_or("", |(word, _)| *word))
            }
            "ncp.small" => write!(out, "{}", self.ncp.small_bits),
            "ncp.smalls" => write!(out, "{}", self.ncp.small_count),
            "ncp.larges" => write!(out, "{}", self.ncp.large_count),
            "ncp.window" => write!(out, "{}", self.ncp.window),
            "ncp.transfers" => write!(out, "{}", self.transfers),
            "ncp.rate" => out.write_str(RATES[usize::from(self.each)]),
            _ => Err(fmt::Error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Processes, TABLE};
    use wetstring_proto::settings::Settings;

    #[test]
    fn the_table_says_what_the_defaults_are() {
        for row in TABLE {
            let mut shown = String::new();
            Processes::default().show(row.name, &mut shown).unwrap();
            assert_eq!(shown, row.default, "{}", row.name);
            Processes::default().set(row.name, row.default).unwrap();
            Processes::default().set(row.name, "?").unwrap_err();
        }
    }
}
