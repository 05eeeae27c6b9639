//! The file receiver: its doors and its memory.

use super::Core;
use crate::engine::{Blame, Command, Cx, Event, FailureKind, Outcome, Status, Wants};
use crate::file::{Reply, Request, StoreError};
use crate::machine::{Machine, WithMemory, engine, split};
use crate::memory::{Memory, MemoryTooSmall};
use crate::session::{Ending, PendingRequest, QueuedEvent, Timer};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::Wait;
use crate::xymodem::config::Config;
use crate::xymodem::states::Receiving;

/// Receives files by XMODEM or YMODEM. See [`Engine`](crate::Engine) for how to turn it.
///
/// XMODEM has no name: the store is offered an empty one, and decides. Neither protocol can
/// skip one file, so [`Command::CancelFile`] and [`Command::CancelBatch`] do what
/// [`Command::Abort`] does, and a file that the store refuses ends the transfer.
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
pub(super) struct Mem<'a> {
    /// File bytes for the store; blocks are read directly into place.
    pub(super) file: &'a mut [u8],
    /// The name of the current file.
    pub(super) name: &'a mut [u8],
}

impl Machine for Core {
    type Lengths = [usize; 2];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 2], memory: &mut [u8]) -> Mem<'_> {
        split!(memory, lengths => file, name);
        Mem { file, name }
    }

    /// Processes input and store replies; idempotent.
    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.began.is_none() {
            self.began = Some(cx.now);
            self.base = cx.now;
            self.heard = cx.now;
            self.good = cx.now;
            self.answered = cx.now;
            self.link.port.moved = cx.now;
            if self.is_batch() {
                self.say_start(cx);
            }
        }
        let _ = self.link.may_send(cx.now);
        let store = !self.pending.is_idle() && !self.takes_input(mem.file.len());
        self.link.waits = self.link.waits.note(cx, || match self.link.ending {
            Ending::No if store => Wait::Store,
            Ending::No => Wait::Peer,
            _ => Wait::Nothing,
        });
        if !self.link.ending.is_running() {
            let stay = if self.link.config.line.reliable == Some(true) {
                Duration::ZERO
            } else {
                self.link.config.linger.get().max(self.gap * 3)
            };
            return self.link.pump_ending(cx, self.pending.is_idle(), stay);
        }
        if self.pending.is_idle() && self.state == Receiving::Data {
            let full = !self.sink.has_room(mem.file.len(), self.reader.longest());
            let pending = self.sink.pending();
            if pending >= self.write_at || (full && pending > 0) {
                self.pending = PendingRequest::Write;
            }
        }
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        self.pump(cx, mem);
        let mut used = 0;
        while used < bytes.len() {
            match self.link.ending {
                Ending::No => {}
                Ending::Linger { outcome: Outcome::Done, .. } => {
                    let count = self.linger_input(cx, mem, &bytes[used..]);
                    used += count;
                    self.link.stats.wire_in_bytes += count as u64;
                    break;
                }
                Ending::LastPackets(Outcome::Done) => break,
                _ => {
                    let count = self.link.pass_over(cx, bytes.len() - used);
                    used += count;
                    self.link.stats.wire_in_bytes += count as u64;
                    break;
                }
            }
            if !self.takes_input(mem.file.len()) {
                break;
            }
            used += self.listen(cx, mem, &bytes[used..]);
        }
        if used > 0 {
            self.heard = cx.now;
        }
        self.link.comings = self.link.comings.note(cx, used, &self.link.stats);
        used
    }

    fn transmit<'a>(&'a mut self, cx: &mut Cx<'_>, _: Mem<'a>) -> &'a [u8] {
        if self.link.may_send(cx.now) { self.link.lend() } else { &[] }
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, len: usize) {
        if self.link.took(cx, len) > 0 && self.link.answers.pending() == 0 {
            self.base = cx.now;
            if self.tries == 0 && self.starts <= 1 {
                self.answered = cx.now;
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if !self.link.ending.is_running() {
            return self.link.ending_deadline();
        }
        let due = self.due(self.link.config.sink_len());
        [self.link.timers.get(Timer::Pause), due].into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.pump(cx, mem);
        if self.link.ending.is_running() {
            self.run_timers(cx, mem);
        } else {
            self.link.tick_ending(cx);
        }
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match self.pending {
            PendingRequest::Offer => Some(Request::Offer { info: self.info(mem.name) }),
            PendingRequest::Write => {
                let (offset, range) = self.sink.lend();
                Some(Request::Write { offset, bytes: &mem.file[range] })
            }
            pending => pending.plain(),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, reply: Reply<'_>) {
        let pending = self.pending.take();
        match (pending, reply) {
            (PendingRequest::Nothing, _) => {}
            (PendingRequest::Offer, Reply::Accept { offset: 0 }) => self.accepted(cx),
            (PendingRequest::Offer, Reply::Accept { .. }) => {
                // Neither protocol can resume a file.
                self.file.open = true;
                self.fail(cx, Blame::Local, FailureKind::Unsupported, true);
            }
            (PendingRequest::Offer, Reply::Refuse(why)) => {
                self.link.stats.files_skipped += 1;
                self.link.notes.push(QueuedEvent::Refused { why: Some(why), by_peer: false });
                self.fail(cx, Blame::Local, FailureKind::Refused, true);
            }
            (PendingRequest::Write, Reply::Done) => {
                self.sink.taken(!self.reader.mid_block());
                match self.state {
                    Receiving::Close => self.close_on(),
                    Receiving::End if self.sink.pending() > 0 => {
                        self.pending = PendingRequest::Write;
                    }
                    Receiving::End => self.pending = PendingRequest::close(false),
                    _ => {}
                }
            }
            (PendingRequest::Close { complete: true, .. }, Reply::Done) => self.closed(cx),
            (PendingRequest::Close { .. }, _) if !self.link.ending.is_running() => {
                self.file.open = false;
            }
            (PendingRequest::Write, _) if !self.link.ending.is_running() => {
                self.pending = PendingRequest::close(false);
            }
            (_, Reply::Failed(error)) => self.store_failed(cx, pending, error),
            // A reply to another request: a bug of the host.
            _ => self.store_failed(cx, pending, StoreError::Unsupported),
        }
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        let note = self.link.notes.pop()?;
        Some(note.event(self.info(mem.name), self.link.event_texts()))
    }

    fn command(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, _: Command) {
        self.abort(cx);
    }

    fn wants(&self) -> Wants {
        let link = &self.link;
        let words = link.answers.pending() > 0 && !link.timers.is_running(Timer::Pause);
        Wants::NONE
            .with(Wants::INPUT, self.takes_input(link.config.sink_len()))
            .with(Wants::OUTPUT, !self.started() || words)
            .with(Wants::STORE, !self.pending.is_idle())
            .with(Wants::USER, !link.notes.is_empty())
    }

    fn status(&self) -> Status {
        match self.link.ending {
            // The last file is durable and the sender knows it, or will when the last packet has left.
            Ending::LastPackets(Outcome::Done) => Status::Lingering(Outcome::Done),
            _ => self.link.ending.status(),
        }
    }

    fn stats(&self) -> &Stats {
        &self.link.stats
    }
}
