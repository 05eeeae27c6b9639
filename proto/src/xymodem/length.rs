//! The length of the next block (docs/decisions/021).
//!
//! A long block costs fewer round trips, a short one less when it is damaged. The real cost of either
//! length is measured, from the first byte to the acknowledgement, including retransmissions.

use super::frame::{LONG, SHORT};
use crate::time::Duration;

/// Short blocks that are tried when the first long one was damaged: a kilobyte.
const TRIAL: u8 = (LONG / SHORT) as u8;
/// Short blocks after which a long one is tried again.
const AGAIN: u8 = 40;
/// A long block that needed more copies than this is not tried again: the next may never get
/// through, and it must not be split (\[XY88\]: a retransmitted block keeps its size).
const MOST_COPIES: u8 = 4;

/// Chooses between long and short blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockLengths {
    adapt: bool,
    /// Smoothed time for one block of each length.
    long: Option<Duration>,
    short: Option<Duration>,
    /// Short blocks left to try.
    trial: u8,
    /// Short blocks in a row.
    shorts: u8,
    /// Long blocks are no longer used.
    hopeless: bool,
}

impl BlockLengths {
    pub(crate) fn new(adapt: bool) -> Self {
        Self { adapt, long: None, short: None, trial: 0, shorts: 0, hopeless: false }
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
            if long > short * u32::from(TRIAL));
        self.shorts = if dear { self.shorts + 1 } else { 0 };
        if self.shorts > AGAIN {
            self.shorts = 0;
            return true;
        }
        !dear
    }

    /// A long block got a NAK.
    pub(crate) fn damaged(&mut self) {
        if self.adapt && self.short.is_none() {
            self.trial = TRIAL;
        }
    }

    /// The usual time of a block, of the slower length.
    pub(crate) fn usual(&self) -> Duration {
        self.long.max(self.short).unwrap_or_default()
    }

    /// A block was acknowledged: the time since it was first sent, and the copies sent.
    pub(crate) fn taken(&mut self, long: bool, copies: u8, cost: Duration) {
        self.hopeless |= self.adapt && long && copies > MOST_COPIES && self.short.is_some();
        let smoothed = if long { &mut self.long } else { &mut self.short };
        *smoothed = Some(smoothed.map_or(cost, |usual| (usual * 7 + cost) / 8));
    }
}
