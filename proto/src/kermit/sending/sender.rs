//! The file sender: its doors and its memory.

use super::{Cancel, Core};
use crate::engine::{Blame, Command, Cx, Event, FailureKind, Outcome, Status, Wants};
use crate::file::{Reply, Request};
use crate::kermit::bundle::IS_BUILT;
use crate::kermit::config::{Codes, Config};
use crate::kermit::frame::Found;
use crate::kermit::packet::kind;
use crate::kermit::probe::ProbeState;
use crate::kermit::states::Sending;
use crate::learned::Learned;
use crate::machine::{Machine, WithMemory, engine, split};
use crate::memory::{Memory, MemoryTooSmall};
use crate::session::{Ending, PendingRequest, Timer};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::{Again, TraceEvent};

/// Sends files by the Kermit protocol. See [`Engine`](crate::Engine) for how to turn it.
#[derive(Debug)]
pub struct Sender<M>(WithMemory<Core, M>);

/// Bytes without an error after which a packet that was refused was not hit by noise.
const CLEAN: u64 = 20_000;

engine!(Sender);

impl<M: Memory> Sender<M> {
    /// A sender in `memory`, which takes at least [`Config::sender_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.sender_lengths();
        WithMemory::new(Core::new(config), lengths, memory).map(Self)
    }
}

/// The memory, divided.
pub(in crate::kermit) struct Mem<'a> {
    /// File bytes between the store and the packets.
    pub(in crate::kermit) source: &'a mut [u8],
    /// The queue towards the port.
    pub(in crate::kermit) out: &'a mut [u8],
    /// Packets of the window.
    pub(in crate::kermit) slots: &'a mut [u8],
    /// An unfinished packet from the peer.
    pub(in crate::kermit) frame: &'a mut [u8],
    /// The name of the current file.
    pub(in crate::kermit) name: &'a mut [u8],
    /// The names of files that are under way.
    pub(in crate::kermit) names: &'a mut [u8],
    /// Records that are to be compressed, and what came of them.
    pub(in crate::kermit) chunk: &'a mut [u8],
    pub(in crate::kermit) packed: &'a mut [u8],
}

impl Machine for Core {
    type Lengths = [usize; 8];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 8], memory: &mut [u8]) -> Mem<'_> {
        split!(memory, lengths => source, out, slots, frame, name, names, chunk, packed);
        Mem { source, out, slots, frame, name, names, chunk, packed }
    }

    /// Queues as much as the port and the window allow.
    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.pump_packets(cx, mem);
        self.link.waits = self.link.waits.note(cx, || self.waits_for());
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        let frame = core::mem::take(&mut mem.frame);
        let mut used = 0;
        while used < bytes.len() {
            if self.has_done() {
                // The rest is for the program that has the line next: it may be a shell's prompt.
                used = self.link.with_terminator(bytes, used);
                break;
            }
            if !self.link.ending.is_running() {
                let count = self.link.pass_over(cx, bytes.len() - used);
                used += count;
                self.link.stats.wire_in_bytes += count as u64;
                break;
            }
            let turn = self.link.await_turn(&bytes[used..]);
            let (count, found) = self.link.reader.next(frame, &bytes[used + turn..]);
            used += turn + count;
            self.link.stats.wire_in_bytes += (turn + count) as u64;
            match found {
                None => break,
                Some(Found::Packet(body)) => self.on_packet(cx, mem, body),
                Some(Found::Damaged { why, len }) => self.on_damaged(cx, mem, why, len),
                Some(Found::Interrupt) => self.abort(cx, mem),
                // Only a receiver looks for them.
                Some(Found::Corrected { .. } | Found::Uncorrected { .. }) => {}
            }
        }
        self.link.stats.noise_bytes = self.link.reader.noise_bytes();
        used
    }

    fn transmit<'a>(&'a mut self, _: &mut Cx<'_>, mem: Mem<'a>) -> &'a [u8] {
        self.link.output.lend(mem.out)
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, len: usize) {
        self.link.sent(cx, len);
        self.flight.left(self.link.output.taken(), cx.now);
        if IS_BUILT && self.is_streaming_data() {
            let output = &self.link.output;
            self.streamed.rate.went(cx.now, output.taken(), output.pending() > 0);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if !self.link.ending.is_running() {
            return self.link.ending_deadline();
        }
        let stalled = self.link.stalled_at();
        let turn = self.link.timers.get(Timer::Turn);
        let first = [stalled, turn, self.overdue(), self.wanted_at()].into_iter().flatten().min();
        match self.end_overdue() {
            Some(end) => Some(first.map_or(end, |first| first.min(end))),
            None => first,
        }
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if !self.link.ending.is_running() {
            return self.link.ending.tick(&self.link.timers, cx.now);
        }
        self.link.timers.expire(Timer::Turn, cx.now);
        if self.wanted_at().is_some_and(|at| at <= cx.now) {
            self.resend(cx, self.flight.low, Again::Nak);
        } else if self.end_overdue().is_some_and(|overdue| overdue <= cx.now) {
            self.flight.again(self.flight.next - 1, cx.now, Duration::ZERO, Again::Timeout);
        } else if self.overdue().is_some_and(|overdue| overdue <= cx.now) {
            if self.was_asked_enough() {
                return self.done(cx);
            }
            let number = self.flight.first_unanswered();
            if self.flight.slot(number).kind == kind::EOF && self.link.agreed.streaming {
                let say = Some("No answer to the end of the file");
                return self.fail(cx, mem, Blame::Peer, FailureKind::Silence, say);
            }
            if self.link.was_an_error() {
                return self.fail(cx, mem, Blame::Peer, FailureKind::PeerError, None);
            }
            self.link.stats.timeouts += 1;
            self.silent += 1;
            self.timing.timed_out();
            cx.trace
                .record(cx.now, &TraceEvent::Timeout { waiting_for: "acknowledgement", number });
            self.flight.again(number, cx.now, Duration::ZERO, Again::Timeout);
            self.count_loss(number, Again::Timeout);
            self.link.reader.abandon();
        }
        if self.link.stalled_at().is_some_and(|at| at <= cx.now) {
            self.fail(cx, mem, Blame::Line, FailureKind::Silence, None);
        }
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match self.pending {
            PendingRequest::Read => {
                let offset = self.source.offset;
                Some(Request::Read { offset, into: self.source.lend(mem.source) })
            }
            PendingRequest::Pack { begin, .. } if IS_BUILT && !self.bundles() => {
                Some(self.stream_pack_request(mem.source, mem.packed, begin))
            }
            PendingRequest::Pack { begin, end } if IS_BUILT => {
                Some(self.pack_request(mem.chunk, mem.packed, begin, end))
            }
            PendingRequest::Signatures { from, block } if IS_BUILT => {
                Some(self.signatures_request(from, block, mem.source))
            }
            pending => pending.plain(),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        self.replied(cx, mem, reply);
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        self.tell(mem.names);
        let note = self.link.notes.pop()?;
        Some(note.event(self.told_info(mem.name, mem.names), self.link.event_texts()))
    }

    fn command(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, command: Command) {
        let has_file = !matches!(self.state, Sending::Start | Sending::Init | Sending::Next);
        match command {
            // Nothing is left to cancel.
            Command::Abort if self.state == Sending::Break && self.has_stored() => {}
            Command::Abort => self.abort(cx, mem),
            Command::CancelBatch if !has_file && self.state != Sending::Next => self.abort(cx, mem),
            Command::CancelBatch => self.cancel = Cancel::Batch { by_peer: false },
            Command::CancelFile if has_file && self.cancel == Cancel::No => {
                self.cancel = Cancel::File { by_peer: false };
            }
            Command::CancelFile => {}
        }
    }

    fn wants(&self) -> Wants {
        let fresh = self.state == Sending::Start && self.link.ending.is_running();
        Wants::NONE
            .with(Wants::INPUT, !matches!(self.link.ending, Ending::Over(_)))
            .with(Wants::OUTPUT, self.link.output.pending() > 0 || fresh)
            .with(Wants::STORE, !self.pending.is_idle())
            .with(Wants::USER, !self.link.notes.is_empty() || self.has_news())
    }

    fn status(&self) -> Status {
        let Self { state, link, .. } = self;
        // Every file is acknowledged, and peers that are done hang up: C-Kermit's answer to B
        // dies with its terminal. Where that can be (not on TCP) only the final exchange is missing.
        let last = *state == Sending::Break && link.ending.is_running() && self.has_stored();
        if last && !link.config.is_reliable() {
            return Status::Lingering(Outcome::Done);
        }
        link.ending.status()
    }

    fn stats(&self) -> &Stats {
        &self.link.stats
    }

    fn learned(&self) -> Learned {
        let carried = self.lengths.bytes_carried();
        let was_unknown = self.link.config.known_codes == Codes::Unknown;
        Learned {
            round_trip: self.timing.shortest(),
            carried,
            hits: self.hits,
            codes: match self.link.bare {
                ProbeState::Passed => Some(true),
                // Only the packet that tried them was refused, and nothing after it. What was known was not tried.
                ProbeState::Failed if self.hits == 1 && was_unknown && carried > CLEAN => {
                    Some(false)
                }
                _ => None,
            },
        }
    }
}
