//! The modulations: which bit rates they have, and how many symbols.
//!
//! | name | bit/s | symbols/s | source |
//! |---|---|---|---|
//! | `v22` | 1200, 600 | 600 | V.22 |
//! | `v22bis` | 2400, 1200 | 600 | V.22bis |
//! | `v32` | 9600, 4800 | 2400 | V.32 |
//! | `v32bis` | 14400, 12000, 9600, 7200, 4800 | 2400 | V.32bis |
//! | `v34` | 2400 to 33600 in steps of 2400; each way its own | 2400, 2743, 2800, 3000, 3200, 3429 | V.34 (10/96), table 8; 31200 and 33600 are what is called V.34+ |
//!
//! A modem gathers the bits of a whole mapping frame (one symbol; with V.34 eight symbols, V.34 9.1)
//! before it sends them, and the other one has them when the whole has arrived. The bits then leave
//! as evenly as they came. So a modulation delays by two mapping frames, exactly, beside all that
//! filters, equaliser and decoder take, which no document states.

use std::fmt;

/// A modulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Modulation {
    /// V.22, and Bell 212A, which differs only in the set-up.
    V22,
    /// V.22bis.
    V22bis,
    /// V.32.
    V32,
    /// V.32bis.
    V32bis,
    /// V.34.
    V34,
}

/// A rate of symbols: exactly `numerator` / `denominator` per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SymbolRate {
    /// As it is written: 3429 for 24000/7.
    pub nominal: u32,
    /// Symbols ...
    pub numerator: u64,
    /// ... in this many seconds.
    pub denominator: u64,
    /// The highest bit rate that it carries.
    pub most_bps: u64,
}

const fn rate(nominal: u32, numerator: u64, denominator: u64, most_bps: u64) -> SymbolRate {
    SymbolRate { nominal, numerator, denominator, most_bps }
}

/// V.34 table 1 (2400 a/c) and table 8.
const V34: [SymbolRate; 6] = [
    rate(2400, 2400, 1, 21_600),
    rate(2743, 19_200, 7, 26_400),
    rate(2800, 2800, 1, 26_400),
    rate(3000, 3000, 1, 28_800),
    rate(3200, 3200, 1, 31_200),
    rate(3429, 24_000, 7, 33_600),
];

impl Modulation {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::V22, Self::V22bis, Self::V32, Self::V32bis, Self::V34];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V22 => "v22",
            Self::V22bis => "v22bis",
            Self::V32 => "v32",
            Self::V32bis => "v32bis",
            Self::V34 => "v34",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|modulation| modulation.name() == name)
    }

    /// The default modulation of a bit rate: the first that has it, except that 4800 to 14400 are V.32bis.
    pub fn usual(rate_bps: u64) -> Option<Self> {
        [Self::V22, Self::V22bis, Self::V32bis, Self::V34]
            .into_iter()
            .find(|modulation| modulation.has(rate_bps))
    }

    /// Whether it has this bit rate.
    pub fn has(self, rate_bps: u64) -> bool {
        match self {
            Self::V22 => [600, 1200].contains(&rate_bps),
            Self::V22bis => [1200, 2400].contains(&rate_bps),
            Self::V32 => [4800, 9600].contains(&rate_bps),
            Self::V32bis => [4800, 7200, 9600, 12_000, 14_400].contains(&rate_bps),
            Self::V34 => (2400..=33_600).contains(&rate_bps) && rate_bps.is_multiple_of(2400),
        }
    }

    /// Its bit rates, for an error message.
    pub const fn rates(self) -> &'static str {
        match self {
            Self::V22 => "600 or 1200 bit/s (v22)",
            Self::V22bis => "1200 or 2400 bit/s (v22bis)",
            Self::V32 => "4800 or 9600 bit/s (v32)",
            Self::V32bis => "4800, 7200, 9600, 12000 or 14400 bit/s (v32bis)",
            Self::V34 => "2400 to 33600 bit/s in steps of 2400 (v34)",
        }
    }

    /// The symbol rate for a bit rate: the given nominal one, or the lowest that carries it. `None` if there is
    /// no such rate or if it does not carry this many bits.
    pub fn symbols(self, rate_bps: u64, nominal: Option<u32>) -> Option<SymbolRate> {
        let rates: &[SymbolRate] = match self {
            Self::V22 => &[rate(600, 600, 1, 1200)],
            Self::V22bis => &[rate(600, 600, 1, 2400)],
            Self::V32 => &[rate(2400, 2400, 1, 9600)],
            Self::V32bis => &[rate(2400, 2400, 1, 14_400)],
            Self::V34 => &V34,
        };
        rates
            .iter()
            .find(|rate| rate_bps <= rate.most_bps && nominal.is_none_or(|n| n == rate.nominal))
            .copied()
    }

    /// Symbols of a mapping frame.
    const fn frame_symbols(self) -> u64 {
        match self {
            Self::V34 => 8,
            _ => 1,
        }
    }

    /// What the grouping of bits delays, in ns: two mapping frames.
    pub fn grouping_ns(self, symbols: SymbolRate) -> u64 {
        let SymbolRate { numerator, denominator, .. } = symbols;
        (2 * self.frame_symbols() * denominator * 1_000_000_000).div_ceil(numerator)
    }
}

impl fmt::Display for Modulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
