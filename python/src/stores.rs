//! Stores of a client of a server: the text of an answer, and the one file that was asked for.

use wetstring_proto::{Refusal, Reply, Request, Store, StoreError};

/// Longest answer.
const MOST_TEXT: usize = 16 << 20;

/// Keeps the text of a server's answer; a file is taken only by `files`, and only one.
pub(crate) struct Answer<'a> {
    files: Option<&'a mut dyn Store>,
    pub(crate) text: Vec<u8>,
    /// What is being received is text for the screen.
    on: bool,
    /// Its first byte in `text`.
    from: usize,
    /// A file was taken.
    taken: bool,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(files: Option<&'a mut dyn Store>) -> Self {
        Self { files, text: Vec::new(), on: false, from: 0, taken: false }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Reply<'static> {
        let at = (self.text.len() - self.from) as u64;
        if offset != at || self.text.len() + bytes.len() > MOST_TEXT {
            return Reply::Failed(StoreError::NoSpace);
        }
        self.text.extend_from_slice(bytes);
        Reply::Done
    }
}

impl Store for Answer<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        if let Request::Offer { info } = &request {
            self.on = info.extras.kermit().screen;
            self.from = self.text.len();
            if self.on {
                return Reply::Accept { offset: 0 };
            }
            // A server that sends more than was asked for writes over nothing here.
            if std::mem::replace(&mut self.taken, true) {
                return Reply::Refuse(Refusal::Declined);
            }
        }
        match request {
            Request::Write { offset, bytes } if self.on => self.write(offset, bytes),
            Request::Close { .. } if self.on => {
                self.on = false;
                Reply::Done
            }
            _ if self.on => Reply::Failed(StoreError::Unsupported),
            other => match &mut self.files {
                Some(files) => files.answer(other),
                None if matches!(other, Request::Close { .. }) => Reply::Done,
                None => Reply::Failed(StoreError::Unsupported),
            },
        }
    }
}
