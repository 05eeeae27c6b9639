//! The packet driver: both directions of the packet protocol, start and end included.
//!
//! What is sent stays until it is acknowledged, and after a loss everything after it is retransmitted.
//! A receiver keeps nothing but the next packet in order. Retransmission, and how storms
//! are avoided: docs/decisions/061.

mod output;
mod timeouts;

use super::config::Config;
use super::frame::{self, HEADER};
use super::packet::{self, Kind};
use super::states::{Stage, StageInput};
use crate::engine::Cx;
use crate::session::{self, trace_duplicate};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::Again;

/// The shortest wait for an acknowledgement.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// A packet that is in flight or queued.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    len: usize,
    sum: u16,
    short: bool,
    /// Bytes of the file in it.
    file: usize,
    copies: u8,
    /// When the last byte of the last copy left.
    left: Option<Instant>,
    why: Option<Again>,
}

/// What is being sent to the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Current {
    Nothing,
    Text,
    Control(Kind),
    /// The slot with this number in memory.
    Slot(usize),
}

const SLOTS: usize = 7;

#[derive(Clone, Debug)]
pub(super) struct Driver {
    /// This end calls.
    caller: bool,
    pub(super) stage: Stage,
    /// The table of stages has no edge for what happened.
    pub(super) fault: bool,
    /// What is announced to the peer.
    announced: (u8, u8),
    /// Packets and bytes that may be sent: limited by the peer and our memory.
    slots: usize,
    longest: usize,
    pub(super) window: usize,
    pub(super) size: usize,
    timeout: Duration,
    retries: u8,

    /// INITs to send, as bits.
    init_due: u8,
    init_at: Instant,

    ring: [Slot; SLOTS],
    /// The oldest packet that is not acknowledged is here.
    base: usize,
    /// Sequence number of the last acknowledged one.
    acked: u8,
    /// Unacknowledged packets; how many of them were sent at least once; which is sent next.
    queued: usize,
    high: usize,
    cursor: usize,
    /// Only the oldest was retransmitted; its fate decides about the others.
    probing: bool,
    /// The peer rejected all after this, and until when a further rejection is a duplicate.
    rejected: Option<u8>,
    reject_until: Option<Instant>,
    /// Timeouts in a row.
    silent: u8,
    progress: Instant,
    /// When the line has transmitted all that the port took, if its rate is known.
    busy_until: Instant,
    /// When the port last took bytes of a data packet.
    took_data: Instant,
    /// The RTT.
    usual: Option<Duration>,

    current: Current,
    at: usize,
    text: [u8; 128],
    text_len: usize,
    control: [u8; HEADER],

    ready_due: bool,
    reject_due: bool,
    pub(super) closes_due: u8,
    /// Sequence number of the last packet received in order.
    last: u8,
    /// The out-of-order packet that we rejected.
    trigger: Option<u8>,
    /// Bytes were lost, and no good packet has come since.
    owed: bool,
    /// The session waits for the peer.
    pub(super) expecting: bool,
    heard: Instant,
    good: Instant,
}

impl Driver {
    /// Fields of up to `longest` bytes are sent, in up to `slots` packets.
    pub(super) fn new(config: &Config, caller: bool, slots: usize, longest: usize) -> Self {
        let size_code = frame::k_of(config.packet).saturating_sub(1);
        Self {
            caller,
            stage: Stage::Off,
            fault: false,
            announced: (config.window, size_code),
            slots,
            longest,
            window: 1,
            size: longest.min(64),
            timeout: config.timeout.get(),
            retries: config.retries,
            init_due: 0,
            init_at: Instant::ZERO,
            ring: [Slot::default(); SLOTS],
            base: 0,
            acked: 0,
            queued: 0,
            high: 0,
            cursor: 0,
            probing: false,
            rejected: None,
            reject_until: None,
            silent: 0,
            progress: Instant::ZERO,
            busy_until: Instant::ZERO,
            took_data: Instant::ZERO,
            usual: None,
            current: Current::Nothing,
            at: 0,
            text: [0; 128],
            text_len: 0,
            control: [0; HEADER],
            ready_due: false,
            reject_due: false,
            closes_due: 0,
            last: 0,
            trigger: None,
            owed: false,
            expecting: false,
            heard: Instant::ZERO,
            good: Instant::ZERO,
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: StageInput) {
        self.fault |= !session::enter(cx, &mut self.stage, input);
    }

    /// Starts the INIT exchange.
    pub(super) fn start(&mut self, cx: &mut Cx<'_>) {
        self.enter(cx, StageInput::Started);
        self.init_at = cx.now;
        self.progress = cx.now;
        self.good = cx.now;
        self.heard = cx.now;
        if self.caller {
            self.init_due = 1;
        }
    }

    /// There may be something to send.
    pub(super) fn has_output(&self) -> bool {
        let close = self.closes_due > 0 && self.cursor == self.queued;
        let control = self.init_due > 0 || self.ready_due || self.reject_due || close;
        self.current != Current::Nothing || self.text_len > 0 || control || self.may_go()
    }

    fn may_go(&self) -> bool {
        self.cursor < self.queued && (!self.probing || self.cursor == 0)
    }

    /// File bytes in unacknowledged packets.
    pub(super) fn unacknowledged_file_bytes(&self) -> u64 {
        (0..self.queued).map(|index| self.ring[self.place(index)].file as u64).sum()
    }

    /// Everything is acknowledged.
    pub(super) fn all_acknowledged(&self) -> bool {
        self.queued == 0
    }

    /// Everything has left at least once.
    pub(super) fn is_drained(&self) -> bool {
        !self.has_output() && self.cursor == self.queued
    }

    /// Drops the queue, except for the rest of a partly sent packet.
    pub(super) fn give_up_queue(&mut self) {
        if self.at == 0 && matches!(self.current, Current::Slot(_)) {
            self.current = Current::Nothing;
        }
        self.queued = 0;
        self.high = 0;
        self.cursor = 0;
        self.ready_due = false;
        self.reject_due = false;
        self.init_due = 0;
    }

    /// Queues a message outside of packets. False if there is no room.
    pub(super) fn send_text(&mut self, parts: &[&[u8]]) -> bool {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if self.text_len + len > self.text.len() {
            return false;
        }
        for part in parts {
            self.text[self.text_len..self.text_len + part.len()].copy_from_slice(part);
            self.text_len += part.len();
        }
        true
    }

    /// Whether another packet may be queued.
    pub(super) fn has_room(&self) -> bool {
        let next = self.place(self.queued);
        self.stage == Stage::Run
            && self.queued < self.window
            // Its memory may still be in use by the port, though the packet was acknowledged meanwhile.
            && self.current != Current::Slot(next)
    }

    /// The slot of an unacknowledged packet, counted from the oldest.
    fn place(&self, index: usize) -> usize {
        (self.base + index) % self.slots
    }

    /// The field of the next packet.
    pub(super) fn field<'a>(&self, out: &'a mut [u8]) -> &'a mut [u8] {
        let begin = self.place(self.queued) * (HEADER + self.longest) + HEADER;
        &mut out[begin..begin + self.size]
    }

    /// Queues the next packet, whose field is complete. `file` of its bytes are the file's.
    pub(super) fn push(&mut self, cx: &Cx<'_>, out: &mut [u8], short: bool, file: usize) {
        let sum = frame::sum(self.field(out));
        if self.queued == 0 {
            self.progress = cx.now;
        }
        let slot = Slot { len: self.size, sum, short, file, ..Slot::default() };
        self.ring[self.place(self.queued)] = slot;
        self.queued += 1;
    }

    fn sequence(&self, index: usize) -> u8 {
        (self.acked + 1 + index as u8) & 7
    }

    /// Input was received.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Noise was received.
    pub(super) fn noise(&mut self) {
        self.owed = self.stage == Stage::Run;
    }

    /// A control packet, or the header of data. True if it was data, and the next in order.
    pub(super) fn on_packet(&mut self, cx: &mut Cx<'_>, stats: &mut Stats, kind: Kind) -> bool {
        self.good = cx.now;
        match kind {
            Kind::InitA(window) => self.init(cx, Stage::A, 1, usize::from(window)),
            Kind::InitB(code) => self.init(cx, Stage::B, 2, 32 << code),
            Kind::InitC(window) => self.init(cx, Stage::C, 4, usize::from(window)),
            Kind::Ready(last) => {
                self.owed = false;
                let _ = self.acknowledged(cx, last);
            }
            Kind::Reject(last) => self.on_reject(cx, stats, last),
            Kind::SelectiveReject(sequence) => {
                self.on_reject(cx, stats, sequence.wrapping_sub(1) & 7);
            }
            Kind::Data { sequence, last, .. } => return self.on_data(cx, stats, sequence, last),
            Kind::Close => {}
        }
        false
    }

    /// One of the three INITs: the limits for our packets.
    fn init(&mut self, cx: &mut Cx<'_>, stage: Stage, bit: u8, value: usize) {
        if self.stage == stage {
            if bit == 2 {
                self.size = value.min(self.longest);
            } else {
                self.window = value.clamp(1, SLOTS).min(self.slots);
            }
            self.enter(cx, StageInput::Init);
            // The called side answers each, the caller sends the next.
            self.init_due |= if self.caller { bit << 1 & 7 } else { bit };
            self.silent = 0;
            self.progress = cx.now;
        } else if self.stage.is_past(stage) && !self.caller {
            // Our answer was lost. If the caller answered duplicates too, the two would continue
            // answering each other indefinitely.
            self.init_due |= bit;
        }
    }

    /// An acknowledgement up to this packet. `None` if it is invalid.
    fn acknowledged(&mut self, cx: &Cx<'_>, last: u8) -> Option<bool> {
        let count = usize::from(last.wrapping_sub(self.acked) & 7);
        if count > self.high {
            return None;
        }
        if count == 0 {
            return Some(false);
        }
        for index in 0..count {
            let slot = &self.ring[self.place(index)];
            if let (1, Some(left)) = (slot.copies, slot.left) {
                let took = cx.now - left;
                self.usual = Some(self.usual.map_or(took, |usual| (usual * 7 + took) / 8));
            }
        }
        if self.at == 0 && matches!(self.current, Current::Slot(_)) {
            // It has not started to leave, and may not need to be retransmitted.
            self.current = Current::Nothing;
            self.cursor -= 1;
        }
        self.base = self.place(count);
        self.acked = last;
        self.queued -= count;
        self.high -= count;
        self.cursor = self.cursor.saturating_sub(count);
        if self.probing {
            // The oldest was lost, so what followed it was not accepted either.
            self.probing = false;
            self.rewind(Again::GoBack);
        }
        self.silent = 0;
        self.progress = cx.now;
        self.rejected = None;
        self.reject_until = None;
        Some(true)
    }

    fn rewind(&mut self, why: Again) {
        self.cursor = 0;
        for index in 0..self.high {
            let place = self.place(index);
            self.ring[place].why = Some(if index == 0 { why } else { Again::GoBack });
        }
        // What has not started to leave may be replaced now.
        if self.at == 0 && matches!(self.current, Current::Slot(_)) {
            self.current = Current::Nothing;
        }
    }

    fn on_reject(&mut self, cx: &Cx<'_>, stats: &mut Stats, last: u8) {
        stats.naks_in += 1;
        self.owed = false;
        let Some(progress) = self.acknowledged(cx, last) else { return };
        if self.high == 0 {
            // The peer waits for something that we have not sent yet: show that we are alive.
            self.ready_due = true;
            return;
        }
        // Each packet after a lost one may be rejected, and all of them mean the same.
        let same = !progress && self.rejected == Some(last);
        if same && self.reject_until.is_none_or(|until| cx.now < until) {
            return;
        }
        self.rejected = Some(last);
        self.reject_until = None;
        self.probing = false;
        self.rewind(Again::Nak);
    }

    fn on_data(&mut self, cx: &mut Cx<'_>, stats: &mut Stats, sequence: u8, last: u8) -> bool {
        if self.stage == Stage::C {
            // Its INITC was lost, but it has received ours.
            self.enter(cx, StageInput::Data);
        }
        if self.stage != Stage::Run {
            return false;
        }
        let _ = self.acknowledged(cx, last);
        self.owed = false;
        if sequence == (self.last + 1) & 7 {
            self.last = sequence;
            self.trigger = None;
            self.ready_due = true;
            if self.all_acknowledged() {
                self.silent = 0;
            }
            return true;
        }
        stats.duplicates += 1;
        trace_duplicate(cx, u64::from(sequence));
        // Once for a loss, and again after the sequence has wrapped.
        if self.trigger.is_none_or(|trigger| trigger == sequence) {
            self.trigger = Some(sequence);
            self.reject_due = true;
        }
        false
    }

    /// A packet came whose check is wrong; `sequence` if its header says it was data.
    pub(super) fn on_damaged(&mut self, sequence: Option<u8>) {
        if self.stage != Stage::Run {
            return;
        }
        let Some(sequence) = sequence else {
            self.owed = true;
            return;
        };
        let expected = sequence == (self.last + 1) & 7;
        if expected || self.trigger.is_none_or(|trigger| trigger == sequence) {
            self.trigger = Some(sequence);
            self.reject_due = true;
        }
    }

    /// The valid bytes of a data packet's field. `None` if it is invalid.
    pub(super) fn valid(field: &[u8], short: bool) -> Option<core::ops::Range<usize>> {
        if short { packet::valid(field) } else { Some(0..field.len()) }
    }
}
