//! Published tables, reproduced cell by cell.
//!
//! A table is a TOML file. Its rows and columns are parts of scenarios ([`crate::scenario`]); a
//! transfer of the table is what `common`, the row, the column, the column's `era` and the cell
//! say, the later ones on top. `era` are the settings that the source printed for its programs;
//! "our defaults" is the same transfer without them, over the same line and between the same
//! machines.
//!
//! ```toml
//! title = "Kermit News 5, table 2: ..."
//! source = { seed = "001", line = 89 }       # where in the seed document; or text = "..."
//! class = "host"                             # how near is near enough, see Class
//! limit-cps = 1920                           # what the source's `eff` is a percentage of
//! assumed = ["what the source does not say, and what was taken for it"]
//! inconsistent = ["where the source contradicts itself"]
//! not-modelled = ["figures of the source that are no cells, and why"]
//!
//! [[parameter]]                              # where each value comes from, see parameters.rs
//! of = ["receiver.host: write=13ms"]
//! fitted = [{ row = "ASCII Text", column = "XMODEM" }]
//! why = "..."
//!
//! [common]
//! line = "19200"
//! receiver.host = "write=13ms"
//!
//! [[column]]
//! name = "XMODEM"
//! scenario = { protocol = "xmodem" }
//! era.both = { retries = 10 }
//!
//! [[row]]
//! name = "ASCII Text"
//! scenario.file = { corpus = "manual-crlf" }
//! cells = [
//!     { column = "XMODEM", secs = 89, cps = 1549, eff = 81 },
//!     { column = "YMODEM", outcome = "fail", reason = "why ours does not fail" },
//! ]
//! ```
//!
//! A cell has any of `secs`, `cps`, `eff`, `line-bps` (bits per second on the line), `line-eff` (the
//! same as a percentage), `mbps` and `bps` (millions of file bits per second, and file bits per second) and the counts `lost`, `rexmit`
//! and `timeouts` (of a transfer of this many `kbytes`), or an `outcome` of `fail` or `impossible`. Further keys are
//! `scenario`, `class`, `reason` (for all of its values that differ) and `reasons` (for one of
//! them); `defaults-reason` says why our defaults take more than a hundredth longer than the
//! settings of the source, and has to stand where they do and nowhere else (as a top key, it is for
//! all cells in which they do). a reason that begins with `open: ` says which fact the source lacks, and makes a verdict of its own. `shown-by`
//! shows a reason: values that differ must be as published, all together, in runs with these settings on top, of which there are 24 with other seeds;
//! it is a fit after the fact, of how many seeds it holds stands beside it, and if of none the `reason` counts for nothing. A count that is not near the
//! run in the middle is `within chance` if it lies between the least and the most of the runs with all
//! seeds; it needs no reason then. `saved = [30, 40]` is
//! the percentage of the time that the transfer saves against one with `without` on top; with
//! `corpora`, the mean over these files. `better = "WORDS"` with `of` is what a source says in words: the
//! transfer is better in that value than one with `without` on top, and that holds if it is by more than
//! `by` hundredths (1 unless given). `echo` is the median time from a key to its echo in ms, and `ack` the bytes of an acknowledgement
//! on a SLIP line; `transit`, `round-trip`, `per-s`, `under-way`, `cpu-bps` and `us-bit` are of bare messages between hosts of the ARPANET,
//! see [`crate::imp::MessageTimes`]; `also = ["echo"]` shows our values that were not published. A table with `own = true` has no published values: every column of every row is run, or
//! those that its `cells` name, and its efficiency is shown.
//!
//! Other top keys: `order = true` also compares the order of the columns by time in each row;
//! `[[curve]]` is a plot of our own, see `curve.rs`; `[[trial]]` is a transfer that is made over and over with other settings, see `trial.rs`;
//! `seeds = N` runs each transfer in which something is left to chance with N seeds and takes the median;
//! a column may have its own number.

mod cell;
mod curve;
mod file;
mod judge;
mod kind;
mod measure;
mod page;
mod parameters;
mod score;
pub mod statistics;
mod trial;

pub use cell::{Cell, Report, Verdict};
pub use curve::Curve;
pub use file::Class;
pub use kind::Kind;
pub use parameters::{Cells, Parameter};
pub use score::{Score, Scoreboard, Tally};
pub use trial::Sample;

use crate::scenario::{BadScenario, Layer, Load, Outcome, Scenario};
use file::{CellFile, Published, TableFile};
use std::collections::BTreeSet;
use std::ops::Range;

/// The tables that come with the laboratory, by name.
const BUILT_IN: &[(&str, &str)] = &[
    ("kermit-news-1", include_str!("../../tables/kermit-news-1.toml")),
    ("kermit-news-2", include_str!("../../tables/kermit-news-2.toml")),
    ("kermit-news-3", include_str!("../../tables/kermit-news-3.toml")),
    ("kermit-news-4", include_str!("../../tables/kermit-news-4.toml")),
    ("kermit-news-5", include_str!("../../tables/kermit-news-5.toml")),
    ("kermit-news-6", include_str!("../../tables/kermit-news-6.toml")),
    ("kermit-news-7", include_str!("../../tables/kermit-news-7.toml")),
    ("kermit-news-text", include_str!("../../tables/kermit-news-text.toml")),
    ("zmodem-doc", include_str!("../../tables/zmodem-doc.toml")),
    ("streaming-0", include_str!("../../tables/streaming-0.toml")),
    ("streaming-1", include_str!("../../tables/streaming-1.toml")),
    ("streaming-2", include_str!("../../tables/streaming-2.toml")),
    ("streaming-3", include_str!("../../tables/streaming-3.toml")),
    ("streaming-4", include_str!("../../tables/streaming-4.toml")),
    ("streaming-5", include_str!("../../tables/streaming-5.toml")),
    ("streaming-6", include_str!("../../tables/streaming-6.toml")),
    ("streaming-7", include_str!("../../tables/streaming-7.toml")),
    ("rfc1030-tokenring", include_str!("../../tables/rfc1030-tokenring.toml")),
    ("rfc1030-ethernet", include_str!("../../tables/rfc1030-ethernet.toml")),
    ("rfc1030-wideband", include_str!("../../tables/rfc1030-wideband.toml")),
    ("telebit", include_str!("../../tables/telebit.toml")),
    ("rfc662", include_str!("../../tables/rfc662.toml")),
    ("arpanet-1970s", include_str!("../../tables/arpanet-1970s.toml")),
    ("compare", include_str!("../../tables/compare.toml")),
];

/// With this many seeds a reason is shown.
const SHOWN: u64 = 24;

/// A table, read and checked.
#[derive(Clone, Debug)]
pub struct Table {
    name: String,
    file: TableFile,
    transfers: Vec<Transfer>,
    trials: Vec<trial::Trial>,
    curves: Vec<curve::Planned>,
    jobs: Vec<Scenario>,
}

/// One transfer that the source made, and the runs that make it again.
#[derive(Clone, Debug)]
struct Transfer {
    row: String,
    column: String,
    /// Which setting of the row it is: transfers of one are the same to us, and have the same runs.
    setting: String,
    /// The same by this row's own name: what is compared with other runs is a statement of its row alone.
    own_setting: String,
    published: Published,
    /// Runs as published, one for each seed.
    ours: Range<usize>,
    /// Runs with our defaults.
    defaults: Range<usize>,
    /// Runs without what saves time, one for each of `ours`; mostly none.
    without: Range<usize>,
    /// The run that shows the reason; mostly none.
    shown: Range<usize>,
}

/// How often a transfer of a table is made, and with which files.
#[derive(Clone, Copy)]
struct Runs<'a> {
    corpora: &'a [Layer],
    seeds: u64,
    load: Load<'a>,
}

/// Predictions that were withdrawn, with reasons.
pub fn left() -> Vec<(String, &'static str)> {
    let lines = include_str!("../../tables/left.tsv").lines();
    let of = |line: &'static str| {
        let (name, reason) = line.rsplit_once('\t')?;
        Some((name.replace('\t', ", "), reason))
    };
    lines.filter(|line| !line.starts_with('#')).filter_map(of).collect()
}

/// The runs of a setting: of the source, and with our defaults.
type Known = (Range<usize>, Range<usize>);

impl Table {
    /// The names of the tables that come with the laboratory, in their order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The table of this name; `None` if there is none.
    pub fn named(name: &str) -> Option<Result<Self, BadScenario>> {
        let (name, text) = BUILT_IN.iter().find(|(of, _)| *of == name)?;
        Some(Self::parse(
            name,
            &format!("lab/tables/{name}.toml"),
            text,
            &crate::scenario::no_files,
        ))
    }

    /// Reads a table of this name from the text of a file called `path`.
    pub fn parse(name: &str, path: &str, text: &str, load: Load<'_>) -> Result<Self, BadScenario> {
        let file = TableFile::parse(path, text)?;
        let mut table = Self {
            name: name.to_owned(),
            file,
            transfers: Vec::new(),
            trials: Vec::new(),
            curves: Vec::new(),
            jobs: Vec::new(),
        };
        table.plan((path, text), load)?;
        Ok(table)
    }

    /// Makes the scenarios of all transfers.
    fn plan(&mut self, source: (&str, &str), load: Load<'_>) -> Result<(), BadScenario> {
        let layer = |partial: &Option<crate::scenario::Partial>| {
            Layer::of(source, partial.clone().unwrap_or_default())
        };
        let common = layer(&self.file.common);
        for row in self.file.row.clone() {
            let on_row = layer(&row.scenario);
            let cells = if self.file.own && row.cells.is_empty() {
                self.file.column.iter().map(|column| CellFile::own(&column.name)).collect()
            } else {
                row.cells
            };
            for cell in cells {
                let column = self.column(&cell, source)?;
                let (on_column, era) = (layer(&column.scenario), layer(&column.era));
                let (on_row_era, on_cell) = (layer(&row.era), layer(&cell.scenario));
                let as_published = [&common, &on_row, &on_column, &era, &on_row_era, &on_cell];
                let with_defaults = [&common, &on_row, &on_column, &on_cell];
                let on_without = layer(&cell.without);
                let without: &[&[&Layer]] =
                    if cell.without.is_some() { &[&as_published, &[&on_without]] } else { &[] };
                let corpora = Self::corpora(&cell, source)?;
                let runs = Runs {
                    corpora: &corpora,
                    seeds: column.seeds.unwrap_or(self.file.seeds),
                    load,
                };
                let (own_setting, known) = self.setting(&row.name, &column, &cell);
                let (setting, ours) = match &known {
                    Some((ours, _)) => (own_setting.clone(), ours.clone()),
                    None => self.add_once(&own_setting, &as_published, runs)?,
                };
                let without = match without {
                    [] => 0..0,
                    layers => self.add(&layers.concat(), runs)?,
                };
                let shown = self.shown(&cell, &as_published, source, runs)?;
                let compared = !self.file.own && cell.without.is_none();
                let defaults = match known {
                    Some((_, defaults)) if compared && !defaults.is_empty() => defaults,
                    _ if compared => self.add(&with_defaults, runs)?,
                    _ => 0..0,
                };
                self.transfers.push(Transfer {
                    row: row.name.clone(),
                    column: column.name,
                    setting,
                    own_setting,
                    published: Published::of(&cell, source)?,
                    ours,
                    defaults,
                    without,
                    shown,
                });
            }
        }
        let origin = trial::Origin { source, common: &common, load, seeds: self.file.seeds };
        for trial in self.file.trial.clone() {
            self.trials.push(trial::Trial::plan(trial, origin, &mut self.jobs)?);
        }
        for of in self.file.curve.clone() {
            let planned = curve::Planned::plan(of, source, &common, load, &mut self.jobs)?;
            self.curves.push(planned);
        }
        Ok(())
    }

    /// The name of a cell's setting, and the runs that it has already: of the source, and with our defaults.
    fn setting(
        &self,
        row: &str,
        column: &file::ColumnFile,
        cell: &CellFile,
    ) -> (String, Option<Known>) {
        let is_run = cell.scenario.is_none() && cell.corpora.is_empty();
        if !is_run || column.scenario.is_some() || column.era.is_some() {
            return (format!("{row}, {}", column.name), None);
        }
        let known = self.transfers.iter().find(|of| of.row == row && of.setting == row);
        (row.to_owned(), known.map(|of| (of.ours.clone(), of.defaults.clone())))
    }

    /// Adds the runs of a setting, unless another has them already; that setting's name, and its runs. Rows that are one
    /// run to us are one setting.
    fn add_once(
        &mut self,
        setting: &str,
        layers: &[&Layer],
        runs: Runs<'_>,
    ) -> Result<(String, Range<usize>), BadScenario> {
        let added = self.add(layers, runs)?;
        let new = &self.jobs[added.clone()];
        let same = |known: &&Transfer| {
            let known = &self.jobs[known.ours.clone()];
            known.len() == new.len() && known.iter().zip(new).all(|(a, b)| a.is_same_run(b))
        };
        let known = self.transfers.iter().filter(|_| !self.file.own).find(same);
        let known = known.map(|known| (known.setting.clone(), known.ours.clone()));
        if known.is_some() {
            self.jobs.truncate(added.start);
        }
        Ok(known.unwrap_or_else(|| (setting.to_owned(), added)))
    }

    /// Adds the runs that show the reason of a cell, if it names any.
    fn shown(
        &mut self,
        cell: &CellFile,
        layers: &[&Layer],
        source: (&str, &str),
        runs: Runs<'_>,
    ) -> Result<Range<usize>, BadScenario> {
        let Some(shown) = cell.shown_by.clone() else { return Ok(0..0) };
        // Its seeds are the first ones, so that none is picked.
        let on_top = [&Layer::of(source, shown), &Layer::assignment("seed=1")?];
        let layers: Vec<&Layer> = layers.iter().copied().chain(on_top).collect();
        self.add(&layers, Runs { seeds: SHOWN, ..runs })
    }

    /// The column that a cell names.
    fn column(
        &self,
        cell: &CellFile,
        source: (&str, &str),
    ) -> Result<file::ColumnFile, BadScenario> {
        let columns = &self.file.column;
        let found = columns.iter().find(|column| column.name == *cell.column.get_ref());
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            let say = format!("expected one of the columns {}", names.join(", "));
            BadScenario::at(source, &cell.column.span(), "row.cells.column", say)
        })
    }

    /// The files of a cell that has several, each as a part of a scenario.
    fn corpora(cell: &CellFile, source: (&str, &str)) -> Result<Vec<Layer>, BadScenario> {
        let of = |name: &toml::Spanned<String>| {
            let known = crate::corpus::Corpus::named(name.get_ref()).is_some();
            if !known {
                let names: Vec<&str> = crate::corpus::Corpus::names().collect();
                let say = format!("expected one of {}", names.join(", "));
                return Err(BadScenario::at(source, &name.span(), "row.cells.corpora", say));
            }
            Layer::assignment(&format!("file.corpus={}", name.get_ref()))
        };
        cell.corpora.iter().map(of).collect()
    }

    /// Adds the runs of a transfer: one for each of its files, or for each seed.
    fn add(&mut self, layers: &[&Layer], runs: Runs<'_>) -> Result<Range<usize>, BadScenario> {
        let Runs { corpora, seeds, load } = runs;
        let first = self.jobs.len();
        for corpus in corpora {
            let layers: Vec<&Layer> = layers.iter().copied().chain([corpus]).collect();
            self.jobs.push(Scenario::resolve(&layers, load)?);
        }
        if corpora.is_empty() {
            let scenario = Scenario::resolve(layers, load)?;
            let count = if scenario.has_chance() { seeds.max(1) } else { 1 };
            let seeds = (0..count).map(|add| scenario.seed() + add);
            self.jobs.extend(seeds.map(|seed| scenario.clone().with_seed(seed)));
        }
        Ok(first..self.jobs.len())
    }

    /// Only this row: a row of the file, or a row of a report on a trial, whose whole trial stays.
    ///
    /// # Errors
    ///
    /// The rows that there are, if this is none of them.
    pub fn only(mut self, row: &str) -> Result<Self, String> {
        let trial = self.trials.iter().position(|trial| trial.has(row));
        let known = self.file.row.iter().any(|of| of.name == row);
        if !known && trial.is_none() {
            return Err(format!("expected one of the rows {}, got {row}", self.rows().join(", ")));
        }
        self.file.row.retain(|of| known && of.name == row);
        self.transfers.retain(|transfer| known && transfer.row == row);
        self.curves.clear();
        let all = std::mem::take(&mut self.jobs);
        for transfer in &mut self.transfers {
            let Transfer { ours, defaults, without, shown, .. } = transfer;
            for runs in [ours, defaults, without, shown] {
                let first = self.jobs.len();
                self.jobs.extend_from_slice(&all[runs.clone()]);
                *runs = first..self.jobs.len();
            }
        }
        self.trials = std::mem::take(&mut self.trials)
            .into_iter()
            .enumerate()
            .filter(|(index, _)| !known && Some(*index) == trial)
            .map(|(_, mut trial)| {
                let jobs = trial.jobs();
                trial.move_back(jobs.start);
                self.jobs.extend_from_slice(&all[jobs]);
                trial
            })
            .collect();
        Ok(self)
    }

    /// The rows that a report on it has, in their order: what [`Table::only`] takes.
    pub fn rows(&self) -> Vec<String> {
        let rows = self.file.row.iter().map(|row| row.name.clone());
        rows.chain(self.trials.iter().flat_map(trial::Trial::rows)).collect()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in a sentence.
    pub fn title(&self) -> &str {
        &self.file.title
    }

    /// All runs, in the order in which [`Table::judge`] expects their outcomes.
    pub fn jobs(&self) -> &[Scenario] {
        &self.jobs
    }

    /// Where the values of its parameters come from.
    pub fn parameters(&self) -> &[Parameter] {
        &self.file.parameter
    }

    /// The parameters that it has, as declarations name them; none of a comparison of our own.
    pub fn tokens(&self) -> BTreeSet<String> {
        if self.file.own { BTreeSet::new() } else { self.file.tokens() }
    }

    /// Parameters that no declaration covers, and patterns of declarations that cover none.
    pub fn undeclared(&self) -> (Vec<String>, Vec<String>) {
        let tokens = self.tokens();
        let covered = |token: &String| self.parameters().iter().any(|of| of.declares(token));
        let patterns = self.parameters().iter().flat_map(|of| &of.of);
        let idle = |pattern: &&String| !tokens.iter().any(|token| parameters::fits(pattern, token));
        let idle = patterns.filter(idle).cloned().collect();
        (tokens.iter().filter(|token| !covered(token)).cloned().collect(), idle)
    }

    /// Whether a fit decided a cell, so that it is no prediction.
    pub fn is_fitted(&self, row: &str, column: &str) -> bool {
        self.parameters().iter().any(|parameter| parameter.touches(row, column))
    }

    /// Compares the results of the [`Table::jobs`] with the published values.
    ///
    /// # Panics
    ///
    /// If there are not as many outcomes as jobs.
    pub fn judge(&self, outcomes: &[Outcome]) -> Report {
        assert_eq!(outcomes.len(), self.jobs.len(), "expected an outcome for each job");
        judge::judge(self, outcomes)
    }
}
