//! A line as text.

use super::model::{Burst, Direction, LineModel, Parity, Period, Probability};
use std::fmt;
use std::str::FromStr;
use wetstring_proto::Duration;

/// A word of a line's description that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadLine {
    /// The key, such as `delay`.
    pub key: String,
    /// What it takes.
    pub expected: &'static str,
    /// The given text.
    pub got: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, expected, got } = self;
        write!(f, "line: {key}: expected {expected}, got `{got}`")
    }
}

impl std::error::Error for BadLine {}

const KEYS: &str = "one of rate, port, delay, bits, 7bit, parity, ber, burst, drop, dup, dir, half, \
                    echo, buffer, seed";
const TIME: &str = "a time such as 250ms (s, ms, us, ns)";
const CHANCE: &str = "0, or a chance from 1e-12 to 1 such as 1e-5";
const BURST: &str = "LENGTH@PERIOD such as 8@2s or 8@2000 (characters)";
const LONGEST: u64 = 1_000_000_000_000_000_000;

impl FromStr for LineModel {
    type Err = BadLine;

    fn from_str(text: &str) -> Result<Self, BadLine> {
        let mut model = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for (index, word) in text.split(',').map(str::trim).enumerate() {
            let (key, value) = match word.split_once('=') {
                Some((key, value)) => (key.trim(), value.trim()),
                None if index == 0 => ("rate", word),
                None => (word, ""),
            };
            if seen.contains(&key) {
                return Err(bad(key, "it once", word));
            }
            seen.push(key);
            set(&mut model, key, value, word)?;
        }
        if seen.first() != Some(&"rate") {
            return Err(bad("rate", "a rate in bit/s first, such as 9600", text));
        }
        check(&model)?;
        Ok(model)
    }
}

pub(crate) fn bad(key: &str, expected: &'static str, got: &str) -> BadLine {
    BadLine { key: key.to_owned(), expected, got: got.to_owned() }
}

fn set(model: &mut LineModel, key: &str, value: &str, word: &str) -> Result<(), BadLine> {
    let flag = |expected| if word.contains('=') { Err(bad(key, expected, word)) } else { Ok(true) };
    match key {
        "rate" => (model.rate_bps, model.reverse_rate_bps) = rates(value)?,
        "port" => {
            const RATE: &str = "the rate that the ports claim, in bit/s to 4294967295; 0 for none";
            model.port_bps = Some(number(key, value, RATE, 0, u32::MAX.into())?);
        }
        "delay" => model.delay = time(key, value)?,
        "bits" => {
            model.bits = number(key, value, "9 to 12 line bits per character", 9, 12)? as u32;
        }
        "7bit" => model.seven_bit = flag("a flag without a value")?,
        "parity" => {
            model.parity = match value {
                "none" => Parity::None,
                "even" => Parity::Even,
                "odd" => Parity::Odd,
                "mark" => Parity::Mark,
                "space" => Parity::Space,
                _ => return Err(bad(key, "none, even, odd, mark or space", value)),
            };
            model.seven_bit |= model.parity != Parity::None;
        }
        "ber" => model.bit_errors = chance(key, value)?,
        "burst" => model.burst = Some(burst(key, value)?),
        "drop" => model.drop = chance(key, value)?,
        "dup" => model.duplicate = chance(key, value)?,
        "dir" => {
            model.direction = match value {
                "fwd" => Direction::Forward,
                "rev" => Direction::Reverse,
                "both" => Direction::Both,
                _ => return Err(bad(key, "fwd, rev or both", value)),
            };
        }
        "half" => model.half_duplex = Some(time(key, value)?),
        "echo" => model.echo = flag("a flag without a value")?,
        "buffer" => {
            let len = number(key, value, "1 to 1048576 characters", 1, 1 << 20)?;
            model.buffer_bytes = len as usize;
        }
        "seed" => {
            model.seed = number(key, value, "a whole number below 2^64", 0, u64::MAX)?;
        }
        _ => return Err(bad(key, KEYS, word)),
    }
    Ok(())
}

/// What only the whole description can tell.
fn check(model: &LineModel) -> Result<(), BadLine> {
    let Some(burst) = model.burst else { return Ok(()) };
    let shown = Spec(burst).to_string();
    match burst.every {
        Period::Bytes(period) if period <= burst.len => {
            Err(bad("burst", "a period longer than the burst", &shown))
        }
        Period::Time(_) if model.rate_bps == 0 || model.reverse_rate_bps == Some(0) => Err(bad(
            "burst",
            "a period in characters, such as 8@2000, on a line without a rate",
            &shown,
        )),
        Period::Time(period)
            if [Some(model.rate_bps), model.reverse_rate_bps].into_iter().flatten().any(
                |rate| {
                    let bits = u128::from(burst.len) * u128::from(model.bits);
                    period.as_nanos() * u128::from(rate) <= bits * 1_000_000_000
                },
            ) =>
        {
            Err(bad("burst", "a period longer than the burst", &shown))
        }
        _ => Ok(()),
    }
}

pub(crate) fn number(
    key: &str,
    value: &str,
    expected: &'static str,
    low: u64,
    high: u64,
) -> Result<u64, BadLine> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    value
        .parse()
        .ok()
        .filter(|number| digits && (low..=high).contains(number))
        .ok_or_else(|| bad(key, expected, value))
}

pub(crate) fn rates(value: &str) -> Result<(u64, Option<u64>), BadLine> {
    const RATE: &str = "bit/s from 0 (no time) to 100000000000, such as 9600 or 1200/75";
    let rate = |part| number("rate", part, RATE, 0, 100_000_000_000);
    match value.split_once('/') {
        None => Ok((rate(value)?, None)),
        Some((forward, reverse)) => Ok((rate(forward)?, Some(rate(reverse)?))),
    }
}

/// A decimal number as (digits, number of decimals); at most 18 of either.
pub(crate) fn decimal(text: &str) -> Option<(u64, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all = || whole.bytes().chain(fraction.bytes());
    let digits = all().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits || whole.len() + fraction.len() > 18 {
        return None;
    }
    let value = all().fold(0, |value: u64, byte| value * 10 + u64::from(byte - b'0'));
    Some((value, fraction.len() as u32))
}

/// Parses a time such as `250ms`, for this key.
pub(crate) fn time(key: &str, value: &str) -> Result<Duration, BadLine> {
    let units = [("ms", 1_000_000u64), ("us", 1_000), ("ns", 1), ("s", 1_000_000_000)];
    let split = units.iter().find_map(|(name, unit)| Some((value.strip_suffix(name)?, *unit)));
    let nanos = split.and_then(|(number, unit)| {
        let (digits, decimals) = decimal(number)?;
        let total = u128::from(digits) * u128::from(unit);
        let one = 10u128.pow(decimals);
        if total % one != 0 {
            return None;
        }
        u64::try_from(total / one).ok().filter(|nanos| *nanos <= LONGEST)
    });
    nanos.map(Duration::from_nanos).ok_or_else(|| bad(key, TIME, value))
}

pub(crate) fn chance(key: &str, value: &str) -> Result<Probability, BadLine> {
    let (mantissa, exponent) = match value.split_once(['e', 'E']) {
        None => (value, Some(0)),
        Some((mantissa, exponent)) => {
            (mantissa, exponent.strip_prefix('-').and_then(|digits| digits.parse::<u32>().ok()))
        }
    };
    let probability = decimal(mantissa).zip(exponent).and_then(|((digits, decimals), exponent)| {
        Probability::new(digits, decimals.checked_add(exponent)?)
    });
    probability.ok_or_else(|| bad(key, CHANCE, value))
}

pub(crate) fn burst(key: &str, value: &str) -> Result<Burst, BadLine> {
    let (len, period) = value.split_once('@').ok_or_else(|| bad(key, BURST, value))?;
    let len = number(key, len, BURST, 1, 1 << 20)?;
    let every = if period.bytes().all(|byte| byte.is_ascii_digit()) {
        Period::Bytes(number(key, period, BURST, 1, 1 << 40)?)
    } else {
        Period::Time(time(key, period).map_err(|_| bad(key, BURST, value))?)
    };
    Ok(Burst { len, every })
}

/// Shows a value in the notation that is read.
pub(crate) struct Spec<T>(pub(crate) T);

impl fmt::Display for Spec<Duration> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        match nanos {
            _ if nanos.is_multiple_of(1_000_000_000) => write!(f, "{}s", nanos / 1_000_000_000),
            _ if nanos.is_multiple_of(1_000_000) => write!(f, "{}ms", nanos / 1_000_000),
            _ if nanos.is_multiple_of(1_000) => write!(f, "{}us", nanos / 1_000),
            _ => write!(f, "{nanos}ns"),
        }
    }
}

impl fmt::Display for Spec<Burst> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.every {
            Period::Time(time) => write!(f, "{}@{}", self.0.len, Spec(time)),
            Period::Bytes(count) => write!(f, "{}@{count}", self.0.len),
        }
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decimal() {
            (digits, 0) => write!(f, "{digits}"),
            (digits, scale) => write!(f, "{digits}e-{scale}"),
        }
    }
}

impl fmt::Display for LineModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "{}", self.rate_bps)?;
        if let Some(rate) = self.reverse_rate_bps {
            write!(f, "/{rate}")?;
        }
        if let Some(rate) = self.port_bps {
            write!(f, ",port={rate}")?;
        }
        if self.delay != usual.delay {
            write!(f, ",delay={}", Spec(self.delay))?;
        }
        if self.bits != usual.bits {
            write!(f, ",bits={}", self.bits)?;
        }
        if self.seven_bit {
            f.write_str(",7bit")?;
        }
        f.write_str(match self.parity {
            Parity::None => "",
            Parity::Even => ",parity=even",
            Parity::Odd => ",parity=odd",
            Parity::Mark => ",parity=mark",
            Parity::Space => ",parity=space",
        })?;
        let chances = [("ber", self.bit_errors), ("drop", self.drop), ("dup", self.duplicate)];
        for (key, chance) in chances {
            if chance != Probability::NEVER {
                write!(f, ",{key}={chance}")?;
            }
        }
        if let Some(burst) = self.burst {
            write!(f, ",burst={}", Spec(burst))?;
        }
        f.write_str(match self.direction {
            Direction::Both => "",
            Direction::Forward => ",dir=fwd",
            Direction::Reverse => ",dir=rev",
        })?;
        if let Some(turn) = self.half_duplex {
            write!(f, ",half={}", Spec(turn))?;
        }
        if self.echo {
            f.write_str(",echo")?;
        }
        if self.buffer_bytes != usual.buffer_bytes {
            write!(f, ",buffer={}", self.buffer_bytes)?;
        }
        if self.seed != usual.seed {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}
