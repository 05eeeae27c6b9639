//! Files that come into a bucket: each is an object once it is whole.

use crate::bucket::{Bucket, Share};
use crate::naming::{below, error};
use object_store::path::Path;
use object_store::{
    Error, MultipartUpload, ObjectMeta, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};
use std::io;
use twox_hash::xxhash3_128::Hasher;
use wetstring_drive::disk::names::{confine, next_backup};
use wetstring_drive::disk::{Collision, ReceiveOptions};
use wetstring_proto::file::{DigestKind, FileInfo, Refusal, Reply, Request, Store, StoreError};

/// The shortest part of an object that S3 takes, and the longest that is kept in memory unless
/// the file is known to be longer than [`PARTS`] of them.
const PART: u64 = 5 << 20;
/// Parts of one object; S3 has 10,000.
const PARTS: u64 = 9_000;
/// The longest part: a longer file than 150 GB is not taken.
const MOST_PART: u64 = 16 << 20;
/// Names `NAME.~N~` of one file.
const MOST_BACKUPS: usize = 10_000;
/// Memory that is asked for at a time.
const GROWTH: usize = 256 << 10;
/// Free names that are tried where others take them meanwhile.
const TRIES: usize = 20;

pub(super) struct Receiving {
    bucket: Bucket,
    directory: Path,
    options: ReceiveOptions,
    current: Option<Incoming>,
    /// A write of the current file was refused or failed: it is not whole, whatever follows.
    broken: bool,
}

/// What happens to what has the name already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Placing {
    /// Nothing: the new one gets a name that is free.
    Free,
    Replace,
    /// It gets another name.
    Backup,
}

/// The file that comes.
struct Incoming {
    directory: Path,
    name: Vec<u8>,
    placing: Placing,
    part: usize,
    gathered: Vec<u8>,
    share: Share,
    /// Once more than a part has come.
    upload: Option<(Path, Box<dyn MultipartUpload>)>,
    len: u64,
    hash: Box<Hasher>,
}

impl Receiving {
    pub(super) fn new(bucket: Bucket, directory: Path, options: ReceiveOptions) -> Self {
        Self { bucket, directory, options, current: None, broken: false }
    }

    fn offer(&mut self, info: &FileInfo<'_>) -> io::Result<Reply<'static>> {
        self.abort();
        self.broken = false;
        let told = self.options.name.take();
        let name = told.as_deref().unwrap_or(info.name);
        let Ok(safe) = confine(name, self.options.paths) else {
            return Ok(Reply::Refuse(Refusal::Name));
        };
        let mut directory = self.directory.clone();
        for part in &safe.directories {
            directory = below(&directory, part)?;
        }
        let path = below(&directory, &safe.name)?;
        let existing = self.bucket.head(&path)?;
        if existing.is_none() && info.extras.zmodem().only_if_present {
            return Ok(Reply::Refuse(Refusal::Declined));
        }
        let placing = match self.placing(info, existing.as_ref()) {
            Ok(Placing::Replace) if self.options.keeps => Placing::Free,
            Ok(Placing::Backup) if self.options.stays => Placing::Free,
            Ok(placing) => placing,
            Err(why) => return Ok(Reply::Refuse(why)),
        };
        let part = info.size.map_or(PART, |size| size.div_ceil(PARTS).max(PART));
        if part > MOST_PART {
            return Ok(Reply::Refuse(Refusal::TooLong));
        }
        // Those who are not done yet have the memory.
        let first = info.size.map_or(part, |size| size.min(part)) as usize;
        if !self.bucket.share().grow(first) {
            return Ok(Reply::Refuse(Refusal::Later));
        }
        self.current = Some(Incoming {
            directory,
            name: safe.name,
            placing,
            part: part as usize,
            gathered: Vec::new(),
            share: self.bucket.share(),
            upload: None,
            len: 0,
            hash: Box::new(Hasher::new()),
        });
        Ok(Reply::Accept { offset: 0 })
    }

    /// The date of an object is when it was put there.
    fn placing(
        &self,
        info: &FileInfo<'_>,
        existing: Option<&ObjectMeta>,
    ) -> Result<Placing, Refusal> {
        let Some(existing) = existing else { return Ok(Placing::Free) };
        let newer = info.modified.is_some_and(|date| date > existing.last_modified.timestamp());
        let longer = info.size.is_some_and(|size| size > existing.size);
        match self.options.collision {
            Collision::Rename => Ok(Placing::Free),
            Collision::Replace => Ok(Placing::Replace),
            Collision::Backup => Ok(Placing::Backup),
            Collision::Update if info.modified.is_none() => Ok(Placing::Free),
            Collision::Update if newer => Ok(Placing::Replace),
            Collision::UpdateOrLonger if newer || longer => Ok(Placing::Replace),
            Collision::Update | Collision::UpdateOrLonger => Err(Refusal::NotNewer),
            Collision::Differing if info.size != Some(existing.size) => Ok(Placing::Replace),
            // An object cannot be added to.
            _ => Err(Refusal::Exists),
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<Reply<'static>> {
        let Some(current) = self.current.as_mut().filter(|current| current.len == offset) else {
            return Ok(Reply::Failed(StoreError::Unsupported));
        };
        let room = current.gathered.len() + bytes.len();
        if current.gathered.capacity() < room {
            let wanted = room.next_multiple_of(GROWTH);
            if !current.share.grow(wanted) {
                return Ok(Reply::Failed(StoreError::NoSpace));
            }
            current.gathered.reserve_exact(wanted - current.gathered.len());
        }
        current.hash.write(bytes);
        current.len += bytes.len() as u64;
        current.gathered.extend_from_slice(bytes);
        while current.gathered.len() >= current.part {
            let rest = current.gathered.split_off(current.part);
            let part = std::mem::replace(&mut current.gathered, rest);
            if current.upload.is_none() {
                let path = current.target(&self.bucket)?;
                let upload = self.bucket.wait(self.bucket.store.put_multipart(&path))?;
                current.upload = Some((path, upload));
            }
            if let Some((_, upload)) = &mut current.upload {
                self.bucket.wait(upload.put_part(part.into()))?;
            }
        }
        Ok(Reply::Done)
    }

    fn close(&mut self, complete: bool) -> io::Result<()> {
        if complete && self.broken {
            self.abort();
            return Err(io::Error::other("expected a whole file, a write of it had failed"));
        }
        let Some(mut current) = self.current.take() else { return Ok(()) };
        if !complete {
            self.current = Some(current);
            self.abort();
            return Ok(());
        }
        let payload = PutPayload::from(std::mem::take(&mut current.gathered));
        if let Some((path, mut upload)) = current.upload.take() {
            let whole = current.make_way(&self.bucket).and_then(|()| {
                if current.placing == Placing::Free && self.bucket.head(&path)?.is_some() {
                    // Another upload was faster, and this one cannot be renamed any longer.
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                self.bucket.wait(async {
                    upload.put_part(payload).await?;
                    upload.complete().await
                })
            });
            if whole.is_err() {
                let _ = self.bucket.wait(upload.abort());
            }
            return whole.map(drop);
        }
        current.make_way(&self.bucket)?;
        let free = current.placing == Placing::Free;
        let mode = if free { PutMode::Create } else { PutMode::Overwrite };
        for _ in 0..TRIES {
            let path = current.target(&self.bucket)?;
            let options = PutOptions { mode: mode.clone(), ..PutOptions::default() };
            let put = self.bucket.store.put_opts(&path, payload.clone(), options);
            match self.bucket.runtime.block_on(put) {
                Ok(_) => return Ok(()),
                // Another upload was faster: the next name.
                Err(Error::AlreadyExists { .. }) if free => {}
                Err(other) => return Err(error(other)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// What has come of a file that will not be whole goes.
    fn abort(&mut self) {
        if let Some(current) = self.current.take()
            && let Some((_, mut upload)) = current.upload
        {
            let _ = self.bucket.wait(upload.abort());
        }
    }
}

impl Incoming {
    /// Where it goes: its name, or one that is free.
    fn target(&self, bucket: &Bucket) -> io::Result<Path> {
        let path = below(&self.directory, &self.name)?;
        if self.placing != Placing::Free || bucket.head(&path)?.is_none() {
            return Ok(path);
        }
        self.numbered(bucket)
    }

    /// The next free `NAME.~N~`.
    fn numbered(&self, bucket: &Bucket) -> io::Result<Path> {
        let (mut names, front) = (Vec::new(), [&self.name[..], b".~"].concat());
        bucket.names(&self.directory, &front, &mut |entry| {
            names.push(entry.name);
            if names.len() > MOST_BACKUPS { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        })?;
        let number = next_backup(&self.name, names.iter().map(|name| &name[..]));
        let mut name = self.name.clone();
        name.extend(format!(".~{number}~").bytes());
        below(&self.directory, &name)
    }

    /// What has the name gets another, where it is to be kept.
    fn make_way(&self, bucket: &Bucket) -> io::Result<()> {
        if self.placing != Placing::Backup {
            return Ok(());
        }
        let path = below(&self.directory, &self.name)?;
        if bucket.head(&path)?.is_none() {
            return Ok(());
        }
        let aside = self.numbered(bucket)?;
        bucket.wait(bucket.store.copy(&path, &aside))
    }
}

impl Store for Receiving {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        let done = match request {
            Request::Offer { info } => self.offer(&info),
            Request::Write { offset, bytes } => {
                let done = self.write(offset, bytes);
                self.broken |= !matches!(done, Ok(Reply::Done));
                done
            }
            Request::Close { complete, .. } => self.close(complete).map(|()| Reply::Done),
            Request::Digest { kind: DigestKind::Xxh3, len } => {
                let whole = self.current.as_ref().filter(|current| current.len == len);
                Ok(whole.map_or(Reply::Failed(StoreError::Unsupported), |current| {
                    let mut digest = [0; 32];
                    digest[..16].copy_from_slice(&current.hash.finish_128().to_be_bytes());
                    Reply::Digest(digest)
                }))
            }
            _ => Ok(Reply::Failed(StoreError::Unsupported)),
        };
        done.unwrap_or_else(|error| {
            self.abort();
            Reply::Failed(match error.kind() {
                io::ErrorKind::PermissionDenied => StoreError::Permission,
                io::ErrorKind::NotFound => StoreError::NotFound,
                io::ErrorKind::StorageFull => StoreError::NoSpace,
                _ => StoreError::Io,
            })
        })
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.abort();
    }
}
