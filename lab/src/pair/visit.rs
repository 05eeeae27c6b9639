//! A persistent engine, and others that connect to it one after the other: a server and its clients.

use super::{Pair, Side, Stop};
use crate::compressor::Compressor;
use crate::element::{Element, End, Usage};
use crate::trace::Recorder;
use wetstring_proto::TraceEvent;
use wetstring_proto::engine::{Engine, Event, Outcome, Status};
use wetstring_proto::file::Store;
use wetstring_proto::stats::Stats;
use wetstring_proto::{Duration, Instant};

/// A line with a persistent engine at end B. Time continues from visit to visit, and data that a visitor has
/// left on the line is still there when the next one comes.
pub struct Standing {
    element: Box<dyn Element>,
    engine: Box<dyn Engine>,
    store: Box<dyn Store>,
    compressor: Compressor,
    now: Instant,
    port_buffer: usize,
    /// Data received at end B and not accepted yet.
    inbox: Vec<u8>,
    held: usize,
}

impl std::fmt::Debug for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Standing").field("now", &self.now).finish_non_exhaustive()
    }
}

/// The result of a visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visit {
    /// Why it ended.
    pub stop: Stop,
    /// Its outcome, if it has one.
    pub outcome: Option<Outcome>,
    /// Its counters.
    pub stats: Stats,
    /// From its start to its outcome, or else to its end.
    pub elapsed: Duration,
    /// Line statistics of all visitors' data.
    pub usage: Usage,
}

/// The maximum duration and events of a visit.
const LONGEST: Duration = Duration::from_secs(86_400);
const MOST_EVENTS: u64 = 100_000_000;

impl Standing {
    /// `engine` with its store at end B of this element, from the beginning of time.
    pub fn new(
        element: Box<dyn Element>,
        engine: Box<dyn Engine>,
        store: Box<dyn Store>,
        port_buffer: usize,
    ) -> Self {
        let port_buffer = port_buffer.max(1);
        let (inbox, held) = (Vec::new(), 0);
        let (compressor, now) = (Compressor::new(), Instant::ZERO);
        Self { element, engine, store, compressor, now, port_buffer, inbox, held }
    }

    /// The current time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The same line, from a later time on.
    #[must_use]
    pub fn from(mut self, now: Instant) -> Self {
        self.now = self.now.max(now);
        self
    }

    /// Runs an engine at end A until it is over. `tell` gets its events with their times.
    pub fn visit(
        &mut self,
        engine: &mut dyn Engine,
        store: &mut dyn Store,
        tell: &mut dyn FnMut(Instant, &Event<'_>),
        recorder: &mut Recorder,
    ) -> Visit {
        let began = self.now;
        let mut host = Side::new(End::B, "B", (&mut *self.engine, &mut *self.store));
        host.inbox = std::mem::take(&mut self.inbox);
        host.held = self.held;
        host.compressor = std::mem::take(&mut self.compressor);
        let mut sides = [Side::new(End::A, "A", (&mut *engine, store)), host];
        sides[0].tell = Some(tell);
        let mut pair = Pair::new(&mut *self.element).port_buffer(self.port_buffer);
        let (mut events, mut stuck) = (0, 0);
        let stop = loop {
            events += 1;
            if !pair.settle(&mut sides, self.now, recorder) {
                break Stop::Storm;
            }
            if matches!(sides[0].engine.status(), Status::Over(_)) {
                break Stop::Over;
            }
            let Some(next) = pair.next(&sides) else { break Stop::Stalled };
            if next > began + LONGEST {
                self.now = began + LONGEST;
                break Stop::TimeLimit;
            }
            if events >= MOST_EVENTS {
                break Stop::EventLimit;
            }
            stuck = if next <= self.now { stuck + 1 } else { 0 };
            if stuck > super::TURNS_AT_ONE_TIME {
                break Stop::Storm;
            }
            self.now = self.now.max(next);
        };
        let [visitor, host] = sides;
        self.inbox = host.inbox;
        self.held = host.held;
        self.compressor = host.compressor;
        let (outcome, settled) = (visitor.report.outcome, visitor.report.settled_at);
        recorder.note(self.now, "A", &TraceEvent::Ended(outcome));
        let elapsed = settled.unwrap_or(self.now).since(began);
        let (stats, usage) = (*engine.stats(), self.element.usage(End::A));
        Visit { stop, outcome, stats, elapsed, usage }
    }

    /// Advances time with nothing at end A. What happens meanwhile is seen at the next visit.
    pub fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryFile, MemorySink, MemorySource};
    use crate::{LineModel, Serial};
    use wetstring_proto::file::{Remote, Reply, Request};
    use wetstring_proto::kermit::{Config, Sender, Server};

    /// Accepts all requests of a client, and its files.
    struct Agrees(MemorySink);

    impl Store for Agrees {
        fn answer<'s>(&'s mut self, request: Request<'_>) -> Reply<'s> {
            match request {
                Request::Remote(Remote::Serve { .. }) => Reply::Done,
                other => self.0.answer(other),
            }
        }
    }

    fn standing() -> Standing {
        let model: LineModel = "9600,delay=20ms".parse().expect("a line");
        let config = Config::default();
        let memory = vec![0; config.server_memory()];
        let server = Box::new(Server::new(config, memory).expect("memory"));
        let store = Box::new(Agrees(MemorySink::new()));
        Standing::new(Box::new(Serial::named(&model, "line")), server, store, 64)
    }

    fn send(standing: &mut Standing, recorder: &mut Recorder) -> (Visit, usize) {
        let config = Config::default();
        let memory = vec![0; config.sender_memory()];
        let mut sender = Sender::new(config, memory).expect("memory");
        let mut store = MemorySource::one(MemoryFile::new("x", vec![7; 3000]));
        let mut heard = 0;
        let visit = standing.visit(&mut sender, &mut store, &mut |_, _| heard += 1, recorder);
        (visit, heard)
    }

    #[test]
    fn visits_are_sequential() {
        let run = || {
            let (mut standing, mut recorder) = (standing(), Recorder::digest_only());
            let (first, heard) = send(&mut standing, &mut recorder);
            assert_eq!((first.stop, first.outcome), (Stop::Over, Some(Outcome::Done)));
            assert!(heard >= 3 && first.elapsed > Duration::from_millis(100), "{first:?}");
            let between = standing.now();
            standing.pass(Duration::from_secs(100));
            let (second, _) = send(&mut standing, &mut recorder);
            assert_eq!(second.outcome, Some(Outcome::Done));
            assert!(standing.now() >= between + Duration::from_secs(100) + second.elapsed);
            (first.elapsed, second.elapsed, recorder.digest())
        };
        assert_eq!(run(), run());
    }

    #[test]
    fn an_ended_server_does_not_answer() {
        use wetstring_proto::kermit::{Client, command::ServerCommand};
        let (mut standing, mut recorder) = (standing(), Recorder::off());
        let mut ask = |command: ServerCommand<'_>| {
            let config = Config { retries: 2, ..Config::default() };
            let memory = vec![0; config.client_memory()];
            let mut client = Client::new(config, &command, memory).expect("memory");
            let mut store = MemorySink::new();
            standing.visit(&mut client, &mut store, &mut |_, _| {}, &mut recorder).outcome
        };
        assert_eq!(ask(ServerCommand::Finish), Some(Outcome::Done));
        assert!(matches!(ask(ServerCommand::Finish), None | Some(Outcome::Failed(_))));
    }
}
