//! The packet driver: both directions of the packet protocol, start and end included.
//!
//! What is sent stays until it is acknowledged, and after a loss everything after it is retransmitted.
//! A receiver keeps nothing but the next packet in order. Retransmission, and how storms
//! are avoided: docs/decisions/061.

use super::config::Config;
use super::frame::{self, HEADER};
use super::packet::{self, Kind};
use crate::engine::{Blame, Cx, Failure, FailureKind};
use crate::session::trace_duplicate;
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::{Again, Load, TraceEvent};

/// Silence after which an incomplete packet is given up.
const QUIET: Duration = Duration::from_secs(2);
/// Rejections of the same packet that come sooner after its retransmission than this plus the RTT
/// are older than the retransmission.
const REJECT_GAP: Duration = Duration::from_millis(20);
/// The shortest wait for an acknowledgement.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// The phase of the start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Stage {
    /// Messages without packets are exchanged.
    Off,
    /// INITA is awaited.
    A,
    /// INITB is awaited.
    B,
    /// INITC is awaited.
    C,
    /// Packets are exchanged.
    Run,
}

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
    Words,
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
    words: [u8; 128],
    words_len: usize,
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
            words: [0; 128],
            words_len: 0,
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

    /// Starts the INIT exchange.
    pub(super) fn start(&mut self, cx: &Cx<'_>) {
        self.stage = Stage::A;
        (self.init_at, self.progress, self.good, self.heard) = (cx.now, cx.now, cx.now, cx.now);
        if self.caller {
            self.init_due = 1;
        }
    }

    /// There may be something to send.
    pub(super) fn has_output(&self) -> bool {
        let close = self.closes_due > 0 && self.cursor == self.queued;
        let control = self.init_due > 0 || self.ready_due || self.reject_due || close;
        self.current != Current::Nothing || self.words_len > 0 || control || self.may_go()
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
        (self.queued, self.high, self.cursor) = (0, 0, 0);
        (self.ready_due, self.reject_due, self.init_due) = (false, false, 0);
    }

    /// Queues a message outside of packets. False if there is no room.
    pub(super) fn say_words(&mut self, parts: &[&[u8]]) -> bool {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if self.words_len + len > self.words.len() {
            return false;
        }
        for part in parts {
            self.words[self.words_len..self.words_len + part.len()].copy_from_slice(part);
            self.words_len += part.len();
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

    /// Selects what to send next, if nothing is being sent.
    pub(super) fn pump(&mut self, out: &mut [u8]) {
        if self.current != Current::Nothing {
            return;
        }
        if self.words_len > 0 {
            (self.current, self.at) = (Current::Words, 0);
            return;
        }
        if let Some(kind) = self.next_control() {
            self.control = frame::control(kind.byte());
            (self.current, self.at) = (Current::Control(kind), 0);
        } else if self.may_go() {
            let place = self.place(self.cursor);
            let sequence = self.sequence(self.cursor);
            let slot = &self.ring[place];
            let kind = Kind::Data { sequence, last: self.last, short: slot.short };
            let begin = place * (HEADER + self.longest);
            let header = frame::data_header(slot.len, kind.byte(), slot.sum);
            out[begin..begin + HEADER].copy_from_slice(&header);
            (self.current, self.at) = (Current::Slot(place), 0);
            self.cursor += 1;
        }
    }

    fn sequence(&self, index: usize) -> u8 {
        (self.acked + 1 + index as u8) & 7
    }

    fn next_control(&mut self) -> Option<Kind> {
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
    pub(super) fn lend<'a>(&'a self, out: &'a [u8]) -> &'a [u8] {
        let bytes = match self.current {
            Current::Nothing => return &[],
            Current::Words => &self.words[..self.words_len],
            Current::Control(_) => &self.control[..],
            Current::Slot(place) => {
                let begin = place * (HEADER + self.longest);
                &out[begin..begin + HEADER + self.ring[place].len]
            }
        };
        &bytes[self.at..]
    }

    /// The port took `len` bytes of what was lent.
    pub(super) fn took(&mut self, cx: &mut Cx<'_>, stats: &mut Stats, config: &Config, len: usize) {
        let total = match self.current {
            Current::Nothing => return,
            Current::Words => self.words_len,
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
            Current::Words => self.words_len = 0,
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
    fn began(&mut self, cx: &mut Cx<'_>, stats: &mut Stats) {
        let at = stats.wire_out_bytes;
        let (kind, number, len, again, load) = match self.current {
            Current::Nothing | Current::Words => return,
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
                ('D', number, len, again, Load { at, data, file: slot.file, old, why })
            }
        };
        stats.packets_out += 1;
        stats.longest_packet_bytes = stats.longest_packet_bytes.max(len as u64);
        if cx.trace.enabled() {
            let number = u64::from(number);
            cx.trace.record(cx.now, &TraceEvent::Sent { kind, number, len, again, load });
        }
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
    fn init(&mut self, cx: &Cx<'_>, stage: Stage, bit: u8, value: usize) {
        if self.stage == stage {
            if bit == 2 {
                self.size = value.min(self.longest);
            } else {
                self.window = value.clamp(1, SLOTS).min(self.slots);
            }
            self.stage = match stage {
                Stage::A => Stage::B,
                Stage::B => Stage::C,
                _ => Stage::Run,
            };
            // The called side answers each, the caller sends the next.
            self.init_due |= if self.caller { bit << 1 & 7 } else { bit };
            (self.silent, self.progress) = (0, cx.now);
        } else if self.stage > stage && !self.caller {
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
        (self.silent, self.progress) = (0, cx.now);
        (self.rejected, self.reject_until) = (None, None);
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
        (self.rejected, self.reject_until) = (Some(last), None);
        self.probing = false;
        self.rewind(Again::Nak);
    }

    fn on_data(&mut self, cx: &mut Cx<'_>, stats: &mut Stats, sequence: u8, last: u8) -> bool {
        if self.stage == Stage::C {
            // Its INITC was lost, but it has received ours.
            self.stage = Stage::Run;
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

    /// The retransmission timeout.
    fn wait(&self) -> Duration {
        let first = match self.usual {
            Some(usual) => (usual * 4).clamp(SHORTEST_WAIT.min(self.timeout), self.timeout),
            None => self.timeout,
        };
        // On a slow line the port's buffer may take longer than a timeout.
        (first * (1 << self.silent.min(5))).min(self.timeout * 2)
    }

    /// When an incomplete packet is given up, if nothing comes before.
    pub(super) fn quiet_at(&self) -> Instant {
        self.heard + QUIET.min(self.timeout)
    }

    /// When a timer expires. `mid` is in the middle of a packet.
    pub(super) fn deadline(&self, mid: bool) -> Option<Instant> {
        // Nothing can be answered that is still leaving: where the rate of the line is not known, a long packet
        // at 300 bit/s takes longer than all retries.
        let progress = self.progress.max(self.took_data);
        // Nor can anything come before the end of the packet that is arriving.
        let progress = if mid { progress.max(self.heard) } else { progress };
        let quiet = (mid || self.owed).then(|| self.quiet_at());
        let main = match self.stage {
            Stage::Off => return None,
            Stage::A | Stage::B | Stage::C => Some(self.init_at.max(self.progress) + self.timeout),
            Stage::Run if self.queued > 0 => {
                let left = self.ring[self.base].left.unwrap_or(progress);
                let from = left.max(progress).max(self.busy_until);
                Some(from + self.wait())
            }
            Stage::Run => self.expecting.then(|| self.good.max(progress) + self.timeout),
        };
        [quiet.filter(|_| self.stage == Stage::Run), main].into_iter().flatten().min()
    }

    /// A timer expired. `Err` if it did too often.
    pub(super) fn timed_out(&mut self, cx: &mut Cx<'_>, stats: &mut Stats) -> Result<(), Failure> {
        stats.timeouts += 1;
        let running = self.stage == Stage::Run;
        let waiting_for = match self.stage {
            Stage::Run if self.owed => "packet",
            Stage::Run if self.queued > 0 => "acknowledgement",
            Stage::Run => "packet",
            _ => "init",
        };
        if cx.trace.enabled() {
            let number = u64::from((self.acked + 1) & 7);
            cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for, number });
        }
        if running && core::mem::take(&mut self.owed) {
            // Something was lost; it is requested without waiting for the full timeout.
            (self.reject_due, self.good) = (true, cx.now);
            return Ok(());
        }
        self.silent += 1;
        if self.silent > self.retries {
            let blame = if running { Blame::Line } else { Blame::Peer };
            return Err(Failure { blame, kind: FailureKind::Silence });
        }
        self.progress = cx.now;
        match self.stage {
            Stage::Run if self.queued > 0 => {
                if self.ring[self.base].copies > self.retries {
                    let kind = FailureKind::TooManyRetries;
                    return Err(Failure { blame: Blame::Line, kind });
                }
                if self.high > 0 {
                    self.probing = true;
                    self.rewind(Again::Timeout);
                }
            }
            Stage::Run => self.reject_due = true,
            // Our last packet or its answer was lost.
            Stage::A => self.init_due |= u8::from(self.caller),
            Stage::B => self.init_due |= if self.caller { 2 } else { 1 },
            Stage::C => self.init_due |= if self.caller { 4 } else { 2 },
            Stage::Off => {}
        }
        Ok(())
    }

    /// The valid bytes of a data packet's field. `None` if it is invalid.
    pub(super) fn valid(field: &[u8], short: bool) -> Option<core::ops::Range<usize>> {
        if short { packet::valid(field) } else { Some(0..field.len()) }
    }

    /// The retry limit of a packet is reached.
    pub(super) fn is_hopeless(&self) -> bool {
        self.high > 0 && self.ring[self.base].copies > self.retries
    }
}
