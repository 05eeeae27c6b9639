//! A path of a source file or folder that a page names, such as `xtask/src/tidy/paths.rs`, is there.

use std::path::Path;

/// What a text names, as (line, path).
fn named(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        // Every other part of a line stands between backticks.
        let quoted = line.split('`').skip(1).step_by(2);
        let is_path = |word: &&str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "/_.-".contains(c);
            // NAME stands for any name.
            word.contains("/src/") && !word.contains("NAME") && word.chars().all(plain)
        };
        found.extend(quoted.filter(is_path).map(|path| (index + 1, path)));
    }
    found
}

/// Paths in this page that are not there, as (line, sentence).
pub(super) fn gone(root: &Path, text: &str) -> Vec<(usize, String)> {
    let gone = named(text).into_iter().filter(|(_, path)| !root.join(path).exists());
    gone.map(|(line, path)| (line, format!("expected a file or folder, got {path}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_is_found() {
        let root = crate::root();
        let page = "a `b`\nsee `xtask/src/tidy/paths.rs`, `xtask/src/`\n";
        assert!(gone(&root, page).is_empty());
        let page = "\n| `xtask/src/untidy.rs` | `proto/src/*/config.rs` |";
        let want = "expected a file or folder, got xtask/src/untidy.rs";
        assert_eq!(gone(&root, page), [(2, want.to_owned())]);
    }
}
