//! The file sender: its doors and its memory.

use super::{Ask, Core};
use crate::engine::{Blame, Command, Cx, Event, FailureKind, Status, Wants};
use crate::file::{Reply, Request};
use crate::machine::{Housed, Machine, engine};
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::Instant;
use crate::uucp::config::Config;
use crate::uucp::link::{Ending, Mem};

/// Sends files by UUCP. See [`Engine`](crate::Engine) for how to turn it.
///
/// It calls, or is called and takes its turn when the caller has nothing more to do. A file goes to
/// the public directory of the other system (`~/name`). `g` cannot leave a file in the middle, so
/// [`Command::CancelFile`] and [`Command::CancelBatch`] do what [`Command::Abort`] does.
#[derive(Debug)]
pub struct Sender<M>(Housed<Core, M>);

engine!(Sender);

impl<M: Memory> Sender<M> {
    /// A sender in `memory`, which takes at least [`Config::sender_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.sender_lengths();
        Housed::new(Core::new(config), lengths, memory).map(Self)
    }
}

impl Machine for Core {
    type Lengths = [usize; 6];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 6], memory: &mut [u8]) -> Mem<'_> {
        Mem::divide(lengths, memory)
    }

    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.pump_session(cx, mem);
        self.link.waits = self.link.waits.note(cx, || self.waits_for());
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        self.pump(cx, mem);
        let mut used = 0;
        while self.link.takes_input() {
            let (count, heard) = self.link.receive(cx, mem, &bytes[used..]);
            used += count;
            let Some(heard) = heard else { break };
            self.heard(cx, mem, &heard);
            // What follows is judged by what is out now.
            self.pump(cx, mem);
        }
        self.link.comings = self.link.comings.note(cx, used, &self.link.stats);
        used
    }

    fn transmit<'a>(&'a mut self, _: &mut Cx<'_>, mem: Mem<'a>) -> &'a [u8] {
        self.link.lend(mem.out)
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, len: usize) {
        self.link.took(cx, mem, len);
    }

    fn deadline(&self) -> Option<Instant> {
        self.link.deadline()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.pump(cx, mem);
        if let Err(failure) = self.link.tick(cx) {
            self.line_failed(cx, failure);
        }
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match self.ask {
            Ask::Nothing => None,
            Ask::Next => Some(Request::Next),
            Ask::Read => {
                let offset = self.source.offset;
                Some(Request::Read { offset, into: self.source.lend(mem.file) })
            }
            Ask::Close { complete } => Some(Request::Close { complete, verified: false }),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        self.replied(cx, mem, reply);
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        let info = self.info(mem.name);
        self.link.event(info, mem.text)
    }

    fn command(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, _: Command) {
        self.fail(cx, Blame::Local, FailureKind::Aborted);
    }

    fn wants(&self) -> Wants {
        let output = !self.link.has_begun() || self.link.driver.has_output();
        Wants::NONE
            .with(Wants::INPUT, self.link.takes_input())
            .with(Wants::OUTPUT, output && !matches!(self.link.ending, Ending::Over(_)))
            .with(Wants::STORE, self.ask != Ask::Nothing)
            .with(Wants::PERSON, self.link.has_notes())
    }

    fn status(&self) -> Status {
        self.link.status()
    }

    fn stats(&self) -> &Stats {
        &self.link.stats
    }
}
