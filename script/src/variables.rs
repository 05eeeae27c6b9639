//! Variables: \%a to \%z, macros, arrays. Names are case-insensitive.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::trouble::Trouble;

/// A variable by its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Key {
    /// \%a to \%z, by its small letter.
    Letter(u8),
    /// \%0 to \%9 of the current level.
    Argument(u8),
    /// A macro, in small letters.
    Macro(Vec<u8>),
    /// An element of an array.
    Cell(u8, i64),
    /// A whole array.
    Array(u8),
}

/// The state of a variable before LOCAL.
#[derive(Clone, Debug)]
pub(crate) enum Saved {
    /// The value, if any.
    Value(Option<Rc<[u8]>>),
    /// The elements.
    Cells(Option<Rc<Vec<Option<Vec<u8>>>>>),
}

/// All variables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    letters: [Option<Rc<[u8]>>; 26],
    macros: BTreeMap<Vec<u8>, Rc<[u8]>>,
    arrays: BTreeMap<u8, Rc<Vec<Option<Vec<u8>>>>>,
    /// Bytes of all values and names.
    used: usize,
    /// The maximum.
    pub(crate) most: usize,
}

/// Memory of an element besides its bytes.
const CELL: usize = size_of::<Option<Vec<u8>>>();

impl Variables {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    fn slot(letter: u8) -> usize {
        usize::from(letter.to_ascii_lowercase().wrapping_sub(b'a')).min(25)
    }

    fn charge(&mut self, more: usize, less: usize) -> Result<(), Trouble> {
        let used = self.used.saturating_sub(less).saturating_add(more);
        if used > self.most && more > less {
            let say = format!("variables take more than {} bytes, the limit", self.most);
            return Err(Trouble::fatal(say));
        }
        self.used = used;
        Ok(())
    }

    /// The value of \%a to \%z.
    pub(crate) fn letter(&self, letter: u8) -> Option<&Rc<[u8]>> {
        self.letters[Self::slot(letter)].as_ref()
    }

    pub(crate) fn set_letter(&mut self, letter: u8, value: Option<&[u8]>) -> Result<(), Trouble> {
        let slot = Self::slot(letter);
        let less = self.letters[slot].as_ref().map_or(0, |v| v.len());
        self.charge(value.map_or(0, <[u8]>::len), less)?;
        // A loop counter often keeps its length.
        let old = self.letters[slot].as_mut().and_then(Rc::get_mut);
        match (old, value) {
            (Some(old), Some(new)) if old.len() == new.len() => old.copy_from_slice(new),
            (_, new) => self.letters[slot] = new.map(Rc::from),
        }
        Ok(())
    }

    /// The text of a macro; `name` is in lower case.
    pub(crate) fn text(&self, name: &[u8]) -> Option<&Rc<[u8]>> {
        self.macros.get(name)
    }

    pub(crate) fn set_text(&mut self, name: Vec<u8>, value: Option<&[u8]>) -> Result<(), Trouble> {
        let cost = |len: usize| len + name.len() + 64;
        let less = self.macros.get(&name).map_or(0, |old| cost(old.len()));
        self.charge(value.map_or(0, |v| cost(v.len())), less)?;
        match value {
            Some(value) => self.macros.insert(name, Rc::from(value)),
            None => self.macros.remove(&name),
        };
        Ok(())
    }

    /// Names and texts of the macros with this prefix, sorted.
    pub(crate) fn texts<'v>(
        &'v self,
        begin: &'v [u8],
    ) -> impl Iterator<Item = (&'v Vec<u8>, &'v Rc<[u8]>)> {
        let from = std::ops::Bound::Included(begin.to_vec());
        let all = self.macros.range((from, std::ops::Bound::Unbounded));
        all.take_while(move |(name, _)| name.starts_with(begin))
    }

    /// The elements of an array.
    pub(crate) fn cells(&self, letter: u8) -> Option<&[Option<Vec<u8>>]> {
        self.arrays.get(&letter.to_ascii_lowercase()).map(|cells| cells.as_slice())
    }

    /// Letters of the declared arrays.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = u8> {
        self.arrays.keys().copied()
    }

    /// Recreates an array with elements 0 to `last`.
    pub(crate) fn declare(&mut self, letter: u8, last: i64) -> Result<(), Trouble> {
        let letter = letter.to_ascii_lowercase();
        let count = usize::try_from(last.saturating_add(1)).unwrap_or(0);
        let less = self.array_cost(letter);
        if count == 0 {
            self.charge(0, less)?;
            self.arrays.remove(&letter);
            return Ok(());
        }
        self.charge(count.saturating_mul(CELL), less)?;
        self.arrays.insert(letter, Rc::new(vec![None; count]));
        Ok(())
    }

    fn array_cost(&self, letter: u8) -> usize {
        let bytes = |cells: &Rc<Vec<Option<Vec<u8>>>>| {
            cells.iter().map(|cell| CELL + cell.as_ref().map_or(0, Vec::len)).sum()
        };
        self.arrays.get(&letter).map_or(0, bytes)
    }

    /// Fills an array from element 0.
    pub(crate) fn fill(&mut self, letter: u8, cells: Vec<Option<Vec<u8>>>) -> Result<(), Trouble> {
        let letter = letter.to_ascii_lowercase();
        let less = self.array_cost(letter);
        let more = cells.iter().map(|cell| CELL + cell.as_ref().map_or(0, Vec::len)).sum();
        self.charge(more, less)?;
        self.arrays.insert(letter, Rc::new(cells));
        Ok(())
    }

    /// Changes an element; `false` if the index does not exist.
    pub(crate) fn set_cell(
        &mut self,
        letter: u8,
        index: i64,
        value: Option<Vec<u8>>,
    ) -> Result<bool, Trouble> {
        let letter = letter.to_ascii_lowercase();
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let Some(old) = self.cells(letter).and_then(|cells| cells.get(at)) else {
            return Ok(false);
        };
        let less = old.as_ref().map_or(0, Vec::len);
        self.charge(value.as_ref().map_or(0, Vec::len), less)?;
        if let Some(cells) = self.arrays.get_mut(&letter) {
            Rc::make_mut(cells)[at] = value;
        }
        Ok(true)
    }

    /// Saves a variable, to be restored later.
    pub(crate) fn save(&mut self, key: &Key) -> Saved {
        match key {
            Key::Letter(letter) => Saved::Value(self.letters[Self::slot(*letter)].take()),
            Key::Macro(name) => Saved::Value(self.macros.remove(name)),
            Key::Array(letter) | Key::Cell(letter, _) => {
                Saved::Cells(self.arrays.remove(&letter.to_ascii_lowercase()))
            }
            Key::Argument(_) => Saved::Value(None),
        }
    }

    /// Restores a variable. Its value in between is dropped. Saved values stay charged, so nesting cannot hide
    /// them.
    pub(crate) fn restore(&mut self, key: &Key, saved: Saved) {
        match (key, saved) {
            (Key::Letter(letter), Saved::Value(value)) => {
                let slot = Self::slot(*letter);
                self.used =
                    self.used.saturating_sub(self.letters[slot].as_ref().map_or(0, |v| v.len()));
                self.letters[slot] = value;
            }
            (Key::Macro(name), Saved::Value(value)) => {
                let cost = self.macros.get(name).map_or(0, |v| v.len() + name.len() + 64);
                self.used = self.used.saturating_sub(cost);
                match value {
                    Some(value) => self.macros.insert(name.clone(), value),
                    None => self.macros.remove(name),
                };
            }
            (Key::Array(letter) | Key::Cell(letter, _), Saved::Cells(cells)) => {
                let letter = letter.to_ascii_lowercase();
                self.used = self.used.saturating_sub(self.array_cost(letter));
                match cells {
                    Some(cells) => self.arrays.insert(letter, cells),
                    None => self.arrays.remove(&letter),
                };
            }
            _ => {}
        }
    }
}
