//! The published values of a trial, and ours.

use super::file::{BestFile, BetweenFile, SeriesFile};
use super::statistics::{correlation, mean_and_deviation, median};
use super::{Trial, file};
use crate::scenario::{BadScenario, Outcome};
use crate::table::file::Class;
use crate::table::judge::{Cell, Slower, Verdict};
use std::collections::BTreeMap;
use toml::Spanned;

type Reasons = BTreeMap<Spanned<String>, String>;

/// What a trial's cells have in common.
#[derive(Clone, Copy)]
pub(in crate::table) struct Setting<'a> {
    /// Name of the table.
    pub(in crate::table) table: &'a str,
    /// How near is near enough.
    pub(in crate::table) class: Class,
    /// What the line can carry.
    pub(in crate::table) limit_cps: Option<u64>,
    /// What became of all jobs of the table.
    pub(in crate::table) outcomes: &'a [Outcome],
}

/// All cells of a trial.
pub(in crate::table) fn judge(trial: &Trial, setting: Setting<'_>) -> Vec<Cell> {
    let mut page = Page { trial, setting, cells: Vec::new() };
    let rates: Vec<Vec<(Vec<f64>, f64)>> =
        trial.series.iter().map(|runs| rates(runs, setting.outcomes)).collect();
    for (index, of) in trial.file.series.iter().enumerate() {
        page.series(of, &rates[index], index);
    }
    if trial.file.has_order_of_means() {
        page.order_of_means(&rates);
    }
    let over_axes: Vec<usize> =
        (0..rates.len()).filter(|index| trial.file.series[*index].repeat.is_none()).collect();
    if let Some(between) = &trial.file.between {
        page.between(between, over_axes[0], over_axes[1]);
    }
    for best in &trial.file.best {
        page.best(best, &[&rates[over_axes[0]], &rates[over_axes[1]]]);
    }
    page.cells
}

/// The axes' values and the rate of each transfer that was done.
fn rates(runs: &[(Vec<u64>, usize)], outcomes: &[Outcome]) -> Vec<(Vec<f64>, f64)> {
    let rate = |(point, job): &(Vec<u64>, usize)| {
        let outcome = outcomes.get(*job).filter(|outcome| outcome.is_done())?;
        Some((point.iter().map(|v| *v as f64).collect(), outcome.printed_cps() as f64))
    };
    runs.iter().filter_map(rate).collect()
}

/// How a value is shown. Each may be off by the table's class, and by half a unit.
#[derive(Clone, Copy)]
enum Kind {
    /// A rate.
    Rate,
    /// A number of transfers.
    Count,
    /// A percentage with one decimal.
    Percent,
    /// A place on an axis.
    Place,
}

struct Page<'a> {
    trial: &'a Trial,
    setting: Setting<'a>,
    cells: Vec<Cell>,
}

impl Page<'_> {
    fn cell(&self, part: &str, what: &str, unit: &'static str) -> Cell {
        Cell {
            table: self.setting.table.to_owned(),
            row: self.trial.file.row(part),
            col: what.to_owned(),
            published: String::new(),
            ours: String::new(),
            range: String::new(),
            unit,
            ratio_per_mille: None,
            verdict: Verdict::Own,
            reason: String::new(),
            defaults: String::new(),
            slower: String::new(),
            efficiency: None,
        }
    }

    /// Judges a cell: the reason, if there is one, has to be needed.
    fn put(&mut self, mut cell: Cell, same: bool, reason: Option<&String>) {
        cell.verdict = match (same, reason) {
            (true, None) => Verdict::Reproduced,
            (true, Some(_)) => Verdict::Needless,
            (false, Some(_)) => Verdict::Differs,
            (false, None) => Verdict::Unexplained,
        };
        cell.reason = reason.filter(|_| !same).cloned().unwrap_or_default();
        self.cells.push(cell);
    }

    fn number(
        &mut self,
        (part, what): (&str, &str),
        kind: Kind,
        published: f64,
        ours: Option<f64>,
        reasons: &Reasons,
    ) {
        let unit = match kind {
            Kind::Rate => "cps",
            Kind::Percent => "%",
            Kind::Count | Kind::Place => "",
        };
        let shown = |value: f64| match kind {
            Kind::Percent => format!("{value:.1}"),
            _ => format!("{}", value.round()),
        };
        let mut cell = self.cell(part, what, unit);
        cell.published = shown(published);
        cell.ours = ours.map_or_else(|| "fail".to_owned(), shown);
        if published > 0.0 {
            cell.ratio_per_mille = ours.map(|ours| (ours / published * 1000.0).round() as u64);
        }
        let class = published * self.setting.class.per_mille() as f64 / 1000.0;
        let same = ours.is_some_and(|ours| (ours - published).abs() <= class + 0.5);
        if what == "mean" {
            self.with_defaults(&mut cell);
        }
        self.put(cell, same, of(reasons, what));
    }

    /// Whether the mean of our defaults is more than a hundredth below that of this series, or
    /// more of them fail, and the reason that is given for it.
    fn slower(&self, of: &SeriesFile, index: usize) -> Slower {
        let runs = |jobs: &mut dyn Iterator<Item = usize>| {
            let runs: Vec<&Outcome> =
                jobs.filter_map(|job| self.setting.outcomes.get(job)).collect();
            let done = runs.iter().filter(|run| run.is_done());
            let rates: Vec<f64> = done.map(|run| run.millicps() as f64).collect();
            let failed = runs.len() - rates.len();
            (mean_and_deviation(&rates).map_or(0.0, |spread| spread.0), failed, runs.len())
        };
        let (ours, ours_failed, transfers) =
            runs(&mut self.trial.series[index].iter().map(|run| run.1));
        let (defaults, failed, seeds) = runs(&mut self.trial.defaults.clone());
        let slower = defaults < ours * 0.99 || failed * transfers > ours_failed * seeds;
        Slower::of(slower, of.defaults_reason.as_deref())
    }

    /// The mean rate with our defaults, and what share of the line it is.
    fn with_defaults(&self, cell: &mut Cell) {
        let runs = self.setting.outcomes.get(self.trial.defaults.clone()).unwrap_or_default();
        let done: Vec<f64> =
            runs.iter().filter(|run| run.is_done()).map(|run| run.millicps() as f64).collect();
        let Some((mean, _)) = mean_and_deviation(&done) else { return };
        cell.defaults = format!("{}", (mean / 1000.0).round());
        if done.len() < runs.len() {
            let failed = runs.len() - done.len();
            cell.defaults = format!("{} ({failed} of {} fail)", cell.defaults, runs.len());
        }
        let limit = self.setting.limit_cps.map(|cps| cps * 1000);
        let limit = limit.or_else(|| runs.iter().find_map(|run| run.limit_millicps));
        cell.efficiency = limit.map(|limit| (mean * 100_000.0 / limit as f64).round() as u64);
    }

    fn series(&mut self, of: &SeriesFile, rates: &[(Vec<f64>, f64)], index: usize) {
        let part = of.name.as_str();
        let failed = self.trial.series[index].len() - rates.len();
        if failed > 0 {
            let what = (part, "transfers that fail");
            self.number(what, Kind::Count, 0.0, Some(failed as f64), &of.reasons);
        }
        let values: Vec<f64> = rates.iter().map(|rate| rate.1).collect();
        let spread = mean_and_deviation(&values);
        let by = |order: fn(f64, f64) -> f64| values.iter().copied().reduce(order);
        let (max, min) = (by(f64::max), by(f64::min));
        // How many came to what the source's fastest and slowest did, not to what ours did.
        let having = |reached: &dyn Fn(f64) -> bool| {
            Some(values.iter().filter(|value| reached(**value)).count() as f64)
        };
        let fastest = having(&|value| of.max.is_some_and(|max| value >= max));
        let slowest = having(&|value| of.min.is_some_and(|min| value <= min));
        let count = |count: Option<u64>| count.map(|count| count as f64);
        for (what, kind, published, ours) in [
            ("max", Kind::Rate, of.max, max),
            ("max-count", Kind::Count, count(of.max_count), fastest),
            ("min", Kind::Rate, of.min, min),
            ("min-count", Kind::Count, count(of.min_count), slowest),
            ("mean", Kind::Rate, of.mean, spread.map(|spread| spread.0)),
            ("median", Kind::Rate, of.median, median(&values)),
            ("stddev", Kind::Rate, of.stddev, spread.map(|spread| spread.1)),
        ] {
            if let Some(published) = published {
                self.number((part, what), kind, published, ours, &of.reasons);
            }
            if what == "mean" && published.is_some() {
                let slower = self.slower(of, index);
                slower.mark(self.cells.last_mut());
            }
        }
        let mut both = Vec::new();
        for (name, published) in &of.r {
            let pairs: Vec<(f64, f64)> =
                rates.iter().map(|(point, rate)| (self.place(name, point), *rate)).collect();
            let ours = correlation(&pairs);
            both.push((name.as_str(), *published, ours.unwrap_or(0.0)));
            self.r(part, &format!("r {name}"), *published, ours, &of.reasons);
        }
        if both.len() > 1 {
            self.order_of_r(part, &both, &of.reasons);
        }
    }

    /// Where a transfer is on this axis, or on the product of all.
    fn place(&self, name: &str, point: &[f64]) -> f64 {
        let axis = self.trial.file.axis.iter().position(|axis| axis.name == name);
        axis.map_or_else(|| point.iter().product(), |axis| point[axis])
    }

    /// The sign of a correlation, as it is printed. One of 0.00 has none.
    fn r(&mut self, part: &str, what: &str, published: f64, ours: Option<f64>, reasons: &Reasons) {
        let mut cell = self.cell(part, what, "");
        cell.published = format!("{published:.2}");
        cell.ours = ours.map_or_else(
            || "none".to_owned(),
            // Never -0.00.
            |ours| format!("{:.2}", (ours * 100.0).round() / 100.0 + 0.0),
        );
        let sign = |r: f64| (r * 100.0).round().partial_cmp(&0.0);
        let same = ours.is_some_and(|ours| sign(ours) == sign(published));
        self.put(cell, same, of(reasons, what));
    }

    /// The rank: all come in the published order; those that are printed alike come in any.
    fn order_of_r(&mut self, part: &str, both: &[(&str, f64, f64)], reasons: &Reasons) {
        let ranked = |pick: fn(&(&str, f64, f64)) -> f64| {
            let mut list: Vec<&(&str, f64, f64)> = both.iter().collect();
            list.sort_by(|a, b| pick(a).total_cmp(&pick(b)));
            list.iter().map(|r| r.0).collect::<Vec<_>>().join(" < ")
        };
        let mut cell = self.cell(part, "order of r", "");
        (cell.published, cell.ours) = (ranked(|r| r.1), ranked(|r| r.2));
        let same = both.iter().all(|a| both.iter().all(|b| b.1 <= a.1 || b.2 > a.2));
        self.put(cell, same, of(reasons, "order of r"));
    }

    fn order_of_means(&mut self, rates: &[Vec<(Vec<f64>, f64)>]) {
        let mut means = Vec::new();
        for (of, rates) in self.trial.file.series.iter().zip(rates) {
            let values: Vec<f64> = rates.iter().map(|rate| rate.1).collect();
            let ours = mean_and_deviation(&values).map_or(0.0, |spread| spread.0);
            means.extend(of.mean.map(|published| (of.name.as_str(), published, ours)));
        }
        let ranked = |pick: fn(&(&str, f64, f64)) -> f64| {
            let mut list: Vec<_> = means.iter().collect();
            list.sort_by(|a, b| pick(a).total_cmp(&pick(b)));
            list.iter().map(|mean| mean.0).collect::<Vec<_>>().join(" < ")
        };
        let mut cell = self.cell(super::ALL, "order of means", "");
        (cell.published, cell.ours) = (ranked(|mean| mean.1), ranked(|mean| mean.2));
        let same = cell.published == cell.ours;
        let reason = self.trial.file.order_reason.clone();
        self.put(cell, same, reason.as_ref());
    }

    fn between(&mut self, between: &BetweenFile, first: usize, second: usize) {
        let part = BetweenFile::part(
            [first, second].map(|index| self.trial.file.series[index].name.as_str()),
        );
        let reasons = &between.reasons;
        let rate = |job: usize| {
            let outcome = self.setting.outcomes.get(job).filter(|outcome| outcome.is_done());
            outcome.map(|outcome| outcome.printed_cps() as f64)
        };
        let runs = |index: usize| self.trial.series[index].iter().map(|run| rate(run.1));
        let with = |index, x: f64| runs(index).flatten().map(move |rate| (x, rate));
        let all: Vec<(f64, f64)> = with(first, 1.0).chain(with(second, 0.0)).collect();
        let mut counts = [0u32; 3];
        for (a, b) in runs(first).zip(runs(second)) {
            let (Some(a), Some(b)) = (a, b) else { continue };
            counts[if a > b { 0 } else { usize::from(a < b) + 1 }] += 1;
        }
        let [wins, ties, losses] = counts.map(f64::from);
        let pairs = wins + ties + losses;
        if let Some(published) = between.r {
            self.r(&part, "r", published, correlation(&all), reasons);
        }
        if let Some(published) = between.r_again {
            self.r(&part, "r again", published, correlation(&all), reasons);
        }
        let count = |count: Option<u64>| count.map(|count| count as f64);
        for (what, kind, published, ours) in [
            ("wins", Kind::Count, count(between.wins), wins),
            ("ties", Kind::Count, count(between.ties), ties),
            ("losses", Kind::Count, count(between.losses), losses),
            ("percent", Kind::Percent, between.percent, (wins + ties) * 100.0 / pairs.max(1.0)),
        ] {
            if let Some(published) = published {
                self.number((&part, what), kind, published, Some(ours), reasons);
            }
        }
    }

    fn best(&mut self, best: &BestFile, rates: &[&Vec<(Vec<f64>, f64)>]) {
        let name = best.axis.get_ref();
        let all = || rates.iter().flat_map(|rates| rates.iter());
        let max = all().map(|rate| rate.1).fold(0.0, f64::max);
        let places: Vec<f64> = all()
            .filter(|rate| rate.1.total_cmp(&max).is_eq())
            .map(|rate| self.place(name, &rate.0))
            .collect();
        let part = best.part();
        for bucket in &best.bucket {
            let range = bucket.from as f64..=bucket.to as f64;
            let ours = places.iter().filter(|place| range.contains(place)).count();
            let what = format!("{} to {}", bucket.from, bucket.to);
            let published = bucket.count as f64;
            self.number((&part, &what), Kind::Count, published, Some(ours as f64), &best.reasons);
        }
        if let Some(published) = best.median {
            let ours = median(&places);
            self.number((&part, "median"), Kind::Place, published, ours, &best.reasons);
        }
    }
}

/// The reason that is given for this cell, or for all of them.
fn of<'a>(reasons: &'a Reasons, what: &str) -> Option<&'a String> {
    reasons.iter().find(|(key, _)| key.get_ref() == what).map(|(_, reason)| reason)
}

impl file::TrialFile {
    /// Every reason is one for a cell that there is.
    pub(super) fn check_reasons(&self, source: (&str, &str)) -> Result<(), BadScenario> {
        let known = |reasons: &Reasons, cells: &[String]| match reasons
            .keys()
            .find(|key| !cells.contains(key.get_ref()))
        {
            None => Ok(()),
            Some(key) => {
                let say = format!("expected one of the cells {}", cells.join(", "));
                Err(BadScenario::at(source, &key.span(), "reasons", say))
            }
        };
        for of in &self.series {
            let mut cells = vec!["transfers that fail".to_owned(), "order of r".to_owned()];
            let numbers = [
                ("max", of.max.is_some()),
                ("max-count", of.max_count.is_some()),
                ("min", of.min.is_some()),
                ("min-count", of.min_count.is_some()),
                ("mean", of.mean.is_some()),
                ("median", of.median.is_some()),
                ("stddev", of.stddev.is_some()),
            ];
            cells.extend(numbers.iter().filter(|n| n.1).map(|n| n.0.to_owned()));
            cells.extend(of.r.keys().map(|name| format!("r {name}")));
            if of.defaults_reason.is_some() && of.mean.is_none() {
                let say = "expected a mean, which our defaults are compared with";
                return Err(BadScenario::missing(source.0, "trial.series.defaults-reason", say));
            }
            known(&of.reasons, &cells)?;
        }
        if let Some(between) = &self.between {
            let cells = ["r", "r again", "wins", "ties", "losses", "percent"].map(str::to_owned);
            known(&between.reasons, &cells)?;
        }
        for best in &self.best {
            let bucket = |b: &file::BucketFile| format!("{} to {}", b.from, b.to);
            let mut cells: Vec<String> = best.bucket.iter().map(bucket).collect();
            cells.push("median".to_owned());
            known(&best.reasons, &cells)?;
        }
        Ok(())
    }
}
