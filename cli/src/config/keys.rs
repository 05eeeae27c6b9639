//! The folder of the keys by which hosts know each other.

use wetstring_drive::datagram::keys::KeyFolder;

use super::file;

/// The folder of the keys of this person.
pub(crate) fn folder() -> Result<KeyFolder, String> {
    let path =
        file::folder().ok_or("expected HOME or XDG_CONFIG_HOME to say where keys are kept")?;
    Ok(KeyFolder::new(path))
}
