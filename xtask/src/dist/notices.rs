//! The licences of what is linked in, as their owners want them told with the program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::graph::Crate;

/// How the names of such files begin, in capitals.
const BEGIN: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Every licence text of these crates once, each under the crates that have it.
pub(super) fn of_crates(crates: &[Crate]) -> Result<String, String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for one in crates.iter().filter(|one| one.checksum.is_some()) {
        let title = format!("{} {} ({})", one.name, one.version, one.licence);
        let found = files(&one.directory)?;
        if found.is_empty() {
            without.push(format!("{title}: {}", one.authors.join(", ")));
        }
        for text in found {
            texts.entry(text).or_default().push(title.clone());
        }
    }
    let mut all: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, titles)| (titles, text)).collect();
    all.sort();
    let mut page = "wst has parts of these packages in it, whose licences follow.\n".to_owned();
    // Writing to a string cannot fail.
    for (titles, text) in all {
        let _ = write!(page, "\n{}\n{}\n\n{text}\n", "=".repeat(72), titles.join("\n"));
    }
    if !without.is_empty() {
        let _ = write!(
            page,
            "\n{}\nThese packages name their licence and authors, and have no text of it:\n\n{}\n",
            "=".repeat(72),
            without.join("\n")
        );
    }
    Ok(page)
}

/// The licence texts of a crate. Where it may be had under MIT, the long Apache licence is not repeated.
fn files(directory: &Path) -> Result<Vec<String>, String> {
    let say = |e: std::io::Error| format!("{}: {e}", directory.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(say)? {
        let entry = entry.map_err(say)?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_code = Path::new(&name).extension().is_some_and(|end| end == "RS");
        if entry.path().is_file() && !is_code && BEGIN.iter().any(|begin| name.starts_with(begin)) {
            names.push((name, entry.path()));
        }
    }
    names.sort();
    let has_mit = names.iter().any(|(name, _)| name.contains("MIT"));
    names.retain(|(name, _)| !(has_mit && name.contains("APACHE")));
    let read = |(_, path): &(String, std::path::PathBuf)| {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim_end().to_owned())
    };
    names.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stand_once_under_those_who_have_them() {
        let dir = std::env::temp_dir().join(format!("wetstring-notices-{}", std::process::id()));
        let one = |name: &str, files: &[(&str, &str)]| {
            let directory = dir.join(name);
            std::fs::create_dir_all(&directory).unwrap();
            for (file, text) in files {
                std::fs::write(directory.join(file), text).unwrap();
            }
            Crate {
                name: name.to_owned(),
                version: "1.0.0".to_owned(),
                licence: "MIT".to_owned(),
                authors: vec!["Ada".to_owned()],
                directory,
                checksum: Some(String::new()),
                uses: Vec::new(),
            }
        };
        let crates = [
            one("a", &[("LICENSE-MIT", "be free\n"), ("LICENSE-APACHE", "long"), ("lib.rs", "x")]),
            one("b", &[("COPYING", "be free\r\n"), ("NOTICE", "thanks")]),
            one("c", &[("licenses.rs", "code")]),
        ];
        let page = of_crates(&crates);
        std::fs::remove_dir_all(&dir).unwrap();
        let page = page.unwrap();
        assert!(page.contains("a 1.0.0 (MIT)\nb 1.0.0 (MIT)\n\nbe free\n"), "{page}");
        assert!(page.contains("b 1.0.0 (MIT)\n\nthanks\n"), "{page}");
        assert!(page.ends_with("no text of it:\n\nc 1.0.0 (MIT): Ada\n"), "{page}");
        assert!(!page.contains("long") && !page.contains("code"), "{page}");
    }
}
