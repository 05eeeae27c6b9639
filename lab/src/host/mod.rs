//! Hosts: the cost of a computer between a program and a network.
//!
//! ```text
//! engine -> write -> [ process ] -> [ stack, driver ] -> network
//! engine <- read  <- [ process ] <- [ driver, stack ] <- network
//!                         \____one processor____/
//! ```
//!
//! A host has one processor. It serves packets and calls in the order of arrival, without preemption. The
//! process (the engine with its program) does one thing at a time: it sleeps until there is something to read,
//! or it is in a call. Parameters, after `host:`
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `send=300us+50ns` | processor time per packet to the network, and per byte | 0 |
//! | `load=0s+2us` | of `send`, the last part: the processor loads the card, which has the packet from the begin of that on (`nic`) | 0 |
//! | `receive=300us+50ns` | the same per packet from the network | 0 |
//! | `unload` | the processor takes each packet off its card itself, and not while it is at something else (`held` of `nic`) | packets come up at once |
//! | `write=COST` | processor time per call that hands bytes down, and per byte | 0 |
//! | `read=COST` | the same per call that takes bytes | 0 |
//! | `disk=500K` | bytes/s of the disk, through which goes what is written and read; the processor is free meanwhile | no time |
//! | `block=8K` | most bytes of one write or read call | 1024M |
//! | `mark=1` | this character begins a new write call: the mark of a Kermit packet; over TCP the process looks for input before each of them | none |
//! | `wake=1ms` | from the moment there is something to read until a sleeping process runs | 0 |
//! | `tick=10ms` | timers of the host run out at multiples of this | exact |
//! | `gather=60@30ms` | a read returns when COUNT characters are there, or TIME after the first (VMIN, VTIME; a UART's FIFO) | at once |
//!
//! # Think-time
//!
//! An engine takes no time: it answers at the time of the call. The time of a real program to encode, decode
//! and handle its packets is in the costs of `write` and `read`: `write` is paid between the engine's offer and
//! the first byte below, `read` between the byte's arrival and the call of the engine, and in both cases the
//! process does nothing else meanwhile. Data offered at one time is one batch, however it is split into calls
//! of [`Element::offer`]: it is split again, at each `mark` and after each `block`, and each piece is one write
//! call. [`HostUsage`] has the nanoseconds by cause.
//!
//! [`Element::offer`]: crate::element::Element::offer

mod calls;
mod hosted;
mod model;

pub(crate) use calls::{Inlet, Outlet};
pub use hosted::Hosted;
pub(crate) use hosted::PROCESSORS;
pub use model::HostModel;

use crate::element::End;
use crate::net::Cost;
use wetstring_proto::{Cx, Instant, TraceEvent};

/// Where the time of a host went, in nanoseconds. Monotonic counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostUsage {
    /// Processor: packets to the network.
    pub send_ns: u64,
    /// Processor: packets from the network.
    pub receive_ns: u64,
    /// Processor: write calls.
    pub write_ns: u64,
    /// Processor: read calls.
    pub read_ns: u64,
    /// Disk.
    pub disk_ns: u64,
    /// Data was available and the process was still asleep.
    pub wake_ns: u64,
    /// Write calls.
    pub writes: u64,
    /// Read calls.
    pub reads: u64,
}

impl HostUsage {
    /// All processor time.
    pub const fn processor_ns(&self) -> u64 {
        self.send_ns + self.receive_ns + self.write_ns + self.read_ns
    }
}

/// The kind of a piece of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    Send,
    Receive,
    Write,
    Read,
}

/// The processor and the process of a host.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) model: HostModel,
    /// When the processor is free, and the remaining picoseconds.
    processor: (u64, u64),
    /// When the process is done with its current work.
    pub(crate) process_free: u64,
    /// Remaining picoseconds of the disk.
    disk_carry: u128,
    pub(crate) usage: HostUsage,
    /// Not yet traced: when the process was busy, from, to; and when it waited for its disk.
    busy: Vec<(u64, u64)>,
    disk: Vec<(u64, u64)>,
    /// The trace is enabled.
    listened: bool,
}

impl Host {
    pub(crate) fn new(model: &HostModel) -> Self {
        Self {
            model: *model,
            processor: (0, 0),
            process_free: 0,
            disk_carry: 0,
            usage: HostUsage::default(),
            busy: Vec::new(),
            disk: Vec::new(),
            listened: false,
        }
    }

    /// Does a piece of work from `at` on, or as soon as the processor is free. Returns the end.
    pub(crate) fn work(&mut self, at: u64, what: Work, bytes: usize) -> u64 {
        let cost = match what {
            Work::Send => self.model.send,
            Work::Receive => self.model.receive,
            Work::Write => self.model.write,
            Work::Read => self.model.read,
        };
        if cost == Cost::NONE {
            return at;
        }
        let (free, carry) = self.processor;
        let (begin, carry) = if at > free { (at, 0) } else { (free, carry) };
        let ps = cost.of_ps(bytes) + u128::from(carry);
        let ns = u64::try_from(ps / 1000).unwrap_or(u64::MAX);
        self.processor = (begin.saturating_add(ns), (ps % 1000) as u64);
        *match what {
            Work::Send => &mut self.usage.send_ns,
            Work::Receive => &mut self.usage.receive_ns,
            Work::Write => &mut self.usage.write_ns,
            Work::Read => &mut self.usage.read_ns,
        } += ns;
        self.processor.0
    }

    /// The process makes a call that moves this many bytes, from `at` on or as soon as it can.
    pub(crate) fn call(&mut self, at: u64, what: Work, bytes: usize) -> u64 {
        let begin = self.process_free.max(at);
        let mut end = self.work(begin, what, bytes);
        if let Some(parts) =
            (bytes as u128 * 1_000_000_000).checked_div(u128::from(self.model.disk_bytes_per_s))
        {
            let rate = u128::from(self.model.disk_bytes_per_s);
            let rest = (bytes as u128 * 1_000_000_000) % rate + self.disk_carry;
            let ns = u64::try_from(parts + rest / rate).unwrap_or(u64::MAX);
            self.disk_carry = rest % rate;
            self.usage.disk_ns += ns;
            let done = end.saturating_add(ns);
            if self.listened && end < done {
                self.disk.push((end, done));
            }
            end = done;
        }
        *match what {
            Work::Write => &mut self.usage.writes,
            _ => &mut self.usage.reads,
        } += 1;
        self.note_busy(begin, end);
        self.process_free = end;
        end
    }

    /// The process had work pending from `from` to `to`, and was busy or asleep.
    pub(crate) fn note_busy(&mut self, from: u64, to: u64) {
        if self.listened && from < to {
            self.busy.push((from, to));
        }
    }

    /// Traces when the process of the host at this end was busy.
    pub(crate) fn tell(&mut self, cx: &mut Cx<'_>, end: End) {
        self.listened = cx.trace.enabled();
        for (from, to) in self.busy.drain(..) {
            let name = ["think_a", "think_b"][end.index()];
            cx.trace.record(Instant(from), &TraceEvent::Value { name, value: to - from });
        }
        for (from, to) in self.disk.drain(..) {
            let name = ["disk_a", "disk_b"][end.index()];
            cx.trace.record(Instant(from), &TraceEvent::Value { name, value: to - from });
        }
    }
}
