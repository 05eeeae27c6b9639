//! A server's files in object storage: S3 and what speaks like it, Google, Azure, memory.
//!
//! [`ObjectTree`] is a [`Tree`] below a prefix of a bucket. It keeps nothing of its own, so that any
//! number of servers may share one bucket. An object appears when it is whole, so there are no
//! `.part` files, and what was cut short is gone: nothing is resumed into a bucket.
//!
//! Object stores have no directories. Here a prefix with something below it is one, and an empty
//! one is kept by an object called [`MARKER`].
//!
//! Which account, endpoint and region: from the environment, as the vendors' own tools have it
//! (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`...).

#![forbid(unsafe_code)]

mod receiving;

use futures_util::StreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::memory::InMemory;
use object_store::path::{Path, PathPart};
use object_store::{
    Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig,
};
use percent_encoding::percent_decode_str;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use wetstring_drive::disk::{NotDeleted, ReceiveOptions};
use wetstring_drive::serve::tree::{Found, Step};
use wetstring_drive::serve::{Content, Entry, Room, Tree};
use wetstring_proto::file::Store;

/// The object that keeps an empty directory.
pub const MARKER: &str = ".wetstring-directory";
/// Bytes of an object that are fetched at a time.
const AHEAD: u64 = 1 << 20;
/// How long one request may be tried again.
const PATIENCE: Duration = Duration::from_secs(20);
const RETRIES: usize = 4;

/// The bucket, and the threads that wait for it.
#[derive(Clone)]
struct Bucket {
    store: Arc<dyn ObjectStore>,
    runtime: Arc<Runtime>,
}

/// Files below a prefix of a bucket.
pub struct ObjectTree {
    bucket: Bucket,
    root: Path,
    url: String,
}

impl std::fmt::Debug for ObjectTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectTree").field("url", &self.url).finish_non_exhaustive()
    }
}

/// What an error of the store is to a person at the server.
fn error(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => ErrorKind::NotFound,
        Error::AlreadyExists { .. } => ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            ErrorKind::PermissionDenied
        }
        Error::InvalidPath { .. } => ErrorKind::InvalidInput,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

impl Bucket {
    /// Waits for an answer of the store.
    fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> io::Result<T> {
        self.runtime.block_on(answer).map_err(error)
    }

    /// What an object is; `None` if there is none.
    fn head(&self, path: &Path) -> io::Result<Option<ObjectMeta>> {
        match self.runtime.block_on(self.store.head(path)) {
            Ok(meta) => Ok(Some(meta)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(other) => Err(error(other)),
        }
    }

    /// Whether anything is below a prefix, a marker too.
    fn has_below(&self, path: &Path) -> io::Result<bool> {
        let mut below = self.store.list(Some(path));
        let first = self.runtime.block_on(below.next());
        first.transpose().map(|first| first.is_some()).map_err(error)
    }

    /// Objects and directories of a directory, by their names.
    fn names(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let found = self.wait(self.store.list_with_delimiter(Some(path)))?;
        let files = found.objects.iter().map(|meta| (&meta.location, Some(meta)));
        let directories = found.common_prefixes.iter().map(|path| (path, None));
        Ok(files.chain(directories).filter_map(|(path, meta)| entry(path, meta)).collect())
    }
}

/// An object or a prefix as an entry of its directory.
fn entry(path: &Path, meta: Option<&ObjectMeta>) -> Option<Entry> {
    let name = percent_decode_str(path.filename()?).collect();
    Some(Entry {
        name,
        is_directory: meta.is_none(),
        size: meta.map_or(0, |meta| meta.size),
        modified: meta.map(|meta| meta.last_modified.timestamp()),
        mode: None,
    })
}

/// The path of a name below another.
fn below(path: &Path, name: &[u8]) -> io::Result<Path> {
    let name = std::str::from_utf8(name).map_err(|_| {
        io::Error::new(ErrorKind::InvalidInput, "expected a name in UTF-8 for an object")
    })?;
    if name.is_empty() || name == MARKER {
        return Err(ErrorKind::InvalidInput.into());
    }
    Ok(path.clone().join(PathPart::from(name)))
}

impl ObjectTree {
    /// Whether a root is the address of an object store: `s3://bucket/prefix`, `gs://`, `az://`,
    /// `memory:`.
    pub fn is_address(root: &str) -> bool {
        ["s3://", "s3a://", "gs://", "az://", "azure://", "abfs://", "abfss://", "memory:"]
            .iter()
            .any(|scheme| root.starts_with(scheme))
    }

    /// The files below such an address, which is asked whether it is there.
    pub fn open(address: &str) -> io::Result<Self> {
        // Another part of the program may have chosen one before; they are all the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let retry =
            RetryConfig { max_retries: RETRIES, retry_timeout: PATIENCE, ..RetryConfig::default() };
        let (scheme, rest) = address.split_once(':').unwrap_or_default();
        let store: Arc<dyn ObjectStore> = match scheme {
            "memory" => Arc::new(InMemory::new()),
            "s3" | "s3a" => Arc::new(
                AmazonS3Builder::from_env()
                    .with_url(address)
                    .with_retry(retry)
                    .build()
                    .map_err(error)?,
            ),
            "gs" => Arc::new(
                GoogleCloudStorageBuilder::from_env()
                    .with_url(address)
                    .with_retry(retry)
                    .build()
                    .map_err(error)?,
            ),
            _ => Arc::new(
                MicrosoftAzureBuilder::from_env()
                    .with_url(address)
                    .with_retry(retry)
                    .build()
                    .map_err(error)?,
            ),
        };
        // Behind the bucket's name.
        let rest = rest.trim_start_matches('/');
        let prefix =
            if scheme == "memory" { rest } else { rest.split_once('/').map_or("", |r| r.1) };
        let root = Path::parse(prefix.trim_matches('/'))
            .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("objects")
            .enable_all()
            .build()?;
        let bucket = Bucket { store, runtime: Arc::new(runtime) };
        bucket.has_below(&root)?;
        Ok(Self { bucket, root, url: address.to_owned() })
    }

    /// Where it is.
    pub fn address(&self) -> &str {
        &self.url
    }

    fn path(&self, place: &[Vec<u8>]) -> io::Result<Path> {
        place.iter().try_fold(self.root.clone(), |path, part| below(&path, part))
    }

    /// The path of a place that is not the root.
    fn inside(&self, place: &[Vec<u8>]) -> io::Result<Path> {
        if place.is_empty() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        self.path(place)
    }

    fn is_directory(&self, path: &Path) -> io::Result<bool> {
        Ok(*path == self.root || self.bucket.has_below(path)?)
    }

    /// A name that nothing has yet.
    fn free(&self, place: &[Vec<u8>]) -> io::Result<Path> {
        let path = self.inside(place)?;
        if self.bucket.head(&path)?.is_some() || self.bucket.has_below(&path)? {
            return Err(ErrorKind::AlreadyExists.into());
        }
        Ok(path)
    }

    /// The same object or everything below the same prefix under another name; what was copied.
    fn copy_all(&self, from: &[Vec<u8>], to: &[Vec<u8>]) -> io::Result<Vec<Path>> {
        let (old, new) = (self.inside(from)?, self.free(to)?);
        let store = &self.bucket.store;
        if self.bucket.head(&old)?.is_some() {
            self.bucket.wait(store.copy(&old, &new))?;
            return Ok(vec![old]);
        }
        if to.starts_with(from) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a directory into itself"));
        }
        let all = self.bucket.runtime.block_on(store.list(Some(&old)).collect::<Vec<_>>());
        let mut copied = Vec::new();
        for meta in all {
            let path = meta.map_err(error)?.location;
            let Some(rest) = path.prefix_match(&old) else { continue };
            let target = rest.fold(new.clone(), Path::join);
            self.bucket.wait(store.copy(&path, &target))?;
            copied.push(path);
        }
        if copied.is_empty() { Err(ErrorKind::NotFound.into()) } else { Ok(copied) }
    }
}

impl Tree for ObjectTree {
    fn entry(&self, place: &[Vec<u8>]) -> io::Result<Entry> {
        let path = self.path(place)?;
        if let Some(meta) = self
            .bucket
            .head(&path)
            .or_else(|error| if place.is_empty() { Ok(None) } else { Err(error) })?
        {
            return entry(&path, Some(&meta)).ok_or_else(|| ErrorKind::NotFound.into());
        }
        if !self.is_directory(&path)? {
            return Err(ErrorKind::NotFound.into());
        }
        let name = place.last().cloned().unwrap_or_default();
        Ok(Entry { name, is_directory: true, size: 0, modified: None, mode: None })
    }

    fn names(&self, place: &[Vec<u8>], found: &mut Found<'_>) -> io::Result<()> {
        let path = self.path(place)?;
        let mut entries = self.bucket.names(&path)?;
        if entries.is_empty() && !place.is_empty() {
            return Err(ErrorKind::NotFound.into());
        }
        entries.retain(|entry| entry.name != MARKER.as_bytes());
        entries.iter().try_for_each(|entry| found(&entry.name, entry.is_directory))
    }

    fn open(&self, place: &[Vec<u8>]) -> io::Result<(Entry, Box<dyn Content>)> {
        let path = self.inside(place)?;
        let meta = self.bucket.head(&path)?.ok_or(ErrorKind::NotFound)?;
        let found = entry(&path, Some(&meta)).ok_or(ErrorKind::NotFound)?;
        let bucket = self.bucket.clone();
        Ok((found, Box::new(Object { bucket, meta, ahead: Vec::new(), from: 0 })))
    }

    fn receive(
        &self,
        place: &[Vec<u8>],
        options: ReceiveOptions,
    ) -> io::Result<Box<dyn Store + Send>> {
        let directory = self.path(place)?;
        Ok(Box::new(receiving::Receiving::new(self.bucket.clone(), directory, options)))
    }

    fn remove(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let path = self.inside(place)?;
        // To delete what is not there is no error in S3, and one here.
        self.bucket.head(&path)?.ok_or(ErrorKind::NotFound)?;
        self.bucket.wait(self.bucket.store.delete(&path))
    }

    fn rename(&self, from: &[Vec<u8>], to: &[Vec<u8>]) -> io::Result<()> {
        for old in self.copy_all(from, to)? {
            self.bucket.wait(self.bucket.store.delete(&old))?;
        }
        Ok(())
    }

    fn copy(&self, from: &[Vec<u8>], to: &[Vec<u8>], _: &mut Step<'_>) -> io::Result<()> {
        let old = self.inside(from)?;
        self.bucket.head(&old)?.ok_or(ErrorKind::NotFound)?;
        self.copy_all(from, to).map(drop)
    }

    fn make_directory(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let path = self.free(place)?.join(MARKER);
        self.bucket.wait(self.bucket.store.put(&path, Vec::new().into())).map(drop)
    }

    fn remove_directory(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let path = self.inside(place)?;
        let entries = self.bucket.names(&path)?;
        match &entries[..] {
            [] => Err(ErrorKind::NotFound.into()),
            [only] if only.name == MARKER.as_bytes() => {
                self.bucket.wait(self.bucket.store.delete(&path.join(MARKER)))
            }
            _ => Err(ErrorKind::DirectoryNotEmpty.into()),
        }
    }

    fn room(&self) -> io::Result<Option<Room>> {
        // There is always more, for money.
        Ok(None)
    }
}

/// An object that is being read: as it was when it was opened.
struct Object {
    bucket: Bucket,
    meta: ObjectMeta,
    /// Bytes of it from `from` on.
    ahead: Vec<u8>,
    from: u64,
}

impl Content for Object {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        if offset >= self.meta.size {
            return Ok(0);
        }
        let end = self.from + self.ahead.len() as u64;
        if !(self.from..end).contains(&offset) {
            let range = offset..(offset + AHEAD).min(self.meta.size);
            let options = GetOptions {
                range: Some(GetRange::Bounded(range)),
                // Another object of the same name is none to go on with.
                if_match: self.meta.e_tag.clone(),
                ..GetOptions::default()
            };
            let store = &self.bucket.store;
            let path = &self.meta.location;
            let bytes =
                self.bucket.wait(async { store.get_opts(path, options).await?.bytes().await })?;
            (self.ahead, self.from) = (bytes.into(), offset);
        }
        let here = &self.ahead[(offset - self.from) as usize..];
        let len = here.len().min(into.len());
        into[..len].copy_from_slice(&here[..len]);
        Ok(len)
    }

    fn changed(&mut self) -> bool {
        self.stands().is_ok_and(|stands| !stands)
    }

    /// No store deletes on a condition: an object that is put between the look and the deletion is lost.
    fn delete(&mut self) -> Result<(), NotDeleted> {
        if !self.stands()? {
            return Err(NotDeleted::Changed);
        }
        Ok(self.bucket.wait(self.bucket.store.delete(&self.meta.location))?)
    }
}

impl Object {
    /// Whether the object of this name is the one that was opened.
    fn stands(&self) -> io::Result<bool> {
        let now = self.bucket.head(&self.meta.location)?;
        let state = |meta: &ObjectMeta| {
            (meta.size, meta.e_tag.clone(), meta.version.clone(), meta.last_modified)
        };
        Ok(now.is_some_and(|now| state(&now) == state(&self.meta)))
    }
}
