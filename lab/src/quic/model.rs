//! Description of a QUIC connection.

use crate::net::parse::{BadNet, Param, ShownSize, words};
use std::fmt;
use std::str::FromStr;

/// Congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QuicCongestion {
    /// `NewReno` [RFC 9002 §7].
    NewReno,
    /// CUBIC [RFC 9438], the library's default.
    #[default]
    Cubic,
    /// BBR [draft-cardwell-iccrg-bbr-congestion-control-00], which the library calls experimental.
    Bbr,
}

/// Description of a QUIC connection. See the [module](super).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuicModel {
    /// Bytes of a full datagram without the headers of UDP and IP.
    pub payload_bytes: u16,
    /// Receive windows of the connection and of each stream, and what a sender keeps, in bytes.
    pub window_bytes: u64,
    /// Congestion control of both.
    pub congestion: QuicCongestion,
    /// Seed of connection identifiers and all other randomness.
    pub seed: u64,
}

impl Default for QuicModel {
    fn default() -> Self {
        Self {
            payload_bytes: 1472,
            window_bytes: 1 << 22,
            congestion: QuicCongestion::default(),
            seed: 1,
        }
    }
}

const NAME: &str = "quic";
const KEYS: &str = "one of payload, window, cc, seed";

impl FromStr for QuicModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        if !super::IS_BUILT {
            return Err(BadNet::new(NAME, "quic", "a program that was built with QUIC", text));
        }
        let mut model = Self::default();
        for word in &words(NAME, text, None)? {
            model.set(word)?;
        }
        Ok(model)
    }
}

impl QuicModel {
    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            // What the library can do, and what an IP packet holds.
            "payload" => self.payload_bytes = word.size(1200, 65_507)? as u16,
            "window" => self.window_bytes = word.size(1 << 14, 1 << 30)?,
            "cc" => {
                self.congestion = match word.value() {
                    "reno" => QuicCongestion::NewReno,
                    "cubic" => QuicCongestion::Cubic,
                    "bbr" => QuicCongestion::Bbr,
                    _ => return Err(word.bad("reno, cubic or bbr")),
                };
            }
            "seed" => self.seed = word.seed()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }
}

impl fmt::Display for QuicModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "quic:window={}", ShownSize(self.window_bytes))?;
        if self.payload_bytes != usual.payload_bytes {
            write!(f, ",payload={}", self.payload_bytes)?;
        }
        f.write_str(match self.congestion {
            QuicCongestion::NewReno => ",cc=reno",
            QuicCongestion::Cubic => "",
            QuicCongestion::Bbr => ",cc=bbr",
        })?;
        if self.seed != usual.seed {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}
