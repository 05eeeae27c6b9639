//! The sender's stream of data: subpackets, acknowledgements, and going back.

use super::{AFTER_CUT, Core, Mem};
use crate::engine::{Blame, Cx, FailureKind};
use crate::line::line_time;
use crate::session::{PendingRequest, QueuedEvent};
use crate::time::{Duration, Instant};
use crate::trace::{Again, TraceEvent};
use crate::zmodem::packet::{Header, end, kind};
use crate::zmodem::states::{SenderInput, Sending};
use crate::zmodem::timing::SLOWEST_BPS;

mod subpackets;

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
        self.packing.begin(cx, self.link.output.taken());
        self.governor.forget();
        self.governor.begin(position);
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
        self.governor.begin(position);
        self.flow.nudge = WindowProbe::NotYet;
        self.answers.queries = 0;
        self.flow.restart = Some((u64::MAX, None));
        self.flow.seek = Some(position);
        self.packing.drop();
        if !matches!(self.pending, PendingRequest::Read | PendingRequest::Pack { .. }) {
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
            if self.governor.in_flight(position, self.flow.acked) >= window {
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
        let since = self.governor.since_request(position, self.flow.asked);
        let due = window > 0 && since >= window / self.parts();
        let fills = window > 0 && self.governor.in_flight(position, self.flow.acked) >= window;
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
}
