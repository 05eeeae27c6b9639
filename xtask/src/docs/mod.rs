//! `cargo xtask docs [--check | --record] [--wst PATH]`: the pictures of README and book, made by the program.
//!
//! | picture | of |
//! |---|---|
//! | `docs/demo.svg` | `wst demo` in a terminal of 96 columns and 24 lines: the last screen |
//! | `docs/lessons/window.svg` | two runs of the laboratory, from their traces ([`ladder`]) |
//! | `docs/explanation/budget.svg` | two runs, from what `--explain --json` says ([`budget`]) |
//! | `docs/explanation/throughput-NAME.svg` | sweeps of the laboratory ([`curves`]) |
//! | `docs/explanation/measured-NAME.svg` | a published table, by `wst lab table TABLE --row ROW... --svg` |
//! | `docs/FOLDER/NAME-cast.svg` | a session that was recorded, `NAME.cast` beside it ([`cast`]) |
//!
//! All but the last run in virtual time, so that the same commit gives the same bytes on every machine; `--check` makes
//! them again and compares. A recording of a live session is another each time: `--record` makes new ones
//! ([`record`]), and what is checked is that the picture is that of the recording.

mod budget;
mod cast;
mod curves;
mod ladder;
mod record;
mod screen;
mod svg;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The session that the README shows; its file is one that does not change, unlike the program's own source.
const DEMO: &[&str] = &["demo", "--faster", "2000", "LICENSE-APACHE"];
/// Size of its terminal: columns, in which no digest is broken, and lines.
const SIZE: (u16, u16) = (96, 24);
/// The picture of it.
const DEMO_PICTURE: &str = "docs/demo.svg";
const LADDER_PICTURE: &str = "docs/lessons/window.svg";
const BUDGET_PICTURE: &str = "docs/explanation/budget.svg";

/// Pictures of tables: name of the page, table, its rows (none are all).
const TABLES: &[(&str, &str, &[&str])] = &[
    ("kermit-news", "kermit-news-4", &["UNIX Binary", "Precompressed"]),
    ("streaming", "streaming-7", &[]),
    (
        "rfc1030",
        "rfc1030-ethernet",
        &[
            "section 6: one buffer at 5/30",
            "section 6: two buffers at 5/30",
            "section 6: two buffers at 5/45",
        ],
    ),
    ("telebit", "telebit", &["Warnock, 9600", "Vixie, 19200, S120=12"]),
    ("rfc662", "rfc662", &[]),
];

const USAGE: &str = "expected docs [--check | --record] [--wst PATH]";

/// Makes the pictures, or compares those that are there.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let (mut check, mut records, mut given) = (false, false, None);
    let mut left = args.iter();
    while let Some(arg) = left.next() {
        match arg.as_str() {
            "--check" => check = true,
            "--record" => records = true,
            "--wst" => {
                let path =
                    left.next().ok_or_else(|| format!("{USAGE}, got --wst without a path"))?;
                given = Some(PathBuf::from(path));
            }
            other => return Err(format!("{USAGE}, got {other}")),
        }
    }
    if check && records {
        return Err(format!("{USAGE}, got --check and --record"));
    }
    let program = given.map_or_else(|| program(root), Ok)?;
    if records {
        record::all(root, &program)?;
    }
    let mut differ = Vec::new();
    for (path, made) in pictures(root, &program)? {
        let whole = root.join(&path);
        let there = std::fs::read_to_string(&whole).unwrap_or_default();
        if there == made {
            continue;
        }
        if check {
            differ.push(path);
        } else {
            std::fs::write(&whole, made).map_err(|e| format!("{path}: {e}"))?;
            println!("{path}: written");
        }
    }
    if differ.is_empty() {
        return Ok(());
    }
    Err(format!("{}: not what the program draws now; run cargo xtask docs", differ.join(", ")))
}

/// Builds the program, and says where it is.
fn program(root: &Path) -> Result<PathBuf, String> {
    let mut cargo = crate::building::cargo();
    // A test of the program brings it along, in the features in which the tests have built all of the workspace.
    cargo.args(["test", "--quiet", "--workspace", "--locked", "--test", "wine", "--no-run"]);
    cargo.current_dir(root);
    let status = cargo.status().map_err(|e| format!("cargo: {e}"))?;
    if !status.success() {
        return Err("the program is not built".to_owned());
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("debug/wst"))
}

/// The program, which runs in a folder for what it writes.
struct Runs<'a> {
    program: &'a Path,
    scratch: PathBuf,
}

impl Runs<'_> {
    /// What it says when it is run so.
    fn said(&self, args: &[String]) -> Result<String, String> {
        let mut command = Command::new(self.program);
        command.args(args).current_dir(&self.scratch);
        let output = command.output().map_err(|e| format!("{}: {e}", self.program.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("wst {}: {}: {said}", args.join(" "), output.status));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What it writes into the file that is named after a flag, or after nothing.
    fn wrote(&self, mut args: Vec<String>, flag: &str, name: &str) -> Result<String, String> {
        let file = self.scratch.join(name);
        // A sweep goes on with what is there.
        let _ = std::fs::remove_file(&file);
        args.extend([flag.to_owned(), name.to_owned()]);
        self.said(&args)?;
        std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))
    }
}

/// All pictures, as (path, text).
fn pictures(root: &Path, program: &Path) -> Result<Vec<(String, String)>, String> {
    let program = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
    let scratch = root.join("target/docs");
    std::fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let runs = Runs { program: &program, scratch };
    let mut made = vec![(DEMO_PICTURE.to_owned(), demo(root, &program)?)];
    let [small, full] = ladder::WINDOWS.map(|(window, _)| window);
    let trace = |window| runs.wrote(ladder::command(window), "--trace", "docs.trace");
    made.push((LADDER_PICTURE.to_owned(), ladder::draw(&[trace(small)?, trace(full)?])?));
    let mut explained = Vec::new();
    for protocol in budget::PROTOCOLS {
        let args = [budget::command(protocol), vec!["--explain".to_owned(), "--json".to_owned()]];
        explained.push(runs.said(&args.concat())?);
    }
    made.push((BUDGET_PICTURE.to_owned(), budget::draw(&explained)?));
    let mut results: BTreeMap<&str, String> = BTreeMap::new();
    for of in &curves::CURVES {
        if !results.contains_key(of.sweep) {
            let args = ["lab", "sweep", of.sweep].map(str::to_owned).to_vec();
            results.insert(of.sweep, runs.wrote(args, "-o", "docs.ndjson")?);
        }
        let path = format!("docs/explanation/{}.svg", of.name);
        made.push((path, curves::draw(of, &results[of.sweep])?));
    }
    for (name, table, rows) in TABLES {
        let args =
            ["lab", "table", table].into_iter().chain(rows.iter().flat_map(|row| ["--row", row]));
        let picture = runs.wrote(args.map(str::to_owned).collect(), "--svg", "docs.svg")?;
        made.push((format!("docs/explanation/measured-{name}.svg"), picture));
    }
    for session in &record::SESSIONS {
        let path = session.path("cast");
        let recording = std::fs::read_to_string(root.join(&path));
        let recording =
            recording.map_err(|e| format!("{path}: {e}; run cargo xtask docs --record"))?;
        let drawn = cast::draw(&recording, session.title).map_err(|e| format!("{path}: {e}"))?;
        made.push((session.path("svg"), drawn));
    }
    Ok(made)
}

/// The session of the README.
fn demo(root: &Path, program: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(DEMO).env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("COLUMNS");
    command.current_dir(root);
    let screen = screen::last(command, SIZE)?;
    Ok(screen::svg(&screen, &format!("$ wst {}", DEMO.join(" "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_do_not_fit_are_refused() {
        for words in [&["--wst"][..], &["--check", "--record"], &["--new"]] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let refused = run(&crate::root(), &words).unwrap_err();
            assert!(refused.starts_with(USAGE), "{refused}");
        }
    }

    /// Pictures and recordings below a folder, from the root.
    fn kept(root: &Path, folder: &str) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                found.extend(kept(root, &path));
            } else if Path::new(&path).extension().is_some_and(|end| end == "svg" || end == "cast")
            {
                found.push(path);
            }
        }
        found
    }

    /// Every picture is shown by a page beside it, and every picture that is there is one that is made.
    #[test]
    fn pictures_are_those_of_the_pages() {
        let root = crate::root();
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        let mut made = vec![LADDER_PICTURE.to_owned(), BUDGET_PICTURE.to_owned()];
        made.extend(curves::CURVES.iter().map(|of| format!("docs/explanation/{}.svg", of.name)));
        made.extend(
            TABLES.iter().map(|(name, ..)| format!("docs/explanation/measured-{name}.svg")),
        );
        made.extend(record::SESSIONS.iter().flat_map(|of| [of.path("svg"), of.path("cast")]));
        for path in &made {
            let (folder, name) = path.rsplit_once('/').unwrap();
            let shows = |entry: std::fs::DirEntry| {
                let page = entry.path();
                page.extension().is_some_and(|end| end == "md")
                    && std::fs::read_to_string(&page).unwrap().contains(&format!("({name})"))
            };
            let mut pages = std::fs::read_dir(root.join(folder)).unwrap();
            assert!(pages.any(|entry| shows(entry.unwrap())), "{path} is on no page");
        }
        assert!(read("README.md").contains(&format!("({DEMO_PICTURE})")));
        made.push(DEMO_PICTURE.to_owned());
        for path in kept(&root, "docs") {
            assert!(made.contains(&path), "{path} is made by no chore");
        }
    }

    /// A page with a picture has the command that makes its numbers.
    #[test]
    fn commands_are_on_the_pages() {
        let root = crate::root();
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        for (name, table, _) in TABLES {
            let page = read(&format!("docs/explanation/measured-{name}.md"));
            assert!(page.contains(&format!("wst lab table {table}")), "{name}");
        }
        let lesson = read("docs/lessons/why-slow.md");
        for (window, _) in ladder::WINDOWS {
            let command = format!("wst {}", ladder::command(window).join(" "));
            assert!(lesson.contains(&command), "{command}");
        }
        let account = read("docs/explanation/explain.md");
        for protocol in budget::PROTOCOLS {
            let command = format!("wst {} --explain", budget::command(protocol).join(" "));
            assert!(account.contains(&command), "{command}");
        }
        let throughput = read("docs/explanation/throughput.md");
        for of in &curves::CURVES {
            assert!(throughput.contains(&format!("wst lab sweep {}", of.sweep)), "{}", of.sweep);
        }
    }
}
