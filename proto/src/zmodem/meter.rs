//! Measures the rate at which a full port takes bytes: that of the line behind it.
//!
//! USB adapters, terminal servers and pseudoterminals state a rate that the line does not have. A port that was full at two
//! moments has sent in between what it took: that is what the line carries, or less if the line stood still for a while.
//! So the best measurement counts.

use crate::time::{Duration, Instant};

/// The least time between the two moments.
const WINDOW: Duration = Duration::from_millis(500);
/// A port that takes less than this share of its rate overstates it.
const SHARE_PERCENT: u64 = 80;

/// A moment, and how many bytes the port had taken then.
type Mark = (Instant, u64);

/// What a port takes while it is full.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    /// When the first byte was given to the port.
    began: Option<Mark>,
    /// The port took less than all just then: full, unless it takes the rest at once.
    refused: Option<Mark>,
    /// When it was full first and last.
    full: Option<(Mark, Mark)>,
    /// When it was full before the measurement that is made now.
    window: Option<Mark>,
    /// For how long bytes have waited for the full port since then.
    busy: Duration,
    /// In bit/s at ten bits per byte.
    best_bps: u32,
}

impl Meter {
    /// The port, which had taken `before` bytes, has taken `taken`; `waits` if others wait for it still.
    pub(crate) fn took(&mut self, now: Instant, before: u64, taken: u64, waits: bool) {
        self.began.get_or_insert((now, before));
        let refused = self.refused.take();
        self.refused = waits.then_some((now, taken));
        if let Some(full) = refused.filter(|(at, _)| *at < now) {
            self.was_full(full, now - full.0);
        }
    }

    /// The port was full at a moment, and took more after `waited`.
    fn was_full(&mut self, full: Mark, waited: Duration) {
        let (first, _) = *self.full.get_or_insert((full, full));
        self.full = Some((first, full));
        let (begin, before) = *self.window.get_or_insert(full);
        let time = full.0 - begin;
        // A line that stands still, or a process without a processor, leaves the port not full.
        if time >= WINDOW && self.busy >= time / 5 * 3 {
            let bps = u128::from(full.1 - before) * 10_000_000_000 / time.as_nanos();
            self.best_bps = self.best_bps.max(u32::try_from(bps).unwrap_or(u32::MAX));
        }
        if time >= WINDOW {
            self.window = Some(full);
            self.busy = Duration::ZERO;
        }
        self.busy += waited;
    }

    /// What waited was withdrawn.
    pub(crate) fn withdrawn(&mut self) {
        self.refused = None;
    }

    /// If the line is slower than the port states: its rate, and how many of the `taken` bytes the port still holds.
    pub(crate) fn overstated(
        &self,
        stated_bps: u32,
        now: Instant,
        taken: u64,
    ) -> Option<(u32, u64)> {
        let bps = self.best_bps;
        if bps == 0 || u64::from(bps) * 100 >= u64::from(stated_bps) * SHARE_PERCENT {
            return None;
        }
        let ((begin, before), ((first, then), (last, at))) = (self.began?, self.full?);
        let sent = |time: Duration| {
            u64::try_from(time.as_nanos() * u128::from(bps) / 10_000_000_000).unwrap_or(u64::MAX)
        };
        let depth = (then - before).saturating_sub(sent(first - begin));
        Some((bps, (depth + (taken - at)).saturating_sub(sent(now - last)).min(depth)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A port of 4,096 bytes before a line of 3,840 bytes per second, for `ms`; `offered` bytes per millisecond. It is
    /// woken when 64 bytes are free.
    fn played(ms: u64, offered: u64) -> (Meter, u64) {
        let (mut meter, mut taken, mut waiting) = (Meter::default(), 0, 0);
        for now in 1..=ms {
            waiting = (waiting + offered).min(1000);
            let free = 4096 + now * 3840 / 1000 - taken;
            let took = if free < 64 { 0 } else { free.min(waiting) };
            if took > 0 {
                waiting -= took;
                meter.took(Instant(now * 1_000_000), taken, taken + took, waiting > 0);
                taken += took;
            }
        }
        (meter, taken)
    }

    #[test]
    fn a_full_port_shows_the_rate_of_its_line() {
        let (meter, taken) = played(4000, 12);
        let (bps, held) = meter.overstated(115_200, Instant(4 * SECOND), taken).expect("a rate");
        assert!((37_500..40_500).contains(&bps), "{bps}");
        assert!((3900..4200).contains(&held), "{held}");
        let (_, held) = meter.overstated(115_200, Instant(5 * SECOND), taken).expect("a rate");
        assert!(held < 400, "{held}");
        assert_eq!(meter.overstated(38_400, Instant(4 * SECOND), taken), None);
    }

    #[test]
    fn a_port_that_is_never_full_shows_nothing() {
        let (meter, taken) = played(4000, 3);
        assert_eq!(meter.overstated(115_200, Instant(4 * SECOND), taken), None);
        // One that was filled just now does not count, either.
        let (meter, taken) = played(600, 12);
        assert_eq!(meter.overstated(115_200, Instant(600_000_000), taken), None);
    }
}
