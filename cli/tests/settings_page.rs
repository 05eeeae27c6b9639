//! `docs/reference/settings.md` is every setting there is: those that `wst show` lists, and those of experiments.
//!
//! `cargo xtask table --write` regenerates it; that no row of the code is missing is checked by `cargo xtask tidy`.

use crate::common::{run, wst};
use serde_json::Value;
use std::fmt::Write as _;
use wetstring_lab::imp::{Messages, Processes};
use wetstring_proto::settings::Setting;
use wetstring_testkit::compare_page;

const HEAD: &str = "# Settings\n
Written by `cargo xtask table --write` from the rows in the code; a test keeps the two equal.
Set one with `--set NAME=VALUE`, its own flag, or a line in the configuration file; see all with `wst show`.\n";

const LAB: &str = "\n## In scenarios of the laboratory\n
For `sender` and `receiver` of a scenario whose protocol is `ncp` or `messages`, written without what stands before the point.\n";

const COLUMNS: &str =
    "\n| setting | values | default | what it does | source |\n|---|---|---|---|---|\n";

/// Columns of a row: name, range, unit, default, doc, source.
fn line(page: &mut String, [name, range, unit, default, doc, source]: [&str; 6]) {
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let (range, doc) = (range.replace('|', " "), doc.replace('|', "\\|"));
    let default = if default.is_empty() { "(empty)" } else { default };
    // Writing to a string cannot fail.
    let _ = writeln!(page, "| `{name}` | {range}{unit} | `{default}` | {doc} | {source} |");
}

/// The decisions: files and titles.
struct Titles(Vec<(String, String)>);

impl Titles {
    fn read() -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/decisions");
        let files = std::fs::read_dir(folder).expect("a folder of the repository").flatten();
        let title = |file: std::fs::DirEntry| {
            let text = std::fs::read_to_string(file.path()).ok()?;
            let title = text.lines().next()?.strip_prefix("# ")?.to_owned();
            Some((file.file_name().into_string().ok()?, title))
        };
        Self(files.filter_map(title).collect())
    }

    /// A source as users read it: decisions have titles, not numbers.
    fn of(&self, source: &str) -> String {
        let Some((before, rest)) = source.split_once("docs/decisions/") else {
            return source.to_owned();
        };
        let (number, after) = rest.split_at(rest.len().min(3));
        let found = self.0.iter().find(|(file, _)| file.starts_with(number));
        let (file, title) = found.expect("a decision that is there");
        format!("{before}[{title}](../decisions/{file}){}", self.of(after))
    }
}

fn lab_rows() -> impl Iterator<Item = &'static Setting> {
    let known = wetstring_proto::arpanet::Config::TABLE;
    let own = Processes::TABLE.iter().filter(|row| Setting::find(known, row.name).is_none());
    own.chain(Messages::TABLE)
}

/// The page as it should be.
fn page() -> String {
    let titles = Titles::read();
    let shown = run(wst(["--json", "show"]));
    shown.expect(0);
    let mut page = format!("{HEAD}{COLUMNS}");
    for event in shown.events().iter().filter(|event| event["event"] == "setting") {
        let of = |key: &str| event.get(key).and_then(Value::as_str).expect("a text");
        let source = titles.of(of("source"));
        let [name, range, unit, default, doc] = ["name", "range", "unit", "default", "doc"].map(of);
        line(&mut page, [name, range, unit, default, doc, &source]);
    }
    let _ = write!(page, "{LAB}{COLUMNS}");
    for row in lab_rows() {
        let range = row.range.to_string();
        line(&mut page, [row.name, &range, row.unit, row.default, row.doc, &titles.of(row.source)]);
    }
    page
}

#[test]
fn every_setting_is_in_the_docs() {
    compare_page("settings.md", &page());
}
