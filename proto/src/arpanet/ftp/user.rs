//! The user's process: it calls a server and stores files there, or retrieves them.

mod commands;

use super::command::{Mode, Structure, Type};
use super::data::{Incoming, Outgoing};
use super::reply::Replies;
use super::states::{Input, Stage};
use super::text::{Lines, Say};
use super::{Form, LINE, Mem, Options};
use crate::arpanet::icp::{self, Icp, Pair};
use crate::arpanet::leader::Address;
use crate::arpanet::ncp::{Host, Id, State, Trouble, Wanted};
use crate::engine::{Blame, Command, Cx, Event, Failure, FailureKind, Outcome, Status};
use crate::file::{FileInfo, FileKind, Refusal, Reply, Request, StoreError};
use crate::session::{self, Ending, EventQueue, EventTexts, PendingRequest, QueuedEvent};
use crate::stats::Stats;
use crate::time::Instant;

/// The current file.
#[derive(Clone, Copy, Debug)]
struct Current {
    name_len: usize,
    size: Option<u64>,
    modified: Option<i64>,
    mode: Option<u32>,
    open: bool,
}

impl Current {
    const NONE: Self = Self { name_len: 0, size: None, modified: None, mode: None, open: false };
}

/// A user's process on a host's NCP. Its memory is lent at every call.
#[derive(Debug)]
pub(crate) struct User {
    options: Options,
    to: Address,
    /// Files go to the server.
    puts: bool,
    stage: Stage,
    icp: Option<Icp>,
    pair: Option<Pair>,
    lines: Lines,
    replies: Replies,
    say: Say,
    /// The server's data sockets, where it has said others.
    data_socket: Option<u32>,
    data: Option<Id>,
    outgoing: Outgoing,
    incoming: Incoming,
    /// The second reply to STOR or RETR.
    result: Option<u16>,
    /// What ended the data connection before the file.
    broken: Option<Trouble>,
    file: Current,
    pending: PendingRequest,
    exhausted: bool,
    events: EventQueue,
    /// Octets of the last message for the user.
    message_len: usize,
    ending: Ending,
    /// Until when something must happen.
    until: Option<Instant>,
    /// Octets that the store gave or took, and waiting bits of the connection, at the last trace.
    progress: (u64, usize),
    stats: Stats,
    /// The table of states has no edge for what happened.
    fault: bool,
    /// Names that are to be retrieved: how much of their memory they take.
    wanted: usize,
}

impl User {
    /// A process that stores files at a server's, or retrieves them.
    pub(crate) fn new(options: Options, to: Address, puts: bool) -> Self {
        let form = options.form();
        Self {
            options,
            to,
            puts,
            stage: Stage::Idle,
            icp: None,
            pair: None,
            lines: Lines::default(),
            replies: Replies::default(),
            say: Say::default(),
            data_socket: None,
            data: None,
            outgoing: Outgoing::new(form, 0),
            incoming: Incoming::new(form, None),
            result: None,
            broken: None,
            file: Current::NONE,
            pending: PendingRequest::Nothing,
            exhausted: false,
            events: EventQueue::new(),
            message_len: 0,
            ending: Ending::No,
            until: None,
            progress: (0, 0),
            stats: Stats::default(),
            fault: false,
            wanted: 0,
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: Input) {
        self.fault |= !session::enter(cx, &mut self.stage, input);
        self.until = Some(cx.now + self.options.timeout.get());
    }

    fn form(&self) -> Form {
        self.options.form()
    }

    /// The end: what is open is closed.
    fn end(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, outcome: Outcome) {
        if !self.ending.fix(outcome) {
            return;
        }
        let open = [self.data.take(), self.pair.map(|p| p.from), self.pair.map(|p| p.to)];
        for id in open.into_iter().flatten() {
            if outcome != Outcome::Done {
                host.abort(id);
            }
            host.release(id);
        }
        if let Some(icp) = self.icp.take() {
            icp.abort(host);
        }
        self.pair = None;
        let socket = self.options.socket;
        host.deafen(socket + 2, socket + icp::SOCKETS - 1);
        self.pending =
            if self.file.open { PendingRequest::close(false) } else { PendingRequest::Nothing };
        let done = outcome == Outcome::Done;
        self.enter(cx, if done { Input::Done } else { Input::Failed });
        self.until = None;
    }

    fn fail(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, blame: Blame, kind: FailureKind) {
        self.end(cx, host, Outcome::Failed(Failure { blame, kind }));
    }

    fn trouble(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>, what: Trouble) {
        self.message(mem, &what);
        let (blame, kind) = match what {
            Trouble::Refused | Trouble::Closed | Trouble::Reset => {
                (Blame::Peer, FailureKind::Closed)
            }
            Trouble::Overflow | Trouble::ByteSize => (Blame::Peer, FailureKind::Violation),
            Trouble::Lost => (Blame::Line, FailureKind::TooManyRetries),
            Trouble::Dead(_) => (Blame::Line, FailureKind::Closed),
            Trouble::NoAnswer | Trouble::NoReset | Trouble::NoRfnm | Trouble::NoAllocation => {
                (Blame::Line, FailureKind::Silence)
            }
            Trouble::Aborted => (Blame::Local, FailureKind::Aborted),
        };
        self.fail(cx, host, blame, kind);
    }

    /// Reports an event to the user.
    fn message(&mut self, mem: &mut Mem<'_>, what: &dyn core::fmt::Display) {
        let mut text = session::Text::<LINE>::new();
        text.of(what);
        self.tell(mem, text.as_bytes());
    }

    /// Text for the user.
    fn tell(&mut self, mem: &mut Mem<'_>, text: &[u8]) {
        self.message_len = text.len().min(mem.message.len());
        mem.message[..self.message_len].copy_from_slice(&text[..self.message_len]);
        self.events.push(QueuedEvent::Message);
    }

    /// Adds the name of a file that is to be retrieved: false if there is no room for it.
    pub(crate) fn want(&mut self, name: &[u8], into: &mut [u8]) -> bool {
        let Some(room) = into.get_mut(self.wanted..self.wanted + name.len() + 1) else {
            return false;
        };
        let good = !name.is_empty() && name.iter().all(|o| !matches!(o, b'\r' | b'\n' | 0 | 128..));
        if good {
            room[..name.len()].copy_from_slice(name);
            room[name.len()] = 0;
            self.wanted += name.len() + 1;
        }
        good
    }

    /// Makes all possible progress.
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>) {
        if self.stage == Stage::Idle && self.ending.is_running() {
            self.enter(cx, Input::Opened);
            match Icp::call(host, cx, self.to, self.options.server, self.options.socket) {
                Ok(icp) => self.icp = Some(icp),
                Err(_) => self.fail(cx, host, Blame::Local, FailureKind::Unsupported),
            }
        }
        if let Some(mut icp) = self.icp {
            match icp.turn(host, cx) {
                Ok(None) => self.icp = Some(icp),
                Ok(Some(pair)) => {
                    self.icp = None;
                    self.pair = Some(pair);
                    self.enter(cx, Input::Connected);
                }
                Err(why) => {
                    self.icp = None;
                    match why {
                        icp::Failed::Connection(what) => self.trouble(cx, host, mem, what),
                        icp::Failed::Socket(_) => {
                            self.fail(cx, host, Blame::Peer, FailureKind::Violation);
                        }
                        icp::Failed::Full => {
                            self.fail(cx, host, Blame::Local, FailureKind::Unsupported);
                        }
                    }
                }
            }
        }
        if let Some(pair) = self.pair {
            self.talk(cx, host, mem, pair);
        }
        if self.pair.is_some() {
            self.carry(cx, host, mem);
        }
        if core::mem::take(&mut self.fault) {
            self.fail(cx, host, Blame::Local, FailureKind::Internal);
        }
        self.settle(host);
    }

    /// After the outcome is fixed: the store closes the file, then the host sends its last control commands.
    fn settle(&mut self, host: &Host<'_>) {
        let (Ending::LastPackets(outcome) | Ending::Linger { outcome }) = self.ending else {
            return;
        };
        if self.pending.is_idle() {
            self.ending =
                if host.is_quiet() { Ending::Over(outcome) } else { Ending::Linger { outcome } };
        }
    }

    fn talk(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>, pair: Pair) {
        while self.ending.is_running() {
            let Some(len) = self.lines.next(host, pair.from, mem.line) else { break };
            self.heard(cx, host, mem, len);
        }
        if !self.ending.is_running() {
            return;
        }
        self.say.flush(host, pair.to, mem.say);
        for id in [pair.from, pair.to] {
            match host.state(id) {
                State::Failed(what) => return self.trouble(cx, host, mem, what),
                State::Ended if self.stage == Stage::Bye => {
                    return self.end(cx, host, Outcome::Done);
                }
                State::Ended => return self.trouble(cx, host, mem, Trouble::Closed),
                State::Opening | State::Open => {}
            }
        }
    }

    /// Moves the file.
    fn carry(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, mem: &mut Mem<'_>) {
        let Some(id) = self.data else { return };
        if self.stage != Stage::Data {
            return;
        }
        let open = matches!(host.state(id), State::Open | State::Ended);
        if open && host.size(id) != self.form().byte {
            return self.trouble(cx, host, mem, Trouble::ByteSize);
        }
        // What the store gave or took, and what got its RFNM or came, since the last time.
        let moved = self.progress != (self.stats.file_bytes, host.queued(id));
        if self.puts {
            self.outgoing.pump(host, id, mem.file);
            let waiting = self.outgoing.waiting(host, id);
            self.stats.current_acked_bytes =
                Some(self.stats.current_file_bytes.saturating_sub(waiting));
            if self.outgoing.done {
                host.close(id);
            } else if self.outgoing.wants() && self.pending.is_idle() {
                self.pending = PendingRequest::Read;
            }
        } else {
            self.incoming.pump(host, id, mem.file);
            if self.pending.is_idle() && self.incoming.ready(mem.file) {
                self.pending = PendingRequest::Write;
            }
        }
        self.progress = (self.stats.file_bytes, host.queued(id));
        if moved {
            self.until = Some(cx.now + self.options.timeout.get());
        }
        let over = if self.puts {
            self.outgoing.done && host.state(id) == State::Ended
        } else {
            self.incoming.is_over() && self.pending.is_idle()
        };
        let failed = match host.state(id) {
            State::Failed(what) => Some(what),
            _ => None,
        };
        // The server says what was wrong, so its reply is awaited.
        let settled = self.pending.is_idle() || self.puts;
        if over || failed.is_some() && settled {
            let whole = over && (self.puts || self.incoming.is_whole());
            self.broken = failed.filter(|_| !over);
            self.data = None;
            host.release(id);
            if self.pending == PendingRequest::Read {
                self.pending = PendingRequest::Nothing;
            }
            self.enter(cx, Input::DataOver);
            if !whole {
                self.incoming.broken = true;
            }
            self.file_over(cx, host, mem);
        }
    }

    /// The pending store request.
    pub(crate) fn request<'a>(
        &'a mut self,
        file: &'a mut [u8],
        name: &'a [u8],
    ) -> Option<Request<'a>> {
        match self.pending {
            PendingRequest::Read => {
                let offset = self.outgoing.offset;
                Some(Request::Read { offset, into: self.outgoing.lend(file) })
            }
            PendingRequest::Offer => Some(Request::Offer { info: self.info(name) }),
            PendingRequest::Write => {
                let offset = self.incoming.offset;
                Some(Request::Write { offset, bytes: self.incoming.lend(file) })
            }
            pending => pending.plain(),
        }
    }

    fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        let name = &name[..self.file.name_len];
        let name = match name.iter().rposition(|octet| matches!(octet, b'/' | b'>')) {
            Some(at) if !self.puts => &name[at + 1..],
            _ => name,
        };
        let kind = if self.form().kind == Type::Ascii { FileKind::Text } else { FileKind::Binary };
        let Current { size, modified, mode, .. } = self.file;
        FileInfo { name, size, modified, mode, kind, ..FileInfo::default() }
    }

    /// What the store answers.
    pub(crate) fn reply(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        mem: &mut Mem<'_>,
        reply: Reply<'_>,
    ) {
        match (self.pending.take(), reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Next, Reply::File(info)) => self.file_given(cx, host, mem, &info),
            (PendingRequest::Next, Reply::NoMoreFiles) => {
                self.exhausted = true;
                self.next(cx, host, mem);
            }
            (PendingRequest::Read, Reply::Read(len)) => {
                self.outgoing.filled(mem.file, len);
                self.stats.file_bytes += len as u64;
                self.stats.current_file_bytes += len as u64;
            }
            (PendingRequest::Offer, Reply::Accept { .. }) => {
                self.file.open = true;
                self.events.push(QueuedEvent::Started { offset: 0 });
                self.enter(cx, Input::Begun);
            }
            (PendingRequest::Offer, Reply::Refuse(why)) => {
                self.events.push(QueuedEvent::Refused { why: Some(why), by_peer: false });
                self.stats.files_skipped += 1;
                if let Some(id) = self.data.take() {
                    host.abort(id);
                    host.release(id);
                }
                self.incoming.broken = true;
                self.enter(cx, Input::DataOver);
                self.file_over(cx, host, mem);
            }
            (PendingRequest::Write, Reply::Done) => {
                let len = self.incoming.stored();
                self.stats.file_bytes += len as u64;
                self.stats.current_file_bytes += len as u64;
            }
            (PendingRequest::Close { complete, .. }, Reply::Done) => {
                self.file.open = false;
                if !self.ending.is_running() {
                    return;
                }
                if complete {
                    let size = if self.puts { self.outgoing.offset } else { self.incoming.offset };
                    self.stats.files_done += 1;
                    self.events.push(QueuedEvent::Done { size, verified: false });
                }
                self.next(cx, host, mem);
            }
            (pending, Reply::Failed(error)) => self.store_failed(cx, host, pending, error),
            (pending, _) => self.store_failed(cx, host, pending, StoreError::Unsupported),
        }
    }

    fn store_failed(
        &mut self,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        pending: PendingRequest,
        error: StoreError,
    ) {
        self.file.open &= !matches!(pending, PendingRequest::Close { .. });
        self.fail(cx, host, Blame::Store, FailureKind::Store(error));
    }

    /// The next event for the user.
    pub(crate) fn event<'a>(&'a mut self, name: &'a [u8], message: &'a [u8]) -> Option<Event<'a>> {
        let event = self.events.pop()?;
        let words = EventTexts { message: &message[..self.message_len], ..EventTexts::default() };
        Some(event.event(self.info(name), words))
    }

    /// A command of the user: there is no way to leave one file, so all ends.
    pub(crate) fn command(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, _: Command) {
        self.fail(cx, host, Blame::Local, FailureKind::Aborted);
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>) {
        if self.until.is_some_and(|until| until <= cx.now) && self.pending.is_idle() {
            self.stats.timeouts += 1;
            self.fail(cx, host, Blame::Peer, FailureKind::Silence);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.until.filter(|_| self.pending.is_idle())
    }

    pub(crate) fn asks(&self) -> bool {
        !self.pending.is_idle()
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub(crate) fn status(&self) -> Status {
        self.ending.status()
    }

    pub(crate) fn stats_mut(&mut self) -> &mut Stats {
        &mut self.stats
    }

    pub(crate) fn counters(&self) -> &Stats {
        &self.stats
    }
}
