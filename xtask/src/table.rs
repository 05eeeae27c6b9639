//! The pages of `docs/` that are written from tables in the code: `settings.md`, which a test of the program
//! compares with what `wst show` lists, and `states.md` by [`states`].

use std::path::Path;
use std::process::Command;

use crate::states;

const TEST: &[&str] = &["test", "-p", "wetstring", "--test", "all", "settings_page::"];

/// Checks the pages, or writes them.
pub(crate) fn run(root: &Path, write: bool) -> Result<(), String> {
    states(root, write)?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(TEST).current_dir(root);
    if write {
        cargo.env("WETSTRING_UPDATE_SNAPSHOTS", "1");
    }
    let status = cargo.status().map_err(|e| format!("cargo test: {e}"))?;
    if status.success() {
        return Ok(());
    }
    Err("docs/settings.md differs from the settings in the code; run cargo xtask table --write"
        .into())
}

/// Checks the page of the state tables, or writes it.
fn states(root: &Path, write: bool) -> Result<(), String> {
    let (path, wanted) = (root.join("docs/states.md"), states::page());
    if write {
        return std::fs::write(&path, wanted).map_err(|e| format!("{}: {e}", path.display()));
    }
    if std::fs::read_to_string(&path).unwrap_or_default() == wanted {
        return Ok(());
    }
    Err("docs/states.md differs from the state tables; run cargo xtask table --write".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_states_is_up_to_date() {
        assert_eq!(states(&crate::root(), false), Ok(()));
    }
}
