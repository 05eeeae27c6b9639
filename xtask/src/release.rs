//! `cargo xtask release --dry-run`: walks through what a release needs, and says what is missing. It changes nothing.
//!
//! | step | what it looks at |
//! |---|---|
//! | version | one version, in `Cargo.toml`; every crate takes it from there, and the pages that name a release name it |
//! | tree | no changes that are not committed, and no tag of this version |
//! | changelog | `CHANGELOG.md` has what is new, under headings of Keep a Changelog |
//! | checks | `tidy`, `deny` |
//! | packages | `target/dist` has the files of this version, and their digests are right |
//! | notes | what the release would say, printed |
//!
//! The rest, which needs hours or keys, is listed at the end.

use std::path::Path;
use std::process::Command;

use crate::{deny, tidy};

/// The headings of a version in the changelog.
const HEADINGS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
/// Pages with links to files of the release.
const PAGES: [&str; 2] = ["README.md", "docs/howto/install.md"];
/// What is left to the one who releases.
const LEFT: &str = "\
left to do by hand, in this order:
  cargo xtask ci                               all steps, on a machine with all peers
  cargo xtask dist --twice --bare target/bare  the packages, from this commit
  in CHANGELOG.md: `## [Unreleased]` becomes the version and the date
  git tag -s vVERSION, and the files of target/dist as those of its release
  wetstring.rb into the repository of the tap";

/// Walks through everything.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    if args != ["--dry-run"] {
        return Err("expected release --dry-run: the release itself is made by hand".to_owned());
    }
    let version = version(root)?;
    println!("version {version}");
    let changelog = read(root, "CHANGELOG.md")?;
    let steps = [
        ("version", one_version(root, &version)),
        ("tree", tree(root, &version)),
        ("changelog", unreleased(&changelog).map(drop)),
        ("checks", tidy::run(root).and_then(|()| deny::run(root))),
        ("packages", packages(root, &version)),
    ];
    let mut missing = 0;
    for (name, result) in &steps {
        match result {
            Ok(()) => println!("{name:<10} ready"),
            Err(why) => {
                missing += 1;
                println!("{name:<10} {why}");
            }
        }
    }
    let notes = unreleased(&changelog).unwrap_or_default();
    println!("\nnotes of v{version}:\n\n{notes}\n{}", LEFT.replace("VERSION", &version));
    if missing == 0 {
        Ok(())
    } else {
        Err(format!("{missing} of {} steps are not ready", steps.len()))
    }
}

fn read(root: &Path, path: &str) -> Result<String, String> {
    std::fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: {e}"))
}

fn table(root: &Path, path: &str) -> Result<toml::Table, String> {
    read(root, path)?.parse().map_err(|e| format!("{path}: {e}"))
}

/// The version of the workspace.
fn version(root: &Path) -> Result<String, String> {
    let manifest = table(root, "Cargo.toml")?;
    let version =
        manifest.get("workspace").and_then(|of| of.get("package")?.get("version")?.as_str());
    version
        .map(str::to_owned)
        .ok_or_else(|| "Cargo.toml: expected workspace.package.version".to_owned())
}

/// Every crate has the version of the workspace, and the pages name it.
fn one_version(root: &Path, version: &str) -> Result<(), String> {
    let manifest = table(root, "Cargo.toml")?;
    let members = manifest["workspace"].get("members").and_then(toml::Value::as_array);
    for member in members.into_iter().flatten().filter_map(toml::Value::as_str) {
        let path = format!("{member}/Cargo.toml");
        let own = table(root, &path)?;
        let inherits = own["package"].get("version").and_then(|of| of.get("workspace")?.as_bool());
        if inherits != Some(true) {
            return Err(format!("{path}: expected version.workspace = true"));
        }
    }
    for page in PAGES {
        let text = read(root, page)?;
        let tags = text.split("/releases/download/").skip(1);
        for tag in tags.filter_map(|rest| rest.split('/').next()) {
            if tag != format!("v{version}") {
                return Err(format!("{page}: expected links to v{version}, got {tag}"));
            }
        }
    }
    Ok(())
}

fn git(root: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(args).current_dir(root).output();
    let output = output.map_err(|e| format!("git: {e}"))?;
    if !output.status.success() {
        return Err(format!("git {}: {}", args.join(" "), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Nothing is left to commit, and the version is a new one.
fn tree(root: &Path, version: &str) -> Result<(), String> {
    let changes = git(root, &["status", "--porcelain"])?.lines().count();
    if changes > 0 {
        return Err(format!("expected a clean tree, got {changes} changes"));
    }
    let tag = format!("v{version}");
    if git(root, &["tag", "--list", &tag])?.is_empty() {
        return Ok(());
    }
    Err(format!("expected a new version, the tag {tag} is there"))
}

/// What is new, under its headings.
fn unreleased(changelog: &str) -> Result<&str, String> {
    let (_, after) = changelog
        .split_once("\n## [Unreleased]\n")
        .ok_or("CHANGELOG.md: expected a section [Unreleased]")?;
    let text = after.split_once("\n## [").map_or(after, |(text, _)| text).trim();
    for heading in text.lines().filter_map(|line| line.strip_prefix("### ")) {
        if !HEADINGS.contains(&heading) {
            return Err(format!("expected a heading of Keep a Changelog, got {heading}"));
        }
    }
    let has_entry = text.lines().any(|line| line.starts_with("- "));
    if has_entry && text.starts_with("### ") { Ok(text) } else { Err("nothing is new".to_owned()) }
}

/// The packages of this version are there, and as `SHA256SUMS` has them.
fn packages(root: &Path, version: &str) -> Result<(), String> {
    let dist = root.join("target/dist");
    let sums = std::fs::read_to_string(dist.join("SHA256SUMS"));
    let sums = sums.map_err(|_| "none in target/dist: cargo xtask dist --twice".to_owned())?;
    if !sums.contains(&format!("wetstring-{version}-")) {
        return Err(format!("target/dist has another version than {version}"));
    }
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--quiet", "SHA256SUMS"]).current_dir(dist);
    let status = check.status().map_err(|e| format!("sha256sum: {e}"))?;
    if status.success() { Ok(()) } else { Err("a digest of target/dist is wrong".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_in_one_place() {
        let root = crate::root();
        let version = version(&root).unwrap();
        assert_eq!(one_version(&root, &version), Ok(()));
        assert!(one_version(&root, "9.9.9").unwrap_err().contains("v9.9.9"));
    }

    #[test]
    fn the_changelog_has_what_is_new() {
        assert!(unreleased(&read(&crate::root(), "CHANGELOG.md").unwrap()).is_ok());
        let of = |text: &str| {
            unreleased(&format!("# C\n\n## [Unreleased]\n{text}\n## [0.1.0]\n\n- old\n"))
                .map(str::to_owned)
        };
        assert_eq!(of("\n### Added\n\n- a\n"), Ok("### Added\n\n- a".to_owned()));
        assert!(of("").is_err());
        assert!(of("\n### New\n\n- a\n").unwrap_err().contains("New"));
        assert!(of("\n- a\n").is_err());
        assert!(unreleased("# C\n").is_err());
    }

    #[test]
    fn nothing_is_released_without_the_word() {
        assert!(run(&crate::root(), &[]).is_err());
    }

    #[test]
    fn packages_are_compared_with_their_digests() {
        let root = std::env::temp_dir().join(format!("wetstring-release-{}", std::process::id()));
        let dist = root.join("target/dist");
        std::fs::create_dir_all(&dist).unwrap();
        assert!(packages(&root, "1.0.0").unwrap_err().starts_with("none"));
        std::fs::write(dist.join("wetstring-1.0.0-x"), "").unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        std::fs::write(dist.join("SHA256SUMS"), format!("{empty}  wetstring-1.0.0-x\n")).unwrap();
        let (good, other) = (packages(&root, "1.0.0"), packages(&root, "2.0.0"));
        std::fs::write(dist.join("wetstring-1.0.0-x"), "changed").unwrap();
        let changed = packages(&root, "1.0.0");
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(good, Ok(()));
        assert!(other.is_err() && changed.is_err());
    }
}
