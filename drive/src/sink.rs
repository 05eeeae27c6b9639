//! A store that writes received data to a stream: `wst receive LINE -o -`.

use crate::disk::{FileOutcome, FileRecord, Running, store_error};
use crate::in_words;
use std::io::{self, Write};
use wetstring_proto::file::{DigestKind, Refusal, Reply, Request, Store, StoreError};

/// Writes the data of received files, one after the other, to a stream. Names are only recorded.
pub struct SinkStore<W: Write> {
    out: W,
    files: Vec<FileRecord>,
    running: Running,
    digest: Option<DigestKind>,
    open: bool,
    last_error: Option<String>,
}

impl<W: Write> SinkStore<W> {
    /// A store that writes to `out`, which may block, and keeps an XXH3 digest.
    pub fn new(out: W) -> Self {
        Self::with_digest(out, Some(DigestKind::Xxh3))
    }

    /// A store that writes to `out` and computes this digest. A stream cannot be read again, so no other digest
    /// is available.
    pub fn with_digest(out: W, digest: Option<DigestKind>) -> Self {
        let running = Running::new(None);
        Self { out, files: Vec::new(), running, digest, open: false, last_error: None }
    }

    /// The result of each file, in order.
    pub fn files(&self) -> &[FileRecord] {
        &self.files
    }

    /// The text of the last error, for the user.
    pub fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// Returns the stream.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn close(&mut self, complete: bool, verified: bool) -> Reply<'static> {
        if !std::mem::take(&mut self.open) {
            return Reply::Done;
        }
        let flushed = self.out.flush();
        let whole = complete && flushed.is_ok();
        if let Some(record) = self.files.last_mut() {
            record.outcome = if whole { FileOutcome::Stored } else { FileOutcome::Partial };
            record.verified = whole && verified;
            record.digest = self.running.whole(record.size).filter(|_| whole);
        }
        flushed.map_or_else(|error| self.fail(&error), |()| Reply::Done)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Reply<'static> {
        let Some(record) = self.files.last_mut().filter(|_| self.open) else {
            return Reply::Failed(StoreError::NotFound);
        };
        if offset != record.size {
            let text = format!("expected offset {} of a stream, got {offset}", record.size);
            return self.fail(&io::Error::other(text));
        }
        if let Err(error) = self.out.write_all(bytes) {
            return self.fail(&error);
        }
        self.running.pass(offset, bytes);
        record.size += bytes.len() as u64;
        Reply::Done
    }

    fn fail(&mut self, error: &io::Error) -> Reply<'static> {
        self.last_error = Some(format!("output: {}", in_words(&error)));
        Reply::Failed(store_error(error))
    }
}

impl<W: Write> Store for SinkStore<W> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next => Reply::NoMoreFiles,
            Request::Offer { info } => {
                self.close(false, false);
                if info.name.is_empty() {
                    return Reply::Refuse(Refusal::Name);
                }
                self.files.push(FileRecord::new(info.name));
                self.running = Running::new(self.digest);
                self.open = true;
                Reply::Accept { offset: 0 }
            }
            Request::Write { offset, bytes } => self.write(offset, bytes),
            Request::Digest { kind, len } => match self.running.value(kind, len) {
                Some(value) => Reply::Digest(value),
                None => Reply::Failed(StoreError::Unsupported),
            },
            Request::Close { complete, verified } => self.close(complete, verified),
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}
