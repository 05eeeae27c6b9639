//! When the characters of one direction pass a point of the line.
//!
//! Characters that follow each other without a pause form a run. A run knows when its first
//! character begins and how many there are; the rest is division. The remainder of a character's
//! time is carried through the run, so the k-th character of a run ends exactly at
//! floor(k * bits * 10^9 / rate) nanoseconds after its begin, however long the run is.

use std::collections::VecDeque;

/// The time that one character takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CharTime {
    /// Whole nanoseconds.
    whole: u64,
    /// And this many `rate`-ths of a nanosecond.
    part: u64,
    /// Bits per second; 0 means no time at all.
    rate: u64,
}

impl CharTime {
    pub(crate) fn new(rate_bps: u64, bits: u32) -> Self {
        let total = u64::from(bits) * 1_000_000_000;
        match rate_bps {
            0 => Self { whole: 0, part: 0, rate: 0 },
            rate => Self { whole: total / rate, part: total % rate, rate },
        }
    }

    /// The time after `count` characters, if `carry` parts were left over before: (ns, parts).
    pub(crate) fn after(self, carry: u64, count: u64) -> (u64, u64) {
        if self.rate == 0 {
            return (0, 0);
        }
        // All three below 2^31, as in every real case: the products fit in 64 bits.
        if (count | self.rate | self.whole) < 1 << 31 {
            let parts = carry + count * self.part;
            return (count * self.whole + parts / self.rate, parts % self.rate);
        }
        let parts = u128::from(carry) + u128::from(count) * u128::from(self.part);
        let rate = u128::from(self.rate);
        let ns = u128::from(count) * u128::from(self.whole) + parts / rate;
        (u64::try_from(ns).unwrap_or(u64::MAX), (parts % rate) as u64)
    }

    /// How many characters end within `ns`, at most `limit`.
    fn count_within(self, carry: u64, ns: u64, limit: u64) -> u64 {
        if self.rate == 0 {
            return limit;
        }
        // The k-th ends at floor((carry + k * total) / rate), which is <= ns if and only if
        // carry + k * total < (ns + 1) * rate.
        // At the usual rates both products fit in 64 bits for days.
        let product = ns.saturating_add(1).checked_mul(self.rate);
        if let (Some(room), Some(total)) = (product, self.whole.checked_mul(self.rate)) {
            return (room.saturating_sub(carry + 1) / (total + self.part)).min(limit);
        }
        let rate = u128::from(self.rate);
        let total = u128::from(self.whole) * rate + u128::from(self.part);
        let room = ((u128::from(ns) + 1) * rate).saturating_sub(u128::from(carry) + 1);
        u64::try_from(room / total).unwrap_or(u64::MAX).min(limit)
    }
}

/// Characters without a pause between them.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// When the first one begins, in ns.
    start: u64,
    /// Parts of a nanosecond left over at that time.
    carry: u64,
    /// How many.
    count: u64,
}

/// The runs that have not passed yet.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    time: CharTime,
    runs: VecDeque<Run>,
    count: u64,
    /// When the last character ends: (ns, parts).
    end: (u64, u64),
}

impl Timeline {
    pub(crate) fn new(time: CharTime) -> Self {
        Self { time, runs: VecDeque::new(), count: 0, end: (0, 0) }
    }

    /// Adds characters that begin at `start`, or when those before have ended if that is later.
    pub(crate) fn push(&mut self, start: u64, count: u64) {
        if count == 0 {
            return;
        }
        let follows = start <= self.end.0;
        let (start, carry) = if follows { self.end } else { (start, 0) };
        let (ns, parts) = self.time.after(carry, count);
        self.end = (start.saturating_add(ns), parts);
        self.count += count;
        match self.runs.back_mut() {
            // Without a rate a run has no length, and may only grow at its own moment.
            Some(run) if follows && (self.time.rate != 0 || run.start == start) => {
                run.count += count;
            }
            _ => self.runs.push_back(Run { start, carry, count }),
        }
    }

    /// When the first character that is left ends.
    pub(crate) fn next(&self) -> Option<u64> {
        let run = self.runs.front()?;
        Some(run.start.saturating_add(self.time.after(run.carry, 1).0))
    }

    /// When the `n`-th (1-based) character that is left ends.
    pub(crate) fn nth(&self, mut n: u64) -> Option<u64> {
        for run in &self.runs {
            if n <= run.count {
                return Some(run.start.saturating_add(self.time.after(run.carry, n).0));
            }
            n -= run.count;
        }
        None
    }

    /// Removes the characters that have ended by `now`, at most `limit`, and counts them.
    pub(crate) fn pass(&mut self, now: u64, limit: u64) -> u64 {
        let mut passed = 0;
        while let Some(run) = self.runs.front_mut() {
            let Some(elapsed) = now.checked_sub(run.start) else { break };
            let most = run.count.min(limit - passed);
            let count = self.time.count_within(run.carry, elapsed, most);
            if count == 0 {
                break;
            }
            passed += count;
            if count == run.count {
                self.runs.pop_front();
            } else {
                let (ns, parts) = self.time.after(run.carry, count);
                run.start += ns;
                run.carry = parts;
                run.count -= count;
            }
        }
        self.count -= passed;
        passed
    }

    /// Takes back the characters that begin at `at` or later, and counts them.
    pub(crate) fn retract(&mut self, at: u64) -> u64 {
        let mut taken = 0;
        while let Some(run) = self.runs.back_mut() {
            let keep = match at.checked_sub(run.start) {
                None | Some(0) => 0,
                // The characters that end before `at`, and the next one.
                Some(ns) => {
                    (self.time.count_within(run.carry, ns - 1, run.count) + 1).min(run.count)
                }
            };
            taken += run.count - keep;
            let (ns, parts) = self.time.after(run.carry, keep);
            self.end = (run.start.saturating_add(ns), parts);
            if keep > 0 {
                run.count = keep;
                break;
            }
            self.runs.pop_back();
        }
        self.count -= taken;
        taken
    }

    /// How many characters are left.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// When the last character ends or ended.
    pub(crate) fn free_at(&self) -> u64 {
        self.end.0
    }
}
