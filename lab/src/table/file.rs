//! A table's file.

use super::measure::Measure;
use super::parameters::{self, Parameter};
use crate::scenario::{BadScenario, Partial};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;

/// Tolerance of ours against the published value, in addition to half a unit of its last printed digit and half
/// a second of a clock with whole seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Only the line matters: 3 %.
    Physics,
    /// One parameter of a machine or line was fitted: 10 %.
    Host,
    /// Several things had to be assumed: 25 %.
    Assumptions,
    /// A statistic of many transfers on shared machines: 20 %.
    Statistical,
}

impl Class {
    /// The tolerance, in thousandths of the published value.
    pub const fn per_mille(self) -> u64 {
        match self {
            Self::Physics => 30,
            Self::Host => 100,
            Self::Assumptions => 250,
            Self::Statistical => 200,
        }
    }
}

/// Where a table was published.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    /// Number of the seed document, and the line in it.
    seed: Option<String>,
    line: Option<u32>,
    /// The publication, if it is no seed document.
    text: Option<String>,
}

impl Source {
    /// A statement of the source in words.
    pub(super) fn words(&self) -> String {
        match (&self.seed, self.line, &self.text) {
            (_, _, Some(text)) => text.clone(),
            (Some(seed), Some(line), None) => format!("seed {seed}, line {line}"),
            _ => String::new(),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TableFile {
    pub(super) title: String,
    pub(super) source: Option<Source>,
    pub(super) class: Class,
    pub(super) limit_cps: Option<u64>,
    #[serde(default = "one")]
    pub(super) seeds: u64,
    #[serde(default)]
    pub(super) order: bool,
    #[serde(default)]
    pub(super) own: bool,
    #[serde(default)]
    pub(super) assumed: Vec<String>,
    #[serde(default)]
    pub(super) inconsistent: Vec<String>,
    /// Figures of the source that are no cells, each with the reason.
    #[serde(default)]
    pub(super) not_modelled: Vec<String>,
    #[serde(default)]
    pub(super) parameter: Vec<Parameter>,
    /// Why our defaults are slower, for all cells in which they are and that do not state it.
    pub(super) defaults_reason: Option<String>,
    pub(super) common: Option<Partial>,
    #[serde(default)]
    pub(super) column: Vec<ColumnFile>,
    #[serde(default)]
    pub(super) row: Vec<RowFile>,
    #[serde(default)]
    pub(super) curve: Vec<super::curve::CurveFile>,
    #[serde(default)]
    pub(super) trial: Vec<super::trial::TrialFile>,
}

const fn one() -> u64 {
    1
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ColumnFile {
    pub(super) name: String,
    pub(super) scenario: Option<Partial>,
    pub(super) era: Option<Partial>,
    /// Seeds of its transfers, unless as many as the table says.
    pub(super) seeds: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowFile {
    pub(super) name: String,
    pub(super) scenario: Option<Partial>,
    pub(super) era: Option<Partial>,
    /// Why the order of the columns differs from the published one.
    pub(super) order_reason: Option<String>,
    #[serde(default)]
    pub(super) cells: Vec<CellFile>,
}

/// A published number with as many decimals as were printed.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a number that is not negative")]
pub(super) enum Number {
    Whole(u64),
    Decimal(f64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Result {
    Ok,
    Fail,
    Impossible,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct CellFile {
    pub(super) column: Spanned<String>,
    pub(super) scenario: Option<Partial>,
    secs: Option<Spanned<Number>>,
    cps: Option<Spanned<Number>>,
    eff: Option<Spanned<Number>>,
    line_bps: Option<Spanned<Number>>,
    line_eff: Option<Spanned<Number>>,
    mbps: Option<Spanned<Number>>,
    bps: Option<Spanned<Number>>,
    lost: Option<Spanned<Number>>,
    rexmit: Option<Spanned<Number>>,
    timeouts: Option<Spanned<Number>>,
    transit: Option<Spanned<Number>>,
    round_trip: Option<Spanned<Number>>,
    per_s: Option<Spanned<Number>>,
    under_way: Option<Spanned<Number>>,
    cpu_bps: Option<Spanned<Number>>,
    us_bit: Option<Spanned<Number>>,
    echo: Option<Spanned<Number>>,
    ack: Option<Spanned<Number>>,
    /// Our values that were not published.
    #[serde(default)]
    also: Vec<Measure>,
    /// A statement of the source in words: the transfer is better than that with `without` on top.
    better: Option<Spanned<String>>,
    /// In which value it is better.
    of: Option<Measure>,
    /// By more than this many hundredths; default 1.
    by: Option<u64>,
    /// Thousands of bytes of the transfer that counts are of; ours are scaled to it.
    kbytes: Option<u64>,
    outcome: Option<Result>,
    /// Least and greatest percentage of the time that is saved.
    saved: Option<Spanned<[u64; 2]>>,
    /// Settings of the slower transfer.
    pub(super) without: Option<Partial>,
    /// Settings that show the reason: with them ours is as published.
    pub(super) shown_by: Option<Partial>,
    /// Each of these files in turn, and the mean of all.
    #[serde(default)]
    pub(super) corpora: Vec<Spanned<String>>,
    class: Option<Class>,
    reason: Option<String>,
    #[serde(default)]
    reasons: BTreeMap<Measure, String>,
    /// Why our defaults are slower.
    defaults_reason: Option<String>,
}

impl CellFile {
    /// A cell of a table that was not published.
    pub(super) fn own(column: &str) -> Self {
        Self {
            column: Spanned::new(0..0, column.to_owned()),
            scenario: None,
            secs: None,
            cps: None,
            eff: None,
            line_bps: None,
            line_eff: None,
            mbps: None,
            bps: None,
            lost: None,
            rexmit: None,
            timeouts: None,
            transit: None,
            round_trip: None,
            per_s: None,
            under_way: None,
            cpu_bps: None,
            us_bit: None,
            echo: None,
            ack: None,
            also: Vec::new(),
            better: None,
            of: None,
            by: None,
            kbytes: None,
            outcome: None,
            saved: None,
            without: None,
            shown_by: None,
            corpora: Vec::new(),
            class: None,
            reason: None,
            reasons: BTreeMap::new(),
            defaults_reason: None,
        }
    }

    /// The published values, by measure.
    fn numbers(&self) -> [(Measure, &Option<Spanned<Number>>); 18] {
        [
            (Measure::Secs, &self.secs),
            (Measure::Cps, &self.cps),
            (Measure::Eff, &self.eff),
            (Measure::LineBps, &self.line_bps),
            (Measure::LineEff, &self.line_eff),
            (Measure::Mbps, &self.mbps),
            (Measure::Bps, &self.bps),
            (Measure::Lost, &self.lost),
            (Measure::Rexmit, &self.rexmit),
            (Measure::Timeouts, &self.timeouts),
            (Measure::Echo, &self.echo),
            (Measure::Transit, &self.transit),
            (Measure::RoundTrip, &self.round_trip),
            (Measure::PerS, &self.per_s),
            (Measure::UnderWay, &self.under_way),
            (Measure::CpuBps, &self.cpu_bps),
            (Measure::UsBit, &self.us_bit),
            (Measure::Ack, &self.ack),
        ]
    }
}

/// A statement of the source in words: better than another transfer.
#[derive(Clone, Debug)]
pub(super) struct Better {
    pub(super) words: String,
    /// In which value.
    pub(super) of: Measure,
    /// By more than this many hundredths.
    pub(super) by: u64,
}

impl Better {
    /// What a cell says; `alone`: it has no other value.
    fn of(
        cell: &CellFile,
        alone: bool,
        source: (&str, &str),
    ) -> std::result::Result<Option<Self>, BadScenario> {
        Ok(match (&cell.better, cell.of) {
            (None, None) => None,
            (Some(words), Some(of)) if cell.without.is_some() && alone => {
                let by = cell.by.unwrap_or(1);
                Some(Self { words: words.get_ref().clone(), of, by })
            }
            _ => {
                let say = "expected better = \"WORDS\" with `of`, `without`, and no other value";
                return Err(BadScenario::at(source, &cell.column.span(), "better", say));
            }
        })
    }
}

/// The source's value of a transfer.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    /// Values in thousandths, and half a unit of the last printed digit.
    pub(super) values: Vec<(Measure, u64, u64)>,
    /// The transfer that counts are of, in thousands of bytes.
    pub(super) kbytes: Option<u64>,
    /// It failed, or could not be done.
    pub(super) outcome: Option<Result>,
    /// Percentage of the time that is saved, from and to.
    pub(super) saved: Option<(u64, u64)>,
    /// A statement of the source in words.
    pub(super) better: Option<Better>,
    /// Our values that were not published.
    pub(super) also: Vec<Measure>,
    pub(super) class: Option<Class>,
    pub(super) reason: Option<String>,
    pub(super) reasons: BTreeMap<Measure, String>,
    /// Why our defaults are slower.
    pub(super) defaults_reason: Option<String>,
}

impl Published {
    pub(super) fn of(
        cell: &CellFile,
        source: (&str, &str),
    ) -> std::result::Result<Self, BadScenario> {
        let mut values = Vec::new();
        for (measure, number) in cell.numbers() {
            let Some(number) = number else { continue };
            values.push(match *number.get_ref() {
                Number::Whole(value) => (measure, value * 1000, 500),
                Number::Decimal(value) if (0.0..1e12).contains(&value) => {
                    let printed = source.1.get(number.span()).unwrap_or_default();
                    let half = match printed.split_once('.').map_or(0, |(_, tail)| tail.len()) {
                        0 | 1 => 50,
                        2 => 5,
                        _ => 0,
                    };
                    (measure, (value * 1000.0).round() as u64, half)
                }
                Number::Decimal(value) => {
                    let say = format!("expected a number that is not negative, got {value}");
                    return Err(BadScenario::at(source, &number.span(), measure.name(), say));
                }
            });
        }
        let better = Better::of(cell, values.is_empty(), source)?;
        let saved = match &cell.saved {
            None if better.is_some() => None,
            None if cell.without.is_some() || !cell.corpora.is_empty() => {
                let say = "expected saved = [LEAST, MOST] beside without and corpora";
                return Err(BadScenario::at(source, &cell.column.span(), "saved", say));
            }
            None => None,
            Some(saved) => {
                let [low, high] = *saved.get_ref();
                if low > high || high > 100 || cell.without.is_none() || !values.is_empty() {
                    let say =
                        "expected two percentages, the lower first, `without`, and no other value";
                    return Err(BadScenario::at(source, &saved.span(), "saved", say));
                }
                Some((low, high))
            }
        };
        Ok(Self {
            values,
            kbytes: cell.kbytes,
            saved,
            better,
            also: cell.also.clone(),
            defaults_reason: cell.defaults_reason.clone(),
            outcome: cell.outcome.filter(|outcome| *outcome != Result::Ok),
            class: cell.class,
            reason: cell.reason.clone(),
            reasons: cell.reasons.clone(),
        })
    }

    /// The reason that is given for a value that differs.
    pub(super) fn reason(&self, measure: Measure) -> &str {
        self.reasons.get(&measure).or(self.reason.as_ref()).map_or("", String::as_str)
    }
}

impl TableFile {
    pub(super) fn parse(path: &str, text: &str) -> std::result::Result<Self, BadScenario> {
        let file: Self =
            toml::from_str(text).map_err(|error| BadScenario::of_toml(path, text, &error))?;
        for parameter in &file.parameter {
            if let Some(say) = parameter.fault() {
                let say = format!("{}: {say}", parameter.of.join(", "));
                return Err(BadScenario::missing(path, "parameter", say));
            }
        }
        Ok(file)
    }

    /// The parameters of all of its scenarios. What a reason is shown by is a world of its own, and what a cell is
    /// compared with (`without`) is named there.
    pub(super) fn tokens(&self) -> BTreeSet<String> {
        let mut parts: Vec<&Partial> = self.common.iter().collect();
        parts.extend(self.column.iter().flat_map(|of| of.scenario.iter().chain(&of.era)));
        for row in &self.row {
            parts.extend(row.scenario.iter().chain(&row.era));
            parts.extend(row.cells.iter().flat_map(|cell| cell.scenario.iter()));
        }
        parts.extend(self.trial.iter().flat_map(super::trial::TrialFile::parts));
        let mut found = BTreeSet::new();
        for part in parts {
            parameters::tokens(part, &mut found);
        }
        found
    }
}
