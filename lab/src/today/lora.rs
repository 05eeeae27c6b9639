//! Characters by LoRa: two modules that make packets of what they are given, on one channel, within a duty cycle.
//!
//! ```text
//! A: [==== packet ====]------ silent: airtime x (1 / duty - 1) ------[==== packet ====]
//! B:                   [= packet =]------ silent ------...
//! ```
//!
//! A module collects characters until it has `payload` of them or for `wait` none has come, and then sends them as one packet.
//! The airtime is that of the chip's data sheet [Semtech SX1276 4.1.1.6, 4.1.1.7]:
//!
//! ```text
//! symbol   = 2^SF / BW
//! preamble = (preamble + 4.25) symbols
//! payload  = 8 + max(ceil((8 PL - 4 SF + 28 + 16) / (4 (SF - 2 DE))) (CR + 4), 0) symbols, with header and check
//! DE       = 1 where a symbol takes 16 ms or more
//! ```
//!
//! Then it is silent until its share of the time is down to `duty` again [ETSI EN 300 220: 1 % in most of
//! 868 MHz, 10 % in one band of it, 0.1 %]. Only one can send at a time: a module listens first and waits for the other
//! to end. Nothing is repeated: a lost packet is a gap of up to `payload` characters. Words, after `lora:`
//!
//! | word | meaning | unless given | source |
//! |---|---|---|---|
//! | `sf=7` | spreading factor, 6 to 12 | 7 | |
//! | `bw=125k` | bandwidth, Hz | 125k | |
//! | `cr=1` | coding rate 4/(4+cr), 1 to 4 | 1 | |
//! | `preamble=8` | symbols | 8 | SX1276 4.1.1.6 |
//! | `duty=1%` | share of the time that each may send; `100%`: no limit | 1 % | EN 300 220 |
//! | `payload=222` | characters of a packet, 1 to 255 | 222 | LoRaWAN RP002 2.5.6, the fastest rates in Europe |
//! | `wait=20ms` | silence after which a packet is sent | 20 ms | assumed |
//! | `loss=1%` | chance of each packet to be lost | 0 | |
//! | `buffer=1024` | characters that each end takes ahead | 1024 | assumed |
//! | `rate=9600` | what the ports claim | 9600 | usual of such modules |
//! | `seed=7` | random seed | 1 | |

use super::arrived::Arrived;
use crate::element::{Element, End, Usage};
use crate::net::chance::Coin;
use crate::net::parse::{BadNet, Param, Shown, ShownRate, words};
use crate::random::Random;
use crate::serial::Probability;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant, TraceEvent};

/// Description of two LoRa modules. See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoraModel {
    /// Spreading factor.
    pub factor: u64,
    /// Bandwidth in Hz.
    pub bandwidth: u64,
    /// The coding rate is 4 / (4 + this).
    pub coding: u64,
    /// Symbols of the preamble.
    pub preamble: u64,
    /// Share of the time that each may send.
    pub duty: Probability,
    /// Characters of a packet.
    pub payload_bytes: usize,
    /// Flush the buffer after this much silence.
    pub wait: Duration,
    /// Chance of each packet to be lost.
    pub loss: Probability,
    /// Characters that each end takes ahead.
    pub buffer_bytes: usize,
    /// Bit/s that the ports claim.
    pub rate_bps: u64,
    /// The random seed.
    pub seed: u64,
}

const NAME: &str = "lora";
const KEYS: &str = "one of sf, bw, cr, preamble, duty, payload, wait, loss, buffer, rate, seed";
/// One percent.
const ONE_PERCENT: Probability = match Probability::new(1, 2) {
    Some(chance) => chance,
    None => Probability::NEVER,
};

impl Default for LoraModel {
    fn default() -> Self {
        Self {
            factor: 7,
            bandwidth: 125_000,
            coding: 1,
            preamble: 8,
            duty: ONE_PERCENT,
            payload_bytes: 222,
            wait: Duration::from_millis(20),
            loss: Probability::NEVER,
            buffer_bytes: 1024,
            rate_bps: 9600,
            seed: 1,
        }
    }
}

impl LoraModel {
    /// The time of a symbol, in ns.
    fn symbol_ns(&self) -> u64 {
        (1_000_000_000 << self.factor) / self.bandwidth
    }

    /// The time of a packet with this many bytes on the air, in ns.
    pub fn air_ns(&self, len: usize) -> u64 {
        let low_rate = u64::from(self.symbol_ns() >= 16_000_000);
        let bits = (8 * len as u64 + 44).saturating_sub(4 * self.factor);
        let coded = bits.div_ceil(4 * (self.factor - 2 * low_rate)) * (self.coding + 4);
        // In quarters of a symbol, for the preamble ends with one.
        let quarters = 4 * (self.preamble + 8 + coded) + 17;
        let ns =
            u128::from(quarters) * (1_000_000_000 << self.factor) / u128::from(4 * self.bandwidth);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// From the beginning of a packet that takes this time to when the next may begin.
    fn period_ns(&self, air_ns: u64) -> u64 {
        let (digits, scale) = self.duty.decimal();
        let period = u128::from(air_ns) * 10u128.pow(scale) / u128::from(digits.max(1));
        u64::try_from(period).unwrap_or(u64::MAX)
    }

    /// Characters per 1000 s in one direction: full packets, as often as the duty cycle allows.
    pub fn limit_millicps(&self) -> u64 {
        let period = self.period_ns(self.air_ns(self.payload_bytes)).max(1);
        self.payload_bytes as u64 * 1_000_000_000_000 / period
    }

    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "sf" => self.factor = word.number("6 to 12", 6, 12)?,
            "bw" => {
                self.bandwidth = word.rate()?;
                if !(7_800..=1_625_000).contains(&self.bandwidth) {
                    return Err(word.bad("7800 to 1625000 Hz, such as 125k"));
                }
            }
            "cr" => self.coding = word.number("1 to 4", 1, 4)?,
            "preamble" => self.preamble = word.number("6 to 65535 symbols", 6, 65_535)?,
            "duty" => {
                self.duty = word.chance()?;
                if self.duty == Probability::NEVER {
                    return Err(word.bad("a share above 0 such as 1%"));
                }
            }
            "payload" => self.payload_bytes = word.number("1 to 255 characters", 1, 255)? as usize,
            "wait" => self.wait = word.time()?,
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

impl FromStr for LoraModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        for word in words(NAME, text, None)? {
            model.set(&word)?;
        }
        if model.buffer_bytes < model.payload_bytes {
            let got = model.buffer_bytes.to_string();
            return Err(BadNet::new(NAME, "buffer", "room for a packet", &got));
        }
        Ok(model)
    }
}

impl fmt::Display for LoraModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "lora:sf={}", self.factor)?;
        if self.bandwidth != usual.bandwidth {
            write!(f, ",bw={}", ShownRate(self.bandwidth))?;
        }
        for (key, value, usual) in
            [("duty", self.duty, usual.duty), ("loss", self.loss, usual.loss)]
        {
            if value != usual {
                write!(f, ",{key}={}", Shown(value))?;
            }
        }
        if self.wait != usual.wait {
            write!(f, ",wait={}", Shown(self.wait))?;
        }
        for (key, value, usual) in [
            ("cr", self.coding, usual.coding),
            ("preamble", self.preamble, usual.preamble),
            ("payload", self.payload_bytes as u64, usual.payload_bytes as u64),
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

/// One module.
#[derive(Clone, Debug)]
struct Module {
    queue: VecDeque<u8>,
    /// When the last character came, and when the queue had a packet's worth.
    last: u64,
    full: u64,
    /// Silent until then.
    silent: u64,
    came: Arrived,
    lost: Coin,
    short: bool,
    usage: Usage,
}

/// Two LoRa modules, as an element. See the [module](self).
#[derive(Clone, Debug)]
pub struct Lora {
    model: LoraModel,
    modules: [Module; 2],
    /// When the channel is free.
    free: u64,
    now: u64,
}

impl Lora {
    /// Modules of this model; `name` keeps their chance apart from those of others.
    pub fn named(model: &LoraModel, name: &str) -> Self {
        let module = |way| Module {
            queue: VecDeque::new(),
            last: 0,
            full: 0,
            silent: 0,
            came: Arrived::default(),
            lost: Coin::new(model.loss, Random::stream(model.seed, name, way)),
            short: false,
            usage: Usage::default(),
        };
        let modules = ["lora loss fwd", "lora loss rev"].map(module);
        Self { model: model.clone(), modules, free: 0, now: 0 }
    }

    /// When the module at this end sends next.
    fn sends_at(&self, end: End) -> Option<u64> {
        let module = &self.modules[end.index()];
        let wait = u64::try_from(self.model.wait.as_nanos()).unwrap_or(u64::MAX);
        let ready = match module.queue.len() {
            0 => return None,
            len if len >= self.model.payload_bytes => module.full,
            _ => module.last.saturating_add(wait),
        };
        Some(ready.max(module.silent).max(self.free))
    }

    /// Who sends next, and when; of both at one time the one at A.
    fn next_inside(&self) -> Option<(u64, End)> {
        let at = |end| self.sends_at(end).map(|at| (at, end));
        End::BOTH.into_iter().filter_map(at).min_by_key(|(at, end)| (*at, end.index()))
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        self.now = self.now.max(cx.now.as_nanos());
        while let Some((at, end)) = self.next_inside().filter(|(at, _)| *at <= self.now) {
            let module = &mut self.modules[end.index()];
            let len = module.queue.len().min(self.model.payload_bytes);
            let packet: Vec<u8> = module.queue.drain(..len).collect();
            let air = self.model.air_ns(len);
            self.free = at.saturating_add(air);
            module.silent = at.saturating_add(self.model.period_ns(air));
            module.full = at;
            module.usage.bits += len as u64 * 8;
            module.usage.busy_ns += air;
            if module.lost.toss() {
                module.usage.dropped_bytes += len as u64;
                if cx.trace.enabled() {
                    let name = ["loss_fwd", "loss_rev"][end.index()];
                    let event = TraceEvent::Value { name, value: len as u64 };
                    cx.trace.record(Instant(self.free), &event);
                }
                continue;
            }
            module.came.put(self.free, packet);
        }
    }
}

impl Element for Lora {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let module = &mut self.modules[end.index()];
        let len = bytes.len().min(self.model.buffer_bytes.saturating_sub(module.queue.len()));
        module.short = len < bytes.len();
        let was_full = module.queue.len() >= self.model.payload_bytes;
        module.queue.extend(&bytes[..len]);
        if len > 0 {
            module.last = self.now;
        }
        if !was_full && module.queue.len() >= self.model.payload_bytes {
            module.full = self.now;
        }
        module.usage.bytes_in += len as u64;
        self.advance(cx);
        len
    }

    fn next(&self, end: End) -> Option<Instant> {
        let came = self.modules[end.other().index()].came.next();
        came.into_iter().chain(self.next_inside().map(|(at, _)| at)).min().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let module = &mut self.modules[end.other().index()];
        let len = module.came.take(self.now, into);
        module.usage.bytes_out += len as u64;
        len
    }

    fn room(&self, end: End) -> Option<Instant> {
        let module = &self.modules[end.index()];
        match module.queue.len() < self.model.buffer_bytes {
            _ if !module.short => None,
            true => Some(Instant(self.now)),
            false => self.sends_at(end).map(Instant),
        }
    }

    fn usage(&self, end: End) -> Usage {
        self.modules[end.index()].usage
    }

    fn calm(&mut self) {
        for module in &mut self.modules {
            module.lost.never();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Bulk;
    use wetstring_proto::NoTrace;

    fn model(text: &str) -> LoraModel {
        text.parse().expect("modules")
    }

    #[test]
    fn airtimes_are_those_of_the_data_sheet() {
        // SF 7: a symbol has 1.024 ms. 13 bytes: 12.25 of preamble, 8 + ceil(120 / 28) x 5 = 33.
        assert_eq!(model("sf=7").air_ns(13), 46_336_000);
        // SF 12: 32.768 ms, so 4 (12 - 2) below: 8 + ceil((408 - 48 + 44) / 40) x 5 = 63.
        assert_eq!(model("sf=12").air_ns(51), 2_465_792_000);
        // SF 10 at 500 kHz, 4/8: 2.048 ms; 8 + ceil((80 - 40 + 44) / 40) x 8 = 32.
        assert_eq!(model("sf=10,bw=500k,cr=4").air_ns(10), 2_048_000 * 4425 / 100);
    }

    #[test]
    fn the_duty_cycle_is_kept() {
        // 222 characters: 8 + ceil(1792 / 28) x 5 = 328 symbols and 12.25: 348.416 ms, so one in 34.8416 s.
        let ten = model("duty=1%,payload=222");
        assert_eq!(ten.air_ns(222), 348_416_000);
        assert_eq!(ten.limit_millicps(), 222_000_000_000 / 34_841_600);
        let report = Bulk::new(2220).run(&mut Lora::named(&ten, "lora"), &mut NoTrace);
        assert_eq!(report.elapsed.as_nanos(), 9 * 34_841_600_000 + 348_416_000);
        let free = model("duty=100%,sf=7");
        let report = Bulk::new(2220).run(&mut Lora::named(&free, "lora"), &mut NoTrace);
        assert_eq!(report.elapsed.as_nanos(), 10 * 348_416_000);
    }

    #[test]
    fn few_characters_go_when_no_more_come_and_only_one_module_sends() {
        let mut lora = Lora::named(&model("duty=100%"), "lora");
        let at = |lora: &mut Lora, ms: u64, end, len: usize| {
            let mut cx = Cx { now: Instant(ms * 1_000_000), trace: &mut NoTrace };
            lora.offer(&mut cx, end, &vec![1; len])
        };
        assert_eq!(at(&mut lora, 10, End::A, 13), 13);
        assert_eq!(at(&mut lora, 15, End::B, 13), 13);
        // A sends from 30 ms to 76.336 ms; B, ready at 35, begins then.
        let mut cx = Cx { now: Instant(200_000_000), trace: &mut NoTrace };
        assert_eq!(lora.emit(&mut cx, End::B, &mut [0; 20]), 13);
        assert_eq!(lora.free, 30_000_000 + 2 * 46_336_000);
    }

    #[test]
    fn a_description_is_read_as_it_is_written() {
        for text in ["lora:sf=7", "lora:sf=12,bw=250k,duty=10%,loss=1%,wait=5ms,payload=51"] {
            let words = text.strip_prefix("lora:").expect("lora");
            assert_eq!(model(words).to_string(), text);
        }
        for wrong in ["sf=5", "duty=0", "payload=0", "payload=255,buffer=100", "x"] {
            assert!(wrong.parse::<LoraModel>().is_err(), "{wrong}");
        }
    }
}
