//! The directory of the keys that authenticate hosts.

use wetstring_drive::datagram::keys::KeyFolder;

use super::file;

/// The directory of this user's keys.
pub(crate) fn folder() -> Result<KeyFolder, String> {
    let path = file::folder().ok_or("expected HOME or XDG_CONFIG_HOME, where keys are kept")?;
    Ok(KeyFolder::new(path))
}
