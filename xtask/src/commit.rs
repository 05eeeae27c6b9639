//! The commit that something was made from, in a file beside it.

use std::path::Path;
use std::process::Command;

/// The name of the file.
pub(crate) const FILE: &str = "COMMIT";

/// What git prints.
pub(crate) fn git(root: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(args).current_dir(root).output();
    let output = output.map_err(|e| format!("git: {e}"))?;
    if !output.status.success() {
        return Err(format!("git {}: {}", args.join(" "), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The present commit, and whether files of it are changed.
pub(crate) fn of(root: &Path) -> Result<String, String> {
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let changed = git(root, &["status", "--porcelain", "--untracked-files=no"])?;
    Ok(if changed.is_empty() { commit } else { format!("{commit}, with changes") })
}

/// Writes into a folder the commit that was the present one when the build began. An archive of the source has none.
pub(crate) fn mark(commit: Result<String, String>, folder: &Path) -> Result<(), String> {
    let Ok(commit) = commit else { return Ok(()) };
    let path = folder.join(FILE);
    std::fs::write(&path, format!("{commit}\n")).map_err(|e| format!("{}: {e}", path.display()))
}

/// Whether what is in a folder was made from this commit.
pub(crate) fn check(commit: &str, folder: &Path) -> Result<(), String> {
    let made = std::fs::read_to_string(folder.join(FILE)).unwrap_or_default();
    match made.trim() {
        "" => Err(format!("no {FILE} says what it was made from")),
        made if made == commit => Ok(()),
        made => Err(format!("made from {made}, this is {commit}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_from_another_commit_is_found() {
        let folder = std::env::temp_dir().join(format!("wetstring-commit-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let none = check("abc", &folder);
        std::fs::write(folder.join(FILE), "abc\n").unwrap();
        let (same, other) = (check("abc", &folder), check("def", &folder));
        std::fs::write(folder.join(FILE), "abc, with changes\n").unwrap();
        let changed = check("abc", &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(same, Ok(()));
        assert!(none.unwrap_err().starts_with("no COMMIT"));
        assert_eq!(other.unwrap_err(), "made from abc, this is def");
        assert!(changed.is_err());
    }
}
