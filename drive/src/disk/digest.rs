//! Digests of the leading bytes of a file, computed while the bytes pass or by reading again.

use crate::os::fd::AsFd;
use crate::os::io::Errno;
use std::io;
use twox_hash::xxhash3_128;
use wetstring_proto::file::DigestKind;

/// A digest of the bytes so far.
#[derive(Clone)]
enum Hash {
    Crc32(crc32fast::Hasher),
    Xxh3(Box<xxhash3_128::Hasher>),
}

impl Hash {
    fn new(kind: DigestKind) -> Option<Self> {
        match kind {
            DigestKind::Crc32 => Some(Self::Crc32(crc32fast::Hasher::new())),
            DigestKind::Xxh3 => Some(Self::Xxh3(Box::new(xxhash3_128::Hasher::new()))),
            _ => None,
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Crc32(hash) => hash.update(bytes),
            Self::Xxh3(hash) => hash.write(bytes),
        }
    }

    /// The digest so far, big endian, in the first bytes.
    fn value(&self) -> [u8; 32] {
        let mut value = [0; 32];
        match self {
            Self::Crc32(hash) => {
                value[..4].copy_from_slice(&hash.clone().finalize().to_be_bytes());
            }
            Self::Xxh3(hash) => value[..16].copy_from_slice(&hash.finish_128().to_be_bytes()),
        }
        value
    }
}

/// A digest computed while a file passes from its start. It stops when a byte is skipped; repeated bytes were
/// counted the first time.
pub(crate) struct Running {
    kind: DigestKind,
    hash: Option<Hash>,
    len: u64,
}

impl Running {
    pub(crate) fn new(kind: Option<DigestKind>) -> Self {
        let hash = kind.and_then(Hash::new);
        Self { kind: kind.unwrap_or(DigestKind::Crc32), hash, len: 0 }
    }

    /// Bytes covered; `None` if it has stopped.
    pub(super) fn reached(&self) -> Option<u64> {
        self.hash.as_ref().map(|_| self.len)
    }

    /// These bytes passed at `offset`; [`catch_up`](Self::catch_up) fills gaps before them.
    pub(super) fn pass_early(&mut self, offset: u64, bytes: &[u8]) {
        if offset == self.len {
            self.pass(offset, bytes);
        }
    }

    /// Reads stored data, up to `end` and at most `most` bytes per call.
    pub(super) fn catch_up(&mut self, file: impl AsFd, end: u64, most: u64) {
        let Some(hash) = &mut self.hash else { return };
        let end = end.min(self.len.saturating_add(most));
        let mut buffer = Vec::new();
        while self.len < end {
            buffer.resize(usize::try_from(end - self.len).unwrap_or(READ).min(READ), 0);
            match crate::os::io::pread(&file, &mut buffer[..], self.len) {
                Ok(got @ 1..) => {
                    hash.update(&buffer[..got]);
                    self.len += got as u64;
                }
                Err(Errno::INTR) => {}
                // A request for the digest at the end reads again, and returns the error.
                Ok(0) | Err(_) => {
                    self.hash = None;
                    return;
                }
            }
        }
    }

    /// These bytes passed at `offset`.
    pub(crate) fn pass(&mut self, offset: u64, bytes: &[u8]) {
        let Some(hash) = &mut self.hash else { return };
        let Some(before) = self.len.checked_sub(offset) else {
            self.hash = None;
            return;
        };
        let new = usize::try_from(before).ok().and_then(|before| bytes.get(before..));
        if let Some(new) = new {
            hash.update(new);
            self.len += new.len() as u64;
        }
    }

    /// The digest of this kind over the first `len` bytes, if it was computed.
    pub(crate) fn value(&self, kind: DigestKind, len: u64) -> Option<[u8; 32]> {
        let hash = self.hash.as_ref().filter(|_| kind == self.kind && len == self.len)?;
        Some(hash.value())
    }

    /// Kind and digest, if it covers `len` bytes.
    pub(crate) fn whole(&self, len: u64) -> Option<(DigestKind, [u8; 32])> {
        Some((self.kind, self.value(self.kind, len)?))
    }
}

/// The digest of the first `len` bytes of what `read` reads.
pub(crate) fn of(
    kind: DigestKind,
    len: u64,
    mut read: impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
) -> io::Result<[u8; 32]> {
    let mut hash = Hash::new(kind).ok_or(io::ErrorKind::Unsupported)?;
    let mut buffer = vec![0; usize::try_from(len).unwrap_or(READ).min(READ)];
    let mut offset = 0;
    while offset < len {
        let want = usize::try_from(len - offset).unwrap_or(usize::MAX).min(buffer.len());
        let got = read(offset, &mut buffer[..want])?;
        if got == 0 {
            let text = format!("expected {len} bytes, the file has {offset}");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        hash.update(&buffer[..got]);
        offset += got as u64;
    }
    Ok(hash.value())
}

/// Bytes read at a time.
const READ: usize = 64 * 1024;

/// Reads the first `len` bytes of a file for their digest.
pub(super) fn over(file: impl AsFd, kind: DigestKind, len: u64) -> io::Result<[u8; 32]> {
    of(kind, len, |offset, into| {
        loop {
            match crate::os::io::pread(&file, &mut *into, offset) {
                Err(Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    })
}
