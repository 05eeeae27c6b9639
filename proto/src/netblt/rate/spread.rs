//! What the spread of bursts says of the bottleneck.
//!
//! ```text
//! sender      |||||                 |||||             a burst leaves at once
//! bottleneck  | | | | |             | | | | |         its packets follow one another there
//! receiver    | | | | |             | | | | |         and arrive as far apart: that is its rate
//! ```
//!
//! So each burst measures the bottleneck, whatever rate is sent and though no queue stands. What
//! disturbs it (others' packets between ours, a receiver that was away) mostly spreads a burst, and
//! what comes behind a packet that was late is closer together: so of eight trains the third
//! counts, and of all those the quickest. A lost packet ends a train: whether it passed the
//! bottleneck nobody knows.

use super::mpps;

/// Packets of a train, at most.
const TRAIN: u64 = 12;
/// Trains that are looked at together.
const TRAINS: u8 = 8;
/// A spread below this is the clock's, not the path's, in nanoseconds.
const FINEST: u64 = 100_000;

/// The trains that have come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    /// When the train under way began, and the packets that followed since.
    since: u64,
    count: u64,
    /// The last of it.
    last: u64,
    /// Packets that make a train.
    wanted: u64,
    /// The quickest three of the trains of late, and how many there were.
    quick: [u64; 3],
    trains: u8,
    /// The best of this period and of the one before.
    best: [u64; 2],
    /// Time of a packet at the best that was known last, or in the first burst.
    packet_ns: u64,
    /// Packets that came together, and when the first of them did.
    frame: u64,
    frame_since: u64,
    /// Bursts in a row that came together as a whole.
    whole: u8,
}

impl Spread {
    /// A packet came, and none is missing between the one before and it if `follows`. Bursts have so
    /// many packets.
    pub(super) fn came(&mut self, now: u64, follows: bool, burst: u64) {
        // Zero stands for no time at all.
        let now = now.max(1);
        let average = (self.last - self.since) / self.count.max(1);
        let pause = self.count >= 2 && now - self.last > 2 * average.max(1);
        // Where the bottleneck sends in frames, all of a frame come at once: a train goes from the
        // end of one frame to the end of another.
        let together = self.since > 0 && follows && 4 * (now - self.last) < self.packet_ns;
        self.frame(now, together, burst);
        if self.since == 0 || pause || !follows {
            self.interrupted();
            self.wanted = burst.saturating_sub(1).min(TRAIN);
            (self.since, self.last) = (now, now);
            return;
        }
        if together && self.count == 0 {
            (self.since, self.last) = (now, now);
            return;
        }
        if !together {
            self.finish();
        }
        (self.last, self.count) = (now, self.count + 1);
    }

    /// A packet came together with the one before it, or not. No frame has whole bursts again and again: then the
    /// first burst was slower than the bottleneck, as a host had something else to do.
    fn frame(&mut self, now: u64, together: bool, burst: u64) {
        if together {
            self.frame += 1;
            return;
        }
        let gaps = self.frame.saturating_sub(1);
        let time = self.last.saturating_sub(self.frame_since);
        // What was read at one time says nothing.
        let is_whole = gaps >= 3 && gaps >= burst.saturating_sub(1).min(TRAIN) && time >= FINEST;
        self.whole = if is_whole { self.whole + 1 } else { 0 };
        if self.whole == TRAINS {
            *self = Self { packet_ns: time / gaps, ..Self::default() };
        }
        (self.frame, self.frame_since) = (1, now);
    }

    /// The packet before was the last of a train, if that is long enough: a short time is measured over
    /// more packets.
    fn finish(&mut self) {
        let time = self.last - self.since;
        if self.wanted >= 3 && self.count >= self.wanted && time >= FINEST {
            self.note(mpps(self.count, time));
            (self.since, self.count) = (self.last, 0);
        }
    }

    /// The first burst was so quick.
    pub(super) fn expect(&mut self, rate: u64) {
        self.packet_ns = 1_000_000_000_000 / rate.max(1);
    }

    /// A train was so quick.
    fn note(&mut self, rate: u64) {
        let [first, second, third] = self.quick;
        self.quick = if rate > first {
            [rate, first, second]
        } else if rate > second {
            [first, rate, second]
        } else {
            [first, second, third.max(rate)]
        };
        self.trains += 1;
        if self.trains == TRAINS {
            self.best[0] = self.best[0].max(self.quick[2]);
            self.packet_ns = 1_000_000_000_000 / self.best[0].max(1);
            (self.quick, self.trains) = ([0; 3], 0);
        }
    }

    /// A packet came that was sent again: what is around it is no train, as nobody knows when it
    /// passed the bottleneck.
    pub(super) fn interrupted(&mut self) {
        self.finish();
        (self.since, self.last, self.count) = (0, 0, 0);
    }

    /// Another period begins: what came before the last one is forgotten.
    pub(super) fn next_period(&mut self) {
        if self.best[0] > 0 {
            self.best = [0, self.best[0]];
        }
    }

    /// What was measured is of no use any more.
    pub(super) fn forget(&mut self) {
        *self = Self { packet_ns: self.packet_ns, ..Self::default() };
    }

    /// What the bottleneck carries at most, in thousandths of packets per second, once known.
    pub(super) fn rate(&self) -> Option<u64> {
        Some(self.best[0].max(self.best[1])).filter(|rate| *rate > 0)
    }
}
