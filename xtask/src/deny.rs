//! Licences, bans and sources of everything in the lock file, against `deny.toml`.
//!
//! The file is cargo-deny's own; this chore reads the part that needs no download. Why:
//! `docs/decisions/010-licences.md`.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use spdx::{Expression, LicenseReq};
use toml::Table;

/// The public registry, as `cargo metadata` writes it.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What `deny.toml` decides.
struct Policy {
    allow: Vec<String>,
    ban: Vec<Ban>,
}

/// A package that may not be used, but by these packages directly (`wrappers`).
struct Ban {
    name: String,
    wrappers: Vec<String>,
}

/// The items of a list.
fn list(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Which packages use a package directly, by their names.
fn users<'m>(metadata: &'m Json, package: &Json) -> Vec<&'m str> {
    let mut users = Vec::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        if list(&node["deps"]).iter().any(|dep| dep["pkg"] == package["id"]) {
            let found = list(&metadata["packages"]).iter().find(|p| p["id"] == node["id"]);
            users.extend(found.and_then(|p| p["name"].as_str()));
        }
    }
    users
}

/// Checks the repository at `root`.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(root.join("deny.toml")).map_err(|e| e.to_string())?;
    let policy = Policy::parse(&text)?;
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1", "--locked", "--all-features"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let metadata: Json = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let complaints: Vec<String> = packages
        .iter()
        .filter_map(|package| policy.complaint(package, &users(&metadata, package)))
        .collect();
    if complaints.is_empty() {
        println!("deny: {} packages, licences, bans and sources are in order", packages.len());
        return Ok(());
    }
    Err(complaints.join("\n"))
}

impl Policy {
    fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|e| format!("deny.toml: {e}"))?;
        let words = |list: Option<&toml::Value>| -> Vec<String> {
            let list = list.and_then(toml::Value::as_array);
            let word = |item: &toml::Value| item.as_str().map(str::to_owned);
            list.map(|items| items.iter().filter_map(word).collect()).unwrap_or_default()
        };
        let ban = |item: &toml::Value| {
            let name = item.get("name")?.as_str()?.to_owned();
            Some(Ban { name, wrappers: words(item.get("wrappers")) })
        };
        let banned = table.get("bans").and_then(|bans| bans.get("deny")?.as_array());
        let policy = Self {
            allow: words(table.get("licenses").and_then(|licences| licences.get("allow"))),
            ban: banned.map(|bans| bans.iter().filter_map(ban).collect()).unwrap_or_default(),
        };
        if policy.allow.is_empty() {
            return Err("deny.toml: expected a list of licences, got none".to_owned());
        }
        Ok(policy)
    }

    /// What is wrong with one package of `cargo metadata`, if anything.
    /// It is used by `users`.
    fn complaint(&self, package: &Json, users: &[&str]) -> Option<String> {
        let name = package["name"].as_str().unwrap_or("?");
        if let Some(ban) = self.ban.iter().find(|ban| ban.name == name) {
            let allowed = |user: &&str| ban.wrappers.iter().any(|wrapper| wrapper == user);
            if users.is_empty() || !users.iter().all(allowed) {
                return Some(format!("{name}: banned by deny.toml"));
            }
        }
        if let Some(source) = package["source"].as_str()
            && source != CRATES_IO
        {
            return Some(format!("{name}: expected crates.io as its source, got {source}"));
        }
        let Some(licence) = package["license"].as_str() else {
            return Some(format!("{name}: expected a licence expression, got none"));
        };
        match Expression::parse_mode(licence, spdx::ParseMode::LAX) {
            Err(_) => Some(format!("{name}: expected an SPDX licence expression, got {licence}")),
            Ok(expression) if !expression.evaluate(|req| self.allows(req)) => {
                Some(format!("{name}: its licence {licence} is not allowed by deny.toml"))
            }
            Ok(_) => None,
        }
    }

    fn allows(&self, req: &LicenseReq) -> bool {
        let wanted = req.to_string();
        self.allow.contains(&wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn policy() -> Policy {
        let text =
            "[licenses]\nallow=['MIT','Zlib']\n[bans]\ndeny=[{name='bad',wrappers=['good']}]";
        Policy::parse(text).unwrap()
    }

    fn says(package: &Json) -> String {
        policy().complaint(package, &[]).unwrap_or_default()
    }

    #[test]
    fn a_licence_must_be_satisfied_by_the_list() {
        let of = |licence: &str| says(&json!({"name": "x", "license": licence}));
        assert_eq!(of("MIT"), "");
        assert_eq!(of("GPL-3.0 OR MIT"), "");
        assert_eq!(of("MIT/Apache-2.0"), "");
        assert_eq!(
            of("MIT AND GPL-3.0"),
            "x: its licence MIT AND GPL-3.0 is not allowed by deny.toml"
        );
        assert_eq!(says(&json!({"name": "x"})), "x: expected a licence expression, got none");
    }

    #[test]
    fn bans_and_sources_are_checked() {
        let bad = json!({"name": "bad", "license": "MIT", "id": 1});
        assert_eq!(says(&bad), "bad: banned by deny.toml");
        let metadata = json!({
            "packages": [{"name": "bad", "id": 1}, {"name": "good", "id": 2}, {"name": "x", "id": 3}],
            "resolve": {"nodes": [{"id": 2, "deps": [{"pkg": 1}]}, {"id": 3, "deps": []}]},
        });
        assert_eq!(users(&metadata, &bad), ["good"]);
        assert_eq!(policy().complaint(&bad, &["good"]), None);
        assert!(policy().complaint(&bad, &["good", "x"]).is_some());
        let git = json!({"name": "x", "license": "MIT", "source": "git+https://example.org/x"});
        assert!(says(&git).starts_with("x: expected crates.io"));
    }

    #[test]
    fn the_policy_of_the_house_can_be_read() {
        let text = std::fs::read_to_string(crate::root().join("deny.toml")).unwrap();
        assert!(Policy::parse(&text).unwrap().allow.contains(&"MIT".to_owned()));
        assert!(Policy::parse("[licenses]").is_err());
    }
}
