//! Counts a session's bytes, and reports exceeded limits.

use super::super::quota::{Direction, KeepFree, Over};
use super::super::tree::{Tree, shown};
use super::{Action, Outgoing, Session};
use crate::disk::Toll;
use std::io;
use std::sync::Arc;
use wetstring_proto::file::{FileInfo, Refusal, Reply, Request, StoreError};

/// Bytes stored between two checks of free space.
const LOOK: u64 = 1 << 20;

/// Whether storing this many bytes leaves the required free space.
fn leaves(tree: &dyn Tree, keep: Option<KeepFree>, bytes: u64) -> bool {
    let Some(keep) = keep else { return true };
    // Where free space has no meaning there is always enough.
    let Ok(Some(room)) = tree.room() else { return true };
    room.free >= keep.bytes(room.total).saturating_add(bytes)
}

impl Session {
    /// Whether a command that moves bytes has any quota left.
    pub(super) fn has_room(&self, action: Action) -> Result<(), String> {
        use Action as A;
        let way = match action {
            A::Send | A::Copy => Direction::Stored,
            A::Get | A::Type | A::Directory | A::Host | A::Kermit => Direction::Sent,
            _ => return Ok(()),
        };
        self.meter.fits(way, 1).map_err(|over| over.to_string())
    }

    /// Called by a store that copies existing data.
    pub(super) fn toll(&self) -> Toll {
        let meter = self.meter.clone();
        Toll(Arc::new(move |bytes| Ok(meter.take(Direction::Stored, bytes)?)))
    }

    /// Checks free space now and then.
    pub(super) fn looks_at_room(&self) -> impl FnMut(u64) -> io::Result<()> + use<> {
        let (tree, keep, mut unlooked) = (self.tree.clone(), self.meter.keep_free(), LOOK);
        move |bytes| {
            unlooked += bytes;
            if unlooked >= LOOK && !leaves(&*tree, keep, bytes) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            unlooked %= LOOK;
            Ok(())
        }
    }

    /// Whether a copy of a whole file may be stored.
    pub(super) fn fits_whole(&self, place: &[Vec<u8>]) -> io::Result<()> {
        let size = self.tree.entry(place)?.size;
        self.meter.fits(Direction::Stored, size)?;
        let fits = leaves(&*self.tree, self.meter.keep_free(), size);
        if fits { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    /// The sent bytes have exceeded a limit.
    pub(super) fn over_in_sending(&mut self, over: Over) -> Reply<'static> {
        let Some(current) = &self.current else { return Reply::Failed(over.into()) };
        let (action, subject) = match self.outgoing {
            Some(Outgoing::Files { .. }) => ("get", shown(&current.place)),
            _ => ("show", current.name.clone()),
        };
        self.note(action, &subject, &format!("failed, {over}"));
        Reply::Failed(over.into())
    }

    /// Counts a request of an incoming file; the reply if it is refused.
    pub(super) fn counted(&mut self, request: &Request<'_>) -> Result<(), Reply<'static>> {
        let (offset, len) = match request {
            Request::Offer { info } => {
                self.offered = info.name.to_vec();
                self.took = 0;
                self.broken = None;
                self.unlooked = LOOK;
                return self.announced(info);
            }
            Request::Write { offset, bytes } => (*offset, bytes.len() as u64),
            // Data that is copied from an older version takes as much space as received data.
            Request::Copy { from, to } => (*from, to.saturating_sub(*from)),
            _ => return Ok(()),
        };
        // They may arrive in any order.
        self.took = self.took.max(offset.saturating_add(len));
        if let Some(error) = self.broken {
            return Err(Reply::Failed(error));
        }
        self.meter
            .take(Direction::Stored, len)
            .map_err(|over| self.breaks(over.into(), &over.to_string()))?;
        self.unlooked += len;
        if self.unlooked >= LOOK {
            self.unlooked = 0;
            if !leaves(&*self.tree, self.meter.keep_free(), len) {
                return Err(self.breaks(StoreError::NoSpace, "too little free space would remain"));
            }
        }
        Ok(())
    }

    /// Whether a file of the announced length may be stored. How much of a resumed one exists is known later.
    fn announced(&mut self, info: &FileInfo<'_>) -> Result<(), Reply<'static>> {
        let wanted = info.size.filter(|_| !info.resume).unwrap_or(0);
        self.meter
            .fits(Direction::Stored, wanted)
            .map_err(|over| self.breaks(over.into(), &over.to_string()))?;
        if !leaves(&*self.tree, self.meter.keep_free(), wanted) {
            self.breaks(StoreError::NoSpace, "too little free space would remain");
            return Err(Reply::Refuse(Refusal::NoSpace));
        }
        Ok(())
    }

    /// A file is resumed, of which this much exists.
    pub(super) fn resumed(&mut self, offset: u64, size: u64) -> Reply<'static> {
        let wanted = size.saturating_sub(offset);
        let no = match self.meter.fits(Direction::Stored, wanted) {
            Err(over) => self.breaks(over.into(), &over.to_string()),
            Ok(()) if leaves(&*self.tree, self.meter.keep_free(), wanted) => {
                return Reply::Accept { offset };
            }
            Ok(()) => {
                self.breaks(StoreError::NoSpace, "too little free space would remain");
                Reply::Refuse(Refusal::NoSpace)
            }
        };
        // The existing part stays.
        if let Some(receiving) = &mut self.receiving {
            receiving.answer(Request::Close { complete: false, verified: false });
        }
        no
    }

    /// The incoming file has exceeded a limit, and nothing more of it is stored.
    fn breaks(&mut self, error: StoreError, why: &str) -> Reply<'static> {
        self.broken = Some(error);
        let name = std::mem::take(&mut self.offered);
        self.note("send", &name, &format!("failed, {why}"));
        Reply::Failed(error)
    }
}
