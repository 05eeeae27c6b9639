//! The server: its doors and its memory.

use super::{Active, Core};
use crate::engine::{Blame, Command, Cx, Event, Failure, FailureKind, Outcome, Status, Wants};
use crate::file::{FileInfo, Remote, Reply, Request};
use crate::kermit::check::Check;
use crate::kermit::command_memory::{self, Lengths, Mem};
use crate::kermit::config::Config;
use crate::kermit::frame::Found;
use crate::kermit::packet::{self, kind};
use crate::machine::{Machine, WithMemory, engine};
use crate::memory::{Memory, MemoryTooSmall};
use crate::session::{Ending, PendingRequest, Timer};
use crate::stats::Stats;
use crate::time::Instant;
use crate::trace::Wait;

/// Serves a Kermit client until it sends FINISH or BYE. See [`Engine`](crate::Engine) for how to
/// run it, and [`Remote::Serve`] for its store requests.
#[derive(Debug)]
pub struct Server<M>(WithMemory<Core, M>);

engine!(Server);

impl<M: Memory> Server<M> {
    /// A server in `memory`, which takes at least [`Config::server_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.command_lengths(true);
        WithMemory::new(Core::new(config), lengths, memory).map(Self)
    }

    /// Whether it waits for a command: no transfer is active, and nothing is pending.
    pub fn is_idle(&self) -> bool {
        let core = &self.0.core;
        matches!(core.active, Active::Wait) && core.pending.is_idle()
    }
}

impl Core {
    /// Reads packets while no transfer has the line; how many bytes were taken.
    fn hear(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        let turn = self.link.await_turn(bytes);
        let frame = core::mem::take(&mut mem.frame);
        let (count, found) = self.link.reader.next(frame, &bytes[turn..]);
        self.link.stats.wire_in_bytes += (turn + count) as u64;
        let ended = !self.link.ending.is_running();
        match found {
            Some(Found::Packet(body)) if ended => self.after_the_end(cx, mem, body),
            // A transfer that begins here unpacks this packet while its own frame is still empty.
            Some(Found::Packet(body)) => self.on_body(cx, mem, body),
            Some(Found::Damaged { why, len }) if !ended => self.on_damaged(cx, mem, why, len),
            Some(Found::Interrupt) if !ended => self.abort(cx, mem),
            _ => {}
        }
        mem.frame = frame;
        self.link.stats.noise_bytes = self.link.reader.noise_bytes();
        turn + count
    }

    /// The answer to the last command was lost.
    fn after_the_end(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, body: &[u8]) {
        let forced = self.link.agreed.forced_check;
        let (Some(said), Ok(packet)) = (self.answered, packet::parse(body, Check::Sum6, forced))
        else {
            return;
        };
        if packet.kind == said.command.0 {
            self.on_command(cx, mem, &packet);
        }
    }

    fn abort(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.refuse(cx, mem, self.seq, "The server was stopped");
        self.pending = PendingRequest::Nothing;
        let failure = Failure { blame: Blame::Local, kind: FailureKind::Aborted };
        self.link.end(cx, Outcome::Failed(failure));
    }

    fn pump_ending(&mut self, cx: &mut Cx<'_>) {
        let Ending::LastPackets(outcome) = self.link.ending else { return };
        if !self.link.last_packets_are_out(cx.now) {
            return;
        }
        let linger = self.link.config.linger.get();
        if self.link.config.is_reliable() || linger.is_zero() {
            self.link.ending = Ending::Over(outcome);
        } else {
            self.link.linger_once(cx, outcome, linger);
        }
    }

    fn abort_after(&mut self, command: Command) {
        if command == Command::Abort {
            // When the transfer has told its peer, the server ends too.
            self.stop = true;
        }
    }
}

impl Machine for Core {
    type Lengths = Lengths;
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: Lengths, memory: &mut [u8]) -> Mem<'_> {
        command_memory::divide(lengths, memory)
    }

    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if !self.started {
            self.started = true;
            self.link.port.moved = cx.now;
            self.link.spoke = cx.now;
            self.idle_at = cx.now;
        }
        match &mut self.active {
            Active::Wait => {}
            Active::Sending(core) => {
                let config = core.link.config.clone();
                core.pump(cx, &mut mem.lend().sending(&config));
            }
            Active::Receiving(core) => {
                let config = core.link.config.clone();
                core.pump(cx, &mut mem.lend().receiving(&config));
            }
        }
        self.answer_self(cx, mem);
        self.take_back(cx);
        if !matches!(self.active, Active::Wait) {
            return;
        }
        if core::mem::take(&mut self.stop) && self.link.ending.is_running() {
            self.abort(cx, mem);
        }
        let wait = match (self.link.ending, self.pending) {
            (Ending::No, PendingRequest::Serve { .. }) => Wait::Store,
            (Ending::No, PendingRequest::Nothing) => Wait::Peer,
            _ => Wait::Nothing,
        };
        self.link.waits = self.link.waits.note(cx, || wait);
        self.pump_ending(cx);
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        let mut used = 0;
        while used < bytes.len() {
            let rest = &bytes[used..];
            let count = match &mut self.active {
                Active::Sending(core) => {
                    let config = core.link.config.clone();
                    core.receive(cx, &mut mem.lend().sending(&config), rest)
                }
                Active::Receiving(core) => {
                    let config = core.link.config.clone();
                    core.receive(cx, &mut mem.lend().receiving(&config), rest)
                }
                Active::Wait if !self.pending.is_idle() => 0,
                Active::Wait => match self.link.ending {
                    Ending::No | Ending::Linger { .. } => self.hear(cx, mem, rest),
                    _ => self.link.pass_over(cx, rest.len()),
                },
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
        match &mut self.active {
            Active::Wait if self.link.timers.is_running(Timer::Turn) => &[],
            Active::Wait => self.link.output.lend(mem.out),
            Active::Sending(core) => {
                let config = core.link.config.clone();
                core.transmit(cx, mem.sending(&config))
            }
            Active::Receiving(core) => {
                let config = core.link.config.clone();
                core.transmit(cx, mem.receiving(&config))
            }
        }
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, len: usize) {
        match &mut self.active {
            Active::Wait => self.link.sent(cx, len),
            Active::Sending(core) => {
                let config = core.link.config.clone();
                core.transmitted(cx, &mut mem.lend().sending(&config), len);
            }
            Active::Receiving(core) => {
                let config = core.link.config.clone();
                core.transmitted(cx, &mut mem.lend().receiving(&config), len);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.active {
            Active::Sending(core) => core.deadline(),
            Active::Receiving(core) => core.deadline(),
            Active::Wait if !self.link.ending.is_running() => self.link.ending_deadline(),
            Active::Wait => {
                let idle = self.idle.map(|idle| self.idle_at + idle);
                [self.link.timers.get(Timer::Turn), self.stalled(), idle]
                    .into_iter()
                    .flatten()
                    .min()
            }
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        match &mut self.active {
            Active::Sending(core) => {
                let config = core.link.config.clone();
                return core.tick(cx, &mut mem.lend().sending(&config));
            }
            Active::Receiving(core) => {
                let config = core.link.config.clone();
                return core.tick(cx, &mut mem.lend().receiving(&config));
            }
            Active::Wait if !self.link.ending.is_running() => {
                return self.link.ending.tick(&self.link.timers, cx.now);
            }
            Active::Wait => {}
        }
        self.link.timers.expire(Timer::Turn, cx.now);
        if self.stalled().is_some_and(|at| at <= cx.now) {
            return self.give_up(cx);
        }
        if let Some(idle) = self.idle
            && self.idle_at + idle <= cx.now
        {
            self.idle_at = cx.now;
            if self.pending.is_idle() && self.link.output.pending() == 0 {
                let check = self.link.check_for(kind::INFO);
                self.link.say(cx, mem.out, kind::NAK, 0, &[], check);
            }
        }
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match &mut self.active {
            Active::Sending(_) if self.long_answer.is_some() => None,
            Active::Sending(core) => {
                let config = core.link.config.clone();
                core.request(mem.sending(&config))
            }
            Active::Receiving(core) => {
                let config = core.link.config.clone();
                core.request(mem.receiving(&config))
            }
            Active::Wait => match self.pending {
                PendingRequest::Serve { kind } => {
                    let len = if kind == kind::SEND_INIT { 0 } else { self.words_len };
                    let files = self.link.theirs.manual_kind();
                    let words = &mem.words[..len];
                    Some(Request::Remote(Remote::Serve { kind, words, files, answer: mem.answer }))
                }
                _ => None,
            },
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        match &mut self.active {
            Active::Sending(_) if self.long_answer.is_some() => {}
            Active::Sending(core) => {
                let config = core.link.config.clone();
                core.reply(cx, &mut mem.lend().sending(&config), reply);
            }
            Active::Receiving(core) => {
                let config = core.link.config.clone();
                core.reply(cx, &mut mem.lend().receiving(&config), reply);
            }
            Active::Wait => self.replied(cx, mem, reply),
        }
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        match &mut self.active {
            Active::Sending(core) => {
                let config = core.link.config.clone();
                core.event(mem.sending(&config))
            }
            Active::Receiving(core) => {
                let config = core.link.config.clone();
                core.event(mem.receiving(&config))
            }
            Active::Wait => {
                let note = self.link.notes.pop()?;
                Some(note.event(FileInfo::default(), self.link.event_texts()))
            }
        }
    }

    fn command(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, command: Command) {
        match &mut self.active {
            Active::Sending(core) => {
                let config = core.link.config.clone();
                core.command(cx, &mut mem.lend().sending(&config), command);
            }
            Active::Receiving(core) => {
                let config = core.link.config.clone();
                core.command(cx, &mut mem.lend().receiving(&config), command);
            }
            Active::Wait if self.link.ending.is_running() && command == Command::Abort => {
                return self.abort(cx, mem);
            }
            Active::Wait => return,
        }
        self.abort_after(command);
    }

    fn wants(&self) -> Wants {
        match &self.active {
            Active::Sending(core) if core.has_done() => {
                let wants = core.wants();
                [Wants::OUTPUT, Wants::STORE, Wants::USER]
                    .into_iter()
                    .fold(Wants::NONE, |all, one| all.with(one, wants.contains(one)))
            }
            Active::Sending(core) => core.wants(),
            Active::Receiving(core) => core.wants(),
            Active::Wait => {
                let input = match self.link.ending {
                    Ending::No => self.pending.is_idle(),
                    Ending::Over(_) => false,
                    _ => true,
                };
                let output =
                    self.link.output.pending() > 0 && !self.link.timers.is_running(Timer::Turn);
                Wants::NONE
                    .with(Wants::INPUT, input)
                    .with(Wants::OUTPUT, output)
                    .with(Wants::STORE, !self.pending.is_idle())
                    .with(Wants::USER, !self.link.notes.is_empty())
            }
        }
    }

    fn status(&self) -> Status {
        match &self.active {
            Active::Wait => self.link.ending.status(),
            _ => Status::Running,
        }
    }

    fn stats(&self) -> &Stats {
        &self.link().stats
    }
}
