//! Every file in a crate's `tests/` belongs to a program of tests. Where cargo does not look for them itself
//! (`autotests = false`), one that is in no list would never run, and nothing would say so.

use std::path::Path;

/// The files of the repository at `root` that no program of tests has.
pub(super) fn forgotten(root: &Path) -> Result<Vec<String>, String> {
    let say = |e: std::io::Error| format!("{}: {e}", root.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).map_err(say)?.filter_map(Result::ok) {
        let (folder, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let Ok(manifest) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let Ok(files) = std::fs::read_dir(folder.join("tests")) else { continue };
        let files = files.filter_map(|file| {
            let path = file.ok()?.path();
            let stem = path.file_name()?.to_str()?.strip_suffix(".rs")?.to_owned();
            Some((stem, std::fs::read_to_string(&path).ok()?))
        });
        let stems = of_no_program(&manifest, &files.collect::<Vec<_>>());
        found.extend(stems.into_iter().map(|stem| format!("{name}/tests/{stem}.rs")));
    }
    found.sort();
    Ok(found)
}

/// Which of these files, by their names and texts, are neither a program of this manifest nor a module of one.
fn of_no_program(manifest: &str, files: &[(String, String)]) -> Vec<String> {
    if !manifest.contains("\nautotests = false\n") {
        return Vec::new();
    }
    let is_program = |stem: &str| manifest.contains(&format!("\npath = \"tests/{stem}.rs\"\n"));
    let is_module = |stem: &str| {
        let programs = files.iter().filter(|(program, _)| is_program(program));
        let line = format!("mod {stem};");
        programs.into_iter().any(|(_, text)| text.lines().any(|have| have == line))
    };
    let missing = files.iter().filter(|(stem, _)| !is_program(stem) && !is_module(stem));
    missing.map(|(stem, _)| stem.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_program_has_is_found() {
        let file = |stem: &str, text: &str| (stem.to_owned(), text.to_owned());
        let files = [file("all", "mod a;\n// mod c;\n"), file("a", "mod c;\n"), file("c", "")];
        let manifest = "\nautotests = false\n[[test]]\nname = \"all\"\npath = \"tests/all.rs\"\n";
        assert_eq!(of_no_program(manifest, &files), ["c"]);
        let both = format!("{manifest}[[test]]\nname = \"c\"\npath = \"tests/c.rs\"\n");
        assert!(of_no_program(&both, &files).is_empty());
        // Elsewhere cargo finds them.
        assert!(of_no_program("[package]\n", &files).is_empty());
    }

    #[test]
    fn every_file_here_runs() {
        assert_eq!(forgotten(&crate::root()).unwrap_or_default(), [""; 0]);
    }
}
