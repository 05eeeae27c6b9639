//! The receiver's files: what the sender says of them, what the store says, and how a connection
//! ends.

use super::reports::Reports;
use super::{AfterQuit, Core, File, Mem, Offered, Stage};
use crate::engine::{Blame, Cx, FailureKind, Outcome};
use crate::file::{DigestKind, Refusal, Reply, StoreError};
use crate::netblt::config::Role;
use crate::netblt::info::{ClientString, refusal_word};
use crate::netblt::link::{ShortPacket, store_words};
use crate::netblt::packet::{OPEN_HEADER, Ports, Terms};
use crate::netblt::ranges::{HeldRanges, Ranges};
use crate::netblt::rate::rate_of;
use crate::netblt::source::{TRAILER, XXH3};
use crate::netblt::states::ReceiverInput;
use crate::netblt::window::Shape;
use crate::session::{PendingRequest, QueuedEvent, Text, Timer};

/// Connections tried for one file: with what is stored, without it, from the start.
const ATTEMPTS: u8 = 4;
/// What our client strings begin with, before the parts that are here.
const OURS: &str = "wst1 x p";
/// What a file without a name is called.
const NAMELESS: &[u8] = b"netblt";

impl Core {
    /// OPEN or RESPONSE describes a file: the store is asked, unless it has the file open.
    pub(super) fn describe(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        terms: &Terms<'_>,
        said: &ClientString<'_>,
    ) {
        self.offer = Offered {
            id: terms.id,
            ports: self.link.ports,
            buffer: terms.buffer_size,
            packet: terms.packet_size,
            burst: (terms.burst_size, terms.burst_interval_ms),
            outstanding: terms.outstanding,
            death_s: terms.death_s,
            checksum: terms.checksum,
        };
        let before = self.file;
        let mut name_len = said.put_name(mem.name);
        if name_len == 0 {
            name_len = NAMELESS.len();
            mem.name[..name_len].copy_from_slice(NAMELESS);
        }
        self.file = File {
            name_len,
            size: said.size,
            modified: said.modified,
            mode: said.mode,
            kind: said.kind,
            left: said.left,
            resume: said.resume && self.link.config.resume,
            digest: said.ours && said.digest && self.link.config.files && self.link.config.digest,
            paced: said.ours && said.paced && self.link.config.files,
        };
        self.link.progress = cx.now;
        let same = self.open && before.name_len == name_len && before.size == said.size;
        if same && self.told {
            // The sender leaves out what is here.
            return self.begin(cx, mem);
        }
        if self.open {
            // The same file again, from its beginning; for the store that is no second one.
            self.restarted = true;
        }
        self.have = HeldRanges::default();
        self.told = false;
        self.pending = PendingRequest::Offer;
        self.enter(cx, ReceiverInput::File);
    }

    /// The store's answer.
    pub(super) fn replied(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        let pending = self.pending.take();
        match (pending, reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Offer, Reply::Accept { offset }) => {
                self.open = true;
                self.have.put(0, offset);
                self.sink.in_order = true;
                self.pending = PendingRequest::Held { from: offset };
            }
            (PendingRequest::Offer, Reply::Refuse(why)) => self.refuse(cx, why),
            (PendingRequest::Held { from }, Reply::Held { from: start, to }) => {
                self.sink.in_order = false;
                if start >= from && to > start {
                    if self.offered(mem.name).resume {
                        self.have.put(start, to);
                    }
                    self.pending = PendingRequest::Held { from: to };
                } else {
                    self.accepted(cx, mem);
                }
            }
            // A store that takes bytes in order only.
            (PendingRequest::Held { .. }, Reply::Failed(_)) => self.accepted(cx, mem),
            (PendingRequest::Write, Reply::Done) => self.sink.taken(),
            (PendingRequest::Digest { .. }, Reply::Digest(digest)) => {
                let (_, theirs) = self.sink.trailer(mem.data);
                self.compared(cx, theirs == digest[..16]);
            }
            // The sender takes our last OK for a comparison: no file is whole that was not compared.
            (PendingRequest::Digest { .. }, Reply::Failed(error)) => {
                let say = match error {
                    StoreError::NoSpace => store_words(error),
                    _ => b"the receiver could not compare the digests",
                };
                self.link.fail(cx, Blame::Store, FailureKind::Store(error), say);
            }
            (PendingRequest::Close { complete, verified }, reply) => {
                self.open = false;
                match reply {
                    Reply::Failed(error) => {
                        let say = store_words(error);
                        self.link.fail(cx, Blame::Store, FailureKind::Store(error), say);
                    }
                    _ => self.closed(cx, mem, complete, verified),
                }
            }
            (pending, Reply::Failed(error)) => {
                if pending == PendingRequest::Write {
                    // It may have failed for another reason before; what is left is not asked for again.
                    self.sink.give_up();
                }
                let say = store_words(error);
                self.link.fail(cx, Blame::Store, FailureKind::Store(error), say);
            }
            (PendingRequest::Offer, Reply::TellCheck) => self.refuse(cx, Refusal::Exists),
            // An answer to another request; ours stands.
            (pending, _) => self.pending = pending,
        }
    }

    fn refuse(&mut self, cx: &mut Cx<'_>, why: Refusal) {
        if !self.link.is_running() {
            return;
        }
        self.link.stats.files_skipped += 1;
        self.link.notes.push(QueuedEvent::Refused { why: Some(why), by_peer: false });
        let mut say = *b"wst1 no=            ";
        let word = refusal_word(why).as_bytes();
        say[8..8 + word.len()].copy_from_slice(word);
        let say = &say[..8 + word.len()];
        if self.link.config.role == Role::Active {
            return self.say_quit(cx, say, AfterQuit::NextFile);
        }
        let ports = Ports { local: self.link.ports.foreign, foreign: self.link.ports.local };
        self.link.reply(ShortPacket::Refused, ports, say);
        self.link.ports = Ports::default();
        self.restarted = false;
        self.enter(cx, ReceiverInput::Await);
    }

    /// The store takes the file, and has said what it has of it.
    fn accepted(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if !self.link.is_running() {
            return;
        }
        let room = mem.out.len().saturating_sub(OPEN_HEADER + 4);
        self.have.fit(OURS.len(), room);
        if self.have.is_empty() || self.link.config.role == Role::Passive {
            return self.begin(cx, mem);
        }
        // The sender has to know before it answers.
        self.told = true;
        self.say_quit(cx, b"wst1 again", AfterQuit::SameFile);
    }

    /// A connection begins.
    pub(super) fn begin(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let ours = self.terms();
        let offer = self.offer;
        let passive = self.link.config.role == Role::Passive;
        let agreed = &mut self.link.agreed;
        agreed.packet = offer.packet.min(ours.packet_size);
        // Neither ring has room for more packets in a buffer, however small they are.
        let packets = offer.buffer.div_ceil(u32::from(offer.packet));
        let packets = packets.min(self.link.config.shape().packets);
        let most = u64::from(packets) * u64::from(agreed.packet);
        let lowered = u64::from(offer.buffer.min(ours.buffer_size)).min(most) as u32;
        agreed.buffer = if passive { lowered } else { offer.buffer };
        agreed.checksum = if passive { offer.checksum || ours.checksum } else { offer.checksum };
        let first = ours.burst_size.min(offer.burst.0);
        let burst = (first, ours.burst_interval_ms.max(offer.burst.1));
        agreed.burst = if passive { self.link.config.capped(burst) } else { offer.burst };
        let outstanding = offer.outstanding.min(ours.outstanding);
        let wanted = Shape::span(outstanding);
        let shape = Shape::fit(agreed.packets(), wanted, mem.slots.len(), Shape::receiver_len);
        if shape.slots == 0 || agreed.packets() > 0xFFFF {
            let say = b"cannot work with these sizes";
            return self.link.fail(cx, Blame::Peer, FailureKind::Violation, say);
        }
        agreed.outstanding = shape.slots.min(usize::from(outstanding)) as u16;
        self.shape = shape;
        self.link.peer_death_s = offer.death_s;
        // Numbers continue from connection to connection, so that a packet that was long in flight
        // is none of this one.
        self.base = self.base.wrapping_add(self.granted as u32);
        self.low = 0;
        self.granted = 0;
        self.known = 0;
        self.passed = 0;
        self.ahead_whole = 0;
        for timer in [Timer::Overdue, Timer::Front, Timer::Control] {
            self.link.timers.stop(timer);
        }
        self.arrived = None;
        self.control_left = None;
        self.control_due = None;
        self.backoff = 0;
        self.strain = 0;
        self.owed = None;
        self.messages.begin();
        self.again_from = [1; super::control::COPIES];
        self.begin_rate();
        let size = self.file.size;
        let missing = self.have.missing(size).unwrap_or(Ranges::whole(size));
        let in_order = self.sink.in_order;
        self.sink.begin(&missing, self.file.digest, in_order);
        let offset = size.map_or(0, |size| missing.kept(size));
        self.link.stats.current_file_bytes = offset;
        self.note_terms(offset);
        if passive {
            self.link.say(ShortPacket::Response);
        }
        self.enter(cx, ReceiverInput::Begin);
    }

    /// What is known of the path from the connection before stays.
    fn begin_rate(&mut self) {
        let burst = self.link.agreed.burst;
        self.paced = self.file.paced && self.link.config.is_automatic();
        self.path.again(burst, self.paced);
        self.reports = Reports::new();
        self.bringing = None;
        self.burst = burst;
        if self.link.config.is_automatic() && self.path.is_begun() {
            self.burst = self.path.say();
            if self.paced {
                // It leaves with the first GO.
                self.reports.offer();
            } else {
                // The first OK brings it.
                self.bringing = Some(2);
            }
        }
        self.spacing = 1_000_000_000_000 / rate_of(burst).max(1);
        self.repaired = None;
        self.swing = u64::from(burst.1) * 1_000_000 / 4;
    }

    fn note_terms(&mut self, offset: u64) {
        use core::fmt::Write;
        let agreed = self.link.agreed;
        self.link.agreement = Text::new();
        let _ = write!(
            self.link.agreement,
            "packets of {}, buffers of {}, {} outstanding, {} every {} ms",
            agreed.packet, agreed.buffer, agreed.outstanding, agreed.burst.0, agreed.burst.1
        );
        self.link.notes.push(QueuedEvent::Negotiated);
        self.link.notes.push(QueuedEvent::Started { offset });
    }

    /// Everything is here: when the store has it, the digests are compared.
    pub(super) fn check(&mut self, memory: &[u8]) {
        if !self.pending.is_idle() || self.sink.is_pending() || !self.open {
            return;
        }
        let kind = if self.file.digest { self.sink.trailer(memory).0 } else { 0 };
        self.pending = if kind == XXH3 {
            PendingRequest::Digest { kind: DigestKind::Xxh3, len: self.sink.file_len() }
        } else {
            PendingRequest::close(true)
        };
    }

    fn compared(&mut self, cx: &mut Cx<'_>, same: bool) {
        if same {
            self.pending = PendingRequest::Close { complete: true, verified: true };
        } else if !self.have.is_empty() && self.attempts < ATTEMPTS {
            // The stored part is of another file: all of this one is needed.
            self.attempts += 1;
            self.restarted = true;
            self.told = false;
            self.have = HeldRanges::default();
            self.say_quit(cx, b"wst1 again", AfterQuit::SameFile);
        } else {
            let say = b"the digests of the whole file differ";
            self.link.fail(cx, Blame::Line, FailureKind::DigestDiffers, say);
        }
    }

    /// The store has closed the file.
    fn closed(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, complete: bool, verified: bool) {
        if !self.link.is_running() {
            return;
        }
        if !complete {
            return self.next_file(cx);
        }
        let trailer = if self.file.digest { TRAILER as u64 } else { 0 };
        let stats = &mut self.link.stats;
        stats.file_bytes = stats.file_bytes.saturating_sub(trailer);
        stats.current_file_bytes = stats.current_file_bytes.saturating_sub(trailer);
        stats.files_done += 1;
        let size = self.sink.file_len();
        self.link.notes.push(QueuedEvent::Done { size, verified });
        let last = self.buffers().unwrap_or(1) - 1;
        if !self.say_ok(mem, last) {
            self.owed = Some(last);
        }
        self.link.progress = cx.now;
        self.restarted = false;
        self.told = false;
        self.attempts = 0;
        self.enter(cx, ReceiverInput::Closed);
    }

    /// The sender has our last OK: the connection is over.
    pub(super) fn leave(&mut self, cx: &mut Cx<'_>) {
        let ports = self.link.ports;
        self.link.reply_ports = ports;
        self.link.say(ShortPacket::Done);
        if self.ours {
            return self.next_file(cx);
        }
        // A sender that is not of our kind says nothing of further files: asked again it would send the same one.
        self.end_of_batch(cx);
    }

    /// Ready for the next connection.
    fn next_file(&mut self, cx: &mut Cx<'_>) {
        self.link.timers.stop(Timer::Control);
        self.messages.begin();
        self.restarted = false;
        self.told = false;
        self.attempts = 0;
        self.have = HeldRanges::default();
        self.link.progress = cx.now;
        if self.stop {
            return self.end_of_batch(cx);
        }
        if self.link.config.role == Role::Active {
            return self.open_next(cx);
        }
        self.link.ports = Ports::default();
        self.enter(cx, ReceiverInput::Await);
    }

    pub(super) fn end_of_batch(&mut self, cx: &mut Cx<'_>) {
        self.link.timers.stop(Timer::Control);
        self.messages.begin();
        self.link.end(cx, Outcome::Done);
    }

    // ---- the sender ends it ----

    /// The sender refuses our OPEN (active).
    pub(super) fn refused(&mut self, cx: &mut Cx<'_>, why: &[u8]) {
        if self.stage != Stage::Opening {
            return;
        }
        self.link.timers.stop(Timer::Repeat);
        let said = ClientString::parse(why);
        let more = self.link.stats.files_done + self.link.stats.files_skipped > 0;
        if (said.ours && said.end) || more {
            return self.end_of_batch(cx);
        }
        self.link.tell(why);
        self.link.fail(cx, Blame::Peer, FailureKind::PeerError, b"");
    }

    /// The sender ends the connection.
    pub(super) fn quit(&mut self, cx: &mut Cx<'_>, why: &[u8]) {
        if !matches!(self.stage, Stage::Moving | Stage::Offering | Stage::Checking) {
            return;
        }
        let said = ClientString::parse(why);
        if said.ours && (said.cancel || said.cancel_batch) {
            self.link.stats.files_skipped += 1;
            self.link.notes.push(QueuedEvent::Cancelled { by_peer: true });
            return self.drop_file(cx);
        }
        self.link.tell(why);
        self.link.fail(cx, Blame::Peer, FailureKind::PeerError, b"");
    }

    /// The file is no longer wanted.
    fn drop_file(&mut self, cx: &mut Cx<'_>) {
        self.messages.begin();
        self.link.timers.stop(Timer::Control);
        self.enter(cx, ReceiverInput::Dropped);
        if self.open {
            self.pending = PendingRequest::close(false);
        } else {
            self.pending = PendingRequest::Nothing;
            self.next_file(cx);
        }
    }

    // ---- we end it ----

    /// Closes the connection normally.
    pub(super) fn say_quit(&mut self, cx: &mut Cx<'_>, say: &[u8], then: AfterQuit) {
        self.messages.begin();
        self.link.timers.stop(Timer::Control);
        self.link.timers.stop(Timer::Front);
        self.link.timers.stop(Timer::Overdue);
        self.then = then;
        self.link.reason.set(say);
        let every = self.repeat_after();
        self.link.repeat(cx.now, ShortPacket::Quit, every);
        self.enter(cx, ReceiverInput::Quit);
    }

    /// Our QUIT was answered, or will not be.
    pub(super) fn quit_answered(&mut self, cx: &mut Cx<'_>) {
        self.link.timers.stop(Timer::Repeat);
        match self.then {
            AfterQuit::SameFile => {
                if self.link.config.role == Role::Active {
                    return self.open_next(cx);
                }
                self.link.ports = Ports::default();
                self.enter(cx, ReceiverInput::Await);
            }
            AfterQuit::NextFile | AfterQuit::End => {
                self.stop |= self.then == AfterQuit::End;
                self.drop_file(cx);
            }
        }
    }
}
