//! An older version of a file, in memory.

use std::sync::Arc;
use wetstring_proto::difference::{self, Block, Blocks, Tools, read_from};
use wetstring_proto::file::{Reply, StoreError};
use xxhash_rust::xxh3::xxh3_64;

/// The signatures of the blocks from `from` on, as many as fit; how many bytes. Their strong hash need not be that of a disk:
/// both ends are here.
pub(super) fn sign(bytes: &[u8], from: u64, block: u32, into: &mut [u8]) -> usize {
    difference::sign(bytes, from, block, xxh3_64, into)
}

/// The older version, and what is looked for in it.
#[derive(Clone, Debug)]
pub(super) struct Older {
    bytes: Arc<[u8]>,
    list: Option<(u64, Blocks<Vec<Block>>)>,
}

impl Older {
    pub(super) fn new(bytes: Arc<[u8]>) -> Self {
        Self { bytes, list: None }
    }

    /// More signatures of the new version, which has `size` bytes.
    pub(super) fn learn(
        &mut self,
        size: u64,
        from: u64,
        block: u32,
        bytes: &[u8],
    ) -> Reply<'static> {
        let most = size.saturating_sub(from) / u64::from(block).max(1);
        let new = || (from, Blocks::new(block, vec![Block::default(); most as usize]));
        match self.list.get_or_insert_with(new).1.learn(bytes) {
            Ok(()) => Reply::Done,
            Err(_) => Reply::Failed(StoreError::Unsupported),
        }
    }

    pub(super) fn find(&mut self, first: u64, into: &mut [u8]) -> Reply<'static> {
        let Some((_, blocks)) = &mut self.list else { return Reply::Failed(StoreError::NotFound) };
        if !blocks.is_searched() {
            let mut filter = vec![0; blocks.count().next_power_of_two()];
            let mut buffer = vec![0; 4 * blocks.block_len() as usize];
            let read = read_from(&self.bytes);
            let tools = Tools { filter: &mut filter, buffer: &mut buffer, strong: xxh3_64, read };
            let Ok(()) = blocks.search(self.bytes.len() as u64, tools);
        }
        blocks.found(usize::try_from(first).unwrap_or(usize::MAX), into);
        Reply::Done
    }

    /// The bytes from `from` to `to` of the new version, if all of their blocks were found.
    pub(super) fn copy(&self, from: u64, to: u64) -> Option<Vec<u8>> {
        let (first, blocks) = self.list.as_ref()?;
        let len = u64::from(blocks.block_len());
        let mut bytes = Vec::new();
        let mut at = from;
        while at < to {
            let (old, _) = blocks.place(((at.checked_sub(*first)?) / len) as usize)?;
            bytes.extend_from_slice(&self.bytes[old as usize..(old + len) as usize]);
            at += len;
        }
        Some(bytes)
    }
}
