//! A directory of this machine, and nothing outside it.

use super::tree::{Content, Entry, Found, Handle, Room, Step, Tree};
use crate::disk::source::{Opened, delete_in};
use crate::disk::{DiskStore, NotDeleted, ReceiveOptions, part, place};
use crate::os::fd::{AsFd, OwnedFd};
use crate::os::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, fstatvfs, mkdirat, mode_of, unlinkat,
};
use std::io;
use std::path::{Path, PathBuf};
use wetstring_proto::file::Store;

/// Bytes copied at a time.
const COPY: usize = 64 * 1024;

/// The files of a directory. It is opened once; moving or replacing it later changes nothing.
#[derive(Debug)]
pub struct LocalTree {
    root: OwnedFd,
    path: PathBuf,
}

impl LocalTree {
    /// The tree below an existing directory.
    pub fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = root.canonicalize()?;
        Ok(Self { root: crate::os::fs::open(&path, flags, Mode::empty())?, path })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn directory(&self, place: &[Vec<u8>]) -> io::Result<OwnedFd> {
        let mut at = self.root.try_clone()?;
        for part in place {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            at = place::open_in(&at, part, flags, Mode::empty())?;
        }
        Ok(at)
    }

    /// The directory of a place, and the place's name in it.
    fn parent<'p>(&self, place: &'p [Vec<u8>]) -> io::Result<(OwnedFd, &'p [u8])> {
        let (name, above) = place.split_last().ok_or(io::ErrorKind::PermissionDenied)?;
        if matches!(&name[..], b"" | b"." | b"..") || name.iter().any(|b| matches!(b, b'/' | 0)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok((self.directory(above)?, name))
    }
}

fn entry(name: &[u8], stat: &Stat) -> Entry {
    Entry {
        name: name.to_vec(),
        is_directory: place::kind(stat) == FileType::Directory,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: Some(stat.st_mtime),
        mode: Some(mode_of(stat) & 0o777),
    }
}

/// Fails for a file that another session is receiving: it must not be removed.
fn not_busy(directory: &OwnedFd, name: &[u8]) -> io::Result<()> {
    if part::is_busy(directory, name) {
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, "it is being received"));
    }
    Ok(())
}

impl Tree for LocalTree {
    fn entry(&self, place: &[Vec<u8>]) -> io::Result<Entry> {
        if place.is_empty() {
            return Ok(entry(b"", &fstat(&self.root)?));
        }
        let (above, name) = self.parent(place)?;
        let stat = place::look(above, name)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(entry(name, &stat))
    }

    fn names(&self, place: &[Vec<u8>], each: &mut Found<'_>) -> io::Result<()> {
        let at = self.directory(place)?;
        for found in Dir::read_from(&at)? {
            let found = found?;
            let name = found.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let kind = match found.file_type() {
                FileType::Unknown => {
                    let Some(stat) = place::look(&at, name)? else { continue };
                    place::kind(&stat)
                }
                kind => kind,
            };
            // Pipes, devices, sockets and links are not offered to clients.
            if matches!(kind, FileType::RegularFile | FileType::Directory) {
                each(name, kind == FileType::Directory)?;
            }
        }
        Ok(())
    }

    fn open(&self, place: &[Vec<u8>]) -> io::Result<(Entry, Box<dyn Content>)> {
        let (above, name) = self.parent(place)?;
        let file = place::open_in(&above, name, OFlags::RDONLY, Mode::empty())?;
        let stat = fstat(&file)?;
        if place::kind(&stat) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let (opened, found) = (Opened::plain(&stat), entry(name, &stat));
        Ok((found, Box::new(LocalFile { file, opened, above, name: name.to_vec() })))
    }

    fn receive(
        &self,
        place: &[Vec<u8>],
        options: ReceiveOptions,
    ) -> io::Result<Box<dyn Store + Send>> {
        let at = self.directory(place)?;
        let mut path = self.path.clone();
        for part in place {
            path.push(place::os(part));
        }
        Ok(Box::new(DiskStore::receiving_in(at, &path, options)))
    }

    fn remove(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let (above, name) = self.parent(place)?;
        not_busy(&above, name)?;
        Ok(place::remove(above, name)?)
    }

    fn rename(&self, from: &[Vec<u8>], to: &[Vec<u8>], _: &mut Step<'_>) -> io::Result<()> {
        let ((here, name), (there, new)) = (self.parent(from)?, self.parent(to)?);
        not_busy(&here, name)?;
        Ok(place::move_new(here, name, there, new)?)
    }

    fn copy(&self, from: &[Vec<u8>], to: &[Vec<u8>], step: &mut Step<'_>) -> io::Result<()> {
        let (what, mut content) = self.open(from)?;
        let (above, name) = self.parent(to)?;
        let (mut buffer, mut offset) = (vec![0; COPY], 0);
        part::whole(&above, name, what.mode.unwrap_or(0o666), |to| {
            loop {
                let len = content.read(offset, &mut buffer)?;
                step(len as u64)?;
                if len == 0 {
                    return Ok(());
                }
                io::Write::write_all(to, &buffer[..len])?;
                offset += len as u64;
            }
        })
    }

    fn make_directory(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let (above, name) = self.parent(place)?;
        Ok(mkdirat(above, place::os(name), Mode::from_raw_mode(0o777))?)
    }

    fn remove_directory(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let (above, name) = self.parent(place)?;
        Ok(unlinkat(above, place::os(name), AtFlags::REMOVEDIR)?)
    }

    fn root(&self) -> Option<Handle<'_>> {
        Some(self.root.as_fd())
    }

    fn room(&self) -> io::Result<Option<Room>> {
        let stat = fstatvfs(self.root.as_fd())?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Ok(Some(Room { free: bytes(stat.f_bavail), total: bytes(stat.f_blocks) }))
    }
}

struct LocalFile {
    file: OwnedFd,
    opened: Opened,
    /// Its directory, and its name there.
    above: OwnedFd,
    name: Vec<u8>,
}

impl Content for LocalFile {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match crate::os::io::pread(&self.file, &mut *into, offset) {
                Err(crate::os::io::Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }

    fn changed(&mut self) -> bool {
        fstat(&self.file).is_ok_and(|now| !self.opened.is(&now))
    }

    fn delete(&mut self) -> Result<(), NotDeleted> {
        delete_in(&self.above, &self.name, &self.opened)
    }
}
