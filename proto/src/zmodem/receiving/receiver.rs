//! The file receiver: its doors and its memory.

use super::empty::Empty;
use super::{Core, Expecting, Mem};
use crate::engine::{Blame, Command, Cx, Event, FailureKind, Outcome, Status, Wants};
use crate::file::{Remote, Reply, Request};
use crate::machine::{Machine, WithMemory, engine, split};
use crate::memory::{Memory, MemoryTooSmall};
use crate::session::{Ending, PendingRequest, Timer};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::{TraceEvent, Wait};
use crate::zmodem::config::Config;
use crate::zmodem::packet::PACKS;
use crate::zmodem::states::Receiving;

/// Time in which a failed transfer's last frames drain.
const DRAIN: Duration = Duration::from_millis(400);

/// Receives files by ZMODEM. See [`Engine`](crate::Engine) for how to turn it.
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

impl Machine for Core {
    type Lengths = [usize; 4];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 4], memory: &mut [u8]) -> Mem<'_> {
        split!(memory, lengths => file, out, hold, name);
        Mem { file, out, hold, name }
    }

    /// Sends what is due when nothing else is queued.
    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.link.timers.expire(Timer::Pause, cx.now);
        if self.is_fresh() {
            self.started = true;
            self.link.port.moved = cx.now;
            self.link.spoke = cx.now;
            self.say_ready(cx, mem, false);
        }
        self.link.waits = self.link.waits.note(cx, || match self.link.ending {
            Ending::No if self.blocked() && !self.pending.is_idle() => Wait::Store,
            Ending::No => Wait::Peer,
            _ => Wait::Nothing,
        });
        let Ending::LastPackets(outcome) = self.link.ending else { return };
        if !self.pending.is_idle() || !self.link.last_packets_are_out(cx.now) {
            return;
        }
        if self.run_at_the_end(outcome) {
            return;
        }
        let stay = match outcome {
            Outcome::Done => self.link.config.linger.get(),
            Outcome::Failed(_) => DRAIN,
        };
        self.link.linger(cx, outcome, stay);
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        let longest = self.link.config.longest_taken();
        let mut used = 0;
        while used < bytes.len() {
            match self.link.ending {
                Ending::No if self.blocked() => break,
                Ending::No => {}
                Ending::Over(_) => break,
                Ending::LastPackets(Outcome::Done)
                | Ending::Linger { outcome: Outcome::Done, .. } => {
                    let count = self.linger_input(cx, mem, &bytes[used..]);
                    used += count;
                    self.link.stats.wire_in_bytes += count as u64;
                    break;
                }
                _ => {
                    self.link.stats.wire_in_bytes += (bytes.len() - used) as u64;
                    used = bytes.len();
                    break;
                }
            }
            let fresh = self.link.reader.in_data() && self.link.reader.partial() == 0;
            if fresh && !self.sink.room(mem.file, longest) {
                // The store has to accept some first.
                self.pending = PendingRequest::Write;
                break;
            }
            if let Some((count, header)) = self.ends_at_once(&bytes[used..]) {
                used += count;
                self.link.stats.wire_in_bytes += count as u64;
                self.heard = cx.now;
                self.link.reader.hunt();
                self.on_header(cx, mem, &header);
                continue;
            }
            let room = match self.expecting {
                Expecting::Runs | Expecting::Packed => &mut mem.hold[..longest],
                Expecting::Nothing => &mut [],
                _ => &mut self.sink.space(mem.file)[..longest],
            };
            let (count, found) = self.link.reader.next(room, &bytes[used..]);
            used += count;
            self.link.stats.wire_in_bytes += count as u64;
            self.heard = cx.now;
            match found {
                None => break,
                Some(found) => {
                    self.empty = Empty::No;
                    self.on_found(cx, mem, found);
                }
            }
        }
        self.link.stats.noise_bytes = self.link.reader.noise_bytes();
        self.link.comings = self.link.comings.note(cx, used, &self.link.stats);
        used
    }

    fn transmit<'a>(&'a mut self, cx: &mut Cx<'_>, mem: Mem<'a>) -> &'a [u8] {
        self.link.lend(mem.out, cx.now)
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, len: usize) {
        self.link.sent(cx, len);
    }

    fn deadline(&self) -> Option<Instant> {
        if !self.link.ending.is_running() {
            return self.link.ending_deadline();
        }
        let paused = self.link.timers.get(Timer::Pause);
        [self.link.stalled_at(), self.overdue(), paused].into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if !self.link.ending.is_running() {
            return self.link.ending.tick(&self.link.timers, cx.now);
        }
        if self.link.stalled_at().is_some_and(|at| at <= cx.now) {
            return self.fail(cx, mem, Blame::Line, FailureKind::Silence);
        }
        if self.overdue().is_none_or(|overdue| overdue > cx.now) {
            return;
        }
        if self.ended_at_once(cx, mem) {
            return;
        }
        self.link.stats.timeouts += 1;
        let waiting_for = self.state.name();
        let number = self.position;
        cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for, number });
        // Much useless data may be in flight after a ZSKIP.
        let heard = self.link.spoke.max(self.heard);
        if cx.now - heard >= self.link.patience() {
            self.peer_ended(b"");
            return self.fail(cx, mem, Blame::Peer, FailureKind::Silence);
        }
        if self.link.asked_enough() && self.heard > self.link.spoke {
            return self.too_often(cx, mem);
        }
        self.link.timing.timed_out();
        if self.state == Receiving::Skip && self.link.output.pending() == 0 {
            // A slow sender that has received our ZSKIP would skip the next file at a
            // second one; one that has not retransmits its ZFILE.
            return self.say_garbled(cx, mem);
        }
        self.repeat(cx, mem);
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match self.pending {
            PendingRequest::Offer => Some(Request::Offer { info: self.info(mem.name) }),
            PendingRequest::Write => {
                let (offset, range) = self.sink.lend();
                Some(Request::Write { offset, bytes: &mem.file[range] })
            }
            PendingRequest::Unpack { begin } if PACKS => {
                Some(self.undo_request(mem.file, mem.hold, begin))
            }
            PendingRequest::Run { len } => {
                Some(Request::Remote(Remote::Run { command: &mem.name[..len] }))
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

    fn command(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, command: Command) {
        if !self.link.ending.is_running() {
            return;
        }
        let nothing_yet = self.files == 0;
        match command {
            Command::Abort => self.fail(cx, mem, Blame::Local, FailureKind::Aborted),
            Command::CancelBatch if nothing_yet => {
                self.fail(cx, mem, Blame::Local, FailureKind::Aborted);
            }
            Command::CancelBatch | Command::CancelFile => {
                self.last |= command == Command::CancelBatch;
                match self.state {
                    Receiving::Offer => self.unwanted = true,
                    Receiving::Check if !self.file.open => self.unwanted = true,
                    Receiving::Data | Receiving::Check => self.skip_open(cx),
                    _ => {}
                }
            }
        }
    }

    fn wants(&self) -> Wants {
        Wants::NONE
            .with(Wants::INPUT, self.takes_input())
            .with(Wants::OUTPUT, self.link.output.pending() > 0 || self.is_fresh())
            .with(Wants::STORE, !self.pending.is_idle())
            .with(Wants::USER, !self.link.notes.is_empty())
    }

    fn status(&self) -> Status {
        self.link.ending.status()
    }

    fn stats(&self) -> &Stats {
        &self.link.stats
    }

    fn if_closed(&self) -> Option<Outcome> {
        match self.link.ending {
            // The sender has said that this is all, and it is stored, whether our ZFIN leaves or not.
            Ending::LastPackets(Outcome::Done) if self.pending.is_idle() => Some(Outcome::Done),
            _ => self.status().outcome(),
        }
    }
}
