//! What a text cites is there:
//!
//! - a section of a page of `docs/protocols`, such as `kermit.md §16.3`;
//! - a document of `docs/reference/sources.md`, which has its name in the first column of a table: by a key in
//!   brackets, such as `[KPM] 6.3`, or by its number in a series, such as `RFC 998`.

use std::collections::BTreeSet;
use std::path::Path;

/// The bibliography.
const SOURCES: &str = "docs/reference/sources.md";

/// Series whose documents are cited by a number of at least three digits.
const SERIES: [&str; 3] = ["RFC", "NIC", "BBN"];

/// This file, which has examples of what is not listed.
const ABOUT_CITATIONS: &str = "xtask/src/tidy/citations.rs";

/// Files that cite: the end of their path.
const CITING: &[&str] =
    &[".rs", ".md", ".toml", ".py", ".ts", ".c", ".h", ".txt", ".ksc", ".cases"];

/// The sections of a page, by their numbers: `16` and `16.3`.
fn sections(page: &str) -> BTreeSet<&str> {
    let headings = page.lines().filter(|line| line.starts_with("## ") || line.starts_with("### "));
    let number = |line| Some(str::split_whitespace(line).nth(1)?.trim_end_matches('.'));
    headings.filter_map(number).collect()
}

/// The sections that a text cites, as (line, page, section). Of a list or a range that is each number.
fn cited(text: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, mark) in line.match_indices(concat!(".md ", "§")) {
            let before = &line[..at];
            let name = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '-').next();
            let rest = &line[at + mark.len()..];
            let end = rest
                .find(|c: char| !c.is_ascii_digit() && !".–, §".contains(c))
                .unwrap_or(rest.len());
            let numbers =
                rest[..end].split(['–', ',', ' ', '§']).map(|number| number.trim_end_matches('.'));
            let page = format!("{}.md", name.unwrap_or_default());
            found.extend(
                numbers.filter(|n| !n.is_empty()).map(|n| (index + 1, page.clone(), n.to_owned())),
            );
        }
    }
    found
}

/// Whether this is the key of a document, by its form: `Z88`, `V.42bis`, or letters that are `quoted` or have a
/// section after them.
fn is_key(word: &str, cites: bool) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = &word[letters..];
    let year = rest.len() == 2 && rest.bytes().all(|byte| byte.is_ascii_digit());
    let recommendation = word.strip_prefix("V.").is_some_and(|rest| {
        let number = rest.strip_suffix("bis").unwrap_or(rest);
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    (1..=6).contains(&letters) && year
        || recommendation
        || (2..=6).contains(&letters) && rest.is_empty() && cites
}

/// The keys in brackets on a line: `[KPM] 6.3`, `\[Z88\]`, `[V.42 8.4.5]`.
fn keys(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices('[') {
        let before = line[..at].trim_end_matches('\\');
        let quoted = before.len() < at;
        // An index, a link or an attribute.
        if before.ends_with(|c: char| c.is_alphanumeric() || "_)]#!&".contains(c)) {
            continue;
        }
        let Some((inside, after)) = line[at + 1..].split_once(']') else { continue };
        let inside = inside.trim_end_matches('\\');
        let (word, within) = inside.split_once(' ').unwrap_or((inside, ""));
        let is_section =
            |text: &str| text.starts_with('§') || text.starts_with(|c: char| c.is_ascii_digit());
        let is_cited = within.is_empty() && after.strip_prefix(' ').is_some_and(is_section);
        if is_key(word, quoted || is_cited || is_section(within)) && !SERIES.contains(&word) {
            found.push(word.to_owned());
        }
    }
    found
}

/// The documents of series on a line, such as `RFC 998`; of a list (`RFC 533, 660`) or a range, each.
fn numbered(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for series in SERIES {
        for (at, _) in line.match_indices(series) {
            let rest = line[at + series.len()..].trim_start_matches('s');
            let rest = rest.strip_prefix(" Report").unwrap_or(rest);
            if line[..at].ends_with(|c: char| c.is_alphanumeric()) {
                continue;
            }
            let Some(mut rest) = rest.strip_prefix(' ') else { continue };
            let mut before: Option<u32> = None;
            loop {
                let len = rest.bytes().take_while(u8::is_ascii_digit).count();
                // One or two digits are a section of the document that is talked about. A year ends a list.
                let year = before.is_some() && rest[..len].starts_with("19");
                let Ok(number) = rest[..len].parse::<u32>() else { break };
                if !(3..=4).contains(&len) || year {
                    break;
                }
                let from = before.filter(|_| line[..line.len() - rest.len()].ends_with(" to "));
                let all = from.map_or(number, |from| from + 1)..=number;
                found.extend(all.map(|number| format!("{series} {number}")));
                before = Some(number);
                rest = &rest[len..];
                let joint =
                    [", ", " and ", " to "].iter().find_map(|joint| rest.strip_prefix(joint));
                let Some(next) = joint else { break };
                rest = next;
            }
        }
    }
    found
}

/// The names that a bibliography has in the first columns of its tables.
fn listed(sources: &str) -> BTreeSet<String> {
    let cells = sources.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let names = |cell: &str| {
        let bracketed = cell.split('[').skip(1).filter_map(|part| part.split(']').next());
        let mut names: Vec<String> = bracketed.map(str::to_owned).collect();
        names.extend(numbered(cell));
        names
    };
    cells.flat_map(names).collect()
}

/// Documents that this text cites and the bibliography lacks, as (line, sentence).
fn unlisted(sources: &str, text: &str) -> Vec<(usize, String)> {
    let listed = listed(sources);
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let names = keys(line).into_iter().chain(numbered(line));
        found.extend(
            names
                .filter(|name| !listed.contains(name))
                .map(|name| (index + 1, format!("expected a document of {SOURCES}, got {name}"))),
        );
    }
    found
}

/// Citations in this text that lead nowhere, as (line, sentence).
pub(super) fn broken(root: &Path, path: &str, text: &str) -> Vec<(usize, String)> {
    let read = |page: &str| std::fs::read_to_string(root.join("docs/protocols").join(page));
    let lead_nowhere =
        cited(text).into_iter().filter_map(|(line, page, section)| match read(&page) {
            Err(_) => Some((line, format!("expected a page of docs/protocols, got {page}"))),
            Ok(have) if sections(&have).contains(section.as_str()) => None,
            Ok(_) => Some((line, format!("expected a section of {page}, got {section}"))),
        });
    let mut found: Vec<_> = lead_nowhere.collect();
    if path != ABOUT_CITATIONS && CITING.iter().any(|end| path.ends_with(end)) {
        let sources = std::fs::read_to_string(root.join(SOURCES)).unwrap_or_default();
        found.extend(unlisted(&sources, text));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_read() {
        let text = concat!("// kermit.md ", "§2–4, §16.3).\n// (uucp-g.md ", "§3)\n");
        let got: Vec<_> =
            cited(text).iter().map(|(line, page, n)| format!("{line} {page} {n}")).collect();
        assert_eq!(got, ["1 kermit.md 2", "1 kermit.md 4", "1 kermit.md 16.3", "2 uucp-g.md 3"]);
        assert_eq!(sections("# K\n## 2. A\n### 2.1 B\ntext\n"), BTreeSet::from(["2", "2.1"]));
    }

    #[test]
    fn one_that_leads_nowhere_is_found() {
        let root = crate::root();
        assert!(broken(&root, "x.rs", concat!("kermit.md ", "§16.3")).is_empty());
        for text in [concat!("kermit.md ", "§99"), concat!("kermut.md ", "§1")] {
            assert_eq!(broken(&root, "x.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn keys_and_numbers_are_read() {
        assert_eq!(keys("[KPM] 6.3, \\[HH\\], [Q77], [V.42 8.4]"), ["KPM", "HH", "Q77", "V.42"]);
        for text in ["[ACK] of it", "[OPTIONS] NAME", "rest[AB12]", "[D HH]", "[RFC 998 3]"] {
            assert_eq!(keys(text), [""; 0], "{text}");
        }
        assert_eq!(
            numbered("RFC 533, 660 and 704; RFCs 854 to 856"),
            ["RFC 533", "RFC 660", "RFC 704", "RFC 854", "RFC 855", "RFC 856"]
        );
        assert_eq!(
            numbered("BBN Report 1822, RFC 998, 1987, RFC 8, XRFC 777"),
            ["RFC 998", "BBN 1822"]
        );
    }

    #[test]
    fn a_document_that_is_not_listed_is_found() {
        let sources = "| name | document |\n|---|---|\n| [KPM] | *Kermit*, RFC 777 |\n\
                       | [HH], NIC 8246 | x |\n| RFC 854 to 856, 998 | y |\n";
        let good = "[KPM] 6, [HH 3], NIC 8246, RFC 855, RFC 998 4";
        assert_eq!(unlisted(sources, good), []);
        for name in ["RFC 777", "RFC 857", "NIC 8247", "BBN 1822"] {
            assert_eq!(unlisted(sources, &format!("a\nas {name} says")).len(), 1, "{name}");
        }
        for text in ["[Q77]", "[KPN] 6.3", "\\[TU\\]"] {
            let found = unlisted(sources, text);
            assert_eq!(found.len(), 1, "{text}");
        }
    }

    #[test]
    fn this_repository_has_a_bibliography() {
        let root = crate::root();
        assert_eq!(broken(&root, "x.rs", "[KPM] 6.3, RFC 998"), []);
        assert_eq!(broken(&root, "x.rs", "[KPX] 6.3, RFC 4242").len(), 2);
        assert_eq!(broken(&root, "x.svg", "[KPX] 6.3"), []);
    }
}
