//! Kermit's bundles: records of the script's choice, as a receiver is sent them, and between the packets of a pair.
//!
//! The receiver can look for blocks in an older version, and undo compressed frames. So every record is in its place
//! now and then, which those of noise are never.

use crate::Script;
use wetstring_lab::compressor::{Compressor, IS_BUILT};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_proto::difference::SIGNATURE;
use wetstring_proto::file::{Reply, Request, Store};
use wetstring_proto::kermit::bundle::radix::alphabet;
use wetstring_proto::kermit::check::Check;
use wetstring_proto::kermit::packet::{LONG_HEADER, finish};
use wetstring_proto::kermit::{Config, Receiver, Sender, Switch};
use wetstring_proto::stats::Stats;
use wetstring_proto::{Command, Cx, Duration, Engine, Instant, NoTrace, Status};

/// Requests that may follow from one packet or tick.
const MOST_REQUESTS: usize = 20_000;
/// The file of which the receiver has an older version, and its length.
const NAME: &str = "f";
const LEN: usize = 70_000;
const BLOCK: u64 = 2048;

/// A file, and the version before it: another byte every 10,000.
pub(crate) fn versions(index: u64, len: usize) -> (MemoryFile, Vec<u8>) {
    let file = MemoryFile::made(NAME, Content::Random(index), len);
    let mut older = file.bytes.to_vec();
    older.iter_mut().skip(5000).step_by(10_000).for_each(|byte| *byte ^= 1);
    (file, older)
}

/// A store with a compressor.
pub(crate) fn answered<'s>(
    store: &'s mut dyn Store,
    compressor: &mut Compressor,
    request: Request<'_>,
) -> Reply<'s> {
    match compressor.answer(request) {
        Ok(reply) => reply,
        Err(request) => store.answer(request),
    }
}

fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number > 127 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A number that means something, or any.
fn number(script: &mut Script<'_>) -> u64 {
    match script.byte() % 8 {
        0..=2 => u64::from(script.byte()),
        3 | 4 => u64::from(script.byte()) * BLOCK,
        5 => LEN as u64,
        6 => u64::from(script.short()),
        _ => u64::from(script.word()) << 20,
    }
}

/// Signatures of the new version's blocks.
fn signatures(from: u64, block: u64, count: u64) -> Vec<u8> {
    let (file, _) = versions(0, LEN);
    let mut source = MemorySource::one(file);
    source.answer(Request::Next);
    let mut list = vec![0; count as usize * SIGNATURE];
    let block = u32::try_from(block).unwrap_or(1).max(1);
    source.answer(Request::Signatures { from, block, into: &mut list });
    list
}

/// A frame of these records, perhaps without its end.
pub(crate) fn frame(records: &[u8], end: bool) -> Vec<u8> {
    let mut into = vec![0; 2 * records.len() + 200];
    let request = Request::Pack { bytes: records, into: &mut into, begin: true, end, rate_bps: 0 };
    match Compressor::new().answer(request) {
        Ok(Reply::Packed(made)) => into.truncate(made),
        _ => into.truncate(0),
    }
    into
}

/// What a stream of records has come to, so that most of the next ones are in their place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    in_file: bool,
    /// Blocks whose signatures were told, and whether the file went on after that.
    listed: u64,
    goes_on: bool,
    in_frame: bool,
}

impl Place {
    /// The record that comes next: mostly one that may, now and then any.
    fn next(self, script: &mut Script<'_>) -> u8 {
        if script.one_in(24) {
            return script.pick(b"FDRHQSZzCKA?");
        }
        match (self.in_file, self.goes_on) {
            (false, _) if self.in_frame => b'F',
            (false, _) => script.pick(b"FFFK"),
            _ if self.in_frame => script.pick(b"DDRzC"),
            (true, false) if self.listed == 0 => script.pick(b"HHHDRKz"),
            (true, false) => script.pick(b"QQQHSSD"),
            (true, true) => script.pick(b"DDRSKZzC"),
        }
    }

    /// Appends a record; those that begin a frame have others in it.
    pub(crate) fn put(&mut self, script: &mut Script<'_>, out: &mut Vec<u8>) {
        let kind = self.next(script);
        out.push(kind);
        match kind {
            b'F' => {
                let mut head = vec![1];
                put_number(if script.one_in(8) { number(script) } else { LEN as u64 }, &mut head);
                head.extend(if script.one_in(8) { script.bytes() } else { NAME.as_bytes() });
                put_number(head.len() as u64, out);
                out.extend(head);
                *self = Self { in_file: true, in_frame: self.in_frame, ..Self::default() };
            }
            b'D' | b'R' => {
                let bytes = script.bytes();
                put_number(bytes.len() as u64, out);
                out.extend(bytes);
                self.goes_on = true;
            }
            b'H' => {
                let block = if script.one_in(16) { number(script) % 70_000 } else { BLOCK };
                let count = u64::from(script.byte() % 36);
                put_number(block, out);
                put_number(count, out);
                out.extend(signatures(self.listed * BLOCK, block, count));
                self.listed += count;
            }
            b'Q' => {
                put_number(if script.one_in(8) { number(script) } else { 0 }, out);
                put_number(if script.one_in(8) { number(script) } else { self.listed }, out);
            }
            b'S' => {
                let blocks = u64::from(script.byte() % 4);
                put_number(if script.one_in(8) { number(script) } else { blocks * BLOCK }, out);
                self.goes_on = true;
            }
            b'Z' => out.extend([script.byte(); 8]),
            b'K' => self.put_frame(script, out),
            _ => {}
        }
        self.in_file &= !b"ZzC".contains(&kind);
    }

    fn put_frame(&mut self, script: &mut Script<'_>, out: &mut Vec<u8>) {
        if self.in_frame || script.one_in(16) {
            return out.extend(script.bytes());
        }
        self.in_frame = true;
        let mut records = Vec::new();
        for _ in 0..=script.byte() % 6 {
            self.put(script, &mut records);
        }
        out.extend(frame(&records, !script.one_in(8)));
        self.in_frame = false;
    }
}

/// The data field of these bytes.
pub(crate) fn field(letter: u8, bytes: &[u8]) -> Vec<u8> {
    let alphabet = alphabet(letter).expect("a letter of the list");
    let mut field = vec![letter];
    for block in bytes.chunks(alphabet.block_len()) {
        let mut digits = vec![0; block.len() + 1];
        alphabet.encode(block, &mut digits);
        field.extend(digits);
    }
    field
}

/// A packet with this data field, its mark and its end.
pub(crate) fn packet(kind: u8, number: u8, check: Check, field: &[u8]) -> Vec<u8> {
    let mut room = vec![0; LONG_HEADER + field.len() + 4];
    room[LONG_HEADER..LONG_HEADER + field.len()].copy_from_slice(field);
    let (start, end) = finish(&mut room, field.len(), number % 64, kind, check, 1, false);
    room[end] = b'\r';
    room[start..=end].to_vec()
}

struct Play {
    receiver: Receiver<Vec<u8>>,
    sink: MemorySink,
    compressor: Compressor,
    now: Instant,
}

impl Play {
    fn feed(&mut self, mut bytes: &[u8]) {
        let cx = &mut Cx { now: self.now, trace: &mut NoTrace };
        loop {
            let taken = self.receiver.receive(cx, bytes);
            bytes = &bytes[taken..];
            self.receiver.tick(cx);
            let mut asked = 0;
            while let Some(request) = self.receiver.request() {
                asked += 1;
                assert!(asked < MOST_REQUESTS, "it asks without end");
                let reply = answered(&mut self.sink, &mut self.compressor, request);
                self.receiver.reply(cx, reply);
                while self.receiver.event().is_some() {}
            }
            while self.receiver.event().is_some() {}
            let len = self.receiver.transmit(cx).len();
            self.receiver.transmitted(cx, len);
            if taken == 0 && asked == 0 && len == 0 {
                return;
            }
        }
    }
}

/// What a sender says first.
fn first_words(config: &Config) -> Vec<u8> {
    let mut sender = Sender::new(config.clone(), vec![0; config.sender_memory()]).expect("enough");
    let mut source = MemorySource::one(versions(0, LEN).0);
    let cx = &mut Cx { now: Instant(1), trace: &mut NoTrace };
    sender.tick(cx);
    while let Some(request) = sender.request() {
        let reply = source.answer(request);
        sender.reply(cx, reply);
    }
    sender.transmit(cx).to_vec()
}

/// A script: packets with records of every kind, in their order or not, and time.
///
/// # Panics
///
/// If the receiver panics, asks its store without end or for nonsense, or an abort does not end it.
pub fn receiver(bytes: &[u8]) -> Stats {
    let mut script = Script::new(bytes);
    let config = Config {
        bundle: Switch::On,
        streaming: Switch::Off,
        compressor: IS_BUILT && !script.one_in(8),
        finds_blocks: !script.one_in(8),
        buffer_len: 8192,
        ..Config::default()
    };
    let receiver = Receiver::new(config.clone(), vec![0; config.receiver_memory()]);
    let mut play = Play {
        receiver: receiver.expect("enough"),
        sink: MemorySink::new().with_older(NAME, versions(0, LEN).1),
        compressor: Compressor::new(),
        now: Instant(1),
    };
    play.feed(&first_words(&config));
    let (mut next, mut place) = (1u8, Place::default());
    while !script.is_over() {
        match script.byte() % 16 {
            0 => play.now = play.now + Duration::from_millis(u64::from(script.short())),
            1 if script.one_in(8) => play.feed(script.bytes()),
            2 if script.one_in(8) => play.feed(&packet(b'B', next, Check::Crc16, &[])),
            _ => {
                let mut records = Vec::new();
                for _ in 0..=script.byte() % 6 {
                    place.put(&mut script, &mut records);
                }
                let field = field(script.pick(b"TTCAM"), &records);
                let ahead = if script.one_in(16) { script.byte() } else { 0 };
                play.feed(&packet(b'D', next.wrapping_add(ahead), Check::Crc16, &field));
                next = next.wrapping_add(u8::from(ahead == 0));
            }
        }
    }
    play.receiver.command(&mut Cx { now: play.now, trace: &mut NoTrace }, Command::Abort);
    for _ in 0..64 {
        play.feed(&[]);
        play.now = play.receiver.deadline().unwrap_or(play.now).max(play.now);
    }
    assert!(matches!(play.receiver.status(), Status::Over(_)), "an abort ends it");
    assert!(!play.sink.broken_order(), "the store was asked for nonsense");
    *play.receiver.stats()
}
