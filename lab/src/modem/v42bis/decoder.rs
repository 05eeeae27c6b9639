//! The other side: from octets to characters.

use super::dictionary::{Dictionary, Matching};
use super::{ECM, EID, ESCAPE_STEP, ETM, FIRST_WIDTH, FLUSH, Mode, RESET, STEPUP, Size};
use std::fmt;

/// Octets that no encoder sends [V.42bis 5.8]. The link is then to be established again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// A STEPUP when the codewords have N1 bits already.
    TooWide {
        /// N1.
        widest: u32,
    },
    /// The codeword of the entry that is filled next, which the sender may not use yet.
    NotYet {
        /// The codeword, C1.
        codeword: u16,
    },
    /// The codeword of an entry that has no string.
    Empty {
        /// The codeword.
        codeword: u16,
    },
    /// Not a command after the escape octet.
    Command {
        /// The octet found.
        command: u8,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooWide { widest } => {
                write!(f, "expected codewords of at most {widest} bits, got one more STEPUP")
            }
            Self::NotYet { codeword } => {
                write!(f, "expected a codeword in use, got {codeword}, which is the next to be")
            }
            Self::Empty { codeword } => {
                write!(f, "expected a codeword in use, got {codeword}, which is empty")
            }
            Self::Command { command } => {
                write!(f, "expected ECM, EID or RESET (0 to 2) after the escape, got {command}")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// The decompressing side of V.42bis. It begins in transparent mode.
#[derive(Clone, Debug)]
pub struct Decoder {
    size: Size,
    dictionary: Dictionary,
    /// Transparent mode learns as the encoder does.
    matching: Matching,
    mode: Mode,
    escape: u8,
    escaped: bool,
    width: u32,
    bits: u64,
    bit_count: u32,
    /// Compressed mode learns one step behind: the string of the codeword before.
    previous: Option<u16>,
}

impl Decoder {
    /// A decoder with an empty dictionary. The size is the encoder's.
    pub fn new(size: Size) -> Self {
        Self {
            size,
            dictionary: Dictionary::new(size),
            matching: Matching::default(),
            mode: Mode::Transparent,
            escape: 0,
            escaped: false,
            width: FIRST_WIDTH,
            bits: 0,
            bit_count: 0,
            previous: None,
        }
    }

    /// Bytes of memory; they never change.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.dictionary.memory_bytes()
    }

    /// Takes octets and appends characters to `into`: at most N7 for each codeword.
    ///
    /// # Errors
    ///
    /// If the octets are not what an encoder sends. What came before the error is in `into`; the
    /// decoder is of no use after it.
    pub fn decode(&mut self, octets: &[u8], into: &mut Vec<u8>) -> Result<(), DecodeError> {
        for &octet in octets {
            match self.mode {
                Mode::Transparent => self.plain(octet, into)?,
                Mode::Compressed => self.compressed(octet, into)?,
            }
        }
        Ok(())
    }

    fn plain(&mut self, octet: u8, into: &mut Vec<u8>) -> Result<(), DecodeError> {
        if !std::mem::take(&mut self.escaped) {
            if octet == self.escape {
                self.escaped = true;
            } else {
                self.matching.push(&mut self.dictionary, octet);
                into.push(octet);
            }
            return Ok(());
        }
        match octet {
            ECM => {
                self.mode = Mode::Compressed;
                self.previous = self.matching.string;
                self.bits = 0;
                self.bit_count = 0;
            }
            EID => {
                self.matching.push(&mut self.dictionary, self.escape);
                into.push(self.escape);
                self.escape = self.escape.wrapping_add(ESCAPE_STEP);
            }
            RESET => {
                self.dictionary.clear();
                self.matching = Matching::default();
                self.escape = 0;
                self.width = FIRST_WIDTH;
                self.previous = None;
            }
            command => return Err(DecodeError::Command { command }),
        }
        Ok(())
    }

    fn compressed(&mut self, octet: u8, into: &mut Vec<u8>) -> Result<(), DecodeError> {
        self.bits |= u64::from(octet) << self.bit_count;
        self.bit_count += 8;
        while self.mode == Mode::Compressed && self.bit_count >= self.width {
            let code = (self.bits & ((1 << self.width) - 1)) as u16;
            self.bits >>= self.width;
            self.bit_count -= self.width;
            match code {
                ETM => {
                    self.mode = Mode::Transparent;
                    self.drop_bits();
                    // The next string is appended to the last one, and starts a new one.
                    self.matching = Matching::default();
                    self.matching.string = self.previous;
                    self.matching.sent = true;
                }
                FLUSH => self.drop_bits(),
                STEPUP if self.width == self.size.widest() => {
                    return Err(DecodeError::TooWide { widest: self.width });
                }
                STEPUP => self.width += 1,
                codeword => self.codeword(codeword, into)?,
            }
        }
        Ok(())
    }

    fn drop_bits(&mut self) {
        self.bits = 0;
        self.bit_count = 0;
    }

    fn codeword(&mut self, codeword: u16, into: &mut Vec<u8>) -> Result<(), DecodeError> {
        if codeword == self.dictionary.next() {
            return Err(DecodeError::NotYet { codeword });
        }
        if !self.dictionary.is_filled(codeword) {
            return Err(DecodeError::Empty { codeword });
        }
        let begin = into.len();
        self.dictionary.string(codeword, into);
        if let Some(previous) = self.previous {
            self.dictionary.add(previous, into[begin]);
        }
        self.previous = Some(codeword);
        for &character in &into[begin..] {
            if character == self.escape {
                self.escape = self.escape.wrapping_add(ESCAPE_STEP);
            }
        }
        Ok(())
    }
}
