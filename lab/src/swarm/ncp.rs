//! The ARPANET's hosts in the swarm: files by FTP between two NCPs, over misbehaving IMPs.
//!
//! The subnet is that of [`crate::imp`], with damage on its lines. Before it is an IMP that refuses some
//! messages (incomplete), reports the destination dead, loses a RFNM or duplicates it. Without the last three
//! every file must arrive; with them a transfer may fail, clearly, because the hosts' protocol does not
//! retransmit what was lost silently.

use super::{Failed, Fault, Run, words};
use crate::digest::Tap;
use crate::element::{Element, End, Unit, Usage};
use crate::imp::{Content, Experiment, Processes, Report, Subnet, SubnetModel};
use crate::pair::Stop;
use crate::random::Random;
use crate::serial::Probability;
use crate::store::{Content as Made, MemoryFile, MemorySink};
use crate::trace::Recorder;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wetstring_proto::arpanet::imp;
use wetstring_proto::arpanet::leader::{Dead, Form, Incomplete, Kind, Leader};
use wetstring_proto::engine::Outcome;
use wetstring_proto::settings::Settings;
use wetstring_proto::{Cx, Duration, Instant};

const REPLAY: &str = "wst lab swarm --protocol ncp --seed {seed} --trace FILE";
/// The faults stop then, and the run must end within the other.
const FAULTS_LAST: Duration = Duration::from_secs(120);
const TIME_LIMIT: Duration = Duration::from_secs(20_000);

/// Faults of an IMP, per 10,000 messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Faults {
    /// It refuses the message: incomplete.
    incomplete: u64,
    /// It reports the destination dead.
    dead: u64,
    /// The RFNM is lost.
    lost: u64,
    /// The RFNM is duplicated.
    twice: u64,
}

impl Faults {
    /// Whether hosts can recover from all of it.
    fn is_mild(self) -> bool {
        self.dead + self.lost + self.twice == 0
    }
}

/// A subnet with such IMPs.
struct Unruly {
    subnet: Subnet,
    faults: Faults,
    random: Random,
    /// The IMP's messages to the host at each end.
    says: [VecDeque<Vec<u8>>; 2],
    /// The message that the host at each end offers was spared: it may be offered many times until it is taken.
    spared: [bool; 2],
    hits: u64,
}

impl Unruly {
    fn falls(&mut self, of_10_000: u64) -> bool {
        let falls = of_10_000 > 0 && self.random.below(10_000) < of_10_000;
        self.hits += u64::from(falls);
        falls
    }
}

impl Element for Unruly {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let sent = Leader::parse(Form::Old, bytes).ok().filter(|sent| sent.kind == Kind::Regular);
        let Some(sent) = sent.filter(|_| !self.spared[end.index()]) else {
            let taken = self.subnet.offer(cx, end, bytes);
            self.spared[end.index()] &= taken == 0;
            return taken;
        };
        let answer = if self.falls(self.faults.incomplete) {
            let why = [Incomplete::Slow, Incomplete::Lost, Incomplete::Resources];
            (Kind::Incomplete, self.random.pick(&why).subtype())
        } else if self.falls(self.faults.dead) {
            (Kind::Dead, self.random.pick(&[Dead::Imp, Dead::Host]).subtype())
        } else {
            let taken = self.subnet.offer(cx, end, bytes);
            self.spared[end.index()] = taken == 0;
            return taken;
        };
        let mut says = vec![0; Form::Old.octets()];
        let len = imp::answer(Form::Old, &sent, answer.0, answer.1, &mut says);
        says.truncate(len);
        self.says[end.index()].push_back(says);
        bytes.len()
    }

    fn next(&self, end: End) -> Option<Instant> {
        if self.says[end.index()].is_empty() { self.subnet.next(end) } else { Some(Instant::ZERO) }
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        loop {
            if let Some(says) = self.says[end.index()].pop_front() {
                into[..says.len()].copy_from_slice(&says);
                return says.len();
            }
            let len = self.subnet.emit(cx, end, into);
            let came = Leader::parse(Form::Old, &into[..len]);
            if len == 0 || !came.is_ok_and(|leader| leader.kind == Kind::Rfnm) {
                return len;
            }
            if self.falls(self.faults.twice) {
                self.says[end.index()].push_back(into[..len].to_vec());
            }
            if !self.falls(self.faults.lost) {
                return len;
            }
        }
    }

    fn room(&self, end: End) -> Option<Instant> {
        self.subnet.room(end)
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.subnet.usage(end)
    }

    fn calm(&mut self) {
        self.faults = Faults::default();
        self.subnet.calm();
    }
}

/// The faults stop at this time.
struct Until<'a>(&'a mut Unruly);

impl Until<'_> {
    fn look(&mut self, now: Instant) {
        if now >= Instant::ZERO + FAULTS_LAST {
            self.0.calm();
        }
    }
}

impl Element for Until<'_> {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.look(cx.now);
        self.0.offer(cx, end, bytes)
    }

    fn next(&self, end: End) -> Option<Instant> {
        self.0.next(end)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.look(cx.now);
        self.0.emit(cx, end, into)
    }

    fn room(&self, end: End) -> Option<Instant> {
        self.0.room(end)
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.0.usage(end)
    }
}

/// Picked by a seed.
struct Plan {
    subnet: SubnetModel,
    faults: Faults,
    hosts: [Processes; 2],
    settings: String,
    transfers: u8,
    file: MemoryFile,
}

fn plan(seed: u64) -> Plan {
    let mut random = Random::stream(seed, "swarm", "ncp");
    let damage = random.pick(&[0, 0, 100, 1000]);
    let subnet = SubnetModel {
        hops: random.between(0, 4),
        line_bps: random.pick(&[9600, 50_000, 230_400]),
        delay: Duration::from_millis(random.pick(&[0, 5, 250])),
        host_bps: random.pick(&[0, 100_000, 100_000]),
        window: random.between(1, 8),
        buffers: random.pick(&[8, 16, 58]),
        asks: !random.one_in(4),
        damage: Probability::new(damage, 4).unwrap_or_default(),
        seed: random.bits(),
        ..SubnetModel::default()
    };
    let mut faults = Faults { incomplete: random.pick(&[0, 0, 50, 500]), ..Faults::default() };
    if random.one_in(3) {
        faults.dead = random.pick(&[0, 0, 30]);
        faults.lost = random.pick(&[0, 30, 200]);
        faults.twice = random.pick(&[0, 30, 500]);
    }
    let mut settings = String::new();
    let hosts = [(), ()].map(|()| {
        let mut host = Processes::default();
        let picks = [
            ("ncp.buffers", random.pick(&["both", "small", "large"])),
            // If several messages are in transit, none can be retransmitted: they would change places.
            ("ncp.window", if faults.incomplete > 0 { "1" } else { random.pick(&["1", "2", "4"]) }),
            ("ncp.buffer", random.pick(&["2048", "8192", "32768"])),
            ("ncp.mode", "stream"),
            ("ncp.byte", random.pick(&["8", "8", "36"])),
        ];
        for (name, value) in picks {
            if host.set(name, value).is_ok() {
                // Writing to a string does not fail.
                let _ = write!(settings, "{name}={value} ");
            }
        }
        host
    });
    let transfers = random.pick(&[1, 1, 2, 4]);
    let len = random.pick(&[0, 1, 100, 5000, 20_000]);
    let file = MemoryFile::made("file", Made::Random(random.bits()), len);
    Plan { subnet, faults, hosts, settings, transfers, file }
}

fn run(plan: &Plan, recorder: &mut Recorder) -> (Report, u64) {
    let same = |sink: &MemorySink| {
        sink.complete().count() == 1 && sink.complete().all(|file| file.bytes == *plan.file.bytes)
    };
    let experiment = Experiment {
        hosts: plan.hosts.clone().map(|host| host.host),
        transfers: plan.transfers,
        content: Content::File(plan.file.clone()),
        same: &same,
        typing: None,
        seed: plan.subnet.seed,
        time_limit: TIME_LIMIT,
    };
    let mut unruly = Unruly {
        subnet: Subnet::new(&plan.subnet),
        faults: plan.faults,
        random: Random::stream(plan.subnet.seed, "swarm", "imp"),
        says: Default::default(),
        spared: [false; 2],
        hits: 0,
    };
    let wire = recorder.wire().clone();
    let mut until = Until(&mut unruly);
    let report = experiment.run(&mut Tap::new(&mut until, wire.clone()), recorder);
    for (index, outcome) in report.outcomes.iter().enumerate() {
        match outcome {
            Some((outcome, at)) => wire.settled(*at, index, *outcome),
            None => wire.note("open"),
        }
    }
    (report, unruly.hits)
}

fn check(plan: &Plan, report: &Report) -> Result<(), Fault> {
    let done = |of: &Option<(Outcome, Instant)>| of.is_some_and(|(how, _)| how == Outcome::Done);
    let all_done = report.outcomes.iter().all(done);
    let count = report.outcomes.iter().filter(|of| done(of)).count() as u64;
    let bytes = plan.file.bytes.len() as u64;
    if all_done && !report.right || report.written < count * bytes {
        let written = report.written;
        return Err(Fault::FalseSuccess(format!(
            "{count} users are done with {bytes} octets each, {written} came"
        )));
    }
    // Every user has an outcome; a server may wait for a user that has left.
    if report.outcomes.iter().any(Option::is_none) || report.stop == Stop::Storm {
        return Err(Fault::NoEnd(report.stop));
    }
    if plan.faults.is_mild() && !(all_done && report.stop == Stop::Over) {
        let outcomes = &report.outcomes;
        return Err(Fault::Lost(format!("only faults that hosts can recover from: {outcomes:?}")));
    }
    Ok(())
}

/// Runs one seed.
pub fn one(seed: u64, recorder: &mut Recorder) -> Result<Run, Box<Failed>> {
    let plan = plan(seed);
    let fail = |fault| {
        let Plan { subnet, faults, settings, transfers, file, .. } = &plan;
        let len = file.bytes.len();
        let description =
            format!("{subnet}; {faults:?}; {transfers} files of {len} octets; {settings}");
        let replay = REPLAY.replace("{seed}", &seed.to_string());
        Box::new(Failed { seed, fault, description, replay })
    };
    let ran = catch_unwind(AssertUnwindSafe(|| run(&plan, recorder)));
    let (report, hits) = ran.map_err(|panic| fail(Fault::Panic(words(panic.as_ref()))))?;
    check(&plan, &report).map_err(fail)?;
    let done = report.outcomes.iter().flatten().all(|(how, _)| *how == Outcome::Done);
    let retransmissions = report.stats.iter().map(|stats| stats.retransmissions).sum();
    Ok(Run { done, hits, retransmissions, events: report.events, verified: false })
}
