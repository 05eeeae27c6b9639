//! The tree: what a server asks of a bucket, and how objects look like files.

use crate::bucket::{Bucket, Share};
use crate::naming::{MARKER, below, entry, error};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::list::PaginatedListStore;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use wetstring_drive::disk::{NotDeleted, ReceiveOptions};
use wetstring_drive::serve::tree::{Found, Step};
use wetstring_drive::serve::{Content, Entry, Room, Tree};
use wetstring_proto::file::Store;

/// What the names of the objects may take that are moved with their directory.
const MOST_MOVED: usize = 1 << 20;
/// What a name takes beside its bytes.
const PER_NAME: usize = 32;
/// Bytes of an object that are fetched at a time, and how many where there is no memory for that.
const AHEAD: u64 = 1 << 20;
const AHEAD_AT_LEAST: u64 = 64 << 10;
/// How long one request may be tried again.
const PATIENCE: Duration = Duration::from_secs(20);
const RETRIES: usize = 4;

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

/// A store that also lists page by page.
fn paged(
    store: impl ObjectStore + PaginatedListStore,
) -> (Arc<dyn ObjectStore>, Option<Arc<dyn PaginatedListStore>>) {
    let store = Arc::new(store);
    (store.clone(), Some(store))
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
        let (store, pages) = match scheme {
            "memory" => (Arc::new(InMemory::new()) as _, None),
            "s3" | "s3a" => paged(
                AmazonS3Builder::from_env()
                    .with_url(address)
                    .with_retry(retry)
                    .build()
                    .map_err(error)?,
            ),
            "gs" => paged(
                GoogleCloudStorageBuilder::from_env()
                    .with_url(address)
                    .with_retry(retry)
                    .build()
                    .map_err(error)?,
            ),
            _ => paged(
                MicrosoftAzureBuilder::from_env()
                    .with_url(address)
                    .with_retry(retry)
                    .build()
                    .map_err(error)?,
            ),
        };
        // After the bucket's name.
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
        let bucket = Bucket::new(store, pages, runtime);
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

    /// An object, or everything below a prefix, and how long each is.
    fn all(&self, path: &Path, step: &mut Step<'_>) -> io::Result<Vec<(Path, u64)>> {
        if let Some(meta) = self.bucket.head(path)? {
            return Ok(vec![(meta.location, meta.size)]);
        }
        let (mut all, mut bytes) = (Vec::new(), 0);
        self.bucket.below(path, step, &mut |meta| {
            bytes += meta.location.as_ref().len() + PER_NAME;
            if bytes > MOST_MOVED {
                return Err(ErrorKind::ArgumentListTooLong.into());
            }
            all.push((meta.location, meta.size));
            Ok(())
        })?;
        if all.is_empty() { Err(ErrorKind::NotFound.into()) } else { Ok(all) }
    }

    /// The same object or everything below the same prefix under another name; what was copied. If it ends
    /// early, nothing is under the other name.
    fn copy_all(
        &self,
        from: &[Vec<u8>],
        to: &[Vec<u8>],
        step: &mut Step<'_>,
    ) -> io::Result<Vec<Path>> {
        let (old, new) = (self.inside(from)?, self.free(to)?);
        if to.starts_with(from) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "a directory into itself"));
        }
        let (mut copied, mut made) = (Vec::new(), Vec::new());
        let done = self.all(&old, step)?.into_iter().try_for_each(|(path, size)| {
            let Some(rest) = path.prefix_match(&old) else { return Ok(()) };
            let target = rest.fold(new.clone(), Path::join);
            step(size)?;
            made.push(target.clone());
            self.bucket.heeding(self.bucket.store.copy(&path, &target), step)?;
            copied.push(path);
            Ok(())
        });
        if done.is_err() {
            for path in made {
                let _ = self.bucket.wait(self.bucket.store.delete(&path));
            }
        }
        done.map(|()| copied)
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
        let mut any = place.is_empty();
        self.bucket.names(&path, b"", &mut |entry| {
            any = true;
            if entry.name == MARKER.as_bytes() {
                return Ok(());
            }
            found(&entry.name, entry.is_directory)
        })?;
        if any { Ok(()) } else { Err(ErrorKind::NotFound.into()) }
    }

    fn open(&self, place: &[Vec<u8>]) -> io::Result<(Entry, Box<dyn Content>)> {
        let path = self.inside(place)?;
        let meta = self.bucket.head(&path)?.ok_or(ErrorKind::NotFound)?;
        let found = entry(&path, Some(&meta)).ok_or(ErrorKind::NotFound)?;
        let bucket = self.bucket.clone();
        let share = bucket.share();
        Ok((found, Box::new(Object { bucket, meta, share, ahead: Vec::new(), from: 0 })))
    }

    fn receive(
        &self,
        place: &[Vec<u8>],
        options: ReceiveOptions,
    ) -> io::Result<Box<dyn Store + Send>> {
        let directory = self.path(place)?;
        Ok(Box::new(crate::receiving::Receiving::new(self.bucket.clone(), directory, options)))
    }

    fn remove(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let path = self.inside(place)?;
        // To delete what is not there is no error in S3, and one here.
        self.bucket.head(&path)?.ok_or(ErrorKind::NotFound)?;
        self.bucket.wait(self.bucket.store.delete(&path))
    }

    /// What is stopped after the copying leaves a part under both names: nothing is lost.
    fn rename(&self, from: &[Vec<u8>], to: &[Vec<u8>], step: &mut Step<'_>) -> io::Result<()> {
        for old in self.copy_all(from, to, step)? {
            step(0)?;
            self.bucket.wait(self.bucket.store.delete(&old))?;
        }
        Ok(())
    }

    fn copy(&self, from: &[Vec<u8>], to: &[Vec<u8>], step: &mut Step<'_>) -> io::Result<()> {
        let old = self.inside(from)?;
        self.bucket.head(&old)?.ok_or(ErrorKind::NotFound)?;
        self.copy_all(from, to, step).map(drop)
    }

    fn make_directory(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let path = self.free(place)?.join(MARKER);
        self.bucket.wait(self.bucket.store.put(&path, Vec::new().into())).map(drop)
    }

    fn remove_directory(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let path = self.inside(place)?;
        let mut any = false;
        self.bucket.names(&path, b"", &mut |entry| {
            any = true;
            let marks = entry.name == MARKER.as_bytes();
            if marks { Ok(()) } else { Err(ErrorKind::DirectoryNotEmpty.into()) }
        })?;
        if !any {
            return Err(ErrorKind::NotFound.into());
        }
        self.bucket.wait(self.bucket.store.delete(&path.join(MARKER)))
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
    /// Memory for the bytes ahead.
    share: Share,
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
            // What is longer than a piece of the shortest kind asks for memory.
            let rest = self.meta.size - offset;
            let much = rest <= AHEAD_AT_LEAST || self.share.grow_to_read(rest.min(AHEAD) as usize);
            let ahead = if much { AHEAD } else { AHEAD_AT_LEAST };
            let range = offset..offset + rest.min(ahead);
            // Not both pieces at once.
            self.ahead = Vec::new();
            let options = GetOptions {
                range: Some(GetRange::Bounded(range)),
                // Another object of the same name cannot be resumed.
                if_match: self.meta.e_tag.clone(),
                ..GetOptions::default()
            };
            let store = &self.bucket.store;
            let path = &self.meta.location;
            let bytes =
                self.bucket.wait(async { store.get_opts(path, options).await?.bytes().await })?;
            self.ahead = bytes.into();
            self.from = offset;
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
