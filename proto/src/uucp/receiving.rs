//! The session of the one who receives files (\[TUUCP\] 6.5).

use super::command::{self, Command};
use super::config::{Config, Role};
use super::link::{Ending, Heard, Link, Mem, Note};
use super::sink::Sink;
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, Refusal, Reply, StoreError};
use crate::time::Instant;
use crate::trace::{TraceEvent, Wait};

mod receiver;

pub use receiver::Receiver;

/// What the store is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ask {
    Nothing,
    Offer,
    Write,
    Close { complete: bool },
}

/// Where the session stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// A command is waited for.
    Slave,
    /// The store's decision on a file.
    Offer,
    /// The file comes.
    Data,
    /// All of it is here: the store makes it safe.
    Close,
    /// As a master with nothing to do, `H` is to be said, or is said.
    Hangup,
    /// `HY` is said, until then at most: every file is safe.
    Farewell(Instant),
    /// Nothing more.
    End,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Slave => "slave",
            Self::Offer => "offer",
            Self::Data => "data",
            Self::Close => "close",
            Self::Hangup => "hangup",
            Self::Farewell(_) => "farewell",
            Self::End => "end",
        }
    }
}

/// The file that is being received. Its name stands in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    name_len: usize,
    size: Option<u64>,
    mode: Option<u32>,
    /// The store has it open.
    open: bool,
}

#[derive(Debug)]
struct Core {
    link: Link,
    state: State,
    ask: Ask,
    sink: Sink,
    file: Current,
    /// `H` is said.
    asked: bool,
    /// Pending bytes that make a write worth its call.
    write_at: usize,
}

impl Core {
    fn new(config: Config) -> Self {
        let caller = config.role == Role::Call;
        let (slots, longest) = (config.reply_slots(), config.reply_len());
        let second = config.line.rate_bps as usize / 10;
        let half = config.receiver_lengths()[0] / 2;
        Self {
            state: if caller { State::Hangup } else { State::Slave },
            ask: Ask::Nothing,
            sink: Sink::default(),
            file: Current::default(),
            asked: false,
            write_at: if second == 0 { half } else { second.min(half) },
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
        let Current { name_len, size, mode, .. } = self.file;
        FileInfo { name: &name[..name_len], size, mode, ..FileInfo::default() }
    }

    /// Whether input is taken now, or waits until the store has answered.
    fn takes_input(&self, memory_len: usize) -> bool {
        let room = self.sink.has_room(memory_len, self.link.config.field_len());
        let later = self.link.ending == Ending::No && self.state == State::Data && !room;
        self.link.takes_input() && !later
    }

    fn fail(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind) {
        self.ended(cx, Outcome::Failed(Failure { blame, kind }));
    }

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
        self.enter(cx, State::End);
        let Outcome::Failed(Failure { blame, kind }) = outcome else { return };
        let unwritten = self.sink.pending() > 0 && !matches!(kind, FailureKind::Store(_));
        self.ask = match self.file.open {
            // What has come is kept, as far as the store keeps parts of files.
            true if unwritten => Ask::Write,
            true => Ask::Close { complete: false },
            false => Ask::Nothing,
        };
        if self.file.open && kind == FailureKind::Aborted {
            self.link.stats.files_skipped += 1;
            self.link.note(Note::Cancelled { by_peer: blame == Blame::Peer });
        }
    }

    /// The line failed, or the partner fell silent.
    fn line_failed(&mut self, cx: &mut Cx<'_>, failure: Failure) {
        let safe = matches!(self.state, State::Farewell(_));
        self.ended(cx, if safe { Outcome::Done } else { Outcome::Failed(failure) });
    }

    fn waits_for(&self, memory_len: usize) -> Wait {
        match self.link.ending {
            Ending::No if self.ask != Ask::Nothing && !self.takes_input(memory_len) => Wait::Store,
            Ending::No => Wait::Partner,
            _ => Wait::Nothing,
        }
    }

    /// Everything that follows from input and from answers; harmless to call.
    fn pump_session(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.begin(cx);
        self.settle(cx);
        if self.link.is_up() && self.state == State::Hangup && !self.asked {
            self.asked = true;
            self.link.say(mem.say, b"H\0");
        }
        self.link.pump_commands(cx, mem);
        if self.ask == Ask::Nothing && self.state == State::Data {
            let full = !self.sink.has_room(mem.file.len(), self.link.config.field_len());
            let pending = self.sink.pending();
            if pending > 0 && (full || pending >= self.write_at) {
                self.ask = Ask::Write;
            }
        }
        self.link.driver.expecting =
            matches!(self.state, State::Slave | State::Data | State::Hangup | State::Farewell(_));
        self.link.file_comes = self.state == State::Data;
        self.link.pump_ending(cx, self.ask == Ask::Nothing);
        self.link.driver.pump(mem.out);
    }

    fn heard(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, heard: &Heard) {
        match heard {
            Heard::Command(len) => {
                let text = &mem.text[..*len];
                if cx.trace.enabled() {
                    cx.trace.record(cx.now, &TraceEvent::Text { name: "command", text });
                }
                match command::parse(text, self.link.theirs) {
                    Some(command) => self.obey(cx, mem.say, mem.name, command),
                    None => self.fail(cx, Blame::Peer, FailureKind::Violation),
                }
            }
            Heard::Bytes(range) if range.is_empty() => self.close(cx),
            Heard::Bytes(range) => {
                let bytes = &mem.field[range.clone()];
                self.sink.push(mem.file, bytes);
                let stats = &mut self.link.stats;
                let len = bytes.len() as u64;
                stats.file_bytes += len;
                stats.current_file_bytes += len;
                stats.encoded_bytes += len;
                if self.file.size.is_some_and(|size| self.sink.end() > size) {
                    self.fail(cx, Blame::Peer, FailureKind::LengthDiffers);
                }
            }
            Heard::Close if matches!(self.state, State::Farewell(_)) => {
                self.ended(cx, Outcome::Done);
            }
            Heard::Close => self.fail(cx, Blame::Peer, FailureKind::Aborted),
        }
    }

    fn obey(&mut self, cx: &mut Cx<'_>, say: &mut [u8], name: &mut [u8], command: Command<'_>) {
        match (self.state, command) {
            (State::Slave, Command::Send(send)) => self.offered(cx, say, name, &send),
            (State::Slave, Command::Hangup) => {
                self.link.say(say, b"HY\0");
                let until = cx.now + self.link.config.linger().max(self.link.config.timeout());
                self.enter(cx, State::Farewell(until));
            }
            (State::Slave, Command::Other(first)) => self.link.say(say, command::refusal(first)),
            (State::Hangup, Command::Answer { about: b'H', yes: true, .. }) => {
                self.link.say(say, b"HY\0");
                self.ended(cx, Outcome::Done);
            }
            (State::Hangup, Command::Answer { about: b'H', yes: false, .. }) => {
                self.enter(cx, State::Slave);
            }
            (State::Farewell(_), Command::Answer { about: b'H', .. }) => {
                self.ended(cx, Outcome::Done);
            }
            _ => self.fail(cx, Blame::Peer, FailureKind::Violation),
        }
    }

    fn offered(
        &mut self,
        cx: &mut Cx<'_>,
        say: &mut [u8],
        name: &mut [u8],
        send: &command::Send<'_>,
    ) {
        let len = command::local_name(send, name);
        let (size, mode) = (send.size, send.mode);
        self.file = Current { name_len: len.unwrap_or(0), size, mode, open: false };
        if len.is_some() {
            self.enter(cx, State::Offer);
            self.ask = Ask::Offer;
        } else {
            self.refuse(cx, say, Refusal::Name);
        }
    }

    fn refuse(&mut self, cx: &mut Cx<'_>, say: &mut [u8], why: Refusal) {
        self.link.stats.files_skipped += 1;
        self.link.note(Note::Refused { why: Some(why), by_peer: false });
        // 2: not permitted; 6: too large at present.
        self.link.say(say, if why == Refusal::NoSpace { b"SN6\0" } else { b"SN2\0" });
        self.enter(cx, State::Slave);
    }

    /// All bytes are here: the store makes the file safe.
    fn close(&mut self, cx: &mut Cx<'_>) {
        if self.file.size.is_some_and(|size| size != self.sink.end()) {
            return self.fail(cx, Blame::Peer, FailureKind::LengthDiffers);
        }
        self.enter(cx, State::Close);
        if self.ask == Ask::Nothing {
            self.close_on();
        }
    }

    fn close_on(&mut self) {
        self.ask = if self.sink.pending() > 0 { Ask::Write } else { Ask::Close { complete: true } };
    }

    fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let ask = core::mem::replace(&mut self.ask, Ask::Nothing);
        match (ask, reply) {
            (Ask::Nothing, _) => {}
            (Ask::Offer, Reply::Accept { offset: 0 }) => {
                self.file.open = true;
                self.sink = Sink::default();
                self.link.stats.current_file_bytes = 0;
                self.link.note(Note::Started);
                self.link.say(mem.say, b"SY\0");
                self.enter(cx, State::Data);
            }
            (Ask::Offer, Reply::Accept { .. }) => {
                // Nothing was said of going on in the middle.
                self.file.open = true;
                self.fail(cx, Blame::Local, FailureKind::Unsupported);
            }
            (Ask::Offer, Reply::Refuse(why)) => self.refuse(cx, mem.say, why),
            (Ask::Write, Reply::Done) => {
                self.sink.taken();
                match self.state {
                    State::Close => self.close_on(),
                    State::End if self.sink.pending() > 0 => self.ask = Ask::Write,
                    State::End => self.ask = Ask::Close { complete: false },
                    _ => {}
                }
            }
            (Ask::Close { complete: true }, Reply::Done) if self.link.ending == Ending::No => {
                self.file.open = false;
                self.link.stats.files_done += 1;
                self.link.note(Note::Done { size: self.sink.end() });
                self.link.say(mem.say, b"CY\0");
                self.enter(cx, State::Slave);
            }
            (Ask::Close { .. }, _) if self.link.ending != Ending::No => self.file.open = false,
            (Ask::Write, _) if self.link.ending != Ending::No => {
                self.ask = Ask::Close { complete: false };
            }
            (Ask::Close { .. }, Reply::Failed(error)) => {
                self.file.open = false;
                self.fail(cx, Blame::Store, FailureKind::Store(error));
            }
            (_, Reply::Failed(error)) => self.fail(cx, Blame::Store, FailureKind::Store(error)),
            // An answer to something else: a host's mistake.
            _ => self.fail(cx, Blame::Store, FailureKind::Store(StoreError::Unsupported)),
        }
    }
}
