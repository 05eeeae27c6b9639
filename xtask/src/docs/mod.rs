//! `cargo xtask docs [--check] [--wst PATH]`: the pictures of README and book, made by the program.
//!
//! | picture | of |
//! |---|---|
//! | `docs/demo.svg` | `wst demo` in a terminal of 96 columns and 24 lines: the last screen |
//! | `docs/explanation/measured-NAME.svg` | a published table, by `wst lab table TABLE --row ROW... --svg` |
//!
//! Both run in virtual time, so that the same commit gives the same bytes on every machine; `--check` makes them
//! again and compares.

mod screen;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The session that the README shows; its file is one that does not change, unlike the program's own source.
const DEMO: &[&str] = &["demo", "--faster", "2000", "LICENSE-APACHE"];
/// Size of its terminal: columns, in which no digest is broken, and lines.
const SIZE: (u16, u16) = (96, 24);
/// The picture of it.
const DEMO_PICTURE: &str = "docs/demo.svg";

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

/// Makes the pictures, or compares those that are there.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let (mut check, mut given) = (false, None);
    let mut left = args.iter();
    while let Some(arg) = left.next() {
        match arg.as_str() {
            "--check" => check = true,
            "--wst" => given = left.next().map(PathBuf::from),
            other => return Err(format!("expected docs [--check] [--wst PATH], got {other}")),
        }
    }
    let program = given.map_or_else(|| program(root), Ok)?;
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
    cargo.args(["build", "--quiet", "--locked", "-p", "wetstring"]).current_dir(root);
    let status = cargo.status().map_err(|e| format!("cargo: {e}"))?;
    if !status.success() {
        return Err("the program is not built".to_owned());
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("debug/wst"))
}

/// All pictures, as (path, text).
fn pictures(root: &Path, program: &Path) -> Result<Vec<(String, String)>, String> {
    let mut command = Command::new(program);
    command.args(DEMO).env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("COLUMNS");
    command.current_dir(root);
    let screen = screen::last(command, SIZE)?;
    let title = format!("$ wst {}", DEMO.join(" "));
    let mut made = vec![(DEMO_PICTURE.to_owned(), screen::svg(&screen, &title))];
    let scratch = root.join("target/docs.svg");
    for (name, table, rows) in TABLES {
        let mut command = Command::new(program);
        command.args(["lab", "table", table, "--svg"]).arg(&scratch);
        command.args(rows.iter().flat_map(|row| ["--row", row]));
        let output = command.output().map_err(|e| format!("{}: {e}", program.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("wst lab table {table}: {}: {said}", output.status));
        }
        let picture = std::fs::read_to_string(&scratch);
        let picture = picture.map_err(|e| format!("{}: {e}", scratch.display()))?;
        made.push((format!("docs/explanation/measured-{name}.svg"), picture));
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every picture is shown somewhere, and every picture that is shown is one that is made.
    #[test]
    fn pictures_are_those_of_the_pages() {
        let root = crate::root();
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        assert!(read("README.md").contains(&format!("({DEMO_PICTURE})")));
        for (name, table, _) in TABLES {
            let page = read(&format!("docs/explanation/measured-{name}.md"));
            assert!(page.contains(&format!("(measured-{name}.svg)")), "{name}");
            assert!(page.contains(&format!("wst lab table {table}")), "{name}");
        }
        for entry in std::fs::read_dir(root.join("docs/explanation")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let made = TABLES.iter().any(|(known, ..)| name == format!("measured-{known}.svg"));
            let is_picture = Path::new(&name).extension().is_some_and(|end| end == "svg");
            assert!(made || !is_picture, "{name} is made by no chore");
        }
    }
}
