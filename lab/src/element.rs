//! What is between two engines: a line, a modem pair, a network, or a chain of them.
//!
//! An element has two ends and the interface of an engine: data is offered at a time, it reports when output is
//! due, and due output is taken. It never reads a clock, so the same model runs in virtual time (see
//! [`crate::pair`]) and in real time between two terminals.

use wetstring_proto::{Cx, Duration, Instant};

/// One of the two ends of an element. Data offered at `A` comes out at `B` and vice versa.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// The near end: where "forward" starts.
    A,
    /// The opposite end.
    B,
}

impl End {
    /// Both, in the order in which they are served.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The opposite end.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// Its name in messages and events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    /// 0 or 1, for arrays of two.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What an element carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// A byte stream: an offer may be accepted in part, and output may be split anywhere.
    #[default]
    Bytes,
    /// Datagrams: one [`Element::offer`] is one datagram, accepted whole or not at all, and one
    /// [`Element::emit`] returns one datagram, which is lost if the buffer is too small for it.
    Datagrams,
}

/// Statistics of one direction of an element. Monotonic counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Bytes accepted from the sending end.
    pub bytes_in: u64,
    /// Bytes delivered to the receiving end.
    pub bytes_out: u64,
    /// Line bits of accepted bytes, including start, parity and stop bits.
    pub bits: u64,
    /// Time of those bits on the line, in nanoseconds. The rest of a run is idle time.
    pub busy_ns: u64,
    /// Bytes that were damaged by noise.
    pub damaged_bytes: u64,
    /// Bytes that were lost.
    pub dropped_bytes: u64,
    /// Bytes duplicated.
    pub duplicated_bytes: u64,
    /// Turnarounds of a half duplex line to this direction.
    pub turnarounds: u64,
    /// Packets queued at a bottleneck, and their total queueing time in nanoseconds. Of a routed path only.
    pub queued_packets: u64,
    /// See [`Usage::queued_packets`].
    pub queued_ns: u64,
}

impl Usage {
    /// Mean queueing delay of a packet: the delay that the traffic itself adds to a path.
    pub fn mean_queueing(&self) -> Duration {
        Duration::from_nanos(self.queued_ns.checked_div(self.queued_packets).unwrap_or(0))
    }
}

/// A model between two engines.
///
/// Calls may come late; events in the model happen at the model's own times. Calls may not go back in time.
pub trait Element {
    /// Offers bytes at `end`; returns how many were accepted. A partial acceptance is backpressure: offer the
    /// rest again at [`Element::room`], or after output at the opposite end.
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize;

    /// When [`Element::emit`] at `end` must be called next, because output is due there or because of an
    /// internal event. `None` if nothing is under way.
    fn next(&self, end: End) -> Option<Instant>;

    /// Moves output due by now at `end` into `into`; returns the number of bytes. What did not fit stays due.
    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize;

    /// When an offer at `end` that was accepted in part will find room again by the passing of time alone.
    /// `None` if no offer was cut short or if it depends on output being taken. Only relevant while there is
    /// something to offer; else the time may be long past.
    fn room(&self, end: End) -> Option<Instant>;

    /// Bytes or datagrams.
    fn unit(&self) -> Unit {
        Unit::Bytes
    }

    /// Statistics of what was offered at `end`.
    fn usage(&self, end: End) -> Usage;

    /// Further counters, as names and numbers for an account of the time: see [`crate::slip::ledger`].
    /// Monotonic.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Ends all faults (noise, loss, duplication) for data offered from now on. Rate, delay and width stay.
    fn calm(&mut self) {}
}

/// A model with internal parts that exchange bytes or datagrams at times of their own.
pub(crate) trait Inside {
    /// When the next internal event is due.
    fn next_inside(&self) -> Option<Instant>;

    /// Moves everything that can move at this instant; returns whether anything did.
    fn settle(&mut self, cx: &mut Cx<'_>) -> bool;

    /// Processes all internal events due by now.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        let mut last = None;
        while let Some(at) = self.next_inside().filter(|at| *at <= cx.now) {
            // Never back: an event in the past happens at the time of the previous one.
            let at = last.map_or(at, |last: Instant| last.max(at));
            let moved = self.settle(&mut Cx { now: at, trace: &mut *cx.trace });
            if !moved && last == Some(at) {
                // Nothing moves again at this instant: a refusal holds until time has advanced.
                break;
            }
            last = Some(at);
        }
        self.settle(cx);
    }
}

/// The methods of an [`Element`] that wraps another in this field and changes only what is offered to it. The
/// wrapper implements `offer`, and `calm` if it has faults of its own.
#[macro_export]
macro_rules! forward_element {
    ($field:ident) => {
        fn next(&self, end: $crate::element::End) -> Option<::wetstring_proto::Instant> {
            self.$field.next(end)
        }

        fn emit(
            &mut self,
            cx: &mut ::wetstring_proto::Cx<'_>,
            end: $crate::element::End,
            into: &mut [u8],
        ) -> usize {
            self.$field.emit(cx, end, into)
        }

        fn room(&self, end: $crate::element::End) -> Option<::wetstring_proto::Instant> {
            self.$field.room(end)
        }

        fn unit(&self) -> $crate::element::Unit {
            self.$field.unit()
        }

        fn usage(&self, end: $crate::element::End) -> $crate::element::Usage {
            self.$field.usage(end)
        }

        fn counters(&self) -> Vec<(&'static str, u64)> {
            self.$field.counters()
        }
    };
}
