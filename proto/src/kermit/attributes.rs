//! File attributes: the data field of A packets, and the replies to them (kermit.md §11).
//!
//! ```text
//! tag tochar(length) value    tag tochar(length) value    ...    '@' ' '
//! ```

use super::check::{tochar, unchar};
use super::probe;
use super::zone::Zone;
use crate::charset::Encoding;
use crate::file::{Entry, Extras, FileInfo, FileKind, KermitExtras, Refusal};

/// A sender's description of a file. Fields accumulate over several A packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attributes {
    /// Text or binary, if specified.
    pub kind: Option<FileKind>,
    /// Exact length in bytes.
    pub size: Option<u64>,
    /// Length in units of 1024 bytes, rounded up.
    pub size_k: Option<u64>,
    /// Time of last change: seconds since 1970-01-01 00:00 of the sender's local time.
    pub modified_local: Option<i64>,
    /// Unix permission bits, if the sender is a Unix.
    pub mode: Option<u32>,
    /// What that mode says it is.
    pub entry: Entry,
    /// The character set of its text.
    pub encoding: Encoding,
    /// Disposition letter: `R` resend, `M` mail, `P` print.
    pub disposition: Option<u8>,
    /// A type, encoding or record format that we do not know: its tag.
    pub unsupported: Option<u8>,
    /// The list was marked as complete.
    pub complete: bool,
    system_is_unix: bool,
    mode_value: Option<u32>,
}

/// The attributes that are sent, or obeyed: a set of tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags(u32);

impl Tags {
    /// All.
    pub const ALL: Self = Self(u32::MAX);

    /// The set with or without a tag (`!` to `@`; others are always in it).
    #[must_use]
    pub const fn set(self, tag: u8, on: bool) -> Self {
        match tag {
            b'!'..=b'?' if on => Self(self.0 | 1 << (tag - b'!')),
            b'!'..=b'?' => Self(self.0 & !(1 << (tag - b'!'))),
            _ => self,
        }
    }

    /// Whether the tag is in the set.
    pub const fn contains(self, tag: u8) -> bool {
        match tag {
            b'!'..=b'?' => self.0 & (1 << (tag - b'!')) != 0,
            _ => true,
        }
    }

    /// Takes the triplets whose tags are not in the set out of a list; returns what is left of its
    /// length.
    pub fn retain(self, list: &mut [u8]) -> usize {
        let (mut from, mut to) = (0, 0);
        while let Some(&[tag, len]) = list.get(from..from + 2) {
            let end = (from + 2 + usize::from(unchar(len))).min(list.len());
            if self.contains(tag) {
                list.copy_within(from..end, to);
                to += end - from;
            }
            from = end;
        }
        to
    }
}

impl Default for Tags {
    fn default() -> Self {
        Self::ALL
    }
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
    /// Adds the triplets of one A packet. Unknown tags are ignored by their length; a triplet
    /// that is cut short ends the list.
    pub fn add(&mut self, data: &[u8]) {
        self.add_of(data, Tags::ALL);
    }

    /// As [`add`](Self::add), without those whose tags are not in the set.
    pub fn add_of(&mut self, mut data: &[u8], heeded: Tags) {
        while let [tag, len, rest @ ..] = data {
            let len = usize::from(unchar(*len));
            let Some(value) = rest.get(..len) else { return };
            data = &rest[len..];
            match tag {
                _ if !heeded.contains(*tag) => {}
                b'!' => self.size_k = decimal(value),
                b'"' => match value.first() {
                    Some(b'A') => self.kind = Some(FileKind::Text),
                    Some(b'B' | b'I') => self.kind = Some(FileKind::Binary),
                    _ => self.unsupported = Some(*tag),
                },
                b'#' => self.modified_local = parse_date(value),
                b',' => self.mode_value = octal(value),
                b'.' => self.system_is_unix = value == b"U1",
                b'*' => self.encoding = Encoding::of(value),
                b'+' => self.disposition = value.first().copied(),
                b'/' if !matches!(value, b"A" | b"AM" | b"AMJ") => self.unsupported = Some(*tag),
                b'1' => self.size = decimal(value),
                b'@' => self.complete = true,
                _ => {}
            }
        }
        // The order of tags is the sender's choice, so the pair is judged when all are read.
        self.entry = self.mode_value.map_or(Entry::File, Entry::of_mode);
        self.mode = self.mode_value.filter(|_| self.system_is_unix).map(|m| m & 0o777);
    }

    /// The description for the store. `zone` is our own: the sender's is not sent.
    pub fn info<'a>(&self, name: &'a [u8], default: FileKind, zone: Zone) -> FileInfo<'a> {
        FileInfo {
            name,
            size: self.size,
            modified: self.modified_local.map(|local| zone.to_utc(local)),
            mode: self.mode,
            kind: self.kind.unwrap_or(default),
            resume: self.disposition == Some(b'R'),
            extras: Extras::Kermit(KermitExtras { encoding: self.encoding, screen: false }),
            ..FileInfo::default()
        }
    }
}

/// Writes the attributes of a file in C-Kermit's order, leaving out whole triplets that do not fit
/// in `out`. Returns the length.
/// `tried` are codes to show the peer of our own kind bare (the module `probe`).
pub fn emit(
    info: &FileInfo<'_>,
    system: [u8; 2],
    zone: Zone,
    tried: &[u8],
    out: &mut [u8],
) -> usize {
    let mut list = List { out, len: 0 };
    let mut digits = [0u8; 20];
    list.add(b'.', &system);
    match info.kind {
        FileKind::Text => {
            list.add(b'"', b"AMJ");
            if let Some(value) = info.extras.kermit().encoding.put(&mut [0; 16]) {
                list.add(b'*', value);
            }
        }
        FileKind::Binary => list.add(b'"', b"B8"),
    }
    if let Some(date) = info.modified.and_then(|time| format_date(zone.to_local(time))) {
        list.add(b'#', &date);
    }
    if let Some(size) = info.size {
        list.add(b'!', format_decimal(size.div_ceil(1024), &mut digits));
        list.add(b'1', format_decimal(size, &mut digits));
    }
    if let Some(mode) = info.entry.mode(info.mode) {
        let digits = [15, 12, 9, 6, 3, 0].map(|shift| b'0' + ((mode >> shift) & 7) as u8);
        list.add(b',', if info.entry == Entry::File { &digits[3..] } else { &digits });
        // The owner's rights in the system-independent notation: read 1, write 2, execute 4, and
        // delete 16, which on Unix goes with writing as far as a file can say.
        let owner = (mode >> 6) & 7;
        let generic = ((owner & 4) >> 2) | ((owner & 2) * 9) | ((owner & 1) << 2);
        list.add(b'-', &[tochar(generic as u8)]);
    }
    if info.resume {
        list.add(b'+', b"R");
    }
    if !tried.is_empty() {
        list.add(probe::TAG, tried);
    }
    list.add(b'@', b"");
    list.len
}

struct List<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl List<'_> {
    fn add(&mut self, tag: u8, value: &[u8]) {
        if let Some(room) = self.out.get_mut(self.len..self.len + 2 + value.len()) {
            room[0] = tag;
            room[1] = tochar(value.len() as u8);
            room[2..].copy_from_slice(value);
            self.len += room.len();
        }
    }
}

/// Writes `value` in decimal and returns the digits.
pub fn format_decimal(mut value: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return &digits[at..];
        }
    }
}

/// The reply to an A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttributeReply {
    /// Continue.
    Accept,
    /// Resume from here: bytes that the receiver has.
    Resume(u64),
    /// Skip this file; the tag that caused it.
    Refuse(Option<u8>),
}

impl AttributeReply {
    /// Reads the data field of the acknowledgement.
    pub fn parse(data: &[u8]) -> Self {
        match data {
            [b'N', tags @ ..] => Self::Refuse(tags.first().copied()),
            // A resume position that is not a number (C-Kermit sends -1 for "nothing stored") is zero.
            [b'1', len, rest @ ..] => {
                let len = usize::from(unchar(*len)).min(rest.len());
                Self::Resume(decimal(&rest[..len]).unwrap_or(0))
            }
            _ => Self::Accept,
        }
    }
}

/// The tag that reports a refusal to the peer.
pub const fn refusal_tag(why: Refusal) -> u8 {
    match why {
        // `?` and `#` count as success at C-Kermit, so they must not stand for anything else.
        Refusal::Exists => b'?',
        Refusal::Name => b'&',
        Refusal::Declined | Refusal::NotPermitted | Refusal::Later => b')',
        Refusal::NotNewer => b'#',
        Refusal::NoSpace | Refusal::TooLong | Refusal::NotStored => b'1',
        Refusal::Kind => b'"',
        Refusal::CharacterSet => b'*',
        Refusal::Resume => b'+',
    }
}

/// The reason for a peer's tag.
pub const fn refusal_of(tag: Option<u8>) -> Option<Refusal> {
    match tag {
        Some(b'?') => Some(Refusal::Exists),
        Some(b'&') => Some(Refusal::Name),
        Some(b')') => Some(Refusal::Declined),
        Some(b'#') => Some(Refusal::NotNewer),
        Some(b'1' | b'!') => Some(Refusal::NoSpace),
        Some(b'"' | b'/') => Some(Refusal::Kind),
        Some(b'*') => Some(Refusal::CharacterSet),
        Some(b'+') => Some(Refusal::Resume),
        _ => None,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day is the last day of a year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

const fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + if month <= 2 { 1 } else { 0 }, month, day)
}

/// Reads `yyyymmdd[ hh:mm[:ss]]` as seconds since 1970 of the same (local) clock.
pub fn parse_date(value: &[u8]) -> Option<i64> {
    let number = |from: usize, len: usize| -> Option<i64> {
        value.get(from..from + len).and_then(decimal).map(|n| n as i64)
    };
    let (year, month, day) = (number(0, 4)?, number(4, 2)?, number(6, 2)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let mut seconds = days_from_civil(year, month, day) * 86_400;
    if value.len() >= 14 && value[8] == b' ' && value[11] == b':' {
        let (hour, minute) = (number(9, 2)?, number(12, 2)?);
        let second = if value.get(14) == Some(&b':') { number(15, 2)? } else { 0 };
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        seconds += hour * 3600 + minute * 60 + second;
    }
    Some(seconds)
}

/// Writes `yyyymmdd hh:mm:ss`; `None` outside the years 1..=9999.
pub fn format_date(seconds: i64) -> Option<[u8; 17]> {
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    if !(1..=9999).contains(&year) {
        return None;
    }
    let clock = seconds.rem_euclid(86_400);
    let mut out = *b"00000000 00:00:00";
    let mut put = |at: usize, len: usize, mut value: i64| {
        for digit in out[at..at + len].iter_mut().rev() {
            *digit = b'0' + (value % 10) as u8;
            value /= 10;
        }
    };
    put(0, 4, year);
    put(4, 2, month);
    put(6, 2, day);
    put(9, 2, clock / 3600);
    put(12, 2, clock / 60 % 60);
    put(15, 2, clock % 60);
    Some(out)
}
