//! Serial ports as lines: the device and its settings.

use super::{BadLine, part};
use std::fmt;
use std::path::PathBuf;

/// A serial port and its settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SerialSpec {
    /// The device.
    pub path: PathBuf,
    /// Line rate in bit/s; any that the device supports. `None`: [`SerialSpec::BAUD`], and at a PTY the
    /// speed that it has.
    pub baud: Option<u32>,
    /// Parity generated and checked by the hardware.
    pub parity: Parity,
    /// Flow control.
    pub flow: Flow,
    /// Data bits, 5 to 8.
    pub data_bits: u8,
    /// Stop bits, 1 or 2.
    pub stop_bits: u8,
    /// Data Terminal Ready.
    pub dtr: Pin,
    /// Request To Send. Not with `flow=rtscts`, which uses the pin.
    pub rts: Pin,
    /// Length in ms of a break sent after opening, 0 for none.
    pub break_ms: u16,
    /// Half duplex by RTS, switched by the driver.
    pub rs485: Option<Rs485>,
}

/// How a driver switches RTS for RS-485, where both ends share one pair of wires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rs485 {
    /// RTS is low while sending, and high after that.
    pub inverted: bool,
    /// Milliseconds between RTS and the first bit.
    pub before_ms: u16,
    /// Milliseconds between the last bit and RTS.
    pub after_ms: u16,
    /// The receiver stays on while sending.
    pub hears_itself: bool,
}

/// Hardware parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Parity {
    /// No parity bit.
    #[default]
    None,
    /// Even parity.
    Even,
    /// Odd parity.
    Odd,
    /// A parity bit that is always 1.
    Mark,
    /// A parity bit that is always 0.
    Space,
}

/// Flow control of a serial port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flow {
    /// None.
    #[default]
    None,
    /// Hardware: RTS and CTS.
    RtsCts,
    /// Software: XON (17) and XOFF (19).
    XonXoff,
}

/// What to do with an output pin when a serial port is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pin {
    /// Leave it unchanged.
    #[default]
    Keep,
    /// Raise it.
    On,
    /// Drop it.
    Off,
}

impl SerialSpec {
    /// The rate of a device unless told otherwise, in bit/s.
    pub const BAUD: u32 = 115_200;

    /// The rate of a UART with these settings, in bit/s.
    pub fn rate_bps(&self) -> u32 {
        self.baud.unwrap_or(Self::BAUD)
    }

    /// The device at 115200 8N1, no flow control, pins kept.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            baud: None,
            parity: Parity::None,
            flow: Flow::None,
            data_bits: 8,
            stop_bits: 1,
            dtr: Pin::Keep,
            rts: Pin::Keep,
            break_ms: 0,
            rs485: None,
        }
    }

    /// Parses `DEVICE[?key=value&key=value...]`.
    pub(super) fn parse(text: &str) -> Result<Self, BadLine> {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        if path.is_empty() {
            return Err(part("serial", "a device such as /dev/ttyUSB0", text));
        }
        let mut spec = Self::new(path);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            spec.set(key, value)?;
        }
        if spec.rs485.is_some() && (spec.flow == Flow::RtsCts || spec.rts != Pin::Keep) {
            return Err(part("rs485", "no flow=rtscts and no rts with it: it uses the pin", text));
        }
        if spec.flow == Flow::RtsCts && spec.rts != Pin::Keep {
            return Err(part("rts", "keep with flow=rtscts, which uses the pin", text));
        }
        Ok(spec)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), BadLine> {
        match key {
            "baud" => {
                let baud = value.parse().ok().filter(|&baud| baud > 0);
                let expected = "a whole number of bit/s above 0";
                self.baud = Some(baud.ok_or_else(|| part("baud", expected, value))?);
            }
            "parity" => {
                self.parity = match value {
                    "none" => Parity::None,
                    "even" => Parity::Even,
                    "odd" => Parity::Odd,
                    "mark" => Parity::Mark,
                    "space" => Parity::Space,
                    _ => return Err(part("parity", "none|even|odd|mark|space", value)),
                }
            }
            "flow" => {
                self.flow = match value {
                    "none" => Flow::None,
                    "rtscts" => Flow::RtsCts,
                    "xonxoff" => Flow::XonXoff,
                    _ => return Err(part("flow", "none|rtscts|xonxoff", value)),
                }
            }
            "databits" => {
                self.data_bits = match value {
                    "5" => 5,
                    "6" => 6,
                    "7" => 7,
                    "8" => 8,
                    _ => return Err(part("databits", "5|6|7|8", value)),
                }
            }
            "stopbits" => {
                self.stop_bits = match value {
                    "1" => 1,
                    "2" => 2,
                    _ => return Err(part("stopbits", "1|2", value)),
                }
            }
            "dtr" => self.dtr = Pin::parse("dtr", value)?,
            "rts" => self.rts = Pin::parse("rts", value)?,
            "break" => {
                let ms = value.strip_suffix("ms").unwrap_or(value).parse();
                let ms = ms.ok().filter(|ms| (1..=5000).contains(ms));
                self.break_ms = ms.ok_or_else(|| part("break", "1..5000 milliseconds", value))?;
            }
            "rs485" => self.rs485 = Some(Rs485::parse(value)?),
            _ => {
                return Err(part(
                    "serial setting",
                    "baud|parity|flow|databits|stopbits|dtr|rts|break|rs485",
                    key,
                ));
            }
        }
        Ok(())
    }
}

impl Pin {
    fn parse(name: &'static str, value: &str) -> Result<Self, BadLine> {
        match value {
            "keep" => Ok(Self::Keep),
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err(part(name, "on|off|keep", value)),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for SerialSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show("serial:", f)
    }
}

impl SerialSpec {
    /// Only what differs from the default is written.
    pub(super) fn show(&self, prefix: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = Self::new(&self.path);
        write!(f, "{prefix}{}", self.path.display())?;
        let mut separator = '?';
        let mut put = |key: &str, value: &dyn fmt::Display, differs: bool| {
            if differs {
                write!(f, "{separator}{key}={value}")?;
                separator = '&';
            }
            Ok(())
        };
        let parity = match self.parity {
            Parity::None => "none",
            Parity::Even => "even",
            Parity::Odd => "odd",
            Parity::Mark => "mark",
            Parity::Space => "space",
        };
        let flow = match self.flow {
            Flow::None => "none",
            Flow::RtsCts => "rtscts",
            Flow::XonXoff => "xonxoff",
        };
        put("baud", &self.rate_bps(), self.baud != plain.baud)?;
        put("parity", &parity, self.parity != plain.parity)?;
        put("flow", &flow, self.flow != plain.flow)?;
        put("databits", &self.data_bits, self.data_bits != plain.data_bits)?;
        put("stopbits", &self.stop_bits, self.stop_bits != plain.stop_bits)?;
        put("dtr", &self.dtr.as_str(), self.dtr != plain.dtr)?;
        put("rts", &self.rts.as_str(), self.rts != plain.rts)?;
        put("break", &self.break_ms, self.break_ms != 0)?;
        put("rs485", &self.rs485.unwrap_or_default(), self.rs485.is_some())
    }
}

impl Rs485 {
    /// Parses `on`, or tio's list: `RTS_ON_SEND=1,RTS_AFTER_SEND=0,RTS_DELAY_BEFORE_SEND=MS,
    /// RTS_DELAY_AFTER_SEND=MS,RX_DURING_TX`.
    fn parse(text: &str) -> Result<Self, BadLine> {
        let words = "on, or RTS_ON_SEND=0|1,RTS_AFTER_SEND=0|1,RTS_DELAY_BEFORE_SEND=MS,\
                     RTS_DELAY_AFTER_SEND=MS,RX_DURING_TX";
        let wrong = || part("rs485", words, text);
        let mut found = Self::default();
        let (mut on_send, mut after_send) = (None, None);
        for word in text.split(',') {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let bit = || match value {
                "0" => Ok(false),
                "1" => Ok(true),
                _ => Err(wrong()),
            };
            let ms = || value.parse::<u16>().ok().filter(|ms| *ms <= 1000).ok_or_else(wrong);
            match (key.to_ascii_uppercase().as_str(), value) {
                ("ON", "") if text.len() == 2 => {}
                ("RTS_ON_SEND", _) => on_send = Some(bit()?),
                ("RTS_AFTER_SEND", _) => after_send = Some(bit()?),
                ("RTS_DELAY_BEFORE_SEND", _) => found.before_ms = ms()?,
                ("RTS_DELAY_AFTER_SEND", _) => found.after_ms = ms()?,
                ("RX_DURING_TX", "") => found.hears_itself = true,
                _ => return Err(wrong()),
            }
        }
        // RTS with the same level while sending and after it switches nothing.
        found.inverted = match (on_send, after_send) {
            (Some(on), Some(after)) if on == after => return Err(wrong()),
            (on, after) => on == Some(false) || after == Some(true),
        };
        Ok(found)
    }
}

impl fmt::Display for Rs485 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str("on");
        }
        let mut words = Vec::new();
        if self.inverted {
            words.push("RTS_ON_SEND=0,RTS_AFTER_SEND=1".to_owned());
        }
        if self.before_ms > 0 {
            words.push(format!("RTS_DELAY_BEFORE_SEND={}", self.before_ms));
        }
        if self.after_ms > 0 {
            words.push(format!("RTS_DELAY_AFTER_SEND={}", self.after_ms));
        }
        if self.hears_itself {
            words.push("RX_DURING_TX".to_owned());
        }
        f.write_str(&words.join(","))
    }
}
