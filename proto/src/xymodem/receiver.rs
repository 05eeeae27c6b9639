//! The file receiver: its doors and its memory. The state machine is in `receiving`.

use super::config::Config;
use super::link::{Ending, Link};
use super::receiving::{Ask, Core};
use crate::engine::{Command, Cx, Engine, Event, Outcome, Status, Wants};
use crate::file::{Reply, Request};
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::Instant;

/// Receives files by XMODEM or YMODEM. See [`Engine`] for how to turn it.
///
/// XMODEM knows no name: the store is offered an empty one, and decides. Neither protocol can
/// leave out one file, so [`Command::CancelFile`] and [`Command::CancelBatch`] do what
/// [`Command::Abort`] does, and a file that the store refuses ends the transfer.
#[derive(Debug)]
pub struct Receiver<M> {
    core: Core,
    memory: M,
}

/// The memory, divided.
pub(super) struct Mem<'a> {
    /// File bytes on their way to the store; blocks are read to where they belong.
    pub(super) file: &'a mut [u8],
    /// The name of the current file.
    pub(super) name: &'a mut [u8],
}

impl<M: Memory> Receiver<M> {
    /// A receiver in `memory`, which takes at least [`Config::receiver_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let (needed, given) = (config.receiver_memory(), memory.as_ref().len());
        if given < needed {
            return Err(MemoryTooSmall { needed, given });
        }
        Ok(Self { core: Core::new(config), memory })
    }

    fn parts(&mut self) -> (&mut Core, Mem<'_>) {
        let config = &self.core.link.config;
        let (file, name) = self.memory.as_mut().split_at_mut(config.sink_len());
        (&mut self.core, Mem { file, name })
    }
}

impl<M: Memory> Engine for Receiver<M> {
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
        if core.link.may_send(cx.now) { core.link.lend() } else { &[] }
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        let (core, mut mem) = self.parts();
        core.transmitted(cx, len);
        core.pump(cx, &mut mem);
    }

    fn deadline(&self) -> Option<Instant> {
        self.core.deadline(self.core.link.config.sink_len())
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        let (core, mut mem) = self.parts();
        core.pump(cx, &mut mem);
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
            Ask::Close { complete } => Some(Request::Close { complete, verified: false }),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, reply: Reply<'_>) {
        let (core, mut mem) = self.parts();
        core.reply(cx, reply);
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
        let core = &self.core;
        let link = &core.link;
        Wants::NONE
            .with(Wants::INPUT, core.takes_input(link.config.sink_len()))
            .with(
                Wants::OUTPUT,
                !core.started() || (link.words.pending() > 0 && link.hold.is_none()),
            )
            .with(Wants::STORE, core.ask != Ask::Nothing)
            .with(Wants::PERSON, !link.notes.is_empty())
    }

    fn status(&self) -> Status {
        match self.core.link.ending {
            // The last file is safe and the sender knows it, or will when the last word has left.
            Ending::Words(Outcome::Done) => Status::Lingering(Outcome::Done),
            _ => self.core.link.status(),
        }
    }

    fn stats(&self) -> &Stats {
        &self.core.link.stats
    }
}
