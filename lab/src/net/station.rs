//! A station of a cable or ring: queued packets, and those in transit.

use super::flight::{Flight, Wire};
use crate::element::Usage;
use std::collections::VecDeque;
use wetstring_proto::{Cx, Instant, TraceEvent};

/// The packets that a station has to send, and those sent that have not arrived.
///
/// It queues up to a limit and refuses more, drops packets longer than the network's MTU, and counts. The
/// network decides when a packet may be sent.
#[derive(Clone, Debug)]
pub(crate) struct Station {
    /// Packets that wait, and since when.
    queue: VecDeque<(u64, Vec<u8>)>,
    /// Queue limit.
    most: usize,
    /// The longest that the network carries, in bytes.
    mtu_bytes: u64,
    /// Empty buffers, to be used again.
    spare: Vec<Vec<u8>>,
    refused: bool,
    count: u64,
    flight: Flight,
    /// Statistics.
    pub(crate) usage: Usage,
}

impl Station {
    pub(crate) fn new(most: usize, mtu_bytes: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            most,
            mtu_bytes,
            spare: Vec::new(),
            refused: false,
            count: 0,
            flight: Flight::new(),
            usage: Usage::default(),
        }
    }

    /// Queues a packet, or drops it with a trace entry of this name; returns the bytes accepted.
    pub(crate) fn offer(&mut self, cx: &mut Cx<'_>, bytes: &[u8], too_long: &'static str) -> usize {
        self.refused = self.queue.len() >= self.most;
        if self.refused {
            return 0;
        }
        let index = self.count;
        self.count += 1;
        self.usage.bytes_in += bytes.len() as u64;
        if bytes.len() as u64 > self.mtu_bytes {
            self.usage.dropped_bytes += bytes.len() as u64;
            if cx.trace.enabled() {
                cx.trace.record(cx.now, &TraceEvent::Value { name: too_long, value: index });
            }
            return bytes.len();
        }
        let mut packet = self.spare.pop().unwrap_or_default();
        packet.extend_from_slice(bytes);
        self.queue.push_back((cx.now.as_nanos(), packet));
        bytes.len()
    }

    /// The packet that goes next: since when it waits, and its length.
    pub(crate) fn first(&self) -> Option<(u64, usize)> {
        self.queue.front().map(|(since, packet)| (*since, packet.len()))
    }

    /// The number of the packet that goes next, those that were too long counted.
    pub(crate) fn first_index(&self) -> u64 {
        self.count - self.queue.len() as u64
    }

    /// The first packet took this many bits of this wire, and arrives at `due`.
    pub(crate) fn sent(&mut self, wire: &Wire, bits: u64, due: u64) {
        let Some((_, packet)) = self.queue.pop_front() else { return };
        self.usage.bits += bits;
        self.usage.busy_ns = wire.time_of(self.usage.bits);
        self.flight.put(due, &packet);
        self.recycle(packet);
    }

    /// The first packet is dropped.
    pub(crate) fn give_up(&mut self) {
        let Some((_, packet)) = self.queue.pop_front() else { return };
        self.usage.dropped_bytes += packet.len() as u64;
        self.recycle(packet);
    }

    fn recycle(&mut self, mut packet: Vec<u8>) {
        packet.clear();
        self.spare.push(packet);
    }

    /// When the first that is under way arrives.
    pub(crate) fn arrives(&self) -> Option<u64> {
        self.flight.next()
    }

    /// Moves the first that has arrived into `into`, see [`Flight::emit`].
    pub(crate) fn emit(&mut self, now: u64, into: &mut [u8]) -> usize {
        self.flight.emit(now, &mut self.usage, into)
    }

    /// When a refused packet may be accepted: at once, or when the network has advanced.
    pub(crate) fn room(&self, goes_on: Option<u64>) -> Option<Instant> {
        match (self.refused, self.queue.len() < self.most) {
            (false, _) => None,
            (true, true) => Some(Instant::ZERO),
            (true, false) => goes_on.map(Instant),
        }
    }
}
