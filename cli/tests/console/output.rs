//! What a page shows of a command's output, compared with what the command said.
//!
//! In order, from the first line to the last; of a command with no output at all, only the success is checked. A line of
//! `...` stands for any number of lines, `...` within a line for any text. Leading space counts. Numbers that differ each
//! time are listed in `stand-ins.toml`.

use super::stand_ins::STAND_INS;

/// Whether a line is the one that is shown.
fn is(shown: &str, said: &str) -> bool {
    let plain = |line: &str| {
        STAND_INS.varies.patterns.iter().fold(line.to_owned(), |line, pattern| {
            pattern.replace_all(&line, "VARIES").into_owned()
        })
    };
    let (shown, said) = (shown.trim_end(), said.trim_end());
    is_by_parts(shown, said) || is_by_parts(&plain(shown), &plain(said))
}

fn is_by_parts(shown: &str, said: &str) -> bool {
    let parts: Vec<&str> = shown.split("...").collect();
    let [first, middle @ .., last] = &parts[..] else { return shown == said };
    let Some(rest) = said.strip_prefix(first) else { return false };
    let Some(mut rest) = rest.strip_suffix(last) else { return false };
    middle.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// Whether the lines are those that are shown; what goes on may say more.
pub(super) fn fits(shown: &[String], said: &[&str], goes_on: bool) -> bool {
    match shown.split_first() {
        None => goes_on || said.is_empty(),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=said.len()).any(|left_out| fits(rest, &said[left_out..], goes_on))
        }
        Some((first, rest)) => said
            .split_first()
            .is_some_and(|(line, others)| is(first, line) && fits(rest, others, goes_on)),
    }
}

/// The lines of what was said, without those that pass, and without empty ones at the ends.
pub(super) fn lines(said: &str) -> Vec<&str> {
    let passes = |line: &str| STAND_INS.passing.patterns.iter().any(|one| one.is_match(line));
    let all = said.lines().map(|line| line.trim_end_matches('\r'));
    let mut lines: Vec<&str> = all.filter(|line| !passes(line)).collect();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let empty = lines.iter().take_while(|line| line.trim().is_empty()).count();
    lines.split_off(empty)
}

/// Fails, with both, unless the output is what is shown, if any is.
#[track_caller]
pub(super) fn compare(place: &str, command: &str, shown: &[String], said: &str) {
    if shown.is_empty() {
        return;
    }
    let same = fits(shown, &lines(said), false);
    let shown = shown.join("\n");
    assert!(same, "{place}: {command}\nshows\n{shown}\n-- but said --\n{said}");
}

#[test]
fn output_is_compared_in_order_and_whole() {
    let fit = |shown: &str, said: &str| {
        let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
        fits(&shown, &lines(said), false)
    };
    assert!(fit("a\nb", "a\nb\n"));
    assert!(!fit("b\na", "a\nb\n"));
    assert!(!fit("a", "a\nb\n"));
    assert!(fit("a\n...", "a\nb\n") && fit("...\nb", "a\nb\n") && fit("a\n...\nb", "a\nb\n"));
    assert!(fit("in ..., verified", "in 3 s, verified") && !fit("in ...", "x in 3 s"));
    assert!(!fit("in ..., verified", "in 3 s, verified by none"));
    assert!(fit("sent 3 B in 0.1 s (2 B/s), x", "sent 3 B in 12.0 s (900.2 kB/s), x"));
    assert!(!fit("sent 3 B in 0.1 s (2 B/s), x", "sent 4 B in 12.0 s (900.2 kB/s), x"));
    let some = ["a".to_owned()];
    assert!(fits(&some, &["a", "b"], true) && !fits(&some, &["b"], true));
}
