//! A receiver's input and timeouts: blocks, damage, EOT, and when to send a NAK.

use super::{Core, Mem, ReceiverInput, Receiving};
use crate::engine::{Blame, Cx, FailureKind, Outcome};
use crate::session::{Ending, Timer};
use crate::time::{Duration, Instant};
use crate::trace::TraceEvent;
use crate::xymodem::config::FirstEot;
use crate::xymodem::frame::{
    ACK, BS, BadBlock, BlockReader, CAN, Check, EOT, Found, HEADER, NAK, SHORT, SOH, WANT_CRC,
};

/// What the receiver expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InputMode {
    /// A block, or a character between blocks.
    Blocks,
    /// EOT came: it counts only if nothing follows before [`Timer::Settle`].
    Eot,
    /// Silence until [`Timer::Settle`], or [`Timer::Noise`] at the latest: the input is the rest of
    /// a damaged block.
    Purge { len: usize, cans: u8 },
}

/// Silence after which a byte is single: USB adapters hold bytes back for 16 ms.
const ALONE: Duration = Duration::from_millis(30);
/// More damaged bytes than these, half of the shortest block, are a block that must be retransmitted;
/// fewer are a damaged EOT, or noise on an idle line.
const MOST_NOISE: usize = SHORT / 2;
/// Silence after a damaged block that came to its end: longer than networks and adapters hold the rest of a longer one back.
const WHOLE: Duration = Duration::from_millis(100);
/// Silence after which lrzsz accepts an EOT.
const ALONE_LONG: Duration = Duration::from_secs(1);
/// A sender that says nothing for this long has gone: until then it may be reading its file.
const READS: Duration = Duration::from_secs(60);

impl Core {
    pub(super) fn listen(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, bytes: &[u8]) -> usize {
        match &mut self.input {
            InputMode::Blocks => {
                if !self.reader.mid_block() {
                    self.sink.make_room(mem.file, self.reader.longest());
                }
                let (used, found) = self.reader.next(self.sink.room(mem.file), bytes);
                self.link.stats.wire_in_bytes += used as u64;
                match found {
                    None => {}
                    Some(Found::Block { number, len }) => self.on_block(cx, mem, number, len),
                    Some(Found::Damaged { why, len }) => {
                        let cans = self.reader.cancels(self.sink.room(mem.file));
                        self.on_damaged(cx, why, len);
                        self.purge(cx, len, cans);
                        if why == BadBlock::Check {
                            self.await_answer(cx);
                        }
                    }
                    Some(Found::Byte(byte)) => self.on_byte(cx, byte),
                }
                used
            }
            InputMode::Eot => {
                self.link.stats.wire_in_bytes += 1;
                if bytes[0] == EOT {
                    self.eots = self.eots.saturating_add(1);
                } else {
                    self.link.stats.noise_bytes += 1;
                    self.on_damaged(cx, BadBlock::BehindEot, 1);
                    self.purge(cx, 1, 0);
                }
                1
            }
            InputMode::Purge { len, cans } => {
                for byte in bytes {
                    *cans = match *byte {
                        CAN => cans.saturating_add(1),
                        BS if *cans >= 5 => *cans,
                        _ => 0,
                    };
                }
                *len += bytes.len();
                self.link.stats.wire_in_bytes += bytes.len() as u64;
                self.await_quiet(cx);
                self.link.stats.noise_bytes += bytes.len() as u64;
                bytes.len()
            }
        }
    }

    /// A character between blocks.
    fn on_byte(&mut self, cx: &mut Cx<'_>, byte: u8) {
        if self.link.is_cancelled(byte) {
            return self.fail(cx, Blame::Peer, FailureKind::Aborted, false);
        }
        let fresh = self.first || self.state == Receiving::Header;
        match byte {
            CAN => {}
            EOT if self.state == Receiving::Data || self.link.stats.files_done > 0 => {
                let config = &self.link.config;
                let quiet = match (self.link.config.first_eot, config.line.reliable) {
                    (FirstEot::Wait, _) => ALONE_LONG,
                    (_, Some(true)) => Duration::ZERO,
                    _ => ALONE + config.line.time(4),
                };
                self.input = InputMode::Eot;
                self.link.timers.set(Timer::Settle, cx.now + quiet);
            }
            // Inserted by terminals and flow control; before the first block also text.
            0 | b'\r' | b'\n' | 0x11 | 0x13 => self.link.stats.noise_bytes += 1,
            b' '..=b'~' | BS | 0x1b | b'\t' if fresh => self.link.stats.noise_bytes += 1,
            _ if fresh && self.state == Receiving::Header && !self.begun => {
                self.link.stats.noise_bytes += 1;
            }
            _ => {
                self.on_damaged(cx, BadBlock::NoBlock, 1);
                self.purge(cx, 1, 0);
            }
        }
    }

    fn on_damaged(&mut self, cx: &mut Cx<'_>, why: BadBlock, len: usize) {
        self.link.stats.damaged += 1;
        self.link.cans = 0;
        // With a valid header it was a block, however little of it came.
        self.owed |= len > HEADER;
        cx.trace.record(cx.now, &TraceEvent::Damaged { why: why.as_str(), len });
    }

    /// Discards input until the line is silent. `cans` have come already.
    fn purge(&mut self, cx: &mut Cx<'_>, len: usize, cans: usize) {
        if cans == 0 && self.is_lost() {
            // A stream is never silent, and nothing can be retransmitted.
            return self.fail(cx, Blame::Line, FailureKind::NotReliable, true);
        }
        self.await_quiet(cx);
        // On a line that is never silent a NAK is sent anyway, once in a while.
        let long = self.link.config.line.time(3 * 1029);
        let most = if long.is_zero() { Duration::from_secs(60) } else { long };
        self.link.timers.set(Timer::Noise, cx.now + most.max(Duration::from_secs(10)));
        self.input = InputMode::Purge { len, cans: cans.min(255) as u8 };
    }

    /// From now on the line has to be quiet for as long as a purge takes.
    fn await_quiet(&mut self, cx: &Cx<'_>) {
        let quiet = self.link.config.purge.get();
        self.link.timers.set(Timer::Settle, cx.now + quiet);
    }

    /// All of a block has come: its sender waits for the answer. Anything further belongs to a longer block, and
    /// is purged as anything else.
    fn await_answer(&mut self, cx: &Cx<'_>) {
        let config = &self.link.config;
        if config.quick_nak {
            let quiet = WHOLE.max(config.line.time(10)).min(config.purge.get());
            self.link.timers.set(Timer::Settle, cx.now + quiet);
        }
    }

    /// After the end: only a duplicate of the last packet, or its start, is ours.
    pub(super) fn linger_input(
        &mut self,
        cx: &mut Cx<'_>,
        mem: &mut Mem<'_>,
        bytes: &[u8],
    ) -> usize {
        let expected = if self.is_batch() { SOH } else { EOT };
        if !self.reader.mid_block() && bytes[0] != expected {
            // The prompt, or the next protocol: not ours.
            if let Ending::Linger { outcome, .. } = self.link.ending {
                self.link.ending = Ending::Over(outcome);
            }
            return 0;
        }
        if !self.is_batch() {
            self.repeat_last(cx);
            return 1;
        }
        let room = self.sink.room(mem.file);
        let (used, found) = self.reader.next(room, bytes);
        if let Some(Found::Block { number: 0, .. }) = found {
            self.repeat_last(cx);
        }
        used
    }

    fn repeat_last(&mut self, cx: &mut Cx<'_>) {
        self.link.stats.duplicates += 1;
        self.repeats += 1;
        if self.repeats <= self.link.config.retries {
            self.link.say(cx, &[ACK], u64::from(self.expected));
        }
    }

    /// How long to wait for the start of a block.
    fn wait(&self) -> Duration {
        let config = &self.link.config;
        let longest = config.timeout.get();
        if self.streaming && self.state == Receiving::Data && !self.first {
            // A stream is not answered, but a dead line must not block us indefinitely.
            return longest.max(READS);
        }
        if self.first || self.state == Receiving::Header {
            let start = config.start_wait.get();
            let patient = self.start == NAK || (self.eots > 0 && !self.streaming);
            let usual = start.max(self.gap * 2);
            return match (patient, self.streaming) {
                (true, _) => longest.max(start),
                // A lost `G` made the gap long.
                (false, true) => usual.min(longest.max(start)),
                (false, false) => usual,
            };
        }
        // Longer than the usual gap and than most pauses of a sender, doubled with each failure.
        let usual = (self.gap * 3 + Duration::from_secs(1)).max(Duration::from_secs(3));
        (usual * (1 << self.tries.min(3))).min(longest.max(self.gap * 3))
    }

    /// When silence is a timeout.
    pub(super) fn due(&self, memory_len: usize) -> Option<Instant> {
        if self.began.is_none() || !self.takes_input(memory_len) {
            return None;
        }
        let timers = &self.link.timers;
        Some(match self.input {
            InputMode::Eot => timers.get(Timer::Settle)?,
            InputMode::Purge { .. } => timers.get(Timer::Settle)?.min(timers.get(Timer::Noise)?),
            InputMode::Blocks if self.reader.mid_block() => {
                let quiet = self.link.config.char_timeout.get();
                self.heard + quiet
            }
            // Our request has not left yet.
            InputMode::Blocks if self.link.answers.pending() > 0 => return None,
            // Noise does not restart the timer.
            InputMode::Blocks => self.base + self.wait(),
        })
    }

    pub(super) fn run_timers(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        if self.due(mem.file.len()).is_none_or(|due| due > cx.now) {
            return;
        }
        let is_quiet = self.link.timers.expire(Timer::Settle, cx.now);
        match core::mem::replace(&mut self.input, InputMode::Blocks) {
            InputMode::Eot => self.ended(cx, mem),
            InputMode::Purge { len, cans } => {
                self.owed |= len > MOST_NOISE;
                if cans >= 5 {
                    return self.fail(cx, Blame::Peer, FailureKind::Aborted, false);
                }
                let patience = self.link.config.patience.get();
                if !is_quiet && cx.now - self.good >= patience {
                    // Never silent, and never a block: it will not stop for us.
                    return self.fail(cx, Blame::Line, FailureKind::TooManyRetries, true);
                }
                self.ask_for_more(cx);
            }
            InputMode::Blocks if self.reader.mid_block() => self.broke_off(cx, mem),
            InputMode::Blocks => self.nothing_came(cx),
        }
    }

    /// Silence in the middle of a block.
    fn broke_off(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>) {
        let len = self.reader.abandon();
        if self.reader.cancels(self.sink.room(mem.file)) >= 5 {
            return self.fail(cx, Blame::Peer, FailureKind::Aborted, false);
        }
        self.link.stats.timeouts += 1;
        self.on_damaged(cx, BadBlock::Silence, len);
        self.ask_for_more(cx);
    }

    /// The end of a damaged block.
    fn ask_for_more(&mut self, cx: &mut Cx<'_>) {
        if self.is_lost() {
            return self.fail(cx, Blame::Line, FailureKind::NotReliable, true);
        }
        self.ask_again(cx, true);
    }

    /// A stream was damaged, block 0 included: another `G` would mean to continue.
    fn is_lost(&self) -> bool {
        self.streaming && (self.owed || self.state == Receiving::Data)
    }

    fn nothing_came(&mut self, cx: &mut Cx<'_>) {
        self.link.stats.timeouts += 1;
        let number = u64::from(self.expected);
        cx.trace.record(cx.now, &TraceEvent::Timeout { waiting_for: "block", number });
        let config = &self.link.config;
        let patience = config.patience.get();
        let waited = self.began.map_or(Duration::ZERO, |began| cx.now - began);
        let hopeless = if self.begun {
            let amid_stream = self.streaming && self.state == Receiving::Data && !self.first;
            let is_over = cx.now - self.good >= READS;
            self.tries >= config.retries && is_over || amid_stream
        } else {
            waited >= patience
        };
        let last = self.file.left.is_some_and(|left| left.files <= 1);
        if last && self.state == Receiving::Header && self.tries >= 3 {
            // Some senders omit the empty block 0; this one had announced its last file.
            self.enter(cx, ReceiverInput::Done);
            return self.link.end(cx, Outcome::Done, false);
        }
        if hopeless {
            return self.fail(cx, Blame::Peer, FailureKind::Silence, true);
        }
        let unheard = !self.begun && self.link.stats.damaged == 0;
        if unheard && !self.is_batch() && self.start == WANT_CRC {
            let starts = self.link.config.starts;
            if starts > 0 && self.starts >= starts {
                // The sender seems not to know CRCs.
                self.start = NAK;
                self.reader = BlockReader::new(Check::Sum, self.reader.longest());
                self.reader.either = true;
            }
        }
        let counts = self.begun && self.tries < self.link.config.retries;
        self.ask_again(cx, counts);
        self.prompted = true;
    }
}
