//! File attributes: the data field of A packets, and the replies to them (digest §11).
//!
//! ```text
//! tag tochar(length) value    tag tochar(length) value    ...    '@' ' '
//! ```

use super::check::{tochar, unchar};
use super::zone::Zone;
use crate::file::{FileInfo, FileKind, Refusal};

/// What a sender said of a file. Fields are added up over several A packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attributes {
    /// Text or binary, if said.
    pub kind: Option<FileKind>,
    /// Exact length in bytes.
    pub size: Option<u64>,
    /// Length in units of 1024 bytes, rounded up.
    pub size_k: Option<u64>,
    /// Time of last change: seconds since 1970-01-01 00:00 of the sender's local time.
    pub modified_local: Option<i64>,
    /// Unix permission bits, if the sender is a Unix.
    pub mode: Option<u32>,
    /// Disposition letter: `R` resend, `M` mail, `P` print.
    pub disposition: Option<u8>,
    /// A type, encoding or record format that we do not know: its tag.
    pub unsupported: Option<u8>,
    /// The list was marked as complete.
    pub complete: bool,
    system_is_unix: bool,
    mode_value: Option<u32>,
}

fn decimal(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    value.iter().try_fold(0u64, |n, c| n.checked_mul(10)?.checked_add(u64::from(c - b'0')))
}

fn octal(value: &[u8]) -> Option<u32> {
    if value.is_empty() || value.len() > 6 || !value.iter().all(|c| (b'0'..=b'7').contains(c)) {
        return None;
    }
    Some(value.iter().fold(0, |n, c| n * 8 + u32::from(c - b'0')))
}

impl Attributes {
    /// Adds the triplets of one A packet. Unknown tags are passed over by their length; a triplet
    /// that is cut short ends the list.
    pub fn add(&mut self, mut data: &[u8]) {
        while let [tag, len, rest @ ..] = data {
            let len = usize::from(unchar(*len));
            let Some(value) = rest.get(..len) else { return };
            data = &rest[len..];
            match tag {
                b'!' => self.size_k = decimal(value),
                b'"' => match value.first() {
                    Some(b'A') => self.kind = Some(FileKind::Text),
                    Some(b'B' | b'I') => self.kind = Some(FileKind::Binary),
                    _ => self.unsupported = Some(*tag),
                },
                b'#' => self.modified_local = parse_date(value),
                b',' => self.mode_value = octal(value),
                b'.' => self.system_is_unix = value == b"U1",
                b'+' => self.disposition = value.first().copied(),
                b'/' if !matches!(value, b"A" | b"AM" | b"AMJ") => self.unsupported = Some(*tag),
                b'1' => self.size = decimal(value),
                b'@' => self.complete = true,
                _ => {}
            }
        }
        // The order of tags is the sender's choice, so the pair is judged when all are read.
        self.mode = self.mode_value.filter(|_| self.system_is_unix).map(|m| m & 0o777);
    }

    /// What a store is told of the file. `zone` is our own: the sender's is not sent.
    pub fn info<'a>(&self, name: &'a [u8], default: FileKind, zone: Zone) -> FileInfo<'a> {
        FileInfo {
            name,
            size: self.size,
            modified: self.modified_local.map(|local| zone.to_utc(local)),
            mode: self.mode,
            kind: self.kind.unwrap_or(default),
            resume: self.disposition == Some(b'R'),
            ..FileInfo::default()
        }
    }
}

/// Writes the attributes of a file in C-Kermit's order, leaving out whole triplets that do not fit
/// in `out`. Returns the length.
pub fn emit(info: &FileInfo<'_>, system: [u8; 2], zone: Zone, out: &mut [u8]) -> usize {
