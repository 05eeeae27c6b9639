//! Two user-space stacks with a line between them, and real sockets at both ends.

use rustix::event::{PollFd, Timespec, poll};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use wetstring_drive::stack::{Answer, Forward, Stack, StackConfig, StackCounts};

const A: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

fn config(local: Ipv4Addr, remote: Ipv4Addr) -> StackConfig {
    StackConfig {
        local,
        remote,
        mtu: 576,
        window_bytes: 8192,
        connections: 8,
        dns: None,
        to_line: Vec::new(),
        from_line: Vec::new(),
        socks: None,
    }
}

fn forward(text: &str) -> Forward {
    text.parse().unwrap()
}

/// What became of a pair of stacks.
struct Ended {
    counts: [StackCounts; 2],
    answers: Vec<Answer>,
    longest_packet: usize,
    still_open: usize,
}

/// Two stacks that run until they are told to stop.
struct Running {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<Ended>,
    listening: Vec<SocketAddr>,
}

impl Running {
    fn start(a: StackConfig, b: StackConfig, ping: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let (tell, hear) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut listening = Vec::new();
            let mut notes = |note: &str| {
                let address = note.strip_prefix("listening on ").expect("an address");
                listening.push(address.parse().unwrap());
            };
            let mut stacks = [a, b].map(|config| Stack::open(&config, &mut notes).unwrap());
            tell.send(listening).unwrap();
            run(&mut stacks, &told, ping)
        });
        Self { stop, thread, listening: hear.recv().unwrap() }
    }

    fn end(self) -> Ended {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn run(stacks: &mut [Stack; 2], stop: &AtomicBool, ping: bool) -> Ended {
    let began = Instant::now();
    let (mut answers, mut longest_packet, mut pinged) = (Vec::new(), 0, Duration::ZERO);
    if ping {
        stacks[0].ping(B);
    }
    // A moment after the word, so that what is closed is gone: two seconds, and a look.
    let mut last = None;
    loop {
        let now = began.elapsed();
        if stop.load(Ordering::Relaxed)
            && now > *last.get_or_insert(now) + Duration::from_millis(2300)
        {
            break;
        }
        if ping && now >= pinged {
            stacks[0].ping_once(now);
            pinged = now + Duration::from_millis(50);
        }
        let mut moved = false;
        for from in [0, 1] {
            stacks[from].turn(now);
            while let Some(packet) = stacks[from].leaves() {
                longest_packet = longest_packet.max(packet.len());
                stacks[1 - from].came(&packet);
                moved = true;
                // Queues are short; what has come is worked off at once.
                stacks[1 - from].turn(now);
            }
        }
        answers.extend(stacks[0].answer(now));
        let due = stacks.iter_mut().filter_map(|stack| stack.due(now)).min();
        let wait = if moved { Duration::ZERO } else { due.unwrap_or(Duration::MAX) };
        let wait = wait.min(Duration::from_millis(20));
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait.as_nanos() as i64 };
        let mut fds: Vec<PollFd<'_>> = Vec::new();
        for stack in stacks.iter() {
            stack.wants(&mut fds);
        }
        let _ = poll(&mut fds, Some(&timeout));
    }
    let still_open = stacks.iter().map(Stack::open_connections).sum();
    Ended { counts: [stacks[0].counts(), stacks[1].counts()], answers, longest_packet, still_open }
}

/// Answers each connection with what it said, turned round, after it has said all.
fn reverser() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().take(32) {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut all = Vec::new();
                stream.read_to_end(&mut all).unwrap();
                all.reverse();
                stream.write_all(&all).unwrap();
            });
        }
    });
    address
}

fn turned_round(stream: &mut TcpStream, len: usize) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut bytes: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut writer = stream.try_clone().unwrap();
    let copy = bytes.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&copy).unwrap();
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    writing.join().unwrap();
    bytes.reverse();
    assert!(back == bytes, "{} bytes came back of {len}", back.len());
}

#[test]
fn forwards_lead_over_the_line_and_back() {
    let server = reverser();
    let mut a = config(A, B);
    a.to_line = vec![forward(&format!("0:{B}:7000"))];
    let mut b = config(B, A);
    b.from_line = vec![forward(&format!("7000:{}:{}", server.ip(), server.port()))];
    let running = Running::start(a, b, true);
    let at = running.listening[0];
    let clients: Vec<_> = [0, 1, 1000, 300_000]
        .into_iter()
        .map(|len| thread::spawn(move || turned_round(&mut TcpStream::connect(at).unwrap(), len)))
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    let ended = running.end();
    assert_eq!(ended.counts.map(|counts| (counts.joined, counts.refused)), [(4, 0), (4, 0)]);
    assert!(ended.longest_packet <= 576, "{}", ended.longest_packet);
    assert!(ended.answers.len() > 1, "pings are answered beside it");
    assert!(ended.answers.iter().enumerate().all(|(n, a)| (a.number as usize, a.from) == (n, B)));
    assert_eq!(ended.still_open, 0);
}

fn socks_words(stream: &mut TcpStream, words: &[u8], answer: usize) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(words).unwrap();
    let mut said = vec![0; answer];
    stream.read_exact(&mut said).unwrap();
    said
}

#[test]
fn socks_leads_to_addresses_behind_the_line_and_says_what_it_cannot() {
    let server = reverser();
    let mut a = config(A, B);
    a.socks = Some("127.0.0.1:0".parse().unwrap());
    let mut b = config(B, A);
    b.from_line = vec![forward(&format!("7000:{}:{}", server.ip(), server.port()))];
    let running = Running::start(a, b, false);
    let at = running.listening[0];
    let request = |port: u16| [&[5, 1, 0, 1][..], &B.octets(), &port.to_be_bytes()].concat();

    let mut stream = TcpStream::connect(at).unwrap();
    assert_eq!(socks_words(&mut stream, &[5, 1, 0], 2), [5, 0]);
    assert_eq!(socks_words(&mut stream, &request(7000), 10)[..2], [5, 0]);
    turned_round(&mut stream, 5000);

    let mut stream = TcpStream::connect(at).unwrap();
    socks_words(&mut stream, &[5, 1, 0], 2);
    assert_eq!(socks_words(&mut stream, &request(7001), 10)[..2], [5, 5], "nobody listens there");

    let mut stream = TcpStream::connect(at).unwrap();
    let name = [&[5, 1, 0, 5, 1, 0, 3, 3][..], b"box", &[0, 80]].concat();
    assert_eq!(socks_words(&mut stream, &name, 12)[..4], [5, 0, 5, 4], "nobody looks names up");
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    running.end();
}

/// What comes over the line reaches nothing that was not forwarded, and connections are counted.
#[test]
fn nothing_is_open_that_was_not_asked_for() {
    let server = reverser();
    let mut a = config(A, B);
    a.to_line = vec![forward(&format!("0:{B}:{}", server.port()))];
    let running = Running::start(a, config(B, A), false);
    let mut stream = TcpStream::connect(running.listening[0]).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(matches!(stream.read(&mut [0; 1]), Ok(0) | Err(_)), "no byte comes");
    let ended = running.end();
    assert_eq!(ended.counts[1], StackCounts::default());
    assert_eq!(ended.counts[0].refused, 1);
    assert_eq!(ended.still_open, 0);
}

#[test]
fn no_more_connections_than_there_is_memory_for() {
    let server = reverser();
    let mut a = config(A, B);
    a.to_line = vec![forward(&format!("0:{B}:7000"))];
    let mut b = config(B, A);
    b.connections = 2;
    b.from_line = vec![forward(&format!("7000:{}:{}", server.ip(), server.port()))];
    let running = Running::start(a, b, false);
    let at = running.listening[0];
    let mut kept: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(at).unwrap()).collect();
    // Both are joined before the third comes.
    for stream in &mut kept {
        stream.write_all(b"x").unwrap();
    }
    thread::sleep(Duration::from_millis(200));
    let mut third = TcpStream::connect(at).unwrap();
    third.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(matches!(third.read(&mut [0; 1]), Ok(0) | Err(_)), "the third ends");
    for stream in &mut kept {
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut back = Vec::new();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.read_to_end(&mut back).unwrap();
        assert_eq!(back, b"x");
    }
    let ended = running.end();
    assert_eq!(ended.counts[1].refused, 1);
}

/// A forward that could not lead anywhere is refused, not forgotten.
#[test]
fn forwards_from_the_line_that_cannot_be_are_told() {
    for (forwards, wanted) in [
        (vec!["0:127.0.0.1:80"], "expected a port from 1 to 65535, got 0"),
        (vec!["80:127.0.0.1:80", "80:127.0.0.1:81"], "expected a port that leads nowhere yet"),
        (vec!["127.0.0.1:80:127.0.0.1:80"], "expected our address on the line, 10.9.0.1, or none"),
    ] {
        let from_line = forwards.into_iter().map(forward).collect();
        let error = Stack::open(&StackConfig { from_line, ..config(A, B) }, &mut |_| {});
        let said = error.expect_err("it is refused").to_string();
        assert!(said.starts_with("could not let ") && said.contains(wanted), "{said}");
    }
    for good in ["80:127.0.0.1:80", "*:80:127.0.0.1:80", "10.9.0.1:80:127.0.0.1:80"] {
        let config = StackConfig { from_line: vec![forward(good)], ..config(A, B) };
        assert!(Stack::open(&config, &mut |_| {}).is_ok(), "{good}");
    }
}
