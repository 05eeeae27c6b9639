//! What the receiver says: start characters, ACK, NAK, CAN.

use super::{Core, Flight, Mem, UNSURE};
use crate::engine::{Blame, Cx, FailureKind};
use crate::session::Timer;
use crate::time::Duration;
use crate::trace::Again;
use crate::xymodem::frame::{ACK, CAN, Check, LONG, NAK, SHORT, WANT_STREAM, finish};
use crate::xymodem::link::{letter, trace_got};
use crate::xymodem::states::{SenderInput, SenderStep, Sending, on_word};

/// A start character that comes sooner than this after the block it would request was already in
/// flight: receivers send them seconds apart.
const STALE: Duration = Duration::from_millis(500);

impl Core {
    pub(super) fn input(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, byte: u8) {
        if self.link.is_cancelled(byte) {
            return match self.state {
                Sending::Goodbye => self.done(cx),
                Sending::Eof if self.is_all_said() => {
                    self.link.cancelled_empty();
                    self.close(cx);
                }
                _ => self.fail(cx, Blame::Peer, FailureKind::Aborted, false),
            };
        }
        if byte == CAN {
            return;
        }
        if self.link.timers.is_running(Timer::Settle) {
            self.link.stats.noise_bytes += 1;
            let asks_again = self.asks_again && byte == NAK;
            let quiet = if asks_again { UNSURE } else { self.quiet };
            let until = (cx.now + quiet).min(self.settle_latest);
            self.link.timers.set(Timer::Settle, until);
            return;
        }
        if self.streaming && self.state == Sending::Data && self.flight.is_none() {
            if byte == NAK {
                self.link.stats.naks_in += 1;
                self.fail(cx, Blame::Line, FailureKind::NotReliable, true);
            }
            return;
        }
        // While something is being sent no input can be its answer.
        if self.queue.pending() > 0 {
            if byte == ACK
                && self.queue.untouched()
                && let Some(flight @ Flight { copies: 2.., .. }) = &mut self.flight
            {
                // The answer to the previous copy; this one need not be sent.
                flight.copies -= 1;
                self.queue.restart();
                return self.word(cx, mem, byte);
            }
            if self.lent {
                self.early = Some((byte, cx.now));
            }
            return;
        }
        self.word(cx, mem, byte);
    }

    /// A character from the receiver.
    pub(super) fn word(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, byte: u8) {
        // C and G differ in one bit. YMODEM sends it twice, XMODEM does not. A receiver that has taken data by C does
        // not request a stream later in the batch.
        let doubtful = byte == WANT_STREAM
            && if self.is_batch() {
                !self.streaming && (self.file.taken || self.link.stats.files_done > 0)
            } else {
                self.link.config.line.reliable == Some(false)
            };
        let Some(step) = on_word(self.state, byte).filter(|_| !doubtful) else {
            self.link.stats.noise_bytes += 1;
            return;
        };
        let age = match self.flight {
            Some(Flight { left: Some(left), .. }) => cx.now - left,
            Some(_) => return,
            None => Duration::ZERO,
        };
        if let (Some(flight), ACK | NAK) = (&mut self.flight, byte) {
            flight.answers += 1;
            flight.silent = 0;
        }
        let at = self.link.stats.wire_in_bytes;
        trace_got(cx, letter(byte), u64::from(self.number), 1, at);
        match step {
            SenderStep::Begin => {
                self.agree(byte);
                if self.state == Sending::Go {
                    self.start_data(cx);
                } else {
                    self.invited = true;
                }
            }
            SenderStep::Advance => self.advance(cx, byte, age),
            SenderStep::Repeat => {
                self.link.stats.naks_in += 1;
                if self.state == Sending::Confirm {
                    self.enter(cx, SenderInput::Refused);
                }
                self.unheard(age);
                self.repeat(cx, Again::Nak);
            }
            SenderStep::Remind => self.remind(cx, mem, byte, age),
            SenderStep::Stream => {
                self.agree(byte);
                self.flight = None;
                self.start_data(cx);
            }
        }
    }

    /// A NAK for a block long after it left, or on a line of unknown rate: the receiver may
    /// have discarded it (docs/decisions/021).
    pub(super) fn unheard(&mut self, age: Duration) {
        let late = age >= Duration::from_millis(2500);
        if self.state == Sending::Data && (late || self.link.config.line.rate_bps == 0) {
            self.link.lost_block();
        }
    }

    /// A start character while something is in flight.
    pub(super) fn remind(&mut self, cx: &mut Cx<'_>, mem: &mut Mem<'_>, byte: u8, age: Duration) {
        match self.state {
            Sending::Eof if self.is_batch() && self.wants_next(byte, age) => {
                // The receiver wants the next file, so it has this one.
                self.enter(cx, SenderInput::Acknowledged);
                self.advance(cx, byte, age);
            }
            Sending::Data if self.file.taken => self.link.stats.noise_bytes += 1,
            _ if age < STALE => self.link.stats.noise_bytes += 1,
            state => {
                self.link.pace.lost_start();
                let check = self.check;
                self.agree(byte);
                if state == Sending::Data && self.check != check {
                    // The same data, with the check that the receiver wants.
                    let long = self.flight.is_some_and(|flight| flight.long);
                    let len = if long { LONG } else { SHORT };
                    self.queue.restart();
                    let wire = finish(mem.out, self.number, len, self.check);
                    self.queue.push(wire);
                }
                self.repeat(cx, Again::Nak);
            }
        }
    }

    /// A start character while EOT is in flight means the next file, so the receiver has this one. In streaming mode
    /// a late one may have requested the header or the data, on a long line even when all is sent: it brings EOT
    /// again, which a receiver that has the file acknowledges, and only one that then requests a stream once more
    /// has accepted it. One behind an EOT repeated for silence may be late, too. For an empty file it may still
    /// request the header, since no block revealed its loss.
    fn wants_next(&self, byte: u8, age: Duration) -> bool {
        if self.streaming {
            let is_second = self.flight.is_some_and(|flight| flight.why == Some(Again::Nak));
            byte == WANT_STREAM && self.file.sent > 0 && is_second && age >= STALE
        } else {
            // One that comes sooner than any answer ever did asked for something else.
            self.file.taken && self.fastest.is_none_or(|fastest| age >= fastest / 4 * 3)
        }
    }

    /// Applies the receiver's request.
    pub(super) fn agree(&mut self, byte: u8) {
        match byte {
            // After block 0 it only says to continue.
            NAK if self.state == Sending::Go => {}
            NAK => self.check = Check::Sum,
            _ => self.check = Check::Crc,
        }
        self.streaming = byte == WANT_STREAM;
    }

    /// The receiver has what is out.
    pub(super) fn advance(&mut self, cx: &mut Cx<'_>, byte: u8, age: Duration) {
        if let Some(flight) = self.flight {
            if byte == ACK {
                self.slowest = self.slowest.max(age);
                if flight.copies == 1 {
                    self.fastest = Some(self.fastest.map_or(age, |fastest| fastest.min(age)));
                }
            }
            if self.is_start() && flight.copies == 1 {
                let first = self.link.config.start_pause.get();
                self.link.pace.start_heard(first);
            }
            if flight.answers < flight.copies {
                // Several answers may be in flight.
                match self.state {
                    Sending::Data => {
                        self.settle(cx, UNSURE);
                        self.owed = true;
                    }
                    // An answer to an earlier EOT may come later still, and be taken for one to the next header:
                    // then all that follow are one ahead. Blocks of a stream have none.
                    Sending::Confirm => {
                        self.settle(cx, UNSURE);
                        self.unsure = !self.streaming;
                    }
                    // Only EOT follows the header of an empty file, and an answer to an earlier copy of block 0 would
                    // be taken for its acknowledgement.
                    Sending::Header => self.unsure |= self.file.info.size == Some(0),
                    _ => {}
                }
            }
        }
        match self.state {
            Sending::Header => {
                self.flight = None;
                self.enter(cx, SenderInput::Acknowledged);
                self.base = Some(cx.now);
            }
            Sending::Data => {
                if let Some(flight) = self.flight.take() {
                    let cost = cx.now - flight.began;
                    self.lengths.taken(flight.long, flight.copies, cost);
                    self.counted(flight.data);
                    self.link.stats.current_acked_bytes = Some(self.link.stats.current_file_bytes);
                }
                self.file.taken = true;
                self.number = self.number.wrapping_add(1);
            }
            Sending::Eof if self.is_batch() => {
                self.enter(cx, SenderInput::Acknowledged);
                self.base = Some(cx.now);
            }
            Sending::Eof => self.close(cx),
            Sending::Confirm => {
                self.agree(byte);
                self.invited = true;
                self.close(cx);
            }
            Sending::Goodbye => self.done(cx),
            _ => {}
        }
    }

    /// XMODEM: an empty file is out, which is an EOT and its repetition. Some receivers close the
    /// file at the first and cancel at the second, and nothing is missing there. One that cancels later
    /// has only repeated its start character, and gives up.
    pub(super) fn is_all_said(&self) -> bool {
        let second = self.flight.is_some_and(|flight| flight.copies == 2);
        !self.is_batch() && self.file.sent == 0 && second
    }
}
