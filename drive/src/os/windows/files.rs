//! Files where the calls of POSIX are not enough.

use super::errno::Errno;
use super::event::Source;
use super::fs::{AsFd, Mode, OFlags, OwnedFd, below, openat};
use rustls::pki_types::CertificateDer;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::windows::fs::FileExt;
use std::path::{Path, PathBuf};

/// Names of the files of this system are those of Windows.
pub const WINDOWS_NAMES: bool = true;

/// The authorities that the system trusts: those of its store. What cannot be read is not trusted.
pub(crate) fn authorities() -> io::Result<Vec<CertificateDer<'static>>> {
    let found = rustls_native_certs::load_native_certs();
    match found.errors.into_iter().next() {
        Some(error) if found.certs.is_empty() => Err(io::Error::other(error)),
        _ => Ok(found.certs),
    }
}

/// A name as the system writes it. Bytes that are no UTF-8 have been replaced before ([`crate::disk::names`]).
pub fn name(name: &[u8]) -> Cow<'_, OsStr> {
    match String::from_utf8_lossy(name) {
        Cow::Borrowed(name) => Cow::Borrowed(OsStr::new(name)),
        Cow::Owned(name) => Cow::Owned(name.into()),
    }
}

/// The same, owned.
#[allow(clippy::needless_pass_by_value)] // The other system keeps it.
pub fn owned_name(bytes: Vec<u8>) -> OsString {
    name(&bytes).into_owned()
}

/// Opens a name in a directory. Nothing outside the directory can be reached, and no link is followed.
pub(crate) fn open_in(
    directory: impl AsFd,
    component: &[u8],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    openat(directory, name(component), flags, mode)
}

/// An open directory can be neither moved nor removed.
pub(crate) const OPEN_DIRECTORIES_ARE_FIXED: bool = true;

/// Symbolic links need a right that users do not have: none is made.
pub(crate) const MAKES_LINKS: bool = false;

/// Makes no symbolic link.
pub(crate) fn make_link(_: impl AsFd, _: &[u8], _: &[u8]) -> Result<(), Errno> {
    Err(Errno::PERM)
}

/// No symbolic link is read.
pub(crate) fn link_target(_: impl AsFd, _: &[u8]) -> Result<Vec<u8>, Errno> {
    Err(Errno::PERM)
}

/// Renames unless the new name exists ([`Errno::EXIST`]), possibly into another directory.
pub(crate) fn move_new(
    directory: impl AsFd,
    from: &[u8],
    there: impl AsFd,
    to: &[u8],
) -> Result<(), Errno> {
    let (from, to) = (below(directory, name(from))?, below(there, name(to))?);
    // The library's move of a temporary file is the system's move that replaces nothing.
    match tempfile::TempPath::try_from_path(from)?.persist_noclobber(to) {
        Ok(()) => Ok(()),
        Err(failed) => {
            let error = Errno::of(&failed.error);
            // It stays: it was none to be removed.
            let _ = failed.path.keep();
            Err(error)
        }
    }
}

/// There is none.
pub(crate) fn umask() -> u32 {
    0o022
}

/// Attributes are alternate streams of the file, `NAME:wetstring.part`, which NTFS has.
pub(crate) mod attribute {
    use super::super::fs::OwnedFd;
    use super::{AsFd, Errno, stream};
    use std::fs::OpenOptions;
    use std::io::{Read, Write};

    /// Its length; [`Errno::RANGE`] if it is longer than `into`.
    pub(crate) fn get(file: &OwnedFd, name: &str, into: &mut [u8]) -> Result<usize, Errno> {
        let mut value = Vec::new();
        let from = OpenOptions::new().read(true).open(stream(file.as_fd(), name))?;
        from.take(into.len() as u64 + 1).read_to_end(&mut value)?;
        into.get_mut(..value.len()).ok_or(Errno::RANGE)?.copy_from_slice(&value);
        Ok(value.len())
    }

    pub(crate) fn set(file: &OwnedFd, name: &str, value: &[u8]) -> Result<(), Errno> {
        let path = stream(file.as_fd(), name);
        let mut to = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        Ok(to.write_all(value)?)
    }

    pub(crate) fn remove(file: &OwnedFd, name: &str) -> Result<(), Errno> {
        Ok(std::fs::remove_file(stream(file.as_fd(), name))?)
    }
}

/// The path of an attribute: `user.` is Linux's.
fn stream(file: super::fs::BorrowedFd<'_>, attribute: &str) -> OsString {
    let mut path = file.path().as_os_str().to_owned();
    path.push(":");
    path.push(attribute.trim_start_matches("user."));
    path
}

/// Copies as far as the system copies by itself.
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn copied_by_system(_: &OwnedFd, _: &OwnedFd, _: u64) -> io::Result<u64> {
    Ok(0)
}

/// The device has what was written; reads may still come from memory.
pub(crate) fn forget(file: &OwnedFd) {
    let _ = super::fs::fsync(file);
}

/// This system has no such call.
pub(crate) fn read_in_order(_: &OwnedFd) {}

/// This system reserves only what is part of the file.
pub(crate) fn reserve(_: impl AsFd, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Not done on this system.
pub(crate) fn punch(_: impl AsFd, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// This process's stdin as a file.
pub(crate) fn stdin() -> io::Result<OwnedFd> {
    // From here on its thread reads ahead.
    super::terminal::keyboard()?;
    OwnedFd::stdin()
}

/// What to wait for before a stream is read. A pipe that has a name is read at once, and may block.
pub(crate) fn source(stream: &OwnedFd) -> Source<'_> {
    let _ = stream;
    super::terminal::stdin::source()
}

/// The number of the group that a file belongs to, which is none.
pub fn group(_: &Metadata) -> Option<u32> {
    None
}

/// A new file, which is the user's as its directory is.
pub fn create_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// There is only one stdin here.
pub fn stdin_aside() -> io::Result<(OwnedFd, PathBuf)> {
    let say = "it needs a terminal besides stdin, which Windows has not; send a file instead";
    Err(io::Error::new(io::ErrorKind::Unsupported, say))
}

/// Makes `path` the program `target`, under a name that is free: a hard link, or a copy on another volume.
/// Symbolic links are for administrators.
pub fn link_program(target: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(target, path) {
        Err(error) if Errno::of(&error) == Errno::EXIST => Err(error),
        Err(_) => {
            let mut to = File::options().write(true).create_new(true).open(path)?;
            io::copy(&mut File::open(target)?, &mut to).map(drop)
        }
        Ok(()) => Ok(()),
    }
}

/// Whether `path` is the program `target`: the same file, or one with the same bytes.
pub fn is_program(target: &Path, path: &Path) -> bool {
    let same = || Some(std::fs::read(target).ok()? == std::fs::read(path).ok()?);
    same().unwrap_or(false)
}

/// The whole path, as a user writes it: the system has a prefix for those that are resolved.
pub fn whole_path(path: &Path) -> io::Result<PathBuf> {
    let whole = path.canonicalize()?;
    let plain = whole.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    let plain = plain.filter(|text| text.as_bytes().get(1) == Some(&b':'));
    Ok(plain.map_or_else(|| whole.clone(), PathBuf::from))
}

/// The file name of a program.
pub fn program_name(name: &str) -> String {
    format!("{name}.exe")
}

/// Which terminal a stream is, if it is one: a process has one console.
pub fn terminal(of: &impl io::IsTerminal) -> Option<u64> {
    of.is_terminal().then_some(0)
}

/// Reads at an offset.
pub(crate) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(into, offset)
}

/// A user's files are for this user and administrators, unless their lists say otherwise, which are not read.
pub(crate) fn permissions(_: &Metadata) -> u32 {
    0o600
}

/// Whether it is a device such as a terminal: no path leads to one here.
pub(crate) fn is_device(_: &Metadata) -> bool {
    false
}

/// Whether a directory is closed to others: permissions of this system do not travel.
pub fn is_private(_: &Metadata) -> bool {
    false
}

/// Whether it is a pipe with a name.
pub fn is_fifo(_: &Metadata) -> bool {
    false
}
