//! `docs/settings.md`, which a test of the program compares with what `wst show` lists.

use std::path::Path;
use std::process::Command;

const TEST: &[&str] = &["test", "-p", "wetstring", "--test", "all", "settings_page::"];

/// Checks the page, or writes it.
pub(crate) fn run(root: &Path, write: bool) -> Result<(), String> {
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
