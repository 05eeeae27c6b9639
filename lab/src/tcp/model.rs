//! Description of a TCP connection.

use crate::element::End;
use crate::net::parse::{BadNet, Param, Shown, ShownSize, size, time, words};
use std::fmt;
use std::str::FromStr;
use wetstring_proto::Duration;

/// Congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Congestion {
    /// Not at all: the receiver's window is the only limit.
    None,
    /// Reno [RFC 5681]: what hosts had in the nineties.
    #[default]
    Reno,
    /// CUBIC [RFC 9438]: what hosts have now.
    Cubic,
}

/// Description of a TCP connection. See the [module](super). Pairs are (end A, end B).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpModel {
    /// Most bytes of data in a segment.
    pub mss_bytes: usize,
    /// Receive buffers, and so the greatest windows, in bytes.
    pub window_bytes: [usize; 2],
    /// Send buffers in bytes.
    pub send_bytes: [usize; 2],
    /// A small segment waits while data is under way [RFC 896].
    pub nagle: bool,
    /// How long an acknowledgement may wait; `None`: it never waits.
    pub delayed_ack: [Option<Duration>; 2],
    /// Congestion control of both.
    pub congestion: Congestion,
    /// The connection is made when the first byte is offered, and not before the beginning.
    pub handshake: bool,
    /// Packets that wait for the network, at most, in each host.
    pub queue: usize,
    /// The port at B, by which a line can tell what is urgent.
    pub port: u16,
    /// Checksums are computed and verified.
    pub checks: bool,
    /// Initial sequence numbers, ports and the phase of ticks come from it.
    pub seed: u64,
}

impl Default for TcpModel {
    fn default() -> Self {
        Self {
            mss_bytes: 1460,
            window_bytes: [32_768; 2],
            send_bytes: [32_768; 2],
            nagle: true,
            delayed_ack: [None; 2],
            congestion: Congestion::Reno,
            handshake: false,
            queue: 50,
            port: LAB_PORT,
            checks: false,
            seed: 1,
        }
    }
}

pub(super) const NAME: &str = "tcp";
/// The laboratory's own port.
const LAB_PORT: u16 = 1649;
const KEYS: &str = "one of mss, window, sendbuf, nagle, nodelay, delack, cc, handshake, queue, port, \
                    checks, seed";

impl FromStr for TcpModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        let words = words(NAME, text, None)?;
        for word in &words {
            model.set(word)?;
        }
        if words.iter().any(|word| word.key == "nagle") && !model.nagle {
            return Err(BadNet::new(NAME, "nodelay", "nagle or nodelay", text));
        }
        Ok(model)
    }
}

/// A value for both ends, or one for each: `32K` or `32K/8K`.
fn pair<T: Copy>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<[T; 2]> {
    match text.split_once('/') {
        None => read(text).map(|both| [both; 2]),
        Some((a, b)) => Some([read(a)?, read(b)?]),
    }
}

impl TcpModel {
    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        const SIZES: &str = "64 bytes to 1024M such as 32K, or 32K/8K (at A and at B)";
        const TIMES: &str = "a time such as 200ms, off, or 200ms/50ms (at A and at B)";
        let sizes = || {
            let read = |text: &str| {
                let size = size(text).filter(|size| (64..=1 << 30).contains(size))?;
                usize::try_from(size).ok()
            };
            pair(word.value(), read).ok_or_else(|| word.bad(SIZES))
        };
        match word.key {
            "mss" => self.mss_bytes = word.size(1, 65_000)? as usize,
            "window" => self.window_bytes = sizes()?,
            "sendbuf" => self.send_bytes = sizes()?,
            // The default; `nodelay` may precede it.
            "nagle" => drop(word.flag()?),
            "nodelay" => self.nagle = !word.flag()?,
            "delack" => {
                let read = |text: &str| match text {
                    "off" => Some(None),
                    _ => time(text).map(Some),
                };
                self.delayed_ack = pair(word.value(), read).ok_or_else(|| word.bad(TIMES))?;
            }
            "cc" => {
                self.congestion = match word.value() {
                    "none" => Congestion::None,
                    "reno" => Congestion::Reno,
                    "cubic" => Congestion::Cubic,
                    _ => return Err(word.bad("none, reno or cubic")),
                };
            }
            "handshake" => self.handshake = word.flag()?,
            "queue" => self.queue = word.number("1 to 100000 packets", 1, 100_000)? as usize,
            "port" => self.port = word.number("1 to 49151", 1, 49_151)? as u16,
            "checks" => self.checks = word.flag()?,
            "seed" => self.seed = word.seed()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }

    /// The most bytes that may be under way from `end`, in steady state: the smallest of the
    /// buffers. Divided by the round trip time it is the rate that no connection exceeds.
    pub fn flight_bytes(&self, end: End) -> usize {
        self.send_bytes[end.index()].min(self.window_bytes[end.other().index()])
    }
}

impl fmt::Display for TcpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "tcp:mss={}", self.mss_bytes)?;
        let sizes = [
            ("window", self.window_bytes, usual.window_bytes),
            ("sendbuf", self.send_bytes, usual.send_bytes),
        ];
        for (key, [a, b], usual) in sizes {
            if [a, b] != usual {
                write!(f, ",{key}={}", ShownSize(a as u64))?;
                if a != b {
                    write!(f, "/{}", ShownSize(b as u64))?;
                }
            }
        }
        if !self.nagle {
            f.write_str(",nodelay")?;
        }
        if self.delayed_ack != usual.delayed_ack {
            let show = |time: Option<Duration>| {
                time.map_or_else(|| "off".to_owned(), |time| Shown(time).to_string())
            };
            let [a, b] = self.delayed_ack;
            write!(f, ",delack={}", show(a))?;
            if a != b {
                write!(f, "/{}", show(b))?;
            }
        }
        f.write_str(match self.congestion {
            Congestion::None => ",cc=none",
            Congestion::Reno => "",
            Congestion::Cubic => ",cc=cubic",
        })?;
        if self.handshake {
            f.write_str(",handshake")?;
        }
        if self.queue != usual.queue {
            write!(f, ",queue={}", self.queue)?;
        }
        if self.port != usual.port {
            write!(f, ",port={}", self.port)?;
        }
        if self.checks {
            f.write_str(",checks")?;
        }
        if self.seed != usual.seed {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}
