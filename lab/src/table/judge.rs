//! Published values and ours: the ratio, and the verdict.

use super::cell::{Cell, Report, Slower, Verdict};
use super::file::{Better, Published, Result, Source};
use super::kind::Kind;
use super::measure::{Measure, exact, tenths};
use super::parameters::Parameter;
use super::{Table, Transfer, trial};
use crate::scenario::{Ending, Outcome};
use std::cmp::Reverse;
use std::ops::Range;

pub(super) fn judge(table: &Table, outcomes: &[Outcome]) -> Report {
    let file = &table.file;
    let mut cells = Vec::new();
    for row in &file.row {
        let transfers: Vec<&Transfer> =
            table.transfers.iter().filter(|transfer| transfer.row == row.name).collect();
        for transfer in &transfers {
            Judge { table, transfer, outcomes }.cells(&mut cells);
        }
        if file.order {
            cells.push(order(table, &transfers, row.order_reason.as_deref(), outcomes));
        }
    }
    // A reason for all cells is needless only if none of them has it.
    if let Some(reason) = &file.defaults_reason
        && cells.iter().all(|cell| cell.slower != *reason)
        && let Some(first) = cells.first_mut()
    {
        first.verdict = Verdict::Needless;
    }
    for trial in &table.trials {
        cells.extend(trial::judge(trial, trial::Setting { table, outcomes }));
    }
    let mut notes: Vec<String> = file.parameter.iter().map(Parameter::words).collect();
    notes.extend(file.assumed.iter().map(|text| format!("assumed: {text}")));
    notes.extend(file.not_modelled.iter().map(|text| format!("not modelled: {text}")));
    notes.extend(file.inconsistent.iter().map(|text| format!("the source: {text}")));
    Report {
        table: table.name.clone(),
        title: file.title.clone(),
        source: file.source.as_ref().map_or_else(String::new, Source::words),
        cells,
        notes,
        columns: file.column.iter().map(|column| column.name.clone()).collect(),
        own: file.own,
        samples: table.trials.iter().flat_map(|trial| trial.samples(outcomes)).collect(),
        curves: table.curves.iter().map(|curve| curve.curve(outcomes)).collect(),
    }
}

/// The run in the middle by its rate, which over windows of one length is not its time, and how many
/// failed. Failures count as slowest.
fn median<'a>(outcomes: &'a [Outcome], of: &Range<usize>) -> Option<(&'a Outcome, usize)> {
    let mut runs: Vec<&Outcome> = outcomes.get(of.clone())?.iter().collect();
    runs.sort_by_key(|run| (!run.is_done(), Reverse(run.millicps()), run.elapsed));
    let failed = runs.iter().filter(|run| !run.is_done()).count();
    Some((runs.get((runs.len().max(1) - 1) / 2)?, failed))
}

struct Judge<'a> {
    table: &'a Table,
    transfer: &'a Transfer,
    outcomes: &'a [Outcome],
}

impl Judge<'_> {
    /// What `eff` is a percentage of, in thousandths of characters per second.
    fn limit(&self, outcome: &Outcome) -> Option<u64> {
        self.table.file.limit_cps.map(|cps| cps * 1000).or(outcome.limit_millicps)
    }

    fn cells(&self, cells: &mut Vec<Cell>) {
        let Some((ours, failed)) = median(self.outcomes, &self.transfer.ours) else { return };
        let defaults = median(self.outcomes, &self.transfer.defaults).map(|(run, _)| run);
        let published = &self.transfer.published;
        if self.table.file.own {
            return cells.push(self.own(ours, failed));
        }
        if let Some(range) = published.saved {
            return cells.push(self.saved(range));
        }
        if let Some(better) = &published.better {
            return cells.push(self.better(better));
        }
        if let Some(outcome) = published.outcome {
            return cells.push(self.outcome(outcome, ours, defaults));
        }
        let first = cells.len();
        for (measure, value, half_digit) in &published.values {
            cells.push(self.value(*measure, *value, *half_digit, ours, defaults));
        }
        self.show_reason(&mut cells[first..]);
        // A reason for all of the values is needless only if none of them differs.
        let new = &mut cells[first..];
        let fine = |cell: &Cell| matches!(cell.verdict, Verdict::Reproduced | Verdict::Chance);
        if published.reason.is_some() && !new.is_empty() && new.iter().all(fine) {
            new[0].verdict = Verdict::Needless;
        }
        for (measure, cell) in published.values.iter().map(|value| value.0).zip(new) {
            let reason = published.reasons.contains_key(&measure);
            if reason && fine(cell) {
                cell.verdict = Verdict::Needless;
            }
        }
        for measure in &published.also {
            let mut cell = self.measured(*measure);
            cell.ours = self.printed(*measure, ours, *measure == Measure::Ack);
            cells.push(cell);
        }
        if let Some(defaults) = defaults {
            let slower = match (ours.is_done(), defaults.is_done()) {
                (true, true) => defaults.millicps() + defaults.millicps() / 100 < ours.millicps(),
                (ours, defaults) => ours && !defaults,
            };
            let common = self.table.file.defaults_reason.as_deref().filter(|_| slower);
            let slower = Slower::of(slower, published.defaults_reason.as_deref().or(common));
            slower.mark(&mut cells[first..]);
        }
    }

    /// How much less time it took than without what the cell names, on the mean of its files.
    fn saved(&self, (low, high): (u64, u64)) -> Cell {
        let mut cell = self.statement("saved", "%");
        cell.published = format!("{low}-{high}");
        let shares = self.transfer.ours.clone().zip(self.transfer.without.clone());
        let share = |(with, without): (usize, usize)| {
            let (with, without) = (self.outcomes.get(with)?, self.outcomes.get(without)?);
            let done = with.is_done() && without.is_done();
            let share = with.elapsed.as_nanos() as f64 / without.elapsed.as_nanos() as f64;
            done.then_some(100.0 * (1.0 - share))
        };
        let shares: Option<Vec<f64>> = shares.map(share).collect();
        let ours = shares.filter(|shares| !shares.is_empty());
        let ours = ours.map(|shares| shares.iter().sum::<f64>() / shares.len() as f64);
        cell.ours = ours.map_or_else(|| "fail".to_owned(), |ours| format!("{ours:.1}"));
        let class = self.transfer.published.class.unwrap_or(self.table.file.class);
        let share = class.per_mille() as f64 / 1000.0;
        let (low, high) = (low as f64, high as f64);
        let range = low * (1.0 - share) - 0.5..=high * (1.0 + share) + 0.5;
        let near = ours.is_some_and(|ours| range.contains(&ours));
        let reason = self.transfer.published.reason.as_deref().unwrap_or_default();
        verdict(&mut cell, near, reason);
        if near && !reason.is_empty() {
            cell.verdict = Verdict::Needless;
        }
        cell
    }

    /// A statement of the source: it holds if the transfer is better by more than the cell's value.
    fn better(&self, better: &Better) -> Cell {
        let Better { words, of, by } = better;
        let of = *of;
        let mut cell = self.statement(of.name(), "");
        cell.published = format!("\u{201c}{words}\u{201d}");
        let value = |runs: &Range<usize>| {
            let run = median(self.outcomes, runs)?.0;
            self.exact(of, run).filter(|_| run.is_done())
        };
        let pair = value(&self.transfer.ours).zip(value(&self.transfer.without));
        let shown = |value: u64| shown(value, of == Measure::Ack || value < 10_000);
        cell.ours = pair.map_or_else(
            || "fail".to_owned(),
            |(with, without)| format!("{} against {} {}", shown(with), shown(without), of.unit()),
        );
        let holds = pair.is_some_and(|(with, without)| {
            let (more, less) = if of.less_is_better() { (without, with) } else { (with, without) };
            more * 100 > less * (100 + by)
        });
        let reason = self.transfer.published.reason(of);
        verdict(&mut cell, holds, reason);
        if holds && !reason.is_empty() {
            cell.verdict = Verdict::Needless;
        }
        cell
    }

    fn cell(&self, what: &str, unit: &'static str) -> Cell {
        let Transfer { row, column, setting, .. } = self.transfer;
        let col = format!("{column} {what}").trim_end().to_owned();
        Cell {
            fitted: self.table.is_fitted(row, column),
            setting: setting.clone(),
            quantity: what.to_owned(),
            ..Cell::new(&self.table.name, row, col, unit)
        }
    }

    /// The cell for a statement that compares this row's runs with others.
    fn statement(&self, what: &str, unit: &'static str) -> Cell {
        let setting = self.transfer.own_setting.clone();
        Cell { kind: Kind::Words, setting, ..self.cell(what, unit) }
    }

    /// The cell of a measure.
    fn measured(&self, measure: Measure) -> Cell {
        let cell = self.cell(measure.name(), measure.unit());
        Cell { quantity: measure.quantity().to_owned(), ..cell }
    }

    /// The result of the run that supports the reason: the number of seeds with which all differing values are as
    /// published. One seed
    /// may be picked to be so, which makes it a fit; none makes the reason count for nothing.
    fn show_reason(&self, cells: &mut [Cell]) {
        let runs = self.outcomes.get(self.transfer.shown.clone()).unwrap_or_default();
        let published = &self.transfer.published;
        let differ: Vec<usize> = (0..cells.len().min(published.values.len()))
            .filter(|index| cells[*index].verdict == Verdict::Differs)
            .filter(|index| !published.reasons.contains_key(&published.values[*index].0))
            .collect();
        if runs.is_empty() || differ.is_empty() {
            return;
        }
        let as_published = |run: &&Outcome| {
            differ.iter().all(|index| {
                let (measure, value, half_digit) = published.values[*index];
                self.near(measure, value, half_digit, run)
            })
        };
        let passes = (runs.iter().filter(as_published).count() as u64, runs.len() as u64);
        for index in differ {
            let cell = &mut cells[index];
            cell.passes = Some(passes);
            let (of, all) = passes;
            cell.reason = if all > 1 {
                format!("{} (a fit afterwards: so it is with {of} of {all} seeds)", cell.reason)
            } else {
                format!("{} (a fit afterwards)", cell.reason)
            };
            if of == 0 {
                cell.verdict = Verdict::Unexplained;
            }
        }
    }

    fn efficiency(&self, run: &Outcome) -> Option<u64> {
        self.limit(run).filter(|_| run.is_done()).map(|limit| run.efficiency(limit))
    }

    fn own(&self, ours: &Outcome, failed: usize) -> Cell {
        let runs = self.transfer.ours.len();
        let shown = match (failed, self.efficiency(ours)) {
            (0, Some(efficiency)) => tenths(efficiency),
            (failed, _) if failed == runs => "fails".to_owned(),
            (failed, Some(efficiency)) => {
                format!("{} ({failed} of {runs} fail)", tenths(efficiency))
            }
            (failed, None) => format!("{failed} of {runs} fail"),
        };
        Cell { ours: shown, efficiency: self.efficiency(ours), ..self.cell("", "%") }
    }

    /// A transfer that failed, or could not be done.
    fn outcome(&self, outcome: Result, ours: &Outcome, defaults: Option<&Outcome>) -> Cell {
        let word = if outcome == Result::Impossible { "-" } else { "fail" };
        let of = |run: &Outcome| if run.is_done() { "ok" } else { word }.to_owned();
        let mut cell = Cell { kind: Kind::Outcome, ..self.cell("outcome", "") };
        word.clone_into(&mut cell.published);
        cell.ours = of(ours);
        cell.defaults = defaults.map_or_else(String::new, of);
        cell.efficiency = defaults.and_then(|run| self.efficiency(run));
        let same = cell.published == cell.ours;
        verdict(&mut cell, same, self.transfer.published.reason(Measure::Secs));
        if same && !self.transfer.published.reason(Measure::Secs).is_empty() {
            cell.verdict = Verdict::Needless;
        }
        cell
    }

    fn value(
        &self,
        measure: Measure,
        published: u64,
        half_digit: u64,
        ours: &Outcome,
        defaults: Option<&Outcome>,
    ) -> Cell {
        let mut cell = self.measured(measure);
        cell.kind = if published == 0 { Kind::Zero } else { measure.kind() };
        cell.numbers = vec![published as f64 / 1000.0];
        cell.values = self.values(measure, &self.transfer.ours);
        let decimal = half_digit < 500;
        cell.published = match half_digit {
            5 => format!("{}.{:02}", published / 1000, published % 1000 / 10),
            0 => format!("{}.{:03}", published / 1000, published % 1000),
            _ => shown(published, decimal),
        };
        cell.defaults =
            defaults.map_or_else(String::new, |run| self.printed(measure, run, decimal));
        cell.efficiency = defaults.and_then(|run| self.efficiency(run));
        cell.ours = self.printed(measure, ours, decimal);
        let exact = self.exact(measure, ours).filter(|_| ours.is_done());
        cell.ratio_per_mille = exact.and_then(|exact| (exact * 1000).checked_div(published));
        let near = self.near(measure, published, half_digit, ours);
        verdict(&mut cell, near, self.transfer.published.reason(measure));
        self.spread(&mut cell, measure, published, decimal);
        cell
    }

    /// Whether the value of a run is as published, within the tolerance.
    fn near(&self, measure: Measure, published: u64, half_digit: u64, run: &Outcome) -> bool {
        self.exact(measure, run).filter(|_| run.is_done()).is_some_and(|exact| {
            let class = self.transfer.published.class.unwrap_or(self.table.file.class);
            let tolerance = published * class.per_mille() / 1000;
            let rounding = half_digit + self.half_second(measure, published, run.bytes);
            exact.abs_diff(published) <= tolerance + rounding
        })
    }

    /// The value of each run that was done.
    fn values(&self, measure: Measure, of: &Range<usize>) -> Vec<f64> {
        let runs = self.outcomes.get(of.clone()).unwrap_or_default().iter();
        let done = runs.filter(|run| run.is_done());
        done.filter_map(|run| Some(self.exact(measure, run)? as f64 / 1000.0)).collect()
    }

    /// The range of our values. A count that depends on chance may be any of them.
    fn spread(&self, cell: &mut Cell, measure: Measure, published: u64, decimal: bool) {
        let runs = self.outcomes.get(self.transfer.ours.clone()).unwrap_or_default();
        if runs.len() < 2 || !runs.iter().all(Outcome::is_done) {
            return;
        }
        let of = |run: &&Outcome| self.exact(measure, run).unwrap_or_default();
        let (Some(least), Some(most)) = (runs.iter().min_by_key(of), runs.iter().max_by_key(of))
        else {
            return;
        };
        let [first, last] = [least, most].map(|run| self.printed(measure, run, decimal));
        if first != last {
            cell.range = format!("{first} to {last}");
        }
        let whole = |run: &Outcome| (of(&run) + 500) / 1000;
        let among = whole(least)..=whole(most);
        let is_random = measure.is_count() && cell.verdict != Verdict::Reproduced;
        if is_random && among.contains(&((published + 500) / 1000)) {
            cell.verdict = Verdict::Chance;
            cell.reason.clear();
        }
    }

    /// What half a second of the published time is worth in this measure, in thousandths.
    fn half_second(&self, measure: Measure, published: u64, bytes: u64) -> u64 {
        let find = |of| self.transfer.published.values.iter().find(|(m, ..)| *m == of);
        let millis = find(Measure::Secs).map(|(_, secs, _)| *secs).or_else(|| {
            find(Measure::Cps).and_then(|(_, cps, _)| (bytes * 1_000_000).checked_div(*cps))
        });
        match (measure, millis) {
            (Measure::Cps | Measure::Eff, Some(millis)) => {
                (published * 500).checked_div(millis).unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Ours in thousandths, not rounded as a clock of whole seconds would.
    fn exact(&self, measure: Measure, run: &Outcome) -> Option<u64> {
        Some(match measure {
            Measure::Secs => u64::try_from(run.elapsed.as_millis()).unwrap_or(u64::MAX),
            Measure::Cps => run.millicps(),
            Measure::Eff => run.efficiency(self.limit(run)?),
            Measure::LineBps => run.line_bps() * 1000,
            Measure::LineEff => {
                let side = &run.report.sides[0];
                let millis = u64::try_from(run.elapsed.as_millis()).unwrap_or(u64::MAX);
                let millicps = (side.usage.bytes_in * 1_000_000).checked_div(millis)?;
                (millicps * 100_000).checked_div(self.limit(run)?)?
            }
            Measure::Mbps => run.millicps() * 8 / 1_000_000,
            Measure::Lost => {
                // Each data packet arrives once in the end: every other retransmission was a duplicate or was lost.
                let twice = run.report.sides[1].stats.duplicates;
                self.scaled(run, again(run).saturating_sub(twice) * 1000)?
            }
            Measure::Rexmit => self.scaled(run, again(run) * 1000)?,
            Measure::Timeouts => self.scaled(run, run.report.sides[1].stats.naks_out * 1000)?,
            Measure::Ack => run.ledgers?[1].ack_millibytes()?,
            _ => exact(measure, run)?,
        })
    }

    /// A count of ours, for a transfer of the published length.
    fn scaled(&self, run: &Outcome, count: u64) -> Option<u64> {
        let Some(kbytes) = self.transfer.published.kbytes else { return Some(count) };
        let whole = u128::from(count) * u128::from(kbytes) * 1000;
        let written = u128::from(run.report.sides[1].written);
        u64::try_from(whole.checked_div(written)?).ok()
    }

    /// Ours as the source would print it.
    fn printed(&self, measure: Measure, run: &Outcome, decimal: bool) -> String {
        if !run.is_done() {
            return match run.ending {
                Ending::Wrong => "wrong file".to_owned(),
                _ => "fail".to_owned(),
            };
        }
        match (measure, self.limit(run)) {
            (Measure::Secs, _) => run.whole_secs().to_string(),
            (Measure::Mbps, _) => {
                let kbps = self.exact(measure, run).unwrap_or_default();
                format!("{}.{:03}", kbps / 1000, kbps % 1000)
            }
            (Measure::Cps, _) => run.printed_cps().to_string(),
            (Measure::Eff, Some(limit)) if !decimal => {
                // The source divides the rate that it has printed.
                (run.printed_cps() * 100_000 / limit.max(1)).to_string()
            }
            _ => self.exact(measure, run).map_or_else(String::new, |value| shown(value, decimal)),
        }
    }
}

/// Retransmitted data packets; OPENs do not count.
fn again(run: &Outcome) -> u64 {
    let stats = &run.report.sides[0].stats;
    let longest = stats.longest_packet_bytes.max(1);
    (stats.repeated_bytes + longest / 2) / longest
}

/// The first words of a reason that names a fact missing in the source, instead of why ours differs.
const OPEN: &str = "open: ";

/// Judges a cell by whether ours is near, and by the reason that is given if it is not.
pub(super) fn verdict(cell: &mut Cell, near: bool, reason: &str) {
    cell.verdict = match (near, reason.is_empty()) {
        (true, _) => Verdict::Reproduced,
        (false, false) if reason.starts_with(OPEN) => Verdict::Open,
        (false, false) => Verdict::Differs,
        (false, true) => Verdict::Unexplained,
    };
    if !near {
        reason.strip_prefix(OPEN).unwrap_or(reason).clone_into(&mut cell.reason);
    }
}

/// Whether the columns of a row come in the published order by time.
fn order(
    table: &Table,
    transfers: &[&Transfer],
    reason: Option<&str>,
    outcomes: &[Outcome],
) -> Cell {
    let secs = |published: &Published| {
        let find = |of| published.values.iter().find(|(m, ..)| *m == of).map(|value| value.1);
        find(Measure::Secs).filter(|_| published.outcome.is_none())
    };
    let ranked = |mut list: Vec<(u64, &str)>| {
        list.sort_by_key(|(time, _)| *time);
        list.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(" < ")
    };
    let timed = || transfers.iter().filter_map(|t| Some((secs(&t.published)?, *t)));
    let published = ranked(timed().map(|(secs, t)| (secs, t.column.as_str())).collect());
    let ours = ranked(
        timed()
            .filter_map(|(_, t)| {
                let (run, _) = median(outcomes, &t.ours)?;
                let millis = u64::try_from(run.elapsed.as_millis()).unwrap_or(u64::MAX);
                Some((if run.is_done() { millis } else { u64::MAX }, t.column.as_str()))
            })
            .collect(),
    );
    // Columns of one published time may come in any order.
    let in_our_order: Vec<u64> = ours
        .split(" < ")
        .filter_map(|name| timed().find(|(_, t)| t.column == name).map(|(secs, _)| secs))
        .collect();
    let same = in_our_order.is_sorted();
    let row = transfers.first().map_or("", |transfer| transfer.row.as_str());
    let mut cell = Cell {
        published,
        ours,
        kind: Kind::Order,
        fitted: transfers.iter().any(|transfer| table.is_fitted(row, &transfer.column)),
        setting: row.to_owned(),
        quantity: "order".to_owned(),
        ..Cell::new(&table.name, row, "order".to_owned(), "")
    };
    verdict(&mut cell, same, reason.unwrap_or_default());
    if same && reason.is_some() {
        cell.verdict = Verdict::Needless;
    }
    cell
}

/// A value in thousandths, whole or with one decimal.
pub(super) fn shown(value: u64, decimal: bool) -> String {
    if decimal { tenths(value) } else { ((value + 500) / 1000).to_string() }
}
