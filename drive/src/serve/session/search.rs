//! The files that a command means, searched while they are requested.
//!
//! A directory is read in passes. Each keeps the first names after the last one of the previous pass, as many
//! as fit into a page, so that names of a directory of any size come sorted in bounded memory, and a name that
//! is deleted or added meanwhile does not affect the others.

use super::super::tree::{Place, Tree, is_pattern, matches, patterns, readings, resolve};
use super::super::tree::{unescaped, word};
use super::errors::said;
use crate::page::{PER_NAME, Page};
use crate::signals::Signals;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;

/// Maximum files of one transfer, or lines of one listing.
const MOST_FILES: usize = 100_000;
/// Maximum files of one transfer requested by several words: those need unique names.
const MOST_OF_SEVERAL: usize = 5_000;
/// Maximum names that a command may look at before its answer begins.
const MOST_LOOKED: u64 = 8_000_000;
/// Maximum depth of a walk.
const DEEPEST: usize = 64;
/// Bytes of all pages of a walk, however deep it is: the innermost has at least half of them.
const PAGES: usize = 48 * 1024;

/// What a long command checks between its steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Heed {
    /// Aborts with the session.
    pub(super) stop: Option<Signals>,
    /// Names looked at, and the maximum.
    looked: u64,
    most: Option<u64>,
}

impl Heed {
    pub(super) fn new(stop: Option<Signals>) -> Self {
        Self { stop, ..Self::default() }
    }

    /// An error if the command should stop. Matching a name against a long pattern counts as several.
    fn look(&mut self, pattern: &[u8]) -> io::Result<()> {
        self.looked += pattern.len() as u64 / 32;
        self.step()
    }

    /// An error if the command should stop.
    pub(super) fn step(&mut self) -> io::Result<()> {
        if self.stop.as_ref().is_some_and(|stop| stop.count() > 0) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.looked += 1;
        if self.most.is_some_and(|most| self.looked > most) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(())
    }
}

/// The meaning of a command's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// One name or pattern, including blanks.
    Argument,
    /// One name as in GET.
    Name,
    /// Several of these.
    List,
}

/// What to search for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) text: Vec<u8>,
    pub(super) form: Form,
    pub(super) recursive: bool,
    /// Directories are found, too.
    pub(super) directories: bool,
    /// Names that begin with a dot are matched by any wildcard.
    pub(super) dots: bool,
}

impl Asked {
    fn is_several(&self) -> bool {
        self.form == Form::List && word(&self.text).is_some_and(|(_, rest)| word(rest).is_some())
    }
}

/// A file: its place, and its name relative to the current directory.
pub(super) type Hit = (Place, Vec<u8>);

/// Whether an error means that a name does not exist; some names are invalid in object stores.
fn absent(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::NotFound | K::NotADirectory | K::InvalidInput | K::InvalidFilename)
}

pub(super) fn place(here: &[Vec<u8>], name: &[u8]) -> Result<Place, String> {
    resolve(here, name).map_err(|_| "Access denied".into())
}

/// The existing name among these; a name is literal before it is a pattern.
pub(super) fn existing<'n>(
    tree: &dyn Tree,
    here: &[Vec<u8>],
    names: &'n [Vec<u8>],
) -> Result<Option<&'n [u8]>, String> {
    for name in names {
        match tree.entry(&place(here, name)?) {
            Ok(_) => return Ok(Some(name)),
            Err(e) if absent(&e) => {}
            Err(e) => return Err(said(&e)),
        }
    }
    Ok(None)
}

/// A directory being read.
struct Level {
    /// Length of the walk's prefix before its names.
    front: usize,
    page: std::vec::IntoIter<(Vec<u8>, bool)>,
    /// The last name of the page.
    last: Option<Vec<u8>>,
    /// There is no further page.
    whole: bool,
}

impl Level {
    /// Size of the rest of its page.
    fn bytes(&self) -> usize {
        self.page.as_slice().iter().map(|(name, _)| name.len() + PER_NAME).sum()
    }

    /// Frees the second half of its page. It will be read again, after the remaining names; if there are none,
    /// after `here`, which was last.
    fn cut(&mut self, here: &[u8]) {
        let mut names: Vec<_> = std::mem::take(&mut self.page).collect();
        names.truncate(names.len() / 2);
        names.shrink_to_fit();
        self.last = Some(names.last().map_or(here, |(name, _)| name).to_vec());
        self.whole = false;
        self.page = names.into_iter();
    }
}

/// A directory, or everything below it.
struct Walk {
    at: Place,
    /// Prefix of the names in the innermost directory.
    front: Vec<u8>,
    levels: Vec<Level>,
    pattern: Vec<u8>,
    recursive: bool,
    directories: bool,
    dots: bool,
}

impl Walk {
    fn new(at: &[Vec<u8>], front: Vec<u8>, pattern: &[u8], asked: &Asked) -> Self {
        let mut walk = Self {
            at: at.to_vec(),
            front,
            levels: Vec::new(),
            pattern: pattern.to_vec(),
            recursive: asked.recursive,
            directories: asked.directories,
            dots: asked.dots,
        };
        walk.enter();
        walk
    }

    /// Begins with the directory named by `at` and `front`. Those above it leave it at least half of the
    /// memory.
    fn enter(&mut self) {
        let mut all: usize = self.levels.iter().map(Level::bytes).sum();
        // The directory of each level: the walk began this many parts below the root.
        let begun = self.at.len() - self.levels.len();
        for (depth, level) in self.levels.iter_mut().enumerate() {
            while all > PAGES / 2 && !level.page.as_slice().is_empty() {
                all -= level.bytes();
                level.cut(&self.at[begun + depth]);
                all += level.bytes();
            }
        }
        let (front, page) = (self.front.len(), Vec::new().into_iter());
        self.levels.push(Level { front, page, last: None, whole: false });
    }

    fn is_hit(&self, name: &[u8], is_directory: bool) -> bool {
        (!is_directory || self.directories) && matches(&self.pattern, name, self.dots)
    }

    fn descends(&self, name: &[u8], is_directory: bool) -> bool {
        let hidden = name.first() == Some(&b'.') && !self.dots;
        self.recursive && is_directory && !hidden && self.at.len() + 1 < DEEPEST
    }

    fn next(&mut self, tree: &dyn Tree, heed: &mut Heed) -> io::Result<Option<Hit>> {
        loop {
            let depth = self.levels.len();
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some((name, is_directory)) = level.page.next() else {
                if !level.whole {
                    self.turn(tree, heed)?;
                    continue;
                }
                self.levels.pop();
                if depth > 1 {
                    self.at.pop();
                }
                continue;
            };
            self.front.truncate(level.front);
            let full = [&self.front[..], &name].concat();
            let hit = self.is_hit(&name, is_directory).then(|| {
                let place = [&self.at[..], std::slice::from_ref(&name)].concat();
                (place, full.clone())
            });
            if self.descends(&name, is_directory) {
                self.front.extend([&name[..], b"/"].concat());
                self.at.push(name);
                self.enter();
            }
            if hit.is_some() {
                return Ok(hit);
            }
        }
    }

    /// The next page of the innermost directory.
    fn turn(&mut self, tree: &dyn Tree, heed: &mut Heed) -> io::Result<()> {
        let Some(level) = self.levels.last() else { return Ok(()) };
        let room = PAGES - self.levels.iter().map(Level::bytes).sum::<usize>().min(PAGES / 2);
        let mut page = Page::new(level.last.as_deref(), room);
        tree.names(&self.at, &mut |name, is_directory| {
            heed.look(&self.pattern)?;
            let wanted = self.is_hit(name, is_directory) || self.descends(name, is_directory);
            if wanted && page.has_place_for(name) {
                page.put(name, is_directory);
            }
            Ok(())
        })?;
        let (names, whole) = page.made();
        if let Some(level) = self.levels.last_mut() {
            level.last = names.last().map(|(name, _)| name.clone());
            level.page = names.into_iter();
            level.whole = whole;
        }
        Ok(())
    }

    /// All names of the one directory of a walk that does not descend, in any order, in one pass.
    fn each(
        &self,
        tree: &dyn Tree,
        heed: &mut Heed,
        found: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        tree.names(&self.at, &mut |name, is_directory| {
            heed.look(&self.pattern)?;
            if self.is_hit(name, is_directory) { found(name) } else { Ok(()) }
        })
    }
}

/// The files of a command, one by one.
pub(super) struct Search {
    tree: Arc<dyn Tree>,
    here: Place,
    asked: Asked,
    heed: Heed,
    /// Start of the next word.
    at: usize,
    /// Further patterns of the word, if none matched so far.
    patterns: std::vec::IntoIter<Vec<u8>>,
    hit: bool,
    one: Option<Hit>,
    walk: Option<Walk>,
}

impl Search {
    pub(super) fn new(tree: Arc<dyn Tree>, here: &[Vec<u8>], asked: Asked, heed: Heed) -> Self {
        let (here, patterns) = (here.to_vec(), Vec::new().into_iter());
        Self { tree, here, asked, heed, at: 0, patterns, hit: false, one: None, walk: None }
    }

    fn again(&self) -> Self {
        let heed = Heed { looked: 0, ..self.heed.clone() };
        Self::new(self.tree.clone(), &self.here, self.asked.clone(), heed)
    }

    /// The readings of the next word: names and patterns.
    #[allow(clippy::type_complexity)]
    fn word(&mut self) -> Option<(Vec<Vec<u8>>, Vec<Vec<u8>>)> {
        let rest = self.asked.text.get(self.at..)?;
        let (one, next) = match self.asked.form {
            Form::List => {
                let (one, rest) = word(rest)?;
                (one, self.asked.text.len() - rest.len())
            }
            _ => (rest, self.asked.text.len() + 1),
        };
        let found = if self.asked.form == Form::Argument {
            let pattern = is_pattern(one).then(|| one.to_vec());
            (vec![one.to_vec(), unescaped(one)], pattern.into_iter().collect())
        } else {
            (readings(one), patterns(one))
        };
        self.at = next;
        Some(found)
    }

    /// Advances to the next source of files; returns whether there is one.
    fn source(&mut self) -> Result<bool, String> {
        loop {
            if !self.hit
                && let Some(spec) = self.patterns.next()
            {
                let place = place(&self.here, &spec)?;
                let front = spec.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
                let Some((last, above)) = place.split_last() else { continue };
                self.walk = Some(Walk::new(above, spec[..front].to_vec(), last, &self.asked));
                return Ok(true);
            }
            let Some((names, patterns)) = self.word() else { return Ok(false) };
            self.hit = false;
            self.patterns = Vec::new().into_iter();
            let Some(spec) = existing(&*self.tree, &self.here, &names)? else {
                if patterns.is_empty() {
                    return Err("No such file or directory".into());
                }
                self.patterns = patterns.into_iter();
                continue;
            };
            let place = place(&self.here, spec)?;
            let entry = self.tree.entry(&place).map_err(|e| said(&e))?;
            let spec = spec.strip_suffix(b"/").unwrap_or(spec);
            if !entry.is_directory {
                self.one = Some((place, spec.to_vec()));
            } else if self.asked.recursive || self.asked.directories {
                let front = if place.is_empty() { Vec::new() } else { [spec, b"/"].concat() };
                self.walk = Some(Walk::new(&place, front, b"*", &self.asked));
            } else {
                continue;
            }
            return Ok(true);
        }
    }

    /// The next file; sorted within one word of the command.
    pub(super) fn next(&mut self) -> Result<Option<Hit>, String> {
        loop {
            if let Some(hit) = self.one.take() {
                return Ok(Some(hit));
            }
            if let Some(walk) = &mut self.walk {
                let hit = walk.next(&*self.tree, &mut self.heed).map_err(|e| said(&e))?;
                if hit.is_some() {
                    self.hit = true;
                    return Ok(hit);
                }
                self.walk = None;
            }
            if !self.source()? {
                return Ok(None);
            }
        }
    }

    /// Counts the files of all words, up to the maximum, and keeps none of them. `each` gets the names that
    /// files would be sent under.
    fn count(&self, each: &mut dyn FnMut(&[u8])) -> Result<usize, String> {
        let several = self.asked.is_several();
        let most = if several { MOST_OF_SEVERAL } else { MOST_FILES };
        let mut files = 0;
        let mut one = |name: &[u8]| {
            files += 1;
            each(name);
            // The reason is reported below.
            if files > most { Err(io::Error::from(io::ErrorKind::QuotaExceeded)) } else { Ok(()) }
        };
        let mut search = self.again();
        search.heed.most = Some(MOST_LOOKED);
        let over = |error: &io::Error| match error.kind() {
            io::ErrorKind::QuotaExceeded if several => {
                format!("More than {most} files for several names: request fewer at once")
            }
            io::ErrorKind::QuotaExceeded => format!("More than {most} files"),
            io::ErrorKind::FileTooLarge => "Too many names to look through".into(),
            _ => said(error),
        };
        while search.source()? {
            if let Some(hit) = search.one.take() {
                one(&sent_as(&hit, self.asked.recursive)).map_err(|e| over(&e))?;
            }
            let Some(mut walk) = search.walk.take() else { continue };
            let mut any = false;
            if self.asked.recursive {
                while let Some(hit) =
                    walk.next(&*search.tree, &mut search.heed).map_err(|e| over(&e))?
                {
                    any = true;
                    one(&sent_as(&hit, true)).map_err(|e| over(&e))?;
                }
            } else {
                let mut found = |name: &[u8]| {
                    any = true;
                    one(name)
                };
                walk.each(&*search.tree, &mut search.heed, &mut found).map_err(|e| over(&e))?;
            }
            search.hit |= any;
        }
        Ok(files)
    }

    /// Number of files, up to the maximum.
    pub(super) fn len(&self) -> Result<usize, String> {
        self.count(&mut |_| {})
    }

    /// The same, and the data that makes the names of a transfer unique.
    pub(super) fn names(&self) -> Result<(usize, Names), String> {
        let several = self.asked.is_several();
        let mut names = Names::default();
        let files = self.count(&mut |name| {
            if several {
                names.known.push(names.keys.hash_one(name));
            }
        })?;
        names.known.sort_unstable();
        names.known.dedup();
        names.known.shrink_to_fit();
        names.sent = vec![false; names.known.len()];
        Ok((files, names))
    }

    /// Whether names include directories.
    pub(super) fn is_recursive(&self) -> bool {
        self.asked.recursive
    }
}

/// The transmitted name: with directories only if requested.
pub(super) fn sent_as((place, name): &Hit, recursive: bool) -> Vec<u8> {
    if !recursive {
        return place.last().cloned().unwrap_or_default();
    }
    let up = name.starts_with(b"/") || name.split(|b| *b == b'/').any(|part| part == b"..");
    if up { place.join(&b'/') } else { name.clone() }
}

/// Makes the names of a transfer unique by their hashes: no two files have one name. Empty where one word
/// requests all, since a walk finds no name twice.
#[derive(Debug, Default)]
pub(super) struct Names {
    keys: RandomState,
    /// Hashes of the files' own names, sorted, and whether one was used.
    known: Vec<u64>,
    sent: Vec<bool>,
    made: HashSet<u64>,
}

impl Names {
    /// Another name for a file, if its own was used.
    pub(super) fn another(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        if self.known.is_empty() {
            return None;
        }
        let key = self.keys.hash_one(name);
        let first = match self.known.binary_search(&key) {
            Ok(at) => !std::mem::replace(&mut self.sent[at], true),
            // It was created since they were counted.
            Err(_) => self.made.insert(key),
        };
        if first {
            return None;
        }
        (1u64..).find_map(|number| {
            let made = [name, format!(".~{number}~").as_bytes()].concat();
            let key = self.keys.hash_one(&made[..]);
            (self.known.binary_search(&key).is_err() && self.made.insert(key)).then_some(made)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::local::LocalTree;
    use super::*;
    use std::fs;

    /// Files of all levels, with the next level's directory between their names.
    fn deep(root: &std::path::Path, levels: usize, files: usize) -> Vec<Vec<u8>> {
        let (mut here, mut front, mut before, mut behind) =
            (root.to_owned(), String::new(), Vec::new(), Vec::new());
        for _ in 0..levels {
            let mut last = Vec::new();
            for index in 0..files {
                let name = format!(
                    "{}{index:03}{}",
                    if index < files / 2 { 'a' } else { 'z' },
                    "x".repeat(200)
                );
                fs::write(here.join(&name), "").unwrap();
                let full = format!("{front}{name}").into_bytes();
                if index < files / 2 { before.push(full) } else { last.push(full) }
            }
            behind.push(last);
            here.push("m");
            front.push_str("m/");
            fs::create_dir(&here).unwrap();
        }
        before.extend(behind.into_iter().rev().flatten());
        before
    }

    #[test]
    fn a_deep_walk_is_complete_in_bounded_memory() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = deep(dir.path(), 20, 300);
        let tree = LocalTree::open(dir.path()).unwrap();
        let asked = Asked {
            text: b"*".to_vec(),
            form: Form::Argument,
            recursive: true,
            directories: false,
            dots: false,
        };
        let mut walk = Walk::new(&[], Vec::new(), b"*", &asked);
        let (mut heed, mut found, mut most) = (Heed::default(), Vec::new(), 0);
        while let Some((_, name)) = walk.next(&tree, &mut heed).unwrap() {
            most = most.max(walk.levels.iter().map(Level::bytes).sum());
            found.push(name);
        }
        assert!(found == wanted, "{} of {}", found.len(), wanted.len());
        assert!(most <= PAGES, "{most}");
        assert!(most > PAGES / 2, "{most}: expected several pages of each directory");
    }
}
