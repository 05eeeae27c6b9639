//! A Kermit receiver: long packets, block checks 1 to 3, 8th-bit and repeat prefixes, attributes, one packet at a time.
//!
//! ```text
//! MARK LEN SEQ TYPE data check CR
//! MARK SP  SEQ TYPE LENX1 LENX2 HCHECK data check CR
//! ```
//!
//! The data of a packet is decoded in its own memory, which is all that there is: a run that is longer than the packet's free part is
//! given to the caller in pieces.
//!
//! Not implemented: windows, streaming, parity, locking shifts, text, resuming, being a server. Names longer than the packet buffer are
//! cut short.

use super::{Failure, Limits, Step, decimal, since};

const MARK: u8 = 0x01;
const CR: u8 = b'\r';
/// In the place of a prefix: it never stands in a packet.
const NONE: u8 = MARK;

/// Silence after which a packet is asked for again.
const AGAIN: u32 = 3000;
/// Bytes that some senders send above what was agreed, and those before LENX counts.
const SPARE: usize = 16;
/// Buffers below this have no use for long packets.
const LONG: usize = 128;

/// What is due next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing was done.
    Start,
    /// A packet, or the next byte of it.
    Packet,
    Begin,
    Size,
    Data,
    End,
    /// The packet in `out`.
    Answer,
    Over,
}

/// Where in the transfer it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Send-Init.
    Init,
    /// A file, or the end.
    File,
    /// The rest of a file.
    Data,
    /// Only the last acknowledgement may be sent again.
    Over,
}

/// A receiver of files by Kermit.
#[derive(Debug)]
pub struct Kermit<'a> {
    /// From LEN on.
    packet: &'a mut [u8],
    limits: Limits,
    state: State,
    phase: Phase,
    failure: Option<Failure>,
    /// Bytes of the packet that have come, and how many it has; that is 0 between packets.
    at: usize,
    need: usize,
    /// What of the data is not decoded yet: from, to.
    from: usize,
    end: usize,
    /// A byte that is still to be given this many times.
    value: u8,
    run: u8,
    /// Number of the next packet.
    expected: u8,
    /// Type of the block check, and the sender's prefixes.
    check: u8,
    quote: u8,
    eighth: u8,
    repeat: u8,
    /// A file's length, or that all of it has come.
    size: u32,
    complete: bool,
    out: [u8; 24],
    out_len: u8,
    now: u32,
    /// When a byte was received or sent last, and when something new came.
    last: u32,
    good: u32,
}

impl<'a> Kermit<'a> {
    /// A receiver with memory for one packet, of at least 96 bytes; the sender is asked for packets that are 16 bytes shorter.
    pub fn new(packet: &'a mut [u8], limits: Limits) -> Self {
        Self {
            packet,
            limits,
            state: State::Start,
            phase: Phase::Init,
            failure: None,
            at: 0,
            need: 0,
            from: 0,
            end: 0,
            value: 0,
            run: 0,
            expected: 0,
            check: 1,
            quote: b'#',
            eighth: NONE,
            repeat: NONE,
            size: 0,
            complete: false,
            out: [0; 24],
            out_len: 0,
            now: 0,
            last: 0,
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
                self.last = now_ms;
                self.state = State::Packet;
                Step::Wait
            }
            State::Begin => {
                self.state = State::Answer;
                let len = self.decode();
                Step::Begin(self.packet.get(..len).unwrap_or_default())
            }
            State::Size => {
                self.state = State::Answer;
                Step::Size(self.size)
            }
            State::Data => {
                let len = self.decode();
                if len == 0 {
                    self.state = State::Answer;
                    return Step::Wait;
                }
                Step::Data(self.packet.get(..len).unwrap_or_default())
            }
            State::End => {
                self.state = State::Answer;
                Step::End { complete: self.complete }
            }
            State::Answer => {
                self.last = now_ms;
                self.state = if self.failure.is_some() { State::Over } else { State::Packet };
                Step::Write(self.out.get(..usize::from(self.out_len)).unwrap_or_default())
            }
            State::Over => self.failure.map_or(Step::Done, Step::Failed),
            State::Packet => {
                match read() {
                    Some(byte) => {
                        self.last = now_ms;
                        self.byte(byte);
                    }
                    None if since(now_ms, self.last) >= AGAIN && self.phase != Phase::Over => {
                        self.damaged();
                    }
                    None => {}
                }
                self.limit();
                Step::Wait
            }
        }
    }

    /// Ends the transfer: the peer is told in the next step.
    pub fn cancel(&mut self) {
        self.fail(Failure::Aborted);
    }

    /// Ends with an error packet.
    fn fail(&mut self, failure: Failure) {
        if self.state != State::Over && self.failure.is_none() {
            self.failure = Some(failure);
            self.say(b'E', self.expected, b"Receiver stops", self.check);
        }
    }

    /// Ends it when there was nothing new for too long.
    fn limit(&mut self) {
        let waited = since(self.now, self.good);
        if self.phase != Phase::Over && waited >= self.limits.patience_ms {
            self.fail(Failure::Silence);
        } else if self.phase == Phase::Over
            && self.state == State::Packet
            && waited >= self.limits.linger_ms
        {
            self.state = State::Over;
        }
    }

    fn byte(&mut self, byte: u8) {
        if byte == MARK {
            self.at = 0;
            self.need = 1;
            return;
        }
        if self.need == 0 {
            return;
        }
        // A CR in data has a prefix: this is the end of a packet that has lost some.
        let room = self.packet.get_mut(self.at).filter(|_| byte != CR);
        let Some(room) = room else { return self.damaged() };
        *room = byte;
        self.at += 1;
        if self.at < self.need {
            return;
        }
        let long = self.packet.first() == Some(&b' ');
        if self.at == 1 {
            self.need = match byte.wrapping_sub(b' ') {
                0 => 6,
                len @ 3..=95 => usize::from(len) + 1,
                _ => return self.damaged(),
            };
        } else if self.at == 6 && self.need == 6 && long {
            let [_, _, _, x1, x2, check] = self.head();
            let sum = checked(1, self.packet.get(..5).unwrap_or_default());
            let len = usize::from(x1.wrapping_sub(b' ')) * 95 + usize::from(x2.wrapping_sub(b' '));
            if sum[2] != check || len == 0 {
                return self.damaged();
            }
            self.need = 6 + len;
        } else {
            self.need = 0;
            self.whole(if long { 6 } else { 3 });
        }
    }

    /// The first bytes of the packet.
    fn head(&self) -> [u8; 6] {
        self.packet.first_chunk().copied().unwrap_or_default()
    }

    /// A packet of `at` bytes has come, with data from `start` on.
    fn whole(&mut self, start: usize) {
        let [_, seq, kind, ..] = self.head();
        let seq = seq.wrapping_sub(b' ');
        // The first packet and its answer have type 1; some senders use it for errors at all times.
        let check = if matches!(kind, b'S' | b'I') { 1 } else { self.check };
        let mut end = self.sound(check);
        if end.is_none() && kind == b'E' {
            end = self.sound(1);
        }
        match end {
            Some(end) if end >= start && seq < 64 => {
                self.from = start;
                self.end = end;
                self.run = 0;
                self.on_packet(kind, seq);
            }
            _ => self.damaged(),
        }
    }

    /// Where this block check begins, if it is right.
    fn sound(&self, check: u8) -> Option<usize> {
        let end = self.at.checked_sub(usize::from(check))?;
        let (body, own) = self.packet.get(..self.at)?.split_at_checked(end)?;
        let sum = checked(check, body);
        sum.get(3 - usize::from(check)..)?.iter().eq(own).then_some(end)
    }

    fn on_packet(&mut self, kind: u8, seq: u8) {
        let before = self.expected.wrapping_sub(1) & 63;
        match kind {
            b'E' if self.phase != Phase::Over => {
                self.failure = Some(Failure::Cancelled);
                self.state = State::Over;
            }
            // An echo.
            b'E' | b'Y' | b'N' => {}
            // A duplicate: the acknowledgement was lost.
            b'S' if seq == before && self.phase != Phase::Init => self.agree(seq),
            _ if seq == before && self.phase != Phase::Init => self.acknowledge(seq),
            _ if seq == self.expected && self.phase != Phase::Over => self.new_packet(kind, seq),
            // The sender has started again.
            b'S' if self.phase != Phase::Over => self.fail(Failure::Violation),
            _ => {}
        }
    }

    /// The next packet.
    fn new_packet(&mut self, kind: u8, seq: u8) {
        self.good = self.now;
        let state = match (self.phase, kind) {
            (Phase::Init, b'S' | b'I') => {
                self.agree(seq);
                // Behind I, packets begin at 0 again.
                if kind == b'S' {
                    self.phase = Phase::File;
                    self.expected = 1;
                }
                return;
            }
            (Phase::File, b'F' | b'X') => {
                self.phase = Phase::Data;
                self.move_to_end();
                State::Begin
            }
            (Phase::File, b'B') => {
                self.phase = Phase::Over;
                State::Answer
            }
            (Phase::Data, b'A') => self.attributes(),
            (Phase::Data, b'D') => State::Data,
            (Phase::Data, b'Z') => {
                self.phase = Phase::File;
                self.complete = self.next() != Some(b'D');
                State::End
            }
            _ => return self.fail(Failure::Violation),
        };
        self.acknowledge(seq);
        self.state = state;
        self.expected = self.expected.wrapping_add(1) & 63;
    }

    /// Moves the data to the end of the memory, so that as much as possible of it is decoded at once.
    fn move_to_end(&mut self) {
        let gap = self.packet.len().saturating_sub(self.end);
        let mut at = self.end;
        while at > self.from {
            at -= 1;
            let byte = self.packet.get(at).copied().unwrap_or(0);
            if let Some(room) = self.packet.get_mut(at + gap) {
                *room = byte;
            }
        }
        self.from += gap;
        self.end += gap;
    }

    /// The length in a packet of attributes.
    fn attributes(&mut self) -> State {
        let mut rest = self.packet.get(self.from..self.end).unwrap_or_default();
        while let [tag, len, more @ ..] = rest {
            let Some((value, more)) = more.split_at_checked(usize::from(len.wrapping_sub(b' ')))
            else {
                break;
            };
            rest = more;
            if *tag == b'1'
                && let Some(size) = decimal(value)
            {
                self.size = size;
                return State::Size;
            }
        }
        State::Answer
    }

    /// Reads the sender's parameters, and answers with ours.
    fn agree(&mut self, seq: u8) {
        let params = self.packet.get(self.from..self.end).unwrap_or_default();
        let param = |index: usize| params.get(index).copied().unwrap_or(0);
        let [quote, eighth, check, repeat] = [5, 6, 7, 8].map(param);
        self.quote = if is_prefix(quote) { quote } else { b'#' };
        self.eighth = if is_prefix(eighth) { eighth } else { NONE };
        self.repeat = if is_prefix(repeat) { repeat } else { NONE };
        self.check = if matches!(check, b'2' | b'3') { check - b'0' } else { 1 };
        let room = self.packet.len();
        // Attributes and long packets, or attributes.
        let capabilities = if room < LONG { b' ' + 8 } else { b' ' + 10 };
        let (mut hi, mut lo) = (b' ', room.saturating_sub(SPARE).min(9024));
        // A division by subtraction: small processors have none.
        for bit in [64, 32, 16, 8, 4, 2, 1] {
            if lo >= 95 * bit {
                lo -= 95 * bit;
                hi += bit as u8;
            }
        }
        let ours = [
            b' ' + room.saturating_sub(2).min(94) as u8,
            // Seconds.
            b' ' + 5,
            b' ',
            b'@',
            b' ' + CR,
            b'#',
            b'Y',
            b'0' + self.check,
            if self.repeat == NONE { b' ' } else { self.repeat },
            capabilities,
            b' ' + 1,
            hi,
            b' ' + lo as u8,
        ];
        self.say(b'Y', seq, &ours, 1);
    }

    fn acknowledge(&mut self, seq: u8) {
        self.say(b'Y', seq, &[], self.check);
    }

    /// Asks for the packet again.
    fn damaged(&mut self) {
        self.need = 0;
        if self.phase != Phase::Over {
            let check = if self.phase == Phase::Init { 1 } else { self.check };
            self.say(b'N', self.expected, &[], check);
        }
    }

    /// Makes a packet, which is the next step.
    fn say(&mut self, kind: u8, seq: u8, data: &[u8], check: u8) {
        let len = b' ' + 2 + data.len() as u8 + check;
        let head = [MARK, len, b' ' + seq, kind];
        let mut end = 0;
        for (byte, room) in head.iter().chain(data).zip(&mut self.out) {
            *room = *byte;
            end += 1;
        }
        let sum = checked(check, self.out.get(1..end).unwrap_or_default());
        let sum = sum.get(3 - usize::from(check)..).unwrap_or_default();
        let rest = self.out.get_mut(end..).unwrap_or_default();
        for (byte, room) in sum.iter().chain(&[CR]).zip(rest) {
            *room = *byte;
            end += 1;
        }
        self.out_len = end as u8;
        self.state = State::Answer;
    }

    /// Decodes to the front of the memory what it has room for, and returns how much that is.
    fn decode(&mut self) -> usize {
        let mut to = 0;
        loop {
            while self.run > 0 {
                if to == self.from {
                    return to;
                }
                let Some(room) = self.packet.get_mut(to) else { return to };
                *room = self.value;
                to += 1;
                self.run -= 1;
            }
            if self.element().is_none() {
                self.from = self.end;
                return to;
            }
        }
    }

    /// The next byte of the data, and how often it is there.
    fn element(&mut self) -> Option<()> {
        let mut byte = self.next()?;
        let mut run = 1;
        if byte == self.repeat {
            // 0 stands for 1, as C-Kermit has it.
            run = self.next()?.wrapping_sub(b' ').clamp(1, 94);
            byte = self.next()?;
        }
        let mut high = 0;
        if byte == self.eighth {
            high = 0x80;
            byte = self.next()?;
        }
        if byte == self.quote {
            byte = self.next()?;
            if matches!(byte & 0x7F, 0x3F..=0x5F) {
                byte ^= 0x40;
            }
        }
        self.value = byte | high;
        self.run = run;
        Some(())
    }

    fn next(&mut self) -> Option<u8> {
        let byte = *self.packet.get(self.from..self.end)?.first()?;
        self.from += 1;
        Some(byte)
    }
}

/// Whether this may be a prefix.
fn is_prefix(byte: u8) -> bool {
    matches!(byte, 33..=62 | 96..=126)
}

/// A block check of this type: its characters are the last ones.
fn checked(kind: u8, bytes: &[u8]) -> [u8; 3] {
    let (mut sum, mut crc) = (0_u16, 0_u16);
    for byte in bytes {
        sum = sum.wrapping_add(u16::from(*byte));
        // CRC-16/KERMIT, without a table.
        let mut x = (crc ^ u16::from(*byte)) & 0xFF;
        x = (x ^ x << 4) & 0xFF;
        crc = crc >> 8 ^ x << 8 ^ x << 3 ^ x >> 4;
    }
    let value = match kind {
        1 => sum.wrapping_add(sum >> 6 & 3),
        2 => sum,
        _ => crc,
    };
    [value >> 12, value >> 6 & 63, value & 63].map(|six| b' ' + six as u8)
}
