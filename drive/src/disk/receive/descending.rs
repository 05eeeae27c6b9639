//! The directories of names. Files of one directory often follow each other, so the last one stays open.

use super::{No, Receiving};
use crate::disk::error::Failed;
use crate::disk::names::NameRule;
use crate::disk::place;
use crate::os::fd::OwnedFd;
use crate::os::fs::{Stat, fstat, mode_of};
use crate::os::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wetstring_proto::file::Refusal;

/// A directory that files go into.
pub(super) struct Directory {
    pub(super) handle: Arc<OwnedFd>,
    pub(super) path: PathBuf,
    /// Others can change it.
    pub(super) is_shared: bool,
}

/// One below the directory that is received into.
pub(super) struct Below {
    names: Vec<Vec<u8>>,
    handle: Arc<OwnedFd>,
    path: PathBuf,
}

impl Directory {
    fn of(handle: &Arc<OwnedFd>, path: &Path, stat: Option<&Stat>) -> Self {
        /// Write permission for group and others; only the owner of a file may rename it.
        const OTHERS: u32 = 0o022;
        const STICKY: u32 = 0o1000;
        let mode = stat.map(mode_of);
        let is_shared = mode.is_some_and(|mode| mode & OTHERS != 0 && mode & STICKY == 0);
        Self { handle: Arc::clone(handle), path: path.to_owned(), is_shared }
    }
}

impl Receiving {
    /// Opens the directories of a name, one by one, creating missing ones.
    pub(super) fn descend(&mut self, names: &[Vec<u8>]) -> Result<Directory, No> {
        if names.is_empty() {
            let stat = fstat(&*self.directory).ok();
            return Ok(Directory::of(&self.directory, &self.path, stat.as_ref()));
        }
        if let Some(last) = self.last.as_ref().filter(|last| last.names == names)
            && let Ok(stat) = fstat(&*last.handle)
            // It was not removed since.
            && stat.st_nlink > 0
        {
            return Ok(Directory::of(&last.handle, &last.path, Some(&stat)));
        }
        let mut path = self.path.clone();
        let failed = |path: &Path, error: io::Error| No::Failed(Failed::new(path, error));
        let mut handle = Arc::clone(&self.directory);
        for name in names {
            path.push(place::os(name));
            handle = match place::directory_in(&*handle, name) {
                Ok(next) => Arc::new(next),
                Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => {
                    return Err(No::Refused(Refusal::Name, Some(NameRule::NotADirectory)));
                }
                Err(error) => return Err(failed(&path, error.into())),
            };
        }
        let directory = Directory::of(&handle, &path, fstat(&*handle).ok().as_ref());
        self.last = Some(Below { names: names.to_vec(), handle, path });
        Ok(directory)
    }
}
