//! The files of a server in the laboratory: one directory in memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wetstring_drive::disk::{NotDeleted, ReceiveOptions};
use wetstring_drive::serve::tree::{Found, Room, Step};
use wetstring_drive::serve::{Content, Entry, Tree};
use wetstring_proto::{Reply, Request, Store, StoreError};

type Files = BTreeMap<Vec<u8>, Arc<Vec<u8>>>;

/// A flat directory. A received file replaces one of the same name.
#[derive(Clone, Default)]
pub(super) struct MemoryFiles(Arc<Mutex<Files>>);

/// Total capacity in bytes.
const MOST: usize = 1 << 30;

impl MemoryFiles {
    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, place: &[Vec<u8>]) -> io::Result<(Vec<u8>, Arc<Vec<u8>>)> {
        let [name] = place else { return Err(io::ErrorKind::NotFound.into()) };
        let bytes = self.files().get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok((name.clone(), bytes))
    }
}

fn entry(name: &[u8], size: usize, is_directory: bool) -> Entry {
    Entry { name: name.to_vec(), is_directory, size: size as u64, modified: None, mode: None }
}

struct OpenFile {
    shelf: MemoryFiles,
    name: Vec<u8>,
    bytes: Arc<Vec<u8>>,
}

impl Content for OpenFile {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..));
        let rest = rest.unwrap_or_default();
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn delete(&mut self) -> Result<(), NotDeleted> {
        let mut files = self.shelf.files();
        if !files.get(&self.name).is_some_and(|bytes| Arc::ptr_eq(bytes, &self.bytes)) {
            return Err(NotDeleted::Changed);
        }
        files.remove(&self.name);
        Ok(())
    }
}

/// Receives files into memory.
struct IncomingFiles {
    shelf: MemoryFiles,
    name: Vec<u8>,
    bytes: Vec<u8>,
}

impl Store for IncomingFiles {
    fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
        match request {
            Request::Offer { info } => {
                self.name = info.name.to_vec();
                self.bytes.clear();
                Reply::Accept { offset: 0 }
            }
            Request::Write { offset, bytes } => {
                if offset != self.bytes.len() as u64 || self.bytes.len() + bytes.len() > MOST {
                    return Reply::Failed(StoreError::NoSpace);
                }
                self.bytes.extend_from_slice(bytes);
                Reply::Done
            }
            Request::Close { complete, .. } => {
                let bytes = std::mem::take(&mut self.bytes);
                if complete {
                    self.shelf.files().insert(self.name.clone(), Arc::new(bytes));
                }
                Reply::Done
            }
            _ => Reply::Failed(StoreError::Unsupported),
        }
    }
}

impl Tree for MemoryFiles {
    fn entry(&self, place: &[Vec<u8>]) -> io::Result<Entry> {
        if place.is_empty() {
            return Ok(entry(b"", 0, true));
        }
        self.file(place).map(|(name, bytes)| entry(&name, bytes.len(), false))
    }

    fn names(&self, place: &[Vec<u8>], found: &mut Found<'_>) -> io::Result<()> {
        if !place.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let names: Vec<Vec<u8>> = self.files().keys().cloned().collect();
        names.iter().try_for_each(|name| found(name, false))
    }

    fn open(&self, place: &[Vec<u8>]) -> io::Result<(Entry, Box<dyn Content>)> {
        let (name, bytes) = self.file(place)?;
        let found = entry(&name, bytes.len(), false);
        Ok((found, Box::new(OpenFile { shelf: self.clone(), name, bytes })))
    }

    fn receive(
        &self,
        _place: &[Vec<u8>],
        _options: ReceiveOptions,
    ) -> io::Result<Box<dyn Store + Send>> {
        Ok(Box::new(IncomingFiles { shelf: self.clone(), name: Vec::new(), bytes: Vec::new() }))
    }

    fn remove(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let (name, _) = self.file(place)?;
        self.files().remove(&name);
        Ok(())
    }

    fn rename(&self, from: &[Vec<u8>], to: &[Vec<u8>], step: &mut Step<'_>) -> io::Result<()> {
        self.copy(from, to, step)?;
        self.remove(from)
    }

    fn copy(&self, from: &[Vec<u8>], to: &[Vec<u8>], _: &mut Step<'_>) -> io::Result<()> {
        let (_, bytes) = self.file(from)?;
        let [name] = to else { return Err(io::ErrorKind::NotFound.into()) };
        self.files().insert(name.clone(), bytes);
        Ok(())
    }

    fn make_directory(&self, _place: &[Vec<u8>]) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn remove_directory(&self, _place: &[Vec<u8>]) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn room(&self) -> io::Result<Option<Room>> {
        Ok(None)
    }
}
