//! The calls of POSIX on files and directories, as far as the stores make them.
//!
//! A directory handle is opened without `FILE_SHARE_DELETE`, and keeps the handles of what is above it as far as
//! it was opened by name below them: while it is open no other program can rename or replace any of these
//! directories. So a path below it leads where it led when each component was examined, and a component that is
//! a link, a junction or another reparse point is refused when it is opened: this is `O_NOFOLLOW`, component by
//! component.

mod flags;
mod stat;

use super::errno::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(crate) use flags::{AtFlags, Mode, OFlags};
pub(crate) use stat::{FileType, Stat, fstat, mode_of, stat_of};

/// `FILE_READ_ATTRIBUTES`
const ATTRIBUTES: u32 = 0x80;
/// `FILE_LIST_DIRECTORY`, `FILE_READ_ATTRIBUTES` and `SYNCHRONIZE`: the first of them takes part in sharing.
const LIST: u32 = 0x1 | ATTRIBUTES | 0x0010_0000;
const SHARE_READ: u32 = 1;
const SHARE_WRITE: u32 = 2;
const SHARE_DELETE: u32 = 4;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link itself, and not what it leads to.
const ITSELF: u32 = 0x0020_0000;
/// `FILE_FLAG_BACKUP_SEMANTICS`: directories, too.
const DIRECTORIES: u32 = 0x0200_0000;
/// `FILE_ATTRIBUTE_REPARSE_POINT`
const REPARSE: u32 = 0x400;

/// An open file, directory or stream.
#[derive(Debug)]
pub struct OwnedFd(Arc<Open>);

#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    is_directory: bool,
    is_stdin: bool,
    writes: bool,
    /// Its volume, which an open file keeps; Wine forgets it when the file is renamed.
    volume: u64,
    /// The directory in which it was opened, which stays where it is meanwhile.
    #[allow(dead_code)] // It is held open, and not read.
    above: Option<Arc<Open>>,
}

/// A handle that is lent.
#[derive(Clone, Copy, Debug)]
pub struct BorrowedFd<'a>(&'a Arc<Open>);

/// What has a handle.
pub trait AsFd {
    /// Lends it.
    fn as_fd(&self) -> BorrowedFd<'_>;
}

impl AsFd for OwnedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        BorrowedFd(&self.0)
    }
}

impl<T: AsFd + ?Sized> AsFd for Arc<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl AsFd for BorrowedFd<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        *self
    }
}

impl<T: AsFd + ?Sized> AsFd for &T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl OwnedFd {
    /// Another handle of the same file.
    #[allow(clippy::unnecessary_wraps)]
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.clone()))
    }

    /// This process's stdin.
    pub(crate) fn stdin() -> io::Result<Self> {
        use std::os::windows::io::AsHandle;
        let file = File::from(io::stdin().as_handle().try_clone_to_owned()?);
        let path = PathBuf::from("stdin");
        let open = Open {
            file,
            path,
            is_directory: false,
            is_stdin: true,
            writes: false,
            volume: 0,
            above: None,
        };
        Ok(Self(Arc::new(open)))
    }
}

impl From<OwnedFd> for File {
    fn from(handle: OwnedFd) -> Self {
        match Arc::try_unwrap(handle.0) {
            Ok(open) => open.file,
            // Another handle of the same file: the system has no reason to refuse it.
            Err(open) => open.file.try_clone().expect("a second handle of an open file"),
        }
    }
}

impl<'a> BorrowedFd<'a> {
    pub(crate) fn file(self) -> &'a File {
        &self.0.file
    }

    pub(crate) fn path(self) -> &'a Path {
        &self.0.path
    }

    pub(crate) fn is_stdin(self) -> bool {
        self.0.is_stdin
    }

    fn volume(self) -> u64 {
        self.0.volume
    }

    pub(crate) fn writes(self) -> bool {
        self.0.writes
    }

    fn is_directory(self) -> bool {
        self.0.is_directory
    }
}

/// The path of a name in a directory; of one component only.
pub(crate) fn below(directory: impl AsFd, name: impl AsRef<Path>) -> Result<PathBuf, Errno> {
    let name = name.as_ref();
    let bytes = name.as_os_str().as_encoded_bytes();
    let leads_on = bytes.iter().any(|byte| matches!(byte, b'/' | b'\\' | b':' | 0));
    if leads_on || matches!(bytes, b"" | b"." | b"..") {
        return Err(Errno::INVAL);
    }
    Ok(directory.as_fd().path().join(name))
}

/// Opens what is at a path, which may lead through links.
pub(crate) fn open(path: impl AsRef<Path>, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let path = path.as_ref();
    // The long form of the name: what is below it may be long, and keeps its dots and blanks.
    let path = if flags.contains(OFlags::DIRECTORY) {
        path.canonicalize()?
    } else {
        std::path::absolute(path)?
    };
    opened(path, flags, mode, None)
}

/// Opens a name in a directory. No link is followed.
pub(crate) fn openat(
    directory: impl AsFd,
    name: impl AsRef<Path>,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let path = below(&directory, name)?;
    let above = directory.as_fd().0.clone();
    opened(path, flags | OFlags::NOFOLLOW, mode, Some(above))
}

fn opened(
    path: PathBuf,
    flags: OFlags,
    mode: Mode,
    above: Option<Arc<Open>>,
) -> Result<OwnedFd, Errno> {
    let writes = flags.contains(OFlags::RDWR) || flags.contains(OFlags::WRONLY);
    let mut options = OpenOptions::new();
    let mut extra = DIRECTORIES;
    if flags.contains(OFlags::NOFOLLOW) {
        extra |= ITSELF;
    }
    if flags.contains(OFlags::DIRECTORY) {
        options.access_mode(LIST).share_mode(SHARE_READ | SHARE_WRITE);
    } else if writes {
        // One writer; readers may look on, and the file may be renamed.
        options.read(!flags.contains(OFlags::WRONLY)).write(true);
        options.share_mode(SHARE_READ | SHARE_DELETE);
        options.truncate(flags.contains(OFlags::TRUNC));
        options.create_new(flags.contains(OFlags::EXCL));
        options.create(flags.contains(OFlags::CREATE));
    } else {
        options.read(true).share_mode(SHARE_READ | SHARE_WRITE | SHARE_DELETE);
    }
    if flags.contains(OFlags::APPEND) {
        options.append(true);
    }
    let file = options.custom_flags(extra).open(&path)?;
    let found = file.metadata()?;
    if flags.contains(OFlags::NOFOLLOW) && found.file_attributes() & REPARSE != 0 {
        return Err(Errno::LOOP);
    }
    let is_directory = found.is_dir();
    if flags.contains(OFlags::DIRECTORY) && !is_directory {
        return Err(Errno::NOTDIR);
    }
    let _ = mode;
    let volume = stat_of(&file)?.st_dev;
    let is_stdin = false;
    Ok(OwnedFd(Arc::new(Open { file, path, is_directory, is_stdin, writes, volume, above })))
}

/// The entry at a path, without following a link.
pub(crate) fn lstat(path: &Path) -> Result<Stat, Errno> {
    stat_at(path, ITSELF)
}

/// The entry at a name in a directory.
pub(crate) fn statat(
    directory: impl AsFd,
    name: impl AsRef<Path>,
    flags: AtFlags,
) -> Result<Stat, Errno> {
    let itself = if flags.contains(AtFlags::SYMLINK_NOFOLLOW) { ITSELF } else { 0 };
    stat_at(&below(directory, name)?, itself)
}

fn stat_at(path: &Path, itself: u32) -> Result<Stat, Errno> {
    let all = SHARE_READ | SHARE_WRITE | SHARE_DELETE;
    let mut options = OpenOptions::new();
    options.access_mode(ATTRIBUTES).share_mode(all).custom_flags(DIRECTORIES | itself);
    stat_of(&options.open(path)?)
}

/// Makes a directory.
pub(crate) fn mkdirat(directory: impl AsFd, name: impl AsRef<Path>, _: Mode) -> Result<(), Errno> {
    Ok(std::fs::create_dir(below(directory, name)?)?)
}

/// Removes a file or link, or with [`AtFlags::REMOVEDIR`] an empty directory.
pub(crate) fn unlinkat(
    directory: impl AsFd,
    name: impl AsRef<Path>,
    flags: AtFlags,
) -> Result<(), Errno> {
    let path = below(directory, name)?;
    if flags.contains(AtFlags::REMOVEDIR) {
        return Ok(std::fs::remove_dir(path)?);
    }
    match std::fs::symlink_metadata(&path)?.file_attributes() {
        // A link to a directory is removed as one.
        attributes if attributes & REPARSE != 0 && attributes & 0x10 != 0 => {
            Ok(std::fs::remove_dir(path)?)
        }
        _ => Ok(std::fs::remove_file(path)?),
    }
}

/// Renames, over a file that has the name.
pub(crate) fn renameat(
    directory: impl AsFd,
    from: impl AsRef<Path>,
    there: impl AsFd,
    to: impl AsRef<Path>,
) -> Result<(), Errno> {
    let to = below(there, to)?;
    match std::fs::rename(below(directory, from)?, &to) {
        Err(_) if to.is_dir() => Err(Errno::ISDIR),
        result => Ok(result?),
    }
}

/// The permission to write, which is all that this system has of them.
pub(crate) fn fchmod(file: impl AsFd, mode: Mode) -> Result<(), Errno> {
    let file = file.as_fd().file();
    let mut permissions = file.metadata()?.permissions();
    let closed = mode.as_raw_mode() & 0o200 == 0;
    if permissions.readonly() != closed {
        permissions.set_readonly(closed);
        file.set_permissions(permissions)?;
    }
    Ok(())
}

/// Permissions.
pub(crate) fn mode(bits: u32) -> Mode {
    Mode::from_raw_mode(bits)
}

/// Cuts or extends a file.
pub(crate) fn ftruncate(file: impl AsFd, len: u64) -> Result<(), Errno> {
    Ok(file.as_fd().file().set_len(len)?)
}

/// Waits until the disk has the file. Directories have no such call, and need none.
pub(crate) fn fsync(file: impl AsFd) -> Result<(), Errno> {
    let file = file.as_fd();
    if file.is_directory() {
        return Ok(());
    }
    Ok(file.file().sync_all()?)
}

/// A time in seconds and nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timespec {
    pub(crate) tv_sec: i64,
    pub(crate) tv_nsec: i64,
}

/// Leaves a time as it is.
pub(crate) const UTIME_OMIT: i64 = -1;

/// The times of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timestamps {
    pub(crate) last_access: Timespec,
    pub(crate) last_modification: Timespec,
}

/// Sets the times of a file.
pub(crate) fn futimens(file: impl AsFd, times: &Timestamps) -> Result<(), Errno> {
    let system = |time: Timespec| {
        let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
        match time.tv_sec {
            0.. => SystemTime::UNIX_EPOCH.checked_add(seconds),
            _ => SystemTime::UNIX_EPOCH.checked_sub(seconds),
        }
    };
    let mut set = std::fs::FileTimes::new();
    if times.last_modification.tv_nsec != UTIME_OMIT {
        set = set.set_modified(system(times.last_modification).ok_or(Errno::INVAL)?);
    }
    if times.last_access.tv_nsec != UTIME_OMIT {
        set = set.set_accessed(system(times.last_access).ok_or(Errno::INVAL)?);
    }
    Ok(file.as_fd().file().set_times(set)?)
}

/// How a file is locked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlockOperation {
    /// For this process alone, or not at all.
    NonBlockingLockExclusive,
    /// No longer.
    Unlock,
}

/// Whether this process alone writes the file: each writer is the only one, by how it is opened.
pub(crate) fn flock(file: impl AsFd, how: FlockOperation) -> Result<(), Errno> {
    let file = file.as_fd();
    if matches!(how, FlockOperation::Unlock) || file.writes() {
        return Ok(());
    }
    let all = SHARE_READ | SHARE_WRITE | SHARE_DELETE;
    match OpenOptions::new().write(true).share_mode(all).open(file.path()) {
        Ok(_) => Ok(()),
        Err(error) => Err(Errno::of(&error)),
    }
}

/// The space of a file system, in blocks of one byte.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_field_names)] // They are POSIX's.
pub(crate) struct StatVfs {
    pub(crate) f_frsize: u64,
    pub(crate) f_blocks: u64,
    pub(crate) f_bavail: u64,
}

/// The space where a directory is.
pub(crate) fn fstatvfs(directory: impl AsFd) -> Result<StatVfs, Errno> {
    let path = directory.as_fd().path();
    let (f_blocks, f_bavail) = (fs4::total_space(path)?, fs4::available_space(path)?);
    Ok(StatVfs { f_frsize: 1, f_blocks, f_bavail })
}

/// The entries of a directory.
#[derive(Debug)]
pub(crate) struct Dir(std::fs::ReadDir);

impl Dir {
    pub(crate) fn read_from(directory: impl AsFd) -> Result<Self, Errno> {
        Ok(Self(std::fs::read_dir(directory.as_fd().path())?))
    }
}

impl Iterator for Dir {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map(|entry| DirEntry {
            kind: entry.file_type().map_or(FileType::Unknown, FileType::of),
            name: Name(entry.file_name().into_encoded_bytes()),
        }))
    }
}

/// An entry.
#[derive(Debug)]
pub(crate) struct DirEntry {
    name: Name,
    kind: FileType,
}

impl DirEntry {
    pub(crate) fn file_name(&self) -> &Name {
        &self.name
    }

    pub(crate) fn file_type(&self) -> FileType {
        self.kind
    }
}

/// A name in UTF-8, or what the system has instead.
#[derive(Debug)]
pub(crate) struct Name(Vec<u8>);

impl Name {
    pub(crate) fn to_bytes(&self) -> &[u8] {
        &self.0
    }
}
