//! The variables of a device profile: what the user sets, and what a file has.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use wetstring_device::vars::{BadVar, Digests, Vars};
use wetstring_drive::in_words;

use crate::ui::format::did_you_mean;

/// Those of a profile, with those that the user sets as `NAME=VALUE`.
pub(crate) fn vars(known: &BTreeMap<String, String>, sets: &[String]) -> Result<Vars, String> {
    Vars::new(known, sets).map_err(|bad| match bad {
        BadVar::Unknown(name, known) => {
            let meant = did_you_mean(&name, known.iter().map(String::as_str));
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            format!("no such variable of the device: {name}{meant}; it has {known}")
        }
        BadVar::Wrong(say) => say,
    })
}

/// Adds those of the file, which is read for that.
pub(super) fn add_file(vars: &mut Vars, path: &Path) -> Result<(), String> {
    let failed = |e| format!("{}: {}", path.display(), in_words(&e));
    let mut file = File::open(path).map_err(failed)?;
    let mut digests = Digests::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => break,
            len => digests.update(&buffer[..len]),
        }
    }
    vars.of_file(&path.file_name().unwrap_or_default().to_string_lossy(), digests);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_said() {
        let known = [("address".to_owned(), String::new())].into();
        let say = vars(&known, &["adress=4".to_owned()]).unwrap_err();
        assert!(say.contains("did you mean address?"), "{say}");
    }

    #[test]
    fn a_file_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.bin");
        std::fs::write(&path, vec![1; 100_000]).unwrap();
        let mut vars = Vars::default();
        add_file(&mut vars, &path).unwrap();
        assert_eq!((vars.get("length"), vars.get("name")), ("100000", "k.bin"));
        assert!(add_file(&mut vars, &folder.path().join("none")).unwrap_err().contains("none"));
    }
}
