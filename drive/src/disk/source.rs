//! Deletes a file that was sent: that file, unchanged, and no other of its name.
//!
//! Files cannot be unlinked by descriptor, so the name is renamed first. The renamed file is checked again, and
//! renamed back if it is not what was sent.

use super::place::{kind, look, move_new, os, remove, rename_free, rename_new};
use crate::os::fd::AsFd;
use crate::os::fs::{AtFlags, FileType, Mode, OFlags, Stat, lstat, statat};
use crate::os::io::Errno;
use std::fmt;
use std::io;
use std::path::Path;

/// Maximum retries after another process took a private name.
const ATTEMPTS: u32 = 100;

/// The identity of a file's state: device, inode, length, and modification time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Identity([i128; 5]);

impl Identity {
    fn of(stat: &Stat) -> Self {
        Self([
            i128::from(stat.st_dev),
            i128::from(stat.st_ino),
            i128::from(stat.st_size),
            i128::from(stat.st_mtime),
            i128::from(stat.st_mtime_nsec),
        ])
    }
}

/// A file and its name as they were when it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opened {
    file: Identity,
    /// The entry at the name: the file, or a symlink to it.
    named: Identity,
}

impl Opened {
    /// A file opened without following symlinks.
    pub(crate) fn plain(file: &Stat) -> Self {
        Self { file: Identity::of(file), named: Identity::of(file) }
    }

    /// A file opened by a path, perhaps through a symlink.
    pub(super) fn by(path: &Path, file: &Stat) -> Self {
        let opened = Self::plain(file);
        match lstat(path) {
            Ok(link) if kind(&link) == FileType::Symlink => {
                Self { named: Identity::of(&link), ..opened }
            }
            _ => opened,
        }
    }

    /// Whether a file is in the same state.
    pub(crate) fn is(&self, file: &Stat) -> bool {
        Identity::of(file) == self.file
    }

    /// Whether it is still at a name, unchanged.
    pub(super) fn stands(&self, directory: impl AsFd, name: &[u8]) -> io::Result<bool> {
        let found = look(&directory, name)?.ok_or(io::ErrorKind::NotFound)?;
        if Identity::of(&found) != self.named || self.named == self.file {
            return Ok(Identity::of(&found) == self.named);
        }
        match statat(&directory, os(name), AtFlags::empty()) {
            Ok(file) => Ok(self.is(&file)),
            Err(Errno::NOENT | Errno::LOOP) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Why a sent file was not deleted.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotDeleted {
    /// It changed after it was opened, or another file has its name.
    Changed,
    /// The same, and meanwhile another took its name: it has this one now.
    Renamed(Vec<u8>),
    /// It cannot be deleted: stdin or a pipe.
    Stream,
    /// A system error.
    Failed(io::Error),
}

impl fmt::Display for NotDeleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed => f.write_str("it has changed since it was sent"),
            Self::Renamed(name) => {
                write!(
                    f,
                    "it has changed since it was sent, and is now called {}",
                    name.escape_ascii()
                )
            }
            Self::Stream => f.write_str("it is a stream"),
            Self::Failed(error) => f.write_str(&crate::in_words(error)),
        }
    }
}

impl std::error::Error for NotDeleted {}

impl<E: Into<io::Error>> From<E> for NotDeleted {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Deletes the file at a path if it is unchanged since it was opened.
pub(super) fn delete(path: &Path, opened: &Opened) -> Result<(), NotDeleted> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = crate::os::fs::open(above.unwrap_or(Path::new(".")), flags, Mode::empty())?;
    delete_in(directory, name.as_encoded_bytes(), opened)
}

/// The same for a name in an open directory.
pub(crate) fn delete_in(
    directory: impl AsFd,
    name: &[u8],
    opened: &Opened,
) -> Result<(), NotDeleted> {
    if !opened.stands(&directory, name)? {
        return Err(NotDeleted::Changed);
    }
    let private = hide(&directory, name)?;
    match opened.stands(&directory, &private) {
        Ok(true) => match remove(&directory, &private) {
            Ok(()) => Ok(()),
            Err(error) => {
                put_back(&directory, &private, name)?;
                Err(error.into())
            }
        },
        stands => {
            put_back(&directory, &private, name)?;
            stands?;
            Err(NotDeleted::Changed)
        }
    }
}

/// Renames a file to a private name in the same directory.
fn hide(directory: impl AsFd, name: &[u8]) -> io::Result<Vec<u8>> {
    let process = std::process::id();
    for attempt in 0..ATTEMPTS {
        let private = format!(".wst-sent-{process}-{attempt}").into_bytes();
        match rename_new(&directory, name, &private) {
            Ok(()) => return Ok(private),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}

/// Renames a file back, or to a similar name if that is taken.
fn put_back(directory: impl AsFd, private: &[u8], name: &[u8]) -> Result<(), NotDeleted> {
    match move_new(&directory, private, &directory, name) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => {
            Err(NotDeleted::Renamed(rename_free(&directory, private, name, false)?))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fs::{Mode, OFlags};
    use std::fs;
    use std::path::PathBuf;

    fn opened(path: &Path) -> Opened {
        let file = crate::os::fs::open(path, OFlags::RDONLY, Mode::empty()).unwrap();
        Opened::by(path, &crate::os::fs::fstat(&file).unwrap())
    }

    fn names(directory: &Path) -> Vec<PathBuf> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_the_file_that_was_opened_is_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, "sent").unwrap();
        let sent = opened(&path);
        fs::write(directory.path().join("new"), "sent").unwrap();
        fs::rename(directory.path().join("new"), &path).unwrap();
        assert!(matches!(delete(&path, &sent), Err(NotDeleted::Changed)), "another of its name");
        let sent = opened(&path);
        fs::write(&path, "longer").unwrap();
        assert!(matches!(delete(&path, &sent), Err(NotDeleted::Changed)), "it grew");
        assert_eq!(fs::read(&path).unwrap(), b"longer");
        delete(&path, &opened(&path)).unwrap();
        assert!(names(directory.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_is_deleted_and_not_its_target() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("f"), directory.path().join("l"));
        fs::write(&path, "sent").unwrap();
        std::os::unix::fs::symlink("f", &link).unwrap();
        let sent = opened(&link);
        fs::write(&path, "longer").unwrap();
        assert!(matches!(delete(&link, &sent), Err(NotDeleted::Changed)));
        delete(&link, &opened(&link)).unwrap();
        assert_eq!(names(directory.path()), [path]);
    }

    #[test]
    fn a_file_renamed_by_mistake_is_renamed_back() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let open = crate::os::fs::open(directory.path(), flags, Mode::empty()).unwrap();
        fs::write(at("f"), "kept").unwrap();
        let private = hide(&open, b"f").unwrap();
        put_back(&open, &private, b"f").unwrap();
        assert_eq!(names(directory.path()), [at("f")]);
        // A third file has taken the name meanwhile: both stay.
        let private = hide(&open, b"f").unwrap();
        fs::write(at("f"), "third").unwrap();
        let renamed = put_back(&open, &private, b"f");
        assert!(matches!(renamed, Err(NotDeleted::Renamed(name)) if name == b"f.~1~"));
        assert_eq!(fs::read(at("f.~1~")).unwrap(), b"kept");
        assert_eq!(fs::read(at("f")).unwrap(), b"third");
    }
}
