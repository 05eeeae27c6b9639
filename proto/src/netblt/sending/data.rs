//! What the sender does while a connection carries data: control messages in, bursts out.

use super::{Core, Mem, Stage};
use crate::engine::Cx;
use crate::netblt::control::{Message, Missing, messages};
use crate::netblt::link::{Link, ShortPacket};
use crate::netblt::packet::{DATA_HEADER, Data, Mark, data_checksum, put_marked_header};
use crate::netblt::rate::pacing::Pace;
use crate::netblt::sequence::ahead;
use crate::netblt::window::SendRing;
use crate::time::{Duration, Instant};
use crate::trace::{Again, Load};

/// Data that leaves so soon carries the acknowledgement; else a NULL-ACK does.
const SOON: Duration = Duration::from_millis(2);
/// Where packets leave one by one it may wait for the next, at most this long.
const SOON_PACED: Duration = Duration::from_secs(2);
/// A burst that starts late by at most this does not delay those after it.
const LATE: Duration = Duration::from_millis(8);

impl Core {
    // ---- control messages ----

    /// Takes a CONTROL packet.
    pub(super) fn control(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) {
        if self.stage != Stage::Moving {
            self.past.say |= self.past.ports == self.link.ports;
            return;
        }
        for (sequence, message) in messages(bytes) {
            if let Message::Rate { rate, burst, extra, control_timer_ms } = message {
                let pace = Pace { rate: u64::from(rate), burst, extra };
                self.rate_said(cx, sequence, pace, control_timer_ms);
                continue;
            }
            self.owes = true;
            if self.base.is_none() {
                // The first message names the first buffer; the others come again.
                if sequence != 1 {
                    continue;
                }
                self.base = Some(message.buffer());
            }
            let ahead = self.index_ahead(message.buffer());
            if let Some(index) = ahead.filter(|index| *index >= self.ring_end()) {
                // There will be room when the OKs before it have come. Of a buffer that was never sent there is
                // nothing to say but GO; what cannot be kept is not acknowledged, and comes again.
                let keeps = matches!(message, Message::Go { .. }) && self.beyond.keep(index);
                if !keeps {
                    continue;
                }
            }
            if !self.seen.came(mem.seen, sequence) {
                continue;
            }
            // Endless requests for the same, or for what does not exist, are no progress.
            let progress = match message {
                Message::Rate { .. } => false,
                Message::Go { buffer } => self.go(mem, buffer),
                Message::Resend { buffer, packets } => {
                    self.resend(mem, buffer, packets);
                    false
                }
                Message::Ok { buffer, burst_size, burst_interval_ms, control_timer_ms } => {
                    let offer = (burst_size, burst_interval_ms);
                    self.offered(cx, sequence, offer, control_timer_ms);
                    self.came_whole(mem, buffer)
                }
            };
            if progress {
                self.link.progress = cx.now;
            }
        }
        self.look(mem);
        if self.buffers().is_some_and(|buffers| self.low >= buffers) {
            // Everything has come: acknowledge at once, as no more data will come.
            self.whole(cx);
        }
    }

    /// The index of a buffer of the connection that is not complete, with those below it.
    fn index_ahead(&self, buffer: u32) -> Option<u64> {
        // Numbers have 32 bits and continue from wherever they began.
        let from_low = buffer.wrapping_sub(self.base?).wrapping_sub(self.low as u32);
        let index = self.low + u64::from(from_low);
        let known = self.buffers().is_none_or(|buffers| index < buffers);
        (known && from_low.cast_signed() >= 0).then_some(index)
    }

    /// The first index that has no room in the ring yet.
    fn ring_end(&self) -> u64 {
        self.low + self.shape.slots as u64
    }

    /// The index of a buffer, if it may be outstanding now.
    fn index_of(&self, buffer: u32) -> Option<u64> {
        self.index_ahead(buffer).filter(|index| *index < self.ring_end())
    }

    /// Buffers of the connection, once known.
    pub(super) fn buffers(&self) -> Option<u64> {
        let total = self.source.total()?;
        // Nothing at all is one empty packet.
        Some(total.div_ceil(u64::from(self.link.agreed.buffer)).max(1))
    }

    /// Packets of a buffer, if known.
    pub(super) fn count(&self, index: u64) -> u32 {
        let agreed = &self.link.agreed;
        let start = index * u64::from(agreed.buffer);
        let len = self.source.total().map_or(u64::MAX, |total| total.saturating_sub(start));
        let len = len.min(u64::from(agreed.buffer)) as u32;
        len.div_ceil(u32::from(agreed.packet)).max(1)
    }

    /// A buffer is granted; whether that is news.
    fn go(&mut self, mem: &mut Mem<'_>, buffer: u32) -> bool {
        self.index_of(buffer).is_some_and(|index| self.grant(mem, index))
    }

    /// All of a buffer in the ring is to be sent; whether that is news.
    fn grant(&mut self, mem: &mut Mem<'_>, index: u64) -> bool {
        let count = self.count(index);
        let mut sends = SendRing::new(self.shape, mem.slots);
        let news = !sends.is_done(index) && sends.grant(index, count);
        if news {
            self.scan = self.scan.min(index);
        }
        news
    }

    fn resend(&mut self, mem: &mut Mem<'_>, buffer: u32, packets: Missing<'_>) {
        let Some(index) = self.index_of(buffer) else { return };
        if packets.is_empty() {
            return;
        }
        self.link.stats.naks_in += 1;
        let count = self.count(index);
        let mut sends = SendRing::new(self.shape, mem.slots);
        if sends.is_done(index) {
            return;
        }
        self.scan = self.scan.min(index);
        if !sends.is_granted(index) {
            // Its GO was lost on a receiver that does not repeat it.
            sends.grant(index, count);
            return;
        }
        for packet in packets.iter() {
            // A receiver that does not know where the last buffer ends asks beyond; the LDATA
            // tells it.
            sends.want(index, u32::from(packet).min(count - 1));
        }
    }

    /// A buffer is complete; whether that is new.
    fn came_whole(&mut self, mem: &mut Mem<'_>, buffer: u32) -> bool {
        let Some(index) = self.index_of(buffer) else { return false };
        let mut sends = SendRing::new(self.shape, mem.slots);
        if sends.is_done(index) {
            return false;
        }
        sends.finish(index);
        self.acknowledged(index);
        let mut sends = SendRing::new(self.shape, mem.slots);
        while sends.is_done(self.low) {
            sends.release(self.low);
            self.low += 1;
        }
        self.scan = self.scan.max(self.low);
        while let Some(index) = self.beyond.next_below(self.ring_end()) {
            self.grant(mem, index);
        }
        true
    }

    /// The receiver has this buffer.
    fn acknowledged(&mut self, index: u64) {
        let buffer = u64::from(self.link.agreed.buffer);
        let rest = self.source.total().map_or(buffer, |all| all.saturating_sub(index * buffer));
        // The digest after it is no part of the file.
        let size = self.file.size.unwrap_or(u64::MAX);
        if let Some(acked) = &mut self.link.stats.current_acked_bytes {
            *acked = (*acked + rest.min(buffer)).min(size);
        }
    }

    /// The receiver offers burst values: they are taken as far as our own limits allow.
    fn offered(&mut self, cx: &mut Cx<'_>, sequence: u16, offer: (u16, u16), timer_ms: u16) {
        if offer.0 == 0 || offer.1 == 0 || (self.offer != 0 && ahead(sequence, self.offer) < 0) {
            return;
        }
        // Zero would be none at all; it comes once in 65,536.
        self.offer = sequence.max(1);
        self.control_timer = Duration::from_millis(u64::from(timer_ms.max(1)));
        let burst = self.link.config.capped(offer);
        if burst != offer {
            self.link.say(ShortPacket::NullAck);
        }
        if burst != self.burst {
            Link::value(cx, "burst", u64::from(burst.0));
            Link::value(cx, "interval", u64::from(burst.1));
            // The current burst is not made longer, and keeps its interval: where two pairs take turns,
            // each turn would gain a part of one. A much shorter interval begins at once.
            let interval = Duration::from_millis(u64::from(burst.1));
            self.burst_left = self.burst_left.min(burst.0);
            if self.burst_at > cx.now + interval * 2 {
                self.burst_at = cx.now + interval;
            }
            self.burst = burst;
        }
    }

    /// The receiver says the rate: it is taken as far as our own ceiling allows.
    fn rate_said(&mut self, cx: &mut Cx<'_>, number: u16, pace: Pace, timer_ms: u16) {
        // Numbers of 14 bits; what was overtaken says nothing.
        let ahead = number.wrapping_sub(self.report) & 0x3FFF;
        if !self.paced || ahead == 0 || ahead > 0x2000 {
            return;
        }
        self.report = number & 0x3FFF;
        if pace.rate == 0 {
            // None is known yet: the number comes back, and tells the round trip.
            return;
        }
        self.offer = self.offer.max(1);
        self.control_timer = Duration::from_millis(u64::from(timer_ms.max(1)));
        let ceiling = self.link.config.ceiling_millipps().unwrap_or(u64::MAX).max(1);
        let pace = Pace { rate: pace.rate.min(ceiling), ..pace };
        if pace != self.pacer.pace {
            Link::value(cx, "rate_millipps", pace.rate);
            self.pacer.set(cx.now, pace);
        }
    }

    /// Whether packets are left of a burst.
    pub(super) fn is_in_burst(&self) -> bool {
        if self.paced { self.pacer.left() > 0 } else { self.burst_left > 0 }
    }

    /// When the next burst may start.
    pub(super) fn next_burst(&self) -> Instant {
        if self.paced { self.pacer.at() } else { self.burst_at }
    }

    // ---- data ----

    /// Looks whether there is a packet to send.
    pub(super) fn look(&mut self, mem: &mut Mem<'_>) {
        self.ready = self.pick(mem).is_some();
    }

    /// The packet that goes next: index, packet, position in the stream and length. `None` if there
    /// is none, or its bytes cannot be here before the store has been asked.
    fn pick(&mut self, mem: &mut Mem<'_>) -> Option<(u64, u32, u64, usize)> {
        let agreed = self.link.agreed;
        let mut sends = SendRing::new(self.shape, mem.slots);
        loop {
            let Some((index, packet)) = sends.first(self.low, self.scan) else {
                self.scan = self.low + self.shape.slots as u64;
                return None;
            };
            self.scan = index;
            let start = index * u64::from(agreed.buffer);
            let in_buffer = u64::from(packet) * u64::from(agreed.packet);
            let most = (u64::from(agreed.buffer) - in_buffer).min(u64::from(agreed.packet));
            let Some(total) = self.source.total() else {
                // Whether it is the last buffer must be known before its first packet leaves.
                let known = self.source.high() > start + u64::from(agreed.buffer);
                return known.then_some((index, packet, start + in_buffer, most as usize));
            };
            let at = start + in_buffer;
            if at >= total && !(at == 0 && total == 0) {
                sends.sent(index, packet);
                continue;
            }
            return Some((index, packet, at, most.min(total - at) as usize));
        }
    }

    /// From this position on the source must keep what it has.
    pub(super) fn keep(&self) -> u64 {
        let buffer = u64::from(self.link.agreed.buffer);
        if self.file.size.is_none() {
            // A pipe gives its bytes once.
            return self.low * buffer;
        }
        let packets = u64::from(self.link.agreed.packets().max(1));
        let packet = u64::from(self.link.agreed.packet);
        let sent = self.fresh / packets * buffer + self.fresh % packets * packet;
        sent.max(self.skipped)
    }

    /// How much of the memory for file data is in use: all of it where the bytes come once, as they are kept
    /// until they are acknowledged. Of a file that can be read again, what is read just before it is sent is
    /// still in the processor's cache.
    pub(super) fn ring_len(&self) -> usize {
        let config = &self.link.config;
        let all = config.data_len();
        if self.file.size.is_none() {
            all
        } else {
            all.min(config.buffer_len.max(8 * config.datagram()))
        }
    }

    /// Requests the needed bytes from the store.
    pub(super) fn ask_source(&mut self) {
        if self.pending.is_idle()
            && let Some(want) = self.source.want(self.ring_len(), self.keep())
        {
            self.pending = want;
        }
    }

    /// Builds the next packet of data, if one may leave now; or a NULL-ACK.
    pub(super) fn fill_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let picked = match self.pick(mem) {
            None if self.goes_on(mem) => self.pick(mem),
            picked => picked,
        };
        self.ready = picked.is_some();
        if cx.now >= self.burst_at && !self.link.config.is_automatic() {
            // What is left of a burst whose interval is over is no part of the next.
            self.burst_left = 0;
        }
        let due = self.is_in_burst() || cx.now >= self.next_burst();
        if let (Some((index, packet, at, len)), true) = (picked, due) {
            let data = DATA_HEADER..DATA_HEADER + len;
            let ring = &mem.data[..self.ring_len()];
            if self.source.take(ring, mem.patch, at, &mut mem.out[data.clone()]) {
                let mut mark = Mark::default();
                if self.paced {
                    mark.report = self.report;
                    mark.follows = self.pacer.leave(cx.now);
                } else if self.burst_left == 0 {
                    self.start_burst(cx);
                }
                let agreed = self.link.agreed;
                let checksum = if agreed.checksum { data_checksum(&mem.out[data]) } else { 0 };
                let head = Data {
                    buffer: self.base.unwrap_or(0).wrapping_add(index as u32),
                    high: self.seen.high,
                    packet: packet as u16,
                    last_of_buffer: packet + 1 == self.count(index),
                    last_buffer: self.buffers().is_some_and(|buffers| index + 1 == buffers),
                    checksum,
                    bytes: b"",
                };
                self.link.lent =
                    put_marked_header(mem.out, self.link.ports, &head, mark, len).unwrap_or(0);
                self.link.lent_letter = if head.last_of_buffer { 'L' } else { 'D' };
                self.lent = Some((index, packet, len));
                return;
            }
            // Its bytes have to come from the store first. Those before it may not have been granted,
            // as a GO was lost: they are read again when they are.
            self.skipped = at;
            self.ask_source();
        }
        let soon = if self.paced { SOON_PACED } else { SOON };
        let soon = picked.is_some() && (due || self.next_burst() <= cx.now + soon);
        // The first packets, which are in flight, have said it; what is more would disturb them.
        // For as long as they are awaited only: they may be lost.
        let first = self.paced && self.pacer.pace.rate == 0 && self.fresh > 0;
        let said = first && picked.is_some() && cx.now < self.pacer.at();
        if self.owes && !soon && !said {
            self.link.say(ShortPacket::NullAck);
            self.put_short(mem, ShortPacket::NullAck);
        }
    }

    /// A burst starts: the next one may start an interval later.
    fn start_burst(&mut self, cx: &Cx<'_>) {
        let interval = Duration::from_millis(u64::from(self.burst.1));
        let late = cx.now.since(self.burst_at);
        // A user's burst interval is kept to the letter; a measured rate is kept on average.
        let fixed = !self.link.config.is_automatic();
        let from = if fixed || late > LATE { cx.now } else { self.burst_at };
        self.burst_at = from + interval;
        self.burst_left = self.burst.0;
    }

    /// A packet of data left.
    pub(super) fn left_data(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        index: u64,
        packet: u32,
        bytes: usize,
    ) {
        let place = index * u64::from(self.link.agreed.packets()) + u64::from(packet);
        let again = place < self.fresh;
        let file = bytes.min(usize::from(self.link.agreed.packet));
        let load = Load {
            data: bytes,
            file,
            old: if again { file } else { 0 },
            why: again.then_some(Again::Nak),
            ..Load::default()
        };
        if again {
            self.tail.left(place);
            self.link.stats.retransmissions += 1;
            self.link.stats.repeated_bytes += self.link.lent as u64;
        } else {
            self.link.stats.encoded_bytes += bytes as u64;
            self.link.stats.file_bytes += bytes as u64;
            self.link.stats.current_file_bytes += bytes as u64;
            self.fresh = place + 1;
        }
        let number =
            u64::from(self.base.unwrap_or(0).wrapping_add(index as u32)) << 16 | u64::from(packet);
        self.link.left(cx, number, load, again);
        self.owes = false;
        self.burst_left = self.burst_left.saturating_sub(1);
        if index >= self.low {
            SendRing::new(self.shape, mem.slots).sent(index, packet);
        }
    }
}
