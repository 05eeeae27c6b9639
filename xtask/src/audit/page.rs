//! The page of the scoreboard.

use super::{Cell, KINDS, Sum, Sums, sums, test};
use std::fmt::Write as _;

/// The page, from audited cells.
pub(super) fn of(cells: &[Cell], all: &Sums) -> String {
    let mut page = String::from(HEAD);
    page.push_str("## All tables\n\n");
    page.push_str(&ratios(all, &NAMES_WITH_RATIOS));
    page.push_str("\n| what | predicted, hold | fitted, hold |\n|---|---|---|\n");
    for (_, name) in KINDS {
        let of = |fitted| all.get(&(name.to_owned(), fitted));
        let words = |sum: Option<&Sum>| {
            sum.map_or_else(String::new, |sum| format!("{} of {}", sum.held, sum.count))
        };
        if of(true).is_some() || of(false).is_some() {
            let _ = writeln!(page, "| {name} | {} | {} |", words(of(false)), words(of(true)));
        }
    }
    page.push_str("\n## Times and rates, table by table\n\n");
    page.push_str("Predictions only; *biased* is what a sign test calls so at 5 %.\n\n");
    page.push_str(
        "| table | predicted | median | within 5 % | 10 % | 25 % | high, low | fitted |\n",
    );
    page.push_str("|---|---|---|---|---|---|---|---|\n");
    let mut names: Vec<&str> = cells.iter().map(|cell| cell.table.as_str()).collect();
    names.dedup();
    for name in names {
        let own: Vec<Cell> = cells.iter().filter(|cell| cell.table == name).cloned().collect();
        let sums = sums(&own);
        let of = |fitted| sums.get(&("times and rates, all".to_owned(), fitted));
        let fitted = of(true).map_or(0, |sum| sum.count);
        let _ = match of(false) {
            Some(sum) => writeln!(page, "| {name} | {} | {fitted} |", line(sum)),
            None => writeln!(page, "| {name} | 0 | | | | | | {fitted} |"),
        };
    }
    page
}

const NAMES_WITH_RATIOS: [&str; 7] = [
    "times and rates, all",
    "times and rates of transfers",
    "processor times",
    "delays",
    "rates of series",
    "other amounts",
    "deviations",
];

fn ratios(sums: &Sums, names: &[&str]) -> String {
    let mut page =
        String::from("| what | | values | median | within 5 % | 10 % | 25 % | high, low |\n");
    page.push_str("|---|---|---|---|---|---|---|---|\n");
    for name in names {
        for (word, fitted) in [("predicted", false), ("fitted", true)] {
            if let Some(sum) = sums.get(&((*name).to_owned(), fitted)) {
                let _ = writeln!(page, "| {name} | {word} | {} |", line(sum));
            }
        }
    }
    page
}

/// `12 | 3.1 % | 9 (75 %) | ... | 3, 9`.
fn line(sum: &Sum) -> String {
    let n = sum.distances.len();
    let share =
        |count: u64| format!("{count} ({} %)", (count * 100 + n as u64 / 2) / n.max(1) as u64);
    let [five, ten, quarter] = sum.within.map(share);
    let [high, low] = sum.sides;
    let bias = if test::fair_coin(high, low) < 0.05 { ", biased" } else { "" };
    format!(
        "{n} | {:.1} % | {five} | {ten} | {quarter} | {high}, {low}{bias}",
        sum.median() * 100.0
    )
}

const HEAD: &str = "# The scoreboard

How near the laboratory comes to what was published, with *predictions apart from fits*. `cargo xtask audit --write` makes this
page from the cells that `wst lab table --all --json` prints: sums, medians and tests are by other code than the laboratory's, which CI
compares; what is fitted, and verdicts by a table's tolerance, are the laboratory's.

* A value is **fitted** if a parameter of its table was fitted to it, or if such a parameter decides it: the tables declare
  each of their parameters (`wst lab table NAME` prints them). All others are **predicted**; `lab/tables/predicted.tsv`
  lists them, and `lab/tables/left.tsv` those that were predicted once and are not any more.
* A transfer has one verdict: its seconds, characters per second and efficiency are one quantity, and the runs of one setting are
  pooled. The distance of ours is `|ln(ours / published)|`, of medians; how many are high and low shows bias.
* A transfer of ours that fails counts as farther off than any share.
* A count holds if it lies in the range of ours (39 seeds: 95 % of further runs); of several published runs, if their mean and that of
  ours differ no more than chance makes them, by Student's t. Correlations go by Fisher's z, wins, ties and losses and histograms
  by chi-squared, all at 5 %. How many transfers came to the extremes goes by an exact test, which has little power for such counts, and
  published zeros are easy: both stand apart.
* What differs has a reason in its table, or is *open*: then the table says which fact the source lacks.

";
