//! The file sender: its doors and its memory. The state machine is in `sending`.

use super::config::Config;
use super::link::{Ending, Link};
use super::sending::{Ask, Core};
use super::states::Sending;
use crate::engine::{Command, Cx, Engine, Event, Outcome, Status, Wants};
use crate::file::{Reply, Request};
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::Instant;

/// Sends files by XMODEM or YMODEM. See [`Engine`] for how to turn it.
///
/// It obeys the receiver: NAK asks for checksums, `C` for CRCs, `G` for a stream (in XMODEM not on a
/// line that is known to lose data, where it is a damaged `C`). XMODEM sends one
/// file; the others that the store has are refused. Neither protocol can leave a file in the
/// middle, so [`Command::CancelFile`] and [`Command::CancelBatch`] do what [`Command::Abort`] does.
#[derive(Debug)]
pub struct Sender<M> {
    core: Core,
    memory: M,
}

/// The memory, divided.
pub(super) struct Mem<'a> {
    /// File bytes between the store and the blocks.
    pub(super) source: &'a mut [u8],
    /// What is out, or on its way out.
    pub(super) out: &'a mut [u8],
    /// The name of the current file.
    pub(super) name: &'a mut [u8],
}

impl<M: Memory> Sender<M> {
    /// A sender in `memory`, which takes at least [`Config::sender_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let (needed, given) = (config.sender_memory(), memory.as_ref().len());
        if given < needed {
            return Err(MemoryTooSmall { needed, given });
        }
        Ok(Self { core: Core::new(config), memory })
    }

    fn parts(&mut self) -> (&mut Core, Mem<'_>) {
        let config = &self.core.link.config;
        let (source, rest) = self.memory.as_mut().split_at_mut(config.source_len());
        let (out, rest) = rest.split_at_mut(config.queue_len());
        let name = &mut rest[..config.name_len()];
        (&mut self.core, Mem { source, out, name })
    }
}

impl<M: Memory> Engine for Sender<M> {
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        let (core, mut mem) = self.parts();
        core.pump(cx, &mut mem);
        let used = core.take_input(cx, &mut mem, bytes);
        core.pump(cx, &mut mem);
        used
    }

    fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8] {
        let (core, mut mem) = self.parts();
        core.pump(cx, &mut mem);
        if core.link.words.pending() > 0 {
            return core.link.lend();
        }
        if !core.link.may_send(cx.now) {
            return &[];
        }
        core.lent = true;
        core.queue.lend(mem.out)
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        let (core, mut mem) = self.parts();
        core.transmitted(cx, &mut mem, len);
        core.pump(cx, &mut mem);
    }

    fn deadline(&self) -> Option<Instant> {
        self.core.deadline()
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        let (core, mut mem) = self.parts();
        core.pump(cx, &mut mem);
        core.tick(cx);
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
        Some(Link::event(note, core.info(mem.name)))
    }

    fn command(&mut self, cx: &mut Cx<'_>, _: Command) {
        let (core, mut mem) = self.parts();
        core.abort(cx);
        core.pump(cx, &mut mem);
    }

    fn wants(&self) -> Wants {
        let Core { link, queue, ask, .. } = &self.core;
        let fresh = !self.core.started();
        let block = queue.pending() > 0 && link.hold.is_none();
        Wants::NONE
            .with(Wants::INPUT, self.core.takes_input())
            .with(Wants::OUTPUT, fresh || link.words.pending() > 0 || block)
            .with(Wants::STORE, *ask != Ask::Nothing)
            .with(Wants::PERSON, !link.notes.is_empty())
    }

    fn status(&self) -> Status {
        let Core { state, link, queue, .. } = &self.core;
        // Every file is acknowledged; only the answer to the goodbye is missing, and partners that
        // are done hang up. The goodbye itself must have left, which a pause may hold back.
        let said = *state == Sending::Goodbye && queue.pending() == 0;
        if said && link.ending == Ending::No {
            return Status::Lingering(Outcome::Done);
        }
        link.status()
    }

    fn stats(&self) -> &Stats {
        &self.core.link.stats
    }
}
