//! The master, which sends files (\[TUUCP\] 6.5).

use super::command;
use super::link::Mem;
use super::packet;
use super::session::{Core, Current, Input, State};
use super::source::Source;
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::{FileInfo, Refusal, StoreError};
use crate::session::{PendingRequest, QueuedEvent};
use crate::trace::TraceEvent;

mod sender;

pub use sender::Sender;

impl Core {
    /// This end is master: the next file, or the end.
    pub(super) fn say_next(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.exhausted {
            self.link.say(mem.say, b"H\0");
            return self.enter(cx, Input::NoMoreFiles);
        }
        let name = &mem.name[..self.file.name_len];
        let FileInfo { mode, size, .. } = self.file.info;
        let user = self.link.config.name;
        let room = self.link.room_to_say(mem.say);
        match command::emit(name, user.as_str(), mode, size, self.link.theirs, room) {
            Some(len) => {
                self.link.said_in_place(len);
                self.enter(cx, Input::File);
            }
            None => self.refused(cx, Some(Refusal::Name), false),
        }
    }

    pub(super) fn refused(&mut self, cx: &mut Cx<'_>, why: Option<Refusal>, by_peer: bool) {
        self.link.notes.push(QueuedEvent::Refused { why, by_peer });
        self.link.stats.files_skipped += 1;
        self.enter(cx, Input::Refused);
        self.pending = PendingRequest::close(false);
    }

    /// The peer takes the file.
    pub(super) fn begin_file(&mut self, cx: &mut Cx<'_>) {
        self.source = Source::new(self.file.info.size);
        self.link.stats.current_file_bytes = 0;
        self.link.stats.current_acked_bytes = Some(0);
        self.link.notes.push(QueuedEvent::Started { offset: 0 });
        self.enter(cx, Input::Accepted);
    }

    /// Makes the next packet of the file. True if there may be more to make.
    pub(super) fn produce(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        // The peer may close in between.
        if self.state != State::Data || !self.link.is_up() || !self.link.driver.has_room() {
            return false;
        }
        let size = self.link.driver.size;
        if self.source.ready() < size && !self.source.ended {
            self.pending = PendingRequest::Read;
            return false;
        }
        if self.source.fell_short() {
            self.fail(cx, Blame::Store, FailureKind::Store(StoreError::Changed));
            return false;
        }
        let field = self.link.driver.field(mem.out);
        let len = self.source.ready().min(size);
        let lead = packet::lead(size, len);
        self.source.take(mem.file, &mut field[lead..lead + len]);
        let short = packet::complete(field, len);
        self.link.driver.push(cx, mem.out, short, len);
        let stats = &mut self.link.stats;
        stats.file_bytes += len as u64;
        stats.current_file_bytes += len as u64;
        stats.encoded_bytes += len as u64;
        if len == 0 {
            self.enter(cx, Input::EndOfFile);
        }
        len > 0
    }

    /// The store has a file to send.
    pub(super) fn file_given(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, info: &FileInfo<'_>) {
        let FileInfo { size, modified, mode, kind, left, .. } = *info;
        let facts = FileInfo { size, modified, mode, kind, left, ..FileInfo::default() };
        self.file = Current { info: facts, name_len: 0, open: true };
        match mem.name.get_mut(..info.name.len()) {
            Some(room) => {
                room.copy_from_slice(info.name);
                self.file.name_len = info.name.len();
                if cx.trace.enabled() {
                    cx.trace.record(cx.now, &TraceEvent::Text { name: "file", text: info.name });
                }
            }
            // An empty name cannot be encoded either.
            None => self.file.name_len = 0,
        }
    }

    /// The store has closed the file.
    pub(super) fn closed(&mut self, cx: &mut Cx<'_>, complete: bool) {
        self.file.open = false;
        if complete {
            self.link.stats.files_done += 1;
            self.link.notes.push(QueuedEvent::Done { size: self.source.offset, verified: false });
        }
        self.enter(cx, Input::Closed);
        self.pending = PendingRequest::Next;
    }
}
