//! The state machine of the receiver (xyzmodem.md §5, §6). Files and the store are in `files`.

use super::config::{Attention, Config};
use super::frame::{BadFrame, Found};
use super::info::FileOptions;
use super::link::Link;
use super::packet::{Form, Header, end, kind};
use super::sink::Sink;
use super::states::{ReceiverInput, Receiving};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, FileKind};
use crate::line::line_time;
use crate::session::{self, Ending, PendingRequest};
use crate::time::{Duration, Instant};

mod command;
mod empty;
mod ending;
mod files;
mod headers;
mod packed;
mod receiver;

pub use receiver::Receiver;

/// The shortest silence within data that counts as a loss.
const SILENCE: Duration = Duration::from_secs(3);
/// The longest pause that a peer may ask for with its attention string.
const LONGEST_PAUSE: u32 = 5;
/// The length of a ZFILE and its information.
const OFFER: usize = 150;

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
    /// Run-coded or compressed data.
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
    /// Compressed data.
    Packed,
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

/// Run-coded or compressed data that waits for room.
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
    pending: PendingRequest,
    sink: Sink,
    file: Current,
    expecting: Expecting,
    held: Option<Held>,
    undoing: packed::Undoing,
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
            pending: PendingRequest::Nothing,
            sink: Sink::default(),
            file: Current::default(),
            expecting: Expecting::Nothing,
            held: None,
            undoing: packed::Undoing::default(),
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
            Ending::LastPackets(_) | Ending::Linger { .. } => true,
            Ending::Over(_) => false,
        }
    }

    fn blocked(&self) -> bool {
        matches!(self.state, Receiving::Offer | Receiving::Close)
            || matches!(self.pending, PendingRequest::Digest { .. } | PendingRequest::Run { .. })
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
        self.pending = match (self.file.open, self.sink.pending()) {
            (false, _) => PendingRequest::Nothing,
            (true, 1..) if !store_failed => PendingRequest::Write,
            (true, _) => PendingRequest::close(false),
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
        if matches!(expecting, Expecting::Data | Expecting::Runs | Expecting::Packed) {
            return self.ask_position(cx, mem);
        }
        self.say_garbled(cx, mem);
    }

    fn expect(&mut self, what: Expecting) {
        self.expecting = what;
        self.link.reader.expect_data();
    }

    fn on_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, end: u8, len: usize) {
        let expecting = self.expecting;
        let of_file = matches!(expecting, Expecting::Data | Expecting::Runs | Expecting::Packed);
        let data = if of_file { len } else { 0 };
        self.link.heard(cx, char::from(end), self.position, len, data);
        if data > 0 {
            self.unchecked = 0;
            self.faults = 0;
            self.headers = 0;
        }
        if !of_file {
            self.link.reader.hunt();
            self.expecting = Expecting::Nothing;
        }
        match expecting {
            Expecting::Nothing => {}
            Expecting::Data => {
                let made = self.sink.commit(mem.file, len);
                self.stored(cx, len, len, made);
                self.data_done(cx, mem, end);
            }
            Expecting::Runs => {
                self.held = Some(Held { at: 0, len, end });
                self.decode_runs(cx, mem);
            }
            Expecting::Packed => {
                self.held = Some(Held { at: 0, len, end });
                self.undo_on(cx, mem);
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
        // A stream whose header was damaged is noise up to the end of the file.
        let last = if self.link.missed_header() { self.link.spoke } else { self.heard };
        let silent = last + self.link.timing.wait().max(SILENCE);
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
}
