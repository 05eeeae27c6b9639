//! The difference between two versions of a file: blocks of the new one are looked for in the old one.
//!
//! The sender of a new version tells the signatures of its blocks; the receiver looks for blocks with these signatures
//! at every offset of its older version, and is sent the others. So the many bytes go one way, and the answer is short
//! (docs/decisions/163).
//!
//! ```text
//! new    |  0  |  1  |  2  |  3  |  4  | tail        signature: weak(4) strong(8), the highest byte first
//! old    ...|  0  |  1  |........|  3  |  4  |...    weak: two sums, which move along by a byte in a few operations
//! ```
//!
//! *Weak* is the checksum of rsync: the sum of the bytes (the lower half) and the sum of those sums (the upper half), modulo
//! 65,536. *Strong* is any hash of 64 bits that the caller supplies, computed where the weak one matches; between Wetstrings
//! it is the beginning of BLAKE3. Neither proves anything of the file: a digest of the whole does.
//!
//! Nothing here allocates. What a peer chooses cannot cost more than a multiple of the length of the old file: equal blocks
//! are one entry of the search, and strong hashes of nothing that is looked for are counted.

use core::borrow::BorrowMut;
use core::convert::Infallible;

/// Bytes of a signature.
pub const SIGNATURE: usize = 12;
/// Shorter files are sent as they are.
pub const LEAST: u64 = 64 * 1024;
/// So are longer ones: the search must not take longer than a peer waits.
pub const MOST: u64 = 4 << 30;
/// The shortest and the longest block: signatures are at most 0.6 % of a file.
pub const BLOCKS: core::ops::RangeInclusive<u32> = 2048..=65536;

/// The length of the blocks of a file of `size` bytes: a power of two near the square root of it, where signatures and what
/// is sent around each change cost about the same.
pub fn block_len(size: u64) -> u32 {
    let root = size.isqrt().clamp((*BLOCKS.start()).into(), (*BLOCKS.end()).into());
    1 << root.ilog2()
}

/// Two sums over a window of a file (rsync's).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rolling {
    sum: u32,
    sums: u32,
    len: u32,
}

impl Rolling {
    /// Over these bytes.
    pub fn new(window: &[u8]) -> Self {
        let (mut sum, mut sums) = (0u32, 0u32);
        for byte in window {
            sum = sum.wrapping_add(u32::from(*byte));
            sums = sums.wrapping_add(sum);
        }
        Self { sum, sums, len: window.len() as u32 }
    }

    /// The window moves along by a byte: `out` leaves it, `into` enters.
    pub fn roll(&mut self, out: u8, into: u8) {
        self.sum = self.sum.wrapping_add(u32::from(into)).wrapping_sub(u32::from(out));
        self.sums =
            self.sums.wrapping_sub(self.len.wrapping_mul(u32::from(out))).wrapping_add(self.sum);
    }

    /// The checksum.
    pub fn value(self) -> u32 {
        self.sums << 16 | self.sum & 0xffff
    }
}

/// The signature of a block with this strong hash.
pub fn signature(block: &[u8], strong: u64) -> [u8; SIGNATURE] {
    let mut signature = [0; SIGNATURE];
    signature[..4].copy_from_slice(&Rolling::new(block).value().to_be_bytes());
    signature[4..].copy_from_slice(&strong.to_be_bytes());
    signature
}

/// The signatures of the blocks of these bytes from `from` on, as many as fit into `into`; how many bytes they are.
pub fn sign(
    bytes: &[u8],
    from: u64,
    block: u32,
    strong: impl Fn(&[u8]) -> u64,
    into: &mut [u8],
) -> usize {
    let blocks = rest(bytes, from).chunks_exact(block as usize);
    let pairs = blocks.zip(into.chunks_exact_mut(SIGNATURE));
    pairs.map(|(block, to)| to.copy_from_slice(&signature(block, strong(block)))).count()
        * SIGNATURE
}

/// Reads an old file that is in memory, as [`Tools::read`] has it.
pub fn read_from(old: &[u8]) -> impl FnMut(u64, &mut [u8]) -> Result<usize, Infallible> + '_ {
    |offset, into| {
        let rest = rest(old, offset);
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
}

/// What is there from this offset on.
fn rest(bytes: &[u8], from: u64) -> &[u8] {
    usize::try_from(from).ok().and_then(|from| bytes.get(from..)).unwrap_or(&[])
}

/// A block of the new file that is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    weak: u32,
    strong: u64,
    index: u32,
    at: u64,
}

/// A search gives up when it has hashed this many times the old file for no block.
const VAIN: u64 = 4;
/// Not found.
const NOWHERE: u64 = u64::MAX;

impl Default for Block {
    fn default() -> Self {
        Self { weak: 0, strong: 0, index: 0, at: NOWHERE }
    }
}

/// There are more signatures than room for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

/// The memory and the access that a search needs.
#[derive(Debug)]
pub struct Tools<'a, S, R> {
    /// Bits by which most offsets are passed over: a power of two of words, best one of 64 bits for each block.
    pub filter: &'a mut [u64],
    /// For bytes of the old file: at least two blocks.
    pub buffer: &'a mut [u8],
    /// The strong hash of a block.
    pub strong: S,
    /// Reads the old file at an offset, as many bytes as there are; 0 is its end.
    pub read: R,
}

/// The blocks of a new file, and where they are in the old one.
#[derive(Clone, Debug)]
pub struct Blocks<B> {
    len: u32,
    entries: B,
    count: usize,
    part: [u8; SIGNATURE],
    part_len: usize,
    searched: bool,
}

impl<B: BorrowMut<[Block]>> Blocks<B> {
    /// Blocks of `len` bytes, at most as many as there is room for in `blocks`.
    pub fn new(len: u32, blocks: B) -> Self {
        Self { len, entries: blocks, count: 0, part: [0; SIGNATURE], part_len: 0, searched: false }
    }

    /// The length of each.
    pub fn block_len(&self) -> u32 {
        self.len
    }

    /// How many signatures are here.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the search is over.
    pub fn is_searched(&self) -> bool {
        self.searched
    }

    /// Takes signatures, cut anywhere.
    pub fn learn(&mut self, bytes: &[u8]) -> Result<(), TooMany> {
        for byte in bytes {
            self.part[self.part_len] = *byte;
            self.part_len += 1;
            if self.part_len < SIGNATURE {
                continue;
            }
            self.part_len = 0;
            let (weak, strong) = self.part.split_at(4);
            let number = |bytes: &[u8]| {
                bytes.iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte))
            };
            let block = Block {
                weak: number(weak) as u32,
                strong: number(strong),
                index: self.count as u32,
                at: NOWHERE,
            };
            *self.entries.borrow_mut().get_mut(self.count).ok_or(TooMany)? = block;
            self.count += 1;
        }
        Ok(())
    }

    /// Where in the old file a block was found, and its strong hash. A block that is not there, or was not looked for,
    /// is nowhere.
    pub fn place(&self, index: usize) -> Option<(u64, u64)> {
        let block = self.entries.borrow().get(..self.count)?.get(index)?;
        (self.searched && block.at != NOWHERE).then_some((block.at, block.strong))
    }

    /// Whether each of `count` blocks from `first` on was found, as a bit: block `first + 8 * i + j` is bit j of byte i.
    pub fn found(&self, first: usize, into: &mut [u8]) {
        for (index, byte) in into.iter_mut().enumerate() {
            let bit = |bit: usize| {
                u8::from(self.place(first.saturating_add(8 * index + bit)).is_some()) << bit
            };
            *byte = (0..8).map(bit).sum();
        }
    }

    /// Looks for all of them in the old file, of `size` bytes. After an error of `read` none is found.
    pub fn search<E>(
        &mut self,
        size: u64,
        tools: Tools<'_, impl Fn(&[u8]) -> u64, impl FnMut(u64, &mut [u8]) -> Result<usize, E>>,
    ) -> Result<(), E> {
        let blocks = &mut self.entries.borrow_mut()[..self.count];
        // Equal blocks are adjacent, and the first represents them all.
        blocks.sort_unstable_by_key(|block| (block.weak, block.strong, block.index));
        let mut search = Search { blocks, len: self.len as usize, vain: 0, size };
        let result = search.all(tools);
        if result.is_err() {
            search.blocks.iter_mut().for_each(|block| block.at = NOWHERE);
        }
        search.blocks.sort_unstable_by_key(|block| block.index);
        self.searched = true;
        result
    }
}

struct Search<'b> {
    blocks: &'b mut [Block],
    len: usize,
    /// Bytes hashed for no block.
    vain: u64,
    size: u64,
}

impl Search<'_> {
    fn all<E>(
        &mut self,
        tools: Tools<'_, impl Fn(&[u8]) -> u64, impl FnMut(u64, &mut [u8]) -> Result<usize, E>>,
    ) -> Result<(), E> {
        let Tools { filter, buffer, strong, mut read } = tools;
        filter.fill(0);
        let bits = filter.len().max(1).ilog2() + 6;
        for block in self.blocks.iter() {
            let slot = slot(block.weak, bits);
            filter[slot / 64] |= 1 << (slot % 64);
        }
        let (mut base, mut held, mut at, mut ended) = (0u64, 0, 0, false);
        while !self.blocks.is_empty() && self.len > 0 {
            if held - at <= self.len && !ended {
                buffer.copy_within(at..held, 0);
                base += at as u64;
                held -= at;
                at = 0;
                while held < buffer.len() && !ended {
                    let got = read(base + held as u64, &mut buffer[held..])?;
                    held += got;
                    ended = got == 0;
                }
            }
            let window = &buffer[at..held];
            if window.len() < self.len {
                break;
            }
            match self.next(window, filter, bits, &strong) {
                Some((passed, Some(first))) => {
                    self.is_at(first, base + (at + passed) as u64);
                    at += passed + self.len;
                }
                Some((passed, None)) if !ended => at += passed,
                _ => break,
            }
        }
        Ok(())
    }

    /// The next offset in the window at which a block is, and the first entry of that block; the last offset and nothing if
    /// there is none. `None` if too much was hashed without success.
    fn next(
        &mut self,
        window: &[u8],
        filter: &[u64],
        bits: u32,
        strong: &impl Fn(&[u8]) -> u64,
    ) -> Option<(usize, Option<usize>)> {
        let mut rolling = Rolling::new(&window[..self.len]);
        let mut at = 0;
        loop {
            let weak = rolling.value();
            let slot = slot(weak, bits);
            if filter[slot / 64] >> (slot % 64) & 1 != 0 && self.has(weak) {
                let key = (weak, strong(&window[at..at + self.len]));
                let first = self.blocks.partition_point(|block| (block.weak, block.strong) < key);
                if self.blocks.get(first).is_some_and(|block| (block.weak, block.strong) == key) {
                    return Some((at, Some(first)));
                }
                self.vain += self.len as u64;
                if self.vain > VAIN * self.size {
                    return None;
                }
            }
            let Some(into) = window.get(at + self.len) else { return Some((at, None)) };
            rolling.roll(window[at], *into);
            at += 1;
        }
    }

    fn has(&self, weak: u32) -> bool {
        let first = self.blocks.partition_point(|block| block.weak < weak);
        self.blocks.get(first).is_some_and(|block| block.weak == weak)
    }

    /// The blocks that are equal to this entry are there.
    fn is_at(&mut self, first: usize, at: u64) {
        let key = (self.blocks[first].weak, self.blocks[first].strong);
        if self.blocks[first].at != NOWHERE {
            return;
        }
        let equal = self.blocks[first..].iter_mut();
        for block in equal.take_while(|block| (block.weak, block.strong) == key) {
            block.at = at;
        }
    }
}

/// The place of a checksum in the filter: the sums of short blocks differ in few of their bits.
fn slot(weak: u32, bits: u32) -> usize {
    (u64::from(weak.wrapping_mul(0x9e37_79b1)) >> 32u32.saturating_sub(bits)) as usize
}
