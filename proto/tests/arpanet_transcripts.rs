//! What linux-ncp and the IMPs' own program said and heard (vectors/arpanet), replayed against one host of ours.

use crate::arpanet_server;
use crate::common;

use arpanet_server::Server;
use common::{File, Sink, Source};
use std::collections::VecDeque;
use wetstring_proto::arpanet::ftp::Options;
use wetstring_proto::arpanet::leader::{Address, Form, Kind, Leader};
use wetstring_proto::arpanet::ncp::{self, Echo, Ncp};
use wetstring_proto::arpanet::{Config, Receiver, Sender, imp};
use wetstring_proto::{Cx, Engine, Instant, Outcome, Status, Store};
use wetstring_testkit::Edges;

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// The lines of a recording: who speaks, and the message.
fn lines(text: &str) -> impl Iterator<Item = (&str, Vec<u8>)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').unwrap()).map(|(way, octets)| (way, from_hex(octets)))
}

const OWN: Address = Address { host: 0, imp: 2 };
const THEIRS: Address = Address { host: 0, imp: 1 };

/// A host of ours, and what runs on it.
trait Ours {
    fn hear(&mut self, cx: &mut Cx<'_>, message: &[u8]);
    /// The next message, taken; empty if there is none.
    fn say(&mut self, cx: &mut Cx<'_>) -> Vec<u8>;
    /// Lets the process continue; whether it did anything.
    fn turn(&mut self, cx: &mut Cx<'_>) -> bool;
}

/// A host with a process on it that is no engine.
struct On<P> {
    ncp: Ncp<Vec<u8>>,
    process: P,
}

impl<P> On<P> {
    fn new(process: P) -> Self {
        let config = ncp::Config { connections: 32, ..ncp::Config::default() };
        let memory = vec![0; config.memory()];
        Self { ncp: Ncp::new(config, memory).unwrap(), process }
    }
}

/// Echoes, one after the other: how many there are to be, and how many came back.
struct Echoes {
    count: u8,
    back: u8,
}

trait Process {
    fn turn(&mut self, host: &mut ncp::Host<'_>, cx: &mut Cx<'_>) -> bool;
}

impl Process for Server {
    fn turn(&mut self, host: &mut ncp::Host<'_>, cx: &mut Cx<'_>) -> bool {
        Server::turn(self, host, cx)
    }
}

impl Process for Echoes {
    fn turn(&mut self, host: &mut ncp::Host<'_>, cx: &mut Cx<'_>) -> bool {
        match host.echoed(THEIRS) {
            Some(Echo::Waiting) => return false,
            Some(Echo::Back { data, .. }) => {
                assert_eq!(data, self.back);
                self.back += 1;
            }
            Some(other) => panic!("{other:?}"),
            None => {}
        }
        self.back < self.count && host.echo(cx, THEIRS, self.back).is_ok()
    }
}

impl<P: Process> Ours for On<P> {
    fn hear(&mut self, cx: &mut Cx<'_>, message: &[u8]) {
        self.ncp.receive(cx, message);
    }

    fn say(&mut self, cx: &mut Cx<'_>) -> Vec<u8> {
        let message = self.ncp.transmit(cx).to_vec();
        self.ncp.transmitted(cx, message.len());
        message
    }

    fn turn(&mut self, cx: &mut Cx<'_>) -> bool {
        self.process.turn(&mut self.ncp.host(), cx)
    }
}

/// An engine with its store.
struct Calling<'e> {
    engine: &'e mut dyn Engine,
    store: &'e mut dyn Store,
}

impl Ours for Calling<'_> {
    fn hear(&mut self, cx: &mut Cx<'_>, message: &[u8]) {
        self.engine.receive(cx, message);
    }

    fn say(&mut self, cx: &mut Cx<'_>) -> Vec<u8> {
        let message = self.engine.transmit(cx).to_vec();
        self.engine.transmitted(cx, message.len());
        message
    }

    fn turn(&mut self, cx: &mut Cx<'_>) -> bool {
        let mut moved = false;
        while let Some(request) = self.engine.request() {
            let reply = self.store.answer(request);
            self.engine.reply(cx, reply);
            moved = true;
        }
        while self.engine.event().is_some() {}
        moved
    }
}

/// Lets a host talk until it has nothing more to say; `imp` is told every message.
fn settle(ours: &mut dyn Ours, cx: &mut Cx<'_>, imp: &mut dyn FnMut(Vec<u8>) -> Option<Vec<u8>>) {
    for _ in 0..60 {
        let moved = ours.turn(cx);
        let message = ours.say(cx);
        if message.is_empty() && !moved {
            return;
        }
        if let Some(told) = Some(message).filter(|message| !message.is_empty()).and_then(&mut *imp)
        {
            ours.hear(cx, &told);
        }
    }
    panic!("it does not stop talking");
}

/// Messages as a datagram has them: filled to whole words.
fn filled(mut message: Vec<u8>) -> Vec<u8> {
    message.resize(message.len().next_multiple_of(2), 0);
    message
}

/// Replays a recording of a host that we played the IMP for; what it heard must be what is said now, but for the filling to
/// whole words. Each message of ours gets its RFNM at once.
fn replay(ours: &mut dyn Ours, text: &str) -> usize {
    let cx = &mut Cx { now: Instant(1), trace: &mut Edges::new() };
    let (mut said, mut heard) = (Vec::new(), Vec::new());
    let mut imp = |mut message: Vec<u8>| {
        let (_, leader) = imp::forward(Form::Old, OWN, &mut message).unwrap()?;
        said.push(filled(message));
        let mut told = [0; 12];
        let len = imp::answer(Form::Old, &leader, Kind::Rfnm, 0, &mut told);
        Some(told[..len].to_vec())
    };
    settle(ours, cx, &mut imp);
    for (way, mut octets) in lines(text) {
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
        ours.hear(cx, &octets);
        settle(ours, cx, &mut imp);
    }
    assert_eq!(said, heard);
    said.len()
}

/// Replays a recording of our own host at an IMP: `<` is what the host said, `>` what the IMP did.
fn replay_at_imp(ours: &mut dyn Ours, text: &str) -> usize {
    let cx = &mut Cx { now: Instant(1), trace: &mut Edges::new() };
    let (mut said, mut expected) = (VecDeque::new(), 0);
    let mut imp = |message: Vec<u8>| {
        said.push_back(filled(message));
        None
    };
    settle(ours, cx, &mut imp);
    for (way, octets) in lines(text).filter(|(way, _)| *way == ">").collect::<Vec<_>>() {
        assert_eq!(way, ">");
        ours.hear(cx, &octets);
        settle(ours, cx, &mut imp);
    }
    for (_, octets) in lines(text).filter(|(way, _)| *way == "<") {
        assert_eq!(said.pop_front(), Some(octets), "message {expected}");
        expected += 1;
    }
    assert!(said.is_empty(), "{said:02x?}");
    expected
}

/// The first socket of the process that calls in a recording: that of its first RTS, on link 0.
fn first_socket(text: &str, form: Form, way: &str) -> u32 {
    let texts = lines(text).filter(|(who, _)| *who == way).filter_map(|(_, octets)| {
        let leader = Leader::parse(form, &octets).ok()?;
        (leader.kind == Kind::Regular && leader.link == 0)
            .then(|| octets[form.octets() + 5..].to_vec())
    });
    let rts = texts.into_iter().find(|text| text[0] == 1).expect("a RTS");
    u32::from_be_bytes([rts[1], rts[2], rts[3], rts[4]])
}

#[test]
fn linux_ncp_user_talks_to_our_server() {
    for text in [
        include_str!("../../vectors/arpanet/linux-ncp-ftp.transcript"),
        include_str!("../../vectors/arpanet/linux-ncp-gateway.transcript"),
    ] {
        let mut ours = On::new(Server::new(Options::default()));
        assert!(replay(&mut ours, text) > 10);
        assert_eq!(ours.ncp.counts().damaged, 0);
    }
}

#[test]
fn linux_ncp_is_refused_without_a_listener() {
    let mut ours = On::new(Server::new(Options::default()));
    let text = include_str!("../../vectors/arpanet/linux-ncp-finger.transcript");
    assert_eq!(replay(&mut ours, text), 2);
    assert_eq!(ours.ncp.counts().refused, 1);
}

#[test]
fn linux_ncp_pings_and_answers() {
    let mut ours = On::new(Server::new(Options::default()));
    let text = include_str!("../../vectors/arpanet/linux-ncp-ping.transcript");
    assert_eq!(replay(&mut ours, text), 2);
    let mut ours = On::new(Echoes { count: 3, back: 0 });
    let text = include_str!("../../vectors/arpanet/linux-ncp-echo.transcript");
    assert_eq!(replay(&mut ours, text), 3);
    assert_eq!(ours.process.back, 3);
}

#[test]
pub(crate) fn we_call_a_server_at_linux_ncp() {
    let text = include_str!("../../vectors/arpanet/linux-ncp-server.transcript");
    let mut config = Config { to: THEIRS, ..Config::default() };
    config.ftp.socket = first_socket(text, Form::Old, ">");
    let memory = vec![0; config.receiver_memory()];
    let mut engine = Receiver::new(config, memory).unwrap();
    assert!(engine.want(b"file.txt"));
    let mut sink = Sink::new();
    let mut ours = Calling { engine: &mut engine, store: &mut sink };
    assert_eq!(replay(&mut ours, text), 14);
    assert_eq!(engine.status(), Status::Over(Outcome::Done));
    assert_eq!((engine.stats().files_done, engine.stats().files_skipped), (0, 1));
}

#[test]
fn file_transfer_over_imp_program() {
    let wave: Vec<u8> = (0..1000_u32).map(|n| (n % 251) as u8).collect();
    for (form, byte, text) in [
        (Form::Old, 8, include_str!("../../vectors/arpanet/imp-store.transcript")),
        (Form::New, 36, include_str!("../../vectors/arpanet/imp-store-new.transcript")),
    ] {
        let mut config = Config { to: OWN, ..Config::default() };
        config.ftp.socket = first_socket(text, form, "<");
        config.ncp.form = form;
        config.ftp.byte = byte;
        let memory = vec![0; config.sender_memory()];
        let mut engine = Sender::new(config, memory).unwrap();
        let mut source = Source::new(vec![File::new("wave.bin", &wave)]);
        let mut ours = Calling { engine: &mut engine, store: &mut source };
        assert!(replay_at_imp(&mut ours, text) > 10, "{form:?}");
        assert_eq!(engine.status(), Status::Over(Outcome::Done), "{form:?}");
        assert_eq!(engine.stats().files_done, 1);
    }
}
