//! Arrivals of what was sent at one rate: received, lost, and duration.

use super::{ONE, millipps, share};

/// Jitter may squeeze together this many, and one more.
const BUNCH: u64 = 2;

/// What the sender's clock explains of a packet's arrival.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The time from packet to packet.
    pub(super) spacing: u64,
    /// The same at the bottleneck, as far as it is known.
    pub(super) service: u64,
    /// It does not explain a longer time in which nothing came.
    pub(super) pause: u64,
    /// This one left at once after the one before.
    pub(super) follows: bool,
}

/// Packets that arrived since a rate came into force.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    /// The arrival before its first, and the last one.
    pub(super) since: u64,
    pub(super) last: u64,
    /// Time in which nothing came though it should have, and that later packets did not make up for.
    idle: u64,
    pub(super) count: u64,
    /// Those that came much sooner after another than they can have left.
    squeezed: u64,
    /// One did not.
    led: bool,
    /// First passes of packets: how far they went, and how many of them came.
    pub(super) went: u64,
    pub(super) fresh: u64,
    /// The least round trip, and how many were measured.
    pub(super) rtt: Option<u64>,
    pub(super) trips: u32,
    /// The longest of them.
    pub(super) longest_rtt: u64,
    /// The first round trip, and the last.
    pub(super) first_rtt: u64,
    pub(super) last_rtt: u64,
}

impl Arrivals {
    pub(super) fn new(since: u64) -> Self {
        Self { since, last: since, ..Self::default() }
    }

    /// A packet came: `fresh` if not a retransmission; first transmissions advanced by `went`.
    pub(super) fn came(&mut self, now: u64, fresh: bool, went: u64, clock: Clock) {
        if self.since == 0 {
            // The first of a connection: the count starts here.
            self.since = now;
            self.last = now;
            return;
        }
        let gap = now - self.last;
        // As the sender's clock has it, or the bottleneck's.
        let usual = clock.spacing.max((self.time() - self.idle) / self.count.max(1));
        let due = usual.saturating_mul(went.max(1));
        let early = due.saturating_sub(gap);
        let close = gap < clock.service / 8;
        self.squeezed += u64::from(close && !clock.follows);
        // They were held back before the count began, with the one that came before them.
        self.led |= !close;
        let held = !self.led && self.squeezed > BUNCH;
        if went <= 1 && gap > clock.pause {
            // Not if those that are missing took the time.
            self.idle += gap;
        } else if held {
            self.since = self.since.saturating_sub(early);
        } else if close {
            // What a path or a host has held back comes in one bunch: that was no pause of the sender.
            self.idle = self.idle.saturating_sub(early);
        }
        self.count += 1;
        self.last = now;
        self.went += went;
        self.fresh += u64::from(fresh);
    }

    /// Whether packets came in bunches that the sender did not make.
    pub(super) fn is_bunched(&self) -> bool {
        self.squeezed > BUNCH && self.squeezed * 16 > self.count
    }

    pub(super) fn round_trip(&mut self, rtt: u64) {
        self.rtt = Some(self.rtt.map_or(rtt, |least| least.min(rtt)));
        if self.trips == 0 {
            self.first_rtt = rtt;
        }
        self.last_rtt = rtt;
        self.longest_rtt = self.longest_rtt.max(rtt);
        self.trips += 1;
    }

    pub(super) fn time(&self) -> u64 {
        self.last.saturating_sub(self.since)
    }

    /// Packets that are missing.
    pub(super) fn missing(&self) -> u64 {
        self.went.saturating_sub(self.fresh)
    }

    /// What is missing, in parts.
    pub(super) fn lost(&self) -> u64 {
        share(self.missing(), self.went.max(1)).min(ONE)
    }

    /// The rate at which packets were sent, as those that came and those that are missing tell. Of what is sent
    /// again only what arrives is seen: `usual` of it is lost.
    pub(super) fn passed(&self, usual: u64) -> u64 {
        let again = self.count.saturating_sub(self.fresh);
        let again = again * ONE / (ONE - usual.min(ONE)).max(ONE / 4);
        millipps(self.went + again, self.time().saturating_sub(self.idle))
    }

    /// The rate at which packets came.
    pub(super) fn delivered(&self) -> u64 {
        millipps(self.count, self.time().saturating_sub(self.idle))
    }

    /// The same with all pauses.
    pub(super) fn sure(&self) -> u64 {
        millipps(self.count, self.time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand packets per second, one by one.
    const CLOCK: Clock =
        Clock { spacing: 1_000_000, service: 1_000_000, pause: 5_000_000, follows: false };

    #[test]
    fn the_time_before_the_first_packet_of_a_connection_does_not_count() {
        let mut arrivals = Arrivals::new(0);
        for packet in 0..=10 {
            arrivals.came(19_000_000_000 + packet * 1_000_000, true, 2 - packet.min(1), CLOCK);
        }
        assert_eq!((arrivals.time(), arrivals.delivered()), (10_000_000, 1_000_000));
    }

    #[test]
    fn missing_packets_were_sent_and_not_delivered() {
        let mut arrivals = Arrivals::new(1);
        // Every fourth is missing.
        for packet in (1..=40).filter(|packet| packet % 4 != 3) {
            let went = if packet % 4 == 0 { 2 } else { 1 };
            arrivals.came(packet * 1_000_000, true, went, CLOCK);
        }
        assert_eq!((arrivals.lost(), arrivals.missing()), (ONE / 4, 10));
        assert_eq!((arrivals.passed(0), arrivals.delivered()), (1_000_000, 750_000));
    }

    #[test]
    fn sender_pause_is_not_path_time() {
        let mut arrivals = Arrivals::new(1);
        arrivals.came(1_000_000, true, 1, CLOCK);
        arrivals.came(901_000_000, true, 1, CLOCK);
        arrivals.came(902_000_000, true, 1, CLOCK);
        assert_eq!(arrivals.delivered(), 1_500_000);
    }

    /// Ten packets, held back for ten milliseconds.
    fn bunch(arrivals: &mut Arrivals, at: u64) {
        for packet in 0..10 {
            arrivals.came(at + packet * 2_000, true, 1, CLOCK);
        }
    }

    #[test]
    fn what_was_held_back_is_no_pause_of_the_sender() {
        let mut arrivals = Arrivals::new(1_000_000);
        for packet in 2..=30 {
            arrivals.came(packet * 1_000_000, true, 1, CLOCK);
        }
        bunch(&mut arrivals, 40_000_000);
        for packet in 41..=60 {
            arrivals.came(packet * 1_000_000, true, 1, CLOCK);
        }
        assert!(arrivals.is_bunched());
        assert!(arrivals.delivered().abs_diff(1_000_000) < 20_000, "{arrivals:?}");
    }

    #[test]
    fn a_count_that_begins_with_a_bunch_begins_when_it_was_held_back() {
        let mut arrivals = Arrivals::new(0);
        bunch(&mut arrivals, 1_000_000_000);
        // Jitter alone moves nothing.
        assert_eq!(arrivals.since, 1_000_000_000 - 7 * 998_000);
        for packet in 1..=10 {
            arrivals.came(1_000_000_000 + packet * 1_000_000, true, 1, CLOCK);
        }
        assert!((1_000_000..1_150_000).contains(&arrivals.delivered()), "{arrivals:?}");
        // Pairs that the sender made are no bunches.
        let mut arrivals = Arrivals::new(1_000_000_000);
        for packet in 1..=20 {
            let at = 1_000_000_000 + packet * 2_000_000;
            arrivals.came(at, true, 1, CLOCK);
            arrivals.came(at + 1_000, true, 1, Clock { follows: true, ..CLOCK });
        }
        assert!(!arrivals.is_bunched() && arrivals.since == 1_000_000_000);
    }
}
