//! The content of YMODEM's block 0 (\[XY88\] chapter 5).
//!
//! ```text
//! name NUL length SP mtime SP mode SP serial SP files-left SP bytes-left NUL NUL ...
//!          decimal   octal    octal   octal     decimal       decimal
//! ```
//!
//! Fields are optional from the right. An empty name ends the batch. Unknown fields are 0,
//! except the length: without it all other fields are missing too.

use super::frame::{LONG, SHORT};
use crate::file::{FileInfo, Left};
use crate::session::TextWriter;

/// Unix: a regular file.
const REGULAR: u32 = 0o100_000;

/// The content of block 0, with its name as bytes of the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header<'a> {
    /// Name; empty ends the batch.
    pub name: &'a [u8],
    /// Length in bytes. 0 is an empty file, absent is unknown.
    pub size: Option<u64>,
    /// Modification time, in seconds since 1970.
    pub modified: Option<i64>,
    /// Permission bits.
    pub mode: Option<u32>,
    /// The rest of the batch.
    pub left: Option<Left>,
}

impl<'a> Header<'a> {
    /// Reads the data of block 0. `None` if no NUL ends the name.
    pub fn parse(data: &'a [u8]) -> Option<Self> {
        let end = data.iter().position(|byte| *byte == 0)?;
        let (name, rest) = (&data[..end], &data[end + 1..]);
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let mut fields = rest[..end].split(|byte| *byte == b' ').filter(|field| !field.is_empty());
        let mut next = |radix| fields.next().and_then(|field| number(field, radix));
        let size = next(10);
        let modified = next(8).filter(|time| *time != 0).and_then(|time| i64::try_from(time).ok());
        let mode = next(8).filter(|mode| *mode != 0).map(|mode| (mode & 0o777) as u32);
        let _serial = next(8);
        let files = next(10).and_then(|files| u32::try_from(files).ok());
        let left = files.map(|files| Left { files, bytes: next(10).unwrap_or(0) });
        Some(Self { name, size, modified, mode, left })
    }

    /// The description for the store.
    pub fn info(&self) -> FileInfo<'a> {
        FileInfo {
            name: self.name,
            size: self.size,
            modified: self.modified,
            mode: self.mode,
            left: self.left,
            ..FileInfo::default()
        }
    }
}

/// A number in this radix; `None` if it is invalid, or more than 64 bits.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, byte| {
        let digit = char::from(*byte).to_digit(radix)?;
        value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })
}

/// Writes the data of block 0 into `data`, which has room for 1024 bytes. `records` adds the count
/// of 128-byte records where KMD and IMP look for it. Returns 128 or 1024, or `None` if the name is
/// empty, has a NUL, or does not fit.
pub fn emit(info: &FileInfo<'_>, records: bool, data: &mut [u8]) -> Option<usize> {
    if info.name.is_empty() || info.name.contains(&0) {
        return None;
    }
    let room = data.len().min(LONG);
    let mut text = TextWriter::new(&mut data[..room], 0);
    text.put(info.name)?;
    text.put(&[0])?;
    if let Some(size) = info.size {
        text.number(size, 10)?;
        text.put(b" ")?;
        text.number(info.modified.and_then(|time| u64::try_from(time).ok()).unwrap_or(0), 8)?;
        text.put(b" ")?;
        text.number(info.mode.map_or(0, |mode| u64::from(REGULAR | mode & 0o777)), 8)?;
        text.put(b" 0")?;
        if let Some(left) = info.left {
            text.put(b" ")?;
            text.number(u64::from(left.files), 10)?;
            text.put(b" ")?;
            text.number(left.bytes, 10)?;
        }
    }
    text.put(&[0])?;
    let used = text.len();
    let len = if used <= SHORT { SHORT } else { LONG };
    data[used..len].fill(0);
    if let Some(size) = info.size.filter(|_| records && used <= 125) {
        let count = size.div_ceil(SHORT as u64);
        data[126] = (count >> 8) as u8;
        data[127] = count as u8;
    }
    Some(len)
}
