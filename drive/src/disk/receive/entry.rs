//! Directories and symbolic links that come as entries of a batch. Nothing is made before they are complete.

use super::descending::Directory;
use super::placing::{Naming, Placed};
use super::{Failed, No, Placing, Receiving};
use crate::disk::digest::Running;
use crate::disk::names::{PathRule, confine, link_stays_inside};
use crate::disk::{FileOutcome, FileRecord, Links, Numbering, place};
use crate::os::fd::OwnedFd;
use crate::os::files;
use crate::os::fs::{self, FileType, fchmod};
use crate::os::io::Errno;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use wetstring_proto::file::{DigestKind, Entry, FileInfo, Refusal};

/// The longest target of a link: PATH_MAX of Linux.
const LONGEST_TARGET: usize = 4095;

/// Names that are tried for a link before it has its own.
const ATTEMPTS: u32 = 100;

/// One that is being received.
pub(super) struct IncomingEntry {
    entry: Entry,
    directory: Arc<OwnedFd>,
    path: PathBuf,
    name: Vec<u8>,
    /// Directories between the output directory and its name.
    depth: usize,
    mode: Option<u32>,
    placing: Placing,
    /// Where a link leads.
    target: Vec<u8>,
}

impl IncomingEntry {
    fn full(&self) -> PathBuf {
        self.path.join(place::os(&self.name))
    }

    fn failed(&self, error: impl Into<io::Error>) -> Failed {
        Failed::new(&self.full(), error.into())
    }

    /// More of the target.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Failed> {
        let fits = self.entry == Entry::Link && self.target.len() + bytes.len() <= LONGEST_TARGET;
        if !fits || offset != self.target.len() as u64 {
            let text = format!("expected the target of a link of at most {LONGEST_TARGET} bytes");
            return Err(self.failed(io::Error::other(text)));
        }
        self.target.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn digest(&self, kind: DigestKind, len: u64) -> Result<[u8; 32], Failed> {
        let mut running = Running::new(Some(kind));
        running.pass(0, &self.target);
        running.value(kind, len).ok_or_else(|| self.failed(io::ErrorKind::Unsupported))
    }

    /// Makes the directory; one that is there stays as it is.
    fn make_directory(&self, umask: u32) -> Result<(), Failed> {
        let is_new =
            place::look(&self.directory, &self.name).map_err(|e| self.failed(e))?.is_none();
        let made = place::directory_in(&self.directory, &self.name).map_err(|e| self.failed(e))?;
        if let Some(mode) = self.mode.filter(|_| is_new) {
            // Its owner must be able to put files into it.
            let _ = fchmod(&made, fs::mode((mode & 0o777 | 0o700) & !umask));
        }
        Ok(())
    }

    /// Makes the link under a temporary name, and puts it in its place; returns the name that it has.
    fn make_link(&self, numbering: Numbering) -> io::Result<Placed> {
        let (directory, name) = (&self.directory, &self.name[..]);
        if files::link_target(directory, name).is_ok_and(|there| there == self.target) {
            return Ok(Placed { name: name.to_vec(), aside: None });
        }
        let temporary = self.temporary_link()?;
        let placed = self.place_link(&temporary, numbering);
        if placed.is_err() {
            let _ = place::remove(directory, &temporary);
        }
        placed
    }

    /// Makes the link under a name that is free.
    fn temporary_link(&self) -> Result<Vec<u8>, Errno> {
        for attempt in 0..ATTEMPTS {
            let name = format!(".wst-link-{}-{attempt}", std::process::id()).into_bytes();
            match files::make_link(&self.directory, &self.target, &name) {
                Ok(()) => return Ok(name),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EXIST)
    }

    fn place_link(&self, temporary: &[u8], numbering: Numbering) -> io::Result<Placed> {
        let (directory, name) = (&self.directory, &self.name[..]);
        let naming = Naming { directory, part: temporary, name, numbering };
        let named = match self.placing {
            Placing::Backup => return naming.instead(),
            Placing::Replace => {
                place::rename_over(directory, temporary, name)?;
                name.to_vec()
            }
            Placing::Rename | Placing::Append => naming.other_name()?,
        };
        Ok(Placed { name: named, aside: None })
    }
}

impl Receiving {
    /// Decides on a directory or a link.
    pub(super) fn offer_entry(
        &mut self,
        info: &FileInfo<'_>,
        record: &mut FileRecord,
    ) -> Result<u64, No> {
        record.entry = info.entry;
        if info.entry == Entry::Link && !files::MAKES_LINKS {
            return Err(No::Refused(Refusal::Kind, None));
        }
        let flat = self.options.paths == PathRule::LastOnly;
        if info.entry == Entry::Link && (flat || self.options.links == Links::Refuse) {
            return Err(No::Refused(Refusal::NotPermitted, None));
        }
        let safe = confine(info.name, self.options.paths)
            .map_err(|bad| No::Refused(Refusal::Name, Some(bad.0)))?;
        record.name_rule = safe.rule;
        let Directory { handle: directory, path, .. } = self.descend(&safe.directories)?;
        let full = path.join(place::os(&safe.name));
        let existing = place::look(&directory, &safe.name)
            .map_err(|error| No::Failed(Failed::new(&full, error)))?;
        let is_directory =
            existing.as_ref().is_some_and(|there| place::kind(there) == FileType::Directory);
        let placing = if info.entry == Entry::Link {
            self.placing(existing.as_ref(), info)?
        } else if existing.is_some() && !is_directory {
            return Err(No::Refused(Refusal::Exists, None));
        } else {
            Placing::Rename
        };
        record.path = Some(full);
        self.entry = Some(IncomingEntry {
            entry: info.entry,
            directory,
            path,
            name: safe.name,
            depth: safe.directories.len(),
            mode: info.mode.filter(|_| self.options.modes),
            placing,
            target: Vec::new(),
        });
        Ok(0)
    }

    /// Makes what has come.
    pub(super) fn close_entry(
        &mut self,
        entry: &IncomingEntry,
        (complete, verified): (bool, bool),
        record: &mut FileRecord,
    ) -> Result<(), Failed> {
        record.verified = complete && verified;
        record.outcome = FileOutcome::Partial;
        record.path = None;
        if !complete {
            return Ok(());
        }
        let mut path = entry.full();
        if entry.entry == Entry::Directory {
            // Without their directories files are in one place, and this one would be among them.
            if self.options.paths == PathRule::LastOnly {
                record.outcome = FileOutcome::PassedOver;
                return Ok(());
            }
            entry.make_directory(self.umask)?;
        } else {
            if !link_stays_inside(&entry.target, entry.depth) {
                let target = entry.target.escape_ascii();
                let text =
                    format!("expected a link that stays in the directory, got one to {target}");
                return Err(entry.failed(io::Error::other(text)));
            }
            let Placed { name, aside } =
                entry.make_link(self.options.numbering).map_err(|error| entry.failed(error))?;
            path = entry.path.join(place::os(&name));
            record.put_aside = aside.map(|aside| entry.path.join(place::os(&aside)));
        }
        if self.options.sync {
            fs::fsync(&entry.directory).map_err(|error| entry.failed(error))?;
        }
        record.path = Some(path);
        record.outcome = FileOutcome::Stored;
        Ok(())
    }
}
