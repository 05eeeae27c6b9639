//! A sweep's file, and the values of its ranges.

use crate::scenario::{BadScenario, Partial};
use serde::Deserialize;
use toml::{Spanned, Value};

/// The most values that one range may have.
const MOST_VALUES: usize = 100_000;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SweepFile {
    pub(super) title: Option<String>,
    /// Path of a scenario that is the lowest layer.
    pub(super) scenario: Option<Spanned<String>>,
    /// A line with `{name}` where the values of ranges over `line` are put.
    pub(super) line: Option<Spanned<String>>,
    /// Overrides on top of it.
    pub(super) base: Option<Partial>,
    #[serde(default)]
    pub(super) range: Vec<Spanned<RangeFile>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeFile {
    key: Spanned<Keys>,
    name: Option<Spanned<String>>,
    values: Option<Spanned<Vec<Spanned<Value>>>>,
    from: Option<Spanned<i64>>,
    to: Option<Spanned<i64>>,
    step: Option<Spanned<i64>>,
    factor: Option<Spanned<i64>>,
    format: Option<Spanned<String>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a key such as \"both.window\", or a list of keys")]
enum Keys {
    One(String),
    Many(Vec<String>),
}

/// One range, with its values as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Range {
    /// Its column in the results.
    pub(super) name: String,
    /// The keys that take its values, all of them the same one.
    pub(super) keys: Vec<String>,
    /// What each value is set to: `{}` is the value.
    pub(super) format: Option<String>,
    pub(super) values: Vec<RangeValue>,
    /// Every value is a number.
    pub(super) numbers: bool,
    /// Place of its key in the file.
    pub(super) key_at: std::ops::Range<usize>,
}

/// One value of a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RangeValue {
    /// As it is shown in the results.
    pub(super) text: String,
    /// Its place in the file.
    pub(super) at: std::ops::Range<usize>,
}

impl Range {
    /// `KEY=VALUE` for each of the keys, with the value of this index.
    pub(super) fn assignments(&self, index: usize) -> impl Iterator<Item = String> + '_ {
        let set = self.set(index);
        self.keys.iter().map(move |key| format!("{key}={set}"))
    }
}

impl Range {
    /// What the value of this index is set to.
    pub(super) fn set(&self, index: usize) -> String {
        let value = &self.values[index].text;
        match &self.format {
            Some(format) => format.replace("{}", value),
            None => value.clone(),
        }
    }

    /// `{name}` of a line.
    pub(super) fn place(&self) -> String {
        format!("{{{}}}", self.name)
    }

    /// Whether its values are parts of this line.
    pub(super) fn is_part_of(&self, line: Option<&str>) -> bool {
        self.keys == ["line"] && line.is_some_and(|line| line.contains(&self.place()))
    }
}

impl SweepFile {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, BadScenario> {
        toml::from_str(text).map_err(|error| BadScenario::of_toml(path, text, &error))
    }

    /// The ranges, checked: each has values, and no key and no name stands twice.
    pub(super) fn ranges(
        &self,
        source: (&str, &str),
        reserved: &[&str],
    ) -> Result<Vec<Range>, BadScenario> {
        let mut ranges: Vec<Range> = Vec::new();
        for range in &self.range {
            let new = range.get_ref().read(source, &range.span())?;
            let name_at = range.get_ref().name.as_ref().map_or(new.key_at.clone(), Spanned::span);
            let taken = ranges.iter().any(|old| old.name == new.name);
            if taken || reserved.contains(&new.name.as_str()) {
                let say = format!("expected a name that no other column has, got {}", new.name);
                return Err(BadScenario::at(source, &name_at, "range.name", say));
            }
            let line = self.line.as_ref().map(|line| line.get_ref().as_str());
            let part = new.is_part_of(line);
            let is_taken = |key: &&String| !part && ranges.iter().any(|old| old.keys.contains(key));
            if let Some(key) = new.keys.iter().find(is_taken) {
                let say = format!("expected one range for {key}, got two");
                return Err(BadScenario::at(source, &new.key_at, "range.key", say));
            }
            ranges.push(new);
        }
        if ranges.is_empty() {
            let say = "expected at least one [[range]]";
            return Err(BadScenario::missing(source.0, "range", say));
        }
        Ok(ranges)
    }
}

impl RangeFile {
    fn read(
        &self,
        source: (&str, &str),
        whole: &std::ops::Range<usize>,
    ) -> Result<Range, BadScenario> {
        let bad = |at: &std::ops::Range<usize>, key: &str, say: String| {
            BadScenario::at(source, at, &format!("range.{key}"), say)
        };
        let key_at = self.key.span();
        let keys = match self.key.get_ref() {
            Keys::One(key) => vec![key.clone()],
            Keys::Many(keys) => keys.clone(),
        };
        if keys.is_empty() || keys.iter().any(|key| key.is_empty() || key.contains(['=', '\n'])) {
            let say = "expected a key such as \"both.window\", or a list of keys".to_owned();
            return Err(bad(&key_at, "key", say));
        }
        let format = self.format.as_ref();
        if let Some(format) = format.filter(|format| !format.get_ref().contains("{}")) {
            let say = format!("expected a text with {{}} in it, got {:?}", format.get_ref());
            return Err(bad(&format.span(), "format", say));
        }
        let (values, numbers) = match (&self.values, &self.from, &self.to) {
            (Some(values), None, None) if self.step.is_none() && self.factor.is_none() => {
                listed(source, values)?
            }
            (None, Some(from), Some(to)) => (self.counted(source, from, to)?, true),
            _ => {
                let say = "expected values = [...], or from, to and one of step and factor";
                return Err(bad(whole, "values", say.to_owned()));
            }
        };
        let name =
            self.name.as_ref().map_or_else(|| keys[0].clone(), |name| name.get_ref().clone());
        let format = format.map(|format| format.get_ref().clone());
        Ok(Range { name, keys, format, values, numbers, key_at })
    }

    /// The values of `from`, `to` and `step` or `factor`; `to` is among them if it is met.
    fn counted(
        &self,
        source: (&str, &str),
        from: &Spanned<i64>,
        to: &Spanned<i64>,
    ) -> Result<Vec<RangeValue>, BadScenario> {
        let bad = |at: &Spanned<i64>, key: &str, say: String| {
            BadScenario::at(source, &at.span(), &format!("range.{key}"), say)
        };
        let (first, last) = (*from.get_ref(), *to.get_ref());
        let next: Box<dyn Fn(i64) -> Option<i64>> = match (&self.step, &self.factor) {
            (Some(step), Some(_)) => {
                return Err(bad(step, "step", "expected step or factor, got both".to_owned()));
            }
            (None, Some(factor)) => {
                let by = *factor.get_ref();
                if by < 2 || first < 1 {
                    let say = format!("expected a factor of at least 2 from at least 1, got {by}");
                    return Err(bad(factor, "factor", say));
                }
                Box::new(move |value| value.checked_mul(by))
            }
            (step, None) => {
                let by = step.as_ref().map_or(1, |step| *step.get_ref());
                if let Some(step) = step.as_ref().filter(|_| by == 0) {
                    return Err(bad(step, "step", "expected a step that is not 0".to_owned()));
                }
                Box::new(move |value| value.checked_add(by))
            }
        };
        let down = self.step.as_ref().is_some_and(|step| *step.get_ref() < 0);
        let mut values = Vec::new();
        let mut value = Some(first);
        while let Some(now) = value.filter(|now| if down { *now >= last } else { *now <= last }) {
            if values.len() == MOST_VALUES {
                let say = format!("expected at most {MOST_VALUES} values");
                return Err(bad(to, "to", say));
            }
            values.push(RangeValue { text: now.to_string(), at: from.span() });
            value = next(now);
        }
        if values.is_empty() {
            let say =
                format!("expected a range with values in it, got none from {first} to {last}");
            return Err(bad(to, "to", say));
        }
        Ok(values)
    }
}

/// The values of a list, and whether all are numbers.
fn listed(
    source: (&str, &str),
    list: &Spanned<Vec<Spanned<Value>>>,
) -> Result<(Vec<RangeValue>, bool), BadScenario> {
    let mut values: Vec<RangeValue> = Vec::new();
    for value in list.get_ref() {
        let text = match value.get_ref() {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let bad = |say: String| BadScenario::at(source, &value.span(), "range.values", say);
        if text.chars().any(char::is_control) {
            return Err(bad("expected a value of one line".to_owned()));
        }
        if values.iter().any(|old| old.text == text) {
            return Err(bad(format!("expected each value once, got {text} twice")));
        }
        values.push(RangeValue { text, at: value.span() });
    }
    if values.is_empty() {
        let say = "expected a list with values in it, got none";
        return Err(BadScenario::at(source, &list.span(), "range.values", say));
    }
    let is_number = |value: &Spanned<Value>| value.get_ref().is_integer();
    Ok((values, list.get_ref().iter().all(is_number)))
}
