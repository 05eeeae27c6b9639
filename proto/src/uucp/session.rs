//! A session in either direction: the roles, and the file's fate when it ends
//! (\[TUUCP\] 6.5).
//!
//! One end is the master and sends commands, the other is the slave and answers. A master with
//! no more work sends `H`; a slave with work answers `HN`, and the roles are reversed. The
//! master is in [`sending`](super::sending), the slave in [`receiving`](super::receiving).

use super::command::{self, Command};
use super::config::Config;
use super::link::{Link, Mem, Received};
use super::sink::Sink;
use super::source::Source;
pub(super) use super::states::{Input, State};
use crate::engine::{Blame, Cx, DeclinedJob, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, Refusal, Reply, StoreError};
use crate::session::{self, Ending, PendingRequest, QueuedEvent, Timer};
use crate::trace::{TraceEvent, Wait};

mod doors;

/// The current file. Its name is in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Current {
    /// Facts, with an empty name.
    pub(super) info: FileInfo<'static>,
    pub(super) name_len: usize,
    /// The store has it open.
    pub(super) open: bool,
}

/// The purpose of an engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    /// It has files.
    pub(super) sends: bool,
    /// It receives files.
    pub(super) takes: bool,
    pub(super) caller: bool,
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) link: Link,
    pub(super) state: State,
    pub(super) pending: PendingRequest,
    pub(super) source: Source,
    pub(super) sink: Sink,
    pub(super) file: Current,
    pub(super) duty: Purpose,
    /// There are no (more) files to send.
    pub(super) exhausted: bool,
    /// Pending bytes from which a write is worthwhile.
    pub(super) write_at: usize,
}

impl Core {
    /// Packets of up to `longest` bytes are sent, up to `slots` at a time; `file_len` bytes of files
    /// are kept.
    pub(super) fn new(
        config: Config,
        duty: Purpose,
        (slots, longest): (usize, usize),
        file_len: usize,
    ) -> Self {
        let second = config.line.rate_bps as usize / 10;
        let half = file_len / 2;
        let mut core = Self {
            state: if duty.caller { State::Next } else { State::Slave },
            pending: PendingRequest::Nothing,
            source: Source::default(),
            sink: Sink::default(),
            file: Current::default(),
            duty,
            exhausted: !duty.sends,
            write_at: if second == 0 { half } else { second.min(half) },
            link: Link::new(config, duty.caller, slots, longest),
        };
        if duty.caller {
            core.master();
        } else {
            core.reverse_roles(true);
        }
        core
    }

    /// This end is master.
    fn master(&mut self) {
        self.pending = if self.exhausted { PendingRequest::Nothing } else { PendingRequest::Next };
    }

    pub(super) fn enter(&mut self, cx: &mut Cx<'_>, input: Input) {
        if !session::enter(cx, &mut self.state, input) {
            self.fail(cx, Blame::Local, FailureKind::Internal);
        }
    }

    /// What is known of the current file.
    pub(super) fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        FileInfo { name: &name[..self.file.name_len], ..self.file.info }
    }

    /// Whether input is accepted now, or blocked until the store replies.
    fn takes_input(&self, memory_len: usize) -> bool {
        let room = self.sink.has_room(memory_len, self.link.config.field_len());
        let later = self.link.ending.is_running() && self.state == State::Take && !room;
        self.link.takes_input() && !later
    }

    pub(super) fn fail(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind) {
        self.ended(cx, Outcome::Failed(Failure { blame, kind }));
    }

    /// The session is over or ending.
    pub(super) fn ended(&mut self, cx: &mut Cx<'_>, outcome: Outcome) {
        self.link.end(cx, outcome);
        self.settle(cx);
    }

    /// Closes the file when the session ends, for whatever reason.
    fn settle(&mut self, cx: &mut Cx<'_>) {
        let outcome = match self.link.ending {
            Ending::LastPackets(outcome) if self.state != State::End => outcome,
            _ => return,
        };
        let coming = matches!(self.state, State::Take | State::Keep);
        self.enter(cx, Input::Over);
        self.link.timers.stop(Timer::Farewell);
        self.pending =
            if self.file.open { PendingRequest::close(false) } else { PendingRequest::Nothing };
        let Outcome::Failed(Failure { blame, kind }) = outcome else { return };
        if self.file.open && coming && self.sink.pending() > 0 {
            // Received data is kept, if the store keeps partial files.
            if !matches!(kind, FailureKind::Store(_)) {
                self.pending = PendingRequest::Write;
            }
        }
        if self.file.open && kind == FailureKind::Aborted {
            self.link.stats.files_skipped += 1;
            self.link.notes.push(QueuedEvent::Cancelled { by_peer: blame == Blame::Peer });
        }
    }

    /// All our work is done and confirmed by the peer: only the final exchange is missing.
    ///
    /// HDB systems hang up silently after a `SN4`.
    pub(super) fn is_content(&self) -> bool {
        match self.state {
            State::Farewell | State::Parting => true,
            State::Hangup | State::Slave => self.duty.sends && self.exhausted && !self.duty.takes,
            _ => false,
        }
    }

    /// The line failed, or the peer went silent.
    fn line_failed(&mut self, cx: &mut Cx<'_>, failure: Failure) {
        let content = self.is_content();
        self.ended(cx, if content { Outcome::Done } else { Outcome::Failed(failure) });
    }

    /// What blocks sending, when the queue is empty.
    fn waits_for(&self, memory_len: usize) -> Wait {
        let store = !self.pending.is_idle();
        match self.state {
            _ if !self.link.ending.is_running() => Wait::Nothing,
            State::Slave | State::Weigh | State::Take | State::Keep | State::Farewell => {
                let full = store && !self.takes_input(memory_len);
                if full { Wait::Store } else { Wait::Peer }
            }
            _ if self.link.driver.has_output() => Wait::Nothing,
            _ if store => Wait::Store,
            _ if !self.link.is_up() => Wait::Peer,
            State::Data => Wait::Window,
            State::Parting => Wait::Window,
            State::Offer | State::Confirm | State::Hangup => Wait::Answer,
            State::Next | State::Sent | State::End => Wait::Nothing,
        }
    }

    /// Processes input and store replies; idempotent.
    fn pump_session(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.begin(cx);
        self.settle(cx);
        if self.link.is_up() {
            if self.state == State::Next && self.pending.is_idle() && self.link.all_said() {
                self.say_next(cx, mem);
            }
            self.link.pump_commands(cx, mem);
            self.pump_data(cx, mem);
            self.pump_parting(cx);
        } else if !self.link.ending.is_running() {
            self.link.pump_commands(cx, mem);
        }
        let sent = self.link.stats.current_file_bytes;
        let under_way = self.link.driver.unacknowledged_file_bytes();
        if let Some(acked) = &mut self.link.stats.current_acked_bytes {
            *acked = sent.saturating_sub(under_way);
        }
        self.link.driver.expecting = matches!(
            self.state,
            State::Offer
                | State::Confirm
                | State::Hangup
                | State::Slave
                | State::Take
                | State::Farewell
                | State::Parting
                | State::End
        );
        self.link.file_comes = self.state == State::Take;
        self.link.pump_ending(cx, self.pending.is_idle());
        self.link.driver.pump(mem.out);
    }

    /// Moves file data, in either direction.
    fn pump_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if !self.pending.is_idle() {
            return;
        }
        match self.state {
            State::Data => while self.produce(cx, mem) {},
            State::Take => self.write_what_came(mem.file.len()),
            _ => {}
        }
    }

    /// `CLOSE` has to wait for the `HY` before it, which waits for a slot of the window.
    fn pump_parting(&mut self, cx: &mut Cx<'_>) {
        if self.state == State::Parting && self.link.all_said() && self.link.driver.is_drained() {
            self.ended(cx, Outcome::Done);
        }
    }

    fn heard(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, heard: &Received) {
        match heard {
            Received::Command(len) => {
                let text = &mem.text[..*len];
                if cx.trace.enabled() {
                    cx.trace.record(cx.now, &TraceEvent::Text { name: "command", text });
                }
                match command::parse(text, self.link.theirs) {
                    Some(Command::Answer { about, yes, rest }) => {
                        self.answer(cx, mem.say, (about, yes, rest));
                    }
                    Some(command) => self.obey(cx, mem.say, mem.name, command),
                    None => self.fail(cx, Blame::Peer, FailureKind::Violation),
                }
            }
            Received::Bytes(range) => self.bytes_came(cx, mem, range.clone()),
            Received::Close if self.is_content() => self.ended(cx, Outcome::Done),
            Received::Close => self.fail(cx, Blame::Peer, FailureKind::Aborted),
        }
    }

    /// The slave has answered.
    fn answer(&mut self, cx: &mut Cx<'_>, say: &mut [u8], said: (u8, bool, &[u8])) {
        let (about, yes, rest) = said;
        match (self.state, about, yes) {
            (State::Offer, b'S', true) if command::restart(rest) == Some(0) => self.begin_file(cx),
            (State::Offer, b'S', false) => self.refused(cx, command::why_not(rest), true),
            (State::Confirm, b'C', true) => {
                self.enter(cx, Input::Stored);
                self.pending = PendingRequest::close(true);
            }
            // It has the bytes, but could not rename the file into place.
            (State::Confirm, b'C', false) => self.refused(cx, Some(Refusal::NotStored), true),
            (State::Hangup, b'H', true) => {
                self.link.say(say, b"HY\0");
                self.enter(cx, Input::Agreed);
                self.begin_farewell(cx);
            }
            (State::Hangup, b'H', false) => {
                self.enter(cx, Input::RolesReversed);
                self.reverse_roles(true);
            }
            (State::Farewell | State::Parting, b'H', _) => self.ended(cx, Outcome::Done),
            _ => self.fail(cx, Blame::Peer, FailureKind::Violation),
        }
    }

    /// Longest wait for the peer's last packets.
    fn begin_farewell(&mut self, cx: &Cx<'_>) {
        let most = self.link.config.linger.get().max(self.link.config.timeout.get());
        self.link.timers.set(Timer::Farewell, cx.now + most);
    }

    /// The roles have changed.
    fn reverse_roles(&mut self, receives: bool) {
        if self.duty.takes && self.duty.sends {
            self.link.notes.push(QueuedEvent::RolesReversed { receives });
        }
    }

    /// The master has sent a command.
    fn obey(&mut self, cx: &mut Cx<'_>, say: &mut [u8], name: &mut [u8], command: Command<'_>) {
        match (self.state, command) {
            (State::Slave, Command::Hangup) if self.exhausted => {
                self.link.say(say, b"HY\0");
                self.enter(cx, Input::NoMoreFiles);
                self.begin_farewell(cx);
            }
            (State::Slave, Command::Hangup) => {
                // We have files: this end becomes master.
                self.link.say(say, b"HN\0");
                self.enter(cx, Input::RolesReversed);
                self.master();
                self.reverse_roles(false);
            }
            (State::Slave, Command::Send(send)) if self.duty.takes => {
                self.offered(cx, say, name, &send);
            }
            (State::Slave, Command::Send(send)) => {
                let what = if send.is_spooled() { b'E' } else { b'S' };
                self.decline(cx, say, b'S', what);
            }
            // The check is weak: damage has made one word of two, and the file is still offered.
            (State::Slave, Command::Other(b'S')) if self.duty.takes => {
                let info = FileInfo::default();
                self.file = Current { info, name_len: 0, open: false };
                self.refuse(cx, say, Refusal::Later);
            }
            (State::Slave, Command::Other(first)) => self.decline(cx, say, first, first),
            _ => self.fail(cx, Blame::Peer, FailureKind::Violation),
        }
    }

    /// Refuses a command of the master, so that its job stays in its queue wherever that
    /// is possible.
    pub(super) fn decline(&mut self, cx: &mut Cx<'_>, say: &mut [u8], command: u8, what: u8) {
        let later = command::postponement(command, self.link.theirs);
        let done = self.is_content();
        self.link.notes.push(QueuedEvent::Declined {
            what: DeclinedJob::from_letter(what),
            kept: later.is_some() || done,
        });
        match later {
            Some(answer) => self.link.say(say, answer),
            // No answer keeps the job in the queue.
            None if done => self.ended(cx, Outcome::Done),
            None => self.link.say(say, command::refusal(command)),
        }
    }

    fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let pending = self.pending.take();
        let ending = !self.link.ending.is_running();
        match (pending, reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Next, Reply::File(info)) => self.file_given(cx, mem, &info),
            (PendingRequest::Next, Reply::NoMoreFiles) => self.exhausted = true,
            (PendingRequest::Read, Reply::Read(len)) => self.source.filled(len, mem.file.len()),
            (PendingRequest::Offer, Reply::Accept { offset }) => self.accepted(cx, mem.say, offset),
            (PendingRequest::Offer, Reply::Refuse(why)) => self.refuse(cx, mem.say, why),
            (PendingRequest::Write, Reply::Done) => self.written(),
            (PendingRequest::Write, _) if ending => self.pending = PendingRequest::close(false),
            (PendingRequest::Close { .. }, _) if ending => self.file.open = false,
            (PendingRequest::Close { complete, .. }, Reply::Done) if self.state == State::Sent => {
                self.closed(cx, complete);
            }
            (PendingRequest::Close { complete: true, .. }, Reply::Done) => self.kept(cx, mem.say),
            (_, Reply::Failed(error)) => self.store_failed(cx, pending, error),
            // A reply to another request: a bug of the host.
            _ => self.store_failed(cx, pending, StoreError::Unsupported),
        }
    }

    fn store_failed(&mut self, cx: &mut Cx<'_>, pending: PendingRequest, error: StoreError) {
        self.file.open &= !matches!(pending, PendingRequest::Close { .. });
        self.fail(cx, Blame::Store, FailureKind::Store(error));
    }
}
