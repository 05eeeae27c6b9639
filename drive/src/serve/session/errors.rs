//! Error messages of the tree for clients.

use super::super::quota;
use std::io;

/// An error of the tree, for a client: without details of our disk.
pub(super) fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::Interrupted => "The server is ending".into(),
        io::ErrorKind::NotFound => "No such file or directory".into(),
        io::ErrorKind::AlreadyExists => "A file of that name exists".into(),
        io::ErrorKind::DirectoryNotEmpty => "The directory is not empty".into(),
        io::ErrorKind::NotADirectory => "Not a directory".into(),
        io::ErrorKind::IsADirectory => "Is a directory".into(),
        io::ErrorKind::PermissionDenied => "Access denied".into(),
        io::ErrorKind::QuotaExceeded => {
            quota::over(error).map_or_else(|| "No space left".into(), |over| over.to_string())
        }
        io::ErrorKind::StorageFull => "No space left".into(),
        io::ErrorKind::InvalidInput => "Bad name".into(),
        io::ErrorKind::ArgumentListTooLong => "Too many files in the directory".into(),
        _ if error.raw_os_error() == Some(crate::os::io::Errno::LOOP.raw_os_error()) => {
            "Access denied".into()
        }
        _ => "Input/output error".into(),
    }
}
