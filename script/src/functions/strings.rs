//! Text functions.

use super::{Arguments, FunctionError, Given, digits};
use crate::interp::Interp;
use crate::pattern::search;
use crate::text::{find, is_blank};

impl Interp<'_> {
    pub(super) fn string_function(&mut self, name: &str, a: &Arguments) -> Option<Given> {
        Some(match name {
            "length" => digits(a.text(0).len()),
            "upper" => Ok(a.text(0).to_ascii_uppercase()),
            "lower" => Ok(a.text(0).to_ascii_lowercase()),
            "capitalize" => Ok(capitalized(a.text(0))),
            "reverse" => Ok(a.text(0).iter().rev().copied().collect()),
            "substring" => self.substring(a),
            "left" => self.end_of(a, true),
            "right" => self.end_of(a, false),
            "index" | "rindex" | "search" | "rsearch" => self.index(name, a),
            "lpad" | "rpad" => self.pad(a, name == "lpad"),
            "repeat" => self.repeat(a),
            "trim" => Ok(trimmed(a, false, true)),
            "ltrim" => Ok(trimmed(a, true, false)),
            "squeeze" => Ok(squeezed(a.text(0))),
            "untabify" => Ok(untabified(a.text(0))),
            "replace" => self.replace(a),
            "lop" | "lopx" | "stripx" => self.lop(name, a),
            "stripn" => self.strip_count(a),
            "stripb" => Ok(strip_pair(a)),
            "span" | "break" => Ok(span(a, name == "span")),
            "verify" => digits(verify(a)),
            "count" => digits(count(a)),
            "substitute" => Ok(substitute(a)),
            "strcmp" => self.compare(a),
            "pattern" => Ok([crate::input::PATTERN_MARK, a.text(0)].concat()),
            "keywordvalue" => self.keyword_value(a),
            _ => return None,
        })
    }

    fn substring(&mut self, a: &Arguments) -> Given {
        let text = a.text(0);
        let start = self.argument(a, 1, Some(1))?;
        if start < 0 {
            return Err(FunctionError::ArgOutOfRange);
        }
        let len = self.argument(a, 2, Some(i64::MAX))?;
        let from = usize::try_from(start - 1).unwrap_or(0).min(text.len());
        let len = usize::try_from(len).unwrap_or(0);
        Ok(text[from..].iter().take(len).copied().collect())
    }

    fn end_of(&mut self, a: &Arguments, left: bool) -> Given {
        let text = a.text(0);
        let count = self.argument(a, 1, Some(i64::MAX))?;
        let count = usize::try_from(count).unwrap_or(0).min(text.len());
        Ok(if left { text[..count].to_vec() } else { text[text.len() - count..].to_vec() })
    }

    /// `index(part,text,start,occurrence)` and its variants from the right and for patterns.
    fn index(&mut self, name: &str, a: &Arguments) -> Given {
        let (part, text) = (a.needed(0)?, a.text(1));
        let right = name.starts_with('r');
        let pattern = name.ends_with("search");
        let start = self.argument(a, 2, Some(0))?;
        let occurrence = self.argument(a, 3, Some(1))?.max(1);
        let case = self.settings.case;
        let folded = |text: &[u8]| if case { text.to_vec() } else { text.to_ascii_lowercase() };
        let (part, text) = (folded(part), folded(text));
        let next = |from: usize| {
            if pattern {
                search(&part, &text, from, case).map(|(at, _)| at)
            } else {
                find(&text, &part, from)
            }
        };
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(at) = next(from) {
            places.push(at + 1);
            from = at + 1;
        }
        let start = usize::try_from(start).unwrap_or(0);
        let nth = usize::try_from(occurrence - 1).unwrap_or(0);
        let found = if right {
            // From the right, the start is the number of characters skipped at the end.
            let last = if start > 1 { text.len() + 1 - start.min(text.len()) } else { usize::MAX };
            places.iter().rev().filter(|at| **at <= last).nth(nth)
        } else {
            places.iter().filter(|at| **at >= start).nth(nth)
        };
        digits(found.copied().unwrap_or(0))
    }

    fn pad(&mut self, a: &Arguments, left: bool) -> Given {
        let text = a.text(0);
        let len = self.argument(a, 1, Some(text.len() as i64))?;
        let len = usize::try_from(len).unwrap_or(0);
        if len > self.limits.value {
            return Err(FunctionError::TooLong);
        }
        let byte = a.text(2).first().copied().unwrap_or(b' ');
        let missing = vec![byte; len.saturating_sub(text.len())];
        Ok(if left { [&missing, text].concat() } else { [text, &missing].concat() })
    }

    fn repeat(&mut self, a: &Arguments) -> Given {
        let count = usize::try_from(self.argument(a, 1, Some(1))?).unwrap_or(0);
        if a.text(0).len().saturating_mul(count) > self.limits.value {
            return Err(FunctionError::TooLong);
        }
        Ok(a.text(0).repeat(count))
    }

    /// `replace(text,old,new,occurrence,word)`
    fn replace(&mut self, a: &Arguments) -> Given {
        let (text, old, new) = (a.text(0), a.text(1), a.text(2));
        if old.is_empty() {
            return Ok(text.to_vec());
        }
        let occurrence = self.argument(a, 3, Some(0))?;
        let whole_words = self.argument(a, 4, Some(0))? != 0;
        let case = self.settings.case;
        let same = |part: &[u8]| if case { part == old } else { part.eq_ignore_ascii_case(old) };
        let mut places = Vec::new();
        let mut at = 0;
        while at + old.len() <= text.len() {
            let letter = |index: Option<usize>| {
                index.and_then(|i| text.get(i)).is_some_and(u8::is_ascii_alphanumeric)
            };
            let alone = !letter(at.checked_sub(1)) && !letter(Some(at + old.len()));
            if same(&text[at..at + old.len()]) && (!whole_words || alone) {
                places.push(at);
                at += old.len();
            } else {
                at += 1;
            }
        }
        let count = places.len() as i64;
        let only = if occurrence < 0 { count + occurrence + 1 } else { occurrence };
        let mut out = Vec::new();
        let mut from = 0;
        for (index, place) in places.into_iter().enumerate() {
            if occurrence != 0 && index as i64 + 1 != only {
                continue;
            }
            out.extend_from_slice(&text[from..place]);
            out.extend_from_slice(new);
            from = place + old.len();
            if out.len() > self.limits.value {
                return Err(FunctionError::TooLong);
            }
        }
        out.extend_from_slice(&text[from..]);
        Ok(out)
    }

    /// `lop` returns the part after the first such character, `lopx` the part after the last, `stripx` the part
    /// before the last.
    fn lop(&mut self, name: &str, a: &Arguments) -> Given {
        let text = a.text(0);
        let by_name = if name == "lop" { b"" } else { &b"."[..] };
        let mark = a.text(1).first().or(by_name.first()).copied();
        let count = self.argument(a, 2, Some(1))?;
        let Some(mark) = mark else { return Ok(text.get(1..).unwrap_or_default().to_vec()) };
        let mut places = text.iter().enumerate().filter(|(_, b)| **b == mark).map(|(at, _)| at);
        let nth = usize::try_from(count - 1).unwrap_or(0);
        Ok(match name {
            "lop" => places.nth(nth).map_or_else(|| text.to_vec(), |at| text[at + 1..].to_vec()),
            "lopx" => {
                let at = places.rev().nth(nth);
                at.map_or_else(Vec::new, |at| text[at + 1..].to_vec())
            }
            _ => {
                let at = places.rev().nth(nth);
                at.map_or_else(|| text.to_vec(), |at| text[..at].to_vec())
            }
        })
    }

    fn strip_count(&mut self, a: &Arguments) -> Given {
        let count = usize::try_from(self.argument(a, 1, Some(0))?).unwrap_or(0);
        let text = a.text(0);
        Ok(text[..text.len().saturating_sub(count)].to_vec())
    }

    fn compare(&mut self, a: &Arguments) -> Given {
        let case = self.argument(a, 2, Some(0))? != 0;
        let start = usize::try_from(self.argument(a, 3, Some(1))? - 1).unwrap_or(0);
        let len = usize::try_from(self.argument(a, 4, Some(i64::MAX))?).unwrap_or(0);
        let part = |text: &[u8]| -> Vec<u8> {
            let text = text.iter().skip(start).take(len).copied();
            if case { text.collect() } else { text.map(|b| b.to_ascii_lowercase()).collect() }
        };
        digits(part(a.text(0)).cmp(&part(a.text(1))) as i8)
    }

    /// `keyword=value` assigns a macro; returns 0 for neither, 1 for a keyword alone, 2 for both.
    fn keyword_value(&mut self, a: &Arguments) -> Given {
        let text = crate::text::trim(a.text(0));
        let marks = if a.is_missing(1) { b"=" } else { a.text(1) };
        let at = text.iter().position(|b| marks.contains(b));
        let name = crate::text::trim(&text[..at.unwrap_or(text.len())]);
        if name.is_empty() {
            return digits(-1);
        }
        let value = at.map(|at| crate::text::trim(&text[at + 1..]));
        self.keyword = name.to_vec();
        let value = value.map(crate::text::ungroup);
        let key = crate::variables::Key::Macro(crate::text::lower(name));
        self.assign(&key, value).map_err(|_| FunctionError::NameTooLong)?;
        digits(if value.is_some_and(|value| !value.is_empty()) { 2 } else { 1 })
    }
}

fn capitalized(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_ascii_lowercase();
    if let Some(first) = out.iter_mut().find(|b| b.is_ascii_alphabetic()) {
        first.make_ascii_uppercase();
    }
    out
}

fn trimmed(a: &Arguments, front: bool, back: bool) -> Vec<u8> {
    let text = a.text(0);
    let set = a.text(1);
    let strip = |b: &u8| if set.is_empty() { is_blank(*b) } else { set.contains(b) };
    let begin = if front { text.iter().position(|b| !strip(b)).unwrap_or(text.len()) } else { 0 };
    let end = text.iter().rposition(|b| !strip(b)).map_or(0, |at| at + 1);
    let end = if back { end } else { text.len() };
    text.get(begin..end).unwrap_or_default().to_vec()
}

fn squeezed(text: &[u8]) -> Vec<u8> {
    let words = text.split(|b| is_blank(*b)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}

fn untabified(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut column = 0;
    for byte in text {
        let len = match byte {
            b'\t' => 8 - column % 8,
            _ => 1,
        };
        out.extend(std::iter::repeat_n(if *byte == b'\t' { b' ' } else { *byte }, len));
        column = if *byte == b'\n' { 0 } else { column + len };
    }
    out
}

/// Removes the brackets around a text, or those given by the second argument.
fn strip_pair(a: &Arguments) -> Vec<u8> {
    let text = a.text(0);
    let pairs: &[(u8, u8)] =
        &[(b'"', b'"'), (b'\'', b'\''), (b'(', b')'), (b'[', b']'), (b'{', b'}'), (b'<', b'>')];
    let (Some(first), Some(last)) = (text.first(), text.last()) else { return Vec::new() };
    let wanted = match a.text(1) {
        [] => pairs.contains(&(*first, *last)),
        [open] => {
            let close =
                pairs.iter().find(|(left, _)| left == open).map_or(*open, |(_, right)| *right);
            first == open && *last == close
        }
        [open, close, ..] => first == open && last == close,
    };
    if wanted && text.len() > 1 { text[1..text.len() - 1].to_vec() } else { text.to_vec() }
}

/// The leading characters that are in the set, or that are not.
fn span(a: &Arguments, such: bool) -> Vec<u8> {
    let set = a.text(1);
    a.text(0).iter().take_while(|b| set.contains(b) == such).copied().collect()
}

fn verify(a: &Arguments) -> i64 {
    let start = crate::text::integer(a.text(2)).and_then(|at| usize::try_from(at).ok());
    let text = a.text(1).iter().enumerate().skip(start.unwrap_or(0));
    if a.text(0).is_empty() || a.text(1).is_empty() {
        return -1;
    }
    text.into_iter().find(|(_, b)| !a.text(0).contains(b)).map_or(0, |(at, _)| at as i64 + 1)
}

fn count(a: &Arguments) -> usize {
    let (part, text) = (a.text(0), a.text(1));
    let mut found = 0;
    let mut from = 0;
    while let Some(at) = find(text, part, from) {
        found += 1;
        from = at + 1;
    }
    found
}

/// Maps characters of the second argument to those of the third.
fn substitute(a: &Arguments) -> Vec<u8> {
    let (from, to) = (ranges(a.text(1)), ranges(a.text(2)));
    let swap = |byte: &u8| match from.iter().position(|b| b == byte) {
        Some(at) => to.get(at).copied(),
        None => Some(*byte),
    };
    a.text(0).iter().filter_map(swap).collect()
}

/// Expands `[a-z]`.
fn ranges(text: &[u8]) -> Vec<u8> {
    let [b'[', inner @ .., b']'] = text else { return text.to_vec() };
    let mut out = Vec::new();
    let mut at = 0;
    while at < inner.len() {
        if let [low, b'-', high, ..] = inner[at..] {
            out.extend(low..=high);
            at += 3;
        } else {
            out.push(inner[at]);
            at += 1;
        }
    }
    out
}
