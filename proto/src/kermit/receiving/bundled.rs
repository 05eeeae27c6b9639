//! Taking files out of bundles (the module `bundle`). A packet is acknowledged when all that is in it is done; what
//! is to be said of its files is in the acknowledgement.

use super::decompression::Decompression;
use super::differing::Differing;
use super::{Cancel, Core, Current, Mem, Piece, Waiting};
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::{Entry, FileKind};
use crate::kermit::attributes::{self, Attributes};
use crate::kermit::bundle::head::{self, Head};
use crate::kermit::bundle::lines::Lines;
use crate::kermit::bundle::mark::{ALSO, ANSWER, LONGEST, Mark, ROOM};
use crate::kermit::bundle::radix::alphabet;
use crate::kermit::bundle::record::{Record, Records};
use crate::kermit::bundle::runs::Runs;
use crate::kermit::bundle::{BLOCK_ROOM, CAREFUL, IS_BUILT, MOST_ANSWERS, PROBE};
use crate::kermit::check::tochar;
use crate::kermit::config::Names;
use crate::kermit::flight::MAX_SLOTS;
use crate::kermit::names::from_common;
use crate::kermit::probe;
use crate::kermit::states::{ReceiverInput, Receiving};
use crate::session::Text;
use crate::time::Duration;
use crate::trace::TraceEvent;

/// What a receiver of bundles keeps.
#[derive(Debug)]
pub(super) struct Unpacking {
    pub(super) records: Records,
    /// Decoded bytes of the packet in hand: `at..len`.
    block: [u8; BLOCK_ROOM],
    at: usize,
    len: usize,
    /// Where the rest of its data field is in `hold`, and its alphabet.
    digits: (usize, usize),
    letter: u8,
    /// Files begun in this session.
    begun: u64,
    /// Where the next byte of the file belongs that the sender sends.
    pub(super) position: u64,
    lines: Option<Lines>,
    runs: Runs,
    /// Bytes of the file out of which runs were undone: `plain_at..plain_len`.
    plain: [u8; BLOCK_ROOM],
    plain_at: usize,
    plain_len: usize,
    /// What is to be said of the files of the packet in hand.
    said: Text<ROOM>,
    /// The marks in the acknowledgements of the last packets, and how many of them, up to the last, had none.
    answers: [Text<ANSWER>; MOST_ANSWERS],
    silent: u64,
    /// A file whose header came, and which is offered as soon as the user has heard of those before: its name is in
    /// `next_name` until then.
    next: Option<Current>,
    /// The digest that came with the end.
    digest: Option<[u8; 8]>,
    /// The most wrong characters in a code word of the packet that is to be acknowledged.
    pub(super) errors: Option<usize>,
    /// The number of a B that came before its turn.
    ends_at: Option<u64>,
    /// The silence between the agreement and the first packet after it.
    opening: Duration,
    /// The stream of records may come out of it.
    pub(super) frame: Decompression,
    pub(super) differing: Differing,
}

/// More than that is no round trip.
const LONGEST_OPENING: Duration = Duration::from_secs(5);

impl Unpacking {
    pub(super) fn new() -> Self {
        Self {
            records: Records::new(),
            block: [0; BLOCK_ROOM],
            at: 0,
            len: 0,
            digits: (0, 0),
            letter: CAREFUL,
            begun: 0,
            position: 0,
            lines: None,
            runs: Runs::default(),
            plain: [0; BLOCK_ROOM],
            plain_at: 0,
            plain_len: 0,
            said: Text::new(),
            answers: [const { Text::new() }; MOST_ANSWERS],
            silent: 0,
            next: None,
            digest: None,
            errors: None,
            ends_at: None,
            opening: Duration::ZERO,
            frame: Decompression::default(),
            differing: Differing::default(),
        }
    }

    /// Decoded bytes of the packet in hand that are not yet read.
    pub(super) fn rest_of_block(&self) -> &[u8] {
        &self.block[self.at..self.len]
    }

    /// This number of them is read.
    pub(super) fn pass(&mut self, len: usize) {
        self.at += len;
    }

    /// Decodes the next block if the last one is read. False if there is none.
    pub(super) fn has_block(&mut self, hold: &[u8]) -> bool {
        self.at < self.len || self.refill(hold)
    }

    /// This number of bytes of the stream is read.
    fn read(&mut self, len: usize) {
        if self.frame.has_some() { self.frame.at += len } else { self.at += len }
    }

    /// Says something of the current file.
    pub(super) fn say(&mut self, mark: Mark) {
        let mut text = [0; LONGEST];
        let len = mark.put(self.begun.saturating_sub(1), &mut text);
        self.said.put(&text[..len]);
    }

    /// Decodes the next block. False if there is none.
    fn refill(&mut self, hold: &[u8]) -> bool {
        let (from, to) = self.digits;
        let Some(alphabet) = alphabet(self.letter).filter(|_| to - from > 1) else { return false };
        let len = (to - from).min(alphabet.block_len() + 1);
        // What is no block gives wrong bytes, which the digest finds, as it does others that pass the check.
        alphabet.decode(&hold[from..from + len], &mut self.block[..len - 1]);
        self.digits.0 += len;
        self.at = 0;
        self.len = len - 1;
        true
    }
}

impl Core {
    /// Whether everything comes in bundles.
    pub(super) fn bundles(&self) -> bool {
        // Without the feature the compiler leaves out what depends on it.
        IS_BUILT && self.link.agreed.bundle
    }

    /// The digest that came with the end of the file.
    pub(super) fn bundled_digest(&self) -> Option<[u8; 8]> {
        self.unpacking.digest.filter(|_| IS_BUILT)
    }

    /// B came before its turn: what is missing before it is requested, and it is treated after that.
    pub(super) fn ends_at(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u64) {
        self.unpacking.ends_at = Some(number);
        while let Some(missing) = self.arrivals.ask(number) {
            self.nak(cx, mem, missing);
        }
    }

    /// Whether it is the turn of a B that came before.
    pub(super) fn is_at_end(&self) -> bool {
        self.bundles() && self.unpacking.ends_at == Some(self.arrivals.next)
    }

    /// How long to repeat answers after the end: answers to the last packets may be lost as well as that to B.
    pub(super) fn linger(&self) -> Duration {
        let linger = self.link.config.linger.get();
        if self.bundles() { linger + self.unpacking.opening * 4 } else { linger }
    }

    /// The first packet after the agreement came after this silence: a round trip.
    pub(super) fn opened_after(&mut self, gap: Duration) {
        if self.bundles() && self.arrivals.next == 1 {
            self.unpacking.opening = gap.min(LONGEST_OPENING);
        }
    }

    /// The marks in the acknowledgement of a packet.
    pub(super) fn said_before(&self, number: u64) -> Text<ANSWER> {
        self.unpacking.answers[(number % MOST_ANSWERS as u64) as usize]
    }

    /// A packet whose turn it is.
    pub(super) fn unpack(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, data: &[u8]) {
        let len = data.len().min(mem.hold.len());
        mem.hold[..len].copy_from_slice(&data[..len]);
        let (_, probed) = probe::codes();
        let (letter, from) = match data.first() {
            Some(&PROBE) => (CAREFUL, (1 + probed).min(len)),
            Some(letter) => (*letter, 1),
            None => (CAREFUL, 0),
        };
        if alphabet(letter).is_none() {
            return self.makes_no_sense(cx, mem);
        }
        self.unpacking.letter = letter;
        self.unpacking.digits = (from, len);
        self.unpacking.said.set(b"");
        self.link.stats.encoded_bytes += len as u64;
        self.waiting = Waiting::Unpack;
        self.unpack_on(cx, mem);
    }

    /// Continues with the packet in hand, as far as store and user allow.
    pub(super) fn unpack_on(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        while self.bundles() && self.waiting == Waiting::Unpack && self.link.ending.is_running() {
            match self.next_piece(cx, mem) {
                Piece::Taken => {}
                Piece::Wait => return,
                Piece::Over => return self.unpacked(cx, mem),
                Piece::Failed => return self.makes_no_sense(cx, mem),
            }
        }
    }

    /// Whether a file is to be offered of whose forerunners the user has not heard yet.
    pub(super) fn is_to_be_told(&self) -> bool {
        self.bundles() && self.unpacking.next.is_some() && !self.link.notes.is_empty()
    }

    /// The file that is offered becomes the one that is told of.
    pub(super) fn take_next(&mut self, mem: &mut Mem<'_>) {
        if self.bundles()
            && let Some(next) = self.unpacking.next.take()
        {
            self.file = next;
            mem.name[..next.name_len].copy_from_slice(&mem.next_name[..next.name_len]);
        }
    }

    /// The beginning of an acknowledgement: it also covers the packets before, as far as they had no marks.
    pub(super) fn also(&self) -> Text<ANSWER> {
        let mut answer = Text::new();
        if self.bundles() && self.unpacking.silent > 0 && self.arrivals.window() > 1 {
            answer.put(&[ALSO, tochar(self.unpacking.silent as u8)]);
        }
        answer
    }

    pub(super) fn makes_no_sense(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let say = Some("Unknown data in a packet");
        self.fail(cx, mem, Blame::Peer, FailureKind::Violation, say);
    }

    /// All that is in the packet is done.
    fn unpacked(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.waiting = Waiting::Nothing;
        let number = self.arrivals.next;
        match self.cancel {
            Cancel::Ask(letter) | Cancel::Said(letter) if self.state == Receiving::Data => {
                self.unpacking.say(cancelled(letter));
                self.cancel = Cancel::Said(letter);
            }
            _ => {}
        }
        let mut answer = self.also();
        answer.put(self.take_errors().as_bytes());
        answer.put(self.unpacking.said.as_bytes());
        self.unpacking.silent = if self.unpacking.said.as_bytes().is_empty() {
            (self.unpacking.silent + 1).min(MAX_SLOTS as u64 - 1)
        } else {
            0
        };
        self.unpacking.answers[(number % MOST_ANSWERS as u64) as usize] = answer;
        self.ack(cx, mem, number, answer.as_bytes());
        self.arrivals.advance();
    }

    fn next_piece(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> Piece {
        if let Some(piece) = self.due() {
            return piece;
        }
        if self.unpacking.plain_at < self.unpacking.plain_len {
            let (plain, at) = (self.unpacking.plain, self.unpacking.plain_at);
            return match self.take_data(mem, &plain[at..self.unpacking.plain_len]) {
                Ok(0) => Piece::Wait,
                Ok(taken) => {
                    self.unpacking.plain_at += taken;
                    Piece::Taken
                }
                Err(()) => Piece::Failed,
            };
        }
        if self.unpacking.frame.has_some() {
            let unpacked = core::mem::take(&mut mem.unpacked);
            let frame = &self.unpacking.frame;
            let piece = self.next_record(cx, mem, &unpacked[frame.at..frame.len]);
            mem.unpacked = unpacked;
            return piece;
        }
        if self.unpacking.frame.is_open() {
            return self.read_frame(mem.hold);
        }
        if !self.unpacking.has_block(mem.hold) {
            return Piece::Over;
        }
        let (block, at, len) = (self.unpacking.block, self.unpacking.at, self.unpacking.len);
        self.next_record(cx, mem, &block[at..len])
    }

    /// The next record of the stream, or a part of it.
    fn next_record(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, raw: &[u8]) -> Piece {
        let busy = !self.pending.is_idle();
        // The store closes one file before it is offered another.
        if self.unpacking.records.is_before_head(raw[0]) && busy {
            return Piece::Wait;
        }
        let framed = self.unpacking.frame.has_some();
        let (used, found) = self.unpacking.records.next(raw, mem.next_name);
        self.unpacking.read(used);
        let Ok(found) = found else { return Piece::Failed };
        match found {
            None => Piece::Taken,
            Some(Record::Packed) => self.frame_begins(),
            Some(Record::Head { name_len }) => self.headed(cx, mem, name_len),
            Some(Record::Attributes) if self.state == Receiving::Attributes => {
                let list = self.unpacking.records.list();
                if let Some(next) = &mut self.unpacking.next {
                    next.attributes.add_of(list, self.link.config.taken_tags);
                }
                self.offer(cx);
                Piece::Wait
            }
            // Of a file that is not wanted.
            Some(Record::Attributes) if self.state == Receiving::Data && self.file.unwanted => {
                Piece::Taken
            }
            Some(Record::Data { left, runs }) if self.state == Receiving::Data => {
                self.data(mem, &raw[used..], left, runs)
            }
            Some(Record::Seek(offset)) if self.state == Receiving::Data => self.passed_over(offset),
            // Signatures are taken from the packet in hand.
            Some(Record::List { .. } | Record::Question { .. }) if framed => Piece::Failed,
            Some(Record::List { block, count }) if self.state == Receiving::Data => {
                self.listed(mem, block, count)
            }
            Some(Record::Signatures { left }) if self.state == Receiving::Data => {
                self.signatures(raw.len() - used, left)
            }
            Some(Record::Question { first, count }) if self.state == Receiving::Data => {
                self.asked(first, count)
            }
            Some(Record::End { digest }) if self.state == Receiving::Data => {
                self.unpacking.digest = digest;
                self.ended(cx, mem, false)
            }
            Some(Record::Cut) if self.state == Receiving::Data => self.ended(cx, mem, true),
            Some(_) => Piece::Failed,
        }
    }

    /// A file begins.
    fn headed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, name_len: usize) -> Piece {
        if self.state != Receiving::File {
            return Piece::Failed;
        }
        let head = self.unpacking.records.head();
        let mut name_len = name_len;
        if name_len == 0 {
            let none = b"NONAME";
            mem.next_name[..none.len()].copy_from_slice(none);
            name_len = none.len();
        } else if self.link.config.names == Names::Converted {
            from_common(&mut mem.next_name[..name_len]);
        }
        let screen = head.flags & head::SCREEN != 0;
        self.unpacking.begun += 1;
        self.unpacking.position = 0;
        self.unpacking.digest = None;
        self.unpacking.differing = Differing::default();
        if cx.trace.enabled() {
            let text = &mem.next_name[..name_len];
            cx.trace.record(cx.now, &TraceEvent::Text { name: "file", text });
        }
        self.enter(cx, ReceiverInput::Named);
        if matches!(self.cancel, Cancel::Ask(b'Z') | Cancel::Said(b'Z')) {
            // The sender did not know yet that no more files are accepted.
            self.enter(cx, ReceiverInput::Described);
            self.enter(cx, ReceiverInput::Decided);
            let Current { name_len, screen, attributes, .. } = self.file;
            self.file = Current { name_len, screen, attributes, ..Current::default() };
            self.file.unwanted = true;
            return Piece::Taken;
        }
        self.cancel = Cancel::No;
        let mut next = Current { name_len, screen, ..Current::default() };
        if head.flags & head::MORE == 0 {
            self.describe_by(&head, &mut next.attributes);
        }
        self.unpacking.next = Some(next);
        if head.flags & head::MORE != 0 {
            return Piece::Taken;
        }
        self.offer(cx);
        Piece::Wait
    }

    /// What a header says, as attributes.
    fn describe_by(&self, head: &Head, attributes: &mut Attributes) {
        let heeded = self.link.config.taken_tags;
        let zone = self.link.config.zone;
        attributes.size = head.size.filter(|_| heeded.contains(b'1'));
        let mode = head.mode.filter(|_| heeded.contains(b','));
        attributes.mode = mode.map(|mode| mode & 0o777);
        attributes.entry = mode.map_or(Entry::File, Entry::of_mode);
        let modified = head.modified.filter(|_| heeded.contains(b'#'));
        attributes.modified_local = modified.map(|time| zone.to_local(time));
        if self.link.agreed.attributes && heeded.contains(b'"') {
            let text = head.flags & head::TEXT != 0;
            attributes.kind = Some(if text { FileKind::Text } else { FileKind::Binary });
        }
        if head.flags & head::RESUME != 0 && heeded.contains(b'+') {
            attributes.disposition = Some(b'R');
        }
        attributes.complete = true;
    }

    /// The store has decided on a file.
    pub(super) fn bundle_decided(&mut self, offset: u64, text: bool) {
        self.waiting = Waiting::Unpack;
        self.unpacking.lines = text.then(Lines::default);
        match self.file.refusal {
            Some(why) => {
                let tag = self.file.attributes.unsupported;
                self.unpacking.say(Mark::Refused(tag.unwrap_or(attributes::refusal_tag(why))));
                // What is refused is not to be cancelled, too.
                self.cancel = Cancel::No;
            }
            None if offset > 0 => self.unpacking.say(Mark::Resumed(offset)),
            None if self.unpacking.differing.is_older() => self.unpacking.say(Mark::Older),
            None => {}
        }
    }

    /// Bytes of a data record.
    fn data(&mut self, mem: &mut Mem<'_>, raw: &[u8], left: usize, runs: bool) -> Piece {
        let unpacking = &mut self.unpacking;
        if runs {
            let (used, made) = unpacking.runs.undo(raw, &mut unpacking.plain, left);
            unpacking.read(used);
            unpacking.plain_at = 0;
            unpacking.plain_len = made;
            unpacking.records.passed(made);
            if made == left {
                unpacking.runs = Runs::default();
            }
            return Piece::Taken;
        }
        match self.take_data(mem, &raw[..raw.len().min(left)]) {
            Ok(0) => Piece::Wait,
            Ok(taken) => {
                self.unpacking.read(taken);
                self.unpacking.records.passed(taken);
                Piece::Taken
            }
            Err(()) => Piece::Failed,
        }
    }

    /// Bytes of the file; how many were taken.
    fn take_data(&mut self, mem: &mut Mem<'_>, raw: &[u8]) -> Result<usize, ()> {
        let taken = if self.file.unwanted || self.cancel != Cancel::No {
            if self.passes_too_much(mem, raw.len()) {
                return Err(());
            }
            raw.len()
        } else {
            let at = self.sink.end();
            let ahead = at.saturating_sub(self.unpacking.position);
            if self.unpacking.lines.is_none() && ahead > 0 {
                // The sender did not know yet that this is there already.
                usize::try_from(ahead).map_or(raw.len(), |ahead| ahead.min(raw.len()))
            } else if self.unpacking.lines.is_none() && self.unpacking.position > at {
                return Err(());
            } else if self.file.resumed && self.unpacking.position == 0 {
                // Text, whose sender waits until it knows where it continues.
                return Err(());
            } else {
                self.store_raw(mem, raw)
            }
        };
        self.unpacking.position += taken as u64;
        Ok(taken)
    }

    fn store_raw(&mut self, mem: &mut Mem<'_>, raw: &[u8]) -> usize {
        let lines = &mut self.unpacking.lines;
        let (used, made) = self.sink.take(mem.file, raw, |from, to| {
            if let Some(lines) = lines {
                return lines.take(from, to);
            }
            let len = from.len().min(to.len());
            to[..len].copy_from_slice(&from[..len]);
            (len, len)
        });
        self.link.stats.file_bytes += made as u64;
        self.link.stats.current_file_bytes += made as u64;
        if self.pending.is_idle() && (used < raw.len() || self.sink.pending() >= self.write_at) {
            self.pending = crate::session::PendingRequest::Write;
        }
        used
    }

    /// The file's end came.
    fn ended(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, cut: bool) -> Piece {
        if let Some(lines) = self.unpacking.lines.as_mut().filter(|_| !cut) {
            let lines = core::mem::take(lines);
            let (_, made) = self.sink.take(mem.file, &[], |_, to| {
                let mut lines = lines;
                (0, lines.finish(to))
            });
            self.link.stats.file_bytes += made as u64;
            self.link.stats.current_file_bytes += made as u64;
        }
        // A file that the store does not have open is over at once.
        self.close(cx, mem, if cut { b"D" } else { b"" });
        Piece::Taken
    }

    /// The file is safe, or gone.
    pub(super) fn bundle_closed(&mut self, cx: &mut Cx<'_>, given_up: Option<u8>, verified: bool) {
        self.waiting = Waiting::Unpack;
        if let Some(letter) = given_up {
            self.unpacking.say(cancelled(letter));
        } else if self.unpacking.digest.is_some()
            && !verified
            && !self.file.discard
            && self.file.refusal.is_none()
        {
            self.unpacking.say(Mark::Unproved);
        }
        self.enter(cx, ReceiverInput::Closed);
    }
}

fn cancelled(letter: u8) -> Mark {
    if letter == b'Z' { Mark::AllCancelled } else { Mark::Cancelled }
}
