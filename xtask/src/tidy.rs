//! The rules of the house, as data and a few small functions.
//!
//! A rule that is not checked rots. Each one here has its reason, and has a test below which
//! shows that it can fail.

mod assignments;
mod bans;
mod book;
mod citations;
mod imports;
mod layout;
mod manifests;
mod names;
mod paths;
mod programs;
mod quotes;
mod settings;
mod tokens;
mod two_minutes;
mod wording;

use std::fmt;
use std::path::Path;

const SOURCE: &[&str] = &[".rs"];
const PROSE: &[&str] = &[".rs", ".md", ".toml", ".txt", ".sh", ".yml", ".ci/run"];

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    rule: &'static str,
    path: String,
    line: usize,
    say: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} ({})", self.path, self.line, self.say, self.rule)
    }
}

/// Checks the repository at `root`.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut complaints = Vec::new();
    let mut count = 0;
    let page = std::fs::read_to_string(root.join(settings::PAGE)).unwrap_or_default();
    let mut sources = Vec::new();
    walk(root, root, &mut |path, text| {
        count += 1;
        if path.contains("/src/") && SOURCE.iter().any(|end| path.ends_with(end)) {
            sources.push((path.to_owned(), text.to_owned()));
        }
        complaints.extend(check(path, text));
        let mut complain = |rule, found: Vec<(usize, String)>| {
            complaints.extend(found.into_iter().map(|(line, say)| Complaint {
                rule,
                path: path.to_owned(),
                line,
                say,
            }));
        };
        complain("settings-are-listed", settings::unlisted(&page, path, text));
        if Path::new(path).extension().is_some_and(|end| end == "md") && path != "CHANGELOG.md" {
            complain("paths-are-there", paths::gone(root, text));
            complain("code-is-quoted", quotes::invented(root, text));
        }
        complain("citations-resolve", citations::broken(root, path, text));
        complain("links-lead-somewhere", book::broken_links(root, path, text));
        complain("pages", book::wrong(path, text));
        complain("two-minutes", two_minutes::slow(path, text));
        complain("words", wording::broken(path, text));
    })?;
    complaints.extend(book::unreached(root)?.into_iter().map(|(path, say)| Complaint {
        rule: "pages-are-reached",
        path,
        line: 1,
        say,
    }));
    complaints.extend(wording::unneeded(root).into_iter().map(|(path, say)| Complaint {
        rule: "words",
        path,
        line: 1,
        say,
    }));
    complaints.extend(programs::forgotten(root)?.into_iter().map(|path| Complaint {
        rule: "tests-run",
        path,
        line: 1,
        say: "expected a line `mod NAME;` in tests/all.rs; nothing runs this file".to_owned(),
    }));
    let imports = imports::broken(&sources).into_iter();
    complaints.extend(imports.map(|(rule, path, line, say)| Complaint { rule, path, line, say }));
    if complaints.is_empty() {
        println!("tidy: {count} files are in order");
        return Ok(());
    }
    let lines: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    Err(format!("the house is not tidy\n{}", lines.join("\n")))
}

/// Shows every text file of the repository to `see`, in the order of their names.
fn walk(root: &Path, dir: &Path, see: &mut dyn FnMut(&str, &str)) -> Result<(), String> {
    let say = |e: std::io::Error| format!("{}: {e}", dir.display());
    let mut entries: Vec<_> = std::fs::read_dir(dir).map_err(say)?.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            // What is built, and what npm fetches.
            let skipped = [".git", "target", "node_modules"].iter().any(|skipped| name == *skipped);
            if !skipped && path != root.join("web/dist") {
                walk(root, &path, see)?;
            }
        } else if kind.is_file()
            && let Ok(text) = std::fs::read_to_string(&path)
            && let Ok(relative) = path.strip_prefix(root)
        {
            see(&relative.to_string_lossy().replace('\\', "/"), &text);
        }
    }
    Ok(())
}

/// Everything that is wrong with one file. `path` is relative to the root, with slashes.
fn check(path: &str, text: &str) -> Vec<Complaint> {
    let mut found = Vec::new();
    let mut complain = |rule, line, say: String| {
        found.push(Complaint { rule, path: path.to_owned(), line, say });
    };
    bans::check(path, text, &mut complain);
    if PROSE.iter().any(|end| path.ends_with(end)) && !path.contains("/snapshots/") {
        for (index, line) in text.lines().enumerate() {
            if line.ends_with([' ', '\t']) && !path.starts_with("vectors/") {
                complain("no-trailing-blanks", index + 1, "the line ends with a blank".into());
            }
        }
    }
    if SOURCE.iter().any(|end| path.ends_with(end)) {
        layout::check(text, &mut complain);
        let tokens = tokens::tokens(text);
        names::check(path, &tokens, &mut complain);
        assignments::check(&tokens, &mut complain);
    }
    if let Some(name) = path.strip_suffix("/Cargo.toml") {
        manifests::check(name, text, &mut complain);
    }
    found
}

/// Takes a rule, a line number and a sentence.
type Complain<'a> = dyn FnMut(&'static str, usize, String) + 'a;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        if let Err(message) = run(&crate::root()) {
            panic!("{message}");
        }
    }

    /// The rules that a file breaks.
    pub(super) fn broken(path: &str, text: &str) -> Vec<&'static str> {
        check(path, text).into_iter().map(|complaint| complaint.rule).collect()
    }

    pub(super) fn rust(code: &str) -> String {
        format!("//! A file.\n\n{code}\n")
    }

    #[test]
    fn a_good_file_breaks_nothing() {
        assert!(broken("proto/src/x.rs", &rust("use core::fmt;")).is_empty());
        assert!(broken("lab/src/x.rs", &rust("use std::collections::BTreeMap;")).is_empty());
    }

    #[test]
    fn blanks_at_the_end_are_found() {
        assert_eq!(broken("docs/x.md", "a \n"), ["no-trailing-blanks"]);
        assert!(broken("vectors/x.txt", "a \n").is_empty());
    }
}
