//! An asynchronous serial line on which the receiver can say stop: RTS/CTS or XON/XOFF.
//!
//! ```text
//!  tx=      characters at `rate`     fifo=, latency=      rxbuf=
//! [....] -> |start|8 data bits|stop| -> [FIFO] -> [..low......high..] -> emit
//!    ^                                               |
//!    +---- stop after `reaction` <--- RTS down, or XOFF on the way back
//! ```
//!
//! The receiver buffers unread characters. When it holds `high` characters it stops the sender, when only `low`
//! are left it restarts it. With `rtscts` the signal is immediate; with `xonxoff` it is a character on the
//! line's other direction, ahead of everything queued there. The sender reacts after `reaction`; characters
//! that began before are sent. What finds the buffer full is lost and counted: a reaction that is too slow for
//! the room above `high` loses characters, as on real lines, and so does `none`.
//!
//! With `xonxoff` every 0x11 and 0x13 that arrives is taken for XON and XOFF, also one that was
//! meant as data: it disappears and acts. (The eighth bit does not count on a line of 7 bits.)
//!
//! With `latency` the receiver's UART is read this long after the first character entered its empty FIFO;
//! characters that meanwhile find `fifo` characters there are lost.
//!
//! The description as text, [`FlowModel`]: the rate, then in any order
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `rtscts`, `xonxoff`, `none` | flow control | `none` |
//! | `reaction=1ms` | from the signal to its effect at the sender | 0 |
//! | `rxbuf=256` | characters that the receiver's driver holds | 256 |
//! | `high=192` | stops the sender at | 3/4 of `rxbuf` |
//! | `low=64` | restarts it at | 1/4 of `rxbuf` |
//! | `fifo=16` | characters of the UART's FIFO | 16 |
//! | `latency=1ms` | from the interrupt to its service | 0: at once |
//! | `buffer=64` | characters that the sender takes ahead | 64 |
//! | `bits=10`, `7bit`, `parity=even` | as in [`super::LineModel`] | 10, 8 bits, none |
//!
//! Sources: the thresholds 3/4 and 1/4 and a buffer of 256 are those of the Linux 8250 and
//! `n_tty` tradition, assumed here for hosts whose drivers are not known; a FIFO of 16 is the
//! 16550A's (an 8250 has 1). A sender without automatic CTS continues with what is in its own FIFO:
//! 16 characters at `rate` are then a good `reaction`.
//!
//! Not here: noise and delay. Put a [`super::Serial`] behind it in a [`crate::chain::Chain`].

mod control;
mod direction;
mod model;

pub use control::FlowControl;
pub(crate) use direction::{Direction, DirectionSpec};
pub use model::FlowModel;
pub(crate) use model::nanos;

use crate::element::{Element, End, Usage};
use direction::FlowSignal;
use wetstring_proto::{Cx, Instant, TraceEvent};

/// How often and how long a sender was told to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stop {
    /// Times.
    pub count: u64,
    /// Nanoseconds altogether.
    pub ns: u64,
}

/// Two directions that control each other. The first is the one from end A.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) ways: [Direction; 2],
    /// When the next internal event is due; 0 if not known.
    due: u64,
}

impl Link {
    pub(crate) fn new(from_a: DirectionSpec, from_b: DirectionSpec) -> Self {
        Self { ways: [Direction::new(from_a), Direction::new(from_b)], due: 0 }
    }

    /// When the next internal event other than an arrival is due; `u64::MAX` is never.
    pub(crate) fn next_event(&self) -> u64 {
        match self.due {
            0 => self.ways[0].next_event().min(self.ways[1].next_event()),
            due => due,
        }
    }

    /// The same, and remembers it.
    pub(crate) fn plan(&mut self) -> u64 {
        self.due = self.next_event();
        self.due
    }

    /// Accepts characters at the sender of the direction `from`; returns how many.
    pub(crate) fn offer(&mut self, now: u64, from: usize, bytes: &[u8]) -> usize {
        let len = self.ways[from].offer(now, bytes);
        if len > 0 {
            self.due = 0;
        }
        len
    }

    /// Processes all events due by `now`.
    pub(crate) fn advance(&mut self, now: u64) {
        while self.due <= now {
            let times = [self.ways[0].next_event(), self.ways[1].next_event()];
            let from = usize::from(times[1] < times[0]);
            let at = times[from];
            if at > now {
                self.due = at;
                break;
            }
            self.due = 0;
            for word in self.ways[from].handle(at).into_iter().flatten() {
                self.tell(at, from, word);
            }
        }
        self.ways[0].sync(now);
        self.ways[1].sync(now);
    }

    /// Passes on what happened in the direction `from`.
    fn tell(&mut self, at: u64, from: usize, signal: FlowSignal) {
        match signal {
            FlowSignal::Level { go } if self.ways[from].is_xon_xoff() => {
                self.ways[1 - from].insert(at, go);
            }
            FlowSignal::Level { go } => self.ways[from].signal(at, go),
            FlowSignal::Control { go } => self.ways[1 - from].signal(at, go),
        }
    }

    /// Takes what the receiver of the direction `from` holds.
    pub(crate) fn take(&mut self, now: u64, from: usize, into: &mut [u8]) -> usize {
        let (len, word) = self.ways[from].take(into);
        // Otherwise the buffer will only be full later than it would have been.
        if let Some(word) = word {
            self.tell(now, from, word);
            self.due = 0;
        }
        len
    }

    /// When something more will be held at the receiver of direction `from`, or changes.
    fn next(&self, from: usize) -> u64 {
        let arrives = self.ways[from].arrives_at().unwrap_or(u64::MAX);
        arrives.min(self.next_event())
    }
}

/// A serial line with flow control, as an element.
#[derive(Clone, Debug)]
pub struct FlowLine {
    link: Link,
    model: FlowModel,
    now: u64,
    /// Lost characters of each direction that are traced.
    told: [u64; 2],
}

impl FlowLine {
    /// A line of this model.
    pub fn new(model: &FlowModel) -> Self {
        let spec = || model.way();
        Self { link: Link::new(spec(), spec()), model: model.clone(), now: 0, told: [0; 2] }
    }

    /// The model.
    pub fn model(&self) -> &FlowModel {
        &self.model
    }

    /// How often the sender at `end` was told to wait, and how long.
    pub fn stops(&self, end: End) -> Stop {
        self.link.ways[end.index()].stop(self.now)
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        self.now = self.now.max(cx.now.as_nanos());
        self.link.advance(self.now);
        for (way, name) in self.link.ways.iter_mut().zip(["held_fwd", "held_rev"]) {
            way.listened = cx.trace.enabled();
            for (at, go) in way.obeyed.drain(..) {
                let event = TraceEvent::Value { name, value: u64::from(!go) };
                cx.trace.record(Instant(at), &event);
            }
        }
        for (index, name) in ["overrun_fwd", "overrun_rev"].into_iter().enumerate() {
            let value = self.link.ways[index].lost - self.told[index];
            if value > 0 && cx.trace.enabled() {
                cx.trace.record(cx.now, &TraceEvent::Value { name, value });
            }
            self.told[index] += value;
        }
    }
}

impl Element for FlowLine {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        self.link.offer(self.now, end.index(), bytes)
    }

    fn next(&self, end: End) -> Option<Instant> {
        let from = end.other().index();
        if self.link.ways[from].held() > 0 {
            return Some(Instant(self.now));
        }
        Some(self.link.next(from)).filter(|at| *at < u64::MAX).map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        self.link.take(self.now, end.other().index(), into)
    }

    fn room(&self, end: End) -> Option<Instant> {
        self.link.ways[end.index()].room().map(|at| Instant(at.max(self.now)))
    }

    fn usage(&self, end: End) -> Usage {
        let way = &self.link.ways[end.index()];
        self.model.usage(way)
    }
}
