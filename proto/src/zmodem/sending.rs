//! The state machine of the sender (xyzmodem.md §5, §6). Files and their positions are in `files`, the
//! stream of data in `stream`.

use super::config::{Config, LONGEST, STANDARD, longest_chunk};
use super::escape::Escaping;
use super::frame::BadFrame;
use super::governor::Governor;
use super::length::SubpacketLengths;
use super::link::Link;
use super::packet::{
    self, Form, Header, PACKS, TESCCTL, ZPAD, capability, end, kind, letter, subpacket_room,
};
use super::source::Source;
use super::states::{SenderInput, SenderStep, Sending, at_sender};
use super::timing::SLOWEST_BPS;
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::FileInfo;
use crate::line::line_time;
use crate::session::{self, Ending, PendingRequest, QueuedEvent, Timer};
use crate::time::{Duration, Instant};
use crate::trace::{Again, TraceEvent, Wait};
use core::fmt::Write;

mod command;
mod files;
mod packing;
mod sender;
mod stream;

use sender::Mem;
pub use sender::{BadCommand, Sender};

/// Time in which a failed transfer's last frames drain.
const DRAIN: Duration = Duration::from_millis(400);
/// Time in which the line end after the receiver's ZFIN arrives.
const TAIL: Duration = Duration::from_millis(200);
/// Omen's receivers stop at the fifth ZRQINIT.
const MOST_ZRQINIT: u32 = 4;
/// Maximum unanswered ZFINs.
const MOST_ZFIN: u32 = 3;

/// The file that is being sent. Its name is in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    /// Facts, with an empty name.
    info: FileInfo<'static>,
    name_len: usize,
    /// The store has it open.
    open: bool,
}

/// The receiver's capabilities, and the resulting parameters.
#[derive(Clone, Copy, Debug)]
struct Peer {
    /// Form of binary headers.
    form: Form,
    variable: bool,
    rle: bool,
    /// Its buffer length; 0 is unlimited.
    buffer: u64,
    /// It cannot receive while writing, or while sending.
    one_at_a_time: bool,
    /// Longest subpacket for it.
    longest: usize,
    /// It takes compressed data, of chunks up to this length.
    packs: bool,
    longest_chunk: usize,
}

#[derive(Debug)]
struct Core {
    link: Link,
    state: Sending,
    pending: PendingRequest,
    source: Source,
    lengths: SubpacketLengths,
    peer: Peer,
    file: Current,
    flow: stream::Flow,
    governor: Governor,
    answers: stream::Answers,
    packing: packing::Packing,
    /// A command to send instead of files.
    order: Option<command::Order>,
    /// The user has refused the offered file.
    unwanted: bool,
    /// The user has cancelled the batch.
    last: bool,
    /// Errors in a row.
    faults: u32,
    /// Requests for XMODEM or YMODEM that came instead of ZRINIT.
    other_protocol: u32,
    /// How often a CRC of the file was requested.
    digests: u32,
    /// The previous file may be skipped a second time: it was offered twice, or skipped in its data.
    skip_may_come_again: bool,
    /// The identification of the last offered file and of the one before it.
    tags: [Option<u32>; 2],
    /// The previous file, for which events may be queued, and the position of its name.
    told: Current,
    told_at: usize,
    /// Events in the queue that are about that one.
    old_notes: usize,
}

impl Core {
    fn new(config: Config) -> Self {
        // File information and its answer are about 120 bytes.
        let rate_bps = match config.line.rate_bps {
            0 => SLOWEST_BPS,
            rate => rate,
        };
        let first = Duration::from_secs(4) + line_time(rate_bps, 120);
        let adapt = config.adapt_length && config.line.reliable != Some(true);
        Self {
            state: Sending::Start,
            pending: PendingRequest::Nothing,
            source: Source::default(),
            lengths: SubpacketLengths::new(adapt, u64::from(config.known_spacing)),
            peer: Peer {
                form: Form::Bin16,
                variable: false,
                rle: false,
                buffer: 0,
                one_at_a_time: false,
                longest: STANDARD,
                packs: false,
                longest_chunk: 0,
            },
            file: Current::default(),
            flow: stream::Flow::default(),
            governor: Governor::new(false),
            answers: stream::Answers::default(),
            packing: packing::Packing::new(),
            order: None,
            unwanted: false,
            last: false,
            faults: 0,
            other_protocol: 0,
            digests: 0,
            skip_may_come_again: false,
            tags: [None; 2],
            told: Current::default(),
            told_at: 0,
            old_notes: 0,
            link: Link::new(config, first),
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: SenderInput) {
        if !session::enter(cx, &mut self.state, input) {
            self.give_up(cx, Blame::Local, FailureKind::Internal);
        }
    }

    fn fail(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, blame: Blame, kind: FailureKind) {
        if !self.link.ending.is_running() {
            return;
        }
        self.link.output.drop_unsent();
        self.link.say_cancel(cx, mem.out);
        self.give_up(cx, blame, kind);
    }

    /// Ends without a packet to the receiver.
    fn give_up(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind) {
        self.enter(cx, SenderInput::Failed);
        self.link.question = None;
        self.close_last();
        self.link.end(cx, Outcome::Failed(Failure { blame, kind }));
    }

    /// Closes the open file. The result of a closed file stays valid.
    fn close_last(&mut self) {
        if !matches!(self.pending, PendingRequest::Close { .. }) {
            self.pending =
                if self.file.open { PendingRequest::close(false) } else { PendingRequest::Nothing };
        }
    }

    /// What keeps us from sending, when all that is queued has left.
    fn waits_for(&self) -> Wait {
        match self.state {
            _ if !self.link.ending.is_running() => Wait::Nothing,
            _ if self.link.timers.is_running(Timer::Pause) => Wait::Pause,
            _ if !self.pending.is_idle() => Wait::Store,
            Sending::Data if self.link.question.is_some() => Wait::Window,
            Sending::Init => Wait::Peer,
            _ if self.link.question.is_some() => Wait::Answer,
            _ => Wait::Nothing,
        }
    }

    fn pump_frames(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.timers.expire(Timer::Pause, cx.now);
        if self.link.ending.is_running() && self.state == Sending::Start {
            self.start(cx, mem);
        }
        while self.link.ending.is_running()
            && self.state == Sending::Data
            && !self.link.saturated()
            && self.produce(cx, mem)
        {}
        self.pump_ending(cx);
    }

    fn start(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.port.moved = cx.now;
        self.link.spoke = cx.now;
        self.enter(cx, SenderInput::Opened);
        if self.link.config.autostart {
            self.link.say_bytes(cx, mem.out, b"rz\r");
        }
        self.say_init(cx, mem, false);
    }

    fn say_init(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, again: bool) {
        let copies = self.link.question.map_or(0, |question| question.copies);
        if copies < MOST_ZRQINIT {
            self.link.say(cx, mem.out, &Header::hex(kind::ZRQINIT, self.init_data()));
        }
        self.link.expect_answer(cx.now, again);
    }

    /// Sends the last packets and closes the file; then it is over.
    fn pump_ending(&mut self, cx: &mut Cx<'_>) {
        let Ending::LastPackets(outcome) = self.link.ending else { return };
        if !self.pending.is_idle() || !self.link.last_packets_are_out(cx.now) {
            return;
        }
        match outcome {
            Outcome::Done if !self.link.reader.in_tail() => {
                self.link.ending = Ending::Over(outcome);
            }
            Outcome::Done => self.link.linger(cx, outcome, TAIL),
            Outcome::Failed(_) => self.link.linger(cx, outcome, DRAIN),
        }
    }

    fn cancelled_by_peer(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.state == Sending::Finish {
            // Every file is closed at the peer; how it ends the session does not matter.
            return self.finish(cx);
        }
        self.link.take_message(b"cancelled by the receiver");
        self.fail(cx, mem, Blame::Peer, FailureKind::PeerError);
    }

    fn on_damaged(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, why: BadFrame) {
        self.link.damaged(cx, why, 0);
        // A pending query has probably been answered by this.
        let waits = matches!(self.state, Sending::File | Sending::Attention | Sending::Eof);
        if waits && !self.link.too_soon(cx.now) {
            self.repeat(cx, mem);
        } else if self.state == Sending::Data {
            self.ask_again(cx, mem);
        }
    }

    fn on_header(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let number = u64::from(header.number());
        self.link.heard(cx, letter(header.kind), number, 0, 0);
        if header.kind == kind::ZSKIP && self.is_of_the_last(header.number()) {
            // A duplicate: the first was received.
            self.link.stats.duplicates += 1;
            return;
        }
        match at_sender(self.state, header.kind) {
            None => {}
            Some(SenderStep::Negotiate) => self.negotiate(cx, mem, header),
            Some(SenderStep::Challenge) if self.link.asked_enough() => self.too_often(cx, mem),
            Some(SenderStep::Challenge) => self.challenged(cx, mem, header.number()),
            Some(SenderStep::Next) => {
                self.link.answered(cx.now);
                self.ask_next(cx, mem);
            }
            Some(SenderStep::Position) => self.position(cx, mem, number),
            Some(SenderStep::Check) => self.tell_check(cx, number),
            Some(SenderStep::Acknowledged) => self.acknowledged(cx, number),
            Some(SenderStep::Skipped) => self.skipped(cx, header.number()),
            Some(SenderStep::Lost) => self.lost(cx),
            Some(SenderStep::Closed) => self.closed(cx),
            Some(SenderStep::Left) => self.left(cx),
            Some(SenderStep::Completed) => self.completed(cx, mem, header.number()),
            Some(SenderStep::Finish) => {
                self.link.say_bytes(cx, mem.out, b"OO");
                self.finish(cx);
            }
            Some(SenderStep::Failed) => self.peer_failed(cx, mem, header),
            Some(SenderStep::Repeat) if self.link.too_soon(cx.now) => {}
            Some(SenderStep::Repeat) if self.state == Sending::Data => self.garbled(cx, mem),
            Some(SenderStep::Repeat) => {
                self.link.stats.naks_in += 1;
                self.repeat(cx, mem);
            }
        }
    }

    /// The receiver's challenge. One in the middle means a restart, and its ZRINIT
    /// will decide what to do.
    fn challenged(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u32) {
        if !self.close_frame(cx, mem.out) {
            return;
        }
        self.link.say(cx, mem.out, &Header::hex(kind::ZACK, number));
        if self.state == Sending::Init {
            self.link.expect_answer(cx.now, true);
        }
    }

    fn finish(&mut self, cx: &mut Cx<'_>) {
        self.link.question = None;
        self.enter(cx, SenderInput::Done);
        self.link.end(cx, Outcome::Done);
    }

    fn peer_failed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let words: &[u8] = match header.kind {
            kind::ZFERR => b"the receiver cannot read or write the file",
            kind::ZABORT => b"aborted by the receiver",
            _ => b"the receiver ended the session",
        };
        self.link.take_message(words);
        self.link.output.drop_unsent();
        self.link.say(cx, mem.out, &Header::hex(kind::ZFIN, 0));
        self.give_up(cx, Blame::Peer, FailureKind::PeerError);
    }

    fn negotiate(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let (can, more) = (header.flag(0), header.flag(1));
        let has = |bits: u8, bit: u8| bits & bit != 0;
        if has(can, capability::ESC8) {
            return self.fail(cx, mem, Blame::Peer, FailureKind::Unsupported);
        }
        // Receivers also send ZRINIT unsolicited: it does not measure the RTT.
        self.link.question = None;
        let config = &self.link.config;
        let (wants_controls, takes_long) = (config.escape == Escaping::Controls, more);
        if has(can, capability::ESCCTL) {
            self.link.escaper.escaping = Escaping::Controls;
        }
        let crc32 = config.crc32 && has(can, capability::CANFC32);
        let buffer = u64::from(u16::from_le_bytes([header.data[0], header.data[1]]));
        let longest = match (config.send_length, has(takes_long, capability::OWN_LONG)) {
            (0, true) => LONGEST.min(config.fits_line()),
            (0, false) => STANDARD.min(config.fits_line()),
            (len, _) => usize::from(len).min(config.longest_sent()),
        };
        self.peer = Peer {
            form: if crc32 { Form::Bin32 } else { Form::Bin16 },
            variable: config.variable_headers && has(more, capability::CANVHDR),
            rle: config.rle && crc32 && has(can, capability::CANRLE),
            buffer,
            one_at_a_time: !(has(can, capability::CANFDX) && has(can, capability::CANOVIO)),
            longest: if buffer > 0 { longest.min(buffer.max(32) as usize) } else { longest },
            packs: config.has_compression() && has(more, capability::OWN_PACKED),
            longest_chunk: match PACKS {
                true if has(more, capability::OWN_LONG) => longest_chunk(config.longest_sent()),
                true => longest_chunk(config.longest_sent().min(STANDARD)),
                false => 0,
            },
        };
        // A known rate limits what is in flight, and so does a receiver's buffer.
        self.governor = Governor::new(self.governs());
        self.describe_agreement();
        // Of a stranger there is nothing to say.
        if PACKS
            && more & (capability::OWN_LONG | capability::OWN_PACKED) != 0
            && cx.trace.enabled()
        {
            let value = u64::from(self.peer.packs);
            cx.trace.record(cx.now, &TraceEvent::Value { name: "compress", value });
        }
        let attention = !self.link.config.attention.as_bytes().is_empty();
        if attention || (wants_controls && !has(can, capability::ESCCTL)) {
            self.say_attention(cx, mem, false);
        } else {
            self.ask_next(cx, mem);
        }
    }

    fn describe_agreement(&mut self) {
        let Peer { form, variable, rle, buffer, one_at_a_time, longest, packs, .. } = self.peer;
        let check = if form == Form::Bin16 { 16 } else { 32 };
        let text = &mut self.link.agreement;
        let _ = write!(text, "CRC-{check}, subpackets to {longest} bytes");
        let _ = match (one_at_a_time, buffer, self.link.config.window) {
            (true, _, _) => write!(text, ", each acknowledged"),
            (_, 1.., _) => write!(text, ", {buffer} bytes at a time"),
            (_, _, 1..) => write!(text, ", window {} bytes", self.link.config.window),
            _ => write!(text, ", streaming"),
        };
        let controls = self.link.escaper.escaping == Escaping::Controls;
        for (on, word) in [
            (controls, "controls escaped"),
            (rle, "run-length coding"),
            (variable, "long headers"),
            (PACKS && packs, "compression"),
        ] {
            if on {
                let _ = write!(text, ", {word}");
            }
        }
        self.link.notes.push(QueuedEvent::Negotiated);
    }

    /// ZSINIT: the attention string, and what we escape.
    fn say_attention(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, again: bool) {
        if !again {
            self.enter(cx, SenderInput::Wishes);
        }
        let controls = self.link.config.escape == Escaping::Controls;
        // In hex if it is about escapes.
        let form = if controls { Form::Hex } else { self.peer.form };
        let flags = if controls { TESCCTL } else { 0 };
        let header = Header { kind: kind::ZSINIT, data: [0, 0, 0, flags], form, variable: false };
        let attention = self.link.config.attention;
        self.say_with_data(cx, mem, &header, attention.with_nul());
        self.link.expect_answer(cx.now, again);
    }

    /// A header and one subpacket that requests an answer.
    fn say_with_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header, data: &[u8]) {
        let want = packet::MAX_HEADER + subpacket_room(data.len());
        // No room means that the port has stalled; the query will be retransmitted.
        if self.link.output.room(mem.out, want).is_none() || !self.link.say(cx, mem.out, header) {
            return;
        }
        let escaper = &mut self.link.escaper;
        if let Some(room) = self.link.output.room(mem.out, subpacket_room(data.len())) {
            let (_, len) = packet::put_subpacket(escaper, header.form, data, end::ZCRCW, room);
            self.link.queued(cx, len);
        }
    }

    /// Retransmits the last packet.
    fn repeat(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.link.output.pending() > 0 {
            // No retransmission while output is queued; the same deadline would only recur.
            if let Some(question) = &mut self.link.question {
                question.left = Some(cx.now);
            }
            return;
        }
        // Regardless of who asks: two programs could keep that up indefinitely.
        if self.state != Sending::Finish && self.link.asked_enough() {
            return self.too_often(cx, mem);
        }
        if self.state == Sending::Data && self.stream_on() {
            return;
        }
        self.link.stats.retransmissions += 1;
        match self.state {
            Sending::Init => self.say_init(cx, mem, true),
            Sending::Attention if self.link.question.is_some_and(|q| q.copies >= 3) => {
                // Some receivers lack ZSINIT; its content is only a request.
                self.link.question = None;
                self.ask_next(cx, mem);
            }
            Sending::Attention => self.say_attention(cx, mem, true),
            Sending::File => self.say_file(cx, mem, true),
            Sending::Data => self.go_back(cx, Again::Timeout),
            Sending::Eof => self.say_eof(cx, mem, true),
            Sending::Skip => self.say_skip(cx, mem, true),
            Sending::Command => self.say_command(cx, mem, true),
            Sending::Finish => self.say_finish(cx, mem, true),
            Sending::Start | Sending::Next | Sending::Close | Sending::End => {}
        }
    }

    fn too_often(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let heard = self.link.question.is_none_or(|question| self.link.spoke > question.since);
        let kind = if heard { FailureKind::TooManyRetries } else { FailureKind::Silence };
        self.fail(cx, mem, Blame::Peer, kind);
    }

    fn say_finish(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, again: bool) {
        if self.link.question.is_some_and(|q| again && q.copies >= MOST_ZFIN) {
            // Every file is closed at the peer; only the final exchange was lost.
            return self.finish(cx);
        }
        self.link.say(cx, mem.out, &Header::hex(kind::ZFIN, 0));
        self.link.expect_answer(cx.now, again);
    }

    /// When the answer is overdue. Commands may take long.
    fn overdue(&self) -> Option<Instant> {
        let timeout = self.link.config.timeout.get();
        match self.state {
            Sending::Command => Some(self.link.question?.left? + timeout),
            Sending::Data | Sending::Eof if self.link.config.line.rate_bps == 0 => {
                // Later acknowledgements cover a part of what was in flight then.
                let heard = self.link.spoke + self.link.timing.wait();
                Some(self.link.overdue()?.max(heard) + self.hidden(timeout))
            }
            _ => self.link.overdue(),
        }
    }

    /// If the port hides the rate of the line, the answer waits behind what is in flight: the time of
    /// that, or `unknown`.
    fn hidden(&self, unknown: Duration) -> Duration {
        match self.state {
            Sending::Data | Sending::Eof if self.link.config.line.rate_bps == 0 => {
                self.time_under_way(unknown)
            }
            _ => Duration::ZERO,
        }
    }
}

/// A header after a stream that was cut: receivers that saw a lone ZDLE at the cut ignore the
/// next byte (lrzsz 0.12.21 does).
const AFTER_CUT: &[u8] = &[ZPAD];
