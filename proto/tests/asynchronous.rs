//! The loop for `async`: two engines as tasks of one runtime, or on the streams of `futures-io`, and `sz` of lrzsz as the peer
//! on a socket.

// lrzsz runs in real time.
#![allow(clippy::disallowed_methods)]

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use async_io::{Async, Timer};
use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex};
use wetstring_proto::asynchronous::{AsyncWire, FuturesStream, TokioStream, run, run_watched};
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
    let (outcome, _) = receive(&mut *receiver, &mut TokioStream::new(b)).await;
    let error = outcome.unwrap_err();
    assert!(matches!(
        error.kind(),
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::BrokenPipe
    ));
}

/// `sz` of lrzsz with a file of these bytes, and our end of its socket; nothing if there is none.
fn lrzsz(name: &str, bytes: &[u8]) -> Option<(Child, UnixStream, PathBuf)> {
    if Command::new("sz").arg("--version").output().is_err() {
        assert!(std::env::var_os("WETSTRING_REQUIRE_PEERS").is_none(), "expected sz of lrzsz");
        return None;
    }
    let path = std::env::temp_dir().join(format!("wetstring-{name}-{}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let theirs = OwnedFd::from(theirs);
    let mut sz = Command::new("sz");
    sz.arg("--quiet").arg(&path).stdin(theirs.try_clone().unwrap()).stdout(theirs);
    ours.set_nonblocking(true).unwrap();
    Some((sz.spawn().unwrap(), ours, path))
}

/// Receives one file over the wire.
async fn receive(
    receiver: &mut (dyn Engine + Send),
    wire: &mut impl AsyncWire<Error = std::io::Error>,
) -> (std::io::Result<Outcome>, Vec<u8>) {
    let mut got = Vec::new();
    let mut files = Incoming::new(|piece| {
        if let Piece::Data(bytes) = piece {
            got.extend_from_slice(bytes);
        }
        Ok(())
    });
    (run(receiver, wire, &mut files).await, got)
}

#[tokio::test]
async fn lrzsz_sends() {
    let bytes = noise(6, 100_000);
    let Some((mut sz, ours, path)) = lrzsz("tokio", &bytes) else { return };
    let mut wire = TokioStream::new(tokio::net::UnixStream::from_std(ours).unwrap());
    let [_, (_, mut receiver)] = engines();
    let receiving = receive(&mut *receiver, &mut wire);
    let (outcome, got) =
        tokio::time::timeout(Duration::from_secs(60), receiving).await.expect("an end");
    assert_eq!(outcome.unwrap(), Outcome::Done);
    assert!(sz.wait().unwrap().success());
    std::fs::remove_file(path).unwrap();
    assert!(got == bytes);
}

#[test]
fn lrzsz_sends_to_a_stream_of_futures_io() {
    let bytes = noise(7, 100_000);
    let Some((mut sz, ours, path)) = lrzsz("futures", &bytes) else { return };
    let mut wire = FuturesStream::new(Async::new(ours).unwrap(), Timer::after);
    let [_, (_, mut receiver)] = engines();
    let (outcome, got) = async_io::block_on(receive(&mut *receiver, &mut wire));
    assert_eq!(outcome.unwrap(), Outcome::Done);
    assert!(sz.wait().unwrap().success());
    std::fs::remove_file(path).unwrap();
    assert!(got == bytes);
}

/// What is damaged is asked for again when a timer says so, and a silent peer is waited for.
#[test]
fn streams_of_futures_io_wait_and_time_out() {
    let bytes = noise(8, 30_000);
    for (mut sender, mut receiver) in engines() {
        let [a, b, c, d] = {
            let ((a, b), (c, d)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
            [a, b, c, d].map(|end| Async::new(end).unwrap())
        };
        // Two sockets and what carries between them, one byte of which is damaged on its way.
        let carrier = std::thread::spawn(move || {
            let (there, back) = (damaging(&b, &c, Some(5_000)), damaging(&c, &b, None));
            async_io::block_on(futures_lite::future::zip(there, back));
        });
        let file = bytes.clone();
        let sending = std::thread::spawn(move || {
            let mut store = Outgoing::new(b"data.bin", &file);
            let mut wire = FuturesStream::new(a, Timer::after);
            async_io::block_on(async {
                // The receiver asks more than once.
                Timer::after(Duration::from_millis(3_500)).await;
                run(&mut *sender, &mut wire, &mut store).await
            })
        });
        let mut wire = FuturesStream::new(d, Timer::after);
        let (outcome, got) = async_io::block_on(receive(&mut *receiver, &mut wire));
        assert_eq!(outcome.unwrap(), Outcome::Done);
        assert_eq!(sending.join().unwrap().unwrap(), Outcome::Done);
        assert!(got == bytes);
        drop(wire);
        carrier.join().unwrap();
    }
}

/// Carries bytes from one socket to another until the first closes, and damages one of them.
async fn damaging(from: &Async<UnixStream>, to: &Async<UnixStream>, damage: Option<usize>) {
    let (mut from, mut to, mut bytes, mut at) = (from, to, [0; 300], 0);
    while let Ok(len @ 1..) = from.read(&mut bytes).await {
        if let Some(place) = damage.and_then(|damage| bytes[..len].get_mut(damage.wrapping_sub(at)))
        {
            *place ^= 0x10;
        }
        at += len;
        if to.write_all(&bytes[..len]).await.is_err() {
            break;
        }
    }
    let _ = to.get_ref().shutdown(std::net::Shutdown::Write);
}
