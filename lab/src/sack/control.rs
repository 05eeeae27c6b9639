//! Congestion control: Reno [RFC 5681], CUBIC [RFC 9438], and HyStart++ in slow start [RFC 9406].
//!
//! All in whole numbers: bytes, nanoseconds, and of CUBIC's curve milliseconds.

/// Which.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Algorithm {
    /// [RFC 5681].
    Reno,
    /// [RFC 9438].
    #[default]
    Cubic,
}

/// Of HyStart++ [RFC 9406 §4.3].
const LEAST_THRESHOLD_NS: u64 = 4_000_000;
const MOST_THRESHOLD_NS: u64 = 16_000_000;
const SAMPLES: u32 = 8;
const SLOWER: u64 = 4;
const ROUNDS: u32 = 5;
/// What is counted of an acknowledgement in slow start, in segments (not paced) [RFC 9406 §4.3].
const MOST_SEGMENTS: u64 = 8;
/// Segments of the first window [RFC 6928].
const FIRST: u64 = 10;

/// Slow start's look at round trips.
#[derive(Clone, Debug)]
struct Start {
    /// The round ends when this has been acknowledged.
    round_end: u64,
    last_min: u64,
    min: u64,
    samples: u32,
    /// In conservative slow start: the round trip that it began with, and its rounds.
    careful: Option<(u64, u32)>,
}

/// CUBIC's curve since the last loss.
#[derive(Clone, Debug, Default)]
struct Cubic {
    /// The window at the last loss, in bytes.
    w_max: u64,
    /// When the epoch began; the window then, and what Reno would have, in bytes.
    epoch: Option<u64>,
    estimate: u64,
    prior: u64,
    /// Bytes that the estimate has not been given yet.
    rest: u64,
    /// From the epoch to the plateau, in ms.
    k_ms: u64,
}

/// A congestion window.
#[derive(Clone, Debug)]
pub(super) struct Control {
    algorithm: Algorithm,
    mss: u64,
    pub(super) window: u64,
    pub(super) threshold: u64,
    start: Start,
    cubic: Cubic,
    /// Acknowledged bytes that have not enlarged the window yet, times the window.
    credit: u128,
}

/// The cube root, rounded down.
fn cube_root(value: u128) -> u64 {
    let (mut low, mut high) = (0u64, 1 << 42);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if u128::from(middle).pow(3) <= value { low = middle } else { high = middle - 1 }
    }
    low
}

impl Control {
    pub(super) fn new(algorithm: Algorithm, mss: u64) -> Self {
        let start =
            Start { round_end: 0, last_min: u64::MAX, min: u64::MAX, samples: 0, careful: None };
        Self {
            algorithm,
            mss,
            window: FIRST * mss,
            threshold: u64::MAX,
            start,
            cubic: Cubic::default(),
            credit: 0,
        }
    }

    /// A round trip was measured.
    pub(super) fn sample(&mut self, rtt_ns: u64) {
        self.start.min = self.start.min.min(rtt_ns);
        self.start.samples += 1;
    }

    /// This many bytes were acknowledged, up to `ack`; data up to `next` is sent. `rtt_ns` is the smoothed time.
    pub(super) fn acknowledged(&mut self, now: u64, bytes: u64, ack: u64, next: u64, rtt_ns: u64) {
        if self.window < self.threshold {
            self.slow_start(bytes, ack, next);
        } else if self.algorithm == Algorithm::Reno {
            self.credit += u128::from(bytes) * u128::from(self.mss);
            let more = self.credit / u128::from(self.window);
            self.credit -= more * u128::from(self.window);
            self.window += more as u64;
        } else {
            self.along_the_curve(now, bytes, rtt_ns);
        }
    }

    /// Slow start, conservative once round trips have become longer.
    fn slow_start(&mut self, bytes: u64, ack: u64, next: u64) {
        let more = bytes.min(MOST_SEGMENTS * self.mss);
        self.window += if self.start.careful.is_some() { more / SLOWER } else { more };
        let start = &mut self.start;
        if start.samples >= SAMPLES && start.min != u64::MAX {
            match start.careful {
                None if start.last_min != u64::MAX => {
                    let threshold =
                        (start.last_min / 8).clamp(LEAST_THRESHOLD_NS, MOST_THRESHOLD_NS);
                    if start.min >= start.last_min + threshold {
                        start.careful = Some((start.min, 0));
                    }
                }
                Some((base, _)) if start.min < base => start.careful = None,
                _ => {}
            }
        }
        if ack >= start.round_end {
            start.round_end = next;
            start.last_min = start.min;
            start.min = u64::MAX;
            start.samples = 0;
            if let Some((_, rounds)) = &mut start.careful {
                *rounds += 1;
                if *rounds >= ROUNDS {
                    self.threshold = self.window;
                }
            }
        }
    }

    /// CUBIC's congestion avoidance [RFC 9438 §4.2 to 4.5].
    fn along_the_curve(&mut self, now: u64, bytes: u64, rtt_ns: u64) {
        let mss = u128::from(self.mss);
        let cubic = &mut self.cubic;
        if cubic.epoch.is_none() {
            cubic.epoch = Some(now);
            cubic.estimate = self.window;
            cubic.rest = 0;
            cubic.w_max = cubic.w_max.max(self.window);
            // K^3 = (W_max - cwnd) / C with C = 0.4 segments/s^3.
            let gap = u128::from(cubic.w_max - self.window) * 10_000_000_000 / (4 * mss);
            cubic.k_ms = cube_root(gap);
        }
        let since = now - cubic.epoch.unwrap_or(now);
        let curve = |ns: u64| {
            let ms = i128::from(ns / 1_000_000) - i128::from(cubic.k_ms);
            let more = ms.pow(3) * 4 * mss as i128 / 10_000_000_000;
            u64::try_from((i128::from(cubic.w_max) + more).max(0)).unwrap_or(u64::MAX)
        };
        // What Reno with the same decrease would have: 3 (1 - 0.7) / (1 + 0.7) = 9/17 a round trip, and 1 beyond
        // the window before the loss.
        let (up, down) = if cubic.estimate < cubic.prior { (9, 17) } else { (1, 1) };
        let all = u128::from(bytes) * mss * up + u128::from(cubic.rest);
        let by = u128::from(self.window) * down;
        cubic.estimate += (all / by) as u64;
        cubic.rest = (all % by) as u64;
        if curve(since) < cubic.estimate {
            self.window = self.window.max(cubic.estimate);
            return;
        }
        let target = curve(since + rtt_ns).clamp(self.window, self.window / 2 * 3);
        self.credit += u128::from(target - self.window) * u128::from(bytes);
        let more = self.credit / u128::from(self.window);
        self.credit -= more * u128::from(self.window);
        self.window += more as u64;
    }

    /// Data was lost while this much was under way: the window is made smaller, once per recovery.
    pub(super) fn lost(&mut self, flight: u64) {
        self.credit = 0;
        self.threshold = match self.algorithm {
            Algorithm::Reno => flight / 2,
            Algorithm::Cubic => {
                let cubic = &mut self.cubic;
                // Fast convergence [RFC 9438 §4.7].
                cubic.w_max =
                    if self.window < cubic.w_max { self.window * 17 / 20 } else { self.window };
                cubic.prior = self.window;
                cubic.epoch = None;
                flight.min(self.window) * 7 / 10
            }
        }
        .max(2 * self.mss);
        self.window = self.threshold;
    }

    /// The timer has expired: slow start from one segment.
    pub(super) fn timed_out(&mut self, flight: u64, again: bool) {
        if !again {
            self.lost(flight);
        }
        self.cubic.epoch = None;
        self.window = self.mss;
        self.start.careful = None;
        self.start.last_min = u64::MAX;
        self.start.min = u64::MAX;
        self.start.samples = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn reno_adds_a_segment_for_each_window_and_halves() {
        let mut control = Control::new(Algorithm::Reno, 1000);
        control.lost(100_000);
        assert_eq!(control.window, 50_000);
        (0..50).for_each(|_| control.acknowledged(0, 1000, 0, 0, MS));
        assert!((50_980..=51_000).contains(&control.window), "{}", control.window);
    }

    #[test]
    fn cubic_is_back_at_its_window_after_k_seconds() {
        assert_eq!([0, 26, 27, 1_000_000_000_000].map(cube_root), [0, 2, 3, 10_000]);
        let mut control = Control::new(Algorithm::Cubic, 1000);
        control.window = 100_000;
        control.threshold = 0;
        control.lost(100_000);
        assert_eq!(control.window, 70_000);
        // K = cbrt(30 / 0.4) = 4.217 s; with 1 s a round Reno's estimate stays below for some time.
        let mut at = 0;
        while at < 4300 {
            for _ in 0..10 {
                control.acknowledged(at * MS, control.window / 100, 0, 0, 100 * MS);
            }
            at += 10;
        }
        assert_eq!(control.cubic.k_ms, 4217);
        assert!((97_000..102_000).contains(&control.window), "{}", control.window);
    }

    #[test]
    fn slow_start_ends_when_round_trips_become_longer() {
        let mut control = Control::new(Algorithm::Cubic, 1000);
        let (mut ack, mut rtt, mut rounds) = (0, 20 * MS, 0);
        while control.window < control.threshold && rounds < 40 {
            let next = ack + control.window;
            while ack < next {
                ack += 1000;
                control.sample(rtt);
                control.acknowledged(0, 1000, ack, ack + control.window, rtt);
            }
            rounds += 1;
            // A queue of 5 ms more each round from the 4th on.
            rtt += if rounds >= 4 { 5 * MS } else { 0 };
        }
        // Doubled five times or so, and then five careful rounds of a quarter.
        assert!((8..14).contains(&rounds), "{rounds}");
        assert!(control.window < 1_500_000, "{}", control.window);
    }
}
