//! HDLC framing, as V.42 uses it: flags, zero insertion, and the 16 bit frame check.
//!
//! ```text
//! 01111110 | address, control, information, check | 01111110
//!   flag      a 0 after five 1s in a row, bits least significant first
//! ```
//!
//! One flag may end a frame and begin the next; between frames there are only flags. The number of bits of a
//! frame is computed from a table, exactly, without producing the bits; they are produced only for a frame hit
//! by noise ([`stuff`], [`Deframer`]).
//!
//! Source: V.42 8.1 (ISO/IEC 13239). The check is CRC-16/X-25: polynomial 0x1021 reflected, from all
//! ones, complemented, low octet first; `123456789` gives 0x906e.

/// A flag, bits least significant first.
pub const FLAG: u8 = 0x7e;

/// Bits of a flag.
pub const FLAG_BITS: u64 = 8;

/// Octets of the check.
pub const CHECK_LEN: usize = 2;

/// x^16 + x^12 + x^5 + 1, bits reflected.
const POLYNOMIAL: u16 = 0x8408;

/// The residue of a good frame with its check.
const RESIDUE: u16 = 0xf0b8;

static CHECKS: [u16; 256] = checks();

const fn checks() -> [u16; 256] {
    let mut table = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        let mut check = octet as u16;
        let mut bit = 0;
        while bit < 8 {
            check = if check & 1 == 0 { check >> 1 } else { (check >> 1) ^ POLYNOMIAL };
            bit += 1;
        }
        table[octet] = check;
        octet += 1;
    }
    table
}

/// `INSERTED[run][octet]`: the zeros inserted into this octet after `run` ones, and the ones at its
/// end, as `zeros << 4 | ones`.
static INSERTED: [[u8; 256]; 5] = inserted();

const fn inserted() -> [[u8; 256]; 5] {
    let mut table = [[0; 256]; 5];
    let mut begin = 0;
    while begin < 5 {
        let mut octet = 0;
        while octet < 256 {
            let (mut run, mut zeros, mut bit) = (begin, 0, 0);
            while bit < 8 {
                run = if octet >> bit & 1 == 1 { run + 1 } else { 0 };
                if run == 5 {
                    zeros += 1;
                    run = 0;
                }
                bit += 1;
            }
            table[begin][octet] = (zeros << 4 | run) as u8;
            octet += 1;
        }
        begin += 1;
    }
    table
}

/// The check of these octets.
pub fn check(octets: &[u8]) -> u16 {
    !remainder(octets)
}

fn remainder(octets: &[u8]) -> u16 {
    octets
        .iter()
        .fold(0xffff, |check, octet| (check >> 8) ^ CHECKS[usize::from((check as u8) ^ octet)])
}

/// The bits of a frame between its flags: 8 for each octet and for those of the check, and the
/// zeros that are inserted.
pub fn body_bits(octets: &[u8]) -> u64 {
    let check = check(octets).to_le_bytes();
    let (mut zeros, mut run) = (0, 0);
    for octet in octets.iter().chain(&check) {
        let entry = INSERTED[run][usize::from(*octet)];
        zeros += u64::from(entry >> 4);
        run = usize::from(entry & 0xf);
    }
    (octets.len() + CHECK_LEN) as u64 * 8 + zeros
}

/// The bits of a frame between its flags.
pub fn stuff(octets: &[u8]) -> Vec<bool> {
    let check = check(octets).to_le_bytes();
    let mut bits = Vec::with_capacity((octets.len() + CHECK_LEN) * 9);
    let mut run = 0;
    for octet in octets.iter().chain(&check) {
        for bit in 0..8 {
            let one = octet >> bit & 1 == 1;
            bits.push(one);
            run = if one { run + 1 } else { 0 };
            if run == 5 {
                bits.push(false);
                run = 0;
            }
        }
    }
    bits
}

/// The bits of a flag.
pub fn flag() -> [bool; 8] {
    std::array::from_fn(|bit| FLAG >> bit & 1 == 1)
}

/// Finds frames in bits.
#[derive(Clone, Debug, Default)]
pub struct Deframer {
    /// Ones in a row, up to 7.
    ones: u32,
    /// Bits since the last flag, without inserted zeros, packed.
    octets: Vec<u8>,
    partial: u8,
    partial_bits: u32,
    /// No flag has been seen since the beginning or since an abort.
    hunting: bool,
    most: usize,
}

impl Deframer {
    /// A deframer that has just seen a flag, and accepts frames of at most `most` octets, including the check.
    pub fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Whether the last thing it saw was a flag: the next bit begins a frame.
    pub fn is_between(&self) -> bool {
        !self.hunting && self.octets.is_empty() && self.partial_bits == 0 && self.ones == 0
    }

    /// Takes a bit. At a closing flag after a good frame it returns the frame, without its check; at one after
    /// anything else, an error.
    pub fn push(&mut self, one: bool) -> Option<Result<Vec<u8>, BadFrame>> {
        if one {
            self.ones = (self.ones + 1).min(7);
            match self.ones {
                // The sixth may belong to a flag; seven are an abort.
                6 => return None,
                7 => {
                    self.hunting = true;
                    self.clear();
                    return None;
                }
                _ => self.bit(true),
            }
            return None;
        }
        let ones = std::mem::take(&mut self.ones);
        match ones {
            5 => None,
            6 => self.flag(),
            7 => None,
            _ => {
                self.bit(false);
                None
            }
        }
    }

    fn clear(&mut self) {
        self.octets.clear();
        self.partial = 0;
        self.partial_bits = 0;
    }

    fn bit(&mut self, one: bool) {
        if self.hunting {
            return;
        }
        self.partial |= u8::from(one) << self.partial_bits;
        self.partial_bits += 1;
        if self.partial_bits == 8 {
            // One octet too many is enough to know that this is not a frame.
            if self.octets.len() <= self.most {
                self.octets.push(self.partial);
            }
            self.partial = 0;
            self.partial_bits = 0;
        }
    }

    /// A flag has ended. Its zero and its first five ones were taken for data.
    fn flag(&mut self) -> Option<Result<Vec<u8>, BadFrame>> {
        let was_hunting = std::mem::take(&mut self.hunting);
        let bits = self.octets.len() * 8 + self.partial_bits as usize;
        let mut octets = std::mem::take(&mut self.octets);
        self.clear();
        // 6 bits of the flag are in the data, unless the flag's first zero closed the previous one.
        if was_hunting || bits <= 6 {
            return None;
        }
        // Whole octets, an address, a control octet and the check; and not too long.
        if !(bits - 6).is_multiple_of(8) || octets.len() < 4 || octets.len() > self.most {
            return Some(Err(BadFrame));
        }
        if remainder(&octets) != RESIDUE {
            return Some(Err(BadFrame));
        }
        octets.truncate(octets.len() - CHECK_LEN);
        Some(Ok(octets))
    }
}

/// Something between two flags that is not a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadFrame;
