//! Headers, data and ends of many files in one window, between our own ends (docs/reference/kermit-extension.md).
//!
//! ```text
//! S Y(S)                     the agreement, as ever
//! D D D D ...                data packets: one stream of records, cut where a packet is full
//! Y Y Y Y ...                each when all that is in its packet is done, closed files included
//! B Y(B)                     the end, when all is acknowledged
//!
//! data field   letter [probe] digits      the letter is the alphabet of the digits (`radix`)
//! records      'F' len flags [size] [time] [mode] name     header of a file
//!              'A' len list                                more attributes, as in an A packet
//!              'D' len bytes | 'R' len bytes               some of its bytes; with runs of equal ones as counts
//!              'S' offset                                  its bytes continue there
//!              'H' len count signatures                    of its next blocks of that length
//!              'Q' block count                             which of these blocks does an older version have?
//!              'Z' digest(8) | 'z'                         its end, with or without a digest
//!              'C'                                         its end: cut short
//!              'K' frame                                   a compressed frame: what comes out of it continues the stream
//! ```
//!
//! Reading order: [`radix`] is the code of the data field, `record` finds records in the stream, `head` is a
//! file's header, `mark` what a receiver says of files in its acknowledgements, `lines` the line ends of text, `runs` runs of
//! equal bytes.

use super::flight::MAX_SLOTS;

pub(crate) mod head;
pub(crate) mod lines;
pub(crate) mod mark;
pub mod radix;
pub(crate) mod record;
pub(crate) mod runs;

/// The letter of a packet that has all codes to be tried before its digits, which are in the careful alphabet.
pub(crate) const PROBE: u8 = b'P';
/// The alphabet of those, and of all that are sent before the answer to it.
pub(crate) const CAREFUL: u8 = b'C';
/// The alphabet once they have passed.
pub(crate) const TRIED: u8 = b'T';

/// Programs without bundles keep no memory for them.
pub(crate) const IS_BUILT: bool = cfg!(feature = "bundles");
/// Files that may be under way: begun, and not yet safe at the receiver.
pub(crate) const MOST_FILES: usize = if IS_BUILT { 64 } else { 1 };
/// Packets whose acknowledgements a receiver may have to repeat.
pub(crate) const MOST_ANSWERS: usize = if IS_BUILT { MAX_SLOTS } else { 1 };
/// Room for a decoded block.
pub(crate) const BLOCK_ROOM: usize = if IS_BUILT { radix::LONGEST_BLOCK } else { 1 };
/// Headers in one packet: its acknowledgement must have room for what is to be said of each.
pub(crate) const MOST_HEADS: usize = 8;
/// The same for files that may be continued, which have longer marks.
pub(crate) const MOST_RESUMED: usize = 2;
/// The longest data record.
pub(crate) const CHUNK: usize = 8192;

/// Records that are compressed at a time.
pub(crate) const PRESSED: usize = if IS_BUILT { 16_384 } else { 0 };
/// Room for what comes out of a frame at a time.
pub(crate) const UNPRESSED: usize = PRESSED;

/// Room for the record `K`, this many bytes if they do not shrink, and the end of the frame.
pub(crate) const fn packed_room(len: usize) -> usize {
    1 + len + len / 128 + 128
}

/// Signatures in one record.
pub(crate) const MOST_SIGNATURES: u64 = 682;
/// Blocks in one question: its answer is in the acknowledgement, with the other marks.
pub(crate) const MOST_ASKED: u64 = 240;
/// Bits of the answer.
pub(crate) const ASKED_ROOM: usize = if IS_BUILT { MOST_ASKED as usize / 8 } else { 1 };

/// The longest number, as [`put_number`] writes it.
pub(crate) const LONGEST_NUMBER: usize = 10;

/// Writes a number in groups of seven bits, the lowest first, each but the last with bit 7. Returns how many bytes.
pub(crate) fn put_number(mut value: u64, out: &mut [u8]) -> usize {
    let mut len = 0;
    loop {
        let more = value > 0x7f;
        out[len] = value as u8 & 0x7f | if more { 0x80 } else { 0 };
        value >>= 7;
        len += 1;
        if !more {
            return len;
        }
    }
}

/// A number that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Number {
    value: u64,
    shift: u32,
}

impl Number {
    /// The next byte: the number, if it was the last. A number of more than 64 bits is an error.
    pub(crate) fn take(&mut self, byte: u8) -> Result<Option<u64>, ()> {
        let part = u64::from(byte & 0x7f);
        if self.shift > 63 || part << self.shift >> self.shift != part {
            return Err(());
        }
        self.value |= part << self.shift;
        self.shift += 7;
        if byte & 0x80 != 0 {
            return Ok(None);
        }
        Ok(Some(core::mem::take(self).value))
    }
}

/// A signed number as one without a sign: small ones stay small.
pub(crate) const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The reverse of [`zigzag`].
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::mark::Mark;
    use super::record::{Record, Records};
    use super::*;

    /// The record that these bytes begin with, and where what follows it begins.
    fn read(bytes: &[u8]) -> (Record, usize) {
        let (used, found) = Records::new().next(bytes, &mut []);
        (found.expect("a record").expect("a whole one"), used)
    }

    #[test]
    fn records_of_blocks_are_those_of_another_program() {
        let mut seen = 0;
        for [letter, given, made] in wetstring_testkit::vectors("blocks") {
            if letter == b"Q" {
                let question = Record::Question { first: 0, count: 32 };
                assert_eq!(read(&given), (question, given.len()));
                let mut bits = [0xff; ASKED_ROOM];
                bits[4..].fill(0);
                bits[0] ^= 1 << 5;
                let mut said = [0; mark::LONGEST];
                let len = Mark::Found(bits).put(0, &mut said);
                assert_eq!(said[..len], made[..]);
                assert_eq!(Mark::take(&made), Some((b' ', Mark::Found(bits), &[][..])));
            } else {
                let (list, used) = read(&made);
                assert_eq!(list, Record::List { block: 2048, count: 2 });
                assert_eq!(made.len() - used, 2 * crate::difference::SIGNATURE);
            }
            seen += 1;
        }
        assert_eq!(seen, 2);
    }
}
