//! How a complete file gets its name, and what happens to an existing one.

use super::{Incoming, Numbering, Placing, copy};
use crate::disk::ReceiveOptions;
use crate::disk::source::delete_in;
use crate::disk::{part, place};
use crate::os::fd::OwnedFd;
use crate::os::fs::{FileType, Mode, OFlags, Stat, fchmod, fstat, ftruncate, mode, mode_of};
use crate::os::io::Errno;
use std::io;

/// The location of a complete file.
pub(super) struct Placed {
    /// Its name.
    pub(super) name: Vec<u8>,
    /// The new name of the previous file.
    pub(super) aside: Option<Vec<u8>>,
}

/// What is complete under its temporary name, and the name that it is to get.
#[derive(Clone, Copy)]
pub(super) struct Naming<'a> {
    pub(super) directory: &'a OwnedFd,
    pub(super) part: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) numbering: Numbering,
}

impl Naming<'_> {
    /// Puts aside a file or link at the name; anything else stays, and the file gets another name.
    pub(super) fn instead(&self) -> io::Result<Placed> {
        let Self { directory, part, name, .. } = *self;
        let mut aside = None;
        loop {
            match place::rename_new(directory, part, name) {
                Ok(()) => return Ok(Placed { name: name.to_vec(), aside }),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let kind = place::look(directory, name)?.map(|found| place::kind(&found));
            if !matches!(kind, None | Some(FileType::RegularFile | FileType::Symlink)) {
                return Ok(Placed { name: self.other_name()?, aside });
            }
            match self.number_old() {
                Ok(old) => aside = Some(old),
                // It has disappeared.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Renames the entry at the name to the next name in its style.
    fn number_old(&self) -> io::Result<Vec<u8>> {
        place::rename_free(self.directory, self.name, self.name, false)
    }

    /// Gives the file its name, or the next in its style if that is taken.
    pub(super) fn other_name(&self) -> io::Result<Vec<u8>> {
        match self.numbering {
            Numbering::Tildes => place::rename_free(self.directory, self.part, self.name, true),
            Numbering::Dot => place::rename_dot(self.directory, self.part, self.name),
        }
    }
}

impl Incoming {
    /// Whether it replaces the file of that name, and no part of it is stored.
    pub(super) fn replaces(&self) -> bool {
        matches!(self.placing, Placing::Replace | Placing::Backup) && self.map.resumed == 0
    }

    fn naming(&self) -> Naming<'_> {
        let (part, name) = (&self.part[..], &self.name[..]);
        Naming { directory: &self.directory, part, name, numbering: self.numbering }
    }

    /// Gives the complete file its name, and returns it. `proved`: the data that existed before is known to be
    /// its beginning.
    pub(super) fn place(&self, proved: bool, options: &ReceiveOptions) -> io::Result<Placed> {
        let keeps = options.keeps;
        let (directory, part, name) = (&*self.directory, &self.part[..], &self.name[..]);
        let whole_before = self.reached == self.map.resumed;
        if let Some(old) = self.continued.filter(|_| whole_before)
            && old.stands(directory, name)?
        {
            // The same bytes are there.
            self.remove_part()?;
            return Ok(Placed { name: name.to_vec(), aside: None });
        }
        let placing = match self.placing {
            // The beginning may be another file's: the replaced file must not be lost.
            Placing::Replace if self.map.resumed > 0 && !proved && options.stays => Placing::Rename,
            Placing::Replace if self.map.resumed > 0 && !proved => Placing::Backup,
            placing => placing,
        };
        if matches!(placing, Placing::Rename | Placing::Backup) {
            match place::rename_new(directory, part, name) {
                Ok(()) => {
                    self.check_at(name)?;
                    return Ok(Placed { name: name.to_vec(), aside: None });
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Something is replaced or put aside: by this file only.
        self.check_at(part)?;
        if part::is_busy(directory, name) {
            return Err(io::Error::other(
                "expected a free name, another file is received under it",
            ));
        }
        let name = match placing {
            Placing::Rename => self.naming().other_name()?,
            Placing::Replace => match place::rename_over(directory, part, name) {
                Ok(()) => name.to_vec(),
                // A directory has taken the name since.
                Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {
                    place::rename_free(directory, part, name, true)?
                }
                Err(error) => return Err(error.into()),
            },
            Placing::Backup => {
                let mut placed = self.naming().instead()?;
                self.check_at(&placed.name)?;
                // The resumed data is in the new file; the old one need not be kept.
                if let (Some(old), Some(aside)) =
                    (self.continued.filter(|_| proved && !keeps), &placed.aside)
                    && delete_in(directory, aside, &old).is_ok()
                {
                    placed.aside = None;
                }
                return Ok(placed);
            }
            Placing::Append => {
                return self.append(options).map(|name| Placed { name, aside: None });
            }
        };
        // Another process may have put a file in the part's place at the last moment.
        self.check_at(&name)?;
        Ok(Placed { name, aside: None })
    }

    /// Removes the part, which is needed no more, if another process has not replaced it.
    fn remove_part(&self) -> io::Result<()> {
        if self.has_name() {
            place::remove(&*self.directory, &self.part)?;
        }
        Ok(())
    }

    /// Appends the complete file to the one at the name. If that fails, the old one is unchanged.
    fn append(&self, options: &ReceiveOptions) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDWR;
        let to = match place::open_in(&self.directory, &self.name, flags, Mode::empty()) {
            Ok(to) => to,
            Err(Errno::NOENT) => {
                return place::rename_free(&self.directory, &self.part, &self.name, true);
            }
            Err(error) => return Err(error.into()),
        };
        let before = fstat(&to)?;
        if place::kind(&before) != FileType::RegularFile {
            return Err(io::Error::other("expected a plain file to append to"));
        }
        if before.st_nlink > 1 {
            let toll = options.toll.as_ref();
            toll.map_or(Ok(()), |toll| toll.0(before.st_size as u64))?;
            self.append_to_copy(&to, &before)?;
        } else {
            let start = before.st_size as u64;
            if let Err(error) = copy(&self.file, &to, start) {
                let _ = ftruncate(&to, start);
                return Err(error);
            }
        }
        self.remove_part()?;
        Ok(self.name.clone())
    }

    /// The file has other names (hard links), perhaps where we may not write: it stays unchanged under those,
    /// and a longer copy takes this one.
    fn append_to_copy(&self, old: &OwnedFd, before: &Stat) -> io::Result<()> {
        let (longer, part) = part::create(&self.directory, &self.name, false)?;
        let done = (|| {
            copy(old, &longer, 0)?;
            copy(&self.file, &longer, before.st_size as u64)?;
            part::unmark(&longer, false)?;
            let _ = fchmod(&longer, mode(mode_of(before) & 0o777));
            Ok(place::rename_over(&self.directory, &part, &self.name)?)
        })();
        if done.is_err() {
            let _ = place::remove(&self.directory, &part);
        }
        done
    }
}
