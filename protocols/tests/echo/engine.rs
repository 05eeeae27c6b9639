//! The engine, for both roles.

use super::Config;
use std::collections::VecDeque;
use wetstring_proto::crc::crc16;
use wetstring_proto::engine::{Blame, Command, Cx, Failure, FailureKind, Outcome, Status, Wants};
use wetstring_proto::{
    Duration, Engine, Event, FileInfo, Instant, Memory, MemoryTooSmall, Reply, Request, Stats,
};

const SOH: u8 = 1;
/// Bytes before the data: SOH, kind, number, length.
const HEAD: usize = 4;
const LONGEST: usize = HEAD + 255 + 2;
const TRIES: u32 = 20;
/// How long a receiver waits after the last retransmission of a sender.
const PATIENCE: Duration = Duration::from_secs(400);
const LINGER: Duration = Duration::from_secs(60);

/// A frame to send, and the bytes from which frames are cut.
pub(crate) const MEMORY: usize = 2 * LONGEST;

/// The current activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The frame is on its way, or its echo is.
    Asking,
    /// A receiver waits for a frame.
    Listening,
    /// The store request for this kind of frame is open.
    Storing(u8),
    Over,
}

pub(crate) struct Echo<M> {
    config: Config,
    sends: bool,
    memory: M,
    state: State,
    status: Status,
    stats: Stats,
    /// The number of the next frame.
    number: u8,
    /// Bytes of the frame in the first half of the memory, and how many of them have left.
    out: (usize, usize),
    /// Bytes in the second half.
    arrived: usize,
    tries: u32,
    deadline: Option<Instant>,
    offset: u64,
    size: u64,
    done: VecDeque<u64>,
}

impl<M: Memory> Echo<M> {
    pub(crate) fn new(config: Config, sends: bool, memory: M) -> Result<Self, MemoryTooSmall> {
        let given = memory.as_ref().len();
        if given < MEMORY {
            return Err(MemoryTooSmall { needed: MEMORY, given });
        }
        Ok(Self {
            config,
            sends,
            memory,
            state: if sends { State::Storing(b'F') } else { State::Listening },
            status: Status::Running,
            stats: Stats::default(),
            number: 0,
            out: (0, 0),
            arrived: 0,
            tries: 0,
            deadline: None,
            offset: 0,
            size: 0,
            done: VecDeque::new(),
        })
    }

    fn halves(&mut self) -> (&mut [u8], &mut [u8]) {
        self.memory.as_mut().split_at_mut(LONGEST)
    }

    /// A frame whose data, of this length, is in its place already.
    fn ask(&mut self, kind: u8, len: usize) {
        let number = self.number;
        let (frame, _) = self.halves();
        frame[..HEAD].copy_from_slice(&[SOH, kind, number, len as u8]);
        let check = crc16(&frame[1..HEAD + len]).to_be_bytes();
        frame[HEAD + len..HEAD + len + 2].copy_from_slice(&check);
        self.out = (HEAD + len + 2, 0);
        self.tries = 0;
        self.state = State::Asking;
    }

    fn fail(&mut self, blame: Blame, kind: FailureKind) {
        self.status = Status::Over(Outcome::Failed(Failure { blame, kind }));
        self.state = State::Over;
        self.deadline = None;
        self.out = (0, 0);
    }

    /// The length of a good frame at the front of the input; anything else is discarded.
    fn frame(&mut self) -> Option<usize> {
        loop {
            let arrived = self.arrived;
            let (_, came) = self.halves();
            let came = &mut came[..arrived];
            let skip = came.iter().position(|byte| *byte == SOH).unwrap_or(arrived);
            let rest = &came[skip..];
            let whole = rest.get(3).map(|len| HEAD + usize::from(*len) + 2);
            let bad = match whole.and_then(|len| rest.get(..len)) {
                _ if skip > 0 => skip,
                None => return None,
                Some(frame) => {
                    let (body, check) = frame.split_at(frame.len() - 2);
                    if crc16(&body[1..]).to_be_bytes() == *check {
                        return whole;
                    }
                    1
                }
            };
            self.drop_front(bad);
            self.stats.noise_bytes += bad as u64;
        }
    }

    fn drop_front(&mut self, len: usize) {
        let arrived = self.arrived;
        let (_, came) = self.halves();
        came.copy_within(len..arrived, 0);
        self.arrived -= len;
    }

    /// A sender has a good frame: the echo of its own, or a refusal.
    fn answered(&mut self, len: usize) {
        let (frame, came) = self.halves();
        let (asked, same) = (frame[1], frame[..len] == came[..len]);
        let refused = came[1] == b'N' && came[2] == frame[2] && asked == b'F';
        if !same && !refused {
            return;
        }
        self.deadline = None;
        self.number = self.number.wrapping_add(1);
        self.state = match asked {
            b'F' if refused => {
                self.stats.files_skipped += 1;
                State::Storing(b'F')
            }
            b'B' => {
                self.status = Status::Over(Outcome::Done);
                State::Over
            }
            b'Z' => State::Storing(b'Z'),
            _ => State::Storing(b'D'),
        };
    }

    /// A receiver has a good frame.
    fn heard(&mut self, now: Instant, len: usize) {
        self.deadline = Some(now + PATIENCE);
        let number = self.number;
        let (_, came) = self.halves();
        let (kind, its) = (came[1], came[2]);
        if its == number && !matches!(self.status, Status::Lingering(_)) {
            self.state = State::Storing(kind);
            if kind == b'B' {
                self.status = Status::Lingering(Outcome::Done);
                self.deadline = Some(now + LINGER);
                self.say_back(len);
            }
        } else if its == number.wrapping_sub(1) {
            // The same answer again: it is still in memory.
            self.out.1 = 0;
        }
    }

    /// Echoes the received frame.
    fn say_back(&mut self, len: usize) {
        let (frame, came) = self.halves();
        frame[..len].copy_from_slice(&came[..len]);
        self.out = (len, 0);
        self.number = self.number.wrapping_add(1);
        self.state = State::Listening;
    }

    /// The store has executed the request of a frame.
    fn stored(&mut self, kind: u8) {
        let len = HEAD + usize::from(self.memory.as_ref()[LONGEST + 3]);
        match kind {
            b'F' => self.offset = 0,
            b'D' => {
                self.offset += (len - HEAD) as u64;
                self.stats.file_bytes += (len - HEAD) as u64;
            }
            _ => self.whole(),
        }
        self.say_back(len + 2);
        self.drop_front(len + 2);
    }

    fn whole(&mut self) {
        self.stats.files_done += 1;
        self.done.push_back(self.offset);
    }

    fn data(&self) -> &[u8] {
        let came = &self.memory.as_ref()[LONGEST..];
        &came[HEAD..HEAD + usize::from(came[3])]
    }

    /// The length of the name, and the size, of an `F`.
    fn announced(&self) -> (usize, u64) {
        let data = self.data();
        let (name, size) = data.split_at(data.len().saturating_sub(9));
        let size = size.get(1..).and_then(|size| size.try_into().ok());
        (name.len(), size.map_or(0, u64::from_be_bytes))
    }

    fn take_frames(&mut self, now: Instant) {
        while matches!(self.state, State::Asking | State::Listening) {
            let Some(len) = self.frame() else { return };
            self.stats.packets_in += 1;
            if self.sends {
                self.answered(len);
            } else {
                self.heard(now, len);
            }
            // Data being stored stays until it is stored.
            if self.sends || !matches!(self.state, State::Storing(_)) {
                self.drop_front(len);
            }
        }
    }

    /// The sender's store has answered.
    fn next(&mut self, kind: u8, reply: Reply<'_>) {
        match (kind, reply) {
            (b'F', Reply::File(info)) => {
                self.offset = 0;
                self.size = info.size.unwrap_or(0);
                let name = info.name.len().min(200);
                let size = self.size.to_be_bytes();
                let (frame, _) = self.halves();
                frame[HEAD..HEAD + name].copy_from_slice(&info.name[..name]);
                frame[HEAD + name] = 0;
                frame[HEAD + name + 1..HEAD + name + 9].copy_from_slice(&size);
                self.ask(b'F', name + 9);
            }
            (b'F', _) => self.ask(b'B', 0),
            (b'D', Reply::Read(0)) => self.ask(b'Z', 0),
            (b'D', Reply::Read(len)) => {
                self.offset += len as u64;
                self.stats.file_bytes += len as u64;
                self.ask(b'D', len);
            }
            (_, _) => {
                self.whole();
                self.state = State::Storing(b'F');
            }
        }
    }
}

impl<M: Memory> Engine for Echo<M> {
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        if self.state == State::Over {
            return 0;
        }
        let mut taken = 0;
        loop {
            let arrived = self.arrived;
            let (_, came) = self.halves();
            let len = (came.len() - arrived).min(bytes.len() - taken);
            came[arrived..arrived + len].copy_from_slice(&bytes[taken..taken + len]);
            self.arrived += len;
            taken += len;
            self.take_frames(cx.now);
            if len == 0 || self.state == State::Over {
                self.stats.wire_in_bytes += taken as u64;
                return taken;
            }
        }
    }

    fn transmit(&mut self, _: &mut Cx<'_>) -> &[u8] {
        let (len, gone) = self.out;
        &self.memory.as_ref()[gone..len]
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        self.out.1 += len;
        self.stats.wire_out_bytes += len as u64;
        if len > 0 && self.out.0 == self.out.1 {
            self.stats.packets_out += 1;
            if self.state == State::Asking {
                let there_and_back = self.config.line.time(2 * LONGEST);
                self.deadline = Some(cx.now + Duration::from_secs(10) + there_and_back);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        if !self.sends && self.state == State::Listening && self.deadline.is_none() {
            self.deadline = Some(cx.now + PATIENCE);
        }
        if self.deadline.is_none_or(|deadline| cx.now < deadline) {
            return;
        }
        self.deadline = None;
        self.stats.timeouts += 1;
        self.tries += 1;
        match self.status {
            Status::Lingering(outcome) => {
                self.status = Status::Over(outcome);
                self.state = State::Over;
            }
            _ if !self.sends => self.fail(Blame::Line, FailureKind::Silence),
            _ if self.tries > TRIES => self.fail(Blame::Line, FailureKind::TooManyRetries),
            _ => {
                self.stats.retransmissions += 1;
                self.out.1 = 0;
            }
        }
    }

    fn request(&mut self) -> Option<Request<'_>> {
        let State::Storing(kind) = self.state else { return None };
        let (offset, block) = (self.offset, usize::from(self.config.block));
        Some(match (self.sends, kind) {
            (true, b'F') => Request::Next,
            (true, b'D') => {
                let into = &mut self.memory.as_mut()[HEAD..HEAD + block];
                Request::Read { offset, into }
            }
            (true, _) => Request::Close { complete: true, verified: false },
            (false, b'F') => {
                let (name, size) = self.announced();
                self.size = size;
                let name = &self.data()[..name];
                Request::Offer { info: FileInfo { name, size: Some(size), ..FileInfo::default() } }
            }
            (false, b'D') => Request::Write { offset, bytes: self.data() },
            (false, _) => Request::Close { complete: self.size == offset, verified: false },
        })
    }

    fn reply(&mut self, cx: &mut Cx<'_>, reply: Reply<'_>) {
        let State::Storing(kind) = self.state else { return };
        match reply {
            Reply::Failed(error) => self.fail(Blame::Store, FailureKind::Store(error)),
            Reply::Refuse(_) => {
                let len = HEAD + self.data().len() + 2;
                self.drop_front(len);
                self.stats.files_skipped += 1;
                self.ask(b'N', 0);
                self.number = self.number.wrapping_add(1);
                self.state = State::Listening;
            }
            reply if self.sends => self.next(kind, reply),
            _ if kind == b'Z' && self.size != self.offset => {
                self.fail(Blame::Peer, FailureKind::LengthDiffers);
            }
            _ => self.stored(kind),
        }
        self.take_frames(cx.now);
    }

    fn event(&mut self) -> Option<Event<'_>> {
        let size = self.done.pop_front()?;
        Some(Event::FileDone { size, verified: false })
    }

    fn command(&mut self, _: &mut Cx<'_>, _: Command) {
        self.fail(Blame::Local, FailureKind::Aborted);
    }

    fn wants(&self) -> Wants {
        let asks = matches!(self.state, State::Storing(_));
        Wants::NONE
            .with(Wants::INPUT, self.state != State::Over)
            .with(Wants::OUTPUT, self.out.1 < self.out.0)
            .with(Wants::STORE, asks)
            .with(Wants::USER, !self.done.is_empty())
    }

    fn status(&self) -> Status {
        self.status
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
