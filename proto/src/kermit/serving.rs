//! The server: waits for commands, answers them, and hands the line over for transfers (digest
//! §16).
//!
//! ```text
//! client                          server
//! I(0) parameters         ---->
//!                         <----   Y(0) parameters
//! command(0)              ---->
//!                         <----   Y(0) text                     a short reply
//!                         <----   S(0) ... F or X, A, D, Z, B   files, or text for the screen
//!                         <----   E(0) text                     no
//! S(0) ...                ---->                                 files come, without a command before
//! ```
//!
//! What is done is the store's affair ([`Remote::Serve`](crate::file::Remote::Serve)): the server reads commands, keeps the
//! settings of the protocol, and sees that a command that comes again because its answer was lost
//! is not done twice. Without a client it sends nothing and has no timer.

use super::check::{Check, crc16};
use super::command::{ServerCommand, code, is_whole};
use super::command_memory::{Mem, WORDS};
use super::config::{BlockCheck, Config, Names};
use super::encode::Shift;
use super::link::{Link, trace_got};
use super::packet::{self, BadPacket, Packet, kind};
use super::params::{self, Params, agree};
use super::{receiving, sending};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, FileKind, Left, RemoteReply, Reply, Request};
use crate::machine::Machine;
use crate::session::{Ending, PendingRequest, Text};
use crate::settings::Choice;
use crate::time::{Duration, Instant, Span};
use crate::trace::TraceEvent;

mod server;

pub use server::Server;

/// How long the rest of a transfer that failed is ignored.
const DRAIN: Duration = Duration::from_millis(1000);

/// Who has the line.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // it is kept in its engine, not on a heap
enum Active {
    /// The server itself.
    Wait,
    /// Files, or text, are sent.
    Sending(sending::Core),
    /// Files are received.
    Receiving(receiving::Core),
}

/// What was answered to the last command, for the case that the answer is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Answered {
    /// The command: its packet's type, length and CRC.
    command: (u8, usize, u16),
    /// Type and length of the answer.
    kind: u8,
    len: usize,
}

#[derive(Debug)]
struct Core {
    /// While another has the line, this is its placeholder.
    link: Link,
    active: Active,
    pending: PendingRequest,
    /// What the peer may set, it may not set higher than this: window, length.
    limits: (u8, u16),
    words_len: usize,
    /// The packet whose answer is due.
    seq: u8,
    command: (u8, usize, u16),
    /// The client has sent its parameters since the last command.
    introduced: bool,
    answered: Option<Answered>,
    /// An answer that is too long for a packet, which is sent like a file: where to continue.
    long_answer: Option<usize>,
    answer_len: usize,
    /// The check of the last transfer, whose last packet may come again.
    before: Option<Check>,
    /// Rests of a failed transfer are ignored until then.
    drain: Option<Instant>,
    /// Interval of an idle server's NAKs, if requested.
    idle: Option<Duration>,
    idle_at: Instant,
    started: bool,
    /// A user has ordered an end, once the transfer has told its peer.
    stop: bool,
}

impl Core {
    fn new(config: Config) -> Self {
        Self {
            limits: (config.window, config.receive_length),
            link: Link::new(config),
            active: Active::Wait,
            pending: PendingRequest::Nothing,
            words_len: 0,
            seq: 0,
            command: (0, 0, 0),
            introduced: false,
            answered: None,
            long_answer: None,
            answer_len: 0,
            before: None,
            drain: None,
            idle: None,
            idle_at: Instant::ZERO,
            started: false,
            stop: false,
        }
    }

    /// The link, wherever it is.
    fn link(&self) -> &Link {
        match &self.active {
            Active::Wait => &self.link,
            Active::Sending(core) => &core.link,
            Active::Receiving(core) => &core.link,
        }
    }

    /// Takes the line back from a transfer that is over.
    fn take_back(&mut self, cx: &mut Cx<'_>) {
        let link = match &mut self.active {
            Active::Wait => return,
            Active::Sending(core) => &mut core.link,
            Active::Receiving(core) => &mut core.link,
        };
        let (Ending::Linger { outcome, .. } | Ending::Over(outcome)) = link.ending else { return };
        core::mem::swap(&mut self.link, link);
        self.before = Some(self.link.agreed.check);
        self.link.begin_again();
        self.active = Active::Wait;
        self.long_answer = None;
        self.introduced = false;
        self.drain = matches!(outcome, Outcome::Failed(_)).then(|| cx.now + DRAIN);
        self.idle_at = cx.now;
        if cx.trace.enabled() {
            let (from, to, input) = ("transfer", "wait", "Over");
            cx.trace.record(cx.now, &TraceEvent::State { from, to, input });
        }
    }

    fn send(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, screen: bool, batch: Left) {
        let config = Config { batch, ..self.link.config.clone() };
        let mut core = sending::Core::serving(config, screen);
        core::mem::swap(&mut self.link, &mut core.link);
        core.pump(cx, &mut mem.lend().sending(&core.link.config.clone()));
        self.active = Active::Sending(core);
    }

    /// The S packet that began it is in the words.
    fn receive_files(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let mut core = receiving::Core::serving(self.link.config.clone());
        core::mem::swap(&mut self.link, &mut core.link);
        let config = core.link.config.clone();
        let words = core::mem::take(&mut mem.words);
        let mut theirs = mem.lend().receiving(&config);
        core.pump(cx, &mut theirs);
        core.on_body(cx, &mut theirs, &words[..self.words_len]);
        core.pump(cx, &mut theirs);
        mem.words = words;
        self.active = Active::Receiving(core);
    }

    /// An answer of ours that is sent like a file: acts as the store.
    fn answer_self(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let Active::Sending(core) = &mut self.active else { return };
        let config = core.link.config.clone();
        while let Some(at) = self.long_answer {
            let answer = core::mem::take(&mut mem.answer);
            let text = &answer[at.min(self.answer_len)..self.answer_len];
            let asked = core.request(mem.lend().sending(&config));
            let (reply, go_on) = match asked {
                None => (None, at),
                Some(Request::Next) if at == 0 => {
                    let info = FileInfo { kind: FileKind::Text, ..FileInfo::default() };
                    (Some(Reply::File(info)), at)
                }
                Some(Request::Next) => (Some(Reply::NoMoreFiles), at),
                Some(Request::Read { into, .. }) => {
                    let len = text.len().min(into.len());
                    into[..len].copy_from_slice(&text[..len]);
                    (Some(Reply::Read(len)), at + len)
                }
                Some(Request::Digest { .. }) => {
                    (Some(Reply::Failed(crate::file::StoreError::Unsupported)), at)
                }
                Some(_) => (Some(Reply::Done), at.max(1)),
            };
            mem.answer = answer;
            let Some(reply) = reply else { return };
            self.long_answer = Some(go_on);
            core.reply(cx, &mut mem.lend().sending(&config), reply);
            core.pump(cx, &mut mem.lend().sending(&config));
        }
    }

    fn on_damaged(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, why: BadPacket, len: usize) {
        self.link.stats.damaged += 1;
        cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
        self.link.reader.forget_parity();
        if self.drain.is_none() && self.link.may_nak(cx.now) {
            self.link.say(cx, mem.out, kind::NAK, 0, &[], self.link.check_for(kind::INFO));
        }
    }

    /// The client has missed the end of the last transfer. True if the packet was about that.
    fn is_repeated_end(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, body: &[u8]) -> bool {
        let Some(check) = self.before else { return false };
        match packet::parse(body, check, false) {
            Ok(packet) if packet.kind == kind::BREAK => {
                self.link.stats.duplicates += 1;
                self.link.say(cx, mem.out, kind::ACK, u64::from(packet.seq), &[], check);
                true
            }
            _ => false,
        }
    }

    fn on_body(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, body: &[u8]) {
        let forced = self.link.agreed.forced_check;
        let packet = match packet::parse(body, Check::Sum6, forced) {
            Ok(packet) => packet,
            Err(_) if self.is_repeated_end(cx, mem, body) => return,
            Err(why) => return self.on_damaged(cx, mem, why, body.len()),
        };
        let parameters = matches!(packet.kind, kind::SEND_INIT | kind::INFO);
        if parameters && let Some(why) = self.link.doubts(packet.data) {
            return self.on_damaged(cx, mem, why, body.len());
        }
        self.link.stats.packets_in += 1;
        trace_got(cx, &packet, body.len(), self.link.stats.wire_in_bytes);
        self.link.spoke = cx.now;
        self.idle_at = cx.now;
        self.link.sense_parity();
        self.link.turn_begins(cx.now);
        let drained = self.drain.is_none_or(|until| until <= cx.now);
        match packet.kind {
            kind::INFO => self.introduce(cx, mem, packet.data),
            kind::SEND_INIT => {
                let len = body.len().min(mem.words.len());
                mem.words[..len].copy_from_slice(&body[..len]);
                self.words_len = len;
                self.begin(packet.kind, 0);
            }
            b'R' | b'J' | b'H' | b'V' | b'W' | b'O' | b'G' | b'C' | b'K' => {
                self.on_command(cx, mem, &packet);
            }
            // Two servers would answer each other indefinitely.
            kind::ACK | kind::ERROR => {}
            // Rests of a transfer that failed.
            _ if !drained => {}
            kind::BREAK if self.before.is_some() => {
                self.link.say(cx, mem.out, kind::ACK, u64::from(packet.seq), &[], Check::Sum6);
            }
            kind::NAK => {
                self.refuse(cx, mem, packet.seq, "Did you say RECEIVE instead of GET?");
            }
            _ => self.refuse(cx, mem, packet.seq, "Unimplemented server function"),
        }
    }

    fn refuse(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, seq: u8, text: &str) {
        self.link.say_error(cx, mem.out, u64::from(seq), text);
    }

    /// A store request is pending.
    fn begin(&mut self, kind: u8, seq: u8) {
        self.drain = None;
        self.seq = seq;
        self.answered = None;
        self.pending = PendingRequest::Serve { kind };
    }

    /// I: the client's parameters, before a command.
    fn introduce(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, data: &[u8]) {
        self.drain = None;
        self.answered = None;
        self.introduced = true;
        self.words_len = 0;
        self.link.begin_again();
        self.link.theirs = Params::parse(data);
        let theirs = self.link.theirs;
        let seven_bit = self.link.seven_bit();
        let config = &self.link.config;
        let forced = config.locking_shift == Shift::Forced;
        let mut ours = params::answer(config.params(config.receive_kind), &theirs, seven_bit);
        ours.whatami = ours.whatami.map(|whatami| whatami | params::WMI_SERVER);
        let agreed = agree(&ours, &theirs, false, forced);
        self.link.agreed.forced_check = agreed.forced_check;
        let mut text = [0; 40];
        let len = ours.emit(&mut text, usize::from(self.link.config.init_length));
        let check = self.link.check_for(kind::INFO);
        self.link.say(cx, mem.out, kind::ACK, 0, &text[..len], check);
        // Commands and their answers stay on type 1; the agreement is for their encoding.
        self.link.agreed.qbin = agreed.qbin;
        self.link.agreed.rept = agreed.rept;
        self.link.agreed.send_long = agreed.send_long;
        if agreed.qbin.is_some() {
            self.link.settle();
        }
    }

    fn on_command(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, packet: &Packet<'_>) {
        let id = (packet.kind, packet.data.len(), crc16(packet.data));
        if let Some(said) = self.answered.filter(|said| said.command == id) {
            // Its answer was lost: no client sends the same I packet twice otherwise.
            self.link.stats.duplicates += 1;
            let (out, answer) = (&mut *mem.out, &mem.answer[..said.len]);
            let check = self.link.check_for(packet.kind);
            self.link.say_text(cx, out, said.kind, u64::from(packet.seq), answer, check);
            return;
        }
        self.command = id;
        // An extended GET may come in parts.
        let part = packet.kind == b'O' && packet.seq > 0;
        let at = if part { self.words_len } else { 0 };
        if part && packet.seq == self.seq {
            return self.link.say(cx, mem.out, kind::ACK, u64::from(packet.seq), &[], Check::Sum6);
        }
        // The decoder stops before what might not fit.
        let (used, len) = self.link.read_text(packet.data, &mut mem.words[at.min(WORDS)..]);
        if used < packet.data.len() {
            self.words_len = 0;
            return self.refuse(cx, mem, packet.seq, "Command too long");
        }
        self.words_len = at + len;
        self.seq = packet.seq;
        if packet.kind == b'O' && !is_whole(&mem.words[..self.words_len]) {
            let check = self.link.check_for(packet.kind);
            return self.link.say(cx, mem.out, kind::ACK, u64::from(packet.seq), &[], check);
        }
        match ServerCommand::parse(packet.kind, &mem.words[..self.words_len]) {
            Ok(_) => self.begin(packet.kind, packet.seq),
            Err(bad) => {
                let mut text = Text::<64>::new();
                let _ = core::fmt::Write::write_fmt(&mut text, format_args!("{bad}"));
                self.refuse(cx, mem, packet.seq, text.as_str());
            }
        }
    }

    /// The store has answered.
    fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let PendingRequest::Serve { kind } = self.pending else { return };
        self.pending = PendingRequest::Nothing;
        let limit = mem.answer.len();
        match reply {
            Reply::Remote(RemoteReply::Said(_) | RemoteReply::Follow { .. }) | Reply::Done
                if kind == kind::SEND_INIT =>
            {
                self.receive_files(cx, mem);
            }
            Reply::Done => self.said(cx, mem, kind, 0),
            Reply::Remote(RemoteReply::Said(len)) => self.said(cx, mem, kind, len.min(limit)),
            Reply::Remote(RemoteReply::Follow { screen, batch }) => {
                self.send(cx, mem, screen, batch);
            }
            Reply::Remote(RemoteReply::Denied(len)) => {
                // A text of more than a packet is cut, not left unsaid.
                self.say_no(cx, mem, len.min(limit).min(80));
            }
            Reply::Failed(error) => {
                let mut text = Text::<80>::new();
                let _ = core::fmt::Write::write_fmt(&mut text, format_args!("{error}"));
                let len = text.as_bytes().len();
                mem.answer[..len].copy_from_slice(text.as_bytes());
                self.say_no(cx, mem, len);
            }
            // A reply to another request: the request stays open.
            _ => self.pending = PendingRequest::Serve { kind },
        }
    }

    fn say_no(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, mut len: usize) {
        let (seq, check) = (u64::from(self.seq), self.link.check_for(kind::ERROR));
        // Prefixes may make the text longer than the packet.
        while !self.link.say_text(cx, mem.out, kind::ERROR, seq, &mem.answer[..len], check) {
            len = len.saturating_sub(8);
        }
        self.remember(kind::ERROR, len);
    }

    fn remember(&mut self, kind: u8, len: usize) {
        if core::mem::take(&mut self.introduced) {
            self.answered = Some(Answered { command: self.command, kind, len });
        }
    }

    /// A short reply; or a long one, if the text is too long for it.
    fn said(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, kind: u8, len: usize) {
        let command = ServerCommand::parse(kind, &mem.words[..self.words_len]);
        if let Ok(ServerCommand::Set { code, value }) = command
            && self.set(code, value).is_none()
        {
            let text = b"Bad value of a setting";
            mem.answer[..text.len()].copy_from_slice(text);
            return self.say_no(cx, mem, text.len());
        }
        let ends = command.is_ok_and(|command| command.ends());
        let (seq, check) = (u64::from(self.seq), self.link.check_for(kind));
        let text = &mem.answer[..len];
        // Text of several lines is for the screen.
        let short =
            !text.contains(&b'\n') && self.link.say_text(cx, mem.out, kind::ACK, seq, text, check);
        if short || ends {
            if !short {
                self.link.say(cx, mem.out, kind::ACK, seq, &[], check);
            }
            self.remember(kind::ACK, if short { len } else { 0 });
            if ends {
                self.link.end(cx, Outcome::Done);
            }
            return;
        }
        self.answer_len = len;
        self.long_answer = Some(0);
        self.send(cx, mem, true, Left::default());
        self.answer_self(cx, mem);
    }

    /// Changes a setting of the protocol. `None` if the value is invalid; others are the store's.
    fn set(&mut self, code: u16, value: &[u8]) -> Option<()> {
        let number = || -> Option<u16> { core::str::from_utf8(value).ok()?.trim().parse().ok() };
        let truth = || number().filter(|n| *n <= 1).map(|n| n == 1);
        let config = &mut self.link.config;
        match code {
            code::CHECK => config.check = BlockCheck::named(core::str::from_utf8(value).ok()?)?,
            code::LENGTH => {
                config.receive_length = number().filter(|n| *n >= 10)?.min(self.limits.1);
            }
            code::TIMEOUT => {
                let seconds = number().filter(|n| *n <= 94)?.max(1);
                config.timeout = Span::from_secs(u64::from(seconds));
            }
            code::RETRIES => config.retries = number().filter(|n| *n <= 94)?.max(1) as u8,
            code::SERVER_TIMEOUT => {
                let seconds = number()?;
                self.idle = (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)));
            }
            code::WINDOW => {
                let slots = number().filter(|n| (1..=32).contains(n))?;
                config.window = slots.min(u16::from(self.limits.0)) as u8;
            }
            code::FILE_TYPE => {
                config.receive_kind =
                    if number()? == 0 { FileKind::Text } else { FileKind::Binary };
            }
            code::FILE_NAMES => {
                config.names = if truth()? { Names::Literal } else { Names::Converted };
            }
            code::ATTRIBUTES | 232 => config.attributes = truth()?,
            _ => match (code::attribute(code), code / 100) {
                (Some(tag), 1) => config.taken_tags = config.taken_tags.set(tag, truth()?),
                (Some(tag), _) => config.sent_tags = config.sent_tags.set(tag, truth()?),
                (None, _) => {}
            },
        }
        Some(())
    }

    fn stalled(&self) -> Option<Instant> {
        self.link.stalled_at()
    }

    /// The port accepts no output: the line is dead.
    fn give_up(&mut self, cx: &mut Cx<'_>) {
        let failure = Failure { blame: Blame::Line, kind: FailureKind::Silence };
        self.link.output.drop_unsent();
        self.link.end(cx, Outcome::Failed(failure));
    }
}
