//! Files too long to be kept in memory: their content is a function of the offset.
//!
//! A scenario that moves half a gigabyte, or runs until it has been measured, needs no memory for it: the
//! source generates what is read, the sink compares what is written, and both know the digests.

use std::collections::BTreeMap;
use std::sync::Arc;
use wetstring_proto::file::{DigestKind, FileInfo, Left, Reply, Request, Store, StoreError};
use xxhash_rust::xxh3::Xxh3;

/// A prime, so that a lost or doubled packet of any usual length shows.
const PERIOD: usize = 65_521;
/// Bytes generated or compared at a time.
const CHUNK: usize = 1 << 16;

/// Bytes whose values are a function of their offsets.
#[derive(Clone, Debug)]
pub struct Pattern(Vec<u8>);

impl Default for Pattern {
    fn default() -> Self {
        Self::new()
    }
}

impl Pattern {
    /// The one pattern there is.
    pub fn new() -> Self {
        let value =
            |place: usize| ((place % PERIOD) as u32).wrapping_mul(0x9e37_79b1).to_be_bytes();
        Self((0..PERIOD + CHUNK).map(|place| value(place)[0]).collect())
    }

    /// The bytes from `offset` on: at least one and at most `most`.
    pub fn at(&self, offset: u64, most: usize) -> &[u8] {
        let place = (offset % PERIOD as u64) as usize;
        &self.0[place..place + most.min(CHUNK)]
    }

    /// Whether these are the bytes from `offset` on.
    pub fn is(&self, offset: u64, bytes: &[u8]) -> bool {
        let mut at = offset;
        bytes.chunks(CHUNK).all(|chunk| {
            let same = self.at(at, chunk.len()) == chunk;
            at += chunk.len() as u64;
            same
        })
    }

    fn digest(&self, kind: DigestKind, len: u64) -> Reply<'static> {
        let chunks =
            (0..len).step_by(CHUNK).map(|at| self.at(at, (len - at).min(CHUNK as u64) as usize));
        let mut bytes = [0; 32];
        match kind {
            DigestKind::Crc32 => {
                let mut crc = crc32fast::Hasher::new();
                chunks.for_each(|chunk| crc.update(chunk));
                bytes[..4].copy_from_slice(&crc.finalize().to_be_bytes());
            }
            DigestKind::Xxh3 => {
                let mut hash = Xxh3::new();
                chunks.for_each(|chunk| hash.update(chunk));
                bytes[..16].copy_from_slice(&hash.digest128().to_be_bytes());
            }
            _ => return Reply::Failed(StoreError::Unsupported),
        }
        Reply::Digest(bytes)
    }
}

/// Bytes that are transferred without an engine: a file's, or the pattern's.
#[derive(Clone, Debug)]
pub enum Stream {
    /// Of any length.
    Pattern(Pattern),
    /// The whole file.
    File(Arc<[u8]>),
}

impl Stream {
    /// The bytes from `offset` on: at most `most`, and at least one unless the file ends there.
    pub fn at(&self, offset: u64, most: usize) -> &[u8] {
        match self {
            Self::Pattern(pattern) => pattern.at(offset, most),
            Self::File(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..));
                let rest = rest.unwrap_or_default();
                &rest[..most.min(rest.len())]
            }
        }
    }

    /// Whether these are the bytes from `offset` on.
    pub fn is(&self, offset: u64, bytes: &[u8]) -> bool {
        match self {
            Self::Pattern(pattern) => pattern.is(offset, bytes),
            Self::File(_) => self.at(offset, bytes.len()) == bytes,
        }
    }
}

/// A sender's store: one file of the pattern.
#[derive(Clone, Debug)]
pub struct PatternSource {
    pattern: Pattern,
    name: Vec<u8>,
    len: u64,
    given: bool,
}

impl PatternSource {
    /// Will give a file of this length.
    pub fn new(name: &[u8], len: u64) -> Self {
        Self { pattern: Pattern::new(), name: name.to_vec(), len, given: false }
    }
}

impl Store for PatternSource {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next if self.given => Reply::NoMoreFiles,
            Request::Next => {
                self.given = true;
                Reply::File(FileInfo {
                    name: &self.name,
                    size: Some(self.len),
                    left: Some(Left { files: 1, bytes: self.len }),
                    ..FileInfo::default()
                })
            }
            Request::Read { offset, into } => {
                let mut done = 0;
                let most = self.len.saturating_sub(offset).min(into.len() as u64) as usize;
                while done < most {
                    let chunk = self.pattern.at(offset + done as u64, most - done);
                    into[done..done + chunk.len()].copy_from_slice(chunk);
                    done += chunk.len();
                }
                Reply::Read(most)
            }
            Request::Digest { kind, len } => self.pattern.digest(kind, len.min(self.len)),
            Request::Close { .. } => Reply::Done,
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

/// A receiver's store: compares data at any offset, and keeps nothing.
#[derive(Clone, Debug, Default)]
pub struct PatternSink {
    pattern: Pattern,
    /// What has arrived, as ranges that do not touch: ends by beginnings.
    ranges: BTreeMap<u64, u64>,
    complete: bool,
    wrong: bool,
}

impl PatternSink {
    /// Nothing has arrived.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a whole file of this length was received correctly.
    pub fn has_all(&self, len: u64) -> bool {
        let whole = match self.ranges.len() {
            0 => len == 0,
            1 => self.ranges.first_key_value() == Some((&0, &len)),
            _ => false,
        };
        self.complete && !self.wrong && whole
    }

    /// Whether a wrong byte was received.
    pub fn is_wrong(&self) -> bool {
        self.wrong
    }

    /// The bytes from `start` to `end` are here.
    fn cover(&mut self, mut start: u64, mut end: u64) {
        if start == end {
            return;
        }
        while let Some((from, to)) = self.ranges.range(..=end).next_back() {
            let (from, to) = (*from, *to);
            if to < start {
                break;
            }
            start = start.min(from);
            end = end.max(to);
            self.ranges.remove(&from);
        }
        self.ranges.insert(start, end);
    }
}

impl Store for PatternSink {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { .. } => {
                self.ranges.clear();
                self.complete = false;
                Reply::Accept { offset: 0 }
            }
            Request::Write { offset, bytes } => {
                self.wrong |= !self.pattern.is(offset, bytes);
                self.cover(offset, offset + bytes.len() as u64);
                Reply::Done
            }
            Request::Held { from } => {
                let at_or_behind =
                    |(start, end): (&u64, &u64)| (*end > from).then_some((*start, *end));
                let (start, end) =
                    self.ranges.iter().find_map(at_or_behind).unwrap_or((from, from));
                Reply::Held { from: start.max(from), to: end }
            }
            Request::Digest { kind, len } => self.pattern.digest(kind, len),
            Request::Close { complete, .. } => {
                self.complete = complete;
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_offset_has_one_value() {
        let pattern = Pattern::new();
        let mut whole = Vec::new();
        while whole.len() < 300_000 {
            whole.extend_from_slice(pattern.at(whole.len() as u64, 40_000));
        }
        assert!(pattern.is(0, &whole));
        assert!(pattern.is(1000, &whole[1000..299_000]));
        assert!(!pattern.is(1, &whole), "a byte too few shows");
        assert!(!pattern.is(1460, &whole[..100_000]), "so does a packet");
        whole[250_000] ^= 1;
        assert!(!pattern.is(0, &whole));
    }

    #[test]
    fn the_sink_detects_missing_and_wrong_bytes() {
        let pattern = Pattern::new();
        let mut sink = PatternSink::new();
        let put = |sink: &mut PatternSink, offset: u64, len: usize, from: u64| {
            let bytes = pattern.at(from, len);
            assert_eq!(sink.answer(Request::Write { offset, bytes }), Reply::Done);
        };
        for offset in [3000, 0, 1000, 1500] {
            put(&mut sink, offset, 1000, offset);
        }
        let close = Request::Close { complete: true, verified: false };
        assert_eq!(sink.answer(close), Reply::Done);
        assert!(!sink.has_all(4000), "500 bytes are missing");
        put(&mut sink, 2500, 500, 2500);
        assert!(sink.has_all(4000) && !sink.has_all(4001));
        put(&mut sink, 0, 100, 1);
        assert!(!sink.has_all(4000) && sink.is_wrong());
    }
}
