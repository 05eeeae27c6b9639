//! What sender and receiver have in common: the words towards the port, counters, the things to
//! tell the person, and how a transfer ends.

use super::config::Config;
use super::frame::{CANCEL, Check};
use super::pace::Pace;
use crate::engine::{Cx, Event, Outcome, Status};
use crate::file::{FileInfo, Refusal};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::{Comings, Leavings, Load, TraceEvent, Waits};

/// Quiet that lets a failed transfer's last bytes run out.
const DRAIN: Duration = Duration::from_millis(400);
/// Quiet after which a receiver that was cut off in a block has noticed it: a second for the next
/// byte, a second of purge, and its NAK.
const DRAIN_CUT: Duration = Duration::from_millis(2600);
/// How often a cancel is repeated to a partner that goes on.
const CANCELS: u8 = 3;

/// Single characters on their way to the port: answers, start characters, cancels.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    bytes: [u8; 40],
    at: usize,
    len: usize,
}

impl Words {
    pub(crate) fn pending(&self) -> usize {
        self.len - self.at
    }

    fn put(&mut self, words: &[u8]) {
        if self.at == self.len {
            (self.at, self.len) = (0, 0);
        }
        // No room means that the port takes nothing; the partner will ask again.
        if let Some(room) = self.bytes.get_mut(self.len..self.len + words.len()) {
            room.copy_from_slice(words);
            self.len += words.len();
        }
    }

    fn clear(&mut self) {
        (self.at, self.len) = (0, 0);
    }
}

/// Things to tell the person, in order. The name stands elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Note {
    Negotiated(&'static str),
    Started,
    Done { size: u64 },
    Refused { why: Option<Refusal>, by_peer: bool },
    Cancelled { by_peer: bool },
    Message(&'static [u8]),
}

const NOTES: usize = 6;

/// A short queue; a host that never looks loses the newest.
#[derive(Clone, Debug)]
pub(crate) struct Notes {
    ring: [Note; NOTES],
    first: usize,
    count: usize,
}

impl Notes {
    pub(crate) fn push(&mut self, note: Note) {
        if self.count < NOTES {
            self.ring[(self.first + self.count) % NOTES] = note;
            self.count += 1;
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Note> {
        let note = (self.count > 0).then(|| self.ring[self.first])?;
        self.first = (self.first + 1) % NOTES;
        self.count -= 1;
        Some(note)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// How far an engine is with ending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// Not ending.
    No,
    /// The outcome is fixed; the store must be told and the last words must leave.
    Words(Outcome),
    /// Everything is said; a lost last acknowledgement is repeated, or a cancel to a partner that
    /// goes on.
    Linger { outcome: Outcome, until: Instant, heard: bool },
    /// Finished.
    Over(Outcome),
}

/// The common part of both engines.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) config: Config,
    pub(crate) words: Words,
    pub(crate) stats: Stats,
    pub(crate) notes: Notes,
    pub(crate) ending: Ending,
    pub(crate) pace: Pace,
    /// Nothing is lent to the port before this time.
    pub(crate) hold: Option<Instant>,
    /// When the port last took something, or was first given something to take.
    pub(crate) moved: Instant,
    /// Consecutive CAN between blocks.
    pub(crate) cans: u8,
    /// The partner is told, and told again if it goes on.
    cancelling: bool,
    cancels: u8,
    /// We stopped in the middle of a block.
    pub(crate) cut: bool,
    /// What the trace says we wait for.
    pub(crate) waits: Waits,
    /// What the trace says of bytes that leave, and of bytes that come.
    pub(crate) leavings: Leavings,
    pub(crate) comings: Comings,
}

impl Link {
    pub(crate) fn new(config: Config) -> Self {
        let ms = |ms: u16| Duration::from_millis(u64::from(ms));
        let pace = Pace::new(ms(config.pause_ms), ms(config.start_pause_ms), config.line_time(132));
        Self {
            words: Words { bytes: [0; 40], at: 0, len: 0 },
            stats: Stats::default(),
            notes: Notes { ring: [Note::Started; NOTES], first: 0, count: 0 },
            ending: Ending::No,
            pace,
            hold: None,
            moved: Instant::ZERO,
            cans: 0,
            cancelling: false,
            cancels: 0,
            cut: false,
            waits: Waits::default(),
            leavings: Leavings::default(),
            comings: Comings::default(),
            config,
        }
    }

    pub(crate) fn lend(&self) -> &[u8] {
        &self.words.bytes[self.words.at..self.words.len]
    }

    /// The port took up to `len` bytes of the words; returns how many.
    pub(crate) fn took(&mut self, cx: &mut Cx<'_>, len: usize) -> usize {
        let len = len.min(self.words.pending());
        self.words.at += len;
        self.stats.wire_out_bytes += len as u64;
        if len > 0 {
            self.moved = cx.now;
            let total = self.stats.wire_out_bytes;
            self.leavings = self.leavings.note(cx, total, self.words.pending());
        }
        len
    }

    /// Queues single characters; `kind` is the first of them, for the trace.
    pub(crate) fn say(&mut self, cx: &mut Cx<'_>, words: &[u8], number: u64) {
        if self.words.pending() == 0 {
            self.moved = self.moved.max(cx.now);
        }
        let at = self.stats.wire_out_bytes + self.words.pending() as u64;
        self.words.put(words);
        let load = Load { at, ..Load::default() };
        trace_sent(cx, letter(words[0]), number, words.len(), 0, load);
    }

    /// Lends nothing for this long.
    pub(crate) fn pause(&mut self, now: Instant, pause: Duration) {
        self.hold = (!pause.is_zero()).then(|| now + pause);
    }

    /// Whether the pause is over; ends it if so.
    pub(crate) fn may_send(&mut self, now: Instant) -> bool {
        if self.hold.is_some_and(|hold| hold <= now) {
            self.hold = None;
        }
        self.hold.is_none()
    }

    /// Counts CANs between blocks; true at the second in a row.
    pub(crate) fn is_cancelled(&mut self, byte: u8) -> bool {
        self.cans = if byte == super::frame::CAN { self.cans.saturating_add(1) } else { 0 };
        self.cans >= 2
    }

    /// Begins to end, with a cancel if the partner does not know. The first reason counts.
    pub(crate) fn end(&mut self, cx: &mut Cx<'_>, outcome: Outcome, cancel: bool) {
        if self.ending != Ending::No {
            return;
        }
        self.ending = Ending::Words(outcome);
        self.moved = cx.now;
        self.hold = None;
        if let Outcome::Failed(_) = outcome {
            self.words.clear();
            cx.trace.record(cx.now, &TraceEvent::State { from: "running", to: "failing" });
        }
        self.cancelling = cancel;
        if cancel {
            self.say(cx, &CANCEL, 0);
        }
    }

    /// The last words leave, the store closes; then it is over. `idle`: the store has answered.
    /// `stay` is how long a good end lingers.
    pub(crate) fn pump_ending(&mut self, cx: &Cx<'_>, idle: bool, stay: Duration) {
        let Ending::Words(outcome) = self.ending else { return };
        let stuck = cx.now - self.moved >= Duration::from_secs(1);
        if !idle || (self.words.pending() > 0 && !stuck) {
            return;
        }
        let quiet = match outcome {
            Outcome::Done => stay,
            Outcome::Failed(_) if self.cut => DRAIN_CUT,
            Outcome::Failed(_) => DRAIN,
        };
        self.ending = if quiet.is_zero() {
            Ending::Over(outcome)
        } else {
            Ending::Linger { outcome, until: cx.now + quiet, heard: false }
        };
    }

    /// Passes over input after a failure; returns how many bytes were taken.
    pub(crate) fn pass_over(&mut self, cx: &Cx<'_>, len: usize) -> usize {
        match &mut self.ending {
            Ending::Over(_) | Ending::No => 0,
            Ending::Words(_) => len,
            Ending::Linger { until, heard, .. } => {
                // A partner that goes on is waited for only as often as it is told to stop.
                if !*heard {
                    *heard = true;
                    *until = cx.now + DRAIN;
                }
                len
            }
        }
    }

    pub(crate) fn ending_deadline(&self) -> Option<Instant> {
        match self.ending {
            Ending::No | Ending::Over(_) => None,
            Ending::Words(_) => Some(self.moved + Duration::from_secs(1)),
            Ending::Linger { until, .. } => Some(until),
        }
    }

    pub(crate) fn tick_ending(&mut self, cx: &mut Cx<'_>) {
        let Ending::Linger { outcome, until, heard } = self.ending else { return };
        if until > cx.now {
            return;
        }
        if heard && self.cancelling && self.cancels < CANCELS {
            self.cancels += 1;
            self.ending = Ending::Words(outcome);
            self.moved = cx.now;
            self.say(cx, &CANCEL, 0);
        } else {
            self.ending = Ending::Over(outcome);
        }
    }

    pub(crate) fn status(&self) -> Status {
        match self.ending {
            Ending::No | Ending::Words(_) => Status::Running,
            Ending::Linger { outcome, .. } => Status::Lingering(outcome),
            Ending::Over(outcome) => Status::Over(outcome),
        }
    }

    /// A note as the person gets it.
    pub(crate) fn event(note: Note, info: FileInfo<'_>) -> Event<'_> {
        match note {
            Note::Negotiated(text) => Event::Negotiated(text),
            Note::Started => Event::FileStarted { info, offset: 0 },
            Note::Done { size } => Event::FileDone { size, verified: false },
            Note::Refused { why, by_peer } => Event::FileRefused { name: info.name, why, by_peer },
            Note::Cancelled { by_peer } => Event::FileCancelled { by_peer },
            Note::Message(text) => Event::Message(text),
        }
    }

    /// Tells the person what was agreed, and what the protocol loses.
    pub(crate) fn agreed(&mut self, check: Check, streaming: bool) {
        let batch = self.config.variant.is_batch();
        self.notes.push(Note::Negotiated(match (batch, streaming, check) {
            (true, true, _) => "YMODEM-G: CRC-16, no acknowledgements; any error is fatal",
            (true, false, Check::Crc) => "YMODEM: CRC-16",
            (true, false, Check::Sum) => "YMODEM: checksum",
            (false, true, _) => {
                "XMODEM-G: CRC-16, no acknowledgements; one file; name, time and length are lost"
            }
            (false, false, Check::Crc) => {
                "XMODEM: CRC-16; one file; name, time and length are lost"
            }
            (false, false, Check::Sum) => {
                "XMODEM: checksum; one file; name, time and length are lost"
            }
        }));
    }
}

/// How the trace names a character.
pub(crate) const fn letter(word: u8) -> char {
    use super::frame::{ACK, CAN, EOT, NAK};
    match word {
        ACK => 'Y',
        NAK => 'N',
        CAN => 'X',
        EOT => 'Z',
        other => other as char,
    }
}

/// Leaves the trace of something that was queued. Blocks are `D`, block 0 is `F`.
pub(crate) fn trace_sent(
    cx: &mut Cx<'_>,
    kind: char,
    number: u64,
    len: usize,
    again: u32,
    load: Load,
) {
    if cx.trace.enabled() {
        cx.trace.record(cx.now, &TraceEvent::Sent { kind, number, len, again, load });
    }
}

/// Leaves the trace of something that came: a block of `len` bytes of data, or a character.
pub(crate) fn trace_got(cx: &mut Cx<'_>, kind: char, number: u64, len: usize, at: u64) {
    if cx.trace.enabled() {
        let data = if kind == 'D' { len } else { 0 };
        cx.trace.record(cx.now, &TraceEvent::Got { kind, number, len, data, at });
    }
}
