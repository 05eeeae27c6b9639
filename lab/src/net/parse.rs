//! Text descriptions of networks and hosts: parameters, numbers with units, and their errors.
//!
//! A description is a list of comma-separated parameters, `key=value` or a flag; the first may be a value
//! without its key. Numbers:
//!
//! | kind | examples | |
//! |---|---|---|
//! | rate | `9600`, `56k`, `1.5M`, `1G` | bit/s; k, M, G are powers of 1000 |
//! | size | `1460`, `32K`, `4M` | bytes; K and M are powers of 1024 |
//! | time | `34ms`, `1.5s`, `21.22ms`, `50ns`, `120ps` | |
//! | chance | `0.1%`, `1e-3`, `0.02` | |
//! | cost | `300us`, `300us+50ns` | per packet, and per byte |

use crate::serial::Probability;
use std::fmt;
use wetstring_proto::Duration;

/// An invalid parameter of a network's or a host's description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadNet {
    /// The element, such as `ethernet`.
    pub element: &'static str,
    /// The key, such as `load`.
    pub key: String,
    /// What it accepts.
    pub expected: &'static str,
    /// The given text.
    pub got: String,
}

impl BadNet {
    pub(crate) fn new(element: &'static str, key: &str, expected: &'static str, got: &str) -> Self {
        Self { element, key: key.to_owned(), expected, got: got.to_owned() }
    }
}

impl fmt::Display for BadNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, key, expected, got } = self;
        write!(f, "{element}: {key}: expected {expected}, got `{got}`")
    }
}

impl std::error::Error for BadNet {}

const TIME: &str = "a time such as 34ms (s, ms, us, ns)";
const RATE: &str = "bit/s up to 100G, such as 9600, 1.5M or 0 (no time)";
const SIZE: &str = "bytes up to 1024M, such as 1460 or 32K";
const CHANCE: &str = "a chance such as 0.1% or 1e-3";
const COST: &str = "a cost per packet, or per packet and per byte, such as 300us+50ns";
const LONGEST_PS: u128 = 1_000_000_000_000_000_000_000;

/// One parameter of a description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param<'a> {
    element: &'static str,
    /// The key; for the first parameter the implied one if it was omitted.
    pub(crate) key: &'a str,
    value: Option<&'a str>,
    /// The whole text.
    whole: &'a str,
}

/// Splits a description. `first` is the key of a first parameter without one.
pub(crate) fn words<'a>(
    element: &'static str,
    text: &'a str,
    first: Option<&'static str>,
) -> Result<Vec<Param<'a>>, BadNet> {
    let mut words: Vec<Param<'a>> = Vec::new();
    if text.trim().is_empty() {
        return Ok(words);
    }
    for (index, word) in text.split(',').map(str::trim).enumerate() {
        let (key, value) = match (word.split_once('='), first) {
            (Some((key, value)), _) => (key.trim(), Some(value.trim())),
            (None, Some(first)) if index == 0 => (first, Some(word)),
            (None, _) => (word, None),
        };
        if words.iter().any(|earlier| earlier.key == key) {
            return Err(BadNet::new(element, key, "it once", word));
        }
        words.push(Param { element, key, value, whole: word });
    }
    Ok(words)
}

impl<'a> Param<'a> {
    /// The value; empty for a flag.
    pub(crate) fn value(&self) -> &'a str {
        self.value.unwrap_or("")
    }

    pub(crate) fn bad(&self, expected: &'static str) -> BadNet {
        BadNet::new(self.element, self.key, expected, self.value.unwrap_or(self.whole))
    }

    /// An unknown key; `keys` lists the valid ones.
    pub(crate) fn unknown(&self, keys: &'static str) -> BadNet {
        BadNet::new(self.element, self.key, keys, self.whole)
    }

    pub(crate) fn flag(&self) -> Result<bool, BadNet> {
        match self.value {
            None => Ok(true),
            Some(_) => {
                Err(BadNet::new(self.element, self.key, "a flag without a value", self.whole))
            }
        }
    }

    pub(crate) fn number(
        &self,
        expected: &'static str,
        low: u64,
        high: u64,
    ) -> Result<u64, BadNet> {
        whole(self.value())
            .filter(|number| (low..=high).contains(number))
            .ok_or_else(|| self.bad(expected))
    }

    pub(crate) fn seed(&self) -> Result<u64, BadNet> {
        self.number("a whole number below 2^64", 0, u64::MAX)
    }

    pub(crate) fn time(&self) -> Result<Duration, BadNet> {
        time(self.value()).ok_or_else(|| self.bad(TIME))
    }

    pub(crate) fn rate(&self) -> Result<u64, BadNet> {
        rate(self.value()).ok_or_else(|| self.bad(RATE))
    }

    /// Two rates `forward/reverse`, or one for both.
    pub(crate) fn rates(&self) -> Result<(u64, Option<u64>), BadNet> {
        match self.value().split_once('/') {
            None => Ok((self.rate()?, None)),
            Some((forward, reverse)) => {
                let pair = rate(forward).zip(rate(reverse)).ok_or_else(|| self.bad(RATE))?;
                Ok((pair.0, Some(pair.1)))
            }
        }
    }

    pub(crate) fn size(&self, low: u64, high: u64) -> Result<u64, BadNet> {
        size(self.value()).filter(|size| (low..=high).contains(size)).ok_or_else(|| self.bad(SIZE))
    }

    pub(crate) fn chance(&self) -> Result<Probability, BadNet> {
        chance(self.value()).ok_or_else(|| self.bad(CHANCE))
    }

    pub(crate) fn cost(&self) -> Result<Cost, BadNet> {
        let (packet, byte) = self.value().split_once('+').unwrap_or((self.value(), "0ns"));
        let packet = time(packet).and_then(|time| u64::try_from(time.as_nanos()).ok());
        let byte = picoseconds(byte).and_then(|ps| u64::try_from(ps).ok());
        let byte = byte.filter(|ps| *ps <= 1_000_000_000_000);
        packet
            .zip(byte)
            .map(|(packet_ns, byte_ps)| Cost { packet_ns, byte_ps })
            .ok_or_else(|| self.bad(COST))
    }
}

/// Cost of a packet: fixed, and per byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Nanoseconds per packet (or call).
    pub packet_ns: u64,
    /// Picoseconds per byte.
    pub byte_ps: u64,
}

impl Cost {
    /// Nothing.
    pub const NONE: Self = Self { packet_ns: 0, byte_ps: 0 };

    /// Cost of a packet of this many bytes, in picoseconds.
    pub const fn of_ps(self, bytes: usize) -> u128 {
        self.packet_ns as u128 * 1000 + self.byte_ps as u128 * bytes as u128
    }

    /// The same in whole nanoseconds.
    pub const fn of_ns(self, bytes: usize) -> u64 {
        (self.of_ps(bytes) / 1000) as u64
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Shown(Duration::from_nanos(self.packet_ns)))?;
        match self.byte_ps {
            0 => Ok(()),
            ps if ps % 1000 == 0 => write!(f, "+{}ns", ps / 1000),
            ps => write!(f, "+{ps}ps"),
        }
    }
}

fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// A decimal number as (digits, number of decimals); at most 18 of both together.
fn decimal(text: &str) -> Option<(u64, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all = || whole.bytes().chain(fraction.bytes());
    let digits = all().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits || whole.len() + fraction.len() > 18 {
        return None;
    }
    let value = all().fold(0, |value: u64, byte| value * 10 + u64::from(byte - b'0'));
    Some((value, fraction.len() as u32))
}

/// A decimal number times a unit, if that is a whole number.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (digits, decimals) = decimal(number)?;
    let total = u128::from(digits) * unit;
    let one = 10u128.pow(decimals);
    total.is_multiple_of(one).then_some(total / one)
}

fn picoseconds(text: &str) -> Option<u128> {
    let units = [
        ("ms", 1_000_000_000),
        ("us", 1_000_000),
        ("ns", 1_000),
        ("ps", 1),
        ("s", 1_000_000_000_000),
    ];
    let (number, unit) =
        units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    scaled(number, unit).filter(|ps| *ps <= LONGEST_PS)
}

/// A time in whole nanoseconds.
pub(crate) fn time(text: &str) -> Option<Duration> {
    let ps = picoseconds(text).filter(|ps| ps.is_multiple_of(1000))?;
    u64::try_from(ps / 1000).ok().map(Duration::from_nanos)
}

/// A rate in bit/s, such as `115200`, `64k` or `200M`; at most 100 Gbit/s.
pub fn rate(text: &str) -> Option<u64> {
    let units = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .unwrap_or((text, 1));
    let rate = u64::try_from(scaled(number, unit)?).ok()?;
    (rate <= 100_000_000_000).then_some(rate)
}

pub(crate) fn size(text: &str) -> Option<u64> {
    let units = [("K", 1 << 10), ("M", 1 << 20)];
    let (number, unit) = units
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .unwrap_or((text, 1));
    let size = u64::try_from(scaled(number, unit)?).ok()?;
    (size <= 1 << 30).then_some(size)
}

pub(crate) fn chance(text: &str) -> Option<Probability> {
    if let Some(percent) = text.strip_suffix('%') {
        let (digits, decimals) = decimal(percent)?;
        return Probability::new(digits, decimals + 2);
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        None => (text, 0),
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix('-')?.parse().ok()?),
    };
    let (digits, decimals) = decimal(mantissa)?;
    Probability::new(digits, decimals.checked_add(exponent)?)
}

/// Formats a value in the notation that is parsed.
pub(crate) struct Shown<T>(pub(crate) T);

impl fmt::Display for Shown<Duration> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        match nanos {
            0 => f.write_str("0s"),
            _ if nanos.is_multiple_of(1_000_000_000) => write!(f, "{}s", nanos / 1_000_000_000),
            _ if nanos.is_multiple_of(1_000_000) => write!(f, "{}ms", nanos / 1_000_000),
            _ if nanos.is_multiple_of(1_000) => write!(f, "{}us", nanos / 1_000),
            _ => write!(f, "{nanos}ns"),
        }
    }
}

impl fmt::Display for Shown<Probability> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (digits, scale) = self.0.decimal();
        match scale {
            0 => write!(f, "{}%", digits * 100),
            1 => write!(f, "{}%", digits * 10),
            2 => write!(f, "{digits}%"),
            _ => {
                let one = 10u64.pow(scale - 2);
                let width = scale as usize - 2;
                write!(f, "{}.{:0width$}%", digits / one, digits % one)
            }
        }
    }
}

/// A rate in bit/s.
pub(crate) struct ShownRate(pub(crate) u64);

impl fmt::Display for ShownRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.0;
        match rate {
            0 => f.write_str("0"),
            _ if rate.is_multiple_of(1_000_000_000) => write!(f, "{}G", rate / 1_000_000_000),
            _ if rate.is_multiple_of(1_000_000) => write!(f, "{}M", rate / 1_000_000),
            _ if rate.is_multiple_of(1_000) => write!(f, "{}k", rate / 1_000),
            _ => write!(f, "{rate}"),
        }
    }
}

/// A size in bytes.
pub(crate) struct ShownSize(pub(crate) u64);

impl fmt::Display for ShownSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            size if size >= 1 << 20 && size.is_multiple_of(1 << 20) => {
                write!(f, "{}M", size >> 20)
            }
            size if size >= 1 << 10 && size.is_multiple_of(1 << 10) => {
                write!(f, "{}K", size >> 10)
            }
            size => write!(f, "{size}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ShownRate, ShownSize, chance, picoseconds, rate, size, time};
    use wetstring_proto::Duration;

    #[test]
    fn numbers_have_units() {
        assert_eq!(rate("1.5M"), Some(1_500_000));
        assert_eq!(rate("56k"), Some(56_000));
        assert_eq!(rate("9600"), Some(9600));
        assert_eq!(rate("1.5"), None);
        assert_eq!(rate("101G"), None);
        assert_eq!(size("32K"), Some(32_768));
        assert_eq!(size("1460"), Some(1460));
        assert_eq!(time("21.22ms"), Some(Duration::from_nanos(21_220_000)));
        assert_eq!(time("5ps"), None);
        assert_eq!(picoseconds("4.172ns"), Some(4172));
        assert_eq!(chance("0.1%"), chance("1e-3"));
        assert_eq!(chance("0.001"), chance("1e-3"));
        assert_eq!(chance("101%"), None);
        assert_eq!(ShownRate(1_500_000).to_string(), "1500k");
        assert_eq!(ShownSize(8192).to_string(), "8K");
        for text in ["0.1%", "30%", "100%", "12.5%", "0.0001%"] {
            let shown = super::Shown(chance(text).expect("a chance")).to_string();
            assert_eq!(shown, text);
        }
    }
}
