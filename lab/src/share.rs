//! Several transfers over one path at once, and the share of each.
//!
//! ```text
//! netblt   A -> \                                   / -> B
//! tcp-reno A ->  >-- queue, bottleneck, delay ... -<  -> B      bytes of each, period by period
//! netblt   A -> /                                   \ -> B
//! ```
//!
//! Each flow has its own ends and moves an endless file. Windows are not the limit: each takes the share of its
//! congestion control, or of NETBLT's rate control.

use crate::element::{Element, End};
use crate::net::headers::{Headers, UDP_BYTES};
use crate::net::{DATAGRAM_MAX, PathModel, Queue, Shared, TraceModel};
use crate::pair::{Pair, Side};
use crate::pattern::{Pattern, PatternSink, PatternSource};
use crate::quic::{self, QuicModel};
use crate::sack::{Sack, SackModel};
use crate::scenario::Comparator;
use crate::tcp::{Tcp, TcpModel};
use crate::trace::Recorder;
use wetstring_proto::netblt;
use wetstring_proto::{Cx, Duration, Instant, NoTrace};

/// The transport of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlowTransport {
    /// NETBLT over UDP with these settings at both ends.
    Netblt(Box<netblt::Config>),
    /// TCP or QUIC.
    Comparator(Comparator),
}

/// A flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// What moves its bytes.
    pub transport: FlowTransport,
    /// When it begins.
    pub from: Duration,
    /// When it ends, if it does.
    until: Option<Duration>,
}

/// Several flows over one path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sharing {
    /// The path.
    pub path: PathModel,
    /// Those that share it; at most 255.
    pub flows: Vec<Flow>,
}

/// Bytes of a file that does not end.
const ENDLESS: u64 = 1 << 50;
/// Bytes that are offered to a connection at a time.
const CHUNK: usize = 1 << 15;
/// Livelock limit: calls at one time.
const CALLS_AT_ONE_TIME: u32 = 1000;

/// Both ends of NETBLT, and their stores.
struct Engines {
    sender: netblt::Sender<Vec<u8>>,
    receiver: netblt::Receiver<Vec<u8>>,
    source: PatternSource,
    sink: PatternSink,
}

impl Engines {
    fn new(config: &netblt::Config) -> Self {
        let passive = netblt::Config {
            role: netblt::Role::Passive,
            local_port: config.foreign_port,
            ..config.clone()
        };
        let (out, into) = (vec![0; config.sender_memory()], vec![0; passive.receiver_memory()]);
        Self {
            sender: netblt::Sender::new(config.clone(), out).expect("memory as asked for"),
            receiver: netblt::Receiver::new(passive, into).expect("memory as asked for"),
            source: PatternSource::new(b"endless", ENDLESS),
            sink: PatternSink::new(),
        }
    }
}

/// A flow under way.
enum Runner<'a> {
    Engines(Pair<'a>, Box<[Side<'a>; 2]>),
    Bytes { element: &'a mut dyn Element, pattern: Pattern, sent: u64, came: u64, until: Instant },
}

impl<'a> Runner<'a> {
    fn new(
        element: &'a mut dyn Element,
        engines: Option<&'a mut Engines>,
        until: Option<Duration>,
    ) -> Self {
        let Some(ends) = engines else {
            let until = until.map_or(Instant(u64::MAX), |until| Instant::ZERO + until);
            return Self::Bytes { element, pattern: Pattern::new(), sent: 0, came: 0, until };
        };
        let a = Side::new(End::A, "A", (&mut ends.sender, &mut ends.source));
        let b = Side::new(End::B, "B", (&mut ends.receiver, &mut ends.sink));
        Self::Engines(Pair::new(element).port_buffer(DATAGRAM_MAX), Box::new([a, b]))
    }

    /// Processes everything that happens now.
    fn turn(&mut self, now: Instant, into: &mut [u8]) {
        match self {
            Self::Engines(pair, sides) => {
                let ends = pair.settle(sides, now, &mut Recorder::off());
                assert!(ends, "livelock: virtual time is not advancing at {now}");
            }
            Self::Bytes { element, pattern, sent, came, until } => {
                let cx = &mut Cx { now, trace: &mut NoTrace };
                loop {
                    let offered = if now < *until { CHUNK } else { 0 };
                    let taken = element.offer(cx, End::A, pattern.at(*sent, offered));
                    let len = element.emit(cx, End::B, into);
                    assert!(pattern.is(*came, &into[..len]), "a byte came that was not sent");
                    *sent += taken as u64;
                    *came += len as u64;
                    if taken + len == 0 {
                        return;
                    }
                }
            }
        }
    }

    fn next(&self) -> Option<Instant> {
        match self {
            Self::Engines(pair, sides) => pair.next(sides),
            Self::Bytes { element, .. } => {
                End::BOTH.into_iter().filter_map(|end| element.next(end)).min()
            }
        }
    }

    /// Bytes that the far end's store, or its program, was given.
    fn came(&self) -> u64 {
        match self {
            Self::Engines(_, sides) => sides[End::B.index()].report.written,
            Self::Bytes { came, .. } => *came,
        }
    }
}

impl Sharing {
    /// Bytes received by the receiver of each flow in each period: `[period][flow]`.
    ///
    /// # Panics
    ///
    /// If other bytes are received than were sent, or virtual time does not advance.
    pub fn run(&self, period: Duration, count: usize) -> Vec<Vec<u64>> {
        let shared = Shared::flows(&self.path, self.flows.len().min(255) as u8);
        self.run_on(shared, period, count)
    }

    /// The same over a link of opportunities; the path is what the windows are made for.
    ///
    /// # Panics
    ///
    /// As [`Sharing::run`].
    pub fn run_over(&self, link: &TraceModel, period: Duration, count: usize) -> Vec<Vec<u64>> {
        let shared = Shared::over_trace(link, self.flows.len().min(255) as u8);
        self.run_on(shared, period, count)
    }

    /// Runs the flows, each over one of these.
    fn run_on(&self, shared: Vec<Shared>, period: Duration, count: usize) -> Vec<Vec<u64>> {
        let mut engines: Vec<Option<Engines>> = self.flows.iter().map(Flow::engines).collect();
        let mut elements: Vec<Box<dyn Element>> = shared
            .into_iter()
            .zip(&self.flows)
            .map(|(path, flow)| self.element(flow, path))
            .collect();
        let mut runners: Vec<Runner<'_>> = elements
            .iter_mut()
            .zip(&mut engines)
            .zip(&self.flows)
            .map(|((element, engines), flow)| {
                Runner::new(element.as_mut(), engines.as_mut(), flow.until)
            })
            .collect();
        let mut into = vec![0; CHUNK];
        let mut periods = Vec::new();
        let mut before = vec![0; runners.len()];
        let mut now = Instant::ZERO;
        while periods.len() < count {
            let begun = |flow: usize| now >= Instant::ZERO + self.flows[flow].from;
            // What one of them takes out of the path may be another's.
            for call in 0.. {
                assert!(
                    call < CALLS_AT_ONE_TIME,
                    "livelock: virtual time is not advancing at {now}"
                );
                let mut again = false;
                for (_, runner) in runners.iter_mut().enumerate().filter(|(flow, _)| begun(*flow)) {
                    runner.turn(now, &mut into);
                }
                for (_, runner) in runners.iter().enumerate().filter(|(flow, _)| begun(*flow)) {
                    again |= runner.next().is_some_and(|at| at <= now);
                }
                if !again {
                    break;
                }
            }
            let end = Instant::ZERO + period * (periods.len() as u32 + 1);
            let starts = self.flows.iter().map(|flow| Instant::ZERO + flow.from);
            let starts = starts.filter(|at| *at > now);
            let timers = runners.iter().enumerate().filter(|(index, _)| begun(*index));
            let timers = timers.filter_map(|(_, runner)| runner.next());
            let next = timers.chain(starts).min().unwrap_or(end).max(Instant(now.as_nanos() + 1));
            if next >= end {
                let came: Vec<u64> = runners.iter().map(Runner::came).collect();
                periods.push(came.iter().zip(&before).map(|(now, then)| now - then).collect());
                before = came;
            }
            now = next.min(end);
        }
        periods
    }

    /// The element between the ends of a flow.
    fn element(&self, flow: &Flow, path: Shared) -> Box<dyn Element> {
        let FlowTransport::Comparator(comparator) = flow.transport else {
            return Box::new(Headers::new(Box::new(path), UDP_BYTES));
        };
        let product = self.path.product_bytes();
        let queue = match self.path.queue {
            Queue::Bytes(bytes) => bytes,
            Queue::Packets(count) => count * 1500,
            Queue::Unlimited => product,
        };
        let window = ((product + queue) * 5 / 2).clamp(1 << 16, 1 << 30);
        if let Some(congestion) = comparator.tcp() {
            let window = window as usize;
            let model = TcpModel {
                window_bytes: [window; 2],
                send_bytes: [window; 2],
                congestion,
                handshake: true,
                queue: 1000,
                ..TcpModel::default()
            };
            return Box::new(Tcp::new(&model, Box::new(path), &Default::default()));
        }
        if let Some(algorithm) = comparator.sack() {
            let model = SackModel { window_bytes: window, algorithm, ..SackModel::default() };
            return Box::new(Sack::new(&model, Box::new(path)));
        }
        let congestion = comparator.quic().unwrap_or_default();
        let model = QuicModel { window_bytes: window, congestion, ..QuicModel::default() };
        quic::element(&model, Box::new(path))
    }
}

impl Flow {
    /// A flow that starts at time 0: `netblt`, or a comparator's name. `None` if there is no such.
    pub fn of(name: &str) -> Option<Self> {
        let transport = match name {
            "netblt" => FlowTransport::Netblt(Box::default()),
            _ => FlowTransport::Comparator(Comparator::of(name)?),
        };
        Some(Self { transport, from: Duration::ZERO, until: None })
    }

    /// The same, later.
    #[must_use]
    pub fn from(self, from: Duration) -> Self {
        Self { from, ..self }
    }

    /// The same, up to a time only: from then on a comparator has nothing more to send.
    #[must_use]
    pub fn until(self, until: Duration) -> Self {
        Self { until: Some(until), ..self }
    }

    fn engines(&self) -> Option<Engines> {
        match &self.transport {
            FlowTransport::Netblt(config) => Some(Engines::new(config)),
            FlowTransport::Comparator(_) => None,
        }
    }
}
