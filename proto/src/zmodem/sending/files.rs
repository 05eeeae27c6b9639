//! The sender's files: names, refusals, positions and the end, between headers and store.

use super::{Core, Current, Mem};
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::{DigestKind, FileInfo, FileKind, Refusal, Reply};
use crate::session::{PendingRequest, QueuedEvent};
use crate::trace::TraceEvent;
use crate::zmodem::info::MAX_NAME;
use crate::zmodem::info::{self, Conversion, FileOptions, Transport};
use crate::zmodem::packet::{Header, PACKS, kind};
use crate::zmodem::states::{SenderInput, Sending};

impl Core {
    pub(super) fn ask_next(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.remember();
        self.file = Current::default();
        self.link.question = None;
        self.faults = 0;
        self.digests = 0;
        self.unwanted = false;
        if self.command_instead(cx, mem) {
            return;
        }
        if self.last {
            self.enter(cx, SenderInput::NoMoreFiles);
            return self.say_finish(cx, mem, false);
        }
        self.enter(cx, SenderInput::Ready);
        self.pending = PendingRequest::Next;
    }

    /// The file ends; its events are reported under its own name.
    fn remember(&mut self) {
        // A host that has taken no events since the file before that one does not need them.
        for _ in 0..core::mem::take(&mut self.old_notes) {
            self.link.notes.pop();
        }
        self.old_notes = self.link.notes.len();
        self.told = self.file;
        self.told_at = 0;
    }

    /// Makes room for a name of `len` bytes. Of two very long ones the last is truncated.
    fn move_last_name(&mut self, mem: &mut Mem<'_>, len: usize) {
        let kept = self.told.name_len.min(MAX_NAME - len);
        self.told.name_len = kept;
        self.told_at = MAX_NAME - kept;
        mem.name.copy_within(..kept, self.told_at);
    }

    /// The store has answered.
    pub(super) fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let pending = self.pending.take();
        match (pending, reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Next, Reply::File(info)) => self.start_file(cx, mem, &info),
            (PendingRequest::Next, Reply::NoMoreFiles) => {
                self.enter(cx, SenderInput::NoMoreFiles);
                self.say_finish(cx, mem, false);
            }
            (PendingRequest::Read, Reply::Read(len)) => {
                self.source.filled(len, mem.source.len());
                self.seek_now();
            }
            (PendingRequest::Pack { begin, .. }, Reply::Packed(made)) if PACKS => {
                self.was_packed(cx, mem, begin, Some(made));
            }
            (PendingRequest::Pack { begin, .. }, Reply::Failed(_)) if PACKS => {
                self.was_packed(cx, mem, begin, None);
            }
            (PendingRequest::Digest { .. }, Reply::Digest(digest)) => {
                let [a, b, c, d, ..] = digest;
                self.say_check(cx, mem, u32::from_be_bytes([a, b, c, d]));
            }
            // A store without digests: the receiver will find a mismatch.
            (PendingRequest::Digest { .. }, Reply::Failed(_)) => self.say_check(cx, mem, 0),
            (PendingRequest::Close { complete, .. }, Reply::Done) => {
                self.file.open = false;
                if self.link.ending.is_running() || complete {
                    self.count_file(complete);
                }
                if self.link.ending.is_running() {
                    self.ask_next(cx, mem);
                }
            }
            (PendingRequest::Close { .. }, _) if !self.link.ending.is_running() => {
                self.file.open = false;
            }
            (_, Reply::Failed(error)) => {
                self.file.open &= !matches!(pending, PendingRequest::Close { .. });
                self.fail(cx, mem, Blame::Store, FailureKind::Store(error));
            }
            // A reply to another request: the request stays open.
            (pending, _) => self.pending = pending,
        }
    }

    fn start_file(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, info: &FileInfo<'_>) {
        let whole = info.name.iter().position(|byte| *byte == 0).unwrap_or(info.name.len());
        let len = whole.min(MAX_NAME);
        self.move_last_name(mem, len);
        mem.name[..len].copy_from_slice(&info.name[..len]);
        let info = FileInfo { name: &[], ..*info };
        self.file = Current { info, name_len: len, open: true };
        if cx.trace.enabled() {
            let text = &mem.name[..len];
            cx.trace.record(cx.now, &TraceEvent::Text { name: "file", text });
        }
        let why = if info.size.is_some_and(|size| size > u64::from(u32::MAX)) {
            Some(Refusal::TooLong)
        } else if whole == 0 || whole > MAX_NAME {
            Some(Refusal::Name)
        } else {
            None
        };
        if let Some(why) = why {
            self.link.notes.push(QueuedEvent::Refused { why: Some(why), by_peer: false });
            self.enter(cx, SenderInput::Unusable);
            self.pending = PendingRequest::close(false);
            return;
        }
        self.say_file(cx, mem, false);
    }

    /// The fields of ZFILE besides the name.
    fn options(&self) -> FileOptions {
        let config = &self.link.config;
        let info = &self.file.info;
        FileOptions {
            conversion: match (info.resume, info.kind) {
                (_, FileKind::Text) => Conversion::Newlines,
                (true, FileKind::Binary) => Conversion::Resume,
                (false, FileKind::Binary) => config.conversion,
            },
            wish: config.wish,
            skip_if_absent: config.skip_if_absent,
            transport: if self.peer.rle { Transport::Rle } else { Transport::Plain },
            sparse: false,
        }
    }

    pub(super) fn say_file(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, again: bool) {
        if !again {
            self.enter(cx, SenderInput::File);
        }
        let mut data = [0; MAX_NAME + info::ROOM];
        let name_len = self.file.name_len;
        data[..name_len].copy_from_slice(&mem.name[..name_len]);
        let len = info::emit(&self.file.info, name_len, &mut data);
        let tag = Some(info::tag(&data[..len]));
        if self.tags[0] != tag {
            self.tags = [tag, self.tags[0]];
        }
        let header = Header {
            kind: kind::ZFILE,
            data: self.options().emit(),
            form: self.peer.form,
            variable: self.peer.variable,
        };
        self.say_with_data(cx, mem, &header, &data[..len]);
        self.link.expect_answer(cx.now, again);
    }

    /// The receiver requests a CRC over the first `len` bytes; 0 is all.
    pub(super) fn tell_check(&mut self, cx: &mut Cx<'_>, len: u64) {
        // A full read of the file each time, so the number is limited.
        self.digests += 1;
        if !self.pending.is_idle() || self.digests > u32::from(self.link.config.retries) {
            return;
        }
        self.link.answered(cx.now);
        let size = self.file.info.size.unwrap_or(0);
        let len = if len == 0 { size } else { len.min(size) };
        self.pending = PendingRequest::Digest { kind: DigestKind::Crc32, len };
    }

    fn say_check(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, crc: u32) {
        if matches!(self.state, Sending::File | Sending::Eof) {
            self.link.say(cx, mem.out, &Header::hex(kind::ZCRC, crc));
            self.link.expect_answer(cx.now, false);
        }
    }

    /// Whether our receiver means the file before this one.
    pub(super) fn is_of_the_last(&self, tag: u32) -> bool {
        let [current, before] = self.tags;
        before == Some(tag) && current != before
    }

    /// The receiver refuses the file, or the rest of it.
    pub(super) fn skipped(&mut self, cx: &mut Cx<'_>, tag: u32) {
        let offered_once = self.link.question.is_some_and(|question| question.copies == 1);
        let doubted = self.state == Sending::File && offered_once && self.skip_may_come_again;
        if doubted && self.tags[0] != Some(tag) && self.link.too_soon(cx.now) {
            // It cannot have seen this file yet: a duplicate for the previous one.
            return;
        }
        self.skip_may_come_again = self.state != Sending::File || !offered_once;
        self.link.answered(cx.now);
        self.link.output.drop_unsent();
        if self.state == Sending::File {
            self.link.notes.push(QueuedEvent::Refused { why: None, by_peer: true });
        } else {
            self.link.notes.push(QueuedEvent::Cancelled { by_peer: true });
        }
        self.enter(cx, SenderInput::Skipped);
        self.pending = PendingRequest::close(false);
    }

    /// ZRINIT in the middle of the data: another receiver, which has nothing of this file. Unless its
    /// end was sent before: then a late ZRPOS has led back into the data.
    pub(super) fn lost(&mut self, cx: &mut Cx<'_>) {
        self.link.output.drop_unsent();
        if self.end_is_sent() {
            return self.closed(cx);
        }
        self.link.question = None;
        self.link.notes.push(QueuedEvent::Refused { why: None, by_peer: true });
        self.enter(cx, SenderInput::Lost);
        self.pending = PendingRequest::close(false);
    }

    /// ZRINIT after ZEOF: the receiver has closed the file.
    pub(super) fn closed(&mut self, cx: &mut Cx<'_>) {
        self.link.answered(cx.now);
        self.enter(cx, SenderInput::Whole);
        self.pending = PendingRequest::close(true);
    }

    fn count_file(&mut self, complete: bool) {
        if complete {
            self.link.stats.files_done += 1;
            self.link.notes.push(QueuedEvent::Done { size: self.sent_len(), verified: false });
        } else {
            self.link.stats.files_skipped += 1;
        }
    }
}
