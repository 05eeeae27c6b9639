//! Telebit's PEP: two modems that use one channel in turns, with packets of three lengths.
//!
//! ```text
//! host A -> [buffer] -> micro, short or long packets --turn--> [in order] -> host B
//!        <- [in order] <--turn-- micro, short or long packets <- [buffer] <-
//! ```
//!
//! The modem with the turn sends at least one packet, even without data, and at most `most`; it passes the turn
//! when it has nothing more. The data available when a packet begins decides its length: a micro packet if the
//! characters fit into one and `s120=0`, else a short one, else a long one. The first long packet after a turn
//! without one costs `calibrate` more. Noise hits packets; the other side reports them with its turn, and they
//! are retransmitted before anything new. So an answer that is two characters too long for a micro packet costs
//! a short one, which is the subject of SLIP on Telebit (1989).
//!
//! The description as text, [`PepModel`], such as `pep:dte=19200,s120=12`:
//!
//! | parameter | meaning | default | source |
//! |---|---|---|---|
//! | `dte=19200` | bit/s between host and modem; `19200/9600` at A and B | 19200 | SLIP on Telebit (1989) |
//! | `s120=0` | 0: packets of all lengths; 12: no micro packets | 0 | SLIP on Telebit (1989): "seems to disable microshort PEP packets" |
//! | `micro=9` | characters of a micro packet, which takes 11.33 ms | 9 | SLIP on Telebit (1989): "the first 9 bytes in a microshort"; Telebit Q&A: 88.26 a second |
//! | `short=25` | characters of a short packet, which takes 22 ms | 25 | SLIP on Telebit (1989): "25 or so"; May 1988 |
//! | `long=250` | characters of a long packet, which takes 136 ms | 250 | SLIP on Telebit (1989): "~250 bytes"; PEP paper: 128 and 8 ms |
//! | `most=12` | packets of one turn | 12 | May 1988: 12 packets, about 1630 ms |
//! | `micros=1` | with `s120=0`: no packet is short; instead this many micro packets per turn | there are short packets | SLIP on Telebit (1989), the second of two guesses |
//! | `spoof=uucp` | the modem answers its host's UUCP `g` itself (S111): `uucp` or `none` | none | Telebit's manuals, second hand; `spoof.rs` |
//! | `calibrate=136ms` | before the first long packet after a turn without one | 136 ms | May 1988 |
//! | `gap=11330us` | from one side's last packet to the other's first | 11.33 ms | derived: May 1988 has 15 exchanges of 22 ms packets a second |
//! | `flow=rtscts`, `reaction=1ms`, `buffer=2048`, `rxbuf=4096` | as of [`super`] | | assumed |
//! | `ber=1e-5`, `dir=fwd`, `seed=7` | noise, by bits of the packets (2000 of a long one) | none | |
//!
//! Not modelled: the choice of carriers and their fall-back, `burst=`, the modem's own Kermit, XMODEM and
//! YMODEM.

mod model;
mod spoof;

pub use model::PepModel;

use super::line::BitNoise;
use crate::element::{Element, End, Usage};
use crate::serial::Probability;
use crate::serial::flow::{Link, nanos};
use spoof::Spoof;
use std::collections::{BTreeMap, VecDeque};
use wetstring_proto::{Cx, Instant, TraceEvent};

/// How long a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// 11.33 ms.
    Micro,
    /// 22 ms.
    Short,
    /// 136 ms.
    Long,
}

impl Kind {
    /// Nanoseconds of the channel.
    pub const fn time_ns(self) -> u64 {
        match self {
            Self::Micro => 11_330_000,
            Self::Short => 22_000_000,
            Self::Long => 136_000_000,
        }
    }

    /// Bits of the channel that noise may hit: 2000 of a long packet (May 1988), others by their time.
    const fn bits(self) -> u64 {
        self.time_ns() * 2000 / Self::Long.time_ns()
    }
}

/// What one direction has carried. Counters only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PepStats {
    /// Packets sent, micro, short and long.
    pub packets: [u64; 3],
    /// Of these, those without data.
    pub empty: u64,
    /// Packets that noise hit.
    pub damaged: u64,
    /// Turns.
    pub turns: u64,
    /// Calibrations.
    pub calibrations: u64,
    /// Characters that arrived.
    pub characters: u64,
    /// Nanoseconds of the channel.
    pub busy_ns: u64,
    /// Of these, the shares of packets in which characters were, and the rest of those packets.
    pub filled_ns: u64,
    /// See [`PepStats::filled_ns`].
    pub unfilled_ns: u64,
    /// Packets without data.
    pub empty_ns: u64,
    /// Packets that noise hit, whatever was in them.
    pub damaged_ns: u64,
    /// Calibrations.
    pub calibrate_ns: u64,
    /// From the end of this side's turns to the begin of the other's; not in `busy_ns`.
    pub gap_ns: u64,
}

impl PepStats {
    /// Where the time of a packet with `len` of `room` characters went.
    fn account(&mut self, kind: Kind, (len, room): (usize, usize), is_hit: bool) {
        let whole = kind.time_ns();
        let filled = whole * len as u64 / room.max(1) as u64;
        if is_hit {
            self.damaged_ns += whole;
        } else if len == 0 {
            self.empty_ns += whole;
        } else {
            self.filled_ns += filled.min(whole);
            self.unfilled_ns += whole.saturating_sub(filled);
        }
    }

    /// The times, in the order of the names.
    const fn times(&self) -> [u64; 6] {
        [
            self.filled_ns,
            self.unfilled_ns,
            self.empty_ns,
            self.damaged_ns,
            self.calibrate_ns,
            self.gap_ns,
        ]
    }
}

/// The names of the times in an account, see [`crate::slip::ledger`].
const TIMES: [[&str; 6]; 2] = [
    ["filled_fwd", "unfilled_fwd", "empty_fwd", "again_fwd", "calibrate_fwd", "gap_fwd"],
    ["filled_rev", "unfilled_rev", "empty_rev", "again_rev", "calibrate_rev", "gap_rev"],
];

/// Characters after which a modem with a `g` of its own looks at them: those of a header.
const HEARD: u64 = 6;

/// A packet with data.
#[derive(Clone, Debug)]
struct Packet {
    number: u64,
    bytes: Vec<u8>,
}

/// One modem.
#[derive(Clone, Debug)]
struct Modem {
    /// The first direction is the one from the host.
    host: Link,
    next_number: u64,
    /// Damaged packets: those of this turn, and those that the other side has reported.
    hit: Vec<Packet>,
    again: VecDeque<Packet>,
    /// A long packet was sent in the turn before, and in this one.
    long_before: bool,
    long_now: bool,
    /// What has arrived: the number that comes next, those behind it, and characters for the host.
    expected: u64,
    early: BTreeMap<u64, Vec<u8>>,
    out: VecDeque<u8>,
    /// The modem's own `g`, through which everything goes if it has one.
    spoof: Option<Box<Spoof>>,
    noise: BitNoise,
    bits: u64,
    stats: PepStats,
}

/// The state of the channel.
#[derive(Clone, Debug)]
struct OnAir {
    packet: Option<Packet>,
    is_hit: bool,
}

/// A pair of PEP modems with their hosts' lines, described by a [`PepModel`].
#[derive(Clone, Debug)]
pub struct PepPair {
    model: PepModel,
    modems: [Modem; 2],
    /// The end with the turn, and how many packets of it have begun.
    holder: End,
    sent: u64,
    /// Of these, micro packets.
    micros: u64,
    on_air: Option<OnAir>,
    /// When what is on the channel ends.
    free_at: u64,
    wake: u64,
    now: u64,
}

impl PepPair {
    /// A pair of this model, connected; A has the turn.
    pub fn new(model: &PepModel) -> Self {
        Self::named(model, "pep")
    }

    /// A pair with a name of its own, so that the noise of two pairs of one seed differs.
    pub fn named(model: &PepModel, name: &str) -> Self {
        let connected = |end: End| {
            let [to_modem, to_host] = model.host(end);
            let noisy = model.direction.includes(end);
            let chance = if noisy { model.bit_errors } else { Probability::NEVER };
            let way = if end == End::A { "fwd" } else { "rev" };
            // A packet's bits at its own rate; the rate only says how far a burst would reach.
            let rate = Kind::Long.bits() * 1_000_000_000 / Kind::Long.time_ns();
            Modem {
                host: Link::new(to_modem.way(), to_host.way()),
                next_number: 0,
                hit: Vec::new(),
                again: VecDeque::new(),
                long_before: false,
                long_now: false,
                expected: 0,
                early: BTreeMap::new(),
                out: VecDeque::new(),
                spoof: model.spoofs_uucp.then(|| Box::new(Spoof::new())),
                noise: BitNoise::new((chance, None), rate, model.seed, (name, way)),
                bits: 0,
                stats: PepStats::default(),
            }
        };
        let modems = End::BOTH.map(connected);
        let (model, holder) = (model.clone(), End::A);
        Self {
            model,
            modems,
            holder,
            sent: 0,
            micros: 0,
            on_air: None,
            free_at: 0,
            wake: 0,
            now: 0,
        }
    }

    /// The model.
    pub fn model(&self) -> &PepModel {
        &self.model
    }

    /// Statistics of what was offered at `end`.
    pub fn stats(&self, end: End) -> PepStats {
        self.modems[end.index()].stats
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        self.now = self.now.max(cx.now.as_nanos());
        while self.wake <= self.now {
            let at = self.wake;
            self.step(cx, at);
            self.plan();
        }
        for modem in &mut self.modems {
            modem.host.advance(self.now);
        }
    }

    /// Everything that happens at `at`.
    fn step(&mut self, cx: &mut Cx<'_>, at: u64) {
        for modem in &mut self.modems {
            modem.host.advance(at);
            modem.listen(at, self.model.buffer_bytes);
        }
        if self.free_at <= at {
            self.arrive(cx, at);
            self.go_on(at);
        }
        for modem in &mut self.modems {
            modem.deliver(at);
        }
    }

    fn plan(&mut self) {
        let hosts = self.modems.iter_mut().map(|modem| {
            let hands = if modem.has_out() { modem.host.ways[1].room() } else { None };
            let hears = modem.hears(self.model.buffer_bytes);
            modem.host.plan().min(hands.unwrap_or(u64::MAX)).min(hears)
        });
        let host = hosts.min().unwrap_or(u64::MAX);
        // Data for a host that has stopped us is resumed by the host's line.
        self.wake = host.max(self.now).min(self.free_at);
        if self.wake <= self.now && self.free_at > self.now {
            self.wake = self.now + 1;
        }
    }

    /// The packet on the channel has arrived.
    fn arrive(&mut self, cx: &mut Cx<'_>, at: u64) {
        let Some(OnAir { packet, is_hit }) = self.on_air.take() else { return };
        let from = self.holder;
        let [a, b] = &mut self.modems;
        let (near, far) = if from == End::A { (a, b) } else { (b, a) };
        if is_hit {
            near.stats.damaged += 1;
            near.hit.extend(packet);
            if cx.trace.enabled() {
                let event = TraceEvent::Damaged { why: "packet check", len: 1 };
                cx.trace.record(Instant(at), &event);
            }
            return;
        }
        let Some(packet) = packet else { return };
        near.stats.characters += packet.bytes.len() as u64;
        far.early.insert(packet.number, packet.bytes);
        while let Some(bytes) = far.early.remove(&far.expected) {
            match &mut far.spoof {
                Some(spoof) => spoof.hear_modem(at, &bytes),
                None => far.out.extend(bytes),
            }
            far.expected += 1;
        }
    }

    /// The next packet of the turn, or the turn for the other side.
    fn go_on(&mut self, at: u64) {
        let most = self.model.most;
        let far_waits = self.modems[self.holder.other().index()].waiting();
        let near = &mut self.modems[self.holder.index()];
        let ready = near.ready(far_waits < self.model.buffer_bytes);
        let micros_over = self.model.micros.is_some_and(|most| self.micros >= most);
        if self.sent > 0 && (ready == 0 || self.sent >= most || micros_over) {
            near.end_turn();
            near.stats.gap_ns += nanos(self.model.gap);
            self.holder = self.holder.other();
            self.sent = 0;
            self.micros = 0;
            // The other side's turn begins with its report of damaged packets.
            self.free_at = at.saturating_add(nanos(self.model.gap)).max(at + 1);
            return;
        }
        let kind = self.model.kind(ready);
        let packet = near.next_packet(at, ready.min(self.model.room(kind)));
        let calibrates = kind == Kind::Long && !near.long_before && !near.long_now;
        let calibrate = if calibrates { nanos(self.model.calibrate) } else { 0 };
        near.long_now |= kind == Kind::Long;
        near.stats.turns += u64::from(self.sent == 0);
        near.stats.calibrations += u64::from(calibrates);
        near.stats.packets[kind as usize] += 1;
        near.stats.empty += u64::from(packet.is_none());
        near.stats.busy_ns += kind.time_ns() + calibrate;
        let begin = near.bits;
        near.bits += kind.bits();
        let is_hit = near.noise.is_some() && !near.noise.hits(begin, near.bits).is_empty();
        let len = packet.as_ref().map_or(0, |packet| packet.bytes.len());
        near.stats.account(kind, (len, self.model.room(kind)), is_hit);
        near.stats.calibrate_ns += calibrate;
        self.sent += 1;
        self.micros += u64::from(kind == Kind::Micro);
        self.on_air = Some(OnAir { packet, is_hit });
        self.free_at = at.saturating_add(kind.time_ns() + calibrate);
    }
}

impl Modem {
    /// Characters that have arrived and that the host has not.
    fn waiting(&self) -> usize {
        let held = self.spoof.as_ref().map_or(0, |spoof| spoof.held());
        held + self.out.len() + self.early.values().map(Vec::len).sum::<usize>()
    }

    /// Characters that could be sent now; new ones only if the other modem has room.
    fn ready(&self, has_room: bool) -> usize {
        match self.again.front() {
            Some(packet) => packet.bytes.len(),
            None if !has_room => 0,
            None => match &self.spoof {
                Some(spoof) => spoof.air.len(),
                None => self.host.ways[0].held(),
            },
        }
    }

    /// The next packet: one that was hit, or up to `room` new characters.
    fn next_packet(&mut self, at: u64, room: usize) -> Option<Packet> {
        if let Some(packet) = self.again.pop_front() {
            return Some(packet);
        }
        let bytes = if let Some(spoof) = &mut self.spoof {
            spoof.air.drain(..room.min(spoof.air.len())).collect()
        } else {
            let mut bytes = vec![0; room];
            let len = self.host.take(at, 0, &mut bytes);
            bytes.truncate(len);
            bytes
        };
        if bytes.is_empty() {
            return None;
        }
        let number = self.next_number;
        self.next_number += 1;
        Some(Packet { number, bytes })
    }

    fn end_turn(&mut self) {
        self.again.extend(self.hit.drain(..));
        self.long_before = self.long_now;
        self.long_now = false;
    }

    /// When the modem's own `g` has something to hear or to do; never without one.
    fn hears(&self, most: usize) -> u64 {
        let Some(spoof) = &self.spoof else { return u64::MAX };
        let way = &self.host.ways[0];
        let comes = if spoof.air.len() >= most {
            None
        } else if way.held() > 0 {
            Some(0)
        } else {
            // A header at a time is soon enough.
            way.arrives_nth(HEARD)
        };
        comes.unwrap_or(u64::MAX).min(spoof.deadline())
    }

    /// Feeds host data to the modem's own `g`, while there is room for its output.
    fn listen(&mut self, at: u64, most: usize) {
        let Some(spoof) = &mut self.spoof else { return };
        spoof.tick(at);
        let mut bytes = [0; 256];
        while spoof.air.len() < most {
            let len = self.host.take(at, 0, &mut bytes);
            if len == 0 {
                return;
            }
            spoof.hear_host(at, &bytes[..len]);
        }
    }

    /// Whether characters wait for the host.
    fn has_out(&self) -> bool {
        !self.out.is_empty() || self.spoof.as_ref().is_some_and(|spoof| !spoof.to_host.is_empty())
    }

    /// Hands characters to the host's line as far as it takes them.
    fn deliver(&mut self, at: u64) {
        if let Some(spoof) = &mut self.spoof {
            self.out.extend(spoof.to_host.drain(..));
        }
        while !self.out.is_empty() {
            let taken = self.host.offer(at, 1, self.out.make_contiguous());
            self.out.drain(..taken);
            if taken == 0 {
                break;
            }
        }
    }
}

impl Element for PepPair {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let host = &mut self.modems[end.index()].host;
        let taken = host.offer(self.now, 0, bytes);
        if taken > 0 {
            self.plan();
        }
        taken
    }

    fn next(&self, end: End) -> Option<Instant> {
        let way = &self.modems[end.index()].host.ways[1];
        if way.held() > 0 {
            return Some(Instant(self.now));
        }
        Some(Instant(way.arrives_at().unwrap_or(u64::MAX).min(self.wake)))
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let (now, modem) = (self.now, &mut self.modems[end.index()]);
        modem.host.ways[1].sync(now);
        let len = modem.host.take(now, 1, into);
        modem.deliver(now);
        self.plan();
        len
    }

    fn room(&self, end: End) -> Option<Instant> {
        let way = &self.modems[end.index()].host.ways[0];
        if !way.is_short() {
            return None;
        }
        let at = way.room().unwrap_or(u64::MAX).min(self.wake);
        Some(Instant(at.max(self.now)))
    }

    fn usage(&self, end: End) -> Usage {
        let (near, far) = (&self.modems[end.index()], &self.modems[end.other().index()]);
        Usage {
            bytes_in: near.host.ways[0].taken,
            bytes_out: far.host.ways[1].given,
            bits: near.bits,
            busy_ns: near.stats.busy_ns,
            dropped_bytes: near.host.ways[0].lost + far.host.ways[1].lost,
            turnarounds: near.stats.turns,
            ..Usage::default()
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let of =
            |end: End| TIMES[end.index()].into_iter().zip(self.modems[end.index()].stats.times());
        End::BOTH.into_iter().flat_map(of).collect()
    }

    fn calm(&mut self) {
        for modem in &mut self.modems {
            modem.noise.calm();
        }
    }
}
