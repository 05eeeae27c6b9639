//! Bursts of noise in real time, which also make characters out of nothing.
//!
//! ```text
//! line      -> a b c d e f g h ......... i j k ...     characters as they arrive
//! noise        .....|####|...............|##..         a burst every `period`, `len` characters long
//! out       -> a b c # # # # h ....... # # j k ...     damaged where there are any, made where not
//! ```
//!
//! The noise of [`super::LineModel`] is counted in what is sent, so that nothing happens while a line
//! is idle. That of a telephone line goes by the clock, and a modem without error correction hands
//! over whatever it makes of it. Put one such element at the receiving end of each direction, where
//! the characters come one after the other: `interference:8@2s,rate=9600`.
//!
//! | word | meaning | unless given |
//! |---|---|---|
//! | `8@2s` | the first word: characters of a burst, and from the start of one to the next | must be given |
//! | `rate=9600` | bit/s of the line; a character is 10 bits | must be given |
//! | `dir=fwd` | direction: `fwd` (A to B) or `rev` | `fwd` |
//! | `seed=7` | the phase of the bursts, and what they make | 1 |

use super::model::{Burst, Period};
use super::spec::{bad, burst, number};
use super::{BadLine, CHAR_BITS};
use crate::element::{Element, End, Usage};
use crate::random::Random;
use std::collections::VecDeque;
use std::str::FromStr;
use wetstring_proto::{Cx, Instant, TraceEvent};

/// Description of the noise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterferenceModel {
    /// Characters of a burst.
    pub len: u64,
    /// From the start of one to the start of the next, in nanoseconds.
    pub period_ns: u64,
    /// Rate of the line, in bit/s.
    pub rate_bps: u64,
    /// The end at which the harmed direction begins.
    pub from: End,
    /// Seed of all random choices.
    pub seed: u64,
}

impl FromStr for InterferenceModel {
    type Err = BadLine;

    /// Reads the words, with or without `interference:` in front.
    fn from_str(text: &str) -> Result<Self, BadLine> {
        const BURSTS: &str = "characters and a time longer than they, such as 8@2s";
        let text = text.trim();
        let text = text.strip_prefix("interference:").unwrap_or(text);
        let mut words = text.split(',').map(str::trim);
        let first = words.next().unwrap_or_default();
        let Burst { len, every: Period::Time(period) } = burst("interference", first)? else {
            return Err(bad("interference", BURSTS, first));
        };
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        let mut model = Self { len, period_ns, rate_bps: 0, from: End::A, seed: 1 };
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match (key.trim(), value.trim()) {
                ("rate", value) => {
                    model.rate_bps = number("rate", value, "bit/s from 1", 1, 100_000_000_000)?;
                }
                ("dir", "fwd") => model.from = End::A,
                ("dir", "rev") => model.from = End::B,
                ("dir", value) => return Err(bad("dir", "fwd or rev", value)),
                ("seed", value) => {
                    model.seed = number("seed", value, "a whole number", 0, u64::MAX)?;
                }
                (key, _) => return Err(bad(key, "one of rate, dir, seed", word)),
            }
        }
        if model.rate_bps == 0 {
            return Err(bad("rate", "the rate of the line in bit/s", ""));
        }
        if model.len.saturating_mul(model.char_ns()) >= model.period_ns {
            return Err(bad("interference", BURSTS, first));
        }
        Ok(model)
    }
}

impl InterferenceModel {
    /// Time of a character.
    fn char_ns(&self) -> u64 {
        CHAR_BITS * 1_000_000_000 / self.rate_bps
    }
}

/// The noise, as an element that takes no time itself.
#[derive(Clone, Debug)]
pub struct Interference {
    model: InterferenceModel,
    /// Indexed by the end from which they are sent.
    queues: [VecDeque<u8>; 2],
    usage: [Usage; 2],
    random: Random,
    /// When the next character's place in a burst begins; `None` once all is calm.
    place: Option<u64>,
    /// Where in its burst that is.
    index: u64,
    /// The burst that continues, or the last one, ends here.
    loud_until: u64,
    /// When the last character of the harmed direction came.
    last: Option<u64>,
}

/// Characters that wait for their reader, at most.
const MOST_WAITING: usize = 64;

impl Interference {
    /// Noise of this model; `name` keeps its chances apart from those of others.
    pub fn named(model: &InterferenceModel, name: &str) -> Self {
        let phase = Random::stream(model.seed, name, "phase").below(model.period_ns);
        Self {
            model: *model,
            queues: [VecDeque::new(), VecDeque::new()],
            usage: [Usage::default(); 2],
            random: Random::stream(model.seed, name, "noise"),
            place: Some(phase),
            index: 0,
            loud_until: 0,
            last: None,
        }
    }

    /// The places in bursts that begin by now: where no character is under way, one is made.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now.as_nanos();
        let char_ns = self.model.char_ns();
        while let Some(place) = self.place.filter(|place| *place <= now) {
            let way = self.model.from.index();
            if self.index == 0 {
                self.loud_until = place + self.model.len * char_ns;
            }
            let idle = self.last.is_none_or(|last| last + char_ns <= place);
            if idle && self.queues[way].len() < MOST_WAITING {
                let made = self.random.bits() as u8;
                self.queues[way].push_back(made);
                self.hit(cx, u64::from(made));
            }
            self.index += 1;
            self.place = Some(if self.index < self.model.len {
                place + char_ns
            } else {
                self.index = 0;
                place + self.model.period_ns - (self.model.len - 1) * char_ns
            });
        }
    }

    fn hit(&mut self, cx: &mut Cx<'_>, value: u64) {
        self.usage[self.model.from.index()].damaged_bytes += 1;
        if cx.trace.enabled() {
            let name = ["interference_fwd", "interference_rev"][self.model.from.index()];
            cx.trace.record(cx.now, &TraceEvent::Value { name, value });
        }
    }
}

impl Element for Interference {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let room = MOST_WAITING.saturating_sub(self.queues[end.index()].len());
        let taken = &bytes[..bytes.len().min(room)];
        for byte in taken {
            let mut byte = *byte;
            if end == self.model.from && cx.now.as_nanos() < self.loud_until {
                byte ^= 1 + self.random.below(255) as u8;
                self.hit(cx, u64::from(byte));
            }
            self.queues[end.index()].push_back(byte);
        }
        if end == self.model.from && !taken.is_empty() {
            self.last = Some(cx.now.as_nanos());
        }
        let usage = &mut self.usage[end.index()];
        usage.bytes_in += taken.len() as u64;
        usage.bits += taken.len() as u64 * CHAR_BITS;
        taken.len()
    }

    fn next(&self, end: End) -> Option<Instant> {
        let waiting = (!self.queues[end.other().index()].is_empty()).then_some(0);
        let made = self.place.filter(|_| end == self.model.from.other());
        waiting.or(made).map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let queue = &mut self.queues[end.other().index()];
        let len = queue.len().min(into.len());
        super::copy_out(queue, &mut into[..len]);
        self.usage[end.other().index()].bytes_out += len as u64;
        len
    }

    fn room(&self, _: End) -> Option<Instant> {
        None
    }

    fn usage(&self, end: End) -> Usage {
        self.usage[end.index()]
    }

    fn calm(&mut self) {
        self.place = None;
        self.loud_until = 0;
    }
}
