//! Expands backslash sequences.
//!
//! ```text
//! \%a \%1 \%*      variables, arguments         \&a[i]       elements of arrays
//! \m(name)         a macro, as it is            \v(name)     built-in
//! \$(NAME)         the environment              \fname(...)  functions
//! \s(name[2:3])    a part of a macro            \:(text[2:3]) a part of a text
//! \q(text)         as it is                     \13 \d13 \o15 \x0d \{13}  codes
//! ```
//!
//! Values of \%x and \&x[] are evaluated again, unless SET VARIABLE-EVALUATION SIMPLE; all others are taken
//! literally.

use crate::interp::Interp;
use crate::text::{closing, integer, lossy, lower, trim};
use crate::trouble::Trouble;
use crate::variables::Key;

/// Maximum nesting of evaluations.
const DEPTH: usize = 100;

impl Interp<'_> {
    /// Evaluates a text.
    pub(crate) fn expand(&mut self, text: &[u8]) -> Result<Vec<u8>, Trouble> {
        if !text.contains(&b'\\') || !self.settings.quoting {
            return Ok(text.to_vec());
        }
        let mut out = Vec::with_capacity(text.len() + 16);
        self.expand_into(text, &mut out)?;
        Ok(out)
    }

    fn expand_into(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Trouble> {
        self.nested += 1;
        if self.nested > DEPTH {
            self.nested = 0;
            return Err(Trouble::new("definition is circular or too deep"));
        }
        let done = self.expand_flat(text, out);
        self.nested = self.nested.saturating_sub(1);
        done
    }

    fn expand_flat(&mut self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Trouble> {
        let mut at = 0;
        while at < text.len() {
            let Some(len) = text[at..].iter().position(|b| *b == b'\\') else {
                out.extend_from_slice(&text[at..]);
                break;
            };
            out.extend_from_slice(&text[at..at + len]);
            at += len + 1;
            at += self.one(&text[at..], out)?;
            self.check_len(out.len())?;
        }
        Ok(())
    }

    /// Limits the length of a value.
    pub(crate) fn check_len(&self, len: usize) -> Result<(), Trouble> {
        let most = self.limits.value;
        if len > most {
            return Err(Trouble::new(format!("a value of more than {most} bytes")));
        }
        Ok(())
    }

    /// The sequence after a backslash; returns the length used.
    fn one(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Result<usize, Trouble> {
        let Some(first) = rest.first() else { return Ok(0) };
        match first.to_ascii_lowercase() {
            b'%' => self.percent(rest, out),
            b'&' => self.element(rest, out),
            b'0'..=b'9' | b'{' | b'd' | b'o' | b'x' => {
                let Some((code, len)) = code(rest) else {
                    out.push(*first);
                    return Ok(1);
                };
                out.push(code);
                Ok(len)
            }
            b'm' | b'v' | b's' | b'q' | b'$' | b':' => self.bracketed(rest, out),
            b'f' => self.function(rest, out),
            _ => {
                out.push(*first);
                Ok(1)
            }
        }
    }

    fn percent(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Result<usize, Trouble> {
        let Some(name) = rest.get(1) else { return Ok(1) };
        match name {
            b'*' => {
                let level = self.levels.last().expect("the user's level always exists");
                let all = level.arguments.get(1..).unwrap_or_default();
                out.extend_from_slice(&all.join(&b' '));
            }
            b'0'..=b'9' => {
                let index = usize::from(name - b'0');
                let level = self.levels.last().expect("the user's level always exists");
                if let Some(value) = level.arguments.get(index) {
                    if self.settings.recursive && value.contains(&b'\\') {
                        let value = value.clone();
                        self.expand_into(&value, out)?;
                    } else {
                        out.extend_from_slice(value);
                    }
                }
            }
            _ if name.is_ascii_alphabetic() => {
                if let Some(value) = self.variables.letter(*name) {
                    if self.settings.recursive && value.contains(&b'\\') {
                        let value = value.clone();
                        self.expand_into(&value, out)?;
                    } else {
                        out.extend_from_slice(value);
                    }
                }
            }
            // C-Kermit 10 also skips the byte after a percent sign that names nothing.
            _ => {}
        }
        Ok(2)
    }

    /// `\&a[index]`
    fn element(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Result<usize, Trouble> {
        let Some((letter, index, len)) = self.element_name(rest)? else {
            out.push(rest[0]);
            return Ok(1);
        };
        if let Some(value) = self.cell(letter, index) {
            if self.settings.recursive && value.contains(&b'\\') {
                self.expand_into(&value, out)?;
            } else {
                out.extend_from_slice(&value);
            }
        }
        Ok(len)
    }

    /// Letter, index, and length of `&a[index]`.
    fn element_name(&mut self, rest: &[u8]) -> Result<Option<(u8, i64, usize)>, Trouble> {
        let (Some(letter), Some(b'[')) = (rest.get(1), rest.get(2)) else { return Ok(None) };
        let Some(end) = closing(rest, 2) else { return Ok(None) };
        let index = self.expand(&rest[3..end])?;
        let index = if trim(&index).is_empty() { Some(0) } else { self.number(&index).ok() };
        Ok(Some((*letter, index.unwrap_or(-1), end + 1)))
    }

    /// The value of an element; nothing if there is none.
    pub(crate) fn cell(&self, letter: u8, index: i64) -> Option<Vec<u8>> {
        let at = usize::try_from(index).ok()?;
        match letter {
            b'_' => self.levels.last()?.arguments.get(at).cloned(),
            b'@' => self.argv.get(at).cloned(),
            _ => self.variables.cells(letter)?.get(at)?.clone(),
        }
    }

    /// `\m(name)` and others with an argument in parentheses.
    fn bracketed(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Result<usize, Trouble> {
        let open = rest.get(1) == Some(&b'(');
        let Some(end) = open.then(|| closing(rest, 1)).flatten() else {
            out.push(rest[0]);
            return Ok(1);
        };
        let inside = &rest[2..end];
        match rest[0].to_ascii_lowercase() {
            b'q' => out.extend_from_slice(inside),
            b'm' => {
                let name = lower(trim(&self.expand(inside)?));
                if let Some(text) = self.variables.text(&name) {
                    out.extend_from_slice(text);
                }
            }
            b'v' => {
                let name = lower(trim(&self.expand(inside)?));
                if !self.builtin(&name, out) {
                    let say = format!("<ERROR:NO_SUCH_VARIABLE:\\v({})>", lossy(&name));
                    self.function_failed(say, out)?;
                }
            }
            b'$' => {
                let name = self.expand(inside)?;
                if let Some(value) = self.world.environment(trim(&name)) {
                    out.extend_from_slice(&value);
                }
            }
            kind => {
                let (name, part) = part_of(inside);
                let name = self.expand(name)?;
                let text = if kind == b's' {
                    let small = lower(trim(&name));
                    self.variables.text(&small).map(|text| text.to_vec()).unwrap_or_default()
                } else {
                    name
                };
                let part = self.expand(part)?;
                out.extend_from_slice(self.part(&text, &part)?);
            }
        }
        Ok(end + 1)
    }

    /// The range `[a:b]`, `[a_b]`, `[a.]`, `[a]` of a text.
    fn part<'t>(&mut self, text: &'t [u8], part: &[u8]) -> Result<&'t [u8], Trouble> {
        if part.is_empty() {
            return Ok(text);
        }
        let at = part.iter().position(|b| matches!(b, b':' | b'_' | b'.')).unwrap_or(part.len());
        let mut value = |text: &[u8], default: i64| {
            if trim(text).is_empty() { Ok(default) } else { self.number(text) }
        };
        let start = value(&part[..at], 1)?.max(1);
        let all = i64::try_from(text.len()).unwrap_or(i64::MAX);
        let len = match part.get(at) {
            Some(b':') => value(&part[at + 1..], all)?,
            Some(b'_') => value(&part[at + 1..], all)?.saturating_sub(start).saturating_add(1),
            Some(b'.') => 1,
            _ => all,
        };
        let from = (start - 1).min(all);
        let to = from.saturating_add(len.max(0)).min(all);
        Ok(&text[from as usize..to as usize])
    }

    fn function(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Result<usize, Trouble> {
        let name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let len = rest[1..].iter().position(|b| !name(b)).unwrap_or(rest.len() - 1);
        let open = 1 + len;
        let closed = (len > 0 && rest.get(open) == Some(&b'(')).then(|| closing(rest, open));
        let Some(Some(end)) = closed else {
            out.push(rest[0]);
            return Ok(1);
        };
        match self.apply(&rest[1..open], &rest[open + 1..end])? {
            Ok(value) => out.extend_from_slice(&value),
            Err(error) => self.function_failed(error, out)?,
        }
        Ok(end + 1)
    }

    /// The result of a function error, as set by SET FUNCTION ERROR and DIAGNOSTICS.
    fn function_failed(&mut self, error: String, out: &mut Vec<u8>) -> Result<(), Trouble> {
        if self.settings.function_error {
            return Err(Trouble::new(error));
        }
        if self.settings.diagnostics {
            out.extend_from_slice(error.as_bytes());
        }
        Ok(())
    }

    /// The value of an expression that is already expanded: numbers, and names of macros that hold numbers.
    pub(crate) fn number(&mut self, text: &[u8]) -> Result<i64, Trouble> {
        self.arithmetic(text).map_err(|bad| {
            use crate::arith::Bad;
            let text = lossy(trim(text));
            Trouble::new(match bad {
                Bad::Empty => "expected a number, got nothing".to_owned(),
                Bad::NotNumeric => format!("expected a number, got {text}"),
                Bad::ByZero => format!("{text} divides by zero"),
                Bad::TooLarge => format!("{text} does not fit into 64 bits"),
            })
        })
    }

    /// Like [`Self::number`], with the reason.
    pub(crate) fn arithmetic(&mut self, text: &[u8]) -> Result<i64, crate::arith::Bad> {
        let variables = &self.variables;
        crate::arith::evaluate(text, &mut |name| {
            variables.text(&lower(name)).and_then(|value| integer(value))
        })
    }

    /// Which variable a name in a command means: `\%a`, `\&a[1]`, or the name of a macro. Names in brackets are
    /// evaluated, the rest is not.
    pub(crate) fn key(&mut self, name: &[u8]) -> Result<Key, Trouble> {
        match name {
            [b'\\', b'%', digit] if digit.is_ascii_digit() => Ok(Key::Argument(digit - b'0')),
            [b'\\', b'%', letter] if letter.is_ascii_alphabetic() => {
                Ok(Key::Letter(letter.to_ascii_lowercase()))
            }
            [b'\\', rest @ ..] if rest.first() == Some(&b'&') => {
                let wrong = || Trouble::new(format!("expected \\&a[index], got {}", lossy(name)));
                let (letter, index, _) = self.element_name(rest)?.ok_or_else(wrong)?;
                if !letter.is_ascii_alphabetic() && letter != b'_' {
                    return Err(wrong());
                }
                Ok(if rest.get(3) == Some(&b']') {
                    Key::Array(letter.to_ascii_lowercase())
                } else {
                    Key::Cell(letter.to_ascii_lowercase(), index)
                })
            }
            [b'&', letter] | [b'&', letter, b'[', b']'] if letter.is_ascii_alphabetic() => {
                Ok(Key::Array(letter.to_ascii_lowercase()))
            }
            [b'\\', kind, b'(', inner @ .., b')'] if kind.eq_ignore_ascii_case(&b'm') => {
                let inner = self.expand(inner)?;
                Ok(Key::Macro(lower(trim(&inner))))
            }
            _ => {
                let name = if name.contains(&b'\\') { self.expand(name)? } else { name.to_vec() };
                if name.is_empty() {
                    return Err(Trouble::new("expected the name of a variable, got nothing"));
                }
                Ok(Key::Macro(lower(&name)))
            }
        }
    }

    /// The value of a variable as it was assigned.
    pub(crate) fn value(&self, key: &Key) -> Option<Vec<u8>> {
        match key {
            Key::Letter(letter) => self.variables.letter(*letter).map(|v| v.to_vec()),
            Key::Argument(digit) => self.levels.last()?.arguments.get(usize::from(*digit)).cloned(),
            Key::Macro(name) => self.variables.text(name).map(|v| v.to_vec()),
            Key::Cell(letter, index) => self.cell(*letter, *index),
            Key::Array(letter) => self.variables.cells(*letter).map(|_| Vec::new()),
        }
    }

    /// Sets or removes a variable.
    pub(crate) fn assign(&mut self, key: &Key, value: Option<&[u8]>) -> Result<(), Trouble> {
        let value = value.filter(|value| !value.is_empty());
        self.check_len(value.map_or(0, <[u8]>::len))?;
        match key {
            Key::Letter(letter) => self.variables.set_letter(*letter, value),
            Key::Macro(name) => self.variables.set_text(name.clone(), value),
            Key::Argument(digit) => {
                let at = usize::from(*digit);
                let arguments = &mut self.level().arguments;
                if arguments.len() <= at {
                    arguments.resize(at + 1, Vec::new());
                }
                arguments[at] = value.unwrap_or_default().to_vec();
                Ok(())
            }
            Key::Cell(letter, index) => {
                if !self.variables.set_cell(*letter, *index, value.map(<[u8]>::to_vec))? {
                    let name = char::from(*letter);
                    let say = format!("no such element: \\&{name}[{index}]");
                    return Err(Trouble::new(say));
                }
                Ok(())
            }
            Key::Array(letter) => self.variables.declare(*letter, -1),
        }
    }
}

/// `13`, `d13`, `o15`, `x0d`, `{13}`: the byte and the length of its notation.
fn code(text: &[u8]) -> Option<(u8, usize)> {
    if text.first() == Some(&b'{') {
        let end = text.iter().position(|b| *b == b'}')?;
        let (byte, len) = code(&text[1..end])?;
        return (len == end - 1).then_some((byte, end + 1));
    }
    let (radix, skip, most) = match text.first()?.to_ascii_lowercase() {
        b'd' => (10, 1, 3),
        b'o' => (8, 1, 3),
        b'x' => (16, 1, 2),
        _ => (10, 0, 3),
    };
    let digits = text[skip..].iter().take(most);
    let len = digits.take_while(|b| char::from(**b).is_digit(radix)).count();
    if radix == 16 && len < 2 {
        return None;
    }
    let digits = std::str::from_utf8(&text[skip..skip + len]).ok()?;
    // 999 is not a byte, but 99 is.
    (1..=len).rev().find_map(|take| {
        let value = u8::from_str_radix(digits.get(..take)?, radix).ok()?;
        Some((value, skip + take))
    })
}

/// Splits `name[2:3]` into its two parts.
fn part_of(text: &[u8]) -> (&[u8], &[u8]) {
    let open = text.iter().rposition(|b| *b == b'[');
    match (open, text.last()) {
        (Some(at), Some(b']')) => (&text[..at], &text[at + 1..text.len() - 1]),
        _ => (text, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_four_notations() {
        assert_eq!(code(b"65"), Some((65, 2)));
        assert_eq!(code(b"0655"), Some((65, 3)));
        assert_eq!(code(b"999"), Some((99, 2)));
        assert_eq!(code(b"o101"), Some((65, 4)));
        assert_eq!(code(b"x41x"), Some((65, 3)));
        assert_eq!(code(b"{65}x"), Some((65, 4)));
        assert_eq!(code(b"{65"), None);
        assert_eq!(code(b"x4"), None);
        assert_eq!(code(b"d"), None);
    }
}
