//! The receiver's files: names, decisions, data and the safe end, between headers and store.

use super::{AfterClose, Core, Current, Expecting, Held};
use super::{Mem, command::NOT_RUN};
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::{
    DigestKind, Extras, FileInfo, FileKind, Refusal, RemoteReply, Reply, Wish, ZmodemExtras,
};
use crate::session::{PendingRequest, QueuedEvent};
use crate::trace::TraceEvent;
use crate::zmodem::info::MAX_NAME;
use crate::zmodem::info::{self, FileOptions, Transport};
use crate::zmodem::packet::{Header, PACKS, kind};
use crate::zmodem::rle;
use crate::zmodem::states::{ReceiverInput, Receiving};

/// How often a sender is asked for a CRC of the stored part.
const MOST_CHECKS: u32 = 3;

impl Core {
    /// The data of ZFILE is in the sink's space.
    pub(super) fn file_info(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        options: &FileOptions,
        len: usize,
    ) {
        // Its check was right, so the sender really sent no name.
        let information = &self.sink.space(mem.file)[..len];
        let tag = info::tag(information);
        let info = info::parse(information, options).unwrap_or_default();
        let fits = (1..=MAX_NAME).contains(&info.name.len());
        let name_len = info.name.len().min(MAX_NAME);
        // Two files may have the same local name: more of it is compared.
        let same = tag == self.tag && self.files > 0;
        self.offered = false;
        match self.state {
            // The answer to the first one was lost.
            Receiving::Data if same && self.link.too_soon(cx.now) => return,
            Receiving::Data if same => return self.repeat(cx, mem),
            Receiving::Skip if same && self.link.said_lately(cx.now) => return,
            Receiving::Skip if same && self.link.asked_enough() => return self.too_often(cx, mem),
            Receiving::Skip if same => return self.say_skip(cx, mem, true),
            // The sender has abandoned the open file. It will retransmit the ZFILE.
            Receiving::Data => {
                self.link.notes.push(QueuedEvent::Cancelled { by_peer: true });
                return self.begin_close(cx, AfterClose::Left);
            }
            _ => {}
        }
        mem.name[..name_len].copy_from_slice(&info.name[..name_len]);
        let kind = if self.link.config.receive_binary { FileKind::Binary } else { info.kind };
        let compared = self.link.config.resume_check;
        let facts = FileInfo { name: &[], kind, compared, ..info };
        self.file = Current { info: facts, name_len, open: false };
        self.file.info.resume |= self.link.config.resume && facts.kind == FileKind::Binary;
        self.link.answered(cx.now);
        self.tag = tag;
        self.faults = 0;
        self.headers = 0;
        self.closed_at = None;
        self.doubted = None;
        self.unwanted = false;
        self.files += 1;
        if cx.trace.enabled() {
            let text = &mem.name[..name_len];
            cx.trace.record(cx.now, &TraceEvent::Text { name: "file", text });
        }
        if self.files > self.link.config.max_files {
            return self.fail(cx, mem, Blame::Peer, FailureKind::Violation);
        }
        let coded = match options.transport {
            Transport::Plain => false,
            Transport::Rle => !self.link.config.rle,
            _ => true,
        };
        let too_long = self.file.info.size.is_some_and(|size| size > u64::from(u32::MAX));
        let refusal = [
            (!fits, Refusal::Name),
            (too_long, Refusal::TooLong),
            (coded, Refusal::Kind),
            (self.last, Refusal::Declined),
        ];
        match refusal.into_iter().find(|(refused, _)| *refused) {
            Some((_, why)) => self.refuse(cx, mem, why),
            None => self.offer(cx),
        }
    }

    fn offer(&mut self, cx: &mut Cx<'_>) {
        self.enter(cx, ReceiverInput::File);
        self.pending = PendingRequest::Offer;
    }

    fn refuse(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, why: Refusal) {
        self.link.notes.push(QueuedEvent::Refused { why: Some(why), by_peer: false });
        self.link.stats.files_skipped += 1;
        self.file.open = false;
        self.say_skip(cx, mem, false);
    }

    pub(super) fn say_skip(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, again: bool) {
        if !again {
            self.enter(cx, ReceiverInput::Refused);
        }
        self.offered = false;
        // Only for our own senders; others' values are ignored.
        self.link.say(cx, mem.out, &Header::hex(kind::ZSKIP, self.tag));
        self.link.expect_answer(cx.now, again);
    }

    fn accepted(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, offset: u64) {
        self.file.open = true;
        self.check = None;
        self.sink.begin(offset, self.file.info.kind == FileKind::Text);
        self.position = offset;
        if self.unwanted {
            return self.skip_open(cx);
        }
        if offset == 0 {
            return self.start_data(cx, mem);
        }
        let beyond = self.file.info.size.is_some_and(|size| offset > size);
        if beyond || offset > u64::from(u32::MAX) || self.file.info.kind == FileKind::Text {
            return self.offer_again(cx);
        }
        if !self.link.config.resume_check {
            return self.start_data(cx, mem);
        }
        // The stored part may belong to another file.
        self.enter(cx, ReceiverInput::Unsure);
        self.pending = PendingRequest::Digest { kind: DigestKind::Crc32, len: offset };
    }

    fn start_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.enter(cx, ReceiverInput::Accepted);
        self.faults = 0;
        self.link.stats.current_file_bytes = self.position;
        self.link.notes.push(QueuedEvent::Started { offset: self.position });
        self.link.question = None;
        self.heard = cx.now;
        self.link.say(cx, mem.out, &Header::hex(kind::ZRPOS, self.position as u32));
        self.link.expect_answer(cx.now, false);
    }

    /// The stored part is useless: the file is offered again without `resume` while it
    /// is open, which tells the store so.
    fn offer_again(&mut self, cx: &mut Cx<'_>) {
        self.file.info.resume = false;
        self.link.question = None;
        self.offer(cx);
    }

    /// The store requests the sender's CRC of the whole file.
    fn fetch_check(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.file.info.extras.zmodem().check.is_some() {
            // It is known already.
            self.file.info.wish = Wish::Unsaid;
            return self.offer(cx);
        }
        self.enter(cx, ReceiverInput::Unsure);
        // 0 bytes means all.
        self.check = None;
        self.position = 0;
        self.say_check(cx, mem, false);
    }

    /// The sender does not send its CRC.
    fn no_check(&mut self, cx: &mut Cx<'_>) {
        self.unchecked = self.position;
        if self.check.is_some() {
            return self.offer_again(cx);
        }
        self.file.info.wish = Wish::Unsaid;
        self.link.question = None;
        self.offer(cx);
    }

    pub(super) fn say_check(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, again: bool) {
        if self.link.question.is_some_and(|question| again && question.copies >= MOST_CHECKS) {
            return self.no_check(cx);
        }
        self.link.say(cx, mem.out, &Header::hex(kind::ZCRC, self.position as u32));
        self.link.expect_answer(cx.now, again);
    }

    /// The sender's CRC, of the stored part or for the store.
    pub(super) fn compare(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, crc: u32) {
        self.link.answered(cx.now);
        match self.check {
            Some(ours) if ours == crc => self.start_data(cx, mem),
            Some(_) => self.offer_again(cx),
            None => {
                let extras = self.file.info.extras.zmodem();
                let extras = ZmodemExtras { check: Some(crc), ..extras };
                self.file.info.extras = Extras::Zmodem(extras);
                self.offer(cx);
            }
        }
    }

    /// Good bytes of the sender's file, in how many they were coded, and how many of them were received.
    pub(super) fn stored(&mut self, _: &Cx<'_>, len: usize, coded: usize, made: usize) {
        self.position += len as u64;
        let stats = &mut self.link.stats;
        stats.file_bytes += made as u64;
        stats.current_file_bytes += made as u64;
        stats.encoded_bytes += coded as u64;
        if self.pending.is_idle() && self.sink.pending() >= self.write_at {
            self.pending = PendingRequest::Write;
        }
    }

    /// Decodes held data, as far as there is room.
    pub(super) fn decode_runs(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let Some(Held { at, len, end }) = self.held else { return };
        if PACKS && self.expecting == Expecting::Packed {
            return self.undo_on(cx, mem);
        }
        // Make room for the longest run if possible.
        self.sink.room(mem.file, 128);
        let coded = &mem.hold[at..len];
        let Some((used, made)) = rle::decode(coded, self.sink.space(mem.file)) else {
            // The check was right, so the sender produced invalid codes.
            return self.fail(cx, mem, Blame::Peer, FailureKind::Violation);
        };
        let stored = self.sink.commit(mem.file, made);
        // Positions count the bytes of the file.
        self.stored(cx, made, made, stored);
        if at + used < len {
            self.held = Some(Held { at: at + used, len, end });
            if self.pending.is_idle() {
                self.pending = PendingRequest::Write;
            }
            return;
        }
        self.held = None;
        self.data_done(cx, mem, end);
    }

    /// ZEOF: the file is complete.
    pub(super) fn close(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let made = self.sink.finish(mem.file) as u64;
        self.link.stats.file_bytes += made;
        self.link.stats.current_file_bytes += made;
        self.begin_close(cx, AfterClose::Ready { complete: true });
    }

    /// The file ends, complete if the sender may continue.
    pub(super) fn begin_close(&mut self, cx: &mut Cx<'_>, after: AfterClose) {
        self.link.question = None;
        self.after = after;
        self.enter(cx, ReceiverInput::FileOver);
        if self.pending != PendingRequest::Write {
            self.pending = PendingRequest::Nothing;
            self.close_on();
        }
    }

    /// The next step of closing: write what is left, close.
    fn close_on(&mut self) {
        self.pending = if self.sink.pending() > 0 {
            PendingRequest::Write
        } else {
            PendingRequest::close(self.after == (AfterClose::Ready { complete: true }))
        };
    }

    /// The file is durable, or removed: tell the sender.
    pub(super) fn closed(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        input: ReceiverInput,
        complete: bool,
    ) {
        if complete {
            self.link.stats.files_done += 1;
            self.link.notes.push(QueuedEvent::Done { size: self.sink.end(), verified: false });
        }
        match self.after {
            AfterClose::Ready { complete } => {
                self.closed_at = complete.then_some(self.position);
                self.link.stats.files_skipped += u64::from(!complete);
                self.enter(cx, input);
                self.say_ready(cx, mem, false);
            }
            AfterClose::Left => {
                self.link.stats.files_skipped += 1;
                self.file = Current::default();
                self.enter(cx, input);
                self.link.say(cx, mem.out, &Header::hex(kind::ZNAK, 0));
                self.link.expect_answer(cx.now, false);
            }
            AfterClose::Skip => {
                self.link.stats.files_skipped += 1;
                self.link.output.drop_unsent();
                self.say_attention(cx, mem);
                self.say_skip(cx, mem, false);
            }
        }
    }

    /// The store has answered.
    pub(super) fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let pending = self.pending.take();
        match (pending, reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Offer, Reply::Accept { offset }) => self.accepted(cx, mem, offset),
            (PendingRequest::Offer, Reply::Refuse(why)) => self.refuse(cx, mem, why),
            (PendingRequest::Offer, Reply::TellCheck) => self.fetch_check(cx, mem),
            (PendingRequest::Run { .. }, Reply::Remote(RemoteReply::Ran(status))) => {
                self.command_ended(cx, mem, status);
            }
            (PendingRequest::Run { .. }, Reply::Failed(_)) => self.command_ended(cx, mem, NOT_RUN),
            (PendingRequest::Write, Reply::Done) => self.written(cx, mem),
            (PendingRequest::Unpack { .. }, Reply::Unpacked { used, made, over }) if PACKS => {
                self.undone(cx, mem, used, made, over);
                self.undo_on(cx, mem);
            }
            (PendingRequest::Unpack { .. }, Reply::Failed(_)) if PACKS => {
                // Its check was right, so the sender really sent no frame.
                self.fail(cx, mem, Blame::Peer, FailureKind::Violation);
            }
            (PendingRequest::Digest { .. }, Reply::Digest(digest)) => {
                let [a, b, c, d, ..] = digest;
                self.check = Some(u32::from_be_bytes([a, b, c, d]));
                self.say_check(cx, mem, false);
            }
            (PendingRequest::Digest { .. }, Reply::Failed(_)) => self.offer_again(cx),
            (PendingRequest::Close { complete, .. }, Reply::Done) => {
                self.file.open = false;
                if self.link.ending.is_running() {
                    self.closed(cx, mem, ReceiverInput::Closed, complete);
                }
            }
            (PendingRequest::Close { .. }, _) if !self.link.ending.is_running() => {
                self.file.open = false;
            }
            (_, Reply::Failed(error)) => {
                self.file.open &=
                    !matches!(pending, PendingRequest::Close { .. } | PendingRequest::Offer);
                if self.link.ending.is_running() {
                    self.fail(cx, mem, Blame::Store, FailureKind::Store(error));
                } else if self.file.open {
                    self.pending = PendingRequest::close(false);
                }
            }
            // A reply to another request: the request stays open.
            (pending, _) => self.pending = pending,
        }
    }

    /// The store has accepted bytes: continue where it was too slow.
    fn written(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let growing = match self.expecting {
            Expecting::Nothing | Expecting::Runs | Expecting::Packed => 0,
            _ => self.link.reader.partial(),
        };
        self.sink.taken(mem.file, growing);
        self.heard = cx.now;
        if !self.link.ending.is_running() {
            self.pending = if self.sink.pending() > 0 {
                PendingRequest::Write
            } else {
                PendingRequest::close(false)
            };
        } else if self.state == Receiving::Close {
            self.close_on();
        } else {
            self.decode_runs(cx, mem);
        }
    }
}
