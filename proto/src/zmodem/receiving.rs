//! The state machine of the receiver (xyzmodem.md §5, §6). Files and the store are in `files`.

use super::config::{Attention, Config};
use super::escape::Dropping;
use super::frame::{BadFrame, Found};
use super::info::FileOptions;
use super::link::Link;
use super::packet::{Form, Header, TESC8, TESCCTL, end, kind, letter};
use super::sink::Sink;
use super::states::{ReceiverInput, ReceiverStep, Receiving, at_receiver};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, FileKind};
use crate::line::line_time;
use crate::session::{self, Ask, Ending, QueuedEvent};
use crate::time::{Duration, Instant};

mod command;
mod empty;
mod files;
mod receiver;

pub use receiver::Receiver;

/// Time in which a failed transfer's last frames drain.
const DRAIN: Duration = Duration::from_millis(400);
/// The shortest silence within data that counts as a loss.
const SILENCE: Duration = Duration::from_secs(3);
/// Echoes of our own frames after which there is no peer.
const MOST_ECHOES: u32 = 3;
/// The longest pause that a peer may ask for with its attention string.
const LONGEST_PAUSE: u32 = 5;
/// A retransmitted ZFIN, as far as it is the same from every sender.
const FINISH: &[u8; 18] = b"**\x18B0800000000022d";
/// The length of a ZFILE and its information.
const OFFER: usize = 150;
/// How often it is answered.
const MOST_FINISH: u32 = 5;
/// The message about a sender that ends when it is asked for a CRC.
const NO_CHECK: &[u8] =
    b"(it may not know ZCRC, which resuming asks for; zmodem.resume-check=off resumes without)";
/// Most headers without file data or a new file.
const MOST_HEADERS: u32 = 2000;

/// The file that is being received. Its name is in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    /// Facts, with an empty name.
    info: FileInfo<'static>,
    name_len: usize,
    /// The store has it open.
    open: bool,
}

/// The memory, divided.
struct Mem<'a> {
    /// Decoded bytes for the store, and the incoming subpacket.
    file: &'a mut [u8],
    /// The queue towards the port.
    out: &'a mut [u8],
    /// Run-coded data.
    hold: &'a mut [u8],
    /// The name of the current file.
    name: &'a mut [u8],
}

/// The kind of data that follows the last header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expecting {
    Nothing,
    Attention,
    File(FileOptions),
    Data,
    /// Data, run-length coded.
    Runs,
    Command {
        immediate: bool,
    },
    Message,
}

/// What follows when the store has closed a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AfterClose {
    /// The sender may send the next, whether this one is complete or not.
    Ready { complete: bool },
    /// The sender is told to skip it.
    Skip,
    /// The sender has abandoned it, and is asked to retransmit its last packet.
    Left,
}

/// Run-coded data that waits for room.
#[derive(Clone, Copy, Debug)]
struct Held {
    at: usize,
    len: usize,
    end: u8,
}

#[derive(Debug)]
struct Core {
    link: Link,
    state: Receiving,
    ask: Ask,
    sink: Sink,
    file: Current,
    expecting: Expecting,
    held: Option<Held>,
    /// Whether a ZEOF follows where data was announced.
    empty: empty::Empty,
    after: AfterClose,
    attention: Attention,
    /// The challenge was answered, or is not needed.
    proved: bool,
    /// Position in the sender's file of the next byte to come.
    position: u64,
    /// Length of the file that was closed last.
    closed_at: Option<u64>,
    /// Our CRC of the stored part; without one, the sender's is for the store.
    check: Option<u32>,
    /// This much is stored, and the sender was asked for its CRC and sent none.
    unchecked: u64,
    order: command::Order,
    /// An end of the file, short of the announced length, that was queried.
    doubted: Option<u64>,
    /// When the last byte of data came.
    heard: Instant,
    /// Decoded bytes from which a write is worthwhile.
    write_at: usize,
    /// Errors in a row.
    faults: u32,
    /// Headers since the last progress.
    headers: u32,
    /// The identification of the sender's file in ZSKIP.
    tag: u32,
    /// A ZFILE is incoming and not yet verified.
    offered: bool,
    files: u32,
    echoes: u32,
    finishes: u32,
    /// The user has refused the offered file.
    unwanted: bool,
    /// The user has cancelled the batch.
    last: bool,
    started: bool,
}

impl Core {
    fn new(config: Config) -> Self {
        let buffer = config.sink_len();
        let rate = config.line.rate_bps as usize;
        // On a slow line a write each second keeps a partial file worth resuming.
        let write_at = if rate == 0 { buffer / 2 } else { (rate / 10).clamp(512, buffer / 2) };
        let proved = config.challenge == 0;
        let first = Duration::from_secs(10);
        Self {
            state: Receiving::Init,
            ask: Ask::Nothing,
            sink: Sink::default(),
            file: Current::default(),
            expecting: Expecting::Nothing,
            held: None,
            empty: empty::Empty::No,
            after: AfterClose::Ready { complete: true },
            attention: Attention::NONE,
            proved,
            position: 0,
            closed_at: None,
            check: None,
            unchecked: 0,
            order: command::Order::None,
            doubted: None,
            heard: Instant::ZERO,
            write_at,
            faults: 0,
            headers: 0,
            tag: 0,
            offered: false,
            files: 0,
            echoes: 0,
            finishes: 0,
            unwanted: false,
            last: false,
            started: false,
            link: Link::new(config, first),
        }
    }

    /// What is known of the current file.
    fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        FileInfo { name: &name[..self.file.name_len], ..self.file.info }
    }

    /// Nothing has been sent yet.
    fn is_fresh(&self) -> bool {
        !self.started && self.link.ending.is_running()
    }

    /// Whether input is accepted now, or blocked until the store replies.
    fn takes_input(&self) -> bool {
        match self.link.ending {
            Ending::No => !self.blocked(),
            Ending::Words(_) | Ending::Linger { .. } => true,
            Ending::Over(_) => false,
        }
    }

    fn blocked(&self) -> bool {
        matches!(self.state, Receiving::Offer | Receiving::Close)
            || matches!(self.ask, Ask::Digest { .. } | Ask::Run { .. })
            || self.held.is_some()
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: ReceiverInput) {
        if !session::enter(cx, &mut self.state, input) {
            self.give_up(cx, Blame::Local, FailureKind::Internal);
        }
    }

    fn fail(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, blame: Blame, kind: FailureKind) {
        if !self.link.ending.is_running() {
            return;
        }
        self.link.output.drop_unsent();
        if self.state == Receiving::Data {
            self.say_attention(cx, mem);
        }
        if matches!(kind, FailureKind::Store(_)) {
            self.link.say(cx, mem.out, &Header::hex(kind::ZFERR, 0));
        }
        self.link.say_cancel(cx, mem.out);
        self.give_up(cx, blame, kind);
    }

    /// Ends without a packet to the sender.
    fn give_up(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind) {
        self.enter(cx, ReceiverInput::Failed);
        self.link.question = None;
        self.held = None;
        // Decoded data goes to the store first: a partial file may be resumed.
        let store_failed = matches!(kind, FailureKind::Store(_));
        self.ask = match (self.file.open, self.sink.pending()) {
            (false, _) => Ask::Nothing,
            (true, 1..) if !store_failed => Ask::Write,
            (true, _) => Ask::close(false),
        };
        self.link.end(cx, Outcome::Failed(Failure { blame, kind }));
    }

    /// ZRINIT, or the challenge that comes before it.
    fn say_ready(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, again: bool) {
        let config = &self.link.config;
        let header = if self.proved {
            let data = config.receiver_init();
            Header { kind: kind::ZRINIT, data, form: Form::Hex, variable: false }
        } else {
            Header::hex(kind::ZCHALLENGE, config.challenge)
        };
        self.link.say(cx, mem.out, &header);
        self.link.expect_answer(cx.now, again);
    }

    /// Sends the sender's attention string. Only characters that are safe at a terminal: the
    /// sender may be gone, and a shell may read in its place.
    fn say_attention(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let attention = self.attention;
        let mut pauses = 0;
        for &byte in attention.as_bytes() {
            match byte {
                Attention::PAUSE => pauses += 1,
                // A break is up to the port, and few ports have one.
                Attention::BREAK => {}
                3 | b' '..=b'~' => {
                    self.link.say_bytes(cx, mem.out, &[byte]);
                }
                _ => {}
            }
        }
        if pauses > 0 {
            let pause = Duration::from_secs(u64::from(pauses.min(LONGEST_PAUSE)));
            self.link.pause(cx.now, pause);
        }
    }

    /// Asks the sender to continue from what we have.
    fn ask_position(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.reader.hunt();
        self.expecting = Expecting::Nothing;
        if self.link.output.pending() == 0 {
            self.say_attention(cx, mem);
            // Positions have 32 bits; longer files were refused.
            self.link.say(cx, mem.out, &Header::hex(kind::ZRPOS, self.position as u32));
            self.link.stats.naks_out += 1;
        }
        self.link.expect_answer(cx.now, true);
    }

    fn too_often(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.fail(cx, mem, Blame::Peer, FailureKind::TooManyRetries);
    }

    /// The last input was damaged: request it again.
    fn say_garbled(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.reader.hunt();
        self.expecting = Expecting::Nothing;
        self.link.say(cx, mem.out, &Header::hex(kind::ZNAK, 0));
        self.link.stats.naks_out += 1;
        self.link.expect_answer(cx.now, true);
    }

    /// One more error. False if the limit is exceeded.
    fn fault(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        self.faults += 1;
        if self.faults > u32::from(self.link.config.retries) {
            self.fail(cx, mem, Blame::Line, FailureKind::TooManyRetries);
            return false;
        }
        true
    }

    fn on_found(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, found: Found) {
        match found {
            Found::Header(header) => self.on_header(cx, mem, &header),
            Found::Data { end, len } => self.on_data(cx, mem, end, len),
            Found::BadHeader { why } => {
                self.link.damaged(cx, why, 0);
                if self.link.too_soon(cx.now) || !self.fault(cx, mem) {
                    return;
                }
                if self.state == Receiving::Data {
                    self.ask_position(cx, mem);
                } else if self.link.output.pending() == 0 {
                    self.say_garbled(cx, mem);
                }
            }
            Found::BadData { why, len } => self.on_bad_data(cx, mem, why, len),
            Found::Cancel => {
                self.peer_ended(b"cancelled by the sender");
                self.fail(cx, mem, Blame::Peer, FailureKind::PeerError);
            }
        }
    }

    fn on_bad_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, why: BadFrame, len: usize) {
        self.link.damaged(cx, why, len);
        let expecting = core::mem::replace(&mut self.expecting, Expecting::Nothing);
        if len >= self.link.config.longest_taken() && matches!(expecting, Expecting::File(_)) {
            // No file information is this long, and what follows is part of it.
            return self.fail(cx, mem, Blame::Peer, FailureKind::Violation);
        }
        if !self.fault(cx, mem) {
            return;
        }
        if matches!(expecting, Expecting::Data | Expecting::Runs) {
            return self.ask_position(cx, mem);
        }
        self.say_garbled(cx, mem);
    }

    fn on_header(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        self.link.heard(cx, letter(header.kind), u64::from(header.number()), 0, 0);
        self.expecting = Expecting::Nothing;
        self.offered = header.kind == kind::ZFILE;
        self.headers += 1;
        if self.headers > MOST_HEADERS {
            return self.too_often(cx, mem);
        }
        self.past_skip(cx, header.kind);
        match at_receiver(self.state, header.kind) {
            None => {}
            Some(ReceiverStep::Announce | ReceiverStep::Repeat) if self.link.asked_enough() => {
                self.too_often(cx, mem);
            }
            Some(ReceiverStep::Announce) => self.say_ready(cx, mem, true),
            Some(ReceiverStep::Attention) => self.begin_attention(cx, mem, header),
            Some(ReceiverStep::Challenged) => self.challenged(cx, mem, header.number()),
            Some(ReceiverStep::File | ReceiverStep::Command) if !self.proved => {
                self.say_ready(cx, mem, true);
            }
            Some(ReceiverStep::File) => self.expect(Expecting::File(FileOptions::parse(header))),
            Some(ReceiverStep::Data) => self.begin_data(cx, mem, header),
            Some(ReceiverStep::Eof) => self.on_eof(cx, mem, header),
            Some(ReceiverStep::Again) => self.eof_again(cx, mem, u64::from(header.number())),
            Some(ReceiverStep::Compare) => self.compare(cx, mem, header.number()),
            // Much of the file may still be in flight after a ZSKIP, and a second one would skip the
            // next file.
            Some(ReceiverStep::Repeat)
                if self.link.too_soon(cx.now)
                    || (self.state == Receiving::Skip && self.link.said_lately(cx.now)) => {}
            Some(ReceiverStep::Repeat) => self.repeat(cx, mem),
            Some(ReceiverStep::Finish) => self.finish(cx, mem),
            Some(ReceiverStep::Failed) => self.peer_failed(cx, mem, header),
            Some(ReceiverStep::Command) => self.expect(command::expected(header)),
            Some(ReceiverStep::Skipped | ReceiverStep::Restarted) => {
                self.left_by_peer(cx, mem, AfterClose::Ready { complete: false });
            }
            Some(ReceiverStep::Left) => self.left_by_peer(cx, mem, AfterClose::Left),
            Some(ReceiverStep::Free) => {
                let free = Header::hex(kind::ZACK, self.link.config.free_bytes);
                self.link.say(cx, mem.out, &free);
                if self.state == Receiving::Init && self.link.question.is_none() {
                    self.link.expect_answer(cx.now, false);
                }
            }
            Some(ReceiverStep::Message) => self.expect(Expecting::Message),
            Some(ReceiverStep::Echo) => {
                self.echoes += 1;
                if self.echoes >= MOST_ECHOES {
                    self.fail(cx, mem, Blame::Line, FailureKind::Violation);
                }
            }
        }
    }

    /// A sender that continues has received our ZSKIP: another one would skip another file.
    fn past_skip(&mut self, cx: &mut Cx<'_>, kind: u8) {
        let is_new = matches!(
            kind,
            kind::ZRQINIT | kind::ZSINIT | kind::ZCOMMAND | kind::ZFREECNT | kind::ZSKIP
        );
        if self.state == Receiving::Skip && is_new {
            self.link.answered(cx.now);
            self.enter(cx, ReceiverInput::SkipHeard);
        }
    }

    fn challenged(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u32) {
        if !self.proved && number == self.link.config.challenge {
            self.proved = true;
            self.say_ready(cx, mem, false);
        }
    }

    /// ZEOF of a file that is closed: our ZRINIT was lost.
    fn eof_again(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u64) {
        if self.closed_at == Some(number) {
            self.link.stats.duplicates += 1;
            self.say_ready(cx, mem, true);
        }
    }

    fn expect(&mut self, what: Expecting) {
        self.expecting = what;
        self.link.reader.expect_data();
    }

    fn begin_attention(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let flags = header.flag(0);
        if flags & TESC8 != 0 {
            return self.fail(cx, mem, Blame::Peer, FailureKind::Unsupported);
        }
        if flags & TESCCTL != 0 {
            self.link.reader.set_dropping(Dropping::Controls);
        }
        self.expect(Expecting::Attention);
    }

    fn begin_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let runs = header.form == Form::Rle;
        if runs && !self.link.config.rle {
            return self.fail(cx, mem, Blame::Peer, FailureKind::Violation);
        }
        if u64::from(header.number()) != self.position {
            // What was in flight when we requested a position is no reason to request again.
            if !self.link.too_soon(cx.now) && self.fault(cx, mem) {
                self.ask_position(cx, mem);
            }
            return;
        }
        self.link.answered(cx.now);
        self.expect(if runs { Expecting::Runs } else { Expecting::Data });
        self.doubt_data();
    }

    fn on_eof(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let number = u64::from(header.number());
        let short = self.file.info.size.is_some_and(|size| number < size);
        if number == self.position && short && self.doubted != Some(number) {
            // Shorter than announced: worth a second request.
            self.doubted = Some(number);
            self.ask_position(cx, mem);
        } else if number == self.position && short && self.is_exact() {
            self.fail(cx, mem, Blame::Peer, FailureKind::LengthDiffers);
        } else if number == self.position {
            self.link.answered(cx.now);
            self.close(cx, mem);
        } else if number > self.position && !self.link.too_soon(cx.now) && self.fault(cx, mem) {
            // Data is missing, and has not been requested.
            self.ask_position(cx, mem);
        }
    }

    fn on_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, end: u8, len: usize) {
        let expecting = self.expecting;
        let of_file = matches!(expecting, Expecting::Data | Expecting::Runs);
        let data = if of_file { len } else { 0 };
        self.link.heard(cx, char::from(end), self.position, len, data);
        if data > 0 {
            self.unchecked = 0;
            (self.faults, self.headers) = (0, 0);
        }
        if !of_file {
            self.link.reader.hunt();
            self.expecting = Expecting::Nothing;
        }
        match expecting {
            Expecting::Nothing => {}
            Expecting::Data => {
                let made = self.sink.commit(mem.file, len);
                self.stored(cx, len, made);
                self.data_done(cx, mem, end);
            }
            Expecting::Runs => {
                self.held = Some(Held { at: 0, len, end });
                self.decode_runs(cx, mem);
            }
            Expecting::File(options) => self.file_info(cx, mem, &options, len),
            Expecting::Attention => {
                self.attention = Attention::new(&self.sink.space(mem.file)[..len]);
                self.link.say(cx, mem.out, &Header::hex(kind::ZACK, 1));
                self.link.expect_answer(cx.now, false);
            }
            Expecting::Command { immediate } => self.command_came(cx, mem, len, immediate),
            Expecting::Message => {
                let text = &self.sink.space(mem.file)[..len];
                self.link.take_message(text);
            }
        }
    }

    /// Whether the file has exactly the announced length. A sender may convert the line ends of
    /// text.
    fn is_exact(&self) -> bool {
        self.file.info.kind == FileKind::Binary
    }

    /// A subpacket of data is in the sink.
    fn data_done(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, end: u8) {
        if self.position > u64::from(u32::MAX) {
            return self.fail(cx, mem, Blame::Peer, FailureKind::Violation);
        }
        if self.is_exact() && self.file.info.size.is_some_and(|size| self.position > size) {
            return self.fail(cx, mem, Blame::Peer, FailureKind::LengthDiffers);
        }
        if matches!(end, end::ZCRCW | end::ZCRCQ) {
            self.link.say(cx, mem.out, &Header::hex(kind::ZACK, self.position as u32));
        }
        if matches!(end, end::ZCRCW | end::ZCRCE) {
            self.expecting = Expecting::Nothing;
        }
    }

    fn finish(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.question = None;
        self.link.say(cx, mem.out, &Header::hex(kind::ZFIN, 0));
        self.enter(cx, ReceiverInput::Done);
        self.link.end(cx, Outcome::Done);
    }

    fn peer_failed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, header: &Header) {
        let words: &[u8] = match header.kind {
            kind::ZFERR => b"the sender cannot read the file",
            kind::ZABORT => b"aborted by the sender",
            _ => b"the sender ended the session in the middle of a file",
        };
        self.peer_ended(words);
        self.link.say(cx, mem.out, &Header::hex(kind::ZFIN, 0));
        self.give_up(cx, Blame::Peer, FailureKind::PeerError);
    }

    /// The sender ended the session with this text. If it did so at our ZCRC, that is the message.
    fn peer_ended(&mut self, words: &[u8]) {
        let at_check = self.state == Receiving::Check || self.unchecked > 0;
        let words = if at_check { NO_CHECK } else { words };
        if !words.is_empty() {
            self.link.take_message(words);
        }
    }

    /// After our ZFIN: `OO`, or the ZFIN again. Anything else belongs to the prompt, and is
    /// not taken, nor what may turn out to be.
    fn linger_input(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        let tail = self.link.reader.take_tail(bytes);
        let rest = &bytes[tail..];
        let begins = |pattern: &[u8]| {
            let len = rest.len().min(pattern.len());
            rest[..len] == pattern[..len]
        };
        let (Ending::Linger { outcome, .. } | Ending::Words(outcome)) = self.link.ending else {
            return tail;
        };
        if rest.is_empty() {
            return tail;
        }
        if begins(b"OO") {
            if rest.len() < 2 {
                return tail;
            }
            if self.link.output.pending() == 0 {
                self.link.ending = Ending::Over(outcome);
            }
            return tail + 2;
        }
        if begins(FINISH) && self.finishes < MOST_FINISH {
            if rest.len() < FINISH.len() {
                return tail;
            }
            self.finishes += 1;
            self.link.stats.duplicates += 1;
            let (count, _) = self.link.reader.next(&mut [], &rest[..FINISH.len()]);
            self.link.say(cx, mem.out, &Header::hex(kind::ZFIN, 0));
            self.link.ending = Ending::Words(outcome);
            self.link.port.moved = cx.now;
            return tail + count;
        }
        if let Ending::Linger { .. } = self.link.ending {
            self.link.ending = Ending::Over(outcome);
        }
        tail
    }

    /// Retransmits the last packet.
    fn repeat(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.link.output.pending() > 0 {
            return;
        }
        match self.state {
            // It may belong to another file already: the only fitting answer is to request it again.
            Receiving::Init | Receiving::Skip | Receiving::Data if self.offered => {
                if self.fault(cx, mem) {
                    self.say_garbled(cx, mem);
                }
            }
            Receiving::Init => self.say_ready(cx, mem, true),
            Receiving::Check => self.say_check(cx, mem, true),
            Receiving::Data => {
                if self.fault(cx, mem) {
                    self.ask_position(cx, mem);
                }
            }
            Receiving::Skip => self.say_skip(cx, mem, true),
            Receiving::Offer | Receiving::Close | Receiving::Finish | Receiving::End => {}
        }
    }

    /// When silence has lasted too long.
    fn overdue(&self) -> Option<Instant> {
        if self.blocked() {
            return None;
        }
        let silent = self.heard + self.link.timing.wait().max(SILENCE);
        let due = match self.state {
            Receiving::Data if self.link.question.is_none() => Some(silent),
            Receiving::Skip if !self.offered => self.skip_again_at(),
            _ => self.link.overdue(),
        };
        // A frame that has started is read to its end: it may be the answer.
        let coming = self.link.reader.is_reading().then(|| self.heard + SILENCE);
        due.map(|due| coming.map_or(due, |coming| coming.max(due)))
    }

    /// When to act on an unanswered ZSKIP. Most senders retransmit their ZFILE unprompted.
    fn skip_again_at(&self) -> Option<Instant> {
        let question = self.link.question?;
        let often = question.copies.saturating_sub(1).min(5);
        let wait = self.link.config.timeout.get() * 2u32.pow(often);
        let line = line_time(self.link.config.line.rate_bps, OFFER);
        Some(question.left?.max(question.through) + line + wait)
    }

    /// The sender has cancelled the current file.
    fn left_by_peer(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, after: AfterClose) {
        self.link.notes.push(QueuedEvent::Cancelled { by_peer: true });
        self.link.reader.hunt();
        self.held = None;
        self.after = after;
        if self.file.open {
            self.begin_close(cx, after);
        } else {
            self.closed(cx, mem, ReceiverInput::LeftUnopened, false);
        }
    }

    /// The local user cancels the current file.
    fn skip_open(&mut self, cx: &mut Cx<'_>) {
        self.link.notes.push(QueuedEvent::Cancelled { by_peer: false });
        self.link.reader.hunt();
        self.expecting = Expecting::Nothing;
        self.held = None;
        self.begin_close(cx, AfterClose::Skip);
    }
}
