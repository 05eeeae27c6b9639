//! Two engines, their stores and an element between them, run in virtual time.
//!
//! ```text
//! store <-> engine A <-> port A <-> element <-> port B <-> engine B <-> store
//! ```
//!
//! The engines are called exactly as by the real loop: writes are small and may be accepted in part, bytes that
//! an engine does not accept stay in the port, timers run when they are due. Time jumps from one event to the
//! next, so a transfer of an hour takes a moment.
//!
//! Over an element that carries datagrams, an engine's datagram is offered whole and one that comes out is
//! delivered whole; one that an engine does not accept stays in the port, and later ones in the element.

mod visit;

pub use visit::{Standing, Visit};

use crate::agenda::Agenda;
use crate::compressor::Compressor;
use crate::element::{Element, End, Unit, Usage};
use crate::net::DATAGRAM_MAX;
use crate::trace::Recorder;
use crate::window::{Meter, Window};
use wetstring_proto::engine::{Command, Cx, Engine, Event, Outcome, Status};
use wetstring_proto::file::{Request, Store};
use wetstring_proto::stats::Stats;
use wetstring_proto::trace::{Act as Traced, TraceEvent};
use wetstring_proto::{Duration, Instant};

/// Bytes that a port accepts from an engine, or delivers to it, at a time.
const PORT_BYTES: usize = 64;
/// Livelock limit: calls at one time.
const CALLS_AT_ONE_TIME: u64 = 200_000;
/// Livelock limit: loop turns at one time.
const TURNS_AT_ONE_TIME: u32 = 1000;
/// Livelock limit: timer expirations at one time.
const TIMERS_AT_ONE_TIME: u32 = 100;

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Both engines have ended.
    Over,
    /// Nothing is under way, no timer is set, and at least one engine has not ended.
    Stalled,
    /// The limit of virtual time was reached.
    TimeLimit,
    /// The limit of events was reached.
    EventLimit,
    /// Livelock: virtual time is not advancing because of timers, requests or bytes.
    Storm,
    /// The measurement is complete.
    Measured,
}

impl Stop {
    /// The name in a trace.
    const fn word(self) -> &'static str {
        match self {
            Self::Over => "over",
            Self::Stalled => "stalled",
            Self::TimeLimit => "time-limit",
            Self::EventLimit => "event-limit",
            Self::Storm => "storm",
            Self::Measured => "measured",
        }
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Over => "both engines have ended",
            Self::Stalled => "stalled: nothing is under way and no timer is set",
            Self::TimeLimit => "limit of virtual time reached",
            Self::EventLimit => "limit of events reached",
            Self::Storm => "livelock: virtual time is not advancing",
            Self::Measured => "the measurement is complete",
        })
    }
}

/// A scheduled action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// The user at this end gives a command.
    Command(End, Command),
    /// The faults of the element stop.
    Calm,
}

/// A run: the element, the limits, and the scheduled actions.
pub struct Pair<'a> {
    element: &'a mut dyn Element,
    agenda: Agenda<Act>,
    port_buffer: usize,
    time_limit: Duration,
    event_limit: u64,
    meter: Option<Meter>,
}

impl std::fmt::Debug for Pair<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair")
            .field("agenda", &self.agenda)
            .field("port_buffer", &self.port_buffer)
            .field("time_limit", &self.time_limit)
            .field("event_limit", &self.event_limit)
            .finish_non_exhaustive()
    }
}

/// The result of one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SideReport {
    /// Its outcome, if it has one.
    pub outcome: Option<Outcome>,
    /// When the outcome was fixed.
    pub settled_at: Option<Instant>,
    /// Its counters.
    pub stats: Stats,
    /// Number of complete files reported.
    pub files_done: u64,
    /// Number of complete files reported whose digests were compared.
    pub files_verified: u64,
    /// Number of files reported refused or cancelled.
    pub files_skipped: u64,
    /// Line statistics of its direction.
    pub usage: Usage,
    /// Bytes given to its store.
    pub written: u64,
}

/// The result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairReport {
    /// Why it ended.
    pub stop: Stop,
    /// The two sides, A first.
    pub sides: [SideReport; 2],
    /// When both outcomes were fixed, or else when the run ended.
    pub elapsed: Duration,
    /// When the run ended, including lingering.
    pub ended_at: Instant,
    /// Number of different times.
    pub events: u64,
    /// Bytes given to both stores in the window, if it ended before the run.
    pub window_bytes: Option<u64>,
    /// When end A had sent the first byte of its files, and when the last for the first time.
    pub sending: Option<(Instant, Instant)>,
}

impl PairReport {
    /// Whether both sides ended well.
    pub fn is_done(&self) -> bool {
        self.sides.iter().all(|side| side.outcome == Some(Outcome::Done))
    }

    /// The time that the direction from `end` was idle, in nanoseconds.
    pub fn idle_ns(&self, end: End) -> u64 {
        let elapsed = u64::try_from(self.elapsed.as_nanos()).unwrap_or(u64::MAX);
        elapsed.saturating_sub(self.sides[end.index()].usage.busy_ns)
    }
}

/// When a sender began and finished sending new data.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    bytes: u64,
    times: Option<(Instant, Instant)>,
}

impl Sending {
    fn look(&mut self, now: Instant, stats: &Stats) {
        if stats.file_bytes > self.bytes {
            self.bytes = stats.file_bytes;
            self.times = Some((self.times.map_or(now, |(first, _)| first), now));
        }
    }
}

/// Receives an engine's events, with their times.
type Tell<'a> = dyn FnMut(Instant, &Event<'_>) + 'a;

/// One engine with its store and its port.
pub(crate) struct Side<'a> {
    end: End,
    who: &'static str,
    pub(crate) engine: &'a mut dyn Engine,
    store: &'a mut dyn Store,
    compressor: Compressor,
    /// Receives the engine's events.
    tell: Option<&'a mut Tell<'a>>,
    /// Output of the element that was not accepted yet.
    inbox: Vec<u8>,
    /// How many bytes of the inbox are consumed.
    held: usize,
    /// The element accepted less than was offered.
    held_back: bool,
    /// The engine has nothing to do until it receives something or a timer expires.
    idle: bool,
    /// The engine's, since it was last called.
    deadline: Option<Instant>,
    pub(crate) report: SideReport,
}

impl<'a> Pair<'a> {
    /// A run over this element, limited to a day and a hundred million events.
    pub fn new(element: &'a mut dyn Element) -> Self {
        Self {
            element,
            agenda: Agenda::new(),
            port_buffer: PORT_BYTES,
            time_limit: Duration::from_secs(86_400),
            event_limit: 100_000_000,
            meter: None,
        }
    }

    /// Measures data received between two times, and ends the run at the second.
    #[must_use]
    pub fn window(mut self, window: Window) -> Self {
        self.meter = Some(Meter::new(window));
        self
    }

    /// Bytes that a port accepts or delivers at a time; default 64.
    #[must_use]
    pub fn port_buffer(mut self, bytes: usize) -> Self {
        self.port_buffer = bytes.max(1);
        self
    }

    /// Stops at this time.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Stops after this many events.
    #[must_use]
    pub fn event_limit(mut self, limit: u64) -> Self {
        self.event_limit = limit;
        self
    }

    /// Schedules an action.
    #[must_use]
    pub fn at(mut self, time: Duration, act: Act) -> Self {
        self.agenda.put(Instant::ZERO + time, act);
        self
    }

    /// Runs engine and store of end A against those of end B.
    pub fn run<'s>(
        mut self,
        a: (&'s mut dyn Engine, &'s mut dyn Store),
        b: (&'s mut dyn Engine, &'s mut dyn Store),
        recorder: &mut Recorder,
    ) -> PairReport {
        let mut sides = [Side::new(End::A, "A", a), Side::new(End::B, "B", b)];
        if self.element.unit() == Unit::Datagrams {
            self.port_buffer = DATAGRAM_MAX;
        }
        let mut now = Instant::ZERO;
        let mut events = 0;
        let mut stuck = 0;
        let mut sending = Sending::default();
        let stop = loop {
            events += 1;
            while let Some((_, act)) = self.agenda.take(now) {
                self.act(&mut sides, now, act, recorder);
            }
            if !self.settle(&mut sides, now, recorder) {
                break Stop::Storm;
            }
            sending.look(now, sides[0].engine.stats());
            if sides.iter().all(|side| matches!(side.engine.status(), Status::Over(_))) {
                break Stop::Over;
            }
            let Some(next) = self.next(&sides) else { break Stop::Stalled };
            if let Some(meter) = &mut self.meter {
                meter.pass(next, sides.iter().map(|side| side.report.written).sum());
                if meter.is_over() {
                    break Stop::Measured;
                }
            }
            if next > Instant::ZERO + self.time_limit {
                now = Instant::ZERO + self.time_limit;
                break Stop::TimeLimit;
            }
            if events >= self.event_limit {
                break Stop::EventLimit;
            }
            stuck = if next <= now { stuck + 1 } else { 0 };
            if stuck > TURNS_AT_ONE_TIME {
                break Stop::Storm;
            }
            now = now.max(next);
        };
        for side in &mut sides {
            side.report.stats = *side.engine.stats();
            side.report.usage = self.element.usage(side.end);
            let outcome = side.report.outcome;
            recorder.note(now, side.who, &TraceEvent::Ended(outcome));
            recorder.note(now, side.who, &TraceEvent::from(&side.report.stats));
        }
        recorder.note(now, "pair", &TraceEvent::Stopped(stop.word()));
        let sides = sides.map(|side| side.report);
        let settled = sides.iter().map(|side| side.settled_at).reduce(|a, b| Some(a?.max(b?)));
        let elapsed = settled.flatten().unwrap_or(now).since(Instant::ZERO);
        let window_bytes = self.meter.and_then(|meter| meter.bytes());
        let sending = sending.times;
        PairReport { stop, sides, elapsed, ended_at: now, events, window_bytes, sending }
    }

    fn act(&mut self, sides: &mut [Side<'_>; 2], now: Instant, act: Act, recorder: &mut Recorder) {
        let traced = match act {
            Act::Command(End::A, command) => Traced::Command('A', command),
            Act::Command(End::B, command) => Traced::Command('B', command),
            Act::Calm => Traced::Calm,
        };
        recorder.note(now, "pair", &TraceEvent::Act(traced));
        match act {
            Act::Command(end, command) => {
                let side = &mut sides[end.index()];
                let mut trace = recorder.of(side.who);
                side.engine.command(&mut Cx { now, trace: &mut trace }, command);
                side.called();
            }
            Act::Calm => self.element.calm(),
        }
    }

    /// Calls everything until nothing moves at this instant; false if that does not end.
    pub(crate) fn settle(
        &mut self,
        sides: &mut [Side<'_>; 2],
        now: Instant,
        recorder: &mut Recorder,
    ) -> bool {
        let mut calls = 0;
        let mut ticks = [0; 2];
        loop {
            let mut moved = false;
            for side in sides.iter_mut() {
                let index = side.end.index();
                let mut stirred = false;
                if side.deadline.is_some_and(|deadline| deadline <= now) {
                    ticks[index] += 1;
                    side.tick(now, recorder);
                    stirred = true;
                }
                stirred |= side.receive(self.element, self.port_buffer, now, recorder);
                if stirred || side.held_back || !side.idle {
                    stirred |= side.ask(now, recorder, &mut calls);
                    stirred |= side.transmit(self.element, self.port_buffer, now, recorder);
                    stirred |= side.listen(now, recorder);
                    side.idle = !stirred;
                    side.deadline = side.engine.deadline();
                }
                moved |= stirred;
            }
            calls += 1;
            if calls > CALLS_AT_ONE_TIME || ticks.iter().any(|ticks| *ticks > TIMERS_AT_ONE_TIME) {
                return false;
            }
            if !moved {
                return true;
            }
        }
    }

    /// The next time at which something happens.
    pub(crate) fn next(&self, sides: &[Side<'_>; 2]) -> Option<Instant> {
        let mut next = self.agenda.next();
        let mut sooner = |time: Option<Instant>| {
            next = next.into_iter().chain(time).min();
        };
        for side in sides {
            sooner(side.deadline);
            sooner(self.element.room(side.end).filter(|_| side.held_back));
            // A port that is full does not take more; the engine will move on by other means.
            let room = match self.element.unit() {
                Unit::Bytes => side.held < self.port_buffer,
                Unit::Datagrams => side.held == 0,
            };
            sooner(self.element.next(side.end).filter(|_| room));
        }
        next
    }
}

impl<'a> Side<'a> {
    pub(crate) fn new(
        end: End,
        who: &'static str,
        (engine, store): (&'a mut dyn Engine, &'a mut dyn Store),
    ) -> Self {
        let report = SideReport {
            outcome: None,
            settled_at: None,
            stats: Stats::default(),
            files_done: 0,
            files_verified: 0,
            files_skipped: 0,
            usage: Usage::default(),
            written: 0,
        };
        let tell = None;
        let compressor = Compressor::new();
        let (inbox, held, held_back) = (Vec::new(), 0, false);
        let (idle, deadline) = (false, engine.deadline());
        Self {
            end,
            who,
            engine,
            store,
            compressor,
            tell,
            inbox,
            held,
            held_back,
            idle,
            deadline,
            report,
        }
    }

    /// The engine was called from outside of [`Pair::settle`].
    fn called(&mut self) {
        self.idle = false;
        self.deadline = self.engine.deadline();
    }

    fn tick(&mut self, now: Instant, recorder: &mut Recorder) {
        let mut trace = recorder.of(self.who);
        self.engine.tick(&mut Cx { now, trace: &mut trace });
    }

    /// Answers the engine's store requests until there are none.
    fn ask(&mut self, now: Instant, recorder: &mut Recorder, calls: &mut u64) -> bool {
        let mut moved = false;
        while *calls <= CALLS_AT_ONE_TIME {
            let Some(request) = self.engine.request() else { break };
            if let Request::Write { bytes, .. } = &request {
                self.report.written += bytes.len() as u64;
            }
            let reply = match self.compressor.answer(request) {
                Ok(reply) => reply,
                Err(request) => self.store.answer(request),
            };
            let mut trace = recorder.of(self.who);
            self.engine.reply(&mut Cx { now, trace: &mut trace }, reply);
            moved = true;
            *calls += 1;
        }
        moved
    }

    /// Moves bytes from the engine into the element.
    fn transmit(
        &mut self,
        element: &mut dyn Element,
        port_buffer: usize,
        now: Instant,
        recorder: &mut Recorder,
    ) -> bool {
        let mut moved = false;
        self.held_back = false;
        loop {
            let mut trace = recorder.of(self.who);
            let lent = self.engine.transmit(&mut Cx { now, trace: &mut trace });
            if lent.is_empty() {
                return moved;
            }
            let chunk = &lent[..lent.len().min(port_buffer)];
            let mut trace = recorder.of("line");
            let taken = element.offer(&mut Cx { now, trace: &mut trace }, self.end, chunk);
            self.held_back = taken < chunk.len();
            if taken == 0 {
                return moved;
            }
            let mut trace = recorder.of(self.who);
            self.engine.transmitted(&mut Cx { now, trace: &mut trace }, taken);
            moved = true;
        }
    }

    /// Moves bytes from the element into the engine.
    fn receive(
        &mut self,
        element: &mut dyn Element,
        port_buffer: usize,
        now: Instant,
        recorder: &mut Recorder,
    ) -> bool {
        let mut moved = false;
        loop {
            self.inbox.resize(port_buffer, 0);
            let is_due = element.next(self.end).is_some_and(|next| next <= now);
            let came = if is_due && (self.held == 0 || element.unit() == Unit::Bytes) {
                let mut trace = recorder.of("line");
                let mut cx = Cx { now, trace: &mut trace };
                element.emit(&mut cx, self.end, &mut self.inbox[self.held..])
            } else {
                0
            };
            self.held += came;
            let waiting = &self.inbox[..self.held];
            if waiting.is_empty() {
                return moved;
            }
            let mut trace = recorder.of(self.who);
            let mut cx = Cx { now, trace: &mut trace };
            let taken = match self.engine.status() {
                // Bytes after the end are not for the engine: here they are dropped.
                Status::Over(_) => waiting.len(),
                _ => self.engine.receive(&mut cx, waiting).min(waiting.len()),
            };
            self.inbox.copy_within(taken..self.held, 0);
            self.held -= taken;
            if came + taken == 0 {
                return moved;
            }
            moved = true;
        }
    }

    /// Handles the engine's events, and notes an outcome. True if there were events, for which the engine may have
    /// waited.
    fn listen(&mut self, now: Instant, recorder: &mut Recorder) -> bool {
        let mut moved = false;
        while let Some(event) = self.engine.event() {
            match event {
                Event::FileDone { verified, .. } => {
                    self.report.files_done += 1;
                    self.report.files_verified += u64::from(verified);
                }
                Event::FileRefused { .. } | Event::FileCancelled { .. } => {
                    self.report.files_skipped += 1;
                }
                _ => {}
            }
            if let Some(tell) = &mut self.tell {
                tell(now, &event);
            }
            recorder.note(now, self.who, &TraceEvent::Reported(&event));
            moved = true;
        }
        if self.report.outcome.is_none() {
            self.report.outcome = self.engine.status().outcome();
            self.report.settled_at = self.report.outcome.map(|_| now);
            if let Some(outcome) = self.report.outcome {
                recorder.wire().settled(now, self.end.index(), outcome);
                recorder.note(now, self.who, &TraceEvent::Settled(outcome));
            }
        }
        moved
    }
}
