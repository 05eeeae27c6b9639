//! The client string (RFC 998 leaves it to the client): how ours describes files (docs/protocols/netblt.md §10).
//!
//! ```text
//! wst1 x p s=1048576 t=1700000000 m=644 k=b r n=3,5000000 name=dir/file.bin     sender
//! wst1 x p have=0-65536,131072-196608                                           receiver
//! wst1 end | wst1 no=exists | wst1 again | wst1 cancel | wst1 cancel-batch
//! ```
//!
//! Words between single blanks, the name last; bytes of the name outside of `!`..`~` and `%`
//! itself are written `%XX`. Words that are not known are ignored. A string that does not
//! begin so is the bare name of a file.

use super::ranges::{HAVE, HeldRanges};
use crate::file::{FileInfo, FileKind, Left, Refusal};
use core::fmt::{self, Write};

/// How our strings begin.
const MAGIC: &[u8] = b"wst1";

/// A parsed client string.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClientString<'a> {
    /// It is one of ours.
    pub(crate) ours: bool,
    /// A digest of the whole file follows it in the stream, or may follow.
    pub(crate) digest: bool,
    /// RATE messages are understood.
    pub(crate) paced: bool,
    /// Length of the file.
    pub(crate) size: Option<u64>,
    pub(crate) modified: Option<i64>,
    pub(crate) mode: Option<u32>,
    pub(crate) kind: FileKind,
    /// The receiver's stored part may be kept.
    pub(crate) resume: bool,
    pub(crate) left: Option<Left>,
    /// The ranges that the receiver has.
    pub(crate) have: HeldRanges,
    /// There is no further file.
    pub(crate) end: bool,
    /// The file is refused.
    pub(crate) refused: bool,
    /// Why, where the word is known.
    pub(crate) why: Option<Refusal>,
    /// Another connection for the same file follows.
    pub(crate) again: bool,
    /// The user gave up the file.
    pub(crate) cancel: bool,
    /// The user gave up all files.
    pub(crate) cancel_batch: bool,
    /// The name, still escaped where the string is ours.
    pub(crate) name: &'a [u8],
}

const REFUSALS: [(&str, Refusal); 12] = [
    ("exists", Refusal::Exists),
    ("not-newer", Refusal::NotNewer),
    ("no-space", Refusal::NoSpace),
    ("name", Refusal::Name),
    ("kind", Refusal::Kind),
    ("resume", Refusal::Resume),
    ("too-long", Refusal::TooLong),
    ("declined", Refusal::Declined),
    ("character-set", Refusal::CharacterSet),
    ("not-permitted", Refusal::NotPermitted),
    ("not-stored", Refusal::NotStored),
    ("later", Refusal::Later),
];

/// The word of a refusal.
pub(crate) fn refusal_word(why: Refusal) -> &'static str {
    REFUSALS.iter().find(|(_, refusal)| *refusal == why).map_or("declined", |(word, _)| word)
}

fn number(bytes: &[u8], radix: u64) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0_u64, |sum, byte| {
        let digit = u64::from(byte.wrapping_sub(b'0'));
        (digit < radix).then_some(())?;
        sum.checked_mul(radix)?.checked_add(digit)
    })
}

fn pair(bytes: &[u8], between: u8) -> Option<(u64, u64)> {
    let at = bytes.iter().position(|byte| *byte == between)?;
    Some((number(&bytes[..at], 10)?, number(&bytes[at + 1..], 10)?))
}

impl<'a> ClientString<'a> {
    /// Reads a client string or a reason.
    pub(crate) fn parse(text: &'a [u8]) -> Self {
        let mut said = Self::default();
        let ours =
            text.strip_prefix(MAGIC).filter(|rest| matches!(rest.first(), None | Some(b' ')));
        let Some(mut rest) = ours else { return Self { name: text, ..said } };
        said.ours = true;
        while let Some(from) = rest.iter().position(|byte| *byte != b' ') {
            rest = &rest[from..];
            if let Some(name) = rest.strip_prefix(b"name=") {
                said.name = name;
                break;
            }
            let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
            said.word(&rest[..end]);
            rest = &rest[end..];
        }
        said
    }

    fn word(&mut self, word: &[u8]) {
        let at = word.iter().position(|byte| *byte == b'=').unwrap_or(word.len());
        let value = word.get(at + 1..).unwrap_or_default();
        match &word[..at] {
            b"x" => self.digest = true,
            b"p" => self.paced = true,
            b"s" => self.size = number(value, 10),
            b"t" => {
                let (sign, digits) = value.strip_prefix(b"-").map_or((1, value), |d| (-1, d));
                let seconds = number(digits, 10).and_then(|n| i64::try_from(n).ok());
                self.modified = seconds.map(|seconds| sign * seconds);
            }
            b"m" => self.mode = number(value, 8).map(|mode| (mode & 0o777) as u32),
            b"k" => self.kind = if value == b"t" { FileKind::Text } else { FileKind::Binary },
            b"r" => self.resume = true,
            b"n" => {
                self.left = pair(value, b',').map(|(files, bytes)| Left {
                    files: u32::try_from(files).unwrap_or(u32::MAX),
                    bytes,
                });
            }
            b"have" => {
                for part in value.split(|byte| *byte == b',') {
                    if let Some((from, to)) = pair(part, b'-') {
                        self.have.put(from, to);
                    }
                }
            }
            b"end" => self.end = true,
            b"no" => {
                let known = REFUSALS.iter().find(|(word, _)| word.as_bytes() == value);
                self.refused = true;
                self.why = known.map(|(_, why)| *why);
            }
            b"again" => self.again = true,
            b"cancel" => self.cancel = true,
            b"cancel-batch" => self.cancel_batch = true,
            _ => {}
        }
    }

    /// Writes the name without its escapes; how long it is. What does not fit is cut off.
    pub(crate) fn put_name(&self, into: &mut [u8]) -> usize {
        let mut len = 0;
        let mut rest = self.name;
        while let ([byte, after @ ..], Some(place)) = (rest, into.get_mut(len)) {
            let hex = |digit: u8| (digit as char).to_digit(16);
            let escaped = match after {
                [high, low, tail @ ..] if self.ours && *byte == b'%' => {
                    hex(*high).zip(hex(*low)).map(|(high, low)| ((high * 16 + low) as u8, tail))
                }
                _ => None,
            };
            (*place, rest) = escaped.unwrap_or((*byte, after));
            len += 1;
        }
        len
    }
}

/// Writes a client string into fixed memory.
#[derive(Debug)]
pub(crate) struct StringWriter<'a> {
    into: &'a mut [u8],
    len: usize,
}

impl Write for StringWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.bytes(text.as_bytes()) { Ok(()) } else { Err(fmt::Error) }
    }
}

impl<'a> StringWriter<'a> {
    /// Starts with the word that identifies it as ours.
    pub(crate) fn new(into: &'a mut [u8]) -> Self {
        let mut writing = Self { into, len: 0 };
        writing.bytes(MAGIC);
        writing
    }

    fn bytes(&mut self, bytes: &[u8]) -> bool {
        let Some(room) = self.into.get_mut(self.len..self.len + bytes.len()) else { return false };
        room.copy_from_slice(bytes);
        self.len += bytes.len();
        true
    }

    /// Adds a word.
    pub(crate) fn word(&mut self, word: fmt::Arguments<'_>) {
        let before = self.len;
        let whole = self.bytes(b" ") && self.write_fmt(word).is_ok();
        if !whole {
            self.len = before;
        }
    }

    /// Adds the description of a file; the name is last.
    pub(crate) fn file(&mut self, info: &FileInfo<'_>, digest: bool, resume: bool) {
        if digest {
            self.word(format_args!("x"));
        }
        if let Some(size) = info.size {
            self.word(format_args!("s={size}"));
        }
        if let Some(time) = info.modified {
            self.word(format_args!("t={time}"));
        }
        if let Some(mode) = info.mode {
            self.word(format_args!("m={mode:o}"));
        }
        let kind = if info.kind == FileKind::Text { "t" } else { "b" };
        self.word(format_args!("k={kind}"));
        if resume {
            self.word(format_args!("r"));
        }
        if let Some(left) = info.left {
            self.word(format_args!("n={},{}", left.files, left.bytes));
        }
        self.word(format_args!("name="));
        for byte in info.name {
            let before = self.len;
            let whole = if (b'!'..=b'~').contains(byte) && *byte != b'%' {
                self.bytes(&[*byte])
            } else {
                write!(self, "%{byte:02X}").is_ok()
            };
            if !whole {
                self.len = before;
                break;
            }
        }
    }

    /// Adds the receiver's ranges. [`HeldRanges::fit`] makes them fit; else none is added.
    pub(crate) fn have(&mut self, have: &HeldRanges) {
        let before = self.len;
        for (index, (from, to)) in have.iter().enumerate() {
            let told = if index == 0 {
                self.bytes(b" ") && write!(self, "{HAVE}{from}-{to}").is_ok()
            } else {
                write!(self, ",{from}-{to}").is_ok()
            };
            if !told {
                self.len = before;
                return;
            }
        }
    }

    /// The string.
    pub(crate) fn finish(self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let info = FileInfo {
            name: b"a b%/\xFF.bin",
            size: Some(77),
            modified: Some(-3),
            mode: Some(0o644),
            left: Some(Left { files: 2, bytes: 99 }),
            ..FileInfo::default()
        };
        let mut room = [0; 200];
        let mut writing = StringWriter::new(&mut room);
        writing.file(&info, true, true);
        let len = writing.finish();
        let said = ClientString::parse(&room[..len]);
        let mut name = [0; 64];
        let named = said.put_name(&mut name);
        assert_eq!(&name[..named], info.name);
        assert_eq!((said.size, said.modified, said.mode), (info.size, info.modified, info.mode));
        assert_eq!((said.left, said.kind), (info.left, info.kind));
        assert!(said.ours && said.digest && said.resume);
    }

    #[test]
    fn strings_of_others_are_names() {
        let said = ClientString::parse(b"wst1x%41");
        let mut name = [0; 64];
        assert!(!said.ours);
        assert_eq!(said.put_name(&mut name), 8);
        assert!(!ClientString::parse(b"").ours);
        assert!(ClientString::parse(b"wst1").ours);
    }

    #[test]
    fn stored_ranges_are_announced() {
        let mut have = HeldRanges::default();
        have.put(0, 5);
        have.put(10, 15);
        let mut room = [0; 200];
        let mut writing = StringWriter::new(&mut room);
        writing.have(&have);
        let len = writing.finish();
        assert_eq!(&room[..len], b"wst1 have=0-5,10-15");
        assert!(ClientString::parse(&room[..len]).have.iter().eq(have.iter()));
        // As many are sent as fit, and both ends know which.
        for len in 0..room.len() {
            let mut fitting = have;
            let used = MAGIC.len().min(len);
            fitting.fit(used, len);
            let told = fitting.iter().count();
            assert_eq!(
                told,
                [0, 13, 19].iter().filter(|least| len >= **least).count() - 1,
                "{len}"
            );
            if len >= MAGIC.len() {
                let mut writing = StringWriter::new(&mut room[..len]);
                writing.have(&fitting);
                let len = writing.finish();
                assert!(ClientString::parse(&room[..len]).have.iter().eq(fitting.iter()));
            }
        }
        let odd =
            ClientString::parse(b"wst1 s=99999999999999999999999 t=- m=9 n=1 have=3,4-,-5 no=what");
        assert!(odd.size.is_none() && odd.have.is_empty() && odd.refused && odd.why.is_none());
    }
}
