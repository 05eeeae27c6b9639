//! The session of the one who sends files (\[TUUCP\] 6.5).

use super::command::{self, Command};
use super::config::{Config, Role};
use super::link::{Ending, Heard, Link, Mem, Note};
use super::packet;
use super::source::Source;
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, Refusal, Reply, StoreError};
use crate::trace::{TraceEvent, Wait};

mod sender;

pub use sender::Sender;

/// What the store is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ask {
    Nothing,
    Next,
    Read,
    Close { complete: bool },
}

/// Where the session stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It is not our turn.
    Slave,
    /// The next file is looked for.
    Next,
    /// `S` is said.
    Offer,
    /// The file goes.
    Data,
    /// All of it is out: `CY` is waited for.
    Confirm,
    /// The store is told how the file ended.
    Close,
    /// `H` is said.
    Hangup,
    /// As a slave, `HY` is said.
    Farewell,
    /// Nothing more will be sent.
    End,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Slave => "slave",
            Self::Next => "next",
            Self::Offer => "offer",
            Self::Data => "data",
            Self::Confirm => "confirm",
            Self::Close => "close",
            Self::Hangup => "hangup",
            Self::Farewell => "farewell",
            Self::End => "end",
        }
    }
}

/// The file that is being sent. Its name stands in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    /// Facts, with an empty name.
    info: FileInfo<'static>,
    name_len: usize,
    /// The store has it open.
    open: bool,
}

#[derive(Debug)]
struct Core {
    link: Link,
    state: State,
    ask: Ask,
    source: Source,
    file: Current,
    /// There is no file to send any more.
    exhausted: bool,
}

impl Core {
    fn new(config: Config) -> Self {
        let caller = config.role != Role::Answer;
        let (slots, longest) = (usize::from(config.window), config.packet);
        Self {
            state: if caller { State::Next } else { State::Slave },
            ask: Ask::Next,
            source: Source::default(),
            file: Current::default(),
            exhausted: false,
            link: Link::new(config, caller, slots, longest),
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_>, state: State) {
        if cx.trace.enabled() && self.state != state {
            let (from, to) = (self.state.name(), state.name());
            cx.trace.record(cx.now, &TraceEvent::State { from, to });
        }
        self.state = state;
    }

    /// The current file, as far as it is known.
    fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        FileInfo { name: &name[..self.file.name_len], ..self.file.info }
    }

    fn fail(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind) {
        self.ended(cx, Outcome::Failed(Failure { blame, kind }));
    }

    /// The conversation is over, or shall be.
    fn ended(&mut self, cx: &mut Cx<'_>, outcome: Outcome) {
        self.link.end(cx, outcome);
        self.settle(cx);
    }

    /// What follows for the file when the conversation ends, whoever ended it.
    fn settle(&mut self, cx: &mut Cx<'_>) {
        let outcome = match self.link.ending {
            Ending::Words(outcome) if self.state != State::End => outcome,
            _ => return,
        };
        if let Outcome::Failed(Failure { blame, kind: FailureKind::Aborted }) = outcome
            && self.file.open
        {
            self.link.stats.files_skipped += 1;
            self.link.note(Note::Cancelled { by_peer: blame == Blame::Peer });
        }
        self.enter(cx, State::End);
        self.ask = if self.file.open { Ask::Close { complete: false } } else { Ask::Nothing };
    }

    /// The line failed, or the partner fell silent.
    fn line_failed(&mut self, cx: &mut Cx<'_>, failure: Failure) {
        // Every file was confirmed; what is missing is only the goodbye.
        let said = matches!(self.state, State::Hangup | State::Farewell);
        let outcome = if said { Outcome::Done } else { Outcome::Failed(failure) };
        self.ended(cx, outcome);
    }

    /// What keeps us from sending, when all that is queued has left.
    fn waits_for(&self) -> Wait {
        match self.state {
            _ if self.link.ending != Ending::No || self.link.driver.has_output() => Wait::Nothing,
            _ if self.ask != Ask::Nothing => Wait::Store,
            _ if !self.link.is_up() => Wait::Partner,
            State::Data => Wait::Window,
            State::Slave | State::Farewell => Wait::Partner,
            State::Offer | State::Confirm | State::Hangup => Wait::Answer,
            State::Next | State::Close | State::End => Wait::Nothing,
        }
    }

    /// Everything that follows from input and the store; harmless to call.
    fn pump_session(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.begin(cx);
        self.settle(cx);
        if self.link.is_up() {
            if self.state == State::Next && self.ask == Ask::Nothing && self.link.all_said() {
                self.say_next(cx, mem);
            }
            self.link.pump_commands(cx, mem);
            if self.state == State::Data && self.ask == Ask::Nothing {
                while self.produce(cx, mem) {}
            }
        } else if self.link.ending != Ending::No {
            self.link.pump_commands(cx, mem);
        }
        let expecting = !matches!(self.state, State::Next | State::Close | State::Data);
        self.link.driver.expecting = expecting;
        self.link.pump_ending(cx, self.ask == Ask::Nothing);
        self.link.driver.pump(mem.out);
    }

    /// It is our turn: the next file, or the end.
    fn say_next(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.exhausted {
            self.link.say(mem.say, b"H\0");
            return self.enter(cx, State::Hangup);
        }
        let name = &mem.name[..self.file.name_len];
        let FileInfo { mode, size, .. } = self.file.info;
        let user = self.link.config.name;
        let room = self.link.room_to_say(mem.say);
        match command::emit(name, user.as_str(), mode, size, self.link.theirs, room) {
            Some(len) => {
                self.link.said_in_place(len);
                self.enter(cx, State::Offer);
            }
            None => self.refused(cx, Some(Refusal::Name), false),
        }
    }

    fn refused(&mut self, cx: &mut Cx<'_>, why: Option<Refusal>, by_peer: bool) {
        self.link.note(Note::Refused { why, by_peer });
        self.skip(cx);
    }

    fn skip(&mut self, cx: &mut Cx<'_>) {
        self.link.stats.files_skipped += 1;
        self.enter(cx, State::Close);
        self.ask = Ask::Close { complete: false };
    }

    /// Makes the next packet of the file. True if there may be more to make.
    fn produce(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        // The partner may close in between.
        if self.state != State::Data || !self.link.is_up() || !self.link.driver.has_room() {
            return false;
        }
        let size = self.link.driver.size;
        if self.source.ready() < size && !self.source.ended {
            self.ask = Ask::Read;
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
            self.enter(cx, State::Confirm);
        }
        len > 0
    }

    fn heard(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, heard: &Heard) {
        match heard {
            Heard::Command(len) => {
                if cx.trace.enabled() {
                    let text = &mem.text[..*len];
                    cx.trace.record(cx.now, &TraceEvent::Text { name: "command", text });
                }
                match command::parse(&mem.text[..*len], self.link.theirs) {
                    Some(Command::Answer { about, yes, rest }) => {
                        self.answer(cx, mem.say, about, yes, command::restart(rest));
                    }
                    Some(command) => self.obey(cx, mem.say, command),
                    None => self.fail(cx, Blame::Peer, FailureKind::Violation),
                }
            }
            // Nothing is asked for that would send us a file.
            Heard::Bytes(_) => self.fail(cx, Blame::Peer, FailureKind::Violation),
            Heard::Close if matches!(self.state, State::Hangup | State::Farewell) => {
                self.ended(cx, Outcome::Done);
            }
            Heard::Close => self.fail(cx, Blame::Peer, FailureKind::Aborted),
        }
    }

    /// The slave has answered.
    fn answer(&mut self, cx: &mut Cx<'_>, say: &mut [u8], about: u8, yes: bool, from: Option<u64>) {
        match (self.state, about, yes) {
            (State::Offer, b'S', true) if from == Some(0) => {
                self.source = Source::new(self.file.info.size);
                self.link.stats.current_file_bytes = 0;
                self.link.note(Note::Started);
                self.enter(cx, State::Data);
            }
            (State::Offer, b'S', false) => self.refused(cx, None, true),
            (State::Confirm, b'C', true) => {
                self.enter(cx, State::Close);
                self.ask = Ask::Close { complete: true };
            }
            // It has the bytes, and could not put the file into its place.
            (State::Confirm, b'C', false) => self.refused(cx, None, true),
            (State::Hangup, b'H', true) => {
                self.link.say(say, b"HY\0");
                self.ended(cx, Outcome::Done);
            }
            (State::Hangup, b'H', false) => self.enter(cx, State::Slave),
            (State::Farewell, b'H', _) => self.ended(cx, Outcome::Done),
            _ => self.fail(cx, Blame::Peer, FailureKind::Violation),
        }
    }

    /// The master wants something.
    fn obey(&mut self, cx: &mut Cx<'_>, say: &mut [u8], command: Command<'_>) {
        match (self.state, command) {
            (State::Slave, Command::Hangup) if self.exhausted => {
                self.link.say(say, b"HY\0");
                self.enter(cx, State::Farewell);
            }
            (State::Slave, Command::Hangup) => {
                // We have files: now it is our turn.
                self.link.say(say, b"HN\0");
                self.enter(cx, State::Next);
            }
            (State::Slave, Command::Send(_)) => self.link.say(say, b"SN2\0"),
            (State::Slave, Command::Other(first)) => self.link.say(say, command::refusal(first)),
            _ => self.fail(cx, Blame::Peer, FailureKind::Violation),
        }
    }

    fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let ask = core::mem::replace(&mut self.ask, Ask::Nothing);
        match (ask, reply) {
            (Ask::Nothing, _) => {}
            (Ask::Next, Reply::File(info)) => self.file_given(cx, mem, &info),
            (Ask::Next, Reply::NoMoreFiles) => self.exhausted = true,
            (Ask::Read, Reply::Read(len)) => self.source.filled(len, mem.file.len()),
            (Ask::Close { .. }, _) if self.link.ending != Ending::No => self.file.open = false,
            (Ask::Close { complete }, Reply::Done) => self.closed(cx, complete),
            (_, Reply::Failed(error)) => self.store_failed(cx, ask, error),
            // An answer to something else: a host's mistake.
            _ => self.store_failed(cx, ask, StoreError::Unsupported),
        }
    }

    fn file_given(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, info: &FileInfo<'_>) {
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
            // An empty name cannot be said either.
            None => self.file.name_len = 0,
        }
    }

    fn closed(&mut self, cx: &mut Cx<'_>, complete: bool) {
        self.file.open = false;
        if complete {
            self.link.stats.files_done += 1;
            self.link.note(Note::Done { size: self.source.offset });
        }
        self.enter(cx, State::Next);
        self.ask = Ask::Next;
    }

    fn store_failed(&mut self, cx: &mut Cx<'_>, ask: Ask, error: StoreError) {
        self.file.open &= !matches!(ask, Ask::Close { .. });
        self.fail(cx, Blame::Store, FailureKind::Store(error));
    }
}
