//! When a link can deliver: mahimahi's traces, and even ones.

use std::fmt::Write as _;

/// Bytes of one opportunity [mahimahi, `link_queue.hh`: an MTU of 1500 and the 4 of a TUN device].
pub const OPPORTUNITY_BYTES: u64 = 1504;
/// The longest trace: a day at a gigabit would be more than this.
const MOST: usize = 50_000_000;
const MS: u64 = 1_000_000;

/// The opportunities of one direction: each lets [`OPPORTUNITY_BYTES`] through.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deliveries {
    /// At these milliseconds, which do not go back; then again from the last one on.
    Trace {
        /// At least one, and the last is not 0.
        times: Vec<u32>,
        /// It is not repeated: after the last one nothing is delivered.
        once: bool,
    },
    /// Evenly, at this many bit/s above 0.
    Even(u64),
}

impl Deliveries {
    /// Reads a file in mahimahi's format: a time in whole milliseconds per line; empty lines do not count.
    /// An error names its line.
    pub fn read(text: &[u8], once: bool) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|_| "expected lines of digits".to_owned())?;
        let mut times: Vec<u32> = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let bad = |say: &str| Err(format!("line {}: expected {say}, got `{line}`", index + 1));
            let digits = line.trim().bytes().all(|byte| byte.is_ascii_digit());
            let Some(time) = line.trim().parse::<u32>().ok().filter(|_| digits) else {
                return bad("a time in whole milliseconds");
            };
            if times.last().is_some_and(|last| *last > time) {
                return bad("a time that is not before the one above");
            }
            if times.len() >= MOST {
                return bad("at most 50 million lines");
            }
            times.push(time);
        }
        match times.last() {
            None => Err("expected at least one time in milliseconds".to_owned()),
            Some(0) => Err("expected a last time above 0, when the trace begins again".to_owned()),
            Some(_) => Ok(Self::Trace { times, once }),
        }
    }

    /// The text that [`Deliveries::read`] reads; `None` of even ones.
    pub fn write(&self) -> Option<String> {
        let Self::Trace { times, .. } = self else { return None };
        let mut text = String::new();
        for time in times {
            // Writing into a string does not fail.
            let _ = writeln!(text, "{time}");
        }
        Some(text)
    }

    /// When the opportunity of this number (from 0) is, in ns; `None` if there are fewer.
    pub fn at(&self, index: u64) -> Option<u64> {
        match self {
            Self::Even(rate) => {
                let bits = (u128::from(index) + 1) * u128::from(OPPORTUNITY_BYTES * 8);
                u64::try_from(bits * 1_000_000_000 / u128::from(*rate)).ok()
            }
            Self::Trace { times, once } => {
                let (round, place) = (index / times.len() as u64, index % times.len() as u64);
                let last = u64::from(*times.last()?);
                let ms = last.checked_mul(round)?.checked_add(u64::from(times[place as usize]))?;
                if *once && round > 0 { None } else { ms.checked_mul(MS) }
            }
        }
    }

    /// The number of the first opportunity at or after this time.
    pub fn first_from(&self, ns: u64) -> u64 {
        match self {
            Self::Even(rate) => {
                // The i-th is at floor((i + 1) x bits x 10^9 / rate).
                let bits = u128::from(OPPORTUNITY_BYTES * 8) * 1_000_000_000;
                let index = (u128::from(ns) * u128::from(*rate)).div_ceil(bits).max(1) - 1;
                let mut index = u64::try_from(index).unwrap_or(u64::MAX);
                while index > 0 && self.at(index - 1).is_some_and(|at| at >= ns) {
                    index -= 1;
                }
                index
            }
            Self::Trace { times, .. } => {
                let last = times.last().map_or(1, |last| u64::from(*last)).max(1);
                let ms = ns.div_ceil(MS);
                // One that falls on the beginning of a round is the last of the round before, too.
                let round = (ms / last).saturating_sub(u64::from(ms.is_multiple_of(last)));
                let inside = ms - round * last;
                let place = times.partition_point(|time| u64::from(*time) < inside);
                round.saturating_mul(times.len() as u64).saturating_add(place as u64)
            }
        }
    }

    /// Mean bit/s.
    pub fn rate_bps(&self) -> u64 {
        match self {
            Self::Even(rate) => *rate,
            Self::Trace { times, .. } => {
                let ms = times.last().map_or(1, |last| u64::from(*last)).max(1);
                times.len() as u64 * OPPORTUNITY_BYTES * 8 * 1000 / ms
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_and_begins_again_at_its_last_time() {
        let trace = Deliveries::read(b"1\n1\n\n4\n", false).expect("a trace");
        let at: Vec<u64> = (0..7).filter_map(|index| trace.at(index)).map(|ns| ns / MS).collect();
        assert_eq!(at, [1, 1, 4, 5, 5, 8, 9]);
        // 3 x 1504 bytes in 4 ms.
        assert_eq!(trace.rate_bps(), 9_024_000);
        for (ns, index) in [(0, 0), (MS, 0), (MS + 1, 2), (4 * MS, 2), (4 * MS + 1, 3), (8 * MS, 5)]
        {
            assert_eq!(trace.first_from(ns), index, "{ns}");
        }
        let once = Deliveries::read(b"1\n1\n4\n", true).expect("a trace");
        assert_eq!((once.at(2), once.at(3)), (Some(4 * MS), None));
        assert_eq!(trace.write().as_deref(), Some("1\n1\n4\n"));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, wanted) in [
            ("", "expected at least one time"),
            ("0\n0", "expected a last time above 0"),
            ("3\n2", "line 2: expected a time that is not before"),
            ("3\n+4", "line 2: expected a time in whole milliseconds, got `+4`"),
        ] {
            let bad = Deliveries::read(text.as_bytes(), false).unwrap_err();
            assert!(bad.starts_with(wanted), "{bad}");
        }
    }

    #[test]
    fn even_opportunities_are_1504_bytes_apart() {
        let even = Deliveries::Even(12_032_000);
        assert_eq!((even.at(0), even.at(9)), (Some(MS), Some(10 * MS)));
        for ns in [0, 1, MS, MS + 1, 5 * MS, 5 * MS + 1] {
            let index = even.first_from(ns);
            assert!(even.at(index).is_some_and(|at| at >= ns));
            assert!(index == 0 || even.at(index - 1).is_some_and(|at| at < ns), "{ns}");
        }
    }
}
