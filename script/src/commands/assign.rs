//! DEFINE, ASSIGN, EVALUATE, INCREMENT, LOCAL, DECLARE, ARRAY, SHIFT and the like.

use crate::fields::Fields;
use crate::interp::Interp;
use crate::keywords::{Found, word_of};
use crate::lines::flat;
use crate::text::{closing, integer, lossy, trim, ungroup};
use crate::trouble::{Flow, Trouble};
use crate::variables::Key;

/// Maximum elements of one array.
const MOST_ELEMENTS: i64 = 10_000_000;

impl Interp<'_> {
    /// DEFINE and ASSIGN; `by_name` evaluates the name too, `now` the text.
    pub(crate) fn define(
        &mut self,
        text: &[u8],
        by_name: bool,
        now: bool,
    ) -> Result<Flow, Trouble> {
        let mut fields = Fields::new(text);
        let missing = || Trouble::new("expected the name of a variable, got nothing");
        let word = fields.field().ok_or_else(missing)?;
        let name = if by_name { self.expand(word.text)? } else { word.text.to_vec() };
        let key = self.key(&name)?;
        self.put(&key, fields.rest(), now)
    }

    fn put(&mut self, key: &Key, text: &[u8], now: bool) -> Result<Flow, Trouble> {
        let text = flat(ungroup(text));
        let text = if now { self.expand(&text)? } else { text };
        self.assign(key, Some(&text))?;
        self.status = 0;
        Ok(Flow::Next)
    }

    /// `.name = text`, `.name := text`, `.name ::= expression`
    pub(crate) fn dot(&mut self, text: &[u8]) -> Result<Flow, Trouble> {
        let wrong = || {
            let say = "expected .name = text, .name := text or .name ::= expression";
            Trouble::new(format!("{say}, got .{}", lossy(text)))
        };
        let mut fields = Fields::new(text);
        let word = fields.field().ok_or_else(wrong)?.text;
        let (name, rest) = match split_operator(word) {
            Some(at) => (&word[..at], trim(&text[at..])),
            None => (word, fields.rest()),
        };
        let key = self.key(name)?;
        if let Some(rest) = rest.strip_prefix(b"::=") {
            let value = self.evaluated_number(ungroup(trim(rest)))?;
            self.set_number(&key, value)?;
            self.status = 0;
            return Ok(Flow::Next);
        }
        if let Some(rest) = rest.strip_prefix(b":=") {
            return self.put(&key, trim(rest), true);
        }
        let rest = rest.strip_prefix(b"=").ok_or_else(wrong)?;
        self.put(&key, trim(rest), false)
    }

    pub(crate) fn undefine(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        while let Some(word) = fields.field() {
            let key = self.key(word.text)?;
            self.assign(&key, None)?;
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn evaluate(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let missing = || Trouble::new("expected a variable and an expression, got nothing");
        let word = fields.field().ok_or_else(missing)?;
        let key = self.key(word.text)?;
        let value = self.evaluated_number(ungroup(fields.rest()))?;
        self.set_number(&key, value)?;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn increment(
        &mut self,
        fields: &mut Fields<'_>,
        sign: i64,
    ) -> Result<Flow, Trouble> {
        let missing = || Trouble::new("expected a variable, got nothing");
        let word = fields.field().ok_or_else(missing)?.text;
        let key = self.key(word)?;
        let by = if fields.is_over() { 1 } else { self.evaluated_number(ungroup(fields.rest()))? };
        let old = match &key {
            Key::Letter(letter) => {
                self.variables.letter(*letter).map_or(Some(0), |value| integer(value))
            }
            other => self.value(other).map_or(Some(0), |value| integer(&value)),
        };
        let say = || Trouble::new(format!("expected a number in {}, got other text", lossy(word)));
        let old = old.ok_or_else(say)?;
        let large = || Trouble::new(format!("{} does not fit into 64 bits", lossy(word)));
        let new = by.checked_mul(sign).and_then(|by| old.checked_add(by)).ok_or_else(large)?;
        self.set_number(&key, new)?;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn local_command(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        while let Some(word) = fields.field() {
            let key = self.key(word.text)?;
            if self.level().saved.iter().any(|(saved, _)| *saved == key) {
                self.assign(&key, None)?;
                continue;
            }
            let saved = self.variables.save(&key);
            self.level().saved.push((key, saved));
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    /// `declare \&a[n] = values`
    pub(crate) fn declare(&mut self, text: &[u8]) -> Result<Flow, Trouble> {
        let wrong = || Trouble::new(format!("expected \\&a[size], got {}", lossy(text)));
        let text = trim(text);
        let (letter, open) = match text {
            [b'\\', b'&', letter, b'[', ..] => (*letter, 3),
            [b'&', letter, b'[', ..] => (*letter, 2),
            _ => return Err(wrong()),
        };
        if !letter.is_ascii_alphabetic() {
            return Err(wrong());
        }
        let end = closing(text, open).ok_or_else(wrong)?;
        let size = self.expand(&text[open + 1..end])?;
        let mut rest = trim(&text[end + 1..]);
        if let Some(after) = rest.strip_prefix(b"=") {
            rest = trim(after);
        }
        let rest = flat(rest);
        let values = self.macro_arguments(&rest)?;
        let last = if trim(&size).is_empty() {
            i64::try_from(values.len()).unwrap_or(0)
        } else {
            self.number(&size)?
        };
        if !(0..=MOST_ELEMENTS).contains(&last) {
            return Err(Trouble::new(format!(
                "expected a size of 0 to {MOST_ELEMENTS}, got {last}"
            )));
        }
        if last == 0 {
            self.variables.declare(letter, -1)?;
        } else {
            self.variables.declare(letter, last)?;
        }
        for (index, value) in (1..=last).zip(values) {
            self.variables.set_cell(letter, index, Some(value))?;
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn undeclare(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        while let Some(word) = fields.field() {
            let letter = Self::array_letter(word.text)?;
            self.variables.declare(letter, -1)?;
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    /// The letter of `\&a[]`, `&a` or `\&a[2:5]`.
    fn array_letter(text: &[u8]) -> Result<u8, Trouble> {
        let name = text.strip_prefix(b"\\").unwrap_or(text);
        match name {
            [b'&', letter, ..] if letter.is_ascii_alphabetic() => Ok(letter.to_ascii_lowercase()),
            [letter] if letter.is_ascii_alphabetic() => Ok(letter.to_ascii_lowercase()),
            _ => {
                Err(Trouble::new(format!("expected an array such as \\&a[], got {}", lossy(text))))
            }
        }
    }

    /// First and last index of `\&a[2:5]`, or of the whole array from `from`.
    fn range(&mut self, text: &[u8], from: i64) -> Result<(u8, i64, i64), Trouble> {
        let letter = Self::array_letter(text)?;
        let count = self.variables.cells(letter).map(<[_]>::len);
        let say = || Trouble::new(format!("array {} is not declared", lossy(text)));
        let last = i64::try_from(count.ok_or_else(say)?).unwrap_or(0) - 1;
        let inside = text.iter().position(|b| *b == b'[').map(|at| &text[at + 1..]);
        let inside = inside.and_then(|text| text.strip_suffix(b"]")).unwrap_or_default();
        if trim(inside).is_empty() {
            return Ok((letter, from, last));
        }
        let at = inside.iter().position(|b| *b == b':').unwrap_or(inside.len());
        let low = self.evaluated_number(&inside[..at])?;
        let high = match inside.get(at + 1..) {
            Some(text) if !trim(text).is_empty() => self.evaluated_number(text)?,
            _ => last,
        };
        Ok((letter, low.max(0), high.min(last)))
    }

    pub(crate) fn array(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let all =
            ["clear", "copy", "declare", "resize", "set", "show", "sort", "swap", "undeclare"];
        let missing = || Trouble::new("expected an array command, got nothing");
        let word = fields.field().ok_or_else(missing)?.text;
        match word_of(&all, word) {
            Found::One("clear") => self.array_set(fields, false),
            Found::One("set") => self.array_set(fields, true),
            Found::One("copy") => self.array_copy(fields),
            Found::One("declare") => self.declare(fields.rest()),
            Found::One("undeclare") => self.undeclare(fields),
            Found::One("resize") => self.array_resize(fields),
            Found::One("show") => self.array_show(fields),
            Found::One("sort") => self.array_sort(fields),
            Found::One("swap") => self.array_swap(fields),
            _ => {
                let say = format!("expected one of {}, got {}", all.join(", "), lossy(word));
                Err(Trouble::new(say))
            }
        }
    }

    fn array_field(fields: &mut Fields<'_>) -> Result<Vec<u8>, Trouble> {
        let missing = || Trouble::new("expected an array, got nothing");
        fields.field().map(|word| word.text.to_vec()).ok_or_else(missing)
    }

    fn array_set(&mut self, fields: &mut Fields<'_>, has_value: bool) -> Result<Flow, Trouble> {
        let name = Self::array_field(fields)?;
        let (letter, low, high) = self.range(&name, 1)?;
        let value = if has_value { Some(self.expand(ungroup(fields.rest()))?) } else { None };
        for index in low..=high {
            self.variables.set_cell(letter, index, value.clone().filter(|v| !v.is_empty()))?;
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    fn array_copy(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let (from, to) = (Self::array_field(fields)?, Self::array_field(fields)?);
        let (source, low, high) = self.range(&from, 0)?;
        let target = Self::array_letter(&to)?;
        let cells = self.variables.cells(source).unwrap_or_default();
        let range = low as usize..(high + 1).max(low) as usize;
        let part = cells.get(range).unwrap_or_default().to_vec();
        let begin = match to.iter().position(|b| *b == b'[') {
            Some(_) if self.variables.cells(target).is_some() => self.range(&to, 0)?.1,
            _ => 0,
        };
        if self.variables.cells(target).is_none() {
            self.variables.fill(target, part)?;
        } else {
            for (index, value) in (begin..).zip(part) {
                self.variables.set_cell(target, index, value)?;
            }
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    fn array_resize(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let name = Self::array_field(fields)?;
        let letter = Self::array_letter(&name)?;
        let size = self.evaluated_number(fields.rest())?;
        if !(0..=MOST_ELEMENTS).contains(&size) {
            return Err(Trouble::new(format!(
                "expected a size of 0 to {MOST_ELEMENTS}, got {size}"
            )));
        }
        let mut cells = self.variables.cells(letter).unwrap_or_default().to_vec();
        self.variables.declare(letter, -1)?;
        if size > 0 {
            self.variables.declare(letter, size)?;
            cells.resize(size as usize + 1, None);
            self.variables.fill(letter, cells)?;
        }
        self.status = 0;
        Ok(Flow::Next)
    }

    fn array_show(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let name = Self::array_field(fields)?;
        let (letter, low, high) = self.range(&name, 0)?;
        let cells = self.variables.cells(letter).unwrap_or_default().to_vec();
        let mut text =
            format!("\\&{}[]: Dimension = {}\n", char::from(letter), cells.len() - 1).into_bytes();
        for (index, value) in cells.iter().enumerate() {
            let at = i64::try_from(index).unwrap_or(0);
            if let Some(value) = value.as_ref().filter(|_| (low..=high).contains(&at)) {
                text.extend_from_slice(format!("{index:3}. ").as_bytes());
                text.extend_from_slice(value);
                text.push(b'\n');
            }
        }
        self.world.say(crate::world::Screen::Output, &text);
        self.status = 0;
        Ok(Flow::Next)
    }

    fn array_sort(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let (mut reverse, mut case, mut numeric, mut key) = (false, false, false, 1);
        while let Some(word) = fields.peek().filter(|w| w.text.starts_with(b"/")) {
            fields.field();
            let text = self.expand(word.text)?.to_ascii_lowercase();
            let at = text.iter().position(|b| *b == b':').unwrap_or(text.len());
            let value = text.get(at + 1..).unwrap_or_default();
            match word_of(&["/case", "/key", "/numeric", "/reverse"], &text[..at]) {
                Found::One("/case") => case = !value.eq_ignore_ascii_case(b"off"),
                Found::One("/key") => key = self.number(value)?.max(1),
                Found::One("/numeric") => numeric = true,
                Found::One(_) => reverse = true,
                _ => {
                    let say = "expected /CASE, /KEY:n, /NUMERIC or /REVERSE";
                    return Err(Trouble::new(format!("{say}, got {}", lossy(&text))));
                }
            }
        }
        let name = Self::array_field(fields)?;
        let (letter, low, high) = self.range(&name, 1)?;
        let mut cells = self.variables.cells(letter).unwrap_or_default().to_vec();
        let skip = usize::try_from(key - 1).unwrap_or(0);
        let part = |value: &Option<Vec<u8>>| {
            let text = value.as_deref().unwrap_or_default();
            let text = text.get(skip.min(text.len())..).unwrap_or_default();
            if case { text.to_vec() } else { text.to_ascii_lowercase() }
        };
        let size = |value: &Option<Vec<u8>>| crate::text::float(&part(value)).unwrap_or(0.0);
        if low <= high
            && let Some(range) = cells.get_mut(low as usize..=high as usize)
        {
            range.sort_by(|a, b| {
                let order =
                    if numeric { size(a).total_cmp(&size(b)) } else { part(a).cmp(&part(b)) };
                if reverse { order.reverse() } else { order }
            });
        }
        self.variables.fill(letter, cells)?;
        self.status = 0;
        Ok(Flow::Next)
    }

    fn array_swap(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let (a, b) = (Self::array_field(fields)?, Self::array_field(fields)?);
        let (a, b) = (Self::array_letter(&a)?, Self::array_letter(&b)?);
        let (of_a, of_b) = (self.variables.cells(a), self.variables.cells(b));
        let (Some(of_a), Some(of_b)) = (of_a, of_b) else {
            return Err(Trouble::new("expected two declared arrays"));
        };
        let (of_a, of_b) = (of_a.to_vec(), of_b.to_vec());
        self.variables.fill(a, of_b)?;
        self.variables.fill(b, of_a)?;
        self.status = 0;
        Ok(Flow::Next)
    }

    pub(crate) fn shift(&mut self, fields: &mut Fields<'_>) -> Result<Flow, Trouble> {
        let by = if fields.is_over() { 1 } else { self.evaluated_number(fields.rest())? };
        let by = usize::try_from(by).unwrap_or(0);
        let arguments = &mut self.level().arguments;
        let end = (1 + by).min(arguments.len());
        if arguments.len() > 1 {
            arguments.drain(1..end);
        }
        self.status = 0;
        Ok(Flow::Next)
    }
}

/// Position of `=`, `:=` or `::=` in a word such as `x::=3`.
fn split_operator(word: &[u8]) -> Option<usize> {
    if word.starts_with(b"\\&") {
        let close = closing(word, 3)?;
        return (close + 1 < word.len()).then_some(close + 1);
    }
    word.iter().position(|b| *b == b'=' || *b == b':').filter(|at| *at > 0)
}
