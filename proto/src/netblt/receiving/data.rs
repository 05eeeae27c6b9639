//! The receiver's buffers (RFC 998 "buffer states", RFC 1030 section 7): arrivals, overdue
//! packets, and grants.

use super::{Core, Mem, ReceiverInput, Stage};
use crate::engine::{Blame, Cx, FailureKind};
use crate::netblt::link::Link;
use crate::netblt::messages::MessageKind;
use crate::netblt::packet::{BadPacket, Body, Data, Mark, Packet, data_checksum};
use crate::netblt::rate::rate_of;
use crate::netblt::sink::Verdict;
use crate::netblt::window::{ASKING, COUNTED, ReceiveRing, Record, SAID_OK, WHOLE};
use crate::session::{Timer, trace_duplicate};
use crate::time::{Duration, Instant};

/// Timers are no finer.
const TICK: Duration = Duration::from_millis(1);
/// Timeout for expected packets before the rate is known.
const FIRST_WAIT: Duration = Duration::from_secs(4);
/// Traffic that a grant covers beyond what is needed, in case its CONTROL packets are lost.
const UNHEARD: Duration = Duration::from_millis(250);
/// A path with a shorter round trip loses almost nothing.
const NEAR: Duration = Duration::from_millis(5);
/// Numbers that are kept for OKs and RESENDs at most.
const RESERVED: usize = 3500;
/// How long an observed delay is remembered, in nanoseconds.
const FORGOTTEN: u64 = 30_000_000_000;
/// Lateness beyond this always counts as a loss.
const LATEST: u64 = 4_000_000_000;

impl Core {
    /// The index of a buffer, if it is outstanding.
    fn index_of(&self, buffer: u32) -> Option<u64> {
        let from_low = buffer.wrapping_sub(self.base).wrapping_sub(self.low as u32);
        let index = self.low + u64::from(from_low);
        (index < self.granted && u64::from(from_low) < self.shape.slots as u64).then_some(index)
    }

    /// Buffers of the connection, once known.
    pub(super) fn buffers(&self) -> Option<u64> {
        let total = self.sink.total?;
        Some(total.div_ceil(u64::from(self.link.agreed.buffer)).max(1))
    }

    /// Packets of a buffer, if known, and whether that is certain.
    fn count(&self, index: u64) -> (u32, bool) {
        let agreed = &self.link.agreed;
        let start = index * u64::from(agreed.buffer);
        let len = self.sink.total.map_or(u64::MAX, |total| total.saturating_sub(start));
        let len = len.min(u64::from(agreed.buffer)) as u32;
        (len.div_ceil(u32::from(agreed.packet)).max(1), self.sink.total.is_some())
    }

    /// Whether a datagram has to wait until the store has taken pending writes.
    pub(super) fn must_wait(&self, mem: &Mem<'_>, bytes: &[u8]) -> bool {
        if self.stage != Stage::Moving || self.sink.in_order {
            return false;
        }
        let Ok(Packet { body: Body::Data(data), .. }) = Packet::parse(bytes) else { return false };
        self.sink.verdict(mem.data.len(), 0, data.bytes.len()) == Verdict::Later
    }

    /// A packet of data.
    pub(super) fn data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, data: &Data<'_>, mark: Mark) {
        if self.stage != Stage::Moving {
            self.link.stats.duplicates += 1;
            return;
        }
        let agreed = self.link.agreed;
        if agreed.checksum && data_checksum(data.bytes) != data.checksum {
            return self.link.damaged(cx, BadPacket::DataChecksum, data.bytes.len());
        }
        let Some(index) = self.index_of(data.buffer) else {
            return self.duplicate(cx, data);
        };
        if self.misfits(index, data) {
            let say = b"the file's length differs from the one announced";
            return self.link.fail(cx, Blame::Peer, FailureKind::LengthDiffers, say);
        }
        let packet = u32::from(data.packet);
        let record = ReceiveRing::new(self.shape, mem.slots).record(index);
        let at = index * u64::from(agreed.buffer) + u64::from(packet) * u64::from(agreed.packet);
        let Some(bytes) = self.fitting(index, at, &record, data) else {
            return self.link.damaged(cx, BadPacket::Length, data.bytes.len());
        };
        if ReceiveRing::new(self.shape, mem.slots).has(index, packet) {
            self.marked(cx, mark);
            self.path.arrived(cx.now, false, 0, false);
            self.came_twice(cx, &record);
            return self.duplicate(cx, data);
        }
        match self.sink.verdict(mem.data.len(), at, bytes.len()) {
            Verdict::Take => self.sink.put(mem.data, at, bytes),
            Verdict::Later | Verdict::Drop => return,
        }
        self.link.progress = cx.now;
        self.link.stats.file_bytes += bytes.len() as u64;
        self.link.stats.current_file_bytes += bytes.len() as u64;
        self.link.stats.encoded_bytes += bytes.len() as u64;
        if data.last_of_buffer && data.last_buffer && self.sink.total.is_none() {
            self.sink.total = Some(at + bytes.len() as u64);
        }
        self.marked(cx, mark);
        let place = index * u64::from(agreed.packets()) + u64::from(packet);
        let went = (place + 1).saturating_sub(self.passed);
        let fresh = place >= self.passed || record.asked == 0;
        self.path.arrived(cx.now, fresh, went, mark.follows);
        self.store(cx, mem, index, packet, record, data.last_of_buffer);
        if self.paced {
            self.look_at_rate(cx);
        }
    }

    /// Whether the sender ends the file elsewhere than where it was announced to end. Senders that
    /// announce a length are of our kind, and mark every packet of the last buffer.
    fn misfits(&self, index: u64, data: &Data<'_>) -> bool {
        let announced = self.buffers().filter(|_| self.file.size.is_some());
        announced.is_some_and(|buffers| data.last_buffer != (index + 1 == buffers))
    }

    /// The data of a packet, if its length is valid.
    fn fitting<'d>(
        &self,
        index: u64,
        at: u64,
        record: &Record,
        data: &Data<'d>,
    ) -> Option<&'d [u8]> {
        let agreed = &self.link.agreed;
        let packet = u32::from(data.packet);
        if packet >= record.count {
            return None;
        }
        let ends = data.last_of_buffer && data.last_buffer;
        let finds_end = ends && self.sink.total.is_none();
        if data.last_of_buffer && !finds_end && packet + 1 != record.count {
            // A buffer that ends early would be complete with a hole in it.
            return None;
        }
        let start = index * u64::from(agreed.buffer);
        let most = (start + u64::from(agreed.buffer) - at).min(u64::from(agreed.packet));
        if let Some(total) = self.sink.total {
            let want = most.min(total.saturating_sub(at)) as usize;
            // Some senders may count the padding (docs/decisions/050).
            let padding = data.bytes.len().checked_sub(want)?;
            return (padding < 4).then(|| &data.bytes[..want]);
        }
        let len = data.bytes.len() as u64;
        // After its end nothing must have come.
        let good = if ends { len <= most && record.top <= packet + 1 } else { len == most };
        good.then_some(data.bytes)
    }

    /// A packet that came before.
    fn duplicate(&mut self, cx: &mut Cx<'_>, data: &Data<'_>) {
        self.link.stats.duplicates += 1;
        trace_duplicate(cx, u64::from(data.buffer) << 16 | u64::from(data.packet));
    }

    /// It was overtaken by those after it: by how much tells how long to wait for others. What
    /// comes long after it was asked for may be an answer to that, and tells nothing.
    fn came_late(&mut self, cx: &Cx<'_>, record: &Record) {
        let now = cx.now.as_nanos();
        let rtt = self.path.round_trip().unwrap_or_default().as_nanos() as u64;
        let asking = record.flags & ASKING != 0 && now < record.deadline_ns + rtt / 2;
        if record.asked == 0 || (record.asked == 1 && asking) {
            let late = now.saturating_sub(record.passed_ns);
            self.late = self.late.max(late + late / 2).min(LATEST);
        }
    }

    /// It was asked for, and was only late: the next time there is more patience. Many may be
    /// late for one reason; so that is once per round trip.
    fn came_twice(&mut self, cx: &Cx<'_>, record: &Record) {
        // At the end of a file one of our own says things again before they are asked for.
        let reached = self.passed / u64::from(self.link.agreed.packets().max(1)) + 1;
        if self.paced && self.buffers().is_some_and(|buffers| reached >= buffers) {
            return;
        }
        if record.asked > 0 && self.patient.is_none_or(|until| cx.now >= until) {
            self.late = (self.late + self.late / 4 + 1_000_000).min(LATEST);
            self.patient = self.path.round_trip().map(|rtt| cx.now + rtt);
        }
    }

    /// Records a packet that is here for the first time.
    fn store(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        index: u64,
        packet: u32,
        mut record: Record,
        last: bool,
    ) {
        let place = index * u64::from(self.link.agreed.packets()) + u64::from(packet);
        if place < self.passed && record.passed_ns > 0 {
            self.came_late(cx, &record);
        }
        let fresh = place + 1;
        if record.asked > 0 {
            self.repaired = Some((index, cx.now));
        }
        self.space(cx);
        let mut gets = ReceiveRing::new(self.shape, mem.slots);
        gets.put(index, packet);
        record.got += 1;
        record.top = record.top.max(packet + 1);
        if last {
            record.count = packet + 1;
            record.flags |= COUNTED;
        }
        gets.keep(index, &record);
        if fresh > self.passed {
            self.pass(cx, mem, fresh);
        }
        if record.got == record.count && record.flags & COUNTED != 0 {
            self.whole(cx, mem, index);
        }
        self.set_front(cx.now);
    }

    /// Averages the time from packet to packet.
    fn space(&mut self, cx: &Cx<'_>) {
        if let Some(before) = self.arrived {
            let gap = cx.now.since(before).as_nanos() as u64;
            // A long silence is no spacing.
            let gap = gap.min(1_000_000_000);
            self.swing = (self.swing * 15 + self.spacing.abs_diff(gap)) / 16;
            self.spacing = (self.spacing * 31 + gap) / 32;
        }
        self.arrived = Some(cx.now);
    }

    /// How long to wait for packets that others have overtaken.
    pub(super) fn margin(&self) -> Duration {
        let rtt = self.path.round_trip().unwrap_or(Duration::from_millis(200));
        // While the rate is being searched it changes: bursts of two rates are further apart.
        let more = if self.link.config.is_automatic() { self.interval() } else { Duration::ZERO };
        Duration::from_nanos(self.late) + more + (rtt / 16).max(TICK) + TICK
    }

    /// How long after it was told a sender may begin: where its next burst does.
    pub(super) fn interval(&self) -> Duration {
        if self.paced {
            self.path.interval()
        } else {
            Duration::from_millis(u64::from(self.burst.1))
        }
    }

    /// Everything below this place has come or was overtaken.
    fn pass(&mut self, cx: &Cx<'_>, mem: &mut Mem<'_>, place: u64) {
        let packets = u64::from(self.link.agreed.packets());
        let (from, to) = (self.passed / packets, place / packets);
        self.passed = place;
        let at = cx.now + self.margin();
        let mut gets = ReceiveRing::new(self.shape, mem.slots);
        for index in from.max(self.low)..to.min(self.granted) {
            let mut record = gets.record(index);
            if record.flags & (WHOLE | ASKING) == 0 && record.deadline_ns == 0 {
                record.deadline_ns = at.as_nanos().max(1);
                record.passed_ns = cx.now.as_nanos().max(1);
                gets.keep(index, &record);
                self.link.timers.set_earlier(Timer::Overdue, at);
            }
        }
        // What tells how late packets are is forgotten slowly.
        self.late -= (self.late / 65_536 * self.spacing / (FORGOTTEN / 65_536)).min(self.late);
    }

    /// What should come next is overdue when the rest of its buffer should be here, at the average
    /// spacing and four times what that varies (RFC 1030 section 7, which has no formula).
    pub(super) fn set_front(&mut self, now: Instant) {
        let packets = u64::from(self.link.agreed.packets().max(1));
        let index = self.passed / packets;
        if index >= self.known.min(self.granted) {
            self.link.timers.stop(Timer::Front);
            return;
        }
        let left = packets - self.passed % packets;
        if self.paced && !self.path.is_begun() {
            // How far apart packets come is not known yet.
            self.link.timers.set(Timer::Front, now + FIRST_WAIT);
            return;
        }
        let rate = if self.paced { self.path.offered() } else { rate_of(self.burst) };
        let slow = 1_000_000_000_000 / rate.max(1);
        let spacing = self.spacing.max(slow);
        let rtt = self.path.round_trip().unwrap_or(Duration::from_millis(200));
        let wait = Duration::from_nanos(left * spacing + 4 * self.swing) + self.margin() + rtt / 4;
        self.link.timers.set(Timer::Front, now + wait);
    }

    /// Whether a sender of our own kind is still at work on what was asked for in buffers before this one: those go
    /// first.
    fn comes_later(&self, now: Instant, index: u64) -> bool {
        let lull = self.margin() + Duration::from_nanos(self.spacing * 8);
        self.repaired.is_some_and(|(at, when)| self.paced && at <= index && now.since(when) < lull)
    }

    /// Asks for what is overdue.
    pub(super) fn ask_overdue(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let packets = u64::from(self.link.agreed.packets());
        let end = self.passed.div_ceil(packets).min(self.granted);
        let mut next: Option<u64> = None;
        for index in self.low..end {
            let record = ReceiveRing::new(self.shape, mem.slots).record(index);
            if record.flags & (WHOLE | ASKING) != 0 || record.deadline_ns == 0 {
                continue;
            }
            let due = record.deadline_ns <= cx.now.as_nanos();
            let waits = due && record.asked > 0 && self.comes_later(cx.now, index);
            if due && !waits && self.resend(cx, mem, index) {
                continue;
            }
            // Where there is no room for the message it is tried again soon.
            let at = match due {
                true if waits => (cx.now + self.margin()).as_nanos(),
                true => (cx.now + TICK * 4).as_nanos(),
                false => record.deadline_ns,
            };
            next = Some(next.map_or(at, |next| next.min(at)));
        }
        // Not more often than the clock ticks.
        let next = next.map(|at| Instant(at).max(cx.now + TICK));
        self.link.timers.put(Timer::Overdue, next);
    }

    /// Asks for what should have come next.
    pub(super) fn ask_front(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let packets = u64::from(self.link.agreed.packets());
        let index = self.passed / packets;
        self.link.timers.stop(Timer::Front);
        if index >= self.granted {
            return;
        }
        self.timeout(cx, "data", index);
        let record = ReceiveRing::new(self.shape, mem.slots).record(index);
        if record.flags & (WHOLE | ASKING) == 0 {
            self.resend(cx, mem, index);
        }
        self.passed = (index + 1) * packets;
        self.set_front(cx.now + self.interval());
    }

    /// Asks for the missing packets of a buffer; false if there is no room for the message.
    fn resend(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, index: u64) -> bool {
        if !self.messages.push(mem.messages, MessageKind::Resend, index) {
            return false;
        }
        let mut gets = ReceiveRing::new(self.shape, mem.slots);
        let mut record = gets.record(index);
        record.deadline_ns = cx.now.as_nanos();
        record.asked = record.asked.saturating_add(1);
        record.flags |= ASKING;
        gets.keep(index, &record);
        self.link.stats.naks_out += 1;
        if record.asked > 1 {
            self.timeout(cx, "resend", index);
        }
        true
    }

    /// A buffer is whole.
    fn whole(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, index: u64) {
        let is_last = self.buffers().is_some_and(|buffers| index + 1 == buffers);
        let mut gets = ReceiveRing::new(self.shape, mem.slots);
        let mut record = gets.record(index);
        record.deadline_ns = 0;
        record.flags = record.flags & !ASKING | WHOLE;
        gets.keep(index, &record);
        self.ahead_whole += 1;
        while self.low < self.granted && gets.record(self.low).flags & WHOLE != 0 {
            self.low += 1;
            self.ahead_whole -= 1;
        }
        if self.sink.in_order {
            self.advance_in_order();
        }
        // The last OK confirms that the file is stored.
        if !is_last {
            if !self.paced {
                self.look_at_rate(cx);
            }
            if !self.say_ok(mem, index) {
                self.owed = Some(self.owed.map_or(index, |owed| owed.min(index)));
            }
        }
        if self.buffers().is_some_and(|buffers| self.low >= buffers) {
            self.link.timers.stop(Timer::Front);
            self.link.timers.stop(Timer::Overdue);
            self.enter(cx, ReceiverInput::Whole);
        }
    }

    /// Adds the OK of a buffer; false if there is no number for it.
    pub(super) fn say_ok(&mut self, mem: &mut Mem<'_>, index: u64) -> bool {
        let said = self.messages.push(mem.messages, MessageKind::Ok, index);
        if said {
            let mut gets = ReceiveRing::new(self.shape, mem.slots);
            let mut record = gets.record(index);
            record.flags |= SAID_OK;
            gets.keep(index, &record);
        }
        said
    }

    /// Adds the OKs for which there was no number. Nothing was granted meanwhile, so their records still stand.
    pub(super) fn say_owed(&mut self, mem: &mut Mem<'_>) {
        let Some(from) = self.owed else { return };
        // That of the last buffer waits until the store has closed the file.
        let last = self.buffers().filter(|_| self.stage != Stage::Leaving);
        let end = last.map_or(self.granted, |buffers| (buffers - 1).min(self.granted));
        for index in from..end {
            let flags = ReceiveRing::new(self.shape, mem.slots).record(index).flags;
            if flags & (WHOLE | SAID_OK) == WHOLE && !self.say_ok(mem, index) {
                self.owed = Some(index);
                return;
            }
        }
        self.owed = None;
    }

    /// In order: how far the data is here without a hole.
    fn advance_in_order(&mut self) {
        let agreed = self.link.agreed;
        let mut ready = self.low * u64::from(agreed.buffer);
        if let Some(total) = self.sink.total {
            ready = ready.min(total);
        }
        self.sink.advance(ready);
    }

    /// What a packet of our own sender says besides: which of our reports it has.
    fn marked(&mut self, cx: &Cx<'_>, mark: Mark) {
        if !self.paced {
            return;
        }
        let (rtt, in_force) = self.reports.came(cx.now, mark);
        if in_force {
            self.path.in_force();
        }
        if let Some(rtt) = rtt {
            self.path.answered(cx.now, rtt);
        }
        self.reports.wanted = self.path.is_begun();
    }

    /// Looks whether another rate is to be offered; the next OK brings it, or a RATE message at once.
    pub(super) fn look_at_rate(&mut self, cx: &mut Cx<'_>) {
        if !self.link.config.is_automatic() {
            return;
        }
        let mut offer = self.path.first_offer(cx.now);
        if offer.is_some() {
            self.spacing = self.path.takes(1).as_nanos() as u64;
        }
        if offer.is_none()
            && let Some(judgement) = self.path.judge()
        {
            Link::value(cx, "passed_millipps", judgement.passed);
            Link::value(cx, "queue_us", judgement.queue_ns / 1000);
            Link::value(cx, "lost_of_65536", judgement.lost);
            Link::value(cx, "shared", u64::from(self.path.is_shared()));
            offer = Some(judgement.offer);
        }
        if let Some(burst) = offer {
            Link::value(cx, "offered_millipps", self.path.offered());
            self.burst = burst;
            if self.paced {
                self.reports.offer();
            } else {
                self.bringing = Some(self.messages.next_sequence());
            }
        }
    }

    /// Grants buffers, as many as the path holds.
    pub(super) fn grant(&mut self, mem: &mut Mem<'_>) {
        let agreed = self.link.agreed;
        let packets = u64::from(agreed.packets());
        // Those that are whole are not outstanding, whatever is missing before them.
        let outstanding = u64::from(agreed.outstanding) + self.ahead_whole;
        let mut end = self.low + outstanding.min(self.shape.slots as u64);
        if let Some(buffers) = self.buffers() {
            end = end.min(buffers);
        }
        if self.link.config.is_automatic() {
            // Until a rate is offered there is one measurement: its buffer comes whole first.
            let from = if self.path.is_offered() { self.passed / packets } else { self.low };
            let ahead = self.ahead(packets);
            end = end.min(from + self.near(packets).map_or(ahead, |near| near.min(ahead)));
        }
        end = end.min(self.sink.limit(mem.data.len()) / u64::from(agreed.buffer));
        while self.granted < end {
            // Each that is outstanding will need an OK, though not all of them at once.
            let owed = (self.granted - self.low - self.ahead_whole) as usize;
            if self.messages.room(mem.messages) <= owed.min(RESERVED) + 8 {
                break;
            }
            let (count, counted) = self.count(self.granted);
            ReceiveRing::new(self.shape, mem.slots).begin(self.granted, count, counted);
            self.messages.push(mem.messages, MessageKind::Go, self.granted);
            self.granted += 1;
        }
    }

    /// Buffers to grant beyond where the sender is at most, if it is near: what is on its way, and what this host
    /// keeps until it comes to read it. There nothing is lost on the way, but all that a host loses which is slower
    /// than its peer; and what bursts say is how soon it came to read them. A host that keeps less than two
    /// buffers would stop the sender all the time: there losses cost less.
    fn near(&self, packets: u64) -> Option<u64> {
        let rtt = self.path.least_round_trip()?;
        let kept = self.link.config.room as u64 / u64::from(self.link.agreed.packet);
        let flying = self.path.carries(rtt * 3 / 2);
        (rtt <= NEAR && kept >= 2 * packets).then(|| (flying + kept) / packets + 1)
    }

    /// Buffers to grant beyond where the sender is, so that it never waits.
    fn ahead(&self, packets: u64) -> u64 {
        let rtt = self.path.round_trip().unwrap_or(Duration::from_millis(200));
        let time = rtt * 3 / 2 + self.path.variance() * 2 + Duration::from_millis(40);
        if self.path.is_offered() {
            // Control messages may be lost in a row.
            return self.path.carries(time + UNHEARD) / packets + 3;
        }
        // Until a measured rate is in force the sender goes by the first burst values: what it gets before
        // the offer is what passes until that comes, and a part of what a queue may hold.
        let flying = self.path.carries(time) / packets;
        2 + flying
    }
}
