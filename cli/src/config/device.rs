//! Device profiles: those of the program (`wetstring_device::profile`), and those of its user.
//!
//! Files in `profiles` beside the configuration file add others, and replace those of the same name.

use std::path::PathBuf;

use wetstring_device::profile;
use wetstring_drive::in_words;

use super::file;
use crate::ui::format::did_you_mean;

pub(crate) use wetstring_device::profile::{BUILT_IN, Device};

/// The profile of this name.
pub(crate) fn named(name: &str) -> Result<Device, String> {
    let (at, text) = text_of(name)?;
    Device::parse(&at, &text)
}

/// The directory of the user's profiles.
fn folder() -> Option<PathBuf> {
    file::folder().map(|folder| folder.join("profiles"))
}

/// The names of all profiles, sorted.
pub(crate) fn names() -> Vec<String> {
    let mut all: Vec<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let entries = folder().and_then(|folder| std::fs::read_dir(folder).ok());
    for path in entries.into_iter().flatten().flatten().map(|entry| entry.path()) {
        let is_profile = path.extension().is_some_and(|extension| extension == "toml");
        if let (true, Some(name)) = (is_profile, path.file_stem().and_then(|stem| stem.to_str())) {
            all.push(name.to_owned());
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Where a profile stands, and its text.
pub(crate) fn text_of(name: &str) -> Result<(String, String), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if let Some(folder) = folder().filter(|_| name.chars().all(is_name)) {
        let path = folder.join(format!("{name}.toml"));
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok((path.display().to_string(), text)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(format!("{}: {}", path.display(), in_words(&e))),
        }
    }
    if let Some(text) = profile::named(name) {
        return Ok((format!("profiles/{name}.toml in the program"), text.to_owned()));
    }
    let all = names();
    let meant = did_you_mean(name, all.iter().map(String::as_str));
    Err(format!("no such device profile: {name}{meant}; device profiles: {}", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_name_protocols_that_there_are() {
        for (name, text) in BUILT_IN {
            let device = Device::parse(name, text).unwrap();
            for protocol in device.method.iter().flat_map(|method| &method.protocols) {
                let is_there = crate::config::protocol::Protocol::of(protocol).is_some();
                assert!(is_there || protocol == profile::SHELL, "{protocol}");
            }
        }
    }

    #[test]
    fn unknown_names_are_errors() {
        assert!(named("ubot").unwrap_err().contains("did you mean uboot?"));
    }
}
