//! A line with flow control as text.

use super::control::FlowControl;
use super::direction::{Direction, DirectionSpec};
use crate::element::Usage;
use crate::serial::model::{LineModel, Parity};
use crate::serial::spec::{BadLine, Spec, bad, number, time};
use crate::serial::timeline::CharTime;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::Duration;

/// A serial line with flow control, described. Reads and writes itself as text; see the
/// [module](super).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowModel {
    /// Bit/s.
    pub rate_bps: u64,
    /// Line bits per character, start, parity and stop bits included.
    pub bits: u32,
    /// The eighth bit does not get through.
    pub seven_bit: bool,
    /// The eighth bit, if it is no data.
    pub parity: Parity,
    /// Flow control of the receivers.
    pub flow: FlowControl,
    /// From the signal to its effect at the sender.
    pub reaction: Duration,
    /// Characters that the sender takes ahead of their time.
    pub buffer_bytes: usize,
    /// Characters that a receiver's driver holds.
    pub rx_buffer_bytes: usize,
    /// Stop threshold; default 3/4 of the buffer.
    pub high: Option<usize>,
    /// Restart threshold; default 1/4 of the buffer.
    pub low: Option<usize>,
    /// Characters of the receiving UART's FIFO.
    pub fifo: usize,
    /// From a character in the empty FIFO to the service of its interrupt.
    pub latency: Duration,
}

impl Default for FlowModel {
    fn default() -> Self {
        Self {
            rate_bps: 9600,
            bits: 10,
            seven_bit: false,
            parity: Parity::None,
            flow: FlowControl::None,
            reaction: Duration::ZERO,
            buffer_bytes: LineModel::BUFFER_BYTES,
            rx_buffer_bytes: 256,
            high: None,
            low: None,
            fifo: 16,
            latency: Duration::ZERO,
        }
    }
}

impl FlowModel {
    /// The fill level, in characters, at which the receiver stops the sender.
    pub fn high(&self) -> usize {
        self.high.unwrap_or((self.rx_buffer_bytes * 3 / 4).max(1))
    }

    /// The fill level, in characters, at which the receiver lets the sender continue.
    pub fn low(&self) -> usize {
        self.low.unwrap_or((self.rx_buffer_bytes / 4).min(self.high() - 1))
    }

    /// The part of a line model that dresses characters.
    fn dress(&self) -> LineModel {
        LineModel {
            rate_bps: self.rate_bps,
            bits: self.bits,
            seven_bit: self.seven_bit,
            parity: self.parity,
            ..LineModel::default()
        }
    }

    /// One of its directions.
    pub(crate) fn way(&self) -> DirectionSpec {
        DirectionSpec {
            rate_bps: self.rate_bps,
            dress: self.dress(),
            flow: self.flow,
            reaction: nanos(self.reaction),
            tx_buffer: self.buffer_bytes,
            rx_buffer: self.rx_buffer_bytes,
            high: self.high(),
            low: self.low(),
            fifo: self.fifo,
            latency: nanos(self.latency),
        }
    }

    /// What a direction has carried.
    pub(crate) fn usage(&self, way: &Direction) -> Usage {
        let bits = u64::from(self.bits);
        Usage {
            bytes_in: way.taken,
            bytes_out: way.given,
            bits: way.sent * bits,
            busy_ns: CharTime::new(self.rate_bps, self.bits).after(0, way.sent).0,
            dropped_bytes: way.lost,
            ..Usage::default()
        }
    }
}

/// Whole nanoseconds.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

const KEYS: &str = "one of rate, none, rtscts, xonxoff, reaction, rxbuf, high, low, fifo, latency, \
                    buffer, bits, 7bit, parity";
const CHARACTERS: &str = "1 to 1048576 characters";
const RATE: &str = "a rate in bit/s first, 1 to 100000000000, such as 19200";

impl FromStr for FlowModel {
    type Err = BadLine;

    fn from_str(text: &str) -> Result<Self, BadLine> {
        let mut model = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        let mut words = text.split(',').map(str::trim);
        let rate = words.next().unwrap_or("");
        let rate = rate.strip_prefix("rate=").unwrap_or(rate);
        model.rate_bps = number("rate", rate, RATE, 1, 100_000_000_000)?;
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let (key, value) = (key.trim(), value.trim());
            let is_flow = FlowControl::named(key).is_some();
            let name = if is_flow { "flow" } else { key };
            if seen.contains(&name) {
                return Err(bad(name, "it once", word));
            }
            seen.push(name);
            model.set(key, value, word)?;
        }
        model.check()?;
        Ok(model)
    }
}

impl FlowModel {
    fn set(&mut self, key: &str, value: &str, word: &str) -> Result<(), BadLine> {
        let count =
            || number(key, value, CHARACTERS, 1, 1 << 20).map(|characters| characters as usize);
        match key {
            "none" | "rtscts" | "xonxoff" | "7bit" if word.contains('=') => {
                return Err(bad(key, "a flag without a value", word));
            }
            "7bit" => self.seven_bit = true,
            "reaction" => self.reaction = time(key, value)?,
            "latency" => self.latency = time(key, value)?,
            "rxbuf" => self.rx_buffer_bytes = count()?,
            "high" => self.high = Some(count()?),
            "low" => {
                self.low = Some(number(key, value, "0 or more characters", 0, 1 << 20)? as usize);
            }
            "fifo" => self.fifo = count()?,
            "buffer" => self.buffer_bytes = count()?,
            "bits" => {
                self.bits = number(key, value, "9 to 12 line bits per character", 9, 12)? as u32;
            }
            "parity" => {
                self.parity = Parity::named(value)
                    .ok_or_else(|| bad(key, "none, even, odd, mark or space", value))?;
                self.seven_bit |= self.parity != Parity::None;
            }
            _ => match FlowControl::named(key) {
                Some(flow) => self.flow = flow,
                None => return Err(bad(key, KEYS, word)),
            },
        }
        Ok(())
    }

    /// What only the whole description can tell.
    fn check(&self) -> Result<(), BadLine> {
        let high = self.high();
        if high > self.rx_buffer_bytes {
            return Err(bad("high", "at most rxbuf", &high.to_string()));
        }
        if self.low() >= high {
            return Err(bad("low", "less than high", &self.low().to_string()));
        }
        Ok(())
    }
}

impl fmt::Display for FlowModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "{}", self.rate_bps)?;
        if self.flow != usual.flow {
            write!(f, ",{}", self.flow.name())?;
        }
        for (key, value, usual) in
            [("reaction", self.reaction, usual.reaction), ("latency", self.latency, usual.latency)]
        {
            if value != usual {
                write!(f, ",{key}={}", Spec(value))?;
            }
        }
        for (key, value, usual) in [
            ("rxbuf", self.rx_buffer_bytes, usual.rx_buffer_bytes),
            ("fifo", self.fifo, usual.fifo),
            ("buffer", self.buffer_bytes, usual.buffer_bytes),
            ("bits", self.bits as usize, usual.bits as usize),
        ] {
            if value != usual {
                write!(f, ",{key}={value}")?;
            }
        }
        for (key, value) in [("high", self.high), ("low", self.low)] {
            if let Some(value) = value {
                write!(f, ",{key}={value}")?;
            }
        }
        match self.parity {
            Parity::None if self.seven_bit => f.write_str(",7bit"),
            Parity::None => Ok(()),
            parity => write!(f, ",parity={}", parity.name()),
        }
    }
}
