//! The scoreboard: one verdict for each quantity of each setting, predictions apart from fits.
//!
//! Times, rates and efficiencies of a transfer are one quantity; runs of one setting are pooled, by their median. The
//! value that counts is the one with the finest unit that was published: Mb/s before seconds before characters per
//! second before bits per second before percentages, and milliseconds before messages. How far ours is from it is
//! `|ln(ours / published)|`, of medians and not rounded; of a table of ratios, bias is tested beside spread: whether as
//! many are high as low, by a sign test. A transfer of ours that fails is farther off than any share.
//!
//! Counts hold if the published one is among ours, from the least to the most (of 39 seeds that is where 95 % of
//! further runs are), and where several runs were published if their mean is as near to the mean of ours as that of
//! as many of ours would be 19 times in 20. How many transfers came to the extremes stands apart: the exact test of
//! two small counts seldom tells them apart.

use super::cell::{Cell, Report, Verdict};
use super::kind::Kind;
use super::statistics::{mean_and_deviation, median, sign_test};
use std::fmt::Write as _;

/// What came of one quantity of one setting.
#[derive(Clone, PartialEq, Debug)]
pub struct Score {
    /// Name of the table.
    pub table: String,
    /// The setting, and which quantity.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// A fit decided it.
    pub fitted: bool,
    /// Whether ours is as published, or could be by chance.
    pub held: bool,
    /// Ours by published, where that says something; infinite if ours fails.
    pub ratio: Option<f64>,
}

/// The result of several scores.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Tally {
    /// How many.
    pub count: usize,
    /// How many held.
    pub held: usize,
    /// How many have a ratio.
    pub ratios: usize,
    /// The median of `|ln(ours / published)|`.
    pub median: f64,
    /// How many are within 5, 10 and 25 %.
    pub within: [usize; 3],
    /// How many are higher than published, and lower.
    pub sides: [usize; 2],
}

impl Tally {
    /// Of these scores.
    pub fn of<'a>(scores: impl Iterator<Item = &'a Score>) -> Self {
        let mut tally = Self::default();
        let mut distances = Vec::new();
        for score in scores {
            tally.count += 1;
            tally.held += usize::from(score.held);
            let Some(ratio) = score.ratio else { continue };
            tally.ratios += 1;
            let distance = ratio.ln().abs();
            distances.push(distance);
            for (within, limit) in tally.within.iter_mut().zip([0.05, 0.10, 0.25]) {
                *within += usize::from(distance <= limit);
            }
            if ratio > 1.0 && ratio.is_finite() {
                tally.sides[0] += 1;
            } else if ratio < 1.0 {
                tally.sides[1] += 1;
            }
        }
        tally.median = median(&distances).unwrap_or_default();
        tally
    }

    /// Whether more are on one side than chance puts there 19 times in 20.
    pub fn is_biased(&self) -> bool {
        sign_test(self.sides[0] as u64, self.sides[1] as u64) < 0.05
    }

    /// In a line: `12: median 3.1 %, within 5 % 9, 10 % 10, 25 % 12; 3 high, 9 low`.
    pub fn words(&self) -> String {
        if self.ratios == 0 {
            return format!("{} of {} hold", self.held, self.count);
        }
        let [five, ten, quarter] = self.within;
        let [high, low] = self.sides;
        let bias = if self.is_biased() { ", biased" } else { "" };
        format!(
            "{}: median {:.1} %, within 5 % {five}, 10 % {ten}, 25 % {quarter}; {high} high, {low} low{bias}",
            self.ratios,
            self.median * 100.0
        )
    }
}

/// Which cells of a table count, and the order of the units of one quantity.
fn rank(unit: &str) -> usize {
    const UNITS: [&str; 6] = ["Mb/s", "s", "cps", "bit/s", "ms", "%"];
    UNITS.iter().position(|of| *of == unit).unwrap_or(UNITS.len())
}

impl Report {
    /// Its scores, in the order of its cells.
    pub fn scores(&self) -> Vec<Score> {
        let mut groups: Vec<Vec<&Cell>> = Vec::new();
        for cell in self.cells.iter().filter(|cell| cell.kind != Kind::Own) {
            let same = |group: &&mut Vec<&Cell>| {
                let first = group[0];
                let is_zero = (first.kind == Kind::Zero) == (cell.kind == Kind::Zero);
                is_zero && first.setting == cell.setting && first.quantity == cell.quantity
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(cell),
                None => groups.push(vec![cell]),
            }
        }
        groups.iter().map(|group| score(group)).collect()
    }
}

fn score(group: &[&Cell]) -> Score {
    let first = group.iter().min_by_key(|cell| rank(cell.unit)).unwrap_or(&group[0]);
    let counts: Vec<&&Cell> = group.iter().filter(|cell| cell.unit == first.unit).collect();
    let is_count = first.kind == Kind::Count;
    let good = |cell: &&Cell| matches!(cell.verdict, Verdict::Reproduced | Verdict::Chance);
    let held = if is_count { holds(group) } else { counts.iter().all(|cell| good(cell)) };
    let published: Vec<f64> = counts.iter().flat_map(|cell| cell.numbers.iter().copied()).collect();
    let ratio = median(&published).filter(|of| first.kind.has_ratio() && *of > 0.0).map(|of| {
        // What fails is as far off as can be.
        median(&first.values).filter(|ours| *ours > 0.0).map_or(f64::INFINITY, |ours| ours / of)
    });
    Score {
        table: first.table.clone(),
        name: format!("{}, {}", first.setting, first.quantity),
        kind: first.kind,
        fitted: group.iter().any(|cell| cell.fitted),
        held,
        ratio,
    }
}

/// Whether a setting's published counts of losses, retransmissions and timeouts are plausible for our runs.
fn holds(group: &[&Cell]) -> bool {
    let what = |cell: &Cell| cell.col.rsplit(' ').next().unwrap_or_default().to_owned();
    group.iter().all(|of| {
        let same = || group.iter().filter(|cell| what(cell) == what(of));
        let published: Vec<f64> = same().flat_map(|cell| cell.numbers.iter().copied()).collect();
        let ours = &of.values;
        let (Some((mean, _)), Some((our_mean, deviation))) =
            (mean_and_deviation(&published), mean_and_deviation(ours))
        else {
            return false;
        };
        if published.len() == 1 {
            let whole = |value: f64| (value + 0.5).floor();
            let least = ours.iter().copied().fold(f64::INFINITY, f64::min);
            let most = ours.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            return (whole(least)..=whole(most)).contains(&mean);
        }
        // Of 39 values: Student's t with 38 degrees of freedom.
        let error = deviation * (1.0 / published.len() as f64 + 1.0 / ours.len() as f64).sqrt();
        (mean - our_mean).abs() <= 2.024 * error
    })
}

/// All tables together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scoreboard {
    /// The scores of all tables, in their order.
    pub scores: Vec<Score>,
}

impl Scoreboard {
    /// Of these reports; comparisons of our own have no scores.
    pub fn of<'a>(reports: impl IntoIterator<Item = &'a Report>) -> Self {
        let published = reports.into_iter().filter(|report| !report.own);
        Self { scores: published.flat_map(Report::scores).collect() }
    }

    /// Those of these kinds that are fitted, or predicted.
    pub fn tally(&self, kinds: &[Kind], fitted: bool) -> Tally {
        let wanted = |score: &&Score| score.fitted == fitted && kinds.contains(&score.kind);
        Tally::of(self.scores.iter().filter(wanted))
    }

    /// Each kind, and times and rates together, with what is fitted and what is predicted: as far as there is any.
    pub fn rows(&self) -> Vec<(String, Tally, Tally)> {
        let rows = |name: &str, kinds: &[Kind]| {
            (name.to_owned(), self.tally(kinds, true), self.tally(kinds, false))
        };
        let mut list = vec![rows("times and rates, all", &Self::TIMES)];
        list.extend(Kind::ALL.iter().map(|kind| rows(kind.words(), &[*kind])));
        list.retain(|(_, fitted, predicted)| fitted.count + predicted.count > 0);
        list
    }

    /// The kinds that the bar is about: times and rates.
    pub const TIMES: [Kind; 4] = [Kind::Rate, Kind::Processor, Kind::Delay, Kind::Statistic];

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut page = String::new();
        for (name, fitted, predicted) in self.rows() {
            let _ = writeln!(page, "  {name}");
            for (word, tally) in [("predicted", predicted), ("fitted", fitted)] {
                if tally.count > 0 {
                    let _ = writeln!(page, "    {word:<9}  {}", tally.words());
                }
            }
        }
        page
    }
}
