//! Sockets: numbers of errors (those of Winsock), and options.

use socket2::Socket;
use std::io;
use std::net::{SocketAddr, TcpStream};

/// The error of a connection that has begun: WSAEWOULDBLOCK.
pub(crate) const IN_PROGRESS: i32 = 10035;
/// Errors of a process or system with too many open files: WSAEMFILE, WSAENOBUFS.
pub(crate) const TOO_MANY_FILES: [i32; 2] = [10024, 10055];
/// The queue of an interface is full: WSAENOBUFS.
pub(crate) const NO_BUFFERS: i32 = 10055;
/// Nothing listens on that IP protocol: WSAENOPROTOOPT.
pub(crate) const NO_PROTOCOL: i32 = 10042;
/// The system has no such option of sockets: WSAENOPROTOOPT, WSAEOPNOTSUPP. Wine says so of some.
pub(crate) const NO_OPTION: [i32; 2] = [10042, 10045];
/// What the system reports as a receive buffer, in parts of which one is for data.
pub(crate) const BUFFER_PARTS: usize = 1;

/// Raw sockets are for administrators here, and carry no protocol of their own choice.
pub(crate) fn raw_sockets() -> io::Result<()> {
    let say = "ip: is for Unix only; use udp: instead";
    Err(io::Error::new(io::ErrorKind::Unsupported, say))
}

/// This system has no such limit: the displayed progress is earlier.
pub(crate) fn limit_unsent(_: &TcpStream, _: u32) {}

/// Not reported by this system.
pub(crate) fn segment_len(_: &TcpStream) -> Option<usize> {
    None
}

/// Only Linux's raw sockets are asked.
pub(crate) fn stays_whole(_: &Socket) -> bool {
    false
}

/// The longest packet that a route takes: Ethernet's, where the system does not say.
#[allow(clippy::unnecessary_wraps)] // The other system may not know.
pub(crate) fn route_mtu(_: SocketAddr) -> Option<usize> {
    Some(1500)
}
