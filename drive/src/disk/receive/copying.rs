//! Copies of files, which share their blocks where the file system can.

use crate::os::fd::OwnedFd;
use crate::os::files;
use crate::os::io::Errno;
use std::io;

/// Bytes read at a time.
const BUFFER: usize = 64 * 1024;

/// Copies all of `from` to `to`, from `start` on.
pub(super) fn copy(from: &OwnedFd, to: &OwnedFd, start: u64) -> io::Result<()> {
    let mut offset = files::copied_by_system(from, to, start)?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let len = match crate::os::io::pread(from, &mut buffer[..], offset) {
            Ok(0) => return Ok(()),
            Ok(len) => len,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let mut rest = &buffer[..len];
        while !rest.is_empty() {
            match crate::os::io::pwrite(to, rest, start + offset) {
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
