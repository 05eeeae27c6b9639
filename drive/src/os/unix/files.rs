//! Files where the calls of POSIX differ between systems.

use super::event::Source;
use rustix::fs::{AtFlags, Mode, OFlags, linkat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Names of the files of this system are those of Windows.
pub const WINDOWS_NAMES: bool = false;

/// Where systems store the certificates of authorities. That of macOS has the authorities it comes with, and not
/// those of the user's keychain: asking that one needs a library that no other system has.
const AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// The authorities that the system trusts; none if it has no such file.
pub(crate) fn authorities() -> io::Result<Vec<CertificateDer<'static>>> {
    let there = AUTHORITIES.into_iter().find(|path| Path::new(path).exists());
    let Some(path) = there else { return Ok(Vec::new()) };
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    read.map_err(|bad| io::Error::other(format!("{path} (expected PEM): {bad}")))
}

/// A name as the system writes it.
pub fn name(name: &[u8]) -> &OsStr {
    OsStr::from_bytes(name)
}

/// The same, owned.
pub fn owned_name(name: Vec<u8>) -> OsString {
    OsString::from_vec(name)
}

/// Opens a name in a directory. Nothing outside the directory can be reached, and no symlink is followed.
pub(crate) fn open_in(
    directory: impl AsFd,
    component: &[u8],
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(&directory, name(component), flags, mode, resolve) {
            // Old kernels and sandboxes do not have it. A single component and O_NOFOLLOW are as strict.
            Err(Errno::NOSYS | Errno::PERM | Errno::OPNOTSUPP) => {}
            result => return result,
        }
    }
    // With a separator it would be a path, of which O_NOFOLLOW is about the last component only.
    if component.contains(&b'/') || component == b".." {
        return Err(Errno::INVAL);
    }
    openat(directory, name(component), flags, mode)
}

/// An open directory can be moved and removed.
pub(crate) const OPEN_DIRECTORIES_ARE_FIXED: bool = false;

/// Symbolic links are made here.
pub(crate) const MAKES_LINKS: bool = true;

/// Makes a symbolic link under a name that is free.
pub(crate) fn make_link(directory: impl AsFd, target: &[u8], at: &[u8]) -> Result<(), Errno> {
    rustix::fs::symlinkat(name(target), directory, name(at))
}

/// Where the symbolic link of that name leads.
pub(crate) fn link_target(directory: impl AsFd, at: &[u8]) -> Result<Vec<u8>, Errno> {
    Ok(rustix::fs::readlinkat(directory, name(at), Vec::new())?.into_bytes())
}

/// Renames unless the new name exists ([`Errno::EXIST`]), possibly into another directory.
pub(crate) fn move_new(
    directory: impl AsFd,
    from: &[u8],
    there: impl AsFd,
    to: &[u8],
) -> Result<(), Errno> {
    let (from, to) = (name(from), name(to));
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    match rustix::fs::renameat_with(
        &directory,
        from,
        &there,
        to,
        rustix::fs::RenameFlags::NOREPLACE,
    ) {
        // Not every file system supports it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
        result => return result,
    }
    match linkat(&directory, from, &there, to, AtFlags::empty()) {
        Ok(()) => return unlinkat(&directory, from, AtFlags::empty()),
        // No hard links either (FAT): check first, and leave the smallest possible race.
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {}
        Err(error) => return Err(error),
    }
    match statat(&there, to, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => renameat(&directory, from, &there, to),
        Ok(_) => Err(Errno::EXIST),
        Err(error) => Err(error),
    }
}

/// Linux reports the umask; elsewhere it can only be read by setting it, and meanwhile no file is created with
/// wider permissions.
pub(crate) fn umask() -> u32 {
    let told = std::fs::read_to_string("/proc/self/status").ok().and_then(|status| {
        let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
        u32::from_str_radix(mask.trim(), 8).ok()
    });
    told.unwrap_or_else(|| {
        let mask = rustix::process::umask(Mode::from_raw_mode(0o077));
        rustix::process::umask(mask);
        mask.as_raw_mode() as u32
    })
}

/// Extended attributes.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(crate) mod attribute {
    use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};
    use rustix::io::Errno;
    use std::os::fd::OwnedFd;

    /// Its length; [`Errno::RANGE`] if it is longer than `into`.
    pub(crate) fn get(file: &OwnedFd, name: &str, into: &mut [u8]) -> Result<usize, Errno> {
        fgetxattr(file, name, into)
    }

    pub(crate) fn set(file: &OwnedFd, name: &str, value: &[u8]) -> Result<(), Errno> {
        fsetxattr(file, name, value, XattrFlags::empty())
    }

    pub(crate) fn remove(file: &OwnedFd, name: &str) -> Result<(), Errno> {
        fremovexattr(file, name)
    }
}

/// None: the library has not those of this system.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(crate) mod attribute {
    use rustix::io::Errno;
    use std::os::fd::OwnedFd;

    pub(crate) fn get(_: &OwnedFd, _: &str, _: &mut [u8]) -> Result<usize, Errno> {
        Err(Errno::NOSYS)
    }

    pub(crate) fn set(_: &OwnedFd, _: &str, _: &[u8]) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    pub(crate) fn remove(_: &OwnedFd, _: &str) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }
}

/// Copies as far as the system copies by itself, possibly nothing; returns how much.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn copied_by_system(from: &OwnedFd, to: &OwnedFd, start: u64) -> io::Result<u64> {
    /// Bytes per call, so that signals are handled.
    const MOST: usize = 64 << 20;
    let (mut read, mut write) = (0, start);
    loop {
        match rustix::fs::copy_file_range(from, Some(&mut read), to, Some(&mut write), MOST) {
            Ok(0) => return Ok(read),
            Ok(_) | Err(Errno::INTR) => {}
            Err(full @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => return Err(full.into()),
            // Not on every file system, nor between any two: the rest is read and written.
            Err(_) => return Ok(read),
        }
    }
}

/// Copies as far as the system copies by itself.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn copied_by_system(_: &OwnedFd, _: &OwnedFd, _: u64) -> io::Result<u64> {
    Ok(0)
}

/// The next reads come from the device, where the system supports it.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
pub(crate) fn forget(file: &OwnedFd) {
    let _ = rustix::fs::fdatasync(file);
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

/// Here they may come from memory.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
pub(crate) fn forget(file: &OwnedFd) {
    let _ = rustix::fs::fsync(file);
}

/// The file will be read from its beginning to its end.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
pub(crate) fn read_in_order(file: &OwnedFd) {
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
}

/// This system has no such call.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
pub(crate) fn read_in_order(_: &OwnedFd) {}

/// Reserves blocks of a file without making it longer.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn reserve(file: impl AsFd, from: u64, len: u64) -> Result<(), Errno> {
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, from, len)
}

/// This system cannot.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn reserve(_: impl AsFd, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Makes a hole in a file, which reads as zeros.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn punch(file: impl AsFd, from: u64, len: u64) -> Result<(), Errno> {
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(file, flags, from, len)
}

/// Not done on this system.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn punch(_: impl AsFd, _: u64, _: u64) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// This process's stdin as a file.
pub(crate) fn stdin() -> io::Result<OwnedFd> {
    rustix::stdio::stdin().try_clone_to_owned()
}

/// What to wait for before a stream is read.
pub(crate) fn source(stream: &OwnedFd) -> Source<'_> {
    Source::of(stream)
}

/// The number of the group that a file belongs to.
pub fn group(of: &Metadata) -> Option<u32> {
    Some(of.gid())
}

/// A new file for the eyes of its owner only.
pub fn create_private(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Moves stdin to another descriptor and makes the terminal stdin: returns the descriptor, and a path to it.
pub fn stdin_aside() -> io::Result<(OwnedFd, PathBuf)> {
    use std::os::fd::AsRawFd;
    let file = stdin()?;
    let terminal = std::fs::File::open("/dev/tty")?;
    rustix::stdio::dup2_stdin(&terminal)?;
    let path = format!("/dev/fd/{}", file.as_raw_fd()).into();
    Ok((file, path))
}

/// Makes `path` lead to the program `target`, under a name that is free.
pub fn link_program(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Whether `path` leads to the program `target`.
pub fn is_program(target: &Path, path: &Path) -> bool {
    std::fs::canonicalize(path).is_ok_and(|there| there == target)
}

/// The whole path, as a user writes it.
pub fn whole_path(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// The file name of a program.
pub fn program_name(name: &str) -> String {
    name.to_owned()
}

/// Which terminal a descriptor is, if it is one.
pub fn terminal(of: &(impl AsFd + io::IsTerminal)) -> Option<u64> {
    if !of.is_terminal() {
        return None;
    }
    let file = std::fs::File::from(of.as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok().map(|metadata| metadata.rdev())
}

/// Reads at an offset.
pub(crate) fn read_at(file: &std::fs::File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(into, offset)
}

/// The permissions of a file, as they protect it from other users.
pub(crate) fn permissions(of: &Metadata) -> u32 {
    of.permissions().mode() & 0o7777
}

/// Whether it is a device such as a terminal.
pub(crate) fn is_device(of: &Metadata) -> bool {
    of.file_type().is_char_device()
}

/// Whether group or others may do less in this directory than the usual umask lets them.
pub fn is_private(of: &Metadata) -> bool {
    const OPEN_TO_ALL: u32 = 0o055;
    of.mode() & OPEN_TO_ALL != OPEN_TO_ALL
}

/// Whether it is a pipe with a name, which is read once and in order.
pub fn is_fifo(of: &Metadata) -> bool {
    of.file_type().is_fifo()
}
