//! The frame around every engine. A protocol implements a [`Machine`], which handles each
//! door; [`WithMemory`] keeps it with its memory, and [`engine!`] gives it the doors of an [`Engine`].
//!
//! [`Engine`]: crate::Engine

use crate::engine::{Command, Cx, Event, Outcome, Status, Wants};
use crate::file::{Reply, Request};
use crate::learned::Learned;
use crate::memory::{Memory, MemoryTooSmall};
use crate::stats::Stats;
use crate::time::Instant;

/// The state machine of an engine. It does not own its memory: every door that needs it is
/// given it, divided into named parts. The doors are those of [`Engine`](crate::Engine).
pub(crate) trait Machine {
    /// The lengths of the parts of the memory: `[usize; N]`.
    type Lengths: AsRef<[usize]> + Copy;
    /// The memory, divided.
    type Mem<'a>;

    /// Gives the parts their names.
    fn divide(lengths: Self::Lengths, memory: &mut [u8]) -> Self::Mem<'_>;

    /// Processes pending work, such as queueing what may be sent. Called after every other door
    /// that may change the state, and before bytes are lent; idempotent.
    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Self::Mem<'_>);

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Self::Mem<'_>, bytes: &[u8]) -> usize;
    fn transmit<'a>(&'a mut self, cx: &mut Cx<'_>, mem: Self::Mem<'a>) -> &'a [u8];
    fn transmitted(&mut self, cx: &mut Cx<'_>, mem: &mut Self::Mem<'_>, len: usize);

    fn deadline(&self) -> Option<Instant>;
    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Self::Mem<'_>);

    fn request<'a>(&'a mut self, mem: Self::Mem<'a>) -> Option<Request<'a>>;
    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Self::Mem<'_>, reply: Reply<'_>);

    fn event<'a>(&'a mut self, mem: Self::Mem<'a>) -> Option<Event<'a>>;
    fn command(&mut self, cx: &mut Cx<'_>, mem: &mut Self::Mem<'_>, command: Command);

    fn wants(&self) -> Wants;
    fn status(&self) -> Status;
    fn stats(&self) -> &Stats;

    fn learned(&self) -> Learned {
        Learned::default()
    }

    fn if_closed(&self) -> Option<Outcome> {
        self.status().outcome()
    }
}

/// A machine with its memory.
#[derive(Debug)]
pub(crate) struct WithMemory<C: Machine, M> {
    pub(crate) core: C,
    lengths: C::Lengths,
    memory: M,
}

impl<C: Machine, M: Memory> WithMemory<C, M> {
    /// Fails if the memory is smaller than the sum of all parts.
    pub(crate) fn new(core: C, lengths: C::Lengths, memory: M) -> Result<Self, MemoryTooSmall> {
        let (needed, given) = (lengths.as_ref().iter().sum(), memory.as_ref().len());
        if given < needed {
            return Err(MemoryTooSmall { needed, given });
        }
        Ok(Self { core, lengths, memory })
    }

    /// The machine, and its memory beside it.
    pub(crate) fn parts(&mut self) -> (&mut C, C::Mem<'_>) {
        (&mut self.core, C::divide(self.lengths, self.memory.as_mut()))
    }
}

/// Splits memory into consecutive parts of these lengths, and gives each a name. No function over an array: each door of an engine
/// begins here, and where little is optimized its closure would be called for every part.
macro_rules! split {
    ($memory:expr, $lengths:expr => $($part:ident),+ $(,)?) => {
        let rest: &mut [u8] = $memory;
        let [$($part),+] = $lengths;
        $(let ($part, rest) = rest.split_at_mut($part);)+
        let _ = rest;
    };
}

pub(crate) use split;

/// Makes an [`Engine`](crate::Engine) of `struct $name<M>(WithMemory<_, M>)`.
macro_rules! engine {
    ($name:ident) => {
        impl<M: $crate::Memory> $crate::Engine for $name<M> {
            fn receive(&mut self, cx: &mut $crate::Cx<'_>, bytes: &[u8]) -> usize {
                let (core, mut mem) = self.0.parts();
                let taken = core.receive(cx, &mut mem, bytes);
                core.pump(cx, &mut mem);
                taken
            }

            fn transmit(&mut self, cx: &mut $crate::Cx<'_>) -> &[u8] {
                let (core, mut mem) = self.0.parts();
                core.pump(cx, &mut mem);
                core.transmit(cx, mem)
            }

            fn transmitted(&mut self, cx: &mut $crate::Cx<'_>, len: usize) {
                let (core, mut mem) = self.0.parts();
                core.transmitted(cx, &mut mem, len);
                core.pump(cx, &mut mem);
            }

            fn deadline(&self) -> Option<$crate::Instant> {
                self.0.core.deadline()
            }

            fn tick(&mut self, cx: &mut $crate::Cx<'_>) {
                let (core, mut mem) = self.0.parts();
                core.tick(cx, &mut mem);
                core.pump(cx, &mut mem);
            }

            fn request(&mut self) -> Option<$crate::Request<'_>> {
                let (core, mem) = self.0.parts();
                core.request(mem)
            }

            fn reply(&mut self, cx: &mut $crate::Cx<'_>, reply: $crate::Reply<'_>) {
                let (core, mut mem) = self.0.parts();
                core.reply(cx, &mut mem, reply);
                core.pump(cx, &mut mem);
            }

            fn event(&mut self) -> Option<$crate::Event<'_>> {
                let (core, mem) = self.0.parts();
                core.event(mem)
            }

            fn command(&mut self, cx: &mut $crate::Cx<'_>, command: $crate::Command) {
                let (core, mut mem) = self.0.parts();
                core.command(cx, &mut mem, command);
                core.pump(cx, &mut mem);
            }

            fn wants(&self) -> $crate::Wants {
                self.0.core.wants()
            }

            fn status(&self) -> $crate::Status {
                self.0.core.status()
            }

            fn stats(&self) -> &$crate::Stats {
                self.0.core.stats()
            }

            fn learned(&self) -> $crate::Learned {
                self.0.core.learned()
            }

            fn if_closed(&self) -> Option<$crate::Outcome> {
                self.0.core.if_closed()
            }
        }
    };
}
pub(crate) use engine;
