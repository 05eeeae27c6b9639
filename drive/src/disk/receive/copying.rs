//! Copies of files, which share their blocks where the file system can.

use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;

/// Bytes read at a time.
const BUFFER: usize = 64 * 1024;

/// Copies all of `from` to `to`, from `start` on.
pub(super) fn copy(from: &OwnedFd, to: &OwnedFd, start: u64) -> io::Result<()> {
    let mut offset = shared(from, to, start)?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let len = match rustix::io::pread(from, &mut buffer[..], offset) {
            Ok(0) => return Ok(()),
            Ok(len) => len,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let mut rest = &buffer[..len];
        while !rest.is_empty() {
            match rustix::io::pwrite(to, rest, start + offset) {
                Ok(written) => {
                    offset += written as u64;
                    rest = &rest[written..];
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// As far as the system copies by itself, possibly not at all.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn shared(from: &OwnedFd, to: &OwnedFd, start: u64) -> io::Result<u64> {
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

/// As far as the system copies by itself.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn shared(_: &OwnedFd, _: &OwnedFd, _: u64) -> io::Result<u64> {
    Ok(0)
}
