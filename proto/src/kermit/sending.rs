//! The state machine of the sender (\[KPM\] §10, kermit.md §10–19). The window is in `flight`, the file
//! in `source`, what both engines share in `link`.

use self::aside::UnderWay;
use self::congestion::Congestion;
use self::differing::Differing;
use self::packing::Packing;
use self::protection::{Protection, Queued};
use self::streamed::Streamed;
use super::bundle::IS_BUILT;
use super::capability::{BUNDLE, COMPRESS, Capabilities, ENTRIES};
use super::config::Config;
use super::flight::Flight;
use super::length::PacketLengths;
use super::link::{Link, trace_sent};
use super::packet::{self, LONG_HEADER, MAX_SHORT, SHORT_HEADER, data_room, kind};
use super::params::{self, OWN_DIGEST, Params};
use super::source::Source;
use super::states::{SenderInput, Sending};
use super::timing::PacketTimeout;
use crate::engine::{Blame, Cx, Failure, FailureKind, Outcome};
use crate::file::{DigestKind, FileInfo, FileKind, StoreError};
use crate::line::line_time;
use crate::session::{self, Ending, PendingRequest, Timer};
use crate::time::Duration;
use crate::trace::{Load, Wait};

mod answers;
mod aside;
mod compression;
mod congestion;
mod differing;
mod files;
mod packing;
mod protection;
mod retransmission;
mod sender;
mod streamed;

pub use files::{FILE_CHANGED, FILE_KEPT, FILE_MISSING};
pub(super) use sender::Mem;
pub use sender::Sender;

/// Silence in which a failed transfer's last packets drain.
const DRAIN: Duration = Duration::from_millis(400);

/// The file that is being sent. Its name is in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    /// Facts, with an empty name.
    info: FileInfo<'static>,
    name_len: usize,
    /// Every byte is in a packet, or the rest is cancelled.
    encoded: bool,
    /// The store has it open.
    open: bool,
    /// Refused by the peer.
    refused: bool,
    /// What the peer is given to compare.
    digest: Option<[u8; 16]>,
}

/// A pending cancel: which end, and its scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cancel {
    No,
    File { by_peer: bool },
    Batch { by_peer: bool },
}

/// A data packet that is being filled.
#[derive(Clone, Copy, Debug)]
struct Open {
    len: usize,
    room: usize,
    /// Bytes of the file that are in it.
    used: usize,
}

/// What became of the next piece of a bundle.
enum Piece {
    /// Some of it is in the packet.
    Put,
    /// The store has to reply first.
    Wait,
    /// There is none now: the packet leaves as it is.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) link: Link,
    state: Sending,
    pending: PendingRequest,
    flight: Flight,
    timing: PacketTimeout,
    lengths: PacketLengths,
    /// Data packets that were lost or damaged.
    hits: u64,
    congestion: Congestion,
    ours: Params,
    source: Source,
    file: Current,
    open: Option<Open>,
    cancel: Cancel,
    /// Timeouts in a row without a good packet: detects a silent peer.
    silent: u32,
    /// Answers to other copies of the packet that was acknowledged last that may still come.
    echoes: u32,
    /// What is sent is text for the peer's screen: X instead of F.
    screen: bool,
    /// Of bundles: what goes into packets, and the files that are under way.
    packing: Packing,
    under_way: UnderWay,
    protection: Protection,
    differing: Differing,
    /// While streaming: what is to be compressed; and whether the line is slow.
    streamed: Streamed,
}

/// The memory of the slot of a packet number.
fn slot_of<'a>(slots: &'a mut [u8], link: &Link, flight: &Flight, number: u64) -> &'a mut [u8] {
    let len = Config::slot_len(usize::from(link.config.send_length));
    let at = flight.index(number) * len;
    &mut slots[at..at + len]
}

impl Core {
    // Built where it is called it is copied field by field: 3 kB of code for MIPS.
    #[inline(never)]
    pub(super) fn new(config: Config) -> Self {
        let ceiling = config.timeout.get();
        // Peers throw away input when they start (C-Kermit 10 does), so the first S is often lost.
        // A parameter packet and its answer are about 40 bytes each; a second S does no harm.
        let initial = Duration::from_secs(1) + line_time(config.line.rate_bps, 80);
        let initial = initial.max(config.known_round_trip.get() * 3 / 2).min(ceiling.max(initial));
        let known = u64::from(config.known_spacing);
        let adapt = config.adapt_length && !config.is_reliable();
        let announced = if config.manual_mode { config.receive_kind } else { FileKind::Binary };
        let mut ours = config.params(announced);
        ours.capabilities = if config.offers_bundles() {
            let version = if config.prefers_bundles() { 2 } else { 1 };
            ours.capabilities.limit(BUNDLE, version).set(COMPRESS, config.offers_compression())
        } else {
            Capabilities::NONE
                .set(ENTRIES, config.has_entries())
                .set(COMPRESS, config.offers_streaming() && config.offers_compression())
        };
        if config.is_reliable() && config.line.rate_bps == 0 {
            ours = ours.unlike_requests();
        }
        let link = Link::new(config);
        let (packing, under_way) = packing::parts();
        Self {
            state: Sending::Start,
            pending: PendingRequest::Nothing,
            flight: Flight::new(link.config.slots()),
            timing: PacketTimeout::new(initial, ceiling),
            lengths: PacketLengths::new(adapt, known),
            hits: 0,
            congestion: Congestion::new(),
            ours,
            source: Source::new(&link.text_coding()),
            file: Current::default(),
            open: None,
            cancel: Cancel::No,
            silent: 0,
            echoes: 0,
            screen: false,
            packing,
            under_way,
            protection: Protection::new(),
            differing: Differing::new(),
            streamed: Streamed::new(),
            link,
        }
    }

    /// Part of a server: announced in its parameters, and may send text for the screen.
    pub(super) fn serving(config: Config, screen: bool) -> Self {
        let mut core = Self { screen, ..Self::new(config) };
        core.ours.whatami = core.ours.whatami.map(|whatami| whatami | params::WMI_SERVER);
        core
    }

    fn enter(&mut self, cx: &mut Cx<'_>, input: SenderInput) {
        if !session::enter(cx, &mut self.state, input) {
            self.give_up(cx, Blame::Local, FailureKind::Internal);
        }
    }

    /// B is acknowledged; only the port has not taken everything yet.
    pub(super) fn has_done(&self) -> bool {
        matches!(self.link.ending, Ending::LastPackets(Outcome::Done))
    }

    /// Data packets are going out without acknowledgements.
    fn is_streaming_data(&self) -> bool {
        self.link.agreed.streaming && self.state == Sending::Data
    }

    /// Ends with a failure; `say` is the text for the peer, if any.
    fn fail(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        blame: Blame,
        kind: FailureKind,
        say: Option<&str>,
    ) {
        if !self.link.last_words(cx, mem.out, self.flight.next, say) {
            return;
        }
        self.give_up(cx, blame, kind);
    }

    /// Ends without a word to the receiver.
    fn give_up(&mut self, cx: &mut Cx<'_>, blame: Blame, kind: FailureKind) {
        self.open = None;
        self.enter(cx, SenderInput::Failed);
        let open = self.file.open || !self.under_way.is_settled();
        self.pending = if open { PendingRequest::close(false) } else { PendingRequest::Nothing };
        self.link.end(cx, Outcome::Failed(Failure { blame, kind }));
    }

    /// Puts a packet into a slot, to be queued. `fill` writes its data field.
    fn control(
        &mut self,
        mem: &mut Mem<'_>,
        kind: u8,
        fill: impl FnOnce(&Self, &mut [u8], &[u8]) -> usize,
    ) {
        let room = self.room(kind);
        let slot = slot_of(mem.slots, &self.link, &self.flight, self.flight.next);
        let len = fill(self, &mut slot[LONG_HEADER..LONG_HEADER + room], mem.name);
        self.push(mem, kind, len);
    }

    /// The data of the next packet is in its slot: completes the packet.
    fn push(&mut self, mem: &mut Mem<'_>, kind: u8, len: usize) {
        let (start, end) = self.finish(mem, kind, self.flight.next, len);
        self.flight.push(kind, start, end);
    }

    /// Completes a packet around the data in its slot: where it begins and ends there.
    fn finish(&self, mem: &mut Mem<'_>, kind: u8, number: u64, len: usize) -> (usize, usize) {
        let slot = slot_of(mem.slots, &self.link, &self.flight, number);
        let check = self.link.check_for(kind);
        let (mark, seven_bit) = (self.link.config.mark, self.link.seven_bit());
        packet::finish(slot, len, (number % 64) as u8, kind, check, mark, seven_bit)
    }

    /// Bytes of data that fit in a packet of this type, by the peer's limits and ours.
    fn room(&self, kind: u8) -> usize {
        let link = &self.link;
        let check = link.check_for(kind);
        let ours = usize::from(link.config.send_length);
        let short = usize::from(link.theirs.max_short).min(ours);
        let long = link.agreed.send_long.map(|long| usize::from(long).min(ours));
        let most = data_room(short, long, check);
        if kind != kind::DATA || link.agreed.streaming {
            return most;
        }
        let most = self.protected_room(most);
        if self.is_protecting() {
            return most;
        }
        let window = usize::from(link.agreed.window);
        let wanted = self.lengths.length(self.idle_bytes(), window);
        let wanted = wanted.min(self.lengths.proven(window));
        // The terminator counts in the length, but is not part of the packet.
        let header = if wanted <= MAX_SHORT + 3 { SHORT_HEADER } else { LONG_HEADER };
        most.min(wanted.saturating_sub(header + check.len() + 1).max(10))
    }

    /// Bytes of line time until an answer comes: with a window of one they pass unused.
    fn idle_bytes(&self) -> usize {
        let measured = match self.link.agreed.window {
            0 | 1 => self.timing.smoothed(),
            // With others in flight, what it takes is mostly their time.
            _ => self.timing.shortest(),
        };
        let Some(rtt) = measured else { return 0 };
        // A line of unknown rate is treated as slow: longer packets do no harm on a fast one.
        let rate =
            if self.link.config.line.rate_bps == 0 { 9600 } else { self.link.config.line.rate_bps };
        (rtt.as_millis() as usize).saturating_mul(rate as usize / 10) / 1000
    }

    /// What keeps us from sending, when all that is queued has left.
    fn waits_for(&self) -> Wait {
        let (link, flight) = (&self.link, &self.flight);
        match self.state {
            _ if !link.ending.is_running() => Wait::Nothing,
            _ if link.timers.is_running(Timer::Turn) => Wait::Turn,
            _ if !self.pending.is_idle() => Wait::Store,
            Sending::Data if link.agreed.streaming || flight.to_queue().is_some() => Wait::Nothing,
            Sending::Data if flight.len() >= self.congestion.window(link.agreed.window) => {
                Wait::Window
            }
            _ if !flight.is_empty() => Wait::Answer,
            _ => Wait::Nothing,
        }
    }

    fn pump_packets(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if !self.link.ending.is_running() {
            return self.pump_ending(cx);
        }
        if self.state == Sending::Start {
            self.link.port.moved = cx.now;
            self.enter(cx, SenderInput::Opened);
            self.control(mem, kind::SEND_INIT, |core, data, _| {
                let mut text = [0; 40];
                let limit = usize::from(core.link.config.init_length).min(data.len());
                let len = core.ours.emit(&mut text, limit);
                data[..len].copy_from_slice(&text[..len]);
                len
            });
        }
        if self.bundles() {
            self.ask_to_settle();
            if self.is_over() && self.pending.is_idle() {
                self.enter(cx, SenderInput::Done);
                self.link.end(cx, Outcome::Done);
            }
        }
        while !self.link.saturated(mem.out.len()) && self.link.ending.is_running() {
            let did = match self.flight.to_queue() {
                Some(number) => self.queue(cx, mem, number),
                None if self.bundles() => self.pack(cx, mem),
                None if self.state == Sending::Data => self.produce(cx, mem),
                None => false,
            };
            if !did {
                break;
            }
        }
        if !self.link.ending.is_running() {
            self.pump_ending(cx);
        }
    }

    /// Sends the last packets and closes the file; then it is over.
    fn pump_ending(&mut self, cx: &mut Cx<'_>) {
        let Ending::LastPackets(outcome) = self.link.ending else { return };
        if !self.pending.is_idle() || !self.link.last_packets_are_out(cx.now) {
            return;
        }
        match outcome {
            Outcome::Done => self.link.ending = Ending::Over(outcome),
            Outcome::Failed(_) => self.link.linger(cx, outcome, DRAIN),
        }
    }

    /// Puts a copy of a packet in flight into the queue.
    fn queue(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, number: u64) -> bool {
        let slot = *self.flight.slot(number);
        if self.is_hopeless(cx, &slot) {
            self.failed_too_often(cx, mem, slot.kind);
            return false;
        }
        let slot = if slot.copies > 0 && slot.kind == kind::ATTRIBUTES {
            self.without_try(mem, number)
        } else if slot.copies > 0 && self.bundles() {
            self.unprobed(mem, number)
        } else {
            slot
        };
        let queued = self.enqueue_protected(cx, mem, number).or_else(|| {
            let memory = slot_of(mem.slots, &self.link, &self.flight, number);
            let packet = &memory[slot.start..slot.end];
            let leaves_at = self.link.enqueue(cx, mem.out, packet, true)?;
            Some(Queued { leaves_at, len: slot.len(), form: None })
        });
        let Some(Queued { leaves_at, len, form }) = queued else { return false };
        let parity = form.map_or(0, |form| form.parity as u8);
        let again = self.flight.queued(number, leaves_at, parity, cx.now);
        if again > 0 {
            self.link.stats.retransmissions += 1;
            self.link.stats.repeated_bytes += len as u64;
        }
        let load = Load {
            at: self.link.begin_of(leaves_at, len),
            data: slot.data,
            file: slot.file,
            old: if again > 0 { slot.file } else { 0 },
            parity: form.map_or(0, |form| form.parity_of(len)),
            why: slot.why.filter(|_| again > 0),
        };
        trace_sent(cx, slot.kind, number, len, again, load);
        true
    }

    /// Builds one more data packet, or reaches the end of the file. False if there is nothing to do.
    fn produce(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        if (self.cancel != Cancel::No || self.file.refused) && !self.file.encoded {
            self.open = None;
            self.file.encoded = true;
        }
        if self.file.encoded {
            return self.end_of_data(cx, mem);
        }
        let window = self.congestion.window(self.link.agreed.window);
        if !self.link.agreed.streaming && self.flight.len() >= window {
            return false;
        }
        if self.source.starved() {
            self.ask_read();
            return false;
        }
        if let Some(did) = self.stream_pressed(cx, mem) {
            return did;
        }
        let open = self.open.unwrap_or(Open { len: 0, room: self.room(kind::DATA), used: 0 });
        let full = if self.link.agreed.streaming {
            self.fill_streaming(cx, mem, open, kind::DATA)
        } else {
            self.fill_slot(cx, mem, open)
        };
        if full && self.source.exhausted() {
            self.file.encoded = true;
        }
        full
    }

    fn ask_read(&mut self) {
        if self.pending.is_idle() && !self.source.ended {
            self.pending = PendingRequest::Read;
        }
    }

    /// Fills the open packet from the source. `None`: the source must be read first. Otherwise the
    /// finished packet.
    fn fill(
        &mut self,
        source: &[u8],
        data: &mut [u8],
        mut open: Open,
    ) -> Result<Option<Open>, FailureKind> {
        let (used, made) = self.source.encode(source, &mut data[open.len..open.room]);
        self.link.stats.file_bytes += used as u64;
        self.link.stats.current_file_bytes += used as u64;
        if IS_BUILT {
            self.streamed.passed_plain(used);
        }
        open.len += made;
        open.used += used;
        if self.source.starved() {
            self.open = Some(open);
            self.ask_read();
            return Ok(None);
        }
        self.open = None;
        if open.len == 0 && !self.source.exhausted() {
            // Not even one encoded byte fits in the packets that this peer accepts.
            return Err(FailureKind::Violation);
        }
        self.link.stats.encoded_bytes += open.len as u64;
        Ok(Some(open))
    }

    /// Fills a data packet in its slot of the window.
    fn fill_slot(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, open: Open) -> bool {
        let slot = slot_of(mem.slots, &self.link, &self.flight, self.flight.next);
        match self.fill(mem.source, &mut slot[LONG_HEADER..], open) {
            Ok(Some(Open { len: 0, .. })) => true,
            Ok(Some(open)) => {
                self.push(mem, kind::DATA, open.len);
                self.flight.load(open.len, open.used);
                true
            }
            Ok(None) => false,
            Err(kind) => {
                self.fail(cx, mem, Blame::Peer, kind, Some("Packets too short"));
                false
            }
        }
    }

    /// Fills a packet of data, of this type, in place in the queue towards the port.
    fn fill_streaming(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, open: Open, kind: u8) -> bool {
        let check = self.link.agreed.check;
        let (pad, eol) = (usize::from(self.link.theirs.pad_count), self.link.theirs.eol);
        let want = pad + LONG_HEADER + open.room + check.len() + 1;
        let (mark, seven_bit) = (self.link.config.mark, self.link.seven_bit());
        let out = core::mem::take(&mut mem.out);
        let keep = if open.len > 0 { pad + LONG_HEADER + open.len } else { 0 };
        let Some(room) = self.link.output.room(out, want, keep) else {
            mem.out = out;
            return false;
        };
        let body = &mut room[pad..];
        let data = &mut body[LONG_HEADER..];
        let filled = if IS_BUILT && kind == kind::PACKED {
            self.fill_pressed(mem.packed, data, open)
        } else {
            self.fill(mem.source, data, open)
        };
        let full = filled.is_ok_and(|filled| filled.is_some());
        if let Ok(Some(Open { len: data @ 1.., used, .. })) = filled {
            let number = self.flight.pass();
            let seq = (number % 64) as u8;
            let (start, end) = packet::finish(body, data, seq, kind, check, mark, seven_bit);
            // The short form begins later; the queue has no gaps.
            if start > 0 {
                body.copy_within(start..end, 0);
            }
            let len = end - start;
            body[len] = eol;
            room[..pad].fill(self.link.theirs.pad);
            self.link.parity.apply(&mut room[..=pad + len]);
            self.link.queued_in_place(cx, pad + len + 1, len);
            let at = self.link.output.taken() + (self.link.output.pending() - pad - len - 1) as u64;
            trace_sent(cx, kind, number, len, 0, Load { at, data, file: used, ..Load::default() });
        }
        mem.out = out;
        if let Err(kind) = filled {
            self.fail(cx, mem, Blame::Peer, kind, Some("Packets too short"));
        }
        full
    }

    /// Everything is encoded: once it is acknowledged too, Z closes the file.
    fn end_of_data(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) -> bool {
        if !self.flight.is_empty() {
            return false;
        }
        let cut = self.cancel != Cancel::No || self.file.refused;
        if self.has_shrunk() && !cut {
            let kind = FailureKind::Store(StoreError::Changed);
            let say = Some("The file became shorter while it was sent");
            self.fail(cx, mem, Blame::Store, kind, say);
            return false;
        }
        let own = self.link.agreed.own.is_some_and(|own| own & OWN_DIGEST != 0);
        if own && !cut && self.file.info.kind == FileKind::Binary {
            self.enter(cx, SenderInput::Digest);
            self.pending =
                PendingRequest::Digest { kind: DigestKind::Xxh3, len: self.source.offset };
            return false;
        }
        self.send_eof(cx, mem);
        true
    }

    /// Whether less of the file came than its length was.
    fn has_shrunk(&self) -> bool {
        let info = &self.file.info;
        info.kind == FileKind::Binary && info.size.is_some_and(|size| self.source.offset < size)
    }

    fn send_eof(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.enter(cx, SenderInput::EndOfData);
        self.control(mem, kind::EOF, |core, data, _| {
            if core.cancel != Cancel::No || core.file.refused {
                data[0] = b'D';
                return 1;
            }
            core.file.digest.map_or(0, |digest| params::emit_digest(&digest, data))
        });
    }

    fn abort(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let say = Some("Transfer cancelled by the sender");
        self.fail(cx, mem, Blame::Local, FailureKind::Aborted, say);
    }
}
