//! Words and arrays.

use super::{Arguments, FunctionError, Given, digits};
use crate::interp::Interp;
use crate::pattern::matches;
use crate::text::closing;

/// How a text is split into words.
struct Cut {
    /// Separator characters; all that are not letters or digits if empty.
    breaks: Vec<u8>,
    /// Additional characters of words.
    include: Vec<u8>,
    /// Which brackets and quotes group words, as a sum: 1 ", 2 {, 4 ', 8 (, 16 [, 32 <.
    mask: i64,
    /// Every separator counts, so that words may be empty.
    separate: bool,
}

impl Cut {
    fn is_break(&self, byte: u8) -> bool {
        if self.include.contains(&byte) {
            return false;
        }
        if self.breaks.is_empty() {
            return !byte.is_ascii_alphanumeric() && byte < 128;
        }
        self.breaks.contains(&byte)
    }

    /// End of a group that begins here.
    fn group(&self, text: &[u8], at: usize) -> Option<usize> {
        let bit = match text[at] {
            b'"' => 1,
            b'{' => 2,
            b'\'' => 4,
            b'(' => 8,
            b'[' => 16,
            b'<' => 32,
            _ => return None,
        };
        if self.mask & bit == 0 || self.include.contains(&text[at]) {
            return None;
        }
        match text[at] {
            quote @ (b'"' | b'\'') => {
                let end = text[at + 1..].iter().position(|b| *b == quote)?;
                Some(at + 1 + end)
            }
            b'<' => text[at..].iter().position(|b| *b == b'>').map(|end| at + end),
            _ => closing(text, at),
        }
    }

    fn words(&self, text: &[u8]) -> Vec<Vec<u8>> {
        let mut words: Vec<Vec<u8>> = Vec::new();
        let mut word = Vec::new();
        let mut begun = false;
        let mut at = 0;
        while at < text.len() {
            if !begun && let Some(end) = self.group(text, at) {
                word.extend_from_slice(&text[at + 1..end]);
                begun = true;
                at = end + 1;
                continue;
            }
            if self.is_break(text[at]) {
                if begun || self.separate {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            } else {
                word.push(text[at]);
                begun = true;
            }
            at += 1;
        }
        if begun || (self.separate && !text.is_empty()) {
            words.push(word);
        }
        words
    }
}

impl Interp<'_> {
    pub(super) fn list_function(&mut self, name: &str, a: &Arguments) -> Option<Given> {
        Some(match name {
            "word" => self.word(a),
            "split" => self.split_words(a),
            "join" => self.join(a),
            "dimension" => self.dimension(a),
            "arraylook" => self.array_look(a),
            "tablelook" => self.table_look(a),
            _ => return None,
        })
    }

    fn cut(&mut self, a: &Arguments, from: usize) -> Result<Cut, FunctionError> {
        Ok(Cut {
            breaks: a.text(from).to_vec(),
            include: if a.text(from + 1).eq_ignore_ascii_case(b"all") {
                (1..=255).filter(|b: &u8| !a.text(from).contains(b)).collect()
            } else {
                a.text(from + 1).to_vec()
            },
            mask: self.argument(a, from + 2, Some(0))?,
            separate: self.argument(a, from + 3, Some(0))? != 0,
        })
    }

    fn word(&mut self, a: &Arguments) -> Given {
        if a.is_missing(0) {
            return Ok(Vec::new());
        }
        let nth = self.argument(a, 1, Some(1))?;
        let words = self.cut(a, 2)?.words(a.text(0));
        let at = if nth < 0 { words.len() as i64 + nth } else { nth.max(1) - 1 };
        let at = usize::try_from(at).ok();
        Ok(at.and_then(|at| words.into_iter().nth(at)).unwrap_or_default())
    }

    /// The letter of `&a`, `\&a[]`.
    fn array_name(text: &[u8]) -> Result<u8, FunctionError> {
        let name = text.strip_prefix(b"\\").unwrap_or(text);
        match name {
            [b'&', letter] | [b'&', letter, b'[', ..]
                if letter.is_ascii_alphabetic() || *letter == b'_' =>
            {
                Ok(letter.to_ascii_lowercase())
            }
            [letter] if letter.is_ascii_alphabetic() => Ok(letter.to_ascii_lowercase()),
            _ => Err(FunctionError::ArgNotArray),
        }
    }

    fn cells_of(&self, letter: u8) -> Result<Vec<Option<Vec<u8>>>, FunctionError> {
        if letter == b'_' {
            let level = self.levels.last().map(|level| &level.arguments);
            return Ok(level.into_iter().flatten().cloned().map(Some).collect());
        }
        self.variables.cells(letter).map(<[_]>::to_vec).ok_or(FunctionError::ArgNotArray)
    }

    /// Fills an array with elements 1 to n.
    pub(super) fn fill_array(&mut self, name: &[u8], words: Vec<Vec<u8>>) -> Given {
        let letter = Self::array_name(name)?;
        let count = words.len();
        let cells = std::iter::once(None).chain(words.into_iter().map(Some));
        self.variables.fill(letter, cells.collect()).map_err(|_| FunctionError::TooLong)?;
        digits(count)
    }

    fn split_words(&mut self, a: &Arguments) -> Given {
        let csv = match a.text(2).to_ascii_uppercase().as_slice() {
            b"CSV" => Some(b','),
            b"TSV" => Some(b'\t'),
            _ => None,
        };
        let words = match csv {
            Some(mark) => comma_fields(a.text(0), mark),
            None => self.cut(a, 2)?.words(a.text(0)),
        };
        if a.is_missing(1) {
            return digits(words.len());
        }
        self.fill_array(a.text(1), words)
    }

    fn join(&mut self, a: &Arguments) -> Given {
        let letter = Self::array_name(a.needed(0)?)?;
        let cells = self.cells_of(letter)?;
        let mark = a.text(1).to_ascii_uppercase();
        let csv = match mark.as_slice() {
            b"CSV" => Some(b','),
            b"TSV" => Some(b'\t'),
            _ => None,
        };
        let group = self.argument(a, 2, Some(0))?;
        let no_separator = self.argument(a, 3, Some(0))? != 0;
        let mut out = Vec::new();
        let cells = cells.into_iter().skip(1).map(Option::unwrap_or_default);
        for (index, value) in cells.enumerate() {
            if index > 0 && !no_separator {
                match csv {
                    Some(mark) => out.push(mark),
                    None if a.text(1).is_empty() => out.push(b' '),
                    None => out.extend_from_slice(a.text(1)),
                }
            }
            match csv {
                Some(mark) => out.extend(comma_field(&value, mark)),
                None => out.extend(grouped(&value, group)),
            }
            if out.len() > self.limits.value {
                return Err(FunctionError::TooLong);
            }
        }
        Ok(out)
    }

    fn dimension(&mut self, a: &Arguments) -> Given {
        let letter = Self::array_name(a.needed(0)?)?;
        let count = match letter {
            b'_' => self.cells_of(letter)?.len(),
            _ => self.variables.cells(letter).map_or(0, <[_]>::len),
        };
        digits(count.saturating_sub(1))
    }

    /// Index of the first element that matches a pattern.
    fn array_look(&mut self, a: &Arguments) -> Given {
        let letter = Self::array_name(a.needed(1)?)?;
        let cells = self.cells_of(letter)?;
        let case = self.settings.case;
        let fits = |cell: &Option<Vec<u8>>| {
            cell.as_ref().is_some_and(|value| matches(a.text(0), value, case))
        };
        digits(cells.iter().position(fits).map_or(-1, |at| at as i64))
    }

    /// Index of the element with this keyword abbreviation, if unique.
    fn table_look(&mut self, a: &Arguments) -> Given {
        let letter = Self::array_name(a.needed(1)?)?;
        let cells = self.cells_of(letter)?;
        let mark = a.text(2).first().copied().unwrap_or(b':');
        let small = a.text(0).to_ascii_lowercase();
        let mut found = -1;
        for (index, cell) in cells.iter().enumerate() {
            let Some(value) = cell else { continue };
            let end = value.iter().position(|b| *b == mark).unwrap_or(value.len());
            let name = value[..end].to_ascii_lowercase();
            if name == small {
                return digits(index);
            }
            if name.starts_with(&small) {
                found = if found == -1 { index as i64 } else { -2 };
            }
        }
        digits(found)
    }
}

/// Fields of a line of comma-separated values; quotes hold commas and doubled quotes.
fn comma_fields(text: &[u8], mark: u8) -> Vec<Vec<u8>> {
    let mut fields = vec![Vec::new()];
    let mut quoted = false;
    let mut at = 0;
    while at < text.len() {
        let last = fields.last_mut().expect("there is one");
        match text[at] {
            b'"' if quoted && text.get(at + 1) == Some(&b'"') => {
                last.push(b'"');
                at += 1;
            }
            b'"' if quoted || last.is_empty() => quoted = !quoted,
            byte if byte == mark && !quoted => fields.push(Vec::new()),
            byte => last.push(byte),
        }
        at += 1;
    }
    fields
}

fn comma_field(value: &[u8], mark: u8) -> Vec<u8> {
    let plain = !value.iter().any(|b| *b == mark || *b == b'"' || *b == b' ');
    if plain {
        return value.to_vec();
    }
    let mut out = vec![b'"'];
    for byte in value {
        out.push(*byte);
        if *byte == b'"' {
            out.push(b'"');
        }
    }
    out.push(b'"');
    out
}

/// A value in the brackets selected by the mask, if it contains blanks.
fn grouped(value: &[u8], mask: i64) -> Vec<u8> {
    let pairs = [
        (1, b'"', b'"'),
        (2, b'{', b'}'),
        (4, b'\'', b'\''),
        (8, b'(', b')'),
        (16, b'[', b']'),
        (32, b'<', b'>'),
    ];
    let pair = pairs.iter().find(|(bit, ..)| mask & bit != 0);
    match pair {
        Some((_, open, close)) if value.is_empty() || value.contains(&b' ') => {
            [&[*open], value, &[*close]].concat()
        }
        _ => value.to_vec(),
    }
}
