//! The state machine of the sender (\[XY88\] chapters 7 and 8).

use super::config::Config;
use super::frame::{ACK, CAN, Check, EOT, HEADER, LONG, NAK, SHORT, WANT_CRC, WANT_STREAM, finish};
use super::length::LengthPolicy;
use super::link::{Link, letter, trace_got, trace_sent};
use super::source::Source;
use super::states::{SenderInput, SenderStep, Sending, on_word};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, StoreError};
use crate::session::{self, Ask, Ending, QueuedEvent, Timer};
use crate::time::{Duration, Instant};
use crate::trace::{Again, Load, TraceEvent, Wait};

mod files;
mod queue;
mod sender;

use queue::Queue;
use sender::Mem;
pub use sender::Sender;

/// A start character that comes sooner than this after the block it would request was already in
/// flight: receivers send them seconds apart.
const STALE: Duration = Duration::from_millis(500);
/// An answer that was read before the port had reported that the last byte left.
const AT_ONCE: Duration = Duration::from_millis(20);
/// Least silence after which no answer to a retransmitted block is expected any longer.
const UNSURE: Duration = Duration::from_millis(500);
/// The longest silence before EOT: as long as a receiver waits for a block.
const LONGEST_QUIET: Duration = Duration::from_secs(10);
/// Least silence after which no second copy of a character is expected any longer.
const ALONE: Duration = Duration::from_millis(30);
/// A receiver of a stream may never acknowledge the end of the batch. One that does is awaited,
/// so that its answer does not reach the next user of the line.
const BEHIND_STREAM: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(1));
/// The message about a receiver that cancels at the second EOT of an empty file.
const CANCELLED_EMPTY: &[u8] =
    b"(it cancelled at the end of an empty file, of which it has all there is)";
/// The file that is being sent. Its name is in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    /// Facts, with an empty name.
    info: FileInfo<'static>,
    name_len: usize,
    /// The store has it open.
    open: bool,
    /// A block of data was acknowledged.
    taken: bool,
    /// Bytes sent in blocks so far.
    sent: u64,
}

/// What is in flight and waits for an answer.
#[derive(Clone, Copy, Debug)]
struct Flight {
    /// File bytes in it.
    data: usize,
    /// A block of 1024 bytes.
    long: bool,
    /// When it was made.
    began: Instant,
    copies: u8,
    /// Answers received since the first copy; others may still come.
    answers: u8,
    /// Timeouts in a row.
    silent: u8,
    /// When the last byte of the last copy left.
    left: Option<Instant>,
    /// Why there is more than one copy.
    why: Option<Again>,
}

#[derive(Debug)]
struct Core {
    link: Link,
    state: Sending,
    ask: Ask,
    queue: Queue,
    source: Source,
    file: Current,
    flight: Option<Flight>,
    check: Check,
    streaming: bool,
    /// The peer's start character has come: it waits for the next item.
    invited: bool,
    /// There is no file to send any longer.
    exhausted: bool,
    /// Number of the block in flight, or of the next.
    number: u8,
    /// Blocks were sent more than once: answers may be out of step until the line is quiet.
    unsure: bool,
    /// While [`Timer::Settle`] runs input is ignored; it restarts until the line has been quiet that long.
    quiet: Duration,
    settle_latest: Instant,
    /// A block of this file was sent more than once.
    repeated: bool,
    /// Answers have been waited for since the last block.
    settled: bool,
    lengths: LengthPolicy,
    /// The longest time an answer took.
    slowest: Duration,
    /// The shortest time an answer took to something sent once.
    fastest: Option<Duration>,
    /// When the line has transmitted all that the port took, if its rate is known.
    busy_until: Instant,
    /// All that is queued was lent, and the port has reported nothing since.
    lent: bool,
    /// An answer that came before the port reported that all has left.
    early: Option<(u8, Instant)>,
    /// Since when the peer's start is awaited.
    base: Option<Instant>,
}

impl Core {
    fn new(config: Config) -> Self {
        Self {
            state: Sending::Next,
            ask: Ask::Next,
            queue: Queue::default(),
            source: Source::new(None),
            file: Current::default(),
            flight: None,
            check: Check::Sum,
            streaming: false,
            invited: false,
            exhausted: false,
            number: 1,
            unsure: false,
            quiet: Duration::ZERO,
            settle_latest: Instant::ZERO,
            repeated: false,
            settled: false,
            lengths: LengthPolicy::new(config.adapt_block),
            slowest: Duration::ZERO,
            fastest: None,
            busy_until: Instant::ZERO,
            lent: false,
            early: None,
            base: None,
            link: Link::new(config),
        }
    }

    fn is_batch(&self) -> bool {
        self.link.config.variant.is_batch()
    }

    fn started(&self) -> bool {
        self.base.is_some()
    }

    fn takes_input(&self) -> bool {
        // XMODEM ends with the acknowledgement of EOT, even if the store is not finished.
        let acknowledged = match self.state {
            Sending::Close => true,
            Sending::Next => self.link.stats.files_done > 0,
            _ => false,
        };
        match self.link.ending {
            Ending::Over(_) | Ending::Words(Outcome::Done) => false,
            Ending::No => self.is_batch() || !acknowledged,
            _ => true,
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: SenderInput) {
        if !session::enter(cx, &mut self.state, input) {
            self.fail(cx, Blame::Local, FailureKind::Internal, true);
        }
    }

    /// Ends with a failure; `cancel`: the peer is told.
    fn fail(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind, cancel: bool) {
        if !self.link.ending.is_running() {
            return;
        }
        self.link.cut = self.queue.cut();
        self.queue.clear();
        self.flight = None;
        if kind == FailureKind::Aborted && self.file.open {
            let by_peer = blame == Blame::Peer;
            let unseen = matches!(self.state, Sending::Header | Sending::Go);
            self.link.stats.files_skipped += 1;
            self.link.notes.push(if by_peer && unseen {
                // A YMODEM receiver has no other way to refuse a file.
                QueuedEvent::Refused { why: None, by_peer }
            } else {
                QueuedEvent::Cancelled { by_peer }
            });
        }
        self.enter(cx, SenderInput::Failed);
        self.ask = if self.file.open { Ask::close(false) } else { Ask::Nothing };
        self.link.end(cx, Outcome::Failed(Failure { blame, kind }), cancel);
    }

    fn abort(&mut self, cx: &mut Cx<'_>) {
        self.fail(cx, Blame::Local, FailureKind::Aborted, true);
    }

    fn done(&mut self, cx: &mut Cx<'_>) {
        self.flight = None;
        self.enter(cx, SenderInput::Done);
        self.link.end(cx, Outcome::Done, false);
    }

    /// What blocks sending, when the queue is empty.
    fn waits_for(&self) -> Wait {
        match self.state {
            _ if !self.link.ending.is_running() => Wait::Nothing,
            _ if self.link.timers.is_running(Timer::Pause)
                || self.link.timers.is_running(Timer::Settle) =>
            {
                Wait::Pause
            }
            _ if !self.ask.is_idle() => Wait::Store,
            Sending::Data if self.flight.is_some() => Wait::Window,
            _ if self.flight.is_some() => Wait::Answer,
            Sending::Invite | Sending::Go | Sending::Confirm => Wait::Peer,
            _ => Wait::Nothing,
        }
    }

    fn pump_blocks(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.base.is_none() {
            self.base = Some(cx.now);
            self.link.port.moved = cx.now;
        }
        let _ = self.link.may_send(cx.now);
        if !self.link.ending.is_running() {
            return self.link.pump_ending(cx, self.ask.is_idle(), Duration::ZERO);
        }
        if self.link.timers.is_running(Timer::Settle) {
            return;
        }
        match self.state {
            Sending::Invite if self.invited => self.begin(cx, mem),
            Sending::Data => while self.produce(cx, mem) {},
            _ => {}
        }
        self.link.pump_ending(cx, self.ask.is_idle(), Duration::ZERO);
    }

    /// Builds the next block, or EOT. True if there may be more to build.
    fn produce(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        if self.flight.is_some() || !self.ask.is_idle() {
            return false;
        }
        let longest = self.link.config.send_block();
        let room = if self.streaming { self.queue.room(mem.out) } else { mem.out.len() };
        if room < HEADER + longest + 2 {
            return false;
        }
        let ready = self.source.ready();
        if ready < longest && !self.source.ended {
            self.ask = Ask::Read;
            return false;
        }
        if self.source.fell_short() {
            // The announced length cannot be met; only a cancel can signal it.
            let kind = FailureKind::Store(StoreError::Changed);
            self.fail(cx, Blame::Store, kind, true);
            return false;
        }
        if ready == 0 {
            return self.finish_file(cx, mem);
        }
        let len = self.block_len(ready, longest);
        let at = if self.streaming { self.queue.end(mem.out) } else { self.queue.restart() };
        let block = &mut mem.out[at..];
        let pad = self.link.config.pad;
        let data = self.source.take(mem.source, &mut block[HEADER..HEADER + len], pad);
        let wire = finish(block, self.number, len, self.check);
        self.queue.push(wire);
        self.file.sent += data as u64;
        if self.streaming {
            self.sent_block(cx, wire, 0, data, None);
            self.counted(data);
            self.number = self.number.wrapping_add(1);
            return true;
        }
        self.settled = false;
        let flight = Flight::new(cx, data, len == LONG);
        self.launch(cx, flight);
        false
    }

    /// The length of the next block: long while that pays, without much padding.
    fn block_len(&mut self, ready: usize, longest: usize) -> usize {
        // One long block against several short ones, each with a round trip. XMODEM keeps the
        // padding, so the fewer the better there.
        let least = if self.is_batch() { 4 * SHORT } else { 7 * SHORT };
        // Receivers that request checksums may predate long blocks; the user decides.
        let known = self.check == Check::Crc || self.link.config.insists_on_long();
        let possible = longest == LONG && ready > least && known;
        if possible && (self.streaming || self.lengths.is_long()) { LONG } else { SHORT }
    }

    /// All blocks are sent: EOT, once the answers are certainly in step.
    fn finish_file(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        if self.streaming && self.queue.pending() > 0 {
            return false;
        }
        // A surplus acknowledgement would be taken for that of EOT, and XMODEM's receiver has nothing to confirm
        // it with. If a block was retransmitted there may be one for each copy: the last that came was then for the
        // block before the last, which may still be on its way.
        let bare = !self.is_batch() && self.link.config.line.reliable != Some(true);
        if self.unsure || bare && !self.settled {
            let least = if self.unsure { UNSURE } else { ALONE };
            let block = if bare && self.repeated { self.lengths.usual() * 5 / 4 } else { least };
            self.settle(cx, block.clamp(least, LONGEST_QUIET));
            return false;
        }
        self.enter(cx, SenderInput::LastBlock);
        let at = self.queue.restart();
        mem.out[at] = EOT;
        self.queue.push(1);
        let flight = Flight::new(cx, 0, false);
        self.launch(cx, flight);
        false
    }

    /// Discards input until the line is quiet: a surplus answer would be taken for the one
    /// to the next block.
    fn settle(&mut self, cx: &Cx<'_>, least: Duration) {
        (self.unsure, self.settled) = (false, true);
        let longest = Duration::from_secs(5).max(least);
        self.quiet = (self.slowest + self.slowest / 4).clamp(least, longest);
        self.link.timers.set(Timer::Settle, cx.now + self.quiet);
        self.settle_latest = cx.now + self.quiet * 4;
    }

    /// Sends the queue for the first time.
    fn launch(&mut self, cx: &mut Cx<'_>, flight: Flight) {
        self.flight = Some(flight);
        let first = self.is_start();
        let pace = &self.link.pace;
        let pause = if first { pace.start() } else { pace.block() };
        self.link.pause(cx.now, pause);
        self.copy(cx);
    }

    /// What is in flight answers a start character.
    fn is_start(&self) -> bool {
        match self.state {
            Sending::Header | Sending::Goodbye => true,
            Sending::Data => !self.file.taken,
            _ => false,
        }
    }

    /// One more copy is in flight.
    fn copy(&mut self, cx: &mut Cx<'_>) {
        let wire = self.queue.pending();
        let Some(flight) = &mut self.flight else { return };
        let again = u32::from(flight.copies);
        flight.copies += 1;
        let (data, why) = (flight.data, flight.why);
        self.lent = false;
        self.early = None;
        if again > 0 {
            self.link.stats.retransmissions += 1;
            self.link.stats.repeated_bytes += wire as u64;
        }
        self.sent_block(cx, wire, again, data, why);
    }

    /// A block of `wire` bytes with `file` bytes of the file is at the end of the queue.
    fn sent_block(
        &mut self,
        cx: &mut Cx<'_>,
        wire: usize,
        again: u32,
        file: usize,
        why: Option<Again>,
    ) {
        let (kind, number) = match self.state {
            Sending::Header | Sending::Goodbye => ('F', 0),
            Sending::Eof | Sending::Confirm => ('Z', self.number),
            _ => ('D', self.number),
        };
        let stats = &mut self.link.stats;
        stats.packets_out += 1;
        stats.longest_packet_bytes = stats.longest_packet_bytes.max(wire as u64);
        let pending = self.link.answers.pending() + self.queue.pending();
        let load = Load {
            at: stats.wire_out_bytes + (pending - wire) as u64,
            data: if kind == 'D' { wire - HEADER - self.check.len() } else { 0 },
            file,
            old: if again > 0 { file } else { 0 },
            why: why.filter(|_| again > 0),
        };
        trace_sent(cx, kind, u64::from(number), wire, again, load);
    }

    fn counted(&mut self, data: usize) {
        let stats = &mut self.link.stats;
        stats.file_bytes += data as u64;
        stats.current_file_bytes += data as u64;
        stats.encoded_bytes += data as u64;
    }

    /// Retransmits.
    fn repeat(&mut self, cx: &mut Cx<'_>, why: Again) {
        let Some(flight) = &mut self.flight else { return };
        flight.why = Some(why);
        if flight.copies > self.link.config.retries {
            return self.give_up(cx);
        }
        // A NAK for the first EOT is normal.
        self.unsure |= self.state == Sending::Data;
        self.repeated |= self.state == Sending::Data;
        if flight.long {
            self.lengths.damaged();
        }
        self.queue.rewind();
        let pause = self.link.pace.block();
        self.link.pause(cx.now, pause);
        self.copy(cx);
    }

    fn give_up(&mut self, cx: &mut Cx<'_>) {
        if self.state == Sending::Goodbye {
            // Every file has been acknowledged; only the final exchange was not heard.
            return self.done(cx);
        }
        let silent = self.flight.is_some_and(|flight| flight.silent > 1);
        let (blame, kind) = if silent {
            (Blame::Peer, FailureKind::Silence)
        } else {
            (Blame::Line, FailureKind::TooManyRetries)
        };
        self.fail(cx, blame, kind, true);
    }

    /// XMODEM: an empty file is out, which is an EOT and its repetition. Some receivers close the
    /// file at the first and cancel at the second, and nothing is missing there. One that cancels later
    /// has only repeated its start character, and gives up.
    fn is_all_said(&self) -> bool {
        let second = self.flight.is_some_and(|flight| flight.copies == 2);
        !self.is_batch() && self.file.sent == 0 && second
    }

    fn input(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, byte: u8) {
        if self.link.is_cancelled(byte) {
            return match self.state {
                Sending::Goodbye => self.done(cx),
                Sending::Eof if self.is_all_said() => {
                    self.link.message = CANCELLED_EMPTY;
                    self.link.notes.push(QueuedEvent::Message);
                    self.close(cx);
                }
                _ => self.fail(cx, Blame::Peer, FailureKind::Aborted, false),
            };
        }
        if byte == CAN {
            return;
        }
        if self.link.timers.is_running(Timer::Settle) {
            self.link.stats.noise_bytes += 1;
            let until = (cx.now + self.quiet).min(self.settle_latest);
            self.link.timers.set(Timer::Settle, until);
            return;
        }
        if self.streaming && self.state == Sending::Data && self.flight.is_none() {
            if byte == NAK {
                self.link.stats.naks_in += 1;
                self.fail(cx, Blame::Line, FailureKind::NotReliable, true);
            }
            return;
        }
        // While something is being sent no input can be its answer.
        if self.queue.pending() > 0 {
            if byte == ACK
                && self.queue.untouched()
                && let Some(flight @ Flight { copies: 2.., .. }) = &mut self.flight
            {
                // The answer to the previous copy; this one need not be sent.
                flight.copies -= 1;
                self.queue.restart();
                return self.word(cx, mem, byte);
            }
            if self.lent {
                self.early = Some((byte, cx.now));
            }
            return;
        }
        self.word(cx, mem, byte);
    }

    /// A character from the receiver.
    fn word(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, byte: u8) {
        // C and G differ in one bit. YMODEM sends it twice, XMODEM does not. A receiver that has taken data by C does
        // not request a stream later in the batch.
        let doubtful = byte == WANT_STREAM
            && if self.is_batch() {
                !self.streaming && (self.file.taken || self.link.stats.files_done > 0)
            } else {
                self.link.config.line.reliable == Some(false)
            };
        let Some(step) = on_word(self.state, byte).filter(|_| !doubtful) else {
            self.link.stats.noise_bytes += 1;
            return;
        };
        let age = match self.flight {
            Some(Flight { left: Some(left), .. }) => cx.now - left,
            Some(_) => return,
            None => Duration::ZERO,
        };
        if let (Some(flight), ACK | NAK) = (&mut self.flight, byte) {
            flight.answers += 1;
            flight.silent = 0;
        }
        let at = self.link.stats.wire_in_bytes;
        trace_got(cx, letter(byte), u64::from(self.number), 1, at);
        match step {
            SenderStep::Begin => {
                self.agree(byte);
                if self.state == Sending::Go {
                    self.start_data(cx);
                } else {
                    self.invited = true;
                }
            }
            SenderStep::Advance => self.advance(cx, byte, age),
            SenderStep::Repeat => {
                self.link.stats.naks_in += 1;
                if self.state == Sending::Confirm {
                    self.enter(cx, SenderInput::Refused);
                }
                self.unheard(age);
                self.repeat(cx, Again::Nak);
            }
            SenderStep::Remind => self.remind(cx, mem, byte, age),
            SenderStep::Stream => {
                self.agree(byte);
                self.flight = None;
                self.start_data(cx);
            }
        }
    }

    /// A NAK for a block long after it left, or on a line of unknown rate: the receiver may
    /// have discarded it (docs/decisions/020).
    fn unheard(&mut self, age: Duration) {
        let late = age >= Duration::from_millis(2500);
        if self.state == Sending::Data && (late || self.link.config.line.rate_bps == 0) {
            self.link.lost_block();
        }
    }

    /// A start character while something is in flight.
    fn remind(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, byte: u8, age: Duration) {
        match self.state {
            Sending::Eof if self.is_batch() && self.wants_next(byte, age) => {
                // The receiver wants the next file, so it has this one.
                self.enter(cx, SenderInput::Acknowledged);
                self.advance(cx, byte, age);
            }
            Sending::Data if self.file.taken => self.link.stats.noise_bytes += 1,
            _ if age < STALE => self.link.stats.noise_bytes += 1,
            state => {
                self.link.pace.lost_start();
                let check = self.check;
                self.agree(byte);
                if state == Sending::Data && self.check != check {
                    // The same data, with the check that the receiver wants.
                    let long = self.flight.is_some_and(|flight| flight.long);
                    let len = if long { LONG } else { SHORT };
                    self.queue.restart();
                    let wire = finish(mem.out, self.number, len, self.check);
                    self.queue.push(wire);
                }
                self.repeat(cx, Again::Nak);
            }
        }
    }

    /// A start character while EOT is in flight means the next file, so the receiver has this one. In streaming mode
    /// a late one may have requested the header or the data, on a long line even when all is sent: there EOT is
    /// retransmitted first; a receiver that has the file acknowledges it, and only one that then requests a stream
    /// again has accepted it. For an empty file it may still request the header, since no block revealed its loss.
    fn wants_next(&self, byte: u8, age: Duration) -> bool {
        let is_repeated = self.flight.is_some_and(|flight| flight.copies > 1);
        if self.streaming {
            byte == WANT_STREAM && self.file.sent > 0 && is_repeated && age >= STALE
        } else {
            // One that comes sooner than any answer ever did asked for something else.
            self.file.taken && self.fastest.is_none_or(|fastest| age >= fastest / 4 * 3)
        }
    }

    /// Applies the receiver's request.
    fn agree(&mut self, byte: u8) {
        match byte {
            // After block 0 it only says to continue.
            NAK if self.state == Sending::Go => {}
            NAK => self.check = Check::Sum,
            _ => self.check = Check::Crc,
        }
        self.streaming = byte == WANT_STREAM;
    }

    /// The receiver has what is out.
    fn advance(&mut self, cx: &mut Cx<'_>, byte: u8, age: Duration) {
        if let Some(flight) = self.flight {
            if byte == ACK {
                self.slowest = self.slowest.max(age);
                if flight.copies == 1 {
                    self.fastest = Some(self.fastest.map_or(age, |fastest| fastest.min(age)));
                }
            }
            if self.is_start() && flight.copies == 1 {
                let first = self.link.config.start_pause.get();
                self.link.pace.start_heard(first);
            }
            if flight.answers < flight.copies {
                // Several answers may be in flight.
                match self.state {
                    Sending::Data | Sending::Confirm => self.settle(cx, UNSURE),
                    // Only EOT follows the header of an empty file, and an answer to an earlier copy of block 0 would
                    // be taken for its acknowledgement.
                    Sending::Header => self.unsure |= self.file.info.size == Some(0),
                    _ => {}
                }
            }
        }
        match self.state {
            Sending::Header => {
                self.flight = None;
                self.enter(cx, SenderInput::Acknowledged);
                self.base = Some(cx.now);
            }
            Sending::Data => {
                if let Some(flight) = self.flight.take() {
                    let cost = cx.now - flight.began;
                    self.lengths.taken(flight.long, flight.copies, cost);
                    self.counted(flight.data);
                    self.link.stats.current_acked_bytes = Some(self.link.stats.current_file_bytes);
                }
                self.file.taken = true;
                self.number = self.number.wrapping_add(1);
            }
            Sending::Eof if self.is_batch() => {
                self.enter(cx, SenderInput::Acknowledged);
                self.base = Some(cx.now);
            }
            Sending::Eof => self.close(cx),
            Sending::Confirm => {
                self.agree(byte);
                self.invited = true;
                self.close(cx);
            }
            Sending::Goodbye => self.done(cx),
            _ => {}
        }
    }

    fn answer_timeout(&self) -> Duration {
        let long = self.link.config.answer_timeout.get();
        match self.state {
            Sending::Goodbye if self.streaming => {
                let (least, most) = BEHIND_STREAM;
                (self.slowest * 2).clamp(least, most)
            }
            Sending::Eof | Sending::Goodbye if !self.streaming => {
                // Receivers do not linger for long after the end; lrzsz takes a second to answer.
                let usual = self.slowest * 2 + Duration::from_millis(1500);
                usual.clamp(Duration::from_secs(3), long.max(Duration::from_secs(3)))
            }
            Sending::Confirm => long.min(Duration::from_secs(15)),
            _ => long,
        }
    }

    fn patience(&self) -> Duration {
        self.link.config.patience.get()
    }

    fn due(&self) -> Option<Instant> {
        match (self.state, self.flight) {
            _ if self.link.timers.is_running(Timer::Settle) => self.link.timers.get(Timer::Settle),
            (Sending::Invite | Sending::Go, _) if !self.invited => {
                self.base.map(|base| base + self.patience())
            }
            (Sending::Confirm, _) => self.base.map(|base| base + self.answer_timeout()),
            (_, Some(Flight { left: Some(left), .. })) if self.queue.pending() == 0 => {
                Some(left + self.answer_timeout())
            }
            _ => None,
        }
    }

    fn run_timers(&mut self, cx: &mut Cx<'_>) {
        if self.due().is_none_or(|due| due > cx.now) {
            return;
        }
        if self.link.timers.expire(Timer::Settle, cx.now) {
            return;
        }
        self.link.stats.timeouts += 1;
        let number = u64::from(self.number);
        let waiting_for = self.state.name();
        cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for, number });
        match self.state {
            Sending::Invite if self.exhausted => self.done(cx),
            Sending::Invite | Sending::Go => {
                self.fail(cx, Blame::Peer, FailureKind::Silence, true);
            }
            // It was acknowledged, and the peer sends no more.
            Sending::Confirm => self.close(cx),
            // It need not be acknowledged, and a shell may read the line by now.
            Sending::Goodbye if self.streaming => self.done(cx),
            _ => {
                let few = matches!(self.state, Sending::Data | Sending::Goodbye);
                let Some(flight) = &mut self.flight else { return };
                flight.silent += 1;
                if few && flight.silent > 2 {
                    return self.give_up(cx);
                }
                self.repeat(cx, Again::Timeout);
            }
        }
    }
}

impl Flight {
    fn new(cx: &Cx<'_>, data: usize, long: bool) -> Self {
        Self { data, long, began: cx.now, copies: 0, answers: 0, silent: 0, left: None, why: None }
    }
}

/// Whether this is `CK`, the request of KMD and IMP, and not a part of a word.
fn is_kmd(bytes: &[u8], at: usize) -> bool {
    let alone = at == 0 || !bytes[at - 1].is_ascii_graphic();
    bytes[at..].starts_with(b"CK") && alone && !is_prose(bytes.get(at + 2))
}

/// Whether this follows a letter of a text: then it is not a start character.
fn is_prose(next: Option<&u8>) -> bool {
    next.is_some_and(|byte| {
        matches!(byte, b' '..=b'~' | b'\r' | b'\n') && !matches!(*byte, WANT_CRC | WANT_STREAM)
    })
}
