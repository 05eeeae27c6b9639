//! An element between two hosts.

use super::{Host, HostModel, HostUsage, Inlet, Outlet, Work};
use crate::element::{Element, End, Inside, Unit, Usage};
use crate::net::DATAGRAM_MAX;
use crate::net::flight::Flight;
use std::collections::VecDeque;
use wetstring_proto::{Cx, Instant};

/// Bytes that a process hands down ahead: a terminal driver's queue.
const AHEAD_BYTES: usize = 4096;
/// Bytes that wait below to be read; further ones have to wait in the element.
const DRIVER_BYTES: usize = 1 << 16;
/// Datagrams that wait below in each direction, as in sockets.
const SOCKET_DATAGRAMS: usize = 64;

/// Counters in [`Element::counters`] of the processor time at A and B, in nanoseconds.
pub(crate) const PROCESSORS: [&str; 2] = ["processor_a", "processor_b"];

/// An element with a host at each of its ends: offered data first pays for writing and sending, delivered data
/// for receiving and reading. For elements that carry bytes (a serial line), and for those that carry datagrams
/// (then each datagram is one call).
///
/// With bytes, `receive` and `send` are paid for each lot that comes out of, or goes into, the element at one
/// time; a driver has no other packets. A host that takes no time has no driver either: its process is directly
/// at the element, and nothing waits between them.
pub struct Hosted {
    element: Box<dyn Element>,
    sides: [Side; 2],
    buffer: Vec<u8>,
    unit: Unit,
}

struct Side {
    host: Host,
    /// Bytes, and a host that takes no time: directly at the element.
    bare: bool,
    /// Bytes.
    outlet: Outlet,
    inlet: Inlet,
    /// Bytes received up to the driver, and when the last of them is there.
    driver: VecDeque<u8>,
    driver_ready: u64,
    /// Datagrams down, in the driver and up.
    down: Flight,
    below: Flight,
    up: Flight,
    refused: bool,
}

impl std::fmt::Debug for Hosted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosted").field("unit", &self.unit).finish_non_exhaustive()
    }
}

impl Hosted {
    /// This element between a host at A and one at B.
    pub fn new(element: Box<dyn Element>, hosts: &[HostModel; 2]) -> Self {
        let unit = element.unit();
        let side = |model: &HostModel| Side {
            host: Host::new(model),
            bare: unit == Unit::Bytes && *model == HostModel::default(),
            outlet: Outlet::default(),
            inlet: Inlet::default(),
            driver: VecDeque::new(),
            driver_ready: 0,
            down: Flight::new(),
            below: Flight::new(),
            up: Flight::new(),
            refused: false,
        };
        let sides = [side(&hosts[0]), side(&hosts[1])];
        Self { element, sides, buffer: vec![0; DATAGRAM_MAX], unit }
    }

    /// Where the time of the host at this end went.
    pub fn host_usage(&self, end: End) -> HostUsage {
        self.sides[end.index()].host.usage
    }

    fn next_of(&self, end: End) -> Option<u64> {
        let side = &self.sides[end.index()];
        if side.bare {
            return None;
        }
        let comes = self.element.next(end).map(Instant::as_nanos);
        let room = self.element.room(end).map(Instant::as_nanos);
        match self.unit {
            Unit::Bytes => {
                let comes = comes.filter(|_| side.driver.len() < DRIVER_BYTES);
                let goes = side.outlet.next().map(|at| match (side.refused, room) {
                    (false, _) => at,
                    (true, room) => room.map_or(u64::MAX, |room| room.max(at)),
                });
                let reads = side.begins().filter(|_| side.inlet.ready().is_none());
                comes.into_iter().chain(goes).chain(reads).filter(|at| *at < u64::MAX).min()
            }
            Unit::Datagrams => {
                let comes = comes.filter(|_| side.below.len() < SOCKET_DATAGRAMS);
                let comes = comes.map(|at| at.max(side.unloads()));
                let goes = if side.refused { room } else { side.down.next() };
                let reads = side.below.next().filter(|_| side.up.len() == 0);
                let reads = reads.map(|at| side.wakes(at));
                comes.into_iter().chain(goes).chain(reads).min()
            }
        }
    }

    fn move_bytes(&mut self, cx: &mut Cx<'_>, end: End) -> bool {
        let now = cx.now.as_nanos();
        let side = &mut self.sides[end.index()];
        if side.bare {
            return false;
        }
        let mut moved = false;
        loop {
            let due = side.outlet.due(&mut side.host, now);
            let want = due.len();
            let taken = if want == 0 { 0 } else { self.element.offer(cx, end, due) };
            side.refused = taken < want;
            if taken == 0 {
                break;
            }
            side.host.work(now, Work::Send, taken);
            side.outlet.went(&mut side.host, now, taken);
            moved = true;
        }
        let room = DRIVER_BYTES - side.driver.len();
        let came = self.element.emit(cx, end, &mut self.buffer[..room.min(DATAGRAM_MAX)]);
        if came > 0 {
            side.driver.extend(&self.buffer[..came]);
            side.driver_ready = side.host.work(now, Work::Receive, came).max(side.driver_ready);
            moved = true;
        }
        if side.driver_ready <= now {
            side.inlet.available(&side.host, now, side.driver.len());
            let len = side.inlet.wants(&side.host, now);
            if len > 0 {
                side.inlet.bring(&side.driver.make_contiguous()[..len]);
                side.driver.drain(..len);
                side.inlet.read(&mut side.host, now);
                moved = true;
            }
        }
        moved
    }

    fn move_datagrams(&mut self, cx: &mut Cx<'_>, end: End) -> bool {
        let now = cx.now.as_nanos();
        let side = &mut self.sides[end.index()];
        let mut moved = false;
        side.refused = false;
        while let Some(packet) = side.down.front(now) {
            if self.element.offer(cx, end, packet) == 0 {
                side.refused = true;
                break;
            }
            side.down.pop();
            moved = true;
        }
        while side.below.len() < SOCKET_DATAGRAMS && side.unloads() <= now {
            let len = self.element.emit(cx, end, &mut self.buffer);
            if len == 0 {
                break;
            }
            let at = side.host.work(now, Work::Receive, len);
            side.below.put(at, &self.buffer[..len]);
            moved = true;
        }
        if side.up.len() == 0
            && let Some(since) = side.below.next()
            && side.wakes(since) <= now
            && let Some(packet) = side.below.front(now)
        {
            let asleep = since.max(side.host.process_free).min(now);
            side.host.usage.wake_ns += now - asleep;
            side.host.note_busy(asleep, now);
            let at = side.host.call(now, Work::Read, packet.len());
            side.up.put(at, packet);
            side.below.pop();
            moved = true;
        }
        moved
    }
}

impl Inside for Hosted {
    fn next_inside(&self) -> Option<Instant> {
        End::BOTH.into_iter().filter_map(|end| self.next_of(end)).min().map(Instant)
    }

    fn settle(&mut self, cx: &mut Cx<'_>) -> bool {
        let mut moved = false;
        loop {
            let mut again = false;
            for end in End::BOTH {
                again |= match self.unit {
                    Unit::Bytes => self.move_bytes(cx, end),
                    Unit::Datagrams => self.move_datagrams(cx, end),
                };
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
}

impl Side {
    /// When the processor can take a packet off the card.
    fn unloads(&self) -> u64 {
        if self.host.model.unload { self.host.processor.0 } else { 0 }
    }

    /// When a sleeping process begins to read data that came at `at`.
    fn wakes(&self, at: u64) -> u64 {
        if self.host.process_free > at {
            return self.host.process_free;
        }
        at.saturating_add(u64::try_from(self.host.model.wake.as_nanos()).unwrap_or(u64::MAX))
    }

    /// When the driver's bytes are there, or are read.
    fn begins(&self) -> Option<u64> {
        if self.driver.is_empty() {
            return None;
        }
        Some(self.inlet.next(&self.host).unwrap_or(0).max(self.driver_ready))
    }
}

impl Element for Hosted {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let now = cx.now.as_nanos();
        let side = &mut self.sides[end.index()];
        if side.bare {
            return self.element.offer(cx, end, bytes);
        }
        match self.unit {
            Unit::Bytes => {
                let len = bytes.len().min(AHEAD_BYTES.saturating_sub(side.outlet.len()));
                side.outlet.offer(&mut side.host, now, &bytes[..len]);
                len
            }
            Unit::Datagrams => {
                if side.down.len() >= SOCKET_DATAGRAMS {
                    return 0;
                }
                let written = side.host.call(now, Work::Write, bytes.len());
                let sent = side.host.work(written, Work::Send, bytes.len());
                // The interface needs as long for the packet as the processor needs to load it.
                let load = side.host.model.load.of_ns(bytes.len());
                side.down.put(sent.saturating_sub(load).max(written), bytes);
                // A host that takes no time passes it on at once.
                self.settle(cx);
                bytes.len()
            }
        }
    }

    fn next(&self, end: End) -> Option<Instant> {
        let side = &self.sides[end.index()];
        let ready = match self.unit {
            Unit::Bytes if side.bare => self.element.next(end).map(Instant::as_nanos),
            Unit::Bytes => side.inlet.ready(),
            Unit::Datagrams => side.up.next(),
        };
        ready.map(Instant).into_iter().chain(self.next_inside()).min()
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let now = cx.now.as_nanos();
        let side = &mut self.sides[end.index()];
        let len = match self.unit {
            Unit::Bytes if side.bare => self.element.emit(cx, end, into),
            Unit::Bytes => side.inlet.emit(now, into),
            // The network has counted what it carried.
            Unit::Datagrams => side.up.emit(now, &mut Usage::default(), into),
        };
        if len > 0 {
            self.settle(cx);
        }
        len
    }

    fn room(&self, end: End) -> Option<Instant> {
        let side = &self.sides[end.index()];
        if side.bare {
            return self.element.room(end);
        }
        let full = match self.unit {
            Unit::Bytes => side.outlet.len() >= AHEAD_BYTES,
            Unit::Datagrams => side.down.len() >= SOCKET_DATAGRAMS,
        };
        full.then(|| self.next_of(end).map(Instant)).flatten()
    }

    fn unit(&self) -> Unit {
        self.unit
    }

    fn usage(&self, end: End) -> Usage {
        self.element.usage(end)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = self.element.counters();
        let of = |end: End| self.host_usage(end).processor_ns();
        counters.extend([(PROCESSORS[0], of(End::A)), (PROCESSORS[1], of(End::B))]);
        counters
    }

    fn calm(&mut self) {
        self.element.calm();
    }
}
