//! A UART over Bluetooth Low Energy: what a phone or a computer and a small board exchange as characters.
//!
//! ```text
//! |<------------ interval ------------>|
//! C P C P C P C P ......................C P C P      C: central (end A), P: peripheral (end B)
//!  ^150 us                                           at most `packets` exchanges in an event
//! ```
//!
//! Characters wait for the next connection event. In it central and peripheral send one packet each in turn, an empty
//! one if there is nothing, 150 us apart, as long as either has more, `packets` allows it and the interval has
//! time for another exchange of full packets [Core 5.4 Vol 6 Part B 4.5.1, 4.5.6]. A write without response or
//! a notification has up to MTU - 3 characters [Vol 3 Part F 3.4.5.3, 3.4.7.1]; with those 3 and the 4 of L2CAP
//! it goes in packets of the link layer with up to `pdu` bytes, each of which has 10 more around it, 8 us a byte
//! (2M: 11, 4 us) [Vol 6 Part B 2.1, 2.2]. Its characters arrive with its last packet.
//!
//! The link layer repeats what is lost, so that no character is lost or damaged, and an event ends with a
//! packet that was missed [4.5.6]: here such an exchange is repeated whole in the next event. Words, after `ble:`
//!
//! | word | meaning | unless given | source |
//! |---|---|---|---|
//! | `interval=30ms` | connection interval, 7.5 ms to 4 s in steps of 1.25 ms | 30 ms | Core 5.4 Vol 6 Part B 4.5.1; what phones grant: assumed |
//! | `mtu=23` | ATT's, 23 to 517 | 23 | Vol 3 Part G 5.2.1 |
//! | `pdu=27` | payload of the link layer, 27 to 251 | 27 | Vol 6 Part B 2.4 |
//! | `packets=4` | exchanges in an event | 4 | assumed: usual in phones |
//! | `phy=1M` | 1M or 2M | 1M | |
//! | `loss=1%` | chance of each packet to be missed | 0 | |
//! | `buffer=1024` | characters that each end takes ahead | 1024 | assumed |
//! | `rate=115200` | what the ports claim | 115200 | |
//! | `seed=7` | random seed | 1 | |
//!
//! Not modelled: encryption (4 bytes more per packet), latency of the peripheral, the two directions' claims on
//! one radio by other connections.

use super::arrived::Arrived;
use crate::element::{Element, End, Usage};
use crate::net::chance::Coin;
use crate::net::parse::{BadNet, Param, Shown, words};
use crate::random::Random;
use crate::serial::Probability;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant, TraceEvent};

/// Description of a UART over BLE. See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BleModel {
    /// From one connection event to the next.
    pub interval: Duration,
    /// The MTU of ATT.
    pub mtu_bytes: usize,
    /// The most that a packet of the link layer carries.
    pub pdu_bytes: usize,
    /// Exchanges in an event.
    pub packets: u64,
    /// 2 Mb/s; else 1.
    pub fast: bool,
    /// Chance of each packet to be missed.
    pub loss: Probability,
    /// Characters that each end takes ahead.
    pub buffer_bytes: usize,
    /// Bit/s that the ports claim.
    pub rate_bps: u64,
    /// The random seed.
    pub seed: u64,
}

impl Default for BleModel {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(30),
            mtu_bytes: 23,
            pdu_bytes: 27,
            packets: 4,
            fast: false,
            loss: Probability::NEVER,
            buffer_bytes: 1024,
            rate_bps: 115_200,
            seed: 1,
        }
    }
}

const NAME: &str = "ble";
const KEYS: &str = "one of interval, mtu, pdu, packets, phy, loss, buffer, rate, seed";
/// A step of the interval, in ns.
const STEP_NS: u64 = 1_250_000;
/// Between two packets, in ns.
const SPACE_NS: u64 = 150_000;
/// Bytes of ATT and of L2CAP before the characters.
const ATT: usize = 3;
const L2CAP: usize = 4;

impl BleModel {
    /// The time of a packet with this payload on the air, in ns.
    pub fn air_ns(&self, payload: usize) -> u64 {
        if self.fast { (payload as u64 + 11) * 4000 } else { (payload as u64 + 10) * 8000 }
    }

    fn interval_ns(&self) -> u64 {
        u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The longest exchange: two full packets, and the spaces behind them.
    fn exchange_ns(&self) -> u64 {
        2 * (self.air_ns(self.pdu_bytes) + SPACE_NS)
    }

    /// Characters per 1000 s in one direction while the other is idle: full packets one way, empty ones the other.
    pub fn limit_millicps(&self) -> u64 {
        let one_way = self.air_ns(self.pdu_bytes) + self.air_ns(0) + 2 * SPACE_NS;
        let room = self.interval_ns().saturating_sub(self.exchange_ns()) / one_way + 1;
        let fragments = (self.mtu_bytes + L2CAP).div_ceil(self.pdu_bytes) as u64;
        let characters = (self.mtu_bytes - ATT) as u64 * room.min(self.packets);
        characters * 1_000_000_000_000 / fragments / self.interval_ns().max(1)
    }

    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "interval" => {
                self.interval = word.time()?;
                let (interval, step) = (self.interval_ns(), u128::from(STEP_NS));
                let steps = (6..=3200).contains(&(interval / STEP_NS));
                if !steps || !self.interval.as_nanos().is_multiple_of(step) {
                    return Err(word.bad("7.5ms to 4s in steps of 1.25ms"));
                }
            }
            "mtu" => self.mtu_bytes = word.number("23 to 517 bytes", 23, 517)? as usize,
            "pdu" => self.pdu_bytes = word.number("27 to 251 bytes", 27, 251)? as usize,
            "packets" => self.packets = word.number("1 to 1000 exchanges", 1, 1000)?,
            "phy" => {
                self.fast = match word.value() {
                    "1M" => false,
                    "2M" => true,
                    _ => return Err(word.bad("1M or 2M")),
                };
            }
            "loss" => self.loss = word.chance()?,
            "buffer" => {
                self.buffer_bytes = word.number("1 to 1048576 characters", 1, 1 << 20)? as usize;
            }
            "rate" => self.rate_bps = word.number("bit/s from 1 to 100000000", 1, 100_000_000)?,
            "seed" => self.seed = word.seed()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }
}

impl FromStr for BleModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        for word in words(NAME, text, None)? {
            model.set(&word)?;
        }
        if model.exchange_ns() > model.interval_ns() {
            let say = "an interval with room for two full packets";
            return Err(BadNet::new(NAME, "interval", say, &Shown(model.interval).to_string()));
        }
        Ok(model)
    }
}

impl fmt::Display for BleModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "ble:interval={}", Shown(self.interval))?;
        if self.fast {
            f.write_str(",phy=2M")?;
        }
        if self.loss != usual.loss {
            write!(f, ",loss={}", Shown(self.loss))?;
        }
        for (key, value, usual) in [
            ("mtu", self.mtu_bytes as u64, usual.mtu_bytes as u64),
            ("pdu", self.pdu_bytes as u64, usual.pdu_bytes as u64),
            ("packets", self.packets, usual.packets),
            ("buffer", self.buffer_bytes as u64, usual.buffer_bytes as u64),
            ("rate", self.rate_bps, usual.rate_bps),
            ("seed", self.seed, usual.seed),
        ] {
            if value != usual {
                write!(f, ",{key}={value}")?;
            }
        }
        Ok(())
    }
}

/// What one end sends.
#[derive(Clone, Debug)]
struct Radio {
    queue: VecDeque<u8>,
    /// Characters that are under way in packets, and how many bytes of those are still to go.
    value: Vec<u8>,
    left: usize,
    came: Arrived,
    miss: Coin,
    short: bool,
    usage: Usage,
}

impl Radio {
    /// The bytes of the next packet: a part of what is under way, or of the next characters.
    fn fragment(&mut self, model: &BleModel) -> usize {
        if self.left == 0 && !self.queue.is_empty() {
            let len = self.queue.len().min(model.mtu_bytes - ATT);
            self.value = self.queue.drain(..len).collect();
            self.left = len + ATT + L2CAP;
        }
        self.left.min(model.pdu_bytes)
    }

    fn has_more(&self) -> bool {
        self.left > 0 || !self.queue.is_empty()
    }

    /// This many bytes have arrived at `at`.
    fn arrived(&mut self, at: u64, len: usize) {
        self.left -= len;
        if self.left == 0 && len > 0 {
            self.came.put(at, std::mem::take(&mut self.value));
        }
    }
}

/// A UART over BLE, as an element. See the [module](self).
#[derive(Clone, Debug)]
pub struct Ble {
    model: BleModel,
    radios: [Radio; 2],
    /// When the next exchange can begin, and how many there were in its event.
    next_exchange: u64,
    count: u64,
    /// Since when there is something to send.
    since: u64,
    now: u64,
}

impl Ble {
    /// A connection of this model; `name` keeps its chance apart from those of others.
    pub fn named(model: &BleModel, name: &str) -> Self {
        let radio = |way| Radio {
            queue: VecDeque::new(),
            value: Vec::new(),
            left: 0,
            came: Arrived::default(),
            miss: Coin::new(model.loss, Random::stream(model.seed, name, way)),
            short: false,
            usage: Usage::default(),
        };
        let radios = ["ble miss fwd", "ble miss rev"].map(radio);
        Self { model: model.clone(), radios, next_exchange: 0, count: 0, since: 0, now: 0 }
    }

    /// The beginning of the first event at or after this time.
    fn event_at(&self, time: u64) -> u64 {
        let interval = self.model.interval_ns();
        time.div_ceil(interval).saturating_mul(interval)
    }

    /// When the next exchange that carries something begins.
    fn next_inside(&self) -> Option<u64> {
        if !self.radios.iter().any(Radio::has_more) {
            return None;
        }
        // What comes when an event has ended waits for the next one.
        let at = if self.count > 0 {
            self.next_exchange
        } else {
            self.event_at(self.since.max(self.next_exchange))
        };
        Some(at)
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        self.now = self.now.max(cx.now.as_nanos());
        while let Some(at) = self.next_inside().filter(|at| *at <= self.now) {
            self.exchange(cx, at);
        }
    }

    /// A packet of the central and one of the peripheral, from `at` on.
    fn exchange(&mut self, cx: &mut Cx<'_>, at: u64) {
        let model = &self.model;
        let lens = [0, 1].map(|index| self.radios[index].fragment(model));
        let first = at + model.air_ns(lens[0]);
        let second = first + SPACE_NS + model.air_ns(lens[1]);
        // Both draw, so that the one does not move the other's chances.
        let missed = [0, 1].map(|index| self.radios[index].miss.toss());
        for (radio, len) in self.radios.iter_mut().zip(lens) {
            radio.usage.busy_ns += model.air_ns(len);
            radio.usage.bits += len as u64 * 8;
        }
        if missed.contains(&true) {
            if cx.trace.enabled() {
                let event = TraceEvent::Value { name: "missed", value: lens[0] as u64 };
                cx.trace.record(Instant(at), &event);
            }
            return self.close(at);
        }
        self.radios[0].arrived(first, lens[0]);
        self.radios[1].arrived(second, lens[1]);
        self.count += 1;
        let begin = at / model.interval_ns() * model.interval_ns();
        self.next_exchange = second + SPACE_NS;
        let ends = self.next_exchange + self.model.exchange_ns();
        let more = self.radios.iter().any(Radio::has_more);
        if !more || self.count >= self.model.packets || ends > begin + self.model.interval_ns() {
            self.close(at);
        }
    }

    /// The event ends, and the next one is that after `at`.
    fn close(&mut self, at: u64) {
        self.count = 0;
        self.next_exchange = self.event_at(at + 1);
    }
}

impl Element for Ble {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let quiet = !self.radios.iter().any(Radio::has_more);
        let radio = &mut self.radios[end.index()];
        let len = bytes.len().min(self.model.buffer_bytes.saturating_sub(radio.queue.len()));
        radio.short = len < bytes.len();
        radio.queue.extend(&bytes[..len]);
        radio.usage.bytes_in += len as u64;
        if quiet && len > 0 {
            self.since = self.now;
        }
        self.advance(cx);
        len
    }

    fn next(&self, end: End) -> Option<Instant> {
        let came = self.radios[end.other().index()].came.next();
        came.into_iter().chain(self.next_inside()).min().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let radio = &mut self.radios[end.other().index()];
        let len = radio.came.take(self.now, into);
        radio.usage.bytes_out += len as u64;
        len
    }

    fn room(&self, end: End) -> Option<Instant> {
        let radio = &self.radios[end.index()];
        match radio.queue.len() < self.model.buffer_bytes {
            _ if !radio.short => None,
            true => Some(Instant(self.now)),
            false => self.next_inside().map(Instant),
        }
    }

    fn usage(&self, end: End) -> Usage {
        self.radios[end.index()].usage
    }

    fn calm(&mut self) {
        for radio in &mut self.radios {
            radio.miss.never();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Bulk;
    use wetstring_proto::NoTrace;

    fn ble(text: &str) -> Ble {
        Ble::named(&text.parse().expect("a connection"), "ble")
    }

    #[test]
    fn a_packet_of_27_bytes_takes_296_us_and_an_empty_one_80() {
        let model = BleModel::default();
        assert_eq!([27, 0].map(|len| model.air_ns(len)), [296_000, 80_000]);
        let fast: BleModel = "phy=2M".parse().expect("a connection");
        assert_eq!([27, 251].map(|len| fast.air_ns(len)), [152_000, 1_048_000]);
    }

    #[test]
    fn characters_wait_for_the_connection_event() {
        let mut ble = ble("");
        let mut cx = Cx { now: Instant(31_000_000), trace: &mut NoTrace };
        assert_eq!(ble.offer(&mut cx, End::A, b"hello"), 5);
        // At 60 ms, in a packet with 12 of payload.
        assert_eq!(ble.next(End::B), Some(Instant(60_000_000)));
        let mut cx = Cx { now: Instant(60_000_000), trace: &mut NoTrace };
        assert_eq!(ble.emit(&mut cx, End::B, &mut [0; 9]), 0);
        assert_eq!(ble.next(End::B), Some(Instant(60_176_000)));
    }

    #[test]
    fn four_packets_of_20_characters_go_in_30_ms() {
        // 80 characters in 30 ms are 2666.7 a second.
        assert_eq!(BleModel::default().limit_millicps(), 2_666_666);
        let report = Bulk::new(8000).run(&mut ble(""), &mut NoTrace);
        // 100 events, the last of which begins at 99 x 30 ms; its fourth packet ends 3 x 676 + 296 us later.
        assert_eq!(report.elapsed.as_nanos(), 2_970_000_000 + 2_324_000);
        // With MTU 247 and packets of 251 each has 244 characters: 2088 us and 80 and twice 150; 7.5 ms have
        // room for two, since an exchange of two full ones takes 4476 us.
        let model: BleModel = "interval=7.5ms,mtu=247,pdu=251,packets=100".parse().expect("one");
        assert_eq!(model.limit_millicps(), 244 * 2 * 1_000_000_000 / 7_500);
    }

    #[test]
    fn what_is_missed_is_repeated_in_the_next_event_and_nothing_is_lost() {
        let clean = Bulk::new(8000).run(&mut ble(""), &mut NoTrace).elapsed;
        let lossy = Bulk::new(8000).run(&mut ble("loss=5%"), &mut NoTrace);
        assert_eq!(lossy.bytes, 8000);
        // Of 4 exchanges 1 - 0.95^8 = 34 % of the events end early.
        let ratio = lossy.elapsed.as_nanos() * 100 / clean.as_nanos();
        assert!((112..140).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_description_is_read_as_it_is_written() {
        for text in ["ble:interval=30ms", "ble:interval=7500us,phy=2M,loss=1%,mtu=247,pdu=251"] {
            let words = text.strip_prefix("ble:").expect("ble");
            assert_eq!(words.parse::<BleModel>().expect("one").to_string(), text);
        }
        for wrong in ["interval=8ms", "mtu=22", "phy=3M", "interval=5ms", "x"] {
            assert!(wrong.parse::<BleModel>().is_err(), "{wrong}");
        }
    }
}
