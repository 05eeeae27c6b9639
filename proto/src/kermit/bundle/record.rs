//! Records in the stream of decoded bytes. They begin and end anywhere in packets.

use super::head::{Before, Head, Reading};
use super::{CHUNK, MOST_SIGNATURES, Number};
use crate::difference::SIGNATURE;
use crate::kermit::config::MAX_NAME;

/// The longest list of attributes.
const LONGEST_LIST: usize = if super::IS_BUILT { 160 } else { 1 };
/// The longest header.
const LONGEST_HEAD: u64 = (super::head::LONGEST + MAX_NAME) as u64;

/// What was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    /// A file's header; its name has this many bytes.
    Head { name_len: usize },
    /// Attributes: [`Records::list`].
    Attributes,
    /// Bytes of the file come next: this many until [`Records::passed`] is told. With `runs` they are to be undone.
    Data { left: usize, runs: bool },
    /// They continue at this offset.
    Seek(u64),
    /// Signatures of this many blocks of this length come next.
    List { block: u64, count: u64 },
    /// Bytes of signatures come next: this many until [`Records::passed`] is told.
    Signatures { left: usize },
    /// Which of these blocks are in an older version?
    Question { first: u64, count: u64 },
    /// The file's end.
    End { digest: Option<[u8; 8]> },
    /// The file is cut short.
    Cut,
    /// A compressed frame follows.
    Packed,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Type,
    Length { kind: u8, number: Number },
    Head { reading: Reading, left: usize, name: usize },
    List { left: usize },
    Data { left: usize, runs: bool },
    Seek { number: Number },
    Pair { kind: u8, first: Option<u64>, number: Number },
    Signatures { left: usize },
    Digest { digest: [u8; 8], held: usize },
}

/// Finds records.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    state: State,
    before: Before,
    head: Head,
    list: [u8; LONGEST_LIST],
    list_len: usize,
}

impl Records {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Type,
            before: Before::default(),
            head: Head::default(),
            list: [0; LONGEST_LIST],
            list_len: 0,
        }
    }

    /// The last header, without its name.
    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// The last list of attributes.
    pub(crate) fn list(&self) -> &[u8] {
        &self.list[..self.list_len]
    }

    /// Whether the next byte is in, or begins, a header: its name would replace the last one.
    pub(crate) fn is_before_head(&self, next: u8) -> bool {
        matches!((self.state, next), (State::Type, b'F'))
    }

    /// This number of the bytes that [`Record::Data`] or [`Record::Signatures`] announced were taken.
    pub(crate) fn passed(&mut self, len: usize) {
        if let State::Data { left, .. } | State::Signatures { left } = &mut self.state {
            *left = left.saturating_sub(len);
            if *left == 0 {
                self.state = State::Type;
            }
        }
    }

    /// Takes bytes up to the end of a record, or up to the data of a file; returns how many. Names go into `name`.
    /// What cannot be is an error.
    pub(crate) fn next(
        &mut self,
        raw: &[u8],
        name: &mut [u8],
    ) -> (usize, Result<Option<Record>, ()>) {
        for (at, byte) in raw.iter().enumerate() {
            if let State::Data { left, runs } = self.state {
                return (at, Ok(Some(Record::Data { left, runs })));
            }
            if let State::Signatures { left } = self.state {
                return (at, Ok(Some(Record::Signatures { left })));
            }
            match self.take(*byte, name) {
                Ok(None) => {}
                found => return (at + 1, found),
            }
        }
        (raw.len(), Ok(None))
    }

    fn take(&mut self, byte: u8, name: &mut [u8]) -> Result<Option<Record>, ()> {
        match self.state {
            State::Type => self.begin(byte),
            State::Length { kind, mut number } => {
                let len = number.take(byte)?;
                self.state = State::Length { kind, number };
                len.map_or(Ok(None), |len| self.sized(kind, len))
            }
            State::Head { mut reading, mut left, name: mut at } => {
                left -= 1;
                if reading.is_over() {
                    *name.get_mut(at).ok_or(())? = byte;
                    at += 1;
                } else {
                    reading.take(byte, &mut self.before)?;
                }
                self.state = State::Head { reading, left, name: at };
                if left > 0 {
                    return Ok(None);
                }
                if !reading.is_over() {
                    return Err(());
                }
                self.head = reading.head();
                Ok(Some(self.found(Record::Head { name_len: at })))
            }
            State::List { left } => {
                self.list[self.list_len] = byte;
                self.list_len += 1;
                if left > 1 {
                    self.state = State::List { left: left - 1 };
                    return Ok(None);
                }
                Ok(Some(self.found(Record::Attributes)))
            }
            State::Seek { mut number } => {
                let offset = number.take(byte)?;
                self.state = State::Seek { number };
                Ok(offset.map(|offset| self.found(Record::Seek(offset))))
            }
            State::Pair { kind, first, mut number } => {
                let value = number.take(byte)?;
                self.state = State::Pair { kind, first: first.or(value), number };
                Ok(first.and_then(|first| value.map(|second| self.pair(kind, first, second))))
            }
            State::Digest { mut digest, held } => {
                digest[held] = byte;
                if held + 1 < digest.len() {
                    self.state = State::Digest { digest, held: held + 1 };
                    return Ok(None);
                }
                Ok(Some(self.found(Record::End { digest: Some(digest) })))
            }
            State::Data { .. } | State::Signatures { .. } => Err(()),
        }
    }

    fn begin(&mut self, kind: u8) -> Result<Option<Record>, ()> {
        self.state = match kind {
            b'F' | b'A' | b'D' | b'R' => State::Length { kind, number: Number::default() },
            b'S' => State::Seek { number: Number::default() },
            b'H' | b'Q' => State::Pair { kind, first: None, number: Number::default() },
            b'Z' => State::Digest { digest: [0; 8], held: 0 },
            b'z' => return Ok(Some(Record::End { digest: None })),
            b'C' => return Ok(Some(Record::Cut)),
            b'K' => return Ok(Some(Record::Packed)),
            _ => return Err(()),
        };
        Ok(None)
    }

    /// The length of a record.
    fn sized(&mut self, kind: u8, len: u64) -> Result<Option<Record>, ()> {
        let most = match kind {
            b'F' => LONGEST_HEAD,
            b'A' => LONGEST_LIST as u64,
            _ => CHUNK as u64,
        };
        if len == 0 || len > most {
            return Err(());
        }
        let left = len as usize;
        self.state = match kind {
            b'F' => State::Head { reading: Reading::default(), left, name: 0 },
            b'A' => {
                self.list_len = 0;
                State::List { left }
            }
            _ => State::Data { left, runs: kind == b'R' },
        };
        Ok(None)
    }

    /// Two numbers are here. How many blocks may be meant is for others to say.
    fn pair(&mut self, kind: u8, first: u64, second: u64) -> Record {
        if kind == b'Q' {
            return self.found(Record::Question { first, count: second });
        }
        let left = (second.min(MOST_SIGNATURES) as usize) * SIGNATURE;
        self.state = if left == 0 { State::Type } else { State::Signatures { left } };
        Record::List { block: first, count: second }
    }

    fn found(&mut self, record: Record) -> Record {
        self.state = State::Type;
        record
    }
}
