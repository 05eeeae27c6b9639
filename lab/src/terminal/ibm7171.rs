//! An IBM mainframe behind a 7171 protocol converter: a line that is used in turns.
//!
//! ```text
//! end A: a micro         7E1, XON/XOFF            7171 and VM/CMS           end B: its Kermit
//!   packet, CR   -------------------------->  type-ahead -> read  --turn-->  emit
//!   XON, packet  <--------------------------  output, then the next read  <- offer
//! ```
//!
//! The host reads a line at a time. What comes from A is given to a read that is posted; the
//! carriage return ends it, and after `turn` the host has the line, whole. What the host offers
//! goes out at the line's rate; when it has gone, or when the host has nothing to say, the next
//! read is posted after `post`. What A sends before that waits in the type-ahead, whose filling up
//! is told by XOFF, or is lost (`early=lose`). The host sees seven bits, and of the control
//! characters only SOH and CR; the others are the 7171's own.
//!
//! With `prompt=on` the 7171 sends XON when a read is posted, for Kermit's HANDSHAKE. A driver that
//! obeys XON and XOFF would keep that character for itself, so there is no flow control then, and a
//! type-ahead that is full loses.
//!
//! The description as text, [`Ibm7171Model`]; an empty one is the usual:
//!
//! | parameter | meaning | default | source |
//! |---|---|---|---|
//! | `rate=19200` | bit/s | 19200 | Kermit News 5 (1993), table 6 |
//! | `parity=even` | of the line | even | Kermit News 5 (1993); 7E1 is 10 bits |
//! | `turn=85ms` | from a line's CR to the host's having it | 85 ms | fit to table 6: 80 to 90 ms per packet of 1920 |
//! | `post=1ms` | from the end of the output to the next read | 1 ms | assumed |
//! | `ahead=256` | characters of type-ahead | 256 | assumed |
//! | `early=hold` | or `lose`: what comes when no read is posted | hold | the 7171 has XON/XOFF |
//! | `prompt=on` | XON when a read is posted, instead of flow control | off | Kermit News 5 (1993) has XON/XOFF |
//! | `reaction=1ms` | from XOFF to its effect at A | 1 ms | assumed |
//! | `buffer=2048` | characters of output that the host may be ahead | 2048 | more than a packet of 1920 |
//!
//! Not modelled: the 3270 screen that the 7171 keeps, and its own prefixes and padding.

use crate::element::{Element, End, Usage};
use crate::modem::BadWord;
use crate::modem::parse::Param;
use crate::serial::Parity;
use crate::serial::flow::{FlowControl, FlowModel, Link, nanos};
use crate::serial::spec::{Spec, time};
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant};

/// Ends a line.
const CR: u8 = 0x0d;
/// Begins a Kermit packet.
const SOH: u8 = 0x01;
/// The prompt.
const XON: u8 = 0x11;

/// Description of a 7171 and its host. Has a text form; see the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ibm7171Model {
    /// Bit/s.
    pub rate_bps: u64,
    /// Of the line; it has seven data bits.
    pub parity: Parity,
    /// From a line's CR to the host's having it.
    pub turn: Duration,
    /// From the end of the output to the next read.
    pub post: Duration,
    /// Characters of type-ahead.
    pub ahead_bytes: usize,
    /// Input without a posted read is lost.
    pub lose_early: bool,
    /// XON when a read is posted, instead of flow control.
    pub prompt: bool,
    /// From XOFF to its effect.
    pub reaction: Duration,
    /// Characters of output that the host may be ahead.
    pub buffer_bytes: usize,
}

impl Default for Ibm7171Model {
    fn default() -> Self {
        Self {
            rate_bps: 19_200,
            parity: Parity::Even,
            turn: Duration::from_millis(85),
            post: Duration::from_millis(1),
            ahead_bytes: 256,
            lose_early: false,
            prompt: false,
            reaction: Duration::from_millis(1),
            buffer_bytes: 2048,
        }
    }
}

const WHAT: &str = "7171";
const KEYS: &str = "one of rate, parity, turn, post, ahead, early, prompt, reaction, buffer";

impl FromStr for Ibm7171Model {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let mut model = Self::default();
        for word in Param::split(WHAT, text)? {
            match word.key {
                "rate" => model.rate_bps = word.number("bit/s from 50 to 921600", 50, 921_600)?,
                "parity" => {
                    model.parity = Parity::named(word.value)
                        .ok_or_else(|| word.bad("none, even, odd, mark or space"))?;
                }
                "turn" => model.turn = word.read(time)?,
                "post" => model.post = word.read(time)?,
                "ahead" => {
                    model.ahead_bytes = word.number("16 to 65536 characters", 16, 65_536)? as usize;
                }
                "early" => {
                    model.lose_early = match word.value {
                        "hold" => false,
                        "lose" => true,
                        _ => return Err(word.bad("hold or lose")),
                    };
                }
                "prompt" => {
                    model.prompt = match word.value {
                        "on" => true,
                        "off" => false,
                        _ => return Err(word.bad("on or off")),
                    };
                }
                "reaction" => model.reaction = word.read(time)?,
                "buffer" => {
                    let len = word.number("64 to 1048576 characters", 64, 1 << 20)?;
                    model.buffer_bytes = len as usize;
                }
                _ => return Err(word.bad(KEYS)),
            }
        }
        Ok(model)
    }
}

impl fmt::Display for Ibm7171Model {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "{WHAT}:rate={}", self.rate_bps)?;
        if self.parity != usual.parity {
            write!(f, ",parity={}", self.parity.name())?;
        }
        for (key, value, usual) in [
            ("turn", self.turn, usual.turn),
            ("post", self.post, usual.post),
            ("reaction", self.reaction, usual.reaction),
        ] {
            if value != usual {
                write!(f, ",{key}={}", Spec(value))?;
            }
        }
        if self.ahead_bytes != usual.ahead_bytes {
            write!(f, ",ahead={}", self.ahead_bytes)?;
        }
        if self.buffer_bytes != usual.buffer_bytes {
            write!(f, ",buffer={}", self.buffer_bytes)?;
        }
        if self.lose_early {
            f.write_str(",early=lose")?;
        }
        if self.prompt {
            f.write_str(",prompt=on")?;
        }
        Ok(())
    }
}

/// The line, the 7171 and the host's reads.
#[derive(Clone, Debug)]
pub struct Ibm7171 {
    model: Ibm7171Model,
    line: FlowModel,
    /// The first direction is the one from A.
    link: Link,
    /// The line that is being read.
    reading: Vec<u8>,
    /// The line that was read, and when the host will have it.
    turning: Option<(u64, Vec<u8>)>,
    /// What the host has and has not taken.
    delivered: VecDeque<u8>,
    posted: bool,
    post_at: Option<u64>,
    /// The host is putting out; what of it is not on the line yet.
    is_output: bool,
    output: VecDeque<u8>,
    short: bool,
    from_host: u64,
    to_host: u64,
    lost: u64,
    turns: [u64; 2],
    wake: u64,
    now: u64,
}

impl Ibm7171 {
    /// A 7171 of this model. The host's first read is posted.
    pub fn new(model: &Ibm7171Model) -> Self {
        let line = FlowModel {
            rate_bps: model.rate_bps,
            parity: model.parity,
            seven_bit: true,
            flow: if model.prompt { FlowControl::None } else { FlowControl::XonXoff },
            reaction: model.reaction,
            rx_buffer_bytes: model.ahead_bytes,
            ..FlowModel::default()
        };
        // The micro's driver holds what its Kermit has not read.
        let to_micro = FlowModel { rx_buffer_bytes: 4096, ..line.clone() };
        Self {
            link: Link::new(line.way(), to_micro.way()),
            model: model.clone(),
            line,
            reading: Vec::new(),
            turning: None,
            delivered: VecDeque::new(),
            posted: true,
            post_at: None,
            is_output: false,
            output: VecDeque::new(),
            short: false,
            from_host: 0,
            to_host: 0,
            lost: 0,
            turns: [0; 2],
            wake: u64::MAX,
            now: 0,
        }
    }

    /// The model.
    pub fn model(&self) -> &Ibm7171Model {
        &self.model
    }

    /// Whether a read is posted.
    pub fn is_posted(&self) -> bool {
        self.posted
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now.as_nanos());
        while self.wake <= self.now {
            let at = self.wake;
            self.step(at);
            self.plan();
        }
        self.link.advance(self.now);
    }

    /// Everything that happens at `at`.
    fn step(&mut self, at: u64) {
        self.link.advance(at);
        if let Some((_, line)) = self.turning.take_if(|(due, _)| *due <= at) {
            self.delivered.extend(line);
            self.turns[0] += 1;
            // If the host has no answer to that, it reads on.
            self.post_at = Some(at.saturating_add(nanos(self.model.post)));
        }
        self.put_out(at);
        if self.post_at.is_some_and(|due| due <= at) {
            self.post_at = None;
            self.posted = true;
            if self.model.prompt {
                self.link.offer(at, 1, &[XON]);
            }
        }
        self.read(at);
    }

    /// Moves output onto the line; when it has gone, the next read is due.
    fn put_out(&mut self, at: u64) {
        if !self.is_output {
            return;
        }
        let output = self.output.make_contiguous();
        let taken = self.link.offer(at, 1, output);
        self.output.drain(..taken);
        if self.output.is_empty() && self.link.ways[1].is_quiet() {
            self.is_output = false;
            self.post_at = Some(at.saturating_add(nanos(self.model.post)));
        }
    }

    /// Gives received characters to the read, or drops them.
    fn read(&mut self, at: u64) {
        let mut byte = [0];
        while (self.posted || self.model.lose_early) && self.link.take(at, 0, &mut byte) == 1 {
            let character = byte[0] & 0x7f;
            if !self.posted {
                self.lost += 1;
                continue;
            }
            match character {
                CR => {
                    let mut line = std::mem::take(&mut self.reading);
                    line.push(CR);
                    self.posted = false;
                    self.turning = Some((at.saturating_add(nanos(self.model.turn)), line));
                }
                SOH | b' '..=0x7e => self.reading.push(character),
                _ => self.lost += 1,
            }
        }
    }

    /// Computes the next event.
    fn plan(&mut self) {
        let [from_a, to_a] = &self.link.ways;
        let listens = self.posted || self.model.lose_early;
        let comes = if listens { from_a.arrives_at() } else { None };
        let turned = self.turning.as_ref().map(|(due, _)| *due);
        // All that is on the line to A has gone, or there is room for more of the output.
        let gone = match (self.is_output, self.output.is_empty()) {
            (false, _) => None,
            (true, true) => to_a.arrives_nth(u64::MAX),
            (true, false) => to_a.room(),
        };
        let times = [comes, turned, gone, self.post_at];
        let next = times.into_iter().flatten().min().unwrap_or(u64::MAX);
        self.wake = next.min(self.link.plan());
    }

    /// Takes output of the host.
    fn put(&mut self, bytes: &[u8]) -> usize {
        let room = self.model.buffer_bytes.saturating_sub(self.output.len());
        let len = room.min(bytes.len());
        self.short = len < bytes.len();
        if len == 0 {
            return 0;
        }
        if !self.is_output {
            self.turns[1] += 1;
        }
        // Output takes the place of a read that waits, and of one that would be posted.
        self.is_output = true;
        self.posted = false;
        self.post_at = None;
        self.output.extend(&bytes[..len]);
        self.from_host += len as u64;
        self.put_out(self.now);
        len
    }
}

impl Element for Ibm7171 {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx.now);
        let len = match end {
            End::A => self.link.offer(self.now, 0, bytes),
            End::B => self.put(bytes),
        };
        self.plan();
        len
    }

    fn next(&self, end: End) -> Option<Instant> {
        let at = match end {
            End::A if self.link.ways[1].held() > 0 => self.now,
            End::A => self.link.ways[1].arrives_at().unwrap_or(u64::MAX).min(self.wake),
            End::B if !self.delivered.is_empty() => self.now,
            End::B => self.wake,
        };
        Some(at).filter(|at| *at < u64::MAX).map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx.now);
        match end {
            End::A => {
                let len = self.link.take(self.now, 1, into);
                self.plan();
                len
            }
            End::B => {
                let len = into.len().min(self.delivered.len());
                crate::serial::copy_out(&mut self.delivered, &mut into[..len]);
                self.to_host += len as u64;
                len
            }
        }
    }

    fn room(&self, end: End) -> Option<Instant> {
        let way = &self.link.ways[0];
        let at = match end {
            End::A if way.is_short() => way.room().unwrap_or(u64::MAX).min(self.wake),
            End::B if self.short && self.output.len() < self.model.buffer_bytes => self.now,
            End::B if self.short => self.wake,
            _ => return None,
        };
        Some(at).filter(|at| *at < u64::MAX).map(|at| Instant(at.max(self.now)))
    }

    fn usage(&self, end: End) -> Usage {
        let way = &self.link.ways[end.index()];
        let line = self.line.usage(way);
        let turnarounds = self.turns[end.index()];
        match end {
            End::A => Usage {
                bytes_out: self.to_host,
                dropped_bytes: way.lost + self.lost,
                turnarounds,
                ..line
            },
            End::B => Usage { bytes_in: self.from_host, turnarounds, ..line },
        }
    }
}
