//! What a batch consists of, and its names on the wire: no two files have the same one.
//!
//! If two files have one name, it depends on the receiver which is kept: one that overwrites keeps the last,
//! one that resumes appends the second's bytes to the first. So the second gets another name in the list, the
//! same that receivers which rename would give, and the caller reports it ([`Renamed`]).

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use wetstring_proto::Entry;

/// A file to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The source of its bytes.
    pub from: Origin,
    /// Name on the wire; `None` for its own name (see [`SendOptions::paths`](super::SendOptions::paths)).
    pub name: Option<Vec<u8>>,
    /// What is sent of it: a file's bytes, that there is a directory, or where a link leads.
    pub entry: Entry,
}

/// The source of a [`Source`]'s bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A file at this path.
    Path(PathBuf),
    /// This process's stdin, to its end. Length unknown.
    Stdin,
}

impl Source {
    /// A file, sent under its own name.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self { from: Origin::Path(path.into()), name: None, entry: Entry::File }
    }

    /// Stdin, sent under `name`.
    pub fn stdin(name: impl Into<Vec<u8>>) -> Self {
        Self { from: Origin::Stdin, name: Some(name.into()), entry: Entry::File }
    }

    /// The same, sent under `name`.
    pub fn named(mut self, name: impl Into<Vec<u8>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The same, sent as a directory or a symbolic link. Only Kermit between two Wetstrings has them.
    pub fn as_entry(self, entry: Entry) -> Self {
        Self { entry, ..self }
    }
}

/// A file of a batch that is sent under another name than its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renamed {
    /// Its index in the batch, from 0.
    pub index: usize,
    /// Its own name, which an earlier file has.
    pub own: Vec<u8>,
    /// Its name on the wire.
    pub wire: Vec<u8>,
}

/// Makes the names of a batch unique: `f`, `f.~1~`, `f.~2~`. Two names are the same if `form` maps them to the
/// same: the conversion of names by the protocol.
pub fn distinct(names: &mut [Vec<u8>], form: impl Fn(&[u8]) -> Vec<u8>) -> Vec<Renamed> {
    let forms: Vec<Vec<u8>> = names.iter().map(|name| form(name)).collect();
    // A generated name must not be that of a later file either.
    let mut taken: HashSet<Vec<u8>> = forms.iter().cloned().collect();
    let mut seen: HashMap<&[u8], u64> = HashMap::new();
    let mut renamed = Vec::new();
    for (index, (name, key)) in names.iter_mut().zip(&forms).enumerate() {
        let Some(number) = seen.get_mut(&key[..]) else {
            seen.insert(key, 0);
            continue;
        };
        let wire = loop {
            *number += 1;
            let made = [&name[..], format!(".~{number}~").as_bytes()].concat();
            if taken.insert(form(&made)) {
                break made;
            }
        };
        let own = std::mem::replace(name, wire.clone());
        renamed.push(Renamed { index, own, wire });
    }
    renamed
}
