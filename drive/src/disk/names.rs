//! Names from a peer, made safe.
//!
//! A name from the wire is never used unchanged. [`confine`] turns it into components that are below the output
//! directory and nowhere else, and says which rules applied:
//!
//! | received | result |
//! |---|---|
//! | nothing, a name that ends in `/` | refused ([`NameRule::Empty`]) |
//! | `.`, `..`, and any `..` inside a path that is used | refused ([`NameRule::Dots`]) |
//! | `/etc/passwd`, `C:\DIR\X`, `C:X` | the root is taken off ([`NameRule::Absolute`]) |
//! | `a/b/c`, `A\B\C` | `c` ([`NameRule::Directories`]); all of it with [`PathRule::Relative`] |
//! | control characters, NUL | `_` each ([`NameRule::Control`]) |
//! | `CON`, `nul.txt`, `COM1` | `_CON`, `_nul.txt`, `_COM1` ([`NameRule::Device`]) |
//! | on Windows: `a?b`, `x.`, `x `, bytes that are no UTF-8 | `a%3Fb`, `x%2E`, `x%20`, `%XX` each ([`NameRule::Foreign`]) |
//! | more than 250 bytes | cut, the extension kept ([`NameRule::TooLong`]) |
//!
//! Names are refused rather than repaired where no repair is right: a name that means "the parent directory"
//! names no file. All others keep as much of the name as is safe, since a transfer should not fail because of a
//! colon. The rules of Windows apply everywhere, because the directory may be shared with a Windows host.

use crate::os::files::WINDOWS_NAMES;
use std::fmt;

/// Which part of a name from the wire is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathRule {
    /// Its last component only.
    #[default]
    LastOnly,
    /// All of it, below the directory; missing directories are created.
    Relative,
}

/// A rule for names: what it changed, or why it refused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum NameRule {
    /// Refused: nothing is left of the name.
    Empty,
    /// Refused: `.` or `..`.
    Dots,
    /// Refused: more than [`MAX_DEPTH`] directories.
    TooDeep,
    /// Refused: a non-directory (a symlink, a file) is where a directory is needed.
    NotADirectory,
    /// The name was absolute (`/x`, `C:x`); its root was removed.
    Absolute,
    /// The name had directories; only the last component was used.
    Directories,
    /// Control characters became `_`.
    Control,
    /// A Windows device (`CON`, `NUL`, `COM1`); `_` was prepended.
    Device,
    /// No file of this system can have the name; what it cannot have is written as `%` and two digits.
    Foreign,
    /// Too long; truncated.
    TooLong,
}

impl NameRule {
    /// The text of the rule.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "the name is empty",
            Self::Dots => "the name leads out of the directory",
            Self::TooDeep => "the name has too many directories",
            Self::NotADirectory => "a file or link is in the place of a directory",
            Self::Absolute => "the name was absolute; it is stored below the directory",
            Self::Directories => "the name had directories; only its last part was used",
            Self::Control => "control characters in the name became _",
            Self::Device => "the name is a Windows device; _ was prepended",
            Self::Foreign => "no file here can have the name; characters of it became %XX",
            Self::TooLong => "the name was too long; it was truncated",
        }
    }

    /// Whether this rule refuses; the others repair.
    pub const fn refuses(self) -> bool {
        matches!(self, Self::Empty | Self::Dots | Self::TooDeep | Self::NotADirectory)
    }
}

impl fmt::Display for NameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that no local file can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadName(
    /// The rule that refused it.
    pub NameRule,
);

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected the name of a file, but {}", self.0)
    }
}

impl std::error::Error for BadName {}

/// A name that stays below the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SafeName {
    /// Directories below the output directory; empty with [`PathRule::LastOnly`].
    pub directories: Vec<Vec<u8>>,
    /// The file's own name: no separator, no control character, at most [`MAX_LEN`] bytes.
    pub name: Vec<u8>,
    /// The first rule that changed something.
    pub rule: Option<NameRule>,
}

/// Longest component in bytes: file systems take 255, 5 are left for `.part`.
pub const MAX_LEN: usize = 250;

/// Maximum directories in a name.
pub const MAX_DEPTH: usize = 32;

/// Numbers of backups from here on are not continued: they were chosen by a user.
const MOST_BACKUPS: u64 = 1_000_000;

/// Whether a link in a directory this deep leads nowhere outside. `..` may only begin a target: after a name, which may
/// be a link itself, it leads elsewhere than it seems to.
pub fn link_stays_inside(target: &[u8], depth: usize) -> bool {
    let mut left = depth;
    let mut named = false;
    if target.is_empty() || target[0] == b'/' || target.contains(&0) {
        return false;
    }
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if named || left == 0 => return false,
            b".." => left -= 1,
            _ => named = true,
        }
    }
    true
}

/// The number of the next backup of a file, `NAME.~N~`: one above the highest among the names in its directory
/// or, where that number is too high, the lowest that is free.
pub fn next_backup<'a>(name: &[u8], names: impl Iterator<Item = &'a [u8]>) -> u64 {
    let number = |entry: &[u8]| -> Option<u64> {
        let digits = entry.strip_prefix(name)?.strip_prefix(b".~")?.strip_suffix(b"~")?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let mut taken: Vec<u64> = names.filter_map(number).collect();
    taken.sort_unstable();
    taken.dedup();
    match taken.last() {
        Some(highest) if *highest >= MOST_BACKUPS => {
            let low = taken.iter().filter(|number| **number > 0);
            let gap = low.zip(1u64..).find(|(number, free)| **number != *free);
            gap.map_or(taken.len() as u64 + 1, |(_, free)| free)
        }
        highest => highest.map_or(1, |highest| highest + 1),
    }
}

/// Makes a name from the wire safe, or returns why that is not possible.
pub fn confine(wire: &[u8], paths: PathRule) -> Result<SafeName, BadName> {
    let mut rules = Rules::default();
    let rootless = strip_roots(wire, &mut rules);
    let mut parts: Vec<&[u8]> = rootless.split(|byte| is_separator(*byte)).collect();
    let last = parts.pop().unwrap_or_default();
    if last.is_empty() {
        return Err(BadName(NameRule::Empty));
    }
    if is_dots(last) {
        return Err(BadName(NameRule::Dots));
    }
    let mut directories = Vec::new();
    match paths {
        PathRule::LastOnly if !parts.is_empty() => rules.add(NameRule::Directories),
        PathRule::LastOnly => {}
        PathRule::Relative => {
            for directory in parts.into_iter().filter(|part| !part.is_empty() && part != b".") {
                if directory == b".." {
                    return Err(BadName(NameRule::Dots));
                }
                directories.push(component(directory, &mut rules));
            }
            if directories.len() > MAX_DEPTH {
                return Err(BadName(NameRule::TooDeep));
            }
        }
    }
    // The part before the last separator may have hidden another drive letter.
    let last = strip_roots(last, &mut rules);
    if last.is_empty() {
        return Err(BadName(NameRule::Empty));
    }
    if is_dots(last) {
        return Err(BadName(NameRule::Dots));
    }
    let name = component(last, &mut rules);
    Ok(SafeName { directories, name, rule: rules.first })
}

/// One component of a path, made safe by the repairing rules: control characters, devices and length.
pub fn clean(part: &[u8]) -> Vec<u8> {
    component(part, &mut Rules::default())
}

/// The first rule that applied, in the order of [`NameRule`].
#[derive(Default)]
struct Rules {
    first: Option<NameRule>,
}

impl Rules {
    fn add(&mut self, rule: NameRule) {
        self.first = Some(self.first.map_or(rule, |first| first.min(rule)));
    }
}

const fn is_separator(byte: u8) -> bool {
    byte == b'/' || byte == b'\\'
}

fn is_dots(part: &[u8]) -> bool {
    part == b"." || part == b".."
}

/// Removes all leading separators and drive letters.
fn strip_roots<'a>(mut name: &'a [u8], rules: &mut Rules) -> &'a [u8] {
    loop {
        name = match name {
            [first, rest @ ..] if is_separator(*first) => rest,
            [drive, b':', rest @ ..] if drive.is_ascii_alphabetic() => rest,
            _ => return name,
        };
        rules.add(NameRule::Absolute);
    }
}

/// One component: control characters, devices and length, until no rule applies: a truncated name may be a
/// device, or UTF-8 with control characters that it was not before.
fn component(part: &[u8], rules: &mut Rules) -> Vec<u8> {
    let mut clean = part.to_vec();
    if WINDOWS_NAMES {
        clean = without_controls(&clean);
        if clean != part {
            rules.add(NameRule::Control);
        }
        let possible = for_windows(&clean);
        if possible != clean {
            rules.add(NameRule::Foreign);
            clean = possible;
        }
    }
    loop {
        let before = clean.len();
        let visible = without_controls(&clean);
        if visible != clean {
            rules.add(NameRule::Control);
            clean = visible;
        }
        if is_device(&clean) {
            clean.insert(0, b'_');
            rules.add(NameRule::Device);
        }
        if clean.len() > MAX_LEN {
            clean = cut(&clean, MAX_LEN);
            rules.add(NameRule::TooLong);
            continue;
        }
        if clean.len() == before {
            return clean;
        }
    }
}

/// Replaces control characters: ASCII ones always, Unicode ones (C1) where the name is UTF-8. Other bytes stay,
/// whatever their character set.
fn without_controls(part: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(part) {
        Ok(text) => text
            .chars()
            .map(|letter| if letter.is_control() { '_' } else { letter })
            .collect::<String>()
            .into_bytes(),
        Err(_) => {
            part.iter().map(|&byte| if byte.is_ascii_control() { b'_' } else { byte }).collect()
        }
    }
}

/// A name that a file of Windows can have: what it cannot have is written as `%` and two hexadecimal digits, from
/// which the name can be read back. So is a `%` before two such digits.
///
/// ```
/// use wetstring_drive::disk::names::for_windows;
/// assert_eq!(for_windows(b"a:b?"), b"a%3Ab%3F");
/// assert_eq!(for_windows(b"notes."), b"notes%2E");
/// assert_eq!(for_windows(b"50%25 of it"), b"50%2525 of it");
/// assert_eq!(for_windows("r\u{e9}sum\u{e9}".as_bytes()), "r\u{e9}sum\u{e9}".as_bytes());
/// assert_eq!(for_windows(b"\xE9t\xE9"), b"%E9t%E9");
/// ```
pub fn for_windows(name: &[u8]) -> Vec<u8> {
    let mut possible = Vec::with_capacity(name.len());
    let escape = |byte: u8, to: &mut Vec<u8>| to.extend(format!("%{byte:02X}").into_bytes());
    let ends_badly = matches!(name.last(), Some(b'.' | b' '));
    let last = name.len() - usize::from(ends_badly);
    let mut at = 0;
    for piece in name[..last].utf8_chunks() {
        for &byte in piece.valid().as_bytes() {
            at += 1;
            let digits = name.get(at..at + 2).unwrap_or_default();
            let means = digits.len() == 2 && digits.iter().all(u8::is_ascii_hexdigit);
            match byte {
                b'<' | b'>' | b':' | b'"' | b'|' | b'?' | b'*' | b'/' | b'\\' => {
                    escape(byte, &mut possible);
                }
                b'%' if means => escape(byte, &mut possible),
                _ => possible.push(byte),
            }
        }
        for &byte in piece.invalid() {
            at += 1;
            escape(byte, &mut possible);
        }
    }
    for &byte in &name[last..] {
        escape(byte, &mut possible);
    }
    possible
}

/// Whether Windows would open a device: the stem up to the first dot, trailing blanks ignored.
fn is_device(name: &[u8]) -> bool {
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    let stem = stem.trim_ascii_end().to_ascii_uppercase();
    match stem.as_slice() {
        b"CON" | b"PRN" | b"AUX" | b"NUL" | b"CONIN$" | b"CONOUT$" => true,
        [b'C', b'O', b'M', digit @ ..] | [b'L', b'P', b'T', digit @ ..] => {
            // Windows treats the superscripts 1, 2 and 3 as digits, in UTF-8 and in Latin-1.
            matches!(digit, [b'0'..=b'9' | 0xB9 | 0xB2 | 0xB3] | [0xC2, 0xB9 | 0xB2 | 0xB3])
        }
        _ => false,
    }
}

/// Truncates a name to `max` bytes: the extension stays if it is short, characters stay whole.
pub(super) fn cut(name: &[u8], max: usize) -> Vec<u8> {
    const LONGEST_EXTENSION: usize = 16;
    if name.len() <= max {
        return name.to_vec();
    }
    let dot = name.iter().rposition(|byte| *byte == b'.');
    let extension = match dot {
        Some(dot) if dot > 0 && name.len() - dot <= LONGEST_EXTENSION.min(max / 2) => &name[dot..],
        _ => &[],
    };
    let mut stem = &name[..max - extension.len()];
    if std::str::from_utf8(name).is_ok() {
        while let Err(error) = std::str::from_utf8(stem) {
            stem = &stem[..error.valid_up_to()];
        }
    }
    [stem, extension].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_not_lead_outside() {
        for (target, depth, inside) in [
            ("file", 0, true),
            ("sub/file", 0, true),
            ("./file", 0, true),
            ("../file", 0, false),
            ("../file", 1, true),
            ("../../file", 1, false),
            ("../../file", 2, true),
            ("sub/../file", 1, false),
            ("/etc/passwd", 9, false),
            ("", 1, false),
            ("a\0b", 1, false),
            ("..", 1, true),
            ("..", 0, false),
        ] {
            assert_eq!(
                link_stays_inside(target.as_bytes(), depth),
                inside,
                "{target:?} at {depth}"
            );
        }
    }
}
