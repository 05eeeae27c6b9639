//! A listener of NETBLT that runs, and what comes from anywhere: floods of OPENs from addresses that
//! forged addresses, scans, peers that vanish. Its memory is bounded, it sends no address more than it received,
//! and who means it gets in.

use crate::common;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use common::{Desk, Running, noise, run, wst};
use wetstring_proto::netblt::packet::{Body, Packet, Ports, Terms};

/// Addresses of the flood.
const MANY: u32 = 10_000;
/// Sockets that are open at one time.
const AT_ONCE: u32 = 200;
/// What a listener may need beside what it needs anyway: 16 engines with their rings.
const GROWTH_KB: u64 = 96 * 1024;

fn listener(desk: &Desk, flags: &[&str]) -> (Running, SocketAddr) {
    let into = desk.path("in");
    let mut args = vec!["receive", "udp-listen://127.0.0.1:0", "-o", &into];
    args.extend(flags);
    let running = Running::start(wst(&args));
    let at = running.says("listening on ").parse().expect("an address");
    (running, at)
}

fn secret(desk: &Desk) -> String {
    let path = desk.path("secret");
    std::fs::write(&path, "the shared secret of two").expect("the secret");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    path
}

/// An OPEN as RFC 998 has it, another one for each number.
fn open(number: u32) -> Vec<u8> {
    let terms = Terms {
        id: number.wrapping_mul(2_654_435_761),
        buffer_size: u32::MAX,
        transfer_size: u32::MAX,
        packet_size: 1400,
        burst_size: 100,
        burst_interval_ms: 1,
        death_s: 60,
        write: true,
        checksum: true,
        outstanding: 65_535,
        client: b"wst1 x s=4000000000 name=flood",
    };
    let ports = Ports { local: 5000 + (number % 60_000) as u16, foreign: 7000 };
    let mut out = [0; 200];
    let len = Packet { ports, body: Body::Open(terms) }.put(&mut out).expect("there is room");
    out[..len].to_vec()
}

/// The first word of a handshake with keys, as long as it must be.
fn init(number: u32) -> Vec<u8> {
    let mut init = b"WN\x01\x01".to_vec();
    init.extend(number.to_be_bytes());
    init.extend([1, 1]);
    init.extend(34_u16.to_be_bytes());
    init.resize(28, 0);
    init.extend([number as u8; 32]);
    init.extend(512_u16.to_be_bytes());
    init.resize(512, 0);
    init
}

/// One datagram from each of many addresses; the bytes that were sent, and that came back. No address
/// gets more than it sent.
fn flood(at: SocketAddr, make: fn(u32) -> Vec<u8>) -> (usize, usize) {
    let (mut sent, mut got) = (0, 0);
    for first in (0..MANY).step_by(AT_ONCE as usize) {
        let sockets: Vec<(UdpSocket, usize)> = (first..first + AT_ONCE)
            .map(|number| {
                let [_, a, b, c] = (number + 2).to_be_bytes();
                let socket = UdpSocket::bind((Ipv4Addr::new(127, a, b, c), 0)).expect("a socket");
                socket.set_nonblocking(true).expect("it need not wait");
                let bytes = make(number);
                socket.send_to(&bytes, at).expect("it leaves");
                (socket, bytes.len())
            })
            .collect();
        // Answers that are repeated come within this, too.
        std::thread::sleep(Duration::from_millis(if first == 0 { 3000 } else { 40 }));
        let mut answer = vec![0; 65_536];
        for (socket, len) in sockets {
            let back = std::iter::from_fn(|| socket.recv(&mut answer).ok()).sum::<usize>();
            assert!(back <= len, "{back} bytes for {len}");
            sent += len;
            got += back;
        }
    }
    (sent, got)
}

#[test]
fn ten_thousand_opens_from_anywhere_cost_little() {
    let desk = Desk::new(300_000);
    let secret = secret(&desk);
    for (flags, make) in
        [(vec!["--plain"], open as fn(u32) -> Vec<u8>), (vec!["--secret-file", &secret], init)]
    {
        let (running, at) = listener(&desk, &flags);
        let before = running.peak_kb().expect("its memory");
        let (sent, got) = flood(at, make);
        let after = running.peak_kb().expect("its memory");
        println!("{flags:?}: {sent} bytes, {got} back; {before} kB before, {after} kB at most");
        assert!(after < before + GROWTH_KB, "{flags:?}: {before} kB, then {after} kB");
        assert!(got <= sent, "{flags:?}");
        // Who means it gets in. Plain, those of the last seconds have to make room first.
        let line = format!("udp://{at}");
        let file = desk.path("data.bin");
        let mut args = vec!["send", &file, &line];
        args.extend(&flags);
        let came = run(wst(&args));
        assert_eq!(came.code(), 0, "{flags:?}: {}", came.stderr);
        desk.arrived();
        running.signal(rustix::process::Signal::INT);
        running.end();
        std::fs::remove_file(desk.path("in/data.bin")).expect("it came");
    }
}

#[test]
fn those_who_have_proved_nothing_cost_no_processor() {
    let desk = Desk::new(10);
    let (running, at) = listener(&desk, &["--plain"]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.send_to(&open(1), at).expect("it leaves");
    // All that may go there has left by then; the rest waits.
    std::thread::sleep(Duration::from_millis(1000));
    let before = running.ticks();
    std::thread::sleep(Duration::from_secs(3));
    let took = running.ticks().zip(before).map(|(after, before)| after - before);
    assert!(took.is_none_or(|took| took < 15), "{took:?} hundredths of a second in 3 s");
    running.signal(rustix::process::Signal::INT);
    running.end();
}

#[test]
fn a_scan_gets_no_answer() {
    let desk = Desk::new(10);
    let secret = secret(&desk);
    for flags in [&["--plain"][..], &["--secret-file", &secret]] {
        let (running, at) = listener(&desk, flags);
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a limit");
        for number in 0..5000_usize {
            let mut bytes = noise(number as u64 + 1, number * 7 % 1500);
            // No word of ours by chance: what begins like one is another test.
            if bytes.starts_with(b"WN") {
                bytes[0] = 0;
            }
            let _ = socket.send_to(&bytes, at);
        }
        assert!(socket.recv(&mut [0; 2000]).is_err(), "{flags:?}: an answer to noise");
        running.signal(rustix::process::Signal::INT);
        assert_eq!(running.end().code(), 130);
    }
}

#[test]
fn a_listener_says_who_was_refused_and_why() {
    let desk = Desk::new(1000);
    let secret = secret(&desk);
    let other = desk.path("other");
    std::fs::write(&other, "something else again").expect("the secret");
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    let file = desk.path("data.bin");
    for (ours, theirs, say, code) in [
        (vec!["--secret-file", &secret], vec!["--secret-file", &other], "expected our secret", 4),
        (vec!["--secret-file", &secret], vec!["--plain"], "got --plain", 4),
        (vec!["--plain"], vec!["--secret-file", &secret], "it encrypts", 4),
    ] {
        let (running, at) = listener(&desk, &ours);
        let line = format!("udp://{at}");
        let mut args = vec!["send", &file, &line];
        args.extend(&theirs);
        let refused = run(wst(&args));
        assert_eq!(refused.code(), code, "{theirs:?}: {}", refused.stderr);
        let told = running.says("127.0.0.1:");
        assert!(told.contains("is refused") && told.contains(say), "{told}");
        running.signal(rustix::process::Signal::INT);
        running.end();
    }
}

#[test]
fn a_place_that_is_not_there_is_said_before_anybody_is_waited_for() {
    let desk = Desk::new(10);
    let nowhere = desk.path("nowhere/at/all");
    let ran = run(wst(["receive", "udp-listen://127.0.0.1:0", "-o", &nowhere, "--plain"]));
    ran.expect(5);
    assert!(ran.stderr.contains("expected a directory to receive into"), "{}", ran.stderr);
}
