//! What package managers of others read: the files of `packaging/` with versions, addresses and digests filled in.

use std::collections::BTreeMap;

use super::Release;

/// A recipe with its marks replaced: `@VERSION@`, `@URL@` (the folder of the release's files) and `@SHA256:TARGET@`.
/// `digests` are those of the archives, by target.
pub(super) fn filled(
    release: &Release,
    text: &str,
    digests: &BTreeMap<&str, String>,
) -> Result<String, String> {
    let version = &release.version;
    let url = format!("{}/releases/download/v{version}", super::REPOSITORY);
    let mut text = text.replace("@VERSION@", version).replace("@URL@", &url);
    while let Some(at) = text.find("@SHA256:") {
        let rest = &text[at + "@SHA256:".len()..];
        let target = rest.split('@').next().unwrap_or_default();
        let digest = digests.get(target).ok_or_else(|| format!("needs {target}"))?;
        text = text.replace(&format!("@SHA256:{target}@"), digest);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{self, RECIPES, TARGETS, Target};

    #[test]
    fn marks_are_filled_in() {
        let digests = BTreeMap::from([("a-b", "ff".to_owned())]);
        let text = "u @URL@/x-@VERSION@ s @SHA256:a-b@ @SHA256:a-b@";
        let url = format!("{}/releases/download/v1.2.3/x-1.2.3", super::super::REPOSITORY);
        let fill = |text| filled(&Release::example(), text, &digests);
        assert_eq!(fill(text), Ok(format!("u {url} s ff ff")));
        assert_eq!(fill("@SHA256:c@"), Err("needs c".to_owned()));
    }

    /// Pages for users name files that are made.
    #[test]
    fn pages_name_files_of_a_release() {
        let release = Release::of(&crate::root(), "dist").unwrap();
        let version = &release.version;
        let made = target::files(version);
        let mut count = 0;
        for page in ["README.md", "docs/howto/install.md"] {
            let text = std::fs::read_to_string(crate::root().join(page)).unwrap();
            for rest in text.split("/releases/download/").skip(1) {
                let (tag, rest) = rest.split_once('/').unwrap();
                let name = rest.split([' ', '`']).next().unwrap_or_default();
                assert_eq!(tag, format!("v{version}"), "{page}");
                assert!(made.iter().any(|file| file == name), "{page}: {name}");
                count += 1;
            }
        }
        assert!(count >= 10, "{count}");
    }

    /// `cargo binstall` asks for the same names.
    #[test]
    fn binstall_finds_the_archives() {
        let manifest = std::fs::read_to_string(crate::root().join("cli/Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let about = &manifest["package"]["metadata"]["binstall"];
        let name = |of: &toml::Value, target: &str| {
            let url = of["pkg-url"].as_str().unwrap();
            let url = url.replace("{ version }", "1").replace("{ target }", target);
            url.rsplit('/').next().unwrap().replace("{ archive-suffix }", ".tar.xz")
        };
        let target = TARGETS[0].triple;
        assert_eq!(name(about, target), format!("wetstring-1-{target}.tar.xz"));
        for (msvc, ours) in [
            ("x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu"),
            ("aarch64-pc-windows-msvc", "aarch64-pc-windows-gnullvm"),
        ] {
            assert!(Target::named(ours).is_ok());
            let found = name(&about["overrides"][msvc], msvc);
            assert_eq!(found, format!("wetstring-1-{ours}.tar.xz"));
        }
    }

    /// Every recipe names files that are made, and nothing is left to fill in.
    #[test]
    fn the_recipes_of_the_house_are_complete() {
        let digest = "0".repeat(64);
        let digests: BTreeMap<&str, String> =
            TARGETS.iter().map(|target| (target.triple, digest.clone())).collect();
        for (path, _) in RECIPES {
            let text = std::fs::read_to_string(crate::root().join(path)).unwrap();
            let text = filled(&Release::example(), &text, &digests).unwrap();
            assert!(text.contains(&digest) && text.contains("1.2.3"), "{path}");
            let is_json = text.starts_with('{');
            assert!(!is_json || serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{path}");
            for word in text.split(['"', '/', '\'', ' ', '\n', '(', ')', ',']) {
                if let Some(of) = word.strip_prefix("wetstring-1.2.3-") {
                    let of = of.strip_suffix(".tar.xz").unwrap_or(of);
                    assert!(digests.contains_key(of), "{path}: {word}");
                }
            }
        }
    }
}
