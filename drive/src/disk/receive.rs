//! Receiving files.
//!
//! Data goes to `NAME.part` ([`super::part`]), readable only by the owner until it is complete; then date and
//! permissions are set and it is renamed into place.

mod checking;
mod continuing;
mod copying;
mod deciding;
mod descending;
mod entry;
mod older;
mod placing;
mod writing;

use self::checking::{Check, Left};
use self::continuing::{Kept, taken_over};
use self::copying::copy;
use self::deciding::{check_space, one_component};
use self::descending::{Directory, Level};
use self::entry::IncomingEntry;
use self::placing::Placed;
use super::difference::Older;
use super::digest::{self, Running};
use super::error::Failed;
use super::names::{NameRule, SafeName, confine};
use super::part::{self, Sender};
use super::pieces::Pieces;
use super::place;
use super::reserve::Reservation;
use super::scribe::Scribe;
use super::source::Opened;
use super::{FileOutcome, FileRecord, Holes, Incomplete, Numbering, ReceiveOptions, Reserve};
use crate::os::fd::OwnedFd;
use crate::os::fs::{
    self, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat, ftruncate, futimens,
};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wetstring_proto::file::{DigestKind, Entry, FileInfo, Refusal};

/// Files larger than this get their blocks before their data: a full disk is detected at once.
const PREALLOCATE_ABOVE: u64 = 1 << 20;
/// Shorter writes are gathered.
const DIRECT_LEN: usize = 32 * 1024;
/// Bytes gathered before they are written.
const GATHER_LEN: usize = 128 * 1024;

/// The directory, and the file being received.
pub(super) struct Receiving {
    directory: Arc<OwnedFd>,
    path: PathBuf,
    /// The directories of the last name.
    levels: Vec<Level>,
    options: ReceiveOptions,
    umask: u32,
    current: Option<Incoming>,
    /// A directory or link that is being received.
    entry: Option<IncomingEntry>,
    /// The `.part` kept of the last file, if any.
    kept: Option<Left>,
    /// Small writes are buffered here, so that short packets do not cost a system call each.
    gathered: Vec<u8>,
}

/// The file being received.
struct Incoming {
    /// Its final name.
    directory: Arc<OwnedFd>,
    path: PathBuf,
    name: Vec<u8>,
    /// Its temporary name.
    part: Vec<u8>,
    file: OwnedFd,
    /// Its device and inode; whatever else is in here is of its beginning.
    identity: Stat,
    /// What the sender states about it, and whether the file may bear that, or a map.
    sender: Option<Sender>,
    stated: bool,
    placing: Placing,
    /// It began as a copy of a file that is not ours.
    copied: bool,
    /// The file of the same name whose copy is continued, as it was when it was copied.
    continued: Option<Opened>,
    /// The existing data was compared with the sender's file.
    compared: bool,
    numbering: Numbering,
    modified: Option<i64>,
    mode: Option<u32>,
    /// Its length, if the sender has stated it.
    size: Option<u64>,
    /// The furthest end of the written bytes, including gathered ones.
    reached: u64,
    /// Blocks reserved before its data.
    reservation: Reservation,
    /// Reservation up to here is pending, until the first bytes.
    pledged: Option<u64>,
    /// Bytes are missing from here on: a write failed, or the sender left a gap.
    gap: Option<u64>,
    /// The first failure: nothing is written after it.
    failed: Option<Failed>,
    running: Running,
    check: Check,
    map: Map,
    /// The older version that it replaces, if parts of it are looked for there.
    older: Option<Older>,
    /// Writes data in any order, and holds the map and the digest meanwhile.
    scribe: Option<Scribe>,
}

/// Existing data of a file besides its beginning.
#[derive(Default)]
struct Map {
    /// Existing bytes in order, and whether there is a map of more.
    resumed: u64,
    mapped: bool,
    /// Existing data of a file received in any order.
    pieces: Option<Pieces>,
    /// Bytes received since the map was stored.
    unmapped: u64,
}

/// How a complete file gets its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Placing {
    Rename,
    Replace,
    Backup,
    Append,
}

/// Why an offer is not accepted.
pub(super) enum No {
    Refused(Refusal, Option<NameRule>),
    /// It depends on the sender's CRC of the whole file.
    Unclear,
    Failed(Failed),
}

impl Receiving {
    pub(super) fn new(directory: &Path, options: ReceiveOptions) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = fs::open(directory, flags, Mode::empty())?;
        Ok(Self::inside(handle, directory, options))
    }

    /// In an open directory with the name `path`.
    pub(super) fn inside(directory: OwnedFd, path: &Path, options: ReceiveOptions) -> Self {
        Self {
            directory: Arc::new(directory),
            path: path.to_owned(),
            levels: Vec::new(),
            options,
            umask: place::umask(),
            current: None,
            entry: None,
            kept: None,
            gathered: Vec::with_capacity(GATHER_LEN),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.current.is_some() || self.entry.is_some()
    }

    /// Decides on an offer. Accepted: the offset to start from.
    pub(super) fn offer(
        &mut self,
        info: &FileInfo<'_>,
        record: &mut FileRecord,
    ) -> Result<u64, No> {
        if info.entry != Entry::File {
            return self.offer_entry(info, record);
        }
        let safe = self.safe_name(info)?;
        record.name_rule = safe.rule;
        let Directory { handle: directory, path, is_shared } = self.descend(&safe.directories)?;
        let full = path.join(place::os(&safe.name));
        let failed = |error: io::Error| No::Failed(Failed::new(&full, error));
        let existing = place::look(&directory, &safe.name).map_err(failed)?;
        self.may_come(&directory, &safe.name, existing.as_ref(), info)?;
        let (placing, kept) =
            self.begun(&directory, &safe.name, existing.as_ref(), info, &failed)?;
        let have = kept.as_ref().map_or(0, |kept| kept.len);
        let theirs = kept.as_ref().is_some_and(|kept| kept.theirs);
        check_space(&directory, info.size, if theirs { 0 } else { have }, placing)?;
        let continued = kept.as_ref().and_then(|kept| kept.continued);
        let is_new = kept.is_none();
        let (file, part) = self.part(&directory, &safe.name, kept).map_err(failed)?;
        let identity = fstat(&file).map_err(|error| failed(error.into()))?;
        if !is_new {
            // Another sender may have begun it.
            part::put_sender(&file, Sender::of(info));
        }
        let (reservation, pledged) = self.blocks(info.size, have);
        record.path = Some(path.join(place::os(&part)));
        record.resumed_from = have;
        record.size = have;
        let mapped = !is_new && part::pieces(&file).is_some();
        let digest = if have == 0 && !mapped { self.options.digest } else { None };
        self.gathered.clear();
        self.kept = None;
        let check = Check::new(self.options.verify, is_shared);
        self.current = Some(Incoming {
            directory,
            path,
            name: safe.name,
            part,
            file,
            identity,
            sender: Sender::of(info),
            stated: !is_new,
            placing,
            copied: theirs,
            continued,
            compared: info.compared,
            numbering: self.options.numbering,
            modified: info.modified.filter(|_| self.options.dates),
            mode: info.mode.filter(|_| self.options.modes),
            size: info.size,
            reached: have,
            reservation,
            pledged,
            gap: None,
            failed: None,
            running: Running::new(digest),
            check,
            map: Map { resumed: have, mapped, ..Map::default() },
            older: None,
            scribe: None,
        });
        Ok(have)
    }

    /// The name that the user has given, or the sender's.
    fn safe_name(&mut self, info: &FileInfo<'_>) -> Result<SafeName, No> {
        let safe = match self.options.name.take() {
            Some(told) if !told.contains(&b'/') => one_component(told),
            Some(told) => confine(&told, self.options.paths).map_err(|bad| bad.0),
            None => confine(info.name, self.options.paths).map_err(|bad| bad.0),
        };
        safe.map_err(|rule| No::Refused(Refusal::Name, Some(rule)))
    }

    /// The temporary file.
    fn part(
        &self,
        directory: &OwnedFd,
        name: &[u8],
        kept: Option<Kept>,
    ) -> io::Result<(OwnedFd, Vec<u8>)> {
        match kept {
            Some(kept) if kept.theirs => {
                let toll = self.options.toll.as_ref();
                toll.map_or(Ok(()), |toll| toll.0(kept.len))?;
                taken_over(directory, name, &kept.file)
            }
            Some(kept) => Ok((kept.file, kept.name)),
            None => part::create(directory, name, self.options.reserve == Reserve::Offered),
        }
    }

    /// Which blocks of a large file to reserve, and whether that is deferred.
    fn blocks(&self, size: Option<u64>, have: u64) -> (Reservation, Option<u64>) {
        let wanted = size.filter(|size| *size > PREALLOCATE_ABOVE && *size > have).unwrap_or(0);
        let holes = self.options.holes == Holes::Zeros;
        match self.options.reserve {
            Reserve::Offered => (Reservation::new(have, wanted).with_holes(holes), None),
            Reserve::WithData => (Reservation::default().with_holes(holes), Some(wanted)),
        }
    }

    /// Stores bytes. Small writes are gathered.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Failed> {
        if let Some(entry) = &mut self.entry {
            return entry.write(offset, bytes);
        }
        let Some(open) = self.current.as_mut() else {
            return Err(Failed::new(&self.path, io::ErrorKind::NotFound));
        };
        open.keep_pledge();
        open.check.continues();
        if open.map.pieces.is_some() || open.scribe.is_some() {
            open.put_sender();
            return open.write_anywhere(offset, bytes);
        }
        if offset < open.reached {
            let text = format!("expected an offset from {} on, got {offset}", open.reached);
            return Err(Failed::new(&open.part_path(), io::Error::other(text)));
        }
        open.running.pass(offset, bytes);
        if offset == open.map.resumed && open.map.mapped {
            // In order after all: data behind a hole would remain after the end of the file.
            open.map.mapped = false;
            let _ = ftruncate(&open.file, offset);
            part::take_off_pieces(&open.file);
        }
        if offset > open.reached {
            open.gap.get_or_insert(open.reached);
        }
        if offset > open.reached || self.gathered.len() + bytes.len() > GATHER_LEN {
            open.put_sender();
            open.flush(&mut self.gathered)?;
        }
        open.reached = offset;
        if self.gathered.is_empty() && bytes.len() >= DIRECT_LEN {
            open.put_sender();
            open.write_at(offset, bytes)?;
        } else {
            self.gathered.extend_from_slice(bytes);
        }
        open.reached += bytes.len() as u64;
        Ok(())
    }

    /// The next existing bytes at or after `from`. From now on they may arrive in any order. `None` if they may
    /// not.
    pub(super) fn held(&mut self, from: u64) -> Result<Option<(u64, u64)>, Failed> {
        let Some(open) = self.current.as_mut() else {
            return Err(Failed::new(&self.path, io::ErrorKind::NotFound));
        };
        open.settle()?;
        if open.map.pieces.is_none() {
            if open.reached > 0 && !self.gathered.is_empty() {
                open.flush(&mut self.gathered)?;
            }
            let found = part::pieces(&open.file);
            let mut pieces = found.unwrap_or_else(|| Pieces::prefix_of(open.reached));
            // The rest of a longer file does not belong to this one.
            pieces.cut(open.size.unwrap_or(u64::MAX).max(open.reached));
            // A file without a map could not be told from a complete one.
            open.put_sender();
            if part::put_pieces(&open.file, &pieces).is_err() {
                return Ok(None);
            }
            open.map.pieces = Some(pieces);
            if open.reached > 0 || open.map.mapped {
                // The existing data is read while the rest is received.
                open.running = Running::new(self.options.digest);
            }
        }
        Ok(open.map.pieces.as_ref().map(|pieces| pieces.next(from)))
    }

    pub(super) fn digest(&mut self, kind: DigestKind, len: u64) -> Result<[u8; 32], Failed> {
        if let Some(entry) = &self.entry {
            return entry.digest(kind, len);
        }
        let Some(open) = self.current.as_mut() else {
            return Err(Failed::new(&self.path, io::ErrorKind::NotFound));
        };
        open.settle()?;
        open.flush(&mut self.gathered)?;
        if let Some(value) = open.running.value(kind, len) {
            return open.as_stored(kind, len, value);
        }
        if open.map.pieces.is_some() {
            open.running.catch_up(&open.file, len, u64::MAX);
            if let Some(value) = open.running.value(kind, len) {
                return open.as_stored(kind, len, value);
            }
        }
        open.check_name()?;
        digest::over(&open.file, kind, len).map_err(|error| Failed::new(&open.part_path(), error))
    }

    /// Closes the current file, if any, and completes its record.
    pub(super) fn close(
        &mut self,
        complete: bool,
        verified: bool,
        mut record: Option<&mut FileRecord>,
    ) -> Result<(), Failed> {
        if let (Some(entry), Some(record)) = (self.entry.take(), record.as_deref_mut()) {
            return self.close_entry(&entry, (complete, verified), record);
        }
        let (Some(mut open), Some(record)) = (self.current.take(), record) else { return Ok(()) };
        // Nothing more is taken from it, and some systems do not replace a file that is open.
        open.older = None;
        let flushed = open.settle().and_then(|()| open.flush(&mut self.gathered));
        let mut result = flushed.and_then(|()| open.check_failed());
        self.gathered.clear();
        record.verified = verified;
        if complete {
            result = result.and_then(|()| open.make_whole()).and_then(|()| open.check_stored());
        }
        let wrong = open.check.is_bad() || (verified && !complete);
        if complete && result.is_ok() {
            match self.put_in_place(&mut open, verified) {
                Ok(Placed { name, aside }) => {
                    record.path = Some(open.path.join(place::os(&name)));
                    record.put_aside = aside.map(|aside| open.path.join(place::os(&aside)));
                    record.size = open.reached;
                    record.outcome = FileOutcome::Stored;
                    record.digest = open.running.whole(open.reached);
                    return Ok(());
                }
                Err(error) => {
                    part::mark_again(&open.file, &open.name);
                    result = Err(Failed::new(&open.path.join(place::os(&open.name)), error));
                }
            }
        }
        record.outcome = FileOutcome::Partial;
        record.verified = false;
        record.size = fstat(&open.file).map_or(open.reached, |stat| stat.st_size as u64);
        if let Some(pieces) = &open.map.pieces {
            record.size = pieces.total();
            let _ = part::put_pieces(&open.file, pieces);
        }
        // Data that was compared and is wrong must not be resumed.
        let keeps = self.options.incomplete == Incomplete::Keep && record.size > 0;
        if keeps && !wrong && open.has_name() {
            open.put_sender();
            if let Some(gap) = open.gap.filter(|gap| *gap < record.size) {
                // Only data without a hole can be resumed.
                let _ = ftruncate(&open.file, gap);
                record.size = gap;
            }
            open.release();
            self.kept = open.leave();
        } else {
            record.path = None;
            open.remove();
        }
        result
    }

    /// Drops a resumed file that is not the sender's. A `.part` of ours is left to [`part::create`], which
    /// removes it when the new file is accepted.
    pub(super) fn withdraw(&mut self) {
        self.entry = None;
        if let Some(mut open) = self.current.take() {
            let _ = open.settle();
            open.release();
            if open.copied {
                open.remove();
            }
        }
        self.gathered.clear();
    }

    /// Removes the `.part` kept of the last file; false if there is none.
    pub(super) fn discard(&mut self) -> bool {
        self.kept.take().is_some_and(|kept| kept.remove())
    }

    /// Dates, permissions, durability, name: in this order, so that the name never appears before the rest.
    fn put_in_place(&self, open: &mut Incoming, verified: bool) -> io::Result<Placed> {
        // While it is still writable: the final permissions may not allow it.
        part::unmark(&open.file, open.stated)?;
        let mode = open.mode.map_or(0o666, |mode| mode & 0o777) & !self.umask;
        // Not every file system has permissions or takes every date: best effort.
        let _ = fchmod(&open.file, fs::mode(mode));
        if let Some(modified) = open.modified {
            let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
            let dates = Timestamps {
                last_access: omit,
                last_modification: Timespec { tv_sec: modified, tv_nsec: 0 },
            };
            let _ = futimens(&open.file, &dates);
        }
        if self.options.sync {
            fs::fsync(&open.file)?;
        }
        let name = open.place(verified || open.compared, &self.options)?;
        if self.options.sync {
            fs::fsync(&*open.directory)?;
        }
        Ok(name)
    }
}
