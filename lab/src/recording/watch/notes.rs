//! What is noted while a protocol looks at the bytes of an end: where they stood in the stream, when they passed, and
//! the events of a trace.

use wetstring_proto::{Again, Blame, Failure, FailureKind, Load, Outcome, Stats, TraceEvent, Wait};

/// The letter of a NAK, of Kermit and of XMODEM.
const NAK: char = 'N';

/// A line of a trace, without time and name.
pub(super) enum Line {
    /// An event of the end.
    Engine(String),
    /// Its computer was busy, in ns.
    Busy(u64),
}

/// A direction: the total, and when the bytes up to which position passed.
#[derive(Default)]
struct Stream {
    total: u64,
    pieces: Vec<(u64, u64, u64)>,
}

impl Stream {
    /// When the byte at this position passed: from, to.
    fn times(&self, position: u64) -> (u64, u64) {
        let index = self.pieces.partition_point(|(end, ..)| *end <= position);
        let piece = self.pieces.get(index).or(self.pieces.last());
        piece.map_or((0, 0), |(_, from, to)| (*from, *to))
    }
}

/// A packet in its stream.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// Position of its first byte, and after its last.
    pub(super) begins: u64,
    pub(super) ends: u64,
}

impl Span {
    pub(super) fn len(self) -> usize {
        (self.ends - self.begins) as usize
    }
}

/// What a packet that was sent carried.
#[derive(Clone, Copy, Default)]
pub(super) struct Cargo {
    /// Characters of the data field, the file's bytes in them, and how many of those had been sent before.
    pub(super) data: usize,
    pub(super) file: usize,
    pub(super) old: usize,
    /// How often it was sent before, and why it was again.
    pub(super) again: u32,
    pub(super) why: Option<Again>,
}

pub(super) struct Notes {
    /// Bytes in good packets.
    pub(super) good: usize,
    lines: Vec<(u64, Line)>,
    sent: Stream,
    received: Stream,
    /// The recording shows when the program called the system, and so when it could have sent.
    sees_calls: bool,
    /// The time from which only the program itself delayed sending.
    free: Option<u64>,
    waiting: Option<Wait>,
    /// Something arrived since a packet was sent, or none was sent yet.
    heard: bool,
    settled: bool,
    file: u64,
    encoded: u64,
}

impl Notes {
    pub(super) fn new(sees_calls: bool) -> Self {
        Self {
            good: 0,
            lines: Vec::new(),
            sent: Stream::default(),
            received: Stream::default(),
            sees_calls,
            free: None,
            waiting: None,
            heard: true,
            settled: false,
            file: 0,
            encoded: 0,
        }
    }

    /// Bytes pass, which will be looked at now.
    pub(super) fn piece(&mut self, from: u64, to: u64, sent: bool, len: usize) {
        let stream = self.stream_mut(sent);
        stream.total += len as u64;
        let end = stream.total;
        stream.pieces.push((end, from, to));
    }

    /// They were looked at.
    pub(super) fn moved(&mut self, at: u64, sent: bool) {
        let total = self.stream_mut(sent).total;
        let event =
            if sent { TraceEvent::Left { total, ago_ns: 0 } } else { TraceEvent::Came { total } };
        self.note(at, &event);
    }

    fn stream_mut(&mut self, sent: bool) -> &mut Stream {
        if sent { &mut self.sent } else { &mut self.received }
    }

    /// All bytes of a direction so far.
    pub(super) fn total(&self, sent: bool) -> u64 {
        if sent { self.sent.total } else { self.received.total }
    }

    pub(super) fn note(&mut self, at: u64, event: &TraceEvent<'_>) {
        self.lines.push((at, Line::Engine(event.to_string())));
    }

    /// When a packet began to be sent, or had arrived.
    pub(super) fn time(&self, sent: bool, span: Span) -> u64 {
        if sent {
            self.sent.times(span.begins).0
        } else {
            self.received.times(span.ends.saturating_sub(1)).1
        }
    }

    /// A packet was sent; when it began to be.
    pub(super) fn sent(&mut self, kind: char, number: u64, span: Span, cargo: Cargo) -> u64 {
        let at = self.time(true, span);
        if let Some(since) = self.free.take().filter(|since| *since < at) {
            self.lines.push((since, Line::Busy(at - since)));
        }
        let asks = kind == NAK && !self.heard;
        self.heard = false;
        if cargo.why == Some(Again::Timeout) || asks {
            let waiting_for = if asks { "packet" } else { "acknowledgement" };
            self.note(at, &TraceEvent::Timeout { waiting_for, number });
        }
        let Cargo { data, file, old, again, why } = cargo;
        let load = Load { at: span.begins, data, file, old, why, ..Load::default() };
        self.note(at, &TraceEvent::Sent { kind, number, len: span.len(), again, load });
        self.file += (file - old.min(file)) as u64;
        self.encoded += if again == 0 { data as u64 } else { 0 };
        at
    }

    /// A good packet came, with this much of data; when.
    pub(super) fn got(&mut self, kind: char, number: u64, span: Span, data: usize) -> u64 {
        self.heard = true;
        let at = self.time(false, span);
        let (len, ends) = (span.len(), span.ends);
        self.note(at, &TraceEvent::Got { kind, number, len, data, at: ends });
        at
    }

    /// The packet that arrived is a duplicate.
    pub(super) fn duplicate(&mut self, at: u64, number: u64) {
        self.note(at, &TraceEvent::Duplicate { number });
    }

    /// New bytes of a file were received.
    pub(super) fn stored(&mut self, file: usize, data: usize) {
        self.file += file as u64;
        self.encoded += data as u64;
    }

    /// A damaged packet came.
    pub(super) fn damaged(&mut self, why: &'static str, span: Span) {
        self.heard = true;
        let at = self.time(false, span);
        self.note(at, &TraceEvent::Damaged { why, len: span.len() });
    }

    /// From now on the end waits for this.
    pub(super) fn waits(&mut self, at: u64, wait: Wait) {
        self.free = None;
        if self.waiting != Some(wait) {
            self.waiting = Some(wait);
            self.note(at, &TraceEvent::Waiting(wait));
        }
    }

    /// From now on it could send, because of an answer that came.
    pub(super) fn may_send(&mut self, at: u64) {
        self.waits(at, Wait::Nothing);
        self.free = Some(at);
    }

    /// It could send on; what keeps it from that is seen only in its calls.
    pub(super) fn may_go_on(&mut self, span: Span) {
        let (from, to) = self.sent.times(span.ends.saturating_sub(1));
        self.waits(from, Wait::Nothing);
        self.free = self.sees_calls.then_some(to);
    }

    /// The receiver of files answers, which is this end if it is `sent`; when.
    pub(super) fn answer(&mut self, sent: bool, kind: char, number: u64, span: Span) -> u64 {
        if sent {
            let at = self.sent(kind, number, span, Cargo::default());
            self.waits(at, Wait::Peer);
            at
        } else {
            let at = self.got(kind, number, span, 0);
            self.may_send(at);
            at
        }
    }

    /// One of the ends gives up: this one if that was `sent`.
    pub(super) fn gave_up(&mut self, at: u64, sent: bool) {
        let (blame, kind) = if sent {
            (Blame::Local, FailureKind::Aborted)
        } else {
            (Blame::Peer, FailureKind::PeerError)
        };
        self.settled(at, Outcome::Failed(Failure { blame, kind }));
    }

    /// The outcome is known.
    pub(super) fn settled(&mut self, at: u64, outcome: Outcome) {
        if !self.settled {
            self.settled = true;
            self.waits(at, Wait::Nothing);
            self.note(at, &TraceEvent::Settled(outcome));
        }
    }

    /// Everything, in the order of time.
    pub(super) fn lines(mut self) -> Vec<(u64, Line)> {
        let last = self.lines.iter().map(|(at, _)| *at).max().unwrap_or_default();
        let mut stats = Stats::default();
        stats.file_bytes = self.file;
        stats.encoded_bytes = self.encoded;
        self.note(last, &TraceEvent::from(&stats));
        self.lines.sort_by_key(|(at, _)| *at);
        self.lines
    }
}
