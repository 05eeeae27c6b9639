//! `cargo xtask book`: makes the book of `docs/` in `target/book`, by mdBook of the version that is pinned. A warning of mdBook
//! fails it, and so does a build of mdBook without its search.

use std::path::Path;
use std::process::Command;

/// The version that `.ci/run` installs.
const MDBOOK: &str = "0.4.52";

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let wanted = format!("mdbook v{MDBOOK}");
    let install = format!(
        "cargo install mdbook --locked --force --no-default-features --features search --version {MDBOOK}"
    );
    let said = Command::new("mdbook").arg("--version").output();
    let said = said.map_err(|e| format!("mdbook: {e}; {install}"))?;
    let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    if version != wanted {
        return Err(format!("expected {wanted}, got {version}; {install}"));
    }
    let made = root.join("target/book");
    let _ = std::fs::remove_dir_all(&made);
    let output = Command::new("mdbook").arg("build").arg(root.join("docs")).output();
    let output = output.map_err(|e| format!("mdbook: {e}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    print!("{}{log}", String::from_utf8_lossy(&output.stdout));
    if !output.status.success() {
        return Err(format!("mdbook: {}", output.status));
    }
    let names = std::fs::read_dir(&made).map_err(|e| format!("{}: {e}", made.display()))?;
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    wrong(&log, &names.collect::<Vec<_>>()).map_or(Ok(()), |why| Err(format!("{why}; {install}")))
}

/// What is wrong with a book, by what mdBook said and the files that it made.
fn wrong(log: &str, names: &[String]) -> Option<String> {
    let warning = log.lines().find(|line| line.contains("[WARN]") || line.contains("[ERROR]"));
    if let Some(warning) = warning {
        return Some(format!("expected no warnings of mdbook, got {warning}"));
    }
    let has_search = names.iter().any(|name| name.starts_with("searchindex"));
    (!has_search).then(|| "expected a searchindex in target/book: mdbook has no search".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_and_a_missing_search_are_found() {
        let (index, none) = (["searchindex.js".to_owned()], ["index.html".to_owned()]);
        let well = "2026-01-01 00:00:00 [INFO] (mdbook::book): Book building has started\n";
        assert_eq!(wrong(well, &index), None);
        assert!(wrong(well, &none).is_some_and(|why| why.contains("searchindex")));
        let badly = format!("{well}2026-01-01 00:00:00 [WARN] (mdbook::x): a link\n");
        assert!(wrong(&badly, &index).is_some_and(|why| why.ends_with("a link")));
    }
}
