//! Compares two traces: where they diverge, and which kinds of lines differ in number.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wetstring_events::Event;

use crate::ui::output::Output;

/// Common lines shown before the first difference.
const BEFORE: usize = 3;
/// Lines of each shown from there on.
const BEHIND: usize = 3;

/// Whether this is a line of a trace: `TIME who event...`, the time with nine decimals.
pub(super) fn is_line(line: &str) -> bool {
    let mut words = line.split(' ');
    let time = words.next().and_then(|time| time.split_once('.'));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    time.is_some_and(|(s, ns)| !s.is_empty() && digits(s) && ns.len() == 9 && digits(ns))
        && words.next().is_some()
}

/// Prints the differences; true if there are any.
pub(super) fn diff(ui: &Output, a: &[String], b: &[String]) -> bool {
    let longest = a.len().max(b.len());
    let Some(first) = (0..longest).find(|line| a.get(*line) != b.get(*line)) else {
        if !ui.has_json() {
            crate::ui::output::print(&format!("the same {} lines\n", a.len()));
        }
        return false;
    };
    let at = |lines: &[String]| lines.get(first).cloned();
    ui.event(Event::Parting { line: first as u64 + 1, a: at(a), b: at(b) });
    let mut page = format!("the traces diverge at line {}:\n", first + 1);
    for line in &a[first.saturating_sub(BEFORE)..first] {
        // Writing to a string does not fail.
        let _ = writeln!(page, "  {line}");
    }
    for (mark, lines) in [('-', a), ('+', b)] {
        for line in lines.iter().skip(first).take(BEHIND) {
            let _ = writeln!(page, "{mark} {line}");
        }
        if lines.len() <= first {
            let _ = writeln!(page, "{mark} the end");
        }
    }
    let (of_a, of_b) = (kinds(a), kinds(b));
    let mut names: Vec<&String> = of_a.keys().chain(of_b.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let [in_a, in_b] = [&of_a, &of_b].map(|of| of.get(name).copied().unwrap_or(0));
        if in_a != in_b {
            ui.event(Event::Count { of: name.clone(), a: in_a as u64, b: in_b as u64 });
            let _ = writeln!(page, "{name}: {in_a} -> {in_b}");
        }
    }
    let _ = writeln!(page, "{} lines and {} lines; the ends are at", a.len(), b.len());
    for (name, lines) in [("A", a), ("B", b)] {
        let _ = writeln!(page, "  {name}: {}", lines.last().map_or("", String::as_str));
    }
    if !ui.has_json() {
        crate::ui::output::print(&page);
    }
    true
}

/// Number of lines of each kind: subject and first word.
fn kinds(lines: &[String]) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for line in lines {
        let mut words = line.split(' ').skip(1);
        let who = words.next().unwrap_or_default();
        let what = words.next().unwrap_or_default();
        *kinds.entry(format!("{who} {what}")).or_insert(0) += 1;
    }
    kinds
}
