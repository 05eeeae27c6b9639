//! What an engine did, as text lines in a stable order.
//!
//! A trace is log, golden file and determinism oracle in one: one line per event, the time
//! first, then a word, then `key=value` pairs. Every event is a [`TraceEvent`], and [`RECORDS`] says what its
//! line has; nothing depends on what `Debug` prints. Recording costs nothing when it is off.

use crate::event::{Command, Event};
use crate::file::StoreError;
use crate::outcome::{Blame, FailureKind, Outcome};
use crate::stats::Stats;
use crate::time::Instant;
use core::fmt;

mod records;

pub use records::{BadRecord, Key, Kind, RECORDS, Record, check};

/// The cause of a retransmission.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Again {
    /// Timeout.
    Timeout,
    /// The receiver sent a NAK: it was damaged or lost.
    Nak,
    /// Later packets were acknowledged, but not this one.
    Lost,
    /// It follows a damaged packet, and the protocol is go-back-N.
    GoBack,
    /// An unreadable answer, which can only have been for this.
    Answer,
}

impl Again {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Timeout, Self::Nak, Self::Lost, Self::GoBack, Self::Answer];

    /// The word in a trace.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Nak => "nak",
            Self::Lost => "lost",
            Self::GoBack => "go-back",
            Self::Answer => "answer",
        }
    }
}

/// What an engine with nothing to send waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Wait {
    /// Nothing: it is sending, or has ended.
    #[default]
    Nothing,
    /// An acknowledgement of data, without which no more data may be sent.
    Window,
    /// The answer to a control packet, or to the last data.
    Answer,
    /// The peer: its start, or its next packet.
    Peer,
    /// Its own store.
    Store,
    /// The handshake character of a half duplex line.
    Turn,
    /// The end of a pause for the peer's sake.
    Pause,
}

impl Wait {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Window,
        Self::Answer,
        Self::Peer,
        Self::Store,
        Self::Turn,
        Self::Pause,
    ];

    /// The word in a trace.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Window => "window",
            Self::Answer => "answer",
            Self::Peer => "peer",
            Self::Store => "store",
            Self::Turn => "turn",
            Self::Pause => "pause",
        }
    }
}

/// The position of a packet in the output, and its share of file data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    /// Bytes sent before it, without those dropped before they left.
    pub at: u64,
    /// Length of the encoded data field, in bytes; 0 if it carries no data of the file.
    pub data: usize,
    /// File bytes encoded in the data field.
    pub file: usize,
    /// Of those, bytes sent before.
    pub old: usize,
    /// Characters of the packet that correct errors.
    pub parity: usize,
    /// Why it is retransmitted, if it is.
    pub why: Option<Again>,
}

/// One event of an engine. `Display` gives the line without the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TraceEvent<'a> {
    /// A packet was sent.
    Sent {
        /// Type, as the protocol writes it (`S`, `D`, ...).
        kind: char,
        /// Sequence number or position.
        number: u64,
        /// Length on the wire in bytes.
        len: usize,
        /// How often it was sent before.
        again: u32,
        /// What it carries.
        load: Load,
    },
    /// A good packet arrived.
    Got {
        /// Type, as the protocol writes it.
        kind: char,
        /// Sequence number or position.
        number: u64,
        /// Length in bytes.
        len: usize,
        /// Length of its data field in bytes, if it carries data of the file; else 0.
        data: usize,
        /// Bytes that came before its end, since the start.
        at: u64,
    },
    /// The port took bytes: the total so far. A few taken shortly before
    /// are included.
    Left {
        /// Bytes since the start.
        total: u64,
        /// Nanoseconds since it took the first of those not yet traced.
        ago_ns: u64,
    },
    /// A receiver got bytes from the port: the total so far. Only at packet boundaries, and for
    /// many bytes at a time.
    Came {
        /// Bytes since the start.
        total: u64,
    },
    /// The engine waits for something else.
    Waiting(Wait),
    /// The last packet was a duplicate.
    Duplicate {
        /// Sequence number or position.
        number: u64,
    },
    /// A damaged or invalid packet arrived.
    Damaged {
        /// Which rule it broke.
        why: &'static str,
        /// Bytes discarded.
        len: usize,
    },
    /// A timer expired.
    Timeout {
        /// What was awaited.
        waiting_for: &'static str,
        /// Number of the packet concerned.
        number: u64,
    },
    /// The state of the protocol changed.
    State {
        /// The old state.
        from: &'static str,
        /// The new state.
        to: &'static str,
        /// The input, as the protocol's state table names it.
        input: &'static str,
    },
    /// A negotiated or changed value: a name and a number.
    Value {
        /// What it is.
        name: &'static str,
        /// The new value.
        value: u64,
    },
    /// A text, such as a file name or the peer's error message.
    Text {
        /// What it is.
        name: &'static str,
        /// Raw bytes; shown escaped.
        text: &'a [u8],
    },
    /// The engine reported an event to the user.
    Reported(&'a Event<'a>),
    /// The outcome is fixed at this end.
    Settled(Outcome),
    /// The run has ended.
    Ended(Option<Outcome>),
    /// The counters at the end.
    Stats {
        /// Bytes of files, each counted once.
        file: u64,
        /// Bytes of data fields, each packet counted once.
        encoded: u64,
        /// Bytes of files that the receiver took from older versions.
        known: u64,
        /// Bytes before compression, and after it.
        unpacked: u64,
        /// See `unpacked`.
        packed: u64,
    },
    /// An external action on the run.
    Act(Act),
    /// Why the laboratory ended a run.
    Stopped(&'static str),
}

/// An external action on a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// The user at this end, `A` or `B`, gave a command.
    Command(char, Command),
    /// The faults of the line stop.
    Calm,
}

/// The word of a failure in a trace.
const fn word(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Silence => "silence",
        FailureKind::TooManyRetries => "too-many-retries",
        FailureKind::NotReliable => "not-reliable",
        FailureKind::PeerError => "peer-error",
        FailureKind::Violation => "violation",
        FailureKind::Unsupported => "unsupported",
        FailureKind::CannotResume => "cannot-resume",
        FailureKind::NoProtocol => "no-protocol",
        FailureKind::NotAServer => "not-a-server",
        FailureKind::WrongPeer => "wrong-peer",
        FailureKind::DigestDiffers => "digest-differs",
        FailureKind::LengthDiffers => "length-differs",
        FailureKind::Store(StoreError::NoSpace) => "no-space",
        FailureKind::Store(StoreError::Permission) => "permission",
        FailureKind::Store(StoreError::NotFound) => "not-found",
        FailureKind::Store(StoreError::Io) => "io",
        FailureKind::Store(StoreError::Changed) => "changed",
        FailureKind::Store(StoreError::Missing) => "missing",
        FailureKind::Store(StoreError::Kept) => "kept",
        FailureKind::Store(StoreError::Quota { .. }) => "quota",
        FailureKind::Store(StoreError::Unsupported) => "store-unsupported",
        FailureKind::Refused => "refused",
        FailureKind::Aborted => "aborted",
        FailureKind::Internal => "internal",
        FailureKind::Closed => "closed",
    }
}

fn outcome(f: &mut fmt::Formatter<'_>, word_of_line: &str, of: Option<Outcome>) -> fmt::Result {
    let failure = match of {
        None => return write!(f, "{word_of_line} outcome=open"),
        Some(Outcome::Done) => return write!(f, "{word_of_line} outcome=done"),
        Some(Outcome::Failed(failure)) => failure,
    };
    let blame = match failure.blame {
        Blame::Peer => "peer",
        Blame::Line => "line",
        Blame::Store => "store",
        Blame::Local => "local",
    };
    write!(f, "{word_of_line} outcome=failed blame={blame} kind={}", word(failure.kind))
}

/// An event that was reported to the user.
fn told(f: &mut fmt::Formatter<'_>, event: &Event<'_>) -> fmt::Result {
    let (kind, text): (_, &[u8]) = match event {
        Event::Negotiated(text) => ("negotiated", text.as_bytes()),
        Event::FileStarted { info, .. } => ("file-started", info.name),
        Event::FileDone { .. } => ("file-done", b""),
        Event::FileRefused { name, .. } => ("file-refused", name),
        Event::FileCancelled { .. } => ("file-cancelled", b""),
        Event::Completed { .. } => ("completed", b""),
        Event::RolesReversed { .. } => ("turned", b""),
        Event::Declined { .. } => ("declined", b""),
        Event::Message(text) => ("message", text),
        Event::Replied(text) => ("replied", text),
    };
    write!(f, "event kind={kind}")?;
    match event {
        Event::FileStarted { info, offset } => {
            write!(f, " offset={offset}")?;
            info.size.map_or(Ok(()), |size| write!(f, " size={size}"))?;
        }
        Event::FileDone { size, verified } => write!(f, " size={size} verified={verified}")?,
        Event::FileRefused { by_peer, .. } | Event::FileCancelled { by_peer } => {
            write!(f, " by_peer={by_peer}")?;
        }
        Event::Completed { status } => write!(f, " status={status}")?,
        Event::RolesReversed { receives } => write!(f, " receives={receives}")?,
        Event::Declined { kept, .. } => write!(f, " kept={kept}")?,
        Event::Negotiated(_) | Event::Message(_) | Event::Replied(_) => {}
    }
    if text.is_empty() { Ok(()) } else { write!(f, " text={}", text.escape_ascii()) }
}

/// Those values that are not 0.
fn some(f: &mut fmt::Formatter<'_>, values: &[(&str, u64)]) -> fmt::Result {
    let mut values = values.iter().filter(|(_, value)| *value > 0);
    values.try_for_each(|(name, value)| write!(f, " {name}={value}"))
}

impl From<&Stats> for TraceEvent<'_> {
    fn from(stats: &Stats) -> Self {
        Self::Stats {
            file: stats.file_bytes,
            encoded: stats.encoded_bytes,
            known: stats.known_bytes,
            unpacked: stats.unpacked_bytes,
            packed: stats.packed_bytes,
        }
    }
}

impl fmt::Display for TraceEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Sent { kind, number, len, again, load } => {
                write!(f, "sent {kind} n={number} len={len} at={}", load.at)?;
                let optional = [
                    ("data", load.data as u64),
                    ("file", load.file as u64),
                    ("old", load.old as u64),
                    ("parity", load.parity as u64),
                    ("again", u64::from(again)),
                ];
                some(f, &optional)?;
                load.why.map_or(Ok(()), |why| write!(f, " why={}", why.as_str()))
            }
            Self::Got { kind, number, len, data: 0, at } => {
                write!(f, "got {kind} n={number} len={len} at={at}")
            }
            Self::Got { kind, number, len, data, at } => {
                write!(f, "got {kind} n={number} len={len} at={at} data={data}")
            }
            Self::Left { total, ago_ns: 0 } => write!(f, "left total={total}"),
            Self::Left { total, ago_ns } => write!(f, "left total={total} ago={ago_ns}"),
            Self::Came { total } => write!(f, "came total={total}"),
            Self::Waiting(wait) => write!(f, "waiting for={}", wait.as_str()),
            Self::Duplicate { number } => write!(f, "duplicate n={number}"),
            Self::Damaged { why, len } => write!(f, "damaged len={len} why={why}"),
            Self::Timeout { waiting_for, number } => {
                write!(f, "timeout n={number} waiting_for={waiting_for}")
            }
            Self::State { from, to, input } => {
                write!(f, "state from={from} to={to} input={input}")
            }
            Self::Value { name, value } => write!(f, "value {name}={value}"),
            Self::Text { name, text } => write!(f, "text {name}={}", text.escape_ascii()),
            Self::Reported(event) => told(f, event),
            Self::Settled(of) => outcome(f, "settled", Some(of)),
            Self::Ended(of) => outcome(f, "end", of),
            Self::Stats { file, encoded, known, unpacked, packed } => {
                write!(f, "stats file={file} encoded={encoded}")?;
                some(f, &[("known", known), ("unpacked", unpacked), ("packed", packed)])
            }
            Self::Act(Act::Calm) => f.write_str("act what=calm"),
            Self::Act(Act::Command(end, command)) => {
                let what = match command {
                    Command::CancelFile => "cancel-file",
                    Command::CancelBatch => "cancel-batch",
                    Command::Abort => "abort",
                };
                write!(f, "act what={what} end={end}")
            }
            Self::Stopped(why) => write!(f, "stop why={why}"),
        }
    }
}

/// A sink for the trace events of an engine.
pub trait Trace {
    /// Records an event at this time.
    fn record(&mut self, at: Instant, event: &TraceEvent<'_>);
    /// Whether the trace is on; if not, engines skip describing events.
    fn enabled(&self) -> bool {
        true
    }
}

/// The trace that discards everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

/// Known when it is compiled, unlike the methods of a trait's object: nothing that describes events remains.
#[cfg(feature = "untraced")]
impl NoTrace {
    /// Discards it.
    pub const fn record(&mut self, _: Instant, _: &TraceEvent<'_>) {}
    /// Never.
    pub const fn enabled(&self) -> bool {
        false
    }
}

impl Trace for NoTrace {
    fn record(&mut self, _: Instant, _: &TraceEvent<'_>) {}
    fn enabled(&self) -> bool {
        false
    }
}
