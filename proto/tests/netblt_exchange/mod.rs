//! What the NETBLT engine tests share: two engines joined by datagrams in virtual time, and one
//! engine against a peer that is made by hand.
#![allow(dead_code, unreachable_pub)]

use std::collections::VecDeque;
use std::time::Duration;
use wetstring_proto::netblt::packet::{Body, Data, Packet, Ports, Terms, data_checksum};
use wetstring_proto::netblt::{Config, Receiver, Role, Sender};
use wetstring_proto::{Command, Cx, Engine, Instant, Outcome, Span, Status, Store};
use wetstring_testkit::Edges;

/// Ports of the end that opens, and of the one that waits.
pub const ACTIVE: u16 = 4096;
pub const PASSIVE: u16 = 7000;
/// Seconds until either end takes the other for dead.
pub const DEATH_S: u16 = 5;

/// Small buffers, 5 packets every 10 ms.
pub fn config() -> Config {
    Config {
        burst: 5,
        interval: Span::from_millis(10),
        max_datagram: 1024,
        buffer_size: 10_000,
        outstanding: 4,
        death: Span::from_secs(DEATH_S.into()),
        buffer_len: 65_536,
        local_port: ACTIVE,
        foreign_port: PASSIVE,
        id: 77,
        ..Config::default()
    }
}

/// The same at the end that waits.
pub fn passive() -> Config {
    Config { role: Role::Passive, local_port: PASSIVE, ..config() }
}

pub fn sender(config: &Config) -> Sender<Vec<u8>> {
    Sender::new(config.clone(), vec![0; config.sender_memory()]).expect("memory as configured")
}

pub fn receiver(config: &Config) -> Receiver<Vec<u8>> {
    Receiver::new(config.clone(), vec![0; config.receiver_memory()]).expect("memory as configured")
}

/// A datagram that holds this packet.
pub fn datagram(ports: Ports, body: Body<'_>) -> Vec<u8> {
    let mut bytes = vec![0; 66_000];
    let len = Packet { ports, body }.put(&mut bytes).expect("it fits");
    bytes.truncate(len);
    bytes
}

/// A packet of data with a right checksum.
pub fn data(ports: Ports, buffer: u32, packet: u16, last: (bool, bool), bytes: &[u8]) -> Vec<u8> {
    data_under(ports, 0, buffer, packet, last, bytes)
}

/// The same from a sender that has heard the control messages up to `high`.
pub fn data_under(
    ports: Ports,
    high: u16,
    buffer: u32,
    packet: u16,
    last: (bool, bool),
    bytes: &[u8],
) -> Vec<u8> {
    let checksum = data_checksum(bytes);
    let (last_of_buffer, last_buffer) = last;
    let head = Data { buffer, high, packet, last_of_buffer, last_buffer, checksum, bytes };
    datagram(ports, Body::Data(head))
}

/// Terms that anybody could offer.
pub fn terms(id: u32, write: bool, client: &[u8]) -> Terms<'_> {
    Terms {
        id,
        buffer_size: 10_000,
        transfer_size: 0,
        packet_size: 1000,
        burst_size: 5,
        burst_interval_ms: 10,
        death_s: DEATH_S,
        write,
        checksum: true,
        outstanding: 4,
        client,
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub outcome: Outcome,
    /// When it was over.
    pub after: Duration,
    /// Bytes that the engine sent.
    pub sent: u64,
    /// Allocations that the engine made.
    pub allocations: u64,
}

/// Does something with an engine, and counts what it allocates.
fn counted<T>(total: &mut u64, what: impl FnOnce() -> T) -> T {
    let mut result = None;
    *total += allocation_counter::measure(|| result = Some(what())).count_total;
    result.expect("it was done")
}

/// What a peer made by hand says: it is asked every 5 ms, and for each packet that it hears.
pub type Peer<'a> = dyn FnMut(Duration, Option<&Packet<'_>>, &mut Vec<Vec<u8>>) + 'a;

/// Turns an engine against a peer until it is over, or panics after `limit`.
pub fn against(
    engine: &mut dyn Engine,
    store: &mut dyn Store,
    peer: &mut Peer<'_>,
    limit: Duration,
) -> End {
    let mut now = Instant::ZERO;
    let (mut sent, mut allocations) = (0, 0);
    let mut said: Vec<Vec<u8>> = Vec::new();
    while now - Instant::ZERO < limit {
        let time = now - Instant::ZERO;
        let cx = &mut Cx { now, trace: &mut Edges::new() };
        peer(time, None, &mut said);
        let mut rounds = 0;
        loop {
            let mut moved = false;
            for bytes in std::mem::take(&mut said) {
                // What is not taken is dropped, as a socket does.
                counted(&mut allocations, || engine.receive(cx, &bytes));
                moved = true;
            }
            counted(&mut allocations, || engine.tick(cx));
            while let Some(request) = engine.request() {
                let reply = store.answer(request);
                engine.reply(cx, reply);
                moved = true;
            }
            let lent = counted(&mut allocations, || engine.transmit(cx)).to_vec();
            if !lent.is_empty() {
                counted(&mut allocations, || engine.transmitted(cx, lent.len()));
                sent += lent.len() as u64;
                let packet = Packet::parse(&lent).expect("an engine sends packets");
                peer(time, Some(&packet), &mut said);
                moved = true;
            }
            while engine.event().is_some() {}
            rounds += 1;
            assert!(rounds < 100_000, "the time goes on");
            if !moved {
                break;
            }
        }
        if let Status::Over(outcome) = engine.status() {
            return End { outcome, after: time, sent, allocations };
        }
        now = now + Duration::from_millis(5);
    }
    panic!("no end after {limit:?}: {:?}", engine.status());
}

/// What may be done with a datagram on its way: (to the receiver, the datagram, what arrives).
pub type Meddle<'a> = dyn FnMut(bool, Vec<u8>, &mut VecDeque<Vec<u8>>) + 'a;

/// What the user at an end wants: (whether it is the receiver, its engine).
pub type Steer<'a> = dyn FnMut(bool, &dyn Engine) -> Option<Command> + 'a;

/// Turns two engines against each other with a path of 5 ms each way; both outcomes.
pub fn pair<'a>(
    sending: (&'a mut dyn Engine, &'a mut dyn Store),
    receiving: (&'a mut dyn Engine, &'a mut dyn Store),
    meddle: &mut Meddle<'_>,
    limit: Duration,
) -> [Outcome; 2] {
    steered(sending, receiving, meddle, &mut |_, _| None, limit)
}

/// The same with users.
pub fn steered<'a>(
    sending: (&'a mut dyn Engine, &'a mut dyn Store),
    receiving: (&'a mut dyn Engine, &'a mut dyn Store),
    meddle: &mut Meddle<'_>,
    steer: &mut Steer<'_>,
    limit: Duration,
) -> [Outcome; 2] {
    let mut sides = [sending, receiving];
    let mut ways = [VecDeque::new(), VecDeque::new()];
    let mut now = Instant::ZERO;
    while now - Instant::ZERO < limit {
        for index in [0, 1] {
            let cx = &mut Cx { now, trace: &mut Edges::of(index == 0) };
            let (engine, store) = &mut sides[index];
            for bytes in std::mem::take(&mut ways[1 - index]) {
                let bytes: Vec<u8> = bytes;
                for _ in 0..100 {
                    let over = matches!(engine.status(), Status::Over(_));
                    if over || engine.receive(cx, &bytes) > 0 {
                        break;
                    }
                    while let Some(request) = engine.request() {
                        let reply = store.answer(request);
                        engine.reply(cx, reply);
                    }
                }
            }
            if let Some(command) = steer(index == 1, *engine) {
                engine.command(cx, command);
            }
            engine.tick(cx);
            loop {
                while let Some(request) = engine.request() {
                    let reply = store.answer(request);
                    engine.reply(cx, reply);
                }
                let lent = engine.transmit(cx).to_vec();
                if lent.is_empty() {
                    break;
                }
                engine.transmitted(cx, lent.len());
                meddle(index == 0, lent, &mut ways[index]);
            }
            while engine.event().is_some() {}
        }
        let ends = [0, 1].map(|index| sides[index].0.status());
        if let [Status::Over(a), Status::Over(b)] = ends {
            return [a, b];
        }
        now = now + Duration::from_millis(5);
    }
    panic!("no end after {limit:?}: {:?} {:?}", sides[0].0.status(), sides[1].0.status());
}
