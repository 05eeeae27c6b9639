//! Arrivals of what was sent at one rate: received, lost, and duration.

use super::{ONE, millipps, share};

/// Packets that arrived since a rate came into force.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    /// The arrival before its first, and the last one.
    pub(super) since: u64,
    pub(super) last: u64,
    /// Time in which nothing came, though it should have.
    idle: u64,
    pub(super) count: u64,
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

    /// A packet came: `fresh` if not a retransmission; first transmissions advanced by `ahead`. `pause` is what the
    /// sender's clock does not explain.
    pub(super) fn came(&mut self, now: u64, fresh: bool, went: u64, pause: u64) {
        if self.since == 0 {
            // The first of a connection: the count starts here.
            self.since = now;
            self.last = now;
            return;
        }
        let gap = now - self.last;
        // Not if those that are missing took the time.
        if went <= 1 && gap > pause {
            self.idle += gap;
        }
        self.count += 1;
        self.last = now;
        self.went += went;
        self.fresh += u64::from(fresh);
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

    #[test]
    fn the_time_before_the_first_packet_of_a_connection_does_not_count() {
        let mut arrivals = Arrivals::new(0);
        for packet in 0..=10 {
            arrivals.came(19_000_000_000 + packet * 1_000_000, true, 2 - packet.min(1), 5_000_000);
        }
        assert_eq!((arrivals.time(), arrivals.delivered()), (10_000_000, 1_000_000));
    }

    #[test]
    fn missing_packets_were_sent_and_not_delivered() {
        let mut arrivals = Arrivals::new(1);
        // Every fourth is missing.
        for packet in (1..=40).filter(|packet| packet % 4 != 3) {
            let went = if packet % 4 == 0 { 2 } else { 1 };
            arrivals.came(packet * 1_000_000, true, went, 5_000_000);
        }
        assert_eq!((arrivals.lost(), arrivals.missing()), (ONE / 4, 10));
        assert_eq!((arrivals.passed(0), arrivals.delivered()), (1_000_000, 750_000));
    }

    #[test]
    fn sender_pause_is_not_path_time() {
        let mut arrivals = Arrivals::new(1);
        arrivals.came(1_000_000, true, 1, 5_000_000);
        arrivals.came(901_000_000, true, 1, 5_000_000);
        arrivals.came(902_000_000, true, 1, 5_000_000);
        assert_eq!(arrivals.delivered(), 1_500_000);
    }
}
