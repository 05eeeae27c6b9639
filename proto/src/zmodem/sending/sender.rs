//! The file sender: its doors and its memory.

use super::Core;
use crate::engine::{Blame, Command, Cx, Event, FailureKind, Outcome, Status, Wants};
use crate::file::{FileInfo, Reply, Request};
use crate::learned::Learned;
use crate::machine::{Machine, WithMemory, engine, split};
use crate::memory::{Memory, MemoryTooSmall};
use crate::session::{Ending, PendingRequest, Timer};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::TraceEvent;
use crate::zmodem::config::Config;
use crate::zmodem::frame::Found;
use crate::zmodem::info::MAX_NAME;
use crate::zmodem::packet::PACKS;
use crate::zmodem::states::Sending;
use core::fmt;

/// Sends files by ZMODEM. See [`Engine`](crate::Engine) for how to turn it.
#[derive(Debug)]
pub struct Sender<M>(WithMemory<Core, M>);

engine!(Sender);

impl<M: Memory> Sender<M> {
    /// A sender in `memory`, which takes at least [`Config::sender_memory`] bytes.
    pub fn new(config: Config, memory: M) -> Result<Self, MemoryTooSmall> {
        let lengths = config.sender_lengths();
        WithMemory::new(Core::new(config), lengths, memory).map(Self)
    }

    /// Sends this command for the receiver's system instead of files, at most 1023 bytes without a
    /// NUL. The receiver reports its status, or with `immediate` only its receipt
    /// ([`Event::Completed`](crate::Event::Completed)).
    pub fn with_command(mut self, command: &[u8], immediate: bool) -> Result<Self, BadCommand> {
        let most = MAX_NAME - 1;
        if command.is_empty() || command.len() > most || command.contains(&0) {
            return Err(BadCommand { most, len: command.len() });
        }
        let (core, mem) = self.0.parts();
        mem.name[..command.len()].copy_from_slice(command);
        mem.name[command.len()] = 0;
        core.send_command(command.len() + 1, immediate);
        Ok(self)
    }
}

/// A command that cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadCommand {
    /// Longest command in bytes.
    pub most: usize,
    /// Length of this one.
    pub len: usize,
}

impl fmt::Display for BadCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { most, len } = self;
        write!(f, "expected a command of 1 to {most} bytes without a NUL, got {len} bytes")
    }
}

impl core::error::Error for BadCommand {}

/// The memory, divided.
pub(super) struct Mem<'a> {
    /// File bytes between the store and the subpackets.
    pub(super) source: &'a mut [u8],
    /// The queue towards the port.
    pub(super) out: &'a mut [u8],
    /// The data of one run-coded subpacket.
    pub(super) coded: &'a mut [u8],
    /// The name of the current file, and at the end that of the file before.
    pub(super) name: &'a mut [u8],
    /// A compressed chunk of the file.
    pub(super) packed: &'a mut [u8],
}

impl Machine for Core {
    type Lengths = [usize; 5];
    type Mem<'a> = Mem<'a>;

    fn divide(lengths: [usize; 5], memory: &mut [u8]) -> Mem<'_> {
        split!(memory, lengths => source, out, coded, name, packed);
        Mem { source, out, coded, name, packed }
    }

    /// Queues as much as the port and the peer accept.
    fn pump(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        self.pump_frames(cx, mem);
        self.link.waits = self.link.waits.note(cx, || self.waits_for());
    }

    fn receive(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        let mut used = 0;
        if self.link.ending.is_running() && self.state == Sending::Start {
            // A waiting receiver sends first.
            self.start(cx, mem);
        }
        if self.state == Sending::Init && !bytes.is_empty() {
            let asks = |byte: &u8| matches!(byte, b'C' | b'G' | 0x15);
            self.other_protocol += u32::from(bytes.iter().all(asks));
        }
        while used < bytes.len() {
            match self.link.ending {
                Ending::No => {}
                Ending::Over(_) => break,
                Ending::LastPackets(Outcome::Done)
                | Ending::Linger { outcome: Outcome::Done, .. } => {
                    // Only the line end after ZFIN is ours.
                    let tail = self.link.reader.take_tail(&bytes[used..]);
                    used += tail;
                    self.link.stats.wire_in_bytes += tail as u64;
                    if let Ending::Linger { outcome, .. } = self.link.ending
                        && !self.link.reader.in_tail()
                    {
                        self.link.ending = Ending::Over(outcome);
                    }
                    break;
                }
                _ => {
                    self.link.stats.wire_in_bytes += (bytes.len() - used) as u64;
                    used = bytes.len();
                    break;
                }
            }
            let (count, found) = self.link.reader.next(&mut [], &bytes[used..]);
            used += count;
            self.link.stats.wire_in_bytes += count as u64;
            match found {
                None => break,
                Some(Found::Header(header)) => self.on_header(cx, mem, &header),
                Some(Found::BadHeader { why }) => self.on_damaged(cx, mem, why),
                Some(Found::Cancel) => self.cancelled_by_peer(cx, mem),
                Some(Found::Data { .. } | Found::BadData { .. }) => {}
            }
        }
        self.link.stats.noise_bytes = self.link.reader.noise_bytes();
        used
    }

    fn transmit<'a>(&'a mut self, cx: &mut Cx<'_>, mem: Mem<'a>) -> &'a [u8] {
        self.link.lend(mem.out, cx.now)
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, _: &mut Mem<'_>, len: usize) {
        self.link.sent(cx, len);
        let taken = self.link.output.taken();
        self.flow.left(taken, self.link.arrival(cx.now));
        if PACKS && self.state == Sending::Data {
            self.packing.took(cx, taken, self.link.output.pending());
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if !self.link.ending.is_running() {
            return self.link.ending_deadline();
        }
        let paused = self.link.timers.get(Timer::Pause);
        let times = [self.link.stalled_at(), self.overdue(), self.nudge_at(), paused];
        times.into_iter().flatten().min()
    }

    fn tick(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if !self.link.ending.is_running() {
            return self.link.ending.tick(&self.link.timers, cx.now);
        }
        if self.link.stalled_at().is_some_and(|at| at <= cx.now) {
            return self.fail(cx, mem, Blame::Line, FailureKind::Silence);
        }
        if self.nudge_at().is_some_and(|at| at <= cx.now) {
            return self.nudge();
        }
        let Some(question) =
            self.link.question.filter(|_| self.overdue().is_some_and(|o| o <= cx.now))
        else {
            return;
        };
        self.link.stats.timeouts += 1;
        let number = self.source.position();
        let waiting_for = self.state.name();
        cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for, number });
        let patience = self.link.patience() + self.hidden(Duration::ZERO);
        let silent = cx.now - question.since.max(self.link.spoke) >= patience;
        if silent && !matches!(self.state, Sending::Finish | Sending::Command) {
            let other = self.state == Sending::Init && self.other_protocol >= 3;
            let kind = if other { FailureKind::WrongPeer } else { FailureKind::Silence };
            return self.fail(cx, mem, Blame::Peer, kind);
        }
        self.link.timing.timed_out();
        self.repeat(cx, mem);
    }

    fn request<'a>(&'a mut self, mem: Mem<'a>) -> Option<Request<'a>> {
        match self.pending {
            PendingRequest::Read => {
                let offset = self.source.offset;
                Some(Request::Read { offset, into: self.source.lend(mem.source) })
            }
            PendingRequest::Pack { begin, .. } if PACKS => {
                Some(self.pack_request(mem.source, mem.packed, begin))
            }
            pending => pending.plain(),
        }
    }

    fn reply(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, reply: Reply<'_>) {
        self.replied(cx, mem, reply);
    }

    fn event<'a>(&'a mut self, mem: Mem<'a>) -> Option<Event<'a>> {
        let note = self.link.notes.pop()?;
        let of_last = self.old_notes > 0;
        self.old_notes -= usize::from(of_last);
        let (at, file) = if of_last { (self.told_at, &self.told) } else { (0, &self.file) };
        let info = FileInfo { name: &mem.name[at..][..file.name_len], ..file.info };
        Some(note.event(info, self.link.event_texts()))
    }

    fn command(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, command: Command) {
        let between = matches!(self.state, Sending::Next | Sending::Close);
        let before = matches!(self.state, Sending::Start | Sending::Init | Sending::Attention);
        let moving =
            matches!(self.state, Sending::File | Sending::Data | Sending::Eof | Sending::Skip);
        match command {
            // Nothing is left to cancel.
            _ if matches!(self.state, Sending::Finish | Sending::End) => {}
            Command::CancelBatch if between => self.last = true,
            // There is no file yet.
            Command::CancelFile if between || (before && self.order.is_none()) => {}
            Command::CancelFile if moving => self.give_up_file(cx, mem),
            Command::CancelBatch if moving => {
                self.last = true;
                self.give_up_file(cx, mem);
            }
            _ => self.fail(cx, mem, Blame::Local, FailureKind::Aborted),
        }
    }

    fn wants(&self) -> Wants {
        let fresh = self.state == Sending::Start && self.link.ending.is_running();
        Wants::NONE
            .with(Wants::INPUT, !matches!(self.link.ending, Ending::Over(_)))
            .with(Wants::OUTPUT, self.link.output.pending() > 0 || fresh)
            .with(Wants::STORE, !self.pending.is_idle())
            .with(Wants::USER, !self.link.notes.is_empty())
    }

    fn status(&self) -> Status {
        let Self { state, link, .. } = self;
        // Every file is closed at the peer, and peers that are done hang up. Where that can
        // be (not on TCP) only the final exchange is missing.
        let reliable = link.config.line.reliable == Some(true);
        if *state == Sending::Finish && link.ending.is_running() && !reliable {
            return Status::Lingering(Outcome::Done);
        }
        link.ending.status()
    }

    fn stats(&self) -> &Stats {
        &self.link.stats
    }

    fn learned(&self) -> Learned {
        let Stats { file_bytes, naks_in, .. } = self.link.stats;
        let round_trip = self.link.timing.shortest();
        Learned { round_trip, carried: file_bytes, hits: naks_in, codes: None }
    }
}
