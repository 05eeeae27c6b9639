//! RATE messages to a sender of our own kind, and what comes back of them: the number of the last one that it had
//! is in each packet of data (docs/protocols/netblt.md §11). So each tells under which offer a packet left, and the
//! round trip.

use crate::netblt::packet::Mark;
use crate::time::{Duration, Instant};

/// Numbers whose times are kept.
const KEPT: usize = 64;
/// Numbers go up to here.
const NUMBERS: u16 = 1 << 14;
/// Between two reports at least.
const LEAST: Duration = Duration::from_millis(10);
/// While an offer is not in force its report is repeated: this many times before the interval grows.
const HURRIED: u32 = 16;
const SLOW: Duration = Duration::from_secs(1);

/// What was reported to the sender, and what it said of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reports {
    /// When the reports of these numbers left; 0 is never, or answered.
    left: [u64; KEPT],
    /// The number of the next.
    next: u16,
    /// The highest that came back.
    back: u16,
    /// From this number on reports bring the last offer, until it is in force.
    offer: Option<u16>,
    /// When the last one left, and how many since something came back.
    last: Option<Instant>,
    unanswered: u32,
    /// One is to leave as soon as it may.
    pub(super) wanted: bool,
}

/// `a` less `b`, of numbers that begin again.
fn ahead(a: u16, b: u16) -> i16 {
    ((a.wrapping_sub(b) << 2).cast_signed()) >> 2
}

impl Reports {
    pub(super) const fn new() -> Self {
        Self {
            left: [0; KEPT],
            next: 1,
            back: 0,
            offer: None,
            last: None,
            unanswered: 0,
            wanted: false,
        }
    }

    /// Another offer is made: the next report brings it.
    pub(super) fn offer(&mut self) {
        self.offer = Some(self.next);
        self.wanted = true;
        self.unanswered = 0;
        self.last = None;
    }

    /// A packet of data came with this mark: the round trip, if it tells one, and whether the last offer is in force
    /// from now on.
    pub(super) fn came(&mut self, now: Instant, mark: Mark) -> (Option<Duration>, bool) {
        let mut rtt = None;
        if ahead(mark.report, self.back) > 0 && ahead(mark.report, self.next) < 0 {
            self.back = mark.report;
            self.unanswered = 0;
            let slot = &mut self.left[usize::from(mark.report) % KEPT];
            let left = core::mem::take(slot);
            let known =
                left > 0 && usize::from(ahead(self.next, mark.report).unsigned_abs()) <= KEPT;
            rtt = known.then(|| now.since(Instant(left)));
        }
        let in_force = self.offer.is_some_and(|offer| ahead(mark.report, offer) >= 0);
        if in_force {
            self.offer = None;
        }
        (rtt, in_force)
    }

    /// A report leaves: its number.
    pub(super) fn leave(&mut self, now: Instant) -> u16 {
        let number = self.next;
        self.left[usize::from(number) % KEPT] = now.as_nanos().max(1);
        self.next = (number + 1) % NUMBERS;
        self.last = Some(now);
        self.unanswered += 1;
        self.wanted = false;
        number
    }

    /// When the next one leaves on its own: a quarter of a round trip after the last while packets come, and an
    /// offer again while it is not in force. `packets` is the time of a few packets.
    pub(super) fn due(&self, rtt: Duration, packets: Duration) -> Option<Instant> {
        let Some(last) = self.last else { return self.wanted.then_some(Instant::ZERO) };
        let every = (rtt / 4).max(LEAST).max(packets);
        if self.wanted {
            return Some(last + every);
        }
        let again = if self.unanswered > HURRIED { SLOW.max(every) } else { every.max(rtt / 2) };
        self.offer.map(|_| last + again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(report: u16) -> Mark {
        Mark { report, follows: false }
    }

    #[test]
    fn the_first_packet_with_a_number_tells_the_round_trip() {
        let mut reports = Reports::new();
        reports.offer();
        assert_eq!(reports.due(Duration::ZERO, Duration::ZERO), Some(Instant::ZERO));
        assert_eq!(reports.leave(Instant(1000)), 1);
        assert_eq!(reports.came(Instant(2000), mark(0)), (None, false));
        assert_eq!(reports.came(Instant(3000), mark(1)), (Some(Duration::from_nanos(2000)), true));
        assert_eq!(reports.came(Instant(4000), mark(1)), (None, false));
        // One that was never sent.
        assert_eq!(reports.came(Instant(5000), mark(900)), (None, false));
    }

    #[test]
    fn offer_is_retransmitted_until_in_force() {
        let (mut reports, rtt) = (Reports::new(), Duration::from_millis(100));
        reports.offer();
        reports.leave(Instant(0));
        assert_eq!(reports.due(rtt, Duration::ZERO), Some(Instant(50_000_000)));
        reports.leave(Instant(50_000_000));
        assert!(reports.came(Instant(150_000_000), mark(2)).1);
        assert_eq!(reports.due(rtt, Duration::ZERO), None);
        reports.wanted = true;
        assert_eq!(reports.due(rtt, Duration::ZERO), Some(Instant(75_000_000)));
    }

    #[test]
    fn numbers_begin_again() {
        let mut reports = Reports::new();
        for number in 1..40_000_u64 {
            let report = reports.leave(Instant(number));
            assert!(report < NUMBERS);
            assert_eq!(
                reports.came(Instant(number + 5), mark(report)).0,
                Some(Duration::from_nanos(5))
            );
        }
    }
}
