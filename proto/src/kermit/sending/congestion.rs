//! Receivers that agree to a window and cannot hold one. They ask for the same packet at every other
//! one that comes, and if each of those NAKs is answered by a copy, the copies make the next NAKs.
//!
//! So NAKs for one packet within a round trip are one. Where a receiver continues repeating them, a copy
//! waits until the line has been quiet for a while, and the window shrinks, down to one packet.

use super::Core;
use crate::engine::Cx;
use crate::kermit::flight::Slot;
use crate::time::Duration;
use crate::trace::Again;

/// What a NAK counts that tells nothing new, where a packet that needed more copies counts one, and
/// what is taken off for a packet that came through with one copy: of packets that are as long as a
/// noisy line allows, every third does.
const REPEATED: u32 = 4;
const PASSED: u32 = 3;
/// The threshold from which the receiver counts as one of those.
const CROWDED: u32 = 16;
/// Packets that come through with their first copy before a larger window is tried again: at first, and
/// at most, after it has failed often.
const TRIAL: u32 = 32;
const LONGEST_TRIAL: u32 = 1024;
/// How long after a copy the next one leaves at the earliest, at a receiver that repeats NAKs.
pub(super) const QUIET: Duration = Duration::from_millis(200);
/// A packet is retried for at least this long, regardless of the number of NAKs.
pub(super) const LONG_ENOUGH: Duration = Duration::from_secs(10);

/// Times the retry limit that a packet may be sent on a line that carries others: one of 250 bytes
/// gets through a bit error in 1,000 with one copy of eight.
const PERSISTENCE: u32 = 12;

/// More than what a round trip takes that may be in flight on a line of known rate.
const AMPLE: Duration = Duration::from_secs(1);

impl Core {
    /// Whether enough of a bundle is in flight to keep the line busy. The port of a slow line may take much more, behind
    /// which a copy, a cancel or an error would wait.
    pub(super) fn is_far_ahead(&self) -> bool {
        let rate = self.link.config.line.rate_bps;
        if rate == 0 || self.flight.len() < 2 || self.has_sent_all() {
            return false;
        }
        let busy = self.timing.shortest().unwrap_or(AMPLE) * 2 + AMPLE;
        let enough = u128::from(rate) * busy.as_millis() / 10_000;
        let last = self.flight.slot(self.flight.next - 1).len() as u128;
        u128::from(self.flight.unheard(self.link.output.position())) > enough + 2 * last
    }

    /// Whether a packet has been sent often enough. Where nothing ever came through, and nothing says
    /// that the line is noisy, the limit is the one that is set. Elsewhere a packet is unlucky, and
    /// what is counted is copies, many times as many, while the peer is heard.
    pub(super) fn is_hopeless(&self, cx: &Cx<'_>, slot: &Slot) -> bool {
        let retries = u32::from(self.link.config.retries);
        // Refusals alone may be many in no time.
        let refused = slot.why == Some(Again::Nak) && cx.now - slot.since < LONG_ENOUGH;
        if slot.copies <= retries || refused {
            return false;
        }
        let noisy = self.link.stats.damaged > 0 || !self.lengths.is_untried();
        // Noise does not cause more timeouts in a row than that, each for a packet or its answer.
        let heard = self.silent <= retries;
        !(noisy && heard && slot.copies <= retries.saturating_mul(PERSISTENCE))
    }
}

/// State learned from repeated NAKs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    /// Packets that may be in flight, regardless of the negotiated window.
    window: usize,
    score: u32,
    /// The receiver repeats NAKs.
    repeats: bool,
    /// Packets that came through with their first copy since the window was changed.
    calm: u32,
    /// That many let the window grow again.
    trial: u32,
    /// It has been doubted before.
    tried: bool,
}

impl Congestion {
    pub(super) fn new() -> Self {
        Self { window: usize::MAX, score: 0, repeats: false, calm: 0, trial: TRIAL, tried: false }
    }

    /// Packets that may be in flight in a window of this size.
    pub(super) fn window(&self, agreed: u8) -> usize {
        usize::from(agreed).min(self.window)
    }

    pub(super) fn repeats(&self) -> bool {
        self.repeats
    }

    /// A NAK for a packet of which a copy was in flight, with `in_flight` packets in flight.
    pub(super) fn asked_again(&mut self, agreed: u8, in_flight: usize) {
        self.count(REPEATED, agreed, in_flight);
    }

    /// A packet came through, but not with its first copy. Where there is only one at a time, that
    /// says nothing of windows.
    pub(super) fn repeated(&mut self, agreed: u8, in_flight: usize) {
        if self.window(agreed) > 1 {
            self.count(1, agreed, in_flight);
        }
    }

    /// A packet came through that had been refused often, with a copy that had waited for quiet.
    pub(super) fn waited(&mut self) {
        self.doubt();
    }

    fn count(&mut self, much: u32, agreed: u8, in_flight: usize) {
        self.score += much;
        if self.score < CROWDED {
            return;
        }
        self.score = 0;
        self.doubt();
        self.window = (self.window(agreed).min(in_flight) / 2).max(1);
    }

    /// Copies are to wait for quiet from now on.
    fn doubt(&mut self) {
        let tried_again = self.tried && !self.repeats;
        if tried_again {
            self.trial = (self.trial * 2).min(LONGEST_TRIAL);
        }
        self.tried = true;
        self.repeats = true;
        self.calm = 0;
    }

    /// A packet came through with its first copy. Noise looks like a receiver that cannot hold the
    /// window, until packets have become as short as it wants them: where many come through, a larger
    /// window is tried again.
    pub(super) fn passed(&mut self, agreed: u8) {
        self.score = self.score.saturating_sub(PASSED);
        let squeezed = self.window < usize::from(agreed);
        if !squeezed && !self.repeats {
            return;
        }
        self.calm += 1;
        if self.calm >= self.trial {
            self.calm = 0;
            self.repeats = false;
            self.window = self.window.saturating_mul(2);
        }
    }
}
