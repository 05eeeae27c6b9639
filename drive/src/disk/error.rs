//! System errors, as the engines and users see them.

use crate::in_words;
use crate::os::io::Errno;
use std::io;
use std::path::Path;
use wetstring_proto::file::StoreError;

/// The engines' error for a system error.
pub(crate) fn store_error(error: &io::Error) -> StoreError {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        // A file size limit is a kind of full disk.
        Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => StoreError::NoSpace,
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => StoreError::Permission,
        Some(Errno::NOENT | Errno::NOTDIR) => StoreError::NotFound,
        Some(Errno::OPNOTSUPP | Errno::NOSYS) => StoreError::Unsupported,
        Some(_) => StoreError::Io,
        None => match error.kind() {
            // The message is already in this form.
            io::ErrorKind::QuotaExceeded => {
                let known = error.get_ref().and_then(|inner| inner.downcast_ref());
                known.copied().unwrap_or(StoreError::NoSpace)
            }
            io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => StoreError::NoSpace,
            io::ErrorKind::PermissionDenied => StoreError::Permission,
            io::ErrorKind::NotFound => StoreError::NotFound,
            io::ErrorKind::Unsupported => StoreError::Unsupported,
            _ => StoreError::Io,
        },
    }
}

/// A failure with its path, for the user.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub(super) kind: StoreError,
    pub(super) text: String,
}

impl Failed {
    pub(super) fn new(path: &Path, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self { kind: store_error(&error), text: format!("{}: {}", show(path), in_words(&error)) }
    }
}

/// A path with its control characters escaped: it may have come from a peer.
pub(super) fn show(path: &Path) -> String {
    path.display().to_string().chars().fold(String::new(), |mut text, letter| {
        if letter.is_control() {
            text.extend(letter.escape_default());
        } else {
            text.push(letter);
        }
        text
    })
}
