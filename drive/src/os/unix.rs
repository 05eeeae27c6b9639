//! Unix: descriptors and the calls of POSIX. Linux has more, where it is used.

pub mod event;
pub mod files;
pub(crate) mod net;
pub mod port;
pub mod process;
#[cfg(target_os = "linux")]
mod route;
pub(crate) mod sandbox;
pub(crate) mod signals;
pub mod terminal;
pub(crate) mod tun;

/// Descriptors.
pub mod fd {
    pub use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
}

/// Files by name and by descriptor.
pub(crate) mod fs {
    pub(crate) use rustix::fs::{
        AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps,
        UTIME_OMIT, fchmod, flock, fstat, fstatvfs, fsync, ftruncate, futimens, lstat, mkdirat,
        open, openat, renameat, statat, unlinkat,
    };

    /// Permissions; the type of the number differs between systems.
    #[allow(clippy::unnecessary_cast)]
    pub(crate) fn mode(bits: u32) -> Mode {
        Mode::from_raw_mode(bits as rustix::fs::RawMode)
    }

    /// The permissions and the kind of a file; the type differs between systems.
    #[allow(clippy::useless_conversion)]
    pub(crate) fn mode_of(stat: &Stat) -> u32 {
        stat.st_mode.into()
    }
}

/// Bytes of files and streams.
pub(crate) mod io {
    pub(crate) use rustix::io::{Errno, pread, pwrite, read};
}

/// Two connected ends inside this process.
pub mod stream {
    use std::fs::Permissions;
    use std::io;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};

    /// What waits at a path.
    pub use std::os::unix::net::UnixListener as Listener;
    /// One of them.
    pub use std::os::unix::net::UnixStream as Stream;

    /// Waits at a path, for programs of this user. A socket that no program waits at any more is replaced.
    pub fn listen(at: &str) -> io::Result<Listener> {
        // A file refuses connections as well.
        let is_socket =
            std::fs::symlink_metadata(at).is_ok_and(|found| found.file_type().is_socket());
        let refuses = |e: io::Error| e.kind() == io::ErrorKind::ConnectionRefused;
        if is_socket && Stream::connect(at).is_err_and(refuses) {
            std::fs::remove_file(at)?;
        }
        let listener = Listener::bind(at)?;
        // Who may connect may type.
        std::fs::set_permissions(at, Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    /// Both.
    pub fn pair() -> io::Result<(Stream, Stream)> {
        Stream::pair()
    }
}
