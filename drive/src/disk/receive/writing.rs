//! The data of the file: in order or not, with what is reserved for it, until it is whole.

use super::Incoming;
use crate::disk::digest::Running;
use crate::disk::error::Failed;
use crate::disk::part;
use crate::disk::place;
use crate::disk::reserve::{self, Reservation};
use crate::disk::scribe::{Notes, Scribe};
use crate::os::fs::{Stat, fstat, ftruncate};
use crate::os::io::Errno;
use std::io;
use std::path::PathBuf;

impl Incoming {
    /// Its first bytes arrive: deferred work is done.
    pub(super) fn keep_pledge(&mut self) {
        let Some(size) = self.pledged.take() else { return };
        if self.map.resumed == 0 && !self.map.mapped {
            part::sweep(&self.directory, &self.name, &self.part);
        }
        let holes = self.reservation.holes();
        self.reservation = Reservation::new(self.map.resumed, size).with_holes(holes);
    }

    /// Stores bytes at any offset.
    pub(super) fn write_anywhere(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Failed> {
        self.check_failed()?;
        if self.scribe.is_none() {
            let path = self.part_path();
            let file = self.file.try_clone().map_err(|error| Failed::new(&path, error))?;
            self.scribe = Some(Scribe::new(Notes {
                file,
                path,
                pieces: self.map.pieces.take().unwrap_or_default(),
                running: std::mem::replace(&mut self.running, Running::new(None)),
                reservation: std::mem::take(&mut self.reservation),
                unmapped: self.map.unmapped,
                failed: None,
            }));
        }
        // A hole may be filled last: the end of a write is not the end of the file.
        self.reached = self.reached.max(offset.saturating_add(bytes.len() as u64));
        if self.scribe.as_mut().is_some_and(|scribe| !scribe.write(offset, bytes)) {
            return self.settle();
        }
        Ok(())
    }

    /// Determines the end of the file, truncates the rest of a longer one, and fails if a hole is left.
    pub(super) fn make_whole(&mut self) -> Result<(), Failed> {
        // Bytes received beyond the announced end belong to the file; those of an earlier file do not.
        let (end, hole) = match &self.map.pieces {
            None => (self.reached, self.gap.map(|from| (from, self.reached))),
            Some(pieces) => {
                let end = self.size.unwrap_or_else(|| pieces.end()).max(self.reached);
                (end, pieces.hole(end))
            }
        };
        if let Some((from, to)) = hole {
            let text = format!("expected all of {end} bytes, {from} to {to} are missing");
            return Err(Failed::new(&self.part_path(), io::Error::other(text)));
        }
        self.reached = end;
        let mapped = self.map.mapped || self.map.pieces.is_some();
        if mapped && fstat(&self.file).is_ok_and(|stat| stat.st_size as u64 > end) {
            let cut = ftruncate(&self.file, end);
            return cut.map_err(|error| Failed::new(&self.part_path(), error));
        }
        Ok(())
    }

    /// Data received in any order is on the disk, and known here.
    pub(super) fn settle(&mut self) -> Result<(), Failed> {
        let Some(scribe) = self.scribe.take() else { return Ok(()) };
        let Notes { pieces, running, reservation, unmapped, failed, .. } = scribe.stop();
        self.map.pieces = Some(pieces);
        self.map.unmapped = unmapped;
        self.running = running;
        self.reservation = reservation;
        let Some((at, failed)) = failed else { return Ok(()) };
        self.failed = Some(failed.clone());
        self.gap = Some(self.gap.map_or(at, |gap| gap.min(at)));
        Err(failed)
    }

    /// After a failure nothing is written any more: it would leave a hole.
    pub(super) fn check_failed(&self) -> Result<(), Failed> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    pub(super) fn part_path(&self) -> PathBuf {
        self.path.join(place::os(&self.part))
    }

    /// Writes all bytes.
    pub(super) fn write_at(&mut self, mut offset: u64, mut bytes: &[u8]) -> Result<(), Failed> {
        self.check_failed()?;
        while !bytes.is_empty() {
            let error: io::Error = match self.reservation.write(&self.file, bytes, offset) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(len) => {
                    offset += len as u64;
                    bytes = &bytes[len..];
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(error) => error.into(),
            };
            let failed = Failed::new(&self.part_path(), error);
            self.failed = Some(failed.clone());
            self.gap = Some(self.gap.map_or(offset, |gap| gap.min(offset)));
            return Err(failed);
        }
        Ok(())
    }

    /// Writes the gathered bytes, which end at `reached`.
    pub(super) fn flush(&mut self, gathered: &mut Vec<u8>) -> Result<(), Failed> {
        let result = self.write_at(self.reached - gathered.len() as u64, gathered);
        gathered.clear();
        result
    }

    /// Releases blocks that were reserved and not used, including those of a killed run.
    pub(super) fn release(&mut self) {
        if let Ok(stat) = fstat(&self.file) {
            self.release_of(&stat);
        }
    }

    /// The same; its state is known.
    pub(super) fn release_of(&mut self, stat: &Stat) {
        if reserve::is_beyond(stat) {
            let _ = ftruncate(&self.file, stat.st_size as u64);
        }
        self.reservation = Reservation::default();
    }

    /// The file bears what its sender states about it, so that it can be resumed. A short one is complete before its
    /// first bytes are on the disk.
    pub(super) fn put_sender(&mut self) {
        if !self.stated && self.sender.is_some() {
            part::put_sender(&self.file, self.sender);
        }
        self.stated = true;
    }
}
