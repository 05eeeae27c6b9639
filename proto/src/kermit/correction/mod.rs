//! Error correction between our own ends (docs/reference/kermit-extension.md): data packets of bundles in a form in
//! which some of their characters may be wrong, those of the header too.
//!
//! ```text
//! packet   header(23)  body                     no MARK, which noise could hit: the header is found by itself
//! header   sync form number len(2) parity(5) sync parity(10) sync
//!                                               codes of the careful alphabet; 8 of the 20 may be wrong
//! body     digits check(5) parity               codes of the alphabet of `form`, `len` before parity
//! ```
//!
//! Reading order: [`reed_solomon`] corrects symbols, [`packet`] is the form, [`finder`] finds headers in the stream of
//! characters. What a sender adds, and when, is in `sending/protection.rs`.

pub(crate) mod finder;
pub(crate) mod packet;
mod reed_solomon;

/// Programs without error correction leave out what depends on it.
pub(crate) const IS_BUILT: bool = cfg!(feature = "correction");

/// Parity symbols that a code word may have.
pub(crate) const PARITIES: [u8; 12] = [2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48];

/// The most of them.
pub(crate) const MOST_PARITY: usize = 48;

/// The parity with which this number of symbols may be wrong, or the most.
pub(crate) fn parity_for(wrong: usize) -> usize {
    let enough = PARITIES.iter().map(|parity| usize::from(*parity)).find(|most| most / 2 >= wrong);
    enough.unwrap_or(MOST_PARITY)
}
