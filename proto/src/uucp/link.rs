//! What sender and receiver have in common: the messages before and after the packets, commands as
//! packets, events for the user, and how a session ends.

use super::command::{self, Features};
use super::config::Config;
use super::driver::Driver;
use super::frame::{BadPacket, DLE, Found, PacketReader};
use super::packet::Kind;
use super::states::{Greeting, GreetingInput, Stage};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::machine::split;
use crate::session::{
    self, Ending, EventQueue, EventTexts, InputTrace, Outbox, Port, QueuedEvent, Text, Timer,
    Timers, WaitTrace,
};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::TraceEvent;
use core::fmt::Write as _;
use core::ops::Range;

/// The called side repeats its greeting after this time, and then less and less often: a caller that was
/// only slow gets it twice, and Taylor UUCP takes the second for the answer to its name. But it also discards
/// input from before it started to read, and then waits for the next one.
const SHERE_AGAIN: Duration = Duration::from_secs(10);

/// Write stall timeout.
const STUCK: Duration = Duration::from_secs(5);

/// The memory of an engine, divided.
pub(super) struct Mem<'a> {
    /// File bytes between the store and the packets.
    pub(super) file: &'a mut [u8],
    /// Packets that are not acknowledged.
    pub(super) out: &'a mut [u8],
    /// The field of the incoming packet.
    pub(super) field: &'a mut [u8],
    /// The incoming message or command.
    pub(super) text: &'a mut [u8],
    /// Outgoing commands.
    pub(super) say: &'a mut [u8],
    /// The name of the current file.
    pub(super) name: &'a mut [u8],
}

impl<'a> Mem<'a> {
    pub(super) fn divide(lengths: [usize; 6], memory: &'a mut [u8]) -> Self {
        split!(memory, lengths => file, out, field, text, say, name);
        Self { file, out, field, text, say, name }
    }
}

/// Input for the session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Received {
    /// A command: its length in the text.
    Command(usize),
    /// Bytes of a file, in the field; none is its end.
    Bytes(Range<usize>),
    /// The peer closes.
    Close,
}

/// The common part of both engines.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) config: Config,
    pub(super) driver: Driver,
    pub(super) stats: Stats,
    pub(super) ending: Ending,
    pub(super) theirs: Features,
    /// The input is file data, not commands.
    pub(super) file_comes: bool,
    pub(super) waits: WaitTrace,
    pub(super) comings: InputTrace,
    pub(super) notes: EventQueue,
    pub(super) timers: Timers,
    port: Port,
    reader: PacketReader,
    caller: bool,
    hello: Greeting,
    begun: Option<Instant>,
    /// When our last message was sent.
    said: Instant,
    /// How often the greeting was sent.
    sheres: u32,
    /// A message has started.
    in_text: bool,
    text_len: usize,
    /// Length of the message for the user.
    message_len: usize,
    /// Commands to be put into packets.
    commands: Outbox,
    /// The last packets of the session are sent, and received.
    goodbye: bool,
    their_goodbye: bool,
    agreement: Text<64>,
}

impl Link {
    pub(super) fn new(config: Config, caller: bool, slots: usize, longest: usize) -> Self {
        Self {
            driver: Driver::new(&config, caller, slots, longest),
            stats: Stats::default(),
            ending: Ending::No,
            theirs: Features::default(),
            file_comes: false,
            waits: WaitTrace::default(),
            comings: InputTrace::default(),
            notes: EventQueue::new(),
            timers: Timers::default(),
            port: Port::default(),
            reader: PacketReader::new(config.field_len()),
            caller,
            hello: if caller { Greeting::Here } else { Greeting::Name },
            begun: None,
            said: Instant::ZERO,
            sheres: 0,
            in_text: false,
            text_len: 0,
            message_len: 0,
            commands: Outbox::default(),
            goodbye: false,
            their_goodbye: false,
            agreement: Text::new(),
            config,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.driver.stage == Stage::Run && self.ending.is_running()
    }

    /// The texts that queued events refer to; `text` is the message that came last.
    pub(super) fn event_texts<'a>(&'a self, text: &'a [u8]) -> EventTexts<'a> {
        let (agreement, message) = (self.agreement.as_str(), &text[..self.message_len]);
        EventTexts { agreement, message, ..EventTexts::default() }
    }

    /// Starts, at the first call of a door.
    pub(super) fn begin(&mut self, cx: &mut Cx<'_>) {
        if self.begun.is_some() {
            return;
        }
        self.begun = Some(cx.now);
        self.said = cx.now;
        self.port.moved = cx.now;
        if !self.caller {
            self.say_here();
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    fn say_here(&mut self) {
        self.sheres += 1;
        let name = self.config.name;
        let _ = self.driver.send_text(&[b"\x10Shere=", name.as_str().as_bytes(), b"\0"]);
    }

    fn say_name(&mut self) {
        let name = self.config.name;
        let words: &[&[u8]] = &[b"\x10S", name.as_str().as_bytes(), b" -", command::OURS, b"\0"];
        let _ = self.driver.send_text(words);
    }

    fn say_welcome(&mut self) {
        let ours = if self.theirs == Features::default() { &b""[..] } else { command::OURS };
        let _ = self.driver.send_text(&[b"\x10ROK", ours, b"\0\x10Pg\0"]);
    }

    /// Queues a command. The memory has room for any of ours.
    pub(super) fn say(&mut self, say: &mut [u8], text: &[u8]) {
        self.commands.reuse();
        self.commands.put(say, text);
    }

    /// The room for a command that is written in place; [`Link::said_in_place`] says how long it is.
    pub(super) fn room_to_say<'a>(&self, say: &'a mut [u8]) -> &'a mut [u8] {
        self.commands.room(say)
    }

    pub(super) fn said_in_place(&mut self, len: usize) {
        self.commands.push(len);
    }

    /// All commands are in packets.
    pub(super) fn all_said(&self) -> bool {
        self.commands.pending() == 0
    }

    /// Puts commands into packets, one after the other, each padded with zeros.
    pub(super) fn pump_commands(&mut self, cx: &Cx<'_>, mem: &mut Mem<'_>) {
        while !self.all_said() && self.driver.has_room() {
            let rest = self.commands.lend(mem.say);
            let end = rest.iter().position(|byte| *byte == 0).map_or(rest.len(), |zero| zero + 1);
            let field = self.driver.field(mem.out);
            let len = end.min(field.len());
            field[..len].copy_from_slice(&rest[..len]);
            field[len..].fill(0);
            self.driver.push(cx, mem.out, false, 0);
            self.commands.take(len);
        }
        self.commands.reuse();
    }

    /// Takes bytes up to the next input for the session.
    pub(super) fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        bytes: &[u8],
    ) -> (usize, Option<Received>) {
        self.driver.heard(cx.now);
        let mut used = 0;
        loop {
            if !self.ending.is_running() {
                return (used + self.pass_over(mem, &bytes[used..]), None);
            }
            if self.hello != Greeting::Done {
                let Some(byte) = bytes.get(used) else { return (used, None) };
                used += 1;
                self.stats.wire_in_bytes += 1;
                self.hello_byte(cx, mem, *byte);
                continue;
            }
            let (count, found) = self.reader.next(mem.field, &bytes[used..]);
            used += count;
            self.stats.wire_in_bytes += count as u64;
            let Some(found) = found else { return (used, None) };
            if let Some(heard) = self.found(cx, mem, found) {
                return (used, Some(heard));
            }
        }
    }

    fn found(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, found: Found) -> Option<Received> {
        let (control, len) = match found {
            Found::Control(control) => (control, 0),
            Found::Data { control, len } => (control, len),
            Found::Byte(_) => {
                self.stats.noise_bytes += 1;
                self.driver.noise();
                return None;
            }
            Found::Damaged { why, len, control } => {
                self.damaged(cx, why, len);
                self.driver.on_damaged(control.map(|control| control >> 3 & 7));
                return None;
            }
        };
        let kind = Kind::parse(control).filter(|kind| match kind {
            // Only a data packet has a field.
            Kind::Data { .. } => len > 0,
            _ => len == 0,
        });
        let Some(kind) = kind else {
            self.damaged(cx, BadPacket::Control, len);
            return None;
        };
        self.stats.packets_in += 1;
        if cx.trace.enabled() {
            let number = u64::from(kind.number());
            let data = if self.file_comes { len } else { 0 };
            let (kind, at) = (kind.letter(), self.stats.wire_in_bytes);
            cx.trace.record(cx.now, &TraceEvent::Got { kind, number, len, data, at });
        }
        let before = self.driver.stage;
        let in_order = self.driver.on_packet(cx, &mut self.stats, kind);
        if before != Stage::Run && self.driver.stage == Stage::Run {
            self.agree(cx);
        }
        if self.driver.fault {
            self.fail(cx, Blame::Local, FailureKind::Internal);
            return None;
        }
        match kind {
            Kind::Close => Some(Received::Close),
            Kind::Data { short, .. } if in_order => self.data(cx, mem, short, len),
            _ if self.driver.is_hopeless() => {
                let kind = FailureKind::TooManyRetries;
                self.end(cx, Outcome::Failed(Failure { blame: Blame::Line, kind }));
                None
            }
            _ => None,
        }
    }

    fn damaged(&mut self, cx: &mut Cx<'_>, why: BadPacket, len: usize) {
        self.stats.damaged += 1;
        if cx.trace.enabled() {
            cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
        }
    }

    /// The next data packet in order.
    fn data(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        short: bool,
        len: usize,
    ) -> Option<Received> {
        let Some(valid) = Driver::valid(&mem.field[..len], short) else {
            self.fail(cx, Blame::Peer, FailureKind::Violation);
            return None;
        };
        if self.file_comes {
            return Some(Received::Bytes(valid));
        }
        for at in valid {
            let byte = mem.field[at];
            if byte == 0 {
                let len = core::mem::take(&mut self.text_len);
                // The rest is padding.
                return (len > 0).then_some(Received::Command(len));
            }
            let Some(room) = mem.text.get_mut(self.text_len) else {
                self.fail(cx, Blame::Peer, FailureKind::Violation);
                return None;
            };
            *room = byte;
            self.text_len += 1;
        }
        None
    }

    /// A message in text begins.
    fn begin_text(&mut self) {
        self.in_text = true;
        self.text_len = 0;
    }

    /// A byte before the packets.
    fn hello_byte(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, byte: u8) {
        if self.hello == Greeting::Choice
            && let (_, Some(Found::Control(control))) = self.reader.next(mem.field, &[byte])
            && let Some(kind @ Kind::InitA(_)) = Kind::parse(control)
        {
            // Its choice was lost, but there is only one.
            self.start(cx);
            let _ = self.driver.on_packet(cx, &mut self.stats, kind);
            return;
        }
        match byte {
            DLE => self.begin_text(),
            _ if !self.in_text => self.stats.noise_bytes += 1,
            0 | b'\r' | b'\n' => {
                self.in_text = false;
                let len = self.text_len;
                if cx.trace.enabled() {
                    let text = &mem.text[..len];
                    cx.trace.record(cx.now, &TraceEvent::Text { name: "message", text });
                }
                self.message(cx, &mem.text[..len]);
            }
            _ => match mem.text.get_mut(self.text_len) {
                Some(room) => {
                    *room = byte;
                    self.text_len += 1;
                }
                None => self.in_text = false,
            },
        }
    }

    /// A message before the packets. Unexpected ones are noise or duplicates.
    fn message(&mut self, cx: &mut Cx<'_>, message: &[u8]) {
        match (self.hello, message.first()) {
            (Greeting::Name | Greeting::Choice, Some(b'S')) => {
                let Some((_, features)) = command::caller(message) else { return };
                self.theirs = features.unwrap_or_default();
                self.greet(cx, GreetingInput::Named);
                self.say_welcome();
            }
            (Greeting::Choice, Some(b'U')) if message.contains(&b'g') => self.start(cx),
            (Greeting::Choice, Some(b'U')) => {
                self.message_len = message.len();
                self.notes.push(QueuedEvent::Message);
                self.fail(cx, Blame::Peer, FailureKind::NoProtocol);
            }
            (Greeting::Here | Greeting::Welcome, Some(b'S')) if message.starts_with(b"Shere") => {
                self.greet(cx, GreetingInput::Called);
                self.say_name();
            }
            (Greeting::Welcome, Some(b'R')) => {
                if let Ok(features) = command::welcome(message) {
                    self.theirs = features.unwrap_or_default();
                    self.greet(cx, GreetingInput::Accepted);
                } else {
                    self.message_len = message.len();
                    self.notes.push(QueuedEvent::Message);
                    self.fail(cx, Blame::Peer, FailureKind::PeerError);
                }
            }
            (Greeting::Welcome | Greeting::Protocols, Some(b'P')) => {
                if message[1..].contains(&b'g') {
                    let _ = self.driver.send_text(&[b"\x10Ug\0"]);
                    self.start(cx);
                } else {
                    let _ = self.driver.send_text(&[b"\x10UN\0"]);
                    self.message_len = message.len();
                    self.notes.push(QueuedEvent::Message);
                    self.fail(cx, Blame::Peer, FailureKind::NoProtocol);
                }
            }
            _ => return,
        }
        self.said = cx.now;
    }

    fn greet(&mut self, cx: &mut Cx<'_>, input: GreetingInput) {
        if !session::enter(cx, &mut self.hello, input) {
            self.fail(cx, Blame::Local, FailureKind::Internal);
        }
    }

    fn start(&mut self, cx: &mut Cx<'_>) {
        self.greet(cx, GreetingInput::Agreed);
        self.in_text = false;
        self.text_len = 0;
        let _ = self.reader.abandon();
        self.driver.start(cx);
    }

    fn agree(&mut self, cx: &mut Cx<'_>) {
        let (window, size) = (self.driver.window, self.driver.size);
        self.agreement = Text::new();
        // It fits.
        let _ =
            write!(self.agreement, "UUCP g: we send {window} packets of {size} bytes at a time");
        self.notes.push(QueuedEvent::Negotiated);
        if cx.trace.enabled() {
            for (name, value) in [("window", window), ("packet", size)] {
                let value = value as u64;
                cx.trace.record(cx.now, &TraceEvent::Value { name, value });
            }
        }
    }

    pub(super) fn lend<'a>(&'a self, out: &'a [u8]) -> &'a [u8] {
        self.driver.lend(out)
    }

    pub(super) fn took(&mut self, cx: &mut Cx<'_>, mem: &Mem<'_>, len: usize) {
        if len == 0 {
            return;
        }
        self.driver.took(cx, &mut self.stats, &self.config, len);
        let pending = self.driver.lend(mem.out).len();
        self.port.took(cx, self.stats.wire_out_bytes, pending);
    }

    /// Ends with a failure.
    pub(super) fn fail(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind) {
        self.end(cx, Outcome::Failed(Failure { blame, kind }));
    }

    /// Starts to end; the peer is told. The first reason counts.
    pub(super) fn end(&mut self, cx: &mut Cx<'_>, outcome: Outcome) {
        if !self.ending.begin(cx, outcome) {
            return;
        }
        self.port.moved = cx.now;
        if let Outcome::Failed(_) = outcome {
            self.driver.give_up_queue();
            self.commands.clear();
        }
        if self.driver.stage != Stage::Off {
            // One may be lost.
            self.driver.closes_due = 2;
        }
        self.in_text = false;
        self.text_len = 0;
    }

    /// Sends the last packets and closes the file; then it is over. `idle`: the store has answered.
    pub(super) fn pump_ending(&mut self, cx: &Cx<'_>, idle: bool) {
        if let Ending::LastPackets(outcome) = self.ending {
            let stuck = cx.now >= self.port.moved + STUCK;
            let out = self.all_said() && self.driver.is_drained();
            if out && !self.goodbye {
                self.goodbye = true;
                // The caller sends six, the called side seven.
                let words: &[u8] = if self.caller { b"\x10OOOOOO\0" } else { b"\x10OOOOOOO\0" };
                if self.hello == Greeting::Done && self.driver.send_text(&[words]) {
                    return;
                }
            }
            if idle && (stuck || (self.goodbye && out)) {
                let stay = self.config.linger.get();
                self.ending.linger(&mut self.timers, cx.now, outcome, stay);
            }
        }
        if let Ending::Linger { outcome } = self.ending
            && (self.their_goodbye
                || self.hello != Greeting::Done
                || self.timers.is_due(Timer::Linger, cx.now))
        {
            self.ending = Ending::Over(outcome);
        }
    }

    /// Discards input while ending, up to the peer's last packets.
    fn pass_over(&mut self, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        let mut used = 0;
        for byte in bytes {
            if self.their_goodbye || matches!(self.ending, Ending::Over(_)) {
                break;
            }
            used += 1;
            match byte {
                &DLE => self.begin_text(),
                b'O' if self.in_text && self.text_len < mem.text.len() => self.text_len += 1,
                0 if self.in_text && self.text_len > 3 => self.their_goodbye = true,
                _ => self.in_text = false,
            }
        }
        self.stats.wire_in_bytes += used as u64;
        used
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match (self.ending, self.begun) {
            (Ending::No, Some(begun)) if self.hello != Greeting::Done => {
                Some(self.say_again_at().min(begun + self.config.patience.get()))
            }
            (Ending::No, _) => self.driver.deadline(self.reader.mid_packet()),
            (ending, _) => ending.deadline(&self.timers, self.port.moved + STUCK),
        }
    }

    /// When messages before the packets are retransmitted.
    fn say_again_at(&self) -> Instant {
        self.said
            + match self.hello {
                Greeting::Name => {
                    SHERE_AGAIN.max(self.config.timeout.get()) * (1 << self.sheres.min(4) >> 1)
                }
                _ => self.config.timeout.get(),
            }
    }

    /// Handles an expired timer. An error is for the session to judge.
    pub(super) fn tick(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        if !self.ending.is_running() || self.deadline().is_none_or(|due| due > cx.now) {
            return Ok(());
        }
        if self.hello == Greeting::Done {
            if self.reader.mid_packet() && self.driver.quiet_at() <= cx.now {
                let len = self.reader.abandon();
                self.damaged(cx, BadPacket::Silence, len);
                self.driver.noise();
            }
            return self.driver.timed_out(cx, &mut self.stats);
        }
        if self.begun.is_some_and(|begun| cx.now >= begun + self.config.patience.get()) {
            return Err(Failure { blame: Blame::Peer, kind: FailureKind::Silence });
        }
        self.stats.timeouts += 1;
        self.said = cx.now;
        match self.hello {
            // Our message may have been lost. The caller sends nothing unsolicited.
            Greeting::Name => self.say_here(),
            Greeting::Choice => self.say_welcome(),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn takes_input(&self) -> bool {
        match self.ending {
            Ending::No => true,
            Ending::LastPackets(_) | Ending::Linger { .. } => !self.their_goodbye,
            Ending::Over(_) => false,
        }
    }
}
