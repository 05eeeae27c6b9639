//! Every row of a `settings!` block stands in `docs/reference/settings.md`. The page is written from the tables that
//! the program and the experiments have; this finds a table that neither has.

/// Where settings are listed.
pub(super) const PAGE: &str = "docs/reference/settings.md";

/// The settings that a file describes: lines `"name" field: Type[...] = ...`, with their numbers.
fn described<'a>(path: &str, text: &'a str) -> Vec<(usize, &'a str)> {
    if !super::SOURCE.iter().any(|end| path.ends_with(end)) || !path.contains("/src/") {
        return Vec::new();
    }
    let lines = text.lines().enumerate();
    lines.filter_map(|(index, line)| Some((index + 1, name(line.trim_start())?))).collect()
}

fn name(line: &str) -> Option<&str> {
    let (name, row) = line.strip_prefix('"')?.split_once("\" ")?;
    let (field, takes) = row.split_once(": ")?;
    let is_field = field
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit());
    (is_field && takes.contains("] = ") && name.contains('.')).then_some(name)
}

/// The settings of a file that the page does not have, as (line, sentence).
pub(super) fn unlisted(page: &str, path: &str, text: &str) -> Vec<(usize, String)> {
    let missing = described(path, text).into_iter().filter(|(_, name)| !is_listed(page, name));
    let say = |name| format!("{name} is not in {PAGE}; run cargo xtask table --write");
    missing.map(|(line, name)| (line, say(name))).collect()
}

/// Whether the page has a line for it.
fn is_listed(page: &str, name: &str) -> bool {
    page.lines().any(|line| line.starts_with(&format!("| `{name}` |")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = r#"
        "kermit.window" window: u8[1..=31 "packets"] = 31,
            "How many: packets] = ", "[KPM]";
        /// "kermit.comment" none: u8[1..=2] = 1,
        "kermit.ucs2-mark" ucs2_mark: bool[word] = "on",
    "#;

    #[test]
    fn a_row_that_is_not_listed_is_found() {
        let rows = described("proto/src/kermit/config.rs", ROWS);
        assert_eq!(rows, [(2, "kermit.window"), (5, "kermit.ucs2-mark")]);
        assert!(described("proto/tests/settings.rs", ROWS).is_empty());
        let page = "| `kermit.window` | 1..31 packets | `31` | How many | [KPM] |\n";
        assert!(is_listed(page, "kermit.window") && !is_listed(page, "kermit.ucs2-mark"));
    }

    #[test]
    fn the_rows_of_the_house_are_seen() {
        let path = "proto/src/kermit/config.rs";
        let text = std::fs::read_to_string(crate::root().join(path)).unwrap_or_default();
        let rows = described(path, &text);
        assert!(rows.iter().any(|(_, name)| *name == "kermit.window"), "{rows:?}");
        assert_eq!(rows.len(), wetstring_proto::kermit::Config::TABLE.len());
    }
}
