//! NETBLT: packets, and both engines in both roles.

use crate::Script;
use wetstring_proto::file::{FileInfo, Refusal, Reply, Request, StoreError};
use wetstring_proto::netblt::control::{Message, Offer, messages, put_go, put_ok, put_resend};
use wetstring_proto::netblt::packet::{Body, Data, HEADER, Packet, Ports, Terms, data_checksum};
use wetstring_proto::netblt::{Config, Receiver, Role, Sender};
use wetstring_proto::stats::Stats;
use wetstring_proto::{BitRate, Command, Cx, Duration, Engine, Instant, NoTrace, Span, Status};

/// A datagram.
///
/// # Panics
///
/// If a packet that is read is another one once it was written and read again.
pub fn packet(bytes: &[u8]) {
    let mut sound = bytes.to_vec();
    seal(&mut sound);
    for bytes in [bytes, &sound[..]] {
        let Ok(packet) = Packet::parse(bytes) else { continue };
        if let Body::Control(list) = packet.body {
            let mut count = 0;
            for (_, message) in messages(list) {
                count += 1;
                if let Message::Resend { packets, .. } = message {
                    assert_eq!(packets.iter().count(), packets.len());
                }
            }
            assert!(count <= list.len() / 8, "a message has eight bytes at least");
        }
        let mut written = vec![0xFF; bytes.len() + 8];
        let len = packet.put(&mut written).expect("there is room for it");
        let again = Packet::parse(&written[..len]).expect("what was written is a packet");
        assert_eq!(again, packet);
    }
}

/// Makes bytes a packet as far as version, length and checksum go.
pub(crate) fn seal(bytes: &mut [u8]) {
    if bytes.len() < HEADER {
        return;
    }
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    bytes[0] = 0;
    bytes[1] = 0;
    bytes[2] = 1;
    bytes[3] %= 12;
    bytes[4..6].copy_from_slice(&len.to_be_bytes());
    let covered = if bytes[3] == 6 || bytes[3] == 7 { 24 } else { bytes.len() };
    let covered = covered.min(bytes.len());
    let check = wetstring_proto::netblt::checksum::checksum(&bytes[..covered]);
    bytes[..2].copy_from_slice(&check.to_be_bytes());
}

/// Packets of the connections that make sense, in bytes, and of their buffers.
const PACKET: u16 = 100;
const PACKETS: u32 = 4;
/// Packets that an engine may send at one moment: no buffer of the configurations here has more.
const AT_ONCE: usize = 70_000;
/// Steps that an engine may take to end after an abort.
const TO_END: usize = 2000;

/// An engine at work.
struct Play {
    engine: Box<dyn Engine>,
    now: Instant,
    /// The connection as its last packet shows it.
    ports: Ports,
    id: u32,
    longest: usize,
    sends: bool,
    /// Sequence number of the last control message to a sender, and of the last from a receiver.
    sequence: u16,
    high: u16,
    /// The last buffer that a receiver asked for.
    buffer: u32,
    /// The name of the files, and how many there still are.
    files: u8,
    size: u64,
    wrote: u64,
}

/// A script for an engine: what comes, when, and what the store and the user say. What came of it.
///
/// # Panics
///
/// If the engine breaks a rule of its trait.
pub fn engine(bytes: &[u8]) -> Stats {
    let mut script = Script::new(bytes);
    let sends = script.one_in(2);
    let config = config(&mut script);
    let longest = usize::from(config.max_datagram).max(256 + 640);
    let engine: Box<dyn Engine> = if sends {
        let memory = vec![0; config.sender_memory()];
        Box::new(Sender::new(config, memory).expect("it has its memory"))
    } else {
        let memory = vec![0; config.receiver_memory()];
        Box::new(Receiver::new(config, memory).expect("it has its memory"))
    };
    let (files, size) = (script.byte() % 3, u64::from(script.short()) * 3);
    let (files, size) = (1 + files, size % 5000);
    let mut play = Play {
        engine,
        now: Instant(1_000_000_000),
        ports: Ports { local: 7000, foreign: 5000 },
        id: 9,
        longest,
        sends,
        sequence: 0,
        high: 0,
        buffer: 0,
        files,
        size,
        wrote: 0,
    };
    while !script.is_over() {
        play.step(&mut script);
        play.look();
    }
    play.end();
    *play.engine.stats()
}

fn config(script: &mut Script<'_>) -> Config {
    let (mut burst, mut interval, mut max_rate) = (0, Span::from_millis(30), BitRate::ZERO);
    match script.byte() % 3 {
        0 => {
            burst = (script.short() % 100).max(1);
            interval = Span::from_millis(u64::from(script.short() % 200));
        }
        1 => max_rate = BitRate::from_bps(u64::from(script.word())),
        _ => {}
    }
    Config {
        metered: false,
        role: script.pick(&[Role::Active, Role::Passive]),
        local_port: script.short(),
        foreign_port: script.short(),
        id: script.word(),
        first_buffer: if script.one_in(2) { 1 } else { script.word() },
        max_datagram: script.pick(&[0, 256, 600, 1432, 9000]),
        buffer_size: script.pick(&[0, 0, 0, 1, 700, 14_320]),
        outstanding: script.pick(&[0, 1, 2, 300]),
        burst,
        interval,
        max_rate,
        death: Span::from_secs(script.pick(&[0, 1, 60, 60, 60])),
        open_timeout: Span::from_millis(script.pick(&[0, 10, 2000])),
        open_tries: script.byte() % 6,
        checksum: script.one_in(2),
        digest: script.one_in(2),
        files: !script.one_in(4),
        resume: script.one_in(2),
        buffer_len: 16_384,
        room: 100_000,
    }
}

impl Play {
    fn step(&mut self, script: &mut Script<'_>) {
        match script.byte() % 12 {
            0 => self.hear(script.bytes()),
            1 => {
                let mut bytes = script.bytes().to_vec();
                if bytes.len() >= HEADER {
                    let (local, foreign) = (self.ports.foreign, self.ports.local);
                    bytes[6..8].copy_from_slice(&local.to_be_bytes());
                    bytes[8..10].copy_from_slice(&foreign.to_be_bytes());
                }
                seal(&mut bytes);
                self.hear(&bytes);
            }
            2..=4 => self.well_made(script),
            5 => self.now = self.now + Duration::from_millis(u64::from(script.byte())),
            6 if script.one_in(16) => {
                self.now = self.now + Duration::from_millis(u64::from(script.short()) * 10);
            }
            7 => {
                if let Some(deadline) = self.engine.deadline() {
                    self.now = self.now.max(deadline);
                }
                self.tick();
            }
            8 => self.give(usize::from(script.byte()), !script.one_in(8)),
            9 | 10 => self.store(script),
            11 if !script.one_in(8) => self.give(8, true),
            _ => {
                let all = [Command::CancelFile, Command::CancelBatch, Command::Abort];
                // Rarely: it would end most scripts early.
                if script.byte() == 7 && script.one_in(4) {
                    let command = script.pick(&all);
                    let (now, mut trace) = (self.now, NoTrace);
                    self.engine.command(&mut Cx { now, trace: &mut trace }, command);
                }
            }
        }
    }

    fn tick(&mut self) {
        let (now, mut trace) = (self.now, NoTrace);
        self.engine.tick(&mut Cx { now, trace: &mut trace });
    }

    fn hear(&mut self, bytes: &[u8]) {
        let before = self.engine.stats().wire_in_bytes;
        let (now, mut trace) = (self.now, NoTrace);
        let took = self.engine.receive(&mut Cx { now, trace: &mut trace }, bytes);
        assert!(took == 0 || took == bytes.len(), "datagrams are taken whole");
        assert!(self.engine.stats().wire_in_bytes >= before);
    }

    /// A packet of the connection, with values that make sense, or any.
    fn well_made(&mut self, script: &mut Script<'_>) {
        let mut ports = Ports { local: self.ports.foreign, foreign: self.ports.local };
        let (mut list, mut out) = ([0; 600], [0; 2000]);
        let any = script.one_in(4);
        let body = match script.byte() % 12 {
            0 => {
                // A new connection has a new port.
                ports.local = script.short();
                Body::Open(self.terms(script, any))
            }
            1 => Body::Response(self.terms(script, any)),
            2..=4 => Body::Control(self.messages(script, any, &mut list)),
            5..=8 => Body::Data(self.data(script, any)),
            9 => Body::NullAck {
                high: if any { script.short() } else { self.high },
                burst_size: script.short(),
                burst_interval_ms: script.short(),
            },
            10 if any => script.pick(&[Body::QuitAck, Body::Quit(b"wst1 cancel"), Body::Done]),
            _ => Body::KeepAlive,
        };
        if let Some(len) = (Packet { ports, body }).put(&mut out) {
            self.hear(&out[..len]);
        }
    }

    fn terms<'a>(&self, script: &mut Script<'a>, any: bool) -> Terms<'a> {
        let sizes = [0, 1, 2, 100, 1000, 0xFFFF];
        let strings = [
            &b"wst1 x s=900 name=a"[..],
            b"wst1 end",
            b"wst1 again",
            b"",
            b"wst1 have=0-5,7-9",
            b"a",
        ];
        let client = if script.one_in(4) { script.bytes() } else { script.pick(&strings) };
        // A string has no NUL in it.
        let client = if client.contains(&0) { b"" } else { client };
        let sensible = Terms {
            id: self.id,
            buffer_size: u32::from(PACKET) * PACKETS,
            transfer_size: 900,
            packet_size: PACKET,
            burst_size: 5,
            burst_interval_ms: 10,
            death_s: 60,
            write: !self.sends || !script.one_in(4),
            checksum: true,
            outstanding: 4,
            client,
        };
        if !any {
            return sensible;
        }
        Terms {
            id: if script.one_in(4) { script.word() } else { self.id },
            buffer_size: u32::from(script.pick(&sizes)) * u32::from(script.pick(&sizes)),
            transfer_size: script.word(),
            packet_size: script.pick(&sizes),
            burst_size: script.pick(&sizes),
            burst_interval_ms: script.pick(&sizes),
            death_s: script.pick(&sizes),
            write: script.one_in(2),
            checksum: script.one_in(2),
            outstanding: script.pick(&sizes),
            client,
        }
    }

    fn data<'a>(&self, script: &mut Script<'a>, any: bool) -> Data<'a> {
        let filled = &[7; PACKET as usize][..];
        let packet = u16::from(script.byte()) % PACKETS as u16;
        let bytes = if any { script.bytes() } else { filled };
        Data {
            buffer: self.buffer.wrapping_sub(u32::from(script.byte() % 3)),
            high: if any { script.short() } else { self.high },
            packet: if any { script.short() } else { packet },
            last_of_buffer: if any { script.one_in(2) } else { u32::from(packet) + 1 == PACKETS },
            last_buffer: any && script.one_in(4),
            checksum: if any && script.one_in(4) { 1 } else { data_checksum(bytes) },
            bytes,
        }
    }

    /// Some control messages.
    fn messages<'l>(&mut self, script: &mut Script<'_>, any: bool, list: &'l mut [u8]) -> &'l [u8] {
        let mut len = 0;
        for _ in 0..=script.byte() % 5 {
            self.sequence = self.sequence.wrapping_add(1);
            let sequence = if any { u16::from(script.byte()) } else { self.sequence };
            let buffer = u32::from(script.byte() % 6);
            let buffer = if any && script.one_in(4) { u32::MAX } else { buffer };
            let into = &mut list[len..];
            let put = match script.byte() % 3 {
                0 => put_go(into, sequence, buffer),
                1 => {
                    let offer = Offer {
                        burst_size: script.short(),
                        burst_interval_ms: script.short(),
                        control_timer_ms: script.short(),
                    };
                    put_ok(into, sequence, buffer, offer)
                }
                _ => {
                    let wanted = script.bytes().iter().map(|packet| u16::from(*packet)).take(20);
                    let wanted: Vec<u16> = wanted.collect();
                    put_resend(into, sequence, buffer, wanted.into_iter()).map(|(len, _)| len)
                }
            };
            len += put.unwrap_or(0);
        }
        &list[..len]
    }

    /// The state of its connection, as the engine reports it.
    fn learn(&mut self, packet: &Packet<'_>) {
        self.ports = packet.ports;
        match packet.body {
            Body::Open(terms) | Body::Response(terms) => {
                self.id = terms.id;
                self.sequence = 0;
            }
            Body::Control(list) => {
                for (sequence, message) in messages(list) {
                    self.high = sequence;
                    if let Message::Go { buffer } = message {
                        self.buffer = buffer;
                    }
                }
            }
            _ => {}
        }
    }

    /// Takes at most N packets; whether the port took each.
    fn give(&mut self, most: usize, took: bool) {
        for count in 0.. {
            assert!(count < AT_ONCE, "it does not stop talking");
            let (now, mut trace) = (self.now, NoTrace);
            let mut cx = Cx { now, trace: &mut trace };
            let lent = self.engine.transmit(&mut cx).to_vec();
            if lent.is_empty() || count >= most {
                return;
            }
            assert!(lent.len() <= self.longest, "{} of {}", lent.len(), self.longest);
            let packet = Packet::parse(&lent).expect("what is sent is a packet");
            self.learn(&packet);
            assert_eq!(self.engine.transmit(&mut cx), lent, "what is lent stays");
            self.engine.transmitted(&mut cx, if took { lent.len() } else { 0 });
            if !took {
                return;
            }
        }
    }

    /// Answers what the store is asked, as a good one or a bad one.
    fn store(&mut self, script: &mut Script<'_>) {
        let name = *b"data.bin";
        let good = !script.one_in(12);
        let (now, mut trace) = (self.now, NoTrace);
        let Some(request) = self.engine.request() else { return };
        let reply = match request {
            _ if !good && script.one_in(2) => {
                let errors = [StoreError::NoSpace, StoreError::Io, StoreError::Unsupported];
                Reply::Failed(script.pick(&errors))
            }
            Request::Next if self.files == 0 => Reply::NoMoreFiles,
            Request::Next => {
                self.files -= 1;
                let size = (!script.one_in(4)).then_some(self.size);
                let resume = script.one_in(2);
                Reply::File(FileInfo { name: &name, size, resume, ..FileInfo::default() })
            }
            Request::Read { offset, into } => {
                let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(0);
                let len = if good { left } else { usize::from(script.byte()) };
                let len = len.min(into.len());
                into[..len].fill(offset as u8);
                Reply::Read(len)
            }
            Request::Offer { .. } if good => {
                Reply::Accept { offset: script.pick(&[0, 0, 100, u64::MAX]) }
            }
            Request::Offer { .. } => Reply::Refuse(Refusal::Exists),
            Request::Write { bytes, .. } => {
                self.wrote += bytes.len() as u64;
                Reply::Done
            }
            Request::Held { from } => {
                // A store has an end.
                let more = if from < 4000 { u64::from(script.byte()) } else { 0 };
                let to = from + more;
                if good { Reply::Held { from, to } } else { Reply::Failed(StoreError::Unsupported) }
            }
            Request::Digest { .. } => Reply::Digest([script.byte(); 32]),
            _ => Reply::Done,
        };
        self.engine.reply(&mut Cx { now, trace: &mut trace }, reply);
    }

    /// What holds at any time.
    fn look(&mut self) {
        while self.engine.event().is_some() {}
        let stats = self.engine.stats();
        assert!(self.wrote <= stats.wire_in_bytes, "more was stored than came");
        if matches!(self.engine.status(), Status::Over(_)) {
            assert_eq!(self.engine.deadline(), None, "what is over wants nothing");
        }
    }

    /// The user aborts: it ends, regardless of what came before.
    fn end(&mut self) {
        let (now, mut trace) = (self.now, NoTrace);
        self.engine.command(&mut Cx { now, trace: &mut trace }, Command::Abort);
        let zeros = [0xFF; 8];
        for _ in 0..TO_END {
            if matches!(self.engine.status(), Status::Over(_)) {
                return;
            }
            self.store(&mut Script::new(&zeros));
            self.give(AT_ONCE, true);
            self.look();
            if let Some(deadline) = self.engine.deadline() {
                self.now = self.now.max(deadline);
            }
            self.tick();
        }
        let (status, wants, deadline) =
            (self.engine.status(), self.engine.wants(), self.engine.deadline());
        let asks = format!("{:.60?}", self.engine.request());
        panic!("it does not end: {status:?} {wants:?} {deadline:?}, asks {asks}");
    }
}
