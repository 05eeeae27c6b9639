//! A terminal server and its Telnet connection to a host: a path that interprets characters.
//!
//! ```text
//! end A: a terminal line      terminal server          network        end B: a host
//!   characters -> escape, eaten -> IAC, CR -> [segment] ... delay ... -> IAC, CR -> emit
//!   emit <- IAC, CR ...................... delay ...................... IAC, CR <- offer
//! ```
//!
//! The escape character of a Cisco terminal server is Ctrl-^ (0x1e) unless configured away: "the
//! 0x1e escape of the Cisco must be prefixed" (Kermit streaming (1998), trial 6). It disappears, and with it the
//! next character if that is one of its commands (`b c h o t u x ?`); `x` leads back to the
//! server's own prompt, where everything that follows is lost. The escape twice is the escape
//! once; before another character it just disappears. (comp.dcom.lans, 16 December 1986, on the
//! Stanford software that Cisco's comes from.)
//!
//! In Telnet 0xff is IAC and is doubled when it is data, and CR is followed by NUL or LF [RFC 854].
//! That goes well when both ends do it (`both`) or none does (`none`, a raw connection). When only
//! the sender does, the host gets every 0xff twice and a NUL behind each CR; when only the receiver
//! does, 0xff takes the one or two characters behind it with it, and a NUL or LF behind a CR
//! disappears, as in BSD's telnetd.
//!
//! The server collects bytes from the line until `timer` after the first of them or until a segment is full, and
//! sends them together.
//!
//! The description as text, [`TelnetModel`]; an empty one is the usual:
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `escape=1e` | in hex; `none` for none | 1e |
//! | `eat=11+13` | characters that the server keeps for itself, from the line | none |
//! | `iac=both` | who doubles and undoubles: `both`, `none`, `sender`, `receiver` | both |
//! | `cr=both` | who adds NUL after CR and takes it out again: the same | both |
//! | `timer=10ms` | how long a segment waits for more | 10 ms, assumed |
//! | `segment=536` | octets of a full segment, as on the network | 536 (RFC 879) |
//! | `delay=2ms` | each way | 2 ms (Kermit streaming (1998): a local network) |
//! | `buffer=2048` | octets under way each way, at most | 2048, assumed |
//!
//! Not modelled: TCP with its acknowledgements, and options; the connection is established.

use crate::element::{Element, End, Usage};
use crate::modem::BadWord;
use crate::modem::parse::Param;
use crate::serial::flow::nanos;
use crate::serial::spec::{Spec, time};
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant};

const IAC: u8 = 0xff;
const CR: u8 = 0x0d;
const LF: u8 = 0x0a;
const NUL: u8 = 0;
/// IAC and these take an option behind them.
const WILL_TO_DONT: std::ops::RangeInclusive<u8> = 0xfb..=0xfe;
/// What the escape character takes for a command.
const COMMANDS: &[u8] = b"bchotux?";
/// The command that leads back to the server's prompt.
const SUSPEND: u8 = b'x';

/// Which ends apply Telnet's escaping to a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Who {
    /// Both: it arrives as it was.
    #[default]
    Both,
    /// Neither: it arrives as it was.
    None,
    /// Only the sender.
    Sender,
    /// Only the receiver.
    Receiver,
}

impl Who {
    const ALL: [Self; 4] = [Self::Both, Self::None, Self::Sender, Self::Receiver];

    const fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::None => "none",
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }

    const fn sends(self) -> bool {
        matches!(self, Self::Both | Self::Sender)
    }

    const fn receives(self) -> bool {
        matches!(self, Self::Both | Self::Receiver)
    }
}

/// Description of a terminal server and its connection. Has a text form; see the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TelnetModel {
    /// The escape character of the server.
    pub escape: Option<u8>,
    /// Characters from the line that the server keeps.
    pub eaten: Vec<u8>,
    /// Who doubles IAC.
    pub iac: Who,
    /// Who adds NUL to CR.
    pub cr: Who,
    /// How long a segment waits for more.
    pub timer: Duration,
    /// Octets of a full segment.
    pub segment_bytes: usize,
    /// Each way.
    pub delay: Duration,
    /// Octets under way each way, at most.
    pub buffer_bytes: usize,
}

impl Default for TelnetModel {
    fn default() -> Self {
        Self {
            escape: Some(0x1e),
            eaten: Vec::new(),
            iac: Who::Both,
            cr: Who::Both,
            timer: Duration::from_millis(10),
            segment_bytes: 536,
            delay: Duration::from_millis(2),
            buffer_bytes: 2048,
        }
    }
}

const WHAT: &str = "telnet";
const KEYS: &str = "one of escape, eat, iac, cr, timer, segment, delay, buffer";

fn hex(text: &str) -> Option<u8> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    u8::from_str_radix(text, 16).ok().filter(|_| digits)
}

impl FromStr for TelnetModel {
    type Err = BadWord;

    fn from_str(text: &str) -> Result<Self, BadWord> {
        let mut model = Self::default();
        for word in Param::split(WHAT, text)? {
            let who = || {
                let all = Who::ALL.into_iter().find(|who| who.name() == word.value);
                all.ok_or_else(|| word.bad("both, none, sender or receiver"))
            };
            match word.key {
                "escape" if word.value == "none" => model.escape = None,
                "escape" => {
                    let escape = hex(word.value);
                    model.escape = Some(
                        escape.ok_or_else(|| word.bad("a character in hex such as 1e, or none"))?,
                    );
                }
                "eat" => {
                    model.eaten = word
                        .value
                        .split('+')
                        .map(hex)
                        .collect::<Option<_>>()
                        .ok_or_else(|| word.bad("characters in hex such as 11+13"))?;
                }
                "iac" => model.iac = who()?,
                "cr" => model.cr = who()?,
                "timer" => model.timer = word.read(time)?,
                "segment" => {
                    model.segment_bytes = word.number("2 to 65535 octets", 2, 65_535)? as usize;
                }
                "delay" => model.delay = word.read(time)?,
                "buffer" => {
                    model.buffer_bytes = word.number("64 to 1048576 octets", 64, 1 << 20)? as usize;
                }
                _ => return Err(word.bad(KEYS)),
            }
        }
        Ok(model)
    }
}

impl fmt::Display for TelnetModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        match self.escape {
            None => write!(f, "{WHAT}:escape=none")?,
            Some(escape) => write!(f, "{WHAT}:escape={escape:02x}")?,
        }
        for (index, eaten) in self.eaten.iter().enumerate() {
            write!(f, "{}{eaten:02x}", if index == 0 { ",eat=" } else { "+" })?;
        }
        for (key, value) in [("iac", self.iac), ("cr", self.cr)] {
            if value != Who::Both {
                write!(f, ",{key}={}", value.name())?;
            }
        }
        for (key, value, usual) in
            [("timer", self.timer, usual.timer), ("delay", self.delay, usual.delay)]
        {
            if value != usual {
                write!(f, ",{key}={}", Spec(value))?;
            }
        }
        for (key, value, usual) in [
            ("segment", self.segment_bytes, usual.segment_bytes),
            ("buffer", self.buffer_bytes, usual.buffer_bytes),
        ] {
            if value != usual {
                write!(f, ",{key}={value}")?;
            }
        }
        Ok(())
    }
}

/// What the receiver of a direction waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Heard {
    Data,
    Iac,
    Option,
    Cr,
}

/// One direction.
#[derive(Clone, Debug)]
struct Direction {
    /// The segment being collected, and since when.
    gathered: Vec<u8>,
    since: u64,
    /// Segments on the network, with their arrivals.
    flights: VecDeque<(u64, Vec<u8>)>,
    flying: usize,
    heard: Heard,
    out: VecDeque<u8>,
    short: bool,
    usage: Usage,
}

impl Direction {
    fn new() -> Self {
        Self {
            gathered: Vec::new(),
            since: 0,
            flights: VecDeque::new(),
            flying: 0,
            heard: Heard::Data,
            out: VecDeque::new(),
            short: false,
            usage: Usage::default(),
        }
    }

    fn len(&self) -> usize {
        self.gathered.len() + self.flying + self.out.len()
    }

    fn dispatch(&mut self, at: u64, delay: u64) {
        let segment = std::mem::take(&mut self.gathered);
        self.flying += segment.len();
        self.usage.bits += segment.len() as u64 * 8;
        self.flights.push_back((at.saturating_add(delay), segment));
    }

    /// Puts a character into the segment that is collected.
    fn gather(&mut self, model: &TelnetModel, byte: u8, now: u64) {
        if self.gathered.is_empty() {
            self.since = now;
        }
        self.gathered.push(byte);
        match byte {
            IAC if model.iac.sends() => self.gathered.push(IAC),
            CR if model.cr.sends() => self.gathered.push(NUL),
            _ => {}
        }
        if self.gathered.len() >= model.segment_bytes {
            self.dispatch(now, nanos(model.delay));
        }
    }

    /// The receiver's view of an octet.
    fn hear(&mut self, model: &TelnetModel, octet: u8) {
        let (heard, is_data) = match (self.heard, octet) {
            (Heard::Iac, IAC) => (Heard::Data, true),
            (Heard::Iac, command) if WILL_TO_DONT.contains(&command) => (Heard::Option, false),
            (Heard::Iac | Heard::Option, _) => (Heard::Data, false),
            (Heard::Cr, NUL | LF) => (Heard::Data, false),
            (_, IAC) if model.iac.receives() => (Heard::Iac, false),
            (_, CR) if model.cr.receives() => (Heard::Cr, true),
            _ => (Heard::Data, true),
        };
        self.heard = heard;
        if is_data {
            self.out.push_back(octet);
        }
    }

    fn next(&self, timer: u64) -> Option<u64> {
        let sends = (!self.gathered.is_empty()).then(|| self.since.saturating_add(timer));
        let arrives = self.flights.front().map(|(at, _)| *at);
        sends.into_iter().chain(arrives).min()
    }

    fn advance(&mut self, model: &TelnetModel, timer: u64, now: u64) {
        if !self.gathered.is_empty() && self.since.saturating_add(timer) <= now {
            self.dispatch(self.since.saturating_add(timer), nanos(model.delay));
        }
        while self.flights.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, segment)) = self.flights.pop_front() else { break };
            self.flying -= segment.len();
            for octet in segment {
                self.hear(model, octet);
            }
        }
    }
}

/// A terminal server and its connection to a host, as an element.
#[derive(Clone, Debug)]
pub struct TelnetPath {
    model: TelnetModel,
    ways: [Direction; 2],
    /// The last character from the line was the escape.
    escaped: bool,
    suspended: bool,
    now: u64,
}

impl TelnetPath {
    /// A path of this model.
    pub fn new(model: &TelnetModel) -> Self {
        Self {
            model: model.clone(),
            ways: [Direction::new(), Direction::new()],
            escaped: false,
            suspended: false,
            now: 0,
        }
    }

    /// The model.
    pub fn model(&self) -> &TelnetModel {
        &self.model
    }

    /// Whether the escape and `x` have led back to the server's prompt.
    pub fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// Octets that were sent on the network of what was offered at `end`.
    pub fn network_bytes(&self, end: End) -> u64 {
        self.ways[end.index()].usage.bits / 8
    }

    /// How long the direction from `end` waits for more. A host's program writes whole packets.
    fn timer(&self, end: End) -> u64 {
        if end == End::A { nanos(self.model.timer) } else { 0 }
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now.as_nanos());
        for end in End::BOTH {
            let timer = self.timer(end);
            self.ways[end.index()].advance(&self.model, timer, self.now);
        }
    }

    /// The server's output for a character from the line.
    fn admit(&mut self, byte: u8) -> bool {
        if self.suspended {
            return false;
        }
        if std::mem::take(&mut self.escaped) {
            let command = byte.to_ascii_lowercase();
            self.suspended = command == SUSPEND;
            return Some(byte) == self.model.escape || !COMMANDS.contains(&command);
        }
        self.escaped = Some(byte) == self.model.escape;
        !self.escaped && !self.model.eaten.contains(&byte)
    }
}

impl Element for TelnetPath {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx.now);
        let mut taken = 0;
        for &byte in bytes {
            // A character may become two octets.
            if self.ways[end.index()].len() + 2 > self.model.buffer_bytes {
                break;
            }
            taken += 1;
            let passes = end == End::B || self.admit(byte);
            let way = &mut self.ways[end.index()];
            if passes {
                way.gather(&self.model, byte, self.now);
            } else {
                way.usage.dropped_bytes += 1;
            }
        }
        let way = &mut self.ways[end.index()];
        way.short = taken < bytes.len();
        way.usage.bytes_in += taken as u64;
        taken
    }

    fn next(&self, end: End) -> Option<Instant> {
        let way = &self.ways[end.other().index()];
        if !way.out.is_empty() {
            return Some(Instant(self.now));
        }
        way.next(self.timer(end.other())).map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx.now);
        let way = &mut self.ways[end.other().index()];
        let len = into.len().min(way.out.len());
        crate::serial::copy_out(&mut way.out, &mut into[..len]);
        way.usage.bytes_out += len as u64;
        len
    }

    fn room(&self, _end: End) -> Option<Instant> {
        // There is room again when the peer has read something.
        None
    }

    fn usage(&self, end: End) -> Usage {
        self.ways[end.index()].usage
    }
}
