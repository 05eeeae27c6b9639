//! Subpacket lengths that fit the errors of the line.
//!
//! An error costs a round trip and everything in flight, whatever the length; beyond that it costs the
//! subpacket it hits. A subpacket of L bytes costs its overhead h once. On a line with m
//! good bytes between errors the sum of both is least near L = sqrt(h m).

use super::packet::{Form, SUBPACKET_END};
use crate::session::{ErrorRate, Prior, believed};

/// Finds the best subpacket length for the errors of the line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubpacketLengths {
    errors: ErrorRate,
    /// Bytes that may come through without an error before the line is not taken for the one that was known; 0: it is,
    /// or none was.
    believed: u64,
    enabled: bool,
}

/// Bytes of a subpacket that are not data: its end and its check.
const OVERHEAD: u64 = (SUBPACKET_END + Form::Bin32.check_len()) as u64;
/// What is assumed of a line.
const PRIOR: Prior = Prior { clean: 1_000_000, each: 10, lossy: 2_000 };
/// Shorter subpackets are mostly overhead.
const SHORTEST: usize = 32;
/// Losses after which the older half of the record is dropped, so that the policy adapts to a line
/// that changes.
const MEMORY: u64 = 32;

impl SubpacketLengths {
    /// `known`: bytes between two errors of the line; 0 if that is unknown.
    pub(crate) fn new(enabled: bool, known: u64) -> Self {
        Self { errors: ErrorRate::known(known, MEMORY), believed: believed(known), enabled }
    }

    /// Adapts lengths from now on: the line is not as announced.
    pub(crate) fn enable(&mut self) {
        self.enabled = true;
    }

    /// The line had an error after this many good bytes since the last one.
    pub(crate) fn hit(&mut self, good: u64) {
        self.doubt(good);
        self.believed = 0;
        self.errors.add_good(good);
        self.errors.add_loss(MEMORY);
    }

    /// A line on which that many bytes came through is cleaner than it was known to be, which is then forgotten.
    fn doubt(&mut self, good: u64) {
        if self.believed > 0 && good > self.believed {
            self.believed = 0;
            self.errors = ErrorRate::default();
        }
    }

    /// The best length, given the bytes sent since the last error, at most `longest`.
    pub(crate) fn length(&mut self, since: u64, longest: usize) -> usize {
        if !self.enabled {
            return longest;
        }
        self.doubt(since);
        // The error that will end the current stretch is counted, so that a stretch that has just
        // started does not look like a short one.
        let since = self.errors.measured().map_or(since, |expected| since.max(expected));
        let between = self.errors.between(since, PRIOR);
        let best = usize::try_from((OVERHEAD * between).isqrt()).unwrap_or(usize::MAX);
        // Multiples of 16, so that the length does not jitter.
        (best & !15).clamp(SHORTEST.min(longest), longest)
    }
}
