//! The receiver's control messages: when they are sent, retransmitted, and acknowledged (RFC 998
//! "control message", RFC 1030 section 7).

use super::{Core, Mem, Stage};
use crate::engine::Cx;
use crate::netblt::control::{
    GO_LEN, OK_LEN, Offer, put_go, put_ok, put_rate, put_resend, resend_len,
};
use crate::netblt::messages::{Entry, MessageKind};
use crate::netblt::packet::{Body, HEADER, Packet};
use crate::netblt::rate::pacing::Pace;
use crate::netblt::window::{ASKING, ReceiveRing, Record, SAID_OK, WHOLE};
use crate::session::Timer;
use crate::time::{Duration, Instant};

/// The control timer before a round trip is known. RFC 998 has it arbitrary; the first GO follows the
/// RESPONSE at its heels, and a card with one buffer hears one of the two (RFC 1030 section 7).
const FIRST_TIMER: Duration = Duration::from_millis(250);
/// The same between our own ends, where nothing else is in flight; it is doubled until a round trip is known.
const FIRST_TIMER_PACED: Duration = Duration::from_millis(10);
/// Minimum of control timers, regardless of the death timer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Messages that come so soon after one another leave in one packet.
const GATHER: Duration = Duration::from_millis(4);
/// Longest time to retransmit a message, for safety; where there are many, a quarter of it.
const LATER: Duration = Duration::from_millis(128);
/// Losses in a row are of packets, so rare messages stay lost for long. CONTROL therefore leaves a part of a long
/// round trip after the one before while anything waits for its acknowledgement, but not sooner than this,
const PACE: Duration = Duration::from_millis(64);
/// and after a control timeout, this many times, not sooner than that. Then it becomes longer.
const HURRY: Duration = Duration::from_millis(8);
const HURRIED: u32 = 16;
/// After this many requests the wait is longer than the path needs,
const BARREN: u16 = 3;
/// but after this, or four round trips, in any case: where much is lost that is many times.
const BARREN_MOST: Duration = Duration::from_secs(1);
/// How often the control timer is doubled at most while all that is acknowledged had been retransmitted.
const MOST_STRAIN: u32 = 3;
/// This many unacknowledged messages are a sizeable part of the 16-bit number space: one that is missing
/// must not hold up all of them. Then there are more copies of each, and of the oldest above all.
const MANY: usize = 4096;
/// Copies for safety's sake, where there are many.
pub(super) const COPIES: usize = 4;
/// This many of the oldest are in every packet once they are overdue, where there are many.
const OLDEST: usize = 16;

impl Core {
    /// How long a CONTROL packet may wait for its acknowledgement.
    pub(super) fn control_timer(&self) -> Duration {
        let Some(rtt) = self.path.round_trip() else {
            return if self.paced { FIRST_TIMER_PACED } else { FIRST_TIMER };
        };
        let interval = self.interval();
        let timer = rtt + self.path.variance() * 4 + interval + Duration::from_millis(5);
        let timer = timer * (1 << self.strain);
        // Several fit into the peer's patience.
        let patience = Duration::from_millis(self.link.config.death.get().as_millis() as u64 / 6);
        timer.min(patience.max(PATIENCE))
    }

    /// When CONTROL leaves next, if it does.
    pub(super) fn control_at(&self) -> Option<Instant> {
        let times = [self.messages_at(), self.report_at()];
        times.into_iter().flatten().min()
    }

    /// When a RATE message leaves, if one does.
    fn report_at(&self) -> Option<Instant> {
        if !self.paced || self.stage != Stage::Moving || !self.path.is_begun() {
            return None;
        }
        let rtt = self.path.round_trip().unwrap_or(FIRST_TIMER);
        self.reports.due(rtt, self.path.interval() * 4)
    }

    fn messages_at(&self) -> Option<Instant> {
        if self.messages.len() == 0 {
            return None;
        }
        if self.messages.unsent == 0 {
            return self.link.timers.get(Timer::Control);
        }
        let gather = self.path.round_trip().map_or(Duration::ZERO, |rtt| (rtt / 16).min(GATHER));
        // More than half a packet of them does not wait for company.
        let full = self.messages.unsent * OK_LEN > usize::from(self.link.agreed.packet) / 2;
        let gather = if full { gather / 4 } else { gather };
        let gather = if self.are_many() { gather / 2 } else { gather };
        let soonest = self.control_left.map_or(Instant::ZERO, |left| left + gather);
        let again = self.link.timers.get(Timer::Control);
        Some(again.map_or(soonest, |again| again.min(soonest)))
    }

    /// Whether the queued messages may exhaust their numbers.
    fn are_many(&self) -> bool {
        self.messages.len() >= MANY
    }

    fn set_control(&mut self, mem: &Mem<'_>, now: Instant) {
        let again = self.again_at(mem, now);
        self.link.timers.put(Timer::Control, again);
    }

    /// When CONTROL leaves again though nothing is new: when the control timer expires; where the rate is
    /// found also a part of a round trip after the one before; and where numbers may run out as soon as the
    /// oldest is overdue.
    fn again_at(&self, mem: &Mem<'_>, now: Instant) -> Option<Instant> {
        let mut again = self.control_due?;
        let rtt = self.path.round_trip().filter(|_| self.link.config.is_automatic());
        if let Some((left, rtt)) = self.control_left.zip(rtt.filter(|rtt| *rtt > PACE * 4)) {
            again = again.min(left + (rtt / 16).max(PACE));
        }
        let oldest = self.messages.entry(mem.messages, 0).filter(|oldest| oldest.sent);
        if let Some(oldest) = oldest.filter(|_| self.are_many()) {
            again = again.min((oldest.first + self.control_timer()).max(now + GATHER));
        }
        // Beyond two round trips of silence each waits a part of it longer.
        let lull = now.since(self.link.heard.unwrap_or(now));
        let lull = lull.saturating_sub(self.path.round_trip().unwrap_or(FIRST_TIMER) * 2) / 8;
        let left = self.control_left.unwrap_or(now);
        Some(again.max(left + lull.min(self.patience())).max(now))
    }

    /// This many copies fit into the peer's timeout, however long no answer comes: losses in a row are of
    /// packets, not of time.
    fn patience(&self) -> Duration {
        Duration::from_millis(self.link.config.death.get().as_millis() as u64 / 16)
    }

    /// Minimum time for an answer to a RESEND: growing while nothing new comes (RFC 998, 5.2.2).
    fn barren(&self, now: Instant) -> Duration {
        let most = (self.path.round_trip().unwrap_or(FIRST_TIMER) * 4).max(BARREN_MOST);
        (now.since(self.link.progress) / 2).min(most).min(self.patience())
    }

    /// The time of several packets of data: what is said costs those that are on their way a part of the path,
    /// and a host that cannot hear while it speaks a packet.
    fn several(&self) -> Duration {
        Duration::from_nanos(self.spacing * 8)
    }

    /// How long to wait for an acknowledgement.
    fn control_wait(&self) -> Duration {
        let timer = self.control_timer();
        let is_automatic = self.link.config.is_automatic();
        match self.path.round_trip().filter(|_| is_automatic) {
            Some(rtt) if (1..=HURRIED).contains(&self.backoff) => {
                (rtt / 8).min(PACE).max(self.several()).max(HURRY)
            }
            _ if self.paced && self.path.round_trip().is_none() => {
                (timer * (1 << self.backoff.min(5))).min(self.patience())
            }
            _ => {
                let late = self.backoff.saturating_sub(HURRIED);
                let doubled = if is_automatic { late } else { self.backoff / 2 };
                (timer * (1 << doubled.min(3))).min(self.patience().max(timer))
            }
        }
    }

    /// Builds a CONTROL packet, if one is due.
    pub(super) fn fill_control(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let again = self.link.timers.is_due(Timer::Control, cx.now);
        let due = self.messages.unsent > 0 && self.messages_at().is_some_and(|at| cx.now >= at);
        let report = self.report_at().is_some_and(|at| cx.now >= at);
        if !due && !again && !report {
            return;
        }
        if self.path.is_offered() || self.bringing.is_some() {
            self.burst = self.path.say();
        }
        let mut at = HEADER;
        if self.paced {
            at += self.put_report(cx, mem);
        }
        let head = at;
        if !due && !again {
            return self.lend_control(mem, at);
        }
        let unsent = self.messages.unsent;
        let first_unsent = self.messages.len() - unsent;
        let timer = self.control_timer();
        let mut position = 0;
        // Overdue messages go first, in up to half of the packet.
        let half = mem.out.len() / 2;
        // Where they are many, one that is missing makes all after it look overdue.
        let overdue = if self.are_many() { half / 2 } else { half };
        while position < first_unsent {
            let Some(entry) = self.messages.entry(mem.messages, position) else { break };
            let whole = again && first_unsent < 64;
            let oldest = position < OLDEST && self.are_many() && cx.now >= entry.first + timer;
            if !(whole || oldest || cx.now >= entry.last + timer)
                || !self.put_message(mem, &entry, &mut at, overdue)
            {
                break;
            }
            self.messages.mark_sent(mem.messages, position, cx.now);
            position += 1;
        }
        self.say_again(cx, mem, position, first_unsent, &mut at);
        // Then the new ones, and before them as many of the old as there is room for.
        let from = self.redundant(mem, position, first_unsent, at);
        // New ones take half of a packet, so that each is in two at least where there are many.
        let mut end = mem.out.len();
        for position in from..self.messages.len() {
            let Some(entry) = self.messages.entry(mem.messages, position) else { break };
            if position == first_unsent {
                end = end.min(at + half);
            }
            if !self.put_message(mem, &entry, &mut at, end) {
                break;
            }
            self.messages.mark_sent(mem.messages, position, cx.now);
        }
        if at == head && !report {
            // The timer was extended meanwhile: its message is not due yet.
            let first = self.messages.entry(mem.messages, 0);
            if let Some(entry) = first.filter(|_| again) {
                let due = (entry.last + timer).max(cx.now + Duration::from_millis(1));
                self.link.timers.set(Timer::Control, due);
            }
            return;
        }
        self.lend_control(mem, at);
        self.control_left = Some(cx.now);
        let is_due = self.control_due.is_none_or(|due| cx.now >= due);
        if is_due || self.messages.unsent < unsent {
            self.control_due = Some(cx.now + self.control_wait());
        }
        self.set_control(mem, cx.now);
    }

    /// CONTROL has left only now.
    pub(super) fn control_left_late(&mut self, cx: &Cx<'_>, mem: &Mem<'_>) {
        self.control_left = Some(cx.now);
        self.control_due = Some(cx.now + self.control_wait());
        self.set_control(mem, cx.now);
    }

    /// Writes a RATE message after the header; its length.
    fn put_report(&mut self, cx: &Cx<'_>, mem: &mut Mem<'_>) -> usize {
        let number = self.reports.leave(cx.now);
        let timer = self.control_timer().as_millis().min(0xFFFF) as u16;
        let pace = if self.path.is_begun() { self.path.pace() } else { Pace::default() };
        put_rate(&mut mem.out[HEADER..], number, pace, timer).unwrap_or(0)
    }

    /// Lends a CONTROL packet whose messages are in their place already.
    fn lend_control(&mut self, mem: &mut Mem<'_>, len: usize) {
        let (head, _) = mem.out.split_at_mut(len);
        self.link.lent =
            crate::netblt::packet::put_control_before(head, self.link.ports).unwrap_or(0);
        self.link.lent_letter =
            Packet { ports: self.link.ports, body: Body::Control(b"") }.letter();
        self.lent_control = true;
    }

    /// Retransmits older messages, each once, and up to four times where they are
    /// many. Those that follow one another are lost together; a copy that goes later is lost for a
    /// reason of its own.
    fn say_again(
        &mut self,
        cx: &Cx<'_>,
        mem: &mut Mem<'_>,
        low: usize,
        first_unsent: usize,
        at: &mut usize,
    ) {
        let Some(rtt) = self.path.round_trip() else { return };
        let later = (rtt / 4).min(LATER);
        let (copies, wait, end) = if self.are_many() {
            (COPIES, later / 4, mem.out.len() * 3 / 4)
        } else {
            (1, later, mem.out.len() / 2)
        };
        for copy in 0..COPIES {
            let wait = wait * (copy as u32 + 1);
            let mut position = self.messages.position_of(self.again_from[copy]).max(low);
            while copy < copies && position < first_unsent {
                let Some(entry) = self.messages.entry(mem.messages, position) else { break };
                if cx.now < entry.first + wait || !self.put_message(mem, &entry, at, end) {
                    break;
                }
                if copy == 0 {
                    self.messages.mark_sent(mem.messages, position, cx.now);
                }
                position += 1;
            }
            self.again_from[copy] = self.messages.sequence_at(position);
        }
    }

    /// The position of the first message to repeat before the new ones.
    fn redundant(
        &mut self,
        mem: &mut Mem<'_>,
        low: usize,
        first_unsent: usize,
        used: usize,
    ) -> usize {
        let mut room = mem.out.len().saturating_sub(used);
        let mut fresh = 0;
        for position in first_unsent..self.messages.len() {
            let Some(entry) = self.messages.entry(mem.messages, position) else { break };
            fresh += self.message_len(mem, &entry);
            if fresh >= mem.out.len() / 2 {
                fresh = mem.out.len() / 2;
                break;
            }
        }
        room = room.saturating_sub(fresh);
        let mut from = first_unsent;
        while from > low {
            let Some(entry) = self.messages.entry(mem.messages, from - 1) else { break };
            let len = self.message_len(mem, &entry);
            if len > room {
                break;
            }
            room -= len;
            from -= 1;
        }
        from
    }

    /// What is known of the buffer of a message.
    fn record(&self, mem: &mut Mem<'_>, index: u64) -> Record {
        // Its slot may be that of a later one.
        if index >= self.granted || index + (self.shape.slots as u64) < self.granted {
            return Record { flags: WHOLE | SAID_OK, ..Record::default() };
        }
        ReceiveRing::new(self.shape, mem.slots).record(index)
    }

    fn message_len(&self, mem: &mut Mem<'_>, entry: &Entry) -> usize {
        match entry.about {
            MessageKind::Go => GO_LEN,
            MessageKind::Ok => OK_LEN,
            MessageKind::Resend => {
                let record = self.record(mem, entry.index);
                resend_len(record.count.saturating_sub(record.got) as usize).max(OK_LEN)
            }
        }
    }

    /// Writes a message after the others; false if there is no room below `end`.
    fn put_message(&self, mem: &mut Mem<'_>, entry: &Entry, at: &mut usize, end: usize) -> bool {
        let buffer = self.base.wrapping_add(entry.index as u32);
        let offer = Offer {
            burst_size: self.burst.0,
            burst_interval_ms: self.burst.1,
            control_timer_ms: self.control_timer().as_millis().min(0xFFFF) as u16,
        };
        let record = self.record(mem, entry.index);
        let end = end.min(mem.out.len());
        let room = &mut mem.out[(*at).min(end)..end];
        let len = match entry.about {
            MessageKind::Go => put_go(room, entry.sequence, buffer),
            MessageKind::Ok => put_ok(room, entry.sequence, buffer, offer),
            // The buffer was completed meanwhile, and the number must not be missing.
            MessageKind::Resend if record.flags & SAID_OK != 0 => {
                put_ok(room, entry.sequence, buffer, offer)
            }
            MessageKind::Resend if record.flags & WHOLE != 0 => {
                put_go(room, entry.sequence, buffer)
            }
            MessageKind::Resend => {
                let mut gets = ReceiveRing::new(self.shape, mem.slots);
                let mut from = 0;
                let missing = core::iter::from_fn(|| {
                    let packet = gets.missing(entry.index, from, record.count)?;
                    from = packet + 1;
                    Some(packet as u16)
                });
                put_resend(room, entry.sequence, buffer, missing).map(|(len, _)| len)
            }
        };
        *at += len.unwrap_or(0);
        len.is_some()
    }

    /// The sender has all messages up to this number.
    pub(super) fn acknowledged(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, high: u16) {
        let covered = self.messages.covered(high);
        let mut newest = None;
        for _ in 0..covered {
            let Some(entry) = self.messages.pop(mem.messages) else { break };
            newest = Some(entry.first);
            match entry.about {
                MessageKind::Go => self.go_known(cx, entry.index),
                MessageKind::Resend => self.resend_known(cx, mem, entry.index),
                MessageKind::Ok => {}
            }
            if self.bringing == Some(entry.sequence) {
                self.bringing = None;
                self.path.in_force();
            }
        }
        if let Some(first) = newest {
            self.backoff = 0;
            // A retransmission after a timeout does not measure the RTT.
            let repeated = self.timed_out.is_some_and(|at| first <= at);
            if !repeated || (self.path.round_trip().is_none() && !self.paced) {
                self.path.answered(cx.now, cx.now.since(first));
                self.strain = 0;
            } else if self.link.config.is_automatic() {
                // It may have been retransmitted too soon. If the timer always is too short, nothing is ever learned.
                self.strain = (self.strain + 1).min(MOST_STRAIN);
            }
            let left = self.control_left.unwrap_or(cx.now);
            self.control_due = (self.messages.len() > 0).then(|| left + self.control_timer());
            self.set_control(mem, cx.now);
        }
        if matches!(self.stage, Stage::Moving | Stage::Checking | Stage::Leaving) {
            self.say_owed(mem);
        }
        if self.stage == Stage::Leaving && self.messages.len() == 0 {
            self.leave(cx);
        }
    }

    /// The control timer expired.
    pub(super) fn control_timed_out(&mut self, cx: &mut Cx<'_>) {
        if self.messages.len() == 0 {
            self.link.timers.stop(Timer::Control);
        } else if self.control_due.is_some_and(|due| cx.now < due) {
            // It is retransmitted for safety's sake.
        } else if self.messages.unsent < self.messages.len() && self.link.lent == 0 {
            self.timeout(cx, "acknowledgement", u64::from(self.messages.next_sequence()));
            self.backoff = (self.backoff + 1).min(HURRIED + 3);
            self.timed_out = Some(cx.now);
        }
    }

    /// The sender knows that it may send this buffer.
    fn go_known(&mut self, cx: &Cx<'_>, index: u64) {
        if index >= self.known {
            self.known = index + 1;
            self.set_front(cx.now + self.interval());
        }
    }

    /// The sender has the RESEND: retransmissions are expected from now on.
    fn resend_known(&mut self, cx: &Cx<'_>, mem: &mut Mem<'_>, index: u64) {
        if index < self.low || index >= self.granted {
            return;
        }
        let mut wait = self.interval() + self.margin();
        let mut gets = ReceiveRing::new(self.shape, mem.slots);
        let mut record = gets.record(index);
        record.flags &= !ASKING;
        // Repairs between our own ends are paced: there is nothing that asking could overload.
        if record.asked >= BARREN && !self.paced {
            wait = wait.max(self.barren(cx.now));
        }
        if record.flags & WHOLE == 0 {
            let missing = u64::from(record.count.saturating_sub(record.got));
            let at = cx.now + wait + Duration::from_nanos(missing * self.spacing);
            record.deadline_ns = at.as_nanos().max(1);
            self.link.timers.set_earlier(Timer::Overdue, at);
        }
        gets.keep(index, &record);
    }
}
