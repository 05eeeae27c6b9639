//! The tree of strings that both ends grow alike, and the matching of characters against it.

use super::{CHARACTERS, CONTROLS, FIRST_STRING, Size};

/// No entry.
const NONE: u16 = 0;

/// An entry: a string that is its parent's string and one character more.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    parent: u16,
    children: u16,
    character: u8,
    /// Characters of the string; 0 if the entry is empty.
    len: u8,
}

/// The dictionary: entries, and an index from (parent, character) to the child.
#[derive(Clone, Debug)]
pub(super) struct Dictionary {
    entries: Vec<Entry>,
    /// An open table with linear probing: entry numbers, four places for each entry.
    index: Vec<u16>,
    /// C1, the entry that is filled next.
    next: u16,
    string_len: u8,
}

impl Dictionary {
    pub(super) fn new(size: Size) -> Self {
        let count = usize::from(size.codewords());
        let mut entries = vec![Entry::default(); count];
        for (character, entry) in (0..=255u8).zip(&mut entries[usize::from(CONTROLS)..]) {
            *entry = Entry { parent: NONE, children: 0, character, len: 1 };
        }
        Self {
            entries,
            index: vec![NONE; count.next_power_of_two() * 4],
            next: FIRST_STRING,
            string_len: size.string_len(),
        }
    }

    /// Back to what [`Dictionary::new`] made.
    pub(super) fn clear(&mut self) {
        self.index.fill(NONE);
        self.entries[usize::from(FIRST_STRING)..].fill(Entry::default());
        for entry in &mut self.entries[..usize::from(FIRST_STRING)] {
            entry.children = 0;
        }
        self.next = FIRST_STRING;
    }

    /// C1, the entry that is filled next.
    pub(super) fn next(&self) -> u16 {
        self.next
    }

    /// Bytes of memory; they never change.
    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.index.len() * size_of::<u16>()
    }

    /// Where the search for a child begins.
    fn home(&self, parent: u16, character: u8) -> usize {
        let key = (u32::from(parent) << 8) | u32::from(character);
        // Fibonacci hashing: the high bits of the product are well mixed.
        let mixed = key.wrapping_mul(0x9E37_79B9);
        (mixed >> (u32::BITS - self.index.len().trailing_zeros())) as usize
    }

    /// The place of this child in the index, or the empty place where it belongs.
    fn place(&self, parent: u16, character: u8) -> usize {
        let mask = self.index.len() - 1;
        let mut place = self.home(parent, character);
        loop {
            let found = self.index[place];
            let entry = &self.entries[usize::from(found)];
            if found == NONE || (entry.parent == parent && entry.character == character) {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    /// The entry of the string of `parent` and `character`.
    pub(super) fn child(&self, parent: u16, character: u8) -> Option<u16> {
        match self.index[self.place(parent, character)] {
            NONE => None,
            child => Some(child),
        }
    }

    /// Adds that string as entry C1 unless it exists or is too long; then finds the next C1.
    pub(super) fn add(&mut self, parent: u16, character: u8) -> Option<u16> {
        let len = self.entries[usize::from(parent)].len;
        // Only a damaged codeword has an empty parent: no encoder sends a deleted entry.
        if len == 0 || len >= self.string_len {
            return None;
        }
        let place = self.place(parent, character);
        if self.index[place] != NONE {
            return None;
        }
        let added = self.next;
        self.index[place] = added;
        self.entries[usize::from(added)] = Entry { parent, children: 0, character, len: len + 1 };
        self.entries[usize::from(parent)].children += 1;
        self.advance();
        Some(added)
    }

    /// The next entry in turn that is empty, or a string without children, which is taken out.
    fn advance(&mut self) {
        let last = (self.entries.len() - 1) as u16;
        loop {
            self.next = if self.next >= last { FIRST_STRING } else { self.next + 1 };
            let Entry { len, children, .. } = self.entries[usize::from(self.next)];
            if len == 0 {
                return;
            }
            if children == 0 {
                self.remove(self.next);
                return;
            }
        }
    }

    fn remove(&mut self, leaf: u16) {
        let Entry { parent, character, .. } = self.entries[usize::from(leaf)];
        let mask = self.index.len() - 1;
        let mut hole = self.place(parent, character);
        // Entries after the hole move up, unless that would be before their home position.
        let mut place = hole;
        loop {
            place = (place + 1) & mask;
            let other = self.index[place];
            if other == NONE {
                break;
            }
            let entry = &self.entries[usize::from(other)];
            let begin = self.home(entry.parent, entry.character);
            if (place.wrapping_sub(begin) & mask) >= (place.wrapping_sub(hole) & mask) {
                self.index[hole] = other;
                hole = place;
            }
        }
        self.index[hole] = NONE;
        self.entries[usize::from(parent)].children -= 1;
        self.entries[usize::from(leaf)] = Entry::default();
    }

    /// Whether the entry has a string.
    pub(super) fn is_filled(&self, entry: u16) -> bool {
        self.entries.get(usize::from(entry)).is_some_and(|entry| entry.len > 0)
    }

    /// The length of an entry's string.
    pub(super) fn len(&self, entry: u16) -> usize {
        usize::from(self.entries[usize::from(entry)].len)
    }

    /// Writes an entry's string at the end of `into`.
    pub(super) fn string(&self, entry: u16, into: &mut Vec<u8>) {
        let begin = into.len();
        into.resize(begin + self.len(entry), 0);
        let mut at = entry;
        for byte in into[begin..].iter_mut().rev() {
            let entry = &self.entries[usize::from(at)];
            *byte = entry.character;
            at = entry.parent;
        }
    }

    /// The entry of a single character.
    pub(super) const fn single(character: u8) -> u16 {
        character as u16 + (FIRST_STRING - CHARACTERS)
    }
}

/// The string that is being matched.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Matching {
    /// Its entry.
    pub(super) string: Option<u16>,
    /// The entry that the last step made. It may not be used at once: the peer learns of it
    /// one step later.
    fresh: Option<u16>,
    /// The string was sent already (a flush, a change of mode): the next character is added to it,
    /// and begins again.
    pub(super) sent: bool,
}

impl Matching {
    /// Adds a character. If no entry continues the string with it, returns the string's entry, whose codeword is
    /// sent.
    pub(super) fn push(&mut self, dictionary: &mut Dictionary, character: u8) -> Option<u16> {
        let mut done = None;
        if let Some(string) = self.string {
            if !self.sent {
                let child = dictionary.child(string, character);
                if let Some(child) = child.filter(|child| Some(*child) != self.fresh) {
                    self.string = Some(child);
                    return None;
                }
                done = Some(string);
            }
            self.fresh = dictionary.add(string, character);
        }
        self.sent = false;
        self.string = Some(Dictionary::single(character));
        done
    }
}
