//! A serial port on USB: an adapter's chip, or a board that is a modem to the host (CDC).
//!
//! ```text
//! end A                                                                         end B
//! program = driver [buffer] -> packets of 64 -> bus -> chip [out] -> UART or firmware
//! program <- packets of 64, `header` of them status <- bus <- chip [in], `latency` <-
//! ```
//!
//! A host asks the device for data all the time. An FTDI chip answers when it has a full packet, 62
//! characters behind two of status, or when its latency timer has expired, which runs since the last packet
//! and sends status if there is nothing else [FTDI AN232B-04]. So a short answer waits until 16 ms after the
//! packet before it, however fast the line is. A CDC device has no such timer: it sends what it has.
//!
//! One transaction follows the other on the bus; one of n bytes takes the time of n + 13 [USB 2.0 table 5-9,
//! of which 19 with 64 bytes fit into a frame of 1 ms]. Between two of them nothing is waited for: the
//! controller asks again at once (assumed; some old ones ask once in a millisecond).
//!
//! The program is at end A. What is behind the chip is another element: a rate, and its flow control. A board
//! that does not have a line behind it is `cdc` alone: the rate that the program sets means nothing there.
//! Words, after `usb:`
//!
//! | word | meaning | `ftdi` | `cdc` | source |
//! |---|---|---|---|---|
//! | `ftdi`, `cdc` | the device; first word | | | |
//! | `rate=115200` | what the program sets, and so believes | 115200 | 115200 | |
//! | `latency=16ms` | the chip's timer, 0 to 255 ms | 16ms | 0 | AN232B-04; `latency_timer` of Linux |
//! | `packet=64` | bytes of a full packet: 64, at high speed (`bus=480M`) 512 | 64 | 64 | USB 2.0 5.8.3 |
//! | `header=2` | of them status, towards the host | 2 | 0 | AN232B-04 |
//! | `bus=12M` | bit/s of the bus | 12M | 12M | USB 2.0 7.1.11 |
//! | `out=128`, `in=256` | characters that the chip holds from the host, and for it | 128, 256 | 128, 256 | FT232R data sheet |
//! | `buffer=4096` | characters that the driver takes ahead | 4096 | 4096 | Linux `usb_serial`: a page |
//! | `seed=7` | the phase of the timer | 1 | 1 | |

use super::arrived::Arrived;
use crate::element::{Element, End, Usage};
use crate::net::parse::{BadNet, Param, Shown, ShownRate, words};
use crate::random::Random;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant};

/// Description of a port on USB. See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsbModel {
    /// An FTDI chip; else CDC.
    pub ftdi: bool,
    /// Bit/s that the program believes.
    pub rate_bps: u64,
    /// The chip's timer.
    pub latency: Duration,
    /// Bytes of a full packet.
    pub packet_bytes: usize,
    /// Of them status, towards the host.
    pub header_bytes: usize,
    /// Bit/s of the bus.
    pub bus_bps: u64,
    /// Characters that the chip holds from the host.
    pub out_bytes: usize,
    /// Characters that it holds for the host.
    pub in_bytes: usize,
    /// Characters that the driver takes ahead.
    pub buffer_bytes: usize,
    /// The random seed.
    pub seed: u64,
}

impl UsbModel {
    fn usual(ftdi: bool) -> Self {
        Self {
            ftdi,
            rate_bps: 115_200,
            latency: Duration::from_millis(if ftdi { 16 } else { 0 }),
            packet_bytes: 64,
            header_bytes: if ftdi { 2 } else { 0 },
            bus_bps: 12_000_000,
            out_bytes: 128,
            in_bytes: 256,
            buffer_bytes: 4096,
            seed: 1,
        }
    }

    /// An FTDI chip with this latency timer.
    pub fn ftdi(latency: Duration) -> Self {
        Self { latency, ..Self::usual(true) }
    }

    /// The time of a packet of this many bytes on the bus, in ns.
    pub fn packet_ns(&self, bytes: usize) -> u64 {
        let bits = (bytes as u64 + AROUND) * 8;
        u64::try_from(u128::from(bits) * 1_000_000_000 / u128::from(self.bus_bps.max(1)))
            .unwrap_or(u64::MAX)
    }

    /// What the bus carries from the host, in characters per 1000 s.
    pub fn limit_millicps(&self) -> u64 {
        self.packet_bytes as u64 * 1_000_000_000_000 / self.packet_ns(self.packet_bytes).max(1)
    }

    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        const COUNT: &str = "1 to 1048576 characters";
        let count = || word.number(COUNT, 1, 1 << 20).map(|count| count as usize);
        match word.key {
            "device" => {}
            "rate" => self.rate_bps = word.number("bit/s from 1 to 100000000", 1, 100_000_000)?,
            "latency" => {
                self.latency = word.time()?;
                if self.latency > Duration::from_millis(255) {
                    return Err(word.bad("a time from 0s to 255ms"));
                }
            }
            "packet" => self.packet_bytes = word.number("8 to 1024 bytes", 8, 1024)? as usize,
            "header" => self.header_bytes = word.number("0 to 7 bytes", 0, 7)? as usize,
            "bus" => {
                self.bus_bps = word.rate()?;
                if self.bus_bps == 0 {
                    return Err(word.bad("a rate above 0 such as 12M"));
                }
            }
            "out" => self.out_bytes = count()?,
            "in" => self.in_bytes = count()?,
            "buffer" => self.buffer_bytes = count()?,
            "seed" => self.seed = word.seed()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }
}

const NAME: &str = "usb";
const KEYS: &str = "one of rate, latency, packet, header, bus, out, in, buffer, seed";
/// Bytes that a bulk transaction has around its data [USB 2.0 table 5-9].
const AROUND: u64 = 13;

impl FromStr for UsbModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let words = words(NAME, text, Some("device"))?;
        let device = words.iter().find(|word| word.key == "device");
        let mut model = match device.map(Param::value) {
            Some("ftdi") => Self::usual(true),
            Some("cdc") => Self::usual(false),
            other => {
                let say = "ftdi or cdc first, such as usb:ftdi,latency=1ms";
                return Err(BadNet::new(NAME, "device", say, other.unwrap_or(text)));
            }
        };
        for word in &words {
            model.set(word)?;
        }
        if model.out_bytes < model.packet_bytes || model.in_bytes < model.packet_bytes {
            let got = model.out_bytes.min(model.in_bytes).to_string();
            return Err(BadNet::new(NAME, "out", "room for a packet in the chip", &got));
        }
        Ok(model)
    }
}

impl fmt::Display for UsbModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::usual(self.ftdi);
        write!(f, "usb:{}", if self.ftdi { "ftdi" } else { "cdc" })?;
        if self.latency != usual.latency {
            write!(f, ",latency={}", Shown(self.latency))?;
        }
        if self.bus_bps != usual.bus_bps {
            write!(f, ",bus={}", ShownRate(self.bus_bps))?;
        }
        for (key, value, usual) in [
            ("rate", self.rate_bps, usual.rate_bps),
            ("packet", self.packet_bytes as u64, usual.packet_bytes as u64),
            ("header", self.header_bytes as u64, usual.header_bytes as u64),
            ("out", self.out_bytes as u64, usual.out_bytes as u64),
            ("in", self.in_bytes as u64, usual.in_bytes as u64),
            ("buffer", self.buffer_bytes as u64, usual.buffer_bytes as u64),
            ("seed", self.seed, usual.seed),
        ] {
            if value != usual {
                write!(f, ",{key}={value}")?;
            }
        }
        Ok(())
    }
}

/// A packet on the bus.
#[derive(Clone, Debug)]
struct Transaction {
    ends: u64,
    /// The end from which its characters are.
    from: End,
    bytes: Vec<u8>,
}

/// A port on USB, as an element. See the [module](self).
#[derive(Clone, Debug)]
pub struct Usb {
    model: UsbModel,
    /// What waits for the bus: in the driver, and in the chip.
    waiting: [VecDeque<u8>; 2],
    /// Since when there is what can go.
    since: [u64; 2],
    /// What has crossed it: in the chip, and in the driver.
    chip: VecDeque<u8>,
    driver: Arrived,
    bus: Option<Transaction>,
    bus_free: u64,
    /// When the chip's timer expires next, if nothing restarts it.
    beat: u64,
    short: [bool; 2],
    now: u64,
    usage: [Usage; 2],
}

impl Usb {
    /// A port of this model; `name` keeps its chance apart from those of others.
    pub fn named(model: &UsbModel, name: &str) -> Self {
        let latency = nanos(model.latency);
        Self {
            model: model.clone(),
            waiting: Default::default(),
            since: [0; 2],
            chip: VecDeque::new(),
            driver: Arrived::default(),
            bus: None,
            bus_free: 0,
            beat: Random::stream(model.seed, name, "usb timer").below(latency),
            short: [false; 2],
            now: 0,
            usage: [Usage::default(); 2],
        }
    }

    /// When the host's next packet can go.
    fn out_at(&self) -> Option<u64> {
        let len = self.waiting[0].len().min(self.model.packet_bytes);
        let fits = len > 0 && self.chip.len() + len <= self.model.out_bytes;
        fits.then(|| self.since[0].max(self.bus_free))
    }

    /// When the chip's next packet can go.
    fn in_at(&self) -> Option<u64> {
        let len = self.waiting[1].len();
        if len == 0 {
            return None;
        }
        let latency = nanos(self.model.latency);
        let full = len >= self.payload() || latency == 0;
        let since = self.since[1];
        let ready = match (full, since.checked_sub(self.beat)) {
            (true, _) => since,
            (false, None) => self.beat,
            (false, Some(late)) => self.beat.saturating_add(late.div_ceil(latency) * latency),
        };
        Some(ready.max(self.bus_free))
    }

    /// Characters of a full packet to the host.
    fn payload(&self) -> usize {
        self.model.packet_bytes - self.model.header_bytes
    }

    /// When something happens next inside.
    fn next_inside(&self) -> Option<u64> {
        match &self.bus {
            Some(transaction) => Some(transaction.ends),
            None => self.out_at().into_iter().chain(self.in_at()).min(),
        }
    }

    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        while let Some(at) = self.next_inside().filter(|at| *at <= self.now) {
            if let Some(done) = self.bus.take() {
                self.bus_free = done.ends;
                self.arrive(done);
                continue;
            }
            let from = if self.out_at() == Some(at) { End::A } else { End::B };
            self.begin(at, from);
        }
    }

    /// A packet goes onto the bus at `at`.
    fn begin(&mut self, at: u64, from: End) {
        let (most, header) = match from {
            End::A => (self.model.packet_bytes, 0),
            End::B => (self.payload(), self.model.header_bytes),
        };
        let queue = &mut self.waiting[from.index()];
        let len = queue.len().min(most);
        let bytes: Vec<u8> = queue.drain(..len).collect();
        self.since[from.index()] = at;
        if from == End::B {
            self.beat = at.saturating_add(nanos(self.model.latency));
        }
        let took = self.model.packet_ns(len + header);
        let usage = &mut self.usage[from.index()];
        usage.bits += ((len + header) as u64 + AROUND) * 8;
        usage.busy_ns += took;
        self.bus = Some(Transaction { ends: at.saturating_add(took), from, bytes });
    }

    /// A packet has crossed the bus.
    fn arrive(&mut self, packet: Transaction) {
        match packet.from {
            End::A => self.chip.extend(packet.bytes),
            End::B => self.driver.put(packet.ends, packet.bytes),
        }
    }
}

/// Whole nanoseconds.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Element for Usb {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx.now.as_nanos());
        let most = [self.model.buffer_bytes, self.model.in_bytes][end.index()];
        let payload = self.payload();
        let queue = &mut self.waiting[end.index()];
        let before = queue.len();
        let len = bytes.len().min(most.saturating_sub(before));
        self.short[end.index()] = len < bytes.len();
        queue.extend(&bytes[..len]);
        // The first starts the wait for the timer, a full packet ends it.
        let full = end == End::B && before < payload && queue.len() >= payload;
        if len > 0 && (before == 0 || full) {
            self.since[end.index()] = self.now;
        }
        self.usage[end.index()].bytes_in += len as u64;
        self.advance(self.now);
        len
    }

    fn next(&self, end: End) -> Option<Instant> {
        let ready = match end {
            End::A => self.driver.next(),
            End::B => (!self.chip.is_empty()).then_some(self.now),
        };
        ready.into_iter().chain(self.next_inside()).min().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx.now.as_nanos());
        let len = match end {
            End::A => self.driver.take(self.now, into),
            End::B => {
                let len = self.chip.len().min(into.len());
                crate::serial::copy_out(&mut self.chip, &mut into[..len]);
                if len > 0 {
                    // The chip has room again.
                    self.since[0] = self.since[0].max(self.now);
                }
                len
            }
        };
        self.usage[end.other().index()].bytes_out += len as u64;
        self.advance(self.now);
        len
    }

    fn room(&self, end: End) -> Option<Instant> {
        let most = [self.model.buffer_bytes, self.model.in_bytes][end.index()];
        if !self.short[end.index()] {
            return None;
        }
        if self.waiting[end.index()].len() < most {
            return Some(Instant(self.now));
        }
        self.next_inside().map(Instant)
    }

    fn usage(&self, end: End) -> Usage {
        self.usage[end.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wetstring_proto::NoTrace;

    /// Offers these blocks at end B; returns what arrived at A, with times in microseconds.
    fn seen(text: &str, offers: &[(u64, usize)], end: End) -> Vec<(u64, usize)> {
        let model: UsbModel = text.parse().expect("a port");
        let mut usb = Usb::named(&model, "usb");
        usb.beat = nanos(model.latency);
        let mut offers: VecDeque<(u64, usize)> = offers.iter().copied().collect();
        let (mut came, mut into) = (Vec::new(), [0; 4096]);
        loop {
            let inside = usb.next(end.other()).map(Instant::as_nanos);
            let offer = offers.front().map(|(at, _)| at * 1000);
            let Some(at) = inside.into_iter().chain(offer).min() else { return came };
            let mut cx = Cx { now: Instant(at), trace: &mut NoTrace };
            if offer == Some(at)
                && let Some((_, len)) = offers.pop_front()
            {
                assert_eq!(usb.offer(&mut cx, end, &vec![7; len]), len);
            }
            let len = usb.emit(&mut cx, end.other(), &mut into);
            if len > 0 {
                came.push((at / 1000, len));
            }
        }
    }

    #[test]
    fn a_short_answer_waits_for_the_latency_timer_and_a_full_packet_does_not() {
        // Three characters at 5 ms wait until 16; with 2 of status and 13 around they take 18 x 8 bits of 12 Mb/s.
        assert_eq!(seen("ftdi", &[(5000, 3)], End::B), [(16_012, 3)]);
        // 62 at once are a packet: 77 bytes are 51.3 us. The timer begins again when it goes.
        assert_eq!(seen("ftdi", &[(5000, 63)], End::B), [(5051, 62), (21_010, 1)]);
        assert_eq!(seen("ftdi,latency=1ms", &[(500, 3)], End::B), [(1012, 3)]);
        // CDC sends what it has.
        assert_eq!(seen("cdc", &[(500, 3)], End::B), [(510, 3)]);
    }

    #[test]
    fn a_ping_pong_has_a_round_of_the_timer() {
        // Each is answered at once: 16 ms from one packet to the next.
        let came = seen("ftdi", &[(100, 5), (17_000, 5), (34_000, 5)], End::B);
        assert_eq!(came.iter().map(|(at, _)| at / 1000).collect::<Vec<_>>(), [16, 32, 48]);
    }

    #[test]
    fn the_bus_carries_64_bytes_in_the_time_of_77() {
        let model: UsbModel = "cdc".parse().expect("a port");
        assert_eq!(model.packet_ns(64), 51_333);
        assert_eq!(model.limit_millicps() / 1000, 1_246_761);
        // Two full packets one after the other; the chip holds 128 and gives them on at once.
        assert_eq!(seen("cdc", &[(0, 128)], End::A), [(51, 64), (102, 64)]);
    }

    #[test]
    fn a_description_is_read_as_it_is_written() {
        for text in [
            "usb:ftdi",
            "usb:cdc,rate=9600",
            "usb:ftdi,latency=1ms,bus=480M,packet=512,out=512,in=1024",
        ] {
            let words = text.strip_prefix("usb:").expect("usb");
            assert_eq!(words.parse::<UsbModel>().expect("a port").to_string(), text);
        }
        for wrong in ["", "pl2303", "ftdi,latency=300ms", "ftdi,packet=512", "ftdi,foo=1"] {
            assert!(wrong.parse::<UsbModel>().is_err(), "{wrong}");
        }
    }
}
