//! Messages before the packets, and commands within them
//! (\[TUUCP\] 6.5).

use crate::file::Refusal;
use crate::session::TextWriter;
use core::ops::Range;

/// Features that an end announces, as a set of bits (`-N`, `ROKN`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Features(u16);

impl Features {
    /// Sizes are in `S` commands.
    pub const SIZES: Self = Self(0o1);
    /// The sizes are decimal. Never sent: implied if there is no number.
    pub const DECIMAL: Self = Self(0o10);
    /// A field is between the notification and the size.
    pub const DUMMY: Self = Self(0o20);
    /// The option `q`: arguments are quoted.
    pub const QUOTED: Self = Self(0o40);

    /// Whether all of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Reads what follows `-N` or `ROKN`: an octal number, or nothing.
    pub fn parse(digits: &[u8]) -> Self {
        if digits.is_empty() {
            return Self(0o11);
        }
        let bits = digits.iter().take_while(|byte| (b'0'..=b'7').contains(byte));
        Self(bits.fold(0, |value, byte| value << 3 | u16::from(byte - b'0')))
    }
}

/// Our own features: sizes and quoted names.
pub const OURS: &[u8] = b"N041";

/// The caller's message: `Sname -options`.
pub fn caller(message: &[u8]) -> Option<(&[u8], Option<Features>)> {
    let mut words = words(message.strip_prefix(b"S")?);
    let name = words.next()?;
    let features = words.find_map(|word| word.strip_prefix(b"-N")).map(Features::parse);
    Some((name, features))
}

/// The answer to that: `ROK`, `ROKN047`, or a refusal.
pub fn welcome(message: &[u8]) -> Result<Option<Features>, &[u8]> {
    let said = message.strip_prefix(b"R").unwrap_or(message);
    let rest = said.strip_prefix(b"OK").ok_or(said)?;
    Ok(rest.strip_prefix(b"N").map(Features::parse))
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b' ').filter(|word| !word.is_empty())
}

/// A command of the master, or an answer of the slave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command<'a> {
    /// `S`: send a file.
    Send(Send<'a>),
    /// `H`: nothing more to do?
    Hangup,
    /// `HY`, `HN`, `SY`, `SN2`, `CY`, `CN5`...: its letter, yes or no, and what follows.
    Answer {
        /// The command it answers.
        about: u8,
        /// Yes.
        yes: bool,
        /// The reason, or a position.
        rest: &'a [u8],
    },
    /// A command that this end does not support: `R`, `X`, `E`, or an unknown one.
    Other(u8),
}

/// The permanent refusal of a command. The peer drops its job.
pub const fn refusal(command: u8) -> &'static [u8] {
    match command {
        b'S' => b"SN2\0",
        b'R' => b"RN2\0",
        b'E' => b"EN2\0",
        b'X' => b"XN\0",
        _ => b"N\0",
    }
}

/// The temporary refusal of a command: the job stays in the peer's queue. `None` if
/// the protocol has no such answer.
///
/// 4 ("no temporary file") is old and universal. A request to fetch has only the 9 of Taylor
/// UUCP ("no other channel"), 4 makes it drop the job; a request to run uucp has none.
pub const fn postponement(command: u8, theirs: Features) -> Option<&'static [u8]> {
    match command {
        b'S' => Some(b"SN4\0"),
        b'E' => Some(b"EN4\0"),
        b'R' if theirs.0 != 0 => Some(b"RN9\0"),
        _ => None,
    }
}

/// Why a slave refuses a file, by the number after its `SN`.
pub const fn why_not(rest: &[u8]) -> Option<Refusal> {
    match rest {
        b"2" => Some(Refusal::NotPermitted),
        b"4" => Some(Refusal::NotStored),
        // Too large now, too large ever, too large at this time.
        b"6" | b"7" | b"10" => Some(Refusal::NoSpace),
        b"8" => Some(Refusal::Exists),
        b"9" => Some(Refusal::Later),
        _ => None,
    }
}

/// The arguments of an `S` command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send<'a> {
    /// The file name at the sender.
    pub from: &'a [u8],
    /// The file name here.
    pub to: &'a [u8],
    /// The names are quoted.
    pub quoted: bool,
    /// Permission bits.
    pub mode: Option<u32>,
    /// Its length.
    pub size: Option<u64>,
}

impl Send<'_> {
    /// Whether it belongs into the spool directory: a part of another user's mail, or of a command to run.
    pub fn is_spooled(&self) -> bool {
        // `C.`, `D.` and `X.` are files of the spool directory.
        matches!(self.to, [b'C' | b'D' | b'X', b'.', ..])
    }
}

/// Parses a command. `None` if it is invalid.
pub fn parse(text: &[u8], theirs: Features) -> Option<Command<'_>> {
    let (first, rest) = text.split_first()?;
    Some(match (first, rest) {
        (b'H', []) => Command::Hangup,
        (b'S' | b'R' | b'X' | b'C' | b'H' | b'E', [answer @ (b'Y' | b'N'), rest @ ..]) => {
            Command::Answer { about: *first, yes: *answer == b'Y', rest }
        }
        (b'S', [b' ', ..]) => Command::Send(send(rest, theirs)?),
        (b'A'..=b'Z', _) => Command::Other(*first),
        _ => return None,
    })
}

fn send(rest: &[u8], theirs: Features) -> Option<Send<'_>> {
    let mut words = words(rest);
    let (from, to, _user) = (words.next()?, words.next()?, words.next()?);
    let options = words.next()?.strip_prefix(b"-")?;
    let _temporary = words.next();
    let mode = words.next().and_then(|word| number(word, 8));
    let _notify = words.next();
    if theirs.contains(Features::DUMMY) {
        let _ = words.next();
    }
    let size = words.next().and_then(|word| match word.strip_prefix(b"0x") {
        Some(digits) => number(digits, 16),
        None if theirs.contains(Features::DECIMAL) || word == b"0" => number(word, 10),
        None => None,
    });
    let mode = mode.map(|mode| (mode & 0o777) as u32);
    Some(Send { from, to, quoted: options.contains(&b'q'), mode, size })
}

/// A number in this radix; `None` if it is invalid, or more than 64 bits.
fn number(digits: &[u8], radix: u32) -> Option<u64> {
    let digits = Some(digits).filter(|digits| !digits.is_empty())?;
    digits.iter().try_fold(0u64, |value, byte| {
        let digit = char::from(*byte).to_digit(radix)?;
        value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })
}

/// The restart position of a `SY`, 0 without one. `None` if it is not a number.
pub fn restart(rest: &[u8]) -> Option<u64> {
    let Some(word) = words(rest).find(|word| word.starts_with(b"0x")) else { return Some(0) };
    number(&word[2..], 16)
}

/// The name that an `S` command gives a file here, into `name`: what follows the public directory, or
/// the last part of any other path. `None` for spooled files (which mean mail and commands), names
/// that do not fit and invalid quoting.
pub fn local_name(send: &Send<'_>, name: &mut [u8]) -> Option<usize> {
    if send.is_spooled() {
        return None;
    }
    let to = match unquote(send.to, send.quoted, name)? {
        // A directory: the file keeps its own name.
        0 => 0..0,
        len => beneath(&name[..len]),
    };
    if !to.is_empty() {
        name.copy_within(to.clone(), 0);
        return Some(to.len());
    }
    let len = unquote(send.from, send.quoted, name)?;
    let begin = name[..len].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    name.copy_within(begin..len, 0);
    let len = len - begin;
    (len > 0).then_some(len)
}

/// The part of a path below the public directory; empty for a directory.
fn beneath(path: &[u8]) -> Range<usize> {
    let public = path.starts_with(b"~/");
    let last = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let elsewhere = matches!(path[0], b'/' | b'~');
    let begin = if public {
        2
    } else if elsewhere {
        last
    } else {
        0
    };
    if path == b"~" || path.ends_with(b"/") { 0..0 } else { begin..path.len() }
}

/// Undoes the option `q`: `\\` and three octal digits.
fn unquote(word: &[u8], quoted: bool, into: &mut [u8]) -> Option<usize> {
    let (mut at, mut len) = (0, 0);
    while at < word.len() {
        let mut byte = word[at];
        at += 1;
        if quoted && byte == b'\\' {
            let escape = word.get(at..)?;
            (byte, at) = match escape {
                [b'\\', ..] => (b'\\', at + 1),
                [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                    ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), at + 3)
                }
                _ => return None,
            };
        }
        *into.get_mut(len)? = byte;
        len += 1;
    }
    (!into[..len].contains(&0)).then_some(len)
}

/// Writes a name, with the option `q` quoted.
fn put_name(text: &mut TextWriter<'_>, name: &[u8], quote: bool) -> Option<()> {
    for byte in name {
        match byte {
            b'\\' if quote => text.put(b"\\\\")?,
            0..=b' ' | 0x7F.. if quote => {
                let digits = [byte >> 6, byte >> 3 & 7, byte & 7].map(|digit| digit + b'0');
                text.put(b"\\")?;
                text.put(&digits)?;
            }
            _ => text.put(&[*byte])?,
        }
    }
    Some(())
}

/// Writes an `S` command for a file of this name, with its zero. `None` if the name cannot be encoded
/// for this peer, or does not fit.
pub fn emit(
    name: &[u8],
    user: &str,
    mode: Option<u32>,
    size: Option<u64>,
    theirs: Features,
    into: &mut [u8],
) -> Option<usize> {
    let mut text = TextWriter::new(into, 0);
    let awkward = |byte: &u8| matches!(byte, 0..=b' ' | 0x7F..);
    let quote =
        theirs.contains(Features::QUOTED) && (name.iter().any(awkward) || name.contains(&b'\\'));
    if name.is_empty() || name.contains(&0) || (!quote && name.iter().any(|b| *b <= b' ')) {
        return None;
    }
    text.put(b"S ")?;
    put_name(&mut text, name, quote)?;
    text.put(b" ~/")?;
    put_name(&mut text, name, quote)?;
    text.put(b" ")?;
    text.put(user.as_bytes())?;
    text.put(if quote { b" -dq D.0 0" } else { b" -d D.0 0" })?;
    text.number(u64::from(mode.unwrap_or(0o644) & 0o777), 8)?;
    if let Some(size) = size.filter(|_| theirs.contains(Features::SIZES)) {
        text.put(b" \"\"")?;
        if theirs.contains(Features::DUMMY) {
            text.put(b" dummy")?;
        }
        if theirs.contains(Features::DECIMAL) {
            text.put(b" ")?;
            text.number(size, 10)?;
        } else {
            text.put(b" 0x")?;
            text.number(size, 16)?;
        }
    }
    text.put(&[0])?;
    Some(text.len())
}
