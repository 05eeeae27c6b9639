//! The slave, which receives files (\[TUUCP\] 6.5).

use core::ops::Range;

use super::command;
use super::link::Mem;
use super::session::{Core, Current, Input, State};
use super::sink::Sink;
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::{FileInfo, Refusal};
use crate::session::{PendingRequest, QueuedEvent};

mod receiver;

pub use receiver::Receiver;

impl Core {
    /// A file is offered.
    pub(super) fn offered(
        &mut self,
        cx: &mut Cx<'_>,
        say: &mut [u8],
        name: &mut [u8],
        send: &command::Send<'_>,
    ) {
        if send.is_spooled() {
            // A part of someone's mail: it must not be lost because we do not deliver it.
            self.link.stats.files_skipped += 1;
            return self.decline(cx, say, b'S', b'E');
        }
        let len = command::local_name(send, name);
        let info = FileInfo { size: send.size, mode: send.mode, ..FileInfo::default() };
        self.file = Current { info, name_len: len.unwrap_or(0), open: false };
        if len.is_some() {
            self.enter(cx, Input::File);
            self.pending = PendingRequest::Offer;
        } else {
            self.refuse(cx, say, Refusal::Name);
        }
    }

    pub(super) fn refuse(&mut self, cx: &mut Cx<'_>, say: &mut [u8], why: Refusal) {
        self.link.stats.files_skipped += 1;
        self.link.notes.push(QueuedEvent::Refused { why: Some(why), by_peer: false });
        // The store may accept it later, and a permanent refusal deletes the job
        // at the peer. A bad name is permanent.
        let later = command::postponement(b'S', self.link.theirs).filter(|_| why != Refusal::Name);
        self.link.say(say, later.unwrap_or_else(|| command::refusal(b'S')));
        self.enter(cx, Input::Refused);
    }

    /// The store takes the file.
    pub(super) fn accepted(&mut self, cx: &mut Cx<'_>, say: &mut [u8], offset: u64) {
        self.file.open = true;
        if offset > 0 {
            // Resuming was not announced.
            return self.fail(cx, Blame::Local, FailureKind::Unsupported);
        }
        self.sink = Sink::default();
        self.link.stats.current_file_bytes = 0;
        self.link.stats.current_acked_bytes = None;
        self.link.notes.push(QueuedEvent::Started { offset: 0 });
        self.link.say(say, b"SY\0");
        self.enter(cx, Input::Accepted);
    }

    /// File data; empty is its end.
    pub(super) fn bytes_came(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, range: Range<usize>) {
        if range.is_empty() {
            return self.all_came(cx);
        }
        let bytes = &mem.field[range];
        self.sink.push(mem.file, bytes);
        let stats = &mut self.link.stats;
        let len = bytes.len() as u64;
        stats.file_bytes += len;
        stats.current_file_bytes += len;
        stats.encoded_bytes += len;
        if self.file.info.size.is_some_and(|size| self.sink.end() > size) {
            self.fail(cx, Blame::Peer, FailureKind::LengthDiffers);
        }
    }

    /// Issues a write when it is worthwhile.
    pub(super) fn write_what_came(&mut self, memory_len: usize) {
        let full = !self.sink.has_room(memory_len, self.link.config.field_len());
        let pending = self.sink.pending();
        if pending > 0 && (full || pending >= self.write_at) {
            self.pending = PendingRequest::Write;
        }
    }

    /// All bytes have arrived: the store closes the file.
    fn all_came(&mut self, cx: &mut Cx<'_>) {
        if self.file.info.size.is_some_and(|size| size != self.sink.end()) {
            return self.fail(cx, Blame::Peer, FailureKind::LengthDiffers);
        }
        self.enter(cx, Input::EndOfFile);
        if self.pending.is_idle() {
            self.keep_on();
        }
    }

    fn keep_on(&mut self) {
        self.pending = if self.sink.pending() > 0 {
            PendingRequest::Write
        } else {
            PendingRequest::close(true)
        };
    }

    /// The store has completed the write.
    pub(super) fn written(&mut self) {
        self.sink.taken();
        match self.state {
            State::Keep => self.keep_on(),
            State::End if self.sink.pending() > 0 => self.pending = PendingRequest::Write,
            State::End => self.pending = PendingRequest::close(false),
            _ => {}
        }
    }

    /// The file is durable.
    pub(super) fn kept(&mut self, cx: &mut Cx<'_>, say: &mut [u8]) {
        debug_assert!(self.link.ending.is_running(), "an ending was handled before");
        self.file.open = false;
        self.link.stats.files_done += 1;
        self.link.notes.push(QueuedEvent::Done { size: self.sink.end(), verified: false });
        self.link.say(say, b"CY\0");
        self.enter(cx, Input::Stored);
    }
}
