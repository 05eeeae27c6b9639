//! When a packet is sent again, and when that has been done often enough.

use super::congestion::QUIET;
use super::{Core, Mem, slot_of};
use crate::engine::{Blame, Cx, FailureKind, Outcome};
use crate::kermit::bundle::CAREFUL;
use crate::kermit::flight::Slot;
use crate::kermit::packet::{LONG_HEADER, kind};
use crate::kermit::probe::{self, ProbeState};
use crate::kermit::states::{SenderInput, Sending};
use crate::line::line_time;
use crate::time::{Duration, Instant};
use crate::trace::Again;

const SLOWEST_BYTES_PER_S: u64 = 16 << 10;

/// Most bytes in the buffers between two streaming ends, and how slowly they may drain.
const MOST_UNDER_WAY: u64 = 8 << 20;

/// The shortest wait for the answer to a B of bundles, and copies of it that do not wait longer.
const LAST_ANSWER: Duration = Duration::from_millis(400);
const LAST_ASKED: u32 = 5;

/// Most bytes that a serial port's driver may buffer.
const PORT_BUFFER: usize = 4096;

impl Core {
    /// The packet with the codes to be tried is retransmitted: perhaps the line did not pass them.
    pub(super) fn unprobed(&mut self, mem: &mut Mem<'_>, number: u64) -> Slot {
        let slot = *self.flight.slot(number);
        if self.packing.probe_in != number || self.link.bare != ProbeState::Asked {
            return slot;
        }
        self.link.bare = ProbeState::Failed;
        let (_, count) = probe::codes();
        let memory = slot_of(mem.slots, &self.link, &self.flight, number);
        let data = &mut memory[LONG_HEADER..LONG_HEADER + slot.data];
        data[0] = CAREFUL;
        data.copy_within(1 + count.., 1);
        let len = slot.data - count;
        let (start, end) = self.finish(mem, kind::DATA, number, len);
        self.flight.rewritten(number, start, end);
        self.flight.reload(number, len);
        *self.flight.slot(number)
    }

    /// The A packet is retransmitted: perhaps the line did not pass the codes that it probes.
    pub(super) fn without_try(&mut self, mem: &mut Mem<'_>, number: u64) -> Slot {
        if self.link.bare == ProbeState::Asked {
            self.link.bare = ProbeState::Failed;
            let room = self.room(kind::ATTRIBUTES);
            let memory = slot_of(mem.slots, &self.link, &self.flight, number);
            let len = self.attributes(&mut memory[LONG_HEADER..LONG_HEADER + room]);
            let (start, end) = self.finish(mem, kind::ATTRIBUTES, number, len);
            self.flight.rewritten(number, start, end);
        }
        *self.flight.slot(number)
    }

    /// A packet failed too often.
    pub(super) fn failed_too_often(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, kind: u8) {
        if kind == kind::BREAK {
            if !self.under_way.is_settled() {
                // The receiver has every file, and our own store does not know it yet.
                return;
            }
            // Every file has been acknowledged as closed; only the B or its answer was lost.
            return self.done(cx);
        }
        let (blame, kind) = if self.silent > 1 {
            (Blame::Peer, FailureKind::Silence)
        } else {
            (Blame::Line, FailureKind::TooManyRetries)
        };
        self.fail(cx, mem, blame, kind, Some("Too many retries"));
    }

    /// A NAK for a packet in flight. Where the receiver repeats them, or has refused this one often,
    /// the next copy has to wait for some quiet.
    pub(super) fn asked_for(&mut self, cx: &mut Cx<'_>, number: u64) {
        let before = self.flight.refused(number);
        let slot = self.flight.slot(number);
        let often = slot.copies > u32::from(self.link.config.retries / 2);
        let fresh = slot.left.is_none_or(|left| cx.now - left < QUIET);
        // A waiting receiver repeats its NAK: one that comes just after our first packet has crossed with it. A peer that
        // streams may take a second copy for an error of the line, as G-Kermit does.
        let crossed = slot.kind == kind::SEND_INIT && slot.copies <= 1;
        let waits = fresh && (crossed || often || self.congestion.repeats());
        let (acked, window) = (slot.acked, self.link.agreed.window);
        if waits {
            self.flight.want(number);
        } else if self.resend(cx, number, Again::Nak) {
            return;
        }
        // The first one may have crossed with a copy that left because later packets were answered.
        if window > 1 && !acked && before > 0 {
            self.congestion.asked_again(window, self.flight.len());
        }
    }

    /// Sends a packet again, unless the peer cannot have seen its last copy yet.
    pub(super) fn resend(&mut self, cx: &mut Cx<'_>, number: u64, why: Again) -> bool {
        let again = self.flight.again(number, cx.now, self.timing.soonest(), why);
        if again {
            self.count_loss(number, why);
        }
        again
    }

    /// When to send the copy that a NAK requested too early.
    pub(super) fn wanted_at(&self) -> Option<Instant> {
        let low = (!self.flight.is_empty()).then(|| self.flight.slot(self.flight.low))?;
        let waits = low.wanted && !low.acked && !low.queue;
        Some(low.left.filter(|_| waits)? + QUIET.max(self.timing.soonest()))
    }

    pub(super) fn count_loss(&mut self, number: u64, why: Again) {
        let slot = *self.flight.slot(number);
        if slot.kind == kind::DATA {
            // After a timeout perhaps only its answer was.
            self.hits += u64::from(why != Again::Timeout);
            self.protected_lost(number, why);
            self.lengths.lost(slot.len());
        } else {
            self.lengths.stumbled();
        }
    }

    /// When to ask again for the last answers of bundles. The receiver lingers for a while only, so that this cannot
    /// wait for the timeout of the oldest packet, which is that of a whole window; and a B is short.
    pub(super) fn end_overdue(&self) -> Option<Instant> {
        if !self.bundles() || self.state != Sending::Break || self.flight.is_empty() {
            return None;
        }
        let end = self.flight.slot(self.flight.next - 1);
        let waits = !end.acked && !end.queue && end.copies < LAST_ASKED;
        let rtt = self.timing.smoothed().unwrap_or_default();
        Some(end.left.filter(|_| waits)? + (rtt * 3 / 2).max(LAST_ANSWER))
    }

    /// Only the answer to the B of bundles is missing, and after this many copies of it without one the receiver has left.
    pub(super) fn was_asked_enough(&self) -> bool {
        let is_last = self.bundles() && self.state == Sending::Break && self.under_way.is_settled();
        is_last
            && self.flight.low + 1 == self.flight.next
            && self.flight.slot(self.flight.low).copies >= LAST_ASKED
    }

    /// Ends the session, in which everything was stored.
    pub(super) fn done(&mut self, cx: &mut Cx<'_>) {
        self.enter(cx, SenderInput::Done);
        self.link.end(cx, Outcome::Done);
    }

    /// When the answer to the oldest packet is overdue.
    pub(super) fn overdue(&self) -> Option<Instant> {
        let low = (!self.flight.is_empty()).then(|| self.flight.slot(self.flight.low))?;
        if low.acked || low.queue {
            return None;
        }
        // Of bundles the answer to a later packet tells of those before it.
        let low = if self.bundles() { self.flight.last_unanswered().unwrap_or(low) } else { low };
        if low.queue {
            return None;
        }
        if low.kind == kind::EOF && self.link.agreed.streaming {
            // This line loses nothing, but streamed data may still be in flight: in the
            // peer's buffers, and in those of any relay. A Z again would only come after it.
            let under_way = self.link.stats.encoded_bytes.min(MOST_UNDER_WAY);
            let run_out = Duration::from_secs(under_way / SLOWEST_BYTES_PER_S);
            return Some(low.left? + self.link.patience() + run_out);
        }
        // A packet that has not left yet is the port's business, which has a limit of its own.
        // Until the first data is acknowledged, the fill of the port's own buffer is unknown:
        // on a line of known rate it may be a page of bytes that have "left" but not gone.
        let unknown = if self.lengths.is_untried() {
            line_time(self.link.config.line.rate_bps, low.len().max(PORT_BUFFER))
        } else {
            Duration::ZERO
        };
        let left = low.left?;
        let alone = left + self.timing.wait(low.under_way) + unknown;
        Some(self.timing.behind_others(left).map_or(alone, |until| until.max(alone)))
    }
}
