//! The pages that are written from the code: the settings, the events, and their schemas.

mod events;

use std::fmt::Write as _;
use std::path::Path;

use wetstring_proto::settings::Setting;

/// The heading of the page.
const HEAD: &str = "# Settings\n
Written by `cargo xtask table --write` from the table in the code; a test keeps the two equal.
Set one with `--set NAME=VALUE`, its own flag, or a line in the configuration file; see all with `wst show`.\n
| setting | values | default | what it does | source |
|---|---|---|---|---|
";

/// The page as it should be.
fn page(tables: &[&[Setting]]) -> String {
    let mut page = HEAD.to_owned();
    for row in tables.iter().copied().flatten() {
        let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
        let range = row.range.to_string().replace('|', " ");
        let doc = row.doc.replace('|', "\\|");
        let default = if row.default.is_empty() { "(empty)" } else { row.default };
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| `{}` | {range}{unit} | `{default}` | {doc} | {} |",
            row.name, row.source
        );
    }
    page
}

/// Every table of the house.
fn tables() -> Vec<&'static [Setting]> {
    use wetstring_proto::{arpanet, kermit, netblt, uucp, xymodem, zmodem};
    vec![
        kermit::config::TABLE,
        xymodem::config::TABLE,
        zmodem::config::TABLE,
        netblt::config::TABLE,
        uucp::config::TABLE,
        arpanet::config::TABLE,
    ]
}

/// Checks the pages, or writes them.
pub(crate) fn run(root: &Path, write: bool) -> Result<(), String> {
    let pages = [
        ("settings.md", page(&tables())),
        ("events.md", events::page()),
        ("events.schema.json", events::schema()),
        ("trace.schema.json", events::trace_schema()),
    ];
    for (name, wanted) in pages {
        let path = root.join("docs/reference").join(name);
        if write {
            std::fs::write(&path, wanted).map_err(|e| format!("{}: {e}", path.display()))?;
        } else if std::fs::read_to_string(&path).unwrap_or_default() != wanted {
            return Err(format!(
                "docs/reference/{name} differs from what the code says; run cargo xtask table --write"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_proto::settings::Range;

    #[test]
    fn a_row_shows_everything() {
        let row = Setting {
            name: "kermit.window",
            range: Range::Number(1, 31),
            default: "31",
            unit: "packets",
            doc: "How many.",
            source: "[KPM]",
        };
        let page = page(&[&[row]]);
        assert!(page.ends_with("| `kermit.window` | 1..31 packets | `31` | How many. | [KPM] |\n"));
    }

    #[test]
    fn the_pages_are_up_to_date() {
        assert_eq!(run(&crate::root(), false), Ok(()));
    }
}
