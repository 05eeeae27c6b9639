//! V.42bis (BTLZ), the data compression of error-correcting modems.
//!
//! Both ends build the same tree of strings. A string is an entry with a parent and one character; the sender
//! matches its data against the tree and sends the entry's number. Incompressible data is sent unchanged
//! (transparent mode), and both trees learn from it all the same.
//!
//! ```text
//! transparent:  octets as they are;  ESC ECM  to compressed,  ESC EID  ESC itself,  ESC RESET
//! compressed:   codewords of C2 bits, least significant bit first into the octets
//!               0 ETM  1 FLUSH  2 STEPUP  3..258 the characters  259.. strings of two and more
//! ```
//!
//! The escape octet is 0 at first; each time its value occurs in the data, in either mode, 51 is
//! added to it modulo 256, so that no data makes the escape expensive for long.
//!
//! The dictionary is full after N2 entries; then the next entry in turn that has no children is removed and
//! reused. Memory does not grow with the data: [`Encoder::memory_bytes`].
//!
//! Source: CCITT Recommendation V.42bis (1990), clauses 5 to 9 for parameters and procedures. Its
//! clause 7.8 leaves open when to change the mode; the choice made here is at [`Encoder`].

mod decoder;
mod dictionary;
mod encoder;

pub use decoder::{DecodeError, Decoder};
pub use encoder::{Encoder, Mode};

use std::fmt;

/// N3: bits of a character.
const CHARACTER_BITS: u32 = 8;
/// N4: how many characters there are.
const CHARACTERS: u16 = 256;
/// N6: control codewords.
const CONTROLS: u16 = 3;
/// N5: the first codeword of a string of two characters.
const FIRST_STRING: u16 = CHARACTERS + CONTROLS;
/// What is added to the escape octet, modulo 256, each time its value occurs in the data.
const ESCAPE_STEP: u8 = 51;
/// C2 at the start: bits of a codeword.
const FIRST_WIDTH: u32 = CHARACTER_BITS + 1;

/// Codeword: enter transparent mode.
const ETM: u16 = 0;
/// Codeword: the rest of the octet is nothing; the next codeword begins with a new octet.
const FLUSH: u16 = 1;
/// Codeword: the codewords that follow have one more bit.
const STEPUP: u16 = 2;

/// After the escape octet: enter compressed mode.
const ECM: u8 = 0;
/// After the escape octet: it was data.
const EID: u8 = 1;
/// After the escape octet: both dictionaries are reset.
const RESET: u8 = 2;

/// What one end proposes for the compression [V.42bis 10, XID parameters P0 to P2].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// P0: compress what goes from initiator to responder.
    pub from_initiator: bool,
    /// P0: compress what goes from responder to initiator.
    pub from_responder: bool,
    /// P1: codewords, N2.
    pub codewords: u32,
    /// P2: longest string in characters, N7.
    pub string_len: u32,
}

impl Default for Proposal {
    /// Both directions, with the recommendation's default values 512 and 6.
    fn default() -> Self {
        let Size { codewords, string_len } = Size::default();
        Self {
            from_initiator: true,
            from_responder: true,
            codewords: u32::from(codewords),
            string_len: u32::from(string_len),
        }
    }
}

impl Proposal {
    /// What both ends then use: the directions that both want, and the lower of each value.
    ///
    /// # Errors
    ///
    /// If a proposal is below the recommendation's minimum, which it calls a procedural error.
    pub fn agree(&self, other: &Self) -> Result<Agreed, BadSize> {
        let size = |proposal: &Self| Size::new(proposal.codewords, proposal.string_len);
        let (own, others) = (size(self)?, size(other)?);
        Ok(Agreed {
            from_initiator: self.from_initiator && other.from_initiator,
            from_responder: self.from_responder && other.from_responder,
            size: Size {
                codewords: own.codewords.min(others.codewords),
                string_len: own.string_len.min(others.string_len),
            },
        })
    }
}

/// The parameters that result from two proposals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// What goes from initiator to responder is compressed.
    pub from_initiator: bool,
    /// What goes from responder to initiator is compressed.
    pub from_responder: bool,
    /// With this dictionary.
    pub size: Size,
}

/// The size of a dictionary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    codewords: u16,
    string_len: u8,
}

impl Default for Size {
    /// The recommendation's default values: 512 codewords, strings of 6.
    fn default() -> Self {
        Self { codewords: 512, string_len: 6 }
    }
}

impl Size {
    /// What modems of the nineties were sold with: 2048 codewords in both directions, strings of
    /// 32 (Supra's manual: "2048 in both or 4096 in one direction").
    pub const PRODUCT: Self = Self { codewords: 2048, string_len: 32 };

    /// N2 codewords (512 to 32768; the recommendation has no upper bound, products stop at 4096)
    /// and strings of at most N7 characters (6 to 250).
    ///
    /// # Errors
    ///
    /// If one of them is out of range.
    pub fn new(codewords: u32, string_len: u32) -> Result<Self, BadSize> {
        let bad = BadSize { codewords, string_len };
        let (Ok(words), Ok(len)) = (u16::try_from(codewords), u8::try_from(string_len)) else {
            return Err(bad);
        };
        if !(512..=32768).contains(&words) || !(6..=250).contains(&len) {
            return Err(bad);
        }
        Ok(Self { codewords: words, string_len: len })
    }

    /// N2, the codewords.
    pub const fn codewords(self) -> u16 {
        self.codewords
    }

    /// N7, the longest string.
    pub const fn string_len(self) -> u8 {
        self.string_len
    }

    /// N1, the most bits of a codeword.
    pub const fn widest(self) -> u32 {
        u16::BITS - (self.codewords - 1).leading_zeros()
    }
}

/// A dictionary size that the recommendation does not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadSize {
    /// Codewords that were asked for.
    pub codewords: u32,
    /// String length that was asked for.
    pub string_len: u32,
}

impl fmt::Display for BadSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { codewords, string_len } = self;
        write!(
            f,
            "expected 512 to 32768 codewords and strings of 6 to 250 characters, \
             got {codewords} and {string_len}"
        )
    }
}

impl std::error::Error for BadSize {}
