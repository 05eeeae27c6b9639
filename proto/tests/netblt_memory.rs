//! A NETBLT transfer allocates nothing, and an engine lives in the memory that its configuration
//! says, which is what docs/reference/netblt-flags.md says.

use crate::common;

use common::Dice;
use std::time::Duration;
use wetstring_proto::netblt::{Config, Receiver, Role, Sender};
use wetstring_proto::{
    Cx, Engine, FileInfo, Instant, NoTrace, Outcome, Reply, Request, Span, Status, StoreError,
};

/// Answers a store's request out of a file on the stack; `held` is a store that takes any order.
fn answer<'r>(
    request: Request<'_>,
    file: &[u8],
    given: &mut bool,
    held: bool,
    got: &mut u64,
) -> Reply<'r> {
    match request {
        Request::Next if *given => Reply::NoMoreFiles,
        Request::Next => {
            *given = true;
            let size = Some(file.len() as u64);
            Reply::File(FileInfo { name: b"a", size, ..FileInfo::default() })
        }
        Request::Read { offset, into } => {
            let from = offset as usize;
            let len = (file.len() - from).min(into.len());
            into[..len].copy_from_slice(&file[from..from + len]);
            Reply::Read(len)
        }
        Request::Offer { .. } => Reply::Accept { offset: 0 },
        Request::Held { from } if held => Reply::Held { from, to: from },
        Request::Held { .. } => Reply::Failed(StoreError::Unsupported),
        Request::Write { offset, bytes } => {
            assert_eq!(bytes, &file[offset as usize..][..bytes.len()]);
            *got += bytes.len() as u64;
            Reply::Done
        }
        Request::Digest { .. } => Reply::Digest([7; 32]),
        _ => Reply::Done,
    }
}

/// Turns two engines against each other, each datagram at once, every `lost`th of them not at all;
/// returns the file bytes that were written.
fn turn(engines: &mut [&mut dyn Engine; 2], file: &[u8], held: bool, lost: u64) -> u64 {
    let (mut given, mut got, mut count) = (false, 0, 0);
    let mut packet = [0u8; 9000];
    let mut now = Instant::ZERO;
    while now - Instant::ZERO < Duration::from_secs(600) {
        let cx = &mut Cx { now, trace: &mut NoTrace };
        for index in [0, 1] {
            engines[index].tick(cx);
            loop {
                while let Some(request) = engines[index].request() {
                    let reply = answer(request, file, &mut given, held, &mut got);
                    engines[index].reply(cx, reply);
                }
                while engines[index].event().is_some() {}
                let lent = engines[index].transmit(cx);
                let len = lent.len();
                if len == 0 {
                    break;
                }
                packet[..len].copy_from_slice(lent);
                engines[index].transmitted(cx, len);
                count += 1;
                if lost > 0 && count % lost == 0 {
                    continue;
                }
                let other = &mut engines[1 - index];
                while other.receive(cx, &packet[..len]) == 0 {
                    if matches!(other.status(), Status::Over(_)) {
                        break;
                    }
                    let Some(request) = other.request() else { break };
                    let reply = answer(request, file, &mut given, held, &mut got);
                    other.reply(cx, reply);
                }
            }
        }
        if engines.iter().all(|engine| matches!(engine.status(), Status::Over(Outcome::Done))) {
            return got;
        }
        now = now + Duration::from_millis(1);
    }
    panic!("no end in sight: {:?} {:?}", engines[0].status(), engines[1].status());
}

fn fixed() -> Config {
    Config { burst: 20, interval: Span::from_millis(5), buffer_len: 65_536, ..Config::default() }
}

#[test]
fn zero_allocations_in_a_transfer() {
    let mut dice = Dice(5);
    let file: Vec<u8> = (0..700_000).map(|_| dice.roll(256) as u8).collect();
    for config in [
        fixed(),
        Config { burst: 0, ..fixed() },
        Config { outstanding: 2, max_datagram: 8952, buffer_size: 100_000, ..fixed() },
        Config {
            outstanding: 22,
            buffer_size: 14_320,
            max_datagram: 1456,
            digest: false,
            ..fixed()
        },
        Config { max_datagram: 256, buffer_size: 700, ..fixed() },
    ] {
        for (write, held, lost) in [(true, true, 0), (true, false, 41), (false, true, 23)] {
            let active = Config { role: Role::Active, ..config.clone() };
            let passive = Config { role: Role::Passive, local_port: 7000, ..config.clone() };
            let (from, to) = if write { (active, passive) } else { (passive, active) };
            // Exactly what the configuration says, and not a byte more.
            let mut sending = vec![0; from.sender_memory()];
            let mut receiving = vec![0; to.receiver_memory()];
            let mut sender = Sender::new(from, &mut sending[..]).expect("enough");
            let mut receiver = Receiver::new(to, &mut receiving[..]).expect("enough");
            let mut got = 0;
            let counted = allocation_counter::measure(|| {
                got = turn(&mut [&mut sender, &mut receiver], &file, held, lost);
            });
            assert_eq!(got, file.len() as u64, "{config:?}");
            assert_eq!(counted.count_total, 0, "{config:?}");
        }
    }
}

/// What docs/reference/netblt-flags.md says of the memory.
fn stated(config: &Config) -> (usize, usize) {
    let datagram = usize::from(config.max_datagram) & !3;
    let packet = datagram - 24;
    let buffer = if config.buffer_size == 0 { 20 * packet } else { config.buffer_size as usize };
    let outstanding = usize::from(config.outstanding);
    let ring = outstanding.max((4 * outstanding).min(98_304));
    let bits = |count: usize| count.div_ceil(64) * 8;
    let packets = bits(buffer.div_ceil(packet));
    let data = config.buffer_len.max(2 * buffer + 4 * datagram);
    let out = datagram.max(676);
    let sender = out + data + datagram + ring * packets + 3 * bits(ring) + 8192 + 512;
    let messages = (3 * ring + 16).min(28_000) * 24;
    (sender, out + data + ring * (packets + 32) + messages + 512)
}

#[test]
fn the_memory_is_what_is_stated() {
    for config in [
        Config::default(),
        fixed(),
        Config { outstanding: 1, buffer_len: 16_384, ..fixed() },
        Config { outstanding: 22, buffer_size: 14_320, max_datagram: 1456, ..fixed() },
        Config { outstanding: u16::MAX, max_datagram: 8952, ..Config::default() },
    ] {
        let needs = (config.sender_memory(), config.receiver_memory());
        assert_eq!(needs, stated(&config), "{config:?}");
        // A byte less is not enough.
        assert!(Sender::new(config.clone(), vec![0; needs.0 - 1]).is_err());
        assert!(Receiver::new(config.clone(), vec![0; needs.1 - 1]).is_err());
    }
    // RFC 1030's 22 buffers of ten packets, with 64 KiB between engine and store.
    let config = Config { outstanding: 22, buffer_size: 14_320, max_datagram: 1456, ..fixed() };
    println!("sender {} receiver {}", config.sender_memory(), config.receiver_memory());
    assert!(config.sender_memory() < 80_000 && config.receiver_memory() < 80_000);
}
