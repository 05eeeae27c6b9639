//! Two small engines for datagrams: one sends numbered packets until each has been echoed, the other
//! echoes the numbers; with a listener and a dialer for them.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use wetstring_drive::datagram::endpoint::Below;
use wetstring_drive::datagram::host::{
    Acceptor, DialError, HostOptions, ListenStats, Peer, SessionHandler, SessionParts, dial, listen,
};
use wetstring_drive::datagram::{Credentials, Endpoint, Limits, PublicKey};
use wetstring_drive::run::{Ended, NoWatch};
use wetstring_proto::engine::{Command, Cx, Engine, Event, Outcome, Status, Wants};
use wetstring_proto::file::{Reply, Request};
use wetstring_proto::stats::Stats;
use wetstring_proto::time::Instant;
use wetstring_proto::{Blame, Failure, FailureKind, NoTrace};
use wetstring_testkit::NoFiles;

const AGAIN: Duration = Duration::from_millis(50);
const LINGER: Duration = Duration::from_millis(300);

/// Sends or echoes.
pub struct Pump {
    sends: bool,
    len: usize,
    count: u32,
    /// Sender: not echoed yet. Echoer: not received yet.
    open: BTreeSet<u32>,
    /// To be sent in this round, or to be echoed.
    queue: Vec<u32>,
    round: u32,
    packet: Vec<u8>,
    deadline: Option<Instant>,
    lingers: Option<Instant>,
    now: Instant,
    stats: Stats,
    /// Number and round of every packet that came.
    seen: BTreeSet<(u32, u32)>,
    /// Packets that came twice in one round.
    pub twice: u32,
    aborted: bool,
}

impl Pump {
    pub fn new(sends: bool, count: u32, len: usize) -> Self {
        Self {
            sends,
            len,
            count,
            open: (0..count).collect(),
            queue: if sends { (0..count).collect() } else { Vec::new() },
            round: 0,
            packet: Vec::new(),
            deadline: sends.then_some(Instant::ZERO),
            lingers: None,
            now: Instant::ZERO,
            stats: Stats::default(),
            seen: BTreeSet::new(),
            twice: 0,
            aborted: false,
        }
    }
}

impl Engine for Pump {
    fn receive(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> usize {
        self.now = cx.now;
        self.stats.packets_in += 1;
        let word = |at: usize| {
            bytes.get(at..at + 4).map(|word| u32::from_be_bytes(word.try_into().unwrap()))
        };
        let (Some(number), Some(round)) = (word(0), word(4)) else { return bytes.len() };
        if self.sends {
            self.open.remove(&number);
        } else {
            self.twice += u32::from(!self.seen.insert((number, round)));
            assert!(bytes[8..].iter().all(|byte| *byte == number as u8), "damaged");
            self.open.remove(&number);
            self.queue.push(number);
            self.stats.file_bytes += bytes.len() as u64;
        }
        if self.open.is_empty() {
            // A sender that retransmits has missed an echo: a busy machine may need several rounds.
            self.lingers = Some(cx.now + if self.sends { Duration::ZERO } else { LINGER });
            self.deadline = self.lingers;
        }
        bytes.len()
    }

    fn transmit(&mut self, cx: &mut Cx<'_>) -> &[u8] {
        self.now = cx.now;
        while self.sends && self.queue.first().is_some_and(|number| !self.open.contains(number)) {
            self.queue.remove(0);
        }
        let Some(number) = self.queue.first() else { return &[] };
        self.packet.clear();
        self.packet.extend(number.to_be_bytes());
        self.packet.extend(self.round.to_be_bytes());
        if self.sends {
            self.packet.resize(self.len, *number as u8);
        }
        &self.packet
    }

    fn transmitted(&mut self, cx: &mut Cx<'_>, len: usize) {
        if len > 0 && !self.queue.is_empty() {
            self.queue.remove(0);
            self.stats.packets_out += 1;
        }
        if self.sends && self.queue.is_empty() {
            self.deadline = Some(cx.now + AGAIN);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn tick(&mut self, cx: &mut Cx<'_>) {
        self.now = cx.now;
        if self.deadline.is_some_and(|at| at <= cx.now) {
            self.deadline = None;
            if self.sends && self.queue.is_empty() {
                self.round += 1;
                self.queue = self.open.iter().copied().collect();
            }
        }
    }

    fn request(&mut self) -> Option<Request<'_>> {
        None
    }
    fn reply(&mut self, _: &mut Cx<'_>, _: Reply<'_>) {}
    fn event(&mut self) -> Option<Event<'_>> {
        None
    }
    fn command(&mut self, _: &mut Cx<'_>, command: Command) {
        self.aborted |= command == Command::Abort;
    }
    fn wants(&self) -> Wants {
        Wants::INPUT
    }
    fn status(&self) -> Status {
        let failed = Failure { blame: Blame::Local, kind: FailureKind::Aborted };
        match self.lingers {
            _ if self.aborted => Status::Over(Outcome::Failed(failed)),
            Some(until) if self.now >= until => Status::Over(Outcome::Done),
            Some(_) => Status::Lingering(Outcome::Done),
            None => Status::Running,
        }
    }
    fn stats(&self) -> &Stats {
        &self.stats
    }
}

/// How a handler ended.
#[derive(Clone, Debug)]
pub struct Finished {
    pub outcome: Outcome,
    pub peer: Peer,
    pub packets_in: u64,
    pub file_bytes: u64,
    pub twice: u32,
}

pub struct Guest {
    pump: Pump,
    peer: Peer,
    store: NoFiles,
    watch: NoWatch,
    out: Arc<Mutex<Vec<Finished>>>,
}

impl Guest {
    pub fn new(pump: Pump, peer: Peer, out: &Arc<Mutex<Vec<Finished>>>) -> Self {
        Self { pump, peer, store: NoFiles, watch: NoWatch, out: Arc::clone(out) }
    }
}

impl SessionHandler for Guest {
    fn parts(&mut self) -> SessionParts<'_> {
        SessionParts { engine: &mut self.pump, store: &mut self.store, watch: &mut self.watch }
    }
    fn over(&mut self, ended: &Ended) {
        self.out.lock().unwrap().push(Finished {
            outcome: ended.outcome,
            peer: self.peer.clone(),
            packets_in: ended.stats.packets_in,
            file_bytes: ended.stats.file_bytes,
            twice: self.pump.twice,
        });
    }
}

/// What a listener is like.
#[derive(Clone)]
pub struct House {
    pub credentials: Credentials,
    pub limits: Limits,
    /// It ends after this many sessions.
    pub sessions: usize,
    pub count: u32,
    pub allowed: Option<PublicKey>,
    pub below: Below,
    pub at: &'static str,
}

impl House {
    pub fn new(credentials: Credentials, count: u32) -> Self {
        let (limits, sessions, allowed) = (Limits::default(), 1, None);
        let (below, at) = (Below::Udp, "127.0.0.1:0");
        Self { credentials, limits, sessions, count, allowed, below, at }
    }

    /// Listens on a thread.
    pub fn open(self) -> Listener {
        let (tell, told) = channel();
        let out = Arc::new(Mutex::new(Vec::new()));
        let finished = Arc::clone(&out);
        let thread = std::thread::spawn(move || self.stand(&tell, &out));
        let at = told.recv_timeout(Duration::from_secs(10)).expect("it listens");
        Listener { at, thread, finished }
    }

    fn stand(self, tell: &Sender<SocketAddr>, out: &Arc<Mutex<Vec<Finished>>>) -> ListenStats {
        let endpoint = Endpoint::listen(self.below, self.at.parse().unwrap()).expect("a socket");
        tell.send(endpoint.local().unwrap()).unwrap();
        let mut trace = NoTrace;
        let mut options = HostOptions::new(&mut trace);
        options.limits = self.limits;
        let mut desk = Desk { house: &self, left: self.sessions, out };
        listen(endpoint, self.credentials.clone(), &mut desk, options).expect("it runs")
    }
}

struct Desk<'h> {
    house: &'h House,
    left: usize,
    out: &'h Arc<Mutex<Vec<Finished>>>,
}

impl<'h> Acceptor<'h> for Desk<'h> {
    fn admit(&mut self, peer: &Peer) -> Result<Box<dyn SessionHandler + 'h>, String> {
        if self.house.allowed.is_some_and(|key| peer.key != Some(key)) {
            return Err("this key is not allowed".to_owned());
        }
        let pump = Pump::new(false, self.house.count, 0);
        Ok(Box::new(Guest::new(pump, peer.clone(), self.out)))
    }
    fn keep_listening(&mut self, _: usize) -> bool {
        self.left -= 1;
        self.left > 0
    }
}

pub struct Listener {
    pub at: SocketAddr,
    thread: JoinHandle<ListenStats>,
    finished: Arc<Mutex<Vec<Finished>>>,
}

impl Listener {
    pub fn end(self) -> (ListenStats, Vec<Finished>) {
        let stats = self.thread.join().expect("no panic");
        let finished = self.finished.lock().unwrap().clone();
        (stats, finished)
    }
}

/// Dials and pumps.
pub fn pump(
    below: Below,
    to: SocketAddr,
    credentials: &Credentials,
    (count, len): (u32, usize),
) -> Result<Finished, DialError> {
    let endpoint = Endpoint::dial(below, to)?;
    let mut trace = NoTrace;
    let mut options = HostOptions::new(&mut trace);
    options.limits.idle = Duration::from_secs(10);
    let dialled = dial(endpoint, to, credentials, &mut |_| Ok(()), &options)?;
    let peer = dialled.peer().clone();
    let len = len.min(peer.packet_max);
    let out = Arc::new(Mutex::new(Vec::new()));
    let guest = Guest::new(Pump::new(true, count, len), peer, &out);
    dialled.run(Box::new(guest), options)?;
    let finished = out.lock().unwrap().pop().expect("it ended");
    Ok(finished)
}

/// A UDP relay between dialler and listener that does to each datagram what `treat` says.
pub struct Relay {
    pub at: SocketAddr,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Relay {
    /// `treat` gets whether the datagram goes to the listener, its number and its bytes, and returns
    /// what is sent instead.
    pub fn new(
        to: SocketAddr,
        mut treat: impl FnMut(bool, usize, &[u8]) -> Vec<Vec<u8>> + Send + 'static,
    ) -> Self {
        let near = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let far = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        far.connect(to).unwrap();
        let at = near.local_addr().unwrap();
        for socket in [&near, &far] {
            socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        }
        let (stop, stopped): (Sender<()>, Receiver<()>) = channel();
        let thread = std::thread::spawn(move || {
            let (mut buffer, mut dialler, mut counts) = (vec![0; 65_536], None, [0; 2]);
            while stopped.try_recv().is_err() {
                while let Ok((len, from)) = near.recv_from(&mut buffer) {
                    dialler = Some(from);
                    for out in treat(true, counts[0], &buffer[..len]) {
                        let _ = far.send(&out);
                    }
                    counts[0] += 1;
                }
                while let (Ok(len), Some(dialler)) = (far.recv(&mut buffer), dialler) {
                    for out in treat(false, counts[1], &buffer[..len]) {
                        let _ = near.send_to(&out, dialler);
                    }
                    counts[1] += 1;
                }
            }
        });
        Self { at, stop, thread }
    }

    pub fn end(self) {
        let _ = self.stop.send(());
        self.thread.join().expect("no panic");
    }
}
