//! The program against an end that is not ours: it sends by RFC 998, gives a bare name, knows none of our
//! strings, and loses what it is told to lose. Also two of ours over a path that loses much.

use crate::common;

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use common::{Desk, Running, run, wst};
use wetstring_proto::netblt::control::{Message, messages};
use wetstring_proto::netblt::packet::{Body, Data, Packet, Ports, Terms, data_checksum};
use wetstring_testkit::Dice;

const LEN: usize = 50_000;
const PACKET: usize = 1000;
const BUFFER: usize = 10_000;
const LIMIT: Duration = Duration::from_secs(40);

/// A sender by the letter.
struct Stranger {
    socket: UdpSocket,
    ports: Ports,
    bytes: Vec<u8>,
    /// Number of the first buffer, once granted.
    base: Option<u32>,
    /// The last packet but one of the last buffer is held back until it is asked for.
    hole: bool,
    /// Control messages by number, and the highest below which none is missing.
    heard: BTreeSet<u16>,
    high: u16,
    done: bool,
}

impl Stranger {
    fn new(socket: UdpSocket, ports: Ports, bytes: &[u8]) -> Self {
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a limit");
        let (bytes, heard) = (bytes.to_vec(), BTreeSet::new());
        Self { socket, ports, bytes, base: None, hole: true, heard, high: 0, done: false }
    }

    fn terms(&self, name: &'static str, id: u32) -> Terms<'static> {
        Terms {
            id,
            buffer_size: BUFFER as u32,
            transfer_size: self.bytes.len() as u32,
            packet_size: PACKET as u16,
            burst_size: 5,
            burst_interval_ms: 2,
            death_s: 60,
            write: true,
            checksum: true,
            outstanding: 2,
            client: name.as_bytes(),
        }
    }

    fn say(&self, body: Body<'_>) {
        let mut out = [0; 2000];
        let len = Packet { ports: self.ports, body }.put(&mut out).expect("there is room");
        self.socket.send(&out[..len]).expect("it leaves");
    }

    /// The next datagram, if one comes within a tenth of a second.
    fn hear(&self, into: &mut [u8]) -> Option<usize> {
        self.socket.recv(into).ok()
    }

    fn put(&self, index: usize, packet: usize) {
        let from = index * BUFFER + packet * PACKET;
        let end = ((index + 1) * BUFFER).min(self.bytes.len());
        if from >= end {
            // There is no such packet.
            return;
        }
        let bytes = &self.bytes[from..(from + PACKET).min(end)];
        let data = Data {
            buffer: self.base.expect("granted").wrapping_add(index as u32),
            high: self.high,
            packet: packet as u16,
            last_of_buffer: from + PACKET >= end,
            last_buffer: end == self.bytes.len(),
            checksum: data_checksum(bytes),
            bytes,
        };
        self.say(Body::Data(data));
    }

    fn control(&mut self, body: &[u8]) {
        let each = BUFFER / PACKET;
        let last = self.bytes.len() / BUFFER - 1;
        for (sequence, message) in messages(body) {
            let fresh = self.heard.insert(sequence);
            while self.heard.contains(&(self.high + 1)) {
                self.high += 1;
            }
            match message {
                Message::Go { buffer } if fresh => {
                    let index = buffer.wrapping_sub(*self.base.get_or_insert(buffer)) as usize;
                    let held = self.hole && index == last;
                    for packet in (0..each).filter(|at| !(held && *at == each - 2)) {
                        self.put(index, packet);
                        std::thread::sleep(Duration::from_micros(400));
                    }
                }
                Message::Resend { buffer, packets } => {
                    let index = buffer.wrapping_sub(self.base.expect("granted")) as usize;
                    packets.iter().for_each(|packet| self.put(index, usize::from(packet)));
                }
                Message::Ok { buffer, .. } => {
                    let index = buffer.wrapping_sub(self.base.expect("granted")) as usize;
                    self.done |= index == last;
                }
                Message::Go { .. } | Message::Rate { .. } => {}
            }
        }
        let (high, burst_size, burst_interval_ms) = (self.high, 5, 2);
        self.say(Body::NullAck { high, burst_size, burst_interval_ms });
    }

    /// Sends all of it once there is a RESPONSE. The first `deaf` CONTROL packets are lost.
    fn send(&mut self, mut deaf: u32) {
        let (began, mut into) = (Instant::now(), [0; 2000]);
        while !self.done {
            assert!(began.elapsed() < LIMIT, "it does not end");
            let Some(len) = self.hear(&mut into) else {
                self.say(Body::KeepAlive);
                continue;
            };
            match Packet::parse(&into[..len]).map(|packet| packet.body) {
                Ok(Body::Control(_)) if deaf > 0 => deaf -= 1,
                Ok(Body::Control(list)) => self.control(list),
                Ok(Body::Abort(why)) => panic!("aborted: {}", String::from_utf8_lossy(why)),
                _ => {}
            }
        }
        // It dallies.
        let until = Instant::now() + Duration::from_millis(500);
        while Instant::now() < until {
            let Some(len) = self.hear(&mut into) else { continue };
            if let Ok(Packet { body: Body::Control(list), .. }) = Packet::parse(&into[..len]) {
                self.control(list);
            }
        }
    }
}

#[test]
fn a_bare_name_of_any_length_arrives_whole_though_a_hole_is_filled_last() {
    for (name, deaf) in [
        ("a", 0),
        ("abc", 2),
        ("twenty-three-characters", 0),
        ("a-name-of-forty-three-characters-as-an-test", 2),
    ] {
        let desk = Desk::new(LEN);
        let into = desk.path("in");
        let args = ["receive", "udp-listen://127.0.0.1:0", "--plain", "-o", &into];
        let running = Running::start(wst(args));
        let at: SocketAddr = running.says("listening on ").parse().expect("an address");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(at).expect("its peer");
        let ports = Ports { local: 4000, foreign: 7000 };
        let mut stranger = Stranger::new(socket, ports, &desk.bytes);
        let (terms, mut bytes) = (stranger.terms(name, 99), [0; 2000]);
        let answered = (0..20).any(|_| {
            stranger.say(Body::Open(terms));
            std::iter::from_fn(|| stranger.hear(&mut bytes).map(|len| bytes[..len].to_vec()))
                .take(3)
                .any(|came| {
                    let packet = Packet::parse(&came).map(|packet| packet.body);
                    matches!(packet, Ok(Body::Response(_)))
                })
        });
        assert!(answered, "{name}: no RESPONSE");
        stranger.send(deaf);
        let ended = running.end();
        assert_eq!(ended.code(), 0, "{name}: {}", ended.stderr);
        let came = std::fs::read(format!("{into}/{name}")).expect("the file");
        assert_eq!(came.len(), LEN, "{name}: {}", ended.stderr);
        assert!(came == desk.bytes, "{name}");
    }
}

#[test]
fn a_file_that_was_fetched_from_a_stranger_is_not_asked_for_again() {
    let desk = Desk::new(LEN);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let (line, into) =
        (format!("udp://{}", socket.local_addr().expect("its own")), desk.path("in"));
    let running = Running::start(wst(["receive", &line, "--plain", "-o", &into]));
    let mut bytes = [0; 2000];
    let (len, from) = socket.recv_from(&mut bytes).expect("an OPEN");
    socket.connect(from).expect("its peer");
    let open = Packet::parse(&bytes[..len]).expect("a packet");
    let Body::Open(asked) = open.body else { panic!("{open:?}") };
    let ports = Ports { local: open.ports.foreign, foreign: open.ports.local };
    let mut stranger = Stranger::new(socket, ports, &desk.bytes);
    let terms = Terms { write: false, ..stranger.terms("f", asked.id) };
    stranger.say(Body::Response(terms));
    stranger.send(0);
    // It has gone.
    drop(stranger);
    let ended = running.end();
    assert_eq!(ended.code(), 0, "{}", ended.stderr);
    assert!(std::fs::read(format!("{into}/f")).expect("the file") == desk.bytes);
    assert_eq!(desk.names(), ["f"]);
}

/// A relay that loses three datagrams of ten, each way; ends when nothing comes for a while.
fn lossy(to: SocketAddr, seed: u64) -> SocketAddr {
    let front = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let at = front.local_addr().expect("its own");
    let back = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    back.connect(to).expect("its peer");
    for socket in [&front, &back] {
        socket.set_read_timeout(Some(Duration::from_millis(2))).expect("a limit");
    }
    std::thread::spawn(move || {
        let (mut dice, mut client, mut bytes) = (Dice(seed), None, vec![0; 65_536]);
        let mut drops = || dice.below(10) < 3;
        let mut last = Instant::now();
        while last.elapsed() < LIMIT {
            if let Ok((len, from)) = front.recv_from(&mut bytes) {
                client = Some(from);
                last = Instant::now();
                if !drops() {
                    let _ = back.send(&bytes[..len]);
                }
            }
            if let (Ok(len), Some(client)) = (back.recv(&mut bytes), client)
                && !drops()
            {
                let _ = front.send_to(&bytes[..len], client);
            }
        }
    });
    at
}

#[test]
fn a_small_file_gets_through_where_three_of_ten_are_lost() {
    let pair = |number: u64| {
        let desk = Desk::new(1000);
        let into = desk.path("in");
        let args = ["receive", "udp-listen://127.0.0.1:0", "--plain", "-o", &into];
        let running = Running::start(wst(args));
        let at = running.says("listening on ").parse().expect("an address");
        let line = format!("udp://{}", lossy(at, number * 7919 + 1));
        let (file, began) = (desk.path("data.bin"), Instant::now());
        let sent = run(wst(["send", &file, &line, "--plain"]));
        let took = began.elapsed();
        println!("{number}: {} after {took:?}; {}", sent.code(), sent.stderr.trim());
        if sent.code() != 0 || took > LIMIT {
            running.signal(rustix::process::Signal::INT);
            running.end();
            return false;
        }
        running.end();
        desk.arrived();
        true
    };
    let threads: Vec<_> = (0..12).map(|number| std::thread::spawn(move || pair(number))).collect();
    let done = threads.into_iter().map(|one| one.join().expect("a pair"));
    assert_eq!(done.filter(|done| *done).count(), 12, "of 12");
}
