//! An older version in memory.

use wetstring_proto::difference::{self, Block, Blocks, Tools, read_from};

/// Any hash of 64 bits will do: FNV-1a, by words.
fn strong(block: &[u8]) -> u64 {
    block.chunks(8).fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        let mut bytes = [0; 8];
        bytes[..word.len()].copy_from_slice(word);
        (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
    })
}

/// The signatures of the blocks from `from` on, as many as fit; returns how many bytes.
pub(crate) fn sign(bytes: &[u8], from: u64, block: u32, into: &mut [u8]) -> usize {
    difference::sign(bytes, from, block, strong, into)
}

/// What is looked for in the older version of a file.
#[derive(Debug)]
pub struct Wanted {
    from: u64,
    blocks: Blocks<Vec<Block>>,
}

impl Wanted {
    pub(crate) fn new(from: u64, block: u32, size: u64) -> Self {
        let most = size.saturating_sub(from) / u64::from(block);
        Self { from, blocks: Blocks::new(block, vec![Block::default(); most as usize]) }
    }

    /// Takes more of the list.
    pub(crate) fn learn(&mut self, bytes: &[u8]) {
        self.blocks.learn(bytes).expect("no more signatures than blocks");
    }

    /// Which blocks are there.
    pub(crate) fn find(&mut self, old: &[u8], first: u64, into: &mut [u8]) {
        if !self.blocks.is_searched() {
            let mut buffer = vec![0; 4 * self.blocks.block_len() as usize];
            let tools =
                Tools { filter: &mut [0; 256], buffer: &mut buffer, strong, read: read_from(old) };
            let Ok(()) = self.blocks.search(old.len() as u64, tools);
        }
        self.blocks.found(first as usize, into);
    }

    /// The bytes from `from` to `to`, if all of their blocks were found.
    pub(crate) fn copy(&self, old: &[u8], from: u64, to: u64) -> Option<Vec<u8>> {
        let block = u64::from(self.blocks.block_len());
        let mut bytes = Vec::new();
        let is_edge = |at: u64| (at - self.from).is_multiple_of(block);
        assert!(from < to && is_edge(from) && is_edge(to));
        for index in (from - self.from) / block..(to - self.from) / block {
            let (at, _) = self.blocks.place(index as usize)?;
            bytes.extend_from_slice(&old[at as usize..(at + block) as usize]);
        }
        Some(bytes)
    }
}
