//! Two modems and the line between them, as one element.

use super::direct::Direct;
use super::lapm::Counters;
use super::link::{ErrorControl, Flight};
use super::model::ModemModel;
use crate::element::{Element, End, Usage};
use crate::serial::flow::{Link, Stop};
use crate::serial::noise::Noise;
use std::collections::VecDeque;
use wetstring_proto::{Cx, Instant, TraceEvent};

/// What a modem pair has carried in one direction. Counters only; `characters` by `octets` is the
/// ratio of compression.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ModemStats {
    /// Characters that the modem has taken from its buffer.
    pub characters: u64,
    /// Octets that they became: of V.42bis, if it is on.
    pub octets: u64,
    /// Bits on the line: with LAPM the frames with their inserted zeros and one flag each, of
    /// either kind; otherwise 10 for each character.
    pub bits: u64,
    /// Frames that noise met; without error control characters.
    pub damaged: u64,
    /// What the LAPM station that sends in this direction did.
    pub lapm: Counters,
    /// Number and duration of the host's stops.
    pub host_stops: Stop,
    /// Number and duration of the modem's stops by the other host.
    pub modem_stops: Stop,
    /// Characters lost because a buffer was full: the modem's, the host's, or the other modem's.
    pub overruns: u64,
}

/// One modem and the line to its host.
#[derive(Clone, Debug)]
struct Modem {
    /// The first direction is the one from the host.
    host: Link,
    body: Body,
    /// When the next internal event is due.
    wake: u64,
}

#[derive(Clone, Debug)]
enum Body {
    Frames(Box<ErrorControl>, VecDeque<Flight>),
    Characters(Box<Direct>),
}

/// A pair of modems with their hosts' lines, described by a [`ModemModel`].
#[derive(Clone, Debug)]
pub struct ModemPair {
    model: ModemModel,
    modems: [Modem; 2],
    now: u64,
}

impl ModemPair {
    /// A pair of this model, connected.
    pub fn new(model: &ModemModel) -> Self {
        Self::named(model, "modem")
    }

    /// A pair with its own name, so that the noise of two pairs with one seed differs.
    pub fn named(model: &ModemModel, name: &str) -> Self {
        let connected = |end: End| {
            let [to_modem, to_host] = model.host(end);
            let body = if model.has_frames() {
                Body::Frames(Box::new(ErrorControl::new(model, name, end)), VecDeque::new())
            } else {
                Body::Characters(Box::new(Direct::new(model, name, end)))
            };
            Modem { host: Link::new(to_modem.way(), to_host.way()), body, wake: u64::MAX }
        };
        Self { model: model.clone(), modems: End::BOTH.map(connected), now: 0 }
    }

    /// The model.
    pub fn model(&self) -> &ModemModel {
        &self.model
    }

    /// Statistics of what was offered at `end`.
    pub fn stats(&self, end: End) -> ModemStats {
        let (near, far) = (&self.modems[end.index()], &self.modems[end.other().index()]);
        let (sent, lapm) = match &near.body {
            Body::Frames(body, _) => (body.sent, body.station.counters),
            Body::Characters(body) => (body.sent, Counters::default()),
        };
        ModemStats {
            characters: sent.characters,
            octets: sent.octets,
            bits: sent.bits,
            damaged: sent.damaged,
            lapm,
            host_stops: near.host.ways[0].stop(self.now),
            modem_stops: far.host.ways[1].stop(self.now),
            overruns: sent.lost + near.host.ways[0].lost + far.host.ways[1].lost,
        }
    }

    /// Whether the modems have given up: N400 questions without an answer.
    pub fn is_down(&self) -> bool {
        self.modems.iter().any(|modem| match &modem.body {
            Body::Frames(body, _) => body.station.is_down(),
            Body::Characters(_) => false,
        })
    }

    /// The next time something happens inside.
    fn wake(&self) -> u64 {
        self.modems[0].wake.min(self.modems[1].wake)
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        self.now = self.now.max(cx.now.as_nanos());
        loop {
            let at = self.wake();
            if at > self.now {
                return;
            }
            self.step(cx, at);
            for end in End::BOTH {
                self.plan(end, at);
            }
        }
    }

    /// Everything that happens at `at`.
    fn step(&mut self, cx: &mut Cx<'_>, at: u64) {
        let [a, b] = &mut self.modems;
        a.host.advance(at);
        b.host.advance(at);
        cross(cx, at, a, b);
        cross(cx, at, b, a);
        for (modem, name) in [(a, "t401_a"), (b, "t401_b")] {
            let Modem { host, body, .. } = modem;
            match body {
                Body::Frames(body, flights) => {
                    if body.station.tick(at) && cx.trace.enabled() {
                        let value = body.station.counters.timeouts;
                        cx.trace.record(Instant(at), &TraceEvent::Value { name, value });
                    }
                    body.deliver(at, host);
                    body.transmit(at, host, flights);
                }
                Body::Characters(body) => {
                    body.deliver(at, host);
                    body.transmit(at, host);
                }
            }
        }
    }

    /// Computes the next event of this modem, seen from `now`.
    fn plan(&mut self, end: End, now: u64) {
        let [a, b] = &mut self.modems;
        let (near, far) = if end == End::A { (a, b) } else { (b, a) };
        let (own, comes) = match (&near.body, &far.body) {
            (Body::Frames(body, _), Body::Frames(_, flights)) => {
                let comes = flights.front().map_or(u64::MAX, |flight| flight.arrives);
                (body.next(now, &near.host), comes)
            }
            (Body::Characters(body), Body::Characters(other)) => {
                (body.next(&near.host), other.arrives_at())
            }
            _ => (u64::MAX, u64::MAX),
        };
        near.wake = own.min(comes).min(near.host.plan());
        debug_assert!(near.wake > now, "expected all of {now} to be over: {near:?}");
    }
}

/// Lets arrive what has arrived from `from` at `to`.
fn cross(cx: &mut Cx<'_>, at: u64, from: &mut Modem, to: &mut Modem) {
    match (&mut from.body, &mut to.body) {
        (Body::Frames(_, flights), Body::Frames(body, _)) => {
            while flights.front().is_some_and(|flight| flight.arrives <= at) {
                let Some(flight) = flights.pop_front() else { break };
                body.receive(cx, at, flight);
            }
        }
        (Body::Characters(from), Body::Characters(to)) => from.arrive(cx, at, to),
        _ => {}
    }
}

impl Element for ModemPair {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let now = self.now;
        let host = &mut self.modems[end.index()].host;
        host.advance(now);
        let taken = host.offer(now, 0, bytes);
        if taken > 0 {
            self.plan(end, now);
        }
        taken
    }

    fn next(&self, end: End) -> Option<Instant> {
        let way = &self.modems[end.index()].host.ways[1];
        if way.held() > 0 {
            return Some(Instant(self.now));
        }
        let next = way.arrives_at().unwrap_or(u64::MAX).min(self.wake());
        Some(next).filter(|at| *at < u64::MAX).map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let now = self.now;
        let host = &mut self.modems[end.index()].host;
        host.ways[1].sync(now);
        let choked = host.ways[1].is_choked();
        let len = host.take(now, 1, into);
        if choked {
            // It may have let the modem continue.
            self.plan(end, now);
        }
        len
    }

    fn room(&self, end: End) -> Option<Instant> {
        let way = &self.modems[end.index()].host.ways[0];
        if !way.is_short() {
            return None;
        }
        let at = way.room().unwrap_or(u64::MAX).min(self.wake());
        Some(at).filter(|at| *at < u64::MAX).map(|at| Instant(at.max(self.now)))
    }

    fn usage(&self, end: End) -> Usage {
        let stats = self.stats(end);
        let (near, far) = (&self.modems[end.index()].host, &self.modems[end.other().index()].host);
        let rate_bps = u128::from(self.model.line_bps[end.index()]);
        let busy = u128::from(stats.bits) * 1_000_000_000 / rate_bps;
        Usage {
            bytes_in: near.ways[0].taken,
            bytes_out: far.ways[1].given,
            bits: stats.bits,
            busy_ns: u64::try_from(busy).unwrap_or(u64::MAX),
            damaged_bytes: if self.model.has_frames() { 0 } else { stats.damaged },
            dropped_bytes: stats.overruns,
            ..Usage::default()
        }
    }

    fn calm(&mut self) {
        for modem in &mut self.modems {
            match &mut modem.body {
                Body::Frames(body, _) => body.noise.calm(),
                Body::Characters(body) => body.noise = Noise::none(),
            }
        }
    }
}
