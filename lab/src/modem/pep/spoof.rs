//! The modem's own UUCP `g`: it answers its host's packets itself, and sends their contents to the other modem.
//!
//! ```text
//! host A -> packets of g -> [modem A] -> records -> [modem B] -> packets of g -> host B
//!        <- RR, RJ, INITs <-                                  <- RR, RJ, INITs <-
//! ```
//!
//! Telebit's modems did this (register S111). Their format between the modems was not published; ours is a
//! sequence of records:
//!
//! | record | is |
//! |---|---|
//! | `R len bytes` | bytes that belong to no packet: the words before and after the packets |
//! | `S` | the host has begun with INITA: the other modem begins with its host |
//! | `D len bytes` | what was valid in a packet; none at the end of a file |
//! | `C` | CLOSE |
//!
//! The modem announces a window of 3 and packets of 64 bytes, and respects its host's. It accepts nothing from
//! its host while its channel buffer is full, so acknowledgements wait. An acknowledged packet is the modems'
//! responsibility from then on; only the host's `CY` comes from the other host itself.

use std::collections::VecDeque;
use wetstring_proto::uucp::frame::{self, Found, LONGEST, PacketReader};
use wetstring_proto::uucp::packet::{self, Kind};

/// Packets that a host may have under way to its modem, and their code for 64 bytes: what the modems forced.
const WINDOW: u8 = 3;
const SIZE: usize = 64;
const SIZE_CODE: u8 = 1;
/// Most bytes of a record.
const RECORD: usize = 255;
/// Timeout after which the host's packets are retransmitted.
const AGAIN_NS: u64 = 10_000_000_000;

/// Protocol state at this host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    /// None: bytes pass unchanged.
    Words,
    /// INITs are exchanged, begun by the host or by us.
    Starting {
        /// We began.
        ours: bool,
    },
    /// Packets go both ways.
    Packets,
}

/// A record.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Record {
    Words(Vec<u8>),
    Start,
    Data(Vec<u8>),
    Close,
}

/// A packet for the host that it has not acknowledged.
#[derive(Clone, Debug)]
struct Sent {
    sequence: u8,
    field: Vec<u8>,
    short: bool,
}

/// One modem's `g`.
#[derive(Clone, Debug)]
pub(super) struct Spoof {
    reader: PacketReader,
    field: Vec<u8>,
    stage: Stage,
    /// The packet that the host sends next, and whether the host was told of a gap.
    expected: u8,
    rejected: bool,
    /// What the host may be sent: packets under way, and bytes of each.
    window: usize,
    size: usize,
    next: u8,
    sent: VecDeque<Sent>,
    /// When something was last acknowledged, or sent again.
    since: u64,
    /// From the other modem: bytes of a record that is not whole, and records that wait for the host.
    partial: Vec<u8>,
    records: VecDeque<Record>,
    /// For the channel, and for the host.
    pub(super) air: VecDeque<u8>,
    pub(super) to_host: VecDeque<u8>,
}

impl Spoof {
    pub(super) fn new() -> Self {
        Self {
            reader: PacketReader::new(LONGEST),
            field: vec![0; LONGEST],
            stage: Stage::Words,
            expected: 1,
            rejected: false,
            window: usize::from(WINDOW),
            size: SIZE,
            next: 1,
            sent: VecDeque::new(),
            since: 0,
            partial: Vec::new(),
            records: VecDeque::new(),
            air: VecDeque::new(),
            to_host: VecDeque::new(),
        }
    }

    /// Bytes that came from the other modem and that the host has not.
    pub(super) fn held(&self) -> usize {
        let of = |record: &Record| match record {
            Record::Words(bytes) | Record::Data(bytes) => bytes.len() + 2,
            Record::Start | Record::Close => 1,
        };
        self.to_host.len() + self.partial.len() + self.records.iter().map(of).sum::<usize>()
    }

    /// When packets are sent to the host again.
    pub(super) fn deadline(&self) -> u64 {
        if self.sent.is_empty() { u64::MAX } else { self.since.saturating_add(AGAIN_NS) }
    }

    /// Handles what is due at `at`.
    pub(super) fn tick(&mut self, at: u64) {
        if self.deadline() <= at {
            self.again(at);
        }
    }

    /// The host has sent these.
    pub(super) fn hear_host(&mut self, at: u64, mut bytes: &[u8]) {
        let mut words = Vec::new();
        loop {
            let (used, found) = self.reader.next(&mut self.field, bytes);
            bytes = &bytes[used..];
            match found {
                None => break,
                Some(Found::Byte(byte)) => words.push(byte),
                Some(found) => {
                    self.words(&mut words);
                    self.packet(at, &found);
                }
            }
        }
        self.words(&mut words);
        self.serve(at);
    }

    /// Bytes outside packets go to the other host as they are.
    fn words(&mut self, words: &mut Vec<u8>) {
        for piece in words.chunks(RECORD) {
            self.record(b'R', piece);
        }
        words.clear();
    }

    fn record(&mut self, tag: u8, bytes: &[u8]) {
        self.air.extend([tag, bytes.len() as u8]);
        self.air.extend(bytes);
    }

    /// A packet from the host.
    fn packet(&mut self, at: u64, found: &Found) {
        match *found {
            Found::Byte(_) => {}
            Found::Damaged { .. } => self.reject(),
            Found::Control(control) => {
                if let Some(kind) = Kind::parse(control) {
                    self.control(at, kind);
                }
            }
            Found::Data { control, len } => {
                let Some(Kind::Data { sequence, last, short }) = Kind::parse(control) else {
                    return;
                };
                self.acknowledged(at, last);
                self.data(sequence, short, len);
            }
        }
    }

    fn control(&mut self, at: u64, kind: Kind) {
        match kind {
            Kind::InitA(window) => {
                self.window = usize::from(window.clamp(1, 7));
                if self.stage == Stage::Words {
                    self.air.push_back(b'S');
                    self.stage = Stage::Starting { ours: false };
                }
                let next =
                    if self.is_ours() { Kind::InitB(SIZE_CODE) } else { Kind::InitA(WINDOW) };
                self.say(next);
            }
            Kind::InitB(code) => {
                self.size = SIZE.min(32 << code.min(7));
                let next =
                    if self.is_ours() { Kind::InitC(WINDOW) } else { Kind::InitB(SIZE_CODE) };
                self.say(next);
            }
            Kind::InitC(window) => {
                self.window = usize::from(window.clamp(1, 7));
                if !self.is_ours() {
                    self.say(Kind::InitC(WINDOW));
                }
                self.stage = Stage::Packets;
            }
            Kind::Ready(last) => self.acknowledged(at, last),
            Kind::Reject(last) => {
                self.acknowledged(at, last);
                self.again(at);
            }
            Kind::SelectiveReject(_) => self.again(at),
            Kind::Close => self.air.push_back(b'C'),
            Kind::Data { .. } => {}
        }
    }

    fn is_ours(&self) -> bool {
        matches!(self.stage, Stage::Starting { ours: true })
    }

    fn say(&mut self, kind: Kind) {
        self.to_host.extend(frame::control(kind.byte()));
    }

    fn last(&self) -> u8 {
        self.expected.wrapping_sub(1) & 7
    }

    fn reject(&mut self) {
        if self.stage == Stage::Packets && !self.rejected {
            self.rejected = true;
            self.say(Kind::Reject(self.last()));
        }
    }

    /// A data packet from the host, whose field is at the beginning of the room.
    fn data(&mut self, sequence: u8, short: bool, len: usize) {
        if self.stage != Stage::Packets {
            return;
        }
        let ahead = sequence.wrapping_sub(self.expected) & 7;
        if ahead != 0 {
            // A duplicate is acknowledged again; a packet ahead of its turn shows a gap.
            if ahead < WINDOW {
                self.reject();
            } else {
                self.say(Kind::Ready(self.last()));
            }
            return;
        }
        let field = &self.field[..len];
        let valid = if short { packet::valid(field) } else { Some(0..len) };
        let Some(valid) = valid else { return self.reject() };
        let bytes = field[valid].to_vec();
        for piece in bytes.chunks(SIZE) {
            self.record(b'D', piece);
        }
        if bytes.is_empty() {
            self.record(b'D', &[]);
        }
        self.expected = (self.expected + 1) & 7;
        self.rejected = false;
        self.say(Kind::Ready(self.last()));
    }

    /// The host has everything up to this one.
    fn acknowledged(&mut self, at: u64, last: u8) {
        let Some(place) = self.sent.iter().position(|sent| sent.sequence == last) else { return };
        self.sent.drain(..=place);
        self.since = at;
    }

    /// Sends the host again what it has not acknowledged.
    fn again(&mut self, at: u64) {
        self.since = at;
        for sent in self.sent.clone() {
            self.put(&sent);
        }
    }

    fn put(&mut self, sent: &Sent) {
        let Sent { sequence, short, .. } = *sent;
        let control = Kind::Data { sequence, last: self.last(), short }.byte();
        let sum = frame::sum(&sent.field);
        self.to_host.extend(frame::data_header(sent.field.len(), control, sum));
        self.to_host.extend(&sent.field);
    }

    /// The other modem has sent these.
    pub(super) fn hear_modem(&mut self, at: u64, bytes: &[u8]) {
        self.partial.extend(bytes);
        let mut from = 0;
        while let Some(tag) = self.partial.get(from) {
            let rest = &self.partial[from + 1..];
            let (record, len) = match tag {
                b'S' => (Record::Start, 1),
                b'C' => (Record::Close, 1),
                _ => {
                    let Some((len, rest)) = rest.split_first() else { break };
                    let Some(bytes) = rest.get(..usize::from(*len)) else { break };
                    let bytes = bytes.to_vec();
                    let record =
                        if *tag == b'D' { Record::Data(bytes) } else { Record::Words(bytes) };
                    (record, 2 + usize::from(*len))
                }
            };
            self.records.push_back(record);
            from += len;
        }
        self.partial.drain(..from);
        self.serve(at);
    }

    /// Gives the host what it may be given.
    fn serve(&mut self, at: u64) {
        while let Some(record) = self.records.front() {
            let ready = match record {
                Record::Words(_) => self.sent.is_empty(),
                Record::Start => true,
                Record::Data(_) => {
                    self.stage == Stage::Packets && self.sent.len() < self.window.min(7)
                }
                Record::Close => self.stage == Stage::Packets && self.sent.is_empty(),
            };
            if !ready {
                return;
            }
            match self.records.pop_front() {
                Some(Record::Words(bytes)) => self.to_host.extend(bytes),
                Some(Record::Start) if self.stage == Stage::Words => {
                    self.stage = Stage::Starting { ours: true };
                    self.say(Kind::InitA(WINDOW));
                }
                Some(Record::Data(bytes)) => self.give(at, &bytes),
                Some(Record::Close) => self.say(Kind::Close),
                Some(Record::Start) | None => {}
            }
        }
    }

    /// A packet for the host with these bytes; those that do not fit go in the next.
    fn give(&mut self, at: u64, bytes: &[u8]) {
        let (now, later) = bytes.split_at(bytes.len().min(self.size));
        let mut field = vec![0; self.size];
        let lead = packet::lead(self.size, now.len());
        field[lead..lead + now.len()].copy_from_slice(now);
        let short = packet::complete(&mut field, now.len());
        let sent = Sent { sequence: self.next, field, short };
        self.next = (self.next + 1) & 7;
        if self.sent.is_empty() {
            self.since = at;
        }
        self.put(&sent);
        self.sent.push_back(sent);
        if !later.is_empty() {
            self.records.push_front(Record::Data(later.to_vec()));
        }
    }
}
