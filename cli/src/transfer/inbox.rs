//! The directory that files are received into.

use std::io::ErrorKind;
use std::path::Path;

use wetstring_drive::disk::{DiskStore, ReceiveOptions};
use wetstring_drive::in_words;

use crate::config::Settings;
use crate::ui::ending::Ending;
use crate::ui::exit::Exit;
use crate::ui::format::shown;

/// Creates the directory if only it is missing. If its parent is missing too, that is more
/// likely a mistake.
pub(crate) fn make(directory: &Path) -> Result<(), Ending> {
    let name = shown(directory.as_os_str());
    let say = match std::fs::create_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            format!(
                "expected a directory to receive into, the parent of {name} does not exist; mkdir -p creates both"
            )
        }
        // Other errors show when it is opened.
        _ => return Ok(()),
    };
    Err(Ending::early(Exit::Store, say))
}

/// A store that receives into this directory.
pub(crate) fn receiving(directory: &Path, options: ReceiveOptions) -> Result<DiskStore, Ending> {
    make(directory)?;
    DiskStore::receiving(directory, options).map_err(|error| no_place(directory, &error))
}

/// The directory cannot be used.
pub(crate) fn no_place(directory: &Path, error: &std::io::Error) -> Ending {
    let name = shown(directory.as_os_str());
    let why = match error.kind() {
        ErrorKind::NotADirectory => "it is not a directory".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => in_words(&error),
    };
    Ending::early(Exit::Store, format!("could not receive into {name}: {why}"))
}

/// The settings for received files.
pub(crate) fn receive_options(all: &Settings) -> ReceiveOptions {
    ReceiveOptions {
        collision: all.store.collision,
        incomplete: all.store.incomplete,
        resume: all.store.resume,
        verify: all.store.verify,
        holes: all.store.holes,
        links: all.store.links,
        ..ReceiveOptions::default()
    }
}
