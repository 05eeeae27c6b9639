//! RFC 662's experiment: files from one host to the other over a subnet, several at a time, with interactive
//! traffic meanwhile.
//!
//! ```text
//! users' processes -> NCP A <-> subnet <-> NCP B -> a server's processes
//!             user <->                           <-> echo
//! ```
//!
//! All of it is the live code too: the NCPs of [`wetstring_proto::arpanet::ncp`], and the processes of
//! [`wetstring_proto::arpanet::ftp`], which connect by ICP, log in, agree on bytes and mode, and store a file
//! over a connection of its own.

use super::processes::{Content, Receiving, Side};
use super::typist::{Terminal, Typist, echo};
use crate::element::{Element, End};
use crate::pair::Stop;
use crate::slip::{EchoTimes, TypingModel};
use crate::store::MemorySink;
use crate::trace::Recorder;
use std::fmt;
use wetstring_proto::TraceEvent;
use wetstring_proto::arpanet::Config;
use wetstring_proto::{Cx, Duration, Instant, Outcome, Stats};

/// This many turns at one time are a livelock.
const TURNS_AT_ONE_TIME: u32 = 10_000;

/// The experiment between two hosts.
pub struct Experiment<'a> {
    /// The hosts at A and B.
    pub hosts: [Config; 2],
    /// Files sent from A to B at the same time: 1 to 8.
    pub transfers: u8,
    /// The content of each.
    pub content: Content,
    /// Whether a received file that is no pattern is right.
    pub same: &'a dyn Fn(&MemorySink) -> bool,
    /// Interactive traffic at one end, echoed by the other.
    pub typing: Option<TypingModel>,
    /// The random seed.
    pub seed: u64,
    /// The time limit.
    pub time_limit: Duration,
}

impl fmt::Debug for Experiment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Experiment").field("transfers", &self.transfers).finish_non_exhaustive()
    }
}

/// The result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Why it ended.
    pub stop: Stop,
    /// Each user process's outcome, and when.
    pub outcomes: Vec<Option<(Outcome, Instant)>>,
    /// Octets of files received.
    pub written: u64,
    /// Each file was received as sent.
    pub right: bool,
    /// From when the first data connection was open to when the last file was complete; `None` if one is not.
    pub moving: Option<(Instant, Instant)>,
    /// Echo delays of the interactive traffic.
    pub echoes: Option<EchoTimes>,
    /// When the last user had logged out, or the run ended.
    pub elapsed: Duration,
    /// The hosts' statistics.
    pub stats: [Stats; 2],
    /// Number of different times.
    pub events: u64,
}

impl Experiment<'_> {
    /// Runs it over this element.
    ///
    /// # Panics
    ///
    /// If a host does not fit into the memory that it requests.
    pub fn run(&self, element: &mut dyn Element, recorder: &mut Recorder) -> Report {
        let hosts = &self.hosts;
        let mut sides = End::BOTH.map(|end| {
            let config = hosts[end.index()].clone();
            let mut side = Side::new(end, config, self.transfers, &self.content);
            side.terminal =
                self.typing.map(|model| Terminal::new(&mut side.ncp.host(), model.from == end));
            side
        });
        let mut typist = self.typing.map(|model| Typist::new(model, self.seed));
        let (mut events, mut now) = (0, Instant::ZERO);
        let stop = loop {
            events += 1;
            if !self.settle(&mut sides, typist.as_mut(), now, element, recorder) {
                break Stop::Storm;
            }
            let [a, b] = &sides;
            if a.sending.iter().all(|of| of.outcome.is_some())
                && b.receiving.iter().all(Receiving::is_over)
            {
                break Stop::Over;
            }
            let Some(next) = next(&sides, typist.as_ref(), now, element) else {
                break Stop::Stalled;
            };
            now = next.max(Instant(now.as_nanos() + 1));
            if now > Instant::ZERO + self.time_limit {
                break Stop::TimeLimit;
            }
        };
        let [a, b] = &sides;
        let outcomes: Vec<_> = a.sending.iter().map(|of| of.outcome).collect();
        let came = b.receiving.len() == usize::from(self.transfers);
        let times = b.receiving.iter().map(|of| of.began.zip(of.ended));
        let moving = times.reduce(|all, one| {
            let ((first, last), (began, ended)) = all.zip(one)?;
            Some((first.min(began), last.max(ended)))
        });
        let last = outcomes.iter().flatten().map(|(_, at)| *at).max().unwrap_or(now);
        let last = if outcomes.iter().all(Option::is_some) { last } else { now };
        for side in &sides {
            let counts = side.stats();
            recorder.note(now, super::processes::name(side.end), &TraceEvent::from(&counts));
        }
        Report {
            stop,
            outcomes,
            written: b.receiving.iter().map(|of| of.written).sum(),
            right: came && b.receiving.iter().all(|of| of.sink.has(&self.content, self.same)),
            moving: moving.flatten().filter(|_| came),
            echoes: typist.map(Typist::times),
            elapsed: last.since(Instant::ZERO),
            stats: [a.stats(), b.stats()],
            events,
        }
    }

    /// Processes everything that happens now; false if it does not come to an end.
    fn settle(
        &self,
        sides: &mut [Side; 2],
        mut typist: Option<&mut Typist>,
        now: Instant,
        element: &mut dyn Element,
        recorder: &mut Recorder,
    ) -> bool {
        for _ in 0..TURNS_AT_ONE_TIME {
            let mut moved = false;
            for side in sides.iter_mut() {
                moved |= side.turn(now, &self.content, recorder);
                if let Some(terminal) = &mut side.terminal {
                    let mut trace = recorder.of(super::processes::name(side.end));
                    let (mut host, cx) = (side.ncp.host(), &mut Cx { now, trace: &mut trace });
                    terminal.turn(cx, &mut host, side.end);
                    let here = self.typing.is_some_and(|model| model.from == side.end);
                    moved |= match (&mut typist, terminal.pair) {
                        (Some(typist), pair) if here => typist.turn(cx, &mut host, pair),
                        (_, Some(pair)) => echo(&mut host, pair),
                        _ => false,
                    };
                }
                moved |= side.exchange(now, element, recorder);
            }
            if !moved {
                return true;
            }
        }
        false
    }
}

/// When the next event is due.
fn next(
    sides: &[Side; 2],
    typist: Option<&Typist>,
    now: Instant,
    element: &dyn Element,
) -> Option<Instant> {
    let of = |side: &Side| {
        let lies = element.next(side.end).into_iter().chain(element.room(side.end));
        // Past events had no effect: time advances.
        lies.filter(|at| *at > now).chain(side.deadline()).min()
    };
    sides.iter().filter_map(of).chain(typist.map(Typist::next)).min()
}
