//! The file sender: its doors and its memory. The state machine is in `sending`.

use super::config::Config;
use super::link::{Ending, MAX_NAME};
use super::sending::{Ask, Core};
use super::states::Sending;
use crate::engine::{Command, Cx, Engine, Event, Outcome, Status, Wants};
use crate::file::{DigestKind, Reply, Request};
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::Instant;
use core::fmt;

/// Sends files by ZMODEM. See [`Engine`] for how to turn it.
#[derive(Debug)]
pub struct Sender<M> {
    core: Core,
    layout: Layout,
    memory: M,
}

/// A command that cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadCommand {
    /// The most bytes a command may have.
    pub most: usize,
    /// How many this one has.
    pub len: usize,
}

impl fmt::Display for BadCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { most, len } = self;
        write!(f, "expected a command of 1 to {most} bytes without a NUL, got {len} bytes")
    }
}

impl core::error::Error for BadCommand {}

/// Where everything stands in the memory.
#[derive(Clone, Copy, Debug)]
struct Layout {
    source: usize,
    out: usize,
    coded: usize,
}

/// The memory, divided.
pub(super) struct Mem<'a> {
    /// File bytes between the store and the subpackets.
    pub(super) source: &'a mut [u8],
    /// The queue towards the port.
    pub(super) out: &'a mut [u8],
    /// The data of one run-coded subpacket.
    pub(super) coded: &'a mut [u8],
    /// The name of the current file, and at the end that of the file before.
    pub(super) name: &'a mut [u8],
}

impl Layout {
    fn new(config: &Config) -> Self {
        Self { source: config.source_len(), out: config.sender_queue(), coded: config.coded_len() }
    }

    fn divide(self, memory: &mut [u8]) -> Mem<'_> {
        let (source, rest) = memory.split_at_mut(self.source);
        let (out, rest) = rest.split_at_mut(self.out);
        let (coded, rest) = rest.split_at_mut(self.coded);
        Mem { source, out, coded, name: &mut rest[..MAX_NAME] }
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

    /// Sends this command for the receiver's system instead of files, at most 1023 bytes without a
    /// NUL. The receiver says how it ended, or with `immediate` that it has it
    /// ([`Event::Completed`]).
    pub fn with_command(mut self, command: &[u8], immediate: bool) -> Result<Self, BadCommand> {
        let most = MAX_NAME - 1;
        if command.is_empty() || command.len() > most || command.contains(&0) {
            return Err(BadCommand { most, len: command.len() });
        }
        let (core, mem) = self.parts();
        mem.name[..command.len()].copy_from_slice(command);
        mem.name[command.len()] = 0;
        core.send_command(command.len() + 1, immediate);
        Ok(self)
    }

    fn parts(&mut self) -> (&mut Core, Mem<'_>) {
        (&mut self.core, self.layout.divide(self.memory.as_mut()))
    }
}

impl<M: Memory> Engine for Sender<M> {
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
        core.sent(cx, len);
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
            Ask::Next => Some(Request::Next),
            Ask::Read => {
                let offset = core.source.offset;
                Some(Request::Read { offset, into: core.source.lend(mem.source) })
            }
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
        core.event(mem.name)
    }

    fn command(&mut self, cx: &mut Cx<'_>, command: Command) {
        let (core, mut mem) = self.parts();
        core.command(cx, &mut mem, command);
        core.pump(cx, &mut mem);
    }

    fn wants(&self) -> Wants {
        let core = &self.core;
        let fresh = core.state == Sending::Start && core.link.ending == Ending::No;
        Wants::NONE
            .with(Wants::INPUT, !matches!(core.link.ending, Ending::Over(_)))
            .with(Wants::OUTPUT, core.link.output.pending() > 0 || fresh)
            .with(Wants::STORE, core.ask != Ask::Nothing)
            .with(Wants::PERSON, !core.link.notes.is_empty())
    }

    fn status(&self) -> Status {
        let Core { state, link, .. } = &self.core;
        // Every file is closed at the partner, and partners that are done hang up. Where that can
        // be (not on TCP) only the goodbye is missing.
        let reliable = link.config.line.reliable == Some(true);
        if *state == Sending::Finish && link.ending == Ending::No && !reliable {
            return Status::Lingering(Outcome::Done);
        }
        link.status()
    }

    fn stats(&self) -> &Stats {
        &self.core.link.stats
    }
}
