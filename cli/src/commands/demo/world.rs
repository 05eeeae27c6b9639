//! Two engines, the line between them, and virtual time, for `wst demo`.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write as _};

use wetstring_lab::{Element, End};
use wetstring_proto::{
    Command, Cx, Engine, Event, Instant, Stats, Status, Store, Trace, TraceEvent,
};

use super::scene::Scene;

/// What observes the run: the picture, and the trace file.
pub(crate) struct Observers {
    /// The picture.
    pub(crate) scene: Scene,
    /// The trace file.
    pub(crate) file: Option<BufWriter<File>>,
}

/// The subject of a trace line.
#[derive(Clone, Copy)]
enum Who {
    Engine(End),
    Line,
}

/// The trace of one subject.
struct Output<'a> {
    eyes: &'a RefCell<Observers>,
    who: Who,
}

impl Trace for Output<'_> {
    fn record(&mut self, at: Instant, event: &TraceEvent<'_>) {
        let eyes = &mut *self.eyes.borrow_mut();
        let who = match self.who {
            Who::Engine(end) => {
                eyes.scene.record(end, at, event);
                if end == End::A { "A" } else { "B" }
            }
            Who::Line => {
                eyes.scene.record_line(at, event);
                "line"
            }
        };
        if let Some(file) = &mut eyes.file {
            // The demonstration continues without its trace.
            let _ = writeln!(file, "{at} {who} {event}");
        }
    }
}

/// An engine with its store, at one end.
struct Side<'a> {
    engine: Box<dyn Engine>,
    store: &'a mut dyn Store,
    pending: Vec<u8>,
}

/// The whole run.
pub(crate) struct World<'a> {
    now: Instant,
    element: &'a mut dyn Element,
    sides: [Side<'a>; 2],
    eyes: &'a RefCell<Observers>,
    said: Vec<String>,
}

impl<'a> World<'a> {
    /// A sender at `A`, a receiver at `B`, at time zero.
    pub(crate) fn new(
        element: &'a mut dyn Element,
        sender: (Box<dyn Engine>, &'a mut dyn Store),
        receiver: (Box<dyn Engine>, &'a mut dyn Store),
        eyes: &'a RefCell<Observers>,
    ) -> Self {
        let side = |(engine, store)| Side { engine, store, pending: Vec::new() };
        let sides = [side(sender), side(receiver)];
        Self { now: Instant::ZERO, element, sides, eyes, said: Vec::new() }
    }

    /// The time.
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// The counters of an end.
    pub(crate) fn stats(&self, end: End) -> &Stats {
        self.sides[end.index()].engine.stats()
    }

    /// The status of an end.
    pub(crate) fn status(&self, end: End) -> Status {
        self.sides[end.index()].engine.status()
    }

    /// What the line has carried.
    pub(crate) fn usage(&self, end: End) -> wetstring_lab::Usage {
        self.element.usage(end)
    }

    /// Messages of the ends since the last call.
    pub(crate) fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// Tells the sender to stop.
    pub(crate) fn abort(&mut self) {
        let ui = &mut Output { eyes: self.eyes, who: Who::Engine(End::A) };
        let mut cx = Cx { now: self.now, trace: ui };
        self.sides[0].engine.command(&mut cx, Command::Abort);
    }

    /// Advances to `until`. False if no further event is due.
    pub(crate) fn advance(&mut self, until: Instant) -> bool {
        loop {
            while self.turn(End::A) | self.turn(End::B) {}
            // Waiting after the outcomes is not part of the transfer's time.
            if End::BOTH.iter().all(|end| self.status(*end).outcome().is_some()) {
                return true;
            }
            let Some(next) = self.next() else { return false };
            if next > until {
                self.now = self.now.max(until);
                return true;
            }
            self.now = self.now.max(next);
        }
    }

    /// When the next event is due.
    fn next(&self) -> Option<Instant> {
        let each = End::BOTH.into_iter().flat_map(|end| {
            let engine = &self.sides[end.index()].engine;
            let over = matches!(engine.status(), Status::Over(_));
            let deadline = engine.deadline().filter(|_| !over);
            [deadline, self.element.next(end), self.element.room(end)]
        });
        each.flatten().min()
    }

    /// Calls every door of one end once. True if anything moved.
    fn turn(&mut self, end: End) -> bool {
        let side = &mut self.sides[end.index()];
        let ui = &mut Output { eyes: self.eyes, who: Who::Engine(end) };
        let line = &mut Output { eyes: self.eyes, who: Who::Line };
        let mut cx = Cx { now: self.now, trace: ui };
        let mut line_cx = Cx { now: self.now, trace: line };
        let mut moved = false;
        while let Some(request) = side.engine.request() {
            let reply = side.store.answer(request);
            side.engine.reply(&mut cx, reply);
            moved = true;
        }
        while let Some(event) = side.engine.event() {
            self.said.extend(words(end, &event));
            moved = true;
        }
        let lent = side.engine.transmit(&mut cx);
        if !lent.is_empty() {
            let len = self.element.offer(&mut line_cx, end, lent);
            side.engine.transmitted(&mut cx, len);
            moved |= len > 0;
        }
        let mut buffer = [0; 512];
        let len = self.element.emit(&mut line_cx, end, &mut buffer);
        side.pending.extend_from_slice(&buffer[..len]);
        moved |= len > 0;
        if !side.pending.is_empty() {
            let taken = if matches!(side.engine.status(), Status::Over(_)) {
                side.pending.len()
            } else {
                side.engine.receive(&mut cx, &side.pending)
            };
            side.pending.drain(..taken);
            moved |= taken > 0;
        }
        if side.engine.deadline().is_some_and(|at| at <= self.now) {
            side.engine.tick(&mut cx);
        }
        moved
    }
}

/// An event in words, where it matters for the demonstration.
fn words(end: End, event: &Event<'_>) -> Option<String> {
    let who = if end == End::A { "sender" } else { "receiver" };
    match event {
        Event::Negotiated(text) if end == End::A => Some(format!("agreed: {text}")),
        Event::FileStarted { info, .. } if end == End::A => {
            Some(format!("{who}: {} begins", crate::ui::format::escaped(info.name)))
        }
        Event::FileDone { verified: true, .. } => {
            Some(format!("{who}: complete, digest verified by both ends"))
        }
        Event::FileDone { .. } => Some(format!("{who}: complete")),
        Event::Message(text) => {
            Some(format!("{who} gets the message: {}", crate::ui::format::escaped(text)))
        }
        _ => None,
    }
}
