//! A link whose rate changes: mahimahi's traces, cellular and satellite links, and the queue before them.
//!
//! ```text
//!          queue                opportunities of 1504 bytes      loss     delay
//! offer -> [][][][] tail, ----> |  | ||| |    || ||| |    | ---> gone? -> ......> emit
//!          codel, fq             (a trace, repeated)
//! ```
//!
//! As in mahimahi [Netravali et al., USENIX ATC 2015 §4.1; `link_queue.cc`]: at each time of the trace up to 1504
//! bytes go, of one packet or of several; a longer one waits for the next; what no packet uses is lost; the
//! trace begins again at its last time. Up is from A to B. Words, after `trace:`
//!
//! | word | meaning | unless given |
//! |---|---|---|
//! | `lte`, `5g`, `starlink` | first word: made by [`made`] from the seed | |
//! | `12M`, `12M/3M` | or: evenly, bit/s; from A to B / from B to A | |
//! | `up=FILE`, `down=FILE` | or: files in mahimahi's format, from A to B and back; one is for both | |
//! | `down` | a made trace's direction of the user is from A to B: A is a server | A is the user |
//! | `once` | a file is not repeated: after its last time nothing comes through | repeated |
//! | `delay=25ms` | one way, behind the queue | 0 |
//! | `queue=1000p` | packets (`p`) or bytes (`256K`) that may wait | no limit: the bloated buffer of a base station |
//! | `aqm=codel` | `tail`, `codel` [RFC 8289], or `fq` with a queue for each flow [RFC 8290] | `tail` |
//! | `target=5ms`, `interval=100ms` | of `codel` and `fq` | RFC 8289 §4.2, 4.3 |
//! | `loss=0.1%` | chance of each packet to be lost behind the queue | 0 |
//! | `mtu=1500` | longer packets are lost | 65535 |
//! | `seed=7` | made traces, loss | 1 |
//!
//! A flow is one of addresses, protocol and ports of IPv4, or one connection of [`super::shared`].

mod deliveries;
pub mod made;
mod model;
mod queue;

pub use deliveries::{Deliveries, OPPORTUNITY_BYTES};
pub use made::Shape;
pub use model::{Load, Source, TraceModel};
pub use queue::{Aqm, Codel};

use super::chance::Coin;
use super::flight::Flight;
use crate::element::{Element, End, Unit, Usage};
use crate::random::Random;
use queue::{Waiting, Waits};
use std::sync::Arc;
use wetstring_proto::{Cx, Instant, TraceEvent};

/// One direction.
#[derive(Clone, Debug)]
struct Direction {
    deliveries: Arc<Deliveries>,
    waits: Waits,
    /// The packet that has begun to go, and its bytes that have not.
    going: Option<(Waiting, u64)>,
    /// The next opportunity that has not been used.
    index: u64,
    loss: Coin,
    flight: Flight,
    usage: Usage,
}

impl Direction {
    /// When the next packet goes, or a part of it.
    fn next_inside(&self) -> Option<u64> {
        if self.going.is_none() && self.waits.is_empty() {
            None
        } else {
            self.deliveries.at(self.index)
        }
    }

    /// A packet comes.
    fn put(&mut self, now: u64, bytes: &[u8]) {
        if self.going.is_none() && self.waits.is_empty() {
            // Those before have passed without use.
            self.index = self.index.max(self.deliveries.first_from(now));
        }
        self.waits.put(Waiting { since: now, bytes: bytes.to_vec() });
    }

    /// Uses the next opportunity; gives the packets that it completes.
    fn deliver(&mut self, at: u64) -> Vec<Waiting> {
        self.index += 1;
        let mut room = OPPORTUNITY_BYTES;
        let mut done = Vec::new();
        while room > 0 {
            let next = self.going.take().or_else(|| {
                let packet = self.waits.take(at)?;
                let len = (packet.bytes.len() - self.waits.tag) as u64;
                Some((packet, len))
            });
            let Some((packet, left)) = next else { break };
            let part = left.min(room);
            room -= part;
            self.usage.bits += part * 8;
            if left > part {
                self.going = Some((packet, left - part));
            } else {
                done.push(packet);
            }
        }
        done
    }
}

/// A link of opportunities, as an element. See the [module](self).
#[derive(Clone, Debug)]
pub struct TraceLink {
    model: TraceModel,
    directions: [Direction; 2],
}

impl TraceLink {
    /// A link of this model with a name of its own, so that two links of one seed differ. A file that was not
    /// [supplied](TraceModel::supply) delivers nothing.
    pub fn named(model: &TraceModel, name: &str) -> Self {
        let direction = |end: End| {
            let direction = ["fwd", "rev"][end.index()];
            Direction {
                deliveries: model.deliveries(end),
                waits: Waits::new(model.queue, model.aqm),
                going: None,
                index: 0,
                loss: Coin::new(
                    model.loss,
                    Random::stream(model.seed, name, &format!("loss {direction}")),
                ),
                flight: Flight::new(),
                usage: Usage::default(),
            }
        };
        Self { model: model.clone(), directions: End::BOTH.map(direction) }
    }

    /// The last byte of each packet identifies its flow, and takes no room.
    pub(crate) fn tagged(mut self) -> Self {
        self.directions.iter_mut().for_each(|direction| direction.waits.tag = 1);
        self
    }

    /// Lets everything happen that is due by `now`.
    fn advance(&mut self, cx: &mut Cx<'_>, end: End, now: u64) {
        let delay = u64::try_from(self.model.delay.as_nanos()).unwrap_or(u64::MAX);
        let direction = &mut self.directions[end.index()];
        while let Some(at) = direction.next_inside().filter(|at| *at <= now) {
            for packet in direction.deliver(at) {
                direction.usage.queued_packets += 1;
                direction.usage.queued_ns += at - packet.since;
                if direction.loss.toss() {
                    direction.usage.dropped_bytes += packet.bytes.len() as u64;
                    note(cx, at, ["loss_fwd", "loss_rev"], end, packet.bytes.len());
                    continue;
                }
                direction.flight.put(at.saturating_add(delay), &packet.bytes);
            }
            drops(cx, direction, end, at);
        }
    }
}

/// Counts what the queue has dropped.
fn drops(cx: &mut Cx<'_>, direction: &mut Direction, end: End, at: u64) {
    for packet in std::mem::take(&mut direction.waits.dropped) {
        direction.usage.dropped_bytes += packet.bytes.len() as u64;
        note(cx, at, ["queue_drop_fwd", "queue_drop_rev"], end, packet.bytes.len());
    }
}

fn note(cx: &mut Cx<'_>, at: u64, names: [&'static str; 2], end: End, len: usize) {
    if cx.trace.enabled() {
        let event = TraceEvent::Value { name: names[end.index()], value: len as u64 };
        cx.trace.record(Instant(at), &event);
    }
}

impl Element for TraceLink {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let now = cx.now.as_nanos();
        // One that comes at the time of an opportunity can use it.
        self.advance(cx, end, now.saturating_sub(1));
        let direction = &mut self.directions[end.index()];
        direction.usage.bytes_in += bytes.len() as u64;
        if (bytes.len() - direction.waits.tag) as u64 > self.model.mtu_bytes {
            direction.usage.dropped_bytes += bytes.len() as u64;
            note(cx, now, ["too_long_fwd", "too_long_rev"], end, bytes.len());
            return bytes.len();
        }
        direction.put(now, bytes);
        drops(cx, direction, end, now);
        bytes.len()
    }

    fn next(&self, end: End) -> Option<Instant> {
        let direction = &self.directions[end.other().index()];
        direction.flight.next().into_iter().chain(direction.next_inside()).min().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let now = cx.now.as_nanos();
        self.advance(cx, end.other(), now);
        let direction = &mut self.directions[end.other().index()];
        direction.flight.emit(now, &mut direction.usage, into)
    }

    fn room(&self, _: End) -> Option<Instant> {
        None
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.directions[end.index()].usage
    }

    fn calm(&mut self) {
        for direction in &mut self.directions {
            direction.loss.never();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_proto::NoTrace;

    fn link(text: &str, file: &str) -> TraceLink {
        let mut model: TraceModel = text.parse().expect("a link");
        model.supply(&|_| Ok(file.as_bytes().to_vec())).expect("a trace");
        TraceLink::named(&model, "trace")
    }

    /// Offers packets of these lengths at these times in ms; gives when which length comes.
    fn carry(link: &mut TraceLink, offers: &[(u64, usize)]) -> Vec<(u64, usize)> {
        let mut came = Vec::new();
        let mut offers: std::collections::VecDeque<_> = offers.iter().copied().collect();
        let mut into = vec![0; 65_535];
        loop {
            let offer = offers.front().map(|(ms, _)| ms * 1_000_000);
            let inside = link.next(End::B).map(Instant::as_nanos);
            let Some(at) = offer.into_iter().chain(inside).min() else { return came };
            let mut cx = Cx { now: Instant(at), trace: &mut NoTrace };
            if offer == Some(at)
                && let Some((_, len)) = offers.pop_front()
            {
                link.offer(&mut cx, End::A, &vec![0; len]);
            }
            loop {
                let len = link.emit(&mut cx, End::B, &mut into);
                if len == 0 {
                    break;
                }
                came.push((at / 1_000_000, len));
            }
        }
    }

    #[test]
    fn packets_go_at_the_times_of_the_trace() {
        // Opportunities at 2, 5, 5, 10, 12, 15, 15, 20, ...
        let mut trace = link("up=x,delay=3ms", "2\n5\n5\n10\n");
        // 1000 + 504 of the second at 2, its rest at 5 with a short one; that of 2000 takes 10 and 12.
        let came = carry(&mut trace, &[(0, 1000), (0, 1000), (1, 100), (6, 2000), (13, 40)]);
        assert_eq!(came, [(5, 1000), (8, 1000), (8, 100), (15, 2000), (18, 40)]);
        let mut once = link("up=x,once", "2\n5\n5\n10\n");
        assert_eq!(carry(&mut once, &[(9, 1500), (9, 1500)]), [(10, 1500)]);
    }

    #[test]
    fn an_even_link_carries_its_rate() {
        let mut even: TraceLink = link("12032k", "");
        let offers: Vec<(u64, usize)> = (0..100).map(|_| (0, 1504)).collect();
        assert_eq!(carry(&mut even, &offers).last(), Some(&(100, 1504)));
    }

    #[test]
    fn a_full_queue_loses_its_tail() {
        let mut tail = link("12032k,queue=3p", "");
        let offers: Vec<(u64, usize)> = (0..5).map(|_| (0, 1504)).collect();
        assert_eq!(carry(&mut tail, &offers).len(), 3);
        assert_eq!(tail.usage(End::A).dropped_bytes, 2 * 1504);
    }
}
