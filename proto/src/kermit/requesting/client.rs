//! The client: its doors and its memory.

use super::{BadRequest, ClientInput, Core, DRAIN, Requesting};
use crate::engine::{Blame, Command, Cx, Event, FailureKind, Outcome, Status, Wants};
use crate::file::{FileInfo, Reply, Request};
use crate::kermit::command::ServerCommand;
use crate::kermit::command_memory::{self, Lengths, Mem, WORDS};
use crate::kermit::config::Config;
use crate::kermit::frame::Found;
use crate::machine::{Machine, WithMemory, engine};
use crate::memory::Memory;
use crate::session::EventTexts;
use crate::session::{Ending, Timer};
use crate::stats::Stats;
use crate::time::Instant;
use crate::trace::TraceEvent;

/// Asks a Kermit server for one thing. See [`Engine`](crate::Engine) for how to turn it.
#[derive(Debug)]
pub struct Client<M>(WithMemory<Core, M>);

engine!(Client);

impl<M: Memory> Client<M> {
    /// A client in `memory`, which takes at least [`Config::client_memory`] bytes.
    pub fn new(config: Config, command: &ServerCommand<'_>, memory: M) -> Result<Self, BadRequest> {
        let lengths = config.command_lengths(false);
        let core = Core::new(config, command.kind(), 0);
        let mut machine = WithMemory::new(core, lengths, memory).map_err(BadRequest::Memory)?;
        let (core, mem) = machine.parts();
        core.words_len = command.emit(&mut mem.words[..WORDS]).ok_or(BadRequest::TooLong)?;
        Ok(Self(machine))
    }
}

impl Core {
    fn pump_ending(&mut self, cx: &mut Cx<'_>) {
        let Ending::LastPackets(outcome) = self.link.ending else { return };
        if !self.link.last_packets_are_out(cx.now) {
            return;
        }
        match outcome {
            Outcome::Done => self.link.ending = Ending::Over(outcome),
            Outcome::Failed(_) => self.link.linger(cx, outcome, DRAIN),
        }
    }

    /// Reads packets while no transfer has the line; how many bytes were taken.
    fn hear(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        let turn = self.link.await_turn(bytes);
        let frame = core::mem::take(&mut mem.frame);
        let (count, found) = self.link.reader.next(frame, &bytes[turn..]);
        self.link.stats.wire_in_bytes += (turn + count) as u64;
        match found {
            None | Some(Found::Corrected { .. } | Found::Uncorrected { .. }) => {}
            Some(Found::Packet(body)) => self.on_body(cx, mem, body),
            Some(Found::Damaged { why, len }) => self.on_damaged(cx, mem, why, len),
            Some(Found::Interrupt) => self.abort(cx, mem),
        }
        mem.frame = frame;
        if self.receiver.is_none() {
            self.link.stats.noise_bytes = self.link.reader.noise_bytes();
        }
        turn + count
    }
}

impl Machine for Core {
    type Lengths = Lengths;
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: Lengths, memory: &mut [u8]) -> Mem<'_> {
        command_memory::divide(lengths, memory)
    }

    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.state == Requesting::Start && self.link.ending.is_running() {
            self.link.port.moved = cx.now;
            self.link.spoke = cx.now;
            self.enter(cx, ClientInput::Opened);
            self.say(cx, mem);
        }
        if let Some(receiver) = &mut self.receiver {
            let config = receiver.link.config.clone();
            return receiver.pump(cx, &mut mem.lend().receiving(&config));
        }
        self.link.waits = self.link.waits.note(cx, || self.waits_for());
        self.pump_ending(cx);
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        let mut used = 0;
        while used < bytes.len() {
            let rest = &bytes[used..];
            let count = match &mut self.receiver {
                Some(receiver) => {
                    let config = receiver.link.config.clone();
                    receiver.receive(cx, &mut mem.lend().receiving(&config), rest)
                }
                None if !self.link.ending.is_running() => self.link.pass_over(cx, rest.len()),
                None => self.hear(cx, mem, rest),
            };
            used += count;
            self.pump(cx, mem);
            if count == 0 {
                break;
            }
        }
        used
    }

    fn transmit<'a>(&'a mut self, cx: &mut Cx<'_>, mem: Mem<'a>) -> &'a [u8] {
        match &mut self.receiver {
            Some(receiver) => {
                let config = receiver.link.config.clone();
                receiver.transmit(cx, mem.receiving(&config))
            }
            None if self.link.timers.is_running(Timer::Turn) => &[],
            None => self.link.output.lend(mem.out),
        }
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, len: usize) {
        match &mut self.receiver {
            Some(receiver) => {
                let config = receiver.link.config.clone();
                receiver.transmitted(cx, &mut mem.lend().receiving(&config), len);
            }
            None => self.link.sent(cx, len),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if let Some(receiver) = &self.receiver {
            return receiver.deadline();
        }
        if !self.link.ending.is_running() {
            return self.link.ending_deadline();
        }
        let stalled = self.link.stalled_at();
        [self.link.timers.get(Timer::Turn), self.overdue(), stalled].into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if let Some(receiver) = &mut self.receiver {
            let config = receiver.link.config.clone();
            return receiver.tick(cx, &mut mem.lend().receiving(&config));
        }
        if !self.link.ending.is_running() {
            return self.link.ending.tick(&self.link.timers, cx.now);
        }
        self.link.timers.expire(Timer::Turn, cx.now);
        if self.link.stalled_at().is_some_and(|at| at <= cx.now) {
            return self.fail(cx, mem, Blame::Line, FailureKind::Silence, None);
        }
        if self.overdue().is_some_and(|overdue| overdue <= cx.now) {
            self.link.stats.timeouts += 1;
            let waiting_for = "the server's answer";
            cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for, number: 0 });
            self.link.reader.abandon();
            self.wait = (self.wait * 3 / 2).min(self.link.longest_wait().max(self.wait));
            self.asked = cx.now;
            self.again(cx, mem);
        }
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        let receiver = self.receiver.as_mut()?;
        let config = receiver.link.config.clone();
        receiver.request(mem.receiving(&config))
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        if let Some(receiver) = &mut self.receiver {
            let config = receiver.link.config.clone();
            receiver.reply(cx, &mut mem.lend().receiving(&config), reply);
        }
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        if let Some(receiver) = &mut self.receiver {
            let config = receiver.link.config.clone();
            return receiver.event(mem.receiving(&config));
        }
        let note = self.link.notes.pop()?;
        let words = EventTexts { reply: &mem.answer[..self.answer_len], ..self.link.event_texts() };
        Some(note.event(FileInfo::default(), words))
    }

    fn command(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, command: Command) {
        match &mut self.receiver {
            Some(receiver) => {
                let config = receiver.link.config.clone();
                receiver.command(cx, &mut mem.lend().receiving(&config), command);
            }
            None if command == Command::CancelFile => {}
            None => self.abort(cx, mem),
        }
    }

    fn wants(&self) -> Wants {
        if let Some(receiver) = &self.receiver {
            return receiver.wants();
        }
        let link = &self.link;
        let fresh = self.state == Requesting::Start && link.ending.is_running();
        Wants::NONE
            .with(Wants::INPUT, !matches!(link.ending, Ending::Over(_)))
            .with(
                Wants::OUTPUT,
                fresh || (link.output.pending() > 0 && !link.timers.is_running(Timer::Turn)),
            )
            .with(Wants::USER, !link.notes.is_empty())
    }

    fn status(&self) -> Status {
        self.receiver.as_ref().map_or_else(|| self.link.ending.status(), Machine::status)
    }

    fn stats(&self) -> &Stats {
        &self.link().stats
    }
}
