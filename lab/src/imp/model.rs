//! Description of a subnet of IMPs between two hosts.

use crate::net::parse::{BadNet, Param, Shown, ShownRate, words};
use crate::serial::Probability;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::Duration;
use wetstring_proto::arpanet::leader::Address;

/// When the destination IMP sends the RFNM of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RfnmAt {
    /// When the host has taken its first packet, so that the RFNM does not depend on its length.
    #[default]
    First,
    /// When the host has accepted the whole message.
    Last,
}

/// IMPs in a row, with a host at each end. Has a text form; see the [module](super).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubnetModel {
    /// Lines between the two hosts' IMPs; 0 if both are at one IMP.
    pub hops: u64,
    /// Bit/s of a line, in each direction.
    pub line_bps: u64,
    /// Bits that go with a packet's data over a line.
    pub overhead_bits: u64,
    /// Time of a signal over a line.
    pub delay: Duration,
    /// Processor time of an IMP for each packet that it takes.
    pub processing: Duration,
    /// Bit/s between host and IMP, in each direction.
    pub host_bps: u64,
    /// Messages under way from one IMP to another; with more, the IMP takes no bits from its host.
    pub window: u64,
    /// Reassembly buffers of an IMP.
    pub buffers: u64,
    /// Of these, kept for messages of a single packet.
    pub spare: u64,
    /// How long a source IMP keeps buffers that came with a RFNM.
    pub hold: Duration,
    /// Buffers for a message of several packets are requested before it is sent.
    pub asks: bool,
    /// When the RFNM is sent.
    pub rfnm: RfnmAt,
    /// Retransmission timeout of a packet.
    pub repeat: Duration,
    /// Chance that a packet is damaged on a line.
    pub damage: Probability,
    /// The random seed.
    pub seed: u64,
}

impl Default for SubnetModel {
    fn default() -> Self {
        Self {
            hops: 1,
            line_bps: 50_000,
            overhead_bits: 168,
            delay: Duration::ZERO,
            processing: Duration::from_millis(1),
            host_bps: 100_000,
            window: 4,
            buffers: 58,
            spare: 0,
            hold: Duration::from_millis(250),
            asks: true,
            rfnm: RfnmAt::First,
            repeat: Duration::from_millis(125),
            damage: Probability::NEVER,
            seed: 1,
        }
    }
}

/// Prefix of a description.
const NAME: &str = "imp";
const KEYS: &str = "one of hops, line, overhead, delay, processing, host, window, buffers, spare, hold, asks, rfnm, \
                    repeat, damage, seed";

impl SubnetModel {
    /// The hosts: MIT Multics, host 0 at IMP 44, and that of CISL, host 0 at IMP 6 (RFC 662).
    pub const HOSTS: [Address; 2] = [Address::from_octet(0x2C), Address::from_octet(0x06)];

    /// Maximum rate of a file in one direction, in thousandths of a character per second: the longest messages
    /// one after the other over the slower of line and host. `None` if nothing takes any time.
    pub fn limit_millicps(&self) -> Option<u64> {
        /// Bits of text in the longest message, with bytes of 36 bits: 222 of them.
        const TEXT: u64 = 7992;
        /// Bits of that message after the leader.
        const MESSAGE: u64 = 8032;
        const PACKETS: u64 = 8;
        let of = |rate_bps: u64, bits: u64| (rate_bps * TEXT * 125).checked_div(bits);
        let line = of(self.line_bps, MESSAGE + PACKETS * self.overhead_bits);
        let host = of(self.host_bps, MESSAGE + super::LEADER_BITS).filter(|_| self.host_bps > 0);
        line.filter(|_| self.line_bps > 0 && self.hops > 0).into_iter().chain(host).min()
    }

    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "hops" => self.hops = word.number("0 to 16 lines", 0, 16)?,
            "line" => self.line_bps = word.rate()?,
            "overhead" => self.overhead_bits = word.number("0 to 1000 bits", 0, 1000)?,
            "delay" => self.delay = word.time()?,
            "processing" => self.processing = word.time()?,
            "host" => self.host_bps = word.rate()?,
            "window" => self.window = word.number("1 to 8 messages", 1, 8)?,
            "buffers" => self.buffers = word.number("8 to 256 buffers", 8, 256)?,
            "spare" => self.spare = word.number("0 to 8 buffers", 0, 8)?,
            "hold" => self.hold = word.time()?,
            "asks" => {
                self.asks = match word.value() {
                    "yes" => true,
                    "no" => false,
                    _ => return Err(word.bad("yes or no")),
                };
            }
            "rfnm" => {
                self.rfnm = match word.value() {
                    "first" => RfnmAt::First,
                    "last" => RfnmAt::Last,
                    _ => return Err(word.bad("first or last")),
                };
            }
            "repeat" => self.repeat = word.time()?,
            "damage" => self.damage = word.chance()?,
            "seed" => self.seed = word.number("a whole number below 2^64", 0, u64::MAX)?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }
}

impl FromStr for SubnetModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        let text = text.trim();
        let text = text.strip_prefix(NAME).and_then(|rest| rest.strip_prefix(':')).unwrap_or(text);
        for word in words(NAME, text, Some("hops"))? {
            model.set(&word)?;
        }
        Ok(model)
    }
}

impl fmt::Display for SubnetModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "{NAME}:{}", self.hops)?;
        let rates =
            [("line", self.line_bps, usual.line_bps), ("host", self.host_bps, usual.host_bps)];
        for (key, rate, _) in rates.iter().filter(|(_, rate, usual)| rate != usual) {
            write!(f, ",{key}={}", ShownRate(*rate))?;
        }
        let numbers = [
            ("overhead", self.overhead_bits, usual.overhead_bits),
            ("window", self.window, usual.window),
            ("buffers", self.buffers, usual.buffers),
            ("spare", self.spare, usual.spare),
        ];
        for (key, number, _) in numbers.iter().filter(|(_, number, usual)| number != usual) {
            write!(f, ",{key}={number}")?;
        }
        let times = [
            ("delay", self.delay, usual.delay),
            ("processing", self.processing, usual.processing),
            ("hold", self.hold, usual.hold),
            ("repeat", self.repeat, usual.repeat),
        ];
        for (key, time, _) in times.iter().filter(|(_, time, usual)| time != usual) {
            write!(f, ",{key}={}", Shown(*time))?;
        }
        if !self.asks {
            f.write_str(",asks=no")?;
        }
        if self.rfnm == RfnmAt::Last {
            f.write_str(",rfnm=last")?;
        }
        if self.damage != usual.damage {
            write!(f, ",damage={}", Shown(self.damage))?;
        }
        if self.seed != usual.seed {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}
