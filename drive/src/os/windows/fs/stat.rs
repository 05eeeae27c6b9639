//! What is known about a file.

use super::super::errno::Errno;
use super::AsFd;
use std::fs::File;
use std::os::windows::fs::MetadataExt;

/// Seconds from 1601, where this system counts from, to 1970.
const EPOCH: i64 = 11_644_473_600;
/// Its unit in a second.
const UNITS: i64 = 10_000_000;

/// What POSIX tells about a file, as far as this system knows it.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_field_names)] // They are POSIX's.
pub(crate) struct Stat {
    pub(crate) st_dev: u64,
    pub(crate) st_ino: u64,
    pub(crate) st_nlink: u64,
    pub(crate) st_mode: u32,
    pub(crate) st_size: i64,
    pub(crate) st_blocks: i64,
    pub(crate) st_mtime: i64,
    pub(crate) st_mtime_nsec: i64,
}

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileType {
    RegularFile,
    Directory,
    Symlink,
    Fifo,
    CharacterDevice,
    Unknown,
}

impl FileType {
    /// From the bits of a mode.
    pub(crate) fn from_raw_mode(mode: u32) -> Self {
        match mode & 0o170_000 {
            0o010_000 => Self::Fifo,
            0o020_000 => Self::CharacterDevice,
            0o040_000 => Self::Directory,
            0o100_000 => Self::RegularFile,
            0o120_000 => Self::Symlink,
            _ => Self::Unknown,
        }
    }

    fn bits(self) -> u32 {
        match self {
            Self::Fifo => 0o010_000,
            Self::CharacterDevice => 0o020_000,
            Self::Directory => 0o040_000,
            Self::RegularFile => 0o100_000,
            Self::Symlink => 0o120_000,
            Self::Unknown => 0,
        }
    }

    /// As the library tells it. Junctions are links, too.
    pub(super) fn of(kind: std::fs::FileType) -> Self {
        if kind.is_symlink() {
            Self::Symlink
        } else if kind.is_dir() {
            Self::Directory
        } else {
            Self::RegularFile
        }
    }
}

/// The permissions and the kind of a file.
pub(crate) fn mode_of(stat: &Stat) -> u32 {
    stat.st_mode
}

/// What is known about an open file.
pub(crate) fn fstat(file: impl AsFd) -> Result<Stat, Errno> {
    let file = file.as_fd();
    Ok(Stat { st_dev: file.volume(), ..stat_of(file.file())? })
}

/// The same.
pub(crate) fn stat_of(file: &File) -> Result<Stat, Errno> {
    let Ok(found) = winapi_util::file::information(file) else {
        return Ok(stream(winapi_util::file::typ(file)?.is_pipe()));
    };
    let found_kind = file.metadata()?;
    let attributes = found_kind.file_attributes();
    let kind = match attributes {
        link if link & super::REPARSE != 0 => FileType::Symlink,
        _ if found_kind.is_dir() => FileType::Directory,
        _ => FileType::RegularFile,
    };
    // The permission to write is the only one here; directories are not shared with other users by default.
    let permissions = match kind {
        FileType::Directory => 0o755,
        _ if found_kind.permissions().readonly() => 0o444,
        _ => 0o644,
    };
    let written = found.last_write_time().unwrap_or(0) as i64;
    Ok(Stat {
        st_dev: found.volume_serial_number(),
        st_ino: found.file_index(),
        st_nlink: found.number_of_links(),
        st_mode: kind.bits() | permissions,
        st_size: found.file_size() as i64,
        st_blocks: (found.file_size() / 512) as i64,
        st_mtime: written.div_euclid(UNITS) - EPOCH,
        st_mtime_nsec: written.rem_euclid(UNITS) * 100,
    })
}

fn stream(is_pipe: bool) -> Stat {
    let kind = if is_pipe { FileType::Fifo } else { FileType::CharacterDevice };
    Stat {
        st_dev: 0,
        st_ino: 0,
        st_nlink: 1,
        st_mode: kind.bits() | 0o600,
        st_size: 0,
        st_blocks: 0,
        st_mtime: 0,
        st_mtime_nsec: 0,
    }
}
