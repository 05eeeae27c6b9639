//! Which codes are prefixed in the data field (\[KPM\] §6.5, C-Kermit's SET PREFIXING).
//!
//! A sender decides this alone: a receiver undoes whatever prefixes it meets. Fewer prefixes are
//! faster, and riskier on lines that eat control characters. The prefixes themselves (QCTL, QBIN,
//! REPT) are always prefixed; they are not part of the table.

use core::fmt;

/// A set of the 256 codes: those that are sent as QCTL and a printable character.
///
/// Only control codes (0 to 31, 127 and the same with bit 7 set) can be members, because only they
/// have a prefixed form; others are ignored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PrefixTable([u64; 4]);

impl PrefixTable {
    /// Every control code: right on any line.
    pub const ALL: PrefixTable =
        PrefixTable::NOTHING.with_range(0, 31).with_range(127, 159).with(255);

    /// C-Kermit's default: codes that usual lines, modems, terminal servers and shells act upon.
    pub const CAUTIOUS: PrefixTable = PrefixTable::NOTHING
        .with_all(&[0, 1, 3, 4, 10, 13, 14, 15, 16, 17, 19, 21, 24, 25, 26, 28, 29, 30])
        .with_all(&[129, 131, 132, 138, 141, 144, 145, 147, 149, 154, 156, 157, 158, 255]);

    /// Framing, EOF, NAK and Telnet IAC; XON/XOFF too, because a line is rarely known to have none.
    pub const MINIMAL: PrefixTable = PrefixTable::NOTHING
        .with_all(&[0, 1, 4, 10, 13, 17, 19, 21, 129, 132, 138, 141, 145, 147, 149, 255]);

    /// Between our own ends, where all other codes were seen to pass the line: framing, flow
    /// control, and what must not be tried.
    pub const TRIED: PrefixTable =
        PrefixTable::NOTHING.with_all(&[1, 3, 13, 16, 17, 19, 26, 28, 29, 30, 145, 147, 255]);

    /// C-Kermit's NONE on a network connection, with NUL kept (C strings in older Kermits).
    pub const NONE_NETWORK: PrefixTable =
        PrefixTable::NOTHING.with_all(&[0, 1, 13, 17, 19, 127, 129, 255]);

    /// C-Kermit's NONE on a serial line; add 17, 19, 145, 147 where XON/XOFF is used.
    pub const NONE_SERIAL: PrefixTable = PrefixTable::NOTHING.with_all(&[0, 1, 13, 129, 255]);

    /// Nothing at all: between our own ends on a clear channel, where length alone frames.
    pub const CLEAR_OWN: PrefixTable = PrefixTable::NOTHING;

    /// A clear channel (raw TCP) to another program: the default MARK and EOL.
    ///
    /// C-Kermit 10 restarts a packet on MARK and ends it on EOL even when lengths say otherwise;
    /// with these two prefixed it received every pair of bytes, and random ones, unharmed. With
    /// either of them bare it failed. Where the peer's MARK or EOL is another, add it.
    pub const CLEAR: PrefixTable = PrefixTable::NOTHING.with_all(&[1, 13]);

    /// A clear channel through Telnet: CR (which Telnet pads), DEL, IAC, XON, XOFF and MARK.
    pub const CLEAR_TELNET: PrefixTable = PrefixTable::NOTHING.with_all(&[1, 13, 17, 19, 127, 255]);

    /// The empty set.
    pub const NOTHING: PrefixTable = PrefixTable([0; 4]);

    /// The table with `code` prefixed too; no change if it is not a control code.
    #[must_use]
    pub const fn with(mut self, code: u8) -> PrefixTable {
        if is_control(code) {
            self.0[(code >> 6) as usize] |= 1 << (code & 63);
        }
        self
    }

    /// The table with `code` sent bare.
    #[must_use]
    pub const fn without(mut self, code: u8) -> PrefixTable {
        self.0[(code >> 6) as usize] &= !(1 << (code & 63));
        self
    }

    /// Whether `code` is prefixed.
    pub const fn contains(&self, code: u8) -> bool {
        self.0[(code >> 6) as usize] & (1 << (code & 63)) != 0
    }

    const fn with_all(mut self, codes: &[u8]) -> PrefixTable {
        let mut k = 0;
        while k < codes.len() {
            self = self.with(codes[k]);
            k += 1;
        }
        self
    }

    const fn with_range(mut self, first: u8, last: u8) -> PrefixTable {
        let mut code = first;
        while code <= last {
            self = self.with(code);
            code += 1;
        }
        self
    }
}

impl Default for PrefixTable {
    /// [`CAUTIOUS`](PrefixTable::CAUTIOUS), as in C-Kermit.
    fn default() -> Self {
        PrefixTable::CAUTIOUS
    }
}

impl fmt::Debug for PrefixTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries((0..=255u8).filter(|&code| self.contains(code))).finish()
    }
}

/// Whether QCTL and another character can stand for `code`: 0 to 31, 127, and those plus 128.
pub const fn is_control(code: u8) -> bool {
    // Modulo 128, 127 comes before 0, so that one comparison is enough.
    (code.wrapping_add(1) & 0x7F) < 33
}
