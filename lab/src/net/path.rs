//! A routed path: a bottleneck with a queue that overflows, delay with jitter, and losses.
//!
//! ```text
//!          policer             queue           bottleneck        loss      delay + jitter
//! offer -> tokens? -> full? -> [][][][] ------> rate ----------> gone? --> ..............> emit
//!            |          |         ^
//!         dropped    dropped      the traffic of others
//! ```
//!
//! Each direction has its own. Words, after `path:`:
//!
//! | word | meaning | unless given |
//! |---|---|---|
//! | `rate=1.5M` | the bottleneck, bit/s; `1.5M/128k`: another from B to A; 0: no time at all | 0 |
//! | `delay=34ms` | one way, after the bottleneck | 0 |
//! | `rtt=69ms` | both ways together: half of it is the delay | 0 |
//! | `queue=20p` | packets (`p`) or bytes (`32K`) that may wait, the one under way not counted; `rtt`: what the bottleneck carries in twice the delay, but at least 20 packets of 1500 bytes | no limit |
//! | `police=1M` | a policer: a token bucket without a queue, bit/s; what finds too few tokens is lost | none |
//! | `bucket=16K` | bytes that the policer's bucket holds; it is full at the beginning | `15000` |
//! | `loss=0.1%` | chance of each packet to be lost behind the bottleneck | 0 |
//! | `lossrun=8` | lost packets come in runs of this mean length (Gilbert) | 1 |
//! | `jitter=5ms` | maximum additional delay, drawn for each packet; their order stays | 0 |
//! | `stall=8ms@50ms` | every 50 ms on average nothing is handed over for up to 8 ms, and then all at once, as by a busy host or a radio that slept | none |
//! | `reorder=1%@5ms` | chance that a packet is held back for this long, and overtaken; `1%@rtt/4`: for a part of twice the delay | none |
//! | `dup=0.01%` | chance that a packet is duplicated | 0 |
//! | `cross=60%` | share of the bottleneck offered by cross traffic; `40%-90%@5s`: redrawn every 5 s | 0 |
//! | `overhead=20` | bytes of framing per packet on the bottleneck | 0 |
//! | `mtu=1500` | longer packets are lost | 65535 |
//! | `dir=fwd` | which directions `loss`, `reorder`, `dup`, `cross` harm | `both` |
//! | `seed=7` | random seed | 1 |
//!
//! Cross traffic is open loop: it does not slow down when packets are lost. A sender is never blocked here;
//! what finds the queue full is lost, as in a router.

use super::chance::{Coin, Load, Loss, Stalls, Traffic};
use super::flight::{Flight, Wire};
use super::parse::{BadNet, Param, Shown, ShownRate, ShownSize, time, words};
use crate::element::{Element, End, Unit, Usage};
use crate::random::Random;
use crate::serial::{Direction, Probability};
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant, TraceEvent};

/// Queue limit of the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Queue {
    /// Any number.
    #[default]
    Unlimited,
    /// This many packets.
    Packets(u64),
    /// This many bytes, framing included.
    Bytes(u64),
}

/// Times in which nothing is handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stall {
    /// How long one lasts at most.
    pub longest: Duration,
    /// From one to the next, on average.
    pub every: Duration,
}

/// Reordered packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reorder {
    /// Chance of each packet.
    pub chance: Probability,
    /// For how long.
    pub by: Duration,
}

/// Description of a routed path. See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathModel {
    /// Bit/s of the bottleneck; 0 if it takes no time.
    pub rate_bps: u64,
    /// Bit/s from B to A, if different.
    pub reverse_rate_bps: Option<u64>,
    /// One way.
    pub delay: Duration,
    /// Queue limit.
    pub queue: Queue,
    /// Bit/s of the policer; 0 if there is none.
    pub police_bps: u64,
    /// Bytes that the policer's bucket holds.
    pub bucket_bytes: u64,
    /// Chance that a packet is lost.
    pub loss: Probability,
    /// Mean number of packets lost in a row; 1 for independent losses.
    pub loss_run: u64,
    /// Maximum additional delay.
    pub jitter: Duration,
    /// When nothing is handed over.
    pub stall: Stall,
    /// Packets that are overtaken.
    pub reorder: Reorder,
    /// Chance that a packet is duplicated.
    pub duplicate: Probability,
    /// Cross traffic.
    pub cross: Load,
    /// Bytes of framing per packet on the bottleneck.
    pub overhead_bytes: u64,
    /// Longest packet in bytes.
    pub mtu_bytes: u64,
    /// Directions with faults.
    pub direction: Direction,
    /// The random seed.
    pub seed: u64,
}

impl Default for PathModel {
    fn default() -> Self {
        Self {
            rate_bps: 0,
            reverse_rate_bps: None,
            delay: Duration::ZERO,
            queue: Queue::Unlimited,
            police_bps: 0,
            bucket_bytes: BUCKET_BYTES,
            loss: Probability::NEVER,
            loss_run: 1,
            jitter: Duration::ZERO,
            stall: Stall::default(),
            reorder: Reorder::default(),
            duplicate: Probability::NEVER,
            cross: Load::default(),
            overhead_bytes: 0,
            mtu_bytes: 65_535,
            direction: Direction::Both,
            seed: 1,
        }
    }
}

const NAME: &str = "path";
const KEYS: &str = "one of rate, delay, rtt, queue, police, bucket, loss, lossrun, jitter, stall, \
                    reorder, dup, cross, overhead, mtu, dir, seed";
/// Default bucket of a policer: ten packets.
const BUCKET_BYTES: u64 = 15_000;
/// Values given in round trips.
const RTT: &str = "rtt";
/// Minimum of a queue of one round trip.
const LEAST_QUEUE_BYTES: u64 = 20 * 1500;

impl FromStr for PathModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        let words = words(NAME, text, Some("rate"))?;
        // Values in round trips are resolved once the delay is known.
        let in_round_trips = |word: &&Param<'_>| {
            matches!(word.key, "queue" | "reorder")
                && word.value().rsplit('@').next().is_some_and(|value| value.starts_with(RTT))
        };
        for word in words.iter().filter(|word| !in_round_trips(word)) {
            model.set(word)?;
        }
        for word in words.iter().filter(in_round_trips) {
            model.set_in_round_trips(word)?;
        }
        let rates = [Some(model.rate_bps), model.reverse_rate_bps];
        if model.cross.is_some() && rates.contains(&Some(0)) {
            let got = model.cross.to_string();
            return Err(BadNet::new(NAME, "cross", "a rate to have a share of", &got));
        }
        Ok(model)
    }
}

impl PathModel {
    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "rate" => (self.rate_bps, self.reverse_rate_bps) = word.rates()?,
            "delay" => self.delay = word.time()?,
            RTT => self.delay = word.time()? / 2,
            "queue" => {
                const QUEUE: &str = "packets such as 20p, or bytes such as 32K";
                self.queue = match word.value().strip_suffix('p') {
                    Some(count) => Queue::Packets(
                        count.parse().ok().filter(|n| *n <= 1 << 24).ok_or(word.bad(QUEUE))?,
                    ),
                    None => Queue::Bytes(word.size(0, 1 << 30).map_err(|_| word.bad(QUEUE))?),
                };
            }
            "police" => {
                const POLICE: &str = "bit/s above 0, such as 1M";
                self.police_bps = match word.rates() {
                    Ok((rate, None)) if rate > 0 => rate,
                    _ => return Err(word.bad(POLICE)),
                };
            }
            "bucket" => self.bucket_bytes = word.size(1, 1 << 30)?,
            "loss" => self.loss = word.chance()?,
            "lossrun" => self.loss_run = word.number("packets in a row, 1 to 10000", 1, 10_000)?,
            "jitter" => self.jitter = word.time()?,
            "stall" => {
                const STALL: &str = "TIME@TIME such as 8ms@50ms, both above 0";
                let parts = word.value().split_once('@').and_then(|(longest, every)| {
                    Some(Stall { longest: time(longest)?, every: time(every)? })
                });
                let some = |stall: &Stall| stall.longest.min(stall.every) > Duration::ZERO;
                self.stall = parts.filter(some).ok_or_else(|| word.bad(STALL))?;
            }
            "reorder" => {
                const REORDER: &str = "CHANCE@TIME such as 1%@5ms";
                let parts = word.value().split_once('@').and_then(|(chance, by)| {
                    Some(Reorder { chance: super::parse::chance(chance)?, by: time(by)? })
                });
                self.reorder = parts.ok_or_else(|| word.bad(REORDER))?;
            }
            "dup" => self.duplicate = word.chance()?,
            "cross" => {
                self.cross = Load::read(word.value()).ok_or_else(|| word.bad(Load::EXPECTED))?;
            }
            "overhead" => self.overhead_bytes = word.size(0, 65_535)?,
            "mtu" => self.mtu_bytes = word.size(1, 65_535)?,
            "dir" => {
                self.direction = match word.value() {
                    "fwd" => Direction::Forward,
                    "rev" => Direction::Reverse,
                    "both" => Direction::Both,
                    _ => return Err(word.bad("fwd, rev or both")),
                };
            }
            "seed" => self.seed = word.seed()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }

    /// Both ways together, without the time at the bottleneck.
    pub fn round_trip(&self) -> Duration {
        self.delay * 2
    }

    /// What the bottleneck carries in a round trip, in bytes.
    pub fn product_bytes(&self) -> u64 {
        let bits = u128::from(self.rate_bps) * self.round_trip().as_nanos() / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }

    fn set_in_round_trips(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        const QUEUE: &str = "packets such as 20p, bytes such as 32K, or rtt";
        const REORDER: &str = "CHANCE@TIME such as 1%@5ms, or a part of a round trip: 1%@rtt/4";
        if word.key == "queue" {
            let is_whole = word.value() == RTT;
            let bytes = self.product_bytes().max(LEAST_QUEUE_BYTES);
            let fits = is_whole && bytes <= 1 << 30 && self.rate_bps > 0;
            self.queue = fits.then_some(Queue::Bytes(bytes)).ok_or_else(|| word.bad(QUEUE))?;
            return Ok(());
        }
        let parts = word.value().split_once('@').and_then(|(chance, by)| {
            let part: u32 = by.strip_prefix("rtt/")?.parse().ok().filter(|part| *part > 0)?;
            Some(Reorder { chance: super::parse::chance(chance)?, by: self.round_trip() / part })
        });
        self.reorder = parts.ok_or_else(|| word.bad(REORDER))?;
        Ok(())
    }

    /// The rate of what is offered at `end`, in bit/s; 0 if it takes no time.
    pub const fn rate_from(&self, end: End) -> u64 {
        match (end, self.reverse_rate_bps) {
            (End::B, Some(rate)) => rate,
            _ => self.rate_bps,
        }
    }
}

impl fmt::Display for PathModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "path:rate={}", ShownRate(self.rate_bps))?;
        if let Some(rate) = self.reverse_rate_bps {
            write!(f, "/{}", ShownRate(rate))?;
        }
        if self.delay != usual.delay {
            write!(f, ",delay={}", Shown(self.delay))?;
        }
        match self.queue {
            Queue::Unlimited => {}
            Queue::Packets(count) => write!(f, ",queue={count}p")?,
            Queue::Bytes(bytes) => write!(f, ",queue={}", ShownSize(bytes))?,
        }
        if self.police_bps != usual.police_bps {
            write!(f, ",police={}", ShownRate(self.police_bps))?;
        }
        if self.bucket_bytes != usual.bucket_bytes {
            write!(f, ",bucket={}", ShownSize(self.bucket_bytes))?;
        }
        if self.loss != usual.loss {
            write!(f, ",loss={}", Shown(self.loss))?;
        }
        if self.loss_run != usual.loss_run {
            write!(f, ",lossrun={}", self.loss_run)?;
        }
        if self.jitter != usual.jitter {
            write!(f, ",jitter={}", Shown(self.jitter))?;
        }
        if self.stall != usual.stall {
            let Stall { longest, every } = self.stall;
            write!(f, ",stall={}@{}", Shown(longest), Shown(every))?;
        }
        if self.reorder != usual.reorder {
            write!(f, ",reorder={}@{}", Shown(self.reorder.chance), Shown(self.reorder.by))?;
        }
        if self.duplicate != usual.duplicate {
            write!(f, ",dup={}", Shown(self.duplicate))?;
        }
        if self.cross.is_some() {
            write!(f, ",cross={}", self.cross)?;
        }
        if self.overhead_bytes != usual.overhead_bytes {
            write!(f, ",overhead={}", self.overhead_bytes)?;
        }
        if self.mtu_bytes != usual.mtu_bytes {
            write!(f, ",mtu={}", self.mtu_bytes)?;
        }
        f.write_str(match self.direction {
            Direction::Both => "",
            Direction::Forward => ",dir=fwd",
            Direction::Reverse => ",dir=rev",
        })?;
        if self.seed != usual.seed {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}

/// A routed path with its two directions.
#[derive(Clone, Debug)]
pub struct Path {
    model: PathModel,
    ways: [DirectionState; 2],
    /// Extra bytes per packet, which identify its flow.
    tag: usize,
}

/// A token bucket without a queue: what finds too few tokens is dropped.
#[derive(Clone, Copy, Debug)]
struct Policer {
    rate_bps: u64,
    /// Tokens, in parts of a byte (8 * 10^9 of them), and how many the bucket holds.
    tokens: u128,
    most: u128,
    /// When tokens were added last.
    since: u64,
}

/// Parts of a byte: what a bit/s brings in a nanosecond.
const PARTS: u128 = 8_000_000_000;

impl Policer {
    fn new(model: &PathModel) -> Option<Self> {
        let most = u128::from(model.bucket_bytes) * PARTS;
        let policer = Self { rate_bps: model.police_bps, tokens: most, most, since: 0 };
        (model.police_bps > 0).then_some(policer)
    }

    /// Whether a packet of this many bytes conforms; its tokens are taken.
    fn takes(&mut self, now: u64, bytes: u64) -> bool {
        let fresh = u128::from(now - self.since) * u128::from(self.rate_bps);
        self.tokens = (self.tokens + fresh).min(self.most);
        self.since = now;
        let left = self.tokens.checked_sub(u128::from(bytes) * PARTS);
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }
}

#[derive(Clone, Debug)]
struct DirectionState {
    policer: Option<Policer>,
    wire: Wire,
    /// When those that wait or are under way leave the bottleneck, and their bytes on it.
    leaving: VecDeque<(u64, u64)>,
    leaving_bytes: u64,
    traffic: Traffic,
    loss: Loss,
    jitter: Coin,
    stalls: Stalls,
    reorder: Coin,
    duplicate: Coin,
    flight: Flight,
    /// When the last one that kept its place arrives.
    last: u64,
    count: u64,
    usage: Usage,
}

impl DirectionState {
    fn new(model: &PathModel, name: &str, end: End) -> Self {
        let way = if end == End::A { "fwd" } else { "rev" };
        let stream = |what: &str| Random::stream(model.seed, name, &format!("{what} {way}"));
        let harmed = model.direction.includes(end);
        let only = |chance| if harmed { chance } else { Probability::NEVER };
        let load = if harmed { model.cross } else { Load::default() };
        let rate_bps = model.rate_from(end);
        Self {
            policer: Policer::new(model),
            wire: Wire::new(rate_bps),
            leaving: VecDeque::new(),
            leaving_bytes: 0,
            traffic: Traffic::new(load, rate_bps, |len| len, (model.seed, name, way)),
            loss: Loss::new(only(model.loss), model.loss_run, stream("loss")),
            jitter: Coin::new(Probability::NEVER, stream("jitter")),
            stalls: Stalls::new(model.stall.longest, model.stall.every, stream("stall")),
            reorder: Coin::new(only(model.reorder.chance), stream("reorder")),
            duplicate: Coin::new(only(model.duplicate), stream("dup")),
            flight: Flight::new(),
            last: 0,
            count: 0,
            usage: Usage::default(),
        }
    }

    /// Queues a packet of this many bytes at `now`; returns when it leaves the bottleneck.
    fn queue(&mut self, queue: Queue, now: u64, bytes: u64) -> Option<u64> {
        while let Some((at, bytes)) = self.leaving.front().copied() {
            if at > now {
                break;
            }
            self.leaving.pop_front();
            self.leaving_bytes -= bytes;
        }
        // The first is not queued: it is in transit.
        let under_way = self.leaving.front().map_or(0, |(_, bytes)| *bytes);
        let waiting = self.leaving.len().saturating_sub(1) as u64;
        let free = self.leaving.is_empty();
        let room = match queue {
            Queue::Unlimited => true,
            Queue::Packets(most) => free || waiting < most,
            Queue::Bytes(most) => free || self.leaving_bytes - under_way + bytes <= most,
        };
        if !room {
            return None;
        }
        let at = self.wire.carry(now, bytes * 8);
        self.leaving.push_back((at, bytes));
        self.leaving_bytes += bytes;
        Some(at)
    }

    /// Queues cross traffic up to `now`.
    fn cross(&mut self, queue: Queue, now: u64) {
        while self.traffic.next() <= now {
            let at = self.traffic.next();
            let bytes = self.traffic.take();
            self.queue(queue, at, bytes);
        }
    }
}

fn note(cx: &mut Cx<'_>, names: [&'static str; 2], end: End, value: u64) {
    if cx.trace.enabled() {
        cx.trace.record(cx.now, &TraceEvent::Value { name: names[end.index()], value });
    }
}

impl Path {
    /// A path of this model.
    pub fn new(model: &PathModel) -> Self {
        Self::named(model, NAME)
    }

    /// A path of this model with a name of its own, so that two paths of one seed differ.
    pub fn named(model: &PathModel, name: &str) -> Self {
        Self {
            model: model.clone(),
            ways: End::BOTH.map(|end| DirectionState::new(model, name, end)),
            tag: 0,
        }
    }

    /// The last byte of each packet identifies its flow, and takes no room.
    pub(crate) fn tagged(self) -> Self {
        Self { tag: 1, ..self }
    }
}

impl Element for Path {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let now = cx.now.as_nanos();
        let way = &mut self.ways[end.index()];
        way.cross(self.model.queue, now);
        let index = way.count;
        way.count += 1;
        let len = bytes.len();
        way.usage.bytes_in += len as u64;
        let line = (len - self.tag) as u64 + self.model.overhead_bytes;
        if (len - self.tag) as u64 > self.model.mtu_bytes {
            way.usage.dropped_bytes += len as u64;
            note(cx, ["too_long_fwd", "too_long_rev"], end, index);
            return len;
        }
        if way.policer.as_mut().is_some_and(|policer| !policer.takes(now, line)) {
            way.usage.dropped_bytes += len as u64;
            note(cx, ["policed_fwd", "policed_rev"], end, index);
            return len;
        }
        let Some(left) = way.queue(self.model.queue, now, line) else {
            way.usage.dropped_bytes += len as u64;
            note(cx, ["queue_full_fwd", "queue_full_rev"], end, index);
            return len;
        };
        way.usage.queued_packets += 1;
        way.usage.queued_ns += left.saturating_sub(now + way.wire.time_of(line * 8));
        way.usage.bits += line * 8;
        way.usage.busy_ns = way.wire.time_of(way.usage.bits);
        // Every packet draws its fate, lost or not, so that one kind of fault does not affect another.
        let lost = way.loss.hit();
        let back = way.reorder.toss();
        let twice = way.duplicate.toss();
        let jitter = match self.model.jitter.as_nanos() {
            0 => 0,
            most => way.jitter.upto(u64::try_from(most).unwrap_or(u64::MAX)),
        };
        if lost {
            way.usage.dropped_bytes += len as u64;
            note(cx, ["loss_fwd", "loss_rev"], end, index);
            return len;
        }
        let delay = u64::try_from(self.model.delay.as_nanos()).unwrap_or(u64::MAX);
        let mut due = left.saturating_add(delay).saturating_add(jitter).max(way.last);
        due = way.stalls.after(due);
        if back {
            let by = u64::try_from(self.model.reorder.by.as_nanos()).unwrap_or(u64::MAX);
            due = due.saturating_add(by);
            note(cx, ["reorder_fwd", "reorder_rev"], end, index);
        } else {
            way.last = due;
        }
        way.flight.put(due, bytes);
        if twice {
            way.flight.put(due, bytes);
            way.usage.duplicated_bytes += len as u64;
            note(cx, ["dup_fwd", "dup_rev"], end, index);
        }
        len
    }

    fn next(&self, end: End) -> Option<Instant> {
        self.ways[end.other().index()].flight.next().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let way = &mut self.ways[end.other().index()];
        way.flight.emit(cx.now.as_nanos(), &mut way.usage, into)
    }

    fn room(&self, _: End) -> Option<Instant> {
        None
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.ways[end.index()].usage
    }

    fn calm(&mut self) {
        for way in &mut self.ways {
            way.loss.never();
            way.reorder.never();
            way.duplicate.never();
        }
    }
}
