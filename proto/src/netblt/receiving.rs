//! The state machine of the receiver (RFC 998 "receiving NETBLT"): opening, timers, ending. The
//! buffers are in `receiving/data`, the control messages in `receiving/control`, the files in
//! `receiving/files`.

mod control;
mod data;
mod files;
mod receiver;
mod reports;

use crate::session::{self, Ending, PendingRequest, Timer};
use receiver::Mem;
pub use receiver::{Measured, Receiver};
use reports::Reports;

use super::config::{Config, Role};
use super::info::{ClientString, StringWriter};
use super::link::{Link, ShortPacket};
use super::messages::Messages;
use super::packet::{Body, OPEN_HEADER, Packet, Ports, Terms, kind, mark_of, put_terms_before};
use super::ranges::HeldRanges;
use super::rate::Controller;
use super::sink::Sink;
use super::states::{ReceiverInput, Receiving as Stage};
use super::window::Shape;
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{FileInfo, FileKind, Left};
use crate::time::{Duration, Instant};
use crate::trace::{Load, TraceEvent};

/// A CONTROL packet that waited this long for its port left later than it says.
const LATE: Duration = Duration::from_millis(5);

/// The current file as the sender describes it; its name is in the memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct File {
    name_len: usize,
    size: Option<u64>,
    modified: Option<i64>,
    mode: Option<u32>,
    kind: FileKind,
    left: Option<Left>,
    /// The sender allows resuming.
    resume: bool,
    /// A digest follows the file.
    digest: bool,
    /// The sender accepts RATE messages.
    paced: bool,
}

/// The content of OPEN or RESPONSE, kept until the store has answered.
#[derive(Clone, Copy, Debug, Default)]
struct Offered {
    id: u32,
    ports: Ports,
    buffer: u32,
    packet: u16,
    burst: (u16, u16),
    outstanding: u16,
    death_s: u16,
    checksum: bool,
}

/// After QUIT, what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AfterQuit {
    /// Another connection for the same file.
    SameFile,
    /// The next file.
    NextFile,
    /// The end.
    End,
}

/// The state of a receiver.
#[derive(Debug)]
struct Core {
    link: Link,
    sink: Sink,
    pending: PendingRequest,
    stage: Stage,
    file: File,
    offer: Offered,
    /// A file is open in the store.
    open: bool,
    /// What the store has of it.
    have: HeldRanges,
    /// The sender knows it.
    told: bool,
    /// The stored part was useless: from the start.
    restarted: bool,
    /// Connections for the same file.
    attempts: u8,
    stop: bool,
    ours: bool,
    then: AfterQuit,
    /// Ports of a connection that the sender has ended with QUIT.
    past: Ports,
    path: Controller,
    /// The sender is one of ours: it accepts RATE messages, and marks its packets.
    paced: bool,
    reports: Reports,
    messages: Messages,
    shape: Shape,
    /// Number of buffer 0 of this connection on the wire.
    base: u32,
    /// All buffers below this index are complete.
    low: u64,
    /// Complete ones above it.
    ahead_whole: u64,
    /// Those below this one were granted, and those below that one know it.
    granted: u64,
    known: u64,
    /// From this buffer on an OK may be missing for which there was no number.
    owed: Option<u64>,
    /// Packets below this place have come, or are overdue.
    passed: u64,
    /// Average time from packet to packet, in nanoseconds, and when the last came.
    spacing: u64,
    /// The buffer of the last packet that was asked for and came, and when.
    repaired: Option<(u64, Instant)>,
    /// How much that time varies, in nanoseconds.
    swing: u64,
    arrived: Option<Instant>,
    /// How late packets come that were overtaken, in nanoseconds.
    late: u64,
    /// A packet that came twice teaches nothing more until then.
    patient: Option<Instant>,
    /// Numbers of the messages that are the next to be retransmitted for safety's sake, copy by copy.
    again_from: [u16; control::COPIES],
    /// Burst values that are offered, and the message that brings them.
    burst: (u16, u16),
    bringing: Option<u16>,
    /// When CONTROL was sent last.
    control_left: Option<Instant>,
    /// When its acknowledgement is overdue.
    control_due: Option<Instant>,
    backoff: u32,
    /// How often the control timer is doubled, as it runs out too soon.
    strain: u32,
    /// When the control timer expired last.
    timed_out: Option<Instant>,
    /// The packet that is lent is a CONTROL, and was made at this time.
    lent_control: bool,
    lent_at: Instant,
}

impl Core {
    fn new(config: Config) -> Self {
        let first = config.first_burst();
        Self {
            path: Controller::new(first, config.ceiling_millipps()),
            paced: false,
            reports: Reports::new(),
            shape: config.shape(),
            stage: if config.role == Role::Active { Stage::Opening } else { Stage::Waiting },
            base: config.first_buffer,
            link: Link::new(config),
            sink: Sink::default(),
            pending: PendingRequest::Nothing,
            file: File::default(),
            offer: Offered::default(),
            open: false,
            have: HeldRanges::default(),
            told: false,
            restarted: false,
            attempts: 0,
            stop: false,
            ours: false,
            then: AfterQuit::NextFile,
            past: Ports::default(),
            messages: Messages::default(),
            low: 0,
            ahead_whole: 0,
            granted: 0,
            known: 0,
            owed: None,
            passed: 0,
            spacing: 0,
            repaired: None,
            swing: 0,
            arrived: None,
            late: 0,
            patient: None,
            again_from: [1; control::COPIES],
            burst: first,
            bringing: None,
            control_left: None,
            control_due: None,
            backoff: 0,
            strain: 0,
            timed_out: None,
            lent_control: false,
            lent_at: Instant::ZERO,
        }
    }

    fn measured(&self) -> Measured {
        Measured {
            burst: self.burst,
            round_trip: self.path.round_trip(),
            control_timer: self.control_timer(),
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: ReceiverInput) {
        if !session::enter(cx, &mut self.stage, input) {
            self.link.fail(cx, Blame::Local, FailureKind::Internal, b"internal error");
        }
    }

    // ---- input ----

    /// Takes a datagram; false if the store has to do something first.
    fn take(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> bool {
        if self.sink.is_pending() && self.must_wait(mem, bytes) {
            return false;
        }
        let Some(packet) = self.link.read(cx, bytes) else { return true };
        let ports = packet.ports;
        if let Body::Open(terms) = packet.body {
            self.opened(cx, mem, ports, &terms);
            return true;
        }
        let of_before = ports.local == self.past.foreign && ports.foreign == self.past.local;
        if !self.link.is_ours(ports) {
            if of_before && matches!(packet.body, Body::Quit(_)) {
                // Our QUITACK was lost.
                self.link.reply(ShortPacket::QuitAck, ports, b"");
            }
            return true;
        }
        if self.link.has_failed() {
            if matches!(packet.body, Body::Quit(_)) {
                self.link.quit_came(cx.now, ports);
            }
            return true;
        }
        self.link.lives(cx.now, &packet.body);
        match packet.body {
            Body::Response(terms) => self.answered(cx, mem, &terms),
            Body::Refused(why) => self.refused(cx, why),
            Body::Data(data) => {
                self.acknowledged(cx, mem, data.high);
                self.data(cx, mem, &data, mark_of(bytes));
            }
            Body::NullAck { high, .. } => self.acknowledged(cx, mem, high),
            Body::Quit(why) => {
                self.link.quit_came(cx.now, ports);
                self.past = self.link.ports;
                self.quit(cx, why);
            }
            Body::QuitAck if self.stage == Stage::Quitting => self.quit_answered(cx),
            Body::Abort(why) => {
                self.link.tell(why);
                self.link.fail(cx, Blame::Peer, FailureKind::PeerError, b"");
            }
            _ => {}
        }
        true
    }

    // ---- opening ----

    /// What this end puts into OPEN, and answers at most.
    fn terms(&self) -> Terms<'static> {
        let config = &self.link.config;
        let (burst_size, burst_interval_ms) = config.first_burst();
        Terms {
            id: self.link.id,
            buffer_size: config.buffer(),
            transfer_size: 0,
            packet_size: config.packet_size(),
            burst_size,
            burst_interval_ms,
            death_s: config.death_s(),
            write: config.role == Role::Passive,
            checksum: config.checksum,
            outstanding: config.outstanding.max(1),
            client: b"",
        }
    }

    /// Opens the next connection (active).
    fn open_next(&mut self, cx: &mut Cx<'_>) {
        self.link.next_connection();
        let every = self.repeat_after();
        self.link.repeat(cx.now, ShortPacket::Open, every);
        self.enter(cx, ReceiverInput::Open);
    }

    /// A sender opens for WRITE.
    fn opened(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, ports: Ports, terms: &Terms<'_>) {
        if self.link.config.role == Role::Active {
            return;
        }
        let turned = Ports { local: ports.foreign, foreign: ports.local };
        if self.link.is_open() && turned == self.link.ports && self.offer.ports == turned {
            match (self.stage, terms.id == self.offer.id) {
                // ABORT, as RFC 998 has it, would let any host abort another host's session, as would REFUSED
                // before the session is known to the peer.
                (_, false) if self.known > 0 => {
                    self.link.reply(ShortPacket::Refused, ports, b"these ports are in use");
                }
                (Stage::Moving | Stage::Checking | Stage::Leaving, true) => {
                    // Peer is alive; retransmit RESPONSE.
                    self.link.heard = Some(cx.now);
                    self.link.say(ShortPacket::Response);
                }
                _ => {}
            }
            return;
        }
        let said = ClientString::parse(terms.client);
        if !terms.write {
            return self.link.reply(ShortPacket::Refused, ports, b"expected WRITE, got READ");
        }
        if self.offer.ports == turned && self.offer.id == terms.id && !self.link.is_open() {
            // Our REFUSED was lost.
            return self.link.say(ShortPacket::Refused);
        }
        if self.stage == Stage::Quitting {
            // It continues: so it has our QUIT.
            self.quit_answered(cx);
        }
        match (self.stage, self.link.ending) {
            (Stage::Waiting | Stage::Leaving, Ending::No) => {}
            // The store has to close the file first; the sender will retransmit.
            (Stage::Checking, Ending::No) => return,
            (_, Ending::Linger { .. }) if said.end => {
                return self.link.reply(ShortPacket::Refused, ports, b"wst1 end");
            }
            _ => return self.link.reply(ShortPacket::Refused, ports, b"busy with another file"),
        }
        if self.link.is_repeated(ports.local, terms.id) {
            return;
        }
        if self.stage == Stage::Leaving {
            // It continues: so it has our last OK.
            self.leave(cx);
            if !self.link.is_running() {
                // Its next file is none of this session's.
                return;
            }
        }
        self.offer = Offered { id: terms.id, ports: turned, ..Offered::default() };
        self.link.progress = cx.now;
        self.link.heard = Some(cx.now);
        self.ours = said.ours;
        if said.end {
            self.link.reply(ShortPacket::Refused, ports, b"wst1 end");
            return self.end_of_batch(cx);
        }
        let sizes = terms.buffer_size != 0 && terms.packet_size != 0;
        if !sizes || terms.burst_size == 0 || terms.outstanding == 0 {
            return self.link.reply(ShortPacket::Refused, ports, b"expected sizes above zero");
        }
        self.link.ports = turned;
        self.link.id = terms.id;
        self.describe(cx, mem, terms, &said);
    }

    /// A sender answers our OPEN (active).
    fn answered(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, terms: &Terms<'_>) {
        if terms.id != self.link.id || self.stage != Stage::Opening {
            return;
        }
        let ours = self.terms();
        let more = terms.buffer_size > ours.buffer_size || terms.packet_size > ours.packet_size;
        let none = terms.buffer_size == 0 || terms.packet_size == 0 || terms.burst_size == 0;
        if more || none || terms.outstanding == 0 {
            let say = b"expected sizes above zero and no larger than those of OPEN";
            return self.link.fail(cx, Blame::Peer, FailureKind::Violation, say);
        }
        self.link.timers.stop(Timer::Repeat);
        let said = ClientString::parse(terms.client);
        self.ours = said.ours;
        self.describe(cx, mem, terms, &said);
    }

    // ---- output ----

    /// Builds the packet that leaves next, if one does.
    fn fill(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.link.lent > 0 || self.link.is_over() {
            return;
        }
        self.lent_control = false;
        self.lent_at = cx.now;
        if let Some(short) = self.link.next_short() {
            self.put_short(mem, short);
        } else if self.link.is_running() {
            self.fill_control(cx, mem);
        }
    }

    fn put_short(&mut self, mem: &mut Mem<'_>, short: ShortPacket) {
        self.link.unsay(short);
        let (ports, reply) = (self.link.ports, self.link.reply_ports);
        let link = &self.link;
        let packet = match short {
            ShortPacket::Open => return self.put_open(mem, kind::OPEN),
            ShortPacket::Response => return self.put_open(mem, kind::RESPONSE),
            ShortPacket::Abort => Packet { ports, body: Body::Abort(link.reason.as_bytes()) },
            ShortPacket::Quit => Packet { ports, body: Body::Quit(link.reason.as_bytes()) },
            ShortPacket::Refused => {
                Packet { ports: reply, body: Body::Refused(link.refusal.as_bytes()) }
            }
            ShortPacket::QuitAck => Packet { ports: reply, body: Body::QuitAck },
            ShortPacket::Done => Packet { ports: reply, body: Body::Done },
            ShortPacket::NullAck | ShortPacket::KeepAlive => {
                Packet { ports, body: Body::KeepAlive }
            }
        };
        let (len, letter) = (packet.put(mem.out).unwrap_or(0), packet.letter());
        self.link.lent = len;
        self.link.lent_letter = letter;
    }

    fn put_open(&mut self, mem: &mut Mem<'_>, kind: u8) {
        let mut terms = self.terms();
        if kind == kind::RESPONSE {
            let agreed = self.link.agreed;
            terms.buffer_size = agreed.buffer;
            terms.packet_size = agreed.packet;
            terms.outstanding = agreed.outstanding;
            terms.checksum = agreed.checksum;
            (terms.burst_size, terms.burst_interval_ms) = agreed.burst;
        }
        let room = mem.out.len() - 4;
        let mut len = 0;
        if self.link.config.files {
            let mut writing = StringWriter::new(&mut mem.out[OPEN_HEADER..room]);
            if self.link.config.digest {
                writing.word(format_args!("x"));
            }
            if self.link.config.is_automatic() {
                writing.word(format_args!("p"));
            }
            if kind == kind::RESPONSE || self.told {
                writing.have(&self.have);
            }
            len = writing.finish();
        }
        self.link.lent = put_terms_before(mem.out, kind, self.link.ports, &terms, len).unwrap_or(0);
        self.link.lent_letter = if kind == kind::OPEN { 'O' } else { 'R' };
    }

    /// The port took the packet that was lent.
    fn left(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.lent_control && cx.now.since(self.lent_at) >= LATE {
            self.messages.left_late(mem.messages, self.lent_at, cx.now);
            self.control_left_late(cx, mem);
        }
        let number = u64::from(self.messages.next_sequence());
        self.link.left(cx, number, Load::default(), false);
    }

    // ---- timers ----

    fn timeout(&mut self, cx: &mut Cx<'_>, waiting_for: &'static str, number: u64) {
        self.link.stats.timeouts += 1;
        if cx.trace.enabled() {
            cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for, number });
        }
    }

    /// OPEN or QUIT was not answered.
    fn again(&mut self, cx: &mut Cx<'_>) {
        let short =
            if self.stage == Stage::Quitting { ShortPacket::Quit } else { ShortPacket::Open };
        self.link.tries = self.link.tries.saturating_sub(1);
        self.timeout(cx, if short == ShortPacket::Quit { "quitack" } else { "response" }, 0);
        if self.link.tries > 0 {
            self.link.say(short);
            self.link.stats.retransmissions += 1;
            self.link.repeat_again(cx.now);
            return;
        }
        self.link.timers.stop(Timer::Repeat);
        if self.stage == Stage::Quitting {
            self.quit_answered(cx);
        } else {
            self.died(cx);
        }
    }

    /// The peer has gone silent.
    fn died(&mut self, cx: &mut Cx<'_>) {
        self.timeout(cx, "death", u64::from(self.link.id));
        let last = self.file.left.is_none_or(|left| left.files <= 1);
        let idle = matches!(self.stage, Stage::Waiting | Stage::Opening | Stage::Leaving);
        if idle && !self.open && self.link.stats.files_done > 0 && last {
            // Only its farewell is missing.
            self.link.end(cx, Outcome::Done);
        } else {
            self.link.fail(cx, Blame::Line, FailureKind::Silence, b"silence");
        }
    }

    fn repeat_after(&self) -> Duration {
        let timeout = self.link.open_timeout();
        match self.path.round_trip() {
            Some(_) => timeout.min(self.control_timer() * 3 + timeout / 10),
            // One that is lost must not cost more than the transfer.
            None if self.link.config.metered || self.link.config.is_automatic() => timeout / 4,
            None => timeout,
        }
    }

    // ---- the user ----

    /// The description of the file for the store.
    pub(super) fn offered<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        let file = &self.file;
        let resume = file.resume && file.digest && !self.restarted;
        FileInfo {
            name: &name[..file.name_len],
            size: file.size,
            modified: file.modified,
            mode: file.mode,
            kind: file.kind,
            resume,
            // The digest of the whole file verifies it.
            compared: resume,
            left: file.left,
            ..FileInfo::default()
        }
    }

    /// Whether `transmit` would lend something, as far as can be told without composing it.
    fn may_send(&self) -> bool {
        let more = self.messages.unsent > 0 || self.reports.wanted;
        self.link.next_short().is_some() || (more && !self.link.has_failed())
    }

    /// The outcome is fixed: closes the file, and sends the last packet.
    fn finish_words(&mut self, cx: &Cx<'_>, outcome: Outcome) {
        if !self.pending.is_idle() {
            return;
        }
        let stored = !matches!(outcome, Outcome::Failed(Failure { blame: Blame::Store, .. }));
        if self.open && stored && self.sink.is_pending() {
            // The stored part can be resumed.
            self.pending = PendingRequest::Write;
        } else if core::mem::take(&mut self.open) {
            self.pending = PendingRequest::close(false);
        } else if self.link.next_short().is_none() && self.link.lent == 0 {
            match outcome {
                // What the peer may have missed is retransmitted. Other programs send no more.
                Outcome::Done if self.link.config.role == Role::Passive && self.ours => {
                    self.link.linger(cx.now, outcome, self.repeat_after() * 3);
                }
                _ => self.link.after_words(cx.now, outcome),
            }
        }
    }
}
