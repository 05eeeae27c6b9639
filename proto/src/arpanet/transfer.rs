//! The engines: a host with one user's process.

use super::config::Config;
use super::ftp::{self, User};
use super::ncp::{self, Host};
use crate::engine::{Command, Cx, Event, Status, Wants};
use crate::file::{Reply, Request};
use crate::machine::{Machine, WithMemory, engine};
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::Instant;

/// Stores files at the server of another host. See [`Engine`](crate::Engine) for how to turn it: `transmit` lends one
/// message for the IMP, `transmitted` is told its whole length or 0, `receive` takes one message.
///
/// A file cannot be left in the middle without the rest, so [`Command::CancelFile`] and
/// [`Command::CancelBatch`] do what [`Command::Abort`] does.
#[derive(Debug)]
pub struct Sender<M>(WithMemory<Core, M>);

engine!(Sender);

/// Retrieves files from the server of another host; likewise. Name them with [`Receiver::want`] before the first call
/// of a door.
#[derive(Debug)]
pub struct Receiver<M>(WithMemory<Core, M>);

engine!(Receiver);

impl<M: Memory> Sender<M> {
    /// A sender in `memory`, which takes at least [`Config::sender_memory`] octets.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.lengths();
        WithMemory::new(Core::new(config, true), lengths, memory).map(Self)
    }
}

impl<M: Memory> Receiver<M> {
    /// A receiver in `memory`, which takes at least [`Config::receiver_memory`] octets.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.lengths();
        WithMemory::new(Core::new(config, false), lengths, memory).map(Self)
    }

    /// Adds a file that is to be retrieved; false if it is no name, or there is no room for it.
    pub fn want(&mut self, name: &[u8]) -> bool {
        let (core, mem) = self.0.parts();
        let process = ftp::Mem::divide(core.buffer_len, mem.process);
        core.user.want(name, process.names)
    }
}

/// A host with a process.
#[derive(Debug)]
pub(crate) struct Core {
    ncp: ncp::Core,
    user: User,
    buffer_len: usize,
}

/// The memory, divided.
pub(crate) struct Mem<'a> {
    ncp: &'a mut [u8],
    process: &'a mut [u8],
}

impl Core {
    fn new(config: Config, puts: bool) -> Self {
        let Config { ncp, ftp, to } = config;
        let buffer_len = ftp.buffer_len;
        Self { ncp: ncp::Core::new(ncp), user: User::new(ftp, to, puts), buffer_len }
    }

    /// Runs something of the process.
    fn with<T>(
        &mut self,
        mem: &mut Mem<'_>,
        run: impl FnOnce(&mut User, &mut Host<'_>, &mut ftp::Mem<'_>) -> T,
    ) -> T {
        let mut process = ftp::Mem::divide(self.buffer_len, mem.process);
        let mut host = Host::of(&mut self.ncp, mem.ncp);
        run(&mut self.user, &mut host, &mut process)
    }

    /// The wire's counters are the host's.
    fn count(&mut self) {
        self.ncp.counts.tell(self.user.stats_mut());
    }
}

impl Machine for Core {
    type Lengths = [usize; 2];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 2], memory: &mut [u8]) -> Mem<'_> {
        crate::machine::split!(memory, lengths => ncp, process);
        Mem { ncp, process }
    }

    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.with(mem, |user, host, process| user.pump(cx, host, process));
        self.count();
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        if matches!(self.status(), Status::Over(_)) {
            return 0;
        }
        self.ncp.hear(cx, mem.ncp, bytes);
        bytes.len()
    }

    fn transmit<'a>(&'a mut self, cx: &mut Cx<'_>, mem: Mem<'a>) -> &'a [u8] {
        self.ncp.lend(cx, mem.ncp)
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, len: usize) {
        self.ncp.took(cx, mem.ncp, len);
    }

    fn deadline(&self) -> Option<Instant> {
        if matches!(self.status(), Status::Over(_)) {
            return None;
        }
        [self.ncp.deadline(), self.user.deadline()].into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.pump(cx, mem);
        self.ncp.tick(cx);
        self.with(mem, |user, host, _| user.tick(cx, host));
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        let process = ftp::Mem::divide(self.buffer_len, mem.process);
        self.user.request(process.file, process.name)
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        self.with(mem, |user, host, process| user.reply(cx, host, process, reply));
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        let process = ftp::Mem::divide(self.buffer_len, mem.process);
        self.user.event(process.name, process.message)
    }

    fn command(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, command: Command) {
        self.with(mem, |user, host, _| user.command(cx, host, command));
    }

    fn wants(&self) -> Wants {
        let over = matches!(self.status(), Status::Over(_));
        Wants::NONE
            .with(Wants::INPUT, !over)
            .with(Wants::OUTPUT, self.ncp.may_say())
            .with(Wants::STORE, self.user.asks())
            .with(Wants::USER, self.user.has_events())
    }

    fn status(&self) -> Status {
        self.user.status()
    }

    fn stats(&self) -> &Stats {
        self.user.counters()
    }
}
