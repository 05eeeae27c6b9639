//! Description of a serial line.

use crate::element::End;
use wetstring_proto::Duration;

/// A chance, as a decimal number that is kept exactly: `digits` x 10^-`scale`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Probability {
    digits: u64,
    scale: u32,
}

impl Probability {
    /// Never.
    pub const NEVER: Self = Self { digits: 0, scale: 0 };

    /// `digits` x 10^-`scale`; `None` unless it is 0, or between 10^-12 and 1.
    pub const fn new(digits: u64, scale: u32) -> Option<Self> {
        if digits == 0 {
            return Some(Self::NEVER);
        }
        let (mut digits, mut scale) = (digits, scale);
        while scale > 0 && digits % 10 == 0 {
            digits /= 10;
            scale -= 1;
        }
        if scale > 18 {
            return None;
        }
        let one = 10u64.pow(scale);
        if digits > one || (digits as u128) * 1_000_000_000_000 < one as u128 {
            return None;
        }
        Some(Self { digits, scale })
    }

    /// The digits and the number of decimals.
    pub const fn decimal(self) -> (u64, u32) {
        (self.digits, self.scale)
    }

    /// The same, in units of 2^-64.
    pub(crate) const fn of_2_to_64(self) -> u128 {
        ((self.digits as u128) << 64) / 10u128.pow(self.scale)
    }
}

/// What the eighth bit of a character is on a line of seven data bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Parity {
    /// There is none: the bit is lost on the way and comes out as zero, if the line has seven bits.
    #[default]
    None,
    /// It makes the number of ones even.
    Even,
    /// It makes the number of ones odd.
    Odd,
    /// It is one.
    Mark,
    /// It is zero.
    Space,
}

impl Parity {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::None, Self::Even, Self::Odd, Self::Mark, Self::Space];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Even => "even",
            Self::Odd => "odd",
            Self::Mark => "mark",
            Self::Space => "space",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parity| parity.name() == name)
    }
}

/// Noise bursts: `len` characters in a row are damaged, periodically.
///
/// The distance between two bursts is counted in characters that the line carries, one direction
/// at a time; the time in between, when the line is idle, does not count. So the same characters
/// suffer whatever the writes and the pauses were. The place of the first burst comes from the
/// seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    /// Damaged characters per burst.
    pub len: u64,
    /// From the begin of one to the begin of the next.
    pub every: Period,
}

/// A distance on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Period {
    /// The time that the characters in between take on the line. Needs a line with a rate.
    Time(Duration),
    /// Characters.
    Bytes(u64),
}

/// Which directions suffer from the faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    /// From end A to end B.
    Forward,
    /// From end B to end A.
    Reverse,
    /// Either.
    #[default]
    Both,
}

impl Direction {
    /// Whether it includes what is offered at `end`.
    pub const fn includes(self, end: End) -> bool {
        matches!((self, end), (Self::Both, _) | (Self::Forward, End::A) | (Self::Reverse, End::B))
    }
}

/// Description of a serial line. Has a text form; see the [module](super).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineModel {
    /// Bit/s; 0 for a line that takes no time.
    pub rate_bps: u64,
    /// Bit/s from B to A, if it is another.
    pub reverse_rate_bps: Option<u64>,
    /// Line bits per character, start, parity and stop bits included: 10 for 8N1 and 7E1.
    pub bits: u32,
    /// From the moment a character has left to the moment it has arrived.
    pub delay: Duration,
    /// What the ports at both ends say their rate is, in bit/s; `None`: the line's.
    pub port_bps: Option<u64>,
    /// Characters that the sending side of the line takes ahead of their time.
    pub buffer_bytes: usize,
    /// The eighth bit does not get through.
    pub seven_bit: bool,
    /// The eighth bit, if it is no data. Anything but `None` implies seven data bits.
    pub parity: Parity,
    /// Chance that a line bit is inverted.
    pub bit_errors: Probability,
    /// Bursts of damage.
    pub burst: Option<Burst>,
    /// Chance that a character is lost.
    pub drop: Probability,
    /// Probability that a character is duplicated.
    pub duplicate: Probability,
    /// Which directions suffer from bit errors, bursts, loss and duplication.
    pub direction: Direction,
    /// Only one direction at a time; this long to turn the line around.
    pub half_duplex: Option<Duration>,
    /// End B sends back what arrives there, as a host with echo does.
    pub echo: bool,
    /// The random seed.
    pub seed: u64,
}

impl Default for LineModel {
    /// A line that takes no time and does no harm.
    fn default() -> Self {
        Self {
            rate_bps: 0,
            reverse_rate_bps: None,
            bits: 10,
            delay: Duration::ZERO,
            port_bps: None,
            buffer_bytes: Self::BUFFER_BYTES,
            seven_bit: false,
            parity: Parity::None,
            bit_errors: Probability::NEVER,
            burst: None,
            drop: Probability::NEVER,
            duplicate: Probability::NEVER,
            direction: Direction::Both,
            half_duplex: None,
            echo: false,
            seed: 1,
        }
    }
}

impl LineModel {
    /// Characters taken ahead unless said otherwise: a UART's FIFO of four times 16.
    pub const BUFFER_BYTES: usize = 64;

    /// A clean line of this rate, 10 bits per character.
    pub fn clean(rate_bps: u64) -> Self {
        Self { rate_bps, ..Self::default() }
    }

    /// The rate of what is offered at `end`, in bit/s; 0 if it takes no time.
    pub const fn rate_from(&self, end: End) -> u64 {
        match (end, self.reverse_rate_bps) {
            (End::B, Some(rate)) => rate,
            _ => self.rate_bps,
        }
    }

    /// The rate that the port at `end` reports, in bit/s; 0 if it reports none.
    pub fn port_rate(&self, end: End) -> u32 {
        let rate_bps = self.port_bps.unwrap_or_else(|| self.rate_from(end));
        u32::try_from(rate_bps).unwrap_or(u32::MAX)
    }

    /// The time that this many characters from `end` take on the line, delay not included; the
    /// limit against which a transfer is measured.
    pub fn time_of(&self, end: End, characters: u64) -> Duration {
        let rate = u128::from(self.rate_from(end));
        let bits = u128::from(characters) * u128::from(self.bits);
        let ns = (bits * 1_000_000_000).checked_div(rate).unwrap_or(0);
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Whether the eighth bit of a character can be seen at the peer, as data or as parity.
    pub const fn shows_bit_8(&self) -> bool {
        !self.seven_bit || !matches!(self.parity, Parity::None | Parity::Space)
    }

    /// A character as the sender's end puts it on the line.
    pub(crate) const fn dress(&self, byte: u8) -> u8 {
        let seven = byte & 0x7f;
        let odd = seven.count_ones() % 2 == 1;
        match self.parity {
            Parity::None if self.seven_bit => seven,
            Parity::None => byte,
            Parity::Even if odd => seven | 0x80,
            Parity::Odd if !odd => seven | 0x80,
            Parity::Mark => seven | 0x80,
            Parity::Even | Parity::Odd | Parity::Space => seven,
        }
    }

    /// Whether [`LineModel::dress`] changes anything.
    pub(crate) const fn dresses(&self) -> bool {
        self.seven_bit || !matches!(self.parity, Parity::None)
    }
}
