//! A toy protocol, stop and wait, to test the laboratory with: right, or with one defect.
//!
//! Frame: `SOH kind number len data... crc32`. Kinds of the sender: `F` file name, `D` data, `Z`
//! end of file, `B` end of all; of the receiver: `Y` yes, `R` refused.

use wetstring_proto::engine::{
    Blame, Command, Cx, Engine, Event, Failure, FailureKind, Outcome, Status, Wants,
};
use wetstring_proto::file::{FileInfo, Refusal, Reply, Request};
use wetstring_proto::{Duration, Instant, Load, Stats, TraceEvent};

/// What is wrong with a toy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defect {
    None,
    /// Every frame passes the check.
    NoCheck,
    /// The sender takes for acknowledged what has left.
    Deaf,
    /// Nothing is repeated.
    NoTimer,
    /// A timer that has run out stays so.
    TimerStays,
    /// A damaged frame is a panic.
    Panics,
    /// A repeated data frame is stored again.
    StoresTwice,
    /// Never gives up.
    NeverGivesUp,
}

const SOH: u8 = 1;
const DATA: usize = 90;
const TIMEOUT: Duration = Duration::from_secs(15);
const TRIES: u32 = 20;

pub(crate) struct Toy {
    defect: Defect,
    sends: bool,
    state: State,
    status: Status,
    stats: Stats,
    number: u8,
    arrived: Vec<u8>,
    out: Vec<u8>,
    out_taken: usize,
    tries: u32,
    deadline: Option<Instant>,
    buffer: Vec<u8>,
    offset: u64,
    announced: Option<u64>,
    tell: Vec<Tell>,
    said: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    WantFile,
    WantData,
    WantClose,
    WaitAck(u8),
    WantOffer,
    WantWrite,
    WaitFrame,
    End,
}

#[derive(Clone, Copy)]
enum Tell {
    Done(u64),
    Refused,
}

impl Toy {
    pub(crate) fn sender(defect: Defect) -> Self {
        Self::new(defect, true, State::WantFile)
    }

    pub(crate) fn receiver(defect: Defect) -> Self {
        let mut toy = Self::new(defect, false, State::WaitFrame);
        toy.deadline = Some(Instant::ZERO + TIMEOUT * TRIES);
        toy
    }

    fn new(defect: Defect, sends: bool, state: State) -> Self {
        Self {
            defect,
            sends,
            state,
            status: Status::Running,
            stats: Stats::default(),
            number: 0,
            arrived: Vec::new(),
            out: Vec::new(),
            out_taken: 0,
            tries: 0,
            deadline: None,
            buffer: Vec::new(),
            offset: 0,
            announced: None,
            tell: Vec::new(),
            said: Vec::new(),
        }
    }

    fn fail(&mut self, blame: Blame, kind: FailureKind) {
        self.status = Status::Over(Outcome::Failed(Failure { blame, kind }));
        self.state = State::End;
        self.deadline = None;
        self.out.clear();
        self.out_taken = 0;
    }

    fn send(&mut self, cx: &mut Cx<'_>, kind: u8, number: u8, data: &[u8]) {
        self.out = vec![SOH, kind, number, data.len() as u8];
        self.out.extend_from_slice(data);
        let check = crc32fast::hash(&self.out);
        self.out.extend_from_slice(&check.to_be_bytes());
        self.out_taken = 0;
        self.stats.packets_out += 1;
        let (kind, len) = (kind as char, self.out.len());
        let event = TraceEvent::Sent {
            kind,
            number: number.into(),
            len,
            again: self.tries,
            load: Load::default(),
        };
        cx.trace.record(cx.now, &event);
    }

    fn ask(&mut self, cx: &mut Cx<'_>, kind: u8, data: &[u8]) {
        self.tries = 0;
        self.state = State::WaitAck(kind);
        self.send(cx, kind, self.number, data);
    }

    /// Takes the first whole frame out of what has arrived.
    fn frame(&mut self, cx: &mut Cx<'_>) -> Option<(u8, u8, Vec<u8>)> {
        loop {
            let noise = self.arrived.iter().take_while(|byte| **byte != SOH).count();
            self.arrived.drain(..noise);
            self.stats.noise_bytes += noise as u64;
            let len = 4 + usize::from(*self.arrived.get(3)?);
            let check = self.arrived.get(len..len + 4)?;
            let good = check == crc32fast::hash(&self.arrived[..len]).to_be_bytes();
            if good || self.defect == Defect::NoCheck {
                let frame: Vec<u8> = self.arrived.drain(..len + 4).take(len).collect();
                self.stats.packets_in += 1;
                return Some((frame[1], frame[2], frame[4..].to_vec()));
            }
            assert!(self.defect != Defect::Panics, "a damaged frame");
            self.stats.damaged += 1;
            cx.trace.record(cx.now, &TraceEvent::Damaged { why: "check", len });
            self.arrived.remove(0);
        }
    }

    fn acknowledged(&mut self, kind: u8, refused: bool) {
        self.number = self.number.wrapping_add(1);
        self.deadline = None;
        self.state = match kind {
            b'F' if refused => {
                self.stats.files_skipped += 1;
                self.tell.push(Tell::Refused);
                State::WantFile
            }
            b'F' | b'D' => State::WantData,
            b'Z' => State::WantClose,
            _ => {
                self.status = Status::Over(Outcome::Done);
                State::End
            }
        };
    }

    /// A frame at the receiver.
    fn heard(&mut self, cx: &mut Cx<'_>, kind: u8, number: u8, data: Vec<u8>) {
        self.deadline = Some(cx.now + TIMEOUT * TRIES);
        let repeated = number == self.number.wrapping_sub(1);
        if repeated && !(self.defect == Defect::StoresTwice && kind == b'D') {
            self.stats.duplicates += 1;
            let last = self.said.clone();
            self.send(cx, last[0], number, &[]);
            return;
        }
        if number != self.number && !repeated {
            return;
        }
        self.buffer = data;
        match kind {
            b'F' => {
                self.offset = 0;
                self.state = State::WantOffer;
            }
            b'D' => self.state = State::WantWrite,
            b'Z' => {
                self.announced = self.buffer.as_slice().try_into().ok().map(u64::from_be_bytes);
                self.state = State::WantClose;
            }
            b'B' => {
                self.yes(cx, b'Y');
                self.deadline = Some(cx.now + TIMEOUT * 3);
                self.status = Status::Lingering(Outcome::Done);
            }
            _ => {}
        }
    }

    fn yes(&mut self, cx: &mut Cx<'_>, kind: u8) {
        self.said = vec![kind];
        self.send(cx, kind, self.number, &[]);
        self.number = self.number.wrapping_add(1);
        self.state = State::WaitFrame;
    }
}

impl Engine for Toy {
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        if self.state == State::End {
            return 0;
        }
        self.arrived.extend_from_slice(bytes);
        self.stats.wire_in_bytes += bytes.len() as u64;
        while matches!(self.state, State::WaitAck(_) | State::WaitFrame) {
            let Some((kind, number, data)) = self.frame(cx) else { break };
            match self.state {
                State::WaitAck(asked) if number == self.number && b"YR".contains(&kind) => {
                    self.acknowledged(asked, kind == b'R');
                }
                State::WaitFrame => self.heard(cx, kind, number, data),
                _ => {}
            }
        }
        bytes.len()
    }

    fn transmit(&mut self, _: &mut Cx<'_>) -> &[u8] {
        &self.out[self.out_taken..]
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        self.out_taken += len;
        self.stats.wire_out_bytes += len as u64;
        if self.out_taken < self.out.len() || len == 0 {
            return;
        }
        if let State::WaitAck(kind) = self.state {
            if self.defect == Defect::Deaf {
                self.acknowledged(kind, false);
            } else if self.defect != Defect::NoTimer {
                self.deadline = Some(cx.now + TIMEOUT);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        if self.deadline.is_none_or(|deadline| cx.now < deadline) {
            return;
        }
        if self.defect == Defect::TimerStays {
            return;
        }
        self.deadline = None;
        self.stats.timeouts += 1;
        if let Status::Lingering(outcome) = self.status {
            self.status = Status::Over(outcome);
            self.state = State::End;
            return;
        }
        if !self.sends {
            return self.fail(Blame::Line, FailureKind::Silence);
        }
        self.tries += 1;
        if self.tries > TRIES && self.defect != Defect::NeverGivesUp {
            return self.fail(Blame::Line, FailureKind::TooManyRetries);
        }
        self.stats.retransmissions += 1;
        self.out_taken = 0;
    }

    fn request(&mut self) -> Option<Request<'_>> {
        Some(match (self.state, self.sends) {
            (State::WantFile, _) => Request::Next,
            (State::WantData, _) => {
                self.buffer.resize(DATA, 0);
                Request::Read { offset: self.offset, into: &mut self.buffer }
            }
            (State::WantClose, true) => Request::Close { complete: true, verified: false },
            (State::WantOffer, _) => {
                Request::Offer { info: FileInfo { name: &self.buffer, ..FileInfo::default() } }
            }
            (State::WantWrite, _) => Request::Write { offset: self.offset, bytes: &self.buffer },
            (State::WantClose, false) => Request::Close {
                complete: self.announced == Some(self.offset) || self.defect != Defect::None,
                verified: false,
            },
            _ => return None,
        })
    }

    fn reply(&mut self, cx: &mut Cx<'_>, reply: Reply<'_>) {
        if let Reply::Failed(error) = reply {
            return self.fail(Blame::Store, FailureKind::Store(error));
        }
        match (self.state, reply) {
            (State::WantFile, Reply::File(info)) => {
                self.offset = 0;
                self.ask(cx, b'F', info.name);
            }
            (State::WantFile, _) => self.ask(cx, b'B', &[]),
            (State::WantData, Reply::Read(0)) => {
                self.ask(cx, b'Z', &self.offset.to_be_bytes());
            }
            (State::WantData, Reply::Read(len)) => {
                let data = self.buffer[..len].to_vec();
                self.offset += len as u64;
                self.stats.file_bytes += len as u64;
                self.ask(cx, b'D', &data);
            }
            (State::WantOffer, Reply::Refuse(_)) => {
                self.stats.files_skipped += 1;
                self.tell.push(Tell::Refused);
                self.yes(cx, b'R');
            }
            (State::WantWrite, _) => {
                self.offset += self.buffer.len() as u64;
                self.stats.file_bytes += self.buffer.len() as u64;
                self.yes(cx, b'Y');
            }
            (State::WantClose, _) => {
                self.stats.files_done += 1;
                self.tell.push(Tell::Done(self.offset));
                if self.sends {
                    self.state = State::WantFile;
                } else {
                    self.yes(cx, b'Y');
                }
            }
            _ => self.yes(cx, b'Y'),
        }
    }

    fn event(&mut self) -> Option<Event<'_>> {
        Some(match self.tell.pop()? {
            Tell::Done(size) => Event::FileDone { size, verified: false },
            Tell::Refused => {
                let why = Some(Refusal::Declined);
                Event::FileRefused { name: b"", why, by_peer: self.sends }
            }
        })
    }

    fn command(&mut self, _: &mut Cx<'_>, _: Command) {
        self.fail(Blame::Local, FailureKind::Aborted);
    }

    fn wants(&self) -> Wants {
        Wants::INPUT.with(Wants::OUTPUT, self.out_taken < self.out.len())
    }

    fn status(&self) -> Status {
        self.status
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
