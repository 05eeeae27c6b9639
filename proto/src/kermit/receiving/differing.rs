//! A file of which an older version is here ([`crate::difference`]): the signatures go to the store, which looks for their
//! blocks when the sender asks, and takes those that were found from the older version where the sender passes over them.

use super::{Cancel, Core, Mem, Piece};
use crate::difference::{BLOCKS, LEAST, MOST};
use crate::engine::Cx;
use crate::file::{FileKind, Request, StoreError};
use crate::kermit::bundle::mark::Mark;
use crate::kermit::bundle::{ASKED_ROOM, MOST_ASKED, MOST_SIGNATURES};
use crate::session::PendingRequest;

/// Bytes that are taken from the older version at a time: a whole number of blocks.
const STEP: u64 = 1 << 20;

/// The sender's list of signatures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct List {
    /// Where its first block begins.
    from: u64,
    block: u32,
    count: u64,
}

/// What the store has to do before the next record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Due {
    #[default]
    Nothing,
    Find {
        first: u64,
        count: u64,
    },
    CopyTo(u64),
}

/// What is known of the older version of the current file.
#[derive(Debug, Default)]
pub(super) struct Differing {
    /// There is one, and the sender is told.
    older: bool,
    list: Option<List>,
    /// The sender has asked: the list is complete.
    asked: bool,
    /// Bytes of the list that the store is shown.
    lent: usize,
    due: Due,
    bits: [u8; ASKED_ROOM],
}

impl Differing {
    pub(super) fn is_older(&self) -> bool {
        self.older
    }
}

impl Core {
    /// Whether the store is to be asked if an older version is here.
    pub(super) fn may_differ(&self, mem: &Mem<'_>) -> bool {
        let info = self.info(mem.name);
        let size = info.size.is_some_and(|size| (LEAST..=MOST).contains(&size));
        let plain = info.kind == FileKind::Binary && !self.file.screen;
        self.bundles() && self.link.agreed.difference && size && plain
    }

    /// The store has said whether one is.
    pub(super) fn older(&mut self, is_here: bool) {
        self.unpacking.differing.older = is_here;
    }

    /// Whether what comes of the current file matters.
    fn is_wanted(&self) -> bool {
        !self.file.unwanted && self.cancel == Cancel::No
    }

    /// A list of signatures, or more of it, comes next.
    pub(super) fn listed(&mut self, mem: &Mem<'_>, block: u64, count: u64) -> Piece {
        let position = self.unpacking.position;
        let end = self.sink.end();
        let wanted = self.is_wanted();
        let size = self.info(mem.name).size.unwrap_or(0);
        if count == 0 || count > MOST_SIGNATURES {
            return Piece::Failed;
        }
        if !wanted {
            return Piece::Taken;
        }
        let differing = &mut self.unpacking.differing;
        let block = u32::try_from(block).unwrap_or(0);
        let before = differing.list.map_or(0, |list| list.count);
        let list = List { from: position, block, count: before + count };
        let same = differing.list.is_none_or(|old| List { count: list.count, ..old } == list);
        let fits = list.count <= size.saturating_sub(position) / u64::from(block).max(1);
        let usual = BLOCKS.contains(&block) && block.is_power_of_two();
        let is_next = differing.older && !differing.asked && position == end;
        if !(same && fits && usual && is_next) {
            return Piece::Failed;
        }
        differing.list = Some(list);
        Piece::Taken
    }

    /// Bytes of the list.
    pub(super) fn signatures(&mut self, held: usize, left: usize) -> Piece {
        let len = held.min(left);
        if !self.is_wanted() {
            self.learnt(len);
            return Piece::Taken;
        }
        if self.pending.is_idle() {
            self.unpacking.differing.lent = len;
            self.pending = PendingRequest::Learn;
        }
        Piece::Wait
    }

    fn learnt(&mut self, len: usize) {
        self.unpacking.pass(len);
        self.unpacking.records.passed(len);
    }

    /// The sender asks which blocks are here.
    pub(super) fn asked(&mut self, first: u64, count: u64) -> Piece {
        if !self.is_wanted() {
            return Piece::Taken;
        }
        let differing = &mut self.unpacking.differing;
        let listed = differing.list.map_or(0, |list| list.count);
        let end = first.checked_add(count).filter(|end| *end <= listed);
        if end.is_none() || count == 0 || count > MOST_ASKED {
            return Piece::Failed;
        }
        differing.asked = true;
        differing.due = Due::Find { first, count };
        Piece::Taken
    }

    /// The sender passes over bytes: those that the file does not have yet come from the older version.
    pub(super) fn passed_over(&mut self, offset: u64) -> Piece {
        let (from, end) = (self.unpacking.position, self.sink.end());
        if offset < from {
            return Piece::Failed;
        }
        if self.unpacking.differing.asked && self.is_wanted() && offset > end {
            let Some(list) = self.unpacking.differing.list else { return Piece::Failed };
            let is_edge = |at: u64| {
                let blocks = at.checked_sub(list.from).map(|at| at / u64::from(list.block));
                blocks.is_some_and(|blocks| {
                    blocks <= list.count && list.from + blocks * u64::from(list.block) == at
                })
            };
            if from != end || !is_edge(from) || !is_edge(offset) {
                return Piece::Failed;
            }
            self.unpacking.differing.due = Due::CopyTo(offset);
        }
        self.unpacking.position = offset;
        Piece::Taken
    }

    /// What the store has to do before the next record. `None` if it is nothing.
    pub(super) fn due(&mut self) -> Option<Piece> {
        let due = self.unpacking.differing.due;
        let end = self.sink.end();
        match due {
            // Of a file that the store has accepted nothing is taken before that is known.
            Due::Nothing if self.pending == PendingRequest::Older => {}
            Due::Nothing => return None,
            _ if !self.pending.is_idle() => {}
            Due::CopyTo(to) if !self.is_wanted() || end >= to => {
                self.unpacking.differing.due = Due::Nothing;
                return None;
            }
            Due::CopyTo(_) if self.sink.pending() > 0 => self.pending = PendingRequest::Write,
            Due::CopyTo(to) => self.pending = PendingRequest::Copy { to: to.min(end + STEP) },
            Due::Find { .. } => self.pending = PendingRequest::Find,
        }
        Some(Piece::Wait)
    }

    /// The request about the older version.
    pub(super) fn older_request(&mut self) -> Option<Request<'_>> {
        let differing = &self.unpacking.differing;
        match (self.pending, differing.due) {
            (PendingRequest::Learn, _) => {
                let list = differing.list?;
                let bytes = &self.unpacking.rest_of_block()[..differing.lent];
                Some(Request::Learn { from: list.from, block: list.block, bytes })
            }
            (PendingRequest::Copy { to }, _) => Some(Request::Copy { from: self.sink.end(), to }),
            (PendingRequest::Find, Due::Find { first, count }) => {
                let differing = &mut self.unpacking.differing;
                differing.bits = [0; ASKED_ROOM];
                let len = (count as usize).div_ceil(8);
                Some(Request::Find { first, into: &mut differing.bits[..len] })
            }
            _ => None,
        }
    }

    /// The store has taken bytes of the list, or cannot: then it will find nothing.
    pub(super) fn has_learnt(&mut self) {
        let len = core::mem::take(&mut self.unpacking.differing.lent);
        self.learnt(len);
    }

    /// The store has looked, or cannot.
    pub(super) fn has_looked(&mut self, can: bool) {
        let Due::Find { count, .. } = core::mem::take(&mut self.unpacking.differing.due) else {
            return;
        };
        let bits = &mut self.unpacking.differing.bits;
        if let Some(last) = bits.get_mut(count as usize / 8) {
            *last &= (1 << (count % 8)) - 1;
        }
        let bits = *bits;
        if can && bits.iter().any(|byte| *byte != 0) {
            self.unpacking.say(Mark::Found(bits));
        }
    }

    /// Bytes were taken from the older version. The file is to be compared as one that is continued is.
    pub(super) fn has_copied(&mut self, to: u64) {
        let len = to - self.sink.end();
        self.sink.skip(to);
        self.file.resumed = true;
        self.link.stats.known_bytes += len;
        self.link.stats.current_file_bytes += len;
    }

    /// They were not. What was not found must not be passed over.
    pub(super) fn not_copied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, error: StoreError) {
        if error == StoreError::NotFound {
            self.makes_no_sense(cx, mem);
        } else {
            self.store_failed(cx, mem, error);
        }
    }
}
