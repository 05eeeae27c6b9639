//! An NCP running on an interface.

use super::ImpPort;
use crate::clock::Clock;
use crate::event::{self, Interest};
use crate::port::Port;
use crate::signals::Signals;
use std::io;
use std::time::Duration;
use wetstring_proto::arpanet::ncp::{Config, Host, Ncp};
use wetstring_proto::{Cx, Instant, Trace};

/// A host, up.
pub struct Live<'a> {
    /// Its interface.
    pub port: ImpPort,
    /// Its NCP.
    pub ncp: Ncp<Vec<u8>>,
    clock: Clock,
    trace: &'a mut dyn Trace,
    signals: Option<&'a Signals>,
}

impl std::fmt::Debug for Live<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("port", &self.port).finish_non_exhaustive()
    }
}

/// Why the loop has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The awaited condition holds.
    Done,
    /// The time limit is reached.
    Time,
    /// A signal came.
    Signal(i32),
}

/// Maximum sleep: a process waiting for something else looks at its clock this often.
const NAP: Duration = Duration::from_millis(500);

impl<'a> Live<'a> {
    /// A host of this configuration at this interface.
    pub fn new(
        port: ImpPort,
        config: Config,
        trace: &'a mut dyn Trace,
        signals: Option<&'a Signals>,
    ) -> Self {
        let memory = vec![0; config.memory()];
        let ncp =
            Ncp::new(config, memory).expect("the memory is as long as the configuration says");
        Self { port, ncp, clock: Clock::start(), trace, signals }
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// A system call of a process.
    pub fn call<T>(&mut self, run: impl FnOnce(&mut Host<'_>, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx { now: self.clock.now(), trace: &mut *self.trace };
        run(&mut self.ncp.host(), &mut cx)
    }

    /// Moves data in both directions; returns whether anything moved.
    pub fn step(&mut self) -> io::Result<bool> {
        let mut moved = false;
        let mut message = [0; 2048];
        while let Some(len) = self.port.read(&mut message)? {
            let mut cx = Cx { now: self.clock.now(), trace: &mut *self.trace };
            self.ncp.receive(&mut cx, &message[..len]);
            moved = true;
        }
        let mut cx = Cx { now: self.clock.now(), trace: &mut *self.trace };
        self.ncp.tick(&mut cx);
        loop {
            let lent = self.ncp.transmit(&mut cx);
            let len = lent.len();
            if len == 0 {
                return Ok(moved);
            }
            if self.port.write(lent)?.is_none() {
                return Ok(moved);
            }
            self.ncp.transmitted(&mut cx, len);
            moved = true;
        }
    }

    /// Runs until `done` says so, the time limit is reached, or a signal arrives. `done` is called after each
    /// change, and returns whether it is over, and when it must next be called.
    pub fn until(
        &mut self,
        end: Option<Instant>,
        mut done: impl FnMut(&mut Self) -> io::Result<(bool, Option<Instant>)>,
    ) -> io::Result<Stop> {
        loop {
            self.step()?;
            let (over, due) = done(self)?;
            if over {
                self.step()?;
                return Ok(Stop::Done);
            }
            // Send pending output before waiting.
            let moved = self.step()?;
            if let Some(signal) = self.signals.and_then(Signals::last) {
                return Ok(Stop::Signal(signal));
            }
            let now = self.clock.now();
            if end.is_some_and(|end| end <= now) {
                return Ok(Stop::Time);
            }
            if !moved {
                let due = [due, end, self.ncp.deadline()].into_iter().flatten().min();
                let nap = due.map_or(NAP, |due| due.since(now).min(NAP));
                self.wait(nap.max(Duration::from_millis(1)))?;
            }
        }
    }

    fn wait(&self, nap: Duration) -> io::Result<()> {
        let mut interests = vec![Interest::read(self.port.read_source())];
        interests.extend(self.signals.map(|signals| Interest::read(signals.source())));
        event::wait(&mut interests, Some(nap)).map(drop)
    }

    /// The host is no longer ready.
    pub fn finish(mut self) {
        let _ = self.port.finish(Duration::ZERO);
    }
}
