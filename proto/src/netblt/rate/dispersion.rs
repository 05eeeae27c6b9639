//! The capacity of the bottleneck by the dispersion of packets that were sent together.
//!
//! ```text
//! sender      ||                ||                two packets leave at once
//! bottleneck  | |               | |               they follow one another there
//! receiver    | |               | |               and arrive as far apart: that is its rate
//! ```
//!
//! So two packets reveal the capacity at any rate, even without a standing queue. Other packets between
//! them, or a receiver that was away, mostly spread them, and what comes after a packet that was late is closer
//! together: so of eight measurements the third quickest counts, and of all those the quickest. Where two packets
//! take less time than clocks tell, several bursts are one measurement. Where some come in one frame and others in
//! two (a satellite's slots), the mean counts. What is delivered is never more than the capacity.
//!
//! Where packets are held back on the way, the quickest of many are much quicker than the bottleneck, but as many are
//! slower. So the middle of each set is kept as well, smoothed, and how much it varies: the capacity is within that of the
//! middle, as long as others do not come between most of the pairs. The variation is smoothed from zero, so the bounds are too
//! close to the middle at first: where pairs are stretched or squeezed by up to a quarter, both hold for a third of a thousand
//! seeds after 4 sets, for 3 in 4 after 8, and for 99 in 100 from 20 on. That what passes is less than the capacity, because
//! other traffic has the rest, is concluded from the lower of the two.
//!
//! A busy host reads several packets at once, and a radio that slept hands them over so: most pairs are too close then, and
//! none of this holds. Then what passed at most while the bottleneck was busy ([`Dispersion::filled`]) bounds what is concluded:
//! others who give way to us have let as much pass, and those who never do are no different from a slower path.

use super::millipps;

/// Measurements that are looked at together.
const SET: u8 = 8;
/// Of which the quickest are kept, up to the one in the middle.
const QUICKEST: usize = 5;
/// Least samples for a mean: a period lasts until it has that many, if any.
const MEANS: u8 = 64;
/// A time below this is the clock's, not the path's, in nanoseconds.
const FINEST: u64 = 100_000;

/// Decisions for which bunches are remembered.
const BUNCHED: u8 = 64;

/// Packets that come closer to one another came in one frame, or were read at one time.
const FRAME: u64 = 1_000;

/// Estimates from packets sent together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dispersion {
    /// When the last packet came that may start a pair; 0 is none.
    last: u64,
    /// Packets that followed another, and the time they took, of the current measurement.
    count: u64,
    time: u64,
    /// The quickest of the current set, and its size.
    quick: [u64; QUICKEST],
    set: u8,
    /// All that followed in this set, and their time; and some came in one frame.
    together: bool,
    sum: (u64, u64),
    frames: bool,
    /// What sets tell in their middle, smoothed, and how much that varies.
    middle: u64,
    varies: u64,
    /// Means measured in this period.
    means: u8,
    /// The best of this period and of the one before.
    best: [u64; 2],
    /// What passed at most since the bottleneck was busy all the time, of this period and of the one before; 0 is none.
    filled: [u64; 2],
    /// Decisions for which pairs tell nothing, as packets came in bunches.
    bunched: u8,
    /// It is not believed in this period and in the next.
    doubt: u8,
    /// It was not.
    policed: bool,
}

impl Dispersion {
    /// A packet came, and the sender says whether it left at once after the one before, which came.
    pub(super) fn came(&mut self, now: u64, follows: bool) {
        if follows && self.last > 0 {
            let gap = now - self.last;
            self.count += 1;
            self.time += gap;
            if self.time >= FINEST {
                let rate = millipps(self.count, self.time);
                self.frames |= self.count > 1 && gap > self.time / 5 * 4;
                self.sum = (self.sum.0 + self.count, self.sum.1 + self.time);
                self.count = 0;
                self.time = 0;
                self.note(rate);
            }
        }
        if !follows {
            // Packets of one frame reveal nothing until the next frame comes.
            self.together = self.count > 0 && self.time < self.count * FRAME;
            if self.together {
                self.count = 0;
                self.time = 0;
            }
        }
        self.last = now.max(1);
    }

    /// Whether the last packets that were sent together came in one frame.
    pub(super) fn is_together(&self) -> bool {
        self.together
    }

    /// What comes next follows nothing.
    pub(super) fn interrupted(&mut self) {
        self.last = 0;
    }

    fn note(&mut self, rate: u64) {
        let at = self.quick.iter().position(|quick| rate > *quick);
        if let Some(at) = at {
            self.quick[at..].rotate_right(1);
            self.quick[at] = rate;
        }
        self.set += 1;
        if self.set == SET {
            let rate = if self.frames { millipps(self.sum.0, self.sum.1) } else { self.quick[2] };
            self.best[0] = self.best[0].max(rate);
            self.means = self.means.saturating_add(u8::from(self.frames));
            let [.., fourth, fifth] = self.quick;
            self.tell(if self.frames { rate } else { fourth.midpoint(fifth) });
            self.quick = [0; QUICKEST];
            self.set = 0;
            self.sum = (0, 0);
            self.frames = false;
        }
    }

    /// The median of a set.
    fn tell(&mut self, middle: u64) {
        if self.middle == 0 {
            self.middle = middle;
        } else {
            self.varies = (self.varies * 7 + self.middle.abs_diff(middle)) / 8;
            self.middle = (self.middle * 7 + middle) / 8;
        }
    }

    /// Lower bound of the capacity, by most pairs; see above for how often it is one.
    pub(super) fn sure(&self) -> Option<u64> {
        let rate = self.rate()?;
        let middle = self.middle.saturating_sub(self.varies);
        let pairs = if self.middle == 0 { rate } else { rate.min(middle) };
        let filled = self.most_passed().filter(|_| self.bunched > 0);
        Some(filled.map_or(pairs, |filled| pairs.min(filled + filled / 32)))
    }

    /// Whether packets came in bunches that the sender did not make.
    pub(super) fn see_bunches(&mut self, bunched: bool) {
        self.bunched = if bunched { BUNCHED } else { self.bunched.saturating_sub(1) };
    }

    /// This rate of ours passed; `full` if the bottleneck was busy all the time.
    pub(super) fn filled(&mut self, ours: u64, full: bool) {
        if full || self.filled != [0; 2] {
            self.filled[0] = self.filled[0].max(ours);
        }
    }

    /// What passed at most since the bottleneck was busy all the time.
    pub(super) fn most_passed(&self) -> Option<u64> {
        Some(self.filled[0].max(self.filled[1])).filter(|most| *most > 0)
    }

    /// Whether packets came in bunches of late.
    pub(super) fn is_bunched(&self) -> bool {
        self.bunched > 0
    }

    /// Upper bound of the capacity, by most pairs.
    pub(super) fn most(&self) -> Option<u64> {
        let rate = self.rate()?;
        // Pairs may be too dispersed to tell anything.
        let blind = self.middle == 0 || self.varies > self.middle / 4;
        let pairs = if blind { rate } else { rate.min(self.middle + self.varies) };
        let filled = self.most_passed().filter(|_| self.bunched > 0);
        Some(filled.map_or(pairs, |filled| pairs.min(filled + filled / 16)))
    }

    /// Whether pairs are so dispersed that they tell the capacity only roughly.
    pub(super) fn is_rough(&self) -> bool {
        self.varies > self.middle / 32
    }

    /// Whether gaps so far were below the clock's resolution.
    pub(super) fn is_quick(&self) -> bool {
        self.count > 0
    }

    /// Starts another period: what is older than the last one is dropped.
    pub(super) fn next_period(&mut self) {
        if self.best[0] > 0 && (self.means == 0 || self.means >= MEANS) {
            self.best = [0, self.best[0]];
            self.means = 0;
        }
        self.filled = [0, self.filled[0]];
        self.doubt = self.doubt.saturating_sub(1);
    }

    /// It does not limit the rate: ignored in this period and in the next.
    pub(super) fn distrust(&mut self) {
        self.doubt = 2;
        self.policed = true;
    }

    /// Whether something else has limited the rate.
    pub(super) fn is_policed(&self) -> bool {
        self.policed
    }

    /// A delivered rate: the capacity is not less.
    pub(super) fn delivered(&mut self, rate: u64) {
        if self.rate().is_some_and(|capacity| rate > capacity + capacity / 64) {
            self.best[0] = self.best[0].max(rate);
        }
        if self.middle > 0 {
            self.middle = self.middle.max(rate);
        }
        // What was in the way is gone.
        self.policed &= rate < self.best[0].max(self.best[1]) / 2;
    }

    /// The capacity in thousandths of packets per second, once known.
    pub(super) fn rate(&self) -> Option<u64> {
        let best = self.best[0].max(self.best[1]);
        // Before a set is full the slowest of the quickest three: it is to be exceeded by none.
        let first = self.quick[usize::from(self.set.clamp(1, 3)) - 1];
        let rate = if best > 0 { best } else { first };
        Some(rate).filter(|rate| *rate > 0 && self.doubt == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_testkit::Dice;

    /// Pairs that the bottleneck spreads to these times.
    fn pairs(times: &[u64]) -> Dispersion {
        let mut dispersion = Dispersion::default();
        for (at, time) in times.iter().enumerate() {
            let at = 1 + at as u64 * 1_000_000_000;
            dispersion.came(at, false);
            dispersion.came(at + time, true);
        }
        dispersion
    }

    #[test]
    fn packet_pair_measures_capacity() {
        assert_eq!(pairs(&[]).rate(), None);
        assert_eq!(pairs(&[1_250_000]).rate(), Some(800_000));
    }

    #[test]
    fn packets_of_others_between_do_not_count() {
        let spread = pairs(&[9, 1, 8, 7, 1, 6, 1, 5].map(|ms| ms * 1_000_000));
        assert_eq!(spread.rate(), Some(1_000_000));
    }

    /// What is known after this many sets of pairs at 1000 packets per second, of which each is held back by up to a quarter
    /// of a millisecond on either side.
    fn jittered(seed: u64, sets: usize) -> Dispersion {
        let mut dice = Dice(seed);
        let mut time = || 750_000 + dice.below(250_000) + dice.below(250_000);
        let times: std::vec::Vec<u64> = (0..sets * usize::from(SET)).map(|_| time()).collect();
        pairs(&times)
    }

    /// How many of a thousand seeds fulfil this after a number of sets.
    fn of_a_thousand(sets: usize, holds: impl Fn(u64, u64, &Dispersion) -> bool) -> usize {
        let all = (0..1000).map(|seed| jittered(seed, sets));
        all.filter(|found| holds(found.sure().expect("known"), found.most().expect("known"), found))
            .count()
    }

    #[test]
    fn capacity_of_pairs_that_are_held_back_is_between_the_bounds() {
        const CAPACITY: u64 = 1_000_000;
        let between = |sure, most, _: &Dispersion| (sure..=most).contains(&CAPACITY);
        let shares = [4, 8, 20, 50].map(|sets| of_a_thousand(sets, between));
        // As the module says, to within chance.
        let told: [std::ops::RangeInclusive<usize>; 4] =
            [300..=430, 730..=830, 980..=1000, 985..=1000];
        let as_told = shares.iter().zip(&told).all(|(share, told)| told.contains(share));
        assert!(as_told, "{shares:?} of a thousand");
        // The bounds say something: they are within an eighth, while the quickest of all exceed the capacity by more.
        let near = |sure, most, found: &Dispersion| {
            sure > CAPACITY * 7 / 8
                && most < CAPACITY * 9 / 8
                && found.rate() > Some(CAPACITY * 9 / 8)
        };
        let near = of_a_thousand(50, near);
        assert!(near >= 990, "{near} of a thousand");
        // And most know that they are rough.
        let rough = of_a_thousand(50, |_, _, found| found.is_rough());
        assert!((650..950).contains(&rough), "{rough} of a thousand");
        let steady = pairs(&[1_000_000; 24]);
        assert_eq!((steady.sure(), steady.most()), (Some(CAPACITY), Some(CAPACITY)));
        assert!(!steady.is_rough());
    }

    #[test]
    fn of_frames_the_mean_counts() {
        // Two of four come in each.
        let mut frames = Dispersion::default();
        for burst in 1..9 {
            for (packet, ms) in [0, 0, 21, 21].into_iter().enumerate() {
                frames.came(burst * 1_000_000_000 + ms * 1_000_000, packet > 0);
            }
        }
        assert_eq!(frames.rate(), Some(95_238));
        // Of pairs that always come in one nothing is known.
        assert_eq!(pairs(&[0; 20]).rate(), None);
    }

    #[test]
    fn times_below_clock_resolution_accumulate() {
        assert_eq!(pairs(&[12_000; 8]).rate(), None);
        assert_eq!(pairs(&[12_500; 8]).rate(), Some(80_000_000));
    }

    #[test]
    fn delivered_rate_is_a_lower_bound_of_capacity() {
        let mut frames = pairs(&[20_000_000; 8]);
        frames.delivered(50_500);
        assert_eq!(frames.rate(), Some(50_000));
        frames.delivered(60_000);
        assert_eq!(frames.rate(), Some(60_000));
        frames.distrust();
        assert_eq!(frames.rate(), None);
        frames.next_period();
        frames.next_period();
        assert_eq!(frames.rate(), Some(60_000));
    }

    /// A busy host reads most pairs at once: the bottleneck carries a tenth of what they tell.
    #[test]
    fn in_bunches_what_passed_bounds_what_pairs_tell() {
        let mut squeezed = pairs(&[100_000; 8]);
        squeezed.filled(900_000, false);
        squeezed.filled(1_000_000, true);
        squeezed.filled(950_000, false);
        assert_eq!(squeezed.sure(), Some(10_000_000), "pairs count");
        squeezed.see_bunches(true);
        assert_eq!((squeezed.sure(), squeezed.most()), (Some(1_031_250), Some(1_062_500)));
        for _ in 0..BUNCHED {
            squeezed.see_bunches(false);
        }
        assert_eq!(squeezed.sure(), Some(10_000_000));
    }
}
