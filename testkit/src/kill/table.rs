//! The list of what is killed, and the table of what came of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::case::{After, Report};
use super::desk::Found;
use super::plan::{Case, End, Mode, State};
use super::{Wanted, first};

/// Counts by protocol and end, then by state.
type Shares = BTreeMap<(Mode, End), BTreeMap<State, usize>>;

fn shares<'a>(kills: impl Iterator<Item = (&'a Case, usize)>) -> Shares {
    let mut shares = Shares::new();
    for (case, count) in kills {
        *shares.entry((case.mode, case.end)).or_default().entry(case.state).or_default() += count;
    }
    shares
}

fn head(text: &mut String, more: &[&str]) {
    let _ = write!(text, "{:<22}{:<10}", "protocol", "killed");
    for state in State::ALL {
        let _ = write!(text, "{:>9}", state.name());
    }
    for word in more {
        let _ = write!(text, "{word:>11}");
    }
    text.push('\n');
}

fn row(text: &mut String, (mode, end): (Mode, End), states: &BTreeMap<State, usize>) {
    let _ = write!(text, "{:<22}{:<10}", mode.name(), mode.end(end));
    for state in State::ALL {
        match states.get(&state) {
            Some(count) => {
                let _ = write!(text, "{count:>9}");
            }
            None => text.push_str("        -"),
        }
    }
}

/// The shares that are planned.
pub(super) fn plan(wanted: &Wanted) -> String {
    let cases = first(wanted);
    let total: usize = cases.iter().map(Case::kills).sum();
    let mut text = format!("{total} kills in {} transfers, seed {}\n\n", cases.len(), wanted.seed);
    head(&mut text, &["kills"]);
    for (key, states) in shares(cases.iter().map(|case| (case, case.kills()))) {
        row(&mut text, key, &states);
        let _ = writeln!(text, "{:>11}", states.values().sum::<usize>());
    }
    text
}

/// What came of it.
pub(super) fn came(reports: &[Report], took: Duration) -> String {
    let mut text = String::new();
    head(&mut text, &["kills", "resumed", "from %", "restarted", "whole", "lost", "wrong"]);
    let mut sums = [0; 6];
    for (key, states) in shares(reports.iter().map(|report| (&report.case, report.kills))) {
        let mine: Vec<_> =
            reports.iter().filter(|report| (report.case.mode, report.case.end) == key).collect();
        let after = || mine.iter().flat_map(|report| &report.after);
        let resumed: Vec<u8> = after()
            .filter_map(|after| if let After::Resumed(at) = after { Some(*at) } else { None })
            .collect();
        let count = |what| after().filter(|after| **after == what).count();
        let row_sums = [
            states.values().sum(),
            resumed.len(),
            count(After::Restarted),
            count(After::Whole),
            mine.iter().map(|report| report.lost.len()).sum(),
            mine.iter().map(|report| report.wrong.len()).sum(),
        ];
        let from = match (resumed.iter().min(), resumed.iter().max()) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            _ => "-".to_owned(),
        };
        row(&mut text, key, &states);
        let [kills, resumed, restarted, whole, lost, wrong] = row_sums;
        let _ = writeln!(
            text,
            "{kills:>11}{resumed:>11}{from:>11}{restarted:>11}{whole:>11}{lost:>11}{wrong:>11}"
        );
        for (sum, more) in sums.iter_mut().zip(row_sums) {
            *sum += more;
        }
    }
    let [kills, resumed, restarted, whole, lost, wrong] = sums;
    let left = |what: fn(&Report) -> usize| reports.iter().map(what).sum::<usize>();
    let missed: usize =
        reports.iter().map(|report| report.case.kills().saturating_sub(report.kills)).sum();
    let _ = write!(text, "\n{}\n", hits(reports));
    let _ = writeln!(
        text,
        "{kills} kills hit a running process (aimed ones that had ended before: {missed}, not counted), in {:.0} s",
        took.as_secs_f64()
    );
    let _ = writeln!(
        text,
        "afterwards {resumed} runs resumed, {restarted} started over, in {whole} everything had arrived"
    );
    let _ = writeln!(
        text,
        "refused to resume a different file of the name, and started over: {}",
        left(|report| report.unresumed)
    );
    let _ = writeln!(
        text,
        "left over: {} parts of ours, {} that were about to be named, {} sources about to be deleted",
        left(|report| report.left.marked),
        left(|report| report.left.unmarked),
        left(|report| report.left.private),
    );
    let _ = write!(text, "lost: {lost}; wrong: {wrong}");
    text
}

/// What stood on the disk at the moment of the kill, by the state that was aimed at; of several files, the
/// first that was not named.
fn hits(reports: &[Report]) -> String {
    let mut counts: BTreeMap<State, BTreeMap<&str, usize>> = BTreeMap::new();
    for report in reports {
        for found in &report.hits {
            let named = found.iter().filter(|found| **found == Found::Named).count();
            let word = match found.iter().find(|found| **found != Found::Named) {
                None => "all named",
                Some(Found::Nothing | Found::Part(_)) if named > 0 => "some named",
                Some(found) => found.word(),
            };
            *counts.entry(report.case.state).or_default().entry(word).or_default() += 1;
        }
    }
    let mut text = "what was really there at the moment of the kill\n".to_owned();
    for (state, words) in counts {
        let words: Vec<_> = words.iter().map(|(word, count)| format!("{word} {count}")).collect();
        let _ = writeln!(text, "{:<9}{}", state.name(), words.join(", "));
    }
    text
}
