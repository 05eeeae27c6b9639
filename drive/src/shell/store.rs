//! What a conversation asks of a store, which otherwise an engine does.

use super::wire::Broken;
use wetstring_proto::file::{FileInfo, Refusal, Reply, Request, Store};

/// A store that failed, or answered something else.
fn broken(reply: &Reply<'_>, expected: &str) -> Broken {
    match reply {
        Reply::Failed(why) => Broken::Store(why.to_string()),
        _ => Broken::Store(format!("expected {expected} from the store")),
    }
}

/// The next file to send, if there is one.
pub(crate) fn next(store: &mut dyn Store) -> Result<Option<FileInfo<'_>>, Broken> {
    match store.answer(Request::Next) {
        Reply::File(info) => Ok(Some(info)),
        Reply::NoMoreFiles => Ok(None),
        reply => Err(broken(&reply, "a file")),
    }
}

/// Bytes of the file that is sent; how many.
pub(crate) fn read(store: &mut dyn Store, offset: u64, into: &mut [u8]) -> Result<usize, Broken> {
    match store.answer(Request::Read { offset, into }) {
        Reply::Read(len) => Ok(len),
        reply => Err(broken(&reply, "bytes")),
    }
}

/// A place for a file; why it is refused, if it is.
pub(crate) fn offer(store: &mut dyn Store, info: FileInfo<'_>) -> Result<Option<Refusal>, Broken> {
    match store.answer(Request::Offer { info }) {
        Reply::Accept { .. } => Ok(None),
        Reply::Refuse(why) => Ok(Some(why)),
        reply => Err(broken(&reply, "a place")),
    }
}

/// Bytes of the incoming file.
pub(crate) fn write(store: &mut dyn Store, offset: u64, bytes: &[u8]) -> Result<(), Broken> {
    match store.answer(Request::Write { offset, bytes }) {
        Reply::Done => Ok(()),
        reply => Err(broken(&reply, "a written file")),
    }
}

/// The file has ended. An earlier error is reported rather than a failure of closing.
pub(crate) fn close<T>(
    store: &mut dyn Store,
    done: Result<T, Broken>,
    verified: bool,
) -> Result<T, Broken> {
    match store.answer(Request::Close { complete: done.is_ok(), verified }) {
        Reply::Failed(why) => done.and(Err(Broken::Store(why.to_string()))),
        _ => done,
    }
}
