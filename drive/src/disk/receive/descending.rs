//! The directories of names. Files of one directory often follow each other, so the last ones stay open.

use super::{No, Receiving};
use crate::disk::error::Failed;
use crate::disk::names::NameRule;
use crate::disk::place;
use crate::os::fd::OwnedFd;
use crate::os::files;
use crate::os::fs::{Stat, fstat, mode_of};
use crate::os::io::Errno;
use std::path::PathBuf;
use std::sync::Arc;
use wetstring_proto::file::Refusal;

/// A directory that files go into.
pub(super) struct Directory {
    pub(super) handle: Arc<OwnedFd>,
    pub(super) path: PathBuf,
    /// Others can change it.
    pub(super) is_shared: bool,
}

/// A directory on the way to the last one.
pub(super) struct Level {
    name: Vec<u8>,
    handle: Arc<OwnedFd>,
    /// Its device and inode.
    identity: Stat,
}

impl Level {
    /// What is at its name now, if that is still this directory.
    fn there(&self, above: &OwnedFd, name: &[u8]) -> Option<Stat> {
        let there = place::look(above, name).ok()??;
        let same = (there.st_dev, there.st_ino) == (self.identity.st_dev, self.identity.st_ino);
        (self.name == name && same).then_some(there)
    }
}

/// Whether others can change a directory.
fn is_shared(stat: &Stat) -> bool {
    /// Write permission for group and others; only the owner of a file may rename it.
    const OTHERS: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let mode = mode_of(stat);
    mode & OTHERS != 0 && mode & STICKY == 0
}

impl Receiving {
    /// Opens the directories of a name, one by one, creating missing ones. Those of the last name are open, and are
    /// looked at again: they may have been moved, removed or replaced by a link.
    pub(super) fn descend(&mut self, names: &[Vec<u8>]) -> Result<Directory, No> {
        let mut handle = Arc::clone(&self.directory);
        let mut stat = None;
        let mut kept = 0;
        for (level, name) in self.levels.iter().zip(names) {
            let Some(there) = level.there(&handle, name) else { break };
            stat = Some(there);
            handle = Arc::clone(&level.handle);
            kept += 1;
        }
        self.levels.truncate(kept);
        let mut path = self.path.clone();
        path.extend(names[..kept].iter().map(|name| place::os(name)));
        for name in &names[kept..] {
            path.push(place::os(name));
            let failed = |error: Errno| No::Failed(Failed::new(&path, error));
            handle = match place::directory_in(&*handle, name) {
                Ok(next) => Arc::new(next),
                Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => {
                    return Err(No::Refused(Refusal::Name, Some(NameRule::NotADirectory)));
                }
                Err(error) => return Err(failed(error)),
            };
            let identity = fstat(&*handle).map_err(failed)?;
            stat = Some(identity);
            self.levels.push(Level { name: name.clone(), handle: Arc::clone(&handle), identity });
        }
        if files::OPEN_DIRECTORIES_ARE_FIXED {
            self.levels.clear();
        }
        let stat = stat.or_else(|| fstat(&*handle).ok());
        Ok(Directory { handle, path, is_shared: stat.as_ref().is_some_and(is_shared) })
    }
}
