//! A modem with error control: characters of the host into frames on the line, and back.

use super::hdlc::{self, Deframer};
use super::lapm::{Frame, Role, Station};
use super::line::{BitClock, BitNoise};
use super::model::ModemModel;
use super::v42bis::{Decoder, Encoder};
use crate::element::End;
use crate::serial::flow::{Link, nanos};
use std::collections::VecDeque;
use wetstring_proto::{Cx, Instant, TraceEvent};

/// Octets that are decoded at a time.
const DECODED_AT_A_TIME: usize = 32;

/// A frame on the line.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    /// When its closing flag has arrived.
    pub(super) arrives: u64,
    frame: Frame,
    /// The inverted bits, from the begin of its own opening flag if it has one.
    hits: Vec<u64>,
    /// The line was idle before: the flag in front of it is not shared.
    opening: bool,
}

/// What a direction of the line has carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct LineCounters {
    pub(super) bits: u64,
    pub(super) characters: u64,
    pub(super) octets: u64,
    pub(super) damaged: u64,
    pub(super) lost: u64,
}

/// The error-controlled half of a modem pair at one end.
#[derive(Clone, Debug)]
pub(super) struct ErrorControl {
    role: Role,
    pub(super) station: Station,
    encoder: Option<Encoder>,
    decoder: Option<Decoder>,
    /// What the next frame is made of.
    assembly: Vec<u8>,
    /// Since when its first octet waits; and when the last frame was built.
    since: Option<u64>,
    filled_at: u64,
    wait: u64,
    frame_octets: usize,
    /// The line's clock, and the bit at which the last frame sent has ended.
    clock: BitClock,
    free_bit: u64,
    latency: u64,
    pub(super) noise: BitNoise,
    deframer: Deframer,
    /// Octets that arrived in order.
    arrived: VecDeque<u8>,
    /// Characters for the host, and how many of them it has.
    out: Vec<u8>,
    out_taken: usize,
    busy_at: usize,
    most: usize,
    pub(super) sent: LineCounters,
}

impl ErrorControl {
    pub(super) fn new(model: &ModemModel, name: &str, end: End) -> Self {
        let (role, way) = match end {
            End::A => (Role::Originator, "fwd"),
            End::B => (Role::Answerer, "rev"),
        };
        let rate_bps = model.line_bps[end.index()];
        let faults = if model.direction.includes(end) {
            (model.bit_errors, model.burst)
        } else {
            (crate::serial::Probability::NEVER, None)
        };
        let window_octets = model.window as usize * model.octets;
        Self {
            role,
            station: Station::new(model.lapm(end)),
            encoder: model.v42bis.map(Encoder::new),
            decoder: model.v42bis.map(Decoder::new),
            assembly: Vec::new(),
            since: None,
            filled_at: 0,
            wait: nanos(model.wait),
            frame_octets: model.octets,
            clock: BitClock::new(rate_bps),
            free_bit: 0,
            latency: model.latency_ns(end),
            noise: BitNoise::new(faults, rate_bps, model.seed, (name, way)),
            deframer: Deframer::new(model.octets + 3 + hdlc::CHECK_LEN),
            arrived: VecDeque::new(),
            out: Vec::new(),
            out_taken: 0,
            busy_at: model.buffer_bytes / 2,
            most: model.buffer_bytes / 2 + window_octets,
            sent: LineCounters::default(),
        }
    }

    /// Octets and characters in transit to the host.
    fn backlog(&self) -> usize {
        self.arrived.len() + self.out.len() - self.out_taken
    }

    /// Sends a frame if the line is free and there is data.
    pub(super) fn transmit(
        &mut self,
        now: u64,
        host: &mut Link,
        flights: &mut VecDeque<Flight>,
    ) -> bool {
        if self.clock.time_of(self.free_bit) > now {
            return false;
        }
        let Self { station, encoder, assembly, since, filled_at, sent, .. } = self;
        let (wait, full) = (self.wait, self.frame_octets);
        let mut filling = Filling { encoder, assembly, since, filled_at, wait, full, sent };
        let Some(frame) = station.send(now, || filling.fill(now, host)) else { return false };
        let bits = hdlc::body_bits(&frame.octets(self.role)) + hdlc::FLAG_BITS;
        let clock_bit = self.clock.bits_at(now);
        // Without a pause the closing flag of the frame before opens this one. Else the flag that
        // is under way is ended first.
        let opening = clock_bit > self.free_bit;
        let start = if opening {
            self.free_bit + (clock_bit + 1 - self.free_bit).next_multiple_of(hdlc::FLAG_BITS)
        } else {
            self.free_bit
        };
        let end = start + bits;
        let begin = if opening { start - hdlc::FLAG_BITS } else { start };
        let hits = if self.noise.is_some() { self.noise.hits(begin, end) } else { Vec::new() };
        self.sent.bits += bits;
        self.sent.damaged += u64::from(!hits.is_empty());
        self.free_bit = end;
        let left = self.clock.time_of(end);
        self.station.sent(&frame, left);
        let arrives = left.saturating_add(self.latency);
        flights.push_back(Flight { arrives, frame, hits, opening });
        true
    }

    /// A frame of the other modem has arrived.
    pub(super) fn receive(&mut self, cx: &mut Cx<'_>, now: u64, flight: Flight) {
        if flight.hits.is_empty() && self.deframer.is_between() {
            self.take(now, flight.frame);
            return;
        }
        let peer = match self.role {
            Role::Originator => Role::Answerer,
            Role::Answerer => Role::Originator,
        };
        let opening = hdlc::flag().into_iter().take(if flight.opening { 8 } else { 0 });
        let body = hdlc::stuff(&flight.frame.octets(peer));
        let mut bits: Vec<bool> = opening.chain(body).chain(hdlc::flag()).collect();
        for hit in &flight.hits {
            bits[*hit as usize] ^= true;
        }
        for bit in bits {
            let frame = match self.deframer.push(bit) {
                None => continue,
                Some(Ok(octets)) => Frame::parse(&octets, self.role),
                Some(Err(_)) => None,
            };
            if let Some(frame) = frame {
                self.take(now, frame);
            } else if cx.trace.enabled() {
                let event = TraceEvent::Damaged { why: "frame check", len: 1 };
                cx.trace.record(Instant(now), &event);
            }
        }
    }

    fn take(&mut self, now: u64, frame: Frame) {
        let has_room = self.backlog() < self.most;
        self.station.receive(now, frame, has_room, &mut self.arrived);
        if self.backlog() >= self.busy_at {
            self.station.set_busy(true);
        }
    }

    /// Delivers characters to the host's line as far as it accepts them.
    pub(super) fn deliver(&mut self, now: u64, host: &mut Link) {
        loop {
            if self.out_taken == self.out.len() {
                self.out.clear();
                self.out_taken = 0;
                self.decode();
            }
            if self.out.is_empty() {
                break;
            }
            let taken = host.offer(now, 1, &self.out[self.out_taken..]);
            if taken == 0 {
                break;
            }
            self.out_taken += taken;
        }
        if self.backlog() <= self.busy_at / 2 {
            self.station.set_busy(false);
        }
    }

    fn decode(&mut self) {
        while self.out.is_empty() && !self.arrived.is_empty() {
            let len = self.arrived.len().min(DECODED_AT_A_TIME);
            let octets: Vec<u8> = self.arrived.drain(..len).collect();
            let Some(decoder) = &mut self.decoder else {
                self.out = octets;
                return;
            };
            if decoder.decode(&octets, &mut self.out).is_err() {
                // Only a frame with a wrong check that looked right can do that. The
                // recommendation wants the link to be established again; here it is the end.
                self.station.give_up();
                self.arrived.clear();
                return;
            }
        }
    }

    /// When the next internal event after `now` is due.
    pub(super) fn next(&self, now: u64, host: &Link) -> u64 {
        let mut next = self.station.t401_at().unwrap_or(u64::MAX);
        let mut sooner = |at: Option<u64>| next = next.min(at.unwrap_or(u64::MAX));
        let free = self.clock.time_of(self.free_bit);
        if free > now {
            sooner(Some(free));
        } else {
            sooner(self.station.acknowledge_at());
            if self.station.takes_more() {
                match self.since {
                    None => sooner(host.ways[0].arrives_at()),
                    Some(since) => {
                        sooner(Some(since.saturating_add(self.wait)));
                        // A character makes at most four octets, so fewer do not fill the frame.
                        let octets = self.frame_octets.saturating_sub(self.assembly.len());
                        sooner(host.ways[0].arrives_nth(octets as u64 / 4));
                    }
                }
            }
        }
        if self.backlog() > 0 {
            sooner(host.ways[1].room());
        }
        next
    }
}

/// What is missing to fill a frame.
struct Filling<'a> {
    encoder: &'a mut Option<Encoder>,
    assembly: &'a mut Vec<u8>,
    since: &'a mut Option<u64>,
    filled_at: &'a mut u64,
    wait: u64,
    full: usize,
    sent: &'a mut LineCounters,
}

impl Filling<'_> {
    /// The octets of the next frame: a full one, or whatever is there if it has waited long enough.
    fn fill(&mut self, now: u64, host: &mut Link) -> Option<Vec<u8>> {
        let mut buffer = [0; 256];
        while self.assembly.len() < self.full {
            let most = (self.full - self.assembly.len()).min(buffer.len());
            let waits_since = host.ways[0].held_since().max(*self.filled_at);
            let len = host.take(now, 0, &mut buffer[..most]);
            if len == 0 {
                break;
            }
            self.since.get_or_insert(waits_since);
            self.sent.characters += len as u64;
            match self.encoder {
                Some(encoder) => encoder.push(&buffer[..len], self.assembly),
                None => self.assembly.extend(&buffer[..len]),
            }
        }
        if self.assembly.len() < self.full {
            if (*self.since)?.saturating_add(self.wait) > now {
                return None;
            }
            if let Some(encoder) = self.encoder {
                encoder.flush(self.assembly);
            }
        }
        *self.filled_at = now;
        let len = self.assembly.len().min(self.full);
        let octets: Vec<u8> = self.assembly.drain(..len).collect();
        let holds_back = self.encoder.as_ref().is_some_and(Encoder::holds_back);
        *self.since = (holds_back || !self.assembly.is_empty()).then_some(now);
        self.sent.octets += len as u64;
        (len > 0).then_some(octets)
    }
}
