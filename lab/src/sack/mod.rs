//! TCP as hosts have it today, as a comparator: SACK at the sender [RFC 6675], CUBIC [RFC 9438] or Reno [RFC 5681],
//! a first window of ten segments [RFC 6928], HyStart++ [RFC 9406].
//!
//! ```text
//! program | -> buffer -> scoreboard, windows -> IP, TCP, options -> network -> order, SACK blocks -> | program
//! ```
//!
//! [`crate::tcp`] has a whole stack that others wrote, which repairs one hole per round trip. This is a model of our
//! own of a bulk connection: what decides its rate is as in the RFCs, and the rest is left out. The
//! connection is made over the network, from time 0 on. Words, after `sack:`
//!
//! | word | meaning | unless given | source |
//! |---|---|---|---|
//! | `mss=1448` | most bytes of data in a segment; a packet has 52 more, or more with SACK blocks | 1448 | RFC 7323: timestamps |
//! | `window=4M` | receive buffer, and so the greatest window; also the send buffer | 4M | |
//! | `cc=cubic` | `reno`, `cubic` | `cubic` | |
//! | `delack=40ms` | most delay of an acknowledgement; every second segment has one at once | 40 ms | Linux; RFC 5681: at most 500 ms |
//! | `rto=200ms` | least timeout | 200 ms | Linux; RFC 6298: 1 s |
//!
//! | as in | what |
//! |---|---|
//! | RFC 6675 | pipe, IsLost, NextSeg rules 1 and 2, once per recovery; a repair that is lost waits for the timer |
//! | RFC 6298 | timeouts; Karn's rule; everything that is not acknowledged is lost then |
//! | RFC 9438 | curve, Reno-friendly region, fast convergence, 0.7, in whole numbers |
//! | not | RACK and tail loss probes [RFC 8985], PRR [RFC 6937], ECN, pacing, undoing, closing; hosts take no time |

mod control;
mod receiver;
mod segment;
mod sender;

pub use control::Algorithm;

use crate::element::{Element, End, Unit, Usage};
use crate::net::DATAGRAM_MAX;
use crate::net::parse::{BadNet, Shown, ShownSize, words};
use receiver::Receiver;
use segment::{HEADERS, Segment, shift};
use sender::Sender;
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use wetstring_proto::{Cx, Duration, Instant};

/// Description of a connection. See the [module](self).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SackModel {
    /// Most bytes of data in a segment.
    pub mss_bytes: u64,
    /// Receive and send buffers.
    pub window_bytes: u64,
    /// Congestion control of both.
    pub algorithm: Algorithm,
    /// Most delay of an acknowledgement.
    pub delayed_ack: Duration,
    /// Least timeout.
    pub timeout: Duration,
}

impl Default for SackModel {
    fn default() -> Self {
        Self {
            mss_bytes: 1448,
            window_bytes: 1 << 22,
            algorithm: Algorithm::Cubic,
            delayed_ack: Duration::from_millis(40),
            timeout: Duration::from_millis(200),
        }
    }
}

const NAME: &str = "sack";
const KEYS: &str = "one of mss, window, cc, delack, rto";
/// A call that is not answered is repeated after this long, and twice as long each time.
const CALL_NS: u64 = 1_000_000_000;

impl FromStr for SackModel {
    type Err = BadNet;

    fn from_str(text: &str) -> Result<Self, BadNet> {
        let mut model = Self::default();
        for word in words(NAME, text, None)? {
            match word.key {
                "mss" => model.mss_bytes = word.size(64, 65_000)?,
                "window" => model.window_bytes = word.size(1 << 14, 1 << 30)?,
                "cc" => {
                    model.algorithm = match word.value() {
                        "reno" => Algorithm::Reno,
                        "cubic" => Algorithm::Cubic,
                        _ => return Err(word.bad("reno or cubic")),
                    };
                }
                "delack" => model.delayed_ack = word.time()?,
                "rto" => model.timeout = word.time()?,
                _ => return Err(word.unknown(KEYS)),
            }
        }
        Ok(model)
    }
}

impl fmt::Display for SackModel {
    /// The notation that is parsed; default values are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        write!(f, "sack:window={}", ShownSize(self.window_bytes))?;
        if self.algorithm == Algorithm::Reno {
            f.write_str(",cc=reno")?;
        }
        if self.mss_bytes != usual.mss_bytes {
            write!(f, ",mss={}", self.mss_bytes)?;
        }
        for (key, time, usual) in
            [("delack", self.delayed_ack, usual.delayed_ack), ("rto", self.timeout, usual.timeout)]
        {
            if time != usual {
                write!(f, ",{key}={}", Shown(time))?;
            }
        }
        Ok(())
    }
}

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// A: has called at this time, this often before.
    Calling {
        at: u64,
        calls: u32,
    },
    /// B: waits for a call.
    Listening,
    Open,
}

/// One end.
#[derive(Clone, Debug)]
struct Peer {
    end: End,
    state: State,
    sender: Sender,
    receiver: Receiver,
    going: VecDeque<Vec<u8>>,
    refused: bool,
    window: u64,
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Peer {
    fn new(model: &SackModel, end: End) -> Self {
        let limit = usize::try_from(model.window_bytes).unwrap_or(usize::MAX);
        Self {
            end,
            state: if end == End::A {
                State::Calling { at: 0, calls: 0 }
            } else {
                State::Listening
            },
            sender: Sender::new(model.algorithm, model.mss_bytes, limit, ns(model.timeout)),
            receiver: Receiver::new(model.window_bytes, ns(model.delayed_ack)),
            going: VecDeque::new(),
            refused: false,
            window: model.window_bytes,
        }
    }

    fn queue(&mut self, now: u64, segment: &Segment) {
        self.going.push_back(segment.write(self.end, (now / 1_000_000) as u32, shift(self.window)));
    }

    fn call(&mut self, now: u64) {
        let ack = (self.state == State::Open).then_some(0);
        let call = Segment { syn: true, ack, window: self.window, ..Segment::default() };
        self.queue(now, &call);
    }

    /// When something is due.
    fn next(&self) -> u64 {
        let call = match self.state {
            State::Calling { at, calls: 0 } => Some(at),
            State::Calling { at, calls } => Some(at + (CALL_NS << calls.min(6) >> 1)),
            _ => None,
        };
        let all = [call, self.sender.timer(), self.receiver.due()];
        all.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    fn come(&mut self, now: u64, packet: &[u8]) {
        let near = (self.receiver.next, self.sender.next_seq());
        let Some(segment) = Segment::read(packet, near, shift(self.window)) else { return };
        match (self.state, segment.syn, segment.ack) {
            (State::Listening, true, None) => {
                self.state = State::Open;
                self.sender.open(segment.window, CALL_NS / 3);
                self.call(now);
            }
            // The answer was lost: it is given again.
            (State::Open, true, None) => self.call(now),
            (State::Calling { at, .. }, true, Some(_)) => {
                self.state = State::Open;
                self.sender.open(segment.window, now - at);
            }
            (State::Open, false, Some(ack)) => {
                self.sender.acknowledged(now, ack, segment.window, &segment.blocks);
                if !segment.data.is_empty() {
                    self.receiver.come(now, segment.seq, &segment.data);
                }
            }
            _ => {}
        }
    }

    /// Handles expired timers, and makes the packets that may be sent.
    fn turn(&mut self, now: u64) {
        if let State::Calling { calls, .. } = self.state
            && self.next() <= now
        {
            self.state = State::Calling { at: now, calls: calls + 1 };
            self.call(now);
        }
        if self.sender.timer().is_some_and(|at| at <= now) {
            self.sender.timed_out(now);
        }
        if self.state != State::Open {
            return;
        }
        while let Some((seq, data)) = self.sender.send(now) {
            let mut segment = Segment { seq, data, ..Segment::default() };
            self.receiver.acknowledge(&mut segment);
            // With data there is no room for blocks beside a full segment.
            segment.blocks.clear();
            self.queue(now, &segment);
        }
        if self.receiver.due().is_some_and(|at| at <= now) {
            let mut segment = Segment { seq: self.sender.next_seq(), ..Segment::default() };
            self.receiver.acknowledge(&mut segment);
            self.queue(now, &segment);
        }
    }
}

/// A TCP connection over a network, as an element that carries bytes. See the [module](self).
pub struct Sack {
    network: Box<dyn Element>,
    peers: [Peer; 2],
    buffer: Vec<u8>,
    next_inside: u64,
    touched: bool,
    usage: [Usage; 2],
}

impl fmt::Debug for Sack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sack").field("next_inside", &self.next_inside).finish_non_exhaustive()
    }
}

impl Sack {
    /// A connection of this model over a network that carries datagrams.
    ///
    /// # Panics
    ///
    /// If the network carries bytes.
    pub fn new(model: &SackModel, network: Box<dyn Element>) -> Self {
        assert!(network.unit() == Unit::Datagrams, "expected a network that carries datagrams");
        Self {
            network,
            peers: End::BOTH.map(|end| Peer::new(model, end)),
            buffer: vec![0; DATAGRAM_MAX],
            next_inside: 0,
            touched: true,
            usage: [Usage::default(); 2],
        }
    }

    fn look_ahead(&mut self) {
        let mut next = u64::MAX;
        for end in End::BOTH {
            let peer = &self.peers[end.index()];
            let comes = self.network.next(end);
            let room = self.network.room(end).filter(|_| peer.refused);
            let at = comes.into_iter().chain(room).min().map_or(u64::MAX, Instant::as_nanos);
            next = next.min(peer.next()).min(at);
        }
        self.next_inside = next;
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now.as_nanos();
        let (mut last, mut idle) = (0, 0);
        while self.next_inside <= now {
            let at = self.next_inside.max(last);
            let moved = self.settle(&mut Cx { now: Instant(at), trace: &mut *cx.trace });
            self.look_ahead();
            // Nothing moves at this time: a lasting refusal.
            idle = if moved || at > last { 0 } else { idle + 1 };
            last = at;
            if idle > 2 {
                break;
            }
        }
        if std::mem::take(&mut self.touched) {
            self.settle(cx);
            self.look_ahead();
        }
    }

    /// Processes all events of one instant.
    fn settle(&mut self, cx: &mut Cx<'_>) -> bool {
        let now = cx.now.as_nanos();
        let mut moved = false;
        loop {
            let mut again = false;
            for end in End::BOTH {
                while self.network.next(end).is_some_and(|at| at <= cx.now) {
                    let len = self.network.emit(cx, end, &mut self.buffer);
                    if len == 0 {
                        break;
                    }
                    let peer = &mut self.peers[end.index()];
                    peer.come(now, &self.buffer[..len]);
                    // Each packet has its answer, though another comes at the same time.
                    peer.turn(now);
                    again = true;
                }
                let peer = &mut self.peers[end.index()];
                peer.turn(now);
                peer.refused = false;
                while let Some(packet) = peer.going.front() {
                    if self.network.offer(cx, end, packet) == 0 {
                        peer.refused = true;
                        break;
                    }
                    peer.going.pop_front();
                    again = true;
                }
            }
            moved |= again;
            if !again {
                return moved;
            }
        }
    }
}

impl Element for Sack {
    fn offer(&mut self, cx: &mut Cx<'_>, end: End, bytes: &[u8]) -> usize {
        self.advance(cx);
        let len = self.peers[end.index()].sender.write(bytes);
        self.usage[end.index()].bytes_in += len as u64;
        if len > 0 {
            self.touched = true;
            self.next_inside = self.next_inside.min(cx.now.as_nanos());
        }
        len
    }

    fn next(&self, end: End) -> Option<Instant> {
        let ready = !self.peers[end.index()].receiver.ready.is_empty();
        let at = if ready { 0 } else { self.next_inside };
        (at != u64::MAX).then_some(Instant(at))
    }

    fn emit(&mut self, cx: &mut Cx<'_>, end: End, into: &mut [u8]) -> usize {
        self.advance(cx);
        let peer = &mut self.peers[end.index()];
        let len = peer.receiver.ready.len().min(into.len());
        crate::serial::copy_out(&mut peer.receiver.ready, &mut into[..len]);
        if len > 0 {
            peer.receiver.read(cx.now.as_nanos());
            self.usage[end.other().index()].bytes_out += len as u64;
            self.touched = true;
            self.next_inside = self.next_inside.min(cx.now.as_nanos());
        }
        len
    }

    fn room(&self, _: End) -> Option<Instant> {
        // More room comes with an acknowledgement, which is an event inside.
        None
    }

    fn usage(&self, end: End) -> Usage {
        let own = self.usage[end.index()];
        let below = self.network.usage(end);
        Usage { bytes_in: own.bytes_in, bytes_out: own.bytes_out, ..below }
    }

    fn calm(&mut self) {
        self.network.calm();
    }
}

/// Bytes around the data of a full segment.
pub const AROUND: usize = HEADERS;
