//! Searches against the obvious ones, and lists that a hostile peer would send.

use std::cell::Cell;
use wetstring_proto::difference::{
    BLOCKS, Block, Blocks, LEAST, MOST, Rolling, SIGNATURE, Tools, block_len, signature,
};

/// Any hash will do: FNV-1a.
fn strong(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Bytes that look random, the same for a seed.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

fn signatures(new: &[u8], len: usize) -> Vec<u8> {
    new.chunks_exact(len).flat_map(|block| signature(block, strong(block))).collect()
}

/// Searches in reads of at most `chunk` bytes; also counts the bytes that were hashed.
fn search(old: &[u8], signatures: &[u8], len: u32, chunk: usize) -> (Blocks<Vec<Block>>, u64) {
    let room = vec![Block::default(); signatures.len() / SIGNATURE];
    let mut blocks = Blocks::new(len, room);
    for part in signatures.chunks(7) {
        blocks.learn(part).unwrap();
    }
    let (hashed, mut filter) = (Cell::new(0), [0; 16]);
    let tools = Tools {
        filter: &mut filter,
        buffer: &mut vec![0; 3 * len as usize],
        strong: |bytes: &[u8]| {
            hashed.set(hashed.get() + bytes.len() as u64);
            strong(bytes)
        },
        read: |offset: u64, into: &mut [u8]| {
            let from = (offset as usize).min(old.len());
            let got = into.len().min(chunk).min(old.len() - from);
            into[..got].copy_from_slice(&old[from..from + got]);
            Ok::<usize, ()>(got)
        },
    };
    blocks.search(old.len() as u64, tools).unwrap();
    (blocks, hashed.get())
}

#[test]
fn the_checksum_moves_along() {
    let bytes = noise(5000, 1);
    let mut rolling = Rolling::new(&bytes[..700]);
    for at in 1..4000 {
        rolling.roll(bytes[at - 1], bytes[at + 699]);
        assert_eq!(rolling.value(), Rolling::new(&bytes[at..at + 700]).value(), "{at}");
    }
    assert_eq!(Rolling::new(b"abc").value(), (97 * 3 + 98 * 2 + 99) << 16 | (97 + 98 + 99));
}

#[test]
fn each_block_that_is_there_is_found_and_no_other() {
    for seed in 0..200 {
        let new = noise(640 + seed as usize * 3, seed);
        let len = 32;
        let mut old = new.clone();
        // Edits of each kind.
        let at = (seed as usize * 37) % 500;
        match seed % 4 {
            0 => old.insert(at, 7),
            1 => drop(old.drain(at..at + 9)),
            2 => old[at] ^= 1,
            _ => old.truncate(at),
        }
        let (blocks, hashed) = search(&old, &signatures(&new, len), len as u32, 1 + seed as usize);
        for (index, block) in new.chunks_exact(len).enumerate() {
            let there = old.windows(len).any(|window| window == block);
            let found = blocks.place(index).map(|(at, _)| &old[at as usize..at as usize + len]);
            assert_eq!(found, there.then_some(block), "seed {seed} block {index}");
        }
        assert!(hashed <= 2 * old.len() as u64, "seed {seed}: {hashed}");
    }
}

#[test]
fn bits_say_what_was_found() {
    let new = noise(32 * 20, 9);
    let mut old = new.clone();
    old[32 * 3] ^= 1;
    old[32 * 9] ^= 1;
    let (blocks, _) = search(&old, &signatures(&new, 32), 32, 100);
    let mut bits = [0xaa; 3];
    blocks.found(0, &mut bits);
    assert_eq!(bits, [0b1111_0111, 0b1111_1101, 0b0000_1111]);
    blocks.found(9, &mut bits);
    assert_eq!(bits, [0b1111_1110, 0b0000_0111, 0]);
    blocks.found(usize::MAX, &mut bits);
    assert_eq!(bits, [0; 3]);
}

#[test]
fn hostile_lists_cost_no_more_than_the_file_is_long() {
    let len = 64;
    let zeros = vec![0; 64 * 1024];
    let cheap = 5 * zeros.len() as u64 + 64;
    // All equal, and there.
    let (blocks, hashed) = search(&zeros, &signatures(&zeros, len), len as u32, 1000);
    assert!((0..1024).all(|index| blocks.place(index).is_some()));
    assert!(hashed <= cheap, "{hashed}");
    // All of the checksum that is everywhere, and none there.
    let lies: Vec<u8> = (0..5000u64)
        .flat_map(|index| {
            let mut lie = [0; SIGNATURE];
            lie[4..].copy_from_slice(&index.to_be_bytes());
            lie
        })
        .collect();
    let (blocks, hashed) = search(&zeros, &lies, len as u32, 1000);
    assert!((0..5000).all(|index| blocks.place(index).is_none()));
    assert!(hashed <= cheap, "{hashed}");
    // None at all, and a file shorter than a block.
    let (blocks, hashed) = search(&zeros, &[], len as u32, 1000);
    assert_eq!((blocks.place(0), hashed), (None, 0));
    let (blocks, _) = search(&zeros[..63], &signatures(&zeros, len), len as u32, 1000);
    assert_eq!(blocks.place(0), None);
}

#[test]
fn more_signatures_than_room_are_refused() {
    let mut blocks = Blocks::new(32, [Block::default(); 2]);
    assert_eq!(blocks.learn(&[0; 2 * SIGNATURE + SIGNATURE - 1]), Ok(()));
    assert!(blocks.learn(&[0]).is_err());
    assert_eq!(blocks.count(), 2);
}

#[test]
fn an_error_finds_nothing() {
    let new = noise(32 * 4, 3);
    let mut blocks = Blocks::new(32, vec![Block::default(); 4]);
    blocks.learn(&signatures(&new, 32)).unwrap();
    let read = |offset: u64, into: &mut [u8]| {
        if offset > 0 {
            return Err(());
        }
        into[..96].copy_from_slice(&new[..96]);
        Ok(96)
    };
    let tools = Tools { filter: &mut [0; 1], buffer: &mut [0; 128], strong, read };
    assert!(blocks.search(128, tools).is_err());
    assert!((0..4).all(|index| blocks.place(index).is_none()));
}

#[test]
fn signatures_are_a_small_part_of_a_file() {
    let mut size = LEAST;
    while size <= MOST {
        let len = block_len(size);
        assert!(BLOCKS.contains(&len) && len.is_power_of_two());
        let list = size / u64::from(len) * SIGNATURE as u64;
        assert!(list * 1000 <= size * 6, "{size}: {list}");
        size *= 2;
    }
    assert_eq!((block_len(8_000_000), block_len(MOST)), (2048, 65536));
}
