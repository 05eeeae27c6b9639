//! Kermit, X/Y/ZMODEM and UUCP: a sender and a receiver over a wire that the script rules.
//!
//! The script decides how long the wire is left alone, which of its bytes are lost, damaged or doubled, what
//! is put between them, when a user gives up and when a store fails. What it puts there are packets with
//! right checks, so that they reach the states that noise does not. Then it stops, and both must end.

use crate::{Script, bundle};
use std::collections::VecDeque;
use wetstring_lab::compressor::{Compressor, IS_BUILT};
use wetstring_lab::store::{Content, MemoryFile, MemorySink, MemorySource};
use wetstring_proto::crc::crc16;
use wetstring_proto::file::{Reply, Request, Store, StoreError};
use wetstring_proto::kermit::check::Check;
use wetstring_proto::settings::Switch;
use wetstring_proto::xymodem::BlockLength;
use wetstring_proto::zmodem::escape::{Escaper, Escaping};
use wetstring_proto::zmodem::packet::{Form, Header, MAX_HEADER, put_subpacket, subpacket_room};
use wetstring_proto::{Command, Cx, Duration, Engine, Event, Instant, NoTrace, Span, Status};
use wetstring_proto::{kermit, uucp, xymodem, zmodem};
use wetstring_protocols::{Config, Protocol};

/// Bytes that are in flight in a direction; more wait in the engine.
const WIRE: usize = 4096;
/// Calls at one moment beyond which it is a livelock.
const AT_ONCE: usize = 20_000;
/// For how long EOT of XMODEM waits for answers to a repeated block.
const EOT_WAITS_MS: u64 = 10_000;
/// Files that are shorter are not compared with an older version.
const LONG: usize = 66_000;
/// Moments until both ends must be over once the faults stop.
const TO_END: usize = 200_000;

/// Appends a packet of the script's choice, checks and all.
type Forge = fn(&mut Script<'_>, &mut Vec<u8>);

/// One pair of engines, and what a stranger may say to them.
struct Ends {
    engines: [Box<dyn Engine>; 2],
    forge: Forge,
    /// A receiver that cancels at the end of an empty file has all there is of it: XMODEM sends nothing else
    /// (docs/decisions/020).
    empty_is_said: bool,
    /// Its answers say not what they answer.
    has_bare_answers: bool,
    /// Some files shrink; some are long, and the receiver has older versions of them.
    has_mechanisms: bool,
}

impl Ends {
    fn new(ours: &dyn Config, theirs: &dyn Config, forge: Forge, empty_is_said: bool) -> Self {
        let engines = [ours.sender(), theirs.receiver()];
        Self { engines, forge, empty_is_said, has_bare_answers: false, has_mechanisms: false }
    }
}

/// The result of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PairResult {
    /// Files that the receiver calls whole.
    pub whole: usize,
    /// Packets that were forged.
    pub forged: usize,
    /// The receiver undid compressed frames.
    pub packed: bool,
    /// It took blocks from an older version.
    pub known: bool,
}

/// A protocol of the list, by its defaults; what is put between the packets is any bytes.
///
/// # Panics
///
/// As [`fn@kermit`].
pub fn any(protocol: Protocol, bytes: &[u8]) -> PairResult {
    let config = protocol.config();
    let forge: Forge = |script, out| out.extend_from_slice(script.bytes());
    let ends = Ends::new(&*config, &*config, forge, !protocol.tells_names);
    play(Script::new(bytes), ends)
}

/// Kermit.
///
/// # Panics
///
/// As all of these: if an engine breaks a rule of its trait, asks or talks without end, or calls a file
/// whole that is not what was sent although the wire had no faults.
pub fn kermit(bytes: &[u8]) -> PairResult {
    let mut script = Script::new(bytes);
    let config = || kermit::Config { buffer_len: 8192, ..kermit::Config::default() };
    let mut configs = [config(), config()];
    for config in &mut configs {
        config.window = script.pick(&[1, 2, 31]);
        config.receive_length = script.pick(&[94, 300, 9024]);
        config.digest = !script.one_in(4);
        config.bundle = script.pick(&[Switch::On, Switch::On, Switch::On, Switch::Auto]);
        config.streaming = script.pick(&[Switch::Off, Switch::Off, Switch::Off, Switch::Auto]);
        config.compressor = IS_BUILT && !script.one_in(4);
        config.finds_blocks = !script.one_in(4);
    }
    let [ours, theirs] = configs;
    let ends = Ends::new(&ours, &theirs, forge_kermit, false);
    play(script, Ends { has_mechanisms: true, ..ends })
}

/// XMODEM and YMODEM.
///
/// # Panics
///
/// As [`fn@kermit`].
pub fn xymodem(bytes: &[u8]) -> PairResult {
    use xymodem::Variant as V;
    let mut script = Script::new(bytes);
    let all = [V::Xmodem, V::XmodemCrc, V::Xmodem1k, V::Ymodem, V::YmodemG];
    let configs = [(), ()].map(|()| xymodem::Config {
        variant: script.pick(&all),
        block: script.pick(&[BlockLength::Auto, BlockLength::Short]),
        patience: Span::from_secs(20),
        buffer_len: 4096,
        ..xymodem::Config::default()
    });
    let [ours, theirs] = configs;
    let empty_is_said = !ours.variant.is_batch();
    let ends = Ends::new(&ours, &theirs, forge_xymodem, empty_is_said);
    play(script, Ends { has_bare_answers: true, ..ends })
}

/// ZMODEM.
///
/// # Panics
///
/// As [`fn@kermit`].
pub fn zmodem(bytes: &[u8]) -> PairResult {
    let mut script = Script::new(bytes);
    let configs = [(), ()].map(|()| zmodem::Config {
        send_length: script.pick(&[0, 32, 1024]),
        window: script.pick(&[0, 500]),
        receive_buffer: script.pick(&[0, 0, 0, 600]),
        resume: script.one_in(2),
        compress: script.pick(&[Switch::On, Switch::Auto]),
        compressor: IS_BUILT && !script.one_in(4),
        patience: Span::from_secs(20),
        buffer_len: 4096,
        ..zmodem::Config::default()
    });
    let [ours, theirs] = configs;
    let ends = Ends::new(&ours, &theirs, forge_zmodem, false);
    play(script, Ends { has_mechanisms: true, ..ends })
}

/// UUCP's `g`.
///
/// # Panics
///
/// As [`fn@kermit`].
pub fn uucp(bytes: &[u8]) -> PairResult {
    let mut script = Script::new(bytes);
    let calls = script.one_in(2);
    let configs = [calls, !calls].map(|calls| uucp::Config {
        role: if calls { uucp::Role::Call } else { uucp::Role::Answer },
        window: script.pick(&[1, 3, 7]),
        packet: script.pick(&[32, 64, 1024]),
        patience: Span::from_secs(20),
        buffer_len: 4096,
        ..uucp::Config::default()
    });
    let [ours, theirs] = configs;
    play(script, Ends::new(&ours, &theirs, forge_uucp, false))
}

fn forge_kermit(script: &mut Script<'_>, out: &mut Vec<u8>) {
    let kind = script.pick(b"SYNFADZBEXIRGCQTDD");
    let number = script.byte() % 64;
    let check = script.pick(&[Check::Sum6, Check::Sum12, Check::Crc16]);
    if kind == b'D' && script.one_in(2) {
        let mut records = Vec::new();
        bundle::Place::default().put(script, &mut records);
        let field = bundle::field(script.pick(b"TCA"), &records);
        return out.extend(bundle::packet(kind, number, check, &field));
    }
    out.extend(bundle::packet(kind, number, check, script.bytes()));
}

fn forge_xymodem(script: &mut Script<'_>, out: &mut Vec<u8>) {
    const EOT: u8 = 4;
    let first = script.pick(&[1, 1, 2, EOT, 6, 0x15, 0x18, b'C', b'G']);
    out.push(first);
    let len = match first {
        1 => 128,
        2 => 1024,
        _ => return,
    };
    let number = script.byte() % 4;
    out.extend([number, !number]);
    let words = script.bytes();
    let mut data = vec![0; len];
    let some = words.len().min(len);
    data[..some].copy_from_slice(&words[..some]);
    if script.one_in(2) {
        out.extend(&data);
        out.extend(crc16(&data).to_be_bytes());
    } else {
        out.push(data.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
        out.splice(3..3, data);
    }
}

fn forge_zmodem(script: &mut Script<'_>, out: &mut Vec<u8>) {
    let form = script.pick(&[Form::Hex, Form::Bin16, Form::Bin32, Form::Packed]);
    let kind = script.byte() % 21;
    let number = match script.byte() % 8 {
        0 | 1 => script.word(),
        2 | 3 => 0,
        _ => u32::from(script.short()),
    };
    let header = Header { form, ..Header::hex(kind, number) };
    let mut escaper = Escaper::new(Escaping::Normal);
    let mut room = [0; MAX_HEADER];
    let len = header.put(&mut escaper, &mut room);
    out.extend_from_slice(&room[..len]);
    if script.one_in(2) {
        let data = script.bytes();
        let frame = if form == Form::Packed && script.one_in(2) {
            let expands = script.one_in(4);
            bundle::frame(&if expands { vec![0; 100_000] } else { data.to_vec() }, script.one_in(2))
        } else {
            data.to_vec()
        };
        let mut room = vec![0; subpacket_room(frame.len())];
        let end = script.pick(b"hijk");
        let (_, len) = put_subpacket(&mut escaper, form, &frame, end, &mut room);
        out.extend_from_slice(&room[..len]);
    }
}

fn forge_uucp(script: &mut Script<'_>, out: &mut Vec<u8>) {
    use uucp::frame::{control, data_header, sum};
    let byte = script.byte();
    // A message outside of packets, a control packet, a data packet.
    match script.byte() % 4 {
        0 => {
            out.push(uucp::frame::DLE);
            out.extend(script.bytes());
            out.push(0);
        }
        1 => out.extend(control(byte % 64)),
        _ => {
            let words = script.bytes();
            let mut field = [0; 256];
            let len = script.pick(&[32, 64, 256]);
            let some = words.len().min(len);
            field[..some].copy_from_slice(&words[..some]);
            let field = &field[..len];
            out.extend(data_header(len, 0x80 | byte & 0x7F, sum(field)));
            out.extend(field);
        }
    }
}

struct Play {
    ends: Ends,
    source: MemorySource,
    sink: MemorySink,
    compressors: [Compressor; 2],
    /// From each of them.
    wires: [VecDeque<u8>; 2],
    now: Instant,
    /// The next request of this end fails.
    fails: [bool; 2],
    /// Bytes in flight were tampered with.
    touched: bool,
    /// For how long the line has delivered nothing of what it holds.
    held_ms: u64,
    /// It did so for longer than EOT of XMODEM waits.
    held_back: bool,
    forged: usize,
}

fn play(mut script: Script<'_>, ends: Ends) -> PairResult {
    let count = 1 + script.byte() % 3;
    let mut sink = MemorySink::new();
    let made = |index| {
        let len = script.pick(&[0, 1, 128, 700, 3000, 9000]);
        let name = format!("f{index}");
        let mut file = MemoryFile::made(&name, Content::Random(index), len);
        file.resume = script.one_in(2);
        if ends.has_mechanisms {
            match script.byte() % 4 {
                0 => file.bytes = Content::Zeros.bytes(len).into(),
                1 => file.bytes = Content::Text(index).bytes(len).into(),
                2 => {
                    let (new, older) = bundle::versions(index, LONG + len);
                    file = MemoryFile { name: name.clone().into_bytes(), ..new };
                    sink = std::mem::take(&mut sink).with_older(&name, older);
                }
                _ => {}
            }
        }
        file
    };
    let files = (0..u64::from(count)).map(made).collect();
    let mut play = Play {
        ends,
        source: MemorySource::new(files),
        sink,
        compressors: [Compressor::new(), Compressor::new()],
        wires: [VecDeque::new(), VecDeque::new()],
        now: Instant(1_000_000_000),
        fails: [false; 2],
        touched: false,
        held_ms: 0,
        held_back: false,
        forged: 0,
    };
    while !script.is_over() {
        play.step(&mut script);
    }
    play.end();
    play.judge();
    let stats = play.ends.engines[1].stats();
    let (packed, known) = (stats.unpacked_bytes > 0, stats.known_bytes > 0);
    PairResult { whole: play.sink.complete().count(), forged: play.forged, packed, known }
}

impl Play {
    fn step(&mut self, script: &mut Script<'_>) {
        let from = usize::from(script.one_in(2));
        match script.byte() % 16 {
            0..=5 => {
                for _ in 0..=script.byte() % 32 {
                    self.moment();
                }
            }
            6 => self.pass_time(u64::from(script.byte())),
            7 if script.one_in(8) => self.pass_time(u64::from(script.short())),
            8 => self.lose(from, usize::from(script.short()), usize::from(script.byte())),
            9 | 10 => {
                let (at, flip) = (usize::from(script.short()), script.byte());
                let len = self.wires[from].len().max(1);
                if let Some(byte) = self.wires[from].get_mut(at % len) {
                    *byte ^= flip;
                    self.touched = true;
                }
            }
            11 => {
                let some = script.bytes();
                self.touched |= !some.is_empty();
                self.wires[from].extend(some);
            }
            12..=14 => {
                let mut packet = Vec::new();
                (self.ends.forge)(script, &mut packet);
                self.touched = true;
                self.forged += 1;
                // Before what is in flight, so that it comes in the state that the script has seen.
                for byte in packet.iter().rev() {
                    self.wires[from].push_front(*byte);
                }
            }
            15 if script.one_in(16) => self.fails[from] = true,
            15 if script.one_in(16) => {
                let all = [Command::CancelFile, Command::CancelBatch, Command::Abort];
                self.command(from, script.pick(&all));
            }
            _ => self.moment(),
        }
    }

    fn command(&mut self, to: usize, command: Command) {
        let mut cx = Cx { now: self.now, trace: &mut NoTrace };
        self.ends.engines[to].command(&mut cx, command);
    }

    fn lose(&mut self, from: usize, at: usize, count: usize) {
        let wire = &mut self.wires[from];
        let at = at % wire.len().max(1);
        let end = wire.len().min(at + count);
        self.touched |= wire.drain(at..end).count() > 0;
    }

    /// What is in flight arrives, and both do what they have to, at the next time at which there is
    /// something to do.
    fn moment(&mut self) {
        if self.wires.iter().all(VecDeque::is_empty) {
            let next = self.ends.engines.iter().filter_map(|engine| engine.deadline()).min();
            self.now = next.map_or(self.now, |next| self.now.max(next));
        } else {
            self.now = self.now + Duration::from_millis(1);
        }
        self.held_ms = 0;
        for from in 0..2 {
            self.hear(from);
        }
        self.settle(0);
        self.settle(1);
    }

    fn pass_time(&mut self, ms: u64) {
        let holds = self.wires.iter().any(|wire| !wire.is_empty());
        self.held_ms = if holds { self.held_ms + ms } else { 0 };
        self.held_back |= self.held_ms > EOT_WAITS_MS;
        self.now = self.now + Duration::from_millis(ms);
        self.settle(0);
        self.settle(1);
    }

    fn hear(&mut self, from: usize) {
        let bytes: Vec<u8> = self.wires[from].drain(..).collect();
        let mut rest = &bytes[..];
        let to = 1 - from;
        while !rest.is_empty() {
            let mut cx = Cx { now: self.now, trace: &mut NoTrace };
            let took = self.ends.engines[to].receive(&mut cx, rest);
            assert!(took <= rest.len(), "more was taken than came");
            rest = &rest[took..];
            if !self.answer(to) && took == 0 {
                break;
            }
        }
        // An engine that is over takes no more bytes: they belong to the next program on the line.
        if !matches!(self.ends.engines[to].status(), Status::Over(_)) {
            self.wires[from].extend(rest);
        }
    }

    /// Answers what an end asks of its store; whether it asked.
    fn answer(&mut self, of: usize) -> bool {
        let engine = &mut self.ends.engines[of];
        let Some(request) = engine.request() else { return false };
        let close = matches!(request, Request::Close { .. });
        let store: &mut dyn Store = if of == 0 { &mut self.source } else { &mut self.sink };
        let mut reply = bundle::answered(store, &mut self.compressors[of], request);
        if !close && std::mem::take(&mut self.fails[of]) {
            reply = Reply::Failed(StoreError::NoSpace);
        }
        let mut cx = Cx { now: self.now, trace: &mut NoTrace };
        engine.reply(&mut cx, reply);
        true
    }

    /// Everything that an end does at this moment.
    fn settle(&mut self, of: usize) {
        for round in 0.. {
            assert!(round < AT_ONCE, "it does not let the time go on");
            let mut cx = Cx { now: self.now, trace: &mut NoTrace };
            let engine = &mut self.ends.engines[of];
            if engine.deadline().is_some_and(|at| at <= self.now) {
                engine.tick(&mut cx);
            }
            let room = WIRE.saturating_sub(self.wires[of].len());
            let lent = engine.transmit(&mut cx);
            let len = lent.len().min(room);
            self.wires[of].extend(&lent[..len]);
            if len > 0 {
                engine.transmitted(&mut cx, len);
            }
            let mut told = 0;
            while let Some(event) = engine.event() {
                told += 1;
                assert!(told < AT_ONCE, "it tells without end");
                if let Event::FileStarted { offset, info } = event {
                    assert!(info.size.is_none_or(|size| offset <= size), "begun behind its end");
                }
            }
            if matches!(engine.status(), Status::Over(_)) {
                assert_eq!(engine.deadline(), None, "what is over wants nothing");
            }
            if !self.answer(of) && len == 0 {
                return;
            }
        }
    }

    /// The faults stop: both ends finish.
    fn end(&mut self) {
        for round in 0..TO_END {
            self.moment();
            let over = |engine: &dyn Engine| matches!(engine.status(), Status::Over(_));
            if self.ends.engines.iter().all(|engine| over(&**engine)) {
                return;
            }
            let silent = self.wires.iter().all(VecDeque::is_empty)
                && self.ends.engines.iter().all(|engine| engine.deadline().is_none());
            // One that waits without a bound may: a user ends it.
            if silent || round == TO_END / 2 {
                self.command(0, Command::Abort);
                self.command(1, Command::Abort);
            }
        }
        let states = [0, 1].map(|of| self.ends.engines[of].status());
        panic!("no end: {states:?}");
    }

    /// What the ends say of the files is so.
    fn judge(&self) {
        assert!(!self.sink.broken_order(), "the store was asked for nonsense");
        if self.touched {
            return;
        }
        for came in self.sink.complete() {
            let same = |file: &MemoryFile| file.bytes[..] == *came.bytes;
            // XMODEM does not send the length: its last block stays full.
            let padded = |file: &MemoryFile| {
                let pad = file.bytes.len() / 128 * 128..came.bytes.len();
                came.size.is_none() && came.bytes.starts_with(&file.bytes) && pad.len() <= 1024
            };
            let any = |is: &dyn Fn(&MemoryFile) -> bool| self.source.files().iter().any(is);
            assert!(any(&same) || any(&padded), "a false success");
        }
        let files = self.source.files().iter().zip(self.source.closed());
        let counts = |file: &MemoryFile| !self.ends.empty_is_said || !file.bytes.is_empty();
        let told =
            files.filter(|(file, closed)| counts(file) && closed.is_some_and(|closed| closed.0));
        let told = told.count();
        let whole = self.sink.complete().count();
        // Of a repeated block, an acknowledgement that the line holds back for longer than EOT waits for it is taken
        // for that of EOT; with YMODEM, where the header and its answer stand before every block, of an empty file
        // (SECURITY.md).
        let repeated = self.ends.engines[0].stats().retransmissions > 0;
        let empty = self.source.files().iter().filter(|file| file.bytes.is_empty()).count();
        let mistaken = match self.ends.has_bare_answers && self.held_back && repeated {
            true if self.ends.empty_is_said => 1,
            true => empty,
            false => 0,
        };
        assert!(told <= whole + mistaken, "{told} were told to be whole, and {whole} are");
    }
}
