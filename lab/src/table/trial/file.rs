//! The trials of a table's file.

use crate::scenario::{BadScenario, Partial};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// One trial: the same transfer over and over, with other settings each time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::table) struct TrialFile {
    pub(super) name: String,
    /// On top of the table's `common`; with the defaults too.
    pub(super) scenario: Option<Partial>,
    /// What the source had set for all transfers.
    pub(super) era: Option<Partial>,
    /// The varied settings. Every combination is a transfer.
    #[serde(default)]
    pub(super) axis: Vec<AxisFile>,
    /// Name of the product of all axes, if its correlation was published.
    pub(super) product: Option<String>,
    pub(super) series: Vec<SeriesFile>,
    /// The first series against the second.
    pub(super) between: Option<BetweenFile>,
    /// Where on the axes the fastest transfers are.
    #[serde(default)]
    pub(super) best: Vec<BestFile>,
    /// Why the order of the means differs.
    pub(super) order_reason: Option<String>,
}

impl TrialFile {
    /// The parts of its scenarios.
    pub(in crate::table) fn parts(&self) -> impl Iterator<Item = &Partial> {
        let own = self.scenario.iter().chain(&self.era);
        own.chain(self.series.iter().flat_map(|of| of.scenario.iter().chain(&of.era)))
    }
}

/// A setting that is varied.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AxisFile {
    pub(super) name: String,
    /// The setting of both ends.
    pub(super) key: Spanned<String>,
    #[serde(default)]
    pub(super) values: Vec<u64>,
    pub(super) from: Option<u64>,
    pub(super) to: Option<u64>,
    pub(super) step: Option<u64>,
}

impl AxisFile {
    /// The values, in their order.
    pub(super) fn list(&self, source: (&str, &str)) -> Result<Vec<u64>, BadScenario> {
        let step = self.step.unwrap_or(1);
        let list = match (self.from, self.to) {
            (None, None) if !self.values.is_empty() => self.values.clone(),
            (Some(from), Some(to)) if self.values.is_empty() && step > 0 && from <= to => {
                (from..=to).step_by(step as usize).collect()
            }
            _ => {
                let say = "expected values = [...], or from, to and a step above 0";
                return Err(BadScenario::at(source, &self.key.span(), "trial.axis", say));
            }
        };
        if list.len() > 10_000 {
            let say = format!("expected at most 10000 values, got {}", list.len());
            return Err(BadScenario::at(source, &self.key.span(), "trial.axis", say));
        }
        Ok(list)
    }
}

/// The transfers that have one thing in common, and what was published of them together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SeriesFile {
    pub(super) name: String,
    pub(super) scenario: Option<Partial>,
    pub(super) era: Option<Partial>,
    /// This many times the same, and not over the axes.
    pub(super) repeat: Option<u64>,
    pub(super) max: Option<f64>,
    /// This many reached the published `max`.
    pub(super) max_count: Option<u64>,
    pub(super) min: Option<f64>,
    /// This many came to the published `min`, or were slower.
    pub(super) min_count: Option<u64>,
    pub(super) mean: Option<f64>,
    pub(super) median: Option<f64>,
    pub(super) stddev: Option<f64>,
    /// Correlation of the rate with each axis, and with the product.
    #[serde(default)]
    pub(super) r: BTreeMap<String, f64>,
    /// Why the mean is lower with our defaults.
    pub(super) defaults_reason: Option<String>,
    #[serde(default)]
    pub(super) reasons: BTreeMap<Spanned<String>, String>,
}

/// Two series compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BetweenFile {
    /// Correlation of the rate with being in the first series (1) or in the second (0).
    pub(super) r: Option<f64>,
    /// The same of another run of the same, if that was published too.
    pub(super) r_again: Option<f64>,
    /// Pairs of equal settings in which the first was faster, as fast, slower.
    pub(super) wins: Option<u32>,
    pub(super) ties: Option<u32>,
    pub(super) losses: Option<u32>,
    #[serde(default)]
    pub(super) reasons: BTreeMap<Spanned<String>, String>,
}

impl BetweenFile {
    /// Wins, ties and losses, if they were published.
    pub(super) fn counts(&self) -> Option<[u32; 3]> {
        Some([self.wins?, self.ties?, self.losses?])
    }

    /// The row that compares these two.
    pub(super) fn part([first, second]: [&str; 2]) -> String {
        format!("{first} against {second}")
    }
}

/// How the fastest transfers of all series lie on an axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BestFile {
    /// Name of the axis.
    pub(super) axis: Spanned<String>,
    #[serde(default)]
    pub(super) bucket: Vec<BucketFile>,
    /// Median of the axis over them.
    pub(super) median: Option<f64>,
    #[serde(default)]
    pub(super) reasons: BTreeMap<Spanned<String>, String>,
}

impl BestFile {
    /// The row of it.
    pub(super) fn part(&self) -> String {
        format!("{} of the fastest", self.axis.get_ref())
    }

    /// Its buckets: `1-9, 10-19`.
    pub(super) fn words(&self) -> String {
        let bucket = |of: &BucketFile| format!("{}-{}", of.from, of.to);
        self.bucket.iter().map(bucket).collect::<Vec<_>>().join(", ")
    }
}

/// This many of them have a value from `from` to `to`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BucketFile {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) count: u64,
}
