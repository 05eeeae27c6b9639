//! The automatic rate: the receiver's picture of the path, and the burst values that it offers
//! (docs/decisions/053 has the rule and its reasons).
//!
//! Rates are in thousandths of packets per second (`mpps`), times in nanoseconds, shares in parts
//! of 65,536. After the first burst, whose spread tells the bottleneck, decisions are made one at a
//! time: an offer is made, waited for until the packets that arrive were sent under it (the sender
//! says so by its high sequence number), and judged by what arrives then.

mod judge;
mod spread;
mod values;

pub(crate) use values::rate_of;

use crate::time::{Duration, Instant};
use judge::{Loss, Others};
use spread::Spread;
use values::Values;

/// One, in parts.
const ONE: u64 = 65_536;
/// Rates are kept within this.
const SLOWEST: u64 = 100;
const FASTEST: u64 = 20_000_000_000;
/// Least time that a judgement looks at.
const SHORTEST_LOOK: u64 = 10_000_000;
/// Least packets that a judgement looks at.
const FEWEST_PACKETS: u64 = 32;
/// Packets that a judgement likes to look at, and how long it waits for them.
const MANY_PACKETS: u64 = 256;
const LONG_LOOK: u64 = 250_000_000;
/// Packets of the first burst that come within this came at once.
const TOGETHER: u64 = 10_000;
/// More packets that are missing in a row count as so many.
const LONGEST_RUN: u64 = 16 * ONE;
/// The shortest round trips are forgotten after so long.
const FORGET_NS: u64 = 10_000_000_000;

/// What the receiver has seen since an offer came into force.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    /// When it began: the arrival before its first.
    since: u64,
    last: u64,
    /// Time in which nothing came, though it should have.
    idle: u64,
    arrived: u64,
    /// First passes of packets: how far they went, and how many of them came.
    went: u64,
    fresh: u64,
    /// The shortest round trip, and how many were measured.
    rtt: Option<u64>,
    trips: u32,
    /// The first round trip, and the last.
    first_rtt: u64,
    last_rtt: u64,
}

/// The path as the receiver sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    ceiling: u64,
    /// What is offered.
    offered: u64,
    /// What the bottleneck carries of ours, when it was last seen full.
    capacity: Option<u64>,
    /// What the first burst said of it, until a queue stands or more is lost than usual. The bursts after it may
    /// be too close to one another to be told apart.
    opening: u64,
    /// What bursts say of it.
    spread: Spread,
    /// Loss that has nothing to do with how much is sent, and how much it differs from look to look.
    loss: u64,
    loss_varies: u64,
    loss_known: bool,
    /// How many packets are missing in a row.
    loss_run: u64,
    handling: Loss,
    others: Others,
    /// Judgements in a row that found room.
    rooms: u32,
    /// Shortest round trip of this and of the last period, and when this one began.
    base: [u64; 2],
    base_since: u64,
    srtt: u64,
    var: u64,
    look: Option<Look>,
    last_arrival: u64,
    /// When the last offer was made.
    decided: u64,
    /// The offer as burst values.
    values: Values,
    /// First and last of the first burst: (index, time).
    train: Option<[(u64, u64); 2]>,
    /// Packets of the first burst that may tell something, and of those behind it.
    first_burst: u64,
    first_values: u64,
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

impl Path {
    /// A path of which nothing is known, with these burst values for the first packets.
    pub(crate) fn new(first: (u16, u16), ceiling: Option<u64>) -> Self {
        Self {
            ceiling: ceiling.unwrap_or(FASTEST),
            offered: rate_of(first),
            capacity: None,
            opening: 0,
            spread: Spread::default(),
            loss: 0,
            loss_varies: 0,
            loss_known: false,
            loss_run: ONE,
            handling: Loss::default(),
            others: Others::default(),
            rooms: 0,
            base: [u64::MAX; 2],
            base_since: 0,
            srtt: 0,
            var: 0,
            look: None,
            last_arrival: 0,
            decided: 0,
            values: Values::new(rate_of(first), 0),
            train: None,
            first_burst: u64::from(first.0),
            first_values: u64::from(first.0),
            begun: false,
            judged: false,
        }
    }

    /// Another connection over the same path: what is known of it stays.
    pub(crate) fn again(&mut self, first: (u16, u16)) {
        let known = *self;
        *self = Self::new(first, Some(known.ceiling));
        (self.base, self.base_since) = (known.base, known.base_since);
        (self.srtt, self.var) = (known.srtt, known.var);
        (self.loss, self.loss_varies, self.loss_known) =
            (known.loss, known.loss_varies, known.loss_known);
        self.loss_run = known.loss_run;
        if known.begun {
            (self.capacity, self.offered) = (known.capacity, known.offered);
            (self.begun, self.judged, self.spread) = (true, known.judged, known.spread);
        }
    }

    /// Whether others fill the bottleneck.
    pub(crate) fn is_shared(&self) -> bool {
        self.others.is_beside()
    }

    /// Smoothed round trip of control messages, if any came back.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        (self.srtt > 0).then(|| Duration::from_nanos(self.srtt))
    }

    /// The shortest round trip of late: the path without a queue.
    pub(crate) fn least_round_trip(&self) -> Option<Duration> {
        let base = self.base[0].min(self.base[1]);
        (base < u64::MAX).then(|| Duration::from_nanos(base))
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

    /// Whether an offer was made.
    pub(crate) fn is_begun(&self) -> bool {
        self.begun
    }

    /// Whether the sender follows an offer of ours.
    pub(crate) fn is_offered(&self) -> bool {
        self.look.is_some() || self.judged
    }

    /// What the path seems to carry, as far as is known, in thousandths of packets per second.
    fn expected(&self) -> u64 {
        let first = self.train_rate().filter(|_| !self.begun);
        first.unwrap_or(self.offered).min(self.ceiling)
    }

    /// Packets that it seems to carry in this time.
    pub(crate) fn carries(&self, time: Duration) -> u64 {
        let packets = u128::from(self.expected()) * time.as_nanos() / 1_000_000_000_000;
        u64::try_from(packets).unwrap_or(u64::MAX)
    }

    /// The time that so many packets seem to take.
    pub(crate) fn takes(&self, packets: u64) -> Duration {
        let ns = u128::from(packets) * 1_000_000_000_000 / u128::from(self.expected().max(1));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
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
            self.spread.next_period();
            self.others.next_period();
        }
        self.base[0] = self.base[0].min(rtt);
        if let Some(look) = &mut self.look {
            look.rtt = Some(look.rtt.map_or(rtt, |least| least.min(rtt)));
            if look.trips == 0 {
                look.first_rtt = rtt;
            }
            look.last_rtt = rtt;
            look.trips += 1;
        }
    }

    /// A packet of data came: its place among all, if it came for the first time; `went` is how
    /// far the first passes went on by it.
    pub(crate) fn arrived(&mut self, now: Instant, place: Option<u64>, went: u64) {
        let now = now.as_nanos();
        if let Some(look) = &mut self.look {
            look.arrived += 1;
            let gap = now - look.last;
            // Not if those that are missing took the time.
            if went <= 1 && gap > 4_000_000 * self.values.interval_ms() {
                look.idle += gap;
            }
            look.last = now;
            look.went += went;
            look.fresh += u64::from(place.is_some());
        }
        if went > 1 {
            self.loss_run = (self.loss_run * 7 + ((went - 1) << 16).min(LONGEST_RUN)) / 8;
        }
        self.last_arrival = now;
        let burst = if self.begun { self.values.burst() } else { self.first_values };
        match place {
            Some(_) if went > 0 => self.spread.came(now, went == 1, burst),
            // It was held back on the way: it passed the bottleneck before.
            Some(_) => {}
            None => self.spread.interrupted(),
        }
        if self.begun {
            return;
        }
        let Some(place) = place else { return };
        match &mut self.train {
            // Behind the first burst, or after a silence in it, is no spread.
            // What comes together passed the bottleneck in one frame: the train begins at its end.
            Some([first, last]) if place > last.0 && now - first.1 <= TOGETHER => {
                (*first, *last) = ((place, first.1), (place, now));
            }
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
        let Some([(first, since), (last, until)]) = self.train.filter(|[a, b]| b.0 - a.0 >= 7)
        else {
            // Too little of it has come: those behind it have to tell.
            return self.spread.rate();
        };
        // A spread below this is the clock's, not the path's.
        let spread = (until - since).max(100_000);
        let rate = mpps(last - first, spread);
        // Where the burst overflowed a queue, the packets that came in a row say more.
        Some(self.spread.rate().map_or(rate, |run| run.min(rate)))
    }

    /// The first offer, from the first burst; `None` if an offer has been made, or nothing is known.
    pub(crate) fn first_offer(&mut self) -> Option<(u16, u16)> {
        if self.begun {
            return None;
        }
        let rate = self.train_rate()?;
        self.begun = true;
        self.capacity = Some(rate);
        self.spread.expect(rate);
        self.opening = rate;
        self.offer(rate - rate / 64);
        Some(self.say())
    }

    fn offer(&mut self, rate: u64) {
        let rate = rate.clamp(SLOWEST, self.ceiling.max(SLOWEST));
        self.values = self.values.then(rate, self.ceiling);
        self.offered = self.values.reached(rate).max(SLOWEST);
        self.look = None;
        self.decided = self.last_arrival;
    }

    /// The burst values to say now.
    pub(crate) fn say(&mut self) -> (u16, u16) {
        self.values.say(self.last_arrival, self.offered)
    }

    /// What arrives from now on was sent under the last offer.
    pub(crate) fn in_force(&mut self) {
        if self.look.is_none() {
            let since = self.last_arrival;
            self.look = Some(Look { since, last: since, ..Look::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that was busy when the first burst came: 300 us a packet, where the path takes 40.
    #[test]
    fn a_first_burst_that_was_read_late_does_not_hold_for_long() {
        let mut path = Path::new((20, 4), None);
        let mut now = 1_000_000;
        for place in 0..20 {
            now += 300_000;
            path.arrived(Instant(now), Some(place), 1);
        }
        path.answered(Instant(now), Duration::from_micros(100));
        let (mut place, mut offer) = (20, path.first_offer().expect("a whole burst came"));
        assert!(path.offered() < 3_400_000, "{}", path.offered());
        let began = now;
        while path.offered() < 10_000_000 {
            path.in_force();
            for packet in 1..=u64::from(offer.0) {
                path.arrived(Instant(now + packet * 40_000), Some(place), 1);
                place += 1;
            }
            now += u64::from(offer.1) * 1_000_000;
            path.answered(Instant(now), Duration::from_micros(100));
            offer = path.judge().map_or(offer, |judgement| judgement.offer);
            assert!(now - began < 120_000_000, "{} after 120 ms", path.offered());
        }
    }
}
