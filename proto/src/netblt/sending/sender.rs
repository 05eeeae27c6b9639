//! The file sender: its doors and its memory.

use super::{Core, Stage};
use crate::engine::{Blame, Command, Cx, Event, FailureKind, Status, Wants};
use crate::file::{Reply, Request};
use crate::machine::{Machine, WithMemory, engine, split};
use crate::memory::{Memory, MemoryTooSmall};
use crate::netblt::config::Config;
use crate::netblt::link::ShortPacket;
use crate::session::{Ending, PendingRequest, QueuedEvent, Timer};
use crate::stats::Stats;
use crate::time::Instant;
use crate::trace::Wait;

/// Sends files by NETBLT, a connection for each. See [`Engine`](crate::Engine) for how to turn it: `transmit`
/// lends one datagram, `transmitted` is told its whole length or 0, `receive` takes one datagram.
#[derive(Debug)]
pub struct Sender<M>(WithMemory<Core, M>);

engine!(Sender);

impl<M: Memory> Sender<M> {
    /// A sender in `memory`, which takes at least [`Config::sender_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.sender_lengths();
        WithMemory::new(Core::new(config), lengths, memory).map(Self)
    }

    /// The burst values that are used now: packets, and milliseconds from burst to burst.
    pub fn burst(&self) -> (u16, u16) {
        self.0.core.burst
    }
}

/// The memory, divided.
pub(super) struct Mem<'a> {
    /// The packet that is lent.
    pub(super) out: &'a mut [u8],
    /// The ring of file data.
    pub(super) data: &'a mut [u8],
    /// A packet of file data to retransmit.
    pub(super) patch: &'a mut [u8],
    /// The ring of buffers.
    pub(super) slots: &'a mut [u8],
    /// Control messages that came ahead of their turn.
    pub(super) seen: &'a mut [u8],
    /// The name of the current file.
    pub(super) name: &'a mut [u8],
}

impl Machine for Core {
    type Lengths = [usize; 6];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 6], memory: &mut [u8]) -> Mem<'_> {
        split!(memory, lengths => out, data, patch, slots, seen, name);
        Mem { out, data, patch, slots, seen, name }
    }

    /// What is left to do after anything has happened.
    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if let Ending::LastPackets(outcome) = self.link.ending {
            self.finish_words(cx, outcome);
        } else if self.stage == Stage::Moving && self.link.is_running() {
            self.look(mem);
            self.ask_source();
        }
        let wait = match self.stage {
            _ if !self.pending.is_idle() => Wait::Store,
            Stage::Moving if self.ready => Wait::Nothing,
            Stage::Moving => Wait::Window,
            Stage::Waiting => Wait::Peer,
            _ => Wait::Answer,
        };
        self.link.waiting(cx, wait);
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        if self.link.is_over() {
            return 0;
        }
        self.take(cx, mem, bytes);
        bytes.len()
    }

    fn transmit<'a>(&'a mut self, cx: &mut Cx<'_>, mut mem: Mem<'a>) -> &'a [u8] {
        self.fill(cx, &mut mem);
        &mem.out[..self.link.lent]
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, len: usize) {
        if len > 0 && self.link.lent > 0 {
            self.left(cx, mem);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let link = &self.link;
        match link.ending {
            Ending::Over(_) => return None,
            Ending::Linger { .. } => return link.timers.next_timeout(),
            Ending::LastPackets(_) | Ending::No => {}
        }
        let moving = self.stage == Stage::Moving && self.ready;
        let burst = (moving && !self.is_in_burst()).then(|| self.next_burst());
        let times = [link.death_at(), self.keepalive_at(), link.timers.get(Timer::Repeat), burst];
        times.into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let now = cx.now;
        if let Ending::Linger { .. } = self.link.ending {
            self.link.ending.tick(&self.link.timers, now);
            if self.link.is_over() {
                return;
            }
        } else if self.link.is_running() && self.link.death_at().is_some_and(|at| now >= at) {
            self.timeout(cx, "death");
            return self.link.fail(cx, Blame::Line, FailureKind::Silence, b"silence");
        }
        if self.link.timers.is_due(Timer::Repeat, now) {
            self.again(cx);
        }
        if self.link.is_running() && self.keepalive_at().is_some_and(|at| now >= at) {
            if !self.says_first_again(mem) {
                self.link.say(ShortPacket::KeepAlive);
            }
            self.link.spoke = now;
        }
        if self.stage == Stage::Moving && !self.is_in_burst() && now >= self.next_burst() {
            self.look(mem);
        }
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match self.pending {
            PendingRequest::Read => {
                let keep = self.keep();
                let ring = &mut mem.data[..self.ring_len()];
                let (offset, into) = self.source.lend(ring, keep);
                Some(Request::Read { offset, into })
            }
            PendingRequest::ReadAgain => {
                let (offset, into) = self.source.lend_patch(mem.patch);
                Some(Request::Read { offset, into })
            }
            pending => pending.plain(),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        self.replied(cx, mem, reply);
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        let note = self.link.notes.pop()?;
        Some(note.event(self.file.info(mem.name), self.link.event_texts()))
    }

    fn command(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, command: Command) {
        if !self.link.is_running() {
            return;
        }
        match command {
            Command::Abort => {
                self.link.fail(cx, Blame::Local, FailureKind::Aborted, b"aborted by the user");
            }
            Command::CancelFile | Command::CancelBatch => {
                self.stop |= command == Command::CancelBatch;
                if self.open && self.stage != Stage::Quitting && self.stage != Stage::Closing {
                    self.link.notes.push(QueuedEvent::Cancelled { by_peer: false });
                    self.link.stats.files_skipped += 1;
                    self.give_up(cx);
                }
            }
        }
    }

    fn wants(&self) -> Wants {
        Wants::NONE
            .with(Wants::INPUT, !self.link.is_over())
            .with(Wants::OUTPUT, self.link.lent > 0 || self.may_send())
            .with(Wants::STORE, !self.pending.is_idle())
            .with(Wants::USER, !self.link.notes.is_empty())
    }

    fn status(&self) -> Status {
        self.link.status()
    }

    fn stats(&self) -> &Stats {
        &self.link.stats
    }
}
