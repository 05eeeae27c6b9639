//! Finding out whether the peer knows compressed headers, without asking it: RFC 1144 has no
//! negotiation.
//!
//! An acknowledgement without data is sent as it is, and then once more the way only CSLIP has it (type 7).
//! Who knows CSLIP takes that for a repetition, which is harmless in TCP, and begins to compress if it does so
//! by itself; what comes back tells us. Who knows only SLIP drops it for its version, 7, and has
//! lost nothing: no packet has to be sent again.

use crate::{Duration, Instant};

/// From the first question to the second.
const FIRST: Duration = Duration::from_secs(5);
/// From one to the next, at most.
const MOST: Duration = Duration::from_secs(600);
/// Factor from one wait to the next.
const LONGER: u32 = 4;

/// When the next question is due, and the one that is to be asked now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    next: Instant,
    wait: Duration,
    /// Bytes of the acknowledgement that is to be said again.
    pending: Option<usize>,
}

impl Probe {
    /// The first question may be asked at once.
    pub(super) fn new() -> Self {
        Self { next: Instant::ZERO, wait: FIRST, pending: None }
    }

    /// Whether a question is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Says this acknowledgement again after it has gone.
    pub(super) fn ask(&mut self, now: Instant, len: usize) {
        self.pending = Some(len);
        self.next = now + self.wait;
        self.wait = (self.wait * LONGER).min(MOST);
    }

    /// Whether an acknowledgement is to be said again now.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// How long it is; only once.
    pub(super) fn take(&mut self) -> Option<usize> {
        self.pending.take()
    }
}
