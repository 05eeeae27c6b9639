//! A user-space IP stack for one end of a line: without the right to create a network interface, it reaches
//! hosts on the line, and lets them reach this machine.
//!
//! ```text
//! programs <-> sockets of this machine <-> [Joint] <-> smoltcp <-> IP packets <-> the line
//! ```
//!
//! [`Stack`] listens on this machine for each `-L` forward and for SOCKS 5, and on the line for each `-R`
//! forward; an incoming connection is joined to one on the other side. It answers pings, and sends some on
//! request. Nothing from the line reaches this machine except by an `-R` forward.
//!
//! The stack owns no thread and no clock: [`Stack::turn`] does what can be done at the given time;
//! [`Stack::wants`] and [`Stack::due`] say what to wait for. Memory is bounded by [`StackConfig::connections`]
//! times two buffers of [`StackConfig::window_bytes`], and 256 KiB of fragments.

mod device;
mod forward;
mod fragments;
mod joint;
mod ping;
mod socks;

use crate::event::{Interest, Source};
use crate::os_error::in_words;
use crate::port::OpenError;
use device::Queues;
pub use forward::{BadForward, Forward};
pub use fragments::FragmentCounts;
use joint::Joint;
pub use ping::Answer;
use ping::Pings;
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::{dns, tcp};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

/// Sockets that listen on the line for one forward: the maximum of connections that begin at once.
const BACKLOG: usize = 4;
/// Reports of refused connections that wait to be told.
const REFUSALS: usize = 16;
/// A peer that has acknowledged nothing for this long, while data was outstanding, is gone.
const TIMEOUT: smoltcp::time::Duration = smoltcp::time::Duration::from_secs(300);
/// Idle time before a keepalive (RFC 1122 4.2.3.6, which has two hours as the minimum default; here an idle
/// connection holds a slot).
const KEEP_ALIVE: smoltcp::time::Duration = smoltcp::time::Duration::from_secs(600);
/// A peer that has not answered two keepalives is gone.
const IDLE_TIMEOUT: smoltcp::time::Duration = smoltcp::time::Duration::from_secs(1500);
/// Private ports (RFC 6335), the source ports of connections.
const PRIVATE: u16 = 49_152;
/// The minimum MTU of IPv4.
const LEAST_MTU: usize = 68;

/// Configuration of a stack.
#[derive(Clone, Debug)]
pub struct StackConfig {
    /// Our address on the line.
    pub local: Ipv4Addr,
    /// The address of the peer, the default route.
    pub remote: Ipv4Addr,
    /// Longest IP packet, in bytes; 68 at least.
    pub mtu: usize,
    /// Buffer per direction of a connection, in bytes.
    pub window_bytes: usize,
    /// Maximum connections; more are refused.
    pub connections: usize,
    /// Name server for SOCKS, on the line. Without one, names are refused.
    pub dns: Option<Ipv4Addr>,
    /// Ports of this machine that are forwarded over the line (`-L`).
    pub to_line: Vec<Forward>,
    /// Ports of our address on the line that are forwarded to this machine (`-R`).
    pub from_line: Vec<Forward>,
    /// The address of the SOCKS 5 proxy.
    pub socks: Option<SocketAddr>,
}

/// Statistics of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StackCounts {
    /// Connections that were joined.
    pub joined: u64,
    /// Connections refused because there were too many, or because their other half could not be established.
    pub refused: u64,
    /// Fragment statistics.
    pub fragments: FragmentCounts,
    /// Packets from the line that were dropped because the queue was full.
    pub lost: u64,
}

/// A listening socket of this machine.
#[derive(Debug)]
struct Door {
    listener: TcpListener,
    /// Its target; `None` is SOCKS.
    to: Option<(Ipv4Addr, u16)>,
}

/// A port on the line that is forwarded to this machine.
#[derive(Debug)]
struct Hatch {
    port: u16,
    to: SocketAddr,
    waiting: Vec<SocketHandle>,
}

/// One end of a line that carries IP.
pub struct Stack {
    interface: Interface,
    sockets: SocketSet<'static>,
    queues: Queues,
    doors: Vec<Door>,
    hatches: Vec<Hatch>,
    joints: Vec<Joint>,
    pings: Option<Pings>,
    names: Option<SocketHandle>,
    window_bytes: usize,
    connections: usize,
    next_port: u16,
    counts: StackCounts,
    /// Connections that could not be established, and why.
    refusals: VecDeque<String>,
}

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stack")
            .field("doors", &self.doors)
            .field("hatches", &self.hatches)
            .field("joints", &self.joints.len())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl Stack {
    /// A stack that listens as configured; `notes` gets the addresses.
    ///
    /// # Errors
    ///
    /// A port that cannot be listened on, a name that has no IPv4 address.
    pub fn open(config: &StackConfig, notes: &mut dyn FnMut(&str)) -> Result<Self, OpenError> {
        let mut queues = Queues::new(config.local, config.mtu.max(LEAST_MTU));
        let mut settings = Config::new(HardwareAddress::Ip);
        // Unpredictable initial sequence numbers.
        let mut seed = [0; 8];
        getrandom::fill(&mut seed)
            .map_err(|error| OpenError::io("find random numbers", io::Error::other(error)))?;
        let seed = u64::from_le_bytes(seed);
        settings.random_seed = seed;
        let mut interface = Interface::new(settings, &mut queues, Instant::ZERO);
        interface.update_ip_addrs(|list| {
            // There is room for two in the list.
            let _ = list.push(IpCidr::new(IpAddress::Ipv4(config.local), 32));
        });
        let _ = interface.routes_mut().add_default_ipv4_route(config.remote);
        let mut sockets = SocketSet::new(Vec::new());
        let names = config
            .dns
            .map(|server| sockets.add(dns::Socket::new(&[IpAddress::Ipv4(server)], Vec::new())));
        let mut stack = Self {
            interface,
            sockets,
            queues,
            doors: Vec::new(),
            hatches: Vec::new(),
            joints: Vec::new(),
            pings: None,
            names,
            window_bytes: config.window_bytes.max(config.mtu),
            connections: config.connections,
            next_port: PRIVATE + (seed % 16_000) as u16,
            counts: StackCounts::default(),
            refusals: VecDeque::new(),
        };
        for forward in &config.to_line {
            let to = (behind(forward)?, forward.to);
            let bind = forward.bind.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
            let at = SocketAddr::new(bind, forward.port);
            stack.doors.push(Door { listener: listen(at, notes)?, to: Some(to) });
        }
        if let Some(at) = config.socks {
            stack.doors.push(Door { listener: listen(at, notes)?, to: None });
        }
        for (index, forward) in config.from_line.iter().enumerate() {
            from_line(config, &config.from_line[..index], forward)?;
            let to = here(forward)?;
            let mut hatch = Hatch { port: forward.port, to, waiting: Vec::new() };
            stack.refill(&mut hatch);
            stack.hatches.push(hatch);
        }
        Ok(stack)
    }

    /// A packet, or a fragment of one, was received over the line.
    pub fn came(&mut self, now: Duration, packet: &[u8]) {
        self.queues.came(now, packet);
    }

    /// The next packet for the line.
    pub fn leaves(&mut self) -> Option<Vec<u8>> {
        self.queues.take()
    }

    /// Sends a ping to this address with each call of [`Stack::ping_once`].
    pub fn ping(&mut self, to: Ipv4Addr) {
        self.pings = Some(Pings::new(&mut self.sockets, to));
    }

    /// Sends the next ping.
    pub fn ping_once(&mut self, now: Duration) {
        if let Some(pings) = &mut self.pings {
            pings.send(&mut self.sockets, now);
        }
    }

    /// The next answer to a ping.
    pub fn answer(&mut self, now: Duration) -> Option<Answer> {
        self.pings.as_mut()?.answer(&mut self.sockets, now)
    }

    /// A connection that could not be established: which, and why.
    pub fn refusal(&mut self) -> Option<String> {
        self.refusals.pop_front()
    }

    /// The statistics.
    pub fn counts(&self) -> StackCounts {
        let (fragments, lost) = self.queues.counts();
        StackCounts { fragments, lost, ..self.counts }
    }

    /// Connections that are established, or being established.
    pub fn open_connections(&self) -> usize {
        self.joints.len()
    }

    /// Does what can be done now: `now` is the time since the stack was opened.
    pub fn turn(&mut self, now: Duration) {
        let at = instant(now);
        // Each pass may free what the next one needs; a few are enough, the rest is left to the next turn.
        for _ in 0..4 {
            let polled = self.interface.poll(at, &mut self.queues, &mut self.sockets);
            self.accept();
            self.take_in();
            let moved = self.pump(now);
            if !moved && matches!(polled, PollResult::None) {
                break;
            }
        }
        self.interface.poll(at, &mut self.queues, &mut self.sockets);
    }

    /// Time until [`Stack::turn`] must be called again.
    pub fn due(&mut self, now: Duration) -> Option<Duration> {
        let delay = self.interface.poll_delay(instant(now), &self.sockets);
        let delay = delay.map(|delay| Duration::from_micros(delay.total_micros()));
        self.joints.iter().filter_map(|joint| joint.due(now)).chain(delay).min()
    }

    /// What to wait for at this machine's sockets.
    pub fn wants<'a>(&'a self, into: &mut Vec<Interest<'a>>) {
        if self.joints.len() < self.connections {
            for door in &self.doors {
                into.push(Interest::read(Source::of(&door.listener)));
            }
        }
        into.extend(self.joints.iter().filter_map(|joint| joint.wants(&self.sockets)));
    }

    /// Accepts connections of local programs.
    fn accept(&mut self) {
        for index in 0..self.doors.len() {
            while self.joints.len() < self.connections {
                let door = &self.doors[index];
                let Ok((local, _)) = door.listener.accept() else { break };
                if local.set_nonblocking(true).is_err() {
                    continue;
                }
                let to = door.to;
                let handle = self.socket();
                let joint = Joint::from_here(handle, local, to);
                self.joints.push(joint);
            }
        }
    }

    /// Accepts connections from the line.
    fn take_in(&mut self) {
        let mut hatches = std::mem::take(&mut self.hatches);
        for hatch in &mut hatches {
            let mut index = 0;
            while index < hatch.waiting.len() {
                let handle = hatch.waiting[index];
                match self.sockets.get::<tcp::Socket<'_>>(handle).state() {
                    tcp::State::Listen | tcp::State::SynReceived => index += 1,
                    tcp::State::Closed => {
                        hatch.waiting.swap_remove(index);
                        self.sockets.remove(handle);
                    }
                    _ => {
                        hatch.waiting.swap_remove(index);
                        self.take_one(handle, hatch.to);
                    }
                }
            }
            self.refill(hatch);
        }
        self.hatches = hatches;
    }

    fn take_one(&mut self, handle: SocketHandle, to: SocketAddr) {
        let local = if self.joints.len() >= self.connections {
            Err("there are as many connections as are allowed".to_owned())
        } else {
            connect(to).map_err(|error| in_words(&error))
        };
        match local {
            Ok(local) => self.joints.push(Joint::from_line(handle, local, to)),
            Err(why) => {
                self.refused(format!("{to}: {why}"));
                self.sockets.get_mut::<tcp::Socket<'_>>(handle).abort();
                // Its RST is sent by the next poll; the finished joint is removed after that.
                self.joints.push(Joint::over(handle));
            }
        }
    }

    /// Moves data between the halves of each connection. True if anything moved.
    fn pump(&mut self, now: Duration) -> bool {
        let mut moved = false;
        let mut index = 0;
        while index < self.joints.len() {
            let port = self.next_port;
            let joint = &mut self.joints[index];
            let turned = joint.turn(now, &mut self.sockets, &mut self.interface, self.names, port);
            moved |= turned.moved;
            if turned.took_port {
                self.next_port = port.checked_add(1).unwrap_or(PRIVATE);
            }
            self.counts.joined += u64::from(turned.joined);
            if let Some(why) = turned.refused {
                self.refused(why);
            }
            if turned.over {
                let joint = self.joints.swap_remove(index);
                self.sockets.remove(joint.handle());
            } else {
                index += 1;
            }
        }
        moved
    }

    /// Counts a connection that could not be established. Only some are kept until they are told.
    fn refused(&mut self, why: String) {
        self.counts.refused += 1;
        if self.refusals.len() < REFUSALS {
            self.refusals.push_back(why);
        }
    }

    fn refill(&mut self, hatch: &mut Hatch) {
        while hatch.waiting.len() < BACKLOG {
            let handle = self.socket();
            // The socket is new, and the port is not 0.
            let _ = self.sockets.get_mut::<tcp::Socket<'_>>(handle).listen(hatch.port);
            hatch.waiting.push(handle);
        }
    }

    fn socket(&mut self) -> SocketHandle {
        let buffer = || tcp::SocketBuffer::new(vec![0; self.window_bytes]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        socket.set_timeout(Some(TIMEOUT));
        socket.set_keep_alive(Some(KEEP_ALIVE));
        socket.set_congestion_control(tcp::CongestionControl::Cubic);
        // Typing must not wait for the answer to the last key; the other side of the joint has coalesced
        // already.
        socket.set_nagle_enabled(false);
        self.sockets.add(socket)
    }
}

fn instant(now: Duration) -> Instant {
    Instant::from_micros(i64::try_from(now.as_micros()).unwrap_or(i64::MAX))
}

/// Whether this forward can listen on our address, in addition to the earlier ones.
fn from_line(config: &StackConfig, before: &[Forward], forward: &Forward) -> Result<(), OpenError> {
    let ours = |bind| bind == IpAddr::V4(config.local) || bind == IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let say = if forward.port == 0 {
        "expected a port from 1 to 65535, got 0".to_owned()
    } else if let Some(bind) = forward.bind.filter(|bind| !ours(*bind)) {
        format!("expected our address on the line, {}, or none, got {bind}", config.local)
    } else if before.iter().any(|other| other.port == forward.port) {
        format!("expected an unused port, got {} again", forward.port)
    } else {
        return Ok(());
    };
    let error = io::Error::new(io::ErrorKind::InvalidInput, say);
    Err(OpenError::io(format!("let {forward} lead here"), error))
}

/// The IPv4 address of a forward's target on the line.
fn behind(forward: &Forward) -> Result<Ipv4Addr, OpenError> {
    match addresses(forward)?.find(SocketAddr::is_ipv4) {
        Some(SocketAddr::V4(address)) => Ok(*address.ip()),
        _ => Err(none(forward, "an IPv4 address")),
    }
}

/// The address of a forward's target on this side.
fn here(forward: &Forward) -> Result<SocketAddr, OpenError> {
    addresses(forward)?.next().ok_or_else(|| none(forward, "an address"))
}

fn addresses(forward: &Forward) -> Result<impl Iterator<Item = SocketAddr> + use<>, OpenError> {
    let found = (forward.host.as_str(), forward.to).to_socket_addrs();
    found.map_err(|error| OpenError::io(format!("find {}", forward.host), error))
}

fn none(forward: &Forward, what: &str) -> OpenError {
    let say = format!("expected {what}, the name has none");
    OpenError::io(format!("find {}", forward.host), io::Error::other(say))
}

fn listen(at: SocketAddr, notes: &mut dyn FnMut(&str)) -> Result<TcpListener, OpenError> {
    let failed = |error: io::Error| OpenError::io(format!("listen on {at}"), error);
    let listener = TcpListener::bind(at).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    notes(&format!("listening on {}", listener.local_addr().map_err(failed)?));
    Ok(listener)
}

/// Begins a local connection without waiting for it.
fn connect(to: SocketAddr) -> io::Result<std::net::TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(crate::os::net::IN_PROGRESS) => Err(error),
        _ => Ok(socket.into()),
    }
}

/// Converts an address of smoltcp. With IPv4 alone every address is one.
#[allow(clippy::unnecessary_wraps)]
fn v4(address: IpAddress) -> Option<Ipv4Addr> {
    match address {
        IpAddress::Ipv4(address) => Some(address),
        #[allow(unreachable_patterns)]
        _ => None,
    }
}
