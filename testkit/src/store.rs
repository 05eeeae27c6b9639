//! Stores in memory.

use crate::older::{Wanted, sign};
use crate::{Squeezer, digest};
use wetstring_proto::{FileInfo, FileKind, Refusal, Reply, Request, Store, StoreError};

/// No files, and everything is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Store for NoFiles {
    fn answer<'s>(&'s mut self, _: Request<'_>) -> Reply<'s> {
        Reply::Done
    }
}

/// A file in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: Vec<u8>,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Whether it is text.
    pub text: bool,
    /// Date, in seconds since 1970.
    pub modified: Option<i64>,
    /// Permissions.
    pub mode: Option<u32>,
    /// Whether it may be resumed.
    pub resume: bool,
    /// Whether the receiver closed it as complete.
    pub complete: bool,
    /// Whether it was verified.
    pub verified: bool,
}

impl File {
    /// A binary file.
    pub fn new(name: &str, bytes: &[u8]) -> Self {
        Self { name: name.into(), bytes: bytes.into(), ..Self::default() }
    }
}

/// Gives files to a sender.
#[derive(Debug, Default)]
pub struct Source {
    /// The files.
    pub files: Vec<File>,
    /// How many were given.
    pub at: usize,
    /// Most bytes of one read.
    pub chunk: usize,
    /// Whether it has digests.
    pub digests: bool,
    /// What the files were closed with: complete, verified.
    pub closed: Vec<(bool, bool)>,
    /// Files that were put aside and are not settled.
    pub aside: usize,
    /// Whether files can be put aside.
    pub one_at_a_time: bool,
    /// Reads from this offset fail.
    pub fail_read_at: Option<u64>,
    /// Compresses for an engine that asks.
    pub squeezer: Squeezer,
}

impl Source {
    /// Gives these, in reads of any length.
    pub fn new(files: Vec<File>) -> Self {
        Self { files, chunk: usize::MAX, digests: true, ..Self::default() }
    }
}

impl Store for Source {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next => {
                let Some(file) = self.files.get(self.at) else { return Reply::NoMoreFiles };
                self.at += 1;
                Reply::File(FileInfo {
                    name: &file.name,
                    size: Some(file.bytes.len() as u64),
                    modified: file.modified,
                    mode: file.mode,
                    kind: if file.text { FileKind::Text } else { FileKind::Binary },
                    resume: file.resume,
                    ..FileInfo::default()
                })
            }
            Request::Read { offset, into } => {
                if self.fail_read_at.is_some_and(|at| offset >= at) {
                    return Reply::Failed(StoreError::Io);
                }
                let bytes = &self.files[self.at - 1].bytes;
                let from = (offset as usize).min(bytes.len());
                let len = (bytes.len() - from).min(into.len()).min(self.chunk);
                into[..len].copy_from_slice(&bytes[from..from + len]);
                Reply::Read(len)
            }
            Request::Digest { len, .. } if self.digests => {
                Reply::Digest(digest(&self.files[self.at - 1].bytes[..len as usize]))
            }
            Request::Pack { bytes, into, begin, end, .. } => {
                self.squeezer.pack(bytes, into, begin, end)
            }
            Request::Signatures { from, block, into } if self.digests => {
                Reply::Read(sign(&self.files[self.at - 1].bytes, from, block, into))
            }
            Request::Aside if !self.one_at_a_time => {
                self.aside += 1;
                Reply::Done
            }
            Request::Settle { complete, verified } => {
                self.aside -= 1;
                self.closed.push((complete, verified));
                Reply::Done
            }
            Request::Close { complete, verified } => {
                let aside = std::mem::take(&mut self.aside);
                self.closed.extend(std::iter::repeat_n((false, false), aside));
                self.closed.push((complete, verified));
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

/// Takes files from a receiver.
#[derive(Debug, Default)]
pub struct Sink {
    /// The files.
    pub files: Vec<File>,
    /// The sizes that were announced for them.
    pub sizes: Vec<Option<u64>>,
    /// Refuses all files.
    pub refuse: Option<Refusal>,
    /// What it has of each file that is resumed.
    pub partial: Vec<u8>,
    /// Whether it has digests.
    pub digests: bool,
    /// Most bytes of a file.
    pub room: Option<usize>,
    /// Damages the next write.
    pub corrupt: bool,
    /// Decompresses for an engine that asks.
    pub squeezer: Squeezer,
    /// The older version of each file that is not resumed.
    pub older: Vec<u8>,
    /// Bytes that were taken from it.
    pub copied: u64,
    /// What is looked for in it.
    pub wanted: Option<Wanted>,
}

impl Sink {
    /// Takes everything.
    pub fn new() -> Self {
        Self { digests: true, ..Self::default() }
    }
}

impl Store for Sink {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { info } => {
                if let Some(why) = self.refuse {
                    return Reply::Refuse(why);
                }
                let bytes = if info.resume { self.partial.clone() } else { Vec::new() };
                let offset = bytes.len() as u64;
                self.sizes.push(info.size);
                self.files.push(File {
                    name: info.name.into(),
                    bytes,
                    text: info.kind == FileKind::Text,
                    modified: info.modified,
                    mode: info.mode,
                    resume: info.resume,
                    ..File::default()
                });
                Reply::Accept { offset }
            }
            Request::Write { offset, bytes } => {
                let file = self.files.last_mut().expect("a file was accepted");
                assert_eq!(offset, file.bytes.len() as u64, "writes are in sequence");
                if self.room.is_some_and(|room| file.bytes.len() + bytes.len() > room) {
                    return Reply::Failed(StoreError::NoSpace);
                }
                file.bytes.extend_from_slice(bytes);
                if self.corrupt {
                    file.bytes[0] ^= 1;
                    self.corrupt = false;
                }
                Reply::Done
            }
            Request::Unpack { bytes, into, begin } => self.squeezer.unpack(bytes, into, begin),
            Request::Older
            | Request::Learn { .. }
            | Request::Find { .. }
            | Request::Copy { .. } => self.differing(request),
            Request::Digest { len, .. } if self.digests => {
                Reply::Digest(digest(&self.files.last().unwrap().bytes[..len as usize]))
            }
            Request::Close { complete, verified } => {
                let file = self.files.last_mut().expect("a file was accepted");
                file.complete = complete;
                file.verified = verified;
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

impl Sink {
    /// A request about the older version.
    fn differing(&mut self, request: Request<'_>) -> Reply<'static> {
        match request {
            Request::Older if !self.older.is_empty() => {
                self.wanted = None;
                Reply::Done
            }
            Request::Learn { from, block, bytes } => {
                let size = self.sizes.last().copied().flatten().unwrap_or(0);
                self.wanted.get_or_insert_with(|| Wanted::new(from, block, size)).learn(bytes);
                Reply::Done
            }
            Request::Find { first, into } => {
                let Some(wanted) = &mut self.wanted else {
                    return Reply::Failed(StoreError::NotFound);
                };
                wanted.find(&self.older, first, into);
                Reply::Done
            }
            Request::Copy { from, to } => {
                let file = self.files.last_mut().expect("a file was accepted");
                assert_eq!(from, file.bytes.len() as u64, "copies are in sequence");
                let wanted = self.wanted.as_ref().expect("there is a list");
                match wanted.copy(&self.older, from, to) {
                    Some(bytes) => {
                        file.bytes.extend_from_slice(&bytes);
                        self.copied += to - from;
                        Reply::Done
                    }
                    None => Reply::Failed(StoreError::NotFound),
                }
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}
