//! The sender's files: names, block 0, and the store's answers.

use super::{Core, Current, Flight, Mem, Source};
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::{FileInfo, Refusal, Reply, StoreError};
use crate::session::{PendingRequest, QueuedEvent};
use crate::trace::TraceEvent;
use crate::xymodem::frame::{HEADER, LONG, SHORT, finish};
use crate::xymodem::packet;
use crate::xymodem::states::SenderInput;

impl Core {
    /// What is known of the current file.
    pub(super) fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        FileInfo { name: &name[..self.file.name_len], ..self.file.info }
    }

    /// The store gives a file.
    fn offered(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, info: &FileInfo<'_>) {
        // XMODEM has no name to send: what does not fit is just not shown.
        let name_len = info.name.len().min(mem.name.len());
        mem.name[..name_len].copy_from_slice(&info.name[..name_len]);
        let info_kept = FileInfo { name: &[], resume: false, ..*info };
        self.file = Current { info: info_kept, name_len, open: true, ..Current::default() };
        if cx.trace.enabled() {
            let text = &mem.name[..name_len];
            cx.trace.record(cx.now, &TraceEvent::Text { name: "file", text });
        }
        if self.is_batch() {
            let mut probe = FileInfo { name: info.name, ..info_kept };
            // Whether the name fits must be known before anything is sent; the fields are short.
            probe.size = Some(u64::MAX);
            let fits = packet::emit(&probe, false, &mut mem.out[HEADER..]).is_some();
            if !fits || name_len < info.name.len() {
                return self.refuse(Refusal::Name);
            }
        } else if self.link.stats.files_done > 0 {
            // XMODEM carries one file.
            return self.refuse(Refusal::Kind);
        }
        self.repeated = false;
        self.owed = false;
        self.settled = false;
        self.source = Source::new(self.file.info.size.filter(|_| self.is_batch()));
        self.link.stats.current_file_bytes = 0;
        self.link.stats.current_acked_bytes = None;
        self.enter(cx, SenderInput::File);
    }

    /// This file cannot be sent; on to the next.
    fn refuse(&mut self, why: Refusal) {
        self.link.stats.files_skipped += 1;
        self.link.notes.push(QueuedEvent::Refused { why: Some(why), by_peer: false });
        self.pending = PendingRequest::close(false);
    }

    /// The peer waits for the next item: block 0, the data, or the end.
    pub(super) fn begin(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.invited = false;
        if self.link.stats.files_done == 0 && !self.exhausted {
            self.link.agreed(self.check, self.streaming);
        }
        if !self.is_batch() {
            return self.start_data(cx);
        }
        let at = self.queue.restart();
        let out = &mut mem.out[at..];
        let len = if self.exhausted {
            out[HEADER..HEADER + SHORT].fill(0);
            Some(SHORT)
        } else {
            let info = self.info(mem.name);
            packet::emit(&info, self.link.config.records, &mut out[HEADER..HEADER + LONG])
        };
        let Some(len) = len else {
            return self.fail(cx, Blame::Local, FailureKind::Unsupported, true);
        };
        let wire = finish(out, 0, len, self.check);
        self.queue.push(wire);
        let (none, some) = (SenderInput::StartOfNone, SenderInput::Start);
        self.enter(cx, if self.exhausted { none } else { some });
        let flight = Flight::new(cx, 0, false);
        self.launch(cx, flight);
    }

    /// The receiver is ready for block 1.
    pub(super) fn start_data(&mut self, cx: &mut Cx<'_>) {
        self.link.notes.push(QueuedEvent::Started { offset: 0 });
        self.number = 1;
        self.enter(cx, SenderInput::Ready);
    }

    /// The receiver has the whole file.
    pub(super) fn close(&mut self, cx: &mut Cx<'_>) {
        self.flight = None;
        self.queue.restart();
        self.enter(cx, SenderInput::Whole);
        self.pending = PendingRequest::close(true);
    }

    fn closed(&mut self, cx: &mut Cx<'_>, complete: bool) {
        self.file.open = false;
        if complete {
            self.link.stats.files_done += 1;
            self.link.notes.push(QueuedEvent::Done { size: self.file.sent, verified: false });
        }
        self.enter(cx, SenderInput::Closed);
        self.pending = PendingRequest::Next;
    }

    fn no_more_files(&mut self, cx: &mut Cx<'_>) {
        self.exhausted = true;
        if self.is_batch() {
            self.base = Some(cx.now);
            self.enter(cx, SenderInput::NoMoreFiles);
        } else {
            self.done(cx);
        }
    }

    /// The store has answered.
    pub(super) fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let pending = self.pending.take();
        match (pending, reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Next, Reply::File(info)) => self.offered(cx, mem, &info),
            (PendingRequest::Next, Reply::NoMoreFiles) => self.no_more_files(cx),
            (PendingRequest::Read, Reply::Read(len)) => self.source.filled(len, mem.source.len()),
            (PendingRequest::Close { .. }, Reply::Done) if !self.link.ending.is_running() => {
                self.file.open = false;
            }
            (PendingRequest::Close { .. }, _) if !self.link.ending.is_running() => {
                self.file.open = false;
            }
            (PendingRequest::Close { complete, .. }, Reply::Done) => self.closed(cx, complete),
            (_, Reply::Failed(error)) => self.store_failed(cx, pending, error),
            // A reply to another request: a bug of the host.
            _ => self.store_failed(cx, pending, StoreError::Unsupported),
        }
    }

    fn store_failed(&mut self, cx: &mut Cx<'_>, pending: PendingRequest, error: StoreError) {
        self.file.open &= !matches!(pending, PendingRequest::Close { .. });
        self.fail(cx, Blame::Store, FailureKind::Store(error), true);
    }
}
