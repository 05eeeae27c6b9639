//! What one protocol says of a file, and the others do not.

use crate::charset::Encoding;

/// A protocol's own facts about a file, beside [`FileInfo`](super::FileInfo). A store that does not know them
/// loses nothing but what they ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Extras {
    /// None.
    #[default]
    None,
    /// Kermit's.
    Kermit(KermitExtras),
    /// ZMODEM's.
    Zmodem(ZmodemExtras),
}

/// What only Kermit says of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KermitExtras {
    /// The character set of the text on the wire (attribute `*`).
    pub encoding: Encoding,
    /// This is text for a user's screen, no file: a server's answer (X packet).
    pub screen: bool,
}

/// What only ZMODEM says of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ZmodemExtras {
    /// The sender declares the file binary: no conversion, regardless of the receiver's
    /// settings (ZCBIN).
    pub verbatim: bool,
    /// The sender asks to skip the file if there is none of that name (ZMSKNOLOC).
    pub only_if_present: bool,
    /// The sender's CRC-32 of the whole file (ZCRC), if the store has requested it
    /// ([`Reply::TellCheck`](super::Reply::TellCheck)).
    pub check: Option<u32>,
}

impl Extras {
    /// Kermit's, or what they are if nothing is said.
    pub fn kermit(self) -> KermitExtras {
        if let Self::Kermit(extras) = self { extras } else { KermitExtras::default() }
    }

    /// ZMODEM's, or what they are if nothing is said.
    pub fn zmodem(self) -> ZmodemExtras {
        if let Self::Zmodem(extras) = self { extras } else { ZmodemExtras::default() }
    }
}
