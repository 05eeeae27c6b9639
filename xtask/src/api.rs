//! `cargo xtask api [--write]`: the public interface of `wetstring-proto`, one item a line, in `proto/api.txt`. A change of the
//! interface shows there, to its author and to a reviewer. The oldest compiler that the crate promises is tried, too.

use std::path::Path;
use std::process::Command;

use crate::mini::TOOLCHAIN;

/// The compiler of `rust-version` in Cargo.toml; `.ci/run` installs it.
const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");

/// The listing.
const LISTING: &str = "proto/api.txt";
/// What these compilers make.
const TARGET: &str = "target/api";

/// Compares the listing with the interface as it is, or writes it.
pub(crate) fn run(root: &Path, write: bool) -> Result<(), String> {
    let (path, now) = (root.join(LISTING), listed(root)?);
    if write {
        return std::fs::write(&path, now).map_err(|e| format!("{LISTING}: {e}"));
    }
    oldest(root)?;
    let before = std::fs::read_to_string(&path).map_err(|e| format!("{LISTING}: {e}"))?;
    match changes(&before, &now) {
        said if said.is_empty() => Ok(()),
        said => Err(format!(
            "the public interface of wetstring-proto changed; `cargo xtask api --write` lists it, CHANGELOG.md says it:\n{said}"
        )),
    }
}

/// Does something with the crate and all that adds to its interface, by a compiler of its own.
fn cargo(root: &Path, toolchain: &str, verb: &str, more: &[&str]) -> Result<(), String> {
    let mut cargo = Command::new("cargo");
    cargo.arg(format!("+{toolchain}")).args([verb, "-p", "wetstring-proto", "--lib", "--locked"]);
    cargo.args(["--features", "std,tokio,futures", "--target-dir"]).arg(root.join(TARGET));
    let status = cargo.args(more).current_dir(root).status().map_err(|e| format!("cargo: {e}"))?;
    if status.success() {
        return Ok(());
    }
    let install = format!("rustup toolchain install {toolchain} --profile minimal");
    Err(format!("cargo {verb} with Rust {toolchain} failed; if that is not there: {install}"))
}

/// Whether the oldest compiler takes it.
fn oldest(root: &Path) -> Result<(), String> {
    cargo(root, OLDEST, "check", &[])
}

/// The interface as rustdoc has it.
fn listed(root: &Path) -> Result<String, String> {
    let json = ["--", "-Z", "unstable-options", "--output-format", "json"];
    cargo(root, TOOLCHAIN.trim_start_matches('+'), "rustdoc", &json)?;
    let api =
        public_api::Builder::from_rustdoc_json(root.join(TARGET).join("doc/wetstring_proto.json"))
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .map_err(|e| e.to_string())?;
    // Everything is of this crate but what says otherwise.
    Ok(api.items().map(|item| format!("{item}\n").replace("wetstring_proto::", "")).collect())
}

/// The lines that one has and the other has not.
fn changes(before: &str, now: &str) -> String {
    let lines = |text: &str, other: &str, sign: &str| -> String {
        let other: std::collections::BTreeSet<&str> = other.lines().collect();
        let own = text.lines().filter(|line| !other.contains(line));
        own.flat_map(|line| [sign, line, "\n"]).collect()
    };
    lines(before, now, "- ") + &lines(now, before, "+ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_and_what_came_is_shown() {
        let (before, now) = ("pub fn a()\npub fn b()\n", "pub fn b()\npub fn b(u8)\n");
        assert_eq!(changes(before, now), "- pub fn a()\n+ pub fn b(u8)\n");
        assert_eq!(changes(now, now), "");
    }
}
