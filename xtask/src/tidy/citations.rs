//! A citation of a page of `docs/protocols`, such as `kermit.md §16.3`, leads to a section that is there.

use std::collections::BTreeSet;
use std::path::Path;

/// The sections of a page, by their numbers: `16` and `16.3`.
fn sections(page: &str) -> BTreeSet<&str> {
    let headings = page.lines().filter(|line| line.starts_with("## ") || line.starts_with("### "));
    let number = |line| Some(str::split_whitespace(line).nth(1)?.trim_end_matches('.'));
    headings.filter_map(number).collect()
}

/// What a text cites, as (line, page, section). Of a list or a range that is each number.
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

/// Citations in this text that lead nowhere, as (line, sentence).
pub(super) fn broken(root: &Path, text: &str) -> Vec<(usize, String)> {
    let read = |page: &str| std::fs::read_to_string(root.join("docs/protocols").join(page));
    let lead_nowhere =
        cited(text).into_iter().filter_map(|(line, page, section)| match read(&page) {
            Err(_) => Some((line, format!("expected a page of docs/protocols, got {page}"))),
            Ok(have) if sections(&have).contains(section.as_str()) => None,
            Ok(_) => Some((line, format!("expected a section of {page}, got {section}"))),
        });
    lead_nowhere.collect()
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
        assert!(broken(&root, concat!("kermit.md ", "§16.3")).is_empty());
        for text in [concat!("kermit.md ", "§99"), concat!("kermut.md ", "§1")] {
            assert_eq!(broken(&root, text).len(), 1, "{text}");
        }
    }
}
