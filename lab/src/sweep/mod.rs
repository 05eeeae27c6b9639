//! A sweep: one scenario, run with every combination of values of some keys.
//!
//! ```toml
//! title = "Kermit over half a second: throughput against window and packet length"
//! scenario = "../scenarios/clean.toml"       # the scenario below everything, if there is one
//!
//! [base]                                     # any keys of a scenario, on top of it
//! line = "9600,delay=250ms"
//!
//! [[range]]                                  # the first range turns slowest
//! key = "both.window"
//! values = [1, 2, 4, 8, 16, 31]
//!
//! [[range]]
//! key = ["both.send-length", "both.receive-length"]
//! name = "length"                            # its column in the results
//! from = 100
//! to = 2000
//! step = 100
//!
//! [[range]]
//! key = "line"
//! name = "delay"
//! format = "9600,delay={}ms"                 # what the key is set to
//! values = [0, 250, 1000]
//! ```
//!
//! | key of a range | meaning |
//! |---|---|
//! | `key` | a key of the scenario, as `wst lab run --set` takes it, or several that take one value |
//! | `name` | the column; the (first) key unless given |
//! | `values` | a list of whole numbers, texts, `true` and `false` |
//! | `from`, `to`, `step` | whole numbers; `to` is one of them if it is met, a step of 1 unless given, negative to count down |
//! | `factor` | instead of `step`: each value is the one before it times this |
//! | `format` | a text with `{}` in it where the value is put |
//!
//! A line of many parts is a template: `line = "path:rate={rate},rtt={rtt}"` at the top, and ranges
//! with `key = "line"` whose names stand in it.
//!
//! Files that the sweep or its scenario names are relative to the sweep's own file.
//!
//! A point is one combination; points are numbered from 0, the last range varying fastest. Shard I of N has
//! every Nth point from point I - 1 on. Each point is a scenario of its own, so any of them can be run on any
//! machine in any order and gives the same [`Row`]. A row carries the digest of its sweep: results of another
//! sweep, or of an edited one, are recognised. Comments and the title do not count.

mod file;
mod row;
mod text;

pub use row::{Column, Kind, Row};
pub use text::{BadRows, Format, Records, merge};

use crate::scenario::{BadScenario, Layer, Load, Outcome, Scenario};
use file::{Range, SweepFile};
use std::cell::RefCell;
use xxhash_rust::xxh3::Xxh3;

/// The sweeps that come with the laboratory, by name.
const BUILT_IN: &[(&str, &str)] = &[
    ("window-length", include_str!("../../sweeps/window-length.toml")),
    ("noise-length", include_str!("../../sweeps/noise-length.toml")),
    ("protocols-delay", include_str!("../../sweeps/protocols-delay.toml")),
    ("slip-echo", include_str!("../../sweeps/slip-echo.toml")),
    ("paths", include_str!("../../sweeps/paths.toml")),
    ("paths-file", include_str!("../../sweeps/paths-file.toml")),
    ("paths-file-few", include_str!("../../sweeps/paths-file-few.toml")),
    ("paths-few", include_str!("../../sweeps/paths-few.toml")),
];

/// Those that take long: 1400 points, or half a gigabyte for each.
const LONG: [&str; 3] = ["paths", "paths-file", "paths-file-few"];

/// The most points that a sweep may have.
const MOST_POINTS: usize = 10_000_000;

/// A sweep, read and checked: every point of it can be run.
#[derive(Clone, Debug)]
pub struct Sweep {
    name: String,
    title: String,
    path: String,
    text: String,
    layers: Vec<Layer>,
    ranges: Vec<Range>,
    /// The line with the places of the ranges that are parts of it.
    line: Option<String>,
    count: usize,
    digest: u64,
}

impl Sweep {
    /// The names of the sweeps that come with the laboratory, in their order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Those of them that take seconds, not hours: the default of a report.
    pub fn quick_names() -> impl Iterator<Item = &'static str> {
        Self::names().filter(|name| !LONG.contains(name))
    }

    /// The sweep of this name; `None` if there is none.
    pub fn named(name: &str) -> Option<Result<Self, BadScenario>> {
        let (name, text) = BUILT_IN.iter().find(|(of, _)| *of == name)?;
        let path = format!("lab/sweeps/{name}.toml");
        Some(Self::parse(name, &path, text, &crate::scenario::no_files))
    }

    /// Reads a sweep of this name from the text of a file called `path`, and checks each point.
    pub fn parse(name: &str, path: &str, text: &str, load: Load<'_>) -> Result<Self, BadScenario> {
        let source = (path, text);
        let file = SweepFile::parse(path, text)?;
        let ranges = file.ranges(source, &row::reserved())?;
        let count = ranges.iter().try_fold(1_usize, |count, range| {
            count.checked_mul(range.values.len()).filter(|count| *count <= MOST_POINTS)
        });
        let Some(count) = count else {
            let say = format!("expected at most {MOST_POINTS} points");
            return Err(BadScenario::missing(path, "range", say));
        };
        let hash = RefCell::new(Xxh3::new());
        let add = |part: &str| {
            hash.borrow_mut().update(&(part.len() as u64).to_le_bytes());
            hash.borrow_mut().update(part.as_bytes());
        };
        add(concat!("wetstring sweep 1 ", env!("CARGO_PKG_VERSION")));
        add(&meaning(path, text, &["title", "scenario"])?);
        let mut layers = Vec::new();
        if let Some(scenario) = &file.scenario {
            let (path, bad) = (scenario.get_ref(), |say| {
                BadScenario::at(source, &scenario.span(), "scenario", say)
            });
            let bytes = load(path).map_err(bad)?;
            let text = String::from_utf8(bytes)
                .map_err(|_| bad(format!("expected a scenario in UTF-8 in {path}")))?;
            add(&meaning(path, &text, &[])?);
            layers.push(Layer::parse(path, &text)?);
        }
        layers.push(Layer::of(source, file.base.unwrap_or_default()));
        let title = file.title.unwrap_or_else(|| name.to_owned());
        let line = file.line.map(toml::Spanned::into_inner);
        let (path, text) = (path.to_owned(), text.to_owned());
        let name = name.to_owned();
        let mut sweep = Self { name, title, path, text, layers, ranges, line, count, digest: 0 };
        sweep.check(&|path| {
            let bytes = load(path)?;
            hash.borrow_mut().update(&bytes);
            Ok(bytes)
        })?;
        sweep.digest = hash.borrow().digest();
        Ok(sweep)
    }

    /// Resolves every value with its file, and every combination of values without.
    fn check(&self, load: Load<'_>) -> Result<(), BadScenario> {
        let first = vec![0; self.ranges.len()];
        self.resolve(&first, &[], load)?;
        for (at, range) in self.ranges.iter().enumerate() {
            for index in 1..range.values.len() {
                let mut indices = first.clone();
                indices[at] = index;
                self.resolve(&indices, &[], load)?;
            }
        }
        // A key may be good with one protocol and unknown to another. Files cost too much to be
        // made for each point, and each has been made once.
        let empty = [Layer::assignment("file.made=zeros")?, Layer::assignment("file.bytes=0")?];
        if self.ranges.len() > 1 {
            for point in 0..self.count {
                self.resolve(&self.indices(point), &empty, load)?;
            }
        }
        Ok(())
    }

    /// The scenario with these values, and with the overrides on top of them.
    fn resolve(
        &self,
        indices: &[usize],
        on_top: &[Layer],
        load: Load<'_>,
    ) -> Result<Scenario, BadScenario> {
        let mut layers = self.layers.clone();
        let mut line = self.line.clone();
        for (range, index) in self.ranges.iter().zip(indices) {
            if range.is_part_of(self.line.as_deref()) {
                line = line.map(|line| line.replace(&range.place(), &range.set(*index)));
                continue;
            }
            for setting in range.assignments(*index) {
                let layer = Layer::assignment(&setting);
                layers.push(layer.map_err(|bad| self.placed(bad, indices))?);
            }
        }
        if let Some(line) = line {
            layers.push(Layer::assignment(&format!("line={line}"))?);
        }
        let all: Vec<&Layer> = layers.iter().chain(on_top).collect();
        Scenario::resolve(&all, load).map_err(|bad| self.placed(bad, indices))
    }

    /// The same error at the place in the file of the range that it is about.
    fn placed(&self, bad: BadScenario, indices: &[usize]) -> BadScenario {
        let set = bad.file.strip_prefix("--set ").unwrap_or_default();
        let found =
            self.ranges.iter().zip(indices).find(|(range, index)| {
                range.assignments(**index).any(|assignment| assignment == set)
            });
        let Some((range, index)) = found else { return bad };
        let value = &range.values[*index];
        let at = if bad.message.starts_with("unknown") { &range.key_at } else { &value.at };
        let named = |key: &&String| set.starts_with(&format!("{key}="));
        let key = range.keys.iter().find(named).cloned().unwrap_or(bad.key);
        let message = if bad.message.contains(&value.text) {
            bad.message
        } else {
            format!("{}, got {}", bad.message, value.text)
        };
        BadScenario::at((&self.path, &self.text), at, &key, message)
    }

    /// Index of the value of each range at this point.
    fn indices(&self, point: usize) -> Vec<usize> {
        let mut rest = point;
        let mut indices = vec![0; self.ranges.len()];
        for (index, range) in indices.iter_mut().zip(&self.ranges).rev() {
            *index = rest % range.values.len();
            rest /= range.values.len();
        }
        indices
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file it was read from.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What it is, in a sentence.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// How many points it has. At least one.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Which sweep it is: the same for the same scenario, ranges and files.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The points of shard `index` of `of`, counted from 1.
    pub fn shard(&self, index: usize, of: usize) -> impl Iterator<Item = usize> + use<> {
        (index.max(1) - 1..self.count).step_by(of.max(1))
    }

    /// The columns of a row, in their order.
    pub fn columns(&self) -> Vec<Column> {
        row::columns(self.ranges.iter().map(|range| (range.name.as_str(), range.numbers)))
    }

    /// The names of the ranges, and whether all values of each are numbers.
    pub fn ranges(&self) -> impl Iterator<Item = (&str, bool)> {
        self.ranges.iter().map(|range| (range.name.as_str(), range.numbers))
    }

    /// The values of the ranges at this point, in the order of the ranges.
    pub fn values(&self, point: usize) -> Vec<&str> {
        let values = self.ranges.iter().zip(self.indices(point));
        values.map(|(range, index)| range.values[index].text.as_str()).collect()
    }

    /// The scenario of this point. An error only if a file has changed since [`Sweep::parse`].
    pub fn scenario(&self, point: usize, load: Load<'_>) -> Result<Scenario, BadScenario> {
        self.resolve(&self.indices(point), &[], load)
    }

    /// The result row of a point.
    pub fn row(&self, point: usize, outcome: &Outcome) -> Row {
        row::row(self.digest, point, &self.values(point), outcome)
    }
}

/// What a TOML text means: without comments, blanks, the order of keys, and these top keys.
fn meaning(path: &str, text: &str, without: &[&str]) -> Result<String, BadScenario> {
    let mut table: toml::Table =
        toml::from_str(text).map_err(|error| BadScenario::of_toml(path, text, &error))?;
    table.retain(|key, _| !without.contains(&key));
    Ok(table.to_string())
}
