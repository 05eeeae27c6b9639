//! What may be set of an experiment, by name: the rows of a host, and two of the laboratory's.

use std::fmt;
use wetstring_proto::arpanet::{self, config};
use wetstring_proto::settings::{BadSetting, Range, Setting, Settings};

/// A host, and what its processes do.
#[derive(Clone, Debug)]
pub struct Processes {
    /// The host, as it is live.
    pub host: arpanet::Config,
    /// Files at the same time.
    pub transfers: u8,
    /// The rate is that of one of them, not of all.
    pub each: bool,
}

impl Default for Processes {
    fn default() -> Self {
        Self { host: arpanet::Config::default(), transfers: 1, each: false }
    }
}

const RATES: [&str; 2] = ["all", "each"];

const TRANSFERS: Setting = Setting {
    name: "ncp.transfers",
    range: Range::Number(1, 8),
    default: "1",
    unit: "files",
    doc: "Files that are sent at the same time, all of them the same one",
    source: "RFC 662",
};

const RATE: Setting = Setting {
    name: "ncp.rate",
    range: Range::Word(&RATES),
    default: "all",
    unit: "",
    doc: "Whether the rate is that of all files together or of each of them",
    source: "RFC 662",
};

const ROWS: usize = config::TABLE.len() + 2;

/// The host's rows, then our own.
static TABLE: [Setting; ROWS] = {
    let mut rows = [RATE; ROWS];
    let mut index = 0;
    while index < config::TABLE.len() {
        rows[index] = config::TABLE[index];
        index += 1;
    }
    rows[index] = TRANSFERS;
    rows
};

impl Settings for Processes {
    fn table() -> &'static [Setting] {
        &TABLE
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), BadSetting> {
        let done = match name {
            "ncp.transfers" => {
                let number = value.parse().ok().filter(|number| (1..=8).contains(number));
                number.map(|number| self.transfers = number)
            }
            "ncp.rate" => RATES.contains(&value).then(|| self.each = value == "each"),
            _ => return self.host.set(name, value),
        };
        let row = || {
            TABLE.iter().find(|row| row.name == name).map_or(BadSetting::Unknown, BadSetting::Value)
        };
        done.ok_or_else(row)
    }

    fn show(&self, name: &str, out: &mut dyn fmt::Write) -> fmt::Result {
        match name {
            "ncp.transfers" => write!(out, "{}", self.transfers),
            "ncp.rate" => out.write_str(RATES[usize::from(self.each)]),
            _ => self.host.show(name, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Processes, TABLE};
    use wetstring_proto::settings::{Range, Settings};

    #[test]
    fn the_table_says_what_the_defaults_are() {
        for row in &TABLE {
            let mut shown = String::new();
            Processes::default().show(row.name, &mut shown).unwrap();
            assert_eq!(shown, row.default, "{}", row.name);
            Processes::default().set(row.name, row.default).unwrap();
            if row.range != Range::Text {
                Processes::default().set(row.name, "?").unwrap_err();
            }
        }
        let names: std::collections::BTreeSet<_> = TABLE.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), TABLE.len());
    }
}
