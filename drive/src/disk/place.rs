//! Names inside one open directory: opening without following links, numbering, and putting a file in its place
//! atomically, so that no other can be overwritten.

use super::names::{cut, next_backup};
use crate::os::fd::{AsFd, OwnedFd};
use crate::os::files;
use crate::os::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, mkdirat, renameat, statat, unlinkat,
};
use crate::os::io::Errno;
use std::io;
use std::sync::OnceLock;

/// Longest name of a file system.
const NAME_MAX: usize = 255;
/// Maximum retries after another process took a name.
const ATTEMPTS: u64 = 1000;

/// A name as the system writes it.
pub(crate) use crate::os::files::{move_new, name as os};

/// Opens a name in a directory. Nothing outside the directory can be reached, and no symlink is followed.
pub(crate) fn open_in(
    directory: impl AsFd,
    name: &[u8],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    files::open_in(directory, name, flags, mode)
}

/// Opens a directory below another, and creates it if it does not exist.
pub(super) fn directory_in(directory: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    match mkdirat(&directory, os(name), Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    open_in(directory, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

/// The entry at a name, without following a symlink.
pub(crate) fn look(directory: impl AsFd, name: &[u8]) -> io::Result<Option<Stat>> {
    match statat(directory, os(name), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub(crate) fn remove(directory: impl AsFd, name: &[u8]) -> Result<(), Errno> {
    unlinkat(directory, os(name), AtFlags::empty())
}

/// `NAME.~N~`, with the name truncated where needed.
pub(super) fn numbered(name: &[u8], number: u64) -> Vec<u8> {
    let suffix = format!(".~{number}~");
    let mut numbered = cut(name, NAME_MAX - suffix.len());
    numbered.extend_from_slice(suffix.as_bytes());
    numbered
}

/// The number of the next `NAME.~N~` in the directory.
fn next_number(directory: impl AsFd, name: &[u8]) -> io::Result<u64> {
    let mut backups = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let entry = entry.file_name().to_bytes();
        if entry.starts_with(name) && entry.ends_with(b"~") {
            backups.push(entry.to_vec());
        }
    }
    Ok(next_backup(name, backups.iter().map(Vec::as_slice)))
}

/// Renames unless the new name exists ([`Errno::EXIST`]).
pub(super) fn rename_new(directory: impl AsFd, from: &[u8], to: &[u8]) -> Result<(), Errno> {
    move_new(&directory, from, &directory, to)
}

/// Renames over an existing file. An existing symlink is replaced, not followed.
pub(super) fn rename_over(directory: impl AsFd, from: &[u8], to: &[u8]) -> Result<(), Errno> {
    renameat(&directory, os(from), &directory, os(to))
}

/// Renames to `NAME` if that is free and `plain` allows it, else to the next free `NAME.~N~`; returns which.
pub(super) fn rename_free(
    directory: impl AsFd,
    from: &[u8],
    name: &[u8],
    plain: bool,
) -> io::Result<Vec<u8>> {
    if plain {
        match rename_new(&directory, from, name) {
            Ok(()) => return Ok(name.to_vec()),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let first = next_number(&directory, name)?;
    for number in first..first.saturating_add(ATTEMPTS) {
        let candidate = numbered(name, number);
        match rename_new(&directory, from, &candidate) {
            Ok(()) => return Ok(candidate),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}

/// Renames to `NAME` if that is free, else to the first free `NAME.0`, `NAME.1`...; returns which.
pub(super) fn rename_dot(directory: impl AsFd, from: &[u8], name: &[u8]) -> io::Result<Vec<u8>> {
    let dotted = |number: u64| {
        let suffix = format!(".{number}");
        [&cut(name, NAME_MAX - suffix.len())[..], suffix.as_bytes()].concat()
    };
    let candidates = std::iter::once(name.to_vec()).chain((0..ATTEMPTS).map(dotted));
    for candidate in candidates {
        match rename_new(&directory, from, &candidate) {
            Ok(()) => return Ok(candidate),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}

/// The umask. It is read once.
pub(crate) fn umask() -> u32 {
    static MASK: OnceLock<u32> = OnceLock::new();
    *MASK.get_or_init(files::umask)
}
