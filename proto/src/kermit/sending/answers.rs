//! What the receiver says: acknowledgements, NAKs, errors, and what is too damaged to tell.

use super::{Cancel, Core, Mem};
use crate::engine::{Blame, Cx, FailureKind, Outcome};
use crate::kermit::bundle::mark::{self, ALSO, ERRORS, MISPLACED};
use crate::kermit::flight::Acked;
use crate::kermit::link::trace_got;
use crate::kermit::packet::{self, BadPacket, Packet, kind};
use crate::kermit::params::DIGESTS_DIFFER;
use crate::kermit::probe::ProbeState;
use crate::kermit::states::{SenderInput, SenderStep, Sending, on_ack};
use crate::session::PendingRequest;
use crate::trace::{Again, TraceEvent};

impl Core {
    pub(super) fn on_packet(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, body: &[u8]) {
        let agreed = self.link.agreed;
        let packet = match packet::parse(body, agreed.check, agreed.forced_check) {
            Ok(packet) => packet,
            Err(why) => return self.on_damaged(cx, mem, why, body.len()),
        };
        if packet.kind == kind::ACK
            && self.state == Sending::Init
            && let Some(why) = self.link.doubts(packet.data)
        {
            self.on_damaged(cx, mem, why, body.len());
            self.resend(cx, self.flight.low, Again::Answer);
            return;
        }
        if packet.kind == kind::ERROR && !self.link.believes(&packet) {
            return self.on_damaged(cx, mem, BadPacket::WeakError, body.len());
        }
        self.link.has_weak_error = false;
        self.link.stats.packets_in += 1;
        self.link.spoke = cx.now;
        self.silent = 0;
        self.link.sense_parity();
        trace_got(cx, &packet, body.len(), self.link.stats.wire_in_bytes);
        self.link.turn_begins(cx.now);
        match packet.kind {
            kind::ACK => self.on_ack(cx, mem, &packet),
            kind::NAK => self.on_nak(cx, mem, packet.seq),
            kind::ERROR => {
                let differs = (self.file.digest.is_some() || self.bundles())
                    && self.link.message.as_bytes() == DIGESTS_DIFFER.as_bytes();
                let (blame, kind) = if differs {
                    (Blame::Line, FailureKind::DigestDiffers)
                } else {
                    (Blame::Peer, FailureKind::PeerError)
                };
                self.fail(cx, mem, blame, kind, None);
            }
            // Everything else only a sender sends: an echo of our own packets.
            _ => {}
        }
    }

    pub(super) fn on_damaged(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        why: BadPacket,
        len: usize,
    ) {
        self.link.stats.damaged += 1;
        cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
        self.timing.was_noise(self.link.agreed.window);
        if self.is_streaming_data() {
            self.not_reliable(cx, mem);
        } else if self.flight.len() == 1 && self.timing.smoothed().is_some() {
            // It can only have been about this one.
            self.resend(cx, self.flight.low, Again::Answer);
        }
    }

    /// The peer's word on the oldest packet, or on one after it.
    pub(super) fn on_ack(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, packet: &Packet<'_>) {
        let Some(number) = self.flight.locate(packet.seq) else {
            if self.is_streaming_data() {
                self.look_for_cancel(packet.data);
            } else if self.link.agreed.window == 1
                && u64::from(packet.seq) == (self.flight.low + 63) % 64
            {
                // In stop-and-wait the acknowledgement of the packet before is a NAK of this one, but
                // not the answers to its other copies: a packet sent twice for each of those would
                // be answered twice again, and so on to the end.
                if self.echoes > 0 {
                    self.echoes -= 1;
                    self.link.stats.duplicates += 1;
                } else {
                    self.resend(cx, self.flight.low, Again::Nak);
                }
            }
            return;
        };
        self.acknowledged(cx, mem, number, packet.data);
    }

    pub(super) fn acknowledged(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        number: u64,
        data: &[u8],
    ) {
        if self.bundles()
            && let Some(rest) = mark::kept(data)
        {
            return self.kept(cx, number, rest);
        }
        if self.bundles() && data == MISPLACED {
            return self.misplaced(cx, number);
        }
        let data = if self.bundles() { self.also(cx, mem, number, data) } else { data };
        let low = self.flight.low;
        let Some(acked) = self.flight.ack(number, cx.now) else {
            self.link.stats.duplicates += 1;
            return;
        };
        if self.flight.low > low {
            self.timing.advanced(self.flight.low - low, cx.now);
        }
        self.echoes = acked.copies.saturating_sub(1);
        let window = self.link.agreed.window;
        if acked.copies == 1 {
            self.congestion.passed(window);
        } else if window > 1 && acked.kind == kind::DATA {
            self.congestion.repeated(window, self.flight.len() + 1);
        }
        if acked.waited {
            self.congestion.waited();
        }
        if let Some((rtt, bytes)) = acked.rtt {
            self.timing.sample(rtt, bytes, window);
        }
        if acked.kind == kind::DATA {
            self.data_acked(cx, number, &acked);
        }
        if self.congestion.repeats() && acked.copies > 1 && !self.flight.is_empty() {
            // What left before that copy was lost like the one before it.
            self.resend(cx, self.flight.low, Again::Lost);
        }
        let data = self.errors_told(cx, number, data);
        if self.bundles() {
            return self.bundle_acked(number, acked.file, data);
        }
        match on_ack(self.state) {
            Some(SenderStep::Negotiate) => self.negotiate(cx, data),
            Some(SenderStep::Describe) => self.describe(cx, mem),
            Some(SenderStep::Decide) => self.decide(cx, data),
            Some(SenderStep::Advance) => self.look_for_cancel(data),
            Some(SenderStep::Closed) => {
                // A receiver that cancelled the file after its last data signals it here.
                self.look_for_cancel(data);
                let complete = self.cancel == Cancel::No && !self.file.refused;
                let verified =
                    complete && self.file.digest.is_some() && data.first() == Some(&b'W');
                self.enter(cx, SenderInput::Closed);
                self.pending = PendingRequest::Close { complete, verified };
            }
            Some(SenderStep::Finish) => {
                self.enter(cx, SenderInput::Done);
                self.link.end(cx, Outcome::Done);
            }
            None => {}
        }
    }

    /// A packet with data is acknowledged.
    fn data_acked(&mut self, cx: &mut Cx<'_>, number: u64, acked: &Acked) {
        let bytes = self.link.stats.current_acked_bytes.as_mut();
        if let Some(bytes) = bytes.filter(|_| !self.link.agreed.bundle) {
            *bytes += acked.file as u64;
        }
        self.lengths.carried(acked.len);
        if self.bundles() {
            let window = self.congestion.window(self.link.agreed.window);
            let is_full = self.flight.len() + 1 >= window || self.link.output.pending() > 0;
            self.streamed.rate.went(cx.now, self.lengths.bytes_carried(), is_full);
        }
        self.protection.passed();
        for lost in self.flight.overtaken(number) {
            self.resend(cx, lost, Again::Lost);
        }
    }

    /// An acknowledgement that is one of packets before it, too: the rest of what it says.
    fn also<'d>(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        number: u64,
        data: &'d [u8],
    ) -> &'d [u8] {
        let Some((count, rest)) = mark::count(ALSO, data) else { return data };
        let first = number.saturating_sub(u64::from(count)).max(self.flight.low);
        for before in first..number {
            if !self.flight.slot(before).acked {
                // When it came there is not known: no round trip is measured.
                self.flight.hold(before, cx.now);
                self.acknowledged(cx, mem, before, &[]);
            }
        }
        rest
    }

    /// What an acknowledgement says of the errors of its packet; the rest of what it says.
    fn errors_told<'d>(&mut self, cx: &mut Cx<'_>, number: u64, data: &'d [u8]) -> &'d [u8] {
        let told = if self.bundles() { mark::count(ERRORS, data) } else { None };
        if let Some((errors, _)) = told {
            self.protected_came(cx, number, errors);
        }
        if self.lengths.is_refuted() {
            self.protection.expect_none();
        }
        told.map_or(data, |(_, rest)| rest)
    }

    /// The receiver of a bundle has a packet before its turn: what left before it is lost.
    fn kept(&mut self, cx: &mut Cx<'_>, number: u64, data: &[u8]) {
        if !self.flight.slot(number).held {
            self.errors_told(cx, number, data);
        }
        if let Some((rtt, bytes)) = self.flight.hold(number, cx.now) {
            self.timing.sample(rtt, bytes, self.link.agreed.window);
        }
        for lost in self.flight.overtaken(number) {
            self.resend(cx, lost, Again::Lost);
        }
    }

    /// A packet of a bundle is acknowledged, with `file` bytes of files in it.
    fn bundle_acked(&mut self, number: u64, file: usize, data: &[u8]) {
        if number == self.packing.probe_in && self.link.bare == ProbeState::Asked {
            self.link.bare = ProbeState::Passed;
        }
        let old = self.packing.owed.min(file as u64);
        self.packing.owed -= old;
        if let Some(bytes) = &mut self.link.stats.current_acked_bytes {
            *bytes += file as u64 - old;
        }
        self.differing.acked(number);
        self.marked(number, data);
    }

    /// The receiver wants a packet again, of which characters were lost, or to which some were added.
    fn misplaced(&mut self, cx: &mut Cx<'_>, number: u64) {
        self.link.stats.naks_in += 1;
        self.timing.was_noise(self.link.agreed.window);
        self.protection.misplaced();
        // It is no error that parity could have corrected.
        let protection = self.protection;
        self.asked_for(cx, number);
        self.protection = protection;
    }

    /// A data packet's acknowledgement may carry the request to stop.
    pub(super) fn look_for_cancel(&mut self, data: &[u8]) {
        match data {
            [b'X'] if self.cancel == Cancel::No => self.cancel = Cancel::File { by_peer: true },
            [b'Z'] => self.cancel = Cancel::Batch { by_peer: true },
            _ => {}
        }
    }

    pub(super) fn on_nak(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, seq: u8) {
        self.link.stats.naks_in += 1;
        self.timing.was_noise(self.link.agreed.window);
        if self.is_streaming_data() {
            return self.not_reliable(cx, mem);
        }
        if self.flight.is_empty() {
            return;
        }
        let low = self.flight.low;
        match self.flight.locate(seq) {
            Some(number) => self.asked_for(cx, number),
            None if u64::from(seq) != self.flight.next % 64 => {}
            // A NAK of the packet that comes next: everything before it has arrived. With a
            // window it may also be a guess, and a repetition is the safe answer.
            // An acknowledgement with data must be received.
            None if self.link.agreed.window == 1
                && !self.bundles()
                && matches!(self.state, Sending::File | Sending::Data | Sending::Break) =>
            {
                self.acknowledged(cx, mem, low, &[]);
            }
            None => {
                self.resend(cx, low, Again::Nak);
            }
        }
    }

    pub(super) fn not_reliable(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let say = Some("Transmission error on reliable link");
        self.fail(cx, mem, Blame::Line, FailureKind::NotReliable, say);
    }
}
