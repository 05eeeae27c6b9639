//! What sender and receiver have in common: control characters to the port, counters, events
//! for the user, and how a transfer ends.

use super::config::Config;
use super::frame::{CANCEL, Check};
use super::pace::Pace;
use crate::engine::{Cx, Outcome};
use crate::session::{
    Ending, EventQueue, EventTexts, FewTimers, InputTrace, Outbox, Port, QueuedEvent, Timer,
    WaitTrace,
};
use crate::stats::Stats;
use crate::time::{Duration, Instant};
use crate::trace::{Load, TraceEvent};

/// The message about a receiver that cancels at the second EOT of an empty file.
const CANCELLED_EMPTY: &[u8] =
    b"(it cancelled at the end of an empty file, of which it has all there is)";

/// Silence in which a failed transfer's last bytes drain.
const DRAIN: Duration = Duration::from_millis(400);
/// Silence after which a receiver has noticed a truncated block: a second for the next
/// byte, a second of purge, and its NAK.
const DRAIN_CUT: Duration = Duration::from_millis(2600);
/// How often a cancel is repeated to a peer that continues.
const CANCELS: u8 = 3;

/// The common part of both engines.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) config: Config,
    /// Single characters queued for the port: answers, start characters, cancels.
    pub(crate) answers: Outbox,
    characters: [u8; 40],
    pub(crate) stats: Stats,
    pub(crate) notes: EventQueue<6>,
    pub(crate) ending: Ending,
    pub(crate) pace: Pace,
    pub(crate) timers: FewTimers,
    pub(crate) port: Port,
    /// What was agreed on: the check, and whether blocks go without acknowledgements.
    agreed: Option<(Check, bool)>,
    /// The peer has cancelled an empty batch.
    is_cancelled_empty: bool,
    /// Consecutive CAN between blocks.
    pub(crate) cans: u8,
    /// The cancel is sent, and repeated if the peer continues.
    cancelling: bool,
    cancels: u8,
    /// The peer continues after the end.
    heard: bool,
    /// We stopped in the middle of a block.
    pub(crate) cut: bool,
    /// The traced cause of waiting.
    pub(crate) waits: WaitTrace,
    /// The trace of received bytes.
    pub(crate) comings: InputTrace,
}

impl Link {
    pub(crate) fn new(config: Config) -> Self {
        let pace = Pace::new(config.pause.get(), config.start_pause.get());
        Self {
            answers: Outbox::default(),
            characters: [0; 40],
            stats: Stats::default(),
            notes: EventQueue::new(),
            ending: Ending::No,
            pace,
            timers: FewTimers::default(),
            port: Port::default(),
            agreed: None,
            is_cancelled_empty: false,
            cans: 0,
            cancelling: false,
            cancels: 0,
            heard: false,
            cut: false,
            waits: WaitTrace::default(),
            comings: InputTrace::default(),
            config,
        }
    }

    /// A block or an answer was lost: the next ones are delayed more.
    pub(crate) fn lost_block(&mut self) {
        self.pace.lost_block(self.config.pause.get(), self.config.line.time(132));
    }

    pub(crate) fn lend(&self) -> &[u8] {
        self.answers.lend(&self.characters)
    }

    /// The port took up to `len` bytes of the characters; returns how many.
    pub(crate) fn took(&mut self, cx: &mut Cx<'_>, len: usize) -> usize {
        let len = self.answers.take(len);
        self.stats.wire_out_bytes += len as u64;
        if len > 0 {
            self.port.took(cx, self.stats.wire_out_bytes, self.answers.pending());
        }
        len
    }

    /// Queues single characters; `kind` is the first of them, for the trace.
    pub(crate) fn say(&mut self, cx: &mut Cx<'_>, words: &[u8], number: u64) {
        let pending = self.answers.pending();
        self.port.given(cx.now, pending);
        self.answers.reuse();
        // No room means that the port has stalled; the peer will ask again.
        self.answers.put(&mut self.characters, words);
        let load = Load { at: self.stats.wire_out_bytes + pending as u64, ..Load::default() };
        trace_sent(cx, letter(words[0]), number, words.len(), 0, load);
    }

    /// Pauses output for this long.
    pub(crate) fn pause(&mut self, now: Instant, pause: Duration) {
        self.timers.stop(Timer::Pause);
        if !pause.is_zero() {
            self.timers.set(Timer::Pause, now + pause);
        }
    }

    /// Whether the pause is over; ends it if so.
    pub(crate) fn may_send(&mut self, now: Instant) -> bool {
        self.timers.expire(Timer::Pause, now);
        !self.timers.is_running(Timer::Pause)
    }

    /// Counts CANs between blocks; true at the second in a row.
    pub(crate) fn is_cancelled(&mut self, byte: u8) -> bool {
        self.cans = if byte == super::frame::CAN { self.cans.saturating_add(1) } else { 0 };
        self.cans >= 2
    }

    /// Starts to end, with a cancel if the peer does not know. The first reason counts.
    pub(crate) fn end(&mut self, cx: &mut Cx<'_>, outcome: Outcome, cancel: bool) {
        if !self.ending.begin(cx, outcome) {
            return;
        }
        self.port.moved = cx.now;
        self.timers.stop(Timer::Pause);
        if let Outcome::Failed(_) = outcome {
            self.answers.clear();
        }
        self.cancelling = cancel;
        if cancel {
            self.say(cx, &CANCEL, 0);
        }
    }

    /// Sends the last packets and closes the file; then it is over. `idle`: the store has answered.
    /// `stay` is how long a good end lingers.
    pub(crate) fn pump_ending(&mut self, cx: &Cx<'_>, idle: bool, stay: Duration) {
        let Ending::LastPackets(outcome) = self.ending else { return };
        if !idle || !self.port.last_packets_are_out(cx.now, self.answers.pending()) {
            return;
        }
        let quiet = match outcome {
            Outcome::Done => stay,
            Outcome::Failed(_) if self.cut => DRAIN_CUT,
            Outcome::Failed(_) => DRAIN,
        };
        self.heard = false;
        if quiet.is_zero() {
            self.ending = Ending::Over(outcome);
            return;
        }
        self.ending.linger(&mut self.timers, cx.now, outcome, quiet);
    }

    /// Discards input after a failure; returns how many bytes were taken.
    pub(crate) fn pass_over(&mut self, cx: &Cx<'_>, len: usize) -> usize {
        match self.ending {
            Ending::Over(_) | Ending::No => 0,
            Ending::LastPackets(_) => len,
            Ending::Linger { .. } => {
                // A peer that continues delays the end at most as often as the cancel is repeated.
                if !self.heard {
                    self.heard = true;
                    self.timers.set(Timer::Linger, cx.now + DRAIN);
                }
                len
            }
        }
    }

    pub(crate) fn ending_deadline(&self) -> Option<Instant> {
        self.ending.deadline(&self.timers, self.port.last_packets_until())
    }

    pub(crate) fn tick_ending(&mut self, cx: &mut Cx<'_>) {
        let Some(outcome) = self.ending.lingered(&self.timers, cx.now) else { return };
        if self.heard && self.cancelling && self.cancels < CANCELS {
            self.cancels += 1;
            self.ending = Ending::LastPackets(outcome);
            self.port.moved = cx.now;
            self.say(cx, &CANCEL, 0);
        } else {
            self.ending = Ending::Over(outcome);
        }
    }

    /// The texts that queued events refer to.
    pub(crate) fn event_texts(&self) -> EventTexts<'_> {
        let message = if self.is_cancelled_empty { CANCELLED_EMPTY } else { b"" };
        EventTexts { agreement: self.agreement(), message, ..EventTexts::default() }
    }

    /// The negotiated parameters and what the protocol loses.
    fn agreement(&self) -> &'static str {
        match (self.config.variant.is_batch(), self.agreed) {
            (_, None) => "",
            (true, Some((_, true))) => "YMODEM-G: CRC-16, no acknowledgements; any error is fatal",
            (true, Some((Check::Crc, false))) => "YMODEM: CRC-16",
            (true, Some((Check::Sum, false))) => "YMODEM: checksum",
            (false, Some((_, true))) => {
                "XMODEM-G: CRC-16, no acknowledgements; one file; name, time and length are lost"
            }
            (false, Some((Check::Crc, false))) => {
                "XMODEM: CRC-16; one file; name, time and length are lost"
            }
            (false, Some((Check::Sum, false))) => {
                "XMODEM: checksum; one file; name, time and length are lost"
            }
        }
    }

    /// The peer has cancelled an empty batch.
    pub(crate) fn cancelled_empty(&mut self) {
        self.is_cancelled_empty = true;
        self.notes.push(QueuedEvent::Message);
    }

    /// Reports what was negotiated.
    pub(crate) fn agreed(&mut self, check: Check, streaming: bool) {
        self.agreed = Some((check, streaming));
        self.notes.push(QueuedEvent::Negotiated);
    }
}

/// The name of a character in traces.
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

/// Traces queued output. Blocks are `D`, block 0 is `F`.
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

/// Traces received input: a block of `len` bytes of data, or a character.
pub(crate) fn trace_got(cx: &mut Cx<'_>, kind: char, number: u64, len: usize, at: u64) {
    if cx.trace.enabled() {
        let data = if kind == 'D' { len } else { 0 };
        cx.trace.record(cx.now, &TraceEvent::Got { kind, number, len, data, at });
    }
}
