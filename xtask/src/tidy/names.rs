//! Names of files and types say what is in them.

use super::Complain;
use super::tokens::Token;

/// Names of files and modules that say nothing about what is in them.
const EMPTY_NAMES: &[&str] = &[
    "utils", "util", "helpers", "helper", "misc", "manager", "common", "heed", "words", "hearing",
    "saying", "asking", "paper", "voice",
];

/// Names of types that say nothing about what they are.
const EMPTY_TYPES: &[&str] = &[
    "Way",
    "Mover",
    "Came",
    "Told",
    "Said",
    "Scout",
    "Keeper",
    "Everything",
    "Manners",
    "How",
    "Tenant",
    "Knocks",
    "Turned",
];

/// Complains about names that say nothing.
pub(super) fn check(path: &str, tokens: &[Token], complain: &mut Complain<'_>) {
    let empty = |name: &str| format!("{name:?} says nothing about what is in it");
    let mut parts = path.rsplit('/');
    let stem = parts.next().and_then(|name| name.strip_suffix(".rs")).unwrap_or("");
    let name = if stem == "mod" { parts.next().unwrap_or("") } else { stem };
    // A folder of test helpers is called `common` because cargo wants it so.
    if EMPTY_NAMES.contains(&name) && !(name == "common" && path.contains("/tests/")) {
        complain("names-that-say", 1, empty(name));
    }
    for pair in tokens.windows(2) {
        let [kind, name] = [&pair[0].text, &pair[1].text].map(String::as_str);
        if matches!(kind, "struct" | "enum" | "trait" | "type") && EMPTY_TYPES.contains(&name) {
            complain("names-that-say", pair[1].line, empty(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{broken, rust};
    use super::*;

    #[test]
    fn empty_names_of_files_are_found() {
        for name in EMPTY_NAMES {
            assert_eq!(broken(&format!("cli/src/{name}.rs"), &rust("")), ["names-that-say"]);
            assert_eq!(broken(&format!("cli/src/{name}/mod.rs"), &rust("")), ["names-that-say"]);
        }
        assert!(broken("cli/tests/common/mod.rs", &rust("")).is_empty());
        assert!(broken("cli/src/keywords.rs", &rust("")).is_empty());
    }

    #[test]
    fn empty_names_of_types_are_found() {
        for name in EMPTY_TYPES {
            for kind in ["struct", "pub(crate) enum", "pub trait", "type"] {
                let code = rust(&format!("{kind} {name} {{}}"));
                assert_eq!(broken("lab/src/x.rs", &code), ["names-that-say"], "{code}");
            }
        }
        assert!(broken("lab/src/x.rs", &rust("enum Reply { Said }\nstruct Ways;")).is_empty());
    }
}
