//! Replies of a server: three digits and a text.
//!
//! ```text
//! 250 one line                         both
//! 100-first / any / 100 last           several, RFC 542: until the number and a space
//! 150 first / three spaces, more       several, RFC 354: what follows with three spaces belongs to it
//! ```

/// A reply, or a line that belongs to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// The whole reply, or the last line of it: its number.
    Reply(u16),
    /// A line of a reply that continues, or of one that has been told.
    More,
}

/// Where the lines of a server stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replies {
    /// The number of a reply of several lines that has begun.
    open: Option<u16>,
}

impl Replies {
    /// What the next line is, and its text.
    pub fn line<'a>(&mut self, line: &'a [u8]) -> (Line, &'a [u8]) {
        let number = number(line);
        let text = |skip: usize| line.get(skip..).unwrap_or_default();
        match (self.open, number, line.get(3)) {
            (Some(open), Some(number), Some(b' ') | None) if open == number => {
                self.open = None;
                (Line::Reply(number), text(4))
            }
            (Some(_), _, _) => (Line::More, line),
            (None, Some(number), Some(b'-')) => {
                self.open = Some(number);
                (Line::More, text(4))
            }
            (None, Some(number), Some(b' ') | None) => (Line::Reply(number), text(4)),
            // A continuation of RFC 354, or nothing that there is a rule for.
            (None, _, _) => (Line::More, line.trim_ascii_start()),
        }
    }
}

/// The number that a line begins with.
fn number(line: &[u8]) -> Option<u16> {
    let digits = line.get(..3)?;
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u16::from(digit - b'0'))
    })
}

/// The number in brackets that our server says of a file's length: `(1234 octets)`.
pub fn octets(text: &[u8]) -> Option<u64> {
    let from = text.iter().position(|octet| *octet == b'(')? + 1;
    let rest = text.get(from..)?;
    let len = rest.iter().position(|octet| !octet.is_ascii_digit())?;
    (rest.get(len..)?.starts_with(b" octets)")).then(|| decimal(&rest[..len])).flatten()
}

/// A decimal number, and nothing else.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    core::str::from_utf8(text).ok()?.parse().ok().filter(|_| text[0].is_ascii_digit())
}
