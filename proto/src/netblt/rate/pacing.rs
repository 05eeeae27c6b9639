//! The sender's clock: packets leave at a rate, one at a time or a few together.

use crate::time::{Duration, Instant};

/// The receiver's rate message, and the sender's pacing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pace {
    /// Thousandths of packets per second; 0 is not known yet.
    pub(crate) rate: u64,
    /// Packets that leave at once.
    pub(crate) burst: u16,
    /// One in N bursts has an additional packet, which measures the path; 0 is none.
    pub(crate) extra: u8,
}

/// Packets that leave before a rate is known: they tell one.
const FIRST: u16 = 2;
/// Burst interval where none is given, for the same rate.
const FIRST_WAIT: Duration = Duration::from_secs(3);
/// Bursts that start late by at most this do not delay those after them: on a busy machine one of a hundred
/// wakes up 4 to 24 ms late, and a path that waited in the meantime takes what it missed.
const LATE: Duration = Duration::from_millis(40);
/// Packets count as sent together if the clock advances by at most this between them.
const TOGETHER: Duration = Duration::from_micros(50);

/// When packets leave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    pub(crate) pace: Pace,
    /// When the next burst starts, and parts of a nanosecond.
    at: Instant,
    part: u64,
    /// Packets left of this burst.
    left: u16,
    bursts: u8,
    /// When the last packet left, if another of its burst may follow.
    last: Option<Instant>,
}

impl Pacer {
    /// A connection begins.
    pub(crate) fn new(now: Instant) -> Self {
        Self { at: now, ..Self::default() }
    }

    /// Another rate.
    pub(crate) fn set(&mut self, now: Instant, pace: Pace) {
        let before = core::mem::replace(&mut self.pace, pace);
        if before.rate == 0 {
            self.at = now;
            self.left = 0;
        } else if pace.rate > before.rate && self.at > now {
            // What was to wait for the old rate waits for the new one.
            let wait = self.at.since(now).as_nanos() * u128::from(before.rate);
            self.at = now + Duration::from_nanos((wait / u128::from(pace.rate.max(1))) as u64);
        }
    }

    /// Whether a packet may leave now.
    #[cfg(test)]
    fn is_due(&self, now: Instant) -> bool {
        self.left > 0 || now >= self.at
    }

    /// When the next burst starts.
    pub(crate) fn at(&self) -> Instant {
        self.at
    }

    /// Packets left of the current burst.
    pub(crate) fn left(&self) -> u16 {
        self.left
    }

    /// A packet leaves now; whether it left at once after the one before.
    pub(crate) fn leave(&mut self, now: Instant) -> bool {
        if self.left == 0 {
            self.start(now);
            self.last = None;
        }
        self.left -= 1;
        let follows = self.last.is_some_and(|last| now.since(last) <= TOGETHER);
        self.last = Some(now);
        follows
    }

    fn start(&mut self, now: Instant) {
        let Pace { rate, burst, extra } = self.pace;
        if rate == 0 {
            self.left = FIRST;
            self.at = now + FIRST_WAIT;
            return;
        }
        self.bursts = self.bursts.wrapping_add(1);
        let more = extra > 0 && self.bursts.is_multiple_of(extra);
        self.left = burst.max(1) + u16::from(more);
        let time = u128::from(self.left) * 1_000_000_000_000 + u128::from(self.part);
        let (ns, part) = (time / u128::from(rate), time % u128::from(rate));
        let interval = Duration::from_nanos(ns as u64);
        let late = now.since(self.at);
        let from = if late > interval.max(LATE) { now } else { self.at };
        self.at = from + interval;
        self.part = part as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends whenever it may, for this long: times, and which left back to back.
    fn run(pacer: &mut Pacer, until: u64) -> std::vec::Vec<(u64, bool)> {
        let mut left = std::vec::Vec::new();
        let mut now = pacer.at();
        while now.as_nanos() < until {
            while pacer.is_due(now) {
                left.push((now.as_nanos(), pacer.leave(now)));
            }
            now = pacer.at();
        }
        left
    }

    #[test]
    fn two_leave_before_a_rate_is_known() {
        let mut pacer = Pacer::new(Instant::ZERO);
        assert_eq!(run(&mut pacer, 2_000_000_000), [(0, false), (0, true)]);
        pacer.set(Instant(5), Pace { rate: 1000, burst: 1, extra: 0 });
        assert!(pacer.is_due(Instant(5)));
    }

    #[test]
    fn the_rate_is_kept_to_the_packet() {
        for (rate, burst, extra) in [(7, 1, 0), (833_333, 1, 8), (86_805_555, 3, 2)] {
            let mut pacer = Pacer::new(Instant::ZERO);
            pacer.set(Instant::ZERO, Pace { rate, burst, extra });
            let seconds = 1_000_000 / rate + 10;
            let left = run(&mut pacer, seconds * 1_000_000_000);
            let wanted = seconds * rate / 1000;
            let most = u64::from(burst) + 1;
            assert!((wanted..=wanted + most).contains(&(left.len() as u64)), "{rate}");
            let together = left.iter().filter(|packet| packet.1).count();
            assert_eq!(together > 0, burst > 1 || extra > 0, "{rate}");
        }
    }

    #[test]
    fn late_sender_catches_up_only_a_little() {
        let mut pacer = Pacer::new(Instant::ZERO);
        pacer.set(Instant::ZERO, Pace { rate: 1_000_000, burst: 1, extra: 0 });
        pacer.leave(Instant::ZERO);
        let away = Instant(1_000_000_000);
        let at_once = (0..10).take_while(|_| pacer.is_due(away) && !pacer.leave(away)).count();
        assert_eq!(at_once, 1);
        let late = Instant(1_040_000_000);
        let at_once = (0..99).take_while(|_| pacer.is_due(late) && !pacer.leave(late)).count();
        assert_eq!(at_once, 40);
        assert_eq!(pacer.at(), late + Duration::from_millis(1));
    }

    #[test]
    fn higher_rate_starts_at_once() {
        let mut pacer = Pacer::new(Instant::ZERO);
        pacer.set(Instant::ZERO, Pace { rate: 1_000, burst: 1, extra: 0 });
        pacer.leave(Instant::ZERO);
        pacer.set(Instant(500_000_000), Pace { rate: 100_000, burst: 1, extra: 0 });
        assert_eq!(pacer.at(), Instant(505_000_000));
    }
}
