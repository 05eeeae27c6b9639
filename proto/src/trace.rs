//! What an engine did, as text lines in a stable order.
//!
//! A trace is log, golden file and determinism oracle at once: one line per event, the time
//! first, then a word, then `key=value` pairs. Recording costs nothing when nobody listens.

use crate::time::Instant;
use core::fmt;

/// One event of an engine. `Display` gives the line without the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TraceEvent<'a> {
    /// A packet was handed to the wire: its type letter, number, and length on the wire in bytes.
    Sent {
        /// Type, as the protocol writes it (`S`, `D`, ...).
        kind: char,
        /// Sequence number or position.
        number: u64,
        /// Length on the wire in bytes.
        len: usize,
        /// How often it had been sent before.
        again: u32,
    },
    /// A good packet arrived.
    Got {
        /// Type, as the protocol writes it.
        kind: char,
        /// Sequence number or position.
        number: u64,
        /// Length in bytes.
        len: usize,
    },
    /// A packet arrived that cannot be used.
    Damaged {
        /// Which rule it broke.
        why: &'static str,
        /// Bytes given up.
        len: usize,
    },
    /// A timer ran out.
    Timeout {
        /// What was waited for.
        waiting_for: &'static str,
        /// Number of the packet it was about.
        number: u64,
    },
    /// The state of the protocol changed.
    State {
        /// State left.
        from: &'static str,
        /// State entered.
        to: &'static str,
    },
    /// What both ends agreed on, or a value that changed: a name and a number.
    Value {
        /// What it is.
        name: &'static str,
        /// The new value.
        value: u64,
    },
    /// A text, such as a file name or the partner's error message.
    Text {
        /// What it is.
        name: &'static str,
        /// Raw bytes; shown escaped.
        text: &'a [u8],
    },
}

impl fmt::Display for TraceEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Sent { kind, number, len, again: 0 } => {
                write!(f, "sent {kind} n={number} len={len}")
            }
            Self::Sent { kind, number, len, again } => {
                write!(f, "sent {kind} n={number} len={len} again={again}")
            }
            Self::Got { kind, number, len } => write!(f, "got {kind} n={number} len={len}"),
            Self::Damaged { why, len } => write!(f, "damaged why={why} len={len}"),
            Self::Timeout { waiting_for, number } => {
                write!(f, "timeout waiting_for={waiting_for} n={number}")
            }
            Self::State { from, to } => write!(f, "state from={from} to={to}"),
            Self::Value { name, value } => write!(f, "value {name}={value}"),
            Self::Text { name, text } => write!(f, "text {name}={}", text.escape_ascii()),
        }
    }
}

/// Takes the events of an engine.
pub trait Trace {
    /// Takes one event that happened `at` this time.
    fn record(&mut self, at: Instant, event: &TraceEvent<'_>);
    /// Whether anybody listens; engines skip the work of describing an event when not.
    fn enabled(&self) -> bool {
        true
    }
}

/// The trace that nobody reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Trace for NoTrace {
    fn record(&mut self, _: Instant, _: &TraceEvent<'_>) {}
    fn enabled(&self) -> bool {
        false
    }
}
