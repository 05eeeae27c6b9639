//! A toy protocol, so that ports, loop and stores are tested without a real one.
//!
//! The sender sends 8 bytes of length and the bytes; the receiver answers with one byte: `+`.
//! `!` from either side is an abort.

#![allow(unreachable_pub, dead_code, reason = "every test file uses a part of it")]

use std::collections::VecDeque;
use wetstring_drive::Watch;
use wetstring_proto::engine::{
    Blame, Command, Cx, Engine, Event, Failure, FailureKind, Outcome, Status, Wants,
};
use wetstring_proto::file::{FileInfo, Reply, Request, StoreError};
use wetstring_proto::stats::Stats;
use wetstring_proto::time::Instant;
pub use wetstring_testkit::pattern;

pub const ABORTED: Outcome =
    Outcome::Failed(Failure { blame: Blame::Local, kind: FailureKind::Aborted });
pub const TOLD: Outcome =
    Outcome::Failed(Failure { blame: Blame::Peer, kind: FailureKind::PeerError });
pub const CLOSED: Outcome =
    Outcome::Failed(Failure { blame: Blame::Line, kind: FailureKind::Closed });

pub fn store_failed(error: StoreError) -> Outcome {
    Outcome::Failed(Failure { blame: Blame::Store, kind: FailureKind::Store(error) })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Next,
    Reading,
    WaitingForAck,
    Offer,
    Data,
    Closing(Outcome),
    Over(Outcome),
}

/// Sends one file.
pub struct ToySender {
    step: Step,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    offset: u64,
    stats: Stats,
    events: VecDeque<String>,
    last: String,
}

impl Default for ToySender {
    fn default() -> Self {
        Self {
            step: Step::Next,
            buffer: vec![0; 64 * 1024],
            from: 0,
            to: 0,
            offset: 0,
            stats: Stats::default(),
            events: VecDeque::new(),
            last: String::new(),
        }
    }
}

impl Engine for ToySender {
    fn receive(&mut self, _: &mut Cx<'_>, bytes: &[u8]) -> usize {
        match (self.step, bytes.first()) {
            (Step::Over(_) | Step::Closing(_), _) | (_, None) => 0,
            (_, Some(b'!')) => {
                self.from = 0;
                self.to = 0;
                self.step = Step::Closing(TOLD);
                1
            }
            (Step::WaitingForAck, Some(b'+')) => {
                self.step = Step::Closing(Outcome::Done);
                1
            }
            _ => 1,
        }
    }

    fn transmit(&mut self, _: &mut Cx<'_>) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    fn transmitted(&mut self, _: &mut Cx<'_>, len: usize) {
        self.from += len;
        self.stats.wire_out_bytes += len as u64;
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn tick(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self) -> Option<Request<'_>> {
        match self.step {
            Step::Next => Some(Request::Next),
            Step::Reading if self.from == self.to => {
                Some(Request::Read { offset: self.offset, into: &mut self.buffer })
            }
            Step::Closing(outcome) => {
                let complete = outcome == Outcome::Done;
                Some(Request::Close { complete, verified: complete })
            }
            _ => None,
        }
    }

    fn reply(&mut self, _: &mut Cx<'_>, reply: Reply<'_>) {
        match (self.step, reply) {
            (Step::Next, Reply::File(info)) => {
                self.events.push_back(String::from_utf8_lossy(info.name).into_owned());
                self.buffer[..8].copy_from_slice(&info.size.unwrap_or(0).to_be_bytes());
                self.from = 0;
                self.to = 8;
                self.step = Step::Reading;
            }
            (Step::Next, Reply::NoMoreFiles) => self.step = Step::Over(Outcome::Done),
            (Step::Reading, Reply::Read(0)) => self.step = Step::WaitingForAck,
            (Step::Reading, Reply::Read(len)) => {
                self.from = 0;
                self.to = len;
                self.offset += len as u64;
            }
            (Step::Closing(outcome), _) => self.step = Step::Over(outcome),
            (_, Reply::Failed(error)) => self.step = Step::Over(store_failed(error)),
            (_, reply) => panic!("reply {reply:?} in {:?}", self.step),
        }
    }

    fn event(&mut self) -> Option<Event<'_>> {
        self.last = self.events.pop_front()?;
        Some(Event::Message(self.last.as_bytes()))
    }

    fn command(&mut self, _: &mut Cx<'_>, _: Command) {
        if !matches!(self.step, Step::Over(_)) {
            self.buffer[0] = b'!';
            self.from = 0;
            self.to = 1;
            self.step = Step::Closing(ABORTED);
        }
    }

    fn wants(&self) -> Wants {
        Wants::INPUT
    }

    fn status(&self) -> Status {
        match self.step {
            Step::Over(outcome) => Status::Over(outcome),
            _ => Status::Running,
        }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}

/// Receives one file; may take its bytes in small bites and not every time it is asked.
pub struct ToyReceiver {
    step: Step,
    head: Vec<u8>,
    left: u64,
    offset: u64,
    held: Vec<u8>,
    /// Most bytes taken at once.
    pub bite: usize,
    out: Vec<u8>,
    stats: Stats,
    name: &'static [u8],
}

impl ToyReceiver {
    pub fn new(name: &'static [u8], bite: usize) -> Self {
        Self {
            step: Step::Next,
            head: Vec::new(),
            left: 0,
            offset: 0,
            held: Vec::new(),
            bite,
            out: Vec::new(),
            stats: Stats::default(),
            name,
        }
    }

    fn end(&mut self, outcome: Outcome) {
        self.step = Step::Closing(outcome);
    }
}

impl Engine for ToyReceiver {
    fn receive(&mut self, _: &mut Cx<'_>, bytes: &[u8]) -> usize {
        match self.step {
            Step::Next => {
                let len = bytes.len().min(8 - self.head.len());
                self.head.extend_from_slice(&bytes[..len]);
                if self.head.len() == 8 {
                    self.left = u64::from_be_bytes(self.head[..].try_into().unwrap());
                    self.step = Step::Offer;
                }
                len
            }
            // What is held must be stored before more is taken: back pressure.
            Step::Data if self.held.is_empty() => {
                let len = bytes.len().min(self.bite).min(self.left as usize);
                self.held.extend_from_slice(&bytes[..len]);
                self.left -= len as u64;
                self.stats.wire_in_bytes += len as u64;
                len
            }
            _ => 0,
        }
    }

    fn transmit(&mut self, _: &mut Cx<'_>) -> &[u8] {
        &self.out
    }

    fn transmitted(&mut self, _: &mut Cx<'_>, len: usize) {
        self.out.drain(..len);
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn tick(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self) -> Option<Request<'_>> {
        match self.step {
            Step::Offer => {
                let info =
                    FileInfo { name: self.name, size: Some(self.left), ..FileInfo::default() };
                Some(Request::Offer { info })
            }
            Step::Data if !self.held.is_empty() => {
                Some(Request::Write { offset: self.offset, bytes: &self.held })
            }
            Step::Data if self.left == 0 => {
                Some(Request::Close { complete: true, verified: false })
            }
            Step::Closing(_) => Some(Request::Close { complete: false, verified: false }),
            _ => None,
        }
    }

    fn reply(&mut self, _: &mut Cx<'_>, reply: Reply<'_>) {
        match (self.step, reply) {
            (Step::Offer, Reply::Accept { .. }) => self.step = Step::Data,
            (Step::Data, Reply::Done) if !self.held.is_empty() => {
                self.offset += self.held.len() as u64;
                self.held.clear();
            }
            (Step::Data, Reply::Done) => {
                self.out.push(b'+');
                self.step = Step::Over(Outcome::Done);
            }
            (Step::Closing(outcome), _) => self.step = Step::Over(outcome),
            (_, Reply::Failed(error)) => {
                self.out.push(b'!');
                self.end(store_failed(error));
            }
            (_, Reply::Refuse(_)) => {
                self.out.push(b'!');
                self.end(TOLD);
            }
            (_, reply) => panic!("reply {reply:?} in {:?}", self.step),
        }
    }

    fn event(&mut self) -> Option<Event<'_>> {
        None
    }

    fn command(&mut self, _: &mut Cx<'_>, _: Command) {
        if !matches!(self.step, Step::Over(_) | Step::Closing(_)) {
            self.held.clear();
            self.out.push(b'!');
            self.end(ABORTED);
        }
    }

    fn wants(&self) -> Wants {
        Wants::INPUT
    }

    fn status(&self) -> Status {
        match self.step {
            Step::Over(outcome) => Status::Over(outcome),
            _ => Status::Running,
        }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}

/// Remembers what it saw.
#[derive(Default)]
pub struct Seen {
    pub messages: Vec<String>,
    pub progress: usize,
}

impl Watch for Seen {
    fn event(&mut self, event: &Event<'_>, _: &Stats) {
        if let Event::Message(text) = event {
            self.messages.push(String::from_utf8_lossy(text).into_owned());
        }
    }

    fn progress(&mut self, _: &Stats) {
        self.progress += 1;
    }
}
