//! A transfer allocates nothing, and an engine lives in the memory that its configuration says.

mod common;

use common::Dice;
use wetstring_proto::settings::Settings;
use wetstring_proto::zmodem::{Config, Receiver, Sender};
use wetstring_proto::{Cx, Engine, FileInfo, Instant, NoTrace, Outcome, Reply, Request, Status};

/// Turns two engines against each other with buffers on the stack only; returns the file bytes
/// that arrived.
fn turn(sender: &mut dyn Engine, receiver: &mut dyn Engine, file: &[u8]) -> u64 {
    let (mut given, mut arrived) = (false, 0);
    let mut pipes = [[0u8; 8_000]; 2];
    let mut held = [0usize; 2];
    for _ in 0..1_000_000 {
        let cx = &mut Cx { now: Instant(1), trace: &mut NoTrace };
        for index in [0, 1] {
            let engine: &mut dyn Engine = if index == 0 { &mut *sender } else { &mut *receiver };
            while let Some(request) = engine.request() {
                let reply = match request {
                    Request::Next if given => Reply::NoMoreFiles,
                    Request::Next => {
                        given = true;
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
                    Request::Write { offset, bytes } => {
                        assert_eq!(bytes, &file[offset as usize..][..bytes.len()]);
                        arrived = offset + bytes.len() as u64;
                        Reply::Done
                    }
                    Request::Digest { .. } => Reply::Digest([7; 32]),
                    _ => Reply::Done,
                };
                engine.reply(cx, reply);
            }
            let room = pipes[index].len() - held[index];
            let lent = engine.transmit(cx);
            let len = lent.len().min(room);
            pipes[index][held[index]..held[index] + len].copy_from_slice(&lent[..len]);
            engine.transmitted(cx, len);
            held[index] += len;
            let other = 1 - index;
            let used = engine.receive(cx, &pipes[other][..held[other]]);
            pipes[other].copy_within(used..held[other], 0);
            held[other] -= used;
            while engine.event().is_some() {}
        }
        if sender.status() == Status::Over(Outcome::Done) {
            return arrived;
        }
    }
    panic!("no end in sight");
}

#[test]
fn zero_allocations_in_a_transfer() {
    let mut dice = Dice(5);
    let mut file: Vec<u8> = (0..300_000).map(|_| dice.roll(256) as u8).collect();
    file.resize(400_000, b'x');
    for settings in [
        &[][..],
        &[("zmodem.window", "4096"), ("zmodem.escape", "controls")],
        &[("zmodem.rle", "on"), ("zmodem.send-length", "8192")],
        &[("zmodem.receive-buffer", "1000"), ("zmodem.crc32", "off")],
        &[("zmodem.send-length", "32")],
    ] {
        let mut config = Config { buffer_len: 1024, ..Config::default() };
        for (name, value) in settings {
            config.set(name, value).unwrap();
        }
        // Exactly what the configuration says, and not a byte more.
        let mut sending = vec![0; config.sender_memory()];
        let mut receiving = vec![0; config.receiver_memory()];
        let mut sender = Sender::new(config.clone(), &mut sending[..]).unwrap();
        let mut receiver = Receiver::new(config.clone(), &mut receiving[..]).unwrap();
        let mut arrived = 0;
        let counted = allocation_counter::measure(|| {
            arrived = turn(&mut sender, &mut receiver, &file);
        });
        assert_eq!(arrived, file.len() as u64);
        assert_eq!(counted.count_total, 0, "{settings:?}");
    }
}

/// One subpacket with the room that escapes may need, and the name of a file.
#[test]
fn a_small_configuration_needs_little() {
    let config =
        Config { buffer_len: 1024, send_length: 1024, receive_length: 1024, ..Config::default() };
    println!("sender {} receiver {}", config.sender_memory(), config.receiver_memory());
    assert!(
        config.sender_memory() <= 1025 + 2 * (1024 + 128) + 512 + 1024,
        "{}",
        config.sender_memory()
    );
    assert!(config.receiver_memory() <= 1024 + 128 + 512 + 1024, "{}", config.receiver_memory());
}
