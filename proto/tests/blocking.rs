//! The blocking loop: both engines in threads, over a wire that is slow, cuts writes into pieces, and may be damaged.

// Both ends are threads of real time.
#![allow(clippy::disallowed_methods)]

use std::cell::Cell;
use std::sync::mpsc::{Receiver as From, RecvTimeoutError, Sender as To, channel};
use std::time::Duration;
use wetstring_proto::blocking::{Incoming, Outgoing, Piece, Wire, run, run_watched};
use wetstring_proto::engine::{Command, Status, Wants};
use wetstring_proto::stats::Stats;
use wetstring_proto::{
    Blame, Cx, Engine, Event, Failure, FailureKind, Instant, LineFacts, NoTrace, Outcome, Reply,
    Request, Span, Store, StoreError, kermit, xymodem, zmodem,
};
use wetstring_testkit::noise;

/// One end of a wire in memory.
struct End {
    to: To<Vec<u8>>,
    from: From<Vec<u8>>,
    rest: Vec<u8>,
    began: std::time::Instant,
    /// Every byte of this index is damaged once.
    damage: Option<usize>,
    sent: usize,
    left: Vec<u8>,
}

/// The other one has gone.
#[derive(Debug, PartialEq)]
struct Gone;

fn wire(damage: Option<usize>) -> [End; 2] {
    let ((to_b, from_a), (to_a, from_b)) = (channel(), channel());
    let end = |to, from, damage| {
        let began = std::time::Instant::now();
        End { to, from, rest: Vec::new(), began, damage, sent: 0, left: Vec::new() }
    };
    [end(to_b, from_b, damage), end(to_a, from_a, None)]
}

impl Wire for End {
    type Error = Gone;

    fn read(&mut self, into: &mut [u8], patience: Duration) -> Result<usize, Gone> {
        if self.rest.is_empty() {
            match self.from.recv_timeout(patience) {
                Ok(bytes) => self.rest = bytes,
                Err(RecvTimeoutError::Timeout) => return Ok(0),
                Err(RecvTimeoutError::Disconnected) => return Err(Gone),
            }
        }
        let len = self.rest.len().min(into.len());
        into[..len].copy_from_slice(&self.rest[..len]);
        self.rest.drain(..len);
        Ok(len)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Gone> {
        let mut piece = bytes[..bytes.len().min(100)].to_vec();
        if let Some(at) = self.damage.filter(|at| (self.sent..self.sent + piece.len()).contains(at))
        {
            piece[at - self.sent] ^= 0x10;
            self.damage = None;
        }
        self.sent += piece.len();
        let len = piece.len();
        self.to.send(piece).map_err(|_| Gone)?;
        Ok(len)
    }

    fn now(&mut self) -> Instant {
        Instant(self.began.elapsed().as_nanos() as u64)
    }

    fn unread(&mut self, bytes: &[u8]) {
        self.left.extend_from_slice(bytes);
    }
}

/// What arrives of these bytes.
fn moved(
    mut sender: Box<dyn Engine + Send>,
    mut receiver: Box<dyn Engine>,
    bytes: &[u8],
    damage: Option<usize>,
) -> Vec<u8> {
    let [mut a, mut b] = wire(damage);
    let sent = bytes.to_vec();
    let sending = std::thread::spawn(move || {
        run(&mut *sender, &mut a, &mut Outgoing::new(b"data.bin", &sent), &mut NoTrace)
    });
    let (mut got, mut ends) = (Vec::new(), Vec::new());
    let mut files = Incoming::new(|piece| {
        match piece {
            Piece::Begin(info) => assert!(info.name == b"data.bin" || info.name.is_empty()),
            Piece::Data(bytes) => got.extend_from_slice(bytes),
            Piece::End { complete } => ends.push(complete),
        }
        Ok(())
    });
    let mut done = 0;
    let mut watch = |event: &Event<'_>| done += u32::from(matches!(event, Event::FileDone { .. }));
    let outcome = run_watched(&mut *receiver, &mut b, &mut files, &mut NoTrace, &mut watch);
    assert_eq!(outcome, Ok(Outcome::Done));
    assert_eq!(sending.join().expect("it ends"), Ok(Outcome::Done));
    assert_eq!((ends, done), (vec![true], 1));
    got
}

fn xy() -> xymodem::Config {
    let short = Span::from_millis(100);
    xymodem::Config { linger: short, purge: short, start_wait: short, ..Default::default() }
}

#[test]
fn files_arrive_by_every_protocol_also_if_damaged() {
    let bytes = noise(3, 20_000);
    for damage in [None, Some(3_000)] {
        let config = xy();
        let sender = xymodem::Sender::new(config.clone(), vec![0; config.sender_memory()]);
        let receiver = xymodem::Receiver::new(config.clone(), vec![0; config.receiver_memory()]);
        let got = moved(Box::new(sender.unwrap()), Box::new(receiver.unwrap()), &bytes, damage);
        assert!(got == bytes, "ymodem, {damage:?}");
        let config = zmodem::Config::default();
        let sender = zmodem::Sender::new(config.clone(), vec![0; config.sender_memory()]);
        let receiver = zmodem::Receiver::new(config.clone(), vec![0; config.receiver_memory()]);
        let got = moved(Box::new(sender.unwrap()), Box::new(receiver.unwrap()), &bytes, damage);
        assert!(got == bytes, "zmodem, {damage:?}");
        let config = kermit::Config {
            digest: false,
            linger: Span::from_millis(100),
            // Unless it is said, Kermit streams, and a damaged packet ends that.
            line: LineFacts { reliable: Some(false), ..LineFacts::default() },
            ..kermit::Config::default()
        };
        let sender = kermit::Sender::new(config.clone(), vec![0; config.sender_memory()]);
        let receiver = kermit::Receiver::new(config.clone(), vec![0; config.receiver_memory()]);
        let got = moved(Box::new(sender.unwrap()), Box::new(receiver.unwrap()), &bytes, damage);
        assert!(got == bytes, "kermit, {damage:?}");
    }
}

#[test]
fn a_wire_that_fails_is_an_error_and_a_store_that_fails_an_outcome() {
    let config = xy();
    let mut receiver =
        xymodem::Receiver::new(config.clone(), vec![0; config.receiver_memory()]).unwrap();
    let [a, mut b] = wire(None);
    drop(a);
    let mut files = Incoming::new(|_| Ok(()));
    assert_eq!(run(&mut receiver, &mut b, &mut files, &mut NoTrace), Err(Gone));

    let [mut a, mut b] = wire(None);
    let sending = std::thread::spawn(move || {
        let config = xy();
        let memory = vec![0; config.sender_memory()];
        let mut sender = xymodem::Sender::new(config, memory).unwrap();
        run(&mut sender, &mut a, &mut Outgoing::new(b"x", b"x"), &mut NoTrace)
    });
    let memory = vec![0; config.receiver_memory()];
    let mut receiver = xymodem::Receiver::new(config, memory).unwrap();
    let mut full = Incoming::new(|piece| match piece {
        Piece::Data(_) => Err(StoreError::NoSpace),
        _ => Ok(()),
    });
    let failed = Failure { blame: Blame::Store, kind: FailureKind::Store(StoreError::NoSpace) };
    assert_eq!(run(&mut receiver, &mut b, &mut full, &mut NoTrace), Ok(Outcome::Failed(failed)));
    assert!(matches!(sending.join().expect("it ends"), Ok(Outcome::Failed(_))));
}

/// A wire in virtual time, on which there is a byte.
struct Virtual<'c>(&'c Cell<u64>);

impl Wire for Virtual<'_> {
    type Error = Gone;

    fn read(&mut self, into: &mut [u8], _: Duration) -> Result<usize, Gone> {
        into[0] = b'x';
        Ok(1)
    }

    fn write(&mut self, _: &[u8]) -> Result<usize, Gone> {
        Err(Gone)
    }

    fn now(&mut self) -> Instant {
        Instant(self.0.get())
    }
}

/// Whatever it is asked takes it a hundred seconds.
struct SlowDisk<'c>(&'c Cell<u64>);

impl Store for SlowDisk<'_> {
    fn answer<'s>(&'s mut self, _: Request<'_>) -> Reply<'s> {
        self.0.set(100_000_000_000);
        Reply::NoMoreFiles
    }
}

/// Asks once, and waits for a byte, for a second at most.
#[derive(Default)]
struct Waiting {
    replied: Option<Instant>,
    heard: bool,
    ticks: usize,
    stats: Stats,
}

impl Engine for Waiting {
    fn receive(&mut self, _: &mut Cx<'_>, bytes: &[u8]) -> usize {
        self.heard = true;
        bytes.len()
    }
    fn transmit(&mut self, _: &mut Cx<'_>) -> &[u8] {
        &[]
    }
    fn transmitted(&mut self, _: &mut Cx<'_>, _: usize) {}
    fn deadline(&self) -> Option<Instant> {
        (!self.heard && self.ticks == 0).then_some(Instant(1_000_000_000))
    }
    fn tick(&mut self, _: &mut Cx<'_>) {
        self.ticks += 1;
    }
    fn request(&mut self) -> Option<Request<'_>> {
        self.replied.is_none().then_some(Request::Next)
    }
    fn reply(&mut self, cx: &mut Cx<'_>, _: Reply<'_>) {
        self.replied = Some(cx.now);
    }
    fn event(&mut self) -> Option<Event<'_>> {
        None
    }
    fn command(&mut self, _: &mut Cx<'_>, _: Command) {}
    fn wants(&self) -> Wants {
        Wants::NONE
    }
    fn status(&self) -> Status {
        if self.heard { Status::Over(Outcome::Done) } else { Status::Running }
    }
    fn stats(&self) -> &Stats {
        &self.stats
    }
}

/// A reply has the time at which it is given, and what came while the store worked is heard before a timer that has run out
/// meanwhile.
#[test]
fn the_time_of_a_slow_store_runs_no_timer_out() {
    let clock = Cell::new(0);
    let (mut engine, mut wire, mut disk) = (Waiting::default(), Virtual(&clock), SlowDisk(&clock));
    assert_eq!(run(&mut engine, &mut wire, &mut disk, &mut NoTrace), Ok(Outcome::Done));
    assert_eq!(engine.replied, Some(Instant(100_000_000_000)));
    assert_eq!(engine.ticks, 0);
}
