//! A file of the server's process: its data connection, and its store.

use super::super::data::{Incoming, Outgoing};
use super::super::{Dialect, Mem, Type};
use super::{Input, Session, Stage, Verdict};
use crate::arpanet::ncp::{Host, State, Wanted};
use crate::engine::Cx;
use crate::file::{FileInfo, FileKind, Refusal, Reply, Request, StoreError, Wish};
use crate::session::{PendingRequest, QueuedEvent};
use core::fmt;

impl Session {
    /// Opens the data connection.
    pub(super) fn connect(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>) {
        let Some(pair) = self.pair else { return };
        let wanted = if self.sends {
            let theirs = self.data_socket.unwrap_or(pair.theirs.wrapping_add(4));
            Wanted::new(pair.ours + 3, theirs).size(self.form.byte).bulk()
        } else {
            Wanted::new(pair.ours + 2, self.data_socket.unwrap_or(pair.theirs.wrapping_add(5)))
        };
        if self.options.dialect == Dialect::Rfc354 {
            self.reply_line(mem, 255, &format_args!("SOCK {}", wanted.local));
        }
        self.verdict = Verdict::Whole;
        self.data = host.open(cx, pair.with, wanted).ok();
        self.enter(cx, Input::Granted);
        self.stir(cx);
    }

    /// Moves the file.
    pub(super) fn carry(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>) {
        if self.stage == Stage::Opening {
            let state = self.data.map(|id| host.state(id));
            match state {
                Some(State::Opening) => return,
                Some(State::Open | State::Ended) => {
                    let size = self.data.map_or(0, |id| host.size(id));
                    let agreed = self.form.byte;
                    if size != agreed {
                        let say = format_args!("expected bytes of {agreed} bits, got {size}");
                        return self.no_data(cx, host, mem, 457, &say);
                    }
                    self.begin(cx, mem);
                }
                Some(State::Failed(_)) | None => {
                    return self.no_data(cx, host, mem, 454, &"cannot connect to your data socket");
                }
            }
        }
        let Some(id) = self.data.filter(|_| self.stage == Stage::Data) else { return };
        let failed = matches!(host.state(id), State::Failed(_));
        // What the store gave or took, and what got its RFNM or came, since the last time.
        let moved = self.progress != (self.stats.file_bytes, host.queued(id));
        let over = if self.sends {
            self.outgoing.pump(host, id, mem.file);
            let waiting = self.outgoing.waiting(host, id);
            self.stats.current_acked_bytes =
                Some(self.stats.current_file_bytes.saturating_sub(waiting));
            if self.outgoing.done {
                host.close(id);
            } else if self.outgoing.wants() && self.pending.is_idle() && !failed {
                self.pending = PendingRequest::Read;
            }
            self.outgoing.done && host.state(id) == State::Ended
        } else {
            self.incoming.pump(host, id, mem.file);
            if self.pending.is_idle() && self.incoming.ready(mem.file) {
                self.pending = PendingRequest::Write;
            }
            self.incoming.is_over() && self.pending.is_idle()
        };
        self.progress = (self.stats.file_bytes, host.queued(id));
        if moved {
            self.stir(cx);
        }
        if over || failed && self.pending != PendingRequest::Write {
            let whole =
                over && (self.sends || self.incoming.is_whole() && !self.incoming.differs());
            let verdict = if whole { Verdict::Whole } else { Verdict::Incomplete };
            self.stop(cx, host, verdict);
        }
    }

    /// The data connection is there.
    fn begin(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        match self.size.filter(|_| self.sends && self.form.kind != Type::Ascii) {
            Some(size) => {
                let left = size.saturating_sub(self.rest);
                self.reply_line(mem, 250, &format_args!("file transfer started ({left} octets)"));
            }
            None => self.reply_line(mem, 250, &"file transfer started"),
        }
        self.outgoing = Outgoing::new(self.form, self.rest);
        self.incoming = Incoming::new(self.form, self.announced.filter(|_| !self.sends));
        self.rest = 0;
        self.announced = None;
        self.enter(cx, Input::Begun);
        self.stats.current_file_bytes = 0;
        self.stats.current_acked_bytes = None;
        self.events.push(QueuedEvent::Started { offset: 0 });
    }

    /// The data connection is none that a file can go over.
    fn no_data(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        number: u16,
        why: &dyn fmt::Display,
    ) {
        self.drop_data(host);
        self.reply_line(mem, number, why);
        self.over(cx, false);
    }

    fn drop_data(&mut self, host: &mut Host<'_>) {
        if let Some(id) = self.data.take() {
            host.release(id);
        }
    }

    /// The file is at its end, or at ours.
    pub(super) fn stop(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, verdict: Verdict) {
        if !matches!(self.stage, Stage::Opening | Stage::Data) {
            return;
        }
        if verdict != Verdict::Whole
            && let Some(id) = self.data
        {
            host.abort(id);
        }
        self.drop_data(host);
        self.verdict = verdict;
        self.over(cx, verdict == Verdict::Whole);
    }

    /// The store closes the file.
    fn over(&mut self, cx: &mut Cx<'_>, complete: bool) {
        self.pending = PendingRequest::close(complete);
        self.enter(cx, Input::DataOver);
    }

    /// The pending store request, if any.
    pub(crate) fn request<'a>(
        &'a mut self,
        file: &'a mut [u8],
        name: &'a [u8],
    ) -> Option<Request<'a>> {
        match self.pending {
            PendingRequest::Offer => Some(Request::Offer { info: self.info(name) }),
            PendingRequest::Read => {
                let offset = self.outgoing.offset;
                Some(Request::Read { offset, into: self.outgoing.lend(file) })
            }
            PendingRequest::Write => {
                let offset = self.incoming.offset;
                Some(Request::Write { offset, bytes: self.incoming.lend(file) })
            }
            pending => pending.plain(),
        }
    }

    pub(super) fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        let kind = if self.form.kind == Type::Ascii { FileKind::Text } else { FileKind::Binary };
        let wish = if self.append { Wish::Append } else { Wish::Unsaid };
        let size = if self.sends { self.size } else { self.announced };
        FileInfo { name: &name[..self.name_len], size, kind, wish, ..FileInfo::default() }
    }

    /// The store's reply.
    pub(crate) fn reply(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        reply: Reply<'_>,
    ) {
        match (self.pending.take(), reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Offer, Reply::Accept { offset: 0 }) => {
                self.open = true;
                self.sends = false;
                self.connect(cx, host, mem);
            }
            (PendingRequest::Offer, Reply::Refuse(why)) => {
                self.enter(cx, Input::Answered);
                self.events.push(QueuedEvent::Refused { why: Some(why), by_peer: false });
                self.stats.files_skipped += 1;
                let number = match why {
                    Refusal::NoSpace | Refusal::TooLong => 453,
                    Refusal::Name => 550,
                    _ => 451,
                };
                let text = if why == Refusal::Declined {
                    "no files are stored here"
                } else {
                    why.as_str()
                };
                self.reply_line(mem, number, &text);
            }
            (PendingRequest::Offer, _) => {
                self.enter(cx, Input::Answered);
                self.reply_line(mem, 455, &"file system error");
            }
            (PendingRequest::Read, Reply::Read(len)) => {
                self.outgoing.filled(mem.file, len);
                self.stats.file_bytes += len as u64;
                self.stats.current_file_bytes += len as u64;
            }
            (PendingRequest::Write, Reply::Done) => {
                let len = self.incoming.stored();
                self.stats.file_bytes += len as u64;
                self.stats.current_file_bytes += len as u64;
            }
            (PendingRequest::Close { complete, .. }, answer) => {
                self.open = false;
                self.closed(cx, mem, complete && answer == Reply::Done, answer);
            }
            (_, Reply::Failed(StoreError::NoSpace)) => self.stop(cx, host, Verdict::Full),
            _ => self.stop(cx, host, Verdict::Failed),
        }
    }

    /// The file is in its place, or it is not.
    fn closed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, complete: bool, answer: Reply<'_>) {
        let size = if self.sends { self.outgoing.offset } else { self.incoming.offset };
        if complete {
            self.stats.files_done += 1;
            self.events.push(QueuedEvent::Done { size, verified: false });
        } else {
            self.stats.files_skipped += 1;
            self.events.push(QueuedEvent::Cancelled { by_peer: true });
        }
        if self.stage == Stage::Over {
            return;
        }
        self.enter(cx, Input::Closed);
        let done = if self.options.dialect == Dialect::Rfc542 { 257 } else { 252 };
        match self.verdict {
            Verdict::Whole if complete => {
                self.reply_line(mem, done, &format_args!("transfer completed, {size} octets"));
            }
            Verdict::Aborted => self.reply_line(mem, 201, &"the transfer has been aborted"),
            Verdict::Full => self.reply_line(mem, 453, &"insufficient storage space"),
            _ if answer == Reply::Failed(StoreError::NoSpace) => {
                self.reply_line(mem, 453, &"insufficient storage space");
            }
            Verdict::Incomplete => self.reply_line(mem, 452, &"file transfer incomplete"),
            Verdict::Whole | Verdict::Failed => self.reply_line(mem, 455, &"file system error"),
        }
    }
}
