//! The socket: UDP, or IP protocol 30 itself (RFC 998).
//!
//! Datagrams are never fragmented: the socket asks for that (`IP_PMTUDISC_PROBE`), so a datagram that
//! is too long for the interface is an error here and one that is too long for the path is lost.
//! [`Endpoint::sizes`] are the lengths that a handshake
//! tries.
//!
//! Where the system refuses the options, as Wine does, UDP goes by plain calls ([`Endpoint::lost`]).

use crate::clock::Clock;
use crate::event::Source;
use crate::line::HostPort;
use crate::os::net;
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::{Duration, SystemTime};
use wetstring_proto::time::Instant;

/// NETBLT's protocol number (RFC 998).
pub const IP_PROTOCOL: i32 = 30;

/// Our longest datagram. IPv6 over the Linux loopback interface takes no more.
pub const LONGEST: usize = 65_464;

/// Lengths tried by a handshake, longest first: Ethernet, what every current path takes (RFC 9000, 14; RFC
/// 8899's BASE_PLPMTU), what a tunnel in a tunnel takes, and the IPv4 minimum.
const FIRST: [usize; 4] = [1452, PLAIN, 1000, 548];
/// Length without a session, which cannot probe, unless the user sets another.
const PLAIN: usize = 1200;
/// A socket buffers this many datagrams of the longest accepted size: with only three, every late read would be
/// a loss.
const KEPT: usize = 8;

/// Receive buffer requested from the system, in bytes. The system grants what its limits allow.
const RECEIVE_BUFFER: usize = 8 << 20;
/// Send buffer requested.
const SEND_BUFFER: usize = 2 << 20;
/// A buffer fits any batch that the system coalesces from one peer's datagrams.
const BUFFER: usize = 65_536;
/// Buffers that are filled by one system call.
const BUFFERS: usize = if BATCH_SIZE < 16 { BATCH_SIZE } else { 16 };
/// Longest IPv4 header; the system leaves it in what a raw socket reads.
const IPV4_HEADER_MIN: usize = 20;

/// What carries the datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Below {
    /// UDP.
    Udp,
    /// IP itself, protocol [`IP_PROTOCOL`]. Needs permission to open raw sockets.
    Ip,
}

/// Result of sending a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// Sent, or lost.
    Gone,
    /// The socket is full: wait until it is writable.
    Full,
    /// Longer than the interface takes without fragmentation.
    TooLong,
    /// The other host reports that nothing listens there.
    Refused,
}

/// An ICMP error that a socket returns instead of a datagram. Only a dialing socket gets these. They come from
/// hosts on the path, and can be forged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpError {
    /// Nothing listens there.
    Refused,
    /// A router does not forward datagrams of this length.
    TooLong,
    /// The route is down; timers decide whether it recovers.
    Away,
}

impl IcmpError {
    /// Classifies an error; `None` if it is a permanent one of this host.
    pub fn of(error: &io::Error) -> Option<Self> {
        match error.kind() {
            ErrorKind::ConnectionRefused => Some(Self::Refused),
            // "Protocol not available": nothing listens on that IP protocol.
            _ if error.raw_os_error() == Some(net::NO_PROTOCOL) => Some(Self::Refused),
            _ if quinn_udp::is_msg_size_err(error) => Some(Self::TooLong),
            ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::PermissionDenied => Some(Self::Away),
            _ => None,
        }
    }
}

/// How datagrams go through the socket.
#[derive(Debug)]
enum Calls {
    /// Several in one call, with the time of their arrival where the system has it.
    Batches(UdpSocketState),
    /// One by one, as any system has it: the same socket.
    Single(UdpSocket),
}

/// A socket for datagrams. It never blocks.
#[derive(Debug)]
pub struct Endpoint {
    socket: Socket,
    calls: Calls,
    below: Below,
    v4: bool,
    dialled: bool,
    /// The system fragments nothing.
    whole: bool,
}

/// Buffers that datagrams are read into, in batches.
#[derive(Debug)]
pub struct Inbox {
    buffers: Vec<u8>,
    metas: [RecvMeta; BUFFERS],
}

/// The addresses of a host. IP has no ports.
pub fn resolve(to: &HostPort) -> io::Result<Vec<SocketAddr>> {
    let found: Vec<SocketAddr> = (to.host.as_str(), to.port).to_socket_addrs()?.collect();
    if found.is_empty() {
        return Err(io::Error::new(ErrorKind::NotFound, "the name has no address"));
    }
    Ok(found)
}

/// An unpredictable number.
pub fn chance() -> u32 {
    let mut bytes = [0; 4];
    // Without random numbers there is no session either: this is for plain ones.
    let _ = getrandom::fill(&mut bytes);
    u32::from_be_bytes(bytes)
}

fn any(v4: bool) -> SocketAddr {
    let ip: IpAddr = if v4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    SocketAddr::new(ip, 0)
}

impl Endpoint {
    /// A socket that listens at `at`. For [`Below::Ip`] the port is ignored.
    pub fn listen(below: Below, at: SocketAddr) -> io::Result<Self> {
        Self::open(below, at)
    }

    /// A socket connected to one peer: datagrams from others are not read.
    pub fn dial(below: Below, to: SocketAddr) -> io::Result<Self> {
        let made = Self::open(below, any(to.is_ipv4()))?;
        made.socket.connect(&to.into())?;
        Ok(Self { dialled: true, ..made })
    }

    fn open(below: Below, at: SocketAddr) -> io::Result<Self> {
        if below == Below::Ip {
            net::raw_sockets()?;
        }
        let (kind, protocol) = match below {
            Below::Udp => (Type::DGRAM, Protocol::UDP),
            Below::Ip => (Type::RAW, Protocol::from(IP_PROTOCOL)),
        };
        let socket = Socket::new(Domain::for_address(at), kind, Some(protocol))?;
        // A raw socket receives its own IP protocol only, and rejects the option.
        if at.is_ipv6() && below == Below::Udp {
            socket.set_only_v6(true)?;
        }
        socket.bind(&at.into())?;
        // As much as the system allows.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
        let _ = socket.set_send_buffer_size(SEND_BUFFER);
        let (calls, whole) = match UdpSocketState::new(UdpSockRef::from(&socket)) {
            Ok(state) => {
                // Raw IPv6 sockets reject options for mapped addresses, which they do not have.
                let raw_v6 = below == Below::Ip && at.is_ipv6();
                let whole = !state.may_fragment() || (raw_v6 && net::stays_whole(&socket));
                (Calls::Batches(state), whole)
            }
            Err(error)
                if below == Below::Udp
                    && error.raw_os_error().is_some_and(|code| net::NO_OPTION.contains(&code)) =>
            {
                socket.set_nonblocking(true)?;
                (Calls::Single(socket.try_clone()?.into()), false)
            }
            Err(error) => return Err(error),
        };
        if !whole && below == Below::Ip {
            let say = "this system cannot disable fragmentation of datagrams; use udp: instead";
            return Err(io::Error::new(ErrorKind::Unsupported, say));
        }
        Ok(Self { socket, calls, below, v4: at.is_ipv4(), dialled: false, whole })
    }

    /// What this system's sockets cannot do, in words for the user; `None` if they can do all.
    pub fn lost(&self) -> Option<String> {
        let whole = format!(
            "this system may fragment datagrams, so none is longer than {PLAIN} bytes, which every path takes"
        );
        match &self.calls {
            _ if self.whole => None,
            Calls::Batches(_) => Some(whole),
            Calls::Single(_) => Some(format!("{whole}; each needs a system call of its own")),
        }
    }

    /// What carries the datagrams.
    pub fn below(&self) -> Below {
        self.below
    }

    /// The local address of this socket.
    pub fn local(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_addr()?;
        address.as_socket().ok_or_else(|| io::Error::other("expected an IP address"))
    }

    /// Bytes of unread datagrams that the system buffers for us.
    pub fn room(&self) -> usize {
        self.socket.recv_buffer_size().unwrap_or(0) / net::BUFFER_PARTS
    }

    /// Whether what this socket sends to `to` is also received by it: a raw socket and its own host.
    pub fn hears_itself(&self, to: SocketAddr) -> bool {
        self.below == Below::Ip && self.local().is_ok_and(|local| local.ip() == to.ip())
    }

    /// Maximum datagrams of one length per system call.
    pub fn segments(&self) -> usize {
        match &self.calls {
            Calls::Batches(state) if self.below == Below::Udp => state.max_gso_segments().max(1),
            _ => 1,
        }
    }

    /// Bytes of IP and UDP headers around a datagram.
    fn overhead(&self, to: SocketAddr) -> usize {
        let ip = if to.is_ipv4() { 20 } else { 40 };
        ip + if self.below == Below::Udp { 8 } else { 0 }
    }

    /// The longest datagram that this host can send towards `to`.
    fn top(&self, to: SocketAddr) -> usize {
        // Where the MTU is not available, the first error tells.
        let top = net::route_mtu(to).map_or(LONGEST, |mtu| mtu.saturating_sub(self.overhead(to)));
        // A fragment lost is a datagram lost, and a probe in fragments proves nothing.
        let top = if self.whole { top } else { top.min(PLAIN) };
        (top.min(LONGEST) / 4 * 4).max(FIRST[FIRST.len() - 1])
    }

    /// Lengths that a handshake with `to` tries, longest first; `chosen` is the user's setting.
    pub fn sizes(&self, to: SocketAddr, chosen: Option<usize>) -> Vec<usize> {
        let top = chosen.unwrap_or(FIRST[0]).min(self.top(to));
        let mut sizes = vec![top];
        sizes.extend(FIRST.into_iter().filter(|size| *size < top));
        sizes
    }

    /// The longest datagram that a session with `to` may probe for or accept.
    pub fn most(&self, to: SocketAddr, chosen: Option<usize>) -> usize {
        let kept = (self.room() / KEPT).max(FIRST[0]);
        chosen.map_or(kept, |chosen| chosen.min(LONGEST)).min(self.top(to))
    }

    /// The length of packets without a session.
    pub fn plain(&self, to: SocketAddr, chosen: Option<usize>) -> usize {
        chosen.unwrap_or(PLAIN).min(self.top(to))
    }

    /// Sends datagrams of `segment` bytes each, of which the last may be shorter.
    pub fn send(&self, to: SocketAddr, bytes: &[u8], segment: usize) -> io::Result<Sent> {
        let segment_size = (bytes.len() > segment).then_some(segment);
        // The kernel wants port 0 for raw sockets.
        let destination = match self.below {
            Below::Udp => to,
            Below::Ip => SocketAddr::new(to.ip(), 0),
        };
        let transmit =
            Transmit { destination, ecn: None, contents: bytes, segment_size, src_ip: None };
        let sent = match &self.calls {
            Calls::Batches(state) => state.try_send(UdpSockRef::from(&self.socket), &transmit),
            Calls::Single(_) if segment_size.is_some() => Err(ErrorKind::Unsupported.into()),
            Calls::Single(socket) if self.dialled => socket.send(bytes).map(drop),
            Calls::Single(socket) => socket.send_to(bytes, to).map(drop),
        };
        match sent {
            Ok(()) => Ok(Sent::Gone),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Sent::Full),
            Err(error) if error.raw_os_error() == Some(net::NO_BUFFERS) => Ok(Sent::Full),
            Err(error) if IcmpError::of(&error) == Some(IcmpError::TooLong) => Ok(Sent::TooLong),
            Err(error) if IcmpError::of(&error) == Some(IcmpError::Refused) => Ok(Sent::Refused),
            // Some interfaces have no segmentation offload; the next attempt does without.
            Err(_) if segment_size.is_some() && self.segments() == 1 => {
                for one in bytes.chunks(segment) {
                    self.send(to, one, segment)?;
                }
                Ok(Sent::Gone)
            }
            Err(error) => Err(error),
        }
    }

    /// What follows from an error of a read: whether there may be more.
    fn nothing(&self, error: io::Error) -> io::Result<bool> {
        match error.kind() {
            ErrorKind::WouldBlock => Ok(false),
            ErrorKind::Interrupted => Ok(true),
            // Windows reports this for an earlier datagram: nothing listens there. It does not name the peer.
            ErrorKind::ConnectionReset if self.dialled => Err(ErrorKind::ConnectionRefused.into()),
            ErrorKind::ConnectionReset => Ok(true),
            _ => Err(error),
        }
    }

    /// The descriptor to poll.
    pub fn source(&self) -> Source<'_> {
        Source::of(&self.socket)
    }
}

impl Inbox {
    /// An empty inbox.
    pub fn new() -> Self {
        Self { buffers: vec![0; BUFFERS * BUFFER], metas: [RecvMeta::default(); BUFFERS] }
    }

    /// Reads what is available, and passes each datagram with its source and arrival time to `each`; returns
    /// whether there may be more.
    ///
    /// The time is the kernel's if it provides one (`SO_TIMESTAMPNS`): on a busy machine a process may read
    /// milliseconds after the arrival, which would look like a slow path, or like bursts.
    ///
    /// # Errors
    ///
    /// [`IcmpError::of`] classifies some of them.
    pub fn receive(
        &mut self,
        endpoint: &Endpoint,
        clock: &Clock,
        take: &mut dyn FnMut(SocketAddr, Instant, &[u8]),
    ) -> io::Result<bool> {
        let state = match &endpoint.calls {
            Calls::Batches(state) => state,
            Calls::Single(socket) => return self.receive_one(endpoint, socket, clock, take),
        };
        let mut slices: Vec<IoSliceMut<'_>> =
            self.buffers.chunks_exact_mut(BUFFER).map(IoSliceMut::new).collect();
        let count = match state.recv((&endpoint.socket).into(), &mut slices, &mut self.metas) {
            Ok(count) => count,
            Err(error) => return endpoint.nothing(error),
        };
        drop(slices);
        let (now, wall) = both(clock);
        let strip = endpoint.below == Below::Ip && endpoint.v4;
        for (buffer, meta) in self.buffers.chunks_exact(BUFFER).zip(&self.metas[..count]) {
            let mut from = meta.addr;
            if endpoint.below == Below::Ip {
                from.set_port(0);
            }
            let at = arrival(meta.timestamp, now, wall);
            for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                take(from, at, if strip { after_header(datagram) } else { datagram });
            }
        }
        Ok(count == BUFFERS)
    }

    /// The same by a plain call, which tells no time of arrival.
    fn receive_one(
        &mut self,
        endpoint: &Endpoint,
        socket: &UdpSocket,
        clock: &Clock,
        take: &mut dyn FnMut(SocketAddr, Instant, &[u8]),
    ) -> io::Result<bool> {
        match socket.recv_from(&mut self.buffers[..BUFFER]) {
            Ok((len, from)) => {
                take(from, clock.now(), &self.buffers[..len]);
                Ok(true)
            }
            Err(error) => endpoint.nothing(error),
        }
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

/// A larger difference is not a late process: the system clock was set.
const OLDEST: Duration = Duration::from_secs(2);

/// The time by our clock and by the system's, read within a millisecond of each other if the processor lets us.
fn both(clock: &Clock) -> (Instant, SystemTime) {
    const TRIES: usize = 4;
    let read = || (clock.now(), SystemTime::now(), clock.now());
    let between = |of: &(Instant, SystemTime, Instant)| of.2.as_nanos() - of.0.as_nanos();
    let mut best = read();
    for _ in 1..TRIES {
        if between(&best) < 1_000_000 {
            break;
        }
        // The process was suspended between the two: datagrams would seem to have arrived later.
        let again = read();
        if between(&again) < between(&best) {
            best = again;
        }
    }
    (best.0, best.1)
}

/// The arrival time by our clock, if the kernel's timestamp is `stamp` and the time is `now` or `wall`.
fn arrival(stamp: Option<Duration>, now: Instant, wall: SystemTime) -> Instant {
    let age = stamp
        .and_then(|stamp| wall.duration_since(SystemTime::UNIX_EPOCH + stamp).ok())
        .filter(|age| *age < OLDEST)
        .unwrap_or_default();
    Instant(now.as_nanos().saturating_sub(age.as_nanos() as u64))
}

/// The payload after an IPv4 header.
fn after_header(packet: &[u8]) -> &[u8] {
    let len = packet.first().map_or(0, |first| usize::from(first & 0x0F) * 4);
    packet.get(len.max(IPV4_HEADER_MIN)..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "the time of arrival is Linux's")]
    fn arrival_time_is_the_kernels() {
        let (clock, to) = (Clock::start(), "127.0.0.1:0".parse().unwrap());
        let listener = Endpoint::listen(Below::Udp, to).unwrap();
        let to = listener.local().unwrap();
        let sender = Endpoint::dial(Below::Udp, to).unwrap();
        // The kernel begins to stamp packets some time after the first socket has asked for it.
        let is_stamped = || {
            let mut came = clock.now();
            assert_eq!(sender.send(to, b"word", 4).unwrap(), Sent::Gone);
            std::thread::sleep(Duration::from_millis(20));
            let (read, mut inbox) = (clock.now(), Inbox::new());
            while inbox.receive(&listener, &clock, &mut |_, at, _| came = at).unwrap() {}
            came < read
        };
        assert!((0..100).any(|_| is_stamped()), "no packet has a stamp");
        let mut sent = Vec::new();
        for _ in 0..3 {
            let before = clock.now();
            assert_eq!(sender.send(to, b"word", 4).unwrap(), Sent::Gone);
            // Available when the call returns, however long this thread was suspended.
            sent.push((before, clock.now()));
            std::thread::sleep(Duration::from_millis(30));
        }
        let (mut inbox, mut came) = (Inbox::new(), Vec::new());
        while inbox.receive(&listener, &clock, &mut |_, at, _| came.push(at)).unwrap() {}
        assert_eq!(came.len(), 3);
        for ((before, after), came) in sent.iter().zip(came) {
            // All are read late, the first one 90 ms late. The two clocks are read one after the other.
            let [before, after, came] = [before, after, &came].map(|at| at.as_nanos());
            assert!(
                (before..after + 20_000_000).contains(&(came + 5_000_000)),
                "{before} {came} {after}"
            );
        }
    }

    #[test]
    fn setting_the_clock_does_not_change_arrivals() {
        let (now, wall) = (Instant(5_000_000_000), SystemTime::now());
        let stamp = wall.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let at = |stamp| arrival(Some(stamp), now, wall).as_nanos();
        let before = |by| stamp.checked_sub(by).expect("a time");
        assert_eq!(at(before(Duration::from_millis(7))), 4_993_000_000);
        assert_eq!(at(before(Duration::from_secs(3600))), 5_000_000_000);
        assert_eq!(at(stamp + Duration::from_secs(3600)), 5_000_000_000);
        assert_eq!(arrival(None, now, wall), now);
    }
}
