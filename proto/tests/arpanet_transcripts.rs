//! What linux-ncp said and heard (vectors/arpanet), replayed against one host of ours with a server.

mod arpanet_server;
mod common;

use arpanet_server::Server;
use wetstring_proto::arpanet::ftp::Options;
use wetstring_proto::arpanet::imp;
use wetstring_proto::arpanet::leader::{Address, Form, Kind, Leader};
use wetstring_proto::arpanet::ncp::{Config, Ncp};
use wetstring_proto::{Cx, Instant, NoTrace};

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// Our host, and what it says, as its IMP gives it to the other host.
struct Ours {
    ncp: Ncp<Vec<u8>>,
    server: Server,
    said: Vec<Vec<u8>>,
}

const OWN: Address = Address { host: 0, imp: 2 };
const THEIRS: Address = Address { host: 0, imp: 1 };

impl Ours {
    /// Until it has nothing more to say; each message gets its RFNM at once.
    fn settle(&mut self) {
        for _ in 0..50 {
            let mut trace = NoTrace;
            let mut cx = Cx { now: Instant(1), trace: &mut trace };
            let moved = self.server.turn(&mut self.ncp.host(), &mut cx);
            let mut message = self.ncp.transmit(&mut cx).to_vec();
            self.ncp.transmitted(&mut cx, message.len());
            if message.is_empty() && !moved {
                return;
            }
            if message.is_empty() {
                continue;
            }
            let Some((_, leader)) = imp::forward(Form::Old, OWN, &mut message).unwrap() else {
                continue;
            };
            self.said.push(message);
            let mut told = [0; 12];
            let len = imp::answer(Form::Old, &leader, Kind::Rfnm, 0, &mut told);
            self.ncp.receive(&mut cx, &told[..len]);
        }
        panic!("it does not stop talking");
    }
}

/// Replays a recording; what was heard must be what is said, but for the filling to whole words.
fn replay(text: &str) -> usize {
    let config = Config { connections: 32, ..Config::default() };
    let memory = vec![0; config.memory()];
    let mut ours = Ours {
        ncp: Ncp::new(config, memory).unwrap(),
        server: Server::new(Options::default()),
        said: Vec::new(),
    };
    ours.settle();
    let mut heard = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (way, octets) = line.split_once(' ').unwrap();
        let mut octets = from_hex(octets);
        let leader = Leader::parse(Form::Old, &octets).unwrap();
        if leader.kind != Kind::Regular {
            continue;
        }
        if way == ">" {
            heard.push(octets);
            continue;
        }
        imp::forward(Form::Old, THEIRS, &mut octets).unwrap();
        // ncpd says its last CLSs to host 3/63.
        if leader.address != OWN {
            continue;
        }
        ours.ncp.receive(&mut Cx { now: Instant(1), trace: &mut NoTrace }, &octets);
        ours.settle();
    }
    let filled = |message: &Vec<u8>| {
        let mut message = message.clone();
        message.resize(message.len().next_multiple_of(2), 0);
        message
    };
    let said: Vec<Vec<u8>> = ours.said.iter().map(filled).collect();
    assert_eq!(said, heard);
    assert_eq!(ours.ncp.counts().damaged, 0);
    said.len()
}

#[test]
fn a_person_at_linux_ncp_talks_with_our_server() {
    assert!(replay(include_str!("../../vectors/arpanet/linux-ncp-ftp.transcript")) > 10);
}

#[test]
fn linux_ncp_pings() {
    assert_eq!(replay(include_str!("../../vectors/arpanet/linux-ncp-ping.transcript")), 2);
}
