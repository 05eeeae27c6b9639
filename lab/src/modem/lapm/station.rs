//! One end of a LAPM link, without bits and line: what to send next, and what a received frame means.
//!
//! Internally, frames are numbered from 0 without wrapping; modulo 128 only on the line.

use super::frame::{Frame, Kind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The parameters of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// k: frames that may be unacknowledged, 1 to 63.
    pub window: u64,
    /// N401: octets of a full I frame.
    pub octets: usize,
    /// T401 in ns: how long to wait for an acknowledgement.
    pub t401: u64,
    /// T402 in ns: how long an acknowledgement may wait for an I frame to carry it.
    pub t402: u64,
    /// N400: maximum retries.
    pub n400: u32,
    /// SREJ instead of REJ.
    pub selective: bool,
}

/// Statistics of a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// I frames sent for the first time.
    pub i_frames: u64,
    /// I frames sent again.
    pub again: u64,
    /// RR sent.
    pub rr: u64,
    /// RNR sent.
    pub rnr: u64,
    /// REJ and SREJ sent.
    pub reject: u64,
    /// T401 expirations.
    pub timeouts: u64,
    /// Duplicate I frames received.
    pub duplicates: u64,
}

/// One end of a LAPM link.
#[derive(Clone, Debug)]
pub struct Station {
    params: Params,
    /// V(A): the oldest unacknowledged frame; it and later ones are kept.
    acknowledged: u64,
    kept: VecDeque<Vec<u8>>,
    /// V(S): the number of the next frame to send.
    next: u64,
    /// First frame that was never sent.
    fresh: u64,
    /// Requested by SREJ.
    wanted: BTreeSet<u64>,
    peer_busy: bool,
    /// T401 expired: only a poll until it is answered.
    recovering: bool,
    ask: bool,
    t401_at: Option<u64>,
    asked: u32,
    down: bool,
    /// V(R): the next expected frame.
    expected: u64,
    /// A REJ was sent, or is to be sent, for the expected frame.
    rejecting: bool,
    reject: bool,
    /// Received out of order (SREJ only), and requested.
    early: BTreeMap<u64, Vec<u8>>,
    missing: VecDeque<u64>,
    requested: u64,
    busy: bool,
    tell_busy: bool,
    answer: bool,
    acknowledge_at: Option<u64>,
    /// Statistics.
    pub counters: Counters,
}

impl Station {
    /// A station whose link is established.
    pub fn new(params: Params) -> Self {
        Self {
            params,
            acknowledged: 0,
            kept: VecDeque::new(),
            next: 0,
            fresh: 0,
            wanted: BTreeSet::new(),
            peer_busy: false,
            recovering: false,
            ask: false,
            t401_at: None,
            asked: 0,
            down: false,
            expected: 0,
            rejecting: false,
            reject: false,
            early: BTreeMap::new(),
            missing: VecDeque::new(),
            requested: 0,
            busy: false,
            tell_busy: false,
            answer: false,
            acknowledge_at: None,
            counters: Counters::default(),
        }
    }

    /// Whether it has given up.
    pub fn is_down(&self) -> bool {
        self.down
    }

    /// Gives up.
    pub fn give_up(&mut self) {
        self.down = true;
        self.t401_at = None;
        self.acknowledge_at = None;
    }

    /// Whether everything that was sent is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether a frame that was never sent could be sent now.
    pub fn takes_more(&self) -> bool {
        let flowing = !self.down && !self.recovering && !self.peer_busy;
        flowing && self.next == self.fresh && (self.kept.len() as u64) < self.params.window
    }

    /// When T401 runs out.
    pub fn t401_at(&self) -> Option<u64> {
        self.t401_at
    }

    /// When a separate acknowledgement is due.
    pub fn acknowledge_at(&self) -> Option<u64> {
        self.acknowledge_at
    }

    /// Sets whether there is room for received data.
    pub fn set_busy(&mut self, busy: bool) {
        if self.busy != busy {
            self.busy = busy;
            self.tell_busy = true;
        }
    }

    /// Expires T401 if due. Returns whether it did.
    pub fn tick(&mut self, now: u64) -> bool {
        if self.down || self.t401_at.is_none_or(|at| at > now) {
            return false;
        }
        self.counters.timeouts += 1;
        if self.asked == self.params.n400 {
            self.give_up();
            return true;
        }
        self.asked += 1;
        self.recovering = true;
        self.ask = true;
        // It starts when the question has been sent.
        self.t401_at = None;
        true
    }

    /// The next frame to send; `fill` returns the octets of a new one, if there is one.
    pub fn send(&mut self, now: u64, fill: impl FnOnce() -> Option<Vec<u8>>) -> Option<Frame> {
        if self.down {
            return None;
        }
        if std::mem::take(&mut self.answer) {
            return Some(self.ready(true, false));
        }
        if std::mem::take(&mut self.reject) {
            return Some(self.rejection(Kind::Rej, self.expected));
        }
        if let Some(missing) = self.missing.pop_front() {
            return Some(self.rejection(Kind::Srej, missing));
        }
        if self.tell_busy {
            return Some(self.ready(false, false));
        }
        if std::mem::take(&mut self.ask) {
            return Some(self.ready(true, true));
        }
        if !self.recovering && !self.peer_busy {
            if let Some(wanted) = self.wanted.pop_first() {
                self.counters.again += 1;
                return self.information(wanted);
            }
            if self.next < self.fresh {
                self.counters.again += 1;
                self.next += 1;
                return self.information(self.next - 1);
            }
            if (self.kept.len() as u64) < self.params.window
                && let Some(octets) = fill()
            {
                self.kept.push_back(octets);
                self.counters.i_frames += 1;
                self.fresh += 1;
                self.next = self.fresh;
                return self.information(self.next - 1);
            }
        }
        if self.acknowledge_at.is_some_and(|at| at <= now) {
            return Some(self.ready(false, false));
        }
        None
    }

    fn information(&mut self, number: u64) -> Option<Frame> {
        let octets = self.kept.get(number.checked_sub(self.acknowledged)? as usize)?.clone();
        self.acknowledge_at = None;
        Some(Frame::I {
            ns: number as u8 & 0x7f,
            nr: self.expected as u8 & 0x7f,
            poll: false,
            octets,
        })
    }

    /// RR or RNR.
    fn ready(&mut self, poll: bool, command: bool) -> Frame {
        self.tell_busy = false;
        self.acknowledge_at = None;
        let kind = if self.busy { Kind::Rnr } else { Kind::Rr };
        *(if self.busy { &mut self.counters.rnr } else { &mut self.counters.rr }) += 1;
        Frame::S { kind, nr: self.expected as u8 & 0x7f, poll, command }
    }

    fn rejection(&mut self, kind: Kind, number: u64) -> Frame {
        self.counters.reject += 1;
        if kind == Kind::Rej {
            self.acknowledge_at = None;
        }
        Frame::S { kind, nr: number as u8 & 0x7f, poll: false, command: false }
    }

    /// A frame that [`Station::send`] gave leaves the line's sending side at `end`.
    pub fn sent(&mut self, frame: &Frame, end: u64) {
        let (asks, informs) = match frame {
            Frame::I { .. } => (false, true),
            Frame::S { poll, command, .. } => (*poll && *command, false),
        };
        if asks || (informs && self.t401_at.is_none()) {
            self.t401_at = Some(end.saturating_add(self.params.t401));
        }
    }

    /// A good frame was received. Its data is appended to `into`. A station that is busy and has no room at all
    /// takes the acknowledgement and leaves the data to be retransmitted.
    pub fn receive(&mut self, now: u64, frame: Frame, has_room: bool, into: &mut VecDeque<u8>) {
        if self.down {
            return;
        }
        match frame {
            Frame::I { ns, nr, poll, octets } => {
                self.acknowledged_up_to(now, nr);
                self.answer |= poll;
                if has_room {
                    self.arrived(now, ns, octets, into);
                } else {
                    self.tell_busy = true;
                }
            }
            Frame::S { kind: Kind::Srej, nr, .. } => {
                // It acknowledges nothing [V.42 8.4.5].
                let number = self.absolute(nr);
                if number < self.fresh {
                    self.wanted.insert(number);
                }
            }
            Frame::S { kind, nr, poll, command } => {
                self.peer_busy = kind == Kind::Rnr;
                self.answer |= poll && command;
                self.acknowledged_up_to(now, nr);
                let answered = poll && !command && self.recovering;
                if answered {
                    self.recovering = false;
                    self.asked = 0;
                    self.t401_at = None;
                }
                // Unacknowledged frames were lost: all earlier ones had time to arrive.
                if answered || (kind == Kind::Rej && !self.recovering) {
                    self.next = self.acknowledged;
                    self.wanted.clear();
                }
                if self.peer_busy && self.t401_at.is_none() && !self.recovering {
                    // Its RR may be lost: poll after a while.
                    self.t401_at = Some(now.saturating_add(self.params.t401));
                }
            }
        }
    }

    /// The unwrapped number of N(R).
    fn absolute(&self, nr: u8) -> u64 {
        self.acknowledged + u64::from(nr.wrapping_sub(self.acknowledged as u8) & 0x7f)
    }

    fn acknowledged_up_to(&mut self, now: u64, nr: u8) {
        let number = self.absolute(nr);
        // More than was sent comes from a damaged frame with a good check.
        if number > self.fresh || number == self.acknowledged {
            return;
        }
        self.kept.drain(..(number - self.acknowledged) as usize);
        self.acknowledged = number;
        self.next = self.next.max(number);
        self.wanted = self.wanted.split_off(&number);
        if self.recovering {
            return;
        }
        self.asked = 0;
        let waits = number < self.next;
        self.t401_at = waits.then(|| now.saturating_add(self.params.t401));
    }

    fn arrived(&mut self, now: u64, ns: u8, octets: Vec<u8>, into: &mut VecDeque<u8>) {
        let ahead = u64::from(ns.wrapping_sub(self.expected as u8) & 0x7f);
        let due = now.saturating_add(self.params.t402);
        if ahead == 0 {
            into.extend(octets);
            self.expected += 1;
            while let Some(octets) = self.early.remove(&self.expected) {
                into.extend(octets);
                self.expected += 1;
            }
            self.missing.retain(|number| *number >= self.expected);
            self.rejecting = false;
            self.reject = false;
            self.acknowledge_at = Some(self.acknowledge_at.map_or(due, |at| at.min(due)));
        } else if ahead >= self.params.window.max(64) {
            self.counters.duplicates += 1;
            self.acknowledge_at = Some(now);
        } else if self.params.selective {
            let number = self.expected + ahead;
            let begin = self.requested.max(self.expected);
            self.missing.extend(begin..number);
            self.requested = self.requested.max(number + 1);
            if self.early.insert(number, octets).is_some() {
                self.counters.duplicates += 1;
            }
        } else if !self.rejecting {
            self.rejecting = true;
            self.reject = true;
        }
    }
}
