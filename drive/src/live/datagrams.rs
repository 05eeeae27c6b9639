//! A network of the laboratory in real time: between two UDP ports, or two TUN devices.
//!
//! ```text
//! programs <-> TUN or UDP <-> element of the laboratory <-> TUN or UDP <-> programs
//! ```
//!
//! A TUN device carries IP packets, so any program can be put behind it; creating one needs privileges.
//! Addresses and routes are the user's (`ip address add`, `ip link set ... netns ...`): the device keeps
//! working in another network namespace. A UDP port relays for one peer: at a listening end that is whichever
//! sent last.

use super::{Report, Stop, Until};
use crate::clock::Clock;
use crate::datagram::endpoint::resolve;
use crate::event::{self, Interest, Source};
use crate::line::LineSpec;
use crate::os::tun::Device;
use crate::port::OpenError;
use crate::signals::Signals;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;
use wetstring_lab::element::{Element, End};
use wetstring_lab::net::DATAGRAM_MAX;
use wetstring_proto::{Cx, Instant, Trace};

/// Datagrams moved in one direction before the other is served.
const BATCH: usize = 64;
/// Socket buffer requested from the system.
const RECEIVE_BUFFER: usize = 4 << 20;
/// TUN queue length: a burst of a gigabit in ten milliseconds.
const TUN_QUEUE: u32 = 1000;

/// An end of a running network.
#[allow(missing_debug_implementations)]
pub struct DatagramEnd(Inner);

enum Inner {
    Tun(Device),
    Udp {
        socket: UdpSocket,
        /// Where datagrams go; at a listening end to the last sender.
        peer: Option<SocketAddr>,
        listens: bool,
    },
}

/// Whether a line carries datagrams.
pub fn carries_datagrams(spec: &LineSpec) -> bool {
    matches!(spec, LineSpec::Tun(_) | LineSpec::Udp(_) | LineSpec::UdpListen(_))
}

/// Opens one end: `tun:NAME`, `udp-listen://HOST:PORT` or `udp://HOST:PORT`. `notes` gets what a user needs to
/// know to connect.
pub fn open(spec: &LineSpec, notes: &mut dyn FnMut(&str)) -> Result<DatagramEnd, OpenError> {
    let failed = |what: String| move |error: io::Error| OpenError::Io { what, error };
    match spec {
        LineSpec::Tun(name) => {
            let device = Device::make(name.as_deref(), TUN_QUEUE, None)
                .map_err(failed(format!("make {spec}")))?;
            let name = device.name().unwrap_or_default();
            notes(&format!("tun {name}"));
            Ok(DatagramEnd(Inner::Tun(device)))
        }
        LineSpec::UdpListen(at) => {
            let make =
                || -> io::Result<UdpSocket> { prepared(UdpSocket::bind(&resolve(at)?[..])?) };
            let socket = make().map_err(failed(format!("listen on {at}")))?;
            let local = socket.local_addr().map_err(failed(format!("listen on {at}")))?;
            notes(&format!("listening on {local}"));
            Ok(DatagramEnd(Inner::Udp { socket, peer: None, listens: true }))
        }
        LineSpec::Udp(to) => {
            let make = || -> io::Result<(UdpSocket, SocketAddr)> {
                let to = resolve(to)?[0];
                let any = match to {
                    SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
                    SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
                };
                Ok((prepared(UdpSocket::bind(any)?)?, to))
            };
            let (socket, to) = make().map_err(failed(format!("relay to {to}")))?;
            notes(&format!("relaying to {to}"));
            Ok(DatagramEnd(Inner::Udp { socket, peer: Some(to), listens: false }))
        }
        _ => {
            let say = "expected tun:NAME, udp-listen://HOST:PORT or udp://HOST:PORT";
            let error = io::Error::new(ErrorKind::InvalidInput, say);
            Err(OpenError::Io { what: format!("carry datagrams over {spec}"), error })
        }
    }
}

fn prepared(socket: UdpSocket) -> io::Result<UdpSocket> {
    socket.set_nonblocking(true)?;
    // As much as the system allows.
    let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER);
    Ok(socket)
}

impl DatagramEnd {
    fn source(&self) -> Source<'_> {
        match &self.0 {
            Inner::Tun(device) => device.source(),
            Inner::Udp { socket, .. } => Source::of(socket),
        }
    }

    /// Reads one datagram, if available.
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let result = match &mut self.0 {
            Inner::Tun(device) => return device.read(into),
            Inner::Udp { socket, peer, listens } => socket.recv_from(into).map(|(len, from)| {
                if *listens {
                    *peer = Some(from);
                }
                len
            }),
        };
        match result {
            Ok(len) => Ok(Some(len)),
            Err(error) if is_nothing(&error) => Ok(None),
            // A peer that is down briefly.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes one datagram. What does not fit is lost, as on any network.
    fn write(&self, datagram: &[u8]) {
        match &self.0 {
            Inner::Tun(device) => device.write(datagram),
            Inner::Udp { peer: Some(to), socket, .. } => drop(socket.send_to(datagram, to)),
            Inner::Udp { .. } => {}
        }
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Runs `element`, which must carry datagrams, between two ends.
///
/// # Errors
///
/// If an end or the waiting fails.
pub fn run(
    element: &mut dyn Element,
    ends: [DatagramEnd; 2],
    until: Until<'_>,
    trace: &mut dyn Trace,
) -> io::Result<Report> {
    let mut live = Live {
        element,
        ends,
        clock: Clock::start(),
        scale: until.scale.max(1),
        buffer: vec![0; DATAGRAM_MAX + 1],
    };
    let stop = loop {
        let real = live.clock.now().since(Instant::ZERO);
        if let Some(signal) = until.signals.and_then(Signals::last) {
            break Stop::Signal(signal);
        }
        let left = until.after.map(|after| after.saturating_sub(real));
        if left == Some(Duration::ZERO) {
            break Stop::Time;
        }
        if !live.turn(trace)? {
            live.wait(until.signals, left)?;
        }
    };
    Ok(Report {
        stop,
        usage: End::BOTH.map(|end| live.element.usage(end)),
        elapsed: live.now().since(Instant::ZERO),
    })
}

struct Live<'e> {
    element: &'e mut dyn Element,
    ends: [DatagramEnd; 2],
    clock: Clock,
    scale: u32,
    buffer: Vec<u8>,
}

impl Live<'_> {
    /// The model's time.
    fn now(&self) -> Instant {
        Instant(self.clock.now().as_nanos().saturating_mul(u64::from(self.scale)))
    }

    /// Moves what can be moved now; returns whether anything moved.
    fn turn(&mut self, trace: &mut dyn Trace) -> io::Result<bool> {
        let mut moved = false;
        for end in End::BOTH {
            for _ in 0..BATCH {
                let Some(len) = self.ends[end.index()].read(&mut self.buffer)? else { break };
                let mut cx = Cx { now: self.now(), trace: &mut *trace };
                // What it does not accept meets a full queue: it is lost.
                self.element.offer(&mut cx, end, &self.buffer[..len]);
                moved = true;
            }
        }
        for end in End::BOTH {
            for _ in 0..BATCH {
                let now = self.now();
                if self.element.next(end).is_none_or(|at| at > now) {
                    break;
                }
                let mut cx = Cx { now, trace: &mut *trace };
                let len = self.element.emit(&mut cx, end, &mut self.buffer);
                if len > 0 {
                    self.ends[end.index()].write(&self.buffer[..len]);
                    moved = true;
                }
            }
        }
        Ok(moved)
    }

    fn wait(&self, signals: Option<&Signals>, left: Option<Duration>) -> io::Result<()> {
        let due = End::BOTH.into_iter().filter_map(|end| self.element.next(end)).min();
        let due = due.map(|due| {
            let real = Instant(due.as_nanos().div_ceil(u64::from(self.scale)));
            real.since(self.clock.now())
        });
        let timeout = due.into_iter().chain(left).min();
        let mut interests: Vec<_> =
            self.ends.iter().map(|end| Interest::read(end.source())).collect();
        interests.extend(signals.map(|signals| Interest::read(signals.source())));
        event::wait(&mut interests, timeout).map(drop)
    }
}
