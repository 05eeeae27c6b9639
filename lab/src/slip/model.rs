//! A SLIP line, described.

use crate::element::End;
use crate::net::parse::{BadNet, Param, words};
use std::fmt;
use std::str::FromStr;
use wetstring_proto::slip::mtu::{CUSTOMARY_MTU, SHORTEST_MTU};
use wetstring_proto::slip::{Compression, Config, QueueConfig, Rate, differential, table};

/// Header compression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Headers {
    /// Nothing: 40 bytes of TCP and IP [RFC 1055].
    Plain,
    /// Van Jacobson's compression [RFC 1144].
    Vj,
    /// The words that changed: eleven bytes for an acknowledgement, as SLIP on Telebit (1989) has it.
    Eleven,
}

impl Headers {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Vj, Self::Eleven];

    /// The word in a description.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Vj => "vj",
            Self::Eleven => "eleven",
        }
    }

    const fn compression(self) -> Compression {
        match self {
            Self::Plain => Compression::Off,
            Self::Vj => Compression::On,
            Self::Eleven => Compression::Differential,
        }
    }

    /// Bytes of the line around the data of a segment in steady state, its END with it: what is counted
    /// on at least.
    pub const fn least_bytes(self) -> u64 {
        match self {
            Self::Plain => 41,
            // Mask, checksum; values predicted from the previous packet are not sent.
            Self::Vj => 4,
            // Slot and mask; numbers of packet and sequence, checksum.
            Self::Eleven => 11,
        }
    }
}

/// Which rate the ends keep to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pace {
    /// That of the port.
    Port,
    /// This one.
    Rate(u64),
    /// No pacing: the port accepts as much as it can.
    Off,
}

/// A SLIP line and what carries its bytes. Reads and writes itself as text; see the [module](super).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlipModel {
    /// Header compression.
    pub headers: Headers,
    /// Bytes of the longest packet.
    pub mtu: u16,
    /// No priority.
    pub fifo: bool,
    /// Bytes of packets that may wait at each end; `None`: 32 of the longest.
    pub queue_bytes: Option<usize>,
    /// Number of connections whose headers are kept.
    pub slots: u16,
    /// What carries the bytes, from A to B.
    pub line: Vec<String>,
    /// Seed of those of them that name none.
    pub seed: u64,
    pace: Pace,
}

const NAME: &str = "slip";
/// Between what carries the bytes.
const THEN: &str = " then ";
const KEYS: &str = "one of plain, vj, eleven, mtu, priority, fifo, queue, slots, rate, seed";
const WORD: &str = "a line such as 9600 or pep:dte=19200 after ` over `";

impl SlipModel {
    fn over(line: &str) -> Self {
        Self {
            headers: Headers::Vj,
            mtu: CUSTOMARY_MTU,
            fifo: false,
            queue_bytes: None,
            slots: 16,
            line: line.split(THEN).map(|spec| spec.trim().to_owned()).collect(),
            seed: 1,
            pace: Pace::Port,
        }
    }

    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        if let Some(headers) = Headers::ALL.into_iter().find(|of| of.as_str() == word.key) {
            word.flag()?;
            self.headers = headers;
            return Ok(());
        }
        match word.key {
            "mtu" => self.mtu = word.number("68 to 1500 bytes", SHORTEST_MTU.into(), 1500)? as u16,
            "fifo" => self.fifo = word.flag()?,
            "priority" => self.fifo = !word.flag()?,
            "queue" => {
                self.queue_bytes = Some(word.size(SHORTEST_MTU.into(), 1 << 20)? as usize);
            }
            "slots" => self.slots = word.number("3 to 256", 3, table::MOST_SLOTS.into())? as u16,
            "rate" if word.value() == "off" => self.pace = Pace::Off,
            "rate" => self.pace = Pace::Rate(word.rate()?),
            "seed" => self.seed = word.seed()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }

    /// The engines' configuration, at a port of this rate.
    pub(super) fn config(&self, port_bps: u64) -> Config {
        let usual = Config::new(self.mtu);
        let bps = match self.pace {
            Pace::Port => port_bps,
            Pace::Rate(bps) => bps,
            Pace::Off => 0,
        };
        Config {
            compression: self.headers.compression(),
            slots: self.slots,
            queue_bytes: self.queue_bytes.unwrap_or(usual.queue_bytes),
            queue: QueueConfig { fifo: self.fifo, ..usual.queue },
            rate: (bps > 0).then(|| Rate::serial(bps)),
            ..usual
        }
    }
}

impl FromStr for SlipModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let text = text.trim();
        let (own, line) = text.split_once(" over ").unwrap_or((text, ""));
        let own = own.trim().strip_prefix(NAME).unwrap_or(own);
        let own = own.strip_prefix(':').unwrap_or(own).trim();
        let mut model = Self::over(line);
        let words = words(NAME, own, None)?;
        for word in &words {
            model.set(word)?;
        }
        let one_of = |keys: &[&str]| words.iter().filter(|word| keys.contains(&word.key)).count();
        if one_of(&["plain", "vj", "eleven"]) > 1 {
            return Err(BadNet::new(NAME, "vj", "one of plain, vj and eleven", own));
        }
        if one_of(&["fifo", "priority"]) > 1 {
            return Err(BadNet::new(NAME, "fifo", "fifo or priority", own));
        }
        if model.headers == Headers::Eleven && model.slots > differential::MOST_SLOTS {
            return Err(BadNet::new(NAME, "slots", "3 to 16 with eleven", own));
        }
        if line.trim().is_empty() {
            return Err(BadNet::new(NAME, "over", WORD, text));
        }
        if let Err(bad) = model.stretch() {
            return Err(BadNet::new(NAME, "over", WORD, &bad.to_string()));
        }
        Ok(model)
    }
}

impl fmt::Display for SlipModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slip:{},mtu={}", self.headers.as_str(), self.mtu)?;
        if self.fifo {
            f.write_str(",fifo")?;
        }
        if let Some(bytes) = self.queue_bytes {
            write!(f, ",queue={bytes}")?;
        }
        if self.slots != 16 {
            write!(f, ",slots={}", self.slots)?;
        }
        match self.pace {
            Pace::Port => {}
            Pace::Rate(bps) => write!(f, ",rate={bps}")?,
            Pace::Off => f.write_str(",rate=off")?,
        }
        if self.seed != 1 {
            write!(f, ",seed={}", self.seed)?;
        }
        write!(f, " over {}", self.line.join(THEN))
    }
}

/// The end named by a word such as `sender`.
pub(super) fn end_of(word: &str) -> Option<End> {
    match word {
        "sender" => Some(End::A),
        "receiver" => Some(End::B),
        _ => None,
    }
}
