//! The compressing side.

use super::dictionary::{Dictionary, Matching};
use super::{CHARACTER_BITS, ECM, EID, ESCAPE_STEP, ETM, FIRST_WIDTH, FLUSH, RESET, STEPUP, Size};

/// Characters between two checks of the mode.
const TEST_CHARACTERS: u32 = 256;
/// Bits that they take in transparent mode.
const PLAIN_BITS: u32 = TEST_CHARACTERS * CHARACTER_BITS;
/// To compressed mode if they would take at most seven eighths of that.
const WORTH_BITS: u32 = PLAIN_BITS / 8 * 7;

/// How the characters are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// As they are.
    #[default]
    Transparent,
    /// As codewords.
    Compressed,
}

/// The compressing side of V.42bis.
///
/// It begins in transparent mode. [`Encoder::push`] changes the mode by a test of
/// compressibility, which the recommendation leaves open [7.8]: after every 256 characters it
/// compares the bits that their codewords took, or would have taken, with the 2048 bits that they
/// are. More than 2048: to transparent mode. At most 1792: to compressed mode. So the mode depends
/// on the characters alone. [`Encoder::data`] never changes the mode.
///
/// ```
/// use wetstring_lab::modem::v42bis::{Decoder, Encoder, Size};
///
/// let mut encoder = Encoder::new(Size::default());
/// let mut wire = Vec::new();
/// encoder.push(&b"to and fro ".repeat(100), &mut wire);
/// encoder.flush(&mut wire);
/// assert!(wire.len() < 600);
/// let mut text = Vec::new();
/// Decoder::new(Size::default()).decode(&wire, &mut text)?;
/// assert_eq!(text, b"to and fro ".repeat(100));
/// # Ok::<(), wetstring_lab::modem::v42bis::DecodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Encoder {
    dictionary: Dictionary,
    matching: Matching,
    mode: Mode,
    escape: u8,
    /// C2: bits of a codeword.
    width: u32,
    /// Bits that do not fill an octet yet, and how many.
    bits: u64,
    bit_count: u32,
    /// The test of compressibility: characters, and the bits of their codewords.
    tested: u32,
    tested_bits: u32,
}

impl Encoder {
    /// An encoder with an empty dictionary, in transparent mode.
    pub fn new(size: Size) -> Self {
        Self {
            dictionary: Dictionary::new(size),
            matching: Matching::default(),
            mode: Mode::Transparent,
            escape: 0,
            width: FIRST_WIDTH,
            bits: 0,
            bit_count: 0,
            tested: 0,
            tested_bits: 0,
        }
    }

    /// The mode of the next characters.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether characters were taken that the peer cannot know yet: [`Encoder::flush`] sends them.
    pub fn holds_back(&self) -> bool {
        let string = self.matching.string.is_some() && !self.matching.sent;
        self.mode == Mode::Compressed && (string || self.bit_count > 0)
    }

    /// Bytes of memory; they never change.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.dictionary.memory_bytes()
    }

    /// Takes characters, and changes the mode when that pays. Appends octets to `wire`.
    pub fn push(&mut self, mut characters: &[u8], wire: &mut Vec<u8>) {
        while !characters.is_empty() {
            let room = (TEST_CHARACTERS - self.tested) as usize;
            let (now, later) = characters.split_at(room.min(characters.len()));
            self.data(now, wire);
            characters = later;
            self.tested += now.len() as u32;
            if self.tested < TEST_CHARACTERS {
                continue;
            }
            match self.mode {
                Mode::Transparent if self.tested_bits <= WORTH_BITS => self.compress(wire),
                Mode::Compressed if self.tested_bits > PLAIN_BITS => self.transparent(wire),
                _ => {}
            }
            self.tested = 0;
            self.tested_bits = 0;
        }
    }

    /// Takes characters in the current mode.
    pub fn data(&mut self, characters: &[u8], wire: &mut Vec<u8>) {
        for &character in characters {
            let done = self.matching.push(&mut self.dictionary, character);
            if let Some(entry) = done {
                self.tested_bits += self.width.max(u16::BITS - entry.leading_zeros());
                if self.mode == Mode::Compressed {
                    self.codeword(entry, wire);
                }
            }
            if self.mode == Mode::Transparent {
                wire.push(character);
                if character == self.escape {
                    wire.push(EID);
                }
            }
            if character == self.escape {
                self.escape = self.escape.wrapping_add(ESCAPE_STEP);
            }
        }
    }

    /// To compressed mode, if it is not that already.
    pub fn compress(&mut self, wire: &mut Vec<u8>) {
        if self.mode == Mode::Compressed {
            return;
        }
        wire.extend([self.escape, ECM]);
        self.mode = Mode::Compressed;
        self.matching.sent = true;
    }

    /// To transparent mode, if it is not that already.
    pub fn transparent(&mut self, wire: &mut Vec<u8>) {
        if self.mode == Mode::Transparent {
            return;
        }
        self.send_string(wire);
        self.put(ETM, wire);
        self.align(wire);
        self.mode = Mode::Transparent;
    }

    /// Sends held-back data, up to the octet.
    pub fn flush(&mut self, wire: &mut Vec<u8>) {
        if self.mode == Mode::Transparent {
            return;
        }
        self.send_string(wire);
        if self.bit_count > 0 {
            self.put(FLUSH, wire);
            self.align(wire);
        }
    }

    /// Resets, and tells the peer to do so.
    pub fn reset(&mut self, wire: &mut Vec<u8>) {
        self.transparent(wire);
        wire.extend([self.escape, RESET]);
        self.dictionary.clear();
        self.matching = Matching::default();
        self.escape = 0;
        self.width = FIRST_WIDTH;
        self.tested = 0;
        self.tested_bits = 0;
    }

    /// The codeword of a string that could still have grown.
    fn send_string(&mut self, wire: &mut Vec<u8>) {
        if let Some(string) = self.matching.string.filter(|_| !self.matching.sent) {
            self.codeword(string, wire);
        }
        self.matching.sent = true;
    }

    fn codeword(&mut self, entry: u16, wire: &mut Vec<u8>) {
        while u32::from(entry) >> self.width != 0 {
            self.put(STEPUP, wire);
            self.width += 1;
        }
        self.put(entry, wire);
    }

    fn put(&mut self, code: u16, wire: &mut Vec<u8>) {
        self.bits |= u64::from(code) << self.bit_count;
        self.bit_count += self.width;
        while self.bit_count >= 8 {
            wire.push(self.bits as u8);
            self.bits >>= 8;
            self.bit_count -= 8;
        }
    }

    fn align(&mut self, wire: &mut Vec<u8>) {
        if self.bit_count > 0 {
            wire.push(self.bits as u8);
        }
        self.bits = 0;
        self.bit_count = 0;
    }
}
