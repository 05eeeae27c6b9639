//! Programs: code, tables, strings, and pages that are filled up with zeros.

use super::frequent;
use crate::random::Random;

/// A page of SunOS on SPARC: segments of a program begin at multiples of it in the file.
const PAGE: usize = 8192;

/// Instructions of a RISC machine: words of four bytes, of which some recur exactly and the others share the
/// opcode and differ in registers or displacement.
struct Risc {
    words: Vec<[u8; 4]>,
}

impl Risc {
    fn new(random: &mut Random, count: usize) -> Self {
        // Formats 3 (arithmetic, memory), 2 (branches, sethi) and 1 (call), by their first bits.
        const FIRST: &[u8] =
            &[0x90, 0xD0, 0x92, 0x80, 0x40, 0x01, 0x94, 0xC0, 0x11, 0x12, 0x02, 0x81];
        let word = |random: &mut Random| {
            let first = FIRST[frequent(random, FIRST.len(), 2)] | random.below(4) as u8;
            let second = random.pick(&[0x00, 0x10, 0x02, 0x22, 0x07, 0x06]);
            let third = random.pick(&[0x20, 0x00, 0x20, 0xA0, 0x60, 0xBF]);
            [first, second, third, (frequent(random, 256, 2) & 0xFC) as u8]
        };
        // `nop`, which follows every branch.
        let mut words = vec![[0x01, 0, 0, 0]];
        words.extend((1..count).map(|_| word(random)));
        Self { words }
    }

    /// Code up to this length of the file. One instruction in `fresh` is not a recurring one.
    fn code(&self, random: &mut Random, file: &mut Vec<u8>, end: usize, fresh: u64) {
        while file.len() < end {
            let mut word = self.words[frequent(random, self.words.len(), 3)];
            if random.one_in(fresh) {
                word[2] = random.bits() as u8;
                word[3] = random.bits() as u8 & 0xFC;
            }
            file.extend_from_slice(&word);
        }
        file.truncate(end);
    }
}

/// Messages, each with its terminating zero.
fn strings(random: &mut Random, file: &mut Vec<u8>, end: usize) {
    const PARTS: &[&str] = &[
        "file", "error", " in ", "%s", "can't ", "open", "line ", "packet", "the ", " not ",
        "Kermit", "%d", "transfer", "window", "set ", "invalid", "length", "?", ": ", "read",
    ];
    while file.len() < end {
        for _ in 0..random.between(1, 6) {
            file.extend_from_slice(PARTS[frequent(random, PARTS.len(), 1)].as_bytes());
        }
        file.push(0);
    }
    file.truncate(end);
}

/// Tables of pointers and small numbers: words of four bytes, most of whose bytes are zero.
fn table(random: &mut Random, file: &mut Vec<u8>, end: usize) {
    let mut pointer = 0x2000u32;
    while file.len() < end {
        pointer += 4 * random.between(1, 12) as u32;
        let small = frequent(random, 64, 2) as u32;
        file.extend_from_slice(&pointer.to_be_bytes());
        file.extend_from_slice(&small.to_be_bytes());
    }
    file.truncate(end);
}

fn zeros(file: &mut Vec<u8>, end: usize) {
    file.resize(end, 0);
}

/// A small program: a segment of code of two pages and one of data, each mostly filled with zeros.
pub(super) fn sparc_small(random: &mut Random, len: usize) -> Vec<u8> {
    let mut file = vec![0x81, 0x03, 0x01, 0x0B, 0, 0, 0x40, 0, 0, 0, 0x20, 0, 0, 0, 0x01, 0x30];
    let risc = Risc::new(random, 120);
    risc.code(random, &mut file, 4200, 14);
    strings(random, &mut file, 4900);
    zeros(&mut file, 2 * PAGE);
    table(random, &mut file, 2 * PAGE + 600);
    strings(random, &mut file, 2 * PAGE + 1300);
    zeros(&mut file, len);
    file
}

/// A large one: mostly code, then messages, tables, and data that begin as zeros.
pub(super) fn sparc(random: &mut Random, len: usize) -> Vec<u8> {
    let mut file = vec![0x81, 0x03, 0x01, 0x0B, 0, 0x0C, 0, 0, 0, 0x02, 0, 0, 0, 0x05, 0x20, 0];
    let risc = Risc::new(random, 1500);
    risc.code(random, &mut file, len * 60 / 100, 5);
    strings(random, &mut file, len * 76 / 100);
    zeros(&mut file, (len * 77 / 100).next_multiple_of(PAGE));
    table(random, &mut file, len * 86 / 100);
    strings(random, &mut file, len * 91 / 100);
    zeros(&mut file, len);
    file
}

/// An MS-DOS program: relocations, code of one to four bytes an instruction, messages, and buffers
/// that begin as zeros.
pub(super) fn dos(random: &mut Random, len: usize) -> Vec<u8> {
    // Operations in the order of their frequency: mov, call, jmp short, push, cmp, jz, mov [..] ...
    const FIRST: &[u8] = &[
        0x8B, 0xE8, 0x75, 0x74, 0x50, 0xB4, 0xA1, 0x3C, 0xEB, 0xC3, 0x58, 0x80, 0xC7, 0x06, 0xCD,
        0x83, 0x89, 0x33, 0xFF, 0xA3, 0xBA, 0xBE, 0x51, 0x59, 0xAC, 0xAA, 0xE9, 0x72, 0x73, 0x0A,
    ];
    let mut file = b"MZ\x28\x01\x83\x01\x00\x06\x80\x01".to_vec();
    let mut at = 0u16;
    while file.len() < 6000 {
        at = at.wrapping_add(random.between(3, 90) as u16);
        file.extend_from_slice(&at.to_le_bytes());
        file.extend_from_slice(&[0, 0]);
    }
    let known: Vec<Vec<u8>> = (0..900)
        .map(|_| {
            let mut code = vec![FIRST[frequent(random, FIRST.len(), 1)]];
            for _ in 0..random.below(4) {
                code.push(random.bits() as u8);
            }
            code
        })
        .collect();
    let code_end = len * 54 / 100;
    while file.len() < code_end {
        file.extend_from_slice(&known[frequent(random, known.len(), 2)]);
        // Half of all instructions have a new operand.
        match random.below(4) {
            0 => file.push(random.bits() as u8),
            1 => file.extend_from_slice(&(random.below(0x4000) as u16).to_le_bytes()),
            _ => {}
        }
    }
    file.truncate(code_end);
    strings(random, &mut file, len * 80 / 100);
    while file.len() < len * 91 / 100 {
        file.extend_from_slice(&(random.below(0x9000) as u16).to_le_bytes());
    }
    zeros(&mut file, len);
    file
}
