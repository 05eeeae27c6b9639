//! Files in memory, for tests and for the laboratory.

mod older;

use self::older::Older;
use crate::random::Random;
use std::collections::VecDeque;
use std::sync::Arc;
use wetstring_proto::file::{
    DigestKind, FileInfo, FileKind, Left, Refusal, Reply, Request, Store, StoreError,
};
use xxhash_rust::xxh3::xxh3_128;

/// Generated content: the same kind, seed and length always give the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// All bytes equally likely; cannot be compressed.
    Random(u64),
    /// Zero bytes.
    Zeros,
    /// Lines of lower-case words, of about 47 characters, each ended by a line feed.
    Text(u64),
    /// 0, 1, 2, ... 255, 0, ...
    Ramp,
    /// Each byte value in runs of each length at which run-length codes change their mind.
    Runs,
}

/// The lengths of [`Content::Runs`]: where Kermit's repeat counts begin to pay and end \[KPM\].
const RUNS: [usize; 10] = [1, 2, 3, 4, 5, 93, 94, 95, 188, 189];

impl Content {
    /// The first `len` bytes.
    pub fn bytes(self, len: usize) -> Vec<u8> {
        match self {
            Self::Random(seed) => {
                let mut bytes = vec![0; len];
                Random::stream(seed, "content", "random").fill(&mut bytes);
                bytes
            }
            Self::Zeros => vec![0; len],
            Self::Text(seed) => text(seed, len),
            Self::Ramp => (0..len).map(|index| index as u8).collect(),
            Self::Runs => runs().take(len).collect(),
        }
    }

    /// How long [`Content::Runs`] is before it begins again.
    pub fn runs_len() -> usize {
        RUNS.iter().sum::<usize>() * 256
    }
}

fn runs() -> impl Iterator<Item = u8> {
    let once = RUNS
        .into_iter()
        .flat_map(|len| (0..=255u8).flat_map(move |value| std::iter::repeat_n(value, len)));
    once.cycle()
}

fn text(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::stream(seed, "content", "text");
    let mut bytes = Vec::with_capacity(len + 16);
    let mut column = 0;
    let mut width = random.between(20, 74);
    while bytes.len() < len {
        let word = random.between(1, 9);
        for _ in 0..word {
            bytes.push(b'a' + random.below(26) as u8);
        }
        column += word + 1;
        let full = column >= width;
        bytes.push(if full { b'\n' } else { b' ' });
        if full {
            column = 0;
            width = random.between(20, 74);
        }
    }
    bytes.truncate(len);
    bytes
}

/// A file in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryFile {
    /// Name on the wire.
    pub name: Vec<u8>,
    /// Content.
    pub bytes: Arc<[u8]>,
    /// Bytes or lines.
    pub kind: FileKind,
    /// Time of the last change, in seconds since 1970.
    pub modified: Option<i64>,
    /// Unix permission bits.
    pub mode: Option<u32>,
    /// Ask the receiver to continue what it has.
    pub resume: bool,
}

impl MemoryFile {
    /// A binary file with this content.
    pub fn new(name: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self {
            name: name.as_bytes().to_vec(),
            bytes: bytes.into(),
            kind: FileKind::Binary,
            modified: None,
            mode: None,
            resume: false,
        }
    }

    /// A binary file of `len` bytes of made content.
    pub fn made(name: &str, content: Content, len: usize) -> Self {
        Self::new(name, content.bytes(len))
    }

    fn info(&self, left: Left) -> FileInfo<'_> {
        FileInfo {
            name: &self.name,
            size: Some(self.bytes.len() as u64),
            modified: self.modified,
            mode: self.mode,
            kind: self.kind,
            resume: self.resume,
            left: Some(left),
            ..FileInfo::default()
        }
    }
}

/// A sender's store: offers these files, one after the other.
#[derive(Clone, Debug, Default)]
pub struct MemorySource {
    files: Vec<MemoryFile>,
    /// How many have been given out.
    given: usize,
    /// How the files were closed: (complete, verified), by file.
    closed: Vec<Option<(bool, bool)>>,
    /// Files that were put aside, and are not settled.
    aside: VecDeque<usize>,
    /// Reading at or behind this position fails.
    fail_at: Option<u64>,
}

impl MemorySource {
    /// Will give these.
    pub fn new(files: Vec<MemoryFile>) -> Self {
        let closed = vec![None; files.len()];
        Self { files, given: 0, closed, aside: VecDeque::new(), fail_at: None }
    }

    /// Will give this one.
    pub fn one(file: MemoryFile) -> Self {
        Self::new(vec![file])
    }

    /// Reading at or behind `offset` of any file fails with an I/O error.
    #[must_use]
    pub fn failing_at(mut self, offset: u64) -> Self {
        self.fail_at = Some(offset);
        self
    }

    /// The files.
    pub fn files(&self) -> &[MemoryFile] {
        &self.files
    }

    /// How each file was closed, as (complete, verified); `None` if it was not.
    pub fn closed(&self) -> &[Option<(bool, bool)>] {
        &self.closed
    }
}

impl Store for MemorySource {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if request == Request::Next {
            let next = self.files.get(self.given);
            let rest = &self.files[self.given.min(self.files.len())..];
            let left = Left {
                files: u32::try_from(rest.len()).unwrap_or(u32::MAX),
                bytes: rest.iter().map(|file| file.bytes.len() as u64).sum(),
            };
            self.given += usize::from(next.is_some());
            return next.map_or(Reply::NoMoreFiles, |file| Reply::File(file.info(left)));
        }
        let Some(index) = self.given.checked_sub(1) else {
            return Reply::Failed(StoreError::NotFound);
        };
        let bytes = &self.files[index].bytes;
        match request {
            Request::Read { offset, .. } if self.fail_at.is_some_and(|at| offset >= at) => {
                Reply::Failed(StoreError::Io)
            }
            Request::Read { offset, into } => {
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
                let rest = rest.unwrap_or_default();
                let mut len = rest.len().min(into.len());
                if let Some(at) = self.fail_at {
                    len = len.min(usize::try_from(at - offset).unwrap_or(usize::MAX));
                }
                into[..len].copy_from_slice(&rest[..len]);
                Reply::Read(len)
            }
            Request::Digest { kind, len } => digest(kind, bytes, len),
            Request::Signatures { from, block, into } => {
                Reply::Read(older::sign(bytes, from, block, into))
            }
            Request::Aside => {
                self.aside.push_back(index);
                Reply::Done
            }
            Request::Settle { complete, verified } => match self.aside.pop_front() {
                Some(index) => {
                    self.closed[index] = Some((complete, verified));
                    Reply::Done
                }
                None => Reply::Failed(StoreError::NotFound),
            },
            Request::Close { complete, verified } => {
                for index in self.aside.drain(..) {
                    self.closed[index] = Some((false, false));
                }
                self.closed[index] = Some((complete, verified));
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

/// A sink's answer to an offer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Accept, from the start.
    #[default]
    Accept,
    /// Refuse.
    Refuse(Refusal),
    /// Accept, from the end of the existing part of that name; from the start if there is none.
    Resume,
}

/// A received file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Name as the protocol gave it.
    pub name: Vec<u8>,
    /// Content, including the part that existed before.
    pub bytes: Vec<u8>,
    /// The size that was announced.
    pub size: Option<u64>,
    /// The time that was announced.
    pub modified: Option<i64>,
    /// Bytes or lines.
    pub kind: FileKind,
    /// Where it was resumed; 0 if it was not.
    pub resumed_at: u64,
    /// It was closed as whole.
    pub complete: bool,
    /// It was closed as verified.
    pub verified: bool,
}

/// A file of which parts are here.
#[derive(Clone, Debug)]
struct Pieces {
    name: Vec<u8>,
    bytes: Vec<u8>,
    /// (from, to) of each part.
    held: Vec<(u64, u64)>,
}

/// A receiver's store: keeps what it receives.
#[derive(Clone, Debug, Default)]
pub struct MemorySink {
    policy: Policy,
    partial: Vec<(Vec<u8>, Vec<u8>)>,
    unwanted: Vec<(Vec<u8>, Refusal)>,
    received: Vec<Received>,
    open: bool,
    refused: Vec<Vec<u8>>,
    space: Option<u64>,
    broken_order: bool,
    /// Takes writes in any order.
    scattered: bool,
    /// Parts of files that are here with holes between them.
    pieces: Vec<Pieces>,
    /// What the current file has.
    held: Vec<(u64, u64)>,
    /// Older versions of files, by name; and of the current one.
    older: Vec<(Vec<u8>, Older)>,
    current: Option<Box<Older>>,
}

impl MemorySink {
    /// Accepts everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives this answer to every offer.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Already has this part of a file.
    #[must_use]
    pub fn with_partial(mut self, name: &str, bytes: &[u8]) -> Self {
        self.partial.push((name.as_bytes().to_vec(), bytes.to_vec()));
        self
    }

    /// Has an older version of a file.
    #[must_use]
    pub fn with_older(mut self, name: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        self.older.push((name.as_bytes().to_vec(), Older::new(bytes.into())));
        self
    }

    /// Takes writes in any order ([`Request::Held`]).
    #[must_use]
    pub fn scattered(mut self) -> Self {
        self.scattered = true;
        self
    }

    /// Already has these parts of a file, and takes writes in any order.
    #[must_use]
    pub fn with_pieces(mut self, name: &str, bytes: &[u8], pieces: &[(u64, u64)]) -> Self {
        let (name, bytes) = (name.as_bytes().to_vec(), bytes.to_vec());
        self.pieces.push(Pieces { name, bytes, held: pieces.to_vec() });
        self.scattered = true;
        self
    }

    /// Refuses this file, whatever the policy is.
    #[must_use]
    pub fn without(mut self, name: &str, why: Refusal) -> Self {
        self.unwanted.push((name.as_bytes().to_vec(), why));
        self
    }

    /// Whether a file of this name would be refused.
    pub fn refuses(&self, name: &[u8]) -> bool {
        self.refusal(name).is_some()
    }

    fn refusal(&self, name: &[u8]) -> Option<Refusal> {
        let unwanted = self.unwanted.iter().find(|(unwanted, _)| unwanted == name);
        match self.policy {
            Policy::Refuse(why) => Some(why),
            _ => unwanted.map(|(_, why)| *why),
        }
    }

    /// Has room for this many bytes in all; then it fails with [`StoreError::NoSpace`].
    #[must_use]
    pub fn with_space(mut self, bytes: u64) -> Self {
        self.space = Some(bytes);
        self
    }

    /// The received files, in order, complete or not.
    pub fn received(&self) -> &[Received] {
        &self.received
    }

    /// The files that were closed as whole, in order.
    pub fn complete(&self) -> impl Iterator<Item = &Received> {
        self.received.iter().filter(|file| file.complete)
    }

    /// The names that were refused.
    pub fn refused(&self) -> &[Vec<u8>] {
        &self.refused
    }

    /// Whether the receiver violated the contract: wrote backwards, over a hole, or without a file.
    pub fn broken_order(&self) -> bool {
        self.broken_order
    }

    fn offer(&mut self, info: FileInfo<'_>) -> Reply<'static> {
        // Offered again while it is open: the existing data was useless.
        let again = core::mem::take(&mut self.open)
            && self.received.pop_if(|last| last.name == info.name).is_some();
        if let Some(why) = self.refusal(info.name) {
            self.refused.push(info.name.to_vec());
            return Reply::Refuse(why);
        }
        let here = self.partial.iter().find(|(name, _)| name == info.name);
        let part = here
            .filter(|_| self.policy == Policy::Resume && !again)
            .map(|(_, bytes)| bytes.clone());
        let mut bytes = part.unwrap_or_default();
        let offset = bytes.len() as u64;
        self.held = vec![(0, offset)];
        let pieces = self.pieces.iter().find(|pieces| pieces.name == info.name);
        if let Some(pieces) = pieces.filter(|_| info.resume && !again) {
            bytes.clone_from(&pieces.bytes);
            self.held.clone_from(&pieces.held);
        }
        self.received.push(Received {
            name: info.name.to_vec(),
            bytes,
            size: info.size,
            modified: info.modified,
            kind: info.kind,
            resumed_at: offset,
            complete: false,
            verified: false,
        });
        self.open = true;
        let older = self.older.iter().find(|(name, _)| name == info.name);
        self.current = older.filter(|_| offset == 0).map(|(_, older)| Box::new(older.clone()));
        Reply::Accept { offset }
    }

    fn copy(&mut self, from: u64, to: u64) -> Reply<'static> {
        match self.current.as_ref().and_then(|older| older.copy(from, to)) {
            Some(bytes) => self.write(from, &bytes),
            None => Reply::Failed(StoreError::NotFound),
        }
    }

    /// A request about the older version of the current file.
    fn in_older(&mut self, request: Request<'_>) -> Reply<'static> {
        let size = self.received.last().and_then(|file| file.size).unwrap_or(0);
        let Some(older) = &mut self.current else { return Reply::Failed(StoreError::NotFound) };
        match request {
            Request::Learn { from, block, bytes } => older.learn(size, from, block, bytes),
            Request::Find { first, into } => older.find(first, into),
            _ => Reply::Done,
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Reply<'static> {
        let Some(file) = self.received.last_mut().filter(|_| self.open) else {
            self.broken_order = true;
            return Reply::Failed(StoreError::NotFound);
        };
        if self.scattered {
            let end = offset + bytes.len() as u64;
            self.broken_order |= self.held.iter().any(|(from, to)| offset < *to && *from < end);
            self.held.push((offset, end));
            self.held.sort_unstable();
            // Pieces that touch are one.
            self.held.dedup_by(|next, last| {
                let touch = next.0 <= last.1;
                last.1 = if touch { last.1.max(next.1) } else { last.1 };
                touch
            });
        } else if offset != file.bytes.len() as u64 {
            self.broken_order = true;
            return Reply::Failed(StoreError::Io);
        }
        if let Some(space) = &mut self.space {
            match space.checked_sub(bytes.len() as u64) {
                Some(left) => *space = left,
                None => return Reply::Failed(StoreError::NoSpace),
            }
        }
        let (from, to) = (offset as usize, offset as usize + bytes.len());
        file.bytes.resize(file.bytes.len().max(to), 0);
        file.bytes[from..to].copy_from_slice(bytes);
        Reply::Done
    }
}

impl Store for MemorySink {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { info } => self.offer(info),
            Request::Write { offset, bytes } => self.write(offset, bytes),
            Request::Older | Request::Learn { .. } | Request::Find { .. } => self.in_older(request),
            Request::Copy { from, to } => self.copy(from, to),
            Request::Held { from } if self.scattered && self.open => {
                let next = self.held.iter().find(|held| held.1 > from).copied();
                let (start, to) = next.unwrap_or((from, from));
                Reply::Held { from: start.max(from), to }
            }
            Request::Digest { kind, len } => match self.received.last() {
                Some(file) => digest(kind, &file.bytes, len),
                None => Reply::Failed(StoreError::NotFound),
            },
            Request::Close { complete, verified } => {
                let open = core::mem::take(&mut self.open);
                let Some(file) = self.received.last_mut().filter(|_| open) else {
                    self.broken_order = true;
                    return Reply::Done;
                };
                if complete && self.scattered && !is_whole(&self.held, file) {
                    self.broken_order = true;
                    return Reply::Failed(StoreError::Io);
                }
                file.complete = complete;
                file.verified = verified;
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

/// Whether no hole is left.
fn is_whole(held: &[(u64, u64)], file: &Received) -> bool {
    let len = file.bytes.len() as u64;
    let end = file.size.unwrap_or(len).max(len);
    let mut reached = 0;
    for (from, to) in held {
        // Pieces that were here before may touch.
        reached = if *from <= reached { reached.max(*to) } else { reached };
    }
    reached >= end
}

/// The digest of the first `len` bytes.
fn digest(kind: DigestKind, bytes: &[u8], len: u64) -> Reply<'static> {
    let Some(bytes) = usize::try_from(len).ok().and_then(|len| bytes.get(..len)) else {
        return Reply::Failed(StoreError::Io);
    };
    let mut digest = [0; 32];
    match kind {
        DigestKind::Crc32 => digest[..4].copy_from_slice(&crc32fast::hash(bytes).to_be_bytes()),
        DigestKind::Xxh3 => {
            digest[..16].copy_from_slice(&xxh3_128(bytes).to_be_bytes());
        }
        _ => return Reply::Failed(StoreError::Unsupported),
    }
    Reply::Digest(digest)
}
