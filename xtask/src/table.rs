//! The pages that are written from the code. The state tables ([`states`]), the events, their schemas and the listings of
//! interfaces ([`interfaces`]) are made here; settings, commands, lines, exit codes, devices and the language are made by tests of
//! the program, which know it.

mod events;
mod interfaces;

use std::path::Path;

use crate::states;

/// The tests of the program that compare pages, or write them.
const TESTS: &[&str] = &[
    "test",
    // In the features of the workspace, in which the tests have built all of it.
    "--workspace",
    "--locked",
    "--bin",
    "wst",
    "--test",
    "all",
    "--",
    "reference::",
    "settings_page::",
    "kermit_page::",
];

/// The pages of `docs/reference` that are written, wholly or in part; each says so.
pub(crate) const WRITTEN: &[&str] = &[
    "commands.md",
    "device-profiles.md",
    "events.md",
    "exit-codes.md",
    "kermit-commands.md",
    "lines.md",
    "settings.md",
    "states.md",
];

/// How such a page says it.
pub(crate) const MARK: &str = "Written by `cargo xtask table --write`";

/// Checks the pages, or writes them.
pub(crate) fn run(root: &Path, write: bool) -> Result<(), String> {
    pages(root, write)?;
    let mut cargo = crate::building::cargo();
    cargo.args(TESTS).current_dir(root);
    if write {
        cargo.env("WETSTRING_UPDATE_SNAPSHOTS", "1");
    }
    let status = cargo.status().map_err(|e| format!("cargo test: {e}"))?;
    if status.success() {
        return Ok(());
    }
    Err("a page of docs/reference differs from what the program says; run cargo xtask table --write".into())
}

fn differs(name: &str) -> String {
    format!("{name} differs from what the code says; run cargo xtask table --write")
}

/// Those for which nothing has to be run.
pub(crate) fn pages(root: &Path, write: bool) -> Result<(), String> {
    let reference = [
        ("states.md", states::page()),
        ("events.md", events::page()),
        ("events.schema.json", events::schema()),
        ("trace.schema.json", events::trace_schema()),
    ];
    let reference = reference.map(|(name, text)| (format!("docs/reference/{name}"), text));
    for (name, wanted) in reference.into_iter().chain(interfaces::listings(root)?) {
        let path = root.join(&name);
        if write {
            std::fs::write(&path, wanted).map_err(|e| format!("{name}: {e}"))?;
        } else if std::fs::read_to_string(&path).unwrap_or_default() != wanted {
            return Err(differs(&name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_up_to_date() {
        assert_eq!(pages(&crate::root(), false), Ok(()));
    }
}
