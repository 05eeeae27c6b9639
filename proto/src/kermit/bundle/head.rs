//! The header of a file: what an F packet and its attributes say, in some 20 bytes.

use super::{LONGEST_NUMBER, Number, put_number, unzigzag, zigzag};
use crate::file::{FileInfo, FileKind};

/// The size follows.
pub(crate) const SIZE: u8 = 1;
/// The time follows: seconds since the time of the header before it that had one, or since 1970 (UTC), as a signed
/// number.
pub(crate) const TIME: u8 = 2;
/// The permissions follow.
pub(crate) const MODE: u8 = 4;
/// The permissions are those of the header before it that had some.
pub(crate) const SAME_MODE: u8 = 8;
/// Lines of text: they end with CR LF on the line.
pub(crate) const TEXT: u8 = 16;
/// The sender can continue after what the receiver has of it.
pub(crate) const RESUME: u8 = 32;
/// Text for the receiver's screen, no file.
pub(crate) const SCREEN: u8 = 64;
/// More attributes follow in a record of their own, before any data; the flags say nothing of the kind then.
pub(crate) const MORE: u8 = 128;

/// What headers refer to: the last time and permissions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    time: i64,
    mode: Option<u32>,
}

/// The longest header without its name.
pub(crate) const LONGEST: usize = 1 + 3 * LONGEST_NUMBER;

/// Writes a header without its name.
pub(crate) fn put(
    info: &FileInfo<'_>,
    flags: u8,
    before: &mut Before,
    out: &mut [u8; LONGEST],
) -> usize {
    let mut flags = flags;
    let mut len = 1;
    if flags & MORE == 0 {
        if let Some(size) = info.size {
            flags |= SIZE;
            len += put_number(size, &mut out[len..]);
        }
        if let Some(time) = info.modified {
            flags |= TIME;
            len += put_number(zigzag(time.wrapping_sub(before.time)), &mut out[len..]);
            before.time = time;
        }
        let mode = info.entry.mode(info.mode);
        if mode.is_some() && mode == before.mode {
            flags |= SAME_MODE;
        } else if let Some(mode) = mode {
            flags |= MODE;
            len += put_number(u64::from(mode), &mut out[len..]);
            before.mode = Some(mode);
        }
        if info.kind == FileKind::Text {
            flags |= TEXT;
        }
        if info.resume {
            flags |= RESUME;
        }
    }
    out[0] = flags;
    len
}

/// What a header says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head {
    pub(crate) flags: u8,
    pub(crate) size: Option<u64>,
    pub(crate) modified: Option<i64>,
    pub(crate) mode: Option<u32>,
}

/// A header that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    head: Head,
    has_flags: bool,
    /// Fields that are still to come.
    left: u8,
    number: Number,
}

impl Reading {
    /// Whether what follows is the name.
    pub(crate) fn is_over(&self) -> bool {
        self.has_flags && self.left == 0
    }

    /// What it said.
    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// The next byte of a header that is not over.
    pub(crate) fn take(&mut self, byte: u8, before: &mut Before) -> Result<(), ()> {
        if !self.has_flags {
            self.has_flags = true;
            self.head.flags = byte;
            self.left = byte & (SIZE | TIME | MODE);
            if byte & SAME_MODE != 0 {
                self.head.mode = before.mode;
            }
            return Ok(());
        }
        let Some(value) = self.number.take(byte)? else { return Ok(()) };
        let field = self.left & self.left.wrapping_neg();
        self.left &= !field;
        match field {
            SIZE => self.head.size = Some(value),
            TIME => {
                before.time = before.time.wrapping_add(unzigzag(value));
                self.head.modified = Some(before.time);
            }
            _ => {
                before.mode = Some(u32::try_from(value).map_err(drop)? & 0o177_777);
                self.head.mode = before.mode;
            }
        }
        Ok(())
    }
}
