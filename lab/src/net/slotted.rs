//! A slotted channel with reservations: a satellite hop as the Wideband network had it.
//!
//! ```text
//!         |<- frame ->|
//! offer ->|  request  |... reserve ...| granted frame |... delay ...> emit, all of a frame at once
//! ```
//! Time is divided into frames which carry a number of bytes each. What arrives during a frame is requested in
//! one request at its end. The request is granted `reserve` later: from then on each packet uses the first
//! frame that has room for it, and it arrives `delay` after the end of that frame. A request can be missed
//! (`miss`): then all its packets wait another `reserve`, and packets of later requests overtake them. So
//! delays come in steps of `reserve`, in whole frames worth of packets, and a channel with continuous requests
//! is used continuously.
//!
//! A packet is not fragmented: it goes whole into a frame, and one that no frame can hold is lost.
//!
//! [RFC 1030 §7 and appendix I: 3006 bytes per 21.22 ms frame, delays in steps of 600 ms, 1.8 s
//! round trip; overload crashed the stations of the network.]
//!
//! Words, after `slotted:` (`slotted:wideband` is the Wideband network, and words may follow):
//!
//! | word | meaning | unless given | wideband |
//! |---|---|---|---|
//! | `frame=21.22ms` | length of a frame | 10ms | 21.22 ms |
//! | `capacity=3006` | bytes in a frame | 1500 | 3006 |
//! | `reserve=600ms` | from the request to the first frame that may carry it | 0 | 600 ms |
//! | `delay=270ms` | from the end of the frame to the receiver | 0 | 270 ms |
//! | `miss=2%` | chance of each request to be missed | 0 | 0 |
//! | `queue=64K` | bytes that may wait in a direction; what is more is lost | 1024M | 1024M |
//! | `collapse=10s` | a full queue brings the station down: all that waits and all that comes in this time is lost | no | no |
//! | `overhead=0` | bytes of framing per packet | 0 | 0 |
//! | `fragment=1476@25%` | a longer packet is cut in two before the channel; with this chance its second part asks again, `reserve` later | no | no |
//! | `loss=0.5%` | chance of each packet to be lost | 0 | 0 |
//! | `seed=7` | random seed | 1 | 1 |
//!
//! Nine tenths of a second for each way: 600 ms, half a frame on average and one for itself, and
//! 270 ms for the hop. Where the numbers come from: [`super::wideband`].
//!
//! A fragmented packet is whole when its last part has arrived, and lost if one part is.

use super::chance::Coin;
use super::flight::Flight;
use super::headers::IP_BYTES;
use super::parse::{BadNet, Param, Shown, ShownSize, chance, words};
use super::wideband;
use crate::element::{Element, End, Unit, Usage};
use crate::random::Random;
use crate::serial::Probability;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant, TraceEvent};

/// Description of a slotted channel. See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlottedModel {
    /// Length of a frame.
    pub frame: Duration,
    /// Bytes that a frame carries, in each direction.
    pub capacity_bytes: u64,
    /// From the request to the first frame that may carry it.
    pub reserve: Duration,
    /// From the end of the frame to the receiver.
    pub delay: Duration,
    /// Chance that a request is missed.
    pub miss: Probability,
    /// Bytes that may wait.
    pub queue_bytes: u64,
    /// How long a full queue brings the station down.
    pub collapse: Option<Duration>,
    /// Bytes of framing per packet.
    pub overhead_bytes: u64,
    /// Longer packets are cut in two, and the chance of the second part to ask again.
    pub fragment: Option<(u64, Probability)>,
    /// Chance that a packet is lost.
    pub loss: Probability,
    /// The random seed.
    pub seed: u64,
}

impl Default for SlottedModel {
    fn default() -> Self {
        Self {
            frame: Duration::from_millis(10),
            capacity_bytes: 1500,
            reserve: Duration::ZERO,
            delay: Duration::ZERO,
            miss: Probability::NEVER,
            queue_bytes: 1 << 30,
            collapse: None,
            overhead_bytes: 0,
            fragment: None,
            loss: Probability::NEVER,
            seed: 1,
        }
    }
}

const NAME: &str = "slotted";
const KEYS: &str = "wideband first, or one of frame, capacity, reserve, delay, miss, queue, \
                    collapse, overhead, fragment, loss, seed";

impl FromStr for SlottedModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        for (index, word) in words(NAME, text, None)?.iter().enumerate() {
            if index == 0 && word.key == "wideband" {
                word.flag()?;
                model = Self::wideband();
            } else {
                model.set(word)?;
            }
        }
        Ok(model)
    }
}

impl SlottedModel {
    /// The Wideband network of RFC 1030.
    pub fn wideband() -> Self {
        Self {
            frame: wideband::FRAME,
            capacity_bytes: wideband::frame_bytes(),
            reserve: wideband::RESERVE,
            delay: wideband::HOP,
            ..Self::default()
        }
    }

    fn set(&mut self, word: &Param<'_>) -> Result<(), BadNet> {
        match word.key {
            "frame" => {
                self.frame = word.time()?;
                if self.frame.is_zero() {
                    return Err(word.bad("a time above 0 such as 21.22ms"));
                }
            }
            "capacity" => self.capacity_bytes = word.size(1, 1 << 30)?,
            "reserve" => self.reserve = word.time()?,
            "delay" => self.delay = word.time()?,
            "miss" => {
                self.miss = word.chance()?;
                if Some(self.miss) == Probability::new(1, 0) {
                    return Err(word.bad("a chance below 100%"));
                }
            }
            "queue" => self.queue_bytes = word.size(0, 1 << 30)?,
            "collapse" => self.collapse = Some(word.time()?),
            "overhead" => self.overhead_bytes = word.size(0, 65_535)?,
            "fragment" => {
                const FRAGMENT: &str = "BYTES@CHANCE such as 1476@25%";
                let parts = word.value().split_once('@').and_then(|(bytes, late)| {
                    let bytes = bytes.parse().ok().filter(|n| (64..=65_535).contains(n))?;
                    Some((bytes, chance(late)?))
                });
                self.fragment = Some(parts.ok_or_else(|| word.bad(FRAGMENT))?);
            }
            "loss" => self.loss = word.chance()?,
            "seed" => self.seed = word.seed()?,
            _ => return Err(word.unknown(KEYS)),
        }
        Ok(())
    }
}

impl fmt::Display for SlottedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        let capacity = ShownSize(self.capacity_bytes);
        write!(f, "slotted:frame={},capacity={capacity}", Shown(self.frame))?;
        if self.reserve != usual.reserve {
            write!(f, ",reserve={}", Shown(self.reserve))?;
        }
        if self.delay != usual.delay {
            write!(f, ",delay={}", Shown(self.delay))?;
        }
        if self.miss != usual.miss {
            write!(f, ",miss={}", Shown(self.miss))?;
        }
        if self.queue_bytes != usual.queue_bytes {
            write!(f, ",queue={}", ShownSize(self.queue_bytes))?;
        }
        if let Some(time) = self.collapse {
            write!(f, ",collapse={}", Shown(time))?;
        }
        if self.overhead_bytes != usual.overhead_bytes {
            write!(f, ",overhead={}", self.overhead_bytes)?;
        }
        if let Some((bytes, late)) = self.fragment {
            write!(f, ",fragment={bytes}@{}", Shown(late))?;
        }
        if self.loss != usual.loss {
            write!(f, ",loss={}", Shown(self.loss))?;
        }
        if self.seed != usual.seed {
            write!(f, ",seed={}", self.seed)?;
        }
        Ok(())
    }
}

/// A slotted channel with its two directions.
#[derive(Clone, Debug)]
pub struct Slotted {
    model: SlottedModel,
    frame: u64,
    reserve: u64,
    delay: u64,
    ways: [Direction; 2],
}

#[derive(Clone, Debug)]
struct Direction {
    /// The frame in which the current request grows, and by how many steps it will be late.
    request: (u64, u64),
    miss: Coin,
    loss: Coin,
    /// The second part of a fragmented packet asks again.
    late_part: Coin,
    /// Frames with something in them: (number, bytes), in order.
    frames: VecDeque<(u64, u64)>,
    waiting_bytes: u64,
    down_until: u64,
    flight: Flight,
    count: u64,
    usage: Usage,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Slotted {
    /// A channel of this model.
    pub fn new(model: &SlottedModel) -> Self {
        Self::named(model, NAME)
    }

    /// A channel of this model with a name of its own, so that two of one seed differ.
    pub fn named(model: &SlottedModel, name: &str) -> Self {
        let way = |way: &str| {
            let stream = |what: &str| Random::stream(model.seed, name, &format!("{what} {way}"));
            Direction {
                request: (u64::MAX, 0),
                miss: Coin::new(model.miss, stream("miss")),
                loss: Coin::new(model.loss, stream("loss")),
                late_part: Coin::new(
                    model.fragment.map_or(Probability::NEVER, |(_, late)| late),
                    stream("fragment"),
                ),
                frames: VecDeque::new(),
                waiting_bytes: 0,
                down_until: 0,
                flight: Flight::new(),
                count: 0,
                usage: Usage::default(),
            }
        };
        Self {
            frame: nanos(model.frame),
            reserve: nanos(model.reserve),
            delay: nanos(model.delay),
            ways: [way("fwd"), way("rev")],
            model: model.clone(),
        }
    }
}

impl Direction {
    /// Drops the frames that have ended by `now`.
    fn pass(&mut self, frame: u64, now: u64) {
        while let Some((number, bytes)) = self.frames.front().copied() {
            if (number + 1).saturating_mul(frame) > now {
                break;
            }
            self.frames.pop_front();
            self.waiting_bytes -= bytes;
        }
    }

    /// By how many steps what arrives in this frame is late.
    fn steps(&mut self, number: u64) -> u64 {
        if self.request.0 != number {
            let mut steps = 0;
            while self.miss.toss() {
                steps += 1;
            }
            self.request = (number, steps);
        }
        self.request.1
    }

    /// The first frame from `first` on with room for this many bytes.
    fn place(&mut self, first: u64, bytes: u64, capacity: u64) -> u64 {
        self.waiting_bytes += bytes;
        let mut index = self.frames.partition_point(|(number, _)| *number < first);
        let mut number = first;
        while let Some(frame) = self.frames.get_mut(index) {
            if frame.0 > number {
                break;
            }
            if frame.1 + bytes <= capacity {
                frame.1 += bytes;
                return number;
            }
            number += 1;
            index += 1;
        }
        self.frames.insert(index, (number, bytes));
        number
    }
}

impl Element for Slotted {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        let now = cx.now.as_nanos();
        let way = &mut self.ways[end.index()];
        way.pass(self.frame, now);
        let (index, len) = (way.count, bytes.len());
        way.count += 1;
        way.usage.bytes_in += len as u64;
        let size = len as u64 + self.model.overhead_bytes;
        // The second part has a header of its own.
        let parts = self.model.fragment.map(|(most, _)| most).filter(|most| len as u64 > *most);
        let parts = parts.map(|most| {
            let overhead = self.model.overhead_bytes;
            (most + overhead, len as u64 - most + IP_BYTES as u64 + overhead)
        });
        let number = now / self.frame;
        let late = way.steps(number);
        let lost = way.loss.toss();
        let full = way.waiting_bytes + size > self.model.queue_bytes;
        let why = if now < way.down_until {
            Some(["down_fwd", "down_rev"])
        } else if size > self.model.capacity_bytes {
            Some(["too_long_fwd", "too_long_rev"])
        } else if full {
            Some(["queue_full_fwd", "queue_full_rev"])
        } else if lost {
            Some(["loss_fwd", "loss_rev"])
        } else {
            None
        };
        if let Some(names) = why {
            way.usage.dropped_bytes += len as u64;
            if cx.trace.enabled() {
                let event = TraceEvent::Value { name: names[end.index()], value: index };
                cx.trace.record(cx.now, &event);
            }
        }
        if let Some(time) = self.model.collapse.filter(|_| full && now >= way.down_until) {
            // Packets that have left the station stay in transit.
            way.down_until = now.saturating_add(nanos(time));
            let left = way.frames.front().map_or(now, |(number, _)| number * self.frame);
            let safe = left.saturating_add(self.delay);
            way.usage.dropped_bytes += way.flight.cut(safe.max(now));
            way.frames.clear();
            way.waiting_bytes = 0;
        }
        if why.is_none() {
            let frame = self.frame;
            let capacity = self.model.capacity_bytes;
            let carry = |way: &mut Direction, late: u64, size: u64| {
                let wait = self.reserve.saturating_mul(late + 1);
                let first = (number + 1).saturating_mul(frame).saturating_add(wait);
                let place = way.place(first.div_ceil(frame), size, capacity);
                way.usage.bits += size * 8;
                (place + 1).saturating_mul(frame)
            };
            let ends = match parts {
                None => carry(way, late, size),
                Some((first, second)) => {
                    let late_part = u64::from(way.late_part.toss());
                    let ends = carry(way, late, first);
                    ends.max(carry(way, late + late_part, second))
                }
            };
            way.flight.put(ends.saturating_add(self.delay), bytes);
            let busy = u128::from(way.usage.bits / 8) * u128::from(self.frame);
            let busy = busy / u128::from(self.model.capacity_bytes);
            way.usage.busy_ns = u64::try_from(busy).unwrap_or(u64::MAX);
        }
        len
    }

    fn next(&self, end: End) -> Option<Instant> {
        self.ways[end.other().index()].flight.next().map(Instant)
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        let way = &mut self.ways[end.other().index()];
        way.flight.emit(cx.now.as_nanos(), &mut way.usage, into)
    }

    fn room(&self, _: End) -> Option<Instant> {
        None
    }

    fn unit(&self) -> Unit {
        Unit::Datagrams
    }

    fn usage(&self, end: End) -> Usage {
        self.ways[end.index()].usage
    }

    fn calm(&mut self) {
        for way in &mut self.ways {
            way.miss.never();
            way.loss.never();
            way.late_part.never();
        }
    }
}
