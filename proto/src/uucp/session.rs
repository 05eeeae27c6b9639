//! A conversation, whoever has files: whose turn it is, and what becomes of the file when it ends
//! (\[TUUCP\] 6.5).
//!
//! One end is the master and says commands, the other is the slave and answers. A master that has
//! nothing more to do says `H`; a slave that has something answers `HN`, and the roles change. What a
//! master does is in [`sending`](super::sending), what a slave does in [`receiving`](super::receiving).

use super::command::{self, Command};
use super::config::Config;
use super::link::{Link, Mem, Received};
use super::sink::Sink;
use super::source::Source;
pub(super) use super::states::{Input, State};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, Refusal, Reply, StoreError};
use crate::session::{self, Ask, Ending, QueuedEvent, Timer};
use crate::trace::{TraceEvent, Wait};

mod doors;

/// The file that moves. Its name stands in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Current {
    /// Facts, with an empty name.
    pub(super) info: FileInfo<'static>,
    pub(super) name_len: usize,
    /// The store has it open.
    pub(super) open: bool,
}

/// What an engine is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose {
    /// It has files.
    pub(super) sends: bool,
    /// It takes files.
    pub(super) takes: bool,
    pub(super) caller: bool,
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) link: Link,
    pub(super) state: State,
    pub(super) ask: Ask,
    pub(super) source: Source,
    pub(super) sink: Sink,
    pub(super) file: Current,
    pub(super) duty: Purpose,
    /// There is no file to send (any more).
    pub(super) exhausted: bool,
    /// Pending bytes that make a write worth its call.
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
            state: State::Slave,
            ask: Ask::Nothing,
            source: Source::default(),
            sink: Sink::default(),
            file: Current::default(),
            duty,
            exhausted: !duty.sends,
            write_at: if second == 0 { half } else { second.min(half) },
            link: Link::new(config, duty.caller, slots, longest),
        };
        if duty.caller {
            core.state = State::Next;
            core.master();
        } else {
            core.turned(true);
        }
        core
    }

    /// It is our turn.
    fn master(&mut self) {
        self.ask = if self.exhausted { Ask::Nothing } else { Ask::Next };
    }

    pub(super) fn enter(&mut self, cx: &mut Cx<'_>, input: Input) {
        if !session::enter(cx, &mut self.state, input) {
            self.fail(cx, Blame::Local, FailureKind::Internal);
        }
    }

    /// The current file, as far as it is known.
    pub(super) fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        FileInfo { name: &name[..self.file.name_len], ..self.file.info }
    }

    /// Whether input is taken now, or waits until the store has answered.
    fn takes_input(&self, memory_len: usize) -> bool {
        let room = self.sink.has_room(memory_len, self.link.config.field_len());
        let later = self.link.ending.is_running() && self.state == State::Take && !room;
        self.link.takes_input() && !later
    }

    pub(super) fn fail(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind) {
        self.ended(cx, Outcome::Failed(Failure { blame, kind }));
    }

    /// The conversation is over, or is to be.
    pub(super) fn ended(&mut self, cx: &mut Cx<'_>, outcome: Outcome) {
        self.link.end(cx, outcome);
        self.settle(cx);
    }

    /// What follows for the file when the conversation ends, whoever ended it.
    fn settle(&mut self, cx: &mut Cx<'_>) {
        let outcome = match self.link.ending {
            Ending::Words(outcome) if self.state != State::End => outcome,
            _ => return,
        };
        let coming = matches!(self.state, State::Take | State::Keep);
        self.enter(cx, Input::Over);
        self.link.timers.stop(Timer::Farewell);
        self.ask = if self.file.open { Ask::close(false) } else { Ask::Nothing };
        let Outcome::Failed(Failure { blame, kind }) = outcome else { return };
        if self.file.open && coming && self.sink.pending() > 0 {
            // What has come is kept, as far as the store keeps parts of files.
            if !matches!(kind, FailureKind::Store(_)) {
                self.ask = Ask::Write;
            }
        }
        if self.file.open && kind == FailureKind::Aborted {
            self.link.stats.files_skipped += 1;
            self.link.notes.push(QueuedEvent::Cancelled { by_peer: blame == Blame::Peer });
        }
    }

    /// All that we came for is done, and the peer has said so: what is missing is only the goodbye.
    ///
    /// A system of the family HDB leaves without a word after a `SN4`.
    pub(super) fn is_content(&self) -> bool {
        match self.state {
            State::Farewell | State::Parting => true,
            State::Hangup | State::Slave => self.duty.sends && self.exhausted && !self.duty.takes,
            _ => false,
        }
    }

    /// The line failed, or the peer fell silent.
    fn line_failed(&mut self, cx: &mut Cx<'_>, failure: Failure) {
        let content = self.is_content();
        self.ended(cx, if content { Outcome::Done } else { Outcome::Failed(failure) });
    }

    /// What keeps us from sending, when all that is queued has left.
    fn waits_for(&self, memory_len: usize) -> Wait {
        let store = !self.ask.is_idle();
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

    /// Everything that follows from input and the store; harmless to call.
    fn pump_session(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.begin(cx);
        self.settle(cx);
        if self.link.is_up() {
            if self.state == State::Next && self.ask.is_idle() && self.link.all_said() {
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
        self.link.pump_ending(cx, self.ask.is_idle());
        self.link.driver.pump(mem.out);
    }

    /// A file's bytes go on, in either direction.
    fn pump_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if !self.ask.is_idle() {
            return;
        }
        match self.state {
            State::Data => while self.produce(cx, mem) {},
            State::Take => self.write_what_came(mem.file.len()),
            _ => {}
        }
    }

    /// `CLOSE` has to wait for the `HY` before it, which waits for a place in the window.
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
                self.ask = Ask::close(true);
            }
            // It has the bytes, and could not put the file into its place.
            (State::Confirm, b'C', false) => self.refused(cx, Some(Refusal::NotStored), true),
            (State::Hangup, b'H', true) => {
                self.link.say(say, b"HY\0");
                self.enter(cx, Input::Agreed);
                self.begin_farewell(cx);
            }
            (State::Hangup, b'H', false) => {
                self.enter(cx, Input::Turned);
                self.turned(true);
            }
            (State::Farewell | State::Parting, b'H', _) => self.ended(cx, Outcome::Done),
            _ => self.fail(cx, Blame::Peer, FailureKind::Violation),
        }
    }

    /// Longest wait for the peer's last words.
    fn begin_farewell(&mut self, cx: &Cx<'_>) {
        let most = self.link.config.linger.get().max(self.link.config.timeout.get());
        self.link.timers.set(Timer::Farewell, cx.now + most);
    }

    /// The roles have changed.
    fn turned(&mut self, receives: bool) {
        if self.duty.takes && self.duty.sends {
            self.link.notes.push(QueuedEvent::Turned { receives });
        }
    }

    /// The master wants something.
    fn obey(&mut self, cx: &mut Cx<'_>, say: &mut [u8], name: &mut [u8], command: Command<'_>) {
        match (self.state, command) {
            (State::Slave, Command::Hangup) if self.exhausted => {
                self.link.say(say, b"HY\0");
                self.enter(cx, Input::NoMoreFiles);
                self.begin_farewell(cx);
            }
            (State::Slave, Command::Hangup) => {
                // We have files: now it is our turn.
                self.link.say(say, b"HN\0");
                self.enter(cx, Input::Turned);
                self.master();
                self.turned(false);
            }
            (State::Slave, Command::Send(send)) if self.duty.takes => {
                self.offered(cx, say, name, &send);
            }
            (State::Slave, Command::Send(send)) => {
                let what = if send.is_spooled() { b'E' } else { b'S' };
                self.decline(cx, say, b'S', what);
            }
            (State::Slave, Command::Other(first)) => self.decline(cx, say, first, first),
            _ => self.fail(cx, Blame::Peer, FailureKind::Violation),
        }
    }

    /// Does not do what the master wants by this command, so that its job stays in its queue wherever that
    /// is possible.
    pub(super) fn decline(&mut self, cx: &mut Cx<'_>, say: &mut [u8], command: u8, what: u8) {
        let later = command::postponement(command, self.link.theirs);
        let done = self.is_content();
        self.link.notes.push(QueuedEvent::Declined { what, kept: later.is_some() || done });
        match later {
            Some(answer) => self.link.say(say, answer),
            // No answer leaves the job where it is.
            None if done => self.ended(cx, Outcome::Done),
            None => self.link.say(say, command::refusal(command)),
        }
    }

    fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let ask = self.ask.take();
        let ending = !self.link.ending.is_running();
        match (ask, reply) {
            (Ask::Nothing, _) => {}
            (Ask::Next, Reply::File(info)) => self.file_given(cx, mem, &info),
            (Ask::Next, Reply::NoMoreFiles) => self.exhausted = true,
            (Ask::Read, Reply::Read(len)) => self.source.filled(len, mem.file.len()),
            (Ask::Offer, Reply::Accept { offset }) => self.accepted(cx, mem.say, offset),
            (Ask::Offer, Reply::Refuse(why)) => self.refuse(cx, mem.say, why),
            (Ask::Write, Reply::Done) => self.written(),
            (Ask::Write, _) if ending => self.ask = Ask::close(false),
            (Ask::Close { .. }, _) if ending => self.file.open = false,
            (Ask::Close { complete, .. }, Reply::Done) if self.state == State::Sent => {
                self.closed(cx, complete);
            }
            (Ask::Close { complete: true, .. }, Reply::Done) => self.kept(cx, mem.say),
            (_, Reply::Failed(error)) => self.store_failed(cx, ask, error),
            // An answer to something else: a host's mistake.
            _ => self.store_failed(cx, ask, StoreError::Unsupported),
        }
    }

    fn store_failed(&mut self, cx: &mut Cx<'_>, ask: Ask, error: StoreError) {
        self.file.open &= !matches!(ask, Ask::Close { .. });
        self.fail(cx, Blame::Store, FailureKind::Store(error));
    }
}
