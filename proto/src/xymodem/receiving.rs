//! The state machine of the receiver (\[XY88\] chapters 7 and 8).

use super::config::{Config, FirstEot};
use super::frame::{ACK, BlockReader, LONG, NAK, WANT_STREAM};
use super::link::{Link, trace_got};
use super::packet;
use super::sink::Sink;
use super::states::{Place, ReceiverInput, ReceiverStep, Receiving, on_block};
use crate::crc::crc16;
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, Left, StoreError};
use crate::session::{self, Ending, PendingRequest, QueuedEvent, trace_duplicate};
use crate::time::{Duration, Instant};
use crate::trace::TraceEvent;

mod input;
mod receiver;

use input::InputMode;
use receiver::Mem;
pub use receiver::Receiver;

/// The file that is being received. Its name is in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    name_len: usize,
    size: Option<u64>,
    modified: Option<i64>,
    mode: Option<u32>,
    left: Option<Left>,
    /// The store has it open.
    open: bool,
    /// Bytes that came after the announced length.
    excess: u64,
}

/// Bytes after the announced length that may be padding: one block. More is a longer file.
const MOST_PADDING: u64 = LONG as u64;

#[derive(Debug)]
struct Core {
    link: Link,
    state: Receiving,
    pending: PendingRequest,
    reader: BlockReader,
    input: InputMode,
    sink: Sink,
    file: Current,
    /// The start character in use.
    start: u8,
    streaming: bool,
    /// Number of the next block.
    expected: u8,
    /// No block of the file's data has come yet.
    first: bool,
    /// When the first start character was sent; `None` before the first call.
    began: Option<Instant>,
    /// A good block has arrived.
    begun: bool,
    /// Start characters sent without an answer.
    starts: u8,
    /// Failures in a row.
    tries: u8,
    /// Duplicate blocks in a row.
    repeats: u8,
    /// EOTs in a row.
    eots: u8,
    /// CRC of block 0 of this file.
    header: u16,
    /// A block was damaged and not yet retransmitted: an EOT now is noise.
    owed: bool,
    /// Our last output was due to a timeout.
    prompted: bool,
    /// Start of the timers: when the last answer left.
    base: Instant,
    /// When the last good block came, or the start.
    good: Instant,
    /// When the last answer left that was not a retransmission.
    answered: Instant,
    /// When the last byte came.
    heard: Instant,
    /// Smoothed time from an answer to the block that follows.
    gap: Duration,
    /// Pending bytes from which a write is worthwhile.
    write_at: usize,
}

impl Core {
    fn new(config: Config) -> Self {
        let (start, check) = config.start();
        let batch = config.variant.is_batch();
        let buffer = config.sink_len();
        let second = config.line.rate_bps as usize / 10;
        let write_at = if second == 0 { buffer / 2 } else { second.min(buffer / 2) };
        Self {
            state: if batch { Receiving::Header } else { Receiving::Offer },
            pending: if batch { PendingRequest::Nothing } else { PendingRequest::Offer },
            reader: BlockReader::new(check, config.receive_block()),
            input: InputMode::Blocks,
            sink: Sink::default(),
            file: Current::default(),
            start,
            streaming: start == WANT_STREAM,
            expected: 1,
            first: true,
            began: None,
            begun: false,
            starts: 0,
            tries: 0,
            repeats: 0,
            eots: 0,
            header: 0,
            owed: false,
            prompted: false,
            base: Instant::ZERO,
            good: Instant::ZERO,
            answered: Instant::ZERO,
            heard: Instant::ZERO,
            gap: Duration::ZERO,
            write_at: write_at.max(1),
            link: Link::new(config),
        }
    }

    fn is_batch(&self) -> bool {
        self.link.config.variant.is_batch()
    }

    fn started(&self) -> bool {
        self.began.is_some()
    }

    /// What is known of the current file.
    fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        let Current { name_len, size, modified, mode, left, .. } = self.file;
        let name = &name[..name_len];
        FileInfo { name, size, modified, mode, left, ..FileInfo::default() }
    }

    /// Whether input is accepted now, or blocked until the store replies.
    fn takes_input(&self, memory_len: usize) -> bool {
        match self.link.ending {
            Ending::No => {
                matches!(self.state, Receiving::Header | Receiving::Data)
                    && (self.reader.mid_block()
                        || self.sink.has_room(memory_len, self.reader.longest()))
            }
            Ending::LastPackets(_) | Ending::Linger { .. } => true,
            Ending::Over(_) => false,
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: ReceiverInput) {
        if !session::enter(cx, &mut self.state, input) {
            self.fail(cx, Blame::Local, FailureKind::Internal, true);
        }
    }

    /// Ends with a failure; `cancel`: the peer is told.
    fn fail(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind, cancel: bool) {
        if !self.link.ending.is_running() {
            return;
        }
        self.enter(cx, ReceiverInput::Failed);
        let unwritten = self.sink.pending() > 0 && !matches!(kind, FailureKind::Store(_));
        self.pending = match self.file.open {
            // Received data is kept, if the store keeps partial files.
            true if unwritten => PendingRequest::Write,
            true => PendingRequest::close(false),
            false => PendingRequest::Nothing,
        };
        if self.file.open && kind == FailureKind::Aborted {
            self.link.notes.push(QueuedEvent::Cancelled { by_peer: blame == Blame::Peer });
        }
        self.link.end(cx, Outcome::Failed(Failure { blame, kind }), cancel);
    }

    fn abort(&mut self, cx: &mut Cx<'_>) {
        self.fail(cx, Blame::Local, FailureKind::Aborted, true);
    }

    /// Sends a character to the peer, after the pause it may need.
    fn say(&mut self, cx: &mut Cx<'_>, words: &[u8]) {
        let pause = self.link.pace.block();
        self.link.pause(cx.now, pause);
        self.link.say(cx, words, u64::from(self.expected));
        self.base = cx.now;
        self.prompted = false;
    }

    /// Requests the start or the next block.
    fn say_start(&mut self, cx: &mut Cx<'_>) {
        self.starts = self.starts.saturating_add(1);
        let start = self.start;
        self.say(cx, &[start]);
    }

    fn on_block(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u8, len: usize) {
        let stats = &mut self.link.stats;
        stats.packets_in += 1;
        // The reader is after the block.
        trace_got(cx, 'D', u64::from(number), len, self.link.stats.wire_in_bytes);
        let place = match (self.state, number) {
            (Receiving::Header, 0) => Place::Next,
            (Receiving::Header, n) if self.link.stats.files_done > 0 && n == self.expected => {
                Place::Again
            }
            (Receiving::Data, n) if n == self.expected => Place::Next,
            (Receiving::Data, n) if n == self.expected.wrapping_sub(1) => {
                // There is none before the first block of XMODEM. In YMODEM it is block 0; a sender that believes this
                // file complete sends that of the next one.
                let check = if self.first { crc16(&self.sink.room(mem.file)[..len]) } else { 0 };
                let wrong = self.first && (!self.is_batch() || check != self.header);
                if wrong { Place::Elsewhere } else { Place::Again }
            }
            _ => Place::Elsewhere,
        };
        self.eots = 0;
        self.owed = false;
        match on_block(self.state, place) {
            Some(ReceiverStep::Describe) => self.describe(cx, mem, len),
            Some(ReceiverStep::Store) => self.store(cx, len),
            Some(ReceiverStep::Acknowledge) => self.again(cx),
            Some(ReceiverStep::Cancel) | None => {
                self.fail(cx, Blame::Peer, FailureKind::Violation, true);
            }
        }
    }

    fn progress(&mut self, cx: &Cx<'_>) {
        let gap = cx.now - self.answered;
        self.gap = if self.gap.is_zero() { gap } else { (self.gap * 3 + gap) / 4 };
        // A stream is not answered, but not silent either.
        self.base = cx.now;
        self.good = cx.now;
        self.begun = true;
        self.starts = 0;
        self.tries = 0;
        self.repeats = 0;
    }

    /// A duplicate block: its acknowledgement was lost.
    fn again(&mut self, cx: &mut Cx<'_>) {
        self.link.stats.duplicates += 1;
        trace_duplicate(cx, u64::from(self.expected));
        self.repeats += 1;
        if self.repeats > self.link.config.retries {
            return self.fail(cx, Blame::Line, FailureKind::TooManyRetries, true);
        }
        if self.prompted {
            self.link.lost_block();
        }
        if self.streaming && !(self.first && self.state == Receiving::Data) {
            return self.fail(cx, Blame::Peer, FailureKind::Violation, true);
        }
        if !(self.first && self.state == Receiving::Data) {
            return self.say(cx, &[ACK]);
        }
        // Block 0. Several queued start characters make the sender send several,
        // before it has seen our answer; one answer is enough.
        if self.prompted || cx.now - self.base >= Duration::from_millis(300) {
            self.accept_header(cx);
        }
    }

    /// Block 0: a file, or the end of the batch.
    fn describe(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, len: usize) {
        self.progress(cx);
        let room = self.sink.room(mem.file);
        let Some(header) = packet::Header::parse(&room[..len]) else {
            return self.fail(cx, Blame::Peer, FailureKind::Violation, true);
        };
        self.header = crc16(&room[..len]);
        if header.name.is_empty() {
            self.say(cx, &[ACK]);
            self.enter(cx, ReceiverInput::Done);
            return self.link.end(cx, Outcome::Done, false);
        }
        if self.link.stats.files_done == 0 {
            self.link.agreed(self.reader.check, self.streaming);
        }
        let name_len = header.name.len();
        mem.name[..name_len].copy_from_slice(header.name);
        let packet::Header { size, modified, mode, left, .. } = header;
        self.file = Current { name_len, size, modified, mode, left, ..Current::default() };
        if cx.trace.enabled() {
            let text = &mem.name[..name_len];
            cx.trace.record(cx.now, &TraceEvent::Text { name: "file", text });
        }
        self.enter(cx, ReceiverInput::File);
        self.pending = PendingRequest::Offer;
    }

    /// Answers block 0 of an accepted file.
    fn accept_header(&mut self, cx: &mut Cx<'_>) {
        let start = self.start;
        // A stream's block 0 gets no acknowledgement (\[XY88\] figure 8).
        if self.streaming { self.say(cx, &[start]) } else { self.say(cx, &[ACK, start]) }
    }

    /// The store has accepted the offer.
    fn accepted(&mut self, cx: &mut Cx<'_>) {
        self.file.open = true;
        self.sink = Sink::default();
        self.expected = 1;
        self.first = true;
        self.eots = 0;
        self.owed = false;
        self.link.stats.current_file_bytes = 0;
        self.link.notes.push(QueuedEvent::Started { offset: 0 });
        self.enter(cx, ReceiverInput::Accepted);
        if self.is_batch() { self.accept_header(cx) } else { self.say_start(cx) }
    }

    /// The next block of the file is in the room of the sink.
    fn store(&mut self, cx: &mut Cx<'_>, len: usize) {
        self.progress(cx);
        if self.first && !self.is_batch() {
            self.link.agreed(self.reader.check, self.streaming);
        }
        self.first = false;
        self.reader.either = false;
        let end = self.sink.end();
        let left = self.file.size.map_or(u64::MAX, |size| size.saturating_sub(end));
        let take = len.min(usize::try_from(left).unwrap_or(usize::MAX));
        self.file.excess += (len - take) as u64;
        if self.file.excess > MOST_PADDING {
            return self.fail(cx, Blame::Peer, FailureKind::LengthDiffers, true);
        }
        let hold = self.link.config.truncate_pad && self.file.size.is_none();
        self.sink.push(take, hold);
        let stats = &mut self.link.stats;
        stats.file_bytes += take as u64;
        stats.current_file_bytes += take as u64;
        stats.encoded_bytes += take as u64;
        self.expected = self.expected.wrapping_add(1);
        if !self.streaming {
            self.say(cx, &[ACK]);
        }
    }

    /// EOT, and nothing after it.
    fn ended(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        trace_got(cx, 'Z', u64::from(self.expected), 1, self.link.stats.wire_in_bytes);
        if self.state == Receiving::Header {
            if self.owed {
                // A block 0 was damaged: this is the end of an unknown file.
                return self.ask_again(cx, true);
            }
            // The acknowledgement of the last EOT was lost.
            self.repeats += 1;
            if self.repeats > self.link.config.retries {
                return self.fail(cx, Blame::Line, FailureKind::TooManyRetries, true);
            }
            let start = self.start;
            return self.say(cx, &[ACK, start]);
        }
        self.eots = self.eots.saturating_add(1);
        let agrees = self.file.size.map(|size| self.sink.end() >= size);
        let taken = match (agrees, self.link.config.first_eot) {
            // The file is shorter than announced: a block must have been lost.
            (Some(false), _) => false,
            // It is complete: later damage was noise on an idle line, not a block.
            (Some(true), FirstEot::Auto) => true,
            _ if self.owed => false,
            (_, FirstEot::Wait) => true,
            _ => self.eots >= 2 || self.streaming,
        };
        if taken {
            return self.close(cx, mem);
        }
        if agrees == Some(false) && (self.eots > 3 || self.streaming) {
            return self.fail(cx, Blame::Peer, FailureKind::LengthDiffers, true);
        }
        // The first time this is normal, not a failure.
        self.ask_again(cx, self.eots > 1 || self.owed);
    }

    /// Sends a NAK for a missing or damaged block.
    fn ask_again(&mut self, cx: &mut Cx<'_>, failure: bool) {
        self.tries += u8::from(failure);
        if self.tries > self.link.config.retries {
            return self.fail(cx, Blame::Line, FailureKind::TooManyRetries, true);
        }
        // After EOT a NAK gets it retransmitted; a streaming sender would take it for a request for XMODEM.
        let behind_eot = self.eots > 0 && !(self.streaming && self.state == Receiving::Header);
        if (self.first || self.state == Receiving::Header) && !behind_eot {
            return self.say_start(cx);
        }
        self.link.stats.naks_out += 1;
        self.say(cx, &[NAK]);
    }

    /// All blocks have arrived: the store closes the file.
    fn close(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.progress(cx);
        let stripped = self.sink.strip(mem.file) as u64;
        self.link.stats.file_bytes -= stripped;
        self.link.stats.current_file_bytes -= stripped;
        self.enter(cx, ReceiverInput::Whole);
        if self.pending.is_idle() {
            self.close_on();
        }
    }

    fn close_on(&mut self) {
        let pending = self.sink.pending() > 0;
        self.pending = if pending { PendingRequest::Write } else { PendingRequest::close(true) };
    }

    /// The file is durable: acknowledge it.
    fn closed(&mut self, cx: &mut Cx<'_>) {
        self.file.open = false;
        self.link.stats.files_done += 1;
        self.link.notes.push(QueuedEvent::Done { size: self.sink.end(), verified: false });
        if !self.is_batch() {
            self.say(cx, &[ACK]);
            self.enter(cx, ReceiverInput::Done);
            return self.link.end(cx, Outcome::Done, false);
        }
        self.sink = Sink::default();
        self.expected = self.expected.wrapping_sub(1);
        self.enter(cx, ReceiverInput::Closed);
        let start = self.start;
        self.say(cx, &[ACK, start]);
    }

    fn store_failed(&mut self, cx: &mut Cx<'_>, pending: PendingRequest, error: StoreError) {
        self.file.open &= !matches!(pending, PendingRequest::Close { .. } | PendingRequest::Offer);
        self.fail(cx, Blame::Store, FailureKind::Store(error), true);
    }
}
