//! The crates that are linked into the program for a target: names, versions, licences, sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

/// A crate of the program.
#[derive(Clone, Debug)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    /// The expression of its manifest, as SPDX writes it.
    pub(super) licence: String,
    pub(super) authors: Vec<String>,
    /// Where its source is.
    pub(super) directory: PathBuf,
    /// SHA-256 of the archive in the registry; our own crates have none.
    pub(super) checksum: Option<String>,
    /// Which crates it uses, by their index in the list.
    pub(super) uses: Vec<usize>,
}

/// Every crate of the program `wst` for this target without features, sorted by name and version.
pub(super) fn crates(root: &Path, triple: &str) -> Result<Vec<Crate>, String> {
    let tree = cargo(
        root,
        &[
            "tree",
            "--locked",
            "-p",
            "wetstring",
            "--target",
            triple,
            "-e",
            "normal,no-proc-macro",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ],
    )?;
    let metadata =
        cargo(root, &["metadata", "--format-version=1", "--locked", "--filter-platform", triple])?;
    let metadata: Json = serde_json::from_str(&metadata).map_err(|e| e.to_string())?;
    let lock =
        std::fs::read_to_string(root.join("Cargo.lock")).map_err(|e| format!("Cargo.lock: {e}"))?;
    listed(&linked(&tree), &metadata, &checksums(&lock)?)
}

fn cargo(root: &Path, args: &[&str]) -> Result<String, String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program).args(args).current_dir(root).output();
    let output = output.map_err(|e| format!("cargo {}: {e}", args[0]))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

/// Name and version of each line of `cargo tree`.
fn linked(tree: &str) -> BTreeSet<(String, String)> {
    let package = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?;
        let version = words.next()?.strip_prefix('v')?;
        Some((name.to_owned(), version.to_owned()))
    };
    tree.lines().filter_map(package).collect()
}

/// The checksums of the lock file, by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>, String> {
    let lock: toml::Table = lock.parse().map_err(|e| format!("Cargo.lock: {e}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let row = |package: &toml::Value| {
        let word = |key: &str| package.get(key)?.as_str().map(str::to_owned);
        Some(((word("name")?, word("version")?), word("checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(row).collect())
}

fn listed(
    linked: &BTreeSet<(String, String)>,
    metadata: &Json,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Vec<Crate>, String> {
    let word = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let mut found: Vec<(String, Crate)> = Vec::new();
    for package in packages {
        let key = (word(&package["name"]), word(&package["version"]));
        if !linked.contains(&key) {
            continue;
        }
        let manifest = PathBuf::from(word(&package["manifest_path"]));
        let authors = package["authors"].as_array();
        let one = Crate {
            checksum: checksums.get(&key).cloned(),
            name: key.0,
            version: key.1,
            licence: word(&package["license"]).replace('/', " OR ").replace("  ", " "),
            authors: authors.into_iter().flatten().map(word).collect(),
            directory: manifest.parent().map(Path::to_path_buf).unwrap_or_default(),
            uses: Vec::new(),
        };
        found.push((word(&package["id"]), one));
    }
    if found.len() != linked.len() {
        return Err(format!(
            "expected {} crates, cargo metadata has {}",
            linked.len(),
            found.len()
        ));
    }
    found.sort_by(|(_, a), (_, b)| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    let index: BTreeMap<String, usize> =
        found.iter().enumerate().map(|(at, (id, _))| (id.clone(), at)).collect();
    for node in metadata["resolve"]["nodes"].as_array().into_iter().flatten() {
        let Some(&at) = index.get(&word(&node["id"])) else { continue };
        let of_program = |dep: &&Json| {
            dep["dep_kinds"].as_array().is_some_and(|all| all.iter().any(|k| k["kind"].is_null()))
        };
        let deps = node["deps"].as_array().into_iter().flatten().filter(of_program);
        let mut uses: Vec<usize> =
            deps.filter_map(|dep| index.get(&word(&dep["pkg"])).copied()).collect();
        uses.sort_unstable();
        uses.dedup();
        found[at].1.uses = uses;
    }
    Ok(found.into_iter().map(|(_, one)| one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_linked_is_listed() {
        let tree = "wst v0.1.0 (/x/cli)\na v1.0.0\na v1.0.0 (*)\n";
        let lock = "[[package]]\nname='a'\nversion='1.0.0'\nchecksum='abc'\n";
        let kind = |kind: &Json| json!([{"kind": kind}]);
        let metadata = json!({
            "packages": [
                {"name": "wst", "version": "0.1.0", "id": 1.to_string(), "license": "MIT/Apache-2.0", "manifest_path": "/x/cli/Cargo.toml"},
                {"name": "a", "version": "1.0.0", "id": "2", "license": "MIT", "manifest_path": "/r/a/Cargo.toml"},
                {"name": "a", "version": "2.0.0", "id": "3", "license": "MIT", "manifest_path": "/r/b/Cargo.toml"},
            ],
            "resolve": {"nodes": [{"id": "1", "deps": [
                {"pkg": "2", "dep_kinds": kind(&Json::Null)},
                {"pkg": "3", "dep_kinds": kind(&json!("dev"))},
            ]}]},
        });
        let all = listed(&linked(tree), &metadata, &checksums(lock).unwrap()).unwrap();
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "wst"]);
        assert_eq!(all[1].uses, [0]);
        assert_eq!(all[1].licence, "MIT OR Apache-2.0");
        assert_eq!(all[0].checksum.as_deref(), Some("abc"));
        let missing = listed(&linked("b v1.0.0"), &metadata, &BTreeMap::new()).unwrap_err();
        assert_eq!(missing, "expected 1 crates, cargo metadata has 0");
    }
}
