//! Sockets: numbers of errors, and options that the libraries have no names for.

use rustix::io::Errno;
use socket2::{SockRef, Socket};
use std::io;
use std::net::{SocketAddr, TcpStream};

/// The error of a connection that has begun.
pub(crate) const IN_PROGRESS: i32 = Errno::INPROGRESS.raw_os_error();
/// Errors of a process or system with too many open files.
pub(crate) const TOO_MANY_FILES: [i32; 2] =
    [Errno::MFILE.raw_os_error(), Errno::NFILE.raw_os_error()];
/// The queue of an interface is full.
pub(crate) const NO_BUFFERS: i32 = Errno::NOBUFS.raw_os_error();
/// Nothing listens on that IP protocol.
pub(crate) const NO_PROTOCOL: i32 = Errno::NOPROTOOPT.raw_os_error();
/// The system has no such option of sockets.
pub(crate) const NO_OPTION: [i32; 2] =
    [Errno::NOPROTOOPT.raw_os_error(), Errno::OPNOTSUPP.raw_os_error()];
/// What the system reports as a receive buffer, in parts of which one is for data. Linux reports twice the
/// requested size; half of it is its own bookkeeping.
pub(crate) const BUFFER_PARTS: usize = if cfg!(target_os = "linux") { 2 } else { 1 };

/// Whether sockets below UDP exist.
#[allow(clippy::unnecessary_wraps)] // There are none on the other system.
pub(crate) fn raw_sockets() -> io::Result<()> {
    Ok(())
}

/// Limits what the system buffers before the connection sends it. Where a system has no such limit, only the
/// displayed progress is too early.
#[allow(unused_variables)]
pub(crate) fn limit_unsent(stream: &TcpStream, bytes: u32) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = SockRef::from(stream).set_tcp_notsent_lowat(bytes);
}

/// The longest segment of a connection.
pub(crate) fn segment_len(stream: &TcpStream) -> Option<usize> {
    SockRef::from(stream).tcp_mss().ok().map(|mss| mss as usize)
}

/// IPv6 socket options that the library has no names for.
#[cfg(target_os = "linux")]
mod ipv6 {
    use nix::{getsockopt_impl, libc, sockopt_impl};

    sockopt_impl!(
        /// The system's MTU of the path (`IPV6_MTU`).
        Mtu,
        GetOnly,
        libc::IPPROTO_IPV6,
        libc::IPV6_MTU,
        libc::c_int
    );

    sockopt_impl!(
        /// Disables fragmentation (`IPV6_DONTFRAG`).
        DontFragment,
        GetOnly,
        libc::IPPROTO_IPV6,
        libc::IPV6_DONTFRAG,
        libc::c_int
    );
}

/// Whether an IPv6 socket never fragments.
#[cfg(target_os = "linux")]
pub(crate) fn stays_whole(socket: &Socket) -> bool {
    nix::sys::socket::getsockopt(socket, ipv6::DontFragment) == Ok(1)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn stays_whole(_: &Socket) -> bool {
    false
}

/// The longest packet that the route to `to` takes, as far as this host knows.
#[cfg(target_os = "linux")]
pub(crate) fn route_mtu(to: SocketAddr) -> Option<usize> {
    use nix::sys::socket::{getsockopt, sockopt};
    let any: std::net::IpAddr = if to.is_ipv4() {
        std::net::Ipv4Addr::UNSPECIFIED.into()
    } else {
        std::net::Ipv6Addr::UNSPECIFIED.into()
    };
    let probe = std::net::UdpSocket::bind((any, 0)).ok()?;
    // Connecting sends nothing. The port is ignored, but must not be 0.
    let mut at = to;
    at.set_port(to.port().max(1));
    probe.connect(at).ok()?;
    let mtu = if to.is_ipv4() {
        getsockopt(&probe, sockopt::IpMtu)
    } else {
        getsockopt(&probe, ipv6::Mtu)
    };
    mtu.ok().and_then(|mtu| usize::try_from(mtu).ok())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn route_mtu(_: SocketAddr) -> Option<usize> {
    Some(1500)
}
