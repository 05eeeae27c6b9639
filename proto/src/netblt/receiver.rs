//! The file receiver: its doors and its memory. The state machine is in `receiving`.

use super::config::{Config, MAX_NAME};
use super::link::Ending;
use super::messages;
use super::receiving::{Ask, Core};
use crate::engine::{Command, Cx, Engine, Event, Status, Wants};
use crate::file::{DigestKind, Reply, Request};
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::{Duration, Instant};

/// Receives files by NETBLT, a connection for each. See [`Engine`] for how to turn it: `transmit`
/// lends one datagram, `transmitted` is told its whole length or 0, `receive` takes one datagram
/// or, while the store has to take others first, none.
#[derive(Debug)]
pub struct Receiver<M> {
    core: Core,
    layout: Layout,
    memory: M,
}

/// Where everything stands in the memory.
#[derive(Clone, Copy, Debug)]
struct Layout {
    out: usize,
    data: usize,
    slots: usize,
    messages: usize,
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

impl Layout {
    fn new(config: &Config) -> Self {
        Self {
            out: config.out_len(),
            data: config.data_len(),
            slots: config.shape().receiver_len(),
            messages: messages::ring_len(config.shape().slots),
        }
    }

    fn divide(self, memory: &mut [u8]) -> Mem<'_> {
        let (out, rest) = memory.split_at_mut(self.out);
        let (data, rest) = rest.split_at_mut(self.data);
        let (slots, rest) = rest.split_at_mut(self.slots);
        let (messages, rest) = rest.split_at_mut(self.messages);
        Mem { out, data, slots, messages, name: &mut rest[..MAX_NAME] }
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

impl<M: Memory> Receiver<M> {
    /// A receiver in `memory`, which takes at least [`Config::receiver_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let (needed, given) = (config.receiver_memory(), memory.as_ref().len());
        if given < needed {
            return Err(MemoryTooSmall { needed, given });
        }
        Ok(Self { layout: Layout::new(&config), core: Core::new(config), memory })
    }

    /// What is known of the path now.
    pub fn measured(&self) -> Measured {
        self.core.measured()
    }

    fn parts(&mut self) -> (&mut Core, Mem<'_>) {
        (&mut self.core, self.layout.divide(self.memory.as_mut()))
    }
}

impl<M: Memory> Engine for Receiver<M> {
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        let (core, mut mem) = self.parts();
        if core.link.is_over() || !core.take(cx, &mut mem, bytes) {
            return 0;
        }
        core.pump(cx, &mut mem);
        bytes.len()
    }

    fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8] {
        let (core, mut mem) = self.parts();
        core.pump(cx, &mut mem);
        core.fill(cx, &mut mem);
        let len = core.link.lent;
        &mem.out[..len]
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        let (core, mut mem) = self.parts();
        if len > 0 && core.link.lent > 0 {
            core.left(cx);
            core.pump(cx, &mut mem);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.core.deadline()
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        let (core, mut mem) = self.parts();
        core.tick(cx, &mut mem);
        core.pump(cx, &mut mem);
    }

    fn request(&mut self) -> Option<Request<'_>> {
        let (core, mem) = self.parts();
        match core.ask {
            Ask::Nothing => None,
            Ask::Offer => Some(Request::Offer { info: core.offered(mem.name) }),
            Ask::Held { from } => Some(Request::Held { from }),
            Ask::Write => {
                let (offset, bytes) = core.sink.lend(mem.data);
                Some(Request::Write { offset, bytes })
            }
            Ask::Digest => {
                Some(Request::Digest { kind: DigestKind::Xxh3, len: core.sink.file_len() })
            }
            Ask::Close { complete, verified } => Some(Request::Close { complete, verified }),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, reply: Reply<'_>) {
        let (core, mut mem) = self.parts();
        core.reply(cx, &mut mem, reply);
        core.pump(cx, &mut mem);
    }

    fn event(&mut self) -> Option<Event<'_>> {
        let (core, mem) = self.parts();
        core.event(mem.name)
    }

    fn command(&mut self, cx: &mut Cx<'_>, command: Command) {
        let (core, mut mem) = self.parts();
        core.command(cx, command);
        core.pump(cx, &mut mem);
    }

    fn wants(&self) -> Wants {
        let core = &self.core;
        Wants::NONE
            .with(Wants::INPUT, !matches!(core.link.ending, Ending::Over(_)))
            .with(Wants::OUTPUT, core.link.lent > 0 || core.may_send())
            .with(Wants::STORE, core.ask != Ask::Nothing)
            .with(Wants::PERSON, core.link.has_notes())
    }

    fn status(&self) -> Status {
        self.core.link.status()
    }

    fn stats(&self) -> &Stats {
        &self.core.link.stats
    }
}
