//! The files of a crate as a graph of imports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::source::{self, Path, Source};

/// A file of a crate.
pub(super) struct File<'f> {
    /// From the root of the repository.
    pub(super) path: &'f str,
    /// Its module, from the root of the crate.
    pub(super) module: Vec<String>,
    source: Source,
}

/// A crate.
pub(super) struct Crate<'f> {
    /// Its folder.
    pub(super) name: &'f str,
    pub(super) files: Vec<File<'f>>,
    modules: BTreeMap<Vec<String>, usize>,
}

/// One file takes something from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) line: usize,
}

/// How often a name may be passed on by re-exports.
const MOST_STEPS: usize = 16;

impl<'f> Crate<'f> {
    /// The crates that these files belong to.
    pub(super) fn all(files: &'f [(String, String)]) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for (path, text) in files {
            let Some((name, below)) = path.split_once("/src/") else { continue };
            let Some(stem) = below.strip_suffix(".rs") else { continue };
            let mut module: Vec<String> = stem.split('/').map(str::to_owned).collect();
            if module.last().is_some_and(|last| matches!(&last[..], "mod" | "lib" | "main")) {
                module.pop();
            }
            let file = File { path, module, source: source::read(text) };
            match found.iter_mut().find(|house| house.name == name) {
                Some(house) => house.files.push(file),
                None => found.push(Self { name, files: vec![file], modules: BTreeMap::new() }),
            }
        }
        for house in &mut found {
            let modules =
                house.files.iter().enumerate().map(|(at, file)| (file.module.clone(), at));
            house.modules = modules.collect();
        }
        found
    }

    /// Every import, in the order of the files and lines.
    pub(super) fn imports(&self) -> Vec<Import> {
        let mut found = Vec::new();
        for (from, file) in self.files.iter().enumerate() {
            for path in &file.source.paths {
                let targets = self.targets(from, path).into_iter().filter(|to| *to != from);
                found.extend(targets.map(|to| Import { from, to, line: path.line }));
            }
        }
        found
    }

    /// A path from the root of the crate, if it leads to something in it.
    fn absolute(&self, from: usize, path: &Path) -> Option<Vec<String>> {
        let mut at = self.files[from].module.clone();
        at.extend(path.inside.iter().cloned());
        let mut parts = path.parts.iter().map(String::as_str).peekable();
        match *parts.peek()? {
            "crate" => {
                at.clear();
                parts.next();
            }
            "self" => {
                parts.next();
            }
            "super" => {}
            child => {
                at.push(child.to_owned());
                // A module of this one; anything else is of another crate, or was imported.
                self.modules.get(&at)?;
                parts.next();
            }
        }
        while parts.next_if_eq(&"super").is_some() {
            at.pop();
        }
        at.extend(parts.map(str::to_owned));
        Some(at)
    }

    /// The files that a path leads to.
    fn targets(&self, from: usize, path: &Path) -> Vec<usize> {
        let Some(whole) = self.absolute(from, path) else { return Vec::new() };
        let Some(to) = self.resolve(&whole, 0) else { return Vec::new() };
        let mut found = vec![to];
        if path.name.as_deref() == Some("*") && self.modules.contains_key(&whole) {
            let exports = &self.files[to].source.paths;
            let names = exports.iter().filter_map(|export| export.name.as_ref());
            for name in names.filter(|name| self.files[from].source.words.contains(*name)) {
                found.extend(self.passed_on(to, name, 0));
            }
        }
        found
    }

    /// The file that has what a path from the root leads to.
    fn resolve(&self, whole: &[String], steps: usize) -> Option<usize> {
        let mut len = whole.len();
        while !self.modules.contains_key(&whole[..len]) {
            len = len.checked_sub(1)?;
        }
        let file = *self.modules.get(&whole[..len])?;
        let passed_on = whole.get(len).and_then(|name| self.passed_on(file, name, steps));
        Some(passed_on.unwrap_or(file))
    }

    /// The file that has what another only re-exports or imports under this name.
    fn passed_on(&self, file: usize, name: &String, steps: usize) -> Option<usize> {
        let source = &self.files[file].source;
        if steps > MOST_STEPS || source.items.contains(name) {
            return None;
        }
        let uses = || source.paths.iter().filter(|path| path.inside.is_empty());
        let named = uses().find(|path| path.name.as_ref() == Some(name));
        if let Some(path) = named {
            return self.resolve(&self.absolute(file, path)?, steps + 1);
        }
        uses().filter(|path| path.name.as_deref() == Some("*")).find_map(|path| {
            let mut whole = self.absolute(file, path)?;
            let module = *self.modules.get(&whole)?;
            if self.files[module].source.items.contains(name) {
                return Some(module);
            }
            whole.push(name.clone());
            self.passed_on(module, name, steps + 1)
        })
    }
}

/// The files that one leads to, by one import or many.
pub(super) fn reached_from(start: usize, imports: &[&Import]) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![start];
    while let Some(file) = waiting.pop() {
        let next = imports.iter().filter(|import| import.from == file).map(|import| import.to);
        waiting.extend(next.filter(|to| reached.insert(*to)));
    }
    reached
}

/// The shortest way from a file back to itself.
pub(super) fn way_back(start: usize, imports: &[&Import]) -> Option<Vec<Import>> {
    let mut came: BTreeMap<usize, Import> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(file) = waiting.pop_front() {
        for import in imports.iter().filter(|import| import.from == file) {
            if came.contains_key(&import.to) {
                continue;
            }
            came.insert(import.to, **import);
            waiting.push_back(import.to);
            if import.to == start {
                let mut way = vec![**import];
                while way[0].from != start {
                    way.insert(0, *came.get(&way[0].from)?);
                }
                return Some(way);
            }
        }
    }
    None
}
