//! What exists of a file, and whether it may be resumed.

use super::copying::copy;
use super::{No, Placing, Receiving};
use crate::disk::part::{self, Sender};
use crate::disk::source::Opened;
use crate::disk::{Collision, Resume, place};
use crate::os::fd::OwnedFd;
use crate::os::fs::fstat;
use std::io;
use wetstring_proto::file::{FileInfo, FileKind, Wish};

/// A file to resume.
pub(super) struct Kept {
    pub(super) file: OwnedFd,
    pub(super) name: Vec<u8>,
    pub(super) len: u64,
    /// It does not bear our mark: a copy of it is continued.
    pub(super) theirs: bool,
    /// It has the name of the incoming file.
    pub(super) continued: Option<Opened>,
}

impl Receiving {
    /// How the file will get its name, and what exists of it.
    pub(super) fn begun(
        &self,
        directory: &OwnedFd,
        name: &[u8],
        existing: Option<&crate::os::fs::Stat>,
        info: &FileInfo<'_>,
        failed: &dyn Fn(io::Error) -> No,
    ) -> Result<(Placing, Option<Kept>), No> {
        let placing = match self.placing(existing, info) {
            Ok(placing) => placing,
            // Data known to be the beginning of a file is in the complete one, and not lost with its name.
            Err(refused) => {
                let rejects = self.options.collision == Collision::Reject;
                if !rejects || self.options.keeps || !info.compared || info.wish == Wish::Protect {
                    return Err(refused);
                }
                let kept = self.resumable(directory, name, info, true).map_err(failed)?;
                let kept = kept.filter(|kept| kept.continued.is_some()).ok_or(refused)?;
                return Ok((Placing::Backup, Some(kept)));
            }
        };
        // Data appended to another file does not begin with it.
        let may_begin = placing != Placing::Append;
        Ok((placing, self.resumable(directory, name, info, may_begin).map_err(failed)?))
    }

    /// What can be resumed, if the sender offers it and the options allow it.
    fn resumable(
        &self,
        directory: &OwnedFd,
        name: &[u8],
        info: &FileInfo<'_>,
        may_begin: bool,
    ) -> io::Result<Option<Kept>> {
        let resume = self.options.resume;
        // Offsets in a text file differ between the ends.
        if !info.resume || info.kind == FileKind::Text || resume == Resume::Never {
            return Ok(None);
        }
        let (checked, sender) = (info.compared || info.proved, Sender::of(info));
        let anything = match resume {
            Resume::Existing => true,
            Resume::Compared => checked,
            _ => false,
        };
        let usable = |part: &OwnedFd, ours: bool| {
            // Without comparison, a part of another file would produce a mixture. A digest of the whole file would show that,
            // but only once all of the rest has been sent for nothing.
            let same = part::is_of(part, sender);
            if same == Some(false) && !info.compared && (info.proved || !anything) {
                false
            } else if ours {
                checked || anything || same == Some(true)
            } else {
                // A file that is not ours may be anything, unless it is compared.
                info.compared || anything
            }
        };
        if let Some(found) = part::find(directory, name, info.size, usable)? {
            let part::Found { file, name, len, ours } = found;
            return Ok(Some(Kept { file, name, len, theirs: !ours, continued: None }));
        }
        if !anything || !may_begin {
            return Ok(None);
        }
        let Some(file) = part::open_plain(directory, name)? else { return Ok(None) };
        let stat = fstat(&file)?;
        let (len, continued) = (stat.st_size as u64, Some(Opened::plain(&stat)));
        let usable = len > 0 && info.size.is_none_or(|size| len <= size) && part::is_free(&file);
        let name = name.to_vec();
        Ok(usable.then_some(Kept { file, name, len, theirs: true, continued }))
    }
}

/// A part of ours with the contents of another file.
pub(super) fn taken_over(
    directory: &OwnedFd,
    name: &[u8],
    from: &OwnedFd,
) -> io::Result<(OwnedFd, Vec<u8>)> {
    let (file, part) = part::create(directory, name, true)?;
    if let Err(error) = copy(from, &file, 0) {
        let _ = place::remove(directory, &part);
        return Err(error);
    }
    Ok((file, part))
}
