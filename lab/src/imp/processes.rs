//! A host in the laboratory: its NCP, and the processes that transfer files over it.

use super::SubnetModel;
use super::typist::Terminal;
use crate::element::{Element, End};
use crate::net::DATAGRAM_MAX;
use crate::pattern::{PatternSink, PatternSource};
use crate::store::{MemoryFile, MemorySink, MemorySource};
use crate::trace::Recorder;
use wetstring_proto::TraceEvent;
use wetstring_proto::arpanet::Config;
use wetstring_proto::arpanet::ftp::{Asked, Client, Denial, Granted, Service};
use wetstring_proto::arpanet::icp::SOCKETS;
use wetstring_proto::arpanet::ncp::{self, Ncp};
use wetstring_proto::{Cx, Event, Instant, Outcome, Request, Stats, Store};

/// Connections of a host: eight transfers have three each, plus the interactive one.
const CONNECTIONS: u8 = 32;
/// The first sockets of user and server processes.
const USERS: u32 = 0x100;
const SERVERS: u32 = 0x200;

/// The content of the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// The pattern of [`crate::pattern`], with this many octets.
    Pattern(u64),
    /// This file.
    File(MemoryFile),
}

/// The destination of a file.
#[derive(Debug)]
pub(super) enum Sink {
    Pattern(PatternSink),
    Memory(MemorySink),
}

impl Sink {
    fn new(content: &Content) -> Self {
        match content {
            Content::Pattern(_) => Self::Pattern(PatternSink::new()),
            Content::File(_) => Self::Memory(MemorySink::new()),
        }
    }

    /// Whether exactly this file was received.
    pub(super) fn has(&self, content: &Content, same: &dyn Fn(&MemorySink) -> bool) -> bool {
        match (self, content) {
            (Self::Pattern(sink), Content::Pattern(len)) => sink.has_all(*len),
            (Self::Memory(sink), _) => same(sink),
            (Self::Pattern(_), Content::File(_)) => false,
        }
    }

    fn store(&mut self) -> &mut dyn Store {
        match self {
            Self::Pattern(sink) => sink,
            Self::Memory(sink) => sink,
        }
    }
}

/// A user process, and the file that it stores at the other host.
pub(super) struct Sending {
    client: Client<Vec<u8>>,
    store: Box<dyn Store>,
    /// Its outcome, and when.
    pub(super) outcome: Option<(Outcome, Instant)>,
}

/// A server process, and the destination of its file.
pub(super) struct Receiving {
    service: Service<Vec<u8>>,
    pub(super) sink: Sink,
    pub(super) written: u64,
    /// When the data connection was open, and when the file was complete.
    pub(super) began: Option<Instant>,
    pub(super) ended: Option<Instant>,
}

/// One host.
pub(super) struct Side {
    pub(super) end: End,
    pub(super) ncp: Ncp<Vec<u8>>,
    config: Config,
    pub(super) sending: Vec<Sending>,
    pub(super) receiving: Vec<Receiving>,
    pub(super) terminal: Option<Terminal>,
    inbox: Vec<u8>,
}

/// The name of a host in a trace.
pub(super) fn name(end: End) -> &'static str {
    if end == End::A { "A" } else { "B" }
}

/// A sender's store with this content; the file's name identifies the transfer.
fn source(content: &Content, index: u32) -> Box<dyn Store> {
    let name = format!("file{index}");
    match content {
        Content::Pattern(len) => Box::new(PatternSource::new(name.as_bytes(), *len)),
        Content::File(file) => {
            let file = MemoryFile { name: name.into_bytes(), ..file.clone() };
            Box::new(MemorySource::one(file))
        }
    }
}

impl Side {
    /// A host whose processes have not started: end A has the users, end B the server.
    ///
    /// # Panics
    ///
    /// If a part of it does not fit into the memory that it requests.
    pub(super) fn new(end: End, config: Config, transfers: u8, content: &Content) -> Self {
        let ncp_config = ncp::Config { connections: CONNECTIONS, ..config.ncp.clone() };
        let memory = vec![0; ncp_config.memory()];
        let mut ncp = Ncp::new(ncp_config, memory).expect("memory as asked for");
        let with = SubnetModel::HOSTS[end.other().index()];
        let server = config.ftp.server;
        if end == End::B {
            ncp.host().listen(server, server).expect("a place to listen");
        }
        let users = if end == End::A { u32::from(transfers) } else { 0 };
        let sending = (0..users).map(|index| {
            let mut options = config.ftp.clone();
            options.socket = USERS + SOCKETS * index;
            let memory = vec![0; options.memory()];
            let client = Client::new(options, with, true, memory).expect("memory as asked for");
            Sending { client, store: source(content, index), outcome: None }
        });
        let sending = sending.collect();
        let (receiving, terminal, inbox) = (Vec::new(), None, vec![0; DATAGRAM_MAX]);
        Self { end, ncp, config, sending, receiving, terminal, inbox }
    }

    /// When it must be called next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let clients = self.sending.iter().filter_map(|of| of.client.deadline());
        let services = self.receiving.iter().filter_map(|of| of.service.deadline());
        self.ncp.deadline().into_iter().chain(clients).chain(services).min()
    }

    /// Runs its timers and processes; returns whether any of them sent a request to its store.
    pub(super) fn turn(
        &mut self,
        now: Instant,
        content: &Content,
        recorder: &mut Recorder,
    ) -> bool {
        let mut moved = false;
        if self.ncp.deadline().is_some_and(|at| at <= now) {
            let mut trace = recorder.of(name(self.end));
            self.ncp.tick(&mut Cx { now, trace: &mut trace });
        }
        self.welcome(now, content, recorder);
        for of in &mut self.sending {
            moved |= of.turn(now, &mut self.ncp, recorder);
        }
        for (index, of) in self.receiving.iter_mut().enumerate() {
            moved |= of.turn(now, index, &mut self.ncp, recorder);
        }
        moved
    }

    /// Accepts users of the server.
    fn welcome(&mut self, now: Instant, content: &Content, recorder: &mut Recorder) {
        if self.end == End::A {
            return;
        }
        let mut trace = recorder.of(name(self.end));
        let cx = &mut Cx { now, trace: &mut trace };
        let socket = SERVERS + SOCKETS * self.receiving.len() as u32;
        let (options, mut host) = (self.config.ftp.clone(), self.ncp.host());
        if let Some(service) = Service::answer(options, cx, &mut host, socket, |len| vec![0; len]) {
            let sink = Sink::new(content);
            self.receiving.push(Receiving { service, sink, written: 0, began: None, ended: None });
        }
    }

    /// Moves messages between the NCP and the element.
    pub(super) fn exchange(
        &mut self,
        now: Instant,
        element: &mut dyn Element,
        recorder: &mut Recorder,
    ) -> bool {
        let mut moved = false;
        loop {
            let mut trace = recorder.of(name(self.end));
            let message = self.ncp.transmit(&mut Cx { now, trace: &mut trace });
            if message.is_empty() {
                break;
            }
            let mut trace = recorder.of("line");
            let taken = element.offer(&mut Cx { now, trace: &mut trace }, self.end, message);
            if taken == 0 {
                break;
            }
            let mut trace = recorder.of(name(self.end));
            self.ncp.transmitted(&mut Cx { now, trace: &mut trace }, taken);
            moved = true;
        }
        loop {
            let mut trace = recorder.of("line");
            let came = element.emit(&mut Cx { now, trace: &mut trace }, self.end, &mut self.inbox);
            if came == 0 {
                return moved;
            }
            let mut trace = recorder.of(name(self.end));
            self.ncp.receive(&mut Cx { now, trace: &mut trace }, &self.inbox[..came]);
            moved = true;
        }
    }

    /// Its statistics, in the form of an engine's.
    pub(super) fn stats(&self) -> Stats {
        let files = self.sending.iter().map(|of| of.client.stats());
        let files = files.chain(self.receiving.iter().map(|of| of.service.stats()));
        let mut stats = Stats::default();
        for of in files {
            stats.file_bytes += of.file_bytes;
            stats.files_done += of.files_done;
        }
        self.ncp.counts().tell(&mut stats);
        stats
    }
}

impl Sending {
    fn turn(&mut self, now: Instant, ncp: &mut Ncp<Vec<u8>>, recorder: &mut Recorder) -> bool {
        let mut trace = recorder.of(name(End::A));
        let (mut host, cx) = (ncp.host(), &mut Cx { now, trace: &mut trace });
        if self.client.deadline().is_some_and(|at| at <= now) {
            self.client.tick(cx, &mut host);
        }
        self.client.pump(cx, &mut host);
        let mut moved = false;
        while let Some(request) = self.client.request() {
            let reply = self.store.answer(request);
            self.client.reply(cx, &mut host, reply);
            moved = true;
        }
        while self.client.event().is_some() {}
        if self.outcome.is_none() {
            self.outcome = self.client.status().outcome().map(|outcome| (outcome, now));
            if let Some((outcome, _)) = self.outcome {
                recorder.note(now, name(End::A), &TraceEvent::Settled(outcome));
            }
        }
        moved
    }
}

impl Receiving {
    /// Whether the user has left.
    pub(super) fn is_over(&self) -> bool {
        self.service.is_over()
    }

    fn turn(
        &mut self,
        now: Instant,
        index: usize,
        ncp: &mut Ncp<Vec<u8>>,
        recorder: &mut Recorder,
    ) -> bool {
        let mut trace = recorder.of(name(End::B));
        let (mut host, cx) = (ncp.host(), &mut Cx { now, trace: &mut trace });
        if self.service.deadline().is_some_and(|at| at <= now) {
            self.service.tick(cx, &mut host);
        }
        self.service.pump(cx, &mut host);
        let mut moved = false;
        while let Some(asked) = self.service.asked() {
            let granted = match asked {
                Asked::User(_) | Asked::Password { .. } => Granted::Yes,
                Asked::Retrieve(_) | Asked::List { .. } => Granted::No(Denial::NotFound),
            };
            self.service.grant(cx, &mut host, granted);
            moved = true;
        }
        while let Some(request) = self.service.request() {
            if let Request::Write { bytes, .. } = &request {
                self.written += bytes.len() as u64;
            }
            let reply = self.sink.store().answer(request);
            self.service.reply(cx, &mut host, reply);
            moved = true;
        }
        while let Some(event) = self.service.event() {
            let (when, word) = match event {
                Event::FileStarted { .. } => (&mut self.began, "begun"),
                Event::FileDone { .. } => (&mut self.ended, "done"),
                _ => continue,
            };
            *when = Some(now);
            let value = index as u64;
            recorder.note(now, "ftp", &TraceEvent::Value { name: word, value });
            if let Some(ended) = self.ended {
                recorder.note(ended, name(End::B), &TraceEvent::Settled(Outcome::Done));
            }
        }
        moved
    }
}
