//! Two engines, the line between them, and the time that passes: everything `wst demo` moves.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write as _};

use wetstring_lab::{Element, End};
use wetstring_proto::{
    Command, Cx, Engine, Event, Instant, Stats, Status, Store, Trace, TraceEvent,
};

use super::scene::Scene;

/// What sees everything: the picture, and the trace file.
pub(crate) struct Eyes {
    /// The picture.
    pub(crate) scene: Scene,
    /// The trace file.
    pub(crate) file: Option<BufWriter<File>>,
}

/// Who a trace is of.
#[derive(Clone, Copy)]
enum Who {
    Engine(End),
    Line,
}

/// One of those who are seen.
struct Output<'a> {
    eyes: &'a RefCell<Eyes>,
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
            // The demonstration goes on without its trace.
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

/// Everything that moves.
pub(crate) struct World<'a> {
    now: Instant,
    element: &'a mut dyn Element,
    sides: [Side<'a>; 2],
    eyes: &'a RefCell<Eyes>,
    said: Vec<String>,
}

impl<'a> World<'a> {
    /// A sender at `A`, a receiver at `B`, at the beginning of time.
    pub(crate) fn new(
        element: &'a mut dyn Element,
        sender: (Box<dyn Engine>, &'a mut dyn Store),
        receiver: (Box<dyn Engine>, &'a mut dyn Store),
        eyes: &'a RefCell<Eyes>,
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

    /// Where an end stands.
    pub(crate) fn status(&self, end: End) -> Status {
        self.sides[end.index()].engine.status()
    }

    /// What the line has carried.
    pub(crate) fn usage(&self, end: End) -> wetstring_lab::Usage {
        self.element.usage(end)
    }

    /// What the ends have said since the last call.
    pub(crate) fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// Tells the sender to stop.
    pub(crate) fn abort(&mut self) {
        let ui = &mut Output { eyes: self.eyes, who: Who::Engine(End::A) };
        let mut cx = Cx { now: self.now, trace: ui };
        self.sides[0].engine.command(&mut cx, Command::Abort);
    }

    /// Lets everything happen until `until`. False if nothing will ever happen again.
    pub(crate) fn advance(&mut self, until: Instant) -> bool {
        loop {
            while self.turn(End::A) | self.turn(End::B) {}
            // What follows the outcomes is only patience, and no part of the transfer's time.
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

    /// When something happens next.
    fn next(&self) -> Option<Instant> {
        let each = End::BOTH.into_iter().flat_map(|end| {
            let engine = &self.sides[end.index()].engine;
            let over = matches!(engine.status(), Status::Over(_));
            let deadline = engine.deadline().filter(|_| !over);
            [deadline, self.element.next(end), self.element.room(end)]
        });
        each.flatten().min()
    }

    /// Opens every door of one end once. True if anything moved.
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

/// An event in words, where it matters in a demonstration.
fn words(end: End, event: &Event<'_>) -> Option<String> {
    let who = if end == End::A { "sender" } else { "receiver" };
    match event {
        Event::Negotiated(text) if end == End::A => Some(format!("agreed: {text}")),
        Event::FileStarted { info, .. } if end == End::A => {
            Some(format!("{who}: {} begins", crate::ui::format::escaped(info.name)))
        }
        Event::FileDone { verified: true, .. } => {
            Some(format!("{who}: whole, and both ends have compared a digest of it"))
        }
        Event::FileDone { .. } => Some(format!("{who}: whole")),
        Event::Message(text) => Some(format!("{who} hears: {}", crate::ui::format::escaped(text))),
        _ => None,
    }
}
