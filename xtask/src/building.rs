//! How chores start what builds.

use std::ffi::OsStr;
use std::process::Command;

/// A program that builds, without what cargo tells the program that it runs, this one: build scripts (ring's) would take
/// that for a change, and all that is above it would be built again.
pub(crate) fn building(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// The cargo that runs this program, likewise.
pub(crate) fn cargo() -> Command {
    building(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_does_not_see_who_runs_this() {
        let command = cargo();
        let kept = |name: &str| {
            std::env::var_os(name).is_none()
                || command.get_envs().any(|(key, value)| key == name && value.is_none())
        };
        // Cargo says these to the program of the tests, too.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        assert!(kept("CARGO_PKG_NAME") && kept("CARGO_MANIFEST_DIR"));
    }
}
