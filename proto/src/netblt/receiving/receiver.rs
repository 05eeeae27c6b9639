//! The file receiver: its doors and its memory.

use super::{AfterQuit, Core, Stage};
use crate::engine::{Blame, Command, Cx, Event, FailureKind, Status, Wants};
use crate::file::{Reply, Request};
use crate::machine::{Machine, WithMemory, engine, split};
use crate::memory::{Memory, MemoryTooSmall};
use crate::netblt::config::Config;
use crate::netblt::link::ShortPacket;
use crate::session::{Ending, PendingRequest, QueuedEvent, Timer};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::Wait;

/// Receives files by NETBLT, a connection for each. See [`Engine`](crate::Engine) for how to turn it: `transmit`
/// lends one datagram, `transmitted` is told its whole length or 0, `receive` takes one datagram
/// or, while the store has to take others first, none.
#[derive(Debug)]
pub struct Receiver<M>(WithMemory<Core, M>);

engine!(Receiver);

impl<M: Memory> Receiver<M> {
    /// A receiver in `memory`, which takes at least [`Config::receiver_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.receiver_lengths();
        WithMemory::new(Core::new(config), lengths, memory).map(Self)
    }

    /// What is known of the path now.
    pub fn measured(&self) -> Measured {
        self.0.core.measured()
    }
}

/// What the receiver has measured of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measured {
    /// Burst values that it offers: packets, and milliseconds from burst to burst.
    pub burst: (u16, u16),
    /// Smoothed round trip of its control messages.
    pub round_trip: Option<Duration>,
    /// Its control timer.
    pub control_timer: Duration,
}

/// The memory, divided.
pub(super) struct Mem<'a> {
    /// The packet that is lent.
    pub(super) out: &'a mut [u8],
    /// File data on its way to the store.
    pub(super) data: &'a mut [u8],
    /// The ring of buffers.
    pub(super) slots: &'a mut [u8],
    /// Control messages without acknowledgement.
    pub(super) messages: &'a mut [u8],
    /// The name of the current file.
    pub(super) name: &'a mut [u8],
}

impl Machine for Core {
    type Lengths = [usize; 5];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 5], memory: &mut [u8]) -> Mem<'_> {
        split!(memory, lengths => out, data, slots, messages, name);
        Mem { out, data, slots, messages, name }
    }

    /// What is left to do after anything has happened.
    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if let Ending::LastPackets(outcome) = self.link.ending {
            self.finish_words(cx, outcome);
        } else if self.link.is_running() {
            let fresh = self.stage == Stage::Opening && !self.link.timers.is_running(Timer::Repeat);
            if fresh && self.pending.is_idle() && self.link.opened == 0 {
                self.open_next(cx);
            }
            if self.pending.is_idle() && self.sink.is_pending() && self.open {
                self.pending = PendingRequest::Write;
            }
            if self.stage == Stage::Moving {
                self.grant(mem);
            } else if self.stage == Stage::Checking {
                self.check(mem.data);
            }
        }
        let wait = match self.stage {
            _ if !self.pending.is_idle() => Wait::Store,
            Stage::Opening | Stage::Leaving | Stage::Quitting => Wait::Answer,
            _ => Wait::Peer,
        };
        self.link.waiting(cx, wait);
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        if self.link.is_over() || !self.take(cx, mem, bytes) { 0 } else { bytes.len() }
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
            Ending::Linger { .. } => return link.timers.get(Timer::Linger),
            Ending::LastPackets(_) | Ending::No => {}
        }
        let moving = matches!(self.stage, Stage::Moving).then_some(());
        let overdue = moving.and(link.timers.get(Timer::Overdue));
        let front = moving.and(link.timers.get(Timer::Front));
        let control = self.control_at();
        let first = moving.and(self.path.first_due());
        let times = [
            link.death_at(),
            link.keepalive_at(),
            link.timers.get(Timer::Repeat),
            overdue,
            front,
            control,
            first,
        ];
        times.into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let now = cx.now;
        self.link.ending.tick(&self.link.timers, now);
        if !self.link.is_running() {
            return;
        }
        if self.link.death_at().is_some_and(|at| now >= at) {
            return self.died(cx);
        }
        if self.link.timers.is_due(Timer::Repeat, now) {
            self.again(cx);
        }
        if self.link.keepalive_at().is_some_and(|at| now >= at) {
            self.link.say(ShortPacket::KeepAlive);
            self.link.spoke = now;
        }
        if self.stage == Stage::Moving {
            if self.link.timers.is_due(Timer::Overdue, now) {
                self.ask_overdue(cx, mem);
            }
            if self.link.timers.is_due(Timer::Front, now) {
                self.ask_front(cx, mem);
            }
            if self.path.first_due().is_some_and(|at| now >= at) {
                self.look_at_rate(cx);
            }
        }
        if self.link.timers.is_due(Timer::Control, now) {
            self.control_timed_out(cx);
        }
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match self.pending {
            PendingRequest::Offer => Some(Request::Offer { info: self.offered(mem.name) }),
            PendingRequest::Write => {
                let (offset, bytes) = self.sink.lend(mem.data);
                Some(Request::Write { offset, bytes })
            }
            pending => pending.plain(),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        self.replied(cx, mem, reply);
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        let note = self.link.notes.pop()?;
        Some(note.event(self.offered(mem.name), self.link.event_texts()))
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
                if self.stage == Stage::Moving {
                    self.link.notes.push(QueuedEvent::Cancelled { by_peer: false });
                    self.link.stats.files_skipped += 1;
                    let say: &[u8] = if self.stop { b"wst1 cancel-batch" } else { b"wst1 cancel" };
                    let then = if self.stop { AfterQuit::End } else { AfterQuit::NextFile };
                    self.say_quit(cx, say, then);
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
