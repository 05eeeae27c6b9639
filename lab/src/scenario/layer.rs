//! One part of a scenario as in a file: any of the keys, each with its place.

use super::ends::Ends;
use super::error::BadScenario;
use crate::element::End;
use crate::host::HostModel;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::{Spanned, Value};

/// Any of the keys of a scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partial {
    pub(crate) protocol: Option<Spanned<String>>,
    pub(crate) line: Option<Spanned<Line>>,
    pub(crate) seed: Option<Spanned<u64>>,
    pub(crate) port: Option<Spanned<u16>>,
    pub(crate) file: Option<File>,
    pub(crate) both: Option<BTreeMap<String, Spanned<Value>>>,
    pub(crate) sender: Option<BTreeMap<String, Spanned<Value>>>,
    pub(crate) receiver: Option<BTreeMap<String, Spanned<Value>>>,
    pub(crate) limits: Option<Limits>,
    pub(crate) measure: Option<Spanned<Measure>>,
    pub(crate) typing: Option<Spanned<Typing>>,
}

/// One description, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a description such as \"9600\", or a list of them")]
pub(crate) enum Line {
    One(String),
    Many(Vec<String>),
}

impl Line {
    pub(crate) fn specs(&self) -> Vec<String> {
        match self {
            Self::One(spec) => vec![spec.clone()],
            Self::Many(specs) => specs.clone(),
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) corpus: Option<Spanned<String>>,
    pub(crate) made: Option<Spanned<String>>,
    pub(crate) path: Option<Spanned<String>>,
    pub(crate) bytes: Option<Spanned<u64>>,
    pub(crate) seed: Option<u64>,
    pub(crate) name: Option<Spanned<String>>,
    pub(crate) text: Option<bool>,
    pub(crate) old: Option<Spanned<Old>>,
}

/// An older version of the file, which the receiver has.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Old {
    /// Places that differ.
    pub(crate) changed: u32,
    /// What they are of the file together.
    pub(crate) share: f64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) time: Option<u64>,
    pub(crate) events: Option<u64>,
}

/// Interactive traffic, see [`crate::slip::typing`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Typing {
    pub(crate) every: Option<String>,
    pub(crate) from: Option<String>,
}

/// When throughput is measured, see [`crate::window`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Measure {
    pub(crate) from_ms: u64,
    pub(crate) from_rtts: u32,
    pub(crate) ms: u64,
    pub(crate) rtts: u32,
    /// The time that the path takes for this many bytes.
    pub(crate) bytes: u64,
    /// While the sender sends new data.
    pub(crate) sending: bool,
}

/// The key of an end that is no setting of its protocol.
const HOST: &str = "host";

/// A part of a scenario with the text it comes from, so that an error can name the place.
#[derive(Clone, Debug)]
pub struct Layer {
    name: Arc<str>,
    text: Arc<str>,
    /// Lines of the file have numbers that mean something.
    numbered: bool,
    partial: Partial,
}

impl Layer {
    /// Parses the text of a file of this name.
    pub fn parse(name: &str, text: &str) -> Result<Self, BadScenario> {
        let partial =
            toml::from_str(text).map_err(|error| BadScenario::of_toml(name, text, &error))?;
        Ok(Self::of((name, text), partial))
    }

    /// A part that was read already, as a piece of this text.
    pub fn of((name, text): (&str, &str), partial: Partial) -> Self {
        Self { name: name.into(), text: text.into(), numbered: true, partial }
    }

    /// `KEY=VALUE`; a value that is no TOML value is taken as text.
    pub fn assignment(setting: &str) -> Result<Self, BadScenario> {
        let name = format!("--set {setting}");
        let Some((key, value)) = setting.split_once('=') else {
            let say = "expected KEY=VALUE, such as both.window=5";
            return Err(BadScenario::missing(&name, "", say));
        };
        let (key, value) = (key.trim(), value.trim());
        let literal = format!("{key} = {value}");
        let quoted = format!("{key} = {}", Value::String(value.to_owned()));
        let parse =
            |text: &str| toml::from_str::<Partial>(text).map(|part| (text.to_owned(), part));
        let (text, partial) = match toml::from_str::<toml::Table>(&literal) {
            Ok(_) => parse(&literal).or_else(|error| parse(&quoted).map_err(|_| error)),
            Err(_) => parse(&quoted),
        }
        .map_err(|error| {
            let message = error.message().trim().replace('\n', ", ");
            BadScenario::missing(&name, key, message)
        })?;
        Ok(Self { numbered: false, ..Self::of((&name, &text), partial) })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn partial(&self) -> &Partial {
        &self.partial
    }

    /// An error at the place of this value.
    pub(crate) fn bad<T>(&self, value: &Spanned<T>, key: &str, message: String) -> BadScenario {
        if self.numbered {
            BadScenario::at((&self.name, &self.text), &value.span(), key, message)
        } else {
            BadScenario::missing(&self.name, key, message)
        }
    }

    /// The settings of the ends in this part: key with its section, value, and for which ends.
    fn of_ends(&self) -> impl Iterator<Item = (String, &str, &Spanned<Value>, &'static [End])> {
        let of = [
            ("both", &self.partial.both, &End::BOTH[..]),
            ("sender", &self.partial.sender, &[End::A]),
            ("receiver", &self.partial.receiver, &[End::B]),
        ];
        of.into_iter().flat_map(|(section, settings, which)| {
            settings
                .iter()
                .flatten()
                .map(move |(key, value)| (format!("{section}.{key}"), key.as_str(), value, which))
        })
    }

    /// Applies the settings of the ends to their configurations.
    pub(crate) fn apply_ends(&self, ends: &mut Ends) -> Result<(), BadScenario> {
        for (full, key, value, which) in self.of_ends().filter(|(_, key, ..)| *key != HOST) {
            let say = |message| self.bad(value, &full, message);
            let word = word(value.get_ref())
                .ok_or_else(|| say("expected a text, a whole number, true or false".to_owned()))?;
            for end in which {
                ends.set(*end, key, &word).map_err(say)?;
            }
        }
        Ok(())
    }

    /// Determines the hosts at the ends.
    pub(crate) fn find_hosts(&self, hosts: &mut [Option<HostModel>; 2]) -> Result<(), BadScenario> {
        for (full, _, value, which) in self.of_ends().filter(|(_, key, ..)| *key == HOST) {
            let say = |message| self.bad(value, &full, message);
            let text = value.get_ref().as_str();
            let text =
                text.ok_or_else(|| say("expected words, such as \"write=13ms\"".to_owned()))?;
            let model: HostModel =
                text.parse().map_err(|bad: crate::net::BadNet| say(bad.to_string()))?;
            for end in which {
                hosts[end.index()] = Some(model);
            }
        }
        Ok(())
    }
}

/// A value in the notation that settings take.
fn word(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(on) => if *on { "on" } else { "off" }.to_owned(),
        _ => return None,
    })
}
