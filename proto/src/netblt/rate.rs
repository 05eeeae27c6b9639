//! Automatic rate control: the receiver's estimates from arrivals, and the rate that it offers
//! (docs/protocols/netblt.md §12 has the rules, docs/decisions/053 their reasons). The parts are pure and have
//! tests of their own:
//!
//! | part | question |
//! |---|---|
//! | [`arrivals`] | at what rate did packets arrive, and how many were lost? |
//! | [`delay`] | how long is the round trip, and how long the queue? |
//! | [`dispersion`] | what is the capacity of the bottleneck? |
//! | [`loss`] | is the loss random? |
//! | [`tolerance`] | how many packets may leave at once? |
//! | [`traffic`] | whose is the queue, and what share is left to cross traffic? |
//! | [`cubic`] | what share would TCP get? |
//! | [`pacing`] | when does the next packet leave? (the sender's) |
//! | [`values`] | which burst values in whole milliseconds give a rate? |
//!
//! Rates are in thousandths of packets per second (`millipps`), times in nanoseconds, shares in parts
//! of 65,536. Decisions are made one at a time: a rate is offered, waited for until the packets that arrive were
//! sent at it, and judged by what arrives then.

mod arrivals;
mod cubic;
mod decide;
mod delay;
mod dispersion;
mod loss;
pub(crate) mod pacing;
mod tolerance;
mod traffic;
mod values;

pub(crate) use values::rate_of;

use crate::time::{Duration, Instant};
use arrivals::{Arrivals, Clock};
use delay::Delay;
use dispersion::Dispersion;
use loss::Loss;
use pacing::Pace;
use tolerance::Tolerance;
use traffic::Traffic;
use values::Values;

/// One, in parts.
const ONE: u64 = 65_536;
/// Rates are kept within this.
const SLOWEST: u64 = 10;
const FASTEST: u64 = 4_000_000_000;
/// The first offer is at most this many packets per round trip, and a quarter of that where nothing is known of the
/// bottleneck.
const FIRST_PACKETS: u64 = 64;
/// The same if one of the first two does not come.
const FEWEST: u64 = 2;
/// The first packets are awaited that long at most.
const FIRST_WAIT: u64 = 3_000_000_000;
/// One in N bursts has an additional packet, which measures the bottleneck.
const EXTRA: u8 = 8;

/// The phase of the receiver's rate control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The first packets are awaited, since the first of them came.
    First { since: u64 },
    /// Slow start: several times as much from round trip to round trip.
    Start,
    /// As much as the path carries.
    Steady,
}

/// The rate that the receiver offers, and its estimators.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Controller {
    ceiling: u64,
    /// The sender is one of ours: it paces single packets, and marks which left together.
    paced: bool,
    phase: Phase,
    /// What is offered.
    offered: u64,
    /// The offer as burst values.
    values: Values,
    /// Arrivals at this rate; none until it is in force.
    arrivals: Option<Arrivals>,
    last_arrival: u64,
    /// When the last offer was made.
    decided: u64,
    delay: Delay,
    dispersion: Dispersion,
    loss: Loss,
    tolerance: Tolerance,
    traffic: Traffic,
    /// What the bottleneck carries of ours, when it was last seen full.
    full: Option<u64>,
    /// Decisions in a row that found room.
    rooms: u32,
    /// Probing at half the rate for a standing queue that was never seen empty: the previous rate, and the minimum RTT.
    drain: Option<(u64, u64)>,
    /// Probing at a lower rate whether cross traffic causes the usual loss: the previous rate.
    probe: Option<u64>,
    /// Packets that were sent and that were missing since that was tried.
    probe_seen: (u64, u64),
    /// The last time that was tried it was so.
    probe_told: bool,
    /// When that is tried next, and how long after that again.
    probe_at: u64,
    probe_every: u64,
    /// Losses since the last decision; with cross traffic, only of packets sent since the rate was cut.
    missed: u64,
    /// Packets that came after the first of those.
    behind: u64,
    cut: bool,
    /// The first offer was made though not both of the first packets had come.
    guessed: bool,
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
    u64::try_from((u128::from(a) << 16) / u128::from(b)).unwrap_or(u64::MAX)
}

fn millipps(packets: u64, ns: u64) -> u64 {
    let rate = u128::from(packets) * 1_000_000_000_000 / u128::from(ns.max(1));
    u64::try_from(rate).unwrap_or(FASTEST).min(FASTEST)
}

/// The time of N packets at a rate.
fn time_of(packets: u64, rate: u64) -> u64 {
    let ns = u128::from(packets) * 1_000_000_000_000 / u128::from(rate.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

impl Controller {
    /// A path of which nothing is known, with these burst values for the first packets.
    pub(crate) fn new(first: (u16, u16), ceiling: Option<u64>) -> Self {
        Self {
            ceiling: ceiling.unwrap_or(FASTEST),
            paced: false,
            phase: Phase::First { since: 0 },
            offered: rate_of(first),
            values: Values::new(rate_of(first), 0),
            arrivals: None,
            last_arrival: 0,
            decided: 0,
            delay: Delay::new(),
            dispersion: Dispersion::default(),
            loss: Loss::new(),
            tolerance: Tolerance::new(),
            traffic: Traffic::new(),
            full: None,
            rooms: 0,
            drain: None,
            probe: None,
            probe_seen: (0, 0),
            probe_told: false,
            probe_at: 0,
            probe_every: decide::PROBE_EVERY,
            missed: 0,
            behind: 0,
            cut: false,
            guessed: false,
            judged: false,
        }
    }

    /// Another connection over the same path: the estimates are kept. `paced`: between our own ends.
    pub(crate) fn again(&mut self, first: (u16, u16), paced: bool) {
        let known = *self;
        let fresh = Self::new(first, Some(known.ceiling));
        let (delay, tolerance) = (known.delay, known.tolerance);
        let mut loss = known.loss;
        loss.reset();
        *self = Self { paced, delay, loss, tolerance, ..fresh };
        if !matches!(known.phase, Phase::First { .. }) {
            self.phase = known.phase;
            self.judged = known.judged;
            self.full = known.full;
            self.offered = known.offered;
            self.dispersion = known.dispersion;
            self.values = self.values.then(self.offered, self.ceiling);
        }
    }

    /// Whether cross traffic fills the bottleneck.
    pub(crate) fn is_shared(&self) -> bool {
        self.traffic.is_shared()
    }

    /// Smoothed round trip, if any was measured.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        (self.delay.smooth > 0).then(|| Duration::from_nanos(self.delay.smooth))
    }

    /// The shortest round trip of late: the path without a queue.
    pub(crate) fn least_round_trip(&self) -> Option<Duration> {
        self.delay.least().map(Duration::from_nanos)
    }

    /// How much round trips vary.
    pub(crate) fn variance(&self) -> Duration {
        Duration::from_nanos(self.delay.varies)
    }

    /// The rate that is offered, in thousandths of packets per second.
    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    /// The values for a sender of our own kind.
    pub(crate) fn pace(&self) -> Pace {
        let burst = self.tolerance.burst(self.offered);
        let start = self.phase != Phase::Steady;
        Pace {
            rate: self.offered,
            // Where two come in one frame, four tell how far frames are apart.
            burst: match start {
                true if self.dispersion.is_together() => burst.max(4),
                true => burst.max(2),
                false => burst,
            },
            extra: if start || burst > 1 { 0 } else { EXTRA },
        }
    }

    /// Whether an offer was made.
    pub(crate) fn is_begun(&self) -> bool {
        !matches!(self.phase, Phase::First { .. })
    }

    /// Whether the sender follows an offer of ours.
    pub(crate) fn is_offered(&self) -> bool {
        self.arrivals.is_some() || self.judged
    }

    /// Packets that the path carries in this time at the rate that is offered.
    pub(crate) fn carries(&self, time: Duration) -> u64 {
        let packets = u128::from(self.offered) * time.as_nanos() / 1_000_000_000_000;
        u64::try_from(packets).unwrap_or(u64::MAX)
    }

    /// The time that N packets take.
    pub(crate) fn takes(&self, packets: u64) -> Duration {
        Duration::from_nanos(time_of(packets, self.offered))
    }

    /// The time from burst to burst.
    pub(crate) fn interval(&self) -> Duration {
        if self.paced {
            return self.takes(u64::from(self.pace().burst)).min(Duration::from_nanos(FIRST_WAIT));
        }
        Duration::from_millis(self.values.interval_ms())
    }

    /// A round trip was measured.
    pub(crate) fn answered(&mut self, now: Instant, after: Duration) {
        let rtt = (after.as_nanos() as u64).max(1);
        if self.delay.sample(now.as_nanos(), rtt) {
            self.dispersion.next_period();
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.round_trip(rtt);
        }
    }

    /// A packet of data came: `fresh` if it was not asked for; `went` is how far the first passes continued by it;
    /// `follows` if it left at once after the one before it.
    pub(crate) fn arrived(&mut self, now: Instant, fresh: bool, went: u64, follows: bool) {
        let now = now.as_nanos();
        if let Some(arrivals) = &mut self.arrivals {
            let burst = if self.paced { 2 } else { self.values.burst() };
            let spacing = time_of(1, self.offered);
            let pause = 4 * time_of(burst, self.offered).max(1_000_000);
            let service = self.dispersion.most_passed().map_or(spacing, |most| time_of(1, most));
            let service = service.min(spacing);
            arrivals.came(now, fresh, went, Clock { spacing, service, pause, follows });
        }
        if went > 1 {
            self.loss.hole(went - 1);
        }
        if !self.cut || self.arrivals.is_some() {
            self.behind = if self.missed > 0 { self.behind + 1 } else { 0 };
            self.missed = (self.missed + went).saturating_sub(u64::from(fresh));
        }
        self.last_arrival = now;
        match (fresh, went) {
            (true, 1) => self.dispersion.came(now, follows),
            // Something is missing between, or it was held back on the way.
            (true, _) if went > 1 => self.dispersion.came(now, false),
            _ => self.dispersion.interrupted(),
        }
        if self.phase == (Phase::First { since: 0 }) {
            self.phase = Phase::First { since: now.max(1) };
        }
    }

    /// When the first offer is made though the first packets tell nothing.
    pub(crate) fn first_due(&self) -> Option<Instant> {
        match self.phase {
            Phase::First { since } if since > 0 && self.paced => {
                let wait = self.delay.smooth.max(1_000_000) + self.delay.smooth / 4;
                Some(Instant(since + wait.min(FIRST_WAIT)))
            }
            _ => None,
        }
    }

    /// The first offer; `None` if one has been made, or it is too soon.
    pub(crate) fn first_offer(&mut self, now: Instant) -> Option<(u16, u16)> {
        let rtt = self.delay.smooth;
        if self.is_begun() && !self.guessed {
            return None;
        }
        if !self.paced {
            // By whole buffers only.
            self.phase = Phase::Start;
            let rate = self.offered * 2;
            self.offer(rate);
            return Some(self.say());
        }
        let few = millipps(FIRST_PACKETS, rtt.max(100_000));
        let told = match self.dispersion.rate() {
            Some(rate) if rtt > 0 => Some((rate - rate / 64).min(few)),
            // Two came within the clock's resolution, or in one frame.
            None if self.dispersion.is_quick() => Some(few / 4),
            _ => None,
        };
        // If two are further apart than it was awaited, one of them may have been held back.
        let told = told.filter(|rate| !self.guessed || *rate > self.offered);
        let wait = || self.first_due().is_some_and(|at| now >= at);
        // One of the two is lost, or late: pairs are retransmitted until two have come.
        let rate =
            told.or_else(|| wait().then(|| millipps(FEWEST, rtt.clamp(100_000, FIRST_WAIT))))?;
        self.guessed = told.is_none();
        self.phase = Phase::Start;
        self.offer(rate);
        Some(self.say())
    }

    fn offer(&mut self, rate: u64) {
        let rate = rate.clamp(SLOWEST, self.ceiling.max(SLOWEST));
        self.values = self.values.then(rate, self.ceiling);
        self.offered = if self.paced { rate } else { self.values.reached(rate).max(SLOWEST) };
        self.arrivals = None;
        self.decided = self.last_arrival;
    }

    /// The burst values to send now.
    pub(crate) fn say(&mut self) -> (u16, u16) {
        self.values.say(self.last_arrival, self.offered)
    }

    /// What arrives from now on was sent under the last offer.
    pub(crate) fn in_force(&mut self) {
        if self.arrivals.is_none() {
            self.arrivals = Some(Arrivals::new(self.last_arrival));
        }
    }
}
