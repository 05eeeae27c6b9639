//! Joins lines of a file or of a user into logical lines.
//!
//! A comment begins with `;` or `#` at the start of a line or after a blank, even inside quotes. A line that
//! ends with `-` continues on the next. A line that ends with `{` begins a block, which ends where its braces
//! close. Line ends inside a block stay: they separate commands as commas do, and locate errors in a block.

use crate::text::{is_blank, trim_end, trim_start};

/// A complete command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Logical {
    /// Number of its first line, from 1.
    pub line: usize,
    /// Its text, with the line ends of its blocks.
    pub text: Vec<u8>,
}

/// Collects lines.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    text: Vec<u8>,
    /// Number of the last line.
    number: usize,
    /// Number of the first line of the collected text.
    begin: usize,
    /// Open braces.
    depth: usize,
    /// The last line ended with a dash.
    goes_on: bool,
    /// Line ends removed by dashes, to be restored where they do no harm.
    owed: usize,
}

impl Lines {
    /// Nothing collected, the next line is line 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a block or a continued line is incomplete.
    pub fn is_waiting(&self) -> bool {
        self.depth > 0 || self.goes_on
    }

    /// Number of collected bytes.
    pub fn held(&self) -> usize {
        self.text.len()
    }

    /// Discards the collected text.
    pub fn drop_held(&mut self) {
        *self = Self { number: self.number, ..Self::default() };
    }

    /// Adds a line, without its end; returns a logical line when one is complete.
    pub fn feed(&mut self, line: &[u8]) -> Option<Logical> {
        self.number += 1;
        if !self.is_waiting() {
            self.begin = self.number;
        }
        let line = trim_end(without_comment(line));
        let (part, dash) = match line {
            [part @ .., b'-'] => (part, true),
            _ => (line, false),
        };
        if self.goes_on {
            self.owed += 1;
        } else if self.depth > 0 {
            let ends = 1 + std::mem::take(&mut self.owed);
            self.text.extend(std::iter::repeat_n(b'\n', ends));
        }
        let in_line = self.goes_on && !self.text.is_empty();
        self.text.extend_from_slice(if in_line { part } else { trim_start(part) });
        self.goes_on = dash;
        if dash {
            return None;
        }
        if self.depth > 0 || self.text.ends_with(b"{") {
            self.depth = open_braces(&self.text);
        }
        if self.depth > 0 { None } else { self.taken() }
    }

    /// The end of the file: the collected text, and whether it was complete.
    pub fn finish(&mut self) -> Option<(Logical, bool)> {
        let complete = self.depth == 0;
        self.taken().map(|logical| (logical, complete))
    }

    fn taken(&mut self) -> Option<Logical> {
        let text = std::mem::take(&mut self.text);
        self.depth = 0;
        self.goes_on = false;
        self.owed = 0;
        let empty = text.iter().all(|b| is_blank(*b));
        (!empty).then_some(Logical { line: self.begin, text })
    }
}

/// A line up to its comment.
fn without_comment(line: &[u8]) -> &[u8] {
    let begins = |at: usize| at == 0 || is_blank(line[at - 1]);
    let comment = |(at, byte): (usize, &u8)| matches!(byte, b';' | b'#') && begins(at);
    let end = line.iter().enumerate().position(|(at, byte)| comment((at, byte)));
    &line[..end.unwrap_or(line.len())]
}

/// Opening minus closing braces of a text.
fn open_braces(text: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut index = 0;
    while index < text.len() {
        match text[index] {
            b'\\' => index += 1,
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        index += 1;
    }
    depth
}

/// Splits a list at commas and line ends outside braces, parentheses and quotes. Each command comes with the
/// number of line ends before it.
pub(crate) fn split_list(text: &[u8]) -> Vec<(usize, &[u8])> {
    let mut found = Vec::new();
    let (mut braces, mut parens, mut lines) = (0usize, 0usize, 0usize);
    let (mut begin, mut begin_line, mut index) = (0, 0, 0);
    while index < text.len() {
        match text[index] {
            b'\\' => index += usize::from(text.get(index + 1) != Some(&b'\n')),
            b'{' => braces += 1,
            b'}' => braces = braces.saturating_sub(1),
            b'(' if braces == 0 => parens += 1,
            b')' if braces == 0 => parens = parens.saturating_sub(1),
            b'"' if braces == 0 && (index == 0 || is_blank(text[index - 1])) => {
                let rest = &text[index + 1..];
                let line = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                let end = rest[..line].iter().position(|b| *b == b'"');
                index += end.map_or(0, |end| end + 1);
            }
            b',' | b'\n' if braces == 0 && (parens == 0 || text[index] == b'\n') => {
                found.push((begin_line, &text[begin..index]));
                begin = index + 1;
                parens = 0;
                begin_line = lines + usize::from(text[index] == b'\n');
            }
            _ => {}
        }
        lines += usize::from(text.get(index) == Some(&b'\n'));
        index += 1;
    }
    found.push((begin_line, &text[begin.min(text.len())..]));
    found
        .into_iter()
        .map(|(line, part)| {
            let rest = trim_start(part);
            let skipped = &part[..part.len() - rest.len()];
            (line + skipped.iter().filter(|b| **b == b'\n').count(), trim_end(rest))
        })
        .filter(|(_, part)| !part.is_empty())
        .collect()
}

/// A block as one line: commands with commas between them, as definitions are stored.
pub(crate) fn flat(text: &[u8]) -> Vec<u8> {
    if !text.contains(&b'\n') {
        return text.to_vec();
    }
    let mut out: Vec<u8> = Vec::with_capacity(text.len() + 8);
    for part in text.split(|b| *b == b'\n') {
        let part = crate::text::trim(part);
        if part.is_empty() {
            continue;
        }
        let glued = out.is_empty() || out.ends_with(b"{") || part.starts_with(b"}");
        if !glued {
            out.extend_from_slice(b", ");
        } else if part.starts_with(b"}") || out.ends_with(b"{") {
            out.push(b' ');
        }
        out.extend_from_slice(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(usize, String)> {
        let mut lines = Lines::new();
        let mut found: Vec<Logical> =
            text.split('\n').filter_map(|line| lines.feed(line.as_bytes())).collect();
        found.extend(lines.finish().map(|(logical, _)| logical));
        found.into_iter().map(|l| (l.line, String::from_utf8(l.text).unwrap())).collect()
    }

    #[test]
    fn comments_begin_even_inside_quotes() {
        assert_eq!(all("echo \"17 a ; in quotes\""), [(1, "echo \"17 a".into())]);
        assert_eq!(all("; all\n # all\necho a;b"), [(3, "echo a;b".into())]);
        assert_eq!(all("write file {; x}"), [(1, "write file {; x}".into())]);
    }

    #[test]
    fn a_dash_joins() {
        assert_eq!(
            all("echo 24 -\n  line\necho b"),
            [(1, "echo 24   line".into()), (3, "echo b".into())]
        );
        assert_eq!(all("echo a-\necho b"), [(1, "echo aecho b".into())]);
    }

    #[test]
    fn blocks_keep_their_line_ends() {
        let text = "for \\%i 1 2 1 {\n  ; no\n  echo a\n  if x {\n echo b\n } else {\n y\n}\n}\nz";
        let found = all(text);
        assert_eq!(found[0].1, "for \\%i 1 2 1 {\n\necho a\nif x {\necho b\n} else {\ny\n}\n}");
        assert_eq!(found[1], (10, "z".into()));
    }

    #[test]
    fn lists_are_split_outside_all_brackets() {
        let texts = |text: &'static str| -> Vec<(usize, String)> {
            let parts = split_list(text.as_bytes());
            parts.iter().map(|(l, t)| (*l, String::from_utf8_lossy(t).into_owned())).collect()
        };
        assert_eq!(
            texts("a, b (c,d), {e,f}"),
            [(0, "a".into()), (0, "b (c,d)".into()), (0, "{e,f}".into())]
        );
        assert_eq!(texts("\n\na\n\nb, \"x,y\"")[..2], [(2, "a".into()), (4, "b".into())]);
        assert_eq!(texts("x \\,y, z").len(), 2);
    }
}
