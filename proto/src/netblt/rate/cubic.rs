//! What TCP with CUBIC (RFC 9438) would have of a bottleneck that it shares: a congestion window in packets, which is cut to
//! 0.7 when packets are lost, once in a round trip, and then grows by a cubic function of the time; where that is slower, as
//! Reno's would. With cross traffic at least this is sent, so that a flow that fills queues does not take everything.

use super::FASTEST;

/// A packet, in thousandths: windows are kept in these.
const PACKET: u64 = 1000;
/// What is left of the window after a loss, in tenths.
const LEFT: u64 = 7;
/// A window is never less than this, and never more.
const LEAST: u64 = 2 * PACKET;
const MOST: u64 = 1_000_000_000 * PACKET;
/// Growth lasts at most this long, in milliseconds.
const LONGEST_MS: i64 = 200_000;

/// A congestion window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cubic {
    window: u64,
    /// The window after the last loss, and when that was.
    from: u64,
    since: u64,
    /// The window to which the cubic function returns, and the time that takes, in milliseconds.
    top: u64,
    back_ms: i64,
}

/// The cube root, from below.
fn root(cube: u128) -> u64 {
    let (mut low, mut high) = (0_u64, 1 << 40);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if u128::from(middle).pow(3) <= cube {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// What this rate holds in a round trip.
fn held(rate: u64, rtt: u64) -> u64 {
    let packets = u128::from(rate) * u128::from(rtt) / 1_000_000_000;
    u64::try_from(packets).unwrap_or(MOST).clamp(LEAST, MOST)
}

impl Cubic {
    /// A window that has just been cut to this rate times the RTT.
    pub(super) fn new(now: u64, rate: u64, rtt: u64) -> Self {
        let window = held(rate, rtt);
        Self { window, from: window, since: 0, top: 0, back_ms: 0 }.begin(now, window * 10 / LEFT)
    }

    fn begin(mut self, now: u64, top: u64) -> Self {
        self.since = now;
        self.top = top.max(self.window);
        // 0.4 packets times the cube of the seconds.
        let below = u128::from(self.top - self.window);
        self.back_ms = root(below * 2_500_000_000 / u128::from(PACKET)) as i64;
        self.from = self.window;
        self
    }

    /// Packets were lost that were sent since the window was cut last.
    pub(super) fn lost(&mut self, now: u64) {
        // Who is still below the last top leaves room to those that came later.
        let top = if self.window < self.top { self.window * (10 + LEFT) / 20 } else { self.window };
        self.window = (self.window * LEFT / 10).max(LEAST);
        *self = self.begin(now, top);
    }

    /// No more than this rate was sent: a window that was not used up does not grow beyond that (RFC 9438, 5.8).
    pub(super) fn used(&mut self, now: u64, rate: u64, rtt: u64) {
        let window = held(rate, rtt);
        if window < self.window {
            self.window = window;
            *self = self.begin(now, window);
        }
    }

    /// The time in which it grows to what it was, in nanoseconds.
    pub(super) fn comes_back(&self) -> u64 {
        self.back_ms.unsigned_abs() * 1_000_000
    }

    /// The window at this time.
    pub(super) fn grow(&mut self, now: u64, rtt: u64) {
        let time = now.saturating_sub(self.since);
        let ms = (i64::try_from(time / 1_000_000).unwrap_or(LONGEST_MS)).min(LONGEST_MS);
        let away = i128::from((ms - self.back_ms).clamp(-LONGEST_MS, LONGEST_MS));
        let cubic = i128::from(self.top) + away.pow(3) * i128::from(PACKET) / 2_500_000_000;
        let cubic = u64::try_from(cubic.max(0)).unwrap_or(MOST);
        // As Reno would with this cut: 9/17 of a packet in a round trip.
        let reno = u128::from(self.from)
            + u128::from(time) * u128::from(PACKET * 9 / 17) / u128::from(rtt.max(1));
        let reno = u64::try_from(reno).unwrap_or(MOST);
        self.window = cubic.max(reno).max(self.from).clamp(LEAST, MOST);
    }

    /// The rate of this window, in thousandths of packets per second.
    pub(super) fn rate(&self, rtt: u64) -> u64 {
        let rate = u128::from(self.window) * 1_000_000_000 / u128::from(rtt.max(1));
        u64::try_from(rate).unwrap_or(FASTEST).min(FASTEST)
    }
}

#[cfg(test)]
mod tests {
    use super::super::millipps;
    use super::*;

    const RTT: u64 = 100_000_000;

    #[test]
    fn a_cut_window_comes_back_as_rfc_9438_says() {
        // 1000 packets in a round trip, cut to 700: K is the cube root of 1000 * 0.3 / 0.4, 9.09 s.
        let mut cubic = Cubic::new(0, millipps(700, RTT), RTT);
        assert_eq!((cubic.window, cubic.top), (700 * PACKET, 1000 * PACKET));
        assert_eq!(cubic.back_ms, 9085);
        cubic.grow(9_085_000_000, RTT);
        assert!(cubic.window.abs_diff(1000 * PACKET) < PACKET, "{cubic:?}");
        cubic.lost(9_085_000_000);
        assert!(cubic.window.abs_diff(700 * PACKET) < PACKET, "{cubic:?}");
    }

    #[test]
    fn a_small_window_grows_as_that_of_reno() {
        let mut cubic = Cubic::new(0, millipps(10, RTT), RTT);
        cubic.grow(17 * RTT, RTT);
        assert!((18_900..=19_100).contains(&cubic.window), "{cubic:?}");
        assert!(cubic.rate(RTT).abs_diff(millipps(19, RTT)) < 1000, "{cubic:?}");
    }

    #[test]
    fn a_window_that_is_not_used_up_does_not_grow() {
        let mut cubic = Cubic::new(0, millipps(10, RTT), RTT);
        for trip in 1..1000 {
            cubic.grow(trip * RTT, RTT);
            cubic.used(trip * RTT, millipps(20, RTT), RTT);
        }
        assert_eq!(cubic.window, 20 * PACKET);
        cubic.lost(1000 * RTT);
        assert_eq!(cubic.window, 14 * PACKET);
    }

    #[test]
    fn equal_losses_converge_to_equal_windows() {
        let (mut one, mut two) =
            (Cubic::new(0, millipps(900, RTT), RTT), Cubic::new(0, millipps(50, RTT), RTT));
        let mut now = 0;
        for _ in 0..3000 {
            now += RTT;
            one.grow(now, RTT);
            two.grow(now, RTT);
            if one.window + two.window > 1000 * PACKET {
                one.lost(now);
                two.lost(now);
            }
        }
        let (less, more) = (one.window.min(two.window), one.window.max(two.window));
        assert!(more * 10 <= less * 13, "{one:?} {two:?}");
    }
}
