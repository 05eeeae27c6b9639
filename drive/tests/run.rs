//! The loop, with a toy protocol over real ports.

use crate::common;

use common::{ABORTED, CLOSED, Seen, TOLD, ToyReceiver, ToySender, pattern};
use std::io;
use std::process::ExitStatus;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use wetstring_drive::disk::{DiskStore, FileOutcome, ReceiveOptions, SendOptions, Source};
use wetstring_drive::event;
use wetstring_drive::os::stream::{self, Stream};
use wetstring_drive::run::{Ended, NoWatch, RunOptions, run};
use wetstring_drive::{LineSpec, Port, PortFacts, Signals, SinkStore, Watch, open};
use wetstring_proto::engine::{Command, Cx, Engine, Event, Outcome, Status, Wants};
use wetstring_proto::file::{Reply, Request};
use wetstring_proto::stats::Stats;
use wetstring_proto::time::Instant as Time;
use wetstring_proto::trace::NoTrace;

/// A port that a test can starve: it counts what is asked of it.
struct Counted {
    stream: Stream,
    facts: PortFacts,
    reads: usize,
    writes: usize,
    /// Most bytes taken by one write.
    most: usize,
}

fn facts(reliable: Option<bool>) -> PortFacts {
    PortFacts { reliable, clear: true, ..PortFacts::named("test") }
}

fn counted(stream: Stream, reliable: Option<bool>) -> Counted {
    stream.set_nonblocking(true).unwrap();
    Counted { stream, facts: facts(reliable), reads: 0, writes: 0, most: usize::MAX }
}

fn pair() -> (Counted, Counted) {
    let (near, far) = stream::pair().unwrap();
    (counted(near, Some(true)), counted(far, Some(true)))
}

fn nonblocking(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(len) => Ok(Some(len)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

impl Port for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        self.reads += 1;
        nonblocking(io::Read::read(&mut self.stream, into))
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        self.writes += 1;
        let len = bytes.len().min(self.most);
        nonblocking(io::Write::write(&mut self.stream, &bytes[..len]))
    }
    fn read_source(&self) -> event::Source<'_> {
        event::Source::of(&self.stream)
    }
    fn write_source(&self) -> event::Source<'_> {
        event::Source::of(&self.stream)
    }
    fn facts(&self) -> &PortFacts {
        &self.facts
    }
    fn finish(&mut self, _: Duration) -> io::Result<Option<ExitStatus>> {
        Ok(None)
    }
}

fn send(port: &mut dyn Port, content: &[u8], signals: Option<&Signals>) -> (Ended, DiskStore) {
    send_after(b"", port, content, signals)
}

fn send_after(
    before: &[u8],
    port: &mut dyn Port,
    content: &[u8],
    signals: Option<&Signals>,
) -> (Ended, DiskStore) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, content).unwrap();
    let mut store = DiskStore::sending(vec![Source::path(path)], SendOptions::default());
    let mut trace = NoTrace;
    let options = RunOptions { signals, before, ..RunOptions::new(&mut trace) };
    let ended = run(&mut ToySender::default(), port, &mut store, &mut NoWatch, options);
    (ended, store)
}

fn receive(port: &mut dyn Port, bite: usize) -> (Ended, Vec<u8>) {
    let mut store = SinkStore::new(Vec::new());
    let mut trace = NoTrace;
    let options = RunOptions::new(&mut trace);
    let ended = run(&mut ToyReceiver::new(b"file", bite), port, &mut store, &mut NoWatch, options);
    (ended, store.into_inner())
}

#[test]
fn a_file_is_transferred_with_any_chunks() {
    // Bytes taken by the engine at once, and by the port.
    for (bite, most, len) in
        [(usize::MAX, usize::MAX, 5_000_000), (100, 4096, 300_000), (1000, 7, 20_000), (1, 64, 0)]
    {
        let content = pattern(len);
        let (mut near, mut far) = pair();
        near.most = most;
        let receiver = std::thread::spawn(move || receive(&mut far, bite));
        let (ended, store) = send(&mut near, &content, None);
        assert_eq!(ended.outcome, Outcome::Done, "{bite} {most}");
        assert_eq!(ended.stats.wire_out_bytes, len as u64 + 8);
        assert_eq!(store.files()[0].outcome, FileOutcome::Sent);
        let (ended, content_there) = receiver.join().unwrap();
        assert_eq!(ended.outcome, Outcome::Done);
        assert!(content_there == content, "{bite} {most}");
        assert!(ended.leftover.is_empty() && ended.error.is_none() && ended.interrupted.is_none());
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no PTYs")]
fn a_file_is_transferred_over_every_kind_of_port() {
    let content = pattern(400_000);
    let open = |spec: &str| {
        let spec: LineSpec = spec.parse().unwrap();
        let (tell, told) = mpsc::channel();
        let port = std::thread::spawn(move || {
            open(&spec, None, &mut |note| drop(tell.send(note.to_owned()))).unwrap()
        });
        (port, told)
    };
    let (listener, notes) = open("tcp-listen://127.0.0.1:0");
    let address = notes.recv().unwrap().replace("listening on ", "tcp://");
    let tcp = (open(&address).0.join().unwrap(), listener.join().unwrap());
    let (pty, notes) = open("pty:");
    let device = notes.recv().unwrap().replace("pty ", "serial:");
    let pty = (open(&device).0.join().unwrap(), pty.join().unwrap());
    for (mut near, mut far) in [tcp, pty] {
        let receiver = std::thread::spawn(move || {
            let result = receive(&mut *far, usize::MAX);
            far.finish(Duration::from_secs(5)).unwrap();
            result
        });
        let (ended, _) = send(&mut *near, &content, None);
        near.finish(Duration::from_secs(5)).unwrap();
        let (ended_there, content_there) = receiver.join().unwrap();
        assert_eq!((ended.outcome, ended_there.outcome), (Outcome::Done, Outcome::Done));
        assert!(content_there == content, "over {}", near.facts().name);
    }
}

#[test]
fn busy_lines_need_few_calls_and_idle_ones_none() {
    let content = pattern(8 << 20);
    let (mut near, mut far) = pair();
    let (tell, told) = mpsc::channel();
    let receiver = std::thread::spawn(move || {
        let result = receive(&mut far, usize::MAX);
        tell.send(far.reads).unwrap();
        result
    });
    let (ended, _) = send(&mut near, &content, None);
    assert_eq!(ended.outcome, Outcome::Done);
    assert_eq!(receiver.join().unwrap().0.outcome, Outcome::Done);
    // The toy lends 64 KiB at a time; a socket takes it in a few pieces.
    let blocks = (8 << 20) / (64 * 1024);
    assert!(near.writes < blocks * 8, "{} writes", near.writes);
    assert!(near.reads < blocks * 2, "{} reads", near.reads);
    let reads = told.recv().unwrap();
    assert!(reads < blocks * 8, "{reads} reads");

    // No answer: the loop sleeps in poll until the signal.
    let (mut near, _far) = pair();
    let signals = Signals::detached().unwrap();
    let later = signals.clone();
    let alarm = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        later.raise(2);
    });
    let (ended, _) = send(&mut near, b"x", Some(&signals));
    alarm.join().unwrap();
    assert_eq!(ended.outcome, ABORTED);
    assert!(near.reads < 10, "{} reads of an idle line", near.reads);
}

#[test]
fn a_closed_line_is_a_line_failure_and_the_part_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = DiskStore::receiving(directory.path(), ReceiveOptions::default()).unwrap();
    let (mut near, far) = pair();
    io::Write::write_all(&mut &far.stream, &1000_u64.to_be_bytes()).unwrap();
    io::Write::write_all(&mut &far.stream, b"only this").unwrap();
    drop(far);
    let mut trace = NoTrace;
    let mut engine = ToyReceiver::new(b"f", 4);
    let options = RunOptions::new(&mut trace);
    let ended = run(&mut engine, &mut near, &mut store, &mut NoWatch, options);
    assert_eq!(ended.outcome, CLOSED);
    assert_eq!(store.files()[0].outcome, FileOutcome::Partial);
    assert_eq!(std::fs::read(directory.path().join("f.part")).unwrap(), b"only this");

    // The sender's side: the peer's last packet is still received.
    let (mut near, far) = pair();
    io::Write::write_all(&mut &far.stream, b"!").unwrap();
    drop(far);
    assert_eq!(send(&mut near, b"x", None).0.outcome, TOLD);
    let (mut near, far) = pair();
    drop(far);
    let (ended, _) = send(&mut near, &pattern(1_000_000), None);
    assert_eq!(ended.outcome, CLOSED);
    let closed = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
    assert!(closed.contains(&ended.error.unwrap().kind()));
}

#[test]
fn bytes_after_the_end_are_left_over() {
    let (mut near, far) = pair();
    let mut wire = 3_u64.to_be_bytes().to_vec();
    wire.extend_from_slice(b"abc$ prompt");
    let (before, rest) = wire.split_at(5);
    io::Write::write_all(&mut &far.stream, rest).unwrap();
    let mut store = SinkStore::new(Vec::new());
    let mut trace = NoTrace;
    let options = RunOptions { before, ..RunOptions::new(&mut trace) };
    let mut engine = ToyReceiver::new(b"f", 100);
    let ended = run(&mut engine, &mut near, &mut store, &mut NoWatch, options);
    assert_eq!(ended.outcome, Outcome::Done);
    assert_eq!(store.into_inner(), b"abc");
    assert_eq!(ended.leftover, b"$ prompt");
    let mut ack = [0; 1];
    io::Read::read_exact(&mut &far.stream, &mut ack).unwrap();
    assert_eq!(&ack, b"+");
}

#[test]
fn what_came_before_is_heard_before_anything_is_sent() {
    let (mut near, _far) = pair();
    let (ended, _) = send_after(b"!", &mut near, b"abc", None);
    assert_eq!((ended.outcome, ended.stats.wire_out_bytes, near.writes), (TOLD, 0, 0));
}

#[test]
fn the_first_signal_aborts_cleanly_and_the_second_ends_at_once() {
    let signals = Signals::detached().unwrap();
    signals.raise(15);
    let (mut near, mut far) = pair();
    let start = Instant::now();
    let (ended, store) = send(&mut near, &pattern(100_000), Some(&signals));
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!((ended.outcome, ended.interrupted), (ABORTED, Some(15)));
    assert!(store.files().is_empty() || store.files()[0].outcome == FileOutcome::Partial);
    let mut told = Vec::new();
    drop(near);
    io::Read::read_to_end(&mut far.stream, &mut told).unwrap();
    assert_eq!(told.last(), Some(&b'!'), "the peer was not told");

    // A peer that reads nothing cannot be told; that takes the grace time, a second signal no time.
    for (count, least, most) in [(1, 2000, 10_000), (2, 0, 1500)] {
        let signals = Signals::detached().unwrap();
        let (mut near, _far) = pair();
        while near.write(&[0; 4096]).unwrap().is_some() {}
        let raising = signals.clone();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, pattern(1000)).unwrap();
        let mut store = DiskStore::sending(vec![Source::path(path)], SendOptions::default());
        let mut trace = NoTrace;
        let options = RunOptions {
            signals: Some(&signals),
            grace: Duration::from_secs(2),
            ..RunOptions::new(&mut trace)
        };
        (0..count).for_each(|_| raising.raise(2));
        let start = Instant::now();
        let mut engine = ToySender::default();
        let ended = run(&mut engine, &mut near, &mut store, &mut NoWatch, options);
        let took = start.elapsed().as_millis();
        assert_eq!(ended.outcome, ABORTED);
        assert!((least..most).contains(&took), "{count} signals: {took} ms");
    }
}

#[cfg(unix)]
#[test]
fn a_store_failure_blames_the_store() {
    let (mut near, mut far) = pair();
    let receiver = std::thread::spawn(move || {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut trace = NoTrace;
        let mut store = SinkStore::new(full);
        let mut engine = ToyReceiver::new(b"f", 100);
        run(&mut engine, &mut far, &mut store, &mut NoWatch, RunOptions::new(&mut trace)).outcome
    });
    assert_eq!(send(&mut near, &pattern(100_000), None).0.outcome, TOLD);
    assert_eq!(
        receiver.join().unwrap(),
        common::store_failed(wetstring_proto::StoreError::NoSpace)
    );
}

#[test]
fn the_watch_sees_events_and_progress_and_its_commands_are_executed() {
    struct Impatient(Seen);
    impl Watch for Impatient {
        fn event(&mut self, event: &Event<'_>, stats: &Stats) {
            self.0.event(event, stats);
        }
        fn progress(&mut self, stats: &Stats) {
            self.0.progress(stats);
        }
        fn command(&mut self) -> Option<Command> {
            (self.0.progress >= 3).then_some(Command::Abort)
        }
    }
    let (mut near, _far) = pair();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some file");
    std::fs::write(&path, b"x").unwrap();
    let mut store = DiskStore::sending(vec![Source::path(path)], SendOptions::default());
    let mut trace = NoTrace;
    let options =
        RunOptions { progress_every: Duration::from_millis(100), ..RunOptions::new(&mut trace) };
    let mut watch = Impatient(Seen::default());
    let ended = run(&mut ToySender::default(), &mut near, &mut store, &mut watch, options);
    assert_eq!(ended.outcome, ABORTED);
    assert!(ended.elapsed >= Duration::from_millis(300));
    assert_eq!(watch.0.messages, ["some file"]);
    assert_eq!((watch.0.progress, ended.interrupted), (3, None));
}

/// Waits for its timer three times; then it is done and lingers for another.
#[derive(Default)]
struct Ticking {
    ticks: u32,
    stats: Stats,
    started: bool,
    deadline: Option<Time>,
}

impl Engine for Ticking {
    fn receive(&mut self, _: &mut Cx<'_>, _: &[u8]) -> usize {
        0
    }
    fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8] {
        if !self.started {
            self.started = true;
            self.deadline = Some(cx.now + Duration::from_millis(30));
        }
        &[]
    }
    fn transmitted(&mut self, _: &mut Cx<'_>, _: usize) {}
    fn deadline(&self) -> Option<Time> {
        self.deadline
    }
    fn tick(&mut self, cx: &mut Cx<'_>) {
        assert!(self.deadline.is_some_and(|deadline| deadline <= cx.now), "an early tick");
        self.ticks += 1;
        self.deadline = Some(cx.now + Duration::from_millis(30));
    }
    fn request(&mut self) -> Option<Request<'_>> {
        None
    }
    fn reply(&mut self, _: &mut Cx<'_>, _: Reply<'_>) {}
    fn event(&mut self) -> Option<Event<'_>> {
        None
    }
    fn command(&mut self, _: &mut Cx<'_>, _: Command) {}
    fn wants(&self) -> Wants {
        Wants::NONE
    }
    fn status(&self) -> Status {
        match self.ticks {
            0..3 => Status::Running,
            3 => Status::Lingering(Outcome::Done),
            _ => Status::Over(Outcome::Done),
        }
    }
    fn stats(&self) -> &Stats {
        &self.stats
    }
}

#[test]
fn timers_run_and_only_unreliable_lines_linger() {
    for (reliable, told, ticks) in
        [(Some(true), None, 3), (Some(false), None, 4), (None, None, 4), (None, Some(false), 3)]
    {
        let (near, _far) = stream::pair().unwrap();
        let mut port = counted(near, reliable);
        let mut engine = Ticking::default();
        let mut trace = NoTrace;
        let options = RunOptions { linger: told, ..RunOptions::new(&mut trace) };
        let mut store = SinkStore::new(Vec::new());
        let ended = run(&mut engine, &mut port, &mut store, &mut NoWatch, options);
        assert_eq!((ended.outcome, engine.ticks), (Outcome::Done, ticks), "{reliable:?} {told:?}");
        assert!(ended.elapsed >= Duration::from_millis(30 * u64::from(ticks)));
    }
}
