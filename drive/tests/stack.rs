//! Two user-space stacks with a line between them, and real sockets at both ends.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use wetstring_drive::event;
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

/// The result of a pair of stacks.
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
                stacks[1 - from].came(now, &packet);
                moved = true;
                // Queues are short; what has arrived is worked off at once.
                stacks[1 - from].turn(now);
            }
        }
        answers.extend(stacks[0].answer(now));
        let due = stacks.iter_mut().filter_map(|stack| stack.due(now)).min();
        let wait = if moved { Duration::ZERO } else { due.unwrap_or(Duration::MAX) };
        let wait = wait.min(Duration::from_millis(20));
        let mut interests = Vec::new();
        for stack in stacks.iter() {
            stack.wants(&mut interests);
        }
        let _ = event::wait(&mut interests, Some(wait));
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
fn forwards_work_in_both_directions() {
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
fn socks_reaches_the_line_and_reports_failures() {
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
    assert_eq!(socks_words(&mut stream, &request(7001), 10)[..2], [5, 5], "nothing listens there");

    let mut stream = TcpStream::connect(at).unwrap();
    let name = [&[5, 1, 0, 5, 1, 0, 3, 3][..], b"box", &[0, 80]].concat();
    assert_eq!(socks_words(&mut stream, &name, 12)[..4], [5, 0, 5, 4], "there is no name server");
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    running.end();
}

/// Data from the line reaches nothing that was not forwarded, and connections are counted.
#[test]
fn only_configured_ports_are_open() {
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
fn connections_are_limited() {
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

/// A forward that cannot work is refused, not ignored.
#[test]
fn impossible_forwards_are_reported() {
    for (forwards, wanted) in [
        (vec!["0:127.0.0.1:80"], "expected a port from 1 to 65535, got 0"),
        (vec!["80:127.0.0.1:80", "80:127.0.0.1:81"], "expected an unused port"),
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

/// Two stacks in stepped time; only the sockets of this machine take real time.
struct SteppedStacks {
    stacks: [Stack; 2],
    now: Duration,
    /// Packets that went over the line.
    packets: u64,
    /// The line carries nothing.
    cut: bool,
}

impl SteppedStacks {
    fn start(configs: [StackConfig; 2]) -> (Self, SocketAddr) {
        let mut listening = None;
        let stacks = configs.map(|config| {
            let mut hear =
                |note: &str| listening = note.strip_prefix("listening on ").map(str::to_owned);
            Stack::open(&config, &mut hear).unwrap()
        });
        let at = listening.expect("it listens").parse().unwrap();
        (Self { stacks, now: Duration::ZERO, packets: 0, cut: false }, at)
    }

    fn turn(&mut self) {
        for from in [0, 1] {
            self.stacks[from].turn(self.now);
            while let Some(packet) = self.stacks[from].leaves() {
                self.packets += 1;
                if !self.cut {
                    self.stacks[1 - from].came(self.now, &packet);
                    self.stacks[1 - from].turn(self.now);
                }
            }
        }
    }

    /// A moment, in which sockets of this machine say what they have to say.
    fn moment(&mut self) {
        for _ in 0..50 {
            self.turn();
            self.now += Duration::from_millis(1);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// So much time, from one thing that is due to the next.
    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.turn();
            let due = self.stacks.iter_mut().filter_map(|stack| stack.due(self.now)).min();
            let wait = due.unwrap_or(time).max(Duration::from_millis(1));
            self.now = (self.now + wait).min(until);
        }
    }
}

/// A shell left open overnight is still open in the morning; a peer that has gone is noticed.
#[test]
fn an_idle_connection_stays_while_its_peer_is_alive() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let a = StackConfig { to_line: vec![forward(&format!("0:{B}:22"))], ..config(A, B) };
    let b = StackConfig {
        from_line: vec![forward(&format!("22:{}:{}", server.ip(), server.port()))],
        ..config(B, A)
    };
    let (mut stepped, at) = SteppedStacks::start([b, a]);
    let mut client = TcpStream::connect(at).unwrap();
    stepped.moment();
    let (mut shell, _) = listener.accept().unwrap();
    for stream in [&client, &shell] {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    let mut byte = [0];
    for typed in [b"x", b"y", b"z"] {
        client.write_all(typed).unwrap();
        stepped.moment();
        shell.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, typed);
        shell.write_all(typed).unwrap();
        stepped.moment();
        client.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, typed);
        let before = stepped.packets;
        stepped.pass(Duration::from_secs(8 * 3600));
        assert_eq!(stepped.stacks.each_ref().map(Stack::open_connections), [1, 1]);
        // Each end asks every ten minutes at most, and is answered.
        assert!(stepped.packets - before <= 2 * 2 * 48, "{} packets", stepped.packets - before);
    }
    // The end of a silent connection is an end like others.
    let mut other = TcpStream::connect(at).unwrap();
    stepped.moment();
    let (mut quiet, _) = listener.accept().unwrap();
    quiet.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stepped.pass(Duration::from_secs(590));
    other.shutdown(std::net::Shutdown::Write).unwrap();
    stepped.moment();
    assert_eq!(quiet.read(&mut byte).unwrap(), 0);
    drop(quiet);
    stepped.moment();
    assert_eq!(other.read(&mut byte).unwrap(), 0);
    // The line is cut, and both ends release the connection.
    stepped.cut = true;
    stepped.pass(Duration::from_secs(3600));
    assert_eq!(stepped.stacks.each_ref().map(Stack::open_connections), [0, 0]);
    assert!(matches!(client.read(&mut byte), Ok(0) | Err(_)));
}

/// A packet of TCP over IPv4.
fn packet(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), numbers: [u32; 2], flags: u8) -> Vec<u8> {
    let mut tcp = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    tcp.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    tcp.extend([0x50, flags, 0x10, 0, 0, 0, 0, 0]);
    let mut pseudo = [from.0.octets(), to.0.octets()].concat();
    pseudo.extend([0, 6, 0, 20]);
    pseudo.extend(&tcp);
    tcp[16..18].copy_from_slice(&wetstring_proto::checksum::checksum(&pseudo).to_be_bytes());
    let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0];
    ip.extend(from.0.octets());
    ip.extend(to.0.octets());
    let sum = wetstring_proto::checksum::checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [ip, tcp].concat()
}

/// A peer that sends whatever it likes: ports that were not forwarded stay shut, whatever address is
/// called and whatever source address it claims, and memory stays within its limit.
#[test]
fn a_hostile_peer_reaches_only_the_forward() {
    let (open, shut) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    for listener in [&open, &shut] {
        listener.set_nonblocking(true).unwrap();
    }
    let [allowed, forbidden] = [&open, &shut].map(|listener| listener.local_addr().unwrap().port());
    let mut ours = config(A, B);
    ours.from_line = vec![forward(&format!("22:127.0.0.1:{allowed}"))];
    let mut stack = Stack::open(&ours, &mut |_| {}).unwrap();
    let mut now = Duration::ZERO;
    let mut longest = 0;
    let mut words = 12_345_u32;
    for round in 0..20_000_u32 {
        words = words.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let from =
            ([B, Ipv4Addr::LOCALHOST, A][words as usize % 3], 1024 + (round % 60_000) as u16);
        let host = [A, Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST, B][words as usize / 3 % 4];
        let port = [22, forbidden, allowed, 0][words as usize / 12 % 4];
        let flags = [2, 2, 0x10, 0x12, 4, 1][words as usize / 48 % 6];
        let mut packet = packet(from, (host, port), [round, words], flags);
        if words.is_multiple_of(5) {
            let at = words as usize / 5 % packet.len();
            packet[at] ^= (words >> 24) as u8;
        }
        stack.came(now, &packet);
        stack.turn(now);
        let mut leaves = 0;
        // A line that takes nothing for a while.
        while round % 100 == 0 && stack.leaves().is_some() {
            leaves += 1;
        }
        longest = longest.max(leaves);
        assert!(stack.open_connections() <= 8 + 4, "{}", stack.open_connections());
        now += Duration::from_millis(7);
    }
    assert!(longest <= 64, "{longest} packets waited to leave");
    assert!(shut.accept().is_err(), "it must not be reachable");
    assert!(stack.counts().joined <= 8);
}
