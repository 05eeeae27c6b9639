//! What lies between two engines: a line, a modem pair, a network, or a row of them.
//!
//! An element has two ends and the shape of an engine: things are offered at a time, it says when
//! something will come out, and what is due is taken. It never asks for the time, so the same
//! model runs in virtual time (see [`crate::pair`]) and in real time between two terminals.

use wetstring_proto::{Cx, Duration, Instant};

/// One of the two ends of an element. What is offered at `A` comes out at `B` and the reverse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// The near end: where "forward" starts.
    A,
    /// The far end.
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

    /// 0 or 1, for arrays of two.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What an element carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unit {
    /// Bytes without bounds: an offer may be taken in part, and what comes out is cut anywhere.
    #[default]
    Bytes,
    /// Datagrams: one [`Element::offer`] is one datagram, taken whole or not at all, and one
    /// [`Element::emit`] gives one datagram, which is lost if the buffer is too small for it.
    Datagrams,
}

/// What one direction of an element has carried. Monotone counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Bytes that were taken from the sending end.
    pub bytes_in: u64,
    /// Bytes that were given to the receiving end.
    pub bytes_out: u64,
    /// Line bits of what was taken, start, parity and stop bits included.
    pub bits: u64,
    /// Time that those bits take on the line, in nanoseconds. The rest of a run is idle time.
    pub busy_ns: u64,
    /// Bytes that were damaged by noise.
    pub damaged_bytes: u64,
    /// Bytes that were lost.
    pub dropped_bytes: u64,
    /// Bytes that came out twice.
    pub duplicated_bytes: u64,
    /// How often this direction had to turn a half duplex line around.
    pub turnarounds: u64,
    /// Packets that found room in a bottleneck's queue, and how long all of them together waited there for those
    /// before them, in nanoseconds. Of a routed path only.
    pub queued_packets: u64,
    /// See [`Usage::queued_packets`].
    pub queued_ns: u64,
}

impl Usage {
    /// How long a packet waited in the queue on average: the delay that the traffic itself adds to a path.
    pub fn mean_queueing(&self) -> Duration {
        Duration::from_nanos(self.queued_ns.checked_div(self.queued_packets).unwrap_or(0))
    }
}

/// Something between two engines.
///
/// The calls may come late; what happens in the model happens at the model's own times. They may
/// not go back in time.
pub trait Element {
    /// Offers bytes at `end`, and says how many were taken. A short take is back pressure: offer
    /// the rest again at [`Element::room`], or after something was emitted at the peer.
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize;

    /// When [`Element::emit`] at `end` wants to be called next, because output is due there or
    /// because something changes inside. `None` if nothing is under way.
    fn next(&self, end: End) -> Option<Instant>;

    /// Moves what is due by now at `end` into `into`, and says how many bytes that was. What did
    /// not fit stays due.
    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize;

    /// When an offer at `end`, which had been taken short, will find room again by the mere
    /// passing of time. `None` if no offer was cut short or if it depends on what is emitted. Of
    /// interest only while there is something to offer; else the time may be long past.
    fn room(&self, end: End) -> Option<Instant>;

    /// Bytes or datagrams.
    fn unit(&self) -> Unit {
        Unit::Bytes
    }

    /// What was carried of what was offered at `end`.
    fn usage(&self, end: End) -> Usage;

    /// What it has to say of itself besides, as names and numbers for an account of the time: see
    /// [`crate::slip::ledger`]. Monotone counters.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Ends all faults (noise, loss, duplication) for what is offered from now on. What makes the
    /// element what it is (rate, delay, width) stays.
    fn calm(&mut self) {}
}

/// Something with parts inside that give each other bytes or datagrams at times of their own.
pub(crate) trait Inside {
    /// When something happens inside next.
    fn next_inside(&self) -> Option<Instant>;

    /// Moves what can be moved at this time, until nothing moves any more; whether anything did.
    fn settle(&mut self, cx: &mut Cx<'_>) -> bool;

    /// Lets everything happen inside that happens by now.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        let mut last = None;
        while let Some(at) = self.next_inside().filter(|at| *at <= cx.now) {
            // Never back: what is long past happens at the time of the one before it.
            let at = last.map_or(at, |last: Instant| last.max(at));
            let moved = self.settle(&mut Cx { now: at, trace: &mut *cx.trace });
            if !moved && last == Some(at) {
                // Nothing moved twice at one time: a refusal stands until the time has continued.
                break;
            }
            last = Some(at);
        }
        self.settle(cx);
    }
}

/// The methods of an [`Element`] that wraps another in this field and changes only what is offered to it. Who
/// wraps writes `offer`, and `calm` if it has faults of its own.
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
