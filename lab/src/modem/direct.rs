//! A modem without error control: characters go onto the line as received, start and stop bits included [V.14],
//! and arrive or are damaged.

use super::link::LineCounters;
use super::model::ModemModel;
use crate::element::End;
use crate::serial::LineModel;
use crate::serial::flow::Link;
use crate::serial::noise::{Fate, Noise};
use crate::serial::timeline::{CharTime, Timeline};
use std::collections::VecDeque;
use wetstring_proto::{Cx, Instant, TraceEvent};

/// Characters put onto the line ahead of their time.
const AHEAD: u64 = 8;

/// One end of a modem pair without error control.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    end: End,
    leaving: Timeline,
    arriving: Timeline,
    latency: u64,
    bits: u64,
    /// Characters in transit, and the index of the first.
    bytes: VecDeque<u8>,
    first: u64,
    pub(super) noise: Noise,
    damaged: VecDeque<u64>,
    /// Characters from the other modem for the host.
    out: VecDeque<u8>,
    most: usize,
    pub(super) sent: LineCounters,
}

impl Direct {
    pub(super) fn new(model: &ModemModel, name: &str, end: End) -> Self {
        let rate_bps = model.line_bps[end.index()];
        let line = LineModel {
            rate_bps,
            bit_errors: model.bit_errors,
            burst: model.burst,
            seed: model.seed,
            ..LineModel::default()
        };
        let way = if end == End::A { "fwd" } else { "rev" };
        let noise = if model.direction.includes(end) {
            Noise::new(&line, rate_bps, name, way)
        } else {
            Noise::none()
        };
        let time = CharTime::new(rate_bps, line.bits);
        Self {
            end,
            leaving: Timeline::new(time),
            arriving: Timeline::new(time),
            latency: model.latency_ns(end),
            bits: u64::from(line.bits),
            bytes: VecDeque::new(),
            first: 0,
            noise,
            damaged: VecDeque::new(),
            out: VecDeque::new(),
            most: model.buffer_bytes,
            sent: LineCounters::default(),
        }
    }

    /// Puts characters of the host onto the line.
    pub(super) fn transmit(&mut self, now: u64, host: &mut Link) {
        self.leaving.pass(now, u64::MAX);
        let room = AHEAD.saturating_sub(self.leaving.len()) as usize;
        let mut buffer = [0; AHEAD as usize];
        let len = host.take(now, 0, &mut buffer[..room]);
        if len == 0 {
            return;
        }
        if self.noise.is_some() {
            let first = self.first + self.bytes.len() as u64;
            let damaged = &mut self.damaged;
            self.noise.apply(first, &mut buffer[..len], |index, _: Fate| damaged.push_back(index));
            damaged.make_contiguous().sort_unstable();
        }
        self.bytes.extend(&buffer[..len]);
        self.leaving.push(now, len as u64);
        self.arriving.push(now.saturating_add(self.latency), len as u64);
        self.sent.characters += len as u64;
        self.sent.octets += len as u64;
        self.sent.bits += len as u64 * self.bits;
    }

    /// Moves arrived characters into the other modem. What its buffer has no room for is lost: the line has no
    /// flow control.
    pub(super) fn arrive(&mut self, cx: &mut Cx<'_>, now: u64, other: &mut Self) {
        let count = self.arriving.pass(now, u64::MAX) as usize;
        if count == 0 {
            return;
        }
        let room = other.most.saturating_sub(other.out.len());
        other.out.extend(self.bytes.range(..count.min(room)));
        self.sent.lost += count.saturating_sub(room) as u64;
        self.bytes.drain(..count);
        self.first += count as u64;
        let mut last = None;
        while self.damaged.front().is_some_and(|index| *index < self.first) {
            let index = self.damaged.pop_front();
            if index == last {
                continue;
            }
            last = index;
            self.sent.damaged += 1;
            if cx.trace.enabled() {
                let name = ["bit_error_fwd", "bit_error_rev"][self.end.index()];
                let event = TraceEvent::Value { name, value: index.unwrap_or(0) };
                cx.trace.record(Instant(now), &event);
            }
        }
    }

    /// When the next character arrives at the peer.
    pub(super) fn arrives_at(&self) -> u64 {
        self.arriving.next().unwrap_or(u64::MAX)
    }

    /// Delivers characters to the host's line as far as it accepts them.
    pub(super) fn deliver(&mut self, now: u64, host: &mut Link) {
        while !self.out.is_empty() {
            let taken = host.offer(now, 1, self.out.make_contiguous());
            self.out.drain(..taken);
            if taken == 0 {
                break;
            }
        }
    }

    /// When the next internal event is due.
    pub(super) fn next(&self, host: &Link) -> u64 {
        // Half of the queued characters have left, or a character arrives that can leave at once.
        let sends = match self.leaving.len() {
            left if left < AHEAD => host.ways[0].arrives_at(),
            left => self.leaving.nth(left - AHEAD / 2),
        };
        let hands = if self.out.is_empty() { None } else { host.ways[1].room() };
        sends.into_iter().chain(hands).min().unwrap_or(u64::MAX)
    }
}
