//! When the line carried which bytes: bytes accepted by the port go onto the line one after the other, at the
//! line's rate, whenever the line is not held.

use super::log::Hold;

/// The time of a byte on the line: `1000 / millicps` seconds, without rounding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rate {
    /// Characters in 1000 s; `None`: they take no time.
    pub(super) millicps: Option<u64>,
}

/// A second in the unit of [`Rate`].
const NS_PER_1000_S: u128 = 1_000_000_000_000;

impl Rate {
    /// The time of this many bytes, in nanoseconds.
    pub(super) fn time(self, bytes: u64) -> u64 {
        let ns =
            self.millicps.map_or(0, |rate| u128::from(bytes) * NS_PER_1000_S / u128::from(rate));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// The line was carrying bytes of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Busy {
    pub(super) from: u64,
    pub(super) to: u64,
    /// Their owner, as passed to [`Clock::put`].
    pub(super) what: usize,
    /// Bytes on the line so far, since the start.
    pub(super) bytes: u64,
}

/// Puts bytes onto the line.
#[derive(Clone, Debug)]
pub(super) struct Clock<'a> {
    rate: Rate,
    holds: &'a [Hold],
    /// When the line is free, and the fraction of a nanosecond.
    free: u64,
    parts: u128,
    bytes: u64,
    pub(super) busy: Vec<Busy>,
}

impl<'a> Clock<'a> {
    /// A line of this rate that is held at these times.
    pub(super) fn new(rate: Rate, holds: &'a [Hold]) -> Self {
        Self { rate, holds, free: 0, parts: 0, bytes: 0, busy: Vec::new() }
    }

    /// Puts `count` bytes onto the line that the port accepted at `time`.
    pub(super) fn put(&mut self, time: u64, count: u64, what: usize) {
        if time > self.free {
            self.free = time;
            self.parts = 0;
        }
        self.bytes += count;
        let Some(rate) = self.rate.millicps else {
            self.mark(self.free, self.free, what);
            return;
        };
        let parts = self.parts + u128::from(count) * NS_PER_1000_S;
        let mut left = u64::try_from(parts / u128::from(rate)).unwrap_or(u64::MAX);
        self.parts = parts % u128::from(rate);
        // Past holds are not needed again.
        let over = self.holds.iter().take_while(|hold| hold.to <= self.free).count();
        self.holds = &self.holds[over..];
        for hold in self.holds {
            let room = hold.from.saturating_sub(self.free);
            if left <= room {
                break;
            }
            self.mark(self.free, self.free + room, what);
            left -= room;
            self.free = self.free.max(hold.to);
        }
        let to = self.free.saturating_add(left);
        self.mark(self.free, to, what);
        self.free = to;
    }

    /// Puts `count` bytes onto the line at an observed time.
    pub(super) fn put_seen(&mut self, (from, to): (u64, u64), count: u64, what: usize) {
        self.bytes += count;
        self.free = self.free.max(to);
        self.mark(from, to, what);
    }

    fn mark(&mut self, from: u64, to: u64, what: usize) {
        match self.busy.last_mut() {
            Some(last) if last.what == what && last.to == from => {
                last.to = to;
                last.bytes = self.bytes;
            }
            _ => self.busy.push(Busy { from, to, what, bytes: self.bytes }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::log::HoldKind;
    use super::*;

    const CPS_960: Rate = Rate { millicps: Some(960_000) };

    #[test]
    fn bytes_follow_each_other_without_loss() {
        let mut clock = Clock::new(CPS_960, &[]);
        for _ in 0..960 {
            clock.put(0, 1, 0);
        }
        assert_eq!(clock.busy, [Busy { from: 0, to: 1_000_000_000, what: 0, bytes: 960 }]);
        clock.put(2_000_000_000, 96, 1);
        assert_eq!(
            clock.busy[1],
            Busy { from: 2_000_000_000, to: 2_100_000_000, what: 1, bytes: 1056 }
        );
    }

    #[test]
    fn a_hold_interrupts() {
        let hold = |from, to| Hold { from, to, kind: HoldKind::Flow };
        let holds = [hold(50_000_000, 80_000_000), hold(90_000_000, 200_000_000)];
        let mut clock = Clock::new(CPS_960, &holds);
        clock.put(0, 96, 7);
        let spans: Vec<_> = clock.busy.iter().map(|busy| (busy.from, busy.to)).collect();
        let expected = [(0, 50), (80, 90), (200, 240)].map(|(a, b)| (a * 1_000_000, b * 1_000_000));
        assert_eq!(spans, expected);
        // A byte that arrives during a hold waits for its end.
        let mut clock = Clock::new(CPS_960, &holds);
        clock.put(60_000_000, 96, 7);
        assert_eq!(clock.busy[0].from, 60_000_000, "an empty span marks where it was taken");
        assert_eq!(clock.busy.last().map(|busy| busy.to), Some(290_000_000));
    }

    #[test]
    fn a_line_of_no_time_takes_none() {
        let mut clock = Clock::new(Rate { millicps: None }, &[]);
        clock.put(5, 1000, 0);
        assert_eq!(clock.busy, [Busy { from: 5, to: 5, what: 0, bytes: 1000 }]);
    }
}
