//! The simplest stores: bytes of memory to send, and a function that takes what is received.

use crate::file::{FileInfo, Refusal, Reply, Request, Store, StoreError};

/// Sends one file from memory.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    name: &'a [u8],
    bytes: &'a [u8],
    begun: bool,
}

impl<'a> Outgoing<'a> {
    /// A file of this name with these bytes.
    pub const fn new(name: &'a [u8], bytes: &'a [u8]) -> Self {
        Self { name, bytes, begun: false }
    }
}

impl Store for Outgoing<'_> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Next if core::mem::replace(&mut self.begun, true) => Reply::NoMoreFiles,
            Request::Next => Reply::File(FileInfo {
                name: self.name,
                size: Some(self.bytes.len() as u64),
                ..FileInfo::default()
            }),
            Request::Read { offset, into } => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX);
                let rest = self.bytes.get(from..).unwrap_or_default();
                let len = rest.len().min(into.len());
                into.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
                Reply::Read(len)
            }
            Request::Close { .. } => Reply::Done,
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

/// A part of a file that is received.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// It begins. Its name is the peer's: not yet safe as a path, and empty with XMODEM.
    Begin(FileInfo<'a>),
    /// Its bytes, in order.
    Data(&'a [u8]),
    /// It ends. If it is not complete, what has been received is the beginning of it.
    End {
        /// The whole file has arrived.
        complete: bool,
    },
}

/// Gives the files that are received to a function, which may fail: a file whose beginning fails is refused, and
/// anything else that fails ends the transfer.
#[derive(Debug)]
pub struct Incoming<F> {
    take: F,
    open: bool,
    at: u64,
}

impl<F: FnMut(Piece<'_>) -> Result<(), StoreError>> Incoming<F> {
    /// A store that gives everything to this function.
    pub const fn new(take: F) -> Self {
        Self { take, open: false, at: 0 }
    }

    fn give(&mut self, piece: Piece<'_>) -> Reply<'static> {
        match (self.take)(piece) {
            Ok(()) => Reply::Done,
            Err(error) => Reply::Failed(error),
        }
    }
}

impl<F: FnMut(Piece<'_>) -> Result<(), StoreError>> Store for Incoming<F> {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { info } => {
                if self.open {
                    let _ = self.give(Piece::End { complete: false });
                }
                self.open = true;
                self.at = 0;
                if (self.take)(Piece::Begin(info)).is_ok() {
                    return Reply::Accept { offset: 0 };
                }
                self.open = false;
                Reply::Refuse(Refusal::Declined)
            }
            Request::Write { offset, bytes } if self.open && offset == self.at => {
                self.at += bytes.len() as u64;
                self.give(Piece::Data(bytes))
            }
            Request::Close { complete, .. } => {
                if core::mem::take(&mut self.open) {
                    return self.give(Piece::End { complete });
                }
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}
