//! TCP in the laboratory: two real stacks over a network, forming one element that carries bytes.
//!
//! ```text
//!  engine | process -> send buffer -> [smoltcp] -> processor -> network -> processor -> [smoltcp]
//!         |                                                                -> receive buffer -> process | engine
//! ```
//!
//! The stacks are smoltcp's; all time is the laboratory's. The hosts at both ends (see
//! [`crate::host`]) pay for packets and for calls with one processor each. Words, after `tcp:`
//! (a pair `x/y` is for end A and end B):
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `mss=1460` | most bytes of data in a segment; a packet has 40 more | 1460 |
//! | `window=32K` | receive buffer, and so the greatest window | 32K |
//! | `sendbuf=32K` | send buffer | 32K |
//! | `nagle`, `nodelay` | a small segment waits while data is under way [RFC 896], or not | `nagle` |
//! | `delack=200ms` | maximum delay of an acknowledgement; `off` | off |
//! | `cc=reno` | `none`, `reno`, `cubic` | `reno` |
//! | `handshake` | the connection is made at the first offer; else it stands from the beginning | no |
//! | `queue=50` | packets that wait for the network in each host | 50 |
//! | `port=1649` | the port at B; over SLIP it says what is urgent | 1649; 20 for `ftp` over SLIP |
//! | `checks` | checksums are computed and verified | only over SLIP, which has no check of its own |
//! | `seed=7` | initial sequence numbers, the calling port and the phase of ticks | 1 |
//!
//! A host's `tick` is the clock that its stack sees: with `host:tick=200ms` and `delack=200ms`
//! an acknowledgement goes with the next beat of a clock that beats all the time, as in BSD, where
//! the wait is between nothing and 200 ms.
//!
//! How smoltcp differs from other stacks is in `docs/decisions/041-tcp-in-the-laboratory.md`.

mod ftp;
mod model;
mod stack;

pub use ftp::{Bulk, BulkReport, StopBulk};
pub use model::{Congestion, TcpModel};

use crate::element::{Element, End, Unit, Usage};
use crate::host::{Host, HostModel, HostUsage, Inlet, Outlet, Work};
use crate::net::DATAGRAM_MAX;
use crate::random::Random;
use stack::Stack;
use std::collections::VecDeque;
use wetstring_proto::{Cx, Instant};

/// A TCP connection over a network, from a program at A to a program at B.
pub struct Tcp {
    network: Box<dyn Element>,
    sides: [Side; 2],
    buffer: Vec<u8>,
    /// When the next internal event is due.
    next_inside: u64,
    opened: bool,
    usage: [Usage; 2],
}

/// The longest block that a process gets stuck with, in bytes.
const BLOCK_MAX: usize = 1 << 20;

/// One host.
struct Side {
    host: Host,
    stack: Stack,
    outlet: Outlet,
    inlet: Inlet,
    /// Packets being processed, and when that ends.
    coming: VecDeque<(u64, Vec<u8>)>,
    going: VecDeque<(u64, Vec<u8>)>,
    /// The network did not accept the first of them.
    refused: bool,
    /// The stack found no place for a packet.
    full: bool,
    /// When a timer of the stack expires, in ns.
    timer: u64,
    /// Length and phase of a tick, in ns.
    tick: (u64, u64),
    queue: usize,
    cut_short: bool,
}

impl std::fmt::Debug for Tcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stacks = [&self.sides[0].stack, &self.sides[1].stack];
        f.debug_struct("Tcp").field("stacks", &stacks).finish_non_exhaustive()
    }
}

impl Side {
    fn new(model: &TcpModel, host: &HostModel, end: End) -> Self {
        // The stack's clock has microseconds; so have its ticks.
        let tick = u64::try_from(host.tick.as_micros()).unwrap_or(u64::MAX / 1000) * 1000;
        let name = ["a", "b"][end.index()];
        let phase = Random::stream(model.seed, "tcp", &format!("tick {name}")).below(tick);
        Self {
            host: Host::new(host),
            stack: Stack::new(model, end),
            outlet: Outlet::default(),
            inlet: Inlet::default(),
            coming: VecDeque::new(),
            going: VecDeque::new(),
            refused: false,
            full: false,
            timer: u64::MAX,
            tick: (tick, phase),
            queue: model.queue,
            cut_short: false,
        }
    }

    /// The time that the stack sees, in microseconds.
    fn clock(&self, now: u64) -> u64 {
        match self.tick {
            (0, _) => now / 1000,
            (tick, phase) => (now + phase) / tick * tick / 1000,
        }
    }

    /// The first moment at which the stack sees this time.
    fn moment(&self, micros: u64) -> u64 {
        let at = micros.saturating_mul(1000);
        match self.tick {
            (0, _) => at,
            (tick, phase) => at.div_ceil(tick).saturating_mul(tick).saturating_sub(phase),
        }
    }

    /// When the next event of this host is due.
    fn next(&self) -> u64 {
        let coming = self.coming.front().map(|(at, _)| *at);
        let going = self.going.front().filter(|_| !self.refused).map(|(at, _)| *at);
        // A full send buffer takes more when an acknowledgement has arrived, not before.
        let writes = self.outlet.next().filter(|_| !self.cut_short);
        let reads = self.inlet.next(&self.host).filter(|_| self.inlet.ready().is_none());
        let all = [coming, going, writes, reads, Some(self.timer)];
        all.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// How much the process writes at one time: nothing while it is in the middle of a call, else
    /// what the send buffer takes, in whole blocks. If that is less than a block it is a block: then
    /// the process is stuck in that call until the rest has found room.
    fn write_room(&self) -> usize {
        let room = self.stack.send_room();
        if room == 0 || !self.outlet.is_idle() {
            return 0;
        }
        match usize::try_from(self.host.model.block_bytes) {
            Ok(block) if block <= BLOCK_MAX => (room / block).max(1) * block,
            _ => room,
        }
    }

    /// How many of these bytes the process reads at once. A program whose packets begin with a mark writes one
    /// packet, and checks for input before the next.
    fn one_call(&self, bytes: &[u8], room: usize) -> usize {
        let most = bytes.len().min(room);
        let Some(mark) = self.host.model.mark else { return most };
        let begun = self.outlet.len() > 0;
        let next = |from: usize| bytes[from..most].iter().position(|byte| *byte == mark);
        match (begun, next(0)) {
            (true, Some(at)) => at,
            (false, Some(0)) => next(1.min(most)).map_or(most, |at| at + 1),
            (false, Some(at)) => at,
            (_, None) => most,
        }
    }

    /// Does the host's work at `now`; returns whether there was any.
    fn turn(&mut self, now: u64) -> bool {
        let mut touched = self.timer <= now;
        let clock = self.clock(now);
        while let Some((at, _)) = self.coming.front()
            && *at <= now
            && let Some((_, packet)) = self.coming.pop_front()
        {
            self.stack.come(clock, packet);
            // Each packet has its answer, though another comes at the same time.
            self.stack.go(clock);
            touched = true;
        }
        self.inlet.available(&self.host, now, self.stack.readable());
        let most = self.inlet.wants(&self.host, now);
        if most > 0 {
            let inlet = &mut self.inlet;
            self.stack.receive(most, |bytes| inlet.bring(bytes));
            self.inlet.read(&mut self.host, now);
            self.inlet.available(&self.host, now, self.stack.readable());
            touched = true;
        }
        self.cut_short = false;
        loop {
            let due = self.outlet.due(&mut self.host, now);
            if due.is_empty() {
                break;
            }
            let taken = self.stack.send(due);
            if taken == 0 {
                self.cut_short = true;
                break;
            }
            self.outlet.went(&mut self.host, now, taken);
            touched = true;
        }
        if touched {
            self.run_stack(now, clock);
        }
        touched
    }

    /// Lets the stack make packets, and gives them to the processor.
    fn run_stack(&mut self, now: u64, clock: u64) {
        self.stack.limit(self.queue.saturating_sub(self.going.len()));
        self.stack.go(clock);
        while let Some(packet) = self.stack.outgoing() {
            let at = self.host.work(now, Work::Send, packet.len());
            self.going.push_back((at, packet));
        }
        self.full = self.going.len() >= self.queue;
        let timer = self.stack.timer(clock);
        self.timer = timer.map_or(u64::MAX, |at| self.moment(at).max(now + 1));
    }
}

impl Tcp {
    /// A connection of this model over a network that carries datagrams, between these hosts.
    ///
    /// # Panics
    ///
    /// If the network carries bytes.
    pub fn new(model: &TcpModel, network: Box<dyn Element>, hosts: &[HostModel; 2]) -> Self {
        assert!(network.unit() == Unit::Datagrams, "expected a network that carries datagrams");
        let mut sides = End::BOTH.map(|end| Side::new(model, &hosts[end.index()], end));
        if !model.handshake {
            shake_hands(&mut sides);
        }
        Self {
            network,
            sides,
            buffer: vec![0; DATAGRAM_MAX],
            next_inside: u64::MAX,
            opened: !model.handshake,
            usage: [Usage::default(); 2],
        }
    }

    /// What the time of the host at this end went into.
    pub fn host_usage(&self, end: End) -> HostUsage {
        self.sides[end.index()].host.usage
    }

    /// What the network carried of the packets from this end.
    pub fn network_usage(&self, end: End) -> Usage {
        self.network.usage(end)
    }

    /// Others have used the network since: what happens inside next may come sooner.
    pub(crate) fn look_again(&mut self) {
        self.look_ahead();
    }

    /// Computes when the next internal event is due.
    fn look_ahead(&mut self) {
        let mut next = u64::MAX;
        for end in End::BOTH {
            let side = &self.sides[end.index()];
            next = next.min(side.next());
            let comes = self.network.next(end);
            let room = self.network.room(end).filter(|_| side.refused);
            let at = comes.into_iter().chain(room).min().map_or(u64::MAX, Instant::as_nanos);
            next = next.min(at);
        }
        self.next_inside = next;
    }

    /// Processes all internal events due by now.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now.as_nanos();
        if !self.opened {
            return;
        }
        let mut last = 0;
        let mut idle = 0;
        while self.next_inside <= now {
            let at = self.next_inside.max(last);
            let moved = self.settle(&mut Cx { now: Instant(at), trace: &mut *cx.trace });
            self.look_ahead();
            // Nothing moves at this time: a lasting refusal.
            idle = if moved || at > last { 0 } else { idle + 1 };
            last = at;
            if idle > 2 {
                break;
            }
        }
    }

    /// Processes all events of one instant.
    fn settle(&mut self, cx: &mut Cx<'_>) -> bool {
        let mut moved = false;
        loop {
            let mut again = false;
            for end in End::BOTH {
                again |= self.arrive(cx, end);
                again |= self.sides[end.index()].turn(cx.now.as_nanos());
                again |= self.leave(cx, end);
            }
            moved |= again;
            if !again {
                for end in End::BOTH {
                    self.sides[end.index()].host.tell(cx, end);
                }
                return moved;
            }
        }
    }

    /// Takes packets from the network.
    fn arrive(&mut self, cx: &mut Cx<'_>, end: End) -> bool {
        let side = &mut self.sides[end.index()];
        let mut moved = false;
        while self.network.next(end).is_some_and(|at| at <= cx.now) {
            let len = self.network.emit(cx, end, &mut self.buffer);
            if len == 0 {
                break;
            }
            let at = side.host.work(cx.now.as_nanos(), Work::Receive, len);
            let packet = side.stack.buffer(&self.buffer[..len]);
            side.coming.push_back((at, packet));
            moved = true;
        }
        moved
    }

    /// Packets go into the network.
    fn leave(&mut self, cx: &mut Cx<'_>, end: End) -> bool {
        let now = cx.now.as_nanos();
        let side = &mut self.sides[end.index()];
        let mut moved = false;
        side.refused = false;
        while let Some((at, packet)) = side.going.front()
            && *at <= now
        {
            if self.network.offer(cx, end, packet) == 0 {
                side.refused = true;
                break;
            }
            if let Some((_, packet)) = side.going.pop_front() {
                side.stack.recycle(packet);
            }
            moved = true;
        }
        if moved && side.full {
            // The stack may have more.
            let clock = side.clock(now);
            side.run_stack(now, clock);
        }
        moved
    }
}

/// Makes the connection before the beginning, over no network and in no time.
fn shake_hands(sides: &mut [Side; 2]) {
    let clocks = [sides[0].clock(0), sides[1].clock(0)];
    // A SYN, its answer, and an acknowledgement.
    for _ in 0..3 {
        for end in End::BOTH {
            sides[end.index()].stack.go(clocks[end.index()]);
            while let Some(packet) = sides[end.index()].stack.outgoing() {
                let other = end.other().index();
                sides[other].stack.come(clocks[other], packet);
            }
        }
    }
    debug_assert!(sides.iter().all(|side| side.stack.is_open()), "the connection stands");
    for side in sides {
        let timer = side.stack.timer(side.clock(0));
        side.timer = timer.map_or(u64::MAX, |at| side.moment(at).max(1));
    }
}

impl Element for Tcp {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let now = cx.now.as_nanos();
        if !self.opened && !bytes.is_empty() {
            self.opened = true;
            // The stack at A has a SYN to send; the one at B listens.
            self.sides[0].timer = now;
            self.look_ahead();
        }
        self.advance(cx);
        let side = &mut self.sides[end.index()];
        let room = side.write_room().saturating_sub(side.outlet.len());
        let len = side.one_call(bytes, room);
        if len > 0 {
            side.outlet.offer(&mut side.host, now, &bytes[..len]);
            self.usage[end.index()].bytes_in += len as u64;
            self.next_inside = self.next_inside.min(now + 1);
        }
        len
    }

    fn next(&self, end: End) -> Option<Instant> {
        let ready = self.sides[end.index()].inlet.ready().unwrap_or(u64::MAX);
        let inside = if self.opened { self.next_inside } else { u64::MAX };
        let at = ready.min(inside);
        (at != u64::MAX).then_some(Instant(at))
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let now = cx.now.as_nanos();
        let side = &mut self.sides[end.index()];
        let len = side.inlet.emit(now, into);
        if len > 0 {
            self.usage[end.other().index()].bytes_out += len as u64;
            // The process may read again at once.
            let reads = side.inlet.next(&side.host).filter(|_| side.inlet.ready().is_none());
            self.next_inside = self.next_inside.min(reads.unwrap_or(u64::MAX));
        }
        len
    }

    fn room(&self, _: End) -> Option<Instant> {
        // More room comes with an acknowledgement, which is an event inside.
        None
    }

    fn usage(&self, end: End) -> Usage {
        let own = self.usage[end.index()];
        let below = self.network.usage(end);
        Usage { bytes_in: own.bytes_in, bytes_out: own.bytes_out, ..below }
    }

    fn calm(&mut self) {
        self.network.calm();
    }
}
