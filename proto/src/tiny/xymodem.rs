//! XMODEM-CRC and YMODEM (\[XY88\] chapters 7 and 8), blocks of 128 and 1024 bytes.
//!
//! ```text
//! SOH or STX, number, complement of the number, 128 or 1024 bytes, CRC high, CRC low
//! ```
//!
//! A damaged block is asked for again once the line is quiet, so that its rest is not taken for the next one. An EOT counts if nothing
//! follows it, and if it comes twice or the announced length has come: one made by noise ends no file. It does not
//! while a damaged block has not come again, either. A second copy of a block is acknowledged and not stored. Two CANs between blocks cancel, and five at the end of what was damaged.
//!
//! Not implemented: checksums, YMODEM-G, names longer than the block buffer.

use super::{Failure, Limits, Step, decimal, since};

const SOH: u8 = 0x01;
const STX: u8 = 0x02;
const EOT: u8 = 0x04;
const ACK: u8 = 0x06;
const BS: u8 = 0x08;
const NAK: u8 = 0x15;
const CAN: u8 = 0x18;
const WANT_CRC: u8 = b'C';

/// CANs, and what takes them from a user's screen.
static CANCEL: [u8; 16] = [CAN, CAN, CAN, CAN, CAN, CAN, CAN, CAN, BS, BS, BS, BS, BS, BS, BS, BS];

/// Milliseconds until a block is asked for again.
const AGAIN: u32 = 3000;
/// Silence in a block after which the rest does not come.
const BROKEN: u32 = 1000;
/// Silence after which a damaged block is over: longer than what networks and adapters hold back.
const QUIET: u32 = 250;
/// Silence after which an EOT is alone.
const ALONE: u32 = 100;
/// Damaged bytes above these, half of the shortest block, are a block that must come again; fewer are noise on an idle line.
const NOISE: usize = 64;
/// A second copy of the first block that begins this soon after the answer was sent before its sender has seen that.
const CROSSED: u32 = 300;

/// What is due next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing was done.
    Start,
    /// A block, or the next byte of it.
    Block,
    /// Silence, after damage; then the answer.
    Drain,
    /// Silence, after an EOT.
    Eot,
    Begin,
    Size,
    Data,
    End,
    /// The answer.
    Answer,
    /// CANs.
    Cancel,
    Over,
}

/// An XMODEM-CRC receiver.
pub type Xmodem<'a> = XyReceiver<'a, false>;
/// A YMODEM receiver.
pub type Ymodem<'a> = XyReceiver<'a, true>;

/// A receiver of one file by XMODEM-CRC, or of a batch by YMODEM.
#[derive(Debug)]
pub struct XyReceiver<'a, const BATCH: bool> {
    block: &'a mut [u8],
    limits: Limits,
    state: State,
    failure: Option<Failure>,
    /// The answer, and the second byte of it or 0.
    answer: [u8; 2],
    /// Bytes of the block that have come, with its first; 0 between blocks.
    at: usize,
    /// Data bytes of the block.
    len: usize,
    /// Those of them that are given to the caller.
    give: usize,
    number: u8,
    expected: u8,
    /// The CRC so far, that without its own two bytes, and that of block 0 of this file.
    crc: u16,
    own: u16,
    head: u16,
    /// Block 0 of a file is due.
    header: bool,
    /// No block of this file has come.
    first: bool,
    /// A file has ended.
    ended: bool,
    /// Everything has come; only the last acknowledgement may be sent again.
    over: bool,
    /// A block was damaged, and has not come again: an EOT is noise.
    owed: bool,
    /// Bytes that were damaged.
    noise: usize,
    /// The block began soon after the last acknowledgement.
    crossed: bool,
    /// CANs in a row, and EOTs.
    cans: u8,
    eots: u8,
    /// Bytes of the file that have not come, if its length is known.
    left: Option<u32>,
    now: u32,
    /// When a byte was received or sent last, when an acknowledgement was, and when something new came.
    last: u32,
    answered: u32,
    good: u32,
}

impl<'a, const BATCH: bool> XyReceiver<'a, BATCH> {
    /// A receiver with memory for one block: 1024 bytes, or 128 if the sender has short blocks.
    pub fn new(block: &'a mut [u8], limits: Limits) -> Self {
        Self {
            block,
            limits,
            state: State::Start,
            failure: None,
            answer: [WANT_CRC, 0],
            at: 0,
            len: 0,
            give: 0,
            number: 0,
            expected: 1,
            crc: 0,
            own: 0,
            head: 0,
            header: BATCH,
            first: true,
            ended: false,
            over: false,
            owed: false,
            noise: 0,
            crossed: false,
            cans: 0,
            eots: 0,
            left: None,
            now: 0,
            last: 0,
            answered: 0,
            good: 0,
        }
    }

    /// Says what is next. `now_ms` is a clock that may turn over; `read` takes a byte from the line, if there is one, and is called at
    /// most once.
    pub fn step(&mut self, now_ms: u32, read: impl FnOnce() -> Option<u8>) -> Step<'_> {
        self.now = now_ms;
        match self.state {
            State::Start => {
                self.good = now_ms;
                self.state = State::Answer;
                Step::Wait
            }
            State::Begin if !BATCH => {
                self.state = State::Data;
                Step::Begin(&[])
            }
            State::Begin => {
                self.state = if self.left.is_some() { State::Size } else { State::Answer };
                Step::Begin(self.block.get(..self.give).unwrap_or_default())
            }
            State::Size => {
                self.state = State::Answer;
                Step::Size(self.left.unwrap_or(0))
            }
            State::Data => {
                self.state = State::Answer;
                Step::Data(self.block.get(..self.give).unwrap_or_default())
            }
            State::End => {
                self.state = State::Answer;
                Step::End { complete: true }
            }
            State::Answer => {
                self.last = now_ms;
                // A block that comes soon behind a NAK is what was asked for.
                if self.answer[0] == ACK {
                    self.answered = now_ms;
                }
                self.state = State::Block;
                let len = if self.answer[1] == 0 { 1 } else { 2 };
                Step::Write(self.answer.get(..len).unwrap_or_default())
            }
            State::Cancel => {
                self.state = State::Over;
                Step::Write(&CANCEL)
            }
            State::Over => self.failure.map_or(Step::Done, Step::Failed),
            _ => {
                match read() {
                    Some(byte) => self.byte(byte),
                    None => self.silence(),
                }
                self.limit();
                Step::Wait
            }
        }
    }

    /// Ends the transfer: the peer is told in the next step.
    pub fn cancel(&mut self) {
        self.fail(Failure::Aborted, State::Cancel);
    }

    fn fail(&mut self, failure: Failure, state: State) {
        if self.state != State::Over && self.failure.is_none() {
            self.failure = Some(failure);
            self.state = state;
        }
    }

    /// Ends it when there was nothing new for too long.
    fn limit(&mut self) {
        let waited = since(self.now, self.good);
        if !self.over && waited >= self.limits.patience_ms {
            self.fail(Failure::Silence, State::Cancel);
        } else if self.over
            && waited >= self.limits.linger_ms
            && matches!(self.state, State::Block | State::Drain)
        {
            self.state = State::Over;
        }
    }

    fn byte(&mut self, byte: u8) {
        self.last = self.now;
        self.cans = match byte {
            CAN => self.cans.saturating_add(1),
            BS => self.cans,
            _ => 0,
        };
        match self.state {
            State::Block if self.at > 0 => self.in_block(byte),
            State::Block => self.between(byte),
            State::Eot if byte != EOT => self.damaged(),
            State::Drain => self.noise += 1,
            _ => {}
        }
    }

    /// A byte between blocks.
    fn between(&mut self, byte: u8) {
        if self.over {
            // The acknowledgement was lost; anything else is no longer ours.
            self.state =
                if byte == if BATCH { SOH } else { EOT } { State::Drain } else { State::Over };
            return;
        }
        self.len = match byte {
            SOH => 128,
            STX => 1024,
            EOT if !self.header || self.ended => {
                self.state = State::Eot;
                return;
            }
            CAN => {
                if self.cans > 1 {
                    self.fail(Failure::Cancelled, State::Over);
                }
                return;
            }
            _ => return self.damaged(),
        };
        if self.len > self.block.len() {
            return self.damaged();
        }
        self.at = 1;
        self.crc = 0;
        self.crossed = since(self.now, self.answered) < CROSSED;
    }

    fn in_block(&mut self, byte: u8) {
        let at = self.at;
        self.at += 1;
        match at {
            1 => self.number = byte,
            2 if byte != !self.number => self.damaged(),
            2 => {}
            _ => {
                let index = at - 3;
                if index == self.len {
                    self.own = self.crc;
                }
                self.crc = crc(self.crc, byte);
                if index < self.len {
                    if let Some(room) = self.block.get_mut(index) {
                        *room = byte;
                    }
                } else if index > self.len {
                    // The CRC of what has its CRC behind it is 0.
                    if self.crc == 0 { self.whole() } else { self.damaged() }
                }
            }
        }
    }

    /// An undamaged block.
    fn whole(&mut self) {
        self.at = 0;
        self.eots = 0;
        self.owed = false;
        let again = self.number == self.expected.wrapping_sub(1);
        if BATCH && self.header {
            return match self.number {
                0 => self.describe(),
                _ if again && self.ended => self.say(ACK, 0),
                _ => self.fail(Failure::Violation, State::Cancel),
            };
        }
        if self.number == self.expected {
            return self.store();
        }
        // Before the first block of XMODEM there is none; in YMODEM it is this file's block 0, and not that of another one.
        if !again || self.first && !(BATCH && self.own == self.head) {
            return self.fail(Failure::Violation, State::Cancel);
        }
        // A sender that found several start characters sends the first block several times. It gets one answer: with two it would take
        // the second for that to its next block.
        if self.crossed && self.expected <= 2 {
            return;
        }
        self.say(ACK, if self.first { WANT_CRC } else { 0 });
    }

    fn store(&mut self) {
        let mut give = self.len;
        if BATCH && let Some(left) = self.left {
            give = give.min(left as usize);
            // One block may be all padding.
            if give == 0 && self.give == 0 && !self.first {
                return self.fail(Failure::Length, State::Cancel);
            }
            self.left = Some(left.wrapping_sub(give as u32));
        }
        self.give = give;
        self.expected = self.expected.wrapping_add(1);
        let begins = !BATCH && core::mem::take(&mut self.first);
        self.first = false;
        self.good = self.now;
        self.say(ACK, 0);
        if give > 0 {
            self.state = if begins { State::Begin } else { State::Data };
        }
    }

    /// Block 0.
    fn describe(&mut self) {
        let data = self.block.get(..self.len).unwrap_or_default();
        let Some(end) = data.iter().position(|byte| *byte == 0) else {
            return self.fail(Failure::Violation, State::Cancel);
        };
        self.left = decimal(data.get(end + 1..).unwrap_or_default());
        self.give = end;
        self.good = self.now;
        self.header = false;
        self.over = end == 0;
        if self.over {
            return self.say(ACK, 0);
        }
        self.expected = 1;
        self.first = true;
        self.head = self.own;
        self.say(ACK, WANT_CRC);
        self.state = State::Begin;
    }

    /// What came is damaged: the answer is for when the line is quiet.
    fn damaged(&mut self) {
        // Behind a header that was right there was a block, however little of it came.
        self.owed |= self.at > 3;
        self.noise = self.at;
        self.at = 0;
        self.eots = 0;
        self.state = State::Drain;
        self.answer = [self.request(), 0];
    }

    /// What asks for the next block.
    fn request(&self) -> u8 {
        if self.first || self.header { WANT_CRC } else { NAK }
    }

    fn say(&mut self, answer: u8, more: u8) {
        self.answer = [answer, more];
        self.state = State::Answer;
    }

    /// Nothing came.
    fn silence(&mut self) {
        let quiet = since(self.now, self.last);
        match self.state {
            State::Eot if quiet >= ALONE => self.eot(),
            State::Drain if quiet >= QUIET => self.quiet(),
            State::Block if self.over => {}
            State::Block if quiet >= if self.at > 0 { BROKEN } else { AGAIN } => {
                self.damaged();
                self.quiet();
            }
            _ => {}
        }
    }

    /// The line is quiet after damage.
    fn quiet(&mut self) {
        self.state = State::Answer;
        self.owed |= self.noise > NOISE;
        if self.cans >= 5 {
            self.fail(Failure::Cancelled, State::Over);
        }
    }

    /// An EOT, and nothing behind it.
    fn eot(&mut self) {
        if self.header {
            // The acknowledgement of the last one was lost.
            return self.say(ACK, WANT_CRC);
        }
        self.eots += 1;
        let whole = match self.left {
            Some(left) if BATCH => left == 0,
            _ => self.eots > 1 && !self.owed,
        };
        if !whole {
            if self.eots > 3 {
                return self.fail(Failure::Length, State::Cancel);
            }
            let request = if BATCH { NAK } else { self.request() };
            return self.say(request, 0);
        }
        self.eots = 0;
        self.ended = true;
        self.good = self.now;
        self.header = BATCH;
        self.over = !BATCH;
        self.say(ACK, if BATCH { WANT_CRC } else { 0 });
        self.state = State::End;
    }
}

/// CRC-16/XMODEM with one more byte, without a table.
fn crc(crc: u16, byte: u8) -> u16 {
    let mut x = crc >> 8 ^ u16::from(byte);
    x ^= x >> 4;
    crc << 8 ^ x << 12 ^ x << 5 ^ x
}
