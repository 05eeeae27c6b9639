//! The names of a batch on the wire: no two files have the same one.
//!
//! Which of two files of one name a receiver keeps is its business: one that overwrites keeps the last,
//! one that resumes continues the first with the bytes of the second. So the second gets another name
//! where the list is made, the same that receivers give which rename, and whoever makes the list says
//! so ([`Renamed`]).

use std::collections::{HashMap, HashSet};

/// A file of a batch that travels under another name than its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renamed {
    /// Its place in the batch, from 0.
    pub index: usize,
    /// Its own name, which a file before it has.
    pub own: Vec<u8>,
    /// Its name on the wire.
    pub wire: Vec<u8>,
}

/// Makes the names of a batch distinct: `f`, `f.~1~`, `f.~2~`. Two names are the same if `form` makes
/// the same of them: what the protocol does to names on their way.
pub fn distinct(names: &mut [Vec<u8>], form: impl Fn(&[u8]) -> Vec<u8>) -> Vec<Renamed> {
    let forms: Vec<Vec<u8>> = names.iter().map(|name| form(name)).collect();
    // A made name must not be that of a file which comes later either.
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
