//! One end of a connection: smoltcp, with the laboratory's clock.

use super::model::{Congestion, TcpModel};
use crate::element::End;
use crate::random::Random;
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use std::collections::VecDeque;

/// Bytes of the headers of IP and TCP without options.
const HEADERS: usize = 20 + 20;
/// Empty buffers that are kept.
const SPARE_MAX: usize = 256;

/// What the stack takes for its network interface: one packet in, a queue of packets out.
#[derive(Debug)]
struct Port {
    mtu: usize,
    checks: bool,
    limit: usize,
    incoming: Option<Vec<u8>>,
    outgoing: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
}

impl Port {
    fn recycle(&mut self, mut packet: Vec<u8>) {
        if self.spare.len() < SPARE_MAX {
            packet.clear();
            self.spare.push(packet);
        }
    }
}

#[derive(Debug)]
struct Incoming(Vec<u8>);

#[derive(Debug)]
struct Outgoing<'a>(&'a mut VecDeque<Vec<u8>>, &'a mut Vec<Vec<u8>>);

impl RxToken for Incoming {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = self.1.pop().unwrap_or_default();
        packet.resize(len, 0);
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Port {
    type RxToken<'a> = Incoming;
    type TxToken<'a> = Outgoing<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Incoming, Outgoing<'_>)> {
        let packet = self.incoming.take()?;
        Some((Incoming(packet), Outgoing(&mut self.outgoing, &mut self.spare)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        let room = self.outgoing.len() < self.limit;
        room.then_some(Outgoing(&mut self.outgoing, &mut self.spare))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        // Most elements lose a damaged packet, as the check of a frame would have it. SLIP has none.
        if !self.checks {
            capabilities.checksum = ChecksumCapabilities::ignored();
        }
        capabilities
    }
}

/// One end of a connection.
pub(super) struct Stack {
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    port: Port,
}

fn address(end: End) -> IpAddress {
    IpAddress::v4(192, 0, 2, end.index() as u8 + 1)
}

fn micros(time: u64) -> Instant {
    Instant::from_micros(i64::try_from(time).unwrap_or(i64::MAX))
}

impl Stack {
    /// The stack of this end. The one at B listens.
    pub(super) fn new(model: &TcpModel, end: End) -> Self {
        let name = ["a", "b"][end.index()];
        let mut random = Random::stream(model.seed, "tcp", &format!("numbers {name}"));
        let mut port = Port {
            mtu: model.mss_bytes + HEADERS,
            checks: model.checks,
            limit: model.queue,
            incoming: None,
            outgoing: VecDeque::new(),
            spare: Vec::new(),
        };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = random.bits();
        let mut interface = Interface::new(config, &mut port, Instant::ZERO);
        interface.update_ip_addrs(|list| {
            // The list has room for two.
            let _ = list.push(IpCidr::new(address(end), 24));
        });
        let buffer = |bytes: usize| SocketBuffer::new(vec![0; bytes]);
        let mut socket = Socket::new(
            buffer(model.window_bytes[end.index()]),
            buffer(model.send_bytes[end.index()]),
        );
        socket.set_nagle_enabled(model.nagle);
        let delay = model.delayed_ack[end.index()];
        let delay = delay.map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        socket.set_ack_delay(delay.map(Duration::from_micros));
        socket.set_congestion_control(match model.congestion {
            Congestion::None => CongestionControl::None,
            Congestion::Reno => CongestionControl::Reno,
            Congestion::Cubic => CongestionControl::Cubic,
        });
        // A private port at the end that calls.
        let ours = model.port;
        let calls = match end {
            End::A => {
                let theirs = (address(End::B), ours);
                let from = 49_152 + random.below(16_384) as u16;
                socket.connect(interface.context(), theirs, from).is_ok()
            }
            End::B => socket.listen(ours).is_ok(),
        };
        debug_assert!(calls, "a new socket connects and listens");
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Self { interface, sockets, handle, port }
    }

    fn socket(&self) -> &Socket<'static> {
        self.sockets.get(self.handle)
    }

    fn socket_mut(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// Whether both directions are open.
    pub(super) fn is_open(&self) -> bool {
        self.socket().state() == State::Established
    }

    /// A packet in a buffer of this stack.
    pub(super) fn buffer(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut buffer = self.port.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(packet);
        buffer
    }

    /// Takes a packet that came, at this time in microseconds.
    pub(super) fn come(&mut self, time: u64, packet: Vec<u8>) {
        self.port.incoming = Some(packet);
        self.interface.poll_ingress_single(micros(time), &mut self.port, &mut self.sockets);
    }

    /// Makes the packets that are to go at this time.
    pub(super) fn go(&mut self, time: u64) {
        let time = micros(time);
        while self.port.outgoing.len() < self.port.limit
            && self.interface.poll_egress(time, &mut self.port, &mut self.sockets)
                == PollResult::SocketStateChanged
        {}
    }

    /// The next packet that is to go.
    pub(super) fn outgoing(&mut self) -> Option<Vec<u8>> {
        self.port.outgoing.pop_front()
    }

    /// Gives a packet back that was [`Stack::outgoing`].
    pub(super) fn recycle(&mut self, packet: Vec<u8>) {
        self.port.recycle(packet);
    }

    /// How many more packets may wait, this many waiting elsewhere already.
    pub(super) fn limit(&mut self, limit: usize) {
        self.port.limit = limit;
    }

    /// When a timer expires, in microseconds; never in the past.
    pub(super) fn timer(&mut self, time: u64) -> Option<u64> {
        let at = self.interface.poll_at(micros(time), &self.sockets)?;
        let at = u64::try_from(at.total_micros()).unwrap_or(0);
        // Everything sendable was sent; a poll time of now is meaningless here.
        (at > time).then_some(at)
    }

    /// Hands bytes to the connection; how many it took.
    pub(super) fn send(&mut self, bytes: &[u8]) -> usize {
        let socket = self.socket_mut();
        let mut taken = 0;
        // Twice, for a ring has two parts.
        for _ in 0..2 {
            match socket.send_slice(&bytes[taken..]) {
                Ok(0) | Err(_) => break,
                Ok(len) => taken += len,
            }
        }
        taken
    }

    /// How many bytes the connection would take.
    pub(super) fn send_room(&self) -> usize {
        self.socket().send_capacity() - self.socket().send_queue()
    }

    /// How many bytes there are to be read.
    pub(super) fn readable(&self) -> usize {
        self.socket().recv_queue()
    }

    /// Reads at most this many bytes, in pieces.
    pub(super) fn receive(&mut self, most: usize, mut take: impl FnMut(&[u8])) {
        let socket = self.socket_mut();
        let mut left = most;
        while left > 0 {
            let taken = socket.recv(|bytes| {
                let len = bytes.len().min(left);
                take(&bytes[..len]);
                (len, len)
            });
            match taken {
                Ok(0) | Err(_) => break,
                Ok(len) => left -= len,
            }
        }
    }
}

impl std::fmt::Debug for Stack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stack").field("state", &self.socket().state()).finish_non_exhaustive()
    }
}
