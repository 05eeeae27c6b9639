//! The traffic of others at the bottleneck: how it is noticed, and what is left to it.
//!
//! A queue that stands although less is sent is that of others. All who see it take a part that is the smaller the
//! longer it is, so they come to the same rate whoever came first.

use super::{ONE, share};

/// Decisions with a queue that does not fall, in a row, when it is that of others.
const STUCK: u32 = 5;
/// What a queue counts that stands though less is sent than the bottleneck carries, and from which
/// sum on it is that of others; a decision without one takes one off.
const SIGN: u32 = 4;
const SIGNS: u32 = 10;
/// Decisions without a queue in a row until it is tried whether those others have gone, and until more
/// of that is tried.
const GONE: u8 = 32;
const MORE_GONE: u8 = 2;
/// The same where others cannot make a queue: then they need longer to come back from a loss.
const SLOW: [u8; 2] = [128, 16];
/// What is taken beside others, in sixteenths of the capacity: without a queue, and at the longest queue.
const MOST: u64 = 9;
const LEAST: u64 = 3;
/// Decisions that lose all the same, until less than that is taken.
const TOO_MANY: u8 = 8;

/// Others at the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Traffic {
    /// Decisions in a row that found the queue as long as before, though less was sent.
    stuck: u32,
    last_queue: u64,
    signs: u32,
    /// What passed when the queue began to stand.
    before: u64,
    /// They fill the queue: this end keeps to its share.
    shared: bool,
    /// Decisions in a row without a queue since then.
    calm: u8,
    /// So many have to be, see [`GONE`].
    patience: [u8; 2],
    /// What is taken without a queue, in sixteenths.
    most: u64,
    /// How often the least was halved, and decisions in a row that lost.
    halved: u32,
    lost: u8,
    /// The longest queue of this period and of the one before.
    longest: [u64; 2],
}

impl Traffic {
    pub(super) const fn new() -> Self {
        Self {
            stuck: 0,
            last_queue: 0,
            signs: 0,
            before: 0,
            shared: false,
            calm: 0,
            patience: [GONE, MORE_GONE],
            most: MOST,
            halved: 0,
            lost: 0,
            longest: [0; 2],
        }
    }

    /// Whether this end keeps to its share.
    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    /// Another period begins: queues before the last one are forgotten.
    pub(super) fn next_period(&mut self) {
        self.longest = [0, self.longest[0]];
    }

    /// A decision at a rate that the bottleneck carries found a queue, or none.
    pub(super) fn sign(&mut self, stands: bool) {
        self.signs = if stands { self.signs + SIGN } else { self.signs.saturating_sub(1) };
    }

    /// No queue stands.
    pub(super) fn none(&mut self, queue: u64) {
        (self.stuck, self.last_queue) = (0, queue);
    }

    /// A queue stands while so much passes. The decisions in a row; none if it is that of others.
    pub(super) fn stands(&mut self, queue: u64, passed: u64) -> Option<u32> {
        if self.stuck == 0 {
            self.before = passed;
        }
        // A queue that does not fall although less is sent is not ours.
        let as_long = queue * 10 >= self.last_queue * 7 || self.stuck == 0;
        self.stuck = if as_long { self.stuck + 1 } else { 1 };
        self.last_queue = queue;
        (self.stuck < STUCK && self.signs < SIGNS).then_some(self.stuck)
    }

    /// What passed when the queue began to stand.
    pub(super) fn before(&self) -> u64 {
        self.before
    }

    /// Others fill the queue from now on; so much passed before.
    pub(super) fn begin(&mut self, before: u64) {
        *self = Self { shared: true, before, longest: self.longest, ..Self::new() };
    }

    /// Others lose packets, and make no queue to speak of.
    pub(super) fn begin_without_queue(&mut self, before: u64) {
        self.begin(before);
        self.patience = SLOW;
    }

    /// A decision beside them: more is lost than chance explains, or something. False if they have gone.
    pub(super) fn look(&mut self, queue: u64, allowed: u64, losing: bool, some: bool) -> bool {
        self.longest[0] = self.longest[0].max(queue);
        if queue > allowed || some {
            (self.calm, self.most) = (0, MOST);
        } else {
            self.calm += 1;
            if self.calm >= self.patience[usize::from(self.most > MOST)] {
                self.calm = 0;
                self.most = 2 * self.most - MOST + 1;
            }
        }
        self.lost = if losing { self.lost + 1 } else { 0 };
        if self.lost >= TOO_MANY {
            (self.halved, self.lost) = ((self.halved + 1).min(6), 0);
        } else if !losing && queue <= allowed {
            self.halved = self.halved.saturating_sub(1);
        }
        self.most < 16
    }

    /// What to take of a bottleneck that carries `full`: the less, the longer the queue is. All that
    /// see this queue take as much.
    pub(super) fn aim(&self, full: u64, queue: u64, allowed: u64) -> u64 {
        let (most, least) = (full * self.most / 16, (full * LEAST / 16) >> self.halved);
        let longest = self.longest[0].max(self.longest[1]).max(2 * allowed);
        let long = share(queue.saturating_sub(allowed), longest - allowed).min(ONE);
        most - super::part(most - least, long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_does_not_fall_is_that_of_others() {
        let mut traffic = Traffic::new();
        for decision in 1..STUCK {
            assert_eq!(traffic.stands(50, 1000), Some(decision));
        }
        assert_eq!(traffic.stands(45, 900), None);
        assert_eq!(traffic.before(), 1000);
        // One that does fall is ours.
        let mut traffic = Traffic::new();
        for queue in [50, 30, 15, 8, 4, 2] {
            assert_eq!(traffic.stands(queue, 1000), Some(1));
        }
    }

    #[test]
    fn the_longer_the_queue_the_less_is_taken() {
        let mut traffic = Traffic::new();
        traffic.begin(1600);
        traffic.look(100, 10, false, false);
        assert_eq!(traffic.aim(1600, 5, 10), 900);
        assert_eq!(traffic.aim(1600, 100, 10), 300);
        let middle = traffic.aim(1600, 55, 10);
        assert!((590..=610).contains(&middle), "{middle}");
    }

    #[test]
    fn who_has_gone_leaves_everything() {
        let mut traffic = Traffic::new();
        traffic.begin(1600);
        assert!((0..GONE + 4 * MORE_GONE).any(|_| !traffic.look(0, 10, false, false)));
    }
}
