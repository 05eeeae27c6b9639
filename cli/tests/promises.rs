//! `SECURITY.md` names the test that keeps each promise: there has to be one of that name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The integration tests of all crates, by their names: what stands in them.
fn files() -> BTreeMap<String, String> {
    let crates = fs::read_dir(home()).unwrap().map(|entry| entry.unwrap().path().join("tests"));
    let all = crates.filter_map(|tests| fs::read_dir(tests).ok()).flatten();
    let sources = all.map(|entry| entry.unwrap().path());
    let sources = sources.filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let mut files = BTreeMap::<String, String>::new();
    for path in sources {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // Of two files of one name either may be meant.
        files.entry(name).or_default().push_str(&fs::read_to_string(&path).unwrap());
    }
    files
}

/// The tests that a text names: `` `file` `` alone, or `` `file`: `test`, `test` ``.
fn named(text: &str) -> Vec<(String, Option<String>)> {
    let is_name = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let mut found = Vec::new();
    for line in text.lines() {
        let parts: Vec<&str> = line.split('`').collect();
        // What keeps a promise is in the last cell of its row.
        let last = parts.iter().rposition(|part| part.contains("| ")).unwrap_or(0);
        let mut file = None;
        for at in (1..parts.len()).step_by(2) {
            let (word, before) = (parts[at], parts[at - 1]);
            let after = parts.get(at + 1).copied().unwrap_or_default();
            let continues = matches!(before, ": " | ", ");
            if let Some(file) = file.as_ref().filter(|_| continues && is_name(word)) {
                found.push((String::clone(file), Some(word.to_owned())));
                continue;
            }
            file = (is_name(word) && after == ": ").then(|| word.to_owned());
            // Other words in it stand behind words.
            let begins = ["| ", "; "].iter().any(|end| before.ends_with(end)) || before == ", ";
            let alone = line.starts_with("| ") && at > last && begins && is_name(word);
            if alone && file.is_none() {
                found.push((word.to_owned(), None));
                // More of them may follow, separated by commas.
                file = None;
            }
        }
    }
    found
}

/// Of those that are named, the ones that are not there.
fn missing(text: &str, files: &BTreeMap<String, String>) -> Vec<String> {
    let is_there = |file: &str, test: &Option<String>| {
        let text = files.get(file)?;
        let function = test.as_ref().map(|test| format!("fn {test}("));
        function.is_none_or(|function| text.contains(&function)).then_some(())
    };
    let gone = |(file, test): (String, Option<String>)| {
        is_there(&file, &test)
            .is_none()
            .then(|| format!("{file}: {}", test.as_deref().unwrap_or("(the file)")))
    };
    named(text).into_iter().filter_map(gone).collect()
}

#[test]
fn every_promise_is_kept_by_a_test_that_exists() {
    let (text, files) = (fs::read_to_string(home().join("SECURITY.md")).unwrap(), files());
    let all = named(&text);
    assert!(all.len() > 30, "expected the tests of all promises, got {all:?}");
    assert_eq!(missing(&text, &files), Vec::<String>::new());
}

#[test]
fn a_test_that_is_not_there_is_found() {
    let files = BTreeMap::from([("disk".to_owned(), "fn names_stay(".to_owned())]);
    let row = "| `a` is kept | `disk`: `names_stay`, `names_go`; `gone`: `x`; `serve_x` |";
    assert_eq!(missing(row, &files), ["disk: names_go", "gone: x", "serve_x: (the file)"]);
    assert_eq!(
        missing("is said only then (`disk`: `names_stay`; `disk`: `no`)", &files),
        ["disk: no"]
    );
}
