//! What two Wetstrings do between them, beside the engine: digests, signatures of blocks, compression.

use twox_hash::xxhash3_128;
use wetstring_proto::difference;
use wetstring_proto::{DigestKind, Reply, Request, StoreError};

use crate::compressor::Compressor;

/// A digest of a file whose bytes pass from its start. It stops when some are skipped; repeated bytes were counted
/// the first time.
struct Running {
    hash: xxhash3_128::Hasher,
    /// `None` if it has stopped.
    len: Option<u64>,
}

impl Default for Running {
    fn default() -> Self {
        Self { hash: xxhash3_128::Hasher::new(), len: Some(0) }
    }
}

impl Running {
    fn pass(&mut self, offset: u64, bytes: &[u8]) {
        let Some(len) = self.len else { return };
        let Some(known) = len.checked_sub(offset) else {
            self.len = None;
            return;
        };
        let fresh = bytes.get(known as usize..).unwrap_or_default();
        self.hash.write(fresh);
        self.len = Some(len + fresh.len() as u64);
    }

    fn value(&self) -> [u8; 32] {
        let mut value = [0; 32];
        value[..16].copy_from_slice(&self.hash.finish_128().to_be_bytes());
        value
    }
}

/// The beginning of BLAKE3: what Wetstrings call strong.
fn strong(block: &[u8]) -> u64 {
    let hash = blake3::hash(block);
    hash.as_bytes()[..8].iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Beside an engine.
pub(crate) struct Extended {
    running: Running,
    /// Of a file that is read for it.
    whole: Running,
    compressor: Compressor,
}

impl Default for Extended {
    fn default() -> Self {
        Self {
            running: Running::default(),
            whole: Running::default(),
            compressor: Compressor::new(),
        }
    }
}

impl Extended {
    /// Answers what needs no store, or gives the request back.
    pub(crate) fn answer<'r>(
        &mut self,
        request: Request<'r>,
    ) -> Result<Reply<'static>, Request<'r>> {
        if let Request::Digest { kind: DigestKind::Xxh3, len } = request
            && self.running.len == Some(len)
        {
            return Ok(Reply::Digest(self.running.value()));
        }
        self.compressor.answer(request)
    }

    /// Another file begins.
    pub(crate) fn begin(&mut self) {
        self.running = Running::default();
    }

    /// Bytes of the file pass: this request has been answered, with this many bytes.
    pub(crate) fn pass(&mut self, request: Option<&Request<'_>>, read: usize) {
        match request {
            Some(Request::Write { offset, bytes }) => self.running.pass(*offset, bytes),
            Some(Request::Read { offset, into }) => {
                self.running.pass(*offset, into.get(..read).unwrap_or_default());
            }
            _ => {}
        }
    }

    /// Bytes of a file that is read for its digest; at 0 another one begins.
    pub(crate) fn hash(&mut self, at: u64, bytes: &[u8]) {
        if at == 0 {
            self.whole = Running::default();
        }
        self.whole.pass(at, bytes);
    }

    /// The digest of those.
    pub(crate) fn digest(&self) -> Reply<'static> {
        Reply::Digest(self.whole.value())
    }

    /// The signatures of blocks.
    pub(crate) fn sign(bytes: &[u8], request: Option<Request<'_>>) -> Reply<'static> {
        match request {
            Some(Request::Signatures { block, into, .. }) => {
                Reply::Read(difference::sign(bytes, 0, block, strong, into))
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}
