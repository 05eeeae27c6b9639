//! The pages that are written from the code: the settings, which a test of the program compares with what `wst show`
//! lists; the state tables ([`states`]); the events, and their schemas.

mod events;

use std::path::Path;

use crate::states;

const SETTINGS: &[&str] = &["test", "-p", "wetstring", "--test", "all", "settings_page::"];

/// Checks the pages, or writes them.
pub(crate) fn run(root: &Path, write: bool) -> Result<(), String> {
    pages(root, write)?;
    let mut cargo = crate::building::cargo();
    cargo.args(SETTINGS).current_dir(root);
    if write {
        cargo.env("WETSTRING_UPDATE_SNAPSHOTS", "1");
    }
    let status = cargo.status().map_err(|e| format!("cargo test: {e}"))?;
    if status.success() {
        return Ok(());
    }
    Err(differs("settings.md"))
}

fn differs(name: &str) -> String {
    format!("docs/reference/{name} differs from what the code says; run cargo xtask table --write")
}

/// Those for which nothing has to be run.
fn pages(root: &Path, write: bool) -> Result<(), String> {
    let pages = [
        ("states.md", states::page()),
        ("events.md", events::page()),
        ("events.schema.json", events::schema()),
        ("trace.schema.json", events::trace_schema()),
    ];
    for (name, wanted) in pages {
        let path = root.join("docs/reference").join(name);
        if write {
            std::fs::write(&path, wanted).map_err(|e| format!("{}: {e}", path.display()))?;
        } else if std::fs::read_to_string(&path).unwrap_or_default() != wanted {
            return Err(differs(name));
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
