//! The published values of a trial, and ours.

use super::file::{BestFile, BetweenFile, SeriesFile};
use super::{Trial, file};
use crate::scenario::{BadScenario, Outcome};
use crate::table::Table;
use crate::table::cell::{Cell, Slower, Verdict};
use crate::table::judge::verdict;
use crate::table::kind::Kind as Of;
use crate::table::statistics::{
    correlation, correlations_differ, counts_differ, mean_and_deviation, median, tables_differ,
};
use std::collections::BTreeMap;
use toml::Spanned;

type Reasons = BTreeMap<Spanned<String>, String>;

/// What a trial's cells have in common.
#[derive(Clone, Copy)]
pub(in crate::table) struct Setting<'a> {
    pub(in crate::table) table: &'a Table,
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

/// How a value is shown and judged.
#[derive(Clone, Copy)]
enum Kind {
    /// A rate: it may be off by the table's class.
    Rate,
    /// A deviation of rates: likewise.
    Spread,
    /// A place on an axis: likewise.
    Place,
    /// Transfers that failed, of which none was published.
    Failures,
}

struct Page<'a> {
    trial: &'a Trial,
    setting: Setting<'a>,
    cells: Vec<Cell>,
}

impl Page<'_> {
    fn cell(&self, part: &str, what: &str, unit: &'static str, kind: Of) -> Cell {
        let row = self.trial.file.row(part);
        Cell {
            kind,
            fitted: self.setting.table.is_fitted(&row, what),
            setting: row.clone(),
            quantity: what.to_owned(),
            ..Cell::new(&self.setting.table.name, &row, what.to_owned(), unit)
        }
    }

    /// Judges a cell: the reason, if there is one, has to be needed.
    fn put(&mut self, mut cell: Cell, same: bool, reason: Option<&String>) {
        verdict(&mut cell, same, reason.map_or("", String::as_str));
        if same && reason.is_some() {
            cell.verdict = Verdict::Needless;
        }
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
        let (unit, shape) = match kind {
            Kind::Rate => ("cps", Of::Statistic),
            Kind::Spread => ("cps", Of::Spread),
            Kind::Place => ("", Of::Amount),
            Kind::Failures => ("", Of::Zero),
        };
        let shown = |value: f64| format!("{}", value.round());
        let mut cell = self.cell(part, what, unit, shape);
        cell.published = shown(published);
        cell.numbers = vec![published];
        cell.values = ours.into_iter().collect();
        cell.ours = ours.map_or_else(|| "fail".to_owned(), shown);
        if published > 0.0 {
            cell.ratio_per_mille = ours.map(|ours| (ours / published * 1000.0).round() as u64);
        }
        let class = published * self.setting.table.file.class.per_mille() as f64 / 1000.0;
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
        let limit = self.setting.table.file.limit_cps.map(|cps| cps * 1000);
        let limit = limit.or_else(|| runs.iter().find_map(|run| run.limit_millicps));
        cell.efficiency = limit.map(|limit| (mean * 100_000.0 / limit as f64).round() as u64);
    }

    fn series(&mut self, of: &SeriesFile, rates: &[(Vec<f64>, f64)], index: usize) {
        let part = of.name.as_str();
        let failed = self.trial.series[index].len() - rates.len();
        if failed > 0 {
            let what = (part, "transfers that fail");
            self.number(what, Kind::Failures, 0.0, Some(failed as f64), &of.reasons);
        }
        let values: Vec<f64> = rates.iter().map(|rate| rate.1).collect();
        let spread = mean_and_deviation(&values);
        let by = |order: fn(f64, f64) -> f64| values.iter().copied().reduce(order);
        let (max, min) = (by(f64::max), by(f64::min));
        // How many came to what the source's fastest and slowest did, not to what ours did.
        let having = |reached: &dyn Fn(f64) -> bool| {
            values.iter().filter(|value| reached(**value)).count() as u64
        };
        let fastest = having(&|value| of.max.is_some_and(|max| value >= max));
        let slowest = having(&|value| of.min.is_some_and(|min| value <= min));
        for (what, kind, published, ours) in [
            ("max", Kind::Rate, of.max, max),
            ("min", Kind::Rate, of.min, min),
            ("mean", Kind::Rate, of.mean, spread.map(|spread| spread.0)),
            ("median", Kind::Rate, of.median, median(&values)),
            ("stddev", Kind::Spread, of.stddev, spread.map(|spread| spread.1)),
        ] {
            if let Some(published) = published {
                self.number((part, what), kind, published, ours, &of.reasons);
            }
            if what == "mean" && published.is_some() {
                let slower = self.slower(of, index);
                slower.mark(self.cells.last_mut());
            }
        }
        for (what, published, ours) in
            [("max-count", of.max_count, fastest), ("min-count", of.min_count, slowest)]
        {
            if let Some(published) = published {
                self.count((part, what), published, ours, values.len() as u64, &of.reasons);
            }
        }
        let mut both = Vec::new();
        for (name, published) in &of.r {
            let pairs: Vec<(f64, f64)> =
                rates.iter().map(|(point, rate)| (self.place(name, point), *rate)).collect();
            let ours = correlation(&pairs);
            both.push((name.as_str(), *published, ours.unwrap_or(0.0)));
            let what = format!("r {name}");
            self.r((part, &what), *published, ours, rates.len(), &of.reasons);
        }
        self.order_of_r(part, &both, rates.len(), &of.reasons);
    }

    /// Where a transfer is on this axis, or on the product of all.
    fn place(&self, name: &str, point: &[f64]) -> f64 {
        let axis = self.trial.file.axis.iter().position(|axis| axis.name == name);
        axis.map_or_else(|| point.iter().product(), |axis| point[axis])
    }

    /// A number of transfers of a series: not another one than published, by an exact test.
    fn count(
        &mut self,
        (part, what): (&str, &str),
        published: u64,
        ours: u64,
        of: u64,
        reasons: &Reasons,
    ) {
        let mut cell = self.cell(part, what, "", Of::Extreme);
        cell.published = published.to_string();
        cell.ours = ours.to_string();
        cell.numbers = vec![published as f64];
        cell.values = vec![ours as f64];
        cell.of = Some(of);
        self.put(cell, !counts_differ(published, ours), self::of(reasons, what));
    }

    /// A correlation, by Fisher's z: ours and the published one are of equally many transfers.
    fn r(
        &mut self,
        (part, what): (&str, &str),
        published: f64,
        ours: Option<f64>,
        n: usize,
        reasons: &Reasons,
    ) {
        let mut cell = self.cell(part, what, "", Of::Correlation);
        cell.published = format!("{published:.2}");
        // Never -0.00.
        let shown = |ours: f64| format!("{:.2}", (ours * 100.0).round() / 100.0 + 0.0);
        cell.ours = ours.map_or_else(|| "none".to_owned(), shown);
        cell.numbers = vec![published];
        cell.values = ours.into_iter().collect();
        cell.of = Some(n as u64);
        let same = ours.is_some_and(|ours| !correlations_differ(published, ours, n));
        self.put(cell, same, of(reasons, what));
    }

    /// The order of the correlations that differ from each other in the source.
    fn order_of_r(&mut self, part: &str, both: &[(&str, f64, f64)], n: usize, reasons: &Reasons) {
        let ordered = |a: &(&str, f64, f64), b: &(&str, f64, f64)| {
            a.1 < b.1 && correlations_differ(a.1, b.1, n)
        };
        let pairs = || both.iter().flat_map(|a| both.iter().map(move |b| (a, b)));
        let pairs: Vec<_> = pairs().filter(|(a, b)| ordered(a, b)).collect();
        if pairs.is_empty() {
            return;
        }
        let words = |(a, b): &(&(&str, f64, f64), &(&str, f64, f64)), less: bool| {
            format!("{} {} {}", a.0, if less { "<" } else { ">" }, b.0)
        };
        let mut cell = self.cell(part, "order of r", "", Of::Order);
        let published: Vec<String> = pairs.iter().map(|pair| words(pair, true)).collect();
        let ours: Vec<String> = pairs.iter().map(|pair| words(pair, pair.0.2 < pair.1.2)).collect();
        cell.published = published.join(", ");
        cell.ours = ours.join(", ");
        let same = cell.published == cell.ours;
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
        let mut cell = self.cell(super::ALL, "order of means", "", Of::Order);
        cell.published = ranked(|mean| mean.1);
        cell.ours = ranked(|mean| mean.2);
        let is_fitted = |name| self.setting.table.is_fitted(&self.trial.file.row(name), "mean");
        cell.fitted |= means.iter().any(|mean| is_fitted(mean.0));
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
        for (what, published) in [("r", between.r), ("r again", between.r_again)] {
            if let Some(published) = published {
                self.r((&part, what), published, correlation(&all), all.len(), reasons);
            }
        }
        if let Some(published) = between.counts() {
            self.pairs((&part, "wins, ties, losses"), &published, &counts, reasons);
        }
    }

    /// Counts that exclude each other, by a test of homogeneity.
    fn pairs(
        &mut self,
        (part, what): (&str, &str),
        published: &[u32],
        ours: &[u32],
        reasons: &Reasons,
    ) {
        let mut cell = self.cell(part, what, "", Of::Pairs);
        let shown = |of: &[u32]| of.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        cell.published = shown(published);
        cell.ours = shown(ours);
        cell.numbers = published.iter().copied().map(f64::from).collect();
        cell.values = ours.iter().copied().map(f64::from).collect();
        self.put(cell, !tables_differ(published, ours), of(reasons, what));
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
        let inside = |bucket: &file::BucketFile| {
            let range = bucket.from as f64..=bucket.to as f64;
            places.iter().filter(|place| range.contains(place)).count() as u32
        };
        let published: Vec<u32> = best.bucket.iter().map(|bucket| bucket.count as u32).collect();
        let ours: Vec<u32> = best.bucket.iter().map(inside).collect();
        self.pairs((&part, &best.words()), &published, &ours, &best.reasons);
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
            let cells = ["r", "r again", "wins, ties, losses"].map(str::to_owned);
            known(&between.reasons, &cells)?;
        }
        for best in &self.best {
            known(&best.reasons, &[best.words(), "median".to_owned()])?;
        }
        Ok(())
    }
}
