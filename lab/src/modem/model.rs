//! Description of a pair of modems.

use super::lapm::Params;
use super::modulation::{Modulation, SymbolRate};
use super::parse::{BadWord, Param};
use super::v42bis::Size;
use crate::element::End;
use crate::serial::flow::{FlowControl, FlowModel, nanos};
use crate::serial::spec::{Spec, burst, chance, time};
use crate::serial::{Burst, Direction, Probability};
use std::fmt;
use std::str::FromStr;
use wetstring_proto::Duration;

/// Two modems and the line between them. Has a text form; see the [module](super).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModemModel {
    /// Bit/s between host and modem, at end A and at end B.
    pub dte_bps: [u64; 2],
    /// Bit/s on the line, from A to B and from B to A.
    pub line_bps: [u64; 2],
    /// How the bits are modulated.
    pub modulation: Modulation,
    /// Nominal symbols per second; the lowest that carries the rate unless given.
    pub symbols: Option<u32>,
    /// Error control by LAPM.
    pub v42: bool,
    /// Compression with this dictionary. Implies V.42.
    pub v42bis: Option<Size>,
    /// From a bit's leaving one modem to its arrival in the other, besides the grouping of bits.
    pub delay: Duration,
    /// How long a frame that is not full waits for more.
    pub wait: Duration,
    /// Flow control between modem and host.
    pub flow: FlowControl,
    /// From such a signal to its effect.
    pub reaction: Duration,
    /// Characters that a modem holds from its host, and as many towards it.
    pub buffer_bytes: usize,
    /// Characters that a host's driver holds.
    pub rx_buffer_bytes: usize,
    /// N401, octets of an I frame.
    pub octets: usize,
    /// k, frames without acknowledgement.
    pub window: u64,
    /// SREJ instead of REJ.
    pub srej: bool,
    /// T401; see [`super::lapm`] for what it is unless given.
    pub t401: Option<Duration>,
    /// T402.
    pub t402: Duration,
    /// N400.
    pub n400: u32,
    /// Chance that a line bit is inverted.
    pub bit_errors: Probability,
    /// Bursts on the line.
    pub burst: Option<Burst>,
    /// Directions with noise.
    pub direction: Direction,
    /// The random seed.
    pub seed: u64,
}

impl Default for ModemModel {
    /// V.32bis at 14400 behind 57600, without error control.
    fn default() -> Self {
        Self {
            dte_bps: [57_600; 2],
            line_bps: [14_400; 2],
            modulation: Modulation::V32bis,
            symbols: None,
            v42: false,
            v42bis: None,
            delay: Duration::from_millis(30),
            wait: Duration::from_millis(20),
            flow: FlowControl::RtsCts,
            reaction: Duration::from_millis(1),
            buffer_bytes: 2048,
            rx_buffer_bytes: 4096,
            octets: 128,
            window: 15,
            srej: false,
            t401: None,
            t402: Duration::ZERO,
            n400: 5,
            bit_errors: Probability::NEVER,
            burst: None,
            direction: Direction::Both,
            seed: 1,
        }
    }
}

impl ModemModel {
    /// The symbol rate in the direction from `end`; `None` if the modulation does not carry the
    /// bit rate there, which a model that was read from text never has.
    pub fn symbol_rate(&self, end: End) -> Option<SymbolRate> {
        self.modulation.symbols(self.line_bps[end.index()], self.symbols)
    }

    /// From the last bit of something on the sending modem's clock to its arrival, in ns.
    pub fn latency_ns(&self, end: End) -> u64 {
        let grouping = self.symbol_rate(end).map_or(0, |rate| self.modulation.grouping_ns(rate));
        nanos(self.delay).saturating_add(grouping)
    }

    /// The parameters of LAPM as seen from `end`.
    pub fn lapm(&self, end: End) -> Params {
        let slower = self.line_bps[0].min(self.line_bps[1]);
        // N401 octets and six of framing, and the most zeros there can be.
        let frame_ns = (self.octets as u64 + 6) * 10 * 1_000_000_000 / slower.max(1);
        let both = self.latency_ns(end).saturating_add(self.latency_ns(end.other()));
        let usual = (1_000_000_000 + 2 * frame_ns).saturating_add(both);
        Params {
            window: self.window,
            octets: self.octets,
            t401: self.t401.map_or(usual, nanos),
            t402: nanos(self.t402),
            n400: self.n400,
            selective: self.srej,
        }
    }

    /// The lines between host and modem: what the modem receives, and what the host receives.
    pub(super) fn host(&self, end: End) -> [FlowModel; 2] {
        let line = |rx_buffer_bytes, buffer_bytes| FlowModel {
            rate_bps: self.dte_bps[end.index()],
            flow: self.flow,
            reaction: self.reaction,
            rx_buffer_bytes,
            buffer_bytes,
            ..FlowModel::default()
        };
        [
            line(self.buffer_bytes, FlowModel::default().buffer_bytes),
            line(self.rx_buffer_bytes, 256),
        ]
    }

    /// What the direction from `end` can carry of what the modem is given, in characters per
    /// 1000 s. With LAPM that is synchronous: eight bits an octet, in full frames one after the
    /// other, less what the frames add. The zeros that are inserted are not taken off, for they
    /// follow from the content. Compression, which can increase it, is not counted either. Without error
    /// control a character is start-stop: ten bits [V.14]. Ports that are slower are the limit.
    pub fn limit_millicps(&self, end: End) -> u64 {
        const START_STOP: u64 = 10;
        /// Address, two octets of control, two of check, and a flag [V.42 8.1.2].
        const AROUND: u64 = 6;
        let bits = self.line_bps[end.index()] * 1000;
        let octets = self.octets as u64;
        let line = if self.has_frames() {
            bits / 8 * octets / (octets + AROUND)
        } else {
            bits / START_STOP
        };
        self.dte_bps.iter().map(|rate| rate * 1000 / START_STOP).fold(line, u64::min)
    }

    /// Whether frames are used.
    pub fn has_frames(&self) -> bool {
        self.v42 || self.v42bis.is_some()
    }
}

const WHAT: &str = "modem";
const KEYS: &str = "one of dte, line, mod, symbols, v42, v42bis, delay, wait, flow, reaction, \
                    buffer, rxbuf, n401, k, srej, t401, t402, n400, ber, burst, dir, seed";
const DTE: &str = "bit/s from 300 to 921600, such as 57600 or 57600/38400";
const LINE: &str = "bit/s of the line, such as 14400 or 33600/31200";
const SIZE: &str = "512 to 32768 codewords and strings of 6 to 250, such as 2048/32";
const CHARACTERS: &str = "64 to 1048576 characters";

impl FromStr for ModemModel {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let mut model = Self::default();
        let words = Param::split(WHAT, text)?;
        for word in &words {
            model.set(word)?;
        }
        let given = |key: &str| words.iter().find(|word| word.key == key);
        if given("mod").is_none() {
            // The higher rate decides: the lower one may be another rate of the same.
            let rate = model.line_bps[0].max(model.line_bps[1]);
            let line = given("line").map_or("", |word| word.all);
            model.modulation = Modulation::usual(rate).ok_or_else(|| {
                BadWord::new(WHAT, "line", "a rate of V.22, V.22bis, V.32bis or V.34", line)
            })?;
        }
        model.check(&words)?;
        Ok(model)
    }
}

impl ModemModel {
    fn set(&mut self, word: &Param<'_>) -> Result<(), BadWord> {
        match word.key {
            "dte" => self.dte_bps = word.pair(DTE, 300, 921_600)?,
            "line" => self.line_bps = word.pair(LINE, 300, 33_600)?,
            "mod" => {
                self.modulation = Modulation::named(word.value)
                    .ok_or_else(|| word.bad("v22, v22bis, v32, v32bis or v34"))?;
            }
            "symbols" => {
                let nominal = word.number("symbols per second, such as 3429", 600, 3429)?;
                self.symbols = Some(nominal as u32);
            }
            "v42" => self.v42 = word.flag()?,
            "v42bis" => {
                let [codewords, len] = match word.value {
                    "" => [2048, 32],
                    _ if !word.value.contains('/') => return Err(word.bad(SIZE)),
                    _ => word.pair(SIZE, 0, 1 << 20)?,
                };
                let size = Size::new(codewords as u32, len as u32).map_err(|_| word.bad(SIZE))?;
                self.v42bis = Some(size);
                self.v42 = true;
            }
            "delay" => self.delay = word.read(time)?,
            "wait" => self.wait = word.read(time)?,
            "flow" => {
                self.flow = FlowControl::named(word.value)
                    .ok_or_else(|| word.bad("none, rtscts or xonxoff"))?;
            }
            "reaction" => self.reaction = word.read(time)?,
            "buffer" => self.buffer_bytes = word.number(CHARACTERS, 64, 1 << 20)? as usize,
            "rxbuf" => self.rx_buffer_bytes = word.number(CHARACTERS, 64, 1 << 20)? as usize,
            "n401" => self.octets = word.number("1 to 1024 octets", 1, 1024)? as usize,
            "k" => self.window = word.number("1 to 63 frames", 1, 63)?,
            "srej" => self.srej = word.flag()?,
            "t401" => self.t401 = Some(word.read(time)?),
            "t402" => self.t402 = word.read(time)?,
            "n400" => self.n400 = word.number("1 to 100 times", 1, 100)? as u32,
            "ber" => self.bit_errors = word.read(chance)?,
            "burst" => self.burst = Some(word.read(burst)?),
            "dir" => {
                self.direction = match word.value {
                    "fwd" => Direction::Forward,
                    "rev" => Direction::Reverse,
                    "both" => Direction::Both,
                    _ => return Err(word.bad("fwd, rev or both")),
                };
            }
            "seed" => self.seed = word.number("a whole number below 2^64", 0, u64::MAX)?,
            _ => return Err(word.bad(KEYS)),
        }
        Ok(())
    }

    /// Checks of the whole description.
    fn check(&self, words: &[Param<'_>]) -> Result<(), BadWord> {
        let shown = |key| words.iter().find(|word| word.key == key).map_or("", |word| word.all);
        let bad = |key, expected| Err(BadWord::new(WHAT, key, expected, shown(key)));
        if !self.line_bps.iter().all(|rate| self.modulation.has(*rate)) {
            return bad("line", self.modulation.rates());
        }
        if self.modulation != Modulation::V34 && self.line_bps[0] != self.line_bps[1] {
            return bad("line", "one rate for both directions, except with v34");
        }
        if End::BOTH.iter().any(|end| self.symbol_rate(*end).is_none()) {
            return bad("symbols", "a symbol rate of the modulation that carries the line's rate");
        }
        for (key, time) in [("t401", self.t401), ("reaction", Some(self.reaction))] {
            if time.is_some_and(|time| time > Duration::new(3600, 0)) {
                return bad(key, "at most an hour");
            }
        }
        if self.t401 == Some(Duration::ZERO) {
            return bad("t401", "more than no time");
        }
        if self.burst.is_some_and(|burst| burst_is_whole(burst, self.line_bps)) {
            return bad("burst", "a period longer than the burst");
        }
        Ok(())
    }
}

/// Whether such bursts leave nothing between them.
fn burst_is_whole(burst: Burst, rates: [u64; 2]) -> bool {
    rates.iter().any(|rate| match burst.every {
        crate::serial::Period::Bytes(period) => period <= burst.len,
        crate::serial::Period::Time(time) => {
            time.as_nanos() * u128::from(*rate) <= u128::from(burst.len) * 10_000_000_000
        }
    })
}

impl fmt::Display for ModemModel {
    /// The text form; defaults are omitted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        let [dte, other_dte] = self.dte_bps;
        write!(f, "{WHAT}:dte={dte}")?;
        if other_dte != dte {
            write!(f, "/{other_dte}")?;
        }
        let [line, back] = self.line_bps;
        write!(f, ",line={line}")?;
        if back != line {
            write!(f, "/{back}")?;
        }
        if Modulation::usual(line.max(back)) != Some(self.modulation) {
            write!(f, ",mod={}", self.modulation)?;
        }
        if let Some(symbols) = self.symbols {
            write!(f, ",symbols={symbols}")?;
        }
        match self.v42bis {
            Some(Size::PRODUCT) => f.write_str(",v42bis")?,
            Some(size) => write!(f, ",v42bis={}/{}", size.codewords(), size.string_len())?,
            None if self.v42 => f.write_str(",v42")?,
            None => {}
        }
        for (key, value, usual) in [
            ("delay", self.delay, usual.delay),
            ("wait", self.wait, usual.wait),
            ("reaction", self.reaction, usual.reaction),
            ("t402", self.t402, usual.t402),
        ] {
            if value != usual {
                write!(f, ",{key}={}", Spec(value))?;
            }
        }
        for (key, value, usual) in [
            ("buffer", self.buffer_bytes as u64, usual.buffer_bytes as u64),
            ("rxbuf", self.rx_buffer_bytes as u64, usual.rx_buffer_bytes as u64),
            ("n401", self.octets as u64, usual.octets as u64),
            ("k", self.window, usual.window),
            ("n400", u64::from(self.n400), u64::from(usual.n400)),
            ("seed", self.seed, usual.seed),
        ] {
            if value != usual {
                write!(f, ",{key}={value}")?;
            }
        }
        self.show_rest(f)
    }
}

impl ModemModel {
    fn show_rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.flow != FlowControl::RtsCts {
            write!(f, ",flow={}", self.flow.name())?;
        }
        if self.srej {
            f.write_str(",srej")?;
        }
        if let Some(t401) = self.t401 {
            write!(f, ",t401={}", Spec(t401))?;
        }
        if self.bit_errors != Probability::NEVER {
            write!(f, ",ber={}", self.bit_errors)?;
        }
        if let Some(burst) = self.burst {
            write!(f, ",burst={}", Spec(burst))?;
        }
        f.write_str(match self.direction {
            Direction::Both => "",
            Direction::Forward => ",dir=fwd",
            Direction::Reverse => ",dir=rev",
        })
    }
}
