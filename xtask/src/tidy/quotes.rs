//! Code that a page quotes from a file, in a fence such as `c,of capi/tests/receive.c`, stands there: each of its lines, in
//! that order. Others may stand between them. What a page has of Rust without a file is compiled (`testkit/src/pages.rs`).

use std::path::Path;

/// What begins a fence, and what in its first line names a file.
const FENCE: &str = "```";
const OF: &str = ",of ";

/// Lines that do not stand in the file which their fence names, as (line, sentence).
pub(super) fn invented(root: &Path, text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some((_, path)) = line.strip_prefix(FENCE).and_then(|info| info.split_once(OF)) else {
            continue;
        };
        let Ok(source) = std::fs::read_to_string(root.join(path)) else {
            found.push((index + 1, format!("expected a file that can be read, got {path}")));
            continue;
        };
        let mut source = source.lines().map(str::trim);
        for (index, line) in lines.by_ref().take_while(|(_, line)| *line != FENCE) {
            let line = line.trim();
            if !line.is_empty() && !source.any(|there| there == line) {
                found.push((index + 1, format!("expected a line of {path}, got {line}")));
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_there_is_found() {
        let root = crate::root();
        let first = "//! Code that a page quotes from a file";
        let page = |line: &str| {
            format!(
                "It is:\n```rust,of xtask/src/tidy/quotes.rs\n{line}\n  use super::*;\n```\nb\n"
            )
        };
        assert!(invented(&root, &page("#[cfg(test)]")).is_empty());
        let other = invented(&root, &page(first));
        assert_eq!(
            other,
            [(3, format!("expected a line of xtask/src/tidy/quotes.rs, got {first}"))]
        );
        assert!(!invented(&root, "```c,of capi/none.c\na\n```\n").is_empty());
        assert!(invented(&root, "```c\na\n```\n").is_empty());
    }
}
