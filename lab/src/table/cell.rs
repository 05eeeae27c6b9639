//! A judged table: its cells and their verdicts.

use super::kind::Kind;
use super::{Curve, Sample};
use std::fmt;

/// Verdict of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Ours is as published, within the tolerance.
    Reproduced,
    /// A random count is not, but lies between the minimum and the maximum of our runs: two runs of one setting
    /// differ as much.
    Chance,
    /// It is not, and the table states why.
    Differs,
    /// It is not, and no reason is given, or what shows the reason does not.
    Unexplained,
    /// A reason is given although nothing differs, or our defaults are not slower.
    Needless,
    /// Our defaults are slower than the settings of the source, and no reason is given.
    Slower,
    /// It is not, and the source does not tell why: the table names the fact that is missing.
    Open,
    /// Nothing was published.
    Own,
}

impl Verdict {
    /// Whether a table with such a cell is in order.
    pub const fn is_good(self) -> bool {
        matches!(self, Self::Reproduced | Self::Chance | Self::Differs | Self::Open | Self::Own)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reproduced => "reproduced",
            Self::Chance => "within chance",
            Self::Differs => "differs",
            Self::Unexplained => "unexplained",
            Self::Needless => "reason without a difference",
            Self::Slower => "our defaults are slower for no reason that is given",
            Self::Open => "open",
            Self::Own => "own",
        })
    }
}

/// One published value, with ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// Name of the table.
    pub table: String,
    /// Name of the row.
    pub row: String,
    /// Name of the column and what of it: `XMODEM secs`.
    pub col: String,
    /// As printed; empty if nothing was printed.
    pub published: String,
    /// Ours, in the same notation.
    pub ours: String,
    /// Minimum and maximum of our runs, where they are random: `2 to 11`; else empty.
    pub range: String,
    /// Unit of both.
    pub unit: &'static str,
    /// Ours divided by published, in thousandths.
    pub ratio_per_mille: Option<u64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it differs.
    pub reason: String,
    /// The same value with our defaults.
    pub defaults: String,
    /// Why our defaults take more than a hundredth longer; empty if they do not.
    pub slower: String,
    /// What kind of value it is.
    pub kind: Kind,
    /// A fit decided it, so it is no prediction.
    pub fitted: bool,
    /// What was transferred, by which settings: runs of one setting have one name.
    pub setting: String,
    /// What of it: times, rates and efficiencies are one quantity.
    pub quantity: String,
    /// The published numbers: one, or those of a comparison by counts.
    pub numbers: Vec<f64>,
    /// Ours, not rounded: one for each seed, or those of a comparison by counts. A run that failed has none.
    pub values: Vec<f64>,
    /// Of how many transfers, if it is a statistic.
    pub of: Option<u64>,
    /// Of how many runs a value of the run that shows the reason is as published, and the runs; none if no run shows it.
    pub passes: Option<(u64, u64)>,
    /// Efficiency with our defaults against the line's limit, in thousandths of a percent; as
    /// published where nothing was.
    pub efficiency: Option<u64>,
}

impl Cell {
    /// A cell without its values.
    pub(super) fn new(table: &str, row: &str, col: String, unit: &'static str) -> Self {
        Self {
            table: table.to_owned(),
            row: row.to_owned(),
            col,
            published: String::new(),
            ours: String::new(),
            range: String::new(),
            unit,
            ratio_per_mille: None,
            verdict: Verdict::Own,
            reason: String::new(),
            defaults: String::new(),
            slower: String::new(),
            kind: Kind::Own,
            fitted: false,
            setting: String::new(),
            quantity: String::new(),
            numbers: Vec::new(),
            values: Vec::new(),
            of: None,
            passes: None,
            efficiency: None,
        }
    }
}

/// A table, judged.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Name of the table.
    pub table: String,
    /// What it is.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// Its cells, row by row.
    pub cells: Vec<Cell>,
    /// The fitted and assumed values, and contradictions in the source.
    pub notes: Vec<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The row is ours: nothing in it was published.
    pub own: bool,
    /// Every transfer of its trials, for plots; none if it has no trials.
    pub samples: Vec<Sample>,
    /// Its curves.
    pub curves: Vec<Curve>,
}

/// Whether our defaults are slower than the source's settings, and the given reason.
pub(super) enum Slower {
    /// They are not, and no reason is given.
    No,
    /// They are, for this reason.
    For(String),
    /// Only one of the two.
    Wrong(Verdict),
}

impl Slower {
    /// A reason has to be given if they are, and must not be if they are not.
    pub(super) fn of(slower: bool, reason: Option<&str>) -> Self {
        match (slower, reason) {
            (false, None) => Self::No,
            (true, Some(reason)) => Self::For(reason.to_owned()),
            (true, None) => Self::Wrong(Verdict::Slower),
            (false, Some(_)) => Self::Wrong(Verdict::Needless),
        }
    }

    /// Marks the cells of the transfer. Earlier failures stay.
    pub(super) fn mark<'a>(&self, cells: impl IntoIterator<Item = &'a mut Cell>) {
        for cell in cells {
            match self {
                Self::No => {}
                Self::For(reason) => reason.clone_into(&mut cell.slower),
                Self::Wrong(verdict) if cell.verdict.is_good() => cell.verdict = *verdict,
                Self::Wrong(_) => {}
            }
        }
    }
}

impl Report {
    /// Whether every cell is reproduced, or differs for a reason that is given.
    pub fn is_good(&self) -> bool {
        self.cells.iter().all(|cell| cell.verdict.is_good())
    }

    /// How many cells have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cells.iter().filter(|cell| cell.verdict == verdict).count()
    }
}
