//! Trials: the same transfer with many settings, and published statements about all of them together.
//!
//! ```toml
//! [[trial]]
//! name = "by day"
//! scenario.line = "tcp:... over ethernet:10M,load=0%-80%@20s"
//! era.both = { check = "3" }                  # what the source had set for all of them
//! product = "wxp"                             # name of the product of all axes
//!
//! [[trial.axis]]                              # every combination is a transfer
//! name = "window"
//! key = "window"                              # a setting of both ends
//! from = 1
//! to = 31
//!
//! [[trial.series]]
//! name = "streaming"
//! era.both = { streaming = "on" }
//! max = 699050
//! max-count = 11                              # this many had it
//! mean = 441275
//! r = { window = -0.05, wxp = 0.18 }          # correlations of the rate
//! reasons = { max = "why ours differs" }
//!
//! [[trial.series]]
//! name = "ftp"
//! scenario.protocol = "ftp"
//! repeat = 20                                 # the same this many times, not over the axes
//! mean = 74200
//!
//! [trial.between]                             # the first series against the second
//! r = 0.23
//! wins = 346
//! ties = 74
//! losses = 138
//!
//! [[trial.best]]                              # where the fastest of the first two series are
//! axis = "window"
//! median = 14
//! bucket = [{ from = 1, to = 9, count = 6 }]
//! ```
//!
//! Each transfer has a seed of its own, in the order of the source: the last axis runs fastest, and
//! the series follow each other at each point. Rates are whole bytes by whole seconds. When is a
//! published value reproduced?
//!
//! | value | reproduced if |
//! |---|---|
//! | `max`, `min`, `mean`, `median`, `stddev` | within the table's class |
//! | `max-count`, `min-count` | an exact test at 5 % does not tell the two counts apart; `max-count` counts those that came to the published `max` |
//! | `r` | Fisher's z at 5 %, of as many transfers each, does not |
//! | `wins`, `ties`, `losses` together; the buckets of a `best` | a test of homogeneity at 5 % does not |
//! | order of the `r` of a series | those that the same z tells apart in the source come in that order |
//! | order of the means | all series come in the same order |
//!
//! A transfer that fails is left out of the statistics and counted in a cell of its own.

mod file;
mod judge;

pub(super) use file::TrialFile;
pub(super) use judge::{Setting, judge};

use crate::element::End;
use crate::scenario::{BadScenario, Layer, Load, Outcome, Scenario};
use std::ops::Range;

/// The row that compares all series.
const ALL: &str = "all";

/// A trial, and where its runs are among the table's jobs.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    file: TrialFile,
    /// By series: the values of the axes and the job of each transfer.
    series: Vec<Vec<(Vec<u64>, usize)>>,
    /// Runs with our defaults.
    defaults: Range<usize>,
}

/// One transfer of a trial, for plots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Name of the trial.
    pub trial: String,
    /// Name of the series.
    pub series: String,
    /// Name and value of each axis; none for a transfer that was only repeated.
    pub axes: Vec<(String, u64)>,
    /// Characters per second by whole seconds; `None` if it failed.
    pub cps: Option<u64>,
}

/// The source of a trial: the text of its file, the common settings, and how files are read.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) source: (&'a str, &'a str),
    pub(super) common: &'a Layer,
    pub(super) load: Load<'a>,
    /// Runs with the defaults.
    pub(super) seeds: u64,
}

impl Trial {
    /// Appends the scenarios of a trial to the list.
    pub(super) fn plan(
        file: TrialFile,
        origin: Origin<'_>,
        jobs: &mut Vec<Scenario>,
    ) -> Result<Self, BadScenario> {
        let source = origin.source;
        let layer = |partial: &Option<crate::scenario::Partial>| {
            Layer::of(source, partial.clone().unwrap_or_default())
        };
        file.check(source)?;
        file.check_reasons(source)?;
        let axes = file.axis.iter().map(|axis| axis.list(source)).collect::<Result<Vec<_>, _>>()?;
        let (scenario, era) = (layer(&file.scenario), layer(&file.era));
        let points = points(&axes);
        let mut series = Vec::new();
        let count = file.series.len() as u64;
        for (nth, of) in file.series.iter().enumerate() {
            let (own, own_era) = (layer(&of.scenario), layer(&of.era));
            // A comparator of another protocol does not have Kermit's settings.
            let whole = [origin.common, &scenario, &era, &own, &own_era];
            let without_era = [origin.common, &scenario, &own, &own_era];
            let layers: &[&Layer] = if of.repeat.is_some() { &without_era } else { &whole };
            let base = Scenario::resolve(layers, origin.load)?;
            let repeated = vec![Vec::new(); of.repeat.unwrap_or(0) as usize];
            let points = if of.repeat.is_some() { &repeated } else { &points };
            let mut runs = Vec::new();
            for (index, point) in points.iter().enumerate() {
                let seed = base.seed() + index as u64 * count + nth as u64;
                let mut job = base.clone().with_seed(seed);
                for (axis, value) in file.axis.iter().zip(point) {
                    for end in End::BOTH {
                        job.set(end, axis.key.get_ref(), &value.to_string()).map_err(|say| {
                            BadScenario::at(source, &axis.key.span(), "trial.axis.key", say)
                        })?;
                    }
                }
                runs.push((point.clone(), jobs.len()));
                jobs.push(job);
            }
            series.push(runs);
        }
        let first = jobs.len();
        let base = Scenario::resolve(&[origin.common, &scenario], origin.load)?;
        let seeds = if base.has_chance() { origin.seeds.max(1) } else { 1 };
        jobs.extend((0..seeds).map(|add| base.clone().with_seed(base.seed() + add)));
        Ok(Self { series, defaults: first..jobs.len(), file })
    }

    /// The rows that a report on it has.
    pub(super) fn rows(&self) -> Vec<String> {
        let file = &self.file;
        let mut parts: Vec<String> = file.series.iter().map(|of| of.name.clone()).collect();
        if file.has_order_of_means() {
            parts.push(ALL.to_owned());
        }
        if file.between.is_some() {
            let mut over_axes = file.series.iter().filter(|of| of.repeat.is_none());
            if let (Some(first), Some(second)) = (over_axes.next(), over_axes.next()) {
                parts.push(file::BetweenFile::part([&first.name, &second.name]));
            }
        }
        parts.extend(file.best.iter().map(file::BestFile::part));
        parts.iter().map(|part| file.row(part)).collect()
    }

    /// Whether a report on it has such a row, or this is its name.
    pub(super) fn has(&self, row: &str) -> bool {
        let named = !self.file.name.is_empty() && row == self.file.name;
        named || self.rows().iter().any(|own| own == row)
    }

    /// Where its runs are among the table's jobs: they stand together.
    pub(super) fn jobs(&self) -> Range<usize> {
        let all = self.series.iter().flatten().map(|(_, job)| *job);
        all.min().unwrap_or(self.defaults.start)..self.defaults.end
    }

    /// Its runs move this far to the front.
    pub(super) fn move_back(&mut self, by: usize) {
        for (_, job) in self.series.iter_mut().flatten() {
            *job -= by;
        }
        self.defaults = self.defaults.start - by..self.defaults.end - by;
    }

    /// The transfers, for plots.
    pub(super) fn samples(&self, outcomes: &[Outcome]) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (of, runs) in self.file.series.iter().zip(&self.series) {
            for (point, job) in runs {
                let name = |axis: &file::AxisFile| axis.name.clone();
                let outcome = outcomes.get(*job).filter(|outcome| outcome.is_done());
                samples.push(Sample {
                    trial: self.file.name.clone(),
                    series: of.name.clone(),
                    axes: self.file.axis.iter().map(name).zip(point.iter().copied()).collect(),
                    cps: outcome.map(Outcome::printed_cps),
                });
            }
        }
        samples
    }
}

impl TrialFile {
    /// The name of a row of the report.
    fn row(&self, part: &str) -> String {
        if self.name.is_empty() { part.to_owned() } else { format!("{}: {part}", self.name) }
    }

    /// Whether there is anything to rank.
    fn has_order_of_means(&self) -> bool {
        self.series.iter().filter(|of| of.mean.is_some()).count() > 1
    }

    /// What names each other must exist.
    fn check(&self, source: (&str, &str)) -> Result<(), BadScenario> {
        let axes: Vec<&str> = self.axis.iter().map(|axis| axis.name.as_str()).collect();
        for best in &self.best {
            if !axes.contains(&best.axis.get_ref().as_str()) {
                let say = format!("expected one of the axes {}", axes.join(", "));
                return Err(BadScenario::at(source, &best.axis.span(), "trial.best.axis", say));
            }
        }
        for of in &self.series {
            let known = axes.iter().copied().chain(self.product.as_deref());
            if let Some(name) = of.r.keys().find(|name| !known.clone().any(|axis| axis == *name)) {
                let say = format!("expected an axis or the product, got {name}");
                return Err(BadScenario::missing(source.0, "trial.series.r", say));
            }
        }
        let enough = self.series.iter().filter(|of| of.repeat.is_none()).count() >= 2;
        if (self.between.is_some() || !self.best.is_empty()) && !enough {
            let say = "expected two series over the axes to compare";
            return Err(BadScenario::missing(source.0, "trial.series", say));
        }
        Ok(())
    }
}

/// All combinations of the values; the last axis runs fastest.
fn points(axes: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let mut points = vec![Vec::new()];
    for values in axes {
        let with = |point: &Vec<u64>| {
            let extend = |value: &u64| point.iter().copied().chain([*value]).collect::<Vec<u64>>();
            values.iter().map(extend).collect::<Vec<_>>()
        };
        points = points.iter().flat_map(with).collect();
    }
    points
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_axis_runs_fastest() {
        let points = super::points(&[vec![1, 2], vec![5, 6, 7]]);
        assert_eq!(points.len(), 6);
        assert_eq!(points[..4], [vec![1, 5], vec![1, 6], vec![1, 7], vec![2, 5]]);
        assert_eq!(super::points(&[]), [Vec::<u64>::new()]);
    }
}
