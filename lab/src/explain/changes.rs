//! The settings that are tried with a transfer, as the registry names them for each protocol.

use super::advice::{At, Change};
use super::table;
use crate::scenario::Protocol;
use std::borrow::Cow;
use toml::{Table, Value};
use wetstring_proto::kermit;
use wetstring_proto::registry::{Advised, InForce, Trial};
use wetstring_proto::settings::{Range, Setting};
use wetstring_protocols::Family;

/// What is there between two of ours only, and all of Kermit's that needs it.
const EXTENSION: &str = "kermit.bundle";
/// Gains as much as the file shrinks.
const COMPRESSION: [&str; 2] = ["kermit.compress", "zmodem.compress"];
/// What gains nothing unless the receiver has an older version.
const DIFFERENCE: &str = "kermit.difference";

/// What limits the changes that are of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Circumstances {
    /// The line is known to lose nothing.
    pub(super) reliable: bool,
    /// An end is another program than ours, or has refused what only ours have.
    pub(super) has_stranger: bool,
    /// The file was not there, and what is replayed in its place need not shrink as it would.
    pub(super) has_substitute: bool,
}

/// Everything tried with a scenario, and the scenario of each.
pub(super) fn of_protocol(
    base: &Table,
    protocol: Protocol,
    known: Circumstances,
) -> Vec<(Change, Table)> {
    let mut changes = of_family(base, protocol.family(), known);
    let is_advised = |other: &Protocol| match other.advised {
        Advised::Never => false,
        Advised::Always => true,
        Advised::OnReliable => known.reliable,
    };
    for other in Protocol::of_bytes().filter(is_advised).filter(|other| *other != protocol) {
        let mut scenario = base.clone();
        table::set_protocol(&mut scenario, other.name);
        if known.has_stranger && other.is::<kermit::Config>() {
            table::set_both(&mut scenario, key(EXTENSION), "off");
        }
        let (from, to) = (protocol.name.to_owned(), other.name.to_owned());
        changes
            .push((Change { setting: "protocol", also: None, from, to, at: At::Both }, scenario));
    }
    changes
}

/// The changes of a family's settings.
pub(super) fn of_family(
    base: &Table,
    family: &'static Family,
    known: Circumstances,
) -> Vec<(Change, Table)> {
    let mut changes = Vec::new();
    let has_older = table::get(base, "file.old").is_some();
    let is_of_use = |trial: &&Tried| {
        let needs = |setting: &str| trial.settings.iter().any(|(name, _)| *name == setting);
        (known.reliable || !trial.needs_reliable)
            && (has_older || !needs(DIFFERENCE))
            && !(known.has_stranger && (needs(EXTENSION) || COMPRESSION.iter().any(|s| needs(s))))
            && !(known.has_substitute && COMPRESSION.iter().any(|setting| needs(setting)))
    };
    for trial in trials(family).iter().filter(is_of_use) {
        let now = Now::of(base, trial, family.table());
        for value in &trial.values {
            let Some((change, settings)) = now.changed(trial, value) else { continue };
            let mut other = base.clone();
            for setting in settings {
                table::set_both(&mut other, key(setting), value);
            }
            changes.push((change, other));
        }
    }
    changes
}

/// A [`Trial`] of the registry, or what follows from a row.
struct Tried {
    settings: Vec<(&'static str, InForce)>,
    values: Vec<Cow<'static, str>>,
    needs_reliable: bool,
}

/// What is tried with a family's protocols.
fn trials(family: &'static Family) -> Vec<Tried> {
    let of_trial = |trial: &Trial| Tried {
        settings: trial.settings.to_vec(),
        values: trial.values.iter().map(|value| Cow::Borrowed(*value)).collect(),
        needs_reliable: trial.needs_reliable,
    };
    match family.trials() {
        Some(trials) => trials.iter().map(of_trial).collect(),
        None => family.table().iter().filter(|row| row.has_flag).filter_map(of_row).collect(),
    }
}

/// All words of a row, or numbers around its default and the ends of its range.
fn of_row(row: &'static Setting) -> Option<Tried> {
    let values = match row.range {
        Range::Word(words) => words.iter().map(|word| Cow::Borrowed(*word)).collect(),
        Range::Number(low, high) => {
            let now: u64 = row.default.parse().ok()?;
            let mut numbers =
                [low, now / 4, now / 2, now.saturating_mul(2), now.saturating_mul(4), high]
                    .map(|number| number.clamp(low, high))
                    .to_vec();
            numbers.dedup();
            numbers.iter().map(|number| Cow::Owned(number.to_string())).collect()
        }
        Range::Text => return None,
    };
    Some(Tried { settings: vec![(row.name, InForce::Sender)], values, needs_reliable: false })
}

/// The values in force of the settings of a trial.
struct Now {
    /// The value of each.
    values: Vec<String>,
    /// The index of the one that limits.
    first: usize,
    /// The receiver's value, where it may differ.
    other: String,
}

impl Now {
    /// Those of a scenario.
    fn of(base: &Table, trial: &Tried, table: &'static [Setting]) -> Self {
        let at = |end: &str, setting: &str| {
            let found = [end, "both"]
                .iter()
                .find_map(|end| table::get(base, &format!("{end}.{}", key(setting))))
                .map(shown);
            let default = || Setting::find(table, setting).map_or("", |row| row.default).to_owned();
            found.unwrap_or_else(default)
        };
        let value = |(setting, in_force): &(&'static str, InForce)| match in_force {
            InForce::Sender => at("sender", setting),
            InForce::Receiver => at("receiver", setting),
            InForce::Lesser => lesser(at("sender", setting), at("receiver", setting)),
        };
        let values: Vec<String> = trial.settings.iter().map(value).collect();
        let least = |index: &usize| values[*index].parse::<u64>().unwrap_or(u64::MAX);
        let first = (0..values.len()).min_by_key(least).unwrap_or(0);
        let is_of_sender = |(_, in_force): &(&str, InForce)| *in_force == InForce::Sender;
        let other = if trial.settings.iter().all(is_of_sender) {
            at("receiver", trial.settings[first].0)
        } else {
            values[first].clone()
        };
        Self { values, first, other }
    }

    /// The change to this value, and the settings to set; `None` if it is the value already.
    fn changed(&self, trial: &Tried, value: &str) -> Option<(Change, Vec<&'static str>)> {
        let now = &self.values[self.first];
        let from = if now == value { self.other.clone() } else { now.clone() };
        if from == value {
            return None;
        }
        // Another number is only the limit if it is less.
        let limits = |other: &str| match (other.parse::<u64>(), value.parse::<u64>()) {
            (Ok(other), Ok(value)) => other < value,
            _ => other != value,
        };
        let needed = |index: &usize| *index == self.first || limits(&self.values[*index]);
        let names = (0..trial.settings.len()).filter(needed).map(|index| trial.settings[index].0);
        let names: Vec<_> = names.collect();
        let first = trial.settings[self.first].0;
        let also = names.iter().copied().find(|name| *name != first);
        Some((Change { setting: first, also, from, to: value.to_owned(), at: At::Both }, names))
    }
}

/// The scenario with this change at one end alone.
pub(super) fn at_one_end(base: &Table, change: &Change, end: &str) -> Table {
    let mut scenario = base.clone();
    for setting in [Some(change.setting), change.also].into_iter().flatten() {
        let value = Value::String(change.to.clone());
        table::put(&mut scenario, &format!("{end}.{}", key(setting)), value);
    }
    scenario
}

/// The name of a setting in a scenario.
fn key(setting: &str) -> &str {
    setting.split_once('.').map_or(setting, |(_, key)| key)
}

/// The smaller of two numbers; the first, if they are not numbers.
fn lesser(first: String, second: String) -> String {
    match (first.parse::<u64>(), second.parse::<u64>()) {
        (Ok(a), Ok(b)) if b < a => second,
        _ => first,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Boolean(on) => if *on { "on" } else { "off" }.to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_protocols::FAMILIES;

    #[test]
    fn every_value_tried_is_one_of_its_row() {
        for family in FAMILIES {
            for trial in trials(family) {
                for (setting, _) in &trial.settings {
                    for value in &trial.values {
                        let protocol = family.protocols().next().expect("a family has protocols");
                        let set = protocol.config().set(setting, value);
                        assert!(set.is_ok(), "{value} is no value of {setting}");
                    }
                }
            }
        }
    }

    #[test]
    fn current_values_are_not_tried() {
        let base: Table = "line = '9600'\n[both]\nwindow = 1".parse().unwrap();
        let changes = of_protocol(&base, Protocol::default(), Circumstances::default());
        let windows: Vec<&str> = changes
            .iter()
            .filter(|(change, _)| change.setting == "kermit.window")
            .map(|(change, _)| change.to.as_str())
            .collect();
        assert_eq!(windows, ["2", "4", "8", "16", "31"]);
        assert!(changes.iter().all(|(change, _)| change.from != change.to));
        assert!(changes.iter().all(|(change, _)| change.setting != "kermit.streaming"));
        assert!(changes.iter().any(|(change, _)| change.to == "zmodem"));
    }
}
