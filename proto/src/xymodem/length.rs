//! The length of the next block (docs/decisions/021).
//!
//! A long block costs fewer round trips, a short one less when it is damaged. The real cost of either
//! length is measured, from the first byte to the acknowledgement, including retransmissions.

use super::frame::{LONG, SHORT};
use crate::session::believed;
use crate::time::Duration;
use core::num::NonZeroU64;

/// Short blocks that are tried when the first long one was damaged: a kilobyte.
const TRIAL: u8 = (LONG / SHORT) as u8;
/// Short blocks after which a long one is tried again.
const AGAIN: u8 = 40;
/// Bytes without an error after which a line on which long blocks were hopeless has them again.
const REFUTING: u16 = 12_000;
/// A long block that needed more copies than this is not tried again: the next may never get
/// through, and it must not be split (\[XY88\]: a retransmitted block keeps its size).
const MOST_COPIES: u8 = 4;

/// Chooses between long and short blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockLengths {
    adapt: bool,
    /// Smoothed time for one block of each length, in nanoseconds.
    long: Option<NonZeroU64>,
    short: Option<NonZeroU64>,
    /// Short blocks left to try.
    trial: u8,
    /// Short blocks in a row.
    shorts: u8,
    /// Long blocks are no longer used.
    hopeless: bool,
    /// Bytes that may come through without an error before the line is not taken for the one that was known; 0: none
    /// was, or it is refuted.
    believed: u16,
    /// Blocks that were lost or damaged.
    hits: u16,
}

impl BlockLengths {
    /// `known`: bytes between two errors of the line; 0 if that is unknown. A long block that fails must not be split, so
    /// the first ones are short where a long one would be damaged, and all where it would hardly ever come through.
    pub(crate) fn new(adapt: bool, known: u16) -> Self {
        let fails = adapt && (1..LONG as u16).contains(&known);
        let hopeless = fails && known < LONG as u16 / 2;
        let trial = if fails { TRIAL } else { 0 };
        let believed = if hopeless { believed(known.into()) as u16 } else { 0 };
        Self { adapt, long: None, short: None, trial, shorts: 0, hopeless, believed, hits: 0 }
    }

    /// Whether the next block should be a long one.
    pub(crate) fn is_long(&mut self) -> bool {
        if self.trial > 0 {
            self.trial -= 1;
            return false;
        }
        if self.hopeless {
            return false;
        }
        let dear = self.adapt
            && matches!((self.long, self.short), (Some(long), Some(short))
            if long.get() > short.get() * u64::from(TRIAL));
        self.shorts = if dear { self.shorts + 1 } else { 0 };
        if self.shorts > AGAIN {
            self.shorts = 0;
            return true;
        }
        !dear
    }

    /// A block got a NAK (`answered`), or no answer.
    pub(crate) fn damaged(&mut self, long: bool, answered: bool) {
        // Silence may be that of a peer that has ended.
        self.hits = self.hits.saturating_add(u16::from(answered));
        if long && self.adapt && self.short.is_none() {
            self.trial = TRIAL;
        }
    }

    /// Blocks that were lost or damaged.
    pub(crate) fn hits(&self) -> u64 {
        self.hits.into()
    }

    /// The usual time of a block, of the slower length.
    pub(crate) fn usual(&self) -> Duration {
        self.long.max(self.short).map_or(Duration::ZERO, |usual| Duration::from_nanos(usual.get()))
    }

    /// A block was acknowledged: the time since it was first sent, and the copies sent.
    pub(crate) fn taken(&mut self, long: bool, copies: u8, cost: Duration) {
        if self.believed > 0 {
            // An error confirms what was known; far more bytes without one refute it.
            let left = if copies > 1 { REFUTING } else { self.believed };
            self.believed = left.saturating_sub(SHORT as u16);
            self.hopeless = self.believed > 0;
        }
        self.hopeless |= self.adapt && long && copies > MOST_COPIES && self.short.is_some();
        let smoothed = if long { &mut self.long } else { &mut self.short };
        let cost = u64::try_from(cost.as_nanos()).unwrap_or(u64::MAX / 8);
        let cost = smoothed.map_or(cost, |usual| (usual.get() * 7 + cost) / 8);
        *smoothed = Some(NonZeroU64::new(cost).unwrap_or(NonZeroU64::MIN));
    }
}
