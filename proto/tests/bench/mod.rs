//! One engine on a bench: bytes and time as a test says, and what the engine answers.
#![allow(dead_code, unreachable_pub)]

use wetstring_proto::{Cx, Duration, Engine, Event, Instant, Outcome, Status, Store};
use wetstring_testkit::Edges;

/// Turns until an engine has nothing more to say; one that pours out more than this is cut off.
const TURNS: usize = 30;

/// One engine, its store and its time.
pub struct Bench<'a> {
    pub engine: &'a mut dyn Engine,
    store: &'a mut dyn Store,
    pub now: Instant,
    /// Bytes that were taken of what was given last.
    pub took: usize,
    /// What the peer wanted and was not given: the command, and whether it stays in its queue.
    pub declined: Vec<(u8, bool)>,
}

impl<'a> Bench<'a> {
    pub fn new(engine: &'a mut dyn Engine, store: &'a mut dyn Store) -> Self {
        Self { engine, store, now: Instant(1), took: 0, declined: Vec::new() }
    }

    /// Gives bytes; returns what was said.
    pub fn give(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut said = self.turn();
        self.took = 0;
        loop {
            let cx = &mut Cx { now: self.now, trace: &mut Edges::new() };
            let took = self.engine.receive(cx, &bytes[self.took..]);
            self.took += took;
            said.extend(self.turn());
            if took == 0 || self.took == bytes.len() {
                return said;
            }
        }
    }

    /// Lets time pass; returns what was said.
    pub fn wait(&mut self, time: Duration) -> Vec<u8> {
        let (until, mut said) = (self.now + time, self.turn());
        while let Some(next) = self.engine.deadline().filter(|next| *next <= until) {
            assert!(next >= self.now || next.0 + 1_000_000 > self.now.0, "a deadline in the past");
            self.now = self.now.max(next);
            said.extend(self.turn());
            if matches!(self.engine.status(), Status::Over(_)) {
                break;
            }
        }
        self.now = until;
        said.extend(self.turn());
        said
    }

    pub fn turn(&mut self) -> Vec<u8> {
        let cx = &mut Cx { now: self.now, trace: &mut Edges::new() };
        let mut said = Vec::new();
        for _ in 0..TURNS {
            self.engine.tick(cx);
            while let Some(request) = self.engine.request() {
                let reply = self.store.answer(request);
                self.engine.reply(cx, reply);
            }
            let bytes = self.engine.transmit(cx).to_vec();
            self.engine.transmitted(cx, bytes.len());
            said.extend(bytes);
            while let Some(event) = self.engine.event() {
                if let Event::Declined { what, kept } = event {
                    self.declined.push((what.letter(), kept));
                }
            }
        }
        said
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.engine.status().outcome()
    }
}
