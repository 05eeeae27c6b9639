//! `cargo xtask release --dry-run [--quick]`: walks through what a release needs, and says what is missing. It releases nothing.
//!
//! | step | what it looks at |
//! |---|---|
//! | version | one version, in `Cargo.toml`; every crate and package has it, and the pages that name a release name it |
//! | tree | no changes that are not committed, and no tag of this version |
//! | changelog | `CHANGELOG.md` has what is new, under headings of Keep a Changelog |
//! | rules | `tidy`, `deny` |
//! | pages | `table`; not with `--quick`, like all that builds |
//! | pictures | `docs --check`; not with `--quick` |
//! | book | `book`; not with `--quick` |
//! | interface | `api`; not with `--quick` |
//! | packages | `target/dist` has every file of this version, made from this commit, and their digests are right |
//! | wheels | `target/wheels` has one for every system, of this version, built from this commit |
//! | npm | `web/dist` has the package for browsers, built from this commit |
//! | notes | what the release would say, printed |
//!
//! The rest, which needs hours or keys, is listed at the end.

use std::path::Path;
use std::process::Command;

use crate::commit::{self, git};
use crate::{book, deny, docs, table, target, tidy, wheels};

/// The headings of a version in the changelog.
const HEADINGS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
/// Pages with links to files of the release.
const PAGES: [&str; 2] = ["README.md", "docs/howto/install.md"];
/// Files that the package for browsers has, among others.
const NPM: [&str; 6] =
    ["index.js", "index.d.ts", "xterm.js", "wetstring.wasm", "kermit.wasm", "device.wasm"];
/// What is left to the one who releases.
const LEFT: &str = "\
left to do by hand, in this order:
  cargo xtask ci                               all steps, on a machine with all peers
  cargo xtask dist --twice --bare target/bare  the packages, from this commit
  cargo xtask wheels                           those for Python
  cargo xtask web build                        the package for browsers
  in CHANGELOG.md: `## [Unreleased]` becomes the version and the date
  git tag -s vVERSION, and the files of target/dist as those of its release
  wetstring.rb into the repository of the tap
  the wheels to PyPI, and in web/: npm publish";

/// A step: its name, and what came of it.
type Done = (&'static str, Result<(), String>);

/// Walks through everything.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let quick = match words[..] {
        ["--dry-run"] => false,
        ["--dry-run", "--quick"] => true,
        _ => {
            return Err("expected release --dry-run [--quick]: a release is made by hand".into());
        }
    };
    let version = version(root)?;
    println!("version {version}");
    let changelog = read(root, "CHANGELOG.md")?;
    let mut steps: Vec<Done> = vec![
        ("version", one_version(root, &version)),
        ("tree", tree(root, &version)),
        ("changelog", unreleased(&changelog).map(drop)),
        ("rules", tidy::run(root).and_then(|()| deny::run(root))),
    ];
    if quick {
        println!("not run, because of --quick: table, docs --check, book, api");
    } else {
        steps.push(("pages", table::run(root, false)));
        steps.push(("pictures", docs::run(root, &["--check".to_owned()])));
        steps.push(("book", book::run(root)));
        steps.push(("interface", crate::api(&[])));
    }
    let now = commit::of(root)?;
    steps.push(("packages", packages(&root.join("target/dist"), &version, &now)));
    steps.push(("wheels", of_python(&root.join("target/wheels"), &version, &now)));
    steps.push(("npm", of_browsers(&root.join("web/dist"), &now)));
    let missing = report(&steps);
    let notes = unreleased(&changelog).unwrap_or_default();
    println!("\nnotes of v{version}:\n\n{notes}\n{}", LEFT.replace("VERSION", &version));
    if missing == 0 {
        Ok(())
    } else {
        Err(format!("{missing} of {} steps are not ready", steps.len()))
    }
}

/// Prints what came of each step, and counts those that are not ready.
fn report(steps: &[Done]) -> usize {
    for (name, result) in steps {
        match result {
            Ok(()) => println!("{name:<10} ready"),
            Err(why) => println!("{name:<10} {why}"),
        }
    }
    steps.iter().filter(|(_, result)| result.is_err()).count()
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

/// Every crate and package has the version of the workspace, and the pages name it.
fn one_version(root: &Path, version: &str) -> Result<(), String> {
    let mut wrong = Vec::new();
    for path in manifests(root, root)? {
        let manifest = table(root, &path)?;
        let own = manifest.get("package").and_then(|package| package.get("version"));
        let inherits = own.and_then(|own| own.get("workspace")?.as_bool()) == Some(true);
        if let Some(own) = own.filter(|own| !inherits && own.as_str() != Some(version)) {
            wrong.push(format!("{path}: expected version {version}, got {own}"));
        }
    }
    for (path, own) in of_packages(root)? {
        if own != version {
            wrong.push(format!("{path}: expected version {version}, got {own}"));
        }
    }
    for page in PAGES {
        let text = read(root, page)?;
        let tags = text.split("/releases/download/").skip(1);
        for tag in tags.filter_map(|rest| rest.split('/').next()) {
            if tag != format!("v{version}") {
                wrong.push(format!("{page}: expected links to v{version}, got {tag}"));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

/// The versions of the packages for Python and for browsers.
fn of_packages(root: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let path = "python/pyproject.toml";
    let project = table(root, path)?;
    let own = project.get("project").and_then(|of| of.get("version")?.as_str());
    let mut found = vec![(path, own.unwrap_or("none").to_owned())];
    for path in ["web/package.json", "web/package-lock.json"] {
        let package: serde_json::Value =
            serde_json::from_str(&read(root, path)?).map_err(|e| format!("{path}: {e}"))?;
        found.push((path, package["version"].as_str().unwrap_or("none").to_owned()));
    }
    Ok(found)
}

/// The manifests of all crates, also of those that are workspaces of their own.
fn manifests(root: &Path, folder: &Path) -> Result<Vec<String>, String> {
    let say = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(say)?.filter_map(Result::ok) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "target" && name != "node_modules" && name != ".git" {
            found.extend(manifests(root, &path)?);
        } else if name == "Cargo.toml"
            && let Ok(relative) = path.strip_prefix(root)
        {
            found.push(relative.to_string_lossy().replace('\\', "/"));
        }
    }
    found.sort();
    Ok(found)
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

/// The packages of this version are there, made from this commit, and as `SHA256SUMS` has them.
fn packages(dist: &Path, version: &str, now: &str) -> Result<(), String> {
    let sums = std::fs::read_to_string(dist.join("SHA256SUMS"));
    let sums = sums.map_err(|_| "none in target/dist: cargo xtask dist --twice".to_owned())?;
    let listed = |name: &str| sums.lines().any(|line| line.ends_with(&format!("  {name}")));
    let missing: Vec<String> =
        target::files(version).into_iter().filter(|name| !listed(name)).collect();
    if !missing.is_empty() {
        return Err(format!("target/dist lacks {}: cargo xtask dist", missing.join(", ")));
    }
    commit::check(now, dist).map_err(|e| format!("target/dist: {e}"))?;
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--quiet", "SHA256SUMS"]).current_dir(dist);
    let status = check.status().map_err(|e| format!("sha256sum: {e}"))?;
    if status.success() { Ok(()) } else { Err("a digest of target/dist is wrong".to_owned()) }
}

/// A wheel of this version is there for each system, built from this commit.
fn of_python(folder: &Path, version: &str, now: &str) -> Result<(), String> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.map_err(|_| "none in target/wheels: cargo xtask wheels".to_owned())?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let missing = wheels::missing(&names.collect::<Vec<_>>(), version);
    if !missing.is_empty() {
        return Err(format!("target/wheels lacks {}: cargo xtask wheels", missing.join(", ")));
    }
    commit::check(now, folder).map_err(|e| format!("target/wheels: {e}"))
}

/// The package for browsers is there, built from this commit.
fn of_browsers(dist: &Path, now: &str) -> Result<(), String> {
    let missing: Vec<&str> = NPM.into_iter().filter(|name| !dist.join(name).is_file()).collect();
    if !missing.is_empty() {
        return Err(format!("web/dist lacks {}: cargo xtask web build", missing.join(", ")));
    }
    commit::check(now, dist).map_err(|e| format!("web/dist: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_and_package_has_the_version() {
        let root = crate::root();
        let version = version(&root).unwrap();
        assert_eq!(one_version(&root, &version), Ok(()));
        let wrong = one_version(&root, "9.9.9").unwrap_err();
        for place in ["boot", "capi", "mini", "python", "web/wasm", "web/lab", "web/device"] {
            assert!(
                wrong.contains(&format!("{place}/Cargo.toml: expected version 9.9.9")),
                "{wrong}"
            );
        }
        for place in
            ["README.md", "python/pyproject.toml", "web/package.json", "web/package-lock.json"]
        {
            assert!(wrong.contains(place), "{place}: {wrong}");
        }
        // It has that of the workspace.
        assert!(!wrong.contains("proto/Cargo.toml"), "{wrong}");
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
        for words in [&[][..], &["--quick"], &["--dry-run", "--now"]] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let refused = run(&crate::root(), &words).unwrap_err();
            assert!(refused.starts_with("expected release --dry-run"), "{refused}");
        }
    }

    /// A folder that a test fills.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("wetstring-release-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.0.join(name), text).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn packages_are_complete_of_this_commit_and_as_their_digests() {
        let dist = Folder::new("dist");
        let found = |version: &str, now: &str| packages(&dist.0, version, now);
        assert!(found("1.0.0", "abc").unwrap_err().starts_with("none"));
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let names = target::files("1.0.0");
        let sums: Vec<String> = names.iter().map(|name| format!("{empty}  {name}\n")).collect();
        for name in &names {
            dist.write(name, "");
        }
        dist.write("SHA256SUMS", &sums.concat());
        assert!(found("1.0.0", "abc").unwrap_err().contains("no COMMIT"));
        dist.write(commit::FILE, "abc\n");
        assert_eq!(found("1.0.0", "abc"), Ok(()));
        assert!(found("2.0.0", "abc").unwrap_err().contains("wetstring-2.0.0-"));
        assert!(found("1.0.0", "def").unwrap_err().contains("made from abc"));
        let first = names.first().unwrap();
        dist.write("SHA256SUMS", &sums[1..].concat());
        assert!(found("1.0.0", "abc").unwrap_err().contains(&format!("lacks {first}")));
        dist.write("SHA256SUMS", &sums.concat());
        dist.write(first, "changed");
        assert!(found("1.0.0", "abc").unwrap_err().contains("digest"));
    }

    #[test]
    fn wheels_and_the_package_for_browsers_are_named_as_missing() {
        let folder = Folder::new("wheels");
        let none = of_python(&folder.0.join("none"), "1.0.0", "abc").unwrap_err();
        assert!(none.contains("cargo xtask wheels"), "{none}");
        let lacks = of_python(&folder.0, "1.0.0", "abc").unwrap_err();
        assert!(lacks.contains("win_amd64"), "{lacks}");
        for platform in wheels::missing(&[], "1.0.0") {
            folder.write(&format!("wetstring-1.0.0-cp310-abi3-{platform}.whl"), "");
        }
        assert!(of_python(&folder.0, "1.0.0", "abc").unwrap_err().contains("no COMMIT"));
        folder.write(commit::FILE, "abc\n");
        assert_eq!(of_python(&folder.0, "1.0.0", "abc"), Ok(()));
        assert!(of_python(&folder.0, "1.0.1", "abc").is_err());
        let lacks = of_browsers(&folder.0, "abc").unwrap_err();
        assert!(lacks.contains("lacks index.js"), "{lacks}");
        for name in NPM {
            folder.write(name, "");
        }
        assert_eq!(of_browsers(&folder.0, "abc"), Ok(()));
        assert!(of_browsers(&folder.0, "def").unwrap_err().contains("made from abc"));
    }

    #[test]
    fn steps_that_are_not_ready_are_counted() {
        let steps = [("a", Ok(())), ("b", Err("no".to_owned())), ("c", Err("no".to_owned()))];
        assert_eq!(report(&steps), 2);
    }
}
