//! The file sender: its doors and its memory.

use super::{Core, is_kmd, is_prose};
use crate::engine::{Command, Cx, Event, Outcome, Status, Wants};
use crate::file::{Reply, Request};
use crate::learned::Learned;
use crate::machine::{Machine, WithMemory, engine, split};
use crate::memory::{Memory, MemoryTooSmall};
use crate::session::{Ending, PendingRequest, Timer};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::xymodem::config::Config;
use crate::xymodem::states::Sending;

/// An answer that was read before the port had reported that the last byte left.
const AT_ONCE: Duration = Duration::from_millis(20);

/// Sends files by XMODEM or YMODEM. See [`Engine`](crate::Engine) for how to turn it.
///
/// It follows the receiver: NAK requests checksums, `C` for CRCs, `G` for a stream (in XMODEM not on a
/// line that is known to lose data, where it is a damaged `C`). XMODEM sends one
/// file; the others that the store has are refused. Neither protocol can cancel a
/// single file, so [`Command::CancelFile`] and [`Command::CancelBatch`] do what [`Command::Abort`] does.
#[derive(Debug)]
pub struct Sender<M>(WithMemory<Core, M>);

engine!(Sender);

impl<M: Memory> Sender<M> {
    /// A sender in `memory`, which takes at least [`Config::sender_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.sender_lengths();
        WithMemory::new(Core::new(config), lengths, memory).map(Self)
    }
}

/// The memory, divided.
pub(super) struct Mem<'a> {
    /// File bytes between the store and the blocks.
    pub(super) source: &'a mut [u8],
    /// What is in flight, or queued.
    pub(super) out: &'a mut [u8],
    /// The name of the current file.
    pub(super) name: &'a mut [u8],
}

impl Machine for Core {
    type Lengths = [usize; 3];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 3], memory: &mut [u8]) -> Mem<'_> {
        split!(memory, lengths => source, out, name);
        Mem { source, out, name }
    }

    /// Processes input and store replies; idempotent.
    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.pump_blocks(cx, mem);
        self.link.waits = self.link.waits.note(cx, || self.waits_for());
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        self.pump(cx, mem);
        let mut used = 0;
        while used < bytes.len() {
            match self.link.ending {
                _ if !self.takes_input() => break,
                Ending::No => {}
                _ => {
                    let count = self.link.pass_over(cx, bytes.len() - used);
                    used += count;
                    self.link.stats.wire_in_bytes += count as u64;
                    break;
                }
            }
            let byte = bytes[used];
            used += 1;
            self.link.stats.wire_in_bytes += 1;
            if self.state == Sending::Invite && is_kmd(bytes, used - 1) {
                // The K requests blocks of 1024 bytes, which is left to the variant.
                used += 1;
                self.link.stats.wire_in_bytes += 1;
            } else if self.state == Sending::Invite && is_prose(bytes.get(used)) {
                // A letter of a text, such as a prompt, is not a start character.
                self.link.stats.noise_bytes += 1;
                continue;
            }
            self.input(cx, mem, byte);
            // What follows depends on what is in flight now.
            self.pump(cx, mem);
        }
        used
    }

    fn transmit<'a>(&'a mut self, cx: &mut Cx<'_>, mem: Mem<'a>) -> &'a [u8] {
        if self.link.answers.pending() > 0 {
            return self.link.lend();
        }
        if !self.link.may_send(cx.now) {
            return &[];
        }
        self.lent = true;
        self.queue.lend(mem.out)
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, len: usize) {
        let words = self.link.took(cx, len);
        let len = self.queue.took(len - words);
        self.link.stats.wire_out_bytes += len as u64;
        if len == 0 {
            return;
        }
        let total = self.link.stats.wire_out_bytes;
        self.link.port.took(cx, total, self.queue.pending());
        self.busy_until = self.busy_until.max(cx.now) + self.link.config.line.time(len);
        self.lent = false;
        if self.queue.pending() == 0
            && let Some(flight) = &mut self.flight
        {
            // The port may still have it in a buffer; on a line of known rate it leaves at this time.
            flight.left = Some(self.busy_until.max(cx.now));
            if let Some((byte, at)) = self.early.take()
                && cx.now - at < AT_ONCE
            {
                self.word(cx, mem, byte);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if !self.link.ending.is_running() {
            return self.link.ending_deadline();
        }
        [self.link.timers.get(Timer::Pause), self.due()].into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.pump(cx, mem);
        if self.link.ending.is_running() {
            self.run_timers(cx);
        } else {
            self.link.tick_ending(cx);
        }
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match self.pending {
            PendingRequest::Read => {
                let offset = self.source.offset;
                Some(Request::Read { offset, into: self.source.lend(mem.source) })
            }
            pending => pending.plain(),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        self.replied(cx, mem, reply);
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        let note = self.link.notes.pop()?;
        Some(note.event(self.info(mem.name), self.link.event_texts()))
    }

    fn command(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, _: Command) {
        self.abort(cx);
    }

    fn wants(&self) -> Wants {
        let Self { link, queue, .. } = self;
        let block = queue.pending() > 0 && !link.timers.is_running(Timer::Pause);
        Wants::NONE
            .with(Wants::INPUT, self.takes_input())
            .with(Wants::OUTPUT, !self.started() || link.answers.pending() > 0 || block)
            .with(Wants::STORE, !self.pending.is_idle())
            .with(Wants::USER, !link.notes.is_empty())
    }

    fn status(&self) -> Status {
        let Self { state, link, queue, .. } = self;
        // Every file is acknowledged; only the answer to the final exchange is missing, and peers that
        // are done hang up. The last packet itself must have left, which a pause may delay.
        let said = *state == Sending::Goodbye && queue.pending() == 0;
        if said && link.ending.is_running() {
            return Status::Lingering(Outcome::Done);
        }
        link.ending.status()
    }

    fn stats(&self) -> &Stats {
        &self.link.stats
    }

    fn learned(&self) -> Learned {
        let Stats { file_bytes, repeated_bytes, .. } = self.link.stats;
        // Where the first error of a block was is not known: in the middle if there are few, sooner if there are many.
        let (carried, hits) = (file_bytes + repeated_bytes / 3, self.lengths.hits());
        Learned { round_trip: None, carried, hits, codes: None }
    }
}
