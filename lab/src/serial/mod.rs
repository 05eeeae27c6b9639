//! A serial line: rate, delay, width, noise, and two directions that may share one wire.
//!
//! ```text
//!         buffer     one character after the other     delay
//! offer -> [....] -> |start|8 data bits|stop| -> .............. -> emit
//!                     10 bits at `rate_bps`
//! ```
//!
//! A line is described by a text, the same that `wst line` takes: `9600,delay=250ms,burst=8@2s`.
//! The first parameter is the rate in bit/s (0: no time at all; `1200/75`: another rate from B to A). The
//! others, in any order:
//!
//! | parameter | meaning | default |
//! |---|---|---|
//! | `port=115200` | what the ports at both ends say their rate is: the speed of the PTYs of `wst line`, and what the engines are told; 0: nothing | the line's rate |
//! | `delay=250ms` | from left to arrived | 0 |
//! | `bits=10` | line bits per character, 9 to 12 | 10 |
//! | `7bit` | the eighth bit is lost | 8 bits |
//! | `parity=even` | `even`, `odd`, `mark` or `space` in the eighth bit, as an 8-bit reader sees a 7E1 line; implies `7bit` | `none` |
//! | `ber=1e-5` | chance of each line bit to be inverted | 0 |
//! | `burst=8@2s` | 8 damaged characters for every 2 s of line time; `8@2000` for every 2000 characters | none |
//! | `drop=1e-6` | chance of each character to be lost | 0 |
//! | `dup=1e-6` | chance of each character to come out twice | 0 |
//! | `dir=fwd` | which directions those four harm: `fwd` (A to B), `rev`, `both` | `both` |
//! | `half=80ms` | half duplex; time to turn the line around | full duplex |
//! | `echo` | end B sends back what arrives there | no |
//! | `buffer=64` | characters that the sending side takes ahead | 64 |
//! | `seed=7` | random seed | 1 |
//!
//! Times are `s`, `ms`, `us` or `ns`. A bit error in a start or stop bit is a framing error: the
//! character arrives as a zero, as terminal drivers have it [termios(3)].
//!
//! A PTY has no UART whose rate it could know, so that ZMODEM on one goes by acknowledgements and not by the speed that it
//! has; the same in the laboratory is `port=0`.
//!
//! Half duplex: the line turns around when the last character of one direction has arrived and the
//! other has something waiting. A direction that never pauses keeps the line.
//!
//! Not modelled here: flow control (RTS/CTS, XON/XOFF; see [`flow`]), modems (see [`crate::modem`]), and noise
//! that produces characters (see [`interference`]).

pub mod flow;
pub mod interference;
mod model;
pub(crate) mod noise;
pub(crate) mod spec;
pub(crate) mod timeline;

pub use model::{Burst, Direction, LineModel, Parity, Period, Probability};
pub use spec::BadLine;

use crate::element::{Element, End, Usage};
use noise::{Fate, Noise};
use std::collections::VecDeque;
use timeline::{CharTime, Timeline};
use wetstring_proto::{Cx, Instant, TraceEvent};

/// Bits of a character that begins with a start bit and ends with a stop bit.
const CHAR_BITS: u64 = 10;
/// The most bytes that may be under way in one direction, however fast and long the line is.
const UNDER_WAY_MAX: usize = 1 << 20;

/// A serial line with its two directions.
#[derive(Clone, Debug)]
pub struct Serial {
    model: LineModel,
    /// By the end at which they begin.
    ways: [DirectionState; 2],
    /// Which end has the wire of a half duplex line.
    owner: Option<End>,
    /// The latest time seen.
    now: u64,
}

#[derive(Clone, Debug)]
struct DirectionState {
    time: CharTime,
    leaving: Timeline,
    arriving: Timeline,
    /// Characters in transit.
    bytes: VecDeque<u8>,
    /// Index of the first of them since the line was made.
    first: u64,
    noise: Noise,
    /// What happened to which, by index.
    marks: VecDeque<(u64, Fate)>,
    /// A duplicate that did not fit into the taker's buffer.
    again: Option<u8>,
    /// Characters accepted, but the wire is not ours yet; and since when they wait.
    waiting: u64,
    waiting_since: u64,
    /// The last offer was cut short by the buffer.
    short: bool,
    usage: Usage,
}

impl DirectionState {
    fn new(model: &LineModel, name: &str, end: End) -> Self {
        let rate_bps = model.rate_from(end);
        let time = CharTime::new(rate_bps, model.bits);
        let way = if end == End::A { "fwd" } else { "rev" };
        let noise = if model.direction.includes(end) {
            Noise::new(model, rate_bps, name, way)
        } else {
            Noise::none()
        };
        Self {
            time,
            leaving: Timeline::new(time),
            arriving: Timeline::new(time),
            bytes: VecDeque::new(),
            first: 0,
            noise,
            marks: VecDeque::new(),
            again: None,
            waiting: 0,
            waiting_since: 0,
            short: false,
            usage: Usage::default(),
        }
    }

    /// Lets the characters that wait go onto the wire.
    fn begin(&mut self, start: u64) {
        let count = std::mem::take(&mut self.waiting);
        self.leaving.push(start, count);
        self.arriving.push(start, count);
    }

    /// Takes characters, not yet onto the wire.
    fn accept(&mut self, model: &LineModel, now: u64, bytes: &[u8]) {
        let first = self.first + self.bytes.len() as u64;
        let old_len = self.bytes.len();
        if model.dresses() {
            self.bytes.extend(bytes.iter().map(|byte| model.dress(*byte)));
        } else {
            self.bytes.extend(bytes);
        }
        if self.noise.is_some() {
            let mut copy: Vec<u8> = self.bytes.range(old_len..).copied().collect();
            let mut marks = Vec::new();
            self.noise.apply(first, &mut copy, |index, fate| marks.push((index, fate)));
            if !marks.is_empty() {
                let mask = if model.shows_bit_8() { 0xff } else { 0x7f };
                self.bytes.truncate(old_len);
                self.bytes.extend(copy.iter().map(|byte| byte & mask));
                // The faults of each kind are in order; the merged list must be sorted.
                marks.sort_by_key(|(index, _)| *index);
                self.marks.extend(marks);
            }
        }
        if self.waiting == 0 {
            self.waiting_since = now;
        }
        let count = bytes.len() as u64;
        self.waiting += count;
        self.usage.bytes_in += count;
        self.usage.bits += count * u64::from(model.bits);
        self.usage.busy_ns = self.time.after(0, self.usage.bytes_in).0;
    }

    /// Moves what has arrived by `arrived` into `into`.
    fn deliver(&mut self, cx: &mut Cx<'_>, way: End, arrived: u64, into: &mut [u8]) -> usize {
        let mut len = 0;
        while len < into.len() {
            if let Some(byte) = self.again.take() {
                into[len] = byte;
                len += 1;
                continue;
            }
            let clean = self.marks.front().map_or(u64::MAX, |(index, _)| index - self.first);
            let most = clean.max(1).min((into.len() - len) as u64);
            let count = self.arriving.pass(arrived, most) as usize;
            if count == 0 {
                break;
            }
            if clean > 0 {
                copy_out(&mut self.bytes, &mut into[len..len + count]);
                self.first += count as u64;
                len += count;
                continue;
            }
            let Some(byte) = self.bytes.pop_front() else { break };
            let (drop, duplicate) = self.marked(cx, way);
            self.first += 1;
            if !drop {
                into[len] = byte;
                len += 1;
                self.again = duplicate.then_some(byte);
            }
        }
        self.usage.bytes_out += len as u64;
        len
    }

    /// Takes the marks of the first character off, traces and counts them.
    fn marked(&mut self, cx: &mut Cx<'_>, way: End) -> (bool, bool) {
        let (mut damaged, mut drop, mut duplicate) = (false, false, false);
        while let Some((index, fate)) = self.marks.front().copied() {
            if index != self.first {
                break;
            }
            self.marks.pop_front();
            let names = match fate {
                Fate::BitError => ["bit_error_fwd", "bit_error_rev"],
                Fate::Burst => ["burst_fwd", "burst_rev"],
                Fate::Drop => ["drop_fwd", "drop_rev"],
                Fate::Duplicate => ["dup_fwd", "dup_rev"],
            };
            damaged |= matches!(fate, Fate::BitError | Fate::Burst);
            drop |= fate == Fate::Drop;
            duplicate |= fate == Fate::Duplicate;
            if cx.trace.enabled() {
                let event = TraceEvent::Value { name: names[way.index()], value: index };
                cx.trace.record(cx.now, &event);
            }
        }
        self.usage.damaged_bytes += u64::from(damaged);
        self.usage.dropped_bytes += u64::from(drop);
        self.usage.duplicated_bytes += u64::from(duplicate && !drop);
        (drop, duplicate && !drop)
    }
}

/// Moves the first bytes of a queue out of it.
pub(crate) fn copy_out(queue: &mut VecDeque<u8>, into: &mut [u8]) {
    let (front, back) = queue.as_slices();
    let from_front = front.len().min(into.len());
    into[..from_front].copy_from_slice(&front[..from_front]);
    let from_back = into.len() - from_front;
    into[from_front..].copy_from_slice(&back[..from_back]);
    queue.drain(..into.len());
}

impl Serial {
    /// A line of this model.
    pub fn new(model: &LineModel) -> Self {
        Self::named(model, "line")
    }

    /// A line of this model with a name of its own, so that two lines of one seed differ.
    pub fn named(model: &LineModel, name: &str) -> Self {
        Self {
            model: model.clone(),
            ways: End::BOTH.map(|end| DirectionState::new(model, name, end)),
            owner: None,
            now: 0,
        }
    }

    /// The model.
    pub fn model(&self) -> &LineModel {
        &self.model
    }

    fn delay_ns(&self) -> u64 {
        u64::try_from(self.model.delay.as_nanos()).unwrap_or(u64::MAX)
    }

    /// When a half duplex line will turn around to the direction from `end`, which waits for it.
    fn turns_at(&self, end: End) -> Option<u64> {
        let way = &self.ways[end.index()];
        if way.waiting == 0 || self.owner == Some(end) {
            return None;
        }
        let quiet = self.ways[end.other().index()].leaving.free_at();
        Some(quiet.saturating_add(self.delay_ns()).max(way.waiting_since))
    }

    /// Lets the model catch up with the time.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        self.now = self.now.max(cx.now.as_nanos());
        if let Some(turn) = self.model.half_duplex {
            let turn = u64::try_from(turn.as_nanos()).unwrap_or(u64::MAX);
            while let Some(owner) = self.owner {
                let end = owner.other();
                let Some(at) = self.turns_at(end).filter(|at| *at <= self.now) else { break };
                self.ways[end.index()].begin(at.saturating_add(turn));
                self.ways[end.index()].usage.turnarounds += 1;
                if cx.trace.enabled() {
                    let name = ["turn_fwd", "turn_rev"][end.index()];
                    cx.trace.record(Instant(at), &TraceEvent::Value { name, value: turn });
                }
                self.owner = Some(end);
            }
        }
        for way in &mut self.ways {
            way.leaving.pass(self.now, u64::MAX);
        }
    }

    /// Puts accepted characters of `end` onto the wire, if it is theirs.
    fn begin(&mut self, end: End) {
        if self.model.half_duplex.is_some() {
            let other = &self.ways[end.other().index()];
            let ours = match self.owner {
                None => true,
                // One that has fallen silent while the other waits has released the wire.
                Some(owner) => {
                    let talking = self.ways[end.index()].leaving.free_at() >= self.now;
                    owner == end && (other.waiting == 0 || talking)
                }
            };
            if !ours {
                return;
            }
            self.owner = Some(end);
        }
        self.ways[end.index()].begin(self.now);
    }

    /// Takes as much as there is room for.
    fn take(&mut self, end: End, bytes: &[u8]) -> usize {
        let way = &mut self.ways[end.index()];
        let ahead = (way.leaving.len() + way.waiting) as usize;
        let timeless = self.model.rate_from(end) == 0;
        let buffer = if timeless { usize::MAX } else { self.model.buffer_bytes.max(1) };
        let room = buffer.saturating_sub(ahead);
        let room = room.min(UNDER_WAY_MAX.saturating_sub(way.bytes.len()));
        let len = bytes.len().min(room);
        way.short = len < bytes.len();
        if len > 0 {
            way.accept(&self.model, self.now, &bytes[..len]);
            self.begin(end);
        }
        len
    }
}

impl Element for Serial {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        self.take(end, bytes)
    }

    fn next(&self, end: End) -> Option<Instant> {
        let from = end.other();
        let way = &self.ways[from.index()];
        if way.again.is_some() {
            return Some(Instant(self.now));
        }
        let arrives = way.arriving.next().map(|left| left.saturating_add(self.delay_ns()));
        let turns = self.turns_at(from).filter(|_| self.model.half_duplex.is_some());
        arrives.into_iter().chain(turns).min().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let Some(arrived) = self.now.checked_sub(self.delay_ns()) else { return 0 };
        let from = end.other();
        let len = self.ways[from.index()].deliver(cx, from, arrived, into);
        if self.model.echo && end == End::B && len > 0 {
            // What does not fit is lost: a host's echo has no flow control here.
            self.take(End::B, &into[..len]);
        }
        len
    }

    fn room(&self, end: End) -> Option<Instant> {
        let way = &self.ways[end.index()];
        if !way.short || way.bytes.len() >= UNDER_WAY_MAX {
            return None;
        }
        if way.waiting > 0 {
            // Half duplex: nothing leaves before the line turns, to us, or away from us first.
            return self.turns_at(end).or_else(|| self.turns_at(end.other())).map(Instant);
        }
        // Half empty, as a UART driver has it: a wake for each character would be waste.
        let low = (self.model.buffer_bytes / 2) as u64;
        match way.leaving.len().saturating_sub(low) {
            0 => Some(Instant(self.now)),
            n => way.leaving.nth(n).map(Instant),
        }
    }

    fn usage(&self, end: End) -> Usage {
        self.ways[end.index()].usage
    }

    fn calm(&mut self) {
        for way in &mut self.ways {
            way.noise = Noise::none();
        }
    }
}
