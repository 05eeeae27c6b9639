//! The names of a directory as text, sorted, produced while they are read ([`crate::page`]).

use crate::os::fd::OwnedFd;
use crate::os::files;
use crate::os::fs::{AtFlags, Dir, FileType, statat};
use crate::page::Page;
use std::io;

/// Bytes of names per page.
const PAGE: usize = 32 * 1024;

/// A directory being listed.
pub(super) struct Listing {
    directory: OwnedFd,
    /// Without lengths.
    short: bool,
    /// The last name of the page.
    last: Option<Vec<u8>>,
    /// There is no further page.
    whole: bool,
    text: Vec<u8>,
    /// Start of the page's text.
    from: u64,
}

impl Listing {
    /// Of this directory, which must be readable.
    pub(super) fn new(directory: OwnedFd, short: bool) -> io::Result<Self> {
        let mut list =
            Self { directory, short, last: None, whole: false, text: Vec::new(), from: 0 };
        list.turn()?;
        Ok(list)
    }

    /// Reads on; text before the last page is discarded. 0 is the end.
    pub(super) fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let at = offset.checked_sub(self.from).ok_or(io::ErrorKind::InvalidInput)?;
            let rest = usize::try_from(at).ok().and_then(|at| self.text.get(at..));
            let rest = rest.unwrap_or_default();
            if !rest.is_empty() || self.whole {
                let len = rest.len().min(into.len());
                into[..len].copy_from_slice(&rest[..len]);
                return Ok(len);
            }
            self.turn()?;
        }
    }

    /// The next page. Names that cannot be represented on the ARPANET are omitted, and so are hidden ones.
    fn turn(&mut self) -> io::Result<()> {
        self.from += self.text.len() as u64;
        self.text.clear();
        let last = self.last.take();
        let mut page = Page::new(last.as_deref(), PAGE);
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            let said = name.iter().all(|octet| matches!(octet, 32..=126));
            if said && !name.starts_with(b".") && page.has_place_for(name) {
                page.put(name, ());
            }
        }
        let (names, whole) = page.made();
        self.whole = whole;
        for (name, ()) in names {
            self.line(&name);
            self.last = Some(name);
        }
        Ok(())
    }

    /// A line for a file or directory; other entries are omitted, as are deleted ones.
    fn line(&mut self, name: &[u8]) {
        let Ok(stat) = statat(&self.directory, files::name(name), AtFlags::SYMLINK_NOFOLLOW) else {
            return;
        };
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => "",
            FileType::Directory => "/",
            _ => return,
        };
        let name = String::from_utf8_lossy(name);
        let line = if self.short {
            format!("{name}\n")
        } else {
            format!("{:>12} {name}{kind}\n", stat.st_size)
        };
        self.text.extend(line.into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fs::{Mode, OFlags};

    /// The whole text in pieces, and the most memory used at once.
    fn read(directory: &std::path::Path, short: bool) -> (String, usize) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let file = crate::os::fs::open(directory, flags, Mode::empty()).unwrap();
        let mut list = Listing::new(file, short).unwrap();
        let (mut text, mut most, mut piece) = (Vec::new(), 0, [0; 1000]);
        loop {
            let len = list.read(text.len() as u64, &mut piece).unwrap();
            text.extend_from_slice(&piece[..len]);
            most = most.max(list.text.capacity());
            if len == 0 {
                return (String::from_utf8(text).unwrap(), most);
            }
        }
    }

    #[test]
    fn a_large_directory_is_listed_sorted_in_bounded_memory() {
        let dir = tempfile::tempdir().unwrap();
        let name = |index| format!("f{index:05}{}", "x".repeat(100));
        for index in 0..3000 {
            std::fs::write(dir.path().join(name(index)), "12").unwrap();
        }
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join(".hidden"), "").unwrap();
        // A name, and a link, that Windows has not.
        #[cfg(unix)]
        std::fs::write(dir.path().join("not\nsaid"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let (text, most) = read(dir.path(), true);
        let wanted: Vec<String> =
            std::iter::once("d".to_owned()).chain((0..3000).map(name)).collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), wanted);
        assert!(most < 2 * PAGE, "{most}");
        let (text, _) = read(dir.path(), false);
        assert!(text.lines().next().is_some_and(|line| line.ends_with(" d/")), "{text:.60}");
        assert!(text.contains(&format!("           2 {}\n", name(2999))));
    }
}
