//! The sender's stream of data: subpackets, acknowledgements, and going back.

use super::{AFTER_CUT, Core, Mem};
use crate::engine::{Blame, Cx, FailureKind};
use crate::file::StoreError;
use crate::line::line_time;
use crate::session::{PendingRequest, QueuedEvent};
use crate::time::{Duration, Instant};
use crate::trace::{Again, Load, TraceEvent};
use crate::zmodem::escape::ZDLE;
use crate::zmodem::link::trace_sent;
use crate::zmodem::packet::{Form, Header, MAX_HEADER, end, kind, put_subpacket, subpacket_room};
use crate::zmodem::rle;
use crate::zmodem::states::{SenderInput, Sending};
use crate::zmodem::timing::SLOWEST_BPS;

/// The state of the stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    /// A ZDATA frame is open.
    open: bool,
    /// The stream was cut in the middle of a subpacket.
    cut: bool,
    /// The receiver is known to have everything before this.
    acked: u64,
    /// The last position requested by the receiver.
    sync: u64,
    /// The furthest position requested.
    good: u64,
    /// The next subpacket requests an acknowledgement before anything follows.
    cautious: bool,
    /// An acknowledgement of this position is awaited.
    waiting: Option<u64>,
    /// Position after the last acknowledged pause, for receivers with a buffer.
    segment: u64,
    /// Position of the last acknowledgement request.
    asked: u64,
    /// The furthest position that was ever sent.
    high: u64,
    /// The end of the file was sent.
    ended: bool,
    /// A change of position that waits for the store's answer.
    seek: Option<u64>,
    /// The header after the last change of position: where it ends in the stream, when it arrives.
    restart: Option<(u64, Option<Instant>)>,
    /// Why what comes next was sent before.
    why: Option<Again>,
    /// The window is full without an acknowledgement: the progress of finding out why.
    nudge: WindowProbe,
}

/// A ZCRCW beyond a full window, for receivers that answer nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum WindowProbe {
    #[default]
    NotYet,
    /// The next subpacket is it.
    Now,
    Done,
}

/// Which requests for an acknowledgement the receiver answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// It has sent an acknowledgement.
    any: bool,
    /// It has acknowledged a ZCRCQ.
    query: bool,
    /// ZCRCQs sent on an unbroken stream, none answered.
    queries: u32,
    /// It ignores ZCRCQ.
    no_queries: bool,
    /// ZCRCWs that it apparently ignored, without any acknowledgement so far.
    missed: u32,
    /// It ignores ZCRCW too.
    none: bool,
}

/// Unanswered ZCRCQs before an answered ZCRCW that were ignored and not lost.
const TOO_QUIET: u32 = 3;
/// Bytes in a subpacket that only requests an acknowledgement.
const SHORTEST: usize = 32;

impl Flow {
    /// Bytes of the stream that the port has taken; they arrive then.
    pub(super) fn left(&mut self, taken: u64, arrival: Instant) {
        if let Some((ends_at, arrives @ None)) = &mut self.restart
            && *ends_at <= taken
        {
            *arrives = Some(arrival);
        }
    }
}

impl Core {
    /// A damaged header in the middle of the stream. Receivers only send there to change the
    /// position, and are looking for a header by then: when they get one, they
    /// retransmit theirs. This saves their timeout.
    pub(super) fn ask_again(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        // With acknowledgements in flight it was more likely one of those, and the next one tells
        // as much.
        if self.is_stale(cx) || self.window() > 0 {
            return;
        }
        self.link.withdraw();
        self.link.say_bytes(cx, mem.out, AFTER_CUT);
        self.link.say(cx, mem.out, &Header::hex(kind::ZNAK, 0));
        // The frame is broken now: nothing follows in it.
        self.flow.waiting = self.flow.waiting.or(Some(self.flow.high));
        self.link.expect_answer(cx.now, false);
    }

    /// The receiver's position to start or continue from.
    pub(super) fn position(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, position: u64) {
        if self.state == Sending::File {
            if self.file.info.size.is_some_and(|size| position > size) {
                return self.beyond(cx, mem);
            }
            self.link.answered(cx.now);
            self.start_data(cx, position);
            if self.unwanted {
                self.leave(cx, mem);
            }
            return;
        }
        self.link.stats.naks_in += 1;
        if position > self.flow.high {
            return self.beyond(cx, mem);
        }
        if position == self.flow.sync && self.is_stale(cx) {
            return;
        }
        if self.flow.waiting.is_some_and(|waiting| waiting <= position) {
            // It has what the ZCRCW covers, but has not acknowledged it.
            self.stream_on();
        }
        // Only a position beyond all earlier ones is progress.
        let progress = position > self.flow.good;
        self.flow.good = self.flow.good.max(position);
        self.faults = if progress { 0 } else { self.faults + 1 };
        if self.faults > u32::from(self.link.config.retries) {
            return self.fail(cx, mem, Blame::Line, FailureKind::TooManyRetries);
        }
        self.distrust(cx);
        self.lengths.hit(position.saturating_sub(self.flow.sync));
        self.flow.cautious = position == self.flow.sync;
        self.flow.sync = position;
        self.restart_at(cx, position, Again::Nak);
    }

    /// ZNAK: a header of ours was damaged, most likely that of the data. The receiver is sent its last
    /// known position, and objects if it is elsewhere.
    pub(super) fn garbled(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.is_stale(cx) {
            return;
        }
        self.link.stats.naks_in += 1;
        let progress = self.flow.acked > self.flow.good;
        self.flow.good = self.flow.good.max(self.flow.acked);
        self.faults = if progress { 0 } else { self.faults + 1 };
        if self.faults > u32::from(self.link.config.retries) {
            return self.fail(cx, mem, Blame::Line, FailureKind::TooManyRetries);
        }
        self.distrust(cx);
        self.go_back(cx, Again::Nak);
    }

    /// A loss on the line, whatever was configured.
    fn distrust(&mut self, cx: &Cx<'_>) {
        let config = &self.link.config;
        if config.adapt_length {
            self.lengths.enable();
        }
        if config.line.rate_bps > 0 {
            self.link.pace(cx.now);
        } else if self.governs() {
            self.governor.hit();
        }
    }

    /// The user or the receiver limits what is in flight.
    fn is_bounded(&self) -> bool {
        self.link.config.window > 0 || self.peer.buffer > 0 || self.peer.one_at_a_time
    }

    /// The limit in flight follows from the acknowledgements: the rate of the line is unknown.
    pub(super) fn governs(&self) -> bool {
        self.link.config.line.rate_bps == 0 && !self.is_bounded()
    }

    /// How long what is in flight takes to arrive. An unknown line may be
    /// slow: once or twice `unknown`.
    pub(super) fn time_under_way(&self, unknown: Duration) -> Duration {
        let bytes = self.flow.high.saturating_sub(self.flow.acked);
        let slowest = line_time(SLOWEST_BPS, usize::try_from(bytes).unwrap_or(usize::MAX));
        self.governor.time_of(bytes).unwrap_or(slowest.clamp(unknown, unknown * 2))
    }

    /// The length of the file, once its end was sent.
    pub(super) fn sent_len(&self) -> u64 {
        self.flow.high
    }

    /// Whether its end was sent, even if a part is retransmitted now.
    pub(super) fn end_is_sent(&self) -> bool {
        self.flow.ended
    }

    /// Acknowledgements requested per window.
    fn parts(&self) -> u64 {
        if self.governs() { self.governor.parts() } else { 4 }
    }

    /// Bytes that may be in flight without acknowledgement; 0 is unlimited.
    fn window(&self) -> u64 {
        if self.answers.none {
            return 0;
        }
        match self.link.config.window {
            0 => self.governor.window().unwrap_or(0),
            window => u64::from(window),
        }
    }

    /// A position that does not exist.
    fn beyond(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.faults += 1;
        if self.faults > u32::from(self.link.config.retries) {
            self.fail(cx, mem, Blame::Peer, FailureKind::Violation);
        }
    }

    /// The receiver cannot have seen the last change of position yet, so its answer is about earlier
    /// data.
    fn is_stale(&self, cx: &Cx<'_>) -> bool {
        match self.flow.restart {
            None => false,
            Some((_, None)) => true,
            Some((_, Some(arrives))) => cx.now < arrives + self.link.soonest(),
        }
    }

    fn start_data(&mut self, cx: &mut Cx<'_>, position: u64) {
        self.enter(cx, SenderInput::Position);
        self.flow = Flow {
            acked: position,
            sync: position,
            good: position,
            segment: position,
            asked: position,
            high: position,
            ..Flow::default()
        };
        self.faults = 0;
        self.source.begin(position);
        self.governor.forget();
        self.answers.queries = 0;
        self.link.stats.current_file_bytes = position;
        self.link.stats.current_acked_bytes = None;
        self.link.notes.push(QueuedEvent::Started { offset: position });
    }

    fn restart_at(&mut self, cx: &mut Cx<'_>, position: u64, why: Again) {
        self.enter(cx, SenderInput::Repositioned);
        self.flow.why = Some(why);
        self.link.stats.retransmissions += 1;
        if cx.trace.enabled() {
            cx.trace.record(cx.now, &TraceEvent::Value { name: "position", value: position });
        }
        self.flow.cut |= self.link.withdraw() > 0;
        self.link.question = None;
        self.flow.open = false;
        self.flow.waiting = None;
        self.flow.acked = position;
        self.flow.segment = position;
        self.flow.asked = position;
        self.flow.nudge = WindowProbe::NotYet;
        self.answers.queries = 0;
        self.flow.restart = Some((u64::MAX, None));
        self.flow.seek = Some(position);
        if self.pending != PendingRequest::Read {
            self.seek_now();
        }
    }

    /// Changes the position, once no read is pending.
    pub(super) fn seek_now(&mut self) {
        if let Some(position) = self.flow.seek.take() {
            self.source.seek(position);
        }
    }

    /// Timeout of an acknowledgement or header: continues from the last known good position.
    pub(super) fn go_back(&mut self, cx: &mut Cx<'_>, why: Again) {
        let copies = self.link.question;
        self.flow.cautious = true;
        self.governor.forget();
        let acked = self.flow.acked;
        self.restart_at(cx, acked, why);
        // Still the same query.
        self.link.question =
            copies.map(|question| crate::zmodem::link::Query { left: None, ..question });
    }

    pub(super) fn acknowledged(&mut self, cx: &mut Cx<'_>, position: u64) {
        if position <= self.flow.acked && self.flow.waiting != Some(position)
            || position > self.flow.high
        {
            return;
        }
        if !self.is_stale(cx) {
            self.governor.acknowledged(position, self.link.timing.shortest(), cx.now);
        }
        self.flow.acked = position;
        self.link.stats.current_acked_bytes = Some(position);
        self.answers.any = true;
        match self.flow.waiting {
            Some(waiting) if waiting == position => {
                self.answers.no_queries |= self.answers.queries >= TOO_QUIET;
                self.flow.nudge = WindowProbe::NotYet;
                self.flow.waiting = None;
                self.flow.cautious = false;
                self.flow.segment = position;
                self.link.answered(cx.now);
            }
            Some(_) => self.query_answered(),
            None => {
                self.query_answered();
                self.link.question = None;
            }
        }
    }

    fn query_answered(&mut self) {
        self.answers.query = true;
        self.answers.queries = 0;
    }

    /// When a full window is probed in another way. The standard requires an answer to ZCRCQ, but some
    /// receivers answer only ZCRCW.
    pub(super) fn nudge_at(&self) -> Option<Instant> {
        let Flow { waiting, nudge, .. } = self.flow;
        let asked = self.answers.queries >= TOO_QUIET && !self.answers.query;
        let stalls =
            self.state == Sending::Data && waiting.is_none() && nudge == WindowProbe::NotYet;
        if !stalls || !asked {
            return None;
        }
        Some(self.link.overdue()?.max(self.link.spoke + self.link.timing.wait()))
    }

    pub(super) fn nudge(&mut self) {
        self.flow.nudge = WindowProbe::Now;
        self.link.question = None;
    }

    /// A ZCRCW was ignored by a receiver that has never acknowledged anything. True if it gets
    /// a stream from now on: it may know only ZRPOS, which reports losses.
    pub(super) fn stream_on(&mut self) -> bool {
        if self.flow.waiting.is_none() || self.answers.any || self.answers.none {
            return false;
        }
        self.answers.missed += 1;
        let can = self.peer.buffer == 0 && !self.peer.one_at_a_time;
        if self.answers.missed < 2 || !can {
            return false;
        }
        self.answers.none = true;
        self.flow.waiting = None;
        self.flow.cautious = false;
        self.link.question = None;
        true
    }

    /// Longest next subpacket; `None`: nothing before an acknowledgement.
    fn allowed(&mut self, cx: &Cx<'_>) -> Option<usize> {
        let position = self.source.position();
        let since = position.saturating_sub(self.flow.sync);
        let mut len = self.lengths.length(since, self.peer.longest);
        let window = self.window();
        if self.flow.nudge == WindowProbe::Now {
            len = len.min(SHORTEST);
        } else if window > 0 {
            if position.saturating_sub(self.flow.acked) >= window {
                if self.link.question.is_none() {
                    self.link.expect_answer(cx.now, false);
                }
                return None;
            }
            len = len.min((window / self.parts()).max(32) as usize);
        }
        if self.peer.buffer > 0 {
            let segment = position - self.flow.segment;
            len = len.min(self.peer.buffer.saturating_sub(segment).max(1) as usize);
        }
        Some(len)
    }

    /// How the subpacket that ends at `position` is to end.
    fn end_at(&self, position: u64, last: bool) -> u8 {
        let window = self.window();
        let full = self.peer.buffer > 0 && position - self.flow.segment >= self.peer.buffer;
        let must_wait = self.peer.one_at_a_time || full;
        let cautious = self.flow.cautious && !self.answers.none;
        let due = window > 0 && position.saturating_sub(self.flow.asked) >= window / self.parts();
        let fills = window > 0 && position.saturating_sub(self.flow.acked) >= window;
        if last {
            end::ZCRCE
        } else if must_wait || cautious || self.flow.nudge == WindowProbe::Now {
            end::ZCRCW
        } else if self.answers.no_queries {
            if fills { end::ZCRCW } else { end::ZCRCG }
        } else if due {
            end::ZCRCQ
        } else {
            end::ZCRCG
        }
    }

    /// The file ended before the length that was announced.
    fn fell_short(&self) -> bool {
        self.source.ended && self.file.info.size.is_some_and(|size| self.source.offset < size)
    }

    /// Makes one more subpacket. False if there is nothing to do now.
    pub(super) fn produce(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        if self.flow.waiting.is_some() || self.flow.seek.is_some() {
            return false;
        }
        let Some(allowed) = self.allowed(cx) else { return false };
        // One additional byte tells whether it is the last.
        if self.source.ready() <= allowed && !self.source.ended {
            if self.pending.is_idle() {
                self.pending = PendingRequest::Read;
            }
            return false;
        }
        if self.fell_short() {
            // The announced length cannot be met, and the receiver must not take it for complete.
            let kind = FailureKind::Store(StoreError::Changed);
            self.fail(cx, mem, Blame::Store, kind);
            return false;
        }
        let want = 1 + 2 * MAX_HEADER + subpacket_room(allowed);
        if self.link.output.room(mem.out, want).is_none() {
            return false;
        }
        let position = self.source.position();
        let ready = self.source.bytes(mem.source);
        let (used, data) = if self.peer.rle {
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
        if !self.flow.open {
            self.say_data(cx, mem.out, position);
        }
        let end = self.end_at(after, last);
        let form = if self.peer.rle { Form::Rle } else { self.peer.form };
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

    pub(super) fn frame_is_open(&self) -> bool {
        self.flow.open
    }

    pub(super) fn frame_is_closed(&mut self) {
        self.flow.open = false;
    }

    /// Whether the stream was cut and the receiver must be helped to the next header.
    pub(super) fn take_cut(&mut self) -> bool {
        core::mem::take(&mut self.flow.cut)
    }

    /// The file is cancelled: positions no longer matter.
    pub(super) fn flow_seek_is_void(&mut self) {
        self.flow.seek = None;
        self.flow.waiting = None;
    }

    /// Opens a frame of data.
    fn say_data(&mut self, cx: &mut Cx<'_>, out: &mut [u8], position: u64) {
        if core::mem::take(&mut self.flow.cut) {
            self.link.say_bytes(cx, out, AFTER_CUT);
        }
        let header = Header {
            kind: kind::ZDATA,
            data: (position as u32).to_le_bytes(),
            form: if self.peer.rle { Form::Rle } else { self.peer.form },
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

    pub(super) fn say_eof(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, again: bool) {
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
