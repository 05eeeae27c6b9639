//! Places are assigned by one statement each, as in `self.from = 0; self.to = len;`. One statement that assigns a
//! tuple literal to a tuple of places says no more, and hides which value goes where.
//!
//! `let (a, b) = (1, 2);` is let pass, as is a tuple that a function returned.

use super::Complain;
use super::tokens::Token;

/// Complains about tuple literals that are assigned to tuples of places.
pub(super) fn check(tokens: &[Token], complain: &mut Complain<'_>) {
    for line in found(tokens) {
        let say = "a tuple literal is assigned to a tuple; write one statement for each place";
        complain("no-tuple-assignments", line, say.to_owned());
    }
}

/// The lines on which such a statement begins.
fn found(tokens: &[Token]) -> Vec<usize> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let begins = |at: usize| match at.checked_sub(1).map(text) {
        None | Some("{" | "}" | ";" | "]" | "|") => true,
        // An arm of a match.
        Some(">") => at > 1 && text(at - 2) == "=",
        Some(_) => false,
    };
    let assigns = |at: &usize| {
        let Some((end, commas)) = group(tokens, *at) else { return false };
        let literal = group(tokens, end + 2).filter(|_| text(end + 1) == "=");
        begins(*at)
            && commas > 0
            && literal.is_some_and(|(end, _)| matches!(text(end + 1), ";" | "," | "}" | ")"))
    };
    (0..tokens.len()).filter(assigns).map(|at| tokens[at].line).collect()
}

/// Where the tuple or array that opens at `at` closes, and how many commas stand between its parts.
fn group(tokens: &[Token], at: usize) -> Option<(usize, usize)> {
    let (mut depth, mut commas) = (0, 0);
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 1 => commas += 1,
            _ => {}
        }
        if index == at && !matches!(token.text.as_str(), "(" | "[") {
            return None;
        }
        if depth == 0 {
            return Some((index, commas));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::{broken, rust};

    #[test]
    fn a_tuple_that_is_assigned_is_found() {
        for code in [
            "fn f() {\n    (self.a, self.b) = (1, 2);\n}",
            "fn f() {\n    (a, b) = (b, a)\n}",
            "fn f() {\n    g();\n    (\n        a.b[c(1, 2)],\n        *d,\n    ) = (\n        \"x\",\n        None,\n    );\n}",
            "fn f() {\n    if x {}\n    [a, b] = [1, 2];\n}",
            "fn f() {\n    match x {\n        (1, 2) => (a, b) = (3, 4),\n        _ => {}\n    }\n}",
            "fn f() {\n    g(|x| (a, b) = (x, x));\n}",
        ] {
            assert_eq!(broken("lab/src/x.rs", &rust(code)), ["no-tuple-assignments"], "{code}");
        }
    }

    #[test]
    fn other_tuples_are_let_pass() {
        for code in [
            "fn f() {\n    let (a, b) = (1, 2);\n}",
            "fn f() {\n    (a, b) = g(1, 2);\n}",
            "fn f() {\n    (a, b) = if c { (1, 2) } else { (3, 4) };\n}",
            "fn f() {\n    (a, b) = (1, 2).swapped();\n}",
            "fn f() {\n    match x {\n        (1, 2) => (3, 4),\n        (a, b) if (a, b) == (1, 2) => c,\n        _ => d,\n    }\n}",
            "const A: (u8, u8) = (1, 2);",
            "fn f() {\n    (a) = (1);\n    a[(1, 2)] = (3, 4);\n}",
            "// (a, b) = (1, 2);\nconst B: &str = \"; (a, b) = (1, 2);\";",
        ] {
            assert_eq!(broken("lab/src/x.rs", &rust(code)), [""; 0], "{code}");
        }
    }
}
