//! The capabilities that two Wetstrings agree on: a list of names and versions in the parameter string.
//!
//! ```text
//! 'W' flags [count (letter version)...] check(3)
//! ```
//!
//! A sender of ours lists what it is willing to do, each with the newest version that it has. The answer lists
//! what the receiver will do, too, with the lower of both versions; what it does not know or does not
//! want is not in it. Nothing depends on anything else in the list
//! (docs/reference/kermit-extension.md).

use super::bundle::IS_BUILT;
use super::check::{tochar, unchar};
use super::correction;

/// A capability: its letter, its place in a [`Capabilities`], the newest version that is known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capability {
    letter: u8,
    place: usize,
    newest: u8,
}

/// Headers, data and ends of many files go in one window (the module `bundle`). In version 2 they do where both ends
/// can stream, too.
pub const BUNDLE: Capability = Capability { letter: b'B', place: 0, newest: 2 };

/// The records of bundles may be compressed. In version 2 data that streams may be, too.
pub const COMPRESS: Capability = Capability { letter: b'Z', place: 1, newest: 2 };

/// Packets of bundles may have error correction (the module `correction`).
pub const CORRECTION: Capability = Capability { letter: b'E', place: 2, newest: 1 };

/// Of a file that the receiver has in an older version only the difference is sent ([`crate::difference`]).
pub const DIFFERENCE: Capability = Capability { letter: b'D', place: 3, newest: 1 };

/// A mode has the bits that tell directories and symbolic links from files.
pub const ENTRIES: Capability = Capability { letter: b'L', place: 4, newest: 1 };

/// All that are known here.
pub const KNOWN: &[Capability] = match (IS_BUILT, correction::IS_BUILT) {
    (true, true) => &[BUNDLE, COMPRESS, CORRECTION, DIFFERENCE, ENTRIES],
    (true, false) => &[BUNDLE, COMPRESS, DIFFERENCE, ENTRIES],
    _ => &[],
};

/// The most entries of a list: what a parameter string of 40 bytes has room for.
pub const MOST: usize = 6;

/// Places in a [`Capabilities`].
const PLACES: usize = if IS_BUILT { 5 } else { 0 };

/// Versions of capabilities; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Capabilities([u8; PLACES]);

impl Capabilities {
    /// None at all.
    pub const NONE: Self = Self([0; PLACES]);

    /// The list with the newest version of a capability, or without it.
    #[must_use]
    pub const fn set(mut self, capability: Capability, on: bool) -> Self {
        if IS_BUILT {
            self.0[capability.place] = if on { capability.newest } else { 0 };
        }
        self
    }

    /// The list with at most this version of a capability.
    #[must_use]
    pub const fn limit(mut self, capability: Capability, version: u8) -> Self {
        if self.has(capability) && self.0[capability.place] > version {
            self.0[capability.place] = version;
        }
        self
    }

    /// Whether it is in the list in this version or a newer one.
    pub const fn has_version(self, capability: Capability, version: u8) -> bool {
        self.has(capability) && self.0[capability.place] >= version
    }

    /// Whether it is in the list, in any version.
    pub const fn has(self, capability: Capability) -> bool {
        IS_BUILT && self.0[capability.place] > 0
    }

    /// Whether the list is empty.
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// What both lists have, in the lower version.
    #[must_use]
    pub fn both(self, other: Self) -> Self {
        let mut lower = self.0;
        for (lower, other) in lower.iter_mut().zip(&other.0) {
            *lower = (*lower).min(*other);
        }
        Self(lower)
    }

    /// The length of a list that begins with its count, if it is all there.
    pub(crate) fn list_len(data: &[u8]) -> Option<usize> {
        let count = usize::from(unchar(data.first()? & 0x7f));
        let len = 1 + 2 * count;
        (count <= MOST && len <= data.len()).then_some(len)
    }

    /// Reads a list that begins with its count. Unknown letters are passed over.
    pub(crate) fn parse(data: &[u8]) -> Self {
        let mut found = Self::NONE;
        let entries = Self::list_len(data).and_then(|len| data.get(1..len)).unwrap_or(&[]);
        for entry in entries.chunks_exact(2) {
            let version = unchar(entry[1] & 0x7f).min(94);
            if let Some(known) = KNOWN.iter().find(|known| known.letter == entry[0] & 0x7f) {
                found.0[known.place] = version;
            }
        }
        found
    }

    /// Writes the list with its count; returns the length, 0 if there is nothing to write. `out` takes at least
    /// 13 bytes.
    pub(crate) fn emit(self, out: &mut [u8]) -> usize {
        if self.is_empty() {
            return 0;
        }
        let mut len = 1;
        for known in KNOWN.iter().filter(|known| self.has(**known)) {
            out[len] = known.letter;
            out[len + 1] = tochar(self.0[known.place]);
            len += 2;
        }
        out[0] = tochar((len / 2) as u8);
        len
    }
}
