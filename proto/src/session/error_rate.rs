//! How often the line damages what is sent.

/// What is assumed of a line before it is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prior {
    /// Without a loss: good bytes that are assumed besides those counted.
    pub(crate) clean: u64,
    /// Without a loss: the factor by which the counted good bytes are multiplied.
    pub(crate) each: u64,
    /// With losses: good bytes that are assumed besides those counted.
    pub(crate) lossy: u64,
}

/// Estimates the good bytes between two losses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrorRate {
    good: u64,
    losses: u64,
}

/// Losses that what was known of the line before counts for: a line that has changed is soon followed.
const KNOWN: u64 = 2;
/// Times the known distance of errors that may pass without one before it is not believed, and the most bytes.
const BELIEVED: u64 = 3;
const MOST_BELIEVED: u64 = 12_000;

/// Bytes that may come through without an error before a line is not taken for one with an error in `known` bytes.
pub(crate) fn believed(known: u64) -> u64 {
    (known * BELIEVED).min(MOST_BELIEVED)
}

impl ErrorRate {
    /// Of a line that had an error in `known` bytes before; 0 if that is unknown.
    pub(crate) fn known(known: u64, memory: u64) -> Self {
        let mut errors = Self::default();
        if known > 0 {
            errors.add_good(known * KNOWN);
            (0..KNOWN).for_each(|_| errors.add_loss(memory));
        }
        errors
    }

    /// This many bytes were not damaged.
    pub(crate) fn add_good(&mut self, bytes: u64) {
        self.good += bytes;
    }

    /// One loss. After more than `memory` the older half is dropped, so that the estimate follows a line that changes.
    pub(crate) fn add_loss(&mut self, memory: u64) {
        self.losses += 1;
        if self.losses > memory {
            self.halve();
        }
    }

    /// Drops the older half.
    pub(crate) fn halve(&mut self) {
        self.good /= 2;
        self.losses /= 2;
    }

    pub(crate) fn good(&self) -> u64 {
        self.good
    }

    pub(crate) fn has_losses(&self) -> bool {
        self.losses > 0
    }

    /// Measured good bytes for each loss.
    pub(crate) fn measured(&self) -> Option<u64> {
        self.good.checked_div(self.losses)
    }

    /// Good bytes between two losses, when `since` good bytes were not added yet.
    pub(crate) fn between(&self, since: u64, prior: Prior) -> u64 {
        let good = self.good + since;
        if self.losses == 0 {
            good * prior.each + prior.clean
        } else {
            (good + prior.lossy) / (self.losses + 1)
        }
    }
}
