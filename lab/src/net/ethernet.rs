//! A shared Ethernet: two stations and others on one half duplex cable, with carrier sense and
//! collisions.
//!
//! ```text
//! | preamble 8 | header 14 | 46 to 1500 bytes, padded | check 4 | gap 12 |
//! ```
//!
//! [IEEE 802.3-1985 §4.2, 4.4.2.1: preamble with start delimiter 64 bits, least frame 512 bits,
//! gap 96 bit times, slot 512 bit times, jam 32 bits, 16 attempts, backoff limit 10.]
//!
//! A station that has a frame waits until the cable has been idle for the gap, then sends at once. Another one
//! that begins before the signal has reached it (`span`) collides: both jam, and each waits for a random number
//! of slots, out of twice as many after each attempt. Stations that waited for the same frame to end therefore
//! always collide. Cross traffic comes from stations with one frame each. It is computed as time advances, and
//! does not depend on how often the element is called.
//!
//! Parameters, after `ethernet:`:
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `rate=10M` (or first, alone) | bit/s | 10M |
//! | `load=30%` | share of the cable offered by cross traffic; `10%-50%@5s`: redrawn every 5 s | 0 |
//! | `span=5us` | time from one end of the cable to the other, repeaters included | 5 us |
//! | `queue=50` | frames that the sending side of a station takes ahead | 50 |
//! | `mtu=1500` | longer packets are lost | 1500 |
//! | `seed=7` | random seed | 1 |

use super::chance::{Load, Traffic};
use super::flight::Wire;
use super::parse::{BadNet, Param, Shown, ShownRate, words};
use super::station::Station;
use crate::element::{Element, End, Unit, Usage};
use crate::random::Random;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant, TraceEvent};

/// Bytes of a frame around its packet, preamble included.
const AROUND: u64 = 8 + 14 + 4;
/// Minimum bytes of a packet; a shorter one is padded.
const LEAST: u64 = 46;
pub(crate) const GAP_BITS: u64 = 96;
const SLOT_BITS: u64 = 512;
/// Preamble and jam: the shortest remainder of a collision on the cable.
const FRAGMENT_BITS: u64 = 64 + 32;
const ATTEMPTS: u32 = 16;
const BACKOFF_LIMIT: u32 = 10;
/// Maximum other stations that wait at the same time; a real cable has as many stations.
const OTHERS_MAX: usize = 64;

/// Description of a shared Ethernet. See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EthernetModel {
    /// Bit/s.
    pub rate_bps: u64,
    /// Cross traffic.
    pub load: Load,
    /// From one end of the cable to the other.
    pub span: Duration,
    /// Frames that a station takes ahead.
    pub queue: usize,
    /// Longest packet in bytes.
    pub mtu_bytes: u64,
    /// The random seed.
    pub seed: u64,
}

impl Default for EthernetModel {
    fn default() -> Self {
        Self {
            rate_bps: 10_000_000,
            load: Load::default(),
            span: Duration::from_micros(5),
            queue: 50,
            mtu_bytes: 1500,
            seed: 1,
        }
    }
}

const NAME: &str = "ethernet";
const KEYS: &str = "one of rate, load, span, queue, mtu, seed";

impl FromStr for EthernetModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        for word in words(NAME, text, Some("rate"))? {
            model.set(&word)?;
        }
        Ok(model)
    }
}

impl EthernetModel {
    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "rate" => {
                self.rate_bps = word.rate()?;
                if self.rate_bps == 0 {
                    return Err(word.bad("a rate above 0 such as 10M"));
                }
            }
            "load" => {
                self.load = Load::read(word.value()).ok_or_else(|| word.bad(Load::EXPECTED))?;
            }
            "span" => self.span = word.time()?,
            "queue" => self.queue = word.number("1 to 10000 frames", 1, 10_000)? as usize,
            "mtu" => self.mtu_bytes = word.size(46, 65_535)?,
            "seed" => self.seed = word.seed()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }

    /// Bits on the cable of a packet of this many bytes, the gap not included.
    pub const fn frame_bits(bytes: u64) -> u64 {
        let padded = if bytes < LEAST { LEAST } else { bytes };
        (padded + AROUND) * 8
    }
}

impl fmt::Display for EthernetModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "ethernet:{}", ShownRate(self.rate_bps))?;
        if self.load.is_some() {
            write!(f, ",load={}", self.load)?;
        }
        if self.span != usual.span {
            write!(f, ",span={}", Shown(self.span))?;
        }
        if self.queue != usual.queue {
            write!(f, ",queue={}", self.queue)?;
        }
        if self.mtu_bytes != usual.mtu_bytes {
            write!(f, ",mtu={}", self.mtu_bytes)?;
        }
        if self.seed != usual.seed {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}

/// A frame to send.
#[derive(Clone, Copy, Debug)]
struct Wish {
    /// Not before.
    ready: u64,
    attempts: u32,
    bits: u64,
}

/// One of our two stations, and the frame that it wants to send next.
#[derive(Clone, Debug)]
struct Sender {
    station: Station,
    wish: Option<Wish>,
    backoff: Random,
}

/// A shared Ethernet between two stations.
#[derive(Clone, Debug)]
pub struct Ethernet {
    cable: Wire,
    span: u64,
    senders: [Sender; 2],
    others: Vec<Wish>,
    others_backoff: Random,
    traffic: Traffic,
    collisions: u64,
}

/// Whether a station begins together with the first: at the same time, or before it can hear it.
fn within(wish: &Wish, idle: u64, begins: u64, decided: u64) -> bool {
    let start = wish.ready.max(idle);
    start <= begins || start < decided
}

impl Ethernet {
    /// An Ethernet of this model.
    pub fn new(model: &EthernetModel) -> Self {
        Self::named(model, NAME)
    }

    /// An Ethernet of this model with a name of its own, so that two of one seed differ.
    pub fn named(model: &EthernetModel, name: &str) -> Self {
        let wire = |len: u64| EthernetModel::frame_bits(len) / 8 + GAP_BITS / 8;
        let stream = |what: &str| Random::stream(model.seed, name, what);
        let sender = |way: &str| Sender {
            station: Station::new(model.queue, model.mtu_bytes),
            wish: None,
            backoff: stream(&format!("backoff {way}")),
        };
        Self {
            cable: Wire::new(model.rate_bps),
            span: u64::try_from(model.span.as_nanos()).unwrap_or(u64::MAX),
            senders: [sender("fwd"), sender("rev")],
            others: Vec::new(),
            others_backoff: stream("backoff load"),
            traffic: Traffic::new(model.load, model.rate_bps, wire, (model.seed, name, "load")),
            collisions: 0,
        }
    }

    /// How often frames have collided.
    pub fn collisions(&self) -> u64 {
        self.collisions
    }

    /// When the result of the next frame is known.
    fn decision(&self) -> Option<u64> {
        let own = self.senders.iter().filter_map(|sender| sender.wish);
        let ready = own.chain(self.others.iter().copied()).map(|wish| wish.ready).min();
        let ready = ready.unwrap_or(u64::MAX).min(self.traffic.next());
        let begins = (ready != u64::MAX).then(|| ready.max(self.cable.free_at()))?;
        Some(begins.saturating_add(self.span))
    }

    /// Processes all events that are decided by `now`.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        while self.contend(cx) {}
    }

    /// The next contention; false if its result is not known yet.
    fn contend(&mut self, cx: &mut Cx<'_>) -> bool {
        let Some(decided) = self.decision().filter(|at| *at <= cx.now.as_nanos()) else {
            return false;
        };
        let idle = self.cable.free_at();
        let mut begins = decided.saturating_sub(self.span);
        while self.traffic.next() <= begins || self.traffic.next() < decided {
            let ready = self.traffic.next();
            let bits = self.traffic.take() * 8 - GAP_BITS;
            if self.others.len() < OTHERS_MAX {
                self.others.push(Wish { ready, attempts: 0, bits });
            }
        }
        let within = |wish: &Wish| within(wish, idle, begins, decided);
        let own = End::BOTH.map(|end| self.senders[end.index()].wish.as_ref().is_some_and(within));
        let others = self.others.iter().filter(|wish| within(wish)).count();
        let senders = others + own.iter().filter(|sends| **sends).count();
        if senders > 1 {
            self.collide(cx, begins, decided, own);
            return true;
        }
        if let Some(end) = End::BOTH.into_iter().find(|end| own[end.index()]) {
            self.send(end, begins);
            return true;
        }
        // Another station, or none if their table was full.
        if let Some(index) = self.others.iter().position(within) {
            let wish = self.others.swap_remove(index);
            begins = begins.max(wish.ready);
            self.cable.carry(begins, wish.bits);
            self.cable.carry(begins, GAP_BITS);
        }
        true
    }

    /// Station `end` has the cable.
    fn send(&mut self, end: End, begins: u64) {
        let sender = &mut self.senders[end.index()];
        let Some(wish) = sender.wish.take() else { return };
        let sent = self.cable.carry(begins, wish.bits);
        sender.station.sent(&self.cable, wish.bits, sent.saturating_add(self.span));
        sender.wish_next(sent);
        self.cable.carry(begins, GAP_BITS);
    }

    /// Frames that began together destroy each other.
    fn collide(&mut self, cx: &mut Cx<'_>, begins: u64, decided: u64, own: [bool; 2]) {
        self.collisions += 1;
        let idle = self.cable.free_at();
        self.cable.hold(decided);
        let ends = self.cable.carry(decided, FRAGMENT_BITS);
        self.cable.carry(decided, GAP_BITS);
        let slot = self.cable.time_of(SLOT_BITS);
        let again = |wish: &mut Wish, random: &mut Random| {
            wish.attempts += 1;
            let exponent = wish.attempts.min(BACKOFF_LIMIT);
            wish.ready = ends.saturating_add(random.below(1 << exponent) * slot);
            wish.attempts < ATTEMPTS
        };
        for end in End::BOTH.into_iter().filter(|end| own[end.index()]) {
            let sender = &mut self.senders[end.index()];
            let Some(wish) = &mut sender.wish else { continue };
            let value = sender.station.first_index();
            let mut note = |names: [&'static str; 2]| {
                if cx.trace.enabled() {
                    let name = names[end.index()];
                    cx.trace.record(Instant(ends), &TraceEvent::Value { name, value });
                }
            };
            note(["collision_fwd", "collision_rev"]);
            if !again(wish, &mut sender.backoff) {
                note(["excessive_collisions_fwd", "excessive_collisions_rev"]);
                // Excessive collisions: the frame is dropped.
                sender.station.give_up();
                sender.wish_next(ends);
            }
        }
        let random = &mut self.others_backoff;
        self.others.retain_mut(|wish| !within(wish, idle, begins, decided) || again(wish, random));
    }
}

impl Sender {
    /// The next frame wants the cable, from `ready` on.
    fn wish_next(&mut self, ready: u64) {
        self.wish = self.station.first().map(|(_, len)| Wish {
            ready,
            attempts: 0,
            bits: EthernetModel::frame_bits(len as u64),
        });
    }
}

impl Element for Ethernet {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let sender = &mut self.senders[end.index()];
        let too_long = ["too_long_fwd", "too_long_rev"][end.index()];
        let taken = sender.station.offer(cx, bytes, too_long);
        if sender.wish.is_none() {
            sender.wish_next(cx.now.as_nanos());
        }
        taken
    }

    fn next(&self, end: End) -> Option<Instant> {
        let from = &self.senders[end.other().index()];
        let decides = self.decision().filter(|_| from.wish.is_some());
        from.station.arrives().into_iter().chain(decides).min().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        self.senders[end.other().index()].station.emit(cx.now.as_nanos(), into)
    }

    fn room(&self, end: End) -> Option<Instant> {
        self.senders[end.index()].station.room(self.decision())
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.senders[end.index()].station.usage
    }
}
