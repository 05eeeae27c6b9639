//! How objects look like files: their names, their entries, and the errors of their store.

use object_store::path::{Path, PathPart};
use object_store::{Error, ObjectMeta};
use percent_encoding::percent_decode_str;
use std::io::{self, ErrorKind};
use wetstring_drive::serve::Entry;

/// The object that keeps an empty directory.
pub const MARKER: &str = ".wetstring-directory";

/// What an error of the store is to a user at the server.
pub(crate) fn error(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => ErrorKind::NotFound,
        Error::AlreadyExists { .. } => ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            ErrorKind::PermissionDenied
        }
        Error::InvalidPath { .. } => ErrorKind::InvalidInput,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// An object or a prefix as an entry of its directory.
pub(crate) fn entry(path: &Path, meta: Option<&ObjectMeta>) -> Option<Entry> {
    let name = percent_decode_str(path.filename()?).collect();
    Some(Entry {
        name,
        is_directory: meta.is_none(),
        size: meta.map_or(0, |meta| meta.size),
        modified: meta.map(|meta| meta.last_modified.timestamp()),
        mode: None,
    })
}

/// The path of a name below another.
pub(crate) fn below(path: &Path, name: &[u8]) -> io::Result<Path> {
    let name = std::str::from_utf8(name).map_err(|_| {
        io::Error::new(ErrorKind::InvalidInput, "expected a name in UTF-8 for an object")
    })?;
    if name.is_empty() || name == MARKER {
        return Err(ErrorKind::InvalidInput.into());
    }
    Ok(path.clone().join(PathPart::from(name)))
}
