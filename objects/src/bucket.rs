//! The bucket, and the threads that wait for it.

use crate::naming::{entry, error};
use futures_util::StreamExt;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::{DELIMITER, Path, PathPart};
use object_store::{Error, ListResult, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;
use wetstring_drive::serve::Entry;
use wetstring_drive::serve::tree::Step;

/// How long the end of a session may go unnoticed.
const GLANCE: Duration = Duration::from_millis(100);
/// Bytes that all uploads, and those who read, keep in memory together.
const MOST_GATHERED: usize = 128 << 20;
/// Who reads leaves the rest to uploads, which cannot do with less.
const MOST_AHEAD: usize = 32 << 20;

#[derive(Clone)]
pub(super) struct Bucket {
    pub(super) store: Arc<dyn ObjectStore>,
    /// The same, where it lists page by page.
    pages: Option<Arc<dyn PaginatedListStore>>,
    pub(super) runtime: Arc<Runtime>,
    /// What uploads keep in memory.
    gathered: Arc<AtomicUsize>,
}

/// Memory that an upload, or one who reads, has of what there is for all.
pub(super) struct Share {
    of: Arc<AtomicUsize>,
    bytes: usize,
}

impl Share {
    /// Grows to at least this many bytes; false if there are not that many.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        self.grow_within(bytes, MOST_GATHERED)
    }

    /// The same for one who reads.
    pub(super) fn grow_to_read(&mut self, bytes: usize) -> bool {
        self.grow_within(bytes, MOST_AHEAD)
    }

    fn grow_within(&mut self, bytes: usize, most: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let add = |all: usize| all.checked_add(more).filter(|all| more == 0 || *all <= most);
        let grown = self.of.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok();
        self.bytes += if grown { more } else { 0 };
        grown
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Bucket {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        pages: Option<Arc<dyn PaginatedListStore>>,
        runtime: Runtime,
    ) -> Self {
        Self { store, pages, runtime: Arc::new(runtime), gathered: Arc::default() }
    }

    /// Memory for an upload, or for one who reads; nothing yet.
    pub(super) fn share(&self) -> Share {
        Share { of: self.gathered.clone(), bytes: 0 }
    }

    /// Waits for an answer of the store.
    pub(super) fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> io::Result<T> {
        self.runtime.block_on(answer).map_err(error)
    }

    /// The same, unless `step` ends it.
    pub(super) fn heeding<T>(
        &self,
        answer: impl Future<Output = Result<T, Error>>,
        step: &mut Step<'_>,
    ) -> io::Result<T> {
        self.runtime.block_on(async {
            let mut answer = pin!(answer);
            loop {
                match tokio::time::timeout(GLANCE, answer.as_mut()).await {
                    Ok(done) => return done.map_err(error),
                    Err(_) => step(0)?,
                }
            }
        })
    }

    /// What an object is; `None` if there is none.
    pub(super) fn head(&self, path: &Path) -> io::Result<Option<ObjectMeta>> {
        match self.runtime.block_on(self.store.head(path)) {
            Ok(meta) => Ok(Some(meta)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(other) => Err(error(other)),
        }
    }

    /// Whether anything is below a prefix, a marker too.
    pub(super) fn has_below(&self, path: &Path) -> io::Result<bool> {
        if let Some(pages) = self.pages.as_ref().filter(|_| !path.as_ref().is_empty()) {
            // One may be an object of the prefix's own name.
            let options = PaginatedListOptions { max_keys: Some(2), ..Default::default() };
            let prefix = format!("{path}{DELIMITER}");
            let page = self.wait(pages.list_paginated(Some(&prefix), options))?;
            return Ok(!page.result.objects.is_empty() || page.page_token.is_some());
        }
        let mut below = self.store.list(Some(path));
        let first = self.runtime.block_on(below.next());
        first.transpose().map(|first| first.is_some()).map_err(error)
    }

    /// Tells every object below a prefix, as deep as it goes.
    pub(super) fn below(
        &self,
        path: &Path,
        step: &mut Step<'_>,
        found: &mut dyn FnMut(ObjectMeta) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut below = self.store.list(Some(path));
        while let Some(meta) = self.heeding(async { below.next().await.transpose() }, step)? {
            step(0)?;
            found(meta)?;
        }
        Ok(())
    }

    /// Tells objects and directories of a directory whose names begin with `front`, page by page, until that is
    /// answered with an error.
    pub(super) fn names(
        &self,
        path: &Path,
        front: &[u8],
        found: &mut dyn FnMut(Entry) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut tell = |result: ListResult| {
            let files = result.objects.iter().map(|meta| (&meta.location, Some(meta)));
            let directories = result.common_prefixes.iter().map(|path| (path, None));
            let all = files.chain(directories).filter_map(|(path, meta)| entry(path, meta));
            all.filter(|entry| entry.name.starts_with(front)).try_for_each(&mut *found)
        };
        let Some(pages) = &self.pages else {
            return tell(self.wait(self.store.list_with_delimiter(Some(path)))?);
        };
        let mut prefix = path.to_string();
        if !prefix.is_empty() {
            prefix.push_str(DELIMITER);
        }
        if let Ok(front) = std::str::from_utf8(front) {
            prefix.push_str(PathPart::from(front).as_ref());
        }
        let mut token = None;
        loop {
            let options = PaginatedListOptions {
                delimiter: Some(DELIMITER.into()),
                page_token: token,
                ..PaginatedListOptions::default()
            };
            let page = self.wait(pages.list_paginated(Some(&prefix), options))?;
            tell(page.result)?;
            token = page.page_token;
            if token.is_none() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    #[test]
    fn readers_leave_memory_to_uploads() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let bucket = Bucket::new(Arc::new(InMemory::new()), None, runtime);
        let piece = 1 << 20;
        let mut readers: Vec<Share> = (0..256).map(|_| bucket.share()).collect();
        let had =
            readers.iter_mut().filter_map(|one| one.grow_to_read(piece).then_some(())).count();
        assert_eq!(had, MOST_AHEAD / piece);
        // A holder keeps its memory and requests no more.
        assert!(readers[0].grow_to_read(piece));
        let mut upload = bucket.share();
        assert!(upload.grow(MOST_GATHERED - MOST_AHEAD));
        assert!(!bucket.share().grow(1));
        drop(readers);
        assert!(upload.grow(MOST_GATHERED));
        drop(upload);
        assert!(bucket.share().grow_to_read(piece));
    }
}
