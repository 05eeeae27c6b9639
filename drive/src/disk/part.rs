//! `NAME.part`, the name of a file until it is complete, and how ours are told from a user's files.
//!
//! The name alone proves nothing: users and senders choose names freely. What this program creates bears a
//! mark, the extended attribute `user.wetstring.part`, whose value is the file's final name. It is removed
//! before the file gets that name. A file with another value was renamed by a user, and is theirs; so is one
//! without the attribute. Only a file with the right one is ever resumed under its name, or removed. Where the
//! file system has no attributes nothing is ever removed.
//!
//! Parts are created exclusively (`O_EXCL`, `flock`). A name that is taken by a file that is not ours, or is
//! being written, is left alone: the next is `NAME.part.~1~`.

use super::error::show;
use super::mark;
use super::pieces::Pieces;
use super::place;
use crate::os::fd::OwnedFd;
use crate::os::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat};
use crate::os::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;
use wetstring_proto::file::FileInfo;

/// Maximum numbered names that are tried.
const ATTEMPTS: u64 = 100;

/// A file that can be resumed.
pub(super) struct Found {
    pub(super) file: OwnedFd,
    pub(super) name: Vec<u8>,
    pub(super) len: u64,
    /// It bears our mark for this name.
    pub(super) ours: bool,
}

/// `NAME.part`, or `NAME.part.~N~`.
fn part_name(name: &[u8], number: u64) -> Vec<u8> {
    let first = [name, b".part"].concat();
    if number == 0 { first } else { place::numbered(&first, number) }
}

/// Creates a part exclusively; returns its name. With `sweeps` a stale part of ours in its place is removed, if
/// it is not being written.
pub(super) fn create(
    directory: &OwnedFd,
    name: &[u8],
    sweeps: bool,
) -> io::Result<(OwnedFd, Vec<u8>)> {
    for number in 0..=ATTEMPTS {
        let part = part_name(name, number);
        // The second attempt is for a stale one that has just been removed.
        for _ in 0..2 {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
            match place::open_in(directory, &part, flags, Mode::from_raw_mode(0o600)) {
                Ok(file) if is_free(&file) => {
                    // Best effort: without the mark the file is never removed by a later run.
                    let _ = mark::put(&file, name);
                    return Ok((file, part));
                }
                Ok(_) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            match open_plain(directory, &part)? {
                Some(stale) if sweeps && is_free(&stale) && mark::is(&stale, name) => {
                    place::remove(directory, &part)?;
                }
                _ => break,
            }
        }
    }
    let first = part_name(name, 0);
    let text = format!("expected a free name such as {}", show(Path::new(&place::os(&first))));
    Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
}

/// Creates a file by `fill`, which gets its name once it is complete, unless the name is taken.
pub(crate) fn whole(
    directory: &OwnedFd,
    name: &[u8],
    mode: u32,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    if place::look(directory, name)?.is_some() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let (made, part) = create(directory, name, false)?;
    let filled = made.try_clone().and_then(|copy| fill(&mut File::from(copy)));
    let done = filled.and_then(|()| {
        unmark(&made, false)?;
        let _ = crate::os::fs::fchmod(&made, crate::os::fs::mode(mode & !place::umask()));
        Ok(place::rename_new(directory, &part, name)?)
    });
    if done.is_err() {
        let _ = place::remove(directory, &part);
    }
    done
}

/// Removes stale parts of ours in the place of this part, if they are not being written.
pub(super) fn sweep(directory: &OwnedFd, name: &[u8], part: &[u8]) {
    for number in 0..=ATTEMPTS {
        let before = part_name(name, number);
        if before == part {
            return;
        }
        if let Ok(Some(stale)) = open_plain(directory, &before)
            && is_free(&stale)
            && mark::is(&stale, name)
        {
            // What cannot be removed stays; the next transfer tries again.
            let _ = place::remove(directory, &before);
        }
    }
}

/// The longest part of at most `size` bytes that `accepts` takes; the callback is told whether it has our mark. A
/// file without the mark is used only if there is none with it.
pub(super) fn find(
    directory: &OwnedFd,
    name: &[u8],
    size: Option<u64>,
    accepts: impl Fn(&OwnedFd, bool) -> bool,
) -> io::Result<Option<Found>> {
    let mut best: Option<Found> = None;
    for number in 0..=ATTEMPTS {
        let part = part_name(name, number);
        let Some(file) = open_plain(directory, &part)? else { continue };
        let ours = mark::is(&file, name);
        let size_here = fstat(&file)?.st_size as u64;
        // Where it was received in any order, only data before the first hole can be continued in order.
        let len = pieces(&file).map_or(size_here, |pieces| pieces.prefix());
        // An empty part without our mark is useless.
        let usable = (ours || (len > 0 && !mark::is_any(&file))) && accepts(&file, ours);
        let better = best.as_ref().is_none_or(|best| (ours, len) > (best.ours, best.len));
        if usable && better && size.is_none_or(|size| len <= size) && is_free(&file) {
            best = Some(Found { file, name: part, len, ours });
        }
    }
    Ok(best)
}

/// Whether a file is being received under this name: it bears our mark, and is locked.
pub(crate) fn is_busy(directory: &OwnedFd, name: &[u8]) -> bool {
    // An unreadable file is not ours.
    let file = place::open_in(directory, name, OFlags::RDONLY, Mode::empty());
    file.is_ok_and(|file| mark::is_any(&file) && !is_free(&file))
}

/// What a sender states about a file, which tells it from another of the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Sender {
    size: u64,
    modified: i64,
}

impl Sender {
    /// As far as it is sufficient.
    pub(super) fn of(info: &FileInfo<'_>) -> Option<Self> {
        Some(Self { size: info.size?, modified: info.modified? })
    }

    fn text(self) -> String {
        format!("{} {}", self.size, self.modified)
    }
}

/// Stores what the sender states about the file. Best effort: without it no part is resumed without comparison.
pub(super) fn put_sender(file: &OwnedFd, sender: Option<Sender>) {
    mark::put_sender(file, sender.map(Sender::text).as_deref());
}

/// Whether it was begun by a sender that stated the same; `None` if either did not say.
pub(super) fn is_of(file: &OwnedFd, sender: Option<Sender>) -> Option<bool> {
    Some(mark::sender(file)? == sender?.text())
}

/// The block map of a part received in any order; `None` if in order.
pub(super) fn pieces(file: &OwnedFd) -> Option<Pieces> {
    let len = fstat(file).ok()?.st_size as u64;
    mark::map(file).map(|text| Pieces::parse(&text, len))
}

/// Stores a block map. Where that is not possible a file must be received in order.
pub(super) fn put_pieces(file: &OwnedFd, pieces: &Pieces) -> io::Result<()> {
    mark::put_map(file, &pieces.text())
}

/// It is received in order from now on.
pub(super) fn take_off_pieces(file: &OwnedFd) {
    mark::take_off_map(file);
}

/// The file is complete: whatever its name becomes, it is the user's. `more`: it may bear a map, or what its sender states.
pub(super) fn unmark(file: &OwnedFd, more: bool) -> io::Result<()> {
    if more {
        mark::take_off_map(file);
        mark::put_sender(file, None);
    }
    mark::take_off(file)
}

/// It did not get its name after all.
pub(super) fn mark_again(file: &OwnedFd, name: &[u8]) {
    let _ = crate::os::fs::fchmod(file, Mode::from_raw_mode(0o600));
    let _ = mark::put(file, name);
}

/// Opens an existing plain file, without following links or blocking; `None` if it is anything else.
pub(super) fn open_plain(directory: &OwnedFd, name: &[u8]) -> io::Result<Option<OwnedFd>> {
    let file = match place::open_in(directory, name, OFlags::RDWR, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::ACCESS) => {
            return Ok(None);
        }
        // Windows opens a file for one writer: somebody is writing it, perhaps we.
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let stat = fstat(&file)?;
    let plain = place::kind(&stat) == FileType::RegularFile && stat.st_nlink == 1;
    Ok(plain.then_some(file))
}

/// Locks the file; false if another process has locked it. Where the file system has no locks it is considered
/// unlocked.
pub(super) fn is_free(file: &OwnedFd) -> bool {
    !matches!(flock(file, FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK))
}

/// Gives up the lock. To close the file is not enough: a program that another thread is just starting has it open, too,
/// until it runs.
pub(super) fn unlock(file: &OwnedFd) {
    // It goes with the file at the latest.
    let _ = flock(file, FlockOperation::Unlock);
}
