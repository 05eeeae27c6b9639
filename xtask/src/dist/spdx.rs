//! The list of what is in a program, as SPDX 2.3 in JSON.

use serde_json::{Value as Json, json};

use super::Release;
use super::graph::Crate;

/// The list for the program of a target, whose SHA-256 is `program`.
pub(super) fn list(release: &Release, triple: &str, program: &str, crates: &[Crate]) -> Vec<u8> {
    let mut packages = Vec::new();
    let mut relations = vec![relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-program")];
    packages.push(json!({
        "SPDXID": "SPDXRef-program",
        "name": "wst",
        "versionInfo": release.version,
        "primaryPackagePurpose": "APPLICATION",
        "supplier": "Organization: Wetstring",
        "downloadLocation": format!("git+{}@{}", super::REPOSITORY, release.commit_id()),
        "filesAnalyzed": false,
        "checksums": [{"algorithm": "SHA256", "checksumValue": program}],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "MIT OR Apache-2.0",
        "copyrightText": "NOASSERTION",
    }));
    for one in crates {
        packages.push(package(one));
        for &used in &one.uses {
            relations.push(relation(&id(one), "DEPENDS_ON", &id(&crates[used])));
        }
        if one.name == "wetstring" {
            relations.push(relation("SPDXRef-program", "GENERATED_FROM", &id(one)));
        } else {
            relations.push(relation("SPDXRef-program", "CONTAINS", &id(one)));
        }
    }
    for library in libraries(release, triple) {
        let id = library["SPDXID"].as_str().unwrap_or_default().to_owned();
        relations.push(relation("SPDXRef-program", "STATIC_LINK", &id));
        packages.push(library);
    }
    let name = format!("wetstring-{}-{triple}", release.version);
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        // Two programs never have one name: theirs has the program's digest.
        "documentNamespace": format!("{}/spdx/{name}-{}", super::REPOSITORY, &program[..16]),
        "creationInfo": {
            "created": super::iso(release.epoch),
            "creators": ["Organization: Wetstring", format!("Tool: xtask-{}", release.version)],
        },
        "packages": packages,
        "relationships": relations,
    });
    let mut text = serde_json::to_vec_pretty(&document).unwrap_or_default();
    text.push(b'\n');
    text
}

fn relation(from: &str, kind: &str, to: &str) -> Json {
    json!({"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to})
}

/// An identifier has letters, digits, `.` and `-` only.
fn id(one: &Crate) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let text: String = format!("{}-{}", one.name, one.version).chars().map(plain).collect();
    format!("SPDXRef-crate-{text}")
}

fn package(one: &Crate) -> Json {
    let mut json = json!({
        "SPDXID": id(one),
        "name": one.name,
        "versionInfo": one.version,
        "filesAnalyzed": false,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": one.licence,
        "copyrightText": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
    });
    if let Some(checksum) = &one.checksum {
        let (name, version) = (&one.name, &one.version);
        json["downloadLocation"] =
            json!(format!("https://crates.io/api/v1/crates/{name}/{version}/download"));
        json["checksums"] = json!([{"algorithm": "SHA256", "checksumValue": checksum}]);
        json["externalRefs"] = json!([{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": format!("pkg:cargo/{name}@{version}"),
        }]);
    }
    json
}

/// What is linked in beside crates.
fn libraries(release: &Release, triple: &str) -> Vec<Json> {
    let mut all = vec![("rust-std", release.rustc.as_str(), "MIT OR Apache-2.0")];
    if triple.ends_with("-musl") {
        all.push(("musl", "", "MIT"));
    }
    if triple.contains("-windows-gnu") {
        all.push(("mingw-w64-runtime", "", "ZPL-2.1"));
    }
    let json = |(name, version, licence): (&str, &str, &str)| {
        let mut json = json!({
            "SPDXID": format!("SPDXRef-library-{name}"),
            "name": name,
            "filesAnalyzed": false,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence,
            "copyrightText": "NOASSERTION",
            "downloadLocation": "NOASSERTION",
        });
        if !version.is_empty() {
            json["versionInfo"] = json!(version);
        }
        json
    };
    all.into_iter().map(json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_related_is_there_once() {
        let one = |name: &str, checksum: Option<&str>, uses: &[usize]| Crate {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: "MIT".to_owned(),
            authors: Vec::new(),
            directory: "/".into(),
            checksum: checksum.map(str::to_owned),
            uses: uses.to_vec(),
        };
        let crates = [one("a_b", Some("ff"), &[]), one("wetstring", None, &[0])];
        let text = list(&Release::example(), "x-musl", &"0".repeat(64), &crates);
        let read: Json = serde_json::from_slice(&text).unwrap();
        let word = |value: &Json| value.as_str().unwrap().to_owned();
        let packages = read["packages"].as_array().unwrap();
        let mut ids: Vec<String> = packages.iter().map(|p| word(&p["SPDXID"])).collect();
        assert_eq!(ids[1], "SPDXRef-crate-a-b-1.0.0");
        assert!(ids.contains(&"SPDXRef-library-musl".to_owned()));
        let relations = read["relationships"].as_array().unwrap();
        for relation in relations {
            let to = word(&relation["relatedSpdxElement"]);
            assert!(ids.contains(&to), "{to}");
        }
        assert_eq!(relations.len(), 1 + 1 + 2 + 2);
        ids.dedup();
        assert_eq!(ids.len(), packages.len());
        assert_eq!(read["creationInfo"]["created"], "1970-01-02T00:00:00Z");
    }
}
