//! The laboratory's line in real time, between any two programs.
//!
//! ```text
//! program <-> Port A <-> element of the laboratory <-> Port B <-> program
//!                        (nanoseconds of a real clock)
//! ```
//!
//! It is the same model that runs in virtual time: noise is counted in line bits, so the same characters are
//! hit, whatever the timing and the writes were. One thread waits in `poll` until a port is ready or a
//! character is due. Where the ports are slow, the line applies backpressure to its senders.
//!
//! [`open`] opens the ends: any line that [`crate::port::open`] opens, and TCP listeners that accept the next
//! connection when one is lost. [`joint`] makes an end inside this process. [`datagrams`] is the same for
//! networks.

pub mod datagrams;
mod ends;

use crate::clock::Clock;
use crate::event::{self, Interest};
use crate::port::Port;
use crate::signals::Signals;
use std::io;
use std::time::Duration;
use wetstring_lab::element::{Element, End, Usage};
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_proto::{Cx, Instant, NoTrace, Trace};

pub use ends::{joint, open, stream};

/// Characters due within this time of each other may be written together: a wakeup for each would cost a core
/// on a fast line.
const QUANTUM: Duration = Duration::from_micros(500);
/// Data buffered in the line must cover the time for which this process may not run.
const AHEAD: Duration = Duration::from_millis(50);
/// Maximum bytes between a port and the element, per direction.
const BUFFER_BYTES: usize = 1 << 16;
/// Maximum wait for the ports' peers to read, at the end.
const PATIENCE: Duration = Duration::from_millis(100);

/// When a line ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Until<'a> {
    /// After this real time.
    pub after: Option<Duration>,
    /// When a signal arrives.
    pub signals: Option<&'a Signals>,
    /// How many times faster than real time the model runs; 0 means 1.
    pub scale: u32,
}

/// Why a line ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Its time limit was reached.
    Time,
    /// A signal arrived.
    Signal(i32),
    /// The port at this end closed, and what it had sent has arrived at the other. Our own PTYs and TCP
    /// listeners never close.
    Closed(End),
}

/// Statistics of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// Why it ended.
    pub stop: Stop,
    /// Statistics of the data from A and from B.
    pub usage: [Usage; 2],
    /// The model's elapsed time.
    pub elapsed: Duration,
}

/// Runs a line of this model between two ports.
///
/// # Errors
///
/// If waiting fails. Port errors are not errors here: a failed port counts as closed.
pub fn run(
    model: &LineModel,
    a: Box<dyn Port>,
    b: Box<dyn Port>,
    until: Until<'_>,
) -> io::Result<Report> {
    run_traced(model, a, b, until, &mut NoTrace)
}

/// The same, with a trace of each noise hit.
pub fn run_traced(
    model: &LineModel,
    a: Box<dyn Port>,
    b: Box<dyn Port>,
    until: Until<'_>,
    trace: &mut dyn Trace,
) -> io::Result<Report> {
    let (mut serial, limits) = serial(model, until.scale);
    run_element(&mut serial, [a, b], limits, until, trace)
}

/// The line of this model as an element for [`run_element`], which runs `scale` times as fast as real time, and what it can
/// carry from each end.
pub fn serial(model: &LineModel, scale: u32) -> (Serial, [Option<u64>; 2]) {
    let mut model = model.clone();
    let limits = End::BOTH.map(|end| {
        let rate = Some(model.rate_from(end)).filter(|rate| *rate > 0)?;
        Some(rate * 1000 / u64::from(model.bits.max(1)))
    });
    let ahead = limits.into_iter().flatten().map(|limit| ahead_of(limit, scale));
    model.buffer_bytes = ahead.map(|bytes| bytes.min(1 << 20)).fold(model.buffer_bytes, usize::max);
    (Serial::new(&model), limits)
}

/// Characters that a line of this rate, per 1000 s, carries in [`AHEAD`].
fn ahead_of(limit_millicps: u64, scale: u32) -> usize {
    let ns = AHEAD.as_nanos() * u128::from(scale.max(1));
    let characters = u128::from(limit_millicps) * ns / 1_000_000_000_000;
    usize::try_from(characters).unwrap_or(usize::MAX)
}

/// Runs any element that carries bytes between two ports, the first of which is at its end A. What it can carry
/// from each, in characters per 1000 s where that is known, bounds what is read ahead: a serial port does not buffer
/// seconds of data either.
///
/// # Errors
///
/// As [`run`].
pub fn run_element(
    element: &mut dyn Element,
    ports: [Box<dyn Port>; 2],
    limits_millicps: [Option<u64>; 2],
    until: Until<'_>,
    trace: &mut dyn Trace,
) -> io::Result<Report> {
    let [a, b] = ports;
    let inbox = limits_millicps.map(|limit| {
        limit.map_or(BUFFER_BYTES, |limit| ahead_of(limit, until.scale).clamp(64, BUFFER_BYTES))
    });
    let mut live = Live {
        element,
        sides: [Side::new(End::A, a, inbox[0]), Side::new(End::B, b, inbox[1])],
        clock: Clock::start(),
        scale: until.scale.max(1),
    };
    let stop = live.run(until, trace)?;
    for side in &mut live.sides {
        // The line ends, and unread data is lost.
        let _ = side.port.finish(PATIENCE);
    }
    Ok(Report {
        stop,
        usage: End::BOTH.map(|end| live.element.usage(end)),
        elapsed: live.now().since(Instant::ZERO),
    })
}

/// A running line.
struct Live<'a> {
    element: &'a mut dyn Element,
    sides: [Side; 2],
    clock: Clock,
    scale: u32,
}

/// One end of it.
struct Side {
    end: End,
    port: Box<dyn Port>,
    /// Bytes read at a time.
    inbox_bytes: usize,
    /// Read from the port, not yet accepted by the element.
    inbox: Vec<u8>,
    /// From the element, not yet accepted by the port.
    outbox: Vec<u8>,
    /// Bytes of the outbox accepted by the port.
    written: usize,
    /// The port may be readable, or writable.
    readable: bool,
    writable: bool,
    closed: bool,
    /// The element accepted less than was offered.
    held_back: bool,
}

impl Live<'_> {
    /// The model's time.
    fn now(&self) -> Instant {
        Instant(self.clock.now().as_nanos().saturating_mul(u64::from(self.scale)))
    }

    fn run(&mut self, until: Until<'_>, trace: &mut dyn Trace) -> io::Result<Stop> {
        loop {
            let woke = self.clock.now();
            if let Some(signal) = until.signals.and_then(Signals::last) {
                return Ok(Stop::Signal(signal));
            }
            let left = until.after.map(|after| after.saturating_sub(woke.since(Instant::ZERO)));
            if left == Some(Duration::ZERO) {
                return Ok(Stop::Time);
            }
            let moved = self.turn(trace);
            if let Some(end) = self.done() {
                return Ok(Stop::Closed(end));
            }
            let timeout = if moved { Some(Duration::ZERO) } else { self.rest(woke) };
            self.wait(until.signals, timeout.into_iter().chain(left).min())?;
        }
    }

    /// Moves what can be moved now; returns whether there may be more at once.
    fn turn(&mut self, trace: &mut dyn Trace) -> bool {
        let mut moved = false;
        for side in &mut self.sides {
            moved |= side.read();
        }
        let now = self.now();
        let mut cx = Cx { now, trace };
        for side in &mut self.sides {
            side.held_back = false;
            if side.inbox.is_empty() {
                continue;
            }
            let taken = self.element.offer(&mut cx, side.end, &side.inbox);
            side.held_back = taken < side.inbox.len();
            side.inbox.drain(..taken);
            // What the port has behind it is read at once, and not when something happens on the line.
            moved |= side.readable && side.wants_input();
        }
        for side in &mut self.sides {
            moved |= side.write(&mut *self.element, &mut cx);
        }
        moved
    }

    /// Time until something is due; `None` if nothing is under way.
    fn rest(&self, woke: Instant) -> Option<Duration> {
        let due = self.sides.iter().flat_map(|side| {
            let next = self.element.next(side.end).filter(|_| side.has_room());
            [next, self.element.room(side.end).filter(|_| side.held_back)]
        });
        let due = due.flatten().min()?;
        let now = self.clock.now();
        let in_real_time = Instant(due.as_nanos().div_ceil(u64::from(self.scale)));
        Some(in_real_time.max(woke + QUANTUM).since(now))
    }

    /// Waits for the ports, at most this long.
    fn wait(&mut self, signals: Option<&Signals>, timeout: Option<Duration>) -> io::Result<()> {
        // Wait only for what is needed: a closed port would always be ready.
        let mut interests = Vec::with_capacity(5);
        let mut asked = Vec::with_capacity(4);
        for side in &self.sides {
            if !side.readable && side.wants_input() {
                interests.push(Interest::read(side.port.read_source()));
                asked.push((side.end, false));
            }
            if !side.writable && side.wants_output() {
                interests.push(Interest::write(side.port.write_source()));
                asked.push((side.end, true));
            }
        }
        interests.extend(signals.map(|signals| Interest::read(signals.source())));
        event::wait(&mut interests, timeout)?;
        let ready: Vec<bool> = interests.iter().map(Interest::is_ready).collect();
        for ((end, output), _) in asked.iter().zip(ready).filter(|(_, ready)| *ready) {
            let side = &mut self.sides[end.index()];
            match output {
                true => side.writable = true,
                false => side.readable = true,
            }
        }
        Ok(())
    }

    /// The end that has closed and has nothing under way.
    fn done(&self) -> Option<End> {
        let [a, b] = &self.sides;
        let done = |side: &Side, other: &Side| {
            let delivered = self.element.next(other.end).is_none() && other.outbox.is_empty();
            side.closed && (other.closed || (side.inbox.is_empty() && delivered))
        };
        if done(a, b) {
            return Some(End::A);
        }
        done(b, a).then_some(End::B)
    }
}

impl Side {
    fn new(end: End, port: Box<dyn Port>, inbox_bytes: usize) -> Self {
        Self {
            end,
            inbox_bytes,
            port,
            inbox: Vec::new(),
            outbox: Vec::new(),
            written: 0,
            readable: true,
            writable: true,
            closed: false,
            held_back: false,
        }
    }

    fn wants_input(&self) -> bool {
        !self.closed && self.inbox.is_empty()
    }

    fn wants_output(&self) -> bool {
        !self.closed && (!self.outbox.is_empty() || self.port.held())
    }

    fn has_room(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Reads once; returns whether there may be more.
    fn read(&mut self) -> bool {
        if !self.readable || !self.wants_input() {
            return false;
        }
        self.inbox.resize(self.inbox_bytes, 0);
        let len = match self.port.read(&mut self.inbox) {
            Ok(Some(0)) | Err(_) => {
                self.closed = true;
                0
            }
            Ok(Some(len)) => len,
            Ok(None) => {
                self.readable = false;
                0
            }
        };
        self.inbox.truncate(len);
        len > 0
    }

    /// Writes what is due; returns whether there may be more.
    fn write(&mut self, element: &mut dyn Element, cx: &mut Cx<'_>) -> bool {
        if self.has_room() {
            self.outbox.resize(BUFFER_BYTES, 0);
            let len = element.emit(cx, self.end, &mut self.outbox);
            self.outbox.truncate(len);
        }
        if self.closed {
            // The peer has closed.
            self.outbox.clear();
            self.written = 0;
        }
        if self.port.held() && self.writable && !self.closed {
            self.closed |= self.port.flush().is_err();
            self.writable = !self.port.held();
        }
        if self.outbox.is_empty() || !self.writable {
            return false;
        }
        match self.port.write(&self.outbox[self.written..]) {
            Ok(Some(len)) => self.written += len,
            Ok(None) => self.writable = false,
            Err(_) => self.closed = true,
        }
        if self.written >= self.outbox.len() || self.closed {
            self.outbox.clear();
            self.written = 0;
            return true;
        }
        self.writable
    }
}
