//! How a source file is laid out: its first line, its length, and the length of its functions.

use super::Complain;

const MOST_LINES_OF_A_FILE: usize = 600;
const MOST_LINES_OF_A_FUNCTION: usize = 70;

/// Complains about the layout of a source file.
pub(super) fn check(text: &str, complain: &mut Complain<'_>) {
    let count = text.lines().count();
    if count > MOST_LINES_OF_A_FILE {
        let say = format!("expected at most {MOST_LINES_OF_A_FILE} lines, got {count}");
        complain("short-files", count, say);
    }
    if !text.starts_with("//!") {
        complain("module-doc", 1, "expected the file to begin with what it is for (//!)".into());
    }
    for (line, len) in long_functions(text) {
        let say = format!("expected at most {MOST_LINES_OF_A_FUNCTION} lines, got {len}");
        complain("short-functions", line, say);
    }
}

/// Line number and length of every function that is too long. rustfmt puts the closing brace at
/// the indentation of the `fn`, which is all that this needs to know of the grammar.
fn long_functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words = ["pub ", "pub(crate) ", "pub(super) ", "const ", "async ", "unsafe "];
        let mut head = code;
        while let Some(rest) = words.iter().find_map(|word| head.strip_prefix(word)) {
            head = rest;
        }
        if !head.starts_with("fn ") {
            continue;
        }
        let close = format!("{}}}", " ".repeat(line.len() - code.len()));
        // A signature in a trait ends with a semicolon before any brace opens.
        let body = lines[index..].iter().position(|l| l.ends_with(['{', '}', ';']));
        if body.is_none_or(|at| lines[index + at].ends_with([';', '}'])) {
            continue;
        }
        if let Some(len) = lines[index..].iter().position(|l| *l == close)
            && len + 1 > MOST_LINES_OF_A_FUNCTION
        {
            found.push((index + 1, len + 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::{broken, rust};

    #[test]
    fn files_have_a_purpose_and_an_end() {
        assert_eq!(broken("cli/src/x.rs", "fn main() {}\n"), ["module-doc"]);
        assert_eq!(broken("cli/src/x.rs", &rust(&"\n".repeat(599))), ["short-files"]);
        assert!(broken("cli/src/x.rs", &rust(&"\n".repeat(597))).is_empty());
    }

    #[test]
    fn functions_have_an_end() {
        let function = |len: usize| {
            let body = "        a();\n".repeat(len - 2);
            rust(&format!("impl X {{\n    pub const fn f(\n    ) {{\n{body}    }}\n}}"))
        };
        assert!(broken("cli/src/x.rs", &function(69)).is_empty());
        assert_eq!(broken("cli/src/x.rs", &function(71)), ["short-functions"]);
        let signature = format!("trait X {{\n    fn f();\n{}    }}\n", "    a();\n".repeat(90));
        assert!(broken("cli/src/x.rs", &rust(&signature)).is_empty());
    }
}
