//! A token ring: a station sends a frame when it gets the token.
//!
//! ```text
//!        A ----> .. hosts .. ----> B
//!        ^                         |
//!        +------ .. hosts .. <-----+        the token and all frames go round one way
//! ```
//!
//! Our two stations are opposite each other, so that a frame passes half of the hosts before the other has it.
//! An idle ring's token circulates; a station with a frame takes it when it passes, sends one frame, removes it
//! when it has come round, and passes the token on. Nothing collides, nothing is lost, and no station sends
//! twice in a row while the other has a frame.
//!
//! The Proteon ProNET-10 of RFC 1030 §5: 10 Mb/s, about 40 hosts, an MTU of 2046 bytes, negligible
//! loss. How long a bit takes from host to host, and what a frame has besides its packet, is not
//! stated. Words, after `ring:`
//!
//! | word | meaning | unless given | source |
//! |---|---|---|---|
//! | `rate=10M` | bit/s | 10M | RFC 1030 §5 |
//! | `hosts=40` | stations on the ring | 40 | RFC 1030 §5 |
//! | `station=1us` | from a station to the next one: cable and repeater | 1 us | assumed |
//! | `overhead=7` | bytes of framing: addresses, delimiters, parity | 7 | assumed |
//! | `mtu=2046` | longer packets are lost | 2046 | RFC 1030 §5 |
//!
//! The cards and hosts, which are what limits a transfer here, are `nic:p1300`.

use super::flight::Wire;
use super::parse::{BadNet, Param, Shown, ShownRate, words};
use super::station::Station;
use crate::element::{Element, End, Unit, Usage};
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant};

/// Description of a token ring. See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RingModel {
    /// Bit/s.
    pub rate_bps: u64,
    /// Stations, ours included.
    pub hosts: u32,
    /// From one station to the next.
    pub station: Duration,
    /// Bytes of framing per packet.
    pub overhead_bytes: u64,
    /// Longest packet in bytes.
    pub mtu_bytes: u64,
}

impl Default for RingModel {
    fn default() -> Self {
        Self {
            rate_bps: 10_000_000,
            hosts: 40,
            station: Duration::from_micros(1),
            overhead_bytes: 7,
            mtu_bytes: 2046,
        }
    }
}

const NAME: &str = "ring";
const KEYS: &str = "one of rate, hosts, station, overhead, mtu";
/// Bits of a token.
const TOKEN_BITS: u64 = 10;
/// Frames that wait in a station; more are refused.
const QUEUE: usize = 2;

impl FromStr for RingModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        for word in words(NAME, text, Some("rate"))? {
            model.set(&word)?;
        }
        Ok(model)
    }
}

impl RingModel {
    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "rate" => {
                self.rate_bps = word.rate()?;
                if self.rate_bps == 0 {
                    return Err(word.bad("a rate above 0 such as 10M"));
                }
            }
            "hosts" => self.hosts = word.number("2 to 255 stations", 2, 255)? as u32,
            "station" => self.station = word.time()?,
            "overhead" => self.overhead_bytes = word.size(0, 65_535)?,
            "mtu" => self.mtu_bytes = word.size(1, 65_535)?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }
}

impl fmt::Display for RingModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "ring:rate={}", ShownRate(self.rate_bps))?;
        if self.hosts != usual.hosts {
            write!(f, ",hosts={}", self.hosts)?;
        }
        if self.station != usual.station {
            write!(f, ",station={}", Shown(self.station))?;
        }
        if self.overhead_bytes != usual.overhead_bytes {
            write!(f, ",overhead={}", self.overhead_bytes)?;
        }
        if self.mtu_bytes != usual.mtu_bytes {
            write!(f, ",mtu={}", self.mtu_bytes)?;
        }
        Ok(())
    }
}

/// A token ring with two stations of ours.
#[derive(Clone, Debug)]
pub struct Ring {
    model: RingModel,
    wire: Wire,
    /// Once around for a token, in ns; at least 1.
    round: u64,
    /// When the token left one of our stations, and which.
    token: (u64, End),
    stations: [Station; 2],
}

impl Ring {
    /// A ring of this model.
    pub fn new(model: &RingModel) -> Self {
        let wire = Wire::new(model.rate_bps);
        let hop = u64::try_from(model.station.as_nanos()).unwrap_or(u64::MAX / 512);
        let round = hop.saturating_mul(u64::from(model.hosts)) + wire.time_of(TOKEN_BITS);
        let stations = [(); 2].map(|()| Station::new(QUEUE, model.mtu_bytes));
        Self { model: model.clone(), wire, round: round.max(1), token: (0, End::B), stations }
    }

    /// When station `end` can take the token, having had a frame since `since`.
    fn takes(&self, end: End, since: u64) -> u64 {
        let (left, from) = self.token;
        // Half a round to the other one, a whole one back to itself; it circulates while unused.
        let first = left + if from == end { self.round } else { self.round / 2 };
        if since <= first {
            return first;
        }
        first + (since - first).div_ceil(self.round) * self.round
    }

    /// Who sends next, and when.
    fn next_frame(&self) -> Option<(u64, End)> {
        let waits = |end: End| {
            let (since, _) = self.stations[end.index()].first()?;
            Some((self.takes(end, since), end))
        };
        End::BOTH.into_iter().filter_map(waits).min_by_key(|(at, end)| (*at, end.index()))
    }

    /// Sends what is sent by `now`.
    fn advance(&mut self, now: u64) {
        while let Some((at, end)) = self.next_frame().filter(|(at, _)| *at <= now) {
            let station = &mut self.stations[end.index()];
            let Some((_, len)) = station.first() else { return };
            let bits = (len as u64 + self.model.overhead_bytes) * 8;
            let sent = self.wire.carry(at, bits);
            station.sent(&self.wire, bits, sent.saturating_add(self.round / 2));
            // The frame comes round before the token continues.
            self.token = (sent.saturating_add(self.round), end);
        }
    }
}

impl Element for Ring {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx.now.as_nanos());
        let too_long = ["too_long_fwd", "too_long_rev"][end.index()];
        self.stations[end.index()].offer(cx, bytes, too_long)
    }

    fn next(&self, end: End) -> Option<Instant> {
        let from = &self.stations[end.other().index()];
        let sends = self.next_frame().filter(|_| from.first().is_some());
        from.arrives().into_iter().chain(sends.map(|(at, _)| at)).min().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let now = cx.now.as_nanos();
        self.advance(now);
        self.stations[end.other().index()].emit(now, into)
    }

    fn room(&self, end: End) -> Option<Instant> {
        self.stations[end.index()].room(self.next_frame().map(|(at, _)| at))
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.stations[end.index()].usage
    }
}
