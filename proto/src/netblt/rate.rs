//! The automatic rate: the receiver's picture of the path, and the burst values that it offers
//! (docs/decisions/053 has the rule and its reasons).
//!
//! Rates are in thousandths of packets per second (`mpps`), times in nanoseconds, shares in parts
//! of 65,536. After the first burst, whose spread tells the bottleneck, decisions are made one at a
//! time: an offer is made, waited for until the packets that arrive were sent under it (the sender
//! says so by its high sequence number), and judged by what arrives then.

use crate::time::{Duration, Instant};

/// One, in parts.
const ONE: u64 = 65_536;
/// Rates are kept within this.
const SLOWEST: u64 = 100;
const FASTEST: u64 = 20_000_000_000;
/// Least time that a judgement looks at.
const SHORTEST_LOOK: u64 = 10_000_000;
/// Least packets that a judgement looks at.
const FEWEST_PACKETS: u64 = 32;
/// A queue that is as short as this does not stand: timers are no finer.
const SHORT_QUEUE: u64 = 3_000_000;
/// The shortest round trips are forgotten after so long.
const FORGET_NS: u64 = 10_000_000_000;

/// What the receiver has seen since an offer came into force.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    /// When it began: the arrival before its first.
    since: u64,
    last: u64,
    arrived: u64,
    /// First passes of packets: how far they went, and how many of them came.
    went: u64,
    fresh: u64,
    /// The shortest round trip.
    rtt: Option<u64>,
}

/// What is done about loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Loss {
    /// Nothing.
    #[default]
    Usual,
    /// Less is sent, to see whether less arrives.
    Testing { sent: u64, came: u64, loss: u64 },
    /// The queue overflowed: nothing is tried for so many judgements.
    Careful(u8),
}

/// The path as the receiver sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    ceiling: u64,
    /// What is offered.
    offered: u64,
    /// What the bottleneck carries of ours, when it was last seen full.
    capacity: Option<u64>,
    /// Loss that has nothing to do with how much is sent.
    loss: u64,
    handling: Loss,
    /// Judgements in a row that found room.
    rooms: u32,
    /// Judgements in a row that found the queue as long as before.
    stuck: u32,
    last_queue: u64,
    /// What was offered when the queue began to stand.
    before_queue: u64,
    /// Others fill the queue: share by loss.
    compete: bool,
    /// Shortest round trip of this and of the last period, and when this one began.
    base: [u64; 2],
    base_since: u64,
    srtt: u64,
    var: u64,
    look: Option<Look>,
    last_arrival: u64,
    /// When the last offer was made.
    decided: u64,
    /// Milliseconds from burst to burst, now.
    interval_ms: u64,
    /// First and last of the first burst: (index, time).
    train: Option<[(u64, u64); 2]>,
    /// Packets of the first burst.
    first_burst: u64,
    /// An offer has been made.
    begun: bool,
    /// An offer has been judged.
    judged: bool,
}

/// `a` times `b` parts.
fn part(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 16) as u64
}

/// `a` of `b`, in parts.
fn share(a: u64, b: u64) -> u64 {
    if b == 0 {
        return ONE;
    }
    ((u128::from(a) << 16) / u128::from(b)) as u64
}

fn mpps(packets: u64, ns: u64) -> u64 {
    let rate = u128::from(packets) * 1_000_000_000_000 / u128::from(ns.max(1));
    u64::try_from(rate).unwrap_or(FASTEST).min(FASTEST)
}

/// Burst values for a rate, never above it: the shortest interval that comes close.
pub(crate) fn burst_values(rate: u64) -> (u16, u16) {
    let mut best = (1, (1_000_000_u64.div_ceil(rate.max(1))).clamp(1, 0xFFFF));
    let mut best_rate = 1_000_000 / best.1;
    for interval in 1..=100_u64 {
        let burst = (rate * interval / 1_000_000).min(0xFFFF);
        let reached = burst * 1_000_000 / interval;
        if burst > 0 && reached > best_rate {
            (best, best_rate) = ((burst, interval), reached);
        }
        if best_rate + rate / 64 >= rate {
            break;
        }
    }
    (best.0 as u16, best.1 as u16)
}

/// The rate of burst values.
pub(crate) fn rate_of((burst, interval_ms): (u16, u16)) -> u64 {
    u64::from(burst) * 1_000_000 / u64::from(interval_ms.max(1))
}

impl Path {
    /// A path of which nothing is known, with these burst values for the first packets.
    pub(crate) fn new(first: (u16, u16), ceiling: Option<u64>) -> Self {
        Self {
            ceiling: ceiling.unwrap_or(FASTEST),
            offered: rate_of(first),
            capacity: None,
            loss: 0,
            handling: Loss::Usual,
            rooms: 0,
            stuck: 0,
            last_queue: 0,
            before_queue: 0,
            compete: false,
            base: [u64::MAX; 2],
            base_since: 0,
            srtt: 0,
            var: 0,
            look: None,
            last_arrival: 0,
            decided: 0,
            interval_ms: u64::from(first.1),
            train: None,
            first_burst: u64::from(first.0),
            begun: false,
            judged: false,
        }
    }

    /// Another connection over the same path: what is known of it stays.
    pub(crate) fn again(&mut self, first: (u16, u16)) {
        let known = *self;
        *self = Self::new(first, Some(known.ceiling));
        (self.base, self.base_since) = (known.base, known.base_since);
        (self.srtt, self.var, self.loss) = (known.srtt, known.var, known.loss);
        if known.begun {
            (self.capacity, self.offered) = (known.capacity, known.offered);
            (self.begun, self.judged) = (true, known.judged);
        }
    }

    /// Smoothed round trip of control messages, if any came back.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        (self.srtt > 0).then(|| Duration::from_nanos(self.srtt))
    }

    /// How much round trips vary.
    pub(crate) fn variance(&self) -> Duration {
        Duration::from_nanos(self.var)
    }

    /// The rate that is offered, in thousandths of packets per second.
    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    /// Whether anything is known of the bottleneck.
    pub(crate) fn is_known(&self) -> bool {
        self.begun || self.train_rate().is_some()
    }

    /// Whether the sender follows an offer of ours.
    pub(crate) fn is_offered(&self) -> bool {
        self.look.is_some() || self.judged
    }

    /// What the path seems to carry, as far as is known, in thousandths of packets per second.
    pub(crate) fn expected(&self) -> u64 {
        let first = self.train_rate().filter(|_| !self.begun);
        first.unwrap_or(self.offered).min(self.ceiling)
    }

    /// A control message came back after so long.
    pub(crate) fn answered(&mut self, now: Instant, after: Duration) {
        let (now, rtt) = (now.as_nanos(), (after.as_nanos() as u64).max(1));
        if self.srtt == 0 {
            (self.srtt, self.var) = (rtt, rtt / 2);
        } else {
            self.var = (self.var * 3 + self.srtt.abs_diff(rtt)) / 4;
            self.srtt = (self.srtt * 7 + rtt) / 8;
        }
        if now.saturating_sub(self.base_since) > FORGET_NS.max(8 * self.srtt) {
            self.base = [u64::MAX, self.base[0]];
            self.base_since = now;
        }
        self.base[0] = self.base[0].min(rtt);
        if let Some(look) = &mut self.look {
            look.rtt = Some(look.rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// A packet of data came: its place among all, if it came for the first time; `went` is how
    /// far the first passes went on by it.
    pub(crate) fn arrived(&mut self, now: Instant, place: Option<u64>, went: u64) {
        let now = now.as_nanos();
        if let Some(look) = &mut self.look {
            look.arrived += 1;
            look.last = now;
            look.went += went;
            look.fresh += u64::from(place.is_some());
        }
        self.last_arrival = now;
        if self.begun {
            return;
        }
        let Some(place) = place else { return };
        match &mut self.train {
            // Behind the first burst, or after a silence in it, is no spread.
            Some([first, last]) if place > last.0 && place < self.first_burst => {
                let spacing = (last.1 - first.1) / (last.0 - first.0).max(1);
                if last.0 - first.0 < 7 || now - last.1 <= 8 * spacing + 1_000_000 {
                    *last = (place, now);
                } else {
                    self.first_burst = 0;
                }
            }
            Some(_) => {}
            None => self.train = Some([(place, now); 2]),
        }
    }

    /// What the spread of the first burst says, once there is enough of it.
    fn train_rate(&self) -> Option<u64> {
        let [(first, since), (last, until)] = self.train?;
        // A spread below this is the clock's, not the path's.
        let spread = (until - since).max(100_000);
        (last - first >= 7).then(|| mpps(last - first, spread))
    }

    /// The first offer, from the first burst; `None` if an offer has been made, or nothing is known.
    pub(crate) fn first_offer(&mut self) -> Option<(u16, u16)> {
        if self.begun {
            return None;
        }
        let rate = self.train_rate()?;
        self.begun = true;
        self.capacity = Some(rate);
        Some(self.offer(rate - rate / 32))
    }

    fn offer(&mut self, rate: u64) -> (u16, u16) {
        let values = burst_values(rate.clamp(SLOWEST, self.ceiling.max(SLOWEST)));
        self.offered = rate_of(values).max(SLOWEST);
        self.look = None;
        self.decided = self.last_arrival;
        self.interval_ms = u64::from(values.1);
        values
    }

    /// What arrives from now on was sent under the last offer.
    pub(crate) fn in_force(&mut self) {
        if self.look.is_none() {
            let since = self.last_arrival;
            self.look = Some(Look { since, last: since, ..Look::default() });
        }
    }

    /// The queue that does not yet stand.
    fn queue_allowed(&self) -> u64 {
        let base = self.base[0].min(self.base[1]);
        let packet = 1_000_000_000_000 / self.offered.max(1);
        (base / 16).max(SHORT_QUEUE).max(1_500_000 * self.interval_ms).max(4 * packet)
    }

    /// Judges what has arrived under the last offer, if that is enough, and makes another.
    pub(crate) fn judge(&mut self) -> Option<(u16, u16)> {
        let look = self.look?;
        let time = look.last.saturating_sub(look.since);
        let least = SHORTEST_LOOK.max(self.srtt / 2).max(8_000_000 * self.interval_ms);
        // Where nearly nothing arrives it is judged all the same.
        let enough = look.arrived >= FEWEST_PACKETS || time > 8 * least;
        let rtt = look.rtt.filter(|_| time >= least && enough)?;
        self.judged = true;
        let base = self.base[0].min(self.base[1]);
        let queue = rtt.saturating_sub(base);
        let came = mpps(look.arrived, time);
        let lost = share(look.went.saturating_sub(look.fresh), look.went.max(1)).min(ONE);
        let horizon = look.last.saturating_sub(self.decided).max(time) + self.srtt;
        let next = self.decide(queue, came, lost, look.went, horizon);
        Some(self.offer(next))
    }

    /// What to offer after this queue, this rate of arrivals and this loss.
    fn decide(&mut self, queue: u64, came: u64, lost: u64, packets: u64, horizon: u64) -> u64 {
        let sent = self.offered;
        let allowed = self.queue_allowed();
        // What would have to be sent for that to arrive.
        let carried = share(came, (ONE - self.loss).max(ONE / 4));
        let step = share(allowed, horizon.max(1)).clamp(ONE / 100, ONE / 4);
        let losing = lost > self.loss + self.doubt(packets);
        if queue <= allowed {
            self.stuck = 0;
            self.compete = false;
        }
        if self.compete {
            return if losing {
                part(sent, ONE * 7 / 10)
            } else {
                sent + part(sent, step.min(ONE / 50))
            };
        }
        if queue > allowed {
            return self.shorten(queue, carried, horizon);
        }
        self.last_queue = queue;
        if let Some(next) = self.consider_loss(losing, lost, came, carried) {
            return next;
        }
        if came < part(sent, part(ONE - lost.min(ONE), ONE * 17 / 20)) {
            // The sender does not send as much as it may: nothing is learned from that.
            self.rooms = 0;
            return sent;
        }
        self.grow(carried, step)
    }

    /// There is room: more is offered, the more the longer there has been.
    fn grow(&mut self, carried: u64, step: u64) -> u64 {
        let sent = self.offered;
        let known = self.capacity.unwrap_or(carried).max(carried);
        self.capacity = Some(known);
        if sent > known + known / 32 && carried <= known {
            // More is sent than arrives: it is full, and the queue has begun to grow.
            self.rooms = 0;
            return known - known / 64;
        }
        let step = (step.min(ONE / 16) << self.rooms.min(4)).min(ONE / 2);
        self.rooms += 1;
        let from = if self.rooms == 1 { known.max(sent) } else { sent };
        from + part(from, step)
    }

    /// A queue stands: it is drained within a round trip, unless it is that of others.
    fn shorten(&mut self, queue: u64, carried: u64, horizon: u64) -> u64 {
        if self.stuck == 0 {
            self.before_queue = carried;
        }
        // A queue that does not fall although we send less is not ours.
        self.stuck =
            if queue * 10 >= self.last_queue * 7 || self.stuck == 0 { self.stuck + 1 } else { 1 };
        self.last_queue = queue;
        self.rooms = 0;
        self.handling = Loss::Usual;
        if self.stuck > 4 {
            self.compete = true;
            return self.before_queue;
        }
        let carried = self.capacity.filter(|_| self.stuck > 1).unwrap_or(carried);
        self.capacity = Some(carried);
        let drain = share(queue, horizon).min(ONE / 2);
        carried - part(carried, drain * 3 / 4)
    }

    /// Whether loss is a sign that less must be sent, and what to send then.
    fn consider_loss(&mut self, losing: bool, lost: u64, came: u64, carried: u64) -> Option<u64> {
        let sent = self.offered;
        match core::mem::take(&mut self.handling) {
            Loss::Testing { came: then, .. } if !losing => {
                // Less was sent and nothing more was lost: what was lost had found no room.
                if came > then {
                    // And more arrives: what was lost was lost by chance.
                    return Some(part(sent, ONE * 110 / 100));
                }
                let room = share(then, ONE - self.loss.min(ONE / 2));
                self.capacity = Some(room);
                self.handling = Loss::Careful(4);
                return Some(room - room / 32);
            }
            Loss::Testing { came: then, .. } if came >= part(then, ONE * 93 / 100) => {
                // As much arrives of less: there is no room for that either.
                self.capacity = Some(carried);
                self.handling = Loss::Testing { sent, came, loss: lost };
                return Some(part(carried.min(sent), ONE * 85 / 100));
            }
            Loss::Testing { sent: before, loss, .. } => {
                // Less arrives of less, and as much of it is lost: it is not for want of room.
                self.loss = lost.min(loss);
                return Some(before);
            }
            Loss::Careful(left) if left > 0 && !losing => {
                self.handling = Loss::Careful(left - 1);
                self.rooms = 0;
                return Some(sent);
            }
            _ if losing => {
                self.rooms = 0;
                self.handling = Loss::Testing { sent, came, loss: lost };
                return Some(part(sent, ONE * 85 / 100));
            }
            _ => {}
        }
        self.loss = (self.loss * 7 + lost) / 8;
        None
    }

    /// How much more than usual may be lost of so many packets by chance, in runs too.
    fn doubt(&self, packets: u64) -> u64 {
        let usual = self.loss.max(ONE / 200);
        // Three times the deviation of losses in runs of two.
        let deviation = (part(usual, ONE - usual) * ONE * 2 / packets.max(1)).isqrt();
        (3 * deviation).max(ONE * 3 / 200)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_values_come_close_from_below() {
        for rate in [120, 900, 4_000, 86_800, 868_000, 8_680_000, 86_800_000, 868_000_000_u64] {
            let values = burst_values(rate);
            let reached = rate_of(values);
            assert!(reached <= rate && reached >= rate - rate / 40, "{rate}: {values:?}");
        }
        assert_eq!(burst_values(1), (1, 0xFFFF));
    }
}
