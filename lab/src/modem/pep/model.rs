//! A pair of PEP modems, described.

use super::Kind;
use crate::element::End;
use crate::modem::BadWord;
use crate::modem::parse::Param;
use crate::serial::flow::{FlowControl, FlowModel, nanos};
use crate::serial::spec::{Spec, chance, time};
use crate::serial::{Direction, Probability};
use std::fmt;
use std::str::FromStr;
use wetstring_proto::Duration;

/// Two PEP modems and their hosts' lines. Reads and writes itself as text; see the [module](super).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PepModel {
    /// Bit/s between host and modem, at end A and at end B.
    pub dte_bps: [u64; 2],
    /// There are micro packets (S120=0).
    pub has_micro: bool,
    /// Characters of a micro, a short and a long packet.
    pub room: [usize; 3],
    /// Packets of one turn.
    pub most: u64,
    /// With micro packets: no packet is short; instead this many micro packets per turn.
    pub micros: Option<u64>,
    /// The modem answers its host's UUCP `g` itself (S111).
    pub spoofs_uucp: bool,
    /// Before the first long packet after a turn without one.
    pub calibrate: Duration,
    /// From one side's last packet to the other's first.
    pub gap: Duration,
    /// How modem and host stop each other.
    pub flow: FlowControl,
    /// From such a signal to its effect.
    pub reaction: Duration,
    /// Characters that a modem holds from its host, and towards it before the other may send no more.
    pub buffer_bytes: usize,
    /// Characters that a host's driver holds.
    pub rx_buffer_bytes: usize,
    /// Chance that a bit of a packet is hit.
    pub bit_errors: Probability,
    /// Which directions suffer from it.
    pub direction: Direction,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for PepModel {
    fn default() -> Self {
        Self {
            dte_bps: [19_200; 2],
            has_micro: true,
            room: [9, 25, 250],
            most: 12,
            micros: None,
            spoofs_uucp: false,
            calibrate: Duration::from_millis(136),
            gap: Duration::from_micros(11_330),
            flow: FlowControl::RtsCts,
            reaction: Duration::from_millis(1),
            buffer_bytes: 2048,
            rx_buffer_bytes: 4096,
            bit_errors: Probability::NEVER,
            direction: Direction::Both,
            seed: 1,
        }
    }
}

/// Most packets of a turn that can be set.
const MOST: u64 = 64;

const WHAT: &str = "pep";
const KEYS: &str = "one of dte, s120, micro, short, long, most, micros, spoof, calibrate, gap, flow, reaction, \
                    buffer, rxbuf, ber, dir, seed";
const DTE: &str = "bit/s from 300 to 38400, or two of them such as 19200/9600";
const ROOM: &str = "1 to 512 characters";
const BUFFER: &str = "64 to 1048576 characters";

impl PepModel {
    /// What a file in one direction comes to at most, in thousandths of a character per second: whole turns
    /// of long packets against empty ones, or the host's line from A.
    pub fn limit_millicps(&self) -> u64 {
        let empty = self.kind(0).time_ns();
        let turns = self.most * Kind::Long.time_ns() + 2 * nanos(self.gap) + empty;
        let characters = self.most as u128 * self.room(Kind::Long) as u128;
        let channel = characters * 1_000_000_000_000 / u128::from(turns.max(1));
        u64::try_from(channel).unwrap_or(u64::MAX).min(self.dte_bps[0] * 100)
    }

    /// The packet for this many characters.
    pub(super) fn kind(&self, len: usize) -> Kind {
        let no_short = self.micros.is_some() && len <= self.room[1];
        if self.has_micro && (len <= self.room[0] || no_short) {
            Kind::Micro
        } else if len <= self.room[1] {
            Kind::Short
        } else {
            Kind::Long
        }
    }

    /// Characters that fit into a packet.
    pub(super) fn room(&self, kind: Kind) -> usize {
        self.room[kind as usize]
    }

    /// The lines between host and modem: what the modem receives, and what the host receives.
    pub(super) fn host(&self, end: End) -> [FlowModel; 2] {
        let line = |rx_buffer_bytes| FlowModel {
            rate_bps: self.dte_bps[end.index()],
            flow: self.flow,
            reaction: self.reaction,
            rx_buffer_bytes,
            ..FlowModel::default()
        };
        [line(self.buffer_bytes), line(self.rx_buffer_bytes)]
    }

    fn set(&mut self, word: &Param<'_>) -> Result<(), BadWord> {
        match word.key {
            "dte" => self.dte_bps = word.pair(DTE, 300, 38_400)?,
            "s120" => {
                self.has_micro = match word.value {
                    "0" => true,
                    "12" => false,
                    _ => return Err(word.bad("0 (all packets) or 12 (no micro packets)")),
                };
            }
            "micro" => self.room[0] = word.number(ROOM, 1, 512)? as usize,
            "short" => self.room[1] = word.number(ROOM, 1, 512)? as usize,
            "long" => self.room[2] = word.number(ROOM, 1, 512)? as usize,
            "most" => self.most = word.number("1 to 64 packets", 1, MOST)?,
            "micros" => self.micros = Some(word.number("1 to 64 packets", 1, MOST)?),
            "spoof" => {
                self.spoofs_uucp = match word.value {
                    "uucp" => true,
                    "none" => false,
                    _ => return Err(word.bad("uucp or none")),
                };
            }
            "calibrate" => self.calibrate = word.read(time)?,
            "gap" => self.gap = word.read(time)?,
            "flow" => {
                self.flow = FlowControl::named(word.value)
                    .ok_or_else(|| word.bad("none, rtscts or xonxoff"))?;
            }
            "reaction" => self.reaction = word.read(time)?,
            "buffer" => self.buffer_bytes = word.number(BUFFER, 64, 1 << 20)? as usize,
            "rxbuf" => self.rx_buffer_bytes = word.number(BUFFER, 64, 1 << 20)? as usize,
            "ber" => self.bit_errors = word.read(chance)?,
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
}

impl FromStr for PepModel {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let mut model = Self::default();
        let words = Param::split(WHAT, text)?;
        for word in &words {
            model.set(word)?;
        }
        let [micro, short, long] = model.room;
        if micro > short || short > long {
            let lens = format!("{micro}, {short}, {long}");
            return Err(BadWord::new(WHAT, "long", "micro, short and long to grow", &lens));
        }
        Ok(model)
    }
}

impl fmt::Display for PepModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        let [dte, other] = self.dte_bps;
        write!(f, "{WHAT}:dte={dte}")?;
        if other != dte {
            write!(f, "/{other}")?;
        }
        if !self.has_micro {
            f.write_str(",s120=12")?;
        }
        for (index, key) in ["micro", "short", "long"].into_iter().enumerate() {
            if self.room[index] != usual.room[index] {
                write!(f, ",{key}={}", self.room[index])?;
            }
        }
        if self.most != usual.most {
            write!(f, ",most={}", self.most)?;
        }
        if let Some(micros) = self.micros {
            write!(f, ",micros={micros}")?;
        }
        if self.spoofs_uucp {
            f.write_str(",spoof=uucp")?;
        }
        for (key, value, usual) in [
            ("calibrate", self.calibrate, usual.calibrate),
            ("gap", self.gap, usual.gap),
            ("reaction", self.reaction, usual.reaction),
        ] {
            if value != usual {
                write!(f, ",{key}={}", Spec(value))?;
            }
        }
        if self.flow != usual.flow {
            write!(f, ",flow={}", self.flow.name())?;
        }
        for (key, value, usual) in [
            ("buffer", self.buffer_bytes, usual.buffer_bytes),
            ("rxbuf", self.rx_buffer_bytes, usual.rx_buffer_bytes),
        ] {
            if value != usual {
                write!(f, ",{key}={value}")?;
            }
        }
        if self.bit_errors != usual.bit_errors {
            write!(f, ",ber={}", self.bit_errors)?;
        }
        match self.direction {
            Direction::Forward => f.write_str(",dir=fwd")?,
            Direction::Reverse => f.write_str(",dir=rev")?,
            Direction::Both => {}
        }
        if self.seed != usual.seed {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}
