//! A try whether control characters pass the line bare, between our own ends.
//!
//! On an unknown line a careful sender prefixes 34 control characters, and random
//! data grows by an eighth. Most lines pass most of them. So the first A packet to a peer of our
//! own kind carries, in a triplet that any receiver ignores, each code that could be left bare.
//! If that packet is acknowledged they have all passed, for its check covers them. If it has to be
//! sent again it goes without them, and the file is sent the careful way; so noise costs no more
//! than the prefixes.
//!
//! Never tried, and always prefixed: what may do harm by being tried. XON and XOFF, which can
//! stop a line for good; the codes by which people leave terminal servers and Telnet clients
//! (DLE, 29, 30); those that end programs on a terminal that is not raw (3, 26, 28); IAC.

use super::prefix::{PrefixTable, is_control};

/// The tag of the triplet.
pub(crate) const TAG: u8 = b'W';

/// Most codes that are tried.
pub(crate) const MOST: usize = 66;

/// Where the try stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ProbeState {
    /// Not tried yet.
    #[default]
    Untried,
    /// The packet is in flight.
    Asked,
    /// All codes have passed.
    Passed,
    /// The packet had to be repeated.
    Failed,
}

/// The codes that are tried, and how many they are.
pub(crate) fn codes() -> ([u8; MOST], usize) {
    let (mut codes, mut count) = ([0; MOST], 0);
    for code in 0..=255u8 {
        if is_control(code) && !PrefixTable::TRIED.contains(code) {
            codes[count] = code;
            count += 1;
        }
    }
    (codes, count)
}
