//! Bytes of files and streams.

use super::fs::AsFd;
use std::io;
use std::os::windows::fs::FileExt;

pub(crate) use super::errno::Errno;

/// Reads at an offset, which moves the position that this crate does not use.
pub(crate) fn pread(file: impl AsFd, into: &mut [u8], offset: u64) -> Result<usize, Errno> {
    Ok(file.as_fd().file().seek_read(into, offset)?)
}

/// Writes at an offset.
pub(crate) fn pwrite(file: impl AsFd, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
    Ok(file.as_fd().file().seek_write(bytes, offset)?)
}

/// Reads from a stream; stdin comes from its thread.
pub(crate) fn read(stream: impl AsFd, into: &mut [u8]) -> Result<usize, Errno> {
    let stream = stream.as_fd();
    if stream.is_stdin() {
        return match super::terminal::keyboard()?.read(into)? {
            Some(len) => Ok(len),
            None => Err(Errno::AGAIN),
        };
    }
    Ok(io::Read::read(&mut stream.file(), into)?)
}
