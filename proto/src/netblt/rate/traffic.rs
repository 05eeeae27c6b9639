//! Cross traffic at the bottleneck: its detection, and our share.
//!
//! A queue that stands although less is sent is due to cross traffic. Then the rate is the larger of two. What the others leave:
//! more while no queue stands, less while one does, so that a flow which cannot fill the path keeps what it takes. And what
//! TCP with CUBIC would have ([`Cubic`]): those that do fill it get as much as it would leave to them, and so do several of
//! our own, wherever the queue stood when each of them began.

use super::cubic::Cubic;

/// Decisions with a queue that does not fall, in a row, when it is that of others.
const STUCK: u32 = 5;
/// What a queue counts that stands though less is sent than the bottleneck carries, and from which
/// sum on it is that of others; a decision without one takes one off.
const SIGN: u32 = 4;
const SIGNS: u32 = 10;
/// Time and round trips at nearly the bottleneck's capacity after which cross traffic is taken to have ended.
const ALONE: u64 = 3_000_000_000;
const ALONE_TRIPS: u64 = 16;
/// Time that flows which filled the queue may need to come back, and twice the time that a window needs.
const BACK: u64 = 10_000_000_000;
/// Meanwhile no more than this is sent, in sixteenths of the capacity: they come back the sooner.
const MOST: u64 = 11;
/// While a queue stands, no more is sent than came and this part of it: as the acknowledgements of TCP would have it.
const CLOCKED: u64 = 32;

/// Our rate with cross traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shared {
    /// What TCP would have.
    cubic: Cubic,
    /// What the others leave.
    rest: u64,
    /// It causes no visible queue: any loss means congestion.
    queueless: bool,
    /// A queue stood at some time before the last decision.
    crowded: bool,
    /// Until then nothing is taken but what TCP would have: they fill the queue until packets are lost.
    filled: u64,
    /// Since then nearly all that the bottleneck carries comes here, see [`ALONE`].
    alone: Option<u64>,
}

/// A decision with cross traffic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    pub(super) now: u64,
    pub(super) rtt: u64,
    /// Upper and lower bound of the capacity; the sent and the received rate.
    pub(super) full: u64,
    pub(super) sure: u64,
    pub(super) sent: u64,
    pub(super) came: u64,
    /// There is a standing queue; there was one at some time; the loss exceeds random loss.
    pub(super) stands: bool,
    pub(super) crowded: bool,
    pub(super) losing: bool,
    /// Packets are missing that were sent since less was offered last.
    pub(super) missing: bool,
}

/// Others at the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Traffic {
    /// Decisions in a row that found the queue as long as before, though less was sent.
    stuck: u32,
    last_queue: u64,
    signs: u32,
    /// The throughput when the standing queue appeared.
    before: u64,
    /// They fill the queue: this end keeps to its share.
    shared: Option<Shared>,
}

impl Traffic {
    pub(super) const fn new() -> Self {
        Self { stuck: 0, last_queue: 0, signs: 0, before: 0, shared: None }
    }

    /// Whether this end keeps to its share.
    pub(super) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether they only lose packets, and make no queue to speak of.
    pub(super) fn is_queueless(&self) -> bool {
        self.shared.is_some_and(|shared| shared.queueless)
    }

    /// A decision at a rate within the capacity found a queue, or none.
    pub(super) fn sign(&mut self, stands: bool) {
        self.signs = if stands { self.signs + SIGN } else { self.signs.saturating_sub(1) };
    }

    /// No queue stands.
    pub(super) fn none(&mut self, queue: u64) {
        self.stuck = 0;
        self.last_queue = queue;
    }

    /// Decisions in a row with a standing queue at this throughput; none if other flows fill it.
    pub(super) fn stands(&mut self, queue: u64, passed: u64) -> Option<u32> {
        if self.stuck == 0 {
            self.before = passed;
        }
        // A queue that does not fall although less is sent is not ours.
        let as_long = queue * 10 >= self.last_queue * 7 || self.stuck == 0;
        self.stuck = if as_long { self.stuck + 1 } else { 1 };
        self.last_queue = queue;
        (self.stuck < STUCK && self.signs < SIGNS).then_some(self.stuck)
    }

    /// The throughput when the standing queue appeared.
    pub(super) fn before(&self) -> u64 {
        self.before
    }

    /// Others fill the queue from now on (or lose packets, and make none to speak of): the rate to begin with.
    pub(super) fn begin(&mut self, look: &Observation, queueless: bool) -> u64 {
        let cubic = Cubic::new(look.now, look.full / 2, look.rtt);
        let half = cubic.rate(look.rtt);
        let rest = if queueless { half } else { look.came - look.came / 8 };
        let shared = Some(Shared { cubic, rest, queueless, crowded: true, filled: 0, alone: None });
        *self = Self { shared, before: look.full, ..Self::new() };
        rest.max(half)
    }

    /// The rate with cross traffic, and whether it was cut due to loss. `None` if it has ended.
    pub(super) fn rate(&mut self, look: &Observation) -> Option<(u64, bool)> {
        let shared = self.shared.as_mut()?;
        let nearly = look.came >= look.sure - look.sure / 16;
        shared.alone = shared.alone.or(Some(look.now)).filter(|_| nearly);
        if shared.alone.is_some_and(|since| look.now - since >= ALONE.max(ALONE_TRIPS * look.rtt)) {
            *self = Self::new();
            return None;
        }
        // A flow that fills a queue loses packets when it is full. Loss without a standing queue is random.
        let crowded = core::mem::replace(&mut shared.crowded, look.crowded) || look.crowded;
        let theirs = shared.queueless || crowded;
        let (missing, stands) = (look.missing && theirs, look.stands || look.losing && theirs);
        if missing {
            let least = shared.cubic.rate(look.rtt);
            shared.cubic.lost(look.now);
            if shared.rest <= least + least / 16 {
                shared.filled = look.now + BACK + 2 * shared.cubic.comes_back();
            }
        } else {
            shared.cubic.grow(look.now, look.rtt);
        }
        let least = shared.cubic.rate(look.rtt);
        shared.rest = match (shared.queueless, stands) {
            _ if look.now < shared.filled => least,
            (false, true) => look.sent - look.sent / 8,
            (false, false) => look.sent + look.sent / 16,
            (true, _) if missing || stands => least,
            (true, _) => look.sent + look.sent / 64,
        };
        let most = if look.now < shared.filled { look.full / 16 * MOST } else { look.full };
        shared.cubic.used(look.now, most, look.rtt);
        let clocked = if stands && !missing { look.came + look.came / CLOCKED } else { most };
        Some((shared.rest.max(least).min(most).min(clocked), missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persistent_queue_is_cross_traffic() {
        let mut traffic = Traffic::new();
        for decision in 1..STUCK {
            assert_eq!(traffic.stands(50, 1000), Some(decision));
        }
        assert_eq!(traffic.stands(45, 900), None);
        assert_eq!(traffic.before(), 1000);
        // One that does fall is ours.
        let mut traffic = Traffic::new();
        for queue in [50, 30, 15, 8, 4, 2] {
            assert_eq!(traffic.stands(queue, 1000), Some(1));
        }
    }

    /// The window grew while only a part of the bottleneck was taken, and three losses in a row changed nothing.
    #[test]
    fn loss_after_quiet_period_cuts_the_rate() {
        let (full, rtt, mut traffic) = (10_000_000, 20_000_000, Traffic::new());
        let at = |trip: u64, sent: u64| Observation {
            now: trip * rtt,
            rtt,
            came: full / 2,
            ..look(full, sent)
        };
        let mut sent = traffic.begin(&at(1, full), true);
        sent = traffic.rate(&Observation { missing: true, ..at(2, sent) }).expect("others").0;
        for trip in 3..500 {
            sent = traffic.rate(&at(trip, sent)).expect("others").0;
        }
        assert_eq!(sent, full / 16 * MOST, "at most this while they come back");
        let lost = Observation { missing: true, ..at(500, sent) };
        let after = traffic.rate(&lost).expect("others").0;
        assert!(after <= sent * 71 / 100, "{sent} {after}");
    }

    #[test]
    fn standing_queue_limits_the_rate_to_arrivals() {
        let (full, mut traffic) = (10_000_000, Traffic::new());
        let sent = traffic.begin(&look(full, full), false);
        let found = Observation { stands: true, came: full / 4, ..look(full, sent) };
        let next = traffic.rate(&found).expect("others").0;
        assert_eq!(next, full / 4 + full / 4 / CLOCKED);
    }

    fn look(full: u64, sent: u64) -> Observation {
        let (rtt, came) = (100_000_000, sent);
        Observation {
            now: rtt,
            rtt,
            full,
            sure: full,
            sent,
            came,
            stands: false,
            crowded: false,
            losing: false,
            missing: false,
        }
    }

    #[test]
    fn standing_queue_halves_the_rate_then_follows_tcp() {
        let (full, mut traffic) = (10_000_000, Traffic::new());
        let mut sent = traffic.begin(&look(full, full), false);
        for _ in 0..10 {
            let found = Observation { stands: true, crowded: true, ..look(full, sent) };
            sent = traffic.rate(&found).expect("others").0;
        }
        assert!(sent.abs_diff(full / 2) < full / 100, "{sent}");
        let found = Observation { stands: true, crowded: true, missing: true, ..look(full, sent) };
        let (after, cut) = traffic.rate(&found).expect("others");
        assert!(cut && after < sent * 9 / 10, "{sent} {after}");
    }

    #[test]
    fn small_share_is_kept_and_closed_share_is_freed() {
        let (full, mut traffic) = (10_000_000, Traffic::new());
        let mut sent = traffic.begin(&look(full, full), false);
        // They take a tenth; a queue stands when more is sent than the rest.
        for _ in 0..100 {
            let found = Observation {
                stands: sent > full * 9 / 10,
                crowded: sent > full * 9 / 10,
                ..look(full, sent)
            };
            sent = traffic.rate(&found).expect("others").0;
            assert!(sent > full * 3 / 4 && sent < full, "{sent}");
        }
        let later = |trips: u64| Observation { now: (trips + 1) * 100_000_000, ..look(full, full) };
        assert!((0..40).any(|trips| traffic.rate(&later(trips)).is_none()));
    }
}
