//! A file over TCP over a SLIP line, with interactive traffic over the same line.
//!
//! The file goes from A to B on a connection of its own (FTP's data connection, port 20); keys and echoes go
//! on another (TELNET, port 23) between the same hosts. Each connection pays the hosts' costs with a
//! processor of its own. The run ends with the last byte of the file.

use super::typing::Typist;
use super::{EchoTimes, Ledger, SlipModel, TypingModel, Wire};
use crate::capture::{Capture, Medium, Tap};
use crate::element::{Element, End, Usage};
use crate::host::HostModel;
use crate::pattern::Stream;
use crate::tcp::{BulkReport, StopBulk, Tcp, TcpModel};
use crate::trace::Recorder;
use crate::window::{Meter, Window};
use wetstring_proto::{Cx, Duration, Instant, Trace, TraceEvent};

/// A file, a line, and optional interactive traffic.
#[derive(Clone, Debug)]
pub struct Session {
    /// The line.
    pub slip: SlipModel,
    /// The connection of the file; that of typing is the same but for its port and its seed.
    pub tcp: TcpModel,
    /// The hosts at A and at B.
    pub hosts: [HostModel; 2],
    /// Who types.
    pub typing: Option<TypingModel>,
    /// Bytes of the file.
    pub bytes: u64,
    /// What they are.
    pub stream: Stream,
    /// When to give up.
    pub time_limit: Duration,
    /// When to measure; the run ends with it.
    pub window: Option<Window>,
    /// Chance of the user.
    pub seed: u64,
    /// A record of the packets at both ends.
    pub capture: Option<Capture>,
}

/// The result of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionReport {
    /// The file.
    pub bulk: BulkReport,
    /// The user, if there was one.
    pub echoes: Option<EchoTimes>,
    /// What the bytes of the line were, from A and from B.
    pub ledgers: [Ledger; 2],
    /// What the line carried, from A and from B.
    pub usage: [Usage; 2],
}

/// Bytes that are offered to the file's connection at a time.
const CHUNK: usize = 1 << 12;
/// FTP's data connection.
const FTP_DATA: u16 = 20;
/// Livelock limit: turns at one time.
const TURNS_AT_ONE_TIME: u32 = 100_000;

struct Run<'a> {
    session: &'a Session,
    file: Tcp,
    typed: Option<(Tcp, Typist)>,
    sent: u64,
    came: u64,
    into: Vec<u8>,
}

impl Run<'_> {
    /// Everything that happens at one time; false if a wrong byte was received or virtual time does not
    /// advance.
    fn turn(&mut self, now: Instant, recorder: &mut Recorder) -> bool {
        for _ in 0..TURNS_AT_ONE_TIME {
            let Some(mut moved) = self.exchange(&mut Cx { now, trace: &mut recorder.of("line") })
            else {
                return false;
            };
            if let Some((connection, typist)) = &mut self.typed {
                let mut heard = Vec::new();
                let cx = &mut Cx { now, trace: &mut recorder.of("line") };
                // The file's connection may have changed the line when it delivers data.
                connection.look_again();
                moved |= typist.turn(cx, connection, |ns| heard.push(ns));
                for ns in heard {
                    let event = TraceEvent::Value { name: "echo_ns", value: ns };
                    recorder.of("typist").record(now, &event);
                }
                self.file.look_again();
            }
            if !moved {
                return true;
            }
        }
        false
    }

    /// Moves bytes of the file; whether any moved, or `None` if a wrong byte arrived.
    fn exchange(&mut self, cx: &mut Cx<'_>) -> Option<bool> {
        let want = (self.session.bytes - self.sent).min(CHUNK as u64) as usize;
        let chunk = self.session.stream.at(self.sent, want);
        let taken = if want == 0 { 0 } else { self.file.offer(cx, End::A, chunk) };
        self.sent += taken as u64;
        let len = self.file.emit(cx, End::B, &mut self.into);
        let right = self.session.stream.is(self.came, &self.into[..len]);
        self.came += len as u64;
        (right && self.came <= self.sent).then_some(taken + len > 0)
    }

    fn next(&self) -> Option<Instant> {
        let of = |tcp: &Tcp| End::BOTH.into_iter().filter_map(|end| tcp.next(end)).min();
        let typed = self
            .typed
            .iter()
            .flat_map(|(connection, typist)| of(connection).into_iter().chain([typist.next()]));
        of(&self.file).into_iter().chain(typed).min()
    }
}

impl Session {
    /// Runs it. The composition of the line's bytes is written to the trace at the end.
    pub fn run(&self, recorder: &mut Recorder) -> SessionReport {
        let [file, typed] = Wire::both(self.slip.build());
        let line = file.again();
        let port = if self.tcp.port == TcpModel::default().port { FTP_DATA } else { self.tcp.port };
        let tcp = TcpModel { checks: true, port, ..self.tcp.clone() };
        let telnet = TcpModel { port: super::ledger::TELNET, seed: tcp.seed + 1, ..tcp.clone() };
        let mut run = Run {
            session: self,
            file: Tcp::new(&tcp, self.tapped(file), &self.hosts),
            typed: self.typing.map(|model| {
                let connection = Tcp::new(&telnet, self.tapped(typed), &self.hosts);
                (connection, Typist::new(model, self.seed))
            }),
            sent: 0,
            came: 0,
            into: vec![0; CHUNK],
        };
        let bulk = self.go(&mut run, recorder);
        let end = Instant::ZERO + bulk.elapsed;
        let told = [("file", bulk.bytes), ("elapsed", end.as_nanos())];
        for (name, value) in told.into_iter().chain(line.counters()) {
            recorder.of("slip").record(end, &TraceEvent::Value { name, value });
        }
        let ledgers = End::BOTH.map(|end| line.ask(|line| line.ledger(end)));
        let echoes = run.typed.as_ref().map(|(_, typist)| typist.times());
        let usage = End::BOTH.map(|end| line.usage(end));
        SessionReport { bulk, echoes, ledgers, usage }
    }

    /// The line of a connection, and what records its packets.
    fn tapped(&self, wire: Wire) -> Box<dyn Element> {
        let Some(capture) = &self.capture else { return Box::new(wire) };
        capture.set_medium(Medium::Ip);
        Box::new(Tap::new(Box::new(wire), capture.clone()))
    }

    fn go(&self, run: &mut Run<'_>, recorder: &mut Recorder) -> BulkReport {
        let mut now = Instant::ZERO;
        let mut events = 0;
        let mut meter = self.window.map(Meter::new);
        let stop = loop {
            events += 1;
            if !run.turn(now, recorder) {
                break StopBulk::Damaged;
            }
            if run.came == self.bytes {
                break StopBulk::Done;
            }
            let Some(next) = run.next() else { break StopBulk::Stalled };
            if let Some(meter) = &mut meter {
                meter.pass(next, run.came);
                if meter.is_over() {
                    break StopBulk::Measured;
                }
            }
            if next > Instant::ZERO + self.time_limit {
                break StopBulk::TimeLimit;
            }
            now = next.max(Instant(now.as_nanos() + 1));
        };
        let window_bytes = meter.and_then(|meter| meter.bytes());
        let elapsed = now.since(Instant::ZERO);
        BulkReport { stop, bytes: run.came, elapsed, events, window_bytes }
    }
}
