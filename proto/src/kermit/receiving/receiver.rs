//! The file receiver: its doors and its memory.

use super::{Cancel, Core, DRAIN, Waiting};
use crate::engine::{Blame, Command, Cx, Event, FailureKind, Outcome, Status, Wants};
use crate::file::{Reply, Request};
use crate::kermit::bundle::IS_BUILT;
use crate::kermit::config::Config;
use crate::kermit::frame::Found;
use crate::kermit::states::Receiving;
use crate::machine::{Machine, WithMemory, engine, split};
use crate::memory::{Memory, MemoryTooSmall};
use crate::session::{Ending, PendingRequest, Timer};
use crate::stats::Stats;
use crate::time::Instant;
use crate::trace::{TraceEvent, Wait};

/// Receives files by the Kermit protocol. See [`Engine`](crate::Engine) for how to turn it.
#[derive(Debug)]
pub struct Receiver<M>(WithMemory<Core, M>);

engine!(Receiver);

impl<M: Memory> Receiver<M> {
    /// A receiver in `memory`, which takes at least [`Config::receiver_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.receiver_lengths();
        WithMemory::new(Core::new(config), lengths, memory).map(Self)
    }
}

/// The memory, divided.
pub(in crate::kermit) struct Mem<'a> {
    /// Decoded bytes on their way to the store.
    pub(in crate::kermit) file: &'a mut [u8],
    /// The queue towards the port.
    pub(in crate::kermit) out: &'a mut [u8],
    /// Data fields that came before their turn.
    pub(in crate::kermit) slots: &'a mut [u8],
    /// An unfinished packet.
    pub(in crate::kermit) frame: &'a mut [u8],
    /// The rest of a data field that did not fit into `file`.
    pub(in crate::kermit) hold: &'a mut [u8],
    /// The name of the current file.
    pub(in crate::kermit) name: &'a mut [u8],
    /// The name of the next file in a bundle.
    pub(in crate::kermit) next_name: &'a mut [u8],
    /// What came out of a compressed frame.
    pub(in crate::kermit) unpacked: &'a mut [u8],
}

impl Machine for Core {
    type Lengths = [usize; 8];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 8], memory: &mut [u8]) -> Mem<'_> {
        split!(memory, lengths => file, out, slots, frame, hold, name, next_name, unpacked);
        Mem { file, out, slots, frame, hold, name, next_name, unpacked }
    }

    fn pump(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>) {
        if !self.started {
            self.started = true;
            self.heard = cx.now;
            self.link.spoke = cx.now;
            self.link.port.moved = cx.now;
        }
        let store = self.waiting != Waiting::Nothing && !self.pending.is_idle();
        self.link.waits = self.link.waits.note(cx, || match self.link.ending {
            Ending::No if store => Wait::Store,
            Ending::No => Wait::Peer,
            _ => Wait::Nothing,
        });
        let Ending::LastPackets(outcome) = self.link.ending else { return };
        if !self.pending.is_idle() || !self.link.last_packets_are_out(cx.now) {
            return;
        }
        match outcome {
            Outcome::Done => {
                let linger = self.linger();
                if self.link.config.is_reliable() || self.link.config.linger.get().is_zero() {
                    self.link.ending = Ending::Over(outcome);
                } else {
                    self.link.reader.settings.transparent = false;
                    if IS_BUILT {
                        self.link.reader.forget();
                    }
                    self.link.linger_once(cx, outcome, linger);
                }
            }
            Outcome::Failed(_) => self.link.linger(cx, outcome, DRAIN),
        }
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        let frame = core::mem::take(&mut mem.frame);
        let mut used = 0;
        while used < bytes.len() {
            match self.link.ending {
                Ending::No => {}
                Ending::Linger { outcome: Outcome::Done, .. } => {
                    let count = self.linger_input(cx, mem, frame, &bytes[used..]);
                    used += count;
                    self.link.stats.wire_in_bytes += count as u64;
                    break;
                }
                // What comes with B is looked at once our answer has left: it may be a prompt.
                Ending::LastPackets(Outcome::Done) => {
                    used = self.link.with_terminator(bytes, used);
                    break;
                }
                _ => {
                    let count = self.link.pass_over(cx, bytes.len() - used);
                    used += count;
                    self.link.stats.wire_in_bytes += count as u64;
                    break;
                }
            }
            if self.waiting != Waiting::Nothing {
                break;
            }
            let turn = self.link.await_turn(&bytes[used..]);
            let (count, found) = self.link.reader.next(frame, &bytes[used + turn..]);
            used += turn + count;
            self.link.stats.wire_in_bytes += (turn + count) as u64;
            match found {
                // Perhaps a header was found.
                None => {}
                Some(Found::Packet(body)) => self.on_body(cx, mem, body),
                Some(Found::Damaged { why, len }) => self.on_damaged(cx, mem, why, len),
                Some(Found::Interrupt) => self.abort(cx, mem),
                Some(Found::Corrected { seq, data, worst }) if IS_BUILT => {
                    self.on_corrected(cx, mem, seq, data, worst);
                }
                Some(Found::Uncorrected { seq, why, len, is_short }) if IS_BUILT => {
                    self.on_uncorrected(cx, mem, seq, is_short, (why, len));
                }
                Some(Found::Corrected { .. } | Found::Uncorrected { .. }) => {}
            }
        }
        if used > 0 && self.link.reader.mid_packet() {
            self.heard = cx.now;
            // The first of its bytes ends the silence.
            self.silence.get_or_insert(cx.now - self.link.spoke);
        }
        mem.frame = frame;
        self.link.stats.noise_bytes = self.link.reader.noise_bytes();
        self.link.comings = self.link.comings.note(cx, used, &self.link.stats);
        used
    }

    fn transmit<'a>(&'a mut self, _: &mut Cx<'_>, mem: Mem<'a>) -> &'a [u8] {
        if self.link.timers.is_running(Timer::Turn) { &[] } else { self.link.output.lend(mem.out) }
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, len: usize) {
        self.link.sent(cx, len);
    }

    fn deadline(&self) -> Option<Instant> {
        if !self.link.ending.is_running() {
            return self.link.ending_deadline();
        }
        [self.link.timers.get(Timer::Turn), self.overdue()].into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if !self.link.ending.is_running() {
            return self.link.ending.tick(&self.link.timers, cx.now);
        }
        self.link.timers.expire(Timer::Turn, cx.now);
        if self.overdue().is_none_or(|overdue| overdue > cx.now) {
            return;
        }
        let number = self.arrivals.next;
        self.link.stats.timeouts += 1;
        self.heard = cx.now;
        cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for: "packet", number });
        if self.link.was_an_error() {
            return self.fail(cx, mem, Blame::Peer, FailureKind::PeerError, None);
        }
        if cx.now - self.link.spoke >= self.patience() {
            let say = Some("Timed out");
            return self.fail(cx, mem, Blame::Peer, FailureKind::Silence, say);
        }
        self.link.reader.abandon();
        self.wait = (self.wait * 3 / 2).min(self.link.longest_wait());
        if self.link.output.pending() < 4096 {
            self.nak(cx, mem, number);
        }
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match self.pending {
            // Another name would take the place of the one that is told of.
            PendingRequest::Offer if self.is_to_be_told() => None,
            PendingRequest::Offer => {
                let mut mem = mem;
                self.take_next(&mut mem);
                Some(Request::Offer { info: self.info(mem.name) })
            }
            PendingRequest::Write => {
                let (offset, range) = self.sink.lend();
                Some(Request::Write { offset, bytes: &mem.file[range] })
            }
            PendingRequest::Unpack { begin } if IS_BUILT && self.waiting == Waiting::Undo => {
                Some(self.undo_request(mem.file, mem.unpacked, begin))
            }
            PendingRequest::Unpack { begin } if IS_BUILT => {
                Some(self.unpack_request(mem.unpacked, begin))
            }
            PendingRequest::Learn | PendingRequest::Find | PendingRequest::Copy { .. }
                if IS_BUILT =>
            {
                self.older_request()
            }
            pending => pending.plain(),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        if self.waiting != Waiting::Nothing {
            // The peer waits for us: a store that takes its time is no silence of its own.
            self.heard = cx.now;
            self.link.spoke = cx.now;
        }
        self.replied(cx, mem, reply);
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        let note = self.link.notes.pop()?;
        Some(note.event(self.info(mem.name), self.link.event_texts()))
    }

    fn command(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, command: Command) {
        let letter = match command {
            Command::Abort => return self.abort(cx, mem),
            Command::CancelFile => b'X',
            Command::CancelBatch => b'Z',
        };
        match (self.state, self.cancel) {
            (Receiving::Init, _) if letter == b'Z' => self.abort(cx, mem),
            // Between files only an error packet can signal it.
            (Receiving::File, _) if letter == b'Z' => self.abort(cx, mem),
            (Receiving::Attributes | Receiving::Offer | Receiving::Data, Cancel::No) => {
                self.cancel = Cancel::Ask(letter);
                if self.streaming() && self.state == Receiving::Data {
                    // Data packets get no acknowledgements: this is the only one, once.
                    let last = self.arrivals.next.saturating_sub(1);
                    self.ack(cx, mem, last, &[letter]);
                    self.cancel = Cancel::Said(letter);
                }
            }
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        let link = &self.link;
        Wants::NONE
            .with(Wants::INPUT, self.takes_input())
            .with(Wants::OUTPUT, link.output.pending() > 0 && !link.timers.is_running(Timer::Turn))
            .with(Wants::STORE, !self.pending.is_idle() && !self.is_to_be_told())
            .with(Wants::USER, !link.notes.is_empty())
    }

    fn status(&self) -> Status {
        match self.link.ending {
            // A receiver that waits to repeat its last acknowledgement has done its work.
            Ending::Linger { outcome, .. } => Status::Lingering(outcome),
            _ => self.link.ending.status(),
        }
    }

    fn stats(&self) -> &Stats {
        &self.link.stats
    }

    fn if_closed(&self) -> Option<Outcome> {
        match self.link.ending {
            // The sender has said that this is all, and it is stored, whether our last answer leaves or not.
            Ending::LastPackets(Outcome::Done) if self.pending.is_idle() => Some(Outcome::Done),
            _ => self.status().outcome(),
        }
    }
}
