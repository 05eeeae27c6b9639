//! The server's interface to files, and its names.

use crate::disk::{NotDeleted, ReceiveOptions};
pub use crate::os::fd::BorrowedFd as Handle;
use std::io;
use wetstring_proto::file::Store;

/// A name below the root of a tree, part by part. No part is empty, `.` or `..`, or has a
/// separator or NUL in it.
pub type Place = Vec<Vec<u8>>;

/// An entry of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its name in its directory.
    pub name: Vec<u8>,
    /// It is a directory.
    pub is_directory: bool,
    /// Length in bytes.
    pub size: u64,
    /// Time of the last change, in seconds since 1970-01-01 00:00 UTC.
    pub modified: Option<i64>,
    /// Unix permission bits.
    pub mode: Option<u32>,
}

/// An open file.
pub trait Content: Send {
    /// Reads from a position on; 0 is the end.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
    /// Whether it has changed since it was opened, where that is known.
    fn changed(&mut self) -> bool {
        false
    }
    /// Deletes the file, unless it has changed since it was opened, or its name is another file's.
    fn delete(&mut self) -> Result<(), NotDeleted> {
        Err(NotDeleted::Stream)
    }
}

/// Space in a tree, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Free.
    pub free: u64,
    /// Total.
    pub total: u64,
}

/// Called with a name and whether it is a directory's.
pub type Found<'f> = dyn FnMut(&[u8], bool) -> io::Result<()> + 'f;

/// Called before each step of a long operation, with the bytes that it will store; an error aborts it.
pub type Step<'s> = dyn FnMut(u64) -> io::Result<()> + 's;

/// The files of a server. Several sessions use it at once.
pub trait Tree: Send + Sync {
    /// The entry at a place; the root is a directory.
    fn entry(&self, place: &[Vec<u8>]) -> io::Result<Entry>;
    /// Calls `found` with each name in a directory and whether it is a directory's, in any order, until it
    /// returns an error, which is then the result.
    fn names(&self, place: &[Vec<u8>], found: &mut Found<'_>) -> io::Result<()>;
    /// The entries of a directory, in any order. All are in memory: for small directories.
    fn list(&self, place: &[Vec<u8>]) -> io::Result<Vec<Entry>> {
        let mut names = Vec::new();
        self.names(place, &mut |name, _| {
            names.push(name.to_vec());
            Ok(())
        })?;
        let mut entries = Vec::with_capacity(names.len());
        for name in names {
            match self.entry(&[place, &[name]].concat()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                entry => entries.push(entry?),
            }
        }
        Ok(entries)
    }
    /// Opens a file to read it.
    fn open(&self, place: &[Vec<u8>]) -> io::Result<(Entry, Box<dyn Content>)>;
    /// A store that receives files into a directory.
    fn receive(
        &self,
        place: &[Vec<u8>],
        options: ReceiveOptions,
    ) -> io::Result<Box<dyn Store + Send>>;
    /// Deletes a file.
    fn remove(&self, place: &[Vec<u8>]) -> io::Result<()>;
    /// Renames a file or directory to a free name. If that takes long, `step` is called repeatedly to ask
    /// whether to continue.
    fn rename(&self, from: &[Vec<u8>], to: &[Vec<u8>], step: &mut Step<'_>) -> io::Result<()>;
    /// Copies a file to a free name, which it gets once it is complete. `step` is called for each byte first.
    fn copy(&self, from: &[Vec<u8>], to: &[Vec<u8>], step: &mut Step<'_>) -> io::Result<()>;
    /// Makes a directory.
    fn make_directory(&self, place: &[Vec<u8>]) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&self, place: &[Vec<u8>]) -> io::Result<()>;
    /// The space, where that has a meaning.
    fn room(&self) -> io::Result<Option<Room>>;
    /// The local directory that holds the whole tree, if there is one.
    fn root(&self) -> Option<Handle<'_>> {
        None
    }
}

/// The place of a name relative to a current directory. The root is `/`, and nothing is above it.
pub fn resolve(current: &[Vec<u8>], name: &[u8]) -> io::Result<Place> {
    if name.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "NUL in a name"));
    }
    let home = name.first() == Some(&b'~') && matches!(name.get(1), None | Some(b'/'));
    let (mut place, name) = match name {
        name if home => (Place::new(), &name[1..]),
        [b'/', ..] => (Place::new(), name),
        _ => (current.to_vec(), name),
    };
    for part in name.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                // In a real root, the parent of the root is itself; an error is clearer.
                if place.pop().is_none() {
                    let say = "the name leads out of the server's directory";
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, say));
                }
            }
            part => place.push(part.to_vec()),
        }
    }
    Ok(place)
}

/// A place as a client sees it.
pub fn shown(place: &[Vec<u8>]) -> Vec<u8> {
    let mut text = vec![b'/'];
    text.extend(place.join(&b'/'));
    text
}

/// Whether a name has unquoted wildcards.
pub fn is_pattern(name: &[u8]) -> bool {
    let mut quoted = false;
    name.iter().any(|byte| {
        let wild = !quoted && matches!(byte, b'*' | b'?' | b'[');
        quoted = !quoted && *byte == b'\\';
        wild
    })
}

/// Whether a name matches a pattern: `*`, `?`, `[abc]`, `[a-z]`, `[^a-z]`; a backslash quotes. A name that
/// begins with a dot is matched only by a pattern that does, unless `dots`.
pub fn matches(pattern: &[u8], name: &[u8], dots: bool) -> bool {
    if !dots && name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    // The last `*` and where its match began, for backtracking once.
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(b'?') => Some(p + 1),
            Some(b'\\') if p + 1 < pattern.len() => (pattern[p + 1] == name[n]).then_some(p + 2),
            Some(b'[') => class(&pattern[p..], name[n])
                .map_or((name[n] == b'[').then_some(p + 1), |(hit, len)| hit.then_some(p + len)),
            Some(byte) => (*byte == name[n]).then_some(p + 1),
            None => None,
        };
        match (step, star) {
            (Some(next), _) => {
                p = next;
                n += 1;
            }
            (None, Some((after, from))) => {
                star = Some((after, from + 1));
                p = after;
                n = from + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Whether a byte is in the class at the start of the pattern, and the length of the class; `None` if it does
/// not end.
fn class(pattern: &[u8], byte: u8) -> Option<(bool, usize)> {
    let inverted = matches!(pattern.get(1), Some(b'^' | b'!'));
    let from = 1 + usize::from(inverted);
    let end = from + 1 + pattern.get(from + 1..)?.iter().position(|b| *b == b']')?;
    let mut members = &pattern[from..end];
    let mut hit = false;
    while let Some((&first, rest)) = members.split_first() {
        members = if let [b'-', last, more @ ..] = rest {
            hit |= (first..=*last).contains(&byte);
            more
        } else {
            hit |= first == byte;
            rest
        };
    }
    Some((hit != inverted, end + 1))
}

/// The names in a list as in GET, as written: separated by blanks outside braces and quotes. [`readings`] says
/// what each may mean.
pub fn words(list: &[u8]) -> Vec<&[u8]> {
    let mut words = Vec::new();
    let mut rest = list;
    while let Some((first, more)) = word(rest) {
        words.push(first);
        rest = more;
    }
    words
}

/// The first name, and the rest.
pub fn word(list: &[u8]) -> Option<(&[u8], &[u8])> {
    let list = list.trim_ascii_start();
    (!list.is_empty()).then(|| list.split_at(word_len(list)))
}

/// Length of the word at the start of a list.
fn word_len(list: &[u8]) -> usize {
    // An unclosed quote is part of a name.
    if list.first() == Some(&b'"') {
        let ends = |at: usize| list[at] == b'"' && matches!(list.get(at + 1), None | Some(b' '));
        if let Some(end) = (1..list.len()).find(|at| ends(*at)) {
            return end + 1;
        }
    }
    let (mut depth, mut quoted) = (0u32, false);
    for (at, byte) in list.iter().enumerate() {
        match byte {
            _ if std::mem::take(&mut quoted) => {}
            b'\\' => quoted = true,
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 => return at,
            _ => {}
        }
    }
    // The same for a brace.
    match list.iter().position(|byte| *byte == b' ') {
        Some(blank) if depth > 0 => blank,
        _ => list.len(),
    }
}

/// Without one pair of braces or quotes around the whole.
pub fn ungrouped(name: &[u8]) -> &[u8] {
    match name {
        [b'"', inner @ .., b'"'] => inner,
        [b'{', inner @ .., b'}'] if closes_last(name) => inner,
        _ => name,
    }
}

/// Whether the brace at the start closes at the end, and not before.
fn closes_last(name: &[u8]) -> bool {
    let (mut depth, mut quoted) = (0u32, false);
    for (at, byte) in name.iter().enumerate() {
        match byte {
            _ if std::mem::take(&mut quoted) => {}
            b'\\' => quoted = true,
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1 == name.len(),
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Without the backslashes that quote special characters in lists and patterns; before a letter a backslash is
/// part of the name.
pub fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name.iter().copied();
    while let Some(byte) = rest.next() {
        let special = |next: &u8| b" {}[]*?\"\\".contains(next);
        match rest.clone().next() {
            Some(next) if byte == b'\\' && special(&next) => out.extend(rest.next()),
            _ => out.push(byte),
        }
    }
    out
}

/// The names that a word of a list may be, most likely first: literal; ungrouped; unquoted; without braces in
/// the middle, as in `dir/{a b}`.
pub fn readings(word: &[u8]) -> Vec<Vec<u8>> {
    let inner = ungrouped(word);
    distinct([word.to_vec(), inner.to_vec(), unescaped(inner), unescaped(&unbraced(inner))])
}

/// The patterns it may be. Quotes stay: they may quote a wildcard.
pub fn patterns(word: &[u8]) -> Vec<Vec<u8>> {
    let inner = ungrouped(word);
    let mut all = distinct([word.to_vec(), inner.to_vec(), unbraced(inner)]);
    all.retain(|pattern| is_pattern(pattern));
    all
}

fn distinct<const N: usize>(names: [Vec<u8>; N]) -> Vec<Vec<u8>> {
    let mut all = Vec::with_capacity(N);
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// Without unquoted braces.
fn unbraced(name: &[u8]) -> Vec<u8> {
    let mut quoted = false;
    let keep = |byte: &&u8| {
        let brace = !quoted && matches!(byte, b'{' | b'}');
        quoted = !quoted && **byte == b'\\';
        !brace
    };
    name.iter().filter(keep).copied().collect()
}
