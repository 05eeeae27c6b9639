//! Is the loss random, or due to congestion?
//!
//! Loss by chance does not depend on the rate. So where more than usual is missing, less is sent for a while: if as
//! large a part is missing of that, it is chance, and usual from now on; if not, the rate before was too high. That
//! is looked at twice, as chance may do it once.

use super::{ONE, part, share};

/// Before the usual loss is known, more than this is looked at.
const FIRST: u64 = ONE / 50;
/// Fewer rows of packets that are missing are chance.
const FEW: u64 = 3;
/// Less than this more than usual is not looked at.
const LEAST: u64 = ONE * 3 / 200;
/// More than this is not lost by chance.
const MOST: u64 = ONE / 4;
/// Losing this many packets, and more than half of all, is more than usual, regardless of the lengths of runs.
const VERY: u64 = 8;
/// A longer run of lost packets counts as this many.
const LONGEST_RUN: u64 = 16 * ONE;
/// Missing packets over which the rows are averaged in which they are missing.
const WIDE: u64 = 32;
/// Less than this is not lost by chance where others fill the queue.
const RARE: u64 = ONE / 256;
/// Rows of packets that may be missing at once by chance there.
const SPARE: u64 = 5;
/// Decisions for which a rate that lost more is not tried again.
const CAREFUL: u8 = 16;

/// What is done about loss that is more than usual.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Trial {
    /// Nothing.
    #[default]
    None,
    /// Probing at a lower rate whether less is lost: the previous rate, and its loss.
    Less { before: u64, lost: u64 },
    /// Less was lost of less. Now as much is sent as before: is as much lost again?
    Again { less: u64 },
    /// The rate before was too high: no increase for this many decisions.
    Careful(u8),
}

/// What follows from the loss at a rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Nothing: it is as usual.
    Usual,
    /// This rate is to be tried.
    Try(u64),
    /// The rate from now on; a higher one is too much.
    Full(u64),
    /// The loss does not depend on the rate: this rate again.
    Chance(u64),
}

/// The usual loss, and the excess.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    /// Loss that has nothing to do with how much is sent, and how much it differs from look to look.
    pub(super) usual: u64,
    varies: u64,
    pub(super) known: bool,
    /// How many packets are missing in a row, in parts.
    run: u64,
    /// How long the row is in which a packet is missing, in parts: where some are missing alone (those that are only
    /// late, for one) and some in long rows, it is nearer to the latter, which is what chance goes by.
    wide: u64,
    trial: Trial,
    /// Packets that may be missing by chance yet where others fill the queue, in parts.
    spare: u64,
}

impl Loss {
    pub(super) const fn new() -> Self {
        let (run, wide) = (ONE, ONE);
        Self { usual: 0, varies: 0, known: false, run, wide, trial: Trial::None, spare: 0 }
    }

    /// The current trial is abandoned.
    pub(super) fn reset(&mut self) {
        self.trial = Trial::None;
    }

    /// What seemed to be usual was not lost by chance.
    pub(super) fn forget(&mut self) {
        *self = Self { run: self.run, wide: self.wide, ..Self::new() };
    }

    /// A run of N lost packets.
    pub(super) fn hole(&mut self, packets: u64) {
        let row = (packets << 16).min(LONGEST_RUN);
        // Long rows are few, and matter most.
        self.run =
            if row > self.run { (self.run * 3 + row) / 4 } else { (self.run * 15 + row) / 16 };
        // Every packet of the row is one that is missing in it.
        let packets = row / ONE;
        self.wide = (self.wide * (WIDE - packets) + row * packets) / WIDE;
    }

    /// Whether more is lost than chance explains.
    pub(super) fn is_more(&self, lost: u64, packets: u64) -> bool {
        // One or two rows of them tell nothing.
        let few = FEW * self.run - ONE / 2;
        let missing = u128::from(lost) * u128::from(packets);
        if lost > ONE / 2 && missing >= u128::from(VERY * ONE) {
            return true;
        }
        let many = missing >= u128::from(few);
        many && lost > self.usual + self.doubt(packets) && (self.known || lost > FIRST)
    }

    /// Others are there from now on: what is missing tells of them, unless it is chance ([`Self::is_chance`]).
    pub(super) fn watch(&mut self) {
        self.spare = SPARE * self.run;
    }

    /// Whether that many of all packets are missing by chance alone. Where none usually are, each tells of others.
    pub(super) fn is_chance(&mut self, missing: u64, packets: u64) -> bool {
        if !self.known || self.usual < RARE {
            return false;
        }
        let usual = self.usual.saturating_mul(packets);
        self.spare = (self.spare + usual + usual / 2).min(SPARE * self.run);
        let left = self.spare.checked_sub(missing << 16);
        self.spare = left.unwrap_or(SPARE * self.run);
        left.is_some()
    }

    /// By how much losses of N packets may exceed the usual by chance, in runs too.
    fn doubt(&self, packets: u64) -> u64 {
        let usual = self.usual.max(ONE / 200);
        // Three times the deviation of losses in runs as they are, or four times what was seen.
        let runs = (2 * self.run).saturating_sub(ONE).max(2 * ONE);
        let deviation = (part(usual, ONE - usual) * runs / packets.max(1)).isqrt();
        (3 * deviation).max(4 * self.varies).max(LEAST)
    }

    /// Lost packets count as a run from this many on, at least one.
    pub(super) fn row(&self) -> u64 {
        self.wide.max(self.run).div_ceil(ONE).max(1)
    }

    /// Share lost by chance.
    pub(super) fn learn(&mut self, lost: u64) {
        let lost = lost.min(MOST);
        if !self.known {
            self.usual = lost;
            self.varies = lost / 2;
            self.known = true;
            return;
        }
        self.varies = (self.varies * 7 + self.usual.abs_diff(lost)) / 8;
        self.usual = (self.usual * 7 + lost) / 8;
    }

    /// Share lost at this rate, and whether it is `more` than usual.
    pub(super) fn judge(&mut self, sent: u64, lost: u64, more: bool) -> Verdict {
        let over = lost.saturating_sub(self.usual);
        match core::mem::take(&mut self.trial) {
            Trial::Less { before, .. } if !more => {
                self.trial = Trial::Again { less: sent };
                Verdict::Try(before)
            }
            Trial::Less { before, lost: then } => {
                // If the rate was too high, as much got through as gets through now.
                let through = part(before, ONE - then.min(ONE));
                let would = ONE - share(through, sent.max(1)).min(ONE);
                if lost < would.midpoint(then) {
                    self.trial = Trial::Less { before: sent, lost };
                    return Verdict::Try(part(sent, ONE - over.min(ONE / 4)));
                }
                if lost > MOST {
                    // Unusable path: a policer that takes long to show.
                    self.trial = Trial::Careful(CAREFUL);
                    return Verdict::Full(part(sent, ONE - lost.min(ONE)));
                }
                self.varies = self.varies.max(self.usual.abs_diff(lost) / 4);
                self.usual = lost.min(then);
                self.known = true;
                Verdict::Chance(before)
            }
            Trial::Again { less } if more => {
                // Where they come in long rows it may have been chance twice.
                let sure = self.run < 3 * ONE;
                self.trial = Trial::Careful(if sure { CAREFUL } else { CAREFUL / 4 });
                Verdict::Full(less)
            }
            Trial::Careful(left) if left > 0 && !more => {
                self.trial = Trial::Careful(left - 1);
                Verdict::Full(sent)
            }
            _ if more => {
                self.trial = Trial::Less { before: sent, lost };
                Verdict::Try(part(sent, ONE - over.min(ONE * 7 / 8) - ONE / 64))
            }
            _ => Verdict::Usual,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rates that follow on a path which loses `chance` parts, and what is above `full`.
    fn rates(full: u64, chance: u64, first: u64) -> (std::vec::Vec<u64>, Loss) {
        let (mut loss, mut sent) = (Loss::new(), first);
        let rates = (0..6).map(|_| {
            let through = part(sent.min(full), ONE - chance);
            let missing = ONE - share(through, sent);
            let more = loss.is_more(missing, 1000);
            sent = match loss.judge(sent, missing, more) {
                Verdict::Usual => {
                    loss.learn(missing);
                    sent
                }
                Verdict::Try(rate) | Verdict::Full(rate) | Verdict::Chance(rate) => rate,
            };
            sent
        });
        (rates.collect(), loss)
    }

    #[test]
    fn random_loss_does_not_lower_the_rate() {
        let (rates, loss) = rates(u64::MAX, ONE / 20, 1_000_000);
        assert_eq!(rates[1..], [1_000_000; 5]);
        assert!(loss.known && loss.usual.abs_diff(ONE / 20) < 10);
    }

    #[test]
    fn loss_by_too_high_a_rate_lowers_it() {
        for chance in [0, ONE / 50] {
            let (rates, loss) = rates(1_000_000, chance, 1_200_000);
            let last = rates[5];
            assert!((930_000..=1_010_000).contains(&last), "{rates:?}");
            assert!(loss.usual <= chance + ONE / 100, "{loss:?}");
        }
    }

    #[test]
    fn policer_drops_are_not_learned_as_random_loss() {
        let mut loss = Loss::new();
        // It drops in long rows: twenty packets tell, though three rows are more than that.
        for _ in 0..20 {
            loss.hole(12);
        }
        assert!(loss.is_more(ONE * 3 / 4, 20));
        assert!(!loss.is_more(ONE * 3 / 4, 8), "six packets in a row are chance");
        for _ in 0..50 {
            loss.learn(ONE * 3 / 4);
        }
        assert!(loss.usual <= MOST);
    }

    #[test]
    fn usual_losses_beside_others_are_chance_and_more_are_not() {
        let mut loss = Loss::new();
        loss.watch();
        assert!(!loss.is_chance(1, 100), "none usually are missing");
        loss.learn(ONE / 100);
        loss.watch();
        assert!((0..1000).all(|_| loss.is_chance(1, 100)));
        assert!(!loss.is_chance(8, 100), "a queue that was full");
        assert!(loss.is_chance(1, 100));
        assert!(!(0..10).all(|_| loss.is_chance(3, 100)));
    }
}
