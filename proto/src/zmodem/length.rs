//! Subpacket lengths that fit the errors of the line.
//!
//! An error costs a round trip and everything in flight, whatever the length; beyond that it costs the
//! subpacket it hits. A subpacket of L bytes costs its overhead h once. On a line with m
//! good bytes between errors the sum of both is least near L = sqrt(h m).

/// Estimates the error rate of the line, and the best subpacket length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LengthPolicy {
    good: u64,
    losses: u64,
    enabled: bool,
}

/// Bytes of a subpacket that are not data: its end and its check.
const OVERHEAD: u64 = 6;
/// Assumed bytes between errors of a line without errors so far, and of one with errors.
const TRUST: [u64; 2] = [1_000_000, 2_000];
/// Subpackets below this are all overhead.
const SHORTEST: usize = 32;
/// Losses after which the older half of the record is dropped, so that the policy adapts to a line
/// that changes.
const MEMORY: u64 = 32;

impl LengthPolicy {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { good: 0, losses: 0, enabled }
    }

    /// Adapts lengths from now on: the line is not as announced.
    pub(crate) fn enable(&mut self) {
        self.enabled = true;
    }

    /// The line had an error after this many good bytes since the last one.
    pub(crate) fn hit(&mut self, good: u64) {
        self.good += good;
        self.losses += 1;
        if self.losses > MEMORY {
            self.losses /= 2;
            self.good /= 2;
        }
    }

    /// The best length, given the bytes sent since the last error, at most `longest`.
    pub(crate) fn length(&self, since: u64, longest: usize) -> usize {
        if !self.enabled {
            return longest;
        }
        let between = match self.good.checked_div(self.losses) {
            None => since * 10 + TRUST[0],
            // The error that will end the current stretch is counted, so that a stretch that has
            // just started does not look like a short one.
            Some(expected) => (self.good + since.max(expected) + TRUST[1]) / (self.losses + 1),
        };
        let best = usize::try_from((OVERHEAD * between).isqrt()).unwrap_or(usize::MAX);
        // Multiples of 16, so that the length does not jitter.
        (best & !15).clamp(SHORTEST.min(longest), longest)
    }
}
