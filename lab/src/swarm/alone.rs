//! Undetected errors of a check alone: the measure for a protocol that compares no digest of whole files.
//!
//! A swarm of a million noisy transfers must find damaged files that XMODEM's 8-bit sum, UUCP's sum or a CRC of
//! 16 bits did not detect; how many depends on the check and on the noise, not on our engines. Here the blocks
//! of a seed's files go over that seed's line with nothing but their check, each repeated until it passes. The
//! number of seeds that end with a wrong file is the check's own rate, and the engines may be fooled no more
//! often ([`most`]).

use crate::element::{Element as _, End};
use crate::random::Random;
use crate::serial::{LineModel, Serial};
use crate::store::MemoryFile;
use wetstring_proto::registry::WeakCheck;
use wetstring_proto::{Cx, Duration, Instant, NoTrace, xymodem};

/// Maximum transmissions of a block.
const TRIES: usize = 10;

/// Whether a file of this seed would be accepted wrong, if there were only this check.
pub fn is_fooled(check: &WeakCheck, seed: u64, line: &LineModel, files: &[MemoryFile]) -> bool {
    let line =
        LineModel { delay: Duration::ZERO, half_duplex: None, buffer_bytes: 4096, ..line.clone() };
    let mut wire = Wire { serial: Serial::new(&line), now: Instant::ZERO };
    let len = Random::stream(seed, "swarm", "alone").pick(check.blocks);
    // XMODEM's receiver refuses the first EOT, by one byte that nothing guards.
    let is_refusal_taken = |wire: &mut Wire| {
        check.bare_answers
            && wire.carry(End::B, &[xymodem::frame::NAK]).first() == Some(&xymodem::frame::ACK)
    };
    files.iter().any(|file| {
        file.bytes.chunks(len).any(|data| is_block_fooled(check, data, len, &mut wire))
            || is_refusal_taken(&mut wire)
    })
}

fn is_block_fooled(check: &WeakCheck, data: &[u8], len: usize, wire: &mut Wire) -> bool {
    let of = |field: &[u8]| (check.of)(field).to_be_bytes();
    let mut block = vec![0x1a; len];
    block[..data.len()].copy_from_slice(data);
    let sum = of(&block);
    block.extend_from_slice(&sum[2 - check.len..]);
    for _ in 0..TRIES {
        let came = wire.carry(End::A, &block);
        // A receiver takes as many bytes as a block has; what is missing ends in a timeout.
        let Some(came) = came.get(..block.len()) else { continue };
        let (field, guard) = came.split_at(len);
        if of(field)[2 - check.len..] == *guard {
            return field[..data.len()] != *data;
        }
    }
    false
}

/// The line of a seed, one block at a time.
struct Wire {
    serial: Serial,
    now: Instant,
}

impl Wire {
    fn carry(&mut self, from: End, block: &[u8]) -> Vec<u8> {
        let (mut sent, mut came, mut room) = (0, Vec::new(), [0; 256]);
        loop {
            let mut cx = Cx { now: self.now, trace: &mut NoTrace };
            sent += self.serial.offer(&mut cx, from, &block[sent..]);
            let len = self.serial.emit(&mut cx, from.other(), &mut room);
            came.extend_from_slice(&room[..len]);
            match self.serial.next(from.other()) {
                Some(at) => self.now = self.now.max(at),
                None if sent == block.len() => return came,
                None => {}
            }
        }
    }
}

/// How many fooled seeds are consistent with `alone` of as many seeds for the check alone: above it, the
/// probability that the engines are no worse than their check is below 2.5 % (the upper end of a 95 %
/// interval).
///
/// Both are counts of rare events at one rate, so that each of the `alone + n` is the engines' with a chance of a half.
pub fn most(alone: u64) -> u64 {
    // Three times as many and five are always too many.
    let mut range = alone..3 * alone + 6;
    range.find(|n| at_least(n + 1, alone + n + 1) < 0.025).unwrap_or(range.end)
}

/// The chance that of `all` tosses of a coin at least `n` are heads.
fn at_least(n: u64, all: u64) -> f64 {
    // Logarithms, since the numbers themselves are too small for large counts.
    let mut log = all as f64 * 0.5_f64.ln();
    let mut sum = 0.0;
    for heads in (0..=all).rev() {
        if heads < n {
            break;
        }
        sum += log.exp();
        log += (heads as f64).ln() - ((all - heads + 1) as f64).ln();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Protocol;
    use crate::serial::Probability;
    use crate::store::Content;

    #[test]
    fn limits_are_those_of_the_binomial() {
        // Of n tosses, all heads: 1/2^n < 0.025 from 6 on.
        assert_eq!([most(0), most(1)], [5, 7]);
        // For many the range is that of a normal distribution: 1.96 sqrt(2 n).
        let most = most(1000);
        assert!((1080..=1096).contains(&most), "{most}");
    }

    #[test]
    fn a_weak_check_is_fooled_and_a_strong_one_is_not() {
        let file = [MemoryFile::made("f", Content::Random(7), 3000)];
        let fooled = |name: &str| {
            let check = Protocol::named(name).weak_check.expect("a weak one");
            let line = |seed| LineModel {
                bit_errors: Probability::new(1, 3).unwrap(),
                seed,
                ..LineModel::clean(9600)
            };
            (0..400).filter(|seed| is_fooled(&check, *seed, &line(*seed), &file)).count()
        };
        let [sum, uucp, crc] = ["xmodem", "uucp-g", "xmodem-crc"].map(fooled);
        assert!(sum > 100 && uucp > 5 && crc == 0, "{sum} {uucp} {crc}");
        let clean = LineModel::clean(9600);
        let sum = Protocol::named("xmodem").weak_check.expect("a weak one");
        assert!(!is_fooled(&sum, 1, &clean, &file));
    }
}
