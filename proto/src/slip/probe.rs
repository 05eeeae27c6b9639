//! Probes whether the peer knows compressed headers: RFC 1144 has no
//! negotiation.
//!
//! An acknowledgement without data is sent unchanged, and then repeated in the form that only CSLIP has (type 7).
//! A CSLIP peer takes that for a duplicate, which is harmless in TCP, and starts to compress if it does so
//! automatically; its packets tell us. A SLIP peer drops it for its version, 7, and has
//! lost nothing: nothing has to be retransmitted.

use crate::{Duration, Instant};

/// From the first probe to the second.
const FIRST: Duration = Duration::from_secs(5);
/// Longest time from one to the next.
const MOST: Duration = Duration::from_secs(600);
/// Factor from one wait to the next.
const LONGER: u32 = 4;

/// When the next probe is due, and the one to be sent now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    next: Instant,
    wait: Duration,
    /// Bytes of the acknowledgement to be repeated.
    pending: Option<usize>,
}

impl Probe {
    /// The first probe may be sent at once.
    pub(super) fn new() -> Self {
        Self { next: Instant::ZERO, wait: FIRST, pending: None }
    }

    /// Whether a probe is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Repeats this acknowledgement after it was sent.
    pub(super) fn ask(&mut self, now: Instant, len: usize) {
        self.pending = Some(len);
        self.next = now + self.wait;
        self.wait = (self.wait * LONGER).min(MOST);
    }

    /// Whether an acknowledgement is to be repeated now.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Its length; only once.
    pub(super) fn take(&mut self) -> Option<usize> {
        self.pending.take()
    }
}
