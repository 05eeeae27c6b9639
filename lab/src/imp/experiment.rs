//! RFC 662's experiment: files from one host to the other over a subnet, several at a time, and
//! somebody who types meanwhile.
//!
//! ```text
//! sending processes -> NCP A <-> subnet <-> NCP B -> receiving processes
//!            typist <->                           <-> echo
//! ```
//!
//! The NCPs are those of [`wetstring_proto::arpanet::ncp`]; a file goes over a connection of its own, as the data
//! connection of a transfer in image mode with bytes of 36 bits does.

use super::SubnetModel;
use crate::element::{Element, End};
use crate::net::DATAGRAM_MAX;
use crate::pair::Stop;
use crate::pattern::Pattern;
use crate::random::Random;
use crate::slip::{EchoTimes, TypingModel, gap};
use crate::trace::Recorder;
use wetstring_proto::arpanet::ncp::{Config, Id, Ncp, State, Wanted};
use wetstring_proto::{Cx, Duration, Instant};

/// Bits of a byte of the files' connections.
const WORD: u8 = 36;
/// Octets that a process hands over or takes at a time.
const CHUNK: usize = 1024;
/// So many turns at one moment are a storm.
const TURNS_AT_ONE_TIME: u32 = 10_000;

/// What is done between which hosts.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The hosts' NCPs, at A and B.
    pub hosts: [Config; 2],
    /// Files that are sent from A to B at the same time: 1 to 8.
    pub transfers: u8,
    /// Octets of each.
    pub octets: u64,
    /// Somebody who types at one end and is answered by the other.
    pub typing: Option<TypingModel>,
    /// Where chance comes from.
    pub seed: u64,
    /// When to give up.
    pub time_limit: Duration,
}

/// What became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Why it ended.
    pub stop: Stop,
    /// Octets of each file that came.
    pub octets: Vec<u64>,
    /// When each file was there as a whole; `None` if it is not.
    pub ended: Vec<Option<Instant>>,
    /// Something came that was not sent.
    pub wrong: bool,
    /// How long the echoes of what was typed took.
    pub echoes: Option<EchoTimes>,
    /// When the last file was there, or the run ended.
    pub elapsed: Duration,
    /// How many different moments there were.
    pub events: u64,
}

/// One host: its NCP, its end of every connection, and how much of each file it has written or read.
struct Side {
    end: End,
    ncp: Ncp<Vec<u8>>,
    files: Vec<(Id, u64)>,
    /// Sends and receives what is typed.
    typed: Option<[Id; 2]>,
    inbox: Vec<u8>,
}

/// The person: when the next key is hit, keys that wait for their echo, and how long echoes took.
struct Typist {
    model: TypingModel,
    random: Random,
    next: Instant,
    keys: u64,
    waiting: Vec<Instant>,
    times: Vec<u64>,
}

impl Typist {
    fn new(model: TypingModel, seed: u64) -> Self {
        let mut random = Random::stream(seed, "typing", "keys");
        let next = Instant::ZERO + gap(model.every, &mut random);
        Self { model, random, next, keys: 0, waiting: Vec::new(), times: Vec::new() }
    }
}

impl Experiment {
    /// Carries it out over this element.
    ///
    /// # Panics
    ///
    /// If an NCP has no place for so many connections.
    pub fn run(&self, element: &mut dyn Element, recorder: &mut Recorder) -> Report {
        let mut sides = End::BOTH.map(|end| self.side(end, recorder));
        let mut run = Run {
            experiment: self,
            pattern: Pattern::new(),
            ended: vec![None; usize::from(self.transfers)],
            wrong: false,
            typist: self.typing.map(|model| Typist::new(model, self.seed)),
            now: Instant::ZERO,
        };
        let mut events = 0;
        let stop = loop {
            events += 1;
            if !run.settle(&mut sides, element, recorder) {
                break Stop::Storm;
            }
            if run.wrong || run.ended.iter().all(Option::is_some) {
                break Stop::Over;
            }
            let Some(next) = run.next(&sides, element) else { break Stop::Stalled };
            run.now = next.max(Instant(run.now.as_nanos() + 1));
            if run.now > Instant::ZERO + self.time_limit {
                break Stop::TimeLimit;
            }
        };
        let last = run.ended.iter().flatten().max().copied();
        let last = last.filter(|_| run.ended.iter().all(Option::is_some)).unwrap_or(run.now);
        Report {
            stop,
            octets: sides[End::B.index()].files.iter().map(|(_, came)| *came).collect(),
            ended: run.ended,
            wrong: run.wrong,
            echoes: run.typist.map(|typist| EchoTimes::of(typist.keys, typist.times)),
            elapsed: Duration::from_nanos(last.as_nanos()),
            events,
        }
    }

    /// A host whose processes have asked for their connections.
    fn side(&self, end: End, recorder: &mut Recorder) -> Side {
        let connections = self.transfers + if self.typing.is_some() { 2 } else { 0 };
        let config = Config { connections, ..self.hosts[end.index()].clone() };
        let memory = vec![0; config.memory()];
        let mut ncp = Ncp::new(config, memory).expect("memory as asked for");
        let mut trace = recorder.of(name(end));
        let cx = &mut Cx { now: Instant::ZERO, trace: &mut trace };
        let other = SubnetModel::HOSTS[end.other().index()];
        let mut host = ncp.host();
        let mut open = |wanted| host.open(cx, other, wanted).expect("a place for each connection");
        let files = (0..u32::from(self.transfers)).map(|index| {
            let (sends, receives) = (0x101 + 8 * index, 0x200 + 8 * index);
            open(match end {
                End::A => Wanted::new(sends, receives).size(WORD).bulk(),
                End::B => Wanted::new(receives, sends).passive(),
            })
        });
        let files = files.map(|id| (id, 0)).collect();
        let typed = self.typing.map(|typing| match end {
            end if end == typing.from => {
                [open(Wanted::new(0x301, 0x400)), open(Wanted::new(0x300, 0x401))]
            }
            _ => [
                open(Wanted::new(0x401, 0x300).passive()),
                open(Wanted::new(0x400, 0x301).passive()),
            ],
        });
        Side { end, ncp, files, typed, inbox: vec![0; DATAGRAM_MAX] }
    }
}

fn name(end: End) -> &'static str {
    if end == End::A { "A" } else { "B" }
}

/// An experiment under way.
struct Run<'a> {
    experiment: &'a Experiment,
    pattern: Pattern,
    ended: Vec<Option<Instant>>,
    wrong: bool,
    typist: Option<Typist>,
    now: Instant,
}

impl Run<'_> {
    /// Lets everything happen that happens now; false if it does not come to an end.
    fn settle(
        &mut self,
        sides: &mut [Side; 2],
        element: &mut dyn Element,
        recorder: &mut Recorder,
    ) -> bool {
        for _ in 0..TURNS_AT_ONE_TIME {
            let mut moved = false;
            for side in sides.iter_mut() {
                if side.ncp.deadline().is_some_and(|at| at <= self.now) {
                    let mut trace = recorder.of(name(side.end));
                    side.ncp.tick(&mut Cx { now: self.now, trace: &mut trace });
                }
                moved |= match side.end {
                    End::A => self.send(side),
                    End::B => self.receive(side),
                };
                moved |= match self.experiment.typing {
                    Some(model) if model.from == side.end => self.type_on(side),
                    Some(_) => Self::echo(side),
                    None => false,
                };
                moved |= side.exchange(self.now, element, recorder);
            }
            if !moved {
                return true;
            }
        }
        false
    }

    /// When something happens next.
    fn next(&self, sides: &[Side; 2], element: &dyn Element) -> Option<Instant> {
        let of = |side: &Side| {
            let lies = element.next(side.end).into_iter().chain(element.room(side.end));
            // Of what is past already nothing came: the time goes on.
            lies.filter(|at| *at > self.now).chain(side.ncp.deadline()).min()
        };
        sides.iter().filter_map(of).chain(self.typist.as_ref().map(|typist| typist.next)).min()
    }

    /// The sending processes write what there is room for.
    fn send(&mut self, side: &mut Side) -> bool {
        let mut moved = false;
        for (id, sent) in &mut side.files {
            let mut host = side.ncp.host();
            while *sent < self.experiment.octets {
                let left = usize::try_from(self.experiment.octets - *sent).unwrap_or(CHUNK);
                let octets = self.pattern.at(*sent, left.min(CHUNK));
                let taken = host.write(*id, octets, octets.len() * 8) / 8;
                *sent += taken as u64;
                moved |= taken > 0;
                if taken == 0 {
                    break;
                }
            }
            if *sent == self.experiment.octets && host.state(*id) == State::Open {
                host.close(*id);
            }
        }
        moved
    }

    /// The receiving processes read and compare.
    fn receive(&mut self, side: &mut Side) -> bool {
        let (mut moved, mut octets) = (false, [0; CHUNK]);
        for (index, (id, came)) in side.files.iter_mut().enumerate() {
            let mut host = side.ncp.host();
            loop {
                let bits = host.peek(*id, &mut octets);
                let whole = bits / 8;
                let file = self.experiment.octets.saturating_sub(*came).min(whole as u64) as usize;
                self.wrong |= !self.pattern.is(*came, &octets[..file]);
                self.wrong |= octets[file..whole].iter().any(|octet| *octet != 0);
                *came += file as u64;
                // What is left of an octet fills up the last word.
                let rest = if whole == 0 && *came == self.experiment.octets { bits } else { 0 };
                host.consume(*id, whole * 8 + rest);
                if whole * 8 + rest == 0 {
                    break;
                }
                moved = true;
            }
            let over = *came == self.experiment.octets && host.state(*id) == State::Ended;
            if over && self.ended[index].is_none() {
                self.ended[index] = Some(self.now);
            }
        }
        moved
    }

    /// A character is typed when it is time, and the echo is seen.
    fn type_on(&mut self, side: &mut Side) -> bool {
        let (Some([out, back]), Some(typist)) = (side.typed, &mut self.typist) else {
            return false;
        };
        let mut host = side.ncp.host();
        let mut moved = false;
        while typist.next <= self.now {
            // Nobody types before there is a connection.
            if host.state(out) == State::Open && host.write(out, b"x", 8) == 8 {
                typist.keys += 1;
                typist.waiting.push(typist.next);
                moved = true;
            }
            typist.next = typist.next + gap(typist.model.every, &mut typist.random);
        }
        let mut seen = [0; 16];
        let came = host.peek(back, &mut seen) / 8;
        host.consume(back, came * 8);
        for since in typist.waiting.drain(..came.min(typist.waiting.len())) {
            typist.times.push(self.now.as_nanos() - since.as_nanos());
        }
        moved || came > 0
    }

    /// The other host sends back what was typed.
    fn echo(side: &mut Side) -> bool {
        let Some([out, back]) = side.typed else { return false };
        let mut host = side.ncp.host();
        let mut seen = [0; 16];
        let came = host.peek(back, &mut seen) / 8;
        if came == 0 {
            return false;
        }
        let taken = host.write(out, &seen[..came], came * 8) / 8 * 8;
        host.consume(back, taken);
        taken > 0
    }
}

impl Side {
    /// Gives the element what the NCP has, and the NCP what came.
    fn exchange(
        &mut self,
        now: Instant,
        element: &mut dyn Element,
        recorder: &mut Recorder,
    ) -> bool {
        let mut moved = false;
        loop {
            let mut trace = recorder.of(name(self.end));
            let message = self.ncp.transmit(&mut Cx { now, trace: &mut trace });
            if message.is_empty() {
                break;
            }
            let mut trace = recorder.of("line");
            let taken = element.offer(&mut Cx { now, trace: &mut trace }, self.end, message);
            if taken == 0 {
                break;
            }
            let mut trace = recorder.of(name(self.end));
            self.ncp.transmitted(&mut Cx { now, trace: &mut trace }, taken);
            moved = true;
        }
        loop {
            let mut trace = recorder.of("line");
            let came = element.emit(&mut Cx { now, trace: &mut trace }, self.end, &mut self.inbox);
            if came == 0 {
                break;
            }
            let mut trace = recorder.of(name(self.end));
            self.ncp.receive(&mut Cx { now, trace: &mut trace }, &self.inbox[..came]);
            moved = true;
        }
        moved
    }
}
