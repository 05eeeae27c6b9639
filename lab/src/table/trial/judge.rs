//! What was published of a trial, and ours.

use super::file::{BestFile, BetweenFile, SeriesFile};
use super::statistics::{correlation, insignificant, mean_and_deviation, median};
use super::{Trial, file};
use crate::scenario::{BadScenario, Outcome};
use crate::table::file::Class;
use crate::table::judge::{Cell, Verdict};
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
        page.series(of, &rates[index], trial.series[index].len());
    }
    if trial.file.series.iter().filter(|of| of.mean.is_some()).count() > 1 {
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

/// How a value is shown and what it may be off.
#[derive(Clone, Copy)]
enum Kind {
    /// A rate: by the class.
    Rate,
    /// A rate of one transfer: half a second more.
    Extreme(f64),
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
            unit,
            ratio_per_mille: None,
            verdict: Verdict::Own,
            reason: String::new(),
            defaults: String::new(),
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
            Kind::Rate | Kind::Extreme(_) => "cps",
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
        let tolerance = match kind {
            Kind::Rate | Kind::Percent | Kind::Place => class + 0.5,
            Kind::Extreme(bytes) => class + published * published / bytes / 2.0,
            Kind::Count => class.max(2.0 * published.max(1.0).sqrt()),
        };
        let same = ours.is_some_and(|ours| (ours - published).abs() <= tolerance);
        if what == "mean" {
            self.with_defaults(&mut cell);
        }
        self.put(cell, same, of(reasons, what));
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

    fn series(&mut self, of: &SeriesFile, rates: &[(Vec<f64>, f64)], transfers: usize) {
        let part = of.name.as_str();
        let failed = transfers - rates.len();
        if failed > 0 {
            let what = (part, "transfers that fail");
            self.number(what, Kind::Count, 0.0, Some(failed as f64), &of.reasons);
        }
        let values: Vec<f64> = rates.iter().map(|rate| rate.1).collect();
        let spread = mean_and_deviation(&values);
        let by = |order: fn(f64, f64) -> f64| values.iter().copied().reduce(order);
        let (max, min) = (by(f64::max), by(f64::min));
        let having = |extreme: Option<f64>| {
            extreme.map(|extreme| {
                values.iter().filter(|value| value.total_cmp(&extreme).is_eq()).count() as f64
            })
        };
        let bytes = self.setting.outcomes.first().map_or(1.0, |_| self.bytes(of));
        let count = |count: Option<u64>| count.map(|count| count as f64);
        for (what, kind, published, ours) in [
            ("max", Kind::Extreme(bytes), of.max, max),
            ("max-count", Kind::Count, count(of.max_count), having(max)),
            ("min", Kind::Extreme(bytes), of.min, min),
            ("min-count", Kind::Count, count(of.min_count), having(min)),
            ("mean", Kind::Rate, of.mean, spread.map(|spread| spread.0)),
            ("median", Kind::Rate, of.median, median(&values)),
            ("stddev", Kind::Rate, of.stddev, spread.map(|spread| spread.1)),
        ] {
            if let Some(published) = published {
                self.number((part, what), kind, published, ours, &of.reasons);
            }
        }
        let chance = insignificant(values.len());
        let mut both = Vec::new();
        for (name, published) in &of.r {
            let pairs: Vec<(f64, f64)> =
                rates.iter().map(|(point, rate)| (self.place(name, point), *rate)).collect();
            let ours = correlation(&pairs);
            both.push((name.as_str(), *published, ours.unwrap_or(0.0)));
            self.r(part, &format!("r {name}"), *published, (ours, chance), &of.reasons);
        }
        if both.len() > 1 {
            self.order_of_r(part, &both, chance, &of.reasons);
        }
    }

    /// File bytes of a transfer of this series.
    fn bytes(&self, of: &SeriesFile) -> f64 {
        let index = self.trial.file.series.iter().position(|series| std::ptr::eq(series, of));
        let job = index.and_then(|index| self.trial.series[index].first()).map(|run| run.1);
        job.and_then(|job| self.setting.outcomes.get(job)).map_or(1.0, |run| run.bytes as f64)
    }

    /// Where a transfer is on this axis, or on the product of all.
    fn place(&self, name: &str, point: &[f64]) -> f64 {
        let axis = self.trial.file.axis.iter().position(|axis| axis.name == name);
        axis.map_or_else(|| point.iter().product(), |axis| point[axis])
    }

    fn r(
        &mut self,
        part: &str,
        what: &str,
        published: f64,
        (ours, chance): (Option<f64>, f64),
        reasons: &Reasons,
    ) {
        let mut cell = self.cell(part, what, "");
        cell.published = format!("{published:.2}");
        cell.ours = ours.map_or_else(|| "none".to_owned(), |ours| format!("{ours:.2}"));
        let same = ours.is_some_and(|ours| {
            let none = published.abs() < chance && ours.abs() < chance;
            none || (published * ours > 0.0 && ours.abs() >= chance.min(published.abs()))
        });
        self.put(cell, same, of(reasons, what));
    }

    /// Every two that differ by more than chance come in the published order.
    fn order_of_r(
        &mut self,
        part: &str,
        both: &[(&str, f64, f64)],
        chance: f64,
        reasons: &Reasons,
    ) {
        let ranked = |pick: fn(&(&str, f64, f64)) -> f64| {
            let mut list: Vec<&(&str, f64, f64)> = both.iter().collect();
            list.sort_by(|a, b| pick(a).total_cmp(&pick(b)));
            list.iter().map(|r| r.0).collect::<Vec<_>>().join(" < ")
        };
        let mut cell = self.cell(part, "order of r", "");
        (cell.published, cell.ours) = (ranked(|r| r.1), ranked(|r| r.2));
        let same = both.iter().all(|a| both.iter().all(|b| b.1 - a.1 <= chance || b.2 > a.2));
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
        let mut cell = self.cell("all", "order of means", "");
        (cell.published, cell.ours) = (ranked(|mean| mean.1), ranked(|mean| mean.2));
        let same = cell.published == cell.ours;
        let reason = self.trial.file.order_reason.clone();
        self.put(cell, same, reason.as_ref());
    }

    fn between(&mut self, between: &BetweenFile, first: usize, second: usize) {
        let names = [first, second].map(|index| self.trial.file.series[index].name.clone());
        let part = format!("{} against {}", names[0], names[1]);
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
            let ours = (correlation(&all), insignificant(all.len()));
            self.r(&part, "r", published, ours, reasons);
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
        let part = format!("{name} of the fastest");
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
            known(&of.reasons, &cells)?;
        }
        if let Some(between) = &self.between {
            let cells = ["r", "wins", "ties", "losses", "percent"].map(str::to_owned);
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
