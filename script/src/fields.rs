//! Fields of a command, separated by blanks or grouped by braces or quotes, and the rest of it.

use crate::text::{closing, is_blank, trim, trim_start};

/// Reads fields one by one. They are not evaluated here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

/// A field as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field<'a> {
    /// Its text, without braces or quotes around it.
    pub(crate) text: &'a [u8],
    /// It had braces or quotes.
    pub(crate) grouped: bool,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: trim(text) }
    }

    /// The unread rest.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether the next byte is this one.
    pub(crate) fn at(&self, byte: u8) -> bool {
        self.rest.first() == Some(&byte)
    }

    /// Skips this many bytes.
    pub(crate) fn skip(&mut self, len: usize) {
        self.rest = trim_start(&self.rest[len.min(self.rest.len())..]);
    }

    /// The next field.
    pub(crate) fn field(&mut self) -> Option<Field<'a>> {
        let rest = self.rest;
        let (field, len) = match rest.first()? {
            b'{' if let Some(end) = closing(rest, 0) => (grouped(&rest[1..end]), end + 1),
            b'"' if let Some(end) = quote_end(rest) => (grouped(&rest[1..end]), end + 1),
            _ => {
                let len = plain_len(rest);
                (Field { text: &rest[..len], grouped: false }, len)
            }
        };
        self.skip(len);
        Some(field)
    }

    /// The next field, without advancing.
    pub(crate) fn peek(&self) -> Option<Field<'a>> {
        let mut ahead = *self;
        ahead.field()
    }

    /// A block in braces here, without its braces.
    pub(crate) fn block(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest;
        let end = if self.at(b'{') { closing(rest, 0)? } else { return None };
        self.skip(end + 1);
        Some(&rest[1..end])
    }
}

/// Where the quote at the start closes; `\"` does not close it.
fn quote_end(text: &[u8]) -> Option<usize> {
    let mut quoted = false;
    (1..text.len()).find(|at| {
        let ends = !quoted && text[*at] == b'"';
        quoted = !quoted && text[*at] == b'\\';
        ends
    })
}

fn grouped(text: &[u8]) -> Field<'_> {
    Field { text, grouped: true }
}

/// The length of a field that ends with a blank; the brackets of a function or variable belong to it.
fn plain_len(text: &[u8]) -> usize {
    let mut index = 0;
    while index < text.len() && !is_blank(text[index]) {
        if text[index] == b'\\' {
            index = reference_end(text, index).unwrap_or(index + 2);
        } else {
            index += 1;
        }
    }
    index.min(text.len())
}

/// End of a bracketed reference that begins at the backslash at `at`.
fn reference_end(text: &[u8], at: usize) -> Option<usize> {
    let kind = text.get(at + 1)?.to_ascii_lowercase();
    let open = match kind {
        b'&' => at + 3,
        b'm' | b'v' | b's' | b'q' | b'$' | b':' => at + 2,
        b'f' => {
            let name = text[at + 2..].iter().position(|b| !b.is_ascii_alphanumeric() && *b != b'_');
            at + 2 + name?
        }
        _ => return None,
    };
    matches!(text.get(open)?, b'(' | b'[').then(|| closing(text, open)).flatten().map(|end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut fields = Fields::new(text.as_bytes());
        std::iter::from_fn(|| fields.field())
            .map(|field| String::from_utf8_lossy(field.text).into_owned())
            .collect()
    }

    #[test]
    fn fields_are_grouped() {
        assert_eq!(all("{one two}three \"x\"y"), ["one two", "three", "x", "y"]);
        assert_eq!(all("a\"b c\"d"), ["a\"b", "c\"d"]);
        assert_eq!(all("\"a \\\"b\\\" c\" d"), ["a \\\"b\\\" c", "d"]);
        assert_eq!(all("(a b) c"), ["(a", "b)", "c"]);
        assert_eq!(all("{} \"\" x"), ["", "", "x"]);
    }

    #[test]
    fn references_may_contain_blanks() {
        assert_eq!(all("\\fword(a b c,2) d"), ["\\fword(a b c,2)", "d"]);
        assert_eq!(all("\\&a[\\%i + 1] d"), ["\\&a[\\%i + 1]", "d"]);
        assert_eq!(all("\\(a b"), ["\\(a", "b"]);
    }
}
