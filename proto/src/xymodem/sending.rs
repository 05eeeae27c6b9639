//! The state machine of the sender (\[XY88\] chapters 7 and 8).

use super::config::Config;
use super::frame::{Check, EOT, HEADER, LONG, SHORT, WANT_CRC, WANT_STREAM, finish};
use super::length::BlockLengths;
use super::link::{Link, trace_sent};
use super::source::Source;
use super::states::{SenderInput, Sending};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, StoreError};
use crate::session::{self, Ending, PendingRequest, QueuedEvent, Timer};
use crate::time::{Duration, Instant};
use crate::trace::{Again, Load, Wait};

mod answers;
mod files;
mod queue;
mod sender;
mod timeouts;

use queue::Queue;
use sender::Mem;
pub use sender::Sender;

/// Least silence after which no answer to a retransmitted block is expected any longer.
const UNSURE: Duration = Duration::from_millis(500);
/// The longest silence before EOT: as long as a receiver waits for a block.
const LONGEST_QUIET: Duration = Duration::from_secs(10);
/// Least silence after which no second copy of a character is expected any longer.
const ALONE: Duration = Duration::from_millis(30);
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
    pending: PendingRequest,
    queue: Queue,
    source: Source,
    file: Current,
    flight: Option<Flight>,
    check: Check,
    streaming: bool,
    /// The peer's start character has come: it waits for the next item.
    invited: bool,
    /// There are no more files to send.
    exhausted: bool,
    /// Number of the block in flight, or of the next.
    number: u8,
    /// Blocks were sent more than once: answers may be out of step until the line is quiet.
    unsure: bool,
    /// While [`Timer::Settle`] runs for what is owed, NAK ends it: the receiver waits for the next block.
    asks_again: bool,
    /// While [`Timer::Settle`] runs input is ignored; it restarts until the line has been quiet that long.
    quiet: Duration,
    settle_latest: Instant,
    /// A block of this file was sent more than once.
    repeated: bool,
    /// A copy of a block of this file was not answered: an answer may still come.
    owed: bool,
    /// Answers have been waited for since the last block.
    settled: bool,
    lengths: BlockLengths,
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
            pending: PendingRequest::Next,
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
            asks_again: false,
            quiet: Duration::ZERO,
            settle_latest: Instant::ZERO,
            repeated: false,
            owed: false,
            settled: false,
            lengths: BlockLengths::new(config.adapt_block, config.known_spacing),
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
            Ending::Over(_) | Ending::LastPackets(Outcome::Done) => false,
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
        self.pending =
            if self.file.open { PendingRequest::close(false) } else { PendingRequest::Nothing };
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
            _ if !self.pending.is_idle() => Wait::Store,
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
            return self.link.pump_ending(cx, self.pending.is_idle(), Duration::ZERO);
        }
        if self.link.timers.is_running(Timer::Settle) {
            return;
        }
        match self.state {
            Sending::Invite if self.invited => self.begin(cx, mem),
            Sending::Data => while self.produce(cx, mem) {},
            _ => {}
        }
        self.link.pump_ending(cx, self.pending.is_idle(), Duration::ZERO);
    }

    /// Builds the next block, or EOT. True if there may be more to build.
    fn produce(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        if self.flight.is_some() || !self.pending.is_idle() {
            return false;
        }
        let longest = self.link.config.send_block();
        let room = if self.streaming { self.queue.room(mem.out) } else { mem.out.len() };
        if room < HEADER + longest + 2 {
            return false;
        }
        let ready = self.source.ready();
        if ready < longest && !self.source.ended {
            self.pending = PendingRequest::Read;
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
        if bare && self.owed {
            // Until the receiver asks again, after its last answer.
            self.settle(cx, LONGEST_QUIET);
            self.owed = false;
            self.asks_again = true;
            return false;
        }
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
        self.unsure = false;
        self.settled = true;
        self.asks_again = false;
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
        // Receivers refuse the first EOT to make sure of it: nothing was lost.
        let is_custom = self.state == Sending::Eof && again == 1 && why == Some(Again::Nak);
        if again > 0 && !is_custom {
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
            ..Load::default()
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
        if self.state == Sending::Data {
            self.lengths.damaged(flight.long, why == Again::Nak);
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
