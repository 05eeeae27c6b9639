//! The files of a case: what is sent, what stood there before, and what may be found afterwards.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::plan::{Case, Mode, State};
use crate::Dice;

/// The attribute by which the store knows its own parts.
const MARK: &str = "user.wetstring.part";

/// Directories and files of one case.
pub(super) struct Desk {
    pub(super) dir: PathBuf,
    pub(super) files: Vec<Sent>,
    /// `store.collision`.
    pub(super) policy: &'static str,
    /// The sender deletes what has arrived.
    pub(super) deletes: bool,
}

/// A file that is sent.
pub(super) struct Sent {
    pub(super) name: String,
    bytes: Vec<u8>,
    /// What had the name at the peer, and its inode.
    old: Option<(Vec<u8>, u64)>,
}

/// What stands at the receiver's end under or beside one name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Found {
    /// Nothing of it.
    Nothing,
    /// A part, by the share that it has: in percent.
    Part(u8),
    /// All of it, in a part that bears the mark.
    WholePart,
    /// All of it, in a part without the mark: it was about to get its name.
    Unnamed,
    /// The whole file under its name.
    Named,
}

impl Found {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Part(0..=4) => "part < 5 %",
            Self::Part(5..=34) => "part < 35 %",
            Self::Part(35..=69) => "part < 70 %",
            Self::Part(_) => "part < 100 %",
            Self::WholePart => "part whole",
            Self::Unnamed => "about to be named",
            Self::Named => "named",
        }
    }
}

/// What is left over beside the files.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Left {
    /// Parts of ours.
    pub(super) marked: usize,
    /// Parts that had lost the mark and not got their name.
    pub(super) unmarked: usize,
    /// Sources under a private name, about to be deleted.
    pub(super) private: usize,
}

impl Desk {
    pub(super) fn new(dir: PathBuf, case: &Case, dice: &mut Dice) -> io::Result<Self> {
        let deletes = case.mode.has_server() && dice.one_in(2);
        let policy = dice.pick(&["backup", "backup", "replace", "rename"]);
        let count = match case.state {
            State::Between => 3,
            State::Rename => 1,
            _ if case.mode == Mode::Xmodem => 1,
            _ => dice.between(1, 3),
        };
        let mut files = Vec::new();
        let sub = |name: &str| fs::create_dir_all(dir.join(name));
        sub("src").and_then(|()| sub("in")).and_then(|()| sub("dry"))?;
        for number in 0..count {
            let name = format!("f{number}.bin");
            let len = dice.between(100, 600) as usize * 1024;
            // XMODEM has no length but whole blocks.
            let len =
                if case.mode == Mode::Xmodem { len } else { len + dice.between(0, 1024) as usize };
            let bytes = content(dice, len);
            fs::write(dir.join("src").join(&name), &bytes)?;
            let mut old = None;
            if dice.one_in(2) {
                let len = dice.between(1, 300_000) as usize;
                let bytes = content(dice, len);
                let path = dir.join("in").join(&name);
                fs::write(&path, &bytes)?;
                old = Some((bytes, fs::metadata(path)?.ino()));
            }
            files.push(Sent { name, bytes, old });
        }
        Ok(Self { dir, files, policy, deletes })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The names of the files that are still to be sent.
    pub(super) fn to_send(&self) -> Vec<&str> {
        let names = self.files.iter().map(|file| file.name.as_str());
        names.filter(|name| !self.deletes || self.path("src").join(name).exists()).collect()
    }

    /// Whether another file has the name of one of them at the receiver's end.
    pub(super) fn has_old(&self) -> bool {
        self.files.iter().any(|file| file.old.is_some())
    }

    /// Bytes of all files.
    pub(super) fn total(&self) -> u64 {
        self.files.iter().map(|file| file.bytes.len() as u64).sum()
    }

    /// What stands at the receiver's end of each file.
    pub(super) fn found(&self) -> Vec<Found> {
        self.files.iter().map(|file| self.found_of(file)).collect()
    }

    fn found_of(&self, file: &Sent) -> Found {
        if self.is_whole(&file.name) {
            return Found::Named;
        }
        let parts = self.entries().into_iter().filter(|name| is_part(name, &file.name));
        let best = parts.map(|name| {
            let path = self.path("in").join(&name);
            let bytes = fs::read(&path).unwrap_or_default();
            match (bytes == file.bytes, has_mark(&path)) {
                (true, true) => Found::WholePart,
                (true, false) => Found::Unnamed,
                (false, _) => {
                    Found::Part((bytes.len() * 100 / file.bytes.len().max(1)).min(99) as u8)
                }
            }
        });
        best.max().unwrap_or(Found::Nothing)
    }

    /// Names in the receiver's directory.
    fn entries(&self) -> Vec<String> {
        names(&self.path("in"))
    }

    /// Whether the whole file stands there, under its name or as one of its numbers.
    pub(super) fn is_whole(&self, name: &str) -> bool {
        let Some(file) = self.files.iter().find(|file| file.name == name) else { return false };
        self.holds(file, &file.bytes)
    }

    pub(super) fn all_whole(&self) -> bool {
        self.files.iter().all(|file| self.holds(file, &file.bytes))
    }

    /// Whether these bytes stand under the name of a file or one of its numbers.
    fn holds(&self, file: &Sent, bytes: &[u8]) -> bool {
        let inbox = self.path("in");
        let length = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
        self.entries().iter().filter(|name| is_name(name, &file.name)).any(|name| {
            let path = inbox.join(name);
            length(&path) == bytes.len() as u64 && fs::read(path).is_ok_and(|read| read == bytes)
        })
    }

    /// The part of the first file, open; so that it can be looked at whatever it is called.
    pub(super) fn part(&self) -> Option<File> {
        File::open(self.path("in").join(format!("{}.part", self.files[0].name))).ok()
    }

    /// Whether another file than before has the name of the first file, or a number of it.
    pub(super) fn first_is_named(&self) -> bool {
        let file = &self.files[0];
        let old = file.old.as_ref().map(|(_, inode)| *inode);
        let inbox = self.path("in");
        [file.name.clone(), format!("{}.~1~", file.name)]
            .iter()
            .any(|name| fs::metadata(inbox.join(name)).is_ok_and(|meta| Some(meta.ino()) != old))
    }

    /// Everything that is not as it must be while no program runs.
    pub(super) fn judge(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let inbox = self.path("in");
        let entries = self.entries();
        for name in &entries {
            let Some(file) = self
                .files
                .iter()
                .find(|file| is_name(name, &file.name) || is_part(name, &file.name))
            else {
                wrong.push(format!("{name} is unexpected"));
                continue;
            };
            let bytes = fs::read(inbox.join(name)).unwrap_or_default();
            let known =
                bytes == file.bytes || file.old.as_ref().is_some_and(|(old, _)| bytes == *old);
            if is_name(name, &file.name) && !known {
                let len = bytes.len();
                wrong.push(format!("{name}: {len} bytes are neither the old nor the new file"));
            }
        }
        for file in &self.files {
            let old = file.old.as_ref().map(|(old, _)| old);
            let replaced = self.policy == "replace" && self.holds(file, &file.bytes);
            if old.is_some_and(|old| !replaced && !self.holds(file, old)) {
                wrong.push(format!("{}: what stood there before is gone", file.name));
            }
            let path = self.path("src").join(&file.name);
            let kept = fs::read(&path).is_ok_and(|read| read == file.bytes);
            let gone = self.deletes && !path.exists() && self.is_whole(&file.name);
            if !kept && !gone && !self.is_private(&file.bytes) {
                wrong.push(format!("{}: the source is gone", file.name));
            }
        }
        wrong
    }

    /// Whether a source stands under a private name, about to be deleted.
    fn is_private(&self, bytes: &[u8]) -> bool {
        let names = names(&self.path("src")).into_iter().filter(|name| name.starts_with(".wst-"));
        names
            .into_iter()
            .any(|name| fs::read(self.path("src").join(name)).is_ok_and(|read| read == bytes))
    }

    /// Whether somebody still writes a part.
    pub(super) fn is_busy(&self) -> bool {
        let parts = self.entries().into_iter().filter(|name| name.contains(".part"));
        let mut open = parts.filter_map(|name| File::open(self.path("in").join(name)).ok());
        open.any(|part| flock(&part, FlockOperation::NonBlockingLockExclusive).is_err())
    }

    /// What is left over.
    pub(super) fn left(&self) -> Left {
        let mut left = Left::default();
        let parts = self.entries().into_iter().filter(|name| name.contains(".part"));
        for name in parts {
            if has_mark(&self.path("in").join(name)) {
                left.marked += 1;
            } else {
                left.unmarked += 1;
            }
        }
        let private = names(&self.path("src")).into_iter();
        left.private = private.filter(|name| name.starts_with(".wst-")).count();
        left
    }

    /// Names and lengths, for a user.
    pub(super) fn listing(&self) -> String {
        let mut all = BTreeMap::new();
        for (place, name) in ["src", "in"]
            .iter()
            .flat_map(|place| names(&self.path(place)).into_iter().map(move |name| (*place, name)))
        {
            let path = self.path(place).join(&name);
            let len = fs::metadata(path).map_or(0, |meta| meta.len());
            all.insert(format!("{place}/{name}"), len);
        }
        format!("{all:?}")
    }
}

/// Noise, with runs of equal bytes in it, which Kermit compresses.
fn content(dice: &mut Dice, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 64);
    while bytes.len() < len {
        if dice.one_in(8) {
            let run = dice.between(1, 64) as usize;
            bytes.extend(std::iter::repeat_n(dice.next() as u8, run));
        } else {
            bytes.extend_from_slice(&dice.next().to_be_bytes());
        }
    }
    bytes.truncate(len);
    // The byte with which XMODEM fills its last block would be no proof of a length.
    if let Some(last) = bytes.last_mut() {
        *last |= 0x80;
    }
    bytes
}

/// `NAME`, or `NAME.~N~`.
fn is_name(found: &str, name: &str) -> bool {
    let rest = found.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with(".~") && rest.ends_with('~')))
}

/// `NAME.part`, or `NAME.part.~N~`.
fn is_part(found: &str, name: &str) -> bool {
    is_name(found, &format!("{name}.part"))
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn has_mark(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| is_marked(&file))
}

/// Whether an open file bears the mark of a part.
pub(super) fn is_marked(file: &File) -> bool {
    let mut value = [0; 256];
    rustix::fs::fgetxattr(file, MARK, &mut value[..]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::plan::End;
    use super::*;

    /// A case whose desk has something under the name of its file.
    fn desk(dir: &Path) -> Desk {
        for seed in 0.. {
            let _ = fs::remove_dir_all(dir);
            let case =
                Case { number: 0, mode: Mode::Put, end: End::Both, state: State::Rename, seed };
            let desk = Desk::new(dir.to_owned(), &case, &mut Dice(seed)).unwrap();
            if desk.has_old() && desk.policy == "backup" && !desk.deletes {
                return desk;
            }
        }
        unreachable!("one of some seeds");
    }

    #[test]
    fn what_is_lost_is_seen() {
        let dir = std::env::temp_dir().join(format!("wst-kill-desk-{}", std::process::id()));
        let desk = desk(&dir);
        let (source, inbox) = (desk.path("src").join("f0.bin"), desk.path("in").join("f0.bin"));
        let (new, old) = (fs::read(&source).unwrap(), fs::read(&inbox).unwrap());
        assert_eq!(desk.judge(), Vec::<String>::new());
        assert!(!desk.all_whole());
        // Half of it under its name, and nothing of what stood there.
        fs::write(&inbox, &new[..new.len() / 2]).unwrap();
        assert_eq!(desk.judge().len(), 2, "{:?}", desk.judge());
        fs::write(&inbox, &new).unwrap();
        assert_eq!(desk.judge().len(), 1, "{:?}", desk.judge());
        assert!(desk.all_whole());
        fs::write(inbox.with_extension("bin.~1~"), old).unwrap();
        assert_eq!(desk.judge(), Vec::<String>::new());
        fs::write(inbox.with_extension("bin.part"), &new[..9]).unwrap();
        assert_eq!(desk.judge(), Vec::<String>::new());
        assert_eq!(desk.left().unmarked, 1);
        fs::remove_file(source).unwrap();
        assert_eq!(desk.judge().len(), 1, "{:?}", desk.judge());
        fs::remove_dir_all(dir).unwrap();
    }
}
