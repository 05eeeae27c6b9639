//! Two NETBLT engines over a datagram path in virtual time: rate, queue, delay, loss, reordering.
#![allow(dead_code)]

use std::collections::BTreeMap;
use wetstring_lab::random::Random;
use wetstring_proto::netblt::packet::Packet;
use wetstring_proto::netblt::{Config, Receiver, Role, Sender};
use wetstring_proto::{
    Command, Cx, Duration, Engine, Event, Instant, NoTrace, Outcome, Stats, Status, Store, Trace,
    TraceEvent,
};

/// A path, the same in both directions.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) rate_bps: u64,
    /// Bytes that may wait for the bottleneck.
    pub(crate) queue: u64,
    pub(crate) rtt: Duration,
    /// Lost packets in 10,000.
    pub(crate) loss: u64,
    /// Lost packets come in runs of this mean length.
    pub(crate) run: u64,
    /// Packets in 10,000 that are held back, and for how long at most.
    pub(crate) reorder: u64,
    pub(crate) hold: Duration,
    /// Packets in 10,000 that come twice.
    pub(crate) twice: u64,
    /// Bits in a million packets that are damaged: one byte of the packet.
    pub(crate) damage: u64,
    pub(crate) seed: u64,
    /// Packets that are lost whatever happens: (direction from A, packet type, how many of them).
    pub(crate) doomed: Vec<(bool, u8, u32)>,
}

impl Path {
    pub(crate) fn new(rate_bps: u64, rtt_ms: u64) -> Self {
        let rtt = Duration::from_millis(rtt_ms);
        // A bandwidth-delay product, and not less than 64 packets.
        let queue = (rate_bps * rtt_ms / 8000).max(64 * 1500);
        Self {
            rate_bps,
            queue,
            rtt,
            loss: 0,
            run: 1,
            reorder: 0,
            hold: Duration::ZERO,
            twice: 0,
            damage: 0,
            seed: 1,
            doomed: Vec::new(),
        }
    }

    pub(crate) fn loss(mut self, in_10_000: u64) -> Self {
        self.loss = in_10_000;
        self
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(crate) fn doom(mut self, from_a: bool, kind: u8, count: u32) -> Self {
        self.doomed.push((from_a, kind, count));
        self
    }
}

/// Bytes that IP and UDP add.
pub(crate) const OVERHEAD: u64 = 28;

/// Prints what an engine does, if `WETSTRING_TRACE` is set.
struct Shown(bool, usize);

impl Trace for Shown {
    fn record(&mut self, at: Instant, event: &TraceEvent<'_>) {
        println!("{at} {} {event}", ["A", "B"][self.1]);
    }

    fn enabled(&self) -> bool {
        self.0
    }
}

/// A direction of the path.
struct Direction {
    path: Path,
    random: Random,
    /// The bottleneck is busy until then, in nanoseconds.
    busy: u64,
    losing: bool,
    flying: BTreeMap<(u64, u64), Vec<u8>>,
    count: u64,
    doomed: Vec<(u8, u32)>,
    /// Queueing delay: the longest, and the sum with the count, since the measurement began.
    pub(crate) waited: (u64, u64, u64),
    dropped: u64,
    back: bool,
}

impl Direction {
    fn new(path: &Path, name: &str, from_a: bool) -> Self {
        Self {
            random: Random::stream(path.seed, name, "path"),
            path: path.clone(),
            busy: 0,
            losing: false,
            flying: BTreeMap::new(),
            count: 0,
            doomed: path.doomed.iter().filter(|d| d.0 == from_a).map(|d| (d.1, d.2)).collect(),
            waited: (0, 0, 0),
            dropped: 0,
            back: !from_a,
        }
    }

    fn send(&mut self, now: u64, bytes: &[u8]) {
        self.count += 1;
        let size = bytes.len() as u64 + OVERHEAD;
        let start = self.busy.max(now);
        let waiting = (start - now) as u128 * self.path.rate_bps as u128 / 8_000_000_000;
        if waiting as u64 + size > self.path.queue + 1500 {
            self.dropped += 1;
            return;
        }
        self.busy = start + size * 8_000_000_000 / self.path.rate_bps;
        let wait = start - now;
        self.waited = (self.waited.0.max(wait), self.waited.1 + wait, self.waited.2 + 1);
        if let Some(doom) = self.doomed.iter_mut().find(|d| d.0 == bytes[3] && d.1 > 0) {
            doom.1 -= 1;
            return;
        }
        self.losing = if self.losing {
            !self.random.one_in(self.path.run)
        } else {
            self.path.loss > 0 && self.random.below(10_000 * self.path.run) < self.path.loss
        };
        if self.losing {
            return;
        }
        let mut bytes = bytes.to_vec();
        if self.path.damage > 0 && self.random.below(1_000_000) < self.path.damage {
            let at = self.random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << self.random.below(8);
        }
        let copies = 1 + u64::from(self.random.below(10_000) < self.path.twice);
        for _ in 0..copies {
            let mut at = self.busy + self.path.rtt.as_nanos() as u64 / 2;
            if self.path.reorder > 0 && self.random.below(10_000) < self.path.reorder {
                at += self.random.below(self.path.hold.as_nanos() as u64 + 1);
            }
            self.count += 1;
            self.flying.insert((at, self.count), bytes.clone());
        }
    }

    fn next(&self) -> Option<u64> {
        self.flying.keys().next().map(|key| key.0)
    }
}

/// One side.
pub(crate) struct Side<'a> {
    pub(crate) engine: &'a mut dyn Engine,
    pub(crate) store: &'a mut dyn Store,
}

fn shown() -> bool {
    std::env::var_os("WETSTRING_TRACE").is_some()
}

/// The result of a side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) outcome: Option<Outcome>,
    pub(crate) settled: Duration,
    pub(crate) over: bool,
    /// The longest time in which no sound packet came, until the outcome was fixed.
    pub(crate) deaf: Duration,
    heard: u64,
    pub(crate) stats: Stats,
    pub(crate) done: u64,
    pub(crate) verified: u64,
    pub(crate) refused: u64,
    pub(crate) cancelled: u64,
    pub(crate) messages: Vec<Vec<u8>>,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) a: Seen,
    pub(crate) b: Seen,
    pub(crate) elapsed: Duration,
    /// When this many file bytes had come: (time, bytes), about a hundred points in all.
    pub(crate) curve: Vec<(Duration, u64)>,
    pub(crate) waited_max: Duration,
    pub(crate) waited_mean: Duration,
    pub(crate) dropped: u64,
    pub(crate) packets: [u64; 2],
    pub(crate) storm: bool,
}

impl Report {
    pub(crate) fn is_done(&self) -> bool {
        let done = Some(Outcome::Done);
        self.a.outcome == done && self.b.outcome == done
    }

    /// Bits per second of file data from `from` until `to`.
    pub(crate) fn rate(&self, from: Duration, to: Duration) -> f64 {
        let at = |time: Duration| {
            let found = self.curve.iter().rev().find(|point| point.0 <= time);
            found.copied().unwrap_or((Duration::ZERO, 0))
        };
        let (a, b) = (at(from), at(to));
        (b.1 - a.1) as f64 * 8.0 / (b.0.as_secs_f64() - a.0.as_secs_f64()).max(1e-9)
    }
}

/// Something done at a time: to A, to B.
pub(crate) type Act = (Duration, bool, Command);

/// A datagram from elsewhere: when, to A, and what.
pub(crate) type Forged = (Duration, bool, Vec<u8>);

/// What may be done to a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) limit: Option<Duration>,
    pub(crate) acts: Vec<Act>,
    pub(crate) forged: Vec<Forged>,
    /// Nothing arrives from this time on.
    pub(crate) cut: Option<Duration>,
    /// Nothing of A arrives from this time on.
    pub(crate) mute_a: Option<Duration>,
    /// Faults stop at this time.
    pub(crate) calm: Option<Duration>,
    /// Write down datagrams: from A, bytes, time.
    pub(crate) record: bool,
    /// Sampling interval of the curve.
    pub(crate) every: Option<Duration>,
}

fn settle(
    side: &mut Side<'_>,
    seen: &mut Seen,
    now: Instant,
    way: &mut Direction,
    storm: &mut u64,
) {
    let mut trace = Shown(shown(), usize::from(way.back));
    loop {
        let mut moved = false;
        let mut cx = Cx { now, trace: &mut trace };
        if side.engine.deadline().is_some_and(|at| at <= now) {
            side.engine.tick(&mut cx);
            *storm += 1;
        }
        while let Some(request) = side.engine.request() {
            let reply = side.store.answer(request);
            side.engine.reply(&mut cx, reply);
            moved = true;
            *storm += 1;
            if *storm > 2_000_000 {
                return;
            }
        }
        let lent = side.engine.transmit(&mut cx);
        if !lent.is_empty() {
            let len = lent.len();
            way.send(now.as_nanos(), lent);
            side.engine.transmitted(&mut cx, len);
            moved = true;
            *storm += 1;
        }
        while let Some(event) = side.engine.event() {
            match event {
                Event::FileDone { verified, .. } => {
                    seen.done += 1;
                    seen.verified += u64::from(verified);
                }
                Event::FileRefused { .. } => seen.refused += 1,
                Event::FileCancelled { .. } => seen.cancelled += 1,
                Event::Message(text) => seen.messages.push(text.to_vec()),
                _ => {}
            }
        }
        if seen.outcome.is_none() {
            seen.deaf = seen.deaf.max(Duration::from_nanos(now.as_nanos() - seen.heard));
            seen.outcome = side.engine.status().outcome();
            seen.settled = Duration::from_nanos(now.as_nanos());
        }
        seen.over = matches!(side.engine.status(), Status::Over(_));
        if !moved || *storm > 2_000_000 {
            return;
        }
    }
}

/// Calls at one moment beyond which the time does not continue.
const STORM: u64 = 2_000_000;

/// A run.
struct Run<'a, 'p> {
    plan: &'p Plan,
    sides: [Side<'a>; 2],
    seen: [Seen; 2],
    ways: [Direction; 2],
    acts: Vec<Act>,
    forged: Vec<Forged>,
    now: u64,
    storm: u64,
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

impl Run<'_, '_> {
    /// What the plan says for now.
    fn follow_plan(&mut self) {
        let (now, at) = (self.now, Instant(self.now));
        if self.plan.calm.is_some_and(|calm| nanos(calm) <= now) {
            for way in &mut self.ways {
                way.path.loss = 0;
                way.path.reorder = 0;
                way.path.twice = 0;
                way.path.damage = 0;
                way.losing = false;
            }
        }
        for (_, to_a, command) in self.acts.extract_if(.., |act| nanos(act.0) <= now) {
            let side = &mut self.sides[usize::from(!to_a)];
            side.engine.command(&mut Cx { now: at, trace: &mut NoTrace }, command);
        }
        for (_, to_a, bytes) in self.forged.extract_if(.., |act| nanos(act.0) <= now) {
            let side = &mut self.sides[usize::from(!to_a)];
            side.engine.receive(&mut Cx { now: at, trace: &mut NoTrace }, &bytes);
        }
    }

    /// What arrives now.
    fn deliver(&mut self, from: usize) {
        let (now, at) = (self.now, Instant(self.now));
        let gone = |limit: Option<Duration>| limit.is_some_and(|cut| now >= nanos(cut));
        let lost = gone(self.plan.cut) || (from == 0 && gone(self.plan.mute_a));
        let to = 1 - from;
        while self.ways[from].next().is_some_and(|time| time <= now) {
            let Some((_, bytes)) = self.ways[from].flying.pop_first() else { break };
            if !lost && Packet::parse(&bytes).is_ok() && self.seen[to].outcome.is_none() {
                let seen = &mut self.seen[to];
                seen.deaf = seen.deaf.max(Duration::from_nanos(now - seen.heard));
                seen.heard = now;
            }
            while !lost && self.storm <= STORM {
                let side = &mut self.sides[to];
                let over = matches!(side.engine.status(), Status::Over(_));
                let mut trace = Shown(shown(), to);
                let mut cx = Cx { now: at, trace: &mut trace };
                if over || side.engine.receive(&mut cx, &bytes) > 0 {
                    break;
                }
                settle(side, &mut self.seen[to], at, &mut self.ways[to], &mut self.storm);
                self.storm += 1;
            }
        }
    }

    /// The next moment at which something happens.
    fn next(&self) -> Option<u64> {
        let timers = self.sides.iter().filter_map(|side| side.engine.deadline());
        timers
            .map(|time| time.as_nanos().max(self.now + 1))
            .chain(self.ways.iter().filter_map(Direction::next))
            .chain(self.acts.iter().map(|act| nanos(act.0)))
            .chain(self.forged.iter().map(|act| nanos(act.0)))
            .min()
    }
}

/// Runs two sides until both are over.
pub(crate) fn run<'a>(path: &Path, plan: &Plan, a: Side<'a>, b: Side<'a>) -> Report {
    let mut run = Run {
        plan,
        sides: [a, b],
        seen: [Seen::default(), Seen::default()],
        ways: [Direction::new(path, "forward", true), Direction::new(path, "back", false)],
        acts: plan.acts.clone(),
        forged: plan.forged.clone(),
        now: 0,
        storm: 0,
    };
    let mut report = Report::default();
    let limit = nanos(plan.limit.unwrap_or(Duration::from_secs(36_000)));
    let every = nanos(plan.every.unwrap_or(Duration::from_millis(100)));
    let mut next_point = 0;
    loop {
        run.storm = 0;
        run.follow_plan();
        for index in 0..2 {
            run.deliver(index);
        }
        for index in 0..2 {
            let Run { sides, seen, ways, storm, now, .. } = &mut run;
            settle(&mut sides[index], &mut seen[index], Instant(*now), &mut ways[index], storm);
        }
        if run.now >= next_point {
            let came = run.sides[1].engine.stats().file_bytes;
            report.curve.push((Duration::from_nanos(run.now), came));
            next_point = run.now + every;
        }
        report.storm = run.storm > STORM;
        if report.storm || run.seen.iter().all(|seen| seen.over) {
            break;
        }
        let Some(next) = run.next() else { break };
        run.now = next.max(run.now).min(limit);
        if next > limit {
            break;
        }
    }
    for index in 0..2 {
        run.seen[index].stats = *run.sides[index].engine.stats();
    }
    report.curve.push((Duration::from_nanos(run.now), run.seen[1].stats.file_bytes));
    report.elapsed = Duration::from_nanos(run.now);
    let (max, sum, count) = run.ways[0].waited;
    report.waited_max = Duration::from_nanos(max);
    report.waited_mean = Duration::from_nanos(sum / count.max(1));
    report.dropped = run.ways[0].dropped;
    report.packets = [run.ways[0].count, run.ways[1].count];
    [report.a, report.b] = run.seen;
    report
}

/// A sender in memory of its own.
pub(crate) fn sender(config: &Config) -> Sender<Vec<u8>> {
    let memory = vec![0; config.sender_memory()];
    Sender::new(config.clone(), memory).expect("the memory is what the configuration says")
}

/// A receiver in memory of its own.
pub(crate) fn receiver(config: &Config) -> Receiver<Vec<u8>> {
    let memory = vec![0; config.receiver_memory()];
    Receiver::new(config.clone(), memory).expect("the memory is what the configuration says")
}

/// The two ends of a transfer: the sender opens for WRITE, or the receiver for READ.
pub(crate) fn ends(config: &Config, write: bool) -> (Config, Config) {
    let active =
        Config { role: Role::Active, local_port: 4096, foreign_port: 7000, ..config.clone() };
    let passive = Config { role: Role::Passive, local_port: 7000, ..config.clone() };
    if write { (active, passive) } else { (passive, active) }
}
