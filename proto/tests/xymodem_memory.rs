//! A transfer allocates nothing, and an engine lives in the memory that its configuration says.

mod common;

use common::Dice;
use wetstring_proto::settings::Settings;
use wetstring_proto::xymodem::{Config, Receiver, Sender};
use wetstring_proto::{Cx, Duration, Engine, FileInfo, Instant, NoTrace, Outcome, Reply, Request};

/// Turns two engines against each other with buffers on the stack only; returns the file bytes
/// that arrived.
fn turn(sender: &mut dyn Engine, receiver: &mut dyn Engine, file: &[u8]) -> u64 {
    let (mut given, mut arrived) = (false, 0);
    let mut pipes = [[0u8; 4000]; 2];
    let mut held = [0usize; 2];
    let mut now = Instant(1);
    for _ in 0..1_000_000 {
        let cx = &mut Cx { now, trace: &mut NoTrace };
        for index in [0, 1] {
            let engine: &mut dyn Engine = if index == 0 { &mut *sender } else { &mut *receiver };
            engine.tick(cx);
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
                        let from = offset as usize;
                        let len = bytes.len().min(file.len().saturating_sub(from));
                        assert_eq!(bytes[..len], file[from..from + len]);
                        assert!(bytes[len..].iter().all(|byte| *byte == 0x1a), "padding");
                        arrived = offset + len as u64;
                        Reply::Done
                    }
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
        if sender.status().outcome() == Some(Outcome::Done)
            && receiver.status().outcome() == Some(Outcome::Done)
        {
            return arrived;
        }
        now = now + Duration::from_millis(1);
    }
    panic!("no end in sight");
}

fn config(settings: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    for (name, value) in settings {
        config.set(&format!("xymodem.{name}"), value).unwrap();
    }
    config
}

#[test]
fn zero_allocations_in_a_transfer() {
    let mut dice = Dice(5);
    let file: Vec<u8> = (0..300_000).map(|_| dice.roll(256) as u8).collect();
    for variant in ["xmodem", "xmodem-crc", "xmodem-1k", "ymodem", "ymodem-g"] {
        for buffer in ["128", "1024", "10000"] {
            let config = config(&[("variant", variant), ("buffer", buffer)]);
            // Exactly what the configuration says, and not a byte more.
            let mut sending = vec![0; config.sender_memory()];
            let mut receiving = vec![0; config.receiver_memory()];
            let mut sender = Sender::new(config.clone(), &mut sending[..]).unwrap();
            let mut receiver = Receiver::new(config.clone(), &mut receiving[..]).unwrap();
            let mut arrived = 0;
            let counted = allocation_counter::measure(|| {
                arrived = turn(&mut sender, &mut receiver, &file);
            });
            assert_eq!(arrived, file.len() as u64, "{variant} {buffer}");
            assert_eq!(counted.count_total, 0, "{variant} {buffer}");
        }
    }
}

/// The whole engine, its own fields and the memory it is given.
#[test]
fn what_an_engine_needs() {
    let size = |variant: &str| {
        let config = config(&[("variant", variant), ("buffer", "128")]);
        (
            size_of::<Sender<&mut [u8]>>() + config.sender_memory(),
            size_of::<Receiver<&mut [u8]>>() + config.receiver_memory(),
        )
    };
    for variant in ["xmodem", "xmodem-crc", "xmodem-1k", "ymodem"] {
        println!("{variant}: sender and receiver {:?}", size(variant));
    }
    for variant in ["xmodem", "xmodem-crc"] {
        let (sender, receiver) = size(variant);
        assert!(sender < 2048 && receiver < 2048, "{variant}: {sender} {receiver}");
    }
    let (sender, receiver) = size("xmodem-1k");
    assert!(sender < 3300 && receiver < 2048, "{sender} {receiver}");
    let (sender, receiver) = size("ymodem");
    assert!(sender < 4096 && receiver < 3072, "{sender} {receiver}");
}

#[test]
fn too_little_memory_is_said() {
    let config = config(&[("variant", "ymodem")]);
    let needed = config.sender_memory();
    let error = Sender::new(config.clone(), vec![0; needed - 1]).unwrap_err();
    assert_eq!((error.needed, error.given), (needed, needed - 1));
    assert!(Receiver::new(config.clone(), vec![0; config.receiver_memory() - 1]).is_err());
}
