//! Where the programs are that go to a shell first: `wst-mini` for each processor.

use std::path::{Path, PathBuf};

use wetstring_drive::in_words;
use wetstring_drive::shell::Role;

/// The most bytes of such a program: a larger file is something else.
const MOST: u64 = 1_000_000;

/// The file name of a program.
const fn name_of(role: Role) -> &'static str {
    match role {
        Role::Receiver => "wst-mini",
        Role::Sender => "wst-mini-send",
    }
}

/// The folders of the packages: beside the program, and where Linux has files of every processor.
fn folders() -> Vec<PathBuf> {
    let program = std::env::current_exe().and_then(std::fs::canonicalize);
    let Some(beside) = program.as_deref().ok().and_then(Path::parent) else { return Vec::new() };
    vec![beside.join("mini"), beside.join("../share/wetstring/mini")]
}

/// Whether a name of a processor, which the other side says, is a name and no path.
fn is_name(processor: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !processor.is_empty() && processor.len() <= 20 && processor.chars().all(plain)
}

/// The program for a processor, in this folder or else in those of the packages.
///
/// # Errors
///
/// What is missing, in words.
pub(crate) fn program(
    folder: Option<&Path>,
    role: Role,
    processor: &str,
) -> Result<Vec<u8>, String> {
    let name = name_of(role);
    if !is_name(processor) {
        let shown = crate::ui::format::escaped(processor.as_bytes());
        return Err(format!("no {name} for the processor '{shown}'"));
    }
    let all = folder.map_or_else(folders, |folder| vec![folder.to_path_buf()]);
    for folder in &all {
        let path = folder.join(processor).join(name);
        match std::fs::metadata(&path) {
            Ok(file) if file.len() > MOST => {
                return Err(format!("expected {name} at {}, got a larger file", path.display()));
            }
            Ok(_) => {
                return std::fs::read(&path).map_err(|error| {
                    format!("could not read {}: {}", path.display(), in_words(&error))
                });
            }
            Err(_) => {}
        }
    }
    let shown: Vec<String> = all.iter().map(|folder| folder.display().to_string()).collect();
    Err(format!("no {name} for {processor} in {}", shown.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_processor_and_what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("riscv64");
        std::fs::create_dir(&at).unwrap();
        std::fs::write(at.join("wst-mini"), b"program").unwrap();
        let find = |role, processor| program(Some(folder.path()), role, processor);
        assert_eq!(find(Role::Receiver, "riscv64").unwrap(), b"program");
        let say = find(Role::Sender, "riscv64").unwrap_err();
        assert!(say.starts_with("no wst-mini-send for riscv64 in "), "{say}");
        for wrong in ["", "..", "../riscv64", "a b"] {
            assert!(find(Role::Receiver, wrong).is_err_and(|say| say.contains("processor")));
        }
        let large = vec![0; MOST as usize + 1];
        std::fs::write(at.join("wst-mini"), large).unwrap();
        assert!(find(Role::Receiver, "riscv64").is_err_and(|say| say.ends_with("larger file")));
    }
}
