//! XMODEM and YMODEM.

use super::Watch;
use super::notes::{Cargo, Notes, Span};
use wetstring_proto::xymodem::frame::{
    ACK, BlockReader, CAN, Check, EOT, Found, HEADER, LONG, NAK, WANT_CRC, WANT_STREAM,
};
use wetstring_proto::xymodem::packet::Header;
use wetstring_proto::{Again, Outcome, TraceEvent, Wait};

/// This many CAN in a row cancel.
const CANCELS: u32 = 2;

pub(super) struct Xymodem {
    /// This end sends the blocks.
    sends: bool,
    reader: BlockReader,
    room: Vec<u8>,
    /// A block 0 with a name was there.
    is_ymodem: bool,
    /// The receiver asked for a stream without answers.
    streams: bool,
    /// What the last block was: its number, and how often it went.
    last: Option<(u64, u32)>,
    /// Bytes that the file still has, where its length is known.
    left: Option<u64>,
    /// A NAK was received since the last block.
    refused: bool,
    cancels: u32,
    /// Blocks of the file that is under way.
    in_file: bool,
    /// EOTs since the last block.
    ends: u32,
}

impl Xymodem {
    pub(super) fn new(sends: bool) -> Self {
        Self {
            sends,
            reader: BlockReader::new(Check::Crc, LONG),
            room: vec![0; LONG],
            is_ymodem: false,
            streams: false,
            last: None,
            left: None,
            refused: false,
            cancels: 0,
            in_file: false,
            ends: 0,
        }
    }

    fn blocks(&mut self, notes: &mut Notes, bytes: &[u8]) {
        let mut ends = notes.total(self.sends) - bytes.len() as u64;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (used, found) = self.reader.next(&mut self.room, rest);
            ends += used as u64;
            rest = &rest[used..];
            let span = |len: usize| Span { begins: ends.saturating_sub(len as u64), ends };
            match found {
                Some(Found::Block { number, len }) => {
                    let whole = HEADER + len + self.reader.check.len();
                    self.block(notes, number, len, span(whole));
                }
                Some(Found::Damaged { why, len }) if !self.sends && self.last.is_some() => {
                    notes.damaged(why.as_str(), span(len));
                }
                Some(Found::Byte(EOT)) if self.in_file => self.end(notes, span(1)),
                Some(Found::Byte(byte)) => self.cancel(notes, byte, self.sends, span(1)),
                Some(Found::Damaged { .. }) | None => {}
            }
        }
    }

    fn block(&mut self, notes: &mut Notes, number: u8, len: usize, span: Span) {
        notes.good += len;
        let is_header = number == 0 && !self.in_file;
        let number = match self.last {
            // The nearest number after the last one with these low bits.
            Some((last, _)) if !is_header => {
                last.wrapping_add_signed(i64::from(number.wrapping_sub(last as u8) as i8))
            }
            _ => u64::from(number),
        };
        let is_again = self.last.is_some_and(|(last, _)| last == number) && self.ends == 0;
        let again = if is_again { self.last.map_or(0, |(_, again)| again + 1) } else { 0 };
        let why = is_again.then_some(if self.refused { Again::Nak } else { Again::Timeout });
        self.last = Some((number, again));
        self.refused = false;
        self.cancels = 0;
        self.ends = 0;
        if is_header {
            return self.header(notes, len, span, again, why);
        }
        self.in_file = true;
        let file = self.left.map_or(len as u64, |left| left.min(len as u64)) as usize;
        if !is_again && let Some(left) = &mut self.left {
            *left -= file as u64;
        }
        if self.sends {
            let old = if is_again { file } else { 0 };
            let at = notes.sent('D', number, span, Cargo { data: len, file, old, again, why });
            if self.streams { notes.may_go_on(span) } else { notes.waits(at, Wait::Window) }
        } else {
            let at = notes.got('D', number, span, len);
            if is_again {
                notes.duplicate(at, number);
            } else {
                notes.stored(file, len);
            }
            notes.waits(at, if self.streams { Wait::Peer } else { Wait::Store });
        }
    }

    fn header(
        &mut self,
        notes: &mut Notes,
        len: usize,
        span: Span,
        again: u32,
        why: Option<Again>,
    ) {
        self.is_ymodem = true;
        let header = Header::parse(&self.room[..len]).filter(|header| !header.name.is_empty());
        let at = if self.sends {
            let at = notes.sent('F', 0, span, Cargo { again, why, ..Cargo::default() });
            notes.waits(at, Wait::Answer);
            at
        } else {
            let at = notes.got('F', 0, span, 0);
            notes.waits(at, Wait::Store);
            at
        };
        match header {
            Some(header) => {
                self.left = header.size;
                notes.note(at, &TraceEvent::Text { name: "file", text: header.name });
            }
            None => notes.settled(at, Outcome::Done),
        }
    }

    /// An EOT.
    fn end(&mut self, notes: &mut Notes, span: Span) {
        self.ends += 1;
        let again = self.ends - 1;
        if self.sends {
            let why = (again > 0).then_some(if self.refused { Again::Nak } else { Again::Timeout });
            let at = notes.sent('Z', 0, span, Cargo { again, why, ..Cargo::default() });
            notes.waits(at, Wait::Answer);
        } else {
            let at = notes.got('Z', 0, span, 0);
            notes.waits(at, Wait::Store);
        }
        self.refused = false;
    }

    fn cancel(&mut self, notes: &mut Notes, byte: u8, sent: bool, span: Span) {
        self.cancels = if byte == CAN { self.cancels + 1 } else { 0 };
        if self.cancels != CANCELS || self.last.is_none() {
            return;
        }
        let at = if sent {
            notes.sent('X', 0, span, Cargo::default())
        } else {
            notes.got('X', 0, span, 0)
        };
        notes.gave_up(at, sent);
    }

    /// What the receiver says.
    fn answers(&mut self, notes: &mut Notes, bytes: &[u8]) {
        let before = notes.total(!self.sends) - bytes.len() as u64;
        for (index, byte) in bytes.iter().enumerate() {
            let begins = before + index as u64;
            let span = Span { begins, ends: begins + 1 };
            match *byte {
                WANT_CRC | WANT_STREAM if !self.in_file || self.ends > 0 => {
                    self.streams = *byte == WANT_STREAM;
                    self.reader.check = Check::Crc;
                    self.answer(notes, char::from(*byte), span);
                }
                ACK => self.answer(notes, 'Y', span),
                NAK => {
                    if self.last.is_none() {
                        // It may still be sent CRCs.
                        self.reader.check = Check::Sum;
                        self.reader.either = true;
                    }
                    self.refused = true;
                    self.answer(notes, 'N', span);
                }
                byte => self.cancel(notes, byte, !self.sends, span),
            }
        }
    }

    fn answer(&mut self, notes: &mut Notes, kind: char, span: Span) {
        self.cancels = 0;
        let number = self.last.map_or(0, |(number, _)| number);
        let at = notes.answer(!self.sends, kind, number, span);
        if kind == 'Y' && self.ends > 0 {
            self.in_file = false;
            self.left = None;
            if !self.is_ymodem {
                notes.settled(at, Outcome::Done);
            }
        }
    }
}

impl Watch for Xymodem {
    fn take(&mut self, notes: &mut Notes, sent: bool, bytes: &[u8]) {
        if sent == self.sends { self.blocks(notes, bytes) } else { self.answers(notes, bytes) }
    }

    fn protocol(&self) -> &'static str {
        if self.is_ymodem { "ymodem" } else { "xmodem" }
    }

    fn sends(&self) -> bool {
        self.sends
    }
}
