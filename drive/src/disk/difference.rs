//! An older version of the file that is received: blocks of the new one are looked for in it, and taken from it.
//!
//! It stays open, so that another process that removes or replaces its name changes nothing. Each block is hashed again
//! when it is taken: one that has changed in between is an error.

use super::DiskStore;
use super::error::Failed;
use crate::os::fd::OwnedFd;
use crate::os::io::{Errno, pread};
use std::io;
use wetstring_proto::difference::{Block, Blocks, LEAST, MOST, Tools};
use wetstring_proto::file::{Reply, Request, StoreError};

/// Bytes of the older version in memory during the search.
const BUFFER: usize = 256 * 1024;

/// The beginning of BLAKE3: what Wetstrings call strong.
pub(super) fn strong(block: &[u8]) -> u64 {
    let hash = blake3::hash(block);
    hash.as_bytes()[..8].iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Reads as much as there is at an offset.
fn read_at(file: &OwnedFd, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < into.len() {
        match pread(file, &mut into[len..], offset + len as u64) {
            Ok(0) => break,
            Ok(got) => len += got,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(len)
}

/// The older version.
pub(super) struct Older {
    file: OwnedFd,
    size: u64,
    /// Of the new one.
    announced: u64,
    list: Option<List>,
}

struct List {
    from: u64,
    blocks: Blocks<Vec<Block>>,
}

impl Older {
    /// An open file of `size` bytes, of which one of `announced` bytes is a newer version; `None` if that is not worth a
    /// search.
    pub(super) fn new(file: OwnedFd, size: u64, announced: u64) -> Option<Self> {
        let usual = [size, announced].iter().all(|size| (LEAST..=MOST).contains(size));
        usual.then_some(Self { file, size, announced, list: None })
    }

    /// The length of the blocks; 0 if none is looked for.
    pub(super) fn block_len(&self) -> u32 {
        self.list.as_ref().map_or(0, |list| list.blocks.block_len())
    }

    pub(super) fn learn(&mut self, from: u64, block: u32, bytes: &[u8]) -> bool {
        let list = self.list.get_or_insert_with(|| {
            let most = self.announced.saturating_sub(from) / u64::from(block).max(1);
            List { from, blocks: Blocks::new(block, vec![Block::default(); most as usize]) }
        });
        (list.from, list.blocks.block_len()) == (from, block) && list.blocks.learn(bytes).is_ok()
    }

    pub(super) fn find(&mut self, first: u64, into: &mut [u8]) -> io::Result<()> {
        let list = self.list.as_mut().ok_or(io::ErrorKind::NotFound)?;
        if !list.blocks.is_searched() {
            let words = list.blocks.count().next_power_of_two();
            let file = &self.file;
            let tools = Tools {
                filter: &mut vec![0; words],
                buffer: &mut vec![0; BUFFER],
                strong,
                read: |offset: u64, into: &mut [u8]| read_at(file, offset, into),
            };
            list.blocks.search(self.size, tools)?;
        }
        list.blocks.found(usize::try_from(first).unwrap_or(usize::MAX), into);
        Ok(())
    }

    /// A block of the new file, by its offset, into `into`, which has its length. False if it was not found.
    pub(super) fn block_at(&self, offset: u64, into: &mut [u8]) -> io::Result<bool> {
        let Some(list) = &self.list else { return Ok(false) };
        let place = (offset.checked_sub(list.from))
            .filter(|rest| rest % into.len() as u64 == 0)
            .and_then(|rest| list.blocks.place((rest / into.len() as u64) as usize));
        let Some((at, hash)) = place else { return Ok(false) };
        if read_at(&self.file, at, into)? < into.len() || strong(into) != hash {
            return Err(io::Error::other("the older version of the file has changed"));
        }
        Ok(true)
    }
}

impl DiskStore {
    /// A request about an older version, or for the signatures by which one is searched.
    pub(super) fn differing(&mut self, request: Request<'_>) -> Reply<'static> {
        let done = match (request, &mut self.sending, &mut self.receiving) {
            (Request::Signatures { from, block, into }, Some(sending), _) => {
                match sending.signatures(from, block, into) {
                    Ok(Some(len)) => return Reply::Read(len),
                    Ok(None) => false,
                    Err(error) => return self.fail_current(error),
                }
            }
            (Request::Older, _, Some(receiving)) => receiving.older(),
            (Request::Learn { from, block, bytes }, _, Some(receiving)) => {
                receiving.learn(from, block, bytes)
            }
            // If it fails all is sent: that is no error to report.
            (Request::Find { first, into }, _, Some(receiving)) => {
                receiving.find(first, into).is_ok()
            }
            (Request::Copy { from, to }, _, Some(receiving)) => {
                match receiving.take_over(from, to) {
                    Copied::All => true,
                    Copied::Unknown => return Reply::Failed(StoreError::NotFound),
                    Copied::Failed(failed) => return self.fail(failed),
                }
            }
            _ => false,
        };
        if done { Reply::Done } else { Reply::Failed(StoreError::Unsupported) }
    }
}

/// What became of a copy.
pub(super) enum Copied {
    All,
    /// Not all of it was found.
    Unknown,
    Failed(Failed),
}
