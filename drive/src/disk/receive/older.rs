//! The older version of the file, by the engine's requests.

use super::Receiving;
use crate::disk::difference::{Copied, Older};
use crate::disk::error::Failed;
use crate::disk::part;
use crate::os::files;
use crate::os::fs::fstat;
use std::io;

impl Receiving {
    /// Whether the file will replace an older version that is worth a search.
    pub(in crate::disk) fn older(&mut self) -> bool {
        let Some(open) = self.current.as_mut().filter(|open| open.replaces()) else { return false };
        let Ok(Some(file)) = part::open_plain(&open.directory, &open.name) else { return false };
        let size = fstat(&file).map_or(0, |stat| stat.st_size as u64);
        let Some(announced) = open.size else { return false };
        files::read_in_order(&file);
        open.older = Older::new(file, size, announced);
        open.older.is_some()
    }

    /// More of the sender's signatures.
    pub(in crate::disk) fn learn(&mut self, from: u64, block: u32, bytes: &[u8]) -> bool {
        let older = self.current.as_mut().and_then(|open| open.older.as_mut());
        older.is_some_and(|older| older.learn(from, block, bytes))
    }

    /// Which blocks are there.
    pub(in crate::disk) fn find(&mut self, first: u64, into: &mut [u8]) -> io::Result<()> {
        let older = self.current.as_mut().and_then(|open| open.older.as_mut());
        older.ok_or(io::ErrorKind::NotFound)?.find(first, into)
    }

    /// Takes blocks from the older version.
    pub(in crate::disk) fn take_over(&mut self, from: u64, to: u64) -> Copied {
        let Some(open) = &mut self.current else { return Copied::Unknown };
        let path = open.part_path();
        let Some(older) = open.older.take() else { return Copied::Unknown };
        let len = older.block_len();
        let mut block = vec![0; len as usize];
        let mut at = from;
        let mut result = Copied::All;
        while at < to && matches!(result, Copied::All) {
            result = match older.block_at(at, &mut block) {
                Ok(false) => Copied::Unknown,
                Ok(true) => self.write(at, &block).map_or_else(Copied::Failed, |()| Copied::All),
                Err(error) => Copied::Failed(Failed::new(&path, error)),
            };
            at += u64::from(len);
        }
        if let Some(open) = &mut self.current {
            open.older = Some(older);
        }
        result
    }
}
