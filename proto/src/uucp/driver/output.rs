//! What goes to the port, and in which order: messages, control packets, data.

use super::{Current, Driver, SHORTEST_WAIT};
use crate::engine::Cx;
use crate::stats::Stats;
use crate::time::Duration;
use crate::trace::{Load, TraceEvent};
use crate::uucp::config::Config;
use crate::uucp::frame::{self, HEADER};
use crate::uucp::packet::Kind;

/// Rejections of the same packet that come sooner after its retransmission than this plus the RTT
/// are older than the retransmission.
const REJECT_GAP: Duration = Duration::from_millis(20);

impl Driver {
    /// Selects what to send next, if nothing is being sent.
    pub(in crate::uucp) fn pump(&mut self, out: &mut [u8]) {
        if self.current != Current::Nothing {
            return;
        }
        if self.text_len > 0 {
            self.current = Current::Text;
            self.at = 0;
            return;
        }
        if let Some(kind) = self.next_control() {
            self.control = frame::control(kind.byte());
            self.current = Current::Control(kind);
            self.at = 0;
        } else if self.may_go() {
            let place = self.place(self.cursor);
            let sequence = self.sequence(self.cursor);
            let slot = &self.ring[place];
            let kind = Kind::Data { sequence, last: self.last, short: slot.short };
            let begin = place * (HEADER + self.longest);
            let header = frame::data_header(slot.len, kind.byte(), slot.sum);
            out[begin..begin + HEADER].copy_from_slice(&header);
            self.current = Current::Slot(place);
            self.at = 0;
            self.cursor += 1;
        }
    }

    pub(in crate::uucp) fn next_control(&mut self) -> Option<Kind> {
        let (window, size) = self.announced;
        for (bit, kind) in
            [(1, Kind::InitA(window)), (2, Kind::InitB(size)), (4, Kind::InitC(window))]
        {
            if self.init_due & bit != 0 {
                self.init_due &= !bit;
                return Some(kind);
            }
        }
        if core::mem::take(&mut self.reject_due) {
            self.ready_due = false;
            return Some(Kind::Reject(self.last));
        }
        if core::mem::take(&mut self.ready_due) {
            return Some(Kind::Ready(self.last));
        }
        if self.closes_due > 0 && self.cursor == self.queued {
            self.closes_due -= 1;
            return Some(Kind::Close);
        }
        None
    }

    /// The next bytes to send.
    pub(in crate::uucp) fn lend<'a>(&'a self, out: &'a [u8]) -> &'a [u8] {
        let bytes = match self.current {
            Current::Nothing => return &[],
            Current::Text => &self.text[..self.text_len],
            Current::Control(_) => &self.control[..],
            Current::Slot(place) => {
                let begin = place * (HEADER + self.longest);
                &out[begin..begin + HEADER + self.ring[place].len]
            }
        };
        &bytes[self.at..]
    }

    /// The port took `len` bytes of what was lent.
    pub(in crate::uucp) fn took(
        &mut self,
        cx: &mut Cx<'_>,
        stats: &mut Stats,
        config: &Config,
        len: usize,
    ) {
        let total = match self.current {
            Current::Nothing => return,
            Current::Text => self.text_len,
            Current::Control(_) => HEADER,
            Current::Slot(place) => HEADER + self.ring[place].len,
        };
        let len = len.min(total - self.at);
        if len == 0 {
            return;
        }
        if self.at == 0 {
            self.began(cx, stats);
        }
        self.at += len;
        stats.wire_out_bytes += len as u64;
        self.busy_until = self.busy_until.max(cx.now) + config.line.time(len);
        if let Current::Slot(_) = self.current {
            self.took_data = cx.now;
        }
        if self.at < total {
            return;
        }
        match self.current {
            Current::Text => self.text_len = 0,
            Current::Slot(place) => {
                self.ring[place].left = Some(self.busy_until.max(cx.now));
                if place == self.base && self.reject_until.is_none() && self.rejected.is_some() {
                    // Rejections already in flight before it can arrive are about the same loss.
                    let usual = self.usual.unwrap_or(SHORTEST_WAIT);
                    self.reject_until = Some(self.busy_until + usual * 3 / 2 + REJECT_GAP);
                }
            }
            _ => {}
        }
        self.current = Current::Nothing;
    }

    /// The first byte of a packet was sent.
    pub(in crate::uucp) fn began(&mut self, cx: &mut Cx<'_>, stats: &mut Stats) {
        let at = stats.wire_out_bytes;
        let (kind, number, len, again, load) = match self.current {
            Current::Nothing | Current::Text => return,
            Current::Control(kind) => {
                match kind {
                    Kind::Reject(_) => stats.naks_out += 1,
                    Kind::InitA(_) | Kind::InitB(_) | Kind::InitC(_) => self.init_at = cx.now,
                    _ => {}
                }
                let load = Load { at, ..Load::default() };
                (kind.letter(), kind.number(), HEADER, 0, load)
            }
            Current::Slot(place) => {
                let index = (place + self.slots - self.base) % self.slots;
                let number = self.sequence(index);
                self.high = self.high.max(index + 1).min(self.queued);
                let slot = &mut self.ring[place];
                let again = u32::from(slot.copies);
                slot.copies = slot.copies.saturating_add(1);
                let len = HEADER + slot.len;
                if again > 0 {
                    stats.retransmissions += 1;
                    stats.repeated_bytes += len as u64;
                }
                let old = if again > 0 { slot.file } else { 0 };
                let why = slot.why.filter(|_| again > 0);
                let data = if slot.file > 0 { slot.len } else { 0 };
                let load = Load { at, data, file: slot.file, old, why, ..Load::default() };
                ('D', number, len, again, load)
            }
        };
        stats.packets_out += 1;
        stats.longest_packet_bytes = stats.longest_packet_bytes.max(len as u64);
        if cx.trace.enabled() {
            let number = u64::from(number);
            cx.trace.record(cx.now, &TraceEvent::Sent { kind, number, len, again, load });
        }
    }
}
