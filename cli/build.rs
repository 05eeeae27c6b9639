//! Puts the source of the protocols into one text, which `wst demo` moves over the wet string.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders whose text it is, in this order.
const FOLDERS: &[&str] = &["proto"];

fn main() {
    let here = PathBuf::from(env("CARGO_MANIFEST_DIR"));
    let root = here.parent().map_or_else(|| here.clone(), Path::to_path_buf);
    let mut files = Vec::new();
    for folder in FOLDERS {
        let folder = root.join(folder).join("src");
        if folder.is_dir() {
            println!("cargo::rerun-if-changed={}", folder.display());
            collect(&folder, &mut files);
        }
    }
    let mut text = String::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
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
