//! The file receiver: its doors and its memory. The state machine is in `receiving`.

use super::config::Config;
use super::link::{Ending, MAX_NAME};
use super::receiving::{Ask, Core};
use crate::engine::{Command, Cx, Engine, Event, Status, Wants};
use crate::file::{DigestKind, Reply, Request};
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::Instant;

/// Receives files by ZMODEM. See [`Engine`] for how to turn it.
#[derive(Debug)]
pub struct Receiver<M> {
    core: Core,
    layout: Layout,
    memory: M,
}

/// Where everything stands in the memory.
#[derive(Clone, Copy, Debug)]
struct Layout {
    file: usize,
    out: usize,
    hold: usize,
}

/// The memory, divided.
pub(super) struct Mem<'a> {
    /// Decoded bytes on their way to the store, and the subpacket that is coming in.
    pub(super) file: &'a mut [u8],
    /// The queue towards the port.
    pub(super) out: &'a mut [u8],
    /// Run-coded data.
    pub(super) hold: &'a mut [u8],
    /// The name of the current file.
    pub(super) name: &'a mut [u8],
}

impl Layout {
    fn new(config: &Config) -> Self {
        Self { file: config.sink_len(), out: Config::receiver_queue(), hold: config.hold_len() }
    }

    fn divide(self, memory: &mut [u8]) -> Mem<'_> {
        let (file, rest) = memory.split_at_mut(self.file);
        let (out, rest) = rest.split_at_mut(self.out);
        let (hold, rest) = rest.split_at_mut(self.hold);
        Mem { file, out, hold, name: &mut rest[..MAX_NAME] }
    }
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

    fn parts(&mut self) -> (&mut Core, Mem<'_>) {
        (&mut self.core, self.layout.divide(self.memory.as_mut()))
    }
}

impl<M: Memory> Engine for Receiver<M> {
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        let (core, mut mem) = self.parts();
        let used = core.take_input(cx, &mut mem, bytes);
        core.pump(cx, &mut mem);
        used
    }

    fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8] {
        let (core, mut mem) = self.parts();
        core.pump(cx, &mut mem);
        core.link.output.lend(mem.out, cx.now)
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        let (core, mut mem) = self.parts();
        core.link.sent(cx, len);
        core.pump(cx, &mut mem);
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
            Ask::Offer => Some(Request::Offer { info: core.info(mem.name) }),
            Ask::Write => {
                let (offset, range) = core.sink.lend();
                Some(Request::Write { offset, bytes: &mem.file[range] })
            }
            Ask::Run(len) => Some(Request::Run { command: &mem.name[..len] }),
            Ask::Digest(len) => Some(Request::Digest { kind: DigestKind::Crc32, len }),
            Ask::Close { complete } => Some(Request::Close { complete, verified: false }),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, reply: Reply<'_>) {
        let (core, mut mem) = self.parts();
        core.reply(cx, &mut mem, reply);
        core.pump(cx, &mut mem);
    }

    fn event(&mut self) -> Option<Event<'_>> {
        let (core, mem) = self.parts();
        let note = core.link.notes.pop()?;
        let info = core.info(mem.name);
        Some(core.link.event(note, info))
    }

    fn command(&mut self, cx: &mut Cx<'_>, command: Command) {
        let (core, mut mem) = self.parts();
        core.command(cx, &mut mem, command);
        core.pump(cx, &mut mem);
    }

    fn wants(&self) -> Wants {
        let core = &self.core;
        Wants::NONE
            .with(Wants::INPUT, core.takes_input())
            .with(Wants::OUTPUT, core.link.output.pending() > 0 || core.is_fresh())
            .with(Wants::STORE, core.ask != Ask::Nothing)
            .with(Wants::PERSON, !core.link.notes.is_empty())
    }

    fn status(&self) -> Status {
        match self.core.link.ending {
            // A receiver that waits for the sender's last word has done its work.
            Ending::Linger { outcome, .. } => Status::Lingering(outcome),
            _ => self.core.link.status(),
        }
    }

    fn stats(&self) -> &Stats {
        &self.core.link.stats
    }
}
