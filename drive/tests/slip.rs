//! The loop of `wst slip` over a scripted port: damage at the port, and how it ends.

use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::process::ExitStatus;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wetstring_drive::event::Source;
use wetstring_drive::os::stream::{self, Stream};
use wetstring_drive::slip::{Inside, Outcome, Plan, Stop, run};
use wetstring_drive::stack::{Stack, StackConfig};
use wetstring_drive::{Port, PortFacts};
use wetstring_proto::checksum::checksum;
use wetstring_proto::slip::frame::END;
use wetstring_proto::slip::{Config, frame};

const LOCAL: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const REMOTE: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

/// A socket that says of itself that it marks damage, as a serial port does.
struct Marking {
    socket: Stream,
    facts: PortFacts,
}

impl Marking {
    fn new(socket: Stream) -> Self {
        socket.set_nonblocking(true).unwrap();
        let facts = PortFacts { reliable: Some(false), clear: true, ..PortFacts::named("marking") };
        Self { socket, facts }
    }
}

impl Port for Marking {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self.socket.read(into) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            other => other.map(Some),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        self.socket.write(bytes).map(Some)
    }

    fn mark_damage(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn read_source(&self) -> Source<'_> {
        Source::of(&self.socket)
    }

    fn write_source(&self) -> Source<'_> {
        Source::of(&self.socket)
    }

    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn finish(&mut self, _: Duration) -> io::Result<Option<ExitStatus>> {
        Ok(None)
    }
}

/// A stack behind such a port until it closes; and the opposite port.
fn start() -> (Stream, JoinHandle<Outcome>) {
    let (here, there) = stream::pair().unwrap();
    there.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let running = thread::spawn(move || {
        let config = StackConfig {
            local: LOCAL,
            remote: REMOTE,
            mtu: 296,
            window_bytes: 4096,
            connections: 4,
            dns: None,
            to_line: Vec::new(),
            from_line: Vec::new(),
            socks: None,
        };
        let mut inside = Inside::Stack(Box::new(Stack::open(&config, &mut |_| {}).unwrap()));
        let plan = Plan { link: Config::new(296), signals: None, ping: None, statistics: None };
        let mut port = Some(Box::new(Marking::new(here)) as Box<dyn Port>);
        run(&plan, &mut inside, &mut || port.take().map(Ok), &mut |_| {}).unwrap()
    });
    (there, running)
}

/// A ping to the stack, whose data are FFs.
fn ping(number: u8) -> Vec<u8> {
    let mut icmp = vec![8, 0, 0, 0, 0x12, 0x34, 0, number, 0xFF, 0xFF, 0xFF, number];
    let sum = checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut ip = vec![0x45, 0, 0, 32, 0, number, 0, 0, 64, 1, 0, 0];
    ip.extend(REMOTE.octets());
    ip.extend(LOCAL.octets());
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip.extend(icmp);
    ip
}

/// Its frame, as a port that marks damage gives it.
fn marked(packet: &[u8]) -> Vec<u8> {
    let mut wire = vec![0; frame::longest(packet.len())];
    let len = frame::encode(packet, true, &mut wire).unwrap();
    wire[..len].iter().flat_map(|byte| vec![*byte; 1 + usize::from(*byte == 0xFF)]).collect()
}

/// The number of the next ping that is answered.
fn answered(line: &mut Stream) -> u8 {
    let (mut all, mut byte) = (Vec::new(), [0]);
    loop {
        line.read_exact(&mut byte).unwrap();
        match byte[0] {
            END if all.is_empty() => {}
            END => break,
            byte => all.push(byte),
        }
    }
    assert_eq!((all[20], &all[24..31]), (0, &[0x12, 0x34, 0, all[31], 0xFF, 0xFF, 0xFF][..]));
    all[31]
}

/// A damaged character drops its frame, and no other; FF is a byte like others.
#[test]
fn a_damaged_character_drops_its_frame() {
    let (mut line, running) = start();
    line.write_all(&marked(&ping(1))).unwrap();
    assert_eq!(answered(&mut line), 1);
    // The checksums would not detect it: the byte marked by the port is the byte as sent.
    let mut damaged = marked(&ping(2));
    let at = damaged.len() - 2;
    damaged.splice(at..at, [0xFF, 0]);
    line.write_all(&damaged).unwrap();
    line.write_all(&marked(&ping(3))).unwrap();
    assert_eq!(answered(&mut line), 3);
    // A break between frames costs none.
    line.write_all(&[0xFF, 0, 0]).unwrap();
    line.write_all(&marked(&ping(4))).unwrap();
    assert_eq!(answered(&mut line), 4);
    drop(line);
    let outcome = running.join().unwrap();
    assert_eq!(outcome.stop, Stop::Closed);
    assert_eq!(outcome.link.decoder_stats().line_errors, 2);
    assert_eq!((outcome.link.stats().received, outcome.link.stats().refused), (3, 0));
}
