//! File information: the data subpacket of ZFILE (xyzmodem.md §3.1, §5.8), and the options in
//! the header of ZFILE (xyzmodem.md §4.2).
//!
//! ```text
//! name NUL [size [SP mtime-octal [SP mode-octal [SP serial-octal [SP files-left [SP bytes-left]]]]]] NUL
//! ```

use super::packet::Header;
use crate::crc::crc32;
use crate::file::{Extras, FileInfo, FileKind, Left, Wish, ZmodemExtras};
use crate::session::TextWriter;

/// ZF0: conversion of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Conversion {
    /// Unspecified.
    #[default]
    Unsaid,
    /// ZCBIN: none; overrides the receiver's settings except resuming.
    Binary,
    /// ZCNL: line ends become the local ones.
    Newlines,
    /// ZCRECOV: continue an interrupted transfer.
    Resume,
}

/// ZF2: the coding of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Transport {
    /// Uncoded.
    #[default]
    Plain,
    /// ZTLZW.
    Lzw,
    /// ZTCRYPT.
    Encrypted,
    /// ZTRLE.
    Rle,
    /// An unknown number.
    Unknown(u8),
}

/// ZF1 bit: skip the file if the receiver has none of that name.
const SKIP_IF_ABSENT: u8 = 0x80;
/// ZF3 bit: sparse file.
const SPARSE: u8 = 0x40;

/// The options of ZFILE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileOptions {
    /// ZF0.
    pub conversion: Conversion,
    /// ZF1: how to handle a collision.
    pub wish: Wish,
    /// ZF1, bit 7: skip the file unless one of that name exists.
    pub skip_if_absent: bool,
    /// ZF2.
    pub transport: Transport,
    /// ZF3: holes may be skipped.
    pub sparse: bool,
}

/// The number of each request in ZF1.
const WISHES: [(u8, Wish); 9] = [
    (0, Wish::Unsaid),
    (1, Wish::NewerOrLonger),
    (2, Wish::DifferentCheck),
    (3, Wish::Append),
    (4, Wish::Overwrite),
    (5, Wish::Newer),
    (6, Wish::Different),
    (7, Wish::Protect),
    (8, Wish::Rename),
];

impl FileOptions {
    /// Reads them from a header.
    pub fn parse(header: &Header) -> Self {
        let management = header.flag(1);
        let wish = WISHES.iter().find(|(number, _)| *number == management & 0x1F);
        Self {
            conversion: match header.flag(0) {
                1 => Conversion::Binary,
                2 => Conversion::Newlines,
                3 => Conversion::Resume,
                _ => Conversion::Unsaid,
            },
            wish: wish.map_or(Wish::Unsaid, |(_, wish)| *wish),
            skip_if_absent: management & SKIP_IF_ABSENT != 0,
            transport: match header.flag(2) {
                0 => Transport::Plain,
                1 => Transport::Lzw,
                2 => Transport::Encrypted,
                3 => Transport::Rle,
                other => Transport::Unknown(other),
            },
            sparse: header.flag(3) & SPARSE != 0,
        }
    }

    /// The four data bytes of the header.
    pub fn emit(&self) -> [u8; 4] {
        let conversion = match self.conversion {
            Conversion::Unsaid => 0,
            Conversion::Binary => 1,
            Conversion::Newlines => 2,
            Conversion::Resume => 3,
        };
        let wish = WISHES.iter().find(|(_, wish)| *wish == self.wish).map_or(0, |(n, _)| *n);
        let absent = if self.skip_if_absent { SKIP_IF_ABSENT } else { 0 };
        let transport = match self.transport {
            Transport::Plain => 0,
            Transport::Lzw => 1,
            Transport::Encrypted => 2,
            Transport::Rle => 3,
            Transport::Unknown(other) => other,
        };
        [if self.sparse { SPARSE } else { 0 }, transport, wish | absent, conversion]
    }
}

/// Reads the file information; `None` without a name. Invalid fields, and all after
/// them, are unknown.
pub fn parse<'a>(data: &'a [u8], options: &FileOptions) -> Option<FileInfo<'a>> {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (name, rest) = data.split_at(end);
    if name.is_empty() {
        return None;
    }
    let rest = rest.get(1..).unwrap_or(b"");
    let rest = &rest[..rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len())];
    let mut fields = rest.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let size = fields.next().and_then(|field| number(field, 10));
    let modified = fields.next().and_then(|field| number(field, 8)).filter(|time| *time != 0);
    let mode = fields.next().and_then(|field| number(field, 8)).filter(|mode| *mode != 0);
    // An unused serial number precedes what is left.
    let files = fields.nth(1).and_then(|field| number(field, 10));
    let bytes = fields.next().and_then(|field| number(field, 10));
    let left = files
        .zip(bytes)
        .map(|(files, bytes)| Left { files: u32::try_from(files).unwrap_or(u32::MAX), bytes });
    Some(FileInfo {
        name,
        size,
        modified: modified.and_then(|time| i64::try_from(time).ok()),
        mode: mode.map(|mode| (mode & 0o777) as u32),
        kind: match options.conversion {
            Conversion::Newlines => FileKind::Text,
            _ => FileKind::Binary,
        },
        resume: options.conversion == Conversion::Resume,
        left,
        wish: options.wish,
        extras: Extras::Zmodem(ZmodemExtras {
            verbatim: options.conversion == Conversion::Binary,
            only_if_present: options.skip_if_absent,
            check: None,
        }),
        ..FileInfo::default()
    })
}

/// How our ends identify a file in ZSKIP, whose data bytes are otherwise unused: the CRC-32 of its
/// information as received. A duplicate ZSKIP is then not taken for the next file's.
pub(crate) fn tag(information: &[u8]) -> u32 {
    crc32(information)
}

fn number(digits: &[u8], base: u32) -> Option<u64> {
    digits.iter().try_fold(0u64, |sum, digit| {
        let value = char::from(*digit).to_digit(base)?;
        sum.checked_mul(u64::from(base))?.checked_add(u64::from(value))
    })
}

/// Longest name of a file on the wire.
pub(crate) const MAX_NAME: usize = 1024;
/// Bytes that [`emit`] needs after the name: two NULs, six numbers and what separates them.
pub const ROOM: usize = 112;

/// Writes the file information after a name that already is in `out[..name_len]`; returns the
/// whole length. `out` has [`ROOM`] bytes after the name.
pub fn emit(info: &FileInfo<'_>, name_len: usize, out: &mut [u8]) -> usize {
    let mut to = TextWriter::new(out, name_len);
    let fits = fields(info, &mut to);
    debug_assert!(fits.is_some(), "expected {ROOM} bytes behind the name");
    to.len()
}

/// What follows the name; `None` if it does not fit.
fn fields(info: &FileInfo<'_>, to: &mut TextWriter<'_>) -> Option<()> {
    // A field cannot be omitted if another follows: an unknown size ends the list.
    to.put(&[0])?;
    if let Some(size) = info.size {
        to.number(size, 10)?;
        to.put(b" ")?;
        to.number(u64::try_from(info.modified.unwrap_or(0)).unwrap_or(0), 8)?;
        to.put(b" ")?;
        // 0100000 is a regular file of Unix.
        to.number(info.mode.map_or(0, |mode| u64::from(mode & 0o777) | 0o10_0000), 8)?;
        to.put(b" ")?;
        to.put(b"0")?;
        if let Some(left) = info.left {
            to.put(b" ")?;
            to.number(u64::from(left.files), 10)?;
            to.put(b" ")?;
            to.number(left.bytes, 10)?;
        }
    }
    to.put(&[0])
}
