//! `wst slip` against programs that we did not write: slirp on a terminal, and the kernel's own TCP in
//! two network namespaces with a line of 9600 bit/s between them.

use crate::common;
use crate::peers;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::{Desk, Running, noise, run, wst};
use rustix::process::Signal;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use wetstring_testkit::namespaces::{forbidden, ip};
use wetstring_testkit::wait_until;

/// Longer than anything between two bytes should take.
const PATIENCE: Duration = Duration::from_secs(30);

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    stream.set_nodelay(true).expect("no delay");
    stream
}

/// Answers every request on this machine with one page.
fn web(page: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = patient(stream.expect("a client"));
            let mut asked = Vec::new();
            let mut byte = [0];
            while !asked.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
                asked.push(byte[0]);
            }
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&page);
        }
    });
    address
}

/// The page that a web server has.
fn download(at: SocketAddr) -> Vec<u8> {
    let mut stream = patient(TcpStream::connect(at).expect("a connection"));
    stream.write_all(b"GET /page HTTP/1.0\r\nHost: box\r\n\r\n").expect("a request");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("an answer");
    let body = all.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
    all.split_off(body)
}

#[test]
fn slirp_carries_a_download_and_pings() {
    let _turn = crate::turn();
    let Some(slirp) = peers::peer("slirp-fullbolt", "slirp") else { return };
    let page = noise(3, 200_000);
    let server = web(page.clone());
    // Told nothing, slirp takes what comes compressed, and answers likewise: what `auto` asks finds it out.
    for (compress, word) in [("on", " compress"), ("off", ""), ("auto", "")] {
        let line = format!("exec-pty:{}{word}", slirp.display());
        let forward = format!("0:10.0.2.2:{}", server.port());
        let running = Running::start(wst([
            "slip",
            &line,
            "--compress",
            compress,
            "-L",
            &forward,
            "--ping",
            "10.0.2.2",
            "--json",
        ]));
        let at = running.says("listening on ").parse().expect("an address");
        running.says("up");
        assert!(download(at) == page, "the page, with compression {compress}");
        // The first ping may come before slirp is there.
        thread::sleep(Duration::from_millis(2500));
        running.signal(Signal::TERM);
        let ran = running.end();
        ran.expect(0);
        let end = ran.events().pop().expect("events");
        assert!(end["pings"]["answered"].as_u64() >= Some(2), "{end}");
        if compress == "off" {
            assert!(end["compression"].is_null(), "{end}");
        } else {
            let of = &end["compression"];
            assert!(of["compressed"].as_u64() > Some(10), "{end}");
            assert!(end["received"]["bytes"].as_u64() > end["received"]["line_bytes"].as_u64());
        }
    }
}

#[test]
fn a_silent_peer_and_a_closed_line_are_reported() {
    let _turn = crate::turn();
    let ran =
        run(wst(["slip", "exec:sleep 5", "--ping", "10.0.2.2", "--count", "2", "--mtu", "296"]));
    ran.expect(7);
    assert!(ran.stderr.contains("no answer to 2 pings"), "{}", ran.stderr);
    let ran = run(wst(["slip", "exec:true"]));
    ran.expect(3);
    assert!(ran.stderr.contains("the line has closed"), "{}", ran.stderr);
    for (args, wanted) in [
        (vec!["slip", "pty:", "--mtu", "20"], "68..=1500"),
        (vec!["slip", "pty:", "-L", "80"], "expected [BIND:]PORT:HOST:PORT"),
        (vec!["slip", "pty:", "--tun", "sl0"], "--local"),
        (
            vec!["slip", "pty:", "--local", "10.0.2.2"],
            "expected another address for --remote than 10.0.2.2, which is ours",
        ),
        (vec!["slip", "pty:", "--rate", "fast"], "expected 0..1000000000 for slip.rate, got fast"),
        (vec!["slip", "pty:", "--latency", "0s"], "expected 1..86400000 for slip.latency, got 0"),
        (vec!["slip", "pty:", "--mtu", "296", "--latency", "1s"], "cannot be used with"),
        (vec!["slip", "pty:", "--set", "slip.mut=296"], "did you mean slip.mtu?"),
        (vec!["slip", "pty:", "--slots", "2"], "3..=256"),
        (vec!["slip", "pty:", "--trace", "x"], "wst slip writes no trace"),
        (vec!["slip", "pty:", "--timestamps", "no"], "[possible values: drop, keep]"),
    ] {
        let ran = run(wst(args));
        ran.expect(2);
        assert!(ran.stderr.contains(wanted), "{}", ran.stderr);
    }
}

#[test]
fn a_line_that_is_lost_is_opened_again() {
    let _turn = crate::turn();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let line = format!("tcp://{}", listener.local_addr().expect("an address"));
    let running = Running::start(wst(["slip", &line, "--ping", "10.0.2.2"]));
    drop(common::accept(&listener));
    running.says("wst: the line is lost: ");
    let mut again = patient(common::accept(&listener));
    running.says("the line is back");
    // A frame of the new line begins with END, and a ping is in it.
    let mut frame = [0; 2];
    again.read_exact(&mut frame).expect("a ping");
    assert_eq!(frame, [0xC0, 0x45]);
    running.signal(Signal::TERM);
    running.end().expect(7);
}

/// Header compression is enabled at neither end.
#[test]
fn two_ends_that_were_told_nothing_compress() {
    let _turn = crate::turn();
    let desk = Desk::new(0);
    let page = noise(5, 30_000);
    let server = web(page.clone());
    let ends = ["a", "b"].map(|end| format!("pty:{}", desk.path(end)));
    let line = Running::start(wst(["line", "115200", "-a", &ends[0], "-b", &ends[1]]));
    let ptys = ["a", "b"].map(|end| {
        wait_for(&desk.path(end));
        format!("serial:{}", desk.path(end))
    });
    let to = format!("80:127.0.0.1:{}", server.port());
    let far = ["--rate", "115200", "--json", "--local", "10.0.2.2", "--remote", "10.0.2.15"];
    let far = Running::start(wst([&["slip", &ptys[1], "-R", &to][..], &far].concat()));
    far.says("up");
    let near = ["--rate", "115200", "--json", "-L", "0:10.0.2.2:80"];
    let near = Running::start(wst([&["slip", &ptys[0]][..], &near].concat()));
    let at = near.says("listening on ").parse().expect("an address");
    near.says("up");
    assert!(download(at) == page, "the page");
    for end in [near, far] {
        end.signal(Signal::TERM);
        let ran = end.end();
        ran.expect(0);
        let end = ran.events().pop().expect("events");
        assert!(end["compression"]["compressed"].as_u64() > Some(10), "{end}");
        assert!(end["probes"].as_u64() <= Some(2), "{end}");
    }
    line.signal(Signal::TERM);
    line.end();
}

/// The service that a forward names is not there: both ends say so.
#[test]
fn a_refused_connection_is_told() {
    let _turn = crate::turn();
    let desk = Desk::new(0);
    let ends = ["a", "b"].map(|end| format!("pty:{}", desk.path(end)));
    let line = Running::start(wst(["line", "115200", "-a", &ends[0], "-b", &ends[1]]));
    let ptys = ["a", "b"].map(|end| {
        wait_for(&desk.path(end));
        format!("serial:{}", desk.path(end))
    });
    // A port at which nothing listens any more.
    let dead = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
    let to = format!("80:{dead}");
    let args = ["slip", &ptys[1], "-R", &to, "--local", "10.0.2.2", "--remote", "10.0.2.15"];
    let far = Running::start(wst(args));
    far.says("up");
    let near = Running::start(wst(["slip", &ptys[0], "-L", "0:10.0.2.2:80"]));
    let at: SocketAddr = near.says("listening on ").parse().expect("an address");
    near.says("up");
    drop(patient(TcpStream::connect(at).expect("it listens")).read(&mut [0; 16]));
    far.says(&format!("{dead}: Connection refused"));
    for end in [near, far] {
        end.signal(Signal::TERM);
        end.end().expect(0);
    }
    line.signal(Signal::TERM);
    line.end();
}

/// A line of 9600 bit/s between two namespaces whose kernels speak through `wst slip`.
struct Net {
    names: [String; 2],
    children: Vec<Child>,
}

const ADDRESSES: [&str; 2] = ["10.98.7.1", "10.98.7.2"];

impl Net {
    fn new(mark: &str, desk: &Desk, more: &[&str]) -> Self {
        let names = ["a", "b"].map(|end| format!("wsl{end}{mark}{}", std::process::id()));
        let mut net = Self { names, children: Vec::new() };
        let ptys = ["a", "b"].map(|end| desk.path(&format!("{mark}{end}")));
        let [a, b] = ptys.clone().map(|path| format!("pty:{path}"));
        net.start(wst(["line", "9600", "-a", &a, "-b", &b]));
        for end in 0..2 {
            wait_for(&ptys[end]);
            let name = &net.names[end];
            ip(&format!("netns add {name}")).expect("a namespace");
            ip(&format!("-n {name} link set lo up")).expect("a loopback");
            let line = format!("serial:{}", ptys[end]);
            let mut command = std::process::Command::new("ip");
            command.args(["netns", "exec", name, common::WST, "slip", &line, "--tun", "sl0"]);
            command.args(["--local", ADDRESSES[end], "--remote", ADDRESSES[1 - end]]);
            command.args(["--rate", "9600", "--stats", "5s"]).args(more);
            command.args(["--log", &desk.path(&format!("{mark}{end}.log"))]);
            common::tame(&mut command);
            net.start(command);
        }
        for name in &net.names {
            let until = Instant::now() + common::LIMIT;
            while ip(&format!("-n {name} link show sl0")).is_err() {
                assert!(Instant::now() < until, "sl0 in {name}");
                thread::sleep(Duration::from_millis(20));
            }
        }
        net
    }

    fn start(&mut self, mut command: std::process::Command) {
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        self.children.push(command.spawn().expect("it starts"));
    }

    /// Runs this in a thread that lives in the namespace of an end.
    fn at<T: Send + 'static>(
        &self,
        end: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let space = File::open(format!("/run/netns/{}", self.names[end])).expect("the namespace");
        thread::spawn(move || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(std::os::fd::AsFd::as_fd(&space), network).expect("to enter");
            work()
        })
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn wait_for(path: &str) {
    wait_until(path, || std::path::Path::new(path).exists());
}

/// A server in a thread's own namespace: what it does with each client.
fn serve(port: u16, each: impl Fn(TcpStream) + Copy + Send + 'static) -> impl FnOnce() {
    move || {
        let address: IpAddr = ADDRESSES[0].parse().expect("an address");
        let listener = TcpListener::bind((address, port)).expect("a port");
        for stream in listener.incoming().take(2) {
            let stream = patient(stream.expect("a client"));
            thread::spawn(move || each(stream));
        }
    }
}

fn connect(port: u16) -> TcpStream {
    let until = Instant::now() + PATIENCE;
    let to = SocketAddr::new(ADDRESSES[0].parse().expect("an address"), port);
    loop {
        match TcpStream::connect_timeout(&to, PATIENCE) {
            Ok(stream) => return patient(stream),
            Err(error) => assert!(Instant::now() < until, "{to}: {error}"),
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Bytes that have come.
static CAME: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
static OVER: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// The median time of an echo, with a file going the same way as the echo; and the share of the line
/// that the file has before and beside it.
fn measure(which: usize, desk: &Desk, more: &[&str]) -> (Duration, [f64; 2]) {
    let net = Net::new(["p", "f"][which], desk, more);
    net.at(0, serve(9000, |mut stream| while stream.write_all(&[0x55; 256]).is_ok() {}));
    net.at(
        0,
        serve(23, |mut stream| {
            let mut byte = [0];
            while stream.read(&mut byte).is_ok_and(|len| len == 1)
                && stream.write_all(&byte).is_ok()
            {}
        }),
    );
    let bulk = net.at(1, move || {
        let mut stream = connect(9000);
        let mut room = [0; 4096];
        while !OVER[which].load(Ordering::Relaxed) {
            let len = stream.read(&mut room).expect("more of the file");
            CAME[which].fetch_add(len as u64, Ordering::Relaxed);
        }
    });
    let user = net.at(1, move || {
        let share = |from: u64, began: Instant| {
            let bytes = CAME[which].load(Ordering::Relaxed) - from;
            bytes as f64 / began.elapsed().as_secs_f64() / 960.0
        };
        let mut stream = connect(23);
        // The file's window has opened by then.
        thread::sleep(Duration::from_secs(8));
        let (from, began) = (CAME[which].load(Ordering::Relaxed), Instant::now());
        thread::sleep(Duration::from_secs(12));
        let alone = share(from, began);
        let (from, began) = (CAME[which].load(Ordering::Relaxed), Instant::now());
        let mut times = Vec::new();
        while began.elapsed() < Duration::from_secs(14) || times.len() < 3 {
            let typed = Instant::now();
            stream.write_all(b"x").expect("to type");
            stream.read_exact(&mut [0]).expect("the echo");
            times.push(typed.elapsed());
            // Typed at no moment in particular.
            thread::sleep(Duration::from_millis(307 + 41 * (times.len() as u64 % 7)));
        }
        let beside = share(from, began);
        OVER[which].store(true, Ordering::Relaxed);
        times.sort();
        println!("{which}: {} echoes, {times:?}, shares {alone:.3} {beside:.3}", times.len());
        (times[times.len() / 2], [alone, beside])
    });
    let measured = user.join().expect("a measurement");
    bulk.join().expect("the file");
    measured
}

#[test]
fn interactive_traffic_is_prioritized() {
    let _turn = crate::turn();
    if let Some(why) = forbidden() {
        return peers::missing(&format!("network namespaces cannot be made here: {why}"));
    }
    let desk = Desk::new(0);
    let (first, fifo) = thread::scope(|scope| {
        let fifo = scope.spawn(|| measure(1, &desk, &["--fifo"]));
        (measure(0, &desk, &[]), fifo.join().expect("without priority"))
    });
    println!("echo {first:?}, without priority {fifo:?}");
    // The MTU is 190: a packet occupies the line for 200 ms. The two small packets are 41 bytes with
    // headers of at most 7, and two ENDs: 10 ms each.
    let bound = Duration::from_millis((200 + 2 * 10) * 13 / 10);
    assert!(first.0 <= bound, "the echo took {:?}, expected {bound:?} at most", first.0);
    assert!(fifo.0 >= first.0 * 4, "{:?} without priority, {:?} with", fifo.0, first.0);
    // Both ends are at `auto`, and Linux would use timestamps: the headers say that neither is in the way.
    for end in 0..2 {
        let log = std::fs::read_to_string(desk.path(&format!("p{end}.log"))).expect("a log");
        let last = log.lines().rev().find_map(|line| line.split_once("headers of TCP: "));
        let (_, last) = last.unwrap_or_else(|| panic!("expected headers of TCP in {log}"));
        let bytes: f64 = last.split(' ').next().and_then(|n| n.parse().ok()).expect("bytes each");
        assert!(bytes < 10.0, "{last}");
        assert!(log.contains("the peer compresses headers; compression is on"), "{log}");
    }
    let [alone, beside] = first.1;
    assert!(
        beside >= alone * 0.9,
        "the file had {alone:.3} of the line, and {beside:.3} beside it"
    );
}

/// Where stdout is the line, frames go there and not a word for a user.
#[test]
fn nothing_but_frames_goes_to_a_line_that_is_stdout() {
    let _turn = crate::turn();
    let mut command = wst(["slip", "-", "--ping", "10.0.2.2", "--count", "1"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    let mut out = child.stdout.take().expect("its stdout");
    // A ping of 44 bytes with nothing to escape: ENDs around it.
    let mut frame = [0; 46];
    out.read_exact(&mut frame).expect("a ping");
    assert_eq!((frame[0], frame[1], frame[45]), (0xC0, 0x45, 0xC0), "{frame:02x?}");
    assert_eq!(frame[21], 8);
    // The answer: addresses change places, type 0, and the checksum grows by what the type lost.
    let (ours, theirs) = (&frame[13..17].to_vec(), &frame[17..21].to_vec());
    frame[13..17].copy_from_slice(theirs);
    frame[17..21].copy_from_slice(ours);
    frame[21] = 0;
    let (sum, carry) = u16::from_be_bytes([frame[23], frame[24]]).overflowing_add(0x0800);
    frame[23..25].copy_from_slice(&(sum + u16::from(carry)).to_be_bytes());
    child.stdin.take().expect("its stdin").write_all(&frame).expect("to answer");
    let mut rest = Vec::new();
    out.read_to_end(&mut rest).expect("its end");
    assert_eq!(rest, b"");
    let said = child.wait_with_output().expect("its end");
    let words = String::from_utf8_lossy(&said.stderr);
    assert!(words.contains("10.0.2.2: ping 0: RTT"), "{words}");
}

/// The kernel of one end answers the pings of a stack at the other.
#[test]
fn a_kernel_answers_pings() {
    let _turn = crate::turn();
    if let Some(why) = forbidden() {
        return peers::missing(&format!("network namespaces cannot be made here: {why}"));
    }
    let desk = Desk::new(0);
    let mut net = Net {
        names: ["x", "y"].map(|e| format!("wsl{e}{}", std::process::id())),
        children: vec![],
    };
    let [a, b] = ["ka", "kb"].map(|end| desk.path(end));
    net.start(wst(["line", "9600", "-a", &format!("pty:{a}"), "-b", &format!("pty:{b}")]));
    wait_for(&a);
    wait_for(&b);
    let name = net.names[0].clone();
    ip(&format!("netns add {name}")).expect("a namespace");
    let line = format!("serial:{a}");
    let mut command = std::process::Command::new("ip");
    command.args(["netns", "exec", &name, common::WST, "slip", &line]);
    let words =
        "--tun sl7 --rate 9600 --local 10.98.6.1 --remote 10.98.6.2 --quiet --route 10.97.0.0/16";
    command.args(words.split(' '));
    common::tame(&mut command);
    net.start(command);
    let until = Instant::now() + common::LIMIT;
    while ip(&format!("-n {name} link show sl7")).is_err() {
        assert!(Instant::now() < until, "sl7");
        thread::sleep(Duration::from_millis(20));
    }
    let routes = ip(&format!("-n {name} route show")).expect("routes");
    assert!(routes.contains("10.97.0.0/16 dev sl7"), "{routes}");
    let line = format!("serial:{b}");
    let ran = run(wst([
        "slip",
        &line,
        "--rate",
        "9600",
        "--local",
        "10.98.6.2",
        "--remote",
        "10.98.6.1",
        "--ping",
        "10.98.6.1",
        "--count",
        "3",
    ]));
    ran.expect(0);
    assert!(ran.stdout.matches(": RTT ").count() >= 2, "{}", ran.stdout);
    assert!(ran.stderr.contains("MTU 190: a packet occupies the line"), "{}", ran.stderr);
}
