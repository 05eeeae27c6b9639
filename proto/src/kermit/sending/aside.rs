//! Files that are under way in bundles: begun, and not yet known to be safe at the receiver. Each is put aside in the
//! store when its end is in a packet, and settled there when that packet is acknowledged, in order.

use super::{Cancel, Core, Current};
use crate::engine::Cx;
use crate::file::{FileInfo, Refusal};
use crate::kermit::attributes;
use crate::kermit::bundle::mark::{Mark, name_of};
use crate::kermit::bundle::{IS_BUILT, MOST_FILES};
use crate::kermit::states::{SenderInput, Sending};
use crate::session::{PendingRequest, QueuedEvent};

/// How many of them may be on their way. The others are settled, and the user is told of them in a moment.
const MOST_UNDER_WAY: usize = MOST_FILES - MOST_FILES / 8;
/// No packet yet.
pub(super) const NOWHERE: u64 = u64::MAX;
/// It is in the chunk that is to be compressed, and will be in a packet.
pub(super) const IN_CHUNK: u64 = u64::MAX - 1;

/// What the user has been told of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Reported {
    #[default]
    Nothing,
    Begun,
    Over,
}

/// A file that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Facts, with an empty name.
    info: FileInfo<'static>,
    name_len: usize,
    /// The packets in which its header and its end are complete.
    pub(super) head_in: u64,
    pub(super) end_in: u64,
    /// Its length, once its end is in a packet.
    pub(super) size: u64,
    /// What the receiver had of it, and what it had in an older version.
    offset: u64,
    pub(super) known: u64,
    /// Why, and whether the peer refused it.
    refused: Option<(Option<Refusal>, bool)>,
    /// Whether the peer cancelled it.
    cancelled: Option<bool>,
    /// A digest of it was sent, and the receiver has compared it.
    pub(super) compared: bool,
    /// The store has put it aside, and has settled it.
    aside: bool,
    over: bool,
    reported: Reported,
}

const NO_FILE: Entry = Entry {
    info: FileInfo {
        name: &[],
        size: None,
        modified: None,
        mode: None,
        kind: crate::file::FileKind::Binary,
        entry: crate::file::Entry::File,
        resume: false,
        compared: false,
        proved: false,
        left: None,
        wish: crate::file::Wish::Unsaid,
        extras: crate::file::Extras::None,
    },
    name_len: 0,
    head_in: NOWHERE,
    end_in: NOWHERE,
    size: 0,
    offset: 0,
    known: 0,
    refused: None,
    cancelled: None,
    compared: false,
    aside: false,
    over: false,
    reported: Reported::Nothing,
};

impl Entry {
    fn is_complete(&self) -> bool {
        self.refused.is_none() && self.cancelled.is_none()
    }
}

/// The files, the oldest first. Their names are in memory, one after the other.
#[derive(Debug)]
pub(super) struct UnderWay {
    files: [Entry; MOST_FILES],
    first: usize,
    count: usize,
    /// Files begun in this session.
    begun: u64,
    /// How many of them, from the first, the store has settled.
    settled: usize,
    names_len: usize,
}

impl UnderWay {
    pub(super) const fn new() -> Self {
        let files = [NO_FILE; MOST_FILES];
        Self { files, first: 0, count: 0, begun: 0, settled: 0, names_len: 0 }
    }

    fn at(&self, index: usize) -> usize {
        (self.first + index) % MOST_FILES
    }

    /// Whether another file can begin. Room is left for some that are settled and not told of yet; what was settled long
    /// ago, and never asked for by the user, makes room.
    pub(super) fn has_room(&mut self, names: &mut [u8]) -> bool {
        let most = crate::kermit::config::MAX_NAME;
        while self.settled > 0 && (self.count == MOST_FILES || names.len() - self.names_len < most)
        {
            self.drop_first(names);
        }
        let settled = (0..self.settled).map(|index| self.files[self.at(index)].name_len);
        let unsettled = self.names_len - settled.sum::<usize>();
        self.count - self.settled < MOST_UNDER_WAY
            && self.count < MOST_FILES
            && unsettled + 2 * most <= names.len()
            && names.len() - self.names_len >= most
    }

    pub(super) fn push(&mut self, info: &FileInfo<'_>, name: &[u8], names: &mut [u8]) {
        let at = self.at(self.count);
        let info = FileInfo { name: &[], ..*info };
        let name_len = name.len().min(names.len() - self.names_len);
        names[self.names_len..self.names_len + name_len].copy_from_slice(&name[..name_len]);
        self.names_len += name_len;
        self.files[at] = Entry { info, name_len, ..NO_FILE };
        self.count += 1;
        self.begun += 1;
    }

    fn drop_first(&mut self, names: &mut [u8]) {
        let len = self.files[self.first].name_len;
        names.copy_within(len..self.names_len, 0);
        self.names_len -= len;
        self.first = self.at(1);
        self.count -= 1;
        self.settled = self.settled.saturating_sub(1);
    }

    fn first(&self) -> Option<&Entry> {
        (IS_BUILT && self.count > 0).then(|| &self.files[self.first])
    }

    /// The file that began last.
    pub(super) fn last_mut(&mut self) -> Option<&mut Entry> {
        let at = self.at(self.count.checked_sub(1)?);
        Some(&mut self.files[at])
    }

    /// The oldest one that the store has not settled.
    fn unsettled(&self) -> Option<&Entry> {
        (self.settled < self.count).then(|| &self.files[self.at(self.settled)])
    }

    /// The chunk ends in this packet.
    pub(super) fn chunk_is_out(&mut self, number: u64) {
        for index in self.settled..self.count {
            let at = self.at(index);
            let file = &mut self.files[at];
            for place in [&mut file.head_in, &mut file.end_in] {
                *place = if *place == IN_CHUNK { number } else { *place };
            }
        }
    }

    /// Whether each file is settled.
    pub(super) fn is_settled(&self) -> bool {
        !IS_BUILT || self.settled == self.count
    }

    /// Its index, by the character of its number.
    fn find(&self, name: u8) -> Option<usize> {
        let oldest = self.begun - self.count as u64;
        (self.settled..self.count).find(|index| name_of(oldest + *index as u64) == name)
    }
}

impl Core {
    /// Whether every file that was sent is safe at the receiver.
    pub(super) fn has_stored(&self) -> bool {
        !self.bundles() || self.under_way.is_settled()
    }

    /// Whether everything is over: each packet acknowledged, each file settled.
    pub(super) fn is_over(&self) -> bool {
        self.state == Sending::Break && self.flight.is_empty() && self.under_way.is_settled()
    }

    /// The facts that events are about: of the oldest file in bundles, of the current one else.
    pub(super) fn told_info<'a>(&self, name: &'a [u8], names: &'a [u8]) -> FileInfo<'a> {
        match self.under_way.first() {
            Some(file) => FileInfo { name: &names[..file.name_len], ..file.info },
            None => FileInfo { name: &name[..self.file.name_len], ..self.file.info },
        }
    }

    /// Whether there is something to tell of the oldest file.
    pub(super) fn has_news(&self) -> bool {
        self.under_way.first().is_some_and(|file| match file.reported {
            Reported::Nothing => file.head_in < self.flight.low || file.over,
            Reported::Begun => file.over,
            Reported::Over => true,
        })
    }

    /// Puts the next thing to tell of files into the queue, if it is empty: names change with each.
    pub(super) fn tell(&mut self, names: &mut [u8]) {
        while self.link.notes.is_empty() && self.has_news() {
            let at = self.under_way.first;
            let file = &mut self.under_way.files[at];
            match file.reported {
                Reported::Nothing => {
                    file.reported = Reported::Begun;
                    if file.over {
                        self.link.stats.known_bytes += file.known;
                    }
                    if file.refused.is_none() {
                        self.link.notes.push(QueuedEvent::Started { offset: file.offset });
                    }
                }
                Reported::Begun => {
                    file.reported = Reported::Over;
                    let (size, verified) = (file.size, file.compared);
                    self.link.notes.push(match (file.refused, file.cancelled) {
                        (Some((why, by_peer)), _) => QueuedEvent::Refused { why, by_peer },
                        (None, Some(by_peer)) => QueuedEvent::Cancelled { by_peer },
                        (None, None) => QueuedEvent::Done { size, verified },
                    });
                }
                Reported::Over => self.under_way.drop_first(names),
            }
        }
    }

    /// An acknowledgement has marks about files.
    pub(super) fn marked(&mut self, number: u64, mut data: &[u8]) {
        while let Some((name, mark, rest)) = Mark::take(data) {
            data = rest;
            let Some(index) = self.under_way.find(name) else { continue };
            let is_current = index + 1 == self.under_way.count;
            let at = self.under_way.at(index);
            let file = &mut self.under_way.files[at];
            // Its end is not in a packet yet.
            let open = is_current && file.end_in == NOWHERE;
            match mark {
                Mark::Refused(tag) => {
                    file.refused = Some((attributes::refusal_of(Some(tag)), true));
                    self.file.refused |= open;
                }
                Mark::Resumed(offset) if file.info.size.is_some_and(|size| offset > size) => {
                    // The peer has more than there is: not the same file.
                    file.refused = Some((Some(Refusal::Resume), false));
                    self.file.refused |= open;
                }
                Mark::Resumed(offset) => {
                    file.offset = offset;
                    if open && file.info.resume {
                        self.packing.continues = Some(offset);
                    }
                }
                Mark::Cancelled | Mark::AllCancelled => {
                    file.cancelled = Some(true);
                    if mark == Mark::AllCancelled {
                        self.cancel = Cancel::Batch { by_peer: true };
                    } else if open && self.cancel == Cancel::No {
                        self.cancel = Cancel::File { by_peer: true };
                    }
                }
                Mark::Unproved => file.compared = false,
                Mark::Older if open => self.differing.told(),
                Mark::Older => {}
                Mark::Found(bits) => self.differing.found(number, bits),
            }
        }
    }

    /// The end of the current file is in this packet.
    pub(super) fn end_is_out(&mut self, number: u64) {
        let size = self.source.offset;
        let by_peer = match self.cancel {
            Cancel::File { by_peer } | Cancel::Batch { by_peer } => Some(by_peer),
            Cancel::No => None,
        };
        let cut = self.packing.cut;
        if let Some(file) = self.under_way.last_mut() {
            file.end_in = number;
            file.size = size;
            if cut && file.refused.is_none() && file.cancelled.is_none() {
                file.cancelled = by_peer;
            }
        }
    }

    /// What the store should be asked first: to settle the oldest file, if the receiver has it.
    pub(super) fn ask_to_settle(&mut self) {
        let low = self.flight.low;
        let Some(file) = self.under_way.unsettled().filter(|_| self.pending.is_idle()) else {
            return;
        };
        if file.end_in >= low {
            return;
        }
        let complete = file.is_complete();
        let verified = complete && file.compared;
        if file.aside {
            self.pending = PendingRequest::Settle { complete, verified };
        } else if self.packing.alone {
            self.pending = PendingRequest::Close { complete, verified };
        }
    }

    /// The store has put the current file aside, or cannot.
    pub(super) fn put_aside(&mut self, cx: &mut Cx<'_>, can: bool) {
        if !can {
            self.packing.alone = true;
            return;
        }
        if let Some(file) = self.under_way.last_mut() {
            file.aside = true;
        }
        self.next_in_bundle(cx);
    }

    fn next_in_bundle(&mut self, cx: &mut Cx<'_>) {
        self.file = Current::default();
        if !matches!(self.cancel, Cancel::Batch { .. }) {
            self.cancel = Cancel::No;
        }
        self.enter(cx, SenderInput::Ready);
    }

    /// The store has settled the oldest file.
    pub(super) fn settled(&mut self, cx: &mut Cx<'_>) {
        let at = self.under_way.at(self.under_way.settled);
        let file = &mut self.under_way.files[at];
        file.over = true;
        // Only between its FileStarted and FileDone events.
        if file.reported == Reported::Begun {
            self.link.stats.known_bytes += file.known;
        }
        self.under_way.settled += 1;
        if file.is_complete() {
            self.link.stats.files_done += 1;
        } else {
            self.link.stats.files_skipped += 1;
        }
        if self.packing.alone {
            self.next_in_bundle(cx);
        }
    }
}
