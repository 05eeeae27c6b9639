//! The user-space stack and packets in fragments: what a host with a longer MTU, or a router between, makes
//! of them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use wetstring_drive::event;
use wetstring_drive::stack::{Forward, Stack, StackConfig};
use wetstring_proto::checksum::checksum;
use wetstring_testkit::Dice;

const A: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

fn config(local: Ipv4Addr, remote: Ipv4Addr, mtu: usize) -> StackConfig {
    StackConfig {
        local,
        remote,
        mtu,
        window_bytes: 8192,
        connections: 8,
        dns: None,
        to_line: Vec::new(),
        from_line: Vec::new(),
        socks: None,
    }
}

/// A header with its check, and what follows.
fn sealed(mut header: Vec<u8>, data: &[u8]) -> Vec<u8> {
    let len = (header.len() + data.len()) as u16;
    header[2..4].copy_from_slice(&len.to_be_bytes());
    header[10..12].fill(0);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header.extend_from_slice(data);
    header
}

/// What a router with an MTU of `mtu` makes of a packet without options.
fn routed(packet: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let most = (mtu - 20) / 8 * 8;
    let (header, data) = packet.split_at(20);
    let count = data.len().div_ceil(most).max(1);
    let part = |index: usize| {
        let mut header = header.to_vec();
        let more = if index + 1 < count { 0x2000 } else { 0 };
        let field = (more | (index * most / 8)) as u16;
        header[6..8].copy_from_slice(&field.to_be_bytes());
        sealed(header, &data[index * most..data.len().min((index + 1) * most)])
    };
    (0..count).map(part).collect()
}

/// An echo request from B to A with `len` bytes.
fn echo_request(len: usize) -> Vec<u8> {
    let mut message = vec![8, 0, 0, 0, 0x12, 0x34, 0, 7];
    message.extend((0..len).map(|k| (k ^ (k >> 8)) as u8));
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut header = vec![0x45, 0, 0, 0, 0xAB, 0xCD, 0, 0, 64, 1, 0, 0];
    header.extend(B.octets());
    header.extend(A.octets());
    sealed(header, &message)
}

/// `ping -s LEN` from a host with a longer MTU: the answer comes, in packets of at most ours.
#[test]
fn an_echo_longer_than_the_mtu_is_answered() {
    for (mtu, len) in [(296, 200), (296, 500), (296, 3000), (68, 1400), (1500, 20_000)] {
        let mut stack = Stack::open(&config(A, B, mtu), &mut |_| {}).unwrap();
        let request = echo_request(len);
        let mut parts = routed(&request, mtu);
        // The last first, as over two lines at once.
        parts.reverse();
        for part in &parts {
            stack.came(Duration::ZERO, part);
            stack.turn(Duration::ZERO);
        }
        let mut answer = vec![0; 8 + len];
        let (mut got, mut last) = (0, 0);
        while let Some(part) = stack.leaves() {
            assert!(part.len() <= mtu, "{} bytes, MTU {mtu}", part.len());
            assert_eq!(checksum(&part[..20]), 0, "the header's check");
            assert_eq!((&part[12..16], &part[16..20]), (&A.octets()[..], &B.octets()[..]));
            let field = usize::from(u16::from_be_bytes([part[6], part[7]]) & 0x3FFF);
            let (at, data) = ((field & 0x1FFF) * 8, &part[20..]);
            answer[at..at + data.len()].copy_from_slice(data);
            got += data.len();
            last += usize::from(field & 0x2000 == 0);
        }
        assert_eq!((got, last), (8 + len, 1), "MTU {mtu}, {len} bytes");
        assert_eq!((answer[0], checksum(&answer)), (0, 0));
        assert_eq!(answer[4..], request[24..], "MTU {mtu}, {len} bytes");
        let whole = stack.counts().fragments.whole;
        assert_eq!(whole, u64::from(parts.len() > 1));
    }
}

/// A fragment that is lost costs its packet, is counted, and holds nothing up.
#[test]
fn an_incomplete_packet_is_counted() {
    let mut stack = Stack::open(&config(A, B, 296), &mut |_| {}).unwrap();
    for (index, part) in routed(&echo_request(1000), 296).iter().enumerate() {
        if index != 1 {
            stack.came(Duration::ZERO, part);
        }
    }
    let now = Duration::from_secs(61);
    stack.came(now, &echo_request(10));
    stack.turn(now);
    assert_eq!(stack.leaves().map(|answer| answer.len()), Some(38));
    assert_eq!(stack.leaves(), None);
    assert_eq!(stack.counts().fragments.incomplete, 1);
}

/// Connections over a line of which every packet comes in fragments, out of order and some of them twice.
#[test]
fn connections_work_over_fragments() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let mut there = config(A, B, 1500);
    there.from_line = vec![format!("80:127.0.0.1:{}", server.port()).parse::<Forward>().unwrap()];
    let mut here = config(B, A, 1500);
    here.to_line = vec![format!("0:{A}:80").parse().unwrap()];
    let mut at: Option<SocketAddr> = None;
    let mut hear =
        |note: &str| at = note.strip_prefix("listening on ").and_then(|a| a.parse().ok());
    let mut stacks = [there, here].map(|config| Stack::open(&config, &mut hear).unwrap());
    let at = at.expect("it listens");
    let bytes: Vec<u8> = (0..60_000u32).map(|k| ((k * 31) ^ (k >> 7)) as u8).collect();
    let back = bytes.clone();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all.reverse();
        stream.write_all(&all).unwrap();
    });
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.write_all(&bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        got
    });
    let (began, mut dice) = (Instant::now(), Dice(1));
    while !client.is_finished() {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", stacks[0].counts());
        let now = began.elapsed();
        let mut moved = false;
        for from in [0, 1] {
            stacks[from].turn(now);
            while let Some(packet) = stacks[from].leaves() {
                let mut parts = routed(&packet, 200);
                for _ in 0..2 {
                    let (a, b) = (dice.roll(parts.len()), dice.roll(parts.len()));
                    parts.swap(a, b);
                }
                if dice.roll(3) == 0 {
                    parts.insert(0, parts[dice.roll(parts.len())].clone());
                }
                for part in parts {
                    stacks[1 - from].came(now, &part);
                    stacks[1 - from].turn(now);
                }
                moved = true;
            }
        }
        let wait = if moved { Duration::ZERO } else { Duration::from_millis(2) };
        let mut interests = Vec::new();
        for stack in &stacks {
            stack.wants(&mut interests);
        }
        let _ = event::wait(&mut interests, Some(wait));
    }
    let mut got = client.join().unwrap();
    got.reverse();
    assert!(got == back, "{} bytes came back", got.len());
    serving.join().unwrap();
    assert!(stacks.iter().all(|stack| stack.counts().fragments.whole > 10));
}
