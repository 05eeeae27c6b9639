//! The lines and the files that a seed picks.

use crate::random::Random;
use crate::serial::{Burst, Direction, LineModel, Period, Probability};
use crate::store::{Content, MemoryFile};
use wetstring_proto::Duration;

/// A line of any kind that carries eight bits: rate, delay, buffer, noise of all sorts.
pub fn any_line(random: &mut Random) -> LineModel {
    let chance = |random: &mut Random, low: u32, high: u32| {
        let scale = random.between(u64::from(low), u64::from(high)) as u32;
        Probability::new(random.between(1, 9), scale).unwrap_or_default()
    };
    let mut line = LineModel {
        rate_bps: random.pick(&[0, 300, 1200, 9600, 9600, 19_200, 115_200, 3_000_000]),
        delay: Duration::from_millis(random.pick(&[0, 0, 1, 20, 250, 1000])),
        buffer_bytes: random.pick(&[1, 16, 64, 64, 512, 4096]),
        direction: random.pick(&[Direction::Both, Direction::Forward, Direction::Reverse]),
        seed: random.bits(),
        ..LineModel::default()
    };
    if random.one_in(2) {
        line.bit_errors = chance(random, 4, 7);
    }
    if random.one_in(2) {
        let len = random.between(1, 40);
        line.burst = Some(Burst { len, every: Period::Bytes(len + random.between(200, 5000)) });
    }
    if random.one_in(4) {
        line.drop = chance(random, 3, 5);
    }
    if random.one_in(4) {
        line.duplicate = chance(random, 3, 5);
    }
    if random.one_in(8) {
        line.half_duplex = Some(Duration::from_millis(random.between(0, 200)));
    }
    line
}

/// A line of many bit errors, up to one in 1,000, where one byte of 100 is wrong.
pub fn noisy_line(random: &mut Random) -> LineModel {
    LineModel {
        rate_bps: random.pick(&[1200, 9600, 9600, 115_200]),
        delay: Duration::from_millis(random.pick(&[0, 20, 250])),
        buffer_bytes: random.pick(&[64, 512, 4096]),
        direction: random.pick(&[Direction::Both, Direction::Both, Direction::Forward]),
        bit_errors: random.pick(
            &[(1, 4), (3, 4), (1, 3), (1, 3)]
                .map(|(n, scale)| Probability::new(n, scale).unwrap_or_default()),
        ),
        seed: random.bits(),
        ..LineModel::default()
    }
}

/// One or two files, which may be longer than the longest packet of any protocol.
pub fn longer_files(random: &mut Random) -> Vec<MemoryFile> {
    let made = |index: u64, random: &mut Random| {
        let contents = [Content::Random(random.bits()), Content::Text(random.bits())];
        let longest = random.pick(&[100, 3000, 3000, 20_000]);
        let len = random.between(0, longest) as usize;
        MemoryFile::made(&format!("file{index}.dat"), random.pick(&contents), len)
    };
    (0..random.between(1, 2)).map(|index| made(index, random)).collect()
}

/// One to three files of up to 3000 bytes, of any content.
pub fn any_files(random: &mut Random) -> Vec<MemoryFile> {
    let count = random.between(1, 3);
    let made = |index: u64, random: &mut Random| {
        let seed = random.bits();
        let kinds = [
            Content::Random(seed),
            Content::Random(seed),
            Content::Text(seed),
            Content::Zeros,
            Content::Ramp,
            Content::Runs,
        ];
        let content = random.pick(&kinds);
        let longest = random.pick(&[0, 1, 100, 1000, 3000]);
        let len = random.between(0, longest) as usize;
        MemoryFile::made(&format!("file{index}.dat"), content, len)
    };
    (0..count).map(|index| made(index, random)).collect()
}
