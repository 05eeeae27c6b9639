//! A curve: a result of a transfer as a function of one key.
//!
//! ```toml
//! [[curve]]
//! title = "A message, and its RFNM, by its length"
//! The varied key.
//! values = [1008, 2016]
//! x = "bits of a message"
//! y = "ms"
//! scenario = { protocol = "messages" }      # on top of `common`
//! lines = [{ name = "until it is there", of = "transit" }]
//! ```

use super::measure::{Measure, exact, tenths};
use crate::scenario::{BadScenario, Layer, Load, Outcome, Partial, Scenario};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CurveFile {
    title: String,
    key: String,
    values: Vec<u64>,
    x: String,
    y: String,
    scenario: Option<Partial>,
    lines: Vec<LineFile>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineFile {
    name: String,
    of: Measure,
    scenario: Option<Partial>,
}

/// A curve with the runs of its points.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    file: CurveFile,
    /// Runs of each line, one for each value.
    jobs: Vec<Range<usize>>,
}

/// A curve of a report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Curve {
    /// What it is, in a sentence.
    pub title: String,
    /// Axis labels.
    pub axes: [String; 2],
    /// Its lines by name: points from left to right, their values in thousandths; failed ones are omitted.
    pub lines: Vec<(String, Vec<(u64, u64)>)>,
}

impl Planned {
    /// Adds the runs of a curve.
    pub(super) fn plan(
        file: CurveFile,
        source: (&str, &str),
        common: &Layer,
        load: Load<'_>,
        jobs: &mut Vec<Scenario>,
    ) -> Result<Self, BadScenario> {
        let layer =
            |partial: &Option<Partial>| Layer::of(source, partial.clone().unwrap_or_default());
        let on_curve = layer(&file.scenario);
        let mut ranges = Vec::new();
        for line in &file.lines {
            let (first, on_line) = (jobs.len(), layer(&line.scenario));
            for value in &file.values {
                let set = Layer::assignment(&format!("{}={value}", file.key))?;
                let layers = [common, &on_curve, &on_line, &set];
                jobs.push(Scenario::resolve(&layers, load)?);
            }
            ranges.push(first..jobs.len());
        }
        Ok(Self { file, jobs: ranges })
    }

    /// The results.
    pub(super) fn curve(&self, outcomes: &[Outcome]) -> Curve {
        let CurveFile { title, values, x, y, lines, .. } = &self.file;
        let lines = lines.iter().zip(&self.jobs).map(|(line, jobs)| {
            let runs = outcomes.get(jobs.clone()).unwrap_or_default();
            let point = |(value, run): (&u64, &Outcome)| {
                let ours = exact(line.of, run).filter(|_| run.is_done())?;
                Some((*value, ours))
            };
            (line.name.clone(), values.iter().zip(runs).filter_map(point).collect())
        });
        Curve { title: title.clone(), axes: [x.clone(), y.clone()], lines: lines.collect() }
    }
}

impl Curve {
    /// Its numbers: a row for each value.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = vec![vec![format!("{}, {}", self.axes[0], self.axes[1])]];
        rows[0].extend(self.lines.iter().map(|(name, _)| name.clone()));
        let points = self.lines.iter().flat_map(|(_, points)| points);
        let values: BTreeSet<u64> = points.map(|point| point.0).collect();
        rows.extend(values.into_iter().map(|value| {
            let of = |(_, points): &(String, Vec<(u64, u64)>)| {
                let found = points.iter().find(|point| point.0 == value);
                found.map_or_else(String::new, |point| tenths(point.1))
            };
            std::iter::once(format!("{value}")).chain(self.lines.iter().map(of)).collect()
        }));
        rows
    }
}
