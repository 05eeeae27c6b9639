//! Subpackets, and the frames that they are in.

use super::WindowProbe;
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::StoreError;
use crate::session::PendingRequest;
use crate::trace::{Again, Load};
use crate::zmodem::escape::ZDLE;
use crate::zmodem::link::trace_sent;
use crate::zmodem::packet::{
    Form, Header, MAX_HEADER, PACKS, end, kind, put_subpacket, subpacket_room,
};
use crate::zmodem::rle;
use crate::zmodem::sending::{AFTER_CUT, Core, Mem};
use crate::zmodem::states::SenderInput;

impl Core {
    /// Whether there is all that the next subpacket needs; how long it may be, and what is compressed of it. Asks for what is not there.
    fn prepared(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
    ) -> Option<(usize, Option<(usize, usize)>)> {
        let is_asked = PACKS && matches!(self.pending, PendingRequest::Pack { .. });
        if is_asked || self.flow.waiting.is_some() || self.flow.seek.is_some() {
            return None;
        }
        let allowed = self.allowed(cx)?;
        let packed = self.packing.waiting();
        let chunk = self.chunk(allowed, mem.source.len()).filter(|_| packed.is_none());
        // One additional byte tells whether it is the last.
        let want = chunk.unwrap_or(allowed);
        if packed.is_none() && self.source.ready() <= want && !self.source.ended {
            if self.pending.is_idle() {
                self.pending = PendingRequest::Read;
            }
            return None;
        }
        if self.fell_short() {
            // The announced length cannot be met, and the receiver must not take it for complete.
            let kind = FailureKind::Store(StoreError::Changed);
            self.fail(cx, mem, Blame::Store, kind);
            return None;
        }
        if let Some(len) = chunk.filter(|_| self.source.ready() > 0) {
            self.ask_to_pack(len.min(self.source.ready()));
            return None;
        }
        let longest = packed.map_or(allowed, |(_, made)| made);
        let closing = if PACKS && self.peer.packs { MAX_HEADER + subpacket_room(0) } else { 0 };
        let room = 1 + 2 * MAX_HEADER + closing + subpacket_room(longest);
        self.link.output.room(mem.out, room)?;
        Some((allowed, packed))
    }

    /// Makes one more subpacket. False if there is nothing to do now.
    pub(in crate::zmodem::sending) fn produce(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
    ) -> bool {
        let Some((allowed, packed)) = self.prepared(cx, mem) else { return false };
        let position = self.source.position();
        let ready = self.source.bytes(mem.source);
        let (used, data) = if let Some((of, made)) = packed {
            (of.min(ready.len()), &mem.packed[..made])
        } else if self.peer.rle {
            let room = mem.coded.len().min(allowed.max(3));
            let (used, made) = rle::encode(ready, &mut mem.coded[..room]);
            (used, &mem.coded[..made])
        } else {
            let used = ready.len().min(allowed);
            (used, &ready[..used])
        };
        let last = self.source.ended && used == ready.len();
        let after = position + used as u64;
        if after > u64::from(u32::MAX) {
            self.fail(cx, mem, Blame::Local, FailureKind::Unsupported);
            return false;
        }
        let form = self.form_of_data(packed.is_some());
        if self.packing.differs(packed.is_some()) && !self.close_frame(cx, mem.out) {
            return false;
        }
        if !self.flow.open {
            self.say_data(cx, mem.out, position, form);
            self.packing.opens(packed.is_some());
        }
        self.governor.saves(self.packing.saving(used));
        let end = self.end_at(after, last);
        let Some(room) = self.link.output.room(mem.out, subpacket_room(data.len())) else {
            return false;
        };
        let (coded, len) = put_subpacket(&mut self.link.escaper, form, data, end, room);
        self.link.queued(cx, len);
        let old = used - after.saturating_sub(self.flow.high.max(position)) as usize;
        let why = self.flow.why.take().filter(|_| old > 0);
        if why.is_some() {
            // Only the first was damaged or missing; what follows it has to come again with it.
            self.flow.why = Some(Again::GoBack);
        }
        let at = self.link.output.position() - len as u64;
        let load = Load { at, data: coded, file: used, old, why, ..Load::default() };
        trace_sent(cx, char::from(end), after, len, load);
        self.count(position, used, coded, len);
        self.source.advance(used);
        self.packing.went(used);
        self.flow.high = self.flow.high.max(after);
        self.ended(cx, mem, end, after);
        true
    }

    /// A subpacket with this end, at this position, is queued.
    fn ended(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, end: u8, after: u64) {
        self.flow.open = matches!(end, end::ZCRCG | end::ZCRCQ);
        if self.flow.nudge == WindowProbe::Now {
            self.flow.nudge = WindowProbe::Done;
        }
        match end {
            end::ZCRCW => {
                self.flow.waiting = Some(after);
                self.flow.asked = after;
                self.governor.asked(after, self.flow.acked, cx.now);
                let again = self.link.question.is_some();
                self.link.expect_answer(cx.now, again);
            }
            end::ZCRCQ => {
                self.answers.queries += u32::from(!self.answers.query);
                self.flow.asked = after;
                self.governor.asked(after, self.flow.acked, cx.now);
            }
            end::ZCRCE => self.say_eof(cx, mem, false),
            _ => {}
        }
    }

    pub(in crate::zmodem::sending) fn frame_is_open(&self) -> bool {
        self.flow.open
    }

    pub(in crate::zmodem::sending) fn frame_is_closed(&mut self) {
        self.flow.open = false;
    }

    /// Whether the stream was cut and the receiver must be helped to the next header.
    pub(in crate::zmodem::sending) fn take_cut(&mut self) -> bool {
        core::mem::take(&mut self.flow.cut)
    }

    /// The file is cancelled: positions no longer matter.
    pub(in crate::zmodem::sending) fn flow_seek_is_void(&mut self) {
        self.flow.seek = None;
        self.flow.waiting = None;
    }

    /// The form of a frame of data.
    fn form_of_data(&self, is_packed: bool) -> Form {
        match is_packed {
            true => Form::Packed,
            false if self.peer.rle => Form::Rle,
            false => self.peer.form,
        }
    }

    /// A position waits for a request that is open.
    pub(in crate::zmodem::sending) fn has_to_seek(&self) -> bool {
        self.flow.seek.is_some()
    }

    /// Opens a frame of data.
    fn say_data(&mut self, cx: &mut Cx<'_>, out: &mut [u8], position: u64, form: Form) {
        if core::mem::take(&mut self.flow.cut) {
            self.link.say_bytes(cx, out, AFTER_CUT);
        }
        let header = Header {
            kind: kind::ZDATA,
            data: (position as u32).to_le_bytes(),
            form,
            variable: self.peer.variable,
        };
        self.link.say(cx, out, &header);
        if let Some((ends_at @ u64::MAX, _)) = &mut self.flow.restart {
            *ends_at = self.link.output.position();
        }
    }

    fn count(&mut self, position: u64, used: usize, coded: usize, len: usize) {
        let stats = &mut self.link.stats;
        let after = position + used as u64;
        let fresh = after.saturating_sub(self.flow.high.max(position));
        stats.packets_out += 1;
        stats.longest_packet_bytes = stats.longest_packet_bytes.max(len as u64);
        stats.file_bytes += fresh;
        stats.current_file_bytes = stats.current_file_bytes.max(after);
        // A partly new subpacket counts for that part.
        let fresh_coded = (coded as u64 * fresh).checked_div(used as u64).unwrap_or(0);
        stats.encoded_bytes += fresh_coded;
        if fresh < used as u64 {
            stats.repeated_bytes += len as u64 - fresh_coded;
        }
    }

    pub(in crate::zmodem::sending) fn say_eof(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        again: bool,
    ) {
        if !again {
            self.enter(cx, SenderInput::EndOfFile);
        }
        self.flow.ended = true;
        if again {
            self.link.say_bytes(cx, mem.out, OUT_OF_DATA);
        }
        let header = Header {
            kind: kind::ZEOF,
            data: (self.source.position() as u32).to_le_bytes(),
            form: self.peer.form,
            variable: self.peer.variable,
        };
        self.link.say(cx, mem.out, &header);
        self.link.expect_answer(cx.now, again);
    }
}

/// The prefix of an unanswered ZEOF. Noise may have hit the end of the last
/// subpacket: then the receiver takes every ZEOF for data and is silent until its own timeout
/// (lrzsz 0.12.21: 39 s, of a transfer of 36 s). This ends the subpacket with an invalid check,
/// since its bytes are undefined escapes: such a receiver sends its position at once, and one
/// that waits for a header ignores them.
const OUT_OF_DATA: &[u8] =
    &[ZDLE, end::ZCRCE, ZDLE, b'!', ZDLE, b'!', ZDLE, b'!', ZDLE, b'!', b'!'];
