//! A store that writes what arrives to a stream: `wst receive LINE -o -`.

use std::io::Write;
use wetstring_proto::file::{Reply, Request, Store};

/// Writes the data of received files, one after the other, to a stream.
pub struct SinkStore<W: Write> {
    out: W,
}

impl<W: Write> SinkStore<W> {
    /// A store that writes to `out`. The stream may block.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// What became of each file.
    pub fn files(&self) -> &[crate::disk::FileRecord] {
        todo!()
    }

    /// The last error in words, for a person.
    pub fn last_error(&self) -> Option<&str> {
        todo!()
    }

    /// The stream back.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Store for SinkStore<W> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        let _ = request;
        todo!()
    }
}
