//! Whether an offered file is accepted, and how it will get its name.

use super::{No, Placing, Receiving};
use crate::disk::Collision;
use crate::disk::digest;
use crate::disk::error::Failed;
use crate::disk::names::{MAX_LEN, NameRule, PathRule, SafeName, confine};
use crate::disk::part;
use crate::disk::place;
use crate::os::fd::OwnedFd;
use crate::os::files::WINDOWS_NAMES;
use crate::os::fs::{FileType, Mode, OFlags, Stat, fstatvfs};
use wetstring_proto::file::{DigestKind, FileInfo, FileKind, Refusal, Wish};

impl Receiving {
    /// Whether the name, and an existing file, allow it.
    pub(super) fn may_come(
        &self,
        directory: &OwnedFd,
        name: &[u8],
        existing: Option<&Stat>,
        info: &FileInfo<'_>,
    ) -> Result<(), No> {
        if existing.is_none() && info.extras.zmodem().only_if_present {
            return Err(No::Refused(Refusal::Declined, None));
        }
        if existing.is_some() && part::is_busy(directory, name) {
            return Err(No::Refused(Refusal::Exists, None));
        }
        if self.is_same(directory, name, existing, info)? {
            return Err(No::Refused(Refusal::Exists, None));
        }
        Ok(())
    }

    /// Whether the sender requests replacement only of different contents, and they do not differ.
    pub(super) fn is_same(
        &self,
        directory: &OwnedFd,
        name: &[u8],
        existing: Option<&Stat>,
        info: &FileInfo<'_>,
    ) -> Result<bool, No> {
        let asked = info.wish == Wish::DifferentCheck && info.kind == FileKind::Binary;
        let replaces = self.options.collision == Collision::Replace;
        let Some(existing) = existing.filter(|_| asked && replaces) else { return Ok(false) };
        let len = existing.st_size as u64;
        if place::kind(existing) != FileType::RegularFile || info.size.is_some_and(|s| s != len) {
            return Ok(false);
        }
        let Some(check) = info.extras.zmodem().check else { return Err(No::Unclear) };
        let failed = |error| No::Failed(Failed::new(&self.path.join(place::os(name)), error));
        let file = place::open_in(directory, name, OFlags::RDONLY, Mode::empty());
        let file = file.map_err(|error| failed(error.into()))?;
        let ours = digest::over(&file, DigestKind::Crc32, len).map_err(failed)?;
        Ok(ours[..4] == check.to_be_bytes())
    }

    /// How the file will get its name, or why it will not.
    pub(super) fn placing(
        &self,
        existing: Option<&Stat>,
        info: &FileInfo<'_>,
    ) -> Result<Placing, No> {
        Ok(match self.wanted(existing, info)? {
            Placing::Replace | Placing::Append if self.options.keeps => Placing::Rename,
            Placing::Backup if self.options.stays => Placing::Rename,
            placing => placing,
        })
    }

    /// The same by the policy alone, whatever may be replaced or put aside.
    fn wanted(&self, existing: Option<&Stat>, info: &FileInfo<'_>) -> Result<Placing, No> {
        let refuse = |why| Err(No::Refused(why, None));
        let policy = granted(self.options.collision, info.wish);
        let Some(existing) = existing else {
            // Another process may take the name in the meantime.
            let aside = policy == Collision::Backup;
            return Ok(if aside { Placing::Backup } else { Placing::Rename });
        };
        let kind = place::kind(existing);
        let plain = kind == FileType::RegularFile;
        let replaceable = plain || kind == FileType::Symlink;
        match policy {
            Collision::Rename => Ok(Placing::Rename),
            Collision::Replace if replaceable => Ok(Placing::Replace),
            Collision::Backup => Ok(Placing::Backup),
            Collision::Append if plain => Ok(Placing::Append),
            Collision::Update if plain => match info.modified {
                None => Ok(Placing::Rename),
                Some(modified) if modified > existing.st_mtime => Ok(Placing::Replace),
                Some(_) => refuse(Refusal::NotNewer),
            },
            Collision::UpdateOrLonger if plain => {
                let newer = info.modified.is_some_and(|modified| modified > existing.st_mtime);
                let longer = info.size.is_some_and(|size| size > existing.st_size as u64);
                if newer || longer { Ok(Placing::Replace) } else { refuse(Refusal::NotNewer) }
            }
            Collision::Differing if plain => {
                let same_size = info.size == Some(existing.st_size as u64);
                let same_date = info.modified == Some(existing.st_mtime);
                if same_size && same_date { refuse(Refusal::Exists) } else { Ok(Placing::Replace) }
            }
            _ => refuse(Refusal::Exists),
        }
    }
}

/// The policy after the sender's request, which may only narrow it.
fn granted(policy: Collision, wish: Wish) -> Collision {
    match (wish, policy) {
        (Wish::Protect, _) => Collision::Reject,
        (Wish::Rename, _) => Collision::Rename,
        (Wish::Newer, Collision::Replace) => Collision::Update,
        (Wish::NewerOrLonger, Collision::Replace) => Collision::UpdateOrLonger,
        (Wish::Different, Collision::Replace) => Collision::Differing,
        (Wish::Append, Collision::Replace) => Collision::Append,
        _ => policy,
    }
}

/// Whether the file system reports enough space.
pub(super) fn check_space(
    directory: &OwnedFd,
    size: Option<u64>,
    have: u64,
    placing: Placing,
) -> Result<(), No> {
    let Some(size) = size else { return Ok(()) };
    // Appending needs the file twice: temporarily, and at the end of the old one.
    let copies = if placing == Placing::Append { 2 } else { 1 };
    let need = size.saturating_sub(have).saturating_mul(copies);
    let Ok(space) = fstatvfs(directory) else { return Ok(()) };
    // Some file systems do not report it.
    if space.f_blocks > 0 && need > space.f_bavail.saturating_mul(space.f_frsize) {
        return Err(No::Refused(Refusal::NoSpace, None));
    }
    Ok(())
}

/// A name that the user has typed is used as is, if it is valid.
pub(super) fn one_component(name: Vec<u8>) -> Result<SafeName, NameRule> {
    match &name[..] {
        b"" => Err(NameRule::Empty),
        b"." | b".." => Err(NameRule::Dots),
        long if long.len() > MAX_LEN => Err(NameRule::TooLong),
        whole if whole.contains(&0) => Err(NameRule::Control),
        // What the user has typed may be no name of a file here.
        _ if WINDOWS_NAMES => confine(&name, PathRule::LastOnly).map_err(|bad| bad.0),
        _ => Ok(SafeName { directories: Vec::new(), name, rule: None }),
    }
}
