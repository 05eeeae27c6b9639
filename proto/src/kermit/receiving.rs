//! The state machine of the receiver (\[KPM\] §10, kermit.md §10–19).

use self::bundled::Unpacking;
use super::arrivals::{Arrivals, Place};
use super::attributes::Attributes;
use super::check::Check;
use super::config::Config;
use super::correction::IS_BUILT;
use super::encode::Shift;
use super::frame::{Found, Parity};
use super::link::{Link, trace_got};
use super::packet::{self, BadPacket, Packet, kind};
use super::params::{self, Agreed, Params, agree};
use super::sink::Sink;
use super::states::{ReceiverInput, ReceiverStep, Receiving};
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{Entry, Extras, FileInfo, FileKind, KermitExtras, Refusal};
use crate::line::line_time;
use crate::session::{self, Ending, PendingRequest, Text, trace_duplicate};
use crate::time::{Duration, Instant};
use crate::trace::TraceEvent;

mod bundled;
mod corrected;
mod decompression;
mod differing;
mod files;
mod receiver;
mod streamed;

pub(super) use receiver::Mem;
pub use receiver::Receiver;

/// Silence in which a failed transfer's last packets drain.
const DRAIN: Duration = Duration::from_millis(400);

/// Limits of the time without a good packet after which missing packets are requested again
/// at every damaged packet.
const STUCK: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(3)];

/// The file that is being received. Its name is in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    name_len: usize,
    /// X instead of F: the text is for the screen.
    screen: bool,
    attributes: Attributes,
    /// The store has it open.
    open: bool,
    /// Refused by the store or the local user; data is ignored.
    unwanted: bool,
    /// The store's reason for the refusal.
    refusal: Option<Refusal>,
    /// The sender cut it short.
    discard: bool,
    /// It is being resumed.
    resumed: bool,
    /// The sender's digest of the whole file.
    digest: Option<[u8; 33]>,
}

/// A pending cancel: which end, and its scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cancel {
    No,
    /// The letter for the next acknowledgement: `X` for the file, `Z` for all.
    Ask(u8),
    /// It was reported.
    Said(u8),
}

/// A packet whose treatment waits for the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiting {
    Nothing,
    /// A is acknowledged when the store has decided.
    AttributeReply,
    /// A D or Z came without complete attributes before it; its data is in `hold`.
    Packet {
        kind: u8,
        len: usize,
    },
    /// The rest of a data field is in `hold[at..len]`.
    Decode {
        at: usize,
        len: usize,
    },
    /// Z is acknowledged when the file is safe.
    Close,
    /// The rest of a packet of a bundle is in `hold`.
    Unpack,
    /// The rest of a packet of compressed data is in `unpacked`.
    Undo,
}

/// What became of the next piece of a bundle.
enum Piece {
    Taken,
    /// The store has to reply first, or the user to hear of a file.
    Wait,
    /// The packet is done.
    Over,
    Failed,
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) link: Link,
    state: Receiving,
    pending: PendingRequest,
    waiting: Waiting,
    arrivals: Arrivals,
    ours: Params,
    file: Current,
    sink: Sink,
    cancel: Cancel,
    /// Decoded bytes that make a write worth its call.
    write_at: usize,
    /// How long to wait for a packet.
    wait: Duration,
    /// When the last packet, or part of one, came.
    heard: Instant,
    /// The last acknowledgement that was not of data: its number and data field. If it is lost, the
    /// same must be retransmitted.
    answered: (u64, Text<40>),
    /// Smoothed silence before a packet.
    interval: Duration,
    /// Without a good packet for this long, missing packets are requested again at every damaged packet.
    stuck: Duration,
    /// The silence before the packet that is coming in.
    silence: Option<Duration>,
    started: bool,
    /// Of bundles.
    unpacking: Unpacking,
    /// Of compressed data that streams.
    streamed: streamed::Streamed,
}

impl Core {
    // As the sender's is.
    #[inline(never)]
    pub(super) fn new(config: Config) -> Self {
        let buffer = config.buffer_len.max(1024);
        let rate = config.line.rate_bps as usize;
        // On a slow line a write each second keeps a partial file worth resuming.
        let write_at = if rate == 0 { buffer / 2 } else { (rate / 10).clamp(512, buffer / 2) };
        let ours = config.params(config.receive_kind);
        let link = Link::new(config);
        Self {
            state: Receiving::Init,
            pending: PendingRequest::Nothing,
            waiting: Waiting::Nothing,
            arrivals: Arrivals::new(link.config.slots()),
            ours,
            file: Current::default(),
            sink: Sink::new(),
            cancel: Cancel::No,
            write_at,
            wait: Duration::from_secs(5).min(link.longest_wait()),
            heard: Instant::ZERO,
            answered: (u64::MAX, Text::new()),
            interval: Duration::ZERO,
            stuck: STUCK[1],
            silence: None,
            started: false,
            unpacking: Unpacking::new(),
            streamed: streamed::Streamed::default(),
            link,
        }
    }

    /// Part of a server: announced in its parameters.
    pub(super) fn serving(config: Config) -> Self {
        let mut core = Self::new(config);
        core.ours.whatami = core.ours.whatami.map(|whatami| whatami | params::WMI_SERVER);
        core
    }

    /// What is known of the current file.
    fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        let config = &self.link.config;
        let default = if self.file.screen { FileKind::Text } else { config.receive_kind };
        let info = self.file.attributes.info(&name[..self.file.name_len], default, config.zone);
        let proved = self.link.agreed.own.is_some_and(|own| own & params::OWN_DIGEST != 0);
        let extras = KermitExtras { screen: self.file.screen, ..info.extras.kermit() };
        let entry = if self.link.agreed.entries { self.file.attributes.entry } else { Entry::File };
        FileInfo { extras: Extras::Kermit(extras), proved, entry, ..info }
    }

    /// Whether input is accepted now, or blocked until the store replies.
    fn takes_input(&self) -> bool {
        match self.link.ending {
            Ending::No => self.waiting == Waiting::Nothing,
            Ending::LastPackets(_) | Ending::Linger { .. } => true,
            Ending::Over(_) => false,
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: ReceiverInput) {
        if !session::enter(cx, &mut self.state, input) {
            self.give_up(cx, Blame::Local, FailureKind::Internal);
        }
    }

    fn streaming(&self) -> bool {
        self.link.agreed.streaming && matches!(self.state, Receiving::Data | Receiving::Attributes)
    }

    /// Whether several packets may be under way.
    fn has_window(&self) -> bool {
        self.state == Receiving::Data || self.bundles()
    }

    fn fail(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        blame: Blame,
        kind: FailureKind,
        say: Option<&str>,
    ) {
        if !self.link.last_words(cx, mem.out, self.arrivals.next, say) {
            return;
        }
        self.give_up(cx, blame, kind);
    }

    /// Ends without a word to the sender.
    fn give_up(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind) {
        self.enter(cx, ReceiverInput::Failed);
        self.waiting = Waiting::Nothing;
        // Decoded data goes to the store first: a partial file may be resumed.
        self.pending = match (self.file.open, self.sink.pending(), kind) {
            (false, _, _) => PendingRequest::Nothing,
            (true, 1.., kind) if !matches!(kind, FailureKind::Store(_)) => PendingRequest::Write,
            (true, _, _) => PendingRequest::close(false),
        };
        self.link.end(cx, Outcome::Failed(Failure { blame, kind }));
    }

    /// Answers a packet that is not data, and remembers how.
    fn answer(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u64, data: &[u8]) {
        self.answered.0 = number;
        self.answered.1.fill(|to| {
            let len = data.len().min(to.len());
            to[..len].copy_from_slice(&data[..len]);
            len
        });
        self.ack(cx, mem, number, data);
    }

    /// Acknowledges a packet. `data` is the data field of the acknowledgement.
    fn ack(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u64, data: &[u8]) {
        let check = self.link.agreed.check;
        self.link.say(cx, mem.out, kind::ACK, number, data, check);
    }

    fn nak(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u64) {
        let check = if self.state == Receiving::Init && !self.link.agreed.forced_check {
            Check::Sum6
        } else {
            self.link.agreed.check
        };
        self.link.say(cx, mem.out, kind::NAK, number, &[], check);
    }

    /// After the end: only a retransmitted B, or its start, is ours.
    fn linger_input(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        frame: &mut [u8],
        bytes: &[u8],
    ) -> usize {
        let mark = self.link.config.mark;
        let courtesy = bytes
            .iter()
            .take_while(|b| {
                !self.link.reader.mid_packet() && matches!(**b & 0x7f, b'\r' | b'\n' | 0)
            })
            .count();
        let rest = &bytes[courtesy..];
        let Some(first) = rest.first() else { return courtesy };
        if !self.link.reader.mid_packet()
            && !self.link.reader.may_be_header(*first)
            && first & 0x7f != mark
        {
            // The prompt, or the next protocol: not ours.
            if let Ending::Linger { outcome, .. } = self.link.ending {
                self.link.ending = Ending::Over(outcome);
            }
            return courtesy;
        }
        let (count, found) = self.link.reader.next(frame, rest);
        let Agreed { check, forced_check, .. } = self.link.agreed;
        match found {
            Some(Found::Packet(body)) => {
                if let Ok(packet) = packet::parse(body, check, forced_check) {
                    self.linger_packet(cx, mem, &packet);
                }
            }
            Some(Found::Corrected { seq, data, .. }) if IS_BUILT => {
                let packet = Packet { kind: kind::DATA, seq, data, weak: false };
                self.linger_packet(cx, mem, &packet);
            }
            _ => {}
        }
        courtesy + count
    }

    /// A packet that is repeated after the end. A sender of bundles that repeats one is not satisfied yet.
    fn linger_packet(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, packet: &Packet<'_>) {
        if packet.kind == kind::BREAK {
            self.link.stats.duplicates += 1;
            let last = self.arrivals.next - 1;
            if self.bundles() {
                let said = self.answered.1;
                self.ack(cx, mem, last, said.as_bytes());
            } else {
                self.ack(cx, mem, last, &[]);
            }
        } else if self.bundles()
            && packet.kind == kind::DATA
            && let Place::Behind(number) = self.arrivals.place(packet.seq)
        {
            self.behind(cx, mem, packet, number);
        } else {
            return;
        }
        if let Ending::Linger { outcome, .. } = self.link.ending
            && self.bundles()
        {
            self.link.linger_once(cx, outcome, self.linger());
        }
    }

    fn on_damaged(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, why: BadPacket, len: usize) {
        self.link.stats.damaged += 1;
        cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
        if self.state == Receiving::Init {
            // A parity sensed from a damaged packet is useless.
            self.link.reader.forget_parity();
        }
        if self.streaming() {
            let say = Some("Transmission error on reliable link");
            return self.fail(cx, mem, Blame::Line, FailureKind::NotReliable, say);
        }
        self.heard = cx.now;
        self.silence = None;
        let next = self.arrivals.next;
        // A retransmission can be lost as well, and so can the NAK. A sender that no
        // longer fills the window, which we cannot see, sends nothing else.
        let stuck = cx.now - self.link.spoke >= self.stuck;
        if self.arrivals.window() == 1 || !self.has_window() || stuck {
            if self.link.may_nak(cx.now) {
                self.ask_again(cx, mem, next);
            }
        } else if let Some(number) = self.arrivals.ask(self.arrivals.high() + 1) {
            self.ask_again(cx, mem, number);
        }
    }

    pub(super) fn on_body(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, body: &[u8]) {
        let agreed = self.link.agreed;
        let packet = match packet::parse(body, agreed.check, agreed.forced_check) {
            Ok(packet) => packet,
            Err(why) => return self.on_damaged(cx, mem, why, body.len()),
        };
        if packet.kind == kind::SEND_INIT
            && let Some(why) = self.link.doubts(packet.data)
        {
            return self.on_damaged(cx, mem, why, body.len());
        }
        if packet.kind == kind::ERROR && !self.link.believes(&packet) {
            return self.on_damaged(cx, mem, BadPacket::WeakError, body.len());
        }
        self.link.has_weak_error = false;
        self.link.stats.packets_in += 1;
        trace_got(cx, &packet, body.len(), self.link.stats.wire_in_bytes);
        match packet.kind {
            // Only a receiver sends these: an echo of our own.
            kind::ACK | kind::NAK => return,
            kind::ERROR => return self.fail(cx, mem, Blame::Peer, FailureKind::PeerError, None),
            _ => {}
        }
        self.placed(cx, mem, &packet);
    }

    /// A packet whose check was right.
    fn placed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, packet: &Packet<'_>) {
        let agreed = self.link.agreed;
        let place = self.arrivals.place(packet.seq);
        self.note_interval(cx.now, matches!(place, Place::Next | Place::Ahead(_)));
        self.link.spoke = cx.now;
        if !(kind::is_data(packet.kind) && agreed.streaming) {
            self.link.turn_begins(cx.now);
        }
        match place {
            Place::Next => self.in_turn(cx, mem, packet),
            Place::Ahead(number) if self.has_window() && !agreed.streaming => {
                self.ahead(cx, mem, packet, number);
            }
            Place::Behind(number) if !(self.streaming() && kind::is_data(packet.kind)) => {
                self.behind(cx, mem, packet, number);
            }
            Place::Ahead(_) | Place::Behind(_) | Place::Outside if self.streaming() => {
                let say = Some("Transmission error on reliable link");
                self.fail(cx, mem, Blame::Line, FailureKind::NotReliable, say);
            }
            Place::Ahead(_) | Place::Behind(_) | Place::Outside => self.link.stats.duplicates += 1,
        }
    }

    /// A good packet came. What counts is the silence before those that are new: copies follow on
    /// our own questions.
    fn note_interval(&mut self, now: Instant, is_new: bool) {
        let gap = self.silence.take().unwrap_or(now - self.link.spoke);
        self.opened_after(gap);
        self.heard = now;
        if is_new {
            self.interval = if self.has_window() {
                (self.interval * 7 + gap) / 8
            } else {
                // Of the few before the data the longest is nearest to a round trip.
                // The shortest one is nearest on a noisy line.
                self.stuck = self.stuck.min((gap * 3 / 2).max(STUCK[0]));
                self.interval.max(gap)
            };
        }
        if self.has_window() {
            // Longer than the usual gap, and than any scheduling pause; the sender has a timer too.
            let packet = line_time(self.link.config.line.rate_bps, 200);
            self.wait = (self.interval * 4 + packet + Duration::from_secs(1)).clamp(
                Duration::from_secs(2),
                self.link.longest_wait().max(Duration::from_secs(2)),
            );
        }
    }

    /// An out-of-order packet: kept, acknowledged, and the missing ones requested.
    fn ahead(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, packet: &Packet<'_>, number: u64) {
        let slot_len = mem.hold.len();
        let at = self.arrivals.index(number) * slot_len;
        if self.bundles() && packet.kind == kind::BREAK {
            return self.ends_at(cx, mem, number);
        }
        if packet.kind != kind::DATA || packet.data.len() > slot_len {
            // The window is one for everything else.
            return;
        }
        if self.arrivals.store(number, packet.data.len()) {
            mem.slots[at..at + packet.data.len()].copy_from_slice(packet.data);
        } else {
            self.link.stats.duplicates += 1;
            trace_duplicate(cx, number);
        }
        if self.bundles() {
            let kept = self.kept();
            self.ack(cx, mem, number, kept.as_bytes());
        } else {
            self.ack(cx, mem, number, &[]);
        }
        while let Some(missing) = self.arrivals.ask(number) {
            self.nak(cx, mem, missing);
        }
    }

    /// A packet that was received before: its acknowledgement was lost.
    fn behind(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, packet: &Packet<'_>, number: u64) {
        self.link.stats.duplicates += 1;
        trace_duplicate(cx, number);
        if packet.kind == kind::SEND_INIT && number == 0 {
            return self.send_params(cx, mem);
        }
        if self.bundles() && packet.kind == kind::DATA {
            let said = self.said_before(number);
            return self.ack(cx, mem, number, said.as_bytes());
        }
        let said = self.answered.1;
        let again = self.answered.0 == number && packet.kind != kind::DATA;
        self.ack(cx, mem, number, if again { said.as_bytes() } else { b"" });
    }

    /// The packet that was awaited.
    fn in_turn(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, packet: &Packet<'_>) {
        self.step(cx, mem, packet.kind, packet.data);
        self.follow_up(cx, mem);
    }

    /// Deals with packets that wait in their slots, as far as the store keeps up.
    fn follow_up(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        while self.waiting == Waiting::Nothing && self.link.ending.is_running() {
            if self.is_at_end() {
                return self.step(cx, mem, kind::BREAK, &[]);
            }
            let Some(len) = self.arrivals.ready() else { return };
            let at = self.arrivals.index(self.arrivals.next) * mem.hold.len();
            let slots = core::mem::take(&mut mem.slots);
            let data = &slots[at..at + len];
            if self.bundles() {
                self.unpack(cx, mem, data);
            } else {
                self.store_data(cx, mem, data, false);
            }
            mem.slots = slots;
        }
    }

    fn step(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, kind: u8, data: &[u8]) {
        let number = self.arrivals.next;
        if self.bundles() && kind == kind::DATA {
            return self.unpack(cx, mem, data);
        }
        match self.step_of(kind) {
            Some(ReceiverStep::Negotiate) => self.negotiate(cx, mem, data),
            Some(ReceiverStep::Name) => self.name(cx, mem, kind, data),
            Some(ReceiverStep::Describe) => self.describe(cx, mem, data),
            Some(ReceiverStep::Offer) => {
                let len = data.len().min(mem.hold.len());
                mem.hold[..len].copy_from_slice(&data[..len]);
                self.waiting = Waiting::Packet { kind, len };
                self.offer(cx);
            }
            Some(ReceiverStep::Store) if kind == kind::PACKED => self.store_packed(cx, mem, data),
            Some(ReceiverStep::Store) => self.store_data(cx, mem, data, true),
            Some(ReceiverStep::Close) => self.close(cx, mem, data),
            Some(ReceiverStep::Finish) => {
                if self.bundles() {
                    let also = self.also();
                    self.answer(cx, mem, number, also.as_bytes());
                } else {
                    self.answer(cx, mem, number, &[]);
                }
                self.arrivals.advance();
                self.enter(cx, ReceiverInput::Done);
                self.link.end(cx, Outcome::Done);
            }
            Some(ReceiverStep::Refuse) => {
                let say = Some("Unimplemented server function");
                self.fail(cx, mem, Blame::Peer, FailureKind::NotAServer, say);
            }
            None => {
                let say = Some("Unexpected packet type");
                self.fail(cx, mem, Blame::Peer, FailureKind::Violation, say);
            }
        }
    }

    fn negotiate(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, data: &[u8]) {
        self.link.sense_parity();
        self.link.theirs = Params::parse(data);
        let theirs = self.link.theirs;
        let seven_bit = self.link.seven_bit();
        self.ours = params::answer(self.ours, &theirs, seven_bit);
        let forced = self.link.config.locking_shift == Shift::Forced;
        let agreed = agree(&self.ours, &theirs, false, forced);
        // The acknowledgement is still on type 1, and on the parity that is known so far.
        self.link.agreed.forced_check = agreed.forced_check;
        if agreed.qbin.is_some() && !seven_bit {
            self.link.parity = Parity::Space;
        }
        self.send_params(cx, mem);
        self.link.agreed = agreed;
        self.link.settle();
        self.link.reader.settings.correction = IS_BUILT && self.link.agreed.correction;
        self.arrivals.agree(self.link.agreed.window);
        self.arrivals.advance();
        self.link.describe_agreement(cx);
        self.enter(cx, ReceiverInput::Agreed);
    }

    fn send_params(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let mut text = [0; 40];
        let len = self.ours.emit(&mut text, usize::from(self.link.config.init_length));
        let check = self.link.check_for(kind::SEND_INIT);
        self.link.say(cx, mem.out, kind::ACK, 0, &text[..len], check);
    }

    fn abort(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let say = Some("Transfer cancelled by the receiver");
        self.fail(cx, mem, Blame::Local, FailureKind::Aborted, say);
    }

    /// Longest time with only noise, echoes and fragments. Covers the longest packet.
    fn patience(&self) -> Duration {
        let config = &self.link.config;
        let packet = line_time(config.line.rate_bps, usize::from(config.receive_length));
        self.link.patience() + packet
    }

    /// When to ask for a packet that does not come.
    fn overdue(&self) -> Option<Instant> {
        if self.waiting != Waiting::Nothing || !self.link.ending.is_running() {
            return None;
        }
        let dead = self.link.spoke + self.patience();
        // No requests while streaming, but a dead line must not block us indefinitely.
        Some(if self.streaming() { dead } else { dead.min(self.heard + self.wait) })
    }
}
