//! The client: sends a server one command, and receives the result (kermit.md §16.1).
//!
//! A short reply is reported to the user ([`Event::Replied`](crate::Event::Replied)); files, and text
//! for the screen ([`KermitExtras::screen`](crate::file::KermitExtras::screen)), go to the store like any others.
//! To send files to a server takes no client: a [`Sender`](super::Sender) does it.

use super::check::{Check, crc16};
use super::command_memory::{ANSWER, Mem};
use super::config::Config;
use super::encode::Shift;
use super::link::{Link, trace_got};
use super::packet::{self, BadPacket, Packet, kind};
use super::params::{Params, agree};
use super::receiving;
use super::states::{ClientInput, Requesting};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::line::line_time;
use crate::machine::Machine;
use crate::session::{self, Ending, QueuedEvent};
use crate::time::{Duration, Instant};
use crate::trace::{TraceEvent, Wait};
use core::fmt;

mod client;

pub use client::Client;

/// Silence in which the rest of the server's output drains.
const DRAIN: Duration = Duration::from_millis(400);

/// Why a client could not be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadRequest {
    /// It needs more memory than it was given.
    Memory(crate::memory::MemoryTooSmall),
    /// The command is longer than any packet, or an argument of it is too long.
    TooLong,
}

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(error) => error.fmt(f),
            Self::TooLong => f.write_str("the command is too long for a packet"),
        }
    }
}

impl core::error::Error for BadRequest {}

#[derive(Debug)]
struct Core {
    /// While the transfer has the line, this is its placeholder.
    link: Link,
    state: Requesting,
    receiver: Option<receiving::Core>,
    ours: Params,
    kind: u8,
    words_len: usize,
    answer_len: usize,
    /// The data field of the answer to I, which may come twice.
    introduced: (usize, u16),
    attempts: u32,
    wait: Duration,
    asked: Instant,
}

impl Core {
    fn new(config: Config, kind: u8, words_len: usize) -> Self {
        let wait = Duration::from_secs(2) + line_time(config.line.rate_bps, 200);
        let ours = config.params(config.receive_kind);
        Self {
            link: Link::new(config),
            state: Requesting::Start,
            receiver: None,
            ours,
            kind,
            words_len,
            answer_len: 0,
            introduced: (0, 0),
            attempts: 0,
            wait,
            asked: Instant::ZERO,
        }
    }

    fn link(&self) -> &Link {
        self.receiver.as_ref().map_or(&self.link, |receiver| &receiver.link)
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: ClientInput) {
        if !session::enter(cx, &mut self.state, input) {
            let failure = Failure { blame: Blame::Local, kind: FailureKind::Internal };
            self.link.end(cx, Outcome::Failed(failure));
        }
        self.attempts = 0;
    }

    /// Says I, or the command, for the first time or again.
    fn say(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.asked = cx.now;
        self.attempts += 1;
        if self.attempts > 1 {
            self.link.stats.retransmissions += 1;
        }
        match self.state {
            Requesting::Info => {
                let mut text = [0; 40];
                let len = self.ours.emit(&mut text, usize::from(self.link.config.init_length));
                let check = self.link.check_for(kind::INFO);
                self.link.say(cx, mem.out, kind::INFO, 0, &text[..len], check);
            }
            Requesting::Command => {
                let check = self.link.check_for(self.kind);
                let words = &mem.words[..self.words_len];
                if !self.link.say_text(cx, mem.out, self.kind, 0, words, check) {
                    let kind = FailureKind::Unsupported;
                    self.fail(cx, mem, Blame::Local, kind, Some("Command too long"));
                }
            }
            Requesting::Start | Requesting::Done => {}
        }
    }

    fn fail(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        blame: Blame,
        kind: FailureKind,
        say: Option<&str>,
    ) {
        if !self.link.last_words(cx, mem.out, 0, say) {
            return;
        }
        self.enter(cx, ClientInput::Failed);
        self.link.end(cx, Outcome::Failed(Failure { blame, kind }));
    }

    fn abort(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let say = Some("Cancelled by the client");
        self.fail(cx, mem, Blame::Local, FailureKind::Aborted, say);
    }

    /// The server's parameters, or defaults if it does not know the question.
    fn introduced(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, data: &[u8]) {
        self.introduced = (data.len(), crc16(data));
        self.link.theirs = Params::parse(data);
        let forced = self.link.config.locking_shift == Shift::Forced;
        let agreed = agree(&self.ours, &self.link.theirs, true, forced);
        // The command and its answer stay on type 1; the agreement is for their encoding.
        self.link.agreed.forced_check = agreed.forced_check;
        self.link.agreed.qbin = agreed.qbin;
        self.link.agreed.rept = agreed.rept;
        self.link.agreed.send_long = agreed.send_long;
        if agreed.qbin.is_some() {
            self.link.settle();
        }
        self.enter(cx, ClientInput::Introduced);
        self.say(cx, mem);
    }

    fn on_body(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, body: &[u8]) {
        let forced = self.link.agreed.forced_check;
        let packet = match packet::parse(body, Check::Sum6, forced) {
            Ok(packet) => packet,
            Err(why) => return self.on_damaged(cx, mem, why, body.len()),
        };
        let parameters = packet.kind == kind::SEND_INIT
            || (packet.kind == kind::ACK && self.state == Requesting::Info);
        if parameters && let Some(why) = self.link.doubts(packet.data) {
            return self.on_damaged(cx, mem, why, body.len());
        }
        self.link.stats.packets_in += 1;
        trace_got(cx, &packet, body.len(), self.link.stats.wire_in_bytes);
        self.link.spoke = cx.now;
        self.link.sense_parity();
        self.link.turn_begins(cx.now);
        match (self.state, packet.kind) {
            // A server that does not know I replies with an error; it may know the command.
            (Requesting::Info, kind::ERROR) => {
                self.link.take_message(packet.data);
                self.introduced(cx, mem, &[]);
            }
            (Requesting::Info, kind::ACK) => self.introduced(cx, mem, packet.data),
            (Requesting::Command, kind::ERROR) => {
                self.link.take_message(packet.data);
                self.fail(cx, mem, Blame::Peer, FailureKind::PeerError, None);
            }
            (Requesting::Command, kind::ACK) => self.on_reply(cx, mem, &packet),
            (Requesting::Command, kind::SEND_INIT) => self.receive_files(cx, mem, body),
            (Requesting::Info | Requesting::Command, kind::NAK) => {
                self.link.stats.naks_in += 1;
                // An idle server's NAKs may cross the command; it is not retransmitted for each.
                if cx.now - self.asked >= Duration::from_millis(200) {
                    self.again(cx, mem);
                }
            }
            _ => {}
        }
    }

    fn on_damaged(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, why: BadPacket, len: usize) {
        self.link.stats.damaged += 1;
        cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
        self.link.reader.forget_parity();
        if cx.now - self.asked >= Duration::from_millis(200) {
            self.again(cx, mem);
        }
    }

    fn on_reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, packet: &Packet<'_>) {
        let again = self.introduced == (packet.data.len(), crc16(packet.data));
        if again && !packet.data.is_empty() {
            // A duplicate answer to I: it was sent twice.
            self.link.stats.duplicates += 1;
            return;
        }
        if packet.seq != 0 {
            return;
        }
        let (_, len) = self.link.read_text(packet.data, &mut mem.answer[..ANSWER]);
        self.answer_len = len;
        self.link.notes.push(QueuedEvent::Replied);
        self.enter(cx, ClientInput::Replied);
        self.link.end(cx, Outcome::Done);
    }

    /// S: the server sends. The receiver takes the line for the rest.
    fn receive_files(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, body: &[u8]) {
        self.enter(cx, ClientInput::Files);
        self.link.begin_again();
        let mut core = receiving::Core::new(self.link.config.clone());
        core::mem::swap(&mut self.link, &mut core.link);
        let config = core.link.config.clone();
        let mut theirs = mem.lend().receiving(&config);
        core.pump(cx, &mut theirs);
        core.on_body(cx, &mut theirs, body);
        core.pump(cx, &mut theirs);
        self.receiver = Some(core);
    }

    /// The command or its answer was lost.
    fn again(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.attempts > u32::from(self.link.config.retries) {
            let silent = self.link.stats.packets_in == 0;
            let (blame, kind) = if silent {
                (Blame::Peer, FailureKind::Silence)
            } else {
                (Blame::Line, FailureKind::TooManyRetries)
            };
            return self.fail(cx, mem, blame, kind, Some("Too many retries"));
        }
        if self.link.output.pending() == 0 {
            self.say(cx, mem);
        }
    }

    fn overdue(&self) -> Option<Instant> {
        let requesting = matches!(self.state, Requesting::Info | Requesting::Command);
        requesting.then(|| self.asked.max(self.link.port.moved) + self.wait)
    }

    fn waits_for(&self) -> Wait {
        match (self.link.ending, self.state) {
            (Ending::No, Requesting::Info | Requesting::Command) => Wait::Answer,
            _ => Wait::Nothing,
        }
    }
}
