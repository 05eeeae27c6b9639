//! The decision after each measurement: the conclusions, and the next offer.

use super::arrivals::Arrivals;
use super::loss::Verdict;
use super::traffic::Observation;
use super::{Controller, FASTEST, ONE, Phase, part, share, time_of};

/// Least time that a decision looks at.
const SHORTEST: u64 = 10_000_000;
/// Least packets that a decision looks at, in slow start and later.
const START_PACKETS: u64 = 8;
const FEWEST_PACKETS: u64 = 32;
/// Packets that a decision likes to look at, and how long it waits for them.
const MANY_PACKETS: u64 = 256;
const LONG: u64 = 250_000_000;
/// A queue this short is not standing: it is within timer resolution.
const SHORT_QUEUE: u64 = 3_000_000;
/// Growth per round trip in slow start: within the capacity that pairs tell, and where none is known.
const CLIMB: u64 = 8;
const FEEL: u64 = 4;
/// Packets that are missing by chance there, at most.
const CLIMB_ROW: u64 = 24;
/// More packets that are missing, and more than half of all, are not waited for: far too much is sent.
const FLOOD: u64 = 64;
/// Every N decisions at the capacity, a slightly higher rate is tried.
const TRY_MORE: u32 = 8;
/// Loss that exceeds the usual by this is not chance, at any capacity.
const MUCH: u64 = ONE / 12;
/// Where packets are lost though less is sent than the bottleneck carries, it is tried now and then whether others
/// lose them: after this time first, doubled each time that it is chance.
pub(super) const PROBE_EVERY: u64 = 5_000_000_000;
/// Rows of packets that have to be missing before, and that are expected to be while less is sent.
const PROBE_BEFORE: u64 = 24;
const PROBE_ROWS: u64 = 16;
/// Before that, half is sent for this many round trips, where the time between two of these probes is at least as many.
const DRAIN_TRIPS: u64 = 2;
const DRAIN_EVERY: u64 = 128;
/// More packets are not waited for.
const PROBE_PACKETS: u64 = 8192;
/// Round trips that a decision needs to tell that a queue is that of others: where there are few, a late one looks
/// like a queue.
const SURE: u32 = 4;
/// With cross traffic a queue longer than this counts as a loss.
const LONGEST_QUEUE: u64 = 1_000_000_000;

/// What was seen under an offer, and the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assessment {
    /// Burst values.
    pub(crate) offer: (u16, u16),
    /// What passed the bottleneck, in thousandths of packets per second.
    pub(crate) passed: u64,
    /// How long packets waited at least, in nanoseconds.
    pub(crate) queue_ns: u64,
    /// What was lost, in parts.
    pub(crate) lost: u64,
}

/// The inputs of a decision.
#[derive(Clone, Copy, Debug)]
struct Found {
    queue: u64,
    /// A queue up to this is not standing.
    allowed: u64,
    /// It stood at some time.
    crowded: bool,
    /// It has become shorter meanwhile: less is sent than the bottleneck carries.
    falls: bool,
    /// A queue stands at the end, but did not at first.
    begins: bool,
    /// The rate at which packets were sent, and at which they came.
    passed: u64,
    delivered: u64,
    /// The latter with all pauses: the certain lower bound.
    sure: u64,
    lost: u64,
    missing: u64,
    /// Packets that were sent for the first time.
    packets: u64,
    /// Round trips that were measured.
    trips: u32,
    /// Until the next offer is judged, about.
    horizon: u64,
    /// More is lost than usual.
    losing: bool,
}

impl Controller {
    /// The queue limit that is not yet standing.
    fn queue_allowed(&self) -> u64 {
        let least = self.delay.least().unwrap_or(0);
        let burst = if self.paced {
            time_of(u64::from(self.pace().burst) + 4, self.offered)
        } else {
            // An acknowledgement waits for a burst.
            (1_500_000 * self.values.interval_ms()).max(time_of(4, self.offered))
        };
        (least / 16).max(SHORT_QUEUE).max(burst)
    }

    /// Whether an apparent queue may be a delayed packet, or a retransmission.
    fn may_be_late(&self, arrivals: &Arrivals) -> bool {
        let queue = self.delay.queue(arrivals.rtt.unwrap_or(0));
        let looks = self.probe.is_none() && !self.traffic.is_shared();
        looks && arrivals.trips < SURE && arrivals.lost() <= ONE / 8 && queue > self.queue_allowed()
    }

    /// Whether enough has arrived for a decision.
    fn is_enough(&self) -> bool {
        let Some(arrivals) = &self.arrivals else { return false };
        let time = arrivals.time();
        if arrivals.rtt.is_none() || time == 0 {
            return false;
        }
        if arrivals.missing() >= FLOOD && arrivals.lost() > ONE / 2 {
            return true;
        }
        let smooth = self.delay.smooth;
        // Our own senders answer several times per RTT, unless the message is lost.
        let patience = if self.paced && self.phase == Phase::Steady { 2 * smooth } else { smooth };
        if self.may_be_late(arrivals) && time < patience {
            return false;
        }
        if self.phase == Phase::Start {
            let trip = u128::from(self.offered) * u128::from(smooth) / 4_000_000_000_000;
            let packets =
                u64::try_from(trip).unwrap_or(u64::MAX).clamp(START_PACKETS, MANY_PACKETS);
            let few = arrivals.count >= START_PACKETS / 2 || time > 8 * smooth.max(LONG);
            return arrivals.count >= packets || (time > 2 * smooth && time > LONG && few);
        }
        if self.drain.is_some() {
            return time >= DRAIN_TRIPS * smooth && arrivals.count >= START_PACKETS / 2;
        }
        if self.probe.is_some() {
            return arrivals.count >= self.probe_packets();
        }
        if self.traffic.is_shared() {
            // TCP reacts once per RTT, and after three packets behind a missing one.
            return (self.missed > 0 && self.behind >= 3)
                || (time >= SHORTEST.max(smooth) && arrivals.count >= START_PACKETS)
                || time > 8 * LONG.max(smooth);
        }
        let interval = if self.paced { 0 } else { 8_000_000 * self.values.interval_ms() };
        let least = SHORTEST.max(smooth / 2).max(interval);
        let long = time >= LONG && arrivals.count >= FEWEST_PACKETS;
        // It is judged even where nearly nothing arrives.
        let few = time > (8 * least).max(LONG) && arrivals.count >= FEWEST_PACKETS / 2;
        time >= least
            && (arrivals.count >= MANY_PACKETS || long || few || time > 64 * least.max(LONG))
    }

    /// Evaluates the arrivals at the last offer, if there are enough, and makes another.
    pub(crate) fn judge(&mut self) -> Option<Assessment> {
        if !self.is_enough() {
            return None;
        }
        let arrivals = self.arrivals?;
        self.judged = true;
        self.guessed = false;
        let lost = arrivals.lost();
        let queue = |rtt: u64| self.delay.queue(rtt);
        // Below the capacity there is no congestion loss, unless packets queue or it is very high.
        let below = self.dispersion.rate().is_some_and(|most| self.offered <= most);
        let waited = queue(arrivals.rtt?) > time_of(u64::from(self.pace().burst) + 2, self.offered);
        let possible = !below || waited || lost > self.loss.usual + MUCH;
        let found = Found {
            queue: queue(arrivals.rtt?),
            allowed: self.queue_allowed(),
            crowded: queue(arrivals.longest_rtt) > self.queue_allowed(),
            falls: queue(arrivals.last_rtt) * 8 < queue(arrivals.first_rtt) * 7,
            begins: queue(arrivals.first_rtt) < queue(arrivals.last_rtt) / 2
                && queue(arrivals.last_rtt) > self.queue_allowed(),
            passed: arrivals.passed(self.loss.usual),
            delivered: arrivals.delivered(),
            sure: arrivals.sure(),
            lost,
            missing: arrivals.missing(),
            packets: arrivals.went,
            trips: arrivals.trips,
            horizon: arrivals.last.saturating_sub(self.decided).max(arrivals.time())
                + self.delay.smooth,
            losing: possible && self.loss.is_more(lost, arrivals.went),
        };
        if found.packets >= FEWEST_PACKETS * 2 {
            self.dispersion.delivered(part(found.delivered, ONE - ONE * 2 / found.packets));
        }
        let ours = self.ours(&found);
        let bunched = arrivals.is_bunched();
        self.dispersion.see_bunches(bunched);
        if found.packets >= FEWEST_PACKETS {
            // Where packets come in bunches a queue is all that tells that the bottleneck is busy.
            let much = self.offered > ours + ours / 16 || self.dispersion.is_bunched();
            self.dispersion.filled(ours, much && found.queue > found.allowed);
        }
        let next = if self.phase == Phase::Start {
            self.climb(&found)
        } else if self.tolerance.judge(self.offered, found.losing) {
            // It is not the rate that is too high.
            self.offered
        } else {
            self.decide(&found)
        };
        self.offer(next);
        let offer = self.say();
        let Found { queue: queue_ns, passed, lost, .. } = found;
        Some(Assessment { offer, passed, queue_ns, lost })
    }

    /// Slow start: more from round trip to round trip, until the capacity is reached, a queue stands, or less
    /// comes than is sent.
    fn climb(&mut self, found: &Found) -> u64 {
        let sent = self.offered;
        let capacity = self.dispersion.rate();
        // Below the capacity a row of them may be chance.
        let row = if capacity.is_some_and(|most| sent <= most) { CLIMB_ROW } else { 3 };
        let many = found.missing >= row && found.lost > ONE / 8;
        let stands = found.queue > found.allowed;
        if many || stands || sent >= self.ceiling {
            self.phase = Phase::Steady;
            let came = found.delivered.min(capacity.unwrap_or(FASTEST)).min(sent);
            // A queue is drained within about a round trip.
            let drain =
                if stands { share(found.queue, found.horizon).min(ONE / 2) } else { ONE / 64 };
            // A few packets that were held back look like a slow path.
            let least = if found.packets < START_PACKETS { sent / 4 } else { 0 };
            return (came - part(came, drain)).max(least);
        }
        if found.passed < sent / 2 {
            // The sender does not follow.
            return sent;
        }
        match capacity {
            Some(capacity) if capacity - capacity / 64 <= sent.saturating_mul(CLIMB) => {
                self.phase = Phase::Steady;
                capacity - capacity / 64
            }
            Some(_) => sent * CLIMB,
            None => sent * FEEL,
        }
    }

    /// What to offer next.
    fn decide(&mut self, found: &Found) -> u64 {
        let sent = self.offered;
        if self.traffic.is_shared() {
            return self.share_with_others(found);
        }
        if let Some((before, least)) = self.drain.take() {
            return self.drained(before, least);
        }
        if let Some(before) = self.probe.take() {
            return self.probed(before, found);
        }
        let stands = found.queue > found.allowed;
        self.look_for_others(found, stands);
        if stands {
            return self.shorten(found);
        }
        self.traffic.none(found.queue);
        if found.packets < START_PACKETS {
            // Of retransmissions only arrivals are seen: nothing is learned about loss.
            return sent;
        }
        match self.loss.judge(sent, found.lost, found.losing) {
            Verdict::Usual => self.loss.learn(found.lost),
            Verdict::Try(rate) => {
                self.rooms = 0;
                // What comes is not too much.
                return rate.max((found.sure - found.sure / 64).min(sent));
            }
            Verdict::Chance(rate) => return rate,
            Verdict::Full(rate) => {
                self.rooms = 0;
                let came = (found.sure - found.sure / 64).min(sent);
                let rate = if found.losing { rate.max(came) } else { rate };
                self.full = Some(rate);
                if self.dispersion.rate().is_some_and(|most| rate < most / 2) {
                    // A policer: packets that leave together tell nothing of it.
                    self.dispersion.distrust();
                }
                return rate;
            }
        }
        if found.passed < part(sent, ONE * 17 / 20) {
            // The sender does not send as much as it may: nothing is learned from that.
            self.rooms = 0;
            return sent;
        }
        let (sent_before, missing) = self.probe_seen;
        self.probe_seen = (sent_before + found.packets, missing + found.missing);
        if self.is_to_probe() { self.begin_to_look(sent) } else { self.grow(found) }
    }

    /// What is lost more than usual.
    fn excess(&self, found: &Found) -> u64 {
        if found.losing { found.lost.saturating_sub(self.loss.usual) } else { 0 }
    }

    /// What the bottleneck carried of ours.
    fn ours(&self, found: &Found) -> u64 {
        part(found.passed, ONE - self.excess(found))
    }

    /// Whether the queue, or the loss, is due to cross traffic.
    fn look_for_others(&mut self, found: &Found, stands: bool) {
        let sent = self.offered;
        let (Some(rate), Some(sure)) = (self.dispersion.rate(), self.dispersion.sure()) else {
            return;
        };
        if found.trips < SURE || sent > rate {
            return;
        }
        // A standing queue while we use all of the bottleneck is ours.
        let ours = self.ours(found);
        // While it stands the bottleneck is busy: the rest of its capacity is used by cross traffic.
        let much = ours < sure - sure / 8;
        // All that is offered gets through: a new standing queue is due to cross traffic.
        let carried = sent.min(sure);
        let begins = found.begins && found.passed < carried - carried / 64;
        if !stands || much || begins || (ours < sure - sure / 64 && !found.falls) {
            self.traffic.sign(stands || begins);
        }
    }

    /// Probes for cross traffic at a lower rate, or at half the rate for a while.
    fn begin_to_look(&mut self, sent: u64) -> u64 {
        if self.probe_every >= DRAIN_EVERY * self.delay.smooth && !self.probe_told {
            self.drain = Some((sent, self.delay.least().unwrap_or(0)));
            return sent / 2;
        }
        self.begin_to_probe(sent)
    }

    /// Whether it is time to probe whether cross traffic causes the usual loss.
    fn is_to_probe(&mut self) -> bool {
        let now = self.last_arrival;
        if self.probe_at == 0 {
            self.probe_at = now + self.probe_every;
        }
        // A policer drops less at a lower rate, with or without cross traffic.
        let near = |most| self.offered <= most && self.offered >= most / 2;
        let below = self.dispersion.rate().is_some_and(near) && !self.dispersion.is_policed();
        let enough = self.probe_seen.1 >= PROBE_BEFORE * self.loss.row();
        below && enough && now >= self.probe_at && self.probe_packets() <= PROBE_PACKETS
    }

    /// Half was sent for a while. If the round trip is shorter by that than it ever was, the queue had been full since this
    /// session began: it is that of others, and so are the losses.
    fn drained(&mut self, before: u64, least: u64) -> u64 {
        let now_least = self.delay.least().unwrap_or(least);
        if now_least + SHORT_QUEUE.max(now_least / 16) >= least {
            return self.begin_to_probe(before);
        }
        self.loss.forget();
        self.probe_seen = (0, 0);
        self.probe_every = PROBE_EVERY;
        self.probe_at = self.last_arrival + PROBE_EVERY;
        before
    }

    fn begin_to_probe(&mut self, sent: u64) -> u64 {
        self.probe = Some(sent);
        sent - sent / 32
    }

    /// Packets that tell whether as many are lost of less.
    fn probe_packets(&self) -> u64 {
        let (sent, missing) = self.probe_seen;
        PROBE_ROWS * self.loss.row() * sent / missing.max(1)
    }

    /// Less was sent: if much less of it was lost, others are there, as the bottleneck carries what was sent before.
    fn probed(&mut self, before: u64, found: &Found) -> u64 {
        let (sent, missing) = core::mem::take(&mut self.probe_seen);
        let others = found.missing * sent * 4 < missing * found.packets;
        self.probe_every = if others { PROBE_EVERY } else { self.probe_every * 2 };
        // It is looked at twice, as chance may do it once.
        let told = core::mem::replace(&mut self.probe_told, others);
        let again = others && !told;
        self.probe_at = self.last_arrival + if again { 0 } else { self.probe_every };
        if again || !others {
            return before;
        }
        self.probe_told = false;
        self.loss.usual = found.lost;
        self.begin_to_share(found, before, true)
    }

    /// There is room: more is offered, the more the longer there has been, up to the capacity.
    fn grow(&mut self, found: &Found) -> u64 {
        let sent = self.offered;
        let known = self.full.unwrap_or(found.passed).max(found.passed.min(sent));
        self.full = Some(known);
        let most = self.dispersion.most().unwrap_or(FASTEST);
        if sent >= most - most / 64 {
            self.rooms += 1;
            let more = if self.rooms.is_multiple_of(TRY_MORE) { most / 64 } else { 0 };
            return most - most / 256 + more;
        }
        let rough = most == FASTEST || self.dispersion.is_rough();
        if rough && sent > known + known / 32 && found.passed <= known + known / 64 {
            // More is sent than arrives: it is full, and the queue has begun to grow.
            self.rooms = 0;
            return known - known / 64;
        }
        let step = share(found.allowed, found.horizon.max(1)).clamp(ONE / 100, ONE / 16);
        let far = most < FASTEST && sent < most / 2;
        let step = if far { ONE / 2 } else { (step << self.rooms.min(4)).min(ONE / 2) };
        self.rooms += 1;
        let from = if self.rooms == 1 { known.max(sent) } else { sent };
        (from + part(from, step)).min(most - most / 256)
    }

    /// The inputs of a decision with cross traffic.
    fn look(&mut self, found: &Found) -> Observation {
        // Where packets come in bunches a queue seems to stand at all times.
        let unclear = self.dispersion.is_bunched() && !self.traffic.is_queueless();
        let chance = unclear && self.loss.is_chance(self.missed, found.packets);
        let waits = LONGEST_QUEUE.max(time_of(16, self.offered));
        Observation {
            now: self.last_arrival,
            rtt: self.delay.smooth,
            full: self.dispersion.most().unwrap_or(self.traffic.before()),
            sure: self.dispersion.sure().unwrap_or(self.traffic.before()),
            sent: self.offered,
            came: found.delivered,
            stands: found.queue > found.allowed,
            crowded: found.crowded,
            losing: found.losing,
            missing: self.missed > 0 && !chance || found.queue > waits,
        }
    }

    /// There is cross traffic: our share from now on.
    fn begin_to_share(&mut self, found: &Found, before: u64, queueless: bool) -> u64 {
        let full = self.dispersion.most().unwrap_or(before);
        self.loss.watch();
        let look = Observation { full, ..self.look(found) };
        self.missed = 0;
        self.cut = true;
        self.traffic.begin(&look, queueless)
    }

    /// Cross traffic fills the queue, regardless of our rate.
    fn share_with_others(&mut self, found: &Found) -> u64 {
        let look = self.look(found);
        let next = self.traffic.rate(&look);
        self.missed = 0;
        self.cut = next.is_some_and(|next| next.1);
        // If it has ended the capacity is measured.
        next.map_or(self.offered, |next| next.0)
    }

    /// A standing queue: drained within an RTT, unless it is due to cross traffic.
    fn shorten(&mut self, found: &Found) -> u64 {
        let Found { queue, horizon, .. } = *found;
        let lost = self.excess(found);
        let passed = self.ours(found);
        let passed = passed.min(self.dispersion.rate().unwrap_or(found.delivered));
        self.rooms = 0;
        self.loss.reset();
        let Some(times) = self.traffic.stands(queue, passed) else {
            return self.begin_to_share(found, self.traffic.before(), false);
        };
        let carried = self.full.filter(|_| times > 1 && lost == 0).unwrap_or(passed);
        self.full = Some(carried);
        let drain = share(queue, horizon).min(ONE / 2);
        carried - part(carried, drain * 3 / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Controller;
    use crate::time::{Duration, Instant};

    /// A bottleneck with hardly any queue, and an obedient sender: the offered rates.
    fn offers(service_ns: u64, rtt_ns: u64, decisions: usize) -> std::vec::Vec<u64> {
        let mut path = Controller::new((2, 20), None);
        path.again((2, 20), true);
        let mut now = rtt_ns + service_ns;
        path.arrived(Instant(now), true, 1, false);
        path.answered(Instant(now), Duration::from_nanos(rtt_ns + service_ns));
        now += service_ns;
        path.arrived(Instant(now), true, 1, true);
        path.first_offer(Instant(now)).expect("two came");
        let mut offers = std::vec![path.offered()];
        while offers.len() < decisions {
            now += rtt_ns;
            path.in_force();
            let before = path.offered();
            let spacing = super::time_of(1, before).max(service_ns);
            for _ in 0..2_000_000 {
                now += 2 * spacing - service_ns;
                path.arrived(Instant(now), true, 1, false);
                path.answered(Instant(now), Duration::from_nanos(rtt_ns));
                now += service_ns;
                path.arrived(Instant(now), true, 1, true);
                if path.judge().is_some() {
                    break;
                }
            }
            offers.push(path.offered());
        }
        offers
    }

    #[test]
    fn two_packets_tell_a_slow_path_at_once() {
        // 9600 bit/s: 1.25 s for a packet of 1500 bytes.
        let offers = offers(1_250_000_000, 2_000_000, 4);
        assert!(offers.iter().all(|rate| (780..=815).contains(rate)), "{offers:?}");
    }

    #[test]
    fn slow_start_grows_from_round_trip_to_round_trip_up_to_the_capacity() {
        // 100 Mbit/s over 600 ms.
        let offers = offers(120_000, 600_000_000, 6);
        assert!(offers[0] < 107_000, "64 packets in a round trip: {offers:?}");
        let growth = offers.windows(2).map(|pair| pair[1] / pair[0]);
        assert!(growth.into_iter().all(|times| times <= 8), "{offers:?}");
        assert!((8_100_000..=8_470_000).contains(&offers[3]), "{offers:?}");
    }
}
