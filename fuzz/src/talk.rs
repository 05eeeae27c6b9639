//! NETBLT: both engines in a session over a path that the script rules.
//!
//! Either end opens (WRITE or READ). The script decides how long the path is left alone, which datagram is
//! lost, doubled, held back, damaged, or retransmitted much later, when a user gives up and when a disk
//! fails; with the right ports and a right checksum it may also forge. Then it stops, and both must end.

use crate::Script;
use crate::netblt::seal;
use std::collections::VecDeque;
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_proto::file::{Reply, Request, Store, StoreError};
use wetstring_proto::netblt::packet::Packet;
use wetstring_proto::netblt::{Config, Receiver, Role, Sender};
use wetstring_proto::stats::Stats;
use wetstring_proto::{
    BitRate, Command, Cx, Duration, Engine, Event, Instant, NoTrace, Outcome, Span, Status,
};

/// Datagrams in flight in a direction; more are lost, as in any queue.
const QUEUE: usize = 300;
/// Datagrams that were seen and may be retransmitted.
const SEEN: usize = 64;
/// Calls at one moment beyond which it is a livelock.
const AT_ONCE: usize = 20_000;
/// Moments until both ends must be over once the faults stop.
const TO_END: usize = 60_000;

/// One end.
struct End {
    engine: Box<dyn Engine>,
    /// Its next request fails.
    fails: bool,
    files_verified: u64,
}

/// Two ends and what is between them.
struct Talk {
    /// Sender, receiver.
    ends: [End; 2],
    source: MemorySource,
    sink: MemorySink,
    /// From each of them.
    ways: [VecDeque<Vec<u8>>; 2],
    seen: Vec<Vec<u8>>,
    now: Instant,
    /// Forged packets of the connection were injected: only a digest tells them apart.
    forged: bool,
    /// A user gave up a file or more.
    given_up: bool,
}

/// A session; what the receiver counted.
///
/// # Panics
///
/// If anything that is called whole is not what was sent, an end talks without end, or there is none.
pub fn session(bytes: &[u8]) -> Stats {
    let mut script = Script::new(bytes);
    let mut talk = Talk::new(&mut script);
    while !script.is_over() {
        talk.step(&mut script);
    }
    talk.end();
    talk.judge();
    *talk.ends[1].engine.stats()
}

fn configs(script: &mut Script<'_>) -> [Config; 2] {
    let write = script.one_in(2);
    let (interval, max_rate) = (Span::from_millis(10), BitRate::from_bps(1_000_000));
    let [ours, theirs] = [(), ()].map(|()| {
        let sized = Config {
            max_datagram: script.pick(&[256, 600, 1432]),
            buffer_size: script.pick(&[0, 700, 2500]),
            outstanding: script.pick(&[1, 2, 50]),
            ..Config::default()
        };
        let paced = match script.byte() % 3 {
            0 => Config { burst: 3, interval, ..sized },
            1 => Config { max_rate, ..sized },
            _ => sized,
        };
        Config {
            death: Span::from_secs(5),
            digest: !script.one_in(6),
            files: !script.one_in(8),
            first_buffer: script.pick(&[1, u32::MAX, 0x7FFF_FFFF]),
            buffer_len: 8192,
            ..paced
        }
    });
    let active = |config: Config| Config { local_port: 4096, foreign_port: 7000, id: 77, ..config };
    let passive = |config| Config { role: Role::Passive, local_port: 7000, ..config };
    if write { [active(ours), passive(theirs)] } else { [passive(ours), active(theirs)] }
}

impl Talk {
    fn new(script: &mut Script<'_>) -> Self {
        let [ours, theirs] = configs(script);
        let (from, to) = (vec![0; ours.sender_memory()], vec![0; theirs.receiver_memory()]);
        let count = 1 + script.byte() % 3;
        let files: Vec<MemoryFile> = (0..count)
            .map(|index| {
                let len = script.pick(&[0, 1, 700, 3000, 20_000]);
                let content = Content::Random(u64::from(index));
                let mut file = MemoryFile::made(&format!("{index}"), content, len);
                file.resume = script.one_in(2);
                file
            })
            .collect();
        let mut sink = MemorySink::new();
        if script.one_in(2) {
            sink = sink.scattered();
        }
        if script.one_in(3) && files[0].bytes.len() > 1000 {
            let mut here = files[0].bytes.to_vec();
            here[3] ^= u8::from(script.one_in(2));
            sink = sink.with_pieces("0", &here, &[(0, 100), (200, 700), (701, 702)]);
        }
        let end = |engine| End { engine, fails: false, files_verified: 0 };
        Self {
            ends: [
                end(Box::new(Sender::new(ours, from).expect("it has its memory"))),
                end(Box::new(Receiver::new(theirs, to).expect("it has its memory"))),
            ],
            source: MemorySource::new(files),
            sink,
            ways: [VecDeque::new(), VecDeque::new()],
            seen: Vec::new(),
            now: Instant(1_000_000_000),
            forged: false,
            given_up: false,
        }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let from = usize::from(script.one_in(2));
        match script.byte() % 16 {
            // Left alone for this many moments.
            0..=5 => {
                for _ in 0..=script.byte() % 32 {
                    self.moment();
                }
            }
            6 => self.pass_time(u64::from(script.byte())),
            7 if script.one_in(8) => self.pass_time(u64::from(script.short())),
            8 => drop(self.ways[from].pop_front()),
            9 => {
                let count = usize::from(script.byte()) % 20;
                self.ways[from].truncate(count);
            }
            10 => {
                if let Some(first) = self.ways[from].front().cloned() {
                    self.ways[from].push_back(first);
                }
            }
            11 => {
                if let Some(first) = self.ways[from].pop_front() {
                    self.ways[from].push_back(first);
                }
            }
            12 => {
                let (at, flip) = (usize::from(script.short()), script.byte());
                if let Some(first) = self.ways[from].front_mut().filter(|first| !first.is_empty()) {
                    let at = at % first.len();
                    first[at] ^= flip;
                }
            }
            13 if !self.seen.is_empty() => {
                let again = self.seen[usize::from(script.byte()) % self.seen.len()].clone();
                self.ways[from].push_front(again);
            }
            14 => self.forge(from, script),
            15 if script.one_in(24) => self.ends[from].fails = true,
            15 if script.one_in(24) => {
                let all = [Command::CancelFile, Command::CancelBatch, Command::Abort];
                let (now, mut trace) = (self.now, NoTrace);
                let command = script.pick(&all);
                self.given_up = true;
                self.ends[from].engine.command(&mut Cx { now, trace: &mut trace }, command);
            }
            _ => self.moment(),
        }
    }

    /// A packet that was seen, changed where the script likes, with a right checksum.
    fn forge(&mut self, from: usize, script: &mut Script<'_>) {
        if self.seen.is_empty() {
            return;
        }
        let mut bytes = self.seen[usize::from(script.byte()) % self.seen.len()].clone();
        for _ in 0..=script.byte() % 3 {
            let (at, to) = (usize::from(script.byte()), script.byte());
            let len = bytes.len();
            bytes[at % len] = to;
        }
        if script.one_in(3) {
            bytes.truncate(usize::from(script.short()) % (bytes.len() + 1));
        }
        seal(&mut bytes);
        self.forged = true;
        self.ways[from].push_front(bytes);
    }

    /// What is in flight arrives, and both do what they have to, at the next time at which there is
    /// something to do.
    fn moment(&mut self) {
        if self.ways.iter().all(VecDeque::is_empty) {
            let next = self.ends.iter().filter_map(|end| end.engine.deadline()).min();
            self.now = next.map_or(self.now, |next| self.now.max(next));
        } else {
            self.now = self.now + Duration::from_millis(1);
        }
        for from in 0..2 {
            for bytes in std::mem::take(&mut self.ways[from]) {
                self.hear(1 - from, &bytes);
            }
        }
        self.settle(0);
        self.settle(1);
    }

    fn pass_time(&mut self, ms: u64) {
        self.now = self.now + Duration::from_millis(ms);
        self.settle(0);
        self.settle(1);
    }

    fn hear(&mut self, to: usize, bytes: &[u8]) {
        for _ in 0..3 {
            let (now, mut trace) = (self.now, NoTrace);
            let took = self.ends[to].engine.receive(&mut Cx { now, trace: &mut trace }, bytes);
            assert!(took == 0 || took == bytes.len(), "datagrams are taken whole");
            if took > 0 || !self.answer(to) {
                return;
            }
        }
    }

    /// Answers what an end asks of its store; whether it asked.
    fn answer(&mut self, of: usize) -> bool {
        let (now, mut trace) = (self.now, NoTrace);
        let Some(request) = self.ends[of].engine.request() else { return false };
        let close = matches!(request, Request::Close { .. });
        let store: &mut dyn Store = if of == 0 { &mut self.source } else { &mut self.sink };
        let mut reply = store.answer(request);
        if std::mem::take(&mut self.ends[of].fails) && !close {
            reply = Reply::Failed(StoreError::NoSpace);
        }
        self.ends[of].engine.reply(&mut Cx { now, trace: &mut trace }, reply);
        true
    }

    /// Everything that an end does at this moment.
    fn settle(&mut self, of: usize) {
        for round in 0.. {
            assert!(round < AT_ONCE, "it does not let the time go on");
            let (now, mut trace) = (self.now, NoTrace);
            let mut cx = Cx { now, trace: &mut trace };
            let end = &mut self.ends[of];
            if end.engine.deadline().is_some_and(|at| at <= now) {
                end.engine.tick(&mut cx);
            }
            let lent = end.engine.transmit(&mut cx).to_vec();
            if !lent.is_empty() {
                assert!(Packet::parse(&lent).is_ok(), "what is sent is a packet");
                end.engine.transmitted(&mut cx, lent.len());
                if self.seen.len() < SEEN {
                    self.seen.push(lent.clone());
                } else {
                    self.seen[(now.as_nanos() / 1_000_000) as usize % SEEN].clone_from(&lent);
                }
                if self.ways[of].len() < QUEUE {
                    self.ways[of].push_back(lent.clone());
                }
            }
            while let Some(event) = end.engine.event() {
                end.files_verified +=
                    u64::from(matches!(event, Event::FileDone { verified: true, .. }));
            }
            if matches!(end.engine.status(), Status::Over(_)) {
                assert_eq!(end.engine.deadline(), None, "what is over wants nothing");
            }
            if !self.answer(of) && lent.is_empty() {
                return;
            }
        }
    }

    /// The faults stop: both ends finish.
    fn end(&mut self) {
        for _ in 0..TO_END {
            self.moment();
            let over = |end: &End| matches!(end.engine.status(), Status::Over(_));
            if self.ends.iter().all(over) {
                return;
            }
            let quiet = self.ways.iter().all(VecDeque::is_empty);
            if quiet && self.ends.iter().all(|end| end.engine.deadline().is_none()) {
                // One that waits to be opened waits indefinitely.
                let (now, mut trace) = (self.now, NoTrace);
                for end in &mut self.ends {
                    end.engine.command(&mut Cx { now, trace: &mut trace }, Command::Abort);
                }
            }
        }
        let states = [0, 1].map(|of| (self.ends[of].engine.status(), self.ends[of].engine.wants()));
        panic!("no end: {states:?}");
    }

    /// What the ends say of the files is so.
    fn judge(&self) {
        assert!(!self.sink.broken_order(), "the store was asked for nonsense");
        let same = |bytes: &[u8]| self.source.files().iter().any(|file| file.bytes[..] == *bytes);
        for came in self.sink.complete() {
            assert!(same(&came.bytes) || (self.forged && !came.verified), "a false success");
        }
        let verified = self.sink.complete().filter(|came| came.verified).count() as u64;
        let [sender, receiver] = [0, 1].map(|of| self.ends[of].files_verified);
        assert!(receiver <= verified, "verified, and was not");
        // Who forges OKs makes a sender believe anything; against that there is encryption.
        assert!(sender <= verified || self.forged, "told to be verified, and was not");
        let told = self.source.closed().iter().flatten().filter(|closed| closed.0).count();
        let whole = self.sink.complete().count();
        assert!(told <= whole || self.forged, "{told} were told to be whole, and {whole} are");
        let [sent, _] = [0, 1].map(|of| self.ends[of].engine.status().outcome());
        if sent == Some(Outcome::Done) && !self.forged && !self.given_up {
            let all = self.source.closed().iter().all(Option::is_some);
            assert!(all, "it is done with files that it has not closed");
        }
    }
}
