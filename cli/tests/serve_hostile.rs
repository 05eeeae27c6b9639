//! A server whose clients want it to spend memory and time: what that costs, and what others notice of it.

use crate::peers;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use peers::serving::{server, stock};
use peers::{LIMIT, Scene, same_bytes, wst};
use wetstring_proto::kermit::check::Check;
use wetstring_proto::kermit::packet::{LONG_HEADER, finish};

/// A client that says what it likes.
struct Hostile(TcpStream);

impl Hostile {
    fn call(at: &str) -> Self {
        let address: SocketAddr = at.parse().expect("an address");
        let stream = TcpStream::connect(address).expect("somebody listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Self(stream)
    }

    fn say(&mut self, seq: u8, kind: u8, data: &[u8]) {
        let mut packet = vec![0; LONG_HEADER + data.len() + 8];
        packet[LONG_HEADER..LONG_HEADER + data.len()].copy_from_slice(data);
        let (start, end) = finish(&mut packet, data.len(), seq, kind, Check::Sum6, 1, false);
        self.0.write_all(&[&packet[start..end], b"\r"].concat()).expect("the server is there");
    }

    /// The next packet: its number, its kind and its data.
    fn hear(&mut self) -> (u8, u8, Vec<u8>) {
        let mut byte = [0];
        while byte != [1] {
            self.0.read_exact(&mut byte).expect("the server answers");
        }
        self.0.read_exact(&mut byte).expect("a length");
        let mut rest = vec![0; usize::from(byte[0] - b' ')];
        if rest.is_empty() {
            let mut header = [0; 5];
            self.0.read_exact(&mut header).expect("a long header");
            let [len, more] = [header[2], header[3]].map(|digit| usize::from(digit - b' '));
            let mut data = vec![0; len * 95 + more];
            self.0.read_exact(&mut data).expect("the packet");
            data.pop();
            return (header[0] - b' ', header[1], data);
        }
        self.0.read_exact(&mut rest).expect("the packet");
        (rest[0] - b' ', rest[1], rest[2..rest.len() - 1].to_vec())
    }

    /// Agrees on packets and a window as long as there are.
    fn has_all_there_is(&mut self, kind: u8) {
        // 31 packets of 94 * 95 + 94 bytes.
        self.say(0, kind, b"~* @-#Y1~.?~~");
        let (_, kind, said) = self.hear();
        assert_eq!(kind, b'Y', "{}", said.escape_ascii());
    }

    /// Sends a window full of a file, of which the first packet is missing, then that, and an error.
    fn fills_a_window(&mut self, name: &str) {
        let data: Vec<u8> = (0..9000).map(|at| b'A' + (at % 20) as u8).collect();
        self.has_all_there_is(b'S');
        self.say(1, b'F', name.as_bytes());
        self.hear();
        for seq in (3..33).chain([2]) {
            self.say(seq, b'D', &data);
        }
        // The packets of the window are acknowledged or asked for before this is.
        self.say(33, b'E', b"no");
    }

    /// Passes over what has come so far.
    fn hears_all(&mut self) {
        self.0.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
        let mut some = vec![0; 65_536];
        while matches!(self.0.read(&mut some), Ok(1..)) {}
        self.0.set_read_timeout(Some(LIMIT)).expect("a timeout");
    }

    /// Asks for something that is sent, and takes it as far as its first data, which is not acknowledged.
    fn takes_the_first_of(&mut self, kind: u8, data: &[u8]) {
        self.say(0, kind, data);
        loop {
            let (seq, kind, data) = self.hear();
            match kind {
                b'D' => return,
                b'S' | b'X' | b'F' | b'A' => self.say(seq, b'Y', b""),
                b'Y' => {}
                other => panic!("{} {}", char::from(other), data.escape_ascii()),
            }
        }
    }

    /// Agrees to what is sent as far as its data, and takes as much of that as comes without acknowledging it.
    fn takes_a_window(&mut self) {
        self.0.set_read_timeout(Some(Duration::from_secs(200))).expect("a timeout");
        loop {
            let (seq, kind, data) = self.hear();
            match kind {
                b'S' => self.say(seq, b'Y', b"~* @-#Y1~.?~~"),
                b'X' | b'F' | b'A' => self.say(seq, b'Y', b""),
                b'Y' => {}
                b'D' => return self.hears_all(),
                other => panic!("{} {}", char::from(other), data.escape_ascii()),
            }
        }
    }
}

/// Maximum simultaneous clients of one address.
const CROWDED: &[&str] =
    &["--per-address", "256", "--unproved", "256", "--unproved-per-address", "256"];

/// A figure of a process in kB.
fn kilobytes(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number")
}

fn sessions_end(pid: u32) {
    let until = Instant::now() + Duration::from_secs(20);
    while kilobytes(pid, "Threads") > 10 {
        assert!(Instant::now() < until, "the sessions did not end");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Makes `count` empty files in the root, their names filled up to `len` bytes.
fn crowd(scene: &Scene, count: usize, len: usize) {
    let root = scene.folder("root");
    for index in 0..count {
        let name = format!("f{index:05}{}", "x".repeat(len.saturating_sub(6)));
        File::create(root.join(name)).expect("a file");
    }
}

fn another_is_served(scene: &Scene, at: &str, bytes: &[u8]) {
    let into = scene.folder("in").display().to_string();
    let args = ["get", &format!("tcp://{at}"), "bin.dat", "-q", "-o", &into];
    let end = scene.start("get", &mut wst(args)).unwrap().wait(LIMIT).unwrap();
    assert_eq!(end.code, 0, "{}", end.said);
    same_bytes(bytes, &fs::read(scene.path("in/bin.dat")).unwrap()).unwrap();
}

#[test]
fn many_wildcards_in_one_request_cost_no_memory_and_block_no_one() {
    let scene = Scene::new();
    let bytes = stock(&scene);
    crowd(&scene, 2_000, 200);
    let (server, at) = server(&scene, "tcp-listen", &[]).unwrap();
    another_is_served(&scene, &at, &bytes);
    let before = kilobytes(server.id(), "VmRSS");
    let words = b"* ".repeat(2004);
    let began = Instant::now();
    let mut hostile = Hostile::call(&at);
    hostile.say(0, b'R', &words);
    another_is_served(&scene, &at, &bytes);
    let (_, kind, said) = hostile.hear();
    let took = began.elapsed();
    assert_eq!(kind, b'E', "{}", said.escape_ascii());
    assert!(
        String::from_utf8_lossy(&said).contains("for several names"),
        "{}",
        said.escape_ascii()
    );
    let most = kilobytes(server.id(), "VmHWM");
    eprintln!("R packet: {before} kB before, {most} kB at most, {took:?}");
    assert!(most < before + 6_000, "{before} kB before, {most} kB at most");
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn long_listings_are_made_while_they_are_sent() {
    const CLIENTS: u64 = 20;
    let scene = Scene::new();
    let bytes = stock(&scene);
    crowd(&scene, 5_000, 200);
    let (server, at) = server(&scene, "tcp-listen", &[]).unwrap();
    let before = kilobytes(server.id(), "VmRSS");
    let began = Instant::now();
    let mut hostile: Vec<_> = (0..CLIENTS).map(|_| Hostile::call(&at)).collect();
    for client in &mut hostile {
        client.takes_the_first_of(b'G', b"D\"f*");
    }
    let took = began.elapsed();
    another_is_served(&scene, &at, &bytes);
    let most = kilobytes(server.id(), "VmHWM");
    eprintln!("{CLIENTS} listings: {before} kB before, {most} kB at most, {took:?}");
    assert!(most < before + CLIENTS * 780, "{before} kB before, {most} kB at most");
}

#[test]
fn all_places_taken_by_the_worst_stay_below_the_bound() {
    const CLIENTS: u64 = 256;
    let scene = Scene::new();
    stock(&scene);
    crowd(&scene, 800, 200);
    let (server, at) = server(&scene, "tcp-listen", CROWDED).unwrap();
    let began = Instant::now();
    // The second time in memory that was used before.
    for _ in 0..2 {
        let mut hostile: Vec<_> = (0..CLIENTS).map(|_| Hostile::call(&at)).collect();
        for (index, client) in hostile.iter_mut().enumerate() {
            match index % 2 {
                0 => client.takes_the_first_of(b'G', b"D\"f*"),
                // The first file is not empty, and is not acknowledged.
                _ => client.takes_the_first_of(b'R', b"bin.dat f0* f00* * f0* f00* *"),
            }
        }
        drop(hostile);
        sessions_end(server.id());
    }
    let took = began.elapsed();
    let most = kilobytes(server.id(), "VmHWM");
    eprintln!("{CLIENTS} hostile sessions: {most} kB at most, {took:?}");
    assert!(most < 200_000, "{most} kB");
}

#[test]
fn who_says_nothing_costs_less_than_100_kilobytes() {
    const CLIENTS: u64 = 256;
    let scene = Scene::new();
    stock(&scene);
    let (server, at) = server(&scene, "tcp-listen", CROWDED).unwrap();
    let before = kilobytes(server.id(), "VmRSS");
    // The second time in memory that was used before.
    for wave in 1..4 {
        let silent: Vec<_> = (0..CLIENTS).map(|_| Hostile::call(&at)).collect();
        let until = Instant::now() + Duration::from_secs(20);
        while kilobytes(server.id(), "Threads") < CLIENTS {
            assert!(Instant::now() < until, "the sessions did not begin");
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(Duration::from_millis(300));
        let now = kilobytes(server.id(), "VmRSS");
        eprintln!("{CLIENTS} silent sessions, time {wave}: {before} kB before, {now} kB");
        assert!(now < before + CLIENTS * 100, "{before} kB before, {now} kB, time {wave}");
        drop(silent);
        sessions_end(server.id());
    }
}

/// A tree as deep as a walk goes, whose names are as long as they can be.
fn pit(scene: &Scene) {
    let mut here = scene.folder("root");
    for depth in 0..62_u32 {
        for index in 0..(400 >> depth.min(5)) {
            File::create(here.join(format!("f{index:03}{}", "x".repeat(240)))).expect("a file");
        }
        // It comes first, so that the first file that is sent is the deepest.
        here = here.join("a".repeat(30));
        fs::create_dir(&here).expect("a directory");
    }
    fs::write(here.join("a"), vec![b'x'; 400_000]).expect("a file");
    let many = scene.folder("root/many");
    for index in 0..3_400 {
        File::create(many.join(format!("n{index:05}"))).expect("a file");
    }
}

#[test]
fn what_takes_all_that_a_session_may_have_stays_below_the_bound_and_ends_no_server() {
    const CLIENTS: usize = 256;
    /// Addresses, of which each thread takes many that it does not use.
    const MOST: u64 = 2_500_000_000;
    let scene = Scene::new();
    let bytes = stock(&scene);
    pit(&scene);
    let flags = [&["--allow", "write"], CROWDED].concat();
    let (server, at) = server(&scene, "tcp-listen", &flags).unwrap();
    let pid = rustix::process::Pid::from_raw(server.id().cast_signed());
    let limit = rustix::process::Rlimit { current: Some(MOST), maximum: Some(MOST) };
    rustix::process::prlimit(pid, rustix::process::Resource::As, limit).expect("a limit");
    let began = Instant::now();
    let mut hostile: Vec<_> = (0..CLIENTS).map(|_| Hostile::call(&at)).collect();
    for (index, client) in hostile.iter_mut().enumerate() {
        client.fills_a_window(&format!("up{index}"));
    }
    let names = [&b"a"[..]; 30].concat();
    let words = [&names[..], b" many"].concat();
    for client in &mut hostile {
        client.hears_all();
        client.has_all_there_is(b'I');
        client.say(0, b'V', &words);
    }
    for client in &mut hostile {
        client.takes_a_window();
    }
    let took = began.elapsed();
    let most = kilobytes(server.id(), "VmHWM");
    let addresses = kilobytes(server.id(), "VmPeak");
    eprintln!(
        "{CLIENTS} with all there is: {most} kB at most, {addresses} kB of addresses, {took:?}"
    );
    assert!(most < 200_000, "{most} kB");
    drop(hostile);
    sessions_end(server.id());
    another_is_served(&scene, &at, &bytes);
}
