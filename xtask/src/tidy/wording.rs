//! Words that a native engineer would not write, and what to write instead: in comments, string literals, names and pages.
//!
//! The terms of the house are in `docs/GLOSSARY.md`. A phrase is found over the end of a line, and in a name (`so_many`).

use std::path::Path;

/// What may not be written, and what to write.
const WORDS: &[(&str, &str)] = &[
    ("so many", "at most N; that many"),
    ("anew", "again; retransmit"),
    ("in vain", "without an answer; without success"),
    ("for ever", "indefinitely"),
    ("partner", "peer"),
    ("partners", "peers"),
    ("other end", "peer"),
    ("other ends", "peers"),
    ("far end", "peer"),
    ("the person", "the user"),
    ("shall", "must; is to"),
    ("nobody", "no one; nothing; no process"),
    ("mpps", "a rate type, or thousandths of a packet per second"),
    ("it goes on", "it continues"),
    ("not there yet", "not supported"),
    ("lays hands on", "uses; changes"),
    ("no business of", "does not concern"),
    ("whatever comes", "any input"),
    ("takes nothing any more", "is stalled; is closed"),
    ("what is typed", "interactive traffic"),
    ("so long", "this long; at most N seconds"),
    ("so often", "this often; at most N times"),
    ("it lives", "the peer is alive; it is kept in"),
    ("whoever", "the peer that; a program that; the user who"),
    ("lest", "so that it does not"),
    ("nor does", "does not, either"),
];

/// Where a word may be written: file, word, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("lab/tables/rfc1030-ethernet.toml", "nobody", "names of rows, by which reports select them"),
    ("lab/src/explain/line.rs", "partner", "a word of old traces"),
    ("script/tests/language.rs", "nobody", "what a script of a user prints"),
];

/// Files that are about the words: this one, and the page that lists what is not used.
const ABOUT_WORDS: &[&str] = &["xtask/src/tidy/wording.rs", "docs/GLOSSARY.md"];

/// Files that are generated from source that is read.
const GENERATED: &[&str] = &[
    "cli/tests/snapshots/help",
    "docs/reference/commands.md",
    "docs/reference/kermit-commands.md",
    "docs/reference/lines.md",
    "docs/reference/settings.md",
    "docs/reference/events.md",
    "docs/reference/states.md",
];

/// Files that are read: the end of their path.
const READ: &[&str] = &[
    ".rs", ".md", ".toml", ".py", ".pyi", ".ts", ".mjs", ".html", ".c", ".h", ".txt", ".ksc",
    ".sh", ".yml", ".service",
];

/// A word in lower case with the line it stands on. A sign that ends a phrase is an empty word.
type Word = (usize, String);

/// The words of a text. Blanks, the ends of lines, the marks of comments and `_` only separate them.
fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut inside = false;
        let code = line.trim_start().trim_start_matches(['/', '!', '#', '*', '>']);
        for c in code.chars() {
            let letter = c.is_alphanumeric() || c == '\'';
            match found.last_mut() {
                Some((_, word)) if letter && inside => word.extend(c.to_lowercase()),
                _ if letter => found.push((index + 1, c.to_lowercase().collect())),
                _ if !c.is_whitespace() && !"_-`*\\".contains(c) => {
                    found.push((index + 1, String::new()));
                }
                _ => {}
            }
            inside = letter;
        }
    }
    found
}

/// The released sections of the changelog are history: only what stands before the first of them is read.
fn current<'a>(path: &str, text: &'a str) -> &'a str {
    let released = if path == "CHANGELOG.md" { text.find("\n## [0") } else { None };
    released.map_or(text, |end| &text[..end])
}

/// The words of `WORDS` in a file, as (line, word, what to say).
fn found(path: &str, text: &str) -> Vec<(usize, &'static str, &'static str)> {
    if ABOUT_WORDS.contains(&path) || !READ.iter().any(|end| path.ends_with(end)) {
        return Vec::new();
    }
    let mut all = words(path);
    all.push((0, String::new()));
    all.extend(words(current(path, text)));
    let mut hits = Vec::new();
    for (phrase, say) in WORDS {
        let parts: Vec<&str> = phrase.split(' ').collect();
        for window in all.windows(parts.len()) {
            if window.iter().map(|(_, word)| word).eq(parts.iter().copied()) {
                hits.push((window[0].0, *phrase, *say));
            }
        }
    }
    hits
}

/// Words that may not stand in this file, as (line, sentence).
pub(super) fn broken(path: &str, text: &str) -> Vec<(usize, String)> {
    if GENERATED.iter().any(|folder| path.starts_with(folder)) {
        return Vec::new();
    }
    let excepted =
        |phrase| EXCEPTIONS.iter().any(|(file, word, _)| *file == path && *word == phrase);
    let hits = found(path, text).into_iter().filter(|(_, phrase, _)| !excepted(*phrase));
    hits.map(|(line, phrase, say)| (line, format!("found {phrase:?}; write: {say}"))).collect()
}

/// Exceptions that nothing needs any longer, as (file, sentence).
pub(super) fn unneeded(root: &Path) -> Vec<(String, String)> {
    let unneeded = EXCEPTIONS.iter().filter(|(file, word, _)| {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        !found(file, &text).iter().any(|(_, phrase, _)| phrase == word)
    });
    let say = |(file, word, _): &(&str, &str, &str)| {
        ((*file).to_owned(), format!("the exception for {word:?} is not needed; remove it"))
    };
    unneeded.map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_can_fail() {
        for (phrase, _) in WORDS {
            let name = phrase.replace(' ', "_");
            let two_lines = phrase.replacen(' ', "\n    /// ", 1);
            for text in [
                format!("/// A {phrase} b.\n"),
                format!("let a = \"x {phrase}\";\n"),
                format!("fn a_{name}() {{}}\n"),
                format!("    /// A {two_lines} b.\n"),
            ] {
                let lines: Vec<_> =
                    broken("new/src/x.rs", &text).into_iter().map(|hit| hit.0).collect();
                assert_eq!(lines, [1], "{text}");
            }
            for path in ["new/page.md", "web/src/x.ts", "capi/include/x.h", "python/x.pyi"] {
                assert_eq!(broken(path, &format!("A {phrase}.\n")).len(), 1, "{path} {phrase}");
            }
        }
    }

    #[test]
    fn parts_of_words_and_ends_of_sentences_are_let_pass() {
        for text in ["marshall", "partnered", "He said so. Many came.", "so-called many"] {
            assert!(broken("new/src/x.rs", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_name_of_a_file_is_read() {
        assert_eq!(
            broken("new/src/partner.rs", "//! A file.\n"),
            [(1, "found \"partner\"; write: peer".to_owned())]
        );
    }

    #[test]
    fn releases_in_the_changelog_are_history() {
        let text = "## [Unreleased]\n\nA partner.\n\n## [0.9.0]\n\nA partner.\n";
        assert_eq!(found("CHANGELOG.md", text).len(), 1);
    }

    #[test]
    fn every_exception_is_needed_and_has_a_reason() {
        assert_eq!(unneeded(&crate::root()), []);
        assert!(EXCEPTIONS.iter().all(|(_, _, why)| !why.is_empty()));
    }
}
