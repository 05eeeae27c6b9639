//! The loop for `async`: two engines as tasks of one runtime, and `sz` of lrzsz as the peer on a socket.

// lrzsz runs in real time.
#![allow(clippy::disallowed_methods)]

use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex};
use wetstring_proto::asynchronous::{TokioStream, run, run_watched};
use wetstring_proto::blocking::{Incoming, Outgoing, Piece};
use wetstring_proto::{Engine, Event, Outcome, xymodem, zmodem};
use wetstring_testkit::noise;

type Pair = (Box<dyn Engine + Send>, Box<dyn Engine + Send>);

fn engines() -> [Pair; 2] {
    let config = xymodem::Config::default();
    let sender = xymodem::Sender::new(config.clone(), vec![0; config.sender_memory()]);
    let receiver = xymodem::Receiver::new(config.clone(), vec![0; config.receiver_memory()]);
    let ymodem: Pair = (Box::new(sender.unwrap()), Box::new(receiver.unwrap()));
    let config = zmodem::Config::default();
    let sender = zmodem::Sender::new(config.clone(), vec![0; config.sender_memory()]);
    let receiver = zmodem::Receiver::new(config.clone(), vec![0; config.receiver_memory()]);
    [ymodem, (Box::new(sender.unwrap()), Box::new(receiver.unwrap()))]
}

/// Carries bytes from one end to the other, and damages one of them.
async fn carry(
    mut from: ReadHalf<DuplexStream>,
    mut to: WriteHalf<DuplexStream>,
    damage: Option<usize>,
) {
    let (mut bytes, mut at) = ([0; 300], 0);
    while let Ok(len @ 1..) = from.read(&mut bytes).await {
        if let Some(place) = damage.and_then(|damage| bytes[..len].get_mut(damage.wrapping_sub(at)))
        {
            *place ^= 0x10;
        }
        at += len;
        if to.write_all(&bytes[..len]).await.is_err() {
            return;
        }
    }
}

/// The two ends of a line of small buffers.
fn line(damage: Option<usize>) -> [DuplexStream; 2] {
    let ((a, near), (b, far)) = (duplex(64), duplex(64));
    let ((near_in, near_out), (far_in, far_out)) = (tokio::io::split(near), tokio::io::split(far));
    tokio::spawn(carry(near_in, far_out, damage));
    tokio::spawn(carry(far_in, near_out, None));
    [a, b]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_tasks_move_a_file_also_if_damaged() {
    let bytes = noise(5, 30_000);
    for damage in [None, Some(5_000)] {
        for (mut sender, mut receiver) in engines() {
            let [a, b] = line(damage);
            let file = bytes.clone();
            // That it can be spawned is part of the test: the future is `Send`.
            let sending = tokio::spawn(async move {
                let mut store = Outgoing::new(b"data.bin", &file);
                run(&mut *sender, &mut TokioStream::new(a), &mut store).await
            });
            let receiving = tokio::spawn(async move {
                let (mut got, mut done) = (Vec::new(), 0);
                let mut files = Incoming::new(|piece| {
                    if let Piece::Data(bytes) = piece {
                        got.extend_from_slice(bytes);
                    }
                    Ok(())
                });
                let watch =
                    |event: &Event<'_>| done += u32::from(matches!(event, Event::FileDone { .. }));
                let outcome =
                    run_watched(&mut *receiver, &mut TokioStream::new(b), &mut files, watch).await;
                (outcome.unwrap(), got, done)
            });
            let (outcome, got, done) = receiving.await.unwrap();
            assert_eq!((outcome, done), (Outcome::Done, 1), "{damage:?}");
            assert_eq!(sending.await.unwrap().unwrap(), Outcome::Done, "{damage:?}");
            assert!(got == bytes, "{damage:?}");
        }
    }
}

#[tokio::test]
async fn a_line_that_closes_is_an_error() {
    let [(_, mut receiver), _] = engines();
    let (a, b) = duplex(64);
    drop(a);
    let mut files = Incoming::new(|_| Ok(()));
    let error = run(&mut *receiver, &mut TokioStream::new(b), &mut files).await.unwrap_err();
    assert!(matches!(
        error.kind(),
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::BrokenPipe
    ));
}

#[tokio::test]
async fn lrzsz_sends() {
    let found = Command::new("sz").arg("--version").output().is_ok();
    if !found {
        assert!(std::env::var_os("WETSTRING_REQUIRE_PEERS").is_none(), "expected sz of lrzsz");
        return;
    }
    let bytes = noise(6, 100_000);
    let path = std::env::temp_dir().join(format!("wetstring-async-{}", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let theirs = OwnedFd::from(theirs);
    let mut sz = Command::new("sz");
    sz.arg("--quiet").arg(&path).stdin(theirs.try_clone().unwrap()).stdout(theirs);
    let mut sz = sz.spawn().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut wire = TokioStream::new(tokio::net::UnixStream::from_std(ours).unwrap());
    let [_, (_, mut receiver)] = engines();
    let mut got = Vec::new();
    let mut files = Incoming::new(|piece| {
        if let Piece::Data(bytes) = piece {
            got.extend_from_slice(bytes);
        }
        Ok(())
    });
    let receiving = run(&mut *receiver, &mut wire, &mut files);
    let outcome = tokio::time::timeout(Duration::from_secs(60), receiving).await.expect("an end");
    assert_eq!(outcome.unwrap(), Outcome::Done);
    assert!(sz.wait().unwrap().success());
    std::fs::remove_file(path).unwrap();
    assert!(got == bytes);
}
