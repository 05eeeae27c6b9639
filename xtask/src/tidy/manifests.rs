//! Which crates of the house a crate may need.

use super::Complain;

/// Which crates of the house each crate may name in its manifest: one row a manifest, by its folder.
const MAY_DEPEND: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("protocols", &["wetstring-proto"]),
    ("events", &[]),
    ("lab", &["wetstring-proto", "wetstring-protocols"]),
    ("drive", &["wetstring-proto", "wetstring-lab"]),
    ("objects", &["wetstring-proto", "wetstring-drive"]),
    ("script", &["wetstring-proto"]),
    ("device", &["wetstring-proto"]),
    (
        "cli",
        &[
            "wetstring-proto",
            "wetstring-protocols",
            "wetstring-events",
            "wetstring-lab",
            "wetstring-drive",
            "wetstring-objects",
            "wetstring-script",
            "wetstring-device",
        ],
    ),
    ("capi", &["wetstring-proto"]),
    ("boot", &["wetstring-proto"]),
    ("mini", &["wetstring-proto"]),
    ("web/wasm", &["wetstring-proto", "wetstring-protocols"]),
    ("web/lab", &["wetstring-lab"]),
    ("web/device", &["wetstring-proto", "wetstring-device"]),
    (
        "python",
        &[
            "wetstring-proto",
            "wetstring-protocols",
            "wetstring-events",
            "wetstring-lab",
            "wetstring-drive",
        ],
    ),
    ("testkit", &["wetstring-proto"]),
    (
        "fuzz",
        &[
            "wetstring-proto",
            "wetstring-protocols",
            "wetstring-lab",
            "wetstring-drive",
            "wetstring-script",
        ],
    ),
    ("fuzz/targets", &["wetstring-fuzz"]),
    ("xtask", &["wetstring-proto", "wetstring-protocols", "wetstring-events", OF_TESTS]),
];

/// Shared by tests: no crate but `xtask` may need it to be built.
const OF_TESTS: &str = "wetstring-testkit";

/// Complains about the manifest of the crate in this folder.
pub(super) fn check(folder: &str, text: &str, complain: &mut Complain<'_>) {
    let Ok(table) = text.parse::<toml::Table>() else {
        return complain("manifest", 1, "expected a manifest in TOML".into());
    };
    let Some((_, allowed)) = MAY_DEPEND.iter().find(|(of, _)| *of == folder) else {
        let say =
            format!("expected a row of MAY_DEPEND for {folder} (xtask/src/tidy/manifests.rs)");
        return complain("who-may-depend", 1, say);
    };
    for (dependency, of) in dependencies(&table) {
        if dependency == OF_TESTS && !allowed.contains(&OF_TESTS) {
            complain("who-may-depend", 1, format!("{OF_TESTS} belongs in [dev-dependencies]"));
            continue;
        }
        let ours = dependency.starts_with("wetstring");
        // An optional one is there for a user who asks for its feature.
        let foreign = !ours && of.get("optional").and_then(toml::Value::as_bool) != Some(true);
        if (ours && !allowed.contains(&dependency)) || (foreign && folder == "proto") {
            complain("who-may-depend", 1, format!("{folder} may not depend on {dependency}"));
        }
    }
}

/// What a crate needs to be built, on any system. A renamed dependency says what it is.
fn dependencies(manifest: &toml::Table) -> Vec<(&str, &toml::Value)> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let of_targets = targets.into_iter().flat_map(toml::Table::values);
    let tables = of_targets.filter_map(toml::Value::as_table).chain([manifest]);
    let mut found = Vec::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies"] {
            for (key, of) in table.get(kind).and_then(toml::Value::as_table).into_iter().flatten() {
                let renamed = of.get("package").and_then(toml::Value::as_str);
                found.push((renamed.unwrap_or(key), of));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::broken;
    use super::*;

    #[test]
    fn who_may_depend_on_whom() {
        let needs = |name: &str| format!("[dependencies]\n{name} = \"1\"\n");
        assert_eq!(broken("proto/Cargo.toml", &needs("libm")), ["who-may-depend"]);
        let optional = "[dependencies]\ntokio = { version = \"1\", optional = true }\n";
        assert!(broken("proto/Cargo.toml", optional).is_empty());
        assert_eq!(broken("lab/Cargo.toml", &needs("wetstring-drive")), ["who-may-depend"]);
        assert!(broken("lab/Cargo.toml", &needs("serde")).is_empty());
        assert!(broken("drive/Cargo.toml", &needs("wetstring-lab")).is_empty());
        assert_eq!(broken("drive/Cargo.toml", "{"), ["manifest"]);
        for (folder, dependency) in [
            ("boot", "wetstring-lab"),
            ("capi", "wetstring-drive"),
            ("cli", "wetstring-fuzz"),
            ("fuzz/targets", "wetstring-proto"),
            ("mini", "wetstring-protocols"),
            ("objects", "wetstring-lab"),
            ("python", "wetstring-objects"),
            ("web/wasm", "wetstring-lab"),
            ("xtask", "wetstring-lab"),
        ] {
            let path = format!("{folder}/Cargo.toml");
            assert_eq!(broken(&path, &needs(dependency)), ["who-may-depend"], "{folder}");
        }
        let on_unix = "[target.'cfg(unix)'.dependencies]\nwetstring-drive = \"1\"\n";
        assert_eq!(broken("lab/Cargo.toml", on_unix), ["who-may-depend"]);
        let in_script = "[build-dependencies]\nwetstring-drive = \"1\"\n";
        assert_eq!(broken("lab/Cargo.toml", in_script), ["who-may-depend"]);
        let renamed = "[dependencies]\nx = { package = \"wetstring-drive\", version = \"1\" }\n";
        assert_eq!(broken("lab/Cargo.toml", renamed), ["who-may-depend"]);
        let kit = needs(OF_TESTS);
        assert_eq!(broken("cli/Cargo.toml", &kit), ["who-may-depend"]);
        assert_eq!(broken("drive/Cargo.toml", &kit), ["who-may-depend"]);
        assert!(broken("cli/Cargo.toml", &kit.replace("[dep", "[dev-dep")).is_empty());
        assert_eq!(broken("testkit/Cargo.toml", &needs("wetstring-lab")), ["who-may-depend"]);
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        assert_eq!(broken("new/Cargo.toml", "[dependencies]\n"), ["who-may-depend"]);
    }
}
