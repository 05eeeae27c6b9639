//! The laboratory's line in real time: over PTYs, TCP ports and ends inside this process.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wetstring_drive::live::{self, Report, Stop, Until};
use wetstring_drive::{LineSpec, Port, Signals};
use wetstring_lab::element::{Element, End};
use wetstring_lab::serial::{LineModel, Serial};
use wetstring_lab::store::Content;
use wetstring_proto::{Cx, NoTrace};

/// Longer than any test should take.
const LIMIT: Duration = Duration::from_secs(30);

fn model(text: &str) -> LineModel {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A line that runs in a thread of its own, until it is stopped.
struct Running {
    signals: Signals,
    thread: JoinHandle<Report>,
}

impl Running {
    fn start(text: &str, scale: u32, a: Box<dyn Port>, b: Box<dyn Port>) -> Self {
        let signals = Signals::detached().expect("signals");
        let (told, model) = (signals.clone(), model(text));
        let thread = std::thread::spawn(move || {
            let until = Until { after: Some(LIMIT), signals: Some(&told), scale };
            live::run(&model, a, b, until).expect("the line runs")
        });
        Self { signals, thread }
    }

    fn stop(self) -> Report {
        self.signals.raise(2);
        let report = self.thread.join().expect("the line ends");
        assert_eq!(report.stop, Stop::Signal(2));
        report
    }
}

/// Opens an end, and returns the last note for the user.
fn open(spec: &str) -> (Box<dyn Port>, String) {
    let spec: LineSpec = spec.parse().expect("a good line");
    let mut name = String::new();
    let port = live::open(&spec, 0, None, &mut |note| {
        note.rsplit(' ').next().unwrap_or_default().clone_into(&mut name);
    });
    (port.expect("the end opens"), name)
}

fn terminal(name: &str) -> File {
    OpenOptions::new().read(true).write(true).open(name).expect("the terminal opens")
}

/// A line between two PTYs: itself, and the names of the terminals.
fn over_ptys(text: &str) -> (Running, [String; 2]) {
    let ((a, name_a), (b, name_b)) = (open("pty:"), open("pty:"));
    (Running::start(text, 1, a, b), [name_a, name_b])
}

fn over_tcp(text: &str) -> (Running, [String; 2]) {
    let ends = (open("tcp-listen://127.0.0.1:0"), open("tcp-listen://127.0.0.1:0"));
    let ((a, name_a), (b, name_b)) = ends;
    (Running::start(text, 1, a, b), [name_a, name_b])
}

/// Sends bytes in one thread and reads as many in this; gives them, and when the first and the
/// last came.
fn carry(
    from: impl Write + Send + 'static,
    mut to: impl Read,
    bytes: &[u8],
) -> (Vec<u8>, Duration, Duration) {
    let (mut from, sent) = (from, bytes.to_vec());
    let started = Instant::now();
    let writer = std::thread::spawn(move || from.write_all(&sent).map(|()| from));
    let mut got = vec![0; bytes.len()];
    to.read_exact(&mut got[..1]).expect("the first byte arrives");
    let first = started.elapsed();
    to.read_exact(&mut got[1..]).expect("the others arrive");
    let last = started.elapsed();
    drop(writer.join().expect("the writer ends").expect("everything is written"));
    (got, first, last)
}

/// Whether 2 s at 9600 bit/s are within 5 %, and the delay within 20 ms. Never is anything early.
fn is_paced(from: impl Write + Send + 'static, to: impl Read, running: Running) -> bool {
    let sent = Content::Random(1).bytes(1920);
    let (got, first, last) = carry(from, to, &sent);
    assert_eq!(got, sent);
    let took = last.saturating_sub(first).as_secs_f64();
    let exact = 1919.0 * 10.0 / 9600.0;
    assert!(first >= Duration::from_millis(100), "the first byte came after {first:?}");
    assert!(last.as_secs_f64() >= 0.1 + exact, "the last byte came after {last:?}");
    let report = running.stop();
    assert_eq!(report.usage[0].bytes_out, 1920);
    assert_eq!(report.usage[0].busy_ns, 2_000_000_000);
    let late = first.saturating_sub(Duration::from_micros(100_000 + 1042));
    println!("late by {late:?}, took {took} s instead of {exact} s");
    late < Duration::from_millis(20) && (took / exact - 1.0).abs() < 0.05
}

/// On a busy machine a program is late at times, and not each time.
fn assert_pace(is_paced: impl Fn() -> bool) {
    assert!((0..8).any(|_| is_paced()), "never in time");
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no PTYs")]
fn pace_through_ptys() {
    assert_pace(|| {
        let (running, [a, b]) = over_ptys("9600,delay=100ms");
        is_paced(terminal(&a), terminal(&b), running)
    });
}

#[test]
#[cfg_attr(windows, ignore = "under Wine a wait ends when it likes")]
fn pace_through_tcp() {
    assert_pace(|| {
        let (running, [a, b]) = over_tcp("9600,delay=100ms");
        let connect = |name: &str| TcpStream::connect(name).expect("it listens");
        is_paced(connect(&a), connect(&b), running)
    });
}

/// A block that is a little longer than what is read from the port at a time follows itself without a pause, however
/// long the line is: its end came a delay later than its beginning.
#[test]
#[cfg_attr(windows, ignore = "Windows has no PTYs")]
fn a_block_is_not_cut_by_the_delay() {
    let sent = Content::Random(2).bytes(133);
    assert_pace(|| {
        let (running, [a, b]) = over_ptys("9600,delay=500ms");
        let (got, first, last) = carry(terminal(&a), terminal(&b), &sent);
        assert_eq!(got, sent);
        running.stop();
        let took = last.saturating_sub(first);
        println!("took {took:?} instead of 137.5 ms");
        took < Duration::from_millis(200)
    });
}

/// What the model makes of these bytes from A in virtual time.
fn in_virtual_time(text: &str, bytes: &[u8]) -> Vec<u8> {
    let mut line = Serial::new(&model(text));
    let mut now = wetstring_proto::Instant::ZERO;
    let (mut rest, mut out) = (bytes, Vec::new());
    loop {
        let mut cx = Cx { now, trace: &mut NoTrace };
        rest = &rest[line.offer(&mut cx, End::A, rest)..];
        let mut into = [0; 100];
        let len = line.emit(&mut cx, End::B, &mut into);
        out.extend_from_slice(&into[..len]);
        let room = line.room(End::A).filter(|_| !rest.is_empty());
        match line.next(End::B).into_iter().chain(room).min() {
            Some(next) => now = now.max(next),
            None => return out,
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no PTYs")]
fn noise_hits_the_same_characters_as_in_virtual_time() {
    let text = "115200,delay=5ms,burst=8@200ms,ber=1e-5,drop=1e-4,dup=1e-4,seed=21";
    let sent = Content::Random(2).bytes(12_000);
    let expected = in_virtual_time(text, &sent);
    let hits = expected.iter().zip(&sent).filter(|(got, sent)| got != sent).count();
    assert!(hits > 20, "{hits} hits prove nothing");
    let (running, [a, b]) = over_ptys(text);
    let (mut from, mut to) = (terminal(&a), terminal(&b));
    // Pauses and odd pieces do not matter.
    let pieces = sent.clone();
    let writer = std::thread::spawn(move || {
        for (index, piece) in pieces.chunks(777).enumerate() {
            from.write_all(piece).expect("a piece is written");
            std::thread::sleep(Duration::from_millis(index as u64 % 3 * 20));
        }
        from
    });
    let mut got = vec![0; expected.len()];
    to.read_exact(&mut got).expect("as many as in virtual time arrive");
    assert!(got == expected, "the live line damages other bytes than the model");
    drop(writer.join());
    let usage = running.stop().usage[0];
    assert_eq!(usage.bytes_in, 12_000);
    assert_eq!(usage.bytes_out, expected.len() as u64);
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no PTYs")]
fn data_written_before_the_peer_opens_is_kept() {
    let (running, [a, b]) = over_ptys("115200");
    terminal(&a).write_all(b"early\n\x03\x11\x13\xff").expect("it is written");
    std::thread::sleep(Duration::from_millis(100));
    let mut got = [0; 10];
    terminal(&b).read_exact(&mut got).expect("it is still there");
    assert_eq!(&got, b"early\n\x03\x11\x13\xff");
    // Programs come and go; and back.
    for round in 0..3 {
        terminal(&b).write_all(&[round]).expect("it is written");
        let mut got = [0xff];
        terminal(&a).read_exact(&mut got).expect("it arrives");
        assert_eq!(got, [round]);
    }
    running.stop();
}

#[test]
fn a_lost_connection_is_replaced_by_the_next() {
    let (running, [a, b]) = over_tcp("0");
    let mut far = TcpStream::connect(&b).expect("it listens");
    far.set_read_timeout(Some(LIMIT)).expect("a time limit");
    for round in 0..3 {
        let mut near = TcpStream::connect(&a).expect("it listens again");
        near.set_read_timeout(Some(LIMIT)).expect("a time limit");
        near.write_all(&[round, 7]).expect("it is written");
        let mut got = [0; 2];
        far.read_exact(&mut got).expect("it arrives");
        assert_eq!(got, [round, 7]);
        far.write_all(&[round]).expect("the answer is written");
        near.read_exact(&mut got[..1]).expect("the answer arrives");
        assert_eq!(got[0], round);
    }
    running.stop();
}

#[test]
fn a_line_ends_when_an_end_closes_and_all_has_arrived() {
    let (a, mut near) = live::joint().expect("a joint");
    let (b, mut far) = live::joint().expect("a joint");
    // The near program sends its last data and exits; the far one stays.
    near.write(b"goodbye").expect("it is written");
    drop(near);
    let running = Running::start("9600,delay=50ms", 1, a, b);
    let report = running.thread.join().expect("the line ends");
    assert_eq!(report.stop, Stop::Closed(End::A));
    assert_eq!(report.usage[0].bytes_out, 7);
    assert!(report.elapsed >= Duration::from_micros(57_291), "{:?}", report.elapsed);
    assert!(report.elapsed < LIMIT / 4, "{:?}: the end was not noticed", report.elapsed);
    let mut got = [0; 16];
    assert_eq!(far.read(&mut got).expect("it can be read"), Some(7));
    assert_eq!(&got[..7], b"goodbye");
}

#[test]
fn a_line_ends_at_its_time_limit() {
    let (a, _near) = live::joint().expect("a joint");
    let (b, _far) = live::joint().expect("a joint");
    let until = Until { after: Some(Duration::from_millis(200)), scale: 10, ..Until::default() };
    let report = live::run(&model("9600"), a, b, until).expect("the line runs");
    assert_eq!(report.stop, Stop::Time);
    assert!(report.elapsed >= Duration::from_secs(2) && report.elapsed < Duration::from_secs(4));
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no PTYs")]
fn a_scaled_line_is_faster_by_the_factor() {
    assert_pace(|| {
        let ((a, name_a), (b, name_b)) = (open("pty:"), open("pty:"));
        let running = Running::start("9600,delay=1s", 10, a, b);
        let sent = Content::Random(4).bytes(4800);
        let (got, first, last) = carry(terminal(&name_a), terminal(&name_b), &sent);
        assert_eq!(got, sent);
        assert!(first >= Duration::from_millis(100), "the first byte came after {first:?}");
        let took = last.saturating_sub(first).as_secs_f64();
        println!("first after {first:?}, took {took} s instead of 0.5 s");
        running.stop();
        first < Duration::from_millis(125) && (took / 0.5 - 1.0).abs() < 0.1
    });
}

#[test]
fn a_line_without_rate_is_fast() {
    let (running, [a, b]) = over_tcp("0");
    let connect = |name: &str| TcpStream::connect(name).expect("it listens");
    let sent = Content::Random(3).bytes(32 << 20);
    let (got, _, last) = carry(connect(&a), connect(&b), &sent);
    assert!(got == sent);
    let rate = (32 << 20) as f64 / last.as_secs_f64() / 1e6;
    println!("{rate:.0} MB/s");
    assert!(rate > 10.0, "{rate:.1} MB/s");
    running.stop();
}

/// The program at a PTY reads there what the port says its rate is, unless its user knows better.
#[test]
#[cfg_attr(windows, ignore = "Windows has no PTYs")]
fn a_pty_says_the_rate_of_its_line() {
    let model: LineModel = "38400,port=19200".parse().expect("a line");
    let mut name = String::new();
    let spec: LineSpec = "pty:".parse().expect("a good line");
    let _ours = live::open(&spec, model.port_rate(End::A), None, &mut |note| {
        note.rsplit(' ').next().unwrap_or_default().clone_into(&mut name);
    })
    .expect("the end opens");
    for (query, rate_bps) in [("", 19_200), ("?baud=9600", 9600), ("", 19_200)] {
        let spec: LineSpec = format!("serial:{name}{query}").parse().expect("a good line");
        let port = wetstring_drive::port::open(&spec, None, &mut |_| {}).expect("the port opens");
        assert_eq!(port.facts().rate_bps, Some(rate_bps), "{query}");
    }
}
