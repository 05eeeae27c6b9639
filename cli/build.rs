//! What the program is told when it is built: the text that `wst demo` moves over the wet string, which is the source of
//! ZMODEM, and what `wst --version --verbose` says: target and commit.
//!
//! The commit is what the packager says (`WETSTRING_COMMIT`), or what cargo wrote into a published crate, or what git
//! says. Only builds for release ask git: otherwise each commit would cost every developer a build.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders whose text it is, in this order.
const FOLDERS: &[&str] = &["proto/src/zmodem"];

/// Where the source of the program is, from this crate.
const SOURCES: &[&str] = &[
    "src",
    "../drive",
    "../events",
    "../lab",
    "../objects",
    "../proto",
    "../protocols",
    "../script",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=WETSTRING_COMMIT");
    println!("cargo::rustc-env=WETSTRING_TARGET={}", env("TARGET"));
    println!("cargo::rustc-env=WETSTRING_COMMIT={}", commit());
    demo_text();
}

fn demo_text() {
    let here = PathBuf::from(env("CARGO_MANIFEST_DIR"));
    let root = here.parent().map_or_else(|| here.clone(), Path::to_path_buf);
    let mut files = Vec::new();
    for folder in FOLDERS {
        let folder = root.join(folder);
        if folder.is_dir() {
            println!("cargo::rerun-if-changed={}", folder.display());
            collect(&folder, &mut files);
        }
    }
    let mut text = String::new();
    for file in files {
        let name =
            file.strip_prefix(&root).unwrap_or(&file).display().to_string().replace('\\', "/");
        if let Ok(source) = fs::read_to_string(&file) {
            // Writing to a string cannot fail.
            let _ = write!(text, "==> {name} <==\n{source}\n");
        }
    }
    let path = Path::new(&env("OUT_DIR")).join("wetstring-source.txt");
    if let Err(error) = fs::write(&path, text) {
        panic!("{}: {error}", path.display());
    }
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Every Rust file below a folder, sorted by name.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

fn commit() -> String {
    if let Ok(told) = std::env::var("WETSTRING_COMMIT")
        && !told.is_empty()
    {
        return told;
    }
    if let Some(published) = published() {
        return published;
    }
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return "not told to a debug build".to_owned();
    }
    of_git().unwrap_or_else(|| "unknown".to_owned())
}

/// The commit of which `cargo publish` made the crate.
fn published() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let rest = text.split("\"sha1\"").nth(1)?;
    rest.split('"').nth(1).map(str::to_owned)
}

/// What is checked out, and whether it has been changed.
fn of_git() -> Option<String> {
    let head = git(&["rev-parse", "HEAD"])?;
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        // cargo runs this script each time if a file that it names is missing.
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    let changes = git(&["status", "--porcelain", "--untracked-files=no", "--", ".."])?;
    Some(if changes.is_empty() { head } else { format!("{head}, with changes") })
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
