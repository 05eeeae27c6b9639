//! The state machine of the sender (RFC 998 "sending NETBLT"): opening, acknowledging, ending. What
//! is sent of a connection's data is in `sending/data`, the files are in `sending/files`.

mod data;
mod files;
mod sender;
mod tail;

use crate::session::{self, Ending, PendingRequest, QueuedEvent, Text, Timer};
use sender::Mem;
pub use sender::Sender;
use tail::Tail;

use super::config::{Config, Role};
use super::info::ClientString;
use super::link::{Link, ShortPacket};
use super::packet::{Body, Packet, Ports, Terms, kind, put_terms_before};
use super::rate::pacing::Pacer;
use super::sequence::ReceivedNumbers;
use super::source::Source;
use super::states::{SenderInput, Sending as Stage};
use super::window::{GrantedBeyond, SendRing, Shape};
use crate::engine::{Blame, Cx, FailureKind, Outcome};
use crate::file::{FileInfo, FileKind, Left};
use crate::time::{Duration, Instant};
use crate::trace::{Load, TraceEvent};

/// A receiver that has said of nothing yet that it is whole hears from us this often.
const UNHEARD: Duration = Duration::from_millis(500);
/// An OPEN or QUIT on a known path is retransmitted this long after its answer is due.
const REPEAT: Duration = Duration::from_millis(10);

/// The current file; its name is in the memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct File {
    pub(super) name_len: usize,
    pub(super) size: Option<u64>,
    pub(super) modified: Option<i64>,
    pub(super) mode: Option<u32>,
    pub(super) kind: FileKind,
    pub(super) resume: bool,
    pub(super) left: Option<Left>,
}

impl File {
    pub(super) fn info<'a>(&self, name: &'a [u8]) -> FileInfo<'a> {
        FileInfo {
            name: &name[..self.name_len],
            size: self.size,
            modified: self.modified,
            mode: self.mode,
            kind: self.kind,
            resume: self.resume,
            left: self.left,
            ..FileInfo::default()
        }
    }
}

/// A connection that is over and whose last acknowledgement may have been lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClosedConnection {
    pub(super) ports: Ports,
    high: u16,
    /// It is to be repeated.
    say: bool,
    /// DONE has come: nothing was lost.
    done: bool,
}

/// The whole state of a sender.
#[derive(Debug)]
struct Core {
    link: Link,
    source: Source,
    pending: PendingRequest,
    stage: Stage,
    file: File,
    /// A file is open in the store.
    open: bool,
    /// No further file is to be sent.
    stop: bool,
    /// The peer understands our strings.
    ours: bool,
    past: ClosedConnection,
    seen: ReceivedNumbers,
    shape: Shape,
    /// Number of the first buffer on the wire, once known.
    base: Option<u32>,
    /// All buffers below this index are complete.
    low: u64,
    /// No packet of a buffer below this index is to be sent.
    scan: u64,
    /// Grants that wait for room in the ring.
    beyond: GrantedBeyond,
    /// Packets below this place have been sent once.
    fresh: u64,
    /// What goes next is here in the stream: what is before it need not be kept.
    skipped: u64,
    /// Burst values in use.
    burst: (u16, u16),
    /// Sequence number of the message they came with.
    offer: u16,
    burst_left: u16,
    /// When the next burst may start.
    burst_at: Instant,
    /// The receiver is one of ours, and says the rate: packets leave by this clock.
    paced: bool,
    pacer: Pacer,
    /// Number of the last RATE message.
    report: u16,
    /// The receiver's control timer.
    control_timer: Duration,
    /// A CONTROL packet has to be acknowledged.
    owes: bool,
    /// The packet that is lent: index, packet, bytes.
    lent: Option<(u64, u32, usize)>,
    /// The packet that goes next, its data and the store being willing.
    ready: bool,
    /// How often nothing was heard for a while before anything was whole.
    unheard: u32,
    tail: Tail,
}

impl Core {
    fn new(config: Config) -> Self {
        Self {
            burst: config.first_burst(),
            shape: config.shape(),
            link: Link::new(config),
            source: Source::default(),
            pending: PendingRequest::Next,
            stage: Stage::Next,
            file: File::default(),
            open: false,
            stop: false,
            ours: false,
            past: ClosedConnection::default(),
            seen: ReceivedNumbers::default(),
            base: None,
            low: 0,
            scan: 0,
            beyond: GrantedBeyond::default(),
            fresh: 0,
            skipped: 0,
            offer: 0,
            burst_left: 0,
            burst_at: Instant::ZERO,
            paced: false,
            pacer: Pacer::default(),
            report: 0,
            control_timer: Duration::from_secs(1),
            owes: false,
            lent: None,
            ready: false,
            unheard: 0,
            tail: Tail::default(),
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: SenderInput) {
        if !session::enter(cx, &mut self.stage, input) {
            self.link.fail(cx, Blame::Local, FailureKind::Internal, b"internal error");
        }
    }

    // ---- input ----

    /// Takes a datagram.
    fn take(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) {
        let Some(packet) = self.link.read(cx, bytes) else { return };
        let ports = packet.ports;
        if let Body::Open(terms) = packet.body {
            return self.opened(cx, mem, ports, &terms);
        }
        if !self.link.is_ours(ports) {
            return self.take_past(cx.now, packet);
        }
        if self.link.has_failed() {
            if matches!(packet.body, Body::Quit(_)) {
                self.link.quit_came(cx.now, ports);
            }
            return;
        }
        self.link.lives(cx.now, &packet.body);
        match packet.body {
            Body::Response(terms) => self.answered(cx, mem, &terms),
            Body::Refused(why) => self.refused(cx, why),
            // It has begun: its RESPONSE was lost.
            Body::Control(_) if self.stage == Stage::Opening && self.link.config.is_automatic() => {
                self.link.say(ShortPacket::Open);
            }
            Body::Control(messages) => self.control(cx, mem, messages),
            Body::Quit(why) => {
                self.link.quit_came(cx.now, ports);
                self.quit(cx, why);
            }
            Body::QuitAck if self.stage == Stage::Quitting => self.over(cx),
            Body::Abort(why) => {
                self.link.tell(why);
                self.link.fail(cx, Blame::Peer, FailureKind::PeerError, b"");
            }
            // DONE only hastens what dallying would end.
            Body::Done => {
                if let Ending::Linger { outcome, .. } = self.link.ending {
                    self.link.ending = Ending::Over(outcome);
                }
            }
            _ => {}
        }
    }

    /// What belongs to the connection before.
    fn take_past(&mut self, now: Instant, packet: Packet<'_>) {
        let ports = packet.ports;
        if ports.local != self.past.ports.foreign || ports.foreign != self.past.ports.local {
            return;
        }
        // The peer is alive, even if it has missed our packets.
        self.link.heard = self.link.heard.map(|_| now);
        match packet.body {
            Body::Control(_) => self.past.say = true,
            Body::Quit(_) => self.link.reply(ShortPacket::QuitAck, ports, b""),
            Body::Done => {
                self.past.done = true;
                self.done();
            }
            _ => {}
        }
    }

    // ---- opening ----

    /// What this end puts into OPEN, and answers at most.
    fn terms(&self) -> Terms<'static> {
        let config = &self.link.config;
        let (burst_size, burst_interval_ms) = config.first_burst();
        Terms {
            id: self.link.id,
            buffer_size: config.buffer(),
            transfer_size: self.file.size.map_or(0, |size| u32::try_from(size).unwrap_or(u32::MAX)),
            packet_size: config.packet_size(),
            burst_size,
            burst_interval_ms,
            death_s: config.death_s(),
            write: config.role == Role::Active,
            checksum: config.checksum,
            outstanding: config.outstanding.max(1),
            client: b"",
        }
    }

    /// A receiver opens for READ.
    fn opened(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, ports: Ports, terms: &Terms<'_>) {
        if self.link.config.role == Role::Active {
            return;
        }
        let same = ports.local == self.link.ports.foreign && self.link.is_open();
        if same && self.stage == Stage::Moving {
            // Our RESPONSE was lost, or a peer opens a second connection on the same ports.
            if terms.id == self.link.id {
                // Peer is alive; retransmit RESPONSE.
                self.link.heard = Some(cx.now);
                return self.link.say(ShortPacket::Response);
            }
            // To ABORT, as RFC 998 has it, would let anybody end what others have begun; and so would
            // REFUSED before they know that it has.
            if self.base.is_some() {
                self.link.reply(ShortPacket::Refused, ports, b"these ports are in use");
            }
            return;
        }
        let said = ClientString::parse(terms.client);
        if terms.write {
            return self.link.reply(ShortPacket::Refused, ports, b"expected READ, got WRITE");
        }
        match (self.stage, self.link.ending) {
            (Stage::Ending, _) => {
                let why: &[u8] = if said.ours { b"wst1 end" } else { b"no more files" };
                self.link.reply(ShortPacket::Refused, ports, why);
                return;
            }
            (Stage::Waiting, Ending::No) => {}
            // The store has not answered yet, or a connection is in progress: the peer asks again.
            _ => return,
        }
        let lowest = terms.buffer_size.min(u32::from(terms.packet_size)).min(1);
        if lowest == 0 || terms.burst_size == 0 || terms.outstanding == 0 {
            return self.link.reply(ShortPacket::Refused, ports, b"expected sizes above zero");
        }
        if self.link.is_repeated(ports.local, terms.id) {
            return;
        }
        self.link.ports = Ports { local: ports.foreign, foreign: ports.local };
        self.link.id = terms.id;
        self.link.opened = self.link.opened.wrapping_add(1);
        self.link.heard = Some(cx.now);
        self.ours = said.ours;
        if !self.begin(cx, mem, terms, &said) {
            self.link.ports = Ports::default();
            return self.link.reply(ShortPacket::Refused, ports, b"cannot work with these sizes");
        }
        self.link.say(ShortPacket::Response);
    }

    /// The receiver answers our OPEN.
    fn answered(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, terms: &Terms<'_>) {
        if terms.id != self.link.id || self.stage != Stage::Opening {
            return;
        }
        let said = ClientString::parse(terms.client);
        self.ours = said.ours;
        let ours = self.terms();
        let more = terms.buffer_size > ours.buffer_size || terms.packet_size > ours.packet_size;
        if more || !self.begin(cx, mem, terms, &said) {
            let say = b"expected sizes no larger than those of OPEN";
            self.link.fail(cx, Blame::Peer, FailureKind::Violation, say);
        }
    }

    /// A connection begins with the more restrictive of these terms and ours. False if it cannot.
    fn begin(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        theirs: &Terms<'_>,
        said: &ClientString<'_>,
    ) -> bool {
        let ours = self.terms();
        let agreed = &mut self.link.agreed;
        agreed.packet = theirs.packet_size.min(ours.packet_size);
        agreed.buffer = theirs.buffer_size.min(ours.buffer_size);
        if self.link.config.role == Role::Passive {
            // Neither ring has room for more packets in a buffer, however small they are.
            let packets = theirs.buffer_size.div_ceil(u32::from(theirs.packet_size).max(1));
            let packets = packets.min(self.link.config.shape().packets);
            agreed.buffer = agreed.buffer.min(u32::from(agreed.packet).saturating_mul(packets));
        }
        agreed.outstanding = theirs.outstanding.min(ours.outstanding);
        // RESPONSE decides (docs/decisions/050): what the receiver says here, or what we answer.
        agreed.checksum = theirs.checksum;
        let offered = (
            theirs.burst_size.min(ours.burst_size),
            theirs.burst_interval_ms.max(ours.burst_interval_ms),
        );
        let none = theirs.burst_size == 0 || agreed.outstanding == 0;
        if agreed.packet == 0 || agreed.buffer == 0 || none {
            return false;
        }
        agreed.burst = self.link.config.capped(offered);
        let wanted = Shape::span(agreed.outstanding);
        let shape = Shape::fit(agreed.packets(), wanted, mem.slots.len(), Shape::sender_len);
        if shape.slots == 0 {
            return false;
        }
        self.shape = shape;
        self.burst = agreed.burst;
        let most = u16::try_from(shape.slots).unwrap_or(u16::MAX);
        self.link.agreed.outstanding = self.link.agreed.outstanding.min(most);
        self.link.peer_death_s = theirs.death_s;
        self.link.progress = cx.now;
        self.link.timers.stop(Timer::Repeat);
        SendRing::new(shape, mem.slots).clear();
        self.seen.begin(mem.seen);
        self.link.unsay(ShortPacket::NullAck);
        self.base = None;
        self.low = 0;
        self.scan = 0;
        self.fresh = 0;
        self.beyond = GrantedBeyond::default();
        self.offer = 0;
        self.burst_left = 0;
        self.burst_at = cx.now;
        self.owes = false;
        self.ready = false;
        self.skipped = 0;
        self.unheard = 0;
        self.pacer = Pacer::new(cx.now);
        self.report = 0;
        self.tail = Tail::default();
        self.begin_file(said);
        self.note_terms();
        self.enter(cx, SenderInput::Begin);
        true
    }

    /// Tells the user what was agreed.
    fn note_terms(&mut self) {
        use core::fmt::Write;
        let agreed = self.link.agreed;
        self.link.agreement = Text::new();
        let _ = write!(
            self.link.agreement,
            "packets of {}, buffers of {}, {} outstanding, {} every {} ms",
            agreed.packet, agreed.buffer, agreed.outstanding, agreed.burst.0, agreed.burst.1
        );
        self.link.notes.push(QueuedEvent::Negotiated);
        let offset = self.file.size.map_or(0, |size| self.source.ranges.kept(size));
        self.link.stats.current_file_bytes = offset;
        self.link.stats.current_acked_bytes = Some(offset);
        self.link.notes.push(QueuedEvent::Started { offset });
    }

    // ---- output ----

    /// Builds the packet that leaves next, if one does.
    fn fill(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.link.lent > 0 || self.link.is_over() {
            return;
        }
        self.lent = None;
        if core::mem::take(&mut self.past.say) {
            let (high, (burst_size, burst_interval_ms)) = (self.past.high, self.burst);
            let body = Body::NullAck { high, burst_size, burst_interval_ms };
            return self.link.put(mem.out, &Packet { ports: self.past.ports, body });
        }
        if let Some(short) = self.link.next_short() {
            return self.put_short(mem, short);
        }
        if self.stage == Stage::Moving && self.link.is_running() {
            self.fill_data(cx, mem);
        }
    }

    /// Writes a short packet.
    fn put_short(&mut self, mem: &mut Mem<'_>, short: ShortPacket) {
        self.link.unsay(short);
        let (ports, reply) = (self.link.ports, self.link.reply_ports);
        let (burst_size, burst_interval_ms) = self.burst;
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
            ShortPacket::Done => Packet { ports, body: Body::Done },
            ShortPacket::NullAck => {
                let high = self.seen.high;
                self.owes = false;
                Packet { ports, body: Body::NullAck { high, burst_size, burst_interval_ms } }
            }
            ShortPacket::KeepAlive => Packet { ports, body: Body::KeepAlive },
        };
        let (len, letter) = (packet.put(mem.out).unwrap_or(0), packet.letter());
        self.link.lent = len;
        self.link.lent_letter = letter;
    }

    /// Writes OPEN or RESPONSE.
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
        let len = self.client(mem.name, &mut mem.out[super::packet::OPEN_HEADER..]);
        self.link.lent = put_terms_before(mem.out, kind, self.link.ports, &terms, len).unwrap_or(0);
        self.link.lent_letter = if kind == kind::OPEN { 'O' } else { 'R' };
    }

    /// The port took the packet that was lent.
    fn left(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        match self.lent.take() {
            Some((index, packet, bytes)) => self.left_data(cx, mem, index, packet, bytes),
            None => self.link.left(cx, u64::from(self.seen.high), Load::default(), false),
        }
    }

    // ---- timers ----

    fn timeout(&mut self, cx: &mut Cx<'_>, waiting_for: &'static str) {
        self.link.stats.timeouts += 1;
        if cx.trace.enabled() {
            let number = u64::from(self.link.id);
            cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for, number });
        }
    }

    /// OPEN or QUIT was not answered.
    fn again(&mut self, cx: &mut Cx<'_>) {
        let short =
            if self.stage == Stage::Quitting { ShortPacket::Quit } else { ShortPacket::Open };
        self.link.tries = self.link.tries.saturating_sub(1);
        self.timeout(cx, if short == ShortPacket::Quit { "quitack" } else { "response" });
        if self.link.tries > 0 {
            self.link.say(short);
            self.link.stats.retransmissions += 1;
            self.link.repeat_again(cx.now);
            return;
        }
        self.link.timers.stop(Timer::Repeat);
        match self.stage {
            // It has every file already.
            Stage::Ending => {
                if let Ending::Linger { outcome, .. } = self.link.ending {
                    self.link.ending = Ending::Over(outcome);
                }
            }
            Stage::Quitting => self.over(cx),
            _ => self.link.fail(cx, Blame::Line, FailureKind::Silence, b""),
        }
    }

    /// When the peer must hear from us. As long as it has not said that anything is whole, what it said
    /// may be lost, or it may not say more before it has heard more of us.
    pub(super) fn keepalive_at(&self) -> Option<Instant> {
        let begins = self.stage == Stage::Moving && self.low == 0 && self.link.is_running();
        let unheard = begins && self.link.config.metered;
        let early = unheard.then(|| self.link.spoke + self.repeat_after().min(UNHEARD));
        [self.link.keepalive_at(), early].into_iter().flatten().min()
    }

    /// A listener believes an address by data alone, and may say little before: instead of a KEEPALIVE the first
    /// packet goes again, after 0.5, 1, 2, 4 s and so on. False if it does not.
    pub(super) fn says_first_again(&mut self, mem: &mut Mem<'_>) -> bool {
        let begins = self.stage == Stage::Moving && self.low == 0 && self.fresh > 0;
        if !begins || !self.link.config.metered {
            return false;
        }
        self.unheard = self.unheard.saturating_add(1);
        let mut sends = SendRing::new(self.shape, mem.slots);
        if !self.unheard.is_power_of_two() || !sends.is_granted(0) || sends.is_done(0) {
            return false;
        }
        sends.want(0, 0);
        self.scan = 0;
        self.look(mem);
        true
    }

    /// How long an answer may take.
    pub(super) fn repeat_after(&self) -> Duration {
        let timeout = self.link.open_timeout();
        // Once a receiver has told its timer, the path is known.
        if self.offer == 0 {
            // One that is lost must not cost more than the transfer.
            let soon = self.link.config.metered || self.link.config.is_automatic();
            if soon { timeout / 4 } else { timeout }
        } else if self.paced {
            timeout.min(self.control_timer * 2 + REPEAT)
        } else {
            timeout.min(self.control_timer * 3 + timeout / 10)
        }
    }

    // ---- the user ----

    /// Closes the connection of the current file normally, if there is one.
    fn give_up(&mut self, cx: &mut Cx<'_>) {
        if self.stage != Stage::Moving && self.stage != Stage::Opening {
            return self.close(cx, false, false);
        }
        self.link.reason.set(if self.stop { b"wst1 cancel-batch" } else { b"wst1 cancel" });
        let every = self.repeat_after();
        self.link.unsay(ShortPacket::Open);
        self.link.repeat(cx.now, ShortPacket::Quit, every);
        self.enter(cx, SenderInput::GivenUp);
    }

    /// Whether `transmit` would lend something, as far as can be told without composing it.
    fn may_send(&self) -> bool {
        self.link.next_short().is_some()
            || self.past.say
            || (self.stage == Stage::Moving && (self.owes || self.ready) && !self.link.has_failed())
    }

    /// The session has failed: closes the file, and sends the last packet.
    fn finish_words(&mut self, cx: &Cx<'_>, outcome: Outcome) {
        if !self.pending.is_idle() {
            return;
        }
        if core::mem::take(&mut self.open) {
            self.pending = PendingRequest::close(false);
        } else if self.link.next_short().is_none() && self.link.lent == 0 {
            self.link.after_words(cx.now, outcome);
        }
    }
}
