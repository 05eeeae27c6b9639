//! Wi-Fi: two stations that contend for one channel, aggregate packets, and change their rate.
//!
//! ```text
//!          DIFS  backoff                      SIFS
//! A: .....|     |_|_|_|_[preamble|MPDU|MPDU|MPDU]    .....
//! B: .....|     |_|_|_|_|_ (stops counting)     [block ack] |  DIFS |_|_[..
//! ```
//!
//! The times are those of 802.11 with OFDM in 5 GHz [IEEE 802.11-2020 table 17-21, 10.3, 19.3]: a slot of 9 us,
//! SIFS 16, DIFS 34, a preamble of 36 (HT mixed format, one stream), symbols of 4 us. A station waits for DIFS and a number of
//! idle slots up to CW, which stops while another sends; it begins at 15 and is doubled up to 1023 after a
//! collision (two backoffs ending in the same slot). What waits in a station goes as one aggregate (A-MPDU), at most
//! `aggregate` packets, 65535 bytes and 5.484 ms, and is acknowledged by a block ack at 24 Mbit/s, 32 us; a
//! single one by an ACK, 28 us. A packet has 38 bytes around it (26 of header, 8 of LLC and SNAP, 4 of check),
//! in an aggregate a delimiter of 4 more and up to 3 that fill it up.
//!
//! Each packet of an aggregate is lost with the chance `per` and sent again with the next one; after `retries` it is
//! given up. The receiver holds back those behind it until then, so that their order stays. Words, after `wifi:`
//!
//! | word | meaning | unless given | source |
//! |---|---|---|---|
//! | `rate=65M` | bit/s of data symbols; `13M-130M@500ms`: one step of the table up or down or none, each time | 65M | 802.11 table 19-27, 19-28: MCS 7, one stream, 20 MHz |
//! | `aggregate=64` | packets in an aggregate; 1: none | 64 | a block ack's window |
//! | `per=1%` | chance of each packet to be lost | 0 | |
//! | `retries=7` | times that it is sent again | 7 | dot11ShortRetryLimit |
//! | `queue=1000p` | packets that may wait in each station | 1000p | Linux: `txqueuelen` |
//! | `mtu=2304` | longer packets are lost | 2304 | 802.11 9.2.4.7 |
//! | `seed=7` | random seed | 1 | |
//!
//! Not modelled: other stations and networks, hidden ones, RTS, the guard interval of 400 ns, how a rate is chosen (it follows from
//! nothing here, and `per` does not follow from it).

use super::chance::Coin;
use super::flight::Flight;
use super::parse::{BadNet, Param, Shown, ShownRate, rate, time, words};
use crate::element::{Element, End, Unit, Usage};
use crate::random::Random;
use crate::serial::Probability;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant, TraceEvent};

/// Description of Wi-Fi. See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WifiModel {
    /// Lowest and highest bit/s of data symbols.
    pub rates_bps: [u64; 2],
    /// How long a rate lasts, if it changes.
    pub every: Option<Duration>,
    /// Packets in an aggregate.
    pub aggregate: usize,
    /// Chance of each packet to be lost.
    pub error: Probability,
    /// Times that it is sent again.
    pub retries: u64,
    /// Packets that may wait in each station.
    pub queue: usize,
    /// Longest packet in bytes.
    pub mtu_bytes: u64,
    /// The random seed.
    pub seed: u64,
}

impl Default for WifiModel {
    fn default() -> Self {
        Self {
            rates_bps: [65_000_000; 2],
            every: None,
            aggregate: 64,
            error: Probability::NEVER,
            retries: 7,
            queue: 1000,
            mtu_bytes: 2304,
            seed: 1,
        }
    }
}

const NAME: &str = "wifi";
const KEYS: &str = "one of rate, aggregate, per, retries, queue, mtu, seed";
/// Rates of one and two streams in 20 MHz with the long guard interval, in kbit/s [802.11 tables 19-27, 19-28].
const TABLE_KBPS: [u64; 12] = [
    6_500, 13_000, 19_500, 26_000, 39_000, 52_000, 58_500, 65_000, 78_000, 104_000, 117_000,
    130_000,
];
const SLOT_NS: u64 = 9_000;
const SIFS_NS: u64 = 16_000;
const DIFS_NS: u64 = SIFS_NS + 2 * SLOT_NS;
const PREAMBLE_NS: u64 = 36_000;
const SYMBOL_NS: u64 = 4_000;
const ACK_NS: u64 = 28_000;
const BLOCK_ACK_NS: u64 = 32_000;
/// The contention window at first and at most, in slots.
const WINDOW: [u64; 2] = [15, 1023];
/// Bytes around a packet, and before it in an aggregate.
const AROUND: u64 = 26 + 8 + 4;
const DELIMITER: u64 = 4;
/// The longest aggregate.
const MOST_BYTES: u64 = 65_535;
const MOST_NS: u64 = 5_484_000;

impl WifiModel {
    /// The time of an aggregate of packets with these lengths at this rate, without its acknowledgement, in ns.
    pub fn air_ns(lens: &[usize], rate_bps: u64) -> u64 {
        let bytes: u64 = match lens {
            [one] => *one as u64 + AROUND,
            many => many.iter().map(|len| sub_frame(*len)).sum(),
        };
        // 16 bits of SERVICE and 6 of tail.
        let bits = u128::from(bytes * 8 + 22) * 1_000_000_000;
        let symbol = u128::from(rate_bps) * u128::from(SYMBOL_NS);
        let symbols = u64::try_from(bits.div_ceil(symbol)).unwrap_or(u64::MAX / SYMBOL_NS);
        PREAMBLE_NS + symbols * SYMBOL_NS
    }

    /// About what one station can carry alone in full aggregates of packets of 1500 bytes at its mean rate, in bit/s.
    pub fn rate_bps(&self) -> u64 {
        let rate = self.rates_bps.iter().sum::<u64>() / 2;
        let fits = (1..=self.aggregate.min(42)).rev();
        let count =
            fits.into_iter().find(|count| Self::air_ns(&vec![1500; *count], rate) <= MOST_NS);
        let count = count.unwrap_or(1);
        let ack = if count == 1 { ACK_NS } else { BLOCK_ACK_NS };
        let mean_wait = DIFS_NS + WINDOW[0] * SLOT_NS / 2;
        let took = Self::air_ns(&vec![1500; count], rate) + SIFS_NS + ack + mean_wait;
        count as u64 * 1500 * 8 * 1_000_000_000 / took
    }

    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "rate" => {
                const RATE: &str = "bit/s above 0 such as 65M, or 13M-130M@500ms";
                let read = || {
                    let Some((range, every)) = word.value().split_once('@') else {
                        return rate(word.value()).map(|one| ([one; 2], None));
                    };
                    let (low, high) = range.split_once('-')?;
                    let every = time(every).filter(|every| !every.is_zero())?;
                    Some(([rate(low)?, rate(high)?], Some(every)))
                };
                let (rates, every) = read().ok_or_else(|| word.bad(RATE))?;
                let listed = |rate: &u64| TABLE_KBPS.iter().any(|kbps| kbps * 1000 == *rate);
                if every.is_some() && (!rates.iter().all(listed) || rates[0] >= rates[1]) {
                    let table = "two rates of the table, the lower first: 6.5M, 13M, 19.5M, 26M, \
                                 39M, 52M, 58.5M, 65M, 78M, 104M, 117M, 130M";
                    return Err(word.bad(table));
                }
                if rates.contains(&0) {
                    return Err(word.bad(RATE));
                }
                self.rates_bps = rates;
                self.every = every;
            }
            "aggregate" => self.aggregate = word.number("1 to 64 packets", 1, 64)? as usize,
            "per" => self.error = word.chance()?,
            "retries" => self.retries = word.number("0 to 255", 0, 255)?,
            "queue" => {
                const QUEUE: &str = "packets such as 1000p";
                let count = word.value().strip_suffix('p').and_then(|count| count.parse().ok());
                self.queue = count.filter(|n| (1..=1 << 20).contains(n)).ok_or(word.bad(QUEUE))?;
            }
            "mtu" => self.mtu_bytes = word.size(1, 2304)?,
            "seed" => self.seed = word.seed()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }
}

/// Bytes of a packet in an aggregate.
fn sub_frame(len: usize) -> u64 {
    DELIMITER + (len as u64 + AROUND).next_multiple_of(4)
}

impl FromStr for WifiModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        for word in words(NAME, text, Some("rate"))? {
            model.set(&word)?;
        }
        Ok(model)
    }
}

impl fmt::Display for WifiModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "wifi:rate={}", ShownRate(self.rates_bps[0]))?;
        if let Some(every) = self.every {
            write!(f, "-{}@{}", ShownRate(self.rates_bps[1]), Shown(every))?;
        }
        if self.error != usual.error {
            write!(f, ",per={}", Shown(self.error))?;
        }
        if self.queue != usual.queue {
            write!(f, ",queue={}p", self.queue)?;
        }
        for (key, value, usual) in [
            ("aggregate", self.aggregate as u64, usual.aggregate as u64),
            ("retries", self.retries, usual.retries),
            ("mtu", self.mtu_bytes, usual.mtu_bytes),
            ("seed", self.seed, usual.seed),
        ] {
            if value != usual {
                write!(f, ",{key}={value}")?;
            }
        }
        Ok(())
    }
}

/// A packet of a station.
#[derive(Clone, Debug)]
struct Packet {
    bytes: Vec<u8>,
    since: u64,
    tries: u64,
    /// The receiver has it, or the sender has given it up.
    arrived: bool,
    lost: bool,
}

/// One station.
#[derive(Clone, Debug)]
struct Station {
    /// In order; all before the first missing one have been delivered.
    packets: VecDeque<Packet>,
    /// Since when it has something to send.
    ready: u64,
    /// Slots left, counted from when the channel was free.
    slots: u64,
    window: u64,
    chance: Random,
    error: Coin,
    flight: Flight,
    usage: Usage,
}

impl Station {
    fn new(model: &WifiModel, name: &str, end: End) -> Self {
        let way = ["fwd", "rev"][end.index()];
        let stream = |what: &str| Random::stream(model.seed, name, &format!("{what} {way}"));
        Self {
            packets: VecDeque::new(),
            ready: 0,
            slots: 0,
            window: WINDOW[0],
            chance: stream("backoff"),
            error: Coin::new(model.error, stream("error")),
            flight: Flight::new(),
            usage: Usage::default(),
        }
    }

    fn draw(&mut self) {
        self.slots = self.chance.between(0, self.window);
    }

    fn collided(&mut self) {
        self.window = (self.window * 2 + 1).min(WINDOW[1]);
        self.draw();
    }

    /// The packets of the next aggregate, by their places.
    fn aggregate(&self, model: &WifiModel, rate: u64) -> Vec<usize> {
        let mut places = Vec::new();
        let mut lens: Vec<usize> = Vec::new();
        // A block ack's window begins with the first packet that is missing.
        for (place, packet) in self.packets.iter().enumerate().take(64) {
            if packet.arrived {
                continue;
            }
            lens.push(packet.bytes.len());
            let bytes: u64 = lens.iter().map(|len| sub_frame(*len)).sum();
            let fits = bytes <= MOST_BYTES && WifiModel::air_ns(&lens, rate) <= MOST_NS;
            if lens.len() > 1 && (!fits || lens.len() > model.aggregate) {
                break;
            }
            places.push(place);
        }
        places
    }
}

/// Wi-Fi between two stations, as an element. See the [module](self).
#[derive(Clone, Debug)]
pub struct Wifi {
    model: WifiModel,
    stations: [Station; 2],
    /// When the channel is free, and was before.
    free: u64,
    /// The rate, its place in the table, and until when.
    rate_bps: u64,
    until: u64,
    changes: Random,
}

impl Wifi {
    /// Wi-Fi of this model with a name of its own, so that two of one seed differ.
    pub fn named(model: &WifiModel, name: &str) -> Self {
        let every = model
            .every
            .map_or(u64::MAX, |every| u64::try_from(every.as_nanos()).unwrap_or(u64::MAX));
        Self {
            model: model.clone(),
            stations: End::BOTH.map(|end| Station::new(model, name, end)),
            free: 0,
            rate_bps: model.rates_bps[1],
            until: every,
            changes: Random::stream(model.seed, name, "rate"),
        }
    }

    /// The rate at this time: one step up or down or none for each period that has passed.
    fn rate_at(&mut self, now: u64) -> u64 {
        let Some(every) = self.model.every else { return self.rate_bps };
        let [low, high] = self.model.rates_bps;
        while self.until <= now {
            self.until =
                self.until.saturating_add(u64::try_from(every.as_nanos()).unwrap_or(u64::MAX));
            let place =
                TABLE_KBPS.iter().position(|kbps| kbps * 1000 == self.rate_bps).unwrap_or(0);
            let next = match self.changes.below(3) {
                0 => place.saturating_sub(1),
                1 => place,
                _ => (place + 1).min(TABLE_KBPS.len() - 1),
            };
            self.rate_bps = (TABLE_KBPS[next] * 1000).clamp(low, high);
        }
        self.rate_bps
    }

    /// When this station sends, if the other does not do so first.
    fn sends_at(&self, end: End) -> Option<u64> {
        let station = &self.stations[end.index()];
        let waits = station.packets.iter().any(|packet| !packet.arrived);
        waits.then(|| station.ready.max(self.free + DIFS_NS + station.slots * SLOT_NS))
    }

    fn next_inside(&self) -> Option<u64> {
        End::BOTH.into_iter().filter_map(|end| self.sends_at(end)).min()
    }

    fn advance(&mut self, cx: &mut Cx<'_>, now: u64) {
        while let Some(at) = self.next_inside().filter(|at| *at <= now) {
            let talks = |end: &End| self.sends_at(*end).is_some_and(|other| other < at + SLOT_NS);
            let talkers: Vec<End> = End::BOTH.into_iter().filter(talks).collect();
            let rate = self.rate_at(at);
            // The others have counted the idle slots.
            let idle = at.saturating_sub(self.free + DIFS_NS) / SLOT_NS;
            for station in &mut self.stations {
                station.slots = station.slots.saturating_sub(idle);
            }
            let ends = talkers.iter().map(|end| self.send(cx, *end, at, rate, talkers.len() > 1));
            self.free = ends.max().unwrap_or(at);
        }
    }

    /// A station sends an aggregate at `at`; gives when its acknowledgement has ended.
    fn send(&mut self, cx: &mut Cx<'_>, end: End, at: u64, rate: u64, collides: bool) -> u64 {
        let station = &mut self.stations[end.index()];
        let places = station.aggregate(&self.model, rate);
        let lens: Vec<usize> =
            places.iter().map(|place| station.packets[*place].bytes.len()).collect();
        let sent = at + WifiModel::air_ns(&lens, rate);
        let over = sent + SIFS_NS + if lens.len() == 1 { ACK_NS } else { BLOCK_ACK_NS };
        station.usage.bits += lens.iter().sum::<usize>() as u64 * 8;
        station.usage.busy_ns += over - at;
        for place in places {
            let failed = station.error.toss() || collides;
            let packet = &mut station.packets[place];
            packet.tries += 1;
            packet.lost = failed && packet.tries > self.model.retries;
            packet.arrived = !failed || packet.lost;
        }
        if collides {
            station.collided();
        } else {
            station.window = WINDOW[0];
            station.draw();
        }
        // Delivered in order: a missing packet delays the later ones.
        while station.packets.front().is_some_and(|packet| packet.arrived)
            && let Some(packet) = station.packets.pop_front()
        {
            station.usage.queued_packets += 1;
            station.usage.queued_ns += sent - packet.since;
            if packet.lost {
                station.usage.dropped_bytes += packet.bytes.len() as u64;
                note(cx, sent, ["loss_fwd", "loss_rev"], end, packet.bytes.len());
            } else {
                station.flight.put(sent, &packet.bytes);
            }
        }
        station.ready = over;
        over
    }
}

fn note(cx: &mut Cx<'_>, at: u64, names: [&'static str; 2], end: End, len: usize) {
    if cx.trace.enabled() {
        let event = TraceEvent::Value { name: names[end.index()], value: len as u64 };
        cx.trace.record(Instant(at), &event);
    }
}

impl Element for Wifi {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let now = cx.now.as_nanos();
        // A packet that arrives as an aggregate begins is part of it.
        self.advance(cx, now.saturating_sub(1));
        let station = &mut self.stations[end.index()];
        station.usage.bytes_in += bytes.len() as u64;
        let too_long = bytes.len() as u64 > self.model.mtu_bytes;
        if too_long || station.packets.len() >= self.model.queue {
            station.usage.dropped_bytes += bytes.len() as u64;
            let names = [["queue_full_fwd", "queue_full_rev"], ["too_long_fwd", "too_long_rev"]];
            note(cx, now, names[usize::from(too_long)], end, bytes.len());
            return bytes.len();
        }
        let since = now;
        let was_idle = station.packets.iter().all(|packet| packet.arrived);
        if was_idle {
            station.ready = now;
            // One that finds the channel busy and has not waited yet has to.
            if now < self.free && station.slots == 0 {
                station.draw();
            }
        }
        let bytes_len = bytes.len();
        let packet = Packet { bytes: bytes.to_vec(), since, tries: 0, arrived: false, lost: false };
        station.packets.push_back(packet);
        bytes_len
    }

    fn next(&self, end: End) -> Option<Instant> {
        let came = self.stations[end.other().index()].flight.next();
        came.into_iter().chain(self.next_inside()).min().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let now = cx.now.as_nanos();
        self.advance(cx, now);
        let station = &mut self.stations[end.other().index()];
        station.flight.emit(now, &mut station.usage, into)
    }

    fn room(&self, _: End) -> Option<Instant> {
        None
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.stations[end.index()].usage
    }

    fn calm(&mut self) {
        for station in &mut self.stations {
            station.error.never();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_proto::NoTrace;

    fn wifi(text: &str) -> Wifi {
        Wifi::named(&text.parse().expect("wifi"), "wifi")
    }

    fn at(ns: u64, trace: &mut NoTrace) -> Cx<'_> {
        Cx { now: Instant(ns), trace }
    }

    #[test]
    fn times_on_the_air_are_those_of_the_standard() {
        // 1538 bytes and 22 bits at 260 bits a symbol: 48 symbols of 4 us, and 36 us before them.
        assert_eq!(WifiModel::air_ns(&[1500], 65_000_000), 36_000 + 48 * 4_000);
        // Two in an aggregate: 1540 and 4 each, 24726 bits in 96 symbols.
        assert_eq!(WifiModel::air_ns(&[1500, 1500], 65_000_000), 36_000 + 96 * 4_000);
    }

    #[test]
    fn a_packet_on_an_idle_channel_goes_at_once_and_the_next_waits() {
        let mut wifi = wifi("65M");
        let mut none = NoTrace;
        wifi.offer(&mut at(1_000_000, &mut none), End::A, &[0; 1500]);
        assert_eq!(wifi.next(End::B), Some(Instant(1_000_000)));
        let mut into = [0; 1500];
        assert_eq!(wifi.emit(&mut at(1_000_000, &mut none), End::B, &mut into), 0);
        assert_eq!(wifi.next(End::B), Some(Instant(1_228_000)));
        // Acknowledged after SIFS and 28 us; then DIFS and its slots.
        wifi.offer(&mut at(1_100_000, &mut none), End::A, &[0; 1500]);
        let slots = wifi.stations[0].slots;
        let sends = wifi.sends_at(End::A);
        assert_eq!(sends, Some(1_228_000 + 16_000 + 28_000 + 34_000 + slots * 9_000));
        assert!(slots <= 15);
    }

    /// Bytes per second of packets of 1500 in one direction, and in the other `back` of 40 for each.
    fn carried(text: &str, back: bool) -> u64 {
        let mut wifi = wifi(text);
        let (mut none, mut into, mut now, mut came) = (NoTrace, vec![0; 2304], 0, 0);
        while now < 2_000_000_000 {
            let mut cx = at(now, &mut none);
            while wifi.stations[0].packets.len() < 200 {
                wifi.offer(&mut cx, End::A, &[0; 1500]);
            }
            for end in End::BOTH {
                while wifi.emit(&mut cx, end, &mut into) > 0 {
                    came += if end == End::B { 1500 } else { 0 };
                    if end == End::B && back {
                        wifi.offer(&mut cx, End::B, &[0; 40]);
                    }
                }
            }
            now = End::BOTH
                .into_iter()
                .filter_map(|end| wifi.next(end))
                .min()
                .map_or(u64::MAX, Instant::as_nanos);
        }
        came / 2
    }

    #[test]
    fn aggregates_carry_more_and_answers_cost_little_of_it() {
        // Alone: 272 + 34 us and 7.5 slots of 9 are 373.5 us for 1500 bytes, 4.02 MB/s.
        let single = carried("65M,aggregate=1", false);
        assert!((3_950_000..4_080_000).contains(&single), "{single}");
        // 28 in 5.484 ms: 1544 x 28 x 8 bits are 1331 symbols, 5360 us; with 149.5 around them 7.62 MB/s.
        let many = carried("65M", false);
        assert!((7_540_000..7_700_000).contains(&many), "{many}");
        assert!(many * 8 / 1000 * 99 / 100 <= WifiModel::default().rate_bps() / 1000);
        let both = carried("65M", true);
        assert!(both < many && both > many * 85 / 100, "{both}");
    }

    #[test]
    fn what_is_lost_is_sent_again_in_order_and_given_up_at_the_limit() {
        let mut wifi = wifi("65M,per=30%");
        let (mut none, mut into, mut came) = (NoTrace, vec![0; 2304], Vec::new());
        for number in 0..100u8 {
            wifi.offer(&mut at(0, &mut none), End::A, &[number; 500]);
        }
        while let Some(next) = wifi.next(End::B) {
            while wifi.emit(&mut at(next.as_nanos(), &mut none), End::B, &mut into) > 0 {
                came.push(into[0]);
            }
        }
        assert_eq!(came, (0..100).collect::<Vec<u8>>());
        let mut never = self::wifi("65M,per=100%,retries=1");
        never.offer(&mut at(0, &mut none), End::A, &[1; 500]);
        while let Some(next) = never.next(End::B) {
            assert_eq!(never.emit(&mut at(next.as_nanos(), &mut none), End::B, &mut into), 0);
        }
        assert_eq!(never.usage(End::A).dropped_bytes, 500);
    }

    #[test]
    fn rates_change_by_steps_within_their_range() {
        let mut wifi = wifi("13M-39M@100ms");
        let rates: Vec<u64> = (0..200).map(|n| wifi.rate_at(n * 100_000_000) / 1000).collect();
        assert!(
            rates.iter().all(|rate| [13_000, 19_500, 26_000, 39_000].contains(rate)),
            "{rates:?}"
        );
        assert!(rates.contains(&13_000) && rates.contains(&39_000));
    }

    #[test]
    fn a_description_is_read_as_it_is_written() {
        for text in ["wifi:rate=65M", "wifi:rate=13M-130M@500ms,per=1%,queue=100p,aggregate=32"] {
            let words = text.strip_prefix("wifi:").expect("wifi");
            assert_eq!(words.parse::<WifiModel>().expect("wifi").to_string(), text);
        }
        for wrong in ["0", "14M-130M@1s", "130M-13M@1s", "65M,aggregate=65", "x=1"] {
            assert!(wrong.parse::<WifiModel>().is_err(), "{wrong}");
        }
    }
}
