//! The file sender: its doors and its memory. The state machine is in `sending`.

use super::config::{Config, MAX_NAME};
use super::link::Ending;
use super::sending::{Ask, Core};
use super::sequence::SEEN_LEN;
use super::source::Want;
use crate::engine::{Command, Cx, Engine, Event, Status, Wants};
use crate::file::{DigestKind, Reply, Request};
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::Instant;

/// Sends files by NETBLT, a connection for each. See [`Engine`] for how to turn it: `transmit`
/// lends one datagram, `transmitted` is told its whole length or 0, `receive` takes one datagram.
#[derive(Debug)]
pub struct Sender<M> {
    core: Core,
    layout: Layout,
    memory: M,
}

/// Where everything stands in the memory.
#[derive(Clone, Copy, Debug)]
struct Layout {
    out: usize,
    data: usize,
    patch: usize,
    slots: usize,
}

/// The memory, divided.
pub(super) struct Mem<'a> {
    /// The packet that is lent.
    pub(super) out: &'a mut [u8],
    /// The ring of file data.
    pub(super) data: &'a mut [u8],
    /// A packet of file data that is wanted again.
    pub(super) patch: &'a mut [u8],
    /// The ring of buffers.
    pub(super) slots: &'a mut [u8],
    /// Control messages that came ahead of their turn.
    pub(super) seen: &'a mut [u8],
    /// The name of the current file.
    pub(super) name: &'a mut [u8],
}

impl Layout {
    fn new(config: &Config) -> Self {
        Self {
            out: config.out_len(),
            data: config.data_len(),
            patch: config.datagram(),
            slots: config.shape().sender_len(),
        }
    }

    fn divide(self, memory: &mut [u8]) -> Mem<'_> {
        let (out, rest) = memory.split_at_mut(self.out);
        let (data, rest) = rest.split_at_mut(self.data);
        let (patch, rest) = rest.split_at_mut(self.patch);
        let (slots, rest) = rest.split_at_mut(self.slots);
        let (seen, rest) = rest.split_at_mut(SEEN_LEN);
        Mem { out, data, patch, slots, seen, name: &mut rest[..MAX_NAME] }
    }
}

impl<M: Memory> Sender<M> {
    /// A sender in `memory`, which takes at least [`Config::sender_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let (needed, given) = (config.sender_memory(), memory.as_ref().len());
        if given < needed {
            return Err(MemoryTooSmall { needed, given });
        }
        Ok(Self { layout: Layout::new(&config), core: Core::new(config), memory })
    }

    /// The burst values that are used now: packets, and milliseconds from burst to burst.
    pub fn burst(&self) -> (u16, u16) {
        self.core.burst
    }

    fn parts(&mut self) -> (&mut Core, Mem<'_>) {
        (&mut self.core, self.layout.divide(self.memory.as_mut()))
    }
}

impl<M: Memory> Engine for Sender<M> {
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        let (core, mut mem) = self.parts();
        if core.link.is_over() {
            return 0;
        }
        core.take(cx, &mut mem, bytes);
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
            core.left(cx, &mut mem);
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
        let keep = core.keep();
        match core.ask {
            Ask::Nothing => None,
            Ask::Next => Some(Request::Next),
            Ask::Source(Want::Read) => {
                let (offset, into) = core.source.lend(mem.data, keep);
                Some(Request::Read { offset, into })
            }
            Ask::Source(Want::Patch) => {
                let (offset, into) = core.source.lend_patch(mem.patch);
                Some(Request::Read { offset, into })
            }
            Ask::Source(Want::Digest) => {
                Some(Request::Digest { kind: DigestKind::Xxh3, len: core.source.file_len() })
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
