//! Processes with their memory, for programs that run several on one host.

use super::{Asked, Granted, Mem, Options, Session, User, lengths};
use crate::arpanet::leader::Address;
use crate::arpanet::ncp::Host;
use crate::engine::{Command, Cx, Event, Status};
use crate::file::{Reply, Request};
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::Instant;

fn check(options: &Options, memory: &impl Memory) -> Result<(), MemoryTooSmall> {
    let (needed, given) = (options.memory(), memory.as_ref().len());
    if given < needed { Err(MemoryTooSmall { needed, given }) } else { Ok(()) }
}

/// A user's process. Its doors are those of an [`Engine`](crate::Engine), but for the wire: that is its host's.
#[derive(Debug)]
pub struct Client<M> {
    user: User,
    memory: M,
    buffer_len: usize,
}

/// A server's process with one user, likewise. Besides the store it asks its program: [`Service::asked`].
#[derive(Debug)]
pub struct Service<M> {
    session: Session,
    memory: M,
    buffer_len: usize,
}

impl<M: Memory> Client<M> {
    /// A process that stores what its store has at the server of a host (`puts`), or retrieves from it, in
    /// `memory`, which has at least [`Options::memory`] octets.
    pub fn new(
        options: Options,
        to: Address,
        puts: bool,
        memory: M,
    ) -> Result<Self, MemoryTooSmall> {
        check(&options, &memory)?;
        let buffer_len = options.buffer_len;
        Ok(Self { user: User::new(options, to, puts), memory, buffer_len })
    }

    fn parts(&mut self) -> (&mut User, Mem<'_>) {
        (&mut self.user, Mem::divide(self.buffer_len, self.memory.as_mut()))
    }

    /// Adds a file that is to be retrieved; false if it is no name, or there is no room for it.
    pub fn want(&mut self, name: &[u8]) -> bool {
        let (user, mem) = self.parts();
        user.want(name, mem.names)
    }

    /// Makes all possible progress. Call it after any change.
    pub fn pump(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>) {
        let (user, mut mem) = self.parts();
        user.pump(cx, host, &mut mem);
    }

    /// The current store request; the same until answered.
    pub fn request(&mut self) -> Option<Request<'_>> {
        let (user, mem) = self.parts();
        user.request(mem.file, mem.name)
    }

    /// The store's reply.
    pub fn reply(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, reply: Reply<'_>) {
        let (user, mut mem) = self.parts();
        user.reply(cx, host, &mut mem, reply);
        user.pump(cx, host, &mut mem);
    }

    /// The next event for the user.
    pub fn event(&mut self) -> Option<Event<'_>> {
        let (user, mem) = self.parts();
        user.event(mem.name, mem.message)
    }

    /// A command of the user.
    pub fn command(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, command: Command) {
        let (user, mut mem) = self.parts();
        user.command(cx, host, command);
        user.pump(cx, host, &mut mem);
    }

    /// When [`Client::tick`] wants to be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.user.deadline()
    }

    /// Handles expired timers.
    pub fn tick(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>) {
        let (user, mut mem) = self.parts();
        user.tick(cx, host);
        user.pump(cx, host, &mut mem);
    }

    /// Its status. It is over when its host has no more output.
    pub fn status(&self) -> Status {
        self.user.status()
    }

    /// The counters so far.
    pub fn stats(&self) -> &Stats {
        self.user.counters()
    }
}

impl<M: Memory> Service<M> {
    /// A process that answers the oldest call at its server's socket, if there is one, with sockets from `socket` on, a
    /// multiple of 8; in `memory`, which has at least [`Options::memory`] octets. The host listens on the server's
    /// socket ([`Host::listen`]) by its program's word.
    pub fn answer(
        options: Options,
        cx: &mut Cx<'_>,
        host: &mut Host<'_>,
        socket: u32,
        memory: impl FnOnce(usize) -> M,
    ) -> Option<Self> {
        host.waiting(options.server)?;
        let (buffer_len, needed) = (options.buffer_len, options.memory());
        let memory = memory(needed);
        if memory.as_ref().len() < needed {
            return None;
        }
        let session = Session::answer(options, cx, host, socket)?;
        Some(Self { session, memory, buffer_len })
    }

    fn parts(&mut self) -> (&mut Session, Mem<'_>) {
        (&mut self.session, Mem::divide(self.buffer_len, self.memory.as_mut()))
    }

    /// Makes all possible progress. Call it after any change.
    pub fn pump(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>) {
        let (session, mut mem) = self.parts();
        session.pump(cx, host, &mut mem);
    }

    /// The current request to its program; the same until answered.
    pub fn asked(&mut self) -> Option<Asked<'_>> {
        let (session, mem) = self.parts();
        session.asked(mem.line)
    }

    /// The program's answer.
    pub fn grant(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, granted: Granted) {
        let (session, mut mem) = self.parts();
        session.grant(cx, host, &mut mem, granted);
        session.pump(cx, host, &mut mem);
    }

    /// The current store request; the same until answered.
    pub fn request(&mut self) -> Option<Request<'_>> {
        let (session, mem) = self.parts();
        session.request(mem.file, mem.name)
    }

    /// The store's reply.
    pub fn reply(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>, reply: Reply<'_>) {
        let (session, mut mem) = self.parts();
        session.reply(cx, host, &mut mem, reply);
        session.pump(cx, host, &mut mem);
    }

    /// The next event for the user.
    pub fn event(&mut self) -> Option<Event<'_>> {
        let (session, mem) = self.parts();
        session.event(mem.name)
    }

    /// When [`Service::tick`] wants to be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.session.deadline()
    }

    /// Handles expired timers.
    pub fn tick(&mut self, cx: &mut Cx<'_>, host: &mut Host<'_>) {
        let (session, mut mem) = self.parts();
        session.tick(cx, host);
        session.pump(cx, host, &mut mem);
    }

    /// Whether the user has disconnected, and nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.session.is_over()
    }

    /// The user's host.
    pub fn with(&self) -> Option<Address> {
        self.session.with()
    }

    /// The counters so far.
    pub fn stats(&self) -> &Stats {
        self.session.stats()
    }
}

impl Options {
    /// Octets of memory that a process needs.
    pub fn memory(&self) -> usize {
        lengths(self.buffer_len).iter().sum()
    }
}
