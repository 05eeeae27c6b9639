//! A summary of a script's transfers in the laboratory, in the form of the trials of Kermit streaming (1998).

use std::cmp::Ordering;
use std::fmt::Write as _;

use wetstring_lab::table::statistics::{correlation, mean_and_deviation, median};
use wetstring_script::world::Report;

/// One transfer.
#[derive(Clone, Copy, Debug)]
struct Trial {
    streamed: bool,
    window: u32,
    packet_len: u32,
    cps: u64,
}

/// The quantity that rates are correlated with.
type Value = fn(&Trial) -> f64;

/// All transfers of a script.
#[derive(Clone, Debug, Default)]
pub(super) struct Trials(Vec<Trial>);

/// A value of the table, or `-` if there is none.
fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

impl Trials {
    /// Adds a finished transfer.
    pub(super) fn add(&mut self, report: &Report) {
        let Report { streamed, window, packet_len, .. } = *report;
        self.0.push(Trial { streamed, window, packet_len, cps: report.cps() });
    }

    fn of(&self, streamed: bool) -> impl Iterator<Item = &Trial> {
        self.0.iter().filter(move |trial| trial.streamed == streamed)
    }

    fn rates(&self, streamed: bool) -> Vec<f64> {
        self.of(streamed).map(|trial| trial.cps as f64).collect()
    }

    fn against(&self, streamed: bool, value: Value) -> Option<f64> {
        let pairs: Vec<_> = self.of(streamed).map(|t| (value(t), t.cps as f64)).collect();
        correlation(&pairs)
    }

    /// How often streaming was faster, equal and slower where window and length were the same.
    fn pairs(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for with in self.of(true) {
            let same = |t: &&Trial| (t.window, t.packet_len) == (with.window, with.packet_len);
            let Some(without) = self.of(false).find(same) else { continue };
            counts[match with.cps.cmp(&without.cps) {
                Ordering::Greater => 0,
                Ordering::Equal => 1,
                Ordering::Less => 2,
            }] += 1;
        }
        counts
    }

    /// The table; empty for fewer than two transfers.
    pub(super) fn table(&self) -> String {
        if self.0.len() < 2 {
            return String::new();
        }
        let (on, off) = (self.rates(true), self.rates(false));
        let fold = |rates: &[f64], pick: fn(f64, f64) -> f64| rates.iter().copied().reduce(pick);
        let mut text = format!("{:<20}{:>12}{:>16}\n", "", "Streaming", "Nonstreaming");
        let mut row = |name: &str, on: Option<f64>, off: Option<f64>, decimals| {
            // Writing to a string cannot fail.
            let (on, off) = (number(on, decimals), number(off, decimals));
            let _ = writeln!(text, "{name:<20}{on:>12}{off:>16}");
        };
        row("Transfers", Some(on.len() as f64), Some(off.len() as f64), 0);
        row("Max CPS", fold(&on, f64::max), fold(&off, f64::max), 0);
        row("Min CPS", fold(&on, f64::min), fold(&off, f64::min), 0);
        let (both, other) = (mean_and_deviation(&on), mean_and_deviation(&off));
        row("Mean CPS", both.map(|m| m.0), other.map(|m| m.0), 0);
        row("Median CPS", median(&on), median(&off), 0);
        row("Std Dev", both.map(|m| m.1), other.map(|m| m.1), 0);
        let of: [(&str, Value); 3] = [
            ("Window Size (W)", |t| f64::from(t.window)),
            ("Packet Length (P)", |t| f64::from(t.packet_len)),
            ("W x P", |t| f64::from(t.window) * f64::from(t.packet_len)),
        ];
        for (name, value) in of {
            row(name, self.against(true, value), self.against(false, value), 2);
        }
        let streams: Vec<_> =
            self.0.iter().map(|t| (f64::from(u8::from(t.streamed)), t.cps as f64)).collect();
        let r = number(correlation(&streams), 2);
        let _ = writeln!(text, "Correlation of CPS to Streaming (0 or 1): {r}");
        let [wins, ties, losses] = self.pairs();
        let all = wins + ties + losses;
        if all > 0 {
            let _ = writeln!(
                text,
                "Of {all} pairs of transfers, streaming beat nonstreaming in {wins}, equaled it in \
                 {ties}, and lost in {losses}"
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_table_has_the_columns_of_the_trials() {
        let mut trials = Trials::default();
        assert_eq!(trials.table(), "");
        for (streamed, window, ms) in [
            (false, 1, 400),
            (true, 1, 100),
            (false, 2, 200),
            (true, 2, 100),
            (false, 4, 50),
            (true, 4, 100),
        ] {
            let elapsed = Duration::from_millis(ms);
            trials.add(&Report {
                streamed,
                window,
                packet_len: 90,
                bytes: 1000,
                elapsed,
                ..Report::default()
            });
        }
        let table = trials.table();
        for line in [
            "Max CPS                    10000           20000",
            "Min CPS                    10000            2500",
            "Mean CPS                   10000            9167",
            "Median CPS                 10000            5000",
            "Window Size (W)                -            0.98",
            "Packet Length (P)              -               -",
            "Of 3 pairs of transfers, streaming beat nonstreaming in 2, equaled it in 0, and lost in 1",
        ] {
            assert!(table.contains(line), "{line}\n{table}");
        }
    }
}
