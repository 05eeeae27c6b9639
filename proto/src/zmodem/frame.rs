//! From bytes to headers and data subpackets, in any chunking.
//!
//! Between frames everything that does not begin a header is ignored and counted. The caller, which interprets headers,
//! says which bytes are data: [`FrameReader::expect_data`].

use super::escape::{Dropping, Stop, Unescaper, ZDLE};
use super::packet::{Form, Header, MAX_DATA, PACKS, ZPAD, end, kind};
use crate::crc::{crc16, crc16_update, crc32, crc32_update};
use crate::reason::reasons;

/// An item found in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// A good header.
    Header(Header),
    /// A good data subpacket: its end, and its length in the buffer.
    Data {
        /// How it ended, see [`end`].
        end: u8,
        /// Bytes in the room.
        len: usize,
    },
    /// A bad header.
    BadHeader {
        /// The rule it violates.
        why: BadFrame,
    },
    /// A bad data subpacket; the reader looks for a header from here on.
    BadData {
        /// The rule it violates.
        why: BadFrame,
        /// Bytes discarded.
        len: usize,
    },
    /// Five CAN in a row: the session is cancelled.
    Cancel,
}

reasons! {
    /// Why a header or a data subpacket is bad.
    pub enum BadFrame {
        /// In a hex header.
        Digit = "not a hex digit",
        /// Of a header.
        Length = "impossible length",
        /// Of a header.
        HeaderCheck = "header check",
        /// In a header.
        HeaderEscape = "bad escape in a header",
        /// A subpacket.
        TooLong = "longer than negotiated",
        /// In a subpacket.
        Escape = "bad escape",
        /// Of a subpacket.
        DataCheck = "data check",
    }
}

/// Most bytes of a header after its letter: length, type, data, check.
const BODY: usize = 1 + 1 + MAX_DATA + 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Looking for ZPAD.
    Hunt,
    /// ZPAD was seen.
    Pad,
    /// ZPAD ZDLE was seen.
    Letter,
    /// In the digits of a hex header; the first of a pair if there is one.
    Hex { high: Option<u8> },
    /// In a binary header.
    Binary,
    /// In a data subpacket.
    Data,
    /// In the check of a data subpacket.
    Check,
}

/// Finds frames in a stream of bytes.
#[derive(Clone, Debug)]
pub struct FrameReader {
    state: State,
    unescaper: Unescaper,
    /// CAN in a row, outside of data.
    cans: u8,
    form: Form,
    variable: bool,
    body: [u8; BODY],
    body_len: usize,
    /// Of the line end after a hex header, these bytes may still come: CR, LF, XON.
    tail: &'static [u8],
    /// Data of the subpacket so far.
    len: usize,
    end: u8,
    noise: u64,
}

impl FrameReader {
    /// A reader that looks for a header.
    pub fn new(dropping: Dropping) -> Self {
        Self {
            state: State::Hunt,
            unescaper: Unescaper::new(dropping),
            cans: 0,
            form: Form::Hex,
            variable: false,
            body: [0; BODY],
            body_len: 0,
            tail: b"",
            len: 0,
            end: 0,
            noise: 0,
        }
    }

    /// Bytes that belonged to no frame.
    pub fn noise_bytes(&self) -> u64 {
        self.noise
    }

    /// From now on this is ignored in binary frames.
    pub fn set_dropping(&mut self, dropping: Dropping) {
        self.unescaper.dropping = dropping;
    }

    /// The last header is followed by data subpackets, or another subpacket follows the last.
    pub fn expect_data(&mut self) {
        self.begin(State::Data);
    }

    /// Discards an incomplete frame and looks for a header.
    pub fn hunt(&mut self) {
        self.noise += self.len as u64;
        self.begin(State::Hunt);
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.unescaper.reset();
        self.len = 0;
        self.body_len = 0;
        self.cans = 0;
    }

    /// Whether data is expected, or has started.
    pub fn in_data(&self) -> bool {
        matches!(self.state, State::Data | State::Check)
    }

    /// Whether a frame is incomplete.
    pub fn is_reading(&self) -> bool {
        !matches!(self.state, State::Hunt)
    }

    /// Data bytes of the unfinished subpacket, which are in the room.
    pub fn partial(&self) -> usize {
        self.len
    }

    /// Whether the line end after a hex header may still come.
    pub fn in_tail(&self) -> bool {
        !self.tail.is_empty()
    }

    /// How many of `bytes` belong to the line end after the last hex header.
    pub fn take_tail(&mut self, bytes: &[u8]) -> usize {
        let mut used = 0;
        for &byte in bytes {
            let Some(at) = self.tail.iter().position(|want| byte & 0x7F == *want) else {
                self.tail = b"";
                break;
            };
            self.tail = &self.tail[at + 1..];
            used += 1;
            if self.tail.is_empty() {
                break;
            }
        }
        used
    }

    /// Looks at `bytes` until something is found; returns how many were used. Data is put into
    /// `room`, from its start for every subpacket; a subpacket longer than that is bad.
    pub fn next(&mut self, room: &mut [u8], bytes: &[u8]) -> (usize, Option<Found>) {
        let mut used = self.take_tail(bytes);
        while used < bytes.len() {
            let rest = &bytes[used..];
            let (count, found) = match self.state {
                State::Data => self.data(room, rest),
                State::Check => self.check(room, rest),
                State::Binary => self.binary(rest),
                State::Hunt => self.look(rest),
                _ => (1, self.header(rest[0])),
            };
            used += count;
            if found.is_some() {
                return (used, found);
            }
        }
        (used, None)
    }

    /// Discards what is neither ZPAD nor CAN.
    fn look(&mut self, bytes: &[u8]) -> (usize, Option<Found>) {
        let special = |byte: &u8| *byte & 0x7F == ZPAD || *byte == ZDLE;
        let at = bytes.iter().position(special).unwrap_or(bytes.len());
        // XON after a subpacket that requests an answer is not noise.
        let passed = &bytes[..at];
        self.noise += passed.iter().filter(|byte| **byte & 0x7D != 0x11).count() as u64;
        if at > 0 {
            self.cans = 0;
        }
        let Some(&byte) = bytes.get(at) else { return (at, None) };
        (at + 1, self.header(byte))
    }

    /// One byte outside of data and binary headers.
    fn header(&mut self, byte: u8) -> Option<Found> {
        if byte == ZDLE {
            self.cans += 1;
            if self.cans >= 5 {
                self.begin(State::Hunt);
                return Some(Found::Cancel);
            }
        } else {
            self.cans = 0;
        }
        match self.state {
            State::Pad if byte == ZDLE => self.state = State::Letter,
            State::Pad | State::Hunt if byte & 0x7F == ZPAD => self.state = State::Pad,
            State::Pad if byte & 0x7D == 0x11 => {}
            State::Letter => match Form::from_letter(byte & 0x7F) {
                Some((form, variable)) => {
                    self.form = form;
                    self.variable = variable;
                    self.unescaper.reset();
                    self.body_len = 0;
                    let hex = State::Hex { high: None };
                    self.state = if form == Form::Hex { hex } else { State::Binary };
                }
                None => self.back_to_hunt(byte),
            },
            State::Hex { high } => return self.hex(byte & 0x7F, high),
            _ => self.back_to_hunt(byte),
        }
        None
    }

    /// An invalid header; `byte` may start another.
    fn back_to_hunt(&mut self, byte: u8) {
        self.noise += 1;
        self.state = if byte & 0x7F == ZPAD { State::Pad } else { State::Hunt };
    }

    fn hex(&mut self, digit: u8, high: Option<u8>) -> Option<Found> {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => {
                self.back_to_hunt(digit);
                return Some(Found::BadHeader { why: BadFrame::Digit });
            }
        };
        self.state = State::Hex { high: if high.is_some() { None } else { Some(value) } };
        let byte = high? << 4 | value;
        self.body_byte(byte)
    }

    /// One byte of a header after the letter, in any form.
    fn body_byte(&mut self, byte: u8) -> Option<Found> {
        self.body[self.body_len] = byte;
        self.body_len += 1;
        let (from, data) = if self.variable { (1, usize::from(self.body[0])) } else { (0, 4) };
        if data > MAX_DATA || (self.variable && data == 0) {
            self.begin(State::Hunt);
            return Some(Found::BadHeader { why: BadFrame::Length });
        }
        let covered = from + 1 + data;
        if self.body_len < covered + self.form.check_len() {
            return None;
        }
        let (kind, good) = (self.body[from], self.body_is_good(from, covered));
        let mut first = [0; 4];
        first[..data.min(4)].copy_from_slice(&self.body[from + 1..from + 1 + data.min(4)]);
        self.begin(State::Hunt);
        if !good {
            return Some(Found::BadHeader { why: BadFrame::HeaderCheck });
        }
        if self.form == Form::Hex {
            // Where nothing may follow there is no XON.
            let short = matches!(kind, kind::ZACK | kind::ZFIN);
            self.tail = if short { b"\r\n" } else { b"\r\n\x11" };
        }
        let header = Header { kind, data: first, form: self.form, variable: self.variable };
        Some(Found::Header(header))
    }

    fn body_is_good(&self, from: usize, covered: usize) -> bool {
        let (body, check) = self.body[..self.body_len].split_at(covered);
        let body = &body[from..];
        if self.form.check_len() == 2 {
            crc16(body).to_be_bytes() == check
        } else {
            let good = self.form.header_crc32(self.variable, body).to_le_bytes() == check;
            // Only data is compressed.
            good && (!PACKS || self.form != Form::Packed || body[0] == kind::ZDATA)
        }
    }

    fn binary(&mut self, bytes: &[u8]) -> (usize, Option<Found>) {
        let mut byte = [0];
        let took = self.unescaper.take_few(bytes, &mut byte);
        let used = took.used;
        if took.made == 1 {
            return (used, self.body_byte(byte[0]));
        }
        match took.stop {
            Stop::Input | Stop::Room => (used, None),
            Stop::Cancel => {
                self.begin(State::Hunt);
                (used, Some(Found::Cancel))
            }
            Stop::End(_) | Stop::Bad => {
                self.begin(State::Hunt);
                (used, Some(Found::BadHeader { why: BadFrame::HeaderEscape }))
            }
        }
    }

    fn data(&mut self, room: &mut [u8], bytes: &[u8]) -> (usize, Option<Found>) {
        let took = self.unescaper.take(bytes, &mut room[self.len..]);
        self.len += took.made;
        match took.stop {
            Stop::Input => (took.used, None),
            Stop::End(end) => {
                self.end = end;
                self.state = State::Check;
                self.body_len = 0;
                (took.used, None)
            }
            Stop::Room => (took.used, Some(self.bad_data(BadFrame::TooLong))),
            Stop::Bad => (took.used, Some(self.bad_data(BadFrame::Escape))),
            Stop::Cancel => {
                self.hunt();
                (took.used, Some(Found::Cancel))
            }
        }
    }

    fn bad_data(&mut self, why: BadFrame) -> Found {
        let len = self.len;
        self.hunt();
        Found::BadData { why, len }
    }

    fn check(&mut self, room: &[u8], bytes: &[u8]) -> (usize, Option<Found>) {
        let want = self.form.check_len();
        let into = &mut self.body[self.body_len..want];
        let took = self.unescaper.take_few(bytes, into);
        self.body_len += took.made;
        match took.stop {
            Stop::Cancel => {
                self.hunt();
                return (took.used, Some(Found::Cancel));
            }
            Stop::Bad | Stop::End(_) => return (took.used, Some(self.bad_data(BadFrame::Escape))),
            Stop::Input | Stop::Room => {}
        }
        if self.body_len < want {
            return (took.used, None);
        }
        let (data, end) = (&room[..self.len], self.end);
        let good = if want == 2 {
            crc16_update(crc16(data), &[end]).to_be_bytes() == self.body[..2]
        } else {
            crc32_update(crc32(data), &[end]).to_le_bytes() == self.body[..4]
        };
        if !good {
            return (took.used, Some(self.bad_data(BadFrame::DataCheck)));
        }
        let len = self.len;
        let more = matches!(end, end::ZCRCG | end::ZCRCQ);
        self.begin(if more { State::Data } else { State::Hunt });
        (took.used, Some(Found::Data { end, len }))
    }
}
