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
fn page(tables: &[&[Setting]], titles: &Titles) -> String {
    let mut page = HEAD.to_owned();
    for row in tables.iter().copied().flatten() {
        let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
        let range = row.range.to_string().replace('|', " ");
        let doc = row.doc.replace('|', "\\|");
        let default = if row.default.is_empty() { "(empty)" } else { row.default };
        let source = titles.of(row.source);
        // Writing to a string cannot fail.
        let _ =
            writeln!(page, "| `{}` | {range}{unit} | `{default}` | {doc} | {source} |", row.name);
    }
    page
}

/// The decisions: files and titles.
struct Titles(Vec<(String, String)>);

impl Titles {
    fn read(root: &Path) -> Result<Self, String> {
        let folder = root.join("docs/decisions");
        let say = |e: std::io::Error| format!("{}: {e}", folder.display());
        let files = std::fs::read_dir(&folder).map_err(say)?.filter_map(Result::ok);
        let title = |file: std::fs::DirEntry| {
            let text = std::fs::read_to_string(file.path()).ok()?;
            let title = text.lines().next()?.strip_prefix("# ")?.to_owned();
            Some((file.file_name().into_string().ok()?, title))
        };
        Ok(Self(files.filter_map(title).collect()))
    }

    /// A source as users read it: decisions have titles, not numbers.
    fn of(&self, source: &str) -> String {
        let Some((before, rest)) = source.split_once("docs/decisions/") else {
            return source.to_owned();
        };
        let (number, after) = rest.split_at(rest.len().min(3));
        match self.0.iter().find(|(file, _)| file.starts_with(number)) {
            Some((file, title)) => {
                format!("{before}[{title}](../decisions/{file}){}", self.of(after))
            }
            None => source.to_owned(),
        }
    }
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
        ("settings.md", page(&tables(), &Titles::read(root)?)),
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
        let row = |source| Setting {
            name: "kermit.window",
            range: Range::Number(1, 31),
            default: "31",
            unit: "packets",
            doc: "How many.",
            source,
        };
        let titles = Titles(vec![("001-engine.md".into(), "The engine".into())]);
        let page = page(&[&[row("[KPM]"), row("A; docs/decisions/001")]], &titles);
        assert!(page.ends_with("| A; [The engine](../decisions/001-engine.md) |\n"), "{page}");
        let wanted = "| `kermit.window` | 1..31 packets | `31` | How many. | [KPM] |\n";
        assert!(page.contains(wanted), "{page}");
    }

    #[test]
    fn the_pages_are_up_to_date() {
        assert_eq!(run(&crate::root(), false), Ok(()));
    }
}
